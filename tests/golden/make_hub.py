#!/usr/bin/env python3
"""Tiny checkpoints in the hub's format, with the logits that they mean (PyTorch 1.13, double).

    python3 make_hub.py [NAME ...]          writes hub/NAME/ beside itself; without names: KEPT
    python3 make_hub.py --list              names of all cases
    python3 make_hub.py --mutants [NAME]    how far the logits move when a reader falls into a trap

A folder holds
    config.json             keys as published files have them, the irrelevant ones too
    model.safetensors       or shards and model.safetensors.index.json
    ids.txt                 token ids, a sentence a line
    logits.txt              of each sentence in turn, a line a position
    gradients.safetensors   of some: mean next-token cross-entropy of both sentences, by autograd

Every case exists in half precision, too: NAME-f16, and NAME-bf16, where norms stay F32. The logits
are those of the rounded weights.

The forwards follow the papers and the published configuration keys, each family in its own class.
A tensor is drawn by name when the forward first asks for it, so names and shapes stand there only.
Matrices are large: what goes into activations and softmax has a deviation of 1 or more. Tables of
embeddings are small, as trained ones are, so that the epsilon of the first norm shows.
"""
import json
import math
import os
import sys
from typing import NamedTuple
import torch
import torch.nn.functional as F
from stream import Stream

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
HERE = os.path.dirname(os.path.abspath(__file__))
VOCAB, SENTENCES, TIME = 31, 2, 13


# -- functions that families share ----------------------------------------------------------------

def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x * torch.sigmoid(x)


ACTIVATIONS = {"gelu": gelu, "gelu_new": gelu_tanh, "gelu_pytorch_tanh": gelu_tanh,
               "gelu_fast": gelu_tanh, "silu": silu, "swish": silu, "relu": torch.relu}


def split_heads(x, heads):
    """(T, heads * size) to (heads, T, size)."""
    return x.reshape(len(x), heads, -1).transpose(0, 1)


def join_heads(x):
    return x.transpose(0, 1).flatten(1)


def standard(x, eps):
    mean, var = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
    return (x - mean) / (var + eps).sqrt()


def root_mean(x, eps):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


def llama3_frequencies(f, scaling):
    """Short waves stay, long ones are slowed down by the factor, in between there is a ramp."""
    factor, low, high = (scaling[k] for k in ("factor", "low_freq_factor", "high_freq_factor"))
    waves = scaling["original_max_position_embeddings"] * f / (2 * math.pi)
    ramp = ((waves - low) / (high - low)).clamp(0, 1)
    return (1 - ramp) * f / factor + ramp * f


class Model:
    """The tensors of a case, and what all families' forwards are made of; x is (T, C)."""

    eps_key, eps_default, tied_default = "rms_norm_eps", 1e-6, False
    table_scale = 0.15
    rotated = True                     # without rotation a bias of the keys moves nothing

    def __init__(self, config, dtype="F32", tensors=None):
        self.config, self.dtype = config, dtype
        self.drawing, self.tensors = tensors is None, dict(tensors or {})
        self.deviations = {}

    def get(self, key, default):
        """Of keys whose null means that they are missing."""
        value = self.config.get(key)
        return default if value is None else value

    # tensors

    def stored_dtype(self, name):
        small = "norm" in name.lower() or ".ln_" in name
        return "F32" if self.dtype == "BF16" and small else self.dtype

    def tensor(self, name, *shape, scale, shift=0.0):
        if self.drawing and name not in self.tensors:
            drawn = Stream(name).draw(*shape, scale=scale, shift=shift)
            self.tensors[name] = drawn.to(TORCH[self.stored_dtype(name)]).double()
        assert self.tensors[name].shape == shape, name
        return self.tensors[name]

    def table(self, name, rows, cols):
        return self.tensor(name + ".weight", rows, cols, scale=self.table_scale)

    def vector(self, name, n, shift=0.0):
        return self.tensor(name, n, scale=0.5, shift=shift)

    def matrix(self, name, rows, cols, inputs, deviation=1.5):
        """Inputs of deviation 1 give outputs of that deviation."""
        return self.tensor(name, rows, cols, scale=deviation * math.sqrt(3 / inputs))

    def linear(self, name, x, cols, bias=True):
        y = x @ self.matrix(name + ".weight", cols, x.shape[-1], x.shape[-1]).T
        return y + self.vector(name + ".bias", cols) if bias else y

    # layers

    @property
    def eps(self):
        return self.config.get(self.eps_key, self.eps_default)

    def layer_norm(self, name, x):
        gain = self.vector(name + ".weight", x.shape[-1], shift=1.0)
        return standard(x, self.eps) * gain + self.vector(name + ".bias", x.shape[-1])

    def rms(self, name, x):
        return root_mean(x, self.eps) * self.vector(name + ".weight", x.shape[-1], shift=1.0)

    def act(self, name, x):
        self.watch("pre-activations", x)
        return ACTIVATIONS[name](x)

    def rotate_half(self, x, angles):
        """Pairs (j, j + r/2) of the first r = 2 len(angles) features; the others pass."""
        r = 2 * angles.shape[-1]
        a, b, rest = x[..., :r // 2], x[..., r // 2:r], x[..., r:]
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)

    def rope(self, x, theta, scaling, r):
        f = theta ** (-2 * torch.arange(r // 2) / r)
        kind = scaling.get("rope_type", scaling.get("type", "default"))
        if kind == "linear":
            f = f / scaling["factor"]
        if kind == "llama3":
            f = llama3_frequencies(f, scaling)
        return self.rotate_half(x, torch.arange(x.shape[-2])[:, None] * f)

    def rope_settings(self):
        """theta and scaling, as files of both ages have them."""
        new = self.config.get("rope_parameters")
        if new:
            return new.get("rope_theta", 10000.0), new
        return self.get("rope_theta", 10000.0), self.get("rope_scaling", {})

    def sees(self, time, window):
        """Which keys j a query t may look at: j <= t, and with a window the last W of these."""
        t, j = torch.arange(time)[:, None], torch.arange(time)
        return (j <= t) if window is None else (j <= t) & (j > t - window)

    def share(self, x, heads):
        """Query head h reads key/value head floor(h * nkv / nh)."""
        return x.repeat_interleave(heads // len(x), 0)

    def cap(self, x, limit):
        return limit * torch.tanh(x / limit) if limit else x

    def attend(self, q, k, v, mask, scale, bias=0.0, limit=None):
        """q (nh, T, hd), k and v (nkv, S, hd), mask (T, S) to (T, nh * hd)."""
        k, v = self.share(k, len(q)), self.share(v, len(q))
        scores = self.cap(q @ k.transpose(1, 2) * scale + bias, limit)
        self.watch("scores", scores[:, mask])
        return join_heads(scores.masked_fill(~mask, -math.inf).softmax(-1) @ v)

    # checks and results

    def watch(self, kind, x):
        self.deviations.setdefault(kind, []).append(x.detach().std().item())

    def outputs(self, lines):
        return torch.cat([self.logits(torch.tensor(ids)) for ids in lines])

    def loss(self, lines):
        targets = torch.tensor([t for ids in lines for t in ids[1:]])
        return F.cross_entropy(torch.cat([self.logits(torch.tensor(ids))[:-1] for ids in lines]),
                               targets)

    def without_effect(self, name):
        return not self.rotated and name.endswith(("k_proj.bias", "key.bias", "k_lin.bias"))

    def buffers(self):
        """What old files store beside weights: name to dtype and values."""
        return {}


# -- GPT-2 -----------------------------------------------------------------------------------------

class GPT2(Model):
    eps_key, eps_default, tied_default = "layer_norm_epsilon", 1e-5, True
    prefix = "transformer."

    def conv(self, name, x, cols):
        """Stored [in,out]."""
        weight = self.matrix(name + ".weight", x.shape[-1], cols, x.shape[-1])
        return x @ weight + self.vector(name + ".bias", cols)

    def split(self, qkv):
        return qkv.chunk(3, -1)

    def scale(self, i, size):
        inverse = self.config.get("scale_attn_by_inverse_layer_idx", False)
        return size**-0.5 / (i + 1 if inverse else 1)

    def attention(self, i, at, h):
        width, heads = self.config["n_embd"], self.config["n_head"]
        qkv = self.conv(at + "c_attn", h, 3 * width)
        q, k, v = (split_heads(s, heads) for s in self.split(qkv))
        y = self.attend(q, k, v, self.sees(len(h), None), self.scale(i, q.shape[-1]))
        return self.conv(at + "c_proj", y, width)

    def ffn(self, at, h):
        width = self.config["n_embd"]
        a = self.conv(at + "c_fc", h, self.get("n_inner", 4 * width))
        return self.conv(at + "c_proj", self.act(self.config["activation_function"], a), width)

    def logits(self, ids):
        c, p = self.config, self.prefix
        table = self.table(p + "wte", c["vocab_size"], c["n_embd"])
        x = table[ids] + self.table(p + "wpe", c["n_positions"], c["n_embd"])[:len(ids)]
        for i in range(c["n_layer"]):
            at = f"{p}h.{i}."
            x = x + self.attention(i, at + "attn.", self.layer_norm(at + "ln_1", x))
            x = x + self.ffn(at + "mlp.", self.layer_norm(at + "ln_2", x))
        return self.layer_norm(p + "ln_f", x) @ table.T


class GPT2Short(GPT2):
    """No prefix; causal masks of different types, and a number without dimensions."""

    prefix = ""

    def buffers(self):
        n = self.config["n_positions"]
        mask = torch.ones(1, 1, n, n).tril()
        return {"h.0.attn.bias": ("U8", mask), "h.1.attn.bias": ("F32", mask),
                "h.0.attn.masked_bias": ("F32", torch.tensor(-10000.0))}


# -- Llama and what differs little from it ---------------------------------------------------------

class Llama(Model):
    default_kv_heads = default_size = None

    def sizes(self):
        """Query heads, key/value heads, their size."""
        c, heads = self.config, self.config["num_attention_heads"]
        size = self.get("head_dim", self.default_size or c["hidden_size"] // heads)
        return heads, c.get("num_key_value_heads", self.default_kv_heads) or heads, size

    def biases(self):
        """Of q, k, v; of o."""
        flag = self.config.get("attention_bias", False)
        return flag, flag

    def window(self, i):
        return None

    def norm(self, name, x):
        return self.rms(name, x)

    def scale(self):
        return self.sizes()[2] ** -0.5

    def position(self, i, q, k):
        theta, scaling = self.rope_settings()
        return (self.rope(x, theta, scaling, x.shape[-1]) for x in (q, k))

    def queries_keys(self, i, at, q, k):
        """Projections (T, heads * size) to rotated heads."""
        heads, kv_heads, _ = self.sizes()
        return self.position(i, split_heads(q, heads), split_heads(k, kv_heads))

    def attention(self, i, at, h):
        heads, kv_heads, size = self.sizes()
        bias, bias_o = self.biases()
        q = self.linear(at + "q_proj", h, heads * size, bias)
        k = self.linear(at + "k_proj", h, kv_heads * size, bias)
        v = split_heads(self.linear(at + "v_proj", h, kv_heads * size, bias), kv_heads)
        q, k = self.queries_keys(i, at, q, k)
        y = self.attend(q, k, v, self.sees(len(h), self.window(i)), self.scale(),
                        limit=self.config.get("attn_logit_softcapping"))
        return self.linear(at + "o_proj", y, self.config["hidden_size"], bias_o)

    def activation(self):
        return self.config["hidden_act"]

    def ffn(self, at, h):
        c, bias = self.config, self.config.get("mlp_bias", False)
        gate = self.linear(at + "gate_proj", h, c["intermediate_size"], bias)
        up = self.linear(at + "up_proj", h, c["intermediate_size"], bias)
        return self.linear(at + "down_proj", self.act(self.activation(), gate) * up,
                           c["hidden_size"], bias)

    def block(self, i, at, x):
        x = x + self.attention(i, at + "self_attn.", self.norm(at + "input_layernorm", x))
        return x + self.ffn(at + "mlp.", self.norm(at + "post_attention_layernorm", x))

    def embed(self, table, ids):
        return table[ids]

    def tied(self):
        return self.config.get("tie_word_embeddings", self.tied_default)

    def head(self, table, x):
        return x @ table.T if self.tied() else self.linear("lm_head", x, len(table), False)

    def logits(self, ids):
        c = self.config
        table = self.table("model.embed_tokens", c["vocab_size"], c["hidden_size"])
        x = self.embed(table, ids)
        for i in range(c["num_hidden_layers"]):
            x = self.block(i, f"model.layers.{i}.", x)
        return self.head(table, self.norm("model.norm", x))


class Mistral(Llama):
    default_kv_heads = 8

    def window(self, i):
        return self.config.get("sliding_window", 4096)


class Qwen2(Llama):
    def biases(self):
        return True, False

    def window(self, i):
        c = self.config
        full = i < c.get("max_window_layers", 28)
        if c.get("layer_types"):
            full = c["layer_types"][i] == "full_attention"
        if full or not c.get("use_sliding_window", False):
            return None
        return c.get("sliding_window", 4096)


class Qwen3(Qwen2):
    """One norm a head, before the rotation."""

    default_size = 128

    def biases(self):
        return Llama.biases(self)

    def queries_keys(self, i, at, q, k):
        heads, kv_heads, _ = self.sizes()
        return self.position(i, self.norm(at + "q_norm", split_heads(q, heads)),
                             self.norm(at + "k_norm", split_heads(k, kv_heads)))


class Olmo2(Llama):
    """Norms behind the sub-layers; one norm of all heads together."""

    eps_default = 1e-5

    def queries_keys(self, i, at, q, k):
        return super().queries_keys(i, at, self.norm(at + "q_norm", q), self.norm(at + "k_norm", k))

    def block(self, i, at, x):
        y = self.attention(i, at + "self_attn.", x)
        x = x + self.norm(at + "post_attention_layernorm", y)
        return x + self.norm(at + "post_feedforward_layernorm", self.ffn(at + "mlp.", x))


# -- cases -----------------------------------------------------------------------------------------

class Case(NamedTuple):
    model: type
    config: dict
    gradients: bool = False
    shards: int = 1
    dtype: str = "F32"


COMMON = {"initializer_range": 0.02, "torch_dtype": "float32", "transformers_version": "4.46.0",
          "use_cache": True, "vocab_size": VOCAB}

GPT2_CONFIG = {
    **COMMON, "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"],
    "activation_function": "gelu_new", "attn_pdrop": 0.1, "bos_token_id": 30, "embd_pdrop": 0.1,
    "eos_token_id": 30, "layer_norm_epsilon": 1e-5, "n_ctx": 16, "n_embd": 12, "n_head": 4,
    "n_inner": 20, "n_layer": 2, "n_positions": 16, "reorder_and_upcast_attn": False,
    "resid_pdrop": 0.1, "scale_attn_by_inverse_layer_idx": False, "scale_attn_weights": True,
    "summary_activation": None, "summary_first_dropout": 0.1, "summary_proj_to_labels": True,
    "summary_type": "cls_index", "summary_use_proj": True,
    "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
}

LLAMA_CONFIG = {
    **COMMON, "model_type": "llama", "architectures": ["LlamaForCausalLM"], "attention_bias": False,
    "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": [2, 3], "head_dim": 6,
    "hidden_act": "silu", "hidden_size": 12, "intermediate_size": 16,
    "max_position_embeddings": 32, "mlp_bias": False, "num_attention_heads": 4,
    "num_hidden_layers": 2, "num_key_value_heads": 2, "pretraining_tp": 1, "rms_norm_eps": 1e-5,
    "rope_scaling": None, "rope_theta": 500000.0, "tie_word_embeddings": False,
}

LLAMA3_SCALING = {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                  "original_max_position_embeddings": 256, "rope_type": "llama3"}


def changed(config, *without, **values):
    """Keys left out, keys changed or added."""
    return {k: v for k, v in {**config, **values}.items() if k not in without}


def family(kind, head, *without, **values):
    """Llama's keys under another family's names."""
    return changed(LLAMA_CONFIG, "pretraining_tp", "mlp_bias", *without, model_type=kind,
                   architectures=[head + "ForCausalLM"], **values)


MISTRAL_CONFIG = family("mistral", "Mistral", "attention_bias", "rope_scaling", eos_token_id=2,
                        rope_theta=10000.0, sliding_window=None)

QWEN2_CONFIG = family("qwen2", "Qwen2", "attention_bias", "head_dim", "rope_scaling",
                      eos_token_id=2, hidden_size=16, intermediate_size=12, max_window_layers=1,
                      rms_norm_eps=1e-6, rope_theta=1000000.0, sliding_window=5,
                      tie_word_embeddings=True, use_sliding_window=False)

QWEN3_CONFIG = family("qwen3", "Qwen3", eos_token_id=2, head_dim=6, max_window_layers=2,
                      rms_norm_eps=1e-6, rope_theta=1000000.0, sliding_window=None,
                      tie_word_embeddings=True, use_sliding_window=False)

OLMO2_CONFIG = family("olmo2", "Olmo2", "head_dim", hidden_size=16, eos_token_id=2,
                      rms_norm_eps=1e-6)

CASES = {
    "gpt2": Case(GPT2, GPT2_CONFIG, gradients=True),
    "gpt2-scaled": Case(GPT2, changed(GPT2_CONFIG, scale_attn_by_inverse_layer_idx=True)),
    "gpt2-short-names": Case(GPT2Short, changed(GPT2_CONFIG, n_inner=None)),
    "llama": Case(Llama, LLAMA_CONFIG, gradients=True),
    "llama-tied": Case(Llama, changed(LLAMA_CONFIG, "head_dim", hidden_size=16, attention_bias=True,
                                      mlp_bias=True, tie_word_embeddings=True)),
    "llama3": Case(Llama, changed(LLAMA_CONFIG, head_dim=8, rope_scaling=LLAMA3_SCALING)),
    "llama-linear": Case(Llama, changed(
        LLAMA_CONFIG, "rope_scaling", "rope_theta", "torch_dtype", dtype="float32",
        transformers_version="5.0.0",
        rope_parameters={"factor": 4.0, "rope_theta": 500000.0, "rope_type": "linear"})),
    "llama-sharded": Case(Llama, LLAMA_CONFIG, shards=2),
    "mistral": Case(Mistral, MISTRAL_CONFIG),
    "mistral-window": Case(Mistral, changed(MISTRAL_CONFIG, sliding_window=5)),
    "qwen2": Case(Qwen2, QWEN2_CONFIG, gradients=True),
    "qwen2-window": Case(Qwen2, changed(QWEN2_CONFIG, use_sliding_window=True)),
    "qwen3": Case(Qwen3, QWEN3_CONFIG),
    "olmo2": Case(Olmo2, OLMO2_CONFIG),
}

KEPT = ["gpt2", "gpt2-short-names", "gpt2-f16", "llama", "llama-tied", "llama-sharded", "llama-f16",
        "llama-bf16", "llama3", "llama-linear", "mistral", "qwen2", "qwen3", "olmo2"]


def in_half(case, dtype):
    key = "dtype" if "dtype" in case.config else "torch_dtype"
    name = {"F16": "float16", "BF16": "bfloat16"}[dtype]
    return case._replace(config=changed(case.config, **{key: name}), dtype=dtype, gradients=False)


CASES.update({f"{name}-{d.lower()}": in_half(case, d) for name, case in list(CASES.items())
              for d in ("F16", "BF16")})


# -- files -----------------------------------------------------------------------------------------

TORCH = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16, "U8": torch.uint8}
INTEGER = {"BF16": torch.int16}                    # numpy has no bfloat16


def sentences():
    stream = Stream("ids")
    return [((stream.draw(TIME) + 1) / 2 * VOCAB).long().tolist() for _ in range(SENTENCES)]


def write_safetensors(path, tensors):
    """tensors: name to dtype and values, in the format's order: by dtype, then by name."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for dtype in TORCH:
        for name in sorted(n for n in tensors if tensors[n][0] == dtype):
            x = tensors[name][1].detach().to(TORCH[dtype]).contiguous()
            raw = x.view(INTEGER.get(dtype, x.dtype)).numpy().tobytes()
            header[name] = {"dtype": dtype, "shape": list(x.shape),
                            "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)
    return len(data)


def write_shards(folder, tensors, count):
    names, index, size = sorted(tensors), {}, 0
    for s in range(count):
        part = names[s * len(names) // count:(s + 1) * len(names) // count]
        file = f"model-{s + 1:05}-of-{count:05}.safetensors"
        size += write_safetensors(os.path.join(folder, file), {n: tensors[n] for n in part})
        index.update(dict.fromkeys(part, file))
    write_json(os.path.join(folder, "model.safetensors.index.json"),
               {"metadata": {"total_size": size}, "weight_map": index})


def write_json(path, value):
    with open(path, "w", newline="\n") as f:
        f.write(json.dumps(value, indent=2, sort_keys=True) + "\n")


def write_rows(path, rows, form):
    with open(path, "w", newline="\n") as f:
        f.writelines(" ".join(form % v for v in row) + "\n" for row in rows)


def gradients(case, tensors, lines):
    leaves = {name: x.clone().requires_grad_() for name, x in tensors.items()}
    case.model(case.config, case.dtype, leaves).loss(lines).backward()
    return {name: ("F32", x.grad) for name, x in leaves.items()}


def write_case(name):
    case, lines = CASES[name], sentences()
    model = case.model(case.config, case.dtype)
    rows = model.outputs(lines)
    check(name, case, model, rows, lines)
    folder = os.path.join(HERE, "hub", name)
    os.makedirs(folder, exist_ok=True)
    write_json(os.path.join(folder, "config.json"), case.config)
    stored = {n: (model.stored_dtype(n), x) for n, x in model.tensors.items()}
    stored.update(model.buffers())
    if case.shards > 1:
        write_shards(folder, stored, case.shards)
    else:
        write_safetensors(os.path.join(folder, "model.safetensors"), stored)
    write_rows(os.path.join(folder, "ids.txt"), lines, "%d")
    write_rows(os.path.join(folder, "logits.txt"), rows.tolist(), "%.9g")
    if case.gradients:
        write_safetensors(os.path.join(folder, "gradients.safetensors"),
                          gradients(case, model.tensors, lines))


# -- checks ----------------------------------------------------------------------------------------

def distance(rows, wrong):
    """The largest difference, relative to the largest number."""
    return ((rows - wrong).abs().max() / rows.abs().max()).item()


def check(name, case, model, rows, lines):
    """Activations and softmax are at work, and every tensor matters."""
    for kind, deviations in model.deviations.items():
        assert min(deviations) >= 1, (name, kind, deviations)
    for tensor in model.tensors:
        zeroed = {**model.tensors, tensor: torch.zeros_like(model.tensors[tensor])}
        moved = distance(rows, case.model(case.config, case.dtype, zeroed).outputs(lines))
        if model.without_effect(tensor):
            assert moved < 1e-12, (name, tensor, moved)
        else:
            assert moved > 1e-3, (name, tensor, moved)


# -- traps: wrong readings that still give plausible text -------------------------------------------

class Trap(NamedTuple):
    name: str
    without: tuple
    config: dict
    methods: dict


def trap(name, *without, config=None, **methods):
    """A wrong reading: keys of the config left out or changed, methods of the forward replaced."""
    return Trap(name, without, config or {}, methods)


def other_activation(wrong):
    def act(self, name, x):
        return wrong(x)
    return act


def rotate_interleaved(self, x, angles):
    r = 2 * angles.shape[-1]
    a, b, rest = x[..., 0:r:2], x[..., 1:r:2], x[..., r:]
    cos, sin = angles.cos(), angles.sin()
    pairs = torch.stack([a * cos - b * sin, b * cos + a * sin], -1)
    return torch.cat([pairs.flatten(-2), rest], -1)


def tile(self, x, heads):
    return x.repeat(heads // len(x), 1, 1)


def longer_window(by):
    def sees(self, time, window):
        return Model.sees(self, time, None if window is None else window + by)
    return sees


def causal_only(self, time, window):
    return Model.sees(self, time, None)


def centred(self, name, x):
    gain = self.vector(name + ".weight", x.shape[-1], shift=1.0)
    return standard(x, self.eps) * gain


def offset_gain(self, name, x):
    return self.rms(name, x) + root_mean(x, self.eps)


def gain_left_out(self, name, x):
    return root_mean(x, self.eps)


def linear_without(*names):
    """Biases of maps with these names are passed over."""
    def linear(self, name, x, cols, bias=True):
        return Model.linear(self, name, x, cols, bias and not name.endswith(names))
    return linear


def conv_transposed(self, name, x, cols):
    """Maps of as many outputs as inputs, where shapes do not tell."""
    y = GPT2.conv(self, name, x, cols)
    weight = self.tensors[name + ".weight"]
    return y + x @ (weight.T - weight) if x.shape[-1] == cols else y


def split_by_head(self, qkv):
    """A head's q, k, v side by side, as gpt_neox stores them."""
    parts = qkv.reshape(len(qkv), self.config["n_head"], 3, -1)
    return (parts[:, :, s].flatten(1) for s in range(3))


def swapped_ffn(self, at, h):
    c, bias = self.config, self.config.get("mlp_bias", False)
    gate = self.linear(at + "gate_proj", h, c["intermediate_size"], bias)
    up = self.linear(at + "up_proj", h, c["intermediate_size"], bias)
    return self.linear(at + "down_proj", self.act(self.activation(), up) * gate, c["hidden_size"],
                       bias)


def scale_of_width(self):
    return (self.config["hidden_size"] // self.config["num_attention_heads"]) ** -0.5


def rotary_of_width(self, i, q, k):
    r = self.config["hidden_size"] // self.config["num_attention_heads"]
    return (self.rope(x, *self.rope_settings(), r) for x in (q, k))


def norm_behind_rotation(self, i, at, q, k):
    heads, kv_heads, _ = self.sizes()
    q, k = self.position(i, split_heads(q, heads), split_heads(k, kv_heads))
    return self.norm(at + "q_norm", q), self.norm(at + "k_norm", k)


def norm_without(*names):
    def norm(self, name, x):
        return x if name.endswith(names) else self.rms(name, x)
    return norm


def one_norm_of_all_heads(self, i, at, q, k):
    """Qwen3's gains, OLMo 2's mean."""
    heads, kv_heads, _ = self.sizes()
    q, k = (split_heads(root_mean(x, self.eps), n) for x, n in ((q, heads), (k, kv_heads)))
    size = q.shape[-1]
    gains = (self.vector(at + n + ".weight", size, shift=1.0) for n in ("q_norm", "k_norm"))
    return self.position(i, *(x * g for x, g in zip((q, k), gains)))


def one_norm_a_head(self, name, x):
    """OLMo 2's gains, Qwen3's mean."""
    if not name.endswith(("q_norm", "k_norm")):
        return self.rms(name, x)
    size = self.sizes()[2]
    by_head = root_mean(x.unflatten(-1, (-1, size)), self.eps).flatten(1)
    return by_head * self.vector(name + ".weight", x.shape[-1], shift=1.0)


def whole_norm_behind_rotation(self, i, at, q, k):
    q, k = Llama.queries_keys(self, i, at, q, k)
    return (split_heads(self.norm(at + n, join_heads(x)), len(x))
            for n, x in (("q_norm", q), ("k_norm", k)))


def olmo2_norms_first(self, i, at, x):
    x = x + self.attention(i, at + "self_attn.", self.norm(at + "post_attention_layernorm", x))
    return x + self.ffn(at + "mlp.", self.norm(at + "post_feedforward_layernorm", x))


def sharp_ramp(f, scaling):
    waves = scaling["original_max_position_embeddings"] * f / (2 * math.pi)
    return torch.where(waves < scaling["high_freq_factor"], f / scaling["factor"], f)


def rope_with(frequencies):
    """llama3's frequencies by another formula."""
    def rope(self, x, theta, scaling, r):
        f = frequencies(theta ** (-2 * torch.arange(r // 2) / r), scaling)
        return self.rotate_half(x, torch.arange(x.shape[-2])[:, None] * f)
    return rope


EPS_1E_6 = trap("eps 1e-6", config={"rms_norm_eps": 1e-6})
EPS_1E_5 = trap("eps 1e-5", config={"rms_norm_eps": 1e-5})
THETA = trap("theta 10000", "rope_theta")
SCALE = trap("scores not scaled", scale=lambda self, *place: 1.0)
WINDOW = [
    trap("window one longer", sees=longer_window(1)),
    trap("window one shorter", sees=longer_window(-1)),
    trap("window ignored", sees=causal_only),
]
GPT2_TRAPS = [
    trap("gelu for gelu_t", act=other_activation(gelu)),
    trap("square maps transposed", conv=conv_transposed),
    trap("q, k, v by head", split=split_by_head),
    trap("k, q, v", split=lambda self, qkv: [qkv.chunk(3, -1)[s] for s in (1, 0, 2)]),
    trap("eps 1e-6", config={"layer_norm_epsilon": 1e-6}),
    SCALE,
]
INVERSE = [
    trap("not by layer", config={"scale_attn_by_inverse_layer_idx": False}),
    trap("by layer from 0", scale=lambda self, i, size: size**-0.5 / max(i, 1)),
]
RMS_TRAPS = [
    trap("mean subtracted", norm=centred),
    trap("gain 1 + w", norm=offset_gain),
    trap("gain left out", norm=gain_left_out),
]
ROPE_TRAPS = [
    trap("rotation of pairs (2j, 2j+1)", rotate_half=rotate_interleaved),
    trap("rotation backwards", rotate_half=lambda self, x, a: Model.rotate_half(self, x, -a)),
]
GATED_TRAPS = [
    trap("gate and up swapped", ffn=swapped_ffn),
    trap("gelu for silu", act=other_activation(gelu)),
]
ALL_LLAMA = [trap("kv heads tiled", share=tile), SCALE, *RMS_TRAPS, *ROPE_TRAPS, *GATED_TRAPS]
SIZE_TRAPS = [
    trap("scale by hidden_size / heads", scale=scale_of_width),
    trap("rotation of hidden_size / heads", position=rotary_of_width),
]
UNTIED = trap("untied taken as tied", config={"tie_word_embeddings": True})
LLAMA_TRAPS = [*ALL_LLAMA, *SIZE_TRAPS, EPS_1E_6, THETA, UNTIED]
Q_K_NORM_LEFT_OUT = trap("norms of q and k left out", norm=norm_without("q_norm", "k_norm"))

TRAPS = {
    "gpt2": GPT2_TRAPS,
    "gpt2-scaled": GPT2_TRAPS + INVERSE,
    "gpt2-short-names": GPT2_TRAPS,
    "llama": LLAMA_TRAPS,
    "llama-tied": [
        *ALL_LLAMA, EPS_1E_6, THETA,
        trap("no bias of o", linear=linear_without("o_proj")),
        trap("no bias of k", linear=linear_without("k_proj")),
        trap("no biases of attention", config={"attention_bias": False}),
        trap("no biases of the mlp", config={"mlp_bias": False}),
    ],
    "llama3": [
        *LLAMA_TRAPS,
        trap("scaling ignored", "rope_scaling"),
        trap("all frequencies divided", rope=rope_with(lambda f, s: f / s["factor"])),
        trap("short waves divided", rope=rope_with(
            lambda f, s: torch.where(f == 1, f / s["factor"], llama3_frequencies(f, s)))),
        trap("no ramp", rope=rope_with(sharp_ramp)),
        trap("long waves kept", rope=rope_with(lambda f, s: torch.where(
            f * s["original_max_position_embeddings"] < s["low_freq_factor"] * 2 * math.pi,
            f, llama3_frequencies(f, s)))),
        trap("max_position_embeddings for the original", config={"rope_scaling": {
            **LLAMA3_SCALING, "original_max_position_embeddings": 32}}),
    ],
    "llama-linear": [
        *[t for t in LLAMA_TRAPS if t is not THETA],
        trap("rope_parameters ignored", "rope_parameters"),
        trap("only rope_theta read", config={"rope_parameters": {"rope_theta": 500000.0}}),
        trap("only the factor read", config={"rope_parameters": {
            "factor": 4.0, "rope_type": "linear"}}),
    ],
    "llama-sharded": LLAMA_TRAPS,
    "mistral": [*ALL_LLAMA, *SIZE_TRAPS, EPS_1E_6, UNTIED],
    "mistral-window": [
        *ALL_LLAMA, *SIZE_TRAPS, EPS_1E_6, UNTIED, *WINDOW,
        trap("window on even layers only",
             window=lambda self, i: None if i % 2 else self.config["sliding_window"]),
    ],
    "qwen2": [
        *ALL_LLAMA, EPS_1E_5, THETA,
        trap("window though it is off", config={"use_sliding_window": True}),
        trap("no biases", biases=lambda self: (False, False)),
        trap("no bias of k", linear=linear_without("k_proj")),
    ],
    "qwen2-window": [
        *ALL_LLAMA, EPS_1E_5, THETA, *WINDOW,
        trap("window on all layers", config={"max_window_layers": 0}),
        trap("window on the first layers",
             window=lambda self, i: None if i else self.config["sliding_window"]),
    ],
    "qwen3": [
        *ALL_LLAMA, *SIZE_TRAPS, EPS_1E_5, THETA, Q_K_NORM_LEFT_OUT,
        trap("norms behind the rotation", queries_keys=norm_behind_rotation),
        trap("one norm of all heads", queries_keys=one_norm_of_all_heads),
    ],
    "olmo2": [
        *ALL_LLAMA, EPS_1E_5, THETA, UNTIED, Q_K_NORM_LEFT_OUT,
        trap("norms behind the rotation", queries_keys=whole_norm_behind_rotation),
        trap("one norm a head", norm=one_norm_a_head),
        trap("norms before the sub-layers", block=olmo2_norms_first),
    ],
}


def try_traps(name):
    """How far each trap moves the logits; whether a test at 2e-5 would notice all of them."""
    case, lines = CASES[name], sentences()
    model = case.model(case.config, case.dtype)
    rows, good = model.outputs(lines), True
    for t in TRAPS[name.removesuffix("-f16").removesuffix("-bf16")]:
        wrong = type("Wrong", (case.model,), t.methods)
        wrong = wrong(changed(case.config, *t.without, **t.config), case.dtype, model.tensors)
        moved = distance(rows, wrong.outputs(lines))
        good = good and moved > 1e-4
        print(f"{name:18} {t.name:40} {moved:8.2g}{'' if moved > 1e-4 else '  not noticed'}")
    return good


def main(arguments):
    if arguments == ["--list"]:
        print("\n".join(CASES))
    elif arguments[:1] == ["--mutants"]:
        names = arguments[1:] or [n for n in CASES if CASES[n].dtype == "F32"]
        sys.exit(0 if all([try_traps(name) for name in names]) else 1)
    else:
        for name in arguments or KEPT:
            write_case(name)


if __name__ == "__main__":
    main(sys.argv[1:])
