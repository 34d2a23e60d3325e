"""What both parts of the comparison are told on the command line."""

import argparse
from pathlib import Path


def part_parser(description, cells):
    """PROGRAMS MODELS OUT, and how long, what is known, and which of `cells`."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("programs", "models", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--known", type=Path, nargs="*", default=[])
    parser.add_argument("--cells", nargs="+", default=cells)
    return parser


def parsed(parser):
    """The options, with OUT made."""
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    return options
