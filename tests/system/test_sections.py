import struct
from dataclasses import replace

import numpy as np
import pytest
from fixtures.plain_c import consistent

from distill.errors import DataError, InputError
from distill.system.sections import Rows, read_sections, write_sections

ARRAYS = {
    "codes": np.arange(-3, 3, dtype=np.int8).reshape(2, 3),
    "starts": np.array([0, 5], dtype=np.uint32),
    "none": np.zeros((0, 4), dtype=np.float32),
    "bounds": np.array([2**40], dtype=np.uint64),
}


@pytest.fixture
def file(tmp_path):
    write_sections(tmp_path / "file.bin", ARRAYS)
    return tmp_path / "file.bin"


def test_a_file_is_what_its_description_says(file):
    content = file.read_bytes()
    assert content[:16] == b"distill\0" + struct.pack("<II", 1, 4)
    entries = [struct.unpack("<24sIIQQQQ", content[16 + 64 * row : 80 + 64 * row]) for row in range(4)]
    assert entries == [
        (b"codes".ljust(24, b"\0"), 1, 2, 2, 3, 320, 6),
        (b"starts".ljust(24, b"\0"), 3, 1, 2, 1, 384, 8),
        (b"none".ljust(24, b"\0"), 4, 2, 0, 4, 448, 0),
        (b"bounds".ljust(24, b"\0"), 5, 1, 1, 1, 448, 8),
    ]
    assert content[320:326] == bytes([253, 254, 255, 0, 1, 2]) and content[448:] == struct.pack("<Q", 2**40)


def test_arrays_come_back_with_their_types_and_shapes(file):
    sections = read_sections(file)
    assert list(sections) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert sections[name].dtype == array.dtype and not sections[name].flags.writeable
        np.testing.assert_array_equal(sections[name], array)


def test_an_array_may_come_in_blocks(file, tmp_path):
    def rows(*blocks):
        return Rows(np.dtype(np.int8), (2, 3), lambda: (ARRAYS["codes"][block] for block in blocks))

    write_sections(tmp_path / "blocks.bin", ARRAYS | {"codes": rows(slice(0, 1), slice(1, 2))})
    assert (tmp_path / "blocks.bin").read_bytes() == file.read_bytes()
    with pytest.raises(ValueError):
        write_sections(tmp_path / "short.bin", {"codes": rows(slice(0, 1))})
    assert not (tmp_path / "short.bin").exists()


@pytest.mark.parametrize("length", [0, 7, 15, 100, 271, 330, 455])
def test_a_file_that_is_cut_off_is_refused(file, length):
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(DataError, match=r"file\.bin"):
        read_sections(file)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, b"D"),
        (8, b"\2"),
        (12, b"\5"),
        (12, b"\3"),
        (40, b"\7"),
        (44, b"\3"),
        (48, b"\1"),
        (55, b"\xff"),
        (64, b"\0"),
    ],
)
def test_a_file_that_says_what_cannot_be_is_refused(file, place, value):
    content = bytearray(file.read_bytes())
    content[place : place + 1] = value
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"file\.bin"):
        read_sections(file)


@pytest.mark.parametrize("name", ["codes", "starts", "bounds"])
def test_rows_of_no_numbers_are_refused_by_the_plain_name_of_their_section(file, name):
    file.write_bytes(consistent.without_columns(file.read_bytes(), name))
    with pytest.raises(DataError, match=rf"file\.bin: .* section '{name}'"):
        read_sections(file)


def test_more_columns_than_an_array_may_have_are_refused_without_rows_too(file):
    sections = consistent.sections_of(file.read_bytes())
    assert consistent.file_of(sections) == file.read_bytes()
    sections[2] = replace(sections[2], columns=2**62)
    file.write_bytes(consistent.file_of(sections))
    with pytest.raises(DataError, match=r"file\.bin"):
        read_sections(file)


def test_what_has_no_place_in_a_file_is_refused_and_nothing_written(tmp_path):
    shapes = [(1, 1, 1), (3, 0)]
    for arrays in (*({"cube": np.zeros(shape, dtype=np.int8)} for shape in shapes), {"n" * 25: ARRAYS["codes"]}):
        with pytest.raises(ValueError):
            write_sections(tmp_path / "none", arrays)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="none"):
        read_sections(tmp_path / "none")
