"""The passages that are nearest to a question in any of 12 languages, by the encoder that distill comes with.

python examples/search.py "¿Dónde desemboca el Danubio?"
"""

import sys

from distill.catalog.loading import load_encoder
from distill.data.loading import load_dataset
from distill.retrieval.exact import top_k

question = sys.argv[1] if len(sys.argv) > 1 else "Wer hat das Drucken mit beweglichen Lettern erfunden?"

encoder = load_encoder("released")
dataset = load_dataset("sample")  # or a folder of your own, docs/data.md

passages = encoder.encode(dataset.passage_texts, "document")  # float32 (passages, dimension), rows of unit length
rows, scores = top_k(encoder.encode([question]), passages, 3)  # of one question: (1, 3) each

for row, score in zip(rows[0], scores[0], strict=True):
    print(f"{score:.3f}  {dataset.titles[dataset.passages[row].document]}: {dataset.passage_texts[row][:80]}")
