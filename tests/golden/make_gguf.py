#!/usr/bin/env python3
"""python3 golden/make_gguf.py, in tests: write golden/gguf from the tiny models of golden/hub.

Each file holds a model as llama.cpp's converter would write it: other names, matrices (out, in),
the channels of Llama's heads in pairs, the gains of Gemma's norms with their 1. The test wants the
bits of the folder that it was made from. NAME.json is the folder's config.json with values that
GGUF cannot hold set to those that llama.cpp assumes. blocks.gguf has one tensor of each block
format, of random bytes, and its values as floats, computed from the formats' description."""
import json
import os
import struct
import sys

import numpy as np

from gguf_file import BOOL, F32, STRING, U32, ARRAY, write

HUB, OUT = "golden/hub", "golden/gguf"
ARCHITECTURES = {"llama": "llama", "llama-tied": "llama", "qwen2": "qwen2", "qwen3": "qwen3",
                 "olmo2": "olmo2", "gemma": "gemma", "gemma2": "gemma2", "gemma3_text": "gemma3",
                 "gpt2": "gpt2", "llama3": "llama", "granite": "granite", "olmo": "olmo",
                 "phi3": "phi3", "phi": "phi2", "stablelm": "stablelm", "gpt_neox": "gptneox",
                 "bloom": "bloom"}

# -- models ---------------------------------------------------------------------------------------

def read(folder):
    raw = open(folder + "/model.safetensors", "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    tensors = {}
    for name, e in json.loads(raw[8:8 + n]).items():
        if name != "__metadata__" and e["dtype"] == "F32":      # masks are U8
            begin, end = e["data_offsets"]
            values = np.frombuffer(raw[8 + n + begin:8 + n + end], "<f4")
            for prefix in ("model.", "transformer.", "gpt_neox."):
                name = name.removeprefix(prefix)
            tensors[name] = values.reshape(e["shape"])
    return tensors


def pairs(w, heads):
    """Channels j and j + D/2 of each head side by side."""
    return w.reshape(heads, 2, len(w) // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def by_parts(w, heads):
    """Rows of GPT-NeoX, head by head: all queries, then all keys, then all values."""
    return w.reshape(heads, 3, len(w) // heads // 3, *w.shape[1:]).swapaxes(0, 1).reshape(w.shape)


NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
         "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
         "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
         "ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv",
         "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
         "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up",
         "self_attn.dense": "attn_output", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down",
         "attention.query_key_value": "attn_qkv", "attention.dense": "attn_output",
         "self_attention.query_key_value": "attn_qkv", "self_attention.dense": "attn_output",
         "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down"}
WHOLE = {"embed_tokens.weight": "token_embd.weight", "wte.weight": "token_embd.weight",
         "wpe.weight": "position_embd.weight", "norm.weight": "output_norm.weight",
         "ln_f.weight": "output_norm.weight", "ln_f.bias": "output_norm.bias",
         "lm_head.weight": "output.weight", "lm_head.bias": "output.bias",
         "norm.bias": "output_norm.bias", "final_layernorm.weight": "output_norm.weight",
         "final_layernorm.bias": "output_norm.bias", "embed_in.weight": "token_embd.weight",
         "final_layer_norm.weight": "output_norm.weight",
         "final_layer_norm.bias": "output_norm.bias", "embed_out.weight": "output.weight",
         "word_embeddings.weight": "token_embd.weight",
         "word_embeddings_layernorm.weight": "token_embd_norm.weight",
         "word_embeddings_layernorm.bias": "token_embd_norm.bias"}


def converted(arch, name, w, heads, kv_heads):
    """Name and values in GGUF; None: not a weight."""
    if name in WHOLE:
        return WHOLE[name], w + 1 if arch.startswith("gemma") and "norm" in name else w
    if "inv_freq" in name or name.endswith((".attn.bias", ".attention.bias", "masked_bias")):
        return None
    _, layer, *middle, last = name.split(".")
    middle = ".".join(middle)
    short = NAMES.get(middle)
    if middle == "post_attention_layernorm":
        short = "post_attention_norm" if arch in ("gemma2", "gemma3", "olmo2") else "ffn_norm"
    if arch == "gpt2" and w.ndim == 2:
        w = w.T
    if arch in ("llama", "granite", "olmo") and short in ("attn_q", "attn_k"):
        w = pairs(w, heads if short == "attn_q" else kv_heads)
    if arch in ("gptneox", "bloom") and short == "attn_qkv":
        w = by_parts(w, heads)
    if arch.startswith("gemma") and "norm" in short:
        w = w + 1
    return f"blk.{layer}.{short}.{last}", w


def metadata(arch, c):
    width = c.get("hidden_size", c.get("n_embd", c.get("n_embed")))
    heads = c.get("num_attention_heads", c.get("n_head"))
    hidden = c.get("intermediate_size") or c.get("n_inner") or 4 * width
    context = c.get("max_position_embeddings", c.get("n_positions", c.get("seq_length")))
    rows = [("context_length", U32, context),
            ("embedding_length", U32, width),
            ("block_count", U32, c.get("num_hidden_layers", c.get("n_layer"))),
            ("feed_forward_length", U32, hidden),
            ("attention.head_count", U32, heads), ("vocab_size", U32, c["vocab_size"])]
    eps = ("attention.layer_norm_epsilon", F32,
           c.get("layer_norm_epsilon", c.get("layer_norm_eps", 1e-5)))
    if "rms_norm_eps" in c and arch != "olmo":
        eps = ("attention.layer_norm_rms_epsilon", F32, c["rms_norm_eps"])
    if arch in ("gpt2", "bloom"):
        return rows + [eps]
    size = c.get("head_dim") or width // heads
    rows += [("attention.head_count_kv", U32, c.get("num_key_value_heads") or heads), eps,
             ("rope.freq_base", F32, c.get("rope_theta", c.get("rotary_emb_base")))]
    if arch in ("phi2", "phi3", "stablelm", "gptneox"):
        share = c.get("partial_rotary_factor", c.get("rotary_pct", 1))
        rows.append(("rope.dimension_count", U32, int(share * size)))
    else:
        rows += [("attention.key_length", U32, size), ("attention.value_length", U32, size)]
    if "use_parallel_residual" in c:
        rows.append(("use_parallel_residual", BOOL, c["use_parallel_residual"]))
    if arch == "phi3":
        rows += [("attention.sliding_window", U32, c["sliding_window"] or 0),
                 ("rope.scaling.original_context_length", U32,
                  c["original_max_position_embeddings"])]
    if arch == "olmo":
        rows.append(("attention.clamp_kqv", F32, c["clip_qkv"]))
    if arch == "granite":
        rows += [("attention.scale", F32, c["attention_multiplier"]),
                 ("embedding_scale", F32, c["embedding_multiplier"]),
                 ("residual_scale", F32, c["residual_multiplier"]),
                 ("logit_scale", F32, c["logits_scaling"])]
    if arch in ("gemma2", "gemma3"):
        rows.append(("attention.sliding_window", U32, c["sliding_window"]))
    if arch == "gemma3":
        rows.append(("attention.sliding_window_pattern", U32, c["sliding_window_pattern"]))
    if arch == "gemma2":
        rows += [("attn_logit_softcapping", F32, c["attn_logit_softcapping"]),
                 ("final_logit_softcapping", F32, c["final_logit_softcapping"])]
    return rows


def rates(c):
    """The divisors of the rates of rotary positions, as llama.cpp's converter computes them."""
    s = c["rope_scaling"]
    rate = 1 / np.float32(c["rope_theta"]) ** (np.arange(0, c["head_dim"], 2, dtype="f4")
                                              / np.float32(c["head_dim"]))
    length = 2 * np.pi / rate
    smooth = (s["original_max_position_embeddings"] / length - s["low_freq_factor"]) \
        / (s["high_freq_factor"] - s["low_freq_factor"])
    smooth = np.clip(smooth, 0, 1)
    return (1 / ((1 - smooth) / s["factor"] + smooth)).astype("<f4")


def vocabulary(n):
    """n tokens of byte-level BPE that llama.cpp accepts: a line feed, a ... z, aa ... zz."""
    return ["\u010a"] + [chr(97 + i % 26) * (1 + i // 26) for i in range(n - 1)]


def model(name, arch):
    c = json.load(open(f"{HUB}/{name}/config.json"))
    if arch in ("gemma2", "gemma3"):
        c["query_pre_attn_scalar"] = c["head_dim"]
        for key in ("layer_types", "rope_scaling"):
            c.pop(key, None)
    with open(f"{OUT}/{name}.json", "w") as f:
        json.dump(c, f, indent=1)
        f.write("\n")
    heads = c.get("num_attention_heads", c.get("n_head"))
    rows = [("general.architecture", STRING, arch), ("general.name", STRING, "a \"tiny\" model"),
            ("tokenizer.ggml.model", STRING, "gpt2"), ("tokenizer.ggml.pre", STRING, "gpt-2"),
            ("tokenizer.ggml.tokens", ARRAY, vocabulary(c["vocab_size"])),
            ("tokenizer.ggml.merges", ARRAY, ["a a"]), ("tokenizer.ggml.eos_token_id", U32, 2)]
    rows += [(f"{arch}.{key}", kind, v) for key, kind, v in metadata(arch, c)]
    tensors = []
    if (c.get("rope_scaling") or {}).get("rope_type") == "llama3":
        tensors.append(("rope_freqs.weight", 0, (c["head_dim"] // 2,), rates(c).tobytes()))
    for theirs, w in read(f"{HUB}/{name}").items():
        pair = converted(arch, theirs, w, heads, c.get("num_key_value_heads") or heads)
        if pair:
            w = np.ascontiguousarray(pair[1], "<f4")
            tensors.append((pair[0], 0, w.shape[::-1], w.tobytes()))
    write(f"{OUT}/{name}.gguf", rows, tensors)


# -- blocks ---------------------------------------------------------------------------------------

def half(raw):
    return np.frombuffer(bytes(raw), "<f2")[0].astype("f4")


def super_scales(s):
    """The eight scales and eight minimums of 6 bits in 12 bytes."""
    scales, minimums = [int(x) & 63 for x in s[:4]], [int(x) & 63 for x in s[4:8]]
    for j in range(4):
        scales.append((int(s[8 + j]) & 15) + 16 * (int(s[j]) >> 6))
        minimums.append((int(s[8 + j]) >> 4) + 16 * (int(s[4 + j]) >> 6))
    return scales, minimums


def decoded(kind, b):
    """The values of one block, in float32 as ggml computes them."""
    f = np.float32
    if kind in ("Q4_0", "Q4_1", "Q5_0", "Q5_1"):
        has_minimum, has_fifth = kind.endswith("1"), kind.startswith("Q5")
        at = 2 + 2*has_minimum
        fifth = np.unpackbits(b[at:at + 4], bitorder="little") if has_fifth else np.zeros(32, int)
        nibbles = b[at + 4*has_fifth:]
        q = np.concatenate([nibbles & 15, nibbles >> 4]).astype(int) + 16*fifth.astype(int)
        if has_minimum:
            return [f(f(x) * half(b[:2])) + half(b[2:4]) for x in q]
        return [f(f(x - (16 if has_fifth else 8)) * half(b[:2])) for x in q]
    if kind == "Q8_0":
        return [f(x) * half(b[:2]) for x in b[2:].view("i1")]
    if kind == "Q6_K":
        low, high, scales, d = b[:128], b[128:192], b[192:208].view("i1"), half(b[208:])
        out = np.zeros(256, "f4")
        for n in range(2):
            for l in range(32):
                h = int(high[32*n + l])
                for part in range(4):
                    q = int(low[64*n + 32*(part % 2) + l])
                    q = (q >> 4 if part > 1 else q & 15) + 16 * (h >> 2*part & 3) - 32
                    i = 128*n + 32*part + l
                    out[i] = f(d * f(scales[i // 16])) * f(q)
        return out
    fifth = b[16:48] if kind == "Q5_K" else None
    nibbles = b[48:] if kind == "Q5_K" else b[16:]
    scales, minimums = super_scales(b[4:16])
    out = []
    for j in range(8):
        by, less = half(b[:2]) * f(scales[j]), half(b[2:4]) * f(minimums[j])
        for i in range(32):
            q = int(nibbles[32*(j // 2) + i]) >> 4*(j % 2) & 15
            if fifth is not None:
                q += 16 * (int(fifth[i]) >> j & 1)
            out.append(f(by * f(q)) - less)
    return out


def blocks():
    kinds = [("Q4_0", 2, 32, 18), ("Q4_1", 3, 32, 20), ("Q5_0", 6, 32, 22), ("Q5_1", 7, 32, 24),
             ("Q8_0", 8, 32, 34), ("Q4_K", 12, 256, 144), ("Q5_K", 13, 256, 176),
             ("Q6_K", 14, 256, 210)]
    random = np.random.RandomState(1)
    tensors = []
    for name, kind, values, size in kinds:
        rows = random.randint(0, 256, (4, size)).astype("u1")
        for row in rows:                                 # scales that are finite numbers
            for at in {"Q6_K": [208], "Q4_0": [0], "Q5_0": [0], "Q8_0": [0]}.get(name, [0, 2]):
                row[at:at + 2] = np.frombuffer(np.float16(random.randn()).tobytes(), "u1")
        floats = np.array([decoded(name, row) for row in rows], "<f4")
        tensors += [(name, kind, (2 * values, 2), rows.tobytes()),
                    (name + ".values", 0, (2 * values, 2), floats.tobytes())]
    write(f"{OUT}/blocks.gguf", [("general.architecture", STRING, "none")], tensors)


os.makedirs(OUT, exist_ok=True)
for folder, architecture in ARCHITECTURES.items():
    if len(sys.argv) < 2 or folder in sys.argv[1:]:
        model(folder, architecture)
blocks()
