import re

import numpy as np

from distill.data.pairs import Bitext
from distill.data.pool import Pool
from distill.evaluation.translation import TranslationCounts
from distill.papers.bias.analyses import BiasFigures, RemovalFigures
from distill.papers.bias.lareqa import LareqaFigures, MeanPrecision, TargetRemoval
from distill.papers.bias.space import Identification, Projection
from distill.papers.bias.tables import print_lareqa
from distill.report.bias_tables import print_bitext, print_translated

# Four questions a language, 30 and 10 sentences.
POOL = Pool(
    name="toys",
    languages=("de", "en"),
    sentences=("",) * 40,
    contexts=("",) * 40,
    language_of=np.repeat([0, 1], [30, 10]),
    questions=("",) * 8,
    ids=tuple("abcd" * 2),
    asked_in=np.repeat([0, 1], 4),
    targets=np.zeros((8, 1), int),
)


def rows(text):
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines() if line[:1] == "│"]


def analysed(shift=0.0, removed=(0.25, 0.2, 0.2), accuracy=0.95):
    """Figures of two languages; without an accuracy languages were not identified."""
    ranks = {
        rank: MeanPrecision(0.3 + rank / 100 + shift, {"de": 0.2 + rank / 100, "en": 0.4 + rank / 100})
        for rank in range(3)
    }
    lareqa = LareqaFigures(
        precision=MeanPrecision(0.3 + shift, {"de": 0.2, "en": 0.4}),
        p1={"de": 0.1, "en": 0.3},
        removed=TargetRemoval(*removed),
        one_target={},
        monolingual={"de": 0.6, "en": 0.8},
        share={"de": {"de": 0.7, "en": 0.3}, "en": {"de": 0.1, "en": 0.9}},
        first_share={"de": {"de": 0.75, "en": 0.25}, "en": {"de": 0.0, "en": 1.0}},
    )
    language_id = None if accuracy is None else Identification(accuracy, 0.5, "en", {})
    return BiasFigures(lareqa, Projection([], {}), language_id, RemovalFigures("the pool's own sentences", ranks))


def test_map_bias_and_removal_have_a_table_each(printed):
    print_lareqa(POOL, "dev", {"one": analysed(), "two": analysed(0.1)})
    out = printed()
    assert "toys, dev, 8" in out
    assert rows(out) == [
        ["one", "multilingual", "20.0", "40.0", "30.0"],
        ["", "monolingual", "60.0", "80.0", "70.0"],
        ["two", "multilingual", "20.0", "40.0", "40.0"],
        ["", "monolingual", "60.0", "80.0", "70.0"],
        # Own language: (.7 + .9) / 2; an even share is (30 + 10) / 2 of 40.
        ["one", "30.0", "25.0", "20.0", "20.0", "80.0", "50.0", "95.0", "50.0"],
        ["two", "40.0", "25.0", "20.0", "20.0", "80.0", "50.0", "95.0", "50.0"],
        ["one", "0", "20.0", "40.0", "30.0"],
        ["one", "1", "21.0", "41.0", "31.0"],
        ["one", "2", "22.0", "42.0", "32.0"],
        ["two", "0", "20.0", "40.0", "40.0"],
        ["two", "1", "21.0", "41.0", "41.0"],
        ["two", "2", "22.0", "42.0", "42.0"],
        # The first 40, all of them, then the first.
        *[
            [name, *row]
            for name in ("one", "two")
            for row in (["de", "70.0", "30.0", "en"], ["en", "10.0", "90.0", "de"])
        ],
        *[
            [name, *row]
            for name in ("one", "two")
            for row in (["de", "75.0", "25.0", "en"], ["en", "0.0", "100.0", "de"])
        ],
    ]
    [line] = [line for line in out.splitlines() if line.startswith("two: ")]
    assert re.findall(r"\d[\d.]*", line) == ["80.0", "40", "90.0", "70.0", "1", "2"]
    print_lareqa(POOL, "dev", {"one": analysed(removed=(None, None, None), accuracy=None)})
    assert ["one", "30.0", "", "", "", "80.0", "50.0", "", ""] in rows(printed())


def test_bitext_has_a_row_a_direction_and_translations_a_line(printed):
    bitext = Bitext("lines", "en", {language: ("",) * 8 for language in ("en", "de", "th")})
    print_bitext(bitext, {"one": {"de": {"to": 0.5, "from": 0.25}, "th": {"to": 1.0, "from": 0.75}}})
    out = printed()
    assert "lines, 8" in out
    assert rows(out) == [["one", "→ en", "50.0", "100.0", "75.0"], ["one", "en →", "25.0", "75.0", "50.0"]]
    print_translated("lareqa", TranslationCounts("a.tsv", {"de": 3, "th": 2}, {"th": 1}))
    line = printed()
    assert line.startswith("lareqa: ") and re.findall(r"[.\w]*\d", line) == ["3", "2", "1"] and "a.tsv" in line
    print_translated("lareqa", TranslationCounts("a.tsv", {"de": 3, "th": 2}, {}, 7, 1.25))
    # Sentences, and milliseconds a question.
    assert re.findall(r"[.\d]*\d", printed()) == ["3", "2", "7", "1.2"]
