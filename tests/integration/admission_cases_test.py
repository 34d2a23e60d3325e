"""Rows of the daemon's table of public cases, shown on the whole daemon.

A file of made-up devices plays the node; each test is named for its row.
docs/cases_admission.md has every row and the tests that show it.
"""

import json
import os
import pathlib
import re
import subprocess
import unittest
import urllib.request

import grpc

import admission_test
from harness import DONE, INPUT, NEVER, PATIENCE, SERVER, Gate, wait_until
from reflection_client import ReflectionClient

NOT_NOW, UNKNOWN = admission_test.NOT_NOW, admission_test.UNKNOWN
GIB = 2**30
MIB = 2**20


def card(name="GPU-1", total="24GiB", used="0B", **more):
    return {"id": name, "name": "Made up", "total": total, "driver_reserve": "0B", "used": used, **more}


class CasesTest(admission_test.AdmissionTest):
    def play(self, *devices, **more):
        """From now on the node has these devices."""
        new = self.script.with_suffix(".new")
        new.write_text(json.dumps({"devices": devices, **more}))
        new.rename(self.script)

    def start_unready(self, *more):
        self.start_server("--devices", f"script:{self.script}", "--headroom", "0B", *more)

    def page(self):
        with urllib.request.urlopen(f"http://{self.server.metrics}/metrics", timeout=PATIENCE) as page:
            return page.read().decode()

    def sample(self, name, **labels):
        """The value of a series, or None if the page has none."""
        wanted = "".join(rf'(?=[^}}]*{label}="{re.escape(value)}")' for label, value in labels.items())
        found = re.search(rf"^{name}{{{wanted}[^}}]*}} (\S+)", self.page(), re.M)
        return float(found.group(1)) if found else None

    def wait_for_sample(self, value, name, **labels):
        wait_until(lambda: self.sample(name, **labels) == value, f"{name}{labels} to be {value}")

    def healthy(self):
        """What gRPC's health service says of the devices."""
        with grpc.insecure_channel(self.server.address) as channel:
            ask = channel.unary_unary("/grpc.health.v1.Health/Check")
            # HealthCheckRequest{service: "devices"}; HealthCheckResponse{status: SERVING or NOT_SERVING}
            return {b"\x08\x01": True, b"\x08\x02": False}[ask(b"\n\x07devices", timeout=PATIENCE)]


class MemoryTest(CasesTest):
    # volcano-sh/volcano#5532: what is recorded drifts from what is.
    def test_row_3_expiry_release_and_restart_leave_the_record_true(self):
        self.start()
        kept = self.reserve("4GiB", "--lifetime", "1h")
        short = self.reserve("4GiB", "--lifetime", "1s")
        gone = self.reserve("4GiB", "--lifetime", "1h")
        self.memplan("release", gone["id"], "--token", gone["token"])
        self.server.kill()
        self.server.start()
        wait_until(lambda: self.states()[short["id"]] == "EXPIRED", "the short one to expire")
        self.assertEqual(self.states(), {kept["id"]: "PROMISED", short["id"]: "EXPIRED", gone["id"]: "RELEASED"})
        self.assertEqual(int(self.judgement("20GiB", code=DONE)["available_bytes"]), 20 * GIB)
        self.verdict("20481MiB", code=NOT_NOW)

    # KAI-Scheduler#416: 24 times 2000 MiB admitted on 46068 MiB.
    def test_row_5_bytes_are_counted_and_units_never_guessed(self):
        self.play(card(total="46068MiB"))
        self.start()
        for _ in range(23):
            self.reserve("2000MiB", "--lifetime", "1h")
        told = self.judgement("2000MiB", code=NOT_NOW)
        self.assertEqual(int(told["available_bytes"]), (46068 - 23 * 2000) * MIB)
        self.verdict("68MiB", code=DONE)
        self.verdict("71303169", code=NOT_NOW)  # one byte more
        self.memplan("check", "--bytes", "68M", code=2)
        self.memplan("check", "--bytes", "68 Mi", code=2)

    # KAI-Scheduler#2212: jobs under their request die of what the driver keeps.
    def test_row_6_driver_reserve_and_headroom_are_not_given_away(self):
        self.play(card(total="15360MiB", driver_reserve="450MiB"))
        self.start()
        self.verdict("14910MiB", code=DONE)
        self.verdict("14911MiB", code=NEVER)
        told = self.judgement("14810MiB", "--headroom", "100MiB", code=DONE)
        self.assertEqual(int(told["driver_reserve_bytes"]), 450 * MIB)
        self.verdict("14811MiB", "--headroom", "100MiB", code=NEVER)

    # dcgm-exporter#271, #136: used and free are not the total.
    def test_row_19_total_is_driver_reserve_and_used_and_free(self):
        self.play(card(driver_reserve="600MiB", used="10GiB"))
        self.start()
        parts = {part: self.sample(f"memplan_device_memory_{part}_bytes", device="GPU-1")
                 for part in ("total", "driver_reserve", "used", "free")}
        self.assertEqual(parts["total"], parts["driver_reserve"] + parts["used"] + parts["free"])
        self.assertEqual(parts["total"], 24 * GIB)

    # pytorch#4031, gpu-operator#2880: memory held after its process is gone.
    def test_row_26_memory_without_a_process_is_exported_and_counts_as_taken(self):
        self.play(card(used="10GiB", processes=[{"pid": 4711, "name": "python", "used": "4GiB"}]))
        self.start()
        self.assertEqual(self.sample("memplan_device_memory_unattributed_bytes", device="GPU-1"), 6 * GIB)
        told = self.judgement("15GiB", code=NOT_NOW)
        self.assertEqual(int(told["unattributed_bytes"]), 6 * GIB)
        self.assertEqual(int(told["available_bytes"]), 14 * GIB)

    # gpustack#1633, tensorflow#32881: CUDA's order is not nvidia-smi's.
    def test_row_24_a_number_counts_in_the_numbering_it_names(self):
        self.play(card("GPU-a", total="8GiB", nvml_index=0, cuda_index=1),
                  card("GPU-b", total="80GiB", nvml_index=1, cuda_index=0))
        self.start()
        for name, device in (("nvml:0", "GPU-a"), ("cuda:0", "GPU-b"), ("nvml:1", "GPU-b"), ("GPU-a", "GPU-a")):
            self.assertEqual(self.judgement("1GiB", "--device", name, code=DONE)["device_id"], device)
        _, words = self.memplan("check", "--bytes", "1GiB", "--device", "0", code=1)
        self.assertIn("nvml:0, cuda:0", words)


class FailingDriverTest(CasesTest):
    # gpu-monitoring-tools#188: the back end is gone, old values are served on.
    def test_row_14_without_its_source_the_daemon_serves_no_old_values(self):
        self.play(card(used="10GiB"))
        self.start()
        self.assertTrue(self.healthy())
        self.script.unlink()
        wait_until(lambda: not self.healthy(), "the health to turn")
        self.wait_for_sample(0, "memplan_device_up", device="GPU-1")
        self.assertIsNone(self.sample("memplan_device_memory_used_bytes", device="GPU-1"))
        age = self.sample("memplan_device_snapshot_age_seconds", device="GPU-1")
        wait_until(lambda: self.sample("memplan_device_snapshot_age_seconds", device="GPU-1") != age,
                   "the age to go on")
        self.verdict("1GiB", "--device", "GPU-1", code=UNKNOWN)

    # dcgm-exporter#164: one GPU hangs, and all metrics with it.
    def test_row_15_a_device_that_hangs_is_late_alone(self):
        self.play(card("GPU-1"), card("GPU-2", hangs=True))
        self.start()
        self.wait_for_sample(0, "memplan_device_up", device="GPU-2")
        self.assertEqual(self.sample("memplan_device_up", device="GPU-1"), 1)
        self.verdict("1GiB", "--device", "GPU-1", code=DONE)
        self.assertEqual(self.judgement("1GiB", code=DONE)["device_id"], "GPU-1")
        self.verdict("1GiB", "--device", "GPU-2", code=UNKNOWN)

    # dcgm-exporter#348: a GPU off the bus is a state, not silence.
    def test_row_17_a_lost_device_is_shown_as_such(self):
        self.start()
        self.play(card(read_error="the GPU is lost"))
        self.wait_for_sample(0, "memplan_device_up", device="GPU-1")
        wait_until(lambda: not self.healthy(), "the health to turn")
        told = self.judgement("1GiB", "--device", "GPU-1", code=UNKNOWN)
        self.assertEqual(told["reason"], "VERDICT_REASON_DEVICE_LOST")
        self.assertIn("the GPU is lost", told["message"])

    # dcgm-exporter#140: a finished job's metrics stay for half an hour.
    def test_row_18_a_process_that_ended_has_no_series_at_the_next_scrape(self):
        self.play(card(processes=[{"pid": 4711, "name": "python", "used": "4GiB"}], used="4GiB"))
        self.start("--process-series", "10")
        self.assertEqual(self.sample("memplan_process_memory_used_bytes", pid="4711"), 4 * GIB)
        self.play(card())
        self.wait_for_sample(0, "memplan_device_memory_used_bytes", device="GPU-1")
        self.assertIsNone(self.sample("memplan_process_memory_used_bytes", pid="4711"))

    # nvidia_gpu_exporter#65, #438: no way back after one failed query.
    def test_row_46_a_device_that_answers_again_is_back_and_was_never_idle(self):
        self.play(card(used="10GiB", read_error="a query failed"))
        self.start_unready()
        self.wait_for_sample(0, "memplan_device_up", device="GPU-1")
        self.assertIsNone(self.sample("memplan_device_memory_used_bytes", device="GPU-1"))
        self.play(card(used="10GiB"))
        self.wait_for_sample(1, "memplan_device_up", device="GPU-1")
        self.wait_for_sample(10 * GIB, "memplan_device_memory_used_bytes", device="GPU-1")
        wait_until(self.healthy, "the health to turn back")
        wait_until(lambda: self.verdict("14GiB") == "VERDICT_FITS", "the verdict")

    # eks-node-monitoring-agent#241: no GPU, and still healthy.
    def test_row_47_no_gpu_is_not_ready_where_one_is_expected(self):
        self.play(gpu_absence_reason="the driver is not loaded")
        self.start_unready("--expected-gpus", "1")
        wait_until(lambda: not self.healthy(), "the health to turn")
        self.assertIn("the driver is not loaded", self.memplan("status", code=1)[0])
        self.verdict("1GiB", code=UNKNOWN)
        self.play(card())
        wait_until(self.healthy, "the health to turn back")


class PartitionsTest(CasesTest):
    # k8s-device-plugin#389, #992, dcgm-exporter#443: MIG as it changes.
    def test_row_21_22_instances_come_and_go_while_the_daemon_runs(self):
        whole = card("GPU-1", total="80GiB", partitioned=True)
        self.play(whole)
        self.start_unready()  # MIG mode, and no instance: row 22
        wait_until(lambda: self.sample("memplan_device_up", device="GPU-1") == 1, "the first reading")
        self.verdict("1GiB", code=UNKNOWN)
        self.play(whole, card("MIG-a", total="10GiB", parent="GPU-1"), card("MIG-b", total="40GiB", parent="GPU-1"))
        wait_until(lambda: self.verdict("39GiB") == "VERDICT_FITS", "the instances")
        mine = self.reserve("9GiB", "--device", "MIG-a", "--lifetime", "1h")
        self.assertEqual(self.judgement("41GiB", code=NEVER)["device_id"], "MIG-b")
        self.play(whole, card("MIG-c", total="80GiB", parent="GPU-1"))
        wait_until(lambda: self.states()[mine["id"]] == "DEVICE_GONE", "the reservation to end")
        self.assertEqual(self.judgement("79GiB", code=DONE)["device_id"], "MIG-c")
        _, words = self.memplan("renew", mine["id"], "--token", mine["token"], code=1)
        self.assertIn("its device is gone", words)


class ProbesTest(CasesTest):
    def probe(self, gate, *more, at_16="waits at the gate", **script):
        model = self.scripted_model(gate=str(gate.path), on_batch={"16": at_16}, limit_batch=20,
                                    once=str(self.folder / "once"), **script)
        return self.memplan("probe", model, "--input", INPUT, "--device", "GPU-1", "--detach", *more)[0].strip()

    def at_gate(self, probe_id):
        probe = next(p for p in self.memplan_json("list")["probes"] if p["id"] == probe_id)
        progress = probe.get("progress", {})
        return progress.get("batch") == "16" and progress.get("phase") == "step"

    # vllm#56830, #45534: another tenant's memory moves while one profiles.
    def test_row_27_a_neighbour_that_grows_and_shrinks_changes_no_answer(self):
        self.play(card(total="80GiB"))
        self.start()
        gate = Gate(self.folder / "gate")
        probe_id = self.probe(gate, "--budget", "16GiB")
        wait_until(lambda: self.at_gate(probe_id), "batch 16")
        self.verdict("64GiB", code=DONE)  # beside what the probe holds
        self.verdict("65GiB", code=NOT_NOW)
        neighbour = {"pid": 4711, "name": "python", "used": "60GiB"}
        self.play(card(total="80GiB", used="60GiB", processes=[neighbour]))
        wait_until(lambda: self.verdict("5GiB") == "VERDICT_NOT_NOW", "the neighbour to be seen")
        self.play(card(total="80GiB"))
        wait_until(lambda: self.verdict("64GiB") == "VERDICT_FITS", "the neighbour to be gone")
        gate.open_for_one()
        probe = self.memplan_json("watch", probe_id)
        self.assertEqual(probe["plan"]["safe_batch"], "20")
        self.assertEqual(self.verdict("80GiB"), "VERDICT_FITS")

    # The same: a trial runs out of memory because of it.
    def test_row_27_a_trial_that_a_neighbour_disturbed_is_repeated_and_decides_nothing(self):
        self.play(card(total="80GiB"))
        self.start()
        gate, log = Gate(self.folder / "gate"), self.folder / "runs"
        # Beside the neighbour there is less left than the trial may take.
        probe_id = self.probe(gate, "--cap", "16GiB", at_16="runs out at the gate", log=str(log))
        wait_until(lambda: self.at_gate(probe_id), "batch 16")
        # A process that lives, so that it can be told from the daemon's own workers.
        neighbour = {"pid": os.getpid(), "name": "python", "used": "70GiB"}
        self.play(card(total="80GiB", used="70GiB", processes=[neighbour]))
        gate.open_for_one()
        probe = self.memplan_json("watch", probe_id)
        self.assertEqual((probe["plan"]["safe_batch"], probe["plan"]["verified"]), ("20", True))
        # Run twice, and only the repetition is evidence.
        self.assertGreaterEqual([line.split()[1] for line in log.read_text().splitlines()].count("16"), 2)
        outcomes = [trial["outcome"] for trial in probe["trials"] if trial["batch"] == "16"]
        self.assertEqual(set(outcomes), {"TRIAL_OUTCOME_FITS"})

    # triton server#145: a model too large kills the server.
    def test_row_34_a_worker_that_dies_costs_a_trial_and_its_memory_is_free_again(self):
        self.play(card(total="80GiB"))
        self.start()
        gate = Gate(self.folder / "gate")
        probe_id = self.probe(gate, "--budget", "16GiB")
        wait_until(lambda: self.at_gate(probe_id), "batch 16")
        (worker,) = self.server.workers()
        os.kill(worker, 9)
        self.assertEqual(self.memplan_json("watch", probe_id)["plan"]["safe_batch"], "20")
        self.assertIsNone(self.server.process.poll())
        self.assertEqual(self.verdict("80GiB"), "VERDICT_FITS")


class StartTest(CasesTest):
    # civetweb#1334: a TLS metrics page that does not start.
    def test_row_44_tls_for_the_metrics_page_is_refused_with_a_message(self):
        def refused(*arguments):
            result = subprocess.run([SERVER, "--store", str(self.folder / "store"), *arguments], text=True,
                                    env=self.environment, capture_output=True, timeout=PATIENCE)
            self.assertNotEqual(result.returncode, DONE)
            return result.stderr
        self.assertIn("https://127.0.0.1:9464", refused("--metrics", "https://127.0.0.1:9464"))
        config = self.folder / "server.toml"
        config.write_text('metrics_tls_certificate = "cert.pem"\n')
        self.assertIn("metrics_tls_certificate", refused("--config", str(config)))

    # llama.cpp#23604, pytorch#86493: asking for free memory takes memory. The
    # driver's own figure, 0 bytes, is looked at on a real GPU by tests/gpu/run.
    def test_row_54_a_thousand_checks_open_no_gpu(self):
        self.start()
        client = ReflectionClient(self.server.address)
        self.addCleanup(client.close)
        job = client.message("memplan.v1.Job", bytes=GIB)
        request = client.message("memplan.v1.BatchCheckRequest", jobs=[job] * 100)
        for _ in range(10):
            judgements = client.call("AdmissionService/BatchCheck", request).judgements
            self.assertEqual({j.device_id for j in judgements}, {"GPU-1"})
        folder = pathlib.Path(f"/proc/{self.server.process.pid}")
        opened = [os.readlink(file) for file in (folder / "fd").iterdir()]
        self.assertFalse([path for path in opened if "/dev/nvidia" in path])
        self.assertFalse(re.findall(r"lib(?:cuda|cudart|torch)\b.*", (folder / "maps").read_text()))


if __name__ == "__main__":
    unittest.main()
