"""The settings of a folder of Hugging Face or Sentence-Transformers that bear on vectors: each is read or refused.

Sentence-Transformers' own files may hold nothing else than what is known here. Of the files of transformers, which hold
a lot that does nothing, the settings are listed that would do something.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from ...encoders.library_tokenizer import LibraryTokenizer
from ...errors import EncoderError
from ...system.types import Json
from .reading import (
    PROMPTS_FILE,
    SETTINGS_FILE,
    TOKENIZER_ARGUMENTS,
    find_sentence_file,
    read_settings,
    read_tokenizer_settings,
)

CONFIG, JSON = "config.json", "tokenizer.json"
ADAPTERS = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")
# Settings that are read, or that bear on no vector.
SENTENCE_READ = ("max_seq_length", "do_lower_case", "unpad_inputs")
PROMPTS_READ = ("__version__", "prompts", "default_prompt_name", "similarity_fn_name", "truncate_dim", "requirements")
# Arguments that a folder may hand to the library's loaders and that bear on no vector.
ARGUMENTS = ("model_args", "model_kwargs", "config_args", "config_kwargs")
PLAIN_ARGUMENTS = (
    *("add_pooling_layer", "attn_implementation", "device_map", "dtype", "low_cpu_mem_usage", "torch_dtype"),
    *("trust_remote_code", "unpad_inputs", "use_cache", "use_memory_efficient_attention", "use_safetensors"),
)
# Settings that are not honoured, each with the values under which they do nothing.
TEXT = {"method": "forward", "method_output_name": "last_hidden_state"}
SENTENCE_ONLY: Mapping[str, Sequence[Json]] = {
    "transformer_task": ("feature-extraction",),
    "module_output_name": ("token_embeddings",),
    "processing_kwargs": ({},),
    "query_length": (),
    "document_length": (),
    "query_expansion": (),
    "tokenizer_name_or_path": (),
}
PROMPTS_ONLY = {"model_type": ("SentenceTransformer",)}
CONFIG_ONLY: Mapping[str, Sequence[Json]] = {
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "is_causal": (False,),
    "use_bidirectional_attention": (True,),
    "pruned_heads": ({},),
    "quantization_config": (),
    "rope_scaling": (),
}
TOKENIZER_ONLY: Mapping[str, Sequence[Json]] = {
    "split_special_tokens": (False,),
    "truncation_side": ("right", "left"),
    "auto_map": (),
}
# Architectures whose positions count from the first token, so that padding in front moves none.
SHIFTED = ("roberta", "xlm-roberta", "camembert")


def require_known(
    path: Path, content: Mapping[str, Json], read: Collection[str], only: Mapping[str, Sequence[Json]]
) -> None:
    """Raise `EncoderError` for a setting of a file that is neither read nor has a value under which it does nothing."""
    require_only(path, content, only)
    if unknown := sorted(set(content) - {*read, *only}):
        raise EncoderError(
            f"{path}: distill does not know the setting {unknown[0]} = {str(content[unknown[0]])[:60]}, which may "
            "change the vectors; install sentence-transformers to measure it or label with it"
        )


def require_only(path: Path, content: Mapping[str, Json], only: Mapping[str, Sequence[Json]]) -> None:
    """Raise `EncoderError` for a setting of a file with another value than those under which it does nothing."""
    for name, values in only.items():
        if (value := content.get(name)) is not None and value not in values:
            expected = " or ".join(str(one) for one in (*values, "none"))
            raise EncoderError(f"{path}: {name} is {str(value)[:60]}, which is not honoured here; expected {expected}")


def require_honoured(folder: Path, inner: Path) -> None:
    """Raise `EncoderError` for settings of a folder that bear on vectors and are not honoured, or for an adapter."""
    if adapter := next((inner / name for name in ADAPTERS if (inner / name).is_file()), None):
        raise EncoderError(
            f"{adapter}: an adapter beside the weights of its base, which would be read without it; merge it into them "
            "by peft's merge_and_unload and save the model again"
        )
    require_only(inner / CONFIG, read_settings(inner / CONFIG), CONFIG_ONLY)
    require_known(folder / PROMPTS_FILE, read_settings(folder / PROMPTS_FILE), PROMPTS_READ, PROMPTS_ONLY)
    path = find_sentence_file(inner)
    content = read_settings(path)
    require_known(path, content, (*SENTENCE_READ, *ARGUMENTS, *TOKENIZER_ARGUMENTS, "modality_config"), SENTENCE_ONLY)
    for name in ARGUMENTS:
        require_known(path, content.get(name) or {}, PLAIN_ARGUMENTS, {})
    text = (content.get("modality_config") or {}).get("text", TEXT)
    require_only(path, {"modality_config": text}, {"modality_config": (TEXT,)})


def read_truncation(content: Json, settings: Mapping[str, Json]) -> Json:
    """Return the `truncation` of a `tokenizer.json` or its settings by which a text loses its beginning, or None."""
    truncation = content.get("truncation") or {}
    side = str(settings.get("truncation_side") or truncation.get("direction") or "right").lower()
    return {"direction": "Left", "max_length": 512, "strategy": "LongestFirst", "stride": 0} if side == "left" else None


def require_readable(inner: Path, content: Json, library: LibraryTokenizer) -> None:
    """Raise `EncoderError` for settings of a tokenizer, or of its `tokenizer.json`, that are not honoured."""
    path, settings = inner / SETTINGS_FILE, read_tokenizer_settings(inner)
    require_only(path, settings, TOKENIZER_ONLY)
    require_only(inner / JSON, content["model"], {"dropout": (0.0,)})
    side = settings.get("padding_side") or (content.get("padding") or {}).get("direction") or "right"
    if read_settings(inner / CONFIG).get("model_type") not in SHIFTED:
        require_only(path, {"padding_side": str(side).lower()}, {"padding_side": ("right",)})
    if library.has_segments and "token_type_ids" in (settings.get("model_input_names") or ()):
        raise EncoderError(
            f"{inner / JSON}: its post_processor gives tokens another type_id than 0, which is not honoured here"
        )
