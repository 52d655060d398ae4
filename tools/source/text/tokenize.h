#ifndef TFN__TOKENIZE_H
#define TFN__TOKENIZE_H
#include "../ground/ground.h"
#include "../ground/basics.h"

SHARED bool tfn__usable(const tfn_tokenizer *k);
SHARED void tfn__put_byte(tfn__text *t, size_t byte);
#endif /* TFN__TOKENIZE_H */
