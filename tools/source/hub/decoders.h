#ifndef TFN__DECODERS_H
#define TFN__DECODERS_H
#include "../ground/ground.h"
#include "family_rows.h"

/* Families of the hub that are a decoder without an encoder: their keys, their tensors, and a
 * table. Builds on family_rows. */

/* X(number, name, prefix, like, keys, tensors). A family comes after the one that it is like. */
#define TFN__DECODER_LIST(X) \
    X(GPT2, "gpt2", "transformer.", NULL, tfn__gpt2_keys, tfn__gpt2_tensors) \
    X(LLAMA, "llama", "model.", &tfn__rotary_family, tfn__llama_keys, tfn__llama_tensors) \
    X(MISTRAL, "mistral", "model.", TFN__LIKE(LLAMA), tfn__mistral_keys, NULL) \
    X(QWEN2, "qwen2", "model.", TFN__LIKE(LLAMA), tfn__qwen2_keys, NULL) \
    X(QWEN3, "qwen3", "model.", TFN__LIKE(QWEN2), tfn__qwen3_keys, tfn__qwen3_tensors) \
    X(OLMO2, "olmo2", "model.", TFN__LIKE(LLAMA), tfn__olmo2_keys, tfn__olmo2_tensors) \
    X(OLMO, "olmo", "model.", &tfn__llama_names, tfn__olmo_keys, NULL) \
    X(GRANITE, "granite", "model.", TFN__LIKE(LLAMA), tfn__granite_keys, NULL) \
    X(SMOLLM3, "smollm3", "model.", TFN__LIKE(LLAMA), tfn__smollm3_keys, NULL) \
    X(GEMMA, "gemma", "model.", TFN__LIKE(LLAMA), tfn__gemma_keys, NULL) \
    X(GEMMA2, "gemma2", "model.", TFN__LIKE(GEMMA), tfn__gemma2_keys, tfn__gemma2_tensors) \
    X(GEMMA3, "gemma3_text", "model.", TFN__LIKE(GEMMA2), tfn__gemma3_keys, tfn__gemma3_tensors) \
    X(GEMMA3_IMAGES, "gemma3", "language_model.model. model.language_model.", \
      TFN__LIKE(GEMMA3), tfn__gemma3_images_keys, tfn__gemma3_images_tensors) \
    X(NEOX, "gpt_neox", "gpt_neox.", &tfn__rotary_family, tfn__neox_keys, tfn__neox_tensors) \
    X(PHI, "phi", "model.", &tfn__rotary_family, tfn__phi_keys, tfn__phi_tensors) \
    X(OPT, "opt", "model.", &tfn__shape, tfn__opt_keys, tfn__opt_tensors) \
    X(PHI3, "phi3", "model.", &tfn__llama_names, tfn__phi3_keys, tfn__phi3_tensors) \
    X(STABLELM, "stablelm", "model.", &tfn__llama_names, tfn__stablelm_keys, \
      tfn__stablelm_tensors) \
    X(GPT_NEO, "gpt_neo", "transformer.", NULL, tfn__gpt_neo_keys, tfn__gpt_neo_tensors) \
    X(GPTJ, "gptj", "transformer.", NULL, tfn__gptj_keys, tfn__gptj_tensors) \
    X(BLOOM, "bloom", "transformer.", NULL, tfn__bloom_keys, tfn__bloom_tensors)

/* In this order. A row without a name is the end. */
extern SHARED const tfn_family tfn__decoder_families[];
#endif /* TFN__DECODERS_H */
