"""An index is the same however its documents came into it, and whatever stopped the command on the way."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from fixtures.commands import environment
from fixtures.folders import change_card, copy_shipped

from distill.encoders.catalog.identity import weights_fingerprint
from distill.encoders.catalog.loading import load_encoder
from distill.errors import DataError, EncoderError, InputError
from distill.jobs.reduce_encoder import subset_languages
from distill.search_engine.indexing import batches
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import BEST, IndexChange, IndexSettings, build_index
from distill.search_engine.indexing.index_file import FILE, Index
from distill.search_engine.indexing.sources import SOURCES
from distill.system.files import hold_lock
from distill.system.sections import read_sections, write_sections

MODEL = "multi12-static"
# Files that are written before a command is killed.
PLACES = (0, 4, 9)
TEXTS = [f"The {name} is old. It has {n} rooms and {n + 3} windows! Who {name}?" for n, name in enumerate("abcdefghij")]


def write(path, numbers, texts=TEXTS, **fields):
    rows = [{"id": n, "title": f"T{n}", "text": texts[n], "group": "even" if n % 2 == 0 else "odd"} for n in numbers]
    path.write_text("".join(f"{json.dumps(row | fields)}\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(batches, "DOCUMENTS", 3)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The folder of a file of all texts, and the bytes of its index, made at once."""
    folder = tmp_path_factory.mktemp("index")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "DOCUMENTS", 3)
        build_index(folder / "kb", IndexChange([write(folder / "all.jsonl", range(10))]), MODEL)
    return folder / "all.jsonl", (folder / "kb" / FILE).read_bytes()


def content(folder):
    assert sorted(path.name for path in folder.iterdir()) == [FILE, SOURCES]
    return (folder / FILE).read_bytes()


def test_vectors_are_the_encoders_in_int8_with_a_scale_a_row(expected):
    path, _ = expected
    index, encoder = Index(path.parent / "kb"), load_encoder(MODEL)
    sentences = [
        part + mark
        for text in TEXTS
        for part, mark in zip(text.replace(". ", "|").replace("! ", "|").split("|"), (".", "!", ""), strict=True)
    ]
    for kind, texts in {"passage": TEXTS, "sentence": sentences}.items():
        vectors = encoder.encode(texts, "document")
        scales = np.abs(vectors).max(axis=1) / np.float32(127)
        np.testing.assert_array_equal(index.array(f"{kind}_scales"), scales)
        np.testing.assert_array_equal(index.array(f"{kind}_vectors"), np.rint(vectors / scales[:, None]))
    assert [index.text(row).decode() for row in range(10)] == TEXTS
    assert index.array("sentence_starts").tolist() == list(range(0, 31, 3))
    assert index.bounds(0).tolist() == [[0, 13], [14, 43], [44, 50]]
    assert index.fields(3) == {"id": "3", "title": "T3", "group": "odd"}
    assert index.card["fingerprint"] == weights_fingerprint(MODEL) and index.score == "sum"


def test_an_index_has_its_encoders_weight_of_a_passage_and_keeps_it(expected, tmp_path):
    encoder, kb = copy_shipped("multi12-static", tmp_path / "encoder"), tmp_path / "kb"
    change_card(encoder, passage_weight=0.25)
    build_index(kb, IndexChange([write(tmp_path / "one.jsonl", range(4))]), encoder)
    change_card(encoder, passage_weight=1)
    build_index(kb, IndexChange([expected[0]]), encoder)
    index, question = Index(kb), load_encoder(MODEL).encode(["Who has rooms?"])[0]
    assert (index.passage_weight, index.card["passage_weight"], index.numbers[8]) == (0.25, 0.25, 250)
    wholes, parts = (index.vectors(kind, slice(None)) @ question for kind in ("passage", "sentence"))
    scores = 0.4 * wholes + 1.6 * np.maximum.reduceat(parts, np.arange(0, 30, 3))
    hits = next(Answers(kb, encoder).answers(["Who has rooms?"], 10)).hits
    assert [hit.row for hit in hits] == np.argsort(-scores).tolist()
    assert [hit.score for hit in hits] == pytest.approx(-np.sort(-scores), abs=1e-6)
    # Of fewer bits the texts of the best are encoded again.
    change_card(encoder, passage_weight=0.25)
    build_index(tmp_path / "few", IndexChange([expected[0]]), encoder, IndexSettings(bits=1))
    hits = next(Answers(tmp_path / "few", encoder).answers(["Who has rooms?"], 10)).hits
    assert [hit.score for hit in hits] == pytest.approx(-np.sort(-scores), abs=0.02)
    sections = {name: np.array(part) for name, part in read_sections(kb / FILE).items()}
    for wrong in (-1, 10_001, 500):
        sections["numbers"][8] = wrong
        write_sections(kb / FILE, sections)
        with pytest.raises(DataError):
            Index(kb)


def test_an_index_of_a_copy_that_is_gone_is_changed_by_the_encoder_that_ships(expected, tmp_path):
    # A program in C or Java writes such an index, with the name that its file of the encoder has.
    kb = tmp_path / "kb"
    copy = copy_shipped("multi12-static", tmp_path / "copy")
    build_index(kb, IndexChange([write(tmp_path / "one.jsonl", range(4))]), copy)
    shutil.rmtree(copy)
    assert build_index(kb, IndexChange([expected[0]]))["encoder"] == "multi12-static"
    assert content(kb) == expected[1]


def test_documents_added_replaced_and_removed_give_the_index_of_those_that_remain(expected, small_batches, tmp_path):
    path, whole = expected
    kb = tmp_path / "kb"
    build_index(kb, IndexChange([write(tmp_path / "one.jsonl", range(4))]), MODEL)
    build_index(kb, IndexChange([tmp_path / "one.jsonl", write(tmp_path / "two.jsonl", range(4, 10))]), MODEL)
    assert content(kb) == whole
    # Others in its place, and back again: nothing of them stays.
    changed = [text.replace("old", "new") for text in TEXTS]
    build_index(kb, IndexChange([write(tmp_path / "three.jsonl", (8, 9), changed)], ["1"]), MODEL)
    index = Index(kb)
    assert [fields["id"] for fields in index.all_fields()] == list("023456789")
    assert index.text(8).decode() == changed[9] and index.card["documents"] == 9
    build_index(kb, IndexChange([path]), MODEL)
    assert content(kb) == whole


def test_two_names_that_are_not_utf_8_are_two_documents(tmp_path):
    notes, kb = tmp_path / "notes", tmp_path / "kb"
    notes.mkdir()
    for name, text in ((b"M\xf6ller.txt", TEXTS[0]), (b"M\xfcller.txt", TEXTS[1])):
        (notes / os.fsdecode(name)).write_text(text, encoding="utf-8")
    build_index(kb, IndexChange([notes]), MODEL)
    build_index(kb, IndexChange([write(tmp_path / "one.jsonl", [2])]), MODEL)
    # Read again they are those that are there.
    assert build_index(kb, IndexChange([notes], synced=True))["documents"] == 3
    index = Index(kb)
    assert {index.text(row).decode() for row in range(3)} == {*TEXTS[:3]}
    assert len({fields[name] for fields in index.all_fields() for name in ("id", "title")}) == 6


def test_what_is_in_the_index_is_not_encoded_again(expected, small_batches, tmp_path):
    texts = []

    def engine(jobs, numbers, role):
        for number in numbers:
            texts.extend(jobs.read(number))
            yield number, load_encoder(MODEL).encode(jobs.read(number), role)

    kb = tmp_path / "kb"
    build_index(kb, IndexChange([write(tmp_path / "one.jsonl", range(4))]), MODEL)
    build_index(kb, IndexChange([expected[0]]), MODEL, engine=engine)
    assert [text for text in texts if text in TEXTS] == TEXTS[4:]
    assert content(kb) == expected[1]


def test_a_command_that_is_killed_anywhere_is_gone_on_with(expected, small_batches, tmp_path):
    path, whole = expected
    # A process that imports what it takes and forks one for each place.
    code = f"""
import os, signal
from distill.search_engine.indexing import batches
from distill.search_engine.indexing.building import IndexChange, build_index
from distill.system import files
batches.DOCUMENTS, count, replace = 3, 0, os.replace

def killing(*paths):
    global count
    if count == place:
        os.kill(os.getpid(), signal.SIGKILL)
    count += 1
    replace(*paths)

files.os.replace = killing
for place in {PLACES}:
    if not (process := os.fork()):
        build_index({str(tmp_path)!r} + f"/{{place}}", IndexChange([{str(path)!r}]), {MODEL!r})
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=180)
    assert done.stdout.split() == [str(-signal.SIGKILL)] * len(PLACES), done.stderr
    for place in PLACES:
        build_index(tmp_path / str(place), IndexChange([path]), MODEL)
        assert content(tmp_path / str(place)) == whole, place


def test_a_sync_that_fails_at_any_write_is_made_good_by_the_next(tmp_path, monkeypatch):
    documents, before, place, replace = tmp_path / "d", tmp_path / "before", 0, os.replace

    def sync(kb, **numbers):
        for name, rows in numbers.items():
            write(documents / f"{name}.jsonl", rows)
        build_index(kb, IndexChange([documents], synced=True), MODEL)
        return content(kb), (kb / SOURCES).read_bytes()

    def failing(*paths):
        steps.append(Path(paths[1]).name)
        if len(steps) > place:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *paths)
        replace(*paths)

    documents.mkdir()
    # One goes, one goes into the other file, one comes; then the latter two go.
    during, after = {"a": (0, 2, 5), "b": (3, 1)}, {"a": (0, 2), "b": (3, 6)}
    expected = {"during": sync(tmp_path / "during", **during), "after": sync(tmp_path / "after", **after)}
    expected["before"] = sync(before, a=(0, 1, 2), b=(3, 4))
    for place in range(6):  # noqa: B007
        steps, kb = [], shutil.copytree(before, tmp_path / f"{place}")
        with monkeypatch.context() as patch:
            patch.setattr("distill.system.files.os.replace", failing)
            with pytest.raises(OSError, match="space") if place < 5 else nullcontext():
                sync(kb, **during)
        assert (kb / FILE).read_bytes() == expected["before" if place < 4 else "during"][0], place
        assert sync(kb, **after) == expected["after"], place
    assert steps[-3:] == [SOURCES, FILE, SOURCES] and len(steps) == 5


def test_a_command_that_is_killed_before_its_first_file_is_no_obstacle(tmp_path):
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / ".lock").touch()
    build_index(tmp_path / "kb", IndexChange([write(tmp_path / "all.jsonl", range(2))]), MODEL)
    content(tmp_path / "kb")


def test_what_is_wrong_is_said_with_its_place_and_leaves_nothing(tmp_path):
    path = write(tmp_path / "all.jsonl", range(3))
    for line, place in (
        ('{"id": 7, "text": " "}', "line 4"),
        ('{"id": 1, "text": "Again."}', "line 4"),
        ('{"id": 7}', "line 4"),
    ):
        path.write_text(write(path, range(3)).read_text() + line, encoding="utf-8")
        with pytest.raises(DataError, match=rf"all\.jsonl, {place}"):
            build_index(tmp_path / "kb", IndexChange([path], strict=True), MODEL)
    path.write_text("", encoding="utf-8")
    with pytest.raises(DataError, match=r"all\.jsonl"):
        build_index(tmp_path / "kb", IndexChange([path]), MODEL)
    for given in (*({"length": 99, "overlap": overlap} for overlap in (99, 120, -1)), {"score": "x"}, {"bits": 3}):
        with pytest.raises(InputError):
            build_index(tmp_path / "kb", IndexChange(str(write(path, range(3)))), MODEL, IndexSettings(**given))
    with pytest.raises(InputError, match="--remove 5"):
        build_index(tmp_path / "kb", IndexChange([path], ["5"]), MODEL)
    with pytest.raises(InputError, match=str(tmp_path)):
        build_index(tmp_path, IndexChange([path]), MODEL)
    assert list(tmp_path.iterdir()) == [path]


def test_an_index_that_is_there_stays_as_it_is_where_a_change_is_refused(expected, small_batches, tmp_path):
    path, whole = expected
    build_index(tmp_path / "kb", IndexChange([path]), MODEL)
    for change, given, model, kind, place in (
        (IndexChange([path]), IndexSettings(length=500), MODEL, InputError, "--length 1000"),
        (IndexChange([path]), IndexSettings(score="vector"), MODEL, InputError, "--score sum"),
        (IndexChange([path]), IndexSettings(), "multi12-ngram", EncoderError, "multi12-ngram"),
        (IndexChange([], ["x"]), IndexSettings(), MODEL, InputError, "--remove x"),
        (IndexChange([path], ["7", "3"]), IndexSettings(), MODEL, InputError, "--remove 7: --documents"),
        (IndexChange([], ["3"], synced=True), IndexSettings(), MODEL, InputError, "--sync .*--documents"),
        (IndexChange([tmp_path / "none.txt"]), IndexSettings(), MODEL, DataError, r"none\.txt"),
    ):
        with pytest.raises(kind, match=place):
            build_index(tmp_path / "kb", change, model, given)
    with pytest.raises(InputError, match="--remove-most"):
        IndexChange([path], removes_most=True)
    with hold_lock(tmp_path / "kb" / ".lock", "held"), pytest.raises(InputError, match="kb"):
        build_index(tmp_path / "kb", IndexChange([path]), MODEL)
    assert content(tmp_path / "kb") == whole


def test_batches_and_an_index_are_on_the_disk_before_they_have_their_names(expected, tmp_path, monkeypatch):
    synced, fsync = [], os.fsync

    def note(place):
        named = {*(re.sub("^[0-9a-f]{32}", "", path.name) for path in (tmp_path / "kb").rglob("*"))}
        synced.append((os.readlink(f"/proc/self/fd/{place}"), named & {".texts", ".vectors", FILE}))
        fsync(place)

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("a system that does not tell which file is open")
    monkeypatch.setattr(os, "fsync", note)
    build_index(tmp_path / "kb", IndexChange([expected[0]]), MODEL)
    kb, batch = f"{tmp_path}/kb", {".texts", ".vectors"}
    places = [(re.sub(r"\.\w{8}\.aside$", "", re.sub("[0-9a-f]{32}", "", place)), named) for place, named in synced]
    assert places == [
        *((f"{kb}/.part/..texts", set()), (f"{kb}/.part", {".texts"})),
        *((f"{kb}/.part/..vectors", {".texts"}), (f"{kb}/.part", batch)),
        *((f"{kb}/.{FILE}", batch), (kb, {*batch, FILE})),
    ]


def test_questions_by_a_small_encoder_find_what_the_large_one_has_encoded(expected, tmp_path):
    path, _ = expected
    card = build_index(tmp_path / "kb", IndexChange([path]), "multi12-ngram", question_model=MODEL)
    assert (card["encoder"], card["question_encoder"]) == ("multi12-ngram", MODEL)
    [answer] = Answers(tmp_path / "kb").answers(["Who g?"], 10)
    large, small = load_encoder("multi12-ngram"), load_encoder(MODEL)
    passages = large.encode([text for text in TEXTS], "document") @ small.encode(["Who g?"], "question")[0]
    assert answer.hits[0].fields["title"] == "T6"
    # By the card of the encoder that asks.
    line = small.calibrations["sum"]
    known = line.probability([hit.score for hit in answer.hits], Index(tmp_path / "kb").passages)
    assert (answer.probability, answer.threshold) == (pytest.approx(known), line.threshold)
    by_vector = Answers(tmp_path / "kb", score="vector").answers(["Who g?"], 10)
    scores = {hit.fields["id"]: hit.score for hit in next(by_vector).hits}
    assert [scores[str(n)] for n in range(10)] == pytest.approx(passages, abs=0.01)
    # More documents leave it as it is, and the same files without it make another index.
    build_index(tmp_path / "kb", IndexChange([], ["9"]), "multi12-ngram")
    assert Index(tmp_path / "kb").question_encoder == MODEL and Index(tmp_path / "kb").is_asked_by(
        weights_fingerprint(MODEL)
    )
    build_index(tmp_path / "plain", IndexChange([path]), "multi12-ngram")
    with pytest.raises(EncoderError, match=f"--question-model {MODEL}"):
        Answers(tmp_path / "plain", MODEL)
    build_index(tmp_path / "plain", IndexChange(), "multi12-ngram", question_model=MODEL)
    assert Index(tmp_path / "plain").question_encoder == MODEL
    # The encoder of the documents itself is no other one.
    build_index(tmp_path / "plain", IndexChange(), "multi12-ngram", question_model="multi12-ngram")
    assert Index(tmp_path / "plain").question_encoder == "multi12-ngram"


def test_an_encoder_of_another_space_asks_nothing(expected, tmp_path):
    path, _ = expected
    with pytest.raises(EncoderError, match="384 .*512"):
        build_index(tmp_path / "kb", IndexChange([path]), MODEL, question_model="multi12-transformer")
    with pytest.raises(InputError, match="--question-model"):
        build_index(tmp_path / "kb", IndexChange([path]), "multi12-ngram", IndexSettings(bits=1), question_model=MODEL)
    assert not (tmp_path / "kb").exists()
    build_index(tmp_path / "kb", IndexChange([path]), MODEL)
    with pytest.raises(EncoderError, match="multi12-transformer"):
        Answers(tmp_path / "kb", "multi12-transformer")


def test_an_index_that_another_folder_leads_to_is_written_by_one_command(expected, tmp_path):
    path, _ = expected
    build_index(tmp_path / "kb", IndexChange([path]), MODEL)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / FILE).symlink_to(tmp_path / "kb" / FILE)
    with hold_lock(tmp_path / "kb" / ".lock", "held"), pytest.raises(InputError, match="other"):
        build_index(tmp_path / "other", IndexChange([path]), MODEL)
    (tmp_path / "link").symlink_to(tmp_path / "new")
    assert (
        build_index(tmp_path / "link", IndexChange([path]), MODEL)["documents"] == 10
        and (tmp_path / "new" / FILE).is_file()
    )


def test_an_index_of_the_score_vector_has_no_vectors_of_sentences(tmp_path):
    card = build_index(
        tmp_path / "kb", IndexChange([write(tmp_path / "all.jsonl", range(3))]), MODEL, IndexSettings(score="vector")
    )
    assert card["sentences"] == 9
    assert not {"sentence_vectors", "sentence_scales"} & read_sections(tmp_path / "kb" / FILE).keys()
    # All of it may be taken out.
    assert build_index(tmp_path / "kb", IndexChange([], ["0", "1", "2"]), MODEL)["passages"] == 0


def test_a_subset_of_languages_asks_the_index_of_the_whole_encoder(expected, tmp_path):
    path, _ = expected
    subset_languages(MODEL, tmp_path / "subset", ["en", "de"])
    build_index(tmp_path / "kb", IndexChange([path]), MODEL)
    [whole] = Answers(tmp_path / "kb").answers(["Wie viele Zimmer hat g?"], 10)
    build_index(tmp_path / "kb", IndexChange(), MODEL, question_model=tmp_path / "subset")
    [subset] = Answers(tmp_path / "kb").answers(["Wie viele Zimmer hat g?"], 10)
    assert [hit.row for hit in subset.hits] == [hit.row for hit in whole.hits]
    assert [hit.score for hit in subset.hits] == pytest.approx([hit.score for hit in whole.hits], abs=1e-3)


def test_an_encoder_that_is_not_named_is_the_best_that_ships_or_that_of_the_index(tmp_path):
    path = tmp_path / "note.txt"
    path.write_text("The Nile ends in the sea.", encoding="utf-8")
    assert build_index(tmp_path / "new", IndexChange([path]))["encoder"] == BEST == "multi12-transformer"
    build_index(tmp_path / "kb", IndexChange([path]), MODEL)
    path.write_text("The Nile ends in the Mediterranean.", encoding="utf-8")
    card = build_index(tmp_path / "kb", IndexChange([path]))
    assert (card["encoder"], card["documents"]) == (MODEL, 1)


@pytest.mark.parametrize("code", ["xx", "german", "d"])
def test_what_is_no_language_is_refused(code, tmp_path):
    (tmp_path / "note.txt").write_text("Der Nil.", encoding="utf-8")
    with pytest.raises(InputError, match=code):
        build_index(tmp_path / "kb", IndexChange([tmp_path / "note.txt"]), MODEL, IndexSettings(language=code))
