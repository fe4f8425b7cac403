"""A folder's own words on whose weights it holds, and on their licence."""

import json

import pytest

from distill.students.origin import UNKNOWN, Origin
from distill.teachers.transformer_folder import read_folder_origin

PAGE = "---\nlanguage: de\nlicense: mit\n---\n\n# A model\n\nlicense: gpl\n"
CASES = {
    "a name and a licence": ({"config.json": {"_name_or_path": "a/b"}, "README.md": PAGE}, Origin("a/b", "mit")),
    "a path": ({"config.json": {"_name_or_path": "/home/me/b"}, "README.md": PAGE}, Origin("mine", "mit")),
    "a page without a head": ({"config.json": {}, "README.md": "license: mit\n"}, Origin("mine", UNKNOWN)),
    "no page": ({"config.json": {}}, Origin("mine", UNKNOWN)),
    "what distill wrote": (
        {"config.json": {}, "README.md": PAGE, "card.json": {"derives_from": "theirs", "licence": "MIT"}},
        Origin("theirs", "MIT"),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_folder_says_whose_it_is(case, tmp_path):
    files, expected = case
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    assert read_folder_origin(folder) == expected
