import numpy as np
import pytest

from distill.vocabulary.words import morphology
from distill.vocabulary.words.answer_finder import AnswerFinder, find_answer_sentence


@pytest.mark.parametrize(
    "language, passage, answer",
    [
        ("ru", "Он родился в Москве́ в 1799 году.", "Москва"),
        ("ar", "درس في المدرسة القديمة", "مدرسة"),
        ("de", "Die alten Häuser stehen noch.", "Haus"),
        ("th", "น้ำตกอยู่ที่ประเทศไทย", "ประเทศไทย"),
        ("zh", "他是北京大学的学生。", "北京大学"),
        ("ja", "彼は東京大学で講義を受けた。", "東京大学"),
        ("ko", "세종대왕은 한글을 창제하였다", "세종대왕"),
        ("fi", "Hän asuu Helsingissä.", "Helsingissa"[:-1] + "ä"),
        ("te", "రాజధాని హైదరాబాద్ నగరం", "హైదరాబాద్"),
    ],
)
def test_an_answer_is_found_in_another_form(language, passage, answer):
    assert AnswerFinder([passage], language).holds([answer]).tolist() == [True]


@pytest.mark.parametrize(
    "language, passage, answer",
    [
        ("en", "The artist left.", "art"),
        ("en", "New cars in York", "New York"),
        ("ru", "Он родился в Киеве.", "Москва"),
        ("ja", "日本へ行った。", "日"),
        ("ko", "한글을 창제하였다", "서울"),
        ("en", "Anything at all ?", "?"),
        ("en", "Anything at all", ""),
    ],
)
def test_what_is_no_run_of_whole_words_is_not_found(language, passage, answer):
    assert AnswerFinder([passage], language).holds([answer]).tolist() == [False]


def test_any_of_several_answers_counts_in_many_passages_at_once():
    alone = AnswerFinder(["Die Häuser"], "de")
    assert alone.holds(["Baum", "", "Haus"]).all() and not alone.holds([]).any()
    finder = AnswerFinder(["Die Häuser", "Ein Baum", "Haus und Baum", ""], "de")
    np.testing.assert_array_equal(finder.holds(["Haus"]), [True, False, True, False])
    np.testing.assert_array_equal(finder.holds(["Bäume"], rows=[2, 0, 1]), [True, False, True])
    assert finder.holds(["Haus"], rows=[]).shape == (0,) and finder.holds(["?"]).dtype == bool
    assert not finder.holds([""]).any()


def test_passages_without_a_stemmer_are_counted_once(capsys):
    morphology._warn.cache_clear()
    for _ in range(2):
        AnswerFinder(["రాజధాని హైదరాబాద్", "నగరం"], "te").holds(["నగరం"])
    said = "warning: te: no stemmer; the words of 2 passages searched for answers are compared whole\n"
    assert capsys.readouterr().err == said


PASSAGE = "Ada was born in 1815. She lived in London (Marylebone)! In 1843 she wrote notes. London has fog."


@pytest.mark.parametrize(
    ("passage", "answers", "language", "sentence"),
    [
        (PASSAGE, ["Marylebone"], "en", "She lived in London (Marylebone)!"),
        (PASSAGE, ["nowhere", "1843", "she wrote notes"], "en", "In 1843 she wrote notes."),
        (PASSAGE, ["in 1815. She"], "en", "Ada was born in 1815. She lived in London (Marylebone)!"),
        # In two sentences, within a longer number, nowhere, all of the passage, none at all.
        (PASSAGE, ["London"], "en", None),
        (PASSAGE, ["184"], "en", None),
        (PASSAGE, ["Paris", "yes"], "en", None),
        ("Ada was born in 1815.", ["1815"], "en", None),
        (PASSAGE, [], "en", None),
        ("埃达生于伦敦。她写了笔记。", ["笔记"], "zh", "她写了笔记。"),
    ],
)
def test_the_sentence_of_an_answer(passage, answers, language, sentence):
    assert find_answer_sentence(passage, answers, language) == sentence
