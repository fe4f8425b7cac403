"""`distill compress`: from a budget to the encoder that keeps it, by trials measured on dev."""

import time
from pathlib import Path

from ..export.runtime import size_of
from ..students.vocabulary.pruning import not_kept
from ..system.files import write_json
from ..system.progress import say
from ..system.reading import read_json
from .budget import choose, front
from .candidates import Candidate, cheap, cost, ranked, to_train
from .trials import BUNDLE

TRIAL = "trial.json"
# The uncompressed bundle among the timed ones.
WHOLE = "whole"


class Search:
    """The trials of one run, each kept in a folder of its own and not repeated.

    `trials`: a `trials.Trials`; `whole`: the folder of the student's own bundle, for comparison; `names`: the
    shapes to train; `seconds`: what an epoch of the student took, None where that is not known.
    """

    def __init__(self, folder, trials, budget, whole, names, epochs, seconds=None):
        self.folder, self.trials, self.budget, self.whole = Path(folder), trials, budget, Path(whole)
        self.names, self.epochs, self.seconds = names, epochs, seconds

    def run(self):
        """Cheap trials, the plan, training: `{"tried", "shapes", "bundles", "front", "chosen", "excess"}`."""
        say(f"first {len(cheap())} vocabularies and table formats, and the speed of the shapes; nothing is trained")
        tried = [self.once(c.name, lambda folder, c=c: self.trials.untrained(c)) for c in cheap()]
        names = dict.fromkeys(["full", *self.names])
        shapes = {s: self.once(f"shape-{s}", lambda folder, s=s: self.trials.probe(s, folder)) for s in names}
        chosen = self.planned(tried, shapes)
        self.announce(chosen, shapes)
        kept = [Candidate(row["vocabulary"], row["table"]) for row in self.worth(tried, shapes["full"])]
        candidates = [*kept, *filter(None, chosen.values())]
        rows = [self.once(trial_of(c.name), lambda folder, c=c: self.trials.bundle(c, folder)) for c in candidates]
        return {"tried": tried, "shapes": shapes, **self.verdict(rows)}

    def planned(self, tried, shapes):
        """What to train of each shape."""
        own, new = {name: shapes[name] for name in self.names}, bool(self.trials.material.words.new)
        return to_train(ranked(tried), own, lambda c: self.trials.size(c, shapes[c.shape]), self.budget, new)

    def once(self, name, make):
        """The row of a trial: from its file, or made and written."""
        folder = self.folder / name
        if (folder / TRIAL).is_file():
            return read_json(folder / TRIAL)
        folder.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        row = {**make(folder), "seconds": round(time.perf_counter() - began, 1)}
        write_json(folder / TRIAL, row)
        return row

    def worth(self, tried, full):
        """The cheap trials that no other beats in size and P@1, without those that cannot keep the size."""
        rows = [{**row, "bytes": row["table_bytes"] + full["other_bytes"]} for row in tried]
        limit = self.budget.bytes
        return [row for row in front(rows, ("bytes",)) if limit is None or row["bytes"] <= limit]

    def announce(self, chosen, shapes):
        """What will be trained and about how long it takes, before it begins."""
        for shape, candidate in chosen.items():
            if candidate is None:
                least = f"{shapes[shape]['other_bytes'] / 1e6:.1f} MB without a table, {shapes[shape]['ms']:.3f} ms"
                say(f"{shape}: not trained, it cannot keep the budget ({least})")
            else:
                how = f"vocabulary {candidate.vocabulary}, table {candidate.table}"
                say(f"{shape}: to be trained, {how}{self.about(shapes, shape)}")
        for vocabulary in sorted({candidate.vocabulary for candidate in chosen.values() if candidate}):
            for language, shares in self.trials.left(vocabulary).items():
                say(f"{not_kept(language, shares)} with the vocabulary {vocabulary}")

    def about(self, shapes, shape):
        """The time that a shape's training takes at most, in words; empty where nothing is known of it."""
        if self.seconds is None:
            return ""
        share = cost(shapes[shape]["dense"], shapes["full"]["dense"])
        return f", about {max(1, round(share * self.seconds * self.epochs / 60))} min at most"

    def verdict(self, rows):
        """The bundles with their times, which of them no other beats, and the one to ship."""
        spent = self.trials.timed(
            {WHOLE: self.whole} | {row["name"]: bundle_of(self.folder, row["name"]) for row in rows}
        )
        for row in rows:
            for reason in row["refused"]:
                say(f"{row['name']}: the bundle is not its student and is left out: {reason}")
        rows = [{**row, "ms": spent[row["name"]]} for row in rows if not row["refused"]]
        chosen = choose(rows, self.budget) if rows else None
        return {
            "whole": {"bytes": size_of(self.whole), "ms": spent[WHOLE]},
            "bundles": rows,
            "front": [row["name"] for row in front(rows)],
            "chosen": chosen and chosen["name"],
            "excess": self.budget.excess(chosen) if chosen else {},
        }


def trial_of(name):
    """The folder of the trial in which a candidate's bundle is made, beside that of the candidate untrained."""
    return f"{name}-{BUNDLE}"


def bundle_of(folder, name):
    """A candidate's bundle among the trials in `folder`."""
    return Path(folder) / trial_of(name) / BUNDLE
