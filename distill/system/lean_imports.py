"""Keras and TensorFlow without what they import only because it is installed, which is half of their start."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

# By who imports it: for image galleries, data frames, scikit-learn's interface, what converts from JAX, and the nearest
# by JAX. As backend Keras has imported that before its callbacks.
OPTIONAL = {
    "keras": ("matplotlib", "pandas", "sklearn"),
    "keras.src.callbacks": ("jax",),
    "tensorflow": ("jax",),
    "bm25s": ("jax",),
}
# Objects that are made before garbage is looked for: an import makes hundreds of thousands, all of which stay.
THRESHOLD = 50_000


class OptionalHidden(MetaPathFinder):
    """An import finder by which `OPTIONAL` packages are not there for those that import them, while these load."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Raise `ModuleNotFoundError` for what is hidden; leave all else to the other finders."""
        if any(name in hidden and _loads(host) for host, hidden in OPTIONAL.items()):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _loads(name):
    return getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False)


def lean_imports() -> None:
    """Have this process import Keras and TensorFlow without optional packages: for a process that is ours alone."""
    gc.set_threshold(THRESHOLD, *gc.get_threshold()[1:])
    if not is_lean():
        sys.meta_path.insert(0, OptionalHidden())


def is_lean() -> bool:
    """True in a process that `lean_imports` was called in."""
    return any(isinstance(finder, OptionalHidden) for finder in sys.meta_path)
