"""A file of vectors is whole at its name; what was stopped is gone on with, or refused."""

import errno
import json
import os
import re

import numpy as np
import pytest
from fixtures.folders import names

from distill.encoders.files.vector_file import open_vector_file
from distill.errors import DistillError, EncoderError, InputError

MADE_OF = {"input": "0123456789abcdef", "role": "question"}
VECTORS = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
OTHERS = r"\.npy\.part .*\.part\.json"


class Stop(Exception):
    """What a test raises in the middle of writing."""


def opened(path, restart=False, **made_of):
    return open_vector_file(path, VECTORS.shape, 2, MADE_OF | made_of, {"input": "texts.jsonl"}, restart)


def write(file, *blocks):
    for number in blocks:
        file.write(number, VECTORS[2 * number : 2 * number + 2])


def stopped(path, *blocks):
    with pytest.raises(Stop), opened(path) as file:
        write(file, *blocks)
        raise Stop


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_blocks_come_in_any_order_and_leave_one_file(tmp_path, order):
    path = tmp_path / "deep" / "vectors.npy"
    with opened(path) as file:
        write(file, *order)
        assert not path.exists()
    np.save(tmp_path / "expected.npy", VECTORS)
    assert path.read_bytes() == (tmp_path / "expected.npy").read_bytes()
    assert names(path.parent) == ["vectors.npy"]


@pytest.mark.parametrize(
    ("blocks", "noted", "missing", "written"),
    [((0, 3), {"done": 1, "ahead": [3]}, [1, 2], 3), ((3, 1), {"done": 0, "ahead": [1, 3]}, [0, 2], 3)],
)
def test_what_was_stopped_goes_on_with_what_is_missing(tmp_path, capsys, blocks, noted, missing, written):
    path = tmp_path / "vectors.npy"
    stopped(path, *blocks)
    assert f"{written} of 7 vectors" in capsys.readouterr().err
    assert names(tmp_path) == ["vectors.npy.part", "vectors.npy.part.json"]
    state = json.loads((tmp_path / "vectors.npy.part.json").read_text())
    assert state == {"made_of": MADE_OF, "names": {"input": "texts.jsonl"}, **noted}
    with opened(path) as file:
        assert (file.missing, file.written) == (missing, written)
        write(file, *missing)
    assert f"after {written} of 7" in capsys.readouterr().err
    np.testing.assert_array_equal(np.load(path), VECTORS)
    assert names(tmp_path) == ["vectors.npy"]


def test_what_was_stopped_before_its_first_block_leaves_nothing(tmp_path):
    (tmp_path / "vectors.npy").write_bytes(b"old")
    stopped(tmp_path / "vectors.npy")
    assert names(tmp_path) == ["vectors.npy"] and (tmp_path / "vectors.npy").read_bytes() == b"old"


def test_what_was_made_of_something_else_is_refused_with_the_difference(tmp_path):
    path = tmp_path / "vectors.npy"
    stopped(path, 0)
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    expected = r"input .*\(0123456789ab\).*\(ffff\); role .*question.*document.*--restart"
    with pytest.raises(InputError, match=expected), opened(path, input="ffff", role="document"):
        pass
    assert {name: (tmp_path / name).read_bytes() for name in names(tmp_path)} == before
    with opened(path, restart=True, role="document") as file:
        assert file.missing == [0, 1, 2, 3]
        write(file, 0, 1, 2, 3)
    np.testing.assert_array_equal(np.load(path), VECTORS)


@pytest.mark.parametrize("restart", [False, True])
def test_a_part_without_its_state_is_somebody_elses(restart, tmp_path):
    (tmp_path / "vectors.npy.part").write_text("mine")
    for state in (None, "{", "[]", '{"done": 1}'):
        if state:
            (tmp_path / "vectors.npy.part.json").write_text(state)
        with pytest.raises(InputError, match=OTHERS), opened(tmp_path / "vectors.npy", restart):
            pass
    assert (tmp_path / "vectors.npy.part").read_text() == "mine"


def test_a_part_that_was_cut_is_refused(tmp_path):
    stopped(tmp_path / "vectors.npy", 0)
    os.truncate(tmp_path / "vectors.npy.part", 140)
    with pytest.raises(InputError, match=OTHERS), opened(tmp_path / "vectors.npy"):
        pass


def test_a_state_whose_part_has_its_name_already_begins_anew(tmp_path):
    stopped(tmp_path / "vectors.npy", 0)
    (tmp_path / "vectors.npy.part").unlink()
    with opened(tmp_path / "vectors.npy") as file:
        write(file, *file.missing)
    np.testing.assert_array_equal(np.load(tmp_path / "vectors.npy"), VECTORS)


def test_of_a_link_the_file_that_it_leads_to_is_written(tmp_path):
    (tmp_path / "other").mkdir()
    np.save(tmp_path / "other" / "old.npy", VECTORS[:1])
    (tmp_path / "vectors.npy").symlink_to(tmp_path / "other" / "old.npy")
    with opened(tmp_path / "vectors.npy") as file:
        write(file, *file.missing)
    assert (tmp_path / "vectors.npy").is_symlink() and names(tmp_path / "other") == ["old.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "other" / "old.npy"), VECTORS)


def test_what_is_there_is_on_the_disk_and_not_only_said_to_be(tmp_path, monkeypatch):
    """The rows first, then the note of them, then its name: no power cut leaves a note without its rows."""
    synced, fsync = [], os.fsync

    def noted(place):
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{place}")))
        fsync(place)

    monkeypatch.setattr(os, "fsync", noted)
    with opened(tmp_path / "vectors.npy") as file:
        synced.clear()
        write(file, 0)
    assert [re.sub(r"\.\w{8}\.aside$", "", name) for name in synced] == [
        "vectors.npy.part", ".vectors.npy.part.json", tmp_path.name, tmp_path.name
    ]  # fmt: skip


def test_one_at_a_time(tmp_path):
    with opened(tmp_path / "vectors.npy") as file:
        with pytest.raises(InputError, match="vectors.npy: "), opened(tmp_path / "vectors.npy"):
            pass
        write(file, 0, 1, 2, 3)
    assert names(tmp_path) == ["vectors.npy"]


def test_vectors_of_another_shape_are_refused(tmp_path):
    expected = r"block 3: .*\(1, 3\), got \(2, 3\)"
    with pytest.raises(EncoderError, match=expected), opened(tmp_path / "vectors.npy") as file:
        file.write(3, VECTORS[:2])


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system takes no space beforehand")
def test_a_disk_without_room_is_told_before_the_work(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DistillError, match=r"\.npy: 8\.4e-08 GB"), opened(tmp_path / "vectors.npy"):
        pass
    assert names(tmp_path) == []
