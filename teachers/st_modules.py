"""Check the modules that a Sentence-Transformers model's folder names: only those of the library are allowed.

`modules.json` names classes, which the library imports. Its versions 3.4 to 5 import them from the folder, even if they
are told not to trust its code. A router, a dense layer or a table of words names further classes in its own settings.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath

from ..errors import EncoderError
from ..system.files import require_inside
from ..system.reading import read_json
from ..system.types import File

MODULES = "modules.json"
# Modules that name no classes, and modules whose settings are checked here.
PLAIN = ("Transformer", "Pooling", "Normalize", "Dropout", "LayerNorm", "WeightedLayerPooling", "StaticEmbedding")
NAMING = ("Router", "Asym", "Dense")
KNOWN = re.compile(rf"sentence_transformers(\.\w+)*\.({'|'.join((*PLAIN, *NAMING))})")
SETTINGS = ("config.json", "router_config.json")
ACTIVATION = re.compile(r"torch\.nn(\.modules\.(activation|linear))?\.[A-Z]\w*")


def require_no_code(folder: File) -> None:
    """Raise `EncoderError` if a model's folder names other modules, or files outside of it."""
    path = Path(folder) / MODULES
    if not path.is_file():
        return
    modules = read_json(path)
    if not isinstance(modules, list):
        raise EncoderError(f"{path}: expected a list of modules, got {type(modules).__name__}")
    for one in modules:
        _require_known(path, one.get("type") if isinstance(one, dict) else one)
        _require_below(path, one.get("path", ""))
    require_inside(folder, *(f"**/{name}" for name in SETTINGS))
    for settings in sorted(path for name in SETTINGS for path in Path(folder).rglob(name)):
        _require_plain(settings, read_json(settings))


def _require_plain(path, content):
    """Refuse other classes that a router or a dense layer names in its settings."""
    known = content if isinstance(content, dict) else {}
    types = known.get("types")
    for place, kind in types.items() if isinstance(types, dict) else ():
        _require_known(path, kind)
        _require_below(path, place)
    named = known.get("activation_function")
    # A Transformer's own settings may have a name without a dot, which stands for a function of transformers.
    if isinstance(named, str) and "." in named and not ACTIVATION.fullmatch(named):
        raise EncoderError(f"{path}: expected an activation of torch.nn, got {named}, which may be code of its own")


def _require_known(path, kind):
    if not KNOWN.fullmatch(str(kind)):
        raise EncoderError(
            f"{path}: the module {kind} is code of its own, which distill never runs, or may name such; expected "
            f"modules of sentence_transformers among {', '.join((*PLAIN, *NAMING))}"
        )


def _require_below(path, place):
    parts = {*PurePosixPath(str(place)).parts, *PureWindowsPath(str(place)).parts}
    if ".." in parts or PurePosixPath(str(place)).is_absolute() or PureWindowsPath(str(place)).is_absolute():
        raise EncoderError(f"{path}: a module lies at {place}, outside of the model's folder; save the model again")
