import os
import subprocess
import sys

import pytest

from distill.system.lean_imports import without_notices


def test_pytorch_which_only_asks_whether_they_are_there_loads(tmp_path):
    """Packages of these names in place of the real ones: PyTorch is not installed for the tests."""
    files = {
        "keras/__init__.py": "import torch._dynamo.trace_rules, pandas",
        "torch/__init__.py": "",
        "torch/_dynamo/__init__.py": "",
        "torch/_dynamo/trace_rules.py": "import importlib.util; print(bool(importlib.util.find_spec('pandas')))",
    }
    for name, code in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code, encoding="utf-8")
    code = "from distill.system.lean_imports import lean_imports; lean_imports(); import keras"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout == "True\n"
    # What imports it is still refused.
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'pandas'\n")


def test_notices_are_dropped_and_all_else_is_told(capfd):
    notice = "I0000 00:00:1795518138.323525   13739 port.cc:153] oneDNN custom operations are on.\n"
    with pytest.raises(KeyboardInterrupt), without_notices():
        os.write(2, f"{notice}first\n{notice}second\n".encode())
        raise KeyboardInterrupt
    os.write(2, notice.encode())
    assert capfd.readouterr().err == f"first\nsecond\n{notice}"
