"""`distill run --documents`: an encoder learns documents without questions, and is exported if it gains."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from ...data.corpus import Collection
from ...data.parallel import Parallel, read_parallel
from ...encoders.catalog.bundle import CARD_FILE, is_artefact
from ...encoders.catalog.identity import describe_training
from ...encoders.catalog.kinds import RUN_FILE, find_folder, require_trainable
from ...encoders.catalog.loading import load_keras_encoder
from ...encoders.catalog.provenance import Learned, hash_run_files
from ...encoders.catalog.setting_files import named_paths
from ...encoders.encoder import KerasEncoder
from ...errors import TrainingError
from ...evaluation.resampling import sign_flip_p
from ...export.artefact import export_artefact
from ...export.form import Form
from ...export.gate import Gate, count_gate_texts
from ...export.languages import CARD_KEY, read_languages
from ...export.weights.precision import Precision
from ...retrieval.metrics import reciprocal_ranks
from ...settings.recipe import DEFAULT
from ...settings.store import format_config, recipe_settings
from ...system.backend import start
from ...system.extras import require_guest
from ...system.files import lock_folder, write_text
from ...system.input_files import read_json
from ...system.progress import say, task
from ...system.types import File, Json
from ...training.checkpoints import CHECKPOINT
from ...training.log import RunLog
from ..pipeline.inputs import Inputs
from ..pipeline.preparing import require_empty, require_new
from ..pipeline.resuming import LOG
from ..pipeline.run import Provenance, Run
from ..pipeline.second_stage import student_job
from ..pipeline.shipping import list_shipping_steps
from ..pipeline.steps import Engine, Step
from .pooled_features import FeaturePooler, PooledPassages, require_sums
from .queries import HeldOut, hold_out, write_queries
from .question_sets import UNIT, OtherText, QuestionSet
from .training import PAIRS, Draw, Head, mix_pairs, pair_headings, pair_sentences, pair_translations, train_head

# The folder of the queries that were held out, in the run's.
QUERIES = "queries"
# Shares of the start's weights that are tried, and how many points other text may lose of either figure.
SHARES, MOST_LOST = (0.0, 0.25, 0.5, 0.75), 0.75
LEVEL = 0.05


@dataclass(frozen=True)
class Adaptation:
    """An adaptation: the documents, their held-out part, parallel text, the run and the name of its base."""

    collection: Collection
    held: HeldOut
    sources: Sequence[Parallel]
    run: Run
    base: str

    @property
    def folder(self) -> Path:
        return self.run.folder


def prepare(
    documents: Sequence[File], folder: File, base: str, parallel: Sequence[str], language: str, seed: int
) -> Adaptation:
    """Read and check everything that can be wrong before anything is written.

    An empty `base` stands for the encoder of the recipe `default`.
    """
    settings = recipe_settings(DEFAULT)
    settings.data.document_language, settings.student.parallel, settings.seed = language, tuple(parallel), seed
    settings.teacher.base = base or settings.teacher.base
    folder, base = Path(folder), settings.teacher.base
    require_trainable(base)
    require_new(folder)
    sources = read_parallel(settings.student.parallel, language)
    collection = require_guest("search_engine.documents.collection").read_collection(documents, language)
    held = hold_out(collection, seed)
    # Its questions are those that are held out, which are to lie in the folder.
    data, student = replace(settings.data, dataset=str(folder / QUERIES)), replace(settings.student, own_text=False)
    settings = replace(settings, data=data, student=student, teacher=replace(settings.teacher, own_text=False))
    export = settings.export
    inputs = Inputs(
        held.dataset,
        held.languages,
        seed,
        teacher=settings.teacher,
        student=settings.student,
        precision=Precision(export.precision, export.table),
    )
    learned, texts = describe_material(collection, held, sources), hash_run_files(held.dataset, named_paths(settings))
    origins = Provenance(format_config(settings), describe_training(settings), learned, {}, *texts)
    run = Run(inputs, folder, origins, export=export, evaluation=settings.evaluation)
    return Adaptation(collection, held, sources, run, base)


def adapt_to_documents(
    documents: Sequence[File],
    folder: File,
    base: str = "",
    parallel: Sequence[str] = (),
    document_language: str = "en",
    seed: int = 0,
) -> Json:
    """Let an encoder learn documents that nobody has asked about, by their headings and sentences.

    Args:
        documents: The files or folders of documents, as for `build_index`.
        folder: The folder of the run, which is made.
        base: The encoder that learns; empty for that of the recipe `default`.
        parallel: Sentences with their translations, `FILE` or `FILE=WEIGHT`.
        document_language: The language of the documents.
        seed: The random seed.

    Returns:
        What `metrics.json` in the folder holds.

    Raises:
        InputError: If the documents cannot be learned, the folder is there already, or the base is a transformer.
            Nothing is written then.
        TrainingError: If nothing is gained on held-out documents, or only at other text's cost. No folder is left then.

    Example:
        >>> import distill
        >>> base = "multi12-ngram"
        >>> metrics = distill.adapt_to_documents(["notes.jsonl"], "my-run", base=base, document_language="en")
    """
    return adapt(prepare(documents, folder, base, parallel, document_language, seed))


def adapt(job: Adaptation) -> Json:
    """Adapt, measure and export an encoder, and return the metrics as they are written.

    Raises `TrainingError`, and leaves no folder, if nothing is gained on the held-out part, or only at other text's
    cost.
    """
    start()
    base = load_keras_encoder(job.base)
    require_sums(base)
    job.folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(job.folder):
        # Again: all that is there is removed if nothing is gained.
        require_empty(job.folder)
        try:
            return _adapt_in_folder(job, base)
        except BaseException:
            shutil.rmtree(job.folder, ignore_errors=True)
            raise


def _adapt_in_folder(job: Adaptation, base: KerasEncoder) -> Json:
    """Run the steps of an adaptation in its folder."""
    run = job.run
    write_queries(job.held.dataset, job.folder / QUERIES)
    run.log = RunLog(job.folder / LOG)
    (job.folder / CHECKPOINT).mkdir()
    try:
        say(describe_job(job))
        metrics = Engine(run.inputs.seed, run.timed).go(list_steps(job, run), {"base": base})
    finally:
        run.log.close()
    write_text(job.folder / RUN_FILE, run.provenance.config)
    return metrics


def describe_material(collection: Collection, held: HeldOut, sources: Sequence[Parallel]) -> Learned:
    """Describe what an adaptation learns from: the part of the documents that is not held out."""
    kept, lines = int(np.sum(~held.rows)), [source.name for source in sources]
    name, passages = collection.dataset.name, len(held.rows)
    return Learned(
        ", ".join([f"headings and sentences of {kept} of the {passages} passages of {name}", *lines]),
        "dev, queries made of held-out passages, chose how long it learned",
        "no query, and no passage that answers one",
    )


def list_steps(job: Adaptation, run: Run) -> list[Step]:
    """List the steps of an adaptation: the student learns, is measured on the held-out part, and is exported."""
    return [
        Step("evaluate base", partial(run.measure, "base"), ["base"]),
        Step("teacher", partial(run.measure_as, "teacher", "base")),
        Step("student", partial(make_student, job, run), ["base"], timed="student"),
        Step("evaluate student", partial(run.measure, "student"), ["student"]),
        Step("gain", partial(require_gain, run)),
        *list_shipping_steps(run, partial(export_bundle, run, find_folder(job.base))),
    ]


def make_student(job: Adaptation, run: Run, base: KerasEncoder) -> KerasEncoder:
    """Train the encoder on the collection, save it, and record its scores on other text."""
    student, figures = train_student(job, base, run.log)
    run.record("other_text", figures)
    student.save(run.folder / "student")
    return student


def describe_job(job: Adaptation) -> str:
    """Return a line that says what is adapted to what."""
    whole, part = job.collection.dataset, job.held.dataset
    counts = ", ".join(f"{len(ids)} in {split}" for split, ids in part.splits.items())
    return (
        f"{whole.name}: {len(whole.titles)} documents, {len(whole.passages)} passages; {int(job.held.rows.sum())} of "
        f"them are held out, with queries made of them: {counts}"
    )


def train_student(job: Adaptation, base: KerasEncoder, log: RunLog) -> tuple[KerasEncoder, dict[str, Json]]:
    """Train the encoder on the collection, and keep the least share of its start with which other text loses little."""
    summing = FeaturePooler(base)
    other, dev = OtherText.of(summing), QuestionSet.of(summing, job.held.dataset, ("dev",))
    learned = train_head(
        base, make_draw(job, summing), min(PAIRS, int(np.sum(~job.held.rows))), dev.score, log, job.run.inputs.seed
    )
    before = other.scores(Head(base.model))
    tried = []
    for share in SHARES:
        scores = other.scores(learned.interpolate(share))
        tried.append(", ".join(f"{name} {before[name]:.1f} -> {score:.1f}" for name, score in scores.items()))
        if all(before[name] - score <= MOST_LOST for name, score in scores.items()):
            say(f"share of the start's weights: {share:g}; other text: {tried[-1]}")
            return learned.encoder, {"before": before, "after": scores, "start_share": share}
    raise TrainingError(
        f"{job.collection.dataset.name}: what is learned of it costs other text more than {MOST_LOST} points, with "
        f"{SHARES[-1]} of the start's weights too: {tried[-1]}; use {job.base} as it is"
    )


def make_draw(job: Adaptation, summing: FeaturePooler) -> Draw:
    """Return the function that draws the pairs: of passages that are not held out, and of parallel text."""
    data, collection = job.collection.dataset, job.collection
    with task(f"encode {data.name}", len(data.sentences.texts)) as advance:
        summed = PooledPassages.of(summing, data, advance)
    rows = np.flatnonzero(~job.held.rows)
    headed = rows[[bool(collection.headings[row]) for row in rows]]
    asking = summing.sums([collection.headings[row] for row in headed]) if len(headed) else None
    of_headings = pair_headings(summed, asking, headed, collection.groups) if asking else None
    lines = pair_translations(job.sources, summing.sums) if job.sources else None
    return mix_pairs(of_headings, pair_sentences(summed, rows, collection.groups), lines)


def require_gain(run: Run) -> None:
    """Require that the student answers held-out queries significantly better than its base.

    The test compares MRR@10 on the split test, which chose nothing, by flipping signs by query, all languages together.
    """
    ids, student, base = [], [], []
    for language in run.languages:
        ids += [query.id for query in run.dataset.select(language, "test")]
        student.append(run.evaluations["test"]["student"].ranks[UNIT][language])
        base.append(run.evaluations["test"]["base"].ranks[UNIT][language])
    scores, before = (reciprocal_ranks(np.concatenate(ranks), 10) for ranks in (student, base))
    p = sign_flip_p(scores - before, ids)
    figures = f"MRR@10 {before.mean():.3f} -> {scores.mean():.3f}, p {p:.3f}, {len(ids)} queries"
    say(f"held-out documents: {figures}")
    run.record("held_out", {"base": float(before.mean()), "student": float(scores.mean()), "p": p, "queries": len(ids)})
    if scores.mean() <= before.mean() or p >= LEVEL:
        name, base_name = run.dataset.name, run.inputs.teacher.base
        raise TrainingError(f"{name}: no gain shows on its held-out part: {figures}; use {base_name} as it is")


def export_bundle(run: Run, base: Path | None, student: KerasEncoder) -> None:
    """Write the bundle, with the languages of the base if the folder `base` is a bundle."""
    origins, card = run.provenance, {}
    if base and is_artefact(base):
        card = read_json(base / CARD_FILE)
    languages = list(dict.fromkeys([*card.get("languages", ()), *run.languages]))
    notes = {**origins.card, "source": run.folder.resolve().name, "languages": languages}
    notes |= origins.learned.as_dict()
    gate = Gate(run.dataset, run.languages, run.export)
    form = Form(precision=student_job(run.inputs).precision_of(student))
    known = read_languages(base, card) if base and CARD_KEY in card else None
    with task("export", count_gate_texts(run.dataset, run.languages)) as advance:
        export_artefact(student, run.folder / "bundle", gate, form, notes, progress=advance, texts=known)
