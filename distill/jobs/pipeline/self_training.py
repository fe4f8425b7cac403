"""Self-training: each encoder finds the pairs that the next one learns from (Sorokin et al., 2022, section 3.3)."""

from __future__ import annotations

import shutil
from functools import cached_property

from ...encoders.catalog.loading import load_trained
from ...encoders.dual_encoder import DualEncoder
from ...encoders.encoder import Encoder, KerasEncoder
from ...errors import ConfigError, InputError
from ...system.files import write_json
from ...system.hashes import changed_files
from ...system.input_files import read_json
from ...system.progress import say
from ...system.types import Integers, Json
from ...training.checkpoints import Checkpoint
from ...training.stages.answering_passages import AnsweringPassages
from ...training.stages.mined_pairs import MinedPairs, mine_pairs, rank_by_bm25, rank_by_encoder, write_mined
from .first_stage import teacher_job
from .resuming import STAGE, STAGES
from .run import Run
from .steps import Engine, Step

ENCODER = "encoder"


def self_train(run: Run, base: KerasEncoder) -> KerasEncoder | DualEncoder:
    """Train an encoder in stages and return that of the best stage on dev.

    Stage 0 learns from what BM25 finds, each later one from what the encoder of the previous stage finds. Every stage
    trains `base` anew and leaves a folder; a complete one is not trained again. Training ends after `pairs.self_train`
    stages, or as soon as a stage after the first `pairs.self_train_always` is no better on dev than the one before, by
    P@1, then MRR@10. The run records `self_training`. Raises `InputError` if a stage in the folder was made from other
    data and `ConfigError` if `pairs.self_train` is not set.
    """
    done: list[Stage] = []
    if run.inputs.answered is None:
        raise ConfigError("pairs.self_train: 0 stages, expected at least 1; set it to 1 or more")
    engine, options = Engine(run.inputs.seed), run.inputs.pairing
    for number in range(options.self_train + 1):
        stage = Stage(run, number, run.inputs.answered)
        engine.do(stage.step(base, done[-1] if done else None))
        done.append(stage)
        if number and stage.score <= done[-2].score:
            say(f"{stage.name} is no better on dev than the one before")
            if number >= options.self_train_always:
                break
    best = max(done, key=lambda stage: stage.score)
    results = [{**stage.result, "kept": stage is best} for stage in done]
    run.record("self_training", {"kept": best.number, "stages": results})
    kept = best.encoder()
    kept.name = "teacher"
    return kept


class Stage:
    """One stage and its folder: `mined.jsonl`, `statistics.json`, `encoder`, and finally `stage.json`."""

    def __init__(self, run: Run, number: int, answered: AnsweringPassages):
        self.run, self.number, self.answered, self.name = run, number, answered, f"{STAGES} stage {number}"
        self.folder = run.folder / STAGES / f"stage-{number}"

    @property
    def complete(self) -> bool:
        """True if the stage was trained before. Raises `InputError` if that was on other data."""
        if not (self.folder / STAGE).is_file():
            return False
        if other := changed_files(read_json(self.folder / STAGE)["files"], self.run.dataset.files):
            raise InputError(f"{self.folder} was made from other data ({', '.join(other)}); restore it, or run anew")
        return True

    @cached_property
    def result(self) -> dict[str, Json]:
        """The stage's number, its dev score and the statistics of the mined pairs."""
        stored = read_json(self.folder / STAGE)
        return {name: stored[name] for name in ("stage", "dev", "mined")}

    @property
    def score(self) -> tuple[float, float]:
        """P@1 and MRR@10 on dev."""
        dev = read_json(self.folder / STAGE)["dev"]
        return dev["p@1"], dev["mrr@10"]

    def encoder(self) -> KerasEncoder | DualEncoder:
        """Load the encoder that the stage trained."""
        return load_trained(self.folder / ENCODER)

    def step(self, base: KerasEncoder, before: Stage | None) -> Step[None]:
        """Return the stage as a step of the job; the stage before mines its pairs, or BM25."""

        def train():
            self.train(base, before.encoder() if before else None)

        return Step(self.name, train, is_there=lambda: self.complete, load=lambda: None)

    def train(self, base: KerasEncoder, last: Encoder | None) -> None:
        """Mine pairs by the last encoder or BM25 and train on them; `stage.json` is written when all else is there."""
        inputs, log, checkpoint = self.run.inputs, self.run.log, self.run.checkpoint(self.name)
        shutil.rmtree(self.folder, ignore_errors=True)  # of a stage that was broken off
        mined = self.mine(last, checkpoint)
        del last
        encoder = teacher_job(inputs).of_mined(mined.pairs).train(base, self.run.session(self.name))
        encoder.save(self.folder / ENCODER)
        best = max(log.of(self.name), key=lambda row: (row["p@1"], row["mrr@10"]))
        dev = {name: best[name] for name in ("epoch", "p@1", "mrr@10")}
        result = {"stage": self.number, "dev": dev, "mined": mined.statistics, "files": dict(inputs.dataset.files)}
        # Before the file that makes the stage complete: of one that is not the row is left out.
        log.write(STAGES, **{name: result[name] for name in ("stage", "dev", "mined")})
        write_json(self.folder / STAGE, result)
        checkpoint.remove()
        say(f"{self.name}: dev P@1 {dev['p@1']:.3f}, MRR@10 {dev['mrr@10']:.3f}")

    def mine(self, last: Encoder | None, checkpoint: Checkpoint) -> MinedPairs:
        """Mine the pairs that the stage learns from, and write them to its folder."""
        inputs, options = self.run.inputs, self.run.inputs.pairing
        (ranking,) = checkpoint.keep("ranking", self.number, lambda: [self.ranking(last, options.self_train_top)])
        mined = mine_pairs(self.answered.pairs, ranking, self.answered, options.negatives_of(self.number))
        write_mined(self.folder, mined, inputs.dataset)
        statistics = mined.statistics.values()
        more, of = (sum(row[name] for row in statistics) for name in ("mined", "questions"))
        say(f"{self.name}: passages beyond their own for {more} of {of} questions, in {self.folder}")
        return mined

    def ranking(self, last: Encoder | None, k: int) -> Integers:
        """Rank the passages of each question by the last encoder, or BM25: the nearest rows, int `(n, k)`."""
        pairs, words = self.answered.pairs, self.run.inputs.teacher.bm25_words
        return rank_by_encoder(last, pairs, k) if last else rank_by_bm25(pairs, self.run.dataset, k, words)
