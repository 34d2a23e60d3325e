"""Deaths and ends: of workers, of the daemon, of memplan itself."""

import os
import pty
import signal
import subprocess
import unittest

import grpc

from harness import DONE, Gate, IntegrationTest, wait_until
from reflection_client import ReflectionClient


class LifecycleTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.start_server()
        self.gate = Gate(self.folder / "gate")

    def waiting_model(self, batch="16", **script):
        """A model whose workers wait at the gate with `batch`."""
        return self.scripted_model(gate=str(self.gate.path), limit_batch=20,
                                   on_batch={batch: "waits at the gate"}, **script)

    def detached(self, model):
        return self.memplan(*self.probe_arguments(model, "--detach"))[0].strip()

    def wait_for_worker_of(self, probe_id, batch):
        def running():
            probe = next(p for p in self.memplan_json("list")["probes"] if p["id"] == probe_id)
            progress = probe.get("progress", {})
            at_step = progress.get("batch") == batch and progress.get("phase") == "step"
            return self.server.workers() if at_step else None
        return wait_until(running, f"a worker with batch {batch}")[0]

    def test_a_worker_killed_in_a_trial_costs_that_trial(self):
        probe_id = self.detached(self.waiting_model(once=str(self.folder / "once")))
        os.kill(self.wait_for_worker_of(probe_id, "16"), signal.SIGKILL)
        probe = self.memplan_json("watch", probe_id, code=DONE)
        self.assertEqual(probe["plan"]["safe_batch"], "20")
        outcomes = [trial["outcome"] for trial in probe["trials"]]
        self.assertEqual(outcomes.count("TRIAL_OUTCOME_WORKER_DIED"), 1)

    def kill_the_daemon_of(self, probe_id, follower):
        """Kills it in the probe's batch 16 and starts another, which `follower`, the
        terminal of a program that follows the probe, sees through to the end."""
        worker = self.wait_for_worker_of(probe_id, "16")
        follower.wait_for("batch 16")
        self.server.kill()
        wait_until(lambda: not os.path.exists(f"/proc/{worker}"), "the worker to be gone")
        self.server.start()
        self.assertIn("waiting for it", follower.read_to_end())
        self.assertIn('"restart_count": 1', follower.out())
        self.assertEqual(follower.process.wait(60), DONE)

    def test_a_daemon_killed_in_a_probe_begins_it_anew(self):
        probe_id = self.detached(self.waiting_model(once=str(self.folder / "once")))
        self.kill_the_daemon_of(
            probe_id, Terminal(self, self.command("watch", probe_id, "--output", "json")))
        probe = self.memplan_json("watch", probe_id, code=DONE)
        self.assertEqual(probe["plan"]["safe_batch"], "20")
        self.assertEqual(probe["restart_count"], 1)

    def test_probe_and_profile_outlive_their_daemon(self):
        for verb, limits in (("probe", []), ("profile", ["--batches", "8,16"])):
            with self.subTest(verb):
                model = self.waiting_model(once=str(self.folder / f"once-{verb}"))
                _, *arguments = self.probe_arguments(model, *limits)
                follower = Terminal(self, self.command(verb, *arguments, "--output", "json"))
                follower.wait_for("batch 16")
                probe_id = self.memplan_json("list")["probes"][0]["id"]  # the newest
                self.kill_the_daemon_of(probe_id, follower)

    def test_an_ended_probe_is_still_there_after_a_restart(self):
        probe_id = self.memplan_json(*self.probe_arguments(
            self.scripted_model(limit_batch=5)))["id"]
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        probe = self.memplan_json("watch", probe_id)
        self.assertEqual(probe["plan"]["safe_batch"], "5")
        self.assertEqual(probe["restart_count"], 0)

    def test_sigterm_ends_the_daemon_with_a_watch_open(self):
        probe_id = self.detached(self.waiting_model())
        worker = self.wait_for_worker_of(probe_id, "16")
        client = ReflectionClient(self.server.address)
        self.addCleanup(client.close)
        watch = client.call("ProbeService/WatchProbe",
                            client.message("memplan.v1.WatchProbeRequest", id=probe_id))
        next(watch)
        self.assertEqual(self.server.stop(), 0, "".join(self.server.words))
        with self.assertRaises(grpc.RpcError) as raised:
            list(watch)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.UNAVAILABLE)
        self.assertFalse(os.path.exists(f"/proc/{worker}"))

    def test_an_interrupt_cancels_the_probe(self):
        probe = self.start_memplan(*self.probe_arguments(self.waiting_model()))
        wait_until(lambda: self.memplan_json("list")["probes"], "the probe")
        probe_id = self.memplan_json("list")["probes"][0]["id"]
        self.wait_for_worker_of(probe_id, "16")
        probe.send_signal(signal.SIGINT)
        _, err = probe.communicate(timeout=60)
        self.assertEqual(probe.returncode, 128 + signal.SIGINT, err)
        self.assertIn(f"cancelling probe {probe_id}", err)
        self.wait_for_state(probe_id, "CANCELLED")

    def test_an_interrupted_watch_leaves_the_probe_alone(self):
        probe_id = self.detached(self.waiting_model())
        self.wait_for_worker_of(probe_id, "16")
        on_terminal = Terminal(self, self.command("watch", probe_id))
        on_terminal.wait_for("batch 16")
        on_terminal.process.send_signal(signal.SIGINT)
        self.assertIn("goes on", on_terminal.read_to_end())
        self.assertEqual(on_terminal.process.wait(60), 128 + signal.SIGINT)
        self.wait_for_state(probe_id, "RUNNING")
        self.memplan("cancel", probe_id)

    def test_the_progress_line_is_drawn_on_a_terminal(self):
        on_terminal = Terminal(self, self.command(
            *self.probe_arguments(self.waiting_model(once=str(self.folder / "once")))))
        on_terminal.wait_for("batch 16 (search) [")
        self.gate.open_for_one()
        shown = on_terminal.read_to_end()
        self.assertEqual(on_terminal.process.wait(60), DONE)
        self.assertIn("largest safe batch", on_terminal.out())
        # The line is gone in the end.
        self.assertTrue(shown.endswith("\x1b[K"), repr(shown[-40:]))


class Terminal:
    """A program whose standard error is a terminal."""

    def __init__(self, test, command):
        try:
            self.master, slave = pty.openpty()
        except OSError as error:  # a bare root without /dev/pts
            test.skipTest(f"no terminal to be had: {error}")
        self.process = subprocess.Popen(command, env=test.environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=slave, text=True)
        os.close(slave)
        self.shown = ""
        test.addCleanup(self.close)

    def _read(self):
        try:
            text = os.read(self.master, 65536).decode()
        except OSError:  # Linux's way to say that nobody has the other end
            text = ""
        self.shown += text
        return text

    def wait_for(self, text):
        while text not in self.shown:
            if not self._read():
                raise AssertionError(f"ended without {text!r}: {self.shown!r}")

    def read_to_end(self):
        while self._read():
            pass
        return self.shown

    def out(self):
        return self.process.stdout.read()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        os.close(self.master)


if __name__ == "__main__":
    unittest.main()
