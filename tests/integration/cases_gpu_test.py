"""Cases of public reports (docs/cases.md) about a GPU, each named by its row: the real daemon with
a made-up card and a scripted worker, so that searches predict before they bisect.

A model takes 64 MiB, and 16 MiB for each sample.
"""

import json
import subprocess
import unittest

from harness import DONE, ERROR, NEVER, PATIENCE, INPUT, Gate, IntegrationTest, wait_until

UNKNOWN = 7
MIB = 1 << 20
GIB = 1 << 30


class GpuCasesTest(IntegrationTest):
    def start(self, *others, **card):
        devices = self.folder / "devices.json"
        devices.write_text(json.dumps({"devices": [{"id": "GPU-1", "total": "80GiB", **card},
                                                   *others]}))
        self.start_server("--devices", f"script:{devices}")

    def model(self, **script):
        return self.scripted_model(**{"base_bytes": 64 * MIB, "bytes_per_sample": 16 * MIB,
                                      **script})

    def ask(self, verb, *more, device="GPU-1", code=DONE, **script):
        return self.memplan_json(verb, self.model(**script), "--input", INPUT, "--device", device,
                                 *more, code=code)

    def detached(self, model, *more, device="GPU-1"):
        return self.memplan("probe", model, "--input", INPUT, "--device", device, "--detach",
                            *more)[0].strip()

    def what_waits(self, probe_id):
        """The reason why a probe does not begin, once it is known."""
        def told():
            probes = {probe["id"]: probe for probe in self.memplan_json("list")["probes"]}
            return probes[probe_id]["waiting_for"]
        return wait_until(told, f"what {probe_id} waits for")

    def assert_found(self, probe, batch, limit="MEMORY"):
        plan = probe["plan"]
        self.assertEqual(plan["verdict"], "PLAN_VERDICT_FOUND")
        self.assertEqual((plan["safe_batch"], plan["limit"]), (str(batch), f"SEARCH_LIMIT_{limit}"))
        self.assertTrue(plan["verified"])
        runs = [t for t in probe["trials"] if t["batch"] == str(batch)]
        self.assertIn("TRIAL_PURPOSE_VERIFY", [t["purpose"] for t in runs])


class LimitsTest(GpuCasesTest):
    def test_limits_of_1_2_and_3_and_odd_ones_are_found(self):
        self.start()
        for limit in (1, 2, 3, 9, 37):
            with self.subTest(limit=limit):
                self.assert_found(self.ask("probe", "--cap", (64 + 16 * limit) * MIB), limit)

    def test_case_07_the_users_limit_is_honoured_exactly_and_itself_run(self):
        self.start()
        for limit in (1, 7, 777):
            with self.subTest(limit=limit):
                probe = self.ask("probe", "--cap", "60GiB", "--max-batch", limit)
                self.assert_found(probe, limit, "MAX_BATCH")
                self.assertEqual(max(int(t["batch"]) for t in probe["trials"]), limit)

    def test_case_13_a_limit_of_100_takes_three_trials(self):
        self.start()
        probe = self.ask("probe", "--cap", (64 + 1600) * MIB)
        self.assert_found(probe, 100)
        self.assertLessEqual(len(probe["trials"]), 7)

    def test_case_18_peaks_that_fall_are_no_promise(self):
        self.start()
        falling = {1: 2.816e9, 2: 2.852e9, 4: 2.842e9, 8: 2.772e9, 16: 2.741e9}
        probe = self.ask("probe", "--cap", "8GiB", "--first-batch", 8, base_bytes=2 * GIB,
                         limit_batch=100, peak_bytes={str(n): int(b) for n, b in falling.items()})
        self.assert_found(probe, 100)
        # From what it recorded no batch would ever be too large.
        self.assertEqual(probe["plan"]["method"], "PLAN_METHOD_BISECTED")
        self.assertNotEqual(probe["plan"]["fall_back_reason"], "")

    def test_case_19_a_flat_series_is_not_extrapolated_without_end(self):
        self.start()
        probe = self.ask("probe", "--cap", "8GiB", bytes_per_sample=1)
        self.assert_found(probe, 65536, "MAX_BATCH")

    def test_case_23_a_card_of_4_gib_works(self):
        self.start(total="4GiB")
        probe = self.ask("probe", "--budget", "3GiB", context_bytes=500 * MIB)
        self.assert_found(probe, 156)  # 3072 - 500 - 64 = 2508 MiB


class CardTest(GpuCasesTest):
    def test_a_card_too_small_for_the_context_is_never(self):
        self.start(total="400MiB", used="0B")
        words = "fails to load: CUDA error: out of memory"
        for method in ("auto", "bisect"):
            with self.subTest(method=method):
                probe = self.ask("probe", "--method", method, code=NEVER,
                                 on_batch={"prepare": words, "*": words})
                self.assertEqual(probe["plan"]["verdict"], "PLAN_VERDICT_DOES_NOT_FIT")
                self.assertEqual(probe["trials"][-1]["end_class"], "driver-oom")
                self.assertLessEqual(len(probe["trials"]), 2)

    def test_a_budget_below_the_context_is_never(self):
        self.start()
        probe = self.ask("probe", "--budget", "300MiB", code=NEVER, context_bytes=500 * MIB)
        self.assertEqual(probe["plan"]["verdict"], "PLAN_VERDICT_DOES_NOT_FIT")

    def test_a_cap_of_all_the_card_is_tried(self):
        self.start(total="1GiB", used="0B")
        self.assert_found(self.ask("probe", "--cap", "1GiB"), 60)

    def test_case_36_context_and_libraries_are_in_the_budget(self):
        self.start()
        for context, batch in ((0, 60), (512, 28)):
            with self.subTest(context=context):
                probe = self.ask("probe", "--budget", "1GiB", context_bytes=context * MIB)
                self.assert_found(probe, batch)
                self.assertEqual(probe["plan"]["context"]["bytes"], str(context * MIB))

    def test_case_56_what_a_neighbour_holds_is_not_ours(self):
        self.start(processes=[{"pid": 4711, "name": "python", "used": "20GiB"}])
        probe = self.ask("probe", "--budget", "1GiB", context_bytes=512 * MIB)
        self.assert_found(probe, 28)
        self.assertEqual(probe["plan"]["context"]["bytes"], str(512 * MIB))


    def test_case_57_what_the_driver_keeps_is_not_there_for_a_probe(self):
        # A T4 whose neighbour holds 1 GiB: 15360 - 450 - 1024 = 13886 MiB are left.
        self.start(total="15GiB", driver_reserve="450MiB",
                   processes=[{"pid": 4711, "name": "python", "used": "1GiB"}])
        self.assert_found(self.ask("probe", "--budget", "13886MiB", "--max-batch", 8), 8,
                          "MAX_BATCH")
        more = self.detached(self.model(), "--budget", "13887MiB")
        self.assertIn("GPU-1 has 13.6 GiB left", self.what_waits(more))
        self.memplan("cancel", more)

    def test_case_64_a_batch_that_spills_to_the_host_does_not_fit(self):
        self.start()
        for method in ("auto", "bisect"):
            with self.subTest(method=method):
                probe = self.ask("probe", "--cap", "8GiB", "--method", method, spills_above=37)
                self.assert_found(probe, 37)
                ends = {(t["outcome"][14:], t["end_class"]) for t in probe["trials"]
                        if int(t["batch"]) > 37}
                self.assertEqual(ends, {("OUT_OF_MEMORY", "spilled")})

    def test_case_65_an_instance_is_planned_against_its_own_total(self):
        self.start({"id": "MIG-1", "parent": "GPU-1", "total": "10GiB"},
                   {"id": "MIG-2", "parent": "GPU-1", "read_error": "not supported"},
                   partitioned=True)
        _, err = self.memplan("probe", self.model(), "--input", INPUT, "--device", "MIG-1", "--cap",
                              "20GiB", code=ERROR)
        self.assertIn("CAP_ABOVE_DEVICE", err)
        self.assertIn("the 10.0 GiB that MIG-1 has in all", err)
        self.assert_found(self.ask("probe", "--cap", (64 + 16 * 37) * MIB, device="MIG-1"), 37)
        # Without figures nothing is run, and the answer is not made up.
        blind = self.detached(self.model(), "--cap", "1GiB", device="MIG-2")
        self.assertEqual(self.what_waits(blind), "MIG-2 cannot be read: not supported")
        self.memplan("cancel", blind)

    def test_two_probes_of_one_card_run_one_after_the_other(self):
        self.start()
        gate = Gate(self.folder / "gate")
        first = self.detached(self.model(name="first.pt", gate=str(gate.path),
                                         once=str(self.folder / "once"),
                                         on_batch={"8": "waits at the gate"}),
                              "--cap", "1GiB", "--method", "bisect", "--max-batch", 8)
        self.wait_for_state(first, "RUNNING")
        second = self.detached(self.model(name="second.pt"), "--cap", "1GiB", "--max-batch", 3)
        self.assertEqual(self.wait_for_state(second, "QUEUED")["queue_position"], 1)
        gate.open_for_one()
        begun, ended = (self.memplan_json("watch", probe) for probe in (second, first))
        self.assertEqual((begun["plan"]["safe_batch"], ended["plan"]["safe_batch"]), ("3", "8"))
        self.assertGreaterEqual(begun["start_time"], ended["end_time"])


class PeaksTest(GpuCasesTest):
    def test_case_51_a_late_step_that_takes_more_is_predicted(self):
        self.start()
        # 64 MiB and 16 for each sample; in step 2 it is 32, in step 20 it is 48.
        odd = {"odd_steps": {"2": 16 * MIB, "20": 32 * MIB}}
        for steps, batch, worst, warm in ((22, 20, 19, 20), (4, 30, 1, 2)):
            with self.subTest(steps=steps):
                plan = self.ask("probe", "--cap", "1GiB", "--steps", steps, **odd)
                self.assert_found(plan, batch)
                plan = plan["plan"]
                self.assertEqual(plan["method"], "PLAN_METHOD_PREDICTED")
                self.assertEqual(plan["peak_step"], worst)
                self.assertEqual((plan["warm_up"]["steps"], plan["warm_up"]["settled"]),
                                 (warm, True))
                self.assertEqual(int(plan["steady_peak_allocated"]["bytes"]),
                                 (64 + 16 * batch) * MIB)

    def test_case_40_a_workspace_that_is_not_linear_is_seen(self):
        self.start()
        # Two batches of one workspace: 64 + 16 x 15 + 15 = 319 MiB, 64 + 16 x 58 + 24 = 1016 MiB.
        for cap, batch in (("320MiB", 15), ("1GiB", 58)):
            with self.subTest(cap=cap):
                probe = self.ask("probe", "--cap", cap, scratch_per_sample=MIB, scratch_until=24)
                self.assert_found(probe, batch)

    def test_case_43_a_fall_back_after_a_refused_workspace_is_recorded(self):
        self.start()
        profile = self.ask("profile", "--cap", "8GiB", "--batch", 16, "--steps", 2,
                           caught_failures=3)
        trial = profile["trials"][0]
        self.assertEqual(trial["outcome"], "TRIAL_OUTCOME_FITS")
        self.assertEqual((trial["failed_requests"], trial["allocation_retries"]), ("6", "6"))
        self.assertEqual([step["failed_requests"] for step in trial["steps"]], ["3", "3"])

    def test_case_46_fragmentation_is_high_before_the_failure(self):
        self.start()
        probe = self.ask("probe", "--cap", "12GiB", "--method", "bisect", "--first-batch", 256,
                         stranded_bytes=5 * GIB)
        self.assert_found(probe, 444)  # 12288 - 5120 - 64 = 7104 MiB
        self.assertEqual(int(probe["plan"]["fragmentation"]["bytes"]), 5 * GIB)
        self.assertGreater(probe["plan"]["fragmentation_ratio"], 0.4)

    def test_case_69_sixteen_stranded_gib_are_17_percent(self):
        self.start(total="140GiB")
        profile = self.ask("profile", "--cap", "100GiB", "--batch", 64, base_bytes=13 * GIB,
                           bytes_per_sample=GIB, stranded_bytes=16 * GIB)
        trial = profile["trials"][0]
        self.assertEqual(int(trial["peaks"]["allocated_bytes"]), 77 * GIB)
        self.assertEqual(int(trial["peaks"]["reserved_bytes"]), 93 * GIB)
        self.assertEqual(int(trial["fragmentation_bytes"]), 16 * GIB)
        probe = self.ask("probe", "--cap", "100GiB", "--max-batch", 64, "--method", "bisect",
                         base_bytes=13 * GIB, bytes_per_sample=GIB, stranded_bytes=16 * GIB)
        self.assertAlmostEqual(probe["plan"]["fragmentation_ratio"], 0.172, places=3)

    def test_case_62_what_cannot_fit_is_told_before_trying(self):
        self.start(total="16GiB", used="0B")
        def judged():
            result = subprocess.run(self.command("check", "--bytes", "22.78GiB"), text=True,
                                    env=self.environment, capture_output=True, timeout=PATIENCE)
            return result.returncode != UNKNOWN and result
        result = wait_until(judged, "the first reading")
        self.assertEqual(result.returncode, NEVER, result)
        self.assertIn("22.8 GiB", result.stdout)


if __name__ == "__main__":
    unittest.main()
