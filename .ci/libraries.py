#!/usr/bin/env python3
"""Run the Python of docs/libraries.md, block by block, in an environment that has those libraries.

    python3 -m venv libraries && libraries/bin/pip install . langchain-openai==1.7.3 llama-index-core==0.14.25 \
        llama-index-embeddings-openai-like==0.4.0 haystack-ai==3.4.0 chromadb==1.5.9 fastembed==0.9.1
    .ci/libraries.py libraries/bin/python      # `serve` and `export` of distill run in the script's own environment
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACE, ANSWER = "http://127.0.0.1:8000", "The Nile ends in the sea.\n"
SERVE = [sys.executable, "-m", "distill", "serve", "multi12-ngram", "--port", "0"]
# The folder that FastEmbed's block opens.
EXPORT = "export multi12-transformer --format fastembed --precision float32 --languages en --output encoder"


def main():
    blocks = BLOCK.findall((ROOT / "docs" / "libraries.md").read_text(encoding="utf-8"))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HAYSTACK_TELEMETRY_ENABLED": "False"}
    with TemporaryDirectory() as folder:
        subprocess.run([*SERVE[:3], *EXPORT.split()], cwd=folder, env=environment, check=True)
        with subprocess.Popen(SERVE, cwd=ROOT, stderr=subprocess.PIPE, text=True) as server:
            line = server.stderr.readline()
            place = re.search(r"http://\S+(?=/v1)", line) or sys.exit(line)
            wrong = [block for block in blocks if not runs(block.replace(PLACE, place[0]), environment, folder)]
            server.terminate()
    print(f"{len(blocks) - len(wrong)} of {len(blocks)} blocks of docs/libraries.md print what they should")
    sys.exit(bool(wrong))


def runs(block, environment, folder):
    """Return True if a block prints the passage that answers; otherwise show its output."""
    command = [sys.argv[1], "-c", block]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    if done.stdout.endswith(ANSWER):
        return True
    print(f"{block}\n{done.stdout}{done.stderr}")
    return False


if __name__ == "__main__":
    main()
