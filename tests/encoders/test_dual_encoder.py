import numpy as np
import pytest

from distill.encoders.catalog.identity import fingerprint, locate_encoder
from distill.encoders.catalog.kinds import require_trainable
from distill.encoders.catalog.loading import combine_encoders, load_encoder, load_teacher
from distill.encoders.dual_encoder import AsymmetricEncoder, DualEncoder, count_parameters, is_dual
from distill.encoders.encoder import KerasEncoder, calibrations_of, passage_weight_of
from distill.errors import EncoderError


class Fixed:
    def __init__(self, name, value, dimension=2, context=False):
        self.name, self.value, self.dimension, self.takes_context = name, value, dimension, context

    def encode(self, texts, role="question", progress=None, **extra):
        return np.full((len(texts), self.dimension), self.value + 10 * len(extra), dtype=np.float32)


def test_questions_and_documents_are_encoded_by_their_own_of_one_space():
    both = AsymmetricEncoder(Fixed("small", 1), Fixed("large", 2))
    assert (both.name, both.dimension, both.takes_context) == ("small, documents by large", 2, False)
    np.testing.assert_array_equal(both.encode(["a", "b"]), [[1, 1], [1, 1]])
    np.testing.assert_array_equal(both.encode(["a"], "document"), [[2, 2]])
    both = AsymmetricEncoder(Fixed("small", 1), Fixed("large", 2, context=True))
    assert both.takes_context
    np.testing.assert_array_equal(both.encode(["a"], "document", contexts=["b"]), [[12, 12]])
    with pytest.raises(EncoderError, match="large .*3 .*small 2"):
        AsymmetricEncoder(Fixed("small", 1), Fixed("large", 2, dimension=3))


def test_a_pair_weighs_a_passage_as_an_index_of_its_documents_does():
    asking, strong = Fixed("small", 1), Fixed("large", 2)
    assert passage_weight_of(AsymmetricEncoder(asking, strong)) == 1
    asking.passage_weight, strong.passage_weight = 0.5, 0.7
    assert passage_weight_of(AsymmetricEncoder(asking, strong)) == 0.7
    # How likely an answer is says the encoder that asks.
    asking.calibrations, strong.calibrations = {"sum": 1}, {"sum": 2}
    assert calibrations_of(AsymmetricEncoder(asking, strong)) == {"sum": 1}


def test_without_another_an_encoder_is_itself(tiny_folder):
    alone = Fixed("small", 1)
    assert combine_encoders(alone, None) is alone
    both = combine_encoders(Fixed("small", 1, dimension=16), tiny_folder)
    assert both.document.dimension == 16


@pytest.fixture(scope="module")
def parts(tiny_folder, randomised):
    question, document = (KerasEncoder.load(tiny_folder) for _ in range(2))
    return question, KerasEncoder(randomised(document.model), document.tokenizer, "document")


@pytest.fixture(scope="module")
def folder(parts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dual") / "encoder"
    DualEncoder(*parts, "two").save(folder)
    return folder


@pytest.mark.parametrize("load", [load_encoder, load_teacher])
def test_it_loads_by_its_folder_with_a_part_a_role(load, folder, parts):
    both = load(str(folder))
    assert (both.name, both.dimension, is_dual(folder), is_dual(folder / "question")) == ("two", 16, True, False)
    question, document = (part.encode(["Where?", "Here."]) for part in parts)
    np.testing.assert_allclose(both.encode(["Where?", "Here."], "question"), question, atol=1e-6)
    np.testing.assert_allclose(both.encode(["Where?", "Here."], "document"), document, atol=1e-6)
    assert np.abs(question - document).max() > 0.01


def test_it_counts_both_cannot_be_trained_and_is_known_by_its_files(folder, parts, tmp_path):
    one = sum(weight.size for weight in parts[0].model.get_weights())
    assert count_parameters(parts[0]) == {"parameters": one, "bytes": 4 * one}
    assert count_parameters(load_encoder(str(folder))) == {"parameters": 2 * one, "bytes": 8 * one}
    with pytest.raises(EncoderError, match=f"{folder}: a dual encoder"):
        require_trainable(str(folder))
    assert locate_encoder(str(folder)) == str(folder)
    DualEncoder(*reversed(parts), "two").save(tmp_path / "other")
    prints = [fingerprint(str(one), load_encoder(str(one))) for one in (folder, tmp_path / "other")]
    assert prints[0] != prints[1]


def test_parts_of_two_dimensions_are_refused(parts):
    class Other:
        name, dimension = "other", 8

    with pytest.raises(EncoderError, match="8 .*16"):
        DualEncoder(parts[0], Other())
    assert issubclass(DualEncoder, AsymmetricEncoder)
