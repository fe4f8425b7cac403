"""The work of `distill evaluate` and `distill compare`: encoders on tasks."""

from ..errors import EncoderError, InputError
from ..system.hashes import hashes
from ..system.progress import task as progress_of
from .bias.analyses import described, measure_bias
from .paired import compare_scores, comparisons
from .tasks import RECALL, BitextTask, accuracies, paired
from .translation import SUFFIX


def measure_all(models, tasks, settings, metrics, load, samples=None, translation=None):
    """`{task: figures}` of the encoders that `models` name, as plain values: what `--json` writes.

    `samples`: `(name, {language: [text]})` that language information removal is fitted on, or None;
    `load(model)` gives the encoder that a name stands for. With a `translation`, as `translation_of`
    gives it, each encoder is measured again with translated questions, as "NAME, translated", and the task has what
    `translation.translated` says was done; what that raises is raised before anything is measured.
    """
    for task in tasks:
        if samples and task.name == "lareqa":
            require_samples(samples[1], task.pool.languages)
    encoders = {model: load(model) for model in models}
    # A wrong translation is to be found before the time of the measuring, a wrong model before that of a translator.
    asked = _translated(tasks, translation, settings.data.document_language)

    def measured(task):
        return MEASURES[task.name](encoders, task, settings, metrics, samples)

    found = {task.name: measured(task) for task in tasks}
    for name, (task, done) in asked.items():
        plain, again = found[name]["encoders"], measured(task)["encoders"]
        both = {encoder: {encoder: plain[encoder], f"{encoder}{SUFFIX}": again[encoder]} for encoder in plain}
        found[name] |= {"encoders": {key: row for pair in both.values() for key, row in pair.items()}, **done}
    return found


def _translated(tasks, translation, pivot):
    """`{task's name: (the task with translated questions, what was done)}` of the tasks that take a translation."""
    taking = [task for task in tasks if translation and task.name != BitextTask.name]
    return {task.name: task.translated(translation, pivot) for task in taking}


def require_samples(samples, languages):
    """Raise `InputError` where a language has no sample text."""
    missing = [language for language in languages if language not in samples]
    if missing:
        raise InputError(
            f"--corpus has no text in {', '.join(missing)}: LIR needs some of each language; "
            f"it has {', '.join(sorted(samples))}"
        )


def _retrieval(encoders, task, settings, metrics, samples):
    ranked = [metric for metric in metrics if not metric.startswith(RECALL)]
    found = {}
    for name, encoder in encoders.items():
        measured = _measured(task, name, encoder)
        found[name] = {"units": measured.table(ranked), "recall": measured.recalls()}
    return {"name": task.dataset.name, "split": task.split, "encoders": found, "files": dict(task.dataset.files)}


def _lareqa(encoders, task, settings, metrics, samples):
    pivot, seed = settings.data.document_language, settings.seed
    found = {name: measure_bias(encoder, task.pool, pivot, samples, name, seed) for name, encoder in encoders.items()}
    return {**described(task.pool, task.split, found), "files": hashes(task.source)}


def _bitext(encoders, task, settings, metrics, samples):
    found = {name: accuracies(_measured(task, name, encoder)) for name, encoder in encoders.items()}
    bitext = task.bitext
    return {
        "name": bitext.name,
        "pivot": bitext.pivot,
        "sentences": bitext.size,
        "encoders": found,
        "files": hashes(task.source),
    }


MEASURES = {"retrieval": _retrieval, "lareqa": _lareqa, "bitext": _bitext}


def compare_all(names, encoders, tasks, metrics, draws, seed):
    """`{metric: what paired.compare_scores found}` of two encoders over all tasks together."""
    measured = [{name: _measured(task, name, encoder) for name, encoder in encoders.items()} for task in tasks]
    pairs = {metric: _pairs(names, tasks, measured, metric) for metric in metrics}
    with progress_of(f"compare {' with '.join(names)}", sum(map(comparisons, pairs.values()))) as advance:
        return {
            metric: compare_scores(parts, metric, draws=draws, seed=seed, progress=advance)
            for metric, parts in pairs.items()
        }


def _measured(task, name, encoder):
    with progress_of(f"{task.name} {name}", task.size) as advance:
        return task.measure(encoder, advance)


def _pairs(names, tasks, measured, metric):
    a, b = names
    parts = [paired(task, of[a], of[b], metric) for task, of in zip(tasks, measured, strict=True)]
    return {part: languages for found in parts for part, languages in found.items()}


def require_one_dimension(encoders):
    """Raise `EncoderError` where the encoders, by what the user calls them, differ in dimension."""
    dimensions = {name: encoder.dimension for name, encoder in encoders.items()}
    if len(set(dimensions.values())) > 1:
        (a, first), (b, second) = dimensions.items()
        raise EncoderError(
            f"{a} has {first} dimensions and {b} has {second}, which may explain a difference; "
            "--any-dimension compares them all the same"
        )
