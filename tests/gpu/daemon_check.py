#!/usr/bin/env python3
"""Checks the whole path on a GPU: daemon, uploads, searches, kills.

    daemon_check.py PROGRAMS MODELS OUT

Starts memplan-server on a private socket, asks it with memplan, and prints a table
of what was found. OUT gets the table, and every answer as JSON. Exits with 1 if
anything that was asserted does not hold.
"""

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import gpu_models
from check_report import Report
from daemon_process import DaemonProcess

GIB = 1 << 30

# model, mode, run as, the true answer under 16 GiB (None: not known before)
CELLS = [
    ("resnet50", ["--train", "sgd-momentum"], "torchscript", 192),
    ("vit", ["--train", "adam"], "torchscript", 110),
    ("resnet50", ["--train", "sgd-momentum"], "eager", 192),
    ("vit", ["--train", "adam"], "eager", None),
]


class DaemonCheck:
    def __init__(self, programs, models, out):
        self.programs = programs
        self.out = out
        self.report = Report(out)
        self.models = {name: gpu_models.path_of(models, name, True)
                       for name in gpu_models.TORCH_NAMES}

    def cli(self, *arguments, check=True):
        command = [self.programs / "memplan", *arguments,
                   "--address", self.daemon.address, "--output", "json"]
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        if check and done.returncode not in (0, 4):
            raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stderr}")
        return json.loads(done.stdout) if done.stdout.strip() else {}

    def probe(self, model, *arguments):
        return self.cli("probe", str(self.models[model]), "--input",
                        *gpu_models.INPUTS[model], *arguments)

    # What the daemon itself takes.
    def check_daemon(self):
        for name in self.models.values():
            self.cli("models", "upload", str(name))
        devices = self.cli("devices")["devices"]
        gpu = next(device for device in devices if device["kind"] == "DEVICE_KIND_CUDA")
        smi = subprocess.run(
            ["nvidia-smi", "--query-gpu=memory.total,memory.reserved,memory.used",
             "--format=csv,noheader,nounits"],
            stdout=subprocess.PIPE, text=True, check=True).stdout
        total, reserve, used = (int(part) for part in smi.strip().split(","))
        mib = {key: int(gpu[f"{key}_bytes"]) >> 20
               for key in ("total", "driver_reserve", "used", "free")}
        self.report.check("devices agree with nvidia-smi (MiB)",
                          abs(mib["total"] - total) <= 1
                          and abs(mib["driver_reserve"] - reserve) <= 1
                          and abs(mib["used"] - used) <= 1,
                          f"{mib} against total {total}, reserve {reserve}, used {used}")
        self.report.check(
            "total = driver reserve + used + free",
            int(gpu["total_bytes"]) == sum(int(gpu[f"{key}_bytes"]) for key in
                                           ("driver_reserve", "used", "free")), "")
        holders = [process["pid"] for process in gpu["processes"]]
        self.report.check("the daemon holds no GPU memory",
                          str(self.daemon.pid) not in holders
                          and mib["used"] == 0,
                          f"processes on the device {holders}, used {gpu['used_bytes']}")
        self.report.check("start under 100 ms", self.daemon.start_seconds < 0.1,
                          f"{self.daemon.start_seconds * 1000:.0f} ms")
        self.check_weight("idle after uploads and calls")
        return gpu["id"]

    def check_weight(self, when):
        resident = self.daemon.resident_bytes() / (1 << 20)
        self.report.check(f"resident under 40 MiB {when}", resident < 40, f"{resident:.1f} MiB")

    def check_cell(self, model, mode, run_as, expected):
        begin = time.monotonic()
        probe = self.probe(model, *mode, "--run-as", run_as, "--cap", "16GiB",
                           "--device", "gpu")
        seconds = time.monotonic() - begin
        plan = probe["plan"]
        batch = int(plan["safe_batch"])
        name = f"{model} {' '.join(mode)} as {run_as}, 16 GiB cap"
        self.report.row(name, probe, seconds)
        if expected is None:
            return
        self.report.check(f"{name}: {expected}", batch == expected and plan["verified"],
                          f"found {batch}")
        if batch != expected:
            self.prove(model, mode, run_as, batch)

    # Each of N and N+1 three times in fresh processes.
    def prove(self, model, mode, run_as, batch):
        batches = ",".join(str(b) for b in [batch] * 3 + [batch + 1] * 3)
        probe = self.cli("profile", str(self.models[model]), "--input", gpu_models.IMAGE, *mode,
                         "--run-as", run_as, "--cap", "16GiB", "--device", "gpu",
                         "--batches", batches)
        outcomes = [(trial["batch"], trial["outcome"]) for trial in probe["trials"]]
        self.report.note(f"{model} {mode} as {run_as}: {outcomes}")

    def check_gpt2(self):
        probe = self.cli("profile", str(self.models["gpt2"]), "--input",
                         *gpu_models.INPUTS["gpt2"],
                         "--infer", "--batches", "8,32", "--device", "gpu")
        outcomes = [trial["outcome"] for trial in probe["trials"]]
        self.report.check("gpt2 traced on the CPU runs on the card",
                          outcomes == ["TRIAL_OUTCOME_FITS"] * 2, str(outcomes))
        self.report.trials("gpt2 --infer", probe)

    def check_budget(self):
        probe = self.probe("resnet50", "--train", "sgd-momentum", "--run-as",
                           "torchscript", "--budget", "16GiB", "--device", "gpu")
        plan = probe["plan"]
        taken = int(plan["peak_reserved"]["bytes"]) + int(plan["context"]["bytes"])
        self.report.check("a budget counts the context", taken <= 16 * GIB,
                          f"batch {plan['safe_batch']}, reserved and context {taken}")
        self.report.row("resnet50 sgd-momentum, 16 GiB budget", probe, 0)

    def start_detached(self):
        return self.probe("resnet50", "--train", "sgd-momentum", "--run-as",
                          "torchscript", "--cap", "16GiB", "--device", "gpu",
                          "--max-batch", "24", "--detach")["id"]

    def wait(self, probe_id, wanted):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            for probe in self.cli("list")["probes"]:
                if probe["id"] == probe_id and probe["state"] in wanted:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"probe {probe_id} did not reach {wanted} in time")

    def check_kills(self):
        probe_id = self.start_detached()
        self.wait(probe_id, ["PROBE_STATE_RUNNING"])
        killed = self.daemon.kill_a_worker()
        probe = self.cli("watch", probe_id)
        self.report.check("kill -9 of a worker: the probe ends right",
                          killed is not None and probe["plan"]["safe_batch"] == "24",
                          f"outcomes {[t['outcome'] for t in probe['trials']]}")
        probe_id = self.start_detached()
        self.wait(probe_id, ["PROBE_STATE_RUNNING"])
        self.daemon.kill()
        self.daemon.start()
        probe = self.cli("watch", probe_id)
        self.report.check("kill -9 of the daemon: the probe ends right after restart",
                          probe["plan"]["safe_batch"] == "24"
                          and probe["restart_count"] == 1,
                          f"restart_count {probe['restart_count']}")

    def check_end(self):
        self.check_weight("idle after all probes")
        with urllib.request.urlopen(f"http://{self.daemon.metrics}/metrics") as page:
            (self.out / "metrics.txt").write_bytes(page.read())
        code = self.daemon.stop()
        self.report.check("SIGTERM ends the daemon with 0", code == 0, f"code {code}")
        left = subprocess.run(["nvidia-smi", "--query-compute-apps=pid",
                               "--format=csv,noheader"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        self.report.check("no process is left on the card", not left.strip(), left)

    def run(self):
        self.report.machine()
        with tempfile.TemporaryDirectory() as folder:
            self.daemon = DaemonProcess(self.programs, Path(folder),
                                        gpu_models.library_path())
            self.daemon.start()
            try:
                self.check_weight("idle after start")
                self.check_daemon()
                self.check_gpt2()
                for cell in CELLS:
                    self.check_cell(*cell)
                self.check_budget()
                self.check_kills()
                self.check_end()
            finally:
                self.daemon.kill()
        return self.report.finish()


def main():
    programs, models, out = (Path(argument).resolve() for argument in sys.argv[1:4])
    return DaemonCheck(programs, models, out).run()


if __name__ == "__main__":
    sys.exit(main())
