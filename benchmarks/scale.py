"""Measure time and memory of mining and evaluation against the size of the data, with vectors on disk.

    python benchmarks/scale.py --folder scale --results scale.jsonl --docs benchmarks/README.md

For each of `--sizes`, questions x passages, clustered unit vectors of `--dimension` numbers are made up on disk and
mapped into memory. Each measurement is a process of its own and a line of `--results`; what is there already is not
measured again. Memory is what /proc says of the process, at its peak: its own (anonymous, looked at every 20 ms), and
all of it, pages of mapped files within. A measurement above `CEILING` fails. `--docs` writes the table into a page,
between the lines "<!-- scale -->" and "<!-- /scale -->", and a picture beside the page. Linux only.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from distill.errors import DistillError, InputError
from distill.system.device import machine
from distill.system.files import require_writable, write_aside, write_text
from distill.system.input_files import iter_jsonl, read_jsonl, read_text
from distill.system.progress import say, task

SIZES = "10000x100000,31600x316000,100000x1000000"
CEILING = 4 * 2**30
NEGATIVES, MARGIN = 3, 0.3
# Passages a document, documents a topic; lengths of what is random in a vector beside its topic, of length 1.
PASSAGES, DOCUMENTS = 8, 12
APART, ASKED = 0.5, 2.0
# Vectors that are made at once; letters of a line of JSON.
BLOCK, LETTERS = 16384, 1000
# Pairs of a question and a passage up to which documents are mined by their best passages.
MOST = 10**10
MARKS = "<!-- scale -->", "<!-- /scale -->"
COLOURS = ("#184e86", "#e0a030", "#2f7fd0", "#7a9a3a", "#9a5aa0", "#9aa5b1")


def main():
    options = parse()
    if options.measure:
        print(json.dumps(measured(options.measure, options.sizes[0], options)))
        return
    require_writable(options.results)
    failed = [name for size in options.sizes for name in asked(size, options) if not known(name, size, options)]
    rows = [row for size in options.sizes for row in rows_of(size, options)]
    lines = table(rows)
    print("\n".join(lines))
    if options.docs:
        write_docs(Path(options.docs), lines, rows)
    above = [f"{row['what']}, {sized(row)}" for row in rows if row["peak"] > CEILING]
    print(f"above {CEILING / 2**30:.0f} GiB: {'; '.join(above) or 'none'}")
    if failed or above:
        sys.exit(1)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=sizes, default=SIZES, help="questions x passages [default: %(default)s]")
    parser.add_argument("--dimension", type=int, default=512)
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=list(MEASURES), help="of the measurements")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default="scale", help="for the vectors: 3.3 GB of the largest of these sizes")
    parser.add_argument("--results", default="scale.jsonl")
    parser.add_argument("--docs", help="a page to write the table into")
    parser.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    return parser.parse_args()


def sizes(text):
    found = [tuple(int(part) if part.isdecimal() else 0 for part in size.split("x")) for size in text.split(",")]
    if not all(len(size) == 2 and PASSAGES <= size[0] <= size[1] for size in found):
        raise argparse.ArgumentTypeError(f"expected sizes such as 1000x10000,2000x20000, got {text}")
    return found


# Data


def folder_of(size, options):
    return Path(options.folder) / f"{size[0]}x{size[1]}x{options.dimension}-{options.seed}"


def make(size, options):
    """Write passages about topics, questions near one passage each, and as many lines of JSON.

    Nothing is left half-written.
    """
    questions, passages = size
    random, folder = np.random.default_rng(options.seed), folder_of(size, options)
    if folder.is_dir():
        return
    topics = unit(random.normal(size=(1 + passages // (PASSAGES * DOCUMENTS), options.dimension)))
    of_document = random.integers(len(topics), size=1 + passages // PASSAGES)
    gold = random.permutation(passages)[:questions]
    with write_aside(folder) as aside, task(f"make {folder.name}", questions + passages) as advance:
        aside.mkdir()
        np.save(aside / "gold.npy", gold)
        about = topics[of_document]
        made = write_rows(aside / "passages.npy", about, np.arange(passages) // PASSAGES, APART, random, advance)
        write_rows(aside / "questions.npy", made, gold, ASKED, random, advance)
        with open(aside / "lines.jsonl", "w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps({'id': str(row), 'text': 'x' * LETTERS})}\n" for row in range(passages))


def write_rows(path, means, rows, noise, random, advance):
    """Write float32 unit vectors near the rows of `means` to a file, and return it mapped."""
    found = np.lib.format.open_memmap(path, "w+", np.float32, (len(rows), means.shape[1]))
    for start in range(0, len(rows), BLOCK):
        near = means[rows[start : start + BLOCK]]
        found[start : start + BLOCK] = unit(near + noise * unit(random.normal(size=near.shape)))
        advance(len(near))
    found.flush()
    return found


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Data:
    """The generated data, mapped into memory."""

    def __init__(self, size, options):
        self.folder = folder_of(size, options)
        self.questions, self.passages, gold = (
            np.load(self.folder / f"{name}.npy", mmap_mode="r") for name in ("questions", "passages", "gold")
        )
        self.gold, self.document_of = np.array(gold), np.arange(len(self.passages)) // PASSAGES
        # No passage of a question's own document may be a negative.
        own = PASSAGES * (self.gold[:, None] // PASSAGES) + np.arange(PASSAGES)
        rows, columns = np.nonzero(own < len(self.passages))
        self.forbidden = rows, own[rows, columns]


# Measurements: each takes the data and returns what is to be noted


def mine(data):
    from distill.training.stages.negatives import mine_online_negatives

    negatives = mine_online_negatives(data.questions, data.passages, data.gold, data.forbidden, NEGATIVES, MARGIN)
    return {"mined": share(negatives)}


def mine_documents(data):
    from distill.training.stages.negatives import draw_negatives, mine_maxp_candidates

    of = data.questions, data.passages, data.document_of, data.gold, data.forbidden
    return {"mined": share(draw_negatives(mine_maxp_candidates(*of, NEGATIVES, MARGIN)[1], NEGATIVES, 0))}


def rank_passages(data):
    return {"p@1": ranked(data, "passage")}


def rank_documents(data):
    return {"p@1": ranked(data, "maxp")}


def ranked(data, of):
    from distill.retrieval.units import ranks_of

    vectors, whole_of = {"passage": data.passages}, {"passage": data.document_of}
    return float(np.mean(ranks_of(of, data.questions, vectors, data.gold, whole_of) == 1))


def read_lines(data):
    return {"letters": sum(len(row["text"]) for _, row in iter_jsonl(data.folder / "lines.jsonl"))}


def share(negatives):
    """Return the share of the wanted negatives that exist."""
    return float(np.mean(negatives >= 0))


MEASURES = {
    "exact mining": mine,
    "MaxP mining": mine_documents,
    "ranks, passages": rank_passages,
    "ranks, MaxP": rank_documents,
    "JSON lines": read_lines,
}


class Watch:
    """The peak of the process's own memory, which a thread observes."""

    def __init__(self):
        self.peak, self._stop = 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self):
        while not self._stop.wait(0.02):
            self.peak = max(self.peak, status("RssAnon"))

    def stop(self):
        self._stop.set()
        self._thread.join()
        return max(self.peak, status("RssAnon"))


def status(name):
    """Return the bytes in a line of /proc/self/status."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    raise InputError(f"no {name} in /proc/self/status; this benchmark is for Linux")


def memory():
    return {"peak": status("VmHWM")}


def measured(name, size, options):
    """Measure in this process and return the line."""
    if "mining" in name:
        # Here, as its seconds are none of the measurement's.
        import distill.training.stages.negatives  # noqa: F401
    data, before, watch = Data(size, options), status("RssAnon"), Watch()
    began, spent = time.perf_counter(), time.process_time()
    found = MEASURES[name](data)
    took = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - spent}
    note = {**took, "own": watch.stop(), "before": before, **memory(), **found}
    return {**key(name, size, options), **note, "threads": threads(), "machine": machine()}


def threads():
    return int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0)))


def key(name, size, options):
    return {
        "what": name,
        "questions": size[0],
        "passages": size[1],
        "dimension": options.dimension,
        "seed": options.seed,
    }


# Results


def asked(size, options):
    """Return the measurements of a size. Beyond `MOST` documents nothing is mined, as ranks show the same."""
    return [name for name in options.only if name != "MaxP mining" or size[0] * size[1] <= MOST]


def rows_of(size, options):
    """Return the lines of a size's measurements in order; of repeated ones the last counts."""
    path = Path(options.results)
    lines = [row for _, row in read_jsonl(path)] if path.is_file() else []
    found = {row["what"]: row for row in lines if key(row["what"], size, options).items() <= row.items()}
    return [found[name] for name in MEASURES if name in found]


def known(name, size, options):
    """Measure what is not there yet, and return True if the measurement exists now."""
    if any(row["what"] == name for row in rows_of(size, options)):
        return True
    make(size, options)
    shape = "x".join(map(str, size))
    command = [sys.executable, __file__, "--measure", name, "--sizes", shape, "--folder", options.folder]
    command += ["--dimension", str(options.dimension), "--seed", str(options.seed)]
    with task(f"{name}, {shape}", 1) as advance:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        advance()
    if done.returncode:
        say(f"{name}, {shape}: failed with exit code {done.returncode}")
        return False
    with open(options.results, "a", encoding="utf-8") as file:
        file.write(done.stdout.splitlines()[-1] + "\n")
    return True


def slope(rows):
    """Fit log CPU seconds against log (questions x passages) by least squares; return None for one size.

    Other work on the machine makes a measurement last longer, but hardly dearer.
    """
    if len({cells(row) for row in rows}) < 2:
        return None
    return float(np.polyfit(np.log([cells(row) for row in rows]), np.log([row["cpu"] for row in rows]), 1)[0])


def cells(row):
    return row["questions"] * row["passages"]


def sized(row):
    return f"{row['questions']:,} x {row['passages']:,}"


def by_name(rows):
    return {name: found for name in MEASURES if (found := [row for row in rows if row["what"] == name])}


def table(rows):
    """Return lines of Markdown: one row per measurement, then the slopes."""
    lines = [
        "| what | questions x passages | CPU seconds | seconds | own memory, MiB | with mapped files, MiB |",
        "|---|---|---|---|---|---|",
    ]
    for found in by_name(rows).values():
        lines += [line(row) for row in found]
    slopes = {name: slope(found) for name, found in by_name(rows).items()}
    told = ", ".join(f"{name} {value:.2f}" for name, value in slopes.items() if value is not None)
    if told:
        lines += ["", f"Slope of log(CPU seconds) against log(questions x passages): {told}."]
    if rows:
        most = max(row["peak"] for row in rows)
        lines += ["", f"At most {most / 2**30:.2f} GiB of {CEILING / 2**30:.0f}. {where(rows)}."]
    return lines


def line(row):
    used = " | ".join(f"{row[name] / 2**20:,.0f}" for name in ("own", "peak"))
    return f"| {row['what']} | {sized(row)} | {row['cpu']:,.1f} | {row['seconds']:,.1f} | {used} |"


def where(rows):
    told = "{dimension} dimensions, seed {seed}, threads: {threads}, {machine}"
    of = {told.format(**row) for row in rows}
    return "; ".join(sorted(of))


def write_docs(page, lines, rows):
    """Write the table between the page's marks, and the picture beside the page."""
    text, (first, last) = read_text(page), MARKS
    if first not in text or last not in text:
        raise InputError(f"{page}: expected the lines {first} and {last}, with the table between them")
    head, tail = text.split(first)[0], text.split(last)[1]
    picture = page.with_suffix(".svg")
    write_picture(picture, rows)
    lines = [*lines, "", f"![CPU seconds and memory against questions x passages]({picture.name})"]
    write_text(page, "\n".join([head + first, "", *lines, "", last + tail]))


def write_picture(path, rows):
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "distill", "font.size": 9}), write_aside(path) as aside:
        draw(by_name(rows)).savefig(aside, format="svg", metadata={"Date": None})


def draw(measures):
    """Draw seconds and the peak of memory against questions x passages; both axes are logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for (name, rows), colour in zip(measures.items(), COLOURS, strict=False):
        sizes, value = [cells(row) for row in rows], slope(rows)
        label = name if value is None else f"{name}, slope {value:.2f}"
        left.loglog(sizes, [row["cpu"] for row in rows], "o-", color=colour, label=label)
        right.loglog(sizes, [row["own"] / 2**20 for row in rows], "o-", color=colour)
        right.loglog(sizes, [row["peak"] / 2**20 for row in rows], "o:", mfc="none", color=colour)
    right.axhline(CEILING / 2**20, color="black", lw=0.8)
    right.set_title("own memory; dotted: with mapped files; line: ceiling", fontsize=9)
    for axes, what in ((left, "CPU seconds"), (right, "MiB at the peak")):
        axes.set_xlabel("questions x passages")
        axes.set_ylabel(what)
        axes.grid(alpha=0.3)
    figure.legend(frameon=False, loc="outside lower center", ncols=3)
    right.set_ylim(top=2 * CEILING / 2**20)
    return figure


if __name__ == "__main__":
    try:
        main()
    except DistillError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
