"""docs/cli.md and the programs' --help say the same."""

import pathlib
import re
import subprocess
import unittest

from harness import MEMPLAN

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VERBS = (["probe"], ["profile"], ["watch"], ["cancel"], ["list"], ["replay"], ["estimate"], ["devices"],
         ["check"], ["run"], ["reserve"], ["wait"], ["renew"], ["adopt"], ["release"], ["reservations"], ["top"],
         ["models", "upload"], ["models", "list"], ["models", "delete"])
FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def help_of(verb):
    return subprocess.run([MEMPLAN, *verb, "--help"], capture_output=True, text=True,
                          check=True).stdout


def flags_of_help(verb):
    """The flags a verb's help declares: those at the beginning of a line."""
    flags = set()
    for line in help_of(verb).splitlines():
        declared = re.match(r"^  (-\S+)", line)
        if declared:
            flags.update(declared.group(1).split(","))
    return flags


class DocumentsTest(unittest.TestCase):
    def setUp(self):
        self.page = (ROOT / "docs" / "cli.md").read_text()

    def test_every_flag_of_every_verb_is_documented(self):
        documented = set(FLAG.findall(self.page))
        for verb in VERBS:
            with self.subTest(verb=verb):
                flags = flags_of_help(verb)
                self.assertIn("--address", flags)
                self.assertEqual(flags - documented, set())

    def test_every_documented_flag_exists(self):
        existing = {"--version"}.union(*map(flags_of_help, VERBS))
        tables = "\n".join(line for line in self.page.splitlines() if line.startswith("| `-"))
        self.assertEqual(set(FLAG.findall(tables.split("|", 2)[1])) - existing, set())
        for line in tables.splitlines():
            self.assertEqual(set(FLAG.findall(line.split("|")[1])) - existing, set(), line)

    def test_every_verb_is_in_the_help_and_on_the_page(self):
        overview = help_of([])
        for verb in VERBS:
            self.assertIn(verb[0], overview)
            self.assertIn(f"memplan {' '.join(verb)}", self.page)

    def test_the_recipes_use_flags_that_exist(self):
        existing = {"--version"}.union(*map(flags_of_help, VERBS))
        recipes = (ROOT / "docs" / "cookbook.md").read_text()
        for line in re.findall(r"memplan (?:probe|profile|watch|cancel|list|replay|estimate|models|devices).*", recipes):
            self.assertEqual(set(FLAG.findall(line.split("|")[0].split("#")[0])) - existing, set(),
                             line)


if __name__ == "__main__":
    unittest.main()
