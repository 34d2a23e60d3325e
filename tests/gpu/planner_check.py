"""Checks replay and estimates against what this GPU shows now.

    planner_check.py PROGRAMS MODELS OUT

Profiles each model at a few batches through the daemon, then replays each trace that
the trials left: its peaks must be the trial's, to the byte. From two small batches it
estimates a large one, which was run too. And it records one program with and without
signatures: what the allocator was asked must be the same. OUT gets planner.json and a
trace with signatures of each program at two batches.
"""

import json
import lzma
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gpu_models
import reference_trace
import worker_client
from check_report import Report
from daemon_process import DaemonProcess

# model, mode on the command line, run as
PROGRAMS = [
    ("resnet50", ["--train", "sgd-momentum"], "eager"),
    ("resnet50", ["--train", "adam"], "torchscript"),
    ("vit", ["--train", "adam"], "eager"),
    ("vit", ["--infer"], "torchscript"),
    ("gpt2", ["--train", "adam"], "eager"),
]
SMALL, LARGE = (16, 32), 96


class PlannerCheck:
    def __init__(self, programs, models, out):
        self.programs, self.models, self.out = programs, models, out
        self.report = Report(out)

    def cli(self, *arguments):
        command = [self.programs / "memplan", *map(str, arguments),
                   "--address", self.daemon.address, "--output", "json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stderr}")
        return json.loads(done.stdout)

    def profile(self, model, mode, run_as):
        """Trials by batch, and their traces."""
        batches = [*SMALL, LARGE]
        probe = self.cli("profile", gpu_models.path_of(self.models, model, mode != ["--infer"]),
                         "--input", *gpu_models.INPUTS[model], *mode, "--run-as", run_as,
                         "--device", "gpu", "--batches", ",".join(map(str, batches)))
        traces = sorted(path for path in self.folder.glob(f"store/**/{probe['id']}*/**/*")
                        if path.is_file())
        if len(traces) != len(batches):
            raise RuntimeError(f"{len(traces)} traces of {len(batches)} trials: {traces}")
        return dict(zip(batches, probe["trials"])), dict(zip(batches, traces))

    def check_replay(self, name, trial, trace):
        replay = self.cli("replay", trace)
        wanted = {kind: trial["peaks"][f"{kind}_bytes"]
                  for kind in ("requested", "allocated", "active", "reserved")}
        got = {kind: replay[f"peak_{kind}_bytes"] for kind in wanted}
        self.report.check(f"{name} replays to the byte", got == wanted and replay["ends"] == "ok",
                          f"{got['reserved']} reserved, {replay['events']} events")

    def check_estimate(self, name, trial, traces):
        begin = time.monotonic()
        estimate = self.cli("estimate", *(word for batch in SMALL
                                          for word in ("--trace", f"{batch}={traces[batch]}")),
                            "--batch", LARGE)
        seconds = time.monotonic() - begin
        said, good = [], True
        for kind in ("requested", "allocated", "reserved"):
            truth = int(trial["peaks"][f"{kind}_bytes"])
            guess = int(estimate[f"peak_{kind}_bytes"])
            bounds = estimate["interval"][f"peak_{kind}_bytes"]
            good = good and int(bounds["lower_bytes"]) <= truth <= int(bounds["upper_bytes"])
            said.append(f"{kind} {100 * (guess / truth - 1):+.4f} %")
        self.report.check(f"{name}: batch {LARGE} lies in the interval", good,
                          f"{', '.join(said)}; {estimate['assumed_calls']} calls assumed, "
                          f"{seconds * 1000:.0f} ms")

    def check_program(self, model, mode, run_as):
        name = f"{model} {' '.join(mode)} as {run_as}"
        trials, traces = self.profile(model, mode, run_as)
        for batch, trial in trials.items():
            self.check_replay(f"{name} at {batch}", trial, traces[batch])
        self.check_estimate(name, trials[LARGE], traces)
        for batch in SMALL:
            kept = self.out / f"{model}-{mode[-1].lstrip('-')}-{run_as}-{batch}.trace.xz"
            with lzma.open(kept, "wb", preset=2) as file:
                file.write(traces[batch].read_bytes())

    def record(self, message, *options):
        begin = time.monotonic()
        worker = [str(self.programs / "memplan-worker"), *options]
        outcome = worker_client.run_trial(worker, message, self.environment)
        return outcome, time.monotonic() - begin

    def check_signatures(self, model, **more):
        message = worker_client.request(gpu_models.path_of(self.models, model, True),
                                        gpu_models.INPUTS[model], 8, mode="train", **more)
        with_them, with_seconds = self.record(message)
        without, seconds = self.record(message, "--no-signatures")
        difference = reference_trace.first_difference(
            reference_trace.events_of_trace(with_them.trace),
            reference_trace.events_of_trace(without.trace))
        steps = [sum(float(step["seconds"]) for step in outcome.report["steps"])
                 for outcome in (with_them, without)]
        self.report.check(
            f"{model} {more}: signatures change nothing", difference is None,
            f"{difference or 'equal'}; trial {with_seconds:.2f} s with, {seconds:.2f} s without, "
            f"its steps {steps[0]:.2f} s and {steps[1]:.2f} s")

    def attempt(self, check, *arguments, **more):
        """A check that breaks is a bad one; the others still run."""
        try:
            check(*arguments, **more)
        except (RuntimeError, OSError, LookupError, ValueError) as error:
            self.report.check(f"{check.__name__} {arguments} {more}", False, repr(error))

    def run(self):
        self.report.machine()
        self.environment = dict(os.environ, LD_LIBRARY_PATH=gpu_models.library_path())
        with tempfile.TemporaryDirectory() as folder:
            self.folder = Path(folder)
            self.daemon = DaemonProcess(self.programs, self.folder, gpu_models.library_path())
            self.daemon.start()
            try:
                for program in PROGRAMS:
                    if gpu_models.available(program[0]):
                        self.attempt(self.check_program, *program)
            finally:
                self.daemon.stop()
        for run_as in ("torchscript", "eager"):
            self.attempt(self.check_signatures, "resnet50", optimizer="sgd-momentum", run_as=run_as)
            self.attempt(self.check_signatures, "vit", optimizer="adam", run_as=run_as)
        return self.report.finish()


def main():
    programs, models, out = (Path(argument).resolve() for argument in sys.argv[1:4])
    sys.exit(PlannerCheck(programs, models, out).run())


if __name__ == "__main__":
    main()
