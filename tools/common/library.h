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

/* A round of chunks that the threads of a team share: an entry of a tape, the clearing of its
 * padding, or work outside a tape. */
typedef struct library_round {
    const char *name, *kind;            /* of the operation; "" is a forward */
    ptrdiff_t rows, cols, chunks;       /* of its value */
    double bytes;                       /* of all arrays that it reads or writes; 0: unknown */
    bool   shared;                      /* false: the caller runs all chunks, without a barrier */
} library_round;
/* While this is set, one thread does all chunks of every team, in order. It calls `region` as a
 * team starts, `round` before the chunks of a round, and `chunk` after each with its seconds. */
typedef struct library_watch {
    double (*clock)(void);
    void (*region)(void *user);
    void (*round)(void *user, const library_round *round);
    void (*chunk)(void *user, double seconds);
    void *user;
} library_watch;
/* NULL ends this. A page has no threads, and lacks this function. */
void library_watch_teams(const library_watch *watch);

/* Write t->data with its dtype, rank and shape as .npy, version 1.0, in C order; the dtype is F32,
 * F64 or I32. */
tfn_status library_npy_write(tfn_file *f, const tfn_tensor *t);
/* Read a .npy and fill *t. `to` is NULL, or has room for `room` values of dtype `as`, which is I32
 * only if the file's is. */
tfn_status library_npy_read(tfn_file *f, tfn_tensor *t, void *to, tfn_dtype as, int64_t room);
#endif
