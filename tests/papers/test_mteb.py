"""mteb itself, where it is installed, with an encoder of ours and the tasks of benchmarks/mteb."""

import json
import runpy
import shutil
from functools import partial

import numpy as np
import pytest
from fixtures.commands import ROOT, process

from distill.encoders.catalog.bundle import SHIPPED, released_folder

WITHOUT = """
import sys
sys.modules["mteb"] = None
import distill
try:
    import distill.papers.mteb
except distill.DistillError as error:
    print(type(error).__name__, "[mteb]'" in str(error))
"""


def test_without_mteb_the_extra_is_named():
    assert process("-c", WITHOUT).out.split() == ["InputError", "True"]


# The licence, dimensions, the columns of the table, and tasks whose data was learned from.
CARDS = {
    "multi12-ngram": (
        *("multiple", 512, 512),
        "XQuADRetrieval",
        "LAReQARetrieval",
        "MIRACLRetrieval",
        "MassiveIntentClassification",
        "RuBQRetrieval",
    ),
    "multi12-static": ("multiple", 512, 256, "XQuADRetrieval", "MKQARetrieval", "NTREXBitextMining"),
    "multi12-transformer": ("multiple", 384, 384, "XQuADRetrieval", "MIRACLRetrieval", "STSBenchmark", "MSMARCO"),
}


@pytest.fixture(scope="module")
def mteb():
    return pytest.importorskip("mteb")


@pytest.fixture(scope="module")
def model(mteb):
    from distill.papers.mteb import load

    return load("multi12-static")


@pytest.fixture(scope="module")
def tasks(mteb):
    return runpy.run_path(str(ROOT / "benchmarks" / "mteb" / "lareqa_tasks.py"))


def paragraphs(sample, language):
    for number, passage in enumerate(sample.passages[:40]):
        head = f"{language} {number}."
        context, start = f"{head} {passage.text}", len(head) + 1
        qas = [
            {"id": one.id, "question": one.text, "answers": [{"answer_start": start, "text": passage.text}]}
            for one in sample.questions[language].values()
            if one.passage == number
        ]
        yield {"context": context, "sentence_breaks": [[0, len(head)], [start, len(context)]], "qas": qas}


@pytest.fixture(scope="module")
def folder(tasks, tmp_path_factory):
    """The sample's first passages, in English, as XQuAD-R's files have each language's: two sentences each."""
    from distill.data.loading import load_dataset

    sample, folder = load_dataset("sample"), tmp_path_factory.mktemp("xquad-r")
    for language in tasks["LANGUAGES"]:
        content = {"data": [{"title": "Sample", "paragraphs": [*paragraphs(sample, language)]}]}
        (folder / f"{language}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", CARDS)
def test_the_model_is_described_by_its_card(mteb, name):
    from mteb.models import EncoderProtocol

    from distill.papers.mteb import load

    (licence, dimension, columns, *learned), model = CARDS[name], load(name, trained_on=["Tatoeba"])
    meta, folder = model.mteb_model_meta, released_folder(name)
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    assert isinstance(model, EncoderProtocol)
    assert (meta.name, meta.license, meta.embed_dim) == (f"distill/{name}", licence, dimension)
    assert len(meta.languages) == 12 and {"ell-Grek", "zho-Hans"} < set(meta.languages)
    assert meta.similarity_fn_name.value == "dot" and meta.memory_usage_mb == card["bytes"] / 2**20
    assert meta.n_parameters > meta.n_embedding_parameters == card["vocabulary"] * columns
    assert meta.training_datasets > {"Tatoeba", *learned} and "MLQARetrieval" not in meta.training_datasets
    assert not meta.is_zero_shot_on(["XQuADRetrieval"]) and meta.is_zero_shot_on(["MLQARetrieval"])


def test_each_encoder_that_ships_has_the_data_of_its_teacher(mteb):
    from distill.papers.mteb import DATA

    assert DATA.keys() == {kind.name for kind in SHIPPED}


def test_what_a_runs_start_learned_from_counts_too(mteb, tmp_path):
    from distill.papers.mteb import load

    bundle = tmp_path / "run" / "bundle"
    shutil.copytree(ROOT / "distill" / "released_small", bundle)
    (tmp_path / "run" / "config.toml").write_text('[teacher]\nbase = "multi12-ngram"\n', encoding="utf-8")
    card = json.loads((bundle / "card.json").read_text(encoding="utf-8")) | {"dataset": "mine", "parallel_text": []}
    (bundle / "card.json").write_text(json.dumps(card), encoding="utf-8")
    meta = load(bundle).mteb_model_meta
    assert meta.name == "distill/run" and {"XQuADRetrieval", "MIRACLRetrieval"} < meta.training_datasets
    (tmp_path / "run" / "config.toml").write_text("[another.program]\n", encoding="utf-8")
    assert load(bundle).mteb_model_meta.training_datasets == set()
    (tmp_path / "run" / "config.toml").unlink()
    assert load(bundle).mteb_model_meta.training_datasets == set()


def test_the_prompt_type_is_the_role_and_similarity_is_dot(mteb):
    from mteb.types import PromptType

    from distill.errors import InputError
    from distill.papers.mteb import EncoderModel

    class Roles:
        name, dimension = "roles", 2

        def encode(self, texts, role="question", progress=None):
            return np.array([[len(text), role == "document"] for text in texts], dtype=np.float32)

    class Metadata:
        name = "Task"

    model, more = EncoderModel(Roles(), None), {"task_metadata": Metadata, "hf_split": "test", "hf_subset": "de"}
    batches = [{"text": ["a", "bb"]}, {"text": ["ccc"]}]
    for prompt, role in ((PromptType.document, 1), (PromptType.query, 0), (None, 0)):
        vectors = model.encode(batches, prompt_type=prompt, batch_size=2, show_progress_bar=False, **more)
        assert vectors.tolist() == [[1, role], [2, role], [3, role]]
    assert np.asarray(model.similarity(vectors, vectors)).tolist() == (vectors @ vectors.T).tolist()
    assert np.asarray(model.similarity_pairwise(vectors, vectors)).tolist() == [1, 4, 9]
    with pytest.raises(InputError, match="Task"):
        model.encode([{"image": [0]}], **more)


def test_tasks_on_files_give_our_own_figures(mteb, model, tasks, folder, tmp_path):
    from distill.data.loading import load_dataset
    from distill.data.pool_readers import load_pool
    from distill.evaluation.evaluate import evaluate
    from distill.papers.bias.lareqa import encode_pool, rank_pool
    from distill.papers.mteb import save_relevant
    from distill.papers.mteb_predictions import compare_predictions

    across, pool = tasks["XQuADCrossLingualRetrieval"](), tasks["LAReQARetrieval"]()
    chosen = across.filter_languages(None, hf_subsets=["eng-deu", "eng-tha"]).load_folder(folder)
    pool = pool.filter_languages(None, hf_subsets=["de", "th"]).load_folder(folder)
    options = {"cache": None, "show_progress_bar": False}
    result = mteb.evaluate(model, [chosen, pool], prediction_folder=tmp_path / "a", **options)
    scores = {(one.task_name, row["hf_subset"]): row for one in result.task_results for row in one.scores["validation"]}
    dataset = load_dataset(folder)
    dataset.splits["all"] = tuple(dataset.questions["en"])
    ranks = evaluate(model.encoder, dataset, "all", ("de", "th"), ("passage",)).ranks["passage"]
    known = load_pool(folder, tuple(tasks["LANGUAGES_R"]), "all")
    own_map = rank_pool(*encode_pool(model.encoder, known), known).figures().precision.languages
    for language, subset in (("de", "eng-deu"), ("th", "eng-tha")):
        hits = float(np.mean(ranks[language] == 1))
        assert 0.2 < hits < 1
        assert scores["XQuADCrossLingualRetrieval", subset]["precision_at_1"] == round(hits, 5)
        # All of its sentences are ranked: fewer than a thousand.
        assert scores["LAReQARetrieval", language]["main_score"] == round(own_map[language], 5)
    for task in (chosen, pool):
        assert save_relevant(task, tmp_path).name == f"{task.metadata.name}_relevant.json"
    rows = compare_predictions(tmp_path / "a", tmp_path / "a", tmp_path, ["p@1", "map"])
    assert rows["p@1"]["XQuADCrossLingualRetrieval validation"]["eng-deu"].a == np.mean(ranks["de"] == 1)
    assert rows["map"]["LAReQARetrieval validation"]["th"].a == pytest.approx(own_map["th"], abs=1e-12)


def test_the_tasks_are_described_in_full_and_read_what_lies_at_their_source(tasks, folder, tmp_path, monkeypatch):
    names = ("XQuADCrossLingualRetrieval", "XQuADRRetrieval", "LAReQARetrieval")
    for name in names:
        metadata = tasks[name].metadata
        assert metadata.is_filled() and metadata.sample_creation == "human-translated"
        metadata._validate_metadata()
    # The paths of a hub and of GitHub, with a folder in their place.
    import datasets

    rows = {}
    for language in ("en", "el"):
        paragraphs = json.loads((folder / f"{language}.json").read_text(encoding="utf-8"))["data"][0]["paragraphs"]
        rows[language] = [{**qa, "context": one["context"]} for one in paragraphs for qa in one["qas"]]
        (tmp_path / f"{language}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[language]))
    configs = "".join(
        f"- config_name: xquad.{one}\n  data_files:\n  - split: validation\n    path: {one}.jsonl\n" for one in rows
    )
    (tmp_path / "README.md").write_text(f"---\nconfigs:\n{configs}---\n")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    base = tasks[names[0]]
    metadata = base.metadata.model_copy(update={"dataset": {"path": str(tmp_path), "revision": "main"}})
    across = type(names[0], (base,), {"metadata": metadata})().filter_languages(None, hf_subsets=["eng-ell"])
    across.load_data()
    part = across.dataset["eng-ell"]["validation"]
    assert list(part["queries"]["text"]) == [row["question"] for row in rows["el"]]
    assert set(part["corpus"]["text"]) == {row["context"] for row in rows["en"]}


def test_the_three_lines_of_the_page_evaluate(mteb, tasks, folder, tmp_path, monkeypatch):
    page = (ROOT / "docs" / "mteb.md").read_text(encoding="utf-8")
    lines = page.partition("<!-- test -->\n```python\n")[2].partition("```")[0]
    assert len([line for line in lines.splitlines() if line]) == 3
    task = tasks["XQuADRRetrieval"]().filter_languages(None, hf_subsets=["el"]).load_folder(folder)
    # The hub is not reached, and the user's cache of results stays as it is.
    monkeypatch.setattr(mteb, "get_tasks", lambda tasks: [task])
    monkeypatch.setattr(mteb, "evaluate", partial(mteb.evaluate, cache=None))
    monkeypatch.chdir(tmp_path)
    exec(lines, {})
    assert (tmp_path / "predictions" / "multi12-ngram" / "XQuADRRetrieval_predictions.json").is_file()
