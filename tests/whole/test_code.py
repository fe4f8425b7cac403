"""How the code reads: short functions with few parameters, loose types nowhere in what is public, plain names."""

import ast
import re
from pathlib import Path

from fixtures.syntax import nodes_of, parsed

import distill

ROOT = Path(__file__).resolve().parents[2]
SOURCE = [
    path
    for folder in ("distill", "teachers", "students", "export")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not path.parent.name.startswith("released")
]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
MOST_LINES, MOST_PARAMETERS, MOST_PROSE = 50, 8, 100
# Functions that take all settings, and modules that read one of a section of theirs.
MOST_WHOLE, MOST_READERS = 15, 10
# They say nothing of what they hold.
EMPTY_NAMES = {"found", "asked", "own", "made"}
# Participles without an ending of their own, and names on "-ed" that are verbs or what another library calls.
PARTICIPLES = re.findall(
    r"\w+",
    "told taught said kept held found made known given shown written drawn gone begun chosen seen sent "
    "built grown lost met spoken broken taken brought thought bought caught felt heard meant paid sold "
    "stood understood ",
)
NO_PARTICIPLES = {"embed", "feed", "need", "seed", "exceed", "timed", "pooled"}
# It is copied into bundles byte for byte, as the next one into folders for a hub.
COPIED = {"encode.py", "distill_ngram.py"}
LOOSE = {"Any", "object"}
# Words that say nothing of a parameter, and signs that an entry of `Args:` says more than its words.
SMALL_WORDS = re.findall(
    r"\w+",
    "the a an of its their that is are was were each to in for by with which it them they and or this these from all "
    "given as at on one own such be has have had what who whose into not any some",
)
TELLING = re.compile(
    r"[`(\d;:]|None|default|ascending|float|relative|shape|\b(or|if|unless|only|such as|without|int)\b"
)
BARE = {"dict", "list", "set", "tuple", "Callable", "Mapping", "Sequence"}


def nodes_in(paths, *kinds):
    """`(path, node)` of the nodes of some kinds in files; a path is made relative once, as nodes are a million."""
    for path in paths:
        place = path.relative_to(ROOT)
        yield from ((place, node) for node in nodes_of(path) if isinstance(node, kinds))


def parameters(node):
    """Those that are named, without `self`."""
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [one for one in every if one.arg not in ("self", "cls")]


def is_command(node):
    return any("click." in ast.unparse(one) for one in node.decorator_list)


def is_configuration(tree, node):
    """The constructor of a Keras model: its arguments are its configuration."""
    classes = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef) and node in one.body]
    return node.name == "__init__" and any("Student" in ast.unparse(base) for one in classes for base in one.bases)


def faults(tree, node):
    """What is wrong with a function: its length, its parameters, the loose types of a public one."""
    count = len(parameters(node)) > MOST_PARAMETERS and not is_command(node) and not is_configuration(tree, node)
    private = node.name.startswith("_") and node.name != "__init__"
    every = [] if private else [*(one.annotation for one in parameters(node)), node.returns]
    # A docstring that explains arguments, results and errors may be long.
    said = node.body[0] if ast.get_docstring(node) is not None else None
    prose = said.end_lineno - said.lineno + 1 if said else 0
    yield from (["too long"] if node.end_lineno - node.lineno - prose >= MOST_LINES else [])
    yield from (["too many parameters"] if count else [])
    yield from (name for one in every if one is not None for name in loose_names(one))


def test_functions_are_short_have_few_parameters_and_are_not_loose_in_their_types():
    assert [
        f"{path}:{node.lineno} {node.name}: {fault}"
        for path, node in nodes_in(SOURCE, ast.FunctionDef)
        for fault in faults(parsed(ROOT / path), node)
    ] == []


def loose_names(annotation):
    """What says too little in an annotation: `Any`, `object`, a container of who knows what."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    filled = {id(node.value) for node in ast.walk(annotation) if isinstance(node, ast.Subscript)}
    for node in ast.walk(annotation):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
        if name in LOOSE or (name in BARE and id(node) not in filled):
            yield name


def test_docstrings_open_with_what_a_thing_is_or_does():
    nodes = nodes_in(SOURCE, ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [(f"{path}:{getattr(node, 'lineno', 1)}", ast.get_docstring(node) or "") for path, node in nodes]
    assert [place for place, text in texts if re.match(r"(What|Which|Whether|Where)\b", text)] == []


def stems(text):
    """The stems of the words of a text, a name or a type."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", text)
    return {
        re.sub(r"(?<=\w{3})(ies|es|s|ing|ed|y|e)$", "", word.lower())
        for word in words
        if word.lower() not in SMALL_WORDS
    }


def idle_entries(node):
    """The arguments of which a docstring only repeats the name, the type or its own first sentence."""
    text = ast.get_docstring(node) or ""
    section = re.search(r"^Args:\n((?: .*\n?)+)", text, re.MULTILINE)
    entries = re.findall(r"^ {4}\*{0,2}(\w+): (.+(?:\n {8}.+)*)", section[1] if section else "", re.MULTILINE)
    types = {one.arg: ast.unparse(one.annotation) for one in parameters(node) if one.annotation is not None}
    for name, entry in entries:
        known = stems(f"{node.name} {name} {types.get(name, '')} {text.partition(chr(10))[0]}")
        if not TELLING.search(entry) and stems(entry) <= known:
            yield name


def test_docstrings_do_not_repeat_the_names_and_types_of_arguments():
    args = "Args:\n        encoder: The encoder.\n        k: The rank."
    idle = f'def read(encoder: Encoder, k: int):\n    """Read.\n\n    {args}\n    """'
    assert list(idle_entries(ast.parse(idle).body[0])) == ["encoder"]
    functions = nodes_in(SOURCE, ast.FunctionDef)
    assert [
        f"{path}:{node.lineno} {node.name}: {name}"
        for path, node in functions
        if node.name not in distill.FACE
        for name in idle_entries(node)
    ] == []


def stored(node):
    """The name that a node gives a value to, if it does."""
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.id if isinstance(node, ast.Name) else node.attr
    return None


def test_names_say_what_they_hold():
    nodes = nodes_in([*SOURCE, *TESTS], ast.arg, ast.Name, ast.Attribute)
    assert [f"{path}:{node.lineno} {stored(node)}" for path, node in nodes if stored(node) in EMPTY_NAMES] == []


def is_prose(node):
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and len(re.findall(r"[^\W\d_]{2,}", node.value)) > 2
    )


def quotes(node):
    """Whether an assert, or what a refusal is matched with, looks for words of a message."""
    if isinstance(node, ast.keyword):
        return node.arg == "match" and any(map(is_prose, ast.walk(node.value)))
    if not isinstance(node, ast.Assert):
        return False
    sought = [
        one.left for one in ast.walk(node.test) if isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.In)
    ]
    return any(is_prose(part) for one in sought for part in ast.walk(one))


def is_participle(name):
    """True for a name that is one past participle, such as `told`, which says neither what is done nor to what."""
    word = name.strip("_")
    ends = re.fullmatch(r"[a-z]+[^e]ed", word) and word not in NO_PARTICIPLES
    return word in PARTICIPLES or bool(ends)


def is_property(node):
    return any("property" in ast.unparse(one) for one in node.decorator_list)


def test_functions_are_verbs():
    assert is_participle("_told") and is_participle("shaped") and not is_participle("shape_batch")
    nodes = nodes_in((path for path in SOURCE if path.name not in COPIED), ast.FunctionDef)
    functions = [(path, node) for path, node in nodes if not is_property(node)]
    assert [f"{path}:{node.lineno} {node.name}" for path, node in functions if is_participle(node.name)] == []


def test_the_words_of_messages_are_free():
    places = [f"{path}:{node.lineno}" for path, node in nodes_in(TESTS, ast.keyword, ast.Assert) if quotes(node)]
    assert len(places) <= MOST_PROSE


def takes_settings(node):
    """Whether a function takes all settings; one that does not say what `settings` are is taken to."""
    every = parameters(node)
    named = [one for one in every if one.annotation is not None and "Settings" in words_of(one.annotation)]
    return bool(named) or any(one.annotation is None and one.arg == "settings" for one in every)


def words_of(annotation):
    return re.findall(r"\w+", ast.unparse(annotation))


def reads_settings(node):
    """Whether an attribute is `settings.section.name`, of a variable or of an object that holds them."""
    inner = node.value.value if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) else None
    return (isinstance(inner, ast.Name) and inner.id == "settings") or (
        isinstance(inner, ast.Attribute) and inner.attr == "settings"
    )


def test_functions_take_the_settings_that_they_need_and_few_take_all():
    whole = [f"{path} {node.name}" for path, node in nodes_in(SOURCE, ast.FunctionDef) if takes_settings(node)]
    readers = {str(path) for path, node in nodes_in(SOURCE, ast.Attribute) if reads_settings(node)}
    assert len(whole) <= MOST_WHOLE, whole
    assert len(readers) <= MOST_READERS, readers
