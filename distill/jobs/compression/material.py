"""A smaller student made from a student: other tokens, another shape, and stage 2 again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...data.dataset import Dataset
from ...encoders.encoder import Encoder, KerasEncoder
from ...students.project import find_axes, on_axes
from ...students.shape import Shape
from ...students.vocabulary.pruning import group_texts
from ...students.vocabulary.vocabularies import Vocabularies
from ...system.progress import task
from ...training.session import Session
from ...training.stages.lines import label_corpus, mix_lines
from ...training.stages.student_job import StudentJob
from ...training.stages.targets import Targets


@dataclass(frozen=True)
class Material:
    """The resources that the candidates of a search are made of and learn from.

    The targets are computed once. They are the teacher's vectors of all that the job learns from, and the student's
    vectors of the train questions and the corpus. New languages are left to the teacher alone, as the student hardly
    knows their tokens. `first` is the encoder that the student was made of, whose tokens are not new.
    """

    words: Vocabularies
    job: StudentJob
    targets: Targets
    first: KerasEncoder

    @classmethod
    def of(cls, words: Vocabularies, job: StudentJob, teacher: Encoder, first: KerasEncoder | None = None) -> Material:
        """Encode the student's texts by the student, and all that the job learns by the teacher."""
        known = [line for line in words.counted if line.kind != "passage" and line.language not in words.new]
        with task("the student's vectors of questions and the corpus", len(known)) as advance:
            lines = label_corpus(group_texts(known), words.student, advance)
        if translated := job.lines(teacher):
            axes = find_axes(words.student.model)
            lines = mix_lines(lines, replace(translated, vectors=on_axes(translated.vectors, axes)))
        return cls(words, job, job.targets(teacher, lines), first or words.student)

    def start(self, encoder: KerasEncoder, shape: Shape, seed: int = 0) -> KerasEncoder:
        """Return an encoder cut to a shape, whose smaller dimension has axes of the teacher's document vectors."""
        return self.words.start(encoder, shape, self.targets.documents, seed)

    def train(self, start: KerasEncoder, job: StudentJob, session: Session | None = None) -> KerasEncoder:
        """Train a candidate by its stage 2: towards the fixed teacher, and the student on questions and corpus."""
        student = job.train(self.targets, start, self.first, session)
        return KerasEncoder(student.model, student.tokenizer, start.name)


def cut_to_shape(
    encoder: KerasEncoder, shape: Shape, dataset: Dataset, languages: Sequence[str], seed: int = 0
) -> KerasEncoder:
    """Return an encoder cut to a shape on the train questions and the passages of a data set.

    Its own vectors of the passages span the axes of a smaller dimension.
    """
    shape.check(encoder.model)
    vectors = encoder.encode(dataset.passage_texts, "document") if shape.dimension else None
    return Vocabularies(encoder, dataset, languages, {}).start(encoder, shape, vectors, seed)
