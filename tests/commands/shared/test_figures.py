import json

import pytest

from distill.commands.shared.options import write_figures

FIGURES = {"p@1": 0.5, "name": "Müller"}


@pytest.mark.parametrize("path", [None, "-", "figures.json"])
def test_a_table_a_file_and_standard_output(path, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_figures(path, FIGURES, lambda: print("a table"))
    out = capsys.readouterr().out
    if path == "-":
        assert json.loads(out) == FIGURES and not list(tmp_path.iterdir())
    else:
        assert out == "a table\n"
        written = [json.loads(file.read_text(encoding="utf-8")) for file in tmp_path.iterdir()]
        assert written == ([FIGURES] if path else [])


def test_the_file_is_written_though_nobody_reads_the_table(tmp_path):
    def show():
        raise SystemExit(1)

    with pytest.raises(SystemExit):
        write_figures(str(tmp_path / "figures.json"), FIGURES, show)
    assert json.loads((tmp_path / "figures.json").read_text(encoding="utf-8")) == FIGURES
