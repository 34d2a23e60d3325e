"""Admission from outside: the verbs of memplan against a daemon with made-up GPUs."""

import json
import os
import re
import signal
import subprocess
import sys
import unittest
import urllib.request

from harness import DONE, INPUT, MEMPLAN, NEVER, PATIENCE, UNREACHABLE, IntegrationTest, wait_until

NOT_NOW, NO_PERMISSION, UNKNOWN, RUN_FAILED = 3, 6, 7, 125
GPU = "GPU-1"


class AdmissionTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.script = self.folder / "devices.json"
        self.write_card()

    def write_card(self, *processes, **more):
        """A GPU of 24 GiB with these (pid, name, GiB) on it."""
        card = {"id": GPU, "name": "Made up", "total": "24GiB", "driver_reserve": "0B", "processes": [
            {"pid": pid, "name": name, "used": f"{used}GiB"} for pid, name, used in processes], **more}
        if not processes and not more:
            card["used"] = "0B"
        new = self.script.with_suffix(".new")
        new.write_text(json.dumps({"devices": [card]}))
        new.rename(self.script)

    def start(self, *more):
        self.start_server("--devices", f"script:{self.script}", "--headroom", "0B", *more)
        wait_until(lambda: self.verdict("1GiB") == "VERDICT_FITS", "the first reading")

    def judgement(self, size, *more, code=None):
        result = subprocess.run(self.command("check", "--bytes", size, "--output", "json", *more),
                                env=self.environment, text=True, capture_output=True, timeout=PATIENCE)
        if code is not None:
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return json.loads(result.stdout)["judgement"]

    def verdict(self, size, *more, code=None):
        return self.judgement(size, *more, code=code)["verdict"]

    def reserve(self, size, *more, code=DONE):
        return self.memplan_json("reserve", "--bytes", size, *more, code=code)["reservation"]

    def states(self):
        return {r["id"]: r["state"].removeprefix("RESERVATION_STATE_")
                for r in self.memplan_json("reservations", "--all")["reservations"]}

    def waiters(self):
        with urllib.request.urlopen(f"http://{self.server.metrics}/metrics", timeout=PATIENCE) as page:
            return int(re.search(r"^memplan_reservation_waiters (\d+)", page.read().decode(), re.M).group(1))

    def run_line(self, *arguments):
        return [str(MEMPLAN), "--address", self.server.address, "run", *map(str, arguments)]

    def start_run(self, *arguments):
        process = subprocess.Popen(self.run_line(*arguments), env=self.environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self._end_memplan, process)
        return process

    def run_command(self, *arguments):
        process = self.start_run(*arguments)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err


class CheckTest(AdmissionTest):
    # pytorch/serve#1383: start only if that much memory is free.
    def test_row_38_the_exit_code_of_a_check_is_its_verdict(self):
        self.write_card((4711, "python", 20))
        self.start()
        self.verdict("4GiB", code=DONE)
        told = self.judgement("5GiB", code=NOT_NOW)
        self.assertIn("pid 4711 (python) holds 20.0 GiB", told["message"])
        self.assertEqual(told["holders"][0]["pid"], "4711")
        self.verdict("25GiB", code=NEVER)
        self.write_card((4711, "python", 20), read_error="the GPU is lost")
        wait_until(lambda: self.verdict("4GiB") == "VERDICT_UNKNOWN", "the loss to be seen")
        self.verdict("4GiB", "--device", GPU, code=UNKNOWN)

    # KAI-Scheduler#257: a wrong unit or name is an error, never ignored.
    def test_row_8_wrong_units_and_numbers_without_numbering_are_refused(self):
        self.start()
        self.memplan("check", "--bytes", "4Gi", code=2)
        _, words = self.memplan("check", "--bytes", "4GiB", "--device", "0", code=1)
        self.assertIn("nvml:0, cuda:0", words)
        self.memplan("check", "--bytes", "4GiB", "--device", "nvml:0", code=1)

    def test_a_probe_that_ended_says_what_its_model_takes(self):
        self.start()
        model = self.scripted_model(limit_batch=20)
        self.memplan("probe", model, "--input", INPUT, "--device", GPU, "--cap", "8GiB")
        told = self.memplan_json("check", "--model", model, "--batch", "20")["judgement"]
        self.assertEqual(told["need_source"], "NEED_SOURCE_VERIFIED")
        self.assertGreater(int(told["need_most_bytes"]), 0)
        told = self.memplan_json("check", "--model", model, "--batch", "21", code=UNKNOWN)["judgement"]
        self.assertEqual(told["reason"], "VERDICT_REASON_BATCH_NOT_MEASURED")
        told = self.memplan_json("check", "--model", "a" * 64, "--batch", "1", code=UNKNOWN)["judgement"]
        self.assertEqual(told["reason"], "VERDICT_REASON_NO_PLAN")


class ReservationsTest(AdmissionTest):
    def test_an_owner_renews_adopts_and_releases_and_nobody_else_does(self):
        self.start()
        mine = self.reserve("20GiB", "--holder", "team-a")
        self.memplan_json("reserve", "--bytes", "5GiB", code=NOT_NOW)
        self.memplan("release", mine["id"], "--token", "guess", code=NO_PERMISSION)
        token = ["--token", mine["token"]]
        self.memplan("renew", mine["id"], *token, "--lifetime", "1h", "--bytes", "19GiB")
        self.memplan("adopt", mine["id"], *token, "--pid", str(os.getpid()))
        self.assertEqual(self.states()[mine["id"]], "ADOPTED")
        self.reserve("5GiB")
        table, _ = self.memplan("top", "--once")
        self.assertIn("team-a", table)
        self.assertNotIn("PROCESS", table)
        self.write_card((4711, "python", 3))
        wait_until(lambda: re.search(r"GPU-1 +4711 +3.00 GiB +python", self.memplan("top", "--once")[0]),
                   "a process without a reservation")
        self.memplan("release", mine["id"], *token)
        self.assertEqual(self.states()[mine["id"]], "RELEASED")

    def test_kill_and_restart_lose_nothing(self):
        self.start()
        mine = self.reserve("20GiB", "--lifetime", "1h")
        short = self.reserve("1GiB", "--lifetime", "1s")
        self.server.kill()
        self.server.start()
        wait_until(lambda: self.states()[short["id"]] == "EXPIRED", "the short one to expire")
        self.assertEqual(self.states()[mine["id"]], "PROMISED")
        self.memplan("release", mine["id"], "--token", mine["token"])

    def test_row_11_a_wait_gets_the_memory_when_it_becomes_free(self):
        self.start()
        mine = self.reserve("20GiB", "--lifetime", "1h")
        waits = self.start_memplan("wait", "--bytes", "20GiB", "--for", "1h", "--output", "json")
        wait_until(lambda: self.waiters() == 1, "the wait")
        self.memplan("release", mine["id"], "--token", mine["token"])
        out, err = waits.communicate(timeout=PATIENCE)
        self.assertEqual(waits.returncode, DONE, err)
        self.assertTrue(json.loads(out)["reservation"]["token"])


class RunTest(AdmissionTest):
    def test_passes_on_output_and_exit_code_and_lets_go(self):
        self.start()
        code, out, err = self.run_command("--bytes", "4GiB", "--", sys.executable, "-c",
                                          "import os, sys; print(os.environ['CUDA_VISIBLE_DEVICES']); sys.exit(7)")
        self.assertEqual((code, out), (7, f"{GPU}\n"), err)
        self.assertEqual(list(self.states().values()), ["RELEASED"])

    def test_passes_on_signals(self):
        self.start()
        process = self.start_run("--bytes", "4GiB", "--", sys.executable, "-c",
                                 "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9)); "
                                 "print('there', flush=True); signal.pause()")
        self.assertEqual(process.stdout.readline(), "there\n")
        wait_until(lambda: list(self.states().values()) == ["ADOPTED"], "the adoption")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 9)

    def test_has_125_for_no_daemon_and_for_no_room_and_127_for_no_command(self):
        self.start()
        nobody = subprocess.run([MEMPLAN, "--address", f"unix:{self.folder}/none", "run", "--bytes", "1GiB",
                                 "--", "true"], env=self.environment, capture_output=True, check=False)
        self.assertEqual(nobody.returncode, RUN_FAILED)
        self.memplan("check", "--bytes", "1GiB")
        code, _, err = self.run_command("--bytes", "25GiB", "--", "true")
        self.assertEqual(code, RUN_FAILED)
        self.assertIn("never: the job takes up to 25.0 GiB", err)
        self.assertEqual(self.run_command("--", "true")[0], RUN_FAILED)
        self.assertEqual(self.run_command("--bytes", "1GiB", "--", self.folder / "none")[0], 127)
        self.assertEqual(set(self.states().values()), {"RELEASED"})

    # The issue: two jobs that together do not fit: the second waits, then runs.
    def test_a_second_job_waits_for_the_first(self):
        self.start()
        first = self.start_run("--bytes", "20GiB", "--", sys.executable, "-c",
                               "import signal; print('there', flush=True); signal.pause()")
        self.assertEqual(first.stdout.readline(), "there\n")
        second = self.start_run("--bytes", "20GiB", "--wait", "1h", "--", "echo", "ran")
        wait_until(lambda: self.waiters() == 1, "the second")
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=PATIENCE)
        out, err = second.communicate(timeout=PATIENCE)
        self.assertEqual((second.returncode, out), (DONE, "ran\n"), err)

    # soperator, slurm: a daemon that is not there is an exit code of its own.
    def test_row_51_no_daemon_is_told_by_the_exit_code(self):
        result = subprocess.run([MEMPLAN, "check", "--bytes", "1GiB", "--address", f"unix:{self.folder}/none"],
                                env=self.environment, capture_output=True, check=False)
        self.assertEqual(result.returncode, UNREACHABLE)


class DrainTest(AdmissionTest):
    def test_row_41_an_end_of_the_daemon_ends_waits_with_a_reason(self):
        self.start()
        self.reserve("20GiB", "--lifetime", "1h")
        waits = self.start_run("--bytes", "20GiB", "--wait", "1h", "--", "true")
        wait_until(lambda: self.waiters() == 1, "the wait")
        waits.send_signal(signal.SIGINT)
        waits.communicate(timeout=PATIENCE)
        self.assertEqual(waits.returncode, 128 + signal.SIGINT)
        self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
