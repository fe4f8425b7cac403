"""LIR against hand-made cases and NumPy's own SVD; what Equation 1 of the paper says, of unit vectors and of others."""

import math
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from distill.encoders.language_removal import LanguageRemoval
from distill.errors import DataError, InputError

RIGHT = math.sqrt(0.5)


def unit_rows(n, d, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def samples():
    """Two languages of 40 texts in 6 dimensions, each with an offset of its own."""
    return {"de": unit_rows(40, 6, 1) + [2, 0, 0, 0, 0, 1], "th": unit_rows(40, 6, 2) - [0, 3, 0, 1, 0, 0]}


@pytest.fixture(scope="module")
def removal(samples):
    return LanguageRemoval.fit(samples, rank=3, encoder="toy")


def equation_1(vectors, components):
    """As the paper has it, a row at a time: e - c (c^T e / ||e||), c `(d, r)`."""
    c = components.T
    return np.array([e - c @ (c.T @ e / np.linalg.norm(e)) for e in vectors])


def test_by_hand_the_axis_with_the_longest_samples_comes_first_uncentred_of_few_texts_too():
    sample = np.array([[0.0, 3.0, 0.0], [0.0, 0.0, 1.0], [0.0, -3.0, 0.0], [0.0, 0.0, -2.0]])
    components = LanguageRemoval.fit({"de": sample}, rank=2).components["de"]
    np.testing.assert_allclose(components, [[0, 1, 0], [0, 0, 1]], atol=1e-7)
    assert components.dtype == np.float32
    # Centred, the direction would be the second axis, the only one along which the two texts differ.
    components = LanguageRemoval.fit({"de": np.array([[1.0, 0.1], [1.0, -0.1]])}, rank=1).components["de"]
    np.testing.assert_allclose(components, [[1, 0]], atol=1e-7)
    # Fewer texts than dimensions span themselves.
    components = LanguageRemoval.fit({"de": unit_rows(2, 6)}, rank=2).components["de"]
    np.testing.assert_allclose(unit_rows(2, 6) @ components.T @ components, unit_rows(2, 6), atol=1e-6)


def test_components_are_numpys_right_singular_vectors_of_a_sign_that_texts_in_any_order_give(samples, removal):
    for language, sample in samples.items():
        _, _, right = np.linalg.svd(sample)
        components = removal.components[language]
        np.testing.assert_allclose(np.abs(components @ right[:3].T), np.eye(3), atol=1e-5)
        np.testing.assert_allclose(components @ components.T, np.eye(3), atol=1e-6)
    again = LanguageRemoval.fit({"de": -samples["de"][::-1]}, rank=3)
    np.testing.assert_allclose(again.components["de"], removal.components["de"], atol=1e-6)
    assert all(row[np.abs(row).argmax()] > 0 for row in again.components["de"])


def test_a_laeuchli_matrix_keeps_its_small_direction():
    # Products of the sample with itself are [[1, 1], [1, 1]] in float64: the second direction is lost there.
    sample = np.array([[1, 1], [1e-9, 0], [0, 1e-9]])
    assert np.linalg.eigvalsh(sample.T @ sample)[0] == pytest.approx(0, abs=1e-17)
    components = LanguageRemoval.fit({"de": sample}, rank=2).components["de"]
    np.testing.assert_allclose(np.abs(components), [[RIGHT, RIGHT], [RIGHT, RIGHT]], atol=1e-6)
    assert components[0] @ components[1] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    "given, rank, said",
    [
        ({}, 1, "text"),
        ({"de": np.eye(3), "th": np.eye(3)[:1]}, 2, " th: 1 .* 2"),
        ({"de": np.eye(3), "th": np.ones((5, 3))}, 2, " th: .* 1 .* 2"),
        ({"de": np.eye(3), "th": np.zeros((5, 3))}, 1, " th: .* 0 "),
        ({"de": np.eye(3), "th": np.eye(4)}, 1, " th .*4.* de 3;"),
        ({"de": np.eye(3), "th": np.full((3, 3), np.nan)}, 1, " th: 3 .* 3 .*NaN"),
        ({"de": np.eye(3), "th": np.ones(3)}, 1, " th: "),
        ({"de": np.eye(3, dtype=int)}, 1, " de: "),
        ({"de": np.empty((4, 0))}, 1, " de: "),
        ({"de": np.eye(3)}, 0, "rank: .* 0"),
        ({"de": np.eye(3)}, 4, " de: 3 .* 4"),
    ],
)
def test_samples_that_cannot_be_used_name_their_language(given, rank, said):
    with pytest.raises(InputError, match=said):
        LanguageRemoval.fit(given, rank)


def test_by_hand_what_lies_along_a_component_is_gone_and_a_row_within_them_zeros_not_rounding(removal):
    # c = (1, 0): of (.6, .8) the second axis is left, of (0, -1) all; (1, 0) has nothing else.
    axis = LanguageRemoval({"de": np.array([[1, 0]], np.float32)})
    got = axis.remove(np.array([[0.6, 0.8], [0, -1], [1, 0]]), "de")
    np.testing.assert_allclose(got, [[0, 1], [0, -1], [0, 0]], atol=1e-7)
    assert got.dtype == np.float32
    # Rounding scaled to unit length would be a direction like any other.
    inside = unit_rows(5, 3, 1) @ removal.components["de"]
    assert np.array_equal(removal.remove(inside.astype(np.float32), "de"), np.zeros((5, 6)))


def test_what_is_left_is_orthogonal_and_of_unit_length_and_has_the_directions_beyond_the_rank(removal):
    vectors = unit_rows(30, 6, 5)
    for rank in (1, 2, 3, None):
        got = removal.remove(vectors, "de", rank)
        np.testing.assert_allclose(got @ removal.components["de"][:rank].T, 0, atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1, atol=1e-6)
    kept = removal.remove(vectors, "de", 1) @ removal.components["de"][1]
    length = np.sqrt(1 - (vectors @ removal.components["de"][0]) ** 2)
    np.testing.assert_allclose(kept, vectors @ removal.components["de"][1] / length, atol=1e-5)
    once = removal.remove(vectors, "th")
    np.testing.assert_allclose(removal.remove(once, "th"), once, atol=1e-6)
    np.testing.assert_allclose(removal.remove(3 * vectors, "de", 0), vectors, atol=1e-6)
    assert removal.remove(np.zeros((0, 6)), "de").shape == (0, 6)


class Own:
    name, dimension = "own", 6

    def __init__(self, vector):
        self.vector = vector

    def encode(self, texts, role="question", progress=None):
        return np.array([self.vector] * len(texts), dtype=np.float32)


def test_components_are_of_one_encoder(removal, tmp_path):
    first, other = np.eye(6)[0], np.eye(6)[1]
    removal.require_own(Own(first))  # nothing is known
    replace(removal, probe=first.astype(np.float32)).save(tmp_path / "lir.npz")
    known = LanguageRemoval.load(tmp_path / "lir.npz")
    known.require_own(Own(first))
    with pytest.raises(InputError, match="'toy'.* 0.00"):
        known.require_own(Own(other))
    with pytest.raises(InputError, match="^own: 4 .* 6;"):
        short = Own(first)
        short.dimension = 4
        known.require_own(short)


def test_of_unit_vectors_equation_1_is_ours_before_scaling_and_of_others_no_projection(removal):
    components, vectors = removal.components["de"], 2 * unit_rows(30, 6, 5)
    papers = equation_1(vectors / 2, components)
    expected = papers / np.linalg.norm(papers, axis=1, keepdims=True)
    np.testing.assert_allclose(removal.remove(vectors / 2, "de"), expected, atol=1e-5)
    once = equation_1(vectors, components)
    # (1 - 1 / 2) of what lies along the components stays, so a second time takes more.
    np.testing.assert_allclose(once @ components.T, 0.5 * vectors @ components.T, atol=1e-5)
    assert np.abs(equation_1(once, components) - once).max() > 0.1
    ours = removal.remove(vectors, "de")
    np.testing.assert_allclose(ours @ components.T, 0, atol=1e-6)
    np.testing.assert_allclose(ours, removal.remove(vectors / 2, "de"), atol=1e-6)


@pytest.mark.parametrize(
    "vectors, language, rank, said",
    [
        (np.eye(6), "fr", 1, " fr; .* de, th"),
        (np.eye(6), "de", 4, "rank: .* 0 .* 3, .* 4"),
        (np.eye(6), "de", -1, "rank: .* 0 .* 3, .* -1"),
        (np.eye(5), "de", 1, " 5 .* 6"),
        (np.ones(6), "de", 1, "vectors: "),
        (np.full((2, 6), np.inf), "de", 1, " 2 .* 2 .*NaN"),
    ],
)
def test_what_cannot_be_removed_is_refused(removal, vectors, language, rank, said):
    with pytest.raises(InputError, match=said):
        removal.remove(vectors, language, rank)


def weakly_aligned():
    """Five meanings in two languages: meanings lie in the first two axes, languages far apart along the other two."""
    turns = np.arange(5) * 2 * np.pi / 5
    meanings = np.stack([np.cos(turns), np.sin(turns), 0 * turns, 0 * turns], axis=1)
    spaced = {"en": meanings + [0, 0, 3, 0], "ru": meanings + [0, 0, 0, 3]}
    return {language: rows / np.linalg.norm(rows, axis=1, keepdims=True) for language, rows in spaced.items()}


def nearest_of_all(vectors):
    """For each text the meaning and the language of the nearest other text, whatever its language."""
    rows, n = np.concatenate(list(vectors.values())), len(vectors["en"])
    scores = rows @ rows.T - 9 * np.eye(2 * n)
    best = scores.argmax(axis=1)
    return best % n, best // n


@pytest.mark.parametrize("how", ["by language", "shared"])
def test_with_one_direction_removed_the_nearest_text_is_the_translation(how):
    vectors = weakly_aligned()
    _, language = nearest_of_all(vectors)
    assert np.array_equal(language, np.repeat([0, 1], 5))  # self language bias
    removal = LanguageRemoval.fit(vectors, rank=1)
    if how == "shared":
        after = {name: rows @ removal.shared_matrix() for name, rows in vectors.items()}
    else:
        after = {name: removal.remove(rows, name) for name, rows in vectors.items()}
    meaning, language = nearest_of_all(after)
    assert np.array_equal(meaning, np.tile(np.arange(5), 2)) and np.array_equal(language, np.repeat([1, 0], 5))


def test_by_hand_the_shared_matrix_removes_what_all_languages_span():
    removal = LanguageRemoval(
        {"de": np.array([[1, 0, 0], [0, 0, 1]], np.float32), "th": np.array([[RIGHT, RIGHT, 0], [0, 0, 1]], np.float32)}
    )
    # (1, 0, 0) and (1, 1, 0) span the first two axes.
    np.testing.assert_allclose(removal.shared_matrix(1), np.diag([0, 0, 1]), atol=1e-6)
    np.testing.assert_allclose(removal.shared_matrix(0), np.eye(3), atol=0)
    assert removal.shared_matrix(1).dtype == np.float32
    with pytest.raises(InputError, match="2 .* 3 "):
        removal.shared_matrix()


def test_the_shared_matrix_is_an_orthogonal_projection_and_a_direction_of_two_languages_counts_once(removal):
    matrix = removal.shared_matrix(2)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-7)
    np.testing.assert_allclose(matrix @ matrix, matrix, atol=1e-6)
    assert np.trace(matrix) == pytest.approx(6 - 4, abs=1e-5)
    for language in removal.languages:
        np.testing.assert_allclose(removal.components[language][:2] @ matrix, 0, atol=1e-6)
    one = np.array([[0, 1, 0, 0]], np.float32)
    assert np.trace(LanguageRemoval({"de": one, "nl": one}).shared_matrix()) == pytest.approx(3)


def test_it_comes_back_as_it_was_or_cut_and_the_same_again_is_the_same_file(removal, tmp_path):
    removal.save(tmp_path / "lir.npz")
    again = LanguageRemoval.load(tmp_path / "lir.npz")
    assert (again.languages, again.rank, again.dimension) == (("de", "th"), 3, 6)
    assert (again.sentences, again.encoder) == ({"de": 40, "th": 40}, "toy")
    for language in removal.languages:
        assert np.array_equal(again.components[language], removal.components[language])
    again.save(tmp_path / "b")  # NumPy would add an ending
    assert (tmp_path / "lir.npz").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "lir.npz"]
    less = removal.at(1)
    assert (less.rank, less.sentences, less.encoder) == (1, removal.sentences, "toy")
    assert np.array_equal(less.components["th"], removal.components["th"][:1])


def values(**changed):
    arrays = {
        "kind": np.array("distill language removal 1"),
        "components": np.eye(3, dtype=np.float32)[None, :2],
        "languages": np.array(["de"]),
        "sentences": np.array([4]),
        "encoder": np.array("toy"),
        "probe": np.zeros(0, np.float32),
    }
    return {key: value for key, value in {**arrays, **changed}.items() if value is not None}


@pytest.mark.parametrize(
    "changed, place",
    [
        ({"kind": None}, "kind"),
        ({"encoder": None}, "encoder"),
        ({"kind": np.array("another 1")}, "another 1"),
        ({"languages": np.array([{"a": 1}], dtype=object)}, "languages"),
        ({"languages": np.array(["de", "th"])}, "languages"),
        ({"components": np.stack(2 * [np.eye(3)[:1]]), "languages": 2 * ["de"], "sentences": [1, 1]}, "languages"),
        ({"sentences": np.array(["many"])}, "sentences"),
        ({"components": np.eye(3)}, "components"),
        ({"components": np.zeros((1, 0, 3))}, "orthonormal"),
        ({"components": np.ones((1, 2, 3))}, "orthonormal"),
        ({"components": np.full((1, 2, 3), np.nan)}, "orthonormal"),
        ({"components": np.array([[["a"]]])}, "orthonormal"),
    ],
)
def test_a_foreign_file_is_named(tmp_path, changed, place):
    np.savez(tmp_path / "lir.npz", **values())
    assert LanguageRemoval.load(tmp_path / "lir.npz").languages == ("de",)
    np.savez(tmp_path / "lir.npz", **values(**changed))
    with pytest.raises(DataError, match=rf"lir\.npz: .*{place}"):
        LanguageRemoval.load(tmp_path / "lir.npz")


def test_a_damaged_file_a_plain_array_and_no_file_are_named(removal, tmp_path):
    path = tmp_path / "lir.npz"
    removal.save(path)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo("components.npy").header_offset
    turned = bytearray(whole)
    turned[start + 250] ^= 1
    for content in (b"", whole[: len(whole) // 2], bytes(turned), b"no zip at all"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"lir\.npz"):
            LanguageRemoval.load(path)
    np.save(tmp_path / "vectors.npy", np.eye(3))
    for name in ("vectors.npy", "absent.npz"):
        with pytest.raises(DataError, match=f"/{name}\\b"):
            LanguageRemoval.load(tmp_path / name)
