"""A bundle where neither distill nor TensorFlow is installed: NumPy, SentencePiece and ai-edge-litert are enough.

python examples/bundle.py bundle
"""

import sys

bundle = sys.argv[1] if len(sys.argv) > 1 else "bundle"
sys.path.insert(0, bundle)
from encode import Encoder  # noqa: E402  the file encode.py in the bundle

encoder = Encoder(bundle)
questions = encoder.encode(["Where does the river end?", "¿Dónde termina el río?"])
documents = encoder.encode(["The river ends in the sea.", "Bread is baked in an oven."], "document")

print(f"{encoder.name}: {encoder.dimension} dimensions")
for scores in questions @ documents.T:  # cosines: rows have unit length
    print("  ".join(f"{score:.3f}" for score in scores))
