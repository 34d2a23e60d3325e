"""The tables and the chart say what the lines say."""

import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import chart
import summary
import tables

CELL = {"cell": "resnet50:sgd", "cap_gib": 16}


def found(finder, answer, seconds, question="first", cap_gib=16, **more):
    return {"kind": "find", "cell": "resnet50:sgd", "cap_gib": cap_gib, "finder": finder, "question": question,
            "answer": answer, "trials": [[answer, "fits"]] * 3, "trial_count": 3, "ooms": 1, "seconds": seconds,
            **more}


def runs(batch, *outcomes):
    return [{"kind": "run", **CELL, "batch": batch, "number": number, "outcome": outcome}
            for number, outcome in enumerate(outcomes)]


FINDERS = [
    found("memplan", 192, 5.0),
    {"kind": "find", **CELL, "finder": "Lightning binsearch", "question": "first", "failure": "died\nwith -9"},
    found("Lightning binsearch", 182, 30.0, start_seconds=1.5),
    found("fit of small batches", 120, 2.0),
    *runs(192, "fits", "fits", "fits"),
    *runs(182, "fits", "out_of_memory", "fits"),
    *runs(120, "out_of_memory", "out_of_memory", "out_of_memory"),
    {"kind": "truth", **CELL, "batch": 192},
    found("memplan", 142, 2.5, "again", 12),
]
MODELS = [
    {"cell": "unet:adam:8:eager", "answer": 30, "trials": [[8, "fits"], [30, "fits"]], "ooms": 0, "seconds": 4.5,
     "proof": {"30": "fits", "31": "out_of_memory"}},
    {"cell": "unet:sgd:8:eager", "answer": 31, "trials": [[31, "fits"]], "ooms": 1, "seconds": 4,
     "proof": {"31": "fits", "32": "fits", "33": "out_of_memory"}},
    {"cell": "bert:sgd:8:eager", "batch": 9, "trials": [["9", "verify", "fits", "1s"]], "ooms": 0, "seconds": 4,
     "proof": {"9": "out_of_memory", "10": "out_of_memory"}},
]


class SummaryTest(unittest.TestCase):
    def setUp(self):
        self.rows = {row.finder: row for row in summary.rows_of(FINDERS, "resnet50:sgd", 16)}

    def test_a_line_with_an_answer_counts_before_one_that_failed(self):
        self.assertEqual(self.rows["Lightning binsearch"].answer, 182)

    def test_how_the_answers_ran(self):
        self.assertEqual([row.runs for row in self.rows.values()], ["runs", "2 of 3 run", "fails"])

    def test_the_other_card_stands_in_the_same_row(self):
        self.assertEqual((self.rows["memplan"].again_answer, self.rows["memplan"].again_seconds), (142, 2.5))
        self.assertIsNone(self.rows["fit of small batches"].again_answer)

    def test_part_of_the_truth(self):
        self.assertAlmostEqual(self.rows["fit of small batches"].of_truth, 0.625)

    def test_goals(self):
        self.assertEqual([goal.seen for goal in summary.goals_of_finders(FINDERS)], ["resnet50:sgd 6.0"])
        self.assertEqual([goal.seen for goal in summary.goals_of_models(MODELS)],
                         ["1 of 3 (33 %)", "bert:sgd:8:eager", "0.33"])


class DocumentTest(unittest.TestCase):
    def test_rows(self):
        part = tables.document_part(FINDERS, MODELS, None)
        self.assertIn("| Lightning binsearch | 182 | 95 | 2 of 3 run | 3 | 1 | 30.0 | 1.5 | – | – |", part)
        self.assertIn("| memplan | 192 | 100 | runs | 3 | 1 | 5.0 | – | 142 | 2.5 |", part)
        self.assertIn("| unet | sgd as eager | 8 | 31 | fits, fits | 1 | 1 | 4.0 |", part)

    def test_only_what_is_between_the_markers_changes(self):
        text = f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n"
        self.assertEqual(tables.between_markers(text, "new"),
                         f"before\n{tables.BEGIN}\nnew\n{tables.END}\nafter\n")

    def test_without_lines_it_says_so(self):
        self.assertEqual(tables.document_part([], [], None), tables.NOTHING)


class ChartTest(unittest.TestCase):
    def test_it_is_svg_and_names_what_fails(self):
        picture = chart.svg(tables.blocks_of(FINDERS))
        words = [node.text for node in ElementTree.fromstring(picture).iter() if node.text]
        self.assertIn("192", words)
        self.assertIn("120, fails", words)
        self.assertEqual(picture.count(chart.COLOURS["other"]), 2)


class TableCommandTest(unittest.TestCase):
    def table(self, *arguments):
        script = Path(__file__).with_name("table")
        return subprocess.run([sys.executable, script, *arguments], stdout=subprocess.PIPE, text=True).returncode

    def test_it_writes_once_and_then_finds_all_new(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "lines").write_text("".join(json.dumps(line) + "\n" for line in FINDERS))
            (folder / "document.md").write_text(f"{tables.BEGIN}\n{tables.END}\n")
            flags = ["--finders", folder / "lines", "--models", folder / "none", "--document",
                     folder / "document.md", "--chart", folder / "chart.svg"]
            self.assertEqual(self.table(*flags, "--check"), 1)
            self.assertEqual(self.table(*flags), 0)
            self.assertEqual(self.table(*flags, "--check"), 0)
            self.assertIn("](chart.svg)", (folder / "document.md").read_text())

    def test_the_committed_document_is_of_the_committed_lines(self):
        self.assertEqual(self.table("--check"), 0)


if __name__ == "__main__":
    unittest.main()
