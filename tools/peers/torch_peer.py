#!/usr/bin/env python3
"""What PyTorch needs for the rows of bench.c, which starts this program and asks line by line:

    version                             of PyTorch, and whether its BLAS is only the reference one
    train NAME L d h ff T B V steps     seconds of a step: forward, backward, AdamW
    kernel NAME rows cols calls         seconds of a call
    decode L d h ff V context tokens    seconds of a token, batch 1, with a cache
    prefill L d h ff V tokens           seconds of all of them
    decode_int8 ..., prefill_int8 ...   the same with torch.quantization.quantize_dynamic
    lora L d h ff T B V rank steps      seconds of a step that trains LoRA of every linear map
    beam FILE h beam end                seconds of a beam search: weights and source are in the file
    sentences                           what the last one found: a length and its tokens, for each
    learn TRAIN VALID steps             train on a file for so many more steps: seconds so far, and
                                        the loss on another file, nats a byte

One thread, its own processor time. Answers are a line each, and "-" for what is not known.
The models are those of bench.c: GPT blocks with Pre-LN, GELU (tanh), learned positions, biases and
a tied head; `encdec` is torch.nn.Transformer with norm_first and ReLU. That of `beam` is the same
with an output matrix of its own, and has caches of keys and values.
"""
import functools
import json
import math
import struct
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


def train_steps(m, optimizer, x, y, steps, first):
    for i in range(steps + (2 if first else 0)):
        if i == (2 if first else 0):
            start = time.process_time()
        loss = F.cross_entropy(m(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return (time.process_time() - start) / steps


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
    return train_steps(*models[key], steps, first)


class Lora(nn.Module):
    def __init__(self, linear, rank):
        super().__init__()
        self.linear = linear
        self.a = nn.Parameter(torch.randn(rank, linear.in_features) / math.sqrt(rank))
        self.b = nn.Parameter(torch.zeros(linear.out_features, rank))

    def forward(self, x):
        return self.linear(x) + F.linear(F.linear(x, self.a), self.b)


def lora(layers, d, h, ff, t, b, v, rank, steps):
    key = ("lora", layers, d, h, ff, t, b, v, rank)
    first = key not in models
    if first:
        models.clear()
        m = GPT(layers, d, h, ff, t, v)
        for p in m.parameters():
            p.requires_grad = False
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)
        for block in m.blocks:
            for name in ("qkv", "out", "up", "down"):
                setattr(block, name, Lora(getattr(block, name), rank))
        trained = [p for p in m.parameters() if p.requires_grad]
        models[key] = (m, torch.optim.AdamW(trained, lr=1e-4),
                       torch.randint(0, v, (b, t)), torch.randint(0, v, (b, t)))
    return train_steps(*models[key], steps, first)


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


def quantized(w, b):
    """A linear map with weights of 8 bits, and inputs that are quantized when it runs."""
    m = nn.Linear(w.shape[1], w.shape[0], bias=b is not None)
    with torch.no_grad():
        m.weight.copy_(w)
    return torch.quantization.quantize_dynamic(nn.Sequential(m), {nn.Linear}, torch.qint8)[0]


class Decoder:
    def __init__(self, layers, d, h, ff, v, int8, room=1100):
        self.d, self.h = d, h
        self.tokens, self.positions = torch.randn(v, d) * 0.02, torch.randn(room, d) * 0.02
        self.norm = (torch.ones(d), torch.zeros(d))
        self.head = lambda x: F.linear(x, self.tokens)
        if int8:
            self.head = quantized(self.tokens, None)

        def linear(o, i):
            w, b = torch.randn(o, i) * 0.02, torch.zeros(o)
            return (lambda x: F.linear(x, w, b)) if not int8 else quantized(w, b)
        self.blocks = [dict(qkv=linear(3 * d, d), out=linear(d, d), up=linear(ff, d),
                            down=linear(d, ff), k=torch.zeros(h, room, d // h),
                            v=torch.zeros(h, room, d // h)) for _ in range(layers)]

    def step(self, at, n):
        d, h = self.d, self.h
        x = self.tokens[1:n + 1] + self.positions[at:at + n]
        mask = causal(n) if n > 1 else None
        for b in self.blocks:
            y = F.layer_norm(x, (d,), *self.norm)
            q, k, v = b["qkv"](y).view(n, 3, h, d // h).permute(1, 2, 0, 3)
            b["k"][:, at:at + n], b["v"][:, at:at + n] = k, v
            s = torch.bmm(q, b["k"][:, :at + n].transpose(1, 2)) / math.sqrt(d // h)
            p = torch.softmax(s if mask is None else s + mask, -1)
            y = torch.bmm(p, b["v"][:, :at + n]).transpose(0, 1).reshape(n, d)
            x = x + b["out"](y)
            y = F.gelu(b["up"](F.layer_norm(x, (d,), *self.norm)), approximate="tanh")
            x = x + b["down"](y)
        return self.head(F.layer_norm(x[-1:], (d,), *self.norm))


def decode(layers, d, h, ff, v, context, tokens, int8=False):
    key = ("decode", layers, d, h, ff, v, int8)
    with torch.inference_mode():
        if key not in models:
            models.clear()
            models[key] = Decoder(layers, d, h, ff, v, int8)
            models[key].step(0, min(v - 1, 4))
        m = models[key]
        start = time.thread_time()
        for i in range(tokens):
            m.step(context + i, 1)
        return (time.thread_time() - start) / tokens


def prefill(layers, d, h, ff, v, n, int8=False):
    key = ("decode", layers, d, h, ff, v, int8)
    with torch.inference_mode():
        if key not in models:
            models.clear()
            models[key] = Decoder(layers, d, h, ff, v, int8)
            models[key].step(0, n)
        start = time.thread_time()
        models[key].step(0, n)
        return time.thread_time() - start


def read_safetensors(path):
    types = {"F32": torch.float32, "I32": torch.int32}
    with open(path, "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(size)), bytearray(f.read())
    out = {}
    for name, t in header.items():
        if name != "__metadata__":
            begin, end = t["data_offsets"]
            flat = torch.frombuffer(data, dtype=types[t["dtype"]], count=(end - begin) // 4,
                                    offset=begin)
            out[name] = flat.reshape(t["shape"]).clone()
    return out


class Pair:
    """An encoder-decoder for beam search. Rows are sentences times beams. The memory is kept once a
    sentence; caches of the past follow the beams."""

    def __init__(self, path, h):
        self.w, self.h = read_safetensors(path), h
        self.source, self.lengths = self.w["source"].long(), self.w["lengths"].tolist()
        self.d, self.vocab = self.w["embedding.weight"].shape[1], self.w["output.weight"].shape[1]
        self.room = self.w["decoder.position.weight"].shape[0]
        self.layers = sum(name.endswith("cross.q.weight") for name in self.w)
        self.output = self.w["output.weight"].t().contiguous()
        self.encoder = [self.layer(f"encoder.{i}.") for i in range(self.layers)]
        self.decoder = [self.layer(f"decoder.{i}.") for i in range(self.layers)]

    def linear(self, *names):                   # side by side; PyTorch's are (out, in)
        return (torch.cat([self.w[n + ".weight"].t() for n in names]).contiguous(),
                torch.cat([self.w[n + ".bias"].flatten() for n in names]))

    def norm(self, name):
        return self.w[name + ".weight"].flatten(), self.w[name + ".bias"].flatten()

    def layer(self, at):
        p = {"norm": self.norm(at + "self.norm_in"), "out": self.linear(at + "self.o"),
             "qkv": self.linear(at + "self.q", at + "self.k", at + "self.v"),
             "norm_ffn": self.norm(at + "ffn.norm_in"), "up": self.linear(at + "ffn.w1"),
             "down": self.linear(at + "ffn.w2")}
        if at.startswith("decoder"):
            p.update(norm_cross=self.norm(at + "cross.norm_in"), q=self.linear(at + "cross.q"),
                     kv=self.linear(at + "cross.k", at + "cross.v"),
                     out_cross=self.linear(at + "cross.o"))
        return p

    def normed(self, x, norm):
        return F.layer_norm(x, (self.d,), *norm)

    def attend(self, q, k, v, mask=None):       # (..., queries, D), (..., keys, D)
        s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        return torch.softmax(s if mask is None else s + mask, -1) @ v

    def heads(self, x, n, parts):               # (n, time, parts*d) to parts of (n, h, time, D)
        return x.view(n, -1, parts, self.h, self.d // self.h).permute(2, 0, 3, 1, 4)

    def ffn(self, x, p):
        return x + F.linear(F.relu(F.linear(self.normed(x, p["norm_ffn"]), *p["up"])), *p["down"])

    def start(self, width):
        n, t = self.source.shape
        past = torch.arange(t)[None] >= torch.tensor(self.lengths)[:, None]
        self.mask = torch.zeros(n, 1, 1, t).masked_fill(past[:, None, None], float("-inf"))
        x = self.w["embedding.weight"][self.source] + self.w["encoder.position.weight"][:t]
        for p in self.encoder:
            q, k, v = self.heads(F.linear(self.normed(x, p["norm"]), *p["qkv"]), n, 3)
            y = self.attend(q, k, v, self.mask).transpose(1, 2).reshape(n, t, self.d)
            x = self.ffn(x + F.linear(y, *p["out"]), p)
        x = self.normed(x, self.norm("encoder.final_norm"))
        self.memory = [self.heads(F.linear(x, *p["kv"]), n, 2).contiguous() for p in self.decoder]
        shape = (n * width, self.h, self.room, self.d // self.h)
        self.past = [(torch.empty(shape), torch.empty(shape)) for _ in self.decoder]

    def arrange(self, rows, sentences, at):     # whose past each row continues; sentences that stay
        if len(sentences) < self.mask.shape[0]:
            pick = torch.tensor(sentences)
            self.mask = self.mask[pick]
            self.memory = [m.index_select(1, pick) for m in self.memory]
        if rows != list(range(len(rows))):
            pick = torch.tensor(rows)
            for pair in self.past:
                for c in pair:
                    c[:len(rows), :, :at] = c[:, :, :at].index_select(0, pick)

    def step(self, tokens, at):                 # one token a row
        rows, n = len(tokens), self.mask.shape[0]
        x = self.w["embedding.weight"][torch.tensor(tokens)] + self.w["decoder.position.weight"][at]
        for p, (ks, vs), memory in zip(self.decoder, self.past, self.memory):
            q, k, v = self.heads(F.linear(self.normed(x, p["norm"]), *p["qkv"]), rows, 3)
            ks[:rows, :, at:at + 1], vs[:rows, :, at:at + 1] = k, v
            y = self.attend(q, ks[:rows, :, :at + 1], vs[:rows, :, :at + 1])
            x = x + F.linear(y.reshape(rows, self.d), *p["out"])
            q, = self.heads(F.linear(self.normed(x, p["norm_cross"]), *p["q"]), n, 1)
            y = self.attend(q, memory[0], memory[1], self.mask)
            x = x + F.linear(y.transpose(1, 2).reshape(rows, self.d), *p["out_cross"])
            x = self.ffn(x, p)
        return F.linear(self.normed(x, self.norm("decoder.final_norm")), self.output)


def search(m, width, end):
    """fairseq's beam search, length penalty 1, from the end token; at most 2n + 1 tokens of n."""
    live, best = list(range(len(m.lengths))), {s: [] for s in range(len(m.lengths))}
    last = [min(2 * n + 1, m.room - 1) for n in m.lengths]
    tokens, texts, sums, step = [end] * len(live), [[] for _ in live], None, 0
    m.start(width)
    while live:
        logp = torch.log_softmax(m.step(tokens, step), -1).view(len(live), -1, m.vocab)
        if step == 0:
            logp[:, :, end] = float("-inf")
        for i, s in enumerate(live):
            if step == last[s]:                 # the end is forced
                forced = logp[i, :, end].clone()
                logp[i] = float("-inf")
                logp[i, :, end] = forced
        beams = logp.shape[1]
        if sums is not None:
            logp += torch.tensor(sums).view(-1, beams, 1)
        score, index = logp.view(len(live), -1).topk(2 * width)
        stay, tokens, rows, sums, longer = [], [], [], [], []
        for i, (s, some, where) in enumerate(zip(live, score.tolist(), index.tolist())):
            kept = []
            for k, (a, j) in enumerate(zip(some, where)):
                row, token = i * beams + j // m.vocab, j % m.vocab
                if a == float("-inf") or (token == end and k >= width):
                    continue
                if token == end:
                    best[s].append((a / (step + 1), texts[row] + [end]))
                elif len(kept) < width:
                    kept.append((a, row, token))
            if len(best[s]) < width and step < last[s]:
                stay.append(i)
                sums += [a for a, _, _ in kept]
                rows += [row for _, row, _ in kept]
                tokens += [token for _, _, token in kept]
                longer += [texts[row] + [token] for _, row, token in kept]
        live, texts, step = [live[i] for i in stay], longer, step + 1
        if live:
            m.arrange(rows, stay, step)
    return [max(best[s], key=lambda x: x[0])[1] for s in sorted(best)]


def beam(path, h, width, end):
    key = ("beam", path)
    with torch.inference_mode():
        if key not in models:
            models.clear()
            models[key] = Pair(path, h)
        start = time.thread_time()
        models["found"] = search(models[key], width, end)
        return time.thread_time() - start


def sentences():
    return " ".join(" ".join(map(str, [len(s)] + s)) for s in models["found"])


class Learner:
    """nanoGPT's documented configuration for a CPU (its README, 2,000 iterations of characters),
    as its train.py and model.py define it: no biases, matrices decay, cosine from 1e-3 to 1e-4;
    but GELU by tanh."""
    layers, width, heads, time, batch = 4, 128, 4, 64, 12
    steps, warmup, peak, least = 2000, 100, 1e-3, 1e-4

    def __init__(self, train, valid):
        texts = [open(path, "rb").read() for path in (train, valid)]
        code = {c: i for i, c in enumerate(sorted(set(b"".join(texts))))}
        self.train, self.valid = (torch.tensor([code[c] for c in text]) for text in texts)
        self.model = GPT(self.layers, self.width, self.heads, 4 * self.width, self.time, len(code))
        for name, p in self.model.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)
            if name.endswith(("out.weight", "down.weight")):
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * self.layers))
            if name.endswith("bias"):
                nn.init.zeros_(p)
                p.requires_grad = False
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            [{"params": [p for p in trained if p.dim() > 1], "weight_decay": 0.1},
             {"params": [p for p in trained if p.dim() == 1], "weight_decay": 0.0}],
            lr=self.peak, betas=(0.9, 0.99))
        self.step, self.seconds = 0, 0.0

    def rate(self):
        if self.step < self.warmup:
            return self.peak * (self.step + 1) / (self.warmup + 1)
        part = (self.step - self.warmup) / (self.steps - self.warmup)
        return self.least + 0.5 * (1 + math.cos(math.pi * min(part, 1))) * (self.peak - self.least)

    def loss(self, text, at):
        x = text[at.unsqueeze(1) + torch.arange(self.time + 1)]
        z = self.model(x[:, :-1])
        return F.cross_entropy(z.reshape(-1, z.shape[-1]), x[:, 1:].reshape(-1))

    def go(self, steps):
        start = time.process_time()
        for _ in range(steps):
            for group in self.optimizer.param_groups:
                group["lr"] = self.rate()
            loss = self.loss(self.train, torch.randint(len(self.train) - self.time, (self.batch,)))
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.step += 1
        self.seconds += time.process_time() - start

    def validate(self):
        """Disjoint windows over the whole text, all positions but those of the last, partial one."""
        windows = torch.arange(0, len(self.valid) - self.time, self.time)
        with torch.inference_mode():
            losses = [self.loss(self.valid, at) * len(at) for at in windows.split(256)]
        return float(sum(losses)) / len(windows)


def learn(train, valid, steps):
    key = ("learn", train, valid)
    if key not in models:
        models.clear()
        models[key] = Learner(train, valid)
    models[key].go(steps)
    return f"{models[key].seconds:.3f} {models[key].validate():.5f}"


def version():
    """Debian's PyTorch uses whatever library is installed as libblas; the reference library is
    many times slower than the others. The process's mappings show which one it is."""
    torch.ones(64, 64) @ torch.ones(64, 64)
    try:
        with open("/proc/self/maps") as maps:
            libraries = {line.split()[-1] for line in maps if ".so" in line}
    except OSError:
        libraries = set()
    if any("/libblas.so" in name and "/blas/" in name for name in libraries):
        return torch.__version__ + " reference BLAS"
    return torch.__version__


jobs = {"version": version, "train": train, "kernel": kernel, "decode": decode, "prefill": prefill,
        "decode_int8": functools.partial(decode, int8=True),
        "prefill_int8": functools.partial(prefill, int8=True), "lora": lora, "beam": beam,
        "sentences": sentences, "learn": learn}
for line in sys.stdin:
    command, *words = line.split()
    names = {"train": 1, "kernel": 1, "beam": 1, "learn": 2}.get(command, 0)
    name, words = words[:names], words[names:]
    answer = jobs[command](*name, *map(int, words))
    print("-" if answer is None else answer, flush=True)
