"""The device is named, and an NVIDIA device that the backend does not see: its driver is one of the test."""

import ctypes
import sys
from types import SimpleNamespace

import pytest

from distill.system import device
from distill.system.device import (
    BFLOAT16,
    FLOAT16,
    describe_device,
    device_line,
    has_bfloat16,
    machine_memory,
    missed_gpu,
    nvidia_devices,
    resolve_precision,
    unordered_sums,
)


class Driver:
    """The driver's functions, of a machine with one device."""

    def __init__(self, status=0, count=1):
        self.status, self.count = status, count

    def cuInit(self, flags):
        return self.status

    def cuDeviceGetCount(self, count):
        count._obj.value = self.count
        return 0

    def cuDeviceGetName(self, name, size, number):
        name.value = b"NVIDIA Test"

    def cuDeviceGetAttribute(self, value, attribute, number):
        value._obj.value = 7

    def cuDeviceTotalMem_v2(self, memory, number):
        memory._obj.value = 80 * 2**30


@pytest.fixture
def with_driver(monkeypatch):
    return lambda driver: monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)


@pytest.mark.parametrize(("backend", "extra"), [("tensorflow", "gpu"), ("jax", "jax-gpu"), ("torch", "CUDA")])
def test_a_device_that_the_backend_does_not_see_is_told(with_driver, monkeypatch, backend, extra):
    with_driver(Driver())
    monkeypatch.setattr(device, "chosen_backend", lambda: backend)
    monkeypatch.setattr(device, "sees_gpu", lambda name: False)
    line = missed_gpu()
    assert "NVIDIA Test" in line and backend in line and extra in line and "\n" not in line


def test_no_device_no_driver_or_one_that_is_seen_is_no_line(with_driver, monkeypatch):
    for driver in (Driver(status=100), Driver(count=0)):
        with_driver(driver)
        assert missed_gpu() is None and nvidia_devices() == []
    with_driver(Driver())
    seen = SimpleNamespace(config=SimpleNamespace(list_physical_devices=lambda kind: ["GPU:0"]))
    monkeypatch.setitem(sys.modules, "tensorflow", seen)
    monkeypatch.setattr(device, "chosen_backend", lambda: "tensorflow")
    assert missed_gpu() is None
    known = describe_device("float32")
    assert known == {
        "backend": "tensorflow",
        "device": "NVIDIA Test",
        "memory_bytes": 80 * 2**30,
        "precision": "float32",
    }
    # The generation before Ampere.
    assert not has_bfloat16()
    assert device_line(known) == "Keras on tensorflow: NVIDIA Test, 80 GiB, float32"

    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert nvidia_devices() == []


@pytest.mark.parametrize(
    ("backend", "name", "value"),
    [("tensorflow", "TF_DETERMINISTIC_OPS", "1"), ("jax", "XLA_FLAGS", "--other --xla_gpu_deterministic_ops=true")],
)
def test_sums_in_any_order_are_told_until_the_backend_is_asked_for_one(monkeypatch, backend, name, value):
    monkeypatch.setattr(device, "chosen_backend", lambda: backend)
    monkeypatch.setattr(device, "sees_gpu", lambda name: True)
    monkeypatch.delenv(name, raising=False)
    line = unordered_sums()
    assert backend in line and name in line and "\n" not in line
    monkeypatch.setenv(name, value)
    assert unordered_sums() is None


def test_pytorch_has_no_such_order_and_a_processor_needs_none(monkeypatch):
    monkeypatch.setattr(device, "chosen_backend", lambda: "torch")
    assert unordered_sums() is None
    monkeypatch.setattr(device, "sees_gpu", lambda name: True)
    assert "torch" in unordered_sums()


def test_the_processor_is_named_where_there_is_no_device():
    assert has_bfloat16()
    known = describe_device("mixed_bfloat16")
    assert known["memory_bytes"] == machine_memory() > 2**28 and known["precision"] == "mixed_bfloat16"


@pytest.mark.parametrize(("there", "expected"), [(True, BFLOAT16), (False, FLOAT16)])
def test_mixed_is_what_the_device_has(monkeypatch, there, expected):
    monkeypatch.setattr("distill.system.device.has_bfloat16", lambda: there)
    assert [resolve_precision(name) for name in ("mixed", "float32", FLOAT16)] == [expected, "float32", FLOAT16]
    # What is recorded is what is computed in.
    assert describe_device("mixed")["precision"] == expected
