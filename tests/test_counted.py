"""The lines that marks count are those that coverage's own tracer sees."""

import ast

import pytest
from fixtures.counted import NAME, marked

SOURCE = '''"""Of all kinds of statements."""
from __future__ import annotations
import functools
class Kind:
    """With a docstring."""
    size: int = 1
    @property
    @functools.cache
    def never(self):
        """Not called."""
        return (1,
            2)
def run(kind,
        other=1):
    match kind:
        case 1:
            a = 1
        case "b" | "c":
            a = 2
        case _:
            a = 3
    try:
        if a == 1:
            raise ValueError(
                "one")
        elif a == 2:
            b = 1
        else:
            b = 2
    except ValueError:
        b = 4
    else:
        b = 5
    finally:
        b = 6
    for i in range(2):
        if i:
            continue
        b = [
            i]
    else:
        pass
    while a > 5:
        a -= 1
    with open(__file__) as first, \\
            open(__file__) as second:
        first.read()
    def inner():
        yield 1
        yield from []
    assert [one
            for one in inner()
            if one], (
                "empty")
    return a
run(1); run("b"); run(4)
'''


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "source.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def test_marks_are_the_lines_that_the_tracer_sees(path):
    coverage = pytest.importorskip("coverage")
    ran = {}
    exec(compile(marked(ast.parse(SOURCE), 0), path, "exec", dont_inherit=True), {"__file__": path, NAME: ran})
    counts = coverage.Coverage(data_file=None, config_file=False)
    counts.get_data().add_lines({str(path): list(ran)})
    tracer = coverage.Coverage(data_file=None, config_file=False, include=[str(path)])
    with tracer.collect():
        exec(compile(SOURCE, path, "exec", dont_inherit=True), {"__file__": path})
    expected = tracer.analysis2(str(path))
    assert counts.analysis2(str(path))[1:4] == expected[1:4]
    assert expected[3] == [11, 44]
