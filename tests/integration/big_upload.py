"""Uploads a large model that breaks off again and again, and tells what the daemon's memory did.

The upload goes through a proxy that cuts the connection after so many bytes;
every other time the daemon is killed as well and started anew. `memplan models
upload` runs once and must end right by itself. By hand (upload_test.py does the
same with a small file in CI):

  MEMPLAN_TEST_BIN=build/ci/bin MEMPLAN_TEST_SCRIPTED=/bin/false \\
    python3 tests/integration/big_upload.py --mib 1024 --breaks 10
"""

import argparse
import hashlib
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

from harness import MEMPLAN, Server, write_scripted_model

PIECE = 1 << 16


def write_big_model(path, mib):
    """A model file with an entry of `mib` MiB, which does not compress, at its end."""
    write_scripted_model(path)
    block = hashlib.shake_256(b"memplan").digest(1 << 20)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        with archive.open("scripted/weights", "w", force_zip64=True) as entry:
            for number in range(mib):
                entry.write(struct.pack("<Q", number) + block[8:])
    return path


def peak_kib(pid):
    """The most memory that the process has had, in KiB."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmHWM:\s+(\d+) kB", status, re.M).group(1))


class CuttingProxy:
    """Passes TCP on to a unix socket; the first connections are cut after so many bytes."""

    def __init__(self, target, cuts, on_cut):
        self.target, self.cuts, self.on_cut = target, list(cuts), on_cut
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(str(self.target))
            except OSError:
                self._close(client, server)
                continue
            limit = self.cuts.pop(0) if self.cuts else None
            back = threading.Thread(target=self._pass_on, args=(server, client, None))
            forth = threading.Thread(target=self._pass_on, args=(client, server, limit))
            self.threads += [back, forth]
            back.start()
            forth.start()

    def _pass_on(self, source, sink, limit):
        passed = 0
        try:
            while data := source.recv(PIECE):
                sink.sendall(data)
                passed += len(data)
                if limit is not None and passed >= limit:
                    self._close(source, sink)
                    self.on_cut()
                    return
        except OSError:
            pass
        self._close(source, sink)

    @staticmethod
    def _close(*sockets):
        for end in sockets:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join()


def upload_broken(server, model, breaks, environment):
    """Uploads through a proxy; returns (memplan's result, breaks, daemon peaks in KiB)."""
    peaks, broken = [], []

    def on_cut():
        broken.append(None)
        if len(broken) % 2 == 0:
            peaks.append(peak_kib(server.process.pid))
            server.kill()
            server.start()

    each = model.stat().st_size // (breaks + 1)
    proxy = CuttingProxy(server.socket, [each] * breaks, on_cut)
    try:
        result = subprocess.run(
            [str(MEMPLAN), "models", "upload", str(model), "--address", proxy.address],
            env=environment, text=True, capture_output=True, timeout=900, check=False)
    finally:
        proxy.close()
    peaks.append(peak_kib(server.process.pid))
    return result, len(broken), peaks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--breaks", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memplan-big-") as folder:
        folder = pathlib.Path(folder)
        model = write_big_model(folder / "big.pt", options.mib)
        environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
        server = Server(folder, environment, "--worker", "/bin/false").start()
        try:
            idle = peak_kib(server.process.pid)
            begin = time.monotonic()
            result, broken, peaks = upload_broken(server, model, options.breaks, environment)
            seconds = time.monotonic() - begin
            with open(model, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        finally:
            server.stop()
        print(result.stderr, end="")
        right = result.returncode == 0 and result.stdout.strip() == digest
        print(f"{model.stat().st_size} bytes, broken {broken} times, "
              f"{'ended right' if right else 'FAILED'} after {seconds:.1f} s; "
              f"daemon's peak memory {max(peaks) / 1024:.0f} MiB "
              f"(idle {idle / 1024:.0f} MiB; each daemon: "
              f"{', '.join(f'{peak / 1024:.0f}' for peak in peaks)})")
        return 0 if right and broken == options.breaks else 1


if __name__ == "__main__":
    sys.exit(main())
