"""What the lines of a comparison say: rows of the tables, and which goals are met."""

from dataclasses import dataclass
from statistics import mean
from typing import Optional

RUNS = 3


@dataclass(frozen=True)
class Row:
    finder: str
    answer: Optional[int]  # None: it failed
    runs: str  # how the answer's runs ended
    of_truth: Optional[float]  # answer over the largest batch that runs
    trials: int = 0
    ooms: int = 0
    seconds: float = 0.0
    start_seconds: Optional[float] = None
    again_answer: Optional[int] = None
    again_seconds: Optional[float] = None
    failure: str = ""


def last(lines, **fields):
    """The last line that has all of `fields`, one without a failure if there is one."""
    found = [line for line in lines if all(line.get(name) == value for name, value in fields.items())]
    return next((line for line in reversed(found) if "failure" not in line), found[-1] if found else None)


def in_order(values):
    return list(dict.fromkeys(values))


def cells_of(lines):
    return in_order((line["cell"], line["cap_gib"]) for line in lines
                    if line.get("question") == "first")


def truth_of(lines, cell, cap_gib):
    line = last(lines, kind="truth", cell=cell, cap_gib=cap_gib)
    return line["batch"] if line else None


def verdict(lines, cell, cap_gib, batch):
    ends = [line["outcome"] for line in lines
            if line["kind"] == "run" and (line["cell"], line["cap_gib"], line["batch"]) == (cell, cap_gib, batch)
            and "failure" not in line][:RUNS]
    fitting = ends.count("fits")
    if len(ends) < RUNS:
        return "not run" if not ends else f"{fitting} of {len(ends)} run"
    return "runs" if fitting == RUNS else "fails" if fitting == 0 else f"{fitting} of {RUNS} run"


def row_of(lines, cell, cap_gib, finder):
    line = last(lines, kind="find", question="first", cell=cell, cap_gib=cap_gib, finder=finder)
    if "failure" in line:
        return Row(finder, None, "no answer", None, failure=line["failure"])
    again = last(lines, kind="find", question="again", cell=cell, finder=finder)
    again = again if again and "failure" not in again else {}
    truth = truth_of(lines, cell, cap_gib)
    return Row(finder, line["answer"], verdict(lines, cell, cap_gib, line["answer"]),
               line["answer"] / truth if truth else None, line["trial_count"], line["ooms"], line["seconds"],
               line.get("start_seconds"), again.get("answer"), again.get("seconds"))


def rows_of(lines, cell, cap_gib):
    finders = in_order(line["finder"] for line in lines
                       if line.get("question") == "first" and line["cell"] == cell)
    return [row_of(lines, cell, cap_gib, finder) for finder in finders]


@dataclass(frozen=True)
class Goal:
    name: str
    wanted: str
    seen: str


def goals_of_finders(lines):
    """How many times as fast as binsearch, cell by cell."""
    ratios = []
    for cell in cells_of(lines):
        rows = {row.finder: row for row in rows_of(lines, *cell)}
        ours, theirs = rows.get("memplan"), rows.get("Lightning binsearch")
        if ours and theirs and ours.seconds and theirs.seconds:
            ratios.append(f"{cell[0]} {theirs.seconds / ours.seconds:.1f}")
    return [Goal("times as fast as Lightning binsearch", "≥ 4", ", ".join(ratios) or "not measured")]


def batch_of(line):
    """The answer of a cell, in the words of either file of measurements."""
    return line["answer"] if "answer" in line else line["batch"]


def fails_again(line):
    return line["proof"].get(str(batch_of(line)), "fits") != "fits"


def is_largest(line):
    """It runs, and the next does not."""
    batch = batch_of(line)
    return not fails_again(line) and line["proof"].get(str(batch + 1), "fits") == "out_of_memory"


def goals_of_models(lines):
    lines = [line for line in lines if "failure" not in line]
    if not lines:
        return []
    right = sum(map(is_largest, lines))
    failing = [line["cell"] for line in lines if fails_again(line)]
    return [
        Goal("answer is the true largest batch", "≥ 95 %",
             f"{right} of {len(lines)} ({100 * right / len(lines):.0f} %)"),
        Goal("answer that failed when it ran again", "none", ", ".join(failing) or "none"),
        Goal("runs out of memory, in the mean", "≤ 0.1", f"{mean(line['ooms'] for line in lines):.2f}"),
    ]
