#!/usr/bin/env python3
"""Megabytes of text per second that become ids, beside the libraries that define the ids.

    taskset -c 0 python3 tools/peers/tokens.py TEXT [--vocab 8000] [--lines 50]
    taskset -c 0 python3 tools/peers/tokens.py TEXT --node FOLDER --json FILE [FILE ...]

SentencePiece (Debian: python3-sentencepiece) makes two models of the text: a BPE with bytes for
what it does not know, like Llama's, and a Unigram, like T5's. tfnorm.h reads the files that it
wrote. The second command compares with the Rust library of Hugging Face on published files,
tokenizer.json. FOLDER has the npm package tokenizers. That library also finds the place of each
token in the text. Each side encodes the text in pieces of so many lines. The sides take turns; a
time is processor time, the median of the rounds. Different ids are an error.
"""
import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

try:
    import sentencepiece
except ImportError:
    sentencepiece = None

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tfnorm

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


class Rust:
    """Hugging Face's tokenizers, in a process of its own."""
    name = "tokenizers"

    def __init__(self, folder, file, texts):
        here = os.path.dirname(os.path.abspath(__file__))
        self.process = subprocess.Popen(
            ["node", os.path.join(here, "tokens.mjs"), folder, file], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, encoding="utf-8", env=dict(os.environ, RAYON_NUM_THREADS="1"))
        self.process.stdin.write(json.dumps(texts) + "\n")

    def encode(self):
        self.process.stdin.write("encode\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
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
    return compare(title, own, Rust(o.node, file, texts), o.rounds)


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
    arguments.add_argument("--node")
    arguments.add_argument("--json", nargs="+", default=[])
    o = arguments.parse_args()
    with open(o.text, encoding="utf-8") as file:
        lines = file.read().splitlines()
    texts = [" ".join(lines[i:i + o.lines]) for i in range(0, len(lines), o.lines)]
    if o.json:
        good = [published(file, texts, o) for file in o.json]
    else:
        if not sentencepiece:
            sys.exit("skipped: this Python has no module sentencepiece")
        good = [made(kind, texts, lines, o) for kind in KINDS]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
