"""A copy of an encoder with one more language, all others as they were."""

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

from ..catalog.bundle import CARD_FILE, find_artefact
from ..catalog.identity import origin
from ..catalog.loading import load_encoder, load_keras_encoder, load_teacher
from ..data.dataset import Dataset
from ..data.loading import read_dataset
from ..data.parallel import pivots
from ..encoders.encoder import Encoder, unit_rows
from ..errors import EncoderError, ExportError
from ..evaluation.evaluate import evaluate
from ..settings.choices import EVERY
from ..system.backend import start
from ..system.progress import say, task
from ..system.reading import read_json
from ..system.types import File, Floats, Json
from ..teachers.e5 import PACKAGE
from .material import LanguageSources, Material, read_material, require_new

if TYPE_CHECKING:
    from ..encoders.encoder import KerasEncoder
    from ..encoders.tokenizer import Tokenizer
    from ..stages.lines import Lines
    from .induced import Induced

# What the other languages are measured on, and how.
SAMPLE, UNIT = "sample", "passage"


@dataclass(frozen=True)
class LanguagePlan:
    """The sources of a language, and how much is made of them.

    Args:
        sources: the files that it is learned from.
        learned: pieces that are learned, at most.
        words: frequent words that get a piece each, at most.
        aligner: the encoder that gives new pieces rows by meaning; None for e5 where it is installed, "none" for none.
        steps: of training.
        lines: of a step.
        seed: of what is drawn.
        spellings: further words that are read as pieces that are there, at most.
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
    """Write a copy of an encoder that knows a language more, all others as they were.

    A bundle, or a run's, stays a bundle in its format, all that it has in the codes that it had; another encoder is
    saved as Keras saves it.

    Args:
        model: a bundle, a run folder, a saved encoder, or a name such as `released`.
        plan: the language's files, and how much is made of them.
        output: the folder that is made.

    Returns:
        The figures: pieces before and after, P@1 on held-out lines, and what the other languages lose.

    Raises:
        InputError: for a language that the encoder has, and for files that are not enough.
        ExportError: where nothing was learned.
        DataError: naming file and line of what cannot be read.
        EncoderError: where `model` names no encoder with weights of ours.

    Example:
        >>> import distill
        >>> sources = distill.LanguageSources("fi", text=("fi.txt",), parallel=("en-fi.tsv",))
        >>> plan = distill.LanguagePlan(sources, learned=2000, aligner="none")
        >>> plan.steps
        500

        `distill.add_language("released", plan, "with-finnish")` then trains and writes it.
    """
    plan = replace(plan, aligner=chosen_aligner(plan.aligner))
    language, seconds = plan.sources.language, dict[str, Json]()
    folder, languages = known_languages(model)
    require_new(language, languages, model)
    with timed(seconds, "read"):
        material = read_material(plan.sources, plan.seed)
    start()
    encoder = load_keras_encoder(model)
    with timed(seconds, "pieces"):
        larger, near = enlarged(encoder, material, plan)
    with timed(seconds, "train"):
        lines = lines_of(material, near, load_encoder(model))
        student = trained(larger, len(encoder.tokenizer), lines, material, plan)
    with timed(seconds, "spellings"):
        student = respelled(student, len(encoder.tokenizer), material, near, plan.spellings)
    with timed(seconds, "measure"):
        figures = on_dev(material, {"before": encoder, "untrained": larger, "student": student})
    if figures["student"] <= figures["before"]:
        raise ExportError(
            f"nothing was learned: of {material.language}'s {material.dev_size} held-out lines {model} finds "
            f"{100 * figures['before']:.1f} % and the student {100 * figures['student']:.1f} %; give more parallel text"
        )
    about: dict[str, Json] = {"lines": line_counts(material), "seed": plan.seed, "aligner": plan.aligner}
    about |= {"spellings": len(new_spellings(encoder.tokenizer, student.tokenizer))}
    about |= {"dev_lines": material.dev_size, "p@1": figures}
    with timed(seconds, "write"):
        write(folder, output, encoder, student, material, {**about, **origin(model)})
    with timed(seconds, "measure bundle"):
        before, after = load_encoder(model), load_encoder(output)
        figures["written"] = on_dev(material, {"written": after})["written"]
        others = on_others(before, after, encoder.tokenizer, student.tokenizer, languages)
    pieces = [len(encoder.tokenizer), len(student.tokenizer)]
    return {"model": model, "language": language, **about, "pieces": pieces, "others": others, "seconds": seconds}


@contextmanager
def timed(seconds: dict[str, Json], part: str) -> Iterator[None]:
    """Put the seconds of clock and of CPU that a part takes under its name."""
    clock, cpu = time.perf_counter(), time.process_time()
    yield
    passed = {"clock": time.perf_counter() - clock, "cpu": time.process_time() - cpu}
    seconds[part] = {name: round(value, 1) for name, value in passed.items()}


def chosen_aligner(name: str | None) -> str | None:
    """Return the encoder of that name; by default e5 where it is installed, and None for `none`."""
    if name is None:
        return "e5" if find_spec(PACKAGE) else None
    return None if name == "none" else name


def known_languages(model: str) -> tuple[Path | None, tuple[str, ...]]:
    """Return the folder of the artefact that `model` names, None for an encoder that is none, and its languages."""
    from ..teachers.muse import LANGUAGES

    try:
        folder = find_artefact(model)
    except EncoderError:
        return None, tuple(LANGUAGES) if model == "muse" else ()
    return folder, tuple(read_json(folder / CARD_FILE).get("languages", ()))


def enlarged(encoder: KerasEncoder, material: Material, plan: LanguagePlan) -> tuple[KerasEncoder, Induced | None]:
    """Return the encoder with the language's pieces, untrained, and the words that the aligner finds near, if any."""
    from ..students.vocabulary.new_pieces import with_rows
    from .pieces import larger_tokenizer, near_words, rows_by_meaning

    tokenizer, aligner = larger_tokenizer(encoder.tokenizer, material, plan.learned, plan.words), plan.aligner
    say(f"{len(tokenizer) - len(encoder.tokenizer)} pieces for {material.language}")
    near = near_words(encoder.tokenizer, tokenizer, material, load_teacher(aligner)) if aligner else None
    return with_rows(encoder, tokenizer, rows_by_meaning(encoder, tokenizer, material, near)), near


def lines_of(material: Material, near: Induced | None, teacher: Encoder) -> Lines:
    """Return the lines with the teacher's vectors of their translations, and as often the words that are near others.

    A word's label is the mean of the vectors of those.
    """
    from ..stages.lines import Lines, mixed, translations

    with task("vectors of translations", pivots(material.lines)) as advance:
        lines = translations(material.lines, teacher, 1.0, advance)
    if near is None:
        return lines
    labels = unit_rows(near.mean(teacher.encode(near.words, "question")))
    return mixed(lines, Lines(near.texts, labels, pivots=near.texts))


def trained(larger: KerasEncoder, first: int, lines: Lines, material: Material, plan: LanguagePlan) -> KerasEncoder:
    """Return the larger encoder, its rows from the `first` on trained on lines."""
    from ..stages.new_rows import Steps, train_new_rows
    from ..training.session import Session

    steps = Steps(plan.steps, plan.lines, seed=plan.seed)
    rows = np.arange(first, len(larger.tokenizer))
    return train_new_rows(larger, rows, lines, material.dev, steps, Session())


def respelled(student: KerasEncoder, first: int, material: Material, near: Induced | None, most: int) -> KerasEncoder:
    """Return the encoder with at most so many words spelled, itself for none."""
    from ..encoders.encoder import KerasEncoder
    from .spelled import spelled

    return KerasEncoder(student.model, spelled(student, first, material, near, most)) if most else student


def new_spellings(before: Tokenizer, after: Tokenizer) -> list[str]:
    """Return the spellings of a tokenizer that another lacks, as text."""
    from ..encoders.tokenizer import SPACE, spellings_of

    known = {one.piece for one in spellings_of(before)}
    return [one.piece.replace(SPACE, " ").strip() for one in spellings_of(after) if one.piece not in known]


def line_counts(material: Material) -> dict[str, Json]:
    """Return the lines of each source; of files of one name, those of all."""
    counts = Counter[str]()
    for source in material.lines:
        counts[source.name] += len(source.texts)
    return dict(counts)


def write(
    folder: Path | None,
    output: File,
    encoder: KerasEncoder,
    student: KerasEncoder,
    material: Material,
    notes: Mapping[str, Json],
) -> None:
    """Write the student: as the artefact in `folder` with its new rows, or where there is none by itself."""
    from ..export.larger import NewLanguage, write_larger
    from ..students.rows import TABLE

    if folder is None:
        student.save(output)
        return
    rows: Floats = student.model.get_layer(TABLE).get_weights()[0][len(encoder.tokenizer) :]
    # What a spelling stands for is the language's too, whether its texts hold the word or not.
    texts = [*material.texts, *new_spellings(encoder.tokenizer, student.tokenizer)]
    new = NewLanguage(material.language, student.tokenizer, rows, texts, notes)
    write_larger(folder, output, new, str(notes["source"]))


def on_dev(material: Material, encoders: Mapping[str, Encoder]) -> dict[str, float]:
    """Return the share of the held-out lines whose translation is the nearest, by encoder."""
    languages, results = list(material.dev.questions), {}
    with task("held-out lines", 2 * material.dev_size * len(encoders)) as advance:
        for name, encoder in encoders.items():
            results[name] = evaluate(encoder, material.dev, "dev", languages, [UNIT], advance).mean(UNIT, languages)
    return results


def on_others(
    before: Encoder, after: Encoder, first: Tokenizer, second: Tokenizer, languages: tuple[str, ...]
) -> dict[str, Json]:
    """Return what the other languages' questions of the sample lose: P@1 before and after, and those cut otherwise."""
    sample = whole(read_dataset(SAMPLE))
    shared = [name for name in sample.languages if name in languages]
    if not shared:
        return {}
    with task("the other languages", 2 * sum(len(sample.questions[name]) for name in shared)) as advance:
        ranks = [evaluate(each, sample, EVERY, shared, [UNIT], advance).table()[UNIT] for each in (before, after)]
    return {
        name: {"p@1": [row[name]["p@1"] for row in ranks], "cut_otherwise": cut_otherwise(sample, name, first, second)}
        for name in shared
    }


def whole(dataset: Dataset) -> Dataset:
    """Return a data set of one split, of all its questions."""
    ids = dict.fromkeys(id for questions in dataset.questions.values() for id in questions)
    return replace(dataset, splits={EVERY: tuple(ids)})


def cut_otherwise(dataset: Dataset, language: str, before: Tokenizer, after: Tokenizer) -> float:
    """Return the share of a language's questions that a tokenizer with pieces behind the other's cuts otherwise."""
    texts = [question.text for question in dataset.questions[language].values()]
    pairs = zip(before.encode(texts, None), after.encode(texts, None), strict=True)
    return sum(one != other for one, other in pairs) / len(texts)
