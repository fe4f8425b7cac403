"""Read the tokenizer in a folder of Hugging Face or Sentence-Transformers, whichever file it is in.

What is converted is BERT's WordPiece, unigram models, and BPE as SentencePiece and Gemma have it, in which any two
tokens that form another one merge, the likeliest first.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ...encoders.library_tokenizer import LibraryTokenizer, require_same_ids
from ...encoders.tokenizer import Special, Tokenizer, empty_proto, wordpiece_tokenizer
from ...errors import EncoderError, InputError, first_line
from ...system.input_files import read_json, read_text
from ...system.types import File, Json
from .classes import BERT_NAMES, apply_class, find_class, lower_first, name_special
from .container import Vocabulary, find_ends, find_kinds, list_names
from .reading import SETTINGS_FILE, find_sentence_file, read_folder_reading, read_settings, read_tokenizer_settings
from .settings import read_truncation, require_readable
from .steps import convert_normalizer, make_byte_level_error

if TYPE_CHECKING:
    from ...export.encode import Reading, Rules

MODULES, JSON, FAIRSEQ, VOCABULARY = "modules.json", "tokenizer.json", "sentencepiece.bpe.model", "vocab.txt"
CONFIG, MERGES = "config.json", "merges.txt"
# Files that are not of the package tokenizers belong to one class.
FILE_CLASSES = {FAIRSEQ: "XLMRobertaTokenizer", VOCABULARY: "BertTokenizer"}


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


def convert_wordpiece(content: Json, source: str, reading: Reading) -> Tokenizer:
    """Convert the WordPiece model of a `tokenizer.json`."""
    from ...export.encode import LONGEST_WORD, WITHIN

    model, read = content["model"], content.get("normalizer") or {}
    cut = content.get("pre_tokenizer") or {}
    parts = (read.get("type"), cut.get("type"), model["continuing_subword_prefix"], model["max_input_chars_per_word"])
    if parts != ("BertNormalizer", "BertPreTokenizer", WITHIN, LONGEST_WORD) or not read["clean_text"]:
        raise EncoderError(
            f"{source}: a WordPiece read by {', '.join(map(str, parts))}; expected BERT's: BertNormalizer, which "
            f"cleans text, BertPreTokenizer, {WITHIN}, {LONGEST_WORD}"
        )
    added = content.get("added_tokens") or ()
    if words := [one["content"] for one in added if not one["special"]]:
        raise EncoderError(f"{source}: {words[0]!r} is added to BERT's pieces, which its rules would not find")
    rules = read_rules(content)
    ends = find_ends(content.get("post_processor"), source)
    special = Special(model["unk_token"], ends.bos, ends.eos)
    others = tuple(one["content"] for one in added)
    names = list_names(model["vocab"], added, source)
    return wordpiece_tokenizer(names, reading._replace(wordpiece=rules), special, source, others)


def read_rules(content: Json) -> Rules | None:
    """Return BERT's rules of a WordPiece model in a `tokenizer.json`, or None for one that is read otherwise."""
    from ...export.encode import Rules

    read = content.get("normalizer") or {}
    if content["model"].get("type") != "WordPiece" or read.get("type") != "BertNormalizer":
        return None
    strip = read["lowercase"] if read.get("strip_accents") is None else read["strip_accents"]
    return Rules(read["lowercase"], strip, read["handle_chinese_chars"])


def read_vocabulary(path: Path, settings: Mapping[str, Json]) -> Json:
    """Return what a `tokenizer.json` would hold of a `vocab.txt`: its tokens, before the steps of the class."""
    lines = read_text(path).split("\n")
    pieces = [line.rstrip("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
    needed = [name_special(settings, kind, BERT_NAMES) for kind in ("unk", "cls", "sep")]
    if missing := [str(name) for name in needed if name not in pieces]:
        raise EncoderError(f"{path}: {', '.join(missing)} missing among {len(pieces)} pieces; give BERT's vocab.txt")
    return {"version": "1.0", "model": {"type": "WordPiece", "vocab": {name: id for id, name in enumerate(pieces)}}}


# fairseq's tokens in front of those of the model, from its fourth on; the mask comes behind them.
FIRST, MASK = ("<s>", "<pad>", "</s>", "<unk>"), "<mask>"


def convert_unigram(content: Json, source: str, reading: Reading) -> Tokenizer:
    """Convert the unigram model of a `tokenizer.json`. Raises `EncoderError` if SentencePiece has no counterpart."""
    model, added = content["model"], content.get("added_tokens")
    if model.get("unk_id") is None:
        raise EncoderError(f"{source}: its model has no unknown piece; expected one such as <unk>")
    known, scores = {}, {}
    for id, (name, score) in enumerate(model["vocab"]):
        known.setdefault(name, id)
        scores[id] = float(score)
    names = list_names(known, added, source)
    names += [""] * (len(scores) - len(names))
    unknown = model["vocab"][model["unk_id"]][0]
    pieces = Vocabulary(
        names,
        [scores.get(id, 0.0) for id in range(len(names))],
        "UNIGRAM",
        unknown,
        find_kinds(names, added),
        bool(model.get("byte_fallback")),
    )
    return pieces.tokenizer(
        find_ends(content.get("post_processor"), source), convert_normalizer(content, source), source, reading
    )


def read_fairseq(path: Path) -> Json:
    """Return what a `tokenizer.json` would hold of XLM-R's SentencePiece model, with fairseq's ids."""
    from google.protobuf.message import DecodeError

    proto = empty_proto()
    try:
        proto.ParseFromString(path.read_bytes())
    except (OSError, DecodeError) as error:
        raise EncoderError(f"{path}: not a SentencePiece model; save the model again") from error
    if [piece.piece for piece in proto.pieces[:3]] != ["<unk>", "<s>", "</s>"]:
        raise EncoderError(
            f"{path}: its first pieces are not <unk>, <s> and </s>, as in XLM-R's; give a tokenizer.json"
        )
    rest = [[piece.piece, piece.score] for piece in proto.pieces[3:]]
    names = [*([name, 0.0] for name in FIRST), *rest, [MASK, 0.0]]
    charsmap = base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()
    return {
        "version": "1.0",
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap} if charsmap else None,
        "model": {"type": "Unigram", "unk_id": FIRST.index("<unk>"), "vocab": names, "byte_fallback": False},
    }


PLAIN = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges")
# The blank in GPT-2's spelling of bytes.
BLANK = "\u0120"


def convert_bpe(content: Json, source: str, reading: Reading) -> Tokenizer:
    model, added = content["model"], content.get("added_tokens")
    if any(BLANK in name for name in model["vocab"]) and not model.get("byte_fallback"):
        raise make_byte_level_error(source)
    if options := [name for name in PLAIN if model.get(name)]:
        raise EncoderError(f"{source}: a BPE with {options[0]} {model[options[0]]!r} cannot be a SentencePiece model")
    normalizer = convert_normalizer(content, source)
    names = list_names(model["vocab"], added, source)
    kinds = find_kinds(names, added)
    merges = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in model["merges"]]
    _require_all_merges({name for name in names if name and name not in kinds}, set(merges), source)
    ranks: dict[str, int] = {}
    for first, second in merges:
        ranks.setdefault(first + second, len(ranks))
    scores = [-float(ranks.get(name, len(ranks))) for name in names]
    pieces = Vocabulary(names, scores, "BPE", str(model.get("unk_token")), kinds, bool(model.get("byte_fallback")))
    return pieces.tokenizer(find_ends(content.get("post_processor"), source), normalizer, source, reading)


def _require_all_merges(normal: set[str], merges: set[tuple[str, ...]], source: str) -> None:
    """Raise `EncoderError` if some tokens that form another one do not merge, as they all do in SentencePiece."""
    every = sum(name[:i] in normal and name[i:] in normal for name in normal for i in range(1, len(name)))
    named = sum(first in normal and second in normal and first + second in normal for first, second in merges)
    if every != named:
        raise EncoderError(
            f"{source}: {named} merges, where its pieces make up each other in {every} ways, all of which "
            "SentencePiece takes; only a BPE that comes from SentencePiece, such as Gemma's, can be read"
        )


MODELS: dict[str, Callable[[Json, str, Reading], Tokenizer]] = {
    "Unigram": convert_unigram,
    "WordPiece": convert_wordpiece,
    "BPE": convert_bpe,
}
