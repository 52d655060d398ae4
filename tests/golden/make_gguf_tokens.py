#!/usr/bin/env python3
"""python3 golden/make_gguf_tokens.py, in tests: write the files of golden/gguf that hold only a
tokenizer, and floats.gguf, a model with rows of 32 values. The test wants the ids that llama.cpp
gives for the first. From the second, llama.cpp made q8_0.gguf and q4_0.gguf (real/quantize.py)."""
import random
import struct

from gguf_file import ARRAY, BOOL, F32, STRING, U32, write


def shown(word):
    """Bytes as byte-level BPE shows them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    table = {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(rest)}
    return "".join(table[b] for b in word)


def tokenizers():
    """Two files of metadata. The ids that the test wants are llama.cpp's: real/gguf.mjs compares."""
    words = ["th", "the", " t", " th", " the", "in", " in", "12", "123", "ing", "\u00e4"]
    merges = [("t", "h"), ("th", "e"), (" ", "t"), (" t", "h"), (" th", "e"), ("i", "n"),
              (" ", "in"), ("1", "2"), ("12", "3"), ("in", "g"), (b"\xc3", b"\xa4")]
    bpe = [shown(bytes([b])) for b in range(256)] + [shown(w.encode()) for w in words]
    bpe += ["<|begin|>", "<|end|>", "<tool>", "[PAD270]"]
    kinds = [1] * (256 + len(words)) + [3, 3, 4, 5]
    merges = [" ".join(shown(w if isinstance(w, bytes) else w.encode()) for w in pair)
              for pair in merges]
    for name, pre in (("tokens-bpe", "llama-bpe"), ("tokens-digits", "smollm")):
        write(f"golden/gguf/{name}.gguf", [
            ("general.architecture", STRING, "llama"), ("tokenizer.ggml.model", STRING, "gpt2"),
            ("tokenizer.ggml.pre", STRING, pre), ("tokenizer.ggml.tokens", ARRAY, bpe),
            ("tokenizer.ggml.token_type", ARRAY, kinds),
            ("tokenizer.ggml.merges", ARRAY, merges),
            ("tokenizer.ggml.bos_token_id", U32, 267), ("tokenizer.ggml.eos_token_id", U32, 268),
            ("tokenizer.chat_template", STRING, "{{ \"\u00e4\" }}\n")], [])
    mark = "\u2581"
    words = [mark + "t", "th", mark + "th", "in", "ing", mark + "the", mark + "in", mark, "t", "h",
             "e", "i", "n", "g", "a", "\u00e4"]
    pieces = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
    pieces += [(f"<0x{b:02X}>", 0.0, 6) for b in range(256)]
    pieces += [(word, -float(i), 1) for i, word in enumerate(words)]
    for name, space, own in (("tokens-llama", True, []),
                             ("tokens-gemma", False, [("  ", 0.0, 4), ("<unused>", 0.0, 5)])):
        rows = pieces + own
        write(f"golden/gguf/{name}.gguf", [
            ("general.architecture", STRING, "llama"), ("tokenizer.ggml.model", STRING, "llama"),
            ("tokenizer.ggml.tokens", ARRAY, [p[0] for p in rows]),
            ("tokenizer.ggml.scores", ARRAY, [p[1] for p in rows]),
            ("tokenizer.ggml.token_type", ARRAY, [p[2] for p in rows]),
            ("tokenizer.ggml.bos_token_id", U32, 1), ("tokenizer.ggml.eos_token_id", U32, 2),
            ("tokenizer.ggml.unknown_token_id", U32, 0),
            ("tokenizer.ggml.add_space_prefix", BOOL, space)], [])


def floats():
    """Normal numbers, some rows of zeros, and equal numbers of both signs."""
    random.seed(3)
    sides = {"token_embd": (32, 32), "output_norm": (32,), "blk.0.attn_norm": (32,),
             "blk.0.attn_q": (32, 32), "blk.0.attn_k": (32, 32), "blk.0.attn_v": (32, 32),
             "blk.0.attn_output": (32, 32), "blk.0.ffn_norm": (32,), "blk.0.ffn_gate": (32, 32),
             "blk.0.ffn_up": (32, 32), "blk.0.ffn_down": (32, 32)}
    tensors = []
    for name, side in sides.items():
        values = [random.gauss(0, 1) * 2.0 ** random.randint(-6, 2)
                  for _ in range(32 * 32 if len(side) > 1 else 32)]
        if len(side) > 1:
            values[32:64] = [0.0] * 32
            values[64:96] = [0.5, -0.5] * 16
            values[96:128] = [-0.5, 0.5] * 16
        tensors.append((name + ".weight", 0, side, struct.pack(f"<{len(values)}f", *values)))
    write("golden/gguf/floats.gguf", [
        ("general.architecture", STRING, "llama"), ("llama.context_length", U32, 32),
        ("llama.embedding_length", U32, 32), ("llama.block_count", U32, 1),
        ("llama.feed_forward_length", U32, 32), ("llama.attention.head_count", U32, 2),
        ("llama.attention.layer_norm_rms_epsilon", F32, 1e-5)], tensors)


tokenizers()
floats()
