"""What the daemon is and is not: no torch, quick, small, a clean metrics page."""

import subprocess
import unittest
import urllib.request

from harness import PROMTOOL, SERVER, IntegrationTest

FORBIDDEN = ("torch", "c10", "cuda", "nvidia", "cudnn", "nccl")


class DaemonTest(IntegrationTest):
    def test_links_no_torch_and_no_cuda(self):
        listing = subprocess.run(["ldd", SERVER], capture_output=True, text=True, check=True)
        names = [line.split()[0] for line in listing.stdout.splitlines()]
        self.assertTrue([name for name in names if name.startswith("libgrpc++.so")], names)
        self.assertEqual([name for name in names if any(word in name for word in FORBIDDEN)], [])

    def test_the_live_metrics_page_passes_promtool(self):
        if not PROMTOOL:
            self.skipTest("promtool is not installed")
        self.start_server()
        self.memplan(*self.probe_arguments(self.scripted_model(limit_batch=3)))
        with urllib.request.urlopen(f"http://{self.server.metrics}/metrics", timeout=20) as page:
            text = page.read()
        self.assertIn(b"memplan_trials_total", text)
        self.assertIn(b"memplan_build_info", text)
        check = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True)
        self.assertEqual((check.returncode, check.stdout, check.stderr), (0, b"", b""))

    def test_two_daemons_do_not_share_a_store_or_a_socket(self):
        self.start_server()
        for clash in (["--socket", self.folder / "other.sock"],
                      ["--store", self.folder / "other"]):
            second = subprocess.run(
                [*self.server.command, *map(str, clash)], capture_output=True, text=True,
                timeout=60, env=self.environment, stdin=subprocess.DEVNULL)
            self.assertEqual(second.returncode, 1, second.stderr)
        self.memplan("devices")


if __name__ == "__main__":
    unittest.main()
