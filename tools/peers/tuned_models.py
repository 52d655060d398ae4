"""The models of tuned.py in PyTorch: forwards of hub_models.py with weights that train, LoRA, and
the configurations that a folder of the hub has of them."""
from typing import NamedTuple
import torch
import torch.nn.functional as F
from hub_models import GPT2, Bert, Llama
from make_hub import BERT_CONFIG, GPT2_CONFIG, LLAMA_CONFIG, changed
from tuned_text import CONTEXT, MERGES, WORDS

WIDTH, HEADS, LAYERS = 128, 4, 4
RANK, ALPHA = 8, 16


class Trained:
    """The weights start as the papers' codes have them, and train; LoRA is added to maps."""

    inputs_first = False                # matrices are stored (in, out)

    def __init__(self, config, tensors=None):
        super().__init__(config, tensors=tensors or {})
        self.maps, self.learned = {}, {}

    def tensor(self, name, *shape, scale, shift=0.0):
        if name not in self.tensors:
            start = torch.full(shape, float(shift == 1))        # gains 1, biases 0
            if len(shape) > 1:
                start.normal_(std=0.02)
            self.tensors[name] = start.requires_grad_()
        return self.tensors[name]

    def watch(self, kind, x, mask=None):
        pass

    def adapt(self, maps, learned):
        """LoRA. maps: a matrix's name to what stands in it, side by side in the outputs: (layer,
        "q"), or None of what has none; learned: A (in, r) and B (r, out) of each."""
        self.maps, self.learned = maps, learned

    def matrix(self, name, rows, cols, inputs):
        """W + alpha/r A B                                         Hu et al. 2021, section 4.1."""
        weight = super().matrix(name, rows, cols, inputs)
        if name not in self.maps:
            return weight
        nothing = torch.zeros(WIDTH, WIDTH, dtype=weight.dtype)
        parts = [self.learned[p][0] @ self.learned[p][1] if p else nothing for p in self.maps[name]]
        change = ALPHA / RANK * torch.cat(parts, 1)
        return weight + (change if self.inputs_first else change.T)

    def forward(self, tokens):
        return torch.stack([self.logits(row) for row in torch.as_tensor(tokens).long()])

    def losses(self, tokens, targets):
        """Nats of each token that has a target."""
        targets = torch.as_tensor(targets).long().flatten()
        logits = self.forward(tokens).flatten(0, 1)
        return F.cross_entropy(logits, targets, ignore_index=-1, reduction="none")[targets >= 0]

    def copy(self, dtype):
        """With the weights as they are, which do not train."""
        tensors = {name: x.detach().to(dtype) for name, x in self.tensors.items()}
        model = type(self)(self.config, tensors)
        model.adapt(self.maps, {part: tuple(x.detach().to(dtype) for x in pair)
                                for part, pair in self.learned.items()})
        return model


class TrainedLlama(Trained, Llama):
    pass


class TrainedGPT2(Trained, GPT2):
    inputs_first = True


class TrainedBert(Trained, Bert):
    pass


class Family(NamedTuple):
    model: type
    config: dict
    maps: dict                  # matrices of a layer that LoRA tunes: queries, -, values


FAMILIES = {
    "llama": Family(TrainedLlama, changed(
        LLAMA_CONFIG, vocab_size=MERGES + 257, hidden_size=WIDTH, num_attention_heads=HEADS,
        num_key_value_heads=HEADS // 2, head_dim=WIDTH // HEADS, num_hidden_layers=LAYERS,
        intermediate_size=344, max_position_embeddings=CONTEXT, rope_theta=10000.0,
        bos_token_id=MERGES + 256, eos_token_id=MERGES + 256), {
            "model.layers.%d.self_attn.q_proj.weight": "q",
            "model.layers.%d.self_attn.v_proj.weight": "v"}),
    "gpt2": Family(TrainedGPT2, changed(
        GPT2_CONFIG, vocab_size=MERGES + 257, n_embd=WIDTH, n_head=HEADS, n_layer=LAYERS,
        n_inner=4 * WIDTH, n_positions=CONTEXT, n_ctx=CONTEXT, attn_pdrop=0.0, embd_pdrop=0.0,
        resid_pdrop=0.0, bos_token_id=MERGES + 256, eos_token_id=MERGES + 256), {
            "transformer.h.%d.attn.c_attn.weight": "q-v"}),
    "bert": Family(TrainedBert, changed(
        BERT_CONFIG, vocab_size=WORDS, hidden_size=WIDTH, num_attention_heads=HEADS,
        num_hidden_layers=LAYERS, intermediate_size=4 * WIDTH, max_position_embeddings=CONTEXT,
        attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0), {
            "bert.encoder.layer.%d.attention.self.query.weight": "q",
            "bert.encoder.layer.%d.attention.self.value.weight": "v"}),
}


def tuned(base, family, values, dtype):
    """The same with LoRA; values: A and B by tfnorm's names, such as "decoder.0.self.q.lora_a"."""
    model = base.copy(dtype)
    learned = {}
    for name, value in sorted(values.items()):                  # A stands before B
        _, layer, _, part, _ = name.split(".")
        value = torch.tensor(value, dtype=dtype).requires_grad_()
        learned[int(layer), part] = learned.get((int(layer), part), ()) + (value,)
    maps = {name % i: [(i, part) if part != "-" else None for part in parts]
            for name, parts in family.maps.items() for i in range(LAYERS)}
    model.adapt(maps, learned)
    return model
