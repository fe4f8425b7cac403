"""A page of `distill page --by-ranges` asked in a real browser over a slow network: docs/web.md.

    distill index --model released-small --documents path/to/wikipedia-en --output kb
    distill export released-small --format web --index kb --by-ranges --output site
    python benchmarks/browser/ranges.py site kb --data path/to/mlqa-dev-a

Types questions of a data set in each of its languages. The server waits `--latency` before each answer and gives
`--rate` bytes a second to all together. Prints the bytes that it sent, heads too, until the first answer and for each
next one, the seconds, and how often the first results are those of the whole index in Python: of parts, and of all,
kept and without the server.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from fixtures.chromium import Chromium, served
from page import READY, questions

from distill.indexing.answers import Answers
from distill.system.files import write_json
from distill.system.versions import machine

ROWS = "document.getElementById('hits').dataset.rows.split(',').map(row => Number(row.split(' ')[0]))"
MOST = 10


def main():
    options = parse()
    texts = questions(options)
    expected = [[hit.row for hit in answer.hits] for answer in Answers(options.index).answers(texts, MOST)]
    browser, sent = Chromium(), []
    try:
        page = browser.page()
        with served(options.site, sent, options.latency, options.rate) as address:
            start = time.monotonic()
            page.send("Page.navigate", url=f"{address}#q={quote(texts[0])}")
            page.until(f"location.href !== 'about:blank' && {READY}", 300)
            ready = time.monotonic() - start
            page.until("document.querySelectorAll('#hits li').length", 300)
            first = time.monotonic() - start
            bytes_first, answers = total(sent), [page.value(ROWS)]
            # What is kept for the next visit is none of an answer's.
            page.until("navigator.serviceWorker.ready.then(() => true)", 300)
            time.sleep(2)
            each = [asked(page, sent, text) for text in texts[1:]]
            answers += [row[0] for row in each]
        with served(options.site, sent) as address:
            page.send("Page.navigate", url=address)
            page.until(f"location.href.startsWith('{address}') && {READY}", 300)
            page.value("document.getElementById('load-all').click()")
            page.until("document.getElementById('all').hidden", 600)
            page.until("navigator.serviceWorker.ready.then(() => true)", 300)
        page.send("Page.navigate", url="about:blank")
        page.until("location.href === 'about:blank'")
        page.send("Page.navigate", url=address)
        page.until(f"location.href.startsWith('{address}') && {READY}", 300)
        kept = [asked(page, sent, text) for text in texts]
        hosts = [one for one in page.requests if not one.startswith(("http://127.0.0.1", "blob:", "about:"))]
        version = browser.send("Browser.getVersion")["product"]
    finally:
        browser.close()
    figures = {
        "browser": version,
        "questions": len(texts),
        "latency_s": options.latency,
        "bytes_a_second": options.rate,
        "bytes_before_first_answer": bytes_first,
        "bytes_each_next": spread([row[1] for row in each]),
        "requests_each_next": spread([row[2] for row in each]),
        "ready_s": round(ready, 1),
        "first_answer_s": round(first, 1),
        "next_s": spread([row[3] for row in each]),
        "by_ranges": equal(answers, expected),
        "kept": equal([row[0] for row in kept], expected),
        "kept_s": spread([row[3] for row in kept]),
        "other_hosts": hosts,
        "complaints": page.complaints,
        "machine": machine(),
    }
    for name, figure in figures.items():
        print(f"{name:>26}  {figure}")
    write_json(options.json, figures)
    return int(bool(hosts))


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
    """The rows that a typed question finds, the bytes and requests that it took, and its seconds."""
    bytes_before, requests, start = total(sent), len(sent), time.monotonic()
    page.value("document.getElementById('question').select()")
    page.type(question)
    page.until(f"document.getElementById('hits').dataset.question === {question.strip()!r}", 120)
    return page.value(ROWS), total(sent) - bytes_before, len(sent) - requests, round(time.monotonic() - start, 2)


def spread(values):
    return {"median": statistics.median(values), "most": max(values)}


def equal(found, expected):
    """How many questions have the same first result, first three, and first ten."""
    return {str(n): sum(a[:n] == b[:n] for a, b in zip(found, expected, strict=True)) for n in (1, 3, MOST)}


if __name__ == "__main__":
    sys.exit(main())
