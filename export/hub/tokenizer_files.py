"""Write the tokenizer files beside an ONNX model as FastEmbed reads them, with bos and eos and a maximum length."""

from __future__ import annotations

from pathlib import Path

from ...encoders.tokenizer import Tokenizer, whole_proto
from ...errors import ExportError
from ...system.types import Json
from ..encode import READING
from .modules import CONFIG, write_content
from .plain_tokenizer import plain_tokenizer_json, tokenizer_config
from .tokenizer_json import FILE, UNIGRAM, tokenizer_json

SETTINGS = "tokenizer_config.json"
LONGEST = "model_max_length"
# The maximum length of texts of any length, because the file needs a number.
ANY = 2**31 - 1


def write_tokenizer_files(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the files of a tokenizer; spellings get ids of their own, and prompts a file of their own.

    Raises:
        ExportError: If the files cannot represent the tokenizer.
    """
    names = [piece.piece for piece in whole_proto(tokenizer).pieces]
    settings = tokenizer_config(tokenizer, tokenizer.reading.longest or ANY)
    write_content(folder / FILE, _content(tokenizer))
    write_content(folder / SETTINGS, settings)
    write_content(folder / CONFIG, {"pad_token_id": names.index(settings["pad_token"])})
    # Versions before 0.9 need the file. It is empty, so that the name of a special token is tokenized like any text.
    write_content(folder / "special_tokens_map.json", {})
    if content := tokenizer.reading.content():
        (folder / READING).write_bytes(content)


def _content(tokenizer: Tokenizer) -> dict[str, Json]:
    proto = whole_proto(tokenizer)
    if tokenizer.reading.wordpiece or proto.trainer_spec.model_type != UNIGRAM:
        return plain_tokenizer_json(tokenizer)
    if tokenizer.spellings is not None and tokenizer.reading.longest:
        raise ExportError(
            f"{tokenizer.source}: it truncates texts behind spellings, which a tokenizer.json cannot; export it "
            "with --without-spellings"
        )
    content = tokenizer_json(tokenizer, template=True)
    if proto.normalizer_spec.precompiled_charsmap:
        # The package's own map of characters does not compose letters with their marks.
        content["normalizer"]["normalizers"].insert(0, {"type": "NFC"})
    return content
