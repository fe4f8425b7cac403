"""Make a data set of English passages with questions and names for students of a transformer.

    python benchmarks/general/materials.py --data data --output materials
    python benchmarks/transformers/passages.py --data data --materials materials --output materials/english

Questions of TyDi QA, of SQuAD's train with the sentence that answers, of selqa, nq-qed and qamr; paragraphs of
Wikipedia with title and section in a question's place; and paragraphs with their title in up to 12 languages, by
Wikidata's names, so that there are questions in each language. Passages are cut to what answers, as attention over a
step's longest text takes the time. What shares text with `mlqa-dev-a` is left out.
"""

import argparse
import json
import random
import re
from dataclasses import dataclass, field
from pathlib import Path

from distill.data.loading import load_dataset
from distill.data.more_questions import find_sharing
from distill.system.files import write_json
from distill.system.input_files import read_jsonl

LANGUAGES = ("ar", "de", "el", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
# Characters of a passage, and in front of an answer.
LONG, BEFORE = 420, 150
# Languages that a name needs, and questions of dev that are names.
NAMED, DEV_NAMES = 8, 40


@dataclass
class Collection:
    """Passages, and questions as `(text by language, passage, answers)`."""

    passages: dict[str, int] = field(default_factory=dict)
    questions: list[tuple[dict[str, str], int, list[str]]] = field(default_factory=list)

    def add(self, asked, passage, answers=()):
        """Add a question about a passage, which is cut to what answers it."""
        answers = [answer for answer in answers if answer.strip()]
        passage = cut(" ".join(passage.split()), answers)
        if not answers or answers[0] in passage:
            self.questions.append((asked, self.passages.setdefault(passage, len(self.passages)), answers))


def main():
    options = parse()
    data, materials = Path(options.data), Path(options.materials)
    random.seed(options.seed)
    collection = Collection()
    add_questions(collection, data, materials)
    add_names(collection, data, options.paragraphs, options.names)
    write(Path(options.output), chosen(collection, data, options.questions))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data", help="the folder of the collections")
    parser.add_argument("--materials", default="materials", help="what benchmarks/general/materials.py wrote")
    parser.add_argument("--questions", type=int, default=6000, help="English questions that are taken")
    parser.add_argument("--paragraphs", type=int, default=4000, help="of Wikipedia, by title and section")
    parser.add_argument("--names", type=int, default=400, help="paragraphs by their title in several languages")
    parser.add_argument("--output", default="materials/english")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def cut(passage, answers):
    """Return the sentences of a long passage from just before its first answer on."""
    place = passage.find(answers[0]) if answers else 0
    first = passage.rfind(". ", 0, max(0, place - BEFORE)) + 2 if place > LONG - BEFORE else 0
    kept = ""
    for sentence in re.split(r"(?<=[.!?])\s+", passage[max(0, first) :]):
        if kept and len(kept) + len(sentence) > LONG:
            break
        kept = f"{kept} {sentence}".strip()
    return kept[: LONG * 3 // 2]


def add_questions(collection, data, materials):
    """Add the questions of the English collections."""
    folder = data / "tydiqa-goldp"
    passages = {row["pid"]: row["context"] for row in read(folder / "passages.en.jsonl")}
    for row in read(folder / "questions.train.en.jsonl"):
        collection.add({"en": row["question"]}, passages[row["pid"]], row["answers"])
    table = (data / "squad-train-sent-en" / "question_sentence.en.tsv").read_text(encoding="utf-8")
    for question, sentence in (line.split("\t") for line in table.splitlines()[1:]):
        collection.add({"en": question}, sentence)
    for name in ("selqa", "nq-qed", "qamr"):
        for row in read(materials / f"{name}.jsonl"):
            collection.add({"en": row["question"]}, row["passage"], row["answers"])


def add_names(collection, data, paragraphs, names):
    """Add paragraphs of Wikipedia by their title and section, then others by their title in several languages."""
    rows = [row for path in sorted((data / "wikipedia-en").glob("passages.en.*.jsonl")) for row in read(path)]
    random.shuffle(rows)
    for row in rows[:paragraphs]:
        collection.add({"en": f"{row['title']} {row.get('section') or ''}".strip()}, row["context"])
    known = named(data / "wikidata-names" / "names.tsv")
    titles = {row["title"]: row for row in rows[paragraphs:] if row["title"] in known}
    for title, row in list(titles.items())[:names]:
        collection.add(known[title], row["context"])


def named(path):
    """Return `{English name: {language: name}}` for names that enough languages have."""
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    rows = (dict(zip(head.split("\t"), line.split("\t"), strict=False)) for line in lines)
    cells = ({name: row[name].split(" | ")[0] for name in ("en", *LANGUAGES) if row.get(name)} for row in rows)
    return {row["en"]: row for row in cells if "en" in row and len(row) > NAMED}


def chosen(collection, data, count):
    """Return the collection's questions that are not about evaluated text: all names, and a number of the others."""
    evaluated = [passage.text for passage in load_dataset(data / "mlqa-dev-a").passages]
    texts = list(collection.passages)
    shared = find_sharing(texts, evaluated)
    rows = [(asked, texts[place], answers) for asked, place, answers in collection.questions if not shared[place]]
    random.shuffle(rows)
    several = sorted((row for row in rows if len(row[0]) > 1), key=lambda row: -len(row[0]))
    return several + [row for row in rows if len(row[0]) == 1][:count]


def write(folder, rows):
    """Write a data set, whose dev are the names in most languages and the last questions."""
    folder.mkdir(parents=True, exist_ok=True)
    places = {passage: f"d{number}" for number, passage in enumerate(dict.fromkeys(row[1] for row in rows))}
    write_lines(
        folder / "documents.jsonl", ({"id": key, "title": "", "passages": [text]} for text, key in places.items())
    )
    questions = [
        {"id": f"q{number}", "language": name, "text": text, "passage": f"{places[passage]}/0", "answers": answers}
        for number, (asked, passage, answers) in enumerate(rows)
        for name, text in asked.items()
    ]
    write_lines(folder / "questions.jsonl", questions)
    ids = [f"q{number}" for number in range(len(rows))]
    dev = {*ids[:DEV_NAMES], *ids[-60:]}
    write_json(folder / "splits.json", {"train": [id for id in ids if id not in dev], "dev": sorted(dev)})
    print(f"{folder}: {len(questions)} questions about {len(places)} passages")


def read(path):
    return [row for _, row in read_jsonl(path)]


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
