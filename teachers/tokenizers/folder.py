"""Convert the tokenizer in a folder of Hugging Face or Sentence-Transformers, whichever file it is in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...encoders.tokenizer import Tokenizer
from ...errors import EncoderError, InputError, first_line
from ...system.reading import read_json
from ...system.types import File, Json
from .bert import convert_vocabulary, convert_wordpiece
from .merges import convert_bpe
from .reading import SETTINGS_FILE, read_folder_reading
from .unigram import convert_fairseq, convert_unigram

if TYPE_CHECKING:
    from ...export.encode import Reading

MODULES, JSON, FAIRSEQ, VOCABULARY = "modules.json", "tokenizer.json", "sentencepiece.bpe.model", "vocab.txt"
MERGES = "merges.txt"
MODELS: dict[str, Callable[[Json, str, Reading], Tokenizer]] = {
    "Unigram": convert_unigram,
    "WordPiece": convert_wordpiece,
    "BPE": convert_bpe,
}


def convert_tokenizer(folder: File, positions: int | None = None) -> Tokenizer:
    """Convert the tokenizer in a model's folder, with its ids, its prompts and its maximum length.

    It is read from `tokenizer.json`, or else `sentencepiece.bpe.model`, or else `vocab.txt`. Names of special tokens in
    a text are read as text.

    Args:
        folder: The folder.
        positions: The number of positions of the model.

    Returns:
        The tokenizer.

    Raises:
        EncoderError: If there is none, or it cannot be converted to SentencePiece's or BERT's tokens.
    """
    folder = Path(folder)
    inner = _find_inner(folder)
    try:
        return _convert(inner, read_folder_reading(folder, inner, positions))
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise EncoderError(
            f"{inner}: its tokenizer is not as expected: {_format_error(error)}; save the model again"
        ) from error


def _convert(folder: Path, reading: Reading) -> Tokenizer:
    if (folder / JSON).is_file():
        return _convert_json(folder / JSON, reading)
    if (folder / FAIRSEQ).is_file():
        return convert_fairseq(folder / FAIRSEQ, reading)
    if (folder / VOCABULARY).is_file() and not (folder / MERGES).is_file():
        settings = read_json(folder / SETTINGS_FILE) if (folder / SETTINGS_FILE).is_file() else {}
        return convert_vocabulary(folder / VOCABULARY, settings, reading)
    raise EncoderError(f"{folder}: no tokenizer; expected {JSON}, {FAIRSEQ} of XLM-R or {VOCABULARY} of BERT")


def _convert_json(path: Path, reading: Reading) -> Tokenizer:
    content = read_json(path)
    kind = content["model"].get("type") or ("BPE" if "merges" in content["model"] else None)
    if kind not in MODELS:
        raise EncoderError(f"{path}: its model is {kind}; expected {', '.join(MODELS)}")
    return MODELS[kind](content, str(path), reading)


def _find_inner(folder: Path) -> Path:
    """Return the folder of the Transformer module in Sentence-Transformers; otherwise the folder itself."""
    if not (folder / MODULES).is_file():
        return folder
    modules = read_json(folder / MODULES)
    paths = [one.get("path") or "" for one in modules if str(one.get("type")).endswith(".Transformer")]
    return folder / paths[0] if paths else folder


def _format_error(error):
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) and error.args else first_line(error)
