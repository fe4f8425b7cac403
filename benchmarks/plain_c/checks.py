"""Compare the encoder in C with `encode.py`: IDs and vectors of many texts, broken texts and files, speed and size.

    python benchmarks/plain_c/checks.py --model multi12-ngram --model multi12-static --texts data/flores/dev.tsv \
        --texts data/ntrex/newstest2019-ref.deu.txt --output plain_c.json

Texts are the lines of .txt files and the cells of .tsv files, whose first line names languages. Ids are those of
SentencePiece, for mutated bytes too, spellings as what they stand for. With --fuzz the program is built with gcc's
sanitizers and given --fuzzed broken texts and --files broken files.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import program
import sentencepiece

from distill.encoders.catalog.bundle import find_artefact
from distill.encoders.tokenizer import Tokenizer, list_spellings
from distill.export import encode
from distill.export.c.encoder_file import encoder_sections
from distill.system.sections import write_sections

LANGUAGES = ("en", "ar", "de", "el", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
NEAR = 0.9999
# Questions, of those that are timed, and rounds in which both take turns.
TIMED, ROUNDS = 400, 15
SANITIZERS = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def texts_in(path):
    """Return the texts of a file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.suffix != ".tsv":
        return [line for line in lines if line]
    wanted = [place for place, name in enumerate(lines[0].split("\t")) if name in LANGUAGES]
    return [line.split("\t")[place] for line in lines[1:] for place in wanted if line.count("\t") >= place]


def mutated(texts, count):
    """Yield texts as bytes with a few of them changed, inserted or removed."""
    draw = random.Random(0)
    for _ in range(count):
        text = bytearray(draw.choice(texts).encode()[: draw.choice([20, 80, 400])])
        for _ in range(draw.randrange(1, 6)):
            place = draw.randrange(len(text) + 1)
            text[place : place + draw.randrange(3)] = draw.randbytes(draw.randrange(3))
        yield bytes(text)


def encoder_file(folder, path):
    """Write the encoder.bin of a bundle; the sections' tokenizer."""
    card, tokenizer = encode.read_card(folder), Tokenizer.load(folder / encode.TOKENIZER)
    content, table = (folder / encode.MODELS["bundle"]).read_bytes(), card["precision"]["table"]
    write_sections(path, encoder_sections(content, tokenizer, card["name"], table, card["max_length"]))
    return tokenizer


def other_ids(plain, tokenizer, texts):
    """Return the texts whose IDs are not SentencePiece's, as questions and with what aliases stand for."""
    prompt, longest = tokenizer.reading.prompts.get("question", ""), tokenizer.reading.longest
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)
    meant = {len(tokenizer) + place: one.ids for place, one in enumerate(list_spellings(tokenizer))}

    def ids(text):
        text = prompt.encode() + text if isinstance(text, bytes) else prompt + text
        told = processor.encode(text, add_bos=True, add_eos=True)
        return encode.shortened([each for id in told for each in meant.get(id, (id,))], longest)

    return [text for text in texts if plain.tokenize(text) != ids(text)]


def cosines(plain, bundle, texts):
    """Return the cosines between the vectors of both."""
    values = np.sum(plain.encode(texts).astype(np.float64) * bundle.encode(texts), axis=1)
    return {
        "texts": len(texts),
        "mean": float(values.mean()),
        "least": float(values.min()),
        "below": int(np.sum(values < NEAR)),
        "least_text": texts[int(values.argmin())],
    }


def milliseconds(encoders, texts):
    """Return milliseconds per text of each encoder: the best of rounds in which they alternate, on one thread."""
    best = dict.fromkeys(encoders, float("inf"))
    for _ in range(ROUNDS):
        for name, encoder in encoders.items():
            begin = time.process_time()
            encoder.encode(texts)
            best[name] = min(best[name], (time.process_time() - begin) / len(texts) * 1000)
    return best


def checked(model, built, texts, mutations, folder):
    """Return the figures of one encoder."""
    place = find_artefact(model)
    path = folder / f"{place.name}.bin"
    tokenizer = encoder_file(place, path)
    begin = time.perf_counter()
    plain = program.PlainEncoder(built, path.read_bytes())
    opened = time.perf_counter() - begin
    bundle, broken = encode.Encoder(place), list(mutated(texts, mutations))
    return {
        "bytes": path.stat().st_size,
        "opened_ms": opened * 1000,
        "texts": len(texts),
        "other_ids": len(other_ids(plain, tokenizer, texts)),
        "mutated": len(broken),
        "other_ids_mutated": len(other_ids(plain, tokenizer, broken)),
        "cosines": cosines(plain, bundle, texts),
        "milliseconds": milliseconds({"c": plain, "encode.py": bundle}, texts[:: max(1, len(texts) // TIMED)]),
    }


def fuzzed(files, texts, counts, folder):
    """Return what the program with sanitizers prints for broken texts and files; it has to exit with 0."""
    (folder / "texts.txt").write_text("\n".join(texts), encoding="utf-8")
    fuzz = program.compiled(["gcc"], folder / "fuzz", *SANITIZERS, str(program.FUZZ))
    encoder, *index = files
    command = [fuzz, encoder, folder / "texts.txt", "1", *counts, *index]
    begin = time.perf_counter()
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    return {
        "texts": counts[0],
        "files": counts[1],
        "exit_code": result.returncode,
        "printed": result.stdout.splitlines() + result.stderr.splitlines()[:20],
        "seconds": time.perf_counter() - begin,
    }


def main():
    """Write the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", action="append", required=True)
    parser.add_argument("--texts", action="append", type=Path, required=True)
    parser.add_argument("--mutated", type=int, default=100_000)
    parser.add_argument("--fuzz", nargs="+", type=Path, metavar="FILE", help="encoder.bin and index.bin to break")
    parser.add_argument("--fuzzed", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    texts = [text for path in options.texts for text in texts_in(path)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = next(iter(program.compilers().values()))
        built = program.library(command, folder / "distill.so", "-s")
        figures = {"library_bytes": (folder / "distill.so").stat().st_size}
        figures |= {model: checked(model, built, texts, options.mutated, folder) for model in options.model}
        if options.fuzz:
            figures["fuzzed"] = fuzzed(options.fuzz, texts, (options.fuzzed, options.files), folder)
    options.output.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
