"""Tests of a line against another by the scores of its questions, with numbers by hand."""

import json
from dataclasses import replace

import pytest

from distill.papers.formats import to_markdown
from distill.papers.rows import Place, Row, combine_outcomes, read_outcomes, to_means
from distill.papers.tables import Line, Table, collect_figures, collect_outcomes, compare_lines, compare_outcomes

ONES, ZEROS = [1.0] * 10, [0.0] * 10


def scores(language, values):
    return {(str(number), language): value for number, value in enumerate(values)}


def test_shares_are_tested_by_mcnemar_and_other_scores_by_signs_of_questions():
    ours = {"de": scores("de", ONES), "ru": scores("ru", [0.5, 0.5, 0.5]), "th": scores("th", ZEROS)}
    others = {"de": scores("de", ZEROS), "ru": scores("ru", [0.25, 0.25, 0.25]), "tr": scores("tr", ZEROS)}
    # 10 of 10 have p 2 / 1024, doubled by Holm; three signs of one kind have 2 / 8. Thai and Turkish have no pair.
    tests = compare_outcomes(ours, others)
    assert tests == {"de": {"p": pytest.approx(4 / 1024), "better": True}, "ru": {"p": 0.25, "better": True}}


def test_the_languages_of_a_question_flip_together():
    both = {"all": scores("de", [1, 1, 1]) | scores("th", [1, 1, 1])}
    none = {"all": scores("de", [0, 0, 0]) | scores("th", [0, 0, 0])}
    # Six pairs are three questions.
    assert compare_outcomes(none, both) == {"all": {"p": 0.25, "better": False}}


def written(of):
    return {"retrieval": {"outcomes": {"encoder": {"p@1": {"passage": of}}}}}


def test_outcomes_are_read_by_language_or_together():
    outcomes = written({"de": {"a": 1.0, "b": 0.0}, "th": {"a": 1.0}})
    read = read_outcomes("retrieval", "p@1", "passage")
    assert to_means(read)(outcomes) == {"de": 50, "th": 100}
    pooled = read_outcomes("retrieval", "p@1", "passage", "P@1")
    german = read_outcomes("retrieval", "p@1", "passage", "German", "de")
    assert combine_outcomes([pooled, german])(outcomes) == {
        "P@1": {("a", "de"): 1, ("b", "de"): 0, ("a", "th"): 1},
        "German": {("a", "de"): 1, ("b", "de"): 0},
    }
    assert read_outcomes("retrieval", "p@1", "document")(outcomes) == {}


def test_a_line_is_marked_beside_the_start_and_says_what_dev_had_and_how_many_were_asked(tmp_path):
    ids = [str(number) for number in range(10)]
    for name, values in (("start", ZEROS), ("a-figures", ONES)):
        (tmp_path / f"{name}-0.json").write_text(json.dumps(written({"de": dict(zip(ids, values, strict=True))})))
    (tmp_path / "a-0").mkdir()
    log = [{"event": "teacher", "p@1": share, "languages": {"de": share}} for share in (0.25, 0.75, 0.5)]
    (tmp_path / "a-0" / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in log))
    read = read_outcomes("retrieval", "p@1", "passage")
    start = Line("start", "start", to_means(read), scored=read)
    line = Line("A", "a-figures", to_means(read), trained="a", scored=read, beside=("start", read))
    rows = Row("start", "evaluate b --seed {seed}"), Row("a", "teach"), Row("a-figures", "evaluate {runs}/a-{seed}")
    table = Table("1", "Table 1", ("de",), (start, line))
    by_line = collect_outcomes(table, rows, Place(tmp_path, "data", 0))
    assert by_line == {name: {"de": dict(zip(ids, of, strict=True))} for name, of in (("start", ZEROS), ("A", ONES))}
    assert collect_outcomes(table, rows, Place(tmp_path, "data", 0), "th") == {"start": {}, "A": {}}
    text = to_markdown(table, collect_figures(table, rows, [Place(tmp_path, "data", 0)]))
    assert text.splitlines()[2:] == [
        "||de|best of|dev, chosen / last|N|",
        "|---|---|---|---|---|",
        "|**start**|0.0|||10|",
        "|**A**|100.0*|3|75.0 / 50.0|10|",
    ]


@pytest.fixture
def compared(tmp_path):
    """Three lines of ten questions in two languages with two seeds: all right, all wrong, and one right."""
    right = {"a": ONES, "b": ZEROS, "c": [1.0, *ZEROS[1:]]}
    for name, seed in (("a", 0), ("a", 1), ("b", 0), ("b", 1), ("c", 0)):
        of = dict(zip(map(str, range(10)), right[name], strict=True))
        (tmp_path / f"{name}-{seed}.json").write_text(json.dumps(written({"de": of, "th": of})))
    read = read_outcomes("retrieval", "p@1", "passage")
    lines = tuple(Line(name.upper(), name, to_means(read), scored=read) for name in right)
    rows = [Row(name, "evaluate b --seed {seed}") for name in right]
    return (
        Table("1", "Table 1", ("de", "th"), lines, tested="P@1"),
        rows,
        [Place(tmp_path, "d", seed) for seed in (0, 1)],
    )


def test_each_two_lines_are_tested_by_the_seeds_that_all_have_with_holm_over_all_pairs(compared):
    table, rows, places = compared
    tested = compare_lines(table, rows, places)
    assert tested["seeds"] == ["0"] and tested["languages"] == ["de", "th"]
    # A question's two languages flip together: 10 and 9 questions that differ, and one.
    expected = {("A", "B"): 3 * 2 / 1024, ("A", "C"): 2 * 2 / 512, ("B", "C"): 1}
    assert {(one["line"], one["other"]): one["p_holm"] for one in tested["pairs"]} == pytest.approx(expected)
    assert [one["difference"] for one in tested["pairs"]] == pytest.approx([100, 90, -10])
    [pair] = compare_lines(replace(table, lines=table.lines[:2]), rows, places)["pairs"]
    assert (pair["questions"], pair["clusters"], pair["p_holm"]) == (40, 10, pytest.approx(2 / 1024))
    for fewer in (replace(table, lines=table.lines[:1]), replace(table, tested="")):
        assert compare_lines(fewer, rows, places) is None
    assert compare_lines(table, rows, places[1:])["seeds"] == ["1"]


def test_lines_of_several_metrics_are_tested_by_the_column_of_one(compared):
    table, rows, places = compared
    columns = {"P@1": "de", "other": "th"}
    read = combine_outcomes(read_outcomes("retrieval", "p@1", "passage", *column) for column in columns.items())
    lines = tuple(replace(line, scored=read) for line in table.lines)
    tested = compare_lines(replace(table, columns=(*columns,), lines=lines), rows, places)
    assert tested["languages"] == ["de"] and {one["test"] for one in tested["pairs"]} == {"mcnemar"}


def test_pairs_that_differ_stand_below_the_table(compared):
    table, rows, places = compared
    text = to_markdown(table, collect_figures(table, rows, places), compare_lines(table, rows, places))
    assert text.splitlines()[8:] == [
        "Of 3 pairs of lines, 2 show a difference by P@1 of all questions (2 languages; p after Holm's correction):",
        "",
        "- **A** is above B (100.0 points, p = .006); C (90.0 points, p = .008)",
    ]
