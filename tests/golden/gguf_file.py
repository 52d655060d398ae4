"""Writes a GGUF file, version 3, from rows of metadata and of tensors."""
import struct

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def value(kind, v):
    if kind == STRING:
        return text(v)
    if kind == ARRAY:
        each = {str: STRING, int: I32, float: F32}[type(v[0])]
        return struct.pack("<IQ", each, len(v)) + b"".join(value(each, x) for x in v)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}[kind], v)


def write(path, metadata, tensors):
    """metadata: (key, type, value); tensors: (name, ggml type, sides from the last, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, kind, v in metadata:
        head += text(key) + struct.pack("<I", kind) + value(kind, v)
    data = b""
    for name, kind, sides, raw in tensors:
        head += text(name) + struct.pack("<I", len(sides)) + struct.pack(f"<{len(sides)}Q", *sides)
        head += struct.pack("<IQ", kind, len(data))
        data += raw + bytes(-len(raw) % 32)
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32) + data)
