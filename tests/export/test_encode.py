import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import sentencepiece
from fixtures.commands import run_script
from fixtures.folders import card_in, change_card, names
from fixtures.pieces import trained_tokenizer

from distill.encoders.encoder import encode_ids
from distill.encoders.tokenizer import wordpiece_tokenizer
from distill.errors import InputError
from distill.export import encode
from distill.export.encode import BundleError, Encoder, TextError
from distill.export.form import Form
from distill.export.weights.precision import Precision

TEXTS = ["Where does the Danube end?", "Как называется столица Судана?", "नील नदी", "a", "one two three " * 60]
# A lone surrogate is what broken JSON leaves; ten thousand words are longer than anything trained on.
ODD = ["", "?", "多瑙河在哪里结束？", "broken \ud800 text", "word " * 10_000]
# Of 3 to 68 tokens, growing and shrinking.
SHORT = [" ".join(["river", "Donau", "नदी"][:n] * (n // 3 + 1)) + "?" for n in (9, 1, 5, 12, 2, 30, 3, 16)]


# A file of `{"id", "text"}` lines with a blank one at the end.
LINES = "\n".join(json.dumps({"id": str(number), "text": text}) for number, text in enumerate(TEXTS)) + "\n\n"


@pytest.fixture(scope="module")
def encoder(tiny_bundle):
    return Encoder(tiny_bundle)


@pytest.fixture
def lines(tmp_path):
    (tmp_path / "texts.jsonl").write_text(LINES, encoding="utf-8")
    return tmp_path / "texts.jsonl"


def script(bundle, *arguments):
    """The bundle's own `encode.py` in a process that sees nothing of this checkout."""
    command = [sys.executable, "-I", str(bundle / "encode.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=bundle.parent)


def here(bundle, *arguments):
    """The same in this process, which has the runtime and starts in no time: a `Left`."""
    return run_script(bundle / "encode.py", *arguments, cwd=bundle.parent)


def refused(named, folder, **options):
    with pytest.raises(BundleError, match=named):
        Encoder(folder, **options)


def disguise(folder, name, content):
    """Put other content into a file and make the card fit it, so that only a look inside can tell."""
    (folder / name).write_bytes(content)
    label = {"bytes": len(content), "sha256": encode.sha256(folder / name)}
    change_card(folder, files={**card_in(folder)["files"], name: label})


def test_vectors_and_tokens_are_the_students_in_their_order(encoder, student, tokenizer):
    texts = [*TEXTS, *ODD]
    vectors = encoder.encode(texts)
    assert (vectors.shape, vectors.dtype) == ((len(texts), 16), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    assert np.sum(vectors * student.encode(texts), axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-3)
    assert [encoder.tokenize(text) for text in texts] == tokenizer.encode(texts)


def test_passages_are_found_by_their_vectors_and_their_best_sentences(encoder, sample):
    texts, questions = sample.passage_texts[:30], [q.text for q in sample.select("de", "dev")]
    parts = [re.split(r"(?<=[.!?])\s+", text) for text in texts]
    vectors = encoder.encode(questions)
    best = np.stack([(vectors @ encoder.encode(part).T).max(axis=1) for part in parts], axis=1)
    expected = vectors @ encoder.encode(texts).T + best
    rows, scores = encode.Passages(encoder, texts).nearest(questions, 4)
    np.testing.assert_array_equal(rows, np.argsort(-expected, axis=1)[:, :4])
    assert scores == pytest.approx(np.sort(expected, axis=1)[:, :-5:-1], abs=1e-6)
    # By passages alone, and no more than there are.
    rows, scores = encode.Passages(encoder, texts[:3], split=lambda text: [text]).nearest(questions, 9)
    assert scores == pytest.approx(-np.sort(-2 * vectors @ encoder.encode(texts[:3]).T, axis=1), abs=1e-6)
    assert [part.shape for part in encode.Passages(encoder, []).nearest(questions)] == [(len(questions), 0)] * 2


def test_an_empty_question_and_no_passages_to_find_are_refused(encoder):
    passages = encode.Passages(encoder, TEXTS)
    for question in ("", " \xad\n"):
        with pytest.raises(TextError, match="empty"):
            passages.nearest(["river?", question])
        with pytest.raises(TextError, match="empty"):
            passages.search(question)
    for k in (0, -1):
        with pytest.raises(ValueError, match=f"k: .* {k}"):
            passages.nearest(["river?"], k)
        with pytest.raises(ValueError, match=f"k: .* {k}"):
            passages.search("river?", k)


def test_passages_of_another_encoder_of_the_space_are_asked(tiny_bundle, encoder, sample, tmp_path):
    texts, questions = sample.passage_texts[:30], [q.text for q in sample.select("de", "dev")]
    cutting = Encoder(tiny_bundle, max_length=100)
    pair = encode.Passages(cutting, texts, document_encoder=encoder)
    np.testing.assert_array_equal(pair.vectors, encoder.encode(texts))
    alone, scores = encode.Passages(encoder, texts), pair.nearest(questions, 30)[1]
    best = np.maximum.reduceat(cutting.encode(questions) @ alone.sentence_vectors.T, alone._starts, axis=1)
    expected = cutting.encode(questions) @ alone.vectors.T + best
    assert scores == pytest.approx(-np.sort(-expected, axis=1), abs=1e-6)
    assert encode.Passages(cutting, [], document_encoder=encoder).search("river?").rows.tolist() == []


@pytest.mark.parametrize("turned", [lambda rows: -rows, lambda rows: rows[:, :8]])
def test_passages_of_an_encoder_of_another_space_are_refused(encoder, turned):
    other = SimpleNamespace(encode=lambda texts, role: turned(encoder.encode(texts, role)))
    with pytest.raises(encode.BundleError, match="two spaces"):
        encode.Passages(encoder, TEXTS, document_encoder=other)


def test_a_search_says_how_likely_the_first_passage_answers_where_the_card_does(tiny_bundle, encoder, tmp_path):
    fields = {"best": 1.0, "margin": 2.0, "few": -3.0, "usual": 0.5, "at": [-9.0, 9.0], "probability": [0.0, 0.9]}
    fields |= {"threshold": 0.4}
    folder = shutil.copytree(tiny_bundle, tmp_path / "bundle")
    change_card(folder, answerable={"scores": {"sum": fields}})
    passages, plain = (encode.Passages(one, TEXTS) for one in (Encoder(folder), encoder))
    # Of a pair it is that of the encoder that asks.
    pair = encode.Passages(Encoder(folder), TEXTS, document_encoder=encoder).search("river?")
    assert pair.probability == passages.search("river?").probability
    assert encode.Passages(encoder, ["a", "a"], document_encoder=encoder).nearest(["a"], 2)[0].tolist() == [[0, 1]]
    answer, before = passages.search("river?", 2), plain.search("river?", 2)
    [rows], [scores] = passages.nearest(["river?"], 5)
    assert (answer.rows.tolist(), answer.scores.tolist()) == (rows[:2].tolist(), scores[:2].tolist())
    z = scores[0] + 2 * (scores[0] - scores[1:5].mean()) - 3 * 10 / max(len(TEXTS), 10)
    assert answer.probability == pytest.approx(0.05 * (z + 9), abs=1e-5)
    assert answer.answered == (answer.probability >= 0.4)
    assert (passages.search("river?", threshold=0).answered, passages.search("river?", threshold=1).answered) == (1, 0)
    assert before.rows.tolist() == answer.rows.tolist() and (before.probability, before.answered) == (None, None)
    assert encode.Passages(Encoder(folder), []).search("river?").probability == 0
    for broken in ({"scores": {"sum": {}}}, {"scores": {"sum": {**fields, "at": []}}}, {"scores": 3}, 5):
        change_card(folder, answerable=broken)
        refused("answerable", folder)


def test_a_passage_weighs_as_the_card_of_the_documents_encoder_says(tiny_bundle, encoder, tmp_path):
    folder = shutil.copytree(tiny_bundle, tmp_path / "bundle")
    change_card(folder, passage_weight=0.5)
    weighted, questions = Encoder(folder), ["river?", "rooms?"]
    assert (weighted.passage_weight, encoder.passage_weight) == (0.5, 1)
    texts = [". ".join(pair) for pair in itertools.permutations(TEXTS, 2)]
    plain = encode.Passages(encoder, texts)
    vectors = encoder.encode(questions)
    best = np.maximum.reduceat(vectors @ plain.sentence_vectors.T, plain._starts, axis=1)
    expected = 2 / 3 * vectors @ plain.vectors.T + 4 / 3 * best
    assert not np.array_equal(np.argsort(-expected), np.argsort(-(vectors @ plain.vectors.T + best)))
    for passages in (encode.Passages(weighted, texts), encode.Passages(encoder, texts, document_encoder=weighted)):
        rows, scores = passages.nearest(questions, len(texts))
        assert np.take_along_axis(expected, rows, axis=1) == pytest.approx(-np.sort(-expected), abs=1e-6)
        assert scores == pytest.approx(-np.sort(-expected), abs=1e-6)
    for wrong in (0, -1, 11, True, "1", None, float("nan")):
        change_card(folder, passage_weight=wrong)
        refused("passage_weight", folder)


@pytest.mark.parametrize("text", ['A b. C d? "E!" F', "甲。乙！丙", "नदी। कहाँ?", "no end\nnext", "3.5 m", "", " \n "])
def test_the_plain_sentences_are_cut_behind_marks_and_lose_nothing(text):
    parts = encode.sentences(text)
    assert "".join(parts) == text and all(parts)
    assert len(parts) == {"A": 4, "甲": 3, "न": 2, "n": 2}.get(text[:1], 1 if text else 0)


def test_it_is_an_encoder_that_knows_its_card(encoder, tiny_bundle):
    assert (encoder.name, encoder.dimension, encoder.max_length) == ("small", 16, None)
    assert encoder.card == card_in(tiny_bundle)
    two = Encoder(str(tiny_bundle), threads=2).encode([*TEXTS, *ODD])
    assert two == pytest.approx(encoder.encode([*TEXTS, *ODD]), abs=1e-6)
    told = []
    assert np.array_equal(encoder.encode(TEXTS, "question", told.append), encoder.encode(TEXTS, "document"))
    assert told == [1] * len(TEXTS)
    assert (encoder.encode([]).shape, encoder.encode([]).dtype) == ((0, 16), np.float32)


def test_tokens_by_hand(encoder, tokenizer):
    assert encoder.tokenize("") == [encoder.tokenizer.bos_id(), encoder.tokenizer.eos_id()]
    assert encoder.tokenize("a \ud800 b") == encoder.tokenize("a \ufffd b")
    # Two code units, which stay together.
    assert encoder.tokenize("\U0001f600 a") == tokenizer.encode(["\U0001f600 a"])[0]


def test_soft_hyphens_are_left_out(encoder, tokenizer):
    plain, hyphened = "Die Fährverbindung endet.", "\xadDie Fähr\xadver\xad\xadbindung endet.\xad"
    pieces = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)
    expected = pieces.encode(plain, add_bos=True, add_eos=True)
    assert pieces.encode(hyphened, add_bos=True, add_eos=True) != expected
    assert encoder.tokenize(hyphened) == tokenizer.encode([hyphened])[0] == expected
    np.testing.assert_array_equal(*encoder.encode([plain, hyphened]))
    assert tokenizer.normalize([hyphened]) == tokenizer.normalize([plain])


@pytest.mark.parametrize(
    ("texts", "named"),
    [(["a", None], "NoneType"), (["a", b"bytes"], "bytes"), ([["a"]], "list"), ("", r"\['"), ("One?", r"\['")],
)
def test_what_are_no_texts_is_refused(encoder, texts, named):
    with pytest.raises(TextError, match=named):
        encoder.encode(texts)


def test_a_role_that_is_none_is_refused_and_not_read_without_a_prompt(encoder, tokenizer):
    for role in ("query", "passage", "Question", ""):
        for call, error in ((encoder.encode, TextError), (tokenizer.encode, InputError)):
            with pytest.raises(error, match=f"'{role}'$"):
                call(TEXTS, role)
    assert encoder.tokenize(TEXTS[0], None) == tokenizer.encode(TEXTS[:1], None)[0]


def test_neighbours_and_lengths_that_grow_and_shrink_leave_no_trace(tiny_bundle, encoder):
    # A new interpreter for each text, against one that was resized for all of them.
    texts = [*TEXTS, *SHORT, *reversed(SHORT)]
    alone = [Encoder(tiny_bundle).encode([text])[0] for text in texts]
    assert np.array_equal(encoder.encode(texts), alone)


# Lengths


def test_a_longer_text_is_cut_keeps_eos_and_has_the_vector_of_its_ids(tiny_bundle, student):
    cutting, texts = Encoder(tiny_bundle, max_length=8), [*TEXTS, "", "word " * 10_000]
    ids = student.tokenizer.encode(texts)
    cut = [row if len(row) <= 8 else [*row[:7], row[-1]] for row in ids]
    assert [cutting.tokenize(text) for text in texts] == cut != ids
    assert {row[-1] for row in cut} == {cutting.tokenizer.eos_id()}
    cosines = np.sum(cutting.encode(texts) * encode_ids(student.model, cut), axis=1)
    assert cosines == pytest.approx(np.ones(len(texts)), abs=1e-3)


def test_a_longer_text_is_refused_where_that_is_asked_for(tiny_bundle, encoder):
    lengths = [len(encoder.tokenize(text)) for text in TEXTS]
    refusing = Encoder(tiny_bundle, max_length=max(lengths), long="refuse")
    assert np.array_equal(refusing.encode(TEXTS), encoder.encode(TEXTS))
    refusing = Encoder(tiny_bundle, max_length=max(lengths) - 1, long="refuse")
    for call, texts in ((refusing.encode, TEXTS), (refusing.tokenize, TEXTS[-1])):
        with pytest.raises(TextError, match=f"{max(lengths)}.*{max(lengths) - 1}"):
            call(texts)


def test_options_that_cannot_be_are_refused(tiny_bundle):
    for options, named in (({"max_length": 1}, "^max_length: .* 1$"), ({"long": "split"}, "^long: .*'split'")):
        with pytest.raises(ValueError, match=named):
            Encoder(tiny_bundle, **options)
    assert len(Encoder(tiny_bundle, max_length=2).tokenize(TEXTS[0])) == 2
    assert Encoder(tiny_bundle, long="refuse").encode(["word " * 1000]).shape == (1, 16)


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


@pytest.mark.parametrize(
    ("format_", "table", "least"),
    [("bundle", "int4", 0.97), ("bundle", "int8-row", 0.999), ("bundle", "float32", 0.999999)]
    + [("onnx", "uint8", 0.999), ("onnx", "float32", 0.999999)],
)
def test_every_table_gives_the_students_vectors(artefacts, student, format_, table, least):
    if format_ == "onnx":
        pytest.importorskip("onnxruntime")
    # One piece, as of "?", may be turned far by an int4 table.
    texts = TEXTS if table == "int4" else [*TEXTS, *ODD]
    precision = Precision("float32" if table == "float32" else "int8", table)
    got = Encoder(artefacts(Form(format_, precision)), threads=2).encode(texts)
    assert np.linalg.norm(got, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    assert np.sum(got * student.encode(texts), axis=1).min() > least


# Threads


@pytest.mark.parametrize("format_", ["bundle", "signatures", "onnx"])
def test_threads_that_share_an_encoder_get_their_own_vectors(artefacts, format_):
    if format_ == "onnx":
        pytest.importorskip("onnxruntime")
    form = {"bundle": Form(), "signatures": Form(signatures=(8, 32, 128)), "onnx": Form("onnx")}[format_]
    shared = Encoder(artefacts(form))
    # 8 threads, 80 texts each, of other lengths at the same time.
    texts = [[f"{number} river " * (1 + (number * 7 + row) % 12) for row in range(80)] for number in range(8)]
    expected, together = [shared.encode(part) for part in texts], threading.Barrier(8)

    def work(part):
        together.wait()
        # Ten calls, so that they also begin and end at other times.
        return np.concatenate([shared.encode(part[start : start + 8]) for start in range(0, 80, 8)])

    with ThreadPoolExecutor(8) as pool:
        assert np.array_equal(list(pool.map(work, texts)), expected)


def test_each_thread_has_one_interpreter(tiny_bundle, monkeypatch):
    loaders, load = [], encode.load_interpreter

    def counted(path, threads):
        loaders.append(threading.get_ident())
        return load(path, threads)

    monkeypatch.setattr(encode, "load_interpreter", counted)
    shared, together = Encoder(tiny_bundle), threading.Barrier(4)

    def work(number):
        together.wait()
        for _ in range(3):
            shared.encode(TEXTS)
        together.wait()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    shared.encode(TEXTS)
    # This one's, made when it was loaded, and one each.
    assert len(loaders) == len(set(loaders)) == 5 and threading.get_ident() in loaders


# Prompts and the longest text


def test_texts_are_read_with_their_roles_prompt_and_cut_at_the_longest(copy, encoder, tokenizer, tmp_path):
    disguise(copy, "reading.json", b'{"prompts": {"question": "query: ", "document": "passage: "}, "longest": 9}')
    read = Encoder(copy)
    for role, prompt in (("question", "query: "), ("document", "passage: ")):
        rows = [encode.shortened(ids, 9) for ids in tokenizer.encode([prompt + text for text in TEXTS])]
        assert [read.tokenize(text, role) for text in TEXTS] == rows
        expected = [encoder.encode([prompt + text])[0] for text, ids in zip(TEXTS, rows, strict=True) if len(ids) < 9]
        vectors = [read.encode([text], role)[0] for text, ids in zip(TEXTS, rows, strict=True) if len(ids) < 9]
        np.testing.assert_array_equal(vectors, expected)
    assert [read.tokenize(text, None) for text in TEXTS[:4]] == tokenizer.encode(TEXTS[:4])
    with pytest.raises(TextError, match="9"):
        Encoder(copy, long="refuse").encode(TEXTS)
    # What the texts are is said on the command line, too, and never guessed.
    (tmp_path / "texts.jsonl").write_text(LINES, encoding="utf-8")
    files = tmp_path / "texts.jsonl", tmp_path / "vectors.npy"
    assert "question" in here(copy, *files).err and not files[1].exists()
    for role in ("question", "document"):
        assert here(copy, *files, role).code == 0
        np.testing.assert_array_equal(np.load(files[1]), read.encode(TEXTS, role))
    # Passages are documents, what is asked of them is a question.
    passages = encode.Passages(read, ["a river", "a sea"])
    np.testing.assert_array_equal(passages.vectors, read.encode(["a river", "a sea"], "document"))
    rows, scores = passages.nearest(["which river"], 1)
    cosines = read.encode(["which river"]) @ (passages.vectors + passages.sentence_vectors).T
    assert scores[0, 0] == pytest.approx(cosines.max()) and rows[0, 0] == cosines.argmax()


def test_berts_pieces_are_cut_by_the_script_itself(copy, sample, tmp_path):
    letters = sorted({sign for text in sample.passage_texts for sign in text.lower() if sign.isalnum()})
    words = sorted({word for text in sample.passage_texts for word in text.lower().split() if word.isalnum()})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{sign}" for sign in letters), *words]
    reading = encode.Reading({"question": "Query: "}, 60, encode.Rules())
    tokenizer = wordpiece_tokenizer(list(dict.fromkeys(pieces))[:2000], reading)
    disguise(copy, "tokenizer.model", tokenizer.proto)
    disguise(copy, "reading.json", reading.content())
    read, texts = Encoder(copy), [*TEXTS, *ODD, *sample.passage_texts]
    rows = tokenizer.encode(texts)
    assert [read.tokenize(text) for text in texts] == rows and max(map(len, rows)) == 60
    (tmp_path / "texts.jsonl").write_text(LINES, encoding="utf-8")
    assert here(copy, tmp_path / "texts.jsonl", tmp_path / "vectors.npy", "question").code == 0
    np.testing.assert_array_equal(np.load(tmp_path / "vectors.npy"), read.encode(TEXTS))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b'{"wordpiece": {"lowercase": true}}',
        b'{"wordpiece": true}',
        b'{"prompts": {"title": "a"}}',
        b'{"longest": 0}',
        b'{"cut": 1}',
    ],
)
def test_a_file_that_says_nothing_of_how_to_read_is_named(copy, content):
    disguise(copy, "reading.json", content)
    refused("reading.json: ", copy)


# Bundles that are broken


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", ["encoder.tflite", "tokenizer.model", "encode.py", "card.json"])
def test_a_missing_file_is_named(copy, name, verify):
    (copy / name).unlink()
    refused(f"copy: {name} ", copy, verify=verify)
    refused("nowhere:.*card.json", copy / "nowhere")


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(
    ("name", "kept"), [("encoder.tflite", 0.0), ("encoder.tflite", 0.999), ("tokenizer.model", 0.5)]
)
def test_a_truncated_file_is_told_by_its_size(copy, name, kept, verify):
    # Not left to the runtime: tflite-runtime 2.14 dies of a truncated file.
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[: int(kept * len(content))])
    refused(f"{name}: {int(kept * len(content))} .* {len(content)};", copy, verify=verify)


@pytest.mark.parametrize("name", ["encoder.tflite", "tokenizer.model", "encode.py"])
def test_one_changed_byte_is_told_by_the_sha256_unless_no_hash_is_wanted(copy, name):
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    refused(f"{name}: .*sha256", copy)
    if name == "encode.py":
        assert Encoder(copy, verify=False).encode(["a"]).shape == (1, 16)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("kept", [0.01, 0.5, 0.999, None])
def test_the_runtime_is_the_second_to_refuse_a_broken_model(copy, kept, verify):
    content = (copy / "encoder.tflite").read_bytes()
    disguise(copy, "encoder.tflite", content[: int(kept * len(content))] if kept else b"no model" * 1000)
    refused("encoder.tflite: ", copy, verify=verify)


def test_a_model_that_is_no_onnx_is_refused(artefacts, tmp_path):
    pytest.importorskip("onnxruntime")
    copy = shutil.copytree(artefacts(Form("onnx")), tmp_path / "copy")
    content = (copy / "encoder.onnx").read_bytes()
    for broken in (content[: len(content) // 2], b"no model" * 1000):
        disguise(copy, "encoder.onnx", broken)
        refused("encoder.onnx: ", copy)


def test_a_tokenizer_of_another_size_and_one_that_is_none_are_refused(copy, sample):
    small = trained_tokenizer(sample.passage_texts, vocab_size=500).proto
    for content, figures in ((small, "500 .* 2000;"), (b"", ""), (b"no tokenizer" * 100, "")):
        disguise(copy, "tokenizer.model", content)
        for verify in (True, False):
            refused(f"tokenizer.model: {figures}", copy, verify=verify)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe{}", b"[" * 100_000, b"[]", b'"name"', b"{}"])
def test_a_card_that_is_none_is_refused(copy, content):
    (copy / "card.json").write_bytes(content)
    fields = ", ".join(encode.FIELDS) if content in (b"[]", b'"name"', b"{}") else ""
    refused(f"card.json: .*{fields}", copy)


LACKING = ["name", "format", "dimension", "vocabulary", "max_length", "signatures", "files"]
OTHERWISE = {"dimension": "many", "vocabulary": None, "max_length": "64", "signatures": 8, "files": ["a"], "format": []}


def test_a_key_that_the_card_lacks_or_holds_otherwise_is_named(copy):
    card = card_in(copy)
    for key in LACKING:
        content = {other: card[other] for other in card if other != key}
        (copy / "card.json").write_text(json.dumps(content), encoding="utf-8")
        refused(f"card.json: .*: {key} ", copy)
    for key, value in OTHERWISE.items():
        change_card(copy, **{**card, key: value})
        refused(f"card.json: .*: {key} ", copy)
    for label in (None, {}, {"bytes": 5}, "abc"):
        change_card(copy, **{**card, "files": {"encoder.tflite": label}})
        refused("card.json:.*sha256", copy)


@pytest.mark.parametrize(
    ("form", "changed", "figures"),
    [
        (Form(), {"dimension": 17}, "card.json .*17.*16"),
        (Form(), {"vocabulary": 1999}, "tokenizer.model: 2000.*1999"),
        (Form(), {"signatures": [8, 32]}, r"encoder.tflite: .*\[8, 32\]"),
        (Form(), {"format": "mediapipe"}, "copy: .*'mediapipe'"),
        (Form(max_length=64), {"max_length": 32}, r"encoder.tflite: .*\[1, 64\].* 32;"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_card_of_another_encoder_is_refused(artefacts, tmp_path, form, changed, figures):
    copy = shutil.copytree(artefacts(form), tmp_path / "copy")
    change_card(copy, **changed)
    for verify in (True, False):
        refused(figures, copy, verify=verify)


def test_a_model_that_fails_at_work_is_a_bundle_error(copy, student, monkeypatch):
    # A table of half its rows, which loads and fails at the first id that is not there.
    from distill.export.tflite.convert import convert
    from distill.export.weights import codecs

    whole = codecs.CODECS["uint8"]
    cut = replace(whole, rows=lambda table: tuple(array[:1000] for array in whole.rows(table)))
    monkeypatch.setitem(codecs.CODECS, "uint8", cut)
    disguise(copy, "encoder.tflite", convert(student.model))
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
    refused(f"install {install}", folder)


def test_the_older_runtime_serves_too(tiny_bundle, monkeypatch, encoder):
    from ai_edge_litert.interpreter import Interpreter

    older = types.ModuleType("tflite_runtime.interpreter")
    older.Interpreter = Interpreter
    monkeypatch.setitem(sys.modules, "tflite_runtime", types.ModuleType("tflite_runtime"))
    monkeypatch.setitem(sys.modules, "tflite_runtime.interpreter", older)
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    assert np.array_equal(Encoder(tiny_bundle).encode(TEXTS[:1]), encoder.encode(TEXTS[:1]))


# The script


def test_the_script_and_distill_encode_give_the_same_vectors_in_place_of_old_ones(
    tiny_bundle, lines, encoder, tmp_path
):
    from distill.cli import main

    (tmp_path / "there.npy").write_bytes(b"old")
    done = script(tiny_bundle, lines, tmp_path / "there.npy")
    assert (done.returncode, done.stdout) == (0, "") and names(tmp_path) == ["texts.jsonl", "there.npy"]
    arguments = ["--model", tiny_bundle, "--role", "question", "--input", lines, "--output", tmp_path / "here.npy"]
    with pytest.raises(SystemExit) as left:
        main(["encode", *(str(argument) for argument in arguments)])
    assert left.value.code == 0
    for name in ("there.npy", "here.npy"):
        vectors = np.load(tmp_path / name)
        assert vectors.dtype == np.float32 and np.array_equal(vectors, encoder.encode(TEXTS))


def test_the_script_reads_lines_as_windows_writes_them(tiny_bundle, encoder, tmp_path):
    (tmp_path / "texts.jsonl").write_bytes(LINES.replace("\n", "\r\n").encode("utf-8-sig"))
    done = here(tiny_bundle, tmp_path / "texts.jsonl", tmp_path / "vectors.npy")
    assert (done.code, done.out) == (0, "")
    assert np.array_equal(np.load(tmp_path / "vectors.npy"), encoder.encode(TEXTS))


def test_the_script_imports_nothing_of_ours(tiny_bundle, lines, tmp_path):
    # Without `site` no editable install is on the path, so that `distill` could not even be found.
    code = (
        f"import runpy, sys; sys.path.append({sysconfig.get_path('purelib')!r}); "
        f"sys.argv = ['encode.py', {str(lines)!r}, {str(tmp_path / 'vectors.npy')!r}]; "
        f"runpy.run_path({str(tiny_bundle / 'encode.py')!r}, run_name='__main__'); "
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=120)
    imported = done.stdout.split()
    assert {"numpy", "sentencepiece", "ai_edge_litert"} <= set(imported)
    assert not {"tensorflow", "keras", "distill", "click", "rich"} & set(imported)
    assert (tmp_path / "vectors.npy").is_file()


@pytest.mark.parametrize(
    ("content", "target", "place"),
    [
        ('{"id": "1", "text": "a"}\n{"id"', "vectors.npy", "line 2: "),
        ('{"id": "1"}', "vectors.npy", "line 1: "),
        ('["no object"]', "vectors.npy", "line 1: "),
        ('{"id": "1", "text": 5}', "vectors.npy", "line 1: "),
        (None, "vectors.npy", "texts.jsonl"),
        (LINES.encode("utf-16"), "vectors.npy", "texts.jsonl: not UTF-8 at byte 0"),
        ("", "vectors.npy", "tokenizer.model"),
        (LINES, "copy", "copy"),
        (LINES, "nowhere/vectors.npy", "nowhere"),
        (LINES, "link.npy", "link.npy"),
        (LINES, "gone.npy", "gone.npy"),
    ],
    ids=[
        "not-json",
        "no-text",
        "no-object",
        "number",
        "no-file",
        "utf-16",
        "no-tokenizer",
        "taken",
        "nowhere",
        "link",
        "dangling",
    ],
)
def test_what_cannot_be_done_is_one_line_on_standard_error_and_changes_no_file(copy, tmp_path, content, target, place):
    if content is not None:
        (tmp_path / "texts.jsonl").write_bytes(content if isinstance(content, bytes) else f"{content}\n".encode())
    if place == "tokenizer.model":
        (copy / place).unlink()
    (tmp_path / "vectors.npy").write_bytes(b"old")
    (tmp_path / "link.npy").symlink_to("vectors.npy")
    (tmp_path / "gone.npy").symlink_to("nowhere.npy")
    before = sorted(tmp_path.rglob("*"))
    done = here(copy, tmp_path / "texts.jsonl", tmp_path / target)
    assert done.code == 1 and done.is_one_error and place in done.err
    assert sorted(tmp_path.rglob("*")) == before and (tmp_path / "vectors.npy").read_bytes() == b"old"
    assert (tmp_path / "link.npy").is_symlink() and (tmp_path / "gone.npy").is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_at_the_output_stays_one(copy, lines, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = script(copy, lines, tmp_path / "pipe")
    assert done.returncode == 1 and "pipe" in done.stderr.splitlines()[-1] and (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("arguments", [[], ["texts.jsonl"], ["a", "b", "c"], ["a", "b", "document", "d"]])
def test_wrong_arguments_show_the_usage(arguments):
    with pytest.raises(SystemExit, match="^usage: "):
        encode.main(arguments)
