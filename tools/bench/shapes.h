/* The models that benches use, by name or by value: tiny, small, medium, gpt2, encdec, or
 * L=4,d=96,h=3,ff=384,T=40,B=12,V=300. */
#ifndef SHAPES_H
#define SHAPES_H

#include "../../tfnorm.h"
#include <stdbool.h>

/* GPT blocks: Pre-LN, GELU (tanh), learned positions, biases, tied head, AdamW. encdec has ReLU,
 * and the same number of sentences and tokens on both sides. */
typedef struct shape { char name[64]; int layers, width, heads, ffn, time, batch, vocab; } shape;
enum { SHAPES = 5 };
extern const shape shapes[SHAPES];
bool is_pair(const shape *s);

/* Parses "tiny" or "L=4,d=96,h=3,ff=384,T=40,B=12,V=300"; a missing value is tiny's. */
bool parse_shape(shape *s, const char *text);

tfn_model_desc desc_of(const shape *s, bool inference, int threads);
void make_model(tfn_model *m, const tfn_model_desc *d, const char *name);

/* Operations in the matrix products of a step; attention is counted as if it had no mask. */
double step_operations(const shape *s);
#endif
