"""The verdicts on a run, in words: each with its mark, so that none is said by colour alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .layout import format_percents

if TYPE_CHECKING:
    from ..system.types import Json


GOOD, BAD, EVEN = "✓", "✗", "≈"
KINDS = {GOOD: "good", BAD: "bad", EVEN: "even"}
# Points below the student's from which on a bundle is no longer as good.
MARGIN = 1.0


@dataclass(frozen=True)
class Verdict:
    """A question, its answer in a word with its mark, and its evidence: the difference and its test in a few words."""

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


def make_headline(gain: Verdict, kept: Verdict, above: Verdict | None = None) -> Verdict:
    """Return what a run comes to in a sentence or two, where an encoder may be above it; its mark is the worst one."""
    student = {
        GOOD: "the student beats its base",
        BAD: "the student is worse than its base",
        EVEN: "no clear gain of the student over its base",
    }[gain.mark]
    bundle = (
        kept.evidence
        or {
            GOOD: "the bundle is as good as the student",
            BAD: "the bundle is worse than the student",
            EVEN: "the bundle is about as good as the student",
        }[kept.mark]
    )
    joint = "but" if {gain.mark, kept.mark} == {GOOD, BAD} else "and"
    marks = {verdict.mark for verdict in (gain, kept, above) if verdict}
    mark = next((mark for mark in (BAD, EVEN) if mark in marks), GOOD)
    evidence = f" ({gain.evidence})" if gain.evidence else ""
    more = f" {above.evidence}" if above else ""
    return Verdict("", mark, f"{student[0].upper()}{student[1:]}{evidence}, {joint} {bundle}.{more}", "")


def weigh(points: float, better: Sequence[str], worse: Sequence[str]) -> tuple[str, str]:
    """Return the mark and the word for a difference."""
    if better and not worse and points > 0:
        return GOOD, "better"
    if worse and points < 0 or worse and not better:
        return BAD, "worse"
    return EVEN, "mixed" if better or worse else "no significant difference"


def list_significant(rows: Mapping[str, Json], sign: int) -> list[str]:
    """Return the languages with a significant difference, with the sign 1 where a is better, -1 where it is worse."""
    return [name for name, row in rows.items() if row["significant"] and sign * (row["a"] - row["b"]) > 0]


def describe_languages(word: str, languages: Sequence[str], among: int) -> str:
    """Return words on how many languages, and which, are significantly "better" or "worse"."""
    if not languages:
        return f"Significantly {word} in none"
    return f"Significantly {word} in {len(languages)} of {among} languages ({', '.join(languages)})"


def format_signed(points: float) -> str:
    """Return a difference in points with its sign, a minus in place of a hyphen; zero is 0.0."""
    text = f"{points:+.1f}".replace("-", "−")
    return "0.0" if text in ("+0.0", "−0.0") else text


def judge_bundle(metrics: Mapping[str, Json]) -> Verdict:
    """Return the verdict on the bundle against the student, on the split and the unit of the other verdicts.

    It is as good if the 95 % interval of the difference ends above -1 point, and no language is significantly worse.
    """
    question, split, unit = "Is the bundle as good as the student?", choose_split(metrics), choose_unit(metrics)
    name, part = "bundle against student", metrics["splits"][split]
    test = ((part.get("sign_flips") or {}).get(name) or {}).get(unit)
    if not test:
        return Verdict(question, *_judge_untested(metrics))
    rows = part["mcnemar"][name][unit]
    worse = list_significant(rows, -1)
    points, low, high = (100 * test[end] for end in ("difference", "low", "high"))
    mark, word, evidence = _judge_loss(points, low, high, worse)
    figures = (
        f"On {split}, unit {unit}, {test['questions']:,} questions: {100 * test['a']:.1f} % against "
        f"{100 * test['b']:.1f} %, {format_signed(points)} points (95 % interval "
        f"{format_signed(low)} to {format_signed(high)}; as good is above −{MARGIN:.1f}). "
        f"{describe_languages('worse', worse, len(rows))}."
    )
    return Verdict(question, mark, word, figures, evidence)


def _judge_loss(points, low, high, worse):
    """Return mark, word and words for a sentence on a difference in points with its interval."""
    if low > -MARGIN and not worse:
        return GOOD, "as good", ""
    where = f" significantly in {', '.join(worse)}" if worse else ""
    if (shown := round(float(points), 1)) >= 0:
        verb = "gains" if shown else "differs by"
        word = f"{verb} {abs(points):.1f} points ({format_signed(low)} to {format_signed(high)})"
        word += f", but loses{where}" if worse else ""
    else:
        ends = (format_signed(end).removeprefix("+") for end in (-high, -low))
        word = f"loses {abs(points):.1f} points ({' to '.join(ends)})" + (f",{where}" if worse else "")
    return (BAD if worse or high < 0 else EVEN), word, f"the bundle {word}"


def _judge_untested(metrics):
    """Return mark, word and figures for an older run's bundle, which has means and no test."""
    means = metrics["splits"][choose_split(metrics)]["mean_p@1"]
    bundle, student = (100 * means[name][choose_unit(metrics)] for name in ("bundle", "student"))
    points = format_signed(bundle - student)
    figures = f"Mean P@1 {bundle:.1f} % against {student:.1f} %, {points} points; no test is recorded."
    return (BAD, "worse", figures) if student - bundle > MARGIN else (EVEN, "about as good", figures)


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


COLUMNS = ("language", "encoder", "cosine", "5th %", "least", "Spearman", "same of 10, %")


def make_closeness_rows(metrics: Mapping[str, Json]) -> list[list[str]]:
    """Return the rows of the table by language, base and student side by side, in the order of `COLUMNS`.

    A cosine is empty where the spaces are not the same. There are no rows without a fixed teacher.
    """
    encoders = (metrics.get("closeness") or {}).get("encoders", {})
    languages = [name for name in metrics["languages"] if any(name in rows for rows in encoders.values())]
    return [
        [language if place == 0 else "", name, *_format_figures(rows[language])]
        for language in languages
        for place, (name, rows) in enumerate(encoders.items())
    ]


def _format_figures(row):
    names = ("cosine_mean", "cosine_p5", "cosine_min", "spearman")
    figures = ["–" if row[name] is None else f"{row[name]:.2f}".replace("-", "−") for name in names]
    return [*figures, *format_percents([row["neighbours"]])]


def describe_closeness(metrics: Mapping[str, Json]) -> str:
    """Return a sentence on what the table by language compares; an empty text for a run without a fixed teacher."""
    closeness = metrics.get("closeness")
    if not closeness:
        return ""
    counts = {name: row["texts"] for name, row in closeness["encoders"]["student"].items()}
    texts = ", ".join(f"{count} in {name}" for name, count in counts.items())
    pivot = metrics["settings"]["teacher"]["language"]
    start = "; start is the base with a map into the teacher's space" if "start" in closeness["encoders"] else ""
    return (
        f"Held-out texts of {closeness['split']}: {texts}; the teacher reads those of other languages in their {pivot} "
        f"version{start}. Cosine of an encoder's vector of a text to the teacher's: mean, 5th percentile and least, – "
        "where the spaces differ. Spearman's correlation of the cosines of all pairs of texts. How many of a text's "
        "ten nearest by the teacher are among its ten nearest."
    )


def describe_gain(metrics: Mapping[str, Json]) -> str:
    """Return a sentence on the share of a fixed teacher's gain over the base that the bundle has.

    There is a share only in languages in which the teacher is significantly above the base, by McNemar's test with
    Holm's correction. The text is empty for a run without a fixed teacher.
    """
    split, unit = choose_split(metrics), choose_unit(metrics)
    part, options = metrics["splits"][split], metrics["settings"].get("teacher", {})
    tests = part["mcnemar"].get("teacher against base", {}).get(unit)
    if not options.get("model") or not tests:
        return ""
    clear = {name: row for name, row in tests.items() if row["significant"] and row["a"] > row["b"]}
    where = f"P@1, {split}, {unit}"
    if not clear:
        return f"The teacher is significantly above the base in no language ({where}), so there is no gain to share."
    bundle = part["encoders"]["bundle"][unit]
    shares = "; ".join(_format_share(name, bundle[name]["p@1"], row) for name, row in clear.items())
    return f"Of the teacher's gain over the base the bundle has {shares} ({where}; where the gain is significant)."


def _format_share(language, bundle, row):
    share = (bundle - row["b"]) / (row["a"] - row["b"])
    part = "none" if share <= 0 else "all" if share >= 1 else f"{100 * share:.0f} %"
    return f"{part} in {language} ({100 * row['b']:.1f} to {100 * bundle:.1f}, teacher {100 * row['a']:.1f})"
