import numpy as np
import pytest

from distill.errors import EncoderError
from distill.export.tflite.convert import convert
from distill.export.tflite.packing import list_operators
from distill.export.tflite.strings import StringEncoder, StringRuntime, convert_string
from distill.export.weights.precision import Precision

ODD = {
    "empty": "",
    "space": " ",
    "spaces": "   \u3000\t\n ",
    "spaces around": "  a   river  ",
    "lone surrogate": "broken \ud800 text",
    "emoji": "a 🌊 and a 👩\u200d🔬",
    "full width": "Ｗｈｅｒｅ ﬁnally",
    "combining": "cafe\u0301 Å",
    "zero": "one\0two",
    "byte order mark": "\ufeffone",
    "one piece": "a",
    "ten thousand words": "river " * 10_000,
}


@pytest.fixture(scope="module")
def runtime(wide_string):
    return StringRuntime(wide_string)


@pytest.fixture(scope="module")
def texts(sample):
    """Twenty questions in each of the sample's ten languages, and its passages."""
    questions = [q.text for by_id in sample.questions.values() for q in list(by_id.values())[:20]]
    return questions + sample.passage_texts[:100]


@pytest.fixture
def encoder(wide_string, tmp_path):
    (tmp_path / "encoder.tflite").write_bytes(wide_string)
    return StringEncoder(tmp_path / "encoder.tflite", "small", 40)


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_ids_and_vectors_of_odd_texts_are_the_students(runtime, wide, text):
    assert runtime.tokenize(text) == wide.tokenizer.encode([text])[0]
    assert runtime.vector(text) @ wide.encode([text])[0] >= 0.995


def test_ids_by_hand(runtime, wide):
    import sentencepiece

    pieces = sentencepiece.SentencePieceProcessor(model_proto=wide.tokenizer.proto)
    bos, eos = pieces.bos_id(), pieces.eos_id()
    assert runtime.tokenize("") == runtime.tokenize("  ") == [bos, eos]
    assert runtime.tokenize("the river") == [bos, *pieces.encode("the river"), eos]
    assert len(runtime.tokenize(ODD["ten thousand words"])) >= 10_002


def test_ids_are_the_students_and_vectors_near_them(runtime, wide, sample, texts):
    assert len(sample.questions) == 10 and len(texts) == 300
    assert [runtime.tokenize(text) for text in texts] == wide.tokenizer.encode(texts)
    got, expected = np.array([runtime.vector(text) for text in texts]), wide.encode(texts)
    assert (got.shape, got.dtype) == ((300, 40), np.float32)
    assert np.linalg.norm(got, axis=1) == pytest.approx(np.ones(300), abs=1e-5)
    cosines = np.sum(got * expected, axis=1)
    # An untrained encoder is harder to round than a trained one; the vectors of different texts are at .6.
    assert cosines.mean() >= 0.995 and cosines.min() >= 0.9
    assert np.sum(got * np.roll(expected, 1, axis=0), axis=1).mean() < 0.7


def test_vectors_are_those_of_the_model_of_ids(runtime, wide, texts):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=convert(wide.model))
    ids_in, vectors_out = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    for text in texts[::15]:
        ids = np.array(wide.tokenizer.encode([text]), dtype=np.int32)
        interpreter.resize_tensor_input(ids_in, ids.shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(ids_in, ids)
        interpreter.invoke()
        assert runtime.vector(text) == pytest.approx(interpreter.get_tensor(vectors_out)[0], abs=1e-5)


def test_it_takes_one_string_and_its_one_custom_operator_is_the_tokenizer(wide_string):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=wide_string)
    (text,), (vector,) = interpreter.get_input_details(), interpreter.get_output_details()
    assert (text["dtype"], text["shape"].tolist()) == (np.bytes_, [1])
    assert (vector["dtype"], vector["shape"].tolist()) == (np.float32, [1, 40])
    assert [name for name, _, custom in list_operators(wide_string) if custom] == ["TFText>FastSentencepieceTokenize"]


def test_the_same_encoder_gives_the_same_bytes(wide, wide_string):
    assert convert_string(wide.model, wide.tokenizer, Precision()) == wide_string


def test_in_float32_every_number_is_the_students(tiny):
    runtime = StringRuntime(convert_string(tiny.model, tiny.tokenizer, Precision("float32", "float32")))
    for text in ("Where does the Danube end?", "多瑙河在哪里结束？"):
        assert runtime.vector(text) == pytest.approx(tiny.encode([text])[0], abs=1e-5)


def test_it_is_an_encoder(encoder, runtime):
    assert (encoder.name, encoder.dimension, encoder.max_length) == ("small", 40, None)
    texts, told = ["one", "two three", "", "one"], []
    vectors = encoder.encode(texts, "document", told.append)
    assert (vectors.shape, vectors.dtype, told) == ((4, 40), np.float32, [1, 1, 1, 1])
    assert np.array_equal(vectors, np.array([runtime.vector(text) for text in texts]))
    assert np.array_equal(vectors[0], vectors[3])
    assert encoder.encode([]).shape == (0, 40)
    assert encoder.tokenize("two three") == runtime.tokenize("two three")


def test_a_file_that_is_no_model_is_refused(tmp_path):
    path = tmp_path / "encoder.tflite"
    path.write_bytes(b"no flatbuffer at all")
    with pytest.raises(EncoderError, match="encoder.tflite: "):
        StringEncoder(path, "small", 40)
