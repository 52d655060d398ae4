#include "families.h"
#include "../ground/ground.h"

#if !defined TFNORM_NO_FILES && !defined TFNORM_NO_IMPORT && !defined TFNORM_NO_STDIO
TFN__SMALL
/* Checkpoints of the hub. Rows of data describe a family. Keys of config.json set options by their
 * names and texts, as in tfn_desc_set. Tensors are parameters under other names, perhaps
 * transposed, side by side or in another order. Builds on the names of options (fields). The
 * parts, in order:
 *
 *   families         the rows, restated from the families' published configuration and modelling
 *                    files (transformers 4 and 5)
 *   config.json      a value by its path; each rule; unknown keys
 *   names            of tensors, with layers
 *   files            which file has a tensor
 *   weights          check all, then read all
 *
 * Files are hostile here, too: the reader of JSON parses every text, numbers are checked like
 * options, and tensors like those of safetensors. */

/* -- families: rows that several share ------------------------------------------------------- */

/* How to read the rows. A key of Llama:
 *
 *     { "hidden_act", "activation", "silu", TFN_KEY_GATED }
 *
 * "hidden_act": "gelu" sets the option activation to "geglu", the name of gelu as a gate. A file
 * without the key, or with null, has "silu", which gives "swiglu". A tensor of GPT-2:
 *
 *     { "h.#.attn.c_attn.*", "decoder.#.self.k.*", 0, 1, 3, 0 }
 *
 * decoder.5.self.k.weight is the second third of the columns of h.5.attn.c_attn.weight, which may
 * have "transformer." in front; the bias likewise. Options are set in the order of the rows, and
 * later rows override earlier ones. So a family with another default than the family that it is
 * like repeats the key.
 *
 * A row with neither option nor text sets nothing. A row of a class, "architectures=BertModel", is
 * for export: it gives the class of the file. If a row with a pattern holds, such as
 * "architectures=*ForMaskedLM", the class is that pattern with "Bert" for the star.
 *
 * Short forms of most rows of tensors, (theirs, ours):
 *     AS_IS            unchanged
 *     TRANSPOSED       a matrix of PyTorch
 *     HEAD             a matrix of the head
 *     OUTPUT           the output matrix, which files may hold even if the model uses the embedding
 *     NO_WEIGHT        a tensor that no model needs */
#define TFN__CLASS(name)              { "architectures=" name, NULL, NULL, TFN_KEY_NAMES },
#define TFN__AS_IS(theirs, ours)      { theirs, ours, 0, 0, 0, 0 },
#define TFN__TRANSPOSED(theirs, ours) { theirs, ours, TFN_FORM_TRANSPOSED, 0, 0, 0 },
#define TFN__HEAD(theirs, ours)       \
    { theirs, ours, TFN_FORM_TRANSPOSED | TFN_FORM_HEAD, 0, 0, 0 },
#define TFN__OUTPUT(theirs, ours)     \
    { theirs, ours, TFN_FORM_TRANSPOSED | TFN_FORM_HEAD | TFN_FORM_SPARE, 0, 0, 0 },
#define TFN__NO_WEIGHT(theirs)        { theirs, NULL, 0, 0, 0, 0 },

/* Most families use these keys for the shape. */
static const tfn_key_rule tfn__shape_keys[] = {
    { "vocab_size", "vocab", NULL, TFN_KEY_IS },
    { "max_position_embeddings", "context", NULL, TFN_KEY_IS },
    { "hidden_size", "width", NULL, TFN_KEY_IS },
    { "num_hidden_layers", "layers", NULL, TFN_KEY_IS },
    { "num_attention_heads", "heads", NULL, TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};

/* not a model's family, but others are like it */
static const tfn_family tfn__shape = { "", NULL, NULL, tfn__shape_keys, NULL };

/* Rotary positions, whose rates may be scaled for longer texts. Files of transformers 4 have
 * rope_theta and rope_scaling next to it; those of transformers 5 have rope_parameters. A type is
 * refused unless it is "default" or an option's name. */
#define TFN__SCALING(object) \
    { object ".rope_type", "rotary_scaling", "", TFN_KEY_IS }, \
    { object ".type", "rotary_scaling", "", TFN_KEY_IS }, \
    { object ".factor", "rotary_factor", "", TFN_KEY_IS }, \
    { object ".low_freq_factor", "rotary_low", "", TFN_KEY_IS }, \
    { object ".high_freq_factor", "rotary_high", "", TFN_KEY_IS }, \
    { object ".original_max_position_embeddings", "rotary_context", "", TFN_KEY_IS }
static const tfn_key_rule tfn__rotary_keys[] = {
    { NULL, "position", "rotary", TFN_KEY_IS },
    { "intermediate_size", "ffn", NULL, TFN_KEY_IS },
    { "rope_theta", "rotary_base", "10000", TFN_KEY_IS },
    { "rope_parameters.rope_theta", "rotary_base", "", TFN_KEY_IS },
    TFN__SCALING("rope_scaling"),
    TFN__SCALING("rope_parameters"),
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_family tfn__rotary_family = { "", NULL, &tfn__shape, tfn__rotary_keys, NULL };

/* -- families: GPT-2 ------------------------------------------------------------------------- */

/* x_0 = wte[id] + wpe[t]; x += attention(LN_1(x)); x += W_2 gelu(W_1 LN_2(x)); logits are
 * LN_f(x) wte^T. GELU is its form with tanh. The hidden layer is 4 C wide unless n_inner is given.
 * The first files have n_ctx, later ones n_positions, with the same number. */
static const tfn_key_rule tfn__gpt2_keys[] = {
    TFN__CLASS("GPT2LMHeadModel")
    { NULL, "recipe", "gpt2", TFN_KEY_IS },
    { NULL, "position", "learned", TFN_KEY_IS },
    { "vocab_size", "vocab", NULL, TFN_KEY_IS },
    { "n_ctx", "context", "", TFN_KEY_IS },
    { "n_positions", "context", "", TFN_KEY_IS },
    { "n_embd", "width", NULL, TFN_KEY_IS },
    { "n_layer", "layers", NULL, TFN_KEY_IS },
    { "n_head", "heads", NULL, TFN_KEY_IS },
    { "n_inner", "ffn", "", TFN_KEY_IS },
    { "activation_function", "activation", "gelu_new", TFN_KEY_IS },
    { "layer_norm_epsilon", "norm_eps", "1e-5", TFN_KEY_IS },
    { "scale_attn_by_inverse_layer_idx", "scale_by_layer", "false", TFN_KEY_IS },
    { "scale_attn_weights", NULL, "true", TFN_KEY_WANT },
    { "add_cross_attention", NULL, "false", TFN_KEY_WANT },
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};

/* Queries, keys and values are three matrices side by side, (C, 3C). All matrices are (in, out) as
 * in this library, because the authors used Conv1D. The masks of attention, (1, 1, P, P), are not
 * weights. */
static const tfn_tensor_rule tfn__gpt2_tensors[] = {
    TFN__AS_IS("wte.weight", "embedding.weight")
    TFN__AS_IS("wpe.weight", "decoder.position.weight")
    TFN__AS_IS("h.#.ln_1.*", "decoder.#.self.norm_in.*")
    { "h.#.attn.c_attn.*", "decoder.#.self.q.*", 0, 0, 3, 0 },
    { "h.#.attn.c_attn.*", "decoder.#.self.k.*", 0, 1, 3, 0 },
    { "h.#.attn.c_attn.*", "decoder.#.self.v.*", 0, 2, 3, 0 },
    TFN__AS_IS("h.#.attn.c_proj.*", "decoder.#.self.o.*")
    TFN__AS_IS("h.#.ln_2.*", "decoder.#.ffn.norm_in.*")
    TFN__AS_IS("h.#.mlp.c_fc.*", "decoder.#.ffn.w1.*")
    TFN__AS_IS("h.#.mlp.c_proj.*", "decoder.#.ffn.w2.*")
    TFN__AS_IS("ln_f.*", "decoder.final_norm.*")
    TFN__OUTPUT("lm_head.weight", "output.weight")
    TFN__NO_WEIGHT("h.#.attn.bias")
    TFN__NO_WEIGHT("h.#.attn.masked_bias")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* -- families: Llama and similar ones -------------------------------------------------------- */

/* x += W_o attention(RMS(x)), queries and keys rotated; x += W_2 (silu(W_1 h) * W_3 h), h = RMS(x);
 * logits are W RMS(x). The heads together may be wider or narrower than the model (head_dim), and
 * several queries share a key (num_key_value_heads). Channel i of a head rotates with channel
 * i + D/2, as in this library. */
static const tfn_key_rule tfn__llama_keys[] = {
    TFN__CLASS("LlamaForCausalLM")
    { NULL, "recipe", "pre-rms", TFN_KEY_IS },
    { NULL, "no_bias", "true", TFN_KEY_IS },
    { "num_key_value_heads", "kv_heads", "", TFN_KEY_IS },
    { "head_dim", "head_size", "", TFN_KEY_IS },
    { "hidden_act", "activation", "silu", TFN_KEY_GATED },
    { "rms_norm_eps", "norm_eps", "1e-6", TFN_KEY_IS },
    { "mlp_bias", "attention_bias", "off", TFN_KEY_IF },
    { "attention_bias", "attention_bias", "all", TFN_KEY_IF },
    { "mlp_bias", "no_bias", "false", TFN_KEY_IF },
    { "tie_word_embeddings", "untied", "false", TFN_KEY_NOT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__llama_tensors[] = {
    TFN__AS_IS("embed_tokens.weight", "embedding.weight")
    TFN__AS_IS("layers.#.input_layernorm.weight", "decoder.#.self.norm_in.weight")
    TFN__TRANSPOSED("layers.#.self_attn.q_proj.*", "decoder.#.self.q.*")
    TFN__TRANSPOSED("layers.#.self_attn.k_proj.*", "decoder.#.self.k.*")
    TFN__TRANSPOSED("layers.#.self_attn.v_proj.*", "decoder.#.self.v.*")
    TFN__TRANSPOSED("layers.#.self_attn.o_proj.*", "decoder.#.self.o.*")
    TFN__AS_IS("layers.#.post_attention_layernorm.weight", "decoder.#.ffn.norm_in.weight")
    TFN__TRANSPOSED("layers.#.mlp.gate_proj.*", "decoder.#.ffn.w1.*")
    TFN__TRANSPOSED("layers.#.mlp.up_proj.*", "decoder.#.ffn.w3.*")
    TFN__TRANSPOSED("layers.#.mlp.down_proj.*", "decoder.#.ffn.w2.*")
    TFN__AS_IS("norm.weight", "decoder.final_norm.weight")
    TFN__OUTPUT("lm_head.weight", "output.weight")
    TFN__NO_WEIGHT("layers.#.self_attn.rotary_emb.inv_freq")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* not a model's family, but others have Llama's tensors with keys of their own */
static const tfn_family tfn__llama_names = { "", NULL, &tfn__shape, tfn__rotary_keys,
                                             tfn__llama_tensors };

/* The families that follow are like Llama except for their rows.
 *
 * Mistral: each token reads the last W tokens, itself included, in every layer. */
#define TFN__LAYER_TYPES { "layer_types", "window", "sliding_attention full_attention", \
                           TFN_KEY_LAYERS }
static const tfn_key_rule tfn__mistral_keys[] = {
    TFN__CLASS("MistralForCausalLM")
    { "num_key_value_heads", "kv_heads", "8", TFN_KEY_IS_OR_OFF },
    { "sliding_window", "window", "4096", TFN_KEY_IS_OR_OFF },
    TFN__LAYER_TYPES,
    { NULL, NULL, NULL, TFN_KEY_IS }
};

/* Qwen 2: queries, keys and values have biases, all else none. Files give a window that counts only
 * if use_sliding_window is true, and then from layer max_window_layers on. */
static const tfn_key_rule tfn__qwen2_keys[] = {
    TFN__CLASS("Qwen2ForCausalLM")
    { NULL, "attention_bias", "qkv", TFN_KEY_IS },
    { "sliding_window", "window", "4096", TFN_KEY_IS_OR_OFF },
    { "max_window_layers", "window_from", "28", TFN_KEY_IS },
    { "use_sliding_window", "window", "0", TFN_KEY_ONLY_IF },
    TFN__LAYER_TYPES,
    { "use_mrope", NULL, "false", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};

/* Qwen 3: like Qwen 2, but queries and keys are normed head by head, with one gain for all heads,
 * before they are rotated. Biases are as in Llama. */
static const tfn_key_rule tfn__qwen3_keys[] = {
    TFN__CLASS("Qwen3ForCausalLM")
    { NULL, "qk_norm", "head", TFN_KEY_IS },
    { NULL, "attention_bias", "none", TFN_KEY_IS },
    { "attention_bias", "attention_bias", "all", TFN_KEY_IF },
    { "head_dim", "head_size", "128", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__qwen3_tensors[] = {
    TFN__AS_IS("layers.#.self_attn.q_norm.weight", "decoder.#.self.q_norm.weight")
    TFN__AS_IS("layers.#.self_attn.k_norm.weight", "decoder.#.self.k_norm.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* OLMo 2: x += RMS(attention(x)); x += RMS(ffn(x)). Queries and keys are normed, too, all heads
 * together. */
static const tfn_key_rule tfn__olmo2_keys[] = {
    TFN__CLASS("Olmo2ForCausalLM")
    { NULL, "recipe", "olmo2", TFN_KEY_IS },
    { "rms_norm_eps", "norm_eps", "1e-5", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__olmo2_tensors[] = {
    TFN__AS_IS("layers.#.self_attn.q_norm.weight", "decoder.#.self.q_norm.weight")
    TFN__AS_IS("layers.#.self_attn.k_norm.weight", "decoder.#.self.k_norm.weight")
    TFN__AS_IS("layers.#.post_attention_layernorm.weight", "decoder.#.self.norm_branch.weight")
    TFN__AS_IS("layers.#.post_feedforward_layernorm.weight", "decoder.#.ffn.norm_branch.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* OLMo: Llama with norms that learn nothing. Some models limit queries, keys and values. */
static const tfn_key_rule tfn__olmo_keys[] = {
    TFN__CLASS("OlmoForCausalLM")
    { NULL, "recipe", "pre", TFN_KEY_IS },
    { NULL, "norm", "layernorm-simple", TFN_KEY_IS },
    { NULL, "norm_eps", "1e-5", TFN_KEY_IS },
    { NULL, "no_bias", "true", TFN_KEY_IS },
    { "num_key_value_heads", "kv_heads", "", TFN_KEY_IS },
    { "hidden_act", "activation", "silu", TFN_KEY_GATED },
    { "attention_bias", "attention_bias", "all", TFN_KEY_IF },
    { "clip_qkv", "qkv_clip", "", TFN_KEY_IS },
    { "tie_word_embeddings", "untied", "false", TFN_KEY_NOT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};

/* Granite: Llama with a factor of embeddings, of branches and of scores, and a divisor of
 * logits. */
static const tfn_key_rule tfn__granite_keys[] = {
    TFN__CLASS("GraniteForCausalLM")
    { "embedding_multiplier", "embedding_factor", "1", TFN_KEY_IS },
    { "residual_multiplier", "branch_factor", "1", TFN_KEY_IS },
    { "attention_multiplier", "score_scale", "1", TFN_KEY_IS },
    { "logits_scaling", "logit_divisor", "1", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};

/* SmolLM 3: Llama; every fourth layer does not rotate (NoPE). A window in those layers is
 * refused. */
static const tfn_key_rule tfn__smollm3_keys[] = {
    TFN__CLASS("SmolLM3ForCausalLM")
    { "num_key_value_heads", "kv_heads", "4", TFN_KEY_IS },
    { "rope_theta", "rotary_base", "2000000", TFN_KEY_IS },
    { "rope_parameters.rope_theta", "rotary_base", "", TFN_KEY_IS },
    { "no_rope_layer_interval", "rotary_period", "4", TFN_KEY_IS },
    { "no_rope_layers", "rotary_period", "1 0", TFN_KEY_LAYERS },
    { "use_sliding_window", NULL, "false", TFN_KEY_WANT },
    { "sliding_window", NULL, NULL, TFN_KEY_WANT },
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};

/* -- families: Gemma ------------------------------------------------------------------------- */

/* Gemma: embeddings times sqrt(C), gains of norms stored less 1, heads of 256 channels, and a gated
 * GELU in its form with tanh. The first files say "gelu" in hidden_act but use tanh, too. */
static const tfn_key_rule tfn__gemma_keys[] = {
    TFN__CLASS("GemmaForCausalLM")
    { NULL, "norm", "rmsnorm-offset", TFN_KEY_IS },
    { NULL, "scale_embedding", "true", TFN_KEY_IS },
    { NULL, "activation", "geglu-tanh", TFN_KEY_IS },
    { "hidden_activation", "activation", "", TFN_KEY_GATED },
    { "head_dim", "head_size", "256", TFN_KEY_IS },
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};

/* Gemma 2: a norm before and after each branch; scores q . k / sqrt(query_pre_attn_scalar); caps on
 * scores and logits; a window in layers 0, 2 ... */
static const tfn_key_rule tfn__gemma2_keys[] = {
    TFN__CLASS("Gemma2ForCausalLM")
    { NULL, "recipe", "gemma", TFN_KEY_IS },
    { "query_pre_attn_scalar", "score_scale", "256", TFN_KEY_INVERSE_ROOT },
    { "attn_logit_softcapping", "attention_cap", "50", TFN_KEY_IS_OR_OFF },
    { "final_logit_softcapping", "logit_cap", "30", TFN_KEY_IS_OR_OFF },
    { "sliding_window", "window", "4096", TFN_KEY_IS_OR_OFF },
    { "sliding_window_size", "window", "", TFN_KEY_SAME },
    { NULL, "window_period", "2", TFN_KEY_IS },
    TFN__LAYER_TYPES,
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__gemma2_tensors[] = {
    TFN__AS_IS("layers.#.post_attention_layernorm.weight", "decoder.#.self.norm_branch.weight")
    TFN__AS_IS("layers.#.pre_feedforward_layernorm.weight", "decoder.#.ffn.norm_in.weight")
    TFN__AS_IS("layers.#.post_feedforward_layernorm.weight", "decoder.#.ffn.norm_branch.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* Gemma 3, text only: no caps; queries and keys normed head by head; a window except in every sixth
 * layer. Only those layers have the slower rotation, which may be scaled. */
static const tfn_key_rule tfn__gemma3_keys[] = {
    TFN__CLASS("Gemma3ForCausalLM")
    { NULL, "qk_norm", "head", TFN_KEY_IS },
    { "attn_logit_softcapping", "attention_cap", "0", TFN_KEY_IS },
    { "final_logit_softcapping", "logit_cap", "0", TFN_KEY_IS },
    { "rope_theta", "rotary_base", "1000000", TFN_KEY_IS },
    { "rope_parameters.full_attention.rope_theta", "rotary_base", "", TFN_KEY_IS },
    TFN__SCALING("rope_parameters.full_attention"),
    { "rope_local_base_freq", "window_base", "10000", TFN_KEY_IS },
    { "rope_parameters.sliding_attention.rope_theta", "window_base", "", TFN_KEY_IS },
    { "rope_parameters.sliding_attention.rope_type", NULL, "default", TFN_KEY_WANT },
    { "sliding_window_pattern", "window_period", "6", TFN_KEY_IS },
    { "_sliding_window_pattern", "window_period", "", TFN_KEY_IS },
    { "use_bidirectional_attention", NULL, "false", TFN_KEY_WANT },
    TFN__LAYER_TYPES,
    { NULL, NULL, NULL, TFN_KEY_IS }
};
#undef TFN__SCALING
#undef TFN__LAYER_TYPES
static const tfn_tensor_rule tfn__gemma3_tensors[] = {
    TFN__AS_IS("layers.#.self_attn.q_norm.weight", "decoder.#.self.q_norm.weight")
    TFN__AS_IS("layers.#.self_attn.k_norm.weight", "decoder.#.self.k_norm.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* Gemma 3 with pictures: the text model, whose keys are inside text_config. The tower that reads
 * pictures is left out. */
static const tfn_key_rule tfn__gemma3_images_keys[] = {
    { "text_config", NULL, NULL, TFN_KEY_INSIDE },
    { "vocab_size", "vocab", "262208", TFN_KEY_IS },
    { "max_position_embeddings", "context", "131072", TFN_KEY_IS },
    { "hidden_size", "width", "2304", TFN_KEY_IS },
    { "intermediate_size", "ffn", "9216", TFN_KEY_IS },
    { "num_hidden_layers", "layers", "26", TFN_KEY_IS },
    { "num_attention_heads", "heads", "8", TFN_KEY_IS },
    { "num_key_value_heads", "kv_heads", "4", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__gemma3_images_tensors[] = {
    TFN__OUTPUT("language_model.lm_head.weight", "output.weight")
    TFN__NO_WEIGHT("vision_tower.%")
    TFN__NO_WEIGHT("multi_modal_projector.%")
    TFN__NO_WEIGHT("model.vision_tower.%")
    TFN__NO_WEIGHT("model.multi_modal_projector.%")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* -- families: GPT-NeoX, Phi, OPT ------------------------------------------------------------ */

/* GPT-NeoX, Pythia: x += attention(LN_1(x)) + ffn(LN_2(x)), both from the same x, or one after the
 * other. A quarter of a head's channels are rotated. The matrix of queries, keys and values has its
 * rows head by head: D of the queries, D of the keys, D of the values, then the next head. */
static const tfn_key_rule tfn__neox_keys[] = {
    TFN__CLASS("GPTNeoXForCausalLM")
    { NULL, "recipe", "parallel", TFN_KEY_IS },
    { "use_parallel_residual", "recipe", "pre", TFN_KEY_UNLESS },
    { "hidden_act", "activation", "gelu", TFN_KEY_IS },
    { "layer_norm_eps", "norm_eps", "1e-5", TFN_KEY_IS },
    { "attention_bias", "attention_bias", "off", TFN_KEY_UNLESS },
    { "tie_word_embeddings", "untied", "false", TFN_KEY_NOT },
    { "rotary_pct", "rotary_size", "0.25", TFN_KEY_SHARE },
    { "partial_rotary_factor", "rotary_size", "", TFN_KEY_SHARE },
    { "rotary_pct", "rotary_size", "", TFN_KEY_SAME },
    { "rotary_emb_base", "rotary_base", "", TFN_KEY_IS },
    { "rope_parameters.partial_rotary_factor", "rotary_size", "", TFN_KEY_SHARE },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
#define TFN__NEOX(part) \
    { "layers.#.attention.query_key_value.*", "decoder.#.self." #part ".*"
static const tfn_tensor_rule tfn__neox_tensors[] = {
    TFN__AS_IS("embed_in.weight", "embedding.weight")
    TFN__AS_IS("layers.#.input_layernorm.*", "decoder.#.self.norm_in.*")
    TFN__NEOX(q), TFN_FORM_TRANSPOSED | TFN_FORM_BY_HEAD | TFN_FORM_TURNING, 0, 3, 0 },
    TFN__NEOX(k), TFN_FORM_TRANSPOSED | TFN_FORM_BY_HEAD | TFN_FORM_TURNING, 1, 3, 0 },
    TFN__NEOX(v), TFN_FORM_TRANSPOSED | TFN_FORM_BY_HEAD, 2, 3, 0 },
    TFN__TRANSPOSED("layers.#.attention.dense.*", "decoder.#.self.o.*")
    TFN__AS_IS("layers.#.post_attention_layernorm.*", "decoder.#.ffn.norm_in.*")
    TFN__TRANSPOSED("layers.#.mlp.dense_h_to_4h.*", "decoder.#.ffn.w1.*")
    TFN__TRANSPOSED("layers.#.mlp.dense_4h_to_h.*", "decoder.#.ffn.w2.*")
    TFN__AS_IS("final_layer_norm.*", "decoder.final_norm.*")
    TFN__OUTPUT("embed_out.weight", "output.weight")
    TFN__NO_WEIGHT("layers.#.attention.bias")
    TFN__NO_WEIGHT("layers.#.attention.masked_bias")
    TFN__NO_WEIGHT("layers.#.attention.rotary_emb.inv_freq")
    { NULL, NULL, 0, 0, 0, 0 }
};
#undef TFN__NEOX

/* Phi: h = LN(x), x += attention(h) + ffn(h). Half of a head's channels are rotated. Every map has
 * a bias, even the logits. qk_layernorm norms queries and keys head by head before the rotation. */
static const tfn_key_rule tfn__phi_keys[] = {
    TFN__CLASS("PhiForCausalLM")
    { NULL, "recipe", "parallel-shared", TFN_KEY_IS },
    { NULL, "output_bias", "true", TFN_KEY_IS },
    { "num_key_value_heads", "kv_heads", "", TFN_KEY_IS },
    { "hidden_act", "activation", "gelu_new", TFN_KEY_IS },
    { "layer_norm_eps", "norm_eps", "1e-5", TFN_KEY_IS },
    { "qk_layernorm", "qk_norm", "head", TFN_KEY_IF },
    { "tie_word_embeddings", "untied", "false", TFN_KEY_NOT },
    { "partial_rotary_factor", "rotary_size", "0.5", TFN_KEY_SHARE },
    { "rope_parameters.partial_rotary_factor", "rotary_size", "", TFN_KEY_SHARE },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__phi_tensors[] = {
    TFN__AS_IS("embed_tokens.weight", "embedding.weight")
    TFN__AS_IS("layers.#.input_layernorm.*", "decoder.#.self.norm_in.*")
    { "layers.#.self_attn.q_proj.*", "decoder.#.self.q.*", TFN_FORM_TRANSPOSED | TFN_FORM_TURNING,
      0, 0, 0 },
    { "layers.#.self_attn.k_proj.*", "decoder.#.self.k.*", TFN_FORM_TRANSPOSED | TFN_FORM_TURNING,
      0, 0, 0 },
    TFN__TRANSPOSED("layers.#.self_attn.v_proj.*", "decoder.#.self.v.*")
    { "layers.#.self_attn.q_layernorm.*", "decoder.#.self.q_norm.*", TFN_FORM_TURNING, 0, 0, 0 },
    { "layers.#.self_attn.k_layernorm.*", "decoder.#.self.k_norm.*", TFN_FORM_TURNING, 0, 0, 0 },
    TFN__TRANSPOSED("layers.#.self_attn.dense.*", "decoder.#.self.o.*")
    TFN__TRANSPOSED("layers.#.mlp.fc1.*", "decoder.#.ffn.w1.*")
    TFN__TRANSPOSED("layers.#.mlp.fc2.*", "decoder.#.ffn.w2.*")
    TFN__AS_IS("final_layernorm.*", "decoder.final_norm.*")
    TFN__OUTPUT("lm_head.*", "output.*")
    TFN__NO_WEIGHT("layers.#.self_attn.rotary_emb.inv_freq")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* OPT: GPT-2 with ReLU and PyTorch's matrices. The first position has row 2 of the table. The model
 * of 350 M is Post-LN without a final norm, with embeddings of half the width. */
static const tfn_key_rule tfn__opt_keys[] = {
    TFN__CLASS("OPTForCausalLM")
    { NULL, "recipe", "pre", TFN_KEY_IS },
    { NULL, "position", "learned", TFN_KEY_IS },
    { NULL, "norm_eps", "1e-5", TFN_KEY_IS },
    { "word_embed_proj_dim", "embedding_size", "", TFN_KEY_IS },
    { "ffn_dim", "ffn", NULL, TFN_KEY_IS },
    { "activation_function", "activation", "relu", TFN_KEY_IS },
    { "do_layer_norm_before", "recipe", "post", TFN_KEY_UNLESS },
    { "_remove_final_layer_norm", NULL, "false", TFN_KEY_WANT },
    { "layer_norm_elementwise_affine", NULL, "true", TFN_KEY_WANT },
    { "enable_bias", NULL, "true", TFN_KEY_WANT },
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__opt_tensors[] = {
    TFN__AS_IS("decoder.embed_tokens.weight", "embedding.weight")
    { "decoder.embed_positions.weight", "decoder.position.weight", 0, 0, 0, 2 },
    TFN__TRANSPOSED("decoder.project_in.weight", "decoder.project_in.weight")
    TFN__AS_IS("decoder.layers.#.self_attn_layer_norm.*", "decoder.#.self.norm_in.*")
    TFN__AS_IS("decoder.layers.#.self_attn_layer_norm.*", "decoder.#.self.norm.*")
    TFN__TRANSPOSED("decoder.layers.#.self_attn.q_proj.*", "decoder.#.self.q.*")
    TFN__TRANSPOSED("decoder.layers.#.self_attn.k_proj.*", "decoder.#.self.k.*")
    TFN__TRANSPOSED("decoder.layers.#.self_attn.v_proj.*", "decoder.#.self.v.*")
    TFN__TRANSPOSED("decoder.layers.#.self_attn.out_proj.*", "decoder.#.self.o.*")
    TFN__AS_IS("decoder.layers.#.final_layer_norm.*", "decoder.#.ffn.norm_in.*")
    TFN__AS_IS("decoder.layers.#.final_layer_norm.*", "decoder.#.ffn.norm.*")
    TFN__TRANSPOSED("decoder.layers.#.fc1.*", "decoder.#.ffn.w1.*")
    TFN__TRANSPOSED("decoder.layers.#.fc2.*", "decoder.#.ffn.w2.*")
    TFN__AS_IS("decoder.final_layer_norm.*", "decoder.final_norm.*")
    TFN__TRANSPOSED("decoder.project_out.weight", "decoder.project_out.weight")
    TFN__OUTPUT("lm_head.weight", "output.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* -- families: Phi-3, StableLM --------------------------------------------------------------- */

/* Phi-3: Llama with fused matrices. One has the rows of queries, then keys, then values; the other
 * has those of the gate, then of the other factor. In Phi-4-mini, three quarters of a head's
 * channels are rotated. The scaling of longer texts by a factor for each rate is refused. */
static const tfn_key_rule tfn__phi3_keys[] = {
    TFN__CLASS("Phi3ForCausalLM")
    { NULL, "recipe", "pre-rms", TFN_KEY_IS },
    { NULL, "no_bias", "true", TFN_KEY_IS },
    { "num_key_value_heads", "kv_heads", "", TFN_KEY_IS },
    { "hidden_act", "activation", "silu", TFN_KEY_GATED },
    { "rms_norm_eps", "norm_eps", "1e-5", TFN_KEY_IS },
    { "sliding_window", "window", "", TFN_KEY_IS },
    { "partial_rotary_factor", "rotary_size", "1", TFN_KEY_SHARE },
    { "rope_parameters.partial_rotary_factor", "rotary_size", "", TFN_KEY_SHARE },
    { "rope_scaling.long_factor", NULL, NULL, TFN_KEY_WANT },
    { "rope_scaling.short_factor", NULL, NULL, TFN_KEY_WANT },
    { "attention_bias", NULL, "false", TFN_KEY_WANT },
    { "mlp_bias", NULL, "false", TFN_KEY_WANT },
    { "lm_head_bias", NULL, "false", TFN_KEY_WANT },
    { "tie_word_embeddings", "untied", "false", TFN_KEY_NOT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
#define TFN__PHI3(part) { "layers.#.self_attn.qkv_proj.weight", "decoder.#.self." #part ".weight"
static const tfn_tensor_rule tfn__phi3_tensors[] = {
    TFN__PHI3(q), TFN_FORM_TRANSPOSED | TFN_FORM_QKV | TFN_FORM_TURNING, 0, 3, 0 },
    TFN__PHI3(k), TFN_FORM_TRANSPOSED | TFN_FORM_QKV | TFN_FORM_TURNING, 1, 3, 0 },
    TFN__PHI3(v), TFN_FORM_TRANSPOSED | TFN_FORM_QKV, 2, 3, 0 },
    { "layers.#.mlp.gate_up_proj.weight", "decoder.#.ffn.w1.weight", TFN_FORM_TRANSPOSED, 0, 2, 0 },
    { "layers.#.mlp.gate_up_proj.weight", "decoder.#.ffn.w3.weight", TFN_FORM_TRANSPOSED, 1, 2, 0 },
    { NULL, NULL, 0, 0, 0, 0 }
};
#undef TFN__PHI3

/* StableLM: Llama with LayerNorm and a quarter of a head's channels rotated. Some models have
 * biases of queries, keys and values; that of 12 B adds both branches of a layer to the same x,
 * from one norm. A norm of its own for each head (qk_layernorm) is refused. */
static const tfn_key_rule tfn__stablelm_keys[] = {
    TFN__CLASS("StableLmForCausalLM")
    { NULL, "recipe", "pre", TFN_KEY_IS },
    { "use_parallel_residual", "recipe", "parallel-shared", TFN_KEY_IF },
    { NULL, "no_bias", "true", TFN_KEY_IS },
    { "use_qkv_bias", "attention_bias", "qkv", TFN_KEY_IF },
    { "num_key_value_heads", "kv_heads", "", TFN_KEY_IS },
    { "hidden_act", "activation", "silu", TFN_KEY_GATED },
    { "layer_norm_eps", "norm_eps", "1e-5", TFN_KEY_IS },
    { "partial_rotary_factor", "rotary_size", "0.25", TFN_KEY_SHARE },
    { "rope_parameters.partial_rotary_factor", "rotary_size", "", TFN_KEY_SHARE },
    { "qk_layernorm", NULL, "false", TFN_KEY_WANT },
    { "tie_word_embeddings", "untied", "false", TFN_KEY_NOT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__stablelm_tensors[] = {
    TFN__AS_IS("layers.#.input_layernorm.*", "decoder.#.self.norm_in.*")
    TFN__AS_IS("layers.#.post_attention_layernorm.*", "decoder.#.ffn.norm_in.*")
    { "layers.#.self_attn.q_proj.*", "decoder.#.self.q.*", TFN_FORM_TRANSPOSED | TFN_FORM_TURNING,
      0, 0, 0 },
    { "layers.#.self_attn.k_proj.*", "decoder.#.self.k.*", TFN_FORM_TRANSPOSED | TFN_FORM_TURNING,
      0, 0, 0 },
    TFN__AS_IS("norm.*", "decoder.final_norm.*")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* -- families: GPT-Neo ----------------------------------------------------------------------- */

/* GPT-Neo: GPT-2 with PyTorch's matrices, scores that are not scaled, no biases of queries, keys
 * and values, and a window in every second layer, from the second on. */
static const tfn_key_rule tfn__gpt_neo_keys[] = {
    TFN__CLASS("GPTNeoForCausalLM")
    { NULL, "recipe", "gpt2", TFN_KEY_IS },
    { NULL, "position", "learned", TFN_KEY_IS },
    { NULL, "score_scale", "1", TFN_KEY_IS },
    { NULL, "attention_bias", "output", TFN_KEY_IS },
    { NULL, "window_period", "2", TFN_KEY_IS },
    { NULL, "window_shift", "1", TFN_KEY_IS },
    { "num_layers", "layers", NULL, TFN_KEY_IS },
    { "num_heads", "heads", NULL, TFN_KEY_IS },
    { "vocab_size", "vocab", NULL, TFN_KEY_IS },
    { "max_position_embeddings", "context", NULL, TFN_KEY_IS },
    { "hidden_size", "width", NULL, TFN_KEY_IS },
    { "intermediate_size", "ffn", "", TFN_KEY_IS },
    { "window_size", "window", "256", TFN_KEY_IS },
    { "attention_types", "window", "local global", TFN_KEY_GROUPS },
    { "attention_layers", "window", "local global", TFN_KEY_LAYERS },
    { "activation_function", "activation", "gelu_new", TFN_KEY_IS },
    { "layer_norm_epsilon", "norm_eps", "1e-5", TFN_KEY_IS },
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__gpt_neo_tensors[] = {
    TFN__AS_IS("wte.weight", "embedding.weight")
    TFN__AS_IS("wpe.weight", "decoder.position.weight")
    TFN__AS_IS("h.#.ln_1.*", "decoder.#.self.norm_in.*")
    TFN__TRANSPOSED("h.#.attn.attention.q_proj.weight", "decoder.#.self.q.weight")
    TFN__TRANSPOSED("h.#.attn.attention.k_proj.weight", "decoder.#.self.k.weight")
    TFN__TRANSPOSED("h.#.attn.attention.v_proj.weight", "decoder.#.self.v.weight")
    TFN__TRANSPOSED("h.#.attn.attention.out_proj.*", "decoder.#.self.o.*")
    TFN__AS_IS("h.#.ln_2.*", "decoder.#.ffn.norm_in.*")
    TFN__TRANSPOSED("h.#.mlp.c_fc.*", "decoder.#.ffn.w1.*")
    TFN__TRANSPOSED("h.#.mlp.c_proj.*", "decoder.#.ffn.w2.*")
    TFN__AS_IS("ln_f.*", "decoder.final_norm.*")
    TFN__OUTPUT("lm_head.weight", "output.weight")
    TFN__NO_WEIGHT("h.#.attn.attention.bias")
    TFN__NO_WEIGHT("h.#.attn.attention.masked_bias")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* -- families: GPT-J ------------------------------------------------------------------------- */

/* GPT-J: h = LN(x), x += attention(h) + ffn(h), without biases in the attention, with one for the
 * logits. rotary_dim channels of a head rotate, 2j with 2j + 1. */
static const tfn_key_rule tfn__gptj_keys[] = {
    TFN__CLASS("GPTJForCausalLM")
    { NULL, "recipe", "parallel-shared", TFN_KEY_IS },
    { NULL, "position", "rotary", TFN_KEY_IS },
    { NULL, "attention_bias", "off", TFN_KEY_IS },
    { NULL, "output_bias", "true", TFN_KEY_IS },
    { "vocab_size", "vocab", NULL, TFN_KEY_IS },
    { "n_positions", "context", NULL, TFN_KEY_IS },
    { "n_embd", "width", NULL, TFN_KEY_IS },
    { "n_layer", "layers", NULL, TFN_KEY_IS },
    { "n_head", "heads", NULL, TFN_KEY_IS },
    { "n_inner", "ffn", "", TFN_KEY_IS },
    { "rotary_dim", "rotary_size", "64", TFN_KEY_IS },
    { "rotary", NULL, "true", TFN_KEY_WANT },
    { "activation_function", "activation", "gelu_new", TFN_KEY_IS },
    { "layer_norm_epsilon", "norm_eps", "1e-5", TFN_KEY_IS },
    { "scale_attn_weights", NULL, "true", TFN_KEY_WANT },
    { "tie_word_embeddings", "untied", "false", TFN_KEY_NOT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
#define TFN__GPTJ_TURNS (TFN_FORM_TRANSPOSED | TFN_FORM_TURNING | TFN_FORM_PAIRS)
static const tfn_tensor_rule tfn__gptj_tensors[] = {
    TFN__AS_IS("wte.weight", "embedding.weight")
    TFN__AS_IS("h.#.ln_1.*", "decoder.#.self.norm_in.*")
    { "h.#.attn.q_proj.weight", "decoder.#.self.q.weight", TFN__GPTJ_TURNS, 0, 0, 0 },
    { "h.#.attn.k_proj.weight", "decoder.#.self.k.weight", TFN__GPTJ_TURNS, 0, 0, 0 },
    TFN__TRANSPOSED("h.#.attn.v_proj.weight", "decoder.#.self.v.weight")
    TFN__TRANSPOSED("h.#.attn.out_proj.weight", "decoder.#.self.o.weight")
    TFN__TRANSPOSED("h.#.mlp.fc_in.*", "decoder.#.ffn.w1.*")
    TFN__TRANSPOSED("h.#.mlp.fc_out.*", "decoder.#.ffn.w2.*")
    TFN__AS_IS("ln_f.*", "decoder.final_norm.*")
    TFN__OUTPUT("lm_head.*", "output.*")
    TFN__NO_WEIGHT("h.#.attn.bias")
    TFN__NO_WEIGHT("h.#.attn.masked_bias")
    { NULL, NULL, 0, 0, 0, 0 }
};
#undef TFN__GPTJ_TURNS

/* -- families: BERT -------------------------------------------------------------------------- */

/* x_0 = LN(word + position + type); x = LN(x + attention(x)); x = LN(x + W_2 gelu(W_1 x)).
 * "architectures" gives the head: masked words, N(gelu(x W + b)) E^T + c; classes of a sentence,
 * tanh(x_0 W + b) W_c + c; or none. A model without a head is for its hidden states or their mean
 * (tfn_model_pool); its logits mean nothing. The type of a token is its segment, 0 by default. */
#define TFN__CLASS_HEADS \
    { "architectures=*ForSequenceClassification", "head", "sequence", TFN_KEY_NAMES }, \
    { "architectures=*ForTokenClassification", "head", "positions", TFN_KEY_NAMES }, \
    { "architectures=*ForQuestionAnswering", "head", "positions", TFN_KEY_NAMES }, \
    { "architectures=*ForQuestionAnswering", "classes", "2", TFN_KEY_NAMES },
static const tfn_key_rule tfn__encoder_keys[] = {
    { NULL, "arch", "encoder", TFN_KEY_IS },
    { NULL, "recipe", "bert", TFN_KEY_IS },
    { NULL, "position", "learned", TFN_KEY_IS },
    { "intermediate_size", "ffn", NULL, TFN_KEY_IS },
    { "type_vocab_size", "segments", "2", TFN_KEY_IS },
    { "hidden_act", "activation", "gelu", TFN_KEY_IS },
    { "layer_norm_eps", "norm_eps", "1e-12", TFN_KEY_IS },
    { "position_embedding_type", NULL, "absolute", TFN_KEY_WANT },
    { "is_decoder", NULL, "false", TFN_KEY_WANT },
    { "add_cross_attention", NULL, "false", TFN_KEY_WANT },
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { "num_labels", "classes", "2", TFN_KEY_IS },
    { "id2label", "classes", "", TFN_KEY_ENTRIES },
    { "architectures=*ForMaskedLM", "head_transform", "true", TFN_KEY_NAMES },
    { "architectures=*ForMaskedLM", "output_bias", "true", TFN_KEY_NAMES },
    TFN__CLASS_HEADS
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__encoder_tensors[] = {
    TFN__AS_IS("embeddings.word_embeddings.weight", "embedding.weight")
    TFN__AS_IS("embeddings.position_embeddings.weight", "encoder.position.weight")
    TFN__AS_IS("embeddings.token_type_embeddings.weight", "encoder.segment.weight")
    TFN__AS_IS("embeddings.LayerNorm.*", "encoder.embedding_norm.*")
    TFN__TRANSPOSED("encoder.layer.#.attention.self.query.*", "encoder.#.self.q.*")
    TFN__TRANSPOSED("encoder.layer.#.attention.self.key.*", "encoder.#.self.k.*")
    TFN__TRANSPOSED("encoder.layer.#.attention.self.value.*", "encoder.#.self.v.*")
    TFN__TRANSPOSED("encoder.layer.#.attention.output.dense.*", "encoder.#.self.o.*")
    TFN__AS_IS("encoder.layer.#.attention.output.LayerNorm.*", "encoder.#.self.norm.*")
    TFN__TRANSPOSED("encoder.layer.#.intermediate.dense.*", "encoder.#.ffn.w1.*")
    TFN__TRANSPOSED("encoder.layer.#.output.dense.*", "encoder.#.ffn.w2.*")
    TFN__AS_IS("encoder.layer.#.output.LayerNorm.*", "encoder.#.ffn.norm.*")
    { "pooler.dense.*", "pooler.*", TFN_FORM_TRANSPOSED | TFN_FORM_SPARE, 0, 0, 0 },
    TFN__NO_WEIGHT("embeddings.position_ids")
    { NULL, NULL, 0, 0, 0, 0 }
};
static const tfn_family tfn__encoder_family = { "encoder", NULL, &tfn__shape, tfn__encoder_keys,
                                                tfn__encoder_tensors };

/* The head of masked words uses the embedding; files keep a copy under the head's name. A pooler
 * that no head reads is skipped, and so is the head for the next sentence. Files of 2018 call gains
 * and biases of norms gamma and beta. */
static const tfn_key_rule tfn__bert_keys[] = {
    TFN__CLASS("BertModel")
    { "architectures=*ForPreTraining", "head_transform", "true", TFN_KEY_NAMES },
    { "architectures=*ForPreTraining", "output_bias", "true", TFN_KEY_NAMES },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__bert_tensors[] = {
    TFN__HEAD("classifier.*", "classifier.*")
    TFN__HEAD("qa_outputs.*", "classifier.*")
    TFN__HEAD("cls.predictions.transform.dense.*", "transform.*")
    TFN__HEAD("cls.predictions.transform.LayerNorm.*", "encoder.transform_norm.*")
    TFN__HEAD("cls.predictions.bias", "output.bias")
    TFN__OUTPUT("cls.predictions.decoder.weight", "output.weight")
    TFN__NO_WEIGHT("cls.predictions.decoder.bias")
    TFN__NO_WEIGHT("cls.seq_relationship.weight")
    TFN__NO_WEIGHT("cls.seq_relationship.bias")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* RoBERTa: BERT trained longer (Liu et al. 2019), with other heads. Its positions begin after the
 * padding's id, which is 1: the first token has row 2 of the table, and max_position_embeddings
 * counts the two rows that no token uses. Tokens have one type. The head of masked words always has
 * GELU. XLM-RoBERTa and CamemBERT differ only in their words. */
static const tfn_key_rule tfn__roberta_keys[] = {
    TFN__CLASS("RobertaModel")
    { "max_position_embeddings", "context", "2", TFN_KEY_LESS },
    { "pad_token_id", NULL, "1", TFN_KEY_WANT },
    { "hidden_act", NULL, "gelu", TFN_KEY_WANT },
    { "hidden_act", "activation", "gelu", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_key_rule tfn__xlm_roberta_keys[] = {
    TFN__CLASS("XLMRobertaModel")
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_key_rule tfn__camembert_keys[] = {
    TFN__CLASS("CamembertModel")
    { NULL, NULL, NULL, TFN_KEY_IS }
};
#define TFN__HEADS_OF_CLASSES \
    { "classifier.dense.*", "pooler.*", \
      TFN_FORM_TRANSPOSED | TFN_FORM_HEAD | TFN_FORM_SEQUENCE, 0, 0, 0 }, \
    { "classifier.out_proj.*", "classifier.*", \
      TFN_FORM_TRANSPOSED | TFN_FORM_HEAD | TFN_FORM_SEQUENCE, 0, 0, 0 }, \
    TFN__HEAD("classifier.*", "classifier.*") \
    TFN__HEAD("qa_outputs.*", "classifier.*")
static const tfn_tensor_rule tfn__roberta_tensors[] = {
    { "embeddings.position_embeddings.weight", "encoder.position.weight", 0, 0, 0, 2 },
    TFN__HEADS_OF_CLASSES
    TFN__HEAD("lm_head.dense.*", "transform.*")
    TFN__HEAD("lm_head.layer_norm.*", "encoder.transform_norm.*")
    TFN__HEAD("lm_head.bias", "output.bias")
    TFN__OUTPUT("lm_head.decoder.weight", "output.weight")
    TFN__NO_WEIGHT("lm_head.decoder.bias")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* ELECTRA: BERT's body, trained to find words that another model has replaced (Clark et al. 2020).
 * That model, the generator, has a head of masked words. The head that finds words is skipped.
 * Classes of a sentence are gelu(x_0 W + b) W_c + c. Small models have narrower embeddings, with
 * their own norm, which no option has. */
static const tfn_key_rule tfn__electra_keys[] = {
    TFN__CLASS("ElectraModel")
    { "embedding_size", "width", "128", TFN_KEY_SAME },
    { "hidden_act", NULL, "gelu", TFN_KEY_WANT },
    { "hidden_act", "activation", "gelu", TFN_KEY_IS },
    { "architectures=*ForSequenceClassification", "pooler", "gelu", TFN_KEY_NAMES },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__electra_tensors[] = {
    TFN__HEADS_OF_CLASSES
    TFN__HEAD("generator_predictions.dense.*", "transform.*")
    TFN__HEAD("generator_predictions.LayerNorm.*", "encoder.transform_norm.*")
    TFN__HEAD("generator_lm_head.bias", "output.bias")
    TFN__OUTPUT("generator_lm_head.weight", "output.weight")
    TFN__NO_WEIGHT("discriminator_predictions.dense.*")
    TFN__NO_WEIGHT("discriminator_predictions.dense_prediction.*")
    { NULL, NULL, 0, 0, 0, 0 }
};
#undef TFN__HEADS_OF_CLASSES

/* DistilBERT: BERT with half of the layers and no types (Sanh et al. 2019). The classes are
 * max(x_0 W + b, 0) W_c + c. */
static const tfn_key_rule tfn__distilbert_keys[] = {
    TFN__CLASS("DistilBertModel")
    { NULL, "arch", "encoder", TFN_KEY_IS },
    { NULL, "recipe", "bert", TFN_KEY_IS },
    { NULL, "position", "learned", TFN_KEY_IS },
    { NULL, "norm_eps", "1e-12", TFN_KEY_IS },
    { "vocab_size", "vocab", NULL, TFN_KEY_IS },
    { "max_position_embeddings", "context", NULL, TFN_KEY_IS },
    { "dim", "width", NULL, TFN_KEY_IS },
    { "hidden_dim", "ffn", NULL, TFN_KEY_IS },
    { "n_layers", "layers", NULL, TFN_KEY_IS },
    { "n_heads", "heads", NULL, TFN_KEY_IS },
    { "activation", "activation", "gelu", TFN_KEY_IS },
    { "num_labels", "classes", "2", TFN_KEY_IS },
    { "id2label", "classes", "", TFN_KEY_ENTRIES },
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { "architectures=*ForMaskedLM", "head_transform", "true", TFN_KEY_NAMES },
    { "architectures=*ForMaskedLM", "output_bias", "true", TFN_KEY_NAMES },
    TFN__CLASS_HEADS
    { "architectures=*ForSequenceClassification", "pooler", "relu", TFN_KEY_NAMES },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__distilbert_tensors[] = {
    TFN__AS_IS("embeddings.word_embeddings.weight", "embedding.weight")
    TFN__AS_IS("embeddings.position_embeddings.weight", "encoder.position.weight")
    TFN__AS_IS("embeddings.LayerNorm.*", "encoder.embedding_norm.*")
    TFN__TRANSPOSED("transformer.layer.#.attention.q_lin.*", "encoder.#.self.q.*")
    TFN__TRANSPOSED("transformer.layer.#.attention.k_lin.*", "encoder.#.self.k.*")
    TFN__TRANSPOSED("transformer.layer.#.attention.v_lin.*", "encoder.#.self.v.*")
    TFN__TRANSPOSED("transformer.layer.#.attention.out_lin.*", "encoder.#.self.o.*")
    TFN__AS_IS("transformer.layer.#.sa_layer_norm.*", "encoder.#.self.norm.*")
    TFN__TRANSPOSED("transformer.layer.#.ffn.lin1.*", "encoder.#.ffn.w1.*")
    TFN__TRANSPOSED("transformer.layer.#.ffn.lin2.*", "encoder.#.ffn.w2.*")
    TFN__AS_IS("transformer.layer.#.output_layer_norm.*", "encoder.#.ffn.norm.*")
    TFN__HEAD("pre_classifier.*", "pooler.*")
    TFN__HEAD("classifier.*", "classifier.*")
    TFN__HEAD("qa_outputs.*", "classifier.*")
    TFN__HEAD("vocab_transform.*", "transform.*")
    TFN__HEAD("vocab_layer_norm.*", "encoder.transform_norm.*")
    TFN__HEAD("vocab_projector.bias", "output.bias")
    TFN__OUTPUT("vocab_projector.weight", "output.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* -- families: BLOOM ------------------------------------------------------------------------- */

/* x_0 = LN(E[id]); x += attention(LN(x)); x += ffn(LN(x)); scores decrease with the distance to the
 * key (ALiBi). Queries, keys and values are stored as in GPT-NeoX. The hidden layer is always 4 C
 * wide, whatever n_inner says. Files spell three keys in two ways. */
static const tfn_key_rule tfn__bloom_keys[] = {
    TFN__CLASS("BloomForCausalLM")
    { NULL, "recipe", "pre", TFN_KEY_IS },
    { NULL, "topology", "pre-embed-norm", TFN_KEY_IS },
    { NULL, "position", "alibi", TFN_KEY_IS },
    { NULL, "activation", "gelu-tanh", TFN_KEY_IS },
    { "vocab_size", "vocab", NULL, TFN_KEY_IS },
    { "seq_length", "context", "2048", TFN_KEY_IS },
    { "n_embed", "width", "", TFN_KEY_IS },
    { "hidden_size", "width", "", TFN_KEY_IS },
    { "num_hidden_layers", "layers", "", TFN_KEY_IS },
    { "n_layer", "layers", "", TFN_KEY_IS },
    { "num_attention_heads", "heads", "", TFN_KEY_IS },
    { "n_head", "heads", "", TFN_KEY_IS },
    { "layer_norm_epsilon", "norm_eps", "1e-5", TFN_KEY_IS },
    { "apply_residual_connection_post_layernorm", NULL, "false", TFN_KEY_WANT },
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__bloom_tensors[] = {
    TFN__AS_IS("word_embeddings.weight", "embedding.weight")
    TFN__AS_IS("word_embeddings_layernorm.*", "decoder.embedding_norm.*")
    TFN__AS_IS("h.#.input_layernorm.*", "decoder.#.self.norm_in.*")
    { "h.#.self_attention.query_key_value.*", "decoder.#.self.q.*",
      TFN_FORM_TRANSPOSED | TFN_FORM_BY_HEAD, 0, 3, 0 },
    { "h.#.self_attention.query_key_value.*", "decoder.#.self.k.*",
      TFN_FORM_TRANSPOSED | TFN_FORM_BY_HEAD, 1, 3, 0 },
    { "h.#.self_attention.query_key_value.*", "decoder.#.self.v.*",
      TFN_FORM_TRANSPOSED | TFN_FORM_BY_HEAD, 2, 3, 0 },
    TFN__TRANSPOSED("h.#.self_attention.dense.*", "decoder.#.self.o.*")
    TFN__AS_IS("h.#.post_attention_layernorm.*", "decoder.#.ffn.norm_in.*")
    TFN__TRANSPOSED("h.#.mlp.dense_h_to_4h.*", "decoder.#.ffn.w1.*")
    TFN__TRANSPOSED("h.#.mlp.dense_4h_to_h.*", "decoder.#.ffn.w2.*")
    TFN__AS_IS("ln_f.*", "decoder.final_norm.*")
    TFN__OUTPUT("lm_head.weight", "output.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* -- families: Marian, BART, T5 -------------------------------------------------------------- */

/* Fairseq's encoder-decoder: encoder and decoder differ only in their depth. A norm has one name in
 * files, whether it is before a branch or after the sum; a model has either norm_in or norm. */
static const tfn_key_rule tfn__pair_keys[] = {
    { NULL, "arch", "encoder-decoder", TFN_KEY_IS },
    { NULL, "norm_eps", "1e-5", TFN_KEY_IS },
    { "vocab_size", "vocab", NULL, TFN_KEY_IS },
    { "max_position_embeddings", "context", NULL, TFN_KEY_IS },
    { "max_position_embeddings", "source_context", NULL, TFN_KEY_IS },
    { "d_model", "width", NULL, TFN_KEY_IS },
    { "encoder_layers", "layers", NULL, TFN_KEY_IS },
    { "decoder_layers", "decoder_layers", NULL, TFN_KEY_IS },
    { "encoder_attention_heads", "heads", NULL, TFN_KEY_IS },
    { "decoder_attention_heads", "heads", NULL, TFN_KEY_SAME },
    { "encoder_ffn_dim", "ffn", NULL, TFN_KEY_IS },
    { "decoder_ffn_dim", "ffn", NULL, TFN_KEY_SAME },
    { "activation_function", "activation", "gelu", TFN_KEY_IS },
    { "scale_embedding", "scale_embedding", "false", TFN_KEY_IS },
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { "is_encoder_decoder", NULL, "true", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
#define TFN__PAIR_STACK(stack) \
    TFN__TRANSPOSED(stack ".layers.#.self_attn.q_proj.*", stack ".#.self.q.*") \
    TFN__TRANSPOSED(stack ".layers.#.self_attn.k_proj.*", stack ".#.self.k.*") \
    TFN__TRANSPOSED(stack ".layers.#.self_attn.v_proj.*", stack ".#.self.v.*") \
    TFN__TRANSPOSED(stack ".layers.#.self_attn.out_proj.*", stack ".#.self.o.*") \
    TFN__AS_IS(stack ".layers.#.self_attn_layer_norm.*", stack ".#.self.norm.*") \
    TFN__AS_IS(stack ".layers.#.self_attn_layer_norm.*", stack ".#.self.norm_in.*") \
    TFN__TRANSPOSED(stack ".layers.#.fc1.*", stack ".#.ffn.w1.*") \
    TFN__TRANSPOSED(stack ".layers.#.fc2.*", stack ".#.ffn.w2.*") \
    TFN__AS_IS(stack ".layers.#.final_layer_norm.*", stack ".#.ffn.norm.*") \
    TFN__AS_IS(stack ".layers.#.final_layer_norm.*", stack ".#.ffn.norm_in.*") \
    TFN__AS_IS(stack ".layernorm_embedding.*", stack ".embedding_norm.*") \
    TFN__AS_IS(stack ".layer_norm.*", stack ".final_norm.*")
static const tfn_tensor_rule tfn__pair_tensors[] = {
    { "decoder.embed_tokens.weight", "embedding.weight", TFN_FORM_APART | TFN_FORM_SPARE, 0, 0,
      0 },
    { "encoder.embed_tokens.weight", "encoder.embedding.weight", TFN_FORM_SPARE, 0, 0, 0 },
    TFN__AS_IS("shared.weight", "embedding.weight")
    TFN__PAIR_STACK("encoder")
    TFN__PAIR_STACK("decoder")
    TFN__TRANSPOSED("decoder.layers.#.encoder_attn.q_proj.*", "decoder.#.cross.q.*")
    TFN__TRANSPOSED("decoder.layers.#.encoder_attn.k_proj.*", "decoder.#.cross.k.*")
    TFN__TRANSPOSED("decoder.layers.#.encoder_attn.v_proj.*", "decoder.#.cross.v.*")
    TFN__TRANSPOSED("decoder.layers.#.encoder_attn.out_proj.*", "decoder.#.cross.o.*")
    TFN__AS_IS("decoder.layers.#.encoder_attn_layer_norm.*", "decoder.#.cross.norm.*")
    TFN__AS_IS("decoder.layers.#.encoder_attn_layer_norm.*", "decoder.#.cross.norm_in.*")
    { "final_logits_bias", "output.bias", TFN_FORM_HEAD | TFN_FORM_ROW, 0, 0, 0 },
    TFN__OUTPUT("lm_head.weight", "output.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};
#undef TFN__PAIR_STACK
static const tfn_family tfn__pair_family = { "pair", NULL, NULL, tfn__pair_keys,
                                             tfn__pair_tensors };

/* Marian: the Transformer of 2017, Post-LN, with a bias of the logits. Files also keep the
 * sinusoids, which equal those of this library. */
static const tfn_key_rule tfn__marian_keys[] = {
    TFN__CLASS("MarianMTModel")
    { NULL, "recipe", "post", TFN_KEY_IS },
    { NULL, "position", "sinusoidal", TFN_KEY_IS },
    { NULL, "output_bias", "true", TFN_KEY_IS },
    { "decoder_vocab_size", "vocab", "", TFN_KEY_SAME },
    { "share_encoder_decoder_embeddings", "separate_source", "true", TFN_KEY_NOT },
    { "normalize_before", NULL, "false", TFN_KEY_WANT },
    { "normalize_embedding", NULL, "false", TFN_KEY_WANT },
    { "add_final_layer_norm", NULL, "false", TFN_KEY_WANT },
    { "add_bias_logits", NULL, "false", TFN_KEY_WANT },
    { "static_position_embeddings", NULL, "true", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__marian_tensors[] = {
    TFN__NO_WEIGHT("encoder.embed_positions.weight")
    TFN__NO_WEIGHT("decoder.embed_positions.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* BART: Post-LN with a norm of the embeddings; the first position has row 2 of the table (Lewis et
 * al. 2019). mBART is Pre-LN, with a norm at the end of each stack (Liu et al. 2020). The classes
 * with a head of words have a bias of the logits, the others none. */
#define TFN__LEARNED_PAIR \
    { NULL, "position", "learned", TFN_KEY_IS }, \
    { NULL, "output_bias", "false", TFN_KEY_IS }, \
    { "architectures=*ForConditionalGeneration", "output_bias", "true", TFN_KEY_NAMES }, \
    { "normalize_embedding", NULL, "true", TFN_KEY_WANT }, \
    { "add_bias_logits", NULL, "false", TFN_KEY_WANT }, \
    { "static_position_embeddings", NULL, "false", TFN_KEY_WANT },
static const tfn_key_rule tfn__bart_keys[] = {
    TFN__CLASS("BartModel")
    { NULL, "recipe", "bert", TFN_KEY_IS },
    TFN__LEARNED_PAIR
    { "normalize_before", NULL, "false", TFN_KEY_WANT },
    { "add_final_layer_norm", NULL, "false", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_key_rule tfn__mbart_keys[] = {
    TFN__CLASS("MBartModel")
    { NULL, "recipe", "pre", TFN_KEY_IS },
    { NULL, "topology", "pre-embed-norm", TFN_KEY_IS },
    TFN__LEARNED_PAIR
    { "normalize_before", NULL, "true", TFN_KEY_WANT },
    { "add_final_layer_norm", NULL, "true", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
#undef TFN__LEARNED_PAIR
static const tfn_tensor_rule tfn__bart_tensors[] = {
    { "encoder.embed_positions.weight", "encoder.position.weight", 0, 0, 0, 2 },
    { "decoder.embed_positions.weight", "decoder.position.weight", 0, 0, 0, 2 },
    { NULL, NULL, 0, 0, 0, 0 }
};

/* M2M-100 and NLLB: Pre-LN with fairseq's sinusoids, which begin after the padding's id, and no
 * norm of the embeddings (Fan et al. 2020). Some files keep the sinusoids. */
static const tfn_key_rule tfn__m2m_keys[] = {
    TFN__CLASS("M2M100ForConditionalGeneration")
    { NULL, "recipe", "pre", TFN_KEY_IS },
    { NULL, "position", "fairseq", TFN_KEY_IS },
    { "activation_function", "activation", "relu", TFN_KEY_IS },
    { "scale_embedding", "scale_embedding", "true", TFN_KEY_IS },
    { "pad_token_id", NULL, "1", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__m2m_tensors[] = {
    TFN__NO_WEIGHT("encoder.embed_positions.weights")
    TFN__NO_WEIGHT("decoder.embed_positions.weights")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* T5: Pre-LN with RMSNorm and no biases. Scores are not scaled; each bucket of distances adds a
 * number, shared by all layers of a stack. Files have these numbers in layer 0; the first files
 * also have them in the first cross-attention, where nothing reads them. If the embedding is the
 * output matrix, it reads x/sqrt(C), unless a file of transformers 5 says otherwise:
 * scale_decoder_outputs overrides tie_word_embeddings. Version 1.1 and Flan have gated hidden
 * layers, with wi_0 and wi_1 instead of wi, and their own output matrix. T5's positions have no
 * limit; n_positions is the length of its training texts. */
static const tfn_key_rule tfn__t5_keys[] = {
    TFN__CLASS("T5ForConditionalGeneration")
    { NULL, "arch", "encoder-decoder", TFN_KEY_IS },
    { NULL, "recipe", "pre-rms", TFN_KEY_IS },
    { NULL, "position", "relative", TFN_KEY_IS },
    { NULL, "score_scale", "1", TFN_KEY_IS },
    { NULL, "no_bias", "true", TFN_KEY_IS },
    { "vocab_size", "vocab", NULL, TFN_KEY_IS },
    { "n_positions", "context", "512", TFN_KEY_IS },
    { "n_positions", "source_context", "512", TFN_KEY_IS },
    { "d_model", "width", NULL, TFN_KEY_IS },
    { "d_kv", "head_size", "64", TFN_KEY_IS },
    { "d_ff", "ffn", NULL, TFN_KEY_IS },
    { "num_layers", "layers", NULL, TFN_KEY_IS },
    { "num_decoder_layers", "decoder_layers", "", TFN_KEY_IS },
    { "num_heads", "heads", NULL, TFN_KEY_IS },
    { "relative_attention_num_buckets", "relative_buckets", "32", TFN_KEY_IS },
    { "relative_attention_max_distance", "relative_distance", "128", TFN_KEY_IS },
    { "layer_norm_epsilon", "norm_eps", "1e-6", TFN_KEY_IS },
    { "feed_forward_proj", "activation", "relu", TFN_KEY_IS },
    { "tie_word_embeddings", "scale_output", "true", TFN_KEY_IS },
    { "scale_decoder_outputs", "scale_output", "", TFN_KEY_IS },
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { "is_encoder_decoder", NULL, "true", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
/* mT5 is T5 1.1 for a hundred languages. */
static const tfn_key_rule tfn__mt5_keys[] = {
    TFN__CLASS("MT5ForConditionalGeneration")
    { "feed_forward_proj", "activation", "gated-gelu", TFN_KEY_IS },
    { "tie_word_embeddings", "scale_output", "false", TFN_KEY_IS },
    { "scale_decoder_outputs", "scale_output", "", TFN_KEY_IS },
    { "tie_word_embeddings", "untied", "false", TFN_KEY_NOT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
#define TFN__T5_STACK(stack, ffn) \
    TFN__TRANSPOSED(stack ".block.#.layer.0.SelfAttention.q.weight", stack ".#.self.q.weight") \
    TFN__TRANSPOSED(stack ".block.#.layer.0.SelfAttention.k.weight", stack ".#.self.k.weight") \
    TFN__TRANSPOSED(stack ".block.#.layer.0.SelfAttention.v.weight", stack ".#.self.v.weight") \
    TFN__TRANSPOSED(stack ".block.#.layer.0.SelfAttention.o.weight", stack ".#.self.o.weight") \
    TFN__AS_IS(stack ".block.#.layer.0.layer_norm.weight", stack ".#.self.norm_in.weight") \
    TFN__AS_IS(stack ".block.0.layer.0.SelfAttention.relative_attention_bias.weight", \
               stack ".relative.weight") \
    { stack ".block.#.layer." ffn ".DenseReluDense.wi_0.weight", stack ".#.ffn.w1.weight", \
      TFN_FORM_TRANSPOSED | TFN_FORM_GATED, 0, 0, 0 }, \
    TFN__TRANSPOSED(stack ".block.#.layer." ffn ".DenseReluDense.wi.weight", \
                    stack ".#.ffn.w1.weight") \
    TFN__TRANSPOSED(stack ".block.#.layer." ffn ".DenseReluDense.wi_1.weight", \
                    stack ".#.ffn.w3.weight") \
    TFN__TRANSPOSED(stack ".block.#.layer." ffn ".DenseReluDense.wo.weight", \
                    stack ".#.ffn.w2.weight") \
    TFN__AS_IS(stack ".block.#.layer." ffn ".layer_norm.weight", stack ".#.ffn.norm_in.weight") \
    TFN__AS_IS(stack ".final_layer_norm.weight", stack ".final_norm.weight") \
    TFN__NO_WEIGHT(stack ".embed_tokens.weight")
static const tfn_tensor_rule tfn__t5_tensors[] = {
    TFN__AS_IS("shared.weight", "embedding.weight")
    TFN__T5_STACK("encoder", "1")
    TFN__T5_STACK("decoder", "2")
    TFN__TRANSPOSED("decoder.block.#.layer.1.EncDecAttention.q.weight", "decoder.#.cross.q.weight")
    TFN__TRANSPOSED("decoder.block.#.layer.1.EncDecAttention.k.weight", "decoder.#.cross.k.weight")
    TFN__TRANSPOSED("decoder.block.#.layer.1.EncDecAttention.v.weight", "decoder.#.cross.v.weight")
    TFN__TRANSPOSED("decoder.block.#.layer.1.EncDecAttention.o.weight", "decoder.#.cross.o.weight")
    TFN__AS_IS("decoder.block.#.layer.1.layer_norm.weight", "decoder.#.cross.norm_in.weight")
    TFN__NO_WEIGHT("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight")
    TFN__OUTPUT("lm_head.weight", "output.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};
#undef TFN__T5_STACK

#undef TFN__AS_IS
#undef TFN__TRANSPOSED
#undef TFN__HEAD
#undef TFN__OUTPUT
#undef TFN__CLASS
#undef TFN__NO_WEIGHT

/* -- families: the table --------------------------------------------------------------------- */

/* To add a family: add its keys and tensors above and a row here. If its forward needs something
 * that no option has, add the option first. Then write its forward once more, from the paper or the
 * published code, in tests/golden/hub_models.py, and likely mistakes of a reader in hub_traps.py.
 * A tiny model of the family goes into tests/golden/hub, where tests/hub/test_import.c reads it. */
#define TFN__LIKE(name) (tfn__families + TFN__FAMILY_##name)
#define TFN__FAMILY_LIST(X) \
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
    X(BERT, "bert", "bert.", &tfn__encoder_family, tfn__bert_keys, tfn__bert_tensors) \
    X(DISTILBERT, "distilbert", "distilbert.", NULL, \
      tfn__distilbert_keys, tfn__distilbert_tensors) \
    X(ROBERTA, "roberta", "roberta.", &tfn__encoder_family, \
      tfn__roberta_keys, tfn__roberta_tensors) \
    X(XLM_ROBERTA, "xlm-roberta", "roberta.", TFN__LIKE(ROBERTA), tfn__xlm_roberta_keys, NULL) \
    X(CAMEMBERT, "camembert", "roberta.", TFN__LIKE(ROBERTA), tfn__camembert_keys, NULL) \
    X(ELECTRA, "electra", "electra.", &tfn__encoder_family, \
      tfn__electra_keys, tfn__electra_tensors) \
    X(BLOOM, "bloom", "transformer.", NULL, tfn__bloom_keys, tfn__bloom_tensors) \
    X(MARIAN, "marian", "model.", &tfn__pair_family, tfn__marian_keys, tfn__marian_tensors) \
    X(BART, "bart", "model.", &tfn__pair_family, tfn__bart_keys, tfn__bart_tensors) \
    X(MBART, "mbart", "model.", &tfn__pair_family, tfn__mbart_keys, tfn__bart_tensors) \
    X(M2M, "m2m_100", "model.", &tfn__pair_family, tfn__m2m_keys, tfn__m2m_tensors) \
    X(T5, "t5", NULL, NULL, tfn__t5_keys, tfn__t5_tensors) \
    X(MT5, "mt5", NULL, TFN__LIKE(T5), tfn__mt5_keys, NULL)
#define TFN__FAMILY_NUMBER(number, name, prefix, like, keys, tensors) TFN__FAMILY_##number,
enum { TFN__FAMILY_LIST(TFN__FAMILY_NUMBER) TFN__FAMILIES };
#undef TFN__FAMILY_NUMBER
#define TFN__FAMILY_ROW(number, name, prefix, like, keys, tensors) \
    { name, prefix, like, keys, tensors },
static const tfn_family tfn__families[TFN__FAMILIES] = { TFN__FAMILY_LIST(TFN__FAMILY_ROW) };
#undef TFN__FAMILY_ROW
#undef TFN__LIKE

#define TFN__FAMILY_NAME(number, name, prefix, like, keys, tensors) " " name
SHARED const char *const tfn__no_type_text =
    "config.json has no model_type; set the family, one of" TFN__FAMILY_LIST(TFN__FAMILY_NAME);
SHARED const char *const tfn__no_family_text =
    "no family is called %s; there are" TFN__FAMILY_LIST(TFN__FAMILY_NAME);
#undef TFN__FAMILY_NAME
#undef TFN__FAMILY_LIST

TFNORM_API const tfn_family *tfn_family_at(int32_t i)
{
    if (i < 0 || i >= TFN__FAMILIES) return NULL;
    return tfn__families + i;
}

TFNORM_API const tfn_family *tfn_family_find(const char *name)
{
    if (!name) return NULL;
    for (int i = 0; i < TFN__FAMILIES; i++)
        if (tfn__equal(name, tfn__families[i].name)) return tfn__families + i;
    return NULL;
}
TFN__SMALL_END
#endif
