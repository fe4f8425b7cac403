"""Workers of Ray give what one process gives, also when one of them dies."""

import json
import os
import signal
import time
from contextlib import ExitStack

import pytest

from distill.encoders.files import on_ray as ray_encoding
from distill.encoders.files.encode_file import encode_file
from distill.encoders.files.text_file import TextFile
from distill.errors import DataError, DistillError, InputError
from distill.search_engine.indexing import batches
from distill.search_engine.indexing.building import IndexChange, build_index
from distill.search_engine.indexing.index_file import FILE

MODEL = "multi12-static"


@pytest.fixture(scope="module")
def ray():
    """A Ray of this machine for two workers, as the command starts it."""
    pytest.importorskip("ray.data", reason="ray[data] is not installed")
    import ray

    with ExitStack() as stack:
        try:
            stack.enter_context(ray_encoding._cluster(None, 2))
        except DistillError as error:
            pytest.skip(f"its start has a time limit of its own, which a busy machine may not keep: {error}")
        yield ray
    assert not ray.is_initialized()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "texts.jsonl"
    # The first blocks take the longest.
    rows = [{"id": n, "text": f"Wo liegt {'die Stadt ' * (30 - n)}{n}?"} for n in range(28)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def expected(path):
    """The bytes of the file that one process writes."""
    output = path.with_name("expected.npy")
    encode_file(TextFile(path, block=8), output, MODEL, "document")
    return output.read_bytes()


# Before the fixture's Ray is there, which a start that fails would end.
def test_an_address_without_a_cluster_and_a_ray_without_a_folder_to_work_in_are_failures(path, monkeypatch):
    pytest.importorskip("ray.data", reason="ray[data] is not installed")
    with pytest.raises(InputError, match="nonsense: "):
        list(ray_encoding.ray_engine(MODEL, 1, "nonsense")(TextFile(path, block=8), [0], "document"))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", os.devnull + "/none")
    with pytest.raises(DistillError, match="Not a directory"):
        list(ray_encoding.ray_engine(MODEL, 1)(TextFile(path, block=8), [0], "document"))


def test_an_index_by_two_workers_one_of_which_is_killed_is_that_of_one_process(ray, path, tmp_path, monkeypatch):
    seen = tmp_path / "seen"
    seen.mkdir()

    class Killed(ray_encoding.Worker):
        def encode(self, number):
            # The first waits for the other: it could be done before that has started.
            (seen / str(os.getpid())).touch()
            end = time.monotonic() + 60
            while len(list(seen.iterdir())) < 2 and time.monotonic() < end:
                time.sleep(0.05)
            if len(list(seen.iterdir())) == 2 and number:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().encode(number)

    monkeypatch.setattr(batches, "DOCUMENTS", 10)
    build_index(tmp_path / "one", IndexChange([path]), MODEL)
    monkeypatch.setattr(ray_encoding, "Worker", Killed)
    build_index(tmp_path / "two", IndexChange([path]), MODEL, engine=ray_encoding.ray_engine(MODEL, 2))
    assert (tmp_path / "one" / FILE).read_bytes() == (tmp_path / "two" / FILE).read_bytes()
    processes = {left.name for left in seen.iterdir()}
    # One was started again.
    assert len(processes) > 2 and str(os.getpid()) not in processes


def test_a_workers_error_is_of_its_kind_and_ray_says_nothing_beside_it(ray, path, tmp_path, monkeypatch, capfd):
    import pyarrow

    class Broken(ray_encoding.Worker):
        def encode(self, number):
            raise {0: DataError("texts.jsonl: gone"), 1: ZeroDivisionError("by\nzero")}[number]

    monkeypatch.setattr(ray_encoding, "Worker", Broken)
    engine, texts = ray_encoding.ray_engine(MODEL, 1), TextFile(path, block=8)
    with pytest.raises(DataError, match=r"\.jsonl: gone$"):
        list(engine(texts, [0], "document"))
    assert capfd.readouterr() == ("", "")

    def in_this_process(numbers, arguments, workers):
        return Broken(**arguments)(pyarrow.table({"number": numbers})).to_pylist()

    monkeypatch.setattr(ray_encoding, "_rows", in_this_process)
    with pytest.raises(DistillError, match=r": ZeroDivisionError: by$"):
        list(engine(texts, [1], "document"))


def test_a_block_that_kills_each_worker_is_an_error_and_what_is_written_stays(
    ray, path, expected, tmp_path, monkeypatch
):
    class Dies(ray_encoding.Worker):
        def encode(self, number):
            if number == 3:
                os._exit(1)
            return super().encode(number)

    with monkeypatch.context() as patch:
        patch.setattr(ray_encoding, "Worker", Dies)
        # Each start of a worker takes seconds.
        patch.setattr(ray_encoding, "RETRIES", 1)
        with pytest.raises(DistillError, match=r"^Ray .*: \w+: "):
            engine = ray_encoding.ray_engine(MODEL, 1)
            encode_file(TextFile(path, block=8), tmp_path / "vectors.npy", MODEL, "document", engine)
    encode_file(TextFile(path, block=8), tmp_path / "vectors.npy", MODEL, "document")
    assert (tmp_path / "vectors.npy").read_bytes() == expected


def test_without_ray_the_command_says_what_to_install(monkeypatch):
    monkeypatch.setattr("distill.system.extras.find_spec", lambda package: None)
    with pytest.raises(InputError, match="ray.*pyarrow.*pandas"):
        ray_encoding.ray_engine(MODEL, 2)
