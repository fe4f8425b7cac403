"""All analyses of an encoder's language bias on one pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from ...data.corpus import sample_texts
from ...data.pool import Pool
from ...encoders.encoder import Encoder
from ...encoders.removal_fitting import DEFAULT_REMOVAL, SENTENCES, RemovalOptions, Samples, fit_highest_rank
from ...system.progress import task
from ...system.types import Doubles, Floats, Integers, Json, Progress
from .lareqa import (
    TOP,
    LareqaFigures,
    LareqaRanking,
    MeanPrecision,
    encode_pool,
    mean_average_precision,
    precisions_of,
    rank_pool,
)
from .space import Identification, Projection, has_variance, identify, project


@dataclass(frozen=True)
class RemovalFigures:
    """The table of language information removal (LIR).

    Attributes:
        ranks: `{number of removed components: mAP}`.
        pca: The plane of the vectors with the fewest components removed, as in LIR's Figure 2; None if none could be
            removed.
    """

    corpus: str
    ranks: dict[int, MeanPrecision]
    pca: Projection | None = None

    def as_dict(self) -> dict[str, Json]:
        """Return plain values, as `metrics.json` stores them."""
        ranks = {str(rank): asdict(row) for rank, row in self.ranks.items()}
        return {"corpus": self.corpus, "ranks": ranks, "pca": asdict(self.pca) if self.pca else None}


@dataclass(frozen=True)
class BiasFigures:
    """All analyses of an encoder on a pool; without a second language none of identification (`language_id`)."""

    lareqa: LareqaFigures
    pca: Projection
    language_id: Identification | None
    lir: RemovalFigures

    def as_dict(self) -> dict[str, Json]:
        """Return plain values, as `metrics.json` stores them."""
        language_id = asdict(self.language_id) if self.language_id else None
        spaces: dict[str, Json] = {"pca": asdict(self.pca), "language_id": language_id, "lir": self.lir.as_dict()}
        return {**self.lareqa.as_dict(), **spaces}


@dataclass(frozen=True)
class PoolVectors:
    """An encoder's vectors of a pool.

    Attributes:
        questions: Float array `(q, d)`.
        candidates: Float array `(c, d)`.
        samples: `{language: vectors}` that language information removal is fitted on.
    """

    pool: Pool
    questions: Floats
    candidates: Floats
    samples: dict[str, Floats]
    corpus: str

    @cached_property
    def ranking(self) -> LareqaRanking:
        return rank_pool(self.questions, self.candidates, self.pool)


def measure_bias(
    encoder: Encoder,
    pool: Pool,
    pivot: str = "en",
    samples: Samples | None = None,
    name: str | None = None,
    seed: int = 0,
) -> BiasFigures:
    """Encode a pool and analyse the vectors. Raises `EncoderError` if vectors hold NaN or infinity.

    Args:
        samples: Texts that language information removal is fitted on; None for the pool's own sentences.
        name: Name of the encoder in the progress report; None for its own name.
    """
    name = name or encoder.name
    samples = draw_samples(samples, pool, seed)
    with task(f"lareqa: encode for {name}", pool_size(pool, samples)) as advance:
        vectors = encode_with_samples(encoder, pool, samples, advance)
    return analyse(vectors, pivot, name, seed)


def draw_samples(samples: Samples | None, pool: Pool, seed: int) -> Samples | None:
    """Draw at most `SENTENCES` texts of each of the pool's languages. Returns the sample; None without texts."""
    if samples is None:
        return None
    texts = {language: sample_texts(samples.texts[language], SENTENCES, seed) for language in pool.languages}
    return Samples(samples.name, texts)


def pool_size(pool: Pool, samples: Samples | None = None) -> int:
    """Return the number of texts that are encoded: those of a pool, and the samples if they are not its own."""
    return len(pool.questions) + len(pool.sentences) + sum(map(len, samples.texts.values() if samples else ()))


def encode_with_samples(
    encoder: Encoder, pool: Pool, samples: Samples | None = None, progress: Progress | None = None
) -> PoolVectors:
    """Encode a pool and the samples. Raises `EncoderError` if vectors hold NaN or infinity."""
    questions, candidates = encode_pool(encoder, pool, progress)
    if samples is None:
        of_sentences = split_by_language(candidates, pool.language_of, pool.languages)
        return PoolVectors(pool, questions, candidates, of_sentences, "the pool's own sentences")
    vectors = {language: encoder.encode(lines, "document", progress) for language, lines in samples.texts.items()}
    return PoolVectors(pool, questions, candidates, vectors, samples.name)


def analyse(
    vectors: PoolVectors, pivot: str = "en", name: str = "", seed: int = 0, removed: RemovalOptions = DEFAULT_REMOVAL
) -> BiasFigures:
    both = vectors.questions, vectors.candidates
    with task(f"lareqa: analyse {name}", 3 + len(removed.ranks)) as step:
        figures = vectors.ranking.figures()
        step()
        pca = project(*both, vectors.pool, seed=seed)
        step()
        language_id = identify(*both, vectors.pool, pivot, seed)
        step()
        return BiasFigures(figures, pca, language_id, removal_table(vectors, figures.precision, step, removed, seed))


def split_by_language(vectors: Floats, numbers: Integers, languages: Sequence[str]) -> dict[str, Floats]:
    """Split vectors by language. Returns `{language: vectors}`.

    Args:
        vectors: Float array `(n, d)`.
        numbers: Integer array `(n,)`, the number of each vector's language.
    """
    return {language: vectors[numbers == number] for number, language in enumerate(languages)}


def removal_table(
    vectors: PoolVectors,
    plain: MeanPrecision,
    step: Callable[[], None] = lambda: None,
    removed: RemovalOptions = DEFAULT_REMOVAL,
    seed: int = 0,
) -> RemovalFigures:
    """Return mAP with more and more components removed.

    The table has fewer rows if a language's sample does not span enough directions. `step` is called once per row.
    """
    pool = vectors.pool
    ranks, pca = {0: plain}, None
    for rank, questions, candidates in _without_directions(vectors, removed):
        ranks[rank] = mean_average_precision(questions, candidates, pool)
        if pca is None and has_variance(questions, candidates):
            pca = project(questions, candidates, pool, seed=seed)
        step()
    return RemovalFigures(vectors.corpus, ranks, pca)


def removed_precisions(vectors: PoolVectors, removed: RemovalOptions) -> dict[str, Doubles]:
    """Return each question's average precision, `(q,)`, with r directions removed, under `r=1` and so on."""
    return {
        f"r={rank}": precisions_of(questions, candidates, vectors.pool)
        for rank, questions, candidates in _without_directions(vectors, removed)
    }


def _without_directions(vectors, removed):
    """Yield the numbers of directions, with the vectors of questions and of candidates that they leave."""
    removal, pool = fit_highest_rank(vectors.samples, removed.ranks), vectors.pool
    for rank in (rank for rank in removed.ranks if removal and rank <= removal.rank):
        yield (
            rank,
            *(
                _left(removed, removal, rows, numbers, pool.languages, rank)
                for rows, numbers in ((vectors.questions, pool.asked_in), (vectors.candidates, pool.language_of))
            ),
        )


def _left(removed, removal, vectors, numbers, languages, rank):
    rest = vectors.copy()
    for number, language in enumerate(languages):
        rest[numbers == number] = removed.of(removal, vectors[numbers == number], language, rank)
    return rest


def as_metrics_section(pool: Pool, split: str, encoders: Mapping[str, Json]) -> dict[str, Json]:
    """Return the section `lareqa` of `metrics.json`. `encoders` is `{name: plain values of the encoder's analyses}`."""
    return {
        "name": pool.name,
        "split": split,
        "languages": list(pool.languages),
        "questions": pool.count(pool.asked_in),
        "candidates": pool.count(pool.language_of),
        "top": count_top(pool),
        "encoders": encoders,
    }


def count_top(pool: Pool) -> int:
    """Return the number of first places that shares are computed over."""
    return min(TOP, len(pool.sentences))
