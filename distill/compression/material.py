"""A smaller student out of a student: other pieces, another shape, and stage 2 again."""

from dataclasses import replace

from ..encoders.encoder import KerasEncoder
from ..stages.lines import labelled, mixed, translations
from ..stages.transfer_stage import Targets, learn
from ..students.project import axes_of, on_axes
from ..students.vocabulary.pruning import texts_of
from ..students.vocabulary.vocabularies import Vocabularies


class Material(Vocabularies):
    """What every candidate of a search is made from and learns from: vocabularies, the teacher, and labelled text.

    `units` are what stage 2 calls a document. The teacher's vectors are computed once, and so are the student's of the
    train questions and the corpus, but for the new languages, which it cuts into what it hardly knows: there the
    teacher alone is learned from.
    """

    def __init__(self, student, teacher, dataset, language, languages, corpus, units, new=(), pieces=0, progress=None):
        super().__init__(student, dataset, languages, corpus, new, pieces)
        known = [line for line in self.counted if line.kind != "passage" and line.language not in self.new]
        self.lines = labelled(texts_of(known), student, progress)
        self.targets = Targets(teacher, dataset, language, units, progress)

    def add_parallel(self, sources, teacher, temperature, progress=None):
        """Learn from parallel text as often as from what the student labels; `[parallel.Parallel]`."""
        more = translations(sources, teacher, temperature, progress)
        on_same = replace(more, vectors=on_axes(more.vectors, axes_of(self.student.model)))
        self.lines = mixed(self.lines, on_same)

    def start(self, encoder, shape, seed=0):  # type: ignore[override]
        """`encoder` cut to a `Shape`, the axes of a smaller dimension being the teacher's documents'."""
        return super().start(encoder, shape, self.targets.documents, seed)

    def train(self, start, settings, precision, seed=0, log=None, checkpoint=None, training=None):
        """Stage 2 again: towards the fixed teacher, and towards the student on questions and corpus.

        `precision`, an `export.form.Precision`, is that of the settings' quantised epochs; `checkpoint` is
        `training.fit`'s; `training` are the `TrainingSettings`.
        """
        more = {"precision": precision, "lines": self.lines, "checkpoint": checkpoint, "training": training}
        made = learn(self.targets, start, self.dataset, self.languages, settings, seed, log, **more)
        return KerasEncoder(made.model, made.tokenizer, start.name)


def reshaped(encoder, shape, dataset, languages, seed=0):
    """A `KerasEncoder` cut to a `Shape` on a data set's train questions in these languages and its passages.

    The encoder itself where nothing is cut; its own vectors of the passages span the axes of a smaller dimension.
    Raises `ConfigError` as `Shape.check`.
    """
    shape.check(encoder.model)
    vectors = encoder.encode(dataset.passage_texts, "document") if shape.dimension else None
    return Vocabularies(encoder, dataset, languages, {}).start(encoder, shape, vectors, seed)
