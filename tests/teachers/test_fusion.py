from importlib.util import find_spec

import pytest

from distill.errors import EncoderError, InputError
from distill.teachers.fusion import TEMPLATE, FusionWriter, WrittenExample

TRANSFORMERS = find_spec("torch") is not None and find_spec("transformers") is not None
WORDS = ["question", "title", "context", "who", "won", "the", "game", "rome", "athens", "of", *":abcdefg"]
PASSAGES = [("Games", "rome won"), ("", "the game of athens : rome won the game " * 3), ("", "a b c")]


@pytest.mark.skipif(TRANSFORMERS, reason="transformers is there")
def test_without_transformers_the_writer_is_refused():
    with pytest.raises(EncoderError):
        FusionWriter("some/model")


@pytest.mark.parametrize(
    "template",
    [
        "question: {question}",
        "{question} {passage} {text}",
        "{question} {passage",
        "{}",
        "{question.text} {passage}",
        "{question[a]} {passage}",
    ],
)
def test_a_template_without_question_or_passage_is_refused(template):
    with pytest.raises(InputError):
        FusionWriter("some/model", template)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import torch
    from transformers import BertTokenizerFast, T5Config, T5ForConditionalGeneration

    place = tmp_path_factory.mktemp("t5")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (place / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(place / "vocab.txt")).save_pretrained(place)
    torch.manual_seed(0)
    sizes = {"d_model": 16, "d_ff": 32, "d_kv": 8, "num_layers": 2, "num_heads": 2}
    config = T5Config(vocab_size=len(words), **sizes, decoder_start_token_id=0, pad_token_id=0, eos_token_id=3)
    model = T5ForConditionalGeneration(config)
    # Weights as they begin write one word over and over.
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.7)
    model.save_pretrained(place)
    return place


@pytest.mark.skipif(not TRANSFORMERS, reason="needs torch and transformers")
def test_passages_are_encoded_each_alone_and_the_decoder_reads_all_of_them(folder):
    import torch
    from transformers import BertTokenizerFast, T5ForConditionalGeneration

    tokenizer = BertTokenizerFast.from_pretrained(folder)
    model = T5ForConditionalGeneration.from_pretrained(folder).eval()

    def by_hand(passages):
        states = []
        with torch.inference_mode():
            for title, passage in passages:
                text = f"question: who won title: {title} context: {passage}"
                states.append(model.encoder(torch.tensor([tokenizer(text)["input_ids"]]))[0])
            tokens = [0]
            while len(tokens) < 51 and tokens[-1] != 3:
                together = (torch.cat(states, dim=1),)
                logits = model(encoder_outputs=together, decoder_input_ids=torch.tensor([tokens])).logits
                tokens.append(int(logits[0, -1].argmax()))
        return tokenizer.decode(tokens, skip_special_tokens=True).strip()

    writer = FusionWriter(str(folder))
    assert writer.template == TEMPLATE
    written = [writer.write("who won", PASSAGES[:count]) for count in (0, 1, 3)]
    assert written == ["", by_hand(PASSAGES[:1]), by_hand(PASSAGES)]
    assert len(set(written)) == 3


@pytest.mark.skipif(not TRANSFORMERS, reason="needs torch and transformers")
def test_a_model_without_a_decoder_is_refused(tmp_path, folder):
    from transformers import BertConfig, BertModel

    for file in ("vocab.txt", "tokenizer.json", "tokenizer_config.json"):
        if (folder / file).is_file():
            (tmp_path / file).write_bytes((folder / file).read_bytes())
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=24, **sizes)).save_pretrained(tmp_path)
    with pytest.raises(EncoderError):
        FusionWriter(str(tmp_path))


@pytest.mark.skipif(not TRANSFORMERS, reason="needs torch and transformers")
def test_it_learns_to_write_what_its_passages_say_and_is_saved(folder, tmp_path):
    import torch
    from transformers import BertTokenizerFast, T5ForConditionalGeneration

    # The first loss is that of an answer's tokens after all passages, each encoded alone, without dropout.
    tokenizer = BertTokenizerFast.from_pretrained(folder)
    model = T5ForConditionalGeneration.from_pretrained(folder, dropout_rate=0.0).train()
    texts = [f"question: who won title: {title} context: {passage}" for title, passage in PASSAGES]
    with torch.no_grad():
        states = [model.encoder(torch.tensor([tokenizer(text)["input_ids"]]))[0] for text in texts]
        labels = torch.tensor([tokenizer("rome")["input_ids"]])
        expected = float(model(encoder_outputs=(torch.cat(states, dim=1),), labels=labels).loss)
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "still")
    writer = FusionWriter(str(tmp_path / "still"))
    assert writer.train([WrittenExample("who won", PASSAGES, "rome")]) == [pytest.approx(expected, rel=1e-4)]
    examples = [WrittenExample("who won", PASSAGES[:1], "rome"), WrittenExample("who won", PASSAGES[2:], "athens")]
    losses = writer.train(examples, epochs=60, learning_rate=1e-2)
    assert losses[-1] < losses[0] / 4
    writer.save(tmp_path / "writer")
    again = FusionWriter(str(tmp_path / "writer"))
    assert [again.write("who won", one.passages) for one in examples] == ["rome", "athens"]
