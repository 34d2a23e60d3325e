"""The GPU as the driver itself has it, and what the checks put on it.

`read_card` asks NVML without memplan, in bytes, for what nvidia-smi prints in MiB.
`Ballast` is a memplan-ballast that holds memory until it is let go.
"""

import ctypes
import dataclasses
import os
import re
import subprocess
import time

import gpu_models

MIB = 1 << 20
GIB = 1 << 30

_MOST_PROCESSES = 128
_NOT_AVAILABLE = (1 << 64) - 1


class _Memory(ctypes.Structure):  # nvmlMemory_v2_t
    _fields_ = [("version", ctypes.c_uint)] + [
        (name, ctypes.c_ulonglong) for name in ("total", "reserved", "free", "used")]


class _Process(ctypes.Structure):  # nvmlProcessInfo_t
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong),
                ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


@dataclasses.dataclass(frozen=True)
class Card:
    uuid: str
    total: int
    reserved: int
    used: int
    free: int
    processes: dict  # pid, as the driver numbers it: bytes, None if it does not say


class Nvml:
    """The driver's library, for the first device."""

    def __init__(self, library="libnvidia-ml.so.1"):
        self.library = ctypes.CDLL(library)
        self._call("nvmlInit_v2")
        self.device = ctypes.c_void_p()
        self._call("nvmlDeviceGetHandleByIndex_v2", 0, ctypes.byref(self.device))

    def _call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name} returned {code}")

    def read_card(self):
        uuid = ctypes.create_string_buffer(96)
        self._call("nvmlDeviceGetUUID", self.device, uuid, len(uuid))
        memory = _Memory(version=ctypes.sizeof(_Memory) | 2 << 24)
        self._call("nvmlDeviceGetMemoryInfo_v2", self.device, ctypes.byref(memory))
        count = ctypes.c_uint(_MOST_PROCESSES)
        found = (_Process * _MOST_PROCESSES)()
        self._call("nvmlDeviceGetComputeRunningProcesses_v3", self.device, ctypes.byref(count), found)
        processes = {process.pid: None if process.used == _NOT_AVAILABLE else process.used
                     for process in found[:count.value]}
        return Card(uuid.value.decode(), memory.total, memory.reserved, memory.used, memory.free,
                    processes)


def nvidia_smi(query, table="gpu"):
    """The rows of one of nvidia-smi's tables, each a list of words, amounts in MiB."""
    out = subprocess.run(["nvidia-smi", f"--query-{table}={query}", "--format=csv,noheader,nounits"],
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    return [[word.strip() for word in line.split(",")] for line in out.splitlines() if line.strip()]


class Ballast:
    """Memory of the GPU that is held until `let_go`; also as a context."""

    def __init__(self, programs, *arguments):
        environment = {**os.environ, "LD_LIBRARY_PATH": gpu_models.library_path()}
        self.process = subprocess.Popen([programs / "memplan-ballast", *arguments], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        told = re.match(r"holding (\d+) bytes, (\d+) free", self.process.stdout.readline())
        if not told:
            self.let_go()
            raise RuntimeError(f"memplan-ballast {' '.join(arguments)} holds nothing")
        self.held, self.left = (int(number) for number in told.groups())

    def let_go(self):
        self.process.stdin.close()
        return self.process.wait(timeout=30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.let_go()


def wait_until(condition, what, patience=30):
    """What `condition` returns once that is true."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    raise RuntimeError(f"waited {patience} s in vain for {what}")
