#!/usr/bin/env python3
"""Traces models of the comparison to TorchScript files that memplan can run and train.

    export_models.py FOLDER NAME-train|NAME-eval...

Training ones are traced in train mode with gradients, others in eval mode without, so
that they take the paths they take in real inference. A file that is there is left alone.
"""

import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ten_models import RECIPES

EXAMPLE_BATCH = 2
THREADS_EACH = 2


def path_of(folder, model, trains):
    return Path(folder) / f"{model}-{'train' if trains else 'eval'}.pt"


def traced(model, trains):
    """A module that takes any batch, though traced with one."""
    import torch

    torch.manual_seed(0)
    recipe = RECIPES[model]
    module = recipe.make().train(trains)
    with warnings.catch_warnings(), torch.set_grad_enabled(trains):
        warnings.simplefilter("ignore", torch.jit.TracerWarning)  # of code that asserts on shapes
        # Dropout makes two runs of one trace differ, so that checking means nothing.
        return torch.jit.trace(module, recipe.example(EXAMPLE_BATCH), check_trace=False)


def export(folder, model, trains):
    """The path of the file, made unless it is there."""
    import torch

    path = path_of(folder, model, trains)
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    torch.jit.save(traced(model, trains), str(unfinished))
    unfinished.replace(path)
    return path


def export_side_by_side(folder, wanted):
    """Each pair of a model and whether it trains, in processes of their own. One that fails
    has said why, and has no file."""
    names = sorted({path_of(folder, *pair).stem for pair in wanted if not path_of(folder, *pair).exists()})
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS_EACH), "CUDA_VISIBLE_DEVICES": ""}

    def make(name):
        return subprocess.run([sys.executable, __file__, folder, name], env=environment,
                              stdout=subprocess.DEVNULL).returncode

    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // THREADS_EACH)) as pool:
        return list(pool.map(make, names))


def main():
    folder, *names = sys.argv[1:]
    for name in names:
        model, _, mode = name.rpartition("-")
        print(export(folder, model, mode == "train"))


if __name__ == "__main__":
    main()
