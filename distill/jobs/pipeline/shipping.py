"""The end of a run: its bundle, its figures and its report."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from ...data.parallel import collect_texts, join_corpora
from ...encoders.catalog.bundle import CARD_FILE, is_artefact
from ...encoders.catalog.kinds import find_folder
from ...encoders.encoder import Encoder, KerasEncoder
from ...encoders.health import KEY, TRY
from ...errors import DataError, GateError
from ...evaluation.evaluate import Evaluation, encode_questions
from ...evaluation.examples import EXAMPLES
from ...evaluation.mcnemar import as_dict as tests_as_dict
from ...evaluation.mcnemar import compare
from ...evaluation.paired_comparison import compare_pooled
from ...report.run_page import write_report
from ...settings.choices import PASSAGE_SCORES
from ...settings.store import as_dict, parse_config
from ...system.device import describe_device, versions
from ...system.extras import require_guest
from ...system.files import write_json
from ...system.input_files import read_json
from ...system.progress import say, task
from ...system.types import Json
from ...training.checkpoints import CHECKPOINT
from .inputs import Inputs
from .resuming import DATA, METRICS
from .run import BIAS, Run
from .second_stage import student_job
from .steps import Step


def list_warnings(rows: Sequence[Mapping[str, Json]]) -> list[str]:
    """Return one warning for each stage whose evaluations on dev (rows of `log.jsonl`) saw a collapsed encoder."""
    stages = dict.fromkeys(row["event"] for row in rows if KEY in row)
    return [_warning(stage, [row for row in rows if row["event"] == stage and "p@1" in row]) for stage in stages]


def _warning(stage, rows):
    seen = [row for row in rows if KEY in row]
    return (
        f"{stage}: collapsed at {len(seen)} of {len(rows)} evaluations on dev, first at step {seen[0]['step']}: the "
        f"vectors of two questions had a mean cosine of up to {max(row[KEY] for row in seen):.4f}; {TRY}"
    )


def list_shipping_steps(run: Run, export: Callable[[KerasEncoder], None]) -> list[Step]:
    """List the steps from a trained student, the result of the step "student", to the run's metrics."""
    folder = run.folder / "bundle"
    return [
        Step(
            "export",
            export,
            ["student"],
            is_there=partial(is_artefact, folder),
            load=partial(require_gate, run, folder),
            timed="export",
        ),
        Step("bundle", partial(load_bundle, run, folder)),
        Step("evaluate bundle", partial(measure_bundle, run), ["bundle"]),
        Step("calibrate", partial(calibrate, run, folder), ["bundle"]),
        # Its card has all by now.
        Step("weigh", partial(record_size, run, folder)),
        Step("benchmark", partial(time_queries, run, folder)),
        Step("metrics", partial(write_results, run), ["benchmark"], timed="report"),
    ]


def export_bundle(run: Run, student: KerasEncoder) -> None:
    """Write the student's bundle if the gate passes it.

    If the gate refuses it, the bundle is written again in the next finer precision (`Precision.list_finer`), and a line
    says so. Raises `GateError` if the gate refuses every precision.
    """
    from ...export.gate import Gate

    student, precision = student_job(run.inputs).promote(student)
    # What rounding costs is measured against the student that was trained.
    gate = Gate(run.dataset, run.languages, run.export, model=student)
    _export_once(run, student, gate, [precision, *precision.list_finer()])


def _export_once(run, student, gate, precisions):
    from ...export.artefact import export_artefact
    from ...export.form import Form
    from ...export.gate import count_gate_texts

    precision, *finer = precisions
    origins, texts = run.provenance, collect_seen_texts(run.inputs)
    notes = {**origins.card, "source": run.folder.resolve().name, "languages": list(run.languages)}
    notes |= origins.learned.as_dict()
    try:
        with task("export", count_gate_texts(run.dataset, run.languages)) as advance:
            shipped, precision = student_job(run.inputs).prepare_export(student, precision, texts)
            form = Form(precision=precision)
            export_artefact(shipped, run.folder / "bundle", gate, form, notes, progress=advance, texts=texts)
    except GateError as error:
        if not finer:
            raise
        say(f"a bundle with {precision} is refused: {error}; the next has {finer[0]}, which take more bytes")
        _export_once(run, student, gate, finer)


def require_gate(run: Run, folder: Path) -> None:
    """Check a bundle that was exported before the run was stopped."""
    from ...export.gate import Figures, require_passed

    card = read_json(folder / CARD_FILE)
    require_passed(Figures.from_dict(card["dev"]), run.export, card["precision"]["table"])


def load_bundle(run: Run, folder: Path) -> Encoder:
    """Load the bundle as users do, and record what the gate measured."""
    from ...export.formats.format import load_artefact

    run.record("gate", read_json(folder / CARD_FILE)["dev"])
    return load_artefact(folder, run.export.threads)


def measure_bundle(run: Run, bundle: Encoder) -> None:
    """Add the bundle's figures, and the questions that it won and lost against its base."""
    run.measure("bundle", bundle)
    run.figures.update(run.checkpoint(EXAMPLES).facts())


def record_size(run: Run, folder: Path) -> None:
    """Record the bundle's size on disk."""
    from ...export.formats.format import size_of

    run.record("bundle_bytes", size_of(folder))


def time_queries(run: Run, folder: Path) -> Json:
    """Time the bundle per query in milliseconds; record sizes and times of the base and of peers that are artefacts."""
    from ...evaluation.bench.process import WorkerSpec, spec_of
    from ...evaluation.bench.rounds import bench, count_steps, select_questions
    from ...system.device import machine

    questions, threads = select_questions(run.dataset, run.languages), run.export.threads
    others = {name: spec_of(str(place)) for name, place in find_artefacts_beside(run).items()}
    specs = {"bundle": WorkerSpec("bundle", str(folder)), **others}
    with task("benchmark", count_steps(len(specs))) as advance:
        times = bench(specs, questions, threads=threads, progress=advance)
    query = {**times.pop("bundle"), "threads": threads, "queries": len(questions), "machine": machine()}
    costs = {name: {"bytes": row["bytes"], "ms": row["median_ms"]} for name, row in times.items()}
    return {**query, **({"beside": costs} if costs else {})}


def calibrate(run: Run, folder: Path, bundle: Encoder) -> None:
    """Fit on dev the weight of a passage beside its best sentence, and by it the probability that the first passage
    answers, which is measured on the last split.

    Both go into the bundle's card. If dev has too few questions, a line says so and the card stays without them.
    """
    from ...evaluation.calibration import as_card_entry, fit_passage_weight, fit_scores
    from ...evaluation.tasks.answerable import AnswerableTask, confidence_in
    from ...evaluation.unanswerable import encode, half_unanswerable_cases
    from ...export.encode import ANSWERABLE, PASSAGE_WEIGHT

    data, split, languages = run.dataset, run.inputs.splits[-1], run.languages
    with run.timed("calibrate"):
        dev = encode(bundle, data, "dev", languages)
        dev = replace(dev, passage_weight=fit_passage_weight([dev]))
        try:
            fits = fit_scores(dev, seed=run.inputs.seed)
        except DataError as error:
            say(f"the bundle's card does not say how likely an answer is: {error}")
            return
        fitted = {PASSAGE_WEIGHT: dev.passage_weight, ANSWERABLE: as_card_entry(fits, dev)}
        write_json(folder / CARD_FILE, {**read_json(folder / CARD_FILE), **fitted})
        score = next((score for score in run.evaluation.score if score in PASSAGE_SCORES), "sum")
        questions = dev.questions if split == "dev" else encode_questions(bundle, data, split, languages)
        cases = half_unanswerable_cases(replace(dev, split=split, questions=questions), score)
    task_ = AnswerableTask(data, tuple(languages), split, score)
    figures = task_.figures(confidence_in(cases, fits[score].calibration), "bundle")
    run.record(ANSWERABLE, task_.as_dict({"bundle": figures}))


def find_artefacts_beside(run: Run) -> dict[str, Path]:
    """Return the folders of a run's base and peers by their names among the figures, of those that are artefacts."""
    named = {"base": run.inputs.teacher.base, **{peer: peer for peer in run.evaluation.peers}}
    folders = {name: find_folder(source) for name, source in named.items()}
    return {name: folder for name, folder in folders.items() if folder and is_artefact(folder)}


def collect_seen_texts(inputs: Inputs) -> dict[str, list[str]]:
    """Return the train questions, passages, lines and text for tokens that a student learned from, by language."""
    from ...students.vocabulary.pruning import collect_lines, group_texts

    corpus = join_corpora(inputs.text, collect_texts(inputs.lines))
    return group_texts(collect_lines(inputs.dataset, inputs.languages, corpus)[0])


def write_results(run: Run, query: Json) -> Json:
    """Write `report.html` and `metrics.json`."""
    inputs, warnings = run.inputs, list_warnings(run.log.rows)
    origins = run.provenance
    metrics = {
        "settings": as_dict(parse_config(origins.config)),
        "dataset": {
            "name": run.dataset.name,
            "documents": len(run.dataset.titles),
            "passages": len(run.dataset.passages),
            "splits": {split: len(ids) for split, ids in run.dataset.splits.items()},
            "files": dict(origins.files),
        },
        "learned": {**origins.learned.as_dict(), "files": dict(origins.texts)},
        "versions": versions(),
        "device": find_device(run),
        "languages": list(run.languages),
        "mean_over": list(inputs.other_languages),
        "splits": {split: compute_split_metrics(inputs, evaluations) for split, evaluations in run.evaluations.items()},
        **(
            {"lareqa": require_guest(BIAS).as_metrics_section(inputs.pool, inputs.splits[-1], run.bias)}
            if inputs.pool and run.bias
            else {}
        ),
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


def find_device(run: Run) -> Json:
    """Return the device that the run began on, also if TensorFlow finishes what another backend trained."""
    begun = run.log.of(DATA)
    return (begun[0].get("device") if begun else None) or dict(describe_device(run.training.precision))


def compute_split_metrics(inputs: Inputs, evaluations: Mapping[str, Evaluation]) -> Json:
    """Compute the figures of one split: scores by encoder, means, McNemar's tests by language and tests of all."""
    student = evaluations["student"].ranks
    return {
        "encoders": {name: evaluation.table() for name, evaluation in evaluations.items()},
        "mean_p@1": {
            name: {unit: evaluation.mean(unit, inputs.other_languages) for unit in student}
            for name, evaluation in evaluations.items()
        },
        "mcnemar": {
            f"{one} against {other}": {
                unit: tests_as_dict(compare(evaluations[one].ranks[unit], evaluations[other].ranks[unit]))
                for unit in student
            }
            for one, other in (("student", "base"), ("student", "teacher"), ("bundle", "student"), ("teacher", "base"))
        },
        "sign_flips": compare_by_sign_flips(inputs, evaluations),
    }


def compare_by_sign_flips(inputs: Inputs, evaluations: Mapping[str, Evaluation]) -> Json:
    """Test on the questions of all languages together: the student against its base and the peers, the bundle against
    the student.
    """
    student, data = evaluations["student"], inputs.dataset
    ids = {name: [question.id for question in data.select(name, student.split)] for name in inputs.languages}
    others = [name for name in evaluations if name not in ("teacher", "student", "bundle")]
    pairs = [*(("student", name) for name in others), ("bundle", "student")]
    return {
        f"{one} against {other}": {
            unit: asdict(compare_pooled(ids, evaluations[one].ranks[unit], evaluations[other].ranks[unit]))
            for unit in student.ranks
        }
        for one, other in pairs
    }
