"""Answers to what a person asks of a run first: how much better than others and its base, and in which languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from ..evaluation.calibration import ConfidenceFigures
from ..system.types import Json
from .bias_tables import Section, Value
from .charts import ENCODERS, Cost, draw_risk_chart, list_distinct_encoders, shorten
from .layout import format_percents, new_console, new_table
from .verdicts import BAD, EVEN, GOOD, Verdict, choose_split, choose_unit, format_signed, list_significant, weigh

LEVEL = 0.05


@dataclass(frozen=True)
class LanguageRow:
    """A row of the table by language, in per cent, or in points with `signs`, "better" or "worse", if significant."""

    name: str
    values: dict[str, float]
    mean: float
    signs: dict[str, str]


def list_peers(metrics: Mapping[str, Json]) -> list[str]:
    """Return the names of the encoders that were measured beside a run's own."""
    return [name for name in _select_shown(metrics)["mean_p@1"] if name not in ENCODERS]


def label_rows(metrics: Mapping[str, Json]) -> dict[str, str]:
    """Return the labels of the rows of a run's tables, by encoder.

    A teacher that is the base has no row of its own, and a student that dev left as it began says so.
    """
    labels = {name: name for name in (*list_peers(metrics), *list_distinct_encoders(metrics))}
    if "teacher" not in labels:
        labels["base"] = "base, also teacher"
    if metrics.get("stages", {}).get("student", {}).get("kept_start"):
        labels["student"] = "student, as it began"
    return labels


def list_verdicts(metrics: Mapping[str, Json]) -> list[Verdict]:
    """Return the three verdicts that a report opens with."""
    return [judge_against_peers(metrics), judge_against_base(metrics), judge_by_language(metrics)]


def _select_shown(metrics):
    return metrics["splits"][choose_split(metrics)]


def _mean(metrics, name, languages):
    """Return mean P@1 over languages, in per cent."""
    rows = _select_shown(metrics)["encoders"][name][choose_unit(metrics)]
    return 100 * sum(rows[language]["p@1"] for language in languages) / len(languages)


def judge_against_peers(metrics: Mapping[str, Json]) -> Verdict:
    """Return the verdict on the student against each peer, by mean P@1 over all languages and those it knows."""
    question, languages, names = "How much better than others?", metrics["languages"], list_peers(metrics)
    mean = f"Mean P@1 over all {len(languages)} languages: student {_mean(metrics, 'student', languages):.1f} %"
    if not names:
        return Verdict(question, EVEN, "none measured beside", f"{mean}.")
    points = {name: _mean(metrics, "student", languages) - _mean(metrics, name, languages) for name in names}
    marks = [_mark(points[name], _flips(metrics, name)) for name in names]
    mark = next((mark for mark in (BAD, EVEN) if mark in marks), GOOD)
    word = ", ".join(f"{format_signed(points[name])} points on {shorten(name)}" for name in names)
    means = [mean, *(f"{shorten(name)} {_mean(metrics, name, languages):.1f} %{_p(metrics, name)}" for name in names)]
    known = "".join(_describe_known(metrics, name) for name in names)
    return Verdict(question, mark, word, f"{', '.join(means)}.{known}")


def _describe_known(metrics, name):
    """Return a sentence on the languages that a peer knows, empty if it knows all or does not say."""
    peer = (metrics.get("peers") or {}).get(name) or {}
    known = [language for language in metrics["languages"] if language in peer.get("languages", ())]
    if not known or len(known) == len(metrics["languages"]):
        return ""
    points = _mean(metrics, "student", known) - _mean(metrics, name, known)
    return f" Over the {len(known)} of them that {shorten(name)} knows: {format_signed(points)} points."


def _flips(metrics, name):
    """Return the test of all questions together, None for a run without one."""
    tests = _select_shown(metrics).get("sign_flips") or {}
    return (tests.get(f"student against {name}") or {}).get(choose_unit(metrics))


def _p(metrics, name):
    test = _flips(metrics, name)
    return f" ({format_p(test['p'])} by a sign-flip test)" if test else ""


def format_p(p: float) -> str:
    """Return a p value in words; a very small one is "p < 0.001"."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _mark(points, test):
    """Return the mark of a difference: even unless it is significant, and of the same sign over all questions."""
    # A mean over languages may differ in its sign, where languages have unequal numbers of questions.
    if not test or test["p"] >= LEVEL or points * test["difference"] <= 0:
        return EVEN
    return GOOD if points > 0 else BAD


def judge_best_peer(metrics: Mapping[str, Json]) -> Verdict | None:
    """Return the verdict on the best encoder beside a run, by its mean over all languages, if it is above the student.

    The verdict says when the student is the right choice all the same: where it is faster or smaller.
    """
    languages = metrics["languages"]
    peers, student = {name: _mean(metrics, name, languages) for name in list_peers(metrics)}, "student"
    best, mean = max(peers, key=peers.__getitem__, default=student), _mean(metrics, student, languages)
    if peers.get(best, mean) <= mean:
        return None
    name = shorten(best)
    word = "above, not significantly" if _mark(mean - peers[best], _flips(metrics, best)) == EVEN else "better"
    means = f"{peers[best]:.1f} % against {mean:.1f} %, mean of {len(languages)} languages{_p(metrics, best)}"
    choice = _describe_choice({cost.name: cost for cost in list_costs(metrics)}, best)
    evidence = f"{name}, untouched, is {word}: {means}.{choice}"
    return Verdict(f"Is {name}, untouched, better?", EVEN, word, f"P@1 {means}.{choice}", evidence)


def _describe_choice(costs, peer):
    """Return a sentence on when a bundle is the right choice where another encoder is better."""
    if not {"bundle", peer} <= costs.keys():
        return ""
    bundle, other = costs["bundle"], costs[peer]
    kept = {
        "time": f"{bundle.ms:.2f} ms a query against {other.ms:.2f}" if bundle.ms < other.ms else "",
        "size": f"{bundle.bytes / 1e6:.1f} MB against {other.bytes / 1e6:.1f}" if bundle.bytes < other.bytes else "",
    }
    counts = [name for name, words in kept.items() if words]
    if not counts:
        return f" The bundle is neither faster nor smaller: take {shorten(peer)}."
    figures = ", ".join(kept[name] for name in counts)
    return f" Take the bundle where {' or '.join(counts)} counts: {figures}."


def judge_against_base(metrics: Mapping[str, Json]) -> Verdict:
    """Return the verdict on the student against its base.

    The test flips signs of all questions together. A run of an earlier version has no such test; its verdict is by
    language.
    """
    question, test = "Better than its base, untouched?", _flips(metrics, "base")
    if not test:
        return _by_means(metrics, question)
    points = 100 * test["difference"]
    mark = _mark(points, test)
    word = {GOOD: "better", BAD: "worse", EVEN: "not significant"}[mark]
    shares = f"{100 * test['a']:.1f} % against {100 * test['b']:.1f} %"
    flipped = f"{format_p(test['p'])}, sign flips of {test['clusters']:,} questions with their translations"
    split = choose_split(metrics)
    together = f"All {test['questions']:,} {split} questions together"
    evidence = f"{format_signed(points)} points of P@1 on {split}, {format_p(test['p'])} by a sign-flip test"
    return Verdict(
        question, mark, f"{format_signed(points)} points, {word}", f"{together}: {shares}; {flipped}.", evidence
    )


def _by_means(metrics, question):
    languages = metrics["languages"]
    means = [_mean(metrics, name, languages) for name in ("student", "base")]
    points = means[0] - means[1]
    mark, word = weigh(points, *(list_significant(_by_mcnemar(metrics), sign) for sign in (1, -1)))
    figures = f"Mean P@1 {means[0]:.1f} % against {means[1]:.1f} %; no test of all questions together is recorded."
    evidence = f"{format_signed(points)} points of mean P@1 on {choose_split(metrics)}, McNemar's test by language"
    return Verdict(question, mark, f"{format_signed(points)} points, {word}", figures, evidence)


def _by_mcnemar(metrics):
    return _select_shown(metrics)["mcnemar"]["student against base"][choose_unit(metrics)]


def judge_by_language(metrics: Mapping[str, Json]) -> Verdict:
    """Return the verdict on the languages where the student is better or worse than its base, by McNemar's test."""
    rows = _by_mcnemar(metrics)
    better, worse = list_significant(rows, 1), list_significant(rows, -1)
    mark = EVEN if bool(better) == bool(worse) else GOOD if better else BAD
    word = f"better in {len(better)} of {len(rows)}, worse in {len(worse)}"
    listed = f"Significantly better: {', '.join(better) or 'none'}; worse: {', '.join(worse) or 'none'}."
    return Verdict("In which languages?", mark, word, f"{listed} Against the base, p < 0.05, McNemar, Holm.")


def make_language_rows(metrics: Mapping[str, Json]) -> list[LanguageRow]:
    """Return the rows by language: peers, base, a teacher beside it, bundle, student, and its gain."""
    languages, figures = metrics["languages"], _select_shown(metrics)["encoders"]
    teacher = ["teacher"] if "teacher" in list_distinct_encoders(metrics) else []
    names = [*list_peers(metrics), "base", *teacher, "bundle", "student"]
    rows = {
        name: {language: 100 * figures[name][choose_unit(metrics)][language]["p@1"] for language in languages}
        for name in names
    }
    tests = _by_mcnemar(metrics)
    signs = {name: "better" for name in list_significant(tests, 1)} | {
        name: "worse" for name in list_significant(tests, -1)
    }
    points = {language: rows["student"][language] - rows["base"][language] for language in languages}
    return [
        *(LanguageRow(name, rows[name], _mean(metrics, name, languages), {}) for name in names),
        LanguageRow("difference", points, sum(points.values()) / len(languages), signs),
    ]


def list_costs(metrics: Mapping[str, Json]) -> list[Cost]:
    """Return the size, time and mean P@1 of base, bundle and peers whose size and time were measured."""
    query = metrics["timings"].get("query") or {}
    bundle = {"bytes": metrics.get("bundle_bytes"), "ms": query.get("median_ms")}
    measured = {**(metrics.get("peers") or {}), **query.get("beside", {}), "bundle": bundle}
    names = ["base", "bundle", *list_peers(metrics)]
    rows = {name: measured.get(name, {}) for name in names}
    labels = {"base": f"base, {metrics['settings']['teacher']['base']}", "bundle": "student's bundle"}
    return [
        Cost(name, row["ms"], row["bytes"], _mean(metrics, name, metrics["languages"]), labels.get(name, name))
        for name, row in rows.items()
        if row.get("bytes") and row.get("ms")
    ]


def list_unmeasured(metrics: Mapping[str, Json]) -> dict[str, float]:
    """Return `{peer: mean P@1 in per cent}` for peers whose size or time was not measured."""
    measured = {cost.name for cost in list_costs(metrics)}
    return {name: _mean(metrics, name, metrics["languages"]) for name in list_peers(metrics) if name not in measured}


def order_splits(splits: Sequence[str]) -> list[str]:
    """Return the splits with test first, as its questions chose nothing."""
    return sorted(splits, key=lambda split: split != "test")


# As likely as not.
HALF = 0.5
# The rows of both tables: what they are called, and the field of `ConfidenceFigures`.
ROWS = {
    "right first": "right",
    "AUROC": "auroc",
    "calibration error": "ece",
    "answered": "answered",
    "right of these": "precision",
    "missed of right": "missed",
    "told of removed": "told",
}


def print_answerable(encoders: Mapping[str, Mapping[str, ConfidenceFigures]], place: str) -> None:
    """Print how well encoders tell, by language, which questions have an answer; half of them have none."""
    languages = next(iter(encoders.values()))
    table = new_table(f"half without an answer, {place}, %", "encoder", "", *languages, names=2)
    for name, figures in encoders.items():
        for place_of, (label, field) in enumerate(ROWS.items()):
            values = [getattr(row, field) for row in figures.values()]
            if any(value is not None for value in values):
                table.add_row(Text("" if place_of else name), label, *format_percents(values))
        table.add_section()
    table.add_row("", "questions", *(str(row.cases) for row in languages.values()))
    new_console().print(table)


def print_remark(probability: float, threshold: float) -> None:
    """Print how likely the first passage answers a question, and a warning below the threshold."""
    line = f"{100 * probability:.0f} % likely that the first passage answers"
    if probability < max(threshold, HALF):
        line = f"{'nothing found' if probability < threshold else 'unsure'}: {line}"
    new_console().print(line, style="dim", soft_wrap=True, markup=False)


def make_answerable_section(part: Mapping[str, Json]) -> Section:
    """Return the section on questions without an answer, from `metrics.json` or the content of `--json`."""
    encoders = part["encoders"]
    values: dict[str, Value] = {
        "answerable": part,
        "answerable_rows": ROWS,
        "answerable_languages": list_languages(encoders),
        "risks": draw_risk_chart({name: figures["all"]["curve"] for name, figures in encoders.items()}),
    }
    return Section("_answerable.html.j2", f"Questions without an answer, {part['name']}", part, values)


def list_languages(encoders: Mapping[str, Mapping[str, Json]]) -> Sequence[str]:
    return list(dict.fromkeys(language for figures in encoders.values() for language in figures))
