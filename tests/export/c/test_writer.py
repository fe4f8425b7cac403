"""An index that a program in C, or the page's, makes and changes: Python reads it, and its vectors are Python's."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from fixtures.pieces import spelled_tokenizer
from fixtures.plain_c import program, static_file
from fixtures.text import NOTES, NOTES_TWICE

import distill
from distill.encoders.catalog.bundle import released_folder
from distill.encoders.tokenizer import Tokenizer
from distill.errors import EncoderError
from distill.export.c.encoder_file import encoder_sections
from distill.export.encode import sentences as cut_at_ends
from distill.retrieval.codes import quantise
from distill.search_engine.indexing.building import IndexChange, IndexSettings, build_index
from distill.search_engine.indexing.index_file import FILE, Index
from distill.system.sections import read_sections, write_sections
from distill.vocabulary.words.cutting import is_within_cluster

MODEL, ROOT = "multi12-static", Path(__file__).resolve().parents[3]
NOT_AN_INDEX, OTHER_ENCODER, NOT_WHOLE, NOT_CHANGEABLE, NO_TEXT, NOT_WRITTEN = 5, 7, 3, 12, 13, 14
# Their ids, in the order in which they are left.
LEFT = ["zh", "th", "hi", NOTES[4][0], "long", "ar", "en"]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The `encoder.bin` of the released small encoder, named as nothing is."""
    folder, path = released_folder(MODEL), tmp_path_factory.mktemp("small") / "encoder.bin"
    content, tokenizer = (folder / "encoder.tflite").read_bytes(), Tokenizer.load(folder / "tokenizer.model")
    sections = encoder_sections(content, tokenizer, "a copy", "int4-pq5", None)
    write_sections(path, {**sections, "passage_weight": np.array([250], np.int32)})
    return path


@pytest.fixture(scope="module")
def encoder(plain_program, small):
    return program.PlainEncoder(plain_program, small.read_bytes())


@pytest.fixture(scope="module")
def indexes(tmp_path_factory, sample):
    """`{name: folder}` of indexes that Python made, of which a program changes the first alone."""
    folder = tmp_path_factory.mktemp("kb")
    rows = [
        {"id": f"é{row}", "text": text, "n": [row, {"}": "]"}]} for row, text in enumerate(sample.document_texts[:9])
    ]
    (folder / "all.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    change = IndexChange([folder / "all.jsonl"])
    build_index(folder / "plain", change, MODEL, IndexSettings(length=300, overlap=90))
    build_index(folder / "compact", change, MODEL, IndexSettings(bits=1))
    build_index(folder / "hybrid", change, MODEL, IndexSettings(hybrid=True), word_model="none")
    build_index(folder / "pair", change, "multi12-ngram", question_model=MODEL)
    return {name: folder / name for name in ("plain", "compact", "hybrid", "pair")}


def added(writer):
    """The notes put into a writer, one of them again."""
    for note in NOTES_TWICE:
        writer.add(*note)


@pytest.fixture(scope="module")
def new(plain_program, encoder, tmp_path_factory):
    """The folder of an index that was made in C."""
    folder, writer = tmp_path_factory.mktemp("new"), program.PlainWriter(plain_program, encoder)
    added(writer)
    writer.save(folder / FILE)
    writer.close()
    return folder


def passages_of(index):
    """`[(document, its passage's offset, text, sentences)]` in order, the latter as texts."""
    rows = []
    for row in range(index.passages):
        text = index.text(row)
        document = index.fields(int(index.array("document_of")[row]))
        offset = int(index.array("passage_offsets")[row])
        rows.append(
            (document["id"], offset, text.decode(), [text[a:b].decode() for a, b in index.bounds(row).tolist()])
        )
    return rows


def test_python_reads_a_new_index_whose_codes_are_pythons(new):
    index, bundle = Index(new), distill.load_encoder(MODEL)
    assert [fields["id"] for fields in index.all_fields()] == LEFT
    assert index.fields(6) == {"id": "en", "title": "Rivers"} and index.card["documents"] == 7
    assert index.passage_weight == 0.25
    passages = passages_of(index)
    for kind, texts in (
        ("passage", [text for _, _, text, _ in passages]),
        ("sentence", [sentence for _, _, _, parts in passages for sentence in parts]),
    ):
        codes, scales = quantise(bundle.encode(texts, "document"))
        # A number between two codes is rounded to either.
        apart = np.abs(index.array(f"{kind}_vectors") - codes.astype(np.int16))
        assert apart.max() <= 1 and apart.mean() < 0.02
        assert index.array(f"{kind}_scales") == pytest.approx(scales, rel=1e-3)


def test_texts_are_cut_at_the_ends_of_encode_py_and_not_within_letters(new):
    index, texts = Index(new), {id: text for id, _, text in NOTES}
    for id, offset, text, parts in passages_of(index):
        whole = texts[id]
        assert whole.encode()[offset:].startswith(text.encode()) and len(text) <= 1000
        at = whole.index(text)
        assert not is_within_cluster(whole, at) and (
            not is_within_cluster(whole, at + len(text)) or whole[at + len(text)] == "\u0301"
        )
        assert all(part.strip() == part and part for part in parts)
    for id in ("en", "zh", "ar"):
        expected = [part.strip() for part in cut_at_ends(texts[id]) if part.strip()]
        got = [part for known, _, _, parts in passages_of(index) if known == id for part in parts]
        # A mark belongs to what it stands on.
        assert got == [part for part in "\0".join(expected).replace("\0\u0301", "\u0301\0").split("\0") if part]
    # Every letter is in a passage.
    for id, whole in texts.items():
        assert re.sub(r"\s", "", whole) == re.sub(
            r"\s", "", "".join(text for known, _, text, _ in passages_of(index) if known == id)
        )


def test_a_search_finds_what_was_added_and_not_what_was_taken_out(new, plain_program, encoder, tmp_path):
    question = "Wo endet die Donau?"
    # Its encoder has another name, and is known by its fingerprint.
    [answer] = distill.search(new, question, k=2)
    assert {hit.fields["id"] for hit in answer.hits} <= {"en", "ar", "zh", "th"}
    content = (new / FILE).read_bytes()
    writer = program.PlainWriter(plain_program, encoder, content)
    assert len(writer) == 7 and writer.save() == content
    assert writer.remove("en") and not writer.remove("en") and not writer.remove("e")
    assert writer.remove(NOTES[4][0]) and not writer.remove(b"\xff")
    writer.add("zh", "Berge", "The Alps are mountains.")
    writer.add(b"\xffx", b"\xc3", b"a lone \xe2\x96 byte")
    writer.save(tmp_path / FILE)
    index = Index(tmp_path)
    assert [fields["id"] for fields in index.all_fields()] == ["th", "hi", "long", "ar", "zh", "\ufffdx"]
    assert index.text(index.passages - 1).decode() == "a lone \ufffd\ufffd byte"
    assert index.fields(5)["title"] == "\ufffd"
    [answer] = distill.search(tmp_path, question, k=50, model=MODEL)
    assert "en" not in {hit.fields["id"] for hit in answer.hits}
    opened = program.PlainIndex(plain_program, (tmp_path / FILE).read_bytes(), encoder)
    [row, *_] = opened.search(encoder.encode(["Was sind die Alpen?"])[0], 1)[0]
    assert json.loads(opened.document(row)) == {"id": "zh", "title": "Berge"}


def test_an_index_that_python_wrote_goes_on_in_c_and_then_in_python(indexes, plain_program, encoder, tmp_path):
    content, before = (indexes["plain"] / FILE).read_bytes(), Index(indexes["plain"])
    writer = program.PlainWriter(plain_program, encoder, content)
    assert writer.save() == content
    assert writer.remove("é3")
    writer.add("new", "New", "The Danube ends in the Black Sea. " * 30)
    writer.save(tmp_path / FILE)
    after = Index(tmp_path)
    known = {key: value for key, value in before.card.items() if key not in ("passages", "sentences")}
    assert known == {key: value for key, value in after.card.items() if key not in ("passages", "sentences")}
    assert [fields for fields in before.all_fields() if fields["id"] != "é3"] == list(after.all_fields())[:-1]
    kept = [row for row, passage in enumerate(passages_of(before)) if passage[0] != "é3"]
    assert [passages_of(before)[row] for row in kept] == passages_of(after)[: len(kept)]
    for name in ("passage_vectors", "passage_scales"):
        assert (after.array(name)[: len(kept)] == before.array(name)[kept]).all()
    # As the card says: 300 characters, and those last sentences again that have 90.
    lengths = [(offset, len(text)) for id, offset, text, _ in passages_of(after) if id == "new"]
    assert lengths[0] == (0, 271) and lengths[1][0] == 34 * 6
    # Without a sources.bin, and with a document that Python finds unchanged.
    (tmp_path / "more.jsonl").write_text('{"id": "more", "text": "A castle."}\n', encoding="utf-8")
    card = build_index(tmp_path, IndexChange([tmp_path / "more.jsonl"], ["é0"]), MODEL)
    assert card["documents"] == 9 and Index(tmp_path).fields(7)["id"] == "new"


def test_all_taken_out_leaves_an_index_of_nothing(new, plain_program, encoder, tmp_path):
    writer = program.PlainWriter(plain_program, encoder, (new / FILE).read_bytes())
    assert all(writer.remove(id) for id in LEFT) and len(writer) == 0
    empty = writer.save(tmp_path / FILE)
    [answer] = distill.search(tmp_path, "Where?", model=MODEL)
    opened = program.PlainIndex(plain_program, empty, encoder)
    assert answer.hits == [] and opened.search(encoder.encode(["Where?"])[0], 3) == []
    again = program.PlainWriter(plain_program, encoder, empty)
    again.add("1", "", "One.")
    again.save(tmp_path / FILE)
    assert Index(tmp_path).documents == 1


def test_what_is_not_to_be_changed_is_refused(indexes, new, plain_program, encoder, tokenizer, tmp_path):
    contents = {name: (folder / FILE).read_bytes() for name, folder in indexes.items()}
    plain, other = contents["plain"], program.PlainEncoder(plain_program, static_file(tmp_path / "o.bin", tokenizer))
    refusals = [(encoder, plain[:size], NOT_WHOLE) for size in (0, 15, 2000, len(plain) - 1)]
    refusals += [(encoder, contents["pair"], OTHER_ENCODER), (other, plain, OTHER_ENCODER)]
    refusals += [(encoder, contents[name], NOT_CHANGEABLE) for name in ("compact", "hybrid")]
    for of, content, status in refusals:
        with pytest.raises(program.Refused) as caught:
            program.PlainWriter(plain_program, of, content)
        assert caught.value.args[0] == status
    writer = program.PlainWriter(plain_program, encoder, plain)
    for text in ("", " \n\u3000\u2028", "\x1f"):
        with pytest.raises(program.Refused) as caught:
            writer.add("é1", "", text)
        assert caught.value.args[0] == NO_TEXT
    assert writer.save() == plain
    with pytest.raises(program.Refused) as caught:
        writer.save(tmp_path / "nowhere" / FILE)
    assert caught.value.args[0] == NOT_WRITTEN and not list(tmp_path.glob("**/*.part"))


def test_an_index_with_one_id_twice_is_not_changed(encoder, indexes, plain_program, tmp_path):
    arrays = {name: np.array(array) for name, array in read_sections(indexes["plain"] / FILE).items()}
    objects = arrays["documents"].tobytes()
    one, other = (json.dumps(f"é{row}", ensure_ascii=False).encode() for row in (2, 7))
    assert objects.count(one) == objects.count(other) == 1
    for number, (id, opens) in enumerate([(one, False), (json.dumps("é9", ensure_ascii=False).encode(), True)]):
        changed = np.frombuffer(objects.replace(other, id), dtype=np.uint8)
        write_sections(tmp_path / f"{number}", {**arrays, "documents": changed})
        content = (tmp_path / f"{number}").read_bytes()
        if opens:
            program.PlainWriter(plain_program, encoder, content).close()
            continue
        with pytest.raises(program.Refused) as caught:
            program.PlainWriter(plain_program, encoder, content)
        assert caught.value.args[0] == NOT_AN_INDEX


def test_an_encoder_that_is_nowhere_is_named_in_one_line(plain_program, tokenizer, tmp_path):
    alone = program.PlainEncoder(plain_program, static_file(tmp_path / "o.bin", tokenizer))
    writer = program.PlainWriter(plain_program, alone)
    writer.add("1", "", "the Nile")
    writer.save(tmp_path / FILE)
    with pytest.raises(EncoderError, match="small.*--model"):
        next(distill.search(tmp_path, "the Nile"))


def test_broken_indexes_and_any_operations_do_no_harm(writer_fuzz, tokenizer, indexes, tmp_path):
    static = tmp_path / "encoder.bin"
    static_file(static, spelled_tokenizer(tokenizer, _teh_nyl="the Nile", e="en"))
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(text for _, _, text in NOTES), encoding="utf-8")
    result = subprocess.run(
        [writer_fuzz, static, texts, "1", "150", "400"], capture_output=True, text=True, timeout=120
    )
    assert (result.returncode, result.stderr) == (0, "")
    saved, of, opened, files = map(int, re.findall(r"\d+", result.stdout))
    assert (of, files) == (150, 400) and saved > 100 and 0 < opened < 400


# What a worker of the page does, with the program's memory.
NODE = """
const fs = require("fs");
const [wasm, encoder, notes, output] = process.argv.slice(1);
const { exports: calls } = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(wasm)), {});
const put = bytes => {
  const place = calls.reserve(bytes.length);
  new Uint8Array(calls.memory.buffer, place, bytes.length).set(bytes);
  return [place, bytes.length];
};
const require_ = code => { if (code) throw new Error(`status ${code}`); };
require_(calls.open_encoder(...put(fs.readFileSync(encoder))));
const [room] = put(Buffer.alloc(4));
const opened = (call, ...file) => {
  require_(call(...file, room));
  return new Uint32Array(calls.memory.buffer, room, 1)[0];
};
const first = opened(calls.writer_open, 0, 0);
for (const note of JSON.parse(fs.readFileSync(notes))) {
  const places = note.map(text => put(Buffer.from(text)));
  require_(calls.writer_add(first, ...places.flat()));
  places.forEach(([place]) => calls.release(place));
}
const gone = put(Buffer.from("none"));
require_(calls.writer_remove(first, ...gone));
require_(calls.writer_save(first));
fs.writeFileSync(output, new Uint8Array(calls.memory.buffer, calls.saved(), calls.saved_size()));
const before = calls.saved();
const index = opened(calls.open_index, before, calls.saved_size());
const writer = opened(calls.writer_open, before, calls.saved_size());
const [question, size] = put(Buffer.from("Wo endet die Donau?"));
require_(calls.encode(question, size, 0));
console.log(calls.writer_documents(writer), before % 64, calls.search(index, 3), calls.open_index(before, 20, room));
console.log(calls.writer_documents(first), calls.writer_add(writer, question, size, 0, 0, 0, 0));
[first, writer].forEach(one => calls.writer_close(one));
calls.close_index(index);
calls.release(before);
"""


def test_the_page_program_makes_the_file_that_c_makes(new, small, tmp_path):
    if not shutil.which("node"):
        pytest.skip("no Node")
    (tmp_path / "notes.json").write_text(json.dumps(NOTES_TWICE), encoding="utf-8")
    wasm = ROOT / "export" / "web" / "distill.wasm"
    command = ["node", "-e", NODE, wasm, small, tmp_path / "notes.json", tmp_path / FILE]
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert (result.stderr, result.stdout.split()) == ("", ["7", "0", "3", "3", "7", "13"])
    ours, c = read_sections(tmp_path / FILE), read_sections(new / FILE)
    assert list(ours) == list(c)
    for name in c:
        apart = np.abs(ours[name].astype(np.float64) - c[name])
        assert apart.max() <= (1 if name.endswith("_vectors") else 1e-6), name
