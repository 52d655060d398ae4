#ifndef TFN__DECODER_H
#define TFN__DECODER_H
#include "../ground/ground.h"

/* Decoders: inference one token after another, with caches of keys and values. Records one or two
 * tapes with the functions of joins and stacks. Offers generate the reordering of beams and access
 * to the caches. Builds on step. */

SHARED void tfn__take_model_error(tfn_error *e, const char *op, const tfn_model *m);
SHARED size_t tfn__lay_decoder(tfn_decoder *d, const tfn_model *m, int32_t batch, int32_t chunk,
                               void *mem, size_t size, bool real);
SHARED unsigned char *tfn__cache_part(const tfn_decoder *d, const tfn_node *n, int part,
                                      size_t *bytes);
SHARED bool tfn__is_memory(const tfn_node *n);
SHARED void tfn__reorder(tfn_decoder *d, const int32_t *beam);
SHARED bool tfn__begin_next(tfn_decoder *d, const int32_t *tokens, int32_t time,
                            const int32_t *beam);
SHARED void tfn__bind_next(tfn_decoder *d, const int32_t *tokens, int32_t time);
#endif /* TFN__DECODER_H */
