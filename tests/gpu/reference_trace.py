"""Compares a worker's trace with one recorded on an H200 by another program.

The recordings are text, xz-compressed: `M phase`, `A bytes address op`, `D address`
and more, one event a line. Addresses differ from run to run, so a free is compared
by the number of the allocation that it ends.
"""

import lzma
import re

import worker_client

PART = re.compile(r"/(forward|backward|optimizer)$")


def events_of_recording(path):
    """[phase, kind, bytes or allocation number, operator] of every A and D."""
    events, numbers, phase = [], {}, ""
    with lzma.open(path, "rt") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "M":
                phase = fields[1]
            elif fields[0] == "A":
                numbers[fields[2]] = len(events)
                events.append((phase, "A", int(fields[1]), fields[3] if len(fields) > 3 else ""))
            elif fields[0] == "D":
                events.append((phase, "D", numbers.pop(fields[1], -1), ""))
    return events


def events_of_trace(trace):
    """The same of a worker's trace; the parts of a step count as the step."""
    events, numbers, phase = [], {}, ""
    for event, _, name, size, address, _ in trace.records:
        if event == worker_client.PHASE:
            phase = PART.sub("", name)
        elif event == worker_client.ALLOC:
            numbers[address] = len(events)
            events.append((phase, "A", size, name or ""))
        elif event == worker_client.FREE:
            events.append((phase, "D", numbers.pop(address, -1), ""))
    return events


def first_difference(ours, theirs):
    """None if both are the same, else the index and what each has there."""
    for index, (mine, other) in enumerate(zip(ours, theirs)):
        if mine != other:
            return index, mine, other
    if len(ours) != len(theirs):
        return min(len(ours), len(theirs)), f"{len(ours)} events", f"{len(theirs)} events"
    return None


def write_text(trace, path):
    """Writes a worker's trace in the recordings' format, xz-compressed."""
    letters = {worker_client.ALLOC: "A", worker_client.FREE: "D", worker_client.SEGMENT_ALLOC: "S",
               worker_client.SEGMENT_FREE: "U", worker_client.FAILED: "X"}
    with lzma.open(path, "wt", preset=1) as file:
        for event, depth, name, size, address, _ in trace.records:
            if event == worker_client.PHASE:
                file.write(f"M\t{name}\n")
            elif event == worker_client.OPERATOR:
                file.write(f"O\t{depth}\t{name}\n")
            elif event == worker_client.FREE:
                file.write(f"D\t{address:x}\n")
            elif event in letters:
                file.write(f"{letters[event]}\t{size}\t{address:x}\t{name or ''}\n")
