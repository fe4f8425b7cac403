"""Recipes, and configs that rest on one."""

from dataclasses import replace
from pathlib import Path

import pytest

from distill.errors import ConfigError
from distill.settings import recipe as recipes
from distill.settings.recipe import read_recipe, recipe_names
from distill.settings.sections import Settings
from distill.settings.store import change_settings, format_config, load_settings, recipe_settings

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks" / "recipes"
# What the trainings of pairs share, and what each has besides.
PAIRS = {
    "data.dataset": "data/xquad-r",
    "teacher.base": "runs/recipes/base/student",
    "teacher.loss": "softmax",
    "teacher.batch_size": 64,
    "teacher.learning_rate": 1e-3,
    "teacher.bm25_epochs": 2,
    "teacher.online_epochs": 4,
    "pairs.pairs_an_epoch": 4096,
    "student.epochs": 0,
    "student.dev_unit": "maxp",
    "export.table": "int4",
    "evaluation.lareqa": False,
}
PARALLEL = [
    "materials/ntrex=1",
    "data/massive/utterances.tsv=2",
    "data/mkqa-questions/questions.tsv=1",
    "data/mintaka-dev/questions.tsv=0.5",
    "data/qald/questions.tsv=0.5",
    "data/rubq/questions.tsv=0.25",
    "data/tico19/tico19.tsv=0.5",
    "data/xor-question-pairs/ar-en.tsv=0.25",
    "data/xor-question-pairs/ru-en.tsv=0.25",
]
COMPARED = {
    "en-en": {"pairs.batches": "en-en"},
    "x-x": {"pairs.batches": "x-x"},
    "x-x-mono": {"pairs.batches": "x-x-mono"},
    "x-y": {"pairs.batches": "x-y"},
    "x-y-dual": {"pairs.batches": "x-y", "pairs.encoders": "dual"},
    "x-y-parallel": {"pairs.batches": "x-y", "pairs.parallel_share": 0.5, "student.parallel": PARALLEL},
    "x-y-unfiltered": {"pairs.batches": "x-y", "pairs.filters": []},
    "x-en": {"pairs.batches": "x-en"},
    "self-training": {"pairs.batches": "x-en", "pairs.self_train": 3},
}


@pytest.mark.parametrize("name", COMPARED)
def test_a_benchmark_has_the_settings_that_its_figures_were_made_with(name):
    settings = load_settings(BENCHMARKS / f"{name}.toml")
    assert replace(settings, recipe="") == change_settings(Settings(), {**PAIRS, **COMPARED[name]})


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_is_about_something_and_its_file_is_a_config(name):
    recipe = read_recipe(name)
    assert all(text.strip() for text in (recipe.purpose, recipe.size, recipe.time))
    assert "data" not in recipe.values
    assert replace(recipe_settings(name), recipe="") == load_settings(recipes.FOLDER / f"{name}.toml")


@pytest.mark.parametrize("name", ["paper", "paper-linear"])
def test_both_after_the_paper_are_within_what_it_says(name):
    """CL-ReLKT, sections 3.1 and 4.3, Table 1."""
    teacher, student = (getattr(recipe_settings(name), part) for part in ("teacher", "student"))
    assert (teacher.base, teacher.loss, teacher.bm25_epochs, teacher.online_epochs) == ("muse", "triplet", 3, 5)
    assert (student.epochs, student.evaluate_every, student.document_tokens) == (10, 100, 0)
    assert student.units == ("document",) and (student.dev_unit, teacher.unit) == ("document", "document")
    rates, coefficients = (1e-3, 5e-4, 1e-4, 1e-5, 1e-6), (1, 1e-1, 1e-2, 1e-3, 1e-4)
    assert {teacher.learning_rate, student.learning_rate} <= set(rates)
    assert {student.losses.qq, student.losses.dq} <= set(coefficients) and student.losses.dd == 1
    assert student.gamma in (100, 1000, 10000) and teacher.negatives in (1, 2, 3, 5, 10) and 0.1 <= teacher.margin <= 1


def test_the_paper_has_the_settings_of_its_authors_code():
    """github.com/mrpeerat/CL-ReLKT at 8acb90f: the scripts 1 to 3 and the notebook XQUAD.ipynb."""
    teacher, student = (getattr(recipe_settings("paper"), part) for part in ("teacher", "student"))
    assert (teacher.learning_rate, teacher.batch_size, teacher.margin) == (1e-5, 16, 0.24)
    assert (teacher.negatives - teacher.hard_quota, teacher.hard_quota) == (1, 1)
    assert teacher.train_unit == "passage-then-document"
    assert (student.learning_rate, student.batch_size, student.patience) == (1e-3, 16, 20)
    assert (student.schedule, student.teacher_samples, student.gamma) == ("plateau", False, 1000)
    assert (student.losses.qq, student.losses.dd, student.losses.dq) == (0.001, 1, 0.01)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of recipes, in which `one` has a margin of 0.7 and a gamma of 2."""
    place = tmp_path / "recipes"
    place.mkdir()
    about = '[recipe]\npurpose = "a"\nsize = "b"\ntime = "c"\n'
    (place / "one.toml").write_text(f"{about}[teacher]\nmargin = 0.7\n[student]\ngamma = 2.0\n", encoding="utf-8")
    (place / "other.toml").write_text(about, encoding="utf-8")
    monkeypatch.setattr(recipes, "FOLDER", place)
    return place


def written(folder, text):
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_config_stands_above_the_recipe_that_it_or_the_flag_names(folder, tmp_path):
    expected = change_settings(Settings(recipe="one"), {"teacher.margin": 0.5, "student.gamma": 2.0})
    assert load_settings(written(tmp_path, 'recipe = "one"\nteacher.margin = 0.5\n')) == expected
    assert load_settings(tmp_path / "config.toml", "one") == expected
    assert load_settings(written(tmp_path, "teacher.margin = 0.5\n"), "one") == expected
    # Without a name the file rests on the defaults alone.
    assert load_settings(tmp_path / "config.toml") == change_settings(Settings(), {"teacher.margin": 0.5})


def test_what_a_run_wrote_names_its_recipe_and_does_not_rest_on_it(folder, tmp_path):
    settings = recipe_settings("one")
    (tmp_path / "config.toml").write_text(format_config(settings), encoding="utf-8")
    assert (tmp_path / "config.toml").read_text(encoding="utf-8").startswith('recipe = "one"\ncomplete = true\n')
    # A setting of a later version has its default, whatever the recipe says of it by then.
    whole = (tmp_path / "config.toml").read_text(encoding="utf-8")
    written(tmp_path, whole.replace("gamma = 2.0\n", ""))
    assert load_settings(tmp_path / "config.toml") == change_settings(settings, {"student.gamma": 100.0})
    written(tmp_path, whole)
    (folder / "one.toml").unlink()
    assert load_settings(tmp_path / "config.toml", "one") == settings


@pytest.mark.parametrize(
    ("text", "recipe", "place"),
    [
        ('recipe = "none"\n', "", r"config\.toml: .*'none'.* one, other"),
        ("seed = 1\n", "../one", r"config\.toml: .*'\.\./one'"),
        ('recipe = "one"\n', "other", r"config\.toml: .*'one'.*'other'"),
        ("recipe = 3\n", "", r"config\.toml: recipe: "),
        ('complete = "yes"\n', "", r"config\.toml: complete: "),
    ],
)
def test_a_recipe_that_is_none_or_another_is_refused(folder, tmp_path, text, recipe, place):
    with pytest.raises(ConfigError, match=place):
        load_settings(written(tmp_path, text), recipe)
