#!/usr/bin/env python3
"""What PyTorch needs for the rows of bench.c, which starts this program and asks line by line:

    version
    train NAME L d h ff T B V steps     seconds of a step: forward, backward, AdamW
    kernel NAME rows cols calls         seconds of a call
    decode L d h ff V context tokens    seconds of a token, batch 1, with a cache
    prefill L d h ff V tokens           seconds of all of them

One thread, its own processor time. Answers are a line each, and "-" for what is not known.
The models are those of bench.c: GPT blocks with Pre-LN, GELU (tanh), learned positions, biases and a
tied head; `encdec` is torch.nn.Transformer with norm_first and ReLU.
"""
import math
import sys
import time
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, d, h, ff):
        super().__init__()
        self.h = h
        self.norm1, self.qkv, self.out = nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.norm2, self.up, self.down = nn.LayerNorm(d), nn.Linear(d, ff), nn.Linear(ff, d)

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, self.h, d // self.h).transpose(1, 2)
                   for y in self.qkv(self.norm1(x)).split(d, 2))
        p = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(d // self.h) + mask, -1)
        x = x + self.out((p @ v).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


def causal(t):
    return torch.triu(torch.full((t, t), float("-inf")), 1)


class GPT(nn.Module):
    def __init__(self, layers, d, h, ff, t, v):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(v, d), nn.Embedding(t, d)
        self.blocks = nn.ModuleList(Block(d, h, ff) for _ in range(layers))
        self.norm = nn.LayerNorm(d)
        self.register_buffer("mask", causal(t))

    def forward(self, x):
        t = x.shape[1]
        y = self.tokens(x) + self.positions.weight[:t]
        for block in self.blocks:
            y = block(y, self.mask[:t, :t])
        return F.linear(self.norm(y), self.tokens.weight)


class EncoderDecoder(nn.Module):
    def __init__(self, layers, d, h, ff, t, v):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(v, d), nn.Embedding(t, d)
        self.body = nn.Transformer(d, h, layers, layers, ff, dropout=0.0, batch_first=True,
                                   norm_first=True)

    def forward(self, x):
        t = x.shape[1]
        y = self.tokens(x) + self.positions.weight[:t]
        return F.linear(self.body(y, y, tgt_mask=causal(t)), self.tokens.weight)


models = {}


def train(name, layers, d, h, ff, t, b, v, steps):
    key = (name, layers, d, h, ff, t, b, v)
    first = key not in models
    if first:
        models.clear()                       # one at a time: memory
        m = (EncoderDecoder if name == "encdec" else GPT)(layers, d, h, ff, t, v)
        for p in m.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)
        models[key] = (m, torch.optim.AdamW(m.parameters(), lr=1e-4, weight_decay=0.1),
                       torch.randint(0, v, (b, t)), torch.randint(0, v, (b, t)))
    m, optimizer, x, y = models[key]
    for i in range(steps + (2 if first else 0)):
        if i == (2 if first else 0):
            start = time.process_time()
        loss = F.cross_entropy(m(x).view(-1, v), y.view(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return (time.process_time() - start) / steps


def kernel(name, rows, cols, calls):
    key = ("kernel", name, rows, cols)
    first = key not in models
    if first:
        x, g = torch.randn(rows, cols), torch.randn(rows, cols)
        w, b = torch.randn(cols), torch.randn(cols)
        _, mean, rstd = torch.native_layer_norm(x, (cols,), w, b, 1e-5)
        p = torch.randn(rows * cols)
        p.grad = torch.randn(rows * cols)
        adam = torch.optim.AdamW([p], lr=1e-4, foreach=False)
        back = torch.ops.aten.native_layer_norm_backward
        models[key] = {
            "layernorm_forward": lambda: torch.native_layer_norm(x, (cols,), w, b, 1e-5),
            "layernorm_backward": lambda: back(g, x, (cols,), mean, rstd, w, b, (True,) * 3),
            "softmax_forward": lambda: torch.softmax(x, -1),
            "gelu_tanh_forward": lambda: F.gelu(x, approximate="tanh"),
            "gelu_tanh_backward": lambda: torch.ops.aten.gelu_backward(g, x, approximate="tanh"),
            "adamw": adam.step,
        }.get(name)
    f = models[key]
    if f is None:
        return None
    for _ in range(3 if first else 1):
        f()
    start = time.thread_time()
    for _ in range(calls):
        f()
    return (time.thread_time() - start) / calls


class Decoder:
    def __init__(self, layers, d, h, ff, v, room=1100):
        self.d, self.h = d, h
        self.tokens, self.positions = torch.randn(v, d) * 0.02, torch.randn(room, d) * 0.02
        self.norm = (torch.ones(d), torch.zeros(d))

        def linear(o, i):
            return torch.randn(o, i) * 0.02, torch.zeros(o)
        self.blocks = [dict(qkv=linear(3 * d, d), out=linear(d, d), up=linear(ff, d),
                            down=linear(d, ff), k=torch.zeros(h, room, d // h),
                            v=torch.zeros(h, room, d // h)) for _ in range(layers)]

    def step(self, at, n):
        d, h = self.d, self.h
        x = self.tokens[1:n + 1] + self.positions[at:at + n]
        mask = causal(n) if n > 1 else None
        for b in self.blocks:
            y = F.layer_norm(x, (d,), *self.norm)
            q, k, v = F.linear(y, *b["qkv"]).view(n, 3, h, d // h).permute(1, 2, 0, 3)
            b["k"][:, at:at + n], b["v"][:, at:at + n] = k, v
            s = torch.bmm(q, b["k"][:, :at + n].transpose(1, 2)) / math.sqrt(d // h)
            p = torch.softmax(s if mask is None else s + mask, -1)
            y = torch.bmm(p, b["v"][:, :at + n]).transpose(0, 1).reshape(n, d)
            x = x + F.linear(y, *b["out"])
            y = F.gelu(F.linear(F.layer_norm(x, (d,), *self.norm), *b["up"]), approximate="tanh")
            x = x + F.linear(y, *b["down"])
        return F.linear(F.layer_norm(x[-1:], (d,), *self.norm), self.tokens)


def decode(layers, d, h, ff, v, context, tokens):
    key = ("decode", layers, d, h, ff, v)
    with torch.inference_mode():
        if key not in models:
            models.clear()
            models[key] = Decoder(layers, d, h, ff, v)
            models[key].step(0, min(v - 1, 4))
        m = models[key]
        start = time.thread_time()
        for i in range(tokens):
            m.step(context + i, 1)
        return (time.thread_time() - start) / tokens


def prefill(layers, d, h, ff, v, n):
    key = ("decode", layers, d, h, ff, v)
    with torch.inference_mode():
        if key not in models:
            models.clear()
            models[key] = Decoder(layers, d, h, ff, v)
            models[key].step(0, n)
        start = time.thread_time()
        models[key].step(0, n)
        return time.thread_time() - start


for line in sys.stdin:
    command, *words = line.split()
    if command == "version":
        print(torch.__version__, flush=True)
        continue
    name = [words.pop(0)] if command in ("train", "kernel") else []
    jobs = {"train": train, "kernel": kernel, "decode": decode, "prefill": prefill}
    seconds = jobs[command](*name, *map(int, words))
    print("-" if seconds is None else repr(seconds), flush=True)
