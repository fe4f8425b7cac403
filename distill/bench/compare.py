"""`distill bench`: a data set's questions, the encoders and their peers, and a note of how they were timed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .. import __version__
from ..data.dataset import Dataset
from ..errors import InputError
from ..system.progress import task
from ..system.types import File, Json
from ..system.versions import machine
from .latency import CONFIDENCE
from .peers import available
from .process import Spec
from .rounds import BATCH, bench, select_questions, steps
from .translated import Translation, translated_specs


@dataclass(frozen=True)
class Conditions:
    """How encoders are timed: with the search of `documents` too, on so many threads, rounds and questions at most."""

    documents: bool = False
    threads: int = 1
    rounds: int = 5
    questions: int = 200


def compare_encoders(
    specs: Mapping[str, Spec],
    dataset: Dataset,
    languages: Sequence[str],
    conditions: Conditions = Conditions(),
    peers: Sequence[str] = (),
    peer_python: File | None = None,
    translation: Translation | None = None,
) -> tuple[dict[str, dict[str, Json]], dict[str, Json]]:
    """Return `bench`'s rows of `specs` and of the `peers` that are there, and a note of how they were timed.

    A `translation` adds each of `specs` with translated questions. Raises `DataError` for a language that the data
    lacks, `InputError` for a peer's name that is taken, and what `bench` raises.
    """
    dataset.require(languages)
    taken = [name for name in peers if name in specs]
    if taken:
        raise InputError(f"{', '.join(taken)} names both a model and a peer; give the model as ./{taken[0]}")
    selected = select_questions(dataset, languages, conditions.questions)
    searched = dataset.document_texts if conditions.documents else ()
    rounds, threads = conditions.rounds, conditions.threads
    with translated_specs(specs, selected, dataset.document_language, translation) as more:
        others, skipped = available(peers, peer_python, threads)
        encoders = {**specs, **more, **others}
        with task("benchmark", steps(len(encoders), rounds, searched)) as advance:
            rows = bench(encoders, selected, rounds, threads, searched, advance)
    return rows, {
        "distill": __version__,
        "dataset": dataset.name,
        "queries": len(selected),
        "rounds": rounds,
        "languages": list(languages),
        "documents": len(searched),
        "threads": threads,
        "batch": BATCH,
        "confidence": CONFIDENCE,
        "machine": machine(),
        "skipped": skipped,
    }
