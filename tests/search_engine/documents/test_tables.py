"""Tables are read by the separator that their head has, and quotes by the form."""

import pytest

from distill.errors import DataError
from distill.search_engine.documents.read_documents import read_documents
from distill.search_engine.documents.records import Columns


def read(path, content):
    path.write_bytes(content.encode())
    return [(document.text, {**document.fields, "id": document.id}) for document in read_documents([path])]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_head_decides_on_the_separator(tmp_path, separator):
    other = ";" if separator == "," else ","
    content = f"\ufeffid|title|text\r\n1|T|One{other} two.\r\n".replace("|", separator)
    assert read(tmp_path / "a.csv", content) == [(f"One{other} two.", {"id": "1", "title": "T"})]


def test_a_first_line_may_name_the_separator(tmp_path):
    content = "\ufeffsep=;\r\nid;price, EUR;text\r\n1;2,5;One, two.\r\n"
    assert read(tmp_path / "a.csv", content) == [("One, two.", {"id": "1", "title": "", "price, EUR": "2,5"})]


def test_a_table_of_one_column_has_no_separator(tmp_path):
    path = tmp_path / "a.csv"
    assert [text for text, _ in read(path, 'text\n"One, two."\n\nThree; four.\n')] == ["One, two.", "Three; four."]


def test_blanks_behind_separators_belong_to_no_cell(tmp_path):
    assert read(tmp_path / "a.csv", 'id, text\n1, "One, two."\n') == [("One, two.", {"id": "1", "title": ""})]


def test_surplus_cells_that_are_blank_and_rows_that_end_early_are_taken(tmp_path):
    path = tmp_path / "a.csv"
    assert read(path, "id,text,x\n1,One.,,,\n2,Two.\n") == [
        ("One.", {"id": "1", "title": "", "x": ""}),
        ("Two.", {"id": "2", "title": "", "x": None}),
    ]


def test_rows_of_blank_cells_and_a_column_named_passages_are_a_tables_own(tmp_path):
    rows = read(tmp_path / "a.csv", "id,text,passages\n1,One.,3\n,,\n , ,\n2,Two.,\n   \n")
    assert rows == [
        ("One.", {"id": "1", "title": "", "passages": "3"}),
        ("Two.", {"id": "2", "title": "", "passages": ""}),
    ]


def test_a_blank_id_is_none(tmp_path):
    assert [row["id"] for _, row in read(tmp_path / "a.csv", "id,text\n,One.\n")] == [f"{tmp_path}/a.csv, line 2"]


def test_quotes_of_a_tsv_are_text_unless_all_of_it_is_quoted(tmp_path):
    path = tmp_path / "a.tsv"
    assert [text for text, _ in read(path, 'id\ttext\n1\t"One" two\n2\t"Three\n')] == ['"One" two', '"Three']
    assert [text for text, _ in read(path, 'id\ttext\n1\t"One ""two""\nthree"\n2\tFour\n')] == [
        'One "two"\nthree',
        "Four",
    ]
    assert [text for text, _ in read(path, 'id\ttext\n1\t"One\n2\tTwo"\n')] == ['"One', 'Two"']


def test_a_row_that_does_not_fit_leaves_its_whole_table_out(tmp_path):
    with pytest.raises(DataError, match="line 2"):
        read(tmp_path / "a.csv", "id,text\n1,One, two.\n2,Three.\n")
    with pytest.raises(DataError, match="line 2"):
        read(tmp_path / "a.csv", "id,text,,\n1,One, two.\n2,Three.\n")
    with pytest.raises(DataError, match="line 3 to 4"):
        read(tmp_path / "a.csv", 'id,text\n1,One.\n2,"Two.\n3,Three.\n')


def test_a_table_without_a_text_is_read_by_all_columns_with_letters_and_says_so(tmp_path, capsys):
    content = "id,title,rolle,telefon,language,url\n1,Kim,Hausmeister,030 1,de,http://a.b\n2,Lee,,2,,\n"
    assert [text for text, _ in read(tmp_path / "a.csv", content)] == ["Kim\nHausmeister", "Lee"]
    assert "rolle" in capsys.readouterr().err


def test_a_column_that_is_named_is_read_alone_and_has_to_be_there(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("name,rolle\nKim,Hausmeister\n", encoding="utf-8")
    assert [document.text for document in read_documents([path], Columns("rolle"))] == ["Hausmeister"]
    with pytest.raises(DataError, match="line 1"):
        list(read_documents([path], Columns("role")))
