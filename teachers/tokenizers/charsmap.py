"""Compile a map of characters in SentencePiece's format, from one of its rules or from a table."""

from __future__ import annotations

import io
import tempfile
import unicodedata
from collections.abc import Mapping
from pathlib import Path

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
