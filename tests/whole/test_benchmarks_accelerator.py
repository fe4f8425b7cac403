import importlib.util

import pytest
from fixtures.commands import ROOT


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("accelerator", ROOT / "benchmarks" / "accelerator.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rows_become_a_table_in_a_page_and_what_is_not_there_is_not_measured(script, tmp_path):
    log = [{"seconds": second} for second in (1.0, 11.0, 13.0, 14.0, 18.0)]
    figures = {"stage 1": script.epochs(log), "stage 2": script.epochs(log[:3]), "texts a second": 99.6}
    assert figures["stage 1"] == {"first": 10.0, "median": 2.0} and figures["stage 2"]["median"] == 2.0
    row = {"device": "cpu", "precision": "float32", "jit": True, **figures}
    lines = script.table([row, *script.row_of("accelerator", None, None)])
    assert lines[2] == "| cpu | float32 | yes | 2.0 (10.0) | 2.0 (10.0) | 100 |"
    assert lines[3] == "| accelerator |" + " not measured |" * 5
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- accelerator -->\nold\n<!-- /accelerator -->\nb\n", encoding="utf-8")
    script.write_docs(page, lines)
    begin, end = script.MARKS
    assert page.read_text(encoding="utf-8").split("\n") == ["a", begin, "", *lines, "", end, "b", ""]
    page.write_text("a\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="page.md"):
        script.write_docs(page, lines)


def test_a_cpu_is_found_and_named(script):
    pytest.importorskip("jax", reason="jax is not installed")
    assert script.probed("cpu") == ("cpu", "cpu")
