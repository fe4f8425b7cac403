"""Load an encoder by the name that a user gives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from ...system.extras import training_stack
from ..dual_encoder import AsymmetricEncoder
from .kinds import find_folder, require_kind, require_trainable
from .vector_cache import CachedEncoder

if TYPE_CHECKING:
    from ...export.weights.stored_table import StoredTable
    from ...system.types import File
    from ..dual_encoder import DualEncoder
    from ..encoder import Encoder, KerasEncoder


@training_stack()
def load_encoder(source: File, threads: int = 1) -> Encoder:
    """Load the encoder that `source` names.

    Args:
        source: The folder of a run (for its student) or of a bundle, a name, or another kind (`kinds.KINDS`).
        threads: The number of threads of a bundle.

    Returns:
        The encoder.

    Raises:
        EncoderError: If `source` names no encoder, or it cannot be loaded.
        InputError: If it needs the extra `train`, which is not installed.

    Example:
        >>> import distill
        >>> encoder = distill.load_encoder("multi12-static")
        >>> encoder.encode(["Where does the Danube end?"]).shape
        (1, 512)
    """
    return require_kind(source).load(source, threads, load_encoder)


@training_stack()
def load_keras_encoder(source: File) -> KerasEncoder:
    """Load an encoder that can be trained or exported; the weights of a bundle are converted to float32."""
    return require_trainable(source).load_trainable(source, load_encoder)


def load_stored_table(source: File, codec: str, encoder: KerasEncoder) -> StoredTable | None:
    """Load the table of an artefact in its own codewords, for an encoder with its tokens, or None if it has none."""
    from ...export.student import load_codewords
    from ...export.weights.codecs import MIXED_CODECS
    from .bundle import is_artefact

    folder = find_folder(source) if codec in MIXED_CODECS else None
    return load_codewords(folder, codec, encoder) if folder and is_artefact(folder) else None


def load_trained(folder: File) -> KerasEncoder | DualEncoder:
    """Load the encoder that stage 1 saved, one or two by role. Raises `EncoderError` if it is broken."""
    return cast("KerasEncoder | DualEncoder", load_encoder(folder))


@training_stack()
def load_teacher(source: File) -> Encoder:
    """Load an encoder that computes on all cores; with a `fingerprint`, as slow ones have, vectors stay on disk."""
    encoder = require_kind(source).load(source, os.cpu_count() or 1, load_teacher)
    # An artefact has the fingerprint of its weights, whatever length it cuts texts to.
    known = None if getattr(encoder, "max_length", None) else getattr(encoder, "fingerprint", None)
    return CachedEncoder(encoder, known) if known and not isinstance(encoder, CachedEncoder) else encoder


def load_aligner(name: File | None) -> Encoder | None:
    """Load the encoder that new tokens are aligned with, as `load_teacher` does; None gives None."""
    return None if name is None else load_teacher(name)


def combine_encoders(encoder: Encoder, source: File | None) -> Encoder:
    """Combine an encoder for questions with the one for documents that `source` names, if it names one."""
    return AsymmetricEncoder(encoder, load_teacher(source)) if source else encoder
