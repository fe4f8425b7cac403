"""The encoder that is served: roles and numbers of pieces."""

import pytest

from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import Tokenizer
from distill.export.encode import Reading
from distill.export.formats.format import load_artefact
from distill.search_engine.serving.collection import ServedEncoder

READING = Reading({"question": "query: ", "document": "a passage: "})


@pytest.fixture
def kept(slim):
    return KerasEncoder(slim.model, Tokenizer(slim.tokenizer.proto, reading=READING))


@pytest.fixture
def shipped(tiny_bundle):
    bundle = load_artefact(tiny_bundle)
    bundle.reading = READING
    return bundle


@pytest.mark.parametrize("kind", ["kept", "shipped"])
def test_prompts_make_the_roles_two_and_count_as_pieces(kind, request, tokenizer):
    one = ServedEncoder(request.getfixturevalue(kind), "one")
    assert one.has_roles
    for role, prompt in READING.prompts.items():
        pieces = one.vectors(["the Nile", "Kairo"], role).pieces
        assert pieces.tolist() == [len(ids) for ids in tokenizer.encode([f"{prompt}the Nile", f"{prompt}Kairo"])]
