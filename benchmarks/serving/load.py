"""Put `distill serve` under load: requests per second beside Sentence-Transformers, and requests that must not harm it.

    python benchmarks/serving/load.py --python peers/bin/python --json load.json

`--python` has sentence-transformers and what `distill[serve]` brings (`peer.py`); without it that row is left out.
Questions are the sample's, in its languages, a request each, vectors in base64. The client runs on the same machine.
Harm, in rounds: a thousand requests at once, bodies that are too large, malformed ones, bytes that are no HTTP, and
clients that go away; statuses, the process's memory after each round, and whether a vector is still the same.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter
from pathlib import Path

import numpy as np
import sentencepiece
from client import gone, many, message, one

from distill.data.loading import read_dataset
from distill.data.readers import SAMPLE
from distill.system.files import require_writable, write_json

HERE = Path(__file__).resolve().parent
RELEASED = HERE.parents[1] / "distill" / "multi12-ngram" / "tokenizer.model"
EMBEDDINGS, SEARCH = "/v1/embeddings", "/v1/search"
# Clients at a time, and requests to each server.
WORKERS = {1: (300, 100), 32: (3000, 200), 1000: (5000, 1000)}
FUZZ, LEAVING = 1000, 300
WELL = {200, 400, 404, 413, 422}
VALUES = [None, True, -1, 1e308, "", " ", "\0", "\ud800", [], {}, [[]], [1, 2], ["a", 1], "x" * 30_000, ["a"] * 3000]


class Server:
    """A server in a process of its own, and its address."""

    def __init__(self, *command, **variables):
        self._process = subprocess.Popen(command, env=os.environ | variables, stderr=subprocess.PIPE, text=True)
        self.lines = []
        while not (match := re.search(r"http://([\d.]+):(\d+)/v1", self._line())):
            continue
        self.place = match[1], int(match[2])

    def _line(self):
        line = self._process.stderr.readline()
        if not line:
            sys.exit("".join(self.lines))
        self.lines.append(line)
        return line

    def memory(self, kind="VmRSS"):
        """Return the megabytes of the process; `RssAnon` counts those that are not of files."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return int(re.search(rf"{kind}:\s+(\d+)", status)[1]) / 1024

    def core_seconds(self):
        """Return the seconds of CPU time of the process, which other programs affect least."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Stop the server, and return its exit code and its output since it began."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(60), self._process.stderr.read()


def main():
    options = parse()
    require_writable(options.json)
    data = read_dataset("sample")
    texts = [one.text for questions in data.questions.values() for one in questions.values()]
    random.Random(0).shuffle(texts)
    figures = {"load_before": os.getloadavg(), "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as place:
        if not options.harm_alone:
            figures["speed"] = speed(options, texts, Path(place))
        figures["harm"] = asyncio.run(harm(texts, indexed(Path(place)), options.rounds))
        figures["full"] = asyncio.run(full(texts))
    figures["load_after"] = os.getloadavg()
    write_json(options.json, figures)
    print(f"load of the machine {figures['load_before'][0]:.1f} before, {figures['load_after'][0]:.1f} after")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--harm-alone", action="store_true")
    parser.add_argument("--json", default="load.json")
    return parser.parse_args()


def distill(*options):
    return Server(sys.executable, "-m", "distill", "serve", "multi12-ngram", "--port", "0", *options)


def peer(python, folder):
    model = sentencepiece.SentencePieceProcessor(model_file=str(RELEASED))
    pieces = [[model.id_to_piece(number), model.get_score(number)] for number in range(model.get_piece_size())]
    (folder / "pieces.json").write_text(json.dumps(pieces), encoding="utf-8")
    return Server(python, str(HERE / "peer.py"), str(folder / "pieces.json"), PYTHONWARNINGS="ignore")


def speed(options, texts, folder):
    """Measure the servers in turn, print each figure as it comes, and return the figures by server and clients."""
    servers = {"distill serve multi12-ngram": distill("--timeout", "3600")}
    if options.python:
        servers["sentence-transformers, e5-small's shape"] = peer(options.python, folder)
    rows = []
    print("| server | clients | requests | a second | p50 ms | p95 | p99 | core ms | MB | load |")
    print("|---" * 10 + "|")
    for workers, counts in WORKERS.items():
        for (name, server), count in zip(servers.items(), counts, strict=False):
            contents = requests(texts, count)
            asyncio.run(many(server.place, contents[: max(20, workers // 10)], min(workers, 20)))
            cores = server.core_seconds()
            statuses, seconds, whole = asyncio.run(many(server.place, contents, workers))
            cores = 1000 * (server.core_seconds() - cores) / count
            p50, p95, p99 = (1000 * np.percentile(seconds, (50, 95, 99))).tolist()
            row = {"server": name, "clients": workers, "requests": count, "statuses": dict(Counter(statuses))}
            row |= {
                "a_second": count / whole,
                "p50": p50,
                "p95": p95,
                "p99": p99,
                "core_ms": cores,
                "mb": server.memory(),
            }
            rows.append(row | {"load": os.getloadavg()[0]})
            told = [f"{one:.1f}" for one in (count / whole, p50, p95, p99, cores, row["mb"], os.getloadavg()[0])]
            print(f"| {name} | {workers} | {count} | {' | '.join(told)} |", flush=True)
            if set(statuses) != {200}:
                print(f"statuses: {row['statuses']}")
    for server in servers.values():
        server.stop()
    return rows


def requests(texts, count):
    bodies = (
        {"input": texts[n % len(texts)], "input_type": "query", "encoding_format": "base64"} for n in range(count)
    )
    return [message(EMBEDDINGS, body) for body in bodies]


def indexed(folder):
    command = ["index", "--model", "multi12-ngram", "--documents", str(SAMPLE / "documents.jsonl"), "--hybrid"]
    command = [sys.executable, "-m", "distill", *command, "--output", str(folder / "kb")]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return folder / "kb"


async def harm(texts, index, rounds):
    """What each round did: statuses by kind, and the memory behind it."""
    server, chance = distill("--index", str(index)), random.Random(1)
    place, figures = server.place, []
    probe = message(EMBEDDINGS, {"input": texts[0]})
    before = (await one(place, probe))[2]
    for number in range(rounds + 1):
        kinds = {
            "1,000 at once": await at_once(place, texts),
            "too large": await too_large(place),
            "malformed": await malformed(place, texts, chance),
            "no HTTP": await no_http(place, chance),
            "gone": await leaving(place, texts, chance),
        }
        figures.append({"statuses": kinds, "mb": server.memory(), "anonymous_mb": server.memory("RssAnon")})
        print(
            f"round {number}: {server.memory():.1f} MB, {server.memory('RssAnon'):.1f} anonymous; {kinds}", flush=True
        )
    same = (await one(place, probe))[2] == before
    alone = await one(place, message(SEARCH, {"query": texts[0]}))
    text = urllib.request.urlopen(f"http://{place[0]}:{place[1]}/metrics", timeout=60).read().decode()
    left = {name: float(re.search(rf"^{name} (\S+)$", text, re.MULTILINE)[1]) for name in LEFT}
    code, said = server.stop()
    print(f"same vector: {same}; search: {alone[0]}; left behind: {left}; exit code {code}; said: {said.strip()!r}")
    return {"rounds": figures, "same_vector": same, "left": left, "exit_code": code, "said": said}


LEFT = ("distill_waiting_texts", "distill_open_requests", "distill_request_bytes")


async def at_once(place, texts):
    contents = [message(SEARCH, {"query": text, "top": 3}) for text in (texts * 2)[:500]] + requests(texts, 500)
    return dict(Counter((await many(place, contents, 1000))[0]))


async def too_large(place):
    """Of each limit; a length that is said, and one that is not."""
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    contents = {
        "texts": message(EMBEDDINGS, {"input": ["a"] * 2049}),
        "characters": message(EMBEDDINGS, {"input": "a" * 20_001}),
        "body": message(EMBEDDINGS, b"x" * 8_000_001),
        "unsaid": b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        + chunk * 123
        + b"0\r\n\r\n",
        "hundred": message(EMBEDDINGS, b" " * 100_000_000),
    }
    return {name: (await one(place, content))[0] for name, content in contents.items()}


async def malformed(place, texts, chance):
    contents = [message(*mutated(texts, chance)) for _ in range(FUZZ)]
    statuses = Counter((await many(place, contents, 50))[0])
    if wrong := set(statuses) - WELL:
        print(f"unexpected: {wrong}")
    return dict(statuses)


def mutated(texts, chance):
    """Return a path, and a body for it with random changes to its values or its bytes."""
    path = chance.choice((EMBEDDINGS, SEARCH))
    names = {EMBEDDINGS: "input model encoding_format dimensions input_type", SEARCH: "query queries top where hybrid"}
    fields = {("input" if path == EMBEDDINGS else "query"): chance.choice(texts)}
    for name in chance.sample(names[path].split(), chance.randint(0, 2)):
        fields[name] = chance.choice(VALUES)
    body = bytearray(json.dumps(fields).encode())
    kind = chance.randrange(5)
    for _ in range(chance.randint(1, 8) if kind == 1 else 0):
        body[chance.randrange(len(body))] = chance.randrange(256)
    if kind == 2:
        del body[chance.randrange(len(body)) :]
    if kind == 3:
        body[chance.randrange(len(body)) : 0] = chance.randbytes(chance.randint(1, 2000))
    return path, b"[" * chance.randint(1, 200_000) if chance.random() < 0.01 else bytes(body)


async def no_http(place, chance):
    """Random bytes, heads without an end, requests with a wrong length."""
    heads = [
        b"GET /health HTTP/1.1\r\n" + b"X: " + b"y" * 100_000,
        b"POST /v1/search HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    ]
    heads += [
        b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    ]
    contents = heads + [chance.randbytes(chance.randint(1, 3000)) + b"\r\n\r\n" for _ in range(100)]
    return dict(Counter([(await one(place, content))[0] for content in contents]))


async def leaving(place, texts, chance):
    tasks = []
    for number in range(LEAVING):
        content = message(EMBEDDINGS, {"input": chance.choices(texts, k=200)})
        cut = len(content) if number % 3 else chance.randrange(1, len(content))
        tasks.append(gone(place, content[:cut], chance.random() / 2, number % 2))
    await asyncio.gather(*tasks)
    return len(tasks)


async def full(texts):
    """A thousand requests at once to a server where 50 texts may wait."""
    server = distill("--max-waiting", "50")
    contents = [message(EMBEDDINGS, {"input": [text] * 10}) for text in (texts * 3)[:1000]]
    answers = await asyncio.gather(*(one(server.place, content) for content in contents))
    statuses = Counter(answer[0] for answer in answers)
    again = all("retry-after" in headers for status, headers, _ in answers if status == 503)
    # Told to stop with requests in it.
    last = asyncio.gather(*(one(server.place, content) for content in contents[:4]))
    await asyncio.sleep(0.05)
    code, _ = await asyncio.to_thread(server.stop)
    ended = dict(Counter(answer[0] for answer in await last))
    print(f"50 may wait: {dict(statuses)}, Retry-After: {again}; stopped meanwhile: {ended}, exit code {code}")
    return {"statuses": dict(statuses), "retry_after": again, "stopped": ended, "exit_code": code}


if __name__ == "__main__":
    main()
