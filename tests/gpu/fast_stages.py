#!/usr/bin/env python3
"""Prints where the seconds of each fast probe went, from the daemon's log.

    fast_stages.py LOG [--probe ID] [--least SECONDS]

LOG is what memplan-server writes with --log-level debug and --log-format json; `tests/gpu/run
--only fast` leaves it in OUT/fast/server.log. For each probe that predicted there is a table: what
came before the search, its stages in their order, what came after, and how much of the time from
CreateProbe to the answer that leaves unexplained. Stages below --least (default 0.01) are one line.
What workers did meanwhile stands below it. Exits with 1 if the log has no such probe, or if
stages miss more than 0.05 s of one.
"""

import argparse
import datetime
import json
import re
import sys
from pathlib import Path

TAKEN, BEGUN, ENDED = "the probe is taken", "the probe begins", "the probe has ended"
STAGE = re.compile(r"stage `(.*)` took ([0-9.]+) s$")
SUM = re.compile(r"\d+ stages took ([0-9.]+) s in all$")
# What is no stage: it went on beside them, or within one.
BESIDE = re.compile(r"worker \d+ (ended|was gone)|the preparation of worker|a trace of \d+ events|"
                    r"\d+ operators of batch|batch \d+ is predicted")
MOST_UNEXPLAINED_SECONDS = 0.05


def entries_of(path):
    for line in path.read_text().splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def time_of(entry):
    return datetime.datetime.fromisoformat(entry["time"].replace("Z", "+00:00")).timestamp()


class Probe:
    """What the log says of one probe."""

    def __init__(self):
        self.times = {}
        self.stages = []
        self.beside = []
        self.search_seconds = None
        self.answer = ""

    def take(self, entry):
        message = entry["message"]
        for moment in (TAKEN, BEGUN, ENDED):
            if message.startswith(moment):
                self.times[moment] = time_of(entry)
        if message.startswith(ENDED):
            self.answer = message.removeprefix(ENDED)
        elif stage := STAGE.match(message):
            self.stages.append((stage[1], float(stage[2])))
        elif total := SUM.match(message):
            self.search_seconds = float(total[1])
        elif BESIDE.match(message):
            self.beside.append((time_of(entry), message))

    def is_whole(self):
        return self.search_seconds is not None and len(self.times) == 3

    def rows(self, least):
        """Name and seconds, the small stages together."""
        rows = [("CreateProbe to begin (queue, device)", self.times[BEGUN] - self.times[TAKEN])]
        rows += [stage for stage in self.stages if stage[1] >= least]
        small = [seconds for _, seconds in self.stages if seconds < least]
        rows.append((f"{len(small)} stages below {least} s", sum(small)))
        return rows

    def unexplained_seconds(self):
        """Of the time from the begin to the end, what no stage has."""
        return (self.times[ENDED] - self.times[BEGUN] -
                sum(seconds for _, seconds in self.stages))

    def print(self, name, least):
        print(f"probe {name}{self.answer}")
        for stage, seconds in self.rows(least):
            print(f"  {seconds:8.3f}  {stage}")
        print(f"  {self.unexplained_seconds():8.3f}  outside of all stages")
        print(f"  {self.times[ENDED] - self.times[TAKEN]:8.3f}  from CreateProbe to the answer")
        print("  meanwhile, seconds after the begin:")
        for time, message in self.beside:
            print(f"  {time - self.times[BEGUN]:8.3f}  {message}")
        print()


def probes_in(path):
    """By id, in order. Lines of threads that wait on others name no probe: they are taken for
    the one that ran then."""
    probes, running = {}, None
    for entry in entries_of(path):
        name = entry.get("probe_id")
        if name and entry["message"].startswith(BEGUN):
            running = name
        if name or running:
            probes.setdefault(name or running, Probe()).take(entry)
    return {name: probe for name, probe in probes.items() if probe.is_whole()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("log", type=Path)
    parser.add_argument("--probe")
    parser.add_argument("--least", type=float, default=0.01)
    options = parser.parse_args()
    probes = probes_in(options.log)
    if options.probe:
        probes = {name: probe for name, probe in probes.items() if name == options.probe}
    if not probes:
        print(f"{options.log} has no probe that predicted, at the level debug", file=sys.stderr)
        return 1
    for name, probe in probes.items():
        probe.print(name, options.least)
    return any(abs(probe.unexplained_seconds()) > MOST_UNEXPLAINED_SECONDS
               for probe in probes.values())


if __name__ == "__main__":
    sys.exit(main())
