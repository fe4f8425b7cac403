"""Where the languages lie in the vectors' space: two principal components, and how well a language is told from it."""

import numpy as np

# Points of a language and kind that a figure shows.
POINTS = 60
HOLDOUT = 1 / 3


def project(asked, given, pool, points=POINTS, seed=0):
    """LAReQA, Figure 5: the first two principal components of all questions and candidates.

    `{"explained": [share of the variance, two], "points": {language: {"questions": [[x, y]], "candidates": …}}}`,
    at most `points` of each, a seeded choice. A component's sign is such that its largest weight is positive.
    """
    from sklearn.decomposition import PCA

    found = PCA(2, svd_solver="covariance_eigh").fit(np.concatenate([asked, given]))
    random = np.random.default_rng(seed)
    sets = {"questions": (asked, pool.asked_in), "candidates": (given, pool.language_of)}
    shown = {
        language: {
            kind: _points(found, vectors[languages == number], points, random)
            for kind, (vectors, languages) in sets.items()
        }
        for number, language in enumerate(pool.languages)
    }
    return {"explained": shares(found.explained_variance_, asked, given), "points": shown}


def shares(variances, *parts):
    """Of the whole variance of `(n, d)` parts together; 0 where there is none."""
    total = float(np.concatenate(parts).var(axis=0, ddof=1).sum())
    return [float(variance) / total if total else 0.0 for variance in variances]


def _points(found, vectors, points, random):
    chosen = np.sort(random.permutation(len(vectors))[:points])
    return [[round(float(x), 4), round(float(y), 4)] for x, y in found.transform(vectors[chosen])]


def identify(asked, given, pool, pivot=None, seed=0):
    """LAReQA, section 5.4: the language of a vector by logistic regression, accuracy on a third that was held out.

    `{"accuracy": among all languages, "chance": the largest language's share, "pivot", "against": {language: accuracy
    among it and the pivot}}`; the pivot is the first language unless it is given. The third is the same share of each
    language, a seeded choice. None with one language; an accuracy is None where there are too few vectors for it.
    """
    if len(pool.languages) < 2:
        return None
    vectors, labels = np.concatenate([asked, given]), np.concatenate([pool.asked_in, pool.language_of])
    pivot = pivot if pivot in pool.languages else pool.languages[0]
    first = pool.languages.index(pivot)
    against = {}
    for number, language in enumerate(pool.languages):
        if number != first:
            rows = (labels == number) | (labels == first)
            against[language] = _accuracy(vectors[rows], labels[rows], seed)
    chance = float(np.bincount(labels).max() / len(labels))
    return {"accuracy": _accuracy(vectors, labels, seed), "chance": chance, "pivot": pivot, "against": against}


def _accuracy(vectors, labels, seed):
    counts = np.unique(labels, return_counts=True)[1]
    if counts.min() < 2 or HOLDOUT * len(labels) < len(counts):
        return None
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split

    parts = train_test_split(vectors, labels, test_size=HOLDOUT, random_state=seed, stratify=labels)
    train, test, train_labels, test_labels = parts
    model = LogisticRegression(max_iter=1000).fit(train, train_labels)
    return float(model.score(test, test_labels))
