"""Time a plain step of a transformer in JAX's own terms, the limit that `accelerator.py` puts beside the package's.

Texts of one length, whose tokens are as many as those of the package's step: no packing, no used rows, no losses but a
distance to labels, and Adam in a few lines. The precision and the sizes are those of the package's step.
"""

import json
import sys
import time

import numpy as np

LENGTH, STEPS = 32, 10


def timed_plain(tokens, sizes, precision, vocabulary):
    """Return the milliseconds of a step and the seconds of its compilation.

    Args:
        tokens: The number of tokens, rounded to rows of `LENGTH`.
        sizes: `width`, `depth`, `heads` and `inner`.
        precision: "float32" or "mixed_bfloat16".
        vocabulary: The rows of the table.
    """
    import jax

    rows, random = max(1, round(tokens / LENGTH)), np.random.default_rng(0)
    weights = make_weights(sizes, vocabulary, random)
    ids = random.integers(0, vocabulary, size=(rows, LENGTH))
    labels = random.normal(size=(rows, sizes["width"])).astype(np.float32)
    dtype = "float32" if precision == "float32" else "bfloat16"

    def step(weights, moments, ids, labels):
        loss, gradient = jax.value_and_grad(lambda w: loss_of(w, ids, labels, sizes["heads"], dtype))(weights)
        moments = jax.tree.map(lambda g, m: (0.9 * m[0] + 0.1 * g, 0.999 * m[1] + 0.001 * g * g), gradient, moments)
        weights = jax.tree.map(lambda w, m: w - 1e-4 * m[0] / (m[1] ** 0.5 + 1e-7), weights, moments)
        return weights, moments, loss

    moments = jax.tree.map(lambda w: (0 * w, 0 * w), weights)
    began = time.perf_counter()
    compiled = jax.jit(step, donate_argnums=(0, 1)).lower(weights, moments, ids, labels).compile()
    seconds = time.perf_counter() - began
    weights, moments, loss = jax.block_until_ready(compiled(weights, moments, ids, labels))
    began = time.perf_counter()
    for _ in range(STEPS):
        weights, moments, loss = compiled(weights, moments, ids, labels)
    jax.block_until_ready(loss)
    step_ms = 1000 * (time.perf_counter() - began) / STEPS
    return {"plain": round(step_ms, 2), "plain tokens": rows * LENGTH, "plain compilation": round(seconds, 1)}


def make_weights(sizes, vocabulary, random):
    """Return random weights; kernels that are alike stand one behind another."""
    width, depth, inner = sizes["width"], sizes["depth"], sizes["inner"]
    shapes = {"qkv": (width, 3 * width), "out": (width, width), "first": (width, inner), "second": (inner, width)}
    blocks = {name: random.normal(scale=0.02, size=(depth, *shape)) for name, shape in shapes.items()}
    blocks |= {name: np.ones((depth, width)) for name in ("norm", "norm_of_units")}
    weights = {"table": random.normal(scale=0.02, size=(vocabulary, width)), "blocks": blocks}
    return {
        name: {k: v.astype(np.float32) for k, v in value.items()} if name == "blocks" else value.astype(np.float32)
        for name, value in weights.items()
    }


def loss_of(weights, ids, labels, heads, dtype):
    """Return the mean squared distance of the texts' means to labels."""
    import jax
    import jax.numpy as jnp

    def norm(x, scale):
        y = x.astype("float32")
        y = (y - y.mean(-1, keepdims=True)) / jnp.sqrt(y.var(-1, keepdims=True) + 1e-6)
        return (y * scale).astype(dtype)

    def block(x, w):
        rows, length, width = x.shape
        kernels = {name: value.astype(dtype) for name, value in w.items() if value.ndim == 2}
        parts = (x @ kernels["qkv"]).reshape(rows, length, 3, heads, width // heads)
        means = jax.nn.dot_product_attention(parts[:, :, 0], parts[:, :, 1], parts[:, :, 2])
        x = norm(x + means.reshape(rows, length, width) @ kernels["out"], w["norm"])
        return norm(x + jax.nn.gelu(x @ kernels["first"]) @ kernels["second"], w["norm_of_units"]), None

    x = weights["table"][ids].astype(dtype)
    for place in range(len(weights["blocks"]["qkv"])):
        x, _ = block(x, {name: value[place] for name, value in weights["blocks"].items()})
    return ((x.astype("float32").mean(1) - labels) ** 2).mean()


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    print(json.dumps(timed_plain(**given)))
