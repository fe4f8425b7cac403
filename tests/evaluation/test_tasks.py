import numpy as np
import pytest

from distill.data.bitext import Bitext
from distill.data.pool import pool_of
from distill.errors import DataError, InputError
from distill.evaluation.evaluate import Evaluation
from distill.evaluation.tasks import BitextTask, LareqaTask, RetrievalTask, load_tasks, paired
from distill.settings.sections import Settings


@pytest.fixture
def settings(sentence_data):
    made = Settings()
    made.data.dataset = str(sentence_data)
    return made


def test_tasks_take_the_settings_data_or_their_own(settings, sentence_data, tmp_path):
    (tmp_path / "a.tsv").write_text("de\ten\neins\tone\n")
    asked = [("lareqa", None), ("retrieval", "sample"), ("bitext", str(tmp_path / "a.tsv"))]
    lareqa, retrieval, bitext = load_tasks(asked, settings, "dev")
    assert lareqa.pool.name == sentence_data.name and lareqa.pool.count(lareqa.pool.asked_in) == {"de": 4, "en": 4}
    assert retrieval.dataset.name == "sample" and retrieval.units == ("document", "passage", "maxp")
    assert bitext.bitext.name == f"{tmp_path.name}/a"


@pytest.mark.parametrize("names", [("retrieval", "lareqa"), ("lareqa", "retrieval")])
def test_a_tasks_own_data_is_no_other_tasks(settings, names):
    asked = [(name, "sample" if name == "retrieval" else None) for name in names]
    found = {task.name: task for task in load_tasks(asked, settings, "dev")}
    assert found["retrieval"].dataset.name == "sample" and found["lareqa"].pool.name == "answers"


def test_the_number_of_tests_is_known_before_anything_is_encoded(settings, tmp_path):
    (tmp_path / "a.tsv").write_text("de\ten\tth\neins\tone\t1\n")
    asked = [("retrieval", None), ("lareqa", None), ("bitext", str(tmp_path / "a.tsv"))]
    assert [task.tests for task in load_tasks(asked, settings, "dev", ("maxp", "passage"))] == [4, 2, 4]


def test_a_split_that_is_not_there_is_refused(settings):
    for name in ("retrieval", "lareqa"):
        with pytest.raises(InputError, match="has no split test; it has train, dev, (and )?all"):
            load_tasks([(name, None)], settings, "test")


def test_all_are_the_questions_of_all_languages(settings):
    (task,) = load_tasks([("retrieval", None)], settings, "all")
    assert len(task.dataset.select("de", "all")) == 12


def test_data_without_sentences_is_refused_by_lareqa_alone(settings):
    load_tasks([("retrieval", "sample")], settings, "dev")
    with pytest.raises(DataError, match="no file of any language"):
        load_tasks([("lareqa", "sample")], settings, "dev")


def test_words_are_counted_in_passages_alone(settings):
    with pytest.raises(InputError, match="r@2kt counts the words of passages: it is of the task retrieval alone"):
        load_tasks([("lareqa", None)], settings, "dev", metrics=("p@1", "r@2kt"))
    (task,) = load_tasks([("retrieval", None)], settings, "dev", metrics=("p@1", "r@2kt"))
    assert task.recalls == ("r@2kt",)


def plain(parts):
    return {
        part: {language: [list(map(str, ids)), *map(list, values)] for language, (ids, *values) in of.items()}
        for part, of in parts.items()
    }


def test_retrieval_pairs_scores_by_unit_and_language_with_the_splits_ids(sample):
    task = RetrievalTask(sample, ("de",), "dev", ("maxp",), ("r@2kt",))
    ids = [question.id for question in sample.select("de", "dev")]
    first, second = np.ones(len(ids), dtype=int), np.full(len(ids), 4)
    found = [
        Evaluation("x", "dev", {"maxp": {"de": ranks}}, {"r@2kt": {"de": (["7"], [float(ranks[0] == 1)])}})
        for ranks in (first, second)
    ]
    assert plain(paired(task, *found, "mrr@10")) == {"maxp": {"de": [ids, [1] * len(ids), [0.25] * len(ids)]}}
    assert plain(paired(task, *found, "r@2kt")) == {"passage": {"de": [["7"], [1], [0]]}}


def test_lareqa_pairs_scores_by_question_language():
    texts = {"de": (["a", "b"], ["", ""], [("x", "?", [0])]), "en": (["c"], [""], [("x", "?", [0]), ("y", "?", [0])])}
    task = LareqaTask(pool_of("toys", texts), "dev")

    class Found:
        def __init__(self, values):
            self.values = np.array(values)

        def scores(self, metric):
            return self.values

    found = paired(task, Found([0.5, 0.25, 1]), Found([1, 0, 0]), "map")
    assert plain(found) == {"lareqa": {"de": [["x"], [0.5], [1]], "en": [["x", "y"], [0.25, 1], [0, 0]]}}
    assert paired(task, Found([1, 1, 1]), Found([1, 1, 1]), "r@2kt") == {}


def test_bitext_pairs_scores_by_direction():
    task = BitextTask(Bitext("lines", "en", {"en": ["a", "b"], "de": ["c", "d"]}))
    ranks = [{"to": {"de": np.array(to)}, "from": {"de": np.array([1, 1])}} for to in ([1, 2], [2, 1])]
    assert plain(paired(task, *ranks, "p@1")) == {
        "bitext to en, lines": {"de": [["1", "2"], [1, 0], [0, 1]]},
        "bitext from en, lines": {"de": [["1", "2"], [1, 1], [1, 1]]},
    }


def test_sizes_are_the_texts_that_are_encoded(settings, tmp_path):
    """12 documents and passages... six articles, twelve paragraphs, 72 sentences, four questions a language."""
    (tmp_path / "a.tsv").write_text("de\ten\tth\neins\tone\t1\n")
    lareqa, retrieval, bitext = load_tasks(
        [("lareqa", None), ("retrieval", None), ("bitext", str(tmp_path / "a.tsv"))], settings, "dev"
    )
    assert (lareqa.size, retrieval.size, bitext.size) == (72 + 8, 6 + 12 + 8, 3)
