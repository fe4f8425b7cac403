"""A file of texts becomes a file of vectors, the same ones whatever happened on the way."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from fixtures.folders import copy_shipped

from distill.encoders.catalog.loading import load_encoder
from distill.encoders.files.encode_file import encode_file
from distill.encoders.files.text_file import TextFile
from distill.errors import DataError, EncoderError, InputError

# The encoder that comes with distill runs without Keras.
MODEL, BLOCK = "multi12-static", 4
TEXTS = [f"Wo liegt {'die Stadt ' * (7 * n % 5)}{n}?" for n in range(14)]


@pytest.fixture(scope="module")
def encoder():
    return load_encoder(MODEL)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(json.dumps({"id": n, "text": text}) for n, text in enumerate(TEXTS)), encoding="utf-8")
    return path


def by_blocks(encoder):
    return np.concatenate([encoder.encode(TEXTS[at : at + BLOCK], "document") for at in range(0, len(TEXTS), BLOCK)])


def encode(path, block=BLOCK, role="document", **options):
    output = path.parent / "vectors.npy"
    encode_file(TextFile(path, block), output, MODEL, role, **options)
    return np.load(output)


def interrupting(encoder, after):
    """An engine that stops after so many blocks."""

    def engine(texts, numbers, role):
        for number in numbers[:after]:
            yield number, encoder.encode(texts.read(number), role)
        raise KeyboardInterrupt

    return engine


def test_texts_are_encoded_block_by_block_and_those_of_one_block_in_one_call(path, encoder):
    np.testing.assert_array_equal(encode(path), by_blocks(encoder))
    np.testing.assert_array_equal(encode(path, block=14), encoder.encode(TEXTS, "document"))


def test_an_interrupt_is_gone_on_after(path, encoder, capsys):
    done = []
    with pytest.raises(KeyboardInterrupt):
        encode(path, engine=interrupting(encoder, 2))

    def engine(texts, numbers, role):
        done.extend(numbers)
        yield from ((number, encoder.encode(texts.read(number), role)) for number in numbers)

    np.testing.assert_array_equal(encode(path, engine=engine), by_blocks(encoder))
    assert done == [2, 3]
    assert "after 8 of 14" in capsys.readouterr().err


def test_a_killed_process_is_gone_on_after(path, encoder):
    code = f"""
import os, signal
from distill.encoders.files import vector_file
from distill.encoders.files.encode_file import encode_file
from distill.encoders.files.text_file import TextFile
written = vector_file.VectorFile._note
def note(file):
    # In the middle: the block is on the disk, and not noted.
    if file.done == 3:
        os.kill(os.getpid(), signal.{"SIGKILL" if sys.platform != "win32" else "SIGTERM"})
    written(file)
vector_file.VectorFile._note = note
encode_file(TextFile({str(path)!r}, {BLOCK}), {str(path.parent / "vectors.npy")!r}, {MODEL!r}, "document")
"""
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (path.parent / "vectors.npy").exists()
    assert json.loads((path.parent / "vectors.npy.part.json").read_text())["done"] == 2
    np.testing.assert_array_equal(encode(path), by_blocks(encoder))
    assert sorted(left.name for left in path.parent.iterdir()) == ["texts.jsonl", "vectors.npy"]


def test_another_input_or_role_does_not_go_on(path, encoder):
    with pytest.raises(KeyboardInterrupt):
        encode(path, engine=interrupting(encoder, 2))
    with pytest.raises(InputError, match="role.*document.*question.*--restart"):
        encode(path, role="question")
    path.write_text(path.read_text(encoding="utf-8").replace("Wo", "Wo "), encoding="utf-8")
    with pytest.raises(InputError, match=r"input.*\(\w{12}\).*\(\w{12}\)"):
        encode(path)
    assert encode(path, restart=True).shape == (14, encoder.dimension)


def test_no_block_of_a_file_that_changes_meanwhile_is_kept(path, encoder):
    """Else the command that goes on, with the first file again, would take them for that one's."""
    whole = path.read_bytes()

    def engine(texts, numbers, role):
        for number in numbers:
            if number == 2:
                path.write_bytes(whole.replace(b"Wo", b"Zu"))
            yield number, encoder.encode(texts.read(number), role)

    with pytest.raises(DataError, match="texts.jsonl: "):
        encode(path, engine=engine)
    assert not (path.parent / "vectors.npy").exists()
    path.write_bytes(whole)
    np.testing.assert_array_equal(encode(path), by_blocks(encoder))


@pytest.mark.parametrize("link", [False, True])
def test_what_is_read_is_not_written_over(link, path, encoder, tmp_path):
    before, output = path.read_bytes(), path
    if link:
        output = tmp_path / "vectors.npy"
        output.symlink_to(path)
    with pytest.raises(InputError, match=output.name):
        encode_file(TextFile(path), output, MODEL, "document")
    assert path.read_bytes() == before


def test_the_encoders_files_are_not_written_over_and_vectors_may_lie_beside_them(path, encoder, tmp_path):
    folder, texts = copy_shipped(MODEL, tmp_path / "copy"), TextFile(path, BLOCK)
    for name in ("card.json", "encoder.tflite", "tokenizer.model"):
        before = (folder / name).read_bytes()
        with pytest.raises(InputError, match=name):
            encode_file(texts, folder / name, str(folder), "document")
        assert (folder / name).read_bytes() == before
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            encode_file(texts, folder / "v.npy", str(folder), "document", engine=interrupting(encoder, 1))
    encode_file(texts, folder / "v.npy", str(folder), "document")
    np.testing.assert_array_equal(np.load(folder / "v.npy"), by_blocks(encoder))


def test_vectors_that_are_no_numbers_are_an_error(path, monkeypatch):
    kind = type(load_encoder(MODEL))
    whole = kind.encode
    monkeypatch.setattr(kind, "encode", lambda *given: np.where(np.arange(4)[:, None] == 2, np.nan, whole(*given)))
    with pytest.raises(EncoderError, match="0 to 3: .*1 of 4"):
        encode(path)


def test_an_encoders_error_says_of_which_texts(path, monkeypatch):
    def refuse(self, texts, role, progress=None):
        raise EncoderError("long")

    monkeypatch.setattr(type(load_encoder(MODEL)), "encode", refuse)
    with pytest.raises(EncoderError, match="0 to 3: long$"):
        encode(path)
    with pytest.raises(EncoderError, match="^long$"):
        encode(path, block=14)
    assert [left.name for left in path.parent.iterdir()] == ["texts.jsonl"]
