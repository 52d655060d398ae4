"""Encoders and encoder-decoders that are like those of hub_models.py (PyTorch, double)."""
import math
import torch
from hub_models import (
    Bert, everywhere, gelu, Marian, Model, split_heads, standard)
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


# -- MPNet ----------------------------------------------------------------------------------------

class MPNet(Roberta):
    """RoBERTa without types; T5's numbers by distance, one table for all layers."""

    prefix, parts = "mpnet.", ("attn.q", "attn.k", "attn.v", "attn.o")
    buckets, longest = 32, 128

    def embed(self, table, ids):
        c, p = self.config, self.prefix + "embeddings."
        places = self.table(p + "position_embeddings", c["max_position_embeddings"],
                            c["hidden_size"])
        return self.layer_norm(p + "LayerNorm", table[ids] + places[self.places(ids)])

    def bucket(self, query, key):
        """The second half of the buckets is for later keys."""
        half, r = self.buckets // 2, abs(query - key)
        exact = half // 2
        if r >= exact:
            far = math.log(r / exact) / math.log(self.longest / exact) * (half - exact)
            r = min(exact + int(far), half - 1)
        return r + half * (query < key)

    def numbers(self, time):
        """(heads, T, T)"""
        table = self.tensor(self.prefix + "encoder.relative_attention_bias.weight", self.buckets,
                            self.config["num_attention_heads"], scale=2.0)
        rows = [[self.bucket(q, k) for k in range(time)] for q in range(time)]
        return table[torch.tensor(rows)].permute(2, 0, 1)

    def attend(self, q, k, v, mask, scale):
        return Model.attend(self, q, k, v, mask, scale, self.numbers(len(mask)))

    def block(self, at, x):
        c = self.config
        y = self.attention(at + "attention.", x, x, everywhere(len(x), len(x)),
                           c["num_attention_heads"])
        x = self.layer_norm(at + "attention.LayerNorm", x + y)
        a = self.linear(at + "intermediate.dense", x, c["intermediate_size"])
        y = self.linear(at + "output.dense", self.act(c["hidden_act"], a), c["hidden_size"])
        return self.layer_norm(at + "output.LayerNorm", x + y)

    def logits(self, ids):
        x = self.hidden(ids)
        x = self.act("gelu", self.linear("lm_head.dense", x, x.shape[-1]))
        x = self.layer_norm("lm_head.layer_norm", x)
        return x @ self.words().T + self.vector("lm_head.bias", self.config["vocab_size"])

    def without_effect(self, name):
        return name.endswith("attn.k.bias")


class MPNetBody(MPNet):
    """A body whose config.json has the class of the model that it was tuned from: no head. A pooler
    that nothing reads."""

    prefix = ""

    def logits(self, ids):
        return self.hidden(ids)

    def buffers(self):
        width = self.config["hidden_size"]
        names = {"pooler.dense.weight": [width, width], "pooler.dense.bias": [width]}
        return {**{n: (self.dtype, Stream(n).draw(*shape)) for n, shape in names.items()},
                "embeddings.position_ids": (
                    "I64", torch.arange(self.config["max_position_embeddings"])[None])}


# -- ModernBERT -----------------------------------------------------------------------------------

class ModernBert(Model):
    """Pre-LN; no norm in front of the first attention; local and global layers, which rotate at
    their own rates; no biases but that of the words."""

    eps_key, eps_default, prefix = "norm_eps", 1e-5, "model."

    def norm(self, name, x):
        return standard(x, self.eps) * self.gain(name, x.shape[-1])

    def is_global(self, i):
        types = self.config.get("layer_types")
        if types:
            return types[i] == "full_attention"
        return i % self.config["global_attn_every_n_layers"] == 0

    def near(self, distance):
        return distance.abs() <= self.config["local_attention"] // 2

    def mask(self, i, time):
        t = torch.arange(time)
        return everywhere(time, time) if self.is_global(i) else self.near(t - t[:, None])

    def theta(self, i):
        c, kind = self.config, "full_attention" if self.is_global(i) else "sliding_attention"
        if "rope_parameters" in c:
            return c["rope_parameters"][kind]["rope_theta"]
        if self.is_global(i) or c["local_rope_theta"] is None:
            return c["global_rope_theta"]
        return c["local_rope_theta"]

    def split(self, qkv):
        return qkv.chunk(3, -1)

    def attention(self, i, at, h):
        qkv = self.linear(at + "Wqkv", h, 3 * h.shape[-1], False)
        q, k, v = (split_heads(x, self.config["num_attention_heads"]) for x in self.split(qkv))
        q, k = (self.rope(x, self.theta(i), {}, x.shape[-1]) for x in (q, k))
        y = self.attend(q, k, v, self.mask(i, len(h)), q.shape[-1] ** -0.5)
        return self.linear(at + "Wo", y, h.shape[-1], False)

    def halves(self, both):
        return both.chunk(2, -1)

    def ffn(self, at, h):
        c = self.config
        a, gate = self.halves(self.linear(at + "Wi", h, 2 * c["intermediate_size"], False))
        return self.linear(at + "Wo", self.act(c["hidden_activation"], a) * gate, h.shape[-1],
                           False)

    def first_input(self, x):
        return x

    def block(self, i, at, x):
        h = self.norm(at + "attn_norm", x) if i else self.first_input(x)
        x = x + self.attention(i, at + "attn.", h)
        return x + self.ffn(at + "mlp.", self.norm(at + "mlp_norm", x))

    def words(self):
        c = self.config
        return self.table(self.prefix + "embeddings.tok_embeddings", c["vocab_size"],
                          c["hidden_size"])

    def hidden(self, ids):
        x = self.norm(self.prefix + "embeddings.norm", self.words()[ids])
        for i in range(self.config["num_hidden_layers"]):
            x = self.block(i, f"{self.prefix}layers.{i}.", x)
        return self.norm(self.prefix + "final_norm", x)

    def logits(self, ids):
        x = self.hidden(ids)
        x = self.act(self.config["classifier_activation"],
                     self.linear("head.dense", x, x.shape[-1], False))
        x = self.norm("head.norm", x)
        return x @ self.words().T + self.vector("decoder.bias", self.config["vocab_size"])


class ModernBertBody(ModernBert):
    """Without a head."""

    prefix = ""

    def logits(self, ids):
        return self.hidden(ids)


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


class Narrow:
    """Embeddings of their own size, with their norm, then a map to the width."""

    def words(self):
        c = self.config
        return self.table(self.prefix + "embeddings.word_embeddings", c["vocab_size"],
                          c["embedding_size"])

    def map(self, x):
        return self.linear(self.prefix + "embeddings_project", x, self.config["hidden_size"])

    def embed(self, table, ids):
        c, p = self.config, self.prefix + "embeddings."
        size = c["embedding_size"]
        places = self.table(p + "position_embeddings", c["max_position_embeddings"], size)
        types = self.table(p + "token_type_embeddings", c["type_vocab_size"], size)
        return self.map(self.layer_norm(
            p + "LayerNorm", table[ids] + places[:len(ids)] + types[0]))


class ElectraSmall(Narrow, Electra):
    pass


class ElectraSmallGenerator(Narrow, ElectraGenerator):
    def logits(self, ids):
        c, x = self.config, self.hidden(ids)
        x = self.act("gelu", self.linear("generator_predictions.dense", x, c["embedding_size"]))
        x = self.layer_norm("generator_predictions.LayerNorm", x)
        return x @ self.words().T + self.vector("generator_lm_head.bias", c["vocab_size"])


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
