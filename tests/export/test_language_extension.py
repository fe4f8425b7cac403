import numpy as np
import pytest

from distill.encoders.catalog.bundle import released_folder
from distill.encoders.tokenizer import Tokenizer
from distill.export.encode import TOKENIZER
from distill.export.formats.format import load_artefact
from distill.export.language_extension import Addition, write_with_spellings
from distill.export.weights.codecs import CODECS, MIXED_CODECS, decode_rows, encode_table


def test_an_encoder_of_a_checkout_whose_script_is_elsewhere_is_written_with_its_tokenizer(tmp_path):
    shipped, folder = released_folder("multi12-static"), tmp_path / "encoder"
    write_with_spellings(shipped, folder, Tokenizer.load(shipped / TOKENIZER), {"kinds": ["latin"]}, "multi12-static")
    both = [load_artefact(one).encode(["Where does the Danube end?"]) for one in (shipped, folder)]
    np.testing.assert_array_equal(*both)


WIDTH = 37  # no whole number of codewords


@pytest.mark.parametrize("codec", ["float32", "uint8", "int8-row", "int4", "pq4", "pq8", "int4-pq3", "int4-pq5"])
@pytest.mark.parametrize("often", [0, 3])
def test_old_rows_keep_their_codes_and_new_ones_take_what_there_is(codec, often):
    random = np.random.default_rng(0)
    table = random.normal(size=(600, WIDTH)).astype(np.float32)
    # An eighth of 600 are frequent; the codewords know the others.
    parted = 75 if codec in MIXED_CODECS else 0
    new = table[parted + random.choice(600 - parted, 40)] * random.uniform(0.9, 1.1, (40, 1)).astype(np.float32)
    arrays = encode_table(codec, table)
    addition = Addition(codec, 600, new, often)
    order, larger = addition.order(arrays), addition.extend(arrays)
    assert sorted(order) == list(range(640)) and [id for id in order if id < 600] == list(range(600))
    before, after = decode_rows(codec, arrays, WIDTH)[:600], decode_rows(codec, larger, WIDTH)[:640]
    np.testing.assert_array_equal(after[order < 600], before)
    assert len(larger) == CODECS[codec].arrays
    # As near as the table's own rows are to theirs, or nearly; most new ones are not frequent.
    error, usual = (
        np.square(a - b).sum() / np.square(b).sum()
        for a, b in ((after[order >= 600], new[order[order >= 600] - 600]), (before[parted:], table[parted:]))
    )
    assert error <= 2 * usual
    if parted:
        # New ones that are stand behind these.
        new = list(range(600, 600 + often))
        assert order[parted : parted + often].tolist() == new and larger[-1][0] == parted + often
    else:
        assert order.tolist() == list(range(640))
