"""Checks the worker alone on a GPU, and prints a table.

    worker_check.py WORKER MODELS RECORDINGS OUT

RECORDINGS has traces of the same models that another program recorded on an H200,
with index.tsv: the worker must see the same events and the same peaks. MODELS gets
the TorchScript files. OUT gets results.json and the worker's own traces.
"""

import csv
import json
import os
import subprocess
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import reference_trace
import worker_client

ROOT = Path(__file__).resolve().parents[2]
GIB = 1 << 30
IMAGE = "float32[B,3,224,224]"
INPUTS = {"resnet50": [IMAGE], "vit": [IMAGE], "gpt2": ["int64[B,256]{0..50257}"]}
TORCH_NAMES = {"resnet50": "resnet50", "vit": "vit_b_16", "gpt2": "gpt2"}
# The recordings' modes in the worker's words.
MODES = {
    "infer": {"mode": "infer"},
    "sgd": {"mode": "train", "optimizer": "sgd-momentum"},
    "adam": {"mode": "train", "optimizer": "adam"},
}


def library_path():
    """The folders of this Python's torch and CUDA, as a worker needs them."""
    import importlib.util

    torch = Path(importlib.util.find_spec("torch").origin).parent
    return ":".join(str(folder) for folder in [torch / "lib", *torch.parent.glob("nvidia/*/lib")])


def make_models(folder):
    """Traces every model in both modes, and the tests' tiny ones, side by side."""
    script = str(ROOT / "scripts/trace_models.py")
    jobs = [[str(ROOT / "tests/cuda/worker/make_models.py"), str(folder / "tiny")]]
    for name, torch_name in TORCH_NAMES.items():
        jobs.append([script, torch_name, "--train", "-o", str(folder / f"{name}-train.pt")])
        jobs.append([script, torch_name, "-o", str(folder / f"{name}-eval.pt")])
    running = [subprocess.Popen([sys.executable, *job], stdout=subprocess.DEVNULL) for job in jobs]
    if any([process.wait() for process in running]):
        sys.exit("a model could not be made")


class Checks:
    def __init__(self, worker, models, recordings, out):
        self.worker, self.models, self.recordings, self.out = worker, models, recordings, out
        self.environment = dict(os.environ, LD_LIBRARY_PATH=library_path())
        self.results, self.failures = [], 0

    def run(self, model, mode, batch, **more):
        kind = "train" if MODES[mode]["mode"] == "train" else "eval"
        path = self.models / f"{model}-{kind}.pt"
        message = worker_client.request(path, INPUTS[model], batch, **MODES[mode], **more)
        return worker_client.run_trial(self.worker, message, self.environment)

    def note(self, good, text, **details):
        self.failures += not good
        self.results.append(dict(details, good=good, text=text))
        print("ok  " if good else "BAD ", text, flush=True)

    def attempt(self, check, *arguments, **more):
        """A check that breaks is a bad one; the others still run."""
        try:
            check(*arguments, **more)
        except (RuntimeError, OSError, LookupError, ValueError) as error:
            self.note(False, f"{arguments}: {error!r}")

    def compare_with_recording(self, row):
        outcome = self.run(row["model"], row["mode"], int(row["batch"]))
        report = outcome.report
        name = f"{row['model']} {row['mode']} {row['batch']}"
        if report["end"] != "ran":
            self.note(False, f"{name}: {report['end']} {report['message']}")
            return
        peaks = [max(span[kind] for span in [report["load_peaks"], *(step["peaks"] for step in report["steps"])])
                 for kind in ("requested", "allocated", "reserved")]
        expected = [int(row[f"peak_{kind}_bytes"]) for kind in ("requested", "allocated", "reserved")]
        ours = reference_trace.events_of_trace(outcome.trace)
        theirs = reference_trace.events_of_recording(self.recordings / row["file"])
        difference = reference_trace.first_difference(ours, theirs)
        reference_trace.write_text(outcome.trace, self.models / row["file"])
        self.note(difference is None, f"{name}: {len(theirs)} events equal" if difference is None
                  else f"{name}: event {difference[0]} of {len(theirs)} is {difference[1]}, recorded {difference[2]}")
        self.note(peaks == expected, f"{name}: peaks {peaks}, recorded {expected}", report=report)

    def keep_traces(self):
        """One file, since few come back."""
        with tarfile.open(self.out / "traces.tar", "w") as archive:
            for path in sorted(self.models.glob("*.tsv.xz")):
                archive.add(path, path.name)

    def expect(self, wanted, model, mode, batch, **more):
        start = time.monotonic()
        outcome = self.run(model, mode, batch, **more)
        report = outcome.report
        peaks = report["steps"][-1]["peaks"] if report["steps"] else report["load_peaks"]
        failed = sum(step["failed_requests"] for step in report["steps"])
        retries = sum(step["allocation_retries"] for step in report["steps"])
        good = report["end"] == wanted and report.get("cap") == more.get("cap")
        self.note(good, f"{model} {mode} {more.get('run_as', 'torchscript')} {batch}: {report['end']} "
                  f"reserved {peaks['reserved']} cap {report.get('cap')} failed {failed} retries {retries} "
                  f"{time.monotonic() - start:.1f} s {report['message'][:150]}", report=report, settled=outcome.settled)

    def tiny(self, wanted, model, inputs, batch, **more):
        start = time.monotonic()
        message = worker_client.request(self.models / "tiny" / f"{model}.pt", inputs, batch, **more)
        report = worker_client.run_trial(self.worker, message, self.environment).report
        self.note(report["end"] == wanted, f"{model} {inputs} {batch}: {report['end']} "
                  f"{time.monotonic() - start:.1f} s {report['message'][:200]!r}", report=report)

    def all(self):
        with open(self.recordings / "index.tsv") as file:
            rows = [row for row in csv.DictReader(file, delimiter="\t")
                    if (self.recordings / row["file"]).exists() and row["mode"] in MODES]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda row: self.attempt(self.compare_with_recording, row), rows))
        self.keep_traces()
        cap = {"cap": 16 * GIB}
        for _ in range(1):
            self.attempt(self.expect, "ran", "resnet50", "sgd", 192, **cap)
            self.attempt(self.expect, "out-of-memory", "resnet50", "sgd", 193, **cap)
            self.attempt(self.expect, "ran", "vit", "adam", 110, **cap)
            self.attempt(self.expect, "out-of-memory", "vit", "adam", 111, **cap)
        self.attempt(self.expect, "out-of-memory", "vit", "adam", 4000)
        self.attempt(self.tiny, "ran", "tokens", ["int64[B,16]{0..100}"], 8)
        self.attempt(self.tiny, "model-failed", "tokens", ["int64[B,16]{500..501}"], 8)
        self.attempt(self.tiny, "model-failed", "mlp", ["float64[B,64]"], 8)
        self.attempt(self.tiny, "shape-refused", "baked_batch", ["float32[B,16]"], 3)
        for batch in (192, 193):
            self.attempt(self.expect, "ran" if batch == 192 else "out-of-memory", "resnet50", "sgd", batch, run_as="eager", **cap)
        for batch in (117, 118, 119, 120):
            self.attempt(self.expect, "ran" if batch < 120 else "out-of-memory", "vit", "adam", batch, run_as="eager", **cap)


def main():
    worker, models, recordings, out = (Path(argument) for argument in sys.argv[1:5])
    start = time.monotonic()
    make_models(models)
    print(f"models made in {time.monotonic() - start:.0f} s", flush=True)
    checks = Checks(worker.resolve(), models, recordings, out)
    checks.all()
    (out / "results.json").write_text(json.dumps(checks.results, indent=1))
    print(f"{len(checks.results)} checks, {checks.failures} bad, {time.monotonic() - start:.0f} s")
    sys.exit(1 if checks.failures else 0)


if __name__ == "__main__":
    main()
