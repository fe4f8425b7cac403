"""Answer questions from an index, which is loaded once for many of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...encoders.catalog.bundle import read_calibrations
from ...encoders.catalog.identity import weights_fingerprint
from ...encoders.catalog.loading import load_encoder
from ...encoders.encoder import Encoder
from ...encoders.files.questions import encode_question, require_words
from ...errors import EncoderError, InputError
from ...export.encode import COMPARED
from ...retrieval.units import find_repeated
from ...system.types import Booleans, File, Floats, Json
from .index_file import Index, Where, find_named
from .lexical import Lexical, load_related_words
from .searching import Nearest, Rescorer, Searcher

# Times as many passages as are to be shown, so that as many are left where some repeat others.
MORE = 3


@dataclass(frozen=True)
class Hit:
    """A passage that was found.

    Attributes:
        passage: The number of the passage within its document, from 0.
        offset: The place of the passage in the document's text, in bytes of UTF-8.
        sentence: The place of the best sentence in `text`, in characters; None without vectors of sentences.
        answer: The place in `text` that a reader takes for the answer, or None.
    """

    score: float
    row: int
    passage: int
    offset: int
    text: str
    sentence: tuple[int, int] | None
    fields: Mapping[str, Json]
    repeats: tuple[Hit, ...] = ()
    answer: tuple[int, int] | None = None

    def as_dict(self) -> dict[str, Json]:
        start, end = self.sentence or (0, 0)
        best = {"sentence": self.text[start:end], "sentence_at": [start, end]} if self.sentence else {}
        if self.answer:
            best |= {"answer": self.text[slice(*self.answer)], "answer_at": list(self.answer)}
        place = {"passage": self.passage, "offset": self.offset}
        said = {"score": round(self.score, 6), "document": dict(self.fields), **place, "text": self.text, **best}
        return {**said, "repeats": [hit.as_dict() for hit in self.repeats]} if self.repeats else said


@dataclass(frozen=True)
class Answer:
    """The passages nearest to a question, best first, and the probability that the first one answers it.

    `probability` and `threshold` are None for an encoder that is not calibrated.
    """

    question: str
    hits: list[Hit]
    probability: float | None = None
    threshold: float | None = None

    @property
    def answered(self) -> bool | None:
        """False if nothing is found: the probability is below the threshold. None if either is unknown."""
        return None if self.probability is None or self.threshold is None else self.probability >= self.threshold

    def as_dict(self) -> dict[str, Json]:
        known = {} if self.probability is None else {"probability": round(self.probability, 4)}
        judged = {**known, "answered": self.answered} if known else {}
        return {"question": self.question, **judged, "hits": [hit.as_dict() for hit in self.hits]}


class Answers:
    """An index and its encoder, loaded once.

    Raises `InputError` if an option does not fit the index, `DataError` if the file is no index and `EncoderError` if
    the encoder is none of the index's.

    Args:
        model: The encoder of the questions, by default the index's, for one whose folder has moved.
        score: The score of a passage, by default the index's.
        hybrid: Whether passages with the question's words are ranked higher (`searching.WEIGHT`). Passages that say the
            same as another are then its `repeats`.
    """

    def __init__(
        self,
        folder: File,
        model: File | None = None,
        score: str | None = None,
        hybrid: bool = False,
        encoder: Encoder | None = None,
    ) -> None:
        self.index = Index(folder)
        if hybrid and not self.index.has_words:
            words = shlex.join(["--model", self.index.find_encoder(), "--hybrid", "--output", f"{folder}"])
            problem = "made without words, or an earlier version's"
            raise InputError(f"{self.index.path}: {problem}; run distill index {words}")
        source = model or _find_asker(self.index)
        self.fingerprint = weights_fingerprint(source)
        self.index.require_asker(self.fingerprint, source)
        self.encoder = encoder or load_encoder(source)
        again = Rescorer(self.index, self.encoder, score or self.index.score) if self.index.scored_again else None
        self.searcher = Searcher(self.index, score, again)
        self.hybrid = hybrid
        self.calibration = read_calibrations(source).get(self.searcher.score)

    @cached_property
    def lexical(self) -> Lexical:
        """The words of the index."""
        index = self.index
        related = load_related_words(index.sections, index.card, self.encoder, self.fingerprint)
        return Lexical(index.sections, index.passages, related)

    def answers(
        self, questions: Iterable[str], k: int, where: Where = (), threshold: float | None = None
    ) -> Iterator[Answer]:
        """Yield an answer to each question as soon as it is ready.

        `where` are fields and values that a document must have, as in `Index.mask`.
        """
        if k < 1:
            raise InputError(f"k: expected the number of passages, 1 at least, got {k}")
        if self.calibration is None and threshold is not None:
            raise InputError(f"--threshold: {self.encoder.name} is not calibrated for this score; leave it out")
        mask = self.index.mask(where) if where else None
        for question in questions:
            require_words(question)
            vector = encode_question(self.encoder, question)
            answer = self.judge(question, vector, k, mask, self.hybrid)
            yield answer if threshold is None else replace(answer, threshold=threshold)

    def judge(
        self, question: str, vector: Floats, k: int, mask: Booleans | None = None, hybrid: bool = False
    ) -> Answer:
        """Answer a question with a known unit vector, by the card's threshold, from the passages of a mask."""
        shares = self.lexical.shares(question) if hybrid else None
        best = self.searcher.search(vector, max(MORE * k if hybrid else k, COMPARED), mask, shares)
        hits = self._hits(best)
        shown = _fold_repeats(hits, k) if hybrid else hits[:k]
        if self.calibration is None:
            return Answer(question, shown)
        passages = self.index.passages if mask is None else int(mask.sum())
        probability = self.calibration.probability(best.scores, passages)
        return Answer(question, shown, probability, self.calibration.threshold)

    def _hits(self, best: Nearest) -> list[Hit]:
        rows = zip(best.rows.tolist(), best.scores.tolist(), best.sentences.tolist(), strict=True)
        return [self.hit(*row) for row in rows]

    def hit(self, row: int, score: float, sentence: int) -> Hit:
        """Return a passage with its text and document."""
        index, content = self.index, self.index.text(row)
        document = int(index.array("document_of")[row])
        place = None
        if sentence >= 0:
            start, end = index.bounds(row)[sentence].tolist()
            place = len(_text(content[:start])), len(_text(content[:end]))
        number, offset = row - int(index.document_edges[document]), int(index.array("passage_offsets")[row])
        return Hit(score, row, number, offset, _text(content), place, index.fields(document))


def search(
    folder: File,
    questions: str | Iterable[str],
    k: int = 5,
    model: File | None = None,
    score: str | None = None,
    hybrid: bool = False,
    where: Where = (),
    threshold: float | None = None,
) -> Iterator[Answer]:
    """Search an index for the passages that are nearest to questions.

    Args:
        folder: The folder of `build_index`.
        questions: One question, or many, which are answered in turn.
        k: The number of passages per question.
        model: The encoder of the questions, if it has moved; None for that of the index.
        score: The score of a passage, a name of `choices.PASSAGE_SCORES`; None for that of the index.
        hybrid: If True, passages that hold the words of the question, or words like them, rank higher, and passages
            that repeat another one are folded into it.
        where: Fields with their values, or with lists of values. Only documents that have all of them are searched.
        threshold: The least probability of the first passage at which `Answer.answered` is true; None for that of the
            encoder's card.

    Returns:
        An iterator with an `Answer` per question, as soon as it is ready. Its best passages come first.

    Raises:
        InputError: If a question is empty, if no document has a field of `where`, or if a threshold is given and the
            encoder is not calibrated.
        DataError: If the folder holds no index.
        EncoderError: If the encoder is none of the index's.

    Example:
        >>> import distill, pathlib
        >>> _ = pathlib.Path("facts.txt").write_text("The Danube ends in the Black Sea.")
        >>> card = distill.build_index("kb", distill.IndexChange(["facts.txt"]), "multi12-static")
        >>> [answer] = distill.search("kb", "Wo endet die Donau?")
        >>> answer.hits[0].text
        'The Danube ends in the Black Sea.'
    """
    every = [questions] if isinstance(questions, str) else questions
    return Answers(folder, model, score, hybrid).answers(every, k, where, threshold)


def _fold_repeats(hits: Sequence[Hit], k: int) -> list[Hit]:
    """Return the first k hits that do not repeat another one, each with those that repeat it."""
    originals = find_repeated([hit.text for hit in hits])
    repeats: dict[int, list[Hit]] = {}
    for number, first in enumerate(originals):
        repeats.setdefault(first, []).append(hits[number])
    return [replace(one, repeats=tuple(others)) for one, *others in repeats.values()][:k]


def _text(content):
    return content.decode("utf-8", "replace")


def _find_asker(index: Index) -> str:
    """Return the encoder of an index's questions; if a program wrote the index with a copy, the copied encoder."""
    named = index.question_encoder
    encoder = find_named(named, index.question_fingerprint)
    if encoder is None:
        raise EncoderError(f"{index.path}: made by {named}, which is not found; give the encoder as --model")
    return encoder
