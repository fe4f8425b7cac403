"""Features of a passage's tokens with respect to a question: shared words, and the nearest sentence.

Chen et al. (2017), DrQA, section 3.2: exact match in original, lower-case or lemma form. The features of a passage's
best sentence are our addition: an encoder of questions and answers in one space finds it across languages.
"""

from __future__ import annotations

import numpy as np

from ...system.types import Floats
from .examples import Text
from .pieces import NO_WORD, TokenisedText

# The number of features of a token that are matches (token, word, stem), and of all: three more are of its sentence and
# four of its shape.
MATCHES, FEATURES = 3, 10
# Scales of cosines and of their distances from the best, which are small.
COSINE, DISTANCE = 3.0, 5.0


def passage_features(passage: TokenisedText, question: TokenisedText, cosines: Floats, text: Text) -> Floats:
    """Return the features of a passage's tokens.

    Args:
        cosines: Float array `(s,)`, the cosines of the passage's sentences with the question.

    Returns:
        Float32 array `(t, FEATURES)`.
    """
    return np.concatenate([_matches(passage, question), _of_sentences(passage, cosines, text), passage.shapes], axis=1)


def _matches(passage, question):
    ids = np.isin(passage.ids, question.ids)
    words, stems = set(question.words) - {NO_WORD}, set(question.stems) - {NO_WORD}
    same = [word in words for word in passage.words], [stem in stems for stem in passage.stems]
    return np.stack([ids, *same], axis=1).astype(np.float32)


def _of_sentences(passage, cosines, text):
    """Return for each token the cosine of its sentence, its distance from the best, and whether it is the best."""
    starts = np.array([start for start, _ in text.sentences])
    # A token may begin with the blank before its sentence.
    rows = np.clip(np.searchsorted(starts, passage.places[:, 0] + 1, side="right") - 1, 0, len(starts) - 1)
    far = cosines - cosines.max()
    return np.stack([COSINE * cosines, DISTANCE * far, far == 0], axis=1)[rows].astype(np.float32)
