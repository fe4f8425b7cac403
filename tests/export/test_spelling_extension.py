import numpy as np

from distill.encoders.catalog.bundle import released_folder
from distill.encoders.tokenizer import Tokenizer
from distill.export.encode import TOKENIZER
from distill.export.formats.registry import load_artefact
from distill.export.spelling_extension import write_with_spellings


def test_an_encoder_of_a_checkout_whose_script_is_elsewhere_is_written_with_its_tokenizer(tmp_path):
    shipped, folder = released_folder("multi12-static"), tmp_path / "encoder"
    write_with_spellings(shipped, folder, Tokenizer.load(shipped / TOKENIZER), {"kinds": ["latin"]}, "multi12-static")
    both = [load_artefact(one).encode(["Where does the Danube end?"]) for one in (shipped, folder)]
    np.testing.assert_array_equal(*both)
