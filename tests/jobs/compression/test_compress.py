import json
import re

import numpy as np
import pytest

from distill.encoders.catalog.loading import load_keras_encoder
from distill.errors import ConfigError, InputError
from distill.export.formats.format import load_artefact, size_of
from distill.export.subset import write_subset
from distill.jobs.compression import candidates
from distill.jobs.compression.budget import Budget
from distill.jobs.compression.candidates import Grid
from distill.jobs.compression.compress import (
    read_budget,
    require_same_inputs,
    require_search_folder,
    search_inputs,
    seconds_an_epoch,
)
from distill.jobs.pipeline import shipping
from distill.report.run_tables import describe_search
from distill.settings.sections import Settings
from distill.settings.store import as_dict, load_settings
from distill.students.shape import Shape

RUN = [
    *("--bm25-epochs", "1", "--online-epochs", "0", "--epochs", "1", "--allow-weak-teacher"),
    *("--set", "export.min_cosine=0.5", "--max-drop", "100"),
    # The run's student is its teacher; those of other shapes are trained.
    *("--set", "student.averaged_epochs=1", "--set", "student.start_share=1"),
]
SHAPES = {"full": Shape(), "static": Shape(static=True, rank=8, hidden=8)}
GRID = Grid(("twice",), ("uint8", "pq8"), SHAPES)


@pytest.fixture(scope="module")
def fewer():
    """A grid of two tables and two shapes; the run itself leaves the report to its search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "GRID", GRID)
        patch.setattr(shipping, "write_report", lambda *arguments: None)
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, sample):
    path = tmp_path_factory.mktemp("corpus") / "de.txt"
    path.write_text("\n".join(q.text for q in sample.select("de", "train")[:20]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(distill, plain, slim_folder, sample_folder, tmp_path_factory, fewer, corpus):
    """A run with a budget: what it leaves."""
    runs = tmp_path_factory.mktemp("runs")
    flags = ["--config", plain, "--dataset", sample_folder, "--base", slim_folder, "--languages", "de"]
    flags += ["--max-size", "1MB", "--corpus", corpus, "--set", "budget.shapes=full,static"]
    assert distill("run", *flags, *RUN, "--runs", runs, "--name", "r") == 0
    return runs / "r"


@pytest.fixture(scope="module")
def result(folder):
    return json.loads((folder / "small" / "search.json").read_text(encoding="utf-8"))


def bundle_of(folder, name):
    return folder / "small" / "trials" / f"{name}-bundle" / "bundle"


def test_every_cheap_candidate_was_tried_and_every_shape_measured_and_trained(result, folder):
    assert [row["name"] for row in result["tried"]] == [
        f"full-{vocabulary}-{table}" for vocabulary in GRID.vocabularies for table in GRID.tables
    ]
    assert list(result["shapes"]) == list(GRID.shapes)
    assert all(row["ms"] > 0 and row["dense"] > 0 for row in result["shapes"].values())
    trained = [row for row in result["bundles"] if row["trained"]]
    assert [row["shape"] for row in trained] == list(GRID.shapes)
    for row in trained:
        assert (bundle_of(folder, row["name"]).with_name("student") / "encoder.keras").is_file()
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Compressed bundles" in page and all(row["name"] in page for row in result["bundles"])


def test_of_the_start_of_a_shape_no_share_is_kept(result, folder):
    [full] = [row for row in result["bundles"] if row["trained"] and row["shape"] == "full"]
    encoders = folder / "teacher", folder / "student", bundle_of(folder, full["name"]).with_name("student")
    teacher, student, trial = (
        np.asarray(load_keras_encoder(one).model.get_layer("pooling").weights[0]) for one in encoders
    )
    np.testing.assert_array_equal(student, teacher)
    assert (trial != student).any()


def test_bytes_are_those_on_disk_and_foretold_to_a_few_kilobytes(result, folder):
    for row in result["bundles"]:
        assert row["bytes"] == size_of(bundle_of(folder, row["name"]))
        foretold = row["table_bytes"] + result["shapes"][row["shape"]]["other_bytes"]
        assert abs(foretold - row["bytes"]) < 6000
    chosen, shipped = (
        {path.name: path.read_bytes() for path in place.iterdir()}
        for place in (bundle_of(folder, result["chosen"]), folder / "small" / "bundle")
    )
    assert shipped == chosen


def test_the_bundle_says_which_languages_use_its_pieces(folder, sample, tmp_path):
    write_subset(folder / "small" / "bundle", tmp_path / "de", ["de"], "r")
    texts = [q.text for q in sample.select("de", "train")]
    before, after = (load_artefact(place) for place in (folder / "small" / "bundle", tmp_path / "de"))
    np.testing.assert_array_equal(after.encode(texts), before.encode(texts))


def test_the_p1_of_a_bundle_is_that_of_its_files(result, folder, sample):
    row = result["bundles"][-1]
    encoder = load_artefact(bundle_of(folder, row["name"]))
    passages = encoder.encode(sample.passage_texts)
    document_of = np.array([passage.document for passage in sample.passages])
    for language, p1 in row["languages"].items():
        questions = sample.select(language, "dev")
        best = (encoder.encode([q.text for q in questions]) @ passages.T).argmax(axis=1)
        right = document_of[best] == [document_of[q.passage] for q in questions]
        # A tie counts against the encoder.
        assert p1 <= np.mean(right) + 1e-9
    assert row["p@1"] == pytest.approx(np.mean(list(row["languages"].values())))


def test_the_loss_is_in_points_of_the_students_mean(result, folder):
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    table = metrics["splits"]["dev"]["encoders"]["student"]["maxp"]
    mean = np.mean([table[language]["p@1"] for language in metrics["languages"]])
    for row in result["tried"] + result["bundles"]:
        assert row["drop"] == pytest.approx(100 * (mean - row["p@1"]), abs=1e-5)


@pytest.fixture
def without_page(monkeypatch):
    """A search writes no report, which takes a second."""
    monkeypatch.setattr("distill.jobs.compression.compress.write_report", lambda *arguments: None)


def test_the_same_command_goes_on_and_makes_nothing_twice(distill, result, folder, without_page, capfd):
    trials = {path: path.stat().st_mtime_ns for path in (folder / "small" / "trials").rglob("trial.json")}
    removed = folder / "small" / "trials" / "full-twice-uint8" / "trial.json"
    removed.unlink()
    assert distill("compress", folder, "--max-size", "0.9MB") == 0
    again = {path: path.stat().st_mtime_ns for path in (folder / "small" / "trials").rglob("trial.json")}
    assert {path for path in trials if again[path] != trials[path]} == {removed}
    assert json.loads((folder / "small" / "search.json").read_text(encoding="utf-8"))["budget"]["bytes"] == 900_000
    # The sample has Russian questions, and the run German ones.
    assert re.search(
        r"^ru is not kept: <unk> \d+\.\d\d % \(before \d+\.\d\d %\) with the", capfd.readouterr().err, re.M
    )


def test_a_budget_that_none_keeps_says_how_near_it_came(distill, folder, without_page, capsys):
    assert distill("compress", folder, "--max-size", "0.9MB", "--max-drop", "0", "--max-ms", "0.0001") == 0
    assert "0.0001" in capsys.readouterr().out


@pytest.mark.parametrize("place", ["run", "project"])
def test_a_folder_with_other_things_in_it_is_left_as_it_is(distill, folder, tmp_path, place, capsys):
    output = folder if place == "run" else tmp_path / place
    for name in ("bundle/mine", "code/.env.template"):
        if place == "project":
            (output / name).parent.mkdir(parents=True)
            (output / name).write_text("", encoding="utf-8")
    before = sorted(output.rglob("*"))
    assert distill("compress", folder, "--max-size", "1MB", "--output", output) == 2
    assert str(output) in capsys.readouterr().err
    assert sorted(output.rglob("*")) == before


def test_trials_and_a_bundle_of_ones_own_are_no_search(tmp_path):
    """The bundle was replaced."""
    for name in ("trials", "bundle"):
        (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=str(tmp_path)):
        require_search_folder(tmp_path)
    require_same_inputs(tmp_path / "trials", {"seed": 0})
    require_search_folder(tmp_path)


@pytest.mark.parametrize("content", ["[]", '{"student": 3}'])
def test_settings_that_are_none_are_others(content, tmp_path):
    (tmp_path / "settings.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"\(student, seed\)"):
        require_same_inputs(tmp_path, {"student": {"epochs": 1}, "seed": 0})


def test_trials_depend_on_the_texts_of_another_dev(sample, tmp_path):
    of = as_dict(Settings()), sample, {}
    require_same_inputs(tmp_path, search_inputs(*of))
    require_same_inputs(tmp_path, search_inputs(*of))
    with pytest.raises(InputError, match=r"\(dev texts\)"):
        require_same_inputs(tmp_path, search_inputs(*of, sample))


def test_what_no_trial_depends_on_may_change(folder, sample):
    path = folder / "small" / "trials" / "settings.json"
    before = path.read_bytes()
    stored = json.loads(before)
    # As an earlier version wrote it.
    stored["teacher"]["allow_weak"], stored["export"]["min_cosine"] = False, None
    for name in ("own_text", "trained_weights", "typed_share", "teacher_samples"):
        del stored["student"][name]
    path.write_text(json.dumps(stored), encoding="utf-8")
    try:
        settings = load_settings(folder / "config.toml")
        settings.teacher.allow_weak, settings.export.min_cosine = True, 0.25
        values = {**stored, **search_inputs(as_dict(settings), sample, {})}
        require_same_inputs(
            folder / "small" / "trials", {**values, "texts": stored["texts"], "corpus": stored["corpus"]}
        )
    finally:
        path.write_bytes(before)


def test_other_settings_a_folder_that_is_no_run_and_a_size_that_is_none_are_refused(
    distill, folder, tmp_path, slim_folder, capsys
):
    for arguments, named in (
        (["compress", folder, "--max-size", "1MB", "--epochs", "3"], "(student)"),
        (["compress", tmp_path, "--max-size", "1MB"], str(tmp_path)),
        (["run", "--base", slim_folder, "--max-size", "0MB", "--runs", tmp_path / "runs"], "--max-size"),
    ):
        assert distill(*arguments) == 2
        assert named in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_settings_name_a_budget():
    settings = Settings()
    assert read_budget(settings.budget, settings.export.max_drop) == Budget(None, None, 1.0)
    settings.budget.max_size, settings.budget.max_ms, settings.export.max_drop = "2MB", 0.1, 3.0
    assert read_budget(settings.budget, settings.export.max_drop) == Budget(2_000_000, 0.1, 3.0)
    settings.budget.max_size = "much"
    with pytest.raises(ConfigError):
        read_budget(settings.budget, settings.export.max_drop)


def test_seconds_an_epoch_by_hand():
    rows = [{"event": "teacher", "seconds": 9, "epoch": 1}]
    assert seconds_an_epoch(rows) is None
    rows += [{"event": "student", "seconds": 10 + 20 * epoch, "epoch": epoch} for epoch in range(4)]
    assert seconds_an_epoch(rows) == 20


def test_a_summary_without_any_bundle():
    assert describe_search({"chosen": None}).startswith("no bundle")
