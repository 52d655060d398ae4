#ifndef TFN__BUILDS_H
#define TFN__BUILDS_H
#include "../parts.h"

/* The features that this build contains. Each macro TFNORM_X of the program becomes a constant
 * here, 0 or 1, and all other parts ask only these constants. Builds on no other part.
 *
 * Use them in `#if` around declarations that need a type or a header that the build lacks, in
 * parts.txt for whole parts, and everywhere else in a plain `if`: the compiler then drops the
 * branch, and the functions that only it calls. A linker cannot drop rows of tables, the strings
 * that they point to, or branches that depend on an option: hence TFN__KEPT and TFN__FULL.
 *
 * A program can ask for an omitted feature in three ways. An option: tfn_model_resolve refuses it.
 * An operation on a tape: tfn__record refuses a row without a forward, and the function that
 * records the operation refuses an argument whose kernel is missing. The table of kernels: the
 * member is NULL. Each error names the macro, because it may have been set long ago.
 * tests/compile/small.c tries each feature in a build with the macro and in one without. */

/* -- one constant a macro -------------------------------------------------------------------- */

#ifdef TFNORM_ONLY_KERNELS
#define TFN__MODELS 0
#else
#define TFN__MODELS 1         /* tapes and models; without them there are only kernels */
#endif
#ifdef TFNORM_NO_TRAINING
#define TFN__TRAINS 0
#else
#define TFN__TRAINS 1         /* gradients, optimizers, random weights */
#endif
#if defined TFNORM_NO_TRAINING || defined TFNORM_PLAIN
#define TFN__DETAILS 0
#else
#define TFN__DETAILS 1        /* error messages with suggestions and numbers */
#endif
/* Norms other than LayerNorm and RMSNorm, topologies other than Pre-LN and Post-LN, and options
 * that need the operations of these. */
#if !TFN__DETAILS && !defined TFNORM_ALL_NORMS
#define TFN__ALL 0
#else
#define TFN__ALL 1
#endif
#ifdef TFNORM_ONLY_DECODERS
#define TFN__SENTENCES 0
#else
#define TFN__SENTENCES 1      /* tapes that process whole sentences */
#endif
#ifdef TFNORM_NO_DECODERS
#define TFN__DECODES 0
#else
#define TFN__DECODES 1        /* key/value caches */
#endif
#if defined TFNORM_NO_TRAINING || defined TFNORM_NO_DROPOUT
#define TFN__DROPS 0
#else
#define TFN__DROPS 1          /* dropout */
#endif
#ifdef TFNORM_NO_GROUPS
#define TFN__GROUPS 0
#else
#define TFN__GROUPS 1         /* groups of parameters: desc.groups */
#endif
#ifdef TFNORM_NO_SCALES
#define TFN__SCALES 0
#else
#define TFN__SCALES 1         /* scales in joins */
#endif
#if defined TFNORM_NO_QUANT || defined TFN__DOUBLE
#define TFN__PACKS 0
#else
#define TFN__PACKS 1          /* weights, moments and caches of fewer bits */
#endif
#ifdef TFNORM_NO_MESSAGES
#define TFN__MESSAGES 0
#else
#define TFN__MESSAGES 1       /* errors have a text */
#endif
#ifdef TFNORM_NO_MALLOC
#define TFN__ALLOCATES 0
#else
#define TFN__ALLOCATES 1      /* malloc */
#endif
#if defined TFNORM_NO_METRICS || defined TFNORM_ONLY_KERNELS
#define TFN__METRICS 0
#else
#define TFN__METRICS 1        /* BLEU and other scores of texts */
#endif
#if defined TFNORM_NO_TOKENIZERS || defined TFNORM_ONLY_KERNELS
#define TFN__TOKENIZERS 0
#else
#define TFN__TOKENIZERS 1     /* from text to tokens and back */
#endif
#if defined TFNORM_NO_FILES || defined TFNORM_ONLY_KERNELS
#define TFN__FILES 0
#else
#define TFN__FILES 1          /* safetensors, checkpoints, options by name */
#endif
#if !TFN__FILES || defined TFNORM_NO_STDIO
#define TFN__PATHS 0
#else
#define TFN__PATHS 1          /* files by path, with <stdio.h> */
#endif
#if !TFN__PATHS || defined TFNORM_NO_IMPORT
#define TFN__IMPORTS 0
#else
#define TFN__IMPORTS 1        /* models of the hub, which are folders */
#endif
#if !TFN__IMPORTS || !TFN__ALLOCATES || defined TFNORM_NO_GGUF
#define TFN__GGUF 0
#else
#define TFN__GGUF 1           /* models of llama.cpp */
#endif
#if !TFN__IMPORTS || !TFN__ALLOCATES || defined TFNORM_NO_PICKLE
#define TFN__PICKLE 0
#else
#define TFN__PICKLE 1         /* pytorch_model.bin */
#endif
#if defined TFNORM_ONLY_DECODERS || defined TFNORM_PLAIN
#define TFN__USER_KERNELS 0
#else
#define TFN__USER_KERNELS 1   /* kernels that only users call, never a tape or a model */
#endif

/* JSON is the language of tokenizers and of files. */
#define TFN__JSON (TFN__TOKENIZERS || TFN__FILES)
/* True if some helpers may be unused. */
#define TFN__OMITS \
    !(TFN__DETAILS && TFN__PACKS && TFN__METRICS && TFN__TOKENIZERS && TFN__GGUF && TFN__PICKLE)

/* TFN__KEPT(condition, f) is f, or NULL if the condition is false, so that a table's row does not
 * keep f alive. TFN__FULL and TFN__ROW_TEXTS drop names and texts of rows from a plain build. */
#define TFN__KEPT(condition, function) ((condition) ? function : NULL)
#if TFN__ALL
#define TFN__FULL(name) name
#define TFN__ROW_TEXTS(formula, paper) formula, paper
#else
#define TFN__FULL(name) ""
#define TFN__ROW_TEXTS(formula, paper) NULL, NULL
#endif

/* -- sets of enumerators --------------------------------------------------------------------- */

/* Sets of the enumerators that this build keeps: all, unless the program defines a set.
 * TFN__KEEPS(POSITIONS, x) is a constant: true if the set TFNORM_POSITIONS has x. TFN__ROTATES:
 * rotary positions; without models, the caller decides. */
#ifndef TFNORM_ARCHS
#define TFNORM_ARCHS UINT32_MAX
#endif
#ifndef TFNORM_NORMS
#define TFNORM_NORMS UINT32_MAX
#endif
#ifndef TFNORM_POSITIONS
#define TFNORM_POSITIONS UINT32_MAX
#endif
#ifndef TFNORM_ACTIVATIONS
#define TFNORM_ACTIVATIONS UINT32_MAX
#endif
#ifndef TFNORM_OPTIMIZERS
#define TFNORM_OPTIMIZERS UINT32_MAX
#endif
#ifndef TFNORM_SCHEDULES
#define TFNORM_SCHEDULES UINT32_MAX
#endif
#define TFN__KEEPS(set, x) (((TFNORM_##set) >> (x) & 1u) != 0)
#if TFN__MODELS
#define TFN__ROTATES TFN__KEEPS(POSITIONS, TFN_POSITION_ROTARY)
#else
#define TFN__ROTATES 1
#endif

/* Conditions on several enumerators. TFN__GATES: gated units, which need a second linear map.
 * TFN__POSITION_TABLES: positions that read a table, computed in double when the model is made.
 * TFN__BY_TENSOR: optimizers that update one tensor at a time, and need kernels and scratch of
 * their own. */
#define TFN__PAIRS     TFN__KEEPS(ARCHS, TFN_ARCH_ENCODER_DECODER)
#define TFN__ENCODERS  (TFN__PAIRS || TFN__KEEPS(ARCHS, TFN_ARCH_ENCODER))
#define TFN__GATES (TFN__KEEPS(ACTIVATIONS, TFN_ACTIVATION_GEGLU)                                  \
                    || TFN__KEEPS(ACTIVATIONS, TFN_ACTIVATION_GEGLU_TANH)                          \
                    || TFN__KEEPS(ACTIVATIONS, TFN_ACTIVATION_SWIGLU))
/* The set of elementwise functions to keep: the activations, and those that the gated units use. */
#define TFN__OF_GATE(gate, which) (TFN__KEEPS(ACTIVATIONS, gate) ? TFN_SET(which) : 0)
#define TFN__FUNCTIONS ((TFNORM_ACTIVATIONS)                                                       \
                        | TFN__OF_GATE(TFN_ACTIVATION_GEGLU, TFN_ACTIVATION_GELU)                  \
                        | TFN__OF_GATE(TFN_ACTIVATION_GEGLU_TANH, TFN_ACTIVATION_GELU_TANH)        \
                        | TFN__OF_GATE(TFN_ACTIVATION_SWIGLU, TFN_ACTIVATION_SILU))
#define TFN__POSITION_TABLES (TFN__KEEPS(POSITIONS, TFN_POSITION_ROTARY)                           \
                              || TFN__KEEPS(POSITIONS, TFN_POSITION_ALIBI)                         \
                              || TFN__KEEPS(POSITIONS, TFN_POSITION_SINUSOIDAL)                    \
                              || TFN__KEEPS(POSITIONS, TFN_POSITION_SINUSOIDAL_FAIRSEQ))
#define TFN__BY_TENSOR (TFN__KEEPS(OPTIMIZERS, TFN_OPTIMIZER_MUON)                                 \
                        || TFN__KEEPS(OPTIMIZERS, TFN_OPTIMIZER_ADAFACTOR))
#endif /* TFN__BUILDS_H */
