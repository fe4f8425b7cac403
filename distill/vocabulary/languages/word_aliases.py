"""Read words as existing tokens with the same meaning: aliases of about 25 bytes, without embeddings or training.

A word means what its translations mean, by the encoder's vectors of these. Its alias is what comes nearest to that, the
tokens of a translation or a new token, unless its own tokens are as near. One form of a word has a token, and the other
forms, also the capitalised one, are aliases for it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...encoders.encoder import KerasEncoder, encode_ids, normalise_rows
from ...encoders.spellings import Spelling
from ...encoders.tokenizer import SPACE, Tokenizer, list_spellings, model_proto, with_spellings
from ...retrieval.exact import top_k
from ...students.vocabulary.pieces import count_tokens
from ...system.progress import task
from ...system.types import Floats
from .lexicon_induction import InducedLexicon, split_words
from .material import MOST, Lexicon
from .pieces import OWN, STRAY, compute_shares, same_script

# The gain in cosine that a spelling has at least, what each further piece takes off, and the pieces that it may have.
LEAST, FURTHER, LONGEST = 0.1, 0.02, 4
# Words that are looked at, of those asked for.
CONSIDERED = 3
# The share of a word's uses that begin with a capital, where the text tells none: of names, by their translations, and
# of others; and how many uses that counts as.
NAME, HEAD, UNSEEN = 0.5, 0.1, 5
Ids = tuple[int, ...]


@dataclass(frozen=True)
class Candidate:
    """An alias, its share of the language's words, and what it gains in cosine."""

    spelling: Spelling
    share: float
    gain: float


@dataclass(frozen=True)
class Alias:
    """The ids that a word is read as, their cosine to its meaning, less `FURTHER`, and the meaning as a unit vector."""

    ids: Ids
    cosine: float
    target: Floats


class TextReader:
    """Tokenizes and encodes texts by an encoder."""

    def __init__(self, encoder: KerasEncoder) -> None:
        self._encoder = encoder
        self._ends = encoder.tokenizer.encode(["a"], None)[0]

    def cut(self, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of each text, without bos and eos."""
        return [tuple(ids[1:-1]) for ids in self._encoder.tokenizer.encode(list(texts), None)]

    def vectors(self, rows: Sequence[Ids]) -> Floats:
        """Return the vectors of lists of ids, `(n, d)`, each computed once."""
        places = {ids: place for place, ids in enumerate(dict.fromkeys(rows))}
        vectors = encode_ids(self._encoder.model, [[self._ends[0], *ids, self._ends[-1]] for ids in places])
        return vectors[[places[ids] for ids in rows]]


def spell_words(
    encoder: KerasEncoder, first: int, material: Lexicon, near: InducedLexicon | None, most: int
) -> Tokenizer:
    """Add aliases for words, those first that gain most, weighted by use. Words of other languages are left out."""
    meant = collect_meanings(material, near, CONSIDERED * most)
    if not meant:
        return encoder.tokenizer
    before = list_spellings(encoder.tokenizer)
    with task(f"spellings of {material.language}", 1) as advance:
        candidates = collect_candidates(TextReader(encoder), material, meant, own_pieces(encoder.tokenizer, first))
        known = {one.piece for one in before}
        free = [one for one in candidates if one.gain >= LEAST and one.spelling.piece not in known]
        # Turkish ı and i have one capital.
        best: dict[str, Candidate] = {}
        for one in sorted(free, key=lambda one: (-one.share * one.gain, one.spelling.piece, one.spelling.ids)):
            best.setdefault(one.spelling.piece, one)
        chosen = drop_used_elsewhere(encoder.tokenizer, list(best.values())[: 2 * most], same_script(material))[:most]
        advance()
    return with_spellings(encoder.tokenizer, [*before, *(one.spelling for one in chosen)])


def collect_meanings(material: Lexicon, near: InducedLexicon | None, most: int) -> dict[str, dict[str, float]]:
    """Return the weighted translations of the most frequent words, from a dictionary or the aligner."""
    pivots: dict[str, list[str]] = {}
    for text, pivot in material.pairs:
        if " " not in text:
            pivots.setdefault(text.lower(), []).append(pivot)
    rows = {} if near is None else {text: place for place, text in enumerate(near.texts)}
    meant = {}
    for word in list(material.words)[:most]:
        if word in pivots:
            meant[word] = {
                pivot: 1 / (1 + rank) for rank, pivot in enumerate(dict.fromkeys(pivots[word])) if rank < MOST
            }
        elif near is not None and word in rows:
            row = rows[word]
            meant[word] = {near.words[id]: float(w) for id, w in zip(near.nearest[row], near.weights[row], strict=True)}
    return meant


def own_pieces(tokenizer: Tokenizer, first: int) -> dict[str, int]:
    """Return the ids of tokens that begin a word and have at least two letters, by word."""
    pieces = list(enumerate(model_proto(tokenizer).pieces))[first:]
    words = {piece.piece[1:]: id for id, piece in pieces if piece.piece.startswith(SPACE)}
    return {word: id for word, id in words.items() if len(word) > 1 and word.isalpha()}


def collect_candidates(
    reader: TextReader, material: Lexicon, meant: Mapping[str, Mapping[str, float]], pieces: Mapping[str, int]
) -> list[Candidate]:
    """Return aliases for words that are cut into several tokens, and for their capitalised forms."""
    several = [word for word, ids in zip(meant, reader.cut(list(meant)), strict=True) if len(ids) > 1]
    ways = find_nearest(reader, {word: meant[word] for word in several}, list(pieces.values())) if several else {}
    heads = count_capitals(material, meant)
    rows = [
        (text, material.words[word] * share, ways[word])
        for word in several
        if word in ways
        for text, share in {word: 1 - heads[word], capitalise(word): heads[word]}.items()
    ]
    # A word that has a piece stands for it at the head of a sentence too.
    headed = [word for word in pieces if word.islower() and word in material.words]
    vectors = reader.vectors([(pieces[word],) for word in headed])
    rows += [
        (capitalise(word), material.words[word] * heads.get(word, HEAD), Alias((pieces[word],), 1.0, vector))
        for word, vector in zip(headed, vectors, strict=True)
    ]
    return select_gaining(reader, rows)


def select_gaining(reader: TextReader, rows: Sequence[tuple[str, float, Alias]]) -> list[Candidate]:
    """Return the texts that are cut into several tokens as candidates, with what their aliases gain."""
    cuts = reader.cut([text for text, *_ in rows])
    chosen = [(row, cut) for row, cut in zip(rows, cuts, strict=True) if len(cut) > 1]
    vectors = reader.vectors([cut for _, cut in chosen])
    return [
        Candidate(Spelling(SPACE + text, math.log(share), way.ids), share, way.cosine - float(vector @ way.target))
        for ((text, share, way), _), vector in zip(chosen, vectors, strict=True)
    ]


def find_nearest(reader: TextReader, meant: Mapping[str, Mapping[str, float]], ids: Sequence[int]) -> dict[str, Alias]:
    """Find for each word the tokens nearest to its meaning: those of a translation, or one of the given ids."""
    texts = list(dict.fromkeys(text for row in meant.values() for text in row))
    cuts = dict(zip(texts, reader.cut(texts), strict=True))
    vectors = dict(zip(texts, reader.vectors(list(cuts.values())), strict=True))
    targets = normalise_rows(
        np.stack([sum(weight * vectors[text] for text, weight in row.items()) for row in meant.values()])
    )
    ways = [
        [Alias(cuts[text], float(vectors[text] @ target) - FURTHER * (len(cuts[text]) - 1), target) for text in row]
        for row, target in zip(meant.values(), targets, strict=True)
    ]
    if ids:
        places, cosines = top_k(targets, reader.vectors([(id,) for id in ids]), 1)
        for row, target, place, cosine in zip(ways, targets, places[:, 0], cosines[:, 0], strict=True):
            row.append(Alias((ids[place],), float(cosine), target))
    short = ([way for way in row if 0 < len(way.ids) <= LONGEST] for row in ways)
    best = zip(meant, short, strict=True)
    return {word: max(row, key=lambda way: (way.cosine, way.ids)) for word, row in best if row}


def capitalise(word: str) -> str:
    """Return the word as it is written at the beginning of a sentence."""
    return word[0].upper() + word[1:]


def count_capitals(material: Lexicon, meant: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the share of uses of each word that begin with a capital."""
    counts = Counter(word for text in material.texts for word in split_words(text))
    result = {}
    for word, row in meant.items():
        usual = NAME if all(text[:1].isupper() for text in row) else HEAD
        upper, lower = counts[capitalise(word)], counts[word]
        result[word] = (upper + UNSEEN * usual) / (upper + lower + UNSEEN)
    return result


def drop_used_elsewhere(
    tokenizer: Tokenizer, candidates: Sequence[Candidate], others: Sequence[Sequence[str]]
) -> list[Candidate]:
    """Keep candidates that other languages' texts do not contain, or no more than `OWN` and `STRAY` allow."""
    larger = with_spellings(tokenizer, [*list_spellings(tokenizer), *(one.spelling for one in candidates)]).unexpanded
    most = np.max([compute_shares(count_tokens(larger, list(rows))) for rows in others], axis=0, initial=0.0)
    names = [piece.piece for piece in model_proto(larger).pieces]
    used = dict(zip(names, np.broadcast_to(most, len(names)), strict=True))
    return [one for one in candidates if used[one.spelling.piece] <= max(one.share / OWN, STRAY)]
