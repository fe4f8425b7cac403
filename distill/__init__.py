"""Small multilingual sentence encoders for retrieval question answering."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# In a checkout some sub-packages are beside this folder and not inside it.
_checkout = Path(__file__).resolve().parent.parent
if (_checkout / "setup.cfg").is_file():
    __path__.append(str(_checkout))

# The public names. Each is imported, with everything that it needs, on first use.
FACE = {
    "Columns": "search_engine.documents.records",
    "DistillError": "errors",
    "Encoder": "encoders.encoder",
    "ExportOptions": "jobs.export_model",
    "ExportSettings": "settings.sections",
    "Gate": "export.gate",
    "IndexChange": "search_engine.indexing.intake",
    "IndexSettings": "search_engine.indexing.building",
    "LanguagePlan": "vocabulary.languages.add_language",
    "LanguageSources": "vocabulary.languages.material",
    "Limits": "search_engine.serving.limits",
    "PieceRule": "students.vocabulary.pruning",
    "ReaderOptions": "papers.reading.training",
    "ReaderSource": "papers.reading.files",
    "ReadingLimits": "search_engine.documents.limits",
    "Settings": "settings.sections",
    "Shape": "students.shape",
    "SpellingPlan": "vocabulary.languages.add_spellings",
    "StudentSettings": "settings.sections",
    "TableRequest": "papers.study",
    "TaskOptions": "evaluation.tasks.task",
    "TimingConditions": "evaluation.bench.compare",
    "WordPlan": "vocabulary.languages.add_words",
    "WriterOptions": "papers.reading_jobs",
    "adapt_to_documents": "jobs.adapting.adapt",
    "add_language": "vocabulary.languages.add_language",
    "add_spellings": "vocabulary.languages.add_spellings",
    "add_words": "vocabulary.languages.add_words",
    "apply_reader": "papers.reading_jobs",
    "build_index": "search_engine.indexing.building",
    "compare": "evaluation.mcnemar",
    "compare_models": "jobs.measuring",
    "compare_predictions": "papers.mteb_predictions",
    "compress": "jobs.compression.compress",
    "compress_encoder": "jobs.run",
    "encode_file": "encoders.files.encode_file",
    "evaluate": "evaluation.evaluate",
    "export_artefact": "export.artefact",
    "export_model": "jobs.export_model",
    "export_reader": "papers.reading_jobs",
    "fit_removal": "jobs.language_removal",
    "fold_removal": "jobs.language_removal",
    "generate_answers": "papers.reading_jobs",
    "init_config": "jobs.pipeline.own_data",
    "learn_text": "jobs.run",
    "list_paper_commands": "papers.study",
    "load_dataset": "data.loading",
    "load_encoder": "encoders.catalog.loading",
    "load_reader": "papers.reading.load_reader",
    "make_page": "search_engine.make_page",
    "measure_models": "jobs.measuring",
    "measure_predictions": "papers.measure_predictions",
    "plan_paper": "papers.study",
    "prune_vocabulary": "jobs.reduce_encoder",
    "ray_engine": "encoders.files.on_ray",
    "read_answers": "papers.written_answers",
    "read_corpus": "data.corpus",
    "recipe_names": "settings.recipe",
    "recipe_settings": "settings.store",
    "reduce_encoder": "jobs.reduce_encoder",
    "remove_language": "jobs.language_removal",
    "report_runs": "jobs.pipeline.finished_runs",
    "reproduce_paper": "papers.study",
    "run": "jobs.run",
    "search": "search_engine.indexing.answers",
    "serve_index": "search_engine.plugs.mcp",
    "serve_model": "search_engine.serving.start",
    "serving_app": "search_engine.serving.start",
    "static_student": "students.vocabulary.vocabularies",
    "subset_languages": "jobs.reduce_encoder",
    "teach": "training.stages.triplet_stage",
    "time_encoders": "evaluation.bench.compare",
    "train_reader": "papers.reading_jobs",
    "train_writer": "papers.reading_jobs",
    "transfer": "training.stages.transfer_stage",
    "translation_of": "evaluation.translation",
    "tune": "jobs.tuning.tune",
}
__all__ = [*FACE, "__version__"]

if TYPE_CHECKING:
    from .data.corpus import read_corpus as read_corpus
    from .data.loading import load_dataset as load_dataset
    from .encoders.catalog.loading import load_encoder as load_encoder
    from .encoders.encoder import Encoder as Encoder
    from .encoders.files.encode_file import encode_file as encode_file
    from .encoders.files.on_ray import ray_engine as ray_engine
    from .errors import DistillError as DistillError
    from .evaluation.bench.compare import TimingConditions as TimingConditions
    from .evaluation.bench.compare import time_encoders as time_encoders
    from .evaluation.evaluate import evaluate as evaluate
    from .evaluation.mcnemar import compare as compare
    from .evaluation.tasks.task import TaskOptions as TaskOptions
    from .evaluation.translation import translation_of as translation_of
    from .export.artefact import export_artefact as export_artefact
    from .export.gate import Gate as Gate
    from .jobs.adapting.adapt import adapt_to_documents as adapt_to_documents
    from .jobs.compression.compress import compress as compress
    from .jobs.export_model import ExportOptions as ExportOptions
    from .jobs.export_model import export_model as export_model
    from .jobs.language_removal import fit_removal as fit_removal
    from .jobs.language_removal import fold_removal as fold_removal
    from .jobs.language_removal import remove_language as remove_language
    from .jobs.measuring import compare_models as compare_models
    from .jobs.measuring import measure_models as measure_models
    from .jobs.pipeline.finished_runs import report_runs as report_runs
    from .jobs.pipeline.own_data import init_config as init_config
    from .jobs.reduce_encoder import prune_vocabulary as prune_vocabulary
    from .jobs.reduce_encoder import reduce_encoder as reduce_encoder
    from .jobs.reduce_encoder import subset_languages as subset_languages
    from .jobs.run import compress_encoder as compress_encoder
    from .jobs.run import learn_text as learn_text
    from .jobs.run import run as run
    from .jobs.tuning.tune import tune as tune
    from .papers.measure_predictions import measure_predictions as measure_predictions
    from .papers.mteb_predictions import compare_predictions as compare_predictions
    from .papers.reading.files import ReaderSource as ReaderSource
    from .papers.reading.load_reader import load_reader as load_reader
    from .papers.reading.training import ReaderOptions as ReaderOptions
    from .papers.reading_jobs import WriterOptions as WriterOptions
    from .papers.reading_jobs import apply_reader as apply_reader
    from .papers.reading_jobs import export_reader as export_reader
    from .papers.reading_jobs import generate_answers as generate_answers
    from .papers.reading_jobs import train_reader as train_reader
    from .papers.reading_jobs import train_writer as train_writer
    from .papers.study import TableRequest as TableRequest
    from .papers.study import list_paper_commands as list_paper_commands
    from .papers.study import plan_paper as plan_paper
    from .papers.study import reproduce_paper as reproduce_paper
    from .papers.written_answers import read_answers as read_answers
    from .search_engine.documents.limits import ReadingLimits as ReadingLimits
    from .search_engine.documents.records import Columns as Columns
    from .search_engine.indexing.answers import search as search
    from .search_engine.indexing.building import IndexSettings as IndexSettings
    from .search_engine.indexing.building import build_index as build_index
    from .search_engine.indexing.intake import IndexChange as IndexChange
    from .search_engine.make_page import make_page as make_page
    from .search_engine.plugs.mcp import serve_index as serve_index
    from .search_engine.serving.limits import Limits as Limits
    from .search_engine.serving.start import serve_model as serve_model
    from .search_engine.serving.start import serving_app as serving_app
    from .settings.recipe import recipe_names as recipe_names
    from .settings.sections import ExportSettings as ExportSettings
    from .settings.sections import Settings as Settings
    from .settings.sections import StudentSettings as StudentSettings
    from .settings.store import recipe_settings as recipe_settings
    from .students.shape import Shape as Shape
    from .students.vocabulary.pruning import PieceRule as PieceRule
    from .students.vocabulary.vocabularies import static_student as static_student
    from .training.stages.transfer_stage import transfer as transfer
    from .training.stages.triplet_stage import teach as teach
    from .vocabulary.languages.add_language import LanguagePlan as LanguagePlan
    from .vocabulary.languages.add_language import add_language as add_language
    from .vocabulary.languages.add_spellings import SpellingPlan as SpellingPlan
    from .vocabulary.languages.add_spellings import add_spellings as add_spellings
    from .vocabulary.languages.add_words import WordPlan as WordPlan
    from .vocabulary.languages.add_words import add_words as add_words
    from .vocabulary.languages.material import LanguageSources as LanguageSources


def __getattr__(name: str) -> object:
    if name not in FACE:
        raise AttributeError(f"module 'distill' has no attribute {name!r}; it has {', '.join(FACE)}")
    from .system.extras import training_stack

    with training_stack():
        value = globals()[name] = getattr(import_module(f".{FACE[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *FACE})
