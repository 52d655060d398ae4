#!/usr/bin/env python3
"""Times an encoder in tfnorm.h and in onnxruntime, in float32 and with weights of 8 bits.

    npm install --prefix FOLDER --ignore-scripts onnxruntime-node
    taskset -c 0 python3 tools/peers/onnx_runtime.py FOLDER [--width 384 768] [--batch 1 8]

The script makes a BERT of MiniLM's shape (6 layers, 12 heads, 128 tokens) with random weights: a
folder of the hub, which tfnorm.h imports, and two ONNX files (onnx_graph.py). The second file
multiplies integers, as onnxruntime's dynamic quantization does: MatMulInteger with weights of 8
bits, one scale per column, and inputs that DynamicQuantizeLinear rounds to 8 bits. It is compared
with Q8 of tfnorm.h, which has one scale per block of 32 weights and per block of 32 inputs.

Each side computes the hidden vectors of texts that fill all 128 tokens, on one thread. The sides
take turns. A time is processor time, the median of the rounds. In float32 the hidden vectors may
differ by 1e-4. The error of 8 bits is the root mean square of the difference from float32 on the
same side. The mean square of the hidden vectors is about 1.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tfnorm
from node_peer import Node, missing
from onnx_graph import Bert

TIME, VOCAB, HEADS = 128, 30522, 12
SAME = 1e-4
FORMS = ("float32", "float32"), ("q8", "int8")          # of tfnorm.h and of onnxruntime


# -- the model ------------------------------------------------------------------------------------

def configuration(width, layers):
    """config.json"""
    return {"model_type": "bert", "architectures": ["BertModel"], "hidden_act": "gelu",
            "hidden_size": width, "intermediate_size": 4 * width, "layer_norm_eps": 1e-12,
            "max_position_embeddings": TIME, "num_attention_heads": HEADS,
            "num_hidden_layers": layers, "type_vocab_size": 2, "vocab_size": VOCAB}


def random_weights(config):
    """Returns weights with the names of the hub's files. All of them affect the result: gains are
    about 1, and rows of matrices have a length of about 1."""
    random = np.random.default_rng(1)
    width, inner = config["hidden_size"], config["intermediate_size"]
    weights = {}

    def draw(name, *shape):
        drawn = random.standard_normal(shape, dtype=np.float32)
        weights[name] = drawn / np.float32(shape[-1] ** 0.5 if len(shape) > 1 else 10)

    def norm(name):
        draw(name + ".LayerNorm.weight", width)
        draw(name + ".LayerNorm.bias", width)
        weights[name + ".LayerNorm.weight"] += 1

    for name, rows in (("word", VOCAB), ("position", TIME), ("token_type", 2)):
        draw("embeddings.%s_embeddings.weight" % name, rows, width)
    norm("embeddings")
    for i in range(config["num_hidden_layers"]):
        at = "encoder.layer.%d." % i
        maps = {"attention.self." + n: (width, width) for n in ("query", "key", "value")}
        maps.update({"attention.output.dense": (width, width), "intermediate.dense": (inner, width),
                     "output.dense": (width, inner)})
        for name, shape in maps.items():
            draw(at + name + ".weight", *shape)
            draw(at + name + ".bias", shape[0])
        norm(at + "attention.output")
        norm(at + "output")
    return weights


def write_folder(folder, config, weights):
    """Writes config.json and model.safetensors."""
    os.mkdir(folder)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    header, at = {}, 0
    for name, x in weights.items():
        header[name] = {"dtype": "F32", "shape": x.shape, "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for x in weights.values():
            file.write(x.tobytes())


# -- the sides ------------------------------------------------------------------------------------

class Own:
    """tfnorm.h with the weights of the folder."""

    def __init__(self, folder, form, batch):
        weights = {} if form == "float32" else {"weights": form}
        self.model = tfnorm.Model.from_folder(folder, batch=batch, inference=True, threads=1,
                                              **weights)

    def run(self, ids):
        """Returns processor time and hidden vectors."""
        begin = time.process_time()
        hidden = self.model.hidden(ids)
        return time.process_time() - begin, hidden


class OnnxRuntime:
    """onnxruntime with one of the files that a Node.js process has opened."""

    def __init__(self, node, file, place, width):
        self.node, self.file, self.width = node, file, width
        self.path = os.path.join(place, "hidden")

    def run(self, ids, keep=False):
        """Returns processor time, and the hidden vectors if `keep`."""
        question = {"file": self.file, "ids": ids.tolist()}
        if not keep:
            return self.node.ask(question)["seconds"], None
        seconds = self.node.ask({**question, "path": self.path})["seconds"]
        return seconds, np.fromfile(self.path, np.float32).reshape(*ids.shape, self.width)


def rms(x):
    return float(np.sqrt(np.mean(np.square(x, dtype=np.float64))))


def timed(own, peer, ids, rounds):
    """Returns the medians of both sides as text. Both sides must have run before."""
    took = [(own.run(ids)[0], peer.run(ids)[0]) for _ in range(rounds)]
    mine, theirs = (1e3 * statistics.median(t) for t in zip(*took))
    return "tfnorm.h %.1f ms, onnxruntime %.1f ms, ratio %.2f" % (
        mine, theirs, statistics.median(b / a for a, b in took))


def compare(sides, title, ids, rounds):
    """Prints the rows of a batch. Returns whether the float32 sides agree."""
    exact = good = None
    for (own, peer), names in zip(sides, FORMS):
        hidden = own.run(ids)[1].copy(), peer.run(ids, keep=True)[1]
        row = "%s %-15s %s" % (title, " / ".join(dict.fromkeys(names)),
                               timed(own, peer, ids, rounds))
        if exact is None:
            exact, apart = hidden, float(np.abs(hidden[0] - hidden[1]).max())
            good = apart <= SAME
            row += "; differ by at most %.1e%s" % (apart, "" if good else ", too much!")
        else:
            row += "; errors %.4f, %.4f" % tuple(rms(x - y) for x, y in zip(hidden, exact))
        print(row, flush=True)
    return good


def measured(width, o):
    """Prints the rows of a width. Returns whether both sides computed the same vectors."""
    config = configuration(width, o.layers)
    weights = random_weights(config)
    with tempfile.TemporaryDirectory() as place:
        folder = os.path.join(place, "bert")
        write_folder(folder, config, weights)
        files = [os.path.join(place, theirs + ".onnx") for _, theirs in FORMS]
        for file, (_, theirs) in zip(files, FORMS):
            Bert(config, weights, theirs == "int8").save(file)
        node = Node("onnx_runtime.mjs", o.folder, *files)
        sides = [(Own(folder, mine, max(o.batch)), OnnxRuntime(node, i, place, width))
                 for i, (mine, _) in enumerate(FORMS)]
        good = True
        for batch in o.batch:
            ids = np.random.default_rng(batch).integers(VOCAB, size=(batch, TIME), dtype=np.int32)
            title = "width %d, batch %d" % (width, batch)
            good &= compare(sides, title, ids, o.rounds)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--width", type=int, nargs="+", default=[384, 768])
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--rounds", type=int, default=7)
    o = parser.parse_args()
    reason = missing(o.folder, "onnxruntime-node")
    if reason:
        sys.exit(reason)
    sys.exit(0 if all([measured(width, o) for width in o.width]) else 1)


if __name__ == "__main__":
    main()
