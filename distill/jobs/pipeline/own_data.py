"""Look at a folder of a user's own data, say what it has and lacks, and write a config for it."""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import tomlkit

from ...data.contexts import DESCRIPTIONS, PARALLEL, read_descriptions
from ...data.corpora import find_corpus_reader
from ...data.dataset import LEARNED, Dataset, Question
from ...data.json_lines import DOCUMENTS, QUESTIONS
from ...data.loading import read_dataset
from ...data.parallel import Parallel, collect_texts, read_parallel
from ...errors import DataError, InputError
from ...settings.choices import SPLITS
from ...settings.recipe import DEFAULT
from ...settings.store import change_settings, recipe_settings
from ...system.files import list_visible, write_text
from ...system.types import File, Json
from .preparing import find_unseen_languages

CONFIG = "distill.toml"
# Of train questions in a language: of fewer there is little to learn.
FEW = 200
HEAD = (
    "# Written by distill init, for: distill run --config THIS-FILE\n"
    "# What is not here is the recipe's (distill recipes show NAME); flags stand above this file.\n"
)
# Above each setting that is written.
COMMENTS = {
    "data.dataset": "From where the command is given, unless it begins at the root.",
    "data.document_language": "The language of the documents.",
    "data.languages": "Those of the questions; take out what shall not be learned or measured.",
    "teacher.language": "The language that the teacher learns in; its questions are translations of the others.",
    "student.own_text": "From parallel.tsv and descriptions.jsonl, where they are beside the data.",
    "student.parallel": "Sentences with their translations, FILE or FILE=WEIGHT.",
}


@dataclass(frozen=True)
class OwnData:
    """A data set in a folder, the parallel text and descriptions beside it, and why other files are left out."""

    folder: Path
    dataset: Dataset
    parallel: dict[Path, Parallel]
    left_out: tuple[str, ...]
    descriptions: tuple[Question, ...] = ()

    @property
    def teacher(self) -> str:
        """The teacher's language: English, or that of the documents if nobody asks in English."""
        return choose_teacher_language(self.dataset)

    @property
    def others(self) -> list[str]:
        """The languages of the questions except the teacher's."""
        return [language for language in self.dataset.languages if language != self.teacher]

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """The number of questions as `{language: {split: questions}}`, 0 for an absent split."""
        splits = self.dataset.splits
        return {
            language: {split: len(self.dataset.select(language, split)) if split in splits else 0 for split in SPLITS}
            for language in self.dataset.languages
        }

    @cached_property
    def lines(self) -> dict[str, int]:
        """The number of distinct lines of parallel text by language."""
        texts = collect_texts(list(self.parallel.values()))
        return {language: len(lines) for language, lines in texts.items()}

    @property
    def own_text(self) -> bool:
        """True if there is text for `student.own_text`."""
        return bool(self.descriptions) or self.folder / PARALLEL in self.parallel

    @property
    def listed(self) -> list[Path]:
        """The parallel text that `student.parallel` has to name."""
        return [path for path in self.parallel if path.name != PARALLEL]


@dataclass(frozen=True)
class OwnConfig:
    """The path of a config, lines on what is `there` and `missing`, and the `command` that can use the data now."""

    path: Path
    there: list[str]
    missing: list[str]
    command: str


@dataclass(frozen=True)
class TextAlone:
    """A folder with text and no questions: lines on what is `there`, and the `command` that learns from it."""

    there: list[str]
    command: str


def init_config(folder: File, document_language: str = "en", overwrite: bool = False) -> OwnConfig | TextAlone:
    """Look at a folder of data and write `distill.toml` into it, a config for `distill run`.

    Args:
        folder: The folder of a data set: {lang}.json in SQuAD's form, or documents.jsonl and questions.jsonl.
        document_language: The language of the documents.
        overwrite: Whether a config that is there may be replaced.

    Returns:
        The config's path, with lines about what is there and what is missing, and the command to go on with. For text
        without questions there is no config, and the result names the command that learns it.

    Raises:
        InputError: If a config is there.
        DataError: If the data set cannot be read.

    Example:
        >>> import distill, pathlib
        >>> folder = pathlib.Path("mine")
        >>> folder.mkdir()
        >>> document = '{"id": "1", "title": "Danube", "passages": [{"id": "1", "text": "It ends in the Black Sea."}]}'
        >>> question = '{"id": "1", "language": "en", "text": "Where does it end?", "passage": "1"}'
        >>> _ = (folder / "documents.jsonl").write_text(document), (folder / "questions.jsonl").write_text(question)
        >>> distill.init_config("mine").path.name
        'distill.toml'
    """
    path = config_path(folder, overwrite)
    if text := find_text_alone(folder, document_language):
        return text
    data = read_own(folder, document_language)
    write_config(data, path)
    return OwnConfig(path, describe_data(data), list_missing(data), _choose_command(data, path))


def _choose_command(data, path):
    """The command that learns from the languages that a run takes or, without the teacher's, one that measures."""
    taken = [language for language, counts in data.counts.items() if all(counts[split] for split in LEARNED)]
    if data.teacher in taken:
        left_out = [] if len(taken) == len(data.counts) else ["--languages", ",".join(taken)]
        return shlex.join(["distill", "run", "--config", str(path), *left_out])
    language = data.dataset.document_language
    of_language = [] if language == "en" else ["--document-language", language]
    models, how = ("multi12-transformer", "multi12-six"), ("--split", "all", "--unit", "document-sum")
    return shlex.join(["distill", "evaluate", *models, "--dataset", str(path.parent), *of_language, *how])


def find_text_alone(folder: File, document_language: str = "en") -> TextAlone | None:
    """Find the text, parallel or documents, in a folder without questions, with the command that learns it, or None."""
    folder = Path(folder)
    if (folder / QUESTIONS).is_file() or not folder.is_dir() or find_corpus_reader(folder):
        return None
    if (folder / DOCUMENTS).is_file():
        there = [f"{DOCUMENTS}: documents", f"missing: {QUESTIONS}: with questions distill run learns to answer them"]
        return TextAlone(there, f"distill run --documents {shlex.quote(str(folder / DOCUMENTS))}")
    if list_visible(folder, "*.json"):
        return None
    lines = dict(_parallel_in(folder, document_language))
    if not lines:
        return None
    files = " ".join(f"--parallel {shlex.quote(str(path))}" for path in lines)
    there = [f"{path.name}: parallel text, {count} pairs" for path, count in lines.items()]
    there.append("missing: questions; without them a student learns the text from a teacher of yours, TEACHER below")
    return TextAlone(there, f"distill run --teacher-model st:TEACHER {files} --output student")


def _parallel_in(folder, pivot):
    """`(path, pairs)` of the files of parallel text in a folder."""
    for path in list_visible(folder, "*.tsv", "*.jsonl"):
        with suppress(DataError):
            [source] = read_parallel([path], pivot)
            yield path, len(source.texts)


def choose_teacher_language(dataset: Dataset) -> str:
    """Return the language in which a teacher learns from this data."""
    return "en" if "en" in dataset.languages else dataset.document_language


def read_own(folder: File, document_language: str = "en") -> OwnData:
    """Read the data in a folder. Returns the data set and what lies beside it."""
    folder = Path(folder).absolute()
    dataset, parallel, left_out = read_dataset(folder, document_language), {}, []
    paths = list_visible(folder, "*.tsv", "*.jsonl")
    known = ("documents.jsonl", "questions.jsonl", DESCRIPTIONS)
    for path in (path for path in paths if path.name not in known):
        try:
            [parallel[path]] = read_parallel([path], choose_teacher_language(dataset), dataset.languages)
        except DataError as error:
            if path.name == PARALLEL:
                raise
            left_out.append(str(error))
    return OwnData(folder, dataset, parallel, tuple(left_out), tuple(read_descriptions(dataset, folder)))


def describe_data(data: OwnData) -> list[str]:
    """Return lines that say what the folder has."""
    dataset = data.dataset
    by = "splits.json" if (data.folder / "splits.json").is_file() else "seed, 7 : 1 : 2"
    titles = f"{'language':<10}{'train':>8}{'dev':>8}{'test':>8}{'parallel lines':>17}   questions, split by {by}"
    rows = [
        f"{language:<10}{''.join(f'{counts[split]:>8}' for split in SPLITS)}{data.lines.get(language, 0):>17}"
        for language, counts in data.counts.items()
    ]
    there = f"{len(dataset.titles)} documents, {len(dataset.passages)} passages, in {dataset.document_language}"
    text = [f"{path.name}: parallel text, {len(source.texts)} pairs" for path, source in data.parallel.items()]
    text += _descriptions_there(data)
    return [f"{dataset.name}: {there}", titles, *rows, *text, *(f"left out: {reason}" for reason in data.left_out)]


def _descriptions_there(data):
    if data.descriptions:
        languages = ", ".join(sorted({line.language for line in data.descriptions}))
        yield f"{DESCRIPTIONS}: {len(data.descriptions)} descriptions of passages, in {languages}"


def list_missing(data: OwnData) -> list[str]:
    """Return lines that say what the folder lacks, and what each would bring."""
    return [*_splits_missing(data), *_questions_missing(data), *_text_missing(data)]


def _splits_missing(data):
    for split in LEARNED:
        if bare := [language for language, counts in data.counts.items() if not counts[split]]:
            yield (
                f"{split} questions in {', '.join(bare)}: distill run needs some in each language; name them in "
                "splits.json, or leave the language out"
            )
    if not any(counts["test"] for counts in data.counts.values()):
        yield "test questions: dev chooses epochs, so its figures flatter; those of test would not"


def _questions_missing(data):
    dataset = data.dataset
    few = [f"{name} {counts['train']}" for name, counts in data.counts.items() if 0 < counts["train"] < FEW]
    if few:
        yield f"more train questions ({', '.join(few)}): below {FEW} there is little to learn; parallel text helps too"
    if not data.others:
        yield "a second language: with the same questions in another a student would learn that"
    # XOR-TyDi as it is released has none in its documents' language.
    known = dataset.questions.get(data.teacher, {})
    ids = {id for language in data.others for id in dataset.questions[language]}
    if alone := len(ids - known.keys()):
        yield (
            f"a version in {data.teacher} of {alone} questions: without one they are measured and teach nothing; "
            "--translations or translation.translators gives it"
        )
    if not any(question.answers for questions in dataset.questions.values() for question in questions.values()):
        yield "answers: without them false negatives stay, and neither recall by tokens nor pairs.self_train works"


def _text_missing(data):
    if bare := [language for language in data.others if language not in data.lines]:
        yield f"parallel text in {', '.join(bare)}: it teaches more of a language than its questions; .tsv or .jsonl"
    if not data.descriptions:
        yield f"{DESCRIPTIONS}: a line on each passage teaches documents that no train question is about"
    base = recipe_settings(DEFAULT).teacher.base
    if unseen := find_unseen_languages(base, data.dataset.languages):
        yield f"tokens for {', '.join(unseen)}: {base} never saw them; with text in them --add-languages gives some"


def propose_settings(data: OwnData) -> dict[str, Json]:
    """Return the settings of a config for this data, by name."""
    values: dict[str, Json] = {
        "data.dataset": str(data.folder),
        "data.document_language": data.dataset.document_language,
        "data.languages": list(data.dataset.languages),
        "teacher.language": data.teacher,
    }
    if data.own_text:
        values["student.own_text"] = True
    return {**values, **({"student.parallel": [str(path) for path in data.listed]} if data.listed else {})}


def write_config(data: OwnData, path: Path) -> None:
    values = propose_settings(data)
    change_settings(recipe_settings(DEFAULT), values)
    lines, section = [HEAD, f'recipe = "{DEFAULT}"\n'], ""
    for name, value in values.items():
        table, _, key = name.partition(".")
        lines += [f"\n[{table}]\n"] if table != section else []
        lines.append(f"# {COMMENTS[name]}\n{key} = {tomlkit.item(value).as_string()}\n")
        section = table
    write_text(path, "".join(lines))


def config_path(folder: File, overwrite: bool = False) -> Path:
    path = Path(folder) / CONFIG
    if path.exists() and not overwrite:
        raise InputError(f"{path} is there already; give --overwrite, or remove it")
    return path
