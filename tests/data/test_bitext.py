import pytest

from distill.data.bitext import load_bitext
from distill.errors import DataError

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
