"""Times kernels and models in PyTorch, on one thread, for the table beside it.

Reads lines "NAME SECONDS" and answers each with the least processor time of a
call in nanoseconds, over calls that take about so long; "?" names what it knows.
The first line that it writes is its version and that of its matrix products.
"""

import math
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
import torch  # noqa: E402: the number of threads is read when it is loaded
import torch.nn.functional as F  # noqa: E402

torch.set_num_threads(1)
torch.manual_seed(1)
made = {}  # name: what makes the call


def call(name):
    def keep(make):
        made[name] = make
        return make

    return keep


def rows(kind, size, make):
    def build():
        x = torch.randn(*size) * 3
        return make(x)

    made[f"{kind} {size[0]}x{size[1]}"] = build


for size in [(64, 512), (1024, 40), (1024, 2), (32, 50257)]:
    rows("softmax", size, lambda x: lambda out=torch.empty_like(x): torch.softmax(x, 1, out=out))
rows("log-softmax", (64, 512), lambda x: lambda: torch.log_softmax(x, 1))
rows("log-sum-exp", (64, 512), lambda x: lambda: torch.logsumexp(x, 1))
rows("arg max", (64, 512), lambda x: lambda: x.argmax(1))
for size in [(4, 50000), (64, 512), (1024, 40)]:
    # An exponential race, the fastest of PyTorch's ways to draw from log-weights.
    rows("categorical", size, lambda x: lambda: (torch.softmax(x, 1) / torch.empty_like(x).exponential_(1)).argmax(1))


@call("entropy 64x512")
def entropy():
    a = torch.randn(64, 512) * 3

    def f():
        l = torch.log_softmax(a, 1)
        return -(l.exp() * l).sum(1)

    return f


@call("gumbel-softmax 64x512")
def gumbel_softmax():
    a, g = torch.randn(64, 512) * 3, torch.randn(64, 512)

    def f():
        with torch.enable_grad():
            x = a.detach().requires_grad_(True)
            F.gumbel_softmax(x, tau=0.5).backward(g)

    return f


@call("flip 16384")
def flip():
    x, h = (torch.rand(16384) < 0.5).float(), torch.randn(16384)

    def f():
        p = torch.sigmoid(-(2 * x - 1) * h * 0.5 - 1)
        y = torch.where(torch.rand_like(p) < p, 1 - x, x)
        return torch.where(y == x, 1 - p, p).log().sum(), y

    return f


@call("gemm 100x784x500")
def gemm():
    x, w = torch.randn(100, 784), torch.randn(784, 500)
    return lambda: x @ w


@call("gemmt 100x500x784")
def gemmt():
    x, w = torch.randn(100, 784), torch.randn(500, 784)
    return lambda: x @ w.t()


@call("gemv 784x500")
def gemv():
    x, w = torch.randn(784), torch.randn(784, 500)
    return lambda: x @ w


def dmala(x, difference, step):
    """One step of DMALA (Zhang, Liu and Liu 2022) of rows of bits; difference(x) is
    the energy of each row and its field, which the next step does not ask for again."""
    state = [x, *difference(x)]

    def move(x, y, h):  # log q(y | x)
        p = torch.sigmoid((1 - 2 * x) * h * 0.5 - 1 / (2 * step))
        return p, lambda y: torch.where(y == x, 1 - p, p).log().sum(1)

    def f():
        x, u, h = state
        p, forward = move(x, None, h)
        y = torch.where(torch.rand_like(p) < p, 1 - x, x)
        v, k = difference(y)
        _, back = move(y, None, k)
        keep = (torch.log(torch.rand(len(x))) < v - u + back(x) - forward(y))
        state[0] = torch.where(keep[:, None], y, x)
        state[1] = torch.where(keep, v, u)
        state[2] = torch.where(keep[:, None], k, h)

    return f


def machine():
    return torch.randn(500, 784) * 0.05, torch.randn(500) * 0.5, torch.randn(784) * 0.5


@call("dmala rbm")
def dmala_rbm():
    w, c, b = machine()

    def difference(x):
        a = torch.addmm(c, x, w.t())
        return x @ b + F.softplus(a).sum(1), torch.addmm(b, torch.sigmoid(a), w)

    return dmala((torch.rand(100, 784) < 0.5).float(), difference, 0.2)


@call("block gibbs rbm")
def block_gibbs():
    w, c, b = machine()
    state = [(torch.rand(100, 784) < 0.5).float()]

    def f():
        p = torch.sigmoid(torch.addmm(c, state[0], w.t()))
        h = (torch.rand_like(p) < p).float()
        p = torch.sigmoid(torch.addmm(b, h, w))
        state[0] = (torch.rand_like(p) < p).float()

    return f


@call("dmala torus 50")
def dmala_torus():
    def difference(x):
        s = (2 * x - 1).view(-1, 50, 50)
        near = s.roll(1, 1) + s.roll(-1, 1) + s.roll(1, 2) + s.roll(-1, 2)
        return ((0.1 * near + 0.2) * s).sum((1, 2)), (2 * (0.2 * near + 0.2)).view(len(x), -1)

    return dmala((torch.rand(100, 2500) < 0.5).float(), difference, 0.2)


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width, bias=False), torch.nn.Linear(width, width, bias=False)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(approximate="tanh"), torch.nn.Linear(4 * width, width)
        )

    def forward(self, x, cos, sin):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)

        def rotate(x):
            one, two = x.chunk(2, -1)
            return x * cos + torch.cat([-two, one], -1) * sin

        a = torch.softmax(rotate(q) @ rotate(k).transpose(-1, -2) / math.sqrt(d // self.heads), -1)
        x = x + self.out((a @ v).transpose(1, 2).reshape(b, n, d))
        return x + self.mlp(self.norm2(x))


class Network(torch.nn.Module):
    """The transformer of the public MDLM checkpoints without a noise level."""

    def __init__(self, length, levels, width, heads, blocks):
        super().__init__()
        self.embed, self.norm = torch.nn.Embedding(levels, width), torch.nn.LayerNorm(width)
        self.blocks = torch.nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.last = torch.nn.Linear(width, levels)
        d = width // heads
        a = torch.outer(torch.arange(length).float(), 10000 ** (-torch.arange(0, d, 2).float() / d))
        self.cos, self.sin = torch.cat([a.cos(), a.cos()], -1), torch.cat([a.sin(), a.sin()], -1)

    def forward(self, tokens):
        x = self.embed(tokens)
        for b in self.blocks:
            x = b(x, self.cos, self.sin)
        return self.last(self.norm(x))


@call("forward 6x256")
def forward():
    net = Network(64, 512, 256, 8, 6)
    tokens = torch.randint(512, (32, 64)).split(int(os.environ.get("CHUNK", "8")))

    def f():
        for t in tokens:
            net(t)

    return f


@call("training 4x128")
def training():
    net = Network(32, 20, 128, 4, 4)
    tokens, grad = torch.randint(20, (64, 32)), torch.randn(64, 32, 20)

    def f():
        with torch.enable_grad():
            net.zero_grad(set_to_none=True)
            net(tokens).backward(grad)

    return f


def window(f, seconds):
    """The least time of a call, of windows of several that last about a millisecond."""
    calls, least, end = 1, math.inf, time.thread_time() + seconds
    while True:
        start = time.thread_time_ns()
        for _ in range(calls):
            f()
        took = time.thread_time_ns() - start
        least = min(least, took / calls)
        if time.thread_time() >= end:
            return least
        if took < 1e6:
            calls *= 2


print(f"PyTorch {torch.__version__}", flush=True)
ready = {}
torch.set_grad_enabled(False)
for line in sys.stdin:
    name, seconds = line.strip().rsplit(" ", 1)
    if name not in made:
        print(f"no {name!r} among {sorted(made)}", flush=True)
        continue
    if name not in ready:
        ready = {name: made[name]()}  # one at a time: memory
        window(ready[name], 0.05)  # warm
    print(window(ready[name], float(seconds)), flush=True)
