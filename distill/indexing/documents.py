"""Documents and their reader, under the name that programs import them by; the room `documents` contains both."""

from ..documents.document import Document as Document
from ..documents.reading import read_documents as read_documents
