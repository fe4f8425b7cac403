"""LAReQA, LIR and Sentri on a data set of one's own: the rows that there are, and real trainings, tiny."""

import csv
import json
import shlex

import numpy as np
import pytest
from fixtures.data import squad, write_squad

from distill.data.pool_readers import load_pool
from distill.errors import DataError
from distill.papers.pair_studies import ABLATIONS, RANKS, TRAININGS
from distill.papers.rows import read_outcomes
from distill.papers.study import TableRequest, list_paper_commands, plan_paper, reproduce_paper
from distill.settings.sections import DataSettings

QUICK = ("teacher.online_epochs=1", "teacher.batch_size=4", "pairs.pairs_an_epoch=8", "teacher.learning_rate=0.01")


def study_of(paper, data, base="multi12-static", settings=QUICK):
    return plan_paper(paper, DataSettings(str(data)), base=str(base), settings=settings)


def test_the_tables_have_the_start_what_needs_no_training_and_the_trainings(
    distill, sentence_data, static_folder, tmp_path
):
    study, calls = study_of("lareqa", sentence_data, static_folder), []

    def runner(arguments):
        calls.append(arguments[0])
        return distill(*arguments)

    wanted = TableRequest(("2", "4"), ("start", "x-y-figures"))
    figures = reproduce_paper(study, wanted, tmp_path, runner)
    assert calls == ["evaluate", "teach", "evaluate"]
    start = json.loads((tmp_path / "runs" / "start-0.json").read_text())["lareqa"]
    [of_start] = start["encoders"].values()
    [line, free, *_] = figures["2"].values()
    assert line["here"]["0"]["de"] == pytest.approx(100 * of_start["languages"]["de"])
    assert free["here"]["0"]["de"] == pytest.approx(100 * of_start["lir"]["ranks"]["1"]["languages"]["de"])
    trained = figures["2"]["X-Y"]
    read = json.loads((tmp_path / "runs" / "x-y-figures-0.json").read_text())["lareqa"]
    [of_training], [scores] = read["encoders"].values(), read["outcomes"].values()
    mean = sum(scores["map"]["lareqa"]["de"].values()) / len(scores["map"]["lareqa"]["de"])
    assert trained["here"]["0"]["de"] == pytest.approx(100 * mean)
    assert {*trained["against_base"]["0"]} == {"en", "de"} and len(trained["dev"]["0"]) == 2
    assert not figures["2"]["X-X"]["here"] and "En-En; X-X" in (tmp_path / "tables.md").read_text()
    with (tmp_path / "tables.csv").open(encoding="utf-8", newline="") as file:
        [row] = [
            one for one in csv.DictReader(file) if (one["table"], one["line"], one["column"]) == ("4", "X-Y", "de")
        ]
    assert int(row["questions"]) == len(scores["map"]["own pool"]["de"]) and row["p_holm"]
    # The start, what needs no training and X-Y: three pairs, and two lines of the pool of the question's language.
    pairs = json.loads((tmp_path / "tables.json").read_text())["pairs"]
    assert {name: len(of["pairs"]) for name, of in pairs.items()} == {"2": 3, "4": 1}
    [before] = start["outcomes"].values()
    each = [[one for of in each["map"]["own pool"].values() for one in of.values()] for each in (before, scores)]
    assert pairs["4"]["pairs"][0]["difference"] == pytest.approx(100 * (np.mean(each[0]) - np.mean(each[1])))
    # LIR's tables are of the same runs: nothing is trained or measured again.
    removal = study_of("lir", sentence_data, static_folder)
    of_ranks = reproduce_paper(removal, TableRequest(("4",), wanted.rows), tmp_path, runner)["4"]["X-Y"]
    assert len(calls) == 3 and (tmp_path / "tables-lir.md").is_file()
    assert sorted(path.name for path in tmp_path.glob("*-pairs.csv")) == ["tables-pairs.csv"]
    assert of_ranks["here"]["0"]["r=0"] == pytest.approx(100 * of_training["map"])
    assert {*of_ranks["against_base"]["0"]} == {name for name in of_ranks["here"]["0"] if name != "r=0"}


def test_data_without_sentence_boundaries_is_cut(distill, static_folder, tmp_path):
    pages = {"en": "It is old. It is tall.", "de": "Es ist alt. Es ist hoch."}
    articles = {
        language: squad([(f"page {number}", [(text, {str(number): f"{number}?"})]) for number in range(6)])
        for language, text in pages.items()
    }
    for value in articles.values():
        for article in value["data"]:
            [paragraph] = article["paragraphs"]
            answer = paragraph["context"].split()[-1]
            start = paragraph["context"].index(answer)
            paragraph["qas"][0]["answers"] = [{"text": answer, "answer_start": start}]
    data = tmp_path / "data"
    data.mkdir()
    write_squad(data, **articles)
    study = study_of("lareqa", data, static_folder)
    reproduce_paper(study, TableRequest(("2",), ("start",)), tmp_path / "out", lambda arguments: distill(*arguments))
    pool = load_pool(tmp_path / "out" / "data", split="all")
    assert pool.sentences[:2] == ("Es ist alt.", "Es ist hoch.") and len(pool.sentences) == 24
    assert {pool.sentences[number] for number in pool.targets[0]} == {"Es ist hoch.", "It is tall."}


def test_the_sample_is_searched_by_its_descriptions(tmp_path):
    study = study_of("lareqa", "sample")
    commands = list_paper_commands(study, TableRequest(("2",)), tmp_path / "out")
    assert study.cut and all(f"--dataset {tmp_path / 'out' / 'data'}" in command for command in commands)
    assert [command.split()[1] for command in commands] == ["evaluate", *["teach", "evaluate"] * len(TRAININGS)]


def test_sentri_asks_for_passages_in_the_languages_that_there_are(sentence_data):
    for data, batches in ((sentence_data, set()), ("sample", {"x-en"})):
        rows = {row.name: row.command for row in study_of("sentri", data, settings=()).rows}
        given = {part for part in rows["sentri"].split() if part.startswith("pairs.batches=")}
        assert given == {f"pairs.batches={kind}" for kind in batches}
        assert {f"{name}-stage-2" for name in ABLATIONS} < {*rows}
        # Of a setting that is given twice the last value counts.
        assert rows["english"].split("pairs.batches=")[-1] == "en-en"


def test_sentris_ablations_are_tested_by_r_at_2kt_alone(distill, sentence_data, static_folder, tmp_path):
    study = study_of("sentri", sentence_data, static_folder)
    rows = "start", "bm25"
    reproduce_paper(study, TableRequest(("1", "6"), rows), tmp_path, lambda arguments: distill(*arguments))
    read = read_outcomes("retrieval", "r@2kt", "passage", "all")
    start, words = (read(json.loads((tmp_path / "runs" / f"{name}-0.json").read_text()))["all"] for name in rows)
    tested = json.loads((tmp_path / "tables.json").read_text())["pairs"]
    [pair] = tested["6"]["pairs"]
    assert [*tested] == ["6"] and tested["6"]["metric"] == "R@2kt" and pair["questions"] == len(start) > 0
    assert pair["difference"] == pytest.approx(100 * np.mean([start[key] - words[key] for key in start]))


def test_what_a_paper_is_about_has_to_be_in_the_data(tmp_path):
    pages = [(f"page {number}", [(f"Text {number}.", {str(number): f"{number}?"})]) for number in range(6)]
    write_squad(tmp_path, en=squad(pages), de=squad(pages))
    with pytest.raises(DataError, match="answer"):
        study_of("sentri", tmp_path)


def test_text_of_lir_may_have_any_name_and_has_to_be_there(tmp_path):
    path = tmp_path / "my {news}.txt"
    given = "lir", DataSettings("sample"), "", "", "multi12-static", "", (), [f"de={path}"]
    with pytest.raises(DataError):
        plan_paper(*given)
    path.write_text("Ein Satz.\n", encoding="utf-8")
    for command in list_paper_commands(plan_paper(*given), TableRequest(("1",)), tmp_path):
        parts = shlex.split(command)
        assert "evaluate" not in parts or parts[parts.index("--corpus") + 1] == f"de={path}"


def test_every_line_reads_rows_that_there_are():
    for paper in ("lareqa", "lir", "sentri"):
        study = study_of(paper, "sample", settings=())
        names = {row.name for row in study.rows}
        assert all({*line.rows} <= names for table in study.tables for line in table.lines)
    assert [column for column in study_of("lir", "sample").tables[0].columns] == ["r=0", *(f"r={one}" for one in RANKS)]


@pytest.mark.parametrize(("paper", "rows"), [("cl-relkt", 5), ("lareqa", 9), ("lir", 9), ("sentri", 13)])
def test_the_command_lists_its_rows_and_starts_none(distill, tmp_path, capsys, paper, rows):
    given = ["--dataset", "sample", "--base", "multi12-static", "--seeds", "1,2", "--output", tmp_path / "out"]
    assert distill("papers", paper, *given, "--list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * rows and all(line.startswith("distill ") for line in lines)
    assert not (tmp_path / "out").exists()
