"""The U-Net of the comparison: four levels down and up, two convolutions each, 64 channels
at the top. It is written here because torchvision has none."""

import torch
from torch import nn

CHANNELS = (64, 128, 256, 512, 1024)
CLASSES = 21


def double_convolution(before, after):
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
        nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Sides of an image are multiples of 16."""

    def __init__(self, channels=CHANNELS, classes=CLASSES):
        super().__init__()
        pairs = list(zip(channels, channels[1:]))
        self.first = double_convolution(3, channels[0])
        self.down = nn.ModuleList(double_convolution(*pair) for pair in pairs)
        self.widen = nn.ModuleList(nn.ConvTranspose2d(deep, shallow, 2, stride=2)
                                   for shallow, deep in reversed(pairs))
        self.up = nn.ModuleList(double_convolution(2 * shallow, shallow) for shallow, _ in reversed(pairs))
        self.last = nn.Conv2d(channels[0], classes, 1)
        self.pool = nn.MaxPool2d(2)

    def forward(self, images):
        levels = [self.first(images)]
        for down in self.down:
            levels.append(down(self.pool(levels[-1])))
        features = levels.pop()
        for widen, up in zip(self.widen, self.up):
            features = up(torch.cat([levels.pop(), widen(features)], dim=1))
        return self.last(features)
