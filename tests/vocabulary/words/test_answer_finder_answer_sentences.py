import pytest

from distill.vocabulary.words.answer_finder import find_answer_sentence

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
