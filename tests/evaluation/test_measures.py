import pytest

from distill.catalog.loading import load_teacher
from distill.errors import DataError, EncoderError, InputError
from distill.evaluation.measures import measure_all, require_one_dimension, require_samples
from distill.evaluation.tasks import load_tasks
from distill.evaluation.translation import TranslationFile
from distill.settings.sections import DataSettings, Settings


class Encoder:
    def __init__(self, dimension):
        self.dimension = dimension


def test_encoders_of_other_dimensions_are_named_with_both():
    require_one_dimension({"x": Encoder(3), "y": Encoder(3)})
    require_one_dimension({"x": Encoder(3)})
    with pytest.raises(EncoderError, match="x has 3 dimensions and y has 512, .*--any-dimension"):
        require_one_dimension({"x": Encoder(3), "y": Encoder(512)})


def test_each_language_needs_a_sample():
    require_samples({"de": ["a"], "en": ["b"], "th": ["c"]}, ("de", "en"))
    with pytest.raises(InputError, match="--corpus has no text in el, th: .* it has de, en"):
        require_samples({"en": ["a"], "de": ["b"]}, ("de", "el", "th"))


@pytest.mark.parametrize(
    "lines, languages, error, said",
    [
        ({("9", None): "x"}, (), DataError, "a.tsv: 1 ids of no question of the data, the first is '9'"),
        ({("9", None): "x"}, ("en",), InputError, "all questions that are asked are in en"),
    ],
)
def test_translations_are_refused_before_anything_is_measured(
    tiny_folder, sentence_data, capsys, lines, languages, error, said
):
    settings = Settings(data=DataSettings(dataset=str(sentence_data), languages=languages))
    tasks = load_tasks([("lareqa", None), ("retrieval", None)], settings, "dev")
    with pytest.raises(error, match=said):
        measure_all(
            [str(tiny_folder)], tasks, settings, ["p@1"], load_teacher, translation=TranslationFile("a.tsv", lines)
        )
    assert "retrieval " not in capsys.readouterr().err
