"""Probes and profiles end to end: memplan, memplan-server, a scripted worker.

A scripted model takes 1 MiB, and 1 MiB for each sample.
"""

import json
import unittest

from harness import DONE, ERROR, NEVER, Gate, IntegrationTest, INPUT, wait_until


class SearchTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.start_server()

    def plan(self, model, *more, code=DONE):
        return self.memplan_json(*self.probe_arguments(model, *more), code=code)["plan"]

    def test_finds_the_largest_batch_and_verifies_it(self):
        plan = self.plan(self.scripted_model(limit_batch=37))
        self.assertEqual(plan["verdict"], "PLAN_VERDICT_FOUND")
        self.assertEqual(plan["safe_batch"], "37")
        self.assertTrue(plan["verified"])
        self.assertEqual(plan["verifying_trials"], 1)
        self.assertEqual(plan["limit"], "SEARCH_LIMIT_MEMORY")
        self.assertEqual(plan["peak_requested"]["bytes"], str(38 << 20))
        self.assertEqual(plan["peak_requested"]["provenance"], "PROVENANCE_VERIFIED")
        self.assertNotIn("peak_reserved", plan)
        self.assertEqual([(n["batch"], n["outcome"][14:]) for n in plan["neighbours"]],
                         [("35", "FITS"), ("36", "FITS"), ("38", "OUT_OF_MEMORY"),
                          ("39", "OUT_OF_MEMORY")])

    def test_obeys_the_cap(self):
        plan = self.plan(self.scripted_model(), "--max-batch", "512")
        self.assertEqual(plan["safe_batch"], "512")
        self.assertEqual(plan["limit"], "SEARCH_LIMIT_MAX_BATCH")
        model = self.scripted_model()
        answer = self.memplan_json("probe", model, "--input", INPUT, "--cap", "21MiB")
        self.assertEqual(answer["plan"]["safe_batch"], "20")

    def test_obeys_a_budget(self):
        answer = self.memplan_json("probe", self.scripted_model(), "--input", INPUT,
                                   "--budget", "21MiB", "--device", "cpu")
        self.assertEqual(answer["plan"]["safe_batch"], "20")

    def test_repeats_the_answer(self):
        plan = self.plan(self.scripted_model(limit_batch=3), "--repeat", "3")
        self.assertEqual(plan["verifying_trials"], 3)

    def test_says_never_after_at_most_two_trials(self):
        model = self.scripted_model(base_bytes=2 << 30)
        plan = self.plan(model, code=NEVER)
        self.assertEqual(plan["verdict"], "PLAN_VERDICT_DOES_NOT_FIT")
        self.assertLessEqual(plan["trial_count"], 2)
        out, _ = self.memplan(*self.probe_arguments(model), code=NEVER)
        self.assertIn("does not fit at batch 1", out)

    def test_finds_a_batch_baked_into_the_model(self):
        model = self.scripted_model(traced_batch=2, on_batch={"2": "", "*": "shape refused"})
        out, _ = self.memplan(*self.probe_arguments(model))
        self.assertIn("fixed batch 2", out)

    def test_goes_on_after_a_worker_that_died_once(self):
        model = self.scripted_model(limit_batch=20, once=str(self.folder / "died"),
                                    on_batch={"16": "dies by signal 9"})
        self.assertEqual(self.plan(model)["safe_batch"], "20")

    def test_prints_a_report_for_people(self):
        out, err = self.memplan(*self.probe_arguments(self.scripted_model(limit_batch=5)))
        self.assertRegex(out, r"(?m)^largest safe batch  5$")
        self.assertRegex(out, r"(?m)^peak allocated      6\.00 MiB, verified in trial \d+$")
        self.assertRegex(out, r"(?m)^stopped by          memory")
        self.assertIn("uploaded", err)
        self.assertNotIn("\r", err)

    def test_says_which_device_it_took_by_default(self):
        _, err = self.memplan("probe", self.scripted_model(limit_batch=2), "--input", INPUT,
                              "--device", "cpu", "--cap", "1GiB")
        self.assertIn("on cpu", err)


class ProfileTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.start_server()

    def profile(self, model, batches, code):
        return self.memplan("profile", model, "--input", INPUT, "--device", "cpu", "--cap",
                            "1GiB", "--batches", batches, code=code)[0]

    def test_prints_a_row_a_batch(self):
        out = self.profile(self.scripted_model(limit_batch=10), "1,8,32", DONE)
        rows = [line.split()[:5] for line in out.splitlines()[1:4]]
        self.assertEqual(rows, [["1", "profile", "fits", "2.00", "MiB"],
                                ["8", "profile", "fits", "9.00", "MiB"],
                                ["32", "profile", "out", "of", "memory"]])

    def test_tells_by_its_code_whether_one_batch_fits(self):
        model = self.scripted_model(limit_batch=10)
        self.profile(model, "10", DONE)
        self.profile(model, "11", NEVER)

    def test_is_an_error_if_a_batch_failed_in_another_way(self):
        model = self.scripted_model(on_batch={"8": "model fails"})
        out = self.profile(model, "1,8", ERROR)
        self.assertIn("batch 8: expected scalar type Long but found Float", out)


class QueueTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.start_server()
        self.gate = Gate(self.folder / "gate")
        self.waiting = self.scripted_model("waiting.pt", gate=str(self.gate.path), limit_batch=2,
                                           on_batch={"8": "waits at the gate"})

    def detached(self, model):
        return self.memplan(*self.probe_arguments(model, "--detach"))[0].strip()

    def test_two_probes_of_one_device_run_one_after_the_other(self):
        first = self.detached(self.waiting)
        self.wait_for_state(first, "RUNNING")
        second = self.detached(self.scripted_model("quick.pt", limit_batch=3))
        self.assertEqual(self.wait_for_state(second, "QUEUED")["queue_position"], 1)
        self.gate.open_for_one()
        self.memplan("watch", first)
        probe = self.memplan_json("watch", second)
        self.assertEqual(probe["plan"]["safe_batch"], "3")

    def test_a_queued_probe_is_cancelled_at_once(self):
        first = self.detached(self.waiting)
        second = self.detached(self.waiting)
        out, _ = self.memplan("cancel", second)
        self.assertEqual(out, f"{second} cancelled\n")
        self.memplan("watch", second, code=ERROR)
        self.memplan("cancel", first)

    def test_a_running_probe_is_cancelled_in_its_trial(self):
        probe_id = self.detached(self.waiting)
        wait_until(self.server.workers, "a worker")
        self.memplan("cancel", probe_id)
        probe = self.memplan_json("watch", probe_id, code=ERROR)
        self.assertEqual(probe["state"], "PROBE_STATE_CANCELLED")
        wait_until(lambda: not self.server.workers(), "the worker to be gone")

    def test_a_model_in_use_is_not_deleted(self):
        probe_id = self.detached(self.waiting)
        sha256 = self.memplan_json("models", "list")["models"][0]["sha256"]
        _, err = self.memplan("models", "delete", sha256, code=ERROR)
        self.assertIn("MODEL_IN_USE", err)
        self.memplan("cancel", probe_id)
        self.memplan("watch", probe_id, code=ERROR)
        self.memplan("models", "delete", sha256[:8])
        self.assertEqual(self.memplan_json("models", "list")["models"], [])


class FormsTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.start_server()

    def test_a_stored_model_is_not_sent_again_and_goes_by_its_hash(self):
        model = self.scripted_model(limit_batch=2)
        sha256 = self.memplan("models", "upload", model)[0].strip()
        _, err = self.memplan(*self.probe_arguments(model))
        self.assertIn("stored already", err)
        self.memplan(*self.probe_arguments(sha256[:6]))
        self.assertEqual(len(self.memplan_json("list")["probes"]), 2)

    def test_json_and_yaml_show_the_same_devices(self):
        devices = self.memplan_json("devices")["devices"]
        yaml, _ = self.memplan("devices", "-o", "yaml")
        self.assertEqual(devices[-1]["id"], "cpu")
        self.assertIsInstance(devices[-1]["total_bytes"], str)
        self.assertIn("id: cpu\n", yaml)
        self.assertIn("total_bytes: " + json.dumps(devices[-1]["total_bytes"]), yaml)


if __name__ == "__main__":
    unittest.main()
