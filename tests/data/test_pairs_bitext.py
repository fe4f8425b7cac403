import pytest

from distill.data.pairs import load_bitext
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


def test_a_folder_of_aligned_files_of_which_languages_and_pivot_are_chosen(folder):
    bitext = load_bitext(folder)
    assert bitext.sentences == LINES
    assert (bitext.pivot, bitext.languages, bitext.size) == ("en", ("de", "th"), 3)
    bitext = load_bitext(folder, ["de"], pivot="th")
    assert bitext.sentences == {"de": LINES["de"], "th": LINES["th"]}
    assert bitext.languages == ("de",)


def test_a_table_has_languages_in_its_columns(tmp_path):
    """Columns that are not headed by a code are no language unless they are named, nor are numbers."""
    path = table(tmp_path, ["n", "url", "en", "pt-BR", "zho_Hans", "fin"], ["0", "http://a", "a", "b", "c", "d"])
    assert load_bitext(path).sentences == {"en": ["a"], "pt-BR": ["b"], "zho_Hans": ["c"]}
    assert load_bitext(path, ["fin"]).sentences == {"en": ["a"], "fin": ["d"]}
    path = table(tmp_path, ["id", "de", "en"], ["0", '"a', "b"], ["1", "c", 'd"'])
    assert load_bitext(path).sentences == {"de": ['"a', "c"], "en": ["b", 'd"']}
    assert list(load_bitext(path, ["id"]).sentences) == ["en", "id"]


@pytest.mark.parametrize(
    "rows, place",
    [
        ([["de", "en", "de"], ["a", "b", "c"]], "dev.tsv: .* de "),
        ([["de", "en"], ["a", "b"], ["c"]], "dev.tsv, line 3: "),
        ([["de", "en"]], "dev.tsv: "),
        ([[""]], "dev.tsv: "),
    ],
)
def test_a_table_that_is_wrong_is_refused(tmp_path, rows, place):
    with pytest.raises(DataError, match=place):
        load_bitext(table(tmp_path, *rows))
    with pytest.raises(DataError, match="nowhere.tsv: "):
        load_bitext(tmp_path / "nowhere.tsv")


@pytest.mark.parametrize(
    "text, place", [("eins\nzwei\n", " 2 .* de, 3 .*, 3 .* th$"), ("eins\n \ndrei", r"\b2\b.*\bde\b")]
)
def test_files_that_do_not_align_or_have_a_blank_line_are_refused(folder, text, place):
    (folder / "de.txt").write_text(text)
    with pytest.raises(DataError, match=place):
        load_bitext(folder)


@pytest.mark.parametrize(
    "languages, pivot, said",
    [((), "el", r"\bel; .* de, en, th\."), (("el",), "en", r"\bel; "), (("en",), "en", "besides")],
)
def test_languages_that_are_not_there_are_refused(folder, languages, pivot, said):
    with pytest.raises(DataError, match=said):
        load_bitext(folder, languages, pivot)
