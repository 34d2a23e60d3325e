"""docs/cases.md and the tree say the same: each test that the page names exists, and each test that
names a case stands in its row."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "cases.md"
# The public reports' numbers.
ROWS = {1, 2, 3, 4, 5, 7, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 21, 22, 23, 24, 25, 27, 28, 29, 31, 32,
        34, 35, 36, 37, 38, 40, 41, 43, 45, 46, 48, 50, 51, 52, 53, 56, 57, 58, 59, 61, 62, 63, 64, 65,
        68, 69, 71}
LATER = {37, 41, 50}


def sources():
    """By stem, the text of all files of tests."""
    found = {}
    for path in (ROOT / "tests").glob("**/*_test.*"):
        if path.suffix in (".cc", ".py"):
            found[path.stem] = found.get(path.stem, "") + path.read_text()
    return found


def tests_of(text):
    """Names of the tests of a file: `Suite.Case` and parameters' names of C++, methods of Python."""
    cpp = {f"{suite}.{case}" for suite, case in re.findall(r"TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", text)}
    return cpp | set(re.findall(r"def (test_\w+)\(", text)) | set(re.findall(r'\{"(Case\w+)",', text))


def numbers_of(test):
    """The rows a test's name carries: `Case24Nonzero`, `test_case_05_and_71_every_step`."""
    carried = re.match(r"(?:test_case_|(?:\w+\.)?Case)(\d+(?:_and_\d+)*)", test)
    return re.findall(r"\d+", carried.group(1)) if carried else []


def rows():
    """By number, what the page says of it: (behaviour, tests as (file, test))."""
    found = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0].isdigit():
            found[int(cells[0])] = (cells[2], re.findall(r"`(\w+): ([\w.]+)`", cells[3]))
    return found


class CasesDocumentTest(unittest.TestCase):
    def test_every_row_is_there_and_says_what_memplan_does(self):
        self.assertEqual(set(rows()), ROWS)
        for number, (behaviour, tests) in rows().items():
            with self.subTest(row=number):
                self.assertNotEqual(behaviour, "")
                self.assertEqual(not tests, number in LATER)

    def test_every_test_that_the_page_names_exists(self):
        named = re.findall(r"`(\w+_test): ([\w.]+)`", PAGE.read_text())
        self.assertGreater(len(named), len(ROWS) - len(LATER))
        for path in re.findall(r"`(tests/\S+)`", PAGE.read_text()):
            self.assertTrue((ROOT / path).is_file(), path)
        existing = {stem: tests_of(text) for stem, text in sources().items()}
        for file, test in named:
            with self.subTest(file=file, test=test):
                self.assertIn(test, existing.get(file, ()))

    def test_every_test_that_names_a_case_stands_in_its_row(self):
        page = rows()
        for file, text in sources().items():
            for test in tests_of(text):
                for number in numbers_of(test):
                    with self.subTest(file=file, test=test):
                        self.assertIn((file, test), page[int(number)][1])


if __name__ == "__main__":
    unittest.main()
