"""Folders of transformers at the command line: bad ones are refused in a line, and long texts are cut."""

import json
import shutil

import numpy as np
import pytest

from distill.data.readers import SAMPLE
from distill.encoders.catalog.loading import load_encoder


def changed(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


# What is done to a folder of XLM-R, and what is said of it.
BAD = {
    "no weights": ("expected model.safetensors", lambda folder: (folder / "model.safetensors").unlink()),
    "truncated": (
        "model.safetensors: no safetensors file, or a broken one",
        lambda folder: (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:5000]),
    ),
    "an empty file": ("config.json: invalid JSON", lambda folder: (folder / "config.json").write_text("")),
    "another architecture": (
        "its model_type is 'mamba'; distill trains and ships bert, ",
        lambda folder: changed(folder / "config.json", lambda told: told.update(model_type="mamba")),
    ),
    "another tokenizer": (
        "tokenizer.json",
        lambda folder: changed(folder / "tokenizer.json", lambda told: told["model"].update(type="WordLevel")),
    ),
    "other sizes": (
        "its config asks for",
        lambda folder: changed(folder / "config.json", lambda told: told.update(hidden_size=32)),
    ),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_a_bad_folder_is_refused_in_one_line_and_nothing_is_written(
    refused, transformers, sentence_data, case, tmp_path
):
    said, change = case
    folder = shutil.copytree(transformers / "xlm-roberta", tmp_path / "bad")
    change(folder)
    assert said in refused("teach", "--base", f"hf:{folder}", "--dataset", sentence_data, "--output", tmp_path / "t")


def test_documents_alone_are_nothing_for_a_transformer(refused, transformers, tmp_path):
    named = ["--base", transformers / "bert", "--runs", tmp_path / "runs"]
    assert "--documents" in refused("run", "--documents", SAMPLE / "documents.jsonl", *named)


def test_new_languages_are_refused_before_a_run_begins_where_pieces_have_no_scores(
    refused, transformers, sentence_data, tmp_path
):
    (tmp_path / "de.txt").write_text("Wo endet die Donau?\n")
    named = ["--base", f"hf:{transformers / 'bert'}", "--dataset", sentence_data, "--runs", tmp_path / "runs"]
    assert "unigram" in refused("run", *named, "--add-languages", "de", "--text", tmp_path / "de.txt")
    assert not (tmp_path / "runs").exists()


def test_a_text_of_ten_thousand_words_is_cut_at_the_longest(distill, transformers, tmp_path):
    words, lines, vectors = "Where does the Danube end? " * 2000, tmp_path / "texts.jsonl", tmp_path / "vectors.npy"
    texts = [words, words + "The Nile.", "Where does the Nile end?"]
    lines.write_text("".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts)))
    options = ["--role", "document", "--input", lines, "--output", vectors]
    left = distill("encode", "--model", f"st:{transformers / 'bert'}", *options)
    assert left.code == 0, left.err
    first, second, other = np.load(vectors)
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).max() > 1e-3


def test_a_whitened_bundle_has_the_energy_of_its_vectors_evened_out(distill, transformers, sample, tmp_path):
    source = f"hf:{transformers / 'xlm-roberta'}"
    command = ["export", source, "--precision", "float32", "--table", "float32", "--languages", "de", "--force"]
    options = {"plain": [], "white": ["--whiten", "0.25"]}
    options["by"] = [*options["white"], "--whiten-by", f"hf:{transformers / 'bert'}"]
    for name, given in options.items():
        assert distill(*command, "--output", tmp_path / name, *given).code == 0
    plain, white, by = (load_encoder(tmp_path / name) for name in options)
    assert json.loads((tmp_path / "white" / "card.json").read_text())["whitening"] == 0.25
    energies = []
    for encoder in (plain, white):
        vectors = encoder.encode(sample.passage_texts, "document")
        energies.append(np.linalg.svd(vectors, compute_uv=False)[:4] ** 2)
    # The square root of the ratio, but for questions, which are looked at too.
    ratios = [values[0] / values[3] for values in energies]
    assert ratios[1] < ratios[0] ** 0.75
    texts = sample.passage_texts[:9]
    assert np.abs(by.encode(texts) - white.encode(texts)).max() > 0.01
    assert "bert" in json.loads((tmp_path / "by" / "card.json").read_text())["whitened_by"]


def test_what_keeps_a_bundles_weights_cannot_be_whitened(refused, tmp_path):
    command = ["export", "multi12-static", "--format", "c", "--whiten", "0.1", "--output", tmp_path / "c"]
    assert "--whiten" in refused(*command)
    command[2:] = ["--document-model", "multi12-ngram", "--whiten", "0.1", "--output", tmp_path / "pair"]
    assert "--document-model" in refused(*command)
    command[2:] = ["--whiten-by", "multi12-ngram", "--output", tmp_path / "by"]
    assert "--whiten-by" in refused(*command)
