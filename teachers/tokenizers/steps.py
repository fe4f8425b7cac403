"""Convert the steps that a `tokenizer.json` applies to a text before it is cut into SentencePiece's normaliser."""

from __future__ import annotations

import base64
import io
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...encoders.tokenizer import SPACE
from ...errors import EncoderError
from ...system.types import Json
from .container import Normalizer

# Beyond these no character is written as two.
COMPOSED_CODES = range(0xC0, 0xFFFF)


def compile_builtin_charsmap(rule: str) -> bytes:
    """Compile the map of one of SentencePiece's own rules, such as "nfkc"."""
    return _compile(normalization_rule_name=rule)


def compile_blanks_charsmap() -> bytes:
    """Compile a map that makes every white space a blank and leaves all other characters."""
    blanks = (chr(code) for code in range(0x3001) if chr(code).isspace() and chr(code) != " ")
    return _compile_rules({sign: " " for sign in blanks})


def compile_charsmap(characters: Mapping[str, str]) -> bytes:
    """Compile the map of `{character: text}`, and of characters that are written as several, such as e and U+0301.

    These become the text of their composed form, as in SentencePiece's `nfkc`.
    """
    rules = dict(characters)
    for sign in map(chr, COMPOSED_CODES):
        apart = unicodedata.normalize("NFD", sign)
        if apart != sign and unicodedata.normalize("NFC", apart) == sign:
            rules[apart] = characters.get(sign, sign)
    return _compile_rules(rules)


def _compile_rules(rules):
    lines = [
        "\t".join(" ".join(f"{ord(sign):X}" for sign in text) for text in rule)
        for rule in rules.items()
        if rule[0] != rule[1]
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.tsv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return _compile(normalization_rule_tsv=str(path))


def _compile(**rules):
    """Return the map of a model trained on next to nothing, since SentencePiece compiles maps nowhere else."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c"] * 3),
        model_writer=model,
        vocab_size=8,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=3,
        **rules,
    )
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())  # type: ignore[attr-defined]
    return bytes(proto.normalizer_spec.precompiled_charsmap)


RULES = {("NFKC",): "nfkc", ("Nmt", "NFKC"): "nmt_nfkc"}
# The patterns that replace runs of blanks by one; some files replace them by the blank's mark.
BLANKS = ({"Regex": " {2,}"}, {"Regex": "\\s+"})


@dataclass
class _Steps:
    charsmap: bytes = b""
    escaped: bool = False
    prefix: bool = False
    one_blank: bool = False
    splits: bool = False


def convert_normalizer(content: Json, source: str) -> Normalizer:
    """Convert the steps of a `tokenizer.json`. Raises `EncoderError` if a step has no counterpart in SentencePiece."""
    steps = _Steps()
    parts = list(flatten_steps(content.get("normalizer"), "normalizers"))
    rule = RULES.get(tuple(part["type"] for part in parts if part["type"] in ("Nmt", "NFKC")))
    if rule:
        steps.charsmap = compile_builtin_charsmap(rule)
        parts = [part for part in parts if part["type"] not in ("Nmt", "NFKC")]
    for part in parts:
        _normalize(steps, part, source)
    for part in flatten_steps(content.get("pre_tokenizer"), "pretokenizers"):
        _cut(steps, part, source)
    if steps.splits and rule in (None, RULES[("NFKC",)]):
        # Words are split at line breaks and tabs, too, which a map of SentencePiece's has to make blanks.
        blanks = compile_builtin_charsmap(RULES["Nmt", "NFKC"]) if rule else compile_blanks_charsmap()
        steps.charsmap = blanks if rule else steps.charsmap or blanks
    if not steps.escaped:
        raise EncoderError(f"{source}: it does not mark blanks by {SPACE}, as SentencePiece does")
    return Normalizer(steps.charsmap, steps.prefix, steps.one_blank)


def flatten_steps(step: Json, name: str) -> Iterator[Json]:
    """Yield the steps of a normaliser or a pre-tokenizer, which may be sequences of others under `name`."""
    if step is not None and step["type"] == "Sequence":
        for one in step[name]:
            yield from flatten_steps(one, name)
    elif step is not None:
        yield step


def _normalize(steps, part, source):
    kind = part["type"]
    if kind == "Precompiled":
        steps.charsmap = base64.b64decode(part["precompiled_charsmap"] or "")
    elif kind == "Replace" and part["pattern"] in BLANKS and part["content"] in (" ", SPACE):
        steps.one_blank = True
    elif kind == "Replace" and part["pattern"] == {"String": " "} and part["content"] == SPACE:
        steps.escaped = True
    elif kind == "Prepend" and part["prepend"] == SPACE:
        steps.prefix = True
    elif kind != "Strip":
        raise EncoderError(f"{source}: its normaliser {_format_step(part)} has no counterpart in SentencePiece")


def _cut(steps, part, source):
    kind = part["type"]
    if kind == "Metaspace" and part["replacement"] == SPACE:
        scheme = part.get("prepend_scheme") or ("always" if part.get("add_prefix_space", True) else "never")
        steps.escaped, steps.prefix = True, steps.prefix or scheme != "never"
    elif kind in ("WhitespaceSplit", "Whitespace") and kind != "Whitespace":
        steps.one_blank = steps.splits = True
    elif kind == "Split" and part["pattern"] == {"String": " "} and part["behavior"] == "MergedWithPrevious":
        # The normaliser has replaced all blanks, so nothing is split.
        return
    elif kind == "ByteLevel":
        raise make_byte_level_error(source)
    else:
        raise EncoderError(f"{source}: its pre-tokenizer {_format_step(part)} has no counterpart in SentencePiece")


def _format_step(part):
    pattern = part.get("pattern")
    return f"{part['type']} of {next(iter(pattern.values()))!r}" if pattern else part["type"]


def make_byte_level_error(source: str) -> EncoderError:
    """Return the error for a BPE over bytes, such as that of GPT-2, RoBERTa and ModernBERT."""
    return EncoderError(
        f"{source}: a byte-level BPE, as RoBERTa's and ModernBERT's, cannot be a SentencePiece model; take an encoder "
        "with XLM-R's, Gemma's or BERT's pieces"
    )
