import pytest

from distill.errors import InputError
from distill.export import form as module
from distill.export.form import Form, parse_lengths

WHOLE, ZIP = ("string", "mediapipe", "onnx"), "mediapipe-zip"


def test_the_longest_text_that_is_taken():
    forms = {Form(): None, Form(max_length=64): 64, Form(signatures=(16, 32, 128)): 128, Form("string"): None}
    forms |= {Form("mediapipe-zip"): 512, Form("mediapipe-zip", max_length=64): 64}
    assert {form: form.longest for form in forms} == forms


@pytest.mark.parametrize(
    ("values", "named"),
    [
        *(({"format": name, "max_length": 64}, f"^--max-length: .* {name} ") for name in WHOLE),
        *(({"format": name, "signatures": (16, 32)}, "^--signatures:.*--max-length$") for name in (*WHOLE, ZIP)),
        ({"max_length": 32, "signatures": (16, 32)}, "^--signatures:.*--max-length$"),
        ({"signatures": (32, 16)}, "^--signatures: .* 32,16$"),
        ({"signatures": (16, 16)}, "^--signatures: .* 16,16$"),
        *((values, " 4 ") for values in ({"max_length": 3}, {"signatures": (-8, 16)})),
        ({"format": ZIP, "max_length": 2}, " 4 "),
    ],
)
def test_lengths_that_a_form_cannot_have_are_refused(values, named):
    with pytest.raises(InputError, match=named):
        Form(**values)


def test_lengths_are_numbers_between_commas():
    # Their order is `Form`'s to judge.
    lengths = {"32,16,64": (32, 16, 64), " 16 , 32 ,": (16, 32), "": (), None: (), ",": ()}
    assert {text: parse_lengths(text) for text in lengths} == lengths
    for text in ("16,many", "1.5", "16;32", "16 32", "0x10"):
        with pytest.raises(InputError, match=f"^--signatures: .*{text}$"):
            parse_lengths(text)


def test_packages_that_are_there_are_enough(monkeypatch):
    packages = []
    monkeypatch.setattr(module, "find_spec", lambda package: packages.append(package) or object())
    for name in ("bundle", "string", "onnx", "mediapipe", "mediapipe-zip"):
        Form(name).require()
    assert packages == ["onnx", "onnxruntime", "mediapipe", "mediapipe"]


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
    with pytest.raises(InputError, match=rf" {name} needs {' and '.join(absent)};.*\[{extra}\]"):
        Form(name).require()
