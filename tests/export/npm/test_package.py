"""The package of npm, packed, installed and used in Node and in a page: its numbers and its indexes are Python's."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from fixtures.chromium import served

from distill.data.readers import SAMPLE
from distill.encoders.catalog.loading import load_encoder
from distill.export.artefact import write_artefact
from distill.export.form import Form
from distill.export.formats.npm import package
from distill.export.student import form_of_bundle
from distill.jobs.export_model import ExportOptions, export_model
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import COMPACT, IndexChange, IndexSettings, build_index

MODEL, NAME = "multi12-static", "distill-encoder"
TEXTS = ["Where does the Danube end?", "多瑙河在哪里结束？", "a\0b \ud800", "river " * 20000]
NOTES = [
    {"id": "1", "title": "Rivers", "text": "The Danube rises in the Black Forest. It ends in the Black Sea."},
    {"id": "2", "title": "Bears", "text": "Giant pandas eat bamboo for twelve hours a day."},
    {"id": "3", "text": "Coffee comes from Ethiopia. Who drank it first? Nobody knows."},
]
# About nothing that the sample has.
KEY = {"id": "key", "text": "The key of the shed hangs behind the clock in the kitchen."}
QUESTIONS = ["Wo mündet die Donau?", "¿Qué comen los pandas?", "Where is coffee from?"]
# What a page or a program does with it; `files` are contents by name.
USED = """
async function used({ load, DistillError }, { texts, notes, questions }) {
  const encoder = await load();
  const index = encoder.createIndex();
  notes.forEach(note => index.add(note));
  index.add({ id: "2", text: "Nothing of that kind." });
  index.add(notes[1]);
  index.add({ id: "4", text: "It goes again." });
  const gone = [index.remove("4"), index.remove("4")];
  const hits = [];
  for (const question of questions) hits.push(await index.search(question, 2));
  const vectors = role => texts.map(text => [...encoder.encode(text, { role })]);
  const both = { question: vectors(), document: vectors("document") };
  const documents = await index.documents();
  return { gone, documents, size: index.size, hits, vectors: both, bytes: index.save() };
}
"""
IN_NODE = """
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { DistillError, load } from "distill-encoder";
const given = JSON.parse(await readFile("given.json", "utf8"));
const { bytes, ...answer } = await used({ load, DistillError }, given);
const encoder = await load();
const read = async folder => encoder.openIndex(await readFile(`${given.indexes}/${folder}/index.bin`));
const write = async (folder, content) => {
  await mkdir(folder);
  await writeFile(`${folder}/index.bin`, content);
};
await write("new", bytes);
const known = await read("8");
// What is asked before a change is answered from what was there.
known.add({ id: "z", text: "\ufeffZebras have stripes." });
const asked = known.search("zebras", 1);
known.remove("z");
known.add(given.key);
answer.asked = (await asked).map(({ document, text }) => [document.id, text]);
answer.many = (await known.search("zebras", 2 ** 32)).length;
await write("changed", known.save());
await write("none", encoder.createIndex().save());
const compact = await read("compact");
answer.compact = await compact.search(given.questions[0], 1);
const failure = async call => {
  try {
    await call();
    return "nothing";
  } catch (error) {
    return `${error instanceof DistillError} ${error.message}`;
  }
};
const half = (await readFile(`${given.indexes}/8/index.bin`)).subarray(0, -100);
const other = await readFile(`${given.indexes}/other/index.bin`);
answer.failures = {
  compact: await failure(() => compact.add(given.notes[0])),
  half: await failure(() => encoder.openIndex(half)),
  other: await failure(() => encoder.openIndex(other)),
  encoder: await failure(() => load({ encoder: half })),
  missing: await failure(() => load({ encoder: "nowhere.bin" })),
  blank: await failure(() => known.add({ id: "b", text: " " })),
  field: await failure(() => known.add({ id: "b", text: "b", url: "b" })),
  number: await failure(() => known.add({ id: 1, text: "b" })),
  role: await failure(() => encoder.encode("b", { role: "toString" })),
  roles: await failure(() => encoder.encode("b", "document")),
  options: await failure(() => encoder.encode("b", null)),
  none: await failure(() => known.add(null)),
  files: await failure(() => load("encoder.bin")),
  empty: await failure(() => known.search(" \xad\t")),
};
await writeFile("answer.json", JSON.stringify(answer));
"""
PAGE = """<!doctype html><script type="module">
import * as library from "./node_modules/distill-encoder/index.js";
const given = await (await fetch("given.json")).json();
const { bytes, ...answer } = await used(library, given);
window.answer = { ...answer, bytes: bytes.length };
"""


@pytest.fixture(scope="module")
def indexes(tmp_path_factory):
    """Indexes by Python in a folder: of 8 bits, compact, and of another encoder."""
    folder, change = tmp_path_factory.mktemp("indexes"), IndexChange([SAMPLE / "documents.jsonl"])
    build_index(folder / "8", change, MODEL)
    build_index(folder / "compact", change, MODEL, IndexSettings(bits=COMPACT))
    (folder / "note.txt").write_text("The tower burned down.", encoding="utf-8")
    build_index(folder / "other", IndexChange([folder / "note.txt"]), "multi12-ngram")
    return folder


@pytest.fixture(scope="module")
def app(tmp_path_factory, indexes):
    """A project that has the package installed, and what it is to do."""
    if not (shutil.which("npm") and shutil.which("node")):
        pytest.skip("no Node, or no npm")
    folder = tmp_path_factory.mktemp("npm")
    export_model(MODEL, folder / "package", ExportOptions(format="npm"))
    quiet = ("--offline", "--silent", "--no-audit", "--no-fund", "--no-update-notifier", "--cache", folder / "cache")
    subprocess.run(["npm", "pack", *quiet, "--pack-destination", folder], cwd=folder / "package", check=True)
    app = folder / "app"
    app.mkdir()
    (app / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    [tarball] = folder.glob(f"{NAME}-*.tgz")
    subprocess.run(["npm", "install", *quiet, "--prefix", app, tarball], cwd=app, check=True)
    given = {"texts": TEXTS, "notes": NOTES, "key": KEY, "questions": QUESTIONS, "indexes": str(indexes)}
    (app / "given.json").write_text(json.dumps(given), encoding="utf-8")
    return app


@pytest.fixture(scope="module")
def answer(app):
    """What a program in Node says of it."""
    (app / "used.mjs").write_text(IN_NODE + USED, encoding="utf-8")
    done = subprocess.run(["node", "used.mjs"], cwd=app, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return json.loads((app / "answer.json").read_text(encoding="utf-8"))


def require_found(answer):
    """The notes that answer, their best sentences, and Python's vectors."""
    assert answer["gone"] == [True, False] and answer["size"] == 3
    documents = {fields["id"]: fields["text"] for fields in answer["documents"]}
    assert documents == {note["id"]: note["text"] for note in NOTES}
    assert [hits[0]["document"]["id"] for hits in answer["hits"]] == ["1", "2", "3"]
    best = [hits[0]["text"][slice(*hits[0]["sentence"])] for hits in answer["hits"]]
    assert best[1:] == [NOTES[1]["text"], "Coffee comes from Ethiopia."]
    encoder = load_encoder(MODEL)
    for role, vectors in answer["vectors"].items():
        assert np.sum(np.array(vectors) * encoder.encode(TEXTS, role), axis=1) == pytest.approx(1, abs=1e-6)


def test_a_program_in_node_encodes_and_finds_as_python_does(answer, indexes):
    require_found(answer)
    assert all(hits[0]["answered"] in (True, False) and "probability" not in hits[1] for hits in answer["hits"])
    assert answer["asked"] == [["z", "\ufeffZebras have stripes."]]
    assert answer["many"] == 256
    [expected] = Answers(indexes / "compact").answers(QUESTIONS[:1], 1)
    [hit] = answer["compact"]
    assert hit["text"] == expected.hits[0].text and hit["sentence"] == list(expected.hits[0].sentence)
    assert hit["score"] == pytest.approx(expected.hits[0].score, abs=1e-5)
    assert hit["probability"] == pytest.approx(expected.probability, abs=1e-4)


def test_python_reads_the_indexes_that_it_saved(answer, app, indexes):
    answers = Answers(app / "new", MODEL)
    assert [fields["id"] for fields in answers.index.all_fields()] == ["1", "3", "2"]
    for hits, expected in zip(answer["hits"], answers.answers(QUESTIONS, 2), strict=True):
        assert [hit["text"] for hit in hits] == [hit.text for hit in expected.hits]
        assert [hit["score"] for hit in hits] == pytest.approx([hit.score for hit in expected.hits], abs=1e-5)
        assert hits[0]["probability"] == pytest.approx(expected.probability, abs=1e-4)
    changed, before = Answers(app / "changed", MODEL), Answers(indexes / "8")
    assert list(changed.index.all_fields())[:-1] == list(before.index.all_fields())
    [hit] = next(changed.answers(["Wo ist der Schlüssel des Schuppens?"], 1)).hits
    assert (hit.fields["id"], hit.text) == (KEY["id"], KEY["text"])
    assert Answers(app / "none", MODEL).index.documents == 0


def test_what_cannot_be_is_said_in_a_sentence(answer):
    named = {
        "compact": "compact",
        "half": "index.bin",
        "other": "another encoder",
        "encoder": "encoder.bin",
        "missing": "nowhere.bin",
        "blank": "no text",
        "field": "url",
        "number": "id",
        "role": "toString",
        "roles": "string",
        "options": "null",
        "none": "null",
        "files": "string",
        "empty": "empty",
    }
    assert answer["failures"].keys() == named.keys()
    for name, word in named.items():
        line = answer["failures"][name]
        assert line.startswith("true ") and word in line and "\n" not in line and line.endswith(".")


def test_a_page_imports_it_from_a_static_server(app, chromium):
    (app / "index.html").write_text(PAGE + USED + "</script>", encoding="utf-8")
    tab = chromium.page()
    try:
        with served(app) as address:
            tab.open(address)
            answer = tab.until("window.answer")
    finally:
        tab.close()
    assert answer["bytes"] > 0
    require_found(answer)


def test_a_package_is_an_artefact_with_a_card(tiny_encoder, tiny_bundle, tmp_path):
    card = write_artefact(tiny_encoder, tmp_path / "package", form_of_bundle(tiny_bundle, Form("npm")), "small")
    files = set(package()["files"]) - {"card.json"}
    assert (
        set(card.files)
        == {"package.json", *files}
        == {path.name for path in (tmp_path / "package").iterdir()} - {"card.json"}
    )
