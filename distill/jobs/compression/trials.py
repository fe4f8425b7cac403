"""The trials of a search: each makes one row, and keeps its files in a folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from ...data.dataset import Dataset
from ...encoders.encoder import Encoder, KerasEncoder
from ...encoders.tokenizer import Tokenizer
from ...evaluation.bench.process import WorkerSpec, start_workers
from ...evaluation.bench.rounds import ROUNDS, measure_latency, select_questions
from ...evaluation.evaluate import Evaluation, count_texts, evaluate
from ...evaluation.mcnemar import as_dict, compare
from ...export.artefact import export_artefact, write_artefact
from ...export.form import Form
from ...export.formats.format import load_artefact, size_of
from ...export.gate import Gate
from ...export.gate import count_gate_texts as gate_size
from ...export.rounding import has_rounded_blocks, round_dense, round_table
from ...export.weights.codecs import CODECS, stored_bytes
from ...export.weights.precision import Precision
from ...settings.sections import ExportSettings, TrainingSettings
from ...students.embeddings import TABLE
from ...system.progress import say, task
from ...system.types import Json, Model
from ...training.checkpoints import CHECKPOINT, Checkpoint
from ...training.log import RunLog
from ...training.session import Session
from ...training.stages.student_job import StudentJob
from .candidates import GRID, Candidate, Grid, Material
from .rows import BundleRow, ShapeProbe, TrialRow

UNIT, SPLIT = "maxp", "dev"
BUNDLE, STUDENT = "bundle", "student"


class Trials:
    """Trials of a grid's candidates; the dev questions of another data set may choose epochs."""

    def __init__(
        self,
        material: Material,
        export: ExportSettings,
        training: TrainingSettings,
        notes: dict[str, Json] | None = None,
        grid: Grid = GRID,
        dev: Dataset | None = None,
    ):
        self.material, self.notes, self.grid, self.dev = material, notes, grid, dev
        self.export, self.training, self.seed = export, training, material.job.seed
        self.vocabulary = cache(material.words.vocabulary)
        self.student = self._evaluate_trial("student", material.words.student)

    def try_untrained(self, candidate: Candidate) -> TrialRow:
        """Measure a vocabulary and a table format on the student as it is."""
        encoder = round_table(self.vocabulary(candidate.vocabulary), candidate.table)
        return self._record_trial(candidate, encoder, self._evaluate_trial(candidate.name, encoder))

    def probe(self, shape: str, folder: Path) -> ShapeProbe:
        """Measure the size and the speed of a shape, which is not trained."""
        vocabulary, table = self.grid.smallest
        start = self.material.start(self.vocabulary(vocabulary), self.grid.shapes[shape], self.seed)
        shutil.rmtree(folder / BUNDLE, ignore_errors=True)  # left by an interrupted trial
        form, texts = Form(precision=Precision(self.export.precision, table)), self.material.words.by_language
        write_artefact(start, folder / BUNDLE, form, shape, texts=texts)
        width = start.model.get_layer(TABLE).output_dim
        other = size_of(folder / BUNDLE) - table_bytes(start.tokenizer, width, table)
        ms = self.time_bundles({shape: folder / BUNDLE})[shape]
        return ShapeProbe(other, width, count_dense_weights(start.model), ms)

    def size(self, candidate: Candidate, probe: ShapeProbe) -> int:
        """Return the predicted bytes of a candidate's bundle."""
        tokenizer = self.vocabulary(candidate.vocabulary).tokenizer
        return probe.other_bytes + table_bytes(tokenizer, probe.width, candidate.table)

    def bundle(self, candidate: Candidate, folder: Path) -> BundleRow:
        """Train a candidate if it is to be trained, export it, and measure the bundle."""
        shutil.rmtree(folder / BUNDLE, ignore_errors=True)  # left by an interrupted trial
        encoder = self._encoder(candidate, folder)
        job = self.job(candidate)
        shipped, precision = self._prepare_export(candidate, job, encoder)
        data, languages = self.material.words.dataset, self.material.words.languages
        # The gate refuses no loss of P@1 here, as the loss is measured against the uncompressed student.
        gate = Gate(data, languages, replace(self.export, max_drop=100.0), force=True)
        with task(f"export {candidate.name}", gate_size(data, languages)) as advance:
            judged = export_artefact(
                shipped,
                folder / BUNDLE,
                gate,
                Form(precision=precision),
                self.notes,
                progress=advance,
                texts=self.material.words.by_language,
            )
        scores = self._evaluate_trial(candidate.name, load_artefact(folder / BUNDLE, self.export.threads))
        return BundleRow(
            **vars(self._record_trial(candidate, encoder, scores)),
            bytes=size_of(folder / BUNDLE),
            mcnemar=as_dict(compare(self.student.ranks[UNIT], scores.ranks[UNIT])),
            refused=list(judged.refused),
        )

    def _prepare_export(self, candidate, job, encoder):
        texts = self.material.words.by_language
        if candidate.trained:
            return job.prepare_export(*job.promote(encoder), texts)
        # Layers of 4 bits compensate for the table's rounding, so the table must not be rounded before.
        whole = self.vocabulary(candidate.vocabulary)
        wanted = whole if has_rounded_blocks(whole.model, job.precision) else encoder
        return round_dense(wanted, job.precision, texts), job.precision

    def unknown_shares(self, vocabulary: str) -> dict[str, list[float]]:
        """Return `{language: [before, after]}`: the `<unk>` share of the languages that a vocabulary leaves out."""
        return self.material.words.left(self.vocabulary(vocabulary).tokenizer)

    def time_bundles(self, folders: Mapping[str, Path]) -> dict[str, float]:
        """Return `{name: median milliseconds per query}` of bundles, timed together in turns."""
        questions = select_questions(self.material.words.dataset, self.material.words.languages)
        specs = {name: WorkerSpec("bundle", str(folder)) for name, folder in folders.items()}
        with task("benchmark", len(specs) * ROUNDS) as advance, start_workers(specs, self.export.threads) as workers:
            spent = measure_latency(workers, [question.text for question in questions], ROUNDS, advance)
        return {name: float(np.median(milliseconds)) for name, milliseconds in spent.items()}

    def _encoder(self, candidate, folder):
        if (folder / STUDENT).is_dir():
            Checkpoint(folder / CHECKPOINT).remove()
            return KerasEncoder.load(folder / STUDENT)
        start = self.vocabulary(candidate.vocabulary)
        if not candidate.trained:
            return round_table(start, candidate.table)
        start, job = self.material.start(start, self.grid.shapes[candidate.shape], self.seed), self.job(candidate)
        if not job.settings.train_table:
            start = round_table(start, candidate.table)
        if job.settings.trained_weights != self.material.job.settings.trained_weights:
            say(f"{candidate.name}: everything that it may learn is trained, not only its table or new rows")
        log = RunLog(folder / "log.jsonl")
        checkpoint = Checkpoint(folder / CHECKPOINT)
        session = Session(log, checkpoint=checkpoint, options=self.training, dev=self.dev)
        try:
            encoder = self.material.train(start, job, session)
        finally:
            log.close()
        encoder.save(folder / STUDENT)
        checkpoint.remove()
        return encoder

    def job(self, candidate: Candidate) -> StudentJob:
        """Return the run's stage 2 as a candidate learns it.

        A candidate in another shape has a new network, so all of it is trained and none of its starting weights are
        worth keeping. Codewords that are made before training stay.
        """
        precision = Precision(self.export.precision, candidate.table)
        job, whole = replace(self.material.job, precision=precision), self.grid.shapes[candidate.shape].whole
        settings = replace(job.settings, dev_unit=UNIT, start_share=0.0, significance=0.0)
        trainable = CODECS[candidate.table].trainable
        keeps = not trainable and self._keeps_codewords(job, candidate)
        learnt = trainable or keeps
        if not learnt:
            settings = replace(settings, train_table=False)
        if not keeps:
            settings = replace(settings, train_codewords=False)
        if not (learnt and whole):
            settings = replace(settings, trained_weights="all")
        return replace(job, settings=settings)

    def _keeps_codewords(self, job, candidate):
        """Return True if the table already has codewords, which its rows choose from."""
        whole = self.grid.shapes[candidate.shape].whole
        return whole and job.precision_of(self.vocabulary(candidate.vocabulary)).stored is not None

    def _evaluate_trial(self, name: str, encoder: Encoder) -> Evaluation:
        data, languages = self.material.words.dataset, self.material.words.languages
        with task(f"evaluate {name}", count_texts(data, [SPLIT], languages, (UNIT,))) as advance:
            return evaluate(encoder, data, SPLIT, languages, (UNIT,), advance)

    def _record_trial(self, candidate: Candidate, encoder: KerasEncoder, scores: Evaluation) -> TrialRow:
        languages, tokenizer = self.material.words.languages, encoder.tokenizer
        mean, table = scores.mean(UNIT, languages), scores.table()[UNIT]
        size = table_bytes(tokenizer, encoder.model.get_layer(TABLE).output_dim, candidate.table)
        # Rounding keeps a loss of exactly the limit from exceeding it.
        drop = round(100 * (self.student.mean(UNIT, languages) - mean), 6)
        by_language = {language: table[language]["p@1"] for language in languages}
        return TrialRow(candidate, len(tokenizer), size, mean, drop, by_language)


def table_bytes(tokenizer: Tokenizer, width: int, table: str) -> int:
    """Return the bytes of a table in a format of `codecs.CODECS` and of its tokenizer's files."""
    return stored_bytes(table, len(tokenizer), width) + tokenizer.stored_bytes


def count_dense_weights(model: Model) -> int:
    """Return the number of a student's weights outside its table."""
    return model.count_params() - model.get_layer(TABLE).count_params()
