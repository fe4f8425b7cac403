import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from distill.data.dataset import Dataset, Passage, Question
from distill.data.pool import make_pool
from distill.errors import DataError, InputError
from distill.evaluation.translation import (
    PARALLEL,
    MachineTranslation,
    ParallelQuestions,
    TranslationFile,
    read_translations,
    translate_pool,
    translate_questions,
    translation_of,
)

ASKED = {
    "de": {"1": "Wie alt?", "2": "Was ist das?", "3": "Wo?"},
    "en": {"1": "How old?", "2": "What is it?"},
    "th": {"1": "เก่า"},
}


@pytest.fixture
def dataset():
    questions = {
        language: {id: Question(id, language, text, 0, ("x",)) for id, text in of.items()}
        for language, of in ASKED.items()
    }
    passages = (Passage("0", "It is old.", 0),)
    return Dataset("toys", "en", ("a",), passages, questions, {"dev": ("2", "1"), "test": ("3",)})


@pytest.fixture
def pool():
    questions = {lang: [(id, text, [0]) for id, text in of.items()] for lang, of in ASKED.items()}
    rows = {lang: ([f"{lang} a", f"{lang} b"], [f"{lang} a {lang} b"] * 2, questions[lang]) for lang in ASKED}
    return make_pool("toys", rows)


@pytest.fixture
def written(tmp_path):
    def call(*rows, name="some.jsonl"):
        text = "\n".join(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return call


class Upper:
    """Stands in for `Translators`: capitals and the language, none of Thai or what is said."""

    name = "upper"

    def __init__(self, missing="th"):
        self.missing = missing

    def serves(self, language):
        return language not in self.missing

    def translate(self, texts, language, progress=None):
        return [f"{text.upper()} {language}" for text in texts]


def texts_of(dataset):
    return {lang: {id: q.text for id, q in known.items()} for lang, known in dataset.questions.items()}


LINES = (
    {"id": "1", "language": "de", "text": "How old?"},
    {"id": 1, "language": None, "text": "Age?"},
    "",
    {"id": "2", "text": "It?"},
)


@pytest.mark.parametrize(
    "name, rows, expected",
    [
        ("a.jsonl", LINES, {("1", "de"): "How old?", ("1", None): "Age?", ("2", None): "It?"}),
        ("a.tsv", ["id\ttext", "1\tAge?", "2\tIt?"], {("1", None): "Age?", ("2", None): "It?"}),
        ("a.tsv", ["text\tmore\tlanguage\tid", "Age?\tx\tde\t1"], {("1", "de"): "Age?"}),
    ],
)
def test_a_file_serves_one_language_or_all_and_a_table_has_its_columns_in_any_order(written, name, rows, expected):
    assert read_translations(written(*rows, name=name)) == TranslationFile(name, expected)


@pytest.mark.parametrize(
    "name, rows, said",
    [
        ("a.jsonl", [], "a.jsonl: "),
        ("a.jsonl", ['{"id": "1", "text": "x"}', "{no"], "a.jsonl, line 2: .*column 2"),
        ("a.jsonl", ["[1]"], "a.jsonl, line 1: .*list"),
        ("a.jsonl", [{"id": "1"}], "a.jsonl, line 1: .*'text'.* None"),
        ("a.jsonl", [{"id": 1.0, "text": "x"}], "a.jsonl, line 1: .*'id'.* 1.0"),
        ("a.jsonl", [{"id": "1", "text": " "}], "line 1: .*'text'.* ' '"),
        ("a.jsonl", [{"id": "1", "text": "x", "language": ""}], "line 1: .*'language'"),
        ("a.jsonl", [{"id": "1", "text": "x"}, {"id": "1", "text": "y"}], "line 2: question 1 "),
        ("a.jsonl", [{"id": "1", "text": "x", "language": "de"}] * 2, "question 1 .* de$"),
        ("a.tsv", [], "a.tsv, line 1: .*id, text"),
        ("a.tsv", ["id\tquestion", "1\tx"], "a.tsv, line 1: .*id, text"),
        ("a.tsv", ["id\ttext"], "a.tsv: "),
        ("a.tsv", ["id\ttext", "1\tx", "2"], "a.tsv, line 3: .*2.*1"),
        ("a.tsv", ["id\ttext", "1\t"], "a.tsv, line 2: .*'text'"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_line(written, name, rows, said):
    with pytest.raises(DataError, match=said):
        read_translations(written(*rows, name=name))


def test_what_is_asked_for_is_one_thing_that_is_there(written):
    assert translation_of() is None and isinstance(translation_of(PARALLEL), ParallelQuestions)
    assert translation_of(written({"id": "1", "text": "x"})).name == "some.jsonl"
    with pytest.raises(InputError, match="--translator"):
        translation_of(PARALLEL, ("folder",))
    with pytest.raises(InputError, match="--beam"):
        translation_of(PARALLEL, beam=1)
    with pytest.raises(DataError, match="nowhere.jsonl"):
        translation_of("nowhere.jsonl")


def test_parallel_questions_replace_those_of_the_split(dataset):
    changed, done = translate_questions(dataset, ParallelQuestions(), "dev", ("de", "en", "th"))
    assert texts_of(changed) == {
        "de": {"1": "How old?", "2": "What is it?", "3": "Wo?"},
        "en": ASKED["en"],
        "th": {"1": "How old?"},
    }
    assert changed.questions["de"]["1"] == Question("1", "de", "How old?", 0, ("x",))
    assert texts_of(dataset) == ASKED
    expected = {"source": "the data's parallel questions", "questions": {"de": 2, "th": 1}, "as_they_are": {}}
    assert done.as_dict() == {"translations": {**expected, "candidates": 0}}


def test_a_languages_own_translation_comes_before_that_of_all(dataset):
    lines = {("1", None): "Age?", ("1", "de"): "Years?", ("2", None): "It?", ("2", "en"): "no"}
    changed, _ = translate_questions(dataset, TranslationFile("a", lines), "dev", ("de", "en", "th"))
    assert texts_of(changed) == {"de": {"1": "Years?", "2": "It?", "3": "Wo?"}, "en": ASKED["en"], "th": {"1": "Age?"}}


def test_what_a_file_or_the_parallel_questions_miss_is_counted_and_stays(dataset, capsys):
    changed, done = translate_questions(dataset, TranslationFile("a.tsv", {("2", "de"): "It?"}), "dev", ("de", "th"))
    assert texts_of(changed) == {**ASKED, "de": {"1": "Wie alt?", "2": "It?", "3": "Wo?"}}
    assert (done.questions, done.as_they_are) == ({"de": 1}, {"de": 1, "th": 1})
    warning = capsys.readouterr().err
    assert "a.tsv: 2 " in warning and "de 1, th 1" in warning
    both = replace(dataset, splits={"dev": ("2", "3")})
    _, done = translate_questions(both, ParallelQuestions(), "dev", ("de",))
    assert done.as_they_are == {"de": 1} and "de 1" in capsys.readouterr().err


@pytest.mark.parametrize("questions", [ASKED["en"], {}])
def test_parallel_questions_of_which_there_are_none_are_refused(dataset, questions):
    known = {"de": dataset.questions["de"], "en": {id: Question(id, "en", text, 0) for id, text in questions.items()}}
    with pytest.raises(DataError, match=" de;.*--languages"):
        translate_questions(replace(dataset, questions=known), ParallelQuestions(), "test", ("de",))


@pytest.mark.parametrize(
    "lines, languages, error, said",
    [
        ({("2", None): "It?", ("9", None): "x", ("8", "de"): "x"}, ("de",), DataError, "a.tsv: 2 ids .*'9'"),
        ({("3", None): "Where?"}, ("de", "th"), DataError, "^a.tsv: .* th;"),
        ({("2", None): "It?"}, ("en",), InputError, r"\ben\b"),
    ],
)
def test_unknown_ids_and_nothing_to_translate_are_refused(dataset, lines, languages, error, said):
    with pytest.raises(error, match=said):
        translate_questions(dataset, TranslationFile("a.tsv", lines), "dev", languages)


def test_a_translator_leaves_languages_it_does_not_serve_and_takes_the_others_time(dataset, monkeypatch):
    clock = iter([10.0, 10.5])
    monkeypatch.setattr("distill.evaluation.translation.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    changed, done = translate_questions(dataset, MachineTranslation(Upper()), "dev", ("de", "en", "th"))
    assert texts_of(changed)["de"] == {"1": "WIE ALT? de", "2": "WAS IST DAS? de", "3": "Wo?"}
    assert (texts_of(changed)["en"], texts_of(changed)["th"]) == (ASKED["en"], ASKED["th"])
    assert done.as_they_are == {"th": 1}
    # Two German ones; the Thai one has no translator.
    assert done.as_dict()["timings"] == {"translation_ms": 500 / 2}


@pytest.mark.parametrize("languages", [("th",), ("de", "th")])
def test_a_translator_of_no_language_that_is_asked_is_refused(dataset, pool, languages):
    with pytest.raises(DataError, match=f"^upper: .* {', '.join(languages)};"):
        translate_questions(dataset, MachineTranslation(Upper(("de", "th"))), "dev", languages)
    with pytest.raises(DataError, match="de, th;"):
        translate_pool(pool, MachineTranslation(Upper(("de", "th"))), "en")


def test_an_empty_translation_is_none(dataset):
    class Silent(Upper):
        def translate(self, texts, language, progress=None):
            return [" " if text == ASKED["de"]["1"] else "x" for text in texts]

    changed, done = translate_questions(dataset, MachineTranslation(Silent()), "dev", ("de",))
    assert texts_of(changed)["de"] == {"1": "Wie alt?", "2": "x", "3": "Wo?"}
    assert done.as_they_are == {"de": 1}


def test_a_pools_questions_are_replaced_by_those_in_the_documents_language_and_its_sentences_stay(pool):
    changed, done = translate_pool(pool, ParallelQuestions(), "en")
    assert changed.questions == ("How old?", "What is it?", "Wo?", "How old?", "What is it?", "How old?")
    assert (changed.sentences, changed.contexts, changed.ids) == (pool.sentences, pool.contexts, pool.ids)
    assert done.questions == {"de": 2, "th": 1} and done.candidates == 0
    data = {lang: (["a"], ["a"], [(id, text, [0]) for id, text in ASKED[lang].items()]) for lang in ("de", "th")}
    with pytest.raises(DataError, match="de, th;"):
        translate_pool(make_pool("toys", data), ParallelQuestions(), "en")


def test_a_translator_translates_sentences_too(pool):
    changed, done = translate_pool(pool, MachineTranslation(Upper()), "en")
    assert changed.questions[:4] == ("WIE ALT? de", "WAS IST DAS? de", "WO? de", "How old?")
    assert changed.sentences == ("DE A de", "DE B de", "en a", "en b", "th a", "th b")
    assert changed.contexts[:3] == ("DE A de DE B de", "DE A de DE B de", "en a en b")
    assert done.candidates == 2
    np.testing.assert_array_equal(changed.language_of, pool.language_of)


def test_ids_of_the_pools_other_splits_are_known(pool):
    chosen = pool.select(["1"])
    changed, _ = translate_pool(chosen, TranslationFile("a", {("1", None): "Age?", ("3", None): "Where?"}), "en")
    assert changed.questions == ("Age?", "How old?", "Age?")
    with pytest.raises(DataError, match="1 ids .*'9'"):
        translate_pool(chosen, TranslationFile("a", {("1", None): "Age?", ("9", None): "Where?"}), "en")
