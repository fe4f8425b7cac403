"""Whatever comes in, it works or a typed error of one line names the place: generated cases, the same each time."""

import copy
import io
import json
import math
import os
import shutil
import tempfile
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import hypothesis.configuration
import numpy as np
import pytest
from fixtures.folders import copy_shipped
from fixtures.vectors import unit_ranks

from distill.cli import MODULES, main
from distill.data.corpus import read_corpus
from distill.data.dataset import Dataset, Question, digest_texts
from distill.data.loading import load_dataset
from distill.data.more_questions import read_triplets
from distill.data.pairs import load_bitext
from distill.data.parallel import list_pivots, read_parallel
from distill.data.pool_readers import load_pool
from distill.data.readers import find
from distill.data.splits import read_splits
from distill.encoders.catalog.bundle import find_artefact, is_artefact, released_folder
from distill.encoders.catalog.identity import locate_encoder as place_of
from distill.encoders.catalog.loading import load_encoder, load_teacher
from distill.encoders.encoder import read_name
from distill.encoders.files.text_file import TextFile
from distill.encoders.language_removal import LanguageRemoval, check_vectors
from distill.errors import BEGIN, END, UNSEEN, ConfigError, DataError, DistillError, InputError
from distill.evaluation.answers import has_golds, read_predictions, score_answer
from distill.evaluation.translation import read_translations
from distill.evaluation.translators import parse_folders
from distill.export.tflite.mediapipe import read_tokenizer
from distill.jobs.compression.budget import parse_bytes
from distill.jobs.tuning.space import SearchedSettings, check_space
from distill.retrieval.exact import top_k
from distill.retrieval.metrics import question_scores
from distill.settings.choices import NORMALISATIONS
from distill.settings.sections import Settings, StudentSettings, TeacherSettings
from distill.settings.store import check_settings, load_settings, walk
from distill.students import ngram  # noqa: F401  registers the layers
from distill.system.arrays import read_vectors
from distill.system.input_files import read_json, read_jsonl
from distill.teachers.centring import read_teacher

# Tables that Hypothesis keeps; else they would lie in the tree.
hypothesis.configuration.set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "distill-hypothesis")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from hypothesis.extra import numpy as arrays  # noqa: E402

REPEATABLE = settings(derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))


def cases(count, *strategies):
    """A test that is given so many cases; its last arguments are the generated ones."""
    return lambda test: settings(REPEATABLE, max_examples=count)(given(*strategies)(test))


def tried(call, *places):
    """What `call` gives; None where it raises a typed error, which has to be of one line and to name a place."""
    try:
        return call()
    except DistillError as error:
        said = str(error)
        assert said and len(said.splitlines()) == 1 and not UNSEEN.search(said)
        assert len(said) <= BEGIN + END + 3
        said.encode("utf-8")
        assert not places or any(str(place) in said for place in places), said
        return None


# Texts, values and what is broken

ODD = (
    "", " ", "\t\n\r ", "\u3000", "\x00", "a\x00b", "\x1b[31mred\x07", "\ud800", "\udfff\ud800 x", "\ufeff",
    "שלום עולם", "مرحبا بالعالم", "\u202eright to left\u202c", "\u200f\u200e\u200d", "👩🏽\u200d🚀👨\u200d👩\u200d👧",
    "🇩🇪🇩", "\U0001f3fd", "e" + "\u0301" * 60, "\u2028\u2029\x85", "ﷺ" * 40, "İıẞﬁ", "\uffff\U0010ffff", "a\r\nb",
    "x" * 100_000,
)  # fmt: skip
# 100,000 characters, for what may be slow or short of room then.
HUGE = st.sampled_from(["河" * 100_000, " " * 100_000, "wörter " * 14_286, "نیل " * 25_000, "🇩🇪" * 50_000])
TEXT = st.one_of(st.text(st.characters(), max_size=12), st.sampled_from(ODD))
NUMBER = st.one_of(st.integers(), st.floats(), st.sampled_from([10**400, -(10**400), 2**63, 1e308, -0.0]))
PLAIN = st.one_of(st.none(), st.booleans(), NUMBER, TEXT)
VALUE = st.recursive(
    PLAIN, lambda part: st.lists(part, max_size=3) | st.dictionaries(TEXT, part, max_size=3), max_leaves=4
)
LINES = st.lists(st.one_of(TEXT, st.binary(max_size=20)), max_size=4)
DELETED, TWICE = object(), object()


def ways(value, at=()):
    """Paths to every part of a nested value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield (*at, name)
        yield from ways(part, (*at, name))


@st.composite
def damaged(draw, whole, most=2):
    """A copy of a nested value, parts of it replaced by anything, left out or there twice."""
    value = copy.deepcopy(whole)
    for _ in range(draw(st.integers(0, most))):
        if not (places := list(ways(value))):
            break
        *way, last = draw(st.sampled_from(places))
        holder = value
        for name in way:
            holder = holder[name]
        change = draw(st.one_of(st.sampled_from([DELETED, TWICE]), VALUE))
        if change is DELETED:
            del holder[last]
        elif change is TWICE and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        else:
            holder[last] = {} if change is TWICE else change
    return value


@st.composite
def broken(draw, content):
    """Bytes with some of them changed, cut off or put in."""
    result = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(result)))
        kind = draw(st.sampled_from(["set", "cut", "insert"]))
        if kind == "cut":
            del result[place:]
        elif kind == "insert":
            result[place:place] = draw(st.binary(max_size=4))
        elif place < len(result):
            result[place] = draw(st.integers(0, 255))
    return bytes(result)


def written(path, content):
    """A file of bytes or of text, and its folder; a lone surrogate is no UTF-8 then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # To cut off a file that was just written, a disk may first have to write it.
    path.unlink(missing_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path


def as_lines(rows):
    return "".join(f"{json.dumps(row, ensure_ascii=len(rows) % 2 == 0)}\n" for row in rows)


def joined(lines, between="\n"):
    parts = (line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass") for line in lines)
    return between.encode().join(parts)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("properties")


# Data sets

IDS = [f"q{number}" for number in range(10)]
ASKED = Dataset("asked", "en", (), (), {"en": {id: Question(id, "en", "?", 0) for id in IDS}})
DOCUMENTS = [
    {"id": f"d{number}", "title": "Rivers", "passages": ["The Nile is long.", {"id": f"p{number}", "text": "Old."}]}
    for number in range(2)
]
QUESTIONS = [
    {"id": id, "language": language, "text": f"{id}, {language}?", "passage": f"p{place % 2}", "answer": "Old"}
    for language in ("en", "de")
    for place, id in enumerate(IDS)
]


def squad(language):
    """Two articles of a paragraph with five questions each."""
    return {"data": [
        {"title": "River", "paragraphs": [{"context": f"Old. {language}", "sentence_breaks": [[0, 4]], "qas": [
            {"id": id, "question": f"{id}?", "answers": [{"text": "Old", "answer_start": 0}]} for id in part]}]}
        for part in (IDS[:5], IDS[5:])
    ]}  # fmt: skip


SQUAD = {"en": squad("en"), "de": squad("de")}
SPLITS = {"train": IDS[:6], "dev": IDS[6:8], "test": IDS[8:]}


def require_usable(dataset):
    """What every stage takes for granted of a data set."""
    assert len(digest_texts(dataset)) == 64
    for questions in dataset.questions.values():
        assert all(question.text.strip() and question.text.encode() for question in questions.values())
    assert all(passage.text.strip() and passage.text.encode() for passage in dataset.passages)
    assert len(dataset.document_of) == len(dataset.passages) and len(dataset.document_texts) == len(dataset.titles)


@cases(60, damaged(DOCUMENTS), damaged(QUESTIONS))
def test_a_folder_of_lines_is_a_data_set_or_refused(place, documents, questions):
    folder = place / "lines"
    written(folder / "documents.jsonl", as_lines(documents))
    written(folder / "questions.jsonl", as_lines(questions))
    dataset = tried(lambda: load_dataset(folder), folder, "lines: ")
    if dataset:
        require_usable(dataset)


@cases(50, damaged(SQUAD), st.sampled_from(["document", "question"]))
def test_a_folder_in_squads_format_is_a_data_set_or_refused(place, languages, split_by):
    folder = place / "squad"
    for language in SQUAD:
        written(folder / f"{language}.json", json.dumps(languages.get(language)))
    dataset = tried(lambda: load_dataset(folder, "en", split_by), folder, "squad:")
    if dataset:
        require_usable(dataset)


@cases(45, damaged(SQUAD["en"]))
def test_sentences_are_a_pool_or_refused(place, content):
    folder = place / "pool"
    written(folder / "en.json", json.dumps(content))
    pool = tried(lambda: load_pool(folder, split="all"), folder, "pool:")
    assert pool is None or all(text.strip() for text in pool.sentences)


# Files by what reads them

ROWS = [{"id": "1", "text": "Where does the Danube end?"}, {"id": 2, "text": "نیل"}, {"id": "3", "text": "河"}]
PREDICTIONS = [{"id": "1", "prediction": "old", "language": "de", "answers": ["old"]}, *ROWS]
CELLS = st.one_of(st.sampled_from(["en", "de", "id", "question", "passage", "text", "old", "", " "]), TEXT)
TABLE = st.lists(st.lists(CELLS, min_size=1, max_size=3).map(lambda row: joined(row, "\t")), max_size=4).map(joined)
DEEP = st.integers(1, 10**5).map(lambda n: "[" * n)
CORPORA = ("de.txt", "de.jsonl", "de=x.txt", "x y.txt")
REMOVAL = {
    "kind": np.array("distill language removal 1"),
    "components": np.eye(4, dtype=np.float32)[None, :2],
    "languages": np.array(["de"]),
    "sentences": np.array([9]),
    "encoder": np.array("toy"),
    "probe": np.ones(4, np.float32),
}


def or_lines(*rows):
    """A table, or lines of objects."""
    return st.one_of(TABLE, damaged(list(rows)).map(as_lines))


def saved(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def zipped(changed):
    """Components in a file, some of them changed or, None, left out."""
    file = io.BytesIO()
    np.savez(file, **{name: value for name, value in {**REMOVAL, **changed}.items() if value is not None})
    return file.getvalue()


ANY_DTYPE = st.one_of(
    arrays.floating_dtypes(), arrays.scalar_dtypes(), arrays.unicode_string_dtypes(), st.just(np.dtype("float32"))
)
ARRAY = ANY_DTYPE.flatmap(
    lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
)
COMPONENTS = st.dictionaries(st.sampled_from(list(REMOVAL)), st.one_of(ARRAY, st.none()), max_size=2)


def filled(texts):
    return all(text.strip() and text.encode("utf-8") for text in texts)


def in_one_split(splits):
    kept = [id for ids in splits.values() for id in ids]
    return len(set(kept)) == len(kept) and set(kept) <= set(IDS)


# `{what: (cases, contents, names of the file, what reads it, what holds of what that gives)}`.
READ = {
    "json": (140, st.one_of(VALUE.map(json.dumps), LINES.map(joined), DEEP), ["value.json"],
             lambda path: json.dumps(read_json(path), ensure_ascii=False).encode("utf-8"), bool),
    "lines": (140, st.lists(st.one_of(VALUE.map(json.dumps), TEXT, st.binary(max_size=12)), max_size=4).map(joined),
              ["lines.jsonl"], read_jsonl, lambda rows: all(n >= 1 and isinstance(row, dict) for n, row in rows)),
    "texts": (90, damaged(ROWS).map(as_lines), ["texts.jsonl"], lambda path: list(TextFile(path, block=2)), filled),
    "corpus": (70, LINES.map(joined), CORPORA, lambda path: read_corpus([path]),
               lambda corpus: all(language and texts and filled(texts) for language, texts in corpus.items())),
    "predictions": (50, damaged(PREDICTIONS).map(as_lines), ["predictions.jsonl"],
                    lambda path: has_golds(path, read_predictions(path, "en")), lambda golds: golds in (True, False)),
    "splits": (70, st.one_of(damaged(SPLITS), VALUE).map(json.dumps), ["splits.json"],
               lambda path: read_splits(path.parent, ASKED), in_one_split),
    "bitext": (50, TABLE, ["bitext.tsv"], load_bitext, lambda bitext: all(map(filled, bitext.sentences.values()))),
    "parallel": (45, or_lines({"en": "old", "de": "alt"}, {"en": "new", "hi": "नया"}),
                 ["parallel.tsv", "parallel.jsonl"], lambda path: read_parallel([path], "en"), list_pivots),
    "triplets": (45, or_lines({"question": "Who?", "passage": "She."}), ["pairs.tsv", "pairs.jsonl"],
                 lambda path: read_triplets([path])[0], lambda pairs: filled((*pairs.questions, *pairs.passages))),
    "translations": (45, or_lines({"id": "q1", "text": "Who?", "language": "de"}),
                     ["translations.tsv", "translations.jsonl"], read_translations,
                     lambda translations: filled(translations.lines.values())),
    "settings": (50, st.one_of(LINES.map(joined), TEXT, st.integers(1, 3000).map(lambda n: f"a = {'[' * n}")),
                 ["any.toml"], load_settings, lambda settings: isinstance(settings, Settings)),
    "vectors": (70, broken(saved(np.ones((2, 3), np.float32))), ["broken.npy"], read_vectors,
                lambda vectors: isinstance(vectors, np.ndarray)),
    "components": (30, COMPONENTS.map(zipped), ["lir.npz"], LanguageRemoval.load,
                   lambda removal: removal.shared_matrix().shape == (4, 4)),
    "broken components": (30, broken(zipped({})), ["broken.npz"], LanguageRemoval.load,
                          lambda removal: isinstance(removal, LanguageRemoval)),
    "encoder": (30, st.tuples(st.one_of(VALUE, damaged({"name": "tiny", "dimension": 16})).map(json.dumps),
                               st.booleans()).map(lambda drawn: drawn[0] if drawn[1] else drawn[0][:-1]),
                ["encoder.json"], lambda path: read_name(path.parent), lambda name: isinstance(name, str)),
}  # fmt: skip


@pytest.mark.parametrize("what", READ)
def test_a_file_is_read_or_refused(place, what):
    count, contents, names, read, holds = READ[what]

    @cases(count, contents)
    def read_or_refused(content):
        for name in names:
            path = written(place / "files" / name, content)
            value = tried(lambda path=path: read(path), path)
            assert value is None or holds(value)

    read_or_refused()


# Names of files and folders

LONG = "x" * 5000
NAME = st.one_of(
    TEXT, st.sampled_from([LONG, f"{LONG}=2", f"de={LONG}", "=", "=1", "de=", "a\x00=0.5", "/", "..", "loop"])
)


@cases(70, NAME)
def test_any_name_is_of_a_file_or_refused(place, monkeypatch, name):
    if name.startswith(("st:", "hf:", "http", "gs:")):
        return
    monkeypatch.chdir(place)
    if not os.path.islink("loop"):
        os.symlink("loop", "loop")
    for call in (find, load_bitext, find_artefact, load_teacher, place_of, read_vectors):
        tried(lambda call=call: call(name))
    for call in (read_corpus, parse_folders, read_triplets):
        tried(lambda call=call: call([name]))


# Settings

NAMES = [name for name, _, _ in walk(Settings())]
SEARCHED = SearchedSettings(
    TeacherSettings(),
    StudentSettings(),
    lambda teacher, student: check_settings(Settings(teacher=teacher, student=student)),
)
KEYS = sorted({name.rpartition(".")[2] for name in NAMES if len(name.rpartition(".")[2]) > 5})


def toml(value):
    """A value as TOML writes it; what it has no form of as a text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, float):
        return {"nan": "nan", "inf": "inf", "-inf": "-inf"}.get(str(value)) or (
            repr(value) if "." in repr(value) or "e" in repr(value) else f"{value:.1f}"
        )
    return str(value) if isinstance(value, int) else json.dumps(str(value), ensure_ascii=False)


@cases(70, st.dictionaries(st.sampled_from(NAMES), st.one_of(PLAIN, st.lists(PLAIN, max_size=3)), max_size=3))
def test_settings_are_taken_or_refused_by_name(place, values):
    path = written(place / "config.toml", "".join(f"{name} = {toml(value)}\n" for name, value in values.items()))
    loaded = tried(lambda: load_settings(path), path, *values, "student", "teacher", "pairs")
    if loaded:
        numbers = [getattr(section, item.name) for _, section, item in walk(loaded)]
        assert all(math.isfinite(number) for number in numbers if isinstance(number, float))


@st.composite
def misspelt(draw):
    """A setting's name and the same with one letter changed, left out, put in or swapped."""
    name = draw(st.sampled_from(KEYS))
    place, letter = draw(st.integers(0, len(name) - 2)), draw(st.sampled_from("aeinrst"))
    rest = name[place + 1 :]
    kinds = (letter + rest, rest, letter + name[place:], name[place + 1] + name[place] + name[place + 2 :])
    return name, name[:place] + draw(st.sampled_from(kinds))


@cases(50, misspelt())
def test_an_unknown_key_is_refused_and_the_nearest_named(place, names):
    name, typo = names
    section = next(path for path in NAMES if path.rpartition(".")[2] == name).rpartition(".")[0]
    if any(path == f"{section}.{typo}" for path in NAMES):
        return
    path = written(place / "typo.toml", f"{section}.{typo} = 1\n" if section else f"{typo} = 1\n")
    with pytest.raises(ConfigError, match=rf"'{typo}'; .* {name}\?"):
        load_settings(path)


@cases(45, st.dictionaries(
    st.sampled_from([name for name in NAMES if name.startswith(("teacher", "student"))] + ["student.epoch"]),
    st.one_of(VALUE, st.fixed_dictionaries({"low": NUMBER, "high": NUMBER}, optional={"step": NUMBER, "log": PLAIN})),
    max_size=2,
))  # fmt: skip
def test_a_space_is_searched_or_refused(space):
    tried(lambda: check_space(space, SEARCHED, "both", "space.toml"), "space.toml", *space)


@cases(50, st.one_of(TEXT, st.integers(0, 500).map(lambda n: "9" * n + "MB"), NUMBER.map(str)))
def test_a_size_is_a_number_of_bytes_or_refused(text):
    size = tried(lambda: parse_bytes(text), "--max-size")
    assert size is None or isinstance(size, int)


# Vectors

ROWS_2D = arrays.arrays(np.float32, (3, 4), elements=st.floats(-1, 1, width=32))


@cases(45, ARRAY)
def test_vectors_are_numbers_or_refused(place, array):
    path = written(place / "vectors.npy", saved(array))
    vectors = tried(lambda: check_vectors(read_vectors(path), path), path)
    with np.errstate(over="ignore"):
        rows = array.ndim == 2 and array.shape[1] > 0 and array.dtype.kind == "f"
        usable = rows and bool(np.isfinite(array.astype(np.float32)).all())
    assert (vectors is not None) == usable


@cases(30, st.one_of(st.lists(PLAIN, min_size=1, max_size=2), st.dictionaries(TEXT, PLAIN, max_size=2)))
def test_pickled_objects_are_refused(place, value):
    path = written(place / "objects.npy", saved(np.array([value], dtype=object)))
    with pytest.raises(DataError, match="objects.npy"):
        read_vectors(path)


@pytest.fixture(scope="module")
def removal():
    random = np.random.default_rng(0)
    return LanguageRemoval.fit({name: random.normal(size=(6, 4)).astype(np.float32) for name in ("de", "en")}, 2)


@cases(30, broken(zipped({})), st.sampled_from(["question", "document"]))
def test_a_broken_file_of_means_is_refused(place, content, name):
    folder = place / "teacher"
    card = {"source": "muse", "dimension": 4, "fingerprint": "f", "centred": True}
    written(folder / "teacher.json", json.dumps(card))
    written(folder / "means.npz", content)
    tried(lambda: read_teacher(folder), folder)
    np.savez(folder / "means.npz", **{"question": np.ones(4), "document": np.ones(4), name: REMOVAL["kind"]})
    assert tried(lambda: read_teacher(folder), folder) is None


OF = st.sampled_from(["de", "en", "xx", "", None])


@cases(30, st.one_of(ARRAY, ROWS_2D), OF, st.integers(-1, 3))
def test_removal_gives_numbers_or_refuses(removal, vectors, language, rank):
    with np.errstate(all="ignore"):
        rest = tried(lambda: removal.remove(vectors, language, rank), "vectors", "language", "rank")
    assert rest is None or (np.isfinite(rest).all() and (np.linalg.norm(rest, axis=1) < 1 + 1e-5).all())


@cases(30, st.dictionaries(st.sampled_from(["de", "en"]), ARRAY, max_size=2), st.integers(-1, 3))
def test_components_are_learned_or_refused(samples, rank):
    with np.errstate(all="ignore"):
        removal = tried(lambda: LanguageRemoval.fit(samples, rank), "rank", "sample", "language")
    assert removal is None or all(np.isfinite(removal.of(language)).all() for language in removal.languages)


FLOATS = arrays.arrays(
    np.float32, st.tuples(st.integers(1, 5), st.sampled_from([3, 3, 3, 4])), elements=st.floats(width=32)
)


@cases(35, FLOATS, FLOATS, st.integers(1, 7))
def test_the_nearest_are_rows_that_are_there_or_none(queries, corpus, k):
    with np.errstate(all="ignore"):
        nearest = tried(lambda: top_k(queries, corpus, k, block=(2, 2)), "dimensions")
    assert (nearest is None) == (queries.shape[1] != corpus.shape[1])
    if nearest:
        rows, scores = nearest
        assert rows.shape == scores.shape == (len(queries), k)
        assert ((rows >= -1) & (rows < len(corpus))).all() and not np.isnan(scores).any()
        for row in rows:
            assert len(set(row[row >= 0])) == (row >= 0).sum()


@cases(35, FLOATS, FLOATS, st.sampled_from(["document", "passage", "maxp"]))
def test_ranks_are_from_one_to_the_number_of_units(queries, passages, unit):
    documents = np.arange(len(passages)) // 2
    units = passages if unit != "document" else passages[: documents[-1] + 1]
    gold = np.arange(len(queries)) % len(passages)
    with np.errstate(all="ignore"):
        ranks = tried(lambda: unit_ranks(queries, units, gold, documents, unit), "dimensions")
    assert (ranks is None) == (queries.shape[1] != passages.shape[1])
    most = len(passages) if unit == "passage" else documents[-1] + 1
    assert ranks is None or ((ranks >= 1) & (ranks <= most)).all()


RANKS = arrays.arrays(np.int64, st.integers(1, 6), elements=st.integers(1, 2**62))


@cases(70, RANKS, st.sampled_from(["p", "mrr", "ndcg", "map"]), st.integers(1, 10**6 - 1))
def test_metrics_are_within_zero_and_one(ranks, name, k):
    expected = {"p": lambda r: 1.0, "ndcg": lambda r: 1 / math.log2(1 + r)}.get(name, lambda r: 1 / r)
    wanted = [expected(r) if name == "map" or r <= k else 0.0 for r in ranks.tolist()]
    assert question_scores(ranks, name if name == "map" else f"{name}@{k}") == pytest.approx(wanted, abs=1e-12)


@cases(35, TEXT, TEXT, st.sampled_from(["en", "de", "xx", "my", ""]))
def test_answers_are_compared_whatever_they_are(prediction, gold, language):
    for normalisation in NORMALISATIONS:
        exact, overlap = score_answer(prediction, [gold], language, normalisation)
        assert exact in (0.0, 1.0) and 0 <= overlap <= 1
        # To the scripts of XOR and MLQA two answers without a word have none in common.
        same = score_answer(gold, [gold], language, normalisation)
        assert same == (1.0, 1.0) or (same == (1.0, 0.0) and normalisation in ("xor", "mlqa"))


# Texts given to encoders


@cases(105, st.one_of(st.lists(TEXT, max_size=3), st.lists(PLAIN, max_size=2), TEXT))
def test_the_tokenizer_takes_any_text(tokenizer, texts):
    rows = tried(lambda: tokenizer.encode(texts), "expected a")
    good = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
    assert (rows is not None) == good
    for row in rows or ():
        assert len(row) >= 2 and all(0 <= id < len(tokenizer) for id in row)


def require_unit_rows(vectors, texts, dimension):
    assert (vectors.shape, vectors.dtype) == ((len(texts), dimension), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-4)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """The smaller of the two: of 100,000 characters the other takes seconds."""
    if not is_artefact(released_folder("released-small")):
        pytest.skip("this copy comes without an encoder")
    return copy_shipped("released-small", tmp_path_factory.mktemp("shipped") / "bundle")


@pytest.fixture(scope="module")
def bundle(released):
    return load_encoder(released)


@cases(30, st.lists(TEXT, max_size=2), st.sampled_from(["question", "document"]))
def test_a_student_encodes_any_text(tiny_encoder, texts, role):
    require_unit_rows(tiny_encoder.encode(texts, role), texts, 16)


@cases(30, st.lists(TEXT, max_size=2), st.sampled_from(["question", "document"]))
def test_the_encoder_that_is_released_encodes_any_text(bundle, texts, role):
    require_unit_rows(bundle.encode(texts, role), texts, bundle.dimension)


@cases(6, HUGE)
def test_a_hundred_thousand_characters_are_encoded(bundle, text):
    require_unit_rows(bundle.encode([text]), [text], bundle.dimension)


@cases(30, st.one_of(st.lists(PLAIN.filter(lambda value: not isinstance(value, str)), min_size=1, max_size=2), TEXT))
def test_what_is_no_text_is_refused(bundle, tiny_encoder, texts):
    for encoder in (bundle, tiny_encoder):
        assert tried(lambda encoder=encoder: encoder.encode(texts), "expected a") is None


# Folders of models


@pytest.fixture(scope="module")
def card(released):
    return json.loads((released / "card.json").read_text(encoding="utf-8"))


@cases(30, st.data())
def test_a_bundle_is_what_its_card_says_or_refused(place, released, card, data):
    keys = {
        name: card[name] for name in ("name", "format", "dimension", "vocabulary", "max_length", "signatures", "files")
    }
    changed = data.draw(st.one_of(damaged(keys, 3), VALUE))
    folder = place / "bundle"
    folder.mkdir(exist_ok=True)
    for name in ("encoder.tflite", "tokenizer.model", "encode.py"):
        if not (folder / name).exists():
            shutil.copyfile(released / name, folder / name)
    written(folder / "card.json", json.dumps(changed))
    loaded = tried(lambda: load_encoder(folder), folder)
    if loaded:
        tried(lambda: loaded.encode(["Where?"]))


@cases(
    18,
    st.sampled_from(["/etc/hostname", "../card.json", "..", "", ".", "a/../../b", "\x00", LONG, "card.json/x"]),
    st.booleans(),
)
def test_a_card_names_files_of_its_own_folder_alone(place, released, card, name, more):
    folder = place / "parent" / "bundle"
    written(folder.parent / "card.json", "{}")
    said = {"bytes": 2, "sha256": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}
    written(folder / "card.json", json.dumps({**card, "files": {**(card["files"] if more else {}), name: said}}))
    assert tried(lambda: load_encoder(folder), folder) is None


MEMBERS = ("sentencepiece.model", "encoder.tflite")


@cases(30, st.dictionaries(
    st.sampled_from([*MEMBERS, *MEMBERS, "/etc/passwd", "../encoder.tflite", "a/../../b", "C:\\x", "encode.py"]),
    st.binary(max_size=8), max_size=4), st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))  # fmt: skip
def test_a_zip_of_other_members_is_refused(place, members, compression):
    path = place / "encoder.task"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    model = tried(lambda: read_tokenizer(path), path)
    assert model == (members["sentencepiece.model"] if set(members) == set(MEMBERS) else None)
    with pytest.raises(InputError, match=r"encoder\.task"):
        read_tokenizer(written(path, b"PK no zip"))


@cases(30, st.one_of(VALUE, damaged({"source": "nowhere", "dimension": 4, "fingerprint": "f", "centred": False})))
def test_a_fixed_teachers_card_is_read_or_refused(place, value):
    folder = place / "fixed"
    if isinstance(value, dict) and str(value.get("source")).startswith(("muse", "e5", "multi12")):
        return
    written(folder / "teacher.json", json.dumps(value))
    assert tried(lambda: load_encoder(folder)) is None


def test_a_fixed_teacher_of_itself_is_refused_but_a_link_within_a_folder_followed(tmp_path, sentence_data):
    card = {"source": str(tmp_path), "dimension": 4, "fingerprint": "f", "centred": False}
    written(tmp_path / "teacher.json", json.dumps(card))
    with pytest.raises(InputError, match=str(tmp_path)):
        load_encoder(tmp_path)
    folder = copied(sentence_data, tmp_path / "data")
    (folder / "de.json").rename(folder / "german")
    (folder / "de.json").symlink_to("german")
    (tmp_path / "elsewhere").symlink_to(folder)
    assert load_dataset(tmp_path / "elsewhere").languages == ("de", "en")


LINKED = {
    "bundle": ("card.json", "encoder.tflite", "tokenizer.model"),
    "encoder": ("encoder.keras", "tokenizer.model", "encoder.json"),
    "data": ("en.json", "de.json", "splits.json"),
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in LINKED.items() for name in names])
def test_a_link_out_of_its_folder_is_refused(released, tiny_folder, sentence_data, tmp_path, kind, name):
    source = {"bundle": released, "encoder": tiny_folder, "data": sentence_data}[kind]
    folder = copied(source, tmp_path / "copy", name)
    with pytest.raises(InputError, match=f"{name}.* link"):
        (load_dataset if kind == "data" else load_encoder)(folder)


def copied(source, target, linked=None):
    """A copy of a folder in which one file is a link to the original."""
    target.mkdir()
    for path in source.iterdir():
        if path.name == linked:
            (target / path.name).symlink_to(path)
        elif path.is_file():
            (target / path.name).write_bytes(path.read_bytes())
    return target


# The command line

FILES = {
    "encode --model nowhere --role question --input FILE --output out.npy": "texts.jsonl",
    "answers FILE": "predictions.jsonl",
    "answers FILE --dataset sample": "predictions.jsonl",
    "evaluate nowhere --task bitext=FILE": "bitext.tsv",
    "evaluate nowhere --translations FILE": "translations.tsv",
    "evaluate nowhere --translations FILE --dataset sample": "translations.jsonl",
    "evaluate nowhere --task lareqa --corpus FILE": "de.txt",
    "compare nowhere nowhere --task bitext=FILE": "bitext.tsv",
    "run --base nowhere --config FILE": "config.toml",
    "run --base nowhere --triplets FILE": "pairs.tsv",
    "run --base nowhere --parallel FILE": "parallel.jsonl",
    "run --base nowhere --add-languages hi --text FILE": "hi.txt",
    "run --base nowhere --max-size 1MB --corpus FILE": "de.txt",
    "teach --base nowhere --output out --triplets FILE": "pairs.jsonl",
    "transfer --teacher nowhere --output out --parallel FILE": "parallel.tsv",
    "transfer --teacher nowhere --output out --labels nowhere --corpus FILE": "de.jsonl",
    "lir fit nowhere --output out.npz --corpus FILE": "de.txt",
    "lir apply FILE --removal nowhere --language de --output out.npy": "vectors.npy",
    "lir apply nowhere --removal FILE --language de --output out.npy": "lir.npz",
    "lir fold nowhere --removal FILE --output out": "lir.npz",
    "export nowhere --removal FILE --output out": "lir.npz",
    "tune --base nowhere --study study.db --output best.toml --space FILE": "space.toml",
    "add-language multi12-static fi --parallel FILE --aligner none --output out": "parallel.jsonl",
    "add-spellings nowhere --output out --text en=FILE": "en.txt",
    "add-words multi12-static el --dictionary FILE --output out": "meant.tsv",
    "read apply nowhere --input FILE --output out.jsonl": "questions.jsonl",
    "read write nowhere --index nowhere --input FILE --output out.jsonl": "questions.jsonl",
    "index --model nowhere --output out FILE": "notes.jsonl",
    "serve nowhere --port 0 --token-file FILE": "tokens",
}
FOLDERS = {
    "search Where? --index FOLDER": "index.bin",
    "mcp --index FOLDER": "index.bin",
    "page FOLDER --model nowhere --output out": "notes.txt",
    "run --base nowhere --dataset FOLDER": "en.json",
    "teach --base nowhere --output out --dataset FOLDER": "questions.jsonl",
    "transfer --teacher nowhere --output out --dataset FOLDER": "en.json",
    "evaluate nowhere --dataset FOLDER": "splits.json",
    "evaluate nowhere --task lareqa=FOLDER": "en.json",
    "evaluate nowhere --task bitext=FOLDER": "en.txt",
    "compare nowhere nowhere --dataset FOLDER": "documents.jsonl",
    "export nowhere --output out --dataset FOLDER": "en.json",
    "bench nowhere --data FOLDER": "en.json",
    "papers cl-relkt --output out --dataset FOLDER": "en.json",
    "papers sentri --output out --dataset FOLDER": "en.json",
    "prune FOLDER --output out": "encoder.json",
    "reduce FOLDER --channels 8 --output out": "encoder.json",
    "index --model FOLDER --output out FOLDER": "card.json",
    "evaluate FOLDER": "card.json",
    "serve FOLDER --port 0": "card.json",
    "subset FOLDER --languages de --output out": "card.json",
    "evaluate nowhere --translator FOLDER": "config.json",
    "bench FOLDER": "card.json",
    "lir fit FOLDER --corpus nowhere": "teacher.json",
    "report FOLDER": "metrics.json",
    "compress FOLDER --max-size 1MB": "metrics.json",
    "run --base nowhere --resume FOLDER": "config.toml",
    "init FOLDER": "en.json",
}
GARBAGE = st.one_of(
    st.sampled_from(
        [None, b"", b"\n\n", b"\x00" * 64, b"\xff\xfe", b"null\n", b"[]", b"{}", b"0", b'"text"', b"{" * 9999]
    ),
    st.sampled_from([b"[" * 100_000, b'{"id": NaN}', b"en\tde\n", b"question\tpassage\n", b"\x93NUMPY", b"PK\x03\x04"]),
    VALUE.map(lambda value: json.dumps(value).encode()),
    LINES.map(joined),
)


@pytest.mark.usefixtures("small_sample")
@cases(120, st.sampled_from([*FILES, *FOLDERS]), GARBAGE)
def test_a_command_given_garbage_says_one_line_and_leaves_two(place, monkeypatch, words, content):
    """No content, None, is a folder where a file should be."""
    home, name, said = place / "commands", {**FILES, **FOLDERS}[words], io.StringIO()
    home.mkdir(exist_ok=True)
    monkeypatch.chdir(home)
    folder = Path(tempfile.mkdtemp(dir=home))
    (folder / name).mkdir() if content is None else written(folder / name, content)
    before = sorted(home.iterdir())
    arguments = [part.replace("FILE", str(folder / name)).replace("FOLDER", str(folder)) for part in words.split(" ")]
    with redirect_stderr(said), redirect_stdout(io.StringIO()), pytest.raises(SystemExit) as left:
        main(arguments)
    line = said.getvalue()
    assert left.value.code == 2, line
    assert line.startswith("error: ") and line.endswith("\n") and len(line.splitlines()) == 1, line
    assert sorted(home.iterdir()) == before


def test_every_command_that_takes_files_is_given_garbage():
    assert {words.split()[0] for words in [*FILES, *FOLDERS]} == MODULES.keys() - {"recipes"}
