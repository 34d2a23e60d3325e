"""Checks the whole path on a GPU: the daemon finds the largest safe batches.

    probe_check.py PROGRAMS MODELS OUT

Starts memplan-server on a private socket, asks it with memplan, and prints a table
of what was found, with the known answers beside it. OUT gets each probe as JSON.
"""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import gpu_models


@dataclass
class Question:
    """`known` is the answer found by hand, in fresh processes of four steps; None
    where nobody looked."""

    model: str
    how: list
    run_as: str
    known: int | None


QUESTIONS = [
    Question("resnet50", ["--train", "sgd-momentum"], "torchscript", 192),
    Question("vit", ["--train", "adam"], "torchscript", 110),
    Question("resnet50", ["--train", "sgd-momentum"], "eager", 192),
    Question("vit", ["--train", "adam"], "eager", None),
    Question("gpt2", ["--train", "adam"], "torchscript", None),
]
CAP = "16GiB"
START_SECONDS = 0.1
IDLE_RSS_KIB = 40 * 1024


class Daemon:
    """memplan-server on a private socket, ended with its standard input."""

    def __init__(self, programs, folder):
        self.programs, self.socket = programs, folder / "memplan.sock"
        start = time.monotonic()
        self.process = subprocess.Popen(
            [programs / "memplan-server", "--store", folder / "store", "--socket", self.socket, "--listen", "none",
             "--metrics", "none", "--worker", programs / "memplan-worker",
             "--worker-library-path", gpu_models.library_path(), "--exit-with-stdin"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.process.stdout.readline().startswith("ready")
        self.start_seconds = time.monotonic() - start

    def ask(self, *arguments):
        """The JSON answer of one memplan command; None if it printed none."""
        result = subprocess.run([self.programs / "memplan", "--address", f"unix:{self.socket}", *arguments,
                                 "--output", "json"], stdout=subprocess.PIPE, text=True)
        return json.loads(result.stdout) if result.stdout.strip() else None

    def rss_kib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def is_on_gpu(self):
        listed = subprocess.run(["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"],
                                stdout=subprocess.PIPE, text=True).stdout.split()
        return str(self.process.pid) in listed

    def end(self):
        self.process.stdin.close()
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Checks:
    def __init__(self, daemon, models, out):
        self.daemon, self.models, self.out, self.bad = daemon, models, out, 0

    def note(self, good, text):
        self.bad += not good
        print("ok  " if good else "BAD ", text, flush=True)

    def check_daemon(self):
        self.note(self.daemon.ready and self.daemon.start_seconds < START_SECONDS,
                  f"daemon ready in {self.daemon.start_seconds * 1000:.0f} ms")
        rss = self.daemon.rss_kib()
        self.note(rss < IDLE_RSS_KIB, f"daemon holds {rss / 1024:.1f} MiB idle")
        devices = self.daemon.ask("devices")
        self.note(devices is not None and "GPU-" in json.dumps(devices), "daemon lists the GPU")

    def check_question(self, question):
        model = gpu_models.path_of(self.models, question.model, True)
        inputs = [word for spec in gpu_models.INPUTS[question.model] for word in ("--input", spec)]
        start = time.monotonic()
        probe = self.daemon.ask("probe", str(model), *inputs, *question.how, "--run-as", question.run_as,
                                "--cap", CAP, "--device", "gpu")
        seconds = time.monotonic() - start
        name = f"{question.model} {question.how[-1]} as {question.run_as}"
        (self.out / f"{name.replace(' ', '-')}.json").write_text(json.dumps(probe, indent=1))
        plan = (probe or {}).get("plan") or {}
        if not plan.get("verified"):
            self.note(False, f"{name}: no verified batch: {json.dumps((probe or {}).get('error'))[:300]}")
            return
        batch = int(plan["safe_batch"])
        above = {int(each["batch"]): each["outcome"] for each in plan["neighbours"]}.get(batch + 1, "not run")
        good = question.known in (None, batch) and above == "TRIAL_OUTCOME_OUT_OF_MEMORY"
        self.note(good, f"{name}: {batch} (known {question.known}), {batch + 1}: {above}, "
                  f"reserved {plan['peak_reserved']['bytes']}, context {plan['context']['bytes']}, "
                  f"{plan['trial_count']} trials, {plan['out_of_memory_count']} out of memory, {seconds:.1f} s")

    def all(self):
        self.check_daemon()
        for question in QUESTIONS:
            if gpu_models.available(question.model):
                self.check_question(question)
        self.note(not self.daemon.is_on_gpu(), "daemon holds no GPU memory")


def main():
    programs, models, out = (Path(argument).resolve() for argument in sys.argv[1:4])
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(programs, Path(folder))
        checks = Checks(daemon, models, out)
        try:
            checks.all()
        finally:
            code = daemon.end()
        checks.note(code == 0, f"daemon ended with {code}")
    print(f"the daemon's checks: {checks.bad} bad, {time.monotonic() - start:.0f} s")
    sys.exit(1 if checks.bad else 0)


if __name__ == "__main__":
    main()
