"""Scripts import what has moved by its former name."""

import sys
from importlib import import_module

import pytest

from distill.former_modules import FORMER


@pytest.mark.parametrize("former", sorted(FORMER))
def test_a_module_that_has_moved_has_its_names_and_says_where_they_are(former):
    sys.modules.pop(former, None)
    with pytest.warns(DeprecationWarning) as warned:
        module = import_module(former)
    for name, (place, new) in FORMER[former].items():
        assert getattr(module, name).__module__ == f"distill.{place}" and getattr(module, name).__name__ == new
        assert any(f"distill.{place}.{new}" in str(one.message) for one in warned)


def test_a_module_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError, match="never"):
        import_module("distill.indexing.never")
