#ifndef TFN__PEFT_H
#define TFN__PEFT_H
#include "../ground/ground.h"
#include "export.h"

/* LoRA in the files of PEFT, the Python library of Hugging Face: adapter_config.json and
 * adapter_model.safetensors. Reads them into a model with LoRA, and writes them. Builds on import
 * and export, whose rows of names it uses.
 *
 * For a module of the hub, such as "transformer.h.0.attn.c_attn", PEFT stores
 *
 *     base_model.model.transformer.h.0.attn.c_attn.lora_A.weight     (r, in)
 *     base_model.model.transformer.h.0.attn.c_attn.lora_B.weight     (out, r)
 *
 * in these shapes, even if the module stores its own matrix as (in, out). The module computes
 *
 *     y = x W + b + s (x lora_A^T) lora_B^T,     s = lora_alpha / r, or lora_alpha / sqrt(r)
 *
 * the latter with use_rslora. This library's A is lora_A^T and its B is lora_B^T. A module may hold
 * several maps: c_attn has queries, keys and values side by side. Then each map has its own columns
 * of B, and all have the same A. */

enum { TFN__PEFT_NAME = 160 };          /* bytes of a name: a tensor's prefix, module and end */
extern SHARED const char tfn__peft_prefix[];
SHARED void tfn__peft_module_name(char *to, size_t size, const char *prefix,
                                  const tfn_tensor_rule *rule, const tfn__blanks *b);
#endif /* TFN__PEFT_H */
