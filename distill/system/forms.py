"""Nested values of the form that is asked for."""

from ..errors import DataError

NUMBER = (int, float)


def require(place, value, form):
    """Raise `DataError` where a nested value lacks what `form`, names and their types, asks for."""
    if not isinstance(value, dict):
        raise DataError(f"{place}: expected an object, got {type(value).__name__}; was it written by `distill run`?")
    for name, wanted in form.items():
        if name not in value:
            raise DataError(f"{place}: {name!r} is missing; was it written by a `distill run` that came to its end?")
        if isinstance(wanted, dict):
            require(f"{place}, {name}", value[name], wanted)
        elif not isinstance(value[name], wanted):
            raise DataError(f"{place}: {name!r} is of another type than expected: {type(value[name]).__name__}")
