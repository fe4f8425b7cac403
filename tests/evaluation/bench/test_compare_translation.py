from pathlib import Path

import pytest

from distill.data.dataset import Question
from distill.errors import DataError, InputError
from distill.evaluation.bench.compare import translated_specs, translation_settings
from distill.evaluation.bench.process import ROOT, Worker, WorkerSpec
from distill.evaluation.bench.worker import size_on_disk


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
