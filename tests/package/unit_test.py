"""The systemd unit, as systemd itself reads it, without a systemd that runs.

MEMPLAN_TEST_UNIT is the unit; MEMPLAN_TEST_BIN has a memplan-server for it.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

UNIT = pathlib.Path(os.environ["MEMPLAN_TEST_UNIT"])
SERVER = pathlib.Path(os.environ["MEMPLAN_TEST_BIN"]) / "memplan-server"
MOST_EXPOSURE = 20  # tenths


@unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze here")
class UnitTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="memplan-unit-")
        self.addCleanup(folder.cleanup)
        self.unit = pathlib.Path(folder.name) / UNIT.name
        self.text = UNIT.read_text()
        # systemd looks for the program in folders that no test should write to.
        self.write(self.text.replace("ExecStart=memplan-server", f"ExecStart={SERVER}"))

    def write(self, text):
        self.unit.write_text(text)

    def analyze(self, *arguments):
        return subprocess.run(["systemd-analyze", "--no-pager", *arguments, self.unit],
                              text=True, capture_output=True, timeout=60)

    def settings(self, name):
        return re.findall(rf"^{name}=(.*)$", self.text, re.M)

    def test_systemd_finds_nothing_to_say_about_it(self):
        result = self.analyze("verify")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_misspelt_setting_would_be_said(self):
        self.write(self.unit.read_text().replace("ProtectHome=", "ProtectHouse="))
        self.assertIn("ProtectHouse", self.analyze("verify").stderr)

    def test_it_is_exposed_little(self):
        result = self.analyze("security", "--offline=true", f"--threshold={MOST_EXPOSURE}")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_what_workers_need_is_not_taken_away(self):
        for name in "MemoryDenyWriteExecute", "PrivateDevices", "ProcSubset", "ProtectProc":
            self.assertEqual(self.settings(name), [])
        self.assertEqual(self.settings("Delegate"), ["memory"])
        self.assertEqual(self.settings("ProtectControlGroups"), ["no"])
        devices = self.settings("DeviceAllow")
        for group in "nvidia", "nvidia-frontend", "nvidiactl", "nvidia-uvm", "nvidia-caps":
            self.assertIn(f"char-{group} rw", devices)
        calls = " ".join(self.settings("SystemCallFilter")).split()
        for call in ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
                     "seccomp"):
            self.assertIn(call, calls)


if __name__ == "__main__":
    unittest.main()
