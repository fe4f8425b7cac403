"""Two devices, made of one CPU in a process of its own, train as one does."""

import importlib.util
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from fixtures.commands import ON_JAX

from distill.errors import ConfigError
from distill.settings.sections import TrainingSettings
from distill.training.devices import require_devices, shared_by

TWO_DEVICES = """
import sys
from distill.system.lean_imports import lean_imports
lean_imports()
from functools import partial
import keras
import numpy as np
from keras import ops
from distill.encoders.batching import pack
from distill.settings.sections import TrainingSettings
from distill.training.devices import require_devices, shared_by
from distill.encoders.encoder import encode_ids
from distill.errors import ConfigError
from distill.training.log import RunLog
from distill.students.ngram import NGramEncoder
from distill.training.trainer import Trainer
from distill.training.loop import fit
from distill.training.session import Schedule, Session

random = np.random.default_rng(0)
texts = [random.integers(1, 20, size=size).tolist() for size in (7, 30, 12, 5, 40, 3)]
target = np.eye(6, dtype=np.float32)

def loss(vectors, x):
    return ops.mean(ops.sum(ops.square(ops.take(vectors, x["text"], axis=0) - x["target"]), axis=-1))

def batch(rows):
    labels = {"text": np.arange(len(rows), dtype=np.int32), "target": target[rows]}
    return {**pack([texts[row] for row in rows], 1), **labels}

def trained(devices):
    keras.utils.set_random_seed(1)
    options, log, weights = TrainingSettings(jit=True, devices=devices), RunLog(), []
    with shared_by(options):
        model = NGramEncoder(vocabulary=20, width=6, channels=4, orders=(3,), convolutions=1, hidden=8, dimension=6)
        kernel = model.get_layer("head").first.kernel.value
        weights.append(len(kernel.sharding.device_set))

        def dev():
            vectors = encode_ids(model, texts)
            nearest = np.argmax(vectors @ target.T, axis=1)
            return {"p@1": float(np.mean(nearest == np.arange(6))), "mrr@10": float(np.sum(vectors * target))}

        trainer = Trainer(model, loss, 1e-2, options=options)
        # Of one shape, which compiles once; two devices do not divide three labels.
        makers = [partial(batch, [0, 1, 2]), partial(batch, [4, 5, 3])]
        fit(trainer, lambda epoch: makers, dev, Schedule(3), Session(log, stage="stage"))
    return log.of("stage"), model.get_weights(), weights[0]

one, two = trained(1), trained(2)
assert keras.distribution.distribution() is None
try:
    require_devices(TrainingSettings(devices=3))
    refused = ""
except ConfigError as error:
    refused = str(error)
np.savez(
    sys.argv[1],
    losses=[[row["loss"] for row in rows[1:]] for rows in (one[0], two[0])],
    scores=[[(row["p@1"], row["mrr@10"]) for row in rows] for rows in (one[0], two[0])],
    devices=[one[2], two[2]],
    all=require_devices(TrainingSettings(devices=0)),
    refused=refused,
    backend=keras.backend.backend(),
    **{f"one {i}": weight for i, weight in enumerate(one[1])},
    **{f"two {i}": weight for i, weight in enumerate(two[1])},
)
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed: training on several devices is only tested with it")
    path = tmp_path_factory.mktemp("devices") / "results.npz"
    two = {**ON_JAX, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run(
        [sys.executable, "-c", TWO_DEVICES, path],
        env={**os.environ, **two, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return dict(np.load(path))


def test_two_devices_train_as_one_does(results):
    assert str(results["backend"]) == "jax"
    assert results["devices"].tolist() == [1, 2]
    one, two = results["losses"]
    assert one[-1] < one[0]
    np.testing.assert_allclose(two, one, rtol=1e-4)
    np.testing.assert_allclose(*results["scores"], rtol=1e-4)
    weights = [name.split()[1] for name in results if name.startswith("one ")]
    assert weights
    for number in weights:
        np.testing.assert_allclose(results[f"two {number}"], results[f"one {number}"], rtol=1e-3, atol=1e-4)
    assert int(results["all"]) == 2
    assert re.findall(r"\d", str(results["refused"]))[:2] == ["3", "2"]


def test_another_backend_is_refused_with_the_way_out_and_one_device_needs_nothing():
    for devices in (0, 2):
        with pytest.raises(ConfigError, match="KERAS_BACKEND=jax"):
            shared_by(TrainingSettings(devices=devices))
    assert require_devices(None) == require_devices(TrainingSettings()) == 1


def test_what_exports_is_refused_before_it_trains(distill, tmp_path, capsys):
    (tmp_path / "config.toml").write_text("training.devices = 2", encoding="utf-8")
    for given in (["--devices", "2"], ["--set", "training.devices=2"], ["--config", tmp_path / "config.toml"]):
        assert distill("run", *given, "--runs", tmp_path / "runs") == 2
        told = capsys.readouterr().err
        assert "training.devices" in told and "KERAS_BACKEND=jax" in told
    assert not (tmp_path / "runs").exists()
