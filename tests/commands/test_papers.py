"""The command `distill answers`."""

import json

import pytest


@pytest.fixture
def answers(distill, tmp_path):
    """Run it on lines: what it left, and the figures."""

    def call(*rows, arguments=()):
        path, figures = tmp_path / "predictions.jsonl", tmp_path / "answers.json"
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        left = distill("answers", path, "--json", figures, *arguments)
        return left, json.loads(figures.read_text(encoding="utf-8")) if figures.is_file() else None

    return call


def test_figures_do_not_replace_the_file_that_is_read(distill, tmp_path):
    path = tmp_path / "predictions.jsonl"
    path.write_text('{"id": "1", "prediction": "a", "answers": ["a"]}', encoding="utf-8")
    before = path.read_bytes()
    assert distill("answers", path, "--language", "en", "--json", path).code == 2 and path.read_bytes() == before


def test_gold_answers_in_the_lines(answers):
    rows = [
        {"id": "1", "prediction": "Häuser", "answers": ["Haus"], "language": "de"},
        {"id": "1", "prediction": "книги", "answers": ["книга", "том"]},
        {"id": "2", "prediction": "том", "answers": ["том"]},
    ]
    left, figures = answers(*rows, arguments=["--language", "ru"])
    assert left.code == 0
    assert figures["languages"]["de"]["plain"] == {"em": 0, "f1": 0}
    assert figures["languages"]["de"]["morphology"] == {"em": 1, "f1": 1}
    assert figures["languages"]["ru"]["plain"] == {"em": 0.5, "f1": 0.5}
    percent = [cell for cell in left.out.split() if cell in ("50.0", "100.0")]
    assert percent == ["100.0", "100.0", "50.0", "50.0", "100.0", "100.0"]


def test_normalisations_are_those_asked_for(answers):
    row = {"id": "1", "prediction": "Das Haus", "answers": ["Haus"]}
    left, figures = answers(row, arguments=["--language", "de", "--normalisation", "mlqa,xor"])
    of = figures["languages"]["de"]
    assert left.code == 0 and list(of) == ["questions", "missing", "mlqa", "xor"] and "BLEU, xor" in left.out
    assert of["mlqa"] == {"em": 1, "f1": 1} and of["xor"]["em"] == 0
    assert list(answers(row, arguments=["--normalisation", "all"])[1]["languages"]["en"])[2:] == [
        *("plain", "morphology", "xor", "mlqa")
    ]
    left, _ = answers(row, arguments=["--normalisation", "squad"])
    assert left.code == 2 and left.is_one_error


def test_gold_answers_of_a_data_set(answers, sentence_data):
    """Its dev questions are the market's and the harbour's, two each, answered by 100 and 101."""
    rows = {"id": "market-0", "prediction": "100"}, {"id": "market-1", "answer": "the 100!"}
    left, figures = answers(*rows, arguments=["--dataset", sentence_data])
    assert left.code == 0 and "en: 2 of 4 " in left.err
    assert figures["split"] == "dev"
    assert figures["languages"]["en"] == {
        "questions": 4,
        "missing": 2,
        "plain": {"em": 0.25, "f1": 0.25},
        "morphology": {"em": 0.25, "f1": 0.25},
    }


@pytest.mark.parametrize(
    "rows, named",
    [
        ([{"id": "river-0", "prediction": "100"}], "river-0"),
        ([{"id": "market-0", "prediction": "1", "language": "xx"}], " xx"),
        ([{"id": "1", "prediction": "1", "answers": ["1"]}, {"id": "2", "prediction": "1"}], "predictions.jsonl"),
        ([{"id": "x", "prediction": "1"}], "answer"),
    ],
)
def test_what_cannot_be_measured_is_refused(answers, sentence_data, unanswered, rows, named):
    left, figures = answers(*rows, arguments=["--dataset", unanswered if named == "answer" else sentence_data])
    assert left.code == 2 and left.is_one_error and named in left.err and figures is None
