"""Read the tokenizer in a folder of Hugging Face or Sentence-Transformers, whichever file it is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ...encoders.library_tokenizer import LibraryTokenizer, require_same_ids
from ...encoders.tokenizer import Tokenizer
from ...errors import EncoderError, InputError, first_line
from ...system.input_files import read_json
from ...system.types import File, Json
from .bert import convert_wordpiece, read_rules, read_vocabulary
from .classes import apply_class, find_class, lower_first
from .merges import convert_bpe
from .reading import SETTINGS_FILE, find_sentence_file, read_folder_reading, read_settings, read_tokenizer_settings
from .settings import read_truncation, require_readable
from .unigram import convert_unigram, read_fairseq

if TYPE_CHECKING:
    from ...export.encode import Reading

MODULES, JSON, FAIRSEQ, VOCABULARY = "modules.json", "tokenizer.json", "sentencepiece.bpe.model", "vocab.txt"
CONFIG, MERGES = "config.json", "merges.txt"
# Files that are not of the package tokenizers belong to one class.
FILE_CLASSES = {FAIRSEQ: "XLMRobertaTokenizer", VOCABULARY: "BertTokenizer"}
MODELS: dict[str, Callable[[Json, str, Reading], Tokenizer]] = {
    "Unigram": convert_unigram,
    "WordPiece": convert_wordpiece,
    "BPE": convert_bpe,
}


def load_tokenizer(
    folder: File, positions: int | None = None, texts: Callable[[], Sequence[str]] = tuple
) -> LibraryTokenizer:
    """Load the tokenizer in a model's folder, with its prompts and its maximum length, as transformers reads it.

    It is read from `tokenizer.json`, or else `sentencepiece.bpe.model`, or else `vocab.txt`, by the package tokenizers.
    `texts` returns the texts that distill's own pieces have to read alike, where these are asked for. Raises
    `InputError` if the package is not installed; and `EncoderError` if there is no tokenizer, or a setting that is not
    honoured.
    """
    folder = Path(folder)
    inner = find_inner(folder)
    with _naming(inner):
        source, content, reading = _read(folder, inner, positions)
        library = LibraryTokenizer(content, reading, source, lambda: _convert_same(library, texts()))
        require_readable(inner, read_settings(inner / JSON) or content, library)
    return library


def convert_tokenizer(folder: File, positions: int | None = None) -> Tokenizer:
    """Convert the tokenizer in a model's folder, with its ids, its prompts and its maximum length.

    Names of special tokens in a text are read as text. Raises `EncoderError` if there is none, or it cannot be
    converted to SentencePiece's or BERT's tokens.
    """
    folder = Path(folder)
    inner = find_inner(folder)
    with _naming(inner):
        source, content, reading = _read(folder, inner, positions)
        return _convert(content, source, reading)


def find_inner(folder: Path) -> Path:
    """Return the folder of the Transformer module in Sentence-Transformers; otherwise the folder itself."""
    if not (folder / MODULES).is_file():
        return folder
    modules = read_json(folder / MODULES)
    if not isinstance(modules, list) or not all(
        isinstance(one, dict) and isinstance(one.get("path") or "", str) for one in modules
    ):
        raise EncoderError(f"{folder / MODULES}: expected a list of modules, each with its path; save the model again")
    paths = [one.get("path") or "" for one in modules if str(one.get("type")).endswith(".Transformer")]
    return folder / paths[0] if paths else folder


@contextmanager
def _naming(folder: Path) -> Iterator[None]:
    """Name the folder in the error for a file that is not as expected."""
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise EncoderError(
            f"{folder}: its tokenizer is not as expected: {_format_error(error)}; save the model again"
        ) from error


def _read(folder: Path, inner: Path, positions: int | None) -> tuple[str, Json, Reading]:
    """Return the file of the tokenizer, its content as transformers runs it, and the reading."""
    settings, config = read_tokenizer_settings(inner), read_settings(inner / CONFIG)
    path, content = _read_file(inner, settings)
    try:
        name = find_class(settings, config) if path.name == JSON else FILE_CLASSES[path.name]
        content = apply_class(name, content, settings, config.get("vocab_size"))
    except EncoderError as error:
        raise EncoderError(f"{inner / SETTINGS_FILE}: {error}") from error
    content = lower_first(content) if read_settings(find_sentence_file(inner)).get("do_lower_case") else content
    content = {**content, "padding": None, "truncation": read_truncation(content, settings)}
    reading = read_folder_reading(folder, inner, positions)
    return str(path), content, reading._replace(wordpiece=read_rules(content))


def _read_file(folder: Path, settings: Mapping[str, Json]) -> tuple[Path, Json]:
    """Return the file of the tokenizer, and its content or what a `tokenizer.json` of it would hold."""
    if (folder / JSON).is_file():
        return folder / JSON, read_json(folder / JSON)
    if (folder / FAIRSEQ).is_file():
        return folder / FAIRSEQ, read_fairseq(folder / FAIRSEQ)
    if (folder / VOCABULARY).is_file() and not (folder / MERGES).is_file():
        return folder / VOCABULARY, read_vocabulary(folder / VOCABULARY, settings)
    raise EncoderError(f"{folder}: no tokenizer; expected {JSON}, {FAIRSEQ} of XLM-R or {VOCABULARY} of BERT")


def _convert(content: Json, source: str, reading: Reading) -> Tokenizer:
    kind = content["model"].get("type") or ("BPE" if "merges" in content["model"] else None)
    if kind not in MODELS:
        raise EncoderError(f"{source}: its model is {kind}; expected {', '.join(MODELS)}")
    return MODELS[kind](content, source, reading)


def _convert_same(library: LibraryTokenizer, texts: Sequence[str]) -> bytes:
    """Return distill's own pieces with the ids of a library's tokenizer, compared on texts."""
    if library.cuts_left:
        raise EncoderError(f"{library.source}: truncation_side is left, which distill's own pieces do not know")
    with _naming(Path(library.source)):
        tokenizer = _convert(library.content, library.source, library.reading)
    require_same_ids(library, tokenizer, texts)
    return tokenizer.proto


def _format_error(error):
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) and error.args else first_line(error)
