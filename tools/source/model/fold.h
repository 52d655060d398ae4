#ifndef TFN__FOLD_H
#define TFN__FOLD_H
#include "../ground/ground.h"

/* Gives a model for inference the weights of a trained one, with scales and norms folded into them
 * (tfn_model_fold), or adds only LoRA to the matrices. Packs weights (tfn_model_quantize). Folds
 * Admin's scales after profiling. Builds on builder, joins and initial. */

SHARED void tfn__fold_skips(tfn_model *m);
#endif /* TFN__FOLD_H */
