"""From texts by language to an encoder with pieces for them, and what that gives and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...encoders.encoder import Encoder, KerasEncoder
from ...errors import InputError
from ...system.progress import task
from ...system.types import Json
from .new_pieces import extended, mean_rows, trained_pieces, with_rows
from .pruning import by_language, corpus_lines, size, split_off
from .transplant import shown, transplant


def extend(
    encoder: KerasEncoder,
    corpus: Mapping[str, Sequence[str]],
    keep: Mapping[str, Sequence[str]],
    count: int,
    aligner: Encoder | None = None,
    seed: int = 0,
) -> tuple[KerasEncoder, dict[str, Json]]:
    """Return `(encoder, report)`: a `KerasEncoder` with pieces for the languages of `corpus`, and figures of it.

    `corpus` and `keep` are `{language: texts}`, the new languages and those whose texts are to be cut as before. Of
    `count` learned pieces those that the base or `keep` hold are left out. Rows are those of `transplant` with an
    `aligner`, of `mean_rows` without.
    `rows` and `bytes` (float32 weights and tokenizer) of the report: `[before, after]`; `learned`, pieces; `nearest`,
    what `shown` shows; `new`, `kept` and `unseen`: `{language: figures of fertility.compare}` of both corpora and
    of unseen text, a tenth of both (drawn with `seed`) under a vocabulary made of the other nine tenths.
    Raises `InputError` when a language is both new and kept.
    """
    if both := sorted(set(corpus) & set(keep)):
        raise InputError(f"{', '.join(both)}: both a new language and one to keep; name the files otherwise")
    before, lines = encoder.tokenizer, corpus_lines({**corpus, **keep})
    rest, tenth = split_off(lines, seed)
    with task("learn pieces", 2) as advance:
        learned, after, old_ids = _larger(before, lines, corpus, count)
        advance()
        _, tried, tried_ids = _larger(before, rest, corpus, count)
        advance()
    rows, nearest = _rows(encoder, after, aligner)
    larger = with_rows(encoder, after, rows)
    figures = by_language(before, after, old_ids, lines)
    return larger, {
        "rows": [len(before), len(after)],
        "bytes": [size(encoder), size(larger)],
        "learned": learned,
        "aligner": aligner and aligner.name,
        "nearest": nearest,
        "seed": seed,
        "new": {language: row for language, row in figures.items() if language in corpus},
        "kept": {language: row for language, row in figures.items() if language in keep},
        "unseen": by_language(before, tried, tried_ids, tenth),
    }


def _larger(before, lines, corpus, count):
    """`(learned, tokenizer, old_ids)`: how many pieces were learned, and what `extended` makes of them."""
    new = [line.text for line in lines if line.language in corpus]
    learned = trained_pieces(new, count, before)
    return len(learned), *extended(before, learned, [line.text for line in lines if line.language not in corpus])


def _rows(encoder, after, aligner):
    if aligner is None:
        return mean_rows(encoder, after), {}
    moved = transplant(encoder, after, aligner)
    return moved.rows, shown(encoder.tokenizer, after, moved)
