"""Find the windows and angles of ModernBERT's blocks in a flatbuffer by the operators that compute them."""

from __future__ import annotations

from ....system.types import Json
from ...tflite.graph import Graph, Product


def is_modern(graph: Graph) -> bool:
    """Return True for a graph with rotary position embeddings."""
    return graph.has("SIN")


def norm_names(depth: int) -> list[str]:
    """Return the names of the normalisations of `depth` blocks, in the order of computation."""
    blocks = [f"block_{place}.{name}" for place in range(depth) for name in ("attention_norm", "norm")]
    return ["positions.norm", *blocks[1:], "final_norm"]


def attention_of(graph: Graph) -> dict[str, Json]:
    """Return the settings of the blocks' attention.

    Raises:
        StopIteration: If one is missing.
    """
    local, window = _windows(graph)
    thetas, depth = _thetas(graph), len(_scores(graph))
    # If all blocks are of one kind, the other kind's theta is not in the graph.
    wide = next((thetas[place] for place in range(depth) if place not in local), thetas[0])
    near = next((thetas[place] for place in local), wide)
    told: dict[str, Json] = {"block": "modern", "local": local, "global_theta": wide, "local_theta": near}
    return told if window is None else {**told, "window": window}


def units_before_activation(graph: Graph, first: Product) -> int:
    """Return the tensor of the hidden units before their activation, which are the first half of a product."""
    return next(one.outputs[0] for one in graph.readers(first.end) if one.name == "STRIDED_SLICE")


def _scores(graph):
    return [operator for operator in graph.operators if operator.name == "SOFTMAX"]


def _windows(graph):
    """Return the blocks that attend to neighbours only, and the number of neighbours on each side, or None."""
    beyond = next((one for one in graph.operators if one.name == "SUB" and _is_distance(graph, one.inputs[0])), None)
    if beyond is None:
        return [], None
    after = graph.after(beyond)
    added = [graph.producer(one.inputs[0]) for one in _scores(graph)]
    # What is added to the scores depends on positions only.
    local = [
        place
        for place, one in enumerate(added)
        if one and one.name == "ADD" and any(tensor in after and not graph.behind(tensor) for tensor in one.inputs)
    ]
    return local, round(float(graph.real(beyond.inputs[1])))


def _is_distance(graph, tensor):
    """Return True for a tensor that is the maximum of two differences."""
    larger = graph.producer(tensor)
    if larger is None or larger.name != "MAXIMUM":
        return False
    return all((one := graph.producer(side)) is not None and one.name == "SUB" for side in larger.inputs)


def _thetas(graph):
    """Return the theta of each block, as the decimal number that float32 approximates."""
    thetas = {}
    for cosine in (one for one in graph.operators if one.name == "COS"):
        angles = graph.producer(cosine.inputs[0])
        (turns,) = (array for array in map(graph.real, angles.inputs) if array is not None)
        turns = turns.reshape(-1)
        # The last frequency is theta to the power of 2 / s - 1 for heads of size s; for s = 2 the only one is 1.
        theta = float(turns[-1]) ** -(len(turns) / max(len(turns) - 1, 1))
        for turned in graph.readers(cosine.outputs[0]):
            thetas[max(graph.behind(turned.outputs[0]))] = float(f"{theta:.6g}")
    return [thetas[place] for place in sorted(thetas)]
