#!/usr/bin/env python3
"""Kills the daemon or a worker at random moments of probes that run on a GPU.

    kill_check.py PROGRAMS MODELS OUT

The GPU is to have back every byte each time no worker is left, no ended probe may
change, and the last probe must end right. tests/soak/kill_test.py does more of
it, without a GPU. Prints a short table; exits with 1 if anything does not hold.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gpu_models
from check_report import Report
from daemon_process import DaemonProcess

KILLS = 40
SEED = 1
SETTLED = 20  # seconds in which a driver gives back what a dead process held


def smi(query):
    return subprocess.run(["nvidia-smi", f"--query-{query}", "--format=csv,noheader,nounits"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout.split()


class KillCheck:
    def __init__(self, programs, models, out, folder):
        self.programs = programs
        self.report = Report(out)
        self.resnet50 = gpu_models.path_of(models, "resnet50", True)
        self.daemon = DaemonProcess(programs, folder, gpu_models.library_path())
        self.random = random.Random(SEED)
        self.ended = {}
        self.counts = {"daemon": 0, "worker": 0, "no worker there": 0}

    def cli(self, *arguments):
        result = subprocess.run([self.programs / "memplan", *arguments, "--address",
                                 self.daemon.address, "--output", "json"],
                                stdout=subprocess.PIPE, text=True, check=False)
        return json.loads(result.stdout)

    def start_probe(self):
        return self.cli("probe", self.resnet50, "--input", gpu_models.IMAGE, "--train",
                        "sgd-momentum", "--run-as", "torchscript", "--cap", "16GiB",
                        "--device", "gpu", "--max-batch", "24", "--detach")["id"]

    # The card has what it had before once no process of ours is on it.
    def wait_until_given_back(self):
        deadline = time.monotonic() + SETTLED
        while time.monotonic() < deadline:
            used, pids = int(smi("gpu=memory.used")[0]), smi("compute-apps=pid")
            if used <= self.used_before and not pids:
                return True, used
            time.sleep(0.05)
        return False, f"{used} MiB used by {pids}"

    # Probes that had ended before a kill are there and the same after it.
    def changed(self):
        now = {probe["id"]: probe for probe in self.cli("list")["probes"]}
        bad = [id for id, probe in self.ended.items() if now.get(id) != probe]
        for id, probe in now.items():
            if probe["state"] in ("PROBE_STATE_SUCCEEDED", "PROBE_STATE_FAILED"):
                self.ended.setdefault(id, probe)
        return bad

    def run(self):
        self.report.machine()
        self.used_before = int(smi("gpu=memory.used")[0])
        begin = time.monotonic()
        lost, kept = [], []
        self.daemon.start()
        try:
            probe_id = self.start_probe()
            for _ in range(KILLS):
                time.sleep(self.random.uniform(0.05, 2.0))
                if self.random.random() < 0.5:
                    killed = self.daemon.kill_a_worker(patience=5)
                    self.counts["worker" if killed else "no worker there"] += 1
                else:
                    self.daemon.kill()
                    given_back, seen = self.wait_until_given_back()
                    if not given_back:
                        kept.append(seen)
                    self.counts["daemon"] += 1
                    self.daemon.start()
                lost += self.changed()
                if probe_id in self.ended:
                    probe_id = self.start_probe()
            probe = self.cli("watch", probe_id)
            code = self.daemon.stop()
        finally:
            self.daemon.kill()
        given_back, seen = self.wait_until_given_back()
        self.report.note(f"{KILLS} kills in {time.monotonic() - begin:.0f} s: {self.counts}; "
                         f"{len(self.ended)} probes had ended before the last kill")
        self.report.check("no ended probe is lost or changed", not lost, str(lost))
        self.report.check("the card has every byte back after each death of the daemon", not kept,
                          f"{self.used_before} MiB used before; {kept}")
        self.report.check("and at the end", given_back, str(seen))
        # Two deaths at one batch count as a wall, so that the answer may be lower.
        self.report.check("the last probe ends", probe["state"] == "PROBE_STATE_SUCCEEDED",
                          f"batch {probe.get('plan', {}).get('safe_batch')}, "
                          f"restart_count {probe['restart_count']}")
        self.report.check("SIGTERM ends the daemon with 0", code == 0, f"code {code}")
        return self.report.finish()


def main():
    programs, models, out = (Path(argument).resolve() for argument in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as folder:
        return KillCheck(programs, models, out, Path(folder)).run()


if __name__ == "__main__":
    sys.exit(main())
