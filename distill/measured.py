"""What a run has measured of its encoders: kept until it is finished, so that a stopped run measures none again."""

from .evaluation import Evaluation


def save_measured(checkpoint, found, bias):
    """Write `{split: Evaluation}` and the plain values of `bias`, or None, to a `checkpoints.Checkpoint`."""
    order = {split: {unit: list(ranks) for unit, ranks in one.ranks.items()} for split, one in found.items()}
    groups = {
        f"{split} {unit}": list(ranks.values()) for split, one in found.items() for unit, ranks in one.ranks.items()
    }
    checkpoint.save({"order": order, "bias": bias}, groups)


def load_measured(checkpoint, name):
    """`({split: Evaluation}, bias)` of the encoder of that name; None where it was not measured."""
    stored = checkpoint.load()
    if stored is None:
        return None
    facts, groups = stored
    found = {split: Evaluation(name, split, _ranks(split, units, groups)) for split, units in facts["order"].items()}
    return found, facts["bias"]


def _ranks(split, units, groups):
    return {unit: dict(zip(languages, groups[f"{split} {unit}"], strict=True)) for unit, languages in units.items()}
