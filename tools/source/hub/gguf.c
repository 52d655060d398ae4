#include "gguf.h"
#include "../ground/basics.h"
#include "../ground/tables.h"
#include "../model/options.h"
#include "../model/resolve.h"
#include "../text/json.h"
#include "../files/files.h"
#include "../files/safetensors.h"
#include "../files/ggml.h"
#include "config_json.h"

TFN__RARE

/* -- families: rows of GGUF ------------------------------------------------------------------ */

/* Keys have their architecture's name in front, which is dropped here, and a slash for each other
 * dot: llama.attention.head_count is attention/head_count. Other keys come from the list of
 * tensors: vocab_size from the embedding's shape; output/weight, attn_q/bias and others are true if
 * there is such a tensor. All matrices are (out, in). */
static const tfn_key_rule tfn__gguf_keys[] = {
    { "vocab_size", "vocab", NULL, TFN_KEY_IS },
    { "context_length", "context", NULL, TFN_KEY_IS },
    { "embedding_length", "width", NULL, TFN_KEY_IS },
    { "block_count", "layers", NULL, TFN_KEY_IS },
    { "attention/head_count", "heads", NULL, TFN_KEY_IS },
    { "feed_forward_length", "ffn", NULL, TFN_KEY_IS },
    { "output/weight", "untied", "false", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
#define TFN__AS_IS(theirs, ours)      { theirs, ours, 0, 0, 0, 0 },
#define TFN__TRANSPOSED(theirs, ours) { theirs, ours, TFN_FORM_TRANSPOSED, 0, 0, 0 },
#define TFN__NEIGHBOURS(theirs, ours) \
    { theirs, ours, TFN_FORM_TRANSPOSED | TFN_FORM_PAIRS, 0, 0, 0 },
#define TFN__TURNING(theirs, ours) \
    { theirs, ours, TFN_FORM_TRANSPOSED | TFN_FORM_TURNING, 0, 0, 0 },
static const tfn_tensor_rule tfn__gguf_tensors[] = {
    TFN__AS_IS("token_embd.weight", "embedding.weight")
    TFN__AS_IS("blk.#.attn_norm.*", "decoder.#.self.norm_in.*")
    TFN__TRANSPOSED("blk.#.attn_q.*", "decoder.#.self.q.*")
    TFN__TRANSPOSED("blk.#.attn_k.*", "decoder.#.self.k.*")
    TFN__TRANSPOSED("blk.#.attn_v.*", "decoder.#.self.v.*")
    TFN__TRANSPOSED("blk.#.attn_output.*", "decoder.#.self.o.*")
    TFN__AS_IS("blk.#.ffn_norm.*", "decoder.#.ffn.norm_in.*")
    TFN__TRANSPOSED("blk.#.ffn_gate.*", "decoder.#.ffn.w1.*")
    TFN__TRANSPOSED("blk.#.ffn_up.*", "decoder.#.ffn.w3.*")
    TFN__TRANSPOSED("blk.#.ffn_down.*", "decoder.#.ffn.w2.*")
    TFN__AS_IS("blk.#.attn_q_norm.*", "decoder.#.self.q_norm.*")
    TFN__AS_IS("blk.#.attn_k_norm.*", "decoder.#.self.k_norm.*")
    TFN__AS_IS("blk.#.post_attention_norm.*", "decoder.#.self.norm_branch.*")
    TFN__AS_IS("blk.#.post_ffw_norm.*", "decoder.#.ffn.norm_branch.*")
    TFN__AS_IS("output_norm.*", "decoder.final_norm.*")
    { "output.weight", "output.weight", TFN_FORM_TRANSPOSED | TFN_FORM_HEAD, 0, 0, 0 },
    { NULL, NULL, 0, 0, 0, 0 }
};
static const tfn_family tfn__gguf_base = { "gguf", NULL, NULL, tfn__gguf_keys, tfn__gguf_tensors };

/* The keys and tensors of all families with rotary positions. Llama 3's scaling has no key: it is
 * in the tensor rope_freqs.weight (see tfn__gguf_find_scaling). */
static const tfn_key_rule tfn__gguf_turning_keys[] = {
    { NULL, "position", "rotary", TFN_KEY_IS },
    { "attention/head_count_kv", "kv_heads", "", TFN_KEY_IS },
    { "rope/freq_base", "rotary_base", "10000", TFN_KEY_IS },
    { "rope/scaling/type", "rotary_scaling", "", TFN_KEY_IS },
    { "rope/scaling/factor", "rotary_factor", "", TFN_KEY_IS },
    { "rope/scaling/original_context_length", "rotary_context", "", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__gguf_turning_tensors[] = {
    { "rope_freqs.weight", NULL, 0, 0, 0, 0 },
    { NULL, NULL, 0, 0, 0, 0 }
};
static const tfn_family tfn__gguf_turning = { "gguf-turning", NULL, &tfn__gguf_base,
                                              tfn__gguf_turning_keys, tfn__gguf_turning_tensors };

/* Llama and similar families: RMSNorm, rotation of whole heads, gates, and no biases, except
 * perhaps for queries, keys and values. */
static const tfn_key_rule tfn__gguf_rotary_keys[] = {
    { NULL, "recipe", "pre-rms", TFN_KEY_IS },
    { NULL, "no_bias", "true", TFN_KEY_IS },
    { NULL, "activation", "swiglu", TFN_KEY_IS },
    { "ffn_down/bias", "attention_bias", "off", TFN_KEY_IF },
    { "attn_q/bias", "attention_bias", "qkv", TFN_KEY_IF },
    { "attn_output/bias", "attention_bias", "all", TFN_KEY_IF },
    { "ffn_down/bias", "no_bias", "false", TFN_KEY_IF },
    { "rope/dimension_count", "head_size", "", TFN_KEY_IS },
    { "attention/key_length", "head_size", "", TFN_KEY_IS },
    { "attention/value_length", "head_size", "", TFN_KEY_SAME },
    { "rope/dimension_count", "head_size", "", TFN_KEY_SAME },
    { "attention/layer_norm_rms_epsilon", "norm_eps", NULL, TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_family tfn__gguf_rotary = { "gguf-rotary", NULL, &tfn__gguf_turning,
                                             tfn__gguf_rotary_keys, NULL };

/* Llama's converter puts channels that rotate together side by side. */
static const tfn_tensor_rule tfn__gguf_llama_tensors[] = {
    TFN__NEIGHBOURS("blk.#.attn_q.*", "decoder.#.self.q.*")
    TFN__NEIGHBOURS("blk.#.attn_k.*", "decoder.#.self.k.*")
    { NULL, NULL, 0, 0, 0, 0 }
};
static const tfn_key_rule tfn__gguf_qwen3_keys[] = {
    { NULL, "qk_norm", "head", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_key_rule tfn__gguf_olmo2_keys[] = {
    { NULL, "recipe", "olmo2", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};

/* Gains of Gemma's norms are stored with their 1. */
static const tfn_key_rule tfn__gguf_gemma_keys[] = {
    { NULL, "norm", "rmsnorm", TFN_KEY_IS },
    { NULL, "scale_embedding", "true", TFN_KEY_IS },
    { NULL, "activation", "geglu-tanh", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_family tfn__gguf_gemma = { "gguf-gemma", NULL, &tfn__gguf_rotary,
                                            tfn__gguf_gemma_keys, NULL };
static const tfn_key_rule tfn__gguf_gemma2_keys[] = {
    { NULL, "recipe", "gemma", TFN_KEY_IS },
    { "attention/key_length", "score_scale", "256", TFN_KEY_INVERSE_ROOT },
    { "attn_logit_softcapping", "attention_cap", "50", TFN_KEY_IS },
    { "final_logit_softcapping", "logit_cap", "30", TFN_KEY_IS },
    { "attention/sliding_window", "window", "4096", TFN_KEY_IS },
    { NULL, "window_period", "2", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_family tfn__gguf_gemma2 = { "gguf-gemma2", NULL, &tfn__gguf_gemma,
                                             tfn__gguf_gemma2_keys, NULL };
static const tfn_key_rule tfn__gguf_gemma3_keys[] = {
    { NULL, "qk_norm", "head", TFN_KEY_IS },
    { "attn_logit_softcapping", "attention_cap", "0", TFN_KEY_IS },
    { "final_logit_softcapping", "logit_cap", "0", TFN_KEY_IS },
    { "rope/freq_base", "rotary_base", "1000000", TFN_KEY_IS },
    { "rope/freq_base_swa", "window_base", "10000", TFN_KEY_IS },
    { "attention/sliding_window_pattern", "window_period", "6", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};

static const tfn_key_rule tfn__gguf_gpt2_keys[] = {
    { NULL, "recipe", "gpt2", TFN_KEY_IS },
    { NULL, "position", "learned", TFN_KEY_IS },
    { NULL, "activation", "gelu-tanh", TFN_KEY_IS },
    { "attention/layer_norm_epsilon", "norm_eps", NULL, TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__gguf_gpt2_tensors[] = {
    TFN__AS_IS("position_embd.weight", "decoder.position.weight")
    { "blk.#.attn_qkv.*", "decoder.#.self.q.*", TFN_FORM_TRANSPOSED, 0, 3, 0 },
    { "blk.#.attn_qkv.*", "decoder.#.self.k.*", TFN_FORM_TRANSPOSED, 1, 3, 0 },
    { "blk.#.attn_qkv.*", "decoder.#.self.v.*", TFN_FORM_TRANSPOSED, 2, 3, 0 },
    TFN__TRANSPOSED("blk.#.ffn_up.*", "decoder.#.ffn.w1.*")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* Granite: Llama with its factors. SmolLM 3: every fourth layer does not rotate, as no key says. */
static const tfn_key_rule tfn__gguf_granite_keys[] = {
    { "embedding_scale", "embedding_factor", NULL, TFN_KEY_IS },
    { "residual_scale", "branch_factor", NULL, TFN_KEY_IS },
    { "attention/scale", "score_scale", NULL, TFN_KEY_IS },
    { "logit_scale", "logit_divisor", NULL, TFN_KEY_IS },
    { "rope/scaling/finetuned", NULL, "true", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_key_rule tfn__gguf_smollm3_keys[] = {
    { NULL, "rotary_period", "4", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};

/* OLMo: norms learn nothing. Some models limit queries, keys and values. */
static const tfn_key_rule tfn__gguf_olmo_keys[] = {
    { NULL, "recipe", "pre", TFN_KEY_IS },
    { NULL, "norm", "layernorm-simple", TFN_KEY_IS },
    { NULL, "no_bias", "true", TFN_KEY_IS },
    { NULL, "activation", "swiglu", TFN_KEY_IS },
    { "rope/dimension_count", "head_size", "", TFN_KEY_IS },
    { "attention/key_length", "head_size", "", TFN_KEY_IS },
    { "attention/value_length", "head_size", "", TFN_KEY_SAME },
    { "attention/layer_norm_epsilon", "norm_eps", NULL, TFN_KEY_IS },
    { "attention/clamp_kqv", "qkv_clip", "", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};

/* Some channels of each head are rotated: Phi-3, Phi 1 to 2, StableLM, GPT-NeoX. */
static const tfn_key_rule tfn__gguf_partial_keys[] = {
    { "rope/dimension_count", "rotary_size", "", TFN_KEY_IS },
    { "attention/key_length", "head_size", "", TFN_KEY_IS },
    { "attention/value_length", "head_size", "", TFN_KEY_SAME },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_family tfn__gguf_partial = { "gguf-partial", NULL, &tfn__gguf_turning,
                                              tfn__gguf_partial_keys, NULL };
#define TFN__GGUF_FUSED(part, number, form) \
    { "blk.#.attn_qkv.*", "decoder.#.self." part ".*", \
      TFN_FORM_TRANSPOSED | TFN_FORM_QKV | (form), number, 3, 0 },

/* Phi-3: one matrix for queries, keys and values, and one for the gate and the other factor. */
static const tfn_key_rule tfn__gguf_phi3_keys[] = {
    { NULL, "recipe", "pre-rms", TFN_KEY_IS },
    { NULL, "no_bias", "true", TFN_KEY_IS },
    { NULL, "activation", "swiglu", TFN_KEY_IS },
    { "attention/layer_norm_rms_epsilon", "norm_eps", NULL, TFN_KEY_IS },
    { "attention/sliding_window", "window", "", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__gguf_phi3_tensors[] = {
    TFN__GGUF_FUSED("q", 0, TFN_FORM_TURNING)
    TFN__GGUF_FUSED("k", 1, TFN_FORM_TURNING)
    TFN__GGUF_FUSED("v", 2, 0)
    { "blk.#.ffn_up.weight", "decoder.#.ffn.w1.weight", TFN_FORM_TRANSPOSED, 0, 2, 0 },
    { "blk.#.ffn_up.weight", "decoder.#.ffn.w3.weight", TFN_FORM_TRANSPOSED, 1, 2, 0 },
    { NULL, NULL, 0, 0, 0, 0 }
};

/* Phi: both branches read one norm, and every map has a bias, even the logits. Older files have one
 * matrix for queries, keys and values. */
static const tfn_key_rule tfn__gguf_phi2_keys[] = {
    { NULL, "recipe", "parallel-shared", TFN_KEY_IS },
    { NULL, "output_bias", "true", TFN_KEY_IS },
    { NULL, "untied", "true", TFN_KEY_IS },
    { NULL, "activation", "gelu-tanh", TFN_KEY_IS },
    { "attention/layer_norm_epsilon", "norm_eps", NULL, TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__gguf_phi2_tensors[] = {
    TFN__TURNING("blk.#.attn_q.*", "decoder.#.self.q.*")
    TFN__TURNING("blk.#.attn_k.*", "decoder.#.self.k.*")
    TFN__TRANSPOSED("blk.#.attn_v.*", "decoder.#.self.v.*")
    TFN__GGUF_FUSED("q", 0, TFN_FORM_TURNING)
    TFN__GGUF_FUSED("k", 1, TFN_FORM_TURNING)
    TFN__GGUF_FUSED("v", 2, 0)
    TFN__TRANSPOSED("blk.#.ffn_up.*", "decoder.#.ffn.w1.*")
    { "output.*", "output.*", TFN_FORM_TRANSPOSED | TFN_FORM_HEAD, 0, 0, 0 },
    { NULL, NULL, 0, 0, 0, 0 }
};

/* StableLM: Llama with LayerNorm. Without a second norm in its layers, both branches read the
 * first one; use_parallel_residual, which some files have wrong, does not count. */
static const tfn_key_rule tfn__gguf_stablelm_keys[] = {
    { NULL, "recipe", "parallel-shared", TFN_KEY_IS },
    { "ffn_norm/weight", "recipe", "pre", TFN_KEY_IF },
    { NULL, "no_bias", "true", TFN_KEY_IS },
    { NULL, "untied", "true", TFN_KEY_IS },
    { NULL, "activation", "swiglu", TFN_KEY_IS },
    { "attn_q/bias", "attention_bias", "qkv", TFN_KEY_IF },
    { "attention/layer_norm_epsilon", "norm_eps", NULL, TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__gguf_stablelm_tensors[] = {
    TFN__TURNING("blk.#.attn_q.*", "decoder.#.self.q.*")
    TFN__TURNING("blk.#.attn_k.*", "decoder.#.self.k.*")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* GPT-NeoX: two norms of the same values, or one branch after the other. The published models have
 * GELU with erf, and llama.cpp computes the form with tanh: logits differ by some 1e-4. */
static const tfn_key_rule tfn__gguf_gptneox_keys[] = {
    { NULL, "recipe", "parallel", TFN_KEY_IS },
    { "use_parallel_residual", "recipe", "pre", TFN_KEY_UNLESS },
    { NULL, "untied", "true", TFN_KEY_IS },
    { NULL, "activation", "gelu", TFN_KEY_IS },
    { "attention/layer_norm_epsilon", "norm_eps", NULL, TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__gguf_gptneox_tensors[] = {
    TFN__GGUF_FUSED("q", 0, TFN_FORM_TURNING)
    TFN__GGUF_FUSED("k", 1, TFN_FORM_TURNING)
    TFN__GGUF_FUSED("v", 2, 0)
    TFN__TRANSPOSED("blk.#.ffn_up.*", "decoder.#.ffn.w1.*")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* BLOOM: a norm of the embeddings, and scores that decrease with the distance (ALiBi). */
static const tfn_key_rule tfn__gguf_bloom_keys[] = {
    { NULL, "recipe", "pre", TFN_KEY_IS },
    { NULL, "topology", "pre-embed-norm", TFN_KEY_IS },
    { NULL, "position", "alibi", TFN_KEY_IS },
    { NULL, "activation", "gelu-tanh", TFN_KEY_IS },
    { "attention/head_count_kv", "kv_heads", "", TFN_KEY_IS },
    { "attention/layer_norm_epsilon", "norm_eps", NULL, TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__gguf_bloom_tensors[] = {
    TFN__AS_IS("token_embd_norm.*", "decoder.embedding_norm.*")
    TFN__GGUF_FUSED("q", 0, 0)
    TFN__GGUF_FUSED("k", 1, 0)
    TFN__GGUF_FUSED("v", 2, 0)
    TFN__TRANSPOSED("blk.#.ffn_up.*", "decoder.#.ffn.w1.*")
    { NULL, NULL, 0, 0, 0, 0 }
};
#undef TFN__AS_IS
#undef TFN__TRANSPOSED
#undef TFN__NEIGHBOURS
#undef TFN__TURNING
#undef TFN__GGUF_FUSED

/* Named by general.architecture. */
enum { TFN__GGUF_FAMILIES = 16 };
static const tfn_family tfn__gguf_families[TFN__GGUF_FAMILIES] = {
    { "llama", NULL, &tfn__gguf_rotary, NULL, tfn__gguf_llama_tensors },
    { "qwen2", NULL, &tfn__gguf_rotary, NULL, NULL },
    { "qwen3", NULL, &tfn__gguf_rotary, tfn__gguf_qwen3_keys, NULL },
    { "olmo2", NULL, &tfn__gguf_rotary, tfn__gguf_olmo2_keys, NULL },
    { "gemma", NULL, &tfn__gguf_rotary, tfn__gguf_gemma_keys, NULL },
    { "gemma2", NULL, &tfn__gguf_gemma, tfn__gguf_gemma2_keys, NULL },
    { "gemma3", NULL, &tfn__gguf_gemma2, tfn__gguf_gemma3_keys, NULL },
    { "gpt2", NULL, &tfn__gguf_base, tfn__gguf_gpt2_keys, tfn__gguf_gpt2_tensors },
    { "granite", NULL, &tfn__gguf_rotary, tfn__gguf_granite_keys, tfn__gguf_llama_tensors },
    { "smollm3", NULL, &tfn__gguf_rotary, tfn__gguf_smollm3_keys, tfn__gguf_llama_tensors },
    { "olmo", NULL, &tfn__gguf_turning, tfn__gguf_olmo_keys, tfn__gguf_llama_tensors },
    { "phi3", NULL, &tfn__gguf_partial, tfn__gguf_phi3_keys, tfn__gguf_phi3_tensors },
    { "phi2", NULL, &tfn__gguf_partial, tfn__gguf_phi2_keys, tfn__gguf_phi2_tensors },
    { "stablelm", NULL, &tfn__gguf_partial, tfn__gguf_stablelm_keys, tfn__gguf_stablelm_tensors },
    { "gptneox", NULL, &tfn__gguf_partial, tfn__gguf_gptneox_keys, tfn__gguf_gptneox_tensors },
    { "bloom", NULL, &tfn__gguf_base, tfn__gguf_bloom_keys, tfn__gguf_bloom_tensors }
};

SHARED const tfn_family *tfn__gguf_family_at(int32_t i)
{
    if (i >= TFN__GGUF_FAMILIES) return NULL;
    return tfn__gguf_families + i;
}

/* -- GGUF: reading in order ------------------------------------------------------------------ */

static const uint8_t tfn__gguf_sizes[TFN__GGUF_TYPES] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

/* Tensors whose presence is an option, and their keys. */
static const char *const tfn__gguf_present[][2] = {
    { "output.weight", "output/weight" },
    { "blk.0.attn_q.bias", "attn_q/bias" },
    { "blk.0.attn_output.bias", "attn_output/bias" },
    { "blk.0.ffn_down.bias", "ffn_down/bias" },
    { "blk.0.ffn_norm.weight", "ffn_norm/weight" }
};
enum { TFN__GGUF_PRESENT = sizeof tfn__gguf_present / sizeof *tfn__gguf_present };

/* True if the key says that there is a tensor, so that no metadata have it. */
SHARED bool tfn__gguf_is_present(const char *key)
{
    for (int i = 0; i < TFN__GGUF_PRESENT; i++)
        if (tfn__equal(key, tfn__gguf_present[i][1])) return true;
    return false;
}

SHARED void tfn__gguf_bad(tfn__gguf *g)
{
    tfn__bad(g->f, "it is no valid GGUF at byte %d", NULL, (int64_t)g->at, 0);
}

/* Step over bytes, which must be in the file. */
static void tfn__gguf_step(tfn__gguf *g, uint64_t bytes)
{
    if (g->at > g->f->used || bytes > g->f->used - g->at) tfn__gguf_bad(g);
    else g->at += bytes;
}

/* Read up to 4,096 bytes, from memory where they are near the last ones. NULL: an error. */
static const uint8_t *tfn__gguf_bytes(tfn__gguf *g, size_t n)
{
    const uint64_t from = g->at;
    tfn__gguf_step(g, n);
    if (!tfn__fine(g->f)) return NULL;
    if (from < g->window || from + n > g->window + g->window_size) {
        const uint64_t rest = g->f->used - from;
        g->window = from;
        g->window_size = sizeof g->bytes;
        if (rest < g->window_size) g->window_size = (size_t)rest;
        if (!tfn__file_get(g->f, from, g->bytes, g->window_size)) return NULL;
    }
    return g->bytes + (from - g->window);
}

/* Read an unsigned little-endian number; 0 after an error. */
SHARED uint64_t tfn__gguf_number(tfn__gguf *g, size_t bytes)
{
    const uint8_t *s = tfn__gguf_bytes(g, bytes);
    if (!s) return 0;
    return tfn__from_bytes(s, bytes);
}

/* Read a string. If it does not fit into the room, it is skipped and the result is "". */
SHARED void tfn__gguf_string(tfn__gguf *g, char *to, size_t size)
{
    const uint64_t n = tfn__gguf_number(g, 8);
    const uint8_t *s = NULL;
    if (n < size) s = tfn__gguf_bytes(g, (size_t)n);
    else tfn__gguf_step(g, n);
    if (!size) return;
    to[0] = 0;
    if (!s) return;
    for (size_t i = 0; i < (size_t)n; i++) to[i] = (char)s[i];
    to[n] = 0;
}

/* Put the next string of the file in one of these forms: without quotes as it is or with U+2581 for
 * each space, or as a string of JSON. Bytes beyond ASCII are copied. */
SHARED void tfn__gguf_put(tfn__gguf *g, tfn__text *t, tfn__gguf_form form)
{
    uint64_t bytes = tfn__gguf_number(g, 8);
    if (form == TFN__GGUF_QUOTED) tfn__put(t, "\"");
    while (bytes) {
        size_t n = 256;
        const uint8_t *s;
        if (bytes < n) n = (size_t)bytes;
        s = tfn__gguf_bytes(g, n);
        if (!s) return;
        for (size_t i = 0; i < n; i++) {
            if (form == TFN__GGUF_MARKED && s[i] == ' ') tfn__put(t, "\xe2\x96\x81");
            else if (form == TFN__GGUF_QUOTED && s[i] < 0x80) tfn__put_json(t, s[i]);
            else tfn__put_bytes(t, s + i, 1);
        }
        bytes -= n;
    }
    if (form == TFN__GGUF_QUOTED) tfn__put(t, "\"");
}

/* Step over the value of a type. Each string of an array takes eight bytes of the file or more, so
 * that the file bounds the loop. */
SHARED void tfn__gguf_skip(tfn__gguf *g, uint64_t type)
{
    uint64_t count = 1;
    if (type == TFN__GGUF_ARRAY) {
        type = tfn__gguf_number(g, 4);
        count = tfn__gguf_number(g, 8);
        if (count > g->f->used) tfn__gguf_bad(g);
    }
    if (type >= TFN__GGUF_TYPES || type == TFN__GGUF_ARRAY) tfn__gguf_bad(g);
    if (!tfn__fine(g->f)) return;
    if (type != TFN__GGUF_STRING) {
        tfn__gguf_step(g, count * tfn__gguf_sizes[type]);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!tfn__fine(g->f)) return;
        tfn__gguf_string(g, NULL, 0);
    }
}

/* -- GGUF: metadata as config.json ----------------------------------------------------------- */

/* Put a word between quotes. Words of the format need no escapes; others are refused. */
static void tfn__gguf_word(tfn__gguf *g, const char *s)
{
    for (const char *c = s; *c; c++)
        if (*c <= ' ' || *c > '~' || *c == '"' || *c == '\\') tfn__gguf_bad(g);
    tfn__put_texts(&g->text, "\"", s, "\"");
}

/* Put the value of a scalar. An array becomes [] and a number above 2^63 - 1 becomes -1: no rule
 * accepts either. */
static void tfn__gguf_value(tfn__gguf *g, uint64_t type)
{
    uint64_t u;
    if (type == TFN__GGUF_ARRAY) {
        tfn__put(&g->text, "[]");
        tfn__gguf_skip(g, type);
        return;
    }
    if (type == TFN__GGUF_STRING) {
        tfn__gguf_put(g, &g->text, TFN__GGUF_QUOTED);
        return;
    }
    if (type >= TFN__GGUF_TYPES) tfn__gguf_bad(g);
    if (!tfn__fine(g->f)) return;
    u = tfn__gguf_number(g, tfn__gguf_sizes[type]);
    if (type == TFN__GGUF_F32) {
        tfn__put_float(&g->text, (float)tfn__ieee(u, 8, 23));
    } else if (type == TFN__GGUF_F64) {
        tfn__put_float(&g->text, (float)tfn__ieee(u, 11, 52));
    } else if (type == TFN__GGUF_BOOL && u) {
        tfn__put(&g->text, "true");
    } else if (type == TFN__GGUF_BOOL) {
        tfn__put(&g->text, "false");
    } else {
        const int unused = 64 - 8 * tfn__gguf_sizes[type];
        const bool negative = (type & 1) && u >> (63 - unused) & 1;     /* I8, I16, I32, I64 */
        if (negative || u > INT64_MAX) tfn__put(&g->text, "-1");
        else tfn__put_int(&g->text, NULL, (int64_t)u, NULL);
    }
}

/* The name of a key in config.json; NULL: none. Ids of tokens and the template of a chat have the
 * hub's names. */
static const char *tfn__gguf_name(const tfn__gguf *g, char *key)
{
    static const char *const ids[][2] = {
        { "tokenizer.ggml.bos_token_id", "bos_token_id" },
        { "tokenizer.ggml.eos_token_id", "eos_token_id" },
        { "tokenizer.ggml.padding_token_id", "pad_token_id" },
        { "tokenizer.chat_template", "chat_template" }
    };
    const size_t n = tfn__length(g->arch);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (tfn__equal(key, ids[i][0])) return ids[i][1];
    for (size_t i = 0; i < n; i++)
        if (key[i] != g->arch[i]) return NULL;
    if (key[n] != '.' || tfn__equal(key + n + 1, "vocab_size")) return NULL;
    for (char *c = key + n + 1; *c; c++)
        if (*c == '.') *c = '/';
    return key + n + 1;
}

/* Build the config.json. */
static void tfn__gguf_config(tfn__gguf *g)
{
    char key[128];
    g->at = g->first_key;
    tfn__put_int(&g->text, "{\"vocab_size\":", g->vocab, NULL);
    for (int i = 0; i < TFN__GGUF_PRESENT; i++)
        if (g->present >> i & 1)
            tfn__put_texts(&g->text, ",\"", tfn__gguf_present[i][1], "\":true");
    for (uint64_t i = 0; i < g->keys; i++) {
        const char *name;
        uint64_t type;
        if (!tfn__fine(g->f)) return;
        tfn__gguf_string(g, key, sizeof key);
        type = tfn__gguf_number(g, 4);
        name = tfn__gguf_name(g, key);
        if (!name) {
            tfn__gguf_skip(g, type);
            continue;
        }
        tfn__put(&g->text, ",");
        tfn__gguf_word(g, name);
        tfn__put(&g->text, ":");
        tfn__gguf_value(g, type);
    }
    tfn__put(&g->text, "}");
}

/* -- GGUF: tensors --------------------------------------------------------------------------- */

/* The types of ggml, and ours. */
enum { TFN__GGML_TYPES = 16 };
static const uint8_t tfn__ggml_types[TFN__GGML_TYPES][2] = {
    { 0, TFN_DTYPE_F32 },   { 1, TFN_DTYPE_F16 },   { 2, TFN_DTYPE_Q4_0 },  { 3, TFN_DTYPE_Q4_1 },
    { 6, TFN_DTYPE_Q5_0 },  { 7, TFN_DTYPE_Q5_1 },  { 8, TFN_DTYPE_Q8_0 },  { 12, TFN_DTYPE_Q4_K },
    { 13, TFN_DTYPE_Q5_K }, { 14, TFN_DTYPE_Q6_K }, { 24, TFN_DTYPE_I8 },   { 25, TFN_DTYPE_I16 },
    { 26, TFN_DTYPE_I32 },  { 27, TFN_DTYPE_I64 },  { 28, TFN_DTYPE_F64 },  { 30, TFN_DTYPE_BF16 }
};

/* The dtype of a tensor's type; DEFAULT: one that is not read. */
static tfn_dtype tfn__gguf_dtype(uint64_t type)
{
    for (int i = 0; i < TFN__GGML_TYPES; i++)
        if (tfn__ggml_types[i][0] == type) return (tfn_dtype)tfn__ggml_types[i][1];
    return TFN_DTYPE_DEFAULT;
}

/* The type of a dtype that has one. */
SHARED uint32_t tfn__gguf_type(tfn_dtype dtype)
{
    for (int i = 0; i < TFN__GGML_TYPES; i++)
        if (tfn__ggml_types[i][1] == (uint8_t)dtype) return tfn__ggml_types[i][0];
    return 0;
}

/* Bytes of a tensor; -1: its rows do not fill whole blocks, or it is too large. */
SHARED int64_t tfn__gguf_size(const tfn_tensor *t)
{
    const tfn__block *b = tfn__block_of(t->dtype);
    int64_t count = 1;
    for (int32_t k = 0; k < t->rank; k++) count = tfn__volume(count, t->shape[k]);
    if (!b) return tfn__volume(count, tfn__dtypes[t->dtype].bits / 8);
    if (t->shape[t->rank - 1] % b->values) return -1;
    return tfn__volume(count / b->values, b->bytes);
}

/* Read the entry of a tensor. Sides are stored from the last to the first. */
static void tfn__gguf_tensor(tfn__gguf *g, tfn_tensor *t)
{
    uint64_t type;
    int64_t size;
    TFNORM_MEMSET(t, 0, sizeof *t);
    tfn__gguf_string(g, t->name, sizeof t->name);
    t->rank = (int32_t)tfn__gguf_number(g, 4);
    if (!t->name[0] || t->rank < 1 || t->rank > 4) tfn__gguf_bad(g);
    if (!tfn__fine(g->f)) return;
    for (int32_t k = t->rank - 1; k >= 0; k--) {
        const uint64_t side = tfn__gguf_number(g, 8);
        if (side > UINT64_C(0xffffffffff)) tfn__gguf_bad(g);
        t->shape[k] = (int64_t)(side & UINT64_C(0xffffffffff));
    }
    type = tfn__gguf_number(g, 4);
    t->dtype = tfn__gguf_dtype(type);
    t->at = tfn__gguf_number(g, 8);
    if (!tfn__fine(g->f)) return;
    if (t->dtype == TFN_DTYPE_DEFAULT) {
        tfn__file_fail(g->f, TFN_UNSUPPORTED, "%s has the type %d of ggml, which is not read",
                       t->name, (int64_t)type, 0);
        return;
    }
    size = tfn__gguf_size(t);
    if (size < 0) tfn__bad(g->f, "%s has rows that do not fill blocks", t->name, 0, 0);
    t->bytes = (uint64_t)size;
}

/* Walk over all tensors: what the list has, and with `put` their entries in the header. */
static void tfn__gguf_list(tfn__gguf *g, bool put)
{
    tfn_tensor t;
    g->at = g->first_tensor;
    for (uint64_t i = 0; i < g->tensors; i++) {
        tfn__gguf_tensor(g, &t);
        if (!tfn__fine(g->f)) return;
        for (int k = 0; k < TFN__GGUF_PRESENT; k++)
            if (tfn__equal(t.name, tfn__gguf_present[k][0])) g->present |= UINT32_C(1) << k;
        if (tfn__equal(t.name, "token_embd.weight")) g->vocab = t.shape[0];
        if (!put) continue;
        if (t.at > g->f->used - g->data || t.bytes > g->f->used - g->data - t.at) {
            tfn__bad(g->f, "%s ends after the end of the file", t.name, 0, 0);
            return;
        }
        if (i) tfn__put(&g->text, ",");
        tfn__gguf_word(g, t.name);
        tfn__put_texts(&g->text, ":{\"dtype\":\"", tfn__dtypes[t.dtype].name, "\",\"shape\":[");
        for (int32_t k = 0; k < t.rank; k++) {
            if (k) tfn__put(&g->text, ",");
            tfn__put_int(&g->text, NULL, t.shape[k], NULL);
        }
        tfn__put_int(&g->text, "],\"data_offsets\":[", (int64_t)(g->data + t.at), ",");
        tfn__put_int(&g->text, NULL, (int64_t)(g->data + t.at + t.bytes), "]}");
    }
}

/* -- GGUF: the file -------------------------------------------------------------------------- */

/* Read the numbers at the beginning, the architecture, and where tensors begin. */
static void tfn__gguf_begin(tfn__gguf *g)
{
    char key[128];
    const uint64_t magic = tfn__gguf_number(g, 4);
    const uint64_t version = tfn__gguf_number(g, 4);
    if (magic != UINT64_C(0x46554747)) tfn__bad(g->f, "it does not begin with GGUF", NULL, 0, 0);
    else if (version != 2 && version != 3)
        tfn__file_fail(g->f, TFN_UNSUPPORTED, "its version is %d; 2 and 3 are read", NULL,
                       (int64_t)version, 0);
    g->tensors = tfn__gguf_number(g, 8);
    g->keys = tfn__gguf_number(g, 8);
    g->first_key = g->at;
    for (uint64_t i = 0; i < g->keys; i++) {
        uint64_t type;
        if (!tfn__fine(g->f)) return;
        tfn__gguf_string(g, key, sizeof key);
        type = tfn__gguf_number(g, 4);
        if (tfn__equal(key, "general.architecture") && type == TFN__GGUF_STRING)
            tfn__gguf_string(g, g->arch, sizeof g->arch);
        else if (tfn__equal(key, "general.alignment") && type == TFN__GGUF_U32)
            g->alignment = tfn__gguf_number(g, 4);
        else tfn__gguf_skip(g, type);
    }
    g->first_tensor = g->at;
    if (!g->alignment) tfn__gguf_bad(g);
}

/* Find the tensors, then build header and config: once to count their bytes, once to store them. */
static void tfn__gguf_read(tfn__gguf *g)
{
    uint8_t *header = NULL;
    size_t bytes = 0;
    size_t all = 0;
    tfn__gguf_begin(g);
    tfn__gguf_list(g, false);
    if (!tfn__fine(g->f)) return;
    g->data = (g->at + g->alignment - 1) / g->alignment * g->alignment;
    if (g->data > g->f->used) g->data = g->f->used;
    for (int pass = 0; pass < 2; pass++) {
        g->text = tfn__text_in(header, all);
        tfn__put(&g->text, "{");
        tfn__gguf_list(g, true);
        tfn__put(&g->text, "}");
        bytes = g->text.used;
        tfn__gguf_config(g);
        if (!tfn__fine(g->f)) return;
        all = g->text.used + 1;
        if (!header) header = tfn__room_for_header(g->f, all);
        if (!tfn__fine(g->f)) return;
    }
    tfn__end(&g->text);
    g->f->header_size = bytes;
    tfn__list_entries(g->f);
}

/* Open the file. Afterwards the text of its config.json follows the header in memory. */
static void tfn__gguf_start(tfn__gguf *g, tfn_file *f)
{
    TFNORM_MEMSET(g, 0, sizeof *g);
    g->f = f;
    g->alignment = 32;
    tfn_file_close(f);
    if (!TFN__GGUF)
        tfn__file_fail(f, TFN_UNSUPPORTED, "GGUF is left out by TFNORM_NO_GGUF", NULL, 0, 0);
    else if (tfn__begin(f, false)) tfn__gguf_read(g);
    if (!tfn__fine(f)) tfn_file_close(f);
}

TFNORM_API tfn_status tfn_gguf_open(tfn_file *f)
{
    tfn__gguf g;
    if (!f) return TFN_NULL;
    tfn__gguf_start(&g, f);
    return f->error.status;
}

/* Refuse Gemma 2 and 3 of 27 B, which scale scores otherwise than all smaller ones. Their files do
 * not say so; llama.cpp knows these models by their number of layers. */
static void tfn__gguf_check_scale(tfn_import *x)
{
    tfn__reader r = tfn__read_from(x->text, x->text_size);
    int64_t layers = 0;
    if (!tfn__equal(x->family->name, "gemma2") && !tfn__equal(x->family->name, "gemma3")) return;
    if (tfn__config_find(&r, "block_count")) layers = tfn__json_count(&r, 4096);
    if (layers == 46 || layers == 62)
        tfn__fail(&x->error, TFN_UNSUPPORTED, "import", "Gemma 2 and 3 of 27 B scale scores by a "
                  "number that GGUF does not store", 0, 0);
}

enum { TFN__RATES_MOST = 4096 };           /* half of a head's channels */

/* The divisor of rate j in the tensor rope_freqs.weight. */
static float tfn__gguf_divisor(tfn_import *x, const tfn_tensor *t, int64_t j)
{
    float v = 0;
    tfn_file_read(&x->file, t, &v, j, 1);
    return v;
}

/* True if these options divide all rates as the tensor does, which was computed in single
 * precision. */
static bool tfn__gguf_divides(tfn_import *x, const tfn_tensor *t, const tfn_model_desc *d)
{
    const ptrdiff_t size = tfn__head_size(d);
    tfn_model_desc plain = *d;
    plain.rotary_scaling = TFN_ROTARY_SCALING_NONE;
    for (int64_t j = 0; j < t->count; j++) {
        const double rate = tfn__rotary_rate(&plain, (ptrdiff_t)j, size);
        const double scaled = tfn__rotary_rate(d, (ptrdiff_t)j, size);
        const double off = scaled * (double)tfn__gguf_divisor(x, t, j) / rate - 1;
        if (!(off < 1e-4 && off > -1e-4)) return false;
    }
    return true;
}

static bool tfn__gguf_try_scaling(tfn_import *x, const tfn_tensor *t, tfn_model_desc *d,
                                  float factor, int32_t context)
{
    d->rotary_scaling = TFN_ROTARY_SCALING_LLAMA3;
    d->rotary_factor = factor;
    d->rotary_low = 1;
    d->rotary_high = 4;
    d->rotary_context = context;
    return factor >= 1 && tfn__gguf_divides(x, t, d);
}

/* Try the length of training texts that the file says, the published one, and powers of two. The
 * slowest rate has the whole factor, except in models of short texts. */
static bool tfn__gguf_scaling_of(tfn_import *x, const tfn_tensor *t, tfn_model_desc *d)
{
    const int32_t given = tfn__value_or(d->rotary_context, 8192);
    for (int k = 0; k < 7; k++) {
        float factor = (float)(1 << k);
        if (!k) factor = tfn__gguf_divisor(x, t, t->count - 1);
        if (tfn__gguf_try_scaling(x, t, d, factor, given)) return true;
        for (int32_t context = 1 << 20; context >= 8; context /= 2)
            if (tfn__gguf_try_scaling(x, t, d, factor, context)) return true;
    }
    return false;
}

/* Find the scaling of Llama 3. GGUF does not store its numbers but a divisor of each rate, so they
 * are found by trial. All published models have the limits 1 and 4. */
SHARED void tfn__gguf_find_scaling(tfn_import *x, tfn_model_desc *d)
{
    tfn_model_desc tried = *d;
    tfn_tensor t;
    if (!TFN__GGUF || x->error.status != TFN_OK) return;
    if (d->position != TFN_POSITION_ROTARY) return;
    if (!tfn_file_find(&x->file, "rope_freqs.weight", &t)) return;
    if (d->rotary_scaling == TFN_ROTARY_SCALING_NONE
        && t.count == tfn__value_or(d->rotary_size, tfn__head_size(d)) / 2
        && t.count > 0 && t.count <= TFN__RATES_MOST) {
        if (tfn__gguf_divides(x, &t, d)) return;
        if (tfn__gguf_scaling_of(x, &t, &tried)) {
            *d = tried;
            return;
        }
    }
    x->error = x->file.error;
    tfn__fail(&x->error, TFN_UNSUPPORTED, "import", "rope_freqs.weight does not divide the rates "
              "of positions as Llama 3 does", 0, 0);
}

/* Open the file of an import, and find the rows of its architecture. */
SHARED void tfn__open_gguf(tfn_import *x)
{
    tfn__gguf g;
    tfn__gguf_start(&g, &x->file);
    if (!TFN__GGUF || !tfn__fine(&x->file)) return;
    x->text = x->file.header + x->file.header_size;
    x->text_size = g.text.used - x->file.header_size;
    for (int32_t i = 0; i < TFN__GGUF_FAMILIES; i++)
        if (!x->family && tfn__equal(g.arch, tfn__gguf_families[i].name))
            x->family = tfn__gguf_families + i;
    if (x->family) tfn__gguf_check_scale(x);
    else
        tfn__fail_name(&x->error, TFN_UNSUPPORTED, "import", "the architecture is %s; llama, "
                       "qwen2, qwen3, olmo, olmo2, gemma, gemma2, gemma3, gpt2, gptneox, granite, "
                       "smollm3, phi2, phi3, stablelm and bloom are read", g.arch);
}
/* True if the import reads one file of llama.cpp. */
SHARED bool tfn__is_gguf(const tfn_import *x)
{
    return x->folder && tfn__name_matches("*.gguf", x->folder);
}
TFN__RARE_END
