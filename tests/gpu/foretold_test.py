"""Lines of the daemon's log as they are, as they were before intervals were named, and others."""

import unittest

import foretold

OLD = "batch 58 is predicted to run, with peaks of 820 bytes allocated and 856 reserved"
PEAKS = {"allocated": 820, "reserved": 856}


class ForetoldTest(unittest.TestCase):
    def test_reads_lines_with_and_without_an_interval(self):
        interval = {"allocated": [819, 821], "reserved": [850, 860]}
        words = f"{OLD}, within 819 to 821 allocated and 850 to 860 reserved"
        self.assertEqual(foretold.read(f"[info] {words} probe_id=9b"), (58, PEAKS, interval))
        self.assertEqual(foretold.read(OLD), (58, PEAKS, None))
        self.assertIsNone(foretold.read("8 operators of batch 58 were run alone in 0.123 s"))

    def test_an_interval_holds_both_of_its_ends(self):
        interval = {"allocated": [820, 821], "reserved": [850, 856]}
        self.assertTrue(foretold.holds(interval, PEAKS))
        self.assertFalse(foretold.holds(interval, {**PEAKS, "allocated": 819}))
        self.assertFalse(foretold.holds(interval, {**PEAKS, "reserved": 857}))


if __name__ == "__main__":
    unittest.main()
