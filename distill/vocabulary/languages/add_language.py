"""Copy an encoder and add one language, while all others stay as they were."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...data.dataset import Dataset
from ...data.loading import read_dataset
from ...data.parallel import count_pivots
from ...encoders.catalog.bundle import CARD_FILE, find_artefact
from ...encoders.catalog.identity import describe_origin
from ...encoders.catalog.loading import load_encoder, load_keras_encoder, load_teacher
from ...encoders.encoder import Encoder, normalise_rows
from ...errors import EncoderError, ExportError
from ...evaluation.evaluate import evaluate
from ...settings.choices import EVERY
from ...system.backend import start
from ...system.files import require_writable
from ...system.input_files import read_json
from ...system.progress import say, task
from ...system.types import File, Floats, Json
from ...teachers.e5 import PACKAGE
from .material import LanguageSources, Material, read_material, require_new

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder
    from ...encoders.tokenizer import Tokenizer
    from ...training.stages.lines import Lines
    from .lexicon_induction import InducedLexicon

# What the other languages are measured on, and how.
SAMPLE, UNIT = "sample", "passage"


@dataclass(frozen=True)
class LanguagePlan:
    """The files of a language, and how much is learned from them.

    Args:
        sources: The files that the language is learned from.
        learned: The greatest number of tokens to learn.
        words: The greatest number of frequent words that get a token each.
        aligner: The encoder that initialises the embeddings of new tokens by meaning. None takes e5 if it is installed,
            and "none" takes no encoder.
        steps: The number of training steps.
        lines: The number of lines per step.
        seed: The seed of all random draws.
        spellings: The greatest number of further words that are read as existing tokens.

    Example:
        >>> import distill
        >>> sources = distill.LanguageSources("fi", text=("fi.txt",), parallel=("en-fi.tsv",))
        >>> distill.LanguagePlan(sources, learned=2000, aligner="none").steps
        500
    """

    sources: LanguageSources
    learned: int = 4000
    words: int = 8000
    aligner: str | None = None
    steps: int = 500
    lines: int = 256
    seed: int = 0
    spellings: int = 0


def add_language(model: str, plan: LanguagePlan, output: File) -> dict[str, Json]:
    """Write a copy of an encoder that knows one more language. All other languages stay as they were.

    A bundle stays a bundle of the same format, and so does the bundle of a run. The weights that it had keep their
    codes. Another encoder is saved in Keras' format.

    Args:
        model: A bundle, a run folder, a saved encoder, or a name such as `multi12-ngram`.
        plan: The files of the language, and how much is learned from them.
        output: The folder to make.

    Returns:
        The numbers of tokens before and after, P@1 on held-out lines, and what the other languages lose.

    Raises:
        InputError: If the encoder has the language already, or if the files are not enough.
        ExportError: If nothing was learned.
        DataError: If a file cannot be read. The message names file and line.
        EncoderError: If `model` names no encoder with weights of distill's own.

    Example:
        >>> import distill
        >>> sources = distill.LanguageSources("fi", text=("fi.txt",), parallel=("en-fi.tsv",))
        >>> plan = distill.LanguagePlan(sources, learned=2000, aligner="none")
        >>> figures = distill.add_language("multi12-ngram", plan, "with-finnish")
    """
    require_writable(output)
    plan = replace(plan, aligner=choose_aligner(plan.aligner))
    language, seconds = plan.sources.language, dict[str, Json]()
    folder, languages = read_known_languages(model)
    require_new(language, languages, model)
    with time_part(seconds, "read"):
        material = read_material(plan.sources, plan.seed)
    start()
    encoder = load_keras_encoder(model)
    with time_part(seconds, "pieces"):
        larger, near = enlarge_encoder(encoder, material, plan)
    with time_part(seconds, "train"):
        lines = label_lines(material, near, load_encoder(model))
        student = train_rows(larger, len(encoder.tokenizer), lines, material, plan)
    with time_part(seconds, "spellings"):
        student = add_word_spellings(student, len(encoder.tokenizer), material, near, plan.spellings)
    with time_part(seconds, "measure"):
        figures = measure_dev(material, {"before": encoder, "untrained": larger, "student": student})
    if figures["student"] <= figures["before"]:
        raise ExportError(
            f"nothing was learned: of {material.language}'s {material.dev_size} held-out lines {model} finds "
            f"{100 * figures['before']:.1f} % and the student {100 * figures['student']:.1f} %; give more parallel text"
        )
    about: dict[str, Json] = {"lines": count_lines(material), "seed": plan.seed, "aligner": plan.aligner}
    about |= {"spellings": len(list_new_spellings(encoder.tokenizer, student.tokenizer))}
    about |= {"dev_lines": material.dev_size, "p@1": figures}
    with time_part(seconds, "write"):
        write_student(folder, output, encoder, student, material, {**about, **describe_origin(model)})
    with time_part(seconds, "measure bundle"):
        before, after = load_encoder(model), load_encoder(output)
        figures["written"] = measure_dev(material, {"written": after})["written"]
        others = measure_others(before, after, encoder.tokenizer, student.tokenizer, languages)
    pieces = [len(encoder.tokenizer), len(student.tokenizer)]
    return {"model": model, "language": language, **about, "pieces": pieces, "others": others, "seconds": seconds}


@contextmanager
def time_part(seconds: dict[str, Json], part: str) -> Iterator[None]:
    """Record the wall-clock and CPU seconds of a block."""
    clock, cpu = time.perf_counter(), time.process_time()
    yield
    passed = {"clock": time.perf_counter() - clock, "cpu": time.process_time() - cpu}
    seconds[part] = {name: round(value, 1) for name, value in passed.items()}


def choose_aligner(name: str | None) -> str | None:
    """Return the name of the aligner; by default e5 if it is installed, and None for `none`."""
    if name is None:
        return "e5" if find_spec(PACKAGE) else None
    return None if name == "none" else name


def read_known_languages(model: str) -> tuple[Path | None, tuple[str, ...]]:
    """Return the folder of an artefact, or None for an encoder that is none, and its languages."""
    from ...teachers.muse import LANGUAGES

    try:
        folder = find_artefact(model)
    except EncoderError:
        return None, tuple(LANGUAGES) if model == "muse" else ()
    return folder, tuple(read_json(folder / CARD_FILE).get("languages", ()))


def enlarge_encoder(
    encoder: KerasEncoder, material: Material, plan: LanguagePlan
) -> tuple[KerasEncoder, InducedLexicon | None]:
    """Add the language's tokens to an encoder, untrained, and return the words that the aligner finds similar too."""
    from ...students.vocabulary.new_pieces import append_embeddings
    from .pieces import embed_by_meaning, find_near_words, larger_tokenizer

    tokenizer, aligner = larger_tokenizer(encoder.tokenizer, material, plan.learned, plan.words), plan.aligner
    say(f"{len(tokenizer) - len(encoder.tokenizer)} tokens for {material.language}")
    near = find_near_words(encoder.tokenizer, tokenizer, material, load_teacher(aligner)) if aligner else None
    return append_embeddings(encoder, tokenizer, embed_by_meaning(encoder, tokenizer, material, near)), near


def label_lines(material: Material, near: InducedLexicon | None, teacher: Encoder) -> Lines:
    """Label lines with the teacher's vectors of their translations, and as many words with those of similar words."""
    from ...training.stages.lines import Lines, label_translations, mix_lines

    with task("vectors of translations", count_pivots(material.lines)) as advance:
        lines = label_translations(material.lines, teacher, 1.0, advance)
    if near is None:
        return lines
    labels = normalise_rows(near.mean(teacher.encode(near.words, "question")))
    return mix_lines(lines, Lines(near.texts, labels, pivots=near.texts))


def train_rows(larger: KerasEncoder, first: int, lines: Lines, material: Material, plan: LanguagePlan) -> KerasEncoder:
    """Train the new embeddings of an encoder on lines."""
    from ...training.session import Session
    from ...training.stages.new_embeddings import Steps, train_new_rows

    steps = Steps(plan.steps, plan.lines, seed=plan.seed)
    rows = np.arange(first, len(larger.tokenizer))
    return train_new_rows(larger, rows, lines, material.dev, steps, Session())


def add_word_spellings(
    student: KerasEncoder, first: int, material: Material, near: InducedLexicon | None, most: int
) -> KerasEncoder:
    """Add aliases for words to an encoder. `most` is the largest number of aliases, 0 for none."""
    from ...encoders.encoder import KerasEncoder
    from .word_aliases import spell_words

    return KerasEncoder(student.model, spell_words(student, first, material, near, most)) if most else student


def list_new_spellings(before: Tokenizer, after: Tokenizer) -> list[str]:
    """Return the aliases of a tokenizer that another lacks, as text."""
    from ...encoders.tokenizer import SPACE, list_spellings

    known = {one.piece for one in list_spellings(before)}
    return [one.piece.replace(SPACE, " ").strip() for one in list_spellings(after) if one.piece not in known]


def count_lines(material: Material) -> dict[str, Json]:
    """Count the lines of each source, and of all files with the same name."""
    counts = Counter[str]()
    for source in material.lines:
        counts[source.name] += len(source.texts)
    return dict(counts)


def write_student(
    folder: Path | None,
    output: File,
    encoder: KerasEncoder,
    student: KerasEncoder,
    material: Material,
    notes: Mapping[str, Json],
) -> None:
    """Write the student. `folder` is the artefact whose form it gets, with new rows; None to save the student alone."""
    from ...export.language_extension import NewLanguage, write_with_language
    from ...students.embeddings import TABLE

    if folder is None:
        student.save(output)
        return
    rows: Floats = student.model.get_layer(TABLE).get_weights()[0][len(encoder.tokenizer) :]
    # What a spelling stands for is the language's too, whether its texts hold the word or not.
    texts = [*material.texts, *list_new_spellings(encoder.tokenizer, student.tokenizer)]
    new = NewLanguage(material.language, student.tokenizer, rows, texts, notes)
    write_with_language(folder, output, new, str(notes["source"]))


def measure_dev(material: Material, encoders: Mapping[str, Encoder]) -> dict[str, float]:
    """Compute, for each encoder, the share of held-out lines whose translation is the nearest."""
    languages, results = list(material.dev.questions), {}
    with task("held-out lines", 2 * material.dev_size * len(encoders)) as advance:
        for name, encoder in encoders.items():
            results[name] = evaluate(encoder, material.dev, "dev", languages, [UNIT], advance).mean(UNIT, languages)
    return results


def measure_others(
    before: Encoder, after: Encoder, first: Tokenizer, second: Tokenizer, languages: tuple[str, ...]
) -> dict[str, Json]:
    """Measure P@1 of other languages on the sample before and after, and the share of questions cut differently."""
    sample = as_one_split(read_dataset(SAMPLE))
    shared = [name for name in sample.languages if name in languages]
    if not shared:
        return {}
    with task("the other languages", 2 * sum(len(sample.questions[name]) for name in shared)) as advance:
        ranks = [evaluate(each, sample, EVERY, shared, [UNIT], advance).table()[UNIT] for each in (before, after)]
    return {
        name: {
            "p@1": [row[name]["p@1"] for row in ranks],
            "cut_otherwise": share_cut_differently(sample, name, first, second),
        }
        for name in shared
    }


def as_one_split(dataset: Dataset) -> Dataset:
    """Return a data set with all its questions in one split."""
    ids = dict.fromkeys(id for questions in dataset.questions.values() for id in questions)
    return replace(dataset, splits={EVERY: tuple(ids)})


def share_cut_differently(dataset: Dataset, language: str, before: Tokenizer, after: Tokenizer) -> float:
    """Compute the share of a language's questions that a larger tokenizer cuts differently."""
    texts = [question.text for question in dataset.questions[language].values()]
    pairs = zip(before.encode(texts, None), after.encode(texts, None), strict=True)
    return sum(one != other for one, other in pairs) / len(texts)
