"""Replays and estimates end to end: memplan, memplan-server and the recorded traces.

Needs no worker. The right values are those that the allocator itself reported when
the traces were recorded on an H200 (tests/traces/index.tsv).
"""

import csv
import json
import lzma
import pathlib
import subprocess
import unittest

from harness import DONE, ERROR, MEMPLAN, PATIENCE, USAGE, IntegrationTest

TRACES = pathlib.Path(__file__).parent.parent / "traces"


def index(folder="."):
    with open(TRACES / folder / "index.tsv", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


class ReplayTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.start_server()

    def json_lines(self, *arguments):
        out, _ = self.memplan(*arguments, "--output", "json")
        return [json.loads(line) for line in out.splitlines()]

    def test_replays_every_default_trace_to_the_byte(self):
        rows = index()
        self.assertEqual(len(rows), 88)
        answers = self.json_lines("replay", *(TRACES / row["file"] for row in rows))
        self.assertEqual(len(answers), len(rows))
        for row, answer in zip(rows, answers):
            for peak in ("peak_requested_bytes", "peak_allocated_bytes", "peak_reserved_bytes"):
                self.assertEqual(answer[peak], row[peak], (row["file"], peak))
            self.assertEqual(answer["ends"], "ok", row["file"])
            self.assertNotIn("failed_request", answer)

    def test_reads_a_trace_from_standard_input(self):
        row = index()[0]
        text = lzma.open(TRACES / row["file"]).read()
        result = subprocess.run(self.command("replay", "-", "--output", "json"),
                                env=self.environment, input=text, capture_output=True,
                                timeout=PATIENCE, check=True)
        self.assertEqual(json.loads(result.stdout)["peak_reserved_bytes"],
                         row["peak_reserved_bytes"])

    def test_says_when_a_trace_runs_out_of_memory_and_where(self):
        trace = TRACES / "gpt2-adam-16.tsv.xz"
        answer = self.json_lines("replay", trace, "--cap", "4GiB", "--addresses", "chunks")[0]
        self.assertEqual(answer["ends"], "oom")
        self.assertGreater(int(answer["failed_request"]), 0)
        self.assertLessEqual(int(answer["peak_reserved_bytes"]), 4 << 30)
        out, _ = self.memplan("replay", trace, "--cap", "4GiB", "--addresses", "random:7")
        self.assertIn("out of memory at event", out)

    def test_replays_under_other_settings(self):
        trace = TRACES / "gpt2-adam-16.tsv.xz"
        settings = ("--settings", "expandable_segments:True")
        for order in ("descending", "ascending", "random:1"):
            answer = self.json_lines("replay", trace, *settings, "--addresses", order)[0]
            self.assertEqual(answer["ends"], "ok")
            # The order of addresses does not matter to expandable segments.
            self.assertEqual(answer["peak_reserved_bytes"],
                             self.json_lines("replay", trace, *settings, "--addresses",
                                             "chunks")[0]["peak_reserved_bytes"])

    def test_estimates_a_batch_from_two_others(self):
        truth = next(row for row in index() if row["file"] == "gpt2-adam-96.tsv.xz")
        answer = self.json_lines(
            "estimate", "--trace", f"16={TRACES}/gpt2-adam-16.tsv.xz",
            "--trace", f"32={TRACES}/gpt2-adam-32.tsv.xz", "--batch", "96")[0]
        self.assertEqual(answer["ends"], "ok")
        for peak in ("peak_requested_bytes", "peak_allocated_bytes", "peak_reserved_bytes"):
            bounds = answer["interval"][peak]
            self.assertLessEqual(int(bounds["lower_bytes"]), int(truth[peak]))
            self.assertGreaterEqual(int(bounds["upper_bytes"]), int(truth[peak]))
        self.assertAlmostEqual(int(answer["peak_allocated_bytes"]) /
                               int(truth["peak_allocated_bytes"]), 1, delta=0.0005)

    def test_says_what_is_wrong_with_the_request(self):
        trace = TRACES / "gpt2-adam-16.tsv.xz"
        broken = self.folder / "broken.tsv"
        broken.write_text("M\tload\nA\t12\tnowhere\taten::empty\n")
        for code, words, arguments in (
                (ERROR, "line 2", ("replay", broken)),
                (ERROR, "No such file", ("replay", self.folder / "missing")),
                (ERROR, "INVALID_ALLOCATOR_SETTINGS", ("replay", trace, "--settings", "nothing:1")),
                (ERROR, "RECORDED_ADDRESSES_DO_NOT_FIT",
                 ("replay", trace, "--settings", "expandable_segments:True")),
                (USAGE, "random:SEED", ("replay", trace, "--addresses", "upwards")),
                (USAGE, "BATCH=FILE", ("estimate", "--trace", "x", "--batch", "3")),
                (ERROR, "record a second", ("estimate", "--trace", f"16={trace}", "--batch", "32")),
                (ERROR, "not of one program",
                 ("estimate", "--trace", f"16={trace}", "--trace",
                  f"8={TRACES}/resnet50-sgd-8.tsv.xz", "--batch", "32"))):
            with self.subTest(arguments=arguments):
                _, err = self.memplan(*arguments, code=code)
                self.assertIn(words, err)


class PrivateReplayTest(IntegrationTest):
    def test_needs_no_daemon_and_several_run_side_by_side(self):
        command = [str(MEMPLAN), "replay", "--local", "--worker", str(self.worker_link),
                   "--output", "json", str(TRACES / "gpt2-infer-8.tsv.xz")]
        running = [subprocess.Popen(command, env=self.environment, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    stdin=subprocess.DEVNULL) for _ in range(3)]
        for process in running:
            out, err = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, DONE, err)
            self.assertEqual(json.loads(out)["ends"], "ok")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["worker"])


if __name__ == "__main__":
    unittest.main()
