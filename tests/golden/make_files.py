#!/usr/bin/env python3
"""python3 make_files.py > golden_files.h: small files for tests/files/test_files.c, written with struct,
json and numpy from the rules of the formats, not with tfnorm.h.

safetensors: u64 length, JSON header padded with spaces to a multiple of 8, data; tensors by dtype
in the order of the reference, then by name. One value of each number format, chosen for its edges."""
import io
import json
import struct

import numpy as np

ORDER = "U64 I64 F64 F32 U32 I32 BF16 F16 U16 I16 I8 U8 BOOL".split()
SIZES = dict(U64=8, I64=8, F64=8, F32=4, U32=4, I32=4, BF16=2, F16=2, U16=2, I16=2, I8=1, U8=1, BOOL=1)


def safetensors(tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, shape, raw) in sorted(tensors.items(),
                                            key=lambda x: (ORDER.index(x[1][0]), x[0].encode())):
        assert len(raw) == SIZES[dtype] * int(np.prod(shape, dtype=np.int64))
        header[name] = {"dtype": dtype, "shape": list(shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def emit(name, raw):
    print(f"static const unsigned char golden_{name}[] = {{")
    for i in range(0, len(raw), 24):
        print("    " + ",".join(str(b) for b in raw[i:i + 24]) + ",")
    print("};")


def floats(name, values):
    print(f"static const float golden_{name}[] = {{")
    print("    " + ", ".join("NAN" if v != v else ("-" if v < 0 else "") + "INFINITY" if abs(v) == float("inf")
                             else f"{float(v)!r}f" for v in np.array(values, np.float32)))
    print("};")


f32 = np.array([[0, -0.0, 1], [1e-45, 3.4028235e38, -np.inf]], "<f4")
f16 = np.array([0, 1, -2, 65504, 6e-8, 6.1e-5, np.inf, np.nan], "<f2")
bf16 = np.array([0, 0x3f80, 0xc000, 0x7f80, 0x0001, 0x4049], "<u2")
f64 = np.array([1 / 3, -1e-300, 1e30], "<f8")
tensors = {
    "matrix": ("F32", f32.shape, f32.tobytes()), "half": ("F16", f16.shape, f16.tobytes()),
    "brain": ("BF16", bf16.shape, bf16.tobytes()), "double": ("F64", f64.shape, f64.tobytes()),
    "a \"quoted\"\\\u00e9": ("F32", (), np.float32(7).tobytes()),
    "empty": ("F32", (3, 0), b""),
    "i8": ("I8", (2,), np.array([-128, 127], "i1").tobytes()),
    "u8": ("U8", (2,), np.array([0, 255], "u1").tobytes()),
    "i16": ("I16", (2,), np.array([-32768, 32767], "<i2").tobytes()),
    "u16": ("U16", (1,), np.array([65535], "<u2").tobytes()),
    "i32": ("I32", (2,), np.array([-2**31, 2**31 - 1], "<i4").tobytes()),
    "u32": ("U32", (1,), np.array([2**32 - 1], "<u4").tobytes()),
    "i64": ("I64", (2,), np.array([-2**63, 3], "<i8").tobytes()),
    "u64": ("U64", (1,), np.array([2**64 - 1], "<u8").tobytes()),
    "bool": ("BOOL", (2,), b"\0\1"),
}
print("/* Made by golden/make_files.py. */")
emit("all_dtypes", safetensors(tensors))
brain = (bf16.astype("<u4") << 16).view("<f4")
for name, values in (("half", f16), ("brain", brain), ("double", f64)):
    floats(name, values)
floats("i64", [-2.0**63, 3])
floats("u64", [2.0**64])
small = {"b": ("F32", (2,), np.array([1.5, -2], "<f4").tobytes()),
         "a": ("F32", (1, 2), np.array([3, 4], "<f4").tobytes()),
         "c": ("U8", (3,), b"xyz")}
emit("small", safetensors(small))
for name, array in (("npy_f4", np.arange(6, dtype="<f4").reshape(2, 3) / 2), ("npy_f8", np.float64(0.1)),
                    ("npy_i4", np.array([1, -2, 2**31 - 1], "<i4"))):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), (1, 0))
    emit(name, out.getvalue())
