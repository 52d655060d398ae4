/* The library under test and access to its private functions. The Makefile links the parts of
 * tools/source, compiled once per configuration (library.mk), with TEST_LINKED. By hand,
 * `cc -O2 tests/model/test_x.c -lm` compiles the whole header with the test. Before this header,
 * TEST_EXACT selects the library with TFNORM_EXACT, and TFN__DOUBLE the one in double. */
#ifndef LIB_H
#define LIB_H

#include "hook.h"
#include <stdbool.h>
#include <stddef.h>

typedef enum lib_table { LIB_MODEL, LIB_GENERATOR, LIB_TOKENIZER, LIB_TABLES } lib_table;
typedef struct lib_limit {
    const char *name;
    size_t at, size;                    /* place in the struct of options */
    bool   real, below, or_zero;        /* below: `most` is excluded; or_zero: 0 is also legal */
    double least, most;
} lib_limit;

#ifndef TEST_LINKED
#include "lib.c"
#else
#include <stdint.h>
#include <stdlib.h>
#ifdef TFN__DOUBLE
#define float double
#endif
#include "../tools/source/parts.h"
#include "reference.h"
#endif

const lib_reference *lib_reference_kernels(void);

void lib_sinusoid_table(float *table, ptrdiff_t time, ptrdiff_t cols, bool fairseq);
void lib_rotary_table(float *table, ptrdiff_t time, ptrdiff_t head_size, float theta);
float  lib_fma(float a, float b, float c);
double lib_exp(double x);
double lib_log(double x);
double lib_sin(double x);
double lib_cos(double x);
double lib_pow(double x, double y);

/* Binds a batch to m->run like the calls that take a batch, so that its tapes can be run.
 * m->run.step stays. */
bool lib_bind(tfn_model *m, const tfn_batch *batch);

/* 1 if a run of these sizes is worth several threads, 0 if not, -1 in a build without threads. */
int lib_team_pays(const tfn_tape *t, const tfn_run *r);
/* 1 (the default): every run of a model with threads is shared, as tests of small models need.
 * 0: the rule decides. */
extern int lib_always_teams;

/* Inputs and outputs of attention number `nth` of the inference tape, for this batch. They point
 * into the workspace and are valid until the next call. */
bool lib_attention(tfn_model *m, const tfn_batch *batch, int32_t nth, tfn_attention_args *p);

/* Token i of a text as 13a cuts it, without a final zero; NULL after the last. */
const char *lib_word_13a(const char *text, int32_t i, int32_t *length, void *work, size_t size);

/* The options that are numbers, with their ranges: row i of a table; false after the last. */
bool lib_limit_at(lib_table table, int i, lib_limit *limit);

/* The name of option i in a checkpoint, without "tfn."; NULL after the last. */
const char *lib_field_at(int i);
/* The place in tfn_model_desc of bool i of a checkpoint's options; false after the last. */
bool lib_truth_at(int i, size_t *at);

#endif
