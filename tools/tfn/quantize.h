/* Weights of fewer bits: the numbers that packed weights represent, and tfn quantize, which packs
 * or unpacks the matrices of a model and reports what that changed. */
#ifndef QUANTIZE_H
#define QUANTIZE_H

#include "../../tfnorm.h"
#include "../common/cli.h"
#include "options.h"
#include <stddef.h>
#include <stdint.h>

/* -- parameters -------------------------------------------------------------------------------- */

const char *weights_name(tfn_weights type);

size_t param_bytes(const tfn_param_info *p);

/* The numbers of parameter i, (rows, cols). The caller frees them. */
float *param_floats(const tfn_model *m, int32_t i);

/* Stores numbers in parameter i, rounded to its type. */
void param_store(const tfn_model *m, int32_t i, const float *from);

/* -- quantize ---------------------------------------------------------------------------------- */

int quantize(settings *s, cli *c);
#endif
