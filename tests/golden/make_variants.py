#!/usr/bin/env python3
"""Golden values of every recipe, by torch.autograd on the papers' formulas (PyTorch 1.13, double).

    python3 make_variants.py        writes golden_variants.h beside itself

Inputs and parameters are drawn by name, as in make_golden.py. Of a model are kept: the loss (a sum), the
logits of tokens that are no padding, and for every parameter sum(w * gradient), twice, with w drawn by
name; for a norm's running statistics and a count of updates, what they are after one update instead.
N.. and V.. number norms and topologies as the project's catalogue of variants does; papers:
  [X] Xiong 2020   [A] Liu 2020, Admin   [B] Takase 2022, B2T   [V] Vaswani 2017   [Su] Su 2021, rotary

Choices, where paper, code and catalogue leave one:
  eps            1/64 in all norms, so that its place shows; ResiDual's last norm 1e-7 (V37)
  DetachNorm     without gain and bias: Xu 2019 compares it with LayerNorm-simple, and the authors' code
                 detaches only in the form without weights; biased deviation, eps inside (N16 of N01b);
                 "-code": unbiased deviation, eps outside, as that code
  BatchNorm      divides by sqrt(v + eps) (N10; that repository clamps); running variance unbiased
  PowerNorm      as the code: batch statistic in the backward, nu's mean over padding too (3.1)
  b2t-no-norm    no norm at all, as the code; [B] appendix D speaks of "internal layers"
  aggregation    DLCL's W_{1,0} exists, dense and linear aggregation begin with y_0 itself (V07, V21)
  nGPT           a = n(h) and F(h), not F(n(h)) (N19); sqrt(d) on u and v alike, as the code: the paper
                 has it on v alone, which the norm of the branch cannot tell; rotation, as the paper
  parallel       all sub-layers of a layer read its input, cross-attention too (the papers have none)
  HybridNorm     cross-attention is treated as self-attention (the paper has none)
  NormFormer     head scale before W_O, eq. of section 2 (the code's is after W_O); encoder like decoder
  Macaron        half, self-attention, cross-attention, half (Lu 2020, section 4)
  BranchNorm     T = 4000
  Admin          omega_1 = 1 and Var(omega x) + Var(F) as the code; [A] section 4.3 read literally has
                 omega_1 = 0
"""
import math
import os
import torch
import torch.nn.functional as F
from stream import Stream

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
VOCAB, HEADS, B, TIME, SOURCE = 11, 2, 2, 5, 6
LENGTHS, SOURCE_LENGTHS = [5, 3], [4, 6]
EPS = 1 / 64


def parameter(name, rows, cols):
    """Matrices about 0; rows, which are gains and scales, about 1, but biases and shifts about 0."""
    owner, kind = name.split(".")[-2:]
    if rows > 1:
        return Stream(name).draw(rows, cols, scale=0.5)
    zero = kind in ("bias", "shift", "direction", "running_mean") or owner == "gate" or "shift" in owner
    centre = 0.0 if zero else 0.5 if owner == "qk_scale" else 1.0
    return Stream(name).draw(rows, cols, scale=0.25, shift=centre)


# -- norms: functions of the model, a name and x (..., C) -----------------------------------------------

def gain(m, name, x):
    return x * m.row(name + ".weight", x.shape[-1])


def affine(m, name, x):
    return gain(m, name, x) + m.row(name + ".bias", x.shape[-1])


def standard(m, x, detach_mean=False, detach_std=False):
    """N01b: (x - mean)/sqrt(var + eps), the population's variance; N16: one or both held constant."""
    mean, std = x.mean(-1, keepdim=True), (x.var(-1, unbiased=False, keepdim=True) + m.eps).sqrt()
    return (x - (mean.detach() if detach_mean else mean)) / (std.detach() if detach_std else std)


def layer_norm(m, name, x):                               # N01
    return affine(m, name, standard(m, x))


def simple_norm(m, name, x):                              # N01b
    return standard(m, x)


def gain_norm(m, name, x):                                # PaLM, ModernBERT: no bias
    return gain(m, name, standard(m, x))


def detach_norm(mean, std):                               # N16
    return lambda m, name, x: standard(m, x, mean, std)


def root_mean(m, x):                                      # N02 without its gain
    return x / (x.square().mean(-1, keepdim=True) + m.eps).sqrt()


def rms_norm(m, name, x):                                 # N02
    return gain(m, name, root_mean(m, x))


def rms_outside(m, name, x):                              # N02b
    return gain(m, name, x / (x.square().mean(-1, keepdim=True).sqrt() + m.eps))


def rms_offset(m, name, x):                               # N02c
    return root_mean(m, x) + gain(m, name, root_mean(m, x))


def partial_rms(m, name, x):                              # N03, p = 1/16
    first = x[..., :max(1, x.shape[-1] // 16)]
    return gain(m, name, x / (first.square().mean(-1, keepdim=True) + m.eps).sqrt())


def l2(x):                                                # N05
    return x / x.norm(dim=-1, keepdim=True)


def l2_norm(m, name, x):
    return l2(x)


def scale_norm(m, name, x):                               # N04
    return x / x.norm(dim=-1, keepdim=True).clamp(min=m.eps) * m.row(name + ".weight", 1)


def group_norm(m, name, x):                               # N06, a group a head
    return affine(m, name, standard(m, x.unflatten(-1, (HEADS, -1))).flatten(-2))


def crms_norm(m, name, x):                                # N07: x holds d-1 of d features, sum 0
    square = x.square().sum(-1, keepdim=True) + x.sum(-1, keepdim=True).square()
    return gain(m, name, x / (square / (x.shape[-1] + 1) + m.eps).sqrt())


def point(f, shift=True):                                 # N08, N09: gain*f(alpha*x + shift) + bias
    def norm(m, name, x):
        z = m.row(name + ".alpha", 1) * x
        return affine(m, name, f(z + m.row(name + ".shift", 1) if shift else z))
    return norm


def batch_norm(m, name, x):                               # N10
    mean, var = m.buffer(name + ".running_mean", x), m.buffer(name + ".running_var", x)
    if m.training:
        rows = x[m.valid]
        m.after(name + ".running_mean", 0.9*mean + 0.1*rows.mean(0))
        m.after(name + ".running_var", 0.9*var + 0.1*rows.var(0))          # unbiased
        mean, var = rows.mean(0), rows.var(0, unbiased=False)
    return affine(m, name, (x - mean) / (var + m.eps).sqrt())


class PowerStep(torch.autograd.Function):
    """z = x/sqrt(used + eps); backward h = g - (1 - 0.9) nu z, dx = h/sqrt(v + eps): catalogue 3.1.
    The authors' code lets the padding into h and nu; here it is left out."""

    @staticmethod
    def forward(ctx, x, used, v, nu, eps, valid, keep):
        z = x / (used + eps).sqrt()
        ctx.save_for_backward(z, v, nu, valid)
        ctx.eps, ctx.keep = eps, keep
        return z

    @staticmethod
    def backward(ctx, g):
        z, v, nu, valid = ctx.saved_tensors
        h = g - (1 - 0.9) * nu * z * valid.unsqueeze(-1)
        ctx.keep(nu + (h * z)[valid].mean(0))
        return h / (v + ctx.eps).sqrt(), None, None, None, None, None, None


def power_norm(m, name, x):                               # N11, update t = 1
    running, nu = m.buffer(name + ".running_square", x), m.buffer(name + ".running_nu", x)
    x = root_mean(m, x.unflatten(-1, (HEADS, -1))).flatten(-2)             # step 0
    if not m.training:
        return affine(m, name, x / (running + m.eps).sqrt())
    v = x[m.valid].square().mean(0).detach()
    used = v if 1 <= m.warmup else running
    m.after(name + ".running_square", 0.9*(v if 1 < m.warmup else running) + 0.1*v)
    z = PowerStep.apply(x, used, v, nu, m.eps, m.valid, lambda n: m.after(name + ".running_nu", n))
    return affine(m, name, z)


def seed_norm(m, name, x):                                # N12
    t = (x * m.row(name + ".direction", x.shape[-1])).sum(-1, keepdim=True).tanh()
    return (t*m.row(name + ".alpha", x.shape[-1]) + m.row(name + ".weight", x.shape[-1])) * root_mean(m, x)


def absmax_norm(m, name, x):                              # N13, over what is no padding
    return layer_norm(m, name, x / (x[m.valid].abs().max().detach() / 8))


def ada_norm(m, name, x):                                 # N14, C = 1, k = 0.1
    n = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + m.eps)
    return (1 - 0.1*n).detach() * n


def code_norm(detach_mean, detach_std):                   # N01b, N16 as the AdaNorm code: N14's n
    def norm(m, name, x):
        mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)                # unbiased
        return (x - (mean.detach() if detach_mean else mean)) / ((std.detach() if detach_std else std) + m.eps)
    return norm


def ada_norm_by(factor):                                  # N14, C = factor
    return lambda m, name, x: factor * ada_norm(m, name, x)


def center_norm(m, name, x):                              # N15
    return affine(m, name, x.shape[-1] / (x.shape[-1] - 1) * (x - x.mean(-1, keepdim=True)))


# -- the model all variants share: V01's sub-layers, without a join ------------------------------------

class Stack:
    def __init__(self, name, depth, causal, lengths, time, memory=None, memory_valid=None):
        self.name, self.depth, self.causal = name, depth, causal
        self.valid = torch.arange(time) < torch.tensor(lengths).reshape(-1, 1)
        self.memory, self.memory_valid = memory, memory_valid


class Place(str):
    """The name of a sub-layer, "decoder.0.self", that knows where it is; l from 1."""

    def __new__(cls, stack, l, kind):
        at = super().__new__(cls, f"{stack.name}.{l}.{kind}")
        at.stack, at.l, at.kind = stack, l + 1, kind
        return at


def rotate(x):
    """[Su] eq. 34 on pairs (j, j + D/2), x (B, H, T, D)."""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[-2]).reshape(-1, 1) * 10000.0 ** (-torch.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a*angle.cos() - b*angle.sin(), b*angle.cos() + a*angle.sin()], -1)


class Variant:
    width, ffn_width, layers, decoder_layers, eps = 8, 12, 3, 0, EPS
    channels = property(lambda self: self.width + (self.norm.__func__ is crms_norm))
    all_heads = property(channels.fget)                   # channels of all heads of queries
    final = embedding_norm = full = False
    bias, warmup, step, attention_cap, logit_cap = True, 0, 0, 0, 0
    output_bias = transform = False
    embedding_size, map_last = None, False                # channels of an embedding; None: the width
    norm = layer_norm
    archs = ("decoder", "encoder", "both")

    def __init__(self, arch):
        self.arch, self.params, self.buffers, self.updated = arch, {}, {}, {}
        self.training, self.tied, self.scaled = False, arch != "encoder", arch == "both"
        self.position = "sinusoidal" if arch == "both" else "learned"
        self.N, self.M = self.layers, self.layers
        if arch == "both":
            self.N, self.M = (2, 3) if self.layers == 3 else (self.layers, self.decoder_layers)

    # parameters, made when first used
    def p(self, name, rows, cols):
        if name not in self.params:
            self.params[name] = parameter(name, rows, cols).requires_grad_()
        assert self.params[name].shape == (rows, cols), name
        return self.params[name]

    def row(self, name, cols):
        return self.p(name, 1, cols)[0]

    def buffer(self, name, x):
        self.buffers[name] = parameter(name, 1, x.shape[-1])[0]
        return self.buffers[name]

    def follow(self, targets):
        """State that an update changes."""

    def after(self, name, value):
        self.updated[name] = value.detach()

    def linear(self, name, x, cols):                      # y = x W + b
        y = x @ self.p(name + ".weight", x.shape[-1], cols)
        return y + self.row(name + ".bias", cols) if self.biased(name[-1]) else y

    def biased(self, part):                               # a letter of "qkvo", or another
        return self.bias is True or bool(self.bias) and part in self.bias

    # sub-layers
    def qk(self, at, q, k, v):                            # [V] eq. 1: 1/sqrt(D)
        return q, k, v, q.shape[-1] ** -0.5

    def distance_bias(self, at, time):                             # (heads, T, T), added to scores
        return 0

    def window(self, at):                                 # 0: a token sees all before it
        return 0

    def sides(self, at):                                  # 0: a token of an encoder sees all others
        return 0

    def heads(self, at, y):
        return y

    def inner(self, at, part, y):
        """Before the last matrix of the sub-layer: part "norm_o" or "norm_2"."""
        return y

    def attention(self, at, u, memory=None):
        """[V] eq. 1 per head, and N20."""
        source = u if memory is None else memory
        q, k, v = (self.linear(f"{at}.{n}", x, self.all_heads)
                   for n, x in zip("qkv", (u, source, source)))
        q, k, v, scale = self.qk(at, *(x.unflatten(-1, (HEADS, -1)).transpose(1, 2) for x in (q, k, v)))
        s = q @ k.transpose(-1, -2) * scale
        s = self.attention_cap * torch.tanh(s / self.attention_cap) if self.attention_cap else s
        s = s + self.distance_bias(at, s.shape[-1]) if memory is None else s
        seen = at.stack.valid if memory is None else at.stack.memory_valid
        seen = seen[:, None, None, :].expand(s.shape)
        if memory is None and at.stack.causal:
            before = torch.ones(s.shape[-2:], dtype=torch.bool).tril()
            seen = seen & (before.triu(1 - self.window(at)) if self.window(at) else before)
        if self.sides(at) and not at.stack.causal:
            seen = seen & (distances(s.shape[-1]).abs() <= self.sides(at))
            seen = seen | ~seen.any(-1, keepdim=True)     # padding, whose window has no words
        y = F.softmax(s.masked_fill(~seen, -math.inf), -1) @ v
        y = self.heads(at, y).transpose(1, 2).flatten(-2)
        return self.linear(f"{at}.o", self.inner(at, "norm_o", y), self.width)

    def activate(self, at, h):
        return F.relu(h)

    def ffn(self, at, u):                                 # [V] eq. 2
        h = self.activate(at, self.linear(f"{at}.w1", u, self.ffn_width))
        return self.linear(f"{at}.w2", self.inner(at, "norm_2", h), self.width)

    def branch(self, at):
        """F of the sub-layer."""
        if at.kind == "self":
            return lambda u: self.attention(at, u)
        if at.kind == "cross":
            return lambda u: self.attention(at, u, self.memory(at))
        return lambda u: self.ffn(at, u)

    # layers and stacks
    def kinds(self, stack):
        return ("self", "cross", "ffn") if stack.memory is not None else ("self", "ffn")

    def memory(self, at):
        return at.stack.memory

    def layer(self, stack, l, x):
        self.start = x                                    # the layer's input
        for kind in self.kinds(stack):
            at = Place(stack, l, kind)
            x = self.join(at, x, self.branch(at))
        return x

    def run(self, stack, x):
        self.states = [x]
        for l in range(stack.depth):
            x = self.layer(stack, l, x)
            self.states.append(x)
        return self.finish(stack, x)

    def finish(self, stack, x):
        return self.norm(stack.name + ".final_norm", x) if self.final else x

    # the ends
    def table(self):
        return self.p("embedding.weight", VOCAB, self.embedding_size or self.width)

    def resize(self, name, x, cols):                      # a map between embedding and stream
        return x @ self.p(name + ".weight", x.shape[-1], cols) if self.embedding_size else x

    def embed(self, stack, ids):                          # [V] sections 3.4, 3.5
        x = F.embedding(ids, self.table()) * (self.channels**0.5 if self.scaled else 1)
        x = x if self.map_last else self.resize(stack.name + ".project_in", x, self.width)
        width = x.shape[-1]
        t, k = torch.arange(ids.shape[1]).reshape(-1, 1), torch.arange(width // 2)
        if self.position == "learned":
            x = x + self.p(stack.name + ".position.weight", ids.shape[1], width)
        elif self.position == "sinusoidal":
            angle = t * 10000.0 ** (-2.0 * k / width)
            x = x + torch.cat([angle.sin(), angle.cos()], -1)
        x = self.norm(stack.name + ".embedding_norm", x) if self.embedding_norm else x
        return self.linear(stack.name + ".project_in", x, self.width) if self.map_last else x

    def stack(self, stack, ids):
        self.valid = stack.valid
        return self.run(stack, self.embed(stack, ids))

    def hidden(self):
        ids = torch.tensor([(i*5 + i//3) % VOCAB for i in range(B*TIME)]).reshape(B, TIME)
        source = torch.tensor([(i*3 + i//4 + 2) % VOCAB for i in range(B*SOURCE)]).reshape(B, SOURCE)
        lengths = [TIME] * B if self.full and self.arch != "encoder" else LENGTHS
        if self.arch != "both":
            depth, causal = self.layers, self.arch == "decoder"
            self.out = Stack(self.arch, depth, causal, lengths, TIME)
            return self.stack(self.out, ids)
        encoder = Stack("encoder", self.N, False, SOURCE_LENGTHS, SOURCE)
        memory = self.stack(encoder, source)
        self.out = Stack("decoder", self.M, True, lengths, TIME, memory, encoder.valid)
        return self.stack(self.out, ids)

    def logits(self):
        x = self.hidden()
        if self.transform:                                # BERT's head of masked words
            x = self.activate(None, self.linear("transform", x, self.embedding_size or self.width))
            x = self.norm(self.out.name + ".transform_norm", x)
        elif self.map_last:
            x = x @ self.p(self.out.name + ".project_in.weight", self.embedding_size, self.width).t()
        else:
            x = self.resize(self.out.name + ".project_out", x, self.embedding_size)
        w = self.table().t() if self.tied else self.p("output.weight", x.shape[-1], VOCAB)
        z = x @ w + (self.row("output.bias", VOCAB) if self.output_bias else 0)
        return self.logit_cap * torch.tanh(z / self.logit_cap) if self.logit_cap else z       # N20

    def golden(self):
        """Logits as in inference; loss and gradients as in training."""
        logits = self.logits()[self.out.valid]
        self.training = True
        z = self.logits()
        wanted = torch.tensor([-1 if i % 4 == 2 else (i*7 + 3) % VOCAB for i in range(B*TIME)])
        wanted = wanted.reshape(B, TIME).masked_fill(~self.out.valid, -1)
        loss = F.cross_entropy(z.flatten(0, 1), wanted.flatten(), ignore_index=-1, reduction="sum")
        loss.backward()
        self.follow((wanted >= 0).sum())
        found = {n: p.grad if p.grad is not None else torch.zeros(p.shape) for n, p in self.params.items()}
        found.update(self.updated)
        return loss, logits, found


# -- topologies: join(at, x, f) is the stream after a sub-layer F ----------------------------------------

class Post(Variant):                                      # V01, [X] table 1 left, [B] eq. 1
    def join(self, at, x, f):
        return self.norm(f"{at}.norm", x + f(x))


class Pre(Variant):                                       # V02, [X] table 1 right, [B] eq. 2
    final = True

    def join(self, at, x, f):
        return x + f(self.norm(f"{at}.norm_in", x))


class Scaled(Pre):                                        # T5's scores, Mistral's GPT-2
    def qk(self, at, q, k, v):
        return q, k, v, 0.75 / at.l


class RotaryPart(Pre):                                    # NeoX: 4 of 8 channels; rates by 1/2
    all_heads = 16

    def __init__(self, arch):
        super().__init__(arch)
        self.position = "rotary"

    def rates(self, at):                                  # of the pairs (j, j + D/2)
        return torch.tensor([1, 10000.0 ** (-2 / 4), 0, 0]) / 2

    def turn(self, at, x):
        angle = torch.arange(x.shape[-2]).reshape(-1, 1) * self.rates(at)
        pairs = torch.complex(*x.chunk(2, -1)) * torch.polar(torch.ones_like(angle), angle)
        return torch.cat([pairs.real, pairs.imag], -1)

    def qk(self, at, q, k, v):
        q, k = (self.turn(at, q), self.turn(at, k)) if at.kind == "self" else (q, k)
        return q, k, v, q.shape[-1] ** -0.5


class RotaryLlama3(RotaryPart):                           # factor 4, 1 and 4 waves of 100 positions
    def rates(self, at):
        def scaled(f):
            length = 2 * math.pi / f
            s = (100 / length - 1) / (4 - 1)
            return f if length < 100 / 4 else f / 4 if length > 100 / 1 else (1 - s) * f / 4 + s * f
        return torch.tensor([scaled(10000.0 ** (-2 * j / 8)) for j in range(4)])


class Windows(RotaryPart):                                # Gemma 3: every second layer sees all, and
    def local(self, at):
        """Others have the base 10000 and rates by 1/8."""
        return (at.stack.causal or self.arch == "encoder") and at.l % 2 == 1

    def window(self, at):
        return 3 if self.local(at) else 0

    def sides(self, at):                                  # of an encoder by itself
        return 1 if self.local(at) else 0

    def rates(self, at):
        f = (100.0 if self.local(at) else 10000.0) ** (-2 * torch.arange(4) / 8)
        return f if self.local(at) else f / 8


def distances(time):                                      # j - i
    return torch.arange(time) - torch.arange(time).reshape(-1, 1)


class Alibi(Pre):                                         # Press et al. 2022: of 2 heads 1/16 and 1/256
    def __init__(self, arch):
        super().__init__(arch)
        self.position = "alibi"

    def distance_bias(self, at, time):
        return -torch.tensor([1/16, 1/256]).reshape(-1, 1, 1) * distances(time).abs()


class Relative(Pre):                                      # T5, Raffel et al. 2020
    buckets, most = 9, 6

    def __init__(self, arch):
        super().__init__(arch)
        self.position = "relative"

    def one_sided(self, r, n):                            # of a distance from 0 on
        exact = n // 2
        if r < exact:
            return r
        return min(n - 1, exact + int(math.log(r / exact) / math.log(self.most / exact) * (n - exact)))

    def bucket(self, r, causal):
        if causal:
            return self.one_sided(max(-r, 0), self.buckets)
        n = self.buckets // 2
        return n * (r > 0) + self.one_sided(abs(r), n)

    def distance_bias(self, at, time):
        table = self.p(at.stack.name + ".relative.weight", self.buckets, HEADS)
        rows = [[self.bucket(r, at.stack.causal) for r in row] for row in distances(time).tolist()]
        return table[torch.tensor(rows)].permute(2, 0, 1)

    def logits(self):                                     # the output reads x/sqrt(C)
        return super().logits() * self.width**-0.5


class CRMS(Pre):                                          # V52: d-1 of d features
    width, norm = 7, crms_norm

    def __init__(self, arch):
        super().__init__(arch)
        self.position = "learned"


class Bare(Variant):                                      # V08: no norm
    def join(self, at, x, f):
        return x + f(x)


def sublayers(m, stack):
    return stack.depth * len(m.kinds(stack))


class Skip(Post):
    """LN(skip x + F(x))."""

    def join(self, at, x, f):
        return self.norm(f"{at}.norm", self.skip(at) * x + f(x))


class Admin(Skip):                                        # V04, [A] section 4.3, a vector
    def skip(self, at):
        return self.row(f"{at}.skip.weight", self.width)


class AdminDirect(Admin):                                 # V04: a profile's w is no parameter
    def skip(self, at):
        w = parameter(f"{at}.skip.weight", 1, self.width)[0]
        self.after(f"{at}.skip.weight", w)
        return w


class AdminConstant(Skip):                                # V04, profile-free: O(log n)
    def skip(self, at):
        n = sublayers(self, at.stack)
        return math.sqrt((n + 1) / math.log(n + 1) - 1)


class AdminSqrt(Skip):                                    # V04, profile-free: O(1)
    def skip(self, at):
        return math.sqrt(sublayers(self, at.stack))


class AdminProfile(Admin):                                # V04, profiling
    def run(self, stack, x):
        self.r = 1.0
        return super().run(stack, x)

    def join(self, at, x, f):
        p, x = f(x), self.r * x
        self.after(f"{at}.skip.weight", torch.tensor([self.r]))
        var = [t[at.stack.valid].var(unbiased=False) for t in (x, p)]  # the code's: with padding
        self.r = math.sqrt(sum(var))
        return self.norm(f"{at}.norm", x + p)


class DeepNorm(Skip):                                     # V13
    def skip(self, at):
        if self.arch != "both":
            return (2 * at.stack.depth) ** 0.25
        return (3 * self.M) ** 0.25 if at.stack.causal else 0.81 * (self.N**4 * self.M) ** (1/16)


class B2T(Post):                                          # V05, [B] eq. 5
    def join(self, at, x, f):
        start = self.start if at.kind == "ffn" else 0
        return self.norm(f"{at}.norm", start + x + f(x))


class B2TPre(Pre):                                        # V05, the code's flag with Pre-LN
    def join(self, at, x, f):
        return super().join(at, x, f) + (self.start if at.kind == "ffn" else 0)


class B2TSkipLast(Post):                                  # V05x, [B] footnote 1
    def join(self, at, x, f):
        return super().join(at, x, f) + (self.start if at.kind == "ffn" else 0)


class B2TNoNorm(Bare):                                    # V06, [B] eq. 6
    def join(self, at, x, f):
        if at.kind != "ffn":
            return x + f(x)
        n = at.stack.depth
        alpha, beta = min(n / 12, n**-0.15), self.width**-0.2              # [B] eq. 7, 8
        return alpha * self.start + beta * (x + f(x))


class Aggregate(Variant):
    """The input of layer l+1, and the output, from the outputs y_0 .. y_l of all layers."""

    def weights(self, name, n):
        return self.row(f"{name}.mix.weight", n)

    def sum(self, name, ys):
        w = self.weights(name, len(ys))
        return sum(w[k] * y for k, y in enumerate(ys))

    def push(self, at, y):
        return y

    def mixed(self, at, x):
        return x

    def run(self, stack, x):
        ys = [x]
        for l in range(stack.depth):
            x = self.sum(f"{stack.name}.{l}", ys) if l or self.first else x
            x = self.mixed(f"{stack.name}.{l - 1}", x) if l else x
            ys.append(self.push(f"{stack.name}.{l}", self.layer(stack, l, x)))
        x = self.mixed(f"{stack.name}.{stack.depth - 1}", self.sum(stack.name, ys))
        return self.finish(stack, x)


class DLCL(Aggregate, Pre):                               # V07: sum of W_k N_k(y_k), N_0 = identity
    first = True

    def push(self, at, y):
        return self.norm(at + ".norm_out", y)


def softmax_rows(m, name, n):                             # V07: options of the code
    return F.softmax(m.row(f"{name}.mix.weight", n), -1)


def groups(count, softmax=False):                         # channel i has weight i mod count
    def weights(m, name, n):
        w = m.p(f"{name}.mix.weight", count, n)
        return (F.softmax(w, -1) if softmax else w).t()[:, torch.arange(m.width) % count]
    return weights


def window(count):                                        # with softmax: of the last ones only
    def last(m, name, ys):
        return Aggregate.sum(m, name, ys[-count:])
    return last


class DLCLPost(Aggregate, Post):                          # V07: N_l(sum of W_k y_k)
    first = True

    def mixed(self, at, x):
        return self.norm(at + ".norm_out", x)


class Dense(DLCLPost):                                    # V21: LN(sum of y_k)
    first = False

    def weights(self, name, n):
        return torch.ones(n)


class LinearAggregation(Aggregate, Post):                 # V21: sum of W_k y_k
    first = False


class Fixup(Bare):                                        # V09
    bias = False

    def shifted(self, name, x):
        return x - self.row(f"{name}.weight", 1)

    def join(self, at, x, f):
        return x + self.row(f"{at}.out.weight", 1) * f(self.shifted(f"{at}.shift_in", x))

    def activate(self, at, h):
        return F.relu(self.shifted(f"{at}.shift_1", h))

    def inner(self, at, part, y):
        return self.shifted(f"{at}.shift_2", y) if part == "norm_2" else y

    def finish(self, stack, x):
        x = self.shifted(stack.name + ".final_shift", x)
        return x if stack.causal else x * self.row("encoder.final_scale.weight", 1)


class ReZero(Bare):                                       # V10: one alpha a layer
    def scaled_branch(self, at, x, f):
        return x + self.row(f"{at.stack.name}.{at.l - 1}.out.weight", 1) * f(x)

    def join(self, at, x, f):
        return self.scaled_branch(at, x, f)


class ReZeroPost(ReZero):                                 # V11, [A] table 3
    def join(self, at, x, f):
        return self.norm(f"{at}.norm", self.scaled_branch(at, x, f))


class SkipInit(Bare):                                     # V47: one alpha a branch
    def join(self, at, x, f):
        return x + self.row(f"{at}.out.weight", 1) * f(x)


class HaninRolnick(Bare):                                 # I19: x + eta^l F(x)
    def join(self, at, x, f):
        return x + 0.9**at.l * f(x)


class ScaleNorm(Pre):                                     # V15, with FixNorm N17, times sqrt(d)
    norm = scale_norm

    def __init__(self, arch):
        super().__init__(arch)
        self.tied = self.scaled = True

    def table(self):
        return l2(super().table())


class Transparent(Pre):                                   # V17
    def run(self, stack, x):
        y = super().run(stack, x)
        if stack.name == "encoder":
            self.encoded = self.states                    # h_0 = x_0, h_i before the final norm
        return y

    def memory(self, at):
        w = F.softmax(self.row(f"decoder.{at.l - 1}.memory_mix.weight", self.N + 1), -1)
        valid, self.valid = self.valid, at.stack.memory_valid
        m = self.norm("encoder.final_norm", sum(w[i] * h for i, h in enumerate(self.encoded)))
        self.valid = valid
        return m


class MacaronPost(Post):                                  # V18: F is half a feed-forward
    def kinds(self, stack):
        return ("before",) + super().kinds(stack)

    def ffn(self, at, u):
        return 0.5 * super().ffn(at, u)


class MacaronPre(MacaronPost, Pre):
    join = Pre.join


class Peri(Pre):                                          # V31, V32
    def join(self, at, x, f):
        return x + self.norm(f"{at}.norm_branch", f(self.norm(f"{at}.norm_in", x)))


class OutputNorm(Pre):                                    # V33
    def join(self, at, x, f):
        return x + self.norm(f"{at}.norm_branch", f(x))


class Olmo2(OutputNorm):                                  # V33, V34d: over all heads
    norm = rms_norm

    def qk(self, at, q, k, v):
        def full(name, x):
            x = self.norm(f"{at}.{name}", x.transpose(1, 2).flatten(-2))
            return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
        return full("q_norm", q), full("k_norm", k), v, q.shape[-1] ** -0.5


class SwinV2(OutputNorm):                                 # V33, V34b
    def qk(self, at, q, k, v):
        tau = self.row(f"{at}.qk_scale.weight", HEADS).clamp(max=math.log(100))
        return l2(q), l2(k), v, tau.exp().reshape(-1, 1, 1)


class QKNorm(Pre):                                        # V34a
    def qk(self, at, q, k, v):
        return l2(q), l2(k), v, self.row(f"{at}.qk_scale.weight", 1)


class QKHead(Pre):                                        # V34c
    def qk(self, at, q, k, v):
        return self.norm(f"{at}.q_norm", q), self.norm(f"{at}.k_norm", k), v, q.shape[-1] ** -0.5


class QKVHead(QKHead):                                    # V34f
    def qk(self, at, q, k, v):
        q, k, v, scale = super().qk(at, q, k, v)
        return q, k, self.norm(f"{at}.v_norm", v), scale


class SubLN(Pre):                                         # V35
    def inner(self, at, part, y):
        return y if at.kind == "cross" else self.norm(f"{at}.{part}", y)


class NormFormer(Pre):                                    # V36
    def join(self, at, x, f):
        p = f(self.norm(f"{at}.norm_in", x))
        return self.skip(at, x) + (self.norm(f"{at}.norm_branch", p) if at.kind == "self" else p)

    def skip(self, at, x):
        return x

    def heads(self, at, y):                               # (B, H, T, D)
        return y * self.row(f"{at}.head_scale.weight", HEADS)[:, None, None] if at.kind == "self" else y

    def inner(self, at, part, y):
        return self.norm(f"{at}.norm_2", y) if part == "norm_2" else y


class NormFormerRes(NormFormer):                          # V36 (4)
    def skip(self, at, x):
        return x * self.row(f"{at}.skip.weight", self.width) if at.kind == "ffn" else x


class NormFormerCode(NormFormer):                         # V36, fairseq: in decoder layers, c behind W_O
    def join(self, at, x, f):
        return super().join(at, x, f) if at.stack.name == "decoder" else Pre.join(self, at, x, f)

    def heads(self, at, y):
        return y

    def attention(self, at, u, memory=None):
        y = super().attention(at, u, memory)
        if at.kind != "self" or at.stack.name != "decoder":
            return y
        return (y.unflatten(-1, (HEADS, -1)) * self.row(f"{at}.head_scale.weight", HEADS)[:, None]).flatten(-2)

    def inner(self, at, part, y):
        return super().inner(at, part, y) if at.stack.name == "decoder" else y


class DyTLM(Pre):                                         # N08, the code's language models: a x_0
    norm = point(torch.tanh, False)

    def embed(self, stack, ids):
        return super().embed(stack, ids) * self.row(stack.name + ".embedding_scale.weight", 1)


class ResiDual(Variant):                                  # V37
    kappa = x_weight = 1

    def run(self, stack, x):
        self.side = self.kappa * x
        return super().run(stack, x)

    def join(self, at, x, f):
        p = f(x)
        self.side = self.side + self.kappa * p
        return self.norm(f"{at}.norm", x + p)

    def finish(self, stack, x):
        eps, self.eps = self.eps, 1e-7
        y = self.norm(stack.name + ".final_norm", self.side)
        self.eps = eps
        return self.x_weight * x + y


class LNS(Pre):                                           # V39
    def join(self, at, x, f):
        return x + f(self.norm(f"{at}.norm_in", x) * at.l**-0.5)


class MixLN(Pre):                                         # V40
    layers, decoder_layers = 4, 5

    def join(self, at, x, f):
        return (Post if at.l <= at.stack.depth // 4 else Pre).join(self, at, x, f)


class ModernBert(Pre):                                    # Warner et al. 2024
    norm, embedding_norm = gain_norm, True

    def join(self, at, x, f):
        return x + f(x) if at.kind == "self" and at.l == 1 else super().join(at, x, f)


class HybridNorm(QKVHead):                                # V41
    def join(self, at, x, f):
        if at.kind != "ffn":
            return x + f(x)
        n = self.norm(f"{at}.norm_in", x)
        return n + f(n)


class HybridNormFirst(HybridNorm):                        # V41, HybridNorm*
    def join(self, at, x, f):
        return (Pre if at.l == 1 else HybridNorm).join(self, at, x, f)


class LayerScale(Pre):                                    # V42
    def join(self, at, x, f):
        return x + self.row(f"{at}.out.weight", self.width) * f(self.norm(f"{at}.norm_in", x))


class NGPT(Variant):                                      # V45
    bias, archs = False, ("decoder", "encoder")
    norm = l2_norm

    def __init__(self, arch):
        super().__init__(arch)
        self.tied, self.position, self.root = False, "rotary", self.width**0.5

    def join(self, at, x, f):                             # N19, |lambda| stored at 1/sqrt(d)
        a, b = l2(x), l2(f(x))
        return l2(a + self.row(f"{at}.out.weight", self.width).abs() * 0.05 * self.root * (b - a))

    def qk(self, at, q, k, v):                            # V34e
        s = (self.row(f"{at}.qk_scale.weight", self.all_heads) * self.root).reshape(HEADS, 1, -1)
        return s * l2(rotate(q)), s * l2(rotate(k)), v, q.shape[-1] ** 0.5

    def ffn(self, at, h):
        def half(w, s):
            return self.root * self.row(f"{at}.{s}.weight", self.ffn_width) \
                * self.linear(f"{at}.{w}", h, self.ffn_width)
        return self.linear(f"{at}.w2", F.silu(half("w1", "scale_1")) * half("w3", "scale_3"), self.width)

    def logits(self):
        return super().logits() * self.row("logit_scale.weight", VOCAB) * self.root


class NGPTSigned(NGPT):                                   # V45: every other learned rate is negative
    def p(self, name, rows, cols):
        first = name not in self.params
        p = super().p(name, rows, cols)
        if first and name.endswith(".out.weight"):
            p.data[:, 1::2] *= -1
        return p


class Parallel(Pre):                                      # V46, NeoX: own norms
    def join(self, at, x, f):
        return x + f(self.norm(f"{at}.norm_in", self.start))


class ParallelShared(Pre):                                # V46, GPT-J and PaLM: one norm
    def join(self, at, x, f):
        return x + f(self.norm(f"{at.stack.name}.{at.l - 1}.self.norm_in", self.start))


class BranchNorm(Post):                                   # V50
    def join(self, at, x, f):
        self.after("schedule.updates", torch.tensor([self.step + 1.0]))
        return self.norm(f"{at}.norm", x + min(1, self.step / 4000) * f(x))


class Sigma:                                              # V75, N18: every linear map reads g/sigma W
    """Matrices are 0.25 larger, u and v 1/sqrt(n): sigma is far from 0. Gammas are a quarter."""

    def p(self, name, rows, cols):
        if name not in self.params and rows > 1:
            self.params[name] = (parameter(name, rows, cols) + 0.25).requires_grad_()
        return super().p(name, rows, cols)

    def gamma(self, name):
        if name + ".gamma" not in self.params:
            self.params[name + ".gamma"] = (parameter(name + ".gamma", 1, 1) / 4).requires_grad_()
        return self.params[name + ".gamma"][0]

    def matrix(self, name, rows, cols):
        w = self.p(name + ".weight", rows, cols)
        u = self.buffer(name + ".sigma_u", w.t()) / rows**0.5
        v = self.buffer(name + ".sigma_v", w) / cols**0.5
        self.pairs = {**getattr(self, "pairs", {}), name: u}
        return self.gamma(name) / (u @ w @ v) * w

    def follow(self, targets):
        """One power iteration after an update of SGD at rate 0.01."""
        for name, u in self.pairs.items():
            w = self.params[name + ".weight"]
            w = w.detach() - 0.01 * w.grad / targets
            v = l2(u @ w)
            self.after(name + ".sigma_v", v)
            self.after(name + ".sigma_u", l2(w @ v))

    def linear(self, name, x, cols):
        y = x @ self.matrix(name, x.shape[-1], cols)
        return y + self.row(name + ".bias", cols) if self.bias else y

    def logits(self):
        x = self.hidden()
        return x @ (self.table().t() if self.tied else self.matrix("output", self.width, VOCAB))


class SigmaBare(Sigma, Bare):
    pass


class SigmaPost(Sigma, Post):
    pass


class GPAS(Pre):                                          # V51
    def gate(self, at, x):
        return x - F.silu(self.row(f"{at.stack.name}.{at.l - 1}.gate.weight", 1)) * x.detach()

    def join(self, at, x, f):
        return self.gate(at, super().join(at, x, f))


class GPASPost(GPAS):                                     # V51, on the skip
    final = False

    def join(self, at, x, f):
        return self.norm(f"{at}.norm", self.gate(at, x) + f(x))


class PostThenPre(Variant):                               # V03, [A] table 1
    archs = ("both",)
    rows = {"encoder": Post, "decoder": Pre}

    def join(self, at, x, f):
        return self.rows[at.stack.name].join(self, at, x, f)

    def finish(self, stack, x):
        return self.norm(stack.name + ".final_norm", x) if self.rows[stack.name].final else x


def of(base, **options):
    return type(base.__name__, (base,), options)


VARIANTS = {
    "post": Post, "pre": Pre, "post-then-pre": PostThenPre,
    "pre-then-post": of(PostThenPre, rows={"encoder": Pre, "decoder": Post}),
    "admin": Admin, "admin-constant": AdminConstant, "admin-sqrt": AdminSqrt,
    "b2t": B2T, "b2t-pre": B2TPre, "b2t-skip-last": B2TSkipLast, "b2t-no-norm": B2TNoNorm,
    "dlcl": DLCL, "dlcl-post": DLCLPost, "dlcl-softmax": of(DLCL, weights=softmax_rows),
    "dlcl-vector": of(DLCL, weights=groups(8)), "dlcl-groups": of(DLCL, weights=groups(2)),
    "dlcl-one": DLCL, "dlcl-window": of(DLCL, weights=softmax_rows, sum=window(3)),
    "dlcl-post-vector-softmax": of(DLCLPost, weights=groups(8, True)),
    "resi-dual-weighted": of(ResiDual, kappa=0.5, x_weight=0.75), "t-fixup": Bare, "fixup": Fixup,
    "rezero": ReZero, "rezero-post": ReZeroPost, "looklinear": Post, "deepnorm": DeepNorm, "ds-init": Post,
    "scalenorm": ScaleNorm, "batchnorm": of(Post, norm=batch_norm), "transparent": Transparent,
    "macaron": MacaronPost, "macaron-pre": MacaronPre,
    "adanorm": of(Pre, norm=ada_norm), "layernorm-simple": of(Pre, norm=simple_norm),
    "detachnorm": of(Pre, norm=detach_norm(True, True)),
    "detachnorm-mean": of(Pre, norm=detach_norm(True, False)),
    "detachnorm-std": of(Pre, norm=detach_norm(False, True)),
    "zero-gamma": Peri, "hanin-rolnick": HaninRolnick, "dense": Dense,
    "linear-aggregation": LinearAggregation,
    "pre-rms": of(Pre, norm=rms_norm), "post-rms": of(Post, norm=rms_norm),
    "prmsnorm": of(Pre, norm=partial_rms, width=32), "rmsnorm-outside": of(Pre, norm=rms_outside),
    "gemma": of(Peri, norm=rms_offset), "sandwich": of(Peri, norm=absmax_norm), "peri": Peri,
    "output-norm": OutputNorm, "olmo2": Olmo2, "swin-v2": SwinV2,
    "qknorm": QKNorm, "qk-head": QKHead, "qkv-head": QKVHead, "sub-ln": SubLN,
    "normformer": NormFormer, "normformer-res": NormFormerRes, "resi-dual": ResiDual,
    "dyt": of(Pre, norm=point(torch.tanh, False)), "derf": of(Pre, norm=point(torch.erf)),
    "lns": of(LNS, norm=rms_norm), "mix-ln": of(MixLN, norm=rms_norm),
    "hybridnorm": of(HybridNorm, norm=rms_norm),
    "hybridnorm-first": of(HybridNormFirst, norm=rms_norm),
    "layerscale": LayerScale, "gpt2": Pre, "embed-norm": of(Pre, embedding_norm=True),
    "bert": of(Post, embedding_norm=True), "ngpt": NGPT,
    "parallel": Parallel, "parallel-shared": ParallelShared, "skipinit": SkipInit,
    "powernorm": of(Post, norm=power_norm, warmup=4, full=True),
    "powernorm-warm": of(Post, norm=power_norm, full=True),
    "groupnorm": of(Pre, norm=group_norm),
    "branchnorm": BranchNorm, "branchnorm-1000": of(BranchNorm, step=1000),
    "sigma-reparam": SigmaBare, "sigma-reparam-post": SigmaPost, "sigma-reparam-vision": SigmaBare,
    "gpas": of(GPAS, norm=rms_norm), "gpas-post": GPASPost, "crmsnorm": CRMS,
    "seednorm": of(Pre, norm=seed_norm), "centernorm": of(Pre, norm=center_norm),
    "l2norm": of(Pre, norm=l2_norm),
    "dyt-isru": of(Pre, norm=point(lambda z: z / (z*z + 1).sqrt())),
    "dyt-exp": of(Pre, norm=point(lambda z: z.sign() * (1 - (-z.abs()).exp()))),
    "dyt-atan": of(Pre, norm=point(lambda z: 2/math.pi * z.atan())),
    "dyt-sin": of(Pre, norm=point(lambda z: z.clamp(-math.pi/2, math.pi/2).sin())),
    "dyt-softsign": of(Pre, norm=point(lambda z: z / (1 + z.abs()))),
    "softcap": of(Pre, attention_cap=5, logit_cap=3),                     # V53
    "ngpt-signed": NGPTSigned,
    "adanorm-1.5": of(Pre, norm=ada_norm_by(1.5)),
    "layernorm-simple-code": of(Pre, norm=code_norm(False, False)),
    "detachnorm-code": of(Pre, norm=code_norm(True, True)),
    "detachnorm-mean-code": of(Pre, norm=code_norm(True, False)),
    "detachnorm-std-code": of(Pre, norm=code_norm(False, True)),
    "normformer-code": NormFormerCode, "dyt-lm": DyTLM,
    "he": Post, "orthogonal": Post, "lsuv": Post, "admin-direct": AdminDirect,
    "head-size": of(Pre, all_heads=12), "head-size-unit": of(NGPT, all_heads=12),
    "head-transform": of(Post, embedding_norm=True, transform=True),
    "score-scale": of(Scaled, output_bias=True),
    "rotary-part": of(RotaryPart, bias="qkv"),
    "rotary-llama3": of(RotaryLlama3, bias="qkvo", output_bias=True),
    "windows": Windows, "modernbert": ModernBert, "alibi": Alibi, "relative": Relative,
    "embedding-size": of(Post, embedding_size=5),
    "map-last": of(Post, embedding_size=6, map_last=True, embedding_norm=True),
    "map-last-transform": of(Post, embedding_size=6, map_last=True, embedding_norm=True,
                             transform=True),
}


# -- the file ----------------------------------------------------------------------------------------------

class File:
    """Values in millionths; the tensors of a model as a list of names, each list and name kept once."""

    def __init__(self):
        self.names, self.lists, self.values, self.rows = {}, {}, [], []

    def add(self, name, values, tensors):
        key = tuple(self.names.setdefault(t, len(self.names)) for t in tensors)
        self.rows.append((name, self.lists.setdefault(key, sum(len(k) + 1 for k in self.lists)),
                          len(self.values)))
        self.values += [round(v * 1e6) for v in values]
        assert all(abs(v) < 2**31 for v in self.values), name

    def write(self, path):
        lists = [i for key in self.lists for i in (*key, -1)]
        with open(path, "w", newline="\n") as f:
            f.write("/* Made by make_variants.py. A model's tensors: names from `list` to -1. Its values\n"
                    " * from `first`, in millionths: the loss, the logits, two numbers a tensor. */\n")
            f.write("typedef struct golden_variant { const char *name; int list, first; } golden_variant;\n")
            f.write("static const golden_variant golden_variants[] = {\n")
            f.writelines('    { "%s", %d, %d },\n' % row for row in self.rows)
            f.write("    { NULL, 0, 0 }\n};\nstatic const char *const golden_variants_names[] = {\n")
            wrap(f, ('"%s",' % n for n in self.names))
            f.write("};\nstatic const short golden_variants_lists[] = {\n")
            wrap(f, (f"{i}," for i in lists))
            f.write("};\nstatic const int golden_variants_values[] = {\n")
            wrap(f, (f"{v}," for v in self.values))
            f.write("};\n")


def wrap(f, words):
    line = ""
    for word in words:
        if len(line) + len(word) > 99:
            f.write(line + "\n")
            line = ""
        line += word
    f.write(line + "\n")


WEIGHTS = {}


def projections(name, x):
    """sum(w x) for the two streams of the tensor."""
    key = name, x.numel()
    if key not in WEIGHTS:
        WEIGHTS[key] = [Stream(f"{name} w{i}").draw(x.numel()) for i in (1, 2)]
    return [(w * x.flatten()).sum().item() for w in WEIGHTS[key]]


def main():
    out = File()
    for name, variant in VARIANTS.items():
        for arch in variant.archs:
            loss, logits, found = variant(arch).golden()
            values = [loss.item()] + logits.flatten().tolist()
            for tensor in sorted(found):
                values += projections(tensor, found[tensor])
            out.add(f"{name} {arch}", values, sorted(found))
    for arch in ("decoder", "both"):                      # V04, profiling: omegas in order of name
        m = of(AdminProfile, layers=4, decoder_layers=4, full=True)(arch)
        m.hidden()
        out.add(f"admin-profile {arch}", [m.updated[t].item() for t in sorted(m.updated)],
                sorted(m.updated))
    out.write(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden_variants.h"))


if __name__ == "__main__":
    main()
