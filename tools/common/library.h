/* Parts of the library that its header does not offer but the tools need: arithmetic with the same
 * bits on every machine, and arrays of NumPy. The functions call private ones, so library.c
 * compiles them together with the implementation. Every program links it once. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include "../../tfnorm.h"

double library_log(double x);
double library_sin(double x);
double library_cos(double x);
double library_pow(double x, double y);

/* True if the model has adapters of low rank (LoRA). */
bool library_has_lora(const tfn_model_desc *desc);
/* True if the model gives one row of logits per sentence, not one per token. */
bool library_by_sentences(const tfn_model_desc *desc);
/* Numbers in a row of logits. */
int32_t library_logit_cols(const tfn_model_desc *desc);

/* Write t->data with its dtype, rank and shape as .npy, version 1.0, in C order; the dtype is F32,
 * F64 or I32. */
tfn_status library_npy_write(tfn_file *f, const tfn_tensor *t);
/* Read a .npy and fill *t. `to` is NULL, or has room for `room` values of dtype `as`, which is I32
 * only if the file's is. */
tfn_status library_npy_read(tfn_file *f, tfn_tensor *t, void *to, tfn_dtype as, int64_t room);
#endif
