"""Scripts of languages, and lines in another."""

import pytest

from distill.vocabulary.languages.material import find_foreign, scripts_of_language


@pytest.mark.parametrize(
    ("language", "scripts"),
    [("fi", {"Latn"}), ("el", {"Grek"}), ("sr", {"Cyrl", "Latn"}), ("sr-Latn", {"Latn"}), ("zho_Hans", {"Hani"})],
)
def test_a_language_has_the_scripts_that_its_code_names_or_its_usual_ones(language, scripts):
    assert scripts_of_language(language) == scripts


def test_lines_in_another_script_are_counted_and_numbers_are_kept():
    lines = ["kissa", "γάτα", "42!", "кошка", "kissa on cat: γάτα", "η γάτα ja"]
    chosen = find_foreign(lines, "fi")
    assert (chosen.kept, chosen.counts) == ([0, 2, 4], {"Grek": 2, "Cyrl": 1})
