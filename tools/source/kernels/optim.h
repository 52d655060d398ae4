#ifndef TFN__OPTIM_H
#define TFN__OPTIM_H
#include "../ground/ground.h"

/* Schedules, the constants of an update, the moments that each optimizer keeps, and moments of
 * fewer bits. Builds on math and packing. */

/* The columns of TFN__OPTIMIZER_LIST that tell which tensors an optimizer sees as matrices. */
enum { TFN__MATRICES_FLAT, TFN__MATRICES_HIDDEN, TFN__MATRICES_ALL };
enum { TFN__MOMENT_BLOCK = 32 };        /* FP8 numbers that share an exponent */
typedef struct tfn__state_rule {
    uint8_t moments[2], matrices;
} tfn__state_rule;

SHARED tfn__state_rule tfn__state_rule_of(tfn_optimizer kind);
SHARED int64_t tfn__moment_floats(const tfn__state_rule *rule, int which, int64_t rows,
                                  int64_t cols, bool matrix, float beta1);

/* Moments of fewer bits. Conversions use only integer shifts and sums, roots, and exact squares, so
 * every machine gets the same bits. In FP8 each block of 32 numbers shares E, the exponent of its
 * largest number. A code has a sign (only in the first moment), 4 bits e, and a fraction f of 3
 * bits (first moment) or 4 bits (second). It means
 *
 *     (1 + f) 2^(E + e - 14), e > 0        f 2^(E - 13), e = 0
 *
 * So the largest number has e = 14, or 15 if it is rounded up. A tensor's codes come first, padded
 * with 0 to whole blocks, then one byte per block, E + 127. */
enum { TFN__MOMENT_PIECE = 256 };       /* numbers at once, a multiple of TFN__MOMENT_BLOCK */

/* One moment of one tensor. */
typedef struct tfn__moment {
    tfn_moment_type type;
    int   which;                        /* 0: the first moment; 1: the second, never below 0 */
    void *data;
    ptrdiff_t count;                    /* numbers in the tensor */
} tfn__moment;
SHARED void tfn__moment_read(float *y, const tfn__moment *m, ptrdiff_t at, ptrdiff_t n);
SHARED void tfn__moment_write(float *x, const tfn__moment *m, ptrdiff_t at, ptrdiff_t n,
                              tfn_key key, uint64_t first);
#endif /* TFN__OPTIM_H */
