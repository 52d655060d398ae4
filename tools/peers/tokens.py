#!/usr/bin/env python3
"""Megabytes of text per second that become ids, beside the libraries that define the ids.

    taskset -c 0 python3 tools/peers/tokens.py TEXT [--vocab 8000] [--lines 50]
    taskset -c 0 python3 tools/peers/tokens.py TEXT --node FOLDER --json FILE [FILE ...]
    taskset -c 0 python3 tools/peers/tokens.py TEXT --node FOLDER --ranks cl100k_base gpt2

SentencePiece (Debian: python3-sentencepiece) makes two models of the text: a BPE with bytes for
what it does not know, like Llama's, and a Unigram, like T5's. tfnorm.h reads the files that it
wrote. The second command compares with the Rust library of Hugging Face on published files,
tokenizer.json. FOLDER has the npm package tokenizers. That library also finds the place of each
token in the text.

The third command compares with tiktoken, OpenAI's Rust library, on encodings of OpenAI. The npm
package tiktoken in FOLDER has that library compiled to WebAssembly, and the ranks of the tokens.
From these the script makes the tokenizer.json that tfnorm.h reads. The npm package tiktoken-node
has tiktoken-rs, a Rust crate with a copy of the library, compiled to native code. It always finds
special tokens, so TEXT must not contain <|endoftext|>. The times of both packages include the
conversion of a JavaScript string.

Each side encodes the text in pieces of --lines lines. The sides take turns. A time is processor
time, the median of the rounds. Different ids are an error.
"""
import argparse
import base64
import io
import json
import os
import statistics
import sys
import time

import numpy as np

try:
    import sentencepiece
except ImportError:
    sentencepiece = None

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tfnorm
from node_peer import Node, missing

KINDS = {"bpe": {"byte_fallback": True}, "unigram": {}}


def train(lines, kind, vocab):
    """The bytes of a tokenizer.model."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, model_type=kind,
        vocab_size=vocab, num_threads=1, minloglevel=2, **KINDS[kind])
    return model.getvalue()


class SentencePiece:
    """The library's own reader of a model."""
    name = "sentencepiece"

    def __init__(self, model, texts):
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.texts = texts

    def encode(self):
        begin = time.process_time()
        ids = self.processor.encode(self.texts, num_threads=1)
        return time.process_time() - begin, ids


class Package:
    """A tokenizer of an npm package."""
    NAMES = {"tokenizers": "tokenizers", "tiktoken": "tiktoken (WebAssembly)",
             "tiktoken-node": "tiktoken-rs (native)"}

    def __init__(self, folder, package, source, texts):
        self.name, self.texts = Package.NAMES[package], texts
        self.node = Node("tokens.mjs", folder, package, source)

    def encode(self):
        answer = self.node.ask(self.texts)
        return answer["seconds"], answer["ids"]


class Own:
    """tfnorm.h."""
    name = "tfnorm.h"

    def __init__(self, tokenizer, texts):
        self.tokenizer = tokenizer
        self.texts = [text.encode() for text in texts]

    def encode(self):
        begin = time.process_time()
        ids = [self.tokenizer.encode(text) for text in self.texts]
        return time.process_time() - begin, ids


def parts_of(token, ranks, below):
    """Splits a token into the parts that remain after all merges of a rank below `below`."""
    parts = [token[i:i + 1] for i in range(len(token))]
    while len(parts) > 1:
        merged = [ranks.get(a + b, below) for a, b in zip(parts, parts[1:])]
        at = merged.index(min(merged))
        if merged[at] >= below:
            break
        parts[at:at + 2] = [parts[at] + parts[at + 1]]
    return parts


def tokenizer_json(encoding):
    """Returns the tokenizer.json of a tiktoken encoding. A token's rank is its id, and the rank of
    the merge that makes it. A piece of the text that is a token is not merged."""
    ranks = {}
    for line in encoding["bpe_ranks"].splitlines():
        _, first, *tokens = line.split()
        for i, token in enumerate(tokens):
            ranks[base64.b64decode(token)] = int(first) + i
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    letters = {byte: chr(byte) for byte in shown}
    letters.update((byte, chr(256 + i)) for i, byte in enumerate(hidden))
    spell = lambda token: "".join(letters[byte] for byte in token)
    merges = [parts_of(token, ranks, rank) for token, rank in ranks.items() if len(token) > 1]
    split = {"type": "Split", "pattern": {"Regex": encoding["pat_str"]}, "behavior": "Isolated",
             "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
             "use_regex": False}
    return json.dumps({
        "version": "1.0", "added_tokens": [], "normalizer": None, "post_processor": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]}, "decoder": level,
        "model": {"type": "BPE", "ignore_merges": True,
                  "vocab": {spell(token): rank for token, rank in ranks.items()},
                  "merges": [" ".join(map(spell, pair)) for pair in merges if len(pair) == 2]}})


def compare(title, own, peer, rounds):
    """Prints a row of the table; whether the ids are equal."""
    took = []
    for _ in range(rounds):
        (mine, ids), (theirs, wanted) = own.encode(), peer.encode()
        took.append((mine, theirs))
    equal = len(ids) == len(wanted) and all(map(np.array_equal, ids, wanted))
    size = sum(map(len, own.texts)) / 1e6
    mine, theirs = (size / statistics.median(t) for t in zip(*took))
    print("%-24s tfnorm.h %.2f MB/s  %s %.2f MB/s  ratio %.2f%s" % (
        title, mine, peer.name, theirs, statistics.median(b / a for a, b in took),
        "" if equal else "  ids differ!"), flush=True)
    return equal


def published(file, texts, o):
    """A row for a published tokenizer.json."""
    title = os.path.basename(os.path.dirname(os.path.dirname(os.path.abspath(file))))
    with open(file, "rb") as opened:
        own = Own(tfnorm.Tokenizer.of(json=opened.read()), texts)
    return compare(title, own, Package(o.node, "tokenizers", file, texts), o.rounds)


def ranked(name, texts, o):
    """Prints a row for each tiktoken package in the folder."""
    file = os.path.join(o.node, "node_modules", "tiktoken", "encoders", name + ".json")
    with open(file, encoding="utf-8") as opened:
        own = Own(tfnorm.Tokenizer.of(json=tokenizer_json(json.load(opened))), texts)
    good = True
    for package in ("tiktoken", "tiktoken-node"):
        reason = missing(o.node, package)
        if reason:
            print("%-24s %s" % (name, reason))
        else:
            good &= compare(name, own, Package(o.node, package, name, texts), o.rounds)
    return good


def made(kind, texts, lines, o):
    """A row for a model that SentencePiece makes of the text."""
    model = train(lines, kind, o.vocab)
    return compare(kind, Own(tfnorm.Tokenizer.of(model=model), texts), SentencePiece(model, texts),
                   o.rounds)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("text")
    arguments.add_argument("--vocab", type=int, default=8000)
    arguments.add_argument("--lines", type=int, default=50)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--node", default=".")
    arguments.add_argument("--json", nargs="+", default=[])
    arguments.add_argument("--ranks", nargs="+", default=[])
    o = arguments.parse_args()
    with open(o.text, encoding="utf-8") as file:
        lines = file.read().splitlines()
    texts = [" ".join(lines[i:i + o.lines]) for i in range(0, len(lines), o.lines)]
    if o.json or o.ranks:
        reason = missing(o.node, "tokenizers" if o.json else "tiktoken")
    else:
        reason = None if sentencepiece else "skipped: this Python has no module sentencepiece"
    if reason:
        sys.exit(reason)
    if o.json or o.ranks:
        good = [published(file, texts, o) for file in o.json]
        good += [ranked(name, texts, o) for name in o.ranks]
    else:
        good = [made(kind, texts, lines, o) for kind in KINDS]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
