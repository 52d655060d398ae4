#ifndef TFN__PUBLISHED_H
#define TFN__PUBLISHED_H
#include "../ground/ground.h"
#include "json.h"
#include "vocabulary.h"

SHARED void tfn__refuse(tfn_error *e, const char *text, tfn__reader value);
SHARED bool tfn__is_token(const tfn_tokenizer *k, int32_t id, tfn__reader r);
SHARED void tfn__vocab_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k);
SHARED void tfn__lines_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k,
                            const tfn_tokenizer_source *s);
SHARED void tfn__vocab_source(tfn_error *e, tfn__vocab *v, const tfn_tokenizer_source *s);
SHARED bool tfn__find_merge(tfn_tokenizer *k, size_t i, const uint8_t *s, size_t left, size_t n);
SHARED void tfn__fail_merge(tfn_error *e, size_t i);
SHARED void tfn__merges_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, uint8_t *buffer,
                             const tfn_tokenizer_source *s);
SHARED void tfn__model_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k,
                            const tfn_tokenizer_source *s);
#endif /* TFN__PUBLISHED_H */
