"""How a passage is named and shown on a terminal."""

import pytest

from distill.commands.shared.printing import print_answers
from distill.search_engine.indexing.answers import Answer, Hit


def shown(capsys, text, sentence, **fields):
    print_answers([Answer("?", [Hit(1.5, 0, 0, 0, text, sentence, fields)])], many=False)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"id": "notes/a.md", "title": "Curie", "path": "notes/a.md"}, "Curie (notes/a.md)"),
        ({"id": "notes/a.txt", "title": "a", "path": "notes/a.txt"}, "notes/a.txt"),
        ({"id": "faq.csv, line 2", "title": ""}, "faq.csv, line 2"),
        ({"id": "7", "title": "Curie"}, "Curie (7)"),
    ],
)
def test_a_result_names_its_file_or_else_its_record(capsys, fields, name):
    assert shown(capsys, "She won.", (0, 8), **fields)[0] == f"1. 1.500  {name}"


def test_a_title_is_said_once_unless_it_is_the_answer(capsys):
    text = "Curie\n\nShe won. Twice."
    assert shown(capsys, text, (7, 15), id="a", title="Curie")[1:] == ["   **She won.** Twice."]
    assert shown(capsys, text, (0, 5), id="a", title="Curie")[1] == "   **Curie** She won. Twice."
    assert shown(capsys, text, None, id="a", title="Curie")[1:] == ["   She won. Twice."]
