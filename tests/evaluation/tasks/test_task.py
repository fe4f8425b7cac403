import re
from pathlib import Path

import pytest

from distill.commands.measure import compare, evaluate
from distill.errors import DataError, InputError
from distill.evaluation.tasks.task import Task, TaskOptions, load_tasks, task_class, tasks_with_option
from distill.papers.bias.analyses import Samples
from distill.settings.choices import TASKS
from distill.settings.sections import DataSettings


@pytest.fixture
def data(sentence_data):
    return DataSettings(dataset=str(sentence_data))


def test_tasks_take_the_settings_data_of_a_split_or_all_or_their_own(data, sentence_data, sample_folder, tmp_path):
    (tmp_path / "a.tsv").write_text("de\ten\neins\tone\n")
    requested = [("lareqa", None), ("retrieval", str(sample_folder)), ("bitext", str(tmp_path / "a.tsv"))]
    lareqa, retrieval, bitext = load_tasks(requested, TaskOptions(data))
    assert lareqa.pool.name == sentence_data.name and lareqa.pool.count(lareqa.pool.asked_in) == {"de": 4, "en": 4}
    assert retrieval.dataset.name == "sample" and retrieval.units == ("document", "passage", "maxp", "document-sum")
    assert bitext.bitext.name == f"{tmp_path.name}/a"
    (task,) = load_tasks([("retrieval", None)], TaskOptions(data, "all"))
    assert len(task.dataset.select("de", "all")) == 12


@pytest.mark.parametrize("names", [("retrieval", "lareqa"), ("lareqa", "retrieval")])
def test_a_tasks_own_data_is_no_other_tasks(data, sample_folder, names):
    requested = [(name, str(sample_folder) if name == "retrieval" else None) for name in names]
    loaded = {task.name: task for task in load_tasks(requested, TaskOptions(data))}
    assert loaded["retrieval"].dataset.name == "sample" and loaded["lareqa"].pool.name == "answers"


def test_a_split_that_is_not_there_is_refused_and_data_without_sentences_by_lareqa_alone(data, sample_folder):
    for name in ("retrieval", "lareqa"):
        with pytest.raises(InputError, match=r"\btest;.*train.*all"):
            load_tasks([(name, None)], TaskOptions(data, "test"))
    load_tasks([("retrieval", str(sample_folder))], TaskOptions(data))
    with pytest.raises(DataError, match=f"^{sample_folder}: "):
        load_tasks([("lareqa", str(sample_folder))], TaskOptions(data))


def test_words_are_counted_in_passages_alone(data):
    with pytest.raises(InputError, match="^r@2kt .* retrieval "):
        load_tasks([("lareqa", None)], TaskOptions(data, metrics=("p@1", "r@2kt")))
    (task,) = load_tasks([("retrieval", None)], TaskOptions(data, metrics=("p@1", "r@2kt")))
    assert (task.ranked, task.recalls) == (("p@1",), ("r@2kt",))


def test_sizes_are_the_texts_that_are_encoded_and_the_number_of_tests_is_known_before(data, tmp_path):
    """Six articles, twelve paragraphs, 72 sentences, 36 of the documents' language, and four questions a language."""
    (tmp_path / "a.tsv").write_text("de\ten\tth\neins\tone\t1\n")
    requested = [("lareqa", None), ("retrieval", None), ("bitext", str(tmp_path / "a.tsv"))]
    lareqa, retrieval, bitext = load_tasks(requested, TaskOptions(data))
    assert (lareqa.size, retrieval.size, bitext.size) == (72 + 8, 6 + 12 + 36 + 8, 3)
    tasks = load_tasks(requested, TaskOptions(data, units=("maxp", "passage")))
    assert [task.tests for task in tasks] == [2, 4, 4]


def test_each_language_of_a_pool_needs_a_sample(data):
    texts = {"de": ["a", "b"], "en": ["c"], "th": ["d"]}
    [task] = load_tasks([("lareqa", None)], TaskOptions(data, samples=Samples("news", texts)))
    assert task.samples.texts == {"de": ["a", "b"], "en": ["c"]} and task.size == 72 + 8 + 3
    del texts["de"]
    with pytest.raises(InputError, match="^--corpus .*de; "):
        load_tasks([("lareqa", None)], TaskOptions(data, samples=Samples("news", texts)))


ROOT = Path(__file__).resolve().parents[3]


def test_each_task_is_a_module_in_the_one_list_with_the_commands_options_and_in_documents_and_help():
    rooms = ("evaluation/tasks", "papers/tasks")
    files = (path for room in rooms for path in (ROOT / "distill" / room).glob("*.py"))
    assert {path.stem for path in files if "\nTASK = " in path.read_text(encoding="utf-8")} == set(TASKS)
    assert tasks_with_option("corpus") == ["lareqa", "classification"]
    assert tasks_with_option("split") == ["retrieval", "lareqa", "answerable", "classification", "reading"]
    docs = (ROOT / "docs" / "lareqa.md").read_text(encoding="utf-8")
    parameters = {option.name for command in (evaluate, compare) for option in command.params}
    for name in TASKS:
        assert issubclass(task_class(name), Task) and task_class(name).name == name
        assert set(task_class(name).takes) <= parameters
        assert re.search(rf"\b{name}\b", docs) and re.search(rf"\n +{name}  ", evaluate.help)
