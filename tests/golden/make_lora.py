#!/usr/bin/env python3
"""Golden values of LoRA, by torch.autograd on the paper's formula (PyTorch 1.13, double).

    python3 make_lora.py        writes golden_lora.h beside itself

A Pre-LN decoder (Xiong 2020, figure 1b) of two layers, whose maps W_q, W_v and W_1 are
    y = x W + b + alpha/r (x A) B                              Hu et al. 2021, section 4.1, eq. 3
with r = 3 and alpha = 6 of W_q and W_v, r = 2 and alpha = 1 of W_1. Parameters are drawn by name.
Kept: the loss (a sum over targets), the logits, the gradients of every A and B.
"""
import math
import os
import torch
import torch.nn.functional as F
from stream import Stream

torch.set_default_dtype(torch.float64)
VOCAB, WIDTH, HEADS, FFN, LAYERS, B, TIME = 11, 8, 2, 12, 2, 2, 5
TOKENS = [[1, 7, 3, 3, 10], [4, 0, 2, 9, 5]]
TARGETS = [[7, 3, 3, 10, 6], [0, 2, 9, 5, 8]]
learned = {}


def parameter(name, rows, cols):
    """Matrices and biases about 0, gains about 1."""
    gain = "norm" in name and name.endswith(".weight")
    return Stream(name).draw(rows, cols, scale=0.5 if rows > 1 else 0.25, shift=1.0 if gain else 0.0)


def adapter(name, rows, cols):
    learned[name] = parameter(name, rows, cols).requires_grad_()
    return learned[name]


def linear(name, x, cols, rank=0, alpha=0):
    rows = x.shape[-1]
    y = x @ parameter(name + ".weight", rows, cols) + parameter(name + ".bias", 1, cols)[0]
    if rank:
        a, b = adapter(name + ".lora_a", rows, rank), adapter(name + ".lora_b", rank, cols)
        y = y + alpha / rank * (x @ a) @ b
    return y


def norm(name, x):
    gain, bias = parameter(name + ".weight", 1, WIDTH)[0], parameter(name + ".bias", 1, WIDTH)[0]
    return F.layer_norm(x, [WIDTH], gain, bias, 1e-5)


def heads(x):
    return x.reshape(B, TIME, HEADS, WIDTH // HEADS).transpose(1, 2)


def attention(name, x):
    q, v = (linear(name + part, x, WIDTH, 3, 6) for part in (".q", ".v"))
    k = linear(name + ".k", x, WIDTH)
    scores = heads(q) @ heads(k).transpose(2, 3) / math.sqrt(WIDTH // HEADS)
    scores = scores.masked_fill(torch.ones(TIME, TIME).triu(1).bool(), float("-inf"))
    y = (scores.softmax(-1) @ heads(v)).transpose(1, 2).reshape(B, TIME, WIDTH)
    return linear(name + ".o", y, WIDTH)


def model():
    table = parameter("embedding.weight", VOCAB, WIDTH)
    x = table[torch.tensor(TOKENS)] + parameter("decoder.position.weight", TIME, WIDTH)
    for i in range(LAYERS):
        at = "decoder.%d." % i
        x = x + attention(at + "self", norm(at + "self.norm_in", x))
        h = F.gelu(linear(at + "ffn.w1", norm(at + "ffn.norm_in", x), FFN, 2, 1), approximate="tanh")
        x = x + linear(at + "ffn.w2", h, WIDTH)
    return norm("decoder.final_norm", x) @ table.T


def write(rows):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden_lora.h")
    with open(path, "w", newline="\n") as f:
        f.write("/* Made by make_lora.py. Numbers a name: { name, first, count }. */\n")
        f.write("static const golden_row golden_lora[] = {\n")
        first = 0
        for name, values in rows:
            f.write('    { "%s", %d, %d },\n' % (name, first, len(values)))
            first += len(values)
        f.write("    { 0, 0, 0 }\n};\nstatic const double golden_lora_values[] = {\n")
        line = "   "
        for text in (" %.9g," % v for _, values in rows for v in values):
            if len(line) + len(text) > 99:
                f.write(line + "\n")
                line = "   "
            line += text
        f.write(line.rstrip(",") + "\n};\n")


logits = model()
loss = F.cross_entropy(logits.reshape(-1, VOCAB), torch.tensor(TARGETS).reshape(-1), reduction="sum")
loss.backward()
write([("loss", [loss.item()]), ("logits", logits.detach().flatten().tolist())]
      + [(name, p.grad.flatten().tolist()) for name, p in learned.items()])
