"""What the check beside eager Python makes of numbers; needs no GPU and no torch."""

import argparse
import unittest

import python_check
import python_comparison

MIB = 1 << 20


def python_entry(forward, optimizer, reserved=4000 * MIB, parameters=161):
    phases = {"step0/forward": {"requested": forward}, "step0/optimizer": {"requested": optimizer}}
    peaks = {"requested": max(forward, optimizer), "reserved": reserved}
    return {"peaks": peaks, "phases": phases, "parameters": parameters, "left": {}}


def compare(mode, python, forward, optimizer, reserved=4000 * MIB):
    return python_comparison.compare(
        mode, python, {"requested": max(forward, optimizer), "reserved": reserved},
        lambda: {"step0/forward": forward, "step0/optimizer": optimizer})


class CompareTest(unittest.TestCase):
    def test_allows_sixty_four_bytes(self):
        python = python_entry(3000 * MIB, 2000 * MIB)
        self.assertTrue(compare("adam-loop", python, 3000 * MIB + 64, 2000 * MIB)["holds"])
        seen = compare("adam-loop", python, 3000 * MIB - 65, 2000 * MIB)
        self.assertFalse(seen["holds"])
        self.assertEqual(seen["phases"], {"step0/forward": -65})

    def test_allows_half_a_percent_of_reserved(self):
        python = python_entry(3000 * MIB, 2000 * MIB)
        for reserved, holds in ((4019, True), (4022, False), (3981, True), (3978, False)):
            seen = compare("sgd", python, 3000 * MIB, 2000 * MIB, reserved * MIB)
            self.assertEqual(seen["holds"], holds, reserved)

    def test_an_optimizer_that_workers_do_not_run_may_peak_higher(self):
        python = python_entry(2000 * MIB, 2300 * MIB, reserved=2400 * MIB)
        seen = compare("adam-foreach", python, 2000 * MIB, 2001 * MIB, 2100 * MIB)
        self.assertTrue(seen["holds"])
        self.assertIn("step0/optimizer -313,524,224", python_comparison.words_of(8, seen))
        # But nothing else may differ, and not that of a loop, which libtorch's is.
        self.assertFalse(compare("adam-foreach", python, 1999 * MIB, 2001 * MIB)["holds"])
        self.assertFalse(compare("adam-loop", python, 2000 * MIB, 2001 * MIB)["holds"])

    def test_another_optimizer_may_leave_other_segments(self):
        python = python_entry(3000 * MIB, 2900 * MIB, reserved=4100 * MIB)
        self.assertTrue(compare("adam-foreach", python, 3000 * MIB, 2600 * MIB)["holds"])
        self.assertFalse(compare("sgd", python, 3000 * MIB, 2900 * MIB)["holds"])

    def test_fused_steps_are_counted_on_the_card(self):
        python = python_entry(3000 * MIB, 2000 * MIB, parameters=100)
        for less, holds in ((464, True), (465, False)):
            self.assertEqual(
                compare("adam-fused", python, 3000 * MIB - less, 2000 * MIB)["holds"], holds)


class CellsTest(unittest.TestCase):
    def test_all_takes_less_than_it_may(self):
        cells = python_check.cells_of("all")
        self.assertEqual(len(cells), len(set(cells)))
        self.assertEqual(len(cells), 3 + 4 * 6)
        self.assertLess(python_check.estimate_of(cells), 280)  # and 30 s for the models

    def test_refuses_what_is_no_cell(self):
        self.assertEqual(python_check.cells_of("gpt2-causal:sgd,vit:adam-bf16:8"),
                         ["gpt2-causal:sgd", "vit:adam-bf16:8"])
        for text in ("vit", "vit:lion", "alexnet:sgd", "vit:sgd:16GiB", "vit:sgd:16:eager"):
            with self.subTest(text), self.assertRaises(argparse.ArgumentTypeError):
                python_check.cells_of(text)


if __name__ == "__main__":
    unittest.main()
