#include "decoders.h"
#include "../ground/ground.h"
#include "family_rows.h"

/* -- decoders: GPT-2 ------------------------------------------------------------------------- */

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

/* -- decoders: Llama and similar ones -------------------------------------------------------- */

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

/* -- decoders: Gemma ------------------------------------------------------------------------- */

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

/* -- decoders: GPT-NeoX, Phi, OPT ------------------------------------------------------------ */

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

/* -- decoders: Phi-3, StableLM --------------------------------------------------------------- */

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

/* -- decoders: GPT-Neo ----------------------------------------------------------------------- */

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

/* -- decoders: GPT-J ------------------------------------------------------------------------- */

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

/* -- decoders: BLOOM ------------------------------------------------------------------------- */

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

/* -- decoders: the table --------------------------------------------------------------------- */

#define TFN__LIKE(name) (tfn__decoder_families + TFN__FAMILY_##name)
#define TFN__FAMILY_NUMBER(number, name, prefix, like, keys, tensors) TFN__FAMILY_##number,
enum { TFN__DECODER_LIST(TFN__FAMILY_NUMBER) TFN__DECODER_FAMILIES };
#undef TFN__FAMILY_NUMBER
#define TFN__FAMILY_ROW(number, name, prefix, like, keys, tensors) \
    { name, prefix, like, keys, tensors },
SHARED const tfn_family tfn__decoder_families[TFN__DECODER_FAMILIES + 1] = {
    TFN__DECODER_LIST(TFN__FAMILY_ROW) { NULL, NULL, NULL, NULL, NULL }
};
#undef TFN__FAMILY_ROW
#undef TFN__LIKE
