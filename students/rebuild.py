"""A student of another shape: some of its weights new, the others as they were."""

import numpy as np


def named(model):
    """`{path: array}` of all weights, such as `order_2/projection/kernel`."""
    return {weight.path: np.asarray(weight) for weight in model.weights}


def rebuilt(model, changes, weights):
    """A model of the same class with `changes` of its config, `weights` by path, and the rest of its own."""
    smaller = type(model).from_config({**model.get_config(), **changes})
    own = named(model)
    smaller.set_weights([weights.get(weight.path, own.get(weight.path)) for weight in smaller.weights])
    return smaller
