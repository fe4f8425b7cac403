import numpy as np

from distill.papers.reading.examples import Example, Text, make_hard_unanswerable

PASSAGES = ["Rome is in Italy.", "Rome is old.", "Paris is in France.", "The Nile ends in the sea."]
ASKED = {"Where is Rome?": (0, "Italy"), "Where does the Nile end?": (3, "sea"), "How old is Rome?": (1, "old")}


def examples(language="en"):
    return [
        Example(str(n), "de", question, Text(PASSAGES[row], language), (0, 1), (answer,))
        for n, (question, (row, answer)) in enumerate(ASKED.items())
    ]


def test_each_question_has_the_nearest_passage_that_does_not_answer(tiny_encoder):
    given = [*examples(), Example("x", "en", "Who?", Text(PASSAGES[2], "en"), (0, 5), ("is",))]
    others = {one.id: one for one in make_hard_unanswerable(given, 1.0, 0, tiny_encoder)}
    vectors = tiny_encoder.encode(PASSAGES)
    for one in given[:3]:
        [question] = tiny_encoder.encode([one.question])
        near = [PASSAGES[row] for row in np.argsort(-(vectors @ question), kind="stable")]
        expected = next(
            text for text in near if text != one.passage.text and one.answers[0].casefold() not in text.casefold()
        )
        assert (others[one.id].passage.text, others[one.id].place, others[one.id].answers) == (expected, None, ())
    # The others hold its answer, but for one.
    assert others["x"].passage.text == PASSAGES[3]


def test_passages_are_of_the_same_language_and_a_share_is_taken(tiny_encoder):
    both = [*examples(), *examples("fi")]
    assert all(one.passage.language in ("en", "fi") for one in make_hard_unanswerable(both, 1.0, 0, tiny_encoder))
    fi = [one for one in make_hard_unanswerable([*examples(), examples("fi")[0]], 1.0, 0, tiny_encoder)]
    # One passage alone in its language, and it answers.
    assert {one.passage.language for one in fi} == {"en"}
    assert make_hard_unanswerable(examples(), 0.0, 0, tiny_encoder) == []
