"""The form of an artefact: its format, its weights' precision and the lengths that it takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from ..errors import InputError
from ..settings.choices import FORMATS
from .formats.format import Lengths
from .formats.registry import format_of
from .web.site import PageText
from .weights.precision import Precision

SHORTEST = 4


@dataclass(frozen=True)
class Form:
    """`max_length` None and no `signatures`: texts of any length; lengths count tokens, bos and eos among them.

    `index` is the `index.bin` that a page searches, `clusters` the same where the page loads parts of it, `page`
    what it says of itself; `about` what is known of the encoder besides, for the artefact's README. One that is not
    `spelled` reads text without the spellings that its encoder has.

    Raises `InputError` for what a format has not.
    """

    format: str = "bundle"
    precision: Precision = field(default_factory=Precision)
    max_length: int | None = None
    signatures: tuple[int, ...] = ()
    index: Path | None = None
    about: str = ""
    spelled: bool = True
    page: PageText | None = None
    clusters: Path | None = None

    def __post_init__(self) -> None:
        format_ = format_of(self.format)
        if self.index and self.format != "web":
            raise InputError(f"--index: only for the format web, not for {self.format}")
        if self.page and self.format != "web":
            raise InputError(f"--title, --about: only for the format web, not for {self.format}")
        if format_.library and (self.precision.dense, self.precision.table) != ("float32", "float32"):
            raise InputError(f"--precision, --table: the format {self.format} has float32 weights; leave them out")
        if self.precision.dense == "int4" and not (self.format == "bundle" or format_.keeps):
            takers = ", ".join(name for name in FORMATS if name == "bundle" or format_of(name).keeps)
            raise InputError(f"--precision int4: only for the formats {takers}, not for {self.format}; give int8")
        if self.max_length and not format_.fixable:
            raise InputError(f"--max-length: the format {self.format} takes any length; leave it out")
        if self.signatures and (not format_.signatures or self.max_length):
            raise InputError("--signatures: only for the format bundle, and without --max-length")
        if list(self.signatures) != sorted(set(self.signatures)):
            raise InputError(f"--signatures: expected lengths that grow, got {','.join(map(str, self.signatures))}")
        if any(length < SHORTEST for length in (*self.signatures, self.max_length or SHORTEST)):
            raise InputError(f"a length is at least {SHORTEST} tokens, bos and eos among them")

    @property
    def lengths(self) -> Lengths:
        """The numbers of tokens that the artefact takes, with the format's own where one is needed."""
        return Lengths(self.max_length or format_of(self.format).length, self.signatures)

    @property
    def longest(self) -> int | None:
        """Most tokens of a text, None for any number."""
        return self.lengths.longest

    def require(self) -> None:
        """Raise `InputError` when a package is missing that the format is written or checked with."""
        require_format(self.format)


def require_format(name: str) -> None:
    """Raise `InputError` when a package is missing that the format of that name is written or checked with."""
    format_ = format_of(name)
    missing = [package for package in format_.needs if find_spec(package) is None]
    if missing:
        raise InputError(
            f"the format {name} needs {' and '.join(missing)}; run: pip install 'distill[{format_.extra}]'"
        )


def lengths_of(text: str | None) -> tuple[int, ...]:
    """`16,32` as `(16, 32)`. Raises `InputError`."""
    try:
        return tuple(int(part) for part in (text or "").split(",") if part.strip())
    except ValueError as error:
        raise InputError(f"--signatures: expected numbers such as 16,32,64,128, got {text}") from error
