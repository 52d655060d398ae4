#ifndef TFN__MERGING_H
#define TFN__MERGING_H
#include "../ground/ground.h"
#include "vocabulary.h"

SHARED void tfn__set_merge(tfn_tokenizer *k, size_t i, int32_t left, int32_t right, int32_t id);

/* SHORT_WORD: most bytes of a word that is merged on the stack; nearly all words are shorter. */
enum { TFN__SHORT_WORD = 256, TFN__NO_RANK = INT32_MAX };
SHARED ptrdiff_t tfn__merge_all(const tfn_tokenizer *k, int32_t *symbol, ptrdiff_t n);

/* With the passes above, a piece of n bytes would take n times as many steps as it has merges. Here
 * each merge takes a few steps: a tree of minima over the bytes finds the next one. A leaf is the
 * rank of the pair whose left symbol begins at that byte. Each node is the lower of the two below
 * it, so the root is the lowest of all, and following it down finds the first pair with that rank.
 * BPE of characters merges all its pieces this way, because a text without cuts between words may
 * be a single piece. For "abab" with the ranks ab 3, ba 7 the leaves are 3 7 3 and none, the nodes
 * above them 3 and 3, the root 3:
 *
 *     byte       0     1     2     3               0     1     2     3
 *     symbol     a     b     a     b      then     ab          a     b
 *     leaf       3     7     3     -               -     -     3     -
 *
 * So bytes 0 and 1 are merged first. A pair "ab a" would have a rank if it made a token.
 *
 * id[i] and length[i] belong to the symbol that begins at byte i; id is -1 if it is not a token. At
 * the symbol's last byte, if that is another byte, length is minus the distance to its first. */
typedef struct tfn__merger {
    const tfn_tokenizer *k;
    const uint8_t *s;
    int32_t  n, leaves;
    int32_t *id, *length, *tree;
} tfn__merger;

/* SHORT_PIECE: most bytes of a piece that is encoded on the stack. WORK: numbers per byte, for two
 * arrays and a tree of up to four times their length. */
enum { TFN__SHORT_PIECE = 128, TFN__WORK = 6 };
SHARED void tfn__merger_begin(tfn__merger *m, const tfn_tokenizer *k, int32_t *work,
                              const uint8_t *s, int32_t n);
SHARED ptrdiff_t tfn__merge_long(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t n,
                                 ptrdiff_t room);
SHARED void tfn__merger_run(tfn__merger *m);

/* Unigram (Kudo 2018) chooses, of all ways to cut a piece into tokens, the one with the highest sum
 * of scores, which are logarithms of probabilities. Viterbi's algorithm goes through the piece
 * once. For each byte it keeps the best way up to there: the token that ends there, where that
 * token begins, and the sum. A character that is not a token is unknown, with ten less than the
 * lowest score. With a -3, b -4, c -5, ab -5, bc -8 the best way through "abc" is ab c:
 *
 *     up to      a: -3 (a)    ab: -5 (ab), for a b has -7    abc: -10 (ab c), for a bc has -11
 *
 * Between two ways with the same sum, the one whose last token begins first is kept. The time is
 * proportional to the bytes times the length of the longest token that begins at each. */
typedef struct tfn__lattice {
    const tfn_tokenizer *k;
    int32_t *id, *begin, *sum;                  /* n + 1 of each; sum: a double in two numbers */
} tfn__lattice;
SHARED double tfn__lattice_run(tfn__lattice *x, const tfn_tokenizer *k, int32_t *work,
                               const uint8_t *s, int32_t n, double from, int32_t except);
SHARED int32_t tfn__lattice_turn(tfn__lattice *x, int32_t n);
SHARED int32_t tfn__byte_token(const uint8_t *s, size_t n);
SHARED void tfn__index_characters(tfn_tokenizer *k);

/* The score of pieces that users define, until SentencePiece's, which grows with the length. */
#define TFN__USER_SCORE 1e29
SHARED void tfn__index_unigrams(tfn_tokenizer *k);
SHARED ptrdiff_t tfn__symbols(const tfn_tokenizer *k, int32_t *symbol, const uint8_t *s, size_t n,
                              bool space, bool last);
SHARED bool tfn__index_merges(tfn_tokenizer *k);
SHARED void tfn__add_token(tfn__vocab *v, tfn_tokenizer *k, const uint8_t *s, size_t n,
                           uint8_t flags);
SHARED void tfn__trained_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, const tfn_trainer *t);
enum { TFN__FORMS = 4 };                /* forms of a blob */
extern SHARED const uint8_t tfn__magic[TFN__FORMS][8];
enum { TFN__SUM_BYTES = 4 };
enum { TFN__PREFIX_SPACE = 1, TFN__WHOLE_PIECES = 2, TFN__NORMALIZED = 4, TFN__FALLBACK = 8,
       TFN__FUSE = 16, TFN__SCORED = 32, TFN__SINGLE = 64, TFN__SET_APART = 128 };
SHARED void tfn__frame_id(tfn__vocab *v, tfn_tokenizer *k, int32_t id, bool end);
SHARED bool tfn__is_map(const uint8_t *map, size_t bytes);
SHARED void tfn__blob_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, const void *blob,
                           size_t size);
#endif /* TFN__MERGING_H */
