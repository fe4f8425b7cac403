"""Encoders as models of mteb, such as `mteb.evaluate(distill.papers.mteb.load("multi12-ngram"), tasks)`.

Needs the extra `mteb`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from ..encoders.catalog.bundle import CARD_FILE, find_shipped, is_artefact
from ..encoders.catalog.identity import describe_origin, weights_fingerprint
from ..encoders.catalog.kinds import RUN_FILE, find_folder
from ..encoders.catalog.loading import load_teacher
from ..encoders.dual_encoder import DualEncoder, count_parameters
from ..encoders.encoder import KerasEncoder
from ..errors import ConfigError, EncoderError, ExportError, InputError
from ..settings.store import load_settings, values_by_name
from ..students.origin import ALL_OF
from ..system.extras import install_command
from ..system.files import write_json
from ..system.input_files import read_json
from .mteb_predictions import RELEVANT

try:
    from mteb.models import ModelMeta
    from mteb.similarity_functions import dot_score, pairwise_dot_score
    from mteb.types import Licenses, PromptType
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "mteb":
        raise
    raise InputError(f"mteb is not installed; run, in Python 3.11 or later: {install_command('mteb')}") from error

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.types import Array, BatchedInput

    from ..encoders.encoder import Encoder
    from ..system.types import File, Floats, Json

# mteb's codes of languages, by the codes in cards.
LANGUAGES = {
    "ar": "ara-Arab", "bg": "bul-Cyrl", "cs": "ces-Latn", "da": "dan-Latn", "de": "deu-Latn", "el": "ell-Grek",
    "en": "eng-Latn", "es": "spa-Latn", "fa": "fas-Arab", "fi": "fin-Latn", "fr": "fra-Latn", "he": "heb-Hebr",
    "hi": "hin-Deva", "hu": "hun-Latn", "id": "ind-Latn", "it": "ita-Latn", "ja": "jpn-Jpan", "ko": "kor-Hang",
    "nl": "nld-Latn", "no": "nob-Latn", "pl": "pol-Latn", "pt": "por-Latn", "ro": "ron-Latn", "ru": "rus-Cyrl",
    "sv": "swe-Latn", "th": "tha-Thai", "tr": "tur-Latn", "uk": "ukr-Cyrl", "vi": "vie-Latn", "zh": "zho-Hans",
}  # fmt: skip
# mteb's tasks whose data was learned from, by words in the names of files and folders that a card lists. The tasks of
# benchmarks/mteb/lareqa_tasks.py use XQuAD too; Belebele's passages are those of FLORES.
XQUAD = ("XQuADRetrieval", "XQuADCrossLingualRetrieval", "XQuADRRetrieval", "LAReQARetrieval")
TYDI = ("MrTidyRetrieval", "MIRACLRetrieval", "MIRACLRetrievalHardNegatives", "MIRACLReranking")
TASKS_OF_DATA = {
    "belebele": ("BelebeleRetrieval",),
    "fever": ("FEVER", "FEVERHardNegatives"),
    "flores": ("FloresBitextMining", "BelebeleRetrieval"),
    "hotpotqa": ("HotpotQA", "HotpotQAHardNegatives"),
    "massive": ("MassiveIntentClassification", "MassiveScenarioClassification"),
    "mintaka": ("MintakaRetrieval",),
    "miracl": TYDI,
    "mkqa": ("MKQARetrieval",),
    "mlqa": ("MLQARetrieval",),
    "msmarco": ("MSMARCO", "MSMARCOHardNegatives"),
    "nq": ("NQ", "NQHardNegatives"),
    "ntrex": ("NTREXBitextMining",),
    "rubq": ("RuBQRetrieval", "RuBQReranking"),
    "squad": XQUAD,
    "sts": ("STSBenchmark", "STSBenchmarkMultilingualSTS"),
    "tatoeba": ("Tatoeba",),
    "tydi": TYDI,
    "tydiqa": TYDI,
    "xor": TYDI,
    "xquad": XQUAD,
}
# The data that distill's own encoders or their teachers learned from, according to their README.md, which their cards
# do not list. For e5 see Wang et al. (2024), Multilingual E5 text embeddings: a technical report, table 2.
TAUGHT = ("tydiqa", "squad", "nq", "sts")
E5 = ("tydi", "miracl", "squad", "nq", "sts", "msmarco", "fever", "hotpotqa")
DATA: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("multi12-ngram", "multi12-static"), TAUGHT),
    **dict.fromkeys(("multi12-transformer", "multi12-six", "multi12-three"), E5),
}


class EncoderModel:
    """An `Encoder` under mteb's EncoderProtocol. Queries are encoded as questions, and similarity is the dot product.

    Texts without a prompt type, such as the sentences of a bitext, are encoded as questions too.
    """

    def __init__(self, encoder: Encoder, meta: ModelMeta) -> None:
        self.encoder, self.mteb_model_meta = encoder, meta

    def encode(
        self,
        inputs: Iterable[BatchedInput],
        *,
        task_metadata: TaskMetadata,
        hf_split: str,
        hf_subset: str,
        prompt_type: PromptType | None = None,
        **unused: Json,
    ) -> Floats:
        """Encode the texts of all batches. The encoder itself chooses how many texts it encodes at once.

        `inputs` are the batches, each with a list under "text". `prompt_type` is the role of the texts; None for
        questions. Returns unit vectors, float32 `(n, dimension)`.
        """
        batches = list(inputs)
        if any("text" not in batch for batch in batches):
            raise InputError(f"{task_metadata.name}: has other inputs than texts; choose tasks of texts alone")
        texts = [text for batch in batches for text in batch["text"]]
        return self.encoder.encode(texts, "document" if prompt_type is PromptType.document else "question")

    def similarity(self, embeddings1: Array, embeddings2: Array) -> Array:
        """Return the dot products of all pairs, float32 `(n, m)`.

        Args:
            embeddings1: Vectors, `(n, dimension)`.
            embeddings2: Vectors, `(m, dimension)`.
        """
        return dot_score(embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Array, embeddings2: Array) -> Array:
        """Return the dot products row by row, float32 `(n,)`. `embeddings2` are vectors, `(n, dimension)`."""
        return pairwise_dot_score(embeddings1, embeddings2)


def load(source: File, trained_on: Collection[str] = ()) -> EncoderModel:
    """Load an encoder as a model of mteb. Its `mteb_model_meta` is filled from its card.

    Raises `EncoderError` if `source` names no encoder.

    Args:
        source: The encoder, by any name that `load_encoder` takes.
        trained_on: Names of mteb's tasks whose data it learned from, beside those of its card. Their scores are marked
            as not zero-shot.
    """
    encoder = load_teacher(source)
    return EncoderModel(encoder, model_meta(source, encoder, trained_on))


def model_meta(source: File, encoder: Encoder, trained_on: Collection[str] = ()) -> ModelMeta:
    """Describe an encoder for mteb. Entries are None if neither its card nor its run tells them.

    `trained_on` are names of mteb's tasks whose data it learned from, beside those of its card.
    """
    folder = find_folder(source)
    card, comes_from = _read_card(folder), describe_origin(source)
    known = {**comes_from, **card}
    weights, table, size = _count_weights(folder, card) if card else _count_keras_weights(encoder)
    return ModelMeta(
        loader=None,
        name=f"distill/{re.sub(r'[^-.a-zA-Z0-9_]+', '-', comes_from['source'])}",
        revision=weights_fingerprint(source, encoder)[:40],
        release_date=None,
        languages=[LANGUAGES[one] for one in known.get("languages", ()) if one in LANGUAGES] or None,
        n_parameters=weights,
        n_embedding_parameters=table,
        memory_usage_mb=None if size is None else size / 2**20,
        max_tokens=known.get("max_length") or math.inf,
        embed_dim=encoder.dimension,
        license=_read_licence(known),
        open_weights=True,
        public_training_code=None,
        public_training_data=None,
        framework=_list_frameworks(card, encoder),
        similarity_fn_name="dot",
        use_instructions=False,
        training_datasets=_list_trained_tasks(source, known, trained_on),
    )


def _read_card(folder):
    """Read the card of a bundle; return an empty one for any other folder."""
    return read_json(folder / CARD_FILE) if folder is not None and is_artefact(folder) else {}


def _count_weights(folder, card):
    """Count the weights of a bundle: all, those of the table, and the bytes on disk.

    Counts of other formats are None.
    """
    from ..export.encode import MODELS
    from ..export.tflite.graph import Graph
    from ..export.tflite.weights import as_graph_error, parts_of

    size = card.get("bytes")
    if card["format"] != "bundle":
        return None, None, size
    try:
        with as_graph_error():
            parts = parts_of(Graph((folder / MODELS["bundle"]).read_bytes()))
    except ExportError:
        return None, None, size
    table = card["vocabulary"] * parts.width
    return table + parts.size, table, size


def _count_keras_weights(encoder):
    if not isinstance(encoder, KerasEncoder | DualEncoder):
        return None, None, None
    counts = count_parameters(encoder)
    return counts["parameters"], None, counts["bytes"]


def _read_licence(known):
    licence = str(known.get("licence", ""))
    name = "multiple" if ALL_OF in licence else licence.lower()
    return name if name in get_args(Licenses) else None


def _list_frameworks(card, encoder):
    if card.get("format") == "onnx":
        return ["ONNX"]
    return ["TensorFlow"] if card or isinstance(encoder, KerasEncoder | DualEncoder) else []


def _list_trained_tasks(source, known, more):
    """Return the names of mteb's tasks whose data was learned from; None if nothing is known about that."""
    if "dataset" not in known and not more:
        return None
    return {task for word in _collect_words(str(source), set()) for task in TASKS_OF_DATA.get(word, ())} | set(more)


def _collect_words(source, seen):
    """Collect the words of what an encoder learned from, including its start and its teacher, recursively."""
    with suppress(EncoderError):  # One that is no longer there.
        folder = find_folder(source)
        known, shipped = {**describe_origin(source), **_read_card(folder)}, find_shipped(source)
        words = set(DATA[shipped.name] if shipped else ())
        for key in ("dataset", "triplets", "parallel_text", "labelled_text"):
            words.update(word for text in _as_texts(known.get(key)) for word in re.findall("[a-z]+", text.lower()))
        for start in _list_starts(folder) - seen:
            words |= _collect_words(start, seen | {source, start})
        return words
    return set()


def _as_texts(value: Json) -> Sequence[str]:
    return [value] if isinstance(value, str) else value or ()


def _list_starts(folder):
    """Return the encoders that the run of a folder started from and was taught by."""
    runs = [] if folder is None else [one for one in (folder, folder.resolve().parent) if (one / RUN_FILE).is_file()]
    if not runs:
        return set()
    with suppress(ConfigError):  # another program's
        of = values_by_name(load_settings(runs[0] / RUN_FILE))
        return {str(of[name]) for name in ("teacher.base", "teacher.model", "student.start")} - {""}
    return set()


def save_relevant(task: AbsTask, folder: File) -> Path:
    """Write the relevant documents of an mteb retrieval task in the form that `distill compare --relevant` reads.

    Returns the file, `{task}_relevant.json`, with `{subset: {split: {question: {document: grade}}}}`.
    """
    # mteb drops the data of a task that it has loaded itself.
    task.load_data()
    if hasattr(task, "convert_v1_dataset_format_to_v2"):
        task.convert_v1_dataset_format_to_v2(num_proc=None)
    name, dataset = task.metadata.name, task.dataset
    if task.metadata.type != "Retrieval" or not isinstance(dataset, Mapping):
        raise InputError(f"{name}: {task.metadata.type}, expected a task of the type Retrieval")
    right = {
        subset: {
            split: {str(id): dict(of) for id, of in data["relevant_docs"].items()} for split, data in splits.items()
        }
        for subset, splits in dataset.items()
    }
    path = Path(folder) / f"{name}{RELEVANT}"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, right)
    return path
