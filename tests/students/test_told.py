import numpy as np
import pytest

from distill.students.told import SETTINGS, read_settings, settings_as_array


def test_settings_come_back_out_of_their_array():
    settings = {"heads": 12, "epsilon": 1e-12, "dense": None, "pooling": "größte"}
    array = settings_as_array(settings)
    assert array.dtype == np.float32 and read_settings({SETTINGS: array}) == settings


def test_no_settings_and_others_than_by_name_are_refused():
    with pytest.raises(KeyError, match=SETTINGS):
        read_settings({})
    with pytest.raises(ValueError, match="got list"):
        read_settings({SETTINGS: np.frombuffer(b"[1]", np.uint8).astype(np.float32)})
