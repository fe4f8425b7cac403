import json
from dataclasses import replace

import numpy as np
import pytest
from fixtures.data import write_lines

from distill.data.loading import load_dataset, load_dev
from distill.data.more_questions import (
    extract_letters,
    find_sharing,
    load_triplets,
    make_collection,
    make_own_collection,
    read_triplets,
)
from distill.errors import DataError, InputError

ROWS = [("question", "sentence"), ("who ?", "it was her ."), ("where ?", "it was here .")]


def write(path, rows):
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "pairs.tsv", ROWS)


# A line of JSON, and one that is blank.
OBJECTS = [('{"question": "a", "passage": "b"}',), ("",)]


def pairs(source):
    return list(zip(source.questions, source.passages, strict=True))


def test_a_table_or_objects_give_pairs_by_the_names_of_their_columns_each_once_and_files_are_weighed(table, tmp_path):
    (source,) = read_triplets([table])
    assert (source.name, source.weight, pairs(source)) == ("pairs.tsv", 1, ROWS[1:])
    path = write(tmp_path / "a.tsv", [("id", "passage", "question"), ("7", "her", "who"), ("8", "here", "where")])
    assert pairs(read_triplets([path])[0]) == [("who", "her"), ("where", "here")]
    rows = [{"question": "wann?", "passage": " heute ", "n": 1}, {"question": "wie?", "sentence": "so"}]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    first, second = read_triplets([tmp_path / "b.jsonl", f"{table}=2.5"])
    assert (first.weight, pairs(first)) == (1, [("wann?", "heute"), ("wie?", "so")])
    assert (second.weight, len(second.questions)) == (2.5, 2)
    path = write(tmp_path / "a.tsv", [*ROWS, ("Who  ?", "It was her ."), ("who ?", "it was him .")])
    assert len(read_triplets([path])[0].questions) == 3


def test_objects_have_answers_in_any_form_and_impossible_questions_are_left_out(tmp_path, capsys):
    row = {"question": "who", "passage": "it was her"}
    rows = [row, {**row, "question": "when", "is_impossible": True}]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert pairs(read_triplets([tmp_path / "b.jsonl"])[0]) == [("who", "it was her")]
    assert "1 of 2" in capsys.readouterr().err
    for answers in (["her"], {"text": ["her"], "answer_start": [7]}, [{"text": "her", "answer_start": 7}]):
        (tmp_path / "b.jsonl").write_text(json.dumps({**row, "answers": answers}), encoding="utf-8")
        assert read_triplets([tmp_path / "b.jsonl"])[0].answers == (("her",),)


@pytest.mark.parametrize(
    "name, rows, said",
    [
        ("pairs.tsv", [], "line 1: .* neither"),
        ("pairs.tsv", [("question", "passage", "sentence"), ("a", "b", "c")], "line 1: .* passage and sentence$"),
        ("pairs.tsv", [("ask", "sentence"), ("a", "b")], "line 1: .* question "),
        ("pairs.tsv", [("question", "question", "sentence")], ".* question "),
        ("pairs.tsv", ROWS[:1], ""),
        ("pairs.tsv", [*ROWS, ("when ?",)], "line 4: .* 1$"),
        ("pairs.tsv", [*ROWS, ("when ?", " ")], "line 4: .* 'sentence'"),
        ("pairs.tsv", [*ROWS, ("", "now .")], "line 4: .* 'question'"),
        ("pairs.jsonl", [*OBJECTS, ("{no",)], "line 3: .* 2"),
        ("pairs.jsonl", [*OBJECTS, ('{"question": "a"}',)], "line 3: .* neither"),
        ("pairs.jsonl", [*OBJECTS, ('{"passage": "a"}',)], "line 3: .* 'question'"),
        ("pairs.jsonl", [*OBJECTS, ('{"question": "a", "passage": 3}',)], "line 3: .* 'passage'.* 3"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_line(tmp_path, name, rows, said):
    with pytest.raises(DataError, match=f"{name}(, |: ){said}"):
        read_triplets([write(tmp_path / name, rows)])


def test_what_cannot_be_read_or_weighed_is_refused(table, tmp_path):
    for source in (tmp_path / "nowhere.tsv", tmp_path):
        with pytest.raises(DataError, match=f"{source.name}: "):
            read_triplets([source])
    with pytest.raises(InputError, match="pairs.tsv=0: "):
        read_triplets([f"{table}=0"])


# What may not be learned from


@pytest.mark.parametrize("split", ["dev", "test"])
def test_questions_of_dev_and_test_are_left_out_and_those_of_train_stay(sample, tmp_path, capsys, split):
    held = sample.select("en", split)[0].text.lower().replace("?", " ?")
    path = write(tmp_path / "pairs.tsv", [*ROWS, (held, "the answer .")])
    (source,) = load_triplets([path], sample, "en")
    assert pairs(source) == ROWS[1:]
    assert "pairs.tsv: 1 " in capsys.readouterr().err
    with pytest.raises(DataError, match="^pairs.tsv: "):
        load_triplets([write(path, [ROWS[0], (held, "the answer .")])], sample, "en")
    known = sample.select("en", "train")[0].text
    data = replace(sample, splits={split: sample.splits[split] for split in ("train", "dev")})
    write(path, [ROWS[0], (known, "the answer .")])
    assert load_triplets([path], data, "en")[0].questions == (known,)
    assert load_triplets([], data, "en") == []


@pytest.fixture
def rivers(tmp_path):
    """Two documents; of the Nile's two sentences each holds an answer, the Po's has none."""
    passages = [["The Nile flows north through Egypt for weeks. Its delta is at Cairo, which is large."], ["A Po."]]
    questions = [("a", "Where is it?", 0, ["Egypt"]), ("b", "A city?", 0, ["Cairo"]), ("c", "Po?", 1, [])]
    folder = tmp_path / "rivers"
    folder.mkdir()
    documents = [{"id": str(n), "passages": texts} for n, texts in enumerate(passages)]
    rows = [
        {"id": id, "language": "en", "text": text, "passage": f"{at}/0", "answers": spans}
        for id, text, at, spans in questions
    ]
    write_lines(folder, documents, rows)
    (folder / "splits.json").write_text(json.dumps({"train": ["a"], "dev": ["b", "c"]}), encoding="utf-8")
    return folder


def test_of_a_data_set_train_is_taken_or_all_and_weighed(rivers):
    (train,) = read_triplets([f"{rivers}=3"], "en")
    assert (train.name, train.weight, train.questions, train.answers) == ("rivers", 3, ("Where is it?",), (("Egypt",),))
    (everything,) = read_triplets([f"{rivers}:all=0.5"], "en")
    assert (everything.weight, everything.questions) == (0.5, ("Where is it?", "A city?", "Po?"))
    assert everything.passages[1].startswith("The Nile") and everything.passages[2] == "A Po."
    for source, said in ((f"{rivers}:all=0", "=0: "), (f"{rivers}/splits.json:all", "splits.json")):
        with pytest.raises(InputError, match=said):
            read_triplets([source], "en")
    with pytest.raises(DataError, match="rivers: .* de"):
        read_triplets([rivers], "de")


def test_the_sentence_that_holds_the_answer_is_a_positive_of_its_passages_document(rivers):
    sources = read_triplets([f"{rivers}:all"], "en")
    nile, egypt, cairo = (sources[0].passages[0], *(f"{part}." for part in sources[0].passages[0][:-1].split(". ")))
    data = load_dataset(rivers)
    questions = [data.questions["en"][id] for id in "abc"]
    for pooled in (make_collection(sources, "en", True), make_own_collection(data, questions, True)):
        assert pooled.passages == (nile, egypt, cairo, "A Po.")
        assert pooled.document_of.tolist() == [0, 0, 0, 1] and [q.passage for q in pooled.questions] == [0, 0, 3]
        assert [rows.tolist() for rows in pooled.positives] == [[0, 1], [0, 2], [3]]
    assert make_collection(sources, "en").passages == (nile, "A Po.")
    assert [rows.tolist() for rows in make_own_collection(data, questions).positives] == [[0], [0], [1]]


def test_what_shares_text_with_the_dev_documents_is_counted_and_their_questions_left_out(rivers, sample, capsys):
    dev = load_dev(str(rivers), "en", ("de", "en"), ("en",))
    assert dev.splits == {"dev": ("b", "c")} and load_dev("", "en", ("en",)) is None
    (source,) = load_triplets([f"{rivers}:all"], sample, "en", dev=dev)
    assert source.questions == ("Where is it?",) and "rivers: 1 of 2 " in capsys.readouterr().err
    for languages, needed in ((("de",), ()), (("en",), ("de",))):
        with pytest.raises(DataError, match=r"\bde\b"):
            load_dev(str(rivers), "en", languages, needed)
    (rivers / "splits.json").unlink()
    assert load_dev(str(rivers), "en", ("en",)).splits == {"dev": ("a", "b", "c")}


def test_texts_share_a_run_of_letters_as_sets_of_substrings_say():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("aAbB c.é"), size)) for size in rng.integers(0, 40, 300)]
    others = ["".join(rng.choice(list("abAc -Éé"), 60)) for _ in range(20)]
    runs = {
        extract_letters(other)[start : start + 6]
        for other in others
        for start in range(len(extract_letters(other)) - 5)
    }
    expected = [
        any(extract_letters(text)[at : at + 6] in runs for at in range(len(extract_letters(text)) - 5))
        for text in texts
    ]
    assert 20 < sum(expected) < 280 and find_sharing(texts, others, 6).tolist() == expected
    assert extract_letters("Ａ-b, É!") == "abé" and find_sharing(["a" * 60], []).tolist() == [False]
    assert find_sharing(["The same, " * 8 + "x", "other"], ["and THE SAME" + "the same" * 8]).tolist() == [True, False]
