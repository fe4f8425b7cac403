"""The program in C: ids as SentencePiece's, vectors and passages as Python's, nothing that a sanitizer minds."""

import json
import random
import re
import subprocess
import sys

import numpy as np
import pytest
import sentencepiece
from fixtures.pieces import spelled_tokenizer, trained_tokenizer
from fixtures.plain_c import consistent, program, static_file
from fixtures.text import TEXTS

from distill.encoders.catalog.bundle import released_folder
from distill.encoders.tokenizer import Tokenizer
from distill.export.c.encoder_file import encoder_sections
from distill.export.encode import Calibration
from distill.export.formats.c import add_answerable
from distill.export.formats.format import load_artefact
from distill.search_engine.indexing.building import IndexChange, IndexSettings, build_index
from distill.search_engine.indexing.index_file import Index
from distill.search_engine.indexing.searching import Rescorer, Searcher
from distill.system.sections import read_sections, write_sections

MODEL = "multi12-static"
# What is trained on a few lines, cut otherwise each.
CUTTERS = {
    "plain": {},
    "as it is": {"normalization_rule_name": "identity", "add_dummy_prefix": False, "remove_extra_whitespaces": False},
    "suffix": {"treat_whitespace_as_suffix": True},
    "own pieces": {"user_defined_symbols": ["ver", "river!", "ß 3"], "normalization_rule_name": "nfkc_cf"},
}
LINES = ["the river and the lake, 3 rivers", "Straße und Fluss", "the end of a river!", "aa aaa a"] * 20
# What the program needs of C's library this process has.
ALONE = ("-nostdlib",) if sys.platform == "linux" else ()
# Bytes that begin characters, or none, and blanks of several kinds.
PARTS = ["river", "ver", " ", "  ", "\t", "\u3000", "\u2581", "ß 3", "ﬁ", "e\u0301", "中文", "🎉", "\0", "\ufffd", "!"]
BROKEN = [b"\xff", b"\xc3", b"\xe2\x96", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The released small encoder: its `encoder.bin`, bytes, and the bundle."""
    folder, path = released_folder(MODEL), tmp_path_factory.mktemp("small") / "encoder.bin"
    content, tokenizer = (folder / "encoder.tflite").read_bytes(), Tokenizer.load(folder / "tokenizer.model")
    write_sections(path, encoder_sections(content, tokenizer, MODEL, "int4-pq5", None))
    return path.read_bytes(), load_artefact(folder)


@pytest.fixture(scope="module")
def indexes(tmp_path_factory, sample):
    """Indexes of the sample's English documents, by the bits of a number."""
    folder = tmp_path_factory.mktemp("kb")
    rows = [{"id": str(row), "text": text} for row, text in enumerate(sample.document_texts[:20])]
    (folder / "all.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    for bits in (8, 4, 1):
        build_index(folder / str(bits), IndexChange([folder / "all.jsonl"]), MODEL, IndexSettings(bits=bits))
    return {bits: Index(folder / str(bits)) for bits in (8, 4, 1)}


@pytest.fixture(scope="module")
def kb(indexes):
    """The bytes of the index of 8 bits, and the `Index`."""
    return indexes[8].path.read_bytes(), indexes[8]


def texts_of(sample, step):
    questions = [question.text for some in sample.questions.values() for question in some.values()]
    return [*questions[::step], *sample.passage_texts[::step], *TEXTS]


@pytest.mark.parametrize("compiler", program.compilers())
def test_texts_in_twelve_languages_have_the_bundles_ids_and_vectors(compiler, plain_program, small, sample, tmp_path):
    first, (content, bundle) = next(iter(program.compilers())), small
    # On most machines another kernel than the first's, and in less time; ziglang would compile a library of its own.
    options = program.compilers()[compiler], tmp_path / "distill.so", "-DDISTILL_NO_AVX512", "-O1", *ALONE
    built = plain_program if compiler == first else program.library(*options)
    encoder, texts = program.PlainEncoder(built, content), texts_of(sample, 3)
    assert [encoder.tokenize(text) for text in texts] == [bundle.tokenize(text) for text in texts]
    some = texts[::8]
    assert np.sum(encoder.encode(some) * bundle.encode(some), axis=1).min() >= 0.9999
    encoder.close()


@pytest.mark.parametrize("name", CUTTERS)
def test_any_text_is_cut_as_sentencepiece_cuts_it(name, plain_program, tmp_path):
    options = {"vocab_size": 60, "hard_vocab_limit": False, **CUTTERS[name]}
    tokenizer = trained_tokenizer(LINES, **options)
    encoder = program.PlainEncoder(plain_program, static_file(tmp_path / "encoder.bin", tokenizer))
    processor, draw = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto), random.Random(0)
    parts = [*(part.encode() for part in PARTS), *BROKEN, *(letter.encode() for letter in "aeinrtv ")]
    for _ in range(200):
        text = b"".join(draw.choices(parts, k=draw.randrange(14)))
        assert encoder.tokenize(text) == processor.encode(text, add_bos=True, add_eos=True), text


def test_what_people_type_has_the_ids_of_what_it_stands_for(plain_program, plain_checks, tmp_path):
    tokenizer = trained_tokenizer(LINES, vocab_size=60, hard_vocab_limit=False)
    spelled = spelled_tokenizer(tokenizer, _strasse="Straße", fluzzzzz="Fluss", _teh_rivver="the river")
    path, draw = tmp_path / "encoder.bin", random.Random(0)
    encoder = program.PlainEncoder(plain_program, static_file(path, spelled))
    for _ in range(200):
        text = "".join(draw.choices(["strasse", "fluzzzzz", "teh rivver", " ", "rivver", "ß", "中", "end"], k=6))
        assert encoder.tokenize(text) == spelled.encode([text])[0], text
    assert spelled.encode(["strasse teh rivver"]) == tokenizer.encode(["Straße the river"])
    assert not plain_checks.other_ids(encoder, spelled, ["strasse teh rivver", b"fluzzzzz \xff", b"end"])
    assert plain_checks.other_ids(encoder, tokenizer, ["strasse", "end"]) == ["strasse"]
    sections, count = read_sections(path), len(tokenizer)
    for place, number in ((0, count), (0, -2), (-1, 5), (3, -1)):
        changed = sections["spellings"].copy()
        changed[place] = number
        write_sections(path, {**sections, "spellings": changed})
        with pytest.raises(program.Refused):
            program.PlainEncoder(plain_program, path.read_bytes())
    # More ids than a text of so many bytes has room for.
    write_sections(path, {**sections, "spellings": np.array([*([5] * 40), -1, 5, -1, 5, -1], dtype=np.int32)})
    with pytest.raises(program.Refused):
        program.PlainEncoder(plain_program, path.read_bytes())


def test_a_longer_text_keeps_the_first_ids_and_eos(plain_program, tmp_path):
    tokenizer = trained_tokenizer(LINES, vocab_size=40, hard_vocab_limit=False)
    encoder = program.PlainEncoder(plain_program, static_file(tmp_path / "encoder.bin", tokenizer, max_length=5))
    (ids,) = tokenizer.encode(["the river and the lake"])
    assert encoder.tokenize("the river and the lake") == [*ids[:4], ids[-1]]


@pytest.mark.parametrize("bits", [8, 4, 1])
def test_the_passages_found_are_those_that_python_finds(bits, plain_program, small, indexes, sample):
    index, encoder = indexes[bits], program.PlainEncoder(plain_program, small[0])
    opened, searcher = program.PlainIndex(plain_program, index.path.read_bytes(), encoder), Searcher(index)
    vectors = encoder.encode(texts_of(sample, 150))
    starts = index.array("sentence_starts")
    for vector, k in zip(vectors, [1, 3, 10**4] * len(vectors), strict=False):
        nearest = searcher.search(vector, k)
        hits = opened.search(vector, min(k, index.passages + 2))
        assert [row for row, _, _ in hits] == nearest.rows.tolist()
        assert [score for _, _, score in hits] == pytest.approx(nearest.scores, abs=1e-6)
        assert [sentence - starts[row] for row, sentence, _ in hits] == nearest.sentences.tolist()


def test_a_compact_index_has_its_best_passages_scored_again_by_their_text(plain_program, small, indexes):
    index, encoder = indexes[1], program.PlainEncoder(plain_program, small[0])
    opened = program.PlainIndex(plain_program, index.path.read_bytes(), encoder)
    vector = encoder.encode(["Where do the White Nile and the Blue Nile come together?"])[0]
    rows = np.array([row for row, _, _ in opened.search(vector, opened.rescored)])
    scores, sentences = Rescorer(index, small[1], index.score)(vector, rows)
    order = np.lexsort((rows, -scores))
    hits = opened.rescore(encoder, vector, {row: index.text(row) for row in rows.tolist()})
    assert opened.rescored == index.numbers[7] > 0 and [row for row, _, _ in hits] == rows[order].tolist()
    assert [score for _, _, score in hits] == pytest.approx(scores[order], abs=1e-3)
    with pytest.raises(program.Refused):
        opened.passage(0)


def test_the_probability_of_an_answer_is_that_of_a_card(plain_program, small, kb, tmp_path):
    fields = {
        "best": 2.5,
        "margin": 9.0,
        "few": -4.0,
        "usual": 0.4,
        "at": [0.5, 2, 6.0],
        "probability": [0.05, 0.4, 0.9],
    }
    fields |= {"threshold": 0.6}
    line, path = Calibration(fields), tmp_path / "encoder.bin"
    path.write_bytes(small[0])
    add_answerable(tmp_path, {"scores": {"sum": fields}})
    encoder = program.PlainEncoder(plain_program, path.read_bytes())
    opened = program.PlainIndex(plain_program, kb[0], encoder)
    rng = np.random.default_rng(0)
    rankings = [-np.sort(-rng.uniform(-0.5, 2, count)) for count in (0, 1, 3, 5, 9) for _ in range(20)]
    for scores in rankings:
        known, least = opened.probability(encoder, scores.tolist())
        assert (known, least) == (pytest.approx(line.probability(scores, kb[1].passages), abs=1e-5), pytest.approx(0.6))
    # An index of one passage that another encoder made, and that this one asks.
    (tmp_path / "note.txt").write_text("The tower burned down.", encoding="utf-8")
    build_index(tmp_path / "pair", IndexChange([tmp_path / "note.txt"]), "multi12-ngram", question_model=MODEL)
    pair = program.PlainIndex(plain_program, (tmp_path / "pair" / "index.bin").read_bytes(), encoder)
    assert pair.probability(encoder, [1.0])[0] == pytest.approx(line.probability([1.0], 1), abs=1e-5)
    assert abs(line.probability([1.0], 1) - line.probability([1.0], kb[1].passages)) > 0.01
    # An encoder without the section, and a score that is not in it.
    add_answerable(tmp_path, {"scores": {"vector": fields}})
    for content in (small[0], path.read_bytes()):
        with pytest.raises(program.Refused) as caught:
            opened.probability(program.PlainEncoder(plain_program, content), [1.0])
        assert caught.value.args[0] == 11


def test_what_was_found_is_shown(plain_program, small, kb):
    content, index = kb
    encoder = program.PlainEncoder(plain_program, small[0])
    opened = program.PlainIndex(plain_program, content, encoder)
    row, sentence, _ = opened.search(encoder.encode(["Where does the Danube end?"])[0], 1)[0]
    assert opened.passage(row) == index.text(row)
    begin, end = opened.sentence(sentence)
    assert [begin, end] == index.bounds(row)[sentence - index.array("sentence_starts")[row]].tolist()
    assert json.loads(opened.document(row)) == index.fields(index.array("document_of")[row])


def test_what_is_not_whole_or_of_another_encoder_is_refused(plain_program, small, kb, tokenizer, tmp_path):
    other = program.PlainEncoder(plain_program, static_file(tmp_path / "other.bin", tokenizer))
    content = kb[0]
    sections = read_sections(kb[1].path)
    numbers = sections["numbers"].copy()
    numbers[3] = 3
    write_sections(tmp_path / "fewer.bin", {**sections, "numbers": numbers})
    refusals = [(kind, content[:size], 3) for kind in ("PlainEncoder", "PlainIndex") for size in (0, 15, 16, 4000)]
    refusals += [("PlainEncoder", content, 4), ("PlainIndex", small[0], 5), ("PlainIndex", content[:8] + b"\2" * 8, 6)]
    refusals += [("PlainIndex", (tmp_path / "fewer.bin").read_bytes(), 6)]
    for kind, broken, status in refusals:
        with pytest.raises(program.Refused) as caught:
            getattr(program, kind)(plain_program, broken)
        assert caught.value.args[0] == status
    with pytest.raises(program.Refused) as caught:
        program.PlainIndex(plain_program, content, other)
    assert caught.value.args[0] == 7
    index = program.PlainIndex(plain_program, content)
    with pytest.raises(program.Refused):
        index.passage(10**6)


@pytest.mark.parametrize("name", ["pieces", "charsmap", "card", "text", "documents"])
def test_rows_of_no_numbers_are_refused_and_nothing_behind_the_file_is_read(name, plain_program, small, kb):
    encoder = program.PlainEncoder(plain_program, small[0])
    content = consistent.without_columns(small[0] if name in ("pieces", "charsmap") else kb[0], name)
    with pytest.raises(program.Refused) as caught:
        if name in ("pieces", "charsmap"):
            program.PlainEncoder(plain_program, content)
        else:
            program.PlainIndex(plain_program, content, encoder)
    assert caught.value.args[0] == 3


@pytest.mark.parametrize("scale", [np.nan, np.inf, -1, 3])
def test_a_scale_that_no_unit_row_has_is_refused(scale, plain_program, kb, tmp_path):
    sections = read_sections(kb[1].path)
    scales = np.append(sections["passage_scales"][1:], np.float32(scale))
    write_sections(tmp_path / "kb.bin", {**sections, "passage_scales": scales})
    with pytest.raises(program.Refused) as caught:
        program.PlainIndex(plain_program, (tmp_path / "kb.bin").read_bytes())
    assert caught.value.args[0] == 5


def test_broken_texts_and_files_do_no_harm(plain_fuzz, tokenizer, indexes, sample, tmp_path):
    static_file(tmp_path / "encoder.bin", spelled_tokenizer(tokenizer, _teh_nyl="the Nile", e="en"))
    (tmp_path / "texts.txt").write_text("\n".join(texts_of(sample, 20)[: -len(TEXTS)]), encoding="utf-8")
    files = [str(tmp_path / name) for name in ("encoder.bin", "texts.txt")]
    command = [str(plain_fuzz), *files, "1", "1500", "200", str(indexes[8].path), str(indexes[1].path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stderr) == (0, "")
    # Some are opened: what is broken in them is met later.
    opened = [int(line.split()[2]) for line in result.stdout.splitlines()]
    assert len(opened) == 3 and all(0 < number < 200 for number in opened)


def test_well_formed_files_that_are_wrong_do_no_harm(plain_fuzz, small, tokenizer, indexes, tmp_path):
    static = static_file(tmp_path / "small.bin", spelled_tokenizer(tokenizer, _teh_nyl="the Nile", e="en"))
    (tmp_path / "encoder.bin").write_bytes(small[0])
    contents = [static, *(index.path.read_bytes() for index in indexes.values())]
    files = b"".join(consistent.streamed(contents, 600, seed=1))
    result = subprocess.run([plain_fuzz, tmp_path / "encoder.bin"], input=files, capture_output=True, timeout=120)
    assert (result.returncode, result.stderr) == (0, b"")
    given, encoders, of_any, of_encoder = map(int, re.findall(rb"\d+", result.stdout))
    assert given == 600 and 0 < encoders < 150 and 0 < of_encoder < of_any < 450


@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "wasm32-wasi"])
@pytest.mark.parametrize("source", program.PROGRAM)
def test_it_compiles_for_phones_and_browsers(source, target, tmp_path):
    pytest.importorskip("ziglang")
    more = ["-msimd128", "-DDISTILL_NO_FILES"] if target.startswith("wasm") else []
    command, options = program.compilers()["zig"], ["-target", target, "-O0", "-c", *more]
    assert program.compiled(command, tmp_path / "distill.o", *options, sources=(source,)).stat().st_size


def test_the_example_prints_vectors_and_passages(plain_program, small, kb, tmp_path):
    (tmp_path / "encoder.bin").write_bytes(small[0])
    command = next(iter(program.compilers().values()))
    example = program.compiled(command, tmp_path / "example", "-O0", sources=("example.c", "distill.c"))
    lines = "Where does the Danube end?\n\nNile\n"
    command = [str(example), str(tmp_path / "encoder.bin")]
    result = subprocess.run(command, input=lines, capture_output=True, text=True)
    printed = np.array([line.split() for line in result.stdout.splitlines()], dtype=np.float32)
    assert printed == pytest.approx(small[1].encode(lines.splitlines())[:, :3], abs=2e-3)
    # Lines that ask nothing are passed over, and have a vector all the same.
    empty = "\n \r\n\xad\n"
    hits = subprocess.run([*command, str(kb[1].path)], input=f"{empty}Nile\n", capture_output=True, encoding="utf-8")
    scores = Searcher(kb[1]).search(small[1].encode(["Nile"])[0], 3).scores
    assert [float(line.split()[0]) for line in hits.stdout.splitlines()] == pytest.approx(scores, abs=2e-3)
