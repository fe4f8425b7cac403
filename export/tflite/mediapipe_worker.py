"""Run by `mediapipe.py` in a process of its own: texts as JSON on stdin, their vectors as .npy on stdout."""

import io
import json
import os
import sys
from types import ModuleType
from typing import cast


def main(path: str) -> None:
    """Write the vectors of the texts on stdin, by the model at `path`."""
    # This folder has modules of names that packages have.
    sys.path[:] = [
        folder for folder in sys.path if os.path.abspath(folder) != os.path.dirname(os.path.abspath(__file__))
    ]
    # MediaPipe takes TensorFlow where it is there, for marks in its documentation alone: ten seconds.
    sys.modules["tensorflow"] = cast(ModuleType, None)
    # It prints to both streams.
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
