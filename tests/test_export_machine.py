import platform

import pytest

from distill.export import machine as module
from distill.export.machine import machine


def test_the_machine_is_named():
    assert machine().endswith(f", {platform.system()}") and not machine().startswith(",")


@pytest.mark.parametrize("content", [None, "", "Processor : of another kind\n"])
def test_a_machine_without_model_names_is_named_by_its_kind(monkeypatch, tmp_path, content):
    info = tmp_path / "cpuinfo"
    if content is not None:
        info.write_text(content)
    monkeypatch.setattr(module, "open", lambda path, **options: info.open(**options), raising=False)
    assert machine() == f"{platform.processor() or platform.machine()}, {platform.system()}"


def test_cores_are_counted(monkeypatch, tmp_path):
    info = tmp_path / "cpuinfo"
    info.write_text(2 * "processor : 0\nmodel name\t: Abacus: 9000\nflags : bead\n\n")
    monkeypatch.setattr(module, "open", lambda path, **options: info.open(**options), raising=False)
    assert machine() == f"Abacus: 9000, 2 cores, {platform.system()}"
