"""Small multilingual sentence encoders for retrieval question answering."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# In a checkout the sub-packages stand beside this folder, not inside it.
_checkout = Path(__file__).resolve().parent.parent
if (_checkout / "setup.cfg").is_file():
    __path__.append(str(_checkout))

# The names that users need, each imported with all that it needs when it is first asked for.
FACE = {
    "DistillError": "errors",
    "Encoder": "encoders.encoder",
    "ExportSettings": "settings.sections",
    "Gate": "export.gate",
    "Settings": "settings.sections",
    "StudentSettings": "settings.sections",
    "compare": "evaluation.mcnemar",
    "evaluate": "evaluation.evaluate",
    "export_artefact": "export.artefact",
    "load_dataset": "data.loading",
    "load_encoder": "catalog.loading",
    "recipe_settings": "settings.store",
    "run": "compression.whole_job",
    "static_student": "students.vocabulary.static_student",
    "teach": "stages.triplet_stage",
    "transfer": "stages.transfer_stage",
}
__all__ = [*FACE, "__version__"]

if TYPE_CHECKING:
    from .catalog.loading import load_encoder as load_encoder
    from .compression.whole_job import run as run
    from .data.loading import load_dataset as load_dataset
    from .encoders.encoder import Encoder as Encoder
    from .errors import DistillError as DistillError
    from .evaluation.evaluate import evaluate as evaluate
    from .evaluation.mcnemar import compare as compare
    from .export.artefact import export_artefact as export_artefact
    from .export.gate import Gate as Gate
    from .settings.sections import ExportSettings as ExportSettings
    from .settings.sections import Settings as Settings
    from .settings.sections import StudentSettings as StudentSettings
    from .settings.store import recipe_settings as recipe_settings
    from .stages.transfer_stage import transfer as transfer
    from .stages.triplet_stage import teach as teach
    from .students.vocabulary.static_student import static_student as static_student


def __getattr__(name: str) -> object:
    if name not in FACE:
        raise AttributeError(f"module 'distill' has no attribute {name!r}; it has {', '.join(FACE)}")
    from .system.extras import training_stack

    with training_stack():
        value = globals()[name] = getattr(import_module(f".{FACE[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *FACE})
