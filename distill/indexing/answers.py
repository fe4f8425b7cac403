"""Questions answered from an index: one load for many, and how answers are shown."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rich.text import Text

from ..catalog.bundle import calibrations_of
from ..catalog.identity import weights_fingerprint
from ..catalog.loading import load_encoder
from ..encoders.encoder import Encoder
from ..encoders.health import require_finite
from ..errors import InputError, shown
from ..export.encode import COMPARED
from ..report.answered import print_remark
from ..report.layout import new_console
from ..retrieval.duplicates import first_alike
from ..system.text import json_text
from ..system.types import Booleans, File, Floats, Json
from .again import Again
from .lexical import Lexical
from .searching import Nearest, Searcher
from .stored import Index, Where

# Round the best sentence where there is no terminal to show it bold.
MARK = "**"
# Times as many passages as are to be shown, so that as many are left where some repeat others.
MORE = 3


@dataclass(frozen=True)
class Hit:
    """A passage, the number of it within its document, from 0, and what is kept of that, `fields`.

    `sentence` is the place of the best one in `text`, in characters, None without vectors of sentences; `offset` that
    of the passage in the document's text, in bytes of UTF-8. `repeats` are further ones that say the same.
    `answer` is the place in `text` that a reader takes for the answer.
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
        """Return it as `--json` prints it."""
        start, end = self.sentence or (0, 0)
        best = {"sentence": self.text[start:end], "sentence_at": [start, end]} if self.sentence else {}
        if self.answer:
            best |= {"answer": self.text[slice(*self.answer)], "answer_at": list(self.answer)}
        place = {"passage": self.passage, "offset": self.offset}
        said = {"score": round(self.score, 6), "document": dict(self.fields), **place, "text": self.text, **best}
        return {**said, "repeats": [hit.as_dict() for hit in self.repeats]} if self.repeats else said


@dataclass(frozen=True)
class Answer:
    """The passages that are nearest to a question, best first, and the probability that the first one answers it.

    `answered`: it is at least the `threshold`. All three are None of an encoder that is not calibrated.
    """

    question: str
    hits: list[Hit]
    probability: float | None = None
    threshold: float | None = None

    @property
    def answered(self) -> bool | None:
        """True where the probability reaches the threshold, None where either is not known."""
        return None if self.probability is None or self.threshold is None else self.probability >= self.threshold

    def as_dict(self) -> dict[str, Json]:
        """Return it as `--json` prints it."""
        known = {} if self.probability is None else {"probability": round(self.probability, 4)}
        judged = {**known, "answered": self.answered} if known else {}
        return {"question": self.question, **judged, "hits": [hit.as_dict() for hit in self.hits]}


class Answers:
    """An index and its encoder, loaded once. `model` names the encoder, by default the one that the index was made by.

    `hybrid`: passages with the question's words stand higher (`searching.WEIGHT`), and those that say the same as
    another one are its `repeats`. `encoder` is the one of that name, where it is loaded already.

    Raises `InputError`, `DataError` for a file that is no index, or `EncoderError` for an encoder that is not its own.
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
            command = f"distill index --model {self.index.card['encoder']} --hybrid --output {folder}"
            raise InputError(f"{self.index.path}: made without words, or an earlier version's; run {command}")
        source = model or self.index.card["encoder"]
        self.index.require(weights_fingerprint(source), source)
        self.encoder = encoder or load_encoder(source)
        again = Again(self.index, self.encoder, score or self.index.score) if self.index.scored_again else None
        self.searcher = Searcher(self.index, score, again)
        self.hybrid = hybrid
        self.calibration = calibrations_of(source).get(self.searcher.score)

    @cached_property
    def lexical(self) -> Lexical:
        """The words of the index, which has some."""
        return Lexical(self.index.sections, self.index.passages)

    def answers(
        self, questions: Iterable[str], k: int, where: Where = (), threshold: float | None = None
    ) -> Iterator[Answer]:
        """Yield an `Answer` to each question, as soon as it is there; the threshold is the card's unless it is given.

        `where`: fields and their values, all of which a document has that is searched, as `Index.mask` says.

        Raises `InputError` for a threshold where nothing is calibrated: the encoder, its score, or words.
        """
        if self.calibration is None or self.hybrid:
            require_no_threshold(threshold, self.index.card["encoder"])
        mask = self.index.mask(where) if where else None
        for question in questions:
            if not question.strip():
                raise InputError("the question is empty; give a text")
            [vector] = require_finite(self.encoder.encode([question], "question"), self.encoder)
            answer = self.judge(question, vector, k, mask, self.hybrid)
            yield answer if threshold is None else replace(answer, threshold=threshold)

    def judge(
        self, question: str, vector: Floats, k: int, mask: Booleans | None = None, hybrid: bool = False
    ) -> Answer:
        """Return the `Answer` to a question with a unit vector `(d,)`, by the card's threshold."""
        # Words change the scores.
        if self.calibration is None or hybrid:
            return Answer(question, self._nearest(question, vector, k, mask, hybrid))
        hits = self._nearest(question, vector, max(k, COMPARED), mask)
        probability = self.calibration.probability([hit.score for hit in hits])
        return Answer(question, hits[:k], probability, self.calibration.threshold)

    def _nearest(
        self, question: str, vector: Floats, k: int, mask: Booleans | None = None, hybrid: bool = False
    ) -> list[Hit]:
        if not hybrid:
            return self._hits(self.searcher.search(vector, k, mask))
        best = self.searcher.search(vector, MORE * k, mask, self.lexical.shares(question))
        return _folded(self._hits(best), k)

    def _hits(self, best: Nearest) -> list[Hit]:
        rows = zip(best.rows.tolist(), best.scores.tolist(), best.sentences.tolist(), strict=True)
        return [self.hit(*row) for row in rows]

    def hit(self, row: int, score: float, sentence: int) -> Hit:
        """Return a passage with its text and its document."""
        index, content = self.index, self.index.text(row)
        document = int(index.array("document_of")[row])
        place = None
        if sentence >= 0:
            start, end = index.bounds(row)[sentence].tolist()
            place = len(_text(content[:start])), len(_text(content[:end]))
        number, offset = row - int(index.document_edges[document]), int(index.array("passage_offsets")[row])
        return Hit(score, row, number, offset, _text(content), place, index.fields(document))


def _folded(hits: Sequence[Hit], k: int) -> list[Hit]:
    """The first k of the hits that do not repeat another one, each with those that repeat it."""
    firsts = first_alike([hit.text for hit in hits])
    repeats: dict[int, list[Hit]] = {}
    for number, first in enumerate(firsts):
        repeats.setdefault(first, []).append(hits[number])
    return [replace(one, repeats=tuple(others)) for one, *others in repeats.values()][:k]


def _text(content):
    return content.decode("utf-8", "replace")


def require_no_threshold(threshold: float | None, encoder: str) -> None:
    """Raise `InputError` for a threshold without probabilities that it could be of."""
    if threshold is not None:
        raise InputError(f"--threshold: {encoder} is not calibrated for this score, or for words; leave it out")


def print_json(answers: Iterable[Answer]) -> None:
    """Print an object a question, a line each; with escapes where standard output is not UTF-8."""
    ascii = codecs.lookup(sys.stdout.encoding or "ascii").name != "utf-8"
    for answer in answers:
        print(json_text(answer.as_dict(), ascii), flush=True)


def print_answers(answers: Iterable[Answer], many: bool, strict: bool = False) -> None:
    """Print passages, the best sentence marked; of `many` questions each one above its own.

    `strict`: no passages where the first one does not answer.
    """
    console = new_console()
    for answer in answers:
        if many:
            console.print(shown(answer.question), markup=False, style="underline")
        for place, hit in enumerate(() if strict and not answer.answered else answer.hits, start=1):
            console.print(f"{place}. {hit.score:.3f}  {_name(hit)}", markup=False)
            console.print(_shown(hit, console.is_terminal), soft_wrap=True)
            if hit.repeats:
                console.print(f"   also in {', '.join(map(_name, hit.repeats))}", markup=False)
        if answer.probability is not None and answer.threshold is not None:
            print_remark(answer.probability, answer.threshold, strict)


def _name(hit):
    return shown(str(hit.fields.get("title") or hit.fields["id"]))


def _shown(hit, terminal):
    best = hit.answer or hit.sentence
    start, end = best or (0, 0)
    mark = "" if terminal or not best else MARK
    before, marked, behind = (shown(part) for part in (hit.text[:start], hit.text[start:end], hit.text[end:]))
    return Text("   ").append(before).append(mark + marked + mark, "bold").append(behind)
