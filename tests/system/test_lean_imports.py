import subprocess
import sys

CODE = """
import sys
from distill.system.lean_imports import lean_imports
lean_imports()
import bm25s, keras, tensorflow
optional = {"jax", "matplotlib", "pandas", "sklearn"}
print(sorted(optional & set(sys.modules)))
import jax, matplotlib.pyplot, pandas, sklearn
print(sorted(optional - set(sys.modules)))
"""


def test_keras_tensorflow_and_bm25s_leave_optional_packages_to_those_who_want_them():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]
