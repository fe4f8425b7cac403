"""The scripts of benchmarks/papers: rows are commands that there are, tables say what has run and what not."""

import json
import re
import shlex
import statistics
import subprocess
import sys
from dataclasses import replace
from importlib import import_module

import click
import pytest
from fixtures.commands import ROOT

from distill.cli import cli

HELPERS = ("rows", "page", "sentences", "context")
SCRIPTS = sorted(path.stem for path in (ROOT / "benchmarks" / "papers").glob("*.py") if path.stem not in HELPERS)


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "papers"))
    yield import_module
    for name in (*HELPERS, *SCRIPTS):
        sys.modules.pop(name, None)


def asked(words):
    """The command that words begin with."""
    group, context = cli, click.Context(cli)
    for word in words:
        command = group.get_command(context, word)
        if not isinstance(command, click.Group):
            return command
        group = command


@pytest.mark.parametrize("script", SCRIPTS)
def test_rows_are_commands_with_options_that_there_are(module, script):
    for row in module(script).ROWS:
        if row.verb.endswith(".py"):
            assert (ROOT / "benchmarks" / row.verb).is_file()
            continue
        command = asked(shlex.split(row.command))
        options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        assert {part for part in shlex.split(row.command) if part.startswith("--")} <= options, row.name


@pytest.mark.parametrize("script", SCRIPTS)
def test_tables_name_rows_and_columns_that_they_have(module, script):
    rows = {row.name for row in module(script).ROWS}
    for table in module(script).TABLES:
        assert {line.row for line in table.lines if line.row} <= rows
        assert {*table.mean} <= {*table.columns}
        assert all({*line.paper} <= {*table.columns} and (line.row or line.why) for line in table.lines)
    assert {name for row in module(script).ROWS for name in row.after} <= rows


def test_commands_are_listed_until_nobody_reads_on():
    script = ROOT / "benchmarks" / "papers" / "sentri.py"
    with subprocess.Popen([sys.executable, script, "--list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as listed:
        listed.stdout.close()
        assert listed.stderr.read() == b""


def test_a_row_comes_after_what_it_reads_and_a_stopped_run_goes_on(module, tmp_path):
    rows = module("rows")
    first, second = rows.Row("a", "run --epochs 1"), rows.Row("b", "evaluate {runs}/a-{seed} --split dev", ("a",))
    assert rows.needed((second, first), ("b", "a", "b")) == [first, second]
    place = rows.Place(tmp_path, "data", 2)
    assert place.arguments(first) == ["run", "--epochs", "1", "--seed", "2", "--runs", str(tmp_path), "--name", "a-2"]
    expected = ["evaluate", f"{tmp_path}/a-2", "--split", "dev", "--json", f"{tmp_path}/b-2.json"]
    assert place.arguments(second) == expected
    (tmp_path / "a-2").mkdir()
    (tmp_path / "a-2" / "config.toml").touch()
    assert place.arguments(first) == ["run", "--resume", str(tmp_path / "a-2")]


def test_sentences_are_of_the_first_sources_and_of_later_ones_as_many_as_are_wanting(module, monkeypatch, tmp_path):
    sentences = module("sentences")
    first, second = "Der erste Satz steht in einem Absatz.", "Der zweite Satz steht gleich dahinter."
    others = [f"Satz Nummer {number} steht in einer Tabelle." for number in range(5)]
    (tmp_path / "a.de.jsonl").write_text(json.dumps({"context": f"{first} {second} Kurz."}) + "\n", encoding="utf-8")
    rows = ["en\tde", f"First\t{first}", *(f"Row\t{one}" for one in others)]
    (tmp_path / "en-de.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    monkeypatch.setattr(sentences, "SOURCES", {"de": ("a.de.jsonl", "en-de.tsv")})
    monkeypatch.setattr(sentences, "MOST", 5)
    by_source = sentences.collected(tmp_path, "de", seed=0)
    assert {*by_source["a.de.jsonl"]} == {first, second}
    assert len({*by_source["en-de.tsv"]}) == 3 and {*by_source["en-de.tsv"]} < {*others}


def test_a_table_has_the_papers_figures_the_mean_over_seeds_and_what_did_not_run(module, tmp_path):
    rows = module("rows")
    for seed, (german, thai) in {0: (0.5, 0.25), 1: (0.6, 0.75)}.items():
        (tmp_path / f"a-{seed}").mkdir()
        units = {"document": {"de": {"p@1": german}, "th": {"p@1": thai}}}
        text = json.dumps({"splits": {"dev": {"encoders": {"student": units}}}})
        (tmp_path / f"a-{seed}" / "metrics.json").write_text(text)
    read, published = rows.of_run("student"), rows.paper("de th", "61.5 -")
    lines = rows.Line("A", "a", read, published), *(rows.Line(name, "b", read) for name in "BDEFG")
    lines = *lines, rows.Line("C", why="no weights")
    table = rows.Table("1", "Table 1", ("de", "th"), lines, mean=("de", "th"))
    places = [rows.Place(tmp_path, "data", seed) for seed in (0, 1)]
    shown = rows.figures(table, (rows.Row("a", "run"), rows.Row("b", "run")), places)
    assert shown["A"]["here"] == {"0": {"de": 50, "th": 25}, "1": {"de": 60, "th": 75}}
    spread = statistics.stdev([37.5, 67.5])
    assert rows.markdown(table, shown).splitlines()[2:] == [
        "||de|th|mean of 2|",
        "|---|---|---|---|",
        "|A, paper|61.5|||",
        f"|**A, seeds 0, 1**|55.0|50.0|52.5 ± {spread:.1f}|",
        *("", "Not run yet: B; D; E; 2 others."),
        *("", "Not run, no weights: C."),
    ]


def compared(folder, name, counts):
    """What `distill compare --json` writes, of a language alone right on so many questions, and the base alone."""
    by_language = {
        language: {"a": 0.5, "b": 0.25, "only_a": a, "only_b": b}
        for language, (a, b) in {**counts, "all": (0, 0)}.items()
    }
    figures = {"metrics": {"p@1": {"document": by_language}}}
    (folder / f"{name}.json").write_text(json.dumps(figures), encoding="utf-8")


def logged(folder, name, languages, count):
    """The log of a training with so many evaluations, the last of which has these."""
    (folder / name).mkdir()
    rows = [
        {"event": "student", "step": step, "p@1": 0.5 + step / 100, "languages": languages} for step in range(count)
    ]
    rows.append({"event": "rounding"})
    (folder / name / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


@pytest.fixture
def trained(module, tmp_path):
    """A table of one line in four languages, and the places of two seeds that ran."""
    rows = module("rows")
    # Exact binomial p of 10 of 10 is 2 / 1024, of 9 of 9 4 / 1024: times four languages .008 and .012 (Holm).
    counts = {"de": (10, 0), "ru": (0, 10), "th": (3, 2), "tr": (9, 0)}
    compared(tmp_path, "a-figures-0", counts)
    compared(tmp_path, "a-figures-1", {**counts, "tr": (6, 1)})
    for seed, count in ((0, 3), (1, 5)):
        logged(tmp_path, f"a-{seed}", {"de": 0.5, "ru": 0.5, "th": 0.25, "tr": 0.25 * seed}, count)
    against = rows.against(list(counts))
    line = rows.Line("A", "a-figures", rows.of_comparison(), trained="a", against=against, logged=True)
    table = rows.Table("1", "Table 1", tuple(counts), (line,), mean=tuple(counts))
    both = rows.Row("a", "transfer"), rows.Row("a-figures", "compare {runs}/a-{seed} muse", ("a",))
    return rows, table, both, [rows.Place(tmp_path, "data", seed) for seed in (0, 1)]


def test_a_row_has_marks_of_each_seed_how_many_dev_chose_among_and_what_the_last_had(trained):
    rows, table, both, places = trained
    kept = rows.figures(table, both, places)
    assert kept["A"]["against_base"]["0"]["de"] == {"p": pytest.approx(4 * 2 / 1024), "better": True}
    spread = statistics.stdev([31.25, 37.5])
    assert rows.markdown(table, kept).splitlines()[2:] == [
        "||de|ru|th|tr|mean of 4|at the end|best of|",
        "|---|---|---|---|---|---|---|---|",
        f"|**A, seeds 0, 1**|50.0*|50.0†|50.0|50.0|50.0 ± 0.0|34.4 ± {spread:.1f}|3 to 5|",
    ]
    # In one seed alone Turkish is better too.
    assert "|50.0*|50.0†|50.0|50.0*|" in rows.markdown(table, rows.figures(table, both, places[:1]))
    # Where a seed's log is not at hand the others are named.
    (places[1].runs / "a-1" / "log.jsonl").unlink()
    assert "|31.2 (seed 0)|3 (seed 0)|" in rows.markdown(table, rows.figures(table, both, places))


def test_a_line_by_another_metric_than_the_logs_does_not_have_its_last_evaluation(trained):
    rows, table, both, places = trained
    other = replace(table, lines=tuple(replace(line, logged=False) for line in table.lines))
    figures = rows.figures(other, both, places)["A"]
    assert "last" not in figures and figures["best_of"] == {"0": 3, "1": 5}


def test_hits_of_a_script_are_figures_and_counts_against_the_base_of_the_languages_that_a_student_learned(module):
    script = module("cl_relkt")
    encoders = {"muse": 0.5, "runs/seven-0": 0.75, "runs/four-0": 0.25}
    written = {
        name: {"plain": {language: {"p@1": share, "only_here": 3, "only_base": 1} for language in (*script.OURS, "en")}}
        for name, share in encoders.items()
    }
    line = script.counted("A", "translated", script.of_students("plain"))
    shares = dict.fromkeys(script.SEVEN.split(), 75.0) | dict.fromkeys(script.FOUR.split(), 25.0)
    assert line.read(written) == shares and line.against(written) == dict.fromkeys(shares, (3, 1))
    assert script.counted("A", "translated", script.of_muse("plain"), tested=False).against is None


def test_what_a_file_has_of_other_seeds_stays_unless_the_command_is_another(trained):
    rows, table, both, places = trained
    kept = rows.figures(table, both, places)
    joined = rows.joined_figures(rows.figures(table, both, places[1:]), kept)
    assert joined == kept
    other = {"A": {**kept["A"], "command": "distill transfer --epochs 1"}}
    assert [*rows.joined_figures(rows.figures(table, both, places[1:]), other)["A"]["here"]] == ["1"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_published_figures_are_the_means_of_the_seeds(module, script):
    page = (ROOT / "docs" / "paper-tables.md").read_text(encoding="utf-8")
    kept = json.loads((ROOT / "benchmarks" / "papers" / f"{script}.json").read_text(encoding="utf-8"))
    for table in module(script).TABLES:
        part = page.split(f"### {table.title}\n")[1].split("\n#", 1)[0]
        columns, *body = [line[1:-1].split("|") for line in part.splitlines() if line.startswith("|")] or [[]]
        ours = [row for row in body if row[0].startswith("**")]
        ran = {name: figures for name, figures in kept[table.name].items() if figures["here"]}
        below = re.findall(r"^Not run[^:]*: (.*?)\.$", part, re.MULTILINE | re.DOTALL)
        named = [name for names in below for name in names.replace("\n", " ").split("; ")]
        others = [int(name.split()[0]) for name in named if name.endswith(" others")]
        assert len(ran) + len(named) - len(others) + sum(others) == len(kept[table.name])
        assert {name for name in named if not name.endswith(" others")} <= {*kept[table.name]} - {*ran}
        for row, (name, figures) in zip(ours, ran.items(), strict=True):
            assert row[0].startswith(f"**{name}")
            for seed in figures["here"].values():
                assert {*seed} & {*columns}
            cells = dict(zip(columns, (cell.rstrip("*†") for cell in row), strict=True))
            for column in table.columns:
                values = [seed[column] for seed in figures["here"].values() if column in seed]
                assert cells[column] == (f"{statistics.fmean(values):.1f}" if values else "")


def test_published_trainings_say_among_how_many_evaluations_dev_chose(module):
    script = module("cl_relkt")
    kept = json.loads((ROOT / "benchmarks" / "papers" / "cl_relkt.json").read_text(encoding="utf-8"))
    trainings = {row.name for row in script.ROWS if row.verb in ("teach", "transfer")}
    lines = [(table.name, line.name) for table in script.TABLES for line in table.lines if line.trained in trainings]
    ran = [(table, line) for table, line in lines if kept[table][line]["here"]]
    assert ran and not [one for one in ran if not kept[one[0]][one[1]].get("best_of")]


def test_the_page_is_of_the_figures_as_they_are(module):
    text = (ROOT / "docs" / "paper-tables.md").read_text(encoding="utf-8")
    assert text == module("page").page(), "write it anew: python benchmarks/papers/page.py"
