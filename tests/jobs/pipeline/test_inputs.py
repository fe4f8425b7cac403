import json
from dataclasses import replace

import pytest

from distill.data.parallel import Parallel
from distill.errors import ConfigError, DataError, InputError
from distill.jobs.pipeline.inputs import Inputs, add_translated_questions, require_learnable
from distill.jobs.pipeline.preparing import choose_languages
from distill.settings.sections import Settings, StudentSettings, TranslationSettings
from distill.settings.store import change_settings


@pytest.fixture
def data(sample):
    """The sample, of which the first two train questions, one of dev and one of test are not asked in English."""
    removed = {*sample.splits["train"][:2], sample.splits["dev"][0], sample.splits["test"][0]}
    english = {id: question for id, question in sample.questions["en"].items() if id not in removed}
    return replace(sample, questions={**sample.questions, "en": english})


def settings(path, *lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return TranslationSettings(file=str(path))


def test_train_questions_get_a_translation_where_they_have_no_twin(data, sample, tmp_path, capsys):
    one, two = sample.splits["train"][:2]
    lines = [{"id": one, "language": "th", "text": "thai"}, {"id": one, "text": "any"}, {"id": two, "text": "two"}]
    lines += [{"id": sample.splits["dev"][0], "text": "dev"}, {"id": sample.splits["train"][2], "text": "known"}]
    options = settings(tmp_path / "t.jsonl", *lines)
    twins = add_translated_questions(options, data, "en", ("de", "en", "th"))
    added = {id: question for id, question in twins.questions["en"].items() if id not in data.questions["en"]}
    assert {id: question.text for id, question in added.items()} == {one: "any", two: "two"}
    assert all(q.passage == sample.questions["de"][id].passage and q.language == "en" for id, q in added.items())
    assert len(twins.select("en", "train")) == len(sample.select("en", "train"))
    assert twins.select("en", "dev") == data.select("en", "dev") and twins.questions["th"] == data.questions["th"]
    assert "t.jsonl: 2 of 2 " in capsys.readouterr().err
    assert add_translated_questions(options, data, "en", ("en", "th")).questions["en"][one].text == "thai"
    assert add_translated_questions(TranslationSettings(), data, "en", ("de", "en")) is data


def test_what_serves_nothing_is_refused(data, sample, tmp_path):
    one, known = sample.splits["train"][0], sample.splits["train"][2]
    unknown, needless = {"id": "nobody", "text": "a"}, {"id": known, "text": "a"}
    for lines, of, said in (
        ([unknown, {"id": one, "text": "a"}], data, "'nobody'"),
        ([needless], data, "t.jsonl: "),
        ([needless], sample, " en;"),
    ):
        with pytest.raises(InputError, match=said):
            add_translated_questions(settings(tmp_path / "t.jsonl", *lines), of, "en", ("de", "en"))
    for values in ({"file": "x", "translators": ["y"]}, {"beam": 2}):
        with pytest.raises(ConfigError, match="translation.(file|beam): "):
            change_settings(Settings(), {f"translation.{name}": value for name, value in values.items()})


def test_a_translator_translates_a_question_once(data, sample, word_translator, tmp_path):
    words = {word: "river" for question in sample.select("de", "train")[:2] for word in question.text.split()}
    folder = word_translator(words)
    options = TranslationSettings(translators=(f"de={folder}",))
    twins = add_translated_questions(options, data, "en", ("de", "en", "th"))
    texts = [twins.questions["en"][id].text for id in sample.splits["train"][:2]]
    assert all(set(text.split()) <= {"river"} or "river" in text for text in texts)


def test_where_nobody_asks_in_the_teachers_language_every_split_is_translated(sample, tmp_path):
    """As of XOR-TyDi's gold paragraphs, which have no English questions."""
    alone = replace(sample, questions={"de": sample.questions["de"], "th": sample.questions["th"]})
    ids = [id for split in sample.splits.values() for id in split]
    with pytest.raises(DataError, match="no questions in en: "):
        choose_languages(alone, "en", (), TranslationSettings())
    options = settings(tmp_path / "t.jsonl", *({"id": id, "text": f"about {id}"} for id in ids))
    languages = choose_languages(alone, "en", (), options)
    assert languages == ("en", "de", "th")
    twins = add_translated_questions(options, alone, "en", languages)
    assert {id: question.text for id, question in twins.questions["en"].items()} == {id: f"about {id}" for id in ids}
    # Of a split that is left without any nothing could be measured.
    with pytest.raises(DataError, match=r"t\.jsonl: .* test "):
        add_translated_questions(
            settings(tmp_path / "t.jsonl", *({"id": id, "text": "x"} for id in ids if id not in sample.splits["test"])),
            alone,
            "en",
            languages,
        )


def test_a_translator_that_says_nothing_is_refused(data, sample, word_translator):
    words = {word: "?" for question in sample.select("de", "train")[:2] for word in question.text.split()}
    options = TranslationSettings(translators=(str(word_translator(words)),))
    with pytest.raises(DataError, match="^words-en: "):
        add_translated_questions(options, data, "en", ("en", "de"))


def test_stage_2_needs_questions_with_a_version_in_the_teachers_language_or_objectives_of_lines(sample, capsys):
    bare = replace(sample, splits={**sample.splits, "train": ()})
    german = {f"de {id}": replace(question, id=f"de {id}") for id, question in sample.questions["de"].items()}
    train = (*sample.splits["train"], *(f"de {id}" for id in sample.splits["train"]))
    apart = replace(sample, questions={**sample.questions, "de": german}, splits={**sample.splits, "train": train})
    lines, alone = [Parallel("x", 1.0, ("Eins",), ("de",), ("One",))], StudentSettings(teacher_samples=False)
    for data, student, sources in ((bare, StudentSettings(), lines), (apart, alone, lines)):
        inputs = Inputs(data, ("en", "de"), student=student, sources=sources)
        with pytest.raises(ConfigError, match="student.objectives: "):
            require_learnable(inputs)
        of_lines = replace(inputs, student=replace(student, objectives=("qq", "translation")))
        assert require_learnable(of_lines) is of_lines
        with pytest.raises(ConfigError, match="student.lines_a_step: "):
            require_learnable(replace(of_lines, student=replace(of_lines.student, lines_a_step=0)))
        with pytest.raises(DataError, match="^sample: "):
            require_learnable(replace(of_lines, sources=()))
        assert require_learnable(replace(of_lines, sources=()), with_corpus=True)
        assert require_learnable(replace(inputs, sources=(), student=replace(student, epochs=0)))
    inputs = Inputs(apart, ("en", "de"), student=StudentSettings())
    capsys.readouterr()
    assert require_learnable(replace(inputs, sources=lines)) and not capsys.readouterr().err
    # Of German, of which the student learns nothing.
    assert require_learnable(inputs) and "de has" in capsys.readouterr().err
