"""The models of the GPU checks: makes them, and says what goes with each.

    gpu_models.py FOLDER [NAME...]

Each is traced twice, in train and in eval mode, all side by side. gpt2 is left out
where transformers is not installed. With names such as vit-train, only these;
convnext and gpt2-causal are made only if they are named.
"""

import importlib.util
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGE = "float32[B,3,224,224]"
TOKENS = "int64[B,256]{0..50257}"
INPUTS = {"resnet50": [IMAGE], "vit": [IMAGE], "convnext": [IMAGE], "gpt2": [TOKENS],
          "gpt2-causal": [TOKENS]}
TORCH_NAMES = {"resnet50": "resnet50", "vit": "vit_b_16", "convnext": "convnext_tiny",
               "gpt2": "gpt2", "gpt2-causal": "gpt2_causal"}
ONLY_IF_NAMED = {"convnext", "gpt2-causal"}


def available(model):
    return not model.startswith("gpt2") or importlib.util.find_spec("transformers") is not None


def path_of(folder, model, training):
    return folder / f"{model}-{'train' if training else 'eval'}.pt"


def library_path():
    """The folders of this Python's torch and CUDA, as a worker needs them."""
    torch = Path(importlib.util.find_spec("torch").origin).parent
    return ":".join(str(folder) for folder in [torch / "lib", *torch.parent.glob("nvidia/*/lib")])


def make(folder, wanted):
    script = str(ROOT / "scripts/trace_models.py")
    jobs = []
    if not wanted:
        jobs.append([str(ROOT / "tests/cuda/worker/make_models.py"), str(folder / "tiny")])
    for model in filter(available, TORCH_NAMES):
        for training in (True, False):
            file = path_of(folder, model, training)
            if file.stem not in wanted if wanted else model in ONLY_IF_NAMED:
                continue
            flags = ["--train"] if training else []
            jobs.append([script, TORCH_NAMES[model], *flags, "-o", str(file)])
    running = [subprocess.Popen([sys.executable, *job], stdout=subprocess.DEVNULL) for job in jobs]
    if any([process.wait() for process in running]):
        sys.exit("a model could not be made")


if __name__ == "__main__":
    start = time.monotonic()
    make(Path(sys.argv[1]), sys.argv[2:])
    print(f"models made in {time.monotonic() - start:.0f} s")
