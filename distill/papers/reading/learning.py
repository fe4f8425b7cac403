"""The work of `distill read train`: from sources and a data set to a trained network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import keras
import numpy as np

from ...data.dataset import normalise
from ...encoders.encoder import Encoder
from ...errors import DataError
from ...system.progress import say, task
from ...training.session import Scores, Session
from .examples import Example, make_hard_unanswerable, make_unanswerable
from .files import ReaderSource, read_source
from .inputs import Featuriser, TextFeatures
from .network import ReaderNetwork
from .training import Batches, DevScorer, ReaderOptions, fit_reader, make_reader_examples

# The share of examples that are also asked on a passage that does not answer them.
UNANSWERABLE_SHARE = 0.1
# The weight of a question on the passage of its own language, if the passage exists in the documents' language too.
OWN_LANGUAGE_WEIGHT = 0.2


@dataclass(frozen=True)
class TrainedReader:
    """The result of a training. `scores` are scores on dev by epoch, those of the untrained start first."""

    network: ReaderNetwork
    scores: list[Scores]
    examples: int

    @property
    def has_improved(self) -> bool:
        """Return True if an epoch was better on dev than the untrained start."""
        first = self.scores[0]
        return any((one["f1"], one["em"]) > (first["f1"], first["em"]) for one in self.scores)

    @property
    def best(self) -> Mapping[str, float]:
        """Return F1 and exact match on dev of the weights that were kept."""
        best = max(self.scores, key=lambda one: (one["f1"], one["em"]))
        return {"f1": best["f1"], "em": best["em"]}


def train_on_sources(
    features: TextFeatures,
    sources: Sequence[ReaderSource],
    dev: Mapping[str, Sequence[Example]],
    language: str,
    options: ReaderOptions,
    session: Session | None = None,
) -> TrainedReader:
    """Train a reader; epochs are chosen on dev.

    A question that dev asks, in any language, is not learned from. `dev` is `{language: examples}` that epochs are
    chosen on.
    """
    if not any(dev.values()):
        raise DataError("no question of dev has an answer to choose epochs by; give a --dataset with answers")
    held = {normalise(example.question) for examples in dev.values() for example in examples}
    examples, weights = weighted_examples(sources, language, held, options, features.encoder)
    if not examples:
        raise DataError("dev asks every question that could be learned from; give others with --data")
    featuriser = Featuriser(features)
    with task("features of the reader's examples", len(examples)) as advance:
        reader_examples = make_reader_examples(examples, weights, featuriser, advance)
    say(f"reader: {len(reader_examples):,} examples, {sum(one.weight for one in reader_examples):,.0f} per epoch")
    keras.utils.set_random_seed(options.seed)
    width = features.embeddings(reader_examples[0].seen.passage.ids[:1]).shape[1]
    network = ReaderNetwork(width, features.encoder.dimension)
    scores = fit_reader(
        network, Batches(reader_examples, features, options), DevScorer(dev, featuriser), options, session
    )
    return TrainedReader(network, scores, len(reader_examples))


def weighted_examples(
    sources: Sequence[ReaderSource], language: str, held: set[str], options: ReaderOptions, encoder: Encoder
) -> tuple[list[Example], list[float]]:
    """Return the examples of sources, some without an answer, and how often each is drawn per epoch.

    An example that is drawn less than once in all epochs is either taken once or left out, by a seeded draw.
    """
    examples, weights = [], []
    for source in sources:
        given = [example for example in read_source(source, language) if normalise(example.question) not in held]
        both = {example.id for example in given if example.passage.language != example.language}
        without = (
            make_hard_unanswerable(given, UNANSWERABLE_SHARE, options.seed, encoder)
            if options.retrieved
            else make_unanswerable(given, UNANSWERABLE_SHARE, options.seed)
        )
        for example in (*given, *without):
            rare = example.id in both and example.language == example.passage.language != language
            examples.append(example)
            weights.append(source.weight * (OWN_LANGUAGE_WEIGHT if rare else 1))
    return _take_examples(examples, np.array(weights), options)


def _take_examples(examples, weights, options):
    chances = weights * options.epochs
    kept = np.flatnonzero(np.random.default_rng((options.seed, 8)).random(len(chances)) < chances)
    return [examples[row] for row in kept], np.maximum(weights[kept], 1 / options.epochs).tolist()
