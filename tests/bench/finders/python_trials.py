"""What happens inside a fresh process: one finder's search, or one run of one batch."""

import importlib
import time

import devices
from training import Training, TrialLog, is_of_memory

RUN_STEPS = 5

# What each is called in the tables: the function that answers with a batch.
FINDERS = {
    "Lightning power": "lightning_finder.power",
    "Lightning binsearch": "lightning_finder.binsearch",
    "accelerate from 128": "accelerate_finder.default_start",
    "accelerate from 1024": "accelerate_finder.start_of_1024",
    "doubling and bisection": "plain_finders.doubling_and_bisection",
    "fit of small batches": "plain_finders.fit_of_small_batches",
}


def device_of(words):
    """("gpu", cap in bytes) or ("pretended", the largest batch that runs)."""
    kind, amount = words
    if kind == "pretended":
        return devices.PretendedGpu(amount)
    import torch

    torch.cuda.init()
    return devices.Gpu(amount)


def machine():
    """What it runs on; fails where a fork of the server cannot use the GPU."""
    import torch

    torch.cuda.init()
    return {"gpu": torch.cuda.get_device_name(), "total_bytes": torch.cuda.mem_get_info()[1],
            "torch": torch.__version__}


def function_of(finder):
    module, _, name = FINDERS[finder].rpartition(".")
    return getattr(importlib.import_module(module), name)


def find(finder, job, device_words):
    """The answer with its trials; `seconds` are from the call to its answer."""
    function = function_of(finder)
    device = device_of(device_words)
    log = TrialLog()
    ready = time.monotonic()
    answer = function(job, device, log)
    return {"answer": answer, "trials": log.trials, "trial_count": len(log.trials), "ooms": log.ooms(),
            "seconds": round(time.monotonic() - ready, 3), "ready_at": ready}


def run(batch, job, device_words):
    """How a few steps of `batch` end."""
    device = device_of(device_words)
    log = TrialLog()
    ready = time.monotonic()
    try:
        Training(job, device, log).trial(batch, RUN_STEPS)
    except RuntimeError as error:
        if not is_of_memory(error):
            raise
    return {"outcome": log.trials[-1][1], "seconds": round(time.monotonic() - ready, 3), "ready_at": ready}
