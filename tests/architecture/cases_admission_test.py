"""docs/cases_admission.md: every row has tests, and every test it names exists."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROWS = [1, 2, 3, 5, 6, 8, 9, 10, 11, 12, 14, 15, 17, 18, 19, 20, 21, 22, 24, 26, 27, 29, 30, 31, 32, 33, 34, 35, 37, 38,
        39, 41, 43, 44, 45, 46, 47, 49, 50, 51, 52, 54]


def tests_there_are():
    """`Suite.Case` of the tests in C++, `file.test_name` of those in Python."""
    names = set()
    for file in (ROOT / "tests").rglob("*_test.cc"):
        for suite, case in re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", file.read_text(), re.M):
            names.add(f"{suite}.{case}")
    for file in (ROOT / "tests").rglob("*_test.py"):
        for case in re.findall(r"^    def (test_\w+)\(", file.read_text(), re.M):
            names.add(f"{file.stem}.{case}")
    return names


class CasesAdmissionTest(unittest.TestCase):
    def setUp(self):
        text = (ROOT / "docs" / "cases_admission.md").read_text()
        lines = [line.split("|")[1:-1] for line in text.splitlines() if re.match(r"\| \d", line)]
        self.tests = {int(line[0]): re.findall(r"`([^`]+)`", line[-1]) for line in lines}

    def test_every_row_is_there_and_has_a_test(self):
        self.assertEqual(list(self.tests), ROWS)
        self.assertEqual([row for row, tests in self.tests.items() if not tests], [])

    def test_every_test_that_is_named_exists(self):
        named = {test for tests in self.tests.values() for test in tests}
        self.assertEqual(sorted(named - tests_there_are()), [])

    def test_every_test_named_for_a_row_stands_there(self):
        for test in tests_there_are():
            rows = re.search(r"^(?:AdmissionCasesTest\.Row|admission(?:_cases)?_test\.test_row_)(\d+)", test)
            if rows:
                self.assertIn(test, self.tests[int(rows.group(1))])


if __name__ == "__main__":
    unittest.main()
