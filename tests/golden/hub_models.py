"""The families of published checkpoints, for make_hub.py (PyTorch, double).

The forwards follow the papers and the published configuration keys, each family in its own class.
A tensor is drawn by name when the forward first asks for it, so names and shapes stand here only.
Matrices are large: what goes into activations and softmax has a deviation of 1 or more. Tables of
embeddings are small, as trained ones are, so that the epsilon of the first norm shows.
"""
import math
import torch
import torch.nn.functional as F
from stream import Stream

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
TORCH = {"I64": torch.int64, "F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16,
         "U8": torch.uint8}


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


def everywhere(time, source):
    """A mask that hides nothing."""
    return torch.ones(time, source).bool()


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

    eps_key, eps_default = "rms_norm_eps", 1e-6
    table_scale, deviation = 0.15, 1.5
    rotated = True                     # without rotation a bias of the keys moves nothing
    pairs = False                      # lines are in turn sources and what the decoder reads
    never = None                       # an id that is in no line

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

    def gain(self, name, n):
        """About 1; those of queries and keys are larger, as their scores have no other factor."""
        own = name.split(".")[-1] in ("q_norm", "k_norm", "q_layernorm", "k_layernorm")
        return self.vector(name + ".weight", n, shift=1.5 if own else 1.0)

    def matrix(self, name, rows, cols, inputs):
        """Inputs of deviation 1 give outputs of deviation self.deviation."""
        return self.tensor(name, rows, cols, scale=self.deviation * math.sqrt(3 / inputs))

    def linear(self, name, x, cols, bias=True):
        y = x @ self.matrix(name + ".weight", cols, x.shape[-1], x.shape[-1]).T
        return y + self.vector(name + ".bias", cols) if bias else y

    # layers

    @property
    def eps(self):
        return self.config.get(self.eps_key, self.eps_default)

    def layer_norm(self, name, x):
        n = x.shape[-1]
        return standard(x, self.eps) * self.gain(name, n) + self.vector(name + ".bias", n)

    def rms(self, name, x):
        return root_mean(x, self.eps) * self.gain(name, x.shape[-1])

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
        self.watch("scores", scores, mask)
        return join_heads(scores.masked_fill(~mask, -math.inf).softmax(-1) @ v)

    # checks and results

    def watch(self, kind, x, mask=None):
        """Its deviation, of scores where the mask (T, S) hides nothing."""
        x = x if mask is None else x[:, mask]
        self.deviations.setdefault(kind, []).append(x.detach().std().item())

    def outputs(self, lines):
        lines = [torch.tensor(ids) for ids in lines]
        if self.pairs:
            return torch.cat([self.logits(*pair) for pair in zip(lines[::2], lines[1::2])])
        return torch.cat([self.logits(ids) for ids in lines])

    def loss(self, lines):
        """Of the next token; of pairs, of what the decoder reads."""
        read = list(zip(lines[::2], lines[1::2])) if self.pairs else [(ids,) for ids in lines]
        targets = torch.tensor([t for ids in read for t in ids[-1][1:]])
        logits = [self.logits(*map(torch.tensor, ids))[:-1] for ids in read]
        return F.cross_entropy(torch.cat(logits), targets)

    def without_effect(self, name):
        return not self.rotated and name.endswith(("k_proj.bias", "key.bias", "k_lin.bias"))

    def buffers(self):
        """What old files store beside weights: name to dtype and values."""
        return {}

    def stored_name(self, name):
        return name

    def files(self):
        """Further files of the folder: name to JSON."""
        return {}


# -- GPT-2 ----------------------------------------------------------------------------------------

class GPT2(Model):
    eps_key, eps_default = "layer_norm_epsilon", 1e-5
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


class GPT2Scaled(GPT2):
    """Larger maps, as later layers divide their scores."""

    deviation = 2.0


class GPT2Short(GPT2):
    """No prefix; causal masks of different types, and a number without dimensions."""

    prefix = ""

    def buffers(self):
        n = self.config["n_positions"]
        mask = torch.ones(1, 1, n, n).tril()
        return {"h.0.attn.bias": ("U8", mask), "h.1.attn.bias": ("F32", mask),
                "h.0.attn.masked_bias": ("F32", torch.tensor(-10000.0))}


# -- Llama and what differs little from it --------------------------------------------------------

class Llama(Model):
    default_kv_heads, default_size, tied_default = None, None, False

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
        y = self.attend(q, k, v, self.sees(len(h), self.window(i)), self.scale())
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
        q, k = self.norm(at + "q_norm", q), self.norm(at + "k_norm", k)
        return super().queries_keys(i, at, q, k)

    def block(self, i, at, x):
        y = self.attention(i, at + "self_attn.", x)
        x = x + self.norm(at + "post_attention_layernorm", y)
        return x + self.norm(at + "post_feedforward_layernorm", self.ffn(at + "mlp.", x))


class Olmo(Llama):
    """Norms without gain and bias; queries, keys and values are clamped."""

    eps_key, eps_default = None, 1e-5

    def norm(self, name, x):
        return standard(x, self.eps)

    def clip(self, x):
        limit = self.config.get("clip_qkv")
        return x if limit is None else x.clamp(-limit, limit)

    def linear(self, name, x, cols, bias=True):
        y = super().linear(name, x, cols, bias)
        return self.clip(y) if name.endswith(("q_proj", "k_proj", "v_proj")) else y


class Granite(Llama):
    """Four factors; the scores' one is in place of the root of the head's size."""

    def scale(self):
        return self.config.get("attention_multiplier", 1.0)

    def embed(self, table, ids):
        return self.config.get("embedding_multiplier", 1.0) * table[ids]

    def block(self, i, at, x):
        by = self.config.get("residual_multiplier", 1.0)
        x = x + by * self.attention(i, at + "self_attn.", self.norm(at + "input_layernorm", x))
        return x + by * self.ffn(at + "mlp.", self.norm(at + "post_attention_layernorm", x))

    def head(self, table, x):
        return super().head(table, x) / self.config.get("logits_scaling", 1.0)


class SmolLM3(Llama):
    """Some layers do not rotate."""

    default_kv_heads, tied_default = 4, True

    def rotates(self, i):
        layers = self.config.get("no_rope_layers")
        return layers[i] == 1 if layers else (i + 1) % self.config["no_rope_layer_interval"] != 0

    def position(self, i, q, k):
        return super().position(i, q, k) if self.rotates(i) else (q, k)


class Gemma(Llama):
    """Gains are 1 + w, embeddings are scaled, hidden_act is not what counts."""

    tied_default, default_size = True, 256

    def norm(self, name, x):
        return root_mean(x, self.eps) * self.gain(name, x.shape[-1])

    def gain(self, name, n):
        own = name.endswith(("q_norm", "k_norm"))
        return 1 + self.vector(name + ".weight", n, shift=0.5 if own else 0.0)

    def embed(self, table, ids):
        return math.sqrt(self.config["hidden_size"]) * table[ids]

    def activation(self):
        return self.get("hidden_activation", "gelu_pytorch_tanh")


class Gemma2(Gemma):
    """Norms on both sides of the sub-layers, caps, windows on even layers."""

    attention_cap, logit_cap = 50.0, 30.0

    def scale(self):
        return self.config.get("query_pre_attn_scalar", 256) ** -0.5

    def local(self, i):
        types = self.config.get("layer_types")
        return types[i] == "sliding_attention" if types else i % 2 == 0

    def window(self, i):
        return self.config.get("sliding_window", 4096) if self.local(i) else None

    def attend(self, q, k, v, mask, scale):
        limit = self.config.get("attn_logit_softcapping", self.attention_cap)
        return Llama.attend(self, q, k, v, mask, scale, limit=limit)

    def block(self, i, at, x):
        y = self.attention(i, at + "self_attn.", self.norm(at + "input_layernorm", x))
        x = x + self.norm(at + "post_attention_layernorm", y)
        y = self.ffn(at + "mlp.", self.norm(at + "pre_feedforward_layernorm", x))
        return x + self.norm(at + "post_feedforward_layernorm", y)

    def head(self, table, x):
        return self.cap(super().head(table, x),
                        self.config.get("final_logit_softcapping", self.logit_cap))


class Gemma3(Gemma2):
    """No caps; one norm a head; every n-th layer is global, with a theta of its own."""

    attention_cap = logit_cap = None
    queries_keys = Qwen3.queries_keys

    def local(self, i):
        if self.config.get("layer_types"):
            return super().local(i)
        return (i + 1) % self.config.get("sliding_window_pattern", 6) != 0

    def position(self, i, q, k):
        c, local = self.config, self.local(i)
        if c.get("rope_parameters"):
            scaling = c["rope_parameters"]["sliding_attention" if local else "full_attention"]
            theta = scaling["rope_theta"]
        elif local:
            theta, scaling = c.get("rope_local_base_freq", 10000.0), {}
        else:
            theta, scaling = c.get("rope_theta", 1000000.0), self.get("rope_scaling", {})
        return (self.rope(x, theta, scaling, x.shape[-1]) for x in (q, k))


class Gemma3Multimodal(Gemma3):
    """The text's keys and names lie one step deeper, beside what is for images."""

    def __init__(self, config, dtype="F32", tensors=None):
        super().__init__(config["text_config"], dtype, tensors)

    def stored_name(self, name):
        return "language_model." + name

    def buffers(self):
        names = {"multi_modal_projector.mm_input_projection_weight": [8, 24],
                 "multi_modal_projector.mm_soft_emb_norm.weight": [8],
                 "vision_tower.vision_model.embeddings.patch_embedding.weight": [8, 3, 2, 2],
                 "vision_tower.vision_model.post_layernorm.bias": [8]}
        return {n: (self.dtype, Stream(n).draw(*shape)) for n, shape in names.items()}


class Gemma3Newer(Gemma3Multimodal):
    """Names since version 4.52."""

    def stored_name(self, name):
        return name.replace("model.", "model.language_model.", 1)

    def buffers(self):
        return {"model." + n: x for n, x in super().buffers().items()}


# -- decoders with layer norms --------------------------------------------------------------------

class NeoX(Model):
    eps_key, eps_default = "layer_norm_eps", 1e-5

    def split(self, qkv):
        """(T, [heads][q, k, v][size]) to three times (heads, T, size)."""
        parts = qkv.reshape(len(qkv), self.config["num_attention_heads"], 3, -1)
        return (parts[:, :, s].transpose(0, 1) for s in range(3))

    def position(self, x):
        c = self.config
        new = c.get("rope_parameters", {})
        theta = new.get("rope_theta", c.get("rotary_emb_base", 10000))
        part = new.get("partial_rotary_factor", c.get("rotary_pct", 0.25))
        return self.rope(x, theta, new or self.get("rope_scaling", {}), int(x.shape[-1] * part))

    def attention(self, at, h):
        width, bias = self.config["hidden_size"], self.config.get("attention_bias", True)
        q, k, v = self.split(self.linear(at + "query_key_value", h, 3 * width, bias))
        y = self.attend(self.position(q), self.position(k), v, self.sees(len(h), None),
                        q.shape[-1] ** -0.5)
        return self.linear(at + "dense", y, width, bias)

    def ffn(self, at, h):
        c = self.config
        a = self.act(c["hidden_act"], self.linear(at + "dense_h_to_4h", h, c["intermediate_size"]))
        return self.linear(at + "dense_4h_to_h", a, c["hidden_size"])

    def block(self, at, x):
        y = x + self.attention(at + "attention.", self.layer_norm(at + "input_layernorm", x))
        ffn_input = x if self.config.get("use_parallel_residual", True) else y
        h = self.layer_norm(at + "post_attention_layernorm", ffn_input)
        return y + self.ffn(at + "mlp.", h)

    def logits(self, ids):
        c = self.config
        x = self.table("gpt_neox.embed_in", c["vocab_size"], c["hidden_size"])[ids]
        for i in range(c["num_hidden_layers"]):
            x = self.block(f"gpt_neox.layers.{i}.", x)
        x = self.layer_norm("gpt_neox.final_layer_norm", x)
        return self.linear("embed_out", x, c["vocab_size"], False)

    def buffers(self):
        mask, at = torch.ones(1, 1, 32, 32).tril(), "gpt_neox.layers.0.attention."
        return {at + "bias": ("U8", mask), at + "masked_bias": ("F32", torch.tensor(-1e9)),
                at + "rotary_emb.inv_freq": ("F32", torch.tensor([1.0, 0.01]))}


class Phi(Model):
    """One norm a layer, whose output both sub-layers read; biases everywhere."""

    eps_key, eps_default = "layer_norm_eps", 1e-5

    def position(self, x):
        c = self.config
        theta, scaling = self.rope_settings()
        part = scaling.get("partial_rotary_factor", c.get("partial_rotary_factor", 0.5))
        return self.rope(x, theta, scaling, int(x.shape[-1] * part))

    def queries_keys(self, at, q, k):
        if self.config.get("qk_layernorm", False):
            q = self.layer_norm(at + "q_layernorm", q)
            k = self.layer_norm(at + "k_layernorm", k)
        return self.position(q), self.position(k)

    def attention(self, at, h):
        width, heads = self.config["hidden_size"], self.config["num_attention_heads"]
        kv_heads = self.get("num_key_value_heads", heads)
        size = width // heads
        q = split_heads(self.linear(at + "q_proj", h, heads * size), heads)
        k = split_heads(self.linear(at + "k_proj", h, kv_heads * size), kv_heads)
        v = split_heads(self.linear(at + "v_proj", h, kv_heads * size), kv_heads)
        q, k = self.queries_keys(at, q, k)
        return self.linear(at + "dense", self.attend(q, k, v, self.sees(len(h), None), size**-0.5),
                           width)

    def ffn(self, at, h):
        c = self.config
        a = self.act(c["hidden_act"], self.linear(at + "fc1", h, c["intermediate_size"]))
        return self.linear(at + "fc2", a, c["hidden_size"])

    def block(self, at, x):
        h = self.layer_norm(at + "input_layernorm", x)
        return x + self.attention(at + "self_attn.", h) + self.ffn(at + "mlp.", h)

    def logits(self, ids):
        c = self.config
        x = self.table("model.embed_tokens", c["vocab_size"], c["hidden_size"])[ids]
        for i in range(c["num_hidden_layers"]):
            x = self.block(f"model.layers.{i}.", x)
        return self.linear("lm_head", self.layer_norm("model.final_layernorm", x), c["vocab_size"])


class Phi3(Llama):
    """Queries, keys and values in one matrix, gate and up in another."""

    eps_default = 1e-5

    def window(self, i):
        return self.config.get("sliding_window")

    def position(self, i, q, k):
        theta, scaling = self.rope_settings()
        part = scaling.get("partial_rotary_factor", self.config.get("partial_rotary_factor", 1.0))
        return (self.rope(x, theta, scaling, int(x.shape[-1] * part)) for x in (q, k))

    def split(self, qkv):
        heads, kv_heads, size = self.sizes()
        return qkv.split([heads * size, kv_heads * size, kv_heads * size], -1)

    def attention(self, i, at, h):
        heads, kv_heads, size = self.sizes()
        qkv = self.linear(at + "qkv_proj", h, (heads + 2 * kv_heads) * size, False)
        q, k, v = self.split(qkv)
        q, k = self.queries_keys(i, at, q, k)
        y = self.attend(q, k, split_heads(v, kv_heads), self.sees(len(h), self.window(i)),
                        self.scale())
        return self.linear(at + "o_proj", y, self.config["hidden_size"], False)

    def halves(self, both):
        return both.chunk(2, -1)

    def ffn(self, at, h):
        both = self.linear(at + "gate_up_proj", h, 2 * self.config["intermediate_size"], False)
        gate, up = self.halves(both)
        return self.linear(at + "down_proj", self.act(self.activation(), gate) * up,
                           self.config["hidden_size"], False)


class StableLM(Llama):
    """Layer norms; a part of a head rotates; one norm for both sub-layers if they are parallel."""

    eps_key, eps_default = "layer_norm_eps", 1e-5

    def biases(self):
        return self.config.get("use_qkv_bias", False), False

    def norm(self, name, x):
        return self.layer_norm(name, x)

    def position(self, i, q, k):
        theta, scaling = self.rope_settings()
        part = self.config.get("partial_rotary_factor", 0.25)
        return (self.rope(x, theta, scaling, int(x.shape[-1] * part)) for x in (q, k))

    def block(self, i, at, x):
        if not self.config.get("use_parallel_residual", False):
            return super().block(i, at, x)
        h = self.norm(at + "input_layernorm", x)
        return x + self.attention(i, at + "self_attn.", h) + self.ffn(at + "mlp.", h)


class GPTNeo(Model):
    """Scores are not scaled; every second layer sees only the last tokens."""

    eps_key, eps_default = "layer_norm_epsilon", 1e-5
    deviation = 1.0

    def layers(self):
        c = self.config
        types = [name for names, n in c["attention_types"] for _ in range(n) for name in names]
        return c.get("attention_layers", types)

    def window(self, i):
        return self.config.get("window_size", 256) if self.layers()[i] == "local" else None

    def scale(self, size):
        return 1.0

    def attention(self, i, at, h):
        width, heads = self.config["hidden_size"], self.config["num_heads"]
        q, k, v = (split_heads(self.linear(at + part, h, width, False), heads)
                   for part in ("q_proj", "k_proj", "v_proj"))
        y = self.attend(q, k, v, self.sees(len(h), self.window(i)), self.scale(q.shape[-1]))
        return self.linear(at + "out_proj", y, width)

    def ffn(self, at, h):
        width = self.config["hidden_size"]
        a = self.linear(at + "c_fc", h, self.get("intermediate_size", 4 * width))
        return self.linear(at + "c_proj", self.act(self.config["activation_function"], a), width)

    def logits(self, ids):
        c, p = self.config, "transformer."
        table = self.table(p + "wte", c["vocab_size"], c["hidden_size"])
        places = self.table(p + "wpe", c["max_position_embeddings"], c["hidden_size"])
        x = table[ids] + places[:len(ids)]
        for i in range(c["num_layers"]):
            at = f"{p}h.{i}."
            x = x + self.attention(i, at + "attn.attention.", self.layer_norm(at + "ln_1", x))
            x = x + self.ffn(at + "mlp.", self.layer_norm(at + "ln_2", x))
        return self.layer_norm(p + "ln_f", x) @ table.T

    def buffers(self):
        n, at = self.config["max_position_embeddings"], "transformer.h.0.attn.attention."
        return {at + "bias": ("U8", torch.ones(1, 1, n, n).tril()),
                at + "masked_bias": ("F32", torch.tensor(-1e9))}


class GPTJ(Model):
    """One norm a layer; neighbours of the first rotary_dim features turn together."""

    eps_key, eps_default = "layer_norm_epsilon", 1e-5

    def rotate_half(self, x, angles):
        r = 2 * angles.shape[-1]
        a, b, rest = x[..., 0:r:2], x[..., 1:r:2], x[..., r:]
        cos, sin = angles.cos(), angles.sin()
        pairs = torch.stack([a * cos - b * sin, b * cos + a * sin], -1)
        return torch.cat([pairs.flatten(-2), rest], -1)

    def position(self, x):
        return self.rope(x, 10000.0, {}, self.config.get("rotary_dim", 64))

    def attention(self, at, h):
        width, heads = self.config["n_embd"], self.config["n_head"]
        q, k, v = (split_heads(self.linear(at + part, h, width, False), heads)
                   for part in ("q_proj", "k_proj", "v_proj"))
        y = self.attend(self.position(q), self.position(k), v, self.sees(len(h), None),
                        q.shape[-1] ** -0.5)
        return self.linear(at + "out_proj", y, width, False)

    def ffn(self, at, h):
        width = self.config["n_embd"]
        a = self.linear(at + "fc_in", h, self.get("n_inner", 4 * width))
        return self.linear(at + "fc_out", self.act(self.config["activation_function"], a), width)

    def block(self, at, x):
        h = self.layer_norm(at + "ln_1", x)
        return x + self.attention(at + "attn.", h) + self.ffn(at + "mlp.", h)

    def logits(self, ids):
        c = self.config
        x = self.table("transformer.wte", c["vocab_size"], c["n_embd"])[ids]
        for i in range(c["n_layer"]):
            x = self.block(f"transformer.h.{i}.", x)
        return self.linear("lm_head", self.layer_norm("transformer.ln_f", x), c["vocab_size"])

    def buffers(self):
        n = self.config["n_positions"]
        mask = torch.ones(1, 1, n, n).tril()
        return {"transformer.h.0.attn.bias": ("U8", mask),
                "transformer.h.0.attn.masked_bias": ("F32", torch.tensor(-1e9))}


class Attention(Model):
    """Separate maps with biases, no rotation; names differ: OPT, encoders, Marian."""

    rotated = False
    parts = "q_proj", "k_proj", "v_proj", "out_proj"

    def attention(self, at, h, memory, mask, heads):
        """Queries of h, keys and values of memory."""
        q, k, v = (split_heads(self.linear(at + part, x, h.shape[-1]), heads)
                   for part, x in zip(self.parts, (h, memory, memory)))
        y = self.attend(q, k, v, mask, q.shape[-1] ** -0.5)
        return self.linear(at + self.parts[3], y, h.shape[-1])


class OPT(Attention):
    eps_key, eps_default = None, 1e-5

    def ffn(self, at, h):
        c = self.config
        a = self.act(c["activation_function"], self.linear(at + "fc1", h, c["ffn_dim"]))
        return self.linear(at + "fc2", a, c["hidden_size"])

    def join(self, norm, x, f):
        if self.config.get("do_layer_norm_before", True):
            return x + f(self.layer_norm(norm, x))
        return self.layer_norm(norm, x + f(x))

    def block(self, at, x):
        mask, heads = self.sees(len(x), None), self.config["num_attention_heads"]
        x = self.join(at + "self_attn_layer_norm", x,
                      lambda h: self.attention(at + "self_attn.", h, h, mask, heads))
        return self.join(at + "final_layer_norm", x, lambda h: self.ffn(at, h))

    def positions(self, table, time):
        return table[2:time + 2]

    def logits(self, ids):
        c, p = self.config, "model.decoder."
        width = c["hidden_size"]
        inner = self.get("word_embed_proj_dim", width)
        table = self.table(p + "embed_tokens", c["vocab_size"], inner)
        places = self.table(p + "embed_positions", c["max_position_embeddings"] + 2, width)
        x = table[ids]
        if inner != width:
            x = self.linear(p + "project_in", x, width, False)
        x = x + self.positions(places, len(ids))
        for i in range(c["num_hidden_layers"]):
            x = self.block(f"{p}layers.{i}.", x)
        if c.get("do_layer_norm_before", True) and not c.get("_remove_final_layer_norm", False):
            x = self.layer_norm(p + "final_layer_norm", x)
        if inner != width:
            x = self.linear(p + "project_out", x, inner, False)
        return x @ table.T


class OPT350(OPT):
    """No norm before the first attention: embeddings are as large as what a norm gives."""

    table_scale = 1.5


def alibi_slopes(heads):
    n = 2 ** int(math.log2(heads))
    return torch.tensor([2 ** (-8 * (h + 1) / n) if h < n else 2 ** (-4 * (2 * (h - n) + 1) / n)
                         for h in range(heads)])


class Bloom(Model):
    eps_key, prefix = "layer_norm_epsilon", ""

    def size(self, new, old):
        return self.config[new if new in self.config else old]

    def slopes(self, heads):
        return alibi_slopes(heads)

    def split(self, qkv):
        parts = qkv.reshape(len(qkv), self.size("n_head", "num_attention_heads"), 3, -1)
        return (parts[:, :, s].transpose(0, 1) for s in range(3))

    def attention(self, at, h):
        q, k, v = self.split(self.linear(at + "query_key_value", h, 3 * h.shape[-1]))
        bias = self.slopes(len(q))[:, None, None] * torch.arange(len(h))
        y = self.attend(q, k, v, self.sees(len(h), None), q.shape[-1] ** -0.5, bias)
        return self.linear(at + "dense", y, h.shape[-1])

    def ffn(self, at, h):
        a = self.act("gelu_new", self.linear(at + "dense_h_to_4h", h, 4 * h.shape[-1]))
        return self.linear(at + "dense_4h_to_h", a, h.shape[-1])

    def block(self, at, x):
        after = self.config.get("apply_residual_connection_post_layernorm", False)
        h = self.layer_norm(at + "input_layernorm", x)
        x = (h if after else x) + self.attention(at + "self_attention.", h)
        h = self.layer_norm(at + "post_attention_layernorm", x)
        return (h if after else x) + self.ffn(at + "mlp.", h)

    def logits(self, ids):
        p, width = self.prefix, self.size("hidden_size", "n_embed")
        table = self.table(p + "word_embeddings", self.config["vocab_size"], width)
        x = self.layer_norm(p + "word_embeddings_layernorm", table[ids])
        for i in range(self.size("n_layer", "num_hidden_layers")):
            x = self.block(f"{p}h.{i}.", x)
        return self.layer_norm(p + "ln_f", x) @ table.T


class BloomPrefixed(Bloom):
    prefix = "transformer."


# -- encoders -------------------------------------------------------------------------------------

class Bert(Attention):
    """Post-LN; the MLM head reads the table of words."""

    eps_key, eps_default, prefix = "layer_norm_eps", 1e-12, "bert."
    parts = "attention.self.query", "attention.self.key", "attention.self.value", \
        "attention.output.dense"

    def embed(self, table, ids):
        c, p = self.config, self.prefix + "embeddings."
        width = c["hidden_size"]
        places = self.table(p + "position_embeddings", c["max_position_embeddings"], width)
        types = self.table(p + "token_type_embeddings", c["type_vocab_size"], width)
        return self.layer_norm(p + "LayerNorm", table[ids] + places[:len(ids)] + types[0])

    def block(self, at, x):
        c = self.config
        y = self.attention(at, x, x, everywhere(len(x), len(x)), c["num_attention_heads"])
        x = self.layer_norm(at + "attention.output.LayerNorm", x + y)
        a = self.linear(at + "intermediate.dense", x, c["intermediate_size"])
        y = self.linear(at + "output.dense", self.act(c["hidden_act"], a), c["hidden_size"])
        return self.layer_norm(at + "output.LayerNorm", x + y)

    def words(self):
        c, name = self.config, self.prefix + "embeddings.word_embeddings"
        return self.table(name, c["vocab_size"], c["hidden_size"])

    def hidden(self, ids):
        x = self.embed(self.words(), ids)
        for i in range(self.config["num_hidden_layers"]):
            x = self.block(f"{self.prefix}encoder.layer.{i}.", x)
        return x

    def pooled(self, x):
        return torch.tanh(self.linear(self.prefix + "pooler.dense", x[:1], x.shape[-1]))

    def logits(self, ids):
        p = "cls.predictions."
        x = self.hidden(ids)
        x = self.act(self.config["hidden_act"],
                     self.linear(p + "transform.dense", x, x.shape[-1]))
        x = self.layer_norm(p + "transform.LayerNorm", x)
        return x @ self.words().T + self.vector(p + "bias", self.config["vocab_size"])


class BertOld(Bert):
    """LayerNorm.gamma and .beta; copies, and heads and buffers that the logits do not need."""

    def layer_norm(self, name, x):
        gain = self.vector(name + ".gamma", x.shape[-1], shift=1.0)
        return standard(x, self.eps) * gain + self.vector(name + ".beta", x.shape[-1])

    def buffers(self):
        c, table = self.config, self.words()
        width = c["hidden_size"]
        names = {"bert.pooler.dense.weight": [width, width], "bert.pooler.dense.bias": [width],
                 "cls.seq_relationship.weight": [2, width], "cls.seq_relationship.bias": [2]}
        unused = {n: (self.dtype, Stream(n).draw(*shape)) for n, shape in names.items()}
        return {**unused, "cls.predictions.decoder.weight": (self.dtype, table),
                "bert.embeddings.position_ids": (
                    "I64", torch.arange(c["max_position_embeddings"])[None])}


class BertModel(Bert):
    """Without a head: hidden vectors, then the pooled one."""

    prefix = ""

    def logits(self, ids):
        x = self.hidden(ids)
        return torch.cat([x, self.pooled(x)])


class Classes:
    """One of some classes of a line; the first lines are of the first classes."""

    def logits(self, ids):
        return self.linear("classifier", self.pooled(self.hidden(ids)),
                           len(self.config["id2label"]))

    def loss(self, lines):
        return F.cross_entropy(self.outputs(lines), torch.arange(len(lines)))


class BertClasses(Classes, Bert):
    pass


class MiniLM(BertModel):
    """Hidden vectors, the pooled one, and the sentence's: their mean, of length 1."""

    def sentence(self, x):
        return F.normalize(x.mean(0, keepdim=True))

    def logits(self, ids):
        x = self.hidden(ids)
        return torch.cat([x, self.pooled(x), self.sentence(x)])

    def files(self):
        part = "sentence_transformers.models."
        return {
            "modules.json": [
                {"idx": 0, "name": "0", "path": "", "type": part + "Transformer"},
                {"idx": 1, "name": "1", "path": "1_Pooling", "type": part + "Pooling"},
                {"idx": 2, "name": "2", "path": "2_Normalize", "type": part + "Normalize"}],
            "1_Pooling/config.json": {
                "word_embedding_dimension": self.config["hidden_size"],
                "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True,
                "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False},
            "sentence_bert_config.json": {"max_seq_length": 16, "do_lower_case": False}}


class DistilBert(Attention):
    """BERT without token types, with other names."""

    eps_key, eps_default = None, 1e-12
    parts = "q_lin", "k_lin", "v_lin", "out_lin"

    def block(self, at, x):
        c = self.config
        y = self.attention(at + "attention.", x, x, everywhere(len(x), len(x)), c["n_heads"])
        x = self.layer_norm(at + "sa_layer_norm", x + y)
        a = self.act(c["activation"], self.linear(at + "ffn.lin1", x, c["hidden_dim"]))
        y = self.linear(at + "ffn.lin2", a, c["dim"])
        return self.layer_norm(at + "output_layer_norm", x + y)

    def words(self):
        c, name = self.config, "distilbert.embeddings.word_embeddings"
        return self.table(name, c["vocab_size"], c["dim"])

    def hidden(self, ids):
        c, p, table = self.config, "distilbert.embeddings.", self.words()
        places = self.table(p + "position_embeddings", c["max_position_embeddings"], c["dim"])
        x = self.layer_norm(p + "LayerNorm", table[ids] + places[:len(ids)])
        for i in range(c["n_layers"]):
            x = self.block(f"distilbert.transformer.layer.{i}.", x)
        return x

    def logits(self, ids):
        c = self.config
        x = self.act(c["activation"], self.linear("vocab_transform", self.hidden(ids), c["dim"]))
        x = self.layer_norm("vocab_layer_norm", x)
        return x @ self.words().T + self.vector("vocab_projector.bias", c["vocab_size"])


class DistilBertClasses(Classes, DistilBert):
    def pooled(self, x):
        return torch.relu(self.linear("pre_classifier", x[:1], self.config["dim"]))


# -- encoder-decoders: logits of a source and what the decoder reads ------------------------------

class Marian(Attention):
    """Post-LN, sines and cosines for positions, a bias of the logits."""

    pairs, eps_key, eps_default = True, None, 1e-5
    table_scale, deviation = 0.5, 1.6

    def sines(self, time):
        width = self.config["d_model"]
        angles = torch.arange(time)[:, None] * 10000 ** (-2 * torch.arange(width // 2) / width)
        return torch.cat([angles.sin(), angles.cos()], -1)

    def embed(self, stack, ids):
        c = self.config
        scale = math.sqrt(c["d_model"]) if c.get("scale_embedding", False) else 1.0
        return scale * self.words(stack)[ids] + self.sines(len(ids))

    def words(self, stack):
        c, name = self.config, "model.shared"
        if not c.get("share_encoder_decoder_embeddings", True):
            name = f"model.{stack}.embed_tokens"
        return self.table(name, c["vocab_size"], c["d_model"])

    def ffn(self, at, x, inner):
        a = self.act(self.get("activation_function", "gelu"), self.linear(at + "fc1", x, inner))
        return self.linear(at + "fc2", a, x.shape[-1])

    def block(self, at, x, stack, mask, memory=None):
        heads, inner = (self.config[stack + s] for s in ("_attention_heads", "_ffn_dim"))
        y = self.attention(at + "self_attn.", x, x, mask, heads)
        x = self.layer_norm(at + "self_attn_layer_norm", x + y)
        if memory is not None:
            both = everywhere(len(x), len(memory))
            y = self.attention(at + "encoder_attn.", x, memory, both, heads)
            x = self.layer_norm(at + "encoder_attn_layer_norm", x + y)
        return self.layer_norm(at + "final_layer_norm", x + self.ffn(at, x, inner))

    def logits(self, source, target):
        c = self.config
        memory, both = self.embed("encoder", source), everywhere(len(source), len(source))
        for i in range(c["encoder_layers"]):
            memory = self.block(f"model.encoder.layers.{i}.", memory, "encoder", both)
        x, before = self.embed("decoder", target), self.sees(len(target), None)
        for i in range(c["decoder_layers"]):
            x = self.block(f"model.decoder.layers.{i}.", x, "decoder", before, memory)
        bias = self.tensor("final_logits_bias", 1, c["vocab_size"], scale=0.5)
        return x @ self.words("decoder").T + bias[0]

    def buffers(self):
        """Tables of positions, always F32: whether a reader takes these or computes its own."""
        places = self.sines(self.config["max_position_embeddings"])
        return {f"model.{stack}.embed_positions.weight": ("F32", places)
                for stack in ("encoder", "decoder")}


class MarianSeparate(Marian):
    """Embeddings are not scaled, but large."""

    table_scale = 1.5


class T5(Model):
    """Pre-RMS, scores as they are plus a learned bias of the distance, no biases of maps."""

    pairs, eps_key, stored_head = True, "layer_norm_epsilon", False
    default_ffn, default_tied = "relu", True

    def bucket(self, r, two_sided):
        """Of r = key - query."""
        n = self.config.get("relative_attention_num_buckets", 32)
        longest = self.config.get("relative_attention_max_distance", 128)
        if two_sided:
            return n // 2 * (r > 0) + self.one_sided(abs(r), n // 2, longest)
        return self.one_sided(max(-r, 0), n, longest)

    def one_sided(self, r, n, longest):
        exact = n // 2
        if r < exact:
            return r
        far = math.log(r / exact) / math.log(longest / exact) * (n - exact)
        return min(n - 1, exact + int(far))

    def distance(self, query, key):
        return key - query

    def bias(self, stack, time):
        """(heads, T, T), of layer 0 for all layers."""
        c = self.config
        name = stack + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        n = c.get("relative_attention_num_buckets", 32)
        table = self.tensor(name, n, c["num_heads"], scale=2.0)
        rows = [[self.bucket(self.distance(q, k), stack == "encoder") for k in range(time)]
                for q in range(time)]
        return table[torch.tensor(rows)].permute(2, 0, 1)

    def attention(self, at, h, memory, mask, bias=0.0):
        c = self.config
        heads, size = c["num_heads"], c["d_kv"]
        scale = self.scale(size)
        q = h @ self.matrix(at + "q.weight", heads * size, h.shape[-1], size * h.shape[-1]).T
        k, v = (split_heads(self.linear(at + s, memory, heads * size, False), heads) for s in "kv")
        y = self.attend(split_heads(q, heads), k, v, mask, scale, bias)
        return self.linear(at + "o", y, h.shape[-1], False)

    def scale(self, size):
        return 1.0

    def ffn(self, at, h):
        c = self.config
        kind = c.get("feed_forward_proj", self.default_ffn)
        if kind == "gated-gelu":
            a = self.act("gelu_new", self.linear(at + "wi_0", h, c["d_ff"], False))
            a = a * self.linear(at + "wi_1", h, c["d_ff"], False)
        else:
            a = self.act(kind, self.linear(at + "wi", h, c["d_ff"], False))
        return self.linear(at + "wo", a, c["d_model"], False)

    def stack(self, name, x, layers, mask, memory=None):
        bias = self.bias(name, len(x))
        for i in range(layers):
            at = f"{name}.block.{i}.layer."
            h = self.rms(at + "0.layer_norm", x)
            x = x + self.attention(at + "0.SelfAttention.", h, h, mask, bias)
            if memory is not None:
                h = self.rms(at + "1.layer_norm", x)
                x = x + self.attention(at + "1.EncDecAttention.", h, memory,
                                       everywhere(len(x), len(memory)))
            last = 1 if memory is None else 2
            h = self.rms(f"{at}{last}.layer_norm", x)
            x = x + self.ffn(f"{at}{last}.DenseReluDense.", h)
        return self.rms(name + ".final_layer_norm", x)

    def logits(self, source, target):
        c = self.config
        table = self.table("shared", c["vocab_size"], c["d_model"])
        both = everywhere(len(source), len(source))
        memory = self.stack("encoder", table[source], c["num_layers"], both)
        x = self.stack("decoder", table[target], self.get("num_decoder_layers", c["num_layers"]),
                       self.sees(len(target), None), memory)
        if c.get("scale_decoder_outputs", c.get("tie_word_embeddings", self.default_tied)):
            x = x * c["d_model"] ** -0.5
        return self.linear("lm_head", x, len(table), False) if self.stored_head else x @ table.T

    def buffers(self):
        """Old files have copies of the table and a bias that nothing reads."""
        name = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
        c = self.config
        unused = Stream(name).draw(c["relative_attention_num_buckets"], c["num_heads"])
        return {"encoder.embed_tokens.weight": (self.dtype, self.tensors["shared.weight"]),
                "decoder.embed_tokens.weight": (self.dtype, self.tensors["shared.weight"]),
                name: (self.dtype, unused)}


class T5v11(T5):
    stored_head = True

    def buffers(self):
        return {}


class MT5(T5v11):
    """T5 v1.1 by default."""

    default_ffn, default_tied = "gated-gelu", False
