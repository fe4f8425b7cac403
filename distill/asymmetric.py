"""Documents by one encoder, on a server, and questions by another, on the phone: objectives 1 and 3 align these."""

from .errors import EncoderError


class AsymmetricEncoder:
    """An `Encoder` of two: `question` for questions and `document` for documents, both of one space.

    Raises `EncoderError` where they differ in dimension.
    """

    def __init__(self, question, document):
        if question.dimension != document.dimension:
            raise EncoderError(
                f"documents of {document.name} have {document.dimension} dimensions and questions of {question.name} "
                f"{question.dimension}: both have to be of one space, such as a student's and its teacher's"
            )
        self.question, self.document, self.dimension = question, document, question.dimension
        self.name = f"{question.name}, documents by {document.name}"

    @property
    def takes_context(self):
        return getattr(self.document, "takes_context", False)

    def encode(self, texts, role="question", progress=None, **extra):
        encoder = self.document if role == "document" else self.question
        return encoder.encode(texts, role, progress, **extra)


def with_documents(encoder, source):
    """The encoder itself, or with documents by the one that `source` names."""
    from .loading import load_teacher

    return AsymmetricEncoder(encoder, load_teacher(source)) if source else encoder
