"""From texts by language to an encoder that knows what these use, and what that costs on texts it never saw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...data.dataset import Dataset
from ...encoders.encoder import KerasEncoder
from ...encoders.tokenizer import Tokenizer, model_proto
from ...errors import InputError
from ...system.types import Doubles, Integers, Json
from .fertility import compare
from .pieces import always_kept, bare_pieces, by_use, lowest, piece_counts, pruned, with_pieces
from .scripts import SHARED, script_codes, script_pieces, scripts_of

# Dev has to stay unseen, or its figures would not show what pruning costs.
KEPT, LOOKED_AT = ("train",), ("train", "dev")
TENTH = 10
# The share of a language's pieces that a script has to have to be one that it is written in.
WRITTEN = 0.01


@dataclass(frozen=True)
class Line:
    """A text with its language; translations of each other share `kind` and `key`."""

    language: str
    text: str
    kind: str
    key: str | int


@dataclass(frozen=True)
class PieceRule:
    """Pieces used `least` times or more, of them the `most` that are used most (0: all), and all of `scripts`.

    Single characters stay too. Where only those of the `written` scripts do, these are what a hundredth of some
    language's pieces are in: an encoder of a hundred languages has thousands of others.
    """

    least: int = 1
    scripts: tuple[str, ...] = ()
    most: int = 0
    written: bool = False

    def pieces(self, tokenizer: Tokenizer, lines: Sequence[Line]) -> set[int]:
        """Return the set of ids to keep."""
        return self.choose(tokenizer, lines)[0]

    def choose(self, tokenizer: Tokenizer, lines: Sequence[Line]) -> tuple[set[int], set[int]]:
        """Return the set of ids to keep, and that of those which stay whatever the lines use."""
        counts = language_counts(tokenizer, lines)
        always, uses = self._always(model_proto(tokenizer), counts), counts.sum(axis=0)
        first = commonest(counts, self.most, always) if self.most else np.arange(len(uses))
        used = set(first[uses[first] >= self.least].tolist())
        return used | (script_pieces(tokenizer, self.scripts) if self.scripts else set()), always

    def _always(self, proto, counts):
        always = always_kept(proto)
        if not self.written:
            return always
        bare, scripts = bare_pieces(proto), SHARED | script_codes(self.scripts)
        scripts |= written_scripts(bare, counts)
        normal = {id for id in always - lowest(proto) if proto.pieces[id].type == proto.pieces[id].NORMAL}
        return always - {id for id in normal if not scripts_of(bare[id]) <= scripts}

    def check(self) -> PieceRule:
        """Return the rule itself. Raises `ConfigError` for a script that there is not."""
        script_codes(self.scripts)
        return self


def written_scripts(pieces: Sequence[str], counts: Integers) -> set[str]:
    """Return the codes of the scripts of `WRITTEN` of a language's pieces; `counts` are `(languages, pieces)`."""
    shares, scripts = counts / counts.sum(axis=1, keepdims=True).clip(1), {}
    for id in np.flatnonzero(counts.any(axis=0)).tolist():
        for script in scripts_of(pieces[id]):
            scripts[script] = scripts.get(script, 0) + shares[:, id]
    return {script for script, share in scripts.items() if share.max() >= WRITTEN}


def commonest(counts: Integers, most: int, always: Iterable[int]) -> Integers:
    """Return the ids of `most` pieces, int64: those that `always` stay, then those with the largest `use`.

    `counts` are those of each language, `(languages, pieces)`.
    """
    shares = summed_shares(counts)
    shares[list(always)] = np.inf
    return np.argsort(-shares, kind="stable")[:most]


def use(tokenizer: Tokenizer, lines: Sequence[Line]) -> Doubles:
    """Return the share of each piece in a language's text, summed over the languages, float64 `(pieces,)`.

    So a language with little text has as much of a say as the others.
    """
    return summed_shares(language_counts(tokenizer, lines))


def language_counts(tokenizer: Tokenizer, lines: Sequence[Line]) -> Integers:
    """Return how often each language's lines use each piece, int64 `(languages, pieces)`."""
    return np.stack([piece_counts(tokenizer, texts) for texts in texts_of(lines).values()])


def summed_shares(counts: Integers) -> Doubles:
    """Return the sum over the rows of `counts` of each number's share of its row, float64 `(pieces,)`."""
    return (counts / counts.sum(axis=1, keepdims=True).clip(1)).sum(axis=0)


def lines_of(
    dataset: Dataset, languages: Sequence[str], corpus: Mapping[str, Sequence[str]] | None = None
) -> tuple[list[Line], list[Line]]:
    """Return `(lines, others)`: what is kept, train questions in these languages, every passage, and a corpus.

    `others` are the train and dev questions of the data set's other languages. `corpus` is `{language: texts}`; what
    stands at one place in several languages is taken for translations.
    """
    left = [language for language in dataset.languages if language not in languages]
    kept = [*_questions(dataset, languages, KEPT), *_passages(dataset), *corpus_lines(corpus or {})]
    return kept, _questions(dataset, left, LOOKED_AT)


def _questions(dataset, languages, splits):
    questions = [q for language in languages for split in splits for q in dataset.select(language, split)]
    return [Line(q.language, q.text, "question", q.id) for q in questions]


def _passages(dataset):
    language = dataset.document_language
    return [Line(language, text, "passage", number) for number, text in enumerate(dataset.passage_texts)]


def corpus_lines(corpus: Mapping[str, Sequence[str]]) -> list[Line]:
    """Return the lines of `{language: texts}`; texts at one place in several languages are taken for translations."""
    return [Line(name, text, "corpus", place) for name, texts in corpus.items() for place, text in enumerate(texts)]


def prune(
    encoder: KerasEncoder, lines: Sequence[Line], others: Sequence[Line], rule: PieceRule, seed: int = 0
) -> tuple[KerasEncoder, dict[str, Json]]:
    """Return `(encoder, report)`: an encoder with the pieces that the `lines` need under `rule`, and figures of it.

    Under a rule with `most` the pieces come in the order of their use (`pieces.by_use`).
    `others` are lines of languages that are not kept, named in the report's `left`. `rows` and `bytes` (float32 weights
    and tokenizer): `[before, after]`; `kept` and `unseen`: `{language: figures of fertility.compare}` of the `lines`
    and of unseen text; and the rule's `least` and `scripts`, and the `seed`.
    Unseen is a tenth of the lines, drawn with `seed`, under a vocabulary made of the other nine tenths, as the one
    that is returned saw them all; and the `others`, under the one that is returned.
    Raises `InputError` when the rule leaves no pieces.
    """
    before = encoder.tokenizer
    kept, always = rule.choose(before, lines)
    if not kept:
        raise InputError(f"no pieces left: none is used {rule.least} times or more; lower --least")
    after, old_ids = pruned(before, kept, always)
    smaller = with_pieces(encoder, after, old_ids)
    if rule.most:
        # Tables of parts keep their first rows finest.
        smaller = by_use(smaller, use(after, lines))
    rest, tenth = split_off(lines, seed)
    tried, tried_ids = pruned(before, *rule.choose(before, rest))
    unseen = _by_language(before, tried, tried_ids, tenth) | _by_language(before, after, old_ids, others)
    return smaller, {
        "rows": [len(before), len(after)],
        "bytes": [size(encoder), size(smaller)],
        "least": rule.least,
        "scripts": list(rule.scripts),
        "seed": seed,
        "left": sorted({line.language for line in others}),
        "kept": _by_language(before, after, old_ids, lines),
        "unseen": dict(sorted(unseen.items())),
    }


def not_kept(language: str, unknown: Sequence[float]) -> str:
    """Say that a language is left out; `unknown`: its `<unk>` share `[before, after]`."""
    before, after = (f"{100 * share:.2f} %" for share in unknown)
    return f"{language} is not kept: <unk> {after} (before {before})"


def split_off(lines: Sequence[Line], seed: int) -> tuple[list[Line], list[Line]]:
    """Return `(rest, tenth)`: a tenth of the keys of each kind, so that translations stay together."""
    random, chosen = np.random.default_rng(seed), set()
    for kind in sorted({line.kind for line in lines}):
        keys = sorted({line.key for line in lines if line.kind == kind})
        places = random.permutation(len(keys))[: max(1, len(keys) // TENTH)]
        chosen |= {(kind, keys[place]) for place in places}
    parts = {True: [], False: []}
    for line in lines:
        parts[(line.kind, line.key) in chosen].append(line)
    return parts[False], parts[True]


def texts_of(lines: Sequence[Line]) -> dict[str, list[str]]:
    """Return `{language: texts}` of lines, in their order."""
    texts: dict[str, list[str]] = {}
    for line in lines:
        texts.setdefault(line.language, []).append(line.text)
    return texts


def _by_language(
    before: Tokenizer, after: Tokenizer, old_ids: Integers, lines: Sequence[Line]
) -> dict[str, dict[str, Json]]:
    """Return `{language: figures of fertility.compare}` of lines."""
    return {name: compare(before, after, old_ids, texts) for name, texts in sorted(texts_of(lines).items())}


def size(encoder: KerasEncoder) -> int:
    """Return the bytes of an encoder: float32 weights and the files of its tokenizer."""
    return 4 * encoder.model.count_params() + encoder.tokenizer.stored_bytes
