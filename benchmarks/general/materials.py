"""Prepare collections of English questions and passages for `--dataset` and `--triplets`.

    python benchmarks/general/materials.py --data data --output materials

TyDi QA's gold passages become the data set `tydiqa`, with its own train and dev; selqa, nq-qed and qamr become
`.jsonl` of questions, passages and answers, of qamr a few questions a sentence. All are folders of
`passages[.en].jsonl` {"pid", "title", "context"} and `questions*.jsonl` {"id", "pid", "question", "answers"}.
"""

import argparse
import json
from pathlib import Path

from distill.system.input_files import read_jsonl

# Each with the questions a passage that are taken at most.
COLLECTIONS = {"selqa": 10, "nq-qed": 10, "qamr": 4}


def main():
    options = parse()
    data, output = Path(options.data), Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    print(f"{output / 'tydiqa'}: {tydiqa(data / 'tydiqa-goldp', output / 'tydiqa')} questions")
    for name, most in COLLECTIONS.items():
        rows = pairs(data / name, most)
        write(output / f"{name}.jsonl", rows)
        print(f"{output / name}.jsonl: {len(rows)} questions")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data", help="the folder of the collections")
    parser.add_argument("--output", default="materials")
    return parser.parse_args()


def tydiqa(source, folder):
    """Write English questions and passages as a data set; returns how many questions."""
    folder.mkdir(exist_ok=True)
    split = {name: read(source / f"questions.{name}.en.jsonl") for name in ("train", "dev")}
    passages = {row["pid"]: row for row in read(source / "passages.en.jsonl")}
    questions = [row for rows in split.values() for row in rows]
    documents = [passages[pid] for pid in dict.fromkeys(row["pid"] for row in questions)]
    write(
        folder / "documents.jsonl",
        [{"id": row["pid"], "title": row["title"], "passages": [row["context"]]} for row in documents],
    )
    write(
        folder / "questions.jsonl",
        [
            {
                "id": row["id"],
                "language": "en",
                "text": row["question"],
                "passage": f"{row['pid']}/0",
                "answers": [answer for answer in row["answers"] if answer.strip()],
            }
            for row in questions
        ],
    )
    ids = {name: [row["id"] for row in rows] for name, rows in split.items()}
    (folder / "splits.json").write_text(json.dumps(ids), encoding="utf-8")
    return len(questions)


def pairs(folder, most):
    """Return `[{"question", "passage", "answers"}]` with the first `most` questions of each passage."""
    passages, seen, rows = {row["pid"]: row["context"] for row in read(folder / "passages.en.jsonl")}, {}, []
    for row in read(folder / "questions.en.jsonl"):
        seen[row["pid"]] = seen.get(row["pid"], 0) + 1
        if seen[row["pid"]] <= most:
            rows.append({"question": row["question"], "passage": passages[row["pid"]], "answers": row["answers"]})
    return rows


def read(path):
    return [row for _, row in read_jsonl(path)]


def write(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
