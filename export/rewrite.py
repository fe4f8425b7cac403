"""Other weights for the same function: fewer to read a text, and on a grid of int8 nearer to the trained ones.

A short text's time is that of reading the dense kernels, so what is linear twice is multiplied out here. NumPy alone.
"""

import numpy as np


def balanced(kernels):
    """The head's kernels, `{name: (in, out)}`, with its hidden units rescaled.

    max(0, a x) = a max(0, x) for a > 0: a unit's incoming columns times a, its outgoing rows through a. With a the
    root of its largest outgoing weight, the rows of `fourth_skip`, whose outliers one int8 step a column serves badly,
    come nearer to each other, at the cost of the range of the hidden values: cosine to the student .9998, not .9997.
    """
    scale = np.sqrt(np.maximum(np.abs(kernels["fourth_skip"]).max(axis=1), 1e-12))
    scale = (scale / np.median(scale)).astype(np.float32)
    columns = {name: kernels[name] * scale for name in ("second", "second_skip")}
    rows = {name: kernels[name] / scale[:, None] for name in ("third", "fourth_skip")}
    return {**kernels, **columns, **rows}


def merged(dense, bias, kernels):
    """Pooling's dense layer `(w, d)`, `(d,)` and the head's first products as one: `(w, 2 h)`, `(2 h,)`.

    Nothing else reads what is between them: first `h` columns the input of `first`'s ReLU, then `second_skip`'s.
    """
    following = np.concatenate([kernels["first"], kernels["second_skip"]], axis=1, dtype=np.float64)
    return (dense @ following).astype(np.float32), (bias @ following).astype(np.float32)
