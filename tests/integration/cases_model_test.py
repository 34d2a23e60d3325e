"""Cases of public reports (docs/cases.md), each named by its row: small models of the same kind,
run by the real worker on `cpu`.

A cap is what one batch takes, measured by a profile, so that the right answer is known.
"""

import pathlib
import unittest

from harness import DONE, ERROR, MODELS, NEVER, WORKER, IntegrationTest


@unittest.skipUnless(MODELS, "the worker was not built")
class ModelCasesTest(IntegrationTest):
    worker = WORKER
    patience = 300  # each trial loads torch

    def setUp(self):
        super().setUp()
        self.start_server()

    def ask(self, verb, name, inputs, *more, cap="1GiB", code=DONE):
        words = [word for each in inputs for word in ("--input", each)]
        return self.memplan_json(verb, pathlib.Path(MODELS) / f"{name}.pt", *words, "--device",
                                 "cpu", "--cap", cap, *more, code=code)

    def profile(self, name, inputs, batches, *more, **how):
        """The trials of these batches, in this order."""
        return self.ask("profile", name, inputs, "--batches", ",".join(map(str, batches)), *more,
                        **how)["trials"]

    @staticmethod
    def peak(trial):
        return int(trial["peaks"]["allocated_bytes"])

    def test_case_01_the_size_that_is_found_runs_again_and_again(self):
        images = ("image_head", ["float32[B,3,64,64]"])
        how = ("--train", "sgd", "--steps", "2")
        cap = self.peak(self.profile(*images, [5], *how)[0])
        plan = self.ask("probe", *images, *how, "--first-batch", 4, cap=cap)["plan"]
        self.assertEqual((plan["safe_batch"], plan["verified"]), ("5", True))
        trials = self.profile(*images, [5, 5, 6], *how, cap=cap)
        self.assertEqual([trial["outcome"][14:] for trial in trials],
                         ["FITS", "FITS", "OUT_OF_MEMORY"])

    def test_case_02_and_45_the_longest_sequences_run_and_order_does_not_matter(self):
        def sequences(length):
            return "padded", ["float32[B,T,8]", f"int64[B]{{{length}..{length + 1}}}"]
        first, smaller, again = self.profile(*sequences(34), [16, 4, 16], "T=34")
        self.assertEqual(first["peaks"], again["peaks"])
        self.assertLess(self.peak(smaller), self.peak(first))
        short, = self.profile(*sequences(5), [16], "T=34")
        self.assertLess(self.peak(short), self.peak(first))

    def test_case_05_and_71_every_step_runs_at_the_stated_batch(self):
        # One float of the input's 64 and the hidden 256 for each sample, whatever data there is.
        for trial in self.profile("mlp", ["float32[B,64]"], [16, 20000], "--train", "sgd"):
            least = int(trial["batch"]) * (64 + 256) * 4
            self.assertEqual(len(trial["steps"]), 4)
            for step in trial["steps"]:
                self.assertGreaterEqual(int(step["peaks"]["requested_bytes"]), least)

    def test_case_15_and_17_the_shape_comes_from_the_request(self):
        short, = self.profile("tokens", ["int64[B,T]{0..100}"], [512], "T=4")
        full, = self.profile("tokens", ["int64[B,T]{0..100}"], [512], "T=16")
        self.assertLess(self.peak(short), self.peak(full))
        trial, = self.profile("dropping", ["float32[B,64]"], [8], "--train", "sgd",
                              "--evaluate-batch", "4096")
        steps = {step["kind"][10:]: step for step in trial["steps"]}
        self.assertEqual(steps["EVALUATION"]["batch"], "4096")
        self.assertGreater(self.peak(steps["EVALUATION"]), self.peak(steps["STEP"]))

    def test_case_21_the_worst_contents_can_be_asked_for(self):
        kept = {}
        for contents in ("zeros", "ones"):
            trial, = self.profile("kept", ["float32[B,256]", f"bool[B,256]{{{contents}}}"], [512])
            kept[contents] = self.peak(trial)
        self.assertGreaterEqual(kept["ones"] - kept["zeros"], 512 * 256 * 4)

    def test_case_21_a_peak_that_depends_on_contents_is_told_with_how_much(self):
        kept = ["float32[B,256]", "bool[B,256]{ones}"]
        trial, = self.profile("kept", kept, [512])
        contents = trial["contents_dependence"]
        self.assertIn("aten::nonzero", contents["operator_names"])
        self.assertGreaterEqual(int(contents["at_peak_bytes"]), 512 * 256 * 4)
        plain, = self.profile("waves", ["float32[B,4]"], [512])
        self.assertNotIn("contents_dependence", plain)
        shown = self.memplan("profile", pathlib.Path(MODELS) / "kept.pt", "--input", kept[0],
                             "--input", kept[1], "--batches", "512", "--device", "cpu", "--cap",
                             "1GiB")[0]
        self.assertRegex(shown, "batch 512: what aten::.* gives is as large as the inputs' contents")
        self.assertIn("ask for the worst", shown)

    def test_case_28_a_baked_batch_is_told_at_the_first_mismatch(self):
        probe = self.ask("probe", "baked_batch", ["float32[B,16]"])
        self.assertEqual(probe["plan"]["verdict"], "PLAN_VERDICT_FIXED_BATCH")
        self.assertEqual([trial["batch"] for trial in probe["trials"]], ["8", "2", "2"])

    def test_case_29_a_cell_traced_with_its_state_is_told_the_same_way(self):
        plan = self.ask("probe", "baked_cell", ["float32[B,4]"])["plan"]
        self.assertEqual((plan["verdict"], plan["safe_batch"]), ("PLAN_VERDICT_FIXED_BATCH", "2"))
        self.assertLessEqual(plan["trial_count"], 3)

    def test_case_31_memory_that_runs_out_inside_torchscript_is_told(self):
        scripted = ("scripted", ["float32[B,4]"])
        cap = self.peak(self.profile(*scripted, [4096])[0])
        trials = self.profile(*scripted, [4096, 8192], cap=cap)
        self.assertEqual([(trial["outcome"][14:], trial["end_class"]) for trial in trials],
                         [("FITS", ""), ("OUT_OF_MEMORY", "oom")])

    def test_case_38_inference_mode_is_enforced_and_gains_much(self):
        waves = ("waves", ["float32[B,4]"])
        peaks = [self.peak(self.profile(*waves, [4096], mode)[0])
                 for mode in ("--infer", "--infer-grad")]
        self.assertLess(peaks[0] * 1.5, peaks[1])

    def test_case_43_who_makes_the_peak_and_who_is_refused_is_named(self):
        images = ("image_head", ["float32[B,3,64,64]"])
        trial, = self.profile(*images, [64])
        request = trial["peak_request"]
        self.assertRegex(request["operator_name"], "^aten::")
        self.assertEqual(request["phase"], "step0/forward")
        self.assertGreater(int(request["bytes"]), 0)
        self.assertNotIn("refused_request", trial)
        refused, = self.profile(*images, [64], cap=self.peak(trial) - 512, code=NEVER)
        self.assertEqual(refused["outcome"], "TRIAL_OUTCOME_OUT_OF_MEMORY")
        self.assertRegex(refused["refused_request"]["operator_name"], "^aten::")

    def test_case_45_and_68_other_batches_are_part_of_the_verification(self):
        images = ("image_head", ["float32[B,3,64,64]"])
        steps = ("--steps", "2")
        cap = self.peak(self.profile(*images, [8], *steps)[0])
        probe = self.ask("probe", *images, *steps, "--max-batch", 9, "--also-batch", "4,1", cap=cap)
        self.assertEqual(probe["plan"]["safe_batch"], "8")
        ran = next(t for t in probe["trials"] if t["purpose"] == "TRIAL_PURPOSE_VERIFY")["steps"]
        self.assertEqual([step["kind"][10:] for step in ran],
                         ["STEP"] * 2 + ["OTHER_BATCH"] * 2 + ["AGAIN"])
        self.assertEqual([step["batch"] for step in ran], ["0", "0", "4", "1", "0"])
        own, _, four, one, again = (self.peak(step) for step in ran)
        self.assertEqual(again, own)
        self.assertTrue(one < four < own)
        # The other way round they take the same; what does not fit among them fails them all.
        other, = self.profile(*images, [8], *steps, "--also-batch", "1,4")
        self.assertEqual([self.peak(step) for step in other["steps"]][2:4], [one, four])
        plan = self.ask("probe", *images, *steps, "--also-batch", "9", cap=cap, code=NEVER)["plan"]
        self.assertEqual(plan["verdict"], "PLAN_VERDICT_DOES_NOT_FIT")

    def test_case_51_and_61_runs_unlike_the_others_are_counted_and_told(self):
        rows = ("waking", ["float32[B,256]"])  # 1 KiB a sample, which is held beside its copies
        trial, = self.profile(*rows, [64], "--steps", "22")
        asked = [int(step["peaks"]["requested_bytes"]) // 65536 for step in trial["steps"]]
        self.assertEqual(asked, [4, 6] + [2] * 17 + [10] + [2] * 2)

        # At the cap the worst step of 64 samples fits, and of no more.
        def found(steps):
            probe = self.ask("probe", *rows, "--steps", steps, "--first-batch", 64,
                             cap=self.peak(trial))
            return probe["id"], probe["plan"]
        name, plan = found(22)
        self.assertEqual((plan["safe_batch"], plan["verified"]), ("64", True))
        self.assertEqual((plan["peak_step"], plan["warm_up"]["steps"]), (19, 20))
        self.assertTrue(plan["warm_up"]["settled"])
        self.assertEqual(int(plan["peak_requested"]["bytes"]) // 65536, 10)
        self.assertEqual(int(plan["steady_peak_allocated"]["bytes"]) // 65536, 2)
        report, _ = self.memplan("watch", name)
        self.assertIn("peak in             step 20 of 22\n", report)
        self.assertRegex(report, r"steady step         1[23]\d KiB allocated\n")
        self.assertRegex(report, r"warm-up             20 steps \(1: 256 KiB in .*; 2: 384 KiB in .*; "
                                 r"3 to 19: 128 KiB in .*; 20: 640 KiB in .*\), then 128 KiB requested")
        self.assertRegex("".join(self.server.words), r"safe batch 64, at most 64\d KiB allocated, "
                                                     r"warm after 20 steps with 1[23]\d KiB")

        # Two steps show that it warms up, and not for how long.
        name, plan = found(2)
        self.assertEqual((plan["safe_batch"], plan["warm_up"]["settled"]), ("106", False))
        self.assertIn("not over after 2 steps", self.memplan("watch", name)[0])

    def test_a_model_that_refuses_batch_1_has_an_answer_all_the_same(self):
        # Batch normalisation in training; a traced one has lost the check.
        normed = ("normed", ["float32[B,64]"])
        how = ("--train", "sgd", "--steps", "1")
        one, = self.ask("profile", *normed, *how, "--batch", 1, code=ERROR)["trials"]
        self.assertIn("more than 1 value per channel", one["message"])
        cap = self.peak(self.profile(*normed, [24], *how)[0])
        plan = self.ask("probe", *normed, *how, "--first-batch", 64, cap=cap)["plan"]
        self.assertEqual((plan["safe_batch"], plan["limit"]), ("24", "SEARCH_LIMIT_MEMORY"))
        self.assertIn("batch 1 failed in the model", plan["limit_message"])

    def test_a_model_that_does_not_fit_at_batch_1_is_never(self):
        plan = self.ask("probe", "image_head", ["float32[B,3,64,64]"], cap="3MiB",
                        code=NEVER)["plan"]
        self.assertEqual(plan["verdict"], "PLAN_VERDICT_DOES_NOT_FIT")
        self.assertLessEqual(plan["trial_count"], 2)


if __name__ == "__main__":
    unittest.main()
