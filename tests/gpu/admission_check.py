#!/usr/bin/env python3
"""Checks on a GPU what admission goes by: who holds what, and who must wait.

    admission_check.py PROGRAMS OUT

Compares memplan's devices with NVML's own bytes and nvidia-smi's, has a
memplan-ballast come and go, runs two jobs that do not fit together, and asks a
thousand times. OUT gets the table. Exits with 1 if anything does not hold. Takes
less than a minute.
"""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import gpu_models
from card import GIB, MIB, Ballast, Nvml, nvidia_smi, wait_until
from check_report import Report
from daemon_process import DaemonProcess

BALLAST = 3 * GIB
CHECKS = 1000
CLIENTS = 8
HELD_SECONDS = 4
PATIENCE = 60

# A job: says when it begins, holds memory for a while, says when it ends.
JOB = ('date +%s.%N; sleep "$2" | "$0" --take "$1" || exit 9; date +%s.%N')


def newcomers(before, now):
    return sorted(set(now) - set(before))


def times_of(output):
    """When a job began and ended, by its own words; nothing if it did not end well."""
    found = re.findall(r"^(\d+\.\d+)$", output, re.M)
    return tuple(map(float, found)) if len(found) == 2 else None


class AdmissionCheck:
    def __init__(self, programs, out):
        self.programs = programs
        self.out = out
        self.report = Report(out)
        self.nvml = Nvml()
        self.daemon = None

    def command(self, *arguments):
        return [self.programs / "memplan", *arguments, "--address", self.daemon.address]

    def cli(self, *arguments):
        return subprocess.run(self.command(*arguments), stdout=subprocess.PIPE, text=True,
                              check=True, timeout=PATIENCE).stdout

    def gpu(self):
        devices = json.loads(self.cli("devices", "--output", "json"))["devices"]
        return next((device for device in devices if device["kind"] == "DEVICE_KIND_CUDA"), None)

    # A reading that began after this call.
    def fresh_gpu(self):
        seen = int(self.gpu()["snapshot_id"])

        def later():
            gpu = self.gpu()
            return gpu if int(gpu["snapshot_id"]) >= seen + 2 else None
        return wait_until(later, "two readings more")

    @staticmethod
    def processes(gpu):
        return {int(process["pid"]): int(process["used_bytes"]) if process.get("used_bytes") else None
                for process in gpu["processes"]}

    def metrics(self):
        with urllib.request.urlopen(f"http://{self.daemon.metrics}/metrics", timeout=PATIENCE) as page:
            return page.read().decode()

    def series_of(self, pid):
        return re.findall(rf'^memplan_process_memory_used_bytes{{.*pid="{pid}".*}} (\S+)',
                          self.metrics(), re.M)

    def waiters(self):
        return int(re.search(r"^memplan_reservation_waiters (\d+)", self.metrics(), re.M).group(1))

    def check_bytes(self, when):
        gpu = self.fresh_gpu()
        card = self.nvml.read_card()
        seen = {key: int(gpu[f"{key}_bytes"]) for key in ("total", "driver_reserve", "used", "free")}
        self.report.check(
            f"{when}: total, reserve, used and free are NVML's to the byte",
            seen == {"total": card.total, "driver_reserve": card.reserved, "used": card.used,
                     "free": card.free}, f"{seen} against {card}")
        self.report.check(f"{when}: so are the processes", self.processes(gpu) == card.processes,
                          f"{self.processes(gpu)} against {card.processes}")
        smi = [int(word) for word in nvidia_smi("memory.total,memory.reserved,memory.used,memory.free")[0]]
        ours = [seen[key] for key in ("total", "driver_reserve", "used", "free")]
        self.report.check(f"{when}: nvidia-smi has the same in MiB",
                          all(abs(a - b / MIB) <= 1 for a, b in zip(smi, ours)), f"{smi}")
        self.report.check(f"{when}: it is called what the driver calls it", gpu["id"] == card.uuid,
                          gpu["id"])

    # In a container the driver numbers processes as the host does, so that the
    # only newcomer is the ballast.
    def check_ballast(self):
        before = self.nvml.read_card().processes
        with Ballast(self.programs, "--take", str(BALLAST)) as ballast:
            arrived = newcomers(before, self.nvml.read_card().processes)
            self.report.check("NVML has one process more, the ballast", len(arrived) == 1,
                              f"{arrived}; its own pid is {ballast.pid}")
            pid = arrived[0] if len(arrived) == 1 else ballast.pid
            self.check_bytes("with a ballast")
            held = self.processes(self.fresh_gpu()).get(pid)
            self.report.check("devices shows it with what it holds",
                              held is not None and BALLAST <= held <= BALLAST + GIB,
                              f"pid {pid} holds {held}")
            self.report.check("top shows it", re.search(rf"\b{pid}\b", self.cli("top", "--once")),
                              f"pid {pid}")
            series = self.series_of(pid)
            self.report.check("the metrics show it", [float(value) for value in series] == [held],
                              str(series))
            ballast.let_go()
            gone = self.fresh_gpu()
            self.report.check("one scrape after its end it has vanished from all three",
                              pid not in self.processes(gone) and not self.series_of(pid)
                              and not re.search(rf"\b{pid}\b", self.cli("top", "--once")),
                              str(self.processes(gone)))

    def start_job(self, promised, held):
        environment = {**os.environ, "LD_LIBRARY_PATH": gpu_models.library_path()}
        return subprocess.Popen(
            [*self.command("run"), "--bytes", f"{promised}B", "--wait", f"{PATIENCE}s", "--",
             "sh", "-c", JOB, str(self.programs / "memplan-ballast"), str(held), str(HELD_SECONDS)],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    # Each takes three fifths of what is free.
    def check_jobs(self):
        promised = int(self.fresh_gpu()["free_bytes"]) * 3 // 5
        held = promised - 2 * GIB  # the rest is for its context
        jobs = []
        try:
            jobs.append(self.start_job(promised, held))
            wait_until(lambda: sum(map(int, filter(None, self.processes(self.gpu()).values()))) > held,
                       "the first job to hold its memory")
            jobs.append(self.start_job(promised, held))
            wait_until(lambda: self.waiters() == 1, "the second job to wait")
            self.report.check("the second of two jobs waits while the first runs",
                              jobs[0].poll() is None, f"each is promised {promised}")
            told = [job.communicate(timeout=PATIENCE) for job in jobs]
        finally:
            for job in jobs:
                if job.poll() is None:
                    job.terminate()
                    job.wait()
        codes = [job.returncode for job in jobs]
        times = [times_of(out) for out, _ in told]
        self.report.check("both end well", codes == [0, 0] and all(times),
                          f"codes {codes}, {[err.strip()[-300:] for _, err in told]}")
        if all(times):
            (_, first_end), (second_begin, _) = times
            self.report.check("the second began after the first had ended", second_begin >= first_end,
                              f"{second_begin - first_end:.2f} s later")

    def check_own_memory(self):
        before = self.fresh_gpu()
        command = self.command("check", "--bytes", "1GiB", "--output", "json")
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            codes = list(pool.map(
                lambda _: subprocess.run(command, stdout=subprocess.DEVNULL, timeout=PATIENCE).returncode,
                range(CHECKS)))
        seconds = time.monotonic() - begin
        self.report.check(f"{CHECKS} checks say that it fits", codes.count(0) == CHECKS,
                          f"{codes.count(0)} do, in {seconds:.1f} s by {CLIENTS} clients")
        after = self.fresh_gpu()
        listed = [words[0] for words in nvidia_smi("pid", "compute-apps")]
        self.report.check("the daemon holds no GPU memory after them",
                          str(self.daemon.pid) not in listed
                          and self.processes(after).keys() == self.processes(before).keys()
                          and after["used_bytes"] == before["used_bytes"],
                          f"nvidia-smi lists {listed}, used {before['used_bytes']} before and "
                          f"{after['used_bytes']} after")

    def run(self):
        self.report.machine()
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            self.daemon = DaemonProcess(self.programs, Path(folder), gpu_models.library_path())
            self.daemon.command += ["--process-series", "20", "--headroom", "0B"]
            self.daemon.start()
            try:
                wait_until(self.gpu, "the first reading")
                self.check_bytes("idle")
                self.check_ballast()
                self.check_jobs()
                self.check_own_memory()
            finally:
                self.daemon.kill()
        seconds = time.monotonic() - begin
        self.report.check("it takes less than a minute", seconds < 60, f"{seconds:.1f} s")
        return self.report.finish()


def main():
    programs, out = (Path(argument).resolve() for argument in sys.argv[1:3])
    return AdmissionCheck(programs, out).run()


if __name__ == "__main__":
    sys.exit(main())
