"""Starting Keras without what its backends print while they look for accelerators."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache

from .lean_imports import is_lean


@contextlib.contextmanager
def hushed(show_on_failure: bool = False) -> Iterator[None]:
    """Hold back what C++ libraries write to the process's standard error; on request show it when the block fails."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as log:
        kept = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            yield
        except Exception:
            if show_on_failure:
                log.seek(0)
                os.write(kept, log.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def start() -> None:
    """Import Keras and run one operation, so that its backend is up before anything is timed or shown."""
    first = "keras" not in sys.modules
    with hushed(show_on_failure=True):
        import keras

        keras.ops.zeros((1,))
    if first or is_lean():
        _keep()


@cache
def _keep():
    """Its backend's objects stay: a collection of garbage need not walk over them, which takes a third of a second."""
    gc.freeze()
