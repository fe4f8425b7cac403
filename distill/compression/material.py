"""A smaller student out of a student: other pieces, another shape, and stage 2 again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..data.dataset import Dataset
from ..data.parallel import Parallel
from ..encoders.encoder import Encoder, KerasEncoder
from ..export.weights.precision import Precision
from ..settings.sections import StudentSettings
from ..stages.lines import labelled, mixed, translations
from ..stages.transfer_stage import Targets, learn
from ..students.project import axes_of, on_axes
from ..students.shape import Shape
from ..students.vocabulary.pruning import texts_of
from ..students.vocabulary.vocabularies import Vocabularies
from ..system.types import Progress
from ..training.session import Session


@dataclass(frozen=True)
class Material:
    """Candidates of a search are made from `words`, and learn from `targets`: the teacher's vectors and labelled text.

    The teacher's vectors are computed once, and so are the student's of the train questions and the corpus, but for the
    new languages, which it cuts into what it hardly knows: there the teacher alone is learned from.
    """

    words: Vocabularies
    targets: Targets

    @classmethod
    def of(
        cls,
        words: Vocabularies,
        teacher: Encoder,
        language: str,
        units: Sequence[str],
        progress: Progress | None = None,
    ) -> Material:
        """Ask the student for its texts, and the teacher for the questions in `language` and documents of `units`."""
        known = [line for line in words.counted if line.kind != "passage" and line.language not in words.new]
        lines = labelled(texts_of(known), words.student, progress)
        return cls(words, Targets.of(teacher, words.dataset, language, units, lines, progress))

    def with_parallel(
        self, sources: Sequence[Parallel], teacher: Encoder, temperature: float, progress: Progress | None = None
    ) -> Material:
        """The same, learning from parallel text as often as from what the student labels."""
        lines = translations(sources, teacher, temperature, progress)
        on_same = replace(lines, vectors=on_axes(lines.vectors, axes_of(self.words.student.model)))
        known = self.targets.lines
        return replace(self, targets=replace(self.targets, lines=mixed(known, on_same) if known else on_same))

    def start(self, encoder: KerasEncoder, shape: Shape, seed: int = 0) -> KerasEncoder:
        """`encoder` cut to a `Shape`, the axes of a smaller dimension being the teacher's documents'."""
        return self.words.start(encoder, shape, self.targets.documents, seed)

    def train(
        self,
        start: KerasEncoder,
        settings: StudentSettings,
        precision: Precision,
        seed: int = 0,
        session: Session | None = None,
    ) -> KerasEncoder:
        """Stage 2 again: towards the fixed teacher, and towards the student on questions and corpus.

        `precision` is that of the settings' quantised epochs.
        """
        words = self.words
        student = learn(self.targets, start, words.dataset, words.languages, settings, seed, session, precision)
        return KerasEncoder(student.model, student.tokenizer, start.name)


def reshaped(
    encoder: KerasEncoder, shape: Shape, dataset: Dataset, languages: Sequence[str], seed: int = 0
) -> KerasEncoder:
    """A `KerasEncoder` cut to a `Shape` on a data set's train questions in these languages and its passages.

    The encoder itself where nothing is cut; its own vectors of the passages span the axes of a smaller dimension.
    Raises `ConfigError` as `Shape.check`.
    """
    shape.check(encoder.model)
    vectors = encoder.encode(dataset.passage_texts, "document") if shape.dimension else None
    return Vocabularies(encoder, dataset, languages, {}).start(encoder, shape, vectors, seed)
