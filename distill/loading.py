"""From what a user names to an `Encoder`."""

from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from .backend import start
from .config import load_settings
from .encoder import MODEL_FILE, KerasEncoder
from .errors import ConfigError, EncoderError

MUSE, RELEASED = "muse", "released"
NAMES = (MUSE, RELEASED)
RUN_FILE, CARD_FILE = "config.toml", "card.json"


def load_encoder(source, threads=1):
    """A run folder (its student), a bundle, a saved encoder, a SavedModel, a TF-Hub handle, `muse` or `released`.

    Raises `EncoderError` when it is none of these.
    """
    from .teachers.hub import HubEncoder, is_hub

    source = located(source)
    folder = Path(source)
    if is_hub(source):
        return HubEncoder(source)
    if is_artefact(folder):
        from .export.runtime import load_artefact

        return load_artefact(folder, threads)
    return load_keras_encoder(source)


def released_folder():
    """Where a copy of distill that comes with an encoder, a bundle, has it."""
    return Path(__file__).resolve().parent / RELEASED


def located(source):
    """What a user names, for `released` its folder. Raises `EncoderError` where this copy of distill has none."""
    if source != RELEASED:
        return source
    folder = released_folder()
    if not is_artefact(folder):
        raise EncoderError(
            f"{RELEASED}: this copy of distill comes without an encoder, no {CARD_FILE} in {folder}; install a release "
            f"of distill, or give a run folder, a bundle, a saved encoder or {MUSE}"
        )
    return folder


def load_keras_encoder(source):
    """One that can be trained or exported. Raises `EncoderError` for a bundle or a SavedModel."""
    folder = require_keras(source)
    start()
    if folder:
        from .students import ngram, static  # noqa: F401  registers the layers

        return KerasEncoder.load(folder)
    from .teachers.muse import load_muse

    return load_muse()


def load_aligner(name):
    """What new pieces are aligned with: `e5`, or any encoder that `load_encoder` loads; None for None."""
    if name == "e5":
        from .cache import CachedEncoder, fingerprint_of
        from .teachers.e5 import PACKAGE, E5Encoder

        # Tens of milliseconds a text on one thread: what was computed once is kept.
        encoder = E5Encoder()
        return CachedEncoder(encoder, fingerprint_of(name, version(PACKAGE)))
    return None if name is None else load_encoder(name)


def require_keras(source):
    """The folder of an encoder that can be trained, None for `muse`; else `EncoderError`."""
    from .teachers.hub import is_hub

    if source == MUSE:
        return None
    folder = located(source)
    if is_hub(folder) or is_artefact(folder):
        raise EncoderError(
            f"{source}: {'a SavedModel' if is_hub(folder) else 'an exported encoder'} can be measured, searched "
            "with and teach (distill transfer --teacher), but not be trained or exported; give a saved encoder or muse"
        )
    return find_keras(source)


def find_keras(source):
    """The folder with `encoder.keras` that `source` names: itself, or a run's `student`."""
    folder = Path(located(source))
    if (folder / RUN_FILE).is_file():
        folder = folder / "student"
    if (folder / MODEL_FILE).is_file():
        return folder
    problem = f"{source}: no {MODEL_FILE} in it" if folder.exists() else f"no such encoder: {source}"
    raise EncoderError(f"{problem}; give a run folder, a bundle, a saved encoder, {' or '.join(NAMES)}")


def origin(source):
    """Where an encoder comes from, for what is made of it: its name, and of a run also data, languages and seed."""
    folder = Path(source)
    if source in NAMES:
        return {"source": source}
    if (folder / RUN_FILE).is_file():
        return _of_run(folder)
    if (folder.resolve().parent / RUN_FILE).is_file():
        with suppress(ConfigError):  # another program's
            return _of_run(folder.resolve().parent)
    return {"source": folder.resolve().name if folder.exists() else str(source)}


def _of_run(folder):
    return {"source": folder.resolve().name, **provenance(load_settings(folder / RUN_FILE))}


def provenance(settings):
    """What a run's encoder was trained with; no languages stand for all of the data set."""
    return {
        "dataset": Path(settings.data.dataset).resolve().name,
        "languages": list(settings.data.languages) or ["all"],
        "teacher": settings.teacher.language,
        "seed": settings.seed,
    }


def is_artefact(folder):
    return (Path(folder) / CARD_FILE).is_file()


def find_artefact(source):
    """The folder of the exported encoder that `source` names: itself, a run's `bundle`, or what is `released`."""
    folder = Path(located(source))
    folder = folder / "bundle" if (folder / RUN_FILE).is_file() else folder
    if not is_artefact(folder):
        raise EncoderError(f"{source}: no {CARD_FILE} in it; give a bundle or the run folder that holds one")
    return folder
