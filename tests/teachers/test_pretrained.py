import hashlib
from importlib.metadata import version

import pytest

from distill.errors import EncoderError
from distill.teachers.pretrained import require_pinned

CONTENT = {"a.bin": b"first", "b.bin": b"second" * 1_000_000}
KNOWN = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}


@pytest.fixture
def folder(tmp_path):
    for name, content in CONTENT.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_the_known_files_are_taken_and_one_changed_byte_is_refused_with_both_hashes_and_the_way_out(folder):
    (folder / "c.bin").touch()
    assert require_pinned(folder, KNOWN, "numpy", "1.0") == folder
    changed = CONTENT["b.bin"][:-1] + b"D"
    (folder / "b.bin").write_bytes(changed)
    with pytest.raises(EncoderError) as raised:
        require_pinned(folder, KNOWN, "numpy", "1.0")
    said = str(raised.value)
    assert said.startswith(f"{folder / 'b.bin'}: ") and said.endswith(" numpy==1.0")
    assert all(part in said for part in (hashlib.sha256(changed).hexdigest(), KNOWN["b.bin"], version("numpy")))
    assert raised.value.exit_code == 2


def test_a_missing_file_and_a_package_without_a_version_are_refused(folder):
    (folder / "a.bin").unlink()
    with pytest.raises(EncoderError, match=r"a\.bin: .*==1\.0"):
        require_pinned(folder, KNOWN, "no_such_thing", "1.0")
    (folder / "a.bin").touch()
    with pytest.raises(EncoderError, match="no_such_thing"):
        require_pinned(folder, KNOWN, "no_such_thing", "1.0")
