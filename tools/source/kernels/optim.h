#ifndef TFN__OPTIM_H
#define TFN__OPTIM_H
#include "../ground/ground.h"

/* Schedules, the constants of an update, and the moments that each optimizer keeps. Builds on
 * losses and math. */

/* The columns of TFN__OPTIMIZER_LIST that tell which tensors an optimizer sees as matrices. */
enum { TFN__MATRICES_FLAT, TFN__MATRICES_HIDDEN, TFN__MATRICES_ALL };
typedef struct tfn__state_rule {
    uint8_t moments[2], matrices;
} tfn__state_rule;

SHARED tfn__state_rule tfn__state_rule_of(tfn_optimizer kind);
SHARED int64_t tfn__moment_floats(const tfn__state_rule *rule, int which, int64_t rows,
                                  int64_t cols, bool matrix, float beta1);
#endif /* TFN__OPTIM_H */
