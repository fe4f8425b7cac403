"""Induce a lexicon from an encoder that knows two languages: words of one that are near texts of the other.

The vectors of a language share a direction whatever the meaning, so each language's mean is subtracted. A word that is
near to many counts as near to none (CSLS: Lample et al., 2018, Word translation without parallel data, section 2.3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...encoders.encoder import Encoder, KerasEncoder, normalise_rows
from ...retrieval.exact import top_k
from ...students.embeddings import TABLE
from ...students.vocabulary.transplant import compute_softmax
from ...system.progress import task
from ...system.types import Floats, Integers

# Neighbours that tell how near a word is to all, words that a text has, and how sharp their weights are.
AROUND, NEAREST, TEMPERATURE = 10, 3, 0.05
# Words of the translations that are looked among.
MOST = 20_000


@dataclass(frozen=True)
class InducedLexicon:
    """For each of `texts`, the ids `nearest` `(n, k)` of `words`, and their `weights`, which sum to 1."""

    texts: list[str]
    words: list[str]
    nearest: Integers
    weights: Floats

    def mean(self, vectors: Floats) -> Floats:
        """Return the weighted means `(n, d)` of the words' vectors `(m, d)`."""
        return np.einsum("nk,nkd->nd", self.weights, vectors[self.nearest]).astype(np.float32)

    def rows(self, encoder: KerasEncoder) -> Floats:
        """Return embeddings `(n, width)` for the texts, from an encoder's embeddings of the words."""
        table = encoder.model.get_layer(TABLE).get_weights()[0]
        rows = [table[ids[1:-1]].mean(axis=0) for ids in encoder.tokenizer.encode(self.words, None)]
        return self.mean(np.stack(rows))


def induce_lexicon(texts: Sequence[str], words: Sequence[str], aligner: Encoder) -> InducedLexicon:
    """Find the words that an aligner puts near texts."""
    with task(f"vectors of words by {aligner.name}", len(texts) + len(words)) as advance:
        ours, theirs = (aligner.encode(list(part), "question", advance) for part in (texts, words))
    ours, theirs = (normalise_rows(part - part.mean(axis=0)) for part in (ours, theirs))
    nearest, cosines = top_k(ours, theirs, min(AROUND, len(words)))
    around = top_k(theirs, ours, min(AROUND, len(texts)))[1].mean(axis=1)
    scores = 2 * cosines - around[nearest]
    best = np.argsort(-scores, axis=1, kind="stable")[:, :NEAREST]
    weights = compute_softmax((np.take_along_axis(scores, best, axis=1) / TEMPERATURE).astype(np.float32))
    return InducedLexicon(list(texts), list(words), np.take_along_axis(nearest, best, axis=1), weights)


def split_words(text: str) -> list[str]:
    """Return the words of a text, without surrounding punctuation and without numbers."""
    parts = (part.strip("".join(sign for sign in part if not sign.isalnum())) for part in text.split())
    return [part for part in parts if part and not part.isdigit()]


def commonest_words(texts: Sequence[str], most: int = MOST) -> list[str]:
    """Return the most frequent words of texts, each in its most frequent form."""
    counts = Counter(word for text in texts for word in split_words(text))
    forms: dict[str, str] = {}
    for word, _ in counts.most_common():
        forms.setdefault(word.lower(), word)
    return list(forms.values())[:most]
