"""Measure BM25 and answer detection by language, with and without morphology, on monolingual data.

    python benchmarks/recipes/bm25.py --data data --output bm25.json

Under `data/`: tydiqa-goldp (dev: ar, en, fi, ko, ru), iapp-wiki-qa (test: th), cmrc2018 (dev: zh), arcd (test: ar),
each with passages.<lang>.jsonl {"pid", "context"} and questions.<split>.<lang>.jsonl {"id", "pid", "question",
"answers"}. Three tables: the rank of a question's passage among all passages of its file; how many passages hold its
answer; EM and F1 of one annotator's answer against the others'.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from distill.evaluation.answers import score_answer
from distill.evaluation.mcnemar import correct_holm, count_disagreements, mcnemar_p
from distill.retrieval.bm25 import TERMS, bm25_ranks
from distill.retrieval.metrics import summarise_ranks
from distill.settings.choices import COMPARED
from distill.system.files import require_writable, write_json
from distill.system.input_files import read_jsonl
from distill.system.progress import say
from distill.vocabulary.words.answer_finder import AnswerFinder
from distill.vocabulary.words.morphology import WORD

SETS = (
    ("tydiqa-goldp", "dev", "ar"), ("arcd", "test", "ar"), ("tydiqa-goldp", "dev", "en"),
    ("tydiqa-goldp", "dev", "fi"), ("tydiqa-goldp", "dev", "ko"), ("tydiqa-goldp", "dev", "ru"),
    ("iapp-wiki-qa", "test", "th"), ("cmrc2018", "dev", "zh"),
)  # fmt: skip
WORDS = ("whitespace", "plain", "morphology", "n-grams")
# No language, so no stemmer: what those without an entry get.
NONE = "und"


def whitespace_terms(texts, language):
    """Split texts at blanks, `[[str]]`."""
    return [text.split() for text in texts]


TERMS["whitespace"] = whitespace_terms


def main():
    options = parse()
    require_writable(options.output)
    found = {}
    for name, split, language in SETS:
        passages, questions, gold = read(Path(options.data) / name, split, language)
        if not passages:
            say(f"{options.data}/{name}: no {language} files there; left out")
            continue
        row = {"questions": len(questions), "passages": len(passages), "split": split}
        row |= {"bm25": ranked(passages, questions, gold, language)}
        row |= {"detection": detected(passages, questions, gold, language), "answers": agreement(questions, language)}
        found[f"{name} {language}"] = row
        say(f"{name} {language}: {row}")
    tests = [row["bm25"]["mcnemar"] for row in found.values()]
    for test, p_holm in zip(tests, correct_holm([test["p"] for test in tests]), strict=True):
        test |= {"p_holm": p_holm, "significant": p_holm < 0.05}
    show(found)
    write_json(options.output, found)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data")
    parser.add_argument("--output", default="bm25.json")
    return parser.parse_args()


def read(folder, split, language):
    """Read the passages, the rows of the questions, and each question's passage, int `(q,)`; return nothing without
    files.
    """
    files = folder / f"passages.{language}.jsonl", folder / f"questions.{split}.{language}.jsonl"
    if not all(path.is_file() for path in files):
        return [], [], None
    passages, questions = ([row for _, row in read_jsonl(path)] for path in files)
    places = {row["pid"]: place for place, row in enumerate(passages)}
    return [row["context"] for row in passages], questions, np.array([places[row["pid"]] for row in questions])


def ranked(passages, questions, gold, language):
    """Return P@1, MRR@10 and seconds by kind of words, and McNemar's test of P@1 of morphology against plain words."""
    found, right = {}, {}
    for words in WORDS:
        began = time.perf_counter()
        named = (NONE, "morphology") if words == "n-grams" else (language, words)
        ranks = bm25_ranks([row["question"] for row in questions], passages, gold, *named)
        found[words] = {**summarise_ranks(ranks, ("p@1", "mrr@10")), "seconds": time.perf_counter() - began}
        right[words] = ranks == 1
    pair = right["plain"], right["morphology"]
    only_plain, only_morphology = count_disagreements(*pair)
    test = {"only_plain": only_plain, "only_morphology": only_morphology, "p": mcnemar_p(*pair)}
    return {**found, "mcnemar": test}


class WordsAsWritten(AnswerFinder):
    """A finder of answers among whole words in lower case."""

    def __init__(self, passages):
        self.words = lambda text: WORD.findall(text.lower())
        self.passages = [self._join(passage) for passage in passages]


def detected(passages, questions, gold, language):
    """Return the share of gold passages where the answer is found, and the number of other passages per question with
    it.
    """
    began = time.perf_counter()
    finder = AnswerFinder(passages, language)
    ways = {
        "string": lambda answers: np.array([any(answer in passage for answer in answers) for passage in passages]),
        "whole words": WordsAsWritten(passages).holds,
        "morphology": finder.holds,
    }
    found = {"seconds": time.perf_counter() - began}
    for way, holds in ways.items():
        held = [holds([answer for answer in row["answers"] if answer.strip()]) for row in questions]
        own = np.array([row[place] for row, place in zip(held, gold, strict=True)])
        others = np.array([row.sum() for row in held]) - own
        found[way] = {"gold": float(own.mean()), "others": float(others.mean())}
    return found


def agreement(questions, language):
    """Return EM and F1 of each question's first answer against its other answers, if there are different ones."""
    several = [(first, others) for first, *others in (row["answers"] for row in questions) if others]
    if not several:
        return None
    means = {
        name: np.mean([score_answer(first, others, language, name) for first, others in several], axis=0).tolist()
        for name in COMPARED
    }
    return {"questions": len(several)} | {name: {"em": em, "f1": f1} for name, (em, f1) in means.items()}


def show(found):
    columns = [*(f"{words:>13}" for words in WORDS), " gain", " lost", " Holm p"]
    print(f"{'P@1 (MRR@10), %':18} {'q':>5} {'passages':>8}", *columns)
    for name, row in found.items():
        cells = [
            f"{100 * row['bm25'][words]['p@1']:5.1f} ({100 * row['bm25'][words]['mrr@10']:4.1f})" for words in WORDS
        ]
        test = row["bm25"]["mcnemar"]
        counts = f"{test['only_morphology']:5} {test['only_plain']:5} {test['p_holm']:7.1e}"
        print(
            f"{name:18} {row['questions']:5} {row['passages']:8} {' '.join(f'{cell:>13}' for cell in cells)} {counts}"
        )
    print(f"\n{'answer found in':18} {'gold passages, %: string, words, morphology':>44}   other passages a question")
    for name, row in found.items():
        ways = [row["detection"][way] for way in ("string", "whole words", "morphology")]
        shares = " ".join(f"{100 * way['gold']:13.1f}" for way in ways)
        print(f"{name:18} {shares}", *(f"{way['others']:10.2f}" for way in ways))
    print(f"\n{'first annotator':18} {'q':>5}     EM plain, morphology     F1 plain, morphology")
    for name, row in found.items():
        if row["answers"]:
            figures = [100 * row["answers"][way][key] for key in ("em", "f1") for way in COMPARED]
            print(f"{name:18} {row['answers']['questions']:5} {' '.join(f'{value:12.1f}' for value in figures)}")


if __name__ == "__main__":
    main()
