"""Wrong readings of the families of hub_encoders.py that still give plausible text."""
import torch
from hub_encoders import after_padding, Bart, ModernBert, MPNet
from hub_models import everywhere, gelu, gelu_tanh, Marian, Model, root_mean, standard
from hub_traps import (
    BERT_TRAPS, ENCODER_TRAPS, GELU_TANH, layer_norm_without, other_activation, other_scale,
    rotate_interleaved, trap, vector_without)


def places_less(n):
    return lambda self, ids: after_padding(ids) - n


def typeless(self, table, ids):
    p = self.prefix + "embeddings."
    places = self.tensors[p + "position_embeddings.weight"]
    return self.layer_norm(p + "LayerNorm", table[ids] + places[self.places(ids)])


def last_pooled(self, x):
    return torch.tanh(self.linear("classifier.dense", x[-1:], x.shape[-1]))


def relu_pooled(self, x):
    return torch.relu(self.linear("classifier.dense", x[:1], x.shape[-1]))


ROBERTA_TRAPS = [
    *ENCODER_TRAPS,
    trap("eps 1e-12", config={"layer_norm_eps": 1e-12}),
    trap("no token type", embed=typeless),
    trap("positions from row 0", places=places_less(2)),
    trap("positions from row 1", places=places_less(1)),
]
MASKED_TRAPS = [
    *ROBERTA_TRAPS,
    trap("no bias of words", vector=vector_without("lm_head.bias")),
    trap("no norm of the head", layer_norm=layer_norm_without("lm_head.layer_norm")),
]


def numbers_of_first_layer(self, at, x):
    """T5's files have the table in layer 0, but all layers read it."""
    self.only = at.endswith(".0.")
    return MPNet.block(self, at, x)


def attend_in_first(self, q, k, v, mask, scale):
    return Model.attend(self, q, k, v, mask, scale, self.only * self.numbers(len(mask)))


def other_numbers(f):
    """Scores get other numbers by distance."""
    return lambda self, time: f(MPNet.numbers(self, time))


MPNET_TRAPS = [
    GELU_TANH,
    trap("eps 1e-12", config={"layer_norm_eps": 1e-12}),
    trap("scores not scaled", attend=lambda self, q, k, v, mask, scale: MPNet.attend(
        self, q, k, v, mask, 1.0)),
    trap("numbers scaled like scores", numbers=other_numbers(lambda x: x / 6 ** 0.5)),
    trap("no numbers by distance", numbers=other_numbers(lambda x: 0 * x)),
    trap("numbers in the first layer only", block=numbers_of_first_layer, attend=attend_in_first),
    trap("distances backwards", numbers=other_numbers(lambda x: x.transpose(1, 2))),
    trap("buckets for both directions", bucket=lambda self, q, k: MPNet.bucket(self, q, min(q, k))
         if k <= q else MPNet.bucket(self, k, q)),
    trap("distances of up to 64", longest=64),
    trap("positions from row 0", places=places_less(2)),
    trap("positions from row 1", places=places_less(1)),
    trap("no positions", embed=lambda self, table, ids: self.layer_norm(
        self.prefix + "embeddings.LayerNorm", table[ids])),
]


def head_by_head(self, qkv):
    """As in GPT-NeoX."""
    heads = self.config["num_attention_heads"]
    return [x.flatten(1) for x in qkv.unflatten(-1, (heads, 3, -1)).unbind(2)]


def norm_without(*names):
    def norm(self, name, x):
        return x if name.endswith(names) else ModernBert.norm(self, name, x)
    return norm


def thetas(of_global, of_local):
    return lambda self, i: self.config[of_global if self.is_global(i) else of_local]


MODERN_TRAPS = [
    GELU_TANH,
    trap("eps 1e-6", config={"norm_eps": 1e-6}),
    trap("scores not scaled", attend=other_scale(lambda size: size**0.5)),
    trap("causal", mask=lambda self, i, time: ModernBert.mask(self, i, time) & self.sees(
        time, None)),
    trap("no window", near=lambda self, distance: distance.abs() < 99),
    trap("a window on each side", near=lambda self, distance: distance.abs()
         <= self.config["local_attention"]),
    trap("one more on each side", near=lambda self, distance: distance.abs()
         <= self.config["local_attention"] // 2 + 1),
    trap("one less before", near=lambda self, distance: ModernBert.near(self, distance)
         & (distance > -(self.config["local_attention"] // 2))),
    trap("one less after", near=lambda self, distance: ModernBert.near(self, distance)
         & (distance < self.config["local_attention"] // 2)),
    trap("a window in every layer", is_global=lambda self, i: False),
    trap("layers 2, 5 ... global", is_global=lambda self, i: i % 3 == 2),
    trap("every second layer global", is_global=lambda self, i: i % 2 == 0),
    trap("one rate, of global layers", theta=thetas("global_rope_theta", "global_rope_theta")),
    trap("one rate, of local layers", theta=thetas("local_rope_theta", "local_rope_theta")),
    trap("rates swapped", theta=thetas("local_rope_theta", "global_rope_theta")),
    trap("neighbours rotated", rotate_half=rotate_interleaved),
    trap("rotation backwards", rotate_half=lambda self, x, a: Model.rotate_half(self, x, -a)),
    trap("k, q, v", split=lambda self, qkv: [qkv.chunk(3, -1)[s] for s in (1, 0, 2)]),
    trap("q, k, v by head", split=head_by_head),
    trap("gate before", halves=lambda self, both: both.chunk(2, -1)[::-1]),
    trap("halves in turn", halves=lambda self, both: (both[:, 0::2], both[:, 1::2])),
    trap("rms for layer norm", norm=lambda self, name, x: root_mean(x, self.eps) * self.gain(
        name, x.shape[-1])),
    trap("a norm before the first attention",
         first_input=lambda self, x: standard(x, self.eps)),
    trap("no norm of embeddings", norm=norm_without("embeddings.norm")),
    trap("no final norm", norm=norm_without("final_norm")),
]
MODERN_MASKED_TRAPS = [
    *MODERN_TRAPS,
    trap("no norm of the head", norm=norm_without("head.norm")),
    trap("no bias of words", vector=vector_without("decoder.bias")),
]


def post_block(self, at, x, stack, mask, memory=None):
    return Marian.block(self, at, x, stack, mask, memory)


def rows_from(first):
    return lambda self, time: torch.arange(time) + first


def norm_of_encoder(self, stack, x):
    return x if stack == "decoder" else Bart.norm_of_embeddings(self, stack, x)


PAIR_TRAPS = [
    trap("scores not scaled", attend=other_scale(lambda size: size**0.5)),
    trap("decoder not causal", sees=lambda self, time, window: everywhere(time, time)),
]
LEARNED_TRAPS = [
    *PAIR_TRAPS,
    trap("gelu_t for gelu", act=other_activation(gelu_tanh)),
    trap("positions from row 0", rows=rows_from(0)),
    trap("positions from row 1", rows=rows_from(1)),
    trap("no norm of embeddings", norm_of_embeddings=lambda self, stack, x: x),
    trap("no norm of the decoder's embeddings", norm_of_embeddings=norm_of_encoder),
    trap("no bias of logits", tensor=lambda self, name, *shape, **draw: Marian.tensor(
        self, name, *shape, **draw) * (name != "final_logits_bias")),
    trap("the encoder's positions for both", table=lambda self, name, *shape: Marian.table(
        self, name.replace("decoder.embed_pos", "encoder.embed_pos"), *shape)),
]
FINAL_TRAPS = [
    trap("norms behind", block=post_block),
    trap("no final norm of the encoder", layer_norm=layer_norm_without("encoder.layer_norm")),
    trap("no final norm of the decoder", layer_norm=layer_norm_without("decoder.layer_norm")),
    trap("embeddings not scaled", config={"scale_embedding": False}),
]

def norm_after_map(self, table, ids):
    """The places of OPT's norm and map."""
    p = self.prefix + "embeddings."
    x = table[ids] + self.tensors[p + "position_embeddings.weight"][:len(ids)]
    x = self.map(x + self.tensors[p + "token_type_embeddings.weight"][0])
    return standard(x, self.eps)


SMALL_TRAPS = [
    *ENCODER_TRAPS,
    trap("eps 1e-5", config={"layer_norm_eps": 1e-5}),
    trap("no bias of the map", vector=vector_without("embeddings_project.bias")),
    trap("norm after the map", embed=norm_after_map),
    trap("no norm of embeddings", layer_norm=layer_norm_without("embeddings.LayerNorm")),
]

ENCODER_FAMILY_TRAPS = {
    "roberta": MASKED_TRAPS,
    "xlm-roberta": MASKED_TRAPS,
    "camembert": MASKED_TRAPS,
    "roberta-classes": [
        *ROBERTA_TRAPS,
        trap("relu for tanh", pooled=relu_pooled),
        trap("last vector pooled", pooled=last_pooled),
    ],
    "roberta-tokens": ROBERTA_TRAPS,
    "roberta-questions": ROBERTA_TRAPS,
    "mpnet": [
        *MPNET_TRAPS,
        trap("no bias of words", vector=vector_without("lm_head.bias")),
        trap("no norm of the head", layer_norm=layer_norm_without("lm_head.layer_norm")),
    ],
    "mpnet-body": MPNET_TRAPS,
    "modernbert": MODERN_MASKED_TRAPS,
    "modernbert-body": [t for t in MODERN_TRAPS if "rate" not in t.name and "every" not in t.name
                        and "global" not in t.name],
    "electra": BERT_TRAPS,
    "electra-generator": [
        *BERT_TRAPS,
        trap("no bias of words", vector=vector_without("generator_lm_head.bias")),
        trap("no norm of the head", layer_norm=layer_norm_without("predictions.LayerNorm")),
    ],
    "electra-classes": [
        *BERT_TRAPS,
        trap("tanh for gelu", pooled=lambda self, x: torch.tanh(
            self.linear("classifier.dense", x[:1], x.shape[-1]))),
        trap("last vector pooled", pooled=lambda self, x: gelu(
            self.linear("classifier.dense", x[-1:], x.shape[-1]))),
    ],
    "electra-small": SMALL_TRAPS,
    "electra-small-generator": [
        *SMALL_TRAPS,
        trap("no bias of words", vector=vector_without("generator_lm_head.bias")),
        trap("no norm of the head", layer_norm=layer_norm_without("predictions.LayerNorm")),
    ],
    "bart": [
        *LEARNED_TRAPS,
        trap("embeddings scaled", config={"scale_embedding": True}),
    ],
    "bart-body": [
        t for t in LEARNED_TRAPS if t.name != "no bias of logits"],
    "mbart": [*LEARNED_TRAPS, *FINAL_TRAPS],
    "m2m_100": [
        *PAIR_TRAPS, *FINAL_TRAPS,
        trap("gelu for relu", act=other_activation(gelu)),
        trap("sines of 2017", sines=lambda self, places: Marian.sines(self, 99)[places]),
        trap("positions from 0", places=lambda self, ids: torch.arange(len(ids))),
        trap("positions from 1", places=lambda self, ids: torch.arange(len(ids)) + 1),
    ],
}
