"""Everything that is said of an encoder's language bias on one pool."""

from .lareqa import TOP, encode_pool, mean_average_precision, rank_pool
from .lir import LanguageRemoval
from .space import identify, project

# Components removed in the LIR table (Yang et al., 2021, Tables 1 and 5).
RANKS = (1, 2, 3, 4)


def measure_bias(encoder, pool, pivot="en", samples=None, seed=0, progress=None, analysed=None):
    """All analyses of an encoder on a `Pool`, plain values as `metrics.json` keeps them.

    `samples`, a `Samples`, is the text that language information removal is fitted on, by default the pool's own
    sentences. `progress` is told each text, `analysed` each of the `steps()` that follow.
    """
    asked, given = encode_pool(encoder, pool, progress)
    step = analysed or (lambda: None)
    found = rank_pool(asked, given, pool).table()
    step()
    found["pca"] = project(asked, given, pool, seed=seed)
    step()
    found["language_id"] = identify(asked, given, pool, pivot, seed)
    step()
    found["lir"] = removal_table(asked, given, pool, *_samples(encoder, pool, given, samples, progress), found, step)
    return found


def steps():
    """How often `analysed` is called."""
    return 3 + len(RANKS)


def _samples(encoder, pool, given, texts, progress):
    if texts is None:
        return "the pool's own sentences", by_language(given, pool.language_of, pool.languages)
    name, found = texts
    return name, {language: encoder.encode(found[language], "document", progress) for language in pool.languages}


def by_language(vectors, numbers, languages):
    """`{language: its rows}`."""
    return {language: vectors[numbers == number] for number, language in enumerate(languages)}


def removal_table(asked, given, pool, name, samples, plain, step):
    """`{"corpus", "ranks": {r: {"map", "languages"}}}`: LIR by language with r = 0…4 components removed."""
    removal = LanguageRemoval.fit(samples, max(RANKS))
    ranks = {"0": {"map": plain["map"], "languages": plain["languages"]}}
    for rank in RANKS:
        without = [
            _removed(removal, vectors, numbers, pool.languages, rank)
            for vectors, numbers in ((asked, pool.asked_in), (given, pool.language_of))
        ]
        ranks[str(rank)] = mean_average_precision(*without, pool)
        step()
    return {"corpus": name, "ranks": ranks}


def _removed(removal, vectors, numbers, languages, rank):
    made = vectors.copy()
    for number, language in enumerate(languages):
        made[numbers == number] = removal.remove(vectors[numbers == number], language, rank)
    return made


def described(pool, split, found):
    """The section `lareqa` of `metrics.json`, of `{encoder: what measure_bias gave}`."""
    return {
        "name": pool.name,
        "split": split,
        "languages": list(pool.languages),
        "questions": pool.count(pool.asked_in),
        "candidates": pool.count(pool.language_of),
        "top": TOP,
        "encoders": found,
    }
