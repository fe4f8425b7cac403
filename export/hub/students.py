"""Students as modules of Sentence-Transformers: those of a student's family, and of two by role."""

from __future__ import annotations

from collections.abc import Sequence

from ...encoders.encoder import KerasEncoder
from ...system.types import Floats, Progress, Role
from ..families.registry import family_part
from .modules import TASKS, Module


class Pair(KerasEncoder):
    """An encoder of questions, with `documents` by another of the same space."""

    def __init__(self, questions: KerasEncoder, documents: KerasEncoder) -> None:
        super().__init__(questions.model, questions.tokenizer, questions.name)
        self.documents = documents

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Return the vectors by the encoder of the role."""
        return (
            self.documents.encode(texts, role, progress)
            if role == "document"
            else super().encode(texts, role, progress)
        )

    def without_spellings(self) -> Pair:
        """Return the pair, both as they read text without spellings."""
        return Pair(super().without_spellings(), self.documents.without_spellings())


def prompts_of(student: KerasEncoder) -> dict[str, str]:
    """Return the prompts of a student, or of two by role, by Sentence-Transformers' names of tasks."""
    readings = {
        "question": student.tokenizer.reading,
        "document": getattr(student, "documents", student).tokenizer.reading,
    }
    return {task: readings[role].prompts.get(role, "") for role, task in TASKS.items()}


def modules_of(student: KerasEncoder) -> list[Module]:
    """Return the modules that compute what a student computes. Raises `ExportError` for one that they cannot."""
    return family_part(student.model.family, "modules", "a Sentence-Transformers folder").modules_of(student)


def linear_rows(student: KerasEncoder) -> Floats:
    """Return the rows `(pieces, d)` of which a text's sum, at unit length, is its vector.

    Raises `ExportError` for a student that is no such sum.
    """
    return family_part(student.model.family, "modules", "a model2vec folder").linear_rows(student)
