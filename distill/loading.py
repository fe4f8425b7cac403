"""From what a user names to an `Encoder`."""

from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from .backend import start
from .config import load_settings
from .dual import is_dual, load_dual
from .encoder import CARD_FILE as ENCODER_FILE
from .encoder import MODEL_FILE, TOKENIZER_FILE, KerasEncoder
from .errors import ConfigError, EncoderError
from .files import named, require_inside
from .parallel import weighted

# What has a name: encoders that can be trained, others, and the bundle that distill comes with.
MUSE, RELEASED = "muse", "released"
NAMES, FIXED_NAMES = (MUSE,), ("e5",)
RUN_FILE, CARD_FILE, READ_ME = "config.toml", "card.json", "README.md"
ENCODER_FILES = (MODEL_FILE, TOKENIZER_FILE, ENCODER_FILE)


def load_encoder(source, threads=1):
    """A run folder (its student), a bundle, a saved encoder, a SavedModel, a TF-Hub handle, `muse`, `e5`, `released`.

    Or a Sentence-Transformers model, `st:NAME`, or a Hugging Face one, `hf:NAME`, or a folder of such, or the folder of
    a run's fixed teacher. Raises `EncoderError` when it is none of these.
    """
    from .teachers.centred import is_teacher
    from .teachers.hub import HubEncoder, is_hub
    from .teachers.huggingface import TransformerEncoder, kind_of

    source = located(source)
    folder = Path(source)
    if is_fixed_name(source):
        from .teachers.e5 import E5Encoder

        return E5Encoder()
    if is_hub(source):
        return HubEncoder(source)
    if is_teacher(folder):
        return _saved_teacher(folder, load_encoder)
    if is_artefact(folder):
        from .export.runtime import load_artefact

        return load_artefact(folder, threads)
    if is_dual(folder):
        return load_dual(folder, load_keras_encoder)
    return TransformerEncoder(source) if kind_of(source) else load_keras_encoder(source)


def released_folder():
    """Where a copy of distill that comes with an encoder, a bundle, has it."""
    return Path(__file__).resolve().parent / RELEASED


def located(source):
    """What a user names, for `released` its folder. Raises `EncoderError` where this copy of distill has none."""
    if source != RELEASED:
        named(source)
        return source
    folder = released_folder()
    if not is_artefact(folder):
        raise EncoderError(
            f"{RELEASED}: this copy of distill comes without an encoder, no {CARD_FILE} in {folder}; install a release "
            f"of distill, or give a run folder, a bundle, a saved encoder or {MUSE}"
        )
    return folder


def is_fixed_name(source):
    """Whether it names an encoder that has no weights to train; as with `muse`, whatever folder has that name."""
    return source in FIXED_NAMES


def load_keras_encoder(source):
    """One that can be trained or exported. Raises `EncoderError` for a bundle or a SavedModel."""
    folder = require_keras(source)
    start()
    if folder:
        from .students import ngram, static  # noqa: F401  registers the layers

        return KerasEncoder.load(folder)
    from .teachers.muse import load_muse

    return load_muse()


def load_teacher(source):
    """As `load_encoder`; of a slow encoder, one with a `fingerprint`, what was computed once is kept on disk."""
    from .cache import CachedEncoder
    from .teachers.centred import is_teacher

    if is_teacher(located(source)):
        return _saved_teacher(source, load_teacher)
    encoder = load_encoder(source)
    known = getattr(encoder, "fingerprint", None)
    return CachedEncoder(encoder, known) if known else encoder


def _saved_teacher(folder, load):
    """What `teachers.centred.save_teacher` wrote, its encoder by `load`. Raises `EncoderError` if that has changed."""
    from .teachers.centred import CentredEncoder, read_teacher

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


def fingerprint(source, encoder):
    """What tells whether `source` still names the same `encoder`: its own, else of the files it was loaded from."""
    from .cache import fingerprint_of

    own = getattr(encoder, "fingerprint", None)
    if own:
        return own
    if source in NAMES:
        from .teachers.muse import DISTRIBUTION

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
    from .export.runtime import read_card

    names = {CARD_FILE, READ_ME, *read_card(folder)["files"]}
    return [path for path in files if path.relative_to(folder).as_posix() in names]


def folder_of(source):
    """Where the files of an encoder lie, None for a handle or a name."""
    from .teachers.centred import is_teacher
    from .teachers.hub import is_hub
    from .teachers.huggingface import kind_of

    source = located(source)
    if found := kind_of(source):
        return Path(found[1]) if Path(found[1]).is_dir() else None
    if source in NAMES or is_fixed_name(source) or (is_hub(source) and not Path(source).is_dir()):
        return None
    if is_hub(source) or is_artefact(source) or is_teacher(source) or is_dual(source):
        return Path(source)
    return find_keras(source)


def place(source):
    """What names the encoder from any folder: an absolute path, a handle or a name as it is."""
    from .teachers.huggingface import kind_of

    if folder_of(source) is None or source == RELEASED:
        return str(source)
    _, path = kind_of(source) or (None, str(source))
    return f"{str(source).removesuffix(path)}{Path(path).resolve()}"


def require_keras(source):
    """The folder of an encoder that can be trained, None for one that has a name; else `EncoderError`."""
    if source in NAMES:
        return None
    if kind := untrainable(located(source)):
        raise EncoderError(
            f"{source}: {kind} can be measured, searched with and teach (distill transfer --teacher, with a --start), "
            "but not be trained or exported; give a saved encoder or muse"
        )
    return find_keras(source)


def untrainable(source):
    """What kind of encoder it is that has no weights to train, None for others."""
    from .teachers.centred import is_teacher
    from .teachers.hub import is_hub
    from .teachers.huggingface import kind_of

    kinds = {
        "a SavedModel": is_hub(source),
        "an exported encoder": is_artefact(source),
        "a dual encoder": is_dual(source),
        "a fixed teacher": is_teacher(source) or is_fixed_name(source),
        "a Transformers model": kind_of(source),
    }
    return next((kind for kind, found in kinds.items() if found), None)


def find_keras(source):
    """The folder with `encoder.keras` that `source` names: itself, or a run's `student`."""
    folder = Path(located(source))
    if (folder / RUN_FILE).is_file():
        folder = folder / "student"
    if (folder / MODEL_FILE).is_file():
        require_inside(folder, MODEL_FILE, TOKENIZER_FILE, ENCODER_FILE)
        return folder
    problem = f"{source}: no {MODEL_FILE} in it" if folder.exists() else f"no such encoder: {source}"
    names = " or ".join((*FIXED_NAMES, *NAMES, RELEASED))
    raise EncoderError(f"{problem}; give a run folder, a bundle, a saved encoder, {names}")


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


def is_artefact(folder):
    return (Path(folder) / CARD_FILE).is_file()


def find_artefact(source):
    """The folder of the exported encoder that `source` names: itself, a run's `bundle`, or what is `released`."""
    folder = Path(located(source))
    folder = folder / "bundle" if (folder / RUN_FILE).is_file() else folder
    if not is_artefact(folder):
        raise EncoderError(f"{source}: no {CARD_FILE} in it; give a bundle or the run folder that holds one")
    return folder
