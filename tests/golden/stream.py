"""The generator of tfnorm.h (rng section): splitmix64 as a function of key and counter."""
import math
import torch

MASK = (1 << 64) - 1
GOLDEN = 0x9e3779b97f4a7c15


def mix(x):
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & MASK
    return x ^ (x >> 31)


class Stream:
    """Numbers in [-scale, scale), exact in float; the key is the FNV-1a hash of a name."""

    def __init__(self, name):
        h = 0xcbf29ce484222325
        for c in name.encode():
            h = ((h ^ c) * 0x100000001b3) & MASK
        self.key, self.at = mix((h + GOLDEN) & MASK), 0

    def draw(self, *shape, scale=1.0, shift=0.0):
        n = math.prod(shape)
        bits = [mix((self.key + (self.at + i + 1) * GOLDEN) & MASK) >> 40 for i in range(n)]
        self.at += n
        return torch.tensor([shift + scale * (2 * b / 2**24 - 1) for b in bits]).reshape(shape)
