import json
import shutil

import numpy as np
import pytest

from distill.encoders.catalog.identity import locate_encoder
from distill.encoders.catalog.kinds import require_kind
from distill.encoders.catalog.loading import load_encoder, load_keras_encoder
from distill.errors import EncoderError
from distill.teachers import huggingface
from distill.teachers.huggingface import BATCH, KIND, parse_source

# Where the library had its modules until version 5.
pytestmark = pytest.mark.filterwarnings("ignore:Importing from 'sentence_transformers:DeprecationWarning")

TEXTS = ["Where does the Danube end?", "Nile", "The Nile ends in the sea. " * 3, "Danube the Danube", "Which sea?"]
LONGEST = 24


@pytest.fixture(scope="module")
def torch():
    pytest.importorskip("transformers", reason="transformers is not installed")
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(scope="module")
def bert(torch, tmp_path_factory):
    """A saved BERT of random weights with a WordPiece tokenizer, learned here."""
    import tokenizers
    import transformers

    words = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    words.train_from_iterator([*TEXTS, "query: passage: search ask"], trainer)
    words.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), special, strict=True))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=words.get_vocab_size(),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=LONGEST,
        initializer_range=0.3,
    )
    folder = tmp_path_factory.mktemp("models") / "bert"
    transformers.BertModel(config).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, **names).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def sentences(bert):
    """The same as a Sentence-Transformers model that takes the first token, with prompts of its own."""
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    modules = [Transformer(str(bert)), Pooling(16, "cls")]
    folder = bert.parent / "sentences"
    SentenceTransformer(modules=modules, prompts={"query": "ask: ", "document": "search: "}).save(str(folder))
    return folder


@pytest.fixture(scope="module")
def states(bert, torch):
    """`states(text)`: the last hidden states of a text by itself, `(t, 16)`, without padding."""
    from transformers import AutoTokenizer, BertModel

    tokenizer, model = AutoTokenizer.from_pretrained(bert), BertModel.from_pretrained(bert).eval()

    def call(text):
        ids = tokenizer(text)["input_ids"][:LONGEST]
        if len(ids) == LONGEST:
            ids[-1] = tokenizer.sep_token_id
        with torch.no_grad():
            return model(torch.tensor([ids])).last_hidden_state[0].numpy()

    return call


def unit(rows):
    return np.array([row / np.linalg.norm(row) for row in rows])


def test_a_vector_is_the_mean_of_a_texts_own_last_states_many_long_and_odd_ones_too(bert, states):
    encoder, steps = load_encoder(f"hf:{bert}"), []
    assert (encoder.name, encoder.dimension) == ("bert", 16)
    expected = unit([states(text).mean(axis=0) for text in TEXTS])
    for role in ("question", "document"):
        vectors = encoder.encode(TEXTS, role, steps.append)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert sum(steps) == 2 * len(TEXTS)
    # Else a forgotten mask, or order, would not show.
    assert np.abs(expected[0] - expected[1]).max() > 0.01
    texts = [f"{'the ' * (number % 7)}Nile{' sea' * (number % 3)}" for number in range(BATCH + 5)]
    steps = []
    vectors = encoder.encode(texts, progress=steps.append)
    assert steps == [BATCH, 5]
    np.testing.assert_allclose(vectors, unit([states(text).mean(axis=0) for text in texts]), atol=1e-5)
    long = "the sea " * 40
    np.testing.assert_allclose(encoder.encode([long]), unit([states(long).mean(axis=0)]), atol=1e-5)
    assert np.isfinite(encoder.encode(["", "\ud800", "ดานูบ"])).all()
    assert encoder.encode([]).shape == (0, 16)


def test_positions_of_roberta_begin_behind_the_paddings(torch):
    import transformers

    sizes = {"hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 4}
    roberta = transformers.RobertaConfig(vocab_size=9, max_position_embeddings=30, pad_token_id=1, **sizes)
    bert = transformers.BertConfig(vocab_size=9, max_position_embeddings=30, **sizes)
    assert huggingface.count_positions(transformers.RobertaModel(roberta)) == 28
    assert huggingface.count_positions(transformers.BertModel(bert)) == 30


@pytest.mark.parametrize(
    "name, prefix",
    [("some-e5-small", "query: "), ("E5_mine", "query: "), ("base5", ""), ("me5", ""), ("large-e5-instruct", "")],
)
def test_e5_gets_its_prompts(bert, states, tmp_path, name, prefix):
    shutil.copytree(bert, tmp_path / name)
    encoder = load_encoder(f"hf:{tmp_path / name}")
    other = prefix and "passage: "
    for role, prompt in (("question", prefix), ("document", other)):
        expected = unit([states(prompt + text).mean(axis=0) for text in TEXTS])
        np.testing.assert_allclose(encoder.encode(TEXTS, role), expected, atol=1e-5)


DAMAGE = {
    "weights": ({"model.safetensors": b"no weights"}, "bert: transformers "),
    "config": ({"config.json": b"{}"}, "bert: transformers "),
    "some weights": ({"config.json": {"num_hidden_layers": 3}}, "bert: 16 "),
    "padding": ({"tokenizer_config.json": {"pad_token": None}}, "bert: .*padding"),
}


@pytest.mark.parametrize("files, said", DAMAGE.values(), ids=DAMAGE)
def test_what_cannot_be_loaded_is_refused_in_one_line(bert, tmp_path, files, said):
    folder = shutil.copytree(bert, tmp_path / "bert")
    for name, content in files.items():
        if isinstance(content, dict):
            content = json.dumps({**json.loads((folder / name).read_text()), **content}).encode()
        (folder / name).write_bytes(content)
    with pytest.raises(EncoderError, match=said) as error:
        load_encoder(f"hf:{folder}")
    shutil.rmtree(folder)
    with pytest.raises(EncoderError, match="bert: transformers "):
        load_encoder(f"hf:{folder}")
    assert "\n" not in str(error.value)


def test_a_sentence_model_pools_and_prompts_as_it_says(sentences, states):
    encoder = load_encoder(f"st:{sentences}")
    assert (encoder.name, encoder.dimension) == ("sentences", 16)
    for role, prompt in (("question", "ask: "), ("document", "search: ")):
        steps = []
        vectors = encoder.encode(TEXTS, role, steps.append)
        np.testing.assert_allclose(vectors, unit([states(prompt + text)[0] for text in TEXTS]), atol=1e-5)
        assert (vectors.dtype, sum(steps)) == (np.float32, len(TEXTS))


def test_a_sentence_model_that_says_nothing_of_prompts_may_be_e5(sentences, states, tmp_path):
    settings = json.loads((sentences / "config_sentence_transformers.json").read_text())
    del settings["prompts"]
    told = ("other", {}, ""), ("small-e5", {}, "query: "), ("own-e5", {"prompts": {}}, "")
    for name, prompts, prefix in told:
        shutil.copytree(sentences, tmp_path / name)
        path = tmp_path / name / "config_sentence_transformers.json"
        path.write_text(json.dumps({**settings, **prompts}))
        vectors = load_encoder(f"st:{tmp_path / name}").encode(TEXTS)
        np.testing.assert_allclose(vectors, unit([states(prefix + text)[0] for text in TEXTS]), atol=1e-5)


def test_a_folder_is_recognised_without_a_prefix(bert, sentences):
    for folder, kind in ((bert, "hf"), (sentences, "st")):
        encoder = load_encoder(folder)
        assert encoder.kind == kind
        np.testing.assert_array_equal(encoder.encode(TEXTS), load_encoder(f"{kind}:{folder}").encode(TEXTS))


def test_a_fingerprint_is_of_what_decides_the_vectors(bert, sentences, tmp_path, torch):
    from transformers import BertModel

    encoder = load_encoder(bert)
    prints = [encoder.fingerprint, load_encoder(sentences).fingerprint]
    encoder.encode(TEXTS)
    shutil.copytree(bert, tmp_path / "other")
    assert load_encoder(tmp_path / "other").fingerprint == encoder.fingerprint == load_encoder(bert).fingerprint
    # Prompts, one weight, a word of the vocabulary.
    shutil.copytree(bert, tmp_path / "e5")
    prints.append(load_encoder(tmp_path / "e5").fingerprint)
    model = BertModel.from_pretrained(bert)
    with torch.no_grad():
        model.embeddings.word_embeddings.weight[7, 3] += 0.01
    model.save_pretrained(tmp_path / "other")
    prints.append(load_encoder(tmp_path / "other").fingerprint)
    words = (bert / "tokenizer.json").read_text(encoding="utf-8")
    (tmp_path / "other" / "tokenizer.json").write_text(words.replace('"Nile"', '"Elin"'), encoding="utf-8")
    prints.append(load_encoder(tmp_path / "other").fingerprint)
    assert len(set(prints)) == len(prints) == 5


@pytest.fixture
def folders(tmp_path):
    """Folders that look like a model of each kind."""
    for name, files in {"st": ["modules.json", "config.json"], "hf": ["config.json", "tokenizer.json"]}.items():
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file).write_text("{}")
    return tmp_path


def test_models_are_told_by_prefix_or_by_their_files_but_not_our_own(folders, tiny_folder, tiny_bundle):
    assert parse_source("st:some/model") == ("st", "some/model")
    assert parse_source("hf:/a/folder") == ("hf", "/a/folder")
    assert parse_source(folders / "st") == ("st", str(folders / "st"))
    assert parse_source(folders / "hf") == ("hf", str(folders / "hf"))
    (folders / "hf" / "tokenizer.json").unlink()
    others = "muse", "https://tfhub.dev/some/encoder", "xx:model", folders, folders / "hf", tiny_folder, tiny_bundle
    assert [parse_source(other) for other in others] == [None] * 7


@pytest.mark.parametrize(
    "kind, package, line",
    [("st", "sentence_transformers", "torch sentence-transformers"), ("hf", "transformers", "torch transformers")],
)
@pytest.mark.parametrize("lacking", ["torch", "package"])
def test_an_absent_package_names_what_to_install(monkeypatch, kind, package, line, lacking):
    absent = package if lacking == "package" else "torch"
    monkeypatch.setattr(huggingface, "find_spec", lambda name: None if name == absent else object())
    said = rf"^{kind}:some/model is no folder.* {absent}, which is not installed; run: pip install {line}"
    with pytest.raises(EncoderError, match=said):
        load_encoder(f"{kind}:some/model")


@pytest.mark.parametrize("model", ["typo", "./typo", "models/typo", "a/b/c", "/nowhere/typo"])
@pytest.mark.parametrize("load", [load_encoder, load_keras_encoder, locate_encoder])
def test_a_folder_that_is_not_there_is_refused_before_a_package_is_looked_for(load, model, tmp_path, monkeypatch):
    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface, "find_spec", lambda name: pytest.fail(f"looked for {name}"))
    with pytest.raises(EncoderError, match=f"^st:{model}: "):
        load(f"st:{model}")


def test_a_folder_weighs_what_it_holds_and_a_name_nothing_and_without_weights_it_is_not_trained(folders):
    for source in ("st:some/model", str(folders / "hf")):
        assert require_kind(source).what == "a Transformers model"
    with pytest.raises(EncoderError, match=f"^{folders / 'hf'}: "):
        load_keras_encoder(folders / "hf")
    assert KIND.on_disk(f"hf:{folders / 'hf'}") == KIND.on_disk(str(folders / "hf")) == [str(folders / "hf")]
    assert KIND.on_disk("hf:some/model") == []
    with pytest.raises(EncoderError, match="^st: "):
        load_encoder("st:")


def test_code_that_a_configuration_names_is_refused_and_does_not_run(bert, tmp_path):
    folder = shutil.copytree(bert, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= {"model_type": "planted", "auto_map": {"AutoConfig": "planted.Config", "AutoModel": "planted.Model"}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "planted.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')", encoding="utf-8")
    with pytest.raises(EncoderError, match=f"{folder}: transformers "):
        load_encoder(f"hf:{folder}")
    assert not (tmp_path / "ran").exists()


def test_a_name_may_have_a_revision_and_a_folder_none(tmp_path):
    assert huggingface.split_revision("intfloat/e5-small@0a1b2c") == ("intfloat/e5-small", "0a1b2c")
    assert huggingface.split_revision("intfloat/e5-small") == ("intfloat/e5-small", None)
    folder = tmp_path / "model@home"
    folder.mkdir()
    assert huggingface.split_revision(str(folder)) == (str(folder), None)
