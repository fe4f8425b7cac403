"""Every recipe trains: its settings on tiny data and a tiny base, a few steps of what it is about."""

import shutil

import numpy as np
import pytest

from distill.encoders.encoder import KerasEncoder
from distill.jobs.pipeline.preparing import prepare
from distill.jobs.pipeline.second_stage import determine_start, make_student
from distill.settings.recipe import recipe_names
from distill.settings.store import change_settings, load_settings, recipe_settings
from distill.students.embeddings import TABLE
from distill.system.input_files import read_jsonl

TEACHER = "--bm25-epochs 0 --online-epochs 1 --set teacher.batch_size=4"
# Of a command that is a stage alone.
ALONE = {
    **{name: f"teach {TEACHER} --set pairs.pairs_an_epoch=8" for name in recipe_names() if name.startswith("lareqa")},
    **dict.fromkeys(("muse", "paper", "paper-linear", "small", "transformer"), "transfer --epochs 1"),
}
# One of each stage; what the batches of the others hold is tested in test_samplers, self-training in its own file.
TRAINED = ("lareqa-x-y", "paper")
WHOLE = f"{TEACHER} --epochs 1 --set export.min_cosine=0.5 --max-drop 100 --no-lareqa --allow-weak-teacher"


def test_every_recipe_is_tried():
    assert sorted([*ALONE, "default", "own-teacher", "sentri", "tiny"]) == sorted(recipe_names())


@pytest.mark.parametrize("name", [*(name for name in ALONE if name not in TRAINED), "sentri"])
def test_the_settings_of_a_recipe_go_together_with_data_and_a_base(begun, name):
    assert set(begun(name, {}).languages) == {"en", "de"}


@pytest.mark.parametrize("name", TRAINED)
def test_a_recipe_trains_a_stage_alone(distill, sentence_data, slim_folder, tmp_path, name):
    command, *flags = ALONE[name].split()
    start = ["--base" if command == "teach" else "--teacher", slim_folder, "--dataset", sentence_data]
    assert distill(command, "--recipe", name, *start, *flags, "--output", tmp_path / "encoder") == 0
    assert KerasEncoder.load(tmp_path / "encoder").dimension == 16
    rows = [row for _, row in read_jsonl(tmp_path / "encoder" / "log.jsonl")]
    stage = "teacher" if command == "teach" else "student"
    assert {row["event"] for row in rows} == {stage} and len(rows) > 1
    assert all(row["p@1"] == pytest.approx(np.mean([*row["languages"].values()])) for row in rows)


def stop(*_):
    raise KeyboardInterrupt


def test_the_default_trains_tables_alone_by_the_config_that_is_written_for_the_data(
    distill, sentence_data, slim_folder, tmp_path, monkeypatch
):
    # Which bundle such a config makes, the tutorial shows.
    monkeypatch.setattr("distill.jobs.run.export_bundle", stop)
    folder, run = shutil.copytree(sentence_data, tmp_path / "own data"), tmp_path / "run"
    assert distill("init", folder) == 0
    given = ["--config", folder / "distill.toml", "--base", slim_folder, "--runs", tmp_path, "--name", "run"]
    assert distill("run", *given, "--peers", "", *WHOLE.split()) == 130
    settings = load_settings(run / "config.toml")
    assert (settings.recipe, settings.data.dataset) == ("default", str(folder))
    rows = [row for _, row in read_jsonl(run / "log.jsonl") if row["event"] == "student"]
    assert len(rows) == 3 and all({*row["languages"]} == {"en", "de"} for row in rows)
    # Of teacher and student the table is trained alone; dev may keep the start of one.
    base, teacher, student = (weights_of(place) for place in (slim_folder, run / "teacher", run / "student"))
    pairs = ((base, teacher), (teacher, student))
    moved = {name for one, other in pairs for name, weights in one.items() if not same(weights, other[name])}
    assert moved == {TABLE}


def weights_of(folder):
    return {layer.name: layer.get_weights() for layer in KerasEncoder.load(folder).model.layers}


def same(weights, others):
    return all(map(np.array_equal, weights, others)) and len(weights) == len(others)


@pytest.fixture
def begun(sentence_data, slim_folder, tmp_path):
    """`begun(recipe, changes)`: a run of that recipe on the data."""
    data = {"data.dataset": str(sentence_data), "teacher.base": str(slim_folder)}
    return lambda recipe, values: prepare(change_settings(recipe_settings(recipe), {**data, **values}), tmp_path)


def test_tiny_has_some_of_the_pieces(begun, slim, tmp_path):
    run = begun("tiny", {"student.epochs": 0, "vocabulary.most_pieces": 500})
    student = make_student(run, determine_start(run.inputs, slim, run.shape), slim, slim)
    # Those that are single characters stay.
    assert len(student.tokenizer) < len(slim.tokenizer)
