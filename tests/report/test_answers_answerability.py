import pytest

from distill.report.answers import print_remark


@pytest.mark.parametrize(
    ("probability", "threshold", "first"),
    [(0.64, 0.1, "64"), (0.5, 0.1, "50"), (0.49, 0.1, "unsure: 49"), (0.1, 0.1, "unsure: 10")]
    + [(0.06, 0.1, "nothing found: 6"), (0.53, 0.6, "nothing found: 53"), (0.7, 0.6, "70")],
)
def test_how_likely_a_passage_answers_is_one_line(probability, threshold, first, capsys):
    print_remark(probability, threshold)
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{first} % ")
