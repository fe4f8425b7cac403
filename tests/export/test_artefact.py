import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from fixtures.folders import card_in, change_card, names
from fixtures.pieces import trained_tokenizer

from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import Tokenizer
from distill.errors import EncoderError, ExportError, InputError
from distill.export import encode
from distill.export import form as form_module
from distill.export.artefact import export_artefact, write_artefact
from distill.export.encode import Reading
from distill.export.form import Form
from distill.export.formats import bundle, java
from distill.export.formats.c import PROGRAM
from distill.export.formats.format import bundle_fingerprint, load_artefact
from distill.export.gate import Gate
from distill.export.tflite import convert as tflite
from distill.export.tflite import layers, strings
from distill.export.weights import codecs
from distill.export.weights.precision import Precision
from distill.settings.choices import FORMATS
from distill.settings.sections import ExportSettings

LANGUAGES = ("de", "en")
NOTES = {"source": "tiny", "dataset": "sample", "languages": ["de", "en"], "teacher": "en", "seed": 7}
PYTHON_FILES = ["README.md", "card.json", "encode.py", "encoder.tflite", "tokenizer.model"]
FORMS = {
    "bundle": Form(),
    "bundle int4": Form(precision=Precision("int8", "int4")),
    "bundle float32": Form(precision=Precision("float32", "float32")),
    "bundle fixed": Form(max_length=64),
    "bundle signatures": Form(signatures=(8, 32, 128)),
    "string": Form("string"),
    "mediapipe-zip": Form("mediapipe-zip"),
    "onnx": Form("onnx"),
    "onnx float32": Form("onnx", Precision("float32", "float32")),
    "c": Form("c"),
    "java": Form("java"),
    "sentence-transformers": Form("sentence-transformers", Precision("float32", "float32")),
    "fastembed": Form("fastembed"),
}
FILES = {
    "string": ["encoder.tflite"],
    "mediapipe": ["encoder.tflite"],
    "mediapipe-zip": ["encoder.task"],
    "c": ["encoder.bin", *PROGRAM],
    "java": [*(path.name for path in java.list_sources()), "encoder.bin"],
    "sentence-transformers": [
        *("config.json", "config_sentence_transformers.json", "distill_ngram.py", "model.safetensors"),
        *("modules.json", "tokenizer.json"),
    ],
    "fastembed": [
        *("config.json", "model.onnx", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"),
    ],
}
HUB = ("safetensors", "tokenizers")
RUN_BY = {
    "sentence-transformers": HUB,
    "mediapipe": ("mediapipe",),
    "mediapipe-zip": ("mediapipe",),
    "onnx": ("onnx", "onnxruntime"),
    "fastembed": ("onnx", "onnxruntime", "tokenizers"),
}


@pytest.fixture(scope="module")
def worded(tiny_folder):
    """A student whose vectors depend on its table, as a trained one's; untrained tables are too small to matter."""
    student = KerasEncoder.load(tiny_folder)
    table = student.model.get_layer("embedding")
    table.set_weights([30 * weight for weight in table.get_weights()])
    return student


@pytest.fixture(scope="module")
def exported(student, sample, tmp_path_factory):
    """The bundle's folder, alone in its parent, and the `JudgedCard` that `export_artefact` returned."""
    folder = tmp_path_factory.mktemp("exported") / "small"
    return folder, export_artefact(student, folder, gate_of(sample), notes=NOTES)


@pytest.fixture
def unconverted(artefacts, monkeypatch):
    """Bundles get the tiny encoder's flatbuffer as it was converted before, where the conversion is not the matter."""
    content = (artefacts(Form()) / "encoder.tflite").read_bytes()
    monkeypatch.setattr(tflite, "convert", lambda *arguments: content)


def gate_of(sample, languages=LANGUAGES, force=False, **settings):
    return Gate(sample, languages, ExportSettings(**settings), force)


# What is written


@pytest.mark.parametrize("name", FORMS)
def test_every_form_passes_the_gate_on_the_sample(artefacts, name):
    for package in RUN_BY.get(FORMS[name].format, ()):
        pytest.importorskip(package)
    form = FORMS[name]
    folder = artefacts(form)
    card = card_in(folder)
    python = ["encode.py", "encoder.onnx" if form.format == "onnx" else "encoder.tflite", "tokenizer.model"]
    files = FILES.get(form.format, python)
    assert names(folder) == sorted(["README.md", "card.json", *files]) and names(folder.parent) == ["small"]
    assert card["refused"] == [] and card["dev"]["other_ids"] == 0
    assert card["dev"]["cosine_min"] >= (0.9 if form.precision.table == "int4" else 0.995)
    assert (card["format"], card["precision"]) == (form.format, form.precision.as_dict())


def test_the_folder_holds_the_students_tokenizer_the_checked_code_and_the_card_of_all_files(exported, student, sample):
    folder, judged = exported
    assert names(folder) == PYTHON_FILES and names(folder.parent) == ["small"]
    assert (folder / "tokenizer.model").read_bytes() == student.tokenizer.proto
    assert (folder / "encode.py").read_bytes() == Path(encode.__file__).read_bytes()
    assert card_in(folder) == judged.as_dict() and (judged.card.notes, judged.card.name) == (NOTES, "small")
    assert list(judged.card.files) == ["encode.py", "encoder.tflite", "tokenizer.model"]
    figures = judged.figures
    assert figures.texts == len(LANGUAGES) * len(sample.splits["dev"]) and list(figures.p1) == list(LANGUAGES)
    assert 0.995 <= figures.cosine_min <= figures.cosine_mean <= 1.00001


def test_cosines_and_scores_are_what_numpy_finds(exported, student, sample):
    figures, loaded = exported[1].figures, load_artefact(exported[0])
    by_language = {lang: [sample.questions[lang][id] for id in sample.splits["dev"]] for lang in LANGUAGES}
    cosines = []
    for language, questions in by_language.items():
        texts = [question.text for question in questions]
        mine, theirs = loaded.encode(texts), student.encode(texts)
        cosines.append(np.sum(mine * theirs, axis=1))
        gold = np.array([sample.passages[question.passage].document for question in questions])
        for name, encoder, vectors in (("artefact", loaded, mine), ("student", student, theirs)):
            scores = vectors @ encoder.encode(sample.document_texts, "document").T
            expected = np.mean(scores.argmax(axis=1) == gold)
            assert getattr(figures.p1[language], name) == pytest.approx(expected), (language, name)
    assert figures.cosine_min == pytest.approx(np.min(cosines), abs=1e-5)
    assert figures.cosine_mean == pytest.approx(np.mean(cosines), abs=1e-5)


def test_the_same_student_gives_the_same_files_in_an_empty_folder_too(exported, student, sample, tmp_path):
    (tmp_path / "small").mkdir()
    assert export_artefact(student, tmp_path / "small", gate_of(sample), notes=NOTES) == exported[1]
    assert names(tmp_path / "small") == PYTHON_FILES and names(tmp_path) == ["small"]


# What is broken is refused, and nothing is left


@pytest.fixture
def refused(sample, tmp_path):
    """Export what has to be refused; returns the reason. Nothing is left, not even the folder that it was made in."""

    def call(student, form, **settings):
        with pytest.raises(ExportError) as raised:
            export_artefact(student, tmp_path / "out", gate_of(sample, **settings), form)
        assert names(tmp_path) == []
        return str(raised.value)

    return call


def doubled(codes, scales):
    scales[::2] *= 2
    return codes, scales


def cut(codes, scales):
    return codes[: len(codes) // 2], scales[: len(scales) // 2]


def flat(packed, steps, scales):
    scales[: len(scales) // 2] = 1
    return packed, steps, scales


def break_table(monkeypatch, change, codec="uint8"):
    whole = codecs.CODECS[codec]
    monkeypatch.setitem(codecs.CODECS, codec, replace(whole, rows=lambda table: change(*whole.rows(table))))


def write_instead(monkeypatch, change):
    """`change(write, student, folder, …)` in place of how bundles are written."""
    (format_,) = bundle.FORMATS
    monkeypatch.setattr(bundle, "FORMATS", (replace(format_, write=partial(change, format_.write)),))


@pytest.fixture(params=["bundle", "onnx"])
def form(request):
    for package in RUN_BY.get(request.param, ()):
        pytest.importorskip(package)
    return Form(request.param)


def test_a_table_of_large_numbers_passes_when_it_is_whole(worded, sample, tmp_path, form):
    assert export_artefact(worded, tmp_path / "out", gate_of(sample), form).figures.cosine_min >= 0.999


# What cannot be run is not kept by force either.
@pytest.mark.parametrize(("change", "named"), [(doubled, "cosine"), (cut, "bounds")])
def test_a_table_that_is_wrong_in_half_of_its_rows_is_refused(refused, worded, monkeypatch, form, change, named):
    break_table(monkeypatch, change)
    assert named in refused(worded, form, force=change is cut)


def test_an_int4_table_without_its_first_half_is_refused_by_its_own_limit(refused, worded, monkeypatch):
    break_table(monkeypatch, flat, "int4")
    assert " 0.9; " in f"{refused(worded, Form(precision=Precision('int8', 'int4')))}; "


def test_wrong_scales_of_dense_layers_are_refused(refused, student, monkeypatch):
    whole = layers.quantize_channels

    def change(kernel, *levels):
        codes, scales = whole(kernel, *levels)
        return codes, np.where(np.arange(len(scales)) % 2, scales, 2 * scales)

    monkeypatch.setattr(layers, "quantize_channels", change)
    assert "least cosine" in refused(student, Form(signatures=(32,)))


def test_a_missing_bos_is_refused_even_where_no_vector_may_tell(refused, student, monkeypatch, unconverted, form):
    whole = encode.Encoder.tokenize
    monkeypatch.setattr(encode.Encoder, "tokenize", lambda self, text, role="question": whole(self, text, role)[1:])
    assert "40 of 40" in refused(student, form, min_cosine=-1.0, max_drop=100.0)


def test_a_missing_bos_in_a_string_model_is_refused(refused, student, monkeypatch):
    import tensorflow_text

    def init(self, proto, **kwargs):
        super(strings.TokenizerLayer, self).__init__(**kwargs)
        self.tokenizer = tensorflow_text.FastSentencepieceTokenizer(proto, add_bos=False, add_eos=True)

    monkeypatch.setattr(strings.TokenizerLayer, "__init__", init)
    assert "40 of 40" in refused(student, Form("string"), min_cosine=-1.0, max_drop=100.0)


def test_another_tokenizer_of_the_same_size_is_refused(refused, student, monkeypatch, sample, unconverted):
    texts = sample.passage_texts + [q.text for questions in sample.questions.values() for q in questions.values()]
    other = KerasEncoder(student.model, trained_tokenizer(texts, vocab_size=2000, model_type="bpe"))
    write = bundle.write_tokenizer
    monkeypatch.setattr(bundle, "write_tokenizer", lambda student, folder: write(other, folder))
    assert " of 40 " in refused(student, Form(), min_cosine=-1.0, max_drop=100.0)


def test_another_encoders_weights_are_refused(refused, student, unconverted):
    other = type(student.model).from_config(student.model.get_config())
    random = np.random.default_rng(9)
    other.set_weights([random.normal(size=weight.shape) for weight in other.get_weights()])
    assert "least cosine" in refused(KerasEncoder(other, student.tokenizer), Form())


def test_a_loss_in_retrieval_is_refused(refused, student, sample, unconverted):
    # Vectors may point anywhere here, so that only P@1 can tell: of a student that answers all.
    said = refused(Knowing(student, sample), Form(), min_cosine=-1.0)
    assert "least cosine" not in said and " 1.0; " in said and "de, en" in said


def test_a_language_that_is_worse_is_refused_however_much_the_mean_may_lose(refused, student, sample, unconverted):
    said = refused(Knowing(student, sample, ("en",)), Form(), min_cosine=-1.0, max_drop=100.0)
    assert "McNemar" in said and " en " in said and ";" not in said and "de" not in said.split()


class Knowing(KerasEncoder):
    """A student that gives a question of some languages its document's vector."""

    def __init__(self, student, dataset, languages=LANGUAGES):
        super().__init__(student.model, student.tokenizer)
        self.answers = {
            question.text: dataset.document_texts[dataset.passages[question.passage].document]
            for language in languages
            for question in dataset.questions[language].values()
        }

    def encode(self, texts, role="question", progress=None):
        return super().encode([self.answers.get(text, text) for text in texts], role, progress)


def test_an_artefact_that_its_runtime_cannot_load_is_refused(refused, student, monkeypatch):
    def change(write, student, folder, *arguments):
        (folder / "encoder.tflite").write_bytes(b"no model" * 1000)
        bundle.write_tokenizer(student, folder)

    write_instead(monkeypatch, change)
    assert "encoder.tflite" in refused(student, Form())


# By force


READING = Reading({"question": "query: ", "document": "passage: "}, 40)


def test_prompts_and_the_longest_text_go_with_a_bundle(student, sample, tmp_path, unconverted):
    prompted = KerasEncoder(student.model, Tokenizer(student.tokenizer.proto, reading=READING))
    judged = export_artefact(prompted, tmp_path / "small", gate_of(sample, ["de"]))
    assert names(tmp_path / "small") == sorted([*PYTHON_FILES, "reading.json"])
    assert "reading.json" in card_in(tmp_path / "small")["files"] and judged.figures.documents_by == "artefact"
    loaded, texts = load_artefact(tmp_path / "small"), [*sample.passage_texts[:3], "Wo?"]
    for role in ("question", "document"):
        assert [loaded.tokenize(text, role) for text in texts] == prompted.tokenizer.encode(texts, role)
    assert bundle_fingerprint(tmp_path / "small") != bundle_fingerprint(changed_copy(tmp_path / "small"))


def changed_copy(folder):
    """One of an encoder with another prompt."""
    copy = shutil.copytree(folder, folder.with_name("changed"))
    (copy / "reading.json").write_bytes(Reading({"question": "q: "}).content())
    label = {"bytes": (copy / "reading.json").stat().st_size, "sha256": encode.sha256(copy / "reading.json")}
    change_card(copy, files={**card_in(copy)["files"], "reading.json": label})
    return copy


READERS = ("bundle", "onnx", "sentence-transformers", "fastembed", "c", "web", "java", "npm")


@pytest.mark.parametrize("format_", [name for name in FORMATS if name not in READERS])
def test_a_format_that_puts_no_prompt_before_a_text_refuses_an_encoder_with_one(student, sample, tmp_path, format_):
    prompted = KerasEncoder(student.model, Tokenizer(student.tokenizer.proto, reading=READING), "asked")
    form = Form(format_, Precision("float32", "float32" if format_ == "model2vec" else "uint8"))
    with pytest.raises(EncoderError, match=f"asked: .*{format_}"):
        write_artefact(prompted, tmp_path / "out", form, "out")
    assert not (tmp_path / "out").exists()


def test_force_keeps_what_is_refused_and_marks_the_card(student, sample, tmp_path, unconverted):
    gate = gate_of(sample, min_cosine=-1.0, force=True)
    judged = export_artefact(Knowing(student, sample), tmp_path / "out", gate, notes=NOTES)
    assert names(tmp_path / "out") == PYTHON_FILES and names(tmp_path) == ["out"]
    assert card_in(tmp_path / "out") == judged.as_dict()
    drop, worse = judged.refused
    assert f" {judged.figures.drop:.2f} " in drop and "de, en" in worse
    readme = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert f": {drop}\n" in readme and f": {worse}\n" in readme
    assert load_artefact(tmp_path / "out").encode(["Where?"]).shape == (1, 16)
    # Nothing that passes is marked.
    assert export_artefact(student, tmp_path / "good", gate_of(sample, force=True)).refused == ()
    assert "force" not in (tmp_path / "good" / "README.md").read_text(encoding="utf-8")


# What is refused before


def test_a_folder_that_holds_something_is_not_replaced_and_a_missing_package_is_named(
    student, sample, tmp_path, monkeypatch
):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("Dear", encoding="utf-8")
    with pytest.raises(InputError, match=str(tmp_path / "mine")):
        export_artefact(student, tmp_path / "mine", gate_of(sample))
    monkeypatch.setattr(form_module, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="onnx.*onnxruntime"):
        export_artefact(student, tmp_path / "out", gate_of(sample), Form("onnx"))
    assert (names(tmp_path), names(tmp_path / "mine")) == (["mine"], ["letter.txt"])
