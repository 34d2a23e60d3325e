#!/usr/bin/env python3
"""Records whole fast probes on a GPU, for CI to play again without one.

    record_fast.py PROGRAMS MODELS OUT [--cells LIST] [--seconds N] [--device ID]

Each cell is one probe in a daemon with an empty store, whose workers keep what is said on
their channels (channel_tee.py), then N and N+1 of its answer, each alone in a fresh
process. OUT/<cell>/ gets the files of recorded_probe.py; copied to tests/traces/fast, CI
plays them. OUT/<cell>/proof/ gets the traces of N and N+1: to look at, not to commit.
LIST is `default` (the headline probes, then cells of 40 GiB that were once foretold
wrongly) or cells as fast_check.py takes them. None begins after N seconds. A probe whose
prediction does not hold goes on by bisection, and is kept too. Exits with 1 if an answer
does not hold.
"""

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gpu_models
import recorded_probe
from check_report import Report
from daemon_process import DaemonProcess
from fast_check import MODES, cells_of, key_of, trains

DEFAULT = ("resnet50:sgd:16:torchscript,vit:adam:16:torchscript,resnet50:sgd:40:eager,"
           "resnet50:infer:40:torchscript,resnet50:adamw-bf16:40:eager")
SECONDS_A_CELL = 20  # a probe of three or four trials and two proofs, on an H200


def arguments_of(model, mode, cap, run_as):
    """Of `memplan probe`, behind the model and without the device."""
    return ["--input", *gpu_models.INPUTS[model], *MODES[mode], "--run-as", run_as,
            "--cap", f"{cap}GiB"]


class Recording:
    """One cell, in a folder of its own for the time being."""

    def __init__(self, programs, folder, device):
        self.device = device
        self.daemon = DaemonProcess(programs, folder, gpu_models.library_path())
        worker, self.rounds = recorded_probe.tee_worker(folder / "tee", programs / "memplan-worker")
        self.daemon.command += ["--worker", worker]
        self.programs = programs

    def cli(self, *arguments):
        command = [self.programs / "memplan", *map(str, arguments),
                   "--address", self.daemon.address, "--output", "json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode not in (0, 4):
            raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stderr}")
        return json.loads(done.stdout)

    def traces_of(self, probe):
        return self.daemon.folder / "store/traces" / probe["id"]

    def probe(self, model, arguments, kept):
        """The answer as answer.json has it, its files in `kept`; and the probe."""
        self.cli("models", "upload", model)
        begin = time.monotonic()
        probe = self.cli("probe", model, *arguments, "--device", self.device)
        seconds = time.monotonic() - begin
        recorded_probe.pack_traces(kept, probe, self.traces_of(probe))
        recorded_probe.pack_rounds(kept, recorded_probe.read_rounds(self.rounds))
        return recorded_probe.answer_of(probe), probe, seconds

    def prove(self, model, arguments, batch, kept):
        """How each of N and N+1 ends, alone in a fresh process."""
        probe = self.cli("profile", model, *arguments, "--device", self.device,
                         "--batches", f"{batch},{batch + 1}")
        kept.mkdir()
        recorded_probe.pack_traces(kept, probe, self.traces_of(probe))
        return {str(number): outcome for number, _, outcome in recorded_probe.trials_of(probe)}


class RecordFast:
    def __init__(self, options):
        self.options = options
        self.report = Report(options.out)

    def record(self, model, mode, cap, run_as):
        name = key_of(model, mode, cap, run_as)
        arguments = arguments_of(model, mode, cap, run_as)
        path = gpu_models.path_of(self.options.models, model, trains(mode))
        kept = self.options.out / name.replace(":", "-")
        kept.mkdir(parents=True)
        with tempfile.TemporaryDirectory() as folder:
            recording = Recording(self.options.programs, Path(folder), self.options.device)
            recording.daemon.start()
            try:
                answer, probe, seconds = recording.probe(path, arguments, kept)
                (kept / "proof").mkdir()
                (kept / "proof/probe.json").write_text(json.dumps(probe, indent=1))
                proof = recording.prove(path, arguments, answer["batch"], kept / "proof/traces")
            finally:
                (kept / "proof").mkdir(exist_ok=True)
                (kept / "proof/server.log").write_bytes(recording.daemon.log.read_bytes())
                recording.daemon.kill()
        recorded_probe.write_answer(kept, {
            "cell": name, "arguments": arguments, **answer, "tolerance_bytes": 0,
            "proof": proof, "machine": self.machine()})
        batch = answer["batch"]
        self.report.check(
            f"{name}: {batch} runs, {batch + 1} does not",
            proof == {str(batch): "fits", str(batch + 1): "out_of_memory"},
            f"{answer['method']}, {answer['trials']}, proof {proof}, foretold "
            f"{answer['predicted']}, seen {answer['peaks']}, {seconds:.1f} s, "
            f"{recorded_probe.size_of(kept)} bytes kept")

    def machine(self):
        notes = self.report.notes
        return notes[0] if notes else str(datetime.date.today())

    def run(self, cells):
        begin = time.monotonic()
        print(f"{len(cells)} cells, about {SECONDS_A_CELL * len(cells)} s", flush=True)
        if self.options.device == "gpu":
            self.report.machine()
        for cell in cells:
            if time.monotonic() - begin >= self.options.seconds:
                self.report.note(f"no time left for {key_of(*cell)}")
                continue
            try:
                self.record(*cell)
            except Exception as error:  # the other cells go on
                self.report.check(key_of(*cell), False, str(error)[:1500])
        return self.report.finish()


def main():
    parser = argparse.ArgumentParser()
    for name in ("programs", "models", "out"):
        parser.add_argument(name, type=lambda text: Path(text).resolve())
    parser.add_argument("--cells", default="default")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--device", default="gpu")
    options = parser.parse_args()
    cells = cells_of(DEFAULT if options.cells == "default" else options.cells)
    return RecordFast(options).run([cell[:4] for cell in cells])


if __name__ == "__main__":
    sys.exit(main())
