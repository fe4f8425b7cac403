"""Save tiny Sentence-Transformers folders with the settings that people save, and the library's vectors of each.

`tests/fixtures/saved_folders.tar.xz` is what this wrote, once, for `tests/teachers/test_saved_folders.py`:

    pip install torch sentence-transformers
    python benchmarks/transformers/saved_folders.py tests/fixtures/saved_folders.tar.xz

It holds four folders, `kinds.json` with the files by which a kind differs from one of them, and the vectors.
"""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
import transformers
from sentence_transformers import SentenceTransformer
from tiny_folders import TEXTS, plain, unigram, words
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

SPOKEN = (
    *TEXTS[:5],
    TEXTS[11],
    "Where Was Marie Curie BORN?",
    "café crème, naïve",
    "  two  blanks\tand\nlines ",
    "a [SEP] b <mask> danube",
)
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
# Rows behind those of the tokens, which added tokens take.
SPARE, POSITIONS = 4, 40
TORCH = "torch.nn.modules.activation."
ORDERS = {
    "t": ("Transformer", ""),
    "p": ("Pooling", "1_Pooling"),
    "n": ("Normalize", "9_Normalize"),
    "d": ("Dense", "2_Dense"),
    "e": ("Dense", "3_Dense"),
    "l": ("LayerNorm", "4_LayerNorm"),
}


def modules(order: str) -> dict[str, object]:
    """Return the change that makes `modules.json` name modules by the letters of `ORDERS`."""
    rows = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (kind, path) in enumerate(ORDERS[letter] for letter in order)
    ]
    return {"modules.json": rows}


def added(*names: str, special: bool) -> dict[str, object]:
    """Return the change by which a tokenizer has more tokens, at the ids behind its own."""
    return {"tokenizer.json": {"+added_tokens": [{"content": name, "special": special} for name in names]}}


SBERT, ST, CONFIG = "sentence_bert_config.json", "config_sentence_transformers.json", "config.json"
TOK, POOL, DENSE = "tokenizer_config.json", "1_Pooling/config.json", "2_Dense/config.json"
NOT_MEAN = {"pooling_mode_mean_tokens": False}
NEWER = {"embedding_dimension": 16, "pooling_mode": ["weightedmean", "cls"]}
ASK = {"query": "ask: ", "document": "this is: "}
ONES = [{"SpecialToken": {"id": "[CLS]", "type_id": 1}}, {"Sequence": {"id": "A", "type_id": 1}}]
TYPES = {"type": "TemplateProcessing", "single": ONES, "pair": ONES}
TYPES |= {"special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}}}
# The folder that a kind is a copy of, and what changes: an object is merged into the file, another value replaces it.
KINDS: dict[str, tuple[str, dict[str, object]]] = {
    "plain": ("bert", {}),
    "prompts": ("bert", {ST: {"prompts": ASK}}),
    "a passage prompt": ("bert", {ST: {"prompts": {"query": "ask: ", "passage": "this is: "}}}),
    "a default prompt": ("bert", {ST: {"prompts": {"sts": "same: "}, "default_prompt_name": "sts"}}),
    "blanks in a prompt": ("bert", {ST: {"prompts": {"query": "  ask:\n"}}}),
    "no prompt, not included": ("bert", {POOL: {"include_prompt": False}}),
    "lowered by sbert": ("cased", {SBERT: {"do_lower_case": True}}),
    "lowered unigram": ("xlmr", {SBERT: {"do_lower_case": True}}),
    "lowered by tokenizer": ("cased", {TOK: {"do_lower_case": True, "tokenizer_class": "BertTokenizer"}}),
    "cased by tokenizer": ("bert", {TOK: {"do_lower_case": False, "tokenizer_class": "BertTokenizer"}}),
    "accents kept": ("bert", {TOK: {"strip_accents": False, "tokenizer_class": "BertTokenizerFast"}}),
    "no class": ("cased", {TOK: {"tokenizer_class": None}}),
    "a class that looks at the file": ("cased", {TOK: {"tokenizer_class": "PreTrainedTokenizerFast"}}),
    "distilbert's class": ("cased", {TOK: {"tokenizer_class": "DistilBertTokenizer"}}),
    "chinese together": ("bert", {TOK: {"tokenize_chinese_chars": False, "tokenizer_class": "BertTokenizer"}}),
    "limit above the tokenizer's": ("bert", {SBERT: {"max_seq_length": 30}, TOK: {"model_max_length": 9}}),
    "limit of the tokenizer": ("bert", {SBERT: {"max_seq_length": None}, TOK: {"model_max_length": 9}}),
    "limit of its arguments": ("bert", {SBERT: {"tokenizer_args": {"model_max_length": 9}}}),
    "an older file of settings": ("bert", {SBERT: None, "sentence_roberta_config.json": {"max_seq_length": 9}}),
    "cut on the left": ("bert", {SBERT: {"max_seq_length": 9}, TOK: {"truncation_side": "left"}}),
    "padding on the left": ("xlmr", {TOK: {"padding_side": "left"}}),
    "segments that nothing reads": ("bert", {"tokenizer.json": {"post_processor": TYPES}}),
    "first": ("bert", {POOL: {**NOT_MEAN, "pooling_mode_cls_token": True}}),
    "max": ("bert", {POOL: {**NOT_MEAN, "pooling_mode_max_tokens": True}}),
    "last": ("bert", {POOL: {**NOT_MEAN, "pooling_mode_lasttoken": True}}),
    "weighted": ("bert", {POOL: {**NOT_MEAN, "pooling_mode_weightedmean_tokens": True}}),
    "root": ("bert", {POOL: {**NOT_MEAN, "pooling_mode_mean_sqrt_len_tokens": True}}),
    "root and dense": ("bert", {POOL: {**NOT_MEAN, "pooling_mode_mean_sqrt_len_tokens": True}, **modules("tpd")}),
    "two poolings": ("bert", {POOL: {"pooling_mode_max_tokens": True}}),
    "no pooling named": ("bert", {POOL: NOT_MEAN}),
    "newer poolings": ("bert", {POOL: [], "1_Pooling/config.json ": NEWER}),
    "tanh": ("bert", modules("tpd")),
    "no activation named": ("bert", {DENSE: {"activation_function": None}, **modules("tpdn")}),
    "two dense": ("bert", modules("tpden")),
    "dense behind a norm": ("bert", {DENSE: {"activation_function": "torch.nn.Identity"}, **modules("tpdne")}),
    "a norm first": ("bert", modules("tnp")),
    "truncated": ("bert", {ST: {"truncate_dim": 5}}),
    "truncated dense": ("bert", {ST: {"truncate_dim": 5}, **modules("tpd")}),
    "truncated two dense": ("bert", {ST: {"truncate_dim": 5}, **modules("tpden")}),
    "truncated to more": ("bert", {ST: {"truncate_dim": 99}}),
    "a special token in the prompt": ("bert", {**added("[Q]", special=True), ST: {"prompts": {"query": "[Q] "}}}),
    "special in xlmr's prompt": ("xlmr", {**added("[Q]", special=True), ST: {"prompts": {"query": "[Q] "}}}),
    "an added word": ("bert", added("danube", special=False)),
    "an added word of a unigram": ("xlmr", added("danube", special=False)),
    "xlmr": ("xlmr", {}),
    "xlmr's class": ("xlmr", {TOK: {"tokenizer_class": "XLMRobertaTokenizer"}}),
    "xlmr by file": ("xlmr", {TOK: {"tokenizer_class": "PreTrainedTokenizerFast"}}),
    "named e5": ("xlmr", {}),
    "bytes": ("roberta", {}),
    "roberta's class": ("roberta", {TOK: {"tokenizer_class": "RobertaTokenizer"}}),
    "roberta's blank": ("roberta", {TOK: {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": True}}),
    "another norm of text": ("bert", {"tokenizer.json": {"normalizer": {"type": "Lowercase"}}}),
    "another cut of text": ("bert", {"tokenizer.json": {"pre_tokenizer": {"type": "Whitespace"}}}),
    "ends of another kind": ("bert", {"tokenizer.json": {"post_processor": {**TYPES, "single": ONES[:1] + ONES[1:]}}}),
    "a fast gelu": ("bert", {CONFIG: {"hidden_act": "gelu_fast"}}),
    **{
        name: ("bert", {DENSE: {"activation_function": TORCH + name}, **modules("tpd")})
        for name in ("ReLU", "GELU", "Sigmoid", "SiLU", "ELU", "SELU", "Softplus", "Softsign", "Mish", "ReLU6")
    },
    "Hardswish": ("bert", {DENSE: {"activation_function": TORCH + "Hardswish"}, **modules("tpd")}),
}


def byte_pairs() -> transformers.PreTrainedTokenizerFast:
    """Train a tokenizer of RoBERTa's kind on the texts."""
    names = {
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "cls_token": "<s>",
        "sep_token": "</s>",
        "mask_token": "<mask>",
    }
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special, letters = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=330, special_tokens=special, initial_alphabet=letters, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", **names)


def put(path: Path, content: object) -> None:
    """Write a file of JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def write(folder: Path, kind: str, tokenizer: transformers.PreTrainedTokenizerFast) -> None:
    """Write a folder with weights for every module, of which it names three."""
    skipped = 2 if "roberta" in kind else 0
    ends = {"pad_token_id": tokenizer.pad_token_id, "max_position_embeddings": POSITIONS + skipped}
    sizes = {**SIZES, **ends, "vocab_size": len(tokenizer) + SPARE, "architectures": ["Model"]}
    model = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(kind, **sizes))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.normal_(1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0, 0.3)
    weights = {name: weight.half() for name, weight in model.state_dict().items() if "pooler" not in name}
    model.config.save_pretrained(folder)
    safetensors.torch.save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    tokenizer.model_max_length = POSITIONS
    tokenizer.save_pretrained(folder)
    put(folder / SBERT, {"max_seq_length": POSITIONS, "do_lower_case": False})
    put(folder / ST, {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine"})
    put(folder / POOL, {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True, "include_prompt": True})
    put(folder / "9_Normalize/config.json", {})
    for name, before, behind, bias in (("2_Dense", 16, 12, True), ("3_Dense", 12, 8, False)):
        identity = "torch.nn.modules.linear.Identity"
        told = {"in_features": before, "out_features": behind, "bias": bias}
        put(folder / name / CONFIG, {**told, "activation_function": TORCH + "Tanh" if bias else identity})
        arrays = {"linear.weight": torch.randn(behind, before) * 0.4}
        arrays |= {"linear.bias": torch.randn(behind) * 0.4} if bias else {}
        safetensors.torch.save_file(arrays, str(folder / name / "model.safetensors"))
    put(folder / "modules.json", modules("tpn")["modules.json"])


def change(folder: Path, changes: dict[str, object]) -> None:
    """Change the files of a folder; `+` before a key adds tokens to a list, with ids behind all others."""
    for name, new in changes.items():
        path = folder / name.strip()
        if new is None:
            path.unlink()
            continue
        if isinstance(new, dict):
            old = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
            old = old if isinstance(old, dict) else {}
            for key, value in new.items():
                if key.startswith("+"):
                    old[key[1:]] += number_tokens(old, value)
                elif value is None and name.endswith(DENSE):
                    del old[key]
                else:
                    old[key] = value
            new = old
        put(path, new)


def number_tokens(content: dict, tokens: list[dict]) -> list[dict]:
    """Return added tokens with ids behind those of a `tokenizer.json`."""
    vocabulary = content["model"]["vocab"]
    rest = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return [{"id": len(vocabulary) + place, **rest, **one} for place, one in enumerate(tokens)]


def list_changed(base: Path, folder: Path) -> dict[str, object]:
    """Return the content of each file of JSON that a folder does not share with another; None for one it lacks."""
    names = {str(one.relative_to(root)) for root in (base, folder) for one in root.rglob("*.json")}
    texts = {
        name: [one.read_text("utf-8") if (one := at / name).is_file() else None for at in (base, folder)]
        for name in names
    }
    return {name: new and json.loads(new) for name, (old, new) in sorted(texts.items()) if old != new}


def main(path: Path) -> None:
    """Write the archive."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as temporary:
        root, expected, kinds = Path(temporary) / "all", {}, {}
        write(root / "bert", "bert", words(True))
        write(root / "cased", "bert", words(False))
        write(root / "xlmr", "xlm-roberta", unigram())
        write(root / "roberta", "roberta", byte_pairs())
        for name, (base, changes) in KINDS.items():
            folder = Path(temporary) / f"folder {name}"
            shutil.copytree(root / base, folder)
            change(folder, changes)
            kinds[name] = {"base": base, "files": list_changed(root / base, folder)}
            model = SentenceTransformer(str(folder), device="cpu").float()
            for role, encode in (("question", model.encode_query), ("document", model.encode_document)):
                vectors = encode(list(SPOKEN), batch_size=3, show_progress_bar=False)
                expected[f"{name}/{role}"] = np.asarray(vectors, dtype=np.float16)
        np.savez(root / "vectors.npz", **expected)
        versions = {"transformers": transformers.__version__, "torch": torch.__version__}
        put(root / "kinds.json", {"texts": SPOKEN, "kinds": kinds, "versions": versions})
        with tarfile.open(path, "w:xz") as archive:
            for one in sorted(root.rglob("*")):
                if one.is_file():
                    archive.add(one, str(one.relative_to(root)), filter=plain)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
