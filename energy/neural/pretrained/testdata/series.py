#!/usr/bin/env python3
"""Writes series.json: predictions of small Diffusion-TS networks by PyTorch.

    python3 testdata/series.py > testdata/series.json

The weights are those of weights in golden_test.go. The computation is written from the
published description of the architecture.
"""
import json
import math

import torch
import torch.nn.functional as F

from golden_weights import weights

STEPS = 50


def alphas():
    t = (torch.arange(STEPS + 1, dtype=torch.float64) / STEPS + 0.008) / 1.008
    bar = torch.cos(t * math.pi / 2) ** 2
    beta = torch.clip(1 - bar[1:] / bar[:-1], 0, 0.999)
    return torch.cumprod(1 - beta, 0).float()


def predict(c, x, t):
    length, feats, d, heads, hidden = c["seq_length"], c["feature_size"], c["d_model"], c["n_heads"], c["mlp_hidden_times"] * c["d_model"]

    def lin(name, h, out):
        return F.linear(h, weights(name + ".weight", out, h.shape[-1]), weights(name + ".bias", out))

    def conv(name, h, out, k=3):  # over the last axis
        return F.conv1d(h[None], weights(name + ".weight", out, h.shape[0], k), weights(name + ".bias", out), padding=k // 2)[0]

    half = d // 2
    w = torch.exp(torch.arange(half) * -(math.log(10000) / (half - 1)))
    emb = F.silu(torch.cat([(t * w).sin(), (t * w).cos()]))

    def ada(name, h):
        scale, shift = lin(name + ".linear", emb, 2 * d).chunk(2)
        return F.layer_norm(h, (d,)) * (1 + scale) + shift

    def attention(name, h, context):
        q, k, v = (lin(name + "." + p, s, d).view(length, heads, d // heads).transpose(0, 1) for p, s in (("query", h), ("key", context), ("value", context)))
        o = (q @ k.transpose(1, 2) / math.sqrt(d // heads)).softmax(-1) @ v
        return lin(name + ".proj", o.transpose(0, 1).reshape(length, d), d)

    def mlp(b, h):
        h = F.layer_norm(h, (d,), weights(b + "ln2.weight", d), weights(b + "ln2.bias", d))
        return lin(b + "mlp.2", F.gelu(lin(b + "mlp.0", h, hidden)), d)

    def season(h):
        f = torch.fft.rfft(h, dim=0)[1 : (length + 1) // 2]
        top = f.abs().topk(int(math.log(len(f))), dim=0).indices
        at = torch.arange(length, dtype=torch.float32)[:, None]
        out = torch.zeros_like(h)
        for i in range(d):
            for k in top[:, i]:
                out[:, i : i + 1] += 2 * f[k, i].abs() * torch.cos(2 * math.pi * (k + 1) / length * at + f[k, i].angle())
        return out

    embedded = conv("model.emb.sequential.1", x.T, d).T
    enc = embedded + weights("model.pos_enc.pe", 1, length, d)[0]
    for i in range(c["n_layer_enc"]):
        b = f"model.encoder.blocks.{i}."
        h = ada(b + "ln1", enc)
        enc = enc + attention(b + "attn", h, h)
        enc = enc + mlp(b, enc)
    dec = embedded + weights("model.pos_dec.pe", 1, length, d)[0]
    means, seasons, trends = [], torch.zeros(length, d), torch.zeros(length, feats)
    powers = torch.stack([(torch.arange(1, length + 1) / (length + 1)) ** float(p + 1) for p in range(3)])
    for i in range(c["n_layer_dec"]):
        b = f"model.decoder.blocks.{i}."
        h = ada(b + "ln1", dec)
        dec = dec + attention(b + "attn1", h, h)
        dec = dec + attention(b + "attn2", ada(b + "ln1_1", dec), enc)
        x1, x2 = conv(b + "proj", dec, 2 * length, 1).chunk(2)
        cubic = F.gelu(conv(b + "trend.trend.0", x1, 3))
        trends = trends + (conv(b + "trend.trend.3", cubic.T, feats) @ powers).T
        seasons = seasons + season(x2)
        dec = dec + mlp(b, dec)
        m = dec.mean(0, keepdim=True)
        means.append(lin(b + "linear", m, feats))
        dec = dec - m
    rest = conv("model.inverse.sequential.1", dec.T, feats).T
    k = c["kernel_size"]
    around = torch.cat([seasons[length - k // 2 :], seasons, seasons[: k // 2]])
    seasons = F.conv1d(around.T[None], weights("model.combine_s.weight", feats, d, k))[0].T
    mean = torch.einsum("o,oc->c", weights("model.combine_m.weight", 1, c["n_layer_dec"], 1)[0, :, 0], torch.cat(means))
    return mean + trends + seasons + rest


cases = []
for c in [
    dict(seq_length=12, feature_size=2, n_layer_enc=2, n_layer_dec=2, d_model=8, n_heads=2, mlp_hidden_times=3, kernel_size=1, padding_size=0),
    dict(seq_length=9, feature_size=3, n_layer_enc=1, n_layer_dec=3, d_model=6, n_heads=1, mlp_hidden_times=4, kernel_size=5, padding_size=2),
    dict(seq_length=24, feature_size=1, n_layer_enc=1, n_layer_dec=1, d_model=4, n_heads=2, mlp_hidden_times=1, kernel_size=3, padding_size=1),
]:
    c["timesteps"] = STEPS
    x = 4 * weights("x", c["seq_length"], c["feature_size"], 1)[..., 0]
    for t in (0, 17, 49):
        with torch.no_grad():
            y = predict(c, x, torch.tensor(float(t)))
        cases.append(json.dumps({"config": c, "step": t, "alpha": float(alphas()[t]), "want": [round(float(v), 6) for v in y.flatten()]}, separators=(",", ":")))
print("[" + ",\n".join(cases) + "]")
