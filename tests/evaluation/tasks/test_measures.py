from dataclasses import replace

import numpy as np
import pytest

from distill.data.dataset import Dataset, Passage, Question
from distill.data.pairs import Bitext
from distill.data.pool import make_pool
from distill.encoders.catalog.loading import load_teacher
from distill.encoders.encoder import normalise_rows
from distill.errors import DataError, EncoderError, InputError
from distill.evaluation.bm25 import Bm25
from distill.evaluation.evaluate import Evaluation
from distill.evaluation.tasks.bitext import BitextRanks, BitextTask
from distill.evaluation.tasks.measures import (
    Difference,
    find_differences,
    measure_all,
    pair_scores,
    require_one_dimension,
)
from distill.evaluation.tasks.retrieval import RetrievalTask, choose_units
from distill.evaluation.tasks.task import TaskOptions, load_tasks
from distill.evaluation.translation import ParallelQuestions, TranslationFile
from distill.papers.bias.analyses import PoolVectors
from distill.papers.tasks.lareqa import LareqaTask
from distill.retrieval.exact import max_passage
from distill.retrieval.units import first_units
from distill.search_engine.indexing.building import SCORE
from distill.settings.sections import DataSettings


class Encoder:
    def __init__(self, dimension):
        self.dimension = dimension


def test_encoders_of_other_dimensions_are_named_with_both():
    require_one_dimension({"x": Encoder(3), "y": Encoder(3)})
    require_one_dimension({"x": Encoder(3)})
    with pytest.raises(EncoderError, match="x .*3.* y .*512.*--any-dimension"):
        require_one_dimension({"x": Encoder(3), "y": Encoder(512)})


def test_unless_told_otherwise_a_score_is_measured_by_which_an_index_ranks():
    options = TaskOptions(DataSettings())
    assert choose_units(options) == ("document", "passage", "maxp", f"document-{SCORE}")
    assert choose_units(replace(options, units=("maxp", "maxp"))) == ("maxp",)


@pytest.mark.parametrize(
    "lines, languages, error, said",
    [({("9", None): "x"}, (), DataError, "a.tsv: 1 ids .*'9'"), ({("9", None): "x"}, ("en",), InputError, " en, ")],
)
def test_translations_are_refused_before_anything_is_measured(
    tiny_folder, sentence_data, capsys, lines, languages, error, said
):
    data = DataSettings(dataset=str(sentence_data), languages=languages)
    tasks = load_tasks([("lareqa", None), ("retrieval", None)], TaskOptions(data))
    with pytest.raises(error, match=said):
        measure_all([str(tiny_folder)], tasks, load_teacher, TranslationFile("a.tsv", lines))
    assert "retrieval " not in capsys.readouterr().err


def test_translated_questions_have_outcomes_too(tiny_folder, sentence_data):
    tasks = load_tasks([("retrieval", None)], TaskOptions(DataSettings(dataset=str(sentence_data)), metrics=("p@1",)))
    name, source = str(tiny_folder), ParallelQuestions()
    [measured] = measure_all([name], tasks, load_teacher, source, outcomes=True)
    scores = {model: of["p@1"]["document"] for model, of in measured.as_dict()["outcomes"].items()}
    assert list(scores) == [name, f"{name}, translated"]
    assert scores[name]["en"] == scores[f"{name}, translated"]["de"]
    assert "outcomes" not in measure_all([name], tasks, load_teacher, source)[0].as_dict()


def plain(parts):
    return {
        part: {language: [list(map(str, ids)), *map(list, values)] for language, (ids, *values) in of.items()}
        for part, of in parts.items()
    }


def test_retrieval_pairs_scores_by_unit_and_language_with_the_splits_ids(sample):
    task = RetrievalTask(sample, ("de",), "dev", ("maxp",), ("r@2kt",))
    ids = [question.id for question in sample.select("de", "dev")]
    first, second = np.ones(len(ids), dtype=int), np.full(len(ids), 4)
    evaluations = [
        Evaluation("x", "dev", {"maxp": {"de": ranks}}, {"r@2kt": {"de": (["7"], [float(ranks[0] == 1)])}})
        for ranks in (first, second)
    ]
    assert plain(pair_scores(task, *evaluations, "mrr@10")) == {
        "maxp": {"de": [ids, [1] * len(ids), [0.25] * len(ids)]}
    }
    assert plain(pair_scores(task, *evaluations, "r@2kt")) == {"passage": {"de": [["7"], [1], [0]]}}


def test_lareqa_pairs_scores_by_question_language():
    texts = {"de": (["a", "b"], ["", ""], [("x", "?", [0])]), "en": (["c"], [""], [("x", "?", [0]), ("y", "?", [0])])}
    task = LareqaTask(make_pool("toys", texts), "dev")

    def ranked(*scores):
        """An encoder's vectors that give each question these scores of a, b and c."""
        return PoolVectors(task.pool, np.array(scores, np.float32), np.eye(3, dtype=np.float32), {}, "")

    # x is answered by a and c, y by c: the best right sentence is second, first, third, then first, second, first.
    first, second = ranked([2, 3, 1], [3, 1, 2], [3, 2, 1]), ranked([3, 1, 2], [2, 3, 1], [1, 1, 3])
    pairs = pair_scores(task, first, second, "mrr@10")
    expected = {"de": [["x"], [1 / 2], [1]], "en": [["x", "y"], [1, pytest.approx(1 / 3)], [1 / 2, 1]]}
    assert plain(pairs) == {"lareqa": expected}
    assert pair_scores(task, first, second, "r@2kt") == {}


def test_bitext_pairs_scores_by_direction():
    task = BitextTask(Bitext("lines", "en", {"en": ["a", "b"], "de": ["c", "d"]}))
    ranks = [BitextRanks({"de": np.array(to)}, {"de": np.array([1, 1])}) for to in ([1, 2], [2, 1])]
    assert plain(pair_scores(task, *ranks, "p@1")) == {
        "bitext to en, lines": {"de": [["1", "2"], [1, 0], [0, 1]]},
        "bitext from en, lines": {"de": [["1", "2"], [1, 1], [1, 1]]},
    }


TEXTS = [(0, "Das Haus steht am Fluss."), (0, "Bäume und Wiesen."), (1, "Eine Brücke."), (1, "Die Häuser der Stadt.")]


@pytest.fixture(scope="module")
def task():
    passages = tuple(Passage(f"p{row}", text, of) for row, (of, text) in enumerate(TEXTS))
    german = {
        "both": Question("both", "de", "Brücke", 2),
        # As it is written it is in the first passage alone, by its stem in the last as well, whose words are fewer.
        "one": Question("one", "de", "Haus", 0),
        # By its stem alone: as it is written it is nowhere.
        "other": Question("other", "de", "Baum", 1),
    }
    english = {"other": Question("other", "en", "Bäumen", 1)}
    questions = {"de": german, "en": english}
    dataset = Dataset("houses", "de", ("River", "Town"), passages, questions, {"dev": tuple(german)})
    return RetrievalTask(dataset, ("de", "en"), "dev", ("passage", "document"))


def test_each_question_that_one_alone_finds_comes_with_what_both_find_first(task):
    encoders = Bm25("bm25"), Bm25("bm25-morphology")
    results = tuple(task.measure(encoder) for encoder in encoders)
    ranks = [result.ranks["passage"]["de"].tolist() for result in results]
    assert [row[0] for row in ranks] == [1, 1] and ranks[0][2] == 4 and ranks[1][2] == 1
    every = list(find_differences(task, encoders, results))
    known = task.dataset.questions
    of_passages = [one for one in every if one.unit == "passage"]
    assert Difference("passage", known["de"]["other"], (4, 1), (0, 1)) in of_passages
    assert Difference("passage", known["en"]["other"], (4, 1), (0, 1)) in of_passages
    assert {one.question.id for one in every} <= {"one", "other"} and {one.unit for one in every} == set(task.units)


def test_a_line_has_the_texts_and_the_question_in_the_documents_language(task):
    question = task.dataset.questions["en"]["other"]
    first = {"id": "p0", "title": "River", "text": TEXTS[0][1]}
    gold = {"id": "p1", "title": "River", "text": TEXTS[1][1]}
    assert Difference("passage", question, (4, 1), (0, 1)).as_dict(task.dataset) == {
        **{"unit": "passage", "id": "other", "language": "en", "text": "Bäumen", "twin": "Baum", "only": "b"},
        **{"gold": gold, "a": {"rank": 4, "first": first}, "b": {"rank": 1, "first": gold}},
    }
    german = task.dataset.questions["de"]["one"]
    line = Difference("document", german, (1, 2), (0, 1)).as_dict(task.dataset)
    assert line["only"] == "a" and "twin" not in line
    assert line["b"]["first"] == {"title": "Town", "text": "Eine Brücke. Die Häuser der Stadt."}


@pytest.mark.parametrize("block", [2, 100])
def test_what_is_first_is_the_highest_score_in_every_unit(block):
    random = np.random.default_rng(0)
    questions, passages, sentences = (normalise_rows(random.normal(size=(n, 4))).astype(np.float32) for n in (5, 6, 9))
    document_of, passage_of = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 0, 1, 2, 2, 3, 4, 5, 5])
    vectors, whole_of = {"passage": passages, "sentence": sentences}, {"passage": document_of, "sentence": passage_of}
    by_passage = questions @ passages.T
    both = by_passage + max_passage(questions @ sentences.T, passage_of)
    for unit, scores in (("passage", by_passage), ("document-sum", max_passage(both, document_of))):
        best = first_units(unit, questions, vectors, whole_of, block)
        assert best.tolist() == scores.argmax(axis=1).tolist()
