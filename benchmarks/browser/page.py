"""Compare a page of `distill export --format web` in a real browser with Python on the same index: docs/web.md.

    distill index --model multi12-ngram --documents path/to/wikipedia-en --output kb
    distill export multi12-ngram --format web --index kb --output site
    python benchmarks/browser/page.py site kb --data path/to/mlqa-dev-a

Types questions of a data set in each of its languages, with the server there and again without any network, and
compares the first result, passage and best sentence, with Python's. Prints seconds until the page is ready and until
its first answer, milliseconds a question, and hosts that the page asked besides its own; ends with 1 where there is
one, or where a first result is another whose score is not the same to two digits.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from urllib.parse import quote

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from fixtures.chromium import Chromium, served

from distill.data.loading import load_dataset
from distill.search_engine.indexing.answers import Answers
from distill.system.device import machine
from distill.system.files import write_json

READY = "document.documentElement?.dataset.ready"
SHOWN = """(() => {
  const hits = document.getElementById("hits"), item = hits.firstChild;
  const text = name => item.querySelector(name)?.textContent || "";
  return [text("p"), text("mark"), Number(text(".score")), Number(hits.dataset.ms), Number(hits.dataset.first)];
})()"""


def main():
    options = parse()
    texts = questions(options)
    expected = [
        (hit.text, hit.text[slice(*hit.sentence)] if hit.sentence else "", hit.score)
        for hit in (answer.hits[0] for answer in Answers(options.index).answers(texts, 1))
    ]
    browser = Chromium()
    try:
        page = browser.page()
        with served(options.site) as address:
            started = opened(page, address, texts[0])
            online = [asked(page, text) for text in texts]
            kept(page)
            again = opened(page, address, texts[0])
        offline = opened(page, address, texts[0])
        without = [asked(page, text) for text in texts]
        hosts = [one for one in page.requests if not one.startswith((address, "blob:"))]
        used = page.value("performance.memory?.usedJSHeapSize")
        version = browser.send("Browser.getVersion")["product"]
    finally:
        browser.close()
    others = [text for text, row, gold in zip(texts, online, expected, strict=True) if other(row, gold)]
    figures = {
        "browser": version,
        "bytes": sum(path.stat().st_size for path in Path(options.site).iterdir()),
        "questions": len(texts),
        "the_same_first": sum(tuple(row[:2]) == gold[:2] for row, gold in zip(online, expected, strict=True)),
        "other_first": others,
        "the_same_offline": [row[:3] for row in online] == [row[:3] for row in without],
        "ready_s": started[0],
        "first_answer_s": started[1],
        "again_s": again[1],
        "offline_s": offline[1],
        "median_ms": float(np.median([row[3] for row in online])),
        "median_first_ms": float(np.median([row[4] for row in online])),
        "page_heap_mb": used and used / 1e6,
        "other_hosts": hosts,
        "complaints": page.complaints,
        "machine": machine(),
    }
    for name, figure in figures.items():
        print(f"{name:>16}  {figure}")
    write_json(options.json, figures)
    return int(bool(others or hosts or not figures["the_same_offline"]))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site")
    parser.add_argument("index", help="the folder of distill index")
    parser.add_argument("--data", default="sample", help="whose questions are typed")
    parser.add_argument("--split", default="test")
    parser.add_argument("--questions", type=int, default=5, help="of each language")
    parser.add_argument("--json", default="page.json")
    return parser.parse_args()


def questions(options):
    """Return the same number of questions for each language, different ones in each."""
    data, count = load_dataset(options.data, "en"), options.questions
    return [
        question.text
        for place, name in enumerate(data.languages)
        for question in data.select(name, options.split)[place * count : (place + 1) * count]
    ]


def opened(page, address, question):
    """Return seconds until a page is ready, and until it shows the first answer to a question in its address."""
    page.send("Page.navigate", url="about:blank")
    page.until("location.href === 'about:blank'")
    start = time.monotonic()
    page.send("Page.navigate", url=f"{address}#q={quote(question)}")
    page.until(f"location.href !== 'about:blank' && {READY}", 300)
    ready = time.monotonic() - start
    page.until("document.querySelectorAll('#hits li').length")
    return round(ready, 2), round(time.monotonic() - start, 2)


def asked(page, question):
    """Type a question and return the passage, best sentence and score of the first result, and two times in ms.

    The times are those until the last results and until the first ones.
    """
    page.value("document.getElementById('question').select()")
    page.type(question)
    page.until(f"document.getElementById('hits').dataset.question === {json.dumps(question.strip())}")
    return page.value(SHOWN)


def kept(page):
    """Wait until all files are in the browser's store."""
    page.until("navigator.serviceWorker.ready.then(() => true)")
    names = "['encoder.bin', 'index.bin'].map(name => name + '?' + document.documentElement.dataset.version)"
    page.until(f"Promise.all({names}.map(name => caches.match(name))).then(all => all.every(Boolean))", 120)


def other(row, gold):
    """Return True if the first result differs from Python's in place and score."""
    return tuple(row[:2]) != gold[:2] and abs(row[2] - gold[2]) > 0.006


if __name__ == "__main__":
    sys.exit(main())
