"""Load a folder of Hugging Face or Sentence-Transformers as an encoder that can be trained, cut and exported.

PyTorch is not needed. The folder has `config.json`, `model.safetensors`, a tokenizer, and for Sentence-Transformers
`modules.json` with a pooling and possibly dense layers behind it. Weights are read by the library `safetensors`;
pickles and a model's own code are refused. The author and the licence of the weights are read too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..encoders.encoder import KerasEncoder
from ..encoders.tokenizer import Tokenizer
from ..errors import EncoderError, first_line
from ..students.origin import UNKNOWN, Origin
from ..system.backend import start
from ..system.extras import require_extra
from ..system.input_files import read_json
from ..system.types import File, Floats, Json
from .st_modules import read_behind, require_no_code
from .transformer_names import ARCHITECTURES, read_object, read_sizes, read_weights, rename_weights

if TYPE_CHECKING:
    from ..students.transformer import TransformerEncoder


PAGE, CARD = "README.md", "card.json"
# The licence in the head of a page, which is YAML.
LICENCE = re.compile(r"^license: *[\"']?([A-Za-z0-9.+-]+)[\"']? *$", re.MULTILINE)
# A model's name on the hub, which older configs contain.
NAME = re.compile(r"[\w.-]+/[\w.-]+")
CONFIG = "config.json"
# The questions of each language of the sample among the texts on which distill's own pieces are compared.
COMPARED = 150
# Documents have such blanks between words.
BLANKS = ("two  blanks", "a line\nand another\r\n\nparagraph", "a\ttab")


def read_folder_origin(folder: Path) -> Origin:
    """Read the name and the licence from a folder: from our card, or from its config and its page."""
    card = _read_values(folder / CARD)
    if "derives_from" in card:
        return Origin(str(card["derives_from"]), str(card.get("licence", UNKNOWN)))
    name = str(_read_values(folder / CONFIG).get("_name_or_path", ""))
    return Origin(name if NAME.fullmatch(name) else folder.resolve().name, _read_licence(folder / PAGE))


def _read_licence(page: Path) -> str:
    if not page.is_file():
        return UNKNOWN
    _, _, after = page.read_text(encoding="utf-8", errors="replace").partition("---\n")
    head, end, _ = after.partition("\n---")
    match = LICENCE.search(head) if end else None
    return match[1] if match else UNKNOWN


def _read_values(path: Path):
    content = read_json(path) if path.is_file() else {}
    return content if isinstance(content, dict) else {}


def is_transformer(folder: File) -> bool:
    """Check whether the config in a folder names an architecture that `load_transformer` supports."""
    from .tokenizers.folder import find_inner

    path = find_inner(Path(folder)) / CONFIG
    if not path.is_file():
        return False
    config = read_json(path)
    return isinstance(config, dict) and config.get("model_type") in ARCHITECTURES


def load_transformer(folder: File) -> KerasEncoder:
    """Load the encoder in a folder of Hugging Face or Sentence-Transformers. Without modules the pooling is the mean.

    Raises `EncoderError` for a folder without safetensors, another architecture, modules other than a pooling, a dense
    layer and a normalisation, a tokenizer that cannot be converted, or weights that do not fit the config.
    """
    from .tokenizers.folder import find_inner, load_tokenizer
    from .tokenizers.settings import require_honoured

    folder = Path(folder)
    require_no_code(folder)
    root = find_inner(folder)
    require_extra(f"{folder}: a folder of another library", ("safetensors", "tokenizers"), "hub")
    require_honoured(folder, root)
    config = read_object(root / CONFIG)
    sizes = read_sizes(config, str(folder))
    arrays = rename_weights(read_weights(root), config, str(folder))
    behind, dense = read_behind(folder, sizes["width"])
    tokenizer = load_tokenizer(folder, sizes["positions"], list_compared_texts)
    start()
    sizes |= {**behind, "origin": read_folder_origin(folder).as_dict()}
    model = build_network(sizes, {**arrays, **dense}, tokenizer, str(folder))
    return KerasEncoder(model, tokenizer, folder.resolve().name)


@cache
def list_compared_texts() -> tuple[str, ...]:
    """Return 2,000 texts of 12 languages on which distill's own pieces are compared with a library's."""
    from ..data.loading import load_dataset
    from ..data.readers import SAMPLE

    sample = load_dataset(SAMPLE)
    questions = [one.text for known in sample.questions.values() for one in list(known.values())[:COMPARED]]
    return (*BLANKS, *questions, *sample.passage_texts[: 2000 - len(questions) - len(BLANKS)])


def build_network(
    sizes: Mapping[str, Json], weights: Mapping[str, Floats], tokenizer: Tokenizer, source: str
) -> TransformerEncoder:
    """Build the network of given sizes and weights, with one embedding per token of the tokenizer.

    Further embeddings are dropped: tables are often filled up to a round number.
    """
    from ..students.transformer import TransformerEncoder

    _require_shapes(sizes, weights, source)
    table = weights["embedding/embeddings"]
    if len(table) < len(tokenizer):
        raise EncoderError(
            f"{source}: {len(table)} rows for {len(tokenizer)} pieces; save the model and its tokenizer again"
        )
    weights = {**weights, "embedding/embeddings": table[: len(tokenizer)]}
    model = TransformerEncoder(vocabulary=len(weights["embedding/embeddings"]), **sizes)
    try:
        model.set_weights([weights[weight.path] for weight in model.weights])
    except (KeyError, ValueError) as error:
        raise EncoderError(f"{source}: its weights do not fit its config: {first_line(error)}") from error
    model.second_segment = weights.get("second_segment")
    return model


def _require_shapes(sizes, weights, source):
    """Refuse sizes that contradict each other before a model of these sizes takes memory."""
    width, inner = sizes["width"], sizes["inner"]
    wanted = {
        "embedding/embeddings": (None, sizes.get("rank") or width),
        **({} if sizes.get("block") == "modern" else {"positions/embeddings": (sizes["positions"], width)}),
        "block_0/query/kernel": (width, sizes["heads"] * sizes["head_size"]),
        "block_0/first/kernel": (width, inner),
    }
    for path, shape in wanted.items():
        array = weights.get(path)
        if (
            array is None
            or array.ndim != 2
            or any(want not in (None, have) for want, have in zip(shape, array.shape, strict=True))
        ):
            have = "none" if array is None else array.shape
            raise EncoderError(f"{source}: its config asks for {path} of {shape}, its weights have {have}")
