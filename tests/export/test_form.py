import pytest

from distill.errors import InputError
from distill.export import form as module
from distill.export.form import Form, lengths_of
from distill.export.weights.precision import Precision


def test_the_default_is_a_bundle_of_any_length_in_eight_bits():
    form = Form()
    assert (form.format, form.max_length, form.signatures, form.longest) == ("bundle", None, (), None)
    assert (form.precision.dense, form.precision.table) == ("int8", "uint8")


def test_forms_that_are_alike_are_equal():
    assert Form("onnx", Precision("float32", "int4")) == Form("onnx", Precision("float32", "int4"))
    assert len({Form(), Form("bundle"), Form(max_length=64)}) == 2


@pytest.mark.parametrize(
    ("form", "longest"),
    [
        (Form(max_length=64), 64),
        (Form(max_length=4), 4),
        (Form(signatures=(16, 32, 128)), 128),
        (Form(signatures=(4,)), 4),
        (Form("string"), None),
        (Form("mediapipe"), None),
        (Form("onnx"), None),
        (Form("mediapipe-zip"), 512),
        (Form("mediapipe-zip", max_length=64), 64),
    ],
)
def test_the_longest_text_that_is_taken(form, longest):
    assert form.longest == longest


@pytest.mark.parametrize("name", ["string", "mediapipe", "onnx"])
def test_a_format_of_any_length_has_no_fixed_one(name):
    with pytest.raises(InputError, match=f"^--max-length: .* {name} "):
        Form(name, max_length=64)


@pytest.mark.parametrize("name", ["string", "mediapipe", "mediapipe-zip", "onnx"])
def test_only_a_bundle_has_signatures(name):
    with pytest.raises(InputError, match="^--signatures:.*--max-length$"):
        Form(name, signatures=(16, 32))


def test_signatures_and_one_length_exclude_each_other():
    with pytest.raises(InputError, match="^--signatures:.*--max-length$"):
        Form(max_length=32, signatures=(16, 32))


@pytest.mark.parametrize(("lengths", "shown"), [((32, 16), "32,16"), ((16, 16), "16,16"), ((4, 64, 8), "4,64,8")])
def test_signatures_grow(lengths, shown):
    with pytest.raises(InputError, match=f"^--signatures: .* {shown}$"):
        Form(signatures=lengths)


@pytest.mark.parametrize(
    "values",
    [
        {"max_length": 3},
        {"max_length": -5},
        {"signatures": (3, 16)},
        {"signatures": (0, 16)},
        {"signatures": (-8, 16)},
        {"format": "mediapipe-zip", "max_length": 2},
    ],
)
def test_a_length_holds_bos_eos_and_something(values):
    with pytest.raises(InputError, match=" 4 "):
        Form(**values)


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("16,32,64,128", (16, 32, 64, 128)),
        ("16", (16,)),
        (" 16 , 32 ,", (16, 32)),
        ("", ()),
        (None, ()),
        (",", ()),
        # Their order is `Form`'s to judge.
        ("32,16", (32, 16)),
    ],
)
def test_lengths_are_numbers_between_commas(text, lengths):
    assert lengths_of(text) == lengths


@pytest.mark.parametrize("text", ["16,many", "1.5", "16;32", "16 32", "0x10"])
def test_lengths_that_are_no_numbers_are_shown(text):
    with pytest.raises(InputError, match=f"^--signatures: .*{text}$"):
        lengths_of(text)


# What a format needs


@pytest.mark.parametrize("name", ["bundle", "string"])
def test_formats_that_the_installation_serves_need_nothing(name, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda package: None)
    Form(name).require()


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


@pytest.mark.parametrize("name", ["onnx", "mediapipe", "mediapipe-zip"])
def test_packages_that_are_there_are_found(name, monkeypatch):
    packages = []
    monkeypatch.setattr(module, "find_spec", lambda package: packages.append(package) or object())
    Form(name).require()
    assert packages == (["onnx", "onnxruntime"] if name == "onnx" else ["mediapipe"])
