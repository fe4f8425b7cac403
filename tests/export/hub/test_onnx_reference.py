import json

import pytest
from fixtures.pieces import spelled_tokenizer

from distill.encoders.tokenizer import Tokenizer
from distill.errors import ExportError
from distill.export.encode import Reading
from distill.export.hub.onnx_reference import write_tokenizer_files


def test_the_files_say_how_long_a_text_may_be_and_what_fills_a_batch(tokenizer, tmp_path):
    write_tokenizer_files(Tokenizer(tokenizer.proto, reading=Reading({"question": "q: "}, 30)), tmp_path)
    files = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()}
    assert files["tokenizer_config.json"]["model_max_length"] == 30
    assert files["config.json"] == {"pad_token_id": tokenizer.unknown} and files["special_tokens_map.json"] == {}
    assert files["reading.json"] == {"prompts": {"question": "q: "}, "longest": 30}


def test_spellings_of_an_encoder_that_cuts_long_texts_have_no_place(tokenizer, tmp_path):
    spelled = spelled_tokenizer(tokenizer, _teh_nyl="the Nile")
    both = Tokenizer(spelled.proto, "both", spelled.spellings, Reading(longest=30))
    with pytest.raises(ExportError, match="--without-spellings"):
        write_tokenizer_files(both, tmp_path)
