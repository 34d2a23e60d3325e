"""Steps of the wall clock harm no reservation: faketime sets the daemon's clock alone.

The library lets the wall clock go as a file says and leaves the clocks that
nobody sets, as a step on a real node does. Needs Debian's `faketime`.
"""

import datetime
import glob
import os
import re
import time
import unittest
import urllib.request

import admission_test
from harness import PATIENCE, wait_until

DAY = 24 * 60 * 60
HOUR = 3600
LIBRARIES = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")


@unittest.skipUnless(LIBRARIES, "Debian's package faketime is not installed")
@unittest.skipIf(os.environ.get("MEMPLAN_TEST_SANITIZE"), "a sanitizer wants to be the first library")
class ClockStepsTest(admission_test.AdmissionTest):
    def setUp(self):
        super().setUp()
        self.clock = self.folder / "clock"
        self.step(0)

    def step(self, seconds):
        """From now on the daemon's wall clock is so far from the host's."""
        new = self.clock.with_suffix(".new")
        new.write_text(f"{seconds:+d}s\n")
        new.rename(self.clock)

    def start(self, *more):
        own = self.environment
        self.environment = own | {"LD_PRELOAD": LIBRARIES[0], "FAKETIME_TIMESTAMP_FILE": str(self.clock),
                                  "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        super().start(*more)
        self.server.environment = self.environment
        self.environment = own

    def left(self, made):
        """Seconds until it expires; 0 once it has."""
        every = self.memplan_json("reservations", "--all")["reservations"]
        (found,) = [r for r in every if r["id"] == made["id"]]
        if found["state"] != "RESERVATION_STATE_PROMISED":
            return 0
        return float(found["expires_in"].rstrip("s"))

    def wait_for_step(self, seconds):
        """Until the daemon's log shows that its clock was set so."""
        def is_set():
            self.reserve("1MiB", "--lifetime", "1s")  # the log has a line about it
            last = re.findall(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d", "".join(self.server.words))[-1]
            off = datetime.datetime.fromisoformat(last) - datetime.datetime.now()
            return abs(off.total_seconds() - seconds) < HOUR
        wait_until(is_set, f"the daemon's clock to be {seconds} s off")

    def snapshot_age(self):
        with urllib.request.urlopen(f"http://{self.server.metrics}/metrics", timeout=PATIENCE) as page:
            ages = re.findall(r"^memplan_device_snapshot_age_seconds{.*} (\S+)", page.read().decode(), re.M)
        return max(abs(float(age)) for age in ages)

    def assert_held(self, made, since):
        """It lives with what is left of its hour by the clock that nobody sets."""
        gone = time.monotonic() - since
        self.assertAlmostEqual(self.left(made), HOUR - gone, delta=60)
        self.verdict("5GiB", code=admission_test.NOT_NOW)

    def test_a_step_forward_or_back_neither_ends_nor_prolongs_a_reservation(self):
        self.start()
        since = time.monotonic()
        mine = self.reserve("20GiB", "--lifetime", "1h")
        for step in (+DAY, -DAY):
            self.step(step)
            self.wait_for_step(step)
            self.assertLess(self.snapshot_age(), HOUR)
            self.assert_held(mine, since)
            # One made after the step lives as long as any other.
            short = self.reserve("1GiB", "--lifetime", "1s")
            wait_until(lambda: self.states()[short["id"]] == "EXPIRED", "the short one to expire")
            self.assert_held(mine, since)
        self.memplan("release", mine["id"], "--token", mine["token"])
        self.verdict("24GiB")

    def test_a_step_while_no_daemon_runs_is_none_of_a_reservations_time(self):
        self.start()
        since = time.monotonic()
        mine = self.reserve("20GiB", "--lifetime", "1h")
        for step in (+DAY, -DAY):
            short = self.reserve("1GiB", "--lifetime", "1s")
            self.server.kill()
            self.step(step)
            self.server.start()
            wait_until(lambda: self.states()[short["id"]] == "EXPIRED", "the short one to expire")
            self.assert_held(mine, since)

    def test_a_step_between_renewals_and_while_a_process_has_it_changes_nothing(self):
        self.start()
        mine = self.reserve("20GiB", "--lifetime", "1h")
        token = ["--token", mine["token"]]
        self.step(-DAY)
        since = time.monotonic()
        self.memplan("renew", mine["id"], *token, "--lifetime", "1h")
        self.assert_held(mine, since)
        self.memplan("adopt", mine["id"], *token, "--pid", str(os.getpid()))
        self.step(+DAY)
        self.server.kill()
        self.server.start()
        self.assertEqual(self.states()[mine["id"]], "ADOPTED")
        waits = self.start_memplan("wait", "--bytes", "20GiB", "--for", "1h", "--output", "json")
        wait_until(lambda: self.waiters() == 1, "the wait")
        self.step(-DAY)
        self.memplan("release", mine["id"], *token)
        waits.communicate(timeout=PATIENCE)
        self.assertEqual(waits.returncode, 0)


if __name__ == "__main__":
    unittest.main()
