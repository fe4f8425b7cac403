"""A small static student of mUSE, trained on the sample in a few steps, and saved.

python examples/train.py student

It knows the pieces of the sample alone, and is for a look at the API; `distill run` is the whole job.
"""

import sys

import distill

folder = sys.argv[1] if len(sys.argv) > 1 else "student"
languages = ("de", "en", "es")

dataset = distill.load_dataset("sample")
teacher = distill.load_encoder("muse")

# Only the pieces that these texts use.
texts = dataset.passage_texts + [q.text for name in languages for q in dataset.select(name, "train")]
start = distill.static_student(teacher, texts, width=128, hidden=32)

# Questions in three languages towards the teacher's vectors of their English versions, and passages.
settings = distill.StudentSettings(epochs=3, learning_rate=2e-3, units=("passage",), dev_unit="maxp")
student = distill.transfer(teacher, start, dataset, "en", languages, settings)
student.save(folder)

for name, encoder in {"teacher": teacher, "start": start, "student": student}.items():
    p1 = distill.evaluate(encoder, dataset, "dev", languages, ("maxp",)).mean("maxp", languages)
    print(f"{name}: dev P@1 {100 * p1:.1f} %")
print(f"{folder}: {len(student.tokenizer):,} pieces of {len(teacher.tokenizer):,}")
