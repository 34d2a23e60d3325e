"""Cases of public reports (docs/cases.md) about searches, each named by its row: the real daemon
and a scripted worker on `cpu`, so that every search bisects.

A scripted model takes 1 MiB, and 1 MiB for each sample.
"""

import json
import unittest

from harness import DONE, ERROR, NEVER, INPUT, IntegrationTest


class CasesTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.start_server()

    def probe(self, *more, cap="1GiB", code=DONE, **script):
        model = self.scripted_model(**script)
        return self.memplan_json("probe", model, "--input", INPUT, "--device", "cpu", "--cap", cap,
                                 *more, code=code)

    def failure(self, *more, **script):
        """A probe that ends in an error: the probe, and what memplan said."""
        out, err = self.memplan("probe", self.scripted_model(**script), "--input", INPUT, "--device",
                                "cpu", "--cap", "1GiB", *more, "--output", "json", code=ERROR)
        return json.loads(out), err

    def assert_found(self, probe, batch, limit="MEMORY"):
        plan = probe["plan"]
        self.assertEqual(plan["verdict"], "PLAN_VERDICT_FOUND")
        self.assertEqual((plan["safe_batch"], plan["limit"]), (str(batch), f"SEARCH_LIMIT_{limit}"))
        self.assertTrue(plan["verified"])

    @staticmethod
    def batches(probe):
        return [int(trial["batch"]) for trial in probe["trials"]]

    @staticmethod
    def trial_of(probe, batch):
        return next(t for t in probe["trials"] if t["batch"] == str(batch))


class LimitsTest(CasesTest):
    def test_limits_of_1_2_and_3_and_odd_ones_are_found(self):
        for limit in (1, 2, 3, 9, 37, 101):
            with self.subTest(limit=limit):
                self.assert_found(self.probe(limit_batch=limit), limit)

    def test_case_07_the_users_limit_is_honoured_exactly_and_itself_run(self):
        for limit in (1, 7, 777):
            with self.subTest(limit=limit):
                probe = self.probe("--max-batch", limit)
                self.assert_found(probe, limit, "MAX_BATCH")
                self.assertEqual(max(self.batches(probe)), limit)
                self.assertEqual(self.batches(probe).count(limit), 2)

    def test_case_09_a_search_without_a_limit_of_its_own_is_capped(self):
        self.assert_found(self.probe(bytes_per_sample=1), 65536, "MAX_BATCH")

    def test_case_13_of_100_at_least_95_are_known_after_7_trials(self):
        probe, _ = self.failure("--max-trials", 7, limit_batch=100)
        self.assertEqual(len(probe["trials"]), 7)
        self.assertGreaterEqual(int(probe["largest_running_batch"]), 95)

    def test_case_12_says_after_two_trials_that_one_sample_does_not_fit(self):
        probe = self.probe(code=NEVER, oom_batches=list(range(1, 17)))
        self.assertEqual(probe["plan"]["verdict"], "PLAN_VERDICT_DOES_NOT_FIT")
        self.assertEqual(self.batches(probe), [8, 1])

    def test_a_model_that_cannot_run_at_batch_1_has_an_answer_all_the_same(self):
        # As batch normalisation in training. The first batch does not fit, so that 1 is tried.
        probe = self.probe(limit_batch=5, on_batch={"1": "throws: Expected more than 1 value"})
        self.assert_found(probe, 5)
        self.assertIn("batch 1 failed in the model: Expected more than 1 value",
                      probe["plan"]["limit_message"])
        out, _ = self.memplan("watch", probe["id"])
        self.assertIn("Expected more than 1 value", out)


class BudgetsTest(CasesTest):
    def test_case_04_no_size_that_was_not_run_is_an_answer(self):
        probe, err = self.failure("--first-batch", 2, "--max-trials", 3, limit_batch=1000)
        self.assertEqual(self.batches(probe), [2, 4, 8])
        self.assertIsNone(probe.get("plan"))
        self.assertEqual(probe["largest_running_batch"], "8")
        self.assertIn("PROBE_TRIAL_LIMIT", err)
        self.assertIn("the largest batch that ran is 8", err)

    def test_case_11_a_long_climb_ends_with_its_time(self):
        # Up to 65536 there are 14 doublings of 0.4 s each, then the neighbours.
        probe, err = self.failure("--time-limit", "4s", step_seconds=0.1, bytes_per_sample=512)
        self.assertIn("PROBE_TIME_LIMIT", err)
        self.assertLess(len(probe["trials"]), 11)

    def test_case_59_one_hanging_trial_does_not_block_the_rest(self):
        probe = self.probe("--trial-timeout", "5s", limit_batch=100, on_batch={"16": "hangs"})
        self.assert_found(probe, 15, "OTHER_FAILURE")
        self.assertEqual(self.trial_of(probe, 16)["outcome"], "TRIAL_OUTCOME_TIMED_OUT")
        self.assertEqual(self.server.workers(), [])
        self.assert_found(self.probe(limit_batch=3), 3)


class FreshProcessTest(CasesTest):
    def test_case_03_every_trial_has_a_process_of_its_own(self):
        log = self.folder / "log"
        probe = self.probe(limit_batch=20, log=str(log))
        pids = [line.split()[0] for line in log.read_text().splitlines()]
        self.assertEqual(len(set(pids)), len(probe["trials"]))

    def test_case_35_an_assert_that_does_not_repeat_makes_its_size_unsafe(self):
        assert_words = ('throws: !block->expandable_segment_ INTERNAL ASSERT FAILED at '
                        '"../c10/cuda/CUDACachingAllocator.cpp":3000')
        log = self.folder / "log"
        probe = self.probe(limit_batch=40, log=str(log), once=str(self.folder / "once"),
                           on_batch={"16": assert_words})
        self.assert_found(probe, 15, "OTHER_FAILURE")
        self.assertIn("INTERNAL ASSERT FAILED", probe["plan"]["limit_message"])
        pids = [line.split()[0] for line in log.read_text().splitlines()]
        self.assertEqual(len(set(pids)), len(pids))

    def test_case_58_a_worker_after_a_fault_of_the_gpu_is_replaced(self):
        model = self.scripted_model(once=str(self.folder / "once"), on_batch={
            "8": "throws: CUDA error: device-side assert triggered"})
        profile = self.memplan_json("profile", model, "--input", INPUT, "--device", "cpu", "--cap",
                                    "1GiB", "--batches", "8,9", code=ERROR)
        self.assertEqual([(t["outcome"][14:], t["end_class"]) for t in profile["trials"]],
                         [("MODEL_FAILED", "device-assert"), ("FITS", "")])


class ReasonsTest(CasesTest):
    def assert_wall(self, words, end_class, wall, answer):
        probe = self.probe("--max-batch", 16384, bytes_per_sample=512,
                           on_batch={f"{wall}+": f"throws: {words}"})
        self.assert_found(probe, answer, "OTHER_FAILURE")
        self.assertIn(words, probe["plan"]["limit_message"])
        trial = self.trial_of(probe, wall)
        self.assertEqual((trial["outcome"], trial["end_class"]),
                         ("TRIAL_OUTCOME_MODEL_FAILED", end_class))
        self.assertEqual(probe["plan"]["out_of_memory_count"], 0)

    def test_case_24_too_many_elements_are_no_want_of_memory(self):
        self.assert_wall("nonzero is not supported for tensors with more than INT_MAX elements",
                         "index-limit", 676, 675)

    def test_case_25_a_cliff_is_found_and_named(self):
        self.assert_wall("CUDA error: invalid configuration argument", "launch-limit", 8192, 8191)

    def test_case_27_a_launch_that_fails_is_named(self):
        self.assert_wall("CUDA error: too many resources requested for launch", "launch-limit",
                         100, 99)

    def test_case_10_the_hosts_memory_is_told_from_the_devices(self):
        self.assert_wall("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes",
                         "host-memory", 50, 49)

    def test_case_10_a_worker_that_the_full_host_kills_ends_the_search_below(self):
        probe = self.probe("--max-batch", 64, bytes_per_sample=512,
                           on_batch={"50+": "dies by signal 9"})
        self.assert_found(probe, 49, "OTHER_FAILURE")
        self.assertIn("as the system does when the host's memory is full",
                      probe["plan"]["limit_message"])
        self.assertEqual(probe["plan"]["out_of_memory_count"], 0)

    def test_case_53_settings_that_contradict_are_a_fault_of_the_configuration(self):
        # A worker runs under the allocator's own settings; without any, torch is at fault.
        probe, err = self.failure(on_batch={"*": (
            'throws: INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":384')})
        self.assertIn("MODEL_FAILED", err)
        self.assertIn("CUDACachingAllocator.cpp", err)
        self.assertEqual(len(probe["trials"]), 2)

    def assert_out_of_memory(self, words, end_class, **script):
        probe = self.probe(on_batch={"21+": words}, **script)
        self.assert_found(probe, 20)
        trial = self.trial_of(probe, 21)
        self.assertEqual((trial["outcome"], trial["end_class"]),
                         ("TRIAL_OUTCOME_OUT_OF_MEMORY", end_class))
        return trial

    def test_case_14_the_drivers_words_lack_a_full_stop(self):
        self.assert_out_of_memory("throws: CUDA error: out of memory", "driver-oom")

    def test_case_22_the_reason_of_an_error_in_profiling_is_kept(self):
        trial = self.assert_out_of_memory(
            "is refused and throws: profiling failed: list index out of range", "oom")
        self.assertIn("profiling failed: list index out of range", trial["message"])

    def test_case_31_a_scripted_functions_plain_error_is_one_of_memory(self):
        self.assert_out_of_memory(
            "throws: The following operation failed in the TorchScript interpreter.\n"
            "Traceback of TorchScript (most recent call last):\n"
            "RuntimeError: CUDA out of memory. Tried to allocate 50.00 MiB.", "oom")

    def test_case_32_what_a_package_hides_is_told_by_the_memory_left(self):
        self.assert_out_of_memory("throws: op failed", "driver-oom", device_free=12 << 20)

    def test_case_34_a_library_under_pressure_is_tried_with_less_in_a_clean_process(self):
        log = self.folder / "log"
        self.assert_out_of_memory("throws: cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR",
                                  "library-under-pressure", caught_failures=3, log=str(log))
        pids = [line.split()[0] for line in log.read_text().splitlines()]
        self.assertEqual(len(set(pids)), len(pids))

    def test_case_36_a_library_without_room_to_load_is_want_of_memory(self):
        self.assert_out_of_memory("throws: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR",
                                  "library-loading-oom", device_free=300 << 20)

    def test_case_52_the_other_text_of_the_asynchronous_allocator_is_known(self):
        self.assert_out_of_memory(
            "throws: Allocation on device 0 would exceed allowed memory. (out of memory)", "oom")

    def test_case_48_memory_in_pieces_is_the_cause(self):
        self.assert_out_of_memory("is refused and throws: CUDA out of memory.", "fragmentation",
                                  stranded_bytes=13 << 30)


if __name__ == "__main__":
    unittest.main()
