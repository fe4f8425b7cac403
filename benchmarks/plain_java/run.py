"""Compare the encoder and the searcher in Java with `encode.py`: IDs, vectors, nearest passages, milliseconds.

    python benchmarks/plain_java/run.py multi12-ngram multi12-static --data data --json figures.json

Texts are of XQuAD and NTREX, `--texts` a language; the index is of XQuAD's paragraphs, asked with its questions in all
languages. Needs a JDK.
"""

import argparse
import json
import random
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from distill.encoders.tokenizer import Tokenizer
from distill.export.c.encoder_file import encoder_sections
from distill.export.formats.java import list_sources
from distill.system.device import machine
from distill.system.files import write_json
from distill.system.sections import write_sections

RUN = Path(__file__).parent / "Run.java"
LANGUAGES = {"ar": "arb", "de": "deu", "el": "ell", "en": "eng", "es": "spa", "hi": "hin"}
LANGUAGES |= {"ro": "ron", "ru": "rus", "th": "tha", "tr": "tur", "vi": "vie", "zh": "zho-CN"}
# -options: newer compilers warn that release 8 is old.
FLAGS = ("--release", "8", "-Xlint:all,-options", "-Xdoclint:all/protected", "-Werror")
# The compiler is done before it would have compiled much of itself well.
FLAGS += ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
K = 10


def compiled(folder):
    """Compile the sources and `Run` into a folder, which is made."""
    subprocess.run(["javac", *FLAGS, "-d", folder, *list_sources(), RUN], check=True)
    return folder


def jobs(classes, folder, lines):
    """Run all jobs in one JVM, and return what `Run` prints for each."""
    path = Path(folder) / "jobs"
    path.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines), encoding="utf-8")
    done = subprocess.run(["java", "-cp", classes, "Run", path], check=True, capture_output=True)
    return done.stdout.decode().splitlines()


def write_texts(path, texts):
    """Write texts as Java's chars, with lone surrogates as they are."""
    with open(path, "wb") as file:
        file.write(np.array([len(texts)], dtype=">i4").tobytes())
        for text in texts:
            content = text.encode("utf-16-be", "surrogatepass")
            file.write(np.array([len(content) // 2], dtype=">i4").tobytes() + content)
    return path


def read_encoded(path, dimension):
    """Read `(IDs of each text, vectors)` as `Run` writes them."""
    content, place, ids, vectors = path.read_bytes(), 0, [], []
    while place < len(content):
        (count,) = np.frombuffer(content, ">i4", 1, place)
        ids.append(np.frombuffer(content, ">i4", count, place + 4).tolist())
        vectors.append(np.frombuffer(content, ">f4", dimension, place + 4 + 4 * count))
        place += 4 * (1 + count + dimension)
    return ids, np.array(vectors, dtype=np.float32)


def read_hits(path):
    """Read `[(row, score, text, sentence, document)]` of each question as `Run` writes them."""
    content, place, questions = path.read_bytes(), 0, []
    while place < len(content):
        (count,) = np.frombuffer(content, ">i4", 1, place)
        place += 4
        questions.append([])
        for _ in range(count):
            parts = [int(np.frombuffer(content, ">i4", 1, place)[0]), np.frombuffer(content, ">f4", 1, place + 4)[0]]
            place += 8
            for _ in range(3):
                (size,) = np.frombuffer(content, ">i4", 1, place)
                parts.append(content[place + 4 : place + 4 + size].decode())
                place += 4 + size
            questions[-1].append(tuple(parts))
    return questions


def write_encoder(path, bundle, name, table="int4-pq5"):
    """Write `encoder.bin` from the folder of a bundle, without the gate of an export."""
    content, tokenizer = (bundle / "encoder.tflite").read_bytes(), Tokenizer.load(bundle / "tokenizer.model")
    write_sections(path, encoder_sections(content, tokenizer, name, table, None))
    return path


def xquad(data, language):
    articles = json.loads((data / "xquad" / f"{language}.json").read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    questions = [question["question"] for paragraph in paragraphs for question in paragraph["qas"]]
    return [paragraph["context"] for paragraph in paragraphs], questions


def lines(data, language):
    """Return the texts of a language, shuffled."""
    kind = "src" if language == "en" else "ref"
    path = data / "ntrex" / f"newstest2019-{kind}.{LANGUAGES[language]}.txt"
    passages, questions = xquad(data, language)
    texts = [*passages, *questions, *path.read_text(encoding="utf-8").splitlines()]
    random.Random(0).shuffle(texts)
    return texts


def encoding(classes, folder, encoder, path, texts):
    """Return figures of a model's texts: differing IDs, cosines, and the milliseconds of both."""
    sources = write_texts(folder / "first", texts[:: len(texts) // 500 or 1]), write_texts(folder / "texts", texts)
    # Until the JVM has compiled what it runs.
    first, line = jobs(classes, folder, [("encode", path, source, folder / "encoded") for source in sources])
    ids, vectors = read_encoded(folder / "encoded", encoder.dimension)
    encoder.encode(texts[:100])
    start = time.perf_counter()
    expected = encoder.encode(texts)
    milliseconds = 1000 * (time.perf_counter() - start) / len(texts)
    cosines = np.sum(vectors * expected, axis=1, dtype=np.float64)
    return {
        "texts": len(texts),
        "other_ids": sum(row != encoder.tokenize(text) for row, text in zip(ids, texts, strict=True)),
        "cosine": {"min": cosines.min(), "mean": cosines.mean(), "below .9999": int(np.sum(cosines < 0.9999))},
        "milliseconds": {"java": float(line), "java, first 500": float(first), "encode.py": milliseconds},
    }


def searching(classes, folder, model, path, options):
    """Count the questions to an index whose nearest passages differ from those of `distill search`."""
    from distill.search_engine.indexing.answers import Answers
    from distill.search_engine.indexing.building import COMPACT, IndexChange, IndexSettings, build_index

    paragraphs = {language: xquad(options.data, language) for language in LANGUAGES}
    passages = [text for texts, _ in paragraphs.values() for text in texts]
    questions = [text for _, texts in paragraphs.values() for text in random.Random(0).sample(texts, options.questions)]
    rows = [json.dumps({"id": str(row), "text": text}, ensure_ascii=False) for row, text in enumerate(passages)]
    (folder / "documents.jsonl").write_text("\n".join(rows), encoding="utf-8")
    figures = {}
    for bits in (8, COMPACT):
        index = folder / f"{Path(model).name}-{bits}"
        build_index(index, IndexChange([folder / "documents.jsonl"]), model, IndexSettings(bits=bits))
        answers, source = Answers(index), write_texts(folder / "questions", questions)
        start = time.perf_counter()
        expected = [[(hit.row, hit.score) for hit in one.hits] for one in answers.answers(questions, K)]
        python = 1000 * (time.perf_counter() - start) / len(questions)
        (line,) = jobs(classes, folder, [("search", path, index, source, K, folder / "hits")])
        got = [[hit[:2] for hit in hits] for hits in read_hits(folder / "hits")]
        figures[f"{bits} bits"] = {**compared(got, expected), "milliseconds": {"java": float(line), "python": python}}
        figures[f"{bits} bits"] |= {"passages": answers.index.passages, "sentences": answers.index.card["sentences"]}
    return figures


def compared(got, expected):
    """Count questions with another first passage, and with others among the first K; return the greatest difference
    too.
    """
    pairs = list(zip(got, expected, strict=True))
    rows = [([row for row, _ in one], [row for row, _ in other]) for one, other in pairs]
    off = max(abs(a[1] - b[1]) for one, other in pairs for a, b in zip(one, other, strict=True))
    return {
        "questions": len(pairs),
        "other_first": sum(one[0] != other[0] for one, other in rows),
        "other_rows": sum(set(one) != set(other) for one, other in rows),
        "score_difference": float(off),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="+", help="bundles")
    parser.add_argument("--data", type=Path, required=True, help="the folder with xquad and ntrex")
    parser.add_argument("--texts", type=int, default=2500, help="of a language")
    parser.add_argument("--questions", type=int, default=25, help="of a language, to the index")
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    from distill.encoders.catalog.kinds import find_folder
    from distill.encoders.catalog.loading import load_encoder

    texts = [text for language in LANGUAGES for text in lines(options.data, language)[: options.texts]]
    figures = {"machine": machine(), "languages": list(LANGUAGES), "models": {}}
    with TemporaryDirectory() as name:
        folder = Path(name)
        classes = compiled(folder / "classes")
        for model in options.models:
            bundle = find_folder(model)
            table = json.loads((bundle / "card.json").read_text())["precision"]["table"]
            path = write_encoder(folder / f"{Path(model).name}.bin", bundle, Path(model).name, table)
            row = encoding(classes, folder, load_encoder(model), path, texts)
            print(json.dumps({model: row}, indent=1), flush=True)
            row["index"] = searching(classes, folder, model, path, options)
            figures["models"][Path(model).name] = row
            print(json.dumps(row["index"], indent=1), flush=True)
    write_json(options.json, figures)


if __name__ == "__main__":
    main()
