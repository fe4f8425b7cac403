"""`distill init`: what a folder has and lacks, and the config that is written into it."""

import json

import pytest
import tomlkit
from fixtures.data import squad, write_lines, write_squad

from distill.encoders.catalog.setting_files import named_paths
from distill.jobs.pipeline.preparing import read_inputs
from distill.jobs.pipeline.resuming import hash_sources
from distill.settings.store import load_settings

TOPICS = ("river", "castle", "falcon", "violin", "comet", "harbour", "garden", "market", "bridge", "tower")
IDS = [f"{topic}-{n}" for topic in TOPICS for n in range(3)]


def articles(language, ids=IDS):
    """An article a topic, of three questions at most."""
    paragraphs = {
        topic: (f"The {topic} is old.", {id: f"{language}: {id}?" for id in ids if id.startswith(topic)})
        for topic in TOPICS
    }
    return squad([(topic, [paragraph]) for topic, paragraph in paragraphs.items()])


@pytest.fixture
def folder(tmp_path):
    """English, German and Greek, the last with a train question alone; parallel text of two; a blank in the name."""
    place = tmp_path / "own data"
    place.mkdir()
    write_squad(place, en=articles("en"), de=articles("de"), el=articles("el", IDS[:1]))
    (place / "splits.json").write_text(json.dumps({"train": IDS[:20], "dev": IDS[20:]}), encoding="utf-8")
    (place / "text.tsv").write_text("en\tde\nThe Nile.\tDer Nil.\nA bird.\tEin Vogel.\n", encoding="utf-8")
    (place / "notes.tsv").write_text("a note\n", encoding="utf-8")
    return place


def rows(out):
    return {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.split()[0] in ("en", "de", "el")}


def test_what_is_there_and_what_is_missing_is_said_a_line_each(distill, folder):
    left = distill("init", folder)
    assert left.code == 0 and left.err == ""
    assert left.out.startswith("own data: 10 documents, 10 passages, in en\n")
    # Train, dev, test, and lines of parallel text.
    assert rows(left.out) == {"en": ["20", "10", "0", "2"], "de": ["20", "10", "0", "2"], "el": ["1", "0", "0", "0"]}
    assert "text.tsv: " in left.out and f"left out: {folder / 'notes.tsv'}: " in left.out
    lacks = [line for line in left.out.splitlines() if line.startswith("missing: ")]
    named = (
        "dev questions in el:",
        "test",
        "el 1",
        "answers",
        "parallel text in el:",
        "descriptions.jsonl:",
    )
    assert len(lacks) == len(named)
    assert all(words in line for words, line in zip(named, lacks, strict=True))


def test_the_config_is_what_a_run_takes_without_a_language_that_has_no_dev(distill, folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    left = distill("init", "own data")
    assert left.out.splitlines()[-1].endswith("distill run --config 'own data/distill.toml' --languages de,en")
    path = folder / "distill.toml"
    text = path.read_text(encoding="utf-8")
    assert tomlkit.parse(text).unwrap() == {
        "recipe": "default",
        "data": {"dataset": str(folder), "document_language": "en", "languages": ["de", "el", "en"]},
        "teacher": {"language": "en"},
        "student": {"parallel": [str(folder / "text.tsv")]},
    }
    monkeypatch.chdir(folder)
    settings = load_settings(path)
    settings.data.languages = ("de", "en")
    inputs = read_inputs(settings)
    assert inputs.languages == ("en", "de") and [len(source.texts) for source in inputs.sources] == [4]


def test_a_data_sets_own_text_is_read_by_its_name(distill, folder):
    (folder / "el.json").unlink()
    (folder / "parallel.tsv").write_text("en\tde\nA fish.\tEin Fisch.\n", encoding="utf-8")
    lines = [{"passage": "0-0", "en": "An old river", "de": "Ein alter Fluss"}, {"passage": "9-0", "de": "Ein Turm"}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "descriptions.jsonl").write_text(text, encoding="utf-8")
    left = distill("init", folder)
    assert "descriptions.jsonl: 3 " in left.out and "missing: descriptions.jsonl" not in left.out
    assert rows(left.out)["de"] == ["20", "10", "0", "3"]
    settings = load_settings(folder / "distill.toml")
    assert settings.student.own_text and settings.student.parallel == (str(folder / "text.tsv"),)
    written = tomlkit.parse((folder / "distill.toml").read_text(encoding="utf-8")).unwrap()
    assert written["student"] == {"own_text": True, "parallel": [str(folder / "text.tsv")]}
    inputs = read_inputs(settings)
    assert [len(source.texts) for source in inputs.sources] == [4, 2]
    train = [question.text for question in inputs.described.select("de", "train")]
    assert train[20:] == ["Ein alter Fluss", "Ein Turm"] and len(inputs.dataset.select("de", "train")) == 20
    assert set(hash_sources(named_paths(settings))) >= {
        f"student.own_text {folder / name}" for name in ("parallel.tsv", "descriptions.jsonl")
    }


def test_own_text_that_cannot_be_read_is_refused(refused, folder):
    (folder / "parallel.tsv").write_text("a note\n", encoding="utf-8")
    assert str(folder / "parallel.tsv") in refused("init", folder)


def test_jsonl_in_another_language_is_taken_too(distill, tmp_path):
    folder = tmp_path / "lines"
    folder.mkdir()
    documents = [{"id": topic, "passages": [f"{topic} ist alt."]} for topic in TOPICS]
    questions = [{"id": t, "language": "de", "text": f"{t}?", "passage": f"{t}/0", "answer": "alt"} for t in TOPICS]
    write_lines(folder, documents, questions)
    left = distill("init", folder, "--document-language", "de")
    assert left.code == 0 and rows(left.out) == {"de": ["7", "1", "2", "0"]}
    assert left.out.splitlines()[-1].endswith(f"distill run --config {folder / 'distill.toml'}")
    settings = load_settings(folder / "distill.toml")
    assert (settings.data.document_language, settings.teacher.language, settings.student.parallel) == ("de", "de", ())


def test_data_that_a_run_would_refuse_are_measured_by_the_command_that_is_named(distill, tmp_path, monkeypatch):
    folder = tmp_path / "few"
    folder.mkdir()
    questions = [{"id": t, "language": "de", "text": f"{t}?", "passage": f"{t}/0"} for t in TOPICS[:1]]
    write_lines(folder, [{"id": topic, "passages": [f"{topic} ist alt."]} for topic in TOPICS], questions)
    monkeypatch.chdir(tmp_path)
    last = distill("init", "few", "--document-language", "de").out.splitlines()[-1]
    assert distill("run", "--config", "few/distill.toml").code == 2
    words = last.partition("next: distill ")[2].replace("multi12-transformer multi12-six", "multi12-static").split()
    measured = distill(*words, "--metric", "p@1")
    assert measured.code == 0 and "questions │ 1" in " ".join(measured.out.replace("│", " │ ").split())


def test_the_documents_that_an_index_takes_are_taken_too(distill, tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    documents = [{"id": number, "title": topic, "text": f"The {topic} is old."} for number, topic in enumerate(TOPICS)]
    questions = [{"id": n, "language": "en", "text": f"{t}?", "passage": n} for n, t in enumerate(TOPICS)]
    write_lines(folder, documents, questions)
    (folder / "._text.tsv").write_bytes(b"\x00\x05\x16\x07\xb0")
    left = distill("init", folder)
    assert left.code == 0 and rows(left.out) == {"en": ["7", "1", "2", "0"]} and "._text" not in left.out
    assert left.out.startswith("texts: 10 documents, 10 passages, in en\n")


@pytest.fixture
def articles_of_many_files(tmp_path):
    """Ten documents: text files, one of two passages, and a table whose columns have names of their own."""
    place = tmp_path / "articles"
    place.mkdir()
    for topic in TOPICS[:8]:
        (place / f"{topic}.txt").write_text(f"The {topic} is old.", encoding="utf-8")
    (place / "river.txt").write_text(f"{'The mill is wet. ' * 50}\n\n{'A bear eats fish. ' * 50}", encoding="utf-8")
    rows = "".join(f"{topic},The {topic} is old.\n" for topic in TOPICS[8:])
    (place / "more.csv").write_text(f"key,body\n{rows}", encoding="utf-8")
    return place


def ask(tmp_path, *rows):
    path = tmp_path / "questions.csv"
    path.write_text("\n".join(["question,language,article", *rows]) + "\n", encoding="utf-8")
    return path


def test_documents_of_many_files_and_a_table_of_questions_become_a_data_set(distill, tmp_path, articles_of_many_files):
    rows_of_topics = [f"Which {topic}?,en,{topic}{'.txt' * (n in (1, 3))}" for n, topic in enumerate(TOPICS[1:])]
    path = ask(tmp_path, "What does a bear eat?,en,river", *rows_of_topics, "Welcher Turm?,de,tower", "Why?,en,")
    files = ("--documents", articles_of_many_files, "--questions", path)
    left = distill("init", tmp_path / "own", *files, "--text-field", "body", "--id-field", "key")
    assert left.code == 0 and rows(left.out) == {"en": ["7", "1", "2", "0"], "de": ["1", "0", "0", "0"]}
    said, guessed, *_ = left.out.splitlines()
    assert said.startswith(f"{path}: ") and said.endswith(": 1")
    assert guessed.partition(";")[0].endswith(": 1")
    questions = [json.loads(line) for line in (tmp_path / "own" / "questions.jsonl").read_text().splitlines()]
    river = (articles_of_many_files / "river.txt").as_posix()
    assert questions[0]["passage"] == f"{river}/1"
    assert questions[-1] == {"id": "11", "language": "de", "text": "Welcher Turm?", "passage": "tower"}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("Which?,en,nowhere", "'nowhere'"),
        ("Which?,,river", "line 2"),
        ("Which?,de,river", "found de"),
        ("Which?,en,", "none"),
    ],
)
def test_a_question_of_no_document_or_language_is_refused(refused, tmp_path, articles_of_many_files, row, said):
    path = ask(tmp_path, row)
    files = ("--documents", articles_of_many_files / "river.txt", "--questions", path)
    assert said in refused("init", tmp_path / "own", *files)


def test_rows_of_one_id_have_one_passage_and_a_table_that_is_no_data_set_leaves_no_file(
    distill, refused, tmp_path, articles_of_many_files
):
    path, place = tmp_path / "questions.csv", tmp_path / "data"
    files = ("--documents", articles_of_many_files, "--text-field", "body", "--questions", path)
    rows = ["a,What does a bear eat?,en,river,", "a,Wie ist die Mühle?,de,river,", "b,What is wet?,en,river,a fish"]

    def write(*more):
        path.write_text("\n".join(["id,question,language,article,answer", *rows, *more]) + "\n", encoding="utf-8")

    for more in ("a,What is wet?,en,river,", "a,¿Cuál?,es,castle,"):
        write(more)
        assert f"{path}: question a " in refused("init", place, *files) and not place.exists()
    write()
    assert distill("init", place, *files).code == 0
    passages = [json.loads(line)["passage"] for line in (place / "questions.jsonl").read_text().splitlines()]
    # Each alone has another, and no passage says "a fish".
    assert passages[0] == passages[1] and passages[2].endswith("/0")


def test_questions_in_languages_that_the_documents_do_not_have_are_counted(distill, tmp_path):
    article = squad([("Bread", [("It is of flour.", {"1": "Mistä?"})])])
    article["data"][0]["paragraphs"][0]["qas"][0]["lang"] = "fi"
    (tmp_path / "gp_squad_dev_data.json").write_text(json.dumps(article), encoding="utf-8")
    left = distill("init", tmp_path)
    assert left.code == 0


def test_documents_need_their_questions_and_a_place_of_their_own(refused, tmp_path, articles_of_many_files):
    assert "--questions" in refused("init", tmp_path / "own", "--documents", articles_of_many_files)
    write_lines(tmp_path, [{"id": 1, "text": "One."}], [])
    path = ask(tmp_path, "Which river?,en,river")
    said = refused("init", tmp_path, "--documents", articles_of_many_files, "--questions", path)
    assert "documents.jsonl" in said


def test_a_config_that_is_there_is_kept_unless_told_otherwise(distill, refused, folder):
    (folder / "distill.toml").write_text("seed = 3\n", encoding="utf-8")
    assert "distill.toml" in refused("init", folder)
    assert distill("init", folder, "--overwrite").code == 0
    for alone in (["--text-field", "body"], ["--questions", "questions.csv"]):
        assert distill("init", folder, "--overwrite", *alone).code == 2
    assert load_settings(folder / "distill.toml").recipe == "default"


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        (None, None, "nowhere"),
        ("en.txt", "text", "en.json"),
        ("en.json", '{"data": [', "en.json: invalid JSON at line 1"),
    ],
)
def test_a_folder_without_data_is_refused(refused, tmp_path, name, content, place):
    folder = tmp_path / "nowhere"
    if name:
        folder.mkdir()
        (folder / name).write_text(content, encoding="utf-8")
    assert place in refused("init", folder)


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("en-de.tsv", "en\tde\nOne.\tEins.\n", "run --teacher-model st:TEACHER --parallel {} --output student"),
        ("documents.jsonl", '{"id": "1", "title": "Nile", "text": "It flows north."}\n', "run --documents {}"),
    ],
)
def test_text_without_questions_has_a_command_of_its_own(distill, tmp_path, name, text, command):
    (tmp_path / name).write_text(text, encoding="utf-8")
    left = distill("init", tmp_path)
    assert left.code == 0 and left.out.splitlines()[-1].endswith(command.format(tmp_path / name))
    assert not (tmp_path / "distill.toml").exists()
