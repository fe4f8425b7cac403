"""Stop `distill index --sync` at random moments: the next one has to give the bytes of a fresh index.

    mount -t tmpfs -o size=16m tmpfs small
    python benchmarks/indexing/kill_sync.py small --kills 200 --full 20 --json kill_sync.json

A case is a folder of files in three states, each with some documents fewer, more, changed and in another file than
before. The index is of the first state, the second one is synced by a process that is stopped, and the third one is
synced in peace. A moment is one of the calls and returns of functions of a whole sync, Python's and C's, so it does
not depend on what else the machine does. Half of the kills (SIGKILL) are at any of them, half at those from the write
of the first file on. For a full disk the rest of FOLDER's is filled but for a random part of what the command takes;
give it a small one of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
from collections import Counter
from functools import cache
from pathlib import Path

from distill.search_engine.indexing import building
from distill.search_engine.indexing.building import IndexChange, IndexSettings, build_index
from distill.search_engine.indexing.index_file import FILE
from distill.search_engine.indexing.sources import SOURCES, Sources
from distill.system.files import write_json

STATES, FILES, DOCUMENTS = ("first", "second", "third"), 3, 24
# Of the documents, in each new state: fewer, changed, in another file, and so many new ones.
SHARE = 0.1
PAGE = 4096


def main():
    options = parse()
    # What is opened and imported here, all processes have, which are forked.
    building.load_encoder = cache(building.load_encoder)
    building.weights_fingerprint = cache(building.weights_fingerprint)
    rng, rows = random.Random(options.seed), []
    cases = [Case(options.folder / f"case{number}", options.model, rng) for number in range(options.cases)]
    for number in range(options.kills + options.full):
        case = cases[number % len(cases)]
        kind = "disk full" if number >= options.kills else ("any moment", "while writing")[number // len(cases) % 2]
        rows.append({"stop": kind, **case.attempt(kind, rng)})
        table = summarise(rows)
        write_json(options.json, {"model": options.model, "seed": options.seed, "table": table, "attempts": rows})
    show(table)
    raise SystemExit(any(not row["same bytes"] or not row["whole"] for row in rows))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--full", type=int, default=20)
    parser.add_argument("--cases", type=int, default=5)
    parser.add_argument("--model", default="multi12-static")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", default="kill_sync.json")
    return parser.parse_args()


class Case:
    """Three states of a folder, and the two files of a fresh index of each."""

    def __init__(self, place: Path, model: str, rng: random.Random) -> None:
        self.place, self.model = place, model
        self.documents, self.kb = place / "documents", place / "kb"
        self.documents.mkdir(parents=True)
        self.states = [{f"r{n}": (rng.randrange(FILES), 0) for n in range(DOCUMENTS)}]
        while len(self.states) < len(STATES):
            self.states.append(_change(self.states[-1], len(self.states), rng))
        self.fresh = {}
        self._write("first")
        self._sync(self.kb)
        for state in STATES:
            self._write(state)
            require(fork(self._sync, place / state))
            self.fresh[state] = _content(place / state)
        self._begin()
        require(fork(self._count))
        # The moments of a sync, and the first at which it writes.
        self.moments, self.late = map(int, (place / "moments").read_text().split())
        self.bytes = sum(len(content) for content in self.fresh["second"])

    def attempt(self, kind, rng):
        """Return what a stopped sync left, and whether the next one made it good."""
        self._begin()
        if kind == "disk full":
            filler = _fill(self.place.parent / "filler", PAGE * rng.randrange(3 * self.bytes // PAGE))
            code = fork(self._sync, self.kb)
            filler.unlink()
        else:
            code = fork(self._stop, rng.randrange(self.late if kind == "while writing" else 0, self.moments))
        index, sources = _content(self.kb)
        said = [state for state in STATES[:2] if index == self.fresh[state][0]]
        named = [state for state in STATES[:2] if sources == self.fresh[state][1]]
        self._write("third")
        again = fork(self._sync, self.kb)
        return {
            "stopped": code != 0,
            "whole": bool(said),
            "index": (said or ["broken"])[0],
            "sources": (named or ["both"])[0],
            "same bytes": again == 0 and _content(self.kb) == self.fresh["third"],
        }

    def _begin(self):
        shutil.rmtree(self.kb, ignore_errors=True)
        shutil.copytree(self.place / "first", self.kb)
        self._write("second")

    def _write(self, state):
        documents = self.states[STATES.index(state)]
        for file in range(FILES):
            rows = [_row(id, version) for id, (place, version) in documents.items() if place == file]
            (self.documents / f"{file}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def _sync(self, kb):
        build_index(kb, IndexChange([self.documents], synced=True), self.model, IndexSettings(language="en"))

    def _count(self):
        """Sync, and write down how many moments that has, and which is the first that writes."""
        moments, late = 0, 0

        def look(frame, event, value):
            nonlocal moments, late
            moments += 1
            if not late and frame.f_code is Sources.join.__code__:
                late = moments

        sys.setprofile(look)
        self._sync(self.kb)
        sys.setprofile(None)
        (self.place / "moments").write_text(f"{moments} {late}")

    def _stop(self, moment):
        """Sync, and be killed at a moment."""

        def look(frame, event, value):
            nonlocal moment
            moment -= 1
            if moment < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(look)
        self._sync(self.kb)


def _change(state, number, rng):
    changed = {}
    for id, (place, version) in state.items():
        luck = rng.random() / SHARE
        if luck >= 1:
            changed[id] = (rng.randrange(FILES) if luck < 2 else place, version + (2 <= luck < 3))
    return changed | {f"n{number}-{n}": (rng.randrange(FILES), 0) for n in range(int(DOCUMENTS * SHARE))}


def _row(id, version):
    return {"id": id, "text": f"The river {id} has a bridge of stone. It was built {version} times, and it is old."}


def _content(kb):
    return tuple((kb / name).read_bytes() for name in (FILE, SOURCES))


def _fill(path, room):
    """Fill the disk of a path but for some bytes."""
    free = shutil.disk_usage(path.parent).free
    path.write_bytes(bytes(max(free - room, 0)))
    return path


def fork(call, *values):
    """Run a call in a process of its own, without its messages, and return how it ended: 0 if it did well."""
    if process := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        call(*values)
        os._exit(0)
    finally:
        os._exit(1)


def require(code):
    """Raise `SystemExit` if a process that nothing stops did not do well."""
    if code:
        raise SystemExit(f"a sync that nothing stops ended with {code}")


def summarise(rows):
    """Return the counts by kind."""
    table = []
    for kind in dict.fromkeys(row["stop"] for row in rows):
        those = [row for row in rows if row["stop"] == kind]
        counts = {"stop": kind, "syncs": len(those), "stopped": sum(row["stopped"] for row in those)}
        for name, other in (("index", "broken"), ("sources", "both")):
            of = Counter(row[name] for row in those)
            counts |= {f"{name} {value}": of[value] for value in (*STATES[:2], other)}
        table.append(counts | {"next has the bytes of a fresh index": sum(row["same bytes"] for row in those)})
    return table


def show(table):
    """Print the table."""
    names = list(table[0])
    for line in (names, ["---"] * len(names), *([str(row[name]) for name in names] for row in table)):
        print(f"| {' | '.join(line)} |")


if __name__ == "__main__":
    main()
