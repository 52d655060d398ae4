#!/usr/bin/env python3
"""Tiny checkpoints in the hub's format, with the logits that they mean (PyTorch 1.13, double).

    python3 make_hub.py [NAME ...]          writes hub/NAME/ beside itself; without names: KEPT
    python3 make_hub.py --list              names of all cases
    python3 make_hub.py --mutants [NAME]    how far the logits move when a reader falls into a trap

A folder holds
    config.json             keys as published files have them, the irrelevant ones too
    model.safetensors       or shards and model.safetensors.index.json
    ids.txt                 token ids, a sentence a line; of encoder-decoders lines are in turn a
                            source and what the decoder reads
    logits.txt              of each sentence in turn, a line a position (of the decoder); encoders
                            without a head have hidden vectors here, then a line for the pooled
                            one, minilm one more for the sentence's
    greedy.txt              of some encoder-decoders: lines are in turn a source, with the end behind it,
                            and what greedy search writes of it: from decoder_start_token_id on
                            the likeliest token but pad_token_id, up to eos_token_id, included, or
                            GREEDY tokens
    gradients.safetensors   of some: mean next-token cross-entropy of both sentences, by autograd

Every case exists in half precision, too: NAME-f16, and NAME-bf16, where norms stay F32. The logits
are those of the rounded weights.

hub_models.py and hub_encoders.py have the forwards, hub_traps.py and hub_encoder_traps.py the wrong
readings.
"""
import json
import math
import os
import sys
from typing import NamedTuple, Optional
import torch
from hub_encoders import (
    Bart, BartBody, Electra, ElectraClasses, ElectraGenerator, ElectraSmall, ElectraSmallGenerator,
    M2M100, MBart, ModernBert, ModernBertBody, MPNet, MPNetBody, Roberta, RobertaClasses,
    RobertaCopies, RobertaQuestions, RobertaTokens)
from hub_encoder_traps import ENCODER_FAMILY_TRAPS
from hub_models import (
    Bert, BertClasses, BertModel, BertOld, Bloom, BloomPrefixed, DistilBert, DistilBertClasses,
    Gemma, Gemma2, Gemma3, Gemma3Multimodal, Gemma3Newer, GPT2, GPT2Scaled, GPT2Short, GPTJ,
    GPTNeo, Granite, Llama, Marian, MarianSeparate, MiniLM, Mistral, MT5, NeoX, Olmo, Olmo2, OPT,
    OPT350, Phi, Phi3, Qwen2, Qwen3, SmolLM3, StableLM, T5, T5v11, TORCH)
from hub_traps import TRAPS
from stream import Stream

HERE = os.path.dirname(os.path.abspath(__file__))
VOCAB, SENTENCES, TIME = 31, 2, 13
GREEDY, GREEDY_SOURCES = 12, 4


# -- cases ----------------------------------------------------------------------------------------

class Case(NamedTuple):
    model: type
    config: dict
    gradients: bool = False
    shards: int = 1
    dtype: str = "F32"
    ends: Optional[int] = None         # with greedy.txt, of whose texts so many end


COMMON = {"initializer_range": 0.02, "torch_dtype": "float32", "transformers_version": "4.46.0",
          "use_cache": True, "vocab_size": VOCAB}

GPT2_CONFIG = {
    **COMMON, "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"],
    "activation_function": "gelu_new", "attn_pdrop": 0.1, "bos_token_id": 30, "embd_pdrop": 0.1,
    "eos_token_id": 30, "layer_norm_epsilon": 1e-5, "n_ctx": 16, "n_embd": 12, "n_head": 4,
    "n_inner": 20, "n_layer": 2, "n_positions": 16, "reorder_and_upcast_attn": False,
    "resid_pdrop": 0.1, "scale_attn_by_inverse_layer_idx": False, "scale_attn_weights": True,
    "summary_activation": None, "summary_first_dropout": 0.1, "summary_proj_to_labels": True,
    "summary_type": "cls_index", "summary_use_proj": True,
    "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
}

LLAMA_CONFIG = {
    **COMMON, "model_type": "llama", "architectures": ["LlamaForCausalLM"],
    "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": [2, 3],
    "head_dim": 6, "hidden_act": "silu", "hidden_size": 12, "intermediate_size": 16,
    "max_position_embeddings": 32, "mlp_bias": False, "num_attention_heads": 4,
    "num_hidden_layers": 2, "num_key_value_heads": 2, "pretraining_tp": 1, "rms_norm_eps": 1e-5,
    "rope_scaling": None, "rope_theta": 500000.0, "tie_word_embeddings": False,
}

LLAMA3_SCALING = {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                  "original_max_position_embeddings": 256, "rope_type": "llama3"}


def changed(config, *without, **values):
    """Keys left out, keys changed or added."""
    return {k: v for k, v in {**config, **values}.items() if k not in without}


def family(kind, head, *without, **values):
    """Llama's keys under another family's names."""
    return changed(LLAMA_CONFIG, "pretraining_tp", "mlp_bias", *without, model_type=kind,
                   architectures=[head + "ForCausalLM"], **values)


def new_spelling(config, *without, **rope):
    """rope_parameters and dtype, as files have them since version 5."""
    return changed(config, "rope_scaling", "rope_theta", "torch_dtype", *without, dtype="float32",
                   rope_parameters={"rope_type": "default", **rope}, transformers_version="5.0.0")


MISTRAL_CONFIG = family("mistral", "Mistral", "attention_bias", "rope_scaling", eos_token_id=2,
                        rope_theta=10000.0, sliding_window=None)

QWEN2_CONFIG = family("qwen2", "Qwen2", "attention_bias", "head_dim", "rope_scaling",
                      eos_token_id=2, hidden_size=16, intermediate_size=12, max_window_layers=1,
                      rms_norm_eps=1e-6, rope_theta=1000000.0, sliding_window=5,
                      tie_word_embeddings=True, use_sliding_window=False)

QWEN3_CONFIG = family("qwen3", "Qwen3", eos_token_id=2, head_dim=6, max_window_layers=2,
                      rms_norm_eps=1e-6, rope_theta=1000000.0, sliding_window=None,
                      tie_word_embeddings=True, use_sliding_window=False)

OLMO2_CONFIG = family("olmo2", "Olmo2", "head_dim", hidden_size=16, eos_token_id=2,
                      rms_norm_eps=1e-6)

GEMMA_CONFIG = changed(
    LLAMA_CONFIG, "mlp_bias", "pretraining_tp", "tie_word_embeddings", model_type="gemma",
    architectures=["GemmaForCausalLM"], bos_token_id=2, eos_token_id=1, pad_token_id=0,
    hidden_act="gelu", hidden_size=24, intermediate_size=32, head_dim=8, rms_norm_eps=1e-3,
    rope_theta=10000.0)

GEMMA2_CONFIG = changed(
    GEMMA_CONFIG, "rope_scaling", model_type="gemma2", architectures=["Gemma2ForCausalLM"],
    attn_logit_softcapping=3.0, cache_implementation="hybrid", final_logit_softcapping=1.5,
    hidden_act="gelu_pytorch_tanh", hidden_activation="gelu_pytorch_tanh", num_hidden_layers=3,
    query_pre_attn_scalar=10, sliding_window=5)

GEMMA3_CONFIG = changed(
    GEMMA2_CONFIG, "hidden_act", model_type="gemma3_text", architectures=["Gemma3ForCausalLM"],
    attn_logit_softcapping=None, eos_token_id=[1, 30], final_logit_softcapping=None,
    rope_local_base_freq=10000.0, rope_scaling={"factor": 8.0, "rope_type": "linear"},
    rope_theta=1000000.0, sliding_window_pattern=2)

GEMMA3_NEW = changed(
    GEMMA3_CONFIG, "rope_local_base_freq", "rope_scaling", "rope_theta", "sliding_window_pattern",
    "torch_dtype", dtype="float32", transformers_version="5.0.0",
    layer_types=["full_attention", "sliding_attention", "sliding_attention"],
    rope_parameters={
        "full_attention": {"factor": 8.0, "rope_theta": 1000000.0, "rope_type": "linear"},
        "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}})

GEMMA3_IMAGES = {
    "architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 28,
    "eoi_token_index": 29, "eos_token_id": [1, 30], "image_token_index": 27,
    "initializer_range": 0.02, "mm_tokens_per_image": 4, "model_type": "gemma3",
    "text_config": changed(GEMMA3_CONFIG, "architectures", "torch_dtype"),
    "torch_dtype": "float32", "transformers_version": "4.50.0",
    "vision_config": {"hidden_size": 8, "image_size": 4, "model_type": "siglip_vision_model"},
}

NEOX_CONFIG = {
    **COMMON, "model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"],
    "attention_dropout": 0.0, "bos_token_id": 0, "classifier_dropout": 0.1, "eos_token_id": 0,
    "hidden_act": "gelu", "hidden_dropout": 0.0, "hidden_size": 24, "intermediate_size": 40,
    "layer_norm_eps": 1e-5, "max_position_embeddings": 32, "num_attention_heads": 4,
    "num_hidden_layers": 2, "rope_scaling": None, "rotary_emb_base": 100, "rotary_pct": 0.7,
    "tie_word_embeddings": False, "use_parallel_residual": True,
}

PHI_CONFIG = {
    **COMMON, "model_type": "phi", "architectures": ["PhiForCausalLM"], "attention_dropout": 0.0,
    "bos_token_id": 30, "embd_pdrop": 0.0, "eos_token_id": 30, "hidden_act": "gelu_new",
    "hidden_size": 24, "intermediate_size": 40, "layer_norm_eps": 1e-5,
    "max_position_embeddings": 32, "num_attention_heads": 4, "num_hidden_layers": 2,
    "num_key_value_heads": None, "partial_rotary_factor": 0.7, "qk_layernorm": False,
    "resid_pdrop": 0.1, "rope_scaling": None, "rope_theta": 1000.0, "tie_word_embeddings": False,
}

OLMO_CONFIG = family(
    "olmo", "Olmo", "head_dim", "rms_norm_eps", clip_qkv=1.5, eos_token_id=30, hidden_size=16,
    pad_token_id=1, rope_theta=10000.0)

GRANITE_CONFIG = family(
    "granite", "Granite", "head_dim", attention_multiplier=0.3, embedding_multiplier=12.0,
    eos_token_id=0, hidden_size=16, logits_scaling=3.0, mlp_bias=False, residual_multiplier=0.22,
    rms_norm_eps=0.01, rope_theta=10000.0, tie_word_embeddings=True)

SMOLLM3_CONFIG = family(
    "smollm3", "SmolLM3", "head_dim", eos_token_id=30, hidden_size=16, layer_types=[
        "full_attention"] * 3, max_window_layers=28, mlp_bias=False, no_rope_layer_interval=4,
    no_rope_layers=[1, 0, 1], num_hidden_layers=3, pad_token_id=30, pretraining_tp=2,
    rope_theta=5000.0, sliding_window=None, use_sliding_window=False)

PHI3_CONFIG = family(
    "phi3", "Phi3", "head_dim", eos_token_id=30, embd_pdrop=0.0, hidden_size=24,
    intermediate_size=20, original_max_position_embeddings=32, pad_token_id=30, resid_pdrop=0.0,
    rms_norm_eps=1e-3, rope_theta=10000.0, sliding_window=None)

STABLELM_CONFIG = family(
    "stablelm", "StableLm", "attention_bias", "head_dim", "rms_norm_eps", "rope_scaling",
    eos_token_id=0, hidden_dropout=0.0, hidden_size=32, intermediate_size=20, layer_norm_eps=1e-3,
    partial_rotary_factor=0.8, qk_layernorm=False, rope_theta=1000.0, use_parallel_residual=False,
    use_qkv_bias=False)

GPT_NEO_CONFIG = {
    **COMMON, "model_type": "gpt_neo", "architectures": ["GPTNeoForCausalLM"],
    "activation_function": "gelu_new", "attention_dropout": 0,
    "attention_layers": ["global", "local", "global"],
    "attention_types": [[["global", "local"], 1], [["global"], 1]], "bos_token_id": 30,
    "classifier_dropout": 0.1, "embed_dropout": 0, "eos_token_id": 30,
    "gradient_checkpointing": False, "hidden_size": 16, "intermediate_size": None,
    "layer_norm_epsilon": 1e-3, "max_position_embeddings": 16, "num_heads": 4, "num_layers": 3,
    "resid_dropout": 0, "summary_activation": None, "summary_first_dropout": 0.1,
    "summary_proj_to_labels": True, "summary_type": "cls_index", "summary_use_proj": True,
    "window_size": 5,
}

GPTJ_CONFIG = {
    **changed(GPT2_CONFIG, "n_ctx", "reorder_and_upcast_attn", "scale_attn_by_inverse_layer_idx"),
    "model_type": "gptj", "architectures": ["GPTJForCausalLM"], "gradient_checkpointing": False,
    "n_embd": 32, "n_inner": None, "rotary": True, "rotary_dim": 6, "layer_norm_epsilon": 1e-3,
    "tie_word_embeddings": False, "tokenizer_class": "GPT2Tokenizer",
}

OPT_CONFIG = {
    **COMMON, "model_type": "opt", "architectures": ["OPTForCausalLM"], "activation_dropout": 0.0,
    "activation_function": "relu", "attention_dropout": 0.0, "bos_token_id": 2,
    "do_layer_norm_before": True, "dropout": 0.1, "eos_token_id": 2, "ffn_dim": 40,
    "hidden_size": 24, "init_std": 0.02, "layerdrop": 0.0, "max_position_embeddings": 16,
    "num_attention_heads": 4, "num_hidden_layers": 2, "pad_token_id": 1, "prefix": "</s>",
    "word_embed_proj_dim": 24,
}

BLOOM_CONFIG = {
    **COMMON, "model_type": "bloom", "architectures": ["BloomForCausalLM"],
    "apply_residual_connection_post_layernorm": False, "attention_dropout": 0.0,
    "attention_softmax_in_fp32": True, "bias_dropout_fusion": True, "bos_token_id": 1,
    "eos_token_id": 2, "hidden_dropout": 0.0, "layer_norm_epsilon": 1e-5,
    "masked_softmax_fusion": True, "n_embed": 24, "n_inner": None, "n_layer": 2,
    "num_attention_heads": 6, "offset_alibi": 100, "pad_token_id": 3, "pretraining_tp": 1,
    "seq_length": 32, "skip_bias_add": True, "skip_bias_add_qkv": False, "unk_token_id": 0,
}

BERT_CONFIG = {
    **COMMON, "model_type": "bert", "architectures": ["BertForMaskedLM"],
    "attention_probs_dropout_prob": 0.1, "classifier_dropout": None,
    "gradient_checkpointing": False, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
    "hidden_size": 24, "intermediate_size": 40, "layer_norm_eps": 1e-12,
    "max_position_embeddings": 16, "num_attention_heads": 4, "num_hidden_layers": 2,
    "pad_token_id": 0, "position_embedding_type": "absolute", "type_vocab_size": 2,
}

DISTILBERT_CONFIG = {
    **changed(COMMON, "use_cache"), "model_type": "distilbert", "activation": "gelu",
    "architectures": ["DistilBertForMaskedLM"], "attention_dropout": 0.1, "dim": 24,
    "dropout": 0.1, "hidden_dim": 40, "max_position_embeddings": 16, "n_heads": 4, "n_layers": 2,
    "pad_token_id": 0, "qa_dropout": 0.1, "seq_classif_dropout": 0.2,
    "sinusoidal_pos_embds": False, "tie_weights_": True,
}

# config.json of roberta-base, with the numbers of a small model
ROBERTA_CONFIG = changed(
    BERT_CONFIG, "gradient_checkpointing", "classifier_dropout", "position_embedding_type",
    model_type="roberta", architectures=["RobertaForMaskedLM"], bos_token_id=0, eos_token_id=2,
    layer_norm_eps=1e-5, max_position_embeddings=18, pad_token_id=1, type_vocab_size=1)

XLM_ROBERTA_CONFIG = changed(
    ROBERTA_CONFIG, model_type="xlm-roberta", architectures=["XLMRobertaForMaskedLM"],
    output_past=True, position_embedding_type="absolute")

CAMEMBERT_CONFIG = changed(
    ROBERTA_CONFIG, model_type="camembert", architectures=["CamembertForMaskedLM"],
    bos_token_id=5, eos_token_id=6, output_past=True)

# config.json of mpnet-base
MPNET_CONFIG = changed(
    ROBERTA_CONFIG, "type_vocab_size", "use_cache", model_type="mpnet",
    architectures=["MPNetForMaskedLM"], relative_attention_num_buckets=32)

# config.json of ModernBERT-base
MODERNBERT_CONFIG = {
    **changed(COMMON, "use_cache"), "model_type": "modernbert",
    "architectures": ["ModernBertForMaskedLM"], "attention_bias": False, "attention_dropout": 0.0,
    "bos_token_id": 28, "classifier_activation": "gelu", "classifier_bias": False,
    "classifier_dropout": 0.0, "classifier_pooling": "mean", "cls_token_id": 28,
    "decoder_bias": True, "deterministic_flash_attn": False, "embedding_dropout": 0.0,
    "eos_token_id": 29, "global_attn_every_n_layers": 3, "global_rope_theta": 5000.0,
    "gradient_checkpointing": False, "hidden_activation": "gelu", "hidden_size": 24,
    "initializer_cutoff_factor": 2.0, "intermediate_size": 20, "layer_norm_eps": 1e-5,
    "local_attention": 6, "local_rope_theta": 100.0, "max_position_embeddings": 32,
    "mlp_bias": False, "mlp_dropout": 0.0, "norm_bias": False, "norm_eps": 1e-5,
    "num_attention_heads": 4, "num_hidden_layers": 4, "pad_token_id": 30,
    "position_embedding_type": "absolute", "sep_token_id": 29, "tie_word_embeddings": True,
}

# the same in the words of version 5
MODERNBERT_NEW = changed(
    MODERNBERT_CONFIG, "global_attn_every_n_layers", "global_rope_theta", "layer_norm_eps",
    "local_rope_theta", "torch_dtype", architectures=["ModernBertModel"], dtype="float32",
    layer_types=["full_attention", "sliding_attention", "sliding_attention", "full_attention"],
    rope_parameters={"full_attention": {"rope_theta": 5000.0, "rope_type": "default"},
                     "sliding_attention": {"rope_theta": 100.0, "rope_type": "default"}},
    transformers_version="5.0.0")

# config.json of electra-base-discriminator
ELECTRA_CONFIG = changed(
    BERT_CONFIG, "gradient_checkpointing", "classifier_dropout", model_type="electra",
    architectures=["ElectraForPreTraining"], embedding_size=24, summary_activation="gelu",
    summary_last_dropout=0.1, summary_type="first", summary_use_proj=True)

LABELS = {"0": "bad", "1": "neither", "2": "good"}

MARIAN_CONFIG = {
    **COMMON, "model_type": "marian", "architectures": ["MarianMTModel"],
    "activation_dropout": 0.0, "activation_function": "swish", "add_bias_logits": False,
    "add_final_layer_norm": False, "attention_dropout": 0.0, "bad_words_ids": [[30]],
    "bos_token_id": 0, "classif_dropout": 0.0, "d_model": 24, "decoder_attention_heads": 4,
    "decoder_ffn_dim": 40, "decoder_layerdrop": 0.0, "decoder_layers": 3,
    "decoder_start_token_id": 30, "decoder_vocab_size": VOCAB, "dropout": 0.1,
    "encoder_attention_heads": 4, "encoder_ffn_dim": 40, "encoder_layerdrop": 0.0,
    "encoder_layers": 2, "eos_token_id": 0, "forced_eos_token_id": 0, "init_std": 0.02,
    "is_encoder_decoder": True, "max_length": 32, "max_position_embeddings": 16,
    "normalize_before": False, "normalize_embedding": False, "num_beams": 4,
    "num_hidden_layers": 2, "pad_token_id": 30, "scale_embedding": True,
    "share_encoder_decoder_embeddings": True, "static_position_embeddings": True,
}

# config.json of bart-large, mbart-large-cc25 and m2m100_418M, with the numbers of small models
BART_CONFIG = changed(
    MARIAN_CONFIG, "bad_words_ids", "decoder_vocab_size", "share_encoder_decoder_embeddings",
    model_type="bart", architectures=["BartForConditionalGeneration"], activation_function="gelu",
    decoder_start_token_id=2, eos_token_id=2, extra_pos_embeddings=2, forced_bos_token_id=0,
    forced_eos_token_id=2, gradient_checkpointing=False, normalize_embedding=True, pad_token_id=1,
    scale_embedding=False, static_position_embeddings=False)

MBART_CONFIG = changed(
    BART_CONFIG, "forced_bos_token_id", model_type="mbart", add_final_layer_norm=True,
    architectures=["MBartForConditionalGeneration"], normalize_before=True, output_past=True,
    scale_embedding=True)

M2M100_CONFIG = changed(
    BART_CONFIG, "add_bias_logits", "add_final_layer_norm", "extra_pos_embeddings",
    "classif_dropout", "forced_bos_token_id", "normalize_before", "normalize_embedding",
    "scale_embedding", "static_position_embeddings", model_type="m2m_100",
    activation_function="relu", architectures=["M2M100ForConditionalGeneration"])

T5_CONFIG = {
    **COMMON, "model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_ff": 40,
    "d_kv": 5, "d_model": 24, "decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1,
    "initializer_factor": 1.0, "is_encoder_decoder": True, "layer_norm_epsilon": 1e-6,
    "n_positions": 32, "num_heads": 4, "num_layers": 2, "output_past": True, "pad_token_id": 0,
    "relative_attention_max_distance": 20, "relative_attention_num_buckets": 10,
}

T5_V11_CONFIG = changed(
    T5_CONFIG, "n_positions", dense_act_fn="gelu_new", feed_forward_proj="gated-gelu",
    is_gated_act=True, num_decoder_layers=3, tie_word_embeddings=False)

# only what the configuration of mT5 does not have by default
MT5_CONFIG = changed(
    T5_CONFIG, "n_positions", "output_past", model_type="mt5", num_decoder_layers=3,
    architectures=["MT5ForConditionalGeneration"])

CASES = {
    "gpt2": Case(GPT2, GPT2_CONFIG, gradients=True),
    "gpt2-scaled": Case(GPT2Scaled, changed(GPT2_CONFIG, scale_attn_by_inverse_layer_idx=True)),
    "gpt2-short-names": Case(GPT2Short, changed(GPT2_CONFIG, n_inner=None)),
    "llama": Case(Llama, LLAMA_CONFIG, gradients=True),
    "llama-tied": Case(Llama, changed(LLAMA_CONFIG, "head_dim", hidden_size=16, mlp_bias=True,
                                      attention_bias=True, tie_word_embeddings=True)),
    "llama3": Case(Llama, changed(LLAMA_CONFIG, head_dim=8, rope_scaling=LLAMA3_SCALING)),
    "llama-linear": Case(Llama, new_spelling(
        LLAMA_CONFIG, factor=4.0, rope_theta=500000.0, rope_type="linear")),
    "llama-sharded": Case(Llama, LLAMA_CONFIG, shards=2),
    "mistral": Case(Mistral, MISTRAL_CONFIG),
    "mistral-window": Case(Mistral, changed(MISTRAL_CONFIG, sliding_window=5)),
    "qwen2": Case(Qwen2, QWEN2_CONFIG, gradients=True),
    "qwen2-window": Case(Qwen2, changed(QWEN2_CONFIG, use_sliding_window=True)),
    "qwen2-types": Case(Qwen2, changed(
        QWEN2_CONFIG, layer_types=["sliding_attention", "full_attention"],
        use_sliding_window=True)),
    "qwen3": Case(Qwen3, QWEN3_CONFIG),
    "olmo2": Case(Olmo2, OLMO2_CONFIG),
    "gemma": Case(Gemma, GEMMA_CONFIG),
    "gemma2": Case(Gemma2, GEMMA2_CONFIG),
    "gemma3_text": Case(Gemma3, GEMMA3_CONFIG, gradients=True),
    "gemma3_text-new": Case(Gemma3, GEMMA3_NEW),
    "gemma3": Case(Gemma3Multimodal, GEMMA3_IMAGES),
    "gpt_neox": Case(NeoX, NEOX_CONFIG),
    "gpt_neox-serial": Case(NeoX, changed(NEOX_CONFIG, use_parallel_residual=False)),
    "gpt_neox-new": Case(NeoX, new_spelling(
        NEOX_CONFIG, "rotary_emb_base", "rotary_pct", partial_rotary_factor=0.7, rope_theta=100)),
    "phi": Case(Phi, PHI_CONFIG),
    "phi-qk": Case(Phi, changed(PHI_CONFIG, num_key_value_heads=2, qk_layernorm=True)),
    "phi-new": Case(Phi, new_spelling(
        PHI_CONFIG, "partial_rotary_factor", partial_rotary_factor=0.7, rope_theta=1000.0)),
    "gemma3-newer": Case(Gemma3Newer, GEMMA3_IMAGES),
    "olmo": Case(Olmo, OLMO_CONFIG, gradients=True),
    "olmo-plain": Case(Olmo, changed(OLMO_CONFIG, attention_bias=True, clip_qkv=None,
                                     tie_word_embeddings=True)),
    "granite": Case(Granite, GRANITE_CONFIG, gradients=True),
    "smollm3": Case(SmolLM3, SMOLLM3_CONFIG),
    "smollm3-interval": Case(SmolLM3, changed(
        SMOLLM3_CONFIG, "no_rope_layers", no_rope_layer_interval=3, num_key_value_heads=None)),
    "gpt_neo": Case(GPTNeo, GPT_NEO_CONFIG, gradients=True),
    "gpt_neo-types": Case(GPTNeo, changed(
        GPT_NEO_CONFIG, "attention_layers", attention_types=[[["global", "local"], 3]],
        num_layers=6)),
    "phi3": Case(Phi3, PHI3_CONFIG, gradients=True),
    "phi3-window": Case(Phi3, changed(PHI3_CONFIG, partial_rotary_factor=0.7, sliding_window=5,
                                      tie_word_embeddings=True)),
    "stablelm": Case(StableLM, STABLELM_CONFIG),
    "stablelm-parallel": Case(StableLM, changed(
        STABLELM_CONFIG, use_parallel_residual=True, use_qkv_bias=True)),
    "gptj": Case(GPTJ, GPTJ_CONFIG),
    "opt": Case(OPT, OPT_CONFIG),
    "opt-350m-form": Case(OPT350, changed(OPT_CONFIG, do_layer_norm_before=False,
                                          word_embed_proj_dim=16)),
    "bloom": Case(Bloom, BLOOM_CONFIG, gradients=True),
    "bloom-residual": Case(BloomPrefixed, changed(
        BLOOM_CONFIG, "n_embed", "num_attention_heads", hidden_size=24, n_head=6,
        apply_residual_connection_post_layernorm=True)),
    "bert": Case(Bert, BERT_CONFIG, gradients=True),
    "bert-old-names": Case(BertOld, changed(BERT_CONFIG, architectures=["BertForPreTraining"])),
    "bert-pooler": Case(BertModel, changed(BERT_CONFIG, architectures=["BertModel"])),
    "minilm": Case(MiniLM, changed(BERT_CONFIG, architectures=["BertModel"])),
    "bert-classes": Case(BertClasses, changed(
        BERT_CONFIG, architectures=["BertForSequenceClassification"], id2label=LABELS),
        gradients=True),
    "distilbert": Case(DistilBert, DISTILBERT_CONFIG, gradients=True),
    "distilbert-classes": Case(DistilBertClasses, changed(
        DISTILBERT_CONFIG, architectures=["DistilBertForSequenceClassification"],
        id2label=LABELS), gradients=True),
    "roberta": Case(Roberta, ROBERTA_CONFIG),
    "roberta-classes": Case(RobertaClasses, changed(
        ROBERTA_CONFIG, architectures=["RobertaForSequenceClassification"], id2label=LABELS)),
    "roberta-tokens": Case(RobertaTokens, changed(
        ROBERTA_CONFIG, architectures=["RobertaForTokenClassification"], id2label=LABELS)),
    "roberta-questions": Case(RobertaQuestions, changed(
        ROBERTA_CONFIG, architectures=["RobertaForQuestionAnswering"])),
    "xlm-roberta": Case(RobertaCopies, XLM_ROBERTA_CONFIG),
    "camembert": Case(Roberta, CAMEMBERT_CONFIG),
    "mpnet": Case(MPNet, MPNET_CONFIG),
    "mpnet-body": Case(MPNetBody, MPNET_CONFIG),
    "modernbert": Case(ModernBert, MODERNBERT_CONFIG),
    "modernbert-body": Case(ModernBertBody, MODERNBERT_NEW),
    "electra": Case(Electra, ELECTRA_CONFIG),
    "electra-generator": Case(ElectraGenerator, changed(
        ELECTRA_CONFIG, architectures=["ElectraForMaskedLM"])),
    "electra-classes": Case(ElectraClasses, changed(
        ELECTRA_CONFIG, architectures=["ElectraForSequenceClassification"], id2label=LABELS)),
    "electra-small": Case(ElectraSmall, changed(ELECTRA_CONFIG, embedding_size=10)),
    "electra-small-generator": Case(ElectraSmallGenerator, changed(
        ELECTRA_CONFIG, architectures=["ElectraForMaskedLM"], embedding_size=32)),
    "marian": Case(Marian, MARIAN_CONFIG, gradients=True, ends=0),
    "marian-separate": Case(MarianSeparate, changed(
        MARIAN_CONFIG, scale_embedding=False, share_encoder_decoder_embeddings=False)),
    "bart": Case(Bart, BART_CONFIG),
    "bart-body": Case(BartBody, changed(BART_CONFIG, architectures=["BartModel"])),
    "mbart": Case(MBart, MBART_CONFIG),
    "m2m_100": Case(M2M100, M2M100_CONFIG),
    "t5": Case(T5, T5_CONFIG, gradients=True, ends=0),
    "t5-v1.1": Case(T5v11, T5_V11_CONFIG, ends=2),
    "mt5": Case(MT5, MT5_CONFIG),
    "t5-unscaled": Case(T5, changed(T5_CONFIG, "torch_dtype", dtype="float32",
                                    scale_decoder_outputs=False, transformers_version="5.0.0")),
}

KEPT = ["gpt2", "gpt2-short-names", "gpt2-f16", "llama", "llama-tied", "llama-sharded",
        "llama-f16", "llama-bf16", "llama3", "llama-linear", "mistral", "mistral-window",
        "qwen2", "qwen2-window", "qwen2-types", "gemma3_text", "gemma3_text-new", "qwen3", "olmo2",
        "gpt2-scaled", "gemma", "gemma2", "gemma2-bf16", "gpt_neox", "gpt_neox-serial",
        "gpt_neox-new-f16", "phi", "phi-qk", "opt", "opt-350m-form", "bert",
        "bert-old-names", "bert-classes", "minilm", "distilbert", "distilbert-classes", "bloom",
        "roberta", "roberta-classes", "roberta-tokens", "roberta-questions", "xlm-roberta-f16",
        "camembert-bf16", "mpnet", "mpnet-f16", "mpnet-body-bf16", "modernbert", "modernbert-bf16",
        "modernbert-body-f16", "electra", "electra-generator-f16", "electra-classes-bf16",
        "electra-small", "electra-small-bf16", "electra-small-generator",
        "electra-small-generator-f16", "marian",
        "marian-separate", "bart", "bart-body", "mbart-f16",
        "m2m_100-bf16", "mt5-bf16", "t5", "t5-v1.1", "t5-unscaled",
        "phi3", "phi3-window", "stablelm", "stablelm-parallel", "gptj",
        "gemma3", "gemma3-newer", "olmo", "olmo-plain", "granite", "smollm3", "smollm3-interval",
        "gpt_neo", "gpt_neo-types", "phi3-bf16", "gptj-f16", "gpt_neo-bf16", "granite-f16",
        "gemma3-newer-bf16", "smollm3-f16"]


def in_half(case, dtype):
    name = {"F16": "float16", "BF16": "bfloat16"}[dtype]
    config = {k: name if k in ("dtype", "torch_dtype") else v for k, v in case.config.items()}
    return case._replace(config=config, dtype=dtype, gradients=False, ends=None)


CASES.update({f"{name}-{d.lower()}": in_half(case, d) for name, case in list(CASES.items())
              for d in ("F16", "BF16")})


# -- files ----------------------------------------------------------------------------------------

INTEGER = {"BF16": torch.int16}                    # numpy has no bfloat16


def sentences(case):
    """Two lines; of encoder-decoders four, where the second of a pair begins with the start id."""
    def draw(n):
        ids = ((stream.draw(n) + 1) / 2 * VOCAB).long().tolist()
        return [VOCAB - 2 if id == case.model.never else id for id in ids]
    stream = Stream("ids")
    if not case.model.pairs:
        return [draw(TIME) for _ in range(SENTENCES)]
    start = [case.config["decoder_start_token_id"]]
    return [line for _ in range(SENTENCES) for line in (draw(TIME), start + draw(TIME - 3))]


def write_safetensors(path, tensors):
    """tensors: name to dtype and values, in the format's order: by dtype, then by name."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for dtype in TORCH:
        for name in sorted(n for n in tensors if tensors[n][0] == dtype):
            x = tensors[name][1].detach().to(TORCH[dtype]).contiguous()
            raw = x.view(INTEGER.get(dtype, x.dtype)).numpy().tobytes()
            header[name] = {"dtype": dtype, "shape": list(x.shape),
                            "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)
    return len(data)


def write_shards(folder, tensors, count):
    names, index, size = sorted(tensors), {}, 0
    for s in range(count):
        part = names[s * len(names) // count:(s + 1) * len(names) // count]
        file = f"model-{s + 1:05}-of-{count:05}.safetensors"
        size += write_safetensors(os.path.join(folder, file), {n: tensors[n] for n in part})
        index.update(dict.fromkeys(part, file))
    write_json(os.path.join(folder, "model.safetensors.index.json"),
               {"metadata": {"total_size": size}, "weight_map": index})


def write_json(path, value):
    with open(path, "w", newline="\n") as f:
        f.write(json.dumps(value, indent=2, sort_keys=True) + "\n")


def write_rows(path, rows, form):
    with open(path, "w", newline="\n") as f:
        f.writelines(" ".join(form % v for v in row) + "\n" for row in rows)


def greedy(model, source, start):
    """What is written, and whether each token was the likeliest by more than rounding."""
    config, written, clear = model.config, [], True
    while len(written) < GREEDY and config["eos_token_id"] not in written:
        row = model.logits(source, [start] + written)[-1].clone()
        row[config["pad_token_id"]] = -math.inf
        best, second = row.topk(2)[0].tolist()
        clear = clear and best - second > 1e-3
        written.append(row.argmax().item())
    return written, clear


def greedy_lines(model, ends):
    """Sources of ids that are nothing special in either family, drawn until there are enough from
    which other starts write another text; the first `ends` texts end."""
    config, stream, lines = model.config, Stream("greedy"), []
    end = config["eos_token_id"]
    while len(lines) < 2 * GREEDY_SOURCES:
        count = 4 + len(lines)
        source = (3 + (stream.draw(count) + 1) / 2 * (VOCAB - 5)).long().tolist() + [end]
        written, clear = greedy(model, source, config["decoder_start_token_id"])
        others = [greedy(model, source, start)[0] for start in (end, 2)]
        if not clear or written in others or len(written) < 3:
            continue
        if len(lines) >= 2 * ends or written[-1] == end:
            lines += [source, written]
    return lines


def gradients(case, tensors, lines):
    leaves = {name: x.clone().requires_grad_() for name, x in tensors.items()}
    case.model(case.config, case.dtype, leaves).loss(lines).backward()
    return {name: ("F32", x.grad) for name, x in leaves.items()}


def write_case(name):
    case = CASES[name]
    lines = sentences(case)
    model = case.model(case.config, case.dtype)
    rows = model.outputs(lines)
    check(name, case, model, rows, lines)
    folder = os.path.join(HERE, "hub", name)
    os.makedirs(folder, exist_ok=True)
    write_json(os.path.join(folder, "config.json"), case.config)
    stored = {model.stored_name(n): (model.stored_dtype(n), x) for n, x in model.tensors.items()}
    stored.update(model.buffers())
    if case.shards > 1:
        write_shards(folder, stored, case.shards)
    else:
        write_safetensors(os.path.join(folder, "model.safetensors"), stored)
    for file, value in model.files().items():
        os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
        write_json(os.path.join(folder, file), value)
    write_rows(os.path.join(folder, "ids.txt"), lines, "%d")
    write_rows(os.path.join(folder, "logits.txt"), rows.tolist(), "%.9g")
    if case.ends is not None:
        write_rows(os.path.join(folder, "greedy.txt"), greedy_lines(model, case.ends), "%d")
    if case.gradients:
        write_safetensors(os.path.join(folder, "gradients.safetensors"),
                          gradients(case, model.tensors, lines))


# -- checks ---------------------------------------------------------------------------------------

def distance(rows, wrong):
    """The largest difference, relative to the largest number."""
    return ((rows - wrong).abs().max() / rows.abs().max()).item()


def check(name, case, model, rows, lines):
    """Activations and softmax are at work, and every tensor matters."""
    for kind, deviations in model.deviations.items():
        assert min(deviations) >= 1, (name, kind, deviations)
    for tensor in model.tensors:
        zeroed = {**model.tensors, tensor: torch.zeros_like(model.tensors[tensor])}
        moved = distance(rows, case.model(case.config, case.dtype, zeroed).outputs(lines))
        if model.without_effect(tensor):
            assert moved < 1e-12, (name, tensor, moved)
        else:
            assert moved > 1e-4, (name, tensor, moved)


def try_traps(name):
    """How far each trap moves the logits; whether a test at 2e-5 would notice all of them."""
    case = CASES[name]
    lines = sentences(case)
    model = case.model(case.config, case.dtype)
    rows, good = model.outputs(lines), True
    for t in {**TRAPS, **ENCODER_FAMILY_TRAPS}[
            name.removesuffix("-f16").removesuffix("-bf16")]:
        wrong = type("Wrong", (case.model,), t.methods)
        wrong = wrong(changed(case.config, *t.without, **t.config), case.dtype, model.tensors)
        moved = distance(rows, wrong.outputs(lines))
        good = good and moved > 1e-4
        print(f"{name:18} {t.name:40} {moved:8.2g}{'' if moved > 1e-4 else '  not noticed'}")
    return good


def main(arguments):
    mutants = arguments[:1] == ["--mutants"]
    names = arguments[1:] if mutants else arguments
    if names == ["--list"]:
        print("\n".join(CASES))
    elif not set(names) <= set(CASES):
        sys.exit(f"make_hub.py: no case of the name {min(set(names) - set(CASES))} (see --list)")
    elif mutants:
        names = names or [n for n in CASES if CASES[n].dtype == "F32"]
        sys.exit(0 if all([try_traps(name) for name in names]) else 1)
    else:
        for name in names or KEPT:
            write_case(name)


if __name__ == "__main__":
    main(sys.argv[1:])
