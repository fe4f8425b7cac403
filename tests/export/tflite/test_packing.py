"""Kernels in 4 bits are those of the encoder, in half the bytes, and read back as they were."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

from distill.encoders.batching import pad
from distill.export.families.registry import family_part
from distill.export.tflite.convert import convert
from distill.export.tflite.graph import Graph
from distill.export.tflite.packing import pack_nibbles, unpack_nibbles
from distill.export.weights.precision import Precision
from distill.students.project import collect_weights, rebuild
from distill.students.transformer import TransformerEncoder
from distill.students.transformer.rounding import place_rows, round_blocks

SIZES = {"vocabulary": 30, "width": 32, "depth": 2, "heads": 4, "head_size": 8, "inner": 600, "positions": 12}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(5)
    return [random.integers(0, 30, size=length).tolist() for length in (2, 9, 5, 11, 7, 4)]


@pytest.fixture(scope="module", params=["bert", "modern"])
def whole(request, randomised):
    return randomised(TransformerEncoder(**SIZES, dimension=32, block=request.param, local=(1,), window=3), 0.2)


@pytest.fixture(scope="module")
def rounded(whole, rows):
    return round_blocks(whole, rows)


@pytest.fixture(scope="module")
def content(rounded):
    return convert(rounded, Precision("int4"))


def vectors(content, rows):
    interpreter = Interpreter(model_content=content, num_threads=1)
    (ids,), (end,) = interpreter.get_input_details(), interpreter.get_output_details()
    for row in rows:
        interpreter.resize_tensor_input(ids["index"], (1, len(row)))
        interpreter.allocate_tensors()
        interpreter.set_tensor(ids["index"], np.array([row], np.int32))
        interpreter.invoke()
        yield interpreter.get_tensor(end["index"])[0]


def test_a_bundle_in_4_bits_gives_the_rounded_encoders_vectors_in_fewer_bytes(rounded, rows, content):
    expected = np.asarray(rounded(pad(rows)))
    assert (np.stack(list(vectors(content, rows))) * expected).sum(axis=1).min() > 0.998
    narrow = [weight for weight in rounded.weights if weight.path in rounded.narrow_kernels]
    # Query, key, value, and the kernel behind the hidden units, 150 of which keep 8 bits.
    assert len(narrow) == 4 * rounded.depth
    wide = [150 if kernel.path.endswith("second/kernel") else 0 for kernel in narrow]
    numbers = sum((kernel.shape[0] - one) * kernel.shape[1] for kernel, one in zip(narrow, wide, strict=True))
    (graph,) = schema.ModelT.InitFromPackedBuf(content, 0).subgraphs
    assert sum(np.prod(tensor.shape) for tensor in graph.tensors if tensor.type == schema.TensorType.INT4) == numbers
    # Operators take some bytes.
    assert len(convert(rounded, Precision("int8"))) - len(content) > 0.75 * numbers / 2


def test_rounding_keeps_the_vectors_nearer_than_rounding_each_number(whole, rounded, rows):
    expected = np.asarray(whole(pad(rows)))
    plain = np.stack(list(vectors(convert(whole, Precision("int4")), rows)))
    near = [(vectors * expected).sum(axis=1).mean() for vectors in (np.asarray(rounded(pad(rows))), plain)]
    assert near[0] > near[1]


def test_a_query_makes_up_for_a_table_that_is_stored_in_few_bits(whole, rows):
    weights = collect_weights(whole)
    (name,) = (path for path, weight in weights.items() if weight.shape == (SIZES["vocabulary"], SIZES["width"]))
    coarse = rebuild(whole, {}, {**weights, name: np.round(weights[name] / 0.3) * 0.3})
    fitted, unfitted = round_blocks(coarse, rows, towards=whole), round_blocks(coarse, rows)
    error = [0.0, 0.0]
    for (x, there, _), (y, _, _) in zip(place_rows(coarse, rows), place_rows(whole, rows), strict=True):
        wanted = whole.blocks[0].query(whole.blocks[0].normalize_inputs(y))
        for place, model in enumerate((fitted, unfitted)):
            block = model.blocks[0]
            far = np.square(np.asarray(block.query(block.normalize_inputs(x)) - wanted))
            error[place] += far[np.asarray(there)].sum()
    assert error[0] < 0.9 * error[1], error


def test_the_kernels_are_read_back(rounded, content):
    graph = Graph(content)
    weights = family_part("transformer", "stored", "a student").weights_of(
        family_part("transformer", "stored", "a student").parts_of(graph)
    )
    for path, wide in (("block_0/second/kernel", 150), ("block_1/query/kernel", 0), ("block_1/attention/kernel", 32)):
        kernel = np.asarray(next(weight for weight in rounded.weights if weight.path == path))
        # Half a step of the largest number of a channel, in 8 bits; those of 4 are on their grid.
        far = np.abs(kernel[:wide]).max(axis=0, initial=0) / 127 / 2
        assert (np.abs(weights[path] - kernel)[:wide] <= far + 1e-5).all()
        assert (np.abs(weights[path] - kernel)[wide:] <= 1e-5).all()


def test_numbers_of_4_bits_are_two_a_byte_the_first_in_the_low_bits():
    numbers = np.array([1, -1, 7, -8, 3], dtype=np.int8)
    assert pack_nibbles(numbers).tolist() == [0xF1, 0x87, 0x03]
    assert unpack_nibbles(pack_nibbles(numbers), 5).tolist() == numbers.tolist()
