#ifndef TFN__TOKENIZER_JSON_H
#define TFN__TOKENIZER_JSON_H
#include "../ground/ground.h"
#include "vocabulary.h"
#include "compiling.h"

SHARED void tfn__merge_list_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, uint8_t *buffer);

/* SentencePiece's rules, expressed for the library in the files that we write. BROKEN replaces
 * U+FFFD by itself. In the library, whose texts are always UTF-8, this changes nothing; here it
 * says that invalid bytes become U+FFFD. ENDS removes spaces at both ends, and marks at the end;
 * Strip would remove any white space. */
#define TFN__REPLACED_BROKEN "\xef\xbf\xbd"
#define TFN__REPLACED_ENDS   "(?<![\\\\s\\\\S]) +|[ \xe2\x96\x81]+(?![\\\\s\\\\S])"
extern SHARED const char tfn__base64_digits[];
SHARED bool tfn__are_piece_steps(int32_t steps, tfn_split split);
SHARED void tfn__compile_rules(tfn_error *e, tfn__vocab *v, int32_t *to);
SHARED void tfn__check_rules(tfn_error *e, const tfn__vocab *v);
SHARED void tfn__json_source(tfn_error *e, tfn__vocab *v, const tfn_tokenizer_source *s);
SHARED void tfn__store_map(tfn_tokenizer *k, const tfn__vocab *v);
SHARED void tfn__find_unknown(tfn_tokenizer *k, const tfn__vocab *v);
SHARED void tfn__frame_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k);
#endif /* TFN__TOKENIZER_JSON_H */
