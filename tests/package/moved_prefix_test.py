"""What `cmake --install` made works where it is moved to.

Beside what tests/integration/harness.py wants, ctest says in MEMPLAN_TEST_CMAKE
and MEMPLAN_TEST_BUILD which program installs what.
"""

import json
import os
import subprocess
import unittest

import harness
from harness import IntegrationTest

CMAKE = os.environ["MEMPLAN_TEST_CMAKE"]
BUILD = os.environ["MEMPLAN_TEST_BUILD"]
TORCH = os.environ.get("MEMPLAN_TEST_TORCH", "")  # its folder, if the worker was built


class MovedPrefixTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.environment["TMPDIR"] = str(self.folder)  # private daemons are to be seen
        first = self.folder / "first"
        for component in ["programs"] + (["worker"] if TORCH else []):
            self.run_to_end(CMAKE, "--install", BUILD, "--prefix", first,
                            "--component", component)
        self.prefix = first.rename(self.folder / "second")

    def run_to_end(self, *command):
        result = subprocess.run(list(map(str, command)), env=self.environment, text=True,
                                capture_output=True, timeout=harness.PATIENCE)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def program(self, name):
        return self.prefix / "bin" / name

    def test_the_programs_start(self):
        self.assertRegex(self.run_to_end(self.program("memplan-server"), "--version"),
                         r"^memplan-server \d+\.\d+")
        self.assertRegex(self.run_to_end(self.program("memplan"), "--version"), r"\d+\.\d+")

    def test_memplan_finds_the_daemon_and_the_daemon_its_worker(self):
        worker = self.program("memplan-worker")
        worker.unlink(missing_ok=True)
        worker.symlink_to(harness.SCRIPTED_WORKER)
        probe = json.loads(self.run_to_end(
            self.program("memplan"), *self.probe_arguments(self.scripted_model(limit_batch=5)),
            "--output", "json"))
        self.assertEqual(probe["plan"]["safe_batch"], "5")

    def test_memplan_devices_asks_a_daemon_from_there(self):
        server = self.program("memplan-server")
        self.addCleanup(setattr, harness, "SERVER", harness.SERVER)
        harness.SERVER = server
        address = self.start_server().address
        devices = json.loads(self.run_to_end(self.program("memplan"), "devices",
                                             "--address", address, "--output", "json"))
        self.assertIn("cpu", [device["id"] for device in devices["devices"]])

    @unittest.skipUnless(TORCH, "the worker was not built")
    def test_the_worker_takes_the_libtorch_beside_it(self):
        libraries = self.prefix / "lib" / "memplan"
        libraries.mkdir(parents=True)
        (libraries / "torch").symlink_to(TORCH)
        found = self.run_to_end("ldd", self.program("memplan-worker"))
        self.assertIn(f"{self.prefix}/bin/../lib/memplan/torch/lib/libtorch_cpu.so", found)

    def test_systemd_finds_the_unit_and_its_user(self):
        self.assertTrue((self.prefix / "lib/systemd/system/memplan-server.service").is_file())
        self.assertTrue((self.prefix / "lib/sysusers.d/memplan.conf").is_file())


if __name__ == "__main__":
    unittest.main()
