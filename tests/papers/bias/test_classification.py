"""Against NumPy's SVD, scikit-learn's classifier and SciPy's test."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression

from distill.encoders.encoder import normalise_rows
from distill.encoders.removal_fitting import RemovalOptions
from distill.errors import DataError
from distill.papers.bias.analyses import Samples
from distill.papers.bias.classification import LabelledTexts, correct_by_rank, encode_labelled, load_labelled
from distill.papers.tasks.classification import compare_with_plain

LANGUAGES, LABELS, TRAIN, TEST, DIMENSION = ("en", "de", "th"), 3, 60, 40, 12


@pytest.fixture(scope="module")
def data():
    labels = np.array([f"label {number % LABELS}" for number in range(TRAIN + TEST)])
    texts = {language: [f"{language} {row}" for row in range(TRAIN + TEST)] for language in LANGUAGES}
    partitions, ids = np.array(["train"] * TRAIN + ["test"] * TEST), np.array(list(map(str, range(TRAIN + TEST))))
    return LabelledTexts("toys", "en", "test", texts, labels, partitions, ids)


@pytest.fixture(scope="module")
def given():
    """Unit vectors `{text: (d,)}`: an axis a label, noise, and a long offset of each language."""
    random = np.random.default_rng(3)
    offsets = dict(zip(LANGUAGES, 2 * random.normal(size=(3, DIMENSION)), strict=True))
    rows = {
        f"{language} {row}": offsets[language] + np.eye(DIMENSION)[row % LABELS] + random.normal(size=DIMENSION) / 2
        for language in LANGUAGES
        for row in range(TRAIN + TEST)
    }
    return dict(zip(rows, normalise_rows(np.array(list(rows.values()), dtype=np.float32)), strict=True))


@pytest.fixture(scope="module")
def vectors(data, given):
    class Given:
        name, dimension = "given", DIMENSION

        def encode(self, texts, role="question", progress=None):
            return np.array([given[text] for text in texts])

    samples = Samples("train", {language: data.select(language, "train") for language in LANGUAGES})
    return encode_labelled(Given(), data, samples)


def expected(given, rank, rescaled):
    """Which test texts of each language get their label, all of it in float64."""
    left = {}
    for language in LANGUAGES:
        rows = np.array([given[f"{language} {row}"] for row in range(TRAIN + TEST)], dtype=np.float64)
        directions = np.linalg.svd(rows[:TRAIN])[2][:rank]
        left[language] = rows - rows @ directions.T @ directions
        if rescaled:
            left[language] /= np.linalg.norm(left[language], axis=1, keepdims=True)
    labels = np.arange(TRAIN + TEST) % LABELS
    model = LogisticRegression(max_iter=1000).fit(left["en"][:TRAIN], labels[:TRAIN])
    return {language: model.predict(rows[TRAIN:]) == labels[TRAIN:] for language, rows in left.items()}


@pytest.mark.parametrize("rescaled", [True, False])
def test_directions_are_removed_from_what_is_learned_and_what_is_asked(vectors, given, rescaled):
    right = correct_by_rank(vectors, RemovalOptions((1, 2), rescaled))
    assert list(right) == [0, 1, 2]
    for rank, by_language in right.items():
        for language, values in expected(given, rank, rescaled and rank > 0).items():
            assert by_language[language].tolist() == values.tolist(), (rank, language)
    # What is left of a weakly aligned space is the labels: German and Thai gain.
    assert right[1]["de"].mean() > right[0]["de"].mean() + 0.1


def test_accuracy_is_tested_against_nothing_removed_and_corrected(vectors):
    right = correct_by_rank(vectors, RemovalOptions((1, 2)))
    figures = compare_with_plain(right, "train")
    ps = {}
    for rank in (1, 2):
        for language in LANGUAGES:
            row, (new, old) = figures.ranks[rank][language], (right[rank][language], right[0][language])
            assert (row.gained, row.lost) == (sum(new & ~old), sum(old & ~new))
            assert row.accuracy == new.mean() and figures.plain[language] == old.mean()
            differ = row.gained + row.lost
            assert differ < 25 and row.p == pytest.approx(binomtest(row.gained, differ).pvalue if differ else 1)
            ps[rank, language] = row.p
    # Holm: the k-th smallest of n times n - k + 1, never below one before it.
    highest = 0.0
    for place, (key, p) in enumerate(sorted(ps.items(), key=lambda item: item[1])):
        highest = max(highest, min(1.0, p * (len(ps) - place)))
        assert figures.ranks[key[0]][key[1]].p_holm == pytest.approx(highest)
        assert figures.ranks[key[0]][key[1]].significant == (highest < 0.05)


def test_no_more_directions_are_removed_than_the_samples_have(vectors):
    few = {language: rows[:2] for language, rows in vectors.samples.items()}
    narrow = type(vectors)(vectors.data, vectors.learned, vectors.tested, few, "few")
    assert list(correct_by_rank(narrow, RemovalOptions((1, 2, 5)))) == [0, 1, 2]


HEAD = "id\tpartition\tintent\ten\tde\n"
ROWS = "7\ttrain\ta\tone\teins\n8\ttrain\tb\ttwo\t\n9\ttest\ta\tthree\tdrei\n10\ttest\tb\tfour\t \n"


@pytest.fixture
def table(tmp_path):
    def write(text):
        path = tmp_path / "a.tsv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_rows_have_a_label_a_partition_and_texts_in_some_of_the_languages(table, tmp_path):
    data = load_labelled(table(HEAD + ROWS))
    assert (data.name, list(data.texts)) == (f"{tmp_path.name}/a", ["en", "de"])
    assert data.select("en", "train") == ["one", "two"] and data.select("de", "test") == ["drei"]
    assert data.labels[data.rows("de", "test")].tolist() == ["a"]
    assert data.ids[data.rows("en", "test")].tolist() == ["9", "10"]
    assert list(load_labelled(table(HEAD + ROWS), ("en",)).texts) == ["en"]


def test_the_labels_column_may_have_any_name_and_rows_need_none(table):
    text = (HEAD + ROWS).replace("intent", "topic").replace("partition", "split").replace("id\t", "number\t")
    data = load_labelled(table(text), column="topic")
    assert data.labels.tolist() == ["a", "b", "a", "b"] and data.ids.tolist() == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("text", "languages", "said"),
    [
        ((HEAD + ROWS).replace("intent", "topic"), (), "labels"),
        ((HEAD + ROWS).replace("partition", "part"), (), "partitions"),
        ((HEAD + ROWS).replace("\tb\t", "\ta\t"), (), "only one label, 'a'"),
        ((HEAD + ROWS).replace("train\tb", "train\t"), (), "without a label"),
        ((HEAD + ROWS).replace("test", "dev"), (), "partition test; the partitions are dev, train"),
        (HEAD + ROWS, ("en", "th"), "column th"),
        ((HEAD + ROWS).replace("drei", ""), (), "no texts in de"),
        ((HEAD + ROWS).replace("test\tb", "test\t"), (), "without a label in test"),
        ((HEAD + ROWS).replace("10\t", "9\t"), (), "several rows in test, such as '9'"),
    ],
)
def test_a_table_that_nothing_can_be_learned_from_is_refused(table, text, languages, said):
    path = table(text)
    with pytest.raises(DataError, match=f"^{path}: .*{said}"):
        load_labelled(path, languages)


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(DataError, match=f"^{tmp_path}: "):
        load_labelled(tmp_path)


def test_the_option_of_the_labels_column_is_told_where_that_is_missing_alone(table):
    for heading, told in (("intent", True), ("partition", False)):
        with pytest.raises(DataError) as raised:
            load_labelled(table((HEAD + ROWS).replace(heading, "topic")))
        assert ("--label-column" in str(raised.value)) is told
