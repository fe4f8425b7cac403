import numpy as np
import pytest

from distill.students.told import SETTINGS, as_array, settings_in


def test_settings_come_back_out_of_their_array():
    settings = {"heads": 12, "epsilon": 1e-12, "dense": None, "pooling": "größte"}
    array = as_array(settings)
    assert array.dtype == np.float32 and settings_in({SETTINGS: array}) == settings


def test_no_settings_and_others_than_by_name_are_refused():
    with pytest.raises(KeyError, match=SETTINGS):
        settings_in({})
    with pytest.raises(ValueError, match="got list"):
        settings_in({SETTINGS: np.frombuffer(b"[1]", np.uint8).astype(np.float32)})
