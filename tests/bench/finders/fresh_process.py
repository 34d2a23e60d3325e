"""Calls a function in a process of its own, with a GPU context of its own.

The processes are forked from a server that has imported the libraries and touched no GPU:
what a context, an allocator or a library's handles keep is fresh, what importing costs is
not paid each time (imports.SECONDS says how much that is).
"""

import multiprocessing
import time
import traceback

SECONDS_TO_ANSWER = 150

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["imports"])


def _child(pipe, begin, function, arguments):
    """`begin`: the monotonic clock when the parent asked, which all processes share."""
    try:
        import imports  # not above: the parent needs none of them

        answer = function(*arguments)
        ready = answer.pop("ready_at", None)
        if ready is not None:
            answer["start_seconds"] = round(ready - begin, 3)
        answer["import_seconds"] = imports.SECONDS
    except BaseException:  # whatever it is, the parent writes it down
        answer = {"failure": traceback.format_exc()[-2000:]}
    pipe.send(answer)
    pipe.close()


def import_anew():
    """For where a library touches the GPU as it is imported, after which no fork can use it."""
    global _context
    _context = multiprocessing.get_context("spawn")


def call(function, *arguments, patience=SECONDS_TO_ANSWER):
    """The dictionary that `function` returns, whose `ready_at` (a monotonic time) becomes
    `start_seconds`; with `failure` alone if it raised, died or took too long."""
    receiving, sending = _context.Pipe(duplex=False)
    process = _context.Process(target=_child, args=(sending, time.monotonic(), function, arguments))
    process.start()
    sending.close()
    answer = {"failure": f"no answer after {patience} s"}
    try:
        if receiving.poll(patience):
            answer = receiving.recv()
    except EOFError:
        process.join(10)
        answer = {"failure": f"the process died with {process.exitcode}"}
    finally:
        receiving.close()
        process.join(10)
        if process.is_alive():
            process.kill()
            process.join()
    return answer
