"""Which kind of encoder a name or a folder is."""

from pathlib import Path

from ..encoders.by_role import is_dual
from ..encoders.encoder import CARD_FILE as ENCODER_FILE
from ..encoders.encoder import MODEL_FILE, TOKENIZER_FILE
from ..errors import EncoderError
from ..system.files import require_inside, usable_path

# What has a name: encoders that can be trained, others, and the bundle that distill comes with.
MUSE, RELEASED = "muse", "released"
NAMES, FIXED_NAMES = (MUSE,), ("e5",)
RUN_FILE, CARD_FILE, READ_ME = "config.toml", "card.json", "README.md"


def released_folder():
    """Where a copy of distill that comes with an encoder, a bundle, has it."""
    return Path(__file__).resolve().parent.parent / RELEASED


def located(source):
    """What a user names, for `released` its folder. Raises `EncoderError` where this copy of distill has none."""
    if source != RELEASED:
        usable_path(source)
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


def folder_of(source):
    """Where the files of an encoder lie, None for a handle or a name."""
    from ..teachers.centred import is_teacher
    from ..teachers.hub import is_hub
    from ..teachers.huggingface import kind_of

    source = located(source)
    if found := kind_of(source):
        return Path(found[1]) if Path(found[1]).is_dir() else None
    if source in NAMES or is_fixed_name(source) or (is_hub(source) and not Path(source).is_dir()):
        return None
    if is_hub(source) or is_artefact(source) or is_teacher(source) or is_dual(source):
        return Path(source)
    return find_keras(source)


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
    from ..teachers.centred import is_teacher
    from ..teachers.hub import is_hub
    from ..teachers.huggingface import kind_of

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


def is_artefact(folder):
    return (Path(folder) / CARD_FILE).is_file()


def find_artefact(source):
    """The folder of the exported encoder that `source` names: itself, a run's `bundle`, or what is `released`."""
    folder = Path(located(source))
    folder = folder / "bundle" if (folder / RUN_FILE).is_file() else folder
    if not is_artefact(folder):
        raise EncoderError(f"{source}: no {CARD_FILE} in it; give a bundle or the run folder that holds one")
    return folder
