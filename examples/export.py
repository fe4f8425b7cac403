"""A saved encoder as a bundle for TFLite, checked against it: tokens, cosines, P@1 on dev.

python examples/export.py student bundle
"""

import sys

from distill.catalog.loading import load_keras_encoder
from distill.data.loading import load_dataset
from distill.errors import ExportError
from distill.export.artefact import export_artefact
from distill.export.form import Form
from distill.export.weights.precision import Precision
from distill.settings.sections import ExportSettings

source, folder = sys.argv[1:] or ("student", "bundle")
form = Form("bundle", Precision(dense="int8", table="uint8"))

# The sample asks 60 questions on dev, one of which is 1.7 points: a loss of one or two is chance.
settings = ExportSettings(max_drop=5.0)

try:
    card = export_artefact(
        load_keras_encoder(source), folder, load_dataset("sample"), ("de", "en", "es"), settings, form
    )
except ExportError as error:  # then nothing is left under `folder`
    sys.exit(f"refused: {error}")

print(f"{folder}: {sum(file['bytes'] for file in card['files'].values()) / 1e6:.1f} MB")
print(f"cosine to the student: {card['dev']['cosine_mean']:.4f} on average, {card['dev']['cosine_min']:.4f} at least")
for language, row in card["dev"]["p@1"].items():
    print(f"{language}: P@1 {100 * row['student']:.1f} % before, {100 * row['artefact']:.1f} % after")
