"""The files of a page: what is in them, what they weigh, and what they refuse."""

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from fixtures.folders import copy_shipped

from distill.data.loading import load_dataset
from distill.errors import DataError, EncoderError
from distill.export.artefact import write_artefact
from distill.export.form import Form
from distill.export.formats.format import load_artefact
from distill.export.student import form_of_bundle
from distill.export.web.site import COPIED, PROGRAM, SOURCES, TEMPLATES, add_index, name_encoders, write_pieces
from distill.search_engine.indexing.building import IndexChange, build_index
from distill.search_engine.indexing.clusters import write_clusters
from distill.search_engine.indexing.index_file import Index
from distill.system.sections import read_sections

ROOT = Path(__file__).resolve().parents[3]
MB = 1e6


def size(folder):
    return sum(path.stat().st_size for path in folder.iterdir())


# Of `multi12-ngram` six are its spellings.
@pytest.mark.parametrize(("name", "most"), [("multi12-ngram", 27), ("multi12-static", 12)])
def test_a_page_without_an_index_is_small(page_of, name, most, tmp_path):
    folder = page_of(tmp_path / "site", name)
    assert {path.name for path in folder.iterdir()} == {"encoder.bin", *TEMPLATES, *COPIED}
    assert size(folder) <= most * MB
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert f'data-encoder="{(folder / "encoder.bin").stat().st_size}" data-index=""' in page
    [version] = re.findall(r'VERSION = "(\w+)"', (folder / "offline.js").read_text(encoding="utf-8"))
    assert f'data-version="{version}"' in page


def test_nothing_in_a_page_comes_from_elsewhere():
    texts = {name: (SOURCES / name).read_text(encoding="utf-8") for name in (*TEMPLATES, *COPIED) if name != PROGRAM}
    addresses = {address for text in texts.values() for address in re.findall(r"https?://[\w.:-]*\w", text)}
    assert addresses == {"http://www.w3.org", "http://localhost:8000"}
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', texts["index.html"])
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and rules["script-src"] == "'self' 'wasm-unsafe-eval'"
    assert {value for name, value in rules.items() if name != "script-src"} == {"'none'", "'self'"}


def luminance(colour):
    """Of WCAG 2.2, of a colour `#rrggbb`."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_has_the_contrast_of_wcag_aa_in_light_and_in_dark():
    style = (SOURCES / "page.css").read_text(encoding="utf-8")
    themes = [dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in re.findall(r":root \{([^}]+)\}", style)]
    assert len(themes) == 2
    for theme in themes:
        for ground in ("ground", "sheet"):
            assert min(contrast(theme[name], theme[ground]) for name in ("ink", "quiet", "accent", "failed")) >= 4.5
            # Of the box's edge, which is no text.
            assert contrast(theme["edge"], theme[ground]) >= 3
        assert contrast(theme["ink"], theme["mark"]) >= 4.5


def test_an_index_of_another_encoder_and_a_file_that_is_none_are_refused(page_of, tmp_path):
    folder = page_of(tmp_path / "site", "multi12-static")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (tmp_path / "note.txt").write_text("The tower burned down.", encoding="utf-8")
    build_index(tmp_path / "kb", IndexChange([tmp_path / "note.txt"]), "multi12-ngram")
    with pytest.raises(EncoderError, match=r"index\.bin.*multi12-ngram"):
        add_index(folder, tmp_path / "kb" / "index.bin")
    build_index(
        tmp_path / "pair", IndexChange([tmp_path / "note.txt"]), "multi12-ngram", question_model="multi12-static"
    )
    other = page_of(tmp_path / "pair-site", "multi12-static")
    add_index(other, tmp_path / "pair" / "index.bin")
    assert (other / "index.bin").read_bytes() == (tmp_path / "pair" / "index.bin").read_bytes()
    (tmp_path / "half").write_bytes((tmp_path / "kb" / "index.bin").read_bytes()[:-100])
    for path in (tmp_path / "half", folder / "encoder.bin"):
        with pytest.raises(DataError, match=path.name):
            add_index(folder, path)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_published_index_has_the_name_of_an_encoders_folder_and_not_its_path(page_of, tmp_path):
    (tmp_path / "note.txt").write_text("The tower burned down.", encoding="utf-8")
    build_index(
        tmp_path / "kb", IndexChange([tmp_path / "note.txt"]), copy_shipped("multi12-static", tmp_path / "mine")
    )
    folder = page_of(tmp_path / "site", "multi12-static", tmp_path / "kb" / "index.bin")
    write_clusters(tmp_path / "kb", tmp_path / "clusters.bin")
    assert (Index(folder).card["encoder"], Index(folder).passages) == ("mine", 1)
    for file in (folder / "index.bin", tmp_path / "clusters.bin"):
        assert str(tmp_path / "mine").encode() not in file.read_bytes()
    assert str(tmp_path / "mine").encode() in (tmp_path / "kb" / "index.bin").read_bytes()
    others = {
        "encoder": "st:org/name",
        "question_encoder": "https://tfhub.dev/some/3",
        "word_encoder": f"hf:{tmp_path}",
    }
    assert name_encoders(others) == {**others, "word_encoder": tmp_path.name}


@pytest.mark.parametrize(("format_", "named"), [("web", "index.bin"), ("bundle", "--index")])
def test_the_command_refuses_an_index_before_it_exports(distill, capsys, tmp_path, format_, named):
    (tmp_path / "note.txt").write_text("The tower burned down.", encoding="utf-8")
    build_index(tmp_path / "kb", IndexChange([tmp_path / "note.txt"]), "multi12-static")
    model = "multi12-ngram" if format_ == "web" else "multi12-static"
    site = tmp_path / "site"
    assert distill("export", model, "--format", format_, "--index", tmp_path / "kb", "--output", site) == 2
    assert named in capsys.readouterr().err.splitlines()[-1] and not site.exists()


def test_a_page_is_an_artefact_with_a_card(tiny_encoder, tiny_bundle, tmp_path):
    card = write_artefact(tiny_encoder, tmp_path / "site", form_of_bundle(tiny_bundle, Form("web")), "small")
    assert set(card.files) == {"encoder.bin", *TEMPLATES, *COPIED}
    assert load_artefact(tmp_path / "site").tokenize("Nile") == load_artefact(tiny_bundle).tokenize("Nile")


def test_the_program_is_what_its_sources_give(tmp_path):
    script = ROOT / ".ci" / "wasm.py"
    if find_spec("ziglang") is None or f'"{version("ziglang")}"' not in script.read_text(encoding="utf-8"):
        pytest.skip("another ziglang, or none")
    subprocess.run([sys.executable, script, tmp_path / PROGRAM], check=True)
    assert (tmp_path / PROGRAM).read_bytes() == (SOURCES / PROGRAM).read_bytes()


# An encoder in pieces: each question's own gives the whole one's vector to the last bit, and loads little of it.
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
