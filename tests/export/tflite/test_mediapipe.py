import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import numpy as np
import pytest

from distill.errors import EncoderError, ExportError
from distill.export.tflite.convert import convert
from distill.export.tflite.mediapipe import (
    MediaPipeEncoder,
    load_string_tokenizer,
    load_zip_tokenizer,
    network_isolation_words,
    to_mediapipe,
    write_zip,
)
from distill.export.tflite.packing import list_operators
from distill.export.tflite.strings import StringRuntime

pytest.importorskip("mediapipe", reason="the extra mediapipe is not installed")

LENGTH = 128
# Of languages that the sample lacks, and odd ones.
FURTHER = ["ナイル川はどこで海に注ぎますか。", "エッフェル塔の高さは？", "米はどこで最初に栽培されましたか。"]
FURTHER += ["한국에서 가장 높은 산은 무엇입니까?", "에펠탑의 높이는?", "증기 기관을 개량한 사람은 누구입니까?"]
ODD = ["", " ", "   \u3000\t\n", "broken \ud800 text", "a 🌊 b", "Ｗｈｅｒｅ ﬁnally", "a", '"quoted" \\ and {braces}']
LONG = "river " * 10_000


@pytest.fixture(scope="module")
def texts(sample):
    """Eight questions in each of the sample's ten languages, and further texts."""
    texts = [q.text for questions in sample.questions.values() for q in list(questions.values())[:8]]
    assert len(texts) == 80
    return texts + FURTHER + ODD


@pytest.fixture(scope="module")
def full(tokenizer):
    """A text that fills the zip's model to the last piece, one that leaves one free, and one that is too long."""
    by_length = {len(tokenizer.encode(["a " * words])[0]): "a " * words for words in range(LENGTH + 2)}
    return by_length[LENGTH], by_length[LENGTH - 1], by_length[LENGTH + 1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mediapipe")


@pytest.fixture(scope="module")
def whole(folder, wide_string):
    """The `mediapipe` artefact."""
    path = folder / "encoder.tflite"
    path.write_bytes(to_mediapipe(wide_string))
    return MediaPipeEncoder(path, "wide", 40, load_string_tokenizer(path))


@pytest.fixture(scope="module")
def fixed(wide):
    return convert(wide.model, length=LENGTH, sliced=True)


@pytest.fixture(scope="module")
def zipped(folder, wide, fixed):
    """The `mediapipe-zip` artefact."""
    path = folder / "encoder.task"
    write_zip(path, fixed, wide.tokenizer.proto)
    return MediaPipeEncoder(path, "wide", 40, load_zip_tokenizer(path), LENGTH)


@pytest.mark.parametrize("name", ["whole", "zipped"])
def test_they_give_the_reference_vectors(request, wide, wide_string, texts, full, name):
    encoder, told = request.getfixturevalue(name), []
    texts = [*texts, *([LONG] if name == "whole" else full[:2])]
    vectors = encoder.encode(texts, progress=told.append)
    assert (vectors.shape, vectors.dtype, sum(told)) == ((len(texts), 40), np.float32, len(texts))
    runtime = StringRuntime(wide_string)
    # The zip is of another length, so that sums are in another order.
    atol = 1e-6 if name == "whole" else 1e-5
    assert vectors == pytest.approx(np.array([runtime.vector(text) for text in texts]), abs=atol)
    # An untrained encoder is harder to round than a trained one; the vectors of different texts are at .6.
    cosines = np.sum(vectors * wide.encode(texts), axis=1)
    assert cosines.mean() >= 0.99 and cosines.min() >= 0.94


def test_they_are_encoders_with_the_students_ids(whole, zipped, wide, texts):
    expected = wide.tokenizer.encode(texts)
    for encoder, length in ((whole, None), (zipped, LENGTH)):
        assert [encoder.tokenize(text) for text in texts] == expected
        assert (encoder.name, encoder.dimension, encoder.max_length) == ("wide", 40, length)
    assert zipped.encode([]).shape == (0, 40)


def test_a_text_that_is_too_long_for_the_zip_is_refused_before_mediapipe_starts(zipped, full, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(EncoderError, match=f"encoder.task .* {LENGTH} .* 2 of 3 .* {LENGTH + 1}: 'a a a "):
        zipped.encode(["short", full[2], "short"])


def test_the_only_custom_operator_is_mediapipes(wide_string):
    content = to_mediapipe(wide_string)
    assert [name for name, _, custom in list_operators(content) if custom] == ["TFSentencepieceTokenizeOp"]
    assert len(content) == len(wide_string)


def member_places(path):
    """`{name: (where its content starts, its content)}` by the headers in the file itself."""
    content, places = path.read_bytes(), {}
    with ZipFile(path) as archive:
        for info in archive.infolist():
            header = content[info.header_offset : info.header_offset + 30]
            assert header[:4] == b"PK\x03\x04"
            name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
            start = info.header_offset + 30 + name + extra
            places[info.filename] = (start, content[start : start + info.file_size])
    return places


def test_the_zip_holds_its_members_stored_at_the_root(zipped, wide, fixed):
    with ZipFile(zipped.path) as archive:
        assert archive.testzip() is None
        assert [info.filename for info in archive.infolist()] == ["sentencepiece.model", "encoder.tflite"]
        assert [info.compress_type for info in archive.infolist()] == [ZIP_STORED] * 2
        assert archive.read("sentencepiece.model") == wide.tokenizer.proto
        assert archive.read("encoder.tflite") == fixed


# Every remainder that the first member can leave, those that need a filler of less than its own header among them.
@pytest.mark.parametrize("size", range(16))
def test_members_are_aligned_for_mapping(tmp_path, size):
    for name in ("a.task", "b.task"):
        write_zip(tmp_path / name, b"model" * 9, b"p" * (100 + size))
    assert (tmp_path / "a.task").read_bytes() == (tmp_path / "b.task").read_bytes()
    places = member_places(tmp_path / "a.task")
    assert {name: start % 16 for name, (start, _) in places.items()} == {"sentencepiece.model": 0, "encoder.tflite": 0}
    assert places["encoder.tflite"][1] == b"model" * 9
    assert places["sentencepiece.model"][1] == b"p" * (100 + size)
    with ZipFile(tmp_path / "a.task") as archive:
        assert all(len(info.extra) < 20 for info in archive.infolist())


def test_the_zips_model_is_one_graph_of_one_fixed_int32_input(zipped):
    from ai_edge_litert import schema_py_generated as schema

    model = schema.Model.GetRootAsModel(member_places(zipped.path)["encoder.tflite"][1], 0)
    graph = model.Subgraphs(0)
    assert (model.SubgraphsLength(), graph.InputsLength(), graph.OutputsLength()) == (1, 1, 1)
    ids, vectors = graph.Tensors(graph.Inputs(0)), graph.Tensors(graph.Outputs(0))
    assert (ids.Type(), ids.ShapeAsNumpy().tolist()) == (schema.TensorType.INT32, [1, LENGTH])
    assert (vectors.Type(), vectors.ShapeAsNumpy().tolist()) == (schema.TensorType.FLOAT32, [1, 40])


def test_a_model_or_a_tokenizer_that_cannot_be_read_is_refused(tmp_path, wide):
    path = tmp_path / "broken.task"
    write_zip(path, b"no flatbuffer", wide.tokenizer.proto)
    encoder = MediaPipeEncoder(path, "wide", 40, load_zip_tokenizer(path), LENGTH)
    with pytest.raises(ExportError, match="broken.task: .+"):
        encoder.encode(["one"])
    write_zip(path, b"", b"no pieces")
    with pytest.raises(EncoderError, match="broken.task: "):
        load_zip_tokenizer(path)


def test_without_mediapipe_it_says_what_to_install(zipped, tmp_path, monkeypatch):
    # An interpreter that finds numpy alone.
    site = Path(np.__file__).parents[1]
    for name in ("numpy", "numpy.libs"):
        if (site / name).exists():
            (tmp_path / name).symlink_to(site / name)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ExportError, match=r"\[mediapipe\]"):
        zipped.encode(["one"])


def test_where_unshare_is_missing_or_not_allowed_a_command_runs_as_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert network_isolation_words() == []
    (tmp_path / "unshare").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "unshare").chmod(0o755)
    assert shutil.which("unshare") and network_isolation_words() == []


def test_the_process_sees_no_network():
    words = network_isolation_words()
    if not words:
        pytest.skip("needs unshare and the right to use it")
    code = "import socket; print([name for _, name in socket.if_nameindex()])"
    done = subprocess.run([*words, sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "['lo']"
