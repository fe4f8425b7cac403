import numpy as np
import pytest

from distill.data.pairs import Bitext
from distill.data.pool import make_pool
from distill.encoders.catalog.loading import load_teacher
from distill.errors import DataError, EncoderError, InputError
from distill.evaluation.evaluate import Evaluation
from distill.evaluation.tasks.bitext import BitextRanks, BitextTask
from distill.evaluation.tasks.measures import measure_all, pair_scores, require_one_dimension
from distill.evaluation.tasks.retrieval import RetrievalTask
from distill.evaluation.tasks.task import TaskOptions, load_tasks
from distill.evaluation.translation import ParallelQuestions, TranslationFile
from distill.papers.bias.analyses import PoolVectors
from distill.papers.tasks.lareqa import LareqaTask
from distill.settings.sections import DataSettings


class Encoder:
    def __init__(self, dimension):
        self.dimension = dimension


def test_encoders_of_other_dimensions_are_named_with_both():
    require_one_dimension({"x": Encoder(3), "y": Encoder(3)})
    require_one_dimension({"x": Encoder(3)})
    with pytest.raises(EncoderError, match="x .*3.* y .*512.*--any-dimension"):
        require_one_dimension({"x": Encoder(3), "y": Encoder(512)})


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
