import numpy as np
import pytest

from distill.encoders.removal_fitting import RemovalOptions
from distill.errors import InputError
from distill.evaluation.tasks.task import TaskOptions
from distill.papers.bias.analyses import Samples
from distill.papers.tasks.classification import ClassificationTask
from distill.settings.sections import DataSettings

WORDS = ["red", "green", "blue"]
COLOURS = dict(zip(["rot", "grün", "blau"], WORDS, strict=True))


class Told:
    """The axis of a word, longer on the fourth in German."""

    name, dimension = "told", 4

    def encode(self, texts, role="question", progress=None):
        vectors = np.array([np.eye(4)[WORDS.index(COLOURS.get(text, text))] for text in texts], dtype=np.float32)
        vectors[:, 3] = [0.75 * (text in COLOURS) for text in texts]
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def table(tmp_path):
    lines = ["partition\tlabel\ten\tde"]
    lines += [
        f"{part}\t{english}\t{english}\t{german}" for part in ("train", "dev") for german, english in COLOURS.items()
    ]
    path = tmp_path / "colours.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_an_encoder_that_tells_words_apart_finds_all_labels_in_both_languages(table, capsys):
    task = ClassificationTask.load(str(table), TaskOptions(DataSettings(), removed=RemovalOptions((1,))))
    assert (task.size, task.tests) == (3 + 2 * 3 + 2 * 3, 2)
    result = task.measure(Told())
    (part,) = task.scores(result, "p@1").values()
    assert {language: (ids, values.tolist()) for language, (ids, values) in part.items()} == {
        "en": (["4", "5", "6"], [1, 1, 1]),
        "de": (["4", "5", "6"], [1, 1, 1]),
    }
    assert task.scores(result, "mrr@10") == {}
    figures = task.figures(result, "told")
    written = task.as_dict({"told": figures})
    assert written["encoders"]["told"]["plain"] == {"en": 1, "de": 1}
    assert (written["labels"], written["learned"], list(written["files"])) == (3, "en", ["colours.tsv"])
    assert written["sentences"] == {"en": 3, "de": 3}
    task.print({"told": figures})
    assert "100.0" in capsys.readouterr().out


def test_text_of_ones_own_has_to_be_in_every_language(table):
    with pytest.raises(InputError, match=r"--corpus .*\bde\b"):
        ClassificationTask.load(str(table), TaskOptions(DataSettings(), samples=Samples("news", {"en": ["red"]})))


@pytest.mark.parametrize("split", ["train", "all"])
def test_nothing_is_tested_on_what_was_learned(table, split):
    with pytest.raises(InputError, match=f"--split.* {split}"):
        ClassificationTask.load(str(table), TaskOptions(DataSettings(), split))
