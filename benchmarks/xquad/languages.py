"""Count in open text which languages use each token of `multi12-ngram`: `languages.npz`, and the card that names it.

    python benchmarks/xquad/languages.py --data data --bundle runs/released/bundle

A piece is a language's where its share of the language's pieces, times what losing it costs, is `--least` or more.
The share is that in text, in the words of `wordfreq` (Speer, 2022) and in English text, whose names all languages
write. The cost is 1 less the cosine of the piece's vector and that of its best cut without it: a name falls apart, an
ending hardly changes. Text is parallel text, sentences, paragraphs and dictionaries, of licences that an encoder which
ships may be made with; none is text that encoders are evaluated on.
"""

import argparse
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import wordfreq

from distill.encoders.tokenizer import Tokenizer, model_proto
from distill.export.card import stored_files
from distill.export.formats.format import load_artefact
from distill.export.languages import CARD_KEY, FILE, TokenLanguages, write_languages
from distill.system.files import write_json
from distill.system.input_files import read_jsonl, read_text

TABLES = ("massive", "mkqa-questions", "mintaka-dev", "qald", "rubq", "tico19", "xor-question-pairs", "docs-parallel")
TABLES += (
    "sts-parallel",
    "ud-pud",
    "wiki-hi-crowd",
    "android-strings",
    "wiktionary-dict",
    "cc-cedict",
    "wikidata-names",
)
PASSAGES = ("sentences-mono", "wikipedia-other", "wikipedia-en", "tydiqa-goldp", "thaigov", "iapp-wiki-qa", "cmrc2018")
PASSAGES += ("arcd", "drcd", "tquad-tr")
NEWS = {"arb": "ar", "deu": "de", "ell": "el", "eng": "en", "hin": "hi", "ron": "ro", "rus": "ru", "spa": "es"}
NEWS |= {"tha": "th", "tur": "tr", "vie": "vi", "zho-CN": "zh"}
CARD = "card.json"
# Parts of a language's text, of words, and of English text in what is expected of a language.
TEXT, WORDS, ENGLISH = 0.85, 0.05, 0.1
# Score and id of a character without a piece.
UNKNOWN = -1e3, 0


def main():
    options = parse()
    bundle = Path(options.bundle)
    card = json.loads((bundle / CARD).read_text(encoding="utf-8"))
    texts = texts_of(Path(options.data), card["languages"])
    tokenizer = Tokenizer.load(bundle / "tokenizer.model")
    cost, parts = costs(bundle, tokenizer), shares(tokenizer, texts)
    used = np.stack([cost * share >= options.least for share in parts.values()], axis=1)
    pieces = TokenLanguages(tuple(parts), used)
    write_languages(bundle, pieces)
    for name, column in zip(pieces.languages, pieces.used.T, strict=True):
        print(f"{name}: {len(texts[name])} texts, {column.sum()} pieces")
    print(f"{pieces.used.any(axis=1).sum()} of {len(pieces.used)} pieces, {(bundle / FILE).stat().st_size} bytes")
    write_card(bundle, card, list(pieces.languages))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="the folder with massive, ntrex, sentences-mono, …")
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--least", type=float, default=4.5e-7, help="share times cost that makes a piece a language's")
    return parser.parse_args()


def shares(tokenizer, texts):
    """Return `{language: share of each token}`, the shares expected in any text of a language, `(tokens,)`."""
    text = {language: counted(tokenizer, lines) for language, lines in texts.items()}
    english = (text["en"], ENGLISH)
    return {name: mean_of((part, TEXT), (words(tokenizer, name), WORDS), english) for name, part in text.items()}


def mean_of(*parts):
    """Return the mean of `(counts, weight)`, each normalised to a sum of 1. Empty counts are left out."""
    parts = [(counts / counts.sum(), weight) for counts, weight in parts if counts.any()]
    return sum(share * weight for share, weight in parts) / sum(weight for _, weight in parts)


def counted(tokenizer, lines, weights=None):
    """Count how often each token occurs in the lines, `(tokens,)`. A line counts as often as its weight says."""
    counts = np.zeros(len(tokenizer))
    for start in range(0, len(lines), 20_000):
        rows = [ids[1:-1] for ids in tokenizer.encode(lines[start : start + 20_000])]
        ids = np.array([id for row in rows for id in row], dtype=np.int64)
        often = None if weights is None else np.repeat(weights[start : start + 20_000], [len(row) for row in rows])
        counts += np.bincount(ids, weights=often, minlength=len(tokenizer))
    return counts


def words(tokenizer, language):
    """Count how often each token occurs in the words of `wordfreq`, in lower case or as names, whichever has fewer
    tokens.
    """
    if language not in wordfreq.available_languages():
        return np.zeros(len(tokenizer))
    often = wordfreq.get_frequency_dict(language, "best")
    names = [word[:1].upper() + word[1:] for word in often]
    lengths = ([len(ids) for ids in tokenizer.encode(list(lines))] for lines in (often, names))
    cut = zip(often, names, *lengths, strict=True)
    lines = [(name if after < before else word) for word, name, before, after in cut]
    return counted(tokenizer, lines, list(often.values()))


def costs(bundle, tokenizer):
    """Return 1 less the cosine of each token's vector and that of its best cut without it; 1 if there is no cut."""
    encoder, proto = load_artefact(bundle), model_proto(tokenizer)
    scores = {piece.piece: (piece.score, id) for id, piece in enumerate(proto.pieces) if piece.type == piece.NORMAL}
    cuts = {id: finer(text, scores) for text, (_, id) in scores.items() if len(text) > 1}
    # Ids stand in for texts.
    encoder.tokenizer = Ids()
    begin, end = tokenizer.encode([""])[0]
    lines = (
        [" ".join(map(str, (begin, *row, end))) for row in rows] for rows in ([[id] for id in cuts], cuts.values())
    )
    whole, parts = map(encoder.encode, lines)
    cost = np.ones(len(proto.pieces))
    cost[list(cuts)] = 1 - np.sum(whole * parts, axis=1)
    return cost


class Ids:
    """A tokenizer for texts that are token IDs already."""

    def encode(self, text, add_bos, add_eos):
        return [int(id) for id in text.split()]


def finer(text, scores):
    """Return the IDs of the best-scoring cut of a token into others; `<unk>` has the ID 0 and the worst score."""
    best = [(0.0, [])]
    for end in range(1, len(text) + 1):
        cuts = []
        for begin in range(end):
            part = text[begin:end]
            if part != text and (part in scores or len(part) == 1):
                score, id = scores.get(part, UNKNOWN)
                cuts.append((best[begin][0] + score, [*best[begin][1], id]))
        best.append(max(cuts))
    return best[-1][1]


def texts_of(data, languages):
    """Return `{language: [text]}`."""
    texts = {language: [] for language in languages}
    for language, lines in [*tables(data), *passages(data), *news(data)]:
        if language in texts:
            texts[language] += lines
    return texts


def tables(data):
    """Yield `(language, lines)` of .tsv files headed by languages; the name of a dictionary's file has both."""
    for path in sorted(path for folder in TABLES for path in (data / folder).glob("*.tsv")):
        head, *rows = [line.split("\t") for line in read_text(path).split("\n") if line]
        names = path.stem.split("-") if "translations" in head else head
        for place, name in enumerate(names):
            yield name, [row[place] for row in rows if len(row) > place]


def passages(data):
    """Yield `(language, lines)` of .jsonl files whose names have the language."""
    for path in sorted(path for folder in PASSAGES for path in (data / folder).glob("*.jsonl")):
        rows = [row for _, row in read_jsonl(path)]
        language = next(part for part in reversed(path.stem.split(".")) if len(part) == 2)
        keys = ("context", "title", "question")
        yield language, [row[key] for row in rows for key in keys if isinstance(row.get(key), str)]


def news(data):
    """Yield `(language, lines)` of NTREX."""
    for path in sorted((data / "ntrex").glob("*.txt")):
        yield NEWS.get(path.stem.split(".")[1], ""), read_text(path).split("\n")


def write_card(bundle, card, languages):
    """Write `card.json` anew, with today's `encode.py`, and the sizes of the files that it lists."""
    shutil.copyfile(Path(__file__).resolve().parents[2] / "export" / "encode.py", bundle / "encode.py")
    listed = {*card["files"], FILE}
    files = {name: asdict(file) for name, file in stored_files(bundle).items() if name in listed}
    card = {**card, "bytes": sum(file["bytes"] for file in files.values()), "files": files}
    write_json(bundle / CARD, {**card, CARD_KEY: {"languages": languages}})


if __name__ == "__main__":
    main()
