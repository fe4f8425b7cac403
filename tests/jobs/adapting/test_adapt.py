"""`distill run --documents`: documents and no questions."""

import html
import json
import re
import shutil
from functools import partial

import numpy as np
import pytest
from fixtures.commands import Left
from fixtures.folders import names

from distill.cli import main
from distill.data.readers import SAMPLE
from distill.encoders.encoder import KerasEncoder
from distill.errors import InputError, TrainingError
from distill.evaluation.evaluate import Evaluation
from distill.jobs.adapting.adapt import UNIT, adapt, prepare, require_gain
from distill.jobs.pipeline.inputs import Inputs
from distill.jobs.pipeline.run import Run

DOCUMENTS = SAMPLE / "documents.jsonl"


@pytest.fixture
def distill(capsys):
    def call(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        return Left(left.value.code, *capsys.readouterr())

    return call


@pytest.fixture(scope="module")
def static(tokenizer, tmp_path_factory):
    import keras

    from distill.students.static import StaticEncoder

    keras.utils.set_random_seed(0)
    folder = tmp_path_factory.mktemp("static") / "encoder"
    model = StaticEncoder(vocabulary=len(tokenizer), width=32, hidden=32, dimension=32)
    KerasEncoder(model, tokenizer).save(folder)
    return folder


@pytest.fixture(scope="module")
def rivers(sample, tmp_path_factory):
    """Documents that say little else than what all of them say."""
    words = sorted({word for text in sample.passage_texts for word in text.split() if word.isalpha() and len(word) > 4})
    random = np.random.default_rng(0)
    common, rare = words[:20], [words[row] for row in 20 + random.permutation(len(words) - 20)[:400]]
    path = tmp_path_factory.mktemp("rivers") / "rivers.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        for number in range(200):
            title = f"{rare[2 * number]} {rare[2 * number + 1]}"
            said = [" ".join([title, *random.choice(common, 12)]) + "." for _ in range(3)]
            file.write(json.dumps({"title": title, "text": " ".join(map(str.capitalize, said))}) + "\n")
    return path


def test_an_encoder_learns_documents_and_its_table_stays(distill, static, rivers, tmp_path):
    lines = tmp_path / "lines.tsv"
    lines.write_text("en\tde\nThe Nile flows north.\tDer Nil fließt nach Norden.\n", encoding="utf-8")
    named = ["--base", static, "--parallel", lines, "--runs", tmp_path, "--name", "mine"]
    left = distill("run", "--documents", rivers, *named)
    assert left.code == 0, left.err
    folder = tmp_path / "mine"
    left_there = {"bundle", "config.toml", "log.jsonl", "metrics.json", "queries", "report.html", "student"}
    assert set(names(folder)) == left_there
    page = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
    # The sentence that the report opens with is a line of its own.
    opening = re.search(r'<p class="headline.*<span class="mark">(.)</span> (.*)</p>', page).groups()
    assert " ".join(opening) in left.out.splitlines()
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    held_out = metrics["held_out"]
    assert held_out["student"] > held_out["base"] and held_out["p"] < 0.05 and held_out["queries"] == 80
    before, after = (KerasEncoder.load(one).model for one in (static, folder / "student"))
    moved = {
        layer.name: any(
            not np.array_equal(a, b)
            for a, b in zip(layer.get_weights(), after.get_layer(layer.name).get_weights(), strict=True)
        )
        for layer in before.layers
        if layer.weights
    }
    assert moved == {"embedding": False, "residual": True}


def test_files_of_ones_own_in_the_folder_stay(tmp_path):
    """They were removed with what an adaptation leaves that fails, also where they came after it had begun."""
    given = [DOCUMENTS], tmp_path / "mine", "multi12-static", [], "en", 0
    job = prepare(*given)
    for place in ("queries", "lines"):
        file = tmp_path / "mine" / place / "a.txt"
        file.parent.mkdir(parents=True)
        file.write_text("Mine.", encoding="utf-8")
        for refused in (partial(prepare, *given), partial(adapt, job)):
            with pytest.raises(InputError, match="mine"):
                refused()
        assert file.read_text(encoding="utf-8") == "Mine."
        shutil.rmtree(tmp_path / "mine")


def test_no_gain_is_refused_with_the_figures(sample, tmp_path):
    run = Run(Inputs(sample, ("en",)), tmp_path)
    count = len(sample.select("en", "test"))
    ranks = {UNIT: {"en": np.arange(1, count + 1)}}
    run.evaluations["test"] = {name: Evaluation(name, "test", ranks) for name in ("base", "student")}
    with pytest.raises(TrainingError, match=f"p 1.000, {count}"):
        require_gain(run)
    better = {UNIT: {"en": np.ones(count, dtype=np.int64)}}
    run.evaluations["test"]["student"] = Evaluation("student", "test", better)
    require_gain(run)
    assert run.figures["held_out"]["student"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["--documents", "none.jsonl"], "none.jsonl"),
        (["--documents", "FEW"], "few.jsonl"),
        (["--documents", DOCUMENTS, "--epochs", "2"], "student.epochs"),
        (["--documents", DOCUMENTS, "--resume", "mine"], "--resume"),
        (["--documents", DOCUMENTS, "--parallel", "none.tsv"], "none.tsv"),
        (["--documents", DOCUMENTS, "--base", "e5"], "e5"),
        ([DOCUMENTS], "--documents"),
    ],
)
def test_what_cannot_be_adapted_is_refused_in_one_line(distill, arguments, place, tmp_path):
    few = tmp_path / "few.jsonl"
    few.write_text('{"text": "One sentence."}\n' * 80, encoding="utf-8")
    arguments = [few if argument == "FEW" else argument for argument in arguments]
    left = distill("run", *arguments, "--runs", tmp_path / "runs")
    assert left.code == 2 and left.is_one_error and place in left.err
    assert not (tmp_path / "runs").exists()
