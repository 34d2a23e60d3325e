"""Checks the worker alone on a GPU, and prints a line for each check.

    worker_check.py PROGRAMS MODELS RECORDINGS OUT

RECORDINGS, which may be missing, has traces of the same models that another program
recorded on an H200, with index.tsv: the worker must see the same events and the
same peaks. OUT gets worker.json and the worker's own traces.
"""

import csv
import json
import os
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gpu_models
import reference_trace
import worker_client

GIB = 1 << 30
KINDS = ("requested", "allocated", "reserved")
# The recordings' modes in the worker's words.
MODES = {
    "infer": {"mode": "infer"},
    "sgd": {"mode": "train", "optimizer": "sgd-momentum"},
    "adam": {"mode": "train", "optimizer": "adam"},
}


class Checks:
    def __init__(self, worker, models, recordings, out):
        self.worker, self.models, self.recordings, self.out = worker, models, recordings, out
        self.environment = dict(os.environ, LD_LIBRARY_PATH=gpu_models.library_path())
        self.results, self.bad = [], 0

    def run(self, path, inputs, batch, **more):
        message = worker_client.request(path, inputs, batch, **more)
        return worker_client.run_trial(self.worker, message, self.environment)

    def run_model(self, model, mode, batch, **more):
        path = gpu_models.path_of(self.models, model, mode != "infer")
        return self.run(path, gpu_models.INPUTS[model], batch, **MODES[mode], **more)

    def note(self, good, text, report=None):
        self.bad += not good
        self.results.append({"good": good, "text": text, "report": report})
        print("ok  " if good else "BAD ", text, flush=True)

    def attempt(self, check, *arguments, **more):
        """A check that breaks is a bad one; the others still run."""
        try:
            check(*arguments, **more)
        except (RuntimeError, OSError, LookupError, ValueError) as error:
            self.note(False, f"{arguments}: {error!r}")

    def compare_with_recording(self, row):
        name = f"{row['model']} {row['mode']} {row['batch']}"
        outcome = self.run_model(row["model"], row["mode"], int(row["batch"]))
        reference_trace.write_text(outcome.trace, self.out / row["file"])
        ours = reference_trace.events_of_trace(outcome.trace)
        theirs = reference_trace.events_of_recording(self.recordings / row["file"])
        difference = reference_trace.first_difference(ours, theirs)
        if difference is None:
            self.note(True, f"{name}: {len(theirs)} events equal")
        else:
            index, mine, other = difference
            self.note(False, f"{name}: event {index} of {len(theirs)} is {mine}, recorded {other}")
        report = outcome.report
        spans = [report["load_peaks"], *(step["peaks"] for step in report["steps"])]
        peaks = [max(span[kind] for span in spans) for kind in KINDS]
        recorded = [int(row[f"peak_{kind}_bytes"]) for kind in KINDS]
        self.note(peaks == recorded, f"{name}: peaks {peaks}, recorded {recorded}", report)

    def compare_with_recordings(self):
        with open(self.recordings / "index.tsv") as file:
            rows = [row for row in csv.DictReader(file, delimiter="\t")
                    if (self.recordings / row["file"]).exists()
                    and row["mode"] in MODES and gpu_models.available(row["model"])]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda row: self.attempt(self.compare_with_recording, row), rows))
        with tarfile.open(self.out / "traces.tar", "w") as archive:
            for path in sorted(self.out.glob("*.tsv.xz")):
                archive.add(path, path.name)
                path.unlink()

    def check_cap(self, wanted, model, mode, batch, cap=None, **more):
        start = time.monotonic()
        report = self.run_model(model, mode, batch, **({"cap": cap} if cap else {}), **more).report
        peaks = (report["steps"] or [{"peaks": report["load_peaks"]}])[-1]["peaks"]
        retries = sum(step["allocation_retries"] for step in report["steps"])
        good = report["end"] == wanted and report.get("cap") == cap
        self.note(good, f"{model} {mode} as {more.get('run_as', 'torchscript')} at {batch}: {report['end']}, "
                  f"cap {report.get('cap')}, last step reserved {peaks['reserved']}, retries {retries}, "
                  f"{time.monotonic() - start:.1f} s", report)

    def check_ending(self, wanted, words, model, inputs, batch):
        report = self.run(self.models / "tiny" / f"{model}.pt", inputs, batch).report
        self.note(report["end"] == wanted and words in report["message"],
                  f"{model} {inputs[0]} at {batch}: {report['end']} {report['message'][:100]!r}", report)

    def all(self):
        if self.recordings.is_dir():
            self.compare_with_recordings()
        # Under 16 GiB the largest batches were found by hand before.
        for _ in range(3):
            for wanted, resnet50, vit in (("ran", 192, 110), ("out-of-memory", 193, 111)):
                self.attempt(self.check_cap, wanted, "resnet50", "sgd", resnet50, cap=16 * GIB)
                self.attempt(self.check_cap, wanted, "vit", "adam", vit, cap=16 * GIB)
        self.attempt(self.check_cap, "out-of-memory", "vit", "adam", 4000)
        self.attempt(self.check_ending, "ran", "", "tokens", ["int64[B,16]{0..100}"], 8)
        # The device asserts: all that the process does on it fails from then on.
        self.attempt(self.check_ending, "model-failed", "device-side assert",
                     "tokens", ["int64[B,16]{500..501}"], 8)
        self.attempt(self.check_ending, "model-failed", "same dtype", "mlp", ["float64[B,64]"], 8)
        self.attempt(self.check_ending, "shape-refused", "shape '[2, 16]'",
                     "baked_batch", ["float32[B,16]"], 3)


def main():
    programs, models, recordings, out = (Path(argument).resolve() for argument in sys.argv[1:5])
    start = time.monotonic()
    checks = Checks(programs / "memplan-worker", models, recordings, out)
    checks.all()
    (out / "worker.json").write_text(json.dumps(checks.results, indent=1))
    print(f"{len(checks.results)} checks of the worker, {checks.bad} bad, {time.monotonic() - start:.0f} s")
    sys.exit(1 if checks.bad else 0)


if __name__ == "__main__":
    main()
