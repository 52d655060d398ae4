#!/usr/bin/env python3
"""python3 golden/make_configs.py, in tests: write golden/configs.txt, published configurations.

A line has, separated by tabs, the name of the model; what its configuration must give, "vocab width layers
heads kv_heads head_size ffn", or the reason for which it is refused; and its config.json. Keys and values are
those of the published files, without texts that no program reads."""
import json
N, T, F = None, True, False
rows = []
def add(name, config, refused="-"):
    rows.append((name, refused, config))
def shape(c):
    """The sizes, by the published names of their keys."""
    if "text_config" in c:
        c = {"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, **c["text_config"]}
    def first(*keys):
        return next((c[k] for k in keys if c.get(k) is not None), None)
    width = first("hidden_size", "n_embd", "n_embed", "d_model", "dim")
    heads = first("num_attention_heads", "n_head", "num_heads", "n_heads", "decoder_attention_heads")
    sizes = [c["vocab_size"], width, first("num_hidden_layers", "n_layer", "num_layers", "n_layers"), heads,
             first("num_key_value_heads") or heads, first("head_dim", "d_kv") or width // heads,
             first("intermediate_size", "n_inner", "ffn_dim", "d_ff", "hidden_dim", "decoder_ffn_dim") or 4 * width]
    return " ".join(map(str, sizes))


def ch(c, *without, **v):
    return {k: x for k, x in {**c, **v}.items() if k not in without}

# GPT-2
gpt2 = {"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 50256,
  "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
  "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "resid_pdrop": 0.1, "summary_activation": N,
  "summary_first_dropout": 0.1, "summary_proj_to_labels": T, "summary_type": "cls_index", "summary_use_proj": T,
  "task_specific_params": {"text-generation": {"do_sample": T, "max_length": 50}}, "vocab_size": 50257}
add("gpt2", gpt2)
add("gpt2-medium", ch(gpt2, n_embd=1024, n_head=16, n_layer=24, n_special=0, predict_special_tokens=T))
add("distilgpt2", ch(gpt2, _num_labels=1, id2label={"0": "LABEL_0"}, label2id={"LABEL_0": 0}, n_layer=6))
add("DialoGPT-small", ch(gpt2, "task_specific_params", task_specific_params={"conversational": {"max_length": 1000}}))
add("stanford BioMedLM", ch(gpt2, _name_or_path="gpt2", bos_token_id=28895, eos_token_id=28895, gradient_checkpointing=F, n_embd=2560, n_head=20,
  n_inner=N, n_layer=32, pad_token_id=28895, reorder_and_upcast_attn=F, scale_attn_by_inverse_layer_idx=T, scale_attn_weights=T,
  torch_dtype="float32", transformers_version="4.6.0.dev0", use_cache=F, vocab_size=28896))
add("openai-gpt", {"afn": "gelu", "architectures": ["OpenAIGPTLMHeadModel"], "model_type": "openai-gpt", "n_ctx": 512, "n_embd": 768,
  "n_head": 12, "n_layer": 12, "n_positions": 512, "vocab_size": 40478}, "no family is called openai-gpt")

# Llama
llama2 = {"_name_or_path": "meta-llama/Llama-2-7b-hf", "architectures": ["LlamaForCausalLM"], "bos_token_id": 1, "eos_token_id": 2,
  "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 11008, "max_position_embeddings": 4096,
  "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "pretraining_tp": 1,
  "rms_norm_eps": 1e-05, "rope_scaling": N, "tie_word_embeddings": F, "torch_dtype": "float16", "transformers_version": "4.31.0.dev0",
  "use_cache": T, "vocab_size": 32000}
llama3 = ch(llama2, "_name_or_path", attention_bias=F, attention_dropout=0.0, bos_token_id=128000, eos_token_id=128001, intermediate_size=14336,
  max_position_embeddings=8192, num_key_value_heads=8, rope_theta=500000.0, torch_dtype="bfloat16", transformers_version="4.40.0.dev0", vocab_size=128256)
l3s = {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}
add("Llama-2-7b-hf", llama2)
add("Llama-2-70b-hf", ch(llama2, hidden_size=8192, intermediate_size=28672, num_attention_heads=64, num_hidden_layers=80, num_key_value_heads=8))
add("Meta-Llama-3-8B", llama3)
add("Llama-3.1-70B", ch(llama3, hidden_size=8192, intermediate_size=28672, num_attention_heads=64, num_hidden_layers=80, mlp_bias=F,
  eos_token_id=[128001, 128008, 128009], max_position_embeddings=131072, rope_scaling=l3s))
add("Llama-3.2-1B", ch(llama3, head_dim=64, hidden_size=2048, intermediate_size=8192, max_position_embeddings=131072, mlp_bias=F,
  num_hidden_layers=16, rope_scaling=dict(l3s, factor=32.0), tie_word_embeddings=T, transformers_version="4.45.0.dev0"))
add("TinyLlama-1.1B", ch(llama2, "_name_or_path", attention_bias=F, hidden_size=2048, intermediate_size=5632, max_position_embeddings=2048,
  num_hidden_layers=22, num_key_value_heads=4, rope_theta=10000.0, torch_dtype="bfloat16", transformers_version="4.35.0"))
smol = ch(llama2, "_name_or_path", attention_bias=F, attention_dropout=0.0, bos_token_id=0, eos_token_id=0, hidden_size=576, initializer_range=0.041666666666666664,
  intermediate_size=1536, is_llama_config=T, max_position_embeddings=8192, num_attention_heads=9, num_hidden_layers=30, num_key_value_heads=3,
  rope_interleaved=F, rope_theta=100000, tie_word_embeddings=T, torch_dtype="bfloat16", transformers_version="4.40.1", vocab_size=49152)
add("SmolLM2-135M", smol)
add("SmolLM2-360M", ch(smol, hidden_size=960, intermediate_size=2560, num_attention_heads=15, num_hidden_layers=32, num_key_value_heads=5))
add("SmolLM2-135M-Instruct", ch(smol, bos_token_id=1, eos_token_id=2, pad_token_id=2, **{"transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}}}))
add("Yi-1.5-6B", ch(llama2, "_name_or_path", attention_bias=F, attention_dropout=0.0, num_key_value_heads=4, pad_token_id=0, rms_norm_eps=1e-06,
  rope_theta=5000000.0, torch_dtype="bfloat16", vocab_size=64000))
add("deepseek-llm-7b-base", ch(llama2, "_name_or_path", num_hidden_layers=30, rms_norm_eps=1e-06, rope_theta=10000.0, vocab_size=102400))
add("CodeLlama-7b-hf", ch(llama2, "_name_or_path", max_position_embeddings=16384, rope_theta=1000000, vocab_size=32016))
add("Llama-2-7B-GPTQ", ch(llama2, pad_token_id=0, quantization_config={"bits": 4, "group_size": 128, "damp_percent": 0.01, "desc_act": F,
  "sym": T, "true_sequential": T, "quant_method": "gptq"}), "quantization_config")
add("Yarn-Llama-2-7b-64k", ch(llama2, max_position_embeddings=65536, rope_scaling={"factor": 16.0, "original_max_position_embeddings": 4096,
  "type": "yarn", "finetuned": T}), "rope_scaling.finetuned")
add("DeepSeek-R1-Distill-Llama-8B", ch(llama3, max_position_embeddings=131072, mlp_bias=F, rope_scaling=l3s, transformers_version="4.43.0.dev0"))

# Mistral
mistral = {"architectures": ["MistralForCausalLM"], "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096,
  "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mistral", "num_attention_heads": 32,
  "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096,
  "tie_word_embeddings": F, "torch_dtype": "bfloat16", "transformers_version": "4.34.0.dev0", "use_cache": T, "vocab_size": 32000}
add("Mistral-7B-v0.1", mistral)
add("Mistral-7B-v0.3", ch(mistral, attention_dropout=0.0, rope_theta=1000000.0, sliding_window=N, vocab_size=32768))
add("Mixtral-8x7B-v0.1", ch(mistral, model_type="mixtral", num_experts_per_tok=2, num_local_experts=8, sliding_window=N), "no family is called mixtral")

# Qwen
qwen2 = {"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151643, "hidden_act": "silu",
  "hidden_size": 896, "initializer_range": 0.02, "intermediate_size": 4864, "max_position_embeddings": 32768, "max_window_layers": 24,
  "model_type": "qwen2", "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
  "rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": T, "torch_dtype": "bfloat16", "transformers_version": "4.40.1",
  "use_cache": T, "use_mrope": F, "use_sliding_window": F, "vocab_size": 151936}
add("Qwen2.5-0.5B", qwen2)
add("Qwen2-7B", ch(qwen2, "use_mrope", hidden_size=3584, intermediate_size=18944, max_position_embeddings=131072, max_window_layers=28,
  num_attention_heads=28, num_hidden_layers=28, num_key_value_heads=4, sliding_window=131072, tie_word_embeddings=F, vocab_size=152064))
add("Qwen1.5-110B", ch(qwen2, "use_mrope", hidden_size=8192, intermediate_size=49152, max_window_layers=28, num_attention_heads=64, num_hidden_layers=80,
  num_key_value_heads=8, tie_word_embeddings=F, vocab_size=152064))
qwen3 = ch(qwen2, "use_mrope", architectures=["Qwen3ForCausalLM"], attention_bias=F, eos_token_id=151645, head_dim=128, hidden_size=1024, intermediate_size=3072,
  max_position_embeddings=40960, max_window_layers=28, model_type="qwen3", num_attention_heads=16, num_hidden_layers=28, num_key_value_heads=8,
  rope_scaling=N, sliding_window=N, transformers_version="4.51.0")
add("Qwen3-0.6B", qwen3)
add("Qwen3-8B", ch(qwen3, hidden_size=4096, intermediate_size=12288, max_window_layers=36, num_attention_heads=32, num_hidden_layers=36, tie_word_embeddings=F))
add("Qwen3-30B-A3B", ch(qwen3, architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe", num_experts=128), "no family is called qwen3_moe")

# OLMo, Granite, SmolLM 3
olmo = {"architectures": ["OlmoForCausalLM"], "attention_bias": F, "attention_dropout": 0.0, "clip_qkv": N, "eos_token_id": 50279, "hidden_act": "silu",
  "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 2048, "model_type": "olmo",
  "num_attention_heads": 16, "num_hidden_layers": 16, "num_key_value_heads": 16, "pad_token_id": 1, "rope_scaling": N, "rope_theta": 10000.0,
  "tie_word_embeddings": T, "torch_dtype": "float32", "transformers_version": "4.40.0.dev0", "use_cache": T, "vocab_size": 50304}
add("OLMo-1B-hf", olmo)
add("OLMo-1.7-7B-hf", ch(olmo, clip_qkv=8.0, hidden_size=4096, intermediate_size=11008, max_position_embeddings=4096, num_attention_heads=32,
  num_hidden_layers=32, num_key_value_heads=32, tie_word_embeddings=F))
add("OLMo-2-0425-1B", ch(olmo, "clip_qkv", architectures=["Olmo2ForCausalLM"], eos_token_id=100257, max_position_embeddings=4096, model_type="olmo2",
  pad_token_id=100277, rms_norm_eps=1e-06, rope_theta=500000, tie_word_embeddings=F, vocab_size=100352))
add("OLMoE-1B-7B-0924", ch(olmo, architectures=["OlmoeForCausalLM"], model_type="olmoe", num_experts=64), "no family is called olmoe")
granite = {"architectures": ["GraniteForCausalLM"], "attention_bias": F, "attention_dropout": 0.1, "attention_multiplier": 0.015625, "bos_token_id": 0,
  "embedding_multiplier": 12.0, "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 8192,
  "logits_scaling": 8.0, "max_position_embeddings": 131072, "mlp_bias": F, "model_type": "granite", "num_attention_heads": 32, "num_hidden_layers": 40,
  "num_key_value_heads": 8, "pad_token_id": 0, "residual_multiplier": 0.22, "rms_norm_eps": 1e-05, "rope_scaling": N, "rope_theta": 5000000.0,
  "tie_word_embeddings": T, "torch_dtype": "bfloat16", "transformers_version": "4.47.0.dev0", "use_cache": T, "vocab_size": 49155}
add("granite-3.1-2b-base", granite)
add("granite-3.0-2b-base", ch(granite, max_position_embeddings=4096, rope_theta=10000.0))
add("granite-3.0-1b-a400m-base", ch(granite, architectures=["GraniteMoeForCausalLM"], model_type="granitemoe", num_local_experts=32),
  "no family is called granitemoe")
add("SmolLM3-3B", {"architectures": ["SmolLM3ForCausalLM"], "attention_bias": F, "attention_dropout": 0.0, "bos_token_id": N, "eos_token_id": 128012,
  "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 11008, "layer_types": ["full_attention"] * 36,
  "max_position_embeddings": 65536, "max_window_layers": 28, "mlp_bias": F, "model_type": "smollm3", "no_rope_layer_interval": 4,
  "no_rope_layers": [1, 1, 1, 0] * 9, "num_attention_heads": 16, "num_hidden_layers": 36, "num_key_value_heads": 4, "pad_token_id": 128004,
  "pretraining_tp": 2, "rms_norm_eps": 1e-06, "rope_scaling": N, "rope_theta": 5000000.0, "sliding_window": N, "torch_dtype": "bfloat16",
  "transformers_version": "4.54.0.dev0", "use_cache": F, "use_sliding_window": F, "vocab_size": 128256})

# Gemma
gemma = {"architectures": ["GemmaForCausalLM"], "attention_bias": F, "attention_dropout": 0.0, "bos_token_id": 2, "eos_token_id": 1, "head_dim": 256,
  "hidden_act": "gelu", "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 16384, "max_position_embeddings": 8192,
  "model_type": "gemma", "num_attention_heads": 8, "num_hidden_layers": 18, "num_key_value_heads": 1, "pad_token_id": 0, "rms_norm_eps": 1e-06,
  "rope_scaling": N, "rope_theta": 10000.0, "torch_dtype": "bfloat16", "transformers_version": "4.38.0.dev0", "use_cache": T, "vocab_size": 256000}
add("gemma-2b", gemma)
add("gemma-1.1-2b-it", ch(gemma, hidden_activation="gelu_pytorch_tanh", hidden_act="gelu_pytorch_tanh"))
gemma2 = ch(gemma, "rope_scaling", architectures=["Gemma2ForCausalLM"], attn_logit_softcapping=50.0, cache_implementation="hybrid", final_logit_softcapping=30.0,
  hidden_act="gelu_pytorch_tanh", hidden_activation="gelu_pytorch_tanh", hidden_size=2304, intermediate_size=9216, model_type="gemma2",
  num_hidden_layers=26, num_key_value_heads=4, query_pre_attn_scalar=256, sliding_window=4096, torch_dtype="float32", transformers_version="4.42.4")
add("gemma-2-2b", gemma2)
add("gemma-2-9b", ch(gemma2, hidden_size=3584, intermediate_size=14336, num_attention_heads=16, num_hidden_layers=42, num_key_value_heads=8, sliding_window_size=4096))
gemma3 = ch(gemma2, "hidden_act", "cache_implementation", architectures=["Gemma3ForCausalLM"], attn_logit_softcapping=N, final_logit_softcapping=N, hidden_size=1152,
  intermediate_size=6912, max_position_embeddings=32768, model_type="gemma3_text", num_attention_heads=4, num_key_value_heads=1, rope_local_base_freq=10000,
  rope_scaling=N, rope_theta=1000000, sliding_window=512, sliding_window_pattern=6, torch_dtype="bfloat16", transformers_version="4.50.0.dev0", vocab_size=262144)
add("gemma-3-1b-pt", gemma3)
add("gemma-3-270m", ch(gemma3, "sliding_window_pattern", _sliding_window_pattern=6, hidden_size=640, intermediate_size=2048, num_hidden_layers=18,
  layer_types=(["sliding_attention"] * 5 + ["full_attention"]) * 3, use_bidirectional_attention=F, transformers_version="4.55.0.dev0"))
images = {"architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 255999, "eoi_token_index": 256000, "eos_token_id": [1, 106],
  "image_token_index": 262144, "initializer_range": 0.02, "mm_tokens_per_image": 256, "model_type": "gemma3", "text_config": {"hidden_size": 2560,
  "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
  "sliding_window": 1024}, "torch_dtype": "bfloat16", "transformers_version": "4.50.0.dev0", "vision_config": {"hidden_size": 1152, "image_size": 896,
  "intermediate_size": 4304, "model_type": "siglip_vision_model", "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14,
  "vision_use_head": F}}
add("gemma-3-4b-it", images)
add("gemma-3-12b-it", ch(images, text_config={"hidden_size": 3840, "intermediate_size": 15360, "model_type": "gemma3_text", "num_attention_heads": 16,
  "num_hidden_layers": 48, "num_key_value_heads": 8, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024}))

# GPT-NeoX, Phi, StableLM, GPT-Neo, GPT-J
neox = {"architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "gelu", "hidden_size": 512, "initializer_range": 0.02,
  "intermediate_size": 2048, "layer_norm_eps": 1e-05, "max_position_embeddings": 2048, "model_type": "gpt_neox", "num_attention_heads": 8,
  "num_hidden_layers": 6, "rotary_emb_base": 10000, "rotary_pct": 0.25, "tie_word_embeddings": F, "torch_dtype": "float16",
  "transformers_version": "4.24.0", "use_cache": T, "use_parallel_residual": T, "vocab_size": 50304}
add("pythia-70m", neox)
add("pythia-14m", ch(neox, attention_bias=T, attention_dropout=0.0, classifier_dropout=0.1, hidden_dropout=0.0, hidden_size=128, intermediate_size=512, num_attention_heads=4, rope_scaling=N))
add("gpt-neox-20b", ch(neox, attention_probs_dropout_prob=0, hidden_act="gelu_fast", hidden_dropout_prob=0, hidden_size=6144, intermediate_size=24576,
  num_attention_heads=64, num_hidden_layers=44, vocab_size=50432))
add("RedPajama-INCITE-Base-3B-v1", ch(neox, hidden_size=2560, intermediate_size=10240, num_attention_heads=32, num_hidden_layers=32, rotary_pct=1.0,
  use_parallel_residual=F, vocab_size=50432))
phi = {"_name_or_path": "microsoft/phi-2", "architectures": ["PhiForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 50256, "embd_pdrop": 0.0,
  "eos_token_id": 50256, "hidden_act": "gelu_new", "hidden_size": 2560, "initializer_range": 0.02, "intermediate_size": 10240, "layer_norm_eps": 1e-05,
  "max_position_embeddings": 2048, "model_type": "phi", "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32,
  "partial_rotary_factor": 0.4, "qk_layernorm": F, "resid_pdrop": 0.1, "rope_scaling": N, "rope_theta": 10000.0, "tie_word_embeddings": F,
  "torch_dtype": "float16", "transformers_version": "4.37.0", "use_cache": T, "vocab_size": 51200}
add("phi-2", phi)
add("phi-1_5", ch(phi, bos_token_id=N, eos_token_id=N, hidden_size=2048, intermediate_size=8192, num_hidden_layers=24, num_key_value_heads=N, partial_rotary_factor=0.5, resid_pdrop=0.0))
phi3 = {"_name_or_path": "Phi-3-mini-4k-instruct", "architectures": ["Phi3ForCausalLM"], "attention_bias": F, "attention_dropout": 0.0, "auto_map": {"AutoConfig":
  "configuration_phi3.Phi3Config"}, "bos_token_id": 1, "embd_pdrop": 0.0, "eos_token_id": 32000, "hidden_act": "silu", "hidden_size": 3072,
  "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 4096, "model_type": "phi3", "num_attention_heads": 32,
  "num_hidden_layers": 32, "num_key_value_heads": 32, "original_max_position_embeddings": 4096, "pad_token_id": 32000, "resid_pdrop": 0.0,
  "rms_norm_eps": 1e-05, "rope_scaling": N, "rope_theta": 10000.0, "sliding_window": 2047, "tie_word_embeddings": F, "torch_dtype": "bfloat16",
  "transformers_version": "4.40.2", "use_cache": T, "vocab_size": 32064}
add("Phi-3-mini-4k-instruct", phi3)
add("Phi-3-medium-4k-instruct", ch(phi3, hidden_size=5120, intermediate_size=17920, num_attention_heads=40, num_hidden_layers=40, num_key_value_heads=10))
longrope = {"long_factor": [1.1, 1.2], "short_factor": [1.0, 1.0], "type": "longrope"}
add("Phi-3-mini-128k-instruct", ch(phi3, max_position_embeddings=131072, rope_scaling=longrope, sliding_window=262144), "rotary_scaling is longrope")
add("Phi-4-mini-instruct", ch(phi3, full_attn_mod=1, interpolate_factor=1, lm_head_bias=F, max_position_embeddings=131072, mlp_bias=F, num_attention_heads=24,
  num_key_value_heads=8, partial_rotary_factor=0.75, rope_scaling=longrope, sliding_window=262144, tie_word_embeddings=T, vocab_size=200064),
  "rotary_scaling is longrope")
stablelm = {"architectures": ["StableLmForCausalLM"], "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 2560, "initializer_range": 0.02,
  "intermediate_size": 6912, "layer_norm_eps": 1e-05, "max_position_embeddings": 4096, "model_type": "stablelm", "num_attention_heads": 32,
  "num_hidden_layers": 32, "num_key_value_heads": 32, "partial_rotary_factor": 0.25, "rope_theta": 10000, "tie_word_embeddings": F,
  "torch_dtype": "bfloat16", "transformers_version": "4.38.0", "use_cache": T, "use_qkv_bias": F, "vocab_size": 50304}
add("stablelm-3b-4e1t", stablelm)
add("stablelm-2-1_6b", ch(stablelm, bos_token_id=100257, eos_token_id=100257, hidden_dropout=0.0, hidden_size=2048, intermediate_size=5632, num_hidden_layers=24, use_qkv_bias=T, vocab_size=100352))
add("stablelm-2-12b", ch(stablelm, bos_token_id=100257, eos_token_id=100257, hidden_size=5120, intermediate_size=13824, num_attention_heads=32, num_hidden_layers=40,
  num_key_value_heads=8, qk_layernorm=T, use_parallel_residual=T, vocab_size=100352), "qk_layernorm is true; false is expected")
neo = {"activation_function": "gelu_new", "architectures": ["GPTNeoForCausalLM"], "attention_dropout": 0, "attention_layers": ["global", "local"] * 6,
  "attention_types": [[["global", "local"], 6]], "bos_token_id": 50256, "embed_dropout": 0, "eos_token_id": 50256, "gradient_checkpointing": F,
  "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": N, "layer_norm_epsilon": 1e-05, "max_position_embeddings": 2048, "model_type": "gpt_neo",
  "num_heads": 12, "num_layers": 12, "resid_dropout": 0, "summary_activation": N, "summary_first_dropout": 0.1, "summary_proj_to_labels": T,
  "summary_type": "cls_index", "summary_use_proj": T, "transformers_version": "4.9.0.dev0", "use_cache": T, "vocab_size": 50257, "window_size": 256}
add("gpt-neo-125m", neo)
add("gpt-neo-1.3B", ch(neo, attention_layers=["global", "local"] * 12, attention_types=[[["global", "local"], 12]], hidden_size=2048, num_heads=16, num_layers=24,
  task_specific_params={"text-generation": {"do_sample": T, "max_length": 50, "temperature": 0.9}}, tokenizer_class="GPT2Tokenizer"))
add("TinyStories-33M", ch(neo, attention_layers=["global", "local"] * 2, attention_types=[[["global", "local"], 2]], classifier_dropout=0.1, num_heads=16, num_layers=4, torch_dtype="float32"))
add("TinyStories-8M", ch(neo, attention_layers=["global", "local"] * 4, attention_types=[[["global", "local"], 4]], hidden_size=256, num_heads=16, num_layers=8))
add("gpt-j-6b", {"activation_function": "gelu_new", "architectures": ["GPTJForCausalLM"], "attn_pdrop": 0.0, "bos_token_id": 50256, "embd_pdrop": 0.0,
  "eos_token_id": 50256, "gradient_checkpointing": F, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gptj", "n_embd": 4096, "n_head": 16,
  "n_inner": N, "n_layer": 28, "n_positions": 2048, "resid_pdrop": 0.0, "rotary": T, "rotary_dim": 64, "scale_attn_weights": T, "summary_activation": N,
  "summary_first_dropout": 0.1, "summary_proj_to_labels": T, "summary_type": "cls_index", "summary_use_proj": T, "task_specific_params": {"text-generation":
  {"do_sample": T, "max_length": 50, "temperature": 1.0}}, "tie_word_embeddings": F, "tokenizer_class": "GPT2Tokenizer", "transformers_version": "4.18.0.dev0",
  "use_cache": T, "vocab_size": 50400})

# OPT, BLOOM, Falcon
opt = {"_name_or_path": "opt-125m", "_remove_final_layer_norm": F, "activation_dropout": 0.0, "activation_function": "relu", "architectures": ["OPTForCausalLM"],
  "attention_dropout": 0.0, "bos_token_id": 2, "do_layer_norm_before": T, "dropout": 0.1, "eos_token_id": 2, "ffn_dim": 3072, "hidden_size": 768,
  "init_std": 0.02, "layerdrop": 0.0, "max_position_embeddings": 2048, "model_type": "opt", "num_attention_heads": 12, "num_hidden_layers": 12,
  "pad_token_id": 1, "prefix": "</s>", "torch_dtype": "float16", "transformers_version": "4.21.0.dev0", "use_cache": T, "vocab_size": 50272, "word_embed_proj_dim": 768}
add("opt-125m", opt)
add("opt-350m", ch(opt, do_layer_norm_before=F, ffn_dim=4096, hidden_size=1024, num_attention_heads=16, num_hidden_layers=24, word_embed_proj_dim=512))
add("bloom-560m", {"apply_residual_connection_post_layernorm": F, "architectures": ["BloomForCausalLM"], "attention_dropout": 0.0, "attention_softmax_in_fp32": T,
  "bias_dropout_fusion": T, "bos_token_id": 1, "eos_token_id": 2, "hidden_dropout": 0.0, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05,
  "masked_softmax_fusion": T, "model_type": "bloom", "n_embed": 1024, "n_inner": N, "n_layer": 24, "num_attention_heads": 16, "offset_alibi": 100,
  "pad_token_id": 3, "pretraining_tp": 1, "seq_length": 2048, "skip_bias_add": T, "skip_bias_add_qkv": F, "slow_but_exact": F, "transformers_version": "4.20.0",
  "unk_token_id": 0, "use_cache": T, "vocab_size": 250880})
add("falcon-7b", {"alibi": F, "architectures": ["FalconForCausalLM"], "model_type": "falcon", "hidden_size": 4544, "multi_query": T}, "no family is called falcon")

# encoders and encoder-decoders
bert = {"architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1, "gradient_checkpointing": F, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
  "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert",
  "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0, "position_embedding_type": "absolute", "transformers_version": "4.6.0.dev0",
  "type_vocab_size": 2, "use_cache": T, "vocab_size": 30522}
add("bert-base-uncased", bert)
add("bert-large-uncased", ch(bert, hidden_size=1024, intermediate_size=4096, num_attention_heads=16, num_hidden_layers=24))
add("bert-base-chinese", ch(bert, "gradient_checkpointing", "position_embedding_type", "transformers_version", "use_cache", directionality="bidi", pooler_fc_size=768,
  pooler_num_attention_heads=12, pooler_num_fc_layers=3, pooler_size_per_head=128, pooler_type="first_token_transform", vocab_size=21128))
add("all-MiniLM-L6-v2", ch(bert, _name_or_path="nreimers/MiniLM-L6-H384-uncased", architectures=["BertModel"], hidden_size=384, intermediate_size=1536, num_hidden_layers=6))
add("google/bert_uncased_L-2_H-128_A-2", ch(bert, "architectures", "model_type"), "config.json has no model_type")
add("distilbert-base-uncased", {"activation": "gelu", "architectures": ["DistilBertForMaskedLM"], "attention_dropout": 0.1, "dim": 768, "dropout": 0.1,
  "hidden_dim": 3072, "initializer_range": 0.02, "max_position_embeddings": 512, "model_type": "distilbert", "n_heads": 12, "n_layers": 6, "pad_token_id": 0,
  "qa_dropout": 0.1, "seq_classif_dropout": 0.2, "sinusoidal_pos_embds": F, "tie_weights_": T, "transformers_version": "4.10.0.dev0", "vocab_size": 30522})

# RoBERTa, ELECTRA
roberta = ch(bert, "gradient_checkpointing", "position_embedding_type", "use_cache", "transformers_version", architectures=["RobertaForMaskedLM"],
  bos_token_id=0, eos_token_id=2, layer_norm_eps=1e-05, max_position_embeddings=514, model_type="roberta", pad_token_id=1, type_vocab_size=1, vocab_size=50265)
add("roberta-base", roberta)
three = {"id2label": {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, "label2id": {"LABEL_0": 0, "LABEL_1": 1, "LABEL_2": 2}}
add("distilroberta-base", ch(roberta, num_hidden_layers=6))
add("twitter-roberta-base-sentiment", ch(roberta, architectures=["RobertaForSequenceClassification"], gradient_checkpointing=F, **three))
add("roberta-base-squad2", ch(roberta, architectures=["RobertaForQuestionAnswering"], gradient_checkpointing=F, language="english", name="Roberta",
  position_embedding_type="absolute", transformers_version="4.4.0.dev0", use_cache=T))
xlmr = ch(roberta, architectures=["XLMRobertaForMaskedLM"], model_type="xlm-roberta", output_past=T, position_embedding_type="absolute",
  transformers_version="4.17.0.dev0", use_cache=T, vocab_size=250002)
add("xlm-roberta-base", xlmr)
add("bge-reranker-base", ch(xlmr, architectures=["XLMRobertaForSequenceClassification"], id2label={"0": "LABEL_0"}, label2id={"LABEL_0": 0},
  torch_dtype="float32", transformers_version="4.33.3"))
add("camembert-base", ch(roberta, architectures=["CamembertForMaskedLM"], bos_token_id=5, eos_token_id=6, model_type="camembert", output_past=T, vocab_size=32005))
electra = ch(bert, "gradient_checkpointing", "position_embedding_type", "use_cache", "transformers_version", architectures=["ElectraForPreTraining"], embedding_size=768,
  model_type="electra", pad_token_id=0, summary_activation="gelu", summary_last_dropout=0.1, summary_type="first", summary_use_proj=T)
add("electra-base-discriminator", electra)
add("electra-small-discriminator", ch(electra, embedding_size=128, hidden_size=256, intermediate_size=1024, num_attention_heads=4))
add("electra-large-generator", ch(electra, architectures=["ElectraForMaskedLM"], embedding_size=1024, hidden_size=256, intermediate_size=1024, num_attention_heads=4,
  num_hidden_layers=24))
mpnet = ch(roberta, "type_vocab_size", architectures=["MPNetForMaskedLM"], model_type="mpnet", relative_attention_num_buckets=32, vocab_size=30527)
add("mpnet-base", mpnet)
add("all-mpnet-base-v2", ch(mpnet, _name_or_path="microsoft/mpnet-base", transformers_version="4.8.2"))
modern = {"architectures": ["ModernBertForMaskedLM"], "attention_bias": F, "attention_dropout": 0.0, "bos_token_id": 50281, "classifier_activation": "gelu",
  "classifier_bias": F, "classifier_dropout": 0.0, "classifier_pooling": "mean", "cls_token_id": 50281, "decoder_bias": T, "deterministic_flash_attn": F,
  "embedding_dropout": 0.0, "eos_token_id": 50282, "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "gradient_checkpointing": F,
  "hidden_activation": "gelu", "hidden_size": 768, "initializer_cutoff_factor": 2.0, "initializer_range": 0.02, "intermediate_size": 1152, "layer_norm_eps": 1e-05,
  "local_attention": 128, "local_rope_theta": 10000.0, "max_position_embeddings": 8192, "mlp_bias": F, "mlp_dropout": 0.0, "model_type": "modernbert",
  "norm_bias": F, "norm_eps": 1e-05, "num_attention_heads": 12, "num_hidden_layers": 22, "pad_token_id": 50283, "position_embedding_type": "absolute",
  "sep_token_id": 50282, "tie_word_embeddings": T, "torch_dtype": "float32", "transformers_version": "4.47.0.dev0", "vocab_size": 50368}
add("ModernBERT-base", modern)
add("ModernBERT-large", ch(modern, hidden_size=1024, intermediate_size=2624, num_attention_heads=16, num_hidden_layers=28))
add("gte-reranker-modernbert-base", ch(modern, architectures=["ModernBertForSequenceClassification"], id2label={"0": "LABEL_0"}, label2id={"LABEL_0": 0},
  reference_compile=T, repad_logits_with_grad=F, sparse_pred_ignore_index=-100, sparse_prediction=F), "architectures is *ForSequenceClassification")

# BART, mBART, M2M-100
bart = {"_num_labels": 3, "activation_dropout": 0.1, "activation_function": "gelu", "add_bias_logits": F, "add_final_layer_norm": F, "architectures": ["BartModel"],
  "attention_dropout": 0.1, "bos_token_id": 0, "classif_dropout": 0.1, "classifier_dropout": 0.0, "d_model": 768, "decoder_attention_heads": 12,
  "decoder_ffn_dim": 3072, "decoder_layerdrop": 0.0, "decoder_layers": 6, "decoder_start_token_id": 2, "dropout": 0.1, "early_stopping": T,
  "encoder_attention_heads": 12, "encoder_ffn_dim": 3072, "encoder_layerdrop": 0.0, "encoder_layers": 6, "eos_token_id": 2, "forced_bos_token_id": 0,
  "forced_eos_token_id": 2, "gradient_checkpointing": F, "init_std": 0.02, "is_encoder_decoder": T, "max_position_embeddings": 1024, "model_type": "bart",
  "no_repeat_ngram_size": 3, "normalize_before": F, "normalize_embedding": T, "num_beams": 4, "num_hidden_layers": 6, "pad_token_id": 1, "scale_embedding": F,
  "task_specific_params": {"summarization": {"length_penalty": 1.0, "max_length": 128, "min_length": 12, "num_beams": 4}}, "torch_dtype": "float32",
  "transformers_version": "4.12.0.dev0", "use_cache": T, "vocab_size": 50265, **three}
large = dict(d_model=1024, decoder_attention_heads=16, decoder_ffn_dim=4096, decoder_layers=12, encoder_attention_heads=16, encoder_ffn_dim=4096, encoder_layers=12,
  num_hidden_layers=12)
add("bart-base", bart)
add("bart-large-cnn", ch(bart, "classifier_dropout", **large, architectures=["BartForConditionalGeneration"], force_bos_token_to_be_generated=T, length_penalty=2.0,
  max_length=142, min_length=56, output_past=T, prefix=" ", vocab_size=50264))
add("distilbart-cnn-12-6", ch(bart, "classifier_dropout", **dict(large, decoder_layers=6), architectures=["BartForConditionalGeneration"], extra_pos_embeddings=2,
  length_penalty=2.0, max_length=142, min_length=56, output_past=T, prefix=" ", static_position_embeddings=F, vocab_size=50264))
add("mbart-large-50-many-to-many-mmt", ch(bart, "forced_bos_token_id", "no_repeat_ngram_size", "task_specific_params", "torch_dtype", **large, activation_function="relu",
  add_final_layer_norm=T, architectures=["MBartForConditionalGeneration"], max_length=200, model_type="mbart", normalize_before=T, num_beams=5, output_past=T,
  scale_embedding=T, static_position_embeddings=F, tokenizer_class="MBart50Tokenizer", vocab_size=250054))
m2m = ch(bart, "_num_labels", "add_bias_logits", "add_final_layer_norm", "classif_dropout", "classifier_dropout", "forced_bos_token_id", "forced_eos_token_id", "id2label",
  "label2id", "no_repeat_ngram_size", "normalize_before", "normalize_embedding", "task_specific_params", "torch_dtype", **large, activation_dropout=0.0,
  activation_function="relu", architectures=["M2M100ForConditionalGeneration"], decoder_layerdrop=0.05, encoder_layerdrop=0.05, max_length=200, model_type="m2m_100",
  num_beams=5, scale_embedding=T, transformers_version="4.4.0.dev0", vocab_size=128112)
add("m2m100_418M", m2m)
add("nllb-200-distilled-600M", ch(m2m, "early_stopping", "gradient_checkpointing", "num_beams", decoder_layerdrop=0, encoder_layerdrop=0, tokenizer_class="NllbTokenizer",
  torch_dtype="float32", transformers_version="4.21.0.dev0", vocab_size=256206))
t5 = {"architectures": ["T5ForConditionalGeneration"], "d_ff": 2048, "d_kv": 64, "d_model": 512, "decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1,
  "initializer_factor": 1.0, "is_encoder_decoder": T, "layer_norm_epsilon": 1e-06, "model_type": "t5", "n_positions": 512, "num_heads": 8, "num_layers": 6,
  "output_past": T, "pad_token_id": 0, "relative_attention_num_buckets": 32, "task_specific_params": {"summarization": {"early_stopping": T,
  "length_penalty": 2.0, "max_length": 200, "prefix": "summarize: "}}, "vocab_size": 32128}
add("t5-small", t5)
add("flan-t5-small", ch(t5, "task_specific_params", d_ff=1024, feed_forward_proj="gated-gelu", is_gated_act=T, num_decoder_layers=8, num_heads=6, num_layers=8,
  relative_attention_max_distance=128, tie_word_embeddings=F, dense_act_fn="gelu_new", torch_dtype="float32", transformers_version="4.23.1", use_cache=T))
add("mt5-small", ch(t5, "task_specific_params", architectures=["MT5ForConditionalGeneration"], d_ff=1024, feed_forward_proj="gated-gelu", model_type="mt5",
  num_decoder_layers=8, num_heads=6, num_layers=8, tie_word_embeddings=F, tokenizer_class="T5Tokenizer", transformers_version="4.10.0.dev0", use_cache=T,
  vocab_size=250112))
add("opus-mt-en-de", {"_num_labels": 3, "activation_dropout": 0.0, "activation_function": "swish", "add_bias_logits": F, "add_final_layer_norm": F,
  "architectures": ["MarianMTModel"], "attention_dropout": 0.0, "bad_words_ids": [[58100]], "bos_token_id": 0, "classif_dropout": 0.0, "d_model": 512,
  "decoder_attention_heads": 8, "decoder_ffn_dim": 2048, "decoder_layerdrop": 0.0, "decoder_layers": 6, "decoder_start_token_id": 58100, "dropout": 0.1,
  "encoder_attention_heads": 8, "encoder_ffn_dim": 2048, "encoder_layerdrop": 0.0, "encoder_layers": 6, "eos_token_id": 0, "id2label": {"0": "LABEL_0",
  "1": "LABEL_1", "2": "LABEL_2"}, "init_std": 0.02, "is_encoder_decoder": T, "label2id": {"LABEL_0": 0, "LABEL_1": 1, "LABEL_2": 2}, "max_length": 512,
  "max_position_embeddings": 512, "model_type": "marian", "normalize_before": F, "normalize_embedding": F, "num_beams": 6, "num_hidden_layers": 6,
  "pad_token_id": 58100, "scale_embedding": T, "static_position_embeddings": T, "vocab_size": 58101})
with open("golden/configs.txt", "w", newline="\n") as f:
    for name, refused, config in rows:
        f.write(f"{name}\t{shape(config) if refused == '-' else refused}\t{json.dumps(config, separators=(',', ':'), sort_keys=True)}\n")
