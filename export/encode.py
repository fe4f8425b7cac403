"""Texts to unit vectors with numpy, sentencepiece and a runtime alone.

    from encode import Encoder
    vectors = Encoder("path/to/bundle").encode(["Where does the Danube end?"])   # float32 (1, d)

or `python encode.py texts.jsonl vectors.npy question|document` with {"id", "text"} lines. Of your own documents

    passages = Passages(encoder, ["...", "..."])
    rows, scores = passages.nearest(["Where does the Danube end?"], k=5)

are the nearest, and `passages.search("...")` says too how likely the first answers the question. The runtime is
ai-edge-litert or tflite-runtime for encoder.tflite, onnxruntime for encoder.onnx. Threads may share an `Encoder`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import string
import sys
import threading
import unicodedata
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict
from zipfile import BadZipFile

import numpy as np
import sentencepiece
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ai_edge_litert.interpreter import Interpreter

CARD, TOKENIZER, SPELLINGS, REMOVAL = "card.json", "tokenizer.model", "spellings.npz", "lir.npy"
SCRIPT = Path(__file__).resolve()
READING = "reading.json"
MODELS = {"bundle": "encoder.tflite", "onnx": "encoder.onnx"}
LONG = ("truncate", "refuse")
SOFT_HYPHEN = "\xad"
PADDING, END_OF_IDS, WIDTH = -1, -1, 64
# What a card has to have, and of which type.
FIELDS: dict = {
    "name": str,
    "format": str,
    "dimension": int,
    "vocabulary": int,
    "max_length": (int, type(None)),
    "signatures": list,
    "files": dict,
}
AGAIN = "export the bundle again"
# The card's entry on answers, and the number of scores that it reads.
ANSWERABLE, COMPARED = "answerable", 5
# A collection of so many passages, or fewer, is a small one.
FEW = 10
ROLES = ("question", "document")
# The card's entry on the weight of a passage's own vector beside its best sentence, and the greatest there can be.
PASSAGE_WEIGHT, MOST_WEIGHT = "passage_weight", 10.0
# Two encoders are of one space where their vectors of the first documents have at least this cosine.
COMPARED_TEXTS, LEAST_ALIGNMENT = 16, 0.2
# BERT's pieces within a word begin so; a longer word is unknown. Words whose pieces are remembered.
WITHIN, LONGEST_WORD, REMEMBERED = "##", 100, 1 << 16
# Each of these is a word, as in Hugging Face's tokenizers: the first and the last of each range.
CHINESE = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
ASCII_SIGNS = frozenset(string.punctuation)
# An end of a sentence, with what closes it, before a blank; without one in scripts that have none.
END = re.compile(r"(?<=[.!?…।؟])[\"'»”’)\]]*\s+|(?<=[。！？])[」』”’）]*|\n\s*")


class File(TypedDict):
    """A file as its card has it."""

    bytes: int
    sha256: str


class Removal(TypedDict):
    """The languages whose components lie beside the model, in their order."""

    languages: list[str]


class Calibrated(TypedDict):
    """The numbers of a `Calibration`, of one score."""

    best: float
    margin: float
    few: float
    usual: float
    at: list[float]
    probability: list[float]
    threshold: float


class Answerable(TypedDict):
    """The entry of a card on answers."""

    scores: dict[str, Calibrated]


class Card(TypedDict, total=False):
    """The entries of `card.json` that are read here."""

    name: str
    format: str
    dimension: int
    vocabulary: int
    max_length: int | None
    signatures: list[int]
    files: dict[str, File]
    removal: Removal
    answerable: Answerable
    passage_weight: float


class BundleError(Exception):
    """The bundle, or what it needs, is not there or is not what it should be."""


class TextError(ValueError):
    """A text that cannot be encoded as asked."""


class Encoder:
    """A bundle or an ONNX artefact as text -> vector.

    `folder`: the artefact, by default where this file lies. `threads`: of one inference. `max_length`: most ids of
    a text, bos and eos among them, within what the artefact takes; `long`: whether a longer text is cut there
    ("truncate", keeping eos) or a `TextError` ("refuse"). `verify`: compare the files' sha256 with the card's, not
    only their sizes. Raises `BundleError` when the artefact is not whole or no runtime is installed.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        threads: int = 1,
        max_length: int | None = None,
        long: str = "truncate",
        verify: bool = True,
    ) -> None:
        place = Path(folder or SCRIPT.parent)
        if long not in LONG:
            raise ValueError(f"long: expected one of {', '.join(LONG)}, got {long!r}")
        if max_length is not None and max_length < 2:
            raise ValueError(f"max_length: expected at least 2, for bos and eos, got {max_length}")
        self.card = read_card(place)
        if self.card["format"] not in MODELS:
            raise BundleError(f"{place}: encode.py runs {' and '.join(MODELS)}, not {self.card['format']!r}")
        # The sizes always: older runtimes map a truncated file and die of it.
        check_files(place, self.card, verify)
        needed = (MODELS[self.card["format"]], TOKENIZER, *((REMOVAL,) if self.card.get("removal") else ()))
        if unsaid := [name for name in needed if name not in self.card["files"]]:
            raise BundleError(f"{place}: {CARD} says nothing of {', '.join(unsaid)}; {AGAIN}")
        self.name, self.dimension = self.card["name"], self.card["dimension"]
        self.max_length = min(filter(None, (max_length, self.card["max_length"])), default=None)
        self.long = long
        self.calibrations = calibrations(self.card)
        self.passage_weight = passage_weight(self.card)
        self.reading = load_reading(place, self.card)
        self._spellings = load_spellings(place, self.card)
        self.tokenizer = load_tokenizer(place / TOKENIZER, self.card["vocabulary"] + len(self._spellings))
        self._words = WordPieces.of(self.tokenizer, self.reading.wordpiece)
        self._components = load_components(place, self.card)
        self._models = _PerThread(place, self.card, threads)
        dimension = self._models.model().dimension
        if dimension != self.dimension:
            raise BundleError(f"{place}: {CARD} says {self.dimension} dimensions, the model has {dimension}; {AGAIN}")

    def tokenize(self, text: str, role: Literal["question", "document"] | None = "question") -> list[int]:
        """A text's ids: bos, pieces, eos, those of its role's prompt before it. Lone surrogates become U+FFFD, and soft
        hyphens, which would part a word, are left out.

        Pieces of words as people type them stand for those of written ones. None: the text alone.
        """
        if role not in (None, *ROLES):
            raise TextError(f"expected the role {' or '.join(ROLES)}, got {role!r}")
        text = (self.reading.prompts.get(role or "", "") + well_formed(text)).replace(SOFT_HYPHEN, "")
        cut = self._words.encode if self._words else self._encode
        ids = self._spellings.written(cut(text))
        most = min(filter(None, (self.max_length, self.reading.longest if role else None)), default=None)
        if self.long == "refuse" and most and len(ids) > most:
            raise TextError(f"a text of {len(ids)} pieces; at most {most} are taken")
        return shortened(ids, most)

    def _encode(self, text):
        return self.tokenizer.encode(text, add_bos=True, add_eos=True)

    def encode(
        self,
        texts: Sequence[str],
        role: Literal["question", "document"] = "question",
        progress: Callable[..., None] | None = None,
        language: str | None = None,
    ) -> NDArray[np.float32]:
        """`[str]` -> float32 `(n, dimension)`, rows of unit length, in order.

        The artefact may put a prompt of the role before the texts.
        `language`, that of all the texts: its directions are removed, where the artefact has components of it.
        """
        if language is not None and language not in self._components:
            known = ", ".join(self._components) or "none; export with --removal"
            raise TextError(f"no components of the language {language!r} to remove; there are {known}")
        if isinstance(texts, str):
            raise TextError(f"expected a list of texts, got one text; write encode([{texts[:20]!r}])")
        vectors, run = np.zeros((len(texts), self.dimension), dtype=np.float32), self._models.model()
        for row, text in enumerate(texts):
            ids = self.tokenize(text, role)
            try:
                vectors[row] = run(ids)
            except Exception as error:  # the runtimes' errors have no common type
                raise BundleError(f"{self.name}: the runtime cannot run it: {first_line(error)}") from error
            if progress:
                progress(1)
        return vectors if language is None else removed(vectors, self._components[language])


class Rules(NamedTuple):
    """How BERT reads a text: in lower case, without accents, each Chinese character as a word."""

    lowercase: bool = True
    strip_accents: bool = True
    chinese: bool = True


class Reading(NamedTuple):
    """How texts are read: `prompts` by role, put before a text, and `longest`, the most ids of one, bos and eos too.

    With `wordpiece` `WordPieces` cut them, and not SentencePiece.
    """

    prompts: Mapping[str, str] = MappingProxyType({})
    longest: int | None = None
    wordpiece: Rules | None = None

    @classmethod
    def of(cls, content: bytes) -> Reading:
        """The one in the content of a file. Raises `ValueError`."""
        fields = json.loads(content)
        if not isinstance(fields, dict) or not set(fields) <= set(cls._fields):
            raise ValueError(f"expected an object with some of {', '.join(cls._fields)}")
        prompts, longest = fields.get("prompts", {}), fields.get("longest")
        if not isinstance(prompts, dict) or not all(isinstance(prompt, str) for prompt in prompts.values()):
            raise ValueError("expected texts under 'prompts'")
        if not set(prompts) <= set(ROLES):
            raise ValueError(f"expected prompts for {' and '.join(ROLES)}, got {', '.join(prompts)}")
        if longest is not None and (type(longest) is not int or longest < 2):
            raise ValueError(f"expected a number of ids from 2 on under 'longest', got {longest!r}")
        rules = fields.get("wordpiece")
        kinds = {name: type(rule) for name, rule in rules.items()} if isinstance(rules, dict) else rules
        if kinds not in (None, dict.fromkeys(Rules._fields, bool)):
            raise ValueError(f"expected true or false for {', '.join(Rules._fields)} under 'wordpiece'")
        return cls(prompts, longest, None if rules is None else Rules(**rules))

    def content(self) -> bytes:
        """The content of the file that `of` reads, empty where there is nothing to say."""
        rules = self.wordpiece and self.wordpiece._asdict()
        fields = {"prompts": dict(self.prompts), "longest": self.longest, "wordpiece": rules}
        fields = {name: value for name, value in fields.items() if value}
        return (json.dumps(fields, ensure_ascii=False, indent=2) + "\n").encode() if fields else b""


class WordPieces:
    """BERT's way to cut a text: into words, and each into the longest pieces that there are, from its head on.

    Devlin et al. (2019), section 3; ids are those of Hugging Face's tokenizers. `pieces` by id, with `WITHIN` before
    those that do not begin a word; `unknown`, `bos` and `eos` are ids.
    """

    def __init__(self, pieces: Sequence[str], unknown: int, bos: int, eos: int, rules: Rules) -> None:
        self.pieces, self.signs, self.unknown = pieces, Signs(rules), unknown
        self._ids = {piece: id for id, piece in enumerate(pieces)}
        self._bos, self._eos = bos, eos
        self._longest = max(map(len, pieces))
        self._known: dict[str, list[int]] = {}

    @classmethod
    def of(cls, processor: sentencepiece.SentencePieceProcessor, rules: Rules | None) -> WordPieces | None:
        """Those of a SentencePiece model's pieces, None without rules."""
        if rules is None:
            return None
        pieces = processor.id_to_piece(list(range(processor.get_piece_size())))
        return cls(pieces, processor.unk_id(), processor.bos_id(), processor.eos_id(), rules)

    def encode(self, text: str) -> list[int]:
        """A text's ids: bos, pieces, eos."""
        return [self._bos, *(id for word in self.words(text) for id in self.ids(word)), self._eos]

    def words(self, text: str) -> list[str]:
        """The words of a text, as they are read."""
        return text.translate(self.signs).split()

    def ids(self, word: str) -> list[int]:
        """The ids of a word as it is read, that of the unknown piece where no pieces make it up."""
        ids = self._known.get(word)
        if ids is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            ids = self._known[word] = self._cut(word)
        return ids

    def _cut(self, word):
        ids, start = [], 0
        while start < len(word) <= LONGEST_WORD:
            before = WITHIN if start else ""
            ends = range(min(len(word), start + self._longest), start, -1)
            start, id = next(
                ((end, self._ids[before + word[start:end]]) for end in ends if before + word[start:end] in self._ids),
                (start, self.unknown),
            )
            if id == self.unknown:
                break
            ids.append(id)
        return ids if start == len(word) else [self.unknown]


class Signs(dict[int, str]):
    """Characters by their code, as `str.translate` takes them, each as BERT reads it by some rules.

    Blanks stand around what is a word for itself; what is not read is empty.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def __missing__(self, code: int) -> str:
        self[code] = read = self._read(chr(code))
        return read

    def _read(self, sign):
        kind = unicodedata.category(sign)
        if sign in "\t\n\r" or (sign.isspace() and kind != "Cc"):
            return " "
        if kind in ("Cc", "Cf", "Co", "Cs") or sign == "\ufffd":
            return ""
        apart = self._rules.chinese and any(first <= ord(sign) <= last for first, last in CHINESE)
        read = f" {sign} " if apart else sign
        if self._rules.strip_accents:
            read = "".join(part for part in unicodedata.normalize("NFD", read) if unicodedata.category(part) != "Mn")
        if self._rules.lowercase:
            read = "".join(map(str.lower, read))
        return "".join(f" {part} " if _is_punctuation(part) else part for part in read)


def _is_punctuation(sign):
    return sign in ASCII_SIGNS or unicodedata.category(sign).startswith("P")


class Spellings:
    """The pieces from the id `first` on, of words as people type them, and the ids that each stands for."""

    def __init__(self, first: int, stored: NDArray[np.int32]) -> None:
        self.first, self._ids = first, stored
        self._starts = np.append(0, np.flatnonzero(stored == END_OF_IDS).astype(np.int32) + 1)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def written(self, ids: list[int]) -> list[int]:
        """The ids with those that a piece stands for in its place."""
        if max(ids) < self.first:
            return ids
        return [each for id in ids for each in ([id] if id < self.first else self._stand_for(id - self.first))]

    def _stand_for(self, place):
        return self._ids[self._starts[place] : self._starts[place + 1] - 1].tolist()


class _PerThread:
    """The model, one instance a thread: an interpreter holds the state of one inference."""

    def __init__(self, folder, card, threads):
        self._arguments, self._local = (folder / MODELS[card["format"]], card, threads), threading.local()

    def model(self):
        """ids -> vector, this thread's own."""
        if not hasattr(self._local, "model"):
            path, card, threads = self._arguments
            kind = Onnx if card["format"] == "onnx" else Signatures if card["signatures"] else TFLite
            self._local.model = _made(kind, path, card, threads)
        return self._local.model


class Passages:
    """Passages of one's own, searched by their vectors and by those of their sentences.

    A passage scores its cosine to the question and that of its best sentence together, in [-2, 2], by the `shares` of
    the weight that the documents' encoder has for it. `split` cuts a text into sentences, by default `sentences` below;
    `functools.partial(sentencex.segment, "en")` knows abbreviations too. `document_encoder` encodes the passages where
    `encoder`, a smaller one of the same space, encodes the questions alone. Raises `BundleError` for two spaces.
    """

    def __init__(
        self,
        encoder: Encoder,
        texts: Sequence[str],
        split: Callable[[str], Sequence[str]] | None = None,
        document_encoder: Encoder | None = None,
    ) -> None:
        parts = [[part.strip() for part in (split or sentences)(text) if part.strip()] or [text] for text in texts]
        self.encoder, self._starts = encoder, np.cumsum([0, *map(len, parts)])[:-1]
        documents, some = document_encoder or encoder, texts[:COMPARED_TEXTS]
        self._calibration = encoder.calibrations.get("sum")
        if document_encoder:
            require_space(encoder, document_encoder.encode(some, "document"), some)
        self._shares = shares(documents.passage_weight)
        self.vectors = documents.encode(texts, "document")
        self.sentence_vectors = documents.encode([part for row in parts for part in row], "document")

    def nearest(self, questions: Sequence[str], k: int = 5) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The rows `(q, k)` of the nearest passages, best first, and their scores `(q, k)`; fewer of fewer passages."""
        if k < 1:
            raise ValueError(f"k: expected 1 at least, got {k}")
        vectors = self.encoder.encode(questions, "question")
        if not all(text.replace(SOFT_HYPHEN, "").strip() for text in questions):
            raise TextError("the question is empty; give a text")
        if not len(self.vectors):
            return np.zeros((len(questions), 0), dtype=np.int64), np.zeros((len(questions), 0), dtype=np.float32)
        best = np.maximum.reduceat(vectors @ self.sentence_vectors.T, self._starts, axis=1)
        of_passage, of_sentence = self._shares
        scores = (of_passage * (vectors @ self.vectors.T) + of_sentence * best).astype(np.float32, copy=False)
        rows = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return rows, np.take_along_axis(scores, rows, axis=1)

    def search(self, question: str, k: int = 5, threshold: float | None = None) -> Answer:
        """The `Answer` to a question; below `threshold`, the card's unless it is given, nothing is found.

        Without passages nothing is. Of an encoder that is not calibrated both are None.
        """
        [rows], [scores] = self.nearest([question], k if k < 1 else max(k, COMPARED))
        known = self._calibration
        probability = known.probability(scores, len(self.vectors)) if known else None
        least = threshold if threshold is not None or not known else known.threshold
        answered = None if probability is None or least is None else probability >= least
        return Answer(rows[:k], scores[:k], probability, answered)


class Answer(NamedTuple):
    """The rows of the nearest passages, best first, and their scores; how likely the first one answers the question."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]
    probability: float | None
    answered: bool | None


class Calibration:
    """How likely the first passage of a ranking answers, by its score, those of the next ones and how many there are.

    Of the first `COMPARED` scores z = best x the first + margin x (the first - the mean of the others) + few x
    `smallness`; passages that are missing score `usual`. The probability is a line through the points (`at`,
    `probability`), level beyond them. Below `threshold` nothing is found.
    """

    def __init__(self, fields: Calibrated) -> None:
        self.fields = fields
        self.threshold = float(fields["threshold"])
        self._at, self._probability = (np.array(fields[name], dtype=np.float64) for name in ("at", "probability"))
        if self._at.shape != self._probability.shape or self._at.ndim != 1 or not len(self._at):
            raise ValueError("as many probabilities as numbers are expected, one at least")

    def probability(self, scores: Sequence[float] | NDArray[np.float32], passages: int) -> float:
        """That the first of so many `passages` answers, by at least `COMPARED` scores, best first, or those of all."""
        return float(self.probabilities(np.asarray(scores, dtype=np.float32).reshape(1, -1), np.array([passages]))[0])

    def probabilities(self, scores: NDArray[np.float32], passages: NDArray[np.int64]) -> NDArray[np.float64]:
        """`(q,)`: as `probability`, of scores `(q, k)`; NaN where there are fewer passages. 0 without any."""
        first = np.full((len(scores), COMPARED), np.nan)
        first[:, : scores.shape[1]] = scores[:, :COMPARED]
        best, margin = compared(first, self.fields["usual"])
        known = self.fields["best"] * best + self.fields["margin"] * margin + self.fields["few"] * smallness(passages)
        return np.where(np.isnan(best), 0.0, np.interp(known, self._at, self._probability))


def require_space(encoder: Encoder, vectors: NDArray[np.float32], texts: Sequence[str]) -> None:
    """Raise `BundleError` where an encoder's vectors of some documents lie in another space than these, `(n, d)`.

    In one space the mean cosine is far above `LEAST_ALIGNMENT`, in two near 0. What all texts have in common is taken
    out before, where they are not all the same.
    """
    questions_side = encoder.encode(texts, "document")
    alignment = -1.0
    if questions_side.shape == vectors.shape:
        differ = len(set(texts)) > 1
        pair = [rows - rows.mean(axis=0) if differ else rows for rows in (questions_side, vectors)]
        lengths = [np.maximum(np.linalg.norm(rows, axis=1), 1e-12) for rows in pair]
        alignment = float(np.mean(np.sum(pair[0] * pair[1], axis=1) / (lengths[0] * lengths[1]))) if len(texts) else 1.0
    if not alignment >= LEAST_ALIGNMENT:
        raise BundleError(
            "the questions' encoder and the documents' have two spaces; ask with one of the same space, "
            "such as a student of the same teacher"
        )


def compared(first: NDArray[np.float64], usual: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The best of the first scores `(q, COMPARED)`, and by how much it is above the mean of the others, `(q,)` both."""
    best, others = first[:, 0], np.where(np.isnan(first[:, 1:]), usual, first[:, 1:])
    return best, best - others.mean(axis=1)


def smallness(passages: NDArray[np.int64]) -> NDArray[np.float64]:
    """How small collections of so many passages are, from 1 for `FEW` and fewer down to 0."""
    return FEW / np.maximum(passages, FEW)


def calibrations(card: Card) -> dict[str, Calibration]:
    """By score the `Calibration` of a card; none of one that says nothing of answers. Raises `BundleError`."""
    try:
        scores = card["answerable"]["scores"] if card.get(ANSWERABLE) else {}
        return {score: Calibration(fields) for score, fields in scores.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BundleError(f"{CARD}: {ANSWERABLE!r} is not what a card says of answers: {first_line(error)}") from error


def passage_weight(card: Card) -> float:
    """The weight of a passage's own vector beside its best sentence, 1 where a card says none. Raises `BundleError`."""
    weight = card.get(PASSAGE_WEIGHT, 1.0)
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight <= MOST_WEIGHT:
        expected = f"expected a number above 0, at most {MOST_WEIGHT:g}"
        raise BundleError(f"{CARD}: {PASSAGE_WEIGHT!r} is {weight!r}; {expected}")
    return float(weight)


def shares(weight: float) -> tuple[float, float]:
    """The factors of a passage's own score and of its best sentence's: 2 together, so that sums stay in [-2, 2]."""
    return 2 * weight / (1 + weight), 2 / (1 + weight)


def sentences(text: str) -> list[str]:
    """A text cut behind its full stops, question marks and the like, and at line breaks; nothing of it is lost."""
    ends = [match.end() for match in END.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True) if start < end]


def _made(kind, path, card, threads):
    try:
        return kind(path, card, threads)
    except BundleError:
        raise
    except Exception as error:  # a model of other inputs or outputs
        raise BundleError(f"{path}: not an encoder's model: {first_line(error)}; {AGAIN}") from error


class TFLite:
    """ids -> vector by a flatbuffer with one input, of any length or of a fixed one.

    An input of any length is kept at `WIDTH` ids for all texts that fit, as every other length is a new plan.
    """

    def __init__(self, path: Path, card: Card, threads: int) -> None:
        self._interpreter = load_interpreter(path, threads)
        (ids,), (vectors,) = self._interpreter.get_input_details(), self._interpreter.get_output_details()
        self._input, self._output, self.dimension = ids["index"], vectors["index"], vectors["shape"][-1]
        self._fixed, self._width = card["max_length"], ids["shape"][1]
        if self._fixed and ids["shape"].tolist() != [1, self._fixed]:
            raise BundleError(f"{path}: takes {ids['shape'].tolist()} ids, {CARD} says {self._fixed}; {AGAIN}")

    def __call__(self, ids: list[int]) -> NDArray[np.float32]:
        width = self._fixed or max(WIDTH, len(ids))
        if width != self._width:
            self._interpreter.resize_tensor_input(self._input, (1, width))
            self._interpreter.allocate_tensors()
            self._width = width
        self._interpreter.set_tensor(self._input, padded(ids, width))
        self._interpreter.invoke()
        return self._interpreter.get_tensor(self._output)[0]


class Signatures:
    """ids -> vector by the signature of the least length that holds them."""

    def __init__(self, path: Path, card: Card, threads: int) -> None:
        interpreter, self._lengths = load_interpreter(path, threads), card["signatures"]
        try:
            self._runs = [interpreter.get_signature_runner(f"encode_{length}") for length in self._lengths]
        except ValueError as error:
            raise BundleError(f"{path}: has not the signatures {self._lengths} of {CARD}; {AGAIN}") from error
        self.dimension = self._runs[0].get_output_details()["vectors"]["shape"][-1]

    def __call__(self, ids: list[int]) -> NDArray[np.float32]:
        place = next(place for place, length in enumerate(self._lengths) if length >= len(ids))
        return self._runs[place](ids=padded(ids, self._lengths[place]))["vectors"][0]


class Onnx:
    """ids -> vector by onnxruntime."""

    def __init__(self, path: Path, card: Card, threads: int) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise BundleError("onnxruntime is not installed; run: pip install onnxruntime") from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no public type
            raise BundleError(f"{path}: onnxruntime cannot load it: {first_line(error)}") from error
        self.dimension = self._session.get_outputs()[0].shape[-1]

    def __call__(self, ids: list[int]) -> NDArray[np.float32]:
        return self._session.run(["vectors"], {"ids": np.array([ids], dtype=np.int32)})[0][0]


def shortened(ids: list[int], most: int | None) -> list[int]:
    """At most `most` ids (None: any number), the last one kept."""
    return ids if most is None or len(ids) <= most else ids[: most - 1] + ids[-1:]


def padded(ids: list[int], length: int) -> NDArray[np.int32]:
    """int32 `(1, length)`: the ids, then padding."""
    row = _blank(length).copy()
    row[0, : len(ids)] = ids
    return row


@functools.lru_cache(maxsize=8)
def _blank(length):
    return np.full((1, length), PADDING, dtype=np.int32)


def well_formed(text: str) -> str:
    """The text with each lone surrogate as U+FFFD, so that it has a UTF-8 form. Raises `TextError` for no text."""
    if not isinstance(text, str):
        raise TextError(f"expected a text, got {type(text).__name__}")
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_card(folder: Path) -> Card:
    """The artefact's card. Raises `BundleError`."""
    path = folder / CARD
    require_inside(folder, CARD)
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BundleError(f"{folder}: {CARD} is missing; {AGAIN}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise BundleError(f"{path}: not an artefact's card: {first_line(error)}; {AGAIN}") from error
    fields = card if isinstance(card, dict) else {}
    wrong = [name for name, kind in FIELDS.items() if not isinstance(fields.get(name, ...), kind)]
    if not wrong and not all(
        isinstance(said, dict) and {"bytes", "sha256"} <= set(said) for said in card["files"].values()
    ):
        wrong = ["bytes or sha256"]
    if wrong:
        raise BundleError(f"{path}: not an artefact's card: {', '.join(wrong)} missing or of another type; {AGAIN}")
    return card


def check_files(folder: Path, card: Card, hashes: bool = True) -> None:
    """Raise `BundleError` for a file of the card that is missing, or has another size or, with `hashes`, sha256."""
    there = os.listdir(folder)
    for name, said in card["files"].items():
        path = folder / name
        if name not in there and name == SCRIPT.name and SCRIPT.parents[1] in Path(folder).resolve().parents:
            # distill's checkout has it once for all bundles.
            path = SCRIPT
        elif name not in there or not path.is_file():
            raise BundleError(f"{folder}: {name} is missing; {AGAIN}")
        else:
            require_inside(folder, name)
        if path.stat().st_size != said["bytes"]:
            raise BundleError(f"{path}: {path.stat().st_size} bytes, {CARD} says {said['bytes']}; {AGAIN}")
        if hashes and sha256(path) != said["sha256"]:
            raise BundleError(f"{path}: its sha256 is not the one in {CARD}; {AGAIN}")


def require_inside(folder: Path, name: str) -> None:
    """Raise `BundleError` for a symbolic link that leads out of the folder."""
    if os.path.dirname(os.path.realpath(folder / name)) != os.path.realpath(folder):
        raise BundleError(f"{folder}: {name} is a symbolic link that leads out of it; put the file itself there")


def sha256(path: Path) -> str:
    """The hash of a file, read in parts."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def load_tokenizer(path: Path, vocabulary: int) -> sentencepiece.SentencePieceProcessor:
    """The SentencePiece processor. Raises `BundleError`."""
    try:
        tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError) as error:
        raise BundleError(f"{path}: not a SentencePiece model; {AGAIN}") from error
    if tokenizer.get_piece_size() != vocabulary:
        raise BundleError(f"{path}: {tokenizer.get_piece_size()} pieces, but the encoder has {vocabulary}; {AGAIN}")
    return tokenizer


def load_reading(folder: Path, card: Card) -> Reading:
    """The `Reading` of the artefact, the plain one where there is no file. Raises `BundleError`."""
    if READING not in card["files"]:
        return Reading()
    try:
        return Reading.of((folder / READING).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise BundleError(f"{folder / READING}: says nothing of how to read: {first_line(error)}; {AGAIN}") from error


def load_spellings(folder: Path, card: Card) -> Spellings:
    """The `Spellings` of the artefact, none where there is no file. Raises `BundleError`."""
    if SPELLINGS not in card["files"]:
        return Spellings(card["vocabulary"], np.zeros(0, dtype=np.int32))
    try:
        with np.load(folder / SPELLINGS, allow_pickle=False) as file:
            stored = file["ids"]
    except (OSError, ValueError, EOFError, KeyError, TypeError, AttributeError, BadZipFile, zlib.error) as error:
        raise BundleError(f"{folder / SPELLINGS}: not the spellings of a tokenizer; {AGAIN}") from error
    right = stored.ndim == 1 and stored.dtype == np.int32 and len(stored) and stored[-1] == END_OF_IDS
    if not right or stored.min() < END_OF_IDS or stored.max() >= card["vocabulary"]:
        raise BundleError(f"{folder / SPELLINGS}: not the spellings of {card['vocabulary']} pieces; {AGAIN}")
    return Spellings(card["vocabulary"], stored)


def load_components(folder: Path, card: Card) -> Mapping[str, NDArray[np.float32]]:
    """`{language: float32 (r, dimension)}` of what `encode` can remove, empty where the card says nothing of it."""
    said = card.get("removal")
    if said is None:
        return {}
    try:
        components, names = np.load(folder / REMOVAL, allow_pickle=False), said["languages"]
        if components.ndim != 3 or (len(components), components.shape[2]) != (len(names), card["dimension"]):
            raise ValueError(f"of shape {components.shape}")
        return {name: components[row] for row, name in enumerate(names)}
    except (OSError, ValueError, EOFError, KeyError, TypeError, AttributeError) as error:
        raise BundleError(f"{folder / REMOVAL}: not the components that {CARD} says; {AGAIN}") from error


def removed(vectors: NDArray[np.float32], components: NDArray[np.float32]) -> NDArray[np.float32]:
    """Unit rows `(n, d)` without what lies along the orthonormal `components` `(r, d)`, unit rows again."""
    left = vectors - (vectors @ components.T) @ components
    return left / np.maximum(np.linalg.norm(left, axis=1, keepdims=True), 1e-12)


def load_interpreter(path: Path, threads: int) -> Interpreter:
    """A TFLite interpreter, tensors allocated. Raises `BundleError`."""
    try:
        interpreter = interpreter_class()(model_path=str(path), num_threads=threads)
        interpreter.allocate_tensors()
    except (ValueError, RuntimeError) as error:
        raise BundleError(f"{path}: the runtime cannot load it: {first_line(error)}") from error
    return interpreter


def interpreter_class() -> type[Interpreter]:
    """The interpreter of the runtime that is installed. Raises `BundleError` where none is."""
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError:
        try:
            from tflite_runtime.interpreter import Interpreter
        except ImportError:
            raise BundleError("no TFLite runtime found; run: pip install ai-edge-litert") from None
    return Interpreter


def first_line(error: Exception) -> str:
    """The first line of an error's text, or its type's name where it has none."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def main(arguments: Sequence[str]) -> None:
    """Encode a file of lines, by their role, into a file of vectors, which is there whole or not at all."""
    if not 2 <= len(arguments) <= 3 or not set(arguments[2:]) <= {*ROLES}:
        sys.exit("usage: python encode.py texts.jsonl vectors.npy [question|document]")
    source, target = map(Path, arguments[:2])
    if os.path.lexists(target) and (target.is_symlink() or not target.is_file()):
        raise BundleError(f"{target}: a link, a folder or a device, which is not replaced; name another file")
    texts = [_text(number, line) for number, line in enumerate(_lines(source), start=1) if line.strip()]
    encoder = Encoder()
    if not arguments[2:] and len({encoder.reading.prompts.get(role, "") for role in ROLES}) > 1:
        raise BundleError(f"{encoder.name} reads questions and documents differently; add question or document")
    vectors = encoder.encode(texts, "document" if "document" in arguments[2:] else "question")
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with open(aside, "wb") as file:
            np.save(file, vectors)
        os.replace(aside, target)
    except OSError as error:
        raise BundleError(f"cannot write {target}: {error.strerror or first_line(error)}") from error
    finally:
        aside.unlink(missing_ok=True)


def _lines(source):
    try:
        # Windows writes a mark before the first character.
        return source.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise BundleError(f"{source}: not UTF-8 at byte {error.start}; save the file as UTF-8") from error


def _text(number, line):
    try:
        text = json.loads(line)["text"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BundleError(f'line {number}: expected an object such as {{"id": "1", "text": "…"}}') from error
    if not isinstance(text, str):
        raise BundleError(f"line {number}: expected a string under 'text', got {type(text).__name__}")
    return text


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (BundleError, OSError, ValueError, KeyError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(1)
