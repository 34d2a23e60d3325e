#!/usr/bin/env python3
"""Trains a model in eager Python as its user would, and says what the allocator saw.

    python_training.py MODEL MODE BATCH[,BATCH...] [--cap BYTES] [--steps N] [--device cuda|cpu]

MODEL and MODE are those of python_modes.py. Prints one JSON line a batch, in order: how it
ended, peaks of the whole and of each phase, under the names that traces of memplan-worker
have. All batches run in this process, each with a model of its own; `left` is what the
allocator still held of the one before. On cpu there are no peaks.
"""

import argparse
import gc
import json
import sys
import time
from pathlib import Path

import torch

from python_modes import MODES

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import gpu_models  # noqa: E402
import trace_models  # noqa: E402
from memory_fraction import fraction_for  # noqa: E402

KINDS = ("requested", "allocated", "active", "reserved")
TOKENS, VOCABULARY = 256, 50257
LEARNING_RATE = 1e-3  # small, so that weights stay finite on random inputs


class Phases:
    """Peaks of each phase; nothing on the CPU."""

    def __init__(self, device):
        self.on_gpu = device == "cuda"
        self.peaks = {}
        self.name = None
        self.parameters = 0  # tensors of the model

    def begin(self, name):
        self.end()
        self.name = name

    def end(self):
        if self.name and self.on_gpu:
            stats = torch.cuda.memory_stats()
            self.peaks[self.name] = {kind: stats[f"{kind}_bytes.all.peak"] for kind in KINDS}
            torch.cuda.reset_peak_memory_stats()
        self.name = None

    def whole(self):
        return {kind: max(peaks[kind] for peaks in self.peaks.values())
                for kind in KINDS} if self.peaks else None


class Training:
    def __init__(self, model, mode, device, phases):
        self.name, self.mode, self.device, self.phases = model, MODES[mode], device, phases
        phases.begin("load")
        module, _ = trace_models.MODELS[gpu_models.TORCH_NAMES[model]]()
        self.model = module.train().to(device)
        phases.parameters = sum(1 for _ in self.model.parameters())
        self.optimizer = self.mode.optimizer(self.model.parameters(), LEARNING_RATE)

    def data(self, batch):
        if self.name == "gpt2-causal":
            return torch.randint(0, VOCABULARY, (batch, TOKENS), device=self.device)
        return torch.randn(batch, 3, 224, 224, device=self.device)

    def loss(self, inputs):
        output = self.model(inputs)
        if isinstance(output, tuple):
            output = output[0]
        return output.float().pow(2).mean()

    def run_step(self, number, batch):
        phase = f"step{number}"
        self.phases.begin(phase)
        for micro in range(self.mode.accumulate):
            inputs = loss = None  # noqa: F841  what was held goes first
            part = f"{phase}/micro{micro}" if micro else phase
            if micro:
                self.phases.begin(part)
            inputs = self.data(batch)
            if micro == 0:
                self.optimizer.zero_grad(set_to_none=True)
            self.phases.begin(f"{part}/forward")
            with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.mode.autocast):
                loss = self.loss(inputs)
                if self.mode.accumulate > 1:
                    loss = loss / self.mode.accumulate
            self.phases.begin(f"{part}/backward")
            loss.backward()
        self.phases.begin(f"{phase}/optimizer")
        self.optimizer.step()
        if self.device == "cuda":
            torch.cuda.synchronize()


def settle(device):
    """Gives back what a batch before left; returns what is still held."""
    gc.collect()
    if device != "cuda":
        return {}
    torch.cuda.synchronize()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    stats = torch.cuda.memory_stats()
    # torch has no statistics before the first request.
    return {kind: stats.get(f"{kind}_bytes.all.current", 0) for kind in KINDS}


def is_out_of_memory(error):
    """Of torch's own error, and of a library's that got no memory."""
    return isinstance(error, torch.OutOfMemoryError) or "ALLOC_FAILED" in str(error)


def train(options, batch):
    """`ran` or `out_of_memory`, and the phases. In a function of its own: the model goes
    with it."""
    phases = Phases(options.device)
    try:
        training = Training(options.model, options.mode, options.device, phases)
        for number in range(options.steps):
            training.run_step(number, batch)
        phases.end()
        return "ran", phases
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        failed_in = phases.name
        phases.end()
        return f"out_of_memory in {failed_in}", phases


def run(options, batch):
    left = settle(options.device)
    begin = time.monotonic()
    end, phases = train(options, batch)
    return {"model": options.model, "mode": options.mode, "batch": batch, "cap": options.cap,
            "end": end.split()[0], "failed_in": end.partition(" in ")[2], "left": left,
            "peaks": phases.whole(), "phases": phases.peaks, "parameters": phases.parameters,
            "seconds": round(time.monotonic() - begin, 3), "torch": torch.__version__}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=sorted(gpu_models.TORCH_NAMES))
    parser.add_argument("mode", choices=sorted(MODES))
    parser.add_argument("batches", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--cap", type=int)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options = parser.parse_args()
    if options.cap and options.device == "cuda":
        total = torch.cuda.mem_get_info()[1]
        torch.cuda.set_per_process_memory_fraction(fraction_for(options.cap, total))
    for batch in options.batches:
        print(json.dumps(run(options, batch)), flush=True)


if __name__ == "__main__":
    main()
