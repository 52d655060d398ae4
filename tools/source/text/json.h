#ifndef TFN__JSON_H
#define TFN__JSON_H
#include "../ground/ground.h"
#include "../ground/basics.h"

SHARED size_t tfn__utf8(const uint8_t *s, size_t n, int32_t *c);
SHARED bool tfn__is_utf8(const uint8_t *s, size_t n);
SHARED size_t tfn__put_utf8(uint8_t *s, int32_t c);
SHARED void tfn__put_code(tfn__text *t, int32_t c);

typedef struct tfn__reader {
    const uint8_t *s;
    size_t size, at;
    const char *wanted;       /* the expected item; NULL: no error so far */
} tfn__reader;
SHARED tfn__reader tfn__read_from(const void *s, size_t size);
SHARED int32_t tfn__want(tfn__reader *r, const char *what);
SHARED int32_t tfn__peek(const tfn__reader *r);
SHARED bool tfn__accept(tfn__reader *r, int32_t c);
SHARED void tfn__json_space(tfn__reader *r);
SHARED bool tfn__json_mark(tfn__reader *r, char mark);
SHARED void tfn__json_want(tfn__reader *r, char mark, const char *what);
SHARED bool tfn__json_open(tfn__reader *r, char open, char close);
SHARED bool tfn__json_more(tfn__reader *r, char close);
SHARED int32_t tfn__json_char(tfn__reader *r);
SHARED size_t tfn__json_string(tfn__reader *r, char *to, size_t size);
SHARED int32_t tfn__json_compare(tfn__reader a, tfn__reader b);
SHARED int tfn__json_key(tfn__reader *r, const char *names);
SHARED void tfn__put_json(tfn__text *t, int32_t c);
SHARED int64_t tfn__json_count(tfn__reader *r, int64_t most);
SHARED int64_t tfn__json_whole(tfn__reader *r, int64_t most);
SHARED int64_t tfn__json_exponent(tfn__reader *r);
SHARED double tfn__json_number(tfn__reader *r);
SHARED void tfn__json_skip(tfn__reader *r, int depth);

enum { TFN__JSON_DEPTH = 16 };
SHARED void tfn__json_members(tfn__reader *r, tfn__reader *value, const char *names);
SHARED bool tfn__json_says(tfn__reader value, const char *string);
SHARED bool tfn__json_empty(tfn__reader value);
#endif /* TFN__JSON_H */
