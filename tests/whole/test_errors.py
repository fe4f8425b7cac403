"""`docs/errors.md` has every error that the source raises, none besides, and each is met by a test."""

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest

import distill as package
from distill import errors
from distill.errors import BEGIN, END, DistillError, InputError, one_line

ROOT = Path(package.__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "errors.md"
FOLDERS = ("distill", "teachers", "students", "export")
# What is not ours to raise but is shown as ours are, and what a bundle's own script raises: `EncoderError` in distill.
CODES = {name: kind.exit_code for name, kind in vars(errors).items() if isinstance(kind, type)}
CODES |= {"BadParameter": 2, "BundleError": 2, "TextError": 2}
# Characters of a message that a test has to say, to be a test of it.
ENOUGH = 12


@dataclass(frozen=True)
class Raised:
    """`form`: the message, an ellipsis where a value stands; `kind`: the error's name; `place`: file and line."""

    form: str
    kind: str
    place: str

    @property
    def row(self):
        return f"| `{self.form}` | {self.kind} | {CODES[self.kind]} | the cause | the mend |"


def form_of(node, known=()):
    """The text of a message's expression with an ellipsis for each value.

    `known` is `{name: text}` of names that stand for one, and `{name: function}` of functions that may make one.
    """
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(form_of(part, known) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return form_of(node.left, known) + form_of(node.right, known)
    if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name | ast.Call):
        return form_of(node.value, known)
    if isinstance(node, ast.Name) and node.id in known and isinstance(known[node.id], str):
        return known[node.id]
    if isinstance(node, ast.Call) and isinstance(made := made_by(node, known), ast.JoinedStr):
        return form_of(made, told(node, known))
    return "…"


def made_by(call, known):
    """What the function that is called returns in the end, where it is a known one."""
    function = dict(known).get(name_of(call))
    last = function.body[-1] if isinstance(function, ast.FunctionDef) else None
    return last.value if isinstance(last, ast.Return) else None


def told(call, known):
    """`known` as it is within the function that is called: its arguments are the texts that it is given."""
    return known | {name: form_of(part, known) for name, part in given(call, known).items()}


def given(call, known):
    names = [each.arg for each in known[name_of(call)].args.args if each.arg != "self"]
    return dict(zip(names, call.args, strict=False)) | {each.arg: each.value for each in call.keywords if each.arg}


def shown(form):
    return re.sub(r"…(\s*…)+", "…", " ".join(form.split())).replace("`", "'").replace("|", "/")


def name_of(call):
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def constants(tree):
    """`{name: text}` of a module's own texts, assigned one by one or together."""
    found = {}
    for node in (node for node in tree.body if isinstance(node, ast.Assign)):
        (target,), value = node.targets, node.value
        several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        pairs = zip(target.elts, value.elts, strict=True) if several else [(target, value)]
        for name, text in pairs:
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[name.id] = text.value
    return found


@lru_cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@lru_cache
def defined(path):
    return {node.name: node for node in ast.walk(parsed(path)) if isinstance(node, ast.FunctionDef)}


def functions(path):
    """`{name: function}` of those that a module has, or takes from another of its folder."""
    found = {}
    for node in (node for node in ast.walk(parsed(path)) if isinstance(node, ast.ImportFrom) and node.level):
        other = path.parents[node.level - 1].joinpath(*(node.module or "").split(".")).with_suffix(".py")
        if other.is_file():
            found |= {one.name: defined(other)[one.name] for one in node.names if one.name in defined(other)}
    return found | defined(path)


def errors_of(node, known):
    """`(kind, call, known)` of each error that a statement raises or, calling what raises what it is given, orders."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        made = made_by(node.exc, known)
        if isinstance(made, ast.Call):
            yield name_of(made), made, told(node.exc, known)
        else:
            yield name_of(node.exc), node.exc, known
    elif isinstance(node, ast.Call) and isinstance(function := known.get(name_of(node)), ast.FunctionDef):
        parts = given(node, known)
        for each in (each.exc for each in ast.walk(function) if isinstance(each, ast.Raise)):
            if isinstance(each, ast.Call) and {name_of(each), *(getattr(one, "id", "") for one in each.args)} & set(
                parts
            ):
                kind = parts.get(name_of(each), each.func)
                yield getattr(kind, "id", ""), each, told(node, known)


def raised_in(path):
    """Every `Raised` of a file whose message has words of its own."""
    known, place = functions(path) | constants(parsed(path)), path.relative_to(ROOT)
    for node in ast.walk(parsed(path)):
        for kind, call, said in errors_of(node, known):
            form = shown(" ".join(form_of(part, said) for part in call.args))
            if kind in CODES and len(re.sub(r"\W", "", form)) >= 4:
                yield Raised(form, kind, f"{place}, line {node.lineno}")


@lru_cache
def source():
    """`{form: [Raised]}`; the encoder that is shipped has a copy of what `export/` makes."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for raised in raised_in(path):
                found.setdefault(raised.form, []).append(raised)
    return found


@lru_cache
def table():
    """`{form: (kinds, exit code, cause, mend)}` of the page; a row may have several forms."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `"):
            assert len(cells) == 5, f"expected five cells, got {len(cells)}: {line}"
            forms, kinds, *rest = cells
            for form in re.findall(r"`([^`]+)`", forms):
                assert form not in found, f"two rows have {form!r}"
                found[form] = (tuple(re.findall(r"\w+", kinds)), *rest)
    return found


def test_every_error_has_a_row():
    missing = [raised for form, (raised, *_) in source().items() if form not in table()]
    told = "\n".join(
        f"{raised.place}: add to docs/errors.md, with its cause and mend:\n{raised.row}" for raised in missing
    )
    assert not missing, f"\n{told}"


def test_every_row_is_of_an_error():
    unknown = [form for form in table() if form not in source()]
    told = "\n".join(
        f"no error says this any more; take it out of docs/errors.md, or mend it: {form}" for form in unknown
    )
    assert not unknown, f"\n{told}"


def test_rows_name_the_type_and_the_exit_code():
    for form in source().keys() & table().keys():
        kinds, code, cause, mend = table()[form]
        for kind in {raised.kind for raised in source()[form]}:
            assert kind in kinds, f"{form}: it is of the type {kind}, the table says {kinds}"
            assert code == str(CODES[kind]), f"{form}: it leaves {CODES[kind]}, the table says {code}"
        assert len(cause) > 8 and len(mend) > 8, f"{form}: say its cause and its mend"


def windows(form):
    """Runs of a message's own words, each of `ENOUGH` characters or more, or all that stands between two values."""
    for part in form.split("…"):
        words = part.split()
        for first in range(len(words)):
            lengths = [len(" ".join(words[first:last])) for last in range(first + 1, len(words) + 1)]
            last = next((first + n for n, length in enumerate(lengths, start=1) if length >= ENOUGH), None)
            if last:
                yield " ".join(words[first:last])


@lru_cache
def said_by_tests():
    texts = []
    for path in sorted((ROOT / "tests").glob("test_*.py")):
        if path.name != Path(__file__).name:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            texts += [form_of(node) for node in ast.walk(tree) if isinstance(node, (ast.Constant, ast.JoinedStr))]
    return shown("\n".join(texts).replace("\\", ""))


def test_every_error_is_met_by_a_test():
    def is_met(form):
        found = list(windows(form)) or [part.strip() for part in form.split("…") if part.strip()]
        return any(part in said_by_tests() for part in found)

    unmet = [f"{raised.place}: no test says {form!r}" for form, (raised, *_) in source().items() if not is_met(form)]
    assert not unmet, "\n" + "\n".join(unmet)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n b\t\tc\r\n", "a b c"),
        ("a\x00b\x1b[31m", "a\\u0000b\\u001b[31m"),
        ("\u202eabc", "\\u202eabc"),
        ("\ud800", "?"),
        ("👩\u200d🚀 שלום", "👩\u200d🚀 שלום"),
    ],
)
def test_a_message_is_one_line_without_what_a_terminal_obeys(text, line):
    assert str(InputError(text)) == one_line(text) == line


def test_a_long_message_keeps_its_begin_and_its_end():
    said = str(DistillError("place: " + "x" * 10**6 + "; mend it"))
    assert said.startswith("place: xxx") and said.endswith("xxx; mend it") and " … " in said
    assert len(said) == BEGIN + END + 3
