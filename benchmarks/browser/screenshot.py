"""A picture of a page of `distill page` for the documentation: docs/page.png, of the sample.

    distill page distill/data/sample/documents.jsonl --title "108 articles, in 12 languages" \
        --about "The articles are in English. Ask in any of the 12 languages." --output site
    python benchmarks/browser/screenshot.py site docs/page.png "¿Cuándo nació Marie Curie?"

Needs Chromium.
"""

import argparse
import sys
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from fixtures.chromium import Chromium, served


def take_picture(site, picture, question, **size):
    """Open a page with a question in its address, and draw it once the best sentence is marked."""
    browser = Chromium()
    try:
        page = browser.page(**size)
        with served(site) as address:
            page.open(f"{address}#q={quote(question)}")
            page.until("!!document.querySelector('mark')")
            page.picture(picture)
    finally:
        browser.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", help="the page's folder")
    parser.add_argument("picture", help="the PNG file")
    parser.add_argument("question")
    parser.add_argument("--width", type=int, default=1000)
    parser.add_argument("--height", type=int, default=600)
    options = parser.parse_args()
    take_picture(options.site, options.picture, options.question, width=options.width, height=options.height)


if __name__ == "__main__":
    main()
