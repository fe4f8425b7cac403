"""Questions have the same limits, in the same words, wherever they are asked."""

import json
import re
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from distill.encoders.catalog.loading import load_encoder
from distill.encoders.files.questions import encode_apart, encode_question, length_problem, require_question
from distill.errors import InputError
from distill.search_engine.serving.limits import Limits
from distill.settings import choices

NODE, EXPORT = shutil.which("node"), Path(__file__).resolve().parents[3] / "export"
# One character that is 18 once it is normalised.
LONG = "\ufdfa"
TEXTS = ["a" * 20_001, LONG * 1112, "é" * 20_000, "🌊" * 20_001]
PROBLEMS = [
    "20001 characters; a text has 20000 at most",
    "20016 characters once it is normalised; a text has 20000 at most",
    "",
    "20001 characters; a text has 20000 at most",
]


def test_lengths_are_counted_after_normalising():
    assert [length_problem(text) for text in TEXTS] == PROBLEMS


@pytest.mark.skipif(NODE is None, reason="no Node")
def test_a_page_counts_and_says_the_same(tmp_path):
    script = f"""
    import {{ requireQuestion }} from {json.dumps((EXPORT / "web" / "distill.js").as_uri())};
    const said = {json.dumps(TEXTS)}.map(text => {{
      try {{
        requireQuestion("question", text);
        return "";
      }} catch (error) {{
        return `${{error.name}} ${{error.message}}`;
      }}
    }});
    console.log(JSON.stringify(said));"""
    (tmp_path / "script.mjs").write_text(script, encoding="utf-8")
    done = subprocess.run([NODE, tmp_path / "script.mjs"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [problem and f"DistillError question: {problem}." for problem in PROBLEMS]


def test_the_server_the_page_and_sqlite_have_the_same_numbers():
    page = (EXPORT / "web" / "distill.js").read_text(encoding="utf-8")
    database = (EXPORT / "c" / "distill_sqlite.c").read_text(encoding="utf-8")
    assert re.search(r"const CHARACTERS = (\d+)", page)[1] == str(choices.CHARACTERS)
    numbers = re.search(r"MOST_CHARACTERS = (\d+), MOST_PIECES = (\d+)", database).groups()
    assert numbers == (str(choices.CHARACTERS), str(choices.PIECES))
    served = Limits()
    assert (served.texts, served.characters) == (choices.TEXTS, choices.CHARACTERS)
    assert (served.pieces, served.seconds) == (choices.PIECES, choices.SECONDS)


@pytest.mark.parametrize("text", [" ", "a" * 20_001, "\u57ce\u3007" * 10_000], ids=["empty", "characters", "pieces"])
def test_a_question_beyond_a_limit_is_refused(text):
    with pytest.raises(InputError):
        require_question(text)
        encode_question(load_encoder("released-small"), text, choices.PIECES)


@pytest.mark.parametrize("words", [3, 1500], ids=["short", "long"])
def test_a_question_within_them_has_the_vector_of_its_encoder(words):
    encoder, text = load_encoder("released-small"), "Danube " * words
    require_question(text)
    np.testing.assert_allclose(encode_question(encoder, text), encoder.encode([text])[0], atol=1e-6)


@pytest.mark.parametrize(("pieces", "is_here"), [(1023, True), (1024, False)])
def test_a_long_text_is_encoded_in_a_thread_that_ends(pieces, is_here):
    threads = []

    def encode(texts, role):
        threads.append(threading.current_thread())
        return np.ones((len(texts), 2), np.float32)

    assert encode_apart(encode, ["a", "b"], "question", np.array([1, pieces])).shape == (2, 2)
    assert (threads[0] is threading.current_thread()) == is_here
    assert is_here or not threads[0].is_alive()
