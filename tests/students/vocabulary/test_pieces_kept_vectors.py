"""An encoder of fewer tokens against the one that it was cut from, prompts and all."""

import numpy as np
import pytest
from fixtures.pieces import cut, small_encoder, tokenizer_of

from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import Tokenizer
from distill.errors import EncoderError
from distill.export.encode import Reading
from distill.students.vocabulary.pieces import (
    count_tokens,
    find_prompt_tokens,
    prune_encoder,
    prune_tokenizer,
    replace_tokenizer,
    require_kept_vectors,
)
from distill.students.vocabulary.pruning import Line, PieceRule, prune

PROMPTS = {"question": "represent this: ", "document": "ask text: "}
TEXTS = [f"the ferry number {n} leaves the harbour" for n in range(12)]
LINES = [Line("en", text, "corpus", place) for place, text in enumerate(TEXTS)]


@pytest.fixture
def prompted(tokenizer):
    return small_encoder(Tokenizer(tokenizer.proto, reading=Reading(PROMPTS)))


@pytest.mark.parametrize("rule", [PieceRule(), PieceRule(least=12), PieceRule(most=600, written=True)])
def test_the_prompts_tokens_stay_under_any_rule(prompted, tokenizer, rule):
    smaller, report = prune(prompted, LINES, [], rule)
    kept = {piece for text in TEXTS for piece in cut(smaller.tokenizer, [text])[0]}
    for role, prompt in PROMPTS.items():
        # SentencePiece itself cuts the prompts as before.
        assert cut(smaller.tokenizer, [prompt]) == cut(tokenizer, [prompt])
        if rule == PieceRule():
            np.testing.assert_array_equal(smaller.encode(TEXTS, role), prompted.encode(TEXTS, role))
            assert report["cosine"]["en"][role] == pytest.approx(1, abs=1e-6)
    assert kept and (not rule.most or len(smaller.tokenizer) <= rule.most)


def test_the_prompts_alone_do_not_count_as_use(prompted, tokenizer):
    plain = count_tokens(tokenizer, TEXTS)
    np.testing.assert_array_equal(count_tokens(prompted.tokenizer, TEXTS), plain)
    assert find_prompt_tokens(tokenizer) == set()
    wanted = {id for prompt in PROMPTS.values() for id in tokenizer.encode([prompt])[0][1:-1]}
    assert find_prompt_tokens(prompted.tokenizer) == wanted


def test_what_a_prompt_without_a_blank_joins_is_used():
    pieces = [("a", -3), ("b", -3), (":", -3), ("\u2581", -3), ("\u2581ab", -1), ("ab", -1), ("q", -3)]
    joined = tokenizer_of(*pieces, prefix=True)
    joined = Tokenizer(joined.proto, reading=Reading({"question": "q:"}))
    assert cut(joined, ["ab", "q:ab"]) == [["\u2581ab"], ["\u2581", "q", ":", "ab"]]
    counts = dict(zip(range(3, 10), count_tokens(joined, ["ab", "ab"])[3:].tolist(), strict=True))
    assert counts == {3: 0, 4: 0, 5: 0, 6: 0, 7: 2, 8: 2, 9: 0}


def test_a_cut_that_changes_a_prompt_is_refused(prompted, tokenizer):
    used = {id for row in tokenizer.encode(TEXTS) for id in row}
    told = require_kept_vectors(prompted, prune_encoder(prompted, used), TEXTS)
    assert told == {role: pytest.approx(1, abs=1e-6) for role in PROMPTS}
    # Cut by a tokenizer that knows of no prompts, and read with them.
    cut_blindly, old_ids = prune_tokenizer(tokenizer, used)
    blind = replace_tokenizer(prompted, Tokenizer(cut_blindly.proto, reading=Reading(PROMPTS)), old_ids)
    with pytest.raises(EncoderError, match="cosine"):
        require_kept_vectors(prompted, blind, TEXTS)


def test_a_text_that_loses_tokens_is_no_error_and_its_cosine_is_told(tokenizer):
    whole = small_encoder(tokenizer)
    lost = prune_encoder(whole, [])
    told = require_kept_vectors(whole, lost, TEXTS)
    by_hand = np.sum(whole.encode(TEXTS) * lost.encode(TEXTS), axis=1).min()
    assert told == {role: pytest.approx(by_hand, abs=1e-6) for role in PROMPTS}
    assert isinstance(lost, KerasEncoder) and by_hand < 0.999
