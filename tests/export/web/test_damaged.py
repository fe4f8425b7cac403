"""Files of a page that are damaged and have right checks: each is refused in a sentence, with little room taken."""

import json
import shutil
import subprocess
import zlib
from itertools import pairwise

import numpy as np
import pytest

from distill.data.readers import SAMPLE
from distill.export.web.site import deflate
from distill.search_engine.indexing.building import COMPACT, IndexChange, IndexSettings, build_index
from distill.search_engine.indexing.clusters import write_clusters
from distill.system.hashes import add_check
from distill.system.sections import pack_sections, read_sections, write_sections

NODE, MODEL = shutil.which("node"), "multi12-static"
SCRIPT = """
import { readFileSync } from "node:fs";
import { ClusterIndex } from "./clusters.js";
import { DistillError, Encoder } from "./distill.js";
import { PieceEncoder } from "./pieces.js";
import { RangedFile } from "./ranges.js";

const { inflateRawSync: inflated } = await import("node:zlib");
const inflate = async (content, most) => inflated(content, { maxOutputLength: most });
const encoder = await Encoder.open(readFileSync("encoder.bin"), readFileSync("distill.wasm"), inflate);
const vectors = { vector: async text => encoder.program.vector(text) };
globalThis.fetch = async () => { throw new TypeError("no network"); };
let reserved = 0;
const reserve = encoder.program.reserve.bind(encoder.program);
encoder.program.reserve = bytes => reserve((reserved = Math.max(reserved, bytes), bytes));

async function ranged(name) {
  const content = readFileSync(name);
  const file = new RangedFile(name, name, content.length, { match: async () => new Response(content) });
  await file.restore();
  // It is here alone: what is wrong is said of these bytes.
  file.drop = async () => {};
  return file;
}

const USES = {
  async pieces(file) {
    await (await PieceEncoder.open(encoder.program, file)).vector("Where does the Nile end?");
  },
  async clusters(file) {
    const index = new ClusterIndex(vectors, file, await file.open());
    const hits = await index.search("Which zebras of Timbuktu sleep?", 200, () => {}, () => false);
    return hits.map(hit => index.shown(hit).document.id).join();
  },
};

async function used(name) {
  const kind = name.split("-")[0];
  if (kind in USES) return USES[kind](await ranged(name));
  const index = encoder.openIndex(readFileSync(name));
  await index.search("Where does the Nile end?");
  await index.documents();
}

const said = {};
for (const name of JSON.parse(readFileSync("names.json"))) {
  try {
    said[name] = (await used(name)) ?? "used";
  } catch (error) {
    said[name] = error instanceof DistillError ? error.message : `${error.stack}`;
  }
}
console.log(JSON.stringify({ said, reserved }));
"""
EXPECTED = {
    "pieces-whole": "used",
    "pieces-settings": "settings is cut",
    "pieces-rows": "rows.0 is not that of its settings",
    "pieces-bomb": "cannot be inflated",
    "clusters-whole": "zebra",
    "clusters-starts": "its lists or its titles are none",
    "clusters-books": "its arrays do not go together",
    "clusters-record": "a record is not what its head says",
    "index-whole": "used",
    "index-offsets": "passage_offsets is missing",
    "index-owners": "its passages are of no documents",
    "index-card": "a part of it is no JSON",
    "index-documents": "a part of it is no JSON",
    "index-lengths": "a passage is cut",
    "index-text": "cannot be inflated",
}
pytestmark = pytest.mark.skipif(NODE is None, reason="Node is not installed")


def changed(core, **arrays):
    """The bytes of a file of sections with other arrays."""
    return pack_sections({**core, **arrays})


def write_pieces_damaged(folder):
    """Write `pieces.bin` with cores that say what cannot be."""
    whole = read_sections(folder / "pieces.bin")
    shutil.copyfile(folder / "pieces.bin", folder / "pieces-whole")
    (folder / "core").write_bytes(zlib.decompress(whole["core"][:-4].tobytes(), -zlib.MAX_WBITS))
    core = read_sections(folder / "core")
    parts = core["row_parts"].copy()
    parts[0, 3] = 2**30
    cores = {
        "settings": changed(core, settings=core["settings"][:4]),
        "rows": changed(core, row_parts=parts),
        "bomb": bytes(2**26),
    }
    for name, content in cores.items():
        first = np.frombuffer(add_check(deflate(content)), np.uint8)
        write_sections(folder / f"pieces-{name}", {**whole, "core": first})


def write_clusters_damaged(folder, index):
    """Write `clusters.bin` with another core, and with a record that says it has 2 GB of text, their checks right."""
    write_clusters(index, folder / "clusters-whole")
    whole = read_sections(folder / "clusters-whole")
    (folder / "core").write_bytes(whole["core"][:-4].tobytes())
    core = read_sections(folder / "core")
    cores = {
        "starts": changed(core, list_starts=core["list_starts"][::-1]),
        "books": changed(core, books=core["books"][:, :-256]),
    }
    for name, content in cores.items():
        write_sections(folder / f"clusters-{name}", {**whole, "core": np.frombuffer(add_check(content), np.uint8)})
    records, seed = whole["records"].copy(), zlib.crc32(whole["core"][:-4].tobytes())
    bounds = pairwise(core["list_starts"].tolist())
    places = [whole["lists"][start : start + 4 * ((end - start) // 36)].view("<u4") for start, end in bounds]
    sizes = {place % 2**24 * 64: place // 2**24 for part in places for place in part.tolist()}
    for at, code in sorted(sizes.items()):
        end = at + 64 * (code if code < 128 else (8 + code % 8) << (code // 8 - 12))
        records[at + 16 : at + 20] = np.array([2**31], "<u4").view(np.uint8)
        records[at:end] = np.frombuffer(add_check(records[at : end - 4].tobytes(), seed, at), np.uint8)
    assert end == len(records) and max(sizes.values()) >= 128
    write_sections(folder / "clusters-record", {**whole, "records": records})


def write_index_damaged(folder, index, compact):
    """Write `index.bin` with arrays that the program does not read, and the page does."""
    whole, packed = read_sections(index / "index.bin"), read_sections(compact / "index.bin")
    shutil.copyfile(index / "index.bin", folder / "index-whole")
    blank = {name: np.full_like(whole[name], ord(" ")) for name in ("card", "documents")}
    # The program looks for the fingerprint alone.
    card = json.loads(whole["card"].tobytes())["fingerprint"].encode()
    several = {
        "offsets": {name: array for name, array in whole.items() if name != "passage_offsets"},
        "owners": {**whole, "document_of": whole["document_of"] + np.uint32(10**6)},
        "card": {**whole, "card": np.frombuffer(card, np.uint8)},
        "documents": {**whole, "documents": blank["documents"]},
        "lengths": {**whole, "text_lengths": np.full_like(whole["text_lengths"], 2**31)},
        "text": {**packed, "text": np.full_like(packed["text"], 255)},
    }
    for name, sections in several.items():
        write_sections(folder / f"index-{name}", sections)


@pytest.fixture(scope="module")
def said(page_of, tmp_path_factory):
    """The sentence of each file, or what it gave, and the most bytes that were reserved."""
    base = tmp_path_factory.mktemp("damaged")
    documents = (SAMPLE / "documents.jsonl").read_text(encoding="utf-8").splitlines()[:60]
    # Its record is of the sizes that a byte tells in eighths of a power of two.
    zebra = {"id": "zebra", "text": "The zebras of Timbuktu sleep.", "note": "z" * 30_000}
    (base / "few.jsonl").write_text("\n".join([*documents, json.dumps(zebra)]), encoding="utf-8")
    for name, settings in (("kb", IndexSettings()), ("compact", IndexSettings(bits=COMPACT))):
        build_index(base / name, IndexChange([base / "few.jsonl"]), MODEL, settings)
    folder = page_of(base / "page", MODEL, base / "kb" / "index.bin", by_ranges=True)
    write_pieces_damaged(folder)
    write_clusters_damaged(folder, base / "kb")
    write_index_damaged(folder, base / "kb", base / "compact")
    (folder / "names.json").write_text(json.dumps(list(EXPECTED)), encoding="utf-8")
    (folder / "run.mjs").write_text(SCRIPT, encoding="utf-8")
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    ran = subprocess.run([NODE, "run.mjs"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout) | {"encoder": (folder / "encoder.bin").stat().st_size}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_that_is_damaged_is_refused_in_a_sentence(said, name):
    assert EXPECTED[name] in said["said"][name] and "\n" not in said["said"][name]


def test_little_room_is_taken_for_files_that_are_damaged(said):
    assert said["reserved"] <= 2 * said["encoder"]
