/* The library under test and what tests use of its private functions. The Makefile links the parts of
 * tools/source, compiled once per configuration (library.mk), with TEST_LINKED; by hand,
 * `cc -O2 tests/model/test_x.c -lm`, a test compiles the whole header for itself.
 * TEST_EXACT before this header: the one with TFNORM_EXACT. TFN__DOUBLE: the one in double. */
#ifndef LIB_H
#define LIB_H

#include "hook.h"
#include <stdbool.h>
#include <stddef.h>

typedef enum lib_table { LIB_MODEL, LIB_GENERATOR, LIB_TOKENIZER, LIB_TABLES } lib_table;
typedef struct lib_limit {
    const char *name;
    size_t at, size;                    /* in the struct of options */
    bool   real, below, or_zero;        /* below: most is too much; or_zero: 0 is legal too */
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

/* Bind a batch to m->run, as the calls that take one do, for runs of its tapes; m->run.step stays.
 * */
bool lib_bind(tfn_model *m, const tfn_batch *batch);

/* What attention `nth` of the tape that infers reads and gives, of this batch: places in the
 * workspace, until the next call. */
bool lib_attention(tfn_model *m, const tfn_batch *batch, int32_t nth, tfn_attention_args *p);

/* Token i of a text as 13a splits it, not terminated, or NULL after the last. */
const char *lib_word_13a(const char *text, int32_t i, int32_t *length, void *work, size_t size);

/* The options that are numbers, with their ranges: row i of a table, false past the last. */
bool lib_limit_at(lib_table table, int i, lib_limit *limit);

/* The name of option i in a checkpoint, without "tfn."; NULL past the last. */
const char *lib_field_at(int i);
/* Where truth i of a checkpoint's options stands in tfn_model_desc; false past the last. */
bool lib_truth_at(int i, size_t *at);

#endif
