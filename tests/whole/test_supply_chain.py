"""No source of the package reads what could run code."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [path for folder in ("distill", "teachers", "students", "export") for path in (ROOT / folder).rglob("*.py")]
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml", "ruamel"}
CALLS = {"eval", "exec", "compile", "__import__"}
# Of yaml, whose other loaders make any object: the one that makes plain values alone.
PLAIN = {"yaml": {"SafeLoader", "YAMLError"}}
# Attribute calls that other things have too: `model.compile`, `re.compile`.
LOADERS = {"torch.load", "yaml.load", "pickle.load", "pickle.loads", "joblib.load", "os.system", "os.popen"}


def dangers(source):
    """`[(line, what)]` of a source that could run code that somebody else wrote."""
    return [(node.lineno, name) for node in ast.walk(ast.parse(source)) if (name := danger(node))]


def danger(node):
    if isinstance(node, ast.Import):
        return next((name.name for name in node.names if name.name.split(".")[0] in MODULES), None)
    if isinstance(node, ast.ImportFrom):
        if not node.level and {one.name for one in node.names} <= PLAIN.get(node.module, set()):
            return None
        return node.module if not node.level and node.module.split(".")[0] in MODULES else None
    return called(node) if isinstance(node, ast.Call) else None


def called(node):
    name, told = ast.unparse(node.func), {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
    if name in CALLS | LOADERS:
        return name
    last = name.split(".")[-1]
    if name in ("np.load", "numpy.load") and told.get("allow_pickle") != "False":
        return f"{name} without allow_pickle=False"
    if last == "load_model" and told.get("safe_mode") != "True":
        return f"{name} without safe_mode=True"
    if last in ("from_pretrained", "SentenceTransformer") and told.get("trust_remote_code", "False") != "False":
        return f"{name} with trust_remote_code"
    for word, value in (("shell", "True"), ("trust_remote_code", "True"), ("weights_only", "False")):
        if told.get(word) == value:
            return f"{name} with {word}={value}"
    return None


def test_a_source_runs_no_code_that_it_reads():
    assert {path.relative_to(ROOT).parts[0] for path in SOURCES} == {"distill", "teachers", "students", "export"}
    assert len(SOURCES) > 100
    read = {str(path): dangers(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {path: lines for path, lines in read.items() if lines} == {}


DANGEROUS = (
    "import numpy as np\nnp.load(path)",
    "import numpy as np\nnp.load(path, allow_pickle=True)",
    "import numpy as np\nnp.load(path, allow_pickle=flag)",
    "import pickle",
    "from pickle import load",
    "import yaml",
    "from yaml import Loader",
    "from yaml import SafeLoader, load",
    "def f():\n    import joblib",
    "torch.load(path)",
    "eval(text)",
    "exec(compile(text, name, 'exec'))",
    "keras.saving.load_model(path, compile=False)",
    "load_model(path, safe_mode=False)",
    "AutoModel.from_pretrained(name, trust_remote_code=True)",
    "load(name, trust_remote_code=True)",
    "subprocess.run(command, shell=True)",
    "os.system(command)",
)
SAFE = (
    "np.load(path, allow_pickle=False)",
    "keras.saving.load_model(path, compile=False, safe_mode=True)",
    "model.compile(optimizer)\nre.compile('a')\nops.exec_module(1)",
    "from .pickle import load",
    "from yaml import SafeLoader, YAMLError",
    "AutoModel.from_pretrained(name, trust_remote_code=False)",
)


def test_what_is_looked_for_is_found_and_what_is_safe_let_through():
    assert [source for source in DANGEROUS if not dangers(source)] == []
    assert [source for source in SAFE if dangers(source)] == []
