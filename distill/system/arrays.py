"""Write arrays to files and read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, first_line
from .files import write_aside
from .types import File, Floats


def write_vectors(path: File, vectors: Floats) -> None:
    """Write float32 `(n, d)` as `.npy`, whole or not at all."""
    _write(path, np.save, vectors.astype(np.float32, copy=False))


def write_arrays(path: File, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write named arrays as `.npz`, whole or not at all."""
    _write(path, np.savez, **arrays)


def _write(path, save, *array, **arrays):
    with write_aside(path) as aside, open(aside, "wb") as file:
        save(file, *array, **arrays)


def read_vectors(path: File) -> NDArray[np.generic]:
    """Return the array of an `.npy` file. Raises `DataError` if it is no such file, or is pickled."""
    with _open_array(path, "no .npy file of numbers; distill encode writes one") as file:
        vectors = np.load(file, allow_pickle=False)
    if not isinstance(vectors, np.ndarray):
        vectors.close()
        raise DataError(f"{path}: several arrays, expected one, an .npy file")
    return vectors


def read_arrays(path: File, names: Sequence[str] = ()) -> dict[str, NDArray[np.generic]]:
    """Read the arrays of an `.npz` file. Raises `DataError` if it is no such file, is pickled, or lacks an array."""
    content = f" with {', '.join(names)}" if names else ""
    problem = f"no .npz file{content}, or a broken one"
    with _open_array(path, problem) as file, np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in names or stored.files}


@contextmanager
def _open_array(path, problem) -> Iterator:
    """Open a file for NumPy, which leaves files open that it cannot read, and turn its errors into `DataError`."""
    try:
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or first_line(error)}") from error
    except Exception as error:  # a broken zip or header raises what its reading happens to
        raise DataError(f"{path}: {problem}") from error
