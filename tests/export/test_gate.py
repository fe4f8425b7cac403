import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from distill.errors import EncoderError
from distill.export.gate import Figures, Scores, count_gate_texts, find_texts_with_other_ids, measure, refusal_reasons
from distill.settings.sections import ExportSettings

LANGUAGES = ("de", "en")


class Oracle:
    """Every document has a vector of its own and every question its document's, but for `wrong` ones, a turned one.

    Its ids are a text's characters; `max_length` cuts them, the last one kept.
    """

    name, dimension = "oracle", 64

    def __init__(self, dataset, wrong=(), turn=None, max_length=None):
        self.dataset, self.wrong, self.turn, self.max_length = dataset, set(wrong), turn, max_length
        self.tokenizer = SimpleNamespace(encode=lambda texts: [[ord(sign) for sign in text] for text in texts])
        self.calls = []
        self.document = {text: number for number, text in enumerate(dataset.document_texts)}
        for by_id in dataset.questions.values():
            for question in by_id.values():
                self.document[question.text] = dataset.passages[question.passage].document

    def tokenize(self, text):
        ids = [ord(sign) for sign in text]
        return ids if not self.max_length or len(ids) <= self.max_length else ids[: self.max_length - 1] + ids[-1:]

    def encode(self, texts, role="question", progress=None):
        self.calls += [(role, len(texts))]
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self.turned(text) if text in self.wrong else np.eye(self.dimension)[self.document[text]]
            if progress:
                progress(1)
        return vectors

    def turned(self, text):
        if self.turn is None:
            # The next document's.
            return np.eye(self.dimension)[(self.document[text] + 1) % len(self.dataset.titles)]
        document, other = self.document[text], self.dimension - 1
        return np.cos(self.turn) * np.eye(self.dimension)[document] + np.sin(self.turn) * np.eye(self.dimension)[other]


@pytest.fixture
def questions(sample):
    """The texts of dev, by language."""
    return {lang: [sample.questions[lang][id].text for id in sample.splits["dev"]] for lang in LANGUAGES}


@pytest.fixture
def judged(sample):
    """Measure an artefact against a student that answers all, and judge: why it is refused."""

    def call(artefact, min_cosine=0.0, max_drop=1.0, table="uint8", student=None):
        figures = measure(student or Oracle(sample), artefact, sample, LANGUAGES)
        return refusal_reasons(figures, ExportSettings(min_cosine=min_cosine, max_drop=max_drop), table)

    return call


def test_the_same_encoder_passes(sample, judged):
    figures = measure(Oracle(sample), Oracle(sample), sample, LANGUAGES)
    assert (figures.dataset, figures.texts, figures.other_ids, figures.other_ids_example) == ("sample", 40, 0, None)
    assert (figures.cosine_mean, figures.cosine_min, figures.cut, figures.drop) == (1.0, 1.0, 0, 0.0)
    assert figures.p1 == dict.fromkeys(LANGUAGES, Scores(1.0, 1.0, p=1.0, p_holm=1.0, significant=False))
    assert judged(Oracle(sample), 1.0, 0.0) == ()


def test_ids_are_compared_on_every_dev_question_and_others_refused_whatever_the_vectors(sample, questions, judged):
    other, changed = Oracle(sample), questions["en"][2:5]
    other.tokenize = lambda text: [*map(ord, text)][text in changed :]
    figures = measure(Oracle(sample), other, sample, LANGUAGES)
    assert (figures.texts, figures.other_ids, figures.other_ids_example) == (40, 3, changed[0])
    (reason,) = judged(other, -1.0, 100.0)
    assert "3 of 40" in reason and repr(changed[0]) in reason


def test_ids_that_are_cut_where_the_artefact_ends_are_the_students(sample, questions):
    # By hand: of a text of more than 10 characters the first nine and the last.
    short, texts = Oracle(sample, max_length=10), [*questions["de"], *questions["en"]]
    assert find_texts_with_other_ids(Oracle(sample), short, texts) == []
    short.tokenize = lambda text: [*map(ord, text)][:10]
    assert find_texts_with_other_ids(Oracle(sample), short, texts) == [
        text for text in texts if len(text) > 10 and text[9] != text[-1]
    ]


def test_cosines_are_over_the_dev_questions_of_the_languages(sample, questions):
    # 4 of 40 are turned by 60 degrees, whose cosine is 1/2, and all of the other splits.
    sealed = [sample.questions["de"][id].text for split in ("train", "test") for id in sample.splits[split]]
    figures = measure(Oracle(sample), Oracle(sample, questions["de"][:4] + sealed, np.pi / 3), sample, LANGUAGES)
    assert figures.texts == len(questions["de"]) + len(questions["en"]) == 40
    assert figures.cosine_mean == pytest.approx((36 + 4 * 0.5) / 40)
    assert figures.cosine_min == pytest.approx(0.5)


def test_an_artefact_with_nothing_but_cut_questions_is_refused(sample, judged):
    artefact = Oracle(sample, max_length=4)
    figures = measure(Oracle(sample), artefact, sample, LANGUAGES)
    assert (figures.texts - figures.cut, figures.cosine_mean, figures.cosine_min) == (0, 0.0, 0.0)
    assert len(judged(artefact, max_drop=100.0)) == 1


def test_one_text_too_far_is_refused(sample, questions, judged):
    artefact = Oracle(sample, questions["de"][:1], np.pi / 3)
    (reason,) = judged(artefact)
    assert re.findall(r"[\d.]+", reason) == ["0.5000", "0.9875", "40", "0.995"]
    assert judged(artefact, min_cosine=0.4999) == ()
    assert judged(artefact, min_cosine=0.5001)


def test_an_int4_table_may_turn_a_vector_further(sample, questions, judged):
    # Cosines of .91 and .89, between which its limit lies.
    near, far = (Oracle(sample, questions["en"][:1], np.arccos(cosine)) for cosine in (0.91, 0.89))
    assert judged(near) and judged(near, table="float32") and judged(far, table="int4")
    assert judged(near, table="int4") == judged(near, table="int4-pq5") == ()
    assert judged(near, table="int4", min_cosine=0.99)


def test_vectors_that_are_not_numbers_are_refused(sample, judged):
    class Broken(Oracle):
        def encode(self, texts, role="question", progress=None):
            return super().encode(texts) * np.float32("nan")

    with pytest.raises(EncoderError, match="oracle"):
        judged(Broken(sample), -1.0, 100.0)


def test_scores_are_of_each_encoder_and_language(sample, questions):
    figures = measure(Oracle(sample), Oracle(sample, questions["en"][:5]), sample, LANGUAGES)
    # Five disagreements, all one way: p = 2 / 2^5 exactly, and twice that by Holm, as there are two languages.
    expected = Scores(1.0, 0.75, p=pytest.approx(0.0625), p_holm=pytest.approx(0.125), significant=False)
    assert figures.p1["en"] == expected
    assert (figures.p1["de"].student, figures.p1["de"].artefact) == (1.0, 1.0)
    assert figures.drop == pytest.approx(12.5)


def test_the_drop_is_a_mean_over_languages_and_just_what_is_allowed_passes_as_every_gain(sample, questions, judged):
    # 3 of 20 wrong in one of two languages: 15 points and 0, so 7.5.
    artefact = Oracle(sample, questions["en"][:3])
    assert judged(artefact, -1.0, 7.6) == ()
    (reason,) = judged(artefact, -1.0, 7.4)
    assert "7.50 " in reason and reason.endswith(" 7.4")
    # Of 20 + 20, one of each is wrong: 5 points, which floating point makes 5.000000000000004.
    artefact = Oracle(sample, [questions["en"][0], questions["de"][0]])
    assert 100 * (1 - 0.95) > 5
    assert judged(artefact, -1.0, 5.0) == ()
    assert judged(artefact, -1.0, 4.999)
    # One of 40 is 2.5 points: no more than chance, unless none may be lost; two are refused.
    one, two = (Oracle(sample, questions["en"][:count]) for count in (1, 2))
    assert judged(one, -1.0, 1.0) == () and judged(one, -1.0, 0.0) and judged(two, -1.0, 1.0)
    student, artefact = Oracle(sample, questions["de"][:3]), Oracle(sample, questions["en"][:3])
    assert judged(artefact, -1.0, 0.0, student=student) == ()
    for wrong in (questions["en"][:12], questions["en"]):
        assert judged(Oracle(sample), -1.0, 0.0, student=Oracle(sample, wrong)) == ()


def test_a_language_that_is_significantly_worse_is_refused_whatever_the_mean(sample, questions, judged):
    # Of 20 questions 6 are lost: p = 2 / 2^6 = .031, but .063 after Holm; of 7, p = .031 after it.
    assert judged(Oracle(sample, questions["en"][:6]), -1.0, 100.0) == ()
    (reason,) = judged(Oracle(sample, questions["en"][:7]), -1.0, 100.0)
    assert " en " in reason and "de" not in reason.split()
    (reason,) = judged(Oracle(sample, [*questions["en"][:7], *questions["de"][:9]]), -1.0, 100.0)
    assert "de, en" in reason


def test_another_encoder_is_refused_for_all_reasons_at_once(sample, questions, judged):
    reasons = judged(Oracle(sample, questions["de"] + questions["en"]))
    assert all(part in reason for part, reason in zip(("cosine", "points", "McNemar"), reasons, strict=True))


@pytest.mark.parametrize("max_length, by", [(None, "artefact"), (1000, "student")])
def test_documents_are_of_an_artefact_for_any_length_and_else_of_the_student(sample, max_length, by):
    artefact = Oracle(sample, sample.document_texts, max_length=max_length)
    figures = measure(Oracle(sample), artefact, sample, LANGUAGES)
    assert (figures.documents_by, figures.p1["en"].artefact) == (by, float(by == "student"))
    assert figures.cosine_min == 1.0
    assert {role for role, _ in artefact.calls} == {"question"} | ({"document"} if by == "artefact" else set())


def test_questions_that_were_cut_are_counted_and_still_ask(sample, questions):
    lengths = np.array([len(text) for texts in questions.values() for text in texts])
    limit = int(np.median(lengths))
    wrong = [text for text in questions["en"] if len(text) > limit]
    figures = measure(Oracle(sample), Oracle(sample, wrong, max_length=limit), sample, LANGUAGES)
    assert figures.cut == np.sum(lengths > limit) > 0
    assert figures.cosine_min == 1.0
    assert figures.p1["en"].artefact == pytest.approx(1 - len(wrong) / 20)


@pytest.mark.parametrize("max_length", [None, 1000])
def test_progress_is_told_as_many_texts_as_there_are(sample, max_length):
    told = []
    measure(Oracle(sample), Oracle(sample, max_length=max_length), sample, LANGUAGES, told.append)
    # 40 questions and 48 documents, each by both, but that one of the two encodes no document.
    assert sum(told) == count_gate_texts(sample, LANGUAGES, max_length) == 2 * (40 + 48) - (48 if max_length else 0)


def test_figures_in_a_card_are_plain_values_and_come_back(sample):
    figures = measure(Oracle(sample), Oracle(sample), sample, ("de",))
    values = figures.as_dict()
    assert json.loads(json.dumps(values)) == values and Figures.from_dict(values) == figures
    assert list(values) == [
        *("dataset", "texts", "other_ids", "other_ids_example", "cut", "cosine_mean", "cosine_min", "documents_by"),
        *("p@1", "drop"),
    ]
    assert values["p@1"]["de"] == {"student": 1.0, "artefact": 1.0, "p": 1.0, "p_holm": 1.0, "significant": False}
