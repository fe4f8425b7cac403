"""Adam is Kingma and Ba's on every backend: a row that many tokens look up has one gradient, their sum."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
from fixtures import adam_steps as steps
from fixtures.commands import ON_JAX


def unit(x):
    return x / np.linalg.norm(x)


def loss(w):
    """Of the texts, in float64 NumPy, after `StaticEncoder`."""
    total = 0.0
    for ids, target in zip(steps.TEXTS, steps.TARGET, strict=True):
        x = unit(w["embedding/embeddings"][ids].sum(axis=0))
        hidden = np.maximum(x @ w["residual/first/kernel"] + w["residual/first/bias"], 0)
        vector = unit((x + hidden @ w["residual/second/kernel"]) @ w["residual/lift/kernel"])
        total += ((vector - target) ** 2).sum()
    return total


def gradients(w, step=1e-6):
    """By central differences."""
    found = {name: np.zeros_like(array) for name, array in w.items()}
    for name, array in w.items():
        for place in np.ndindex(array.shape):
            before = array[place]
            ends = []
            for array[place] in (before + step, before - step):
                ends.append(loss(w))
            array[place] = before
            found[name][place] = (ends[0] - ends[1]) / (2 * step)
    return found


@pytest.fixture(scope="module")
def expected():
    """The weights after the steps of Adam: Kingma and Ba (2015), Algorithm 1, with Keras's epsilon."""
    w = {name: array.astype(np.float64) for name, array in steps.start().items()}
    first, second = ({name: np.zeros_like(array) for name, array in w.items()} for _ in range(2))
    for step in range(1, steps.STEPS + 1):
        for name, gradient in gradients(w).items():
            first[name] = 0.9 * first[name] + 0.1 * gradient
            second[name] = 0.999 * second[name] + 0.001 * gradient**2
            rate = steps.RATE * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            w[name] -= rate * first[name] / (np.sqrt(second[name]) + 1e-7)
    return w


def assert_close(got, expected):
    assert got.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(got[name], array, atol=1e-4, err_msg=name)


def test_adam_is_the_papers(expected):
    moved = [np.abs(expected[name] - array).max() for name, array in steps.start().items()]
    assert min(moved) > 0.01
    assert_close(steps.trained(), expected)


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_another_backend_trains_to_the_same_weights(backend, expected, tmp_path):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    environment = {**os.environ, **ON_JAX, "KERAS_BACKEND": backend, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, steps.__file__, tmp_path / "weights.npz"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == backend
    assert_close(dict(np.load(tmp_path / "weights.npz")), expected)
