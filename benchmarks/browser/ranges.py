"""Measure a page of `distill page --by-ranges` in a real browser over a slow network: docs/web.md.

    distill index --model multi12-static --documents path/to/wikipedia-en --output kb
    distill export multi12-static --format web --index kb --by-ranges --output site
    python benchmarks/browser/ranges.py site kb --data path/to/mlqa-dev-a

Types questions of a data set in each of its languages. The server waits `--latency` before each answer and gives
`--rate` bytes a second to all together. Prints the bytes that it sent, heads too, until the first answer and for each
next one, the seconds, and how often the first results are those of the whole index in Python: of the parts that a
question needs alone, when the lists were loaded ahead, and when all is kept, without the server.
"""

import argparse
import contextlib
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from fixtures.chromium import Chromium, served
from page import READY, questions

from distill.search_engine.indexing.answers import Answers
from distill.system.device import machine
from distill.system.files import write_json

ROWS = "document.getElementById('hits').dataset.rows.split(',').map(row => Number(row.split(' ')[0]))"
MOST = 10


def main():
    options = parse()
    texts = questions(options)
    expected = [[hit.row for hit in answer.hits] for answer in Answers(options.index).answers(texts, MOST)]
    with tempfile.TemporaryDirectory() as folder:
        alone = parts_alone(Path(options.site), Path(folder) / "site")
        figures = {
            "questions": len(texts),
            "latency_s": options.latency,
            "bytes_a_second": options.rate,
            "parts_alone": by_ranges(alone, texts, expected, options),
            "lists_ahead": by_ranges(Path(options.site), texts, expected, options),
            "kept": kept(Path(options.site), texts, expected),
            "machine": machine(),
        }
    for name, figure in figures.items():
        for part, value in (figure if isinstance(figure, dict) else {"": figure}).items():
            print(f"{name:>14} {part:<26} {value}")
    write_json(options.json, figures)
    return int(any(figures[name]["other_hosts"] for name in ("parts_alone", "lists_ahead", "kept")))


def parts_alone(site, copy):
    """Copy the page without loading ahead after an answer, and return the copy."""
    shutil.copytree(site, copy, copy_function=os.symlink)
    engine = (site / "engine.js").read_text(encoding="utf-8")
    quiet = engine.replace("if (hits) loadAhead(number);", "")
    if quiet == engine:
        raise SystemExit("engine.js has no loadAhead(number) behind an answer: change this script with it")
    (copy / "engine.js").unlink()
    (copy / "engine.js").write_text(quiet, encoding="utf-8")
    return copy


def by_ranges(site, texts, expected, options):
    """Return what an empty browser loads until its first answer and for each next one, and its results."""
    sent = []
    with opened(Chromium()) as page, served(site, sent, options.latency, options.rate) as address:
        start = time.monotonic()
        page.send("Page.navigate", url=f"{address}#q={quote(texts[0])}")
        page.until(f"location.href !== 'about:blank' && {READY}", 300)
        ready = time.monotonic() - start
        page.until("document.querySelectorAll('#hits li').length", 300)
        first = {"bytes_before_first_answer": total(sent), "ready_s": ready, "first_answer_s": time.monotonic() - start}
        answers = [page.value(ROWS)]
        # What is kept for the next visit, and what is loaded ahead, is none of an answer's.
        page.until("navigator.serviceWorker.ready.then(() => true)", 300)
        before = total(sent)
        still(sent, 4)
        each = [asked(page, sent, text) for text in texts[1:]]
        found = equal([*answers, *(row[0] for row in each)], expected)
        ahead = {"bytes_ahead": each[0][4] - before}
        return first | ahead | spreads(each) | found | around(page)


def kept(site, texts, expected):
    """Return the results of a browser that keeps the whole page, without the server."""
    with opened(Chromium()) as page:
        with served(site, []) as address:
            page.send("Page.navigate", url=address)
            page.until(f"location.href.startsWith('{address}') && {READY}", 300)
            page.value("document.getElementById('load-all').click()")
            page.until("document.getElementById('all').hidden", 600)
            page.until("navigator.serviceWorker.ready.then(() => true)", 300)
        page.send("Page.navigate", url="about:blank")
        page.until("location.href === 'about:blank'")
        page.send("Page.navigate", url=address)
        page.until(f"location.href.startsWith('{address}') && {READY}", 300)
        each = [asked(page, [], text) for text in texts]
        return spreads(each) | equal([row[0] for row in each], expected) | around(page)


@contextlib.contextmanager
def opened(browser):
    """Open a tab of a browser, and close it afterwards."""
    try:
        yield browser.page()
    finally:
        browser.close()


def still(sent, seconds):
    """Wait until so many seconds have brought nothing."""
    before = -1
    while total(sent) != before:
        before = total(sent)
        time.sleep(seconds)


def spreads(each):
    """Return the bytes, requests and seconds of questions."""
    names = ("bytes_each_next", "requests_each_next", "next_s")
    return {name: spread([row[place] for row in each]) for place, name in enumerate(names, 1)}


def around(page):
    """Return the hosts besides the server that were contacted, and the complaints of the browser."""
    hosts = [one for one in page.requests if not one.startswith(("http://127.0.0.1", "blob:", "about:"))]
    return {"other_hosts": hosts, "complaints": page.complaints}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site")
    parser.add_argument("index", help="the folder of distill index")
    parser.add_argument("--data", default="sample", help="whose questions are typed")
    parser.add_argument("--split", default="test")
    parser.add_argument("--questions", type=int, default=5, help="of each language")
    parser.add_argument("--latency", type=float, default=0.15, help="seconds before an answer of the server")
    parser.add_argument("--rate", type=float, default=204_800, help="bytes a second of all answers together")
    parser.add_argument("--json", default="ranges.json")
    return parser.parse_args()


def total(sent):
    return sum(bytes for _, bytes in sent)


def asked(page, sent, question):
    """Return the rows that a typed question finds, the bytes and requests that it took, and its seconds."""
    bytes_before, requests, start = total(sent), len(sent), time.monotonic()
    page.value("document.getElementById('question').select()")
    page.type(question)
    page.until(f"document.getElementById('hits').dataset.question === {question.strip()!r}", 120)
    seconds = round(time.monotonic() - start, 2)
    return page.value(ROWS), total(sent) - bytes_before, len(sent) - requests, seconds, bytes_before


def spread(values):
    return {"median": statistics.median(values), "most": max(values)}


def equal(found, expected):
    """Count the questions with the same first result, first three, and first ten."""
    return {f"same_first_{n}": sum(a[:n] == b[:n] for a, b in zip(found, expected, strict=True)) for n in (1, 3, MOST)}


if __name__ == "__main__":
    sys.exit(main())
