#!/usr/bin/env python3
"""Tokens per second beside llama.cpp, which gets the same weights as a GGUF file.

    tfn train TEXT --recipe pre-rms --set activation=swiglu,no_bias=true --layers 12 --width 768 \\
        --heads 12 --context 1024 --steps 1 --out m.safetensors
    taskset -c 0 python3 tools/peers/llama_cpp.py m.safetensors FOLDER [--prefill 256] [--tokens 64]

FOLDER has llama.cpp's libraries, such as those of the npm package node-llama-cpp. `tfn export`
writes the files (F32, Q8_0, Q4_0). Each side reads a prompt, then writes tokens one at a time, on
one thread. The sides take turns; a time is processor time, the median of the rounds. llama.cpp
keeps keys and values in half precision, its default, and rounds the inputs of quantized products to
8 bits, as tfnorm.h does. The largest difference of a probability after the prompt shows that both
run the same model.
"""
import argparse
import ctypes
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))
import tfnorm

TYPES = {"f32": None, "q8_0": "q8", "q4_0": "q4"}


class ModelSettings(ctypes.Structure):
    """llama_model_params, whose members all keep their defaults; larger than any version's."""
    _fields_ = [("all", ctypes.c_uint64 * 64)]


class ContextSettings(ctypes.Structure):
    """The beginning of llama_context_params, and room for what later versions append."""
    _fields_ = [("context", ctypes.c_uint32), ("batch", ctypes.c_uint32),
                ("micro_batch", ctypes.c_uint32), ("rest", ctypes.c_uint64 * 64)]


class Batch(ctypes.Structure):
    """llama_batch."""
    _fields_ = [("count", ctypes.c_int32), ("arrays", ctypes.c_void_p * 6)]


def open_llama(folder):
    """The library, with the types of the functions that are called here."""
    library = None
    for name in ("libggml-base*", "libggml.*", "libllama.*"):
        for path in sorted(glob.glob(os.path.join(folder, name))):
            library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    if library is None or not hasattr(library, "llama_decode"):
        sys.exit("no libllama in " + folder)
    # the kernels for this processor, which ggml chooses itself
    library.ggml_backend_load_all_from_path(ctypes.c_char_p(folder.encode()))
    pointer, integer = ctypes.c_void_p, ctypes.c_int32
    for name, result, arguments in (
            ("backend_init", None, []),
            ("log_set", None, [pointer, pointer]),
            ("model_default_params", ModelSettings, []),
            ("context_default_params", ContextSettings, []),
            ("model_load_from_file", pointer, [ctypes.c_char_p, ModelSettings]),
            ("init_from_model", pointer, [pointer, ContextSettings]),
            ("set_n_threads", None, [pointer, integer, integer]),
            ("batch_get_one", Batch, [pointer, integer]),
            ("decode", integer, [pointer, Batch]),
            ("get_logits_ith", ctypes.POINTER(ctypes.c_float), [pointer, integer]),
            ("get_memory", pointer, [pointer]),
            ("memory_clear", None, [pointer, ctypes.c_bool]),
            ("free", None, [pointer]),
            ("model_free", None, [pointer])):
        function = getattr(library, "llama_" + name)
        function.restype, function.argtypes = result, arguments
    return library


class Llama:
    """llama.cpp with a GGUF file."""

    def __init__(self, library, path, vocab, context, prefill):
        settings = library.llama_context_default_params()
        settings.context, settings.batch, settings.micro_batch = context, prefill, prefill
        self.library, self.vocab = library, vocab
        self.model = library.llama_model_load_from_file(path.encode(),
                                                        library.llama_model_default_params())
        self.context = self.model and library.llama_init_from_model(self.model, settings)
        if not self.context:
            sys.exit("llama.cpp does not read " + path)
        library.llama_set_n_threads(self.context, 1, 1)

    def start(self):
        """Forgets all tokens."""
        self.library.llama_memory_clear(self.library.llama_get_memory(self.context), True)

    def next(self, tokens):
        """Logits after some tokens; a view."""
        tokens = np.ascontiguousarray(tokens, dtype=np.int32)
        batch = self.library.llama_batch_get_one(tokens.ctypes.data, len(tokens))
        if self.library.llama_decode(self.context, batch):
            sys.exit("llama.cpp does not decode")
        return np.ctypeslib.as_array(self.library.llama_get_logits_ith(self.context, -1),
                                     (self.vocab,))

    def close(self):
        self.library.llama_free(self.context)
        self.library.llama_model_free(self.model)


class Own:
    """tfnorm.h with weights of the same type."""

    def __init__(self, path, weights, context, prefill):
        self.model = tfnorm.Model.load(path, batch=1, context=context, inference=True, threads=1)
        if weights:
            self.model = self.model.quantize(weights)
        self.decoder = self.model.decoder(chunk=prefill)

    def start(self):
        self.decoder.start()

    def next(self, tokens):
        return np.asarray(self.decoder.next(tokens))[0]


def measure(side, prompt, count):
    """Seconds of the prompt and of a token after it, and the probabilities after the prompt."""
    side.start()
    begin = time.process_time()
    logits = side.next(prompt)
    read = time.process_time()
    chances = np.exp(logits - logits.max())
    token = [int(logits.argmax())]
    first = time.process_time()
    for _ in range(count):
        token = [int(side.next(token).argmax())]
    return read - begin, (time.process_time() - first) / count, chances / chances.sum()


def compare(library, o, folder, kind):
    """Prints a row of the table for a type of weights."""
    path = os.path.join(folder, kind + ".gguf")
    subprocess.run([o.tfn, "export", o.model, path, "--type", kind], check=True,
                   stdout=subprocess.DEVNULL)
    context = o.prefill + o.tokens
    own = Own(o.model, TYPES[kind], context, o.prefill)
    vocab = own.model.option("vocab")
    peer = Llama(library, path, vocab, context, o.prefill)
    prompt = [(7 * i + 3) % vocab for i in range(o.prefill)]
    rounds = [[measure(side, prompt, o.tokens) for side in (own, peer)] for _ in range(o.rounds)]
    differ = np.abs(rounds[0][0][2] - rounds[0][1][2]).max()
    text = kind
    for at, name, tokens in ((0, "prefill", o.prefill), (1, "decode", 1)):
        mine, theirs = ([pair[side][at] for pair in rounds] for side in (0, 1))
        ratio = statistics.median(b / a for a, b in zip(mine, theirs))
        text += "  %s: tfnorm.h %.1f, llama.cpp %.1f tokens/s, ratio %.2f" % (
            name, tokens / statistics.median(mine), tokens / statistics.median(theirs), ratio)
    print("%s; probabilities differ by at most %.1e" % (text, differ))
    peer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--prefill", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tfn", default=os.path.join(here, "../bin/tfn"))
    o = parser.parse_args()
    library = open_llama(o.folder)
    silent = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(
        lambda level, text, user: None)
    library.llama_log_set(ctypes.cast(silent, ctypes.c_void_p), None)
    library.llama_backend_init()
    with tempfile.TemporaryDirectory() as folder:
        for kind in TYPES:
            compare(library, o, folder, kind)


if __name__ == "__main__":
    main()
