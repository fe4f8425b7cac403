"""What is exported is the encoder as it is loaded: texts in 12 languages, words and spellings among them, by format."""

import json
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest
from fixtures.plain_c import program

import distill
from distill.encoders.catalog.bundle import released_folder
from distill.encoders.catalog.loading import load_keras_encoder
from distill.encoders.tokenizer import Tokenizer, without_spellings
from distill.export.artefact import write_artefact
from distill.export.form import Form
from distill.export.formats.format import load_artefact
from distill.export.student import StoredEncoder, form_of_bundle
from distill.export.weights.precision import Precision

MODELS = ("multi12-ngram", "multi12-static")
FLOAT = Precision("float32", "float32")
# Texts of a language; as many as half of them differ without spellings, where the sample has these.
MANY = 16
# What a page does, without a page: the program in WebAssembly, the encoder's file, a text a line.
NODE = """
const fs = require("fs"), [folder, texts, output] = process.argv.slice(1);
WebAssembly.instantiate(fs.readFileSync(`${folder}/distill.wasm`), {}).then(({ instance }) => {
  const calls = instance.exports, put = (bytes) => {
    const at = calls.reserve(bytes.length);
    new Uint8Array(calls.memory.buffer, at, bytes.length).set(bytes);
    return at;
  };
  const encoder = fs.readFileSync(`${folder}/encoder.bin`);
  if (calls.open_encoder(put(encoder), encoder.length)) throw new Error("not opened");
  const rows = JSON.parse(fs.readFileSync(texts, "utf8")).map((text) => {
    const bytes = Buffer.from(text), at = put(bytes);
    if (calls.encode(at, bytes.length)) throw new Error(text);
    return [...new Float32Array(calls.memory.buffer, calls.vector_of(), calls.dimension())];
  });
  fs.writeFileSync(output, JSON.stringify(rows));
});
"""


@pytest.fixture(scope="module")
def questions():
    """`{model: {language: texts}}`: questions as they are and in lower case, first those that spellings change."""
    known = distill.load_dataset("sample").questions
    lines = {language: [question.text for question in by_id.values()] for language, by_id in known.items()}
    return {name: {language: chosen(name, rows) for language, rows in lines.items()} for name in MODELS}


@cache
def tokenizers(name):
    tokenizer = Tokenizer.load(released_folder(name) / "tokenizer.model")
    return tokenizer, without_spellings(tokenizer)


def chosen(name, lines):
    lines = list(dict.fromkeys([*lines, *(line.lower() for line in lines)]))
    pairs = zip(lines, *(each.encode(lines) for each in tokenizers(name)), strict=True)
    changed = [line for line, spelled, bare in pairs if spelled != bare][: MANY // 2]
    return [*changed, *(line for line in lines if line not in changed)][:MANY]


@cache
def expected(name, texts):
    """The vectors of MODEL as it is loaded."""
    return distill.load_encoder(name).encode(list(texts))


@pytest.fixture(scope="module")
def student():
    return load_keras_encoder("multi12-static")


def require_same(name, questions, vectors_of, least=0.99):
    """By language: cosine at least .999 in the mean, and the least."""
    texts = [text for rows in questions[name].values() for text in rows]
    wanted = expected(name, tuple(texts))
    cosines = np.sum(np.asarray(vectors_of(texts), dtype=np.float32) * wanted, axis=1).reshape(-1, MANY)
    assert len(cosines) == 12
    assert cosines.mean(axis=1).min() >= 0.999 and cosines.min() >= least, dict(
        zip(questions[name], cosines.min(axis=1), strict=True)
    )


def test_the_texts_are_such_as_another_encoder_reads_otherwise(questions):
    for name, languages in (
        ("multi12-ngram", {"el", "es", "hi", "ro", "tr", "de", "en"}),
        ("multi12-static", {"el", "hi"}),
    ):
        spelled, bare = tokenizers(name)
        for language in languages:
            rows = questions[name][language]
            assert sum(a != b for a, b in zip(spelled.encode(rows), bare.encode(rows), strict=True)) >= MANY // 2
        assert all(len(set(rows)) == MANY for rows in questions[name].values())


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """`kept(name, format)`: the folder of a format that takes a bundle as it is stored."""
    folder = tmp_path_factory.mktemp("kept")

    @cache
    def make(name, format_):
        source = released_folder(name)
        form = form_of_bundle(source, Form(format_))
        write_artefact(StoredEncoder(source), folder / f"{name}-{format_}", form, name)
        return folder / f"{name}-{format_}"

    return make


@pytest.mark.parametrize("name", MODELS)
def test_the_program_in_c(name, questions, kept, plain_program):
    content = (kept(name, "c") / "encoder.bin").read_bytes()
    encoder = program.PlainEncoder(plain_program, content)
    require_same(name, questions, encoder.encode)
    encoder.close()
    # What the program in Java, whose ids and vectors of both are tested in test_java, reads too.
    assert (kept(name, "java") / "encoder.bin").read_bytes() == content


@pytest.mark.parametrize("name", MODELS)
def test_the_program_of_a_page(name, questions, kept, tmp_path):
    folder = kept(name, "web")
    assert (folder / "encoder.bin").read_bytes() == (kept(name, "c") / "encoder.bin").read_bytes()
    if not shutil.which("node"):
        pytest.skip("no Node")

    def encode(texts):
        (tmp_path / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
        subprocess.run(["node", "-e", NODE, folder, tmp_path / "texts.json", tmp_path / "rows.json"], check=True)
        return json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))

    require_same(name, questions, encode)


# Of those by MediaPipe one: they have the graph of `string`, and test_artefact and test_format have the other.
FORMS = {
    "bundle": Form(),
    "onnx": Form("onnx"),
    "sentence-transformers": Form("sentence-transformers", FLOAT),
    "fastembed": Form("fastembed"),
    "string": Form("string"),
    "mediapipe": Form("mediapipe"),
}
RUN_BY = {
    "onnx": ("onnx", "onnxruntime"),
    "sentence-transformers": ("safetensors", "tokenizers"),
    "fastembed": ("onnx", "onnxruntime", "tokenizers"),
    "mediapipe": ("mediapipe",),
}


# What is converted from the weights of `multi12-ngram` takes the longest; its modules are tested in hub/test_students.
@pytest.mark.parametrize("format_", FORMS)
def test_a_format_that_is_converted(format_, questions, student, tmp_path):
    for package in RUN_BY.get(format_, ()):
        pytest.importorskip(package)
    write_artefact(student, tmp_path / "out", FORMS[format_], "multi12-static")
    require_same("multi12-static", questions, load_artefact(tmp_path / "out").encode)
