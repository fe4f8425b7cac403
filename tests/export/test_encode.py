import io
import json
import shutil
import subprocess
import sys
import sysconfig
import threading
import types
from dataclasses import replace

import numpy as np
import pytest

from distill.encoders.encoder import KerasEncoder
from distill.export import encode
from distill.export.encode import BundleError, Encoder, TextError
from distill.export.form import Form
from distill.export.weights.precision import Precision

TEXTS = ["Where does the Danube end?", "Как называется столица Судана?", "नील नदी", "a", "one two three " * 60]
# A lone surrogate is what broken JSON leaves; ten thousand words are longer than anything trained on.
ODD = ["", "?", "多瑙河在哪里结束？", "broken \ud800 text", "word " * 10_000]
# Of 3 to 68 tokens, growing and shrinking.
SHORT = [" ".join(["river", "Donau", "नदी"][:n] * (n // 3 + 1)) + "?" for n in (9, 1, 5, 12, 2, 30, 3, 16)]


@pytest.fixture(scope="module")
def bundle(tiny_bundle):
    return tiny_bundle


@pytest.fixture(scope="module")
def student(tiny_folder):
    return KerasEncoder.load(tiny_folder)


@pytest.fixture(scope="module")
def encoder(bundle):
    return Encoder(bundle)


@pytest.fixture
def copy(bundle, tmp_path):
    """A bundle to break."""
    return shutil.copytree(bundle, tmp_path / "copy")


@pytest.fixture
def lines(tmp_path):
    """A file of `{"id", "text"}` lines with a blank one at the end."""
    path = tmp_path / "texts.jsonl"
    rows = [json.dumps({"id": str(number), "text": text}) for number, text in enumerate(TEXTS)]
    path.write_text("\n".join(rows) + "\n\n", encoding="utf-8")
    return path


def script(bundle, *arguments, flags=("-I",), python=sys.executable):
    """The bundle's own `encode.py` in a process that sees nothing of this checkout."""
    command = [str(python), *flags, str(bundle / "encode.py"), *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=bundle.parent)


def test_vectors_and_tokens_are_the_students_in_their_order(encoder, student, tokenizer):
    texts = [*TEXTS, *ODD]
    vectors = encoder.encode(texts)
    assert (vectors.shape, vectors.dtype) == ((len(texts), 16), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    assert np.sum(vectors * student.encode(texts), axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-3)
    assert [encoder.tokenize(text) for text in texts] == tokenizer.encode(texts)


def test_it_is_an_encoder_that_knows_its_card(encoder, bundle):
    assert (encoder.name, encoder.dimension, encoder.max_length) == ("small", 16, None)
    assert encoder.card == json.loads((bundle / "card.json").read_text(encoding="utf-8"))
    assert np.array_equal(Encoder(str(bundle)).encode(TEXTS[:1]), encoder.encode(TEXTS[:1]))
    told = []
    assert np.array_equal(encoder.encode(TEXTS, "question", told.append), encoder.encode(TEXTS, "document"))
    assert told == [1] * len(TEXTS)
    assert (encoder.encode([]).shape, encoder.encode([]).dtype) == ((0, 16), np.float32)


def test_tokens_by_hand(encoder, tokenizer):
    assert encoder.tokenize("") == [encoder.tokenizer.bos_id(), encoder.tokenizer.eos_id()]
    assert encoder.tokenize("a \ud800 b") == encoder.tokenize("a \ufffd b")
    # Two code units, which stay together.
    assert encoder.tokenize("\U0001f600 a") == tokenizer.encode(["\U0001f600 a"])[0]


def test_a_text_does_not_feel_its_neighbours(encoder):
    together = encoder.encode(TEXTS)
    assert np.array_equal(together[::-1], encoder.encode(TEXTS[::-1]))
    assert np.array_equal(together[2:3], encoder.encode(TEXTS[2:3]))
    assert np.array_equal(np.concatenate([together, together]), encoder.encode(TEXTS + TEXTS))


@pytest.mark.parametrize(
    ("texts", "named"),
    [(["a", None], "NoneType"), (["a", b"bytes"], "bytes"), ([["a"]], "list"), ("", r"\['"), ("One?", r"\['")],
)
def test_what_are_no_texts_is_refused(encoder, texts, named):
    with pytest.raises(TextError, match=named):
        encoder.encode(texts)


def test_lengths_that_grow_and_shrink_leave_no_trace(bundle):
    # A new interpreter for each text, against one that was resized for all of them.
    used = Encoder(bundle)
    for text in [*SHORT, *reversed(SHORT)]:
        assert np.array_equal(used.encode([text]), Encoder(bundle).encode([text]))


# Lengths


def test_a_longer_text_is_cut_and_keeps_eos(bundle, encoder):
    cutting = Encoder(bundle, max_length=8)
    for text in [*TEXTS, "", "word " * 10_000]:
        ids = encoder.tokenize(text)
        expected = ids if len(ids) <= 8 else [*ids[:7], ids[-1]]
        assert cutting.tokenize(text) == expected and expected[-1] == encoder.tokenizer.eos_id()


def test_a_cut_text_has_the_vector_of_its_ids(bundle, student):
    from distill.encoders.encoder import encode_ids

    ids = student.tokenizer.encode(TEXTS)
    cut = [row if len(row) <= 8 else [*row[:7], row[-1]] for row in ids]
    assert cut != ids
    got, expected = Encoder(bundle, max_length=8).encode(TEXTS), encode_ids(student.model, cut)
    assert np.sum(got * expected, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-3)


def test_a_longer_text_is_refused_where_that_is_asked_for(bundle, encoder):
    lengths = [len(encoder.tokenize(text)) for text in TEXTS]
    refusing = Encoder(bundle, max_length=max(lengths), long="refuse")
    assert np.array_equal(refusing.encode(TEXTS), encoder.encode(TEXTS))
    refusing = Encoder(bundle, max_length=max(lengths) - 1, long="refuse")
    for call, texts in ((refusing.encode, TEXTS), (refusing.tokenize, TEXTS[-1])):
        with pytest.raises(TextError, match=f"{max(lengths)}.*{max(lengths) - 1}"):
            call(texts)


@pytest.mark.parametrize(
    ("options", "named"), [({"max_length": 1}, "^max_length: .* 1$"), ({"long": "split"}, "^long: .*'split'")]
)
def test_options_that_cannot_be_are_refused(bundle, options, named):
    with pytest.raises(ValueError, match=named):
        Encoder(bundle, **options)
    assert len(Encoder(bundle, max_length=2).tokenize(TEXTS[0])) == 2
    assert Encoder(bundle, long="refuse").encode(["word " * 1000]).shape == (1, 16)


@pytest.mark.parametrize("form", [Form(max_length=64), Form(signatures=(8, 32, 128))], ids=["fixed", "signatures"])
def test_lengths_that_are_fixed_give_the_vectors_of_any_and_cut_or_refuse_the_rest(artefacts, form, encoder):
    fixed, limit, long = Encoder(artefacts(form)), form.longest, "word " * 400
    assert fixed.max_length == (64 if form.max_length else 128)
    # Also where a text fills a length to its last token, and where it is one token more.
    texts = [*TEXTS[:4], *SHORT, "", *(" a" * n for n in (5, 6, 7, 29, 30, 31, 61, 62))]
    assert {8, 9, 32, 33, 64} <= {len(encoder.tokenize(text)) for text in texts}
    fitting = [text for text in texts if len(encoder.tokenize(text)) <= limit]
    assert len(fitting) >= len(texts) - 1
    got, expected = fixed.encode(fitting), encoder.encode(fitting)
    assert np.sum(got * expected, axis=1) == pytest.approx(np.ones(len(fitting)), abs=1e-4)
    ids = encoder.tokenize(long)
    assert fixed.tokenize(long) == [*ids[: limit - 1], ids[-1]]
    # More than it holds cannot be asked for, less can.
    assert len(Encoder(artefacts(form), max_length=1000).tokenize(long)) == limit
    shorter = Encoder(artefacts(form), max_length=10)
    assert len(shorter.tokenize(long)) == 10
    assert np.linalg.norm(shorter.encode([long])) == pytest.approx(1, abs=1e-5)
    with pytest.raises(TextError, match=f"{len(ids)}.* {limit} "):
        Encoder(artefacts(form), long="refuse").encode(["short", long])


@pytest.mark.parametrize("table", ["int4", "int8-row", "float32"])
def test_every_table_gives_the_students_vectors(artefacts, student, table):
    dense = "float32" if table == "float32" else "int8"
    got = Encoder(artefacts(Form(precision=Precision(dense, table)))).encode(TEXTS)
    cosines = np.sum(got * student.encode(TEXTS), axis=1)
    assert cosines.min() > {"int4": 0.97, "int8-row": 0.999, "float32": 0.999999}[table]


@pytest.mark.parametrize("precision", [Precision(), Precision("float32", "float32")], ids=["int8", "float32"])
def test_onnx_is_run_by_onnxruntime(artefacts, student, precision):
    pytest.importorskip("onnxruntime")
    loaded = Encoder(artefacts(Form("onnx", precision)), threads=2)
    got = loaded.encode([*TEXTS, *ODD])
    assert (got.shape, got.dtype, loaded.dimension) == ((10, 16), np.float32, 16)
    assert np.linalg.norm(got, axis=1) == pytest.approx(np.ones(10), abs=1e-5)
    assert np.sum(got * student.encode([*TEXTS, *ODD]), axis=1) == pytest.approx(np.ones(10), abs=1e-3)
    assert len(Encoder(artefacts(Form("onnx", precision)), max_length=8).tokenize(TEXTS[-1])) == 8


# Threads


def test_threads_of_an_inference_change_no_vector(bundle, encoder):
    assert Encoder(bundle, threads=2).encode([*TEXTS, *ODD]) == pytest.approx(encoder.encode([*TEXTS, *ODD]), abs=1e-6)


@pytest.mark.parametrize("format_", ["bundle", "signatures", "onnx"])
def test_threads_that_share_an_encoder_get_their_own_vectors(artefacts, format_):
    if format_ == "onnx":
        pytest.importorskip("onnxruntime")
    form = {"bundle": Form(), "signatures": Form(signatures=(8, 32, 128)), "onnx": Form("onnx")}[format_]
    shared = Encoder(artefacts(form))
    # 8 threads, 300 texts each, of other lengths at the same time.
    texts = [[f"{number} river " * (1 + (number * 7 + row) % 12) for row in range(300)] for number in range(8)]
    expected = [shared.encode(part) for part in texts]
    vectors, together = [None] * 8, threading.Barrier(8)

    def work(number):
        together.wait()
        # Ten calls, so that they also begin and end at other times.
        parts = [shared.encode(texts[number][start : start + 30]) for start in range(0, 300, 30)]
        vectors[number] = np.concatenate(parts)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(8):
        assert np.array_equal(vectors[number], expected[number]), number


def test_each_thread_has_one_interpreter(bundle, monkeypatch):
    loaders, load = [], encode.load_interpreter

    def counted(path, threads):
        loaders.append(threading.get_ident())
        return load(path, threads)

    monkeypatch.setattr(encode, "load_interpreter", counted)
    shared, together = Encoder(bundle), threading.Barrier(4)

    def work():
        together.wait()
        for _ in range(3):
            shared.encode(TEXTS)
        together.wait()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shared.encode(TEXTS)
    # This one's, made when it was loaded, and one each.
    assert len(loaders) == len(set(loaders)) == 5 and threading.get_ident() in loaders


# Bundles that are broken


def card_of(folder):
    return json.loads((folder / "card.json").read_text(encoding="utf-8"))


def write_card(folder, card):
    (folder / "card.json").write_text(json.dumps(card), encoding="utf-8")


def disguise(folder, name, content):
    """Put other content into a file and make the card fit it, so that only a look inside can tell."""
    (folder / name).write_bytes(content)
    card = card_of(folder)
    card["files"][name] = {"bytes": len(content), "sha256": encode.sha256(folder / name)}
    write_card(folder, card)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", ["encoder.tflite", "tokenizer.model", "encode.py", "card.json"])
def test_a_missing_file_is_named(copy, name, verify):
    (copy / name).unlink()
    with pytest.raises(BundleError, match=f"copy: {name} "):
        Encoder(copy, verify=verify)
    with pytest.raises(BundleError, match="nowhere:.*card.json"):
        Encoder(copy / "nowhere")


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(
    ("name", "kept"), [("encoder.tflite", 0.0), ("encoder.tflite", 0.999), ("tokenizer.model", 0.5)]
)
def test_a_truncated_file_is_told_by_its_size(copy, name, kept, verify):
    # Not left to the runtime: tflite-runtime 2.14 dies of a truncated file.
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[: int(kept * len(content))])
    with pytest.raises(BundleError, match=f"{name}: {int(kept * len(content))} .* {len(content)};"):
        Encoder(copy, verify=verify)


@pytest.mark.parametrize("name", ["encoder.tflite", "tokenizer.model", "encode.py"])
def test_one_changed_byte_is_told_by_the_sha256_unless_no_hash_is_wanted(copy, name):
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    with pytest.raises(BundleError, match=f"{name}: .*sha256"):
        Encoder(copy)
    if name == "encode.py":
        assert Encoder(copy, verify=False).encode(["a"]).shape == (1, 16)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("kept", [0.01, 0.5, 0.999, None])
def test_the_runtime_is_the_second_to_refuse_a_broken_model(copy, kept, verify):
    content = (copy / "encoder.tflite").read_bytes()
    disguise(copy, "encoder.tflite", content[: int(kept * len(content))] if kept else b"no model" * 1000)
    with pytest.raises(BundleError, match="encoder.tflite: "):
        Encoder(copy, verify=verify)


def test_a_model_that_is_no_onnx_is_refused(artefacts, tmp_path):
    pytest.importorskip("onnxruntime")
    copy = shutil.copytree(artefacts(Form("onnx")), tmp_path / "copy")
    content = (copy / "encoder.onnx").read_bytes()
    for broken in (content[: len(content) // 2], b"no model" * 1000):
        disguise(copy, "encoder.onnx", broken)
        with pytest.raises(BundleError, match="encoder.onnx: "):
            Encoder(copy)


@pytest.fixture(scope="module")
def small_tokenizer(sample):
    """Of 500 pieces, where the encoder has 2,000."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sample.passage_texts), model_writer=model, vocab_size=500, minloglevel=2
    )
    return model.getvalue()


@pytest.mark.parametrize("verify", [True, False])
def test_a_tokenizer_of_another_size_and_one_that_is_none_are_refused(copy, small_tokenizer, verify):
    for content, figures in ((small_tokenizer, "500 .* 2000;"), (b"", ""), (b"no tokenizer" * 100, "")):
        disguise(copy, "tokenizer.model", content)
        with pytest.raises(BundleError, match=f"tokenizer.model: {figures}"):
            Encoder(copy, verify=verify)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe{}", b"[" * 100_000, b"[]", b'"name"', b"{}"])
def test_a_card_that_is_none_is_refused(copy, content):
    (copy / "card.json").write_bytes(content)
    fields = ", ".join(encode.FIELDS) if content in (b"[]", b'"name"', b"{}") else ""
    with pytest.raises(BundleError, match=f"card.json: .*{fields}"):
        Encoder(copy)


LACKING = ["name", "format", "dimension", "vocabulary", "max_length", "signatures", "files"]
OTHERWISE = {"dimension": "many", "vocabulary": None, "max_length": "64", "signatures": 8, "files": ["a"], "format": []}


def test_a_key_that_the_card_lacks_or_holds_otherwise_is_named(copy):
    card = card_of(copy)
    cards = [(key, {other: card[other] for other in card if other != key}) for key in LACKING]
    cards += [(key, {**card, key: value}) for key, value in OTHERWISE.items()]
    for key, content in cards:
        write_card(copy, content)
        with pytest.raises(BundleError, match=f"card.json: .*: {key} "):
            Encoder(copy)
    for label in (None, {}, {"bytes": 5}, "abc"):
        write_card(copy, {**card, "files": {"encoder.tflite": label}})
        with pytest.raises(BundleError, match="card.json:.*sha256"):
            Encoder(copy)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(
    ("changed", "figures"),
    [
        ({"dimension": 17}, "card.json .*17.*16"),
        ({"vocabulary": 1999}, "tokenizer.model: 2000.*1999"),
        ({"signatures": [8, 32]}, r"encoder.tflite: .*\[8, 32\]"),
        ({"format": "mediapipe"}, "copy: .*'mediapipe'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_card_of_another_encoder_is_refused(copy, changed, figures, verify):
    write_card(copy, {**card_of(copy), **changed})
    with pytest.raises(BundleError, match=figures):
        Encoder(copy, verify=verify)


def test_a_card_of_another_length_is_refused(artefacts, tmp_path):
    copy = shutil.copytree(artefacts(Form(max_length=64)), tmp_path / "copy")
    write_card(copy, {**card_of(copy), "max_length": 32})
    with pytest.raises(BundleError, match=r"encoder.tflite: .*\[1, 64\].* 32;"):
        Encoder(copy)


def test_a_model_that_fails_at_work_is_a_bundle_error(copy, tiny_folder, monkeypatch):
    # A table of half its rows, which loads and fails at the first id that is not there.
    from distill.export.tflite.convert import convert
    from distill.export.weights import codecs

    whole = codecs.CODECS["uint8"]
    cut = replace(whole, rows=lambda table: tuple(array[:1000] for array in whole.rows(table)))
    monkeypatch.setitem(codecs.CODECS, "uint8", cut)
    disguise(copy, "encoder.tflite", convert(KerasEncoder.load(tiny_folder).model))
    with pytest.raises(BundleError, match="^small: "):
        Encoder(copy).encode(["多瑙河在哪里结束？"])


# Runtimes


@pytest.mark.parametrize(
    ("form", "packages", "install"),
    [
        (Form(), ("ai_edge_litert.interpreter", "tflite_runtime.interpreter"), "ai-edge-litert"),
        (Form("onnx"), ("onnxruntime",), "onnxruntime"),
    ],
    ids=["bundle", "onnx"],
)
def test_without_a_runtime_it_says_what_to_install(artefacts, monkeypatch, form, packages, install):
    if form.format == "onnx":
        pytest.importorskip("onnxruntime")
    folder = artefacts(form)
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BundleError, match=f"install {install}"):
        Encoder(folder)


def test_the_older_runtime_serves_too(bundle, monkeypatch, encoder):
    from ai_edge_litert.interpreter import Interpreter

    older = types.ModuleType("tflite_runtime.interpreter")
    older.Interpreter = Interpreter
    monkeypatch.setitem(sys.modules, "tflite_runtime", types.ModuleType("tflite_runtime"))
    monkeypatch.setitem(sys.modules, "tflite_runtime.interpreter", older)
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    assert np.array_equal(Encoder(bundle).encode(TEXTS[:1]), encoder.encode(TEXTS[:1]))


# The script


def test_the_script_and_distill_encode_give_the_same_vectors(bundle, lines, encoder, tmp_path):
    from distill.cli import main

    done = script(bundle, lines, tmp_path / "there.npy")
    assert (done.returncode, done.stdout) == (0, "")
    arguments = ["--model", bundle, "--role", "question", "--input", lines, "--output", tmp_path / "here.npy"]
    with pytest.raises(SystemExit) as left:
        main(["encode", *(str(argument) for argument in arguments)])
    assert left.value.code == 0
    for name in ("there.npy", "here.npy"):
        vectors = np.load(tmp_path / name)
        assert vectors.dtype == np.float32 and np.array_equal(vectors, encoder.encode(TEXTS))


def test_the_script_imports_nothing_of_ours(bundle, lines, tmp_path):
    # Without `site` no editable install is on the path, so that `distill` could not even be found.
    code = (
        f"import runpy, sys; sys.path.append({sysconfig.get_path('purelib')!r}); "
        f"sys.argv = ['encode.py', {str(lines)!r}, {str(tmp_path / 'vectors.npy')!r}]; "
        f"runpy.run_path({str(bundle / 'encode.py')!r}, run_name='__main__'); "
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=120)
    imported = done.stdout.split()
    assert {"numpy", "sentencepiece", "ai_edge_litert"} <= set(imported)
    assert not {"tensorflow", "keras", "distill", "click", "rich"} & set(imported)
    assert (tmp_path / "vectors.npy").is_file()


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("{not json", "line 1"),
        ('{"id": "1"}', "line 1"),
        ('["no object"]', "line 1"),
        ('{"id": "1", "text": 5}', ""),
        (None, "texts.jsonl"),
        ("", "tokenizer.model"),
    ],
    ids=["not-json", "no-text", "no-object", "number", "no-file", "no-tokenizer"],
)
def test_what_cannot_be_encoded_is_one_line_on_standard_error(copy, tmp_path, content, place):
    path = tmp_path / "texts.jsonl"
    if content is not None:
        path.write_text(content + "\n", encoding="utf-8")
    if place == "tokenizer.model":
        (copy / place).unlink()
    done = script(copy, path, tmp_path / "vectors.npy")
    # The runtime may have written a line of its own before.
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and last.startswith("error: ") and place in last and "Traceback" not in done.stderr
    assert not (tmp_path / "vectors.npy").exists()


@pytest.mark.parametrize("arguments", [[], ["texts.jsonl"], ["a", "b", "c"]])
def test_wrong_arguments_show_the_usage(arguments):
    with pytest.raises(SystemExit, match="^usage: "):
        encode.main(arguments)


@pytest.mark.parametrize("target", ["taken", "nowhere/vectors.npy"])
def test_vectors_that_cannot_be_written_leave_nothing(bundle, lines, tmp_path, target):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine").touch()
    before = sorted(path.name for path in tmp_path.rglob("*"))
    done = script(bundle, lines, tmp_path / target)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_an_earlier_file_is_replaced_only_by_a_whole_one(bundle, lines, tmp_path):
    (tmp_path / "vectors.npy").write_bytes(b"old")
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "1", "text": "a"}\n{"id"', encoding="utf-8")
    done = script(bundle, bad, tmp_path / "vectors.npy")
    assert done.returncode == 1 and "error: line 2: " in done.stderr
    assert (tmp_path / "vectors.npy").read_bytes() == b"old"
    assert script(bundle, lines, tmp_path / "vectors.npy").returncode == 0
    assert np.load(tmp_path / "vectors.npy").shape == (len(TEXTS), 16)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.jsonl", "texts.jsonl", "vectors.npy"]
