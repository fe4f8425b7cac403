"""Encode blocks of texts by workers of Ray Data, on this machine or a cluster. Moritz et al. (2018)."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from ... import errors
from ...errors import DistillError, InputError, first_line
from ...system.backend import hush_stderr
from ...system.extras import require_extra
from ...system.types import File, Floats, Role
from ..catalog.identity import locate_encoder
from ..catalog.loading import load_encoder
from .encode_file import Engine, encode_block
from .text_file import TextFile

if TYPE_CHECKING:
    import pyarrow

    from ..encoder import Encoder

# Ray and what its data library needs.
PACKAGES = ("ray", "pyarrow", "pandas")
# How often a block is tried again whose worker died; a worker is started again as often as it takes.
RETRIES = 3
# Bytes of shared memory of a local Ray: Ray's least is 75 MiB.
SHARED = 1 << 28
# A local Ray gives its parts 30 seconds; a busy machine may need longer.
STARTS = 3
ADDRESS = "RAY_ADDRESS"


def ray_engine(source: File, workers: int, address: str | None = None) -> Engine:
    """Return a function that encodes the blocks of a file on Ray, for `encode_file` and `build_index`.

    Each worker reads its texts and loads the encoder itself. On a cluster both must have the same path everywhere.

    Args:
        source: The encoder, by any name that `load_encoder` takes.
        workers: The number of processes.
        address: The address of a cluster; None for `$RAY_ADDRESS` if it is set, or else for processes of this machine.

    Returns:
        The engine. It raises `DistillError` if the workers fail, and `InputError` if no cluster answers.

    Raises:
        InputError: If ray is not installed.

    Example:
        >>> import distill
        >>> engine = distill.ray_engine("multi12-static", workers=2)
        >>> callable(engine)
        True

        `distill.encode_file("texts.jsonl", "texts.npy", "multi12-static", engine=engine)` then encodes on Ray.
    """
    require_extra("--engine ray", PACKAGES, "ray")

    def encode(texts: TextFile, numbers: Sequence[int], role: Role) -> Iterator[tuple[int, Floats]]:
        if numbers:
            with _cluster(address or os.environ.get(ADDRESS), workers):
                yield from _blocks(
                    texts, numbers, {"source": locate_encoder(source), "role": role, "texts": texts}, workers
                )

    return encode


class Worker:
    """Encodes blocks in a process of its own; errors come back as data, as Ray would raise them with two tracebacks."""

    def __init__(self, source: File, role: Role, texts: TextFile) -> None:
        self.source, self.role, self.texts = source, role, texts
        self.encoder: Encoder | None = None

    def __call__(self, table: pyarrow.Table) -> pyarrow.Table:
        """Return the vectors, or the error, of each block that a row names."""
        import pyarrow

        rows = [self._row(number) for number in table["number"].to_pylist()]
        fields = {"number": pyarrow.int64(), "vectors": pyarrow.large_binary()}
        fields |= {"error": pyarrow.string(), "message": pyarrow.string()}
        return pyarrow.Table.from_pylist(rows, pyarrow.schema(fields))

    def _row(self, number):
        try:
            return {"number": number, "vectors": self.encode(number).tobytes()}
        except Exception as error:
            known = isinstance(error, DistillError)
            message = str(error) if known else f"{type(error).__name__}: {first_line(error)}"
            return {"number": number, "error": type(error).__name__ if known else "", "message": message}

    def encode(self, number: int) -> Floats:
        """Return the vectors of a block, float32 `(rows, d)`."""
        self.encoder = self.encoder or load_encoder(self.source)
        return np.asarray(encode_block(self.encoder, self.texts, number, self.role), np.float32)


def _blocks(texts, numbers, arguments, workers):
    """Yield the number and the vectors of each block, in the order in which they are finished."""
    try:
        for row in _rows(numbers, arguments, workers):
            if row["message"] is not None:
                raise getattr(errors, row["error"], DistillError)(f"a worker: {row['message']}")
            vectors = np.frombuffer(row["vectors"], np.float32)
            yield row["number"], vectors.reshape(texts.rows(row["number"]), -1)
    except DistillError:
        raise
    except Exception as error:
        raise DistillError(f"Ray could not go on: {type(error).__name__}: {first_line(error)}") from error


def _rows(numbers, arguments, workers):
    import ray.data

    # A block is a task of its own: it is retried, and comes back, alone.
    blocks = ray.data.from_items([{"number": number} for number in numbers], override_num_blocks=len(numbers))
    with warnings.catch_warnings():
        # Ray's defaults try a block again for ever, and there is no other way yet to say how often.
        warnings.filterwarnings("ignore", "`ray_remote_args_fn` is deprecated")
        done = blocks.map_batches(
            Worker,
            fn_constructor_kwargs=arguments,
            batch_size=1,
            batch_format="pyarrow",
            concurrency=workers,
            num_cpus=1,
            ray_remote_args_fn=lambda: {"max_restarts": -1, "max_task_retries": RETRIES},
        )
    for table in done.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        yield from table.to_pylist()


@contextmanager
def _cluster(address, workers):
    """Use the Ray that is running, or the one at `address`, or start one, which is stopped afterwards."""
    import ray

    with _quiet():
        begun = not ray.is_initialized()
        if begun:
            _connect(address, workers)
        try:
            yield
        finally:
            if begun:
                ray.shutdown()


def _connect(address, workers):
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # What its C++ parts say goes to standard error.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    if address:
        _start(InputError, f"no Ray cluster at {address}", 1, {"address": address})
    else:
        local = {"num_cpus": workers + 1, "object_store_memory": SHARED, "include_dashboard": False}
        _start(DistillError, "Ray does not start on this machine", STARTS, {"address": "local", **local})


def _start(kind, problem, times, options):
    import ray

    for left in reversed(range(times)):
        try:
            with hush_stderr():
                return ray.init(log_to_driver=False, logging_level=logging.CRITICAL, **options)
        # Ray raises the plainest one where its parts take too long to start.
        except Exception as error:
            ray.shutdown()
            if not left:
                raise kind(f"{problem}: {first_line(error)}") from error


@contextmanager
def _quiet():
    """Silence Ray, whose messages are in its logs."""
    import ray.data

    context, logger = ray.data.DataContext.get_current(), logging.getLogger("ray.data")
    before = context.enable_progress_bars, context.print_on_execution_start, logger.level
    context.enable_progress_bars = context.print_on_execution_start = False
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        context.enable_progress_bars, context.print_on_execution_start = before[:2]
        logger.setLevel(before[2])
