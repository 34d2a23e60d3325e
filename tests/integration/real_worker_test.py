"""The whole path with the real worker, on the CPU device, with tiny models."""

import os
import pathlib
import signal
import unittest

from harness import DONE, ERROR, MODELS, NEVER, WORKER, IntegrationTest, wait_until


@unittest.skipUnless(MODELS, "the worker was not built")
class RealWorkerTest(IntegrationTest):
    worker = WORKER

    def setUp(self):
        super().setUp()
        self.start_server()

    @staticmethod
    def model(name):
        return pathlib.Path(MODELS) / f"{name}.pt"

    def on_cpu(self, verb, name, model_input, cap, *more):
        return [verb, self.model(name), "--input", model_input, "--device", "cpu", "--cap", cap,
                *more]

    def test_a_probe_finds_what_trying_by_hand_finds(self):
        mlp = ("mlp", "float32[B,64]", "1MiB", "--train", "sgd", "--steps", "2")
        probe = self.memplan_json(*self.on_cpu("probe", *mlp))
        plan = probe["plan"]
        self.assertEqual(plan["verdict"], "PLAN_VERDICT_FOUND")
        self.assertTrue(plan["verified"])
        self.assertGreater(plan["out_of_memory_count"], 0)
        safe = int(plan["safe_batch"])
        self.memplan(*self.on_cpu("profile", *mlp, "--batches", f"{safe - 1},{safe}"), code=DONE)
        self.memplan(*self.on_cpu("profile", *mlp, "--batch", safe + 1), code=NEVER)

    def test_inference_takes_less_than_recording_gradients(self):
        peaks = {}
        for mode in ("--infer", "--infer-grad"):
            probe = self.memplan_json(*self.on_cpu("profile", "waves", "float32[B,4]", "1GiB",
                                                   mode, "--batch", "1024"))
            peaks[mode] = int(probe["trials"][0]["peaks"]["requested_bytes"])
        self.assertLess(peaks["--infer"], peaks["--infer-grad"])

    def test_a_recorded_trace_replays_and_estimates_as_measured(self):
        probe = self.memplan_json(*self.on_cpu("profile", "mlp", "float32[B,64]", "1GiB", "--train",
                                               "sgd-momentum", "--batches", "16,32,96"))
        traces = sorted(self.server.store.glob(f"**/{probe['id']}*/**/*"))
        traces = [path for path in traces if path.is_file()]
        self.assertEqual(len(traces), 3, traces)
        peaks = [trial["peaks"] for trial in probe["trials"]]
        for trace, measured in zip(traces, peaks):
            replay = self.memplan_json("replay", trace, "--addresses", "chunks")
            self.assertEqual(replay["peak_requested_bytes"], measured["requested_bytes"])
            self.assertEqual(replay["peak_allocated_bytes"], measured["allocated_bytes"])
        estimate = self.memplan_json("estimate", "--trace", f"16={traces[0]}",
                                     "--trace", f"32={traces[1]}", "--batch", "96")
        self.assertEqual(estimate["peak_requested_bytes"], peaks[2]["requested_bytes"])

    def test_steps_as_a_program_has_them_and_a_loss_of_its_own(self):
        how = ["--train", "sgd-momentum:foreach", "--autocast", "bf16", "--accumulate", "2",
               "--zero-grad", "zero", "--also-batch", "3", "--evaluate-batch", "512",
               "--loss", self.model("distance"), "--target", "float32[B,C]", "C=8"]
        dropping = ("dropping", "float32[B,64]", "1GiB", *how, "--steps", "2")
        probe = self.memplan_json(*self.on_cpu("profile", *dropping, "--batches", "16,32,96"))
        self.assertEqual([step["kind"] for step in probe["trials"][0]["steps"]],
                         ["STEP_KIND_STEP"] * 2 + ["STEP_KIND_OTHER_BATCH", "STEP_KIND_EVALUATION",
                                                   "STEP_KIND_AGAIN"])
        # Micro-batches, other batches and evaluations are predicted like everything else.
        traces = {trial["batch"]: path for trial, path in zip(
            probe["trials"],
            sorted(path for path in self.server.store.glob(f"**/{probe['id']}*/**/*")
                   if path.is_file()))}
        estimate = self.memplan_json("estimate", "--trace", f"16={traces['16']}",
                                     "--trace", f"32={traces['32']}", "--batch", "96")
        self.assertEqual(estimate["peak_requested_bytes"],
                         probe["trials"][2]["peaks"]["requested_bytes"])
        out, _ = self.memplan(*self.on_cpu("probe", *dropping, "--max-batch", "4"))
        self.assertIn("train sgd-momentum (foreach), as eager, autocast bf16, 2 micro-batches", out)
        self.assertIn("those of yours (foreach) may be higher", out)
        self.assertIn("the evaluation at batch 512", out)

    def test_a_loss_that_is_no_scalar_names_the_field(self):
        _, err = self.memplan(*self.on_cpu(
            "probe", "mlp", "float32[B,64]", "1GiB", "--train", "sgd", "--loss",
            self.model("distances"), "--target", "float32[B,8]"), code=ERROR)
        self.assertIn("spec.step.loss_model_sha256 (--loss)", err)

    def test_named_dimensions_and_ranges_reach_the_model(self):
        probe = self.memplan_json(*self.on_cpu(
            "profile", "tokens", "int64[B,T]{0..100}", "64MiB", "T=16", "--batch", "4"))
        self.assertEqual(probe["trials"][0]["outcome"], "TRIAL_OUTCOME_FITS")

    def test_a_batch_baked_into_the_model(self):
        out, _ = self.memplan(*self.on_cpu("probe", "baked_batch", "float32[B,16]", "1GiB"))
        self.assertIn("fixed batch 2", out)

    def test_a_cap_below_the_weights_is_never(self):
        probe = self.memplan_json(*self.on_cpu("probe", "mlp", "float32[B,64]", "64KiB"),
                                  code=NEVER)
        self.assertLessEqual(probe["plan"]["trial_count"], 2)

    def test_a_wrong_number_of_inputs_names_the_field(self):
        _, err = self.memplan(*self.on_cpu("probe", "two", "float32[B,4]", "1GiB"), code=ERROR)
        self.assertIn("spec.inputs (--input)", err)

    def test_a_dtype_the_model_refuses_gives_the_models_words(self):
        _, err = self.memplan(*self.on_cpu("probe", "tokens", "float32[B,16]", "1GiB"),
                              code=ERROR)
        self.assertIn("indices", err)

    def test_a_model_traced_in_eval_mode_is_not_trained(self):
        _, err = self.memplan(*self.on_cpu("probe", "conv_norm_eval", "float32[B,3,8,8]", "1GiB",
                                           "--train", "adam"), code=ERROR)
        self.assertIn("spec.mode", err)
        self.assertIn(".train()", err)

    def test_an_archive_without_code_is_refused(self):
        _, err = self.memplan("models", "upload", self.model("weights_only"), code=ERROR)
        self.assertIn("NOT_A_TORCHSCRIPT_FILE", err)

    def test_a_trial_over_its_deadline_is_killed(self):
        out, _ = self.memplan(*self.on_cpu("profile", "endless", "float32[B,4]", "1GiB",
                                           "--batch", "1", "--trial-timeout", "5s"), code=ERROR)
        self.assertIn("timed out", out)
        self.assertEqual(self.server.workers(), [])

    def test_a_killed_worker_costs_one_trial(self):
        probe_id = self.memplan(*self.on_cpu("probe", "linear4", "float32[B,4]", "1GiB",
                                             "--max-batch", "8", "--detach"))[0].strip()
        os.kill(wait_until(self.server.workers, "a worker")[0], signal.SIGKILL)
        probe = self.memplan_json("watch", probe_id, code=DONE)
        self.assertEqual(probe["plan"]["safe_batch"], "8")
        outcomes = [trial["outcome"] for trial in probe["trials"]]
        self.assertEqual(outcomes.count("TRIAL_OUTCOME_WORKER_DIED"), 1)


if __name__ == "__main__":
    unittest.main()
