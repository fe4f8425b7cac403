"""Several runs beside each other: their figures, what they differ in, and whether they may be compared at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar

from ..system.types import File, Json
from .charts import ENCODERS, draw_runs_chart
from .page import flatten, write_page
from .verdicts import BAD, EVEN, GOOD, Verdict, list_units

# The content of each run's `metrics.json`, by the run's name.
RunMetrics: TypeAlias = Mapping[str, Mapping[str, Json]]
Value = TypeVar("Value")


class Measured(Protocol):
    """A finished run: its folder and the content of its `metrics.json`."""

    @property
    def folder(self) -> Path: ...

    @property
    def metrics(self) -> Mapping[str, Json]: ...


def write_comparison(path: File, runs: Sequence[Measured]) -> None:
    """Write one page that compares finished runs."""
    named = dict(zip(name_runs(runs), (run.metrics for run in runs), strict=True))
    split, common = find_shared_split(named), list_shared_languages(named)
    units = list_shared_units(named) if split else []
    means = {unit: compute_means(named, split, unit, common) for unit in units}
    data = judge_data(named)
    write_page(
        path,
        "comparison.html.j2",
        runs=named,
        split=split,
        languages=unite_languages(named),
        common=common,
        charts={unit: draw_runs_chart(means[unit], f"mean P@1, {split}, unit {unit}") for unit in units if common},
        rows={unit: make_rows(named, split, unit, means[unit]) for unit in units},
        data=data,
        settings=select_differing({name: flatten(metrics["settings"]) for name, metrics in named.items()}),
        versions=select_differing({name: metrics.get("versions") or {} for name, metrics in named.items()}),
        files=transpose(collect_files(named)),
        lareqa=any(metrics.get("lareqa") for metrics in named.values()),
    )


def name_runs(runs: Sequence[Measured]) -> list[str]:
    """Return the folders' names, or their paths if two names are alike."""
    names = [run.folder.resolve().name for run in runs]
    return names if len(set(names)) == len(names) else [os.fspath(run.folder) for run in runs]


def find_shared_split(named: RunMetrics) -> str:
    """Return the split that all runs have measured, test before dev; empty if there is none."""
    both = set.intersection(*(set(metrics["splits"]) for metrics in named.values()))
    return next((split for split in ("test", "dev") if split in both), "")


def list_shared_units(named: RunMetrics) -> list[str]:
    first, *others = (list_units(metrics) for metrics in named.values())
    return [unit for unit in first if all(unit in other for other in others)]


def unite_languages(named: RunMetrics) -> list[str]:
    """Return the languages of all runs, each once."""
    return list(dict.fromkeys(language for metrics in named.values() for language in metrics["languages"]))


def list_shared_languages(named: RunMetrics) -> list[str]:
    """Return the languages that are in every run's mean, so that a mean over them compares."""
    first, *others = (metrics["mean_over"] for metrics in named.values())
    return [language for language in first if all(language in other for other in others)]


def compute_means(
    named: RunMetrics, split: str, unit: str, languages: Sequence[str]
) -> dict[str, dict[str, float | None]]:
    """Return mean P@1 by run and encoder: `{run: {encoder: mean}}`; the means are None without a language."""
    return {
        name: {encoder: _mean(metrics["splits"][split]["encoders"][encoder][unit], languages) for encoder in ENCODERS}
        for name, metrics in named.items()
    }


def _mean(table, languages):
    return sum(table[language]["p@1"] for language in languages) / len(languages) if languages else None


def make_rows(
    named: RunMetrics, split: str, unit: str, means: Mapping[str, Mapping[str, float | None]]
) -> list[dict[str, Json]]:
    """Return one row per run and encoder; size and time are the bundle's. `means` are the result of `compute_means`."""
    lareqa = collect_lareqa_means(named, split)
    return [
        {
            "run": name,
            "encoder": encoder,
            "p@1": {lang: of["p@1"] for lang, of in metrics["splits"][split]["encoders"][encoder][unit].items()},
            "mean": means[name][encoder],
            "bytes": metrics.get("bundle_bytes") if encoder == "bundle" else None,
            "ms": (metrics["timings"].get("query") or {}).get("median_ms") if encoder == "bundle" else None,
            "lareqa": lareqa[name].get(encoder),
        }
        for name, metrics in named.items()
        for encoder in ENCODERS
    ]


def collect_lareqa_means(named: RunMetrics, split: str) -> dict[str, dict[str, float | None]]:
    """Return LAReQA's mAP by run and encoder, without those of another split or pool than the first one."""
    measured = {name: metrics.get("lareqa") or {} for name, metrics in named.items()}
    pools = [(of["languages"], of.get("candidates")) for of in measured.values() if of.get("split") == split]
    return {
        name: {encoder: row.get("map") for encoder, row in of["encoders"].items()}
        if of.get("split") == split and (of["languages"], of.get("candidates")) == pools[0]
        else {}
        for name, of in measured.items()
    }


def transpose(values: Mapping[str, Mapping[str, Value]]) -> dict[str, dict[str, Value | None]]:
    """Turn `{run: {key: value}}` into `{key: {run: value or None}}`, with keys in their order."""
    keys = dict.fromkeys(key for of in values.values() for key in of)
    return {key: {name: of.get(key) for name, of in values.items()} for key in keys}


def select_differing(values: Mapping[str, Mapping[str, Value]]) -> dict[str, dict[str, Value | None]]:
    return {key: row for key, row in transpose(values).items() if not are_alike(row.values())}


def are_alike(values: Iterable[Json]) -> bool:
    """Return True if all values are the same; there has to be one."""
    first, *others = values
    return all(value == first for value in others)


def collect_files(named: RunMetrics) -> dict[str, dict[str, str]]:
    """Return `{run: {file: sha256}}`; a run that has not recorded hashes has no files."""
    return {name: metrics["dataset"].get("files") or {} for name, metrics in named.items()}


def judge_data(named: RunMetrics) -> list[Verdict]:
    """Return one `Verdict` per finding on whether the runs used the same data."""
    other = [Verdict("", BAD, "not the same data", said) for said in list_differences(named)]
    unknown = [name for name, files in collect_files(named).items() if not files]
    if unknown:
        said = f"No hashes of the data files are recorded in {', '.join(unknown)}"
        return [
            *other,
            Verdict("", EVEN, "not proven the same", f"{said}: all may or may not have read the same files."),
        ]
    same = Verdict("", GOOD, "the same data", "The data set's name, its files' hashes and its splits agree.")
    return other or [same]


def list_differences(named: RunMetrics) -> Iterator[str]:
    """Yield a sentence for each difference that makes the runs' figures those of other questions or documents."""
    data = {name: metrics["dataset"] for name, metrics in named.items()}
    if not are_alike(of["name"] for of in data.values()):
        yield f"The data sets are {_list_values({name: of['name'] for name, of in data.items()})}."
    recorded = {name: files for name, files in collect_files(named).items() if files}
    if recorded and (changed := list(select_differing(recorded))):
        yield f"The data files' hashes differ: {', '.join(changed)}."
    counts = {name: _count_values(of) for name, of in data.items()}
    if not are_alike(counts.values()):
        yield f"Their sizes differ: {_list_values(counts)}."
    languages = {name: metrics["settings"]["data"]["document_language"] for name, metrics in named.items()}
    if not are_alike(languages.values()):
        yield f"The documents are in {_list_values(languages)}."
    # Without a list of files it is not known whether the seed decided.
    divided = {name: _division(named[name]) for name in recorded}
    if divided and not are_alike(divided.values()):
        yield f"Questions are divided into splits by {_list_values(divided)}."


def _list_values(said):
    return "; ".join(f"{what} ({name})" for name, what in said.items())


def _count_values(of):
    splits = ", ".join(f"{split} {number}" for split, number in of["splits"].items())
    return f"{of['documents']} documents, {of['passages']} passages, {splits}"


def _division(metrics):
    """Return the file, or the rule and the seed, that decided which questions a split has."""
    if "splits.json" in metrics["dataset"]["files"]:
        return "splits.json"
    return f"{metrics['settings']['data'].get('split_by', 'question')} with seed {metrics['settings']['seed']}"
