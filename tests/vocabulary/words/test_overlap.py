import numpy as np

from distill.data.more_questions import extract_letters, find_sharing


def test_texts_share_a_run_of_letters_as_sets_of_substrings_say():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("aAbB c.é"), size)) for size in rng.integers(0, 40, 300)]
    others = ["".join(rng.choice(list("abAc -Éé"), 60)) for _ in range(20)]
    runs = {
        extract_letters(other)[start : start + 6]
        for other in others
        for start in range(len(extract_letters(other)) - 5)
    }
    expected = [
        any(extract_letters(text)[at : at + 6] in runs for at in range(len(extract_letters(text)) - 5))
        for text in texts
    ]
    assert 20 < sum(expected) < 280 and find_sharing(texts, others, 6).tolist() == expected
    assert extract_letters("Ａ-b, É!") == "abé" and find_sharing(["a" * 60], []).tolist() == [False]
    assert find_sharing(["The same, " * 8 + "x", "other"], ["and THE SAME" + "the same" * 8]).tolist() == [True, False]
