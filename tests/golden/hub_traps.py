"""Wrong readings of checkpoints that still give plausible text, for make_hub.py --mutants."""
import math
from typing import NamedTuple
import torch
import torch.nn.functional as F
from hub_models import (
    alibi_slopes, Bert, BertModel, DistilBertClasses, everywhere, gelu, gelu_tanh, Gemma, Gemma3,
    GPT2, GPTJ, join_heads, Llama, llama3_frequencies, Marian, Model, Olmo, Phi3, root_mean, split_heads,
    StableLM, standard, T5)


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
    return standard(x, self.eps) * self.gain(name, x.shape[-1])


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
    gains = (self.gain(at + n, size) for n in ("q_norm", "k_norm"))
    return self.position(i, *(x * g for x, g in zip((q, k), gains)))


def one_norm_a_head(self, name, x):
    """OLMo 2's gains, Qwen3's mean."""
    if not name.endswith(("q_norm", "k_norm")):
        return self.rms(name, x)
    size = self.sizes()[2]
    by_head = root_mean(x.unflatten(-1, (-1, size)), self.eps).flatten(1)
    return by_head * self.gain(name, x.shape[-1])


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


def theta_of_all_layers(local):
    """One rotation for all layers of gemma3."""
    def position(self, i, q, k):
        layers = range(self.config["num_hidden_layers"])
        place = next(n for n in layers if self.local(n) == local)
        return Gemma3.position(self, place, q, k)
    return position


def local_scaled_too(self, i, q, k):
    theta, scaling = (1e4 if self.local(i) else 1e6), {"factor": 8.0, "rope_type": "linear"}
    return (self.rope(x, theta, scaling, x.shape[-1]) for x in (q, k))


def cap_behind_mask(self, q, k, v, mask, scale):
    """Hidden keys have the score -limit."""
    k, v = self.share(k, len(q)), self.share(v, len(q))
    limit = self.config["attn_logit_softcapping"]
    scores = (q @ k.transpose(1, 2) * scale).masked_fill(~mask, -math.inf)
    return join_heads(self.cap(scores, limit).softmax(-1) @ v)


def gemma2_norms_as_llama(self, i, at, x):
    """post_attention_layernorm in front of the FFN."""
    x = x + self.attention(i, at + "self_attn.", self.norm(at + "input_layernorm", x))
    return x + self.ffn(at + "mlp.", self.norm(at + "post_attention_layernorm", x))


def parts_in_a_row(self, qkv):
    """All q, all k, all v, as gpt2 stores them."""
    heads = self.config["num_attention_heads"] if "num_attention_heads" in self.config \
        else self.config["n_head"]
    return (split_heads(s, heads) for s in qkv.chunk(3, -1))


def rotary_part(first, part):
    """`part` of a head rotates: the first features or the last."""
    def position(self, x):
        r = int(x.shape[-1] * part)
        theta = self.config.get("rotary_emb_base", self.config.get("rope_theta"))
        if first:
            return self.rope(x, theta, {}, r)
        rest = x.shape[-1] - r
        return torch.cat([x[..., :rest], self.rope(x[..., rest:], theta, {}, r)], -1)
    return position


def one_norm_for_both(self, at, x):
    h = self.layer_norm(at + "input_layernorm", x)
    return x + self.attention(at + "attention.", h) + self.ffn(at + "mlp.", h)


def one_after_the_other(self, at, x):
    x = x + self.attention(at + "self_attn.", self.layer_norm(at + "input_layernorm", x))
    return x + self.ffn(at + "mlp.", self.layer_norm(at + "input_layernorm", x))


def layer_norm_behind_rotation(self, at, q, k):
    return (self.layer_norm(at + n, self.position(x))
            for n, x in (("q_layernorm", q), ("k_layernorm", k)))


def layer_norm_as_rms(self, name, x):
    return root_mean(x, self.eps) * self.gain(name, x.shape[-1])


def layer_norm_without(*names):
    def layer_norm(self, name, x):
        return x if name.endswith(names) else Model.layer_norm(self, name, x)
    return layer_norm


def positions_from(first):
    return lambda self, table, time: table[first:first + time]


def without_types(self, table, ids):
    p = self.prefix + "embeddings."
    places = self.tensors[p + "position_embeddings.weight"]
    return self.layer_norm(p + "LayerNorm", table[ids] + places[:len(ids)])


def places_from_two(self, table, ids):
    p = self.prefix + "embeddings."
    places, types = (self.tensors[f"{p}{n}_embeddings.weight"] for n in ("position", "token_type"))
    return self.layer_norm(p + "LayerNorm", table[ids] + places[2:len(ids) + 2] + types[0])


def causal_attend(self, q, k, v, mask, scale):
    return Model.attend(self, q, k, v, mask & self.sees(*mask.shape[:1], None), scale)


def vector_without(name_end):
    """A bias read as zeros."""
    def vector(self, name, n, shift=0.0):
        v = Model.vector(self, name, n, shift)
        return torch.zeros_like(v) if name.endswith(name_end) else v
    return vector


def other_scale(f):
    """Scores have another factor."""
    def attend(self, q, k, v, mask, scale, *more):
        return Model.attend(self, q, k, v, mask, scale * f(q.shape[-1]), *more)
    return attend


def sines_interleaved(self, time):
    return Marian.sines(self, time).unflatten(-1, (2, -1)).transpose(1, 2).flatten(1)


def sines_of_fairseq(self, time):
    half = self.config["d_model"] // 2
    angles = torch.arange(time)[:, None] * 10000 ** (-torch.arange(half) / (half - 1))
    return torch.cat([angles.sin(), angles.cos()], -1)


def first_layer_bias(self, at, h, memory, mask, bias=0.0):
    return T5.attention(self, at, h, memory, mask, bias if ".0.layer.0." in at else 0.0)


def swapped_gates(self, name, x, cols, bias=True):
    other = {"wi_0": "wi_1", "wi_1": "wi_0"}
    head, _, tail = name.rpartition(".")
    return Model.linear(self, f"{head}.{other.get(tail, tail)}" if head else name, x, cols, bias)


def new_rope_traps(theta):
    """Of rope_parameters with theta and a part of 0.7."""
    return [
        trap("rope_parameters ignored", "rope_parameters"),
        trap("only rope_theta read", config={"rope_parameters": {"rope_theta": theta}}),
        trap("only the part read", config={"rope_parameters": {"partial_rotary_factor": 0.7}}),
    ]


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

GELU = trap("gelu for gelu_t", act=other_activation(gelu))
GELU_TANH = trap("gelu_t for gelu", act=other_activation(gelu_tanh))
GEMMA_TRAPS = [
    trap("kv heads tiled", share=tile), *ROPE_TRAPS, *SIZE_TRAPS, GELU, EPS_1E_6,
    trap("gain w", gain=lambda self, name, n: Gemma.gain(self, name, n) - 1),
    trap("mean subtracted", norm=centred),
    trap("gate and up swapped", ffn=swapped_ffn),
    trap("embeddings not scaled", embed=lambda self, table, ids: table[ids]),
    trap("scaled table for the head", head=lambda self, table, x: type(self).__mro__[1].head(
        self, math.sqrt(table.shape[1]) * table, x)),
]
GEMMA2_TRAPS = [
    *GEMMA_TRAPS, *WINDOW,
    trap("scale by the head's size", scale=lambda self: self.sizes()[2] ** -0.5),
    trap("window on odd layers", local=lambda self, i: i % 2 == 1),
    trap("window everywhere", window=lambda self, i: self.config["sliding_window"]),
    trap("norms of llama", block=gemma2_norms_as_llama),
]
GEMMA3_TRAPS = [
    *[t for t in GEMMA2_TRAPS if t.name != "window on odd layers"], Q_K_NORM_LEFT_OUT,
    trap("norms behind the rotation", queries_keys=norm_behind_rotation),
    trap("gain w of q and k", gain=lambda self, name, n: Gemma.gain(self, name, n) - (
        1 if name.endswith(("q_norm", "k_norm")) else 0)),
    trap("local theta everywhere", position=theta_of_all_layers(True)),
    trap("global theta everywhere", position=theta_of_all_layers(False)),
    trap("local layers scaled, too", position=local_scaled_too),
]
NEOX_TRAPS = [
    *ROPE_TRAPS, GELU_TANH,
    trap("all q, all k, all v", split=parts_in_a_row),
    trap("all features rotated", position=rotary_part(True, 1)),
    trap("last features rotated", position=rotary_part(False, 0.7)),
    trap("a quarter rotated", "rotary_pct"),
    trap("theta 10000", "rotary_emb_base"),
    trap("eps 1e-6", config={"layer_norm_eps": 1e-6}),
    trap("rms for layer norm", layer_norm=layer_norm_as_rms),
]
PHI_TRAPS = [
    *ROPE_TRAPS, GELU,
    trap("all features rotated", position=rotary_part(True, 1)),
    trap("last features rotated", position=rotary_part(False, 0.7)),
    trap("half rotated", "partial_rotary_factor"),
    trap("theta 10000", "rope_theta"),
    trap("eps 1e-6", config={"layer_norm_eps": 1e-6}),
    trap("one sub-layer after the other", block=one_after_the_other),
    trap("no bias of the head", linear=linear_without("lm_head")),
    trap("no bias of dense", linear=linear_without("dense")),
]
def rotary_share(part):
    """Another part of a head rotates."""
    def position(self, i, q, k):
        theta, scaling = self.rope_settings()
        return (self.rope(x, theta, scaling, int(x.shape[-1] * part)) for x in (q, k))
    return position


def last_features_turn(self, i, q, k):
    rest = q.shape[-1] - int(q.shape[-1] * self.config["partial_rotary_factor"])
    theta, scaling = self.rope_settings()
    return (torch.cat([x[..., :rest], self.rope(
        x[..., rest:], theta, scaling, x.shape[-1] - rest)], -1) for x in (q, k))


def by_groups(self, qkv):
    """The rows of a group of queries, its key, its value, then the next group."""
    heads, kv_heads, size = self.sizes()
    rows = qkv.reshape(len(qkv), kv_heads, heads // kv_heads + 2, size)
    return (x.flatten(1) for x in rows.split([heads // kv_heads, 1, 1], 2))


def two_norms(self, i, at, x):
    """The second sub-layer reads the output of the first, through the same norm."""
    y = x + self.attention(i, at + "self_attn.", self.norm(at + "input_layernorm", x))
    return y + self.ffn(at + "mlp.", self.norm(at + "input_layernorm", y))


def gptj_serial(self, at, x):
    y = x + self.attention(at + "attn.", self.layer_norm(at + "ln_1", x))
    return y + self.ffn(at + "mlp.", self.layer_norm(at + "ln_1", y))


def stream_scaled_too(self, i, at, x):
    """The factor of branches on the stream, too."""
    by = self.config["residual_multiplier"]
    x = by * (x + self.attention(i, at + "self_attn.", self.norm(at + "input_layernorm", x)))
    return by * (x + self.ffn(at + "mlp.", self.norm(at + "post_attention_layernorm", x)))


GRANITE_TRAPS = [
    trap("kv heads tiled", share=tile), *RMS_TRAPS, *ROPE_TRAPS, *GATED_TRAPS, EPS_1E_6,
    trap("embeddings not scaled", "embedding_multiplier"),
    trap("branches not scaled", "residual_multiplier"),
    trap("the stream scaled, too", block=stream_scaled_too),
    trap("scores by the root", scale=lambda self: self.sizes()[2] ** -0.5),
    trap("scores by both", scale=lambda self: 0.3 * self.sizes()[2] ** -0.5),
    trap("logits not scaled", "logits_scaling"),
    trap("logits multiplied", head=lambda self, table, x: 3 * Llama.head(self, table, x)),
]
OLMO_TRAPS = [
    trap("kv heads tiled", share=tile), SCALE, *ROPE_TRAPS, *GATED_TRAPS,
    trap("rms for layer norm", norm=lambda self, name, x: root_mean(x, self.eps)),
    trap("eps 1e-6", eps_default=1e-6),
]
SMOLLM3_TRAPS = [
    *ALL_LLAMA, EPS_1E_6, THETA,
    trap("all layers rotate", rotates=lambda self, i: True),
    trap("no layer rotates", rotates=lambda self, i: False),
]
GPT_NEO_TRAPS = [
    GELU, *WINDOW,
    trap("scores scaled", scale=lambda self, size: size**-0.5),
    trap("all layers local", window=lambda self, i: 5),
    trap("even layers local", window=lambda self, i: None if i % 2 else 5),
    trap("window of 256", "window_size"),
    trap("no bias of out_proj", linear=linear_without("out_proj")),
    trap("eps 1e-5", config={"layer_norm_epsilon": 1e-5}),
]
PHI3_TRAPS = [
    *ALL_LLAMA[:-2], EPS_1E_5,
    trap("q, v, k", split=lambda self, qkv: [Phi3.split(self, qkv)[s] for s in (0, 2, 1)]),
    trap("q, k, v by group", split=by_groups),
    trap("up before gate", halves=lambda self, both: both.chunk(2, -1)[::-1]),
    trap("gate and up in turn", halves=lambda self, both: (both[:, 0::2], both[:, 1::2])),
    trap("gelu for silu", act=other_activation(gelu)),
]
STABLELM_TRAPS = [
    trap("kv heads tiled", share=tile), *ROPE_TRAPS, *GATED_TRAPS, UNTIED, THETA,
    trap("scores not scaled", scale=lambda self, *place: 1.0),
    trap("rms for layer norm", layer_norm=layer_norm_as_rms),
    trap("no bias of norms", vector=vector_without("norm.bias")),
    trap("eps 1e-5", config={"layer_norm_eps": 1e-5}),
    trap("all features rotated", position=rotary_share(1)),
    trap("a quarter rotated", "partial_rotary_factor"),
    trap("last features rotated", position=last_features_turn),
]
GPTJ_TRAPS = [
    GELU,
    trap("rotation of halves", rotate_half=Model.rotate_half),
    trap("rotation backwards", rotate_half=lambda self, x, a: GPTJ.rotate_half(self, x, -a)),
    trap("all features rotated", position=lambda self, x: self.rope(x, 10000.0, {}, x.shape[-1])),
    trap("rates of the whole head", position=lambda self, x: self.rope(
        x, 10000.0 ** (self.config["rotary_dim"] / x.shape[-1]), {}, self.config["rotary_dim"])),
    trap("eps 1e-5", config={"layer_norm_epsilon": 1e-5}),
    trap("one sub-layer after the other", block=gptj_serial),
    trap("no bias of the head", linear=linear_without("lm_head")),
    trap("scores not scaled", attend=other_scale(lambda size: size**0.5)),
]
OPT_TRAPS = [
    trap("positions from row 0", positions=positions_from(0)),
    trap("positions from row 1", positions=positions_from(1)),
    trap("gelu for relu", act=other_activation(gelu)),
    trap("scores not scaled", attend=other_scale(lambda size: size**0.5)),
]
BLOOM_TRAPS = [
    trap("all q, all k, all v", split=parts_in_a_row), GELU,
    trap("eps 1e-6", config={"layer_norm_epsilon": 1e-6}),
    trap("no slopes", slopes=torch.zeros),
    trap("slopes upwards", slopes=lambda self, n: -alibi_slopes(n)),
    trap("slopes as of a power of 2",
         slopes=lambda self, n: 2 ** (-8 * torch.arange(1, n + 1) / n)),
    trap("slopes scaled like scores", slopes=lambda self, n: alibi_slopes(n) / 2),
    trap("no norm of embeddings", layer_norm=layer_norm_without("embeddings_layernorm")),
]
ENCODER_TRAPS = [
    GELU_TANH,
    trap("causal", attend=causal_attend),
    trap("scores not scaled", attend=other_scale(lambda size: size**0.5)),
]
BERT_TRAPS = [
    *ENCODER_TRAPS,
    trap("eps 1e-5", config={"layer_norm_eps": 1e-5}),
    trap("no token type", embed=without_types),
    trap("positions from row 2", embed=places_from_two),
]
MLM_TRAPS = [
    *BERT_TRAPS,
    trap("no bias of words", vector=vector_without("predictions.bias")),
]
POOLER_TRAPS = [
    *BERT_TRAPS,
    trap("pooled without tanh", pooled=lambda self, x: BertModel.pooled(self, x).atanh()),
    trap("last vector pooled", pooled=lambda self, x: BertModel.pooled(self, x[-1:])),
]
MARIAN_TRAPS = [
    trap("gelu for swish", act=other_activation(gelu)),
    trap("scores not scaled", attend=other_scale(lambda size: size**0.5)),
    trap("sines and cosines in turn", sines=sines_interleaved),
    trap("sines of fairseq", sines=sines_of_fairseq),
    trap("positions from 2", sines=lambda self, time: Marian.sines(self, time + 2)[2:]),
    trap("no bias of logits", tensor=lambda self, name, *shape, **draw: Model.tensor(
        self, name, *shape, **draw) * (name != "final_logits_bias")),
    trap("decoder not causal", sees=lambda self, time, window: everywhere(time, time)),
]
T5_TRAPS = [
    trap("bias of query - key", distance=lambda self, query, key: query - key),
    trap("bias in the first layer only", attention=first_layer_bias),
    trap("decoder's buckets two-sided", bucket=lambda self, r, sides: T5.bucket(self, r, True)),
    trap("encoder's buckets one-sided", bucket=lambda self, r, sides: T5.bucket(self, r, False)),
    trap("buckets to 128", "relative_attention_max_distance"),
    trap("scores scaled", scale=lambda self, size: size**-0.5),
    trap("gain 1 + w", gain=lambda self, name, n: 1 + Model.gain(self, name, n)),
    trap("mean subtracted", rms=centred),
    trap("eps 1e-5", config={"layer_norm_epsilon": 1e-5}),
]

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
        trap("max_position_embeddings for the original", rope=rope_with(
            lambda f, s: llama3_frequencies(f, {**s, "original_max_position_embeddings": 32}))),
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
    "qwen2-types": [
        *ALL_LLAMA, *WINDOW,
        trap("layer_types ignored", "layer_types"),
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
    "gemma": [
        *GEMMA_TRAPS, SCALE,
        trap("hidden_act obeyed", activation=lambda self: self.config["hidden_act"]),
    ],
    "gemma2": [
        *GEMMA2_TRAPS,
        trap("scores not capped", config={"attn_logit_softcapping": None}),
        trap("logits not capped", config={"final_logit_softcapping": None}),
        trap("caps of the defaults", "attn_logit_softcapping", "final_logit_softcapping"),
        trap("capped behind the mask", attend=cap_behind_mask),
    ],
    "gemma3_text": [
        *GEMMA3_TRAPS,
        trap("scaling ignored", "rope_scaling"),
        trap("every sixth layer global", "sliding_window_pattern"),
        trap("global layers from the first", local=lambda self, i: i % 2 == 1),
        trap("caps of gemma2",
             config={"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0}),
    ],
    "gemma3_text-new": [
        *GEMMA3_TRAPS,
        trap("rope_parameters ignored", "rope_parameters"),
        trap("layer_types ignored", "layer_types"),
    ],
    "gemma3": [t for t in GEMMA3_TRAPS if not t.config],
    "gpt_neox": [
        *NEOX_TRAPS,
        trap("not parallel", config={"use_parallel_residual": False}),
        trap("one norm for both", block=one_norm_for_both),
    ],
    "gpt_neox-serial": [
        *NEOX_TRAPS,
        trap("parallel", config={"use_parallel_residual": True}),
    ],
    "gpt_neox-new": new_rope_traps(100),
    "phi": PHI_TRAPS,
    "phi-new": new_rope_traps(1000),
    "phi-qk": [
        *PHI_TRAPS,
        trap("kv heads tiled", share=tile),
        trap("norms of q and k left out", config={"qk_layernorm": False}),
        trap("norms behind the rotation", queries_keys=layer_norm_behind_rotation),
    ],
    "gemma3-newer": [t for t in GEMMA3_TRAPS if not t.config],
    "olmo": [
        *OLMO_TRAPS, UNTIED,
        trap("not clamped", "clip_qkv"),
        trap("clamped on one side", clip=lambda self, x: x.clamp(max=self.config["clip_qkv"])),
        trap("values not clamped", linear=lambda self, name, x, cols, bias=True: (
            Model if name.endswith("v_proj") else Olmo).linear(self, name, x, cols, bias)),
    ],
    "olmo-plain": [
        *OLMO_TRAPS,
        trap("no biases of attention", config={"attention_bias": False}),
        trap("clamped to 8", config={"clip_qkv": 1.0}),
    ],
    "granite": GRANITE_TRAPS,
    "smollm3": [
        *SMOLLM3_TRAPS, UNTIED,
        trap("no_rope_layers read as those without", rotates=lambda self, i: i == 1),
        trap("the interval for the list", "no_rope_layers"),
    ],
    "smollm3-interval": [
        *SMOLLM3_TRAPS[1:], UNTIED,
        trap("the first layer of three", rotates=lambda self, i: i % 3 != 0),
        trap("every fourth", config={"no_rope_layer_interval": 4}),
    ],
    "gpt_neo": GPT_NEO_TRAPS,
    "gpt_neo-types": GPT_NEO_TRAPS,
    "phi3": [*PHI3_TRAPS, UNTIED],
    "phi3-window": [
        *PHI3_TRAPS, *WINDOW,
        trap("all features rotated", "partial_rotary_factor"),
        trap("last features rotated", position=last_features_turn),
    ],
    "stablelm": [
        *STABLELM_TRAPS,
        trap("parallel", config={"use_parallel_residual": True}),
    ],
    "stablelm-parallel": [
        *STABLELM_TRAPS,
        trap("one sub-layer after the other", block=two_norms),
        trap("no biases", biases=lambda self: (False, False)),
        trap("no bias of k", linear=linear_without("k_proj")),
    ],
    "gptj": GPTJ_TRAPS,
    "opt": [
        *OPT_TRAPS,
        trap("norms behind", config={"do_layer_norm_before": False}),
        trap("no final norm", config={"_remove_final_layer_norm": True}),
        trap("eps 1e-12", eps_default=1e-12),
    ],
    "opt-350m-form": OPT_TRAPS,
    "bloom": [
        *BLOOM_TRAPS,
        trap("residual behind the norm",
             config={"apply_residual_connection_post_layernorm": True}),
    ],
    "bloom-residual": [
        *BLOOM_TRAPS,
        trap("residual before the norm",
             config={"apply_residual_connection_post_layernorm": False}),
    ],
    "bert": MLM_TRAPS,
    "bert-old-names": MLM_TRAPS,
    "bert-pooler": POOLER_TRAPS,
    "bert-classes": [
        *BERT_TRAPS,
        trap("relu for tanh", pooled=lambda self, x: Bert.pooled(self, x).atanh().relu()),
        trap("last vector pooled", pooled=lambda self, x: Bert.pooled(self, x[-1:])),
    ],
    "minilm": [
        *POOLER_TRAPS,
        trap("sentence not of length 1", sentence=lambda self, x: x.mean(0, keepdim=True)),
        trap("first vector for the sentence", sentence=lambda self, x: F.normalize(x[:1])),
    ],
    "distilbert": [
        *ENCODER_TRAPS,
        trap("eps 1e-5", eps_default=1e-5),
        trap("no bias of words", vector=vector_without("vocab_projector.bias")),
    ],
    "distilbert-classes": [
        *ENCODER_TRAPS,
        trap("eps 1e-5", eps_default=1e-5),
        trap("tanh for relu", pooled=lambda self, x: torch.tanh(
            self.linear("pre_classifier", x[:1], self.config["dim"]))),
        trap("last vector pooled", pooled=lambda self, x: DistilBertClasses.pooled(self, x[-1:])),
    ],
    "marian": [
        *MARIAN_TRAPS,
        trap("embeddings not scaled", "scale_embedding"),
    ],
    "marian-separate": [
        *MARIAN_TRAPS,
        trap("embeddings scaled", config={"scale_embedding": True}),
        trap("the encoder's table for both",
             words=lambda self, stack: Marian.words(self, "encoder")),
    ],
    "t5": [
        *T5_TRAPS,
        trap("gelu for relu", act=other_activation(gelu)),
        trap("hidden vectors not scaled", config={"scale_decoder_outputs": False}),
    ],
    "t5-v1.1": [
        *T5_TRAPS, GELU,
        trap("gates swapped", linear=swapped_gates),
        trap("hidden vectors scaled", config={"tie_word_embeddings": True}),
        trap("untied taken as tied", stored_head=False),
    ],
    "mt5": [
        *T5_TRAPS, GELU,
        trap("gates swapped", linear=swapped_gates),
        trap("tied by default", default_tied=True),
        trap("untied taken as tied", stored_head=False),
    ],
    "t5-unscaled": [
        *T5_TRAPS,
        trap("scale_decoder_outputs ignored", "scale_decoder_outputs"),
    ],
}
