"""The encoder and the searcher in Java, compiled once and run in one JVM: ids, vectors and answers are Python's."""

import json
import random
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest
from fixtures.encoders import made_student
from fixtures.pieces import spelled_tokenizer
from fixtures.plain_c import consistent, program
from fixtures.text import NOTES_TWICE, TEXTS

import distill
from distill.encoders.catalog.bundle import find_artefact
from distill.encoders.encoder import KerasEncoder
from distill.export.artefact import write_artefact
from distill.export.c.encoder_file import answerable_sections
from distill.export.c.reference import SectionsEncoder
from distill.export.encode import Calibration
from distill.export.form import Form
from distill.export.weights.precision import Precision
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import COMPACT, IndexChange, IndexSettings, build_index
from distill.search_engine.indexing.index_file import FILE, Index
from distill.system.sections import read_sections, write_sections

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "distill" / "data" / "sample"
JAVA = runpy.run_path(str(ROOT / "benchmarks" / "plain_java" / "run.py"))
LINE = {"best": 1.0, "margin": 4.0, "few": -2.0, "usual": 0.6, "at": [0.0, 6.0], "probability": [0.1, 0.9]}
LINE |= {"threshold": 0.5}
TRANSFORMER = "multi12-transformer"
REFUSED = "distill.FormatException: "
K = 5
# Of the sample; and what its normaliser and its symbols make of odd texts.
QUESTIONS = [json.loads(line) for line in (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
ODD = [
    *TEXTS,
    " extra_token_id_1extra_token_id_2  x <s> </s> <unk>",
    "\u3000a\u3000\u2581 \u2581b\u0301 ㌖ﬁ\u200b",
    "\ude00\ud83d",
    "a\0b",
    "Where does teh nyl begin, qq?",
    "Co to jest gdzie zaczyna sie kai pou einai to tou potamou",
    "\U0001f389" * 3 + "\u0e33 हिन्दी",
]
pytestmark = pytest.mark.skipif(not (shutil.which("javac") and shutil.which("java")), reason="there is no JDK")


def some(count):
    """Texts of the sample, the same number in each of its languages, and the odd ones."""
    languages = sorted({row["language"] for row in QUESTIONS})
    assert len(languages) == 12
    rows = [[row["text"] for row in QUESTIONS if row["language"] == language][:count] for language in languages]
    return [*(text for row in rows for text in row), *ODD]


ASKED = [text for text in some(2) if text.replace("\xad", "").strip()]
EMPTY = [text for text in some(2) if text not in ASKED]


def as_typed(name):
    """Texts for an encoder that distill comes with, in lower case too where spellings change these."""
    texts = some(4 if name == "multi12-static" else 1)
    return texts if name == TRANSFORMER else [*texts, *(text.lower() for text in texts)]


# Each table and both precisions of dense layers, a context, a factor and a projection, and lengths.
SMALL = {
    "factor": Form("c", Precision("int8", "int4"), max_length=48),
    "context": Form("c", Precision("int8", "uint8")),
    "shallow": Form("c", Precision("float32", "float32")),
}


@pytest.fixture(scope="module")
def small(tokenizer, tmp_path_factory):
    """`{name: encoder.bin}` of small students with random weights."""
    folder, rng = tmp_path_factory.mktemp("small"), np.random.default_rng(0)

    def randomised(model, scale):
        model.set_weights([weight + rng.normal(0, scale, weight.shape) for weight in model.get_weights()])
        return model

    for name, form in SMALL.items():
        student = made_student(name, spelled_tokenizer(tokenizer, _teh_nyl="the Nile", q="Ni"), randomised)
        assert isinstance(student, KerasEncoder)
        write_artefact(student, folder / name, form, name)
    return {name: folder / name / "encoder.bin" for name in SMALL}


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """`{name: encoder.bin}` of the encoders that distill comes with, in one of which a passage has a weight."""
    folder = tmp_path_factory.mktemp("shipped")
    tables = {"multi12-ngram": "int4-pq5", "multi12-static": "int4-pq5", TRANSFORMER: "int4-pq3"}
    files = {
        name: JAVA["write_encoder"](folder / f"{name}.bin", find_artefact(name), name, table)
        for name, table in tables.items()
    }
    weight = np.array([250], dtype=np.int32)
    return {**files, "multi12-static": changed(files["multi12-static"], folder / "weighs.bin", passage_weight=weight)}


@pytest.fixture(scope="module")
def indexes(tmp_path_factory):
    """`{bits: folder}` of indexes of some of the sample's documents, the compact one by the encoder that asks."""
    folder = tmp_path_factory.mktemp("indexes")
    lines = (SAMPLE / "documents.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "some.jsonl").write_text("".join(lines[:24]), encoding="utf-8")
    change, asker = IndexChange([folder / "some.jsonl"]), "multi12-static"
    build_index(folder / "8", change, "multi12-ngram", question_model=asker)
    build_index(folder / "own", change, asker)
    build_index(folder / str(COMPACT), change, asker, IndexSettings(bits=COMPACT))
    shutil.copytree(folder / "own", folder / "hybrid")
    build_index(folder / "hybrid", IndexChange(), asker, IndexSettings(hybrid=True), word_model="none")
    return {bits: folder / str(bits) for bits in (8, COMPACT, "own", "hybrid")}


def changed(source, target, **sections):
    """A file of sections written anew with some that are others, or without those that are None."""
    arrays = {**read_sections(source), **sections}
    write_sections(target, {name: array for name, array in arrays.items() if array is not None})
    return target


def with_number(array, place, number):
    array = array.copy()
    array.reshape(-1)[place] = number
    return array


def broken_encoders(path, folder):
    """Files that are no encoder's, each by what is wrong with it."""
    content, arrays, files = path.read_bytes(), read_sections(path), {}
    for length in (0, 7, 100, len(content) // 2, len(content) - 1):
        files[f"cut at {length}"] = folder / f"cut-{length}"
        files[f"cut at {length}"].write_bytes(content[:length])
    files["longer"] = folder / "longer"
    files["longer"].write_bytes(content + b"\0")
    for name, place, number in (
        *(("settings", place, 9) for place in (0, 1, 2, 3, 4, 7, 8)),
        *(("settings", 5, 1), ("settings", 3, -1), ("tokenizer", 0, -1), ("tokenizer", 7, 1)),
        *(("piece_starts", 3, 2**31), ("charsmap", 3, 255)),
    ):
        array = {name: with_number(arrays[name], place, number)}
        files[f"{name} {place}"] = changed(path, folder / f"{name}-{place}-{number}", **array)
    for place, number in ((0, -2), (0, 10**6), (-1, 5)):
        array = with_number(arrays["spellings"], place, number)
        files[f"spellings {place} {number}"] = changed(path, folder / f"spellings-{place}-{number}", spellings=array)
    long = np.array([*([5] * 40), -1, 5, -1], dtype=np.int32)
    files["a spelling longer than its bytes"] = changed(path, folder / "spellings-long", spellings=long)
    for name in ("piece_types", "table.1", "lift.kernel", "context.second.kernel", "fingerprint"):
        files[name] = changed(path, folder / name, **{name: None})
    kernel = arrays["second.kernel"]
    files["narrow"] = changed(path, folder / "narrow", **{"second.kernel": kernel[:, :-1]})
    files["another type"] = changed(path, folder / "type", **{"piece_scores": arrays["piece_scores"].view(np.int32)})
    return files | without_columns(path, folder, "pieces", "charsmap")


def without_columns(path, folder, *names):
    """`{what is wrong: file}` with each of the sections as rows of no numbers."""
    files = {f"{name} without columns": folder / f"no-columns-{name}" for name in names}
    for name, file in zip(names, files.values(), strict=True):
        file.write_bytes(consistent.without_columns(path.read_bytes(), name))
    return files


def broken_indexes(path, folder):
    """Files that are no index, each by what is wrong with it."""
    arrays, files = read_sections(path), {}
    for name, place, number in (
        *(("numbers", place, 9) for place in (0, 1, 2, 3, 4, 5)),
        *(("numbers", 6, 0), ("sentence_starts", 1, 2**30)),
    ):
        array = {name: with_number(arrays[name], place, number)}
        files[f"{name} {place}"] = changed(path, folder / f"i-{name}-{place}", **array)
    for name in ("card", "passage_scales", "text_blocks", "sentence_bounds"):
        files[name] = changed(path, folder / f"i-{name}", **{name: None})
    card = arrays["card"].tobytes().replace(b'fingerprint": "', b'fingerprint": "0')
    files["of another encoder"] = changed(path, folder / "other", card=np.frombuffer(card, dtype=np.uint8))
    for place, scale in enumerate((np.nan, np.inf, -1, 3)):
        array = with_number(arrays["sentence_scales"], place, scale)
        files[f"a scale of {scale}"] = changed(path, folder / f"i-scale-{place}", sentence_scales=array)
    return files | without_columns(path, folder, "card", "text", "documents")


def damaged(path, folder, count):
    """Copies with a byte or two that are others, in the head or anywhere."""
    content, rng = path.read_bytes(), random.Random(7)
    for number in range(count):
        array = bytearray(content)
        for _ in range(rng.randint(1, 2)):
            array[rng.randrange(len(array) if number % 4 == 0 else 2048)] = rng.randrange(256)
        (folder / f"damaged-{number}").write_bytes(array)
    return [folder / f"damaged-{number}" for number in range(count)]


class Ran:
    """All jobs and what they printed and wrote."""

    def __init__(self, folder):
        self.folder, self.lines, self.jobs = folder, {}, []

    def add(self, name, *words):
        self.jobs.append((name, words))

    def run(self, classes):
        printed = JAVA["jobs"](classes, self.folder, [words for _, words in self.jobs])
        assert len(printed) == len(self.jobs)
        self.lines = {name: line for (name, _), line in zip(self.jobs, printed, strict=True)}


def add_written(ran, model, indexes):
    """Add the jobs that write indexes."""
    notes = {"new": NOTES_TWICE, "kept": [], "blank": [("1", "", " \n")]}
    notes["changed"] = [(ran.first, "", ""), ("1", "\ud83d", "A lone \udc00 half."), ("none", "", "")]
    texts = {
        name: JAVA["write_texts"](ran.folder / f"{name}.notes", [text for note in some for text in note])
        for name, some in notes.items()
    }
    index = indexes["own"]
    ran.written = {name: ran.folder / f"{name}.index" for name in notes}
    for name, path in ran.written.items():
        ran.add(f"write {name}", "write", model, "-" if name == "new" else index, texts[name], path)
    ran.kept_out = {"compact": indexes[COMPACT], "of a pair": indexes[8], "with words": indexes["hybrid"]}
    for name, path in {**ran.kept_out, **ran.broken_indexes}.items():
        ran.add(f"write {name}", "write", model, path, texts["changed"], ran.folder / "unwritten")


@pytest.fixture(scope="module")
def ran(small, shipped, indexes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("java")
    ran, model = Ran(folder), shipped["multi12-static"]
    ran.first = Index(indexes["own"]).fields(0)["id"]
    for name, path in {**small, **shipped}.items():
        texts = JAVA["write_texts"](folder / f"{name}.texts", some(4) if name in small else as_typed(name))
        ran.add(name, "encode", path, texts, folder / f"{name}.out")
    questions = JAVA["write_texts"](folder / "questions", ASKED)
    for number, empty in enumerate(EMPTY):
        text = JAVA["write_texts"](folder / f"{number}.empty", [empty])
        ran.add(empty, "search", model, indexes["own"], text, K, folder / "nothing")
    for bits, index in list(indexes.items())[:3]:
        ran.add(bits, "search", model, index, questions, K, folder / f"{bits}.hits")
    calibrated = changed(model, folder / "calibrated.bin", **answerable_sections({"scores": {"sum": LINE}}))
    for name, path, k in (("answer", calibrated, K), ("few", calibrated, 2), ("not calibrated", model, K)):
        ran.add(name, "answer", path, indexes["own"], questions, k)
    ran.add("another's", "answer", calibrated, indexes[8], questions, K)
    ran.broken = broken_encoders(small["context"], folder)
    ran.damaged = damaged(small["context"], folder, 40)
    for name, path in [*ran.broken.items(), *((path.name, path) for path in ran.damaged)]:
        ran.add(name, "encode", path, questions, folder / "nothing")
    ran.broken_indexes = broken_indexes(indexes[8] / "index.bin", folder)
    for name, path in ran.broken_indexes.items():
        ran.add(f"index {name}", "open", model, path)
    ran.broken_texts = {
        "text_lengths": changed(
            indexes[8] / "index.bin",
            folder / "t8",
            text_lengths=with_number(read_sections(indexes[8] / "index.bin")["text_lengths"], slice(None), 2**30),
        ),
        "text": changed(
            indexes[COMPACT] / "index.bin",
            folder / "t1",
            text=with_number(read_sections(indexes[COMPACT] / "index.bin")["text"], slice(None), 255),
        ),
    }
    for name, path in ran.broken_texts.items():
        ran.add(f"index {name}", "search", model, path, questions, K, folder / "nothing")
    ran.add("nowhere", "open", folder / "nowhere.bin")
    add_written(ran, model, indexes)
    ran.run(JAVA["compiled"](folder / "classes"))
    return ran


@pytest.mark.parametrize("name", SMALL)
def test_every_kind_of_layer_and_table_gives_the_vectors_of_numpy(name, ran, small):
    encoder, texts = SectionsEncoder(small[name], name), some(4)
    ids, vectors = JAVA["read_encoded"](ran.folder / f"{name}.out", encoder.dimension)
    assert ids == [encoder.tokenize(text) for text in texts]
    cosines = np.sum(vectors * encoder.encode(texts), axis=1)
    # In few dimensions one number that is rounded to its other neighbour weighs more.
    assert np.median(cosines) > 0.999999 and cosines.min() > 0.998


@pytest.mark.parametrize(
    ("name", "least"), [("multi12-ngram", 0.9999), ("multi12-static", 0.9999), (TRANSFORMER, 0.997)]
)
def test_the_encoders_that_distill_comes_with_have_the_ids_and_vectors_of_encode_py(name, least, ran):
    encoder, texts = distill.load_encoder(name), as_typed(name)
    ids, vectors = JAVA["read_encoded"](ran.folder / f"{name}.out", encoder.dimension)
    assert ids == [list(encoder.tokenize(text)) for text in texts]
    # Of a transformer one last bit turns what all layers behind it round, and with AVX2 alone LiteRT rounds otherwise.
    cosines = np.sum(vectors * encoder.encode(texts), axis=1)
    assert cosines.min() > least and np.median(cosines) > 0.999
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("bits", [8, COMPACT])
def test_answers_are_those_of_distill_search(bits, ran, indexes):
    expected = [answer.hits for answer in Answers(indexes[bits]).answers(ASKED, K)]
    got = JAVA["read_hits"](ran.folder / f"{bits}.hits")
    for rows, hits in zip(got, expected, strict=True):
        assert [row[1] for row in rows] == pytest.approx([hit.score for hit in hits], abs=2e-3)
        assert [row[0] for row in rows] == [hit.row for hit in hits]
        for (_, _, text, sentence, document), hit in zip(rows, hits, strict=True):
            assert text == hit.text and sentence == hit.text[slice(*hit.sentence)]
            assert json.loads(document) == hit.fields


def test_an_empty_question_is_refused_as_distill_search_refuses_it(ran):
    assert {*EMPTY} >= {"", "\xad"}
    for empty in EMPTY:
        assert ran.lines[empty].startswith("java.lang.IllegalArgumentException: the question is empty")


def test_the_probability_of_an_answer_is_that_of_encode_py(ran, indexes):
    hits = next(Answers(indexes["own"]).answers(some(2)[:1], K)).hits
    line, scores = Calibration(LINE), [hit.score for hit in hits]
    passages = Index(indexes["own"]).passages
    assert float(ran.lines["answer"]) == pytest.approx(line.probability(scores, passages), abs=0.01)
    assert float(ran.lines["few"]) == pytest.approx(line.probability(scores[:2], passages), abs=0.01)
    assert 0.1 < float(ran.lines["answer"]) < 0.9 and ran.lines["not calibrated"] == "NaN"
    # Of a pair it is that of the encoder that asks.
    hits = next(Answers(indexes[8]).answers(some(2)[:1], K)).hits
    known = line.probability([hit.score for hit in hits], Index(indexes[8]).passages)
    assert float(ran.lines["another's"]) == pytest.approx(known, abs=0.01)


def test_files_that_are_broken_are_refused_by_name(ran):
    for name, path in ran.broken.items():
        assert ran.lines[name].startswith(f"{REFUSED}{path}: "), name
    for name, path in {**ran.broken_indexes, **ran.broken_texts}.items():
        assert ran.lines[f"index {name}"].startswith(f"{REFUSED}{path}: "), name
    assert ran.lines["nowhere"].startswith("java.io.FileNotFoundException: ") and "nowhere.bin" in ran.lines["nowhere"]


def test_a_file_with_other_bytes_is_refused_or_gives_other_numbers(ran):
    lines = {path.name: ran.lines[path.name] for path in ran.damaged}
    refused = [line for line in lines.values() if line.startswith(REFUSED)]
    assert 4 < len(refused) < len(lines)
    assert {name: line for name, line in lines.items() if line not in refused and not line[0].isdigit()} == {}


def test_an_index_is_written_as_c_writes_it(ran, shipped, plain_program):
    encoder = program.PlainEncoder(plain_program, shipped["multi12-static"].read_bytes())
    writer = program.PlainWriter(plain_program, encoder)
    for note in NOTES_TWICE:
        writer.add(*note)
    (ran.folder / "c.index").write_bytes(writer.save())
    ours, c = read_sections(ran.written["new"]), read_sections(ran.folder / "c.index")
    assert list(ours) == list(c) and ours["numbers"][8] == 250 and float(ran.lines["write new"]) == len(writer)
    for name in c:
        apart = np.abs(ours[name].astype(np.float64) - c[name])
        # A number between two codes is rounded to either.
        assert apart.max() <= (1 if name.endswith("_vectors") else 1e-5 if name.endswith("_scales") else 0), name


def test_an_index_that_python_wrote_goes_on(ran, indexes):
    assert ran.written["kept"].read_bytes() == (indexes["own"] / FILE).read_bytes()
    folder = ran.folder / "changed"
    folder.mkdir()
    shutil.copy(ran.written["changed"], folder / FILE)
    before, after = Index(indexes["own"]), Index(folder)
    assert list(before.all_fields())[1:] == list(after.all_fields())[:-1]
    first = before.array("sentence_starts")[before.document_edges[1]]
    kept = before.array("sentence_vectors")[first:]
    assert (kept == after.array("sentence_vectors")[: len(kept)]).all() and len(kept)
    assert after.fields(after.documents - 1) == {"id": "1", "title": "\ufffd"}
    [answer] = distill.search(folder, "a lone half", k=1)
    assert answer.hits[0].text == "A lone \ufffd half."
    assert ran.first not in {hit.fields["id"] for hit in next(distill.search(folder, "Nile", k=99)).hits}


def test_an_index_that_is_not_to_be_changed_is_refused_and_nothing_is_written(ran):
    for name, path in {**ran.kept_out, **ran.broken_indexes}.items():
        assert ran.lines[f"write {name}"].startswith(f"{REFUSED}{path}"), name
    assert ran.lines["write blank"].startswith("java.lang.IllegalArgumentException: there is no text")
    assert not ran.written["blank"].exists() and not (ran.folder / "unwritten").exists()
    assert not list(ran.folder.glob("*.part"))
