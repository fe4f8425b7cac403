"""Real parts, small: a SentencePiece model trained here, an encoder of mUSE's architecture, the sample data."""

import contextlib
import gc
import io
import json
import os
from html.parser import HTMLParser

import numpy as np
import pytest

# What takes longest comes first, with --no-loadscope-reorder, so that no worker is left alone with it at the end.
DEAREST = (
    "test_killed",
    "test_properties",
    "test_cli",
    "test_pipeline",
    "test_export_artefact",
    "test_transfer",
    "test_compress",
    "test_fixed",
    "test_tune",
    "test_export_tflite",
    "test_resuming",
    "test_self_training",
    "test_students_family",
    "test_teaching",
    "test_ray_encoding",
    "test_devices",
    "test_training_options",
    "test_training",
    "test_pair_teaching",
    "test_export_encode",
    "test_fakequant",
    "test_first_stage",
    "test_teachers_muse",
)
# Of these no lines are counted: other tests see them too, and counting costs a quarter of the time.
UNCOUNTED = {
    *("test_killed", "test_properties", "test_export_artefact", "test_transfer", "test_compress", "test_fixed"),
    *("test_export_tflite", "test_students_family", "test_fakequant", "test_checkpoints", "test_devices"),
    *("test_training_options", "test_teachers_muse", "test_export_mediapipe", "test_export_graph"),
}


def pytest_collection_modifyitems(items):
    place = {name: number for number, name in enumerate(DEAREST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


def pytest_collection_finish():
    """What was imported stays; the hundreds of collections of garbage need not walk over TensorFlow again."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Leave fixtures and all of the files in `UNCOUNTED` out of the coverage, where there is one."""
    plugin = item.config.pluginmanager.getplugin("_cov")
    counting = plugin and plugin.cov_controller and item.path.stem in UNCOUNTED
    if counting:
        plugin.cov_controller.pause()
    try:
        return (yield)
    finally:
        if counting:
            plugin.cov_controller.resume()


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Vectors that are kept lie in a folder of these tests, not of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISTILL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def distill():
    """Run a command in this process; its exit code."""
    from distill.cli import main

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        return left.value.code

    return call


@pytest.fixture(scope="session")
def sample():
    from distill.data import load_dataset

    return load_dataset("sample")


@pytest.fixture(scope="session")
def unanswered(tmp_path_factory):
    """The sample, as a folder, without its answers."""
    import shutil

    from distill.readers import SAMPLE

    folder = shutil.copytree(SAMPLE, tmp_path_factory.mktemp("data") / "unanswered")
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    kept = [{name: value for name, value in row.items() if name != "answer"} for row in rows]
    (folder / "questions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in kept), encoding="utf-8")
    return folder


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
def slim_folder(tokenizer, tmp_path_factory):
    """One of a single branch, saved, for runs: it compiles faster."""
    folder = tmp_path_factory.mktemp("slim") / "encoder"
    make_tiny(tokenizer, orders=(2,)).save(folder)
    return folder


@pytest.fixture(scope="session")
def artefacts(tiny_folder, sample, tmp_path_factory):
    """A maker of its artefacts, each made once for all workers and to be left as it is: `artefacts(form)` -> a folder.

    Workers that make the same at the same time keep the first's.
    """
    from distill.config import ExportSettings
    from distill.encoder import KerasEncoder
    from distill.export.artefact import export_artefact

    student, own = KerasEncoder.load(tiny_folder), tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "artefacts"
    shared.mkdir(exist_ok=True)

    def make(form):
        asked = form.format, form.precision.dense, form.precision.table, form.max_length, *form.signatures
        name = "-".join(map(str, asked))
        if not (shared / name).is_dir():
            folder = tmp_path_factory.mktemp("artefact")
            # MediaPipe is started anew for each language.
            languages = ("en",) if form.format.startswith("mediapipe") else ("de", "en")
            export_artefact(student, folder / "small", sample, languages, ExportSettings(), form)
            with contextlib.suppress(OSError):
                folder.rename(shared / name)
        return shared / name / "small"

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
    pooled = keras.Model(model.input, pooling.output)
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
    """A maker of bundles, and of what runs them, which does as it is told: `scripted(name, encode, load)` -> `Spec`."""
    from distill.export.process import Spec

    def make(name="toy", encode="pass", load="pass"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "encode.py").write_text(SCRIPT.format(load=load, encode=encode), encoding="utf-8")
        return Spec("bundle", str(folder), values={"code": str(folder / "encode.py")})

    return make


def make_tiny(tokenizer, seed=0, orders=(2, 3)):
    import keras

    from distill.encoder import KerasEncoder
    from distill.students.ngram import NGramEncoder

    keras.utils.set_random_seed(seed)
    model = NGramEncoder(vocabulary=len(tokenizer), width=16, channels=8, orders=orders, hidden=12, dimension=16)
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


LANGUAGES = ["en", "de"]
# P@1 of the unit passage on dev; the other units and metrics are offsets from these, so that no two figures agree.
DEV = {"base": (0.501, 0.112), "teacher": (0.703, 0.214), "student": (0.655, 0.556), "bundle": (0.647, 0.548)}
OFFSET = {"document": 0.02, "passage": 0.0, "maxp": 0.04}


def figures(p):
    return {"p@1": p, "p@5": p + 0.1, "p@10": p + 0.2, "mrr@10": p + 0.05, "questions": 17}


def comparison(a, b, p_holm):
    row = {"a": a, "b": b, "only_a": 3, "only_b": 1, "questions": 17, "p": p_holm / 2, "p_holm": p_holm}
    return {**row, "significant": p_holm < 0.05}


def split(shift=0.0):
    by_unit = {
        name: {
            unit: {language: figures(p + OFFSET[unit] + shift) for language, p in zip(LANGUAGES, pair, strict=True)}
            for unit in OFFSET
        }
        for name, pair in DEV.items()
    }
    return {
        "encoders": by_unit,
        "mean_p@1": {name: {unit: by_unit[name][unit]["de"]["p@1"] for unit in OFFSET} for name in DEV},
        "mcnemar": {
            "student against base": {
                unit: {"en": comparison(0.6, 0.7, 0.031), "de": comparison(0.556, 0.112, 0.002)} for unit in OFFSET
            },
            "student against teacher": {
                unit: {"en": comparison(0.6, 0.5, 0.777), "de": comparison(0.5, 0.6, 0.888)} for unit in OFFSET
            },
        },
    }


def measured():
    """What a run of two languages leaves in `metrics.json`, its figures by hand."""
    return {
        "settings": {
            "seed": 41,
            "data": {"document_language": "en", "languages": []},
            "teacher": {"base": "muse", "language": "en"},
            "student": {"dev_unit": "passage", "units": ["document", "passage"], "train_table": True},
            "export": {"max_drop": 1.5},
        },
        "dataset": {
            "name": "toys",
            "documents": 12,
            "passages": 345,
            "splits": {"train": 70, "dev": 17, "test": 23},
            "files": {"de.json": "d" * 64, "en.json": "e" * 64},
        },
        "versions": {"python": "3.12.3", "keras": "3.9.1"},
        "languages": list(LANGUAGES),
        "mean_over": ["de"],
        "splits": {"dev": split(), "test": split(0.007)},
        "gate": {
            "texts": 29,
            "cosine_mean": 0.99987,
            "cosine_min": 0.99912,
            "drop": 0.8,
            "p@1": {
                "en": {"student": 0.71, "artefact": 0.69, "p": 0.5, "p_holm": 1.0, "significant": False},
                "de": {"student": 0.604, "artefact": 0.608, "p": 1.0, "p_holm": 1.0, "significant": False},
            },
        },
        "bundle_bytes": 69_500_000,
        "timings": {
            "teacher": 61.25,
            "query": {
                "median_ms": 0.25,
                "p95_ms": 0.75,
                "p99_ms": 1.5,
                "threads": 1,
                "queries": 34,
                "machine": "x86_64, 2 cores",
            },
        },
    }


ROWS = [
    {"event": "evaluation", "seconds": 1.0, "encoder": "base", "split": "dev"},
    {"event": "teacher", "seconds": 1.0, "step": 0, "p@1": 0.5, "mrr@10": 0.6},
    {"event": "teacher", "seconds": 2.0, "step": 4, "p@1": 0.6, "mrr@10": 0.7, "loss": 0.3},
    {"event": "student", "seconds": 3.0, "step": 0, "p@1": 0.1, "mrr@10": 0.2},
    {"event": "student", "seconds": 4.0, "step": 5, "p@1": 0.2, "mrr@10": 0.3, "loss": 90.0},
    {"event": "student", "seconds": 5.0, "step": 10, "p@1": 0.4, "mrr@10": 0.5, "loss": 60.0},
]


def language_bias():
    """What an evaluation of two encoders in two languages leaves under `lareqa`; of the base not everything."""
    plane = {
        "en": {"questions": [[0.0, 0.0], [1.0, 0.0]], "candidates": [[0.0, 2.0]]},
        "de": {"questions": [[4.0, 0.0]], "candidates": [[2.0, 1.0], [2.0, 2.0]]},
    }
    return {
        "name": "toys-r",
        "split": "dev",
        "languages": list(LANGUAGES),
        "questions": {"en": 17, "de": 17},
        "candidates": {"en": 41, "de": 43},
        "top": 100,
        "encoders": {
            "base": {
                "map": 0.213,
                "languages": {"en": 0.334, "de": 0.092},
                "removed": {"rand": 0.201, "same": 0.125, "delta": 0.076},
                "one_target": {"en": {"en": 0.8, "de": 0.1}, "de": {"en": 0.05, "de": None}},
                "share": {"en": {"en": 0.9, "de": 0.1}, "de": {"en": 0.25, "de": 0.75}},
            },
            "student": {
                "map": 0.418,
                "languages": {"en": 0.447, "de": 0.389},
                "removed": {"rand": 0.402, "same": 0.391, "delta": 0.011},
                "one_target": {"en": {"en": 0.4, "de": 0.36}, "de": {"en": 0.34, "de": 0.43}},
                "monolingual": {"en": 0.517, "de": 0.483},
                "share": {"en": {"en": 0.55, "de": 0.45}, "de": {"en": 0.48, "de": 0.52}},
                "pca": {"explained": [0.123, 0.045], "points": plane},
                "language_id": {"accuracy": 0.871, "chance": 0.5, "against": {"de": 0.862}, "pivot": "en"},
                "lir": {
                    "corpus": "news",
                    "ranks": {
                        "0": {"map": 0.418, "languages": {"en": 0.447, "de": 0.389}},
                        "1": {"map": 0.429, "languages": {"en": 0.451, "de": 0.407}},
                    },
                },
            },
        },
    }


def translations():
    """What bitext retrieval leaves under `bitext`."""
    rows = {"base": {"de": {"to": 0.611, "from": 0.593}}, "student": {"de": {"to": 0.722, "from": 0.714}}}
    return {"name": "news", "pivot": "en", "sentences": 101, "encoders": rows}


def searched():
    """What a search that tried two bundles leaves in `search.json`; the second is the chosen one."""
    test = comparison(0.6, 0.6, 1.0)
    return {
        "whole": {"bytes": 69_500_000, "ms": 0.25},
        "bundles": [
            {
                "name": "full-all-pq8",
                "pieces": 128000,
                "bytes": 20_400_000,
                "ms": 0.31,
                "p@1": 0.413,
                "drop": 21.7,
                "languages": {"en": 0.509, "de": 0.317},
                "mcnemar": {"en": test, "de": comparison(0.61, 0.317, 0.004)},
            },
            {
                "name": "tiny-used-int4",
                "pieces": 4100,
                "bytes": 6_300_000,
                "ms": 0.041,
                "p@1": 0.627,
                "drop": 0.4,
                "languages": {"en": 0.648, "de": 0.606},
                "mcnemar": {"en": test, "de": test},
            },
        ],
        "front": ["tiny-used-int4"],
        "chosen": "tiny-used-int4",
        "excess": {},
        "languages": list(LANGUAGES),
        "budget": {"bytes": 10_000_000, "ms": None, "drop": 3.0},
    }


@pytest.fixture
def metrics():
    return measured()


@pytest.fixture(scope="session")
def shown():
    """Makers of what a page shows, each time anew: a run's `metrics` and `rows`, `lareqa`, `bitext`, `search`."""
    return {
        "metrics": measured,
        "rows": lambda: [dict(row) for row in ROWS],
        "lareqa": language_bias,
        "bitext": translations,
        "search": searched,
    }


@pytest.fixture
def run_folder(shown, tmp_path):
    """A maker of finished runs' folders: `run_folder(name, change)`; `change(metrics)` alters its metrics."""

    def make(name="first", change=lambda metrics: None, search=None):
        folder, metrics = tmp_path / name, shown["metrics"]()
        change(metrics)
        (folder / "small").mkdir(parents=True, exist_ok=True)
        (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
        (folder / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
        if search:
            (folder / "small" / "search.json").write_text(json.dumps(search), encoding="utf-8")
        return folder

    return make


@pytest.fixture(scope="session")
def read_page():
    """`read_page(path or text)` -> `Page`."""
    return lambda page: Page(page if isinstance(page, str) else page.read_text(encoding="utf-8"))


class Page(HTMLParser):
    """A page, read strictly, every element closed in its turn: its `rows` of cells, `words`, and elements' `starts`."""

    VOID = {"meta", "br", "hr", "img", "input", "link"}

    def __init__(self, text):
        super().__init__()
        self.open, self.starts, self.text, self.rows = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.starts.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.starts.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data.strip()

    @property
    def tags(self):
        return [tag for tag, _ in self.starts]

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture
def printed(capsys, monkeypatch):
    """What tables print into a pipe, whatever colour and width the shell that runs the tests asks for."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return lambda: capsys.readouterr().out


# More than a translation may have: beyond the source's end nothing is looked up, and a beam's others may go on.
POSITIONS = 260


@pytest.fixture(scope="session")
def word_translator(tmp_path_factory):
    """A maker of real Transformers, run by CTranslate2, that translate word by word.

    `word_translator({word: its translation}, ends)` -> the folder; `ends` as in a model of Marian's own format. Its
    numbers are set by hand: the decoder's place t attends to the source's place t and looks its word up. Other words
    are unknown. It has 260 positions.
    """
    pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed")

    def make(words, ends=False):
        folder = tmp_path_factory.mktemp("translator") / "words-en"
        folder.mkdir()
        source, target = word_pieces(folder / "source.spm", words), word_pieces(folder / "target.spm", words.values())
        known = {f"▁{word}": f"▁{translation}" for word, translation in words.items()}
        spec = dictionary_model(len(source), len(target), [target.index(known.get(piece, piece)) for piece in source])
        spec.register_source_vocabulary(source)
        spec.register_target_vocabulary(target)
        spec.config.add_source_eos, spec.config.decoder_start_token = ends, "</s>"
        spec.validate()
        spec.optimize()
        spec.save(str(folder))
        return folder

    return make


def word_pieces(path, words):
    """Train and write a SentencePiece model whose pieces are words; the pieces."""
    import sentencepiece

    model, texts = io.BytesIO(), iter([" ".join(words)])
    settings = {"model_type": "word", "vocab_size": len(set(words)) + 3, "minloglevel": 2}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=texts, model_writer=model, **settings)
    path.write_bytes(model.getvalue())
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return [pieces.id_to_piece(number) for number in range(pieces.get_piece_size())]


def dictionary_model(sources, targets, translations):
    """A CTranslate2 specification. A state holds a place, a source piece and a target piece, each one-hot."""
    from ctranslate2.specs import TransformerSpec

    size = POSITIONS + sources + targets
    spec = TransformerSpec.from_config(1, 1, pre_norm=False)
    nothing, place, look = np.zeros((3, size, size))
    place[:POSITIONS, :POSITIONS] = 3 * np.eye(POSITIONS)
    look[[POSITIONS + sources + to for to in translations], [POSITIONS + row for row in range(sources)]] = 1

    def linear(layer, weight):
        layer.weight, layer.bias = weight.astype(np.float32), np.zeros(len(weight), np.float32)

    def norm(layer):
        layer.gamma, layer.beta = np.ones(size, np.float32), np.zeros(size, np.float32)

    def attention(part, *weights):
        norm(part.layer_norm)
        for layer, weight in zip(part.linear, weights, strict=True):
            linear(layer, weight)

    for side in (spec.encoder, spec.decoder):
        side.scale_embeddings = False
        side.position_encodings.encodings = np.eye(POSITIONS, size, dtype=np.float32)
        attention(side.layer[0].self_attention, np.concatenate([nothing] * 3), nothing)
        norm(side.layer[0].ffn.layer_norm)
        linear(side.layer[0].ffn.linear_0, nothing[:1])
        linear(side.layer[0].ffn.linear_1, nothing[:, :1])
    attention(spec.decoder.layer[0].attention, place, np.concatenate([place, look]), 9 * np.eye(size))
    spec.encoder.embeddings[0].weight = np.eye(sources, size, POSITIONS, dtype=np.float32)
    spec.decoder.embeddings.weight = np.zeros((targets, size), np.float32)
    linear(spec.decoder.projection, 30 * np.eye(targets, size, POSITIONS + sources))
    spec.decoder.start_from_zero_embedding = True
    return spec
