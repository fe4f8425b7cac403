"""A saved encoder as a bundle for TFLite, checked against it: tokens, cosines, P@1 on dev.

python examples/export.py student bundle
"""

import sys

import distill

source, folder = sys.argv[1:] or ("student", "bundle")

# The sample asks 168 questions on dev, one of which is 0.6 points: a loss of a few is chance.
settings = distill.ExportSettings(max_drop=5.0)
gate = distill.Gate(distill.load_dataset("sample"), ("de", "en", "es"), settings)

try:
    judged = distill.export_artefact(distill.load_encoder(source), folder, gate)
except distill.DistillError as error:  # then nothing is left under `folder`
    sys.exit(f"refused: {error}")

figures = judged.figures
print(f"{folder}: {judged.card.bytes / 1e6:.1f} MB")
print(f"cosine to the student: {figures.cosine_mean:.4f} on average, {figures.cosine_min:.4f} at least")
for language, scores in figures.p1.items():
    print(f"{language}: P@1 {100 * scores.student:.1f} % before, {100 * scores.artefact:.1f} % after")
