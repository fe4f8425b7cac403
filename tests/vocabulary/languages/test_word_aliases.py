"""Words of a language that are read as pieces which are there: nearest to what they mean, and no other language's."""

from dataclasses import replace

import numpy as np
import pytest

from distill.encoders.tokenizer import list_spellings
from distill.vocabulary.languages.material import LanguageSources, read_lexicon, read_material
from distill.vocabulary.languages.word_aliases import spell_words

WORDS = {"lehmä": ("dog", "house"), "hevonen": ("large river", "bridge"), "kissa": ("music",), "karhu": ("city",)}


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fi")
    (folder / "lines.tsv").write_text("en\tfi\n" + "".join(f"number {n}\tluku {n}\n" for n in range(20)))
    rows = "".join(f"{word}\t{' | '.join(meant)}\n" for word, meant in WORDS.items())
    (folder / "meant.tsv").write_text("fi\ten\n" + rows)
    (folder / "words.tsv").write_text("".join(f"{word}\t{0.01 / n}\n" for n, word in enumerate(WORDS, 1)))
    # Names are as often with a capital, by the text, and one word is German here.
    (folder / "text.txt").write_text("Kissa kissa\n" * 20)
    (folder / "keep.txt").write_text("karhu karhu\n" * 20)
    files = {name: (str(folder / f"{name}.txt"),) for name in ("text",)} | {"keep": (f"de={folder / 'keep.txt'}",)}
    sources = LanguageSources(
        "fi",
        parallel=(str(folder / "lines.tsv"),),
        dictionary=(str(folder / "meant.tsv"),),
        words=(str(folder / "words.tsv"),),
        **files,
    )
    return read_material(sources)


def meant(encoder, word):
    """`(gain, ids)` of a word by its translations alone, in NumPy."""
    before, *vectors = encoder.encode([word, *WORDS[word]]).astype(np.float64)
    target = np.array(vectors).T @ (1 / np.arange(1, len(vectors) + 1))
    target /= np.linalg.norm(target)
    cuts = encoder.tokenizer.encode(list(WORDS[word]))
    # bos and eos are none of a text's pieces, and each but the first costs .02.
    scores = [vector @ target - 0.02 * (len(cut) - 3) for vector, cut in zip(vectors, cuts, strict=True)]
    best = int(np.argmax(scores))
    return scores[best] - before @ target, cuts[best]


def test_a_word_is_read_as_what_comes_nearest_to_its_translations(wide, material):
    tokenizer = spell_words(wide, len(wide.tokenizer), material, None, 100)
    lower = {one.piece[1:] for one in list_spellings(tokenizer) if one.piece[1:].islower()}
    gains = {word: meant(wide, word) for word in WORDS}
    expected = {word for word, (gain, _) in gains.items() if gain >= 0.1} - {"karhu"}
    assert lower == expected and len(expected) > 1
    for word in expected:
        assert tokenizer.encode([word, word.capitalize()]) == [gains[word][1]] * 2
    texts = ["eine karhu", "luku 7", "a cat and a dog"]
    assert tokenizer.encode(texts) == wide.tokenizer.encode(texts)


def test_the_most_useful_word_comes_first(wide, material):
    [one] = list_spellings(spell_words(wide, len(wide.tokenizer), material, None, 1))
    # By the share of all words that it is, so much of it within a sentence, and by what it gains.
    within = {"lehmä": 0.9, "hevonen": 0.9, "kissa": 1 - (20 + 5 * 0.1) / 45}
    use = {word: 0.01 / n * within.get(word, 0) * meant(wide, word)[0] for n, word in enumerate(WORDS, 1)}
    assert one.piece[1:] == max(use, key=use.get)


def test_without_words_nothing_is_spelled(wide, material):
    assert spell_words(wide, len(wide.tokenizer), replace(material, words={}), None, 10) is wide.tokenizer


def test_of_two_words_with_one_capital_the_more_useful_is_read(wide, material, tmp_path):
    (tmp_path / "meant.tsv").write_text("tr\ten\niskı\tdog\nıskı\tlarge river\n", encoding="utf-8")
    lexicon = replace(
        read_lexicon(LanguageSources("tr", dictionary=(tmp_path / "meant.tsv",))), words={"iskı": 0.01, "ıskı": 0.001}
    )
    tokenizer = spell_words(wide, len(wide.tokenizer), lexicon, None, 10)
    pieces = [one.piece[1:] for one in list_spellings(tokenizer)]
    assert sorted(pieces) == ["Iskı", "iskı", "ıskı"]
    assert tokenizer.encode(["Iskı"]) == tokenizer.encode(["iskı"]) != tokenizer.encode(["ıskı"])
