"""A memplan-server under test: started, measured, killed and stopped."""

import glob
import os
import pathlib
import re
import signal
import subprocess
import time


class DaemonProcess:
    def __init__(self, bin_folder, folder, library_path):
        self.folder = folder
        self.address = f"unix:{folder}/memplan.sock"
        self.log = folder / "server.log"
        self.command = [bin_folder / "memplan-server", "--store", folder / "store",
                        "--socket", folder / "memplan.sock", "--listen", "none",
                        "--metrics", "127.0.0.1:0", "--log-level", "debug", "--worker-library-path", library_path]
        self.process = None

    @property
    def pid(self):
        return self.process.pid

    def start(self):
        begin = time.monotonic()
        with open(self.log, "ab") as log:
            begin_size = log.tell()
            self.process = subprocess.Popen(self.command, stderr=log)
        deadline = begin + 20
        while time.monotonic() < deadline:
            text = self.log.read_bytes()[begin_size:].decode()
            ready = re.search(r"ready socket=.*metrics=(\S+)", text)
            if ready:
                self.start_seconds = time.monotonic() - begin
                self.metrics = ready.group(1)
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.002)
        raise RuntimeError("the daemon did not start:\n" + self.log.read_text())

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) << 10

    def workers(self):
        children = pathlib.Path(f"/proc/{self.pid}/task").glob("*/children")
        return [int(pid) for file in children for pid in file.read_text().split()]

    def kill_a_worker(self, patience=60):
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            for pid in self.workers():
                os.kill(pid, signal.SIGKILL)
                return pid
            time.sleep(0.01)
        return None

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=30)
