"""Who waits for whom: long requests beside short ones, clients that have gone, a server that stops, long texts."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fixtures.commands import environment

pytest.importorskip("orjson")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from fixtures.servers import DOCUMENTS, MODEL, asked, indexed, post, served

from distill.encoders.catalog.loading import load_encoder
from distill.search_engine.serving import running
from distill.search_engine.serving.app import Server
from distill.search_engine.serving.collection import Collection, ServedEncoder
from distill.search_engine.serving.limits import Limits, Refusal

QUESTIONS, PAUSE = 400, 0.02
FULL = {"queries": ["Nile?"] * QUESTIONS, "top": 1}


class Slow(Collection):
    """A collection that takes a moment for each question, and counts them."""

    judged = 0

    def search(self, request, vectors):
        for one in super().search(request, vectors):
            time.sleep(PAUSE)
            self.judged += 1
            yield one

    def has_begun(self, more=0):
        """Wait for so many further questions."""
        before, end = self.judged, time.monotonic() + 20
        while self.judged <= before + more and time.monotonic() < end:
            time.sleep(0.01)
        return self.judged > before + more


@pytest.fixture
def one():
    """As a server that stops has its encoder stop too, one for each."""
    return ServedEncoder(load_encoder(MODEL), MODEL)


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    return indexed(tmp_path_factory.mktemp("turns"), DOCUMENTS)


@pytest.fixture
def slow(one, kb):
    return Slow(kb, MODEL, one)


def sent(place, content):
    """A connection with a search on its way."""
    body = json.dumps(content).encode()
    client = socket.create_connection(place, timeout=30)
    client.sendall(b"POST /v1/search HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return client


def test_a_short_search_does_not_wait_for_long_ones_and_nobody_works_for_who_has_gone(one, slow):
    with served(Server(one, slow, Limits())) as place:
        # One more than there are threads.
        clients = [sent(place, FULL) for _ in range((os.cpu_count() or 1) + 1)]
        assert slow.has_begun()
        start = time.monotonic()
        assert post(place, "/v1/search", {"query": "Nile?"})[0] == 200
        # Of 8 s and more that the long ones take.
        assert time.monotonic() - start < 2 and slow.has_begun()
        for client in clients:
            client.close()
        time.sleep(0.5)
        judged = slow.judged
        time.sleep(0.5)
        assert slow.judged == judged < QUESTIONS


def test_a_long_search_is_answered_whole(one, slow):
    with served(Server(one, slow, Limits())) as place:
        status, answer = post(place, "/v1/search", FULL | {"queries": ["Nile?", "castle?"] * 8})
        assert status == 200
        assert [hits["hits"][0]["document"]["id"] for hits in answer["results"]] == ["r", "c"] * 8


def test_a_server_that_stops_refuses_what_takes_too_long(one, slow, monkeypatch):
    monkeypatch.setattr(running, "GRACE", 0.3)
    answers = []
    with served(Server(one, slow, Limits())) as place:
        work = threading.Thread(target=lambda: answers.append(asked(place, "POST", "/v1/search", FULL)))
        work.start()
        assert slow.has_begun()
        start = time.monotonic()
    work.join(20)
    [(status, answer, headers)] = answers
    assert time.monotonic() - start < 4 and slow.judged < QUESTIONS
    assert (status, answer["error"]["code"]) == (503, "busy") and headers["retry-after"]
    # Nor does its encoder go on with a batch.
    with pytest.raises(Refusal):
        one.encode(["a", "b"])


def test_a_text_of_many_pieces_is_refused_and_the_memory_of_a_long_one_given_back():
    command = [sys.executable, "-m", "distill", "serve", "multi12-ngram", "--port", "0"]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        place = process.stderr.readline().partition("://")[2].partition("/")[0].split(":")

        def memory():
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
            return int(status.partition("VmRSS:")[2].split()[0]) / 1024

        try:
            for text, expected in (("\ufdfa" * 20_000, 413), ("\u57ce" * 20_000, 413), ("\u57ce" * 8000, 200)):
                status, answer = post(place, "/v1/embeddings", {"input": text})
                assert status == expected and (status == 200 or answer["error"]["code"] == "too_large")
            if Path("/proc/self/status").exists():
                # 140 before, 360 while the last one is encoded.
                assert memory() < 300
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
