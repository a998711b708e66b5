#!/usr/bin/python3
"""Writes tiny random networks of the shapes of the public MDLM, UDLM and SEDD
checkpoints and what PyTorch makes of them.

    python3 golden.py       (PyTorch 1.13; no other package)

For each: NAME.safetensors, the weights under the names of the checkpoints, and
NAME.json, the tokens, the noise levels, the network's results and the
predictions that the paper makes of them:
  mdlm  zero mask probability and carry-over, log-probabilities (time-free: level 0)
  udlm  log-softmax, leave-one-out
  sedd  log concrete scores under absorbing noise, by sigma
"""
import json
import math
import os
import struct

import torch
import torch.nn.functional as F
from torch import nn


class Norm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.layer_norm(x, [x.shape[-1]]) * self.weight


class TimeEmbedder(nn.Module):
    def __init__(self, cond):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(256, cond), nn.SiLU(), nn.Linear(cond, cond))

    def forward(self, sigma):
        freqs = torch.exp(-math.log(10000) * torch.arange(128, dtype=torch.float32) / 128)
        args = sigma[:, None] * freqs[None]
        return self.mlp(torch.cat([torch.cos(args), torch.sin(args)], dim=-1))


class RotaryAngles(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim)))


def rotate(x, inv_freq):  # batch, heads, positions, dim
    a = torch.outer(torch.arange(x.shape[2]).float(), inv_freq)
    cos, sin = torch.cat([a.cos(), a.cos()], -1), torch.cat([a.sin(), a.sin()], -1)
    one, two = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-two, one], -1) * sin


class Block(nn.Module):
    def __init__(self, dim, heads, cond):
        super().__init__()
        self.heads = heads
        self.norm1 = Norm(dim)
        self.attn_qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.attn_out = nn.Linear(dim, dim, bias=False)
        self.norm2 = Norm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(approximate="tanh"), nn.Linear(4 * dim, dim))
        self.adaLN_modulation = nn.Linear(cond, 6 * dim)

    def forward(self, x, inv_freq, c):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.adaLN_modulation(c)[:, None].chunk(6, dim=2)
        b, n, d = x.shape
        qkv = self.attn_qkv(self.norm1(x) * (1 + scale1) + shift1)
        q, k, v = qkv.view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        q, k = rotate(q, inv_freq), rotate(k, inv_freq)
        w = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(d // self.heads), dim=-1)
        x = x + gate1 * self.attn_out((w @ v).transpose(1, 2).reshape(b, n, d))
        return x + gate2 * self.mlp(self.norm2(x) * (1 + scale2) + shift2)


class Embed(nn.Module):
    def __init__(self, levels, dim):
        super().__init__()
        self.embedding = nn.Parameter(torch.zeros(levels, dim))


class Final(nn.Module):
    def __init__(self, dim, levels, cond):
        super().__init__()
        self.norm_final = Norm(dim)
        self.linear = nn.Linear(dim, levels)
        self.adaLN_modulation = nn.Linear(cond, 2 * dim)

    def forward(self, x, c):
        shift, scale = self.adaLN_modulation(c)[:, None].chunk(2, dim=2)
        return self.linear(self.norm_final(x) * (1 + scale) + shift)


class DDiT(nn.Module):
    def __init__(self, levels, dim=16, heads=2, blocks=2, cond=8):
        super().__init__()
        self.vocab_embed = Embed(levels, dim)
        self.sigma_map = TimeEmbedder(cond)
        self.rotary_emb = RotaryAngles(dim // heads)
        self.blocks = nn.ModuleList([Block(dim, heads, cond) for _ in range(blocks)])
        self.output_layer = Final(dim, levels, cond)

    def forward(self, x, sigma):
        h = self.vocab_embed.embedding[x]
        c = F.silu(self.sigma_map(sigma))
        for b in self.blocks:
            h = b(h, self.rotary_emb.inv_freq, c)
        return self.output_layer(h, c)


def write(name, tensors, dtype):
    code = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}[dtype]
    head, data = {}, b""
    for key, t in tensors.items():
        t = t.detach().to(dtype).contiguous()
        raw = (t.view(torch.int16) if dtype != torch.float32 else t).numpy().tobytes()
        head[key] = {"dtype": code, "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    with open(name, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    for seed, (name, levels, prefix, dtype) in enumerate([
            ("mdlm", 11, "backbone.", torch.float32),
            ("udlm", 9, "backbone.", torch.bfloat16),
            ("sedd", 11, "", torch.float16)]):
        torch.manual_seed(seed)
        net = DDiT(levels)
        with torch.no_grad():
            for p in net.parameters():
                p.add_(0.2 * torch.randn_like(p))
                p.copy_(p.to(dtype).float())
            x = torch.randint(levels, (3, 7))
            x[0, :] = levels - 1
            x[1, ::2] = levels - 1
            sigma = torch.zeros(3) if name == "mdlm" else torch.tensor([3.5, 0.75, 0.1])
            logits = net(x, sigma)
            if name == "mdlm":
                out = logits.clone()
                out[:, :, -1] = -1e6
                out = out - torch.logsumexp(out, dim=-1, keepdim=True)
                known = F.one_hot(x, levels).bool()
                out = torch.where((x != levels - 1)[..., None], torch.where(known, 0.0, -1e6), out)
            elif name == "udlm":
                out = torch.log_softmax(logits, dim=-1)
            else:
                scale = torch.where(sigma < 0.5, torch.expm1(sigma), sigma.exp() - 1).log()
                out = logits - scale[:, None, None] - math.log(levels - 1)
                out = torch.scatter(out, -1, x[..., None], torch.zeros_like(out[..., :1]))
        write(os.path.join(here, name + ".safetensors"), {prefix + k: v for k, v in net.state_dict().items()}, dtype)
        with open(os.path.join(here, name + ".json"), "w") as f:
            json.dump({"torch": torch.__version__, "seed": seed, "tokens": x.flatten().tolist(), "level": sigma.tolist(),
                       "logits": [float("%.8g" % v) for v in logits.flatten().tolist()],
                       "prediction": [float("%.8g" % v) for v in out.flatten().tolist()]}, f)
            f.write("\n")


main()
