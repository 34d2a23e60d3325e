#!/usr/bin/env python3
"""Side by side: the same jobs under the same cap, asked of each finder.

    finders_part.py PROGRAMS MODELS OUT [--seconds N] [--known FILE...] [--cells JOB...]
                    [--pretend LARGEST]

For each job: every finder's search in a fresh process, three runs of each answer in fresh
processes, and the largest batch that really runs; last, every finder again under the cap of
another card. OUT/finders.jsonl gets a line as each ends; what has one, there or
in a known file, is not done again.
With --pretend, on the CPU without memplan, where batches up to LARGEST run.
"""

import contextlib
import datetime
import sys
import time

import export_models
import fresh_process
import python_trials
from largest import largest_that_runs
from memplan_command import Memplan
from part_options import parsed, part_parser
from results import Deadline, Results
from ten_models import RECIPES
from training import job_of

CELLS = ["resnet50:sgd", "vit:adamw-bf16"]
CAP_GIB, OTHER_CAP_GIB = 16, 12
RUNS = 3
# Python's default on a GPU is foreach, and what is asked of all is the same job.
MEMPLAN_TRAINS = {
    "sgd": ["--train", "sgd-momentum:foreach"],
    "adam": ["--train", "adam:foreach"],
    "adamw-bf16": ["--train", "adamw:foreach", "--autocast", "bf16"],
}


class OutOfTime(Exception):
    """No new thing may be started."""


class Comparison:
    def __init__(self, options):
        self.options = options
        self.results = Results(options.out / "finders.jsonl", options.known)
        self.deadline = Deadline(options.seconds)
        self.failed = False
        self.finders = list(python_trials.FINDERS)
        if not options.pretend:
            self.finders.insert(0, "memplan")

    def add(self, **line):
        self.results.add(line)
        self.failed |= "failure" in line
        print(" ".join(f"{name}={value}" for name, value in line.items()
                       if name not in ("trials", "import_seconds")), flush=True)
        return line

    def start(self):
        if self.deadline.passed():
            raise OutOfTime

    def device(self, cap_gib):
        if self.options.pretend:
            return ("pretended", self.options.pretend * cap_gib // CAP_GIB)
        return ("gpu", cap_gib << 30)

    def describe_machine(self):
        if self.options.pretend:
            return
        machine = fresh_process.call(python_trials.machine)
        if "failure" in machine:
            fresh_process.import_anew()
            machine = fresh_process.call(python_trials.machine)
        self.add(kind="machine", date=str(datetime.date.today()), **machine)

    def ask_memplan(self, job, cap_gib):
        path = export_models.path_of(self.options.models, job.model, trains=True)
        what = [path, "--input", RECIPES[job.model].spec(), *MEMPLAN_TRAINS[job.mode], "--run-as", "eager"]
        try:
            return self.memplan.probe(what, f"{cap_gib}GiB")
        except (RuntimeError, OSError, KeyError) as error:
            return {"failure": str(error)}

    def ask(self, finder, job, cap_gib, question):
        key = {"kind": "find", "cell": job.name, "cap_gib": cap_gib, "finder": finder}
        if self.results.having(**key):
            return
        self.start()
        begin = time.monotonic()
        if finder == "memplan":
            answer = self.ask_memplan(job, cap_gib)
        else:
            answer = fresh_process.call(python_trials.find, finder, job, self.device(cap_gib))
        self.add(**key, question=question, **answer, wall_seconds=round(time.monotonic() - begin, 3))

    def run(self, job, batch, times):
        """Whether each of `times` runs of the batch fits, those of before included."""
        key = {"kind": "run", "cell": job.name, "cap_gib": CAP_GIB, "batch": batch}
        for number in range(len(self.results.having(**key)), times):
            self.start()
            self.add(**key, number=number,
                     **fresh_process.call(python_trials.run, batch, job, self.device(CAP_GIB)))
        ends = self.results.having(**key)
        if len(ends) < times:
            raise RuntimeError(f"a run of batch {batch} of {job.name} failed")
        return all(line["outcome"] == "fits" for line in ends)

    def answers(self, job):
        """By finder."""
        return {line["finder"]: line["answer"]
                for line in self.results.having(kind="find", cell=job.name, cap_gib=CAP_GIB)}

    def find_truth(self, job):
        key = {"kind": "truth", "cell": job.name, "cap_gib": CAP_GIB}
        answers = self.answers(job)
        if self.results.having(**key) or not answers:
            return
        guess = answers.get("memplan", max(answers.values()))
        batch = largest_that_runs(guess, lambda batch: self.run(job, batch, 1))
        self.add(**key, batch=batch, how="N runs and N+1 does not, each in a fresh process")

    def first_question(self, job):
        for finder in self.finders:
            self.ask(finder, job, CAP_GIB, "first")
        for batch in sorted(set(self.answers(job).values())):
            with contextlib.suppress(RuntimeError):  # written down; the others go on
                self.run(job, batch, RUNS)
        with contextlib.suppress(RuntimeError):
            self.find_truth(job)

    def go(self, jobs):
        self.describe_machine()
        if not self.options.pretend:
            export_models.export_side_by_side(self.options.models, [(job.model, True) for job in jobs])
        with (contextlib.nullcontext() if self.options.pretend
              else Memplan(self.options.programs)) as self.memplan:
            try:
                for job in jobs:
                    self.first_question(job)
                for job in jobs:
                    for finder in self.finders:
                        self.ask(finder, job, OTHER_CAP_GIB, "again")
            except OutOfTime:
                print("no time left; the next call goes on from here")
        return 1 if self.failed else 0


def main():
    parser = part_parser(__doc__, CELLS)
    parser.add_argument("--pretend", type=int, default=0)
    options = parsed(parser)
    return Comparison(options).go([job_of(name) for name in options.cells])


if __name__ == "__main__":
    sys.exit(main())
