"""How busy an NVIDIA device is, by its driver's library (NVML), and the most that it can compute."""

import ctypes
import threading
import time

LIBRARY = "libnvidia-ml.so.1"
# Products of bfloat16 a second without sparsity, by what a device's name holds; the makers' figures.
PEAKS = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "L40S": 362e12, "L4": 121e12}


class Rates(ctypes.Structure):
    """NVML's shares of the last moment in which the device and its memory were busy, in per cent."""

    _fields_ = (("device", ctypes.c_uint), ("memory", ctypes.c_uint))


class DeviceLoad:
    """Notes in a thread, ten times a second, how busy the first device is; nothing without a driver.

    Attributes:
        seen: The times (`time.perf_counter`) and the shares.
    """

    def __init__(self):
        self.seen, self.stopped = [], threading.Event()
        self.library, self.device = None, ctypes.c_void_p()
        try:
            self.library = ctypes.CDLL(LIBRARY)
        except OSError:
            return
        if self.library.nvmlInit_v2() or self.library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.device)):
            self.library = None
            return
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        """Note the share until stopped."""
        rates = Rates()
        while not self.stopped.wait(0.1):
            if self.library.nvmlDeviceGetUtilizationRates(self.device, ctypes.byref(rates)) == 0:
                self.seen.append((time.perf_counter(), rates.device / 100))

    def busy(self, begin, end):
        """Stop, and return the mean share between two times, or None if nothing was seen."""
        self.stopped.set()
        shares = [share for at, share in self.seen if begin <= at <= end]
        return round(sum(shares) / len(shares), 3) if shares else None


def peak_of(device):
    """Return the products of bfloat16 that a device computes a second, or None if its name is not known."""
    return next((peak for name, peak in PEAKS.items() if name in device), None)
