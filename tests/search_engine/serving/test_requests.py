"""Requests, tokens and figures, without a server."""

import asyncio
import json
import re

import numpy as np
import pytest

pytest.importorskip("orjson")

from distill.errors import InputError
from distill.search_engine.serving.batching import Batcher, Metrics, Vectors
from distill.search_engine.serving.forms import parse_embedding_request, parse_search_request
from distill.search_engine.serving.limits import BATCH_TEXTS, Limits, Refusal
from distill.search_engine.serving.origins import encode_tokens, is_allowed, read_tokens

LIMITS = Limits(texts=3, characters=10, body=1000)


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({}, 422, "input"),
        ({"input": []}, 422, "input"),
        ({"input": " "}, 422, "input"),
        ({"input": ["a", None]}, 422, "input[1]"),
        ({"input": [1, 2]}, 422, "input[0]"),
        ({"input": [[1, 2]]}, 422, "input[0]"),
        ({"input": "\ufdfa"}, 413, "input"),
        ({"input": {"text": "a"}}, 422, "input"),
        ({"input": ["a"] * 4}, 413, "input"),
        ({"input": ["a", "b" * 11]}, 413, "input[1]"),
        ({"input": "a", "encoding_format": "int8"}, 422, "encoding_format"),
        ({"input": "a", "encoding_format": 1}, 422, "encoding_format"),
        ({"input": "a", "dimensions": 4}, 422, "dimensions"),
        ({"input": "a", "dimensions": True}, 422, "dimensions"),
        ({"input": "a", "input_type": "title"}, 422, "input_type"),
        ({"input": "a", "model": 5}, 422, "model"),
    ],
)
def test_texts_that_cannot_be_encoded_are_refused_by_their_field(fields, status, param):
    with pytest.raises(Refusal) as refused:
        parse_embedding_request(json.dumps(fields).encode(), 8, LIMITS)
    assert (refused.value.status, refused.value.param) == (status, param)


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({}, 422, "query"),
        ({"query": "a", "queries": ["b"]}, 422, "query"),
        ({"query": ["a"]}, 422, "query"),
        ({"queries": "a"}, 422, "queries"),
        ({"query": "a", "queries": None, "top": 0}, 422, "top"),
        ({"query": "a", "filter": {}}, 422, "filter"),
        ({"query": "a", "top": 0}, 422, "top"),
        ({"query": "a", "top": 2.0}, 422, "top"),
        ({"query": "a", "hybrid": 1}, 422, "hybrid"),
        ({"query": "a", "where": ["lang"]}, 422, "where"),
        ({"query": "a", "where": {"lang": {"not": "en"}}}, 422, "where.lang"),
        ({"query": "a", "where": {"lang": []}}, 422, "where.lang"),
        ({"query": "a", "where": {"lang": [["en"]]}}, 422, "where.lang"),
        ({"queries": ["a"] * 4}, 413, "queries"),
        ({"query": {"a": 2**80}}, 422, "query"),
        ({"query": "a", "model": {"a": json.loads("[" * 400 + "]" * 400)}}, 422, "model"),
        ({"query": "a", "top": 2**80}, 422, "top"),
        ({"query": "a", "where": {str(n): n for n in range(101)}}, 422, "where"),
    ],
)
def test_questions_that_cannot_be_answered_are_refused_by_their_field(fields, status, param):
    with pytest.raises(Refusal) as refused:
        parse_search_request(json.dumps(fields).encode(), LIMITS)
    assert (refused.value.status, refused.value.param) == (status, param)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        *(([value], code) for value, code in ((1, "tokens"), ([1, 2], "tokens"), ([1, "a"], "invalid_value"))),
        *((value, "invalid_value") for value in (5, ["a", 5], [["a"]], [[]])),
    ],
)
def test_lists_of_texts_are_not_taken_for_lists_of_tokens(value, code):
    with pytest.raises(Refusal) as refused:
        parse_embedding_request(json.dumps({"input": value}).encode(), 8, LIMITS)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "fields",
    [
        {"query": "a", "x" * 10**6: 1},
        {"query": "a", **{f"field {n}": n for n in range(20_000)}},
        {"query": "a", "where": {"x" * 10**6: []}},
        {"query": "a", "model": ["x" * 10**6]},
    ],
)
def test_an_answer_repeats_little_of_a_request(fields):
    with pytest.raises(Refusal) as refused:
        parse_search_request(json.dumps(fields).encode(), Limits())
    assert refused.value.status == 422 and len(json.dumps(refused.value.as_dict())) < 600


def test_the_passages_of_all_questions_are_bounded_together():
    body, limits = {"queries": ["a"] * 40, "top": 500}, Limits()
    assert parse_search_request(json.dumps(body).encode(), limits).top == 500
    with pytest.raises(Refusal) as refused:
        parse_search_request(json.dumps(body | {"top": 501}).encode(), limits)
    assert (refused.value.status, refused.value.param) == (413, "top")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"input": NaN}', b"\xff", b"[" * 5000, b'{"input": "\\ud800"}'])
def test_what_is_no_object_in_json_is_refused(body):
    for of_body in (lambda: parse_embedding_request(body, 8, LIMITS), lambda: parse_search_request(body, LIMITS)):
        with pytest.raises(Refusal) as refused:
            of_body()
        assert refused.value.status == 400


def test_requests_are_read_with_their_defaults():
    request = parse_embedding_request(b'{"input": "a", "dimensions": 8, "user": "me"}', 8, LIMITS)
    assert (request.texts, request.model, request.role, request.base64) == (("a",), None, None, False)
    where = {"year": 1990, "lang": "en", "old": True, "big": 2**80, "tag": ["b", None]}
    request = parse_search_request(json.dumps({"queries": ["a"], "where": where}).encode(), LIMITS)
    assert (request.many, request.top, request.hybrid) == (True, 5, False)
    tags = ("tag", "b"), ("tag", "null")
    assert request.where == (("big", str(2**80)), ("lang", "en"), ("old", "true"), *tags, ("year", "1990"))


def lengths(texts, role):
    """Vectors that tell which text they are of; of an odd one it fails."""
    if any("odd" in text for text in texts):
        raise ValueError("odd")
    numbers = np.array([len(text) for text in texts])
    return Vectors(numbers[:, None].astype(np.float32) * (1 if role == "question" else -1), numbers)


def batched(*requests, most=1000):
    """What a batcher gives for requests that come at once, errors as they are; and the sizes of its batches."""
    sizes = []

    def encode(texts, role):
        sizes.append(len(texts))
        return lengths(texts, role)

    async def work():
        batcher = Batcher(encode, most, Metrics())
        tasks = [asyncio.ensure_future(batcher.encode(texts, role)) for texts, role in requests]
        await asyncio.sleep(0)
        running = asyncio.ensure_future(batcher.run())
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert batcher.waiting == 0
        return answers

    return asyncio.run(work()), sizes


def test_requests_of_a_role_are_encoded_together_and_each_gets_its_own_rows():
    long = ["x" * n for n in range(1, 151)]
    answers, sizes = batched((long, "question"), (["abc"], "document"), (["ab"], "question"), (["odd"], "question"))
    assert answers[0].rows[:, 0].tolist() == list(range(1, 151)) and answers[0].pieces.sum() == 150 * 151 / 2
    assert answers[1].rows.tolist() == [[-3]] and answers[2].rows.tolist() == [[2]]
    # One that fails is alone with it.
    assert isinstance(answers[3], ValueError)
    assert max(sizes) == BATCH_TEXTS and sizes[:2] == [BATCH_TEXTS, 1]


def test_a_long_text_is_a_batch_by_itself_and_a_full_line_refuses():
    answers, sizes = batched((["x" * 50_000], "question"), (["x" * 15_000] * 2, "question"))
    assert sizes == [1, 1, 1] and [len(one.rows) for one in answers] == [1, 2]
    # U+FDFA is of 18 characters for the encoder.
    assert batched((["\ufdfa" * 400] * 2, "question"))[1] == [1, 1]
    answers, _ = batched((["a"] * 9, "question"), (["b"], "question"), (["c"], "document"), most=10)
    assert len(answers[0].rows) == 9 and len(answers[1].rows) == 1
    assert answers[2].status == 503 and int(answers[2].headers["retry-after"])


def test_who_is_cancelled_leaves_the_line():
    async def work():
        batcher = Batcher(lengths, 10, Metrics())
        task = asyncio.ensure_future(batcher.encode(["a"] * 10, "question"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert batcher.waiting == 0
        running = asyncio.ensure_future(batcher.run())
        rows = (await batcher.encode(["ab"] * 10, "question")).rows
        running.cancel()
        return rows

    assert asyncio.run(work()).tolist() == [[2.0]] * 10


def test_tokens_are_read_of_a_file_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("DISTILL_TOKEN", raising=False)
    assert read_tokens(None) == ()
    monkeypatch.setenv("DISTILL_TOKEN", "abc")
    assert read_tokens(None) == (b"abc",)
    (tmp_path / "tokens").write_text("one\n\n two \n", encoding="ascii")
    tokens = read_tokens(tmp_path / "tokens")
    assert [is_allowed(f"{scheme}{word}", tokens) for scheme in ("Bearer ", "bearer  ") for word in ("one", "two")] == [
        True
    ] * 4
    assert not any(
        is_allowed(header, tokens)
        for header in ("", "one", "Bearer", "Bearer on", "Bearer onetwo", "Basic one", "Bearer ö")
    )
    (tmp_path / "empty").write_text("\n", encoding="ascii")
    (tmp_path / "odd").write_text("tökén", encoding="utf-8")
    for name in ("empty", "odd", "none", "."):
        with pytest.raises(InputError, match=re.escape(str(tmp_path / name))):
            read_tokens(tmp_path / name)


@pytest.mark.parametrize("tokens", ["", " ", [""], ["a", "b "], ["tökén"], ["a\nb"]])
def test_a_token_that_no_header_has_is_refused(tokens):
    with pytest.raises(InputError, match="^tokens: "):
        encode_tokens(tokens, "tokens")
    # Its letters are no tokens.
    assert encode_tokens("secret", "tokens") == (b"secret",) and encode_tokens([], "tokens") == ()


def test_figures_are_counted_by_label_and_up_to_each_bound():
    metrics = Metrics()
    metrics.count_encoded(["a", "b"], "question", 5)
    metrics.count_answer("/health", 200, 0.003)
    assert {
        'distill_texts_total{role="question"} 2.0',
        'distill_pieces_total{role="question"} 5.0',
        'distill_batch_texts_bucket{le="1.0"} 0.0',
        'distill_batch_texts_bucket{le="2.0"} 1.0',
        'distill_requests_total{path="/health",status="200"} 1.0',
        'distill_request_seconds_bucket{le="0.0025"} 0.0',
        'distill_request_seconds_bucket{le="0.005"} 1.0',
    } <= set(metrics.text().splitlines())
