"""Wrong readings of the families of hub_encoders.py that still give plausible text."""
import torch
from hub_encoders import after_padding, Bart
from hub_models import everywhere, gelu, gelu_tanh, Marian
from hub_traps import (
    BERT_TRAPS, ENCODER_TRAPS, layer_norm_without, other_activation, other_scale, trap,
    vector_without)


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
