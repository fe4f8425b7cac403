import sys

import pytest

from distill.errors import InputError
from distill.system.extras import require_extra, require_training, training_stack


@pytest.fixture
def without(monkeypatch):
    """Have Python not find a package."""
    return lambda package: monkeypatch.setitem(sys.modules, package, None)


def test_a_missing_package_of_the_training_stack_is_an_input_error_and_any_other_stays_what_it_is(without):
    without("keras"), without("wordfreq")
    with pytest.raises(InputError, match=r"^keras.*distill\[train\]"), training_stack():
        import keras  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match="wordfreq"), training_stack():
        import wordfreq  # noqa: F401


def test_packages_are_required_before_the_work(without):
    require_training("keras", "nltk")
    without("nltk")
    with pytest.raises(InputError, match=r"^nltk.*distill\[train\]"):
        require_training("keras", "nltk")


def test_an_extra_is_named_with_what_it_lacks(without):
    require_extra("it", ("json", "re"), "more")
    without("json"), without("re")
    with pytest.raises(InputError, match=r"it.*json and re.*distill\[more\]"):
        require_extra("it", ("json", "os", "re"), "more")
