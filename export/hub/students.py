"""Convert students to modules of Sentence-Transformers, including pairs of students, one per role."""

from __future__ import annotations

from collections.abc import Sequence

from ...encoders.encoder import KerasEncoder
from ...system.types import Floats, Progress, Role
from ..families.registry import family_part
from .modules import TASKS, Module


class EncoderPair(KerasEncoder):
    """An encoder of questions with another encoder of documents in the same vector space."""

    def __init__(self, questions: KerasEncoder, documents: KerasEncoder) -> None:
        super().__init__(questions.model, questions.tokenizer, questions.name)
        self.documents = documents

    def encode(
        self,
        texts: Sequence[str],
        role: Role = "question",
        progress: Progress | None = None,
        contexts: Sequence[str] | None = None,
    ) -> Floats:
        """Encode texts with the encoder of their role. Returns vectors of unit length, float32 `(n, d)`."""
        encode = self.documents.encode if role == "document" else super().encode
        return encode(texts, role, progress, contexts)

    def without_spellings(self) -> EncoderPair:
        """Return the pair with both encoders reading text without spellings."""
        return EncoderPair(super().without_spellings(), self.documents.without_spellings())


def prompts_of(student: KerasEncoder) -> dict[str, str]:
    """Return the prompts of a student or a pair by task, with Sentence-Transformers' names."""
    readings = {
        "question": student.tokenizer.reading,
        "document": getattr(student, "documents", student).tokenizer.reading,
    }
    return {task: readings[role].prompts.get(role, "") for role, task in TASKS.items()}


def modules_of(student: KerasEncoder) -> list[Module]:
    """Return the modules that compute the same as a student. Raises `ExportError` if the modules cannot compute it."""
    return family_part(student.model.family, "modules", "a Sentence-Transformers folder").modules_of(student)


def linear_rows(student: KerasEncoder) -> Floats:
    """Return rows `(tokens, d)` whose sum, at unit length, is a text's vector, or raise `EncoderError`."""
    return family_part(student.model.family, "modules", "a model2vec folder").linear_rows(student)
