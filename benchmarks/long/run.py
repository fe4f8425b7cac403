"""Compare ways to search documents of thousands of words: one vector, the best sentence, or cut passages.

    python benchmarks/long/run.py multi12-ngram multi12-static --docs benchmarks/long/README.md --json long.json

Passages of `mlqa-dev-a` are hidden in paragraphs of `wikipedia-en`, article after article, until a document has so many
words; questions ask for the document. P@1 in per cent, English and the mean of the other languages.
"""

import argparse
import json
import random
import re
from pathlib import Path

import numpy as np

from distill.data.dataset import Dataset, Passage, Question
from distill.data.loading import load_dataset
from distill.encoders.catalog.bundle import released_folder
from distill.encoders.catalog.loading import load_teacher
from distill.encoders.tokenizer import Tokenizer
from distill.evaluation.evaluate import evaluate
from distill.search_engine.documents.document import Document, cut_document
from distill.system.files import write_json
from distill.vocabulary.words.cutting import Cut

WHOLE = {"document": "one vector of the document", "document-sentence": "best sentence", "document-sum": "both"}
PARTS = {"maxp": "best passage", "document-sum": "best passage with its sentence"}
MARKS = ("<!-- long -->", "<!-- /long -->")


def main():
    options = parse()
    data = Path(options.data)
    mlqa, articles = load_dataset(data / "mlqa-dev-a"), paragraphs(data / "wikipedia-en")
    encoders = {name: load_teacher(name) for name in options.models}
    rows = []
    for words in options.words:
        texts, questions = hidden(mlqa, articles, words, options.documents)
        for name, encoder in encoders.items():
            figures = measured(encoder, texts, questions, options.documents)
            rows.append({"encoder": name, "words": words, "pieces": pieces_of(texts), **figures})
            print(rows[-1], flush=True)
    rows.sort(key=lambda row: options.models.index(row["encoder"]))
    counts = {language: len(each) for language, each in questions.items()}
    if options.json:
        write_json(options.json, {"documents": options.documents, "questions": counts, "rows": rows})
    if options.docs:
        page = Path(options.docs)
        start, end = MARKS
        pattern = re.compile(f"{start}.*?{end}", re.DOTALL)
        text = page.read_text(encoding="utf-8")
        page.write_text(pattern.sub(f"{start}\n\n{table(rows)}\n\n{end}", text), encoding="utf-8")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", default="data", help="the folder of the collections")
    parser.add_argument("--words", type=int, nargs="+", default=[0, 500, 2000, 5000], help="words of a document")
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--docs", help="a page that holds the table")
    parser.add_argument("--json", help="a file for the figures")
    return parser.parse_args()


def paragraphs(folder):
    """Return articles, each as the list of its paragraphs."""
    articles = {}
    for path in sorted(folder.glob("passages.en.*.jsonl")):
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            row = json.loads(line)
            articles.setdefault(row["title"], []).append(row["context"])
    return list(articles.values())


def hidden(mlqa, articles, words, count):
    """Return `(texts, {language: questions})`, in which each text holds one passage of `mlqa` at a drawn place."""
    draw = random.Random(0)
    asked = sorted({question.passage for question in mlqa.questions["en"].values()})
    chosen = draw.sample(asked, count)
    filling = iter(draw.sample(articles, len(articles)))
    texts = []
    for passage in chosen:
        parts = [mlqa.passages[passage].text]
        while sum(len(part.split()) for part in parts) < words:
            parts += next(filling)
        rest = parts[1:]
        place = draw.randrange(len(rest) + 1)
        texts.append("\n\n".join([*rest[:place], parts[0], *rest[place:]]))
    rows = {passage: row for row, passage in enumerate(chosen)}
    questions = {
        language: {
            id: Question(id, language, each.text, rows[each.passage])
            for id, each in by_id.items()
            if each.passage in rows
        }
        for language, by_id in mlqa.questions.items()
    }
    return texts, questions


def measured(encoder, texts, questions, count):
    """Return `{score: P@1 in per cent of English and of the other languages}`."""
    titles = tuple(str(number) for number in range(count))
    whole = tuple(Passage(str(number), text, number) for number, text in enumerate(texts))
    cut = [
        Passage(f"{number}-{place}", text[piece.start : piece.end], number, piece.sentences)
        for number, text in enumerate(texts)
        for place, piece in enumerate(cut_document(Document(str(number), text, "", {}), Cut()))
    ]
    first = {}
    for row, passage in enumerate(cut):
        first.setdefault(passage.document, row)
    figures = {"passages": len(cut)}
    for passages, units, places in ((whole, WHOLE, None), (tuple(cut), PARTS, first)):
        moved = {
            language: {
                id: Question(id, language, each.text, places[each.passage] if places else each.passage)
                for id, each in by_id.items()
            }
            for language, by_id in questions.items()
        }
        ids = tuple(dict.fromkeys(id for by_id in moved.values() for id in by_id))
        dataset = Dataset("long", "en", titles, passages, moved, {"all": ids})
        ranks = evaluate(encoder, dataset, "all", sorted(moved), list(units)).ranks
        for unit, name in units.items():
            p_at_1 = {language: 100 * float(np.mean(each == 1)) for language, each in ranks[unit].items()}
            figures[name] = [p_at_1.pop("en"), float(np.mean(list(p_at_1.values())))]
    return figures


def pieces_of(texts):
    """Return the mean number of tokens per text, by the tokenizer of `multi12-ngram`."""
    tokenizer = Tokenizer.load(released_folder("multi12-ngram") / "tokenizer.model")
    return round(float(np.mean([len(ids) for ids in tokenizer.encode(texts)])))


def table(rows):
    scores = [*WHOLE.values(), *PARTS.values()]
    lines = ["| encoder | words | pieces | " + " | ".join(scores) + " |", "|---" * (3 + len(scores)) + "|"]
    for row in rows:
        cells = [" / ".join(f"{value:.1f}" for value in row[score]) for score in scores]
        lines.append(
            f"| `{row['encoder']}` | {row['words'] or 'the passage'} | {row['pieces']} | {' | '.join(cells)} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
