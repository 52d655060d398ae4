#!/usr/bin/env python3
"""Golden values for the tests, made by torch.nn and torch.autograd only (PyTorch 1.13, double).

    python3 make_golden.py        writes golden_*.h beside itself

Inputs are not stored: script and tests draw them from the same counter-based generator, one stream a
name (golden.h). Every line that computes cites its equation:
  [V]  Vaswani 2017            [Ba] Ba 2016, LayerNorm       [ZS] Zhang & Sennrich 2019, RMSNorm
  [HG] Hendrycks & Gimpel 2016 [E]  Elfwing 2018, SiLU       [Sh] Shazeer 2020, gated units
  [Su] Su 2021, rotary         [Sz] Szegedy 2016, section 7  [A]  Ainslie 2023, grouped heads
  [FS] fairseq criterions/label_smoothed_cross_entropy.py:35-52
  [KB] Kingma & Ba 2015        [LH] Loshchilov & Hutter 2019 [L]  Liu 2020, RAdam
  [X]  Xiong 2020, table 1     [S]  Sutskever 2013, eq. 3 and 4
  [So] So 2021, Primer         [C]  Chen et al. 2023, Lion
  [SS] Shazeer & Stern 2018, Adafactor
  [J]  Jordan et al. 2024, the post "Muon: An optimizer for hidden layers", and its code
  [D]  Defazio et al. 2024, The Road Less Scheduled
"""
import math
import os
import torch
import torch.nn.functional as F
from torch import nn
from stream import Stream

torch.set_default_dtype(torch.float64)


class File:
    """Named runs of numbers as a C header."""

    def __init__(self, name, digits):
        self.name, self.digits, self.rows, self.values = name, digits, [], []

    def add(self, name, tensors):
        flat = [v for t in tensors for v in t.detach().reshape(-1).tolist()]
        self.rows.append((name, len(self.values), len(flat)))
        self.values += flat

    def write(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"golden_{self.name}.h")
        with open(path, "w", newline="\n") as f:
            f.write("/* Made by make_golden.py. Numbers a name: {{ name, first, count }}. */\n")
            f.write(f"static const golden_row golden_{self.name}[] = {{\n")
            for row in self.rows:
                f.write('    { "%s", %d, %d },\n' % row)
            f.write("    { NULL, 0, 0 }\n};\n")
            f.write(f"static const double golden_{self.name}_values[] = {{\n")
            line = ""
            for v in self.values:
                text = "%.*g," % (self.digits, v) if abs(v) > 1e-14 else "0,"
                if len(line) + len(text) > 99:
                    f.write(line + "\n")
                    line = ""
                line += text
            f.write(line + "\n};\n")


# -- operations: outputs, then the gradients of sum(w * y) by all parameters in order ------------------

B, TS, TT, C, OUT, H, V = 2, 5, 4, 8, 7, 4, 11
D = C // H
ops = File("ops", 9)


class Op(Stream):
    def __init__(self, name):
        super().__init__(name)
        self.name, self.params = name, []

    def p(self, rows, cols, scale=1.0):
        t = self.draw(rows, cols, scale=scale).requires_grad_()
        self.params.append(t)
        return t

    def done(self, y):
        w = self.draw(*y.shape)
        (y * w).sum().backward()
        ops.add(self.name, [y] + [p.grad for p in self.params])


def op(name):
    def run(f):
        o = Op(name)
        o.done(f(o))
    return run


ACT = {                                                   # f(x)
    "identity": lambda x: x,
    "relu": F.relu,                                       # max(0, x): [V] eq. 2
    "gelu": F.gelu,                                       # x Phi(x): [HG] section 2
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),  # [HG] section 2, the tanh form
    "silu": F.silu,                                       # x sigmoid(x): [E] eq. 2
    "tanh": torch.tanh,
    "relu2": lambda x: F.relu(x) ** 2,                    # max(0, x)^2: [So] section 4, figure 3
}

for kind, act in ACT.items():
    @op("linear-" + kind)
    def _(o):                                             # y = act(x W + b): [V] eq. 2
        x, w, b = o.p(B*TT, C), o.p(C, OUT), o.p(1, OUT)
        return act(F.linear(x, w.t(), b[0]))

    @op("activation-" + kind)
    def _(o):
        return act(o.p(B*TT, C, scale=4))


@op("linear-plain")
def _(o):                                                 # y = x W
    x, w = o.p(B*TT, C), o.p(C, OUT)
    return F.linear(x, w.t())


@op("linear-transposed")
def _(o):                                                 # y = x W^T, [V] section 3.4: tied weights
    x, w = o.p(B*TT, C), o.p(OUT, C)
    return F.linear(x, w)


@op("linear-transposed-bias")
def _(o):
    x, w, b = o.p(B*TT, C), o.p(OUT, C), o.p(1, OUT)
    return F.linear(x, w, b[0])


@op("linear-fixed")
def _(o):
    x, w, b = o.p(OUT, C), o.p(C, OUT), o.p(1, OUT)
    return F.gelu(F.linear(x, w.t(), b[0]))


@op("linear-made")
def _(o):                                                 # a weight that is a value: x (W diag(s))
    x, w, s = o.p(B*TT, C), o.p(C, OUT), o.p(1, OUT)
    return F.linear(x, (w * s).t())


@op("conv")
def _(o):                                                 # two convolutions of kernel 3 and stride 2
    x = o.p(B*(4*TS + 3), C).reshape(B, -1, C)
    for out in C, OUT:
        w, b = o.p(3*C, out), o.p(1, out)                 # (tap, in) by out
        kernel = w.reshape(3, C, out).permute(2, 1, 0)
        x = F.conv1d(x.transpose(1, 2), kernel, b[0], stride=2).transpose(1, 2)
    return x


@op("layernorm")
def _(o):                                                 # [Ba] eq. 4, gain and bias
    x, g, b = o.p(B*TT, C), o.p(1, C), o.p(1, C)
    return F.layer_norm(x, (C,), g[0], b[0], 1e-5)


@op("layernorm-gain")
def _(o):
    x, g = o.p(B*TT, C), o.p(1, C)
    return F.layer_norm(x, (C,), g[0], None, 1e-5)


@op("layernorm-bias")
def _(o):
    x, b = o.p(B*TT, C), o.p(1, C)
    return F.layer_norm(x, (C,), None, b[0], 1e-5)


@op("layernorm-plain")
def _(o):
    return F.layer_norm(o.p(B*TT, C), (C,), None, None, 1e-5)


@op("rmsnorm")
def _(o):                                                 # [ZS] eq. 4
    x, g = o.p(B*TT, C), o.p(1, C)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * g


@op("rmsnorm-plain")
def _(o):
    x = o.p(B*TT, C)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)


@op("layernorm-made")
def _(o):                                                 # a gain that is a value
    x, g, s = o.p(B*TT, C), o.p(1, C), o.p(1, 1)
    return F.layer_norm(x, (C,), (g * s)[0], None, 1e-5)


@op("softmax")
def _(o):
    return F.softmax(o.p(B*TT, C, scale=4), -1)


for kind, act in ACT.items():
    @op("gated-" + kind)
    def _(o):                                             # [Sh] eq. 5: f(x W) * (x V)
        gate, up = o.p(B*TT, C, scale=2), o.p(B*TT, C, scale=2)
        return act(gate) * up


@op("gated-frozen")
def _(o):
    gate, up = o.p(B*TT, C), o.p(B*TT, C)
    return F.silu(gate.detach()) * up + F.silu(gate) * up.detach()


@op("add")
def _(o):
    x, y = o.p(B*TT, C), o.p(B*TT, C)
    return 0.75*x - 1.25*y


@op("add-self")
def _(o):
    x = o.p(B*TT, C)
    return 0.75*x - 1.5*x


@op("scale-scalar")
def _(o):
    x, s = o.p(B*TT, C), o.p(1, 1)
    return x * s


@op("scale-columns")
def _(o):
    x, s = o.p(B*TT, C), o.p(1, C)
    return x * s


@op("scale-made")
def _(o):
    x, v, s = o.p(B*TT, C), o.p(1, C), o.p(1, 1)
    return x * (v * s)


tokens = torch.tensor([(i*5 + i//3) % V for i in range(B * max(TS, TT))])


@op("embed")
def _(o):                                                 # [V] section 3.4: embeddings times a scale
    return F.embedding(tokens[:B*TT], o.p(V, C)) * 2.5


@op("embed-source")
def _(o):
    return F.embedding(tokens[:B*TS], o.p(V, C))


@op("embed-batch")
def _(o):
    return F.embedding(tokens[:B], o.p(V, C))


@op("embed-absent")
def _(o):                                                 # no array of tokens: all 0
    return F.embedding(torch.zeros(B*TT, dtype=torch.long), o.p(V, C))


@op("position")
def _(o):                                                 # [V] section 3.5: x_t + P_t
    x, p = o.p(B*TT, C), o.p(TT + 3, C)
    return (x.reshape(B, TT, C) + p[:TT]).reshape(B*TT, C)


@op("rotary")
def _(o):                                                 # [Su] eq. 34, pairs (j, j + D/2)
    size = 4
    x = o.p(B*TT, C).reshape(B, TT, C // size, 2, size // 2)
    j = torch.arange(size // 2)
    angle = torch.arange(TT).reshape(TT, 1, 1) * 10000.0 ** (-2.0 * j / size)
    a, b = x[..., 0, :], x[..., 1, :]
    y = torch.stack([a*angle.cos() - b*angle.sin(), b*angle.cos() + a*angle.sin()], -2)
    return y.reshape(B*TT, C)


@op("first")
def _(o):
    return o.p(B*TT, C).reshape(B, TT, C)[:, 0]


def attend(q, k, v, groups, lengths=None, causal=False):
    """[V] eq. 1 per head; [A] figure 2: query head h reads key/value head h*G/H."""
    tq, tk = q.shape[0] // B, k.shape[0] // B
    q = q.reshape(B, tq, H, D).transpose(1, 2)
    k, v = (x.reshape(B, tk, groups, D).transpose(1, 2).repeat_interleave(H // groups, 1)
            for x in (k, v))
    s = q @ k.transpose(-1, -2) / math.sqrt(D)            # Q K^T / sqrt(d_k)
    seen = torch.ones(B, 1, tq, tk, dtype=torch.bool)
    if causal:                                            # [V] section 3.2.3
        seen &= torch.ones(tq, tk, dtype=torch.bool).tril()
    if lengths is not None:
        seen &= torch.arange(tk) < torch.tensor(lengths).reshape(B, 1, 1, 1)
    y = F.softmax(s.masked_fill(~seen, -math.inf), -1) @ v
    return y.transpose(1, 2).reshape(B*tq, H*D)


# name: keys from the source, key/value heads, lengths, causal
for name, cross, groups, padded, causal in [
        ("full", False, H, False, False), ("causal", False, H, False, True),
        ("cross", True, H, False, False), ("padded", False, H, True, False),
        ("causal-padded", False, H, True, True), ("cross-padded", True, H, True, False),
        ("grouped", False, 2, False, False), ("grouped-causal-padded", False, 2, True, True),
        ("multi-query-cross", True, 1, True, False)]:
    @op("attention-" + name)
    def _(o):
        time = TS if cross else TT
        q, k, v = o.p(B*TT, H*D, scale=2), o.p(B*time, groups*D, scale=2), o.p(B*time, groups*D)
        return attend(q, k, v, groups, [time - b*(time//2) for b in range(B)] if padded else None,
                      causal)


targets = torch.tensor([-1 if i % 4 == 2 else (i*7 + 3) % OUT for i in range(B*TT)])


@op("cross-entropy")
def _(o):
    x = o.p(B*TT, OUT, scale=3)
    return F.cross_entropy(x, targets, ignore_index=-1, reduction="none").reshape(-1, 1)


@op("cross-entropy-uniform")
def _(o):                                                 # [Sz] section 7: (1-e) nll + e/V sum
    x = o.p(B*TT, OUT, scale=3)
    return F.cross_entropy(x, targets, ignore_index=-1, reduction="none",
                           label_smoothing=0.125).reshape(-1, 1)


@op("cross-entropy-fairseq")
def _(o):                                                 # [FS]: (1-e-e_i) nll + e_i sum
    x = o.p(B*TT, OUT, scale=3)
    e, ei = 0.125, 0.125 / (OUT - 1)
    lp = F.log_softmax(x, -1)
    nll = -lp.gather(1, targets.clamp(min=0).reshape(-1, 1))
    return ((1 - e - ei) * nll - ei * lp.sum(1, keepdim=True)) * (targets >= 0).reshape(-1, 1)


def number_loss(o, loss):                                 # the targets are drawn behind the weights of y
    x, at = o.p(B*TT, OUT, scale=3), o.at
    o.at += B*TT
    t = o.draw(B*TT * C)[:B*TT * OUT].reshape(B*TT, OUT)
    o.at = at
    return loss(x, t).sum(1, keepdim=True)


@op("number-squared")
def _(o):
    return number_loss(o, torch.nn.MSELoss(reduction="none"))


@op("number-huber")
def _(o):                                                 # Huber 1964
    return number_loss(o, torch.nn.HuberLoss(reduction="none", delta=1.0))


@op("diamond")
def _(o):                                                 # values and a weight that are used twice
    x, w, g = o.p(B*TT, C), o.p(C, C), o.p(1, C)
    u = F.linear(x, w.t())
    n = F.layer_norm(u, (C,), g[0], None, 1e-5)
    return F.silu(u) * n + 0.5 * F.linear(torch.tanh(n), w.t()) * g


ops.write()


# -- PyTorch's own layers: outputs, gradients by the inputs, then by the parameters ----------------------

WIDTH, FFN, HEADS = 8, 12, 2


def parameter(name, rows, cols):
    """A matrix (in, out), or a row: gains about 1, the others about 0."""
    gain = "norm" in name and name.endswith("weight")
    return Stream(name).draw(rows, cols, scale=0.25 if rows == 1 else 0.5, shift=1.0 if gain else 0.0)


def fill_linear(prefix, weight, bias):
    weight.data = parameter(prefix + ".weight", *weight.shape[::-1]).t().contiguous()
    if bias is not None:
        bias.data = parameter(prefix + ".bias", 1, bias.shape[0])[0]


def fill_norm(prefix, norm):
    norm.weight.data = parameter(prefix + ".weight", 1, WIDTH)[0]
    norm.bias.data = parameter(prefix + ".bias", 1, WIDTH)[0]


def fill_attention(prefix, a):
    parts = [parameter(f"{prefix}.{x}.weight", WIDTH, WIDTH).t() for x in "qkv"]
    a.in_proj_weight.data = torch.cat(parts)
    a.in_proj_bias.data = torch.cat([parameter(f"{prefix}.{x}.bias", 1, WIDTH)[0] for x in "qkv"])
    fill_linear(prefix + ".o", a.out_proj.weight, a.out_proj.bias)


def grads_attention(prefix, a):
    out = {}
    for i, x in enumerate("qkv"):
        out[f"{prefix}.{x}.weight"] = a.in_proj_weight.grad[i*WIDTH:(i+1)*WIDTH].t()
        out[f"{prefix}.{x}.bias"] = a.in_proj_bias.grad[i*WIDTH:(i+1)*WIDTH]
    return {**out, **grads_linear(prefix + ".o", a.out_proj)}


def grads_linear(prefix, l):
    return {prefix + ".weight": l.weight.grad.t(), prefix + ".bias": l.bias.grad}


def grads_norm(prefix, n):
    return {prefix + ".weight": n.weight.grad, prefix + ".bias": n.bias.grad}


def parts(layer, pre):
    """Names of the library's parameters for the modules of a PyTorch layer."""
    norm = "norm_in" if pre else "norm"
    decoder = isinstance(layer, nn.TransformerDecoderLayer)
    attentions = [("self", layer.self_attn)] + ([("cross", layer.multihead_attn)] if decoder else [])
    norms = [("self." + norm, layer.norm1)]
    if decoder:
        norms += [("cross." + norm, layer.norm2), ("ffn." + norm, layer.norm3)]
    else:
        norms += [("ffn." + norm, layer.norm2)]
    return attentions, norms, [("ffn.w1", layer.linear1), ("ffn.w2", layer.linear2)]


def fill_layer(prefix, layer, pre):
    attentions, norms, linears = parts(layer, pre)
    for n, m in attentions:
        fill_attention(prefix + n, m)
    for n, m in norms:
        fill_norm(prefix + n, m)
    for n, m in linears:
        fill_linear(prefix + n, m.weight, m.bias)


def grads_layer(prefix, layer, pre):
    attentions, norms, linears = parts(layer, pre)
    out = {}
    for n, m in attentions:
        out.update(grads_attention(prefix + n, m))
    for n, m in norms:
        out.update(grads_norm(prefix + n, m))
    for n, m in linears:
        out.update(grads_linear(prefix + n, m))
    return out


def lengths_mask(lengths, time):
    return torch.arange(time) >= torch.tensor(lengths).reshape(-1, 1)


def causal_mask(time):
    return torch.ones(time, time, dtype=torch.bool).triu(1)


def make_layer(kind, pre, act):
    """[X] table 1: Post-LN x = LN(x + F(x)), Pre-LN x = x + F(LN(x))."""
    cls = nn.TransformerDecoderLayer if kind == "decoder" else nn.TransformerEncoderLayer
    return cls(WIDTH, HEADS, FFN, dropout=0.0, activation=act, norm_first=pre, batch_first=True)


layers = File("layers", 7)
SOURCE_LENGTHS, TARGET_LENGTHS = [5, 3], [4, 2]
for kind in ("encoder", "decoder"):
    for pre in (False, True):
        for act in ("relu", "gelu"):
            name = f"{kind}-{'pre' if pre else 'post'}-{act}"
            layer = make_layer(kind, pre, act)
            fill_layer("layer.", layer, pre)
            s = Stream(name)
            x = s.draw(B, TT, WIDTH).requires_grad_()
            inputs = [x]
            if kind == "encoder":
                y = layer(x, src_key_padding_mask=lengths_mask(TARGET_LENGTHS, TT))
            else:
                memory = s.draw(B, TS, WIDTH).requires_grad_()
                inputs.append(memory)
                y = layer(x, memory, tgt_mask=causal_mask(TT),
                          memory_key_padding_mask=lengths_mask(SOURCE_LENGTHS, TS))
            w = s.draw(*y.shape)
            (y * w).sum().backward()
            layers.add(name + " y", [y])
            for n, t in zip(("x", "memory"), inputs):
                layers.add(f"{name} {n}", [t.grad])
            for n, t in grads_layer("layer.", layer, pre).items():
                layers.add(f"{name} {n}", [t])
layers.write()


# -- whole models: nn.TransformerEncoder and nn.TransformerDecoder with embeddings and an output ---------

models, reading = File("models", 7), File("reading", 7)
VOCAB = 11


class Watch:
    """What the modules of a stack get and give: hidden states; each attention asked again, for its weights."""

    def __init__(self, net):
        self.hidden, self.weights = [], {"self": [], "cross": []}
        for i, layer in enumerate(net.layers):
            if i == 0:
                layer.register_forward_pre_hook(lambda m, x: self.hidden.append(x[0]))
            layer.register_forward_hook(lambda m, x, y: self.hidden.append(y))
            layer.self_attn.forward = self.asks(layer.self_attn, self.weights["self"])
            if isinstance(layer, nn.TransformerDecoderLayer):
                layer.multihead_attn.forward = self.asks(layer.multihead_attn, self.weights["cross"])

    @staticmethod
    def asks(attention, to):
        forward = attention.forward

        def both(*x, **options):
            to.append(forward(*x, **{**options, "need_weights": True, "average_attn_weights": False})[1])
            return forward(*x, **options)
        return both


class Stack:
    """x_0 = E[token] + P[position]; the layers; the final norm of Pre-LN ([X] table 1)."""

    def __init__(self, name, kind, depth, time, pre, act):
        self.name, self.pre = name, pre
        final = nn.LayerNorm(WIDTH) if pre else None
        make = nn.TransformerDecoder if kind == "decoder" else nn.TransformerEncoder
        self.net = make(make_layer(kind, pre, act), depth, final)
        for i, layer in enumerate(self.net.layers):
            fill_layer(f"{name}.{i}.", layer, pre)
        if pre:
            fill_norm(name + ".final_norm", final)
            self.net.norm = final
        self.position = parameter(name + ".position.weight", time, WIDTH).requires_grad_()
        self.watch = Watch(self.net)

    def embed(self, e, tokens):
        return F.embedding(tokens, e) + self.position[:tokens.shape[1]]

    def grads(self):
        out = {self.name + ".position.weight": self.position.grad}
        for i, layer in enumerate(self.net.layers):
            out.update(grads_layer(f"{self.name}.{i}.", layer, self.pre))
        if self.pre:
            out.update(grads_norm(self.name + ".final_norm", self.net.norm))
        return out


def model(arch, pre, act, tied, smoothing):
    name = f"{arch}-{'pre' if pre else 'post'}"
    table = parameter("embedding.weight", VOCAB, WIDTH).requires_grad_()
    out = parameter("output.weight", WIDTH, VOCAB).requires_grad_()
    ids = torch.tensor([(i*5 + i//3) % VOCAB for i in range(B*TT)]).reshape(B, TT)
    source = torch.tensor([(i*3 + i//4 + 2) % VOCAB for i in range(B*TS)]).reshape(B, TS)
    wanted = torch.tensor([-1 if i % 4 == 2 else (i*7 + 3) % VOCAB for i in range(B*TT)])
    stacks = []
    if arch == "both":
        enc = Stack("encoder", "encoder", 1, TS, pre, act)
        dec = Stack("decoder", "decoder", 1, TT, pre, act)
        stacks = [enc, dec]
        pad = lengths_mask(SOURCE_LENGTHS, TS)
        memory = enc.net(enc.embed(table, source), src_key_padding_mask=pad)
        x = dec.net(dec.embed(table, ids), memory, tgt_mask=causal_mask(TT),
                    memory_key_padding_mask=pad)
    elif arch == "encoder":
        enc = Stack("encoder", "encoder", 1, TT, pre, act)
        stacks = [enc]
        pad = lengths_mask(TARGET_LENGTHS, TT)
        x = enc.net(enc.embed(table, ids), src_key_padding_mask=pad)
        wanted = wanted.masked_fill(pad.flatten(), -1)           # the padding has no targets
    else:
        dec = Stack("decoder", "encoder", 2, TT, pre, act)       # a decoder without cross-attention
        stacks = [dec]
        x = dec.net(dec.embed(table, ids), mask=causal_mask(TT))
    logits = F.linear(x, table if tied else out.t())             # [V] section 3.4
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), wanted, ignore_index=-1, reduction="sum",
                           label_smoothing=smoothing)
    loss.backward()
    models.add(name + " loss", [loss])
    models.add(name + " logits", [logits])
    for st in stacks:
        reading.add(f"{name} {st.name} hidden", st.watch.hidden)
        for kind, weights in st.watch.weights.items():
            if weights:
                reading.add(f"{name} {st.name} {kind} attention", weights)
    grads = {"embedding.weight": table.grad}
    for s in stacks:
        grads.update(s.grads())
    if not tied:
        grads["output.weight"] = out.grad
    for n, t in grads.items():
        models.add(f"{name} {n}", [t])


for pre in (False, True):
    model("encoder", pre, "gelu", False, 0.0)
    model("decoder", pre, "gelu", True, 0.0)
    model("both", pre, "relu", True, 0.125)

# Encoders of frames, by the two convolutions or a linear map, and their heads.
BANDS, CLASSES, NUMBERS = 3, 5, 2


def learned(name, rows, cols, grads):
    grads[name] = parameter(name, rows, cols).requires_grad_()
    return grads[name]


def mapped(name, x, rows, cols, grads):
    return x @ learned(name + ".weight", rows, cols, grads) + learned(name + ".bias", 1, cols, grads)


def convolved(x, grads):
    for i, cols in enumerate((BANDS, WIDTH)):
        name = f"encoder.conv_{i + 1}"
        kernel = learned(name + ".weight", 3*cols, WIDTH, grads).reshape(3, cols, WIDTH).permute(2, 1, 0)
        bias = learned(name + ".bias", 1, WIDTH, grads)[0]
        x = F.relu(F.conv1d(x.transpose(1, 2), kernel, bias, stride=2).transpose(1, 2))
    return x


def heard(name, convolves, head, pre, loss=None):
    grads = {}
    x = Stream("frames").draw(B, 4*TT + 3 if convolves else TT, BANDS)
    x = convolved(x, grads) if convolves else mapped("encoder.frames", x, BANDS, WIDTH, grads)
    enc = Stack("encoder", "encoder", 1, TT, pre, "gelu")
    pad = lengths_mask(TARGET_LENGTHS, TT)
    x = enc.net(x + enc.position, src_key_padding_mask=pad)
    if head != "positions":
        x = torch.tanh(mapped("pooler", x[:, 0], WIDTH, WIDTH, grads))
    x = mapped("classifier", x, WIDTH, NUMBERS if head == "numbers" else CLASSES, grads)
    if head == "numbers":
        t = Stream("numbers").draw(B, NUMBERS, scale=2)
        t[0, 1] = x[0, 1].detach()                               # not known: neither loss nor gradient
        loss = loss(x, t)
    else:
        t = torch.tensor([(i*7 + 3) % CLASSES for i in range(B*TT)]).reshape(B, TT)
        t = t[0, :B] if head == "sequence" else t.masked_fill(pad, -1).flatten()
        loss = F.cross_entropy(x.reshape(-1, CLASSES), t, ignore_index=-1, reduction="sum")
    loss.backward()
    if head == "positions":
        x = x.masked_fill(pad.unsqueeze(-1), 0)                      # those of padding mean nothing
    models.add(name + " loss", [loss])
    models.add(name + " logits", [x])
    for n, g in list(enc.grads().items()) + [(n, p.grad) for n, p in grads.items()]:
        models.add(f"{name} {n}", [g])


heard("frames-conv-sequence", True, "sequence", False)
heard("frames-conv-positions", True, "positions", True)
heard("frames-linear-sequence", False, "sequence", True)
heard("frames-linear-positions", False, "positions", False)
heard("frames-linear-numbers", False, "numbers", False, nn.MSELoss(reduction="sum"))
heard("frames-conv-numbers", True, "numbers", True, nn.HuberLoss(reduction="sum", delta=0.5))

# A row with every norm and scale (test_golden.c, golden_own), of catalogue section 4's general join:
# p = out * N_branch(F(in * N_in(x))); z = skip*x + p + extra*x_0; x = N_sum(z)

def own_norm(name, x):
    return F.layer_norm(x, (WIDTH,), parameter(name + ".weight", 1, WIDTH)[0],
                        parameter(name + ".bias", 1, WIDTH)[0], 1e-5)


def own_linear(name, x, rows, cols):
    return x @ parameter(name + ".weight", rows, cols) + parameter(name + ".bias", 1, cols)


def own():
    depth = 2
    ids = torch.tensor([(i*5 + i//3) % VOCAB for i in range(B*TT)]).reshape(B, TT)
    table = parameter("embedding.weight", VOCAB, WIDTH)
    x = F.embedding(ids, table) + parameter("decoder.position.weight", TT, WIDTH)
    x = own_norm("decoder.embedding_norm", x)
    for i in range(depth):
        x0, at = x, f"decoder.{i}.self"
        n = own_norm(at + ".norm_in", x)
        attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        fill_attention(at, attention)
        u = 0.75 * n
        u, _ = attention(u, u, u, attn_mask=causal_mask(TT))              # in constant
        p = parameter(at + ".out.weight", 1, 1) * own_norm(at + ".norm_branch", u)   # out learned
        x = parameter(at + ".skip.weight", 1, WIDTH) * n + p              # skip a vector, of N_in(x)
        at = f"decoder.{i}.ffn"
        u = own_linear(at + ".w1", parameter(at + ".in.weight", 1, WIDTH) * x, WIDTH, FFN)
        u = own_linear(at + ".w2", F.gelu(u), FFN, WIDTH)
        u = depth**-0.5 * (i + 1)**0.25 * u                               # out N^-1/2 l^1/4
        x = 0.875 * x + u + parameter(at + ".extra.weight", 1, 1) * x0
        x = own_norm(at + ".norm", x)
    x = own_norm("decoder.final_norm", x)
    models.add("own logits", [F.linear(x, table)])


own()

# The kinds of feed-forward that nn.TransformerEncoderLayer has not, in a Pre-LN decoder of one layer.
UNITS = {                                                 # f(x W_1), or [Sh] eq. 5 and 6: f(x W_1) * (x W_3)
    "geglu": lambda x, w3: F.gelu(x) * w3(),
    "geglu-tanh": lambda x, w3: F.gelu(x, approximate="tanh") * w3(),
    "swiglu": lambda x, w3: F.silu(x) * w3(),
    "relu2": lambda x, w3: F.relu(x) ** 2,                # [So] figure 3
}


def unit(kind):
    ids = torch.tensor([(i*5 + i//3) % VOCAB for i in range(B*TT)]).reshape(B, TT)
    table = parameter("embedding.weight", VOCAB, WIDTH)
    x = F.embedding(ids, table) + parameter("decoder.position.weight", TT, WIDTH)
    attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    fill_attention("decoder.0.self", attention)
    u = own_norm("decoder.0.self.norm_in", x)
    x = x + attention(u, u, u, attn_mask=causal_mask(TT))[0]
    at = "decoder.0.ffn"
    u = own_norm(at + ".norm_in", x)
    h = UNITS[kind](own_linear(at + ".w1", u, WIDTH, FFN), lambda: own_linear(at + ".w3", u, WIDTH, FFN))
    x = own_norm("decoder.final_norm", x + own_linear(at + ".w2", h, FFN, WIDTH))
    models.add(f"unit {kind}", [F.linear(x, table)])


for kind in UNITS:
    unit(kind)
models.write()
reading.write()


# -- optimizers: ten steps of torch.optim, and of what it lacks, from the papers --------------------------

class Lion:
    def __init__(self, p, lr, b1, b2, decay):
        self.p, self.lr, self.b1, self.b2, self.decay = p, lr, b1, b2, decay
        self.m = torch.zeros_like(p)

    def step(self):                                                            # [C] algorithm 2
        g, p = self.p.grad, self.p.detach()
        c = self.b1 * self.m + (1 - self.b1) * g
        p -= self.lr * (torch.sign(c) + self.decay * p)
        self.m = self.b2 * self.m + (1 - self.b2) * g


class Muon:
    """p is 12 numbers of a matrix (rows, cols), stored (in, out): the transpose of the code's."""

    def __init__(self, p, rows, cols, lr, b, decay):
        self.p, self.shape, self.lr, self.b, self.decay = p, (rows, cols), lr, b, decay
        self.m = torch.zeros_like(p)

    def newton_schulz(self, g):                                                # [J] the post's function
        a, b, c = 3.4445, -4.7750, 2.0315
        x = g / (g.norm() + 1e-7)
        if x.shape[0] > x.shape[1]:
            return self.newton_schulz(g.T).T
        for _ in range(5):
            s = x @ x.T
            x = a * x + (b * s + c * s @ s) @ x
        return x

    def step(self):
        self.m = self.b * self.m + (1 - self.b) * self.p.grad                  # [J] code: momentum.lerp_
        u = (1 - self.b) * self.p.grad + self.b * self.m                       # Nesterov's: grad.lerp_
        u = self.newton_schulz(u.reshape(self.shape).T)                        # (out, in), as the code has it
        u = u * max(1, u.shape[0] / u.shape[1]) ** 0.5
        p = self.p.detach()
        p *= 1 - self.lr * self.decay
        p -= self.lr * u.T.reshape(-1)


class Adafactor:
    """rows = 1: a vector, [SS] algorithm 5; else a matrix, algorithm 4."""

    def __init__(self, p, rows, cols, lr, b1=0, b2=0, decay=0, relative=False):
        self.p, self.shape, self.lr, self.b1, self.b2 = p, (rows, cols), lr, b1, b2
        self.decay, self.relative, self.t = decay, relative, 0
        self.r, self.c, self.v = torch.zeros(rows), torch.zeros(cols), torch.zeros(rows, cols)
        self.m = torch.zeros(rows, cols)

    def step(self):
        g, p = self.p.grad.reshape(self.shape), self.p.detach().view(self.shape)
        self.t += 1
        b = 1 - self.t ** -0.8                                                 # [SS] section 7.2
        if self.b2:
            b = self.b2 * (1 - self.b2 ** (self.t - 1)) / (1 - self.b2 ** self.t)    # section 7.1
        s = g * g + 1e-30
        if self.shape[0] == 1:
            self.v = b * self.v + (1 - b) * s                                  # algorithm 5, line 4
        else:
            self.r = b * self.r + (1 - b) * s.sum(1)                           # algorithm 4, lines 4 to 6
            self.c = b * self.c + (1 - b) * s.sum(0)
            self.v = torch.outer(self.r, self.c) / self.r.sum()
        u = g / self.v.sqrt()
        u = u / max(1, u.pow(2).mean().sqrt())                                 # lines 7 and 8, d = 1
        lr = self.lr
        if self.relative:
            lr = lr * max(1e-3, p.pow(2).mean().sqrt())                        # line 2
        u = lr * u
        if self.b1:
            self.m = self.b1 * self.m + (1 - self.b1) * u                      # the authors' code
            u = self.m
        p -= lr * self.decay * p + u


class ScheduleFree:
    def __init__(self, p, lr, b1, b2, eps, decay):
        self.p, self.lr, self.b1, self.b2, self.eps, self.decay = p, lr, b1, b2, eps, decay
        self.z, self.v, self.t, self.sum = p.detach().clone(), torch.zeros_like(p), 0, 0

    def step(self):                                                            # [D] algorithm 1
        g, x = self.p.grad, self.p.detach()
        self.t += 1
        y = (1 - self.b1) * self.z + self.b1 * x
        self.v = self.b2 * self.v + (1 - self.b2) * g * g
        rate = self.lr * math.sqrt(1 - self.b2 ** self.t)
        self.z = self.z - rate * g / (self.v.sqrt() + self.eps) - rate * self.decay * y
        self.sum += rate ** 2
        c = rate ** 2 / self.sum
        x.copy_((1 - c) * x + c * self.z)


class ByValue:
    def __init__(self, p, lr, most):
        self.p, self.most, self.o = p, most, torch.optim.SGD([p], lr=lr)

    def step(self):
        torch.nn.utils.clip_grad_value_([self.p], self.most)
        self.o.step()


optim = File("optim", 7)
for name, make in [
        ("sgd", lambda p: torch.optim.SGD(p, lr=0.0625)),
        ("sgd-momentum", lambda p: torch.optim.SGD(p, lr=0.0625, momentum=0.875)),                 # [S] eq. 3
        ("sgd-nesterov", lambda p: torch.optim.SGD(p, lr=0.0625, momentum=0.875, nesterov=True)),  # [S] eq. 4
        ("adam", lambda p: torch.optim.Adam(p, lr=0.0625, betas=(0.875, 0.96875), eps=0.015625)),      # [KB] alg. 1
        ("adam-decay", lambda p: torch.optim.Adam(p, lr=0.0625, betas=(0.875, 0.96875), eps=0.015625,
                                                  weight_decay=0.125)),
        ("adamw", lambda p: torch.optim.AdamW(p, lr=0.0625, betas=(0.875, 0.96875), eps=0.015625,
                                              weight_decay=0.125)),                                # [LH] alg. 2
        ("radam", lambda p: torch.optim.RAdam(p, lr=0.0625, betas=(0.875, 0.96875), eps=0.015625)),    # [L] alg. 2
        ("radam-decay", lambda p: torch.optim.RAdam(p, lr=0.0625, betas=(0.875, 0.96875), eps=0.015625,
                                                    weight_decay=0.125)),
        ("lion", lambda p: Lion(p[0], 0.0625, 0.875, 0.96875, 0)),
        ("lion-decay", lambda p: Lion(p[0], 0.0625, 0.875, 0.96875, 0.125)),
        ("sgd-value", lambda p: ByValue(p[0], 0.0625, 0.25)),
        ("muon-3-4", lambda p: Muon(p[0], 3, 4, 0.0625, 0.875, 0)),
        ("muon-4-3", lambda p: Muon(p[0], 4, 3, 0.0625, 0.875, 0.125)),
        ("muon-2-6", lambda p: Muon(p[0], 2, 6, 0.0625, 0.875, 0.125)),
        ("adafactor-3-4", lambda p: Adafactor(p[0], 3, 4, 0.0625)),
        ("adafactor-4-3", lambda p: Adafactor(p[0], 4, 3, 0.0625, b1=0.875, b2=0.96875, decay=0.125)),
        ("adafactor-relative", lambda p: Adafactor(p[0], 3, 4, 0.0625, relative=True)),
        ("adafactor-vector", lambda p: Adafactor(p[0], 1, 12, 0.0625, decay=0.125)),
        ("schedule-free", lambda p: ScheduleFree(p[0], 0.0625, 0.875, 0.96875, 0.015625, 0)),
        ("schedule-free-decay", lambda p: ScheduleFree(p[0], 0.0625, 0.875, 0.96875, 0.015625, 0.125)),
]:
    s = Stream("optim")
    p = s.draw(12).requires_grad_()
    o = make([p])
    steps = []
    for _ in range(10):
        p.grad = s.draw(12)
        o.step()
        steps.append(p.detach().clone())
    optim.add(name, steps)
optim.write()


# -- moving averages: torch.optim.swa_utils, which begins with the first weights; num is their number -----

averages = File("averages", 9)
s = Stream("averages")
p = nn.Linear(3, 4, bias=False)
mean = torch.optim.swa_utils.AveragedModel(
    p, avg_fn=lambda a, w, num: (lambda d: d * a + (1 - d) * w)(min(0.3125, (1 + num) / (10 + num))))
steps = []
for _ in range(6):
    p.weight.data = s.draw(4, 3)
    mean.update_parameters(p)
    steps.append(mean.module.weight.detach().clone())
averages.add("averages", steps)
averages.write()
