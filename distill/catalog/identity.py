"""Which encoder it is, and where it comes from."""

from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from ..data.parallel import weighted
from ..encoders.encoder import CARD_FILE as ENCODER_FILE
from ..encoders.encoder import MODEL_FILE, TOKENIZER_FILE
from ..errors import ConfigError
from ..settings.store import load_settings
from .kinds import CARD_FILE, NAMES, READ_ME, RELEASED, RUN_FILE, folder_of, is_artefact, is_fixed_name

ENCODER_FILES = (MODEL_FILE, TOKENIZER_FILE, ENCODER_FILE)


def fingerprint(source, encoder):
    """What tells whether `source` still names the same `encoder`: its own, else of the files it was loaded from."""
    from ..system.hashes import fingerprint_of

    own = getattr(encoder, "fingerprint", None)
    if own:
        return own
    if source in NAMES:
        from ..teachers.muse import DISTRIBUTION

        return fingerprint_of(source, version(DISTRIBUTION))
    folder = folder_of(source)
    return fingerprint_of(*(own_files(folder) if folder else [source]))


def own_files(folder):
    """The files of an encoder's folder in the order of their names.

    Of a saved encoder and of a bundle their own: others may come to lie there, such as vectors, or what `distill lir
    fit` learned. Raises `EncoderError` for a bundle's card that is none.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if (folder / MODEL_FILE).is_file():
        return [path for path in files if path.name in ENCODER_FILES]
    if not is_artefact(folder):
        return files
    from ..export.formats.folder import read_label

    names = {CARD_FILE, READ_ME, *read_label(folder).files}
    return [path for path in files if path.relative_to(folder).as_posix() in names]


def place(source):
    """What names the encoder from any folder: an absolute path, a handle or a name as it is."""
    from ..teachers.huggingface import kind_of

    if folder_of(source) is None or source == RELEASED:
        return str(source)
    _, path = kind_of(source) or (None, str(source))
    return f"{str(source).removesuffix(path)}{Path(path).resolve()}"


def origin(source):
    """Where an encoder comes from, for what is made of it: its name, and of a run also data, languages and seed."""
    folder = Path(source)
    if source in NAMES or is_fixed_name(source):
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
    fixed = settings.teacher.model
    more = {"triplets": settings.teacher.triplets, "parallel_text": settings.student.parallel}
    return {
        "dataset": Path(settings.data.dataset).resolve().name,
        "languages": list(settings.data.languages) or ["all"],
        "teacher": settings.teacher.language,
        **({"teacher_model": origin(fixed)["source"] + ", centred" * settings.teacher.centre} if fixed else {}),
        # Many files are called questions.tsv, so with their folder.
        **{key: ["/".join(weighted(one)[0].parts[-2:]) for one in files] for key, files in more.items() if files},
        "seed": settings.seed,
    }
