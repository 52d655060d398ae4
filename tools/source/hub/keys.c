#include "keys.h"
#include "../ground/basics.h"
#include "../model/resolve.h"
#include "../files/safetensors.h"

/* Keys of config.json that no family has a rule for. This part knows which of them change nothing,
 * and which must never be skipped. Builds on json. */

TFN__RARE
/* A configuration has some forty keys. Each belongs to one of three classes:
 *
 *   - the family has a rule for it (part families): it sets an option, or must have one value;
 *   - it is in the table below: it never changes the forward, or not with the values that the table
 *     lists;
 *   - all others, which are refused by name.
 *
 * A key whose value is null counts as absent. */
typedef struct tfn__idle_row {
    const char *family;         /* and families that are like it; NULL: every family */
    const char *values;         /* harmless values, separated by spaces; NULL: any */
    const char *keys;           /* separated by spaces; a star matches any characters */
} tfn__idle_row;

/* Dropout is idle because the caller chooses the rate for tuning. */
static const tfn__idle_row tfn__idle_rows[] = {
    /* the program that wrote the file, and its versions */
    { NULL, NULL, "_* architectures model_type transformers_version transformers.js_config "
                  "torch_dtype dtype name_or_path auto_map custom_pipelines finetuning_task "
                  "finetuned_from sentence_transformers quantization_config_origin language "
                  "languages license tags datasets unsloth_* name model_name adapters" },
    /* the tokenizer */
    { NULL, NULL, "*_token_id *_token_index bos_token eos_token pad_token unk_token sep_token "
                  "cls_token mask_token tokenizer_class tokenizer_* vocab_file do_lower_case "
                  "prefix predict_special_tokens model_max_length max_seq_length" },
    /* training */
    { NULL, NULL, "*dropout* *_pdrop *layerdrop initializer_* init_std init_cutoff_factor "
                  "gradient_checkpointing use_bfloat16 tf_legacy_loss problem_type *_loss_coef "
                  "*_loss_weight label_smoothing loss_type" },
    /* classes and tasks, which rules read where a family has a head for them */
    { NULL, NULL, "id2label label2id num_labels num_choices task_specific_params summary_*" },
    /* how a program runs the model */
    { NULL, NULL, "use_cache output_attentions output_hidden_states output_past return_dict "
                  "use_return_dict torchscript xla_device chunk_size_feed_forward "
                  "*attn_implementation* use_flash_attention* use_flash_attn* flash_attention "
                  "use_memory_efficient_attention keys_to_ignore_at_inference base_model_tp_plan "
                  "base_model_pp_plan memory_efficient reorder_and_upcast_attn" },
    /* generation */
    { NULL, NULL, "generation_config max_length min_length max_new_tokens min_new_tokens max_time "
                  "do_sample early_stopping num_beams num_beam_groups diversity_penalty "
                  "temperature top_k top_p min_p typical_p repetition_penalty length_penalty "
                  "no_repeat_ngram_size encoder_no_repeat_ngram_size encoder_repetition_penalty "
                  "bad_words_ids force_words_ids num_return_sequences output_scores output_logits "
                  "return_dict_in_generate remove_invalid_values renormalize_logits constraints "
                  "exponential_decay_length_penalty suppress_tokens begin_suppress_tokens "
                  "sequence_bias token_healing guidance_scale low_memory watermarking_config "
                  "epsilon_cutoff eta_cutoff penalty_alpha cache_implementation cache_config "
                  "prompt_lookup_num_tokens max_matching_ngram_size num_assistant_tokens* "
                  "dola_layers stop_strings return_legacy_cache is_assistant assistant_* "
                  "force_bos_token_to_be_generated" },
    /* attributes of transformers' base class, and options of other families, that are off */
    { NULL, "false", "is_encoder_decoder is_decoder add_cross_attention tie_encoder_decoder "
                     "use_sliding_window use_mrope rope_interleaved use_qk_norm qk_layernorm "
                     "use_bidirectional_attention" },
    { NULL, "{} []", "pruned_heads mlp_only_layers" },
    { NULL, "1", "residual_multiplier embedding_multiplier logits_scaling logit_scale "
                 "partial_rotary_factor rope_scaling.partial_rotary_factor "
                 "rope_parameters.partial_rotary_factor rope_parameters.attention_factor" },
    { NULL, "full_attention", "layer_types" },
    /* attributes of single families */
    { "gpt2", NULL, "is_decoder n_special afn" },
    { "llama", NULL, "is_llama_config pretraining_tp max_sequence_length max_window_layers "
                     "is_decoder" },
    { "gpt_neox", NULL, "is_decoder" },
    { "bloom", NULL, "is_decoder" },
    { "opt", NULL, "is_decoder" },
    { "phi", NULL, "is_decoder" },
    { "phi3", "1", "full_attn_mod interpolate_factor" },
    { "phi3", NULL, "original_max_position_embeddings" },
    { "bert", NULL, "directionality pooler_fc_size pooler_num_attention_heads "
                    "pooler_num_fc_layers pooler_size_per_head pooler_type hidden_dropout" },
    { "modernbert", NULL, "classifier_pooling deterministic_flash_attn layer_norm_eps "
                          "position_embedding_type reference_compile repad_logits_with_grad "
                          "sparse_pred_ignore_index sparse_prediction" },
    { "gpt_neo", NULL, "is_decoder" },
    { "gemma3", NULL, "vision_config mm_tokens_per_image" },
    { "distilbert", NULL, "sinusoidal_pos_embds tie_weights_" },
    { "pair", NULL, "extra_pos_embeddings num_hidden_layers" },
    { "pair", "false", "do_blenderbot_90_layernorm" },
    { "bloom", NULL, "n_inner offset_alibi pretraining_tp slow_but_exact skip_bias_add "
                     "skip_bias_add_qkv bias_dropout_fusion attention_softmax_in_fp32 "
                     "masked_softmax_fusion" },
    { "t5", NULL, "dense_act_fn is_gated_act" },
    /* GGUF, whose keys gguf.c writes with slashes for dots */
    { "gguf", "0", "expert_count expert_used_count rope/scaling/finetuned" },
    { "gguf", "false", "rope/scaling/finetuned" },
    { "gguf", NULL, "tensor_data_layout attn_output/bias ffn_down/bias ffn_norm/weight "
                    "attn_q/bias chat_template" },
    { "stablelm", NULL, "use_parallel_residual" }
};

/* Keys of these forms change the model: even a lenient import refuses them. */
static const char *const tfn__grave_keys[] = {
    "*quant*", "*multiplier*", "*scal*", "*softcap*", "*rope*", "*rotary*"
};

/* Copies the next word of a list and moves *list past it. False at the end of the list. */
SHARED bool tfn__next_word(const char **list, char *word, size_t size)
{
    tfn__text t = tfn__text_in(word, size);
    while (**list == ' ') ++*list;
    if (!**list) return false;
    for (; **list; ++*list) {
        if (**list == ' ') break;
        tfn__put_bytes(&t, *list, 1);
    }
    tfn__end(&t);
    return true;
}

/* Reads *v from the text. False if the whole text is not one number. */
static bool tfn__is_number(const char *text, double *v)
{
    tfn__reader r = tfn__read_from(text, tfn__length(text));
    *v = tfn__json_number(&r);
    return !r.wanted && r.at == r.size;
}

/* True if two values are equal as texts, or as numbers: 1 and 1.0. */
SHARED bool tfn__same_value(const char *found, const char *text)
{
    double a, b;
    if (tfn__equal(found, text)) return true;
    if (!tfn__is_number(found, &a) || !tfn__is_number(text, &b)) return false;
    return !(a < b || a > b);
}

/* Copies the JSON value at r: a string without its quotes, any other value as it is written. */
static void tfn__short_value(tfn__reader r, char *value, size_t size)
{
    tfn__text t = tfn__text_in(value, size);
    size_t from;
    tfn__json_space(&r);
    from = r.at;
    if (tfn__peek(&r) == '"') {
        tfn__copy_string(&t, r);
    } else {
        tfn__json_skip(&r, TFN__JSON_DEPTH);
        tfn__put_bytes(&t, r.s + from, r.at - from);
    }
    tfn__end(&t);
}

/* True if the value as a whole is one of these words. */
static bool tfn__value_listed(const char *values, tfn__reader r)
{
    char value[128];
    char word[64];
    tfn__short_value(r, value, sizeof value);
    while (tfn__next_word(&values, word, sizeof word))
        if (tfn__same_value(value, word)) return true;
    return false;
}

/* True if the value, or each element of an array, is one of these words. */
static bool tfn__all_listed(const char *values, tfn__reader r)
{
    if (tfn__value_listed(values, r)) return true;
    tfn__json_space(&r);
    if (tfn__peek(&r) != '[') return false;
    for (bool more = tfn__json_open(&r, '[', ']'); more; more = tfn__json_more(&r, ']')) {
        if (!tfn__value_listed(values, r)) return false;
        tfn__json_skip(&r, TFN__JSON_DEPTH);
    }
    return true;
}

/* True if this is the family's name, or the name of one that it is like. */
static bool tfn__is_like(const tfn_family *family, const char *name)
{
    for (; family; family = family->like)
        if (tfn__equal(family->name, name)) return true;
    return false;
}

/* True if a word of the list, as a pattern, matches the path. */
static bool tfn__word_matches(const char *list, const char *path)
{
    char word[64];
    while (tfn__next_word(&list, word, sizeof word))
        if (tfn__name_matches(word, path)) return true;
    return false;
}

/* True if the key does not change the forward. */
SHARED bool tfn__key_is_idle(const tfn_family *family, const char *path, tfn__reader value)
{
    for (size_t i = 0; i < sizeof tfn__idle_rows / sizeof *tfn__idle_rows; i++) {
        const tfn__idle_row *row = tfn__idle_rows + i;
        if (row->family && !tfn__is_like(family, row->family)) continue;
        if (!tfn__word_matches(row->keys, path)) continue;
        if (!row->values || tfn__all_listed(row->values, value)) return true;
    }
    return false;
}

/* True if the key must not be skipped: it has one of the forms above, or is inside an object.
 * (Only objects that a rule knows are searched for keys.) */
SHARED bool tfn__key_is_grave(const char *path)
{
    for (size_t i = 0; i < sizeof tfn__grave_keys / sizeof *tfn__grave_keys; i++)
        if (tfn__name_matches(tfn__grave_keys[i], path)) return true;
    return tfn__name_matches("*.*", path);
}
TFN__RARE_END
