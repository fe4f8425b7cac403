"""The Python of docs/sentence-transformers.md and of an exported folder's page, run where the library is installed."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fixtures.encoders import made_student

from distill.export.formats import model2vec, sentence
from distill.export.formats.format import Lengths
from distill.export.weights.precision import Precision

PAGE = Path(__file__).resolve().parents[3] / "docs" / "sentence-transformers.md"
FORMATS = {"sentence_transformers": sentence, "model2vec": model2vec}


def block(library):
    """The page's lines of Python for a library."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (lines,) = [lines for lines in blocks if lines.startswith(f"from {library} import")]
    return lines


def test_the_page_has_lines_for_each_library_and_opens_what_it_exports():
    assert all('"encoder"' in block(library) for library in FORMATS)


@pytest.mark.parametrize("library", FORMATS)
def test_the_lines_of_the_page_run(library, tokenizer, randomised, tmp_path):
    pytest.importorskip(library)
    student = made_student("static", tokenizer, randomised)
    if library == "model2vec":
        second = student.model.get_layer("residual").second
        second.set_weights([np.zeros(second.kernel.shape)])
    (format_,) = FORMATS[library].FORMATS
    (tmp_path / "encoder").mkdir()
    format_.write(student, tmp_path / "encoder", Precision("float32", "float32"), Lengths())
    done = subprocess.run([sys.executable, "-c", block(library)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and re.search(r"-?\d\.\d", done.stdout), done.stderr
