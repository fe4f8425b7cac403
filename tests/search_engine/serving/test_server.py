"""A server on a port of this machine, asked by clients."""

import asyncio
import base64
import contextlib
import http.client
import json
import re
import shutil
import socket
import time

import numpy as np
import pytest
from fixtures.commands import ROOT

pytest.importorskip("orjson")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from fixtures.folders import copy_shipped
from fixtures.servers import DOCUMENTS, MODEL, asked, indexed, post, served

from distill.encoders.catalog.loading import load_encoder
from distill.encoders.dual_encoder import AsymmetricEncoder
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.index_file import FILE
from distill.search_engine.serving import bodies, running
from distill.search_engine.serving.app import Server, build_application
from distill.search_engine.serving.collection import Collection, ServedEncoder
from distill.search_engine.serving.forms import parse_search_request
from distill.search_engine.serving.limits import Limits
from distill.search_engine.serving.running import bind_socket
from distill.system.sections import read_sections, write_sections

TOKEN = "secret"
TEXTS = ["Wo endet die Donau?", "The castle is of stone.", "城堡"]


@pytest.fixture(scope="module")
def encoder():
    return load_encoder(MODEL)


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serving")
    return indexed(folder, DOCUMENTS)


@pytest.fixture(scope="module")
def place(encoder, kb):
    one = ServedEncoder(encoder, MODEL)
    limits = Limits(texts=100, characters=2000, body=20_000)
    with served(Server(one, Collection(kb, MODEL, one), limits)) as place:
        yield place


@pytest.fixture(scope="module")
def locked(encoder):
    """A server with a token and an encoder of two towers."""
    two = AsymmetricEncoder(encoder, Turned(encoder))
    with served(Server(ServedEncoder(two, "two"), None, Limits(seconds=5), (TOKEN.encode(),))) as place:
        yield place


class Turned:
    """An encoder of the same space, with its axes the other way."""

    name = "turned"

    def __init__(self, encoder):
        self._encoder, self.dimension = encoder, encoder.dimension

    def encode(self, texts, role="question", progress=None):
        return -self._encoder.encode(texts, role)


def test_vectors_are_those_of_the_encoder_in_either_form(place, encoder):
    expected = encoder.encode(TEXTS, "document")
    status, answer = post(place, "/v1/embeddings", {"input": TEXTS, "model": MODEL})
    assert status == 200 and (answer["object"], answer["model"]) == ("list", MODEL)
    rows = sorted(answer["data"], key=lambda row: row["index"])
    assert np.array_equal(np.array([row["embedding"] for row in rows], dtype=np.float32), expected)
    pieces = sum(len(encoder.tokenize(text)) for text in TEXTS)
    assert answer["usage"] == {"prompt_tokens": pieces, "total_tokens": pieces}
    status, answer = post(place, "/v1/embeddings", {"input": TEXTS[0], "encoding_format": "base64", "dimensions": 512})
    vector = np.frombuffer(base64.b64decode(answer["data"][0]["embedding"]), dtype="<f4")
    assert status == 200 and np.array_equal(vector, expected[0])


def test_within_another_application_it_answers_under_its_own_paths(encoder):
    """Such an application, of Starlette or FastAPI, tells what is mounted in it nothing of its start."""
    from starlette.applications import Starlette
    from starlette.routing import Mount

    server = Server(ServedEncoder(encoder, MODEL), None, Limits(seconds=20), (TOKEN.encode(),))
    outer = Starlette(routes=[Mount("/inner", app=build_application(server))])

    async def ask(method, path, body=b"", token=TOKEN):
        received, sent = iter([{"type": "http.request", "body": body}]), []

        async def receive():
            return next(received, None) or await asyncio.sleep(60)

        async def send(message):
            sent.append(message)

        headers = [(b"content-type", b"application/json"), (b"authorization", f"Bearer {token}".encode())]
        scope = {"type": "http", "method": method, "path": path, "root_path": "", "query_string": b""}
        await outer({**scope, "headers": headers}, receive, send)
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)

    async def ask_all():
        try:
            embedded = await ask("POST", "/inner/v1/embeddings", json.dumps({"input": TEXTS[1]}).encode())
            return embedded, await ask("GET", "/inner/health", token=""), await ask("GET", "/inner/", token="")
        finally:
            await server.close()

    (status, answer), (well, _), (refused, _) = asyncio.run(ask_all())
    assert (status, well, refused) == (200, 200, 401)
    vector = np.array(json.loads(answer)["data"][0]["embedding"], np.float32)
    np.testing.assert_array_equal(vector, encoder.encode(TEXTS[1:2], "document")[0])
    assert 'embeddings",status="200"' in server.metrics.text()


def test_openais_client_runs_unchanged(place, locked, encoder):
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"http://{place[0]}:{place[1]}/v1", api_key="none") as client:
        answer = client.embeddings.create(model=MODEL, input=TEXTS)
        assert np.array_equal(np.array([row.embedding for row in answer.data], np.float32), encoder.encode(TEXTS))
        assert [model.id for model in client.models.list()] == [MODEL, f"{MODEL}:query", f"{MODEL}:document"]
        assert client.models.retrieve(MODEL).id == MODEL
        with pytest.raises(openai.NotFoundError) as refused:
            client.embeddings.create(model="text-embedding-3-small", input="a")
        assert (refused.value.code, refused.value.param) == ("model_not_found", "model")
        with pytest.raises(openai.UnprocessableEntityError):
            client.embeddings.create(model=MODEL, input="a", dimensions=64)
        with pytest.raises(openai.AuthenticationError):
            client.with_options(base_url=f"http://{locked[0]}:{locked[1]}/v1").models.list()


def test_the_page_says_what_works(place):
    pytest.importorskip("openai")
    page = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")
    # Requests name the encoder that the page's own server has.
    page = page.replace(f'"{re.search("^distill serve ([^ ]+)", page, re.MULTILINE)[1]}', f'"{MODEL}')
    requests = re.findall(r"^curl http://127.0.0.1:8000(\S+) -d '(.*)'$", page, re.MULTILINE)
    assert [post(place, path, body.encode())[0] for path, body in requests] == [200, 200]
    [block] = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names = {}
    exec(block.replace("127.0.0.1:8000", f"{place[0]}:{place[1]}"), names)
    names["client"].close()
    assert len(names["vector"]) == 512


def test_search_gives_what_the_command_prints(place, kb, encoder):
    for fields, more in (({}, {}), ({"where": {"lang": "de"}}, {"where": {"lang": "de"}}), ({"hybrid": True}, {})):
        hybrid = fields.get("hybrid", False)
        answers = Answers(kb, MODEL, None, hybrid, encoder).answers(
            ["What burned in 1703?", "Nile?"], 1, more.get("where")
        )
        expected = json.loads(json.dumps([one.as_dict() for one in answers]))
        assert all(0 <= one["probability"] <= 1 for one in expected)
        request = {"queries": ["What burned in 1703?", "Nile?"], "top": 1, **fields}
        assert post(place, "/v1/search", request) == (200, {"results": expected})
    one = {"query": "Nile?", "top": 1, "hybrid": True, "model": MODEL}
    assert post(place, "/v1/search", one) == (200, expected[1])
    assert expected[1]["hits"][0]["document"]["big"] == 2**80


def test_an_index_that_is_written_anew_is_read_anew(encoder, tmp_path):
    folder = indexed(tmp_path, DOCUMENTS[:1])
    one = ServedEncoder(encoder, MODEL)
    with served(Server(one, Collection(folder, MODEL, one), Limits())) as place:
        ask = lambda: {hit["document"]["id"] for hit in post(place, "/v1/search", {"query": "?"})[1]["hits"]}  # noqa: E731
        assert ask() == {"r"}
        indexed(tmp_path, DOCUMENTS)
        assert ask() == {"r", "c"}
        for content in (b"broken", crafted(folder, tmp_path / "crafted")):
            (tmp_path / "broken").write_bytes(content)
            (tmp_path / "broken").replace(folder / FILE)
            assert ask() == {"r", "c"}


def crafted(folder, path):
    """An index whose sections are whole, with documents that are no JSON."""
    sections = dict(read_sections(folder / FILE))
    sections["documents"] = sections["documents"] ^ np.uint8(1)
    write_sections(path, sections)
    return path.read_bytes()


def test_an_index_of_another_encoder_that_has_taken_the_place_of_the_one_served_is_not_read(tmp_path, capsys):
    model = tmp_path / "model"
    copy_shipped("released-small", model)
    folder = indexed(tmp_path, DOCUMENTS[:1], str(model))
    served = ServedEncoder(load_encoder(model), "model")
    collection = Collection(folder, model, served)
    shutil.rmtree(model), shutil.rmtree(folder)
    copy_shipped("released", model)
    indexed(tmp_path, DOCUMENTS, str(model))
    request = parse_search_request(b'{"query": "?"}', Limits())
    [answer] = collection.search(request, served.encode(["?"]))
    assert [hit["document"]["id"] for hit in answer["hits"]] == ["r"] and str(model) in capsys.readouterr().err


class Broken(Collection):
    """A collection that fails in a way that nobody thought of."""

    def search(self, request, vectors):
        raise IndexError("of\nbounds")


def test_what_fails_is_said_once_in_a_line(encoder, kb, capsys):
    one = ServedEncoder(encoder, MODEL)
    with served(Server(one, Broken(kb, MODEL, one), Limits())) as place:
        status, answer = post(place, "/v1/search", {"query": "?"})
        assert (status, answer["error"]["type"]) == (500, "server_error")
        # The line with the address may come before or after the first request.
        lines = capsys.readouterr().err.splitlines()
        assert [line for line in lines if "http://" not in line] == ["error: /v1/search: of"]


@pytest.mark.parametrize(
    ("method", "path", "content", "status", "code"),
    [
        ("POST", "/v1/embeddings", b"{", 400, "invalid_json"),
        ("POST", "/v1/embeddings", {"input": "a", "model": "other"}, 404, "model_not_found"),
        ("POST", "/v1/embeddings", {"input": [[1]]}, 422, "tokens"),
        ("POST", "/v1/embeddings", {"input": ["a"] * 101}, 413, "too_large"),
        ("POST", "/v1/embeddings", {"input": "a" * 20_000}, 413, "too_large"),
        ("POST", "/v1/search", {"query": "a", "where": {"author": "x"}}, 422, "invalid_value"),
        ("GET", "/v1/embeddings", None, 405, "no_path"),
        ("GET", "/v1/models/other", None, 404, "model_not_found"),
        ("GET", "/v1", None, 404, "no_path"),
    ],
)
def test_what_is_wrong_has_its_status_and_the_form_of_the_interface(place, method, path, content, status, code):
    left, answer, _ = asked(place, method, path, content)
    assert left == status and answer["error"]["code"] == code and answer["error"]["type"] == "invalid_request_error"
    assert set(answer["error"]) == {"message", "type", "param", "code"} and "\n" not in answer["error"]["message"]


def test_a_body_without_its_length_is_bounded_too(place):
    for count in (3, 12):
        parts, chunked = (b"x" * 10_000 for _ in range(count)), {"Transfer-Encoding": "chunked"}
        with contextlib.closing(http.client.HTTPConnection(*place, timeout=10)) as connection:
            connection.request("POST", "/v1/embeddings", parts, encode_chunked=True, headers=chunked)
            answer = connection.getresponse()
            assert answer.status == 413 and json.loads(answer.read())["error"]["code"] == "too_large"


def test_without_a_token_there_is_health_alone(locked):
    assert asked(locked, "GET", "/health")[0] == 200
    for header in ({}, {"Authorization": "Bearer secre"}, {"Authorization": TOKEN}):
        status, answer, headers = asked(locked, "GET", "/metrics", headers=header)
        assert (status, answer["error"]["type"]) == (401, "authentication_error")
        assert headers["www-authenticate"] == "Bearer"
    assert asked(locked, "GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})[0] == 200


def test_an_encoder_of_two_towers_is_told_the_role(locked, encoder):
    token = {"Authorization": f"Bearer {TOKEN}"}
    vector = encoder.encode(["a"])[0]
    for role, sign in (("query", 1), ("document", -1)):
        for fields in ({"input_type": role}, {"model": f"two:{role}"}, {"input_type": role, "model": f"two:{role}"}):
            status, answer = post(locked, "/v1/embeddings", {"input": "a", **fields}, **token)
            assert status == 200 and np.array_equal(np.float32(answer["data"][0]["embedding"]), sign * vector)
    for fields in ({}, {"model": "two"}, {"input_type": "query", "model": "two:document"}):
        status, answer = post(locked, "/v1/embeddings", {"input": "a", **fields}, **token)
        assert (status, answer["error"]["param"]) == (422, "input_type")
    assert post(locked, "/v1/search", {"query": "a"}, **token)[0] == 404


def test_it_says_what_is_there(place, locked):
    status, answer, _ = asked(place, "GET", "/")
    assert (status, answer["name"], answer["models"][0]) == (200, "distill", MODEL)
    for route in answer["routes"]:
        method, path = route.replace("{name}", MODEL).split()
        assert asked(place, method, path)[0] in (200, 400)
    assert {"POST /v1/embeddings", "POST /v1/search", "GET /health"} < {*answer["routes"]}
    assert asked(locked, "GET", "/")[0] == 401


def figure(place, name):
    text = asked(place, "GET", "/metrics")[1]
    assert re.fullmatch(r"((#.*|[a-z_]+(\{[^}]*\})? \S+)\n)+", text)
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


def test_clients_that_go_away_are_counted_and_harm_nobody(place):
    gone = 'distill_requests_total{path="/v1/embeddings",status="499"}'
    before = figure(place, gone)
    head = b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
    body = json.dumps({"input": ["x y " * 400] * 9}).encode()
    for sent in (head % 50 + b'{"inp', head % len(body) + body):
        with socket.create_connection(place) as client:
            client.sendall(sent)
            time.sleep(0.02)
    end = time.monotonic() + 20
    # The one that asks is in it.
    while (figure(place, gone) == before or figure(place, "distill_open_requests") > 1) and time.monotonic() < end:
        time.sleep(0.02)
    assert figure(place, gone) > before and figure(place, "distill_open_requests") == 1
    assert figure(place, "distill_request_bytes") == 0 and figure(place, "distill_waiting_texts") == 0
    assert figure(place, "distill_texts_total") > 0 and figure(place, "process_resident_memory_bytes") > 1e6


def test_small_answers_do_not_wait_for_others():
    with bind_socket("127.0.0.1", 0) as listener:
        # For a socket of another protocol asyncio leaves TCP_NODELAY.
        assert listener.proto == socket.IPPROTO_TCP


def test_a_connection_that_says_nothing_is_closed(place, monkeypatch):
    monkeypatch.setattr(running, "HEAD_SECONDS", 0.05)
    for sent in (b"", b"POST /v1/embeddings HTTP/1.1\r\nHo"):
        with socket.create_connection(place, timeout=10) as client:
            client.sendall(sent)
            assert client.recv(100) == b""


def test_a_body_that_comes_by_the_byte_ends_with_its_connection(place, monkeypatch):
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.3)
    with socket.create_connection(place, timeout=5) as client:
        client.sendall(b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n")
        start, answer, ended = time.monotonic(), b"", False
        client.settimeout(0.05)
        while not ended and time.monotonic() < start + 5:
            with contextlib.suppress(TimeoutError, OSError):
                client.sendall(b"x")
            try:
                part = client.recv(1000)
                answer, ended = answer + part, not part
            except TimeoutError:
                continue
            except OSError:
                ended = True
        assert ended and answer.startswith(b"HTTP/1.1 408 ")


def test_one_that_takes_too_long_is_sent_away(encoder):
    with served(Server(ServedEncoder(encoder, MODEL), None, Limits(seconds=0.01, characters=10**6))) as place:
        status, answer, headers = asked(place, "POST", "/v1/embeddings", {"input": ["x y " * 5000] * 4})
        assert (status, answer["error"]["type"]) == (503, "overloaded_error") and int(headers["retry-after"])
