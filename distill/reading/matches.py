"""Features that tell a piece of a passage of the question: words in common, and the sentence that is nearest to it.

Chen et al. (2017), DrQA, section 3.2: exact match in original, lower-case or lemma form. That a passage's best sentence
is told too is ours: an encoder of questions and answers in one space finds it across languages.
"""

from __future__ import annotations

import numpy as np

from ..system.types import Floats
from .examples import Text
from .pieces import NO_WORD, Pieces

# Numbers of a piece: matches of the piece, the word, the stem; with three of its sentence and four of its shape.
MATCHES, FEATURES = 3, 10
# Cosines, and how far they are from the best, are small.
COSINE, DISTANCE = 3.0, 5.0


def features(passage: Pieces, question: Pieces, cosines: Floats, text: Text) -> Floats:
    """Return float32 `(t, FEATURES)` of a passage's pieces; `cosines` `(s,)` of its sentences with the question."""
    return np.concatenate([_matches(passage, question), _of_sentences(passage, cosines, text), passage.shapes], axis=1)


def _matches(passage, question):
    ids = np.isin(passage.ids, question.ids)
    words, stems = set(question.words) - {NO_WORD}, set(question.stems) - {NO_WORD}
    same = [word in words for word in passage.words], [stem in stems for stem in passage.stems]
    return np.stack([ids, *same], axis=1).astype(np.float32)


def _of_sentences(passage, cosines, text):
    """Of each piece the cosine of its sentence, how far it is from the best, and whether it is the best."""
    starts = np.array([start for start, _ in text.sentences])
    # A piece may begin with the blank before its sentence.
    rows = np.clip(np.searchsorted(starts, passage.places[:, 0] + 1, side="right") - 1, 0, len(starts) - 1)
    far = cosines - cosines.max()
    return np.stack([COSINE * cosines, DISTANCE * far, far == 0], axis=1)[rows].astype(np.float32)
