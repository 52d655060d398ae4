#ifndef TFN__VOCABULARY_H
#define TFN__VOCABULARY_H
#include "../ground/ground.h"
#include "json.h"

#if !defined TFNORM_NO_TOKENIZERS

enum {
    TFN__RAW        = 1,    /* no piece is encoded as this token: a special, as it is */
    TFN__ADDED      = 2,    /* text is cut at it, and it comes out; at a special only if wanted */
    TFN__SPECIAL    = 4,    /* gives no text */
    TFN__STRIP_LEFT = 8,    /* an added one takes the white space in front of it along, */
    TFN__STRIP_RIGHT = 16,  /* or behind it */
    TFN__LATE       = 32,   /* text is cut at it only when it is cut at all that are not late */
    TFN__MARKS      = 62,   /* the five above, which a blob of marked tokens has */
    TFN__ENTIRE     = 64,   /* merging the bytes of this token gives it */
    TFN__SEEN       = 128,  /* vocab.json: the id came, while its entries are read */
    TFN__SINGLE_WORD = 128  /* afterwards: no letter may stand beside an added one */
};

/* Which decoder a file names. */
enum { TFN__DECODES_NOTHING, TFN__DECODES_BYTES, TFN__DECODES_WORDS, TFN__DECODES_MARKS,
       TFN__DECODES_SUFFIX };

/* Bytes of a late added token behind the normalizer. */
enum { TFN__SHADOW_BYTES = 128 };

enum { TFN__SHORT_TEXT = 512 };                 /* bytes that are normalized on the stack */

/* What a source holds, up to where a pass has come. The readers are those of tokenizer.json, each
 * at the value of a member; that of the vocabulary is vocab.json's, too. */
typedef struct tfn__vocab {
    tfn_tokenizer_kind kind;
    tfn_split split;
    int32_t normalizer, decoder, most_chars;        /* as in tfn_tokenizer */
    bool   marked, prefix_space, whole, fallback, fuse, scored, single;
    char   inside[sizeof ((tfn_tokenizer *)0)->inside];
    bool   cut, shown;                              /* tokenizer.json: parts that came */
    int    decodes;
    bool   plain;                                   /* its tokens do not show bytes */
    bool   numbered;                                /* unknown_id is known, 0: none */
    int32_t begin, end;                             /* vocab.txt: [CLS], [SEP] */
    int     form;                                   /* of a blob */
    int32_t unknown_id;                             /* its + 1, or of Unigram; 0: none */
    size_t  map_bytes;
    const uint8_t *map;                             /* the table, or as JSON has it: */
    bool   apart;                                   /* pieces and ids come from two files */
    size_t spare, hidden;                           /* room for those without an id; how many */
    size_t entries, listed;                         /* of the vocabulary; its highest id + 1 */
    size_t shadows;                                 /* added tokens that a normalizer may change */
    bool   single_words;                            /* some added token is one */
    char   suffix[sizeof ((tfn_tokenizer *)0)->suffix];
    bool   stepped;                                 /* rules are compiled: normalizer, */
    tfn__reader rules[3];                           /* pre_tokenizer, decoder */
    tfn__reader said_suffix;                        /* BPEDecoder's */
    int32_t code_words;
    size_t count, merges, bytes, longest;           /* longest: a buffer for merges */
    size_t added, begins, ends;
    tfn__reader first, last;                        /* of BertProcessing: ["[CLS]", 101] */
    tfn__reader tokens, added_list, merge_list, single_text, template_ids, unknown,
                charsmap;
} tfn__vocab;

SHARED void tfn__check_reader(tfn_error *e, const tfn__reader *r, const char *text);
SHARED void tfn__end_vocab(tfn_error *e, tfn__reader *r, const char *text);
SHARED size_t tfn__token_bytes(const tfn_tokenizer *k, int32_t id);
SHARED int32_t tfn__token_id(const tfn_tokenizer *k, const uint8_t *s, size_t n);
SHARED bool tfn__index_tokens(tfn_tokenizer *k);

/* Ids sorted by the bytes of their tokens, so that those that begin alike are neighbours, the
 * shorter first: a search is a range of them that becomes narrower with each byte of a text. */
typedef struct tfn__search {
    const int32_t *ids;
    int32_t low, high;                          /* ids[low] to ids[high - 1] begin as the text */
    size_t  at;                                 /* does, so many bytes, and are longer */
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
#endif
#endif /* TFN__VOCABULARY_H */
