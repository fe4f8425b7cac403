import numpy as np
import pytest

from distill.export.weights import codecs
from distill.export.weights.codecs import (
    CODECS,
    decode_rows,
    encode_table,
    int4_rows,
    pack_halves,
    uint8_rows,
    unpack_halves,
)
from distill.settings.choices import TABLES


@pytest.fixture(scope="module")
def table():
    """More rows than one block, a width that is not whole groups, rows of very different size, one of zeros."""
    random = np.random.default_rng(5)
    rows = random.normal(size=(codecs.BLOCK + 5, 40)) * random.lognormal(sigma=2, size=(codecs.BLOCK + 5, 1))
    rows[7] = 0
    return rows.astype(np.float32)


def test_eight_bits_by_hand():
    rows = np.array([[1.27, -1.27, 0.01, 0.0], [0.0, 0.0, 0.0, 0.0]], dtype=np.float32)
    codes, scales = uint8_rows(rows)
    assert codes.tolist() == [[255, 1, 129, 128], [128] * 4]
    # 0.01 * 2^24 = 167772.16, and the least scale there is.
    assert scales.tolist() == [[167773], [1]]
    codes, scales = encode_table("int8-row", rows[:1])
    assert (codes.dtype, codes.tolist(), scales.tolist()) == (np.int8, [[127, -127, 1, 0]], [[167773]])


def test_int4_by_hand():
    first, second = np.zeros(32, dtype=np.float32), np.zeros(32, dtype=np.float32)
    first[:4] = 7, -8, 1, -3
    second[:4] = 0.7, -0.8, 0.1, -0.31
    packed, steps, scales = int4_rows(np.concatenate([first, second])[None])
    # The first group's step is 1: 2^24 / 255 is 65793.004, rounded up, and 2^24 / 65794 is 254.997, rounded up.
    # The second's is 0.1: 25.4997, rounded up to 26, which is 0.10196.
    assert (scales.tolist(), steps.tolist()) == ([[65794]], [[255, 26]])
    low, high = [15, 0, 9, 5] + [8] * 28, [15, 0, 9, 5] + [8] * 28
    assert packed.tolist() == [[a + 16 * b for a, b in zip(low, high, strict=True)]]
    values = decode_rows("int4", (packed, steps, scales), 64)[0]
    assert values[:5] == pytest.approx([7, -8, 1, -3, 0], rel=1e-4)
    assert values[32:37] == pytest.approx(np.array([7, -8, 1, -3, 0]) * 26 * 65794 / 2**24)


def test_the_low_half_of_the_bytes_is_the_first_half_of_the_row():
    codes = np.array([[1, 2, 3, 15, 0, 4]], dtype=np.uint8)
    assert pack_halves(codes).tolist() == [[1 + 16 * 15, 2 + 16 * 0, 3 + 16 * 4]]
    assert unpack_halves(pack_halves(codes)).tolist() == codes.tolist()


def test_int4_is_within_half_a_step_of_its_group(table):
    packed, steps, scales = int4_rows(table)
    # A width that is not whole groups.
    assert (packed.shape[1], steps.shape[1], scales.shape[1]) == (32, 2, 1)
    step = np.repeat(steps * (scales / 2**24), codecs.GROUP, axis=1)[:, :40]
    error = np.abs(decode_rows("int4", (packed, steps, scales), 40) - table)
    assert np.all(error <= 0.501 * step)
    # A step is as fine as it can be: 15 steps span the group, up to the rounding of steps to 1/255 of the largest.
    spanned = np.maximum(table[:, :32].max(axis=1) / 7, table[:, :32].min(axis=1) / -8)
    assert np.all(step[:, 0] <= spanned + 1.01 * scales[:, 0] / 2**24)


@pytest.mark.parametrize("name", ["uint8", "int8-row"])
def test_eight_bits_are_within_half_a_step_of_the_row(table, name):
    step = np.maximum(np.abs(table).max(axis=1, keepdims=True) / 127, 2.0**-24)
    error = np.abs(decode_rows(name, encode_table(name, table), 40) - table)
    assert np.all(error <= 0.501 * step + 2.0**-18 * np.abs(table))


@pytest.mark.parametrize("name", [name for name in CODECS if CODECS[name].arrays > CODECS[name].shared])
def test_every_format_decodes_gathered_rows_as_the_whole(table, name):
    arrays = encode_table(name, table)
    ids = np.array([[0, 7, codecs.BLOCK - 1], [codecs.BLOCK, codecs.BLOCK + 4, 3]])
    gathered, shared = CODECS[name].split(arrays)
    rows = decode_rows(name, [*(array[ids] for array in gathered), *shared], 40)
    assert (rows.shape, rows.dtype) == ((2, 3, 40), np.float32)
    assert np.array_equal(rows, decode_rows(name, arrays, 40)[ids])
    assert CODECS[name].shared or not rows[0, 1].any()


# Codewords are those of the whole table.
@pytest.mark.parametrize("name", [name for name in CODECS if not CODECS[name].shared])
def test_a_row_is_encoded_alike_in_every_block(table, name):
    ids = [3, codecs.BLOCK - 1, codecs.BLOCK, codecs.BLOCK + 4]
    for whole, alone in zip(encode_table(name, table), encode_table(name, table[ids]), strict=True):
        assert np.array_equal(whole[ids], alone)


@pytest.mark.parametrize(("name", "numbers"), [("int4-pq3", 3), ("int4-pq5", 5)])
@pytest.mark.parametrize(("rows", "count"), [(1, 1), (2, 1), (9, 1), (16, 2), (2400, 300)])
def test_frequent_rows_are_int4_and_the_rest_codewords_and_rows_are_taken_as_they_are(
    table, name, numbers, rows, count
):
    arrays, codec = encode_table(name, table[:rows, :38]), CODECS[name]
    whole = decode_rows(name, arrays, 38)[:rows]
    assert np.array_equal(whole[:count], decode_rows("int4", int4_rows(table[:count, :38]), 38))
    words = codecs.column_rows(table[count:rows, :38], numbers) if rows > 1 else ()
    assert rows == 1 or np.array_equal(whole[count:], codecs.column_values(*words)[:, :38])
    for kept in (np.arange(rows), np.arange(count), np.array([0, rows - 1]), np.arange(count, rows), [rows - 1]):
        kept = np.unique(kept).astype(int)
        taken = codec.take_rows(arrays, kept)
        assert np.array_equal(decode_rows(name, taken, 38)[: len(kept)], whole[kept])
        assert (taken[-1].dtype, taken[-1].tolist()) == (np.int32, [(kept < count).sum()]) and all(map(len, taken))


def test_every_codec_has_its_three_decoders_and_is_a_setting():
    from distill.export.onnx.layers import LOOKUPS
    from distill.export.tflite.layers import DECODE
    from distill.training.fake_quantisation import ROUNDED

    assert tuple(CODECS) == TABLES
    assert CODECS.keys() == DECODE.keys() == LOOKUPS.keys() == ROUNDED.keys()


@pytest.mark.parametrize("name", CODECS)
def test_bits_are_those_of_a_number_in_a_large_table(name):
    # Scales and steps are what is beyond them: 4 bytes a row, and of int4 a byte a group of 32 numbers.
    extra = {"uint8": 32 / 512, "int8-row": 32 / 512, "int4": 32 / 512 + 8 / 32}.get(name, 0)
    # A frequent row, one in eight, is int4's 276 bytes, the others are so many codewords.
    words = {"int4-pq3": 171, "int4-pq5": 103}.get(name)
    bits = (276 + 7 * words) / 512 if words else CODECS[name].bits + extra
    rows = 10**9
    assert 8 * codecs.stored_bytes(name, rows, 512) / (rows * 512) == pytest.approx(bits, rel=1e-3)
    assert CODECS[name].bits == int(bits)


def test_float32_is_the_table_itself(table):
    (rows,) = encode_table("float32", table)
    assert np.array_equal(rows, table) and np.array_equal(decode_rows("float32", [rows], 40), table)
