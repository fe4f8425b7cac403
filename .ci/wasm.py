"""Compile the program of the page, export/web/distill.wasm, or another file that is named, by PyPI's ziglang.

The same version of ziglang gives the same bytes; with a newer one commit the file anew, and its VERSION.
"""

import subprocess
import sys
from pathlib import Path

VERSION = "0.17.1"
ROOT = Path(__file__).resolve().parent.parent
SOURCES, PAGE = ROOT / "export" / "c", ROOT / "export" / "web"
# There is no C library: program.c has the few functions that are needed.
FLAGS = ["-target", "wasm32-freestanding", "-nostdlib", "-std=c11", "-O3", "-g0", "-msimd128", "-mbulk-memory"]
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
LINKER = ["-Wl,--no-entry,--strip-all,-z,stack-size=262144"]


def main(output=PAGE / "distill.wasm"):
    places = ["-isystem", PAGE / "libc", "-I", SOURCES, "-DDISTILL_NO_FILES"]
    files = [SOURCES / "distill.c", SOURCES / "distill_writer.c", PAGE / "program.c"]
    command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, *WARNINGS, *LINKER, *places, *files, "-o", output]
    status = subprocess.run([str(part) for part in command]).returncode
    if status == 0:
        Path(output).chmod(0o644)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
