#ifndef TFN__CHECKPOINTS_H
#define TFN__CHECKPOINTS_H
#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../kernels/packing.h"
#include "fields.h"

/* Checkpoints: saves and loads models with the state of their training, changes the type of
 * saved weights, and averages several checkpoints. Offers the packing of tiles to export. Builds
 * on safetensors, fields and model. */

/* "training.state": numbers as F64, which hold counts up to 2^53. */
enum {
    TFN__SAVED_STEP, TFN__SAVED_MICRO, TFN__SAVED_TOKENS, TFN__SAVED_FINITE_STEPS,
    TFN__SAVED_PROFILED,                /* 1: profiled; 2: the update under way profiled it */
    TFN__SAVED_LOSS_SCALE, TFN__SAVED_LOSS_SUM, TFN__SAVED_NLL_SUM,
    TFN__SAVED_ALWAYS,
    TFN__SAVED_RATE_SQUARES = TFN__SAVED_ALWAYS,    /* schedule-free AdamW; saved unless 0 */
    TFN__SAVED_COUNT
};

SHARED void tfn__put_unknown(tfn__text *t, const tfn__field *x, const char *value);

/* The rows and columns of a parameter that one read covers. */
typedef struct tfn__tile { int32_t row, col, rows, cols; } tfn__tile;

#if TFN__PACKS
/* Packed parameters are read and packed tile by tile, 8 KB on the stack, so that no matrix of
 * floats is ever in memory. A block is 32 inputs of one output, and a tile has whole blocks. Every
 * piece of a line of the file costs one read. So a tile is as long as possible in the direction in
 * which the file stores numbers side by side:
 *
 *     (in, out), as in GPT-2       32 inputs of 64 outputs, in 32 reads; with fewer outputs, more
 *                                  inputs
 *     (out, in), and tables        up to 2,048 inputs of one output, in one read; with fewer
 *                                  inputs, more outputs
 *
 * GPT-2's matrices take a million reads this way, most of them from a page in the system's
 * cache. */
enum { TFN__TILE = 64 * TFN__QBLOCK };          /* floats */
#endif
SHARED tfn__tile tfn__packed_tile(const tfn__packed *p, bool turned, int32_t row, int32_t col);
SHARED void tfn__pack_tile(void *w, const tfn__packed *p, const tfn__tile *t, const float *from);
SHARED tfn_model tfn__model_after(const tfn_model *m, const double *state);
#endif /* TFN__CHECKPOINTS_H */
