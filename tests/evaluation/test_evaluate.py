from dataclasses import replace

import numpy as np
import pytest

from distill.data.dataset import Dataset, Passage, Question
from distill.errors import EncoderError, InputError
from distill.evaluation.evaluate import (
    Evaluation,
    QueryNoise,
    count_noisy_questions,
    count_texts,
    encode_units,
    evaluate,
    languages_of_head,
    units_to_encode,
)

# Document A has two passages that point elsewhere than their joined text.
VECTORS = {
    "a0": (1, 0, 0),
    "a1": (0, 1, 0),
    "b0": (0, 0, 1),
    "c0": (0.6, 0.8, 0),
    "a0 a1": (0, 0.6, 0.8),
    "x?": (1, 0, 0),
    "y?": (0, 1, 0),
    "z?": (0, 0, 1),
    "sealed?": (0, -1, 0),
}


class Toy:
    """A fixed vector for each text; remembers its calls."""

    name, dimension = "toy", 3

    def __init__(self):
        self.calls = []

    def encode(self, texts, role="question", progress=None):
        self.calls.append((role, list(texts)))
        if progress:
            progress(len(texts))
        return np.array([VECTORS[text] for text in texts], dtype=np.float32)


@pytest.fixture
def toy():
    return Toy()


@pytest.fixture
def dataset():
    """Three questions in English, the first of them in German too, and one of another split."""
    english = [("1", "x?", 0), ("2", "y?", 0), ("3", "z?", 2), ("4", "sealed?", 3)]
    return Dataset(
        name="toys",
        document_language="en",
        titles=("A", "B", "C"),
        passages=(Passage("0", "a0", 0), Passage("1", "a1", 0), Passage("2", "b0", 1), Passage("3", "c0", 2)),
        questions={
            "en": {id: Question(id, "en", text, passage) for id, text, passage in english},
            "de": {"1": Question("1", "de", "z?", 0)},
        },
        splits={"dev": ["3", "1", "2"], "test": ["4"]},
    )


def test_ranks_and_metrics_by_unit_alone_or_among_others(toy, dataset):
    evaluation = evaluate(toy, dataset, "dev", ["en"])
    assert (evaluation.encoder, evaluation.split) == ("toy", "dev")
    # In the split's order z? finds b0; x? finds a0; y? gives a0 0, as b0, behind a1 and c0.
    assert evaluation.ranks["passage"]["en"].tolist() == [1, 1, 4]
    table = {unit: values["en"] for unit, values in evaluation.table().items()}
    assert table["passage"]["p@1"] == pytest.approx(2 / 3)
    assert table["maxp"]["p@1"] == 1.0  # y? finds document A by its other passage
    assert table["document"]["p@1"] == pytest.approx(1 / 3)  # ranks 1, 3, 2
    assert table["passage"]["mrr@10"] == pytest.approx((1 + 1 + 1 / 4) / 3)
    assert table["document"]["mrr@10"] == pytest.approx((1 + 1 / 3 + 1 / 2) / 3)
    for unit in ("document", "passage", "maxp"):
        alone = evaluate(toy, dataset, "dev", ["en"], [unit])
        assert list(alone.ranks) == [unit]
        assert alone.ranks[unit]["en"].tolist() == evaluation.ranks[unit]["en"].tolist()


def test_each_language_has_its_own_questions_roles_and_the_same_weight(toy, dataset):
    evaluation = evaluate(toy, dataset, "dev", ["en", "de"])
    # z? for a0: passage b0 is nearer and all others equal; document A is second after B; by MaxP it ties with C.
    ranks = {unit: ranks["de"].tolist() for unit, ranks in evaluation.ranks.items()}
    assert ranks == {"document": [2], "passage": [4], "maxp": [3]}
    assert evaluation.table()["passage"]["de"]["questions"] == 1
    assert evaluation.table()["passage"]["en"]["questions"] == 3
    assert toy.calls == [
        ("document", ["a0 a1", "b0", "c0"]),
        ("document", ["a0", "a1", "b0", "c0"]),
        ("question", ["z?", "x?", "y?"]),
        ("question", ["z?"]),
    ]
    # English 3 of 3, German 0 of 1: by question it would be 0.75.
    assert evaluation.mean("maxp", ["en", "de"]) == 0.5
    assert evaluation.mean("maxp", ["en"]) == 1.0
    evaluation = Evaluation("toy", "dev", {"maxp": {"en": np.array([2]), "de": np.array([4])}})
    assert evaluation.mean("maxp", ["en", "de"], "mrr@10") == pytest.approx((1 / 2 + 1 / 4) / 2)


def test_what_no_unit_needs_is_not_encoded_and_of_several_splits_the_documents_count_once(toy, dataset):
    assert list(encode_units(toy, dataset, ["maxp"])) == ["passage"]
    assert toy.calls == [("document", ["a0", "a1", "b0", "c0"])]
    dev, test = (count_texts(dataset, [split], ["en"]) for split in ("dev", "test"))
    documents = len(dataset.titles) + len(dataset.passages)
    assert count_texts(dataset, ["dev", "test"], ["en"]) == dev + test - documents


@pytest.mark.parametrize("units", [("document", "passage", "maxp"), ("document",), ("passage",), ("maxp", "passage")])
def test_the_size_is_the_number_of_texts_that_are_encoded(toy, dataset, units):
    steps = []
    evaluate(toy, dataset, "dev", ["en", "de"], units, steps.append)
    assert count_texts(dataset, ["dev"], ["en", "de"], units) == sum(steps)


ANSWERS = {"1": ("a1",), "2": ("yes",), "3": ("b0", "nothing"), "4": ("c0",)}


def with_answers(dataset):
    """Passages as words, so that a thousand words are all of them, and answers in English alone."""
    questions = {
        language: {id: replace(question, answers=ANSWERS[id]) for id, question in known.items()}
        for language, known in dataset.questions.items()
    }
    return replace(dataset, questions=questions)


def test_recall_by_tokens_is_of_passages_which_count_as_texts_and_of_questions_with_answers(toy, dataset):
    steps = []
    evaluation = evaluate(toy, with_answers(dataset), "dev", ["en"], ("document",), steps.append, ("r@1kt", "r@2kt"))
    assert list(evaluation.ranks) == ["document"]
    # The split's order is 3, 1, 2; of 2 there is nothing to look for.
    ids, values = evaluation.recall["r@2kt"]["en"]
    assert (ids, values.tolist()) == (["3", "1"], [1, 1])
    assert evaluation.recalls()["r@1kt"] == {"en": {"recall": 1, "questions": 2}}
    encoded = len(toy.calls)
    with pytest.raises(InputError, match="^toys: .*r@2kt"):
        evaluate(toy, dataset, "dev", ["en"], recalls=("r@2kt",))
    assert len(toy.calls) == encoded
    assert sum(steps) == count_texts(dataset, ["dev"], ["en"], units_to_encode(("document",), ("r@1kt",)))
    assert sum(steps) > count_texts(dataset, ["dev"], ["en"], ("document",))


def test_other_metrics_by_name(dataset):
    table = Evaluation("a", "dev", {"maxp": {"en": np.array([1, 2, 20])}}).table(("p@2", "mrr@1", "map", "ndcg@5"))
    expected = {"p@2": 2 / 3, "mrr@1": 1 / 3, "map": (1 + 1 / 2 + 1 / 20) / 3, "ndcg@5": (1 + 1 / np.log2(3)) / 3}
    assert table == {"maxp": {"en": pytest.approx({**expected, "questions": 3})}}


class Equal(Toy):
    """Nearly the same vector for each text."""

    def encode(self, texts, role="question", progress=None):
        return np.array([[1, 0, 0.001 * (len(text) % 3)] for text in texts], dtype=np.float32)


def many(dataset):
    questions = {str(number): Question(str(number), "en", "x?" * (1 + number), 0) for number in range(8)}
    return replace(dataset, questions={"en": questions}, splits={"dev": list(questions)})


def test_of_a_healthy_encoder_nothing_is_said_and_of_a_collapsed_one_a_line(dataset, capsys, monkeypatch):
    known = {"x?" * (1 + number): row for number, row in enumerate([*np.eye(3), *-np.eye(3), *np.eye(2, 3)])}
    for text, row in known.items():
        monkeypatch.setitem(VECTORS, text, tuple(row))
    evaluate(Toy(), many(dataset), "dev", ["en"])
    assert capsys.readouterr().err == ""
    evaluation = evaluate(Equal(), many(dataset), "dev", ["en"])
    assert evaluation.table()["passage"]["en"]["questions"] == 8
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("WARNING: toy ") and "1.0000" in line


@pytest.mark.parametrize("role", ["question", "document"])
def test_vectors_that_are_no_numbers_are_no_ranks(role, toy, dataset):
    class Broken(Toy):
        def encode(self, texts, as_role="question", progress=None):
            return super().encode(texts, as_role) * (np.nan if as_role == role else 1)

    with pytest.raises(EncoderError, match="^toy: "):
        evaluate(Broken(), dataset, "dev", ["en"])


def test_questions_as_people_type_them_are_ranked_beside(toy, dataset, monkeypatch):
    # "x?" is typed "x" as it is spoken; German has umlauts, English has none.
    monkeypatch.setitem(VECTORS, "x", (0, 0, 1))
    monkeypatch.setitem(VECTORS, "y", (0, 1, 0))
    monkeypatch.setitem(VECTORS, "z", (0, 0, 1))
    typed, languages = QueryNoise(("speech", "no-accents")), ["en", "de"]
    evaluation = evaluate(toy, dataset, "dev", languages, ["passage"], typed=typed)
    plain = evaluate(toy, dataset, "dev", languages, ["passage"])
    assert evaluation.ranks["passage"]["en"].tolist() == plain.ranks["passage"]["en"].tolist() and plain.typed == {}
    # Question 1 finds b0 now, the others are 0: its a0 is last.
    assert evaluation.typed["speech"]["passage"]["en"].tolist()[1] == 4
    assert list(evaluation.typed["no-accents"]["passage"]) == ["de"]
    p_at_1 = evaluation.noisy_table(["p@1"])["speech"]["passage"]["en"]["p@1"]
    assert p_at_1 == pytest.approx(np.mean(evaluation.typed["speech"]["passage"]["en"] == 1))
    assert count_noisy_questions(dataset, "dev", languages, typed.kinds) == 3 + 1 + 1


def test_the_languages_of_the_nearest_passages_are_counted_by_the_questions_language(sample, tiny_encoder):
    spoken = ["de" if row % 3 else "en" for row in range(len(sample.passages))]
    passages = [replace(passage, language=one) for passage, one in zip(sample.passages, spoken, strict=True)]
    data = replace(sample, passages=tuple(passages))
    evaluation = evaluate(tiny_encoder, data, "dev", ["en", "th"], ["passage"])
    vectors = tiny_encoder.encode(data.passage_texts, "document")
    for language in ("en", "th"):
        shares = []
        for question in data.select(language, "dev"):
            scores = vectors @ tiny_encoder.encode([question.text])[0]
            nearest = sorted(range(len(scores)), key=lambda row: -scores[row])[:10]
            shares.append(sum(spoken[row] == "de" for row in nearest) / 10)
        assert abs(evaluation.spoken[language]["de"] - np.mean(shares)) < 0.02
        assert abs(sum(evaluation.spoken[language].values()) - 1) < 1e-9
    assert evaluate(tiny_encoder, sample, "dev", ["en"], ["passage"]).spoken == {}
    few = replace(data, passages=tuple(passages[:2]))
    assert languages_of_head({"en": vectors[:1]}, vectors[:2], few) == {"en": {"en": 0.5, "de": 0.5}}
