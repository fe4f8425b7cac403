"""Read texts as JSON from stdin and write their vectors as .npy to stdout: `mediapipe.py` runs this as a process."""

import io
import json
import os
import sys
from types import ModuleType
from typing import cast


def main(path: str) -> None:
    """Encode the texts on stdin with the model at `path` and write their vectors."""
    # Modules of this folder have the same names as packages.
    sys.path[:] = [
        folder for folder in sys.path if os.path.abspath(folder) != os.path.dirname(os.path.abspath(__file__))
    ]
    # MediaPipe imports TensorFlow if it is installed, only to mark its documentation, which takes ten seconds.
    sys.modules["tensorflow"] = cast(ModuleType, None)
    # MediaPipe prints to both streams.
    answer = os.dup(1)
    os.dup2(2, 1)
    import numpy as np
    from mediapipe.tasks.python import BaseOptions, text

    texts = json.load(sys.stdin)
    options = text.TextEmbedderOptions(base_options=BaseOptions(model_asset_path=path))
    with text.TextEmbedder.create_from_options(options) as embedder:
        vectors = [embedder.embed(one).embeddings[0].embedding for one in texts]
    content = io.BytesIO()
    np.save(content, np.array(vectors, dtype=np.float32))
    with os.fdopen(answer, "wb") as file:
        file.write(content.getvalue())


if __name__ == "__main__":
    main(sys.argv[1])
