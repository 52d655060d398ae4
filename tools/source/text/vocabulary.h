#ifndef TFN__VOCABULARY_H
#define TFN__VOCABULARY_H
#include "../ground/ground.h"
#include "json.h"

enum {
    TFN__RAW        = 1,    /* no piece is encoded as this token; its text shows no bytes */
    TFN__ADDED      = 2,    /* text is cut at it; at a special one only on request */
    TFN__SPECIAL    = 4,    /* gives no text */
    TFN__STRIP_LEFT = 8,    /* takes the white space in front of it, too (if ADDED) */
    TFN__STRIP_RIGHT = 16,  /* takes the white space after it, too (if ADDED) */
    TFN__LATE       = 32,   /* text is cut at it only after all tokens that are not late */
    TFN__MARKS      = 62,   /* the five above; stored in a blob of marked tokens */
    TFN__ENTIRE     = 64,   /* merging the bytes of this token gives it */
    TFN__SEEN       = 128,  /* vocab.json: the id was read before; only while it is read */
    TFN__SINGLE_WORD = 128  /* afterwards: no letter may be next to it (if ADDED) */
};

/* The decoder that a file names. */
enum { TFN__DECODES_NOTHING, TFN__DECODES_BYTES, TFN__DECODES_WORDS, TFN__DECODES_MARKS,
       TFN__DECODES_SUFFIX };

/* Most bytes of a late added token after the normalizer. */
enum { TFN__SHADOW_BYTES = 128 };

enum { TFN__SHORT_TEXT = 512 };                 /* bytes that are normalized on the stack */

/* The content of a source, as far as a pass has come. Readers are those of tokenizer.json, each at
 * the value of a member; `tokens` is also used for vocab.json. */
typedef struct tfn__vocab {
    tfn_tokenizer_kind kind;
    tfn_split split;
    int32_t normalizer, decoder, most_chars;        /* as in tfn_tokenizer */
    bool   marked, prefix_space, whole, fallback, fuse, scored, single;
    char   inside[sizeof ((tfn_tokenizer *)0)->inside];
    bool   cut, shown;                              /* tokenizer.json: these parts were read */
    int    decodes;
    bool   plain;                                   /* tokens do not show bytes */
    bool   numbered;                                /* unknown_id is valid, even if 0 */
    int32_t begin, end;                             /* vocab.txt: [CLS], [SEP] */
    int     form;                                   /* form of a blob */
    int32_t unknown_id;                             /* id of unknown text + 1; 0: none */
    size_t  map_bytes;
    const uint8_t *map;                             /* the table; NULL: charsmap, if any */
    bool   apart;                                   /* pieces and ids come from two files */
    size_t spare, hidden;                           /* room for tokens without id; how many */
    size_t entries, listed;                         /* entries; the highest id + 1 */
    size_t shadows;                                 /* added tokens that a normalizer may change */
    bool   single_words;                            /* some added token is a SINGLE_WORD */
    char   suffix[sizeof ((tfn_tokenizer *)0)->suffix];
    bool   stepped;                                 /* the rules are compiled */
    tfn__reader rules[3];                           /* normalizer, pre_tokenizer, decoder */
    tfn__reader said_suffix;                        /* suffix of BPEDecoder */
    int32_t code_words;
    size_t count, merges, bytes, longest;           /* longest: size of the buffer for merges */
    size_t added, begins, ends;
    tfn__reader first, last;                        /* BertProcessing: ["[CLS]", 101] */
    tfn__reader tokens, added_list, merge_list, single_text, template_ids, unknown,
                charsmap;
} tfn__vocab;

SHARED void tfn__check_reader(tfn_error *e, const tfn__reader *r, const char *text);
SHARED void tfn__end_vocab(tfn_error *e, tfn__reader *r, const char *text);
SHARED size_t tfn__token_bytes(const tfn_tokenizer *k, int32_t id);
SHARED int32_t tfn__token_id(const tfn_tokenizer *k, const uint8_t *s, size_t n);
SHARED bool tfn__index_tokens(tfn_tokenizer *k);

/* A search among ids sorted by the bytes of their tokens, the shorter first. Tokens with a common
 * beginning are neighbours, so a search is a range that narrows with each byte of a text. */
typedef struct tfn__search {
    const int32_t *ids;
    int32_t low, high;                          /* tokens of ids[low] to ids[high - 1] are longer */
    size_t  at;                                 /* than `at` bytes, and equal to the text so far */
} tfn__search;
SHARED tfn__search tfn__search_in(const int32_t *ids, int32_t low, int32_t high, size_t at);
SHARED bool tfn__search_on(const tfn_tokenizer *k, tfn__search *x, uint8_t byte, int32_t *id);
SHARED void tfn__index_order(tfn_tokenizer *k);
SHARED int32_t tfn__added_at(const tfn_tokenizer *k, const uint8_t *s, size_t n, int late);
SHARED bool tfn__keeps_some(const tfn_tokenizer *k);
SHARED size_t tfn__normalize(const tfn_tokenizer *k, uint8_t *to, size_t room, bool *same,
                             const uint8_t *s, size_t n, bool first);
SHARED bool tfn__token_before(const void *x, int32_t i, int32_t j);
SHARED size_t tfn__map_text(const tfn_tokenizer *k, uint8_t *to, size_t room, const uint8_t *s,
                            size_t n);
SHARED size_t tfn__longest_replacement(const tfn_tokenizer *k);
#endif /* TFN__VOCABULARY_H */
