"""Probes as jobs of a daemon that is left running: room, limits, waits, resumption."""

import json
import pathlib
import unittest
import uuid

import grpc

from harness import DONE, ERROR, NEVER, Gate, IntegrationTest, INPUT, wait_until
from reflection_client import ReflectionClient

GPUS = ("GPU-1", "GPU-2")
NOT_NOW = 3


class JobsTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.script = self.folder / "devices.json"
        self.write_devices()
        self.gate = Gate(self.folder / "gate")
        self.log = self.folder / "log"

    def write_devices(self, **holders):
        """Two GPUs of 80 GiB; `holders` says what a process holds of each, by its number."""
        devices = [{"id": gpu, "name": "Made up", "total": "80GiB", "processes": [
            {"pid": 4711, "name": "python", "used": used} for name, used in holders.items()
            if gpu.endswith(name[-1])]} for gpu in GPUS]
        new = self.script.with_suffix(".new")
        new.write_text(json.dumps({"devices": devices}))
        new.rename(self.script)

    def start(self, *more):
        self.start_server("--devices", f"script:{self.script}", *more)

    def model(self, name="model.pt", **script):
        return self.scripted_model(name, log=str(self.log), **script)

    def waiting_model(self, batch="16", **script):
        return self.model(gate=str(self.gate.path), on_batch={batch: "waits at the gate"},
                          limit_batch=20, once=str(self.folder / "once"), **script)

    def detached(self, model, *more, device="GPU-1", code=DONE):
        return self.memplan("probe", model, "--input", INPUT, "--device", device, "--budget",
                            "16GiB", "--detach", *more, code=code)[0].strip()

    def probe(self, probe_id):
        return next(p for p in self.memplan_json("list")["probes"] if p["id"] == probe_id)

    def wait_for_batch(self, probe_id, batch):
        wait_until(lambda: self.probe(probe_id).get("progress", {}).get("batch") == batch and
                   self.probe(probe_id)["progress"]["phase"] == "step", f"batch {batch}")

    def batches_run(self):
        orders = [line.split()[1] for line in self.log.read_text().splitlines()]
        return [order for order in orders if order.isdigit()]  # the others are no runs

    def client(self):
        client = ReflectionClient(self.server.address)
        self.addCleanup(client.close)
        return client

    def error_of(self, call):
        with self.assertRaises(grpc.RpcError) as raised:
            call()
        return raised.exception

    def test_two_gpus_run_probes_side_by_side(self):
        self.start()
        model = self.scripted_model(gate=str(self.gate.path),
                                    on_batch={"16": "waits at the gate"}, limit_batch=20)
        one, two = (self.detached(model, device=gpu) for gpu in GPUS)
        self.wait_for_batch(one, "16")
        self.wait_for_batch(two, "16")
        self.memplan("cancel", one)
        self.memplan("cancel", two)

    def test_a_probe_waits_for_room_and_says_for_what(self):
        self.write_devices(on1="70GiB")
        self.start()
        probe_id = self.detached(self.model(limit_batch=5))
        waiting = wait_until(lambda: self.probe(probe_id)["waiting_for"] and self.probe(probe_id),
                             "the reason")
        self.assertEqual(waiting["state"], "PROBE_STATE_QUEUED")
        self.assertEqual(waiting["waiting_reason"], "WAITING_REASON_ROOM")
        self.assertEqual(waiting["waiting_for"],
                         "GPU-1 has 10.0 GiB left; the budget needs 16.0 GiB; pid 4711 (python) "
                         "holds 70.0 GiB")
        alone = self.detached(self.model(limit_batch=5), "--when-idle", device="GPU-2")
        self.assertEqual(self.memplan_json("watch", alone)["plan"]["safe_batch"], "5")
        self.write_devices()
        self.assertEqual(self.memplan_json("watch", probe_id)["plan"]["safe_batch"], "5")

    def trial_in_which_others_take(self, runs, **script):
        """A profile whose batch 16 runs out of memory `runs` times while a neighbour grows."""
        model = self.model(gate=str(self.gate.path), on_batch={"16": "runs out at the gate"},
                           **script)
        probe_id = self.memplan("profile", model, "--input", INPUT, "--device", "GPU-1", "--cap",
                                "16GiB", "--batches", "16", "--detach")[0].strip()
        for run in range(1, runs + 1):
            wait_until(lambda: self.log.exists() and self.batches_run().count("16") == run,
                       f"run {run} of batch 16")
            self.write_devices(on1=f"{66 + 4 * run}GiB")
            self.gate.open_for_one()
        probe = self.memplan_json("watch", probe_id, code=NEVER if runs > 1 else DONE)
        self.assertEqual(self.batches_run(), ["16", "16"])
        self.assertEqual(len(probe["trials"]), 1)
        return probe["trials"][0]

    def test_a_trial_in_which_a_neighbour_grew_is_repeated(self):
        self.start()
        trial = self.trial_in_which_others_take(1, once=str(self.folder / "once"))
        self.assertEqual(trial["outcome"], "TRIAL_OUTCOME_FITS")

    def test_a_neighbour_that_grows_again_is_told(self):
        self.start()
        trial = self.trial_in_which_others_take(2)
        self.assertEqual(trial["outcome"], "TRIAL_OUTCOME_OUT_OF_MEMORY")
        self.assertEqual(trial["end_class"], "neighbour-moved")
        self.assertIn("other processes took 4.00 GiB of GPU-1 during the trial, which left 6.00 GiB",
                      trial["message"])

    def test_a_probe_goes_on_from_its_trials_after_a_kill(self):
        self.start()
        probe_id = self.detached(self.waiting_model())
        self.wait_for_batch(probe_id, "16")
        before = self.batches_run()
        self.server.kill()
        self.server.start()
        probe = self.memplan_json("watch", probe_id, "--wait", "1m")
        self.assertEqual(probe["plan"]["safe_batch"], "20")
        self.assertEqual(probe["restart_count"], 1)
        self.assertEqual(probe["begun_anew_reason"], "")
        self.assertEqual(probe["worker_version"], "scripted")
        # Only the trial that was cut off has run twice.
        after = self.batches_run()[len(before):]
        self.assertEqual(after[0], "16")
        self.assertEqual(len(before) - 1 + len(after), len(probe["trials"]))

    def test_sigterm_lets_the_running_trial_end_and_no_trial_runs_twice(self):
        self.start()
        probe_id = self.detached(self.waiting_model())
        self.wait_for_batch(probe_id, "16")
        self.server.process.terminate()
        self.gate.open_for_one()
        self.assertEqual(self.server.wait(), 0, "".join(self.server.words))
        self.server.start()
        probe = self.memplan_json("watch", probe_id)
        self.assertEqual(probe["plan"]["safe_batch"], "20")
        self.assertEqual(probe["restart_count"], 1)
        self.assertEqual(self.batches_run(), [trial["batch"] for trial in probe["trials"]])

    def test_limits_end_a_probe_with_what_it_learned(self):
        self.start()
        out, err = self.memplan("probe", self.model(limit_batch=20), "--input", INPUT, "--device",
                                "cpu", "--cap", "1GiB", "--max-trials", "3", "--output", "json",
                                code=ERROR)
        probe = json.loads(out)
        self.assertIn("PROBE_TRIAL_LIMIT", err)
        self.assertEqual(len(probe["trials"]), 3)
        self.assertEqual(probe["largest_running_batch"], "16")
        self.assertEqual(probe["smallest_failing_batch"], "32")
        _, err = self.memplan("probe", self.scripted_model(on_batch={"16": "hangs"}), "--input",
                              INPUT, "--device", "cpu", "--cap", "1GiB", "--time-limit", "1s",
                              code=ERROR)
        self.assertIn("PROBE_TIME_LIMIT", err)
        self.assertIn("the largest batch that ran is 8", err)

    def test_workers_are_as_nice_as_asked(self):
        self.start()
        probe_id = self.detached(self.waiting_model(), "--nice", "7")
        self.wait_for_batch(probe_id, "16")
        stat = pathlib.Path(f"/proc/{self.server.workers()[0]}/stat").read_text()
        self.assertEqual(stat.rsplit(")", 1)[1].split()[16], "7")
        self.memplan("cancel", probe_id)

    def test_workers_that_cannot_start_are_given_up(self):
        self.worker_link.unlink()
        self.worker_link = self.folder / "dies-at-once"
        self.worker_link.symlink_to(self.worker)
        self.start()
        _, err = self.memplan("profile", self.model(), "--input", INPUT, "--device", "cpu",
                              "--cap", "1GiB", "--batches", "1,2,3,4", code=ERROR)
        self.assertIn("WORKER_KEEPS_DYING", err)
        probe_id = self.detached(self.model())
        wait_until(lambda: self.probe(probe_id)["waiting_reason"] == "WAITING_REASON_WORKERS",
                   "the rest")

    def test_old_probes_are_forgotten(self):
        self.start("--keep-probes", "1")
        ids = [self.memplan_json(*self.probe_arguments(self.model(limit_batch=2)))["id"]
               for _ in range(2)]
        wait_until(lambda: [p["id"] for p in self.memplan_json("list")["probes"]] == ids[1:],
                   "the first to be forgotten")
        wait_until(lambda: [f.name for f in (self.server.store / "traces").iterdir()] == ids[1:],
                   "its traces to be gone")

    def test_a_wait_ends_with_the_time_the_probe_or_the_daemon(self):
        self.start()
        probe_id = self.detached(self.waiting_model())
        self.wait_for_batch(probe_id, "16")
        out, _ = self.memplan("watch", probe_id, "--wait", "50ms", code=NOT_NOW)
        self.assertIn("running", out)
        client = self.client()
        request = client.message("memplan.v1.WaitProbeRequest", id=probe_id)
        request.timeout.FromMilliseconds(0)
        answer = client.call("ProbeService/WaitProbe", request)
        self.assertEqual(answer.probe.largest_running_batch, 8)
        request.ClearField("timeout")
        error = self.error_of(lambda: client.call("ProbeService/WaitProbe", request, timeout=0.1))
        self.assertEqual(error.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        waits = [self.start_memplan("watch", probe_id, "--wait", "1m") for _ in range(2)]
        self.gate.open_for_one()
        for wait in waits:
            self.assertEqual(wait.wait(60), DONE)

    def test_a_watch_sends_nothing_that_its_caller_has(self):
        self.start()
        client = self.client()
        probe_id = self.detached(self.waiting_model())
        self.wait_for_batch(probe_id, "16")
        def watch(after_version):
            request = client.message("memplan.v1.WatchProbeRequest", id=probe_id,
                                     after_version=after_version)
            return client.call("ProbeService/WatchProbe", request)
        stream = watch(0)
        known = next(stream).probe.version
        stream.cancel()
        stream = watch(known)
        self.gate.open_for_one()
        versions = [answer.probe.version for answer in stream]
        self.assertGreater(versions[0], known)
        self.assertEqual(versions, sorted(set(versions)))
        self.assertEqual(list(watch(versions[-1])), [])

    def test_a_request_id_makes_one_probe_over_a_restart(self):
        self.start()
        model = self.memplan_json("models", "upload", self.model(limit_batch=2))["model"]["sha256"]
        client = self.client()
        request_id = str(uuid.uuid4())
        def create(cap):
            spec = client.message(
                "memplan.v1.ProbeSpec", model_sha256=model, device_id="cpu", inputs=[INPUT],
                cap_bytes=cap, mode=client.enum("memplan.v1.Mode", "MODE_INFER"),
                run_as=client.enum("memplan.v1.RunAs", "RUN_AS_TORCHSCRIPT"),
                search=client.message("memplan.v1.SearchTask"))
            return client.call("ProbeService/CreateProbe", client.message(
                "memplan.v1.CreateProbeRequest", spec=spec, request_id=request_id)).probe.id
        probe_id = create(1 << 30)
        self.server.kill()
        self.server.start()
        client.channel = grpc.insecure_channel(self.server.address)
        self.assertEqual(create(1 << 30), probe_id)
        error = self.error_of(lambda: create(1 << 29))
        self.assertEqual(error.code(), grpc.StatusCode.ALREADY_EXISTS)
        self.assertEqual(client.details(error)["ErrorInfo"].reason, "REQUEST_ID_REUSED")


if __name__ == "__main__":
    unittest.main()
