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
    with pytest.raises(InputError, match=f"^--max-length: the format {name} takes any length; leave it out$"):
        Form(name, max_length=64)


@pytest.mark.parametrize("name", ["string", "mediapipe", "mediapipe-zip", "onnx"])
def test_only_a_bundle_has_signatures(name):
    with pytest.raises(InputError, match="^--signatures: only for the format bundle, and without --max-length$"):
        Form(name, signatures=(16, 32))


def test_signatures_and_one_length_exclude_each_other():
    with pytest.raises(InputError, match="^--signatures: only for the format bundle, and without --max-length$"):
        Form(max_length=32, signatures=(16, 32))


@pytest.mark.parametrize(("lengths", "shown"), [((32, 16), "32,16"), ((16, 16), "16,16"), ((4, 64, 8), "4,64,8")])
def test_signatures_grow(lengths, shown):
    with pytest.raises(InputError, match=f"^--signatures: expected lengths that grow, got {shown}$"):
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
    with pytest.raises(InputError, match="^a length is at least 4 tokens, bos and eos among them$"):
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
    with pytest.raises(InputError, match="^--signatures: expected numbers such as 16,32,64,128, got ") as raised:
        lengths_of(text)
    assert str(raised.value).endswith(text)


# What a format needs


@pytest.mark.parametrize("name", ["bundle", "string"])
def test_formats_that_the_installation_serves_need_nothing(name, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda package: None)
    Form(name).require()


@pytest.mark.parametrize(
    ("name", "absent", "message"),
    [
        ("onnx", {"onnx", "onnxruntime"}, r"onnx needs onnx and onnxruntime; run: pip install 'distill\[onnx\]'"),
        ("onnx", {"onnxruntime"}, r"onnx needs onnxruntime; run: pip install 'distill\[onnx\]'"),
        ("mediapipe", {"mediapipe"}, r"mediapipe needs mediapipe; run: pip install 'distill\[mediapipe\]'"),
        ("mediapipe-zip", {"mediapipe"}, r"mediapipe-zip needs mediapipe; run: pip install 'distill\[mediapipe\]'"),
    ],
)
def test_a_missing_package_is_named_with_what_brings_it(name, absent, message, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda package: None if package in absent else object())
    with pytest.raises(InputError, match=f"^the format {message}$"):
        Form(name).require()


@pytest.mark.parametrize("name", ["onnx", "mediapipe", "mediapipe-zip"])
def test_packages_that_are_there_are_found(name, monkeypatch):
    asked = []
    monkeypatch.setattr(module, "find_spec", lambda package: asked.append(package) or object())
    Form(name).require()
    assert asked == (["onnx", "onnxruntime"] if name == "onnx" else ["mediapipe"])
