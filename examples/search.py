"""The passages that are nearest to a question in any of 12 languages, by an encoder that comes with distill.

python examples/search.py "¿Dónde desemboca el Danubio?"
"""

import sys

import distill

question = sys.argv[1] if len(sys.argv) > 1 else "Wer hat den Buchdruck erfunden?"

encoder = distill.load_encoder("multi12-ngram")
dataset = distill.load_dataset("sample")  # or a folder of your own, docs/data.md

passages = encoder.encode(dataset.passage_texts, "document")  # float32 (passages, dimension), rows of unit length
scores = passages @ encoder.encode([question])[0]  # cosines

for row in (-scores).argsort()[:3]:
    print(f"{scores[row]:.3f}  {dataset.titles[dataset.passages[row].document]}: {dataset.passage_texts[row][:80]}")
