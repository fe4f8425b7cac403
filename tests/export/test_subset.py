"""A bundle of some languages: the pieces that they use, the same vectors where none is lost, a card that says so."""

import hashlib
import json
import shutil

import numpy as np
import pytest
from fixtures.folders import card_in, change_card

from distill.encoders.files.encode_file import encode_file
from distill.encoders.files.text_file import TextFile
from distill.encoders.tokenizer import Tokenizer, model_proto
from distill.errors import EncoderError
from distill.export.artefact import write_artefact
from distill.export.form import Form
from distill.export.formats.format import load_artefact
from distill.export.languages import FILE, TokenLanguages, find_token_languages, read_languages, write_languages
from distill.export.student import load_student
from distill.export.subset import select_tokens, write_subset
from distill.export.weights.precision import Precision

LANGUAGES = ("en", "de", "ru")
FORMS = {
    "int4": Form(precision=Precision("int8", "int4")),
    "parts, signatures": Form(precision=Precision("int8", "int4-pq5"), signatures=(128,)),
    "onnx, parts": Form("onnx", Precision("int8", "int4-pq5")),
}


@pytest.fixture(scope="module")
def texts(sample):
    return {name: [q.text for q in sample.questions[name].values()] for name in LANGUAGES}


@pytest.fixture(scope="module")
def whole(wide, texts, tmp_path_factory):
    """`whole(form)`: an artefact that says which languages use its pieces."""
    folder = tmp_path_factory.mktemp("whole")

    def make(form):
        if not (folder / form).is_dir():
            write_artefact(wide, folder / form, FORMS[form], "whole", {"source": "wide"}, texts=texts)
        return folder / form

    return make


@pytest.mark.parametrize("form", FORMS)
def test_texts_of_the_languages_have_the_same_vectors_and_the_rest_is_left_out(form, whole, texts, tmp_path):
    if FORMS[form].format == "onnx":
        pytest.importorskip("onnxruntime")
    folder = whole(form)
    result = write_subset(folder, tmp_path / "small", ["de", "ru"], "wide")
    before, after = load_artefact(folder), load_artefact(tmp_path / "small")
    for name in ("de", "ru"):
        np.testing.assert_array_equal(after.encode(texts[name]), before.encode(texts[name]))
    assert result.pieces == (2000, len(Tokenizer.load(tmp_path / "small" / "tokenizer.model")))
    assert result.kept["de"] == result.kept["ru"] == 1 > result.kept["en"]
    card = card_in(tmp_path / "small")
    size = sum(path.stat().st_size for path in (tmp_path / "small").iterdir() if path.name in card["files"])
    assert (card["languages"], card["source"], card["bytes"]) == (["de", "ru"], "wide", size)
    assert result.bytes == (card_in(folder)["bytes"], size) and size < result.bytes[0]
    # Once more, and trained on.
    write_subset(tmp_path / "small", tmp_path / "smaller", ["ru"], "small")
    smaller = load_artefact(tmp_path / "smaller")
    np.testing.assert_array_equal(smaller.encode(texts["ru"]), before.encode(texts["ru"]))
    student, few = load_student(tmp_path / "smaller"), texts["ru"][:8]
    assert np.sum(student.encode(few) * smaller.encode(few), axis=1).min() > 0.99


def test_pieces_that_all_languages_need_stay(wide, texts):
    pieces = find_token_languages(wide.tokenizer, texts)
    kept, rows = select_tokens(wide.tokenizer, pieces.of(["de"])), model_proto(wide.tokenizer).pieces
    names = {rows[id].piece for id in kept}
    assert {"<unk>", "<s>", "</s>", "?", "1"} <= names and {"ж", "ы"}.isdisjoint(names)
    used = {id for ids in wide.tokenizer.encode(texts["de"]) for id in ids}
    assert used <= kept and len(kept) < len(rows)
    assert all(piece.piece in names for piece in rows if piece.type != piece.NORMAL or piece.piece.isdecimal())


def test_a_piece_is_of_the_languages_that_use_it_often_enough(wide, texts, tmp_path):
    counts = {name: np.zeros(2000, int) for name in texts}
    for name, lines in texts.items():
        for ids in wide.tokenizer.encode(lines):
            np.add.at(counts[name], ids[1:-1], 1)
    pieces = find_token_languages(wide.tokenizer, texts, 3)
    np.testing.assert_array_equal(pieces.used, np.stack(list(counts.values()), axis=1) >= 3)
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        write_languages(folder, pieces)
    assert (tmp_path / "a" / FILE).read_bytes() == (tmp_path / "b" / FILE).read_bytes()
    card = {"pieces": {"languages": list(LANGUAGES)}, "files": {FILE: {}}, "vocabulary": 2000}
    stored = read_languages(tmp_path / "a", card)
    assert isinstance(stored, TokenLanguages) and stored.languages == LANGUAGES
    np.testing.assert_array_equal(stored.used, pieces.used)
    with pytest.raises(EncoderError, match=FILE):
        read_languages(tmp_path / "a", {**card, "vocabulary": 1999})


def test_a_text_in_a_language_that_is_left_out_is_told_once(whole, texts, tmp_path, capsys):
    write_subset(whole("int4"), tmp_path / "de", ["de"], "wide")
    for name in ("de", "ru"):
        lines = "".join(json.dumps({"id": str(row), "text": text}) + "\n" for row, text in enumerate(texts[name]))
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        encode_file(TextFile(tmp_path / f"{name}.jsonl", 50), tmp_path / f"{name}.npy", tmp_path / "de", "question")
        assert capsys.readouterr().err.count("<unk>") == (name == "ru")


def test_what_does_not_say_which_languages_use_its_pieces_is_refused(whole, tiny_bundle, tmp_path):
    other = shutil.copytree(whole("int4"), tmp_path / "other")
    (other / FILE).write_bytes(b"PK")
    label = {"bytes": 2, "sha256": hashlib.sha256(b"PK").hexdigest()}
    change_card(other, files={**card_in(other)["files"], FILE: label})
    for source in (other, tiny_bundle):
        with pytest.raises(EncoderError, match=FILE):
            write_subset(source, tmp_path / "out", ["de"], "x")
