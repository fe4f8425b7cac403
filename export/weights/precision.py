"""How an artefact stores its weights."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Precision:
    """How an artefact stores its weights: `dense` is int8 or float32; `table` one of `codecs.CODECS`."""

    dense: str = "int8"
    table: str = "uint8"
