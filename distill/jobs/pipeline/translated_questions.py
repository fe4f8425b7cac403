"""Translate train questions that have no parallel in the teacher's language. CL-ReLKT, section 3.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...data.dataset import Dataset
from ...errors import DataError, InputError
from ...evaluation.translation import SourceText, TranslationSource, translation_of
from ...settings.sections import TranslationSettings
from ...system.progress import say, task


def add_translated_questions(
    options: TranslationSettings, dataset: Dataset, language: str, languages: Sequence[str]
) -> Dataset:
    """Add translations of questions into the teacher's language.

    A question gets a translation if the teacher's language has no question of its id; one without a translation stays
    as it is, and is counted. Dev and test stay as they are, unless nobody asks in the teacher's language: all splits
    get translations then.

    Raises:
        InputError: If there is nothing to translate.
        DataError: If a split gets no translation, or a translation is of an unknown id.
    """
    translation = translation_of(options.file or None, options.translators, options.beam or None, language)
    if translation is None:
        return dataset
    known, others = dataset.questions.get(language, {}), [one for one in languages if one in dataset.questions]
    splits = ("train",) if known else tuple(dataset.splits)
    alone = [q for one in others for split in splits for q in dataset.select(one, split) if q.id not in known]
    twins = _translate_questions(translation, dataset, alone, language)
    missing = {question.id for question in alone}
    if not missing:
        raise InputError(f"{translation.name}: each train question has one in {language}; leave the translations out")
    if not twins:
        raise DataError(f"{translation.name}: no translation of a train question without one in {language}")
    if bare := [split for split in splits if not set(dataset.splits[split]) & {*known, *twins}]:
        raise DataError(f"{translation.name}: no translation of a question of {', '.join(bare)} into {language}")
    many = f"{len(twins)} of {len(missing)} {', '.join(splits)} questions"
    say(f"{translation.name}: {many} without one in {language} translated")
    questions = {q.id: replace(q, language=language, text=twins[q.id]) for q in reversed(alone) if q.id in twins}
    return replace(dataset, questions={**dataset.questions, language: {**known, **questions}})


def needed_question_languages(translation: TranslationSettings, language: str) -> tuple[str, ...]:
    """Return the languages in which the data must have questions.

    Args:
        language: The teacher's language. If questions are translated, it needs no questions.
    """
    return () if translation.file or translation.translators else (language,)


def _translate_questions(translation: TranslationSource, dataset: Dataset, alone, language):
    """Return the translation of each question by its id, from the first of its languages that has one."""
    pivots: dict[str, str | None] = dict.fromkeys(id for of in dataset.questions.values() for id in of)
    pivots.update({id: question.text for id, question in dataset.questions.get(language, {}).items()})
    # Ids that the data lacks are refused, whether any translation is needed or not.
    translation.texts((), pivots)
    twins = {}
    with task(f"train questions translated by {translation.name}", len(alone)) as advance:
        for one in dict.fromkeys(question.language for question in alone):
            rest = [q for q in alone if q.language == one and q.id not in twins]
            texts = translation.texts([SourceText(q.id, q.language, q.text) for q in rest], pivots, advance)
            twins.update({q.id: text for q, text in zip(rest, texts, strict=True) if text})
    return twins
