"""Make tiny folders of each architecture, with the vectors of Sentence-Transformers and transformers.

`tests/fixtures/transformers.tar.xz` is what this wrote, once, for `tests/teachers/test_transformer_folder.py`:

    pip install torch sentence-transformers
    python benchmarks/transformers/tiny_folders.py tests/fixtures/transformers.tar.xz

Weights are random, biases and gains too, and rounded to float16; the vectors are of the rounded weights in float32.
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from sentence_transformers import SentenceTransformer, models
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import BPE, Unigram, WordPiece

# Of each some are of characters that the pieces lack; one is longer than the positions.
TEXTS = (
    "Where does the Danube end?",
    "Wo endet die Donau, die durch neun Länder fließt?",
    "Où finit le Danube ?",
    "Где заканчивается Дунай?",
    "多瑙河在哪里结束？",
    "أين ينتهي نهر الدانوب؟",
    "डेन्यूब कहाँ समाप्त होती है?",
    "แม่น้ำดานูบสิ้นสุดที่ไหน",
    "Tuna nehri nerede biter?",
    "Sông Danube kết thúc ở đâu?",
    "a",
    "The river that begins where the lake ends " * 9,
)
PIECES, POSITIONS = 160, 40
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
DISTIL = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24}
THETAS = {"global_rope_theta": 900.0, "local_rope_theta": 40.0, "global_attn_every_n_layers": 3}
PROMPTS = {"query": "query: ", "document": "passage: "}


def words(lowercase: bool) -> transformers.PreTrainedTokenizerFast:
    """Train a tokenizer of BERT's kind on the texts."""
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=PIECES, special_tokens=special))
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*ends)
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names, mask_token="[MASK]")


def unigram() -> transformers.PreTrainedTokenizerFast:
    """Train a tokenizer of XLM-R's kind on the texts, with its order of the special tokens."""
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(vocab_size=PIECES, special_tokens=special, unk_token="<unk>")
    tokenizer.train_from_iterator(TEXTS, trainer)
    ends = [(name, tokenizer.token_to_id(name)) for name in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    names = {"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def merges() -> transformers.PreTrainedTokenizerFast:
    """Train a tokenizer of Gemma's kind on the texts: all merges that form a token, and bytes for the rest."""
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    trainer = trainers.BpeTrainer(vocab_size=PIECES, special_tokens=special, limit_alphabet=40, show_progress=False)
    blank = {"pattern": " ", "content": "\u2581"}
    learned = Tokenizer(BPE(unk_token="<unk>"))
    learned.normalizer = normalizers.Replace(**blank)
    learned.train_from_iterator(TEXTS, trainer)
    names = sorted(learned.get_vocab(), key=learned.get_vocab().get)
    known = set(names[len(special) :])
    pairs = [(name[:i], name[i:]) for name in names[len(special) :] for i in range(1, len(name))]
    pairs = [(first, second) for first, second in pairs if first in known and second in known]
    names = [*special, *(f"<0x{byte:02X}>" for byte in range(256)), *names[len(special) :]]
    ids = {name: id for id, name in enumerate(names)}
    tokenizer = Tokenizer(BPE(ids, pairs, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(**blank)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.add_special_tokens(special)
    ends = [(name, ids[name]) for name in ("<bos>", "<eos>")]
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A <eos>", special_tokens=ends)
    names = {"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<bos>", "eos_token": "<eos>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def write(folder: Path, kind: str, tokenizer: transformers.PreTrainedTokenizerFast, **more: object) -> None:
    """Write a model of random weights in float16, and its tokenizer."""
    skipped = 2 if "roberta" in kind else 0
    sizes = {**(DISTIL if kind == "distilbert" else SIZES), **more}
    ends = {"pad_token_id": tokenizer.pad_token_id}
    sizes |= {"vocab_size": len(tokenizer), "max_position_embeddings": POSITIONS + skipped, **ends}
    model = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(kind, **sizes))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.normal_(1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0, 0.3)
    model.half().save_pretrained(folder)
    tokenizer.model_max_length = POSITIONS
    tokenizer.save_pretrained(folder)


def with_modules(folder: Path, pooling: str, dense: int | None = None, prompts: dict[str, str] | None = None) -> None:
    """Write the folder again as Sentence-Transformers does, with what stands behind the tokens."""
    modules = [models.Transformer(str(folder), max_seq_length=POSITIONS), models.Pooling(16, pooling_mode=pooling)]
    if dense:
        modules.append(models.Dense(16, dense, activation_function=torch.nn.Tanh()))
    model = SentenceTransformer(modules=[*modules, models.Normalize()], device="cpu", prompts=prompts)
    model.float()
    model.save(str(folder))


def vectors_of(folder: Path) -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    """Return the vectors of the texts as questions and as documents, and the IDs of the texts without a prompt."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = [tokenizer(text, truncation=True, max_length=POSITIONS)["input_ids"] for text in TEXTS]
    if (folder / "modules.json").is_file():
        model = SentenceTransformer(str(folder), device="cpu").float()
        return model.encode_query(list(TEXTS)), model.encode_document(list(TEXTS)), ids
    model = transformers.AutoModel.from_pretrained(folder).float().eval()
    with torch.no_grad():
        means = [model(torch.tensor([row])).last_hidden_state[0].mean(dim=0).numpy() for row in ids]
    vectors = np.stack([mean / np.linalg.norm(mean) for mean in means])
    return vectors, vectors, ids


def main(path: Path) -> None:
    """Write the archive."""
    torch.manual_seed(0)
    expected, known = {}, {}
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        write(root / "bert", "bert", words(True), hidden_act="gelu_new", layer_norm_eps=1e-6)
        with_modules(root / "bert", "mean")
        write(root / "labse", "bert", words(False))
        with_modules(root / "labse", "cls", 12)
        write(root / "distiluse", "distilbert", words(False))
        with_modules(root / "distiluse", "mean", 20)
        write(root / "roberta", "roberta", unigram(), layer_norm_eps=1e-5, hidden_act="relu")
        with_modules(root / "roberta", "max", prompts=PROMPTS)
        write(root / "xlm-roberta", "xlm-roberta", unigram(), layer_norm_eps=1e-5)
        # Texts are longer than its window of two on each side.
        write(root / "modernbert", "modernbert", merges(), num_hidden_layers=4, local_attention=4, **THETAS)
        with_modules(root / "modernbert", "mean")
        for folder in sorted(root.iterdir()):
            for name, array in zip(("question", "document"), vectors_of(folder)[:2], strict=True):
                expected[f"{folder.name}/{name}"] = np.asarray(array, dtype=np.float32)
            known[folder.name] = vectors_of(folder)[2]
            (folder / "README.md").unlink(missing_ok=True)
        np.savez(root / "vectors.npz", **expected)
        versions = {"torch": torch.__version__, "transformers": transformers.__version__}
        (root / "texts.json").write_text(json.dumps({"texts": TEXTS, "ids": known, "versions": versions}))
        with tarfile.open(path, "w:xz") as archive:
            for one in sorted(root.rglob("*")):
                if one.is_file():
                    archive.add(one, str(one.relative_to(root)), filter=plain)


def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return the entry without its owner and its time."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    main(Path(sys.argv[1]))
