#!/usr/bin/env python3
"""Writes golden.json: logits of small networks of every type by PyTorch.

    python3 testdata/golden.py > testdata/golden.json

The weights are those of weights in golden_test.go. The modules are written from the
published descriptions of the architectures.
"""
import json
import math

import torch
import torch.nn.functional as F

from golden_weights import weights

V, W, H, HEADS, GROUPS, HEAD, BLOCKS, LENGTH = 37, 20, 28, 4, 2, 6, 2, 9
MASK = 36
TOKENS = [3, 36, 36, 17, 0, 36, 35, 8, 36]


def names(kind):
    if kind == "llada":
        t, b = "model.transformer.", "model.transformer.blocks.%d."
        return dict(embed=t + "wte", norm=t + "ln_f", last=t + "ff_out", norm1=b + "attn_norm", q=b + "q_proj", k=b + "k_proj",
                    v=b + "v_proj", o=b + "attn_out", norm2=b + "ff_norm", gate=b + "ff_proj", up=b + "up_proj", down=b + "ff_out")
    b = "model.layers.%d."
    a = b + "self_attn."
    return dict(embed="model.embed_tokens", norm="model.norm", last="lm_head", norm1=b + "input_layernorm", q=a + "q_proj",
                k=a + "k_proj", v=a + "v_proj", o=a + "o_proj", qn=a + "q_norm", kn=a + "k_norm",
                norm2=b + "post_attention_layernorm", gate=b + "mlp.gate_proj", up=b + "mlp.up_proj", down=b + "mlp.down_proj")


def rms(x, gain, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gain


def rotate(x, base):  # heads × length × head
    half = x.shape[-1] // 2
    inv = base ** (-torch.arange(half, dtype=torch.float32) / half)
    angle = torch.arange(x.shape[1], dtype=torch.float32)[:, None] * inv[None]
    cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * cos + turned * sin


def logits(kind, base, eps, bias, tied, block):
    n = names(kind)
    groups = HEADS if kind == "llada" else GROUPS
    head = W // HEADS if kind == "llada" else HEAD
    head -= head % 2
    width = W if kind != "llada" else HEADS * head
    norms = kind == "a2d-qwen3"
    mask = None
    if block:
        at = torch.arange(LENGTH) // block
        mask = at[:, None] >= at[None]
    x = weights(n["embed"] + ".weight", V, width)[TOKENS]
    for i in range(BLOCKS):
        def lin(key, h, out):
            b = weights(n[key] % i + ".bias", out) if bias and key in "qkv" else None
            return F.linear(h, weights(n[key] % i + ".weight", out, h.shape[-1]), b)
        h = rms(x, weights(n["norm1"] % i + ".weight", width), eps)
        q = lin("q", h, HEADS * head).view(LENGTH, HEADS, head).transpose(0, 1)
        k = lin("k", h, groups * head).view(LENGTH, groups, head).transpose(0, 1)
        v = lin("v", h, groups * head).view(LENGTH, groups, head).transpose(0, 1)
        if norms:
            q = rms(q, weights(n["qn"] % i + ".weight", head), eps)
            k = rms(k, weights(n["kn"] % i + ".weight", head), eps)
        q, k = rotate(q, base), rotate(k, base)
        k, v = (t.repeat_interleave(HEADS // groups, 0) for t in (k, v))
        s = q @ k.transpose(1, 2) / math.sqrt(head)
        if mask is not None:
            s = s.masked_fill(~mask, float("-inf"))
        o = (s.softmax(-1) @ v).transpose(0, 1).reshape(LENGTH, HEADS * head)
        x = x + lin("o", o, width)
        h = rms(x, weights(n["norm2"] % i + ".weight", width), eps)
        x = x + lin("down", F.silu(lin("gate", h, H)) * lin("up", h, H), width)
    x = rms(x, weights(n["norm"] + ".weight", width), eps)
    y = F.linear(x, weights((n["embed"] if tied else n["last"]) + ".weight", V, width))
    if kind == "Dream":
        y = torch.cat([y[:1], y[:-1]])
    return y


cases = []
for kind, base, eps, bias, tied, block in [
    ("llada", 500000.0, 1e-5, False, False, 0),
    ("Dream", 1000000.0, 1e-6, True, False, 0),
    ("a2d-qwen2", 1000000.0, 1e-6, True, True, 0),
    ("a2d-qwen3", 1000000.0, 1e-6, False, True, 0),
    ("a2d-qwen3", 1000000.0, 1e-6, False, True, 4),
    ("a2d-llama", 10000.0, 1e-6, False, False, 0),
]:
    with torch.no_grad():
        y = logits(kind, base, eps, bias, tied, block)
    rows = [[round(float(v), 6) for v in r] for r in y]
    cases.append(json.dumps({"type": kind, "base": base, "epsilon": eps, "bias": bias, "tied": tied, "block": block, "logits": rows},
                            separators=(",", ":")))
print("[" + ",\n".join(cases) + "]")
