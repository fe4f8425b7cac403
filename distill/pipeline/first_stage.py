"""Stage 1 of a run: triplets in one language, or pairs in many with `--loss softmax`."""

from ..data.pairs import gold_pairs
from ..errors import ConfigError
from ..training.session import Session

# Batches that need passages in the teacher's language alone.
IN_ONE = ("en-en", "x-en")


def first_stage(run, base, settings=None, watch=None, checkpoint=None):
    """The teacher that a `run.Run` trains of `base`, with its own settings or others.

    `watch` and `checkpoint` are `training.fit`'s; stages of self-training have checkpoints of their own.
    """
    settings = settings or run.settings
    session = Session(run.log, watch, checkpoint, settings.training)
    if settings.teacher.loss != "softmax":
        from ..stages.triplet_stage import teach

        language = settings.teacher.language
        return teach(base, run.dataset, language, settings.teacher, settings.seed, session, run.triplets)
    from ..stages.pair_stage import mined_in, teach_pairs

    languages = asked_in(settings, run.languages)
    if settings.pairs.self_train:
        from .self_training import self_train

        return self_train(run, base, languages)
    mine = mined_in(run.dataset, settings, run.pairs) if settings.pairs.hard_negatives else None
    return teach_pairs(base, run.dataset, run.pairs, settings, languages, mine, run.sources, session)


def asked_in(settings, languages):
    """The languages of stage 1's questions: the teacher's alone with `en-en`, else all."""
    return (settings.teacher.language,) if settings.pairs.batches == "en-en" else tuple(languages)


def pairs_of(settings, dataset, languages):
    """The `Pairs` of the data set that stage 1 learns from with `--loss softmax`, else None.

    Of batches that answer in one language they have no passages in others. Raises what `read_contexts` does, and
    `ConfigError` for batches of passages in languages that the data has none in.
    """
    from ..data.contexts import read_contexts

    if settings.teacher.loss != "softmax":
        return None
    kind, pivot = settings.pairs.batches, settings.teacher.language
    contexts = read_contexts(dataset, settings.data.dataset, (pivot,) if kind in IN_ONE else languages)
    there = ", ".join(contexts)
    if kind not in IN_ONE and len(contexts) == 1:
        raise ConfigError(
            f"pairs.batches: {kind} takes passages in several languages, of {', '.join(languages)} {dataset.name} has "
            f"them in {there}; take {' or '.join(IN_ONE)}, or a folder of {{lang}}.json with passages each"
        )
    if kind in IN_ONE and pivot not in contexts:
        raise ConfigError(
            f"pairs.batches: {kind} takes passages in {pivot}, the teacher's language; {dataset.name} has {there}"
        )
    return gold_pairs(dataset, contexts, asked_in(settings, languages))


def require_lines(settings, sources):
    """Raise `ConfigError` where batches have a share of parallel text, and all of it is in the teacher's language."""
    pivot = settings.teacher.language
    if settings.pairs.parallel_share and all(language == pivot for one in sources for language in one.languages):
        raise ConfigError(f"pairs.parallel_share: the parallel text has lines in {pivot} alone, which ask for nothing")


def answered_of(settings, dataset, languages, pairs):
    """With self-training the `answered.Answered` that tells which passages answer what, else None; `DataError`."""
    if not settings.pairs.self_train:
        return None
    from ..stages.answering_passages import answered_in

    return answered_in(dataset, settings.data.dataset, languages, pairs)
