#!/usr/bin/env python3
"""Seconds in which a text becomes ids, beside SentencePiece's own library.

    taskset -c 0 /usr/bin/python3 tools/peers/tokens.py TEXT [--vocab 8000] [--lines 50]

SentencePiece (Debian: python3-sentencepiece) makes a BPE with bytes for what it does not know, as
Llama's, and a Unigram, as T5's, of the text; tfnorm.h reads the file that it wrote. Each then
encodes the text by pieces of so many lines, one thread, in turn; a time is the median of the rounds.
Ids that are not the same are an error.
"""
import argparse
import io
import os
import statistics
import sys
import time

import numpy as np
import sentencepiece

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


def seconds_of(encode, texts):
    begin = time.process_time()
    ids = encode(texts)
    return time.process_time() - begin, ids


def compare(kind, lines, o):
    """Prints a row of the table; whether the ids are equal."""
    model = train(lines, kind, o.vocab)
    peer = sentencepiece.SentencePieceProcessor(model_proto=model)
    own = tfnorm.Tokenizer.of(model=model)
    texts = [" ".join(lines[i:i + o.lines]) for i in range(0, len(lines), o.lines)]
    raw = [text.encode() for text in texts]
    ways = {"sentencepiece": (lambda x: peer.encode(x, num_threads=1), texts),
            "tfnorm.h": (lambda x: [own.encode(text) for text in x], raw)}
    took = {name: [] for name in ways}
    for _ in range(o.rounds):
        found = {}
        for name, (encode, x) in ways.items():
            seconds, found[name] = seconds_of(encode, x)
            took[name].append(seconds)
    equal = all(np.array_equal(a, b) for a, b in zip(*found.values()))
    median = {name: statistics.median(t) for name, t in took.items()}
    size = sum(map(len, raw)) / 1e6
    print("%-10s %s  ratio %.2f%s" % (
        kind, "  ".join("%s %.2f MB/s" % (name, size / t) for name, t in median.items()),
        median["sentencepiece"] / median["tfnorm.h"], "" if equal else "  ids differ!"))
    return equal


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("text")
    arguments.add_argument("--vocab", type=int, default=8000)
    arguments.add_argument("--lines", type=int, default=50)
    arguments.add_argument("--rounds", type=int, default=5)
    o = arguments.parse_args()
    with open(o.text, encoding="utf-8") as file:
        lines = file.read().splitlines()
    good = [compare(kind, lines, o) for kind in KINDS]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
