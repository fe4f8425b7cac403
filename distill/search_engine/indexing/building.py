"""`distill index`: make an index, add to it, and remove from it; the same command resumes after a stop.

Documents are read and cut first, in batches in `kb/.part`, so that errors in them are reported before any is encoded.
Then batches are encoded, and finally `index.bin` is written aside and renamed.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from ...encoders.catalog.bundle import read_passage_weight
from ...encoders.catalog.identity import locate_encoder, weights_fingerprint
from ...encoders.catalog.kinds import find_folder
from ...encoders.catalog.loading import load_encoder
from ...encoders.encoder import Encoder
from ...encoders.files.encode_file import Engine, LeftOut
from ...encoders.health import PROBES, require_finite, require_space
from ...errors import DataError, InputError, one_line
from ...export import encode as bundle
from ...retrieval.codes import FEW, WHOLE
from ...retrieval.units import as_thousandths, from_thousandths
from ...settings.choices import PASSAGE_SCORES
from ...system.files import find_leftovers, hold_lock, remove, require_writable, resolve_target, usable_path
from ...system.progress import Progress, say, task
from ...system.types import File, Integers, Json
from ...vocabulary.words.cutting import Cut
from ...vocabulary.words.segmenters import is_language
from .assembling import list_kept, write_index
from .batches import VECTORS, Batches
from .index_file import FILE, FORMAT, QUESTIONS, Index, hash_id
from .intake import AUTO, IndexChange, Intake, take_in
from .lexical import CARD as OF_WORD_ENCODER
from .lexical import name_word_encoder
from .sources import SOURCES, Sources, read_sources

PART, LOCK = ".part", ".lock"
# The encoder of a new index where none is named: of those that ship, the one that finds most for its size.
BEST = "multi12-transformer"
# Bits of a number of `--compact`.
COMPACT = 1
# Texts of a batch that are held and encoded at a time: a long document's vectors are many times its size.
ROWS = 2048
# Documents that are named of many.
NAMED = 5
# Of an encoder that names no other.
SCORE = "sum"


@dataclass(frozen=True)
class IndexSettings:
    """The settings of an index, None for those of an existing index or the defaults.

    Attributes:
        length: The length of a passage, as in `Cut`.
        overlap: The overlap of passages, as in `Cut`.
        language: The language of documents that do not name theirs.
        score: The score of a passage, by default as the encoder's card says, or else "sum".
        bits: The bits per number of vectors, 8, or fewer for a compact index.
        hybrid: Whether words are indexed too. It may be changed later.

    Example:
        >>> import distill
        >>> distill.IndexSettings(length=400, overlap=80, hybrid=True).language is None
        True
    """

    length: int | None = None
    overlap: int | None = None
    language: str | None = None
    score: str | None = None
    bits: int | None = None
    hybrid: bool | None = None


def build_index(
    folder: File,
    change: IndexChange,
    source: File | None = None,
    given: IndexSettings | None = None,
    engine: Engine | None = None,
    question_model: File | None = None,
    word_model: File | None = None,
) -> dict[str, Json]:
    """Make the index in `folder`, or change the one that is there.

    Documents that stay keep their order, and those of `change` follow. Files that are added one after the other
    therefore make the same index as files that are added at once. Texts that the index has already are not encoded
    again. If a call was stopped, the same call continues it.

    Args:
        folder: The folder of the index.
        change: The files and folders of documents to add, and the ids to remove.
        source: The encoder, by any name that `load_encoder` takes; None for that of the existing index, or for
            `BEST`.
        given: How documents are cut and stored; None for the settings of the existing index, or the defaults.
        engine: Encodes the texts elsewhere, such as `ray_engine`; None for this process.
        question_model: The encoder of the questions, a small one in the space of `source`. None takes the one that the
            index has, or `source`.
        word_model: The encoder that finds words of the index with the meaning of a question's word, if words are
            indexed: a small one that knows the languages of the questions. "none" compares words only as they are
            written. None takes the one that the index has, or `multi12-static`.

    Returns:
        The card of the index, with the numbers of `documents`, `passages` and `sentences`.

    Raises:
        InputError: If there is nothing to do, or if the settings differ from those of the existing index.
        DataError: If documents cannot be read. The message names file and line.
        EncoderError: If `source` names no encoder or another one than that of the index, or if questions and documents
            are encoded in different spaces.

    Example:
        >>> import distill, pathlib
        >>> _ = pathlib.Path("rivers.txt").write_text("The Danube ends in the Black Sea.")
        >>> card = distill.build_index("my-index", distill.IndexChange(["rivers.txt"]), "multi12-static")
        >>> card["documents"]
        1
    """
    folder, given = resolve_target(usable_path(folder)), given or IndexSettings()
    more = (given.hybrid or question_model or word_model) and (folder / FILE).exists()
    if not change.documents and not change.removed and not more:
        raise InputError("no documents; give --documents FILE…, or --remove ID")
    if change.synced and not change.documents:
        raise InputError("--sync compares the index with --documents, which are not given; name the files and folders")
    _require_folder(folder)
    there, source = folder.exists(), source or _usual_encoder(folder)
    encoder, fingerprint = load_encoder(source), weights_fingerprint(source)
    folder.mkdir(parents=True, exist_ok=True)
    # Where a link leads: of all folders that have one to an index, one command writes it.
    lock = resolve_target(folder / FILE).parent / LOCK
    try:
        with hold_lock(lock, f"{folder}: another process is writing it; wait for its end"), _open_part(folder) as part:
            known = Index(folder) if (folder / FILE).exists() else None
            if known:
                known.require(fingerprint, source)
            settings = _choose_settings(known, source, given)
            card = {"format": FORMAT, "encoder": locate_encoder(source), "fingerprint": fingerprint, **settings}
            card |= _name_question_encoder(known, card, encoder, question_model)
            card |= _note_weight(known, source)
            card |= name_word_encoder(word_model, card, known.card if known else None)
            job = _Job(encoder, card, part, known)
            return job.run(resolve_target(folder / FILE), change, engine)
    finally:
        if not there and not any(folder.iterdir()):
            folder.rmdir()


def _usual_encoder(folder: File) -> str:
    """Return the encoder that an index takes unless told otherwise: its own, or for a new one `BEST`."""
    path = Path(folder) / FILE
    return Index(path.parent).find_encoder() if path.exists() else BEST


def _require_folder(folder):
    content = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    # A command that was killed leaves its lock.
    if content - {LOCK} and not content & {FILE, PART}:
        raise InputError(f"{folder} is a folder that is not empty, and no index; choose another name")
    if not folder.is_dir():
        require_writable(folder)


def _choose_settings(known: Index | None, source: File, given: IndexSettings) -> dict[str, Json]:
    """Return the settings of an existing index, or those given, or the defaults."""
    said = {name: value for name, value in asdict(given).items() if value is not None}
    if not known:
        usual = {"language": AUTO, "score": _score_of(source), "bits": WHOLE, "hybrid": False}
        settings = {**asdict(Cut()), **usual, **said}
        _require_possible(settings)
        return settings
    if missing := [name for name in asdict(IndexSettings()) if name not in known.card]:
        raise DataError(f"{known.path}: its card lacks {', '.join(missing)}; write the index anew in another folder")
    words = known.card.get("hybrid", False) or said.pop("hybrid", False)
    settings = {name: words if name == "hybrid" else known.card[name] for name in asdict(IndexSettings())}
    if other := [name for name, value in said.items() if settings[name] != value]:
        choices = ", ".join(_option(name, settings[name]) for name in other)
        raise InputError(f"{known.path}: was made with {choices}; give the same, or write to another folder")
    _require_possible(settings)
    return settings


def _note_weight(known: Index | None, source: File) -> dict[str, Json]:
    """Return the entry of a card about the weight of a passage, none if it is 1. An index keeps the one that it has.

    A new one has that of the card which says how likely an answer is: of a run's bundle, if a run is named.
    """
    weight = known.passage_weight if known else read_passage_weight(source)
    number = as_thousandths(weight)
    return {bundle.PASSAGE_WEIGHT: from_thousandths(number)} if number else {}


def _name_question_encoder(
    known: Index | None, card: dict[str, Json], encoder: Encoder, source: File | None
) -> dict[str, Json]:
    """Return the entries of a card about the encoder of questions, none if it is the card's `encoder`."""
    if source is None:
        return {name: known.card[name] for name in QUESTIONS if name in known.card} if known else {}
    fingerprint = weights_fingerprint(source)
    if fingerprint == card["fingerprint"]:
        return {}
    if card["bits"] != WHOLE:
        raise InputError(
            "--question-model: a compact index scores its passages again by the encoder that is asked, which has to be "
            "theirs; leave it out, or make the index without --compact"
        )
    require_space(load_encoder(source), encoder.encode(PROBES, "question"), (f"{source}", f"{card['encoder']}"))
    return dict(zip(QUESTIONS, (locate_encoder(source), fingerprint), strict=True))


def _require_possible(values):
    if not 0 <= values["overlap"] < values["length"]:
        raise InputError(
            f"--overlap {values['overlap']}: expected at least 0 and less than --length {values['length']}"
        )
    if values["language"] != AUTO and not is_language(values["language"]):
        raise InputError(f"--language {values['language']}: no such language; expected a code such as de, or {AUTO}")
    for name, known in (("score", PASSAGE_SCORES), ("bits", (*FEW, WHOLE))):
        if values[name] not in known:
            raise InputError(f"{name} {values[name]!r}: expected one of {', '.join(map(str, known))}")


def _option(name, value):
    if name == "bits":
        return "no --compact" if value == WHOLE else "--compact"
    return f"--{name} {value}"


def _score_of(source):
    folder = find_folder(source)
    card = bundle.read_card(folder) if folder is not None and (folder / bundle.CARD).is_file() else {}
    score = card.get("score", SCORE)
    # maxp is of documents.
    return score if score in PASSAGE_SCORES else SCORE


@contextmanager
def _open_part(folder: Path) -> Iterator[Path]:
    """Provide the folder of unfinished work, which stays if anything was encoded and is removed otherwise."""
    part = folder / PART
    ours = f".{FILE}.", f".{SOURCES}."
    for path in (*find_leftovers(part), *(path for path in find_leftovers(folder) if path.name.startswith(ours))):
        remove(path)
    part.mkdir(exist_ok=True)
    try:
        yield part
    except BaseException:
        if any(part.glob(f"*{VECTORS}")):
            say(f"{part}: what is encoded is kept; the same command goes on with it")
        else:
            shutil.rmtree(part, ignore_errors=True)
        raise
    shutil.rmtree(part)


@dataclass(frozen=True)
class _Job:
    """The work of one command on an index."""

    encoder: Encoder
    card: dict[str, Json]
    part: Path
    known: Index | None

    def run(self, path: Path, change: IndexChange, engine: Engine | None) -> dict[str, Json]:
        self._require_there(change.removed)
        words_by = self._load_word_encoder()
        sources = read_sources(path.parent, self.known)
        intake = take_in(self.part, change, self.card, self.known, sources.names)
        come = set(intake.hashes.tolist())
        if both := [id for id in change.removed if hash_id(id) in come]:
            raise InputError(f"--remove {both[0]}: --documents have it, too; take it out of these, or do not remove it")
        gone = self._find_gone(change, intake, sources)
        if change.synced and not change.removes_most:
            sources.require_most(change.documents, intake.sources, gone)
        if change.documents and not intake.keys and not (change.synced and gone):
            raise intake.skipped.make_error(", ".join(map(str, change.documents)))
        intake.skipped.say()
        self._tell(gone, change.synced)
        out = {*map(hash_id, change.removed), *(gone if change.synced else ())}
        stay = self._find_staying(come | out)
        jobs = Batches(self.part, intake.keys, self.card["score"] != "vector", self.card["bits"])
        self._encode(jobs, engine)
        stored = [jobs.batch(number) for number in range(jobs.blocks)]
        earlier = list_kept(self.known, stay) if self.known else []
        whole = {**self.card, "dimension": self.encoder.dimension, "axes": self.encoder.dimension}
        after = sources.apply_change(intake.sources, out)
        # Wherever this stops, the sources are those of the index: sources.py.
        sources.join(after).write(path.parent)
        written = write_index(path, [*earlier, *stored], whole, self.encoder.dimension, words_by)
        after.write(path.parent)
        return written

    def _load_word_encoder(self) -> Encoder | None:
        """Return the encoder of words, or None if they have no vectors."""
        source, fingerprint = OF_WORD_ENCODER
        if fingerprint not in self.card:
            return None
        is_the_same = self.card[fingerprint] == self.card["fingerprint"]
        return self.encoder if is_the_same else load_encoder(self.card[source])

    def _require_there(self, removed: Sequence[str]) -> None:
        for id in removed:
            if not self.known or hash_id(id) not in self.known.ids:
                raise InputError(f"--remove {id}: no document of {self.part.parent} has this id")

    def _find_gone(self, change: IndexChange, intake: Intake, sources: Sources) -> set[int]:
        """Return the hashes of documents that are no longer in the given files and folders.

        Of a file that could not be read in whole nobody knows, so its documents are not among them.
        """
        unknown = {*intake.hashes.tolist(), *map(hash_id, change.removed), *sources.within(intake.skipped.unread)}
        return set(sources.within(change.documents)) - unknown

    def _tell(self, gone: Collection[int], synced: bool) -> None:
        if self.known and gone:
            ids = [str(self.known.fields(self.known.ids[hash])["id"]) for hash in islice(gone, NAMED)]
            named = ", ".join(sorted(ids)) + ", …" * (len(gone) > NAMED)
            fate = "are taken out" if synced else "stay in the index; --sync takes them out"
            say(one_line(f"Documents whose file or record is gone, {len(gone)} in all, {fate}: {named}"))

    def _find_staying(self, out: Collection[int]) -> Integers:
        """Return the documents that stay in the index: all except those of the given hashes."""
        ids = self.known.ids if self.known else {}
        return np.array([document for id, document in ids.items() if id not in out], dtype=np.int64)

    def _encode(self, jobs: Batches, engine: Engine | None) -> None:
        missing, left_out = jobs.missing, LeftOut(self.encoder)
        if done := jobs.blocks - len(missing):
            say(f"{self.part}: going on after {done} of {jobs.blocks} batches")
        rows = {number: jobs.rows(number) for number in missing}
        with task("encode", sum(rows.values())) as advance:
            for number in (number for number in missing if not rows[number]):
                jobs.write(number, [np.zeros((0, self.encoder.dimension), np.float32)], self.known)
            for number, parts in self._vectors(jobs, [number for number in missing if rows[number]], engine, advance):
                jobs.write(number, parts, self.known)
                if left_out.is_looking:
                    left_out.look(jobs.read(number), sum(rows[before] for before in missing if before < number))

    def _vectors(self, jobs, missing, engine, advance: Progress):
        if engine:
            for number, vectors in engine(jobs, missing, "document"):
                yield number, [vectors]
                advance(len(vectors))
            return
        for number in missing:
            yield number, self._encode_parts(jobs.iter_texts(number), advance)

    def _encode_parts(self, texts, advance):
        while part := list(islice(texts, ROWS)):
            yield require_finite(self.encoder.encode(part, "document", advance), self.encoder)
