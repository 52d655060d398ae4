"""Writes BERT's encoder as an ONNX file for onnx_runtime.py, without a library of ONNX."""
import struct

import numpy as np

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}       # TensorProto.DataType


# -- protocol buffers -----------------------------------------------------------------------------

def varint(number):
    """Encodes seven bits per byte, the lowest first. Negative numbers have 64 bits."""
    coded, number = b"", number & (1 << 64) - 1
    while number > 127:
        coded += bytes([number & 127 | 128])
        number >>= 7
    return coded + bytes([number])


def field(number, value):
    """Encodes a field of a message: an integer, a float, a string, or bytes, which may be a
    message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(*members):
    """Encodes a message from pairs (field number, value)."""
    return b"".join(field(number, value) for number, value in members)


# -- ONNX: the field numbers of onnx.proto --------------------------------------------------------

def attribute(name, value):
    """Encodes an AttributeProto: a float, an integer, a string, or a list of integers."""
    if isinstance(value, float):
        return message((1, name), (2, value), (20, 1))
    if isinstance(value, int):
        return message((1, name), (3, value), (20, 2))
    if isinstance(value, str):
        return message((1, name), (4, value), (20, 3))
    return message((1, name), *((8, i) for i in value), (20, 7))


def value_info(name, kind, shape):
    """Encodes a ValueInfoProto. A string in the shape names a dimension that varies."""
    lengths = [(1, message((2 if isinstance(n, str) else 1, n))) for n in shape]
    tensor = message((1, TYPES[kind]), (2, message(*lengths)))
    return message((1, name), (2, message((1, tensor))))


class Graph:
    """Nodes are added in the order of computation. Methods return the names of the outputs."""

    def __init__(self):
        self.members = []                       # of GraphProto
        self.names = 0

    def name(self):
        self.names += 1
        return "v%d" % self.names

    def constant(self, array):
        name, array = self.name(), np.ascontiguousarray(array)
        self.members.append((5, message(
            *((1, n) for n in array.shape), (2, TYPES[array.dtype.name]), (8, name),
            (9, array.tobytes()))))
        return name

    def node(self, op, *inputs, outputs=1, domain="", **attributes):
        """Adds a node. Inputs are names, or arrays, which become constants."""
        inputs = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        made = [self.name() for _ in range(outputs)]
        self.members.append((1, message(
            *((1, x) for x in inputs), *((2, y) for y in made), (4, op),
            *((5, attribute(n, v)) for n, v in attributes.items()), (7, domain))))
        return made[0] if outputs == 1 else made

    def write(self, path, inputs, outputs):
        """Writes the file. inputs and outputs are triples (name, type, shape)."""
        members = [(2, "bert"), *self.members, *((11, value_info(*x)) for x in inputs),
                   *((12, value_info(*y)) for y in outputs)]
        opsets = [message((1, ""), (2, 17)), message((1, "com.microsoft"), (2, 1))]
        with open(path, "wb") as file:          # ModelProto
            file.write(message((1, 8), (7, message(*members)), *((8, o) for o in opsets)))


# -- BERT -----------------------------------------------------------------------------------------

def quantize(matrix):
    """Returns signed bytes, and the scale of each column."""
    scales = np.abs(matrix).max(0) / np.float32(127)
    return np.rint(matrix / scales).astype(np.int8), scales


class Bert(Graph):
    """The encoder of Devlin et al. 2018, with the fused operators that onnxruntime's optimizer
    makes of such files. weights has the names of the hub's files."""

    def __init__(self, config, weights, int8):
        super().__init__()
        self.config, self.weights, self.int8 = config, weights, int8

    def fused(self, op, *inputs, **attributes):
        return self.node(op, *inputs, domain="com.microsoft", **attributes)

    def products(self, x, *names):
        """Returns x W for each matrix. With int8, x is quantized once for all of them, with one
        scale for x and one for each column of a matrix: y = scale scales (x W)."""
        matrices = [self.weights[name + ".weight"].T for name in names]
        if not self.int8:
            return [self.node("MatMul", x, matrix) for matrix in matrices]
        x, scale, zero = self.node("DynamicQuantizeLinear", x, outputs=3)
        results = []
        for matrix in matrices:
            matrix, scales = quantize(matrix)
            y = self.node("Cast", self.node("MatMulInteger", x, matrix, zero), to=TYPES["float32"])
            results.append(self.node("Mul", y, self.node("Mul", scale, scales)))
        return results

    def linear(self, x, *names):
        return [self.node("Add", y, self.weights[name + ".bias"])
                for y, name in zip(self.products(x, *names), names)]

    def add_norm(self, name, x, y, bias):
        """LayerNorm(x + y + bias)"""
        gain, shift = (self.weights["%s.LayerNorm.%s" % (name, n)] for n in ("weight", "bias"))
        return self.fused("SkipLayerNormalization", y, x, gain, shift, self.weights[bias],
                          epsilon=self.config["layer_norm_eps"])

    def embed(self, ids):
        words, places, types = (self.weights["embeddings.%s_embeddings.weight" % n]
                                for n in ("word", "position", "token_type"))
        x = self.node("Add", self.node("Gather", words, ids), places + types[0])
        gain, shift = (self.weights["embeddings.LayerNorm." + n] for n in ("weight", "bias"))
        return self.node("LayerNormalization", x, gain, shift, axis=-1,
                         epsilon=self.config["layer_norm_eps"])

    def block(self, at, x):
        attention = at + "attention.self."
        q, k, v = self.linear(x, *(attention + n for n in ("query", "key", "value")))
        y = self.fused("MultiHeadAttention", q, k, v, num_heads=self.config["num_attention_heads"])
        y, = self.products(y, at + "attention.output.dense")
        x = self.add_norm(at + "attention.output", x, y, at + "attention.output.dense.bias")
        y, = self.products(x, at + "intermediate.dense")
        y = self.fused("BiasGelu", y, self.weights[at + "intermediate.dense.bias"])
        y, = self.products(y, at + "output.dense")
        return self.add_norm(at + "output", x, y, at + "output.dense.bias")

    def save(self, path):
        """Writes the file, which maps ids (batch, time) to hidden vectors (batch, time, width)."""
        time, width = self.config["max_position_embeddings"], self.config["hidden_size"]
        x = self.embed("ids")
        for i in range(self.config["num_hidden_layers"]):
            x = self.block("encoder.layer.%d." % i, x)
        self.write(path, [("ids", "int64", ("batch", time))],
                   [(x, "float32", ("batch", time, width))])
