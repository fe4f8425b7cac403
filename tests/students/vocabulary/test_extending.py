import numpy as np
import pytest
from fixtures.pieces import small_encoder, trained_tokenizer

from distill.errors import InputError
from distill.students.vocabulary.extending import extend
from distill.students.vocabulary.new_pieces import extended, mean_rows, trained_pieces
from distill.students.vocabulary.pruning import corpus_lines, split_off
from distill.students.vocabulary.transplant import transplant

OLD, NEW = ("de", "en"), ("el", "hi")


@pytest.fixture(scope="module")
def base(texts_by_language):
    """An encoder whose model never saw Greek or Hindi."""
    texts = [text for language in OLD for text in texts_by_language[language]]
    return small_encoder(trained_tokenizer(texts, vocab_size=700))


@pytest.fixture(scope="module")
def texts(texts_by_language):
    return tuple({name: texts_by_language[name] for name in names} for names in (NEW, OLD))


@pytest.fixture(scope="module")
def done(base, texts):
    return extend(base, *texts, 400, seed=3)


@pytest.fixture(scope="module")
def expected(base, texts):
    """The tokenizer made step by step, and the same of nine tenths."""
    lines = corpus_lines({**texts[0], **texts[1]})
    rest, tenth = split_off(lines, 3)

    def make(lines):
        learned = trained_pieces([line.text for line in lines if line.language in NEW], 400, base.tokenizer)
        return extended(base.tokenizer, learned, [line.text for line in lines if line.language in OLD])[0]

    return make(lines), make(rest), tenth


def test_pieces_rows_bytes_and_figures_are_of_the_new_and_old_languages(done, expected, texts, base):
    larger, report = done
    assert larger.tokenizer.proto == expected[0].proto
    assert report["rows"] == [700, len(larger.tokenizer)] and report["learned"] == 400
    assert (set(report["new"]), set(report["kept"])) == (set(NEW), set(OLD))
    assert [row["changed"] for row in report["kept"].values()] == [0, 0]
    table = larger.model.get_layer("embedding").get_weights()[0]
    np.testing.assert_array_equal(table[700:], mean_rows(base, larger.tokenizer))
    assert (report["aligner"], report["nearest"]) == (None, {})
    protos = len(larger.tokenizer.proto) - len(base.tokenizer.proto)
    assert report["bytes"][1] - report["bytes"][0] == (len(larger.tokenizer) - 700) * 8 * 4 + protos
    for language, lines in texts[0].items():
        rows = [one.tokenizer.encode(lines) for one in (base, larger)]
        pieces = [sum(len(ids) - 2 for ids in part) for part in rows]
        unknown = [sum(ids.count(0) for ids in part) / count for part, count in zip(rows, pieces, strict=True)]
        words = sum(len(text.split()) for text in lines)
        assert report["new"][language]["unk"] == unknown and unknown[0] > 0.2 > 0.02 > unknown[1]
        assert report["new"][language]["fertility"] == [count / words for count in pieces]


def test_unseen_text_is_measured_under_a_vocabulary_that_did_not_see_it(base, done, expected):
    full, trial, tenth = expected
    for language in (*NEW, *OLD):
        unseen = [line.text for line in tenth if line.language == language]
        words = sum(len(text.split()) for text in unseen)
        before, after, seen = (
            sum(len(ids) - 2 for ids in one.encode(unseen)) / words for one in (base.tokenizer, trial, full)
        )
        row = done[1]["unseen"][language]
        assert row["texts"] == len(unseen) == 19
        assert row["fertility"] == [before, after]
        assert (after != seen) == (language in NEW)
    assert done[1]["seed"] == 3


class Aligner:
    """A vector a text that depends on its letters alone."""

    name, dimension = "letters", 6

    def encode(self, texts, role="question", progress=None):
        return np.array([np.bincount([ord(sign) % 6 for sign in text], minlength=6) for text in texts], np.float32)


def test_an_aligner_makes_the_rows_and_shows_its_anchors(base, done, texts):
    larger, report = extend(base, *texts, 400, Aligner(), seed=3)
    moved = transplant(base, done[0].tokenizer, Aligner())
    np.testing.assert_array_equal(larger.model.get_layer("embedding").get_weights()[0][700:], moved.rows)
    assert report["aligner"] == "letters" and len(report["nearest"]) == 12
    assert {len(anchors) for anchors in report["nearest"].values()} == {3}


def test_nothing_has_to_be_kept_but_a_language_cannot_be_both(base, texts):
    _, report = extend(base, texts[0], {}, 400)
    assert report["kept"] == {} and set(report["unseen"]) == set(NEW)
    with pytest.raises(InputError, match="hi: "):
        extend(base, {"el": ["α"], "hi": ["क"]}, {"hi": ["क"], "de": ["a"]}, 400)
