"""The sample that ships, all of it; other tests use a part of it, see fixtures/data.py."""

import unicodedata

import numpy as np
import pytest

from distill.data.loading import load_dataset
from distill.data.readers import SAMPLE
from distill.retrieval.bm25 import bm25_ranks
from distill.settings.choices import SPLITS

SCRIPTS = dict.fromkeys(("en", "de", "es", "ro", "tr", "vi"), "LATIN")
SCRIPTS |= {"ru": "CYRILLIC", "ar": "ARABIC", "th": "THAI", "zh": "CJK", "hi": "DEVANAGARI", "el": "GREEK"}


@pytest.fixture(scope="module")
def sample():
    return load_dataset("sample")


@pytest.fixture(scope="module")
def parallel():
    """The lines of the parallel text, the languages first."""
    lines = (SAMPLE / "parallel.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]


def texts_of(sample, language):
    return [question.text for question in sample.questions[language].values()]


def test_it_loads_by_name_and_teaches_and_measures_every_language(sample):
    assert (sample.name, sample.document_language, sample.languages) == ("sample", "en", tuple(sorted(SCRIPTS)))
    every = [id for split in SPLITS for id in sample.splits[split]]
    assert len(set(every)) == len(every)
    assert all(questions.keys() == set(every) for questions in sample.questions.values())
    for language in SCRIPTS:
        sizes = [len(sample.select(language, split)) for split in SPLITS]
        assert all(size >= least for size, least in zip(sizes, (250, 50, 100), strict=True))


def test_no_article_has_questions_in_two_splits(sample):
    document = {id: sample.document_of[question.passage] for id, question in sample.questions["en"].items()}
    articles = [{document[id] for id in sample.splits[split]} for split in SPLITS]
    assert sum(map(len, articles)) == len(set.union(*articles)) == len(sample.titles)


def test_articles_are_of_three_passages_two_of_which_answer_and_each_answer_stands_in_its_own(sample):
    assert np.bincount(sample.document_of).tolist() == [3] * len(sample.titles)
    assert len(set(sample.passage_texts)) == len(sample.passage_texts)
    questions = [question for known in sample.questions.values() for question in known.values()]
    assert all(len(question.answers) == 1 for question in questions)
    assert [q.id for q in questions if q.answers[0] not in sample.passage_texts[q.passage]] == []
    answering = np.unique([question.passage for question in questions])
    assert np.bincount(sample.document_of[answering]).min() >= 2


@pytest.mark.parametrize("language", SCRIPTS)
def test_no_question_is_there_twice_or_in_another_script(sample, language):
    texts = texts_of(sample, language)
    assert len(set(texts)) == len(texts)
    assert language == "en" or set(texts_of(sample, "en")).isdisjoint(texts)
    # Names such as DNA or geocaching stay Latin in every language, hence most of the letters and not all.
    assert [text for text in texts if share(text, SCRIPTS[language]) <= 0.5] == []


def share(text, script):
    """How many of the letters of `text` belong to `script`, by their Unicode names."""
    letters = [unicodedata.name(sign).split()[0] for sign in text if sign.isalpha()]
    return letters.count(script) / len(letters)


def test_spanish_questions_open_with_an_inverted_mark_and_vietnamese_ones_carry_tone_marks(sample):
    assert [text for text in texts_of(sample, "es") if "?" in text and "¿" not in text] == []
    assert [text for text in texts_of(sample, "vi") if text.isascii()] == []


def test_parallel_text_is_in_each_language_and_no_question_of_the_sample(sample, parallel):
    languages, *lines = parallel
    assert sorted(languages) == sorted(SCRIPTS) and len(lines) >= 400
    assert all(len(line) == len(languages) and all(map(str.strip, line)) for line in lines)
    for language, texts in zip(languages, zip(*lines, strict=True), strict=True):
        known = {text.casefold() for text in texts_of(sample, language)}
        assert known.isdisjoint(text.casefold() for text in texts) and len(set(texts)) == len(texts)


def test_words_alone_do_not_find_the_articles(sample):
    questions = sample.select("en", "test")
    articles = sample.document_of[[question.passage for question in questions]]
    ranks = bm25_ranks([question.text for question in questions], sample.document_texts, articles, "en")
    assert np.mean(ranks == 1) < 0.85
