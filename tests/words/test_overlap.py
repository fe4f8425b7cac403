import numpy as np

from distill.words.overlap import letters, sharing


def test_texts_share_a_run_of_letters_as_sets_of_substrings_say():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("aAbB c.é"), size)) for size in rng.integers(0, 40, 300)]
    others = ["".join(rng.choice(list("abAc -Éé"), 60)) for _ in range(20)]
    runs = {letters(other)[start : start + 6] for other in others for start in range(len(letters(other)) - 5)}
    expected = [any(letters(text)[at : at + 6] in runs for at in range(len(letters(text)) - 5)) for text in texts]
    assert 20 < sum(expected) < 280 and sharing(texts, others, 6).tolist() == expected
    assert letters("Ａ-b, É!") == "abé" and sharing(["a" * 60], []).tolist() == [False]
    assert sharing(["The same, " * 8 + "x", "other"], ["and THE SAME" + "the same" * 8]).tolist() == [True, False]
