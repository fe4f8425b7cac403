"""Tables: quoted cells as other programs write them, and what ends a file."""

import csv

import pytest

from distill.data.parsing.fields import read_columns, read_table


def written(folder, text):
    path = folder / "x.tsv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ('"He said ""nine""."', 'He said "nine".'),
        ('"""Nine."""', '"Nine."'),
        ('"nine, ten"', "nine, ten"),
        ('""', ""),
        # Text as it is, which is no cell of that form.
        *((cell, cell) for cell in ('"Hello" he said', '"Hello" and "bye"', 'a "b" c', '"open', 'close"', '"', "a")),
    ],
)
def test_a_quoted_cell_is_taken_without_the_quotation_marks_of_its_form(tmp_path, cell, text):
    path = written(tmp_path, f"en\tde\n{cell}\tx\nx\t{cell}\n")
    assert read_table(path, ()) == {"en": [text, "x"], "de": ["x", text]}


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_what_pythons_csv_writes_is_read_again(tmp_path, quoting):
    rows = [["en", "de"], ['say "a"', '"b"'], ["it's", '""'], ["", "c"]]
    with open(tmp_path / "x.tsv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", quoting=quoting).writerows(rows)
    assert read_table(tmp_path / "x.tsv", ()) == {"en": ['say "a"', "it's", ""], "de": ['"b"', '""', "c"]}


def test_blanks_around_a_heading_are_none_of_it(tmp_path):
    assert read_table(written(tmp_path, "en\t de \na\tb\n"), ()) == {"en": ["a"], "de": ["b"]}


def test_blank_lines_at_the_end_are_no_rows(tmp_path):
    assert read_table(written(tmp_path, "en\tde\r\na\tb\r\n\r\n\t\r\n\r\n"), ()) == {"en": ["a"], "de": ["b"]}


def test_hidden_files_are_no_language(tmp_path):
    for name in ("en.txt", "de.txt", "._en.txt", "._de.txt"):
        (tmp_path / name).write_bytes(b"\x00\x05\x16\x07\xb0" if name[0] == "." else b"a\n")
    assert read_columns(tmp_path) == {"de": ["a"], "en": ["a"]}
