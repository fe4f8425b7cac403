"""Texts of a corpus come in order or not at all."""

import json

import pytest

from distill.data.corpus import read_corpus, read_words
from distill.errors import DataError, InputError


def corpus(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_corpus_is_a_text_a_line_or_json_lines_under_the_files_name_or_the_language_given(tmp_path):
    path = corpus(tmp_path, "ntrex.de.txt", "\ufeffDer Nil \n\n  {fließt}\r\n")
    assert read_corpus([path]) == {"ntrex.de": ["Der Nil", "{fließt}"]}
    rows = [{"text": "Der Nil", "language": "de"}, {"text": "Niili"}, {"text": "Die Elbe", "language": "de"}]
    path = corpus(tmp_path, "fi.jsonl", "\n".join(json.dumps(row) for row in rows))
    assert read_corpus([str(path)]) == {"de": ["Der Nil", "Die Elbe"], "fi": ["Niili"]}
    plain = corpus(tmp_path, "news.deu.txt", "eins")
    tagged = corpus(tmp_path, "a=b.jsonl", '{"text": "zwei"}\n{"text": "dva", "language": "cs "}')
    assert read_corpus([f"de={plain}", f"de={tagged}"]) == {"de": ["eins", "zwei"], "cs": ["dva"]}


def test_files_of_one_language_are_one_corpus(tmp_path):
    (tmp_path / "more").mkdir()
    paths = [corpus(tmp_path, "de.txt", "eins"), corpus(tmp_path / "more", "de.txt", "zwei")]
    assert read_corpus(paths) == {"de": ["eins", "zwei"]}
    assert read_corpus([]) == {}


@pytest.mark.parametrize("name", ["de.txt", "de.jsonl"])
def test_an_empty_corpus_is_named(tmp_path, name):
    with pytest.raises(DataError, match=f"/{name}: "):
        read_corpus([corpus(tmp_path, name, " \n\n")])


@pytest.mark.parametrize(
    "row, key", [({"text": " "}, "text"), ({"texts": "a"}, "text"), ({"text": "a", "language": 3}, "language")]
)
def test_a_line_of_a_corpus_that_cannot_be_used_is_named(tmp_path, row, key):
    path = corpus(tmp_path, "de.jsonl", f'{{"text": "eins"}}\n{json.dumps(row)}')
    with pytest.raises(DataError, match=f"jsonl, line 2: .* '{key}'"):
        read_corpus([path])


def test_an_equals_sign_in_a_path_names_no_language_and_half_of_one_or_an_absent_file_is_refused(tmp_path, monkeypatch):
    (tmp_path / "x=y").mkdir()
    path = corpus(tmp_path / "x=y", "de.txt", "eins")
    monkeypatch.chdir(corpus(tmp_path, "a=b.txt", "zwei").parent)
    assert read_corpus([path, "a=b.txt"]) == {"de": ["eins"], "a=b": ["zwei"]}
    for source in ("=de.txt", "de="):
        with pytest.raises(InputError, match=f"^{source}: "):
            read_corpus([source])
    for source in (tmp_path / "x=y" / "absent.txt", f"de={tmp_path / 'absent.txt'}"):
        with pytest.raises(DataError, match=r"/absent\.txt: "):
            read_corpus([source])


def test_words_of_several_files_with_the_higher_frequency(tmp_path):
    (tmp_path / "hi.tsv").write_text("पानी\t0.5\n\nनदी\t1e-3\n", encoding="utf-8")
    (tmp_path / "vi.tsv").write_text("thành phố\t0.25\nपानी\t0.75\n", encoding="utf-8")
    words = read_words([tmp_path / "hi.tsv", tmp_path / "vi.tsv"])
    assert words == {"पानी": 0.75, "नदी": 0.001, "thành phố": 0.25}


@pytest.mark.parametrize("text", ["नदी\t0.5\nपानी\n", "a\t1\nb\t1.5\n", "a\t1\n\t0.5\n", "a\t1\nb\tnan\n", "\n"])
def test_what_is_no_word_with_its_frequency_is_refused(tmp_path, text):
    (tmp_path / "x.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="x.tsv, line 2: " if text.strip() else "x.tsv: "):
        read_words([tmp_path / "x.tsv"])
