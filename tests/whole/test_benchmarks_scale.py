import json
import re

import numpy as np
import pytest
from fixtures.commands import ROOT, run_script

SCRIPT = ROOT / "benchmarks" / "scale.py"
SIZES = "40x400,80x801"
FEW = ["--sizes", SIZES, "--dimension", "64", "--only", "exact mining", "ranks, passages", "JSON lines"]
PAGE = "# Scale\n\n<!-- scale -->\nold\n<!-- /scale -->\n\nThe end.\n"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scale")
    (folder / "scale.md").write_text(PAGE, encoding="utf-8")
    done = run_script(SCRIPT, *FEW, "--docs", "scale.md", cwd=folder)
    assert done.code == 0, done.err
    return folder, done


def lines(folder):
    return [json.loads(line) for line in (folder / "scale.jsonl").read_text(encoding="utf-8").splitlines()]


def test_each_measurement_is_a_line_and_not_made_again(measured):
    measurements = lines(measured[0])
    assert [(row["what"], row["questions"], row["passages"]) for row in measurements] == [
        (what, *size) for size in ((40, 400), (80, 801)) for what in ("exact mining", "ranks, passages", "JSON lines")
    ]
    assert all(0 < row["own"] <= row["peak"] < 4 * 2**30 and row["seconds"] > 0 for row in measurements)
    assert [row["mined"] for row in measurements if "mined" in row] == [1, 1]
    assert [row["letters"] for row in measurements if "letters" in row] == [400_000, 801_000]
    folder, done = measured
    before = (folder / "scale.jsonl").read_bytes()
    again = run_script(SCRIPT, *FEW, cwd=folder)
    assert (folder / "scale.jsonl").read_bytes() == before
    assert again.out == done.out


def test_the_vectors_are_near_their_passages_and_topics(measured):
    folder = measured[0] / "scale" / "80x801x64-0"
    questions, passages, gold = (np.load(folder / f"{name}.npy") for name in ("questions", "passages", "gold"))
    np.testing.assert_allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-6)
    scores = questions @ passages.T
    right = scores[np.arange(80), gold]
    rank_1 = next(row["p@1"] for row in lines(measured[0]) if "p@1" in row and row["passages"] == 801)
    assert rank_1 == pytest.approx(np.mean(right == scores.max(axis=1)), abs=0.02)
    assert 0.2 < rank_1 < 1


def test_the_table_and_the_slopes_stand_between_the_marks(measured):
    folder, done = measured
    page = (folder / "scale.md").read_text(encoding="utf-8")
    head, table, tail = re.split("<!-- /?scale -->", page)
    assert (head, tail) == ("# Scale\n\n", "\n\nThe end.\n")
    table, picture = table.strip().rsplit("\n\n", 1)
    assert table in done.out
    assert picture.endswith("](scale.svg)")
    assert "old" not in table and "| 80 x 801 | " in table
    first, second = (row["cpu"] for row in lines(folder) if row["what"] == "JSON lines")
    assert f"JSON lines {np.log(second / first) / np.log(80 * 801 / 40 / 400):.2f}." in table
    assert (folder / "scale.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert "above 4 GiB: none" in done.out


def test_more_than_the_ceiling_fails_and_wrong_sizes_are_refused(measured, tmp_path):
    row = next(row for row in lines(measured[0]) if row["what"] == "ranks, passages")
    row["peak"] = 4 * 2**30 + 1
    (tmp_path / "scale.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    done = run_script(SCRIPT, "--sizes", "40x400", "--dimension", "64", "--only", "ranks, passages", cwd=tmp_path)
    assert done.code == 1 and done.out.endswith(": ranks, passages, 40 x 400\n")
    done = run_script(SCRIPT, "--sizes", "100", cwd=tmp_path)
    assert done.code == 2 and "100" in done.err
