#!/usr/bin/env python3
"""Kills the daemon or a worker at random moments of running probes, again and again.

    kill_test.py [--kills 500] [--seed 1]

Two made-up GPUs run probes of short trials side by side. After each kill no ended probe may
be lost or changed. At the end every probe must have the right answer, and nothing may be
left over: no process, no descriptor, no memory file, no trace of a probe that is not there.
Prints a short table. Needs the environment of the integration tests (tests/integration).
"""

import argparse
import collections
import json
import os
import pathlib
import random
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

import grpc  # noqa: E402
from harness import (  # noqa: E402
    INPUT, MEMPLAN, SCRIPTED_WORKER, Server, processes_about, wait_until, write_scripted_model)
from reflection_client import ReflectionClient  # noqa: E402
import subprocess  # noqa: E402

GPUS = ("GPU-1", "GPU-2")
LIMITS = (3, 9, 14, 20, 33)  # a model each: the largest batch that runs
UNFINISHED = 2  # probes kept in each GPU's line
LONGEST_WAIT = 0.15  # seconds before a kill
AT_ANY_MOMENT = 0.1  # of all kills; the others wait until a trial runs
DAEMON_KILLS = 0.7  # of all


class Soak:
    def __init__(self, folder, seed):
        self.folder = folder
        self.random = random.Random(seed)
        self.counts = collections.Counter()
        self.created = {}  # the largest batch of each probe's model, by its id
        self.ended = {}  # what each ended probe was, by its id
        script = folder / "devices.json"
        script.write_text(json.dumps({"devices": [{"id": g, "total": "80GiB"} for g in GPUS]}))
        worker = folder / "worker"
        worker.symlink_to(SCRIPTED_WORKER)
        scratch = folder / "scratch"
        scratch.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(scratch)}
        self.server = Server(folder, environment, "--worker", worker, "--devices",
                             f"script:{script}", "--keep-probes", "100000")
        self.server.start()
        self.models = {limit: self.upload(limit, environment) for limit in LIMITS}
        self.client = ReflectionClient(self.server.address)
        self.call("ListProbes")
        self.descriptors = self.count_descriptors()

    def upload(self, limit, environment):
        path = write_scripted_model(self.folder / f"{limit}.pt", limit_batch=limit,
                                    step_seconds=0.002)
        out = subprocess.run([MEMPLAN, "models", "upload", path, "--address", self.server.address,
                              "--output", "json"], env=environment, check=True,
                             capture_output=True).stdout
        return json.loads(out)["model"]["sha256"]

    def call(self, method, **fields):
        request = self.client.message(f"memplan.v1.{method}Request", **fields)
        return self.client.call(f"ProbeService/{method}", request)

    def count_descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.server.process.pid}/fd").iterdir()))

    def create(self, gpu):
        limit = self.random.choice(LIMITS)
        spec = self.client.message(
            "memplan.v1.ProbeSpec", model_sha256=self.models[limit], device_id=gpu,
            inputs=[INPUT], cap_bytes=1 << 30, steps=2,
            mode=self.client.enum("memplan.v1.Mode", "MODE_INFER"),
            run_as=self.client.enum("memplan.v1.RunAs", "RUN_AS_TORCHSCRIPT"),
            search=self.client.message("memplan.v1.SearchTask"))
        probe = self.call("CreateProbe", spec=spec, request_id=f"{self.random.random()}").probe
        self.created[probe.id] = limit

    def look(self):
        """Takes note of what has ended, and returns what has not."""
        listed, token = {}, ""
        while True:
            page = self.call("ListProbes", page_size=1000, page_token=token)
            listed.update({p.id: p for p in page.probes})
            token = page.next_page_token
            if not token:
                break
        lost = self.created.keys() - listed.keys()
        assert not lost, f"probes were lost: {lost}"
        for probe_id, probe in listed.items():
            if not probe.HasField("end_time"):
                continue
            if probe_id not in self.ended:
                whole = self.call("GetProbe", id=probe_id).probe
                self.check_answer(whole)
                self.ended[probe_id] = probe
            assert self.ended[probe_id] == probe, f"an ended probe changed: {probe}"
        return [p for p in listed.values() if p.id not in self.ended]

    def check_answer(self, probe):
        deaths = collections.Counter(
            t.batch for t in probe.trials
            if t.outcome == self.client.enum("memplan.v1.TrialOutcome",
                                             "TRIAL_OUTCOME_WORKER_DIED"))
        self.counts["worker deaths seen in trials"] += deaths.total()
        self.counts["probes cut short and resumed"] += probe.restart_count > 0
        assert not probe.begun_anew_reason, probe.begun_anew_reason
        if any(times > 1 for times in deaths.values()):
            self.counts["probes with a batch killed twice"] += 1  # a wall, rightly
            return
        expected = self.created[probe.id]
        assert probe.plan.safe_batch == expected, f"not {expected}: {probe}"
        assert probe.plan.verified, probe
        numbers = [t.number for t in probe.trials]
        assert numbers == list(range(1, len(numbers) + 1)), numbers

    def kill(self):
        workers = self.server.workers()
        if workers and self.random.random() > DAEMON_KILLS:
            try:
                os.kill(self.random.choice(workers), 9)
            except ProcessLookupError:
                return False
            self.counts["kills of a worker"] += 1
            return True
        self.counts["kills of the daemon"] += 1
        self.counts["of them with a trial running"] += bool(workers)
        self.server.kill()
        self.server.start()
        self.client.channel.close()
        self.client.channel = grpc.insecure_channel(self.server.address)
        return True

    def run(self, kills):
        done = 0
        while done < kills:
            for gpu in GPUS:
                waiting = [p for p in self.look() if p.spec.device_id == gpu]
                for _ in range(UNFINISHED - len(waiting)):
                    self.create(gpu)
            if self.random.random() > AT_ANY_MOMENT:
                wait_until(self.server.workers, "a trial")
            time.sleep(self.random.uniform(0, LONGEST_WAIT))
            done += self.kill()
        wait_until(lambda: not self.look(), "the last probes to end", 120)

    def check_that_nothing_is_left(self):
        pid = self.server.process.pid
        wait_until(lambda: list(processes_about(str(self.folder))) == [pid],
                   "all workers to be gone", 20)
        wait_until(lambda: self.count_descriptors() <= self.descriptors,
                   f"no more than {self.descriptors} descriptors", 20)
        names = [os.readlink(f) for f in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
        assert not [n for n in names if "memfd" in n], names
        store = self.server.store
        assert not list((store / "parts").iterdir())
        traces = {f.name for f in (store / "traces").iterdir()}
        assert traces <= self.created.keys(), traces - self.created.keys()
        for folder in traces:
            trials = len(self.call("GetProbe", id=folder).probe.trials)
            files = {f.name for f in (store / "traces" / folder).iterdir()}
            allowed = {f"{number}.trace" for number in range(1, trials + 1)}
            assert files <= allowed, f"{folder}: {files - allowed}"
        assert not list((self.folder / "scratch").iterdir())
        assert self.server.stop() == 0
        assert not processes_about(str(self.folder))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memplan-soak-") as folder:
        begun = time.monotonic()
        soak = Soak(pathlib.Path(folder), options.seed)
        try:
            soak.run(options.kills)
            soak.check_that_nothing_is_left()
        finally:
            if soak.server.process.poll() is None:
                soak.server.kill()
            soak.client.close()
        soak.counts["probes ended, all kept and right"] = len(soak.ended)
        for what, count in soak.counts.items():
            print(f"{count:6} {what}")
        print(f"{time.monotonic() - begun:6.0f} seconds; nothing left over")


if __name__ == "__main__":
    main()
