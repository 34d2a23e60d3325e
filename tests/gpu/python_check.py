#!/usr/bin/env python3
"""Checks memplan against eager Python training on the same card.

    python_check.py PROGRAMS MODELS OUT [--cells LIST] [--known FILE] [--seconds N] [--dry-run]

LIST is `all`, or cells with commas between. `vit:adam-foreach` trains two batches in Python
and under `memplan profile`: requested peaks must be within 64 bytes, reserved ones within
0.5 %. Workers run libtorch's optimizer: where Python's takes more for a moment, the rest of
the step must agree, and Python's peaks are compared with what a probe foretells.
`vit:adam-foreach:16` probes under a cap of 16 GiB: Python must run the answer and fail at
one more, each in a fresh process. OUT/python.jsonl gets a line a cell; cells that FILE has
are not run again, and none begins after N seconds. A dry run trains one sample on the CPU,
without memplan. Exits with 1 if a check does not hold.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import gpu_models
from check_report import Report
from daemon_process import DaemonProcess
from python_comparison import (OTHER_OPTIMIZERS, RESERVED_TOLERANCE, compare, peaks_of, phases_of,
                               words_of)
from python_modes import MODES

CAP_GIB = 16
BATCHES = {"resnet50": (8, 96), "vit": (8, 64), "convnext": (8, 64), "gpt2-causal": (8, 32)}
PEAKS = [f"{model}:{mode}" for mode in ("sgd", "adam-loop", "adam-foreach", "adam-fused",
                                        "adamw-bf16", "sgd-accumulate")
         for model in BATCHES]
# The answers that Python gave: docs/design.md and docs/measurements.md.
ANSWERS = {"vit:adam-foreach:16": 119, "vit:adam-bf16:8": 101, "resnet50:adam-bf16:8": 180}
CELL = re.compile(rf"({'|'.join(BATCHES)}):({'|'.join(MODES)})(:[1-9]\d*)?")
PYTHONS_AT_ONCE = 3
PYTHON_PATIENCE = 180  # seconds
# On an H200: what memplan takes meanwhile; Python runs beside it.
SECONDS = {"peaks": 5, "foretold": 5, "answer": 16, "start": 10}


def cells_of(text):
    cells = [*ANSWERS, *PEAKS] if text == "all" else text.split(",")
    for cell in cells:
        if not CELL.fullmatch(cell):
            raise argparse.ArgumentTypeError(
                f"{cell} is no cell: model:mode or model:mode:GiB, models {', '.join(BATCHES)}, "
                f"modes {', '.join(MODES)}")
    return cells


def estimate_of(cells):
    """Seconds on an H200, models aside."""
    parts = [SECONDS["answer"] if cell.count(":") == 2 else
             SECONDS["peaks"] + SECONDS["foretold"] * (cell.split(":")[1] in OTHER_OPTIMIZERS)
             for cell in cells]
    return SECONDS["start"] + sum(parts)


def train_in_python(model, mode, batches, cap_gib, *more):
    """What python_training.py says of each batch, by batch."""
    script = Path(__file__).with_name("python_training.py")
    command = [sys.executable, script, model, mode, ",".join(map(str, batches)),
               "--cap", str(cap_gib << 30), *more]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=PYTHON_PATIENCE)
    if done.returncode != 0:
        raise RuntimeError(f"Python's {model} {mode} ended with {done.returncode}:\n"
                           f"{done.stderr[-1000:]}")
    return {entry["batch"]: entry for entry in map(json.loads, done.stdout.splitlines())}


class PythonCheck:
    def __init__(self, options):
        self.options = options
        self.report = Report(options.out)

    def cli(self, *arguments):
        command = [self.options.programs / "memplan", *map(str, arguments),
                   "--address", self.daemon.address, "--output", "json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode not in (0, 4):
            raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stderr}")
        return json.loads(done.stdout)

    def arguments(self, model, mode, cap_gib):
        return [gpu_models.path_of(self.options.models, model, True), "--input",
                *gpu_models.INPUTS[model], *MODES[mode].flags, "--run-as", "eager",
                "--cap", f"{cap_gib}GiB", "--device", "gpu"]

    def phases(self, probe, batch):
        """Of memplan's trial of `batch`, from its trace."""
        number = next(trial["number"] for trial in probe["trials"]
                      if int(trial["batch"]) == batch)
        trace = self.daemon.folder / "store/traces" / probe["id"] / f"{number}.trace"
        # What is asked for does not depend on where segments lie.
        return phases_of(self.cli("replay", trace, "--addresses", "chunks"))

    def foretell(self, model, mode, batch, python):
        """What a probe that goes no further foretells of `batch`, beside Python's."""
        plan = self.cli("probe", *self.arguments(model, mode, CAP_GIB),
                        "--max-batch", batch)["plan"]
        safe = plan.get("prediction", {}).get("safe")
        if not safe or int(safe["batch"]) != batch:
            return {"holds": False, "why": plan["fall_back_reason"] or "not foretold"}
        seen = {kind: int(safe[f"{kind}_bytes"]) / python["peaks"][kind] - 1
                for kind in ("allocated", "reserved")}
        return {"holds": all(abs(ratio) <= RESERVED_TOLERANCE for ratio in seen.values()),
                "why": ", ".join(f"{kind} {100 * ratio:+.3f} %" for kind, ratio in seen.items()),
                **{kind: int(safe[f"{kind}_bytes"]) for kind in seen}}

    def check_peaks(self, cell, python_runs):
        model, mode = cell.split(":")
        batches = BATCHES[model]
        probe = self.cli("profile", *self.arguments(model, mode, CAP_GIB),
                         "--batches", ",".join(map(str, batches)))
        python = python_runs.result()
        line = {"cell": cell, "batches": {}}
        for trial in probe["trials"]:
            batch = int(trial["batch"])
            if (python[batch]["end"], trial["outcome"]) != ("ran", "TRIAL_OUTCOME_FITS"):
                raise RuntimeError(f"{cell} at {batch}: Python {python[batch]['end']}, memplan "
                                   f"{trial['outcome']}")
            line["batches"][batch] = compare(mode, python[batch], peaks_of(trial),
                                             partial(self.phases, probe, batch))
        if mode in OTHER_OPTIMIZERS:
            line["foretold"] = self.foretell(model, mode, batches[-1], python[batches[-1]])
        return line

    def tell_peaks(self, line):
        words = [words_of(batch, seen) for batch, seen in line["batches"].items()]
        parts = list(line["batches"].values())
        if "foretold" in line:
            words.append(f"foretold {line['foretold']['why']}")
            parts.append(line["foretold"])
        self.report.check(line["cell"], all(part["holds"] for part in parts), "; ".join(words))

    def check_answer(self, cell, pool):
        model, mode, cap = cell.split(":")
        begin = time.monotonic()
        plan = self.cli("probe", *self.arguments(model, mode, int(cap)),
                        "--method", "auto")["plan"]
        seconds = time.monotonic() - begin
        batch = int(plan["safe_batch"])
        expected = ANSWERS.get(cell, batch)
        wanted = sorted({batch, batch + 1, expected, expected + 1})
        runs = {number: pool.submit(train_in_python, model, mode, [number], int(cap))
                for number in wanted}
        python = {number: run.result()[number] for number, run in runs.items()}
        return {"cell": cell, "batch": batch, "expected": expected,
                "method": plan["method"].removeprefix("PLAN_METHOD_").lower(),
                "fall_back": plan["fall_back_reason"], "trials": plan["trial_count"],
                "seconds": round(seconds, 2), "foretold": plan.get("prediction", {}).get("safe"),
                "python": {number: {key: entry[key] for key in ("end", "failed_in", "peaks")}
                           for number, entry in python.items()}}

    def tell_answer(self, line):
        batch, ends = line["batch"], {n: entry["end"] for n, entry in line["python"].items()}
        holds = (batch == line["expected"] and ends[batch] == "ran"
                 and ends[batch + 1] == "out_of_memory")
        self.report.check(
            f"{line['cell']}: Python runs {batch} and fails at {batch + 1}", holds,
            f"Python {ends}, expected {line['expected']}, {line['method']} in {line['trials']} "
            f"trials and {line['seconds']} s {line['fall_back']}")

    def run_cells(self, cells, file, deadline):
        with ThreadPoolExecutor(PYTHONS_AT_ONCE) as pool:
            python = {}
            for index, cell in enumerate(cells):
                if time.monotonic() >= deadline:
                    self.report.note(f"no time left for {', '.join(cells[index:])}")
                    break
                # Python of the next cells trains while memplan runs this one.
                for ahead in cells[index:index + PYTHONS_AT_ONCE]:
                    if ahead.count(":") == 1 and ahead not in python:
                        model, mode = ahead.split(":")
                        python[ahead] = pool.submit(train_in_python, model, mode, BATCHES[model],
                                                    CAP_GIB)
                self.attempt(cell, python.get(cell), pool, file)

    def attempt(self, cell, python, pool, file):
        """A cell that breaks is a bad one; the others still run."""
        try:
            if python is None:
                line = self.check_answer(cell, pool)
            else:
                line = self.check_peaks(cell, python)
        except Exception as error:
            self.report.check(cell, False, str(error)[:1500])
            return
        file.write(json.dumps(line) + "\n")
        file.flush()
        (self.tell_answer if python is None else self.tell_peaks)(line)

    def run(self, cells):
        deadline = time.monotonic() + self.options.seconds
        self.report.machine()
        self.report.note(f"{len(cells)} cells, about {estimate_of(cells)} s")
        with tempfile.TemporaryDirectory() as folder:
            self.daemon = DaemonProcess(self.options.programs, Path(folder),
                                        gpu_models.library_path())
            self.daemon.start()
            try:
                for model in sorted({cell.split(":")[0] for cell in cells}):
                    self.cli("models", "upload",
                             gpu_models.path_of(self.options.models, model, True))
                with open(self.options.out / "python.jsonl", "a") as file:
                    self.run_cells(cells, file, deadline)
            finally:
                (self.options.out / "server.log").write_bytes(self.daemon.log.read_bytes())
                self.daemon.kill()
        return self.report.finish()


def dry_run(cells):
    """Each cell's Python, with one sample for one step on the CPU."""
    print(f"{len(cells)} cells, about {estimate_of(cells)} s")
    for cell in cells:
        model, mode, *cap = cell.split(":")
        entry = train_in_python(model, mode, [1], int(*cap or [CAP_GIB]), "--steps", "1",
                                "--device", "cpu")[1]
        print(f"{cell}: {entry['end']} in {entry['seconds']} s; memplan would be told "
              f"{' '.join(MODES[mode].flags)}")
    return 0


def main():
    parser = argparse.ArgumentParser()
    for name in ("programs", "models", "out"):
        parser.add_argument(name, type=lambda text: Path(text).resolve())
    parser.add_argument("--cells", type=cells_of, default="all")
    parser.add_argument("--known", type=Path)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    known = set()
    if options.known and options.known.exists():
        known = {json.loads(line)["cell"] for line in options.known.read_text().splitlines()}
    cells = [cell for cell in options.cells
             if cell not in known and gpu_models.available(cell.split(":")[0])]
    return dry_run(cells) if options.dry_run else PythonCheck(options).run(cells)


if __name__ == "__main__":
    sys.exit(main())
