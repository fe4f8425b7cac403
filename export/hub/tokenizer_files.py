"""The files of a tokenizer beside an ONNX model, as FastEmbed reads them: bos, pieces, eos, cut at the longest text."""

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
# Ids of a text where any number is taken: a number has to be there.
ANY = 2**31 - 1


def write_tokenizer_files(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the files of a tokenizer into a folder, spellings with ids of their own; its prompts stand in a file alone.

    Raises `ExportError` for a tokenizer that they have no place for.
    """
    names = [piece.piece for piece in whole_proto(tokenizer).pieces]
    settings = tokenizer_config(tokenizer, tokenizer.reading.longest or ANY)
    write_content(folder / FILE, _content(tokenizer))
    write_content(folder / SETTINGS, settings)
    write_content(folder / CONFIG, {"pad_token_id": names.index(settings["pad_token"])})
    # Versions before 0.9 want the file; a text in which a special piece is named is cut as any other.
    write_content(folder / "special_tokens_map.json", {})
    if content := tokenizer.reading.content():
        (folder / READING).write_bytes(content)


def _content(tokenizer: Tokenizer) -> dict[str, Json]:
    proto = whole_proto(tokenizer)
    if tokenizer.reading.wordpiece or proto.trainer_spec.model_type != UNIGRAM:
        return plain_tokenizer_json(tokenizer)
    if tokenizer.spellings is not None and tokenizer.reading.longest:
        raise ExportError(
            f"{tokenizer.source}: it cuts a long text behind its spellings, which a tokenizer.json cannot; export it "
            "with --without-spellings"
        )
    content = tokenizer_json(tokenizer, template=True)
    if proto.normalizer_spec.precompiled_charsmap:
        # The package's own map of characters leaves letters and their marks apart.
        content["normalizer"]["normalizers"].insert(0, {"type": "NFC"})
    return content
