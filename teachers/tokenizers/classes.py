"""Build what a tokenizer's class in transformers makes of a `tokenizer.json`: some replace steps by their own.

The class is that of `tokenizer_config.json`, or of `config.json`, or the architecture's. Transformers 5 builds the
steps of BERT's, XLM-R's and RoBERTa's anew from the settings, and runs the file as it is for `TokenizersBackend`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...encoders.tokenizer import SPACE
from ...errors import EncoderError
from ...system.types import Json
from .steps import flatten_steps

# The classes of architectures; those of others run the file as it is.
USUAL = {
    "bert": "BertTokenizer",
    "distilbert": "BertTokenizer",
    "roberta": "RobertaTokenizer",
    "xlm-roberta": "XLMRobertaTokenizer",
    "camembert": "CamembertTokenizer",
    "electra": "BertTokenizer",
}
# Classes that run the file as it is.
PLAIN = ("PreTrainedTokenizer", "TokenizersBackend", "PythonBackend")
# The names of special tokens that a class takes if the settings name no others.
BERT_NAMES = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
XLM_NAMES = {"bos": "<s>", "eos": "</s>", "sep": "</s>", "cls": "<s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask>"}
KINDS = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")


def find_class(settings: Mapping[str, Json], config: Mapping[str, Json]) -> str | None:
    """Return the name of the class that replaces steps of the file, or None for one that runs it as it is."""
    usual = USUAL.get(str(config.get("model_type")))
    named = str(settings.get("tokenizer_class") or config.get("tokenizer_class") or usual or PLAIN[0])
    named = named.removesuffix("Fast")
    if usual is None or named in PLAIN:
        return None
    if named not in CLASSES:
        raise EncoderError(
            f"tokenizer_class is {named}, whose rules distill does not know; expected {', '.join((*CLASSES, *PLAIN))}"
        )
    return named


def apply_class(name: str | None, content: Json, settings: Mapping[str, Json], rows: int | None = None) -> Json:
    """Return the content of a `tokenizer.json` with the steps that a class builds from the settings.

    Args:
        name: The class, or None for one that runs the file as it is.
        rows: The number of rows of the table, or None if it is not known. A class has names for tokens that a
            vocabulary may lack, such as [MASK]; they are added if there is a row for them.
    """
    if name is None:
        return _drop_rowless(_build_plain(content, settings), content, rows)
    kind, build = CLASSES[name]
    model = content["model"]
    held = model.get("type") or ("BPE" if "merges" in model else kind)
    if held != kind:
        raise EncoderError(f"tokenizer_class is {name}, whose model is {kind}, but tokenizer.json has {held}")
    return _drop_rowless({**content, **build(content, settings)}, content, rows)


def _drop_rowless(content, before, rows):
    """Return the content without the tokens that were added at ids without a row."""
    known = {*_list_ids(before["model"]), *(one["content"] for one in before.get("added_tokens") or ())}
    kept = [one for one in content["added_tokens"] if one["content"] in known or one["id"] < (rows or 0)]
    return {**content, "added_tokens": kept}


def lower_first(content: Json) -> Json:
    """Return the content with lower-casing in front, as Sentence-Transformers adds it unless there is such a step."""
    read = content.get("normalizer")
    steps = read["normalizers"] if read and read["type"] == "Sequence" else [read] if read else []
    if any(one["type"] == "Lowercase" for one in steps):
        return content
    return {**content, "normalizer": {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, *steps]}}


def add_tokens(content: Json, settings: Mapping[str, Json], usual: Mapping[str, str]) -> Json:
    """Return the content with the added tokens that only the settings, or `usual`, name, as transformers adds them."""
    added = list(content.get("added_tokens") or ())
    known = _list_ids(content["model"]) | {one["content"]: one["id"] for one in added}
    listed = {one["content"] for one in added}
    rest = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    by_id = sorted((settings.get("added_tokens_decoder") or {}).items(), key=lambda one: int(one[0]))
    wanted: list[tuple[str, int | None, Json]] = [(one["content"], int(id), {**rest, **one}) for id, one in by_id]
    named = [name for kind in KINDS if (name := name_special(settings, kind, usual))]
    wanted += [(name, None, {**rest, "special": True}) for name in (*named, *_list_extra(settings))]
    for name, id, flags in wanted:
        have = known.setdefault(name, max(known.values(), default=-1) + 1)
        if id not in (None, have):
            raise EncoderError(f"added_tokens_decoder gives {name!r} the id {id}, tokenizer.json {have}")
        if name not in listed:
            listed.add(name)
            flags = {key: flags[key] for key in (*rest, "special") if key in flags}
            added.append({"id": have, "content": name, "special": False, **flags})
    return {**content, "added_tokens": sorted(added, key=lambda one: int(one["id"]))}


def name_special(settings: Mapping[str, Json], kind: str, usual: Mapping[str, str]) -> str | None:
    """Return the name of a special token, which the settings may give as an object with flags."""
    value = settings.get(f"{kind}_token", usual.get(kind))
    named = value.get("content") if isinstance(value, dict) else value
    return named if isinstance(named, str) else None


def _list_extra(settings: Mapping[str, Json]) -> list[Json]:
    """Return the special tokens of the settings that have no name of their own."""
    extra = [*_as_list(settings.get("additional_special_tokens")), *_as_list(settings.get("extra_special_tokens"))]
    return [one.get("content") if isinstance(one, dict) else one for one in extra]


def _as_list(tokens):
    return list(tokens.values()) if isinstance(tokens, dict) else list(tokens or ())


def _list_ids(model):
    vocabulary = model["vocab"]
    if isinstance(vocabulary, dict):
        return dict(vocabulary)
    return {name: id for id, (name, _) in reversed(list(enumerate(vocabulary)))}


def make_ends(content: Json, bos: str | None, eos: str | None) -> Json:
    """Return a post-processor that puts a token before and one behind each text."""
    known = _list_ids(content["model"]) | {one["content"]: one["id"] for one in content.get("added_tokens") or ()}
    ends = [name if name in known else None for name in (bos, eos)]
    parts = [{"SpecialToken": {"id": name, "type_id": 0}} if name else None for name in ends]
    single = [one for one in (parts[0], {"Sequence": {"id": "A", "type_id": 0}}, parts[1]) if one]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}, *(one for one in parts[1:] if one)]
    special = {name: {"id": name, "ids": [known[name]], "tokens": [name]} for name in ends if name}
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}


def _build_plain(content: Json, settings: Mapping[str, Json]) -> Json:
    content = add_tokens(content, settings, {})
    if {"add_bos_token", "add_eos_token"} & set(settings) or content.get("post_processor") is None:
        ends = (
            name_special(settings, kind, {}) if settings.get(f"add_{kind}_token") else None for kind in ("bos", "eos")
        )
        return {**content, "post_processor": make_ends(content, *ends)}
    return content


def _build_bert(content: Json, settings: Mapping[str, Json]) -> Json:
    content = add_tokens(content, settings, BERT_NAMES)
    names = {kind: name_special(settings, kind, BERT_NAMES) for kind in BERT_NAMES}
    model: dict[str, Json] = {"type": "WordPiece", "unk_token": names["unk"], "continuing_subword_prefix": "##"}
    model |= {"max_input_chars_per_word": 100, "vocab": content["model"]["vocab"]}
    return {
        "added_tokens": content["added_tokens"],
        "model": model,
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": bool(settings.get("tokenize_chinese_chars", True)),
            "strip_accents": settings.get("strip_accents"),
            "lowercase": bool(settings.get("do_lower_case", True)),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": make_ends(content, names["cls"], names["sep"]),
    }


def _build_xlm(content: Json, settings: Mapping[str, Json]) -> Json:
    content = add_tokens(content, settings, XLM_NAMES)
    steps = flatten_steps(content.get("normalizer"), "normalizers")
    scheme = "always" if settings.get("add_prefix_space", True) else "never"
    marks = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": True}
    ends = (name_special(settings, kind, XLM_NAMES) for kind in ("bos", "eos"))
    return {
        "added_tokens": content["added_tokens"],
        "model": {**content["model"], "unk_id": 3, "byte_fallback": False},
        "normalizer": next((one for one in steps if one["type"] == "Precompiled"), None),
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, marks]},
        "post_processor": make_ends(content, *ends),
    }


def _build_roberta(content: Json, settings: Mapping[str, Json]) -> Json:
    content = add_tokens(content, settings, XLM_NAMES)
    model, blank = content["model"], bool(settings.get("add_prefix_space", False))
    rules = {"unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False}
    rules |= {"dropout": None, "byte_fallback": False, "ignore_merges": False}
    ids = {one["content"]: one["id"] for one in content["added_tokens"]}
    ends = {kind: name_special(settings, kind, XLM_NAMES) for kind in ("sep", "cls")}
    trims = {"trim_offsets": bool(settings.get("trim_offsets", True)), "add_prefix_space": blank}
    return {
        "added_tokens": content["added_tokens"],
        "model": {"type": "BPE", **rules, "vocab": model["vocab"], "merges": model["merges"]},
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": blank, "trim_offsets": True, "use_regex": True},
        "post_processor": {
            "type": "RobertaProcessing",
            **{kind: [name, ids[name]] for kind, name in ends.items()},
            **trims,
        },
    }


CLASSES: dict[str, tuple[str, Callable[[Json, Mapping[str, Json]], Json]]] = {
    "BertTokenizer": ("WordPiece", _build_bert),
    "DistilBertTokenizer": ("WordPiece", _build_bert),
    "XLMRobertaTokenizer": ("Unigram", _build_xlm),
    "RobertaTokenizer": ("BPE", _build_roberta),
}
