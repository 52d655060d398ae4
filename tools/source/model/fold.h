#ifndef TFN__FOLD_H
#define TFN__FOLD_H
#include "../ground/ground.h"

SHARED void tfn__fold_skips(tfn_model *m);
#endif /* TFN__FOLD_H */
