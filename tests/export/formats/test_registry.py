"""What every format has, and that its name is the only other line of it."""

import string
from pathlib import Path

import pytest

import distill.export.formats as package
from distill.bench.worker import LOADERS
from distill.errors import InputError
from distill.export import encode
from distill.export.formats.registry import format_of
from distill.settings.choices import FORMATS

PARTS = {"__init__", "folder", "format", "registry"}


def test_every_file_of_formats_has_a_name():
    files = {path.stem for path in Path(package.__file__).parent.glob("*.py")} - PARTS
    assert files == {name.partition("-")[0] for name in FORMATS}


def test_another_name_is_refused():
    with pytest.raises(InputError, match="^--format:.* coreml$"):
        format_of("coreml")


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_found_by_its_name(name):
    format_ = format_of(name)
    assert format_.name == name and bool(format_.needs) == bool(format_.extra)
    assert format_.worker == "" or format_.worker in LOADERS
    # What a card has.
    fields = {None, "dimension", "max_length", "folder", "options"}
    assert {field for _, field, _, _ in string.Formatter().parse(format_.how_to)} <= fields


def test_what_encode_py_runs_has_the_names_that_it_knows():
    assert {name: format_of(name).file for name in encode.MODELS} == encode.MODELS
