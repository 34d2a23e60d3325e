"""What holds for the files of the tree, whatever they are about: their sizes, no
marks of unfinished work, links and commands in the docs that lead somewhere, and
every source in its folder's target."""

import pathlib
import re

import arrows

# conventions: split at these many lines.
LARGEST = {".h": 250, ".cc": 500, ".cu": 500}
LARGEST_TEST = 600

TEXT_FOLDERS = arrows.FOLDERS + ("proto", "cmake", "scripts", "docs", "deploy", ".ci")
TEXT_FILES = ("CMakeLists.txt", "CMakePresets.json", "README.md")
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(r"(?<![\w/.-])(?:\./)?((?:scripts|tests)/[\w/.-]+)")


def too_long(root: pathlib.Path) -> list[str]:
    faults = []
    for file in arrows.sources(root):
        name = file.relative_to(root)
        limit = LARGEST_TEST if name.parts[0] == "tests" else LARGEST.get(file.suffix, 500)
        lines = len(file.read_text().splitlines())
        if lines > limit:
            faults.append(f"{name} has {lines} lines; split it at {limit}")
    return faults


def texts(root: pathlib.Path) -> list[pathlib.Path]:
    """Every text of ours, models and what Python leaves behind excepted."""
    found = [root / name for name in TEXT_FILES if (root / name).exists()]
    for folder in TEXT_FOLDERS:
        found += [file for file in (root / folder).rglob("*") if file.is_file()
                  and "__pycache__" not in file.parts
                  and not file.is_relative_to(root / "tests" / "models")]
    return sorted(found)


def unfinished(root: pathlib.Path) -> list[str]:
    faults = []
    for file in texts(root):
        try:
            lines = file.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        faults += [f"{file.relative_to(root)}:{number}: {line.strip()}"
                   for number, line in enumerate(lines, 1) if UNFINISHED.search(line)]
    return faults


def documents(root: pathlib.Path) -> list[pathlib.Path]:
    return sorted(root.glob("*.md")) + sorted((root / "docs").rglob("*.md"))


def broken_links(root: pathlib.Path) -> list[str]:
    """Links from one document to a file that is not there."""
    faults = []
    for document in documents(root):
        for link in LINK.findall(document.read_text()):
            path = link.partition("#")[0]
            if path and "://" not in path and not (document.parent / path).exists():
                faults.append(f"{document.relative_to(root)} links to {link}")
    return faults


def missing_commands(root: pathlib.Path) -> list[str]:
    """Scripts that a document's code blocks call and that cannot be run."""
    faults = []
    for document in documents(root):
        for block in CODE_BLOCK.findall(document.read_text()):
            for name in SCRIPT.findall(block):
                path = root / name
                if name.startswith(("tests/models/", "tests/traces/")) or path.is_dir():
                    continue
                if not path.is_file() or not path.stat().st_mode & 0o100:
                    faults.append(f"{document.relative_to(root)} calls {name}")
    return faults


def unlisted_sources(root: pathlib.Path) -> list[str]:
    """Sources that no CMakeLists.txt of their folder, or one above, names. The
    headers of tests need not be named: no library has them."""
    faults = []
    for file in arrows.sources(root):
        if file.suffix == ".h" and file.is_relative_to(root / "tests"):
            continue
        lists = [folder / "CMakeLists.txt" for folder in file.parents
                 if folder.is_relative_to(root)]
        names = {str(file.relative_to(listing.parent)): listing
                 for listing in lists if listing.exists()}
        if not any(re.search(rf"(?<![\w/.]){re.escape(name)}(?![\w.])", listing.read_text())
                   for name, listing in names.items()):
            faults.append(f"{file.relative_to(root)} is in no target")
    return faults
