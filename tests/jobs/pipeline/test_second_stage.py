"""What a run's student starts from: what stage 1 leaves, or an encoder that is named, a bundle among them."""

from dataclasses import replace

import numpy as np
import pytest
from fixtures.encoders import make_tiny

from distill.errors import ConfigError
from distill.jobs.pipeline.inputs import Inputs
from distill.jobs.pipeline.second_stage import determine_start, shape_student
from distill.settings.sections import ShapeSettings, StudentSettings
from distill.students.shape import Shape


def inputs_of(sample, **settings):
    return Inputs(sample, ("en", "de"), **settings)


def test_the_teachers_language_is_learned_unless_it_is_left_out(sample):
    assert inputs_of(sample).learned == ("en", "de")
    assert inputs_of(sample).teacher_questions.questions == {name: sample.questions[name] for name in ("de", "en")}
    without = inputs_of(sample, student=StudentSettings(teacher_samples=False))
    assert without.learned == ("de",)
    with pytest.raises(ConfigError, match=r"^student\.teacher_samples: "):
        _ = replace(without, languages=("en",)).learned


def test_a_student_starts_from_a_bundle_in_the_space_of_its_weights(sample, tiny_encoder, tiny_bundle):
    inputs = inputs_of(sample, student=StudentSettings(start=str(tiny_bundle)))
    beginning = determine_start(inputs, tiny_encoder, ShapeSettings())
    assert (beginning.shape, beginning.foreign) == (Shape(), False)
    texts = sample.passage_texts[:9]
    assert np.sum(beginning.encoder.encode(texts) * tiny_encoder.encode(texts), axis=1).min() > 0.99
    assert determine_start(inputs_of(sample), tiny_encoder, ShapeSettings()).encoder is None


def test_a_student_of_another_space_gets_a_map_which_is_said(sample, tokenizer, tiny_bundle, capsys):
    other = make_tiny(tokenizer, seed=1, name="other")
    inputs = inputs_of(sample, student=StudentSettings(start=str(tiny_bundle)))
    beginning = determine_start(inputs, other, ShapeSettings())
    assert beginning.foreign
    student = shape_student(inputs, beginning.encoder, other, beginning.shape, beginning.foreign)
    assert student.model.foreign and "other" in "".join(capsys.readouterr())
    with pytest.raises(ConfigError, match=r"^shape\.dimension: "):
        determine_start(inputs, other, ShapeSettings(dimension=8))


def test_a_prefix_is_shorter_than_the_students_vectors(sample, tiny_encoder):
    inputs = replace(inputs_of(sample), student=StudentSettings(nested=("8",)))
    assert determine_start(inputs, tiny_encoder, ShapeSettings()).encoder is None
    # All 16 numbers of a vector count anyway.
    for nested, dimension in ((("8", "16"), 0), (("8",), 8)):
        longer = replace(inputs, student=StudentSettings(nested=nested))
        with pytest.raises(ConfigError, match=f"^student.nested: .* {dimension or 16} "):
            determine_start(longer, tiny_encoder, ShapeSettings(dimension=dimension))
