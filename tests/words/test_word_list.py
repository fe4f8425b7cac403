import pytest

from distill.errors import DataError
from distill.words.word_list import read_words


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
