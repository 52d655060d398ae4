#ifndef TFN__OPTIM_H
#define TFN__OPTIM_H
#include "../ground/ground.h"

#if !defined TFNORM_NO_TRAINING && !defined TFNORM_ONLY_KERNELS
enum { TFN__MATRICES_FLAT, TFN__MATRICES_HIDDEN, TFN__MATRICES_ALL };
enum { TFN__MOMENT_BLOCK = 32 };        /* numbers of FP8 that share an exponent */
typedef struct tfn__state_rule {
    uint8_t moments[2], matrices;
} tfn__state_rule;
#endif

SHARED tfn__state_rule tfn__state_rule_of(tfn_optimizer kind);
SHARED int64_t tfn__moment_floats(const tfn__state_rule *rule, int which, int64_t rows,
                                  int64_t cols, bool matrix, float beta1);

#if defined TFN__QUANT && !defined TFNORM_NO_TRAINING && !defined TFNORM_ONLY_KERNELS

/* All of it is shifts and sums of integers, roots, and squares that need no rounding: nothing that
 * a machine could do otherwise. A block of FP8, E the exponent of its largest number: a code has a
 * sign where the moment has one, 4 bits e and a fraction f of 3 or 4 bits, and stands for
 *
 *     (1 + f) 2^(E + e - 14), e > 0        f 2^(E - 13), e = 0
 *
 * so the largest number has e = 14, and rounding it up may make 15. Codes of a tensor come first,
 * filled up to blocks with 0, then a byte for each block, E + 127. */
enum { TFN__MOMENT_PIECE = 256 };       /* numbers at once, a multiple of TFN__MOMENT_BLOCK */

/* A moment of a tensor: 0 the first, 1 the second, which is never below 0. */
typedef struct tfn__moment {
    tfn_moment_type type;
    int   which;
    void *data;
    ptrdiff_t count;                    /* numbers of the tensor */
} tfn__moment;
SHARED void tfn__moment_read(float *y, const tfn__moment *m, ptrdiff_t at, ptrdiff_t n);
SHARED void tfn__moment_write(float *x, const tfn__moment *m, ptrdiff_t at, ptrdiff_t n,
                              tfn_key key, uint64_t first);
#endif
#endif /* TFN__OPTIM_H */
