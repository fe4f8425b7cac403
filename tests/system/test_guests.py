"""Guests by name; that the rest trains, proves and ships without them is in `whole/test_killed.py`."""

import pytest

from distill.errors import EncoderError
from distill.system.guests import find_guest, require_guest


def test_a_module_of_a_guest_is_found_by_its_name():
    assert find_guest("papers.bias.analyses").__name__ == "distill.papers.bias.analyses"
    with pytest.raises(ModuleNotFoundError):
        find_guest("papers.never")


def test_a_guest_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr("distill.system.guests.find_spec", lambda name: None)
    assert find_guest("papers.bias.analyses") is None
    with pytest.raises(EncoderError, match="search_engine"):
        require_guest("search_engine.indexing.index_file")
