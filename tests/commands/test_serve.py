"""`distill serve` in a process of its own."""

import json
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from fixtures.commands import environment

for package in ("orjson", "starlette", "uvicorn"):
    pytest.importorskip(package)

MODEL = "multi12-static"


def test_it_serves_until_it_is_told_to_stop(tmp_path):
    (tmp_path / "token").write_text("secret\n", encoding="ascii")
    command = [sys.executable, "-m", "distill", "serve", MODEL, "--port", "0", "--name", "small"]
    options = {"env": environment(), "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, "--token-file", str(tmp_path / "token")], **options) as process:
        name, _, address = process.stderr.readline().strip().partition(": ")
        request = urllib.request.Request(f"{address}/embeddings", json.dumps({"input": "Wo?"}).encode())
        request.add_header("Authorization", "Bearer secret")
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert len(json.load(answer)["data"][0]["embedding"]) == 512 and name == "small"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0 and process.stderr.read() == ""


def test_what_is_not_there_is_said_in_a_line(refused, distill, tmp_path, monkeypatch):
    assert "none" in refused("serve", "none")
    assert "index.bin" in refused("serve", MODEL, "--port", "0", "--index", tmp_path)
    assert str(tmp_path / "token") in refused("serve", MODEL, "--token-file", tmp_path / "token")
    assert "--host" in refused("serve", MODEL, "--host", "no such host")
    assert "--max-body" in refused("serve", MODEL, "--max-body", "1")
    assert "--cors-origin" in refused("serve", MODEL, "--port", "0", "--cors-origin", "example.org")
    monkeypatch.setenv("DISTILL_TOKEN", " ")
    assert "DISTILL_TOKEN" in refused("serve", MODEL)
    monkeypatch.delenv("DISTILL_TOKEN")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        left = distill("serve", MODEL, "--port", port)
    assert left.code == 1 and left.is_one_error and str(port) in left.err


def test_an_index_of_another_space_is_refused(refused, distill, tmp_path):
    (tmp_path / "a.txt").write_text("The castle is of stone.", encoding="utf-8")
    assert distill("index", "--model", MODEL, "--documents", tmp_path / "a.txt", "--output", tmp_path / "kb").code == 0
    assert "kb" in refused("serve", "multi12-transformer", "--port", "0", "--index", tmp_path / "kb")
