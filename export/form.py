"""What an artefact is to be: its format, its weights' precision and the lengths that it takes."""

from dataclasses import dataclass, field
from importlib.util import find_spec

from ..errors import InputError
from .weights.precision import Precision

SHORTEST, ZIP_LENGTH = 4, 512
# What a format needs beyond the installation, and the extra that brings it.
NEEDS = {
    "onnx": (("onnx", "onnxruntime"), "onnx"),
    "mediapipe": (("mediapipe",), "mediapipe"),
    "mediapipe-zip": (("mediapipe",), "mediapipe"),
}


@dataclass(frozen=True)
class Form:
    """`max_length` None and no `signatures`: texts of any length; lengths count tokens, bos and eos among them.

    Raises `InputError` for what a format has not.
    """

    format: str = "bundle"
    precision: Precision = field(default_factory=Precision)
    max_length: int | None = None
    signatures: tuple = ()

    def __post_init__(self):
        if self.max_length and self.format not in ("bundle", "mediapipe-zip"):
            raise InputError(f"--max-length: the format {self.format} takes any length; leave it out")
        if self.signatures and (self.format != "bundle" or self.max_length):
            raise InputError("--signatures: only for the format bundle, and without --max-length")
        if list(self.signatures) != sorted(set(self.signatures)):
            raise InputError(f"--signatures: expected lengths that grow, got {','.join(map(str, self.signatures))}")
        if any(length < SHORTEST for length in (*self.signatures, self.max_length or SHORTEST)):
            raise InputError(f"a length is at least {SHORTEST} tokens, bos and eos among them")

    @property
    def longest(self):
        """Most tokens of a text, None for any number."""
        if self.format == "mediapipe-zip":
            return self.max_length or ZIP_LENGTH
        return max(self.signatures) if self.signatures else self.max_length

    def require(self):
        """Raise `InputError` when a package is missing that the format is written or checked with."""
        packages, extra = NEEDS.get(self.format, ((), ""))
        missing = [package for package in packages if find_spec(package) is None]
        if missing:
            raise InputError(
                f"the format {self.format} needs {' and '.join(missing)}; run: pip install 'distill[{extra}]'"
            )


def lengths_of(text):
    """`16,32` as `(16, 32)`. Raises `InputError`."""
    try:
        return tuple(int(part) for part in (text or "").split(",") if part.strip())
    except ValueError as error:
        raise InputError(f"--signatures: expected numbers such as 16,32,64,128, got {text}") from error
