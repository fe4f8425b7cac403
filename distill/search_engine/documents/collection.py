"""Documents for training: alone, as a collection with a heading for each passage, or with a table of questions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ...data.corpus import Collection
from ...data.dataset import Dataset, Passage
from ...data.json_lines import DOCUMENTS, QUESTIONS
from ...data.parsing import LANGUAGES, first_given, parse_distinct_answers
from ...encoders.catalog.loading import load_encoder
from ...errors import DataError, InputError
from ...system.files import write_text
from ...system.hashes import sha256
from ...system.text import dump_json
from ...system.types import File, Json
from ...vocabulary.words.cutting import Cut
from .document import Document, add_passages
from .limits import SkippedFiles
from .read_documents import read_documents
from .records import Columns

# Documents of two sentences or more: with fewer nothing can be held out.
FEWEST = 50
SECTION = "section"
# Between the words of a file's name.
JOINTS = re.compile(r"[-_\s]+")


def read_collection(paths: Sequence[File], language: str = "en") -> Collection:
    """Read the documents of files and folders, as `distill index` does."""
    documents = _read_cut(paths, Columns(), language)
    parts = [document.passages for document in documents]
    long = sum(sum(len(part.sentences) for part in of) > 1 for of in parts)
    if long < FEWEST:
        raise DataError(
            f"{', '.join(map(str, paths))}: {long} of {len(documents)} documents have two sentences or more, expected "
            f"{FEWEST}; of fewer nothing can be learned and held out, so use the encoder as it is"
        )
    name = Path(paths[0]).stem
    passages = [
        Passage(f"{number}/{place}", document.text[part.start : part.end], number, part.sentences, spoken)
        for number, (document, of) in enumerate(zip(documents, parts, strict=True))
        for place, (part, spoken) in enumerate(zip(of, _languages(document, len(of)), strict=True))
    ]
    titles = tuple(title_of(document) for document in documents)
    files = {str(path): sha256(path) for path in paths if Path(path).is_file()}
    dataset = Dataset(name, language, titles, tuple(passages), {}, {}, files)
    sections = [str(document.fields.get(SECTION) or "") for document in documents]
    headings = tuple(f"{titles[one.document]} {sections[one.document]}".strip() for one in passages)
    return Collection(dataset, headings)


def _read_cut(paths, columns, language):
    skipped = SkippedFiles()
    prepare = partial(add_passages, cut=Cut(language=language))
    documents = list(read_documents(paths, columns, skipped, prepare=prepare))
    if not documents:
        raise skipped.make_error(", ".join(map(str, paths)))
    skipped.say()
    return documents


def _languages(document, passages):
    """Return the language of each passage, empty for that of the collection."""
    return [part.language or document.language for part in document.parts] or [document.language] * passages


def title_of(document: Document) -> str:
    """Return the title of a document; for a file without one, the words of its name."""
    title = str(document.fields["title"])
    path = document.fields.get("path")
    return JOINTS.sub(" ", title).strip() if path and title == Path(path).stem else " ".join(title.split())


# What a table of questions calls a question and the document or passage that answers it.
ASKED = Columns("question", advice="rename the column")
ANSWERING = ("article", "document", "passage", "file")
# Tells which passage of a document answers, where the table does not.
NEAREST = "multi12-static"


def write_dataset(
    paths: Sequence[File], questions: File, folder: File, language: str = "en", columns: Columns | None = None
) -> list[str]:
    """Write a data set's documents.jsonl and questions.jsonl from files of documents and a table of questions.

    A question names a document by its id, its file's name or its title, or a passage by its id. Returns lines that say
    what was left out or guessed. Raises `DataError` for a question that names something else, or has no language, and
    for rows of one id that are no translations.
    """
    places = [Path(folder) / name for name in (DOCUMENTS, QUESTIONS)]
    if there := [str(place) for place in places if place.exists()]:
        raise InputError(f"{there[0]} is there already; remove it, or leave out --documents and --questions")
    documents = _read_cut(paths, columns or Columns(), language)
    if twice := [id for id, count in Counter(one.id for one in documents).items() if count > 1]:
        raise DataError(f"two documents have the id {twice[0]!r}; give each an id of its own")
    rows, notes = _read_questions(questions, _name_documents(documents))
    if language not in (spoken := {row["language"] for row in rows}):
        raise DataError(
            f"{questions}: no question in the documents' language {language} names a document; found "
            f"{', '.join(sorted(spoken)) or 'none'}. Add one, or name the language with --document-language"
        )
    _require_translations(questions, rows)
    notes += _choose_passages(rows, {one.id: _texts(one) for one in documents if len(one.passages) > 1})
    for place, lines in zip(places, ([_as_row(one, language) for one in documents], rows), strict=True):
        write_text(place, "".join(f"{dump_json(line)}\n" for line in lines))
    return notes


def _texts(document):
    return [document.text[part.start : part.end] for part in document.passages]


def _as_row(document, language) -> Json:
    passages: list[Json] = [
        {"text": text, "sentence_breaks": [list(pair) for pair in part.sentences]}
        for text, part in zip(_texts(document), document.passages, strict=True)
    ]
    row: dict[str, Json] = {"id": document.id, "title": title_of(document), "passages": passages}
    return row | ({"language": document.language} if document.language not in ("", language) else {})


def _name_documents(documents):
    """Return the document or passage of each name that only one has."""
    names: dict[str, set[str]] = {}
    for one in documents:
        path = Path(one.id)
        for name in (path.name, path.stem, title_of(one), str(one.fields["title"])):
            names.setdefault(name, set()).add(one.id)
    one_each = {name: min(ids) for name, ids in names.items() if len(ids) == 1}
    passages = {f"{one.id}/{place}": f"{one.id}/{place}" for one in documents for place in range(len(one.passages))}
    return one_each | passages | {one.id: one.id for one in documents}


def _read_questions(file, names):
    """Return the rows of questions, of which those with one id are translations, and notes."""
    rows, without = [], 0
    for number, one in enumerate(read_documents([file], ASKED), 1):
        row = _read_question(one, str(number), names)
        without += row is None
        rows += [row] if row else []
    return rows, [f"{file}: rows without a document, which are left out: {without}"] if without else []


def _read_question(one, number, names):
    """Return a row, None without a document. Raises `DataError` for an unknown one, and without a language."""
    key, spoken = first_given(one.fields, ANSWERING), first_given(one.fields, LANGUAGES)
    named = str(one.fields[key]).strip() if key else ""
    if not named:
        return None
    if named not in names:
        raise DataError(
            f"{one.place}: not one document has the id, file name or title {named!r}; ids are such as "
            f"{next(reversed(names))!r}, and --id-field names the field of a record's id"
        )
    language = str(one.fields[spoken]).strip() if spoken else ""
    if not language:
        raise DataError(f"{one.place}: expected the question's language, such as de, under 'language'")
    id = number if one.id == one.place else one.id
    row = {"id": id, "language": language, "text": one.text, "passage": names[named]}
    answers = parse_distinct_answers(one.place, one.fields, f"question {id}")
    return row | ({"answers": list(answers)} if answers else {})


def _require_translations(file, rows):
    """Raise `DataError` for an id that is there twice in a language, or about two documents."""
    about, known = {}, set()
    for row in rows:
        id, language = row["id"], row["language"]
        if (id, language) in known or about.setdefault(id, row["passage"]) != row["passage"]:
            what = f"is there twice in {language}" if (id, language) in known else "names two documents"
            raise DataError(
                f"{file}: question {id} {what}; rows with one id are translations, and one without has its row's number"
            )
        known.add((id, language))


def _choose_passages(rows, texts):
    """Name the passage nearest to a question and its translations together, where no answer is in one."""
    told = {row["id"] for row in rows if _has_answer(texts.get(row["passage"], ()), row.get("answers", ()))}
    vague = [row for row in rows if row["passage"] in texts and row["id"] not in told]
    if not vague:
        return []
    encoder, scores = load_encoder(NEAREST), {}
    questions = encoder.encode([row["text"] for row in vague], "question")
    vectors = {id: encoder.encode(texts[id], "document") for id in {row["passage"] for row in vague}}
    for row, vector in zip(vague, questions, strict=True):
        scores[row["id"]] = scores.get(row["id"], 0) + vectors[row["passage"]] @ vector
    for row in vague:
        row["passage"] += f"/{int(scores[row['id']].argmax())}"
    return [
        f"questions about a document of several passages, of which {NEAREST} chose the nearest: {len(vague)}; "
        "measure by document"
    ]


def _has_answer(texts, answers):
    return any(answer in text for answer in answers for text in texts)
