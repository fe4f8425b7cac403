"""Serve a Sentence-Transformers model of multilingual-e5-small's shape as `distill serve` serves an encoder.

    python benchmarks/serving/peer.py pieces.json

Runs in a Python with sentence-transformers and what `distill[serve]` brings, with the checkout on PYTHONPATH; distill
itself is not installed there. 12 layers of 384, a table of 250,037 rows, mean pooling; random weights, as speed does
not depend on them. `pieces.json` has the pieces of a SentencePiece model with their scores, `[["▁the", -3.5], …]`.
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import tokenizers
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Normalize, Pooling, Transformer

ROOT = Path(__file__).resolve().parents[2]
SHAPE = {"hidden_size": 384, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 1536}
ROWS, LONGEST = 250_037, 512
SPECIAL = ("<unk>", "<s>", "</s>", "<pad>")


class Peer:
    """The model as an encoder of distill, with the prefixes of its roles."""

    name, dimension = "e5-small-shape", SHAPE["hidden_size"]

    def __init__(self, folder):
        self._model = SentenceTransformer(modules=[*modules(folder), Normalize()], device="cpu")

    def encode(self, texts, role="question", progress=None):
        prefix = {"question": "query: ", "document": "passage: "}[role]
        return self._model.encode([prefix + text for text in texts], batch_size=64, show_progress_bar=False)


def modules(folder):
    """Write a model with random weights to a folder: its transformer and its pooling."""
    torch.manual_seed(0)
    shape = transformers.BertConfig(vocab_size=ROWS, max_position_embeddings=LONGEST, **SHAPE)
    transformers.BertModel(shape).save_pretrained(folder)
    tokenizer(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))).save_pretrained(folder)
    first = Transformer(str(folder), max_seq_length=LONGEST)
    return first, Pooling(SHAPE["hidden_size"], pooling_mode="mean")


def tokenizer(pieces):
    """Return a Unigram tokenizer of tokens and their scores, between `<s>` and `</s>`."""
    known = {name for name, _ in pieces}
    table = [(name, 0.0) for name in SPECIAL if name not in known] + [tuple(one) for one in pieces]
    unknown = next(number for number, (name, _) in enumerate(table) if name == "<unk>")
    model = tokenizers.Tokenizer(tokenizers.models.Unigram(table, unk_id=unknown))
    model.normalizer = tokenizers.normalizers.NFKC()
    model.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    ends = [(name, model.token_to_id(name)) for name in ("<s>", "</s>")]
    model.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    names = dict(zip(("unk_token", "bos_token", "eos_token", "pad_token"), SPECIAL, strict=True))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=model, **names)


def main():
    import tempfile

    # What the package's own face needs is not installed here.
    package = types.ModuleType("distill")
    package.__path__, package.__version__ = [str(ROOT / "distill"), str(ROOT)], "0"
    sys.modules["distill"] = package
    from distill.search_engine.serving.app import Server
    from distill.search_engine.serving.collection import ServedEncoder
    from distill.search_engine.serving.limits import Limits
    from distill.search_engine.serving.running import UvicornServer, bind_socket

    with tempfile.TemporaryDirectory() as folder, bind_socket("127.0.0.1", 0) as listener:
        served = ServedEncoder(Peer(folder), Peer.name)
        UvicornServer(Server(served, None, Limits(seconds=3600)), listener).serve_until_stopped()


if __name__ == "__main__":
    main()
