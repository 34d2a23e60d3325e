#!/usr/bin/env python3
"""Checks the sandbox of the worker on a GPU: that it holds, and costs nothing.

    sandbox_check.py PROGRAMS MODELS OUT

First a worker alone, shut in; if the driver minds, one group of refusals after the
other is allowed, to find which. Then two daemons, one with --sandbox=require and one
with --sandbox=off, run the same searches in turn. Last come models that reach for
what is not theirs. OUT gets the table. Exits with 1 if anything does not hold.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gpu_models
import worker_client
from check_report import Report
from daemon_process import DaemonProcess

PAIRS = 6
MOST_RATIO = 1.05
MISBEHAVING = "libmemplan-misbehaving.so"  # tests/support/misbehaving
GROUPS = ["proc", "connect", "processes", "attributes", "kernel", "mounts", "clock", "network",
          "programs", "landlock", "seccomp"]

MODULE = """
import sys, torch
class Reaching(torch.nn.Module):
    def __init__(self, path):
        super().__init__()
        self.path: str = path
    def forward(self, x):
        return x + torch.from_file(self.path, False, 4).sum().to(x.device)
torch.jit.script(Reaching(sys.argv[2])).save(sys.argv[1])
"""


class SandboxCheck:
    def __init__(self, programs, models, out, folder):
        self.programs = programs
        self.worker = str(programs / "memplan-worker")
        self.models = models
        self.folder = folder
        self.report = Report(out)
        self.resnet50 = gpu_models.path_of(models, "resnet50", True)
        smi = subprocess.run(["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
        self.gpu = smi.split()[0]

    # One trial of a worker alone: seconds, end, peaks, layers.
    def trial(self, sandboxed, *allow):
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            environment = {"PATH": os.environ["PATH"], "HOME": scratch, "TMPDIR": scratch,
                           "LANG": "C.UTF-8", "CUDA_VISIBLE_DEVICES": self.gpu,
                           "CUDA_MODULE_LOADING": "LAZY",
                           "LD_LIBRARY_PATH": gpu_models.library_path()}
            more = {"sandbox": {"required": False, "scratch_path": scratch}} if sandboxed else {}
            message = worker_client.request(self.resnet50, [gpu_models.IMAGE], 32, mode="train",
                                            optimizer="sgd-momentum", **more)
            command = [self.worker, *(["--allow", *allow] if allow else [])]
            begin = time.monotonic()
            report = worker_client.run_trial(command, message, environment).report
            return time.monotonic() - begin, report

    @staticmethod
    def peaks(report):
        return [report["load_peaks"], *(step["peaks"] for step in report["steps"])]

    def check_worker_alone(self):
        environment = {**os.environ, "LD_LIBRARY_PATH": gpu_models.library_path()}
        told = subprocess.run([self.worker, "--sandbox-check"], stdout=subprocess.PIPE, text=True,
                              check=True, env=environment).stdout
        for layer in json.loads(told)["layers"]:
            self.report.note(f"layer {layer['name']}: {layer['state']}: {layer['detail']}")
            self.report.check(f"layer {layer['name']} is in force", layer["state"] == "in-force", "")
        _, free = self.trial(False)
        _, held = self.trial(True)
        if held["end"] != "ran":
            self.find_what_the_driver_minds(held)
        else:
            # Stricter than `--allow proc`, which is known to work.
            self.report.note("/proc as listed in file_rules.cc is enough for this driver")
        same = free["end"] == held["end"] == "ran" and self.peaks(free) == self.peaks(held)
        self.report.check("a worker alone runs sandboxed with the same peaks", same,
                          f"{free['end']}, {held['end']}: {held['message'][:300]}")

    def find_what_the_driver_minds(self, held):
        self.report.note(f"the driver minds the sandbox: {held['message']}")
        works = []
        for group in GROUPS:
            try:
                _, report = self.trial(True, group, "nothing")
            except RuntimeError as error:
                self.report.note(f"--allow {group}: {str(error)[:200]}")
                continue
            self.report.note(f"--allow {group}: {report['end']} {report['message'][:200]}")
            works += [group] * (report["end"] == "ran")
        if not works:
            _, report = self.trial(True, *GROUPS[:-2])
            self.report.note(f"--allow all groups but the files: {report['end']}")

    def cli(self, daemon, *arguments, codes=(0,)):
        command = [self.programs / "memplan", *map(str, arguments), "--address", daemon.address,
                   "--output", "json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode not in codes:
            raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stderr}")
        return json.loads(done.stdout) if done.stdout.strip() else {}

    def search(self, daemon, *more):
        begin = time.monotonic()
        probe = self.cli(daemon, "probe", self.resnet50, "--input", gpu_models.IMAGE, "--train",
                         "sgd-momentum", "--run-as", "torchscript", "--cap", "16GiB", "--device",
                         "gpu", *more)
        return time.monotonic() - begin, probe

    @staticmethod
    def answer(probe):
        return (probe["plan"]["safe_batch"],
                [(trial["batch"], trial["outcome"], trial["peaks"]) for trial in probe["trials"]])

    def start(self, name, mode, programs=None):
        folder = self.folder / name
        folder.mkdir()
        daemon = DaemonProcess(self.programs, folder, gpu_models.library_path())
        daemon.command += ["--sandbox", mode]
        if programs:
            daemon.command += ["--worker", programs]
        self.daemons.append(daemon)
        daemon.start()
        return daemon

    def check_searches(self):
        daemons = {"require": self.start("held", "require"), "off": self.start("free", "off")}
        seconds = {mode: [] for mode in daemons}
        answers = {mode: [] for mode in daemons}
        for pair in range(PAIRS + 1):
            for mode in sorted(daemons, reverse=bool(pair % 2)):
                took, probe = self.search(daemons[mode], "--max-batch", "16")
                if pair == 0:
                    continue  # files of libraries come into the host's memory
                seconds[mode].append(took)
                answers[mode].append(self.answer(probe))
        ratio = statistics.median(seconds["require"]) / statistics.median(seconds["off"])
        show = {mode: " ".join(f"{took:.2f}" for took in took_all)
                for mode, took_all in seconds.items()}
        self.report.check(f"probe time sandboxed / not at most {MOST_RATIO}", ratio <= MOST_RATIO,
                          f"{ratio:.3f}; sandboxed {show['require']}; not {show['off']}")
        same = all(held == free for held, free in zip(answers["require"], answers["off"]))
        self.report.check("answers and peaks are the same", same,
                          f"{len(answers['off'])} pairs, {len(answers['off'][0][1])} trials each")
        _, probe = self.search(daemons["require"])
        self.report.row("resnet50 sgd-momentum sandboxed, 16 GiB cap", probe, 0)
        self.report.check("the sandboxed search finds 192", probe["plan"]["safe_batch"] == "192",
                          f"found {probe['plan']['safe_batch']}")
        return daemons

    def reaching(self, name, path):
        model = self.folder / f"{name}.pt"
        subprocess.run([sys.executable, "-c", MODULE, model, path], check=True)
        return model

    def outcome(self, daemon, model):
        probe = self.cli(daemon, "profile", model, "--input", "float32[B,4]", "--infer",
                         "--batches", "1", "--device", "gpu", codes=(0, 1, 4))
        if not probe.get("trials"):
            return "NO TRIAL", json.dumps(probe.get("error", {}))
        trial = probe["trials"][0]
        return trial["outcome"].removeprefix("TRIAL_OUTCOME_"), trial["message"]

    def check_reaching(self, daemons):
        passwd = self.reaching("passwd", "/etc/passwd")
        other = next((self.folder / "held/store/models").glob("[0-9a-f]*"))
        wrapper = self.folder / "worker"
        library = self.programs.parent / "lib" / MISBEHAVING
        wrapper.write_text(f"#!/bin/sh\nLD_PRELOAD={library} exec {self.worker} \"$@\"\n")
        wrapper.chmod(0o755)
        native = self.start("native", "require", wrapper)
        free = self.start("native-free", "off", wrapper)
        what = [(daemons["require"], daemons["off"], "/etc/passwd", passwd),
                (daemons["require"], daemons["off"], "another model", self.reaching("other", str(other)))]
        for name in ("socket", "execve", "fork", "ptrace", "kill"):
            what.append((native, free, name, self.reaching(name, f"/misbehave/{name}")))
        for held_by, free_in, name, model in what:
            held, words = self.outcome(held_by, model)
            freely, _ = self.outcome(free_in, model)
            self.report.check(f"a model that reaches for {name} is refused",
                              held == "SANDBOX_REFUSED" and freely != "SANDBOX_REFUSED",
                              f"{held} ({words[:120]}); without a sandbox {freely}")

    def run(self):
        self.daemons = []
        self.report.machine()
        try:
            self.check_worker_alone()
            self.check_reaching(self.check_searches())
        finally:
            for daemon in self.daemons:
                daemon.kill()
        return self.report.finish()


def main():
    programs, models, out = (Path(argument).resolve() for argument in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as folder:
        return SandboxCheck(programs, models, out, Path(folder)).run()


if __name__ == "__main__":
    sys.exit(main())
