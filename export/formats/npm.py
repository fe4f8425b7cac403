"""The format npm: a package with the encoder of the format c, the program in WebAssembly, and JavaScript around it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ... import __version__
from ...system.files import write_json
from ...system.types import Json
from ..weights.precision import Precision
from .c import FORMATS as C_FORMATS
from .c import MODEL, write_encoder
from .format import Lengths

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder

PACKAGE, NAME = "package.json", "distill-encoder"
EXPORT = Path(__file__).parents[1]
SOURCES = (
    *(EXPORT / "npm" / name for name in ("index.js", "index.d.ts")),
    *(EXPORT / "web" / name for name in ("distill.js", "distill.wasm")),
)
HOW_TO = """An npm package without dependencies, for browsers and for Node 18 or newer. Install it into a project with
`npm install` and the path of this folder, or of the file that `npm pack` makes of it. `index.d.ts` documents its
interface; docs/npm.md says more.

```js
import {{ readFile, writeFile }} from "node:fs/promises";
import {{ load }} from "distill-encoder";

const encoder = await load();
const vector = encoder.encode("The Danube ends in the Black Sea.", {{ role: "document" }}); // {dimension} numbers

const index = encoder.createIndex();
index.add({{ id: "1", title: "Rivers", text: "The Danube rises in the Black Forest. It ends in the Black Sea." }});
index.add({{ id: "2", title: "Bears", text: "Giant pandas eat bamboo for twelve hours a day." }});
index.remove("2");

const [hit] = await index.search("Wo mündet die Donau?", 5);
console.log(hit.score, hit.document.title, hit.text.slice(...hit.sentence));

await writeFile("index.bin", index.save()); // distill search reads its folder
const again = encoder.openIndex(await readFile("index.bin"));
console.log(again.size);
again.close();
```"""


def package() -> dict[str, Json]:
    return {
        "name": NAME,
        "version": __version__,
        "description": "A small multilingual sentence encoder with its search, in WebAssembly",
        "license": "SEE LICENSE IN README.md",
        "type": "module",
        "main": "./index.js",
        "types": "./index.d.ts",
        "exports": {
            ".": {"types": "./index.d.ts", "default": "./index.js"},
            **{f"./{name}": f"./{name}" for name in (MODEL, "distill.wasm", PACKAGE)},
        },
        "files": [*(path.name for path in SOURCES), MODEL, "card.json"],
        "engines": {"node": ">=18"},
        "sideEffects": False,
    }


def _write(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    write_encoder(student, folder, precision, lengths)
    for path in SOURCES:
        shutil.copyfile(path, folder / path.name)
    write_json(folder / PACKAGE, package())


# Everything else is as for a program in C.
FORMATS = (replace(C_FORMATS[0], name="npm", write=_write, how_to=HOW_TO),)
