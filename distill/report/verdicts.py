"""The verdicts on a run, in words: each with its mark, so that none is said by colour alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..system.types import Json

GOOD, BAD, EVEN = "✓", "✗", "≈"
KINDS = {GOOD: "good", BAD: "bad", EVEN: "even"}
# Points below the student's from which on a bundle is no longer as good.
MARGIN = 1.0


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


def make_headline(gain: Verdict, kept: Verdict, above: Verdict | None = None) -> Verdict:
    """Return what a run comes to in a sentence or two; its mark is the worst one.

    Args:
        gain: the verdict on the student against its base.
        kept: the verdict on the bundle against the student.
        above: the verdict on an encoder beside that is above the student, None without one.
    """
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
    """Return the languages with a significant difference in one direction.

    Args:
        sign: 1 for languages where a is better, -1 where it is worse.
    """
    return [name for name, row in rows.items() if row["significant"] and sign * (row["a"] - row["b"]) > 0]


def describe_languages(word: str, languages: Sequence[str], among: int) -> str:
    """Return words on how many languages, and which, are significantly better or worse.

    Args:
        word: "better" or "worse".
    """
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
    if points > 0:
        word = f"gains {points:.1f} points ({format_signed(low)} to {format_signed(high)})"
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
