"""A smaller student out of a student: other pieces, another shape, and stage 2 again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..data.dataset import Dataset
from ..encoders.encoder import Encoder, KerasEncoder
from ..stages.lines import labelled, mixed
from ..stages.student_job import StudentJob
from ..stages.transfer_stage import Targets
from ..students.project import axes_of, on_axes
from ..students.shape import Shape
from ..students.vocabulary.pruning import texts_of
from ..students.vocabulary.vocabularies import Vocabularies
from ..system.progress import task
from ..training.session import Session


@dataclass(frozen=True)
class Material:
    """Candidates of a search are made from `words`, and learn what the run's `job` asks for.

    The `targets` are the teacher's vectors of that, and the student's of the train questions and the corpus, each
    computed once, but for the new languages, which the student cuts into what it hardly knows: there the teacher alone
    is learned from. `first` is what the student was made of, whose pieces are no new ones.
    """

    words: Vocabularies
    job: StudentJob
    targets: Targets
    first: KerasEncoder

    @classmethod
    def of(cls, words: Vocabularies, job: StudentJob, teacher: Encoder, first: KerasEncoder | None = None) -> Material:
        """Ask the student for its texts, and the teacher for all that the job learns, the parallel text as often."""
        known = [line for line in words.counted if line.kind != "passage" and line.language not in words.new]
        with task("the student's vectors of questions and the corpus", len(known)) as advance:
            lines = labelled(texts_of(known), words.student, advance)
        if translated := job.lines(teacher):
            axes = axes_of(words.student.model)
            lines = mixed(lines, replace(translated, vectors=on_axes(translated.vectors, axes)))
        return cls(words, job, job.targets(teacher, lines), first or words.student)

    def start(self, encoder: KerasEncoder, shape: Shape, seed: int = 0) -> KerasEncoder:
        """`encoder` cut to a `Shape`, the axes of a smaller dimension being the teacher's documents'."""
        return self.words.start(encoder, shape, self.targets.documents, seed)

    def train(self, start: KerasEncoder, job: StudentJob, session: Session | None = None) -> KerasEncoder:
        """Stage 2 again, as this `job`: towards the fixed teacher, and the student on questions and corpus."""
        student = job.train(self.targets, start, self.first, session)
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
