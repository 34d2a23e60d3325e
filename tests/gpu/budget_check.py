#!/usr/bin/env python3
"""Checks that what --budget promises holds on a card that is really full.

    budget_check.py PROGRAMS MODELS OUT

memplan-ballast takes all of the card but 6 GiB, so that the driver itself has no
more. A probe with a budget of as much, and no cap, must find a batch; that batch is
then run twice without any limit beside the ballast, in fresh processes, and so is
the next one. OUT gets the table. Exits with 1 if a promise does not hold.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gpu_models
from card import GIB, MIB, Ballast, Nvml
from check_report import Report
from daemon_process import DaemonProcess

BUDGET = 6 * GIB
# memplan-ballast goes no further than the driver's grain.
GRAIN = 2 * MIB
CELLS = [("resnet50", True, ["--train", "sgd"]), ("vit", False, ["--infer"])]
# The driver said no, not the allocator's cap.
DRIVERS_NO = ("driver-oom", "library-loading-oom", "library-under-pressure")
FITS = "TRIAL_OUTCOME_FITS"


def words_of(trial):
    """`fits`, or `out-of-memory (driver-oom)`."""
    outcome = trial["outcome"].removeprefix("TRIAL_OUTCOME_").lower().replace("_", "-")
    return f"{outcome} ({trial['end_class']})" if trial.get("end_class") else outcome


def refused_by_the_driver(trials, largest):
    """Those of batches up to `largest` that the driver ended."""
    return [f"{trial['batch']}: {words_of(trial)}" for trial in trials
            if int(trial["batch"]) <= largest and trial.get("end_class") in DRIVERS_NO]


class BudgetCheck:
    def __init__(self, programs, models, out):
        self.programs = programs
        self.models = models
        self.report = Report(out)
        self.nvml = Nvml()
        self.daemon = None

    def cli(self, verb, model, inputs, *arguments):
        command = [self.programs / "memplan", verb, str(model), "--input", *inputs, *arguments,
                   "--device", "gpu", "--address", self.daemon.address, "--output", "json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if not done.stdout.strip():
            raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stderr}")
        return json.loads(done.stdout)

    def check_cell(self, name, training, mode):
        model = gpu_models.path_of(self.models, name, training)
        inputs = gpu_models.INPUTS[name]
        title = f"{name} {' '.join(mode)}"
        begin = time.monotonic()
        probe = self.cli("probe", model, inputs, *mode, "--budget", f"{BUDGET}B")
        seconds = time.monotonic() - begin
        plan = probe.get("plan")
        if not plan or plan["verdict"] != "PLAN_VERDICT_FOUND":
            self.report.check(f"{title}: the probe ends with an answer", False,
                              json.dumps(probe.get("error") or plan))
            return
        batch = int(plan["safe_batch"])
        self.report.row(f"{title}, 6 GiB budget, full card", probe, seconds)
        self.report.check(f"{title}: the probe ends with a verified answer", plan["verified"],
                          f"batch {batch} in {seconds:.1f} s")
        taken = sum(int(plan[key]["bytes"]) for key in ("peak_reserved", "context")
                    if plan.get(key))
        self.report.check(f"{title}: reserved and context are within the budget", taken <= BUDGET,
                          f"{taken} of {BUDGET}")
        refused = refused_by_the_driver(probe["trials"], batch)
        self.report.check(f"{title}: the driver refused no batch up to the answer", not refused,
                          ", ".join(refused) or "none")
        self.prove(title, model, inputs, mode, batch)

    # Without cap or budget the driver alone says no.
    def prove(self, title, model, inputs, mode, batch):
        profile = self.cli("profile", model, inputs, *mode, "--batches",
                           f"{batch},{batch},{batch + 1}")
        trials = profile["trials"]
        ends = [(trial["batch"], words_of(trial)) for trial in trials]
        held = [trial for trial in trials if int(trial["batch"]) == batch]
        self.report.check(f"{title}: the answer runs there in fresh processes without a limit",
                          len(held) == 2 and all(trial["outcome"] == FITS for trial in held),
                          str(ends))
        beyond = [words_of(trial) for trial in trials if int(trial["batch"]) == batch + 1]
        self.report.note(f"{title}: N+1 = {batch + 1} beside the ballast, without a limit: "
                         f"{', '.join(beyond) or 'not run'}")

    def run(self):
        self.report.machine()
        with tempfile.TemporaryDirectory() as folder:
            self.daemon = DaemonProcess(self.programs, Path(folder), gpu_models.library_path())
            # What is left is the budget itself.
            self.daemon.command += ["--headroom", "0B"]
            with Ballast(self.programs, "--leave", str(BUDGET)) as ballast:
                card = self.nvml.read_card()
                self.report.check("the card is full but for the budget",
                                  BUDGET <= card.free <= BUDGET + 2 * GRAIN,
                                  f"held {ballast.held}, free by CUDA {ballast.left}, by NVML "
                                  f"{card.free} of {card.total}")
                self.daemon.start()
                try:
                    for cell in CELLS:
                        self.check_cell(*cell)
                finally:
                    self.daemon.kill()
                self.report.check("the ballast held to the end", ballast.process.poll() is None,
                                  f"free now {self.nvml.read_card().free}")
        return self.report.finish()


def main():
    programs, models, out = (Path(argument).resolve() for argument in sys.argv[1:4])
    return BudgetCheck(programs, models, out).run()


if __name__ == "__main__":
    sys.exit(main())
