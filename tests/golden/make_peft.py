#!/usr/bin/env python3
"""Adapters in the format of PEFT, with the logits that they mean (PyTorch 1.13, double).

    python3 make_peft.py [NAME ...]         writes peft/NAME/ beside itself; without names: all

A folder holds adapter_config.json, adapter_model.safetensors and logits.txt, the logits of the
model in hub/BASE on its ids.txt. BASE is base_model_name_or_path. Restated from the published
configuration and layers of PEFT, not its code:

    W' = W + s B A,  A (r, in), B (out, r),  s = lora_alpha / r, or lora_alpha / sqrt(r) (rslora)

for a Linear, (out, in), and its transpose for GPT-2's Conv1D, (in, out), if fan_in_fan_out. A module
is adapted if target_modules has its name or the end of it after a dot. layers_to_transform keeps
those layers. rank_pattern and alpha_pattern are regular expressions for the end of a module's name.
The forwards are those of make_hub.py, with W' in place of W.
"""
import math
import os
import re
import sys
import torch
from make_hub import CASES, HERE, distance, sentences, write_json, write_rows, write_safetensors
from stream import Stream

# name: the case of make_hub.py, the dtype of the tensors, and what is set in adapter_config.json
ADAPTERS = {
    "gpt2": ("gpt2", "F32", dict(r=3, lora_alpha=6, fan_in_fan_out=True,
                                 target_modules=["attn.c_attn", "mlp.c_proj"])),
    "llama": ("llama", "F32", dict(r=4, lora_alpha=6, use_rslora=True,
                                   target_modules=["q_proj", "v_proj", "up_proj", "lm_head"])),
    "llama-layer": ("llama", "F32", dict(r=2, lora_alpha=3, target_modules=["k_proj", "o_proj"],
                                         layers_to_transform=[1])),
    "gpt_neox": ("gpt_neox", "F32", dict(
        r=4, lora_alpha=4, target_modules=["query_key_value", "dense"], rank_pattern={"dense": 2},
        alpha_pattern={"^gpt_neox.layers.1.attention.dense": 6})),
    "gptj": ("gptj", "F32", dict(r=1, lora_alpha=2, target_modules=["q_proj", "k_proj", "fc_in"])),
    "phi3": ("phi3", "F16", dict(r=2, lora_alpha=2, target_modules="all-linear")),
    "bert": ("bert", "F32", dict(r=2, lora_alpha=4, target_modules=[
        "query", "value", "attention.output.dense"])),
    "t5": ("t5", "BF16", dict(r=2, lora_alpha=1.5, target_modules=["q", "v", "wo"],
                              task_type="SEQ_2_SEQ_LM")),
}
CONFIG = dict(
    alpha_pattern={}, auto_mapping=None, bias="none", corda_config=None, eva_config=None,
    exclude_modules=None, fan_in_fan_out=False, inference_mode=True, init_lora_weights=True,
    layer_replication=None, layers_pattern=None, layers_to_transform=None, loftq_config={},
    lora_bias=False, lora_dropout=0.05, megatron_config=None, megatron_core="megatron.core",
    modules_to_save=None, peft_type="LORA", qalora_group_size=16, rank_pattern={}, revision=None,
    target_parameters=None, task_type="CAUSAL_LM", trainable_token_indices=None, use_dora=False,
    use_qalora=False, use_rslora=False)


def targeted(config, module):
    targets, layers = config["target_modules"], config["layers_to_transform"]
    if targets == "all-linear":
        return "embed" not in module and module != "lm_head"
    if not any(module == t or module.endswith("." + t) for t in targets):
        return False
    layer = re.match(r".*\.[^.]*\.(\d+)\.", module)
    return layers is None or layer is not None and int(layer[1]) in layers


def number(config, pattern, key, module):
    for name, value in config[pattern].items():
        if re.match(r"(.*\.)?(%s)$" % name, module):
            return value
    return config[key]


def adapt(config, dtype, tensors):
    """The adapter's tensors, and the model's with W' for W."""
    adapter, merged = {}, dict(tensors)
    for name, w in tensors.items():
        module = name[:-len(".weight")]
        if w.dim() != 2 or not name.endswith(".weight") or not targeted(config, module):
            continue
        r = number(config, "rank_pattern", "r", module)
        alpha = number(config, "alpha_pattern", "lora_alpha", module)
        scale = alpha / math.sqrt(r) if config["use_rslora"] else alpha / r
        out, width = w.T.shape if config["fan_in_fan_out"] else w.shape
        half = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}[dtype]
        a = Stream(module + ".lora_A").draw(r, width, scale=1 / math.sqrt(width)).to(half).double()
        b = Stream(module + ".lora_B").draw(out, r, scale=0.7).to(half).double()
        delta = scale * (b @ a)
        merged[name] = w + (delta.T if config["fan_in_fan_out"] else delta)
        adapter["base_model.model.%s.lora_A.weight" % module] = (dtype, a)
        adapter["base_model.model.%s.lora_B.weight" % module] = (dtype, b)
    return adapter, merged


def write(name):
    base, dtype, changes = ADAPTERS[name]
    case, config = CASES[base], dict(CONFIG, base_model_name_or_path=base, **changes)
    lines = sentences(case)
    model = case.model(case.config, case.dtype)
    before = model.outputs(lines)
    adapter, merged = adapt(config, dtype, model.tensors)
    rows = case.model(case.config, case.dtype, merged).outputs(lines)
    assert distance(before, rows) > 0.01, name
    folder = os.path.join(HERE, "peft", name)
    os.makedirs(folder, exist_ok=True)
    write_json(os.path.join(folder, "adapter_config.json"), config)
    write_safetensors(os.path.join(folder, "adapter_model.safetensors"), adapter)
    write_rows(os.path.join(folder, "logits.txt"), rows.tolist(), "%.9g")
    print("%-12s %2d tensors, logits move by %.2g" % (name, len(adapter), distance(before, rows)))


if __name__ == "__main__":
    for chosen in sys.argv[1:] or ADAPTERS:
        write(chosen)
