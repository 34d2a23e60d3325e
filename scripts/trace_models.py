#!/usr/bin/env python3
"""Traces a well-known model to a TorchScript file, with random weights.

    scripts/trace_models.py resnet50 --train -o tests/models/resnet50.pt

Models: resnet50, vit_b_16 and convnext_tiny (torchvision; float32[B,3,224,224]), gpt2
(needs transformers; base size without a head; int64[B,256]{0..50257}) and gpt2_causal: when
traced, transformers builds the mask of attention that eager Python does without, a
tensor more a layer; gpt2_causal is traced without it. The example has
batch 2; --train traces in train mode, which a model that is to be trained needs.
A file that this script made from the same arguments before is left alone.
"""

import argparse
import hashlib
import json
import os
import sys
import warnings
import zipfile
from pathlib import Path

MARKER = "memplan.json"  # a record in the archive: what the file was made from
EXAMPLE_BATCH = 2
GPT2_TOKENS = 256


def image_model(name):
    import torch
    import torchvision

    model = torchvision.models.get_model(name, weights=None)
    return model, torch.randn(EXAMPLE_BATCH, 3, 224, 224)


def gpt2_model():
    import torch

    try:
        from transformers import GPT2Config, GPT2Model
    except ImportError:
        sys.exit("gpt2 needs the Python package transformers; install it into this Python: " + sys.executable)
    model = GPT2Model(GPT2Config(use_cache=False, return_dict=False))
    return model, torch.randint(0, model.config.vocab_size, (EXAMPLE_BATCH, GPT2_TOKENS))


def gpt2_causal_model():
    from transformers import masking_utils

    masking_utils.is_tracing = lambda *_: False
    return gpt2_model()


MODELS = {
    "resnet50": lambda: image_model("resnet50"),
    "vit_b_16": lambda: image_model("vit_b_16"),
    "convnext_tiny": lambda: image_model("convnext_tiny"),
    "gpt2": gpt2_model,
    "gpt2_causal": gpt2_causal_model,
}


def marker_for(arguments):
    script = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    return json.dumps({"model": arguments.model, "train": arguments.train, "script": script})


def is_current(path, marker):
    """True if `path` was made with the same marker."""
    try:
        with zipfile.ZipFile(path) as archive:
            records = [name for name in archive.namelist() if name.endswith("/extra/" + MARKER)]
            return bool(records) and archive.read(records[0]).decode() == marker
    except (OSError, zipfile.BadZipFile):
        return False


def trace(arguments, marker):
    import torch

    warnings.simplefilter("ignore", torch.jit.TracerWarning)  # of code that asserts on shapes
    torch.manual_seed(0)
    model, example = MODELS[arguments.model]()
    model.train(arguments.train)
    # Without gradients an eval model takes its faster paths, as in real inference.
    # Dropout makes two runs of one trace differ, so that checking means nothing.
    with torch.set_grad_enabled(arguments.train):
        traced = torch.jit.trace(model, example, check_trace=False)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    unfinished = arguments.output.with_name(arguments.output.name + f".{os.getpid()}.part")
    try:
        torch.jit.save(traced, str(unfinished), _extra_files={MARKER: marker})
        unfinished.replace(arguments.output)
    finally:
        unfinished.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument("--train", action="store_true", help="trace in train mode (default: eval)")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file to write")
    arguments = parser.parse_args()
    marker = marker_for(arguments)
    if is_current(arguments.output, marker):
        print(f"{arguments.output} is up to date")
        return
    trace(arguments, marker)
    mode = "train" if arguments.train else "eval"
    print(f"traced {arguments.model} in {mode} mode to {arguments.output}")


if __name__ == "__main__":
    main()
