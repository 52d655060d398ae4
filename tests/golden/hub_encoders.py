"""Encoders and encoder-decoders that are like those of hub_models.py (PyTorch, double)."""
import torch
from hub_models import Bert, everywhere, gelu, Marian
from stream import Stream


def after_padding(ids, padding=1):
    """Positions count from the padding's id on; the padding itself has its id as its position."""
    read = (ids != padding).long()
    return read.cumsum(0) * read + padding


# -- RoBERTa and what has its names ---------------------------------------------------------------

class Roberta(Bert):
    """BERT with positions from 2 on, one type, and other heads."""

    prefix = "roberta."

    def places(self, ids):
        return after_padding(ids)

    def embed(self, table, ids):
        c, p = self.config, self.prefix + "embeddings."
        width = c["hidden_size"]
        places = self.table(p + "position_embeddings", c["max_position_embeddings"], width)
        types = self.table(p + "token_type_embeddings", c["type_vocab_size"], width)
        return self.layer_norm(p + "LayerNorm", table[ids] + places[self.places(ids)] + types[0])

    def logits(self, ids):
        x = self.hidden(ids)
        self.watch("pre-activations", x)
        x = gelu(self.linear("lm_head.dense", x, x.shape[-1]))
        x = self.layer_norm("lm_head.layer_norm", x)
        return x @ self.words().T + self.vector("lm_head.bias", self.config["vocab_size"])


class RobertaCopies(Roberta):
    """Copies of the table and the bias, a pooler that no head reads, and numbers of positions."""

    def buffers(self):
        c = self.config
        width = c["hidden_size"]
        names = {"roberta.pooler.dense.weight": [width, width],
                 "roberta.pooler.dense.bias": [width]}
        return {**{n: (self.dtype, Stream(n).draw(*shape)) for n, shape in names.items()},
                "lm_head.decoder.weight": (self.dtype, self.words()),
                "lm_head.decoder.bias": (self.dtype, self.tensors["lm_head.bias"]),
                "roberta.embeddings.position_ids": (
                    "I64", torch.arange(c["max_position_embeddings"])[None])}


class RobertaClasses(Roberta):
    """One of some classes of a line, by two maps of its first vector."""

    def pooled(self, x):
        return torch.tanh(self.linear("classifier.dense", x[:1], x.shape[-1]))

    def logits(self, ids):
        return self.linear("classifier.out_proj", self.pooled(self.hidden(ids)),
                           len(self.config["id2label"]))


class Tokens:
    """One of some classes of each token."""

    def logits(self, ids):
        return self.linear("classifier", self.hidden(ids), len(self.config["id2label"]))


class Questions:
    """Two numbers of each token: whether an answer begins, and ends, with it."""

    def logits(self, ids):
        return self.linear("qa_outputs", self.hidden(ids), 2)


class RobertaTokens(Tokens, Roberta):
    pass


class RobertaQuestions(Questions, Roberta):
    pass


# -- ELECTRA --------------------------------------------------------------------------------------

class Electra(Bert):
    """Only the body: hidden vectors."""

    prefix = "electra."

    def logits(self, ids):
        return self.hidden(ids)

    def buffers(self):
        width = self.config["hidden_size"]
        p = "discriminator_predictions.dense"
        names = {p + ".weight": [width, width], p + ".bias": [width],
                 p + "_prediction.weight": [1, width], p + "_prediction.bias": [1]}
        return {n: (self.dtype, Stream(n).draw(*shape)) for n, shape in names.items()}


class ElectraGenerator(Electra):
    def logits(self, ids):
        x = self.hidden(ids)
        x = self.act("gelu", self.linear("generator_predictions.dense", x, x.shape[-1]))
        x = self.layer_norm("generator_predictions.LayerNorm", x)
        bias = self.vector("generator_lm_head.bias", self.config["vocab_size"])
        return x @ self.words().T + bias

    def buffers(self):
        return {"generator_lm_head.weight": (self.dtype, self.words())}


class ElectraClasses(RobertaClasses, Electra):
    prefix = "electra."

    def pooled(self, x):
        return self.act("gelu", self.linear("classifier.dense", x[:1], x.shape[-1]))

    def embed(self, table, ids):
        return Bert.embed(self, table, ids)

    def buffers(self):
        return {}


# -- BART and what has its names ------------------------------------------------------------------

class Bart(Marian):
    """Post-LN; learned positions from row 2 of the table, and a norm of the embeddings."""

    def rows(self, time):
        return torch.arange(time) + 2

    def norm_of_embeddings(self, stack, x):
        return self.layer_norm(f"model.{stack}.layernorm_embedding", x)

    def embed(self, stack, ids):
        c = self.config
        scale = c["d_model"] ** 0.5 if c.get("scale_embedding", False) else 1.0
        places = self.table(f"model.{stack}.embed_positions", c["max_position_embeddings"] + 2,
                            c["d_model"])
        x = scale * self.words(stack)[ids] + places[self.rows(len(ids))]
        return self.norm_of_embeddings(stack, x)

    def buffers(self):
        names = "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"
        return {n + ".weight": (self.dtype, self.words("decoder")) for n in names}


class BartBody(Bart):
    """Without a head: names without a prefix, and no bias of the logits."""

    def tensor(self, name, *shape, **draw):
        if name == "final_logits_bias":
            return torch.zeros(shape)
        return super().tensor(name, *shape, **draw)

    def stored_name(self, name):
        return name.removeprefix("model.")

    def buffers(self):
        return {}


class PreNorm:
    """Norms in front of the sub-layers, and one at the end of each stack."""

    def block(self, at, x, stack, mask, memory=None):
        heads, inner = (self.config[stack + s] for s in ("_attention_heads", "_ffn_dim"))
        h = self.layer_norm(at + "self_attn_layer_norm", x)
        x = x + self.attention(at + "self_attn.", h, h, mask, heads)
        if memory is not None:
            both = everywhere(len(x), len(memory))
            h = self.layer_norm(at + "encoder_attn_layer_norm", x)
            x = x + self.attention(at + "encoder_attn.", h, memory, both, heads)
        return x + self.ffn(at, self.layer_norm(at + "final_layer_norm", x), inner)

    def stack(self, name, x, mask, memory=None):
        for i in range(self.config[name + "_layers"]):
            x = self.block(f"model.{name}.layers.{i}.", x, name, mask, memory)
        return self.layer_norm(f"model.{name}.layer_norm", x)

    def bias(self):
        return self.tensor("final_logits_bias", 1, self.config["vocab_size"], scale=0.5)[0]

    def logits(self, source, target):
        both = everywhere(len(source), len(source))
        memory = self.stack("encoder", self.embed("encoder", source), both)
        x = self.stack("decoder", self.embed("decoder", target), self.sees(len(target), None),
                       memory)
        return x @ self.words("decoder").T + self.bias()


class MBart(PreNorm, Bart):
    pass


class M2M100(PreNorm, Marian):
    """Sines and cosines from position 2 on, by fairseq's rates; no norm of the embeddings."""

    never = 1                          # the padding's position is no token's

    def sines(self, places):
        half = self.config["d_model"] // 2
        angles = places[:, None] * 10000 ** (-torch.arange(half) / (half - 1))
        return torch.cat([angles.sin(), angles.cos()], -1)

    def places(self, ids):
        return after_padding(ids)

    def embed(self, stack, ids):
        c = self.config
        scale = c["d_model"] ** 0.5 if c.get("scale_embedding", True) else 1.0
        return scale * self.words(stack)[ids] + self.sines(self.places(ids))

    def bias(self):
        return 0

    def buffers(self):
        copies = "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"
        places = self.sines(torch.arange(self.config["max_position_embeddings"] + 2))
        return {**{n + ".weight": (self.dtype, self.words("decoder")) for n in copies},
                **{f"model.{stack}.embed_positions.weights": ("F32", places)
                   for stack in ("encoder", "decoder")}}
