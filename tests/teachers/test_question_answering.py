from importlib.util import find_spec

import numpy as np
import pytest

from distill.errors import EncoderError
from distill.teachers.question_answering import QuestionAnswerer, find_best_span

TRANSFORMERS = find_spec("torch") is not None and find_spec("transformers") is not None


def test_the_best_span_lies_in_the_passage_and_is_told_against_the_first_token():
    starts, ends = np.array([1.0, 9, 2, 0, 5]), np.array([0.5, 9, 0, 3, -1])
    places = np.array([[0, 0], [0, 3], [0, 4], [5, 8], [9, 12]])
    # Tokens 2 to 4 are the passage's: 2 + 3 is more than 5 - 1.
    assert find_best_span(starts, ends, places, np.array([2, 3, 4])) == (0, 8, pytest.approx(2 + 3 - 1.5))
    assert find_best_span(starts, ends, places, np.array([], dtype=int))[2] == -np.inf


@pytest.mark.skipif(TRANSFORMERS, reason="transformers is there")
def test_without_transformers_the_reader_is_refused():
    with pytest.raises(EncoderError):
        QuestionAnswerer("some/model")


@pytest.mark.skipif(not TRANSFORMERS, reason="needs torch and transformers")
def test_a_models_answer_is_a_span_of_the_passage_however_long(tmp_path):
    import torch
    from transformers import BertConfig, BertForQuestionAnswering, BertTokenizerFast

    from distill.papers.reading.examples import Example, Text

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "won", "the", "game", "rome"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(words), **sizes, max_position_embeddings=64)
    BertForQuestionAnswering(config).save_pretrained(tmp_path)
    passage = Text("rome won the game " * 40, "en")
    [(start, end, score)] = QuestionAnswerer(str(tmp_path)).spans([Example("a", "en", "who won", passage, None, ())])
    assert 0 <= start < end <= len(passage.text) and np.isfinite(score)
