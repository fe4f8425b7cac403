import numpy as np
import pytest

from distill.data.bitext import load_bitext
from distill.errors import DataError, EncoderError
from distill.evaluation.tasks import accuracies, retrieve

LINES = {"en": ["one", "two", "three"], "de": ["eins", "zwei", "drei"], "th": ["หนึ่ง", "สอง", "สาม"]}


@pytest.fixture
def folder(tmp_path):
    for language, lines in LINES.items():
        (tmp_path / f"{language}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def table(folder, head, *rows):
    path = folder / "dev.tsv"
    path.write_text("\n".join("\t".join(row) for row in (head, *rows)) + "\n", encoding="utf-8")
    return path


def test_a_folder_of_aligned_files(folder):
    bitext = load_bitext(folder)
    assert bitext.sentences == LINES
    assert (bitext.pivot, bitext.languages, bitext.size) == ("en", ("de", "th"), 3)


def test_languages_and_pivot_are_chosen(folder):
    bitext = load_bitext(folder, ["de"], pivot="th")
    assert bitext.sentences == {"de": LINES["de"], "th": LINES["th"]}
    assert bitext.languages == ("de",)


def test_a_table_has_languages_in_its_columns(tmp_path):
    """Columns that are not headed by a code are no language unless they are named."""
    path = table(tmp_path, ["n", "url", "en", "pt-BR", "zho_Hans", "fin"], ["0", "http://a", "a", "b", "c", "d"])
    assert load_bitext(path).sentences == {"en": ["a"], "pt-BR": ["b"], "zho_Hans": ["c"]}
    assert load_bitext(path, ["fin"]).sentences == {"en": ["a"], "fin": ["d"]}


def test_a_column_of_numbers_is_no_language(tmp_path):
    path = table(tmp_path, ["id", "de", "en"], ["0", "a", "b"])
    assert list(load_bitext(path).sentences) == ["de", "en"]
    assert list(load_bitext(path, ["id"]).sentences) == ["en", "id"]


def test_a_language_that_is_there_twice_is_refused(tmp_path):
    path = table(tmp_path, ["de", "en", "de"], ["a", "b", "c"])
    with pytest.raises(DataError, match=r"tsv: .* de "):
        load_bitext(path)


def test_a_quotation_mark_is_a_character(tmp_path):
    path = table(tmp_path, ["de", "en"], ['"a', "b"], ["c", 'd"'])
    assert load_bitext(path).sentences == {"de": ['"a', "c"], "en": ["b", 'd"']}


def test_files_that_do_not_align_are_refused(folder):
    (folder / "de.txt").write_text("eins\nzwei\n")
    with pytest.raises(DataError, match=" 2 .* de, 3 .*, 3 .* th$"):
        load_bitext(folder)


def test_a_blank_line_is_named(folder):
    (folder / "de.txt").write_text("eins\n \ndrei\n")
    with pytest.raises(DataError, match=r"\b2\b.*\bde\b"):
        load_bitext(folder)


def test_a_row_of_other_length_is_named(tmp_path):
    path = table(tmp_path, ["de", "en"], ["a", "b"], ["c"])
    with pytest.raises(DataError, match="tsv, line 3: "):
        load_bitext(path)


@pytest.mark.parametrize(
    "languages, pivot, said",
    [((), "el", r"\bel; .* de, en, th\."), (("el",), "en", r"\bel; "), (("en",), "en", "besides")],
)
def test_languages_that_are_not_there_are_refused(folder, languages, pivot, said):
    with pytest.raises(DataError, match=said):
        load_bitext(folder, languages, pivot)


@pytest.mark.parametrize("content", ["", "de\ten\n"])
def test_a_table_without_sentences_is_refused(tmp_path, content):
    (tmp_path / "a.tsv").write_text(content)
    with pytest.raises(DataError, match=r"a\.tsv: "):
        load_bitext(tmp_path / "a.tsv")


def test_a_path_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DataError, match="nowhere.tsv: "):
        load_bitext(tmp_path / "nowhere.tsv")


class Given:
    """Vectors by text."""

    name = "given"

    def __init__(self, vectors):
        self.vectors = vectors

    def encode(self, texts, role="question", progress=None):
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


def test_translations_are_looked_for_in_both_directions(folder):
    # en on the axes; eins is right, zwei nearer to three than to two, drei right: two of three found.
    # From English: one and three find theirs; two scores .2 with zwei and 0 with others.
    vectors = {"one": [1, 0, 0], "two": [0, 1, 0], "three": [0, 0, 1]}
    vectors |= {"eins": [1, 0, 0], "zwei": [0, 0.2, 0.9], "drei": [0, 0, 1]}
    # A tie counts against: หนึ่ง is as near to one as to two, and so is สอง.
    vectors |= {"หนึ่ง": [0.5, 0.5, 0], "สอง": [0.5, 0.5, 0], "สาม": [0, 0, 1]}
    ranks = retrieve(Given(vectors), load_bitext(folder))
    assert {way: {language: list(one) for language, one in of.items()} for way, of in ranks.items()} == {
        "to": {"de": [1, 2, 1], "th": [2, 2, 1]},
        "from": {"de": [1, 1, 1], "th": [2, 2, 1]},
    }
    assert accuracies(ranks) == {
        "de": {"to": pytest.approx(2 / 3), "from": 1},
        "th": {"to": pytest.approx(1 / 3), "from": pytest.approx(1 / 3)},
    }


def test_vectors_that_are_no_numbers_are_refused(folder):
    vectors = {word: [np.inf if word == "zwei" else 1.0] for lines in LINES.values() for word in lines}
    with pytest.raises(EncoderError, match="^given: 1 .* 3 .* 1; "):
        retrieve(Given(vectors), load_bitext(folder))
