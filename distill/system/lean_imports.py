"""Import Keras and TensorFlow without optional packages, which take half of their start, and without their notices."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from tempfile import TemporaryFile
from types import ModuleType

# By who imports it: for image galleries, data frames, scikit-learn's interface, what converts from JAX, and the nearest
# by JAX. As backend Keras has imported that before its callbacks.
OPTIONAL = {
    "keras": ("matplotlib", "pandas", "sklearn"),
    "keras.src.callbacks": ("jax",),
    "tensorflow": ("jax",),
    "bm25s": ("jax",),
}
# Asks whether packages are there and imports none; Keras on PyTorch loads it.
ASKING = "torch._dynamo.trace_rules"
# Objects that are made before garbage is looked for: an import makes hundreds of thousands, all of which stay.
THRESHOLD = 50_000
# Told before TensorFlow reads its own level, so that no level silences them: its issue 100442.
NOTICE = re.compile(rb"WARNING: All log messages before absl::InitializeLog|[IWE]\d{4} .*\.cc:\d+\]")
LEVEL = "TF_CPP_MIN_LOG_LEVEL"


class OptionalHidden(MetaPathFinder):
    """An import finder that hides `OPTIONAL` packages from the modules that try to import them."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise `ModuleNotFoundError` for hidden packages, and leave everything but TensorFlow to other finders."""
        if any(name in hidden and _loads(host) for host, hidden in OPTIONAL.items()) and not _loads(ASKING):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return _quiet(PathFinder.find_spec(name, path, target)) if name == "tensorflow" else None


class QuietLoader(SourceFileLoader):
    """A loader of a package whose notices are dropped while it loads."""

    def exec_module(self, module: ModuleType) -> None:
        with without_notices():
            super().exec_module(module)


def _quiet(spec):
    if sys.stderr and os.environ.get(LEVEL) == "3" and spec and isinstance(spec.loader, SourceFileLoader):
        spec.loader = QuietLoader(spec.loader.name, spec.loader.path)
    return spec


@contextmanager
def without_notices() -> Iterator[None]:
    """Drop lines of `NOTICE` from the process's standard error; all others are written at the end."""
    sys.stderr.flush()
    stderr = os.dup(2)
    with TemporaryFile() as messages:
        os.dup2(messages.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(stderr, 2)
            os.close(stderr)
            messages.seek(0)
            os.write(2, b"".join(line for line in messages if not NOTICE.match(line)))


def _loads(name):
    return getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False)


def lean_imports() -> None:
    """Import Keras and TensorFlow without optional packages in this process, which must be distill's own."""
    gc.set_threshold(THRESHOLD, *gc.get_threshold()[1:])
    if not is_lean():
        sys.meta_path.insert(0, OptionalHidden())


def is_lean() -> bool:
    """Return True in a process that `lean_imports` was called in."""
    return any(isinstance(finder, OptionalHidden) for finder in sys.meta_path)
