#!/usr/bin/env python3
"""Checks `worker_memory` on a machine with cgroup v2, as root; the device is `cpu`.

    memory_group_check.py PROGRAMS MODELS OUT

Makes a control group for each of two daemons: under 3 GiB a worker runs resnet50,
under 64 MiB the kernel kills it and the trial says so. What the kernel or the rights
lack for it is told, and the check is skipped. The groups are as before afterwards.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gpu_models
from daemon_process import DaemonProcess

ENOUGH, TOO_LITTLE = "3GiB", "64MiB"


class Lacking(Exception):
    pass


class GroupTree:
    """The root of cgroup v2 as seen here, whose children get the memory controller."""

    def __init__(self, folder):
        self.mounted = None
        self.root = self.find() or self.mount(folder)
        self.others = self.root / "memplan-others"
        self.control = self.root / "cgroup.subtree_control"
        self.made = []
        self.enabled = False
        if "memory" not in (self.root / "cgroup.controllers").read_text().split():
            raise Lacking("cgroup v2 has no memory controller here (v1 has it)")

    @staticmethod
    def find():
        for line in Path("/proc/self/mounts").read_text().splitlines():
            _, folder, kind, *_ = line.split()
            if kind == "cgroup2" and os.access(f"{folder}/cgroup.procs", os.W_OK):
                return Path(folder)
        return None

    def mount(self, folder):
        folder.mkdir()
        done = subprocess.run(["mount", "-t", "cgroup2", "none", folder],
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise Lacking(f"no cgroup v2 that can be written: {done.stderr.strip()}")
        self.mounted = folder
        return folder

    def move(self, source, target):
        for pid in (source / "cgroup.procs").read_text().split():
            try:
                (target / "cgroup.procs").write_text(pid)
            except OSError:
                pass  # it has ended, or is the kernel's

    def enable(self):
        if "memory" in self.control.read_text().split():
            return
        try:
            self.control.write_text("+memory")
        except OSError:  # a container's root may not have processes then
            self.others.mkdir(exist_ok=True)
            self.move(self.root, self.others)
            try:
                self.control.write_text("+memory")
            except OSError as error:
                raise Lacking(f"children get no memory controller: {error}") from error
        self.enabled = True

    def make(self, name):
        group = self.root / name
        group.mkdir(exist_ok=True)
        self.made.append(group)
        return group

    @staticmethod
    def remove(folder):
        for _ in range(100):  # a moment after its last process
            try:
                return folder.rmdir() if folder.is_dir() else None
            except OSError:
                time.sleep(0.02)
        return print(f"the control group {folder} stays")

    def restore(self):
        for group in self.made:
            for folder in [*group.glob("*/"), group]:
                self.remove(folder)
        if self.enabled:
            self.control.write_text("-memory")
        if self.others.is_dir():
            self.move(self.others, self.root)
            self.remove(self.others)
        if self.mounted:
            subprocess.run(["umount", self.mounted], check=True)


class Check:
    def __init__(self, programs, models, folder, tree):
        self.programs = programs
        self.model = gpu_models.path_of(models, "resnet50", False)
        self.folder = folder
        self.tree = tree
        self.rows = []
        self.failed = 0

    def memplan(self, daemon, *arguments):
        command = [self.programs / "memplan", *map(str, arguments), "--address", daemon.address,
                   "--output", "json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return json.loads(done.stdout) if done.stdout.strip() else {"said": done.stderr}

    def run(self, limit, wanted, words):
        group = self.tree.make(f"memplan-check-{limit}")
        folder = self.folder / limit
        folder.mkdir()
        daemon = DaemonProcess(self.programs, folder, gpu_models.library_path())
        daemon.command = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh",
                          *daemon.command, "--worker-memory", limit]
        try:
            daemon.start()
            layers = self.memplan(daemon, "status").get("sandbox", [])
            layer = next((l for l in layers if l["name"] == "memory_limit"), {})
            probe = self.memplan(daemon, "profile", self.model, "--input", gpu_models.IMAGE,
                                 "--infer", "--batches", "1", "--device", "cpu", "--cap", "2GiB")
        finally:
            daemon.kill()
        trial = (probe.get("trials") or [{"outcome": "NO TRIAL", "message": json.dumps(probe)}])[0]
        outcome = trial["outcome"].removeprefix("TRIAL_OUTCOME_")
        left = [path.name for path in group.glob("trial-*")]
        ok = (layer.get("state", "").endswith("IN_FORCE") and outcome == wanted and not left
              and words in trial.get("message", ""))
        self.failed += not ok
        self.rows.append([limit, layer.get("state", "none").removeprefix("SANDBOX_LAYER_STATE_"),
                          layer.get("detail", ""), outcome, trial.get("message", "")[:300],
                          " ".join(left) or "none", "ok" if ok else "FAIL"])

    def table(self):
        head = ["worker_memory", "layer", "detail", "outcome", "message", "groups left", ""]
        lines = [head, ["---"] * len(head), *self.rows]
        return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def main():
    programs, models, out = (Path(argument).resolve() for argument in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tree = None
        try:
            if os.geteuid() != 0:
                raise Lacking("only root can make control groups")
            tree = GroupTree(folder / "cgroup")
            tree.enable()
            check = Check(programs, models, folder, tree)
            check.run(ENOUGH, "FITS", "")
            check.run(TOO_LITTLE, "WORKER_DIED", "more host memory than")
        except Lacking as lacking:
            print(f"skipped: memory groups: {lacking}")
            return 0
        finally:
            if tree:
                tree.restore()
        (out / "table.md").write_text(check.table())
        print(check.table(), end="")
        return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
