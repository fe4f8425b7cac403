"""A bundle that reads text as people type it: the command, its files, and every program that runs them."""

import importlib.util
import json
import re

import numpy as np
import pytest
from fixtures.folders import card_in
from fixtures.pieces import spelled_tokenizer, tokenizer_of

from distill.cli import main
from distill.errors import EncoderError
from distill.export.artefact import write_artefact
from distill.export.form import Form
from distill.export.formats.format import load_artefact
from distill.export.student import load_student
from distill.export.subset import write_subset
from distill.export.weights.precision import Precision
from distill.vocabulary.languages.add_spellings import SpellingPlan, divide_lines, remove_aliases

LANGUAGES = ("en", "es", "el")


@pytest.fixture(scope="module")
def files(sample, tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    for name in LANGUAGES:
        lines = [question.text for question in sample.questions[name].values()]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "words.tsv").write_text("καλημέρα\t0.01\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def bundle(wide, sample, tmp_path_factory):
    folder = tmp_path_factory.mktemp("before") / "bundle"
    texts = {name: [q.text for q in sample.questions[name].values()] for name in LANGUAGES}
    # As `distill export` writes them, whose notes name no languages: they are those of the pieces.
    notes = {"source": "wide"}
    write_artefact(wide, folder, Form(precision=Precision("int8", "int4-pq5")), "bundle", notes, texts=texts)
    return folder


def add(model, output, files, *more):
    options = [part for name in LANGUAGES for part in ("--text", f"{name}={files / name}.txt")]
    with pytest.raises(SystemExit) as end:
        main(["add-spellings", str(model), *options, "--output", str(output), *more])
    return end.value.code


@pytest.fixture(scope="module")
def spelled(bundle, files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("after")
    words = f"el={files / 'words.tsv'}"
    assert add(bundle, folder / "bundle", files, "--add-words", words, "--json", str(folder / "figures.json")) == 0
    return folder / "bundle"


def test_words_as_typed_are_cut_as_they_are_written(bundle, spelled):
    before, after = load_artefact(bundle), load_artefact(spelled)
    pairs = {"από ένα Darwin": "απο ενα darwin", "the Voyager από": "the voyager apo"}
    for written, typed in pairs.items():
        assert after.tokenize(written) == before.tokenize(written) != before.tokenize(typed)
        assert after.tokenize(typed) == before.tokenize(written), typed
    np.testing.assert_array_equal(after.encode(list(pairs.values())), before.encode(list(pairs)))
    figures = json.loads((spelled.parent / "figures.json").read_text())
    assert figures["spellings"]["no-accents"]["el"] >= 3 and "latin" not in figures["cosine"]["written"]
    one, other = figures["cosine"]["no-accents"]["el"]
    assert one < other <= 1 and figures["cosine"]["written"]["en"][1] > 0.9


def test_all_else_is_as_it_was_and_the_card_says_what_came(bundle, spelled):
    card, old = card_in(spelled), card_in(bundle)
    assert (spelled / "encoder.tflite").read_bytes() == (bundle / "encoder.tflite").read_bytes()
    assert card["vocabulary"] == old["vocabulary"] and card["spelled"]["kinds"][0] == "no-accents"
    assert set(card["files"]) == {*old["files"], "spellings.npz"}
    count = sum(sum(row.values()) for row in card["spelled"]["spellings"].values())
    assert f"{count:,} spellings" in " ".join((spelled / "README.md").read_text(encoding="utf-8").split())
    spec = importlib.util.spec_from_file_location("shipped", spelled / "encode.py")
    shipped = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shipped)
    assert shipped.Encoder(spelled).tokenize("απο") == load_artefact(bundle).tokenize("από")


def test_a_student_of_it_and_a_bundle_of_fewer_languages_have_them(bundle, spelled, tmp_path):
    student = load_student(spelled)
    student.save(tmp_path / "student")
    assert (tmp_path / "student" / "spellings.npz").read_bytes() == (spelled / "spellings.npz").read_bytes()
    write_subset(spelled, tmp_path / "es", ("en", "es"), "spelled")
    smaller = load_artefact(tmp_path / "es")
    np.testing.assert_array_equal(smaller.encode(["darwin"]), load_artefact(bundle).encode(["Darwin"]))
    assert "spelled" in card_in(spelled) and "spelled" not in card_in(tmp_path / "es")
    assert (tmp_path / "es" / "spellings.npz").stat().st_size < (spelled / "spellings.npz").stat().st_size


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--typed-kinds", "shouting"), "--typed-kinds"),
        (("--text", "fi=FILE"), "no fi"),
        (("--text", "en=nowhere.txt"), "nowhere.txt"),
        (("--add-words", "ru=WORDS"), "--text in ru"),
        (("--add-words", "es=WORDS"), "es not"),
        (("--typed-kinds", "lower-case", "--add-words", "el=WORDS"), "el not"),
    ],
)
def test_what_cannot_be_done_is_refused(bundle, files, tmp_path, capsys, options, words):
    paths = {"FILE": files / "en.txt", "WORDS": files / "words.tsv"}
    options = [re.sub("FILE|WORDS", lambda name: str(paths[name[0]]), option) for option in options]
    assert add(bundle, tmp_path / "new", files, *options) == 2
    assert words in capsys.readouterr().err and not (tmp_path / "new").exists()


def test_a_tenth_of_the_lines_is_held_out_and_few_lines_are_said(capsys):
    lines = {language: sorted(f"line {n}" for n in range(count)) for language, count in (("de", 99), ("en", 100))}
    read, held = divide_lines(SpellingPlan({language: rows * 2 for language, rows in lines.items()}))
    assert {language: sorted(read[language] + held[language]) for language in read} == lines
    assert {language: len(rows) for language, rows in held.items()} == {"de": 9, "en": 10}
    said = capsys.readouterr().err
    assert "99 lines in de" in said and "in en" not in said


def test_spellings_take_the_place_of_others_and_are_of_unigram_models_alone(tokenizer, capsys):
    assert remove_aliases(spelled_tokenizer(tokenizer, _teh_nyl="the Nile"), "named").proto == tokenizer.proto
    assert "1 that named has" in capsys.readouterr().err
    assert remove_aliases(tokenizer, "named") is tokenizer and not capsys.readouterr().err
    with pytest.raises(EncoderError, match="BPE"):
        remove_aliases(tokenizer_of(("a", -1.0), kind="BPE"), "named")


def test_an_encoder_that_is_no_artefact_is_refused(files, tiny_folder, tmp_path, capsys):
    assert add(tiny_folder, tmp_path / "new", files) == 2
    assert "card.json" in capsys.readouterr().err
