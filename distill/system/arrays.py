"""Arrays to a file and from one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, first_line
from .files import write_aside
from .types import File, Floats


def write_vectors(path: File, vectors: Floats) -> None:
    """Write float32 `(n, d)` as `.npy`, whole or not at all."""
    with write_aside(path) as aside, open(aside, "wb") as file:
        np.save(file, vectors.astype(np.float32, copy=False))


def read_vectors(path: File) -> NDArray[np.generic]:
    """Return the array of an `.npy` file. Raises `DataError` for a file that is none, or is pickled."""
    try:
        # NumPy leaves a file open that it cannot read.
        with open(path, "rb") as file:
            vectors = np.load(file, allow_pickle=False)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or first_line(error)}") from error
    except Exception as error:  # a broken header raises what its reading happens to
        raise DataError(f"{path}: no .npy file of numbers; distill encode writes one") from error
    if not isinstance(vectors, np.ndarray):
        vectors.close()
        raise DataError(f"{path}: several arrays, expected one, an .npy file")
    return vectors
