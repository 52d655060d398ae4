/* Programs of others that decode with weights of few bits, for bench.c: ggml's example gpt-2-alloc,
 * and runq of llama2.c. They run as they were built, on models of random numbers that this part
 * writes in their formats, and their printed times are read. Both use the wall clock, so their
 * times are multiplied by the share of the processor that the process had. */
#ifndef DECODERS_H
#define DECODERS_H

#include <stdbool.h>

/* Layers and widths of GPT-2; both programs need a word for each token. */
typedef struct decoders_model { int layers, width, heads, ffn, vocab; } decoders_model;

enum { DECODERS_CONTEXT = 1024, DECODERS_NOISE = 1 << 16 };

/* -- ggml ------------------------------------------------------------------------------------- */

/* Writes a model of floats in the format of ggml's convert-h5-to-ggml.py. Token 1 is the word "
 * a". */
bool decoders_write_ggml(const char *path, const decoders_model *m);

/* -- llama2.c --------------------------------------------------------------------------------- */

/* Writes version 2 of llama2.c's export.py. The feed-forward has three matrices where GPT-2
 * has two, so they are two thirds as wide and have as many bytes. Token 1 ends a text. */
bool decoders_write_runq(const char *path, const decoders_model *m);
bool decoders_write_words(const char *path, const decoders_model *m);

/* -- their times ------------------------------------------------------------------------------ */

/* Converts a model of floats to ggml's type "q8_0" or "q4_0". */
bool decoders_quantize(const char *folder, const char *from, const char *to, const char *type);

/* Seconds per token, the mean over `tokens` from the first on. */
double decoders_ggml_token(const char *folder, const char *model, int tokens);
/* Seconds for `tokens` at once. Asks for one more word, which is not evaluated. */
double decoders_ggml_prefill(const char *folder, const char *model, int tokens);
double decoders_runq_token(const char *program, const char *model, const char *words, int tokens);
#endif
