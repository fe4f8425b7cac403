"""`distill run --teacher-model` on text without questions."""

import shutil

import numpy as np
import pytest
from fixtures.folders import names

from distill.cli import main
from distill.data.loading import load_dataset, read_dataset
from distill.data.parallel import Parallel, make_labelled_text, read_parallel, select_languages
from distill.encoders.catalog.loading import load_encoder
from distill.encoders.encoder import KerasEncoder
from distill.errors import DataError, EncoderError
from distill.jobs.adapting.lines import HeldLines, hold_out_lines, named_lines, write_lines
from distill.jobs.pipeline.fixed_teacher import require_apart
from distill.settings.store import load_settings
from distill.system.input_files import read_jsonl

FLAGS = ["--epochs", "2", "--allow-weak-teacher", "--set", "student.lines_a_step=32"]


def sentences(sample, language="en", count=60):
    """Different lines of the sample's questions in a language."""
    return [question.text for question in sample.questions[language].values()][:count]


@pytest.fixture(scope="module")
def table(sample, tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "en-de.tsv"
    rows = zip(sentences(sample), sentences(sample, "de"), strict=True)
    path.write_text("en\tde\n" + "".join(f"{english}\t{german}\n" for english, german in rows), encoding="utf-8")
    return path


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main(["run", *map(str, arguments)])
    return left.value.code


@pytest.fixture(scope="module")
def held(table):
    return hold_out_lines(read_parallel([table], "en"), [], "en")


def test_a_line_asks_for_its_translation_and_its_first_half_for_its_second(held, table):
    data, translations = held.dataset, {}
    for source in read_parallel([table], "en"):
        translations |= dict(zip(source.texts, source.pivots, strict=True))
    for split in ("dev", "test"):
        german, english = (data.select(language, split) for language in ("de", "en"))
        assert len(german) == len(english) == 5
        assert all(data.passages[one.passage].text == translations[one.text] for one in german)
        assert all(f"{one.text} {data.passages[one.passage].text}" in translations for one in english)
    assert data.splits["train"] == ()


def test_nothing_that_is_held_out_is_learned(held):
    learned = {text for source in held.sources for text in (*source.texts, *source.pivots)}
    queries = {question.text for questions in held.dataset.questions.values() for question in questions.values()}
    assert learned and not learned & (queries | set(held.dataset.passage_texts))
    # Both halves of a line are of one that is not learned either.
    halves = held.dataset.questions["en"].values()
    assert not learned & {f"{one.text} {held.dataset.passages[one.passage].text}" for one in halves}


def numbered(count):
    """English sentences with their translations, no two alike and no two halves."""
    english = [f"the line that has the number {number} ends with {number}" for number in range(count)]
    return Parallel("a.tsv", 1.0, tuple(f"die Zeile {one}" for one in range(count)), ("de",) * count, tuple(english))


def test_no_two_questions_share_a_line():
    """Each German line translates two English ones: asked for both, no encoder finds more than one."""
    lines = numbered(400)
    twice = tuple(f"die Zeile {number // 2}" for number in range(400))
    data = hold_out_lines([Parallel("a.tsv", 1.0, twice, lines.languages, lines.pivots)], [], "en").dataset
    texts = [question.text for question in data.questions["de"].values()]
    assert len(texts) == len(set(texts)) > 5


@pytest.mark.parametrize(("count", "kind"), [(1000, 50), (20_000, 200), (40, 5)])
def test_both_kinds_of_questions_together_are_a_tenth_of_the_lines_in_a_split(count, kind):
    """Each kind alone took a tenth, and for both splits together 36 % of the lines were gone."""
    held = hold_out_lines([numbered(count)], [], "en")
    halves = min(kind, max(5, round(0.1 * (count - 2 * kind)) // 2))
    for split in ("dev", "test"):
        assert [len(held.dataset.select(name, split)) for name in ("de", "en")] == [kind, halves]
    assert held.given == {"de": count} and held.learned == {"de": count - 2 * kind - 2 * halves}


def test_text_without_translations_asks_by_halves_alone_in_a_tenth_of_its_lines():
    held = hold_out_lines([], make_labelled_text({"en": numbered(1000).pivots}), "en")
    assert [len(held.dataset.splits[split]) for split in ("dev", "test")] == [100, 100]
    assert (held.given, held.learned) == ({"en": 1000}, {"en": 800})


def test_lines_are_written_as_a_data_set_and_as_text_to_learn(held, tmp_path):
    labelled = tuple(make_labelled_text({"fr": ["un", "deux"]}))
    whole = HeldLines(held.dataset, (*held.sources, *held.sources), labelled)
    write_lines(whole, tmp_path / "lines")
    parallel, text = named_lines(whole, tmp_path / "lines")
    for source, other in zip(whole.sources, read_parallel(parallel, "en"), strict=True):
        pairs, others = (set(zip(one.texts, one.languages, one.pivots, strict=True)) for one in (source, other))
        assert pairs == others
    assert [row for _, row in read_jsonl(text[0])] == [{"text": t, "language": "fr"} for t in ("un", "deux")]
    stored = read_dataset(tmp_path / "lines")
    assert stored.splits == held.dataset.splits and stored.passage_texts == held.dataset.passage_texts


def test_text_without_translations_and_without_blanks_asks_by_halves():
    chinese = [f"{chr(0x4E00 + number)}" * 8 + f"{chr(0x5E00 + number)}" * 8 for number in range(40)]
    data = hold_out_lines([], make_labelled_text({"zh": chinese}), "zh").dataset
    assert data.languages == ("zh",) and [len(data.splits[split]) for split in ("dev", "test")] == [5, 5]
    for question in data.questions["zh"].values():
        assert question.text + data.passages[question.passage].text in chinese


def test_a_language_of_few_lines_is_refused():
    one = Parallel("a.tsv", 1.0, ("ein Satz",), ("de",), ("a sentence",))
    with pytest.raises(DataError, match=" de,"):
        hold_out_lines([one], [], "en")


def test_text_of_ones_own_in_the_folder_that_lines_go_to_stays(table, tmp_path):
    """It was removed with what a run leaves that does not begin."""
    text = tmp_path / "edge" / "lines" / "en-de.tsv"
    text.parent.mkdir(parents=True)
    shutil.copy(table, text)
    given = ["--teacher-model", "multi12-static", "--base", "multi12-static", "--parallel", text]
    assert run(*given, "--output", tmp_path / "edge") == 2
    assert text.read_bytes() == table.read_bytes()


def stop(*_, **__):
    raise KeyboardInterrupt


def test_a_student_learns_a_teacher_from_parallel_text_alone(
    table, transformers, slim_folder, tmp_path, monkeypatch, capsys
):
    # What follows is the same for all runs.
    monkeypatch.setattr("distill.export.artefact.export_artefact", stop)
    folder = tmp_path / "edge"
    given = ["--teacher-model", f"hf:{transformers / 'bert'}", "--base", slim_folder, "--parallel", table]
    assert run(*given, *FLAGS, "--output", folder) == 130
    said = capsys.readouterr().err
    # Of 60 lines five of each kind in each split.
    assert f"--resume {folder}" in said and said.count("20 of 60 (33 %) in") == 2
    settings = load_settings(folder / "config.toml")
    assert (settings.data.dataset, settings.recipe) == (str(folder / "lines"), "own-teacher")
    assert settings.student.parallel == (f"{folder / 'lines' / '1.en-de.jsonl'}=1",)
    data = read_dataset(folder / "lines")
    assert data.languages == ("de", "en") and not set(data.passage_texts) & set(load_dataset("sample").passage_texts)
    # German lines are nearer to the teacher's vectors of their translations than they began.
    teacher, student = load_encoder(folder / "teacher"), KerasEncoder.load(folder / "student")
    began = KerasEncoder.load(folder / "checkpoint" / "start")
    [learned] = (select_languages(source, ["de"]) for source in read_parallel(settings.student.parallel, "en"))
    labels = teacher.encode(learned.pivots)
    before, after = (np.mean(np.sum(one.encode(learned.texts) * labels, axis=1)) for one in (began, student))
    assert after > before


@pytest.fixture
def broken(tmp_path_factory, transformers):
    """A teacher's folder without weights, and files of no line and of one."""
    folder = tmp_path_factory.mktemp("broken")
    weightless = shutil.ignore_patterns("*.safetensors")
    shutil.copytree(transformers / "bert", folder / "bare", ignore=weightless)
    (folder / "empty.txt").touch()
    (folder / "one.tsv").write_text("en\tde\nThe Nile.\tDer Nil.\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "refused",
    [
        "--parallel {table} --objectives qq,dd",
        "--parallel {table} --languages fr",
        "--parallel {table} --teacher-model hf:{broken}/bare",
        "--parallel {broken}/one.tsv",
        "--text en={broken}/empty.txt",
    ],
)
def test_what_cannot_teach_is_refused_and_nothing_is_left(refused, table, broken, slim_folder, tmp_path, capsys):
    given = ["--teacher-model", slim_folder, "--base", slim_folder, "--output", tmp_path / "edge"]
    assert run(*given, *refused.format(table=table, broken=broken).split()) == 2
    error = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(error) == 1 and names(tmp_path) == []


class Alike:
    """Nearly the same vector for every text."""

    name, dimension = "alike", 8

    def encode(self, texts, role="question", progress=None):
        return np.tile(np.eye(1, 8, dtype=np.float32), (len(texts), 1))


def test_a_teacher_that_does_not_tell_texts_apart_is_refused():
    with pytest.raises(EncoderError, match="alike"):
        require_apart(Alike(), [str(number) for number in range(8)])
