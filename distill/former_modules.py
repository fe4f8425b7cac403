"""Modules that have moved, by their former names: the scripts that users sent with their reports import these."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

# By module its names, with the module below `distill` and the name that each has now.
FORMER = {
    "distill.indexing.cutting": {
        "Cut": ("words.cutting", "Cut"),
        "pieces": ("documents.document", "cut_document"),
    },
    "distill.indexing.documents": {"Document": ("documents.document", "Document")},
    "distill.indexing.lexical": {"Lexical": ("indexing.words.lexical", "Lexical")},
    "distill.indexing.stored": {"Index": ("indexing.index_file", "Index")},
}


class FormerModules(MetaPathFinder, Loader):
    """Find and load modules by their former names, with a warning that names the new ones."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that has moved, None for any other."""
        return ModuleSpec(fullname, self) if fullname in FORMER else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None, so that Python makes an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Give a module its former names."""
        for name, (place, new) in FORMER[module.__name__].items():
            warnings.warn(f"{module.__name__}.{name} is distill.{place}.{new} now", DeprecationWarning, stacklevel=2)
            setattr(module, name, getattr(import_module(f"distill.{place}"), new))
