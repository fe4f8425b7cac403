"""Describe what a run learned from, what chose among its epochs, and what it saw of the test questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from ...data.contexts import DESCRIPTIONS, PARALLEL
from ...data.parallel import Parallel
from ...system.hashes import hash_files, sha256
from .setting_files import NamedPath, select_learned, select_own, select_texts

if TYPE_CHECKING:
    from ...data.dataset import Dataset
    from ...settings.sections import StudentSettings, TeacherSettings
    from ...system.types import Json

# So many languages are named, more are counted.
NAMED = 4


@dataclass(frozen=True)
class Learned:
    """Three phrases: what was learned from, what chose the weights, and what was seen of test. Each may be empty."""

    learned_from: str
    chosen_by: str
    seen_of_test: str

    def as_dict(self) -> dict[str, str]:
        """Return the phrases that are not empty, as a card and `metrics.json` have them."""
        return {name: phrase for name, phrase in asdict(self).items() if phrase}


def read_learned(facts: Mapping[str, Json]) -> dict[str, Json]:
    """Return the phrases in a card, or in the `learned` of `metrics.json`."""
    return {item.name: facts[item.name] for item in fields(Learned) if item.name in facts}


@dataclass(frozen=True)
class Sources:
    """Everything that a run learns from. `described` is the data set with its descriptions, if these are learned."""

    dataset: Dataset
    languages: Sequence[str]
    named: Sequence[NamedPath] = ()
    lines: Sequence[Parallel] = ()
    described: Dataset | None = None


def describe_learned(sources: Sources, teacher: TeacherSettings, student: StudentSettings, dev_dataset: str) -> Learned:
    """Describe what a run of two stages learned from, and what other data set chose its epochs."""
    dataset, languages = sources.dataset, sources.languages
    taught, studied = trains_teacher(teacher), student.epochs > 0
    passages = _described_passages(dataset, sources.described) if sources.described else set()
    learned = _names(sources, len(passages)) if taught or studied else ["nothing"]
    dev = f"dev of {Path(dev_dataset).name}" if dev_dataset else "dev"
    judged = {"teacher": taught, "student": studied and not student.averaged_epochs}
    epochs = [f"the {name}'s epoch" for name, is_judged in judged.items() if is_judged]
    chosen = f"{dev} chose {' and '.join(epochs)}" if epochs else "nothing chose an epoch"
    texts = {text for source in sources.lines for text in source.texts} if studied else set()
    seen = _describe_test(dataset, languages, passages, texts) if "test" in dataset.splits else ""
    return Learned(", ".join(learned), chosen, seen)


def trains_teacher(teacher: TeacherSettings) -> bool:
    """Return True if stage 1 has epochs."""
    return not teacher.model and teacher.bm25_epochs + teacher.online_epochs > 0


def _names(sources: Sources, described: int) -> Iterator[str]:
    dataset, languages = sources.dataset, sources.languages
    where = ", ".join(languages) if len(languages) <= NAMED else f"{len(languages)} languages"
    if dataset.splits["train"]:
        yield f"the train questions of {dataset.name} in {where}"
    if described:
        yield f"descriptions of {described} of its {len(dataset.passages)} passages ({DESCRIPTIONS})"
    yield from (path.name for path in select_own(sources.named) if path.name == PARALLEL)
    # Many files are called questions.tsv.
    yield from ("/".join(one.path.parts[-2:]) for one in select_learned(sources.named))


def _described_passages(dataset, described):
    """Return the passages that have descriptions."""
    known = set(dataset.splits["train"])
    added = [id for id in described.splits["train"] if id not in known]
    return {lines[id].passage for id in added for lines in described.questions.values() if id in lines}


def _describe_test(dataset, languages, described, texts):
    """Describe what `texts` contain of the test questions and of the passages that answer them."""
    splits = ("test", "train")
    tests, trains = ([q for language in languages for q in dataset.select(language, split)] for split in splits)
    answering, known = ({question.passage for question in questions} for questions in (tests, trains))
    count = sum(question.text in texts for question in tests)
    parts = [f"{count} of its {len(tests)} questions stand in the text beside them" if count else "no question"]
    of_training = {"described in training": described, "asked about in train too": known}
    for how, passages in ((how, answering & passages) for how, passages in of_training.items()):
        if passages:
            share = "all" if passages == answering else f"{len(passages)} of the"
            parts.append(f"{how}: {share} {len(answering)} passages that answer its questions")
    return "; ".join(parts)


def hash_run_files(dataset: Dataset, named: Sequence[NamedPath]) -> tuple[dict[str, str], dict[str, str]]:
    """Hash the data set's files by name, and others that a run learns from or is chosen by, by setting and path."""
    others = {
        f"{one.setting} {one.path / file if one.path.is_dir() else one.path}": known
        for one in select_texts(named)
        for file, known in hash_files(one.path).items()
    }
    return {**dataset.files, **{path.name: sha256(path) for path in select_own(named)}}, others
