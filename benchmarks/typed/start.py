"""Where the encoder for text as people type it starts: its texts by language, and pieces for words as they are typed.

    python benchmarks/typed/start.py --data data --materials materials --encoder runs/general/released/student

writes `typed/text/{lang}.txt`, texts that the encoder labels itself, and `typed/start`, the encoder with more pieces:
words as they are typed which it cuts into parts, with the mean row of the pieces that the word has as it is written.
"""

import argparse
import math
import random
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from distill.catalog.loading import load_keras_encoder
from distill.data.parallel import read_parallel, texts_by_language
from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import SPACE, Tokenizer, model_proto
from distill.students.rows import with_table
from distill.students.vocabulary.new_pieces import with_rows
from distill.typed.kinds import kinds_of, typed

LANGUAGES = ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
# Questions first: of these all are taken, of the others what is left of the lines of a language.
QUESTIONS = ("mkqa-questions/questions.tsv", "mintaka-dev/questions.tsv", "qald/questions.tsv", "rubq/questions.tsv")
QUESTIONS += ("xor-question-pairs/ar-en.tsv", "xor-question-pairs/ru-en.tsv")
OTHERS = ("tico19/tico19.tsv", "ud-pud/pud.tsv", "wikidata-names/names.tsv", "massive/utterances.tsv")
MADE = ("ntrex", "parallel/docs.jsonl", "parallel/captions.jsonl", "parallel/hindi.jsonl")
# Shares of the new pieces, by kind and language.
SHARES = {
    ("no-accents", "el"): 5, ("no-accents", "vi"): 6, ("no-accents", "es"): 1, ("no-accents", "ro"): 1,
    ("no-accents", "tr"): 2.5, ("no-accents", "de"): 1,
    ("lower-case", "en"): 2, ("lower-case", "de"): 3, ("lower-case", "es"): 1, ("lower-case", "ro"): 0.7,
    ("lower-case", "ru"): 1.5, ("lower-case", "tr"): 1, ("lower-case", "vi"): 1, ("lower-case", "el"): 1,
    ("latin", "el"): 4, ("latin", "ru"): 5, ("latin", "hi"): 4, ("latin", "ar"): 4, ("latin", "zh"): 4,
}  # fmt: skip
LONGEST = 4
CELLS = [(kind, language) for language in LANGUAGES for kind in kinds_of(language)]
# How much rows stay what they were, against a word that is seen once.
KEPT, STEPS = 2.0, 25


def main():
    options = parse()
    data, materials = Path(options.data), Path(options.materials)
    encoder = load_keras_encoder(options.encoder)
    texts = lines_of(data, materials, options.lines)
    folder = Path(options.output)
    (folder / "text").mkdir(parents=True, exist_ok=True)
    for language, lines in texts.items():
        learned = random.Random(0).sample(lines, min(len(lines), options.learned))
        (folder / "text" / f"{language}.txt").write_text("\n".join(learned) + "\n", encoding="utf-8")
    pairs = {cell: pairs_of(cell, texts[cell[1]]) for cell in CELLS}
    cells = {cell: words_of(encoder.tokenizer, cell, pairs[cell]) for cell in SHARES}
    chosen = chosen_words(encoder.tokenizer, cells, options.pieces)
    larger = with_rows(encoder, larger_tokenizer(encoder.tokenizer, chosen), rows_of(encoder, chosen))
    start = refitted(encoder, larger, texts, pairs, options.share) if options.share else larger
    start.save(folder / "start")
    for cell in SHARES:
        words = [word for word, (of, _) in chosen.items() if of == cell]
        print(*cell, len(words), *words[:12], *words[-4:])
    print(len(larger.tokenizer), "pieces,", len(chosen), "of them new")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data", help="the folder of the collections")
    parser.add_argument("--materials", default="materials", help="the folder that benchmarks/general wrote")
    parser.add_argument("--encoder", default="runs/general/released/student", help="an encoder to start from")
    parser.add_argument("--output", default="typed", help="a folder to write")
    parser.add_argument("--lines", type=int, default=25_000, help="texts a language that pieces are of")
    parser.add_argument("--learned", type=int, default=9_000, help="of these those that are learned")
    parser.add_argument("--pieces", type=int, default=8_600, help="new pieces")
    parser.add_argument("--share", type=float, default=0.35, help="of the way that old rows go to where they fit")
    return parser.parse_args()


def lines_of(data, materials, many):
    """`{language: texts}`: questions first, then a draw of other text."""
    groups = [[data / name for name in QUESTIONS]]
    groups.append([data / name for name in OTHERS] + [materials / name for name in MADE])
    parts = [[texts_by_language(read_parallel([path], "en", read_in(path))) for path in group] for group in groups]
    for language in LANGUAGES:
        path = materials / "text" / f"{language}.txt"
        parts[1].append({language: path.read_text(encoding="utf-8").split("\n")[: 2 * many]})
    return {language: joined(language, parts)[:many] for language in LANGUAGES}


def read_in(path):
    return [path.stem[:2], "en"] if path.stem.endswith("-en") else LANGUAGES


def joined(language, parts):
    draw, lines = random.Random(0), {}
    for part in parts:
        texts = [text for source in part for text in source.get(language, ())]
        draw.shuffle(texts)
        lines |= dict.fromkeys(" ".join(text.split()) for text in texts if 2 < len(text) < 300)
    return list(lines)


def pairs_of(cell, lines):
    """`{(word as written, as typed): count}`; of Vietnamese phrases too."""
    kind, language = cell
    pairs = Counter()
    for line in lines:
        if (language, kind) == ("zh", "latin"):
            pairs.update(chinese(line))
            continue
        written, other = line.split(), typed(line, language, kind).split()
        if len(written) == len(other):
            pairs.update(aligned(written, other, LONGEST if language == "vi" and kind == "no-accents" else 1))
    return {pair: count for pair, count in pairs.items() if all(pair) and pair[0] != pair[1]}


def words_of(tokenizer, cell, pairs):
    """`{typed word or phrase: {as written: count}}` of words that the tokenizer cuts when they are typed so."""
    pairs = {pair: count for pair, count in pairs.items() if count > 1}
    phrases = [pair for pair in pairs if " " in pair[0] and cell[1] == "vi"]
    kept = set(pairs) - set(phrases)
    # Phrases as the encoder has them.
    cut = tokenizer.encode([written for written, _ in phrases])
    kept |= {pair for pair, ids in zip(phrases, cut, strict=True) if len(ids) == 3}
    words = defaultdict(dict)
    for pair in sorted(kept):
        words[pair[1]][pair[0]] = pairs[pair]
    names = list(words)
    lengths = [len(ids) - 2 for ids in tokenizer.encode(names)]
    return {name: words[name] for name, length in zip(names, lengths, strict=True) if length > 1 and len(name) > 2}


def aligned(written, other, longest):
    for place in range(len(written)):
        for length in range(1, 1 + min(longest, len(written) - place)):
            words = slice(place, place + length)
            yield stripped(" ".join(written[words])), stripped(" ".join(other[words]))


def chinese(line):
    from pypinyin import lazy_pinyin
    from pypinyin.seg.mmseg import seg

    for word in seg.cut(line):
        syllables = lazy_pinyin(word)
        if all(syllable.isascii() and syllable.isalpha() for syllable in syllables) and not word.isascii():
            yield word, "".join(syllables)


def stripped(word):
    return word.strip(".,;:!?¿¡\"'()«»“”„-–।")


def chosen_words(tokenizer, cells, many):
    """`{typed word: (cell, {as written: count})}`, of each cell those of most count and information."""
    chosen, total = {}, sum(SHARES.values())
    units = {piece.piece for piece in model_proto(tokenizer).pieces}
    for cell, words in cells.items():
        counts = {word: sum(written.values()) for word, written in words.items()}
        every = sum(counts.values())
        ranked = sorted(counts, key=lambda word: (-counts[word] * math.log(1 + every / counts[word]), word))
        # Words that are one to the tokenizer are one piece.
        named = {unit: word for unit, word in zip(units_of(tokenizer, ranked[::-1]), ranked[::-1], strict=True)}
        free = [word for unit, word in reversed(named.items()) if unit not in units]
        for word in free[: round(many * SHARES[cell] / total)]:
            chosen[word] = cell, words[word]
        units |= set(units_of(tokenizer, list(chosen)))
    return chosen


def larger_tokenizer(tokenizer, chosen):
    """The words behind the old pieces, each a little likelier than what it is cut into now."""
    proto = model_proto(tokenizer)
    scores = [piece.score for piece in proto.pieces]
    lowest = min(piece.score for piece in proto.pieces if piece.type == piece.NORMAL)
    words = list(chosen)
    for unit, ids in zip(units_of(tokenizer, words), tokenizer.encode(words), strict=True):
        proto.pieces.add(piece=unit, score=max(lowest, sum(scores[id] for id in ids[1:-1]) + 1.0))
    proto.trainer_spec.vocab_size = len(proto.pieces)
    return Tokenizer(proto.SerializeToString(), tokenizer.source)


def units_of(tokenizer, words):
    """The words as pieces that begin with a space."""
    return [SPACE + text.replace(" ", SPACE).strip(SPACE) for text in tokenizer.normalize(words)]


def rows_of(encoder, chosen):
    """The mean rows of the pieces of the written forms, by their counts."""
    table = encoder.model.get_layer("embedding").get_weights()[0]
    written = list(dict.fromkeys(word for _, counts in chosen.values() for word in counts))
    ids = dict(zip(written, encoder.tokenizer.encode(written), strict=True))
    own = {word: table[ids[word][1:-1]].mean(axis=0) for word in written}
    means = [
        np.average([own[word] for word in counts], axis=0, weights=list(counts.values()))
        for _, counts in chosen.values()
    ]
    return np.stack(means).astype(table.dtype)


def refitted(encoder, larger, texts, pairs, share):
    """The encoder with rows for which a word's mean row is the same as typed and as written, by least squares.

    Of pieces alone that texts have oftener as typed, old ones by a share of the way; of words w, seen n times,

        sum_w sqrt(n) || mean of rows as typed - mean of rows as written ||^2 + KEPT || rows - rows before ||^2
    """
    table = larger.model.get_layer("embedding").get_weights()[0]
    counts = Counter()
    for words in pairs.values():
        for pair, count in words.items():
            if " " not in pair[0]:
                counts[pair] += count
    written = cut(encoder.tokenizer, [pair[0] for pair in counts])
    other = cut(larger.tokenizer, [pair[1] for pair in counts])
    free = oftener_typed(larger.tokenizer, texts, len(table))
    place = np.full(len(table), -1)
    place[free] = np.arange(len(free))
    kept = [row for row, ids in enumerate(other) if (place[ids] >= 0).any() and written[row]]
    weights = np.sqrt(np.array(list(counts.values()))[kept])[:, None]
    targets = np.stack([table[written[row]].mean(axis=0) for row in kept])
    targets -= np.stack([np.where(place[other[row], None] < 0, table[other[row]], 0).mean(axis=0) for row in kept])
    matrix = shares_of([other[row] for row in kept], place, len(free))
    rows = least_squares(matrix, targets, weights, table[free])
    print(len(kept), "words,", len(free), "rows; error", error(matrix, targets, weights, table[free]), end=" ")
    print("->", error(matrix, targets, weights, rows))
    way = np.where(free < len(encoder.tokenizer), share, 1.0)[:, None]
    table = table.copy()
    table[free] += way.astype(table.dtype) * (rows - table[free])
    return KerasEncoder(with_table(larger.model, table), larger.tokenizer, larger.name)


def cut(tokenizer, words):
    return [ids[1:-1] for ids in tokenizer.encode(words)]


def oftener_typed(tokenizer, texts, many):
    """Pieces that texts have oftener as typed, each kind as often as the others, than as written."""
    counts = np.zeros((2, many))
    for language, lines in texts.items():
        sample, kinds = lines[:3000], kinds_of(language)
        counts[0] += np.bincount(np.concatenate(cut(tokenizer, sample)), minlength=many)
        for kind in kinds:
            as_typed = [typed(line, language, kind) for line in sample]
            counts[1] += np.bincount(np.concatenate(cut(tokenizer, as_typed)), minlength=many) / len(kinds)
    return np.flatnonzero(counts[1] > 1.5 * counts[0])


def shares_of(lists, place, many):
    """Sparse `(words, many)`: the share that a row has in the mean of a word."""
    from scipy.sparse import csr_matrix

    lengths = np.array([len(ids) for ids in lists])
    words, ids = np.repeat(np.arange(len(lists)), lengths), place[np.concatenate(lists)]
    inside = ids >= 0
    return csr_matrix(((1 / np.repeat(lengths, lengths))[inside], (words[inside], ids[inside])), (len(lists), many))


def least_squares(matrix, targets, weights, before):
    """Conjugate gradients on the normal equations, all columns at once, from the rows before."""
    rows = before.astype(np.float64)
    rest = matrix.T @ (weights * (targets - matrix @ rows))
    step, square = rest.copy(), (rest**2).sum(axis=0)
    for _ in range(STEPS):
        product = matrix.T @ (weights * (matrix @ step)) + KEPT * step
        length = square / np.maximum((step * product).sum(axis=0), 1e-12)
        rows, rest = rows + length * step, rest - length * product
        new = (rest**2).sum(axis=0)
        step, square = rest + new / np.maximum(square, 1e-12) * step, new
    return rows.astype(before.dtype)


def error(matrix, targets, weights, rows):
    return round(float((weights * (matrix @ rows - targets) ** 2).sum() / (weights * targets**2).sum()), 3)


if __name__ == "__main__":
    main()
