"""The job whose batch is looked for: eager Python, as people write it, with Python's own
optimizer. Its step is memplan's: inputs, zero_grad, forward, loss, backward, optimizer."""

import gc
from dataclasses import dataclass

from ten_models import RECIPES

TRIAL_STEPS = 3  # Lightning's steps_per_trial
LEARNING_RATE = 1e-3


@dataclass(frozen=True)
class Job:
    model: str
    mode: str  # a key of OPTIMIZERS

    @property
    def name(self):
        return f"{self.model}:{self.mode}"

    @property
    def autocast(self):
        return self.mode.endswith("-bf16")


def job_of(name):
    return Job(*name.split(":"))


def make_optimizer(mode, parameters):
    """With neither foreach nor fused given, Python takes foreach on a GPU."""
    import torch

    if mode == "sgd":
        return torch.optim.SGD(parameters, lr=LEARNING_RATE, momentum=0.9)
    kind = torch.optim.AdamW if mode.startswith("adamw") else torch.optim.Adam
    return kind(parameters, lr=LEARNING_RATE)


def loss_of(output):
    return output.float().pow(2).mean()


def is_of_memory(error):
    """Whether memory ran out: the allocator says so, or cuDNN found none for any algorithm."""
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "unable to find an engine" in str(error)


class TrialLog:
    """What was tried. A trial that begins and never finishes ran out of memory."""

    def __init__(self):
        self.trials = []

    def begin(self, batch):
        self.trials.append([batch, "out_of_memory"])

    def finish(self):
        self.trials[-1][1] = "fits"

    def ooms(self):
        return sum(outcome != "fits" for _, outcome in self.trials)


class Training:
    """A model on a device with its optimizer. Not for inputs of changing shape."""

    def __init__(self, job, device, log):
        self.job, self.device, self.log = job, device, log
        self.recipe = RECIPES[job.model]
        self.model = self.recipe.make().train().to(device.name)
        self.optimizer = make_optimizer(job.mode, self.model.parameters())

    def forward_and_backward(self, batch):
        import torch

        self.device.admit(batch)
        inputs = self.recipe.example(batch, self.device.name)
        self.optimizer.zero_grad()
        with torch.autocast(self.device.name, torch.bfloat16, enabled=self.job.autocast):
            loss = loss_of(self.model(inputs))
        loss.backward()

    def step(self, batch):
        self.forward_and_backward(batch)
        self.optimizer.step()

    def trial(self, batch, steps=TRIAL_STEPS):
        """Raises torch.OutOfMemoryError if the batch does not fit."""
        self.log.begin(batch)
        for _ in range(steps):
            self.step(batch)
        self.device.finish()
        self.log.finish()

    def let_go(self):
        """After an error has been caught and left: its frames held tensors."""
        self.optimizer.zero_grad()
        gc.collect()
        self.device.empty_cache()
