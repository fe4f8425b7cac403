"""Nested values of a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, Union

from ..errors import DataError
from .types import File, Json

NUMBER = (int, float)
# The type, or the types, of what each name holds, or such a form again.
Form: TypeAlias = Mapping[str, Union[type, "tuple[type, ...]", "Form"]]


def require(place: File, value: Json, form: Form) -> None:
    """Raise `DataError` where a nested value lacks what `form` asks for, or has it of another type."""
    if not isinstance(value, dict):
        raise DataError(f"{place}: expected an object, got {type(value).__name__}; was it written by `distill run`?")
    for name, wanted in form.items():
        if name not in value:
            raise DataError(f"{place}: {name!r} is missing; was it written by a `distill run` that came to its end?")
        if isinstance(wanted, Mapping):
            require(f"{place}, {name}", value[name], wanted)
        elif not isinstance(value[name], wanted):
            raise DataError(f"{place}: {name!r} is of another type than expected: {type(value[name]).__name__}")
