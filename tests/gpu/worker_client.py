"""Speaks the worker's protocol from Python: one trial in, its report and trace out.

The same conversation as in cuda/worker/messages/messages.h, for checks that want
to see the worker alone, without a daemon. Standard library only.
"""

import json
import mmap
import os
import socket
import struct
import subprocess
import tempfile
from dataclasses import dataclass

CHANNEL, TRACE = 3, 4
TRACE_BYTES = 256 << 20
NAMES_OFFSET = 4096
RECORDS_OFFSET = NAMES_OFFSET + (8 << 20)
HEADER = struct.Struct("<QIIQQQQ")
RECORD = struct.Struct("<BBHIQQQ")
NO_NAME = 0xFFFFFFFF
PHASE, OPERATOR, ALLOC, FREE, SEGMENT_ALLOC, SEGMENT_FREE, MAP, UNMAP, FAILED, FREE_REQUESTED = range(1, 11)


@dataclass
class Outcome:
    report: dict
    settled: dict | None
    trace: "Trace"


@dataclass
class Trace:
    names: list
    records: list  # tuples (event, depth, name, bytes, address, stream)
    records_lost: int


def request(model_path, inputs, batch, **more):
    """A trial request with the defaults of this folder's checks."""
    message = {
        "type": "run", "model_path": str(model_path), "device": "cuda", "inputs": inputs,
        "dimensions": {}, "batch": batch, "mode": "infer", "optimizer": "none",
        "run_as": "torchscript", "steps": 4, "stay": False,
    }
    message.update(more)
    return message


def send(channel, message):
    text = json.dumps(message).encode()
    channel.sendall(struct.pack("<I", len(text)) + text)


def receive(channel):
    """The next message; None if the worker has closed its end."""
    head = read_exactly(channel, 4)
    if head is None:
        return None
    return json.loads(read_exactly(channel, struct.unpack("<I", head)[0]))


def read_exactly(channel, count):
    data = b""
    while len(data) < count:
        piece = channel.recv(count - len(data))
        if not piece:
            return None
        data += piece
    return data


def run_trial(worker, message, environment=None, timeout=300):
    """Runs one trial in a fresh worker, a path or a command line. Raises if it dies without
    a report."""
    ours, theirs = socket.socketpair()
    ours.settimeout(timeout)
    trace = os.memfd_create("trace")
    os.ftruncate(trace, TRACE_BYTES)

    def place_descriptors():
        # Copies out of the way first: one may already have the other's number.
        channel_copy, trace_copy = os.dup(theirs.fileno()), os.dup(trace)
        os.dup2(channel_copy, CHANNEL)
        os.dup2(trace_copy, TRACE)

    # A device's failed assertions print thousands of lines.
    talk = tempfile.TemporaryFile()
    process = subprocess.Popen(worker if isinstance(worker, list) else [str(worker)],
                               preexec_fn=place_descriptors,
                               pass_fds=(CHANNEL, TRACE), env=environment, stdout=talk, stderr=talk)
    theirs.close()
    try:
        settled, report = converse(ours, message)
    finally:
        ours.close()
        try:
            code = process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
    if report is None:
        talk.seek(0)
        raise RuntimeError(f"the worker ended with {code} and no report: {talk.read()[-500:]!r}")
    outcome = Outcome(report, settled, read_trace(trace))
    os.close(trace)
    return outcome


def converse(channel, message):
    hello = receive(channel)
    if hello is None or hello["type"] != "hello":
        return None, None
    send(channel, message)
    settled = None
    while (answer := receive(channel)) is not None:
        if answer["type"] == "settled":
            settled = answer
            send(channel, {"type": "proceed"})
        elif answer["type"] == "report":
            return settled, answer
    return settled, None


def read_trace(descriptor):
    with mmap.mmap(descriptor, TRACE_BYTES, prot=mmap.PROT_READ) as memory:
        _, _, name_count, _, record_count, records_lost, _ = HEADER.unpack_from(memory, 0)
        names, at = [], NAMES_OFFSET
        for _ in range(name_count):
            length = struct.unpack_from("<H", memory, at)[0]
            names.append(memory[at + 2 : at + 2 + length].decode(errors="replace"))
            at += 2 + length
        records = []
        end = RECORDS_OFFSET + record_count * RECORD.size
        for event, _, depth, name, size, address, stream in RECORD.iter_unpack(memory[RECORDS_OFFSET:end]):
            records.append((event, depth, None if name == NO_NAME else names[name], size, address, stream))
    return Trace(names, records, records_lost)
