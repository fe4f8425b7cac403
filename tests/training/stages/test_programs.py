"""On JAX a stage has few programs, whatever the lengths of its texts: counted as JAX compiles them, in a process."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest
from fixtures.commands import ON_JAX

COUNT = """
import json, sys
from collections import Counter
from dataclasses import replace
from distill.system.backend import start
start()
import jax, keras, numpy as np
from distill.data.loading import load_dataset
from distill.encoders.encoder import KerasEncoder
from distill.encoders.library_tokenizer import load_tokenizer
from distill.settings.sections import StudentSettings, TeacherSettings
from distill.training.stages.transfer_stage import transfer
from distill.training.stages.triplet_stage import teach
from distill.students.transformer import TransformerEncoder

programs = Counter()
def note(event, seconds, **facts):
    if event.endswith("backend_compile_duration"):
        programs[facts["fun_name"]] += 1
jax.monitoring.register_event_duration_secs_listener(note)

random = np.random.default_rng(0)
words = ["river", "sea", "moon", "air", "bread", "salt"]
def text():
    return " ".join(random.choice(words, size=min(random.geometric(0.03), 300)))

data = load_dataset(sys.argv[1])
data = replace(
    data,
    splits={"train": data.splits["train"][:80], "dev": data.splits["dev"][:20]},
    passages=tuple(replace(passage, text=text(), sentences=()) for passage in data.passages),
    questions={
        language: {id: replace(question, text=text(), answers=()) for id, question in of.items()}
        for language, of in list(data.questions.items())[:3]
    },
)
tokenizer = load_tokenizer(sys.argv[2])
sizes = {"width": 8, "depth": 1, "heads": 1, "head_size": 8, "inner": 8, "dimension": 8, "positions": 600}
base = KerasEncoder(TransformerEncoder(len(tokenizer), **sizes), tokenizer)
language, said = list(data.questions)[0], {}
settings = TeacherSettings(bm25_epochs=1, online_epochs=1, batch_size=16)
teacher = teach(base, data, language, settings)
said["teach"], programs = dict(programs), Counter()
transfer(teacher, base, data, language, list(data.questions), StudentSettings(epochs=2, batch_size=16))
said["transfer"] = dict(programs)
print(json.dumps(said))
"""


def test_few_programs_are_compiled_of_a_stage_on_texts_of_any_lengths(tokenizer, sample_folder, tmp_path):
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed: only it compiles a program for each shape")
    tokenizer.save(tmp_path / "tokenizer.model")
    done = subprocess.run(
        [sys.executable, "-c", COUNT, sample_folder, tmp_path / "tokenizer.model"],
        env={**os.environ, **ON_JAX, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    for programs in said.values():
        assert 1 <= sum(count for name, count in programs.items() if "train_step" in name) <= 4, said
        # The teacher, of other weights, encodes the labels of the second stage by three programs of its own.
    assert 1 <= of_encoding(said["teach"]) <= 3 and 1 <= of_encoding(said["transfer"]) <= 6, said


def of_encoding(programs):
    return sum(count for name, count in programs.items() if "predict_step" in name)
