"""Words of a language that an artefact has, read as what they mean: the command, its files, and all else as it was."""

import json

import numpy as np
import pytest
from fixtures.folders import card_in

from distill.cli import main
from distill.encoders.tokenizer import Tokenizer, list_spellings
from distill.errors import InputError
from distill.export.artefact import write_artefact
from distill.export.form import Form
from distill.export.formats.format import load_artefact
from distill.export.languages import read_languages
from distill.export.subset import write_subset
from distill.export.weights.precision import Precision
from distill.vocabulary.languages.material import LanguageSources, read_lexicon

LANGUAGES = ("en", "de", "ru")
MEANT = {"жираф": "tall animal", "кенгуру": "house | hill", "пингвин": "bird", "слон": "large animal"}


@pytest.fixture(scope="module")
def bundle(wide, sample, tmp_path_factory):
    folder = tmp_path_factory.mktemp("before") / "bundle"
    texts = {name: [q.text for q in sample.questions[name].values()] for name in LANGUAGES}
    notes = {"source": "wide", "languages": list(LANGUAGES)}
    write_artefact(wide, folder, Form(precision=Precision("int8", "int4-pq5")), "bundle", notes, texts=texts)
    return folder


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory):
    path = tmp_path_factory.mktemp("words") / "en-ru.tsv"
    path.write_text("ru\ten\n" + "".join(f"{word}\t{meant}\n" for word, meant in MEANT.items()), encoding="utf-8")
    return path


def add(model, language, dictionary, output, *more):
    with pytest.raises(SystemExit) as end:
        main(["add-words", str(model), language, "--dictionary", str(dictionary), "--output", str(output), *more])
    return end.value.code


def test_words_are_read_as_what_they_mean_and_all_else_is_as_it_was(bundle, dictionary, sample, tmp_path):
    output, figures = tmp_path / "out", tmp_path / "figures.json"
    assert add(bundle, "ru", dictionary, output, "--json", str(figures)) == 0
    before, after, report = load_artefact(bundle), load_artefact(output), json.loads(figures.read_text())
    spelled = [word for word in MEANT if f"▁{word}" in report["words"]]
    assert spelled
    for word in spelled:
        meant = MEANT[word].split(" | ")
        assert after.tokenize(word) in [before.tokenize(text) for text in meant]
        # Nearer to the mean of its translations, the first of which counts most.
        target = before.encode(meant).T @ (1 / np.arange(1, len(meant) + 1))
        [near], [far] = after.encode([word]) @ target, before.encode([word]) @ target
        assert near > far
    texts = [question.text for name in ("en", "de") for question in sample.questions[name].values()]
    np.testing.assert_array_equal(after.encode(texts), before.encode(texts))
    assert set(report["sample"]) == set(LANGUAGES) and report["sample"]["de"]["cut_otherwise"] == 0
    assert (output / "encoder.tflite").read_bytes() == (bundle / "encoder.tflite").read_bytes()
    card, spellings = card_in(output), list_spellings(Tokenizer.load(output / "tokenizer.model"))
    assert card["spelled"] == {"kinds": ["words"], "spellings": {"words": {"ru": len(spellings)}}}
    assert len(spellings) == len(report["words"])
    # What a word is read as is the language's, so that a subset keeps it.
    used, there = read_languages(output, card), read_languages(bundle, card_in(bundle))
    assert used.used[[id for one in spellings for id in one.ids], 2].all()
    np.testing.assert_array_equal(used.used[:, :2], there.used[:, :2])
    for languages, count in ((("en", "de"), 0), (("en", "ru"), len(spellings))):
        write_subset(output, tmp_path / languages[1], languages, "out")
        assert len(list_spellings(Tokenizer.load(tmp_path / languages[1] / "tokenizer.model"))) == count
    assert read_languages(tmp_path / "ru", card_in(tmp_path / "ru")).spelled.tolist() == [[False, True]] * count
    # Again nothing is new.
    assert add(output, "ru", dictionary, tmp_path / "again") == 2 and not (tmp_path / "again").exists()


def test_spellings_made_anew_are_any_languages_again(bundle, dictionary, tmp_path):
    assert add(bundle, "ru", dictionary, tmp_path / "words") == 0
    (tmp_path / "en.txt").write_text("The River Nile\n" * 20, encoding="utf-8")
    text = ["--text", f"en={tmp_path / 'en.txt'}", "--output", str(tmp_path / "typed")]
    with pytest.raises(SystemExit, match="0"):
        main(["add-spellings", str(tmp_path / "words"), *text])
    write_subset(tmp_path / "typed", tmp_path / "en", ("en",), "typed")
    assert len(list_spellings(Tokenizer.load(tmp_path / "en" / "tokenizer.model"))) > 0


def test_words_without_a_list_count_by_their_uses_in_text(dictionary, tmp_path):
    (tmp_path / "ru.txt").write_text("Слон и слон.\nПингвин\n", encoding="utf-8")
    lexicon = read_lexicon(LanguageSources("ru", dictionary=(dictionary,), text=(tmp_path / "ru.txt",)))
    assert lexicon.words == {"слон": 3 / 7, "пингвин": 2 / 7, "жираф": 1 / 7, "кенгуру": 1 / 7}
    assert lexicon.pairs[1:3] == [("кенгуру", "house"), ("кенгуру", "hill")]


@pytest.mark.parametrize(
    ("model", "language", "content"),
    [
        ("{bundle}", "fi", None),
        ("{bundle}", "ru", ""),
        ("{bundle}", "ru", "ru\ten\ngiraffe\ttall animal\n"),
        ("{bundle}", "ru", "de\ten\nGiraffe\ttall animal\n"),
        ("e5", "ru", None),
    ],
)
def test_what_has_no_such_words_is_refused(model, language, content, bundle, dictionary, tmp_path, capsys):
    if content is not None:
        dictionary = tmp_path / "words.tsv"
        dictionary.write_text(content, encoding="utf-8")
    assert add(model.format(bundle=bundle), language, dictionary, tmp_path / "out") == 2
    assert not (tmp_path / "out").exists() and capsys.readouterr().err.startswith("error: ")


def test_without_a_dictionary_nothing_tells_what_words_mean():
    with pytest.raises(InputError, match="--dictionary"):
        read_lexicon(LanguageSources("ru"))
