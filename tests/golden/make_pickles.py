#!/usr/bin/env python3
"""Files of torch.save for tests/hub/test_import.c (PyTorch 1.13).

    python3 make_pickles.py         writes hub/llama-bin, hub/llama-bin-sharded and hub/pickles

The first two hold the weights of hub/llama. hub/pickles/kinds.bin has every dtype, storages that
tensors share, offsets, and strides; old.bin has the form before PyTorch 1.6. hub/pickles/empty and
hub/pickles/nested are folders whose dictionary has no tensors.
"""
import json
import os
import shutil
import struct
import torch
from collections import OrderedDict

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hub")
DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def read_safetensors(path):
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    header, tensors = json.loads(data[8:8 + size]), {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + at for at in entry["data_offsets"])
        flat = torch.frombuffer(bytearray(data[begin:end]), dtype=DTYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"]).clone()
    return tensors


def folder(name):
    to = os.path.join(HERE, name)
    os.makedirs(to, exist_ok=True)
    for file in ("config.json", "ids.txt", "logits.txt"):
        shutil.copyfile(os.path.join(HERE, "llama", file), os.path.join(to, file))
    return to


def main():
    tensors = read_safetensors(os.path.join(HERE, "llama", "model.safetensors"))
    state = OrderedDict((n, torch.nn.Parameter(t)) for n, t in sorted(tensors.items()))
    state._metadata = OrderedDict([("", {"version": 1})])
    torch.save(state, os.path.join(folder("llama-bin"), "pytorch_model.bin"))

    for name, without in (("empty", {}), ("nested", {"state_dict": {"a": torch.zeros(1)}})):
        to = os.path.join(HERE, "pickles", name)
        os.makedirs(to, exist_ok=True)
        shutil.copyfile(os.path.join(HERE, "llama", "config.json"), os.path.join(to, "config.json"))
        torch.save(without, os.path.join(to, "pytorch_model.bin"))

    to, names, index = folder("llama-bin-sharded"), sorted(tensors), {}
    for part in range(2):
        file = f"pytorch_model-{part + 1:05}-of-00002.bin"
        half = names[part * len(names) // 2:(part + 1) * len(names) // 2]
        torch.save({n: tensors[n] for n in half}, os.path.join(to, file))
        index.update(dict.fromkeys(half, file))
    with open(os.path.join(to, "pytorch_model.bin.index.json"), "w") as f:
        json.dump({"metadata": {}, "weight_map": index}, f, indent=1, sort_keys=True)

    whole = torch.arange(24, dtype=torch.float32)
    kinds = {"whole": whole.reshape(4, 6), "part": whole[6:12], "turned": whole.reshape(4, 6).T,
             "columns": whole.reshape(4, 6)[:, 1:3], "row": whole.reshape(4, 6)[2:3, :],
             "none": torch.zeros(0, 3), "number": torch.tensor(2.5), "text": "not a tensor",
             "list": [1, 2.5, None, True], "inner": {"tensor": torch.zeros(2)}}
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32,
                  torch.int16, torch.int8):
        kinds[str(dtype)[6:]] = torch.tensor([1, -2, 3]).to(dtype)
    kinds["uint8"] = torch.tensor([1, 2, 255], dtype=torch.uint8)
    os.makedirs(os.path.join(HERE, "pickles"), exist_ok=True)
    torch.save(kinds, os.path.join(HERE, "pickles", "kinds.bin"))
    torch.save({"a": torch.zeros(2)}, os.path.join(HERE, "pickles", "old.bin"),
               _use_new_zipfile_serialization=False)


main()
