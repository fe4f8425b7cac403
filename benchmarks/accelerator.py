"""Measure stage 2 by backend and device: texts and tokens per second, compilation, the share of the host, and memory.

    python benchmarks/accelerator.py --dataset xquad --json benchmarks/accelerator.json --docs benchmarks/README.md
    python benchmarks/accelerator.py --backends jax --base transformer --dataset xquad --against ../earlier

A row is a backend of Keras, a device, the precision of the layers over tokens and the questions of a step; each is a
process of its own, of mUSE's network by default, as the papers train it. What a step's time and the host's share of it
are says `step_clock.py`. Memory is the device's at its peak, that of the process on a processor. Ten epochs are the
student of the papers: all steps of ten epochs in all languages of the data, each scored on dev, from the times that
were measured. A GPU that a backend sees has rows beside the processor's; where it sees none the row says so, and
nothing is claimed of one. `--docs` writes the table into a page, between the lines "<!-- accelerator -->" and
"<!-- /accelerator -->".
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from distill.system.files import require_writable, write_json, write_text
from distill.system.input_files import read_text
from distill.system.progress import say

PRECISIONS = ("float32", "mixed_bfloat16")
EPOCHS = 10
MARKS = "<!-- accelerator -->", "<!-- /accelerator -->"
PROBE = """
import sys
from distill.system.backend import chosen_backend, start
from distill.system.device import describe_device, sees_gpu
start()
print(describe_device()["device"], sees_gpu(chosen_backend()), sep="|")
"""
# No backend sees a GPU with these.
PROCESSOR = {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
HEADS = ("backend", "device", "precision", "questions a step", "texts a second", "step, ms", "of the processor, ms")
HEADS += ("host's share", "memory, MiB", "ten epochs, h", "compilation, s", "tokens a second", "of the peak", "busy")
HEADS += ("plain step, ms",)
NOT_RUN = "not yet run"


def main():
    options = parse()
    if options.measure:
        print(json.dumps(measured(options, *options.measure.split(","))))
        return
    require_writable(options.json)
    rows = []
    kept = {"base": options.base, "dataset": Path(options.dataset).name, "steps": options.steps, "rows": rows}
    print("\n".join(table([])), flush=True)
    for backend in options.backends.split(","):
        for row in rows_of(backend, options):
            rows.append(row)
            print(table([row])[-1], flush=True)
            write_json(options.json, {**kept, "load": os.getloadavg()})
    lines = table(rows)
    if options.against:
        kept["programs"] = compare_programs(options)
        write_json(options.json, {**kept, "load": os.getloadavg()})
    if options.docs:
        write_docs(Path(options.docs), lines)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backends", default="tensorflow,jax")
    parser.add_argument("--base", default="muse", help="the encoder that is trained")
    parser.add_argument("--dataset", default="sample")
    parser.add_argument("--sizes", default="32,128,512", help="questions of a step")
    parser.add_argument("--steps", type=int, default=6, help="steps that are measured")
    parser.add_argument("--json", default="accelerator.json")
    parser.add_argument("--against", help="a checkout of an earlier commit, whose compilation stands beside")
    parser.add_argument("--docs", help="the page that gets the table")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.steps < 2:
        parser.error(f"--steps: expected at least 2, got {options.steps}")
    return options


def rows_of(backend, options):
    """Yield the rows of a backend: those of its GPU, or a single one without figures, then those of the processor."""
    device, is_gpu = probed(backend, {})
    if is_gpu:
        yield from measured_rows(backend, device, {}, options)
    else:
        say(f"{backend} sees no GPU: its rows are not run")
        yield {"backend": backend, "device": "GPU", "precision": None}
    processor, _ = probed(backend, PROCESSOR)
    yield from measured_rows(backend, processor, PROCESSOR, options)


def probed(backend, environment):
    """Return the name of the device that the backend computes on, and True beside it if it is a GPU."""
    everything = {**os.environ, **environment, "KERAS_BACKEND": backend}
    out = subprocess.run([sys.executable, "-c", PROBE], env=everything, capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"error: Keras does not start on {backend}: {out.stderr.strip().splitlines()[-1]}")
    name, is_gpu = out.stdout.strip().splitlines()[-1].split("|")
    return name, is_gpu == "True"


def measured_rows(backend, device, environment, options):
    for precision in reversed(PRECISIONS):
        for size in sorted(options.sizes.split(","), key=int, reverse=True):
            say(f"{backend}, {device}, {precision}, {size} questions a step")
            command = [sys.executable, __file__, "--base", options.base, "--dataset", options.dataset]
            command += ["--steps", str(options.steps), "--measure", f"{precision},{size}"]
            everything = {**os.environ, **environment, "KERAS_BACKEND": backend}
            out = subprocess.run(command, env=everything, stdout=subprocess.PIPE, text=True)
            if out.returncode:
                sys.exit(f"error: {precision} with {size} questions on {device} failed; its message stands above")
            figures = json.loads(out.stdout.strip().splitlines()[-1])
            figures["peak"] = share_of_peak(figures, device)
            yield {"backend": backend, "device": device, "precision": precision, "size": int(size), **figures}


def share_of_peak(figures, device):
    """Return the share of what the device could compute, or None if that is not known."""
    from device_load import peak_of

    peak = peak_of(device)
    return peak and round(6 * figures["weights"] * figures["tokens a second"] / peak, 4)


def compare_programs(options):
    """Print and return the programs of both stages by checkout, which run side by side, without kept programs."""
    found = []
    for stage in ("transfer", "teach"):
        running = []
        for folder in (Path(options.against).resolve(), Path(__file__).resolve().parents[1]):
            command = [sys.executable, str(Path(__file__).with_name("program_clock.py")), "--stage", stage]
            command += ["--dataset", options.dataset]
            off = {"KERAS_BACKEND": "jax", "JAX_ENABLE_COMPILATION_CACHE": "false", "PYTHONPATH": str(folder)}
            process = subprocess.Popen(command, env={**os.environ, **off}, stdout=subprocess.PIPE, text=True)
            running.append((folder.name, process))
        for name, process in running:
            out, _ = process.communicate()
            if process.returncode:
                sys.exit(f"error: the programs of {stage} of {name} were not counted; its message stands above")
            found.append({"checkout": name, **json.loads(out.strip().splitlines()[-1])})
            print(json.dumps(found[-1]), flush=True)
    return found


def measured(options, precision, size):
    """Return figures of this process's device."""
    from device_load import DeviceLoad
    from program_clock import ProgramClock
    from step_clock import student_stage, timed_steps

    from distill.data.loading import load_dataset
    from distill.settings.sections import TrainingSettings
    from distill.system.backend import chosen_backend, start
    from distill.training.session import Session

    start()
    on_jax, load, window = chosen_backend() == "jax", DeviceLoad(), []
    programs = ProgramClock() if on_jax else None
    session = Session(options=TrainingSettings(precision=precision))
    stage = student_stage(options.base, load_dataset(options.dataset), int(size), session)
    figures, memory = timed_steps(stage, options.steps, window), peak()
    stage.dev()
    began = time.perf_counter()
    stage.dev()
    seconds = time.perf_counter() - began
    hours = ten_epochs(figures["step"], len(stage.batches(1)), seconds)
    more = {"busy": load.busy(*window), "programs": programs and programs.figures()}
    more |= {"tokens a second": round(1000 * figures["real tokens"] / figures["step"]), "weights": of_tokens(stage)}
    if on_jax and options.base == "transformer":
        more |= limit(stage, figures["real tokens"], precision)
    return {**figures, "memory": memory, "scored": round(seconds, 2), "hours": hours, **more}


def of_tokens(stage):
    """Return the number of weights that each token goes through, which leaves out the table's."""
    return sum(layer.count_params() for layer in stage.used.small.token_layers)


def limit(stage, tokens, precision):
    """Return the figures of a plain step of the same sizes."""
    from plain_step import timed_plain

    small = stage.used.small
    sizes = {"width": small.width, "depth": small.depth, "heads": small.heads, "inner": small.inner}
    return timed_plain(tokens, sizes, precision, small.vocabulary)


def ten_epochs(step, steps, seconds):
    """Return the hours of `EPOCHS` epochs from milliseconds per step and seconds per scoring."""
    return round(EPOCHS * (steps * step / 1000 + seconds) / 3600, 2)


def peak():
    """Return the peak memory of the device in MiB, or that of the process if the device is the processor."""
    from distill.system.backend import chosen_backend
    from distill.system.device import sees_gpu

    backend = chosen_backend()
    if not sees_gpu(backend):
        return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    library = sys.modules[backend]
    if backend == "tensorflow":
        return round(library.config.experimental.get_memory_info("GPU:0")["peak"] / 2**20)
    if backend == "jax":
        return round(library.devices()[0].memory_stats()["peak_bytes_in_use"] / 2**20)
    return round(library.cuda.max_memory_allocated() / 2**20)


def table(rows):
    lines = [HEADS, ("---",) * len(HEADS), *map(cells, rows)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def cells(row):
    if row["precision"] is None:
        return row["backend"], row["device"], *(NOT_RUN,) * (len(HEADS) - 2)
    times = *(f"{row[name]:.0f}" for name in ("texts a second", "step", "processor")), f"{100 * row['share']:.1f} %"
    named = row["backend"], row["device"], row["precision"], str(row["size"])
    programs, plain, busy = (row.get(name) for name in ("programs", "plain", "busy"))
    compiled = f"{programs['training']['seconds'] + programs['encoding']['seconds']:.0f}" if programs else "–"
    rate = f"{row['tokens a second']:,}" if "tokens a second" in row else "–"
    shares = ("–" if share is None else f"{100 * share:.1f} %" for share in (row.get("peak"), busy))
    of_step = *times, f"{row['memory']:,}", f"{row['hours']:.1f}"
    return *named, *of_step, compiled, rate, *shares, f"{plain:.0f}" if plain else "–"


def write_docs(page, lines):
    """Put the table between the page's marks."""
    before, _, rest = read_text(page).partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    if not rest:
        sys.exit(f"error: {page}: no line {MARKS[0]} in it; write it and {MARKS[1]} where the table is to stand")
    write_text(page, "\n".join([before + MARKS[0], "", *lines, "", MARKS[1] + after]))


if __name__ == "__main__":
    main()
