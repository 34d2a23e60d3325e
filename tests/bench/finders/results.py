"""JSON lines that are written as each thing ends, and what stands there already."""

import json
import time
from pathlib import Path


def read(path):
    path = Path(path)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Results:
    """The lines of `path`, which grow, and those of `known` files. What has an answer is not
    done again; what failed is."""

    def __init__(self, path, known=()):
        self.path = Path(path)
        self.lines = [line for file in (*known, path) for line in read(file)]

    def add(self, line):
        self.lines.append(line)
        with open(self.path, "a") as file:
            file.write(json.dumps(line) + "\n")
        return line

    def having(self, **fields):
        """Lines without a failure that have all of `fields`."""
        return [line for line in self.lines if "failure" not in line
                and all(line.get(name) == value for name, value in fields.items())]


class Deadline:
    """Stops new things from being started; what runs may end."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def passed(self):
        return time.monotonic() >= self.end
