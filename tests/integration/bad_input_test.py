"""Bad input gets a clear message that names the field, and nothing is lost."""

import os
import unittest

from harness import ERROR, NEVER, INPUT, IntegrationTest


class BadInputTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.start_server()

    def error(self, *arguments, code=ERROR):
        out, err = self.memplan(*arguments, code=code)
        self.assertIn("memplan: error: ", err)
        return err

    def probe_error(self, model, *more, model_input=INPUT, limit=("--cap", "1GiB")):
        return self.error("probe", model, "--input", model_input, "--device", "cpu", *limit,
                          *more)

    def test_a_file_that_is_no_torchscript(self):
        text = self.folder / "model.pt"
        text.write_text("no archive at all")
        err = self.error("models", "upload", text)
        self.assertIn("NOT_A_TORCHSCRIPT_FILE", err)
        self.assertIn("torch.jit", err)
        self.assertEqual(self.memplan_json("models", "list")["models"], [])

    def test_an_unknown_model(self):
        err = self.probe_error("0" * 64)
        self.assertIn("MODEL_NOT_FOUND", err)
        self.assertIn("no stored model", self.probe_error("abcdef"))
        self.assertIn("no file", self.probe_error(self.folder / "none.pt"))

    def test_an_unknown_device(self):
        err = self.error("probe", self.scripted_model(), "--input", INPUT, "--device", "GPU-77",
                         "--cap", "1GiB")
        self.assertIn("--device", err)
        self.assertIn("cpu", err)

    def test_an_unknown_probe(self):
        for verb in ("watch", "cancel"):
            self.assertIn("PROBE_NOT_FOUND", self.error(verb, "no-such-probe"))

    def test_an_input_spec_that_does_not_parse(self):
        err = self.probe_error(self.scripted_model(), model_input="float32[B,x-3]")
        lines = err.splitlines()
        text = next(i for i, line in enumerate(lines) if line.strip() == "float32[B,x-3]")
        self.assertEqual(lines[text + 1].index("^") - lines[text].index("float32"), 11)
        self.assertIn("spec.inputs[0] (--input)", err)
        self.assertIn("INPUT_SPEC_SYNTAX", err)

    def test_a_second_input_that_does_not_parse(self):
        err = self.error("probe", self.scripted_model(), "-i", INPUT, "-i", "int65[B]",
                         "--device", "cpu", "--cap", "1GiB")
        self.assertIn("spec.inputs[1] (--input)", err)

    def test_a_dimension_without_a_size_and_one_too_many(self):
        model = self.scripted_model()
        self.assertIn("spec.dimensions (--dim)", self.probe_error(model, model_input="int64[B,T]"))
        self.assertIn('spec.dimensions["S"] (--dim)', self.probe_error(model, "S=3"))

    def test_a_wrong_number_of_inputs(self):
        err = self.probe_error(self.scripted_model(on_batch={"*": "refuses inputs"}))
        self.assertIn("forward() expected at most 2 argument(s) but received 3", err)
        self.assertIn("spec.inputs (--input)", err)

    def test_a_dtype_that_the_model_refuses(self):
        err = self.probe_error(self.scripted_model(on_batch={"*": "model fails"}))
        self.assertIn("expected scalar type Long but found Float", err)

    def test_batches_out_of_range(self):
        for batch in ("0", "-1", "2147483649"):
            err = self.error("profile", self.scripted_model(), "--input", INPUT, "--device",
                             "cpu", "--cap", "1GiB", "--batches", f"4,{batch}")
            self.assertIn("spec.profile.batches[1] (--batches)", err)
            self.assertIn(f"not {batch}", err)

    def test_limits_out_of_range(self):
        model = self.scripted_model()
        self.assertIn("spec.cap_bytes (--cap)", self.probe_error(model, limit=("--cap", "0")))
        err = self.probe_error(model, limit=("--cap", "900TiB"))
        self.assertIn("spec.cap_bytes (--cap)", err)
        self.assertIn("CAP_ABOVE_DEVICE", err)
        err = self.probe_error(model, limit=("--budget", "900TiB"))
        self.assertIn("spec.budget_bytes (--budget)", err)

    def test_no_limit_on_the_cpu_device(self):
        err = self.error("probe", self.scripted_model(), "--input", INPUT, "--device", "cpu",
                         code=2)
        self.assertIn("--cap", err)

    def test_a_cap_smaller_than_the_models_weights(self):
        model = self.scripted_model(base_bytes=64 << 20)
        out, _ = self.memplan("probe", model, "--input", INPUT, "--device", "cpu", "--cap",
                              "32MiB", code=NEVER)
        self.assertIn("does not fit at batch 1", out)

    def test_a_trial_over_its_deadline(self):
        model = self.scripted_model(on_batch={"*": "hangs"})
        out, _ = self.memplan("profile", model, "--input", INPUT, "--device", "cpu", "--cap",
                              "1GiB", "--batch", "4", "--trial-timeout", "300ms", code=ERROR)
        self.assertIn("timed out", out)
        self.assertEqual(self.server.workers(), [])


class UnusableWorkerTest(IntegrationTest):
    def error_with_worker(self, path):
        self.worker_link.unlink()
        if path is not None:
            self.worker_link.symlink_to(path)
        self.start_server()
        _, err = self.memplan(*self.probe_arguments(self.scripted_model()), code=ERROR)
        self.assertIn("WORKER_UNUSABLE", err)
        self.assertIn(str(self.worker_link), err)

    def test_a_worker_that_is_missing(self):
        self.error_with_worker(None)

    def test_a_worker_that_is_not_executable(self):
        plain = self.folder / "plain"
        plain.write_text("text")
        os.chmod(plain, 0o600)
        self.error_with_worker(plain)


if __name__ == "__main__":
    unittest.main()
