"""Private daemons: started for one command, gone with it, however it ends."""

import json
import os
import signal
import unittest

from harness import (DONE, ERROR, INPUT, MEMPLAN, SERVER, UNREACHABLE, Gate, IntegrationTest,
                     processes_about, wait_until)


class PrivateDaemonTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.environment.update(
            MEMPLAN_SERVER=str(SERVER), MEMPLAN_WORKER=str(self.worker_link),
            MEMPLAN_STORE=str(self.folder / "store"), TMPDIR=str(self.folder))

    def command(self, *arguments):
        return [str(MEMPLAN), *map(str, arguments)]

    def local_probe(self, model, *more):
        return ["probe", model, "--input", INPUT, "--device", "cpu", "--cap", "1GiB", "--local",
                *more]

    def socket_folders(self):
        return list(self.folder.glob("memplan-*"))

    def servers(self):
        return {pid: line for pid, line in processes_about(str(self.folder)).items()
                if "memplan-server" in line}

    def wait_for_worker(self):
        wait_until(lambda: [line for line in processes_about(str(self.folder)).values()
                            if line.strip() == str(self.worker_link)], "the worker")

    def test_lives_for_the_command_and_keeps_the_users_store(self):
        model = self.scripted_model(limit_batch=5)
        out, err = self.memplan(*self.local_probe(model, "--output", "json"))
        self.assertEqual(json.loads(out)["plan"]["safe_batch"], "5")
        self.assertIn("private daemon", err)
        self.assertEqual(self.servers(), {})
        self.assertEqual(self.socket_folders(), [])
        # The next one has the model already.
        _, err = self.memplan(*self.local_probe(model))
        self.assertIn("stored already", err)

    def test_serves_a_profile_too(self):
        out, _ = self.memplan("profile", self.scripted_model(), "--input", INPUT, "--device",
                              "cpu", "--cap", "1GiB", "--local", "--batch", "2")
        self.assertIn("fits", out)

    def test_takes_the_flags_of_the_command_line_first(self):
        self.environment.update(MEMPLAN_WORKER="/nowhere", MEMPLAN_STORE="/nowhere/store")
        self.memplan(*self.local_probe(self.scripted_model(limit_batch=2), "--worker",
                                       self.worker_link, "--store", self.folder / "other"))
        self.assertTrue((self.folder / "other" / "memplan.db").exists())

    def test_ends_with_a_command_that_is_killed(self):
        gate = Gate(self.folder / "gate")
        model = self.scripted_model(gate=str(gate.path), on_batch={"*": "waits at the gate"})
        process = self.start_memplan(*self.local_probe(model))
        self.wait_for_worker()
        process.kill()
        process.wait()
        wait_until(lambda: not processes_about(str(self.folder)), "the daemon to end")

    def test_ends_with_a_command_that_is_interrupted(self):
        gate = Gate(self.folder / "gate")
        model = self.scripted_model(gate=str(gate.path), on_batch={"*": "waits at the gate"})
        process = self.start_memplan(*self.local_probe(model))
        self.wait_for_worker()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does for Ctrl-C
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertIn("is cancelled", err)
        self.assertEqual(self.servers(), {})
        self.assertEqual(self.socket_folders(), [])

    def test_ends_at_once_on_a_second_interrupt(self):
        gate = Gate(self.folder / "gate")
        model = self.scripted_model(gate=str(gate.path), on_batch={"*": "waits at the gate"})
        process = self.start_memplan(*self.local_probe(model))
        self.wait_for_worker()
        # A daemon that does not answer keeps the first interrupt from getting anywhere.
        for pid in self.servers():
            os.kill(pid, signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        self.assertIn("private daemon", process.stderr.readline())
        while "cancelling probe" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 128 + signal.SIGINT)
        wait_until(lambda: not processes_about(str(self.folder)), "the daemon to end")
        self.assertEqual(self.socket_folders(), [])

    def test_shows_why_it_cannot_start(self):
        blocked = self.folder / "file"
        blocked.write_text("not a folder")
        _, err = self.memplan(*self.local_probe(self.scripted_model(), "--store", blocked),
                              code=UNREACHABLE)
        self.assertIn(str(blocked), err)
        self.assertEqual(self.socket_folders(), [])

    def test_tells_what_to_do_without_a_server_program(self):
        self.environment["MEMPLAN_SERVER"] = str(self.folder / "none")
        _, err = self.memplan(*self.local_probe(self.scripted_model()), code=ERROR)
        self.assertIn("MEMPLAN_SERVER", err)

    def test_no_other_verb_starts_one(self):
        self.environment["MEMPLAN_ADDRESS"] = f"unix:{self.folder}/none.sock"
        for verb in (["list"], ["devices"], ["models", "list"], ["watch", "x"]):
            self.memplan(*verb, code=UNREACHABLE)
        # Nor does a probe that was told where its daemon is.
        self.memplan("probe", self.scripted_model(), "--input", INPUT, code=UNREACHABLE)
        self.assertEqual(self.servers(), {})


if __name__ == "__main__":
    unittest.main()
