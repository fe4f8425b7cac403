import pytest

from distill.report.answerability import print_remark


@pytest.mark.parametrize(
    ("probability", "strict", "first"),
    [(0.64, False, "64"), (0.6, True, "60"), (0.53, False, "unsure: 53"), (0.5, False, "unsure: 50")]
    + [(0.06, False, "nothing found: 6"), (0.53, True, "nothing found: 53")],
)
def test_how_likely_a_passage_answers_is_one_line(probability, strict, first, capsys):
    print_remark(probability, 0.6, strict)
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{first} % ")
