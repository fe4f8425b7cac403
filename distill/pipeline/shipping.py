"""The end of a run: its bundle, figures and page."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from ..catalog.bundle import CARD_FILE, is_artefact
from ..catalog.identity import provenance
from ..catalog.kinds import folder_of
from ..data.parallel import joined, texts_by_language
from ..encoders.encoder import Encoder, KerasEncoder
from ..encoders.health import KEY, TRY
from ..errors import DataError
from ..evaluation.bias.analyses import described
from ..evaluation.evaluate import Evaluation, encode_questions
from ..evaluation.examples import EXAMPLES
from ..evaluation.mcnemar import as_dict as tests_as_dict
from ..evaluation.mcnemar import compare
from ..evaluation.paired import compare_pooled
from ..report.run_page import write_report
from ..settings.choices import PASSAGE_SCORES
from ..settings.sections import Settings
from ..settings.store import as_dict
from ..system.files import write_json
from ..system.progress import say, task
from ..system.reading import read_json
from ..system.types import Json
from ..system.versions import versions
from ..training.checkpoints import CHECKPOINT
from .inputs import Inputs
from .resuming import METRICS
from .run import Run
from .second_stage import student_job


def warnings_of(rows: Sequence[Mapping[str, Json]]) -> list[str]:
    """`[str]`, one a stage whose evaluations on dev, rows of `log.jsonl`, saw a collapsed encoder."""
    stages = dict.fromkeys(row["event"] for row in rows if KEY in row)
    return [_warning(stage, [row for row in rows if row["event"] == stage and "p@1" in row]) for stage in stages]


def _warning(stage, rows):
    seen = [row for row in rows if KEY in row]
    return (
        f"{stage}: collapsed at {len(seen)} of {len(rows)} evaluations on dev, first at step {seen[0]['step']}: the "
        f"vectors of two questions had a mean cosine of up to {max(row[KEY] for row in seen):.4f}; {TRY}"
    )


def finish(run: Run, student: KerasEncoder) -> Json:
    """Export, evaluate the artefact itself, and time it; returns the times of a query."""
    from ..bench.process import Spec
    from ..bench.rounds import bench, select_questions, steps
    from ..bench.specs import spec_of
    from ..export.gate import Figures, require_passed
    from ..export.runtime import load_artefact, size_of
    from ..system.versions import machine

    settings, folder = run.settings, run.folder / "bundle"
    if is_artefact(folder):
        figures = Figures.from_dict(read_json(folder / CARD_FILE)["dev"])
        require_passed(figures, settings.export, settings.export.table)
    else:
        export(run, student, folder)
    run.record("gate", read_json(folder / CARD_FILE)["dev"])
    bundle = load_artefact(folder, settings.export.threads)
    run.measure("bundle", bundle)
    calibrate(run, folder, bundle)
    run.figures.update(run.checkpoint(EXAMPLES).facts())
    run.record("bundle_bytes", size_of(folder))
    questions, threads = select_questions(run.dataset, run.languages), settings.export.threads
    specs = {"bundle": Spec("bundle", str(folder)), **{name: spec_of(str(of)) for name, of in beside(settings).items()}}
    with task("benchmark", steps(len(specs))) as advance:
        times = bench(specs, questions, threads=threads, progress=advance)
    query = {**times.pop("bundle"), "threads": threads, "queries": len(questions), "machine": machine()}
    others = {name: {"bytes": row["bytes"], "ms": row["median_ms"]} for name, row in times.items()}
    return {**query, **({"beside": others} if others else {})}


def export(run: Run, student: KerasEncoder, folder: Path) -> None:
    """Write the student's bundle to a folder, past the gate."""
    from ..export.artefact import export_artefact
    from ..export.form import Form
    from ..export.gate import Gate, size

    settings = run.settings
    with run.timed("export"), task("export", size(run.dataset, run.languages)) as advance:
        notes = {**provenance(settings), "source": run.folder.resolve().name, "languages": list(run.languages)}
        gate = Gate(run.dataset, run.languages, settings.export)
        student, precision = student_job(run.inputs).exported(student)
        form, texts = Form(precision=precision), texts_seen(run.inputs)
        export_artefact(student, folder, gate, form, notes, progress=advance, texts=texts)


def calibrate(run: Run, folder: Path, bundle: Encoder) -> None:
    """Fit on dev how likely a first passage answers, for the bundle's card, and measure that on the last split.

    Dev of too few questions is said, and the card says nothing.
    """
    from ..evaluation.calibration import fit_scores, said
    from ..evaluation.tasks.answerable import AnswerableTask, confidence_in
    from ..evaluation.unanswerable import encode, half_without
    from ..export.encode import ANSWERABLE

    data, split, languages = run.dataset, run.inputs.splits[-1], run.languages
    with run.timed("calibrate"):
        dev = encode(bundle, data, "dev", languages)
        try:
            fits = fit_scores(dev, seed=run.settings.seed)
        except DataError as error:
            say(f"the bundle's card does not say how likely an answer is: {error}")
            return
        write_json(folder / CARD_FILE, {**read_json(folder / CARD_FILE), ANSWERABLE: said(fits, dev)})
        score = next((score for score in run.settings.evaluation.score if score in PASSAGE_SCORES), "sum")
        questions = dev.questions if split == "dev" else encode_questions(bundle, data, split, languages)
        cases = half_without(replace(dev, split=split, questions=questions), score)
    task_ = AnswerableTask(data, tuple(languages), split, score)
    figures = task_.figures(confidence_in(cases, fits[score].calibration), "bundle")
    run.record(ANSWERABLE, task_.as_dict({"bundle": figures}))


def beside(settings: Settings) -> dict[str, Path]:
    """The base's folder, by its name among the figures, where it is an artefact, whose size and time a bundle's are."""
    folder = folder_of(settings.teacher.base)
    return {"base": folder} if folder and is_artefact(folder) else {}


def texts_seen(inputs: Inputs) -> dict[str, list[str]]:
    """`{language: texts}` of what a student learned from: train questions, passages, lines and text for pieces."""
    from ..students.vocabulary.pruning import lines_of, texts_of

    corpus = joined(inputs.text, texts_by_language(inputs.lines))
    return texts_of(lines_of(inputs.dataset, inputs.languages, corpus)[0])


def close(run: Run, query: Json) -> Json:
    """Write `report.html` and `metrics.json`, with the times of a `query`; returns the metrics."""
    inputs, warnings = run.inputs, warnings_of(run.log.rows)
    metrics = {
        "settings": as_dict(run.settings),
        "dataset": {
            "name": run.dataset.name,
            "documents": len(run.dataset.titles),
            "passages": len(run.dataset.passages),
            "splits": {split: len(ids) for split, ids in run.dataset.splits.items()},
            "files": dict(run.dataset.files),
        },
        "versions": versions(),
        "languages": list(run.languages),
        "mean_over": list(inputs.other_languages),
        "splits": {split: split_metrics(inputs, evaluations) for split, evaluations in run.evaluations.items()},
        **({"lareqa": described(inputs.pool, inputs.splits[-1], run.bias)} if inputs.pool and run.bias else {}),
        **({"warnings": warnings} if warnings else {}),
        **run.figures,
        "timings": {**run.timings, "query": query},
    }
    write_report(run.folder / "report.html", metrics, run.log.rows)
    run.log.write("done")
    run.log.close()
    # The last thing: a run that has its metrics is finished.
    write_json(run.folder / METRICS, metrics)
    shutil.rmtree(run.folder / CHECKPOINT, ignore_errors=True)
    return metrics


def split_metrics(inputs: Inputs, evaluations: Mapping[str, Evaluation]) -> Json:
    """The figures of one split by encoder, means, and McNemar's tests of the student."""
    student = evaluations["student"].ranks
    return {
        "encoders": {name: evaluation.table() for name, evaluation in evaluations.items()},
        "mean_p@1": {
            name: {unit: evaluation.mean(unit, inputs.other_languages) for unit in student}
            for name, evaluation in evaluations.items()
        },
        "mcnemar": {
            f"student against {name}": {
                unit: tests_as_dict(compare(student[unit], evaluations[name].ranks[unit])) for unit in student
            }
            for name in ("base", "teacher")
        },
        "sign_flips": sign_flips(inputs, evaluations),
    }


def sign_flips(inputs: Inputs, evaluations: Mapping[str, Evaluation]) -> Json:
    """Tests of the student on all languages' questions together, against its base and the peers, by unit."""
    student, data = evaluations["student"], inputs.dataset
    ids = {name: [question.id for question in data.select(name, student.split)] for name in inputs.languages}
    return {
        f"student against {name}": {
            unit: asdict(compare_pooled(ids, ranks, evaluation.ranks[unit])) for unit, ranks in student.ranks.items()
        }
        for name, evaluation in evaluations.items()
        if name not in ("teacher", "student", "bundle")
    }
