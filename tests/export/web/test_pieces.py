"""An encoder in pieces: each question's own gives the whole one's vector to the last bit, and loads little of it."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from distill.data.loading import load_dataset
from distill.export.web.site import write_pieces
from distill.system.sections import read_sections

NODE, WEB = shutil.which("node"), Path(__file__).resolve().parents[3] / "export" / "web"
SCRIPT = """
import { readFileSync } from "node:fs";
import { Program } from "./distill.js";
import { PieceEncoder } from "./pieces.js";
import { RangedFile } from "./ranges.js";

const start = async () => Program.start(readFileSync("distill.wasm"));
const [pieces, encoder] = ["pieces.bin", "encoder.bin"].map(name => readFileSync(name));
const file = new RangedFile("pieces.bin", "pieces.bin", pieces.length, { match: async () => new Response(pieces) });
const whole = await start();
whole.openEncoder(whole.place(encoder), encoder.length);
const parts = await PieceEncoder.open(await start(), file);
const texts = JSON.parse(readFileSync("texts.json"));
// All at once: each question waits for its parts while others open their encoders.
const vectors = await Promise.all(texts.map(text => parts.vector(text)));
const same = vectors.map((vector, i) => vector.every((number, j) => number === whole.vector(texts[i])[j]));
console.log(JSON.stringify({ same, late: await parts.vector(texts[0], () => true), held: file.held }));
"""


@pytest.fixture(scope="module")
def folder(page_of, tmp_path_factory):
    folder = page_of(tmp_path_factory.mktemp("pieces") / "page", "multi12-static")
    write_pieces(folder / "encoder.bin", folder / "pieces.bin")
    return folder


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_the_vectors_of_pieces_are_those_of_the_whole_encoder(folder):
    data = load_dataset("sample", "en")
    texts = [data.select(name, "test")[0].text for name in data.languages]
    texts += [text.lower() for text in texts] + ["", "  ", "🙂👩‍👩‍👧 ok", "a" * 2000, "ᚠᚢᚦ"]
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    (folder / "run.mjs").write_text(SCRIPT, encoding="utf-8")
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    ran = subprocess.run([NODE, "run.mjs"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    assert answer["same"] == [True] * len(texts) and answer["late"] is None
    assert answer["held"] < (folder / "pieces.bin").stat().st_size / 10


def test_every_row_and_piece_of_the_encoder_is_in_its_pieces(folder):
    whole, parts = (read_sections(folder / f"{name}.bin") for name in ("encoder", "pieces"))
    first, second = parts["rows.0"], parts["rows.1"]
    np.testing.assert_array_equal(first[:, : whole["table.0"].shape[1]], whole["table.0"])
    np.testing.assert_array_equal(second[:, :-4], whole["table.3"])
    assert len(first) + len(second) == whole["settings"][4]
