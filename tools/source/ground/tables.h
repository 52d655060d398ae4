#ifndef TFN__TABLES_H
#define TFN__TABLES_H
#include "ground.h"

/* Tables of positions: sinusoidal, ALiBi, rotary, and the buckets of T5. They depend only on
 * shapes, and are computed once, when a model is made. Builds on math. */

SHARED void tfn__sinusoid_table(float *table, ptrdiff_t time, ptrdiff_t cols, bool fairseq);
SHARED void tfn__alibi_table(float *table, ptrdiff_t time, ptrdiff_t heads);
SHARED int32_t tfn__bucket(int32_t distance, int32_t n, int32_t most, bool both);
SHARED double tfn__rotary_rate(const tfn_model_desc *d, ptrdiff_t j, ptrdiff_t head_size);
SHARED void tfn__rotary_table(float *table, ptrdiff_t time, ptrdiff_t head_size,
                              const tfn_model_desc *d);
#endif /* TFN__TABLES_H */
