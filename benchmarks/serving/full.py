"""Send `distill serve` the largest legal requests: who else waits, what work nobody needs, and when it ends.

    python benchmarks/serving/full.py --json full.json
    python benchmarks/serving/full.py --documents documents.jsonl --model multi12-static --json full.json

Without `--documents` the index is of 80,000 passages in 240,000 sentences, drawn from the sample's. A full request has
2,048 questions with 9 passages each. Three of them at once, and a single search each second meanwhile; three whose
clients go away, and the processor's seconds of the server afterwards; three, and SIGTERM. Then one long text after
another to a server of `multi12-ngram`, and the memory of its process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from client import gone, message, one
from load import EMBEDDINGS, SEARCH, Server

from distill.data.loading import read_dataset
from distill.data.readers import SAMPLE
from distill.system.files import require_writable, write_json

PASSAGES, SENTENCES = 80_000, 3
FULL, QUESTIONS, TOP = 3, 2048, 9
# Seconds of a part before its end is looked for, and of the work that is left behind.
BEFORE, AFTER = 5, 10
TEXTS = {"hi": "hi", "English": "The river ends here. ", "CJK": "\u57ce", "U+FDFA": "\ufdfa"}
CHARACTERS, PIECES = 20_000, 8000


def main():
    options = parse()
    require_writable(options.json)
    data = read_dataset("sample")
    questions = [one.text for those in data.questions.values() for one in those.values()]
    random.Random(0).shuffle(questions)
    figures = {"cores": os.cpu_count(), "load_before": os.getloadavg(), "model": options.model}
    with tempfile.TemporaryDirectory() as place:
        index = options.index or indexed(options, Path(place))
        figures["index"] = asyncio.run(searched(options, index, questions))
    figures["memory"] = asyncio.run(long_texts())
    figures["load_after"] = os.getloadavg()
    write_json(options.json, figures)
    print(json.dumps(figures, indent=2))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", nargs="*")
    parser.add_argument("--index", help="one that is there")
    parser.add_argument("--model", default="multi12-static")
    parser.add_argument("--json", default="full.json")
    return parser.parse_args()


def indexed(options, folder):
    documents = options.documents or [str(drawn(folder / "documents.jsonl"))]
    command = ["index", "--model", options.model, "--documents", *documents, "--output", str(folder / "kb")]
    subprocess.run([sys.executable, "-m", "distill", *command], check=True)
    return folder / "kb"


def drawn(path):
    """Draw documents of one passage each, from the sentences of the sample."""
    lines = (SAMPLE / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [passage["text"] for line in lines for passage in json.loads(line)["passages"]]
    sentences = [part for text in texts for part in text.split(". ") if 20 < len(part) < 150]
    chance = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for number in range(PASSAGES):
            text = " ".join(f"{sentence.rstrip('.')}." for sentence in chance.sample(sentences, SENTENCES))
            file.write(json.dumps({"id": str(number), "text": text}) + "\n")
    return path


def started(model, *options):
    return Server(sys.executable, "-m", "distill", "serve", model, "--port", "0", *options)


async def searched(options, index, questions):
    full = message(SEARCH, {"queries": (questions * 2)[:QUESTIONS], "top": TOP})
    single = message(SEARCH, {"query": questions[0]})
    server = started(options.model, "--index", str(index))
    card = json.loads((await one(server.place, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))[2])["index"]
    await one(server.place, single)
    figures = {**card, "alone": await singles(server, single, 10, 0.2), "mb": server.memory()}
    figures["three_at_once"] = await at_once(server, full, single)
    figures["gone"] = await left(server, full, single)
    figures["sigterm"] = await stopped(server, full)
    return figures


async def timed(place, content):
    start = time.perf_counter()
    status, _, _ = await one(place, content)
    return status, time.perf_counter() - start


async def singles(server, content, count, pause):
    answers = []
    for _ in range(count):
        answers.append(await timed(server.place, content))
        await asyncio.sleep(pause)
    seconds = [second for _, second in answers]
    statuses = sorted({status for status, _ in answers})
    return {"searches": count, "statuses": statuses, "median": statistics.median(seconds), "most": max(seconds)}


async def at_once(server, full, single):
    """The largest requests, and the seconds of single searches meanwhile."""
    tasks = [asyncio.ensure_future(timed(server.place, full)) for _ in range(FULL)]
    await asyncio.sleep(1)
    between = await singles(server, single, 20, 1)
    return {"single": between, "full": await asyncio.gather(*tasks), "mb": server.memory()}


async def left(server, full, single):
    """Seconds of a core that the server takes for clients that have gone."""
    await asyncio.gather(*(gone(server.place, full, BEFORE, False) for _ in range(FULL)))
    begun = server.core_seconds()
    await asyncio.sleep(AFTER)
    return {"core_seconds_after": server.core_seconds() - begun, "single": await timed(server.place, single)}


async def stopped(server, full):
    tasks = [asyncio.ensure_future(timed(server.place, full)) for _ in range(FULL)]
    await asyncio.sleep(BEFORE)
    start = time.perf_counter()
    code, said = await asyncio.to_thread(server.stop)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "exit_code": code, "said": said, "full": await asyncio.gather(*tasks)}


async def long_texts():
    """Status, seconds, and megabytes of the process behind each text, and at most."""
    server = started("multi12-ngram")
    figures = [{"text": "none", "mb": server.memory()}]
    for name, part in TEXTS.items():
        for characters in (PIECES, CHARACTERS):
            text = (part * characters)[:characters] if len(part) > 2 or not part.isascii() else part
            status, seconds = await timed(server.place, message(EMBEDDINGS, {"input": text}))
            figures.append({"text": name, "characters": len(text), "status": status, "seconds": seconds})
            figures[-1] |= {"mb": server.memory(), "most_mb": server.memory("VmHWM")}
    server.stop()
    return figures


if __name__ == "__main__":
    main()
