"""The sandbox of the real worker, on the CPU device, and the daemon's part in it."""

import json
import os
import pathlib
import subprocess
import unittest
import urllib.request

from harness import ERROR, MODELS, SCRIPTED_WORKER, SERVER, WORKER, IntegrationTest, wait_until

MISBEHAVING = os.environ.get("MEMPLAN_TEST_MISBEHAVING", "")


class SandboxedWorkerTest(IntegrationTest):
    worker = WORKER

    def setUp(self):
        if not MODELS:
            self.skipTest("the worker was not built")
        told = subprocess.run([WORKER, "--sandbox-check"], capture_output=True, text=True).stdout
        states = {layer["name"]: layer["state"] for layer in json.loads(told)["layers"]}
        if states["landlock"] != "in-force" or states["seccomp"] != "in-force":
            self.skipTest(f"this kernel has no such sandbox: {states}")
        super().setUp()

    def on_cpu(self, verb, name, *more):
        return [verb, pathlib.Path(MODELS) / f"{name}.pt", "--device", "cpu", "--cap", "1MiB",
                *more]

    def refused_trial(self, name):
        profile = self.on_cpu("profile", name, "--input", "float32[B,4]", "--batch", "1")
        return self.memplan_json(*profile, code=ERROR)["trials"][0]

    def test_a_probe_finds_the_same_as_without(self):
        mlp = self.on_cpu("probe", "mlp", "--input", "float32[B,64]", "--train", "sgd",
                          "--steps", "2", "--max-batch", "64")
        answers = {}
        for mode in ("require", "off"):
            server = self.start_server("--sandbox", mode)
            probe = self.memplan_json(*mlp)
            answers[mode] = (probe["plan"]["safe_batch"],
                             [(t["batch"], t["outcome"], t["peaks"]) for t in probe["trials"]])
            self.assertEqual(list((server.store / "scratch").iterdir()), [])
            server.stop()
        self.assertEqual(answers["require"], answers["off"])

    def test_models_that_reach_for_what_is_not_theirs(self):
        wrapper = self.folder / "wrapper"
        wrapper.write_text(f'#!/bin/sh\nLD_PRELOAD={MISBEHAVING} exec {WORKER} "$@"\n')
        wrapper.chmod(0o755)
        self.worker_link.unlink()
        self.worker_link.symlink_to(wrapper)
        self.start_server("--sandbox", "require")
        for name, words in (("reads_passwd", "Permission denied"),
                            ("opens_socket", "Operation not permitted"),
                            ("kills_parent", "Operation not permitted")):
            trial = self.refused_trial(name)
            self.assertEqual(trial["outcome"], "TRIAL_OUTCOME_SANDBOX_REFUSED", trial["message"])
            self.assertIn(words, trial["message"])
        _, err = self.memplan(*self.on_cpu("probe", "reads_passwd", "--input", "float32[B,4]"),
                              code=ERROR)
        self.assertIn("SANDBOX_REFUSED", err)
        self.assertIn("/etc/passwd", err)


class DaemonTest(IntegrationTest):
    worker = SCRIPTED_WORKER

    def layers(self):
        status = self.memplan_json("status")
        return {layer["name"]: layer["state"] for layer in status.get("sandbox", [])}

    def lack_landlock(self):
        self.worker_link = self.folder / "lacks-landlock"
        self.worker_link.symlink_to(self.worker)

    def test_what_is_missing_is_told(self):
        self.lack_landlock()
        server = self.start_server()
        layers = wait_until(lambda: "landlock" in self.layers() and self.layers(),
                            "the sandbox to be tried")
        self.assertEqual(layers["scratch_folder"], "SANDBOX_LAYER_STATE_IN_FORCE")
        self.assertEqual(layers["memory_limit"], "SANDBOX_LAYER_STATE_OFF")
        self.assertEqual(layers["landlock"], "SANDBOX_LAYER_STATE_MISSING")
        self.assertEqual(layers["seccomp"], "SANDBOX_LAYER_STATE_IN_FORCE")
        with urllib.request.urlopen(f"http://{server.metrics}/metrics") as page:
            text = page.read().decode()
        self.assertIn('memplan_worker_sandbox_layer_in_force{layer="landlock"} 0', text)
        self.assertIn('memplan_worker_sandbox_layer_in_force{layer="seccomp"} 1', text)

    def test_require_does_not_start_without(self):
        self.lack_landlock()
        done = subprocess.run(
            [SERVER, "--store", self.folder / "store", "--socket", self.folder / "m.sock",
             "--listen", "none", "--metrics", "none", "--worker", self.worker_link,
             "--sandbox", "require"],
            env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("landlock: the kernel has no Landlock", done.stderr)
        self.assertIn("--sandbox=auto", done.stderr)


if __name__ == "__main__":
    unittest.main()
