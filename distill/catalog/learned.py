"""Words on what a run learned from, what chose among what it had learned, and what of test it saw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.descriptions import DESCRIPTIONS, PARALLEL
from ..data.parallel import Parallel
from ..system.hashes import hashes, sha256
from .named import NamedPath, learned_among, own_among, texts_among

if TYPE_CHECKING:
    from ..data.dataset import Dataset
    from ..settings.sections import StudentSettings, TeacherSettings
    from ..system.types import Json

# So many languages are named, more are counted.
NAMED = 4


@dataclass(frozen=True)
class Learned:
    """Phrases: what was learned from, what chose among what had been learned, what of test was seen; "" for none."""

    learned_from: str
    chosen_by: str
    seen_of_test: str

    def as_dict(self) -> dict[str, str]:
        """Those that say something, as a card and `metrics.json` have them."""
        return {name: phrase for name, phrase in asdict(self).items() if phrase}


def learned_in(facts: Mapping[str, Json]) -> dict[str, Json]:
    """Those of the phrases that a card has, or the `learned` of `metrics.json`."""
    return {item.name: facts[item.name] for item in fields(Learned) if item.name in facts}


@dataclass(frozen=True)
class Sources:
    """All that a run learns from: a data set asked in these languages, and what the settings have `named` beside it.

    `lines` is the text beside the questions, `described` the data set with its descriptions, where these are learned.
    """

    dataset: Dataset
    languages: Sequence[str]
    named: Sequence[NamedPath] = ()
    lines: Sequence[Parallel] = ()
    described: Dataset | None = None


def learned_from(sources: Sources, teacher: TeacherSettings, student: StudentSettings, dev_dataset: str) -> Learned:
    """The phrases on a run of two stages, whose epochs are chosen on another data set's dev where that is named."""
    dataset, languages = sources.dataset, sources.languages
    taught, studied = trains_teacher(teacher), student.epochs > 0
    passages = _described(dataset, sources.described) if sources.described and studied else set()
    learned = _names(sources, len(passages)) if taught or studied else ["nothing"]
    dev = f"dev of {Path(dev_dataset).name}" if dev_dataset else "dev"
    judged = {"teacher": taught, "student": studied and not student.averaged_epochs}
    epochs = [f"the {name}'s epoch" for name, is_judged in judged.items() if is_judged]
    chosen = f"{dev} chose {' and '.join(epochs)}" if epochs else "nothing chose an epoch"
    texts = {text for source in sources.lines for text in source.texts} if studied else set()
    seen = _of_test(dataset, languages, passages, texts) if "test" in dataset.splits else ""
    return Learned(", ".join(learned), chosen, seen)


def trains_teacher(teacher: TeacherSettings) -> bool:
    """True where stage 1 has epochs."""
    return not teacher.model and teacher.bm25_epochs + teacher.online_epochs > 0


def _names(sources: Sources, described: int) -> Iterator[str]:
    dataset, languages = sources.dataset, sources.languages
    where = ", ".join(languages) if len(languages) <= NAMED else f"{len(languages)} languages"
    if dataset.splits["train"]:
        yield f"the train questions of {dataset.name} in {where}"
    if described:
        yield f"descriptions of {described} of its {len(dataset.passages)} passages ({DESCRIPTIONS})"
    yield from (path.name for path in own_among(sources.named) if path.name == PARALLEL)
    # Many files are called questions.tsv.
    yield from ("/".join(one.path.parts[-2:]) for one in learned_among(sources.named))


def _described(dataset, described):
    """The passages that are described."""
    known = set(dataset.splits["train"])
    added = [id for id in described.splits["train"] if id not in known]
    return {lines[id].passage for id in added for lines in described.questions.values() if id in lines}


def _of_test(dataset, languages, described, texts):
    """Words on what was seen of the test questions, in `texts`, and of the passages that answer them."""
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


def files_of(dataset: Dataset, named: Sequence[NamedPath]) -> tuple[dict[str, str], dict[str, str]]:
    """`{name: sha256}` of the data set's files that a run learns from or is chosen by, and `{setting path: sha256}`.

    The latter are files of other places, also those that new pieces come from, and another dev's.
    """
    others = {
        f"{one.setting} {one.path / file if one.path.is_dir() else one.path}": known
        for one in texts_among(named)
        for file, known in hashes(one.path).items()
    }
    return {**dataset.files, **{path.name: sha256(path) for path in own_among(named)}}, others
