"""From what a user names to how its encoder is run in a worker process."""

from ..catalog.kinds import MUSE, find_artefact, folder_of, is_fixed_name
from ..errors import EncoderError
from ..export.runtime import OTHERS, read_card
from .peers import muse_tokenizer
from .process import ROOT, Spec

# Artefacts that a worker runs without our package.
KINDS = {"bundle": "bundle", "onnx": "bundle", "mediapipe": "mediapipe", "mediapipe-zip": "mediapipe"}


def specs_of(sources):
    """`{source: Spec}` of bundles, run folders (their bundle, else their student) and other encoders.

    Raises `EncoderError` for what is none of these, before anything is started.
    """
    return {str(source): spec_of(str(source)) for source in sources}


def spec_of(source):
    try:
        folder = find_artefact(source)
    except EncoderError:
        return _ours(source, files_of(source))
    format_ = read_card(folder)["format"]
    if format_ not in KINDS:
        return _ours(str(folder), [str(folder)])
    return Spec(KINDS[format_], str(folder), values={"file": OTHERS[format_]} if format_ in OTHERS else {})


def _ours(source, files):
    return Spec("distill", source, values={"root": str(ROOT), "files": files})


def files_of(source):
    """What an encoder that is no bundle has on disk; nothing of a handle. A fixed teacher has its encoder's, too."""
    from ..teachers import e5
    from ..teachers.centred import is_teacher, read_teacher

    if source == MUSE:
        return [str(muse_tokenizer().parent)]
    if is_fixed_name(source):
        return [str(e5.resources())]
    folder = folder_of(source)
    more = files_of(read_teacher(source)[0]["source"]) if is_teacher(source) else []
    return [*([str(folder)] if folder else []), *more]
