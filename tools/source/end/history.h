/* 0.3.0 (2026-11-27)  Published models, weights of fewer bits, boards, and a command with stable
 *     exit codes and messages. No function of 0.2 has changed its arguments.
 *     Changes that a program of 0.2 may notice:
 *       0.2                         0.3
 *       structs set by position     have new members: tfn_batch, tfn_param_info, tfn_generator,
 *                                   tfn_attention_args, tfn_attention_cached_args, tfn_file,
 *                                   tfn_tokenizer_source, tfn_import, tfn_memory. tfn_model_desc
 *                                   also has another order, with a heading for each group. Set
 *                                   members by name, and recompile every file
 *       TFN_KEY_MOST                gone: windows are options (desc.window)
 *       the loss of no targets: 0   NaN in a report, and report.tokens is 0
 *       tfn_random_shuffle up to    another order: some places were preferred. Batches of small
 *       64 numbers                  sets of sentences have it, too
 *       "lsuv" with half precision  divides matrices by the deviations of their outputs, as in
 *       leaves matrices as drawn    single precision
 *       padding holds leftovers     is 0 on a tape that trains (tfn_run.skip_padding)
 *       the norm of a row whose     is right, or NaN if a float cannot hold it
 *       squares overflow is 0
 *       every kernel table in an    plain C and FMA128 only where nothing wider is, unless
 *       x86 build                   TFNORM_ALL_ISA is defined; tfn_kernels_for then gives NULL
 *       a save follows a link at    temporary files are created exclusively; only a regular file is
 *       its temporary name          replaced, and it keeps its mode and owner
 *       examples/language_model.c   examples have new numbers, by task: 04_language_model.c ...
 *     Models of the hub: tfn_import_new knows BART, BERT, BLOOM, CamemBERT, DistilBERT, ELECTRA,
 *     Gemma 1 to 3, GPT-2, GPT-J, GPT-Neo, GPT-NeoX, Granite, Llama, M2M-100 (NLLB), Marian, mBART,
 *     Mistral, ModernBERT, MPNet, mT5, OLMo 1 and 2, OPT, Phi 1 to 3, Qwen 2 and 3, RoBERTa, SmolLM
 *     3, StableLM, T5, XLM-RoBERTa; tfn_export_write writes such a folder; tfn_pickle_open reads
 *     pytorch_model.bin, tfn_gguf_open a .gguf file and tfn_gguf_tokenizer its tokenizer,
 *     tfn_export_gguf writes one, and tfn_import_text reads the rest of config.json. LoRA goes on
 *     top of an import, and tfn_peft_read and tfn_peft_write exchange it with PEFT.
 *     Tokenizers: WordPiece, Unigram, BPE of characters, SentencePiece's own files, normalizers and
 *     pre-tokenizers of tokenizer.json in any order; tfn_tokenizer_json_text writes it.
 *     Options: positions alibi, relative and learned-relative, windows by layer, of encoders too
 *     (window_from, window_period, window_shift, window_base), layers without rotation
 *     (rotary_period), embedding_factor, branch_factor, logit_divisor, qkv_clip, embedding_size,
 *     map_last, scale_output, attention biases of the output, pooler, heads of positions and of
 *     numbers (TFN_HEAD_POSITIONS, TFN_HEAD_NUMBERS, number_loss), frames through one linear map
 *     (frame_map). Rows: the topology modernbert, the norm layernorm-gain.
 *     Fewer bits: weights (desc.weights, tfn_model_quantize, tfn_quant_pack), moments
 *     (moment_type), caches (cache_type); LoRA on top of packed weights.
 *     Boards: only_decoders, tfn_memory.kept, checkpoints in flash (tfn_flash_save), and macros
 *     that keep only what a program needs (TFNORM_PLAIN, TFNORM_NORMS, TFNORM_NO_MESSAGES ...).
 *     tfn: fits its lines to the terminal, reads pipes, saves on SIGTERM and SIGHUP, takes prompts,
 *     shows what was learned, and has a manual page and completions (tfn help --man).
 *     More: tfn_model_lens, tfn_generator.stops, tfn_generate_desc.ends, TFNORM_VERSION_MAJOR,
 *     _MINOR and _PATCH, tfn_version_agrees; tools/API.md; make install; pip install ./tools.
 *     Faster: prompts of many tokens, whose queries attend to a cache together. Faster, with the
 *     same bits: initial weights (tfn_kernels.random_values), updates with Muon, and updates with
 *     packed moments (update_packed).
 *     TFN_BITS_VERSION and the hashes are those of 0.2. Checkpoints of 0.2 load.
 * 0.2.0 (2026-11-23)  Names are the field's words, and every enumerator carries its type. Old names
 *     are on the left. -ise and -iser became -ize and -izer everywhere (tfn_tokeniser:
 *     tfn_tokenizer, TFNORM_NO_TOKENISERS: TFNORM_NO_TOKENIZERS, tfn --tokeniser: --tokenizer).
 *     calls of a tape             are nouns of the field, or verbs
 *       tfn_activate                tfn_activation         tfn_attend      tfn_attention
 *       tfn_conv                    tfn_convolution        tfn_embed       tfn_embedding
 *       tfn_first                   tfn_first_rows         tfn_gated       tfn_glu
 *       tfn_normalise               tfn_norm               tfn_squashed    tfn_squash
 *     arguments of kernels        end in _args
 *       tfn_attention               tfn_attention_args     tfn_columns     tfn_columns_args
 *       tfn_attention_cached        tfn_attention_cached_args
 *       tfn_matmul                  tfn_matmul_args        tfn_norm        tfn_norm_args
 *       tfn_point                   tfn_point_args         tfn_seed        tfn_seed_args
 *       tfn_update                  tfn_update_args
 *     types
 *       tfn_activation              tfn_activation_kind    tfn_squash      tfn_squash_kind
 *     enumerators
 *       TFN_RELU, TFN_GELU ...      TFN_ACTIVATION_RELU ...
 *       TFN_DECODER, TFN_ENCODER ...                       TFN_ARCH_DECODER ...
 *       TFN_XAVIER_NORMAL ...       TFN_DISTRIBUTION_XAVIER_NORMAL ...
 *       TFN_F32, TFN_U8 ...         TFN_DTYPE_F32 ...
 *       TFN_NORM_GAIN ... (flags)   TFN_FLAG_GAIN ...
 *       TFN_NO_HEAD_SCALE           TFN_HEAD_SCALE_NONE    TFN_HEAD_SCALE  TFN_HEAD_SCALE_BEFORE
 *       TFN_SGD, TFN_ADAM ...       TFN_OPTIMIZER_SGD ...
 *       TFN_LEARNED, TFN_ROTARY ... TFN_POSITION_LEARNED ...
 *       TFN_NO_POSITION             TFN_POSITION_NONE
 *       TFN_QK_HEAD ...             TFN_QK_NORM_HEAD ...
 *       TFN_QKV_HEAD                TFN_QK_NORM_QKV_HEAD
 *       TFN_CONSTANT, TFN_LINEAR ...                       TFN_SCHEDULE_CONSTANT ...
 *       TFN_FROM_STREAM ...         TFN_SOURCE_STREAM ...
 *       TFN_PAD, TFN_BOS ...        TFN_SPECIAL_PAD ...
 *       TFN_SELF_ATTENTION ...      TFN_SUBLAYER_SELF_ATTENTION ...
 *       TFN_BPE, TFN_BYTES ...      TFN_TOKENIZER_BPE ...
 *       TFN_FINAL_NORM, TFN_MACARON ... (flags)            TFN_TOPOLOGY_FINAL_NORM ...
 *     A status (TFN_OK, TFN_BAD_SHAPE ...) keeps its name, because every call returns one.
 *     New: options that are enumerations have rows with a name, a formula and a paper
 *     (tfn_choice_at, tfn_choice_find, tfn_choice_name); an error of a file has its whole path
 *     (tfn_error.path) and the system's reason; TFNORM_DEBUG; the section `reference`;
 *     options by name and the layout of structs, for other languages (tfn_desc_set, tfn_desc_get,
 *     tfn_desc_name, tfn_layout); norms and initializations by pointer, as topologies are
 *     (norm_rule, decoder_norm_rule, init_rule).
 *     Also new: the step in parts (tfn_model_gradient, tfn_model_gradients, tfn_model_rate,
 *     tfn_model_update), custom losses (desc.loss, tfn_mask_targets) and the constants of an update
 *     (tfn_update_at); Lion, Muon, Adafactor, schedule-free AdamW, clipping by value. A row of
 *     TFN__OPTIMIZER_LIST tells which moments the optimizer keeps.
 *     Also new: groups of parameters, selected by name (desc.groups), with their own rate or decay,
 *     frozen, or with LoRA, which tfn_model_save_adapter saves and tfn_model_fold merges.
 *     Also new: squared ReLU, GEGLU with GELU's tanh form; averages of the weights (desc.ema,
 *     tfn_model_swap_ema); muP (desc.mup_base_width); tfn train keeps the best, too (OUT.best).
 *     Also new: a probe sees evaluations, logits, profiles and decoders, not only training; hidden
 *     states, attention weights and pooled vectors (section `reading`).
 *     Also new: heads of any size (desc.head_size), as in Gemma, Qwen 3 and T5, and more features
 *     of published models: rotary positions in a part of each head, with rates for longer texts
 *     (rotary_size, rotary_scaling); biases only for queries, keys and values, or only for the
 *     output (attention_bias, output_bias); other scales of scores (score_scale, scale_by_layer);
 *     BERT's head for masked words (head_transform) and DistilBERT's for classes (pooler); windows
 *     of the self-attention by layer, with caches of the window's length (window, window_from,
 *     window_period, window_base); positions that are added to scores, ALiBi's and T5's (position
 *     alibi, relative); an output that reads x/sqrt(C) (scale_output); embeddings of another size
 *     than the stream (embedding_size).
 *     Also new: checkpoints of the hub by family (tfn_import_new, section `import`), and models
 *     without initial values, which load in no time (desc.blank).
 *     Also new: tokenizer.json of byte-level BPE (tfn_tokenizer_source.json), and texts that may
 *     contain special tokens (tfn_tokenizer_encode_specials).
 *     Fixed: every defect that an audit of 0.1 found. TFN_BITS_VERSION is 2, with the hash
 *     890a8ae3717f254d (0.1: 790f3b045bf7bd7e), because
 *     - functions that decay to 0 are exactly 0 below 2^-60, and an optimizer's moments below
 *       2^-100, since denormals made training up to 3 times slower on some processors;
 *     - scalar gradients, the reported loss, profiles and PowerNorm's nu omit padding;
 *     - schedules count updates from 1: the warm-up ends at lr, and the last update still moves;
 *     - nGPT takes the absolute value of its rates, and some initializations follow their papers;
 *     - the self-check uses a learned scalar, a rate and a clipping that exercise all of this.
 *     TFN_BITS_HASH_NO_FMA is new: processors without a fused multiply-add agree with each other,
 *     too. Checkpoints of 0.1 load; their runs continue with the new rules, and so with other bits.
 *     New checkpoints have format 2, in which enumerations are names, not numbers.
 * 0.1.0 (2026-11-21)  The foundation: kernels, tape, model; Pre-LN, Post-LN and custom rows.
 */
