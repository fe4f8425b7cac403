"""The form of an artefact: its format, the precision of its weights and the lengths of text that it accepts."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from ..errors import InputError
from ..settings.choices import FORMATS
from ..system.extras import install_command
from .formats.format import Lengths, format_of
from .web.site import PageText
from .weights.precision import Precision

SHORTEST = 4


@dataclass(frozen=True)
class Form:
    """The form of an artefact.

    With neither `max_length` nor `signatures` the artefact accepts texts of any length. Lengths count tokens, including
    bos and eos. Raises `InputError` if the format does not support one of these options.

    Args:
        format: The name of the format, one of `settings.choices.FORMATS`.
        max_length: The fixed number of tokens of the input, or None.
        signatures: Numbers of tokens, in ascending order, that each get a signature of their own.
        index: The path of the `index.bin` that a page searches; for the format web only.
        spelled: False to read text without the spellings of the encoder, which are aliases for other tokens.
        page: The title and the description of a page; for the format web only.
        clusters: The path of a `clusters.bin`, the index of a page that loads only what a question needs.
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
            raise InputError(
                f"--precision, --table: the format {self.format} always has float32 weights; leave them out"
            )
        if self.precision.dense == "int4" and not (self.format == "bundle" or format_.keeps):
            takers = ", ".join(name for name in FORMATS if name == "bundle" or format_of(name).keeps)
            raise InputError(f"--precision int4: only for the formats {takers}, not for {self.format}; give int8")
        if self.max_length and not format_.fixable:
            raise InputError(f"--max-length: the format {self.format} accepts any length; leave it out")
        if self.signatures and (not format_.signatures or self.max_length):
            raise InputError("--signatures: only for the format bundle, and without --max-length")
        if list(self.signatures) != sorted(set(self.signatures)):
            raise InputError(f"--signatures: expected ascending lengths, got {','.join(map(str, self.signatures))}")
        if any(length < SHORTEST for length in (*self.signatures, self.max_length or SHORTEST)):
            raise InputError(f"--max-length, --signatures: expected at least {SHORTEST} tokens, including bos and eos")

    @property
    def lengths(self) -> Lengths:
        """The numbers of tokens that the artefact accepts, with the format's default where it needs a fixed length."""
        return Lengths(self.max_length or format_of(self.format).length, self.signatures)

    @property
    def longest(self) -> int | None:
        """The largest number of tokens of a text, or None if any number is accepted."""
        return self.lengths.longest

    def require(self) -> None:
        """Raise `InputError` if the format has no such table, or needs a package that is not installed."""
        require_format(self.format)
        if format_of(self.format).keeps:
            from .c.encoder_file import require_table

            require_table(self.precision.table)


def require_format(name: str) -> None:
    """Require the packages that a format is written and checked with."""
    format_ = format_of(name)
    missing = [package for package in format_.needs if find_spec(package) is None]
    if missing:
        raise InputError(f"the format {name} needs {' and '.join(missing)}; run: {install_command(format_.extra)}")


def parse_lengths(text: str | None) -> tuple[int, ...]:
    """Parse lengths separated by commas, such as `16,32` to `(16, 32)`, and None to none."""
    try:
        return tuple(int(part) for part in (text or "").split(",") if part.strip())
    except ValueError as error:
        raise InputError(f"--signatures: expected numbers such as 16,32,64,128, got {text}") from error
