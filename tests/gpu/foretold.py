"""What a daemon's log foretells of a batch before its run: peaks, and the interval that is
meant to hold them, where one is named.
"""

import re

_TOLD = re.compile(r"batch (?P<batch>\d+) is predicted to run, with peaks of "
                   r"(?P<allocated>\d+) bytes allocated and (?P<reserved>\d+) reserved"
                   r"(?:, within (?P<allocated_least>\d+) to (?P<allocated_most>\d+) allocated "
                   r"and (?P<reserved_least>\d+) to (?P<reserved_most>\d+) reserved)?")
KINDS = ("allocated", "reserved")


def read(words):
    """(batch, peaks, interval) out of a line, None if it foretells nothing.

    Peaks are {kind: bytes}, the interval {kind: [least, most]}, None where none is named.
    """
    told = _TOLD.search(words)
    if not told:
        return None
    interval = told["reserved_most"] and {
        kind: [int(told[f"{kind}_least"]), int(told[f"{kind}_most"])] for kind in KINDS}
    return int(told["batch"]), {kind: int(told[kind]) for kind in KINDS}, interval


def holds(interval, peaks):
    """Whether both of `peaks`, {kind: bytes}, lie within."""
    return all(interval[kind][0] <= peaks[kind] <= interval[kind][1] for kind in KINDS)
