/* Programs of others that decode with weights of few bits, for bench.c: the example gpt-2-alloc of
 * ggml, and runq of llama2.c. They are run as they were built, on models of random numbers that are
 * written here in their own files, and what they print of their time is read. Both read the clock
 * on the wall; so their times are taken times the part of the processor that the process had. */
#ifndef DECODERS_H
#define DECODERS_H

#include <stdbool.h>

/* Layers and widths of GPT-2; both programs want a word for each token. */
typedef struct decoders_model { int layers, width, heads, ffn, vocab; } decoders_model;

enum { DECODERS_CONTEXT = 1024, DECODERS_NOISE = 1 << 16 };

/* -- ggml ------------------------------------------------------------------------------------- */

/* A model in floats as ggml's convert-h5-to-ggml.py describes it. Token 1 is the word " a". */
bool decoders_write_ggml(const char *path, const decoders_model *m);

/* -- llama2.c --------------------------------------------------------------------------------- */

/* Its layers have three matrices behind attention where GPT-2's have two: so they are two thirds as
 * wide, and as many bytes. Version 2 of llama2.c's export.py. Token 1 ends a text. */
bool decoders_write_runq(const char *path, const decoders_model *m);
bool decoders_write_words(const char *path, const decoders_model *m);

/* -- their times ------------------------------------------------------------------------------ */

/* A model in floats, in ggml's type "q8_0" or "q4_0". */
bool decoders_quantize(const char *folder, const char *from, const char *to, const char *type);

/* Seconds of a token, the mean over so many from the first on. */
double decoders_ggml_token(const char *folder, const char *model, int tokens);
/* Seconds of so many at once: a word more is asked for, which is not fed any more. */
double decoders_ggml_prefill(const char *folder, const char *model, int tokens);
double decoders_runq_token(const char *program, const char *model, const char *words, int tokens);
#endif
