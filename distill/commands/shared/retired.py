"""Commands and flags of earlier versions: what to type in their place."""

from __future__ import annotations

INDEX = "make it with distill index --model MODEL --documents FILE… --output KB, then ask distill search --index KB"
ASKED = f"distill search asks an index; {INDEX}"

COMMANDS = {
    "extend": "distill extend is no longer there; use distill add-language MODEL LANGUAGE, or distill run "
    "--add-languages with --text and --aligner",
}
# By command.
FLAGS = {"search": {flag: f"{flag}: {ASKED}" for flag in ("--dataset", "--document-language", "--document-model")}}
