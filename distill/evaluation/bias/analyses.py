"""Everything that is said of an encoder's language bias on one pool."""

from ...data.corpus import sampled
from ...errors import InputError
from ...system.progress import task
from .lareqa import TOP, encode_pool, mean_average_precision, rank_pool
from .removal import LanguageRemoval
from .space import identify, project

# Components removed in the LIR table (Yang et al., 2021, Tables 1 and 5).
RANKS = (1, 2, 3, 4)
# Sentences a language that LIR is fitted on, at most, as in the paper.
SENTENCES = 10_000


def measure_bias(encoder, pool, pivot="en", corpus=None, name=None, seed=0):
    """All analyses of an encoder on a `Pool`, plain values as `metrics.json` keeps them.

    `corpus`, `(its name, {language: [text]})`, is what language information removal is fitted on, by default the
    pool's own sentences. `name` is what progress calls the encoder.
    """
    name = name or encoder.name
    texts = {language: sampled(corpus[1][language], SENTENCES, seed) for language in pool.languages} if corpus else {}
    size = len(pool.questions) + len(pool.sentences) + sum(map(len, texts.values()))
    with task(f"lareqa: encode for {name}", size) as advance:
        asked, given = encode_pool(encoder, pool, advance)
        samples = {language: encoder.encode(lines, "document", advance) for language, lines in texts.items()}
    if not corpus:
        samples = by_language(given, pool.language_of, pool.languages)
    with task(f"lareqa: analyse {name}", 3 + len(RANKS)) as step:
        found = rank_pool(asked, given, pool).table()
        step()
        found["pca"] = project(asked, given, pool, seed=seed)
        step()
        found["language_id"] = identify(asked, given, pool, pivot, seed)
        step()
        source = corpus[0] if corpus else "the pool's own sentences"
        found["lir"] = removal_table(asked, given, pool, source, samples, found, step)
    return found


def by_language(vectors, numbers, languages):
    """`{language: its rows}`."""
    return {language: vectors[numbers == number] for number, language in enumerate(languages)}


def removal_table(asked, given, pool, source, samples, plain, step=lambda: None):
    """`{"corpus", "ranks": {r: {"map", "languages"}}}`: LIR by language with r = 0…4 components removed.

    Fewer where a language's sample does not span so many directions.
    """
    removal = fitted(samples)
    ranks = {"0": {"map": plain["map"], "languages": plain["languages"]}}
    for rank in RANKS[: removal.rank if removal else 0]:
        asked_in, given_in = [
            _removed(removal, vectors, numbers, pool.languages, rank)
            for vectors, numbers in ((asked, pool.asked_in), (given, pool.language_of))
        ]
        ranks[str(rank)] = mean_average_precision(asked_in, given_in, pool)
        step()
    return {"corpus": source, "ranks": ranks}


def fitted(samples):
    """A `LanguageRemoval` of as many directions as each sample has, four at most; None where one has none."""
    for rank in reversed(RANKS):
        try:
            return LanguageRemoval.fit(samples, rank)
        except InputError:
            continue
    return None


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
        "top": min(TOP, len(pool.sentences)),
        "encoders": found,
    }
