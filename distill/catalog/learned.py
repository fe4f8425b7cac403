"""Words on what a run learned from, what chose among what it had learned, and what of test it saw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.descriptions import DESCRIPTIONS, PARALLEL, own_text_files
from ..data.parallel import Parallel
from ..data.readers import find
from ..system.hashes import hashes, sha256
from .named import learned_texts, named_texts

if TYPE_CHECKING:
    from ..data.dataset import Dataset
    from ..settings.sections import Settings
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


def learned_from(
    settings: Settings,
    dataset: Dataset,
    languages: Sequence[str],
    lines: Sequence[Parallel] = (),
    described: Dataset | None = None,
) -> Learned:
    """The phrases on a run of these settings that asks in these languages.

    `lines` is the text beside the questions, `described` the data set with its descriptions, where these are learned.
    """
    taught, studied = trains_teacher(settings), settings.student.epochs > 0
    passages = _described(dataset, described) if described and studied else set()
    sources = _sources(settings, dataset, languages, len(passages)) if taught or studied else ["nothing"]
    dev = f"dev of {Path(settings.evaluation.dev_dataset).name}" if settings.evaluation.dev_dataset else "dev"
    judged = {"teacher": taught, "student": studied and not settings.student.averaged_epochs}
    epochs = [f"the {name}'s epoch" for name, is_judged in judged.items() if is_judged]
    chosen = f"{dev} chose {' and '.join(epochs)}" if epochs else "nothing chose an epoch"
    texts = {text for source in lines for text in source.texts} if studied else set()
    seen = _of_test(dataset, languages, passages, texts) if "test" in dataset.splits else ""
    return Learned(", ".join(sources), chosen, seen)


def trains_teacher(settings: Settings) -> bool:
    """True where stage 1 has epochs."""
    teacher = settings.teacher
    return not teacher.model and teacher.bm25_epochs + teacher.online_epochs > 0


def _sources(settings: Settings, dataset: Dataset, languages: Sequence[str], described: int) -> Iterator[str]:
    where = ", ".join(languages) if len(languages) <= NAMED else f"{len(languages)} languages"
    yield f"the train questions of {dataset.name} in {where}"
    if described:
        yield f"descriptions of {described} of its {len(dataset.passages)} passages ({DESCRIPTIONS})"
    yield from (path.name for path in beside_data(settings) if path.name == PARALLEL)
    # Many files are called questions.tsv.
    yield from ("/".join(path.parts[-2:]) for _, path in learned_texts(settings))


def beside_data(settings: Settings) -> list[Path]:
    """The data set's own parallel text and descriptions, where they are learned."""
    return own_text_files(find(settings.data.dataset)) if settings.student.own_text else []


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


def files_of(settings: Settings, dataset: Dataset) -> tuple[dict[str, str], dict[str, str]]:
    """`{name: sha256}` of the data set's files that a run learns from or is chosen by, and `{setting path: sha256}`.

    The latter are files of other places, also those that new pieces come from, and another dev's.
    """
    named = {
        f"{name} {path / file if path.is_dir() else path}": known
        for name, path in named_texts(settings)
        for file, known in hashes(path).items()
    }
    return {**dataset.files, **{path.name: sha256(path) for path in beside_data(settings)}}, named
