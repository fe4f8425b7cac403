"""How likely an answer of a small collection is, with words and without, whole and in part."""

import numpy as np
import pytest

from distill.encoders.catalog.loading import load_encoder
from distill.errors import InputError
from distill.report.answers import print_remark
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import IndexChange, IndexSettings, build_index

MODEL = "released-small"
NOTES = [
    "The boiler in the cellar is serviced every October. The technician is Mr Keller.",
    "The spare key for the shed hangs behind the water meter.",
    "Grandma's apple cake: 200 g butter, 150 g sugar, four eggs, bake 45 minutes at 180 degrees.",
    "The car needs winter tyres before the first of November. They are stored at the garage in Mill Street.",
    "Library books are due back on the 14th. Renew them online with the card number.",
    "The dentist moved to 12 Station Road. Appointments are on Tuesdays only.",
    "Water the tomatoes in the morning, never at noon. The hose is behind the greenhouse.",
    "The wifi password of the guest network is on the back of the router.",
    "Recycling is collected on Thursdays, paper every second week.",
    "The cat gets half a tin in the evening and dry food in the morning.",
    "Swimming lessons start in May at the outdoor pool. Bring a towel and goggles.",
    "The house insurance was renewed in March with a lower deductible.",
]
# The note that answers, and what was said of it when 12 passages were judged as thousands are: 43 and 30 %.
RIGHT = {"Какой день вывозят мусор?": 8, "Who repairs the heating?": 0}
MISSING = ["Who won the world cup in 2014?", "狗狗的疫苗什么时候打？"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notes")
    for number, note in enumerate(NOTES):
        (folder / f"{number}.txt").write_text(note, encoding="utf-8")
    build_index(folder / "kb", IndexChange([folder]), MODEL, IndexSettings(hybrid=True), word_model="none")
    return Answers(folder / "kb")


def test_of_twelve_notes_what_answers_is_unsure_at_most_and_what_is_not_there_is_not_found(answers, capsys):
    for answer, note in zip(answers.answers(RIGHT, 1), RIGHT.values(), strict=True):
        assert answer.hits[0].text == NOTES[note] and answer.answered
        print_remark(answer.probability, answer.threshold)
        assert capsys.readouterr().out.startswith("unsure: ")
    for answer in answers.answers(MISSING, 1):
        assert answer.answered is False
        print_remark(answer.probability, answer.threshold)
        assert capsys.readouterr().out.startswith("nothing found: ")


def test_the_probability_is_of_the_passages_that_are_searched(answers):
    line, vector = load_encoder(MODEL).calibrations["sum"], answers.encoder.encode(["Who repairs the heating?"])[0]
    for count in (12, 4, 0):
        answer = answers.judge("?", vector, 12, np.arange(12) < count)
        assert answer.probability == pytest.approx(line.probability([hit.score for hit in answer.hits], count))


def test_with_words_it_is_by_the_scores_that_rank(answers):
    line, question = load_encoder(MODEL).calibrations["sum"], "Who repairs the heating in the cellar?"
    vector = answers.encoder.encode([question])[0]
    plain, words = (answers.judge(question, vector, 12, None, hybrid) for hybrid in (False, True))
    assert words.probability == pytest.approx(line.probability([hit.score for hit in words.hits], 12))
    assert words.probability > plain.probability and words.threshold == plain.threshold


def test_ones_own_question_may_be_of_any_length_and_has_the_vector_of_its_encoder(answers):
    # More characters and more tokens than a question of another may have.
    question = "\u57ce\u3007 boiler " * 20_000
    (answer,) = answers.answers([question], 1)
    best = answers.searcher.search(answers.encoder.encode([question])[0], 1)
    assert (answer.hits[0].row, answer.hits[0].score) == (best.rows[0], pytest.approx(best.scores[0], abs=1e-6))
    for nothing in (" \n", "\xad \xad"):
        with pytest.raises(InputError, match="empty"):
            next(answers.answers([nothing], 1))


@pytest.mark.parametrize(
    ("questions", "given", "named"),
    [
        (["?"], {"k": 0}, "^k: "),
        (["?"], {"k": -1}, "^k: "),
        (["?"], {"where": "lang=en"}, "^where: "),
        (["?"], {"where": {"id": []}}, r"^where\.id: "),
        (["?"], {"where": {"id": [["1.txt"]]}}, r"^where\.id: "),
        ([b"?"], {}, "bytes"),
        ([None], {}, "NoneType"),
    ],
)
def test_what_is_no_question_number_or_field_is_said(answers, questions, given, named):
    with pytest.raises(InputError, match=named):
        next(answers.answers(questions, **{"k": 1, **given}))


def test_a_list_of_values_requires_each_of_them(answers):
    def ids(where):
        return [hit.fields["id"] for hit in next(answers.answers(["?"], 12, where)).hits]

    one, other = answers.index.fields(3)["id"], answers.index.fields(4)["id"]
    assert ids({"id": [one]}) == ids([("id", one)]) == ids({"id": one}) == [one]
    assert ids({"id": [one, other]}) == [] and ids({"id": (one,), "path": [one, one]}) == [one]


def test_a_threshold_is_refused_where_nothing_is_calibrated(answers):
    answers.calibration, known = None, answers.calibration
    with pytest.raises(InputError, match="--threshold"):
        next(answers.answers(["?"], 1, threshold=0.5))
    answers.calibration = known
