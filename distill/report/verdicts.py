"""The verdicts on a run, in words: each with its mark, so that none is said by colour alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..retrieval.metrics import allowed_drop

if TYPE_CHECKING:
    from ..system.types import Json

GOOD, BAD, EVEN = "✓", "✗", "≈"
KINDS = {GOOD: "good", BAD: "bad", EVEN: "even"}


@dataclass(frozen=True)
class Verdict:
    """A question, its answer in a word with its mark, and the figures that it rests on.

    `evidence` is the difference and its test in a few words, for a sentence.
    """

    question: str
    mark: str
    word: str
    figures: str
    evidence: str = ""

    @property
    def kind(self) -> str:
        """Return the mark's name: good, bad or even."""
        return KINDS[self.mark]


def choose_split(metrics: Mapping[str, Json]) -> str:
    """Return the split that the verdicts use: test if it was measured, as dev chose epochs."""
    return "test" if "test" in metrics["splits"] else next(iter(metrics["splits"]))


def choose_unit(metrics: Mapping[str, Json]) -> str:
    """Return the unit that the verdicts use, which chose the student's epoch."""
    return metrics["settings"].get("student", {}).get("dev_unit", "document")


def list_units(metrics: Mapping[str, Json]) -> list[str]:
    """Return the units that a run measured, in their order."""
    return list(metrics["splits"][choose_split(metrics)]["mean_p@1"]["student"])


def make_headline(gain: Verdict, kept: Verdict) -> Verdict:
    """Return the one sentence on a run; its mark is the worse one.

    Args:
        gain: the verdict on the student against its base.
        kept: the verdict on the bundle against the student.
    """
    student = {
        GOOD: "the student beats its base",
        BAD: "the student is worse than its base",
        EVEN: "no clear gain of the student over its base",
    }[gain.mark]
    bundle = {
        GOOD: "the bundle is as good as the student",
        BAD: "the bundle is worse than the student",
        EVEN: "the bundle is about as good as the student",
    }[kept.mark]
    marks = {gain.mark, kept.mark}
    mark = next((mark for mark in (BAD, EVEN) if mark in marks), GOOD)
    joint = "but" if marks == {GOOD, BAD} else "and"
    evidence = f" ({gain.evidence})" if gain.evidence else ""
    return Verdict("", mark, f"{student[0].upper()}{student[1:]}{evidence}, {joint} {bundle}.", "")


def weigh(points: float, better: Sequence[str], worse: Sequence[str]) -> tuple[str, str]:
    """Return the mark and the word for a difference.

    Args:
        points: the difference in points.
        better: the languages where it is significantly better.
        worse: the languages where it is significantly worse.
    """
    if better and not worse and points > 0:
        return GOOD, "better"
    if worse and points < 0 or worse and not better:
        return BAD, "worse"
    return EVEN, "mixed" if better or worse else "no significant difference"


def list_significant(rows: Mapping[str, Json], sign: int) -> list[str]:
    """Return the languages with a significant difference in one direction.

    Args:
        rows: the comparison of a and b by language.
        sign: 1 for languages where a is better, -1 where it is worse.
    """
    return [name for name, row in rows.items() if row["significant"] and sign * (row["a"] - row["b"]) > 0]


def describe_languages(word: str, languages: Sequence[str], among: int) -> str:
    """Return words on how many languages, and which, are significantly better or worse.

    Args:
        word: "better" or "worse".
        languages: the languages.
        among: the number of all languages.
    """
    if not languages:
        return f"Significantly {word} in none"
    return f"Significantly {word} in {len(languages)} of {among} languages ({', '.join(languages)})"


def format_signed(points: float) -> str:
    """Return a difference in points with its sign, a minus in place of a hyphen; zero is 0.0."""
    text = f"{points:+.1f}".replace("-", "−")
    return "0.0" if text in ("+0.0", "−0.0") else text


def judge_bundle(metrics: Mapping[str, Json]) -> Verdict:
    """Return the verdict on the bundle against the student, by the gate's figures on dev for document vectors."""
    question, gate = "Is the bundle as good as the student?", metrics.get("gate")
    allowed = metrics["settings"].get("export", {}).get("max_drop", 0)
    if not gate:
        return Verdict(question, *_judge_untested(metrics, allowed))
    rows, allowed = gate["p@1"], allowed_drop(allowed, gate["texts"])
    tests = {name: {**row, "a": row["artefact"], "b": row["student"]} for name, row in rows.items()}
    worse = list_significant(tests, -1)
    means = [100 * sum(row[name] for row in rows.values()) / len(rows) for name in ("artefact", "student")]
    mark, word = (BAD, "worse") if worse or gate["drop"] > allowed else (GOOD, "as good")
    figures = (
        f"{means[0]:.1f} % against {means[1]:.1f} %, {format_signed(-gate['drop'])} points (allowed −{allowed:.3g})"
    )
    where = f"On dev, unit document, mean P@1 of {len(rows)} languages {figures}."
    if metrics["settings"].get("student", {}).get("quantised_epochs"):
        where += " The student here is as its last epochs rounded it."
    return Verdict(question, mark, word, f"{where} {describe_languages('worse', worse, len(rows))}.")


def _judge_untested(metrics, allowed):
    """Return mark, word and figures for an older run's bundle, which has means and no test."""
    means = metrics["splits"][choose_split(metrics)]["mean_p@1"]
    bundle, student = (100 * means[name][choose_unit(metrics)] for name in ("bundle", "student"))
    points = format_signed(bundle - student)
    figures = f"Mean P@1 {bundle:.1f} % against {student:.1f} %, {points} points; no test is recorded."
    return (BAD, "worse", figures) if student - bundle > allowed else (EVEN, "about as good", figures)


def kept_of_teacher(metrics: Mapping[str, Json]) -> str:
    """Return a sentence on the share of a fixed teacher's P@1 that the bundle keeps; an empty text without one.

    It is about the mean of the other languages, and about the teacher's own where these are not it.
    """
    split, unit, options = choose_split(metrics), choose_unit(metrics), metrics["settings"].get("teacher", {})
    measured, over = metrics["splits"][split], metrics["mean_over"]
    if not options.get("model") or unit not in measured["mean_p@1"]["teacher"]:
        return ""
    means = measured["mean_p@1"]
    parts = [_share_of(means["bundle"][unit], means["teacher"][unit], f"mean of {', '.join(over)}")]
    if (language := options["language"]) not in over:
        bundle, teacher = (measured["encoders"][name][unit][language]["p@1"] for name in ("bundle", "teacher"))
        parts.append(_share_of(bundle, teacher, language))
    return f"P@1 of the teacher that the bundle keeps: {'; '.join(parts)} ({split}, {unit})."


def _share_of(bundle, teacher, where):
    share = f"{100 * bundle / teacher:.0f} %" if teacher else "no share"
    return f"{share}, {100 * bundle:.1f} of {100 * teacher:.1f} ({where})"


def judge_search(search: Mapping[str, Json] | None) -> Verdict | None:
    """Return the verdict on a search for a smaller bundle by its budget, None without a search."""
    if not search:
        return None
    question = "Does a smaller bundle keep the budget?"
    row = next((row for row in search["bundles"] if row["name"] == search["chosen"]), None)
    if row is None:
        return Verdict(question, BAD, "none", "No bundle keeps the size.")
    figures = f"{row['name']}: {row['bytes'] / 1e6:.1f} MB, {row['ms']:.3f} ms per query,"
    mark, word = (BAD, "no") if search["excess"] else (GOOD, "yes")
    near = " This is the nearest." if search["excess"] else ""
    return Verdict(
        question, mark, word, f"{figures} {format_signed(-row['drop'])} points to the student (dev, maxp).{near}"
    )
