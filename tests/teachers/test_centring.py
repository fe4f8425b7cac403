import numpy as np
import pytest
from fixtures.vectors import unit

from distill.errors import DataError, EncoderError
from distill.teachers.centring import CentredEncoder, centre_encoder, is_teacher, read_teacher, save_teacher


class Lengths:
    """Vectors `(length, number of words, 1)` at unit length, negative of documents: by hand."""

    name, dimension = "lengths", 3

    def encode(self, texts, role="question", progress=None, contexts=None):
        if progress:
            progress(len(texts))
        rows = np.array([[len(text), len(text.split()), 1 + bool(contexts)] for text in texts], dtype=np.float32)
        return unit(rows) * (-1 if role == "document" else 1)


QUESTIONS, DOCUMENTS = ["a", "a bb ccc"], ["dddd", "ee ff", "g"]


@pytest.fixture
def encoder():
    return centre_encoder(Lengths(), QUESTIONS, DOCUMENTS)


def test_a_vector_loses_its_roles_mean_and_has_unit_length_and_progress_and_contexts_reach_the_encoder(encoder):
    questions = unit(np.array([[1, 1, 1], [8, 3, 1]]))
    documents = -unit(np.array([[4, 1, 1], [5, 2, 1], [1, 1, 1]]))
    question, others = encoder.encode(["a"]), encoder.encode(["ee ff", "g"], "document")
    np.testing.assert_allclose(question, unit(questions[:1] - questions.mean(axis=0)), atol=1e-5)
    np.testing.assert_allclose(others, unit(documents[1:] - documents.mean(axis=0)), atol=1e-5)
    assert question.dtype == np.float32 and (encoder.name, encoder.dimension) == ("lengths, centred", 3)
    steps = []
    encoder.encode(["a", "b"], "document", steps.append)
    assert steps == [2] and not encoder.takes_context
    plain, other = (encoder.encode(["a b"], "document", **extra) for extra in ({}, {"contexts": ["c"]}))
    assert np.abs(plain - other).max() > 0.01


def test_a_teacher_that_is_saved_has_its_means_one_that_is_not_centred_none(encoder, tmp_path):
    save_teacher(tmp_path / "teacher", encoder, "e5", "abc")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["teacher"] and is_teacher(tmp_path / "teacher")
    card, means = read_teacher(tmp_path / "teacher")
    named = {"name": "lengths, centred", "source": "e5", "dimension": 3, "fingerprint": "abc", "centred": True}
    assert named.items() <= card.items()
    again = CentredEncoder(Lengths(), means)
    for role, texts in (("question", QUESTIONS), ("document", DOCUMENTS)):
        np.testing.assert_array_equal(again.encode(texts, role), encoder.encode(texts, role))
    save_teacher(tmp_path / "plain", Lengths(), "e5", "abc")
    assert [path.name for path in (tmp_path / "plain").iterdir()] == ["teacher.json"]
    card, means = read_teacher(tmp_path / "plain")
    assert (card["name"], card["centred"], means) == ("lengths", False, None)
    assert not is_teacher(tmp_path) and not is_teacher(tmp_path / "nowhere")


MEANS = {"question": np.zeros(3), "document": np.zeros(3)}


@pytest.mark.parametrize(
    "name, content, error",
    [
        ("teacher.json", b"[]", DataError),
        ("teacher.json", b'{"source": "e5"}', DataError),
        ("means.npz", None, EncoderError),
        ("means.npz", b"PK no archive", EncoderError),
        ("means.npz", {**MEANS, "question": np.zeros(4)}, EncoderError),
        ("means.npz", {**MEANS, "document": np.full(3, np.nan)}, EncoderError),
        ("means.npz", {**MEANS, "document": np.array(["a", "b", "c"])}, EncoderError),
        ("means.npz", {"question": np.zeros(3)}, EncoderError),
    ],
)
def test_a_broken_folder_is_refused(encoder, tmp_path, name, content, error):
    save_teacher(tmp_path / "teacher", encoder, "e5", "abc")
    path = tmp_path / "teacher" / name
    path.unlink()
    if isinstance(content, dict):
        np.savez(path, **content)
    elif content:
        path.write_bytes(content)
    with pytest.raises(error, match=name):
        read_teacher(tmp_path / "teacher")
