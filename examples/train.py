"""A small static student of the encoder that distill comes with, trained on the sample in a few steps, and saved.

python examples/train.py student

It knows the pieces of the sample alone, and is for a look at the API; `distill run` is the whole job.
"""

import sys

import numpy as np

from distill.catalog.kinds import released_folder
from distill.catalog.loading import load_encoder
from distill.data.loading import load_dataset
from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import Tokenizer, model_proto
from distill.evaluation.evaluate import evaluate
from distill.settings.sections import StudentSettings
from distill.stages.transfer_stage import transfer
from distill.students.factor import leading_axes
from distill.students.static import StaticEncoder
from distill.students.static_from import weights
from distill.students.vocabulary.pieces import pruned

folder = sys.argv[1] if len(sys.argv) > 1 else "student"
languages, columns = ("de", "en", "es"), 128

dataset = load_dataset("sample")
teacher = load_encoder("released")

# Only the pieces that these texts use.
texts = dataset.passage_texts + [q.text for name in languages for q in dataset.select(name, "train")]
whole = Tokenizer.load(released_folder() / "tokenizer.model")
tokenizer, _ = pruned(whole, np.unique(np.concatenate(whole.encode(texts))))

# A row of the table is the teacher's vector of the piece, on fewer axes, less where the piece is frequent.
counts = np.bincount(np.concatenate(tokenizer.encode(texts)), minlength=len(tokenizer))
vectors = teacher.encode([piece.piece.replace("▁", " ") for piece in model_proto(tokenizer).pieces])
axes = leading_axes(vectors, columns, counts + 1)
model = StaticEncoder(vocabulary=len(tokenizer), width=columns, hidden=32, dimension=teacher.dimension)
model.get_layer("embedding").set_weights([weights(counts)[:, None] * (vectors @ axes)])
residual = model.get_layer("residual")
residual.lift.set_weights([axes.T])
residual.second.set_weights([np.zeros((32, columns))])  # adds nothing at first
start = KerasEncoder(model, tokenizer, "start")

# Questions in three languages towards the teacher's vectors of their English versions, and passages.
settings = StudentSettings(epochs=3, learning_rate=2e-3, units=("passage",), dev_unit="maxp")
student = transfer(teacher, start, dataset, "en", languages, settings)
student.save(folder)

for name, encoder in {"teacher": teacher, "start": start, "student": student}.items():
    p1 = evaluate(encoder, dataset, "dev", languages, ("maxp",)).mean("maxp", languages)
    print(f"{name}: dev P@1 {100 * p1:.1f} %")
print(f"{folder}: {len(tokenizer):,} pieces of {len(whole):,}")
