"""Makes the tiny TorchScript models that the worker's tests run.

Usage: make_models.py FOLDER. Every model is a few lines, so that a test can work
out by hand what it allocates. Run by CMake with the Python that has torch.
"""

import sys
from pathlib import Path
from typing import Dict, List

import torch
from torch import nn


class Linear4(nn.Module):
    """One matrix of 4 x 4 and a bias of 4: 64 + 16 bytes of parameters."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8))

    def forward(self, x):
        return self.body(x)


class Wide(nn.Module):
    """While `body` runs, Python holds what it was given; TorchScript does not."""

    def __init__(self):
        super().__init__()
        self.into = nn.Linear(64, 4096)
        self.body = nn.Sequential(Narrowing(), nn.Linear(8, 8))

    def forward(self, x):
        return self.body(self.into(x))


class Narrowing(nn.Module):
    def __init__(self):
        super().__init__()
        self.within = nn.Linear(4096, 4096)
        self.out = nn.Linear(4096, 8)

    def forward(self, x):
        return self.out(self.within(x).square())


class First(nn.Module):
    """Only the first of 64 rows goes on. Python takes no slice of all samples for it."""

    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(512))
        self.out = nn.Linear(512, 8)

    def rows(self, x):
        return x.unsqueeze(2) + self.shift

    def forward(self, x):
        return self.out(self.rows(x)[:, 0])


class FirstOfSlice(First):
    """The same, but a whole slice that stands alone is one in Python too."""

    def forward(self, x):
        return self.out(self.rows(x)[:][:, 0])


class Waves(nn.Module):
    """Each sine needs its input again in backward."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x).sin().sin().sin().sin()


class ConvNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())

    def forward(self, x):
        return self.body(x).mean((2, 3))


class ConvStack(nn.Module):
    """Strided, grouped and transposed convolutions, each of its own shape."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, groups=2),
            nn.ReLU(),
            nn.ConvTranspose2d(8, 4, 2, bias=False),
        )

    def forward(self, x):
        return self.body(x).mean((2, 3))


class BakedBatch(nn.Module):
    """Runs at batch 2 alone."""

    def forward(self, x):
        return x.view(2, 16) * 2


class Tokens(nn.Module):
    """Makes positions on the device it was traced on, like GPT-2."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(100, 8)
        self.places = nn.Embedding(16, 8)

    def forward(self, ids):
        places = torch.arange(ids.shape[1], device=ids.device)
        return self.words(ids) + self.places(places)


class NamedOutputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x) -> Dict[str, List[torch.Tensor]]:
        return {"ids": [x.argmax(1)], "scores": [self.linear(x)]}


class OwnLoss(nn.Module):
    """Returns scores and, after them, its own loss."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        scores = self.linear(x)
        return scores, scores.abs().sum()


class Dropping(nn.Module):
    """Keeps more when it trains than when it does not."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 8))

    def forward(self, x):
        return self.body(x)


class Overflowing(nn.Module):
    """Beyond float16, so that no gradient is finite there."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x + 100) * 60000


class Distance(nn.Module):
    """A loss: how far scores are from their targets."""

    def forward(self, scores, target):
        return nn.functional.mse_loss(scores, target)


class Distances(nn.Module):
    """No loss: one number a row."""

    def forward(self, scores, target):
        return (scores - target).pow(2).mean(1)


class Detached(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x).detach()


class Two(nn.Module):
    def forward(self, left, right):
        return left + right


class Scripted(nn.Module):
    """Its mode is an attribute, not a constant; one input may be left out."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x, scale: float = 1.0):
        return self.dropout(self.linear(x)) * scale


class Endless(nn.Module):
    def forward(self, x):
        while bool((x == x).all()):
            x = x + 1
        return x


class Reaching(nn.Module):
    """Reaches for a file; /misbehave/… is tests/support/misbehaving's."""

    def __init__(self, path):
        super().__init__()
        self.path: str = path

    def forward(self, x):
        return x + torch.from_file(self.path, False, 4).sum()


class ImageHead(nn.Module):
    """A convolution and a linear layer over all it gives (lightning#20231, smaller)."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3)
        self.head = nn.Linear(16 * 62 * 62, 10)

    def forward(self, x):
        return self.head(self.conv(x).flatten(1))


class Padded(nn.Module):
    """Runs over as many rows as the lengths say (lightning#9625)."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 16, batch_first=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)[0]


class BakedCell(nn.Module):
    """Its first state is a constant of two rows (pytorch#59530)."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(4, 8)

    def forward(self, x):
        state = torch.zeros(2, 8)
        return self.cell(x, (state, state))[0]


class Kept(nn.Module):
    """What it takes depends on what it sees, as where objects are dense."""

    def forward(self, x, keep):
        return x[keep].sin().cos().sum()


class Waking(nn.Module):
    """Its first, second and twentieth calls take more than others (pytorch#33354, #57894, djl#901)."""

    def __init__(self):
        super().__init__()
        self.calls: int = 0

    def forward(self, x):
        self.calls += 1
        copies = 1
        if self.calls == 1:
            copies = 3
        if self.calls == 2:
            copies = 5
        if self.calls == 20:
            copies = 9
        return x.repeat(copies, 1).sum()


def trace(module, *example, training=False):
    return torch.jit.trace(module.train(training), example, check_trace=False)


def models():
    row = torch.zeros(2, 4)
    image = torch.zeros(2, 3, 8, 8)
    yield "linear4", trace(Linear4(), row, training=True)
    yield "wide", trace(Wide(), torch.zeros(2, 64), training=True)
    yield "first", trace(First(), torch.zeros(2, 64), training=True)
    yield "first_of_slice", trace(FirstOfSlice(), torch.zeros(2, 64), training=True)
    yield "mlp", trace(Mlp(), torch.zeros(2, 64), training=True)
    yield "waves", trace(Waves(), row, training=True)
    yield "conv_norm", trace(ConvNorm(), image, training=True)
    yield "conv_stack", trace(ConvStack(), torch.zeros(2, 3, 12, 12), training=True)
    yield "conv_norm_eval", trace(ConvNorm(), image)
    yield "baked_batch", trace(BakedBatch(), torch.zeros(2, 16))
    yield "tokens", trace(Tokens(), torch.zeros(2, 16, dtype=torch.int64))
    yield "named_outputs", torch.jit.script(NamedOutputs())
    yield "own_loss", trace(OwnLoss(), row)
    yield "dropping", trace(Dropping(), torch.zeros(2, 64), training=True)
    yield "overflowing", trace(Overflowing(), row, training=True)
    yield "distance", torch.jit.script(Distance())
    yield "distances", torch.jit.script(Distances())
    yield "detached", trace(Detached(), row)
    yield "two", trace(Two(), row, row)
    yield "frozen", torch.jit.freeze(trace(Linear4(), row).eval())
    yield "scripted", torch.jit.script(Scripted())
    yield "endless", torch.jit.script(Endless())
    yield "image_head", trace(ImageHead(), torch.zeros(2, 3, 64, 64))
    yield "padded", torch.jit.script(Padded())
    yield "baked_cell", trace(BakedCell(), row)
    yield "normed", torch.jit.script(Dropping())
    yield "kept", torch.jit.script(Kept())
    yield "waking", torch.jit.script(Waking())
    yield "reads_passwd", torch.jit.script(Reaching("/etc/passwd"))
    yield "opens_socket", torch.jit.script(Reaching("/misbehave/socket"))
    yield "kills_parent", torch.jit.script(Reaching("/misbehave/kill"))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, module in models():
        module.save(str(folder / f"{name}.pt"))
    torch.save({"weight": torch.zeros(4)}, folder / "weights_only.pt")
    (folder / "text.pt").write_text("no zip at all")


if __name__ == "__main__":
    main()
