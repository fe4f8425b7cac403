"""`export/c/distill.c` and `distill_writer.c` compiled, and called from Python by ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_int32, c_size_t, c_uint32, c_void_p
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import distill.export.c
from distill.system.text import make_well_formed

SOURCES = Path(distill.export.c.__file__).parent
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror")
FUZZ = Path(__file__).with_name("fuzz.c")
PROGRAM = ("distill.c", "distill_writer.c")
ROOM, LINE = 1 << 16, 64
ROLES = {"question": c_int(0), "document": c_int(1)}


class Hit(ctypes.Structure):
    """A passage, its best sentence and the score."""

    _fields_ = (("passage", c_uint32), ("sentence", c_uint32), ("score", c_float))


class Span(ctypes.Structure):
    """Bytes in an index."""

    _fields_ = (("bytes", c_void_p), ("size", c_size_t))


class Refused(Exception):
    """A status that is not 0."""


def compilers():
    """`{name: command}` of those that are here."""
    ours = {"zig": [sys.executable, "-m", "ziglang", "cc"]} if find_spec("ziglang") else {}
    return ({"gcc": ["gcc"]} if shutil.which("gcc") else {}) | ours


def compiled(command, output, *options, sources=PROGRAM):
    """The file that a compiler makes of sources."""
    files = [str(SOURCES / name) for name in sources]
    subprocess.run([*command, *STRICT, f"-I{SOURCES}", *options, *files, "-lm", "-o", str(output)], check=True)
    return output


def has_header(command, name):
    """True where a compiler knows a header."""
    probe = subprocess.run([*command, "-E", "-x", "c", "-"], input=f"#include <{name}>\n".encode(), capture_output=True)
    return probe.returncode == 0


def library(command, output, *options):
    """The program as a library for `Program`."""
    return Program(compiled(command, output, "-O3", "-shared", "-fPIC", *options))


class Program:
    """The functions of distill.h in a shared library."""

    def __init__(self, path):
        self.functions = ctypes.CDLL(str(path))
        self.functions.distill_text.restype = c_char_p
        for name in ("distill_dimension", "distill_index_dimension", "distill_passages", "distill_rescored"):
            getattr(self.functions, name).restype = c_size_t
        self.functions.distill_writer_documents.restype = c_size_t

    def require(self, status):
        """Raise `Refused` for a status that is not 0."""
        if status:
            raise Refused(status, self.functions.distill_text(c_int(status)).decode())


def lines_of(content):
    """Bytes where a line of the cache begins, as in a mapped file."""
    memory = np.zeros(len(content) + LINE, dtype=np.uint8)
    start = -memory.ctypes.data % LINE
    memory[start : start + len(content)] = np.frombuffer(content, dtype=np.uint8)
    return memory[start : start + len(content)]


class PlainEncoder:
    """An encoder.bin, as the program reads it."""

    def __init__(self, program, content):
        self.program, self.pointer = program, c_void_p()
        self.content = lines_of(content)
        place = c_void_p(self.content.ctypes.data)
        program.require(program.functions.distill_open(place, c_size_t(len(content)), byref(self.pointer)))
        self.dimension = program.functions.distill_dimension(self.pointer)

    def tokenize(self, text, role="question"):
        """The ids of a text of a role, str or bytes."""
        text = text if isinstance(text, bytes) else make_well_formed(text).encode()
        ids, count = np.zeros(ROOM, dtype=np.int32), c_size_t()
        place = ids.ctypes.data_as(POINTER(c_int32))
        arguments = ROLES[role], text, c_size_t(len(text)), place, c_size_t(ROOM), byref(count)
        self.program.require(self.program.functions.distill_tokenize(self.pointer, *arguments))
        return ids[: count.value].tolist()

    def encode(self, texts, role="question"):
        """The vectors of texts of a role, float32 `(n, d)`."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, (make_well_formed(text).encode() for text in texts), strict=True):
            place = row.ctypes.data_as(POINTER(c_float))
            arguments = ROLES[role], text, c_size_t(len(text)), place
            self.program.require(self.program.functions.distill_encode(self.pointer, *arguments))
        return vectors

    def close(self):
        """Free what the program holds."""
        self.program.functions.distill_close(self.pointer)


class PlainIndex:
    """An index.bin, as the program reads it."""

    def __init__(self, program, content, encoder=None):
        self.program, self.pointer = program, c_void_p()
        self.content = lines_of(content)
        arguments = c_void_p(self.content.ctypes.data), c_size_t(len(content)), encoder and encoder.pointer
        program.require(program.functions.distill_index_open(*arguments, byref(self.pointer)))

    def search(self, vector, k):
        """`[(row of a passage, row of its best sentence, score)]`, best first."""
        vector, hits, count = np.ascontiguousarray(vector, dtype=np.float32), (Hit * k)(), c_size_t()
        place = vector.ctypes.data_as(POINTER(c_float))
        self.program.require(
            self.program.functions.distill_search(self.pointer, place, c_size_t(k), hits, byref(count))
        )
        return [(hit.passage, hit.sentence, hit.score) for hit in hits[: count.value]]

    def probability(self, encoder, scores):
        """The probability that the first passage answers, and the threshold, by the scores of the best passages."""
        hits, known, least = (Hit * len(scores))(*(Hit(0, 0, score) for score in scores)), c_float(), c_float()
        arguments = encoder.pointer, self.pointer, hits, c_size_t(len(scores)), byref(known), byref(least)
        self.program.require(self.program.functions.distill_probability(*arguments))
        return known.value, least.value

    @property
    def rescored(self):
        """Passages that are to be scored again by their text."""
        return self.program.functions.distill_rescored(self.pointer)

    def rescore(self, encoder, vector, texts):
        """Those of `texts`, bytes by the row of a passage, scored again, as `search` gives them."""
        hits = (Hit * len(texts))(*(Hit(row, 0, 0) for row in texts))
        vector = np.ascontiguousarray(vector, dtype=np.float32)
        for hit, text in zip(hits, texts.values(), strict=True):
            arguments = vector.ctypes.data_as(POINTER(c_float)), text, c_size_t(len(text)), byref(hit)
            status = self.program.functions.distill_rescore(self.pointer, encoder.pointer, *arguments)
            self.program.require(status)
        self.program.functions.distill_sort(hits, c_size_t(len(hits)))
        return [(hit.passage, hit.sentence, hit.score) for hit in hits]

    def passage(self, row):
        """The text of a passage, bytes."""
        return self._span("distill_passage", row)

    def document(self, row):
        """What is kept of a passage's document, bytes."""
        return self._span("distill_document", row)

    def _span(self, name, row):
        span = Span()
        self.program.require(getattr(self.program.functions, name)(self.pointer, c_uint32(row), byref(span)))
        return ctypes.string_at(span.bytes, span.size)

    def sentence(self, row):
        """The begin and end of a sentence in its passage."""
        begin, end = c_size_t(), c_size_t()
        self.program.require(
            self.program.functions.distill_sentence(self.pointer, c_uint32(row), byref(begin), byref(end))
        )
        return begin.value, end.value


class PlainWriter:
    """An index that changes: that of an index.bin, or a new one."""

    def __init__(self, program, encoder, content=None):
        self.program, self.pointer, self.encoder = program, c_void_p(), encoder
        self.content = None if content is None else lines_of(content)
        place = c_void_p(None if content is None else self.content.ctypes.data)
        arguments = encoder.pointer, place, c_size_t(len(content or b""))
        program.require(program.functions.distill_writer_open(*arguments, byref(self.pointer)))

    def __len__(self):
        return self.program.functions.distill_writer_documents(self.pointer)

    def add(self, id, title, text):
        """Add a document, its texts str or bytes."""
        texts = [part if isinstance(part, bytes) else part.encode() for part in (id, title, text)]
        arguments = [each for part in texts for each in (part, c_size_t(len(part)))]
        self.program.require(self.program.functions.distill_writer_add(self.pointer, *arguments))

    def remove(self, id):
        """True where the document was there."""
        removed, id = c_int(), id if isinstance(id, bytes) else id.encode()
        arguments = self.pointer, id, c_size_t(len(id)), byref(removed)
        self.program.require(self.program.functions.distill_writer_remove(*arguments))
        return bool(removed.value)

    def save(self, path=None):
        """The index as bytes, written to a file too where there is a path."""
        place, size = c_void_p(), c_size_t()
        self.program.require(self.program.functions.distill_writer_save(self.pointer, byref(place), byref(size)))
        content = ctypes.string_at(place, size.value)
        if path is not None:
            self.program.require(self.program.functions.distill_write(str(path).encode(), place, size))
        self.program.functions.distill_free(place)
        return content

    def close(self):
        """Free what the program holds."""
        self.program.functions.distill_writer_close(self.pointer)
