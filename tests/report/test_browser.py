"""The pages in a browser."""

import base64
import io

import numpy as np
import pytest
from fixtures.chromium import Page
from matplotlib.image import imread

from distill.jobs.pipeline.finished_runs import read_run
from distill.report.bias_tables import make_bitext_section, make_lareqa_section
from distill.report.run_page import write_evaluation, write_report
from distill.report.runs_page import write_comparison


class Tab(Page):
    """A report that is shown: how it looks, and what it `said` about itself."""

    def __init__(self, browser, path, width=1280, height=800, dark=False):
        super().__init__(browser, width, height)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=scheme)
        self.resize(width, height, mobile=width < 600)
        self.open(path.as_uri())

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def pixels(self, x, y, side):
        """A square of the whole page as colours in [0, 1], `(side, side, 3)`."""
        clip = {"x": x, "y": y, "width": side, "height": side, "scale": 1}
        answer = self.send("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        return imread(io.BytesIO(base64.b64decode(answer["data"])))[..., :3]

    @property
    def said(self):
        """What the page and the browser about it wrote on the console, and exceptions."""
        return self.events("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")


@pytest.fixture(scope="module")
def page(shown, tmp_path_factory):
    """The report of a run in twelve languages that has everything a page can show."""
    metrics, extra = widened(shown["beside"]()), {"lareqa": shown["lareqa"](), "bitext": shown["bitext"]()}
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(path, {**metrics, **extra}, shown["rows"](), shown["search"]())
    return path


@pytest.fixture(scope="module")
def plain_page(shown, tmp_path_factory):
    """The report of a run without a peer."""
    path = tmp_path_factory.mktemp("plain") / "report.html"
    write_report(path, widened(shown["metrics"]()), shown["rows"]())
    return path


def widened(metrics):
    """Ten languages more, so that tables and figures are wider than a telephone; English stays the best."""
    more = [f"l{number}" for number in range(10)]
    metrics["languages"] += more
    for part in metrics["splits"].values():
        for rows in (rows for units in part["encoders"].values() for rows in units.values()):
            rows.update((name, {**rows["de"], "p@1": 0.1}) for name in more)
        for rows in (rows for units in part["mcnemar"].values() for rows in units.values()):
            rows.update((name, rows["de"]) for name in more)
    return metrics


@pytest.fixture
def tab(chromium, page):
    """`tab(...)` -> the page, shown as asked for."""
    opened = []

    def show(path=page, **how):
        opened.append(Tab(chromium, path, **how))
        return opened[-1]

    yield show
    for each in opened:
        each.close()


def changed(page, tmp_path, old, new):
    """A copy of the page with something in it replaced."""
    text = page.read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "changed.html").write_text(text.replace(old, new, 1), encoding="utf-8")
    return tmp_path / "changed.html"


def test_the_page_is_quiet_asks_for_nothing_else_and_draws_every_figure(tab, page):
    shown = tab()
    assert shown.said == []
    assert shown.requests == [page.as_uri()]
    drawn = shown.value(BOXES)
    # Bars of two splits and three units, costs, training, time, the front; of bias four charts, four maps, two planes.
    assert drawn == [True] * (2 * 3 + 4 + 4 + 4 + 2)


@pytest.mark.parametrize(
    "fault",
    ["<script>nothing()</script>", "<script>console.warn(1)</script>", '<img src="https://example.org/a.png" alt="">'],
)
def test_a_fault_in_the_page_would_be_seen(tab, page, tmp_path, fault):
    shown = tab(changed(page, tmp_path, "</main>", f"{fault}</main>"))
    assert shown.said


BOXES = """[...document.querySelectorAll("svg")].map(svg => [svg, ...svg.querySelectorAll("text")].every(part => {
  const box = part.getBoundingClientRect(); return box.width > 0 && box.height > 0; }))"""


# The middle of the first question's marker in the first panel, as far into the second.
OTHERS_POINT = """(() => { const [one, two] = document.querySelectorAll(".plane svg g[id*='-axes_']");
  const [from, to] = [one, two].map(panel => panel.querySelector("path").getBoundingClientRect());
  const box = one.querySelector("use[style*='--student']").getBoundingClientRect();
  return [to.x - from.x + box.x + box.width / 2 + scrollX, to.y - from.y + box.y + box.height / 2 + scrollY]; })()"""


def test_a_point_of_one_language_is_faint_in_the_panel_of_another(tab):
    shown = tab()
    x, y = shown.value(OTHERS_POINT)
    spot, beside = shown.pixels(x - 1, y - 1, 3), shown.pixels(x + 8, y - 8, 3)
    assert np.ptp(beside, axis=(0, 1)).max() == 0  # nothing but the panel
    contrast = np.abs(spot - beside).max()
    assert 0.05 < contrast < 0.5


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_page_has_its_screens_width_and_wide_tables_scroll_alone(tab, width):
    shown = tab(width=width, height=844)
    assert shown.value("innerWidth") == width
    assert shown.value("document.documentElement.scrollWidth") == width
    if width < 600:
        wide = "[...document.querySelectorAll('.wide')].filter(box => box.scrollWidth > box.clientWidth)"
        assert shown.value(f"{wide}.length") > 6
        assert shown.value(f"{wide}.every(box => box.tabIndex === 0)")


@pytest.mark.parametrize(("width", "height", "answers"), [(1200, 800, 3), (390, 844, 1)])
def test_the_answers_are_within_the_first_screen(tab, width, height, answers):
    opened = tab(width=width, height=height)
    box = "part => { const box = part.getBoundingClientRect(); return [box.left, box.right, box.bottom]; }"
    boxes = opened.value(f"[...document.querySelectorAll('.answers > li')].map({box})")
    assert len(boxes) == 3
    assert all(left >= 0 and right <= width for left, right, _ in boxes)
    assert all(bottom <= height for _, _, bottom in boxes[:answers])
    if answers == 3:  # with the size, the time and the table by language
        below = opened.value(f"['.facts', '.wide table'].map(part => ({box})(document.querySelector(part)))")
        assert all(right <= width and bottom <= height for _, right, bottom in below)
    assert opened.value("document.documentElement.scrollWidth") == width


ROWS = "[...document.querySelector('#p1-dev table').tBodies[0].rows].map(row => row.cells[0].textContent)"
SORTED = "[...document.querySelector('#p1-dev table').tHead.rows[0].cells].map(head => head.ariaSort)"
# English, which is the second column; .50, .70, .66 and .65.
FALLING = ["teacher", "student", "bundle", "base"]


def test_headers_sort_by_click_and_by_keyboard(tab, plain_page):
    shown = tab(plain_page)
    assert shown.value(ROWS) == ["base", "teacher", "student", "bundle"] and set(shown.value(SORTED)) == {"none"}
    box = """(() => { const button = document.querySelectorAll("#p1-dev table thead button")[1];
      button.scrollIntoView({block: "center"}); const box = button.getBoundingClientRect();
      return [box.x + box.width / 2, box.y + box.height / 2]; })()"""
    shown.click(*shown.value(box))
    assert shown.value(ROWS) == FALLING and shown.value(SORTED)[:3] == ["none", "descending", "none"]
    shown.click(*shown.value(box))
    assert shown.value(ROWS) == FALLING[::-1] and shown.value(SORTED)[:3] == ["none", "ascending", "none"]
    assert shown.value("document.querySelector('#p1-dev tfoot').textContent").startswith("questions")
    shown = tab(plain_page)
    shown.value("document.querySelectorAll('#p1-dev table thead button')[0].focus()")
    shown.press("Tab", 9)
    assert shown.value("document.activeElement.textContent") == "en"
    shown.press("Enter", 13, "\r")
    assert shown.value(ROWS) == FALLING
    shown.value("document.querySelectorAll('#p1-dev table thead button')[0].click()")
    assert shown.value(ROWS) == ["base", "bundle", "student", "teacher"]  # names from A on


def test_names_with_digits_are_names_and_signs_beside_figures_are_not_read(tab, plain_page, tmp_path):
    before, dev, text = plain_page.read_text(encoding="utf-8").partition('<section id="p1-dev">')
    for old, new in (("base", "12-b"), ("teacher", "9-a"), ("student", "12-a"), ("bundle", "x")):
        text = text.replace(f'<th scope="row">{old}</th>', f'<th scope="row">{new}</th>', 1)
    # A figure that got smaller has a sign, and one in thousandths would be the first as a text.
    text = text.replace("<td>50.1</td>", "<td>&lt;.001<span> ▼</span></td>", 1).replace(
        "<td>64.7</td>", "<td>−1.5 *</td>", 1
    )
    (tmp_path / "named.html").write_text(before + dev + text, encoding="utf-8")
    shown = tab(tmp_path / "named.html")
    click = "document.querySelectorAll('#p1-dev table thead button')[{}].click()"
    shown.value(click.format(0))
    assert shown.value(ROWS) == ["9-a", "12-a", "12-b", "x"]
    shown.value(click.format(1))
    assert shown.value(ROWS) == ["9-a", "12-a", "12-b", "x"]  # 70.3, 65.5, .001, -1.5


def test_figures_that_are_absent_come_last_either_way(tab, plain_page, tmp_path):
    shown = tab(changed(plain_page, tmp_path, "<td>50.1</td>", "<td>–</td>"))
    click = "document.querySelectorAll('#p1-dev table')[0].tHead.querySelectorAll('button')[1].click()"
    cells = (
        "[...document.querySelectorAll('#p1-dev table')].map(table => table.tBodies[0].rows[3]?.cells[1].textContent)"
    )
    # The passages' table is the first; its base has no figure now.
    shown.value(click)
    assert shown.value(cells)[0] == "–"
    shown.value(click)
    assert shown.value(cells)[0] == "–"


COLOURS = """(() => { const of = (part, name) => getComputedStyle(document.querySelector(part))[name];
  return [of("body", "backgroundColor"), of("body", "color"), of(".chart svg text", "fill"),
    of(".map svg text", "fill")]; })()"""


def test_a_dark_scheme_is_followed_by_text_and_figures_but_paper_is_white(tab):
    light, dark = (tab(dark=dark).value(COLOURS) for dark in (False, True))
    assert light == ["rgb(255, 255, 255)", "rgb(26, 35, 44)", "rgb(26, 35, 44)", "rgb(26, 35, 44)"]
    assert dark == ["rgb(18, 23, 28)", "rgb(227, 232, 236)", "rgb(227, 232, 236)", "rgb(227, 232, 236)"]
    shown = tab(dark=True)
    shown.send(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    assert shown.value(COLOURS)[0] == "rgb(255, 255, 255)"
    assert shown.value("getComputedStyle(document.querySelector('nav')).display") == "none"


def test_a_comparison_and_an_evaluation_are_quiet_and_fit_too(tab, run_folder, shown, tmp_path):
    write_comparison(tmp_path / "both.html", [read_run(run_folder(name, widened)) for name in "ab"])
    write_evaluation(
        tmp_path / "alone.html", [make_lareqa_section(shown["lareqa"]()), make_bitext_section(shown["bitext"]())]
    )
    for name in ("both.html", "alone.html"):
        opened = tab(tmp_path / name, width=390, height=844)
        assert opened.said == [] and len(opened.requests) == 1
        assert opened.value("document.documentElement.scrollWidth") == 390
