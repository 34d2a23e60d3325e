"""The worker asks for the memory that eager Python asks for, on the CPU, whatever way a
step is run: peak requested bytes of every step, within 64 bytes.

Needs the worker's path in MEMPLAN_WORKER and its models' folder in MEMPLAN_TEST_MODELS.
"""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

import make_models

sys.path.insert(0, str(Path(__file__).parents[2] / "gpu"))
import worker_client  # noqa: E402

WORKER = os.environ["MEMPLAN_WORKER"]
MODELS = Path(os.environ["MEMPLAN_TEST_MODELS"])
BATCH, STEPS = 32, 3
# An operator's few bytes here and there, such as a number as a tensor.
TOLERANCE = 64


def mean_square(output):
    return output.float().pow(2).mean()


class Program:
    """A training program as people write it."""

    def __init__(self, module, loss=mean_square, autocast=None, accumulate=1, keep_gradients=False,
                 target=None, momentum=0.9):
        self.model = module().train()
        self.loss = loss
        self.autocast = autocast
        self.accumulate = accumulate
        self.keep_gradients = keep_gradients
        self.target = target
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=momentum,
                                         foreach=False)
        self.scaler = torch.amp.GradScaler("cpu", enabled=autocast == torch.float16)

    def mixed(self):
        return torch.autocast("cpu", dtype=self.autocast or torch.bfloat16,
                              enabled=self.autocast is not None)

    def step(self, batch):
        for micro in range(self.accumulate):
            inputs = target = loss = None  # noqa: F841  what was held goes first
            inputs = torch.randn(batch, 64)
            target = [] if self.target is None else [torch.randn(batch, self.target)]
            if micro == 0:
                self.optimizer.zero_grad(set_to_none=not self.keep_gradients)
            with self.mixed():
                loss = self.loss(self.model(inputs), *target)
                if self.accumulate > 1:
                    loss = loss / self.accumulate
            self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def evaluate(self, batch):
        self.model.eval()
        inputs = torch.randn(batch, 64)
        with torch.no_grad(), self.mixed():
            self.model(inputs)
        self.model.train()


def python_peaks(make, actions):
    """Peak live bytes within each of `actions` on the program that `make` makes, counted
    from the first of its allocations."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        program = make()
        for number, action in enumerate(actions):
            with record_function(f"action {number}"):
                action(program)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        events = json.loads(Path(path).read_text())["traceEvents"]
    spans = {event["name"]: (event["ts"], event["ts"] + event["dur"]) for event in events
             if event.get("name", "").startswith("action ") and "dur" in event}
    changes = [(event["ts"], event["args"]["Bytes"]) for event in events
               if event.get("name") == "[memory]"]
    return [peak_within(changes, *spans[f"action {number}"]) for number in range(len(actions))]


def peak_within(changes, begin, end):
    live, peak = 0, 0
    for time, change in changes:
        if time > end:
            break
        if time >= begin:
            peak = max(peak, live)  # what was held before counts too
        live += change
        if time >= begin:
            peak = max(peak, live)
    return peak


def worker_peaks(model, options=None, run_as="eager", **more):
    """The same of the worker."""
    everything = {
        "autocast": "none", "cudnn_benchmark": False, "cudnn_deterministic": False,
        "also_batches": [], "accumulation_steps": 1, "zero_grad": "none", "evaluation_batch": 0,
        "targets": [],
    }
    everything.update(options or {})
    message = worker_client.request(
        MODELS / f"{model}.pt", ["float32[B,64]"], BATCH, device="cpu", mode="train",
        optimizer="sgd-momentum", run_as=run_as, steps=STEPS, cap=1 << 30, options=everything,
        **more)
    report = worker_client.run_trial(WORKER, message).report
    if report["end"] != "ran":
        raise AssertionError(report)
    return [step["peaks"]["requested"] for step in report["steps"]]


def steps(count=STEPS, batch=BATCH):
    return [lambda program: program.step(batch)] * count


class AsPython(unittest.TestCase):
    def check(self, python, worker):
        self.assertEqual(len(python), len(worker))
        for number, (theirs, ours) in enumerate(zip(python, worker)):
            self.assertLessEqual(abs(theirs - ours), TOLERANCE,
                                 f"step {number}: Python {python}, worker {worker}")

    def test_plain(self):
        for model, module in (("mlp", make_models.Mlp), ("dropping", make_models.Dropping)):
            with self.subTest(model):
                self.check(python_peaks(lambda: Program(module), steps()), worker_peaks(model))

    def test_autocast(self):
        for name, dtype in (("bf16", torch.bfloat16), ("fp16", torch.float16)):
            with self.subTest(name):
                self.check(
                    python_peaks(lambda: Program(make_models.Dropping, autocast=dtype), steps()),
                    worker_peaks("dropping", {"autocast": name}))

    def test_autocast_as_torchscript(self):
        path = str(MODELS / "dropping.pt")
        python = python_peaks(
            lambda: Program(lambda: torch.jit.load(path), autocast=torch.bfloat16), steps())
        worker = worker_peaks("dropping", {"autocast": "bf16"}, run_as="torchscript")
        # Python holds the archive's debugging records too, from first to last.
        records = python[0] - worker[0]
        self.assertLessEqual(abs(records), 16 << 10)
        self.check(python, [peak + records for peak in worker])

    def test_accumulation(self):
        self.check(python_peaks(lambda: Program(make_models.Dropping, accumulate=3), steps()),
                   worker_peaks("dropping", {"accumulation_steps": 3}))

    def test_gradients_that_are_kept(self):
        self.check(
            python_peaks(lambda: Program(make_models.Dropping, keep_gradients=True), steps()),
            worker_peaks("dropping", {"zero_grad": "zero"}))

    def test_a_loss_of_the_users(self):
        self.check(
            python_peaks(lambda: Program(make_models.Dropping, loss=nn.MSELoss(), target=8),
                         steps()),
            worker_peaks("dropping", {"targets": ["float32[B,8]"]},
                         loss_path=str(MODELS / "distance.pt")))

    def test_what_comes_between_steps(self):
        actions = steps() + steps(1, 5) + [lambda program: program.evaluate(300)] + steps(1)
        self.check(python_peaks(lambda: Program(make_models.Dropping), actions),
                   worker_peaks("dropping", {"also_batches": [5], "evaluation_batch": 300}))

    def test_arguments_of_a_module_that_runs(self):
        actions = steps() + [lambda program: program.evaluate(2000)] + steps(1)
        python = python_peaks(lambda: Program(make_models.Wide), actions)
        self.check(python, worker_peaks("wide", {"evaluation_batch": 2000}))
        # What is held is one of three: without, this test would show nothing.
        as_torchscript = worker_peaks("wide", {"evaluation_batch": 2000}, run_as="torchscript")
        self.assertGreater(python[STEPS] - as_torchscript[STEPS], 2000 * 4096 * 4 // 2)

    def test_slices_of_all_of_a_dimension(self):
        rows = BATCH * 64 * 512 * 4
        python = {}
        for model, module in (("first", make_models.First),
                              ("first_of_slice", make_models.FirstOfSlice)):
            with self.subTest(model):
                python[model] = python_peaks(lambda: Program(module), steps())
                self.check(python[model], worker_peaks(model))
        # Each slice that is taken is a gradient of all rows.
        self.assertGreater(python["first_of_slice"][0] - python["first"][0], rows // 2)
        as_torchscript = worker_peaks("first", run_as="torchscript")
        self.assertGreater(as_torchscript[0] - python["first"][0], rows // 2)


if __name__ == "__main__":
    unittest.main()
