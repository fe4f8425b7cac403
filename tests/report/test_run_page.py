import platform
import re

import numpy as np
import pytest

from distill.evaluation.calibration import figures_by_language
from distill.evaluation.unanswerable import Cases
from distill.report.answers import make_answerable_section
from distill.report.bias_tables import make_bitext_section, make_lareqa_section
from distill.report.run_page import list_training_rows, write_evaluation, write_report


def unanswered():
    """Figures of two encoders on four questions, one of which is calibrated."""
    right, known = np.array([True, False, True, False]), np.array([0.9, 0.8, 0.3, 0.1])
    cases = Cases(np.ones((4, 5)), right, right, np.arange(4), np.array(["de", "de", "en", "en"]), np.ones(4))
    encoders = {"bundle": figures_by_language(cases, known, 0.5), "muse": figures_by_language(cases, known)}
    figures = {name: {of: row.as_dict() for of, row in one.items()} for name, one in encoders.items()}
    return {"name": "toys", "split": "test", "score": "sum", "seed": 0, "encoders": figures}


LOADING = {"link", "img", "image", "iframe", "object", "embed", "base"}


@pytest.fixture(scope="module")
def write(shown):
    """Write the page of a run that has everything a page can show."""
    metrics = {**shown["beside"](), "lareqa": shown["lareqa"](), "answerable": unanswered()}
    return lambda path: write_report(path, metrics, shown["rows"](), shown["search"]())


@pytest.fixture(scope="module")
def source(write, tmp_path_factory):
    """The page as written, once: its charts take seconds."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write(path)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(source, read_page):
    return read_page(source)


@pytest.fixture
def written(shown, read_page, tmp_path):
    """The page of changed metrics, on dev alone: `written(metrics)` -> `Page`."""

    def write(metrics):
        metrics["splits"].pop("test")
        write_report(tmp_path / "report.html", metrics, shown["rows"]())
        return read_page(tmp_path / "report.html")

    return write


def test_the_page_is_one_well_formed_document_that_loads_nothing(source, page):
    assert source.startswith("<!doctype html>")
    assert [page.tags.count(tag) for tag in ("html", "head", "body", "h1")] == [1, 1, 1, 1]
    # One per split and unit; of costs, training, latency and the front; of LAReQA, its maps and two planes; of risk.
    assert page.tags.count("svg") == 2 * 3 + 4 + 4 + 4 + 2 + 1
    assert not LOADING & set(page.tags)
    attributes = [(name, value) for _, attrs in page.starts for name, value in attrs.items()]
    loaded = [value for name, value in attributes if name in ("src", "srcset", "href", "xlink:href", "data", "poster")]
    assert all(value.startswith("#") for value in loaded)
    assert all(target.startswith("#") for target in re.findall(r"url\(\s*['\"]?([^)]*)", source))
    assert "@import" not in source
    policy = [attrs["content"] for _, attrs in page.starts if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"]
    heads = [part.split("</h2>")[0] for part in source.split("<h2>") if "chose the epochs" in part]
    assert heads == ["P@1 on dev", "LAReQA: language bias"]


def test_settings_and_further_units_are_folded_and_pictures_follow_sources_and_examples(source):
    heads = re.findall(r"<details( open)?><summary>(\w+)", source)
    unfolded = [name for is_open, name in heads if is_open]
    assert unfolded == ["passage", "passage"]
    assert [name for is_open, name in heads if not is_open] == [
        *["document", "maxp"] * 2,
        "Settings",
        "Versions",
        "Times",
    ]
    assert source.index('id="learned"') < source.index('id="examples"') < source.index("<svg")


def test_the_page_says_what_was_learned_from_and_lists_every_file(shown, read_page, tmp_path):
    learned = {"learned_from": "train & more", "chosen_by": "dev chose it", "seen_of_test": "no question"}
    files = {"student.parallel my web/x.tsv": "f" * 64, "x.tsv": "a" * 64}
    metrics = {**shown["beside"](), "learned": {**learned, "files": files}}
    write_report(tmp_path / "report.html", metrics, shown["rows"]())
    page = read_page(tmp_path / "report.html")
    assert "learned from train & more; dev chose it. What it saw of test: no question." in page.words
    # The last is as an earlier version noted it.
    named = {row[-1][0]: row[:-1] for row in page.rows if row[-1] in files.values()}
    assert named["f"] == ["my web/x.tsv", "student.parallel"] and named["a"][0] == "x.tsv"
    assert [row[-1] for row in page.rows if row[0] == "de.json"] == ["d" * 64]


def linked(page):
    return [attrs["href"] for tag, attrs in page.starts if tag == "a"]


def test_every_id_is_there_once_and_references_and_contents_lead_to_one(page):
    ids = [attrs["id"] for _, attrs in page.starts if "id" in attrs]
    assert len(ids) == len(set(ids))
    wanted = [attrs[name] for _, attrs in page.starts for name in ("href", "xlink:href") if name in attrs]
    assert wanted and all(target.startswith("#") and target[1:] in ids for target in wanted)
    first, last = (
        ["#learned", "#examples", "#cost", "#p1-test", "#p1-dev"],
        ["#compressed", "#lareqa", "#answerable", "#settings"],
    )
    assert linked(page) == [*first, "#training", "#bundle", *last]
    sections = [attrs["id"] for tag, attrs in page.starts if tag == "section"]
    assert [f"#{id}" for id in sections] == linked(page)


ROWS = [
    # P@1, passage, on dev, then on test, which is 0.7 higher; the mean is over German alone.
    ["base", "50.1", "11.2", "11.2"],
    ["teacher", "70.3", "21.4", "21.4"],
    ["student", "65.5", "55.6", "55.6"],
    ["bundle", "64.7", "54.8", "54.8"],
    ["student", "66.2", "56.3", "56.3"],
    # Document, then MaxP.
    ["student", "67.5", "57.6", "57.6"],
    ["student", "69.5", "59.6", "59.6"],
    ["p@5, %", "75.5", "65.6"],
    ["p@10, %", "85.5", "75.6"],
    ["mrr@10, %", "70.5", "60.6"],
    ["questions", "17", "17", ""],
    # Significantly worse in English, better in German; neither against the teacher.
    ["student against base, p (Holm)", ".031▼", ".002▲"],
    ["student against teacher, p (Holm)", ".777", ".888"],
    # Times, settings, versions, data.
    ["teacher", "61.25"],
    ["seed", "41"],
    ["data.languages", "–"],
    ["student.units", "document, passage"],
    ["student.train_table", "true"],
    ["export.max_drop", "1.5"],
    ["keras", "3.9.1"],
    ["de.json", "questions and passages of a language", "d" * 64],
    ["en.json", "questions and passages of a language", "e" * 64],
    # Compressed bundles and language bias.
    ["1", "full-all-pq8", "128000", "20.4", "0.310", "41.3", "21.7", "50.9", "31.7▼"],
    ["2", "tiny-used-int4 *", "4100", "6.3", "0.041", "62.7", "0.4", "64.8", "60.6"],
    ["mAP, %", "en", "de", "all questions"],
    ["base", "33.4", "9.2", "21.3"],
    ["mAP, %", "all answers", "−rand", "−same", "Δ, % of −rand"],
    ["base", "21.3", "20.1", "12.5", "7.6"],
    ["student", "41.8", "40.2", "39.1", "1.1"],
    # The mean of .517 and .483; the base was not measured in one language.
    ["student", "51.7", "48.3", "50.0"],
    ["accuracy, %", "all languages", "chance", "en or de"],
    ["student", "87.1", "50.0", "86.2"],
    ["r = 0", "44.7", "38.9", "41.8"],
    ["r = 1", "45.1", "40.7", "42.9"],
]
SHOWN = [
    "toys: from muse to a student of 2 languages",
    "12 documents with 345 passages in en",
    "70 train, 17 dev, 23 test",
    "seed is 41",
    "figures are for test",
    "below are over de",
    "69.5 MB",
    "on 29 dev questions is 0.99987 on average and at least 0.99912",
    "34 questions, one by one, with 1 thread(s) on x86_64, 2 cores: median 0.25 ms, 95th percentile 0.75 ms",
    "10.0 MB, any time, 3 points",
    "12.3 and 4.5 %",
    "toys-r, dev: 34 questions and 84",
]
VERDICTS = [
    "✓ The student beats its base (+30.0 points of P@1 on test, p = 0.012 by a sign-flip test), and the bundle is as "
    "good as the student.",
    # On test: (66.2 + 56.3) / 2 against (71.0 + 22.1) / 2.
    "How much better than others? ✓ +14.7 points on muse",
    "Better than its base, untouched? ✓ +30.0 points, better",
    "In which languages? ≈ better in 1 of 2, worse in 1",
    "size of the bundle 69.5 MB ms per query, median 0.25 ms per query, 95th percentile 0.75 LAReQA, mAP, % base 21.3, "
    "student 41.8",
    "Is the bundle as good as the student? ✓ as good",
    "Does a smaller bundle keep the budget? ✓ yes tiny-used-int4: 6.3 MB, 0.041 ms per query",
]
FIRST_TABLE = [
    ["test, P@1, %", "en", "de", "all 2"],
    ["muse", "71.0", "22.1", "46.5"],
    ["base", "50.8", "11.9", "31.4"],
    ["teacher", "71.0", "22.1", "46.5"],
    ["bundle", "65.4", "55.5", "60.5"],
    ["student", "66.2", "56.3", "61.3"],
    ["difference", "+15.4▼", "+44.4▲", "+29.9"],
]


def test_figures_stand_in_their_rows_words_say_what_was_run_and_the_summary_its_verdicts(page):
    assert [row for row in ROWS if row not in page.rows] == []
    summary = page.words.split("12 documents")[0]
    assert page.rows[:7] == FIRST_TABLE
    assert [words for words in SHOWN if words not in page.words] == []
    assert [words for words in VERDICTS if words not in summary] == []
    # A query's time is no stage's.
    assert "query" not in [row[0] for row in page.rows] and "Warning" not in page.words


def test_an_older_run_without_a_test_split_has_dashes_for_what_it_did_not_record(metrics, written):
    del metrics["versions"], metrics["dataset"]["files"], metrics["gate"], metrics["timings"]["query"]
    del metrics["bundle_bytes"], metrics["settings"]["student"], metrics["settings"]["export"]
    page = written(metrics)
    assert page.rows.count(["not recorded", "–"]) == 1 and ["not recorded", "–", "–"] in page.rows
    assert "bundle – ms" in page.words and "percentile –" in page.words
    assert all(figure in page.words for figure in ("56.8 %", "57.6 %", "−0.8"))
    assert "for dev," in page.words and page.tags.count("svg") == 3 + 1
    assert linked(page) == ["#learned", "#p1-dev", "#training", "#bundle", "#settings"]


def test_names_are_escaped_a_fixed_teacher_is_named_and_warnings_come_first(metrics, shown, written):
    metrics["dataset"]["name"] = "<b>&co"
    metrics["settings"]["teacher"]["base"] = "<em>alert(1)</em>"
    metrics["timings"]["query"]["machine"] = "<i>"
    metrics["lareqa"] = shown["lareqa"]()
    metrics["lareqa"]["encoders"]['<u>"'] = metrics["lareqa"]["encoders"].pop("student")
    metrics["teacher"] = {"source": "<em>e5", "dimension": 384, "centred": True, "fingerprint": "abc"}
    metrics["warnings"] = ["teacher: collapsed at <2> of 3 evaluations"]
    page = written(metrics)
    # The one <i> is a title's.
    assert not {"b", "em", "u"} & set(page.tags) and page.tags.count("i") == 2
    assert "<b>&co: from <em>" in page.words
    assert "<i>: median" in page.words
    assert "by <em>e5" in page.words and "has 384 dimensions" in page.words
    assert page.words.index("<2>") < page.words.index("Better than")
    assert ['<u>"', "44.7", "38.9", "41.8"] in page.rows


def test_questions_won_and_lost_have_their_passages_with_a_marked_sentence(source, page):
    part = source.split('<section id="examples">')[1].split("</section>")[0]
    assert part.count("<mark>It ends in a delta.</mark>") == 1 and part.count("<mark>Khartoum lies there.</mark>") == 7
    assert part.count('<b lang="de" dir="auto">Wo liegt Khartum?</b>') == 6
    assert [part.count(f"{name}:") for name in ("Found", "Right")] == [7, 1] and "&lt;Rhine&gt;" in part
    assert "9 questions" in page.words


def test_the_same_metrics_give_the_same_bytes(write, source, tmp_path):
    write(tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == source


def test_lareqa_has_a_heat_map_an_encoder_on_one_scale_and_a_plane_of_vectors(page):
    labels = [attrs["aria-label"] for tag, attrs in page.starts if tag == "svg"]
    counts = [sum(words in label for label in labels) for words in ("answer language", "a panel per language")]
    assert counts == [2 * 2, 2] and sum("information removed" in label for label in labels) == 1
    styles = (attrs.get("style", "") for _, attrs in page.starts)
    shades = re.findall(r"--student\); fill-opacity: ([\d.]+)", " ".join(styles))
    # The last two maps: four cells each.
    base, student = np.array(shades[-8:], dtype=float).reshape(2, 4)
    assert (student[0] - 0.03) / (base[0] - 0.03) == pytest.approx(0.55 / 0.9, abs=0.002)
    assert base[0] == pytest.approx(0.62)


def test_an_evaluation_alone_has_a_page(shown, read_page, tmp_path, page):
    write_evaluation(tmp_path / "page.html", [make_lareqa_section(shown["lareqa"]())])
    alone = read_page(tmp_path / "page.html")
    assert "toys-r" in alone.words and "Bitext" not in alone.words and "steered" not in alone.words
    end = alone.rows.index(["package", "version"])
    assert end > 0 and all(row in page.rows for row in alone.rows[:end])
    assert ["python", platform.python_version()] in alone.rows[end:] and ["file", "sha256"] not in alone.rows


def test_questions_without_an_answer_have_curves_and_what_holds_at_the_threshold(page, read_page, tmp_path):
    write_evaluation(tmp_path / "page.html", [make_answerable_section(unanswered())])
    alone = read_page(tmp_path / "page.html")
    # Of the two at .5 or above one is right; AUROC: three of the four pairs.
    assert ["right of these", "50.0", "–", "50.0"] in alone.rows and ["AUROC", "100.0", "100.0", "75.0"] in alone.rows
    assert ["questions", "2", "2", "4"] in alone.rows and sum(row[0] == "answered" for row in alone.rows) == 1
    assert alone.tags.count("svg") == 1 and ["right of these", "50.0", "–", "50.0"] in page.rows


def test_bitext_retrieval_has_both_directions_and_data_is_named_by_its_hashes(shown, read_page, tmp_path):
    files = {"en.json": "ab12"}, {"dev.tsv": "cd34"}, {"en.json": "ef56", "dev.tsv": "cd34"}
    write_evaluation(
        tmp_path / "page.html", [make_bitext_section({**shown["bitext"](), "files": each}) for each in files]
    )
    page = read_page(tmp_path / "page.html")
    assert "news: 101 sentences" in page.words and "svg" not in page.tags
    assert ["XX → en, %", "de", "mean"] in page.rows and ["student", "72.2", "72.2"] in page.rows
    assert ["en → XX, %", "de", "mean"] in page.rows and ["base", "59.3", "59.3"] in page.rows
    expected = [["en.json", "ab12"], ["dev.tsv", "cd34"], ["en.json", "ef56"]]
    assert page.rows[page.rows.index(["file", "sha256"]) + 1 :] == expected


def test_each_evaluation_of_a_training_has_its_losses_and_negatives():
    rows = [
        {"event": "evaluation", "encoder": "base"},
        {"event": "teacher", "epoch": 0, "step": 0, "p@1": 0.5, "mrr@10": 0.6},
        {"event": "teacher", "epoch": 1, "step": 4, "p@1": 0.6, "mrr@10": 0.7, "loss": 0.25}
        | {"negatives": "BM25", "triplets": 1234},
        {"event": "student", "epoch": 2, "step": 9, "p@1": 0.4, "mrr@10": 0.5, "loss": 3.0, "quantised": True}
        | {"terms": {"qq": 1.0, "dd": 2.0}},
    ]
    assert list_training_rows(rows) == [
        ("teacher", "0", "0", "–", "–", "–", "50.0", "60.0"),
        ("teacher", "1", "4", "1,234 by BM25", "0.2500", "–", "60.0", "70.0"),
        ("student", "2, rounded", "9", "–", "3.0000", "qq 1.0000, dd 2.0000", "40.0", "50.0"),
    ]
