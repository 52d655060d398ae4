#ifndef TFN__MERGING_H
#define TFN__MERGING_H
#include "../ground/ground.h"
#include "vocabulary.h"

#if !defined TFNORM_NO_TOKENIZERS

SHARED void tfn__set_merge(tfn_tokenizer *k, size_t i, int32_t left, int32_t right, int32_t id);

/* SHORT_WORD: bytes of a word that is merged on the stack; nearly all of text is shorter. */
enum { TFN__SHORT_WORD = 256, TFN__NO_RANK = INT32_MAX };
SHARED ptrdiff_t tfn__merge_all(const tfn_tokenizer *k, int32_t *symbol, ptrdiff_t n);

/* In a piece of n bytes the passes above would take n times as many steps as it has merges. Here
 * each merge takes a few: a tree of minima over the bytes tells which is next. A leaf is the rank
 * of the pair whose left symbol begins at that byte, and each node the lower of the two below it:
 * the lowest of all is at the root, and the first with that rank is found by going down. BPE of
 * characters merges all its pieces so; a text without cuts between words may be one. Of "abab" with
 * the ranks ab 3, ba 7 the leaves are 3 7 3 and none, the nodes above them 3 and 3, the root 3:
 *
 *     byte       0     1     2     3               0     1     2     3
 *     symbol     a     b     a     b      then     ab          a     b
 *     leaf       3     7     3     -               -     -     3     -
 *
 * so that bytes 0 and 1 are merged first; a pair "ab a" would have a rank if it made a token.
 *
 * id[i] and length[i] are of the symbol that begins at byte i, -1 where it is no token; length of
 * its last byte, if that is another, is minus the way back to its first. */
typedef struct tfn__merger {
    const tfn_tokenizer *k;
    const uint8_t *s;
    int32_t  n, leaves;
    int32_t *id, *length, *tree;
} tfn__merger;

/* SHORT_PIECE: bytes of one that is encoded on the stack. WORK: numbers per byte, for two arrays
 * and a tree of up to four times their length. */
enum { TFN__SHORT_PIECE = 128, TFN__WORK = 6 };
SHARED void tfn__merger_begin(tfn__merger *m, const tfn_tokenizer *k, int32_t *work,
                              const uint8_t *s, int32_t n);
SHARED ptrdiff_t tfn__merge_long(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t n,
                                 ptrdiff_t room);
SHARED void tfn__merger_run(tfn__merger *m);

/* Unigram (Kudo 2018): of all ways to cut a piece into tokens the one whose scores, the logarithms
 * of their probabilities, have the highest sum. Viterbi's algorithm goes through the piece once and
 * knows for each byte the best way up to there: the token that ends there, where that begins, and
 * the sum. A character that is no token is unknown, at ten less than the lowest score. With a -3,
 * b -4, c -5, ab -5, bc -8 the best way through "abc" is ab c:
 *
 *     up to      a: -3 (a)    ab: -5 (ab), for a b has -7    abc: -10 (ab c), for a bc has -11
 *
 * Of two ways with the same sum the one whose last token begins first stays. What it takes is in
 * proportion to the bytes and to the longest token that begins at each. */
typedef struct tfn__lattice {
    const tfn_tokenizer *k;
    int32_t *id, *begin, *sum;                  /* n + 1 of each; sum: as two numbers of 32 bits */
} tfn__lattice;
SHARED double tfn__lattice_run(tfn__lattice *x, const tfn_tokenizer *k, int32_t *work,
                               const uint8_t *s, int32_t n, double from, int32_t except);
SHARED int32_t tfn__lattice_turn(tfn__lattice *x, int32_t n);
SHARED int32_t tfn__byte_token(const uint8_t *s, size_t n);
SHARED void tfn__index_characters(tfn_tokenizer *k);

/* What users define: SentencePiece lets its score grow with its length. */
#define TFN__USER_SCORE 1e29
SHARED void tfn__index_unigrams(tfn_tokenizer *k);
SHARED ptrdiff_t tfn__symbols(const tfn_tokenizer *k, int32_t *symbol, const uint8_t *s, size_t n,
                              bool space);
SHARED bool tfn__index_merges(tfn_tokenizer *k);
SHARED void tfn__add_token(tfn__vocab *v, tfn_tokenizer *k, const uint8_t *s, size_t n,
                           uint8_t flags);
SHARED void tfn__trained_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, const tfn_trainer *t);
enum { TFN__FORMS = 4 };                /* of a blob */
extern SHARED const uint8_t tfn__magic[TFN__FORMS][8];
enum { TFN__SUM_BYTES = 4 };
enum { TFN__PREFIX_SPACE = 1, TFN__WHOLE_PIECES = 2, TFN__NORMALIZED = 4, TFN__FALLBACK = 8,
       TFN__FUSE = 16, TFN__SCORED = 32, TFN__SINGLE = 64, TFN__SET_APART = 128 };
SHARED void tfn__frame_id(tfn__vocab *v, tfn_tokenizer *k, int32_t id, bool end);
SHARED bool tfn__is_map(const uint8_t *map, size_t bytes);
SHARED void tfn__blob_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, const void *blob,
                           size_t size);
#endif
#endif /* TFN__MERGING_H */
