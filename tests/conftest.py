"""Real parts, small: a SentencePiece model trained here, an encoder of mUSE's architecture, the sample data."""

import io
import json

import numpy as np
import pytest


@pytest.fixture(scope="session")
def sample():
    from distill.data import load_dataset

    return load_dataset("sample")


@pytest.fixture(scope="session")
def randomised():
    """`randomised(model)`: it with random weights, biases and gains too, so small that tanh does not saturate.

    At their initial values a forgotten one would not show.
    """

    def fill(model, scale=0.3):
        random = np.random.default_rng(0)
        model.set_weights([random.normal(scale=scale, size=weight.shape) for weight in model.get_weights()])
        return model

    return fill


@pytest.fixture(scope="session")
def tokenizer(sample):
    import sentencepiece

    from distill.tokenizer import Tokenizer

    texts = sample.passage_texts + [q.text for questions in sample.questions.values() for q in questions.values()]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, vocab_size=2000, character_coverage=0.9995, minloglevel=2
    )
    return Tokenizer(model.getvalue())


@pytest.fixture
def tiny(tokenizer):
    """An untrained `KerasEncoder` of mUSE's architecture, 16 dimensions."""
    return make_tiny(tokenizer)


@pytest.fixture(scope="session")
def tiny_folder(tokenizer, tmp_path_factory):
    """The same, saved: what a command line takes as `--base`."""
    folder = tmp_path_factory.mktemp("tiny") / "encoder"
    make_tiny(tokenizer).save(folder)
    return folder


@pytest.fixture(scope="session")
def artefacts(tiny_folder, sample, tmp_path_factory):
    """A maker of its artefacts, each made once and to be left as it is: `artefacts(form)` -> a folder."""
    from distill.config import ExportSettings
    from distill.encoder import KerasEncoder
    from distill.export.artefact import export_artefact

    student, made = KerasEncoder.load(tiny_folder), {}

    def make(form):
        if form not in made:
            folder = tmp_path_factory.mktemp("artefact") / "small"
            # MediaPipe is started anew for each language.
            languages = ("en",) if form.format.startswith("mediapipe") else ("de", "en")
            export_artefact(student, folder, sample, languages, ExportSettings(), form)
            made[form] = folder
        return made[form]

    return make


@pytest.fixture(scope="session")
def tiny_bundle(artefacts):
    """Its bundle: texts of any length, int8."""
    from distill.export.form import Form

    return artefacts(Form())


@pytest.fixture(scope="session")
def wide(tokenizer, sample):
    """A `KerasEncoder` for exports: every kernel has the 1,024 elements from which on the TFLite converter quantises.

    Biases and norms start at zero and one, where leaving one out would not be seen; so all weights are random. The
    last kernels are small, as a saturated tanh would hide what goes into it, and what is common to all texts is taken
    off, as it would hide what a text is.
    """
    import keras

    from distill.encoder import KerasEncoder
    from distill.students.ngram import NGramEncoder

    keras.utils.set_random_seed(3)
    model = NGramEncoder(vocabulary=len(tokenizer), width=40, channels=32, orders=(2, 3), hidden=36, dimension=40)
    random = np.random.default_rng(3)
    model.set_weights([weight + random.normal(size=weight.shape) * 0.1 for weight in model.get_weights()])
    for last in (model.get_layer("head").fourth, model.get_layer("head").fourth_skip):
        last.kernel.assign(0.02 * last.kernel)
    pooling = model.get_layer("pooling")
    pooled = keras.Model(model.inputs, pooling.output)
    rows = [np.array([ids]) for ids in tokenizer.encode(sample.passage_texts[:40])]
    common = np.mean([np.asarray(pooled(ids))[0] / np.sqrt(ids.size) for ids in rows], axis=0)
    pooling.bias.assign(pooling.bias - common)
    return KerasEncoder(model, tokenizer, "wide")


@pytest.fixture(scope="session")
def wide_string(wide):
    """Its flatbuffer from text to vector."""
    from distill.export.form import Precision
    from distill.export.strings import convert_string

    return convert_string(wide.model, wide.tokenizer, Precision())


SCRIPT = """
import os, signal, sys, time
import numpy as np

class BundleError(Exception):
    pass

class Encoder:
    def __init__(self, folder, threads):
        self.folder = folder
        {load}

    def encode(self, texts, role="question"):
        vectors = np.ones((len(texts), 2), dtype=np.float32)
        {encode}
        return vectors

    def log(self, *words):
        with open(os.path.join(self.folder, "log"), "a") as file:
            print(*words, sep="|", file=file)
"""


@pytest.fixture
def scripted(tmp_path):
    """A maker of bundles whose `encode.py` does what it is told: `scripted(name, encode, load)` -> `Spec`."""
    from distill.export.process import Spec

    def make(name="toy", encode="pass", load="pass"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "encode.py").write_text(SCRIPT.format(load=load, encode=encode), encoding="utf-8")
        return Spec("bundle", str(folder))

    return make


def make_tiny(tokenizer, seed=0):
    import keras

    from distill.encoder import KerasEncoder
    from distill.students.ngram import NGramEncoder

    keras.utils.set_random_seed(seed)
    model = NGramEncoder(vocabulary=len(tokenizer), width=16, channels=8, orders=(2, 3), hidden=12, dimension=16)
    return KerasEncoder(model, tokenizer, "tiny")


def unit_rows(n, d, seed=0):
    """Random float32 rows of unit length."""
    rows = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


TEXTS = {
    "en": ("The {0} of part {1} is old.", "It is one of the {0}s.", "{0} {1} is {2} years old.", "How old is {0} {1}?"),
    "de": ("Teil {1}: {0} ist alt.", "Es ist ein {0}.", "{0} {1} ist {2} Jahre alt.", "Wie alt ist {0} {1}?"),
}


@pytest.fixture(scope="session")
def sentence_data(tmp_path_factory):
    """A data set in XQuAD-R's form: six articles of two paragraphs of three sentences, one question each."""
    folder = tmp_path_factory.mktemp("data") / "answers"
    folder.mkdir()
    topics = ["river", "bridge", "castle", "garden", "market", "harbour"]
    for language, parts in TEXTS.items():
        data = [{"title": topic, "paragraphs": [answers(parts, topic, part) for part in range(2)]} for topic in topics]
        (folder / f"{language}.json").write_text(json.dumps({"data": data}), encoding="utf-8")
    ids = [f"{topic}-{part}" for topic in topics for part in range(2)]
    (folder / "splits.json").write_text(json.dumps({"train": ids[:8], "dev": ids[8:]}), encoding="utf-8")
    return folder


def answers(parts, topic, part):
    """A paragraph: its third sentence answers the question."""
    *sentences, question = (text.format(topic, part, 100 + part) for text in parts)
    context = " ".join(sentences)
    starts = [context.index(sentence) for sentence in sentences]
    answer = {"text": str(100 + part), "answer_start": context.index(str(100 + part))}
    return {
        "context": context,
        "sentence_breaks": [[start, start + len(text)] for start, text in zip(starts, sentences, strict=True)],
        "qas": [{"id": f"{topic}-{part}", "question": question, "answers": [answer]}],
    }
