#!/usr/bin/env python3
"""docs/errors.md from the source: every error that is made there, by folder, with its type and exit code."""

import ast
import re
from pathlib import Path

from distill import errors

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "errors.md"
FOLDERS = ("distill", "teachers", "students", "export")
# The bundle's own script and click have errors of their own.
CODES = {name: kind.exit_code for name, kind in vars(errors).items() if isinstance(kind, type)}
CODES |= {"BadParameter": 2, "BundleError": 2, "TextError": 2}
HEAD = """\
# Errors

<!-- Written by .ci/errors_page.py from the source; `make docs` writes it anew. -->

What `distill` says when it cannot go on. An error is one line on standard error: the file and the place in it, what
was expected, what came and what to do. The command leaves with exit code 2 where the input or the usage is wrong, with
1 where something failed on the way, and with 130 where it was interrupted. Nothing half-written is left. In Python an
error is an exception of `distill.errors`, all of them `DistillError`; the bundle's own `encode.py`, which does without
`distill`, raises `BundleError` and `TextError`, which are `EncoderError` in `distill`.

A name in braces stands for a value.
"""


def value_name(node):
    """The name of what a placeholder shows."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and not node.attr.startswith("_"):
        return node.attr
    if isinstance(node, ast.Call) and node.args:
        return value_name(node.args[-1])
    parts = (value_name(part) for part in ast.iter_child_nodes(node))
    return next((name for name in parts if name != "…"), "…")


def pattern(node, constants):
    """A message's text, its values as names in braces."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(pattern(part, constants) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return pattern(node.left, constants) + pattern(node.right, constants)
    node = node.value if isinstance(node, ast.FormattedValue) else node
    name = value_name(node)
    return constants[name] if isinstance(node, ast.Name) and name in constants else f"{{{name}}}"


def errors_of(tree):
    """`(type's name, message)` of each error that a module makes, or orders of a function that is given its type."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args):
        names = [getattr(node, "attr", getattr(node, "id", "")) for node in (call.func, call.args[0])]
        if names[0] in CODES:
            yield names[0], call.args[0]
        elif names[1] in CODES and len(call.args) > 1:
            yield names[1], call.args[1]


def text_constants(tree):
    return {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(getattr(node.value, "value", None), str)
    }


def rows(paths):
    """The table's rows of these files, in the order of their messages; what has no words of its own is left out."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    shown = set()
    for tree in trees:
        for kind, message in errors_of(tree):
            text = " ".join(pattern(message, text_constants(tree)).split()).replace("`", "'").replace("|", "\\|")
            if re.search(r"[^\W\d_]{2}", re.sub(r"\{\w*\}", "", text)):
                shown.add(f"| `{text}` | {kind} | {CODES[kind]} |")
    return sorted(shown, key=str.lower)


def page():
    """The whole page: a section a folder."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    folders = sorted({path.parent for path in paths if not path.parent.name.startswith("released")})
    parts = [HEAD]
    for folder in folders:
        if table := rows([path for path in paths if path.parent == folder]):
            name = folder.relative_to(ROOT).as_posix()
            parts.append("\n".join([f"## {name}", "", "| message | type | exit code |", "|---|---|---|", *table, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
