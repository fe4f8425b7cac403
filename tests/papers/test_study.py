"""CL-ReLKT on a data set of one's own: real trainings, tiny; what is refused starts nothing."""

import csv
import io
import json
import shlex
import shutil

import numpy as np
import pytest
from fixtures.data import squad, write_squad

from distill.cli import main
from distill.encoders.catalog.loading import load_keras_encoder
from distill.errors import ConfigError, DataError, EncoderError, InputError, TrainingError
from distill.papers.study import TableRequest, list_paper_commands, plan_paper, reproduce_paper
from distill.settings.sections import DataSettings

TOPICS = ("river", "castle", "falcon", "violin")
WORDS = {"en": "What is known about", "de": "Was weiß man über"}
QUICK = ("teacher.bm25_epochs=1", "teacher.online_epochs=0", "student.epochs=1", "student.evaluate_every=0")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Eight paragraphs of four articles, asked about in two languages."""
    folder = tmp_path_factory.mktemp("data with space") / "mine"
    folder.mkdir()
    ids = [f"{topic}-{part}" for topic in TOPICS for part in range(2)]
    languages = {
        language: squad([(topic, [paragraph(words, topic, part) for part in range(2)]) for topic in TOPICS])
        for language, words in WORDS.items()
    }
    return write_squad(folder, splits={"train": ids[:5], "dev": ids[5:]}, **languages)


def paragraph(words, topic, part):
    context = f"Part {part} about the {topic}: it is old, and a {topic} of this kind is number {part}."
    return context, {f"{topic}-{part}": f"{words} {topic} {part}?"}


def run_here(arguments):
    """Run a command of `distill` in this process, which is faster than one of its own."""
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return left.value.code


def read_scores(path):
    """P@1 by document of each question, which a row left."""
    [of] = json.loads(path.read_text())["retrieval"]["outcomes"].values()
    return of["p@1"]["document"]


def study_of(data, base, **options):
    return plan_paper("cl-relkt", DataSettings(str(data)), base=str(base), settings=QUICK, **options)


def test_rows_run_once_and_the_tables_have_what_they_left(data, static_folder, tmp_path):
    study = study_of(data, static_folder)
    calls, output, wanted = [], tmp_path / "out", TableRequest(("3",))

    def runner(arguments):
        calls.append(arguments[0])
        return run_here(arguments)

    figures = reproduce_paper(study, wanted, output, runner)["3"]
    assert calls == ["evaluate", "teach", "evaluate", "transfer", "evaluate"]
    start, student = (read_scores(output / "runs" / f"{name}-0.json") for name in ("start", "student-scores"))
    assert figures["student"]["here"]["0"]["de"] == pytest.approx(100 * np.mean([*student["de"].values()]))
    assert figures[str(static_folder)]["here"]["0"]["de"] == pytest.approx(100 * np.mean([*start["de"].values()]))
    assert {line["questions"]["0"]["de"] for line in figures.values()} == {len(student["de"])} == {3}
    log = (output / "runs" / "student-0" / "log.jsonl").read_text().splitlines()
    evaluations = [row for row in map(json.loads, log) if row["event"] == "student"]
    assert figures["student"]["best_of"]["0"] == len(evaluations) > 1
    # dev kept the start exactly where the weights are still those of the base.
    weights = [
        load_keras_encoder(place).model.get_weights() for place in (static_folder, output / "runs" / "teacher-0")
    ]
    stays = all(np.array_equal(*pair) for pair in zip(*weights, strict=True))
    assert figures["teacher"]["start_kept"] == {"0": stays}
    assert ("**teacher**, dev" in (output / "tables.md").read_text()) is stays
    rows = list(csv.DictReader(io.StringIO((output / "tables.csv").read_text())))
    [row] = [row for row in rows if (row["line"], row["column"]) == ("student", "de")]
    assert float(row["value"]) == figures["student"]["here"]["0"]["de"] and int(row["best_of"]) == len(evaluations)
    # Six pairs of four lines; the teacher and the student by the questions of both languages.
    pairs = list(csv.DictReader(io.StringIO((output / "tables-pairs.csv").read_text())))
    [pair] = [one for one in pairs if (one["line"], one["other"]) == ("teacher", "student")]
    scores = [read_scores(output / "runs" / f"{name}-scores-0.json") for name in ("teacher", "student")]
    differences = [scores[0][language][id] - scores[1][language][id] for language in WORDS for id in scores[0]["en"]]
    assert len(pairs) == 6 and int(pair["questions"]) == 6 and int(pair["clusters"]) == 3
    assert float(pair["difference"]) == pytest.approx(100 * np.mean(differences))
    told = "a difference by P@1 of all questions (2 languages;"
    assert told in (output / "tables.md").read_text() and told in (output / "tables.tex").read_text()
    assert (output / "tables.md").is_file() and r"\toprule" in (output / "tables.tex").read_text()
    assert reproduce_paper(study, wanted, output, runner)["3"] == figures and len(calls) == 5
    other = study_of(data, static_folder, recipe="paper-linear")
    with pytest.raises(InputError):
        reproduce_paper(other, wanted, output, runner)
    assert len(calls) == 5
    # Without its scores the figures are those of the evaluation that dev chose, and nothing is tested.
    (output / "runs" / "student-scores-0.json").unlink()
    with pytest.raises(TrainingError):
        reproduce_paper(study, wanted, output, lambda arguments: 1)
    logged = json.loads((output / "tables.json").read_text())["3"]["student"]
    assert logged["here"]["0"]["de"] == pytest.approx(figures["student"]["here"]["0"]["de"])
    assert "against_base" not in logged


def test_a_row_that_fails_stops_no_other_and_is_tried_again(data, static_folder, tmp_path):
    study = study_of(data, static_folder)
    calls, wanted = [], TableRequest(("6",), ("q", "qd"), (0, 3), ("csv",))
    with pytest.raises(TrainingError):
        reproduce_paper(study, wanted, tmp_path / "out", lambda arguments: calls.append(arguments) or 1)
    names = [arguments[arguments.index("--output") + 1] for arguments in calls]
    runs = tmp_path / "out" / "runs"
    assert names == [str(runs / name) for name in ("q-0", "qd-0", "q-3", "qd-3")]
    assert sorted(path.name for path in runs.parent.iterdir()) == ["runs", "study.json", "tables.csv", "tables.json"]
    listed = list_paper_commands(study, wanted, tmp_path / "out")
    words = shlex.split(listed[0])
    assert words[words.index("--dataset") + 1] == str(data) and "student.epochs=1" in words


def one_language(folder, data):
    shutil.copytree(data, folder)
    (folder / "de.json").unlink()
    return {}


def no_questions(folder, data):
    folder.mkdir()
    (folder / "documents.jsonl").write_text('{"id": "a", "passages": [{"id": "p", "text": "Text."}]}\n')
    return {}


def without_weights(folder, data):
    shutil.copytree(data, folder)
    base = folder.parent / "base"
    base.mkdir()
    (base / "encoder.json").write_text("{}")
    return {"base": str(base)}


def unknown_setting(folder, data):
    shutil.copytree(data, folder)
    return {"settings": ("student.gama=1",)}


@pytest.mark.parametrize(
    ("make", "error"),
    [(no_questions, DataError), (one_language, DataError), (without_weights, EncoderError)]
    + [(unknown_setting, ConfigError)],
)
def test_what_cannot_be_trained_is_refused_before_anything_starts(data, tmp_path, make, error):
    options = make(tmp_path / "data", data)
    with pytest.raises(error):
        study = plan_paper("cl-relkt", DataSettings(str(tmp_path / "data")), **options)
        reproduce_paper(study, TableRequest(("3",)), tmp_path / "out", runner=pytest.fail)


def test_a_row_overrides_a_setting_that_is_given(data, static_folder):
    rows = {row.name: shlex.split(row.command) for row in study_of(data, static_folder).rows}
    # Of a setting that is given twice the last value counts.
    last = {name: [word for word in rows[name] if "_epochs=" in word and word.startswith("teacher")] for name in rows}
    assert last["bm25"][-1] == "teacher.online_epochs=0" and last["online"][-1] == "teacher.bm25_epochs=0"
    assert not {"--bm25-epochs", "--online-epochs"} & {word for words in rows.values() for word in words}


def test_the_command_refuses_in_one_line_and_lists_without_starting(data, tmp_path, capsys):
    assert run_here(["papers", "cl-relkt", "--dataset", str(tmp_path), "--output", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    command = ["papers", "cl-relkt", "--dataset", str(data), "--tables", "11d", "--seeds", "1,2", "--list"]
    assert run_here([*command, "--output", str(tmp_path / "out")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 * 6 and not (tmp_path / "out").exists()
