"""The rules for the tree's files, on trees made for the purpose and on ours."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import tree

ROOT = pathlib.Path(__file__).resolve().parents[2]


class OurTreeTest(unittest.TestCase):
    """What our own tree must satisfy."""

    def assert_none(self, faults: list[str]) -> None:
        self.assertEqual("\n".join(faults), "")

    def test_no_file_is_too_long(self):
        self.assert_none(tree.too_long(ROOT))

    def test_nothing_is_marked_unfinished(self):
        self.assert_none(tree.unfinished(ROOT))

    def test_links_in_documents_lead_somewhere(self):
        self.assert_none(tree.broken_links(ROOT))

    def test_commands_in_documents_exist(self):
        self.assert_none(tree.missing_commands(ROOT))

    def test_every_source_is_in_a_target(self):
        self.assert_none(tree.unlisted_sources(ROOT))

    def test_every_library_has_an_alias(self):
        listing = pathlib.Path(os.environ["MEMPLAN_LIBRARIES_WITHOUT_ALIAS"])
        self.assertEqual(listing.read_text(), "")

    def test_protos_pass_buf_lint(self):
        buf = os.environ["MEMPLAN_BUF"]
        self.assertTrue(os.access(buf, os.X_OK), "there is no buf; run scripts/setup")
        result = subprocess.run([buf, "lint", "proto"], cwd=ROOT,
                                capture_output=True, text=True)
        self.assertEqual((result.stdout + result.stderr, result.returncode), ("", 0))


class TreeTest(unittest.TestCase):
    """That the rules see what they are for."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def test_sees_a_header_too_long(self):
        self.write("server/a.h", "\n" * 250)
        self.assertEqual(tree.too_long(self.root), [])
        self.write("server/a.h", "\n" * 251)
        self.assertEqual(tree.too_long(self.root),
                         ["server/a.h has 251 lines; split it at 250"])

    def test_lets_a_test_be_longer_than_a_source(self):
        self.write("tests/server/a_test.cc", "\n" * 600)
        self.write("server/a.cc", "\n" * 501)
        self.assertEqual(tree.too_long(self.root),
                         ["server/a.cc has 501 lines; split it at 500"])

    def test_sees_a_mark_of_unfinished_work(self):
        mark = "TO" + "DO"
        self.write("server/a.cc", f"int a;\n// {mark}: more\n")
        self.write("server/b.cc", f"int {mark}S;\n")
        self.assertEqual(tree.unfinished(self.root), [f"server/a.cc:2: // {mark}: more"])

    def test_sees_a_link_that_leads_nowhere(self):
        self.write("docs/here.md", "[a](here.md#top) [b](gone.md) [c](https://example.org)")
        self.assertEqual(tree.broken_links(self.root), ["docs/here.md links to gone.md"])

    def test_sees_a_command_that_does_not_exist(self):
        self.write("README.md", "```sh\nscripts/gone --now\n```\nand scripts/prose\n")
        self.assertEqual(tree.missing_commands(self.root), ["README.md calls scripts/gone"])

    def test_sees_a_source_in_no_target(self):
        self.write("server/CMakeLists.txt", "memplan_library(x SOURCES a.cc jobs/b.cc)")
        for name in ("server/a.cc", "server/jobs/b.cc", "server/jobs/a.cc", "server/aa.cc",
                     "tests/server/sample.h"):
            self.write(name, "")
        self.assertEqual(tree.unlisted_sources(self.root),
                         ["server/aa.cc is in no target", "server/jobs/a.cc is in no target"])


if __name__ == "__main__":
    unittest.main()
