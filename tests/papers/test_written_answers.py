import pytest

from distill.errors import DataError
from distill.papers.reading.reader import Answer as Span
from distill.papers.reading_jobs import WriterOptions, train_writer
from distill.papers.written_answers import read_answers, write_generated_answers
from distill.search_engine.indexing.answers import Answer, Hit


class Years:
    """A reader of years."""

    name = "years"

    def read(self, examples, progress=None):
        places = [example.passage.text.find("1817") for example in examples]
        return [Span("1817", (place, place + 4), float(place)) for place in places]


def hit(text):
    return Hit(1.0, 0, 0, 0, text, (0, 3), {"id": "a", "language": "de"})


def test_the_answer_is_told_and_where_the_reader_finds_none_the_best_sentence_alone():
    (answer,) = read_answers([Answer("Wann?", [hit("Im Jahr 1817."), hit("Nie. Nie.")])], Years())
    first, second = (one.as_dict() for one in answer.hits)
    assert (first["answer"], first["answer_at"], first["sentence_at"]) == ("1817", [8, 12], [0, 3])
    assert "answer" not in second and second["sentence"] == "Nie"


def test_what_is_written_comes_of_all_passages_with_the_titles_of_their_documents():
    class Copying:
        """A writer of what it is given."""

        def write(self, question, passages):
            return f"{question} {passages}"

    titled = Hit(1.0, 0, 0, 0, "1817.", None, {"id": "a", "title": "Laufrad"})
    answers = [Answer("Wann?", [titled, hit("Nie.")]), Answer("Wo?", [])]
    assert list(write_generated_answers(answers, Copying())) == ["Wann? [('Laufrad', '1817.'), ('', 'Nie.')]", "Wo? []"]


def test_questions_without_answers_teach_a_writer_nothing(tmp_path):
    (tmp_path / "questions.jsonl").write_text('{"id": "1", "question": "Wo?"}\n', encoding="utf-8")
    with pytest.raises(DataError):
        train_writer("hf:NAME", tmp_path / "index", tmp_path / "questions.jsonl", tmp_path / "writer", WriterOptions())
    assert not (tmp_path / "writer").exists()
