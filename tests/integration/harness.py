"""What the integration tests share: the real programs, each in the test's folder.

Every test has a folder of its own; every program it starts has that folder's
path on its command line, so that at the end a look at all processes shows
whether one was left behind. Where the programs are comes from ctest:

  MEMPLAN_TEST_BIN        memplan, memplan-server and, if it was built, memplan-worker
  MEMPLAN_TEST_SCRIPTED   memplan-scripted-worker
  MEMPLAN_TEST_MODELS     tiny TorchScript models, if the worker was built
  MEMPLAN_TEST_PROMTOOL   promtool, if there is one
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import zipfile

BIN = pathlib.Path(os.environ["MEMPLAN_TEST_BIN"]).resolve()
MEMPLAN = BIN / "memplan"
SERVER = BIN / "memplan-server"
WORKER = BIN / "memplan-worker"
SCRIPTED_WORKER = pathlib.Path(os.environ["MEMPLAN_TEST_SCRIPTED"]).resolve()
MODELS = os.environ.get("MEMPLAN_TEST_MODELS", "")
PROMTOOL = os.environ.get("MEMPLAN_TEST_PROMTOOL", "")

PATIENCE = 60  # seconds: far more than anything here takes
INPUT = "float32[B,4]"

DONE, ERROR, USAGE, NEVER, UNREACHABLE = 0, 1, 2, 4, 5


def write_scripted_model(path, **script):
    """A model file that makes memplan-scripted-worker behave as `script` says."""
    nothing = b"\x80\x02N."  # the smallest pickle there is
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("scripted/data.pkl", nothing)
        archive.writestr("scripted/constants.pkl", nothing)
        archive.writestr("scripted/version", "3\n")
        archive.writestr("scripted/script", f"\nMEMPLAN-SCRIPT {json.dumps(script)}\n")
    return path


def wait_until(condition, what, patience=PATIENCE):
    """Returns what `condition` returns once it is true."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.005)
    raise AssertionError(f"waited {patience} s in vain for {what}")


def processes_about(text):
    """Command lines, by pid, of the living processes that have `text` in theirs."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            state = re.search(r"^State:\s+(\S)", (folder / "status").read_text(), re.M)
        except OSError:
            continue  # it has just ended
        if text in command and state.group(1) != "Z" and int(folder.name) != os.getpid():
            found[int(folder.name)] = command
    return found


class Server:
    """A memplan-server; `start` returns once it serves."""

    def __init__(self, folder, environment, *arguments):
        self.store = folder / "store"
        self.socket = folder / "m.sock"
        self.address = f"unix:{self.socket}"
        self.environment = environment
        self.command = [str(SERVER), "--store", str(self.store), "--socket", str(self.socket),
                        "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                        "--drain-grace", "1s", *map(str, arguments)]
        self.process = None

    def start(self):
        self.words = []
        ready = threading.Event()
        self.process = subprocess.Popen(self.command, env=self.environment, text=True,
                                        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.listener = threading.Thread(target=self._listen, args=(self.process, ready))
        self.listener.start()
        if not ready.wait(PATIENCE) or not self._ready_line():
            raise AssertionError("the daemon did not serve; it said:\n" + "".join(self.words))
        self.tcp, self.metrics = re.search(r"tcp=(\S+) metrics=(\S+)", self._ready_line()).groups()
        return self

    def _listen(self, process, ready):
        for line in process.stderr:
            self.words.append(line)
            if "ready socket=" in line:
                ready.set()
        ready.set()

    def _ready_line(self):
        return next((w for w in self.words if "ready socket=" in w), "")

    def workers(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children")
        pids = [int(pid) for file in children for pid in file.read_text().split()]
        return [pid for pid in pids if not self._checks_the_sandbox(pid)]

    @staticmethod
    def _checks_the_sandbox(pid):
        try:
            return b"--sandbox-check" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return True  # it has just ended

    def wait(self):
        code = self.process.wait(PATIENCE)
        self.listener.join()
        self.process.stderr.close()
        return code

    def stop(self):
        self.process.terminate()
        return self.wait()

    def kill(self):
        self.process.kill()
        return self.wait()


class IntegrationTest(unittest.TestCase):
    """A test with a folder of its own and, once asked for, a daemon."""

    worker = SCRIPTED_WORKER
    patience = PATIENCE  # seconds for one run of memplan

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="memplan-it-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(self.check_that_nothing_is_left)
        # Nothing of the caller's own daemons or settings reaches a program under test.
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("MEMPLAN_", "XDG_"))}
        self.environment["HOME"] = str(self.folder)
        self.worker_link = self.folder / "worker"
        self.worker_link.symlink_to(self.worker)

    def check_that_nothing_is_left(self):
        try:
            wait_until(lambda: not processes_about(str(self.folder)), "all processes to end", 10)
        except AssertionError:
            left = processes_about(str(self.folder))
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            self.fail(f"processes were left behind: {left}")

    def start_server(self, *arguments):
        server = Server(self.folder, self.environment, "--worker", self.worker_link, *arguments)
        server.start()
        self.addCleanup(self._end_server, server)
        self.server = server
        return server

    def _end_server(self, server):
        if server.process.poll() is None:
            self.assertEqual(server.stop(), 0, "".join(server.words))

    def command(self, *arguments):
        """A command line that has the test's folder in it, as all must have."""
        return [str(MEMPLAN), *map(str, arguments), "--address", self.server.address]

    def start_memplan(self, *arguments):
        """Starts memplan as the leader of a process group, as a shell does."""
        process = subprocess.Popen(self.command(*arguments), env=self.environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(self._end_memplan, process)
        return process

    @staticmethod
    def _end_memplan(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def memplan(self, *arguments, code=DONE):
        """Runs memplan to its end and returns what it wrote: (stdout, stderr)."""
        result = subprocess.run(self.command(*arguments), env=self.environment, text=True,
                                capture_output=True, timeout=self.patience, stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout, result.stderr

    def memplan_json(self, *arguments, code=DONE):
        return json.loads(self.memplan(*arguments, "--output", "json", code=code)[0])

    def scripted_model(self, name="model.pt", **script):
        return write_scripted_model(self.folder / name, **script)

    def probe_arguments(self, model, *more):
        return ["probe", model, "--input", INPUT, "--device", "cpu", "--cap", "1GiB", *more]

    def wait_for_state(self, probe_id, state):
        def reached():
            probes = {p["id"]: p for p in self.memplan_json("list")["probes"]}
            return probes[probe_id]["state"] == f"PROBE_STATE_{state}" and probes[probe_id]
        return wait_until(reached, f"probe {probe_id} to be {state}")


class Gate:
    """A fifo at which a scripted worker waits until the gate is opened for it."""

    def __init__(self, path):
        self.path = path
        os.mkfifo(path)

    def open_for_one(self):
        """Lets the next worker pass, waiting for it to come."""
        os.close(os.open(self.path, os.O_WRONLY))
