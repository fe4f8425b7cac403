"""The work of `distill bench`: a data set's questions, the encoders and their peers, and a note on the conditions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ... import __version__
from ...data.dataset import Dataset, Question
from ...errors import InputError
from ...system.device import machine
from ...system.progress import task
from ...system.types import File, Json
from ..translation import SUFFIX, MachineTranslation, require_foreign_questions, require_translations
from ..translators import BEAM, is_served, parse_folders, require_beam
from .peers import available_peers, peer_names
from .process import ROOT, WorkerSpec
from .rounds import BATCH, CONFIDENCE, bench, count_steps, select_questions
from .specs import pair_specs, specs_of


@dataclass(frozen=True)
class TranslatorSettings:
    """The translators of a worker's kind `translated`.

    Attributes:
        translators: The translators as the user named them.
        folders: Their folders.
        beam: Number of hypotheses.
        root: Folder that our package is imported from.
    """

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
    """Yield specifications that translate questions before they encode them, in one process.

    Questions in the documents' language, or in a language without a translator, stay as they are; a warning counts the
    latter.

    Args:
        specs: `{name: how the encoder is run}`.
        translation: The translators; None for none.

    Yields:
        `{"NAME, translated": specification}`, empty without a translation.

    Raises:
        InputError: If no question is in another language.
        DataError: If no other language has a translator.
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
    """Return the translators that `--translator` names, before a process is started.

    Args:
        translators: `[LANGUAGE=]FOLDER` of each.
        beam: Number of hypotheses; None for the default.

    Returns:
        The settings; None if there is no translator.

    Raises:
        TranslatorError: If a folder is no translator.
        InputError: If a beam is given without a translator.
    """
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
        peers: Encoders of other packages, names of `bench.peers.PEERS` or `all`; missing ones are skipped.
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
    """Time encoders and the peers that can run, each in a process of its own.

    Args:
        specs: `{name: how the encoder is run}`.
        dataset: The data set whose dev questions are asked.
        conditions: Threads, rounds, questions, and whether the documents are searched too.
        peer_python: Interpreter of another environment, in which the peers run.
        translation: Translators that add a second row to each of `specs`, or None.

    Returns:
        A row per encoder and a note on how they were timed.

    Raises:
        DataError: If the data set lacks a language.
        InputError: If a peer's name is taken by a model.
        EncoderError: If an encoder cannot be loaded.
        ExportError: If the process of an encoder dies.
    """
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
