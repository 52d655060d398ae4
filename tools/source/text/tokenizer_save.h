#ifndef TFN__TOKENIZER_SAVE_H
#define TFN__TOKENIZER_SAVE_H
#include "../ground/ground.h"
#include "../ground/basics.h"

SHARED void tfn__put_split(tfn__text *t, tfn_split split, bool prefix_space);
SHARED size_t tfn__next_halves(const tfn_tokenizer *k, int32_t id, size_t at, int32_t *halves);
SHARED void tfn__put_content(tfn__text *t, const tfn_tokenizer *k, int32_t id);
#endif /* TFN__TOKENIZER_SAVE_H */
