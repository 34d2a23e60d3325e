"""memplan as a user has it: a daemon of its own and the command line."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "gpu"))
import foretold  # noqa: E402
import gpu_models  # noqa: E402
from daemon_process import DaemonProcess  # noqa: E402

FOUND_OR_NEVER = (0, 4)


class Memplan:
    """A context: the daemon lives in it and knows no model at first."""

    def __init__(self, programs, device="gpu"):
        self.programs, self.device = Path(programs).resolve(), device

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.daemon = DaemonProcess(self.programs, Path(self.folder.name), gpu_models.library_path())
        try:
            self.daemon.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        self.daemon.kill()
        self.folder.cleanup()

    def ask(self, *arguments):
        """The command's JSON and its seconds. Raises RuntimeError with what it said."""
        command = [str(self.programs / "memplan"), *map(str, arguments),
                   "--address", self.daemon.address, "--output", "json"]
        begin = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        seconds = round(time.monotonic() - begin, 3)
        if done.returncode not in FOUND_OR_NEVER:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-1500:]}")
        return json.loads(done.stdout), seconds

    def probe(self, what, cap):
        """A line of results: the answer, trials, seconds of the whole command. `cap` is such
        as 16GiB."""
        probe, seconds = self.ask("probe", *what, "--cap", cap, "--device", self.device)
        plan = probe["plan"]
        answer = int(plan["safe_batch"])
        predicted, interval = foretold.of_probe(self.daemon.log, probe["id"], answer)
        trials = [[int(trial["batch"]), outcome_of(trial)] for trial in probe["trials"]]
        return {"answer": answer, "predicted": predicted, "interval": interval,
                "trials": trials, "trial_count": len(trials),
                "ooms": int(plan["out_of_memory_count"]), "seconds": seconds,
                "verified": plan["verified"], "method": plan["method"].removeprefix("PLAN_METHOD_").lower(),
                "fall_back": plan["fall_back_reason"]}

    def profile(self, what, cap, batches):
        """The trial of each batch, alone in a fresh process of the worker."""
        profile, _ = self.ask("profile", *what, "--cap", cap, "--device", self.device,
                              "--batches", ",".join(map(str, batches)))
        return {int(trial["batch"]): trial for trial in profile["trials"]}

    def outcomes(self, what, cap, batches):
        """How each ends."""
        return {batch: outcome_of(trial) for batch, trial in self.profile(what, cap, batches).items()}


def outcome_of(trial):
    return trial["outcome"].removeprefix("TRIAL_OUTCOME_").lower()
