"""What `distill bench` does: a data set's questions, the encoders and their peers, and what to note of it all."""

from .. import __version__
from ..errors import InputError
from ..system.progress import task
from ..system.versions import machine
from .latency import CONFIDENCE
from .peers import available
from .rounds import BATCH, bench, select_questions, steps
from .translated import translated_specs


def compare_encoders(
    specs,
    dataset,
    languages,
    documents=False,
    threads=1,
    rounds=5,
    questions=200,
    peers=(),
    peer_python=None,
    translation=None,
):
    """`bench`'s rows of `specs` and of the `peers` that are there, and a note of how they were made.

    `questions` is how many at most; `documents` says whether their search is timed too; `translation`, what
    `sources.translation_settings` gives, adds each of `specs` with translated questions. Raises `DataError` for a
    language that the data lacks, `InputError` for a peer's name that is taken, and what `bench` raises.
    """
    dataset.require(languages)
    taken = [name for name in peers if name in specs]
    if taken:
        raise InputError(f"{', '.join(taken)} names both a model and a peer; give the model as ./{taken[0]}")
    selected = select_questions(dataset, languages, questions)
    searched = dataset.document_texts if documents else ()
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
