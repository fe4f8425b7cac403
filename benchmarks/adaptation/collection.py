"""Make a collection that nobody trained on, with questions about a small part, for `--documents` and `--dataset`.

    python benchmarks/adaptation/collection.py --data data --output collection

Half of `wikipedia-en` by the hash of the title, a paragraph a document, and the passages of TyDi QA's dev questions in
English, Arabic and Russian; questions that `xor-question-pairs` has too are left out. By the hash of its id a question
is in dev, which chose settings, or in test.
"""

import argparse
import hashlib
import json
import unicodedata
from pathlib import Path

from distill.system.input_files import iter_lines, read_jsonl

LANGUAGES = ("en", "ar", "ru")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data", help="the folder of the collections")
    parser.add_argument("--output", default="collection")
    parser.add_argument("--share", type=float, default=0.5, help="of wikipedia-en")
    options = parser.parse_args()
    data, output = Path(options.data), Path(options.output)
    output.mkdir(parents=True)
    documents, questions = paragraphs(data / "wikipedia-en", options.share), []
    seen = translated(data / "xor-question-pairs")
    for language in LANGUAGES:
        passages, asked = tydi(data / "tydiqa-goldp", language, seen)
        documents += passages
        questions += asked
    write(output / "documents.jsonl", documents)
    write(output / "questions.jsonl", questions)
    splits = {"dev": [], "test": []}
    for question in questions:
        splits["dev" if place(question["id"]) < 0.5 else "test"].append(question["id"])
    (output / "splits.json").write_text(json.dumps(splits), encoding="utf-8")
    print(f"{output}: {len(documents)} documents, {len(splits['dev'])} dev and {len(splits['test'])} test questions")


def paragraphs(folder, share):
    rows = [row for path in sorted(folder.glob("*.jsonl")) for _, row in read_jsonl(path)]
    return [
        {"id": row["pid"], "title": row["title"], "section": row["section"], "passages": [row["context"]]}
        for row in rows
        if place(row["title"]) < share
    ]


def tydi(folder, language, seen):
    """Return passages of the dev questions in a language, and the questions."""
    questions = [row for _, row in read_jsonl(folder / f"questions.dev.{language}.jsonl")]
    questions = [row for row in questions if plain(row["question"]) not in seen]
    needed = {row["pid"] for row in questions}
    passages = [row for _, row in read_jsonl(folder / f"passages.{language}.jsonl") if row["pid"] in needed]
    return [
        {"id": row["pid"], "title": row["title"], "passages": [{"text": row["context"], "language": language}]}
        for row in passages
    ], [
        {"id": f"tydi-{row['id']}", "language": language, "text": row["question"], "passage": f"{row['pid']}/0"}
        for row in questions
    ]


def translated(folder):
    return {plain(cell) for path in folder.glob("*.tsv") for line in iter_lines(path) for cell in line.split("\t")}


def plain(text):
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def place(text):
    """Return a number in [0, 1) by which a text is divided."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32


def write(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
