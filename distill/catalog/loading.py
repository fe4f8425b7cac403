"""From what a user names to an `Encoder`."""

from pathlib import Path

from ..encoders.by_role import AsymmetricEncoder, is_dual, load_dual
from ..encoders.encoder import KerasEncoder
from ..errors import EncoderError
from ..system.backend import start
from .identity import fingerprint
from .kinds import is_artefact, is_fixed_name, located, require_keras


def load_encoder(source, threads=1):
    """A run folder (its student), a bundle, a saved encoder, a SavedModel, a TF-Hub handle, `muse`, `e5`, `released`.

    Or a Sentence-Transformers model, `st:NAME`, or a Hugging Face one, `hf:NAME`, or a folder of such, or the folder of
    a run's fixed teacher. Raises `EncoderError` when it is none of these.
    """
    from ..teachers.centred import is_teacher
    from ..teachers.hub import HubEncoder, is_hub
    from ..teachers.huggingface import TransformerEncoder, kind_of

    source = located(source)
    folder = Path(source)
    if is_fixed_name(source):
        from ..teachers.e5 import E5Encoder

        return E5Encoder()
    if is_hub(source):
        return HubEncoder(source)
    if is_teacher(folder):
        return _saved_teacher(folder, load_encoder)
    if is_artefact(folder):
        from ..export.runtime import load_artefact

        return load_artefact(folder, threads)
    if is_dual(folder):
        return load_dual(folder, load_keras_encoder)
    return TransformerEncoder(source) if kind_of(source) else load_keras_encoder(source)


def load_keras_encoder(source):
    """One that can be trained or exported. Raises `EncoderError` for a bundle or a SavedModel."""
    folder = require_keras(source)
    start()
    if folder:
        from ..students import ngram, static  # noqa: F401  registers the layers

        return KerasEncoder.load(folder)
    from ..teachers.muse import load_muse

    return load_muse()


def load_teacher(source):
    """As `load_encoder`; of a slow encoder, one with a `fingerprint`, what was computed once is kept on disk."""
    from ..teachers.centred import is_teacher
    from .cached import CachedEncoder

    if is_teacher(located(source)):
        return _saved_teacher(source, load_teacher)
    encoder = load_encoder(source)
    known = getattr(encoder, "fingerprint", None)
    return CachedEncoder(encoder, known) if known else encoder


def _saved_teacher(folder, load):
    """What `teachers.centred.save_teacher` wrote, its encoder by `load`. Raises `EncoderError` if that has changed."""
    from ..teachers.centred import CentredEncoder, read_teacher

    card, means = read_teacher(folder)
    try:
        encoder = load(card["source"])
    except RecursionError as error:
        raise EncoderError(f"{folder}: its teacher is, in the end, itself; repeat the run that wrote it") from error
    if fingerprint(card["source"], encoder) != card["fingerprint"] or encoder.dimension != card["dimension"]:
        raise EncoderError(
            f"{folder}: its teacher, {card['source']}, is another one now; restore that, or repeat the run"
        )
    return encoder if means is None else CentredEncoder(encoder, means)


def load_aligner(name):
    """What new pieces are aligned with, as `load_teacher`; None for None."""
    return None if name is None else load_teacher(name)


def with_documents(encoder, source):
    """The encoder itself, or with documents by the one that `source` names."""

    return AsymmetricEncoder(encoder, load_teacher(source)) if source else encoder
