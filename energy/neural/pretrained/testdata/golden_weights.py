"""The function weights of golden_test.go."""
import math

import numpy as np
import torch


def weights(name, *shape):
    h = 2166136261
    for b in name.encode():
        h = (h ^ b) * 16777619 % 2**32
    i = np.arange(int(np.prod(shape)), dtype=np.uint64)
    z = (h + i * 0x9E3779B1) % 2**32
    z = (z ^ (z >> 16)) * 0x85EBCA6B % 2**32
    z = (z ^ (z >> 13)) * 0xC2B2AE35 % 2**32
    u = (z ^ (z >> 16)) / 2.0**32 - 0.5
    if "norm" in name or "ln_f" in name:
        u = 1 + u
    elif len(shape) == 2:
        u = u * 4 / math.sqrt(shape[1])
    return torch.tensor(u.astype(np.float32).reshape(shape))
