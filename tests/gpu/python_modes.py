"""How Python trains in the checks beside memplan, and what memplan is told of it."""

from dataclasses import dataclass

ACCUMULATED = 2


@dataclass(frozen=True)
class Mode:
    algorithm: str  # of torch.optim
    keywords: dict
    flags: list  # of `memplan probe` and `profile`
    autocast: bool = False  # to bfloat16
    accumulate: int = 1

    def optimizer(self, parameters, learning_rate):
        import torch  # only the training process needs it
        return getattr(torch.optim, self.algorithm)(parameters, lr=learning_rate, **self.keywords)


BF16 = ["--autocast", "bf16"]
MODES = {
    "sgd": Mode("SGD", {"momentum": 0.9}, ["--train", "sgd-momentum:foreach"]),
    "adam-loop": Mode("Adam", {"foreach": False}, ["--train", "adam:for-loop"]),
    "adam-foreach": Mode("Adam", {"foreach": True}, ["--train", "adam:foreach"]),
    "adam-fused": Mode("Adam", {"fused": True}, ["--train", "adam:fused"]),
    "adamw-bf16": Mode("AdamW", {"foreach": True}, ["--train", "adamw:foreach", *BF16],
                       autocast=True),
    "adam-bf16": Mode("Adam", {"foreach": True}, ["--train", "adam:foreach", *BF16],
                      autocast=True),
    "sgd-accumulate": Mode("SGD", {"momentum": 0.9},
                           ["--train", "sgd-momentum:foreach", "--accumulate", str(ACCUMULATED)],
                           accumulate=ACCUMULATED),
}
