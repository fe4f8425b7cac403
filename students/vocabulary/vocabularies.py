"""The vocabularies that a student can have: only the tokens that are used, or more, for new languages."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ...data.dataset import Dataset
from ...encoders.encoder import Encoder, KerasEncoder
from ...encoders.tokenizer import Tokenizer, model_proto
from ...errors import InputError
from ...system.progress import say, task
from ...system.types import Floats
from ..frequencies import Frequencies
from ..shape import Shape, shape_encoder
from ..static.network import make_static
from .fertility import SHARED, compute_unknown_share, find_script, find_scripts
from .new_pieces import (
    append_embeddings,
    compute_mean_embeddings,
    extend_tokenizer,
    list_new_tokens,
    make_tokens,
    train_tokens,
)
from .pieces import (
    find_lowest_token,
    find_used_tokens,
    list_bare_tokens,
    prune_encoder,
    prune_tokenizer,
    require_kept_vectors,
    sort_by_use,
)
from .pruning import PieceRule, collect_lines, compute_use, group_texts
from .transplant import find_anchors, find_rare_tokens, list_examples, realign, transplant

if TYPE_CHECKING:
    from google.protobuf.message import Message


# The number of uses from which on a token is kept.
VOCABULARIES = {"all": 0, "used": 1, "twice": 2}
# The ending for tokens of new languages, whose embeddings have to be trained.
NEW = "+new"


@dataclass(frozen=True)
class Additions:
    """Tokens for new languages: at most `learned` from their text, and one for each of `words`.

    The words, `{word: frequency}`, are kept whether the text uses them or not: embeddings by meaning need no text.
    """

    learned: int = 0
    words: Mapping[str, float] = field(default_factory=dict)


class Vocabularies:
    """The vocabularies that a student can have, given an encoder, the data, and text of its languages.

    Args:
        corpus: `{language: [text]}`.
        aligner: An encoder that knows the new languages, for embeddings by meaning; without it they are means of those
            of the replaced tokens.
        below: With an aligner, tokens that occur fewer times in the texts get embeddings by meaning too, except for the
            anchors.
    """

    def __init__(
        self,
        student: KerasEncoder,
        dataset: Dataset,
        languages: Sequence[str],
        corpus: Mapping[str, Sequence[str]],
        new: Sequence[str] = (),
        additions: Additions | None = None,
        aligner: Encoder | None = None,
        below: int = 0,
    ) -> None:
        self.student, self.dataset, self.languages, self.aligner = student, dataset, languages, aligner
        self.below, self.additions = below, additions or Additions()
        self.new = [name for name in new if name in languages] if self.additions.learned else []
        self.counted, self.others = collect_lines(dataset, languages, corpus)
        # Examples of the new embeddings for a report, by `transplant.list_examples`.
        self.nearest: dict[str, list[list[str | float]]] = {}

    @property
    def texts(self) -> list[str]:
        """The train questions, the passages and the corpus, on which tokens are counted and the student is refitted."""
        return [line.text for line in self.counted]

    @property
    def by_language(self) -> dict[str, list[str]]:
        return group_texts(self.counted)

    def vocabulary(self, name: str, most: int = 0) -> KerasEncoder:
        """Return the encoder with one of the `VOCABULARIES`, with `NEW` behind its name for tokens of new languages.

        With new tokens all are ordered by use, the most frequent first. Of more than `most` tokens the most used stay;
        0 keeps all.
        """
        least = VOCABULARIES[name.removesuffix(NEW)]
        encoder = self.larger if name.endswith(NEW) else self.student
        if least or most:
            words = self._words(encoder.tokenizer)
            rule = PieceRule(least, most=max(1, most - len(words)) if most else 0)
            whole, encoder = encoder, prune_encoder(encoder, rule.pieces(encoder.tokenizer, self.counted) | words)
            require_kept_vectors(whole, encoder, self.texts)
        encoder = sort_by_use(encoder, compute_use(encoder.tokenizer, self.counted)) if name.endswith(NEW) else encoder
        return self._realign(encoder, self.aligner) if self.below and self.aligner else encoder

    def _words(self, tokenizer):
        words = {piece for piece, _ in make_tokens(self.additions.words, tokenizer)} if self.additions.words else set()
        return {id for id, piece in enumerate(model_proto(tokenizer).pieces) if piece.piece in words}

    def _realign(self, encoder, aligner):
        """Return the encoder with embeddings by meaning for its rare tokens; the new ones have them already."""
        before = model_proto(self.student.tokenizer).pieces
        known = [before[id].piece for id in find_anchors(self.student.tokenizer)]
        known += list_new_tokens(self.student.tokenizer, self.larger.tokenizer) if self.new else []
        rare = find_rare_tokens(encoder, self.texts, self.below, known)
        say(f"{len(rare)} pieces that occur fewer than {self.below} times: rows by meaning")
        return realign(encoder, rare, self.student, aligner) if len(rare) else encoder

    @cached_property
    def larger(self) -> KerasEncoder:
        """The encoder with tokens for the new languages. Raises `InputError` if there is no text to learn from."""
        before, texts = self.student.tokenizer, [line.text for line in self.counted if line.language in self.new]
        if not texts:
            raise InputError(f"no text in {', '.join(self.new)} to learn pieces from; give some with --text")
        with task("learn pieces for new languages", 1) as advance:
            learned = train_tokens(texts, self.additions.learned, before)
            advance()
        kept = [line.text for line in self.counted if line.language not in self.new]
        after = extend_tokenizer(before, [*learned, *make_tokens(self.additions.words, before)], kept)
        return append_embeddings(self.student, after, self._rows(after))

    def _rows(self, after):
        if self.aligner is None:
            return compute_mean_embeddings(self.student, after)
        moved = transplant(self.student, after, self.aligner)
        self.nearest = list_examples(self.student.tokenizer, after, moved)
        return moved.rows

    def left(self, tokenizer: Tokenizer) -> dict[str, list[float]]:
        """Return the `<unk>` share of each language that is not kept, `{language: [before, after]}`."""
        tokenizers = (self.student.tokenizer, tokenizer)
        return {
            name: [compute_unknown_share(each.encode(texts), each) for each in tokenizers]
            for name, texts in sorted(group_texts(self.others).items())
        }

    def start(self, encoder: KerasEncoder, shape: Shape, vectors: Floats | None = None, seed: int = 0) -> KerasEncoder:
        """Cut an encoder to a shape; a teacher's vectors `(n, d)` span the axes of a smaller dimension."""
        # Embeddings by meaning are in the encoder itself. Otherwise single tokens are encoded by the encoder before.
        whole = None if self.aligner else self.student
        return shape_encoder(encoder, shape, self.texts, vectors, seed, whole, self.languages)


def static_student(
    encoder: KerasEncoder, texts: Sequence[str], width: int = 256, hidden: int = 256, seed: int = 0
) -> KerasEncoder:
    """Make an untrained static encoder in an encoder's space: a text is the weighted sum of its tokens' vectors.

    It is small and fast to train, and `transfer` can start from it.

    Args:
        encoder: The encoder.
        texts: The texts, whose tokens are kept.
        width: The number of columns of the table.
        hidden: The number of units of the residual network.
        seed: The random seed.

    Returns:
        The static encoder.

    Raises:
        EncoderError: If the tokens of the encoder cannot be read.

    Example:
        >>> import distill
        >>> encoder, data = distill.load_encoder("my-encoder"), distill.load_dataset("my-data")
        >>> student = distill.static_student(encoder, data.passage_texts, width=16, hidden=8)
        >>> student.encode(["How old is it?"]).shape
        (1, 16)
    """
    tokenizer, _ = prune_tokenizer(encoder.tokenizer, find_used_tokens(encoder.tokenizer, texts))
    frequencies = Frequencies.of(tokenizer, tokenizer.encode(list(texts), None))
    model = make_static(encoder, tokenizer, frequencies, width, hidden, seed=seed)
    return KerasEncoder(model, tokenizer, "static")


# A script belongs to a language from this share of its tokens on, since text quotes other languages.
MAIN_SHARE = 0.05


def find_shared_tokens(proto: Message, scripts: Iterable[str]) -> set[int]:
    """Find the tokens that are kept for any language: those without a letter, single letters, and special tokens.

    Special tokens are bytes, `<unk>`, control tokens, and the token with the lowest score, from which that of `<unk>`
    is computed.
    """
    letters = set(scripts)
    bare = zip(proto.pieces, list_bare_tokens(proto), strict=True)
    kept = {id for id, (piece, text) in enumerate(bare) if _is_special(piece) or _is_shared(text, letters)}
    return kept | find_lowest_token(proto)


def find_main_scripts(proto: Message, ids: Iterable[int]) -> set[str]:
    """Find the scripts, as ISO 15924 codes, that make up a share `OWN` or more of some tokens."""
    counts = Counter(code for id in ids for code in find_scripts(proto.pieces[id].piece) - SHARED)
    return {code for code, count in counts.items() if count >= MAIN_SHARE * counts.total()}


def _is_special(piece):
    return piece.type not in (piece.NORMAL, piece.UNUSED)


def _is_shared(text, scripts):
    if len(text) == 1 and (text.isascii() or find_script(text) in scripts):
        return True
    return not any(unicodedata.category(sign)[0] in "LM" for sign in text)
