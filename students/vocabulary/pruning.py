"""Prune an encoder to the tokens that texts of some languages use, and measure the cost on unseen texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...data.dataset import Dataset
from ...encoders.encoder import KerasEncoder, take_own_pieces
from ...encoders.tokenizer import Tokenizer, model_proto
from ...errors import InputError
from ...system.types import Doubles, Integers, Json
from .fertility import SHARED, compare, find_script_tokens, find_scripts, parse_scripts
from .pieces import (
    count_tokens,
    find_lowest_token,
    find_prompt_tokens,
    find_required_tokens,
    list_bare_tokens,
    prune_tokenizer,
    replace_tokenizer,
    require_kept_vectors,
    sort_by_use,
)

# Dev has to stay unseen, otherwise its figures would not show what pruning costs.
KEPT_SPLITS, MEASURED_SPLITS = ("train",), ("train", "dev")
TENTH = 10
# A language is written in a script from this share of its tokens on.
WRITTEN_SHARE = 0.01


@dataclass(frozen=True)
class Line:
    """A text with its language. Translations of each other share `kind` and `key`."""

    language: str
    text: str
    kind: str
    key: str | int


@dataclass(frozen=True)
class PieceRule:
    """A rule that selects the tokens of a vocabulary. Single characters are kept in any case.

    Attributes:
        least: The minimum number of uses.
        scripts: Scripts all of whose tokens are kept.
        most: The maximum number of tokens, of which the most used are kept; 0 for all.
        written: True to keep single characters only of scripts that make up a hundredth of the tokens of some language.
            An encoder of a hundred languages has thousands of others.

    Example:
        >>> import distill
        >>> distill.PieceRule(least=2, scripts=("Greek",)).most
        0
    """

    least: int = 1
    scripts: tuple[str, ...] = ()
    most: int = 0
    written: bool = False

    def pieces(self, tokenizer: Tokenizer, lines: Sequence[Line]) -> set[int]:
        """Return the ids of the tokens to keep."""
        return self.choose(tokenizer, lines)[0]

    def choose(self, tokenizer: Tokenizer, lines: Sequence[Line]) -> tuple[set[int], set[int]]:
        """Return the ids of the tokens to keep, and of those that are kept whatever the lines use."""
        counts = count_by_language(tokenizer, lines)
        always = self._always(model_proto(tokenizer), counts) | find_prompt_tokens(tokenizer)
        uses = counts.sum(axis=0)
        first = select_most_used(counts, self.most, always) if self.most else np.arange(len(uses))
        used = set(first[uses[first] >= self.least].tolist())
        return used | (find_script_tokens(tokenizer, self.scripts) if self.scripts else set()), always

    def _always(self, proto, counts):
        always = find_required_tokens(proto)
        if not self.written:
            return always
        bare, scripts = list_bare_tokens(proto), SHARED | parse_scripts(self.scripts)
        scripts |= find_written_scripts(bare, counts)
        normal = {id for id in always - find_lowest_token(proto) if proto.pieces[id].type == proto.pieces[id].NORMAL}
        return always - {id for id in normal if not find_scripts(bare[id]) <= scripts}

    def check(self) -> PieceRule:
        """Return the rule itself. Raises `ConfigError` for an unknown script."""
        parse_scripts(self.scripts)
        return self


def find_written_scripts(pieces: Sequence[str], counts: Integers) -> set[str]:
    """Find the scripts with a share `WRITTEN` of the tokens, `(languages, tokens)`, of at least one language."""
    shares, scripts = counts / counts.sum(axis=1, keepdims=True).clip(1), {}
    for id in np.flatnonzero(counts.any(axis=0)).tolist():
        for script in find_scripts(pieces[id]):
            scripts[script] = scripts.get(script, 0) + shares[:, id]
    return {script for script, share in scripts.items() if share.max() >= WRITTEN_SHARE}


def select_most_used(counts: Integers, most: int, always: Iterable[int]) -> Integers:
    """Select the most used tokens. Returns the ids, int64 `(most,)`, the most used first."""
    shares = sum_shares(counts)
    shares[list(always)] = np.inf
    return np.argsort(-shares, kind="stable")[:most]


def compute_use(tokenizer: Tokenizer, lines: Sequence[Line]) -> Doubles:
    """Compute the share of each token in a language's text, summed over languages, so that all weigh the same."""
    return sum_shares(count_by_language(tokenizer, lines))


def count_by_language(tokenizer: Tokenizer, lines: Sequence[Line]) -> Integers:
    """Count how often the lines of each language use each token. Returns the counts, int64 `(languages, tokens)`."""
    return np.stack([count_tokens(tokenizer, texts) for texts in group_texts(lines).values()])


def sum_shares(counts: Integers) -> Doubles:
    """Divide each row of counts `(n, tokens)` by its sum, and return the sum over the rows, float64 `(tokens,)`."""
    return (counts / counts.sum(axis=1, keepdims=True).clip(1)).sum(axis=0)


def collect_lines(
    dataset: Dataset, languages: Sequence[str], corpus: Mapping[str, Sequence[str]] | None = None
) -> tuple[list[Line], list[Line]]:
    """Return the texts of the kept languages and those of a data set's other languages.

    The former are the train questions in the kept languages, all passages and the corpus; the latter are the train and
    dev questions of the other languages.
    """
    left = [language for language in dataset.languages if language not in languages]
    kept = [*_questions(dataset, languages, KEPT_SPLITS), *_passages(dataset), *make_corpus_lines(corpus or {})]
    return kept, _questions(dataset, left, MEASURED_SPLITS)


def _questions(dataset, languages, splits):
    questions = [q for language in languages for split in splits for q in dataset.select(language, split)]
    return [Line(q.language, q.text, "question", q.id) for q in questions]


def _passages(dataset):
    language = dataset.document_language
    return [Line(language, text, "passage", number) for number, text in enumerate(dataset.passage_texts)]


def make_corpus_lines(corpus: Mapping[str, Sequence[str]]) -> list[Line]:
    """Return the lines of `{language: texts}`; texts at the same place in several languages count as translations."""
    return [Line(name, text, "corpus", place) for name, texts in corpus.items() for place, text in enumerate(texts)]


def prune(
    encoder: KerasEncoder, lines: Sequence[Line], others: Sequence[Line], rule: PieceRule, seed: int = 0
) -> tuple[KerasEncoder, dict[str, Json]]:
    """Reduce an encoder to the tokens that texts need under a rule, and measure what that costs.

    Unseen text is a tenth of the lines, under a vocabulary that is made from the other nine tenths, as the returned
    vocabulary has seen all of them; and the `others`, under the returned vocabulary. If the rule has `most`, the tokens
    come in the order of their use (`pieces.sort_by_use`). Raises `InputError` if the rule leaves no tokens; and
    `EncoderError` if distill has no pieces that read the lines as the encoder's own library does, or if a text that
    loses no token has another vector.

    Returns:
        The encoder and a report: `rows` and `bytes` (float32 weights and tokenizer) as `[before, after]`; `kept` and
            `unseen`, `{language: figures of fertility.compare}` of the lines and of unseen text; `cosine`, `{language:
            {role: least cosine}}` of some lines to the encoder before; `left`, the languages of `others`; the rule's
            `least` and `scripts`; and the `seed`.
    """
    encoder = take_own_pieces(encoder, (line.text for line in (*lines, *others)))
    before = encoder.tokenizer
    kept, always = rule.choose(before, lines)
    if not kept:
        limits = f"at most {rule.most} of the tokens" if rule.most else "the tokens"
        raise InputError(f"no tokens left: {limits} used {rule.least} times or more; lower --least or raise --most")
    after, old_ids = prune_tokenizer(before, kept, always)
    smaller = replace_tokenizer(encoder, after, old_ids)
    cosines = {name: require_kept_vectors(encoder, smaller, texts) for name, texts in group_texts(lines).items()}
    if rule.most:
        # Tables stored in parts keep their first rows at the highest precision.
        smaller = sort_by_use(smaller, compute_use(after, lines))
    rest, tenth = split_tenth(lines, seed)
    # Of one line of each kind no other nine tenths are left.
    tried, tried_ids = prune_tokenizer(before, *rule.choose(before, rest or lines))
    unseen = _by_language(before, tried, tried_ids, tenth) | _by_language(before, after, old_ids, others)
    return smaller, {
        "rows": [len(before), len(after)],
        "bytes": [compute_size(encoder), compute_size(smaller)],
        "least": rule.least,
        "scripts": list(rule.scripts),
        "seed": seed,
        "left": sorted({line.language for line in others}),
        "kept": _by_language(before, after, old_ids, lines),
        "cosine": cosines,
        "unseen": dict(sorted(unseen.items())),
    }


def format_not_kept(language: str, unknown: Sequence[float]) -> str:
    """Write the line that says that a language is not kept. `unknown` is its share of `<unk>`, `[before, after]`."""
    before, after = (f"{100 * share:.2f} %" for share in unknown)
    return f"{language} is not kept: <unk> {after} (before {before})"


def split_tenth(lines: Sequence[Line], seed: int) -> tuple[list[Line], list[Line]]:
    """Split a tenth off the keys of each kind, so that translations stay together. Returns `(rest, tenth)`."""
    random, chosen = np.random.default_rng(seed), set()
    for kind in sorted({line.kind for line in lines}):
        keys = sorted({line.key for line in lines if line.kind == kind})
        places = random.permutation(len(keys))[: max(1, len(keys) // TENTH)]
        chosen |= {(kind, keys[place]) for place in places}
    parts = {True: [], False: []}
    for line in lines:
        parts[(line.kind, line.key) in chosen].append(line)
    return parts[False], parts[True]


def group_texts(lines: Sequence[Line]) -> dict[str, list[str]]:
    """Return the texts of lines by language, in their order."""
    texts: dict[str, list[str]] = {}
    for line in lines:
        texts.setdefault(line.language, []).append(line.text)
    return texts


def _by_language(
    before: Tokenizer, after: Tokenizer, old_ids: Integers, lines: Sequence[Line]
) -> dict[str, dict[str, Json]]:
    """Return `{language: figures of fertility.compare}` of lines."""
    return {name: compare(before, after, old_ids, texts) for name, texts in sorted(group_texts(lines).items())}


def compute_size(encoder: KerasEncoder) -> int:
    """Return the size of an encoder in bytes: its float32 weights and the files of its tokenizer."""
    return 4 * encoder.model.count_params() + encoder.tokenizer.stored_bytes
