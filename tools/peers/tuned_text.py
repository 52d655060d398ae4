"""Tokenizers of the hub and batches for tuned.py: byte-level BPE, WordPiece, windows, masks."""
import collections
import os
import re
import numpy as np
from make_hub import write_json

CONTEXT, BATCH = 256, 4
MERGES, WORDS, MASKED = 1000, 2000, 0.15
GPT2_WORDS = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
END, SPECIALS = "<|endoftext|>", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CLS, SEP, MASK = 2, 3, 4


# -- tokenizers -----------------------------------------------------------------------------------

def learn_merges(words):
    """Byte-level BPE (Sennrich 2016, algorithm 1) of a count of words: pairs of ids, best first,
    and the ids of each word. Words stand in one array, with -1 between them."""
    raw = [word.encode() for word in words]
    ids = np.concatenate([np.append(np.frombuffer(w, np.uint8).astype(np.int64), -1) for w in raw])
    weights = np.repeat(list(words.values()), [len(w) + 1 for w in raw]).astype(float)
    pairs, size = [], 256 + MERGES
    for new in range(256, size):
        inside = (ids[:-1] >= 0) & (ids[1:] >= 0)
        keys = np.where(inside, ids[:-1] * size + ids[1:], 0)
        best = np.bincount(keys, weights[:-1] * inside).argmax()
        hit = inside & (keys == best)
        if best // size == best % size:         # of "aaa" the first two
            for i in np.flatnonzero(hit):
                hit[i + 1] &= not hit[i]
        pairs.append(divmod(int(best), size))
        ids[:-1][hit] = new
        kept = ~np.append(False, hit)
        ids, weights = ids[kept], weights[kept]
    spelled = np.split(ids, np.flatnonzero(ids < 0) + 1)[:-1]
    return pairs, {word: list(s[:-1]) for word, s in zip(words, spelled)}


def shown_bytes():
    """GPT-2's character for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(b if b in plain else next(others)) for b in range(256)]


def write_bpe(folder, pairs, whole):
    """As tokenizer.json, or as vocab.json and merges.txt."""
    tokens = shown_bytes()
    for a, b in pairs:
        tokens.append(tokens[a] + tokens[b])
    vocab = {token: i for i, token in enumerate(tokens + [END])}
    merges = ["%s %s" % (tokens[a], tokens[b]) for a, b in pairs]
    if not whole:
        write_json(os.path.join(folder, "vocab.json"), vocab)
        with open(os.path.join(folder, "merges.txt"), "w", encoding="utf-8") as f:
            f.write("\n".join(["#version: 0.2"] + merges) + "\n")
        return
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
             "use_regex": True}
    write_json(os.path.join(folder, "tokenizer.json"), {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None,
        "added_tokens": [{"id": len(tokens), "content": END, "single_word": False, "lstrip": False,
                          "rstrip": False, "normalized": False, "special": True}],
        "pre_tokenizer": level, "post_processor": None, "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": False, "vocab": vocab,
                  "merges": merges}})


def write_words(folder, text):
    """A vocab.txt of WordPiece: characters, and the words that are most frequent."""
    words = collections.Counter(re.findall(r"\w+|[^\w\s]", text.lower()))
    letters = sorted(set("".join(words)))
    tokens = SPECIALS + letters + ["##" + c for c in letters]
    tokens += [w for w, _ in words.most_common() if len(w) > 1][:WORDS - len(tokens)]
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(tokens) + "\n")


def write_tokenizer(name, folder, text):
    """Returns the ids that the text has where they are known without tfn, or None."""
    if name == "bert":
        write_words(folder, text)
        return None
    words = GPT2_WORDS.findall(text)
    pairs, spelled = learn_merges(collections.Counter(words))
    write_bpe(folder, pairs, whole=name == "llama")
    return [i for word in words for i in spelled[word]] if text.isascii() else None


# -- batches: tokens and targets, (B, T) ----------------------------------------------------------

def mask(tokens, rng):
    """BERT's (Devlin 2019, section 3.1): of 15 % of the words 80 % are hidden, 10 % replaced."""
    tokens = np.pad(tokens, ((0, 0), (1, 1)), constant_values=(CLS, SEP))
    chosen, kind = rng.random(tokens.shape) < MASKED, rng.random(tokens.shape)
    chosen[:, [0, -1]] = False
    targets = np.where(chosen, tokens, -1)
    tokens = np.where(chosen & (kind < 0.8), MASK, tokens)
    random = rng.integers(len(SPECIALS), WORDS, tokens.shape)
    return np.where(chosen & (kind >= 0.9), random, tokens), targets


def batch_at(name, ids, at, rng):
    """The windows that begin there."""
    if name == "bert":
        return mask(ids[at[:, None] + np.arange(CONTEXT - 2)], rng)
    windows = ids[at[:, None] + np.arange(CONTEXT + 1)]
    return windows[:, :-1], windows[:, 1:]


def drawn_batch(name, ids, step):
    rng = np.random.default_rng(step)
    return batch_at(name, ids, rng.integers(len(ids) - CONTEXT, size=BATCH), rng)


def held_out(name, ids):
    """Disjoint windows over all of them, a batch each."""
    rng = np.random.default_rng(1 << 30)
    at = np.arange(0, len(ids) - CONTEXT, CONTEXT)
    return [batch_at(name, ids, at[i:i + BATCH], rng) for i in range(0, len(at), BATCH)]
