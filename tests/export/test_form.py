import pytest

from distill.errors import InputError
from distill.export import form as module
from distill.export.form import Form, lengths_of


def test_the_default_is_a_bundle_of_any_length_in_eight_bits():
    form = Form()
    assert (form.format, form.max_length, form.signatures, form.longest) == ("bundle", None, (), None)
    assert (form.precision.dense, form.precision.table) == ("int8", "uint8")
    assert len({Form(), Form("bundle"), Form(max_length=64)}) == 2


@pytest.mark.parametrize(
    ("form", "longest"),
    [
        (Form(max_length=64), 64),
        (Form(signatures=(16, 32, 128)), 128),
        (Form("string"), None),
        (Form("mediapipe-zip"), 512),
        (Form("mediapipe-zip", max_length=64), 64),
    ],
)
def test_the_longest_text_that_is_taken(form, longest):
    assert form.longest == longest


@pytest.mark.parametrize(
    ("values", "named"),
    [({"format": name, "max_length": 64}, f"^--max-length: .* {name} ") for name in ("string", "mediapipe", "onnx")]
    + [
        ({"format": name, "signatures": (16, 32)}, "^--signatures:.*--max-length$")
        for name in ("string", "mediapipe", "mediapipe-zip", "onnx")
    ]
    + [
        ({"max_length": 32, "signatures": (16, 32)}, "^--signatures:.*--max-length$"),
        ({"signatures": (32, 16)}, "^--signatures: .* 32,16$"),
        ({"signatures": (16, 16)}, "^--signatures: .* 16,16$"),
        ({"max_length": 3}, " 4 "),
        ({"signatures": (-8, 16)}, " 4 "),
        ({"format": "mediapipe-zip", "max_length": 2}, " 4 "),
    ],
)
def test_lengths_that_a_form_cannot_have_are_refused(values, named):
    with pytest.raises(InputError, match=named):
        Form(**values)


def test_lengths_are_numbers_between_commas():
    # Their order is `Form`'s to judge.
    lengths = {"32,16,64": (32, 16, 64), " 16 , 32 ,": (16, 32), "": (), None: (), ",": ()}
    assert {text: lengths_of(text) for text in lengths} == lengths
    for text in ("16,many", "1.5", "16;32", "16 32", "0x10"):
        with pytest.raises(InputError, match=f"^--signatures: .*{text}$"):
            lengths_of(text)


# What a format needs


@pytest.mark.parametrize(
    ("name", "needed"),
    [("bundle", []), ("string", []), ("onnx", ["onnx", "onnxruntime"])]
    + [(name, ["mediapipe"]) for name in ("mediapipe", "mediapipe-zip")],
)
def test_packages_that_are_there_are_enough(name, needed, monkeypatch):
    packages = []
    monkeypatch.setattr(module, "find_spec", lambda package: packages.append(package) or object())
    Form(name).require()
    assert packages == needed


@pytest.mark.parametrize(
    ("name", "absent", "extra"),
    [
        ("onnx", ["onnx", "onnxruntime"], "onnx"),
        ("onnx", ["onnxruntime"], "onnx"),
        ("mediapipe", ["mediapipe"], "mediapipe"),
        ("mediapipe-zip", ["mediapipe"], "mediapipe"),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(name, absent, extra, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda package: None if package in absent else object())
    with pytest.raises(InputError, match=rf" {name} needs {' and '.join(absent)};.*distill\[{extra}\]"):
        Form(name).require()
