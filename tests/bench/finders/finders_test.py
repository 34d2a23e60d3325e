"""Each finder's loop finds what it should where batches up to a known one run."""

import importlib.util
import os
import tempfile
import unittest
from pathlib import Path

HAS_TORCH = importlib.util.find_spec("torch") is not None
JOB = "tiny:sgd"


def installed(module):
    return importlib.util.find_spec(module) is not None


@unittest.skipUnless(HAS_TORCH, "needs torch")
class FindersTest(unittest.TestCase):
    def find(self, finder, largest, job=JOB):
        import python_trials
        from training import job_of

        return python_trials.find(finder, job_of(job), ("pretended", largest))

    def test_bisection_ends_at_the_largest_batch_that_runs(self):
        found = self.find("doubling and bisection", 11)
        self.assertEqual(found["answer"], 11)
        self.assertEqual([batch for batch, _ in found["trials"]], [2, 4, 8, 16, 12, 10, 11])
        self.assertEqual(found["ooms"], 2)

    def test_bisection_says_that_nothing_runs(self):
        self.assertEqual(self.find("doubling and bisection", 0)["answer"], 0)

    def test_the_fit_takes_three_fifths_of_what_is_free(self):
        # Memory is a line through 0 that reaches the cap at 100.5: 60.3.
        found = self.find("fit of small batches", 100)
        self.assertEqual(found["answer"], 60)
        self.assertEqual([batch for batch, _ in found["trials"]], [1, 2, 4, 8, 16])

    def test_the_fit_stays_below_a_small_batch_that_failed(self):
        found = self.find("fit of small batches", 5)
        self.assertEqual(found["answer"], 3)
        self.assertEqual(found["ooms"], 1)

    def test_the_fit_answers_a_default_if_nothing_runs(self):
        self.assertEqual(self.find("fit of small batches", 0)["answer"], 16)

    def test_a_run_says_how_it_ended(self):
        import python_trials
        from training import job_of

        ends = [python_trials.run(batch, job_of("tiny:adamw-bf16"), ("pretended", 7))["outcome"]
                for batch in (7, 8)]
        self.assertEqual(ends, ["fits", "out_of_memory"])

    @unittest.skipUnless(installed("accelerate"), "needs accelerate")
    def test_accelerate_takes_nine_tenths_until_it_runs(self):
        found = self.find("accelerate from 128", 100)
        self.assertEqual([batch for batch, _ in found["trials"]], [128, 115, 103, 92])
        self.assertEqual((found["answer"], found["ooms"]), (92, 3))

    @unittest.skipUnless(installed("accelerate"), "needs accelerate")
    def test_accelerate_never_goes_above_its_start(self):
        self.assertEqual(self.find("accelerate from 128", 1000)["answer"], 128)

    @unittest.skipUnless(installed("lightning"), "needs lightning")
    def test_lightning_doubles(self):
        found = self.find("Lightning power", 11)
        self.assertEqual((found["answer"], found["trial_count"], found["ooms"]), (8, 4, 1))

    @unittest.skipUnless(installed("lightning"), "needs lightning")
    def test_lightning_bisects_and_takes_its_margin(self):
        found = self.find("Lightning binsearch", 11)
        self.assertEqual(found["answer"], 10)  # of 11, less 5 %
        self.assertEqual([batch for batch, _ in found["trials"]], [2, 4, 8, 16, 12, 10, 11])


class LargestTest(unittest.TestCase):
    def largest(self, guess, limit):
        from largest import largest_that_runs

        asked = []

        def runs(batch):
            asked.append(batch)
            return batch <= limit

        return largest_that_runs(guess, runs), asked

    def test_a_right_guess_takes_two_questions(self):
        self.assertEqual(self.largest(192, 192), (192, [192, 193]))

    def test_a_guess_too_small_or_too_large_is_mended(self):
        for guess in (1, 50, 99, 101, 128, 1000):
            self.assertEqual(self.largest(guess, 100)[0], 100, guess)

    def test_nothing_runs(self):
        self.assertEqual(self.largest(16, 0)[0], 0)


class FreshProcessTest(unittest.TestCase):
    def test_what_becomes_of_a_process_is_told(self):
        import fresh_process

        self.assertEqual(fresh_process.call(os._exit, 3), {"failure": "the process died with 3"})
        self.assertIn("invalid literal", fresh_process.call(int, "words")["failure"])


class DevicesTest(unittest.TestCase):
    def test_the_cap_is_exact(self):
        from devices import GIB, fraction_for

        total = 150_109_880_320  # an H200's
        for cap in (8 * GIB, 12 * GIB, 16 * GIB):
            self.assertEqual(int(fraction_for(cap, total) * total), cap)


class ResultsTest(unittest.TestCase):
    def test_what_failed_is_done_again(self):
        from results import Results

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lines.jsonl"
            Results(path).add({"cell": "a", "answer": 1})
            Results(path).add({"cell": "b", "failure": "the process died with -9"})
            self.assertEqual(Results(path).having(), [{"cell": "a", "answer": 1}])
            self.assertEqual(Results(path).having(cell="b"), [])

    def test_what_other_files_know_is_not_written_again(self):
        from results import Results

        with tempfile.TemporaryDirectory() as folder:
            known, path = Path(folder) / "known.jsonl", Path(folder) / "lines.jsonl"
            Results(known).add({"cell": "a", "answer": 1})
            results = Results(path, [known])
            results.add({"cell": "b", "answer": 2})
            self.assertEqual(len(results.having(cell="a")), 1)
            self.assertEqual(Results(path).lines, [{"cell": "b", "answer": 2}])


class CellsTest(unittest.TestCase):
    def test_the_models_part_has_all_eighty_and_small_caps_first(self):
        from models_part import CELLS, full_name

        self.assertEqual(len(set(CELLS)), 80)
        self.assertTrue(all(cell.endswith(":8") for cell in CELLS[:40]))
        self.assertEqual(full_name("vit:infer:16"), "vit:infer:16:torchscript")


if __name__ == "__main__":
    unittest.main()
