import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest

from distill.report import bar_chart, curves, latency_chart, write_report

ENCODERS = ("base", "teacher", "student", "bundle")
LANGUAGES = ["en", "de"]
# P@1 of the unit passage on dev; the other units and metrics are offsets from these, so that no two figures agree.
DEV = {"base": (0.501, 0.112), "teacher": (0.703, 0.214), "student": (0.655, 0.556), "bundle": (0.647, 0.548)}
OFFSET = {"document": 0.02, "passage": 0.0, "maxp": 0.04}


def figures(p):
    return {"p@1": p, "p@5": p + 0.1, "p@10": p + 0.2, "mrr@10": p + 0.05, "questions": 17}


def comparison(a, b, p_holm):
    row = {"a": a, "b": b, "only_a": 3, "only_b": 1, "questions": 17, "p": p_holm / 2, "p_holm": p_holm}
    return {**row, "significant": p_holm < 0.05}


def split(shift=0.0):
    by_unit = {
        name: {
            unit: {language: figures(p + OFFSET[unit] + shift) for language, p in zip(LANGUAGES, pair, strict=True)}
            for unit in OFFSET
        }
        for name, pair in DEV.items()
    }
    return {
        "encoders": by_unit,
        "mean_p@1": {name: {unit: by_unit[name][unit]["de"]["p@1"] for unit in OFFSET} for name in ENCODERS},
        "mcnemar": {
            "student against base": {
                unit: {"en": comparison(0.6, 0.7, 0.031), "de": comparison(0.556, 0.112, 0.002)} for unit in OFFSET
            },
            "student against teacher": {
                unit: {"en": comparison(0.6, 0.5, 0.777), "de": comparison(0.5, 0.6, 0.888)} for unit in OFFSET
            },
        },
    }


def measured():
    """What a run of two languages leaves in `metrics.json`."""
    return {
        "settings": {"seed": 41, "data": {"document_language": "en"}, "teacher": {"base": "muse", "language": "en"}},
        "dataset": {"name": "toys", "documents": 12, "passages": 345, "splits": {"train": 70, "dev": 17, "test": 23}},
        "languages": LANGUAGES,
        "mean_over": ["de"],
        "splits": {"dev": split(), "test": split(0.007)},
        "gate": {"texts": 29, "cosine_mean": 0.99987, "cosine_min": 0.99912},
        "bundle_bytes": 69_500_000,
        "timings": {
            "teacher": 61.25,
            "query": {
                "median_ms": 0.25,
                "p95_ms": 0.75,
                "p99_ms": 1.5,
                "threads": 1,
                "queries": 34,
                "machine": "x86_64, 2 cores",
            },
        },
    }


@pytest.fixture
def metrics():
    return measured()


ROWS = [
    {"event": "evaluation", "seconds": 1.0, "encoder": "base", "split": "dev"},
    {"event": "teacher", "seconds": 1.0, "step": 0, "p@1": 0.5, "mrr@10": 0.6},
    {"event": "teacher", "seconds": 2.0, "step": 4, "p@1": 0.6, "mrr@10": 0.7, "loss": 0.3},
    {"event": "student", "seconds": 3.0, "step": 0, "p@1": 0.1, "mrr@10": 0.2},
    {"event": "student", "seconds": 4.0, "step": 5, "p@1": 0.2, "mrr@10": 0.3, "loss": 90.0},
    {"event": "student", "seconds": 5.0, "step": 10, "p@1": 0.4, "mrr@10": 0.5, "loss": 60.0},
]


class Page(HTMLParser):
    """Reads a page strictly: every element is closed in its turn."""

    VOID = {"meta", "br", "hr", "img", "input", "link"}

    def __init__(self, text):
        super().__init__()
        self.open, self.starts, self.text, self.rows = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.starts.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.starts.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data.strip()

    @property
    def tags(self):
        return [tag for tag, _ in self.starts]

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The page as written, once: eight charts take a second."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, measured(), ROWS)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(source):
    return Page(source)


def test_the_page_is_one_well_formed_document(source, page):
    assert source.startswith("<!doctype html>")
    assert [page.tags.count(tag) for tag in ("html", "head", "body", "h1")] == [1, 1, 1, 1]


def test_there_is_a_chart_for_each_split_and_unit_one_of_training_and_one_of_latency(page):
    assert page.tags.count("svg") == 2 * 3 + 1 + 1


def test_nothing_has_to_be_loaded(source, page):
    assert not {"script", "link", "img", "image", "iframe", "object", "embed", "base"} & set(page.tags)
    attributes = [(name, value) for _, attrs in page.starts for name, value in attrs.items()]
    loaded = [value for name, value in attributes if name in ("src", "srcset", "href", "xlink:href", "data", "poster")]
    assert all(value.startswith("#") for value in loaded)
    assert all(target.startswith("#") for target in re.findall(r"url\(\s*['\"]?([^)]*)", source))
    assert "@import" not in source


def test_precision_of_every_encoder_in_percent_with_its_mean(page):
    # passage on dev, then on test, which is 0.7 higher; the mean is over German alone
    for name, (en, de) in DEV.items():
        assert [name, f"{100 * en:.1f}", f"{100 * de:.1f}", f"{100 * de:.1f}"] in page.rows
    assert ["student", "66.2", "56.3", "56.3"] in page.rows


def test_each_unit_has_its_own_figures(page):
    assert ["student", "67.5", "57.6", "57.6"] in page.rows  # document
    assert ["student", "69.5", "59.6", "59.6"] in page.rows  # MaxP


def test_the_other_metrics_of_the_student_in_percent(page):
    assert ["p@5, %", "75.5", "65.6"] in page.rows
    assert ["p@10, %", "85.5", "75.6"] in page.rows
    assert ["mrr@10, %", "70.5", "60.6"] in page.rows


def test_the_number_of_questions_is_in_the_table(page):
    assert ["questions", "17", "17", ""] in page.rows


def test_corrected_p_values_are_in_the_table(page):
    assert ["student against base, p (Holm)", "0.031", "0.002"] in page.rows
    assert ["student against teacher, p (Holm)", "0.777", "0.888"] in page.rows


def test_colour_marks_what_is_significant_and_which_way(source):
    # Significantly worse in English, better in German; neither against the teacher.
    cells = {p: kind for kind, p in re.findall(r'<td class="(\w*)">(0\.\d{3})</td>', source)}
    assert cells == {"0.031": "down", "0.002": "up", "0.777": "", "0.888": ""}


def test_the_head_says_what_was_run(page):
    assert "toys: from muse to a student of 2 languages" in page.words
    assert "12 documents, 345 passages in en" in page.words
    assert "train 70, dev 17, test 23 a language" in page.words
    assert "seed 41" in page.words


def test_the_bundle_has_size_cosine_and_latency(page):
    assert "69.5 MB on disk" in page.words
    assert "on 29 dev questions: mean 0.99987, least 0.99912" in page.words
    assert (
        "34 questions, batch 1, 1 thread(s), x86_64, 2 cores: median 0.25 ms, 95 % 0.75 ms, 99 % 1.50 ms" in page.words
    )


def test_times_are_listed_by_stage_without_the_query(page):
    assert ["teacher", "61.25"] in page.rows
    assert "query" not in [row[0] for row in page.rows]


def test_dev_is_marked_as_what_training_was_steered_by(source):
    dev, test = source.split("<h2>P@1 on dev</h2>")[1].split("<h2>P@1 on test</h2>")
    assert "steered by dev" in dev and "steered by dev" not in test


def test_names_are_escaped(metrics, tmp_path):
    metrics["dataset"]["name"] = "<b>&co"
    metrics["settings"]["teacher"]["base"] = "<script>alert(1)</script>"
    metrics["timings"]["query"]["machine"] = "<i>"
    write_report(tmp_path / "report.html", metrics, ROWS)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert not {"b", "script", "i"} & set(page.tags)
    assert "<b>&co: from <script>alert(1)</script> to" in page.words
    assert "1 thread(s), <i>: median" in page.words


def test_a_language_with_a_markup_name_does_not_break_its_chart(metrics):
    for part in metrics["splits"]["dev"]["encoders"].values():
        part["passage"]["<x>"] = part["passage"]["en"]
    chart = bar_chart({**metrics, "languages": ["<x>", "de"]}, "dev", "passage")
    assert "<x>" in Page(chart).words and "<x>" not in chart


def test_a_run_without_a_test_split_has_a_page(metrics, tmp_path):
    del metrics["splits"]["test"]
    write_report(tmp_path / "report.html", metrics, ROWS)
    assert Page((tmp_path / "report.html").read_text(encoding="utf-8")).tags.count("svg") == 3 + 1 + 1


def test_the_same_metrics_give_the_same_bytes(metrics, source, tmp_path):
    write_report(tmp_path / "again.html", metrics, ROWS)
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == source


def corners(chart, colour):
    """The bars of one colour as arrays of corners `(4, 2)`; a legend's patches have no clip path."""
    paths = re.findall(rf'<path d="([^"]*)" clip-path="[^"]*" style="fill: {colour}"', chart)
    return [np.array(re.findall(r"[ML] ([\d.]+) ([\d.]+)", path), dtype=float) for path in paths]


def test_a_bars_height_is_its_precision(metrics):
    chart = bar_chart(metrics, "dev", "passage")
    whole = re.search(r'id="patch_2">\s*<path d="([^"]*)"', chart)[1]  # the axes, 0 to 100 %
    whole = np.ptp(np.array(re.findall(r"[ML] [\d.]+ ([\d.]+)", whole), dtype=float))
    heights = [np.ptp(bar[:, 1]) / whole for colour in ("#9aa5b1", "#2f7fd0") for bar in corners(chart, colour)]
    np.testing.assert_allclose(heights, [0.501, 0.112, 0.655, 0.556], rtol=1e-3)  # base, then student


def test_a_bar_chart_names_encoders_and_languages(metrics):
    texts = re.findall(r">([^<>\n]+)</text>", bar_chart(metrics, "dev", "passage"))
    assert {*ENCODERS, *LANGUAGES, "P@1, %"} <= set(texts)


@pytest.mark.parametrize("languages", [1, 2, 12])
def test_the_bars_are_most_of_a_chart_however_few_the_languages(languages):
    names = [f"l{number}" for number in range(languages)]
    encoders = {encoder: {"maxp": {name: figures(0.5) for name in names}} for encoder in ENCODERS}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chart = bar_chart({"languages": names, "splits": {"dev": {"encoders": encoders}}}, "dev", "maxp")
    width = float(re.search(r'<svg[^>]* width="([\d.]+)pt"', chart)[1])
    drawn = np.concatenate([bar for colour in ("#9aa5b1", "#184e86") for bar in corners(chart, colour)])
    assert np.ptp(drawn[:, 0]) > width / 3


def points(chart, colour):
    return np.array(re.findall(rf'<use [^>]*x="([\d.]+)" y="([\d.]+)" style="fill: {colour}', chart), dtype=float)


def test_a_curve_has_a_point_for_each_evaluation_of_its_stage():
    chart = curves(ROWS)
    assert [len(points(chart, colour)) for colour in ("#e0a030", "#2f7fd0")] == [2, 3]


def test_a_curve_shows_precision_over_steps():
    # The student: steps 0, 5, 10; P@1 0.1, 0.2, 0.4; down is positive in an SVG.
    gaps = np.diff(points(curves(ROWS), "#2f7fd0"), axis=0)
    assert gaps[1, 0] / gaps[0, 0] == pytest.approx(1, rel=1e-3)
    assert gaps[1, 1] / gaps[0, 1] == pytest.approx(2, rel=1e-3) and gaps[0, 1] < 0


def test_the_loss_starts_at_the_first_evaluation_that_has_one():
    lines = re.findall(r'<path d="([^"]*)"[^>]*stroke-dasharray[^>]*stroke: #888888', curves(ROWS))
    assert [len(re.findall("[ML]", line)) for line in lines] == [1, 2]


def test_a_stage_that_was_only_measured_has_a_curve_of_one_point():
    assert len(points(curves([row for row in ROWS if row.get("step", 0) == 0]), "#2f7fd0")) == 1


def test_latency_bars_are_in_proportion(metrics):
    lengths = [np.ptp(bar[:, 0]) for bar in corners(latency_chart(metrics["timings"]["query"]), "#184e86")]
    np.testing.assert_allclose(np.array(lengths) / lengths[0], [1, 3, 6], rtol=1e-3)
