"""The models of the comparison, made from their configurations with random weights, and
what goes into each. Every one takes one tensor and returns one."""

from dataclasses import dataclass
from typing import Callable

TOKENS = 256
IMAGE = (3, 224, 224)


@dataclass(frozen=True)
class Recipe:
    make: Callable  # returns the torch module
    shape: tuple  # of one sample
    vocabulary: int = 0  # of a model of tokens; 0: samples are float32

    def spec(self):
        """The input as memplan's --input has it."""
        sides = ",".join(map(str, self.shape))
        return f"int64[B,{sides}]{{0..{self.vocabulary}}}" if self.vocabulary else f"float32[B,{sides}]"

    def example(self, batch, device="cpu"):
        import torch

        if self.vocabulary:
            return torch.randint(0, self.vocabulary, (batch, *self.shape), device=device)
        return torch.randn(batch, *self.shape, device=device)


def torchvision_model(name, **options):
    def make():
        import torchvision

        return torchvision.models.get_model(name, weights=None, **options)

    return make


def one_output(model, choose):
    """`model` with one tensor in and one out, which `choose` takes from its answer."""
    from torch import nn

    class OneOutput(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, inputs):
            return choose(self.model(inputs))

    return OneOutput()


def deeplab():
    make = torchvision_model("deeplabv3_resnet50", weights_backbone=None, aux_loss=False)
    return one_output(make(), lambda answer: answer["out"])


def gpt2():
    from transformers import GPT2Config, GPT2Model

    return one_output(GPT2Model(GPT2Config(use_cache=False, return_dict=False)), lambda answer: answer[0])


def bert():
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(return_dict=False), add_pooling_layer=False)
    return one_output(model, lambda answer: answer[0])


def unet():
    from unet import UNet

    return UNet()


def tiny():
    """For trying the programs without a GPU."""
    from torch import nn

    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))


RECIPES = {
    "resnet50": Recipe(torchvision_model("resnet50"), IMAGE),
    "vit": Recipe(torchvision_model("vit_b_16"), IMAGE),
    "gpt2": Recipe(gpt2, (TOKENS,), 50257),
    "bert": Recipe(bert, (TOKENS,), 30522),
    "swin": Recipe(torchvision_model("swin_t"), IMAGE),
    "convnext": Recipe(torchvision_model("convnext_tiny"), IMAGE),
    "densenet": Recipe(torchvision_model("densenet121"), IMAGE),
    "efficientnet": Recipe(torchvision_model("efficientnet_b0"), IMAGE),
    "deeplab": Recipe(deeplab, IMAGE),
    "unet": Recipe(unet, IMAGE),
    "tiny": Recipe(tiny, (64,)),
}
TEN = [name for name in RECIPES if name != "tiny"]
