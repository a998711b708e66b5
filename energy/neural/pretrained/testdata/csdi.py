#!/usr/bin/env python3
"""Writes csdi.json: predictions of small CSDI networks by PyTorch.

    python3 testdata/csdi.py > testdata/csdi.json

The weights are those of weights in golden_test.go. The computation is written from the
published description of the architecture.
"""
import json
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from golden_weights import weights


def alphas(c):
    a, b, n = c["beta_start"], c["beta_end"], c["num_steps"]
    beta = np.linspace(a**0.5, b**0.5, n) ** 2 if c["schedule"] == "quad" else np.linspace(a, b, n)
    return np.cumprod(1 - beta)


def encoder(name, d, heads):
    layer = nn.TransformerEncoderLayer(d, heads, dim_feedforward=64, activation="gelu", batch_first=True).eval()
    with torch.no_grad():
        for key, p in layer.named_parameters():
            p.copy_(weights(f"{name}.layers.0.{key}", *p.shape))
    return layer


def predict(config, x, known, step, alpha):  # x: length × channels of the window
    c, m = config["diffusion"], config["model"]
    d, (length, feats) = c["channels"], x.shape
    at = "diffmodel."

    def lin(name, h, out, conv=True):
        w = weights(name + ".weight", out, h.shape[-1], *([1] if conv else []))
        return F.linear(h, w.reshape(out, -1), weights(name + ".bias", out))

    half = c["diffusion_embedding_dim"] // 2
    freq = 10.0 ** (torch.arange(float(half)) / (half - 1) * 4.0)
    emb = torch.cat([torch.sin(step * freq), torch.cos(step * freq)])
    for part in "12":
        emb = F.silu(lin(at + "diffusion_embedding.projection" + part, emb, len(emb), False))
    pos = torch.arange(length)[:, None] / 10000.0 ** (torch.arange(0, m["timeemb"], 2) / m["timeemb"])
    time = torch.stack([pos.sin(), pos.cos()], -1).reshape(length, 1, -1).expand(-1, feats, -1)
    feature = weights("embed_layer.weight", feats, m["featureemb"]).expand(length, -1, -1)
    side = torch.cat([time, feature], -1)
    if m["is_unconditional"]:
        entry = x[..., None]
    else:
        side = torch.cat([side, known[..., None]], -1)
        entry = torch.stack([known * x, (1 - known) * x], -1)
    h, skips = F.relu(lin(at + "input_projection", entry, d)), 0
    for i in range(c["layers"]):
        b = f"{at}residual_layers.{i}."
        y = h + lin(b + "diffusion_projection", emb, d, False)
        y = encoder(b + "time_layer", d, c["nheads"])(y.transpose(0, 1)).transpose(0, 1)
        if feats > 1:
            y = encoder(b + "feature_layer", d, c["nheads"])(y)
        y = lin(b + "mid_projection", y, 2 * d) + lin(b + "cond_projection", side, 2 * d)
        gate, filtered = y.chunk(2, -1)
        residual, skip = lin(b + "output_projection", torch.sigmoid(gate) * torch.tanh(filtered), 2 * d).chunk(2, -1)
        h, skips = (h + residual) / math.sqrt(2), skips + skip
    noise = lin(at + "output_projection2", F.relu(lin(at + "output_projection1", skips / math.sqrt(c["layers"]), d)), 1)[..., 0]
    return (x - math.sqrt(1 - alpha) * noise) / math.sqrt(alpha)


cases = []
for unconditional, feats, length, schedule in [(0, 3, 7, "quad"), (1, 2, 5, "linear"), (0, 1, 6, "quad")]:
    config = {
        "seq_length": length,
        "diffusion": dict(layers=2, channels=8, nheads=2, diffusion_embedding_dim=8, beta_start=0.0001, beta_end=0.3, num_steps=20, schedule=schedule, is_linear=False),
        "model": dict(is_unconditional=unconditional, timeemb=6, featureemb=3),
    }
    x = 4 * weights("x", length, feats, 1)[..., 0]
    known = (torch.arange(length * feats).reshape(length, feats) % 3 == 0).float()
    for step in (0, 7, 19):
        alpha = alphas(config["diffusion"])[step]
        with torch.no_grad():
            y = predict(config, x, known, step, alpha)
        if not unconditional:
            y = torch.where(known > 0, x, y)
        cases.append(json.dumps({"config": config, "channels": feats, "step": step, "alpha": alpha, "want": [round(float(v), 6) for v in y.flatten()]}, separators=(",", ":")))
print("[" + ",\n".join(cases) + "]")
