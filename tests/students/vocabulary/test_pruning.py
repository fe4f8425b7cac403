from collections import Counter

import numpy as np
import pytest
from fixtures.pieces import small_encoder, spelled_tokenizer

from distill.data.dataset import Dataset, Passage, Question
from distill.encoders.tokenizer import model_proto
from distill.errors import ConfigError, InputError
from distill.jobs.compression.trials import table_bytes
from distill.students.vocabulary.fertility import find_script, find_script_tokens
from distill.students.vocabulary.pieces import find_required_tokens, find_used_tokens, prune_tokenizer
from distill.students.vocabulary.pruning import Line, PieceRule, collect_lines, compute_size, prune, split_tenth


@pytest.fixture
def small():
    """Two passages, three questions in two languages, one a split."""
    questions = {
        name: {f"q{n}": Question(f"q{n}", name, f"{name} question {n}", 0) for n in range(3)} for name in ("de", "en")
    }
    passages = (Passage("p0", "the first", 0), Passage("p1", "the second", 0))
    return Dataset("small", "en", ("T",), passages, questions, {"train": ("q0",), "dev": ("q2",), "test": ("q1",)})


def texts(lines):
    return [(line.language, line.text) for line in lines]


PASSAGES = [("en", "the first"), ("en", "the second")]


def test_lines_are_train_questions_and_all_passages_and_languages_that_are_not_kept_apart(small):
    kept, others = collect_lines(small, ["de"])
    assert texts(kept) == [("de", "de question 0"), *PASSAGES]
    assert texts(others) == [("en", "en question 0"), ("en", "en question 2")]
    # A corpus comes behind.
    kept, _ = collect_lines(small, ["de"], {"fi": ["yksi", "kaksi"], "de": ["eins"]})
    assert texts(kept)[3:] == [("fi", "yksi"), ("fi", "kaksi"), ("de", "eins")]
    # Dev stays unseen, so that it shows the cost; so does test, where there is one.
    del small.splits["test"]
    kept, others = collect_lines(small, ["de", "en"])
    assert texts(kept) == [("de", "de question 0"), ("en", "en question 0"), *PASSAGES]
    assert others == []


def lines(kind, language, count):
    return [Line(language, f"{language} {kind} {n}", kind, n) for n in range(count)]


def test_a_tenth_of_each_kind_is_split_off_and_translations_stay_together():
    given = [*lines("question", "de", 40), *lines("passage", "en", 25), *lines("corpus", "fi", 3)]
    rest, tenth = split_tenth(given, 0)
    assert sorted(line.kind for line in tenth) == ["corpus", "passage", "passage", *["question"] * 4]
    assert sorted(map(str, (*rest, *tenth))) == sorted(map(str, given))
    assert split_tenth(given, 0) == (rest, tenth) != split_tenth(given, 1)
    rest, tenth = split_tenth([*lines("question", "de", 40), *lines("question", "en", 40)], 0)
    keys = {name: {line.key for line in tenth if line.language == name} for name in ("de", "en")}
    assert keys["de"] == keys["en"] and len(keys["de"]) == 4


def test_a_rule_is_a_union_of_pieces_and_refused_without_any(tokenizer, tiny):
    given = lines("question", "de", 3)
    used = find_used_tokens(tokenizer, [line.text for line in given], 2)
    assert PieceRule(2, ("Thai",)).pieces(tokenizer, given) == used | find_script_tokens(tokenizer, ["Thai"])
    assert PieceRule(2).pieces(tokenizer, given) == used
    with pytest.raises(ConfigError, match="Thay; .*Thai"):
        PieceRule(1, ("Thay",)).check()
    with pytest.raises(InputError, match="1000 .*--least"):
        prune(tiny, lines("question", "de", 20), [], PieceRule(1000))


def test_a_vocabulary_of_a_single_text_is_measured_on_it(tokenizer):
    _, report = prune(small_encoder(tokenizer), lines("passage", "en", 1), [], PieceRule())
    assert (report["unseen"]["en"]["texts"], report["unseen"]["en"]["changed"]) == (1, 0)


def test_the_most_used_pieces_are_those_with_the_largest_shares_however_little_text_a_language_has(tokenizer):
    given = [*lines("question", "de", 30), *lines("corpus", "fi", 1)]
    always = find_required_tokens(model_proto(tokenizer))
    shares = Counter()
    for language in ("de", "fi"):
        ids = [id for line in given if line.language == language for id in tokenizer.encode([line.text])[0][1:-1]]
        for id, count in Counter(ids).items():
            shares[id] += count / len(ids)
    ranked = sorted((id for id in shares if id not in always), key=lambda id: (-shares[id], id))
    for more in (1, 3):
        assert PieceRule(0, most=len(always) + more).pieces(tokenizer, given) == always | set(ranked[:more])
    assert PieceRule(2, most=len(always) + 3).pieces(tokenizer, given) <= find_used_tokens(
        tokenizer, [x.text for x in given], 2
    )


def test_the_most_used_pieces_come_first_and_texts_keep_their_vectors(tokenizer):
    given, encoder = lines("question", "de", 30), small_encoder(tokenizer)
    whole, _ = prune(encoder, given, [], PieceRule())
    ordered, _ = prune(encoder, given, [], PieceRule(most=len(whole.tokenizer)))
    uses = Counter(id for line in given for id in ordered.tokenizer.encode([line.text])[0][1:-1])
    normal = [id for id, piece in enumerate(model_proto(ordered.tokenizer).pieces) if piece.type == piece.NORMAL]
    assert [uses[id] for id in normal] == sorted((uses[id] for id in normal), reverse=True)
    texts = [line.text for line in given]
    np.testing.assert_array_equal(ordered.encode(texts), whole.encode(texts))


@pytest.fixture(scope="module")
def done(sample, tokenizer):
    """The sample's German and English questions kept."""
    encoder = small_encoder(tokenizer)
    kept, others = collect_lines(sample, ["de", "en"])
    return encoder, kept, others, *prune(encoder, kept, others, PieceRule(), 3)


def test_kept_texts_have_their_vectors_and_rows_and_bytes_are_theirs(done):
    encoder, kept, _, smaller, report = done
    assert {row["changed"] for row in report["kept"].values()} == {0.0}
    known = [line.text for line in kept][::20]
    np.testing.assert_array_equal(smaller.encode(known), encoder.encode(known))
    after, _ = prune_tokenizer(encoder.tokenizer, find_used_tokens(encoder.tokenizer, [line.text for line in kept]))
    assert report["rows"] == [2000, len(after)]
    assert (report["least"], report["scripts"], report["seed"]) == (1, [], 3)
    protos = len(encoder.tokenizer.proto) - len(smaller.tokenizer.proto)
    assert report["bytes"][0] - report["bytes"][1] == (2000 - len(after)) * 8 * 4 + protos
    assert report["bytes"][1] == 4 * sum(w.size for w in smaller.model.get_weights()) + len(smaller.tokenizer.proto)


def test_the_bytes_of_spellings_count(tokenizer):
    spelled = spelled_tokenizer(tokenizer, _teh="the")
    more = len(spelled.proto) + len(spelled.spellings) - len(tokenizer.proto)
    assert compute_size(small_encoder(spelled)) - compute_size(small_encoder(tokenizer)) == more
    assert table_bytes(spelled, 8, "uint8") - table_bytes(tokenizer, 8, "uint8") == more


def test_what_was_not_kept_is_named_and_measured_in_full(done, sample):
    _, _, others, smaller, report = done
    assert report["left"] == [name for name in sample.languages if name not in ("de", "en")]
    for name in report["left"]:
        questions = [line.text for line in others if line.language == name]
        row = report["unseen"][name]
        pieces = [id for ids in smaller.tokenizer.encode(questions) for id in ids[1:-1]]
        assert row["texts"] == len(questions)
        assert row["unk"][1] == pieces.count(0) / len(pieces)
    assert report["unseen"]["ru"]["changed"] > 0.5


def test_unseen_text_is_measured_under_a_vocabulary_that_did_not_see_it(done):
    encoder, kept, _, _, _ = done
    rule = PieceRule(9)  # the vocabulary is so small that each piece is used in other texts too
    _, report = prune(encoder, kept, [], rule, 3)
    rest, tenth = split_tenth(kept, 3)
    trial, old_ids = prune_tokenizer(encoder.tokenizer, rule.pieces(encoder.tokenizer, rest))
    unseen = [line.text for line in tenth if line.language == "en"]
    before, after = encoder.tokenizer.encode(unseen), trial.encode(unseen)
    changed = sum([old_ids[id] for id in ids] != was for ids, was in zip(after, before, strict=True))
    assert report["unseen"]["en"]["texts"] == len(unseen) > 0
    assert report["unseen"]["en"]["changed"] == changed / len(unseen) > 0


def test_single_characters_of_scripts_that_nobody_writes_leave_where_pieces_are_limited(tokenizer, tiny):
    given = lines("question", "en", 20)
    rule = PieceRule(most=30, written=True)
    proto = model_proto(tokenizer)
    _, always = rule.choose(tokenizer, given)
    left = {proto.pieces[id].piece.strip("\u2581") for id in find_required_tokens(proto) - always}
    assert left and all(find_script(character) not in ("Latn", "Zyyy") for character in left)
    smaller, _ = prune(tiny, given, [], rule)
    assert len(smaller.tokenizer) == max(30, len(always))
