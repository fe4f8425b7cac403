"""Time training steps for `steps.py` and `accelerator.py`; this runs on earlier commits too.

A step's *packing* is making its batch in the main thread, with nothing beside it. The *wait* is the time between two
steps: the loop makes its batch, or waits for the thread that does, and shows its progress. The steps run twice, and the
second time is measured: by then all shapes are compiled. Beside a step's time stands the processor's, of all threads,
which counts where the machine has other work.
"""

import time
from dataclasses import dataclass, field

import numpy as np

from distill.encoders.encoder import KerasEncoder
from distill.settings.sections import StudentSettings, TeacherSettings
from distill.training.loop import fit
from distill.training.session import Schedule
from distill.training.stages.targets import Targets
from distill.training.stages.transfer_stage import TransferStage
from distill.training.stages.triplet_stage import TripletStage

# Negatives by BM25, which asks no encoder.
TEACHER = {"bm25_epochs": 2, "online_epochs": 0}


def encoder(base):
    """Return the encoder of that name; `n-grams` and `static` are small untrained ones, for which the host matters
    most, and `transformer` is an untrained one of multilingual-e5-small's sizes.
    """
    import keras

    from distill.encoders.catalog.loading import load_keras_encoder

    if base == "transformer":
        return transformer()
    if base not in ("n-grams", "static"):
        return load_keras_encoder(base)
    from distill.students.ngram import NGramEncoder
    from distill.students.static import StaticEncoder

    tokenizer = load_keras_encoder("muse").tokenizer
    keras.utils.set_random_seed(0)
    if base == "static":
        return KerasEncoder(StaticEncoder(len(tokenizer)), tokenizer, base)
    sizes = {"width": 64, "channels": 32, "orders": (2, 3), "hidden": 64, "dimension": 64}
    return KerasEncoder(NGramEncoder(len(tokenizer), **sizes), tokenizer, base)


def transformer(width=384, depth=12, inner=1536):
    """Return an untrained transformer of multilingual-e5-small's sizes, or of others, with mUSE's pieces."""
    import keras

    from distill.encoders.catalog.loading import load_keras_encoder
    from distill.students.transformer.network import TransformerEncoder

    tokenizer = load_keras_encoder("muse").tokenizer
    keras.utils.set_random_seed(0)
    sizes = {"width": width, "depth": depth, "heads": width // 32, "head_size": 32, "inner": inner}
    return KerasEncoder(TransformerEncoder(len(tokenizer), dimension=width, **sizes), tokenizer, "transformer")


class Random:
    """A teacher of random vectors, which costs nothing. As labels they are as good as any."""

    def __init__(self, dimension):
        self.dimension, self.name = dimension, "random"

    def encode(self, texts, role="question", progress=None):
        vectors = np.random.default_rng(len(texts)).normal(size=(len(texts), self.dimension)).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def teacher_stage(base, dataset, size, session=None):
    """Return stage 1 by triplets, with `size` questions per step."""
    settings = TeacherSettings(batch_size=size, **TEACHER)
    return TripletStage(encoder(base), dataset, dataset.document_language, settings, 0, session)


def student_stage(base, dataset, size, session=None):
    """Return stage 2 in all languages, with `size` questions per step."""
    settings, start = StudentSettings(batch_size=size), encoder(base)
    targets = Targets.of(Random(start.model.output_shape[-1]), dataset, dataset.document_language, settings.units)
    return TransferStage(start, targets, dataset, list(dataset.languages), settings, 0, None, session)


@dataclass
class StepClock:
    """The times at which the steps of a trainer began and ended."""

    trainer: object
    began: list = field(default_factory=list)
    ended: list = field(default_factory=list)

    def __post_init__(self):
        # Commits before losses stayed unread have the one method alone.
        name = "take_step" if hasattr(self.trainer, "take_step") else "train_on_batch"
        step = getattr(self.trainer, name)

        def timed(batch):
            self.began.append(time.perf_counter())
            left = step(batch)
            self.ended.append(time.perf_counter())
            return left

        object.__setattr__(self.trainer, name, timed)


def timed_steps(stage, count, window=None):
    """Return figures of the first `count` steps of a stage's epoch, `{name: number}`, with times in milliseconds.

    A list `window` gets the times between which the measured steps ran.
    """
    makers, scored = stage.batches(1)[:count], []
    shaped = getattr(stage.trainer, "shape_batch", None) or getattr(stage.trainer, "shaped", dict)
    packing, batches = zip(*(_made(make, shaped) for make in makers), strict=True)
    clock = StepClock(stage.trainer)

    def evaluate():
        scored.append((time.perf_counter(), time.process_time()))
        return {"p@1": 0.0, "mrr@10": 0.0}

    fit(stage.trainer, lambda epoch: makers, evaluate, Schedule(2))
    began, ended, steps = clock.began[-len(makers) :], clock.ended[-len(makers) :], len(makers)
    waits = 1000 * (np.array(began[1:]) - np.array(ended[:-1]))
    if window is not None:
        window += [began[0], scored[-1][0]]
    seconds, texts = scored[-1][0] - began[0], sum(len(batch["counts"]) for batch in batches)
    return {
        "steps": steps,
        "texts": round(texts / steps, 1),
        "tokens": round(sum(len(batch["ids"]) for batch in batches) / steps),
        "real tokens": round(sum(map(_count_tokens, batches)) / steps),
        "packing": round(float(np.median(packing)), 3),
        "wait": round(float(np.median(waits)), 3),
        "longest wait": round(float(waits.max()), 3),
        "step": round(1000 * seconds / steps, 2),
        "processor": round(1000 * (scored[-1][1] - scored[-2][1]) / steps, 2),
        "share": round(float(waits.sum()) / (1000 * seconds), 4),
        "texts a second": round(texts / seconds, 1),
    }


def _count_tokens(batch):
    return sum(int(np.sum(array >= 0)) for name, array in batch.items() if name.endswith("ids"))


def _made(make, shaped):
    began = time.perf_counter()
    batch = shaped(make())
    return 1000 * (time.perf_counter() - began), batch
