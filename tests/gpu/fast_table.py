#!/usr/bin/env python3
"""Makes of cells that fast_check.py measured the tables of docs/measurements.md.

    fast_table.py CELLS

CELLS is a file of JSON lines. Prints a row a cell, ordered by cap, model and mode, and
then what they come to: answers proven, trials, OOMs, how far predictions were off, and
whether intervals held the peaks.
"""

import json
import statistics
import sys
from pathlib import Path

import foretold

MODELS = ("resnet50", "vit", "gpt2")
MODES = ("sgd", "adam", "adamw-bf16", "infer")
FAR = 3  # times the largest recorded batch, from which a prediction counts as far


def parts(cell):
    model, mode, cap, run_as = cell["cell"].split(":")
    return model, mode, int(cap), run_as


def order(cell):
    model, mode, cap, run_as = parts(cell)
    return cap, MODELS.index(model), MODES.index(mode), run_as


def deviations(cell):
    """How far predicted peaks are from those seen, in percent; none without a prediction."""
    if not cell["predicted"]:
        return None
    return [(cell["predicted"][name] / cell[name] - 1) * 100
            for name in ("allocated", "reserved")]


def is_far(cell):
    recorded = [batch for batch, purpose, *_ in cell["trials"] if purpose == "record"]
    return bool(recorded) and cell["batch"] >= FAR * max(int(batch) for batch in recorded)


def is_proven(cell):
    ends = cell["proof"]
    return ends[str(cell["batch"])] == "fits" and ends[str(cell["batch"] + 1)] == "out_of_memory"


def row(cell):
    model, mode, cap, run_as = parts(cell)
    off = deviations(cell)
    told = "none" if off is None else f"{off[0]:+.4f} / {off[1]:+.4f}" + (
        "" if is_far(cell) else " (near)")
    batches = ", ".join(trial[0] for trial in cell["trials"])
    ends = ", ".join(end.replace("_", " ") for end in cell["proof"].values())
    return (f"| {model} | {mode} as {run_as} | {cap} | {cell['batch']} | {cell['comfortable']} | "
            f"{len(cell['trials'])}: {batches} | {cell['ooms']} | {cell['from_create']:.1f} | "
            f"{told} | {ends} |")


def intervals(cells):
    """Of predicted cells: in how many the interval holds both peaks, and how wide they are."""
    named = [cell for cell in cells if cell.get("interval")]
    without = sum(bool(cell["predicted"]) for cell in cells) - len(named)
    yield (f"interval holds: {sum(foretold.holds(cell['interval'], cell) for cell in named)} of "
           f"{len(named)}; predicted without an interval: {without}")
    for kind in foretold.KINDS if named else ():
        widths = [(cell["interval"][kind][1] - cell["interval"][kind][0]) / cell[kind] * 100
                  for cell in named]
        yield (f"{kind}, width of the interval: median {statistics.median(widths):.4f} %, "
               f"widest {max(widths):.4f} %")


def summary(cells):
    far = [[abs(value) for value in deviations(cell)] for cell in cells
           if is_far(cell) and cell["predicted"]]
    few = sum(len(cell["trials"]) <= 4 for cell in cells)
    yield f"cells: {len(cells)}, proven by N and N+1: {sum(map(is_proven, cells))}"
    yield "answers that failed when run again: " + str(
        sum(cell["proof"][str(cell["batch"])] != "fits" for cell in cells))
    yield f"at most 4 trials: {few}; OOMs in the mean: " + format(
        statistics.mean(cell["ooms"] for cell in cells), ".3f")
    for index, name in enumerate(("allocated", "reserved")):
        values = [values[index] for values in far]
        if values:
            yield (f"{name}, predicted at {FAR} times the largest recording and more "
                   f"({len(values)} cells): median {statistics.median(values):.4f} %, "
                   f"worst {max(values):.4f} %")
    yield from intervals(cells)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    lines = Path(sys.argv[1]).read_text().splitlines()
    latest = {cell["cell"]: cell for cell in map(json.loads, lines)}
    cells = sorted(latest.values(), key=order)
    print("| model | mode | cap GiB | safe batch | comfortable | trials: batches | OOMs | s | "
          "predicted before it ran: allocated / reserved, % off | N, N+1 |")
    print("| --- " * 10 + "|")
    for cell in cells:
        print(row(cell))
    print()
    for line in summary(cells):
        print(line)


if __name__ == "__main__":
    main()
