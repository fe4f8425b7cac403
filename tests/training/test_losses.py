import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from scipy.special import log_softmax, softmax

from distill.training.losses import (
    DISTANCES,
    SampledSoftmax,
    contrastive_loss,
    cosine_distance,
    in_batch_loss,
    listwise_loss,
    make_whitened_l2,
    nest_distance,
    squared_l2,
    transfer_terms,
    triplet_loss,
)


def unit_rows(*shape, seed=0):
    rows = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def numbers(tensor):
    return ops.convert_to_numpy(tensor)


@pytest.fixture
def triplets():
    """Five anchors of dimension 7 with three negatives each."""
    return unit_rows(5, 7, seed=1), unit_rows(5, 7, seed=2), unit_rows(5, 3, 7, seed=3)


def test_distances_by_hand():
    a, b = np.float32([[1, 0], [1, 0], [1, 0]]), np.float32([[1, 0], [0, 1], [-1, 0]])
    assert numbers(cosine_distance(a, b)).tolist() == numbers(DISTANCES["cosine"](a, b)).tolist() == [0, 1, 2]
    assert numbers(squared_l2(a, b)).tolist() == numbers(DISTANCES["squared_l2"](a, b)).tolist() == [0, 2, 4]


def test_a_whitened_error_counts_by_direction_and_so_does_its_gradient():
    a, b, matrix = np.float32([[1, 0]]), np.float32([[0, 1]]), np.float32([[2, 0], [0, 0.5]])
    distance = make_whitened_l2([matrix])
    # (1, -1) becomes (2, -0.5).
    assert numbers(distance(a, b)).tolist() == [4.25]
    assert numbers(distance(a[:, None], np.stack([b, a], axis=1))).tolist() == [[4.25, 0]]
    rows, others, matrix = unit_rows(3, 4, seed=1), unit_rows(3, 4, seed=2), unit_rows(4, 4, seed=3)
    variable = tf.Variable(rows)
    with tf.GradientTape() as tape:
        loss = ops.sum(make_whitened_l2([matrix])(variable, others))
    expected = 2 * (rows - others) @ matrix @ matrix.T
    np.testing.assert_allclose(numbers(tape.gradient(loss, variable)), expected, rtol=1e-4, atol=1e-5)


def test_a_prefix_has_a_whitening_of_its_own():
    a, b = unit_rows(5, 8, seed=1), unit_rows(5, 8, seed=2)
    matrices = [unit_rows(3, 3, seed=3), unit_rows(8, 8, seed=4)]
    prefixes = [(rows[:, :3] / np.linalg.norm(rows[:, :3], axis=1, keepdims=True)) for rows in (a, b)]
    parts = ((prefixes[0] - prefixes[1]) @ matrices[0], (a - b) @ matrices[1])
    expected = sum((part**2).sum(axis=1) for part in parts) / 2
    np.testing.assert_allclose(numbers(nest_distance(make_whitened_l2(matrices), (3,))(a, b)), expected, rtol=1e-5)


def test_triplet_loss_is_equation_1_with_any_distance(triplets):
    anchor, positive, negatives = triplets
    near, far = np.sum(anchor * positive, axis=1)[:, None], np.einsum("bd,bnd->bn", anchor, negatives)
    expected = np.maximum((1 - near) - (1 - far) + 0.3, 0)
    assert (expected == 0).any() and (expected > 0).any()
    np.testing.assert_allclose(numbers(triplet_loss(anchor, positive, negatives)), expected, atol=1e-6)
    near = np.sum((anchor - positive) ** 2, axis=1)[:, None]
    far = np.sum((anchor[:, None] - negatives) ** 2, axis=2)
    loss = triplet_loss(anchor, positive, negatives, 0.5, squared_l2)
    np.testing.assert_allclose(numbers(loss), np.maximum(near - far + 0.5, 0), atol=1e-5)


def test_contrastive_loss_is_the_log_softmax_of_the_positive(triplets):
    anchor, positive, negatives = (part.astype(np.float64) for part in triplets)
    scores = np.concatenate([positive[:, None], negatives], axis=1) @ anchor[:, :, None]
    # At the last an exponential would overflow.
    for more, temperature in (({}, 0.05), ({"temperature": 0.2}, 0.2), ({"temperature": 0.001}, 0.001)):
        expected = -log_softmax(scores[..., 0] / temperature, axis=1)[:, 0]
        np.testing.assert_allclose(numbers(contrastive_loss(*triplets, **more)), expected, rtol=1e-4, atol=1e-5)


def test_filling_does_not_count_in_the_contrastive_loss(triplets):
    anchor, positive, negatives = triplets
    # The filling that training uses is the positive itself, the one that would count most.
    filled = np.concatenate([negatives, positive[:, None]], axis=1)
    weights = np.array([[1, 1, 1, 0]] * 5, dtype=np.float32)
    without = numbers(contrastive_loss(anchor, positive, negatives))
    np.testing.assert_allclose(numbers(contrastive_loss(anchor, positive, filled, weights=weights)), without, rtol=1e-5)
    # Without weights it counts.
    assert (numbers(contrastive_loss(anchor, positive, filled)) > without).all()
    loss = contrastive_loss(*triplets, weights=np.zeros((5, 3), dtype=np.float32))
    assert numbers(loss).tolist() == [0] * 5


def test_each_objective_has_its_own_weight_and_an_absent_one_counts_0():
    names = ("qq", "dd", "dq", "list", "softmax")
    for name in names:
        weights = {**dict.fromkeys(names, 0.0), name: 3.0}
        terms = transfer_terms({name: np.array([1.0, 2.0])}, weights, gamma=10.0)
        assert {key: float(term) for key, term in terms.items()} == {name: pytest.approx(45)}


def test_the_terms_add_up_to_equation_2():
    teacher_q, student_q = unit_rows(4, 6, seed=1), unit_rows(4, 6, seed=2)
    teacher_d, student_d = unit_rows(4, 6, seed=3), unit_rows(4, 6, seed=4)
    beta, lambda_, omega, gamma = 0.7, 0.2, 0.4, 1000.0
    pairs = {"qq": (teacher_q, student_q), "dd": (teacher_d, student_d), "dq": (teacher_d, student_q)}
    weighed = zip((beta, lambda_, omega), pairs.values(), strict=True)
    expected = sum(weight * np.sum((one - other) ** 2) for weight, (one, other) in weighed)
    objectives = {name: squared_l2(*pair) for name, pair in pairs.items()}
    weights = {"qq": beta, "dd": lambda_, "dq": omega, "list": 0.2, "softmax": 0.1}
    loss = float(sum(transfer_terms(objectives, weights, gamma).values()))
    assert loss == pytest.approx(gamma / 4 * expected, rel=1e-5)
    # What stands beside Equation 2, of as many rows as it has.
    objectives |= {"list": ops.array([5.0]), "softmax": ops.array([7.0, 9.0])}
    loss = float(sum(transfer_terms(objectives, weights, gamma).values()))
    assert loss == pytest.approx(gamma * (expected / 4 + 0.2 * 5 + 0.1 * 8), rel=1e-5)


def test_nested_of_no_prefixes_or_of_a_zero_one():
    assert nest_distance(squared_l2, ()) is squared_l2
    a = np.array([[0.0, 0.0, 1.0]], dtype=np.float32)
    assert numbers(nest_distance(squared_l2, (2,))(a, a)).tolist() == [0]


@pytest.mark.parametrize("distance", DISTANCES.values())
def test_nested_is_the_mean_over_prefixes_at_unit_length_and_the_whole(distance):
    a, b = unit_rows(5, 8, seed=1), unit_rows(5, 8, seed=2)
    parts = [(x[:, :k] / np.linalg.norm(x[:, :k], axis=1, keepdims=True)) for k in (2, 5) for x in (a, b)]
    expected = (numbers(distance(*parts[:2])) + numbers(distance(*parts[2:])) + numbers(distance(a, b))) / 3
    np.testing.assert_allclose(numbers(nest_distance(distance, (2, 5))(a, b)), expected, atol=1e-6)


def test_listwise_is_the_divergence_from_the_teachers_ranking():
    student, teacher = np.random.default_rng(0).uniform(-1, 1, size=(2, 4, 7))
    p, q = softmax(teacher / 0.3, axis=1), softmax(student / 0.3, axis=1)
    losses = numbers(listwise_loss(ops.array(student), ops.array(teacher), 0.3))
    np.testing.assert_allclose(losses, (p * np.log(p / q)).sum(axis=1), rtol=1e-4)


def test_in_batch_softmax_by_hand():
    """Three queries; the first two have the same document, so that neither is a negative of the other."""
    scores = np.array([[0.9, 0.8, 0.1], [0.7, 0.6, 0.2], [0.3, 0.4, 0.5]], dtype=np.float32)
    same = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
    e = lambda x: np.exp(x / 0.5)  # noqa: E731
    expected = [
        -np.log(e(0.9) / (e(0.9) + e(0.1))),
        -np.log(e(0.6) / (e(0.6) + e(0.2))),
        -np.log(e(0.5) / (e(0.3) + e(0.4) + e(0.5))),
    ]
    losses = in_batch_loss(ops.array(scores), ops.array(same), 0.5)
    np.testing.assert_allclose(ops.convert_to_numpy(losses), expected, rtol=1e-5)


# Two questions, two positives and a hard negative, in the plane.
VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, 0.6], [0.8, -0.6]], dtype=np.float32)
SAME = np.array([[0, 0, 0], [1, 0, 0]], dtype=bool)


def batch(**more):
    index = {"question": np.array([0, 1], dtype=np.int32), "passage": np.array([2, 3, 4], dtype=np.int32)}
    return {name: ops.convert_to_tensor(value) for name, value in {**index, "same": SAME, **more}.items()}


def test_the_scaled_softmax_by_hand():
    e = lambda x: np.exp(3 * x)  # noqa: E731
    # The first question: 0.6 against 0.8 and 0.8; the second, without the first's passage: 0.6 against -0.6.
    expected = [-np.log(e(0.6) / (e(0.6) + 2 * e(0.8))), -np.log(e(0.6) / (e(0.6) + e(-0.6)))]
    loss = SampledSoftmax(3.0)(ops.convert_to_tensor(VECTORS), batch())
    assert float(loss) == pytest.approx(np.mean(expected), rel=1e-5)


def test_without_a_scale_it_is_the_softmax_of_dot_products():
    loss = SampledSoftmax(1.0, trained=False)
    # Of one more passage that is no negative of the second question, and of those that are one.
    expected = [-np.log(np.exp(0.6) / np.exp([0.6, 0.8, 0.8]).sum()), -np.log(np.exp(0.6) / np.exp([0.6, -0.6]).sum())]
    assert float(loss(ops.convert_to_tensor(VECTORS), batch())) == pytest.approx(np.mean(expected), rel=1e-5)
    assert loss.trainable_weights == [] and loss.scale == 1.0


def test_the_scale_is_trained_and_stays_positive():
    loss = SampledSoftmax(20.0)
    assert (len(loss.trainable_weights), loss.scale) == (1, pytest.approx(20.0, rel=1e-5))
    loss.log_scale.assign(-50.0)
    assert 0 < loss.scale < 1e-20


def test_a_part_has_the_loss_of_the_whole_batch():
    whole = SampledSoftmax(3.0)(ops.convert_to_tensor(VECTORS), batch())
    live = np.array([1, 3], dtype=np.int32)
    cached = np.where(np.isin(np.arange(5), live)[:, None], 9.0, VECTORS).astype(np.float32)
    part = SampledSoftmax(3.0, parts=2)(
        ops.convert_to_tensor(VECTORS[live]),
        batch(cached=cached, live=live, counted=np.ones((2, 1), np.float32), first=np.float32(1)),
    )
    assert float(part) == pytest.approx(float(whole), rel=1e-6)


def test_a_text_that_does_not_count_gets_no_gradient():
    vectors, live = tf.Variable(VECTORS[[0, 2]]), np.array([0, 2], dtype=np.int32)
    x = batch(cached=VECTORS, live=live, counted=np.float32([[0], [1]]), first=np.float32(1))
    with tf.GradientTape() as tape:
        loss = SampledSoftmax(3.0, parts=2)(vectors, x)
    change = np.abs(tape.gradient(loss, vectors)).max(axis=1)
    assert change[0] == 0 and change[1] > 0.01
