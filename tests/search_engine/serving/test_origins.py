"""The names that a server goes by, and what pages in a browser may ask of it."""

import gzip
import json

import pytest

pytest.importorskip("orjson")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from fixtures.servers import MODEL, asked, served

from distill.encoders.catalog.loading import load_encoder
from distill.errors import InputError
from distill.search_engine.serving.app import Server
from distill.search_engine.serving.collection import ServedEncoder
from distill.search_engine.serving.limits import Limits
from distill.search_engine.serving.origins import LOCAL, determine_origins

PAGE, OTHER, TOKEN = "http://localhost:4200", "http://evil.example", "secret"
JSON, FORM = "application/json", "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def place():
    origins = determine_origins("127.0.0.1", ["kb.example"], [PAGE])
    with served(Server(ServedEncoder(load_encoder(MODEL), MODEL), None, Limits(), (TOKEN.encode(),), origins)) as place:
        yield place


def embedded(place, **headers):
    """Status and headers of a request with these, `_` for `-`."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"Authorization": f"Bearer {TOKEN}", **headers}
    status, _, headers = asked(place, "POST", "/v1/embeddings", json.dumps({"input": "a"}).encode(), body)
    return status, headers


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("LocalHost.", 200),
        ("[::1]:8000", 200),
        ("kb.example:80", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example:8000", 421),
        ("192.168.1.2", 421),
        ("", 421),
    ],
)
def test_a_server_of_this_machine_is_asked_by_its_names_alone(place, host, status):
    for path in ("/health", "/v1/models"):
        assert asked(place, "GET", path, headers={"Host": host, "Authorization": f"Bearer {TOKEN}"})[0] == status


@pytest.mark.parametrize(
    ("target", "status"),
    [("http://localhost:8000/health", 200), ("http://evil.example/health", 421), ("http://[", 421), ("http://", 421)],
)
def test_a_target_that_is_a_whole_url_has_the_name_in_it(place, target, status):
    assert asked(place, "GET", target, headers={"Host": "localhost"})[0] == status


def test_a_server_of_a_network_is_asked_by_any_name_where_none_is_given():
    assert (
        determine_origins("0.0.0.0", [], []).hosts is None and determine_origins("127.0.0.1", ["*"], []).hosts is None
    )
    assert determine_origins("10.0.0.7", ["KB.example:8000"], []).hosts == {*LOCAL, "10.0.0.7", "kb.example"}
    assert (
        determine_origins("::1", [], []).hosts == {*LOCAL}
        and "127.0.0.2" in determine_origins("127.0.0.2", [], []).hosts
    )


@pytest.mark.parametrize(
    ("hosts", "pages"),
    [
        ([""], []),
        *(([], [page]) for page in ("page.example", f"{PAGE}/", "http://", "", "https://*.example", "HTTP://X")),
    ],
)
def test_what_is_no_name_or_no_origin_is_refused(hosts, pages):
    with pytest.raises(InputError):
        determine_origins("127.0.0.1", hosts, pages)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Content_Type": JSON}, 200),
        ({"Content_Type": f"{JSON}; charset=utf-8", "Origin": OTHER}, 200),
        # What curl calls any body.
        ({"Content_Type": FORM}, 200),
        # What a page sends without asking first.
        ({"Content_Type": FORM, "Origin": OTHER}, 415),
        ({"Content_Type": "text/plain", "Origin": OTHER}, 415),
        ({"Content_Type": "multipart/form-data; boundary=x", "Origin": OTHER}, 415),
        ({"Origin": "null"}, 415),
        ({"Content_Type": "text/plain"}, 415),
    ],
)
def test_a_body_is_said_to_be_json(place, headers, status):
    assert embedded(place, **headers)[0] == status


def test_a_compressed_body_is_refused_as_such(place):
    headers = {"Content-Encoding": "gzip", "Content-Type": JSON, "Authorization": f"Bearer {TOKEN}"}
    status, answer, _ = asked(place, "POST", "/v1/embeddings", gzip.compress(b'{"input": "a"}'), headers)
    assert (status, answer["error"]["type"]) == (415, "invalid_request_error")


def test_pages_that_are_named_may_read_answers_and_refusals(place):
    ask = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    status, _, headers = asked(place, "OPTIONS", "/v1/embeddings", headers={"Origin": PAGE, **ask})
    assert (status, headers["access-control-allow-origin"]) == (200, PAGE)
    assert "authorization" in headers["access-control-allow-headers"]
    for origin, allowed in ((PAGE, PAGE), (OTHER, None)):
        for token, expected in ((f"Bearer {TOKEN}", 200), ("", 401)):
            status, headers = embedded(place, Origin=origin, Content_Type=JSON, Authorization=token)
            assert (status, headers.get("access-control-allow-origin")) == (expected, allowed)
    status, _, headers = asked(place, "OPTIONS", "/v1/embeddings", headers={"Origin": OTHER, **ask})
    assert status == 400 and "access-control-allow-origin" not in headers
