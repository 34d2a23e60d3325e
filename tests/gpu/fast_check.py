#!/usr/bin/env python3
"""Checks the fast probe on a GPU: answers, trials, seconds, and what proves them.

    fast_check.py PROGRAMS MODELS OUT [--cells LIST] [--known FILE] [--seconds N]

LIST is `headline`, `all`, or cells as `model:mode:cap` with commas between, such as
resnet50:sgd:16. Each cell is one probe with `--method predict`, then each of N and N+1
alone in a fresh process. OUT/cells.jsonl gets a line a cell; cells that FILE has are
not run again, and none begins after N seconds. Exits with 1 if an answer does not hold.
"""

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import foretold
import gpu_models
from check_report import Report
from daemon_process import DaemonProcess

MODES = {
    "sgd": ["--train", "sgd-momentum"],
    "adam": ["--train", "adam"],
    "adamw-bf16": ["--train", "adamw", "--autocast", "bf16"],
    "adam-bf16": ["--train", "adam", "--autocast", "bf16"],
    "infer": ["--infer"],
    "infer-bf16": ["--infer", "--autocast", "bf16"],
}


def trains(mode):
    return not mode.startswith("infer")


# model, mode, cap in GiB, run as, the true answer where it is known
HEADLINE = [
    ("resnet50", "sgd", 16, "torchscript", 192),
    ("vit", "adam", 16, "torchscript", 110),
    ("vit", "adam", 16, "eager", None),
]
ALL = [(model, mode, cap, "eager" if trains(mode) else "torchscript", None)
       for cap in (8, 16, 40) for model in ("resnet50", "vit", "gpt2")
       for mode in ("sgd", "adam", "adamw-bf16", "infer")]


def cells_of(text):
    if text in ("headline", "all"):
        return HEADLINE if text == "headline" else ALL
    cells = []
    for word in text.split(","):
        model, mode, cap, *run_as = word.split(":")
        cells.append((model, mode, int(cap), run_as[0] if run_as else
                      "eager" if trains(mode) else "torchscript", None))
    return cells


def key_of(model, mode, cap, run_as):
    return f"{model}:{mode}:{cap}:{run_as}"


def seconds_of(probe):
    """From CreateProbe to the answer, as the daemon's clock has it."""
    begin, end = (datetime.datetime.fromisoformat(probe[name]) for name in ("create_time", "end_time"))
    return (end - begin).total_seconds()


def outcome_of(trial):
    return trial["outcome"].removeprefix("TRIAL_OUTCOME_").lower()


class FastCheck:
    def __init__(self, programs, models, out):
        self.programs, self.models, self.out = programs, models, out
        self.report = Report(out)

    def cli(self, *arguments):
        command = [self.programs / "memplan", *map(str, arguments),
                   "--address", self.daemon.address, "--output", "json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode not in (0, 4):
            raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stderr}")
        return json.loads(done.stdout)

    def arguments(self, model, mode, cap, run_as):
        return [gpu_models.path_of(self.models, model, trains(mode)), "--input",
                *gpu_models.INPUTS[model], *MODES[mode], "--run-as", run_as,
                "--cap", f"{cap}GiB", "--device", "gpu"]

    def prove(self, model, mode, cap, run_as, batch):
        """How each of N and N+1 ends, alone in a fresh process."""
        probe = self.cli("profile", *self.arguments(model, mode, cap, run_as),
                         "--batches", f"{batch},{batch + 1}")
        return {trial["batch"]: trial for trial in probe["trials"]}

    def check_cell(self, model, mode, cap, run_as, expected, file):
        name = key_of(model, mode, cap, run_as)
        begin = time.monotonic()
        probe = self.cli("probe", *self.arguments(model, mode, cap, run_as),
                         "--method", "predict")
        seconds = time.monotonic() - begin
        plan, trials = probe["plan"], probe["trials"]
        batch = int(plan["safe_batch"])
        proof = self.prove(model, mode, cap, run_as, batch)
        ends = {number: outcome_of(trial) for number, trial in proof.items()}
        holds = ends[str(batch)] == "fits" and ends[str(batch + 1)] == "out_of_memory"
        peaks = proof[str(batch)]["peaks"]
        predicted, interval = foretold.of_probe(self.daemon.log, probe["id"], batch)
        line = {"cell": name, "batch": batch, "verified": plan["verified"],
                "trials": [[trial["batch"], trial["purpose"].removeprefix("TRIAL_PURPOSE_").lower(),
                            outcome_of(trial), trial["duration"]] for trial in trials],
                "ooms": int(plan["out_of_memory_count"]), "seconds": round(seconds, 3),
                "from_create": round(seconds_of(probe), 3),
                "method": plan["method"].removeprefix("PLAN_METHOD_").lower(),
                "fall_back": plan["fall_back_reason"], "proof": ends,
                "allocated": int(peaks["allocated_bytes"]),
                "reserved": int(peaks["reserved_bytes"]),
                "predicted": predicted, "interval": interval,
                "comfortable": int(plan.get("prediction", {}).get("comfortable", {})
                                   .get("batch", 0))}
        file.write(json.dumps(line) + "\n")
        file.flush()
        self.report.check(
            f"{name}: {batch} runs, {batch + 1} does not", holds and expected in (None, batch),
            f"{len(trials)} trials, {line['ooms']} OOMs, {line['from_create']:.2f} s of "
            f"{seconds:.2f}, {line['trials']}")

    def check_second(self):
        """A known model at another cap."""
        self.cli("probe", *self.arguments("resnet50", "sgd", 16, "torchscript"),
                 "--method", "predict")
        begin = time.monotonic()
        probe = self.cli("probe", *self.arguments("resnet50", "sgd", 12, "torchscript"),
                         "--method", "predict")
        self.report.check("a known model at another cap takes one trial",
                          len(probe["trials"]) == 1,
                          f"{len(probe['trials'])} trials, {time.monotonic() - begin:.2f} s, "
                          f"batch {probe['plan']['safe_batch']}")

    def attempt(self, check, *arguments):
        try:
            check(*arguments)
        except Exception as error:  # the other cells go on
            self.report.check(f"{check.__name__} {arguments[:4]}", False, str(error)[:1500])

    def run_cells(self, cells, file, deadline):
        """In a daemon of their own, which knows nothing of others."""
        with tempfile.TemporaryDirectory() as folder:
            self.daemon = DaemonProcess(self.programs, Path(folder), gpu_models.library_path())
            self.daemon.start()
            try:
                for name in sorted({(cell[0], trains(cell[1])) for cell in cells}):
                    self.cli("models", "upload", gpu_models.path_of(self.models, *name))
                for *cell, expected in cells:
                    if time.monotonic() < deadline:
                        self.attempt(self.check_cell, *cell, expected, file)
                    else:
                        self.report.note(f"no time left for {key_of(*cell)}")
                if any(cell in HEADLINE[:1] for cell in cells):
                    self.attempt(self.check_second)
                with open(self.out / "server.log", "a") as log:
                    log.write(self.daemon.log.read_text())
            finally:
                self.daemon.kill()

    def run(self, cells, seconds):
        deadline = time.monotonic() + seconds
        self.report.machine()
        with open(self.out / "cells.jsonl", "a") as file:
            for cap in sorted({cell[2] for cell in cells}):
                self.run_cells([cell for cell in cells if cell[2] == cap], file, deadline)
        return self.report.finish()


def main():
    parser = argparse.ArgumentParser()
    for name in ("programs", "models", "out"):
        parser.add_argument(name, type=lambda text: Path(text).resolve())
    parser.add_argument("--cells", default="headline")
    parser.add_argument("--known", type=Path)
    parser.add_argument("--seconds", type=float, default=3600)
    options = parser.parse_args()
    known = set()
    if options.known and options.known.exists():
        known = {json.loads(line)["cell"] for line in options.known.read_text().splitlines()}
    cells = [cell for cell in cells_of(options.cells) if key_of(*cell[:4]) not in known]
    return FastCheck(options.programs, options.models, options.out).run(cells, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
