"""Lightning's batch size finder, called as its documentation shows, with its defaults."""

import logging
import tempfile
import warnings

import lightning.pytorch as pl
import torch
from lightning.pytorch.tuner import Tuner

from ten_models import RECIPES
from training import loss_of, make_optimizer

SAMPLES = 1 << 20  # more than any trial takes


class Samples(torch.utils.data.Dataset):
    def __init__(self, recipe):
        self.sample = recipe.example(1)[0]

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return self.sample


class Module(pl.LightningModule):
    def __init__(self, job, device, log):
        super().__init__()
        self.job, self.memory, self.log_of_trials = job, device, log
        self.recipe = RECIPES[job.model]
        self.model = self.recipe.make()
        self.batch_size = 1  # the finder looks for this name

    def train_dataloader(self):
        return torch.utils.data.DataLoader(Samples(self.recipe), batch_size=self.batch_size)

    def training_step(self, batch):
        self.memory.admit(len(batch))
        return loss_of(self.model(batch))

    def configure_optimizers(self):
        return make_optimizer(self.job.mode, self.parameters())

    # A trial is one run of the training loop.
    def on_train_start(self):
        self.log_of_trials.begin(self.batch_size)

    def on_train_end(self):
        self.memory.finish()
        self.log_of_trials.finish()


def find(mode, job, device, log):
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")  # of few workers and no validation
    with tempfile.TemporaryDirectory() as folder:  # for the state it saves and restores
        trainer = pl.Trainer(
            accelerator=device.lightning_accelerator, devices=1, logger=False, default_root_dir=folder,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
            precision="bf16-mixed" if job.autocast else "32-true")
        return Tuner(trainer).scale_batch_size(Module(job, device, log), mode=mode)


def power(job, device, log):
    return find("power", job, device, log)


def binsearch(job, device, log):
    return find("binsearch", job, device, log)
