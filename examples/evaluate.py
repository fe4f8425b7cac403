"""How good an encoder is on data of your own: two JSON Lines files, then P@1 by language.

python examples/evaluate.py
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import distill

DOCUMENTS = [
    {"id": "nile", "title": "The Nile", "passages": ["The Nile flows north into the Mediterranean Sea."]},
    {"id": "alps", "title": "The Alps", "passages": ["Mont Blanc is the highest mountain of the Alps."]},
    {"id": "bees", "title": "Bees", "passages": ["A honey bee tells others of flowers by a dance."]},
]
# id, language, text, passage; questions of one id are translations of each other.
QUESTIONS = [
    ("q1", "en", "Which sea does the Nile reach?", "nile/0"),
    ("q1", "de", "In welches Meer mündet der Nil?", "nile/0"),
    ("q2", "en", "What is the highest peak of the Alps?", "alps/0"),
    ("q2", "de", "Welcher Berg der Alpen ist der höchste?", "alps/0"),
    ("q3", "en", "How do bees say where flowers are?", "bees/0"),
    ("q3", "de", "Wie sagen Bienen, wo Blumen sind?", "bees/0"),
]
# Without this file the questions are divided by a seed.
SPLITS = {"train": ["q1"], "dev": ["q2", "q3"]}


def write_data(folder):
    """The three files that docs/data.md describes."""
    questions = [dict(zip(("id", "language", "text", "passage"), row, strict=True)) for row in QUESTIONS]
    for name, rows in {"documents": DOCUMENTS, "questions": questions}.items():
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "splits.json").write_text(json.dumps(SPLITS), encoding="utf-8")


with TemporaryDirectory() as folder:
    write_data(Path(folder))
    dataset = distill.load_dataset(folder)

encoder = distill.load_encoder("multi12-ngram")
evaluation = distill.evaluate(encoder, dataset, "dev", dataset.languages, units=("document",))
for language, metrics in evaluation.table()["document"].items():
    print(f"{language}: P@1 {100 * metrics['p@1']:.1f} %, MRR@10 {metrics['mrr@10']:.3f}")
