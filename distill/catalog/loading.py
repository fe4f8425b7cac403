"""From what a user names to an `Encoder`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ..encoders.by_role import AsymmetricEncoder
from ..system.extras import training_stack
from .cached import CachedEncoder
from .kinds import folder_of, require_kind, require_trainable

if TYPE_CHECKING:
    from ..encoders.by_role import DualEncoder
    from ..encoders.encoder import Encoder, KerasEncoder
    from ..export.weights.stored import StoredTable
    from ..system.types import File


@training_stack()
def load_encoder(source: File, threads: int = 1) -> Encoder:
    """Return the encoder that `source` names: a run folder (its student), a bundle, a name or another of `kinds.KINDS`.

    `threads` are those of a bundle. Raises `EncoderError` where it names none, or one that cannot be loaded, and
    `InputError` for one that needs the extra `train` where that is not installed.
    """
    return require_kind(source).load(source, threads, load_encoder)


@training_stack()
def load_keras_encoder(source: File) -> KerasEncoder:
    """Return one that can be trained or exported; of a bundle, or of what is `released`, its weights as float32.

    Raises `EncoderError` for a SavedModel, or an artefact whose weights cannot be read.
    """
    return require_trainable(source).load_trainable(source, load_encoder)


def load_stored_table(source: File, codec: str, encoder: KerasEncoder) -> StoredTable | None:
    """Return the table of what `source` names, in its own codewords, for an `encoder` with its pieces.

    None where a table in `codec` has none, or `source` names no artefact, or one with another kind of table.
    """
    from ..export.student import stored_table
    from ..export.weights.codecs import MIXED
    from .bundle import is_artefact

    folder = folder_of(source) if codec in MIXED else None
    return stored_table(folder, codec, encoder) if folder and is_artefact(folder) else None


def load_trained(folder: File) -> KerasEncoder | DualEncoder:
    """Return the encoder that stage 1 saved to a folder, one or two by role. Raises `EncoderError` for a broken one."""
    return cast("KerasEncoder | DualEncoder", load_encoder(folder))


@training_stack()
def load_teacher(source: File) -> Encoder:
    """Return an encoder as `load_encoder`; of a slow one, which has a `fingerprint`, vectors are kept on disk."""
    encoder = require_kind(source).load(source, 1, load_teacher)
    known = getattr(encoder, "fingerprint", None)
    return CachedEncoder(encoder, known) if known and not isinstance(encoder, CachedEncoder) else encoder


def load_aligner(name: File | None) -> Encoder | None:
    """Return what new pieces are aligned with, as `load_teacher`; None for None."""
    return None if name is None else load_teacher(name)


def with_documents(encoder: Encoder, source: File | None) -> Encoder:
    """Return the encoder itself, or with documents by the one that `source` names."""
    return AsymmetricEncoder(encoder, load_teacher(source)) if source else encoder
