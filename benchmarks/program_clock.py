"""Count the programs that JAX compiles, and their seconds; this runs on earlier commits too.

    KERAS_BACKEND=jax PYTHONPATH=../earlier python benchmarks/program_clock.py --stage transfer --dataset xquad
    KERAS_BACKEND=jax python benchmarks/program_clock.py --stage transfer --dataset xquad

A program's seconds are those of its trace, of its translation and of the compiler; it is named after the function that
was compiled. Those of training are steps, those of encoding score dev; what else is compiled moves arrays, and counts
as "other". Seconds of the processor are of everything, steps too, and count where the machine has other work. Widths
are small by default, as a program's size is that of its operations and not of its arrays.
"""

import argparse
import json
import time
from collections import Counter
from dataclasses import dataclass, field

EVENTS = ("jaxpr_trace_duration", "jaxpr_to_mlir_module_duration", "backend_compile_duration")
KINDS = {"train_step": "training", "predict_step": "encoding", "one_predict_step": "encoding"}


@dataclass
class ProgramClock:
    """The programs that were compiled since it was made, and their seconds, by kind."""

    programs: Counter = field(default_factory=Counter)
    seconds: Counter = field(default_factory=Counter)

    def __post_init__(self):
        import jax

        jax.monitoring.register_event_duration_secs_listener(self.note)

    def note(self, event, seconds, **facts):
        """Add what JAX reports."""
        name = event.rsplit("/", 1)[-1]
        if name not in EVENTS:
            return
        function = str(facts.get("fun_name", "")).removeprefix("jit(").rstrip(")").removeprefix("jit_")
        kind = KINDS.get(function, "other")
        self.seconds[kind] += seconds
        self.programs[kind] += name == "backend_compile_duration"

    def figures(self):
        """Return the programs and the seconds of training, of encoding and of the rest."""
        kinds = ("training", "encoding", "other")
        return {kind: {"programs": self.programs[kind], "seconds": round(self.seconds[kind], 1)} for kind in kinds}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stage", choices=("transfer", "teach"), default="transfer")
    parser.add_argument("--dataset", default="sample")
    parser.add_argument("--size", type=int, default=32, help="questions of a step")
    parser.add_argument("--steps", type=int, default=12, help="steps of the epoch that are taken, and its last one")
    parser.add_argument("--depth", type=int, default=12)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--precision", default="float32")
    options = parser.parse_args()
    from distill.system.backend import start

    start()
    import step_clock

    from distill.data.loading import load_dataset
    from distill.settings.sections import TrainingSettings
    from distill.training.loop import fit
    from distill.training.session import Schedule, Session

    step_clock.encoder = lambda base: step_clock.transformer(options.width, options.depth, 4 * options.width)
    make = step_clock.teacher_stage if options.stage == "teach" else step_clock.student_stage
    stage = make("", load_dataset(options.dataset), options.size, Session(options=TrainingSettings(options.precision)))
    clock, began, worked = ProgramClock(), time.perf_counter(), time.process_time()
    makers, evaluate = stage.batches(1), getattr(stage, "score", stage.dev)
    fit(stage.trainer, lambda epoch: [*makers[: options.steps], makers[-1]], evaluate, Schedule(1))
    seconds = {"wall": time.perf_counter() - began, "processor": time.process_time() - worked}
    figures = {name: round(value, 1) for name, value in seconds.items()} | clock.figures()
    print(json.dumps({"stage": options.stage, "size": options.size, "depth": options.depth, **figures}))


if __name__ == "__main__":
    main()
