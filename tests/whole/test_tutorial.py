"""The commands of the tutorial, README.md and docs/commands.md as a newcomer types them, and what they print.

Most of them run in this process, which has Keras and TensorFlow; what is between them by a shell.
"""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from fixtures.commands import ROOT, environment

from distill.cli import main

FEW = "--bm25-epochs 1 --online-epochs 1 --epochs 1"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    """`(language, text)` of each fenced block of a page."""
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


def shell(script, folder):
    """The output and messages of a script that is run in a folder, with this environment's Python and distill."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**environment(), "PATH": path, "COLUMNS": "160", "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def typed(tmp_path, monkeypatch, capfd):
    """`typed(script)`: what a script prints that is run in an empty folder, the commands of distill in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def run(script):
        said = []
        for part in filter(str.strip, re.split(r"^(distill .*)\n", script, flags=re.MULTILINE)):
            if not part.startswith("distill "):
                said.append(shell(part, tmp_path))
                continue
            capfd.readouterr()
            with pytest.raises(SystemExit) as left:
                main(shlex.split(part, comments=True)[1:])
            said += capfd.readouterr()
            assert left.value.code == 0, said[-1]
        return "".join(said)

    return run


def without_numbers(text):
    """The lines of a text, each with # for a number, up to what is left out and without blanks at the end."""
    return [re.sub(r"\d+(\.\d+)?", "#", line).partition("…")[0].rstrip() for line in text.splitlines()]


def test_the_tutorial_runs_from_top_to_bottom_and_prints_what_it_says(typed, tmp_path):
    page = blocks("docs/tutorial.md")
    scripts = [text for language, text in page if language == "sh"]
    pairs = zip(page, page[1:], strict=False)
    answers = [text for (before, _), (language, text) in pairs if (before, language) == ("sh", "")]
    assert len(scripts) >= 8 and len(answers) >= 6
    # Half of the documents, an epoch of each, and the last export is one of docs/commands.md too.
    *scripts, last = [re.sub("^distill run .*", rf"\g<0> {FEW}", script, flags=re.MULTILINE) for script in scripts]
    assert "--format sentence-transformers" in last and "[:48]" in scripts[0]
    lines = without_numbers(typed("".join(scripts).replace("[:48]", "[:24]")))
    for answer in answers:
        first, *_ = without_numbers(answer)
        assert any(line.startswith(first) for line in lines), answer
    for name in ("mine/distill.toml", "runs/first/report.html", "app/encoder/encoder.tflite"):
        assert (tmp_path / name).stat().st_size


def test_a_folder_of_a_transformer_becomes_small_as_its_page_says(typed, transformers, sentence_data, tmp_path):
    folder = shutil.copytree(transformers / "xlm-roberta", tmp_path / "encoder")
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": kind} for kind in ("Transformer", "Pooling")]
    (folder / "modules.json").write_text(json.dumps([{**modules[0], "path": ""}, modules[1]]), encoding="utf-8")
    (folder / "Pooling").mkdir()
    (folder / "Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}', encoding="utf-8")
    shutil.copytree(sentence_data, tmp_path / "data")
    lines = {"de": "Teil 0: river ist alt.\nEs ist ein river.\n", "en": "The river is old.\nIt is a river.\n"}
    for language, text in lines.items():
        (tmp_path / f"{language}.txt").write_text(text * 9, encoding="utf-8")
    (tmp_path / "lines.tsv").write_text("en\tde\nThe river is old.\tDer Fluss ist alt.\n" * 2, encoding="utf-8")
    scripts = [text for language, text in blocks("docs/your-encoder.md") if language == "sh"]
    assert len(scripts) == 7
    # It has two layers and 137 pieces.
    few = [("--layers 6", "--layers 1"), ("--most 20000", "--most 100"), ("--epochs 3", "--epochs 1")]
    script = "".join(scripts)
    for long, short in few:
        assert long in script
        script = script.replace(long, short)
    typed(script)
    for name in ("app/encoder/encoder.tflite", "server/encoder.onnx", "plain/model.safetensors"):
        assert (tmp_path / name).stat().st_size
    card = json.loads((tmp_path / "app" / "smaller" / "card.json").read_text(encoding="utf-8"))
    assert (card["precision"]["dense"], card["derives_from"]) == ("int4", "encoder")


@pytest.fixture(scope="module")
def commands():
    """`{commands: what they print}` of the blocks of README.md and of docs/commands.md that begin with `$ `."""
    pages = [text for page in ("README.md", "docs/commands.md") for _, text in blocks(page)]
    shown = [text.splitlines(keepends=True) for text in pages if text.startswith("$ ")]
    prompts = [[line.removeprefix("$ ") for line in block if line.startswith("$ ")] for block in shown]
    return {"".join(typed): "".join(block[len(typed) :]) for typed, block in zip(prompts, shown, strict=True)}


def test_the_commands_shown_print_what_the_pages_say(typed, commands, small_sample, tmp_path, capfd):
    (tmp_path / "texts.jsonl").write_text('{"id": "1", "text": "Wo mündet der Nil?"}\n', encoding="utf-8")
    (tmp_path / "notes").mkdir()
    sample = (ROOT / "distill" / "data" / "sample" / "documents.jsonl").read_text(encoding="utf-8").splitlines(True)
    (tmp_path / "notes" / "documents.jsonl").write_text("".join(sample[:5]), encoding="utf-8")
    [curie] = [json.loads(line) for line in sample if "Marie Curie was born" in line]
    text = "\n\n".join(["# Marie Curie", *(passage["text"] for passage in curie["passages"])])
    (tmp_path / "notes" / "marie-curie.md").write_text(text, encoding="utf-8")
    names = {command.split()[1]: command for command in commands}
    assert {"index", "encode", "evaluate"} == set(names)
    for command in names.values():
        lines = without_numbers(typed(command))
        first, *_ = without_numbers(commands[command])
        assert any(line.startswith(first) for line in lines), first
    assert (tmp_path / "site" / "index.html").stat().st_size
    export, serve, mteb = next(text for _, text in blocks("docs/commands.md") if "distill serve" in text).splitlines()
    typed(f"{export}\n")
    assert (tmp_path / "st" / "modules.json").stat().st_size
    listens = "timeout 60 sh -c 'until grep /v1 log; do sleep .1; done'"
    shell(f"{serve.partition('#')[0]} --port 0 2> log & {listens}; kill %1", tmp_path)
    if find_spec("mteb"):
        capfd.readouterr()
        exec(shlex.split(mteb, comments=True)[-1], {})
        assert "multi12-ngram" in capfd.readouterr().out


def test_five_lines_of_python_print_the_passage(capsys):
    [code] = [text for language, text in blocks("docs/examples.md") if language == "python"]
    assert len([line for line in code.splitlines() if line]) == 5
    exec(code, {})
    assert "Nile" in capsys.readouterr().out


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 80


def test_lines_of_the_pages_are_not_long():
    """Tables and blocks of code may be."""
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        long = [line for line in text.splitlines() if len(line) > 160 and not line.startswith("|")]
        assert not long, f"{page.name}: {long[0]}"


IMPORT = re.compile(r"^from (distill\.[\w.]+) import (\w+)$", re.MULTILINE)


def imports_of_pages():
    """`(page, module, name)` of what code on a page imports from a module of the package."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")]
    return [(page.name, *entry) for page in pages for entry in IMPORT.findall(page.read_text(encoding="utf-8"))]


def test_code_on_a_page_imports_what_there_is():
    imports = imports_of_pages()
    assert len(imports) > 5
    for page, module, name in imports:
        source = find_spec(module).loader.get_source(module)
        names = {getattr(node, "name", None) for node in ast.parse(source).body}
        assert name in names, f"{page}: {module} has no {name}"
