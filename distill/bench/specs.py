"""From what a user names to how its encoder is run in a worker process."""

from ..catalog.kinds import MUSE, find_artefact, folder_of, is_fixed_name
from ..errors import EncoderError
from ..export.formats.folder import read_label
from ..export.formats.registry import format_of
from ..settings.choices import FORMATS
from .peers import muse_tokenizer
from .process import ROOT, Spec


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
    name = read_label(folder).format
    if name not in FORMATS or not format_of(name).worker:
        return _ours(str(folder), [str(folder)])
    return Spec(format_of(name).worker, str(folder), values={"file": format_of(name).file})


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
