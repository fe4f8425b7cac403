import numpy as np
import pytest

from distill.asymmetric import AsymmetricEncoder
from distill.dual import DualEncoder, is_dual, parameters
from distill.encoder import KerasEncoder
from distill.errors import EncoderError
from distill.loading import fingerprint, load_encoder, load_teacher, place, require_keras


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
    found = load(str(folder))
    assert (found.name, found.dimension, is_dual(folder), is_dual(folder / "question")) == ("two", 16, True, False)
    question, document = (part.encode(["Where?", "Here."]) for part in parts)
    np.testing.assert_allclose(found.encode(["Where?", "Here."], "question"), question, atol=1e-6)
    np.testing.assert_allclose(found.encode(["Where?", "Here."], "document"), document, atol=1e-6)
    assert np.abs(question - document).max() > 0.01


def test_it_counts_both(parts, folder):
    one = sum(weight.size for weight in parts[0].model.get_weights())
    assert parameters(parts[0]) == {"parameters": one, "bytes": 4 * one}
    assert parameters(load_encoder(str(folder))) == {"parameters": 2 * one, "bytes": 8 * one}


def test_it_cannot_be_trained_and_says_so(folder):
    with pytest.raises(EncoderError, match="a dual encoder can be measured, searched with and teach"):
        require_keras(str(folder))


def test_it_is_known_by_its_files(folder, parts, tmp_path):
    before = fingerprint(str(folder), load_encoder(str(folder)))
    assert place(str(folder)) == str(folder)
    DualEncoder(*reversed(parts), "two").save(tmp_path / "other")
    assert fingerprint(str(tmp_path / "other"), load_encoder(str(tmp_path / "other"))) != before


def test_parts_of_two_dimensions_are_refused(parts):
    class Other:
        name, dimension = "other", 8

    with pytest.raises(EncoderError, match="8 dimensions and questions of encoder 16|have 8 dimensions"):
        DualEncoder(parts[0], Other())
    assert issubclass(DualEncoder, AsymmetricEncoder)
