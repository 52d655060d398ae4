#ifndef TFN__OP_ATTENTION_H
#define TFN__OP_ATTENTION_H
#include "../ground/ground.h"
#include "tape.h"

/* Operations of embeddings, positions, attention, and the key/value caches of decoding. Builds on
 * tape and the kernels of attention. */

SHARED void tfn__embed_op(const tfn__call *c);
SHARED ptrdiff_t tfn__by_positions(const tfn__call *c);
SHARED void tfn__position_op(const tfn__call *c);
SHARED void tfn__rotary_op(const tfn__call *c);
SHARED void tfn__first_forward(const tfn__call *c);
SHARED void tfn__last_forward(const tfn__call *c);
SHARED void tfn__embed_backward_op(const tfn__call *c);
SHARED void tfn__position_backward_op(const tfn__call *c);
SHARED ptrdiff_t tfn__position_backward_chunks(const tfn__call *c);
SHARED void tfn__rotary_backward(const tfn__call *c);
SHARED void tfn__first_backward(const tfn__call *c);
SHARED void tfn__last_backward(const tfn__call *c);
SHARED void tfn__relative_forward(const tfn__call *c);
SHARED void tfn__relative_backward(const tfn__call *c);
SHARED tfn_attention_args tfn__attention_of(const tfn__call *c);
SHARED ptrdiff_t tfn__by_heads(const tfn__call *c);
SHARED void tfn__attend_forward(const tfn__call *c);
SHARED void tfn__attend_backward(const tfn__call *c);

/* Caches are in the state, which outlives a run. Keys are transposed, so that positions are the
 * lanes of the products. Three operations name a cache: TFN__OP_CACHE appends the rows of this run,
 * TFN__OP_ENCODED stores the keys and values of the encoder's output, and TFN__OP_MEMORY, a leaf of
 * the decoder's tape, tells where the encoder's tape has stored them. in: k, v */
enum { TFN__CACHE_ALIGN = 64 };         /* offsets in the state are multiples of 64 floats */
SHARED void tfn__cache_op(const tfn__call *c);
SHARED void tfn__encoded_op(const tfn__call *c);
SHARED void tfn__cached_of(tfn_attention_cached_args *p, const tfn__call *c, const tfn_node *cache);
SHARED ptrdiff_t tfn__by_cached(const tfn__call *c);
SHARED void tfn__cached_op(const tfn__call *c);
#endif /* TFN__OP_ATTENTION_H */
