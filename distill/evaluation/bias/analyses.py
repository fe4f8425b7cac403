"""Everything that is said of an encoder's language bias on one pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from ...data.corpus import sampled
from ...data.pool import Pool
from ...encoders.encoder import Encoder
from ...errors import InputError
from ...system.progress import task
from ...system.types import Floats, Integers, Json, Progress
from .fitting import AS_EVER, Removed, fitted
from .lareqa import TOP, Lareqa, LareqaFigures, MeanPrecision, encode_pool, mean_average_precision, rank_pool
from .space import Identification, Projection, identify, project, vary

# Sentences a language that LIR is fitted on, at most, as in the paper.
SENTENCES = 10_000


@dataclass(frozen=True)
class Samples:
    """Texts by language that language information removal is fitted on, and their name."""

    name: str
    texts: Mapping[str, list[str]]

    @property
    def counts(self) -> dict[str, int]:
        """The number of texts by language."""
        return {language: len(texts) for language, texts in self.texts.items()}


@dataclass(frozen=True)
class RemovalFigures:
    """LIR's table: mAP with r components removed, by r, learned from the `corpus`.

    `pca` is the plane of the vectors with the fewest removed, LIR's Figure 2; None where none could be.
    """

    corpus: str
    ranks: dict[int, MeanPrecision]
    pca: Projection | None = None

    def as_dict(self) -> dict[str, Json]:
        """Plain values, as `metrics.json` keeps them."""
        ranks = {str(rank): asdict(row) for rank, row in self.ranks.items()}
        return {"corpus": self.corpus, "ranks": ranks, "pca": asdict(self.pca) if self.pca else None}


@dataclass(frozen=True)
class BiasFigures:
    """All analyses of an encoder on a `Pool`; `language_id` is None with one language."""

    lareqa: LareqaFigures
    pca: Projection
    language_id: Identification | None
    lir: RemovalFigures

    def as_dict(self) -> dict[str, Json]:
        """Plain values, as `metrics.json` keeps them."""
        language_id = asdict(self.language_id) if self.language_id else None
        spaces: dict[str, Json] = {"pca": asdict(self.pca), "language_id": language_id, "lir": self.lir.as_dict()}
        return {**self.lareqa.as_dict(), **spaces}


@dataclass(frozen=True)
class PoolVectors:
    """An encoder's vectors of a `Pool`: `questions` `(q, d)`, `candidates` `(c, d)`, and by language of `corpus`.

    `samples` are those that language information removal is fitted on.
    """

    pool: Pool
    questions: Floats
    candidates: Floats
    samples: dict[str, Floats]
    corpus: str

    @cached_property
    def ranking(self) -> Lareqa:
        """The questions' ranking of the candidates."""
        return rank_pool(self.questions, self.candidates, self.pool)


def measure_bias(
    encoder: Encoder,
    pool: Pool,
    pivot: str = "en",
    samples: Samples | None = None,
    name: str | None = None,
    seed: int = 0,
) -> BiasFigures:
    """Encode a `Pool` and analyse the vectors; `name` is what progress calls the encoder.

    Language information removal is fitted on `samples`, by default the pool's own sentences.
    """
    name = name or encoder.name
    samples = drawn(samples, pool, seed)
    with task(f"lareqa: encode for {name}", pool_size(pool, samples)) as advance:
        vectors = encode_with_samples(encoder, pool, samples, advance)
    return analyse(vectors, pivot, name, seed)


def drawn(samples: Samples | None, pool: Pool, seed: int) -> Samples | None:
    """At most `SENTENCES` texts of each of the pool's languages, drawn by the seed."""
    if samples is None:
        return None
    texts = {language: sampled(samples.texts[language], SENTENCES, seed) for language in pool.languages}
    return Samples(samples.name, texts)


def require_samples(samples: Samples, languages: Sequence[str]) -> None:
    """Raise `InputError` where a language has no sample text."""
    missing = [language for language in languages if language not in samples.texts]
    if missing:
        raise InputError(
            f"--corpus has no text in {', '.join(missing)}: LIR needs some of each language; "
            f"it has {', '.join(sorted(samples.texts))}"
        )


def pool_size(pool: Pool, samples: Samples | None = None) -> int:
    """The number of texts that `encode_with_samples` encodes."""
    return len(pool.questions) + len(pool.sentences) + sum(map(len, samples.texts.values() if samples else ()))


def encode_with_samples(
    encoder: Encoder, pool: Pool, samples: Samples | None = None, progress: Progress | None = None
) -> PoolVectors:
    """Return the vectors of a pool and of the `samples`, without which its own sentences' are the samples."""
    questions, candidates = encode_pool(encoder, pool, progress)
    if samples is None:
        of_sentences = by_language(candidates, pool.language_of, pool.languages)
        return PoolVectors(pool, questions, candidates, of_sentences, "the pool's own sentences")
    vectors = {language: encoder.encode(lines, "document", progress) for language, lines in samples.texts.items()}
    return PoolVectors(pool, questions, candidates, vectors, samples.name)


def analyse(
    vectors: PoolVectors, pivot: str = "en", name: str = "", seed: int = 0, removed: Removed = AS_EVER
) -> BiasFigures:
    """Return all analyses; language identification is against the language `pivot`."""
    both = vectors.questions, vectors.candidates
    with task(f"lareqa: analyse {name}", 3 + len(removed.ranks)) as step:
        figures = vectors.ranking.figures()
        step()
        pca = project(*both, vectors.pool, seed=seed)
        step()
        language_id = identify(*both, vectors.pool, pivot, seed)
        step()
        return BiasFigures(figures, pca, language_id, removal_table(vectors, figures.precision, step, removed, seed))


def by_language(vectors: Floats, numbers: Integers, languages: Sequence[str]) -> dict[str, Floats]:
    """`{language: its rows}`."""
    return {language: vectors[numbers == number] for number, language in enumerate(languages)}


def removal_table(
    vectors: PoolVectors,
    plain: MeanPrecision,
    step: Callable[[], None] = lambda: None,
    removed: Removed = AS_EVER,
    seed: int = 0,
) -> RemovalFigures:
    """Return LIR's figures with as many components removed as `removed` says; `plain` is mAP with none.

    Fewer rows where a language's sample does not span so many directions.
    """
    removal, pool = fitted(vectors.samples, removed.ranks), vectors.pool
    ranks, pca = {0: plain}, None
    for rank in (rank for rank in removed.ranks if removal and rank <= removal.rank):
        questions, candidates = [
            _left(removed, removal, rows, numbers, pool.languages, rank)
            for rows, numbers in ((vectors.questions, pool.asked_in), (vectors.candidates, pool.language_of))
        ]
        ranks[rank] = mean_average_precision(questions, candidates, pool)
        if pca is None and vary(questions, candidates):
            pca = project(questions, candidates, pool, seed=seed)
        step()
    return RemovalFigures(vectors.corpus, ranks, pca)


def _left(removed, removal, vectors, numbers, languages, rank):
    rest = vectors.copy()
    for number, language in enumerate(languages):
        rest[numbers == number] = removed.of(removal, vectors[numbers == number], language, rank)
    return rest


def described(pool: Pool, split: str, encoders: Mapping[str, Json]) -> dict[str, Json]:
    """Return the section `lareqa` of `metrics.json`; `encoders`: `{name: BiasFigures.as_dict()}`."""
    return {
        "name": pool.name,
        "split": split,
        "languages": list(pool.languages),
        "questions": pool.count(pool.asked_in),
        "candidates": pool.count(pool.language_of),
        "top": top_of(pool),
        "encoders": encoders,
    }


def top_of(pool: Pool) -> int:
    """The number of first places that shares are of."""
    return min(TOP, len(pool.sentences))
