"""Order and coverage of the tests; fixtures that every room needs come from `fixtures/`."""

import gc
import os
import sys
from pathlib import Path

import pytest
from fixtures.chromium import CHROMIUM, Chromium
from fixtures.counted import count

TESTS = Path(__file__).parent
# Where `make test` wants to have the lines that ran.
LINES = os.environ.get("DISTILL_LINES")
write_lines = count() if LINES else None

from distill.system.lean_imports import lean_imports  # noqa: E402

# As in a command's process, which takes half of the time to import Keras and TensorFlow.
lean_imports()
# To import, and to trace a graph, makes and drops tens of thousands of objects: it is a tenth of the time otherwise.
gc.set_threshold(100_000, 50, 100)

pytest_plugins = [
    "fixtures.data",
    "fixtures.encoders",
    "fixtures.pages",
    "fixtures.plain_c",
    "fixtures.tables",
    "fixtures.translator",
]

# What takes longest comes first, with --no-loadscope-reorder, so that no worker is left alone with it at the end.
DEAREST = (
    "whole/test_killed",
    # It waits for Ray more than it computes.
    "encoders/files/test_on_ray",
    "whole/test_properties",
    "commands/test_cli",
    "jobs/pipeline/test_execute",
    "export/test_artefact",
    # What it compiles others take too.
    "export/c/test_program",
    "training/stages/test_transfer_stage",
    "whole/test_tutorial",
    "test_face",
    "jobs/compression/test_compress",
    "jobs/pipeline/test_fixed_teacher",
    "jobs/tuning/test_tune",
    "export/tflite/test_convert",
    "jobs/pipeline/test_resuming",
    "jobs/pipeline/test_recipes",
    "jobs/pipeline/test_self_training",
    "students/test_family",
    "training/stages/test_triplet_stage",
    "export/web/test_page",
    "commands/test_read",
    "training/test_devices",
    "training/stages/test_programs",
    "system/test_backend",
    "students/test_families",
    "jobs/test_compress_encoder",
    "export/test_runtimes",
    "training/test_options",
    "training/test_loop",
    "training/stages/test_pair_stage",
    "export/test_encode",
    "training/test_fake_quantisation",
    "jobs/pipeline/test_first_stage",
    "teachers/test_muse",
    "vocabulary/languages/test_add_language",
    "export/test_student",
    "whole/test_examples",
    "export/java/test_java",
    "commands/test_lir",
)


def _place(item):
    return item.path.relative_to(TESTS).with_suffix("").as_posix()


def pytest_collection_modifyitems(items):
    if moved := [name for name in DEAREST if not (TESTS / f"{name}.py").is_file()]:
        raise pytest.UsageError(f"tests/conftest.py, DEAREST: there is no {', '.join(moved)}")
    place = {name: number for number, name in enumerate(DEAREST)}
    # Of the others those of the whole take longer than those of a part, which come last by the alphabet.
    items.sort(key=lambda item: (place.get(_place(item), len(place)), not _place(item).startswith("whole/")))


def pytest_collection_finish():
    """What was imported stays; the hundreds of collections of garbage need not walk over TensorFlow again.

    TensorFlow's graphs run but a few times here: to optimise them takes more than a third of the time of the first.
    They are optimised in the processes that tests start, as a user's are.
    """
    gc.freeze()
    if tensorflow := sys.modules.get("tensorflow"):
        tensorflow.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """What a file's tests left stays, as what was imported does."""
    try:
        return (yield)
    finally:
        if nextitem and nextitem.path != item.path:
            gc.collect()
            gc.freeze()


def pytest_unconfigure():
    if write_lines:
        write_lines(LINES)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Vectors that are kept lie in a folder of these tests, not of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISTILL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def one_cold_start():
    """A process each, of which a measurement has three."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("distill.evaluation.bench.rounds.COLD_STARTS", 1)
        yield


@pytest.fixture(scope="session")
def chromium():
    """A browser; tests that need one are skipped where there is none."""
    if CHROMIUM is None:
        pytest.skip("no Chromium")
    browser = Chromium()
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def distill():
    """Run a command in this process; its exit code."""
    from distill.cli import main

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        return left.value.code

    return call
