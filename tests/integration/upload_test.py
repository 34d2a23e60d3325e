"""Uploads that break off, and stores that are full, with the real daemon."""

import hashlib
import os
import signal
import unittest
import urllib.request

from big_upload import upload_broken, write_big_model
from harness import DONE, ERROR, PATIENCE, IntegrationTest, wait_until

MOST_KIB = 150 << 10  # of the daemon; what is uploaded must not add to it


class UploadTest(IntegrationTest):
    def big_model(self, mib):
        return write_big_model(self.folder / f"big{mib}.pt", mib)

    def stored(self):
        return self.memplan_json("models", "list")["models"]

    def metric(self, family):
        """The family's values by labels, as the page writes both."""
        with urllib.request.urlopen(f"http://{self.server.metrics}/metrics", timeout=20) as page:
            lines = page.read().decode().splitlines()
        pairs = [line.rsplit(" ", 1) for line in lines if line.startswith((family + "{", family + " "))]
        return {labels.removeprefix(family): float(value) for labels, value in pairs}

    def test_an_upload_broken_again_and_again_ends_right(self):
        server = self.start_server()
        model = self.big_model(32)
        result, broken, peaks = upload_broken(server, model, 4, self.environment)
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertEqual(result.stdout.strip(), hashlib.sha256(model.read_bytes()).hexdigest())
        self.assertEqual(broken, 4)
        self.assertIn("it goes on where it ended", result.stderr)
        if not os.environ.get("MEMPLAN_TEST_SANITIZE"):  # sanitizers keep what was freed
            self.assertLess(max(peaks), MOST_KIB)
        stored = self.stored()[0]
        self.assertEqual(stored["state"], "MODEL_STATE_READY")
        self.assertEqual(stored["committed_bytes"], str(model.stat().st_size))

    def test_a_killed_client_goes_on_where_it_was(self):
        self.start_server()
        model = self.big_model(256)
        first = self.start_memplan("models", "upload", model)
        wait_until(lambda: any(int(m["committed_bytes"]) > 1 << 20 for m in self.stored()),
                   "some of the model to come")
        first.kill()
        first.wait()
        part = self.stored()[0]
        self.assertEqual(part["state"], "MODEL_STATE_UPLOADING")
        self.assertIn("uploading, ", self.memplan("models", "list")[0])
        out, _ = self.memplan("models", "upload", model)
        self.assertEqual(out.strip(), part["sha256"])
        outcomes = self.metric("memplan_uploads_total")
        self.assertEqual(outcomes['{outcome="stored"}'], 1)
        self.assertGreaterEqual(outcomes['{outcome="broken_off"}'], 1)

    def test_a_stopped_client_loses_its_place_and_goes_on(self):
        self.start_server("--upload-idle-timeout", "1s")
        model = self.big_model(256)
        client = self.start_memplan("models", "upload", model)
        wait_until(lambda: any(int(m["committed_bytes"]) > 1 << 20 for m in self.stored()),
                   "some of the model to come")
        client.send_signal(signal.SIGSTOP)
        wait_until(lambda: self.metric("memplan_uploads_total")['{outcome="broken_off"}'] == 1,
                   "the daemon to give up")
        limits = {limit["name"]: limit for limit in self.memplan_json("status")["limits"]}
        self.assertEqual(limits["uploads"]["used"], "0")
        client.send_signal(signal.SIGCONT)
        out, words = client.communicate(timeout=PATIENCE)
        self.assertEqual(client.returncode, DONE, words)
        self.assertEqual(out.strip(), self.stored()[0]["sha256"])
        self.assertIn("it goes on where it ended", words)

    def test_a_full_store_refuses_before_a_byte_is_written(self):
        self.start_server("--store-max-bytes", "3MiB", "--store-max-models", "2")
        self.memplan("models", "upload", self.big_model(2))
        _, words = self.memplan("models", "upload", self.big_model(1), code=ERROR)
        self.assertIn("STORE_QUOTA_EXCEEDED", words)
        self.assertIn("store_max_bytes", words)
        self.assertEqual(len(self.stored()), 1)
        self.assertEqual(list((self.server.store / "parts").iterdir()), [])
        self.memplan("models", "upload", self.scripted_model("a.pt"))
        _, words = self.memplan("models", "upload", self.scripted_model("b.pt", x=1), code=ERROR)
        self.assertIn("store_max_models", words)

    def test_the_model_used_least_recently_makes_room(self):
        self.start_server("--store-max-models", "2", "--evict-models")
        first, second, third = (self.scripted_model(f"{limit}.pt", limit_batch=limit)
                                for limit in (5, 6, 7))
        names = [self.memplan("models", "upload", model)[0].strip() for model in (first, second)]
        self.memplan(*self.probe_arguments(first))
        self.memplan("models", "upload", third)
        stored = {model["sha256"] for model in self.stored()}
        self.assertEqual(len(stored), 2)
        self.assertIn(names[0], stored)
        self.assertNotIn(names[1], stored)
        self.assertEqual(self.metric("memplan_store_evictions_total"), {"": 1})
        self.assertIn(f"evicted model {names[1]}", "".join(self.server.words))


if __name__ == "__main__":
    unittest.main()
