import json

import numpy as np
import pytest

from distill.data.contexts import read_answers, read_contexts
from distill.data.loading import load_dataset, read_dataset
from distill.data.pairs import add_lines, load_bitext, make_gold_pairs, make_sentence_pairs
from distill.data.parallel import Parallel
from distill.data.pool_readers import load_pool
from distill.errors import DataError


@pytest.fixture(scope="module")
def data(sentence_data):
    return load_dataset(sentence_data)


@pytest.fixture(scope="module")
def pairs(data, sentence_data):
    """Eight train questions in two languages, twelve passages in both, English first."""
    return make_gold_pairs(data, read_contexts(data, sentence_data, ("de", "en")), ("en", "de"))


def test_contexts_and_answers_of_a_language_whose_questions_are_left_out(tmp_path):
    """By ids that are whole numbers, with answers as Hugging Face has them."""
    for language, word in (("en", "Bread"), ("de", "Brot")):
        qas = [
            {"id": 7, "question": "?", "answers": {"text": [word], "answer_start": [0]}},
            # The English paragraph alone says that it has no answer.
            {"id": 8, "question": "?", "answers": [], "is_impossible": language == "en"},
        ]
        value = {"data": [{"title": None, "paragraphs": [{"context": f"{word}.", "qas": qas}]}]}
        (tmp_path / f"{language}.json").write_text(json.dumps(value), encoding="utf-8")
    data = read_dataset(tmp_path)
    assert read_contexts(data, tmp_path, ["en", "de"]) == {"en": ("Bread.",), "de": ("Brot.",)}
    answers = read_answers(data, tmp_path, ["en", "de"])
    assert answers["en"] == {"7": ("Bread",)} and answers["de"]["7"] == ("Brot",)


def test_a_question_has_its_passage_in_every_language(pairs):
    assert (len(pairs.questions), len(pairs.passages)) == (16, 24)
    assert [question.id for question in pairs.questions[7:9]] == ["garden-1", "river-0"]
    assert pairs.questions[8].text == "Wie alt ist river 0?"
    # Bridge 1, the fourth train question, is passage 3; in German 12 further.
    assert [pairs.positives[row].tolist() for row in (3, 11)] == [[3, 15], [3, 15]]
    assert pairs.passages[15] == "Teil 1: bridge ist alt. Es ist ein bridge. bridge 1 ist 101 Jahre alt."
    assert (pairs.languages[[3, 15]].tolist(), pairs.content[[3, 15]].tolist()) == (["en", "de"], [3, 3])
    assert pairs.asked_in.tolist() == ["en"] * 8 + ["de"] * 8
    assert not any(len(rows) for rows in pairs.negatives)
    assert [pairs.in_language(3, "de"), pairs.in_language(15, "en"), pairs.in_language(15, "fr")] == [15, 3, 15]
    assert all(np.issubdtype(rows.dtype, np.integer) for rows in (*pairs.positives, *pairs.negatives, pairs.content))


def test_a_question_may_have_the_sentence_that_answers_it_in_every_language(data, sentence_data):
    """Six articles of two paragraphs of three sentences, the third of which answers: 36 a language, German first."""
    pairs = make_sentence_pairs(data, load_pool(sentence_data, ("de", "en"), "train"), ("en", "de"), context=True)
    assert pairs.contexts[47] == data.passage_texts[3] and pairs.contexts[11].endswith(pairs.passages[11])
    assert (len(pairs.questions), len(pairs.passages)) == (16, 72)
    # Bridge 1 is the fourth paragraph of a language.
    assert [pairs.positives[row].tolist() for row in (3, 11)] == [[11, 36 + 11], [11, 36 + 11]]
    assert [pairs.passages[row] for row in (11, 47)] == ["bridge 1 ist 101 Jahre alt.", "bridge 1 is 101 years old."]
    assert pairs.languages[[11, 47]].tolist() == ["de", "en"] and pairs.in_language(11, "en") == 47
    assert make_sentence_pairs(data, load_pool(sentence_data, ("en",), "train"), ("en",)).positives[3].tolist() == [11]


def test_parallel_text_asks_for_its_pivot(pairs):
    one = Parallel("a", 1.0, ("Hallo", "Salut", "Tag"), ("de", "fr", "de"), ("Hello", "Hello", "Day"))
    both = add_lines(pairs, [one, Parallel("b", 1.0, ("Welt",), ("de",), ("World",))], "en")
    assert both.questions[:16] == pairs.questions and both.passages[24:] == ("Hello", "Day", "World")
    assert [(question.text, question.language) for question in both.questions[16:]] == [
        ("Hallo", "de"), ("Salut", "fr"), ("Tag", "de"), ("Welt", "de")
    ]  # fmt: skip
    assert [rows.tolist() for rows in both.positives[16:]] == [[24], [24], [25], [26]]
    # Two lines of one pivot are the same question; none of them is one of the data set's.
    assert [question.id for question in both.questions[16:]] == ["line 0", "line 0", "line 1", "line 2"]
    assert (both.content[24:].tolist(), both.languages[24:].tolist()) == ([12, 13, 14], ["en"] * 3)


def test_contexts_of_the_sample_are_in_one_language_and_answers_are_spans_of_theirs(
    sample, sample_folder, data, sentence_data
):
    assert read_contexts(sample, sample_folder, sample.languages) == {"en": tuple(sample.passage_texts)}
    answers = read_answers(data, sentence_data, ("en", "de", "fr"))
    assert sorted(answers) == ["de", "en"] and answers["de"]["castle-1"] == ("101",)


def test_sentences_are_those_of_the_data_and_where_they_are_wrong_cut_by_its_language(sentence_data, tmp_path):
    text = (sentence_data / "en.json").read_text(encoding="utf-8")
    # A boundary that no language's rules set.
    [first, *_] = json.loads(text)["data"][0]["paragraphs"]
    for pairs, expected in (([[0, 5], [6, 50]], 2), ([[0, 5], [3, 50]], 3), ([], 3), (3, 3), (None, 3)):
        changed = text.replace(json.dumps(first["sentence_breaks"]), json.dumps(pairs), 1)
        (tmp_path / "en.json").write_text(changed, encoding="utf-8")
        data = load_dataset(tmp_path)
        assert np.bincount(data.sentences.passage_of).tolist() == [expected] + [3] * 11
        assert data.sentences.texts[0] == first["context"][:5] if expected == 2 else first["context"][:29]
    assert data.whole_of(["passage"]).keys() == {"passage"} and len(data.texts("sentence")) == 36


def test_a_file_with_other_paragraphs_is_refused(data, sentence_data, tmp_path):
    text = (sentence_data / "de.json").read_text(encoding="utf-8")
    (tmp_path / "de.json").write_text(text, encoding="utf-8")
    articles = json.loads(text)["data"]
    swapped = {"data": [articles[1], articles[0], *articles[2:]]}
    (tmp_path / "de.json").write_text(json.dumps(swapped), encoding="utf-8")
    with pytest.raises(DataError, match=r"de\.json, .* bridge-0\b"):
        read_contexts(data, tmp_path, ("de",))
    (tmp_path / "de.json").write_text(json.dumps({"data": articles[:5]}), encoding="utf-8")
    with pytest.raises(DataError, match=r"de\.json: 10 .* 12 "):
        read_contexts(data, tmp_path, ("de",))


LINES = {"en": ["one", "two", "three"], "de": ["eins", "zwei", "drei"], "th": ["หนึ่ง", "สอง", "สาม"]}


@pytest.fixture
def folder(tmp_path):
    for language, lines in LINES.items():
        (tmp_path / f"{language}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def table(folder, head, *rows):
    path = folder / "dev.tsv"
    path.write_text("\n".join("\t".join(row) for row in (head, *rows)) + "\n", encoding="utf-8")
    return path


def test_a_folder_of_aligned_files_of_which_languages_and_pivot_are_chosen(folder):
    bitext = load_bitext(folder)
    assert bitext.sentences == LINES
    assert (bitext.pivot, bitext.languages, bitext.size) == ("en", ("de", "th"), 3)
    bitext = load_bitext(folder, ["de"], pivot="th")
    assert bitext.sentences == {"de": LINES["de"], "th": LINES["th"]}
    assert bitext.languages == ("de",)


def test_a_table_has_languages_in_its_columns(tmp_path):
    """Columns that are not headed by a code are no language unless they are named, nor are numbers."""
    path = table(tmp_path, ["n", "url", "en", "pt-BR", "zho_Hans", "fin"], ["0", "http://a", "a", "b", "c", "d"])
    assert load_bitext(path).sentences == {"en": ["a"], "pt-BR": ["b"], "zho_Hans": ["c"]}
    assert load_bitext(path, ["fin"]).sentences == {"en": ["a"], "fin": ["d"]}
    path = table(tmp_path, ["id", "de", "en"], ["0", '"a', "b"], ["1", "c", 'd"'])
    assert load_bitext(path).sentences == {"de": ['"a', "c"], "en": ["b", 'd"']}
    assert list(load_bitext(path, ["id"]).sentences) == ["en", "id"]


@pytest.mark.parametrize(
    "rows, place",
    [
        ([["de", "en", "de"], ["a", "b", "c"]], "dev.tsv: .* de "),
        ([["de", "en"], ["a", "b"], ["c"]], "dev.tsv, line 3: "),
        ([["de", "en"]], "dev.tsv: "),
        ([[""]], "dev.tsv: "),
    ],
)
def test_a_table_that_is_wrong_is_refused(tmp_path, rows, place):
    with pytest.raises(DataError, match=place):
        load_bitext(table(tmp_path, *rows))
    with pytest.raises(DataError, match="nowhere.tsv: "):
        load_bitext(tmp_path / "nowhere.tsv")


@pytest.mark.parametrize(
    "text, place", [("eins\nzwei\n", " 2 .* de, 3 .*, 3 .* th$"), ("eins\n \ndrei", r"\b2\b.*\bde\b")]
)
def test_files_that_do_not_align_or_have_a_blank_line_are_refused(folder, text, place):
    (folder / "de.txt").write_text(text)
    with pytest.raises(DataError, match=place):
        load_bitext(folder)


@pytest.mark.parametrize(
    "languages, pivot, said",
    [((), "el", r"\bel; .* de, en, th\."), (("el",), "en", r"\bel; "), (("en",), "en", "besides")],
)
def test_languages_that_are_not_there_are_refused(folder, languages, pivot, said):
    with pytest.raises(DataError, match=said):
        load_bitext(folder, languages, pivot)
