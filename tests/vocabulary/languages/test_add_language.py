"""A language more: pieces, rows and codes of it beside all that was there, which stays to the last bit."""

import itertools
import json

import numpy as np
import pytest
from fixtures.folders import card_in

from distill.cli import main
from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import Tokenizer, list_spellings, model_proto
from distill.export.artefact import write_artefact
from distill.export.form import Form
from distill.export.formats.format import load_artefact
from distill.export.languages import read_languages
from distill.export.weights.precision import Precision
from distill.students.embeddings import TABLE
from distill.vocabulary.languages.material import LanguageSources, read_material

LANGUAGES = ("en", "de", "ru")
ADJECTIVES = {"musta": "black", "valkoinen": "white", "pieni": "small", "vanha": "old", "nopea": "fast"}
NOUNS = {"kissa": "cat", "hevonen": "horse", "lintu": "bird", "lehmä": "cow", "karhu": "bear", "hiiri": "mouse"}
PLACES = {"metsässä": "in the forest", "järvellä": "on the lake", "pihalla": "in the yard", "tiellä": "on the road"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """`(parallel, dictionary, text)`: real Finnish of few words."""
    folder = tmp_path_factory.mktemp("fi")
    rows = [
        (f"the {ADJECTIVES[a]} {NOUNS[n]} is {PLACES[p]}", f"{a} {n} on {p}", f"{a}: {n}, {p}")
        for a, n, p in itertools.product(ADJECTIVES, NOUNS, PLACES)
    ]
    write(folder / "lines.tsv", "en\tfi", (f"{en}\t{fi}" for en, fi, _ in rows))
    write(folder / "words.tsv", "fi\ten", (f"{fi}\t{en} | {en}s" for fi, en in NOUNS.items()))
    write(folder / "text.txt", "В лесу живёт старый медведь.", (text for *_, text in rows))
    return folder / "lines.tsv", folder / "words.tsv", folder / "text.txt"


def write(path, first, rows):
    path.write_text("\n".join([first, *rows]) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def bundle(wide, sample, tmp_path_factory):
    folder = tmp_path_factory.mktemp("before") / "bundle"
    texts = {name: [q.text for q in sample.questions[name].values()] for name in LANGUAGES}
    notes = {"source": "wide", "languages": list(LANGUAGES)}
    write_artefact(wide, folder, Form(precision=Precision("int8", "int4-pq5")), "bundle", notes, texts=texts)
    return folder


def add(model, output, files, *more):
    parallel, dictionary, text = map(str, files)
    options = ["--parallel", parallel, "--dictionary", f"{dictionary}=0.2", "--text", text, "--output", str(output)]
    options += ["--aligner", "none", "--add-pieces", "60", "--lines-a-step", "32", *more]
    with pytest.raises(SystemExit) as end:
        main(["add-language", str(model), "fi", *options])
    return end.value.code


def test_a_bundle_learns_a_language_and_keeps_all_else_to_the_last_bit(bundle, files, sample, tmp_path, capsys):
    output, figures, words = tmp_path / "bundle-fi", tmp_path / "figures.json", tmp_path / "words.txt"
    words.write_text("".join(f"{word}\t0.001\n" for word in NOUNS))
    spelled = "--most-words", "0", "--add-words", str(words), "--most-spellings", "4"
    assert add(bundle, output, files, "--steps", "40", *spelled, "--json", str(figures)) == 0
    report, before, after = json.loads(figures.read_text()), load_artefact(bundle), load_artefact(output)
    assert "1 in Cyrl" in capsys.readouterr().err
    texts = [question.text for name in LANGUAGES for question in sample.questions[name].values()]
    pieces = [
        [piece.piece for piece in model_proto(Tokenizer.load(each / "tokenizer.model")).pieces]
        for each in (bundle, output)
    ]
    cut = [
        [[names[id] for id in each.tokenize(text)] for text in texts]
        for names, each in zip(pieces, (before, after), strict=True)
    ]
    same = [text for text, one, other in zip(texts, *cut, strict=True) if one == other]
    assert len(same) > 0.95 * len(texts)
    np.testing.assert_array_equal(after.encode(same), before.encode(same))
    # How far it comes depends on the processor's rounding.
    p1 = report["p@1"]
    assert p1["before"] < p1["student"] <= 1 and p1["before"] < p1["written"] <= 1
    old, new = card_in(bundle), card_in(output)
    assert new["languages"] == [*LANGUAGES, "fi"] == new["pieces"]["languages"]
    assert new["added"][0]["language"] == "fi" and new["vocabulary"] == report["pieces"][1]
    sizes = sum(path.stat().st_size for path in output.iterdir() if path.name in new["files"])
    assert old["bytes"] < new["bytes"] == sizes
    # Which languages use a piece is known of all.
    used, there = read_languages(output, new), read_languages(bundle, old)
    rows = [pieces[1].index(piece) for piece in pieces[0]]
    np.testing.assert_array_equal(used.used[rows][:, :3], there.used)
    assert used.used[[number for number in range(len(pieces[1])) if number not in set(rows)], 3].all()
    # What a word is spelled as is the language's.
    spellings = list_spellings(Tokenizer.load(output / "tokenizer.model"))
    assert 0 < len(spellings) == new["added"][0]["spellings"] <= 4
    assert used.used[[id for one in spellings for id in one.ids], 3].all()
    assert used.spelled.tolist() == [[False, False, False, True]] * len(spellings)
    assert set(report["others"]) == set(LANGUAGES)
    # A language that it has.
    assert add(output, tmp_path / "again", files) == 2


def test_an_encoder_that_is_no_bundle_is_saved_as_keras_saves_it(wide, files, tmp_path):
    wide.save(tmp_path / "wide")
    # The encoder itself for the aligner: of an option that is given twice the last counts.
    more = "--steps", "40", "--aligner", str(tmp_path / "wide")
    assert add(tmp_path / "wide", tmp_path / "saved", files, *more) == 0
    larger, before = KerasEncoder.load(tmp_path / "saved"), len(wide.tokenizer)
    table, old = (each.model.get_layer(TABLE).get_weights()[0] for each in (larger, wide))
    np.testing.assert_array_equal(table[:before], old)
    assert len(larger.tokenizer) == len(table) > before


def test_where_nothing_is_learned_nothing_is_written(slim_folder, files, tmp_path):
    assert add(slim_folder, tmp_path / "saved", files, "--steps", "40", "--aligner", str(slim_folder)) == 1
    assert not (tmp_path / "saved").exists()


def test_a_folder_that_is_not_empty_is_refused_before_anything_is_read(tmp_path):
    from distill.errors import InputError
    from distill.vocabulary.languages.add_language import LanguagePlan, add_language
    from distill.vocabulary.languages.add_spellings import SpellingPlan, add_spellings
    from distill.vocabulary.languages.add_words import WordPlan, add_words

    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    sources = LanguageSources("fi", text=("nowhere.txt",))
    plans = {add_language: LanguagePlan(sources), add_words: WordPlan(sources), add_spellings: SpellingPlan({})}
    for job, plan in plans.items():
        with pytest.raises(InputError, match="/full"):
            job("nowhere", plan, tmp_path / "full")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (dict(parallel=()), "--parallel"),
        (dict(text=("empty.txt",)), "empty.txt"),
        (dict(parallel=("empty.tsv",)), "empty.tsv"),
        (dict(parallel=("other.tsv",)), "other.tsv"),
        (dict(parallel=("few.tsv",)), "--parallel"),
        (dict(parallel=("greek.tsv",)), "greek.tsv"),
        (dict(text=("greek.txt",)), "--text"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(options, named, files, tmp_path, monkeypatch):
    from distill.errors import InputError

    monkeypatch.chdir(tmp_path)
    for name, content in {
        "empty.txt": "",
        "empty.tsv": "",
        "other.tsv": "en\tsv\na cat\ten katt\n",
        "few.tsv": "en\tfi\na cat\tkissa\n",
        "greek.tsv": "en\tfi\n" + "a cat\tη γάτα\n" * 20,
        "greek.txt": "η γάτα\n",
    }.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=named):
        read_material(LanguageSources("fi", **{"parallel": (str(files[0]),), **options}))
