#ifndef TFN__FOLD_H
#define TFN__FOLD_H
#include "../ground/ground.h"

/* Gives a model for inference the weights of a trained one with scales and norms folded into them
 * (tfn_model_fold), adds LoRA to matrices, and packs weights (tfn_model_quantize). Also folds
 * Admin's scales after profiling. Builds on builder and initial. */

SHARED void tfn__fold_skips(tfn_model *m);
#endif /* TFN__FOLD_H */
