import numpy as np
import pytest

from distill.encoders.tokenizer import model_proto
from distill.students import ngram  # noqa: F401  registers the layers
from distill.students.shape import Shape
from distill.students.vocabulary.vocabularies import NEW, Additions, Vocabularies

GEORGIAN = ["სად იწყება მდინარე ნილოსი?", "სად მთავრდება დუნაი?", "სად იწყება დუნაი?", "ნილოსი სად მთავრდება?"]


@pytest.mark.parametrize("aligned", [False, True])
def test_a_static_student_has_its_new_pieces_as_the_aligner_made_them(tiny, sample, aligned):
    corpus = {"de": 5 * GEORGIAN}
    words = Vocabularies(tiny, sample, ("en", "de"), corpus, ["de"], Additions(120), tiny if aligned else None)
    encoder = words.vocabulary("all" + NEW)
    # Without rows of its own a piece is what the old ones, here letters or unknown, say of it.
    plain = Vocabularies(tiny, sample, ("en", "de"), corpus, ["de"], Additions(120))
    students = [one.start(encoder, Shape(static=True, rank=4, hidden=4)) for one in (words, plain)]
    tables = [one.model.get_layer("embedding").get_weights()[0] for one in students]
    pieces = [id for id, piece in enumerate(model_proto(encoder.tokenizer).pieces) if piece.type == piece.NORMAL]
    assert len(tables[0]) > len(tiny.tokenizer) + 5
    assert np.allclose(*tables) != aligned
    # New pieces do not stand behind the others: the most used are the first.
    shares = np.zeros(len(encoder.tokenizer))
    for texts in words.by_language.values():
        ids = [id for row in encoder.tokenizer.encode(texts) for id in row[1:-1]]
        shares += np.bincount(ids, minlength=len(shares)) / len(ids)
    assert np.all(np.diff(shares[pieces]) <= 1e-12)


def test_rare_pieces_are_aligned_where_they_stay_and_new_ones_once(tiny, sample):
    corpus = {"de": 5 * GEORGIAN}
    tables = []
    for below in (0, 2, 10**9):
        words = Vocabularies(tiny, sample, ("en", "de"), corpus, ["de"], Additions(120), tiny, below)
        encoder = words.vocabulary("used" + NEW)
        tables.append(encoder.model.get_layer("embedding").get_weights()[0])
    new = {piece.piece for piece in model_proto(words.larger.tokenizer).pieces[len(tiny.tokenizer) :]}
    counts = np.bincount(np.concatenate(encoder.tokenizer.encode(words.texts)), minlength=len(encoder.tokenizer))
    changed = [(tables[0] != table).any(axis=1) for table in tables[1:]]
    assert 0 < changed[0].sum() < changed[1].sum()
    assert counts[changed[0]].max() < 2 <= counts[changed[1]].max()
    pieces = [piece.piece for piece in model_proto(encoder.tokenizer).pieces]
    assert not new & {piece for piece, moved in zip(pieces, changed[1], strict=True) if moved}
