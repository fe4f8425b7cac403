"""The encoder as an extension of SQLite: its vectors are the program's, and sqlite-vec takes them."""

import numpy as np
import pytest
from fixtures.pieces import trained_tokenizer
from fixtures.plain_c import program, static_file

apsw = pytest.importorskip("apsw")
LINES = ["the river and the lake, 3 rivers", "a castle of stone"] * 20


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    """The extension, compiled where SQLite's header is."""
    commands, path = program.compilers(), tmp_path_factory.mktemp("sqlite") / "distill_sqlite.so"
    if not commands or not program.has_header(next(iter(commands.values())), "sqlite3ext.h"):
        pytest.skip("no compiler, or no sqlite3ext.h")
    sources = ("distill_sqlite.c", "distill.c")
    return program.compiled(next(iter(commands.values())), path, "-O1", "-shared", "-fPIC", sources=sources)


@pytest.fixture
def database(extension):
    connection = apsw.Connection(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(str(extension))
    yield lambda statement, *values: connection.execute(statement, values).fetchall()
    connection.close()


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "encoder.bin"
    static_file(path, trained_tokenizer(LINES, vocab_size=60, hard_vocab_limit=False))
    return path


def test_texts_are_encoded_and_found_in_the_database(database, small, plain_program):
    assert database("SELECT distill_encoder(?)", str(small)) == [(6,)]
    database("CREATE TABLE notes (text, vector)")
    for text in ("the river", "a castle", "stone\0rivers"):
        database("INSERT INTO notes VALUES (?1, distill_embed(?1, 'document'))", text)
    plain = program.PlainEncoder(plain_program, small.read_bytes())
    for text, vector in database("SELECT text, vector FROM notes"):
        np.testing.assert_array_equal(np.frombuffer(vector, np.float32), plain.encode([text])[0])
    order = "SELECT text, distill_product(vector, distill_embed(?)) FROM notes ORDER BY 2 DESC LIMIT 1"
    [(text, score)] = database(order, "the river")
    assert (text, score) == ("the river", pytest.approx(1, abs=1e-6))
    assert database("SELECT distill_embed(NULL), distill_product(NULL, x'00')") == [(None, None)]


def test_vectors_are_those_that_sqlite_vec_takes(database, extension, small):
    sqlite_vec = pytest.importorskip("sqlite_vec")
    connection = apsw.Connection(":memory:")
    connection.enable_load_extension(True)
    for path in (str(extension), sqlite_vec.loadable_path()):
        connection.load_extension(path)
    connection.execute("SELECT distill_encoder(?)", [str(small)]).fetchall()
    one = "distill_embed('a river'), distill_embed('a castle')"
    [(product, distance)] = connection.execute(f"SELECT distill_product({one}), vec_distance_cosine({one})")
    assert product == pytest.approx(1 - distance, abs=1e-6)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT distill_embed('x')", "no encoder"),
        ("SELECT distill_encoder('nowhere.bin')", "cannot be read"),
        ("SELECT distill_encoder(NULL)", "cannot be read"),
        # A folder, which some systems open as if it were a file.
        ("SELECT distill_encoder('/')", "/: the file cannot be read"),
        ("SELECT distill_embed('x', 'passage')", "question"),
        ("SELECT distill_product(x'00000000', x'0000')", "same length"),
    ],
)
def test_what_cannot_be_is_refused_by_name(statement, said, database):
    with pytest.raises(apsw.SQLError, match=said):
        database(statement)


@pytest.mark.parametrize(("text", "said"), [("é" * 20_001, "20001 characters"), ("vk" * 10_000, "pieces")])
def test_a_question_has_limits_and_a_document_none(text, said, database, small):
    database("SELECT distill_encoder(?)", str(small))
    with pytest.raises(apsw.SQLError, match=f"distill_embed: .*{said}; a text has .* at most"):
        database("SELECT distill_embed(?)", text)
    assert len(database("SELECT distill_embed(?, 'document')", text)[0][0]) == 24


def test_a_file_that_is_none_leaves_the_encoder_that_is_open(database, small, tmp_path):
    database("SELECT distill_encoder(?)", str(small))
    (tmp_path / "other").write_bytes(b"no encoder" * 10)
    with pytest.raises(apsw.SQLError):
        database("SELECT distill_encoder(?)", str(tmp_path / "other"))
    assert len(database("SELECT distill_embed('x')")[0][0]) == 24
