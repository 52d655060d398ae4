#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../ground/math.h"
#include "../tape/op_loss.h"
#include "../model/update.h"

TFN__SMALL
/* Scores of texts: perplexity, accuracy, BLEU (Papineni et al. 2002) as sacrebleu computes it
 * (Post 2018), ROUGE (Lin 2004), word and character error rates (Levenshtein 1966). An object
 * holds sums over a corpus. Each addition cuts one hypothesis and its references into tokens,
 * counts, and adds to the sums; the score is computed from these. In order: perplexity, accuracy,
 * cutting texts into tokens, memory for that, counting n-grams, BLEU, ROUGE, error rates. Builds
 * on basics and math.
 *
 * Each metric has its own tokens. They are stored one after the other in a copy of the text, so
 * that only their beginnings are needed. n-grams are counted by sorting: tokens are ordered by the
 * four tokens that begin there, so that equal n-grams, n <= 4, are neighbours. */

/* -- perplexity ------------------------------------------------------------------------------ */

/* exp(nll / tokens): a uniform choice among this many tokens would be equally hard to guess. */
TFNORM_API double tfn_perplexity(double nll, int64_t tokens)
{
    if (tokens <= 0) return (double)NAN;
    return tfn__exp(nll / (double)tokens);
}

/* nll in nats is nll / ln 2 bits. */
TFNORM_API double tfn_bits_per_byte(double nll, int64_t bytes)
{
    const double ln_2 = 0.693147180559945309;
    if (bytes <= 0) return (double)NAN;
    return nll / (ln_2 * (double)bytes);
}

/* -- accuracy -------------------------------------------------------------------------------- */

/* Counts single tokens and whole rows. A row is right if all of its tokens are. A row without
 * targets counts nowhere. */
static void tfn__accuracy_row(tfn_accuracy *a, int64_t right, int64_t tokens)
{
    a->right += right;
    a->tokens += tokens;
    a->rows += tokens > 0;
    a->right_rows += tokens > 0 && right == tokens;
}

TFNORM_API void tfn_accuracy_add(tfn_accuracy *a, const int32_t *found, const int32_t *wanted,
                                 ptrdiff_t rows, ptrdiff_t cols)
{
    if (!a || !found || !wanted) return;
    for (; rows > 0; rows--, found += cols, wanted += cols) {
        int64_t right = 0;
        int64_t tokens = 0;
        for (ptrdiff_t c = 0; c < cols; c++) {
            tokens += wanted[c] >= 0;
            right += wanted[c] >= 0 && found[c] == wanted[c];
        }
        tfn__accuracy_row(a, right, tokens);
    }
}

TFNORM_API void tfn_accuracy_add_logits(tfn_accuracy *a, const float *logits,
                                        const int32_t *wanted, ptrdiff_t rows, ptrdiff_t cols,
                                        int32_t vocab)
{
    if (!a || !logits || !wanted) return;
    for (; rows > 0; rows--, wanted += cols) {
        int64_t right = 0;
        int64_t tokens = 0;
        for (ptrdiff_t c = 0; c < cols; c++, logits += vocab) {
            if (wanted[c] < 0) continue;
            tokens++;
            right += tfn__largest(logits, vocab) == wanted[c];
        }
        tfn__accuracy_row(a, right, tokens);
    }
}

/* -- tokens ---------------------------------------------------------------------------------- */

/* Token i is text[at[i]] to text[at[i + 1] - 1]. The text is cut in place: writing never overtakes
 * reading. */
typedef struct tfn__words {
    char    *text;
    int32_t *at, *order;      /* order: the tokens, sorted by the four tokens from each on */
    int32_t  count, used;
    bool     inside;          /* currently in a token */
    char     held[3];         /* passes of 13a: a character that waits for the next one; 0: none */
} tfn__words;

/* Cuts the `bytes` bytes of w->text into tokens. Except for the arrays, all other members are 0. */
typedef void (*tfn__splitter)(tfn__words *w, int32_t bytes);

/* Append a character. A space is not stored: it ends a token. */
static void tfn__put_char(tfn__words *w, char c)
{
    if (c == ' ') {
        w->inside = false;
        return;
    }
    if (!w->inside) w->at[w->count++] = w->used;
    w->inside = true;
    w->text[w->used++] = c;
}

/* Bytes of the white space at s by Python's str.isspace: U+9-D 1C-1F 20 85 A0 1680 2000-200A 2028
 * 2029 202F 205F 3000; 0: none. */
static int32_t tfn__space(const char *s, int32_t left)
{
    const int one = (unsigned char)s[0];
    int two = one << 8;                         /* the first two bytes of UTF-8 as a number */
    int three;
    if (left > 1) two |= (unsigned char)s[1];
    three = two << 8;
    if (left > 2) three |= (unsigned char)s[2];

    if (one == 0x20 || (one >= 9 && one <= 13) || (one >= 0x1c && one <= 0x1f)) return 1;
    if (two == 0xc285 || two == 0xc2a0) return 2;                           /* 85, A0 */
    if (three == 0xe19a80 || three == 0xe38080) return 3;                   /* 1680, 3000 */
    if (three >= 0xe28080 && three <= 0xe2808a) return 3;                   /* 2000-200A */
    if (three == 0xe280a8 || three == 0xe280a9) return 3;                   /* 2028, 2029 */
    if (three == 0xe280af || three == 0xe2819f) return 3;                   /* 202F, 205F */
    return 0;
}

static bool tfn__digit(char c) { return c >= '0' && c <= '9'; }
static bool tfn__stop(char c) { return c == '.' || c == ','; }

/* The tokenizer "13a" of mteval-v13a, as sacrebleu writes it: unescape a few entities, then four
 * substitutions over the line, one after the other, and cut at white space:
 *
 *     ([\{-\~\[-\` -\&\(-\+\:-\@\/])  ->  " \1 "      separate marks (tfn__mark_13a)
 *     ([\.,])([^0-9])                 ->  " \1 \2"    pass 1
 *     ([0-9])(-)                      ->  "\1 \2 "    pass 2
 *
 * The passes run as a chain. Each holds a character back until it has seen the next one, and hands
 * its output to the next pass. Matches of a substitution do not overlap: after a match the pass
 * holds nothing. */

static bool tfn__mark_13a(char c)
{
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@')
           || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/* True if a pass matches a followed by c. */
static bool tfn__parts_13a(int pass, char a, char c)
{
    if (pass == 0) return !tfn__digit(a) && tfn__stop(c);
    if (pass == 1) return tfn__stop(a) && !tfn__digit(c);
    return tfn__digit(a) && c == '-';
}

static void tfn__pass_13a(tfn__words *w, int pass, char c)
{
    char a;
    bool parts;
    if (pass == 3) {                            /* after the last pass */
        tfn__put_char(w, c);
        return;
    }
    a = w->held[pass];
    w->held[pass] = c;
    if (!a) return;

    parts = tfn__parts_13a(pass, a, c);
    if (parts && pass == 1) tfn__pass_13a(w, pass + 1, ' ');
    tfn__pass_13a(w, pass + 1, a);
    if (!parts) return;
    w->held[pass] = 0;
    tfn__pass_13a(w, pass + 1, ' ');
    tfn__pass_13a(w, pass + 1, c);
    if (pass != 1) tfn__pass_13a(w, pass + 1, ' ');
}

/* Bytes of the prefix if s begins with it, or 0. */
static int32_t tfn__prefix(const char *s, int32_t n, const char *prefix)
{
    int32_t k = 0;
    for (; prefix[k]; k++)
        if (k == n || s[k] != prefix[k]) return 0;
    return k;
}

/* Replace every `from` in the n bytes of s by `to`, from left to right. Returns the bytes left.
 * `to` is shorter, so this works in place. */
static int32_t tfn__replace(char *s, int32_t n, const char *from, const char *to)
{
    int32_t out = 0;
    for (int32_t i = 0; i < n;) {
        const int32_t k = tfn__prefix(s + i, n - i, from);
        if (!k) {
            s[out++] = s[i++];
            continue;
        }
        for (int32_t j = 0; to[j]; j++) s[out++] = to[j];
        i += k;
    }
    return out;
}

/* Bytes of s without the white space at its end. A white-space character has one to
 * three bytes, and no shorter one is the tail of a longer one. */
static int32_t tfn__strip_end(const char *s, int32_t n)
{
    for (int32_t k = 1; k <= 3; k++) {
        if (k > n) break;
        if (tfn__space(s + n - k, k) != k) continue;
        n -= k;
        k = 0;
    }
    return n;
}

/* Cut by 13a. White space becomes spaces, which the passes treat like any character. */
static void tfn__split_13a(tfn__words *w, int32_t n)
{
    static const char *const names[][2] = {
        { "<skipped>", "" }, { "-\n", "" }, { "&quot;", "\"" }, { "&amp;", "&" }, { "&lt;", "<" },
        { "&gt;", ">" }
    };
    char *s = w->text;
    n = tfn__strip_end(s, n);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        n = tfn__replace(s, n, names[i][0], names[i][1]);

    tfn__pass_13a(w, 0, ' ');                   /* sacrebleu puts a space around the line */
    for (int32_t i = 0; i < n;) {
        const int32_t space = tfn__space(s + i, n - i);
        const bool mark = tfn__mark_13a(s[i]);
        char c = s[i];
        if (space) c = ' ';
        if (mark) tfn__pass_13a(w, 0, ' ');
        tfn__pass_13a(w, 0, c);
        if (mark) tfn__pass_13a(w, 0, ' ');
        i += (int32_t)tfn__max(space, 1);
    }
    tfn__pass_13a(w, 0, ' ');
    for (int pass = 0; pass < 3; pass++)        /* characters still held */
        if (w->held[pass]) tfn__pass_13a(w, pass + 1, w->held[pass]);
}

/* Cut into words like Python's str.split(). */
static void tfn__split_words(tfn__words *w, int32_t n)
{
    for (int32_t i = 0; i < n;) {
        const int32_t space = tfn__space(w->text + i, n - i);
        if (space) tfn__put_char(w, ' ');
        else tfn__put_char(w, w->text[i]);
        i += (int32_t)tfn__max(space, 1);
    }
}

/* Cut into runs of a-z and 0-9, in lower case. */
static void tfn__split_rouge(tfn__words *w, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        char c = w->text[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c + ('a' - 'A'));
        if ((c < 'a' || c > 'z') && !tfn__digit(c)) c = ' ';
        tfn__put_char(w, c);
    }
}

/* Cut into characters: one begins at each byte that is not 10xxxxxx, a continuation. */
static void tfn__split_characters(tfn__words *w, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (i == 0 || ((unsigned char)w->text[i] & 0xc0) != 0x80) w->at[w->count++] = i;
    w->used = n;
}

/* -- one block of memory --------------------------------------------------------------------- */

/* Most bytes of all texts of an addition, so that the sum of two token counts fits an int32_t. */
enum { TFN__METRIC_BYTES = INT32_MAX / 2 };

/* Place in the caller's memory: the struct of each text, `at` and `order` for all (a text of n
 * bytes has at most n tokens, and an end), and a copy of all bytes. */
static tfn__words *tfn__lay_words(tfn__arena *a, size_t bytes, size_t strings, tfn_error *e)
{
    const size_t ints = tfn__mul(2, tfn__sum(bytes, strings));
    tfn__words *w = (tfn__words *)(void *)tfn__take(a, strings, sizeof *w, e);
    int32_t *at = tfn__take_ids(a, ints, e);
    char *text = (char *)tfn__take(a, bytes, 1, e);
    if (!w || !at || !text || !a->base) return NULL;
    TFNORM_MEMSET(w, 0, strings * sizeof *w);
    w->text = text;
    w->at = at;
    return w;
}

TFNORM_API size_t tfn_metric_work(size_t bytes, int32_t strings)
{
    tfn__arena a = tfn__arena_in(NULL, SIZE_MAX);
    tfn_error e;
    tfn__no_error(&e);
    if (strings < 1 || bytes > TFN__METRIC_BYTES) return 0;
    tfn__lay_words(&a, bytes, (size_t)strings, &e);
    if (e.status != TFN_OK) return 0;
    return a.used + TFN__ALIGN - 1;
}

/* Check the texts. *bytes: all texts together, without their zeros. */
static tfn_status tfn__check_texts(const char *hypothesis, const char *const *references,
                                   int32_t count, size_t *bytes)
{
    if (!hypothesis || !references) return TFN_NULL;
    for (int32_t i = 0; i < count; i++)
        if (!references[i]) return TFN_NULL;
    if (count < 1) return TFN_BAD_OPTION;
    *bytes = tfn__length(hypothesis);
    for (int32_t i = 0; i < count; i++) *bytes = tfn__sum(*bytes, tfn__length(references[i]));
    return TFN_OK;
}

/* Cut a hypothesis, w[0], and its references, w[1] and so on, in the caller's memory. NULL on an
 * error, which the status describes. */
static tfn__words *tfn__split_all(const char *hypothesis, const char *const *references,
                                  int32_t count, tfn__splitter split, void *work, size_t size,
                                  tfn_status *status)
{
    tfn__arena a = tfn__arena_in(work, size);
    tfn__words *w;
    tfn_error e;
    char *text;
    int32_t *at;
    size_t bytes = 0;
    *status = tfn__check_texts(hypothesis, references, count, &bytes);
    if (*status != TFN_OK) return NULL;
    *status = TFN_NO_MEMORY;
    if (!work || size < TFN__ALIGN) return NULL;
    *status = TFN_TOO_LARGE;
    if (bytes > TFN__METRIC_BYTES) return NULL;
    tfn__no_error(&e);
    w = tfn__lay_words(&a, bytes, (size_t)count + 1, &e);
    *status = e.status;
    if (!w) return NULL;

    text = w->text;
    at = w->at;
    for (int32_t i = 0; i <= count; i++) {
        const char *s = hypothesis;
        size_t n;
        if (i > 0) s = references[i - 1];
        n = tfn__length(s);
        w[i].text = text;
        w[i].at = at;
        w[i].order = at + n + 1;
        text += n;
        at += 2*(n + 1);
        TFNORM_MEMCPY(w[i].text, s, n);
        split(w + i, (int32_t)n);
        w[i].at[w[i].count] = w[i].used;        /* end of the last token */
    }
    return w;
}

/* -- n-grams --------------------------------------------------------------------------------- */

/* Compare a's token i with b's token j: -1, 0 or 1. Any fixed order would do; this one is by bytes,
 * with a prefix first. */
static int tfn__compare_token(const tfn__words *a, int32_t i, const tfn__words *b, int32_t j)
{
    const char *x = a->text + a->at[i];
    const char *y = b->text + b->at[j];
    const int32_t n = a->at[i + 1] - a->at[i];
    const int32_t m = b->at[j + 1] - b->at[j];
    for (int32_t k = 0; k < n; k++) {
        if (k == m) return 1;
        if (x[k] < y[k]) return -1;
        if (x[k] > y[k]) return 1;
    }
    return (n > m) - (n < m);
}

/* Compare n tokens from a's i-th and b's j-th on. The end of a text comes before any token. */
static int tfn__compare_gram(const tfn__words *a, int32_t i, const tfn__words *b, int32_t j,
                             int32_t n)
{
    for (int32_t k = 0; k < n; k++) {
        int order;
        if (i + k >= a->count || j + k >= b->count)
            return (i + k < a->count) - (j + k < b->count);
        order = tfn__compare_token(a, i + k, b, j + k);
        if (order) return order;
    }
    return 0;
}

/* For tfn__order: by four tokens, which also orders shorter n-grams. */
static bool tfn__gram_before(const void *x, int32_t i, int32_t j)
{
    const tfn__words *w = (const tfn__words *)x;
    return tfn__compare_gram(w, i, w, j, 4) < 0;
}

/* Tokens in w's order before the n-gram at i of g; if `after`, including those that equal it. */
static int32_t tfn__rank_gram(const tfn__words *w, const tfn__words *g, int32_t i, int32_t n,
                              bool after)
{
    int32_t low = 0;
    int32_t high = w->count;
    while (low < high) {
        const int32_t mid = low + (high - low) / 2;
        const int order = tfn__compare_gram(w, w->order[mid], g, i, n);
        if (order < 0 || (order == 0 && after)) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* Count the n-gram at i of g in w: two binary searches. */
static int32_t tfn__count_gram(const tfn__words *w, const tfn__words *g, int32_t i, int32_t n)
{
    return tfn__rank_gram(w, g, i, n, true) - tfn__rank_gram(w, g, i, n, false);
}

/* Clipped counts (Papineni et al. 2002, section 2.1): sum over the different n-grams of the
 * hypothesis w[0] of min(count in w[0], largest count in a reference). */
static int64_t tfn__match_grams(const tfn__words *w, int32_t references, int32_t n)
{
    int64_t sum = 0;
    int32_t end;
    for (int32_t at = 0; at < w->count; at = end) {
        const int32_t i = w->order[at];
        ptrdiff_t most = 0;
        end = tfn__rank_gram(w, w, i, n, true);         /* equal ones are neighbours */
        if (i + n > w->count) continue;                 /* the text ends inside it */
        for (int32_t r = 1; r <= references; r++)
            most = tfn__max(most, tfn__count_gram(w + r, w, i, n));
        sum += tfn__min(most, end - at);
    }
    return sum;
}

/* The number of n-grams; 0 in a text that is shorter. */
static ptrdiff_t tfn__total_grams(const tfn__words *w, int32_t n)
{
    return tfn__max(w->count - n + 1, 0);
}

/* -- BLEU ------------------------------------------------------------------------------------ */

/* The brevity penalty compares lengths in tokens. */
static ptrdiff_t tfn__difference(int32_t a, int32_t b) { return tfn__max(a, b) - tfn__min(a, b); }

/* The length of the closest reference; if two are as close, the shorter one. */
static int32_t tfn__closest(const tfn__words *w, int32_t references)
{
    int32_t best = w[1].count;
    for (int32_t r = 2; r <= references; r++) {
        const int32_t n = w[r].count;
        const ptrdiff_t gap = tfn__difference(n, w->count);
        const ptrdiff_t best_gap = tfn__difference(best, w->count);
        if (gap < best_gap || (gap == best_gap && n < best)) best = n;
    }
    return best;
}

/* Add the matches and n-grams of one sentence, n = 1 ... 4. Sums are kept instead of scores,
 * because BLEU of a corpus is not a mean over its sentences. */
TFNORM_API tfn_status tfn_bleu_add(tfn_bleu *b, const char *hypothesis,
                                   const char *const *references, int32_t count, void *work,
                                   size_t size)
{
    tfn_status why;
    tfn__words *w;
    if (!b) return TFN_NULL;
    w = tfn__split_all(hypothesis, references, count, tfn__split_13a, work, size, &why);
    if (!w) return why;
    for (int i = 0; i <= count; i++) tfn__order(w[i].order, w[i].count, tfn__gram_before, w + i);
    for (int32_t n = 1; n <= 4; n++) {
        b->correct[n - 1] += tfn__match_grams(w, count, n);
        b->total[n - 1] += tfn__total_grams(w, n);
    }
    b->length += w->count;
    b->reference_length += tfn__closest(w, count);
    if (!b->references) b->references = count;
    else if (b->references != count) b->references = -1;
    return TFN_OK;
}

/* Replacement for 0 matches (Chen & Cherry 2014). `half` is 1/2 for the first order without a
 * match, 1/4 for the second, and so on. The third form, one more of each, applies not only to
 * zeros. */
static double tfn__smoothed_zero(tfn_smooth smooth, double half)
{
    if (smooth == TFN_SMOOTH_EXP)   return half;
    if (smooth == TFN_SMOOTH_FLOOR) return 0.1;
    return 0;
}

/* BLEU = BP * exp(1/N sum of log p[n], n = 1 ... N), N = 4, p[n] = 100 * correct[n] / total[n],
 * BP = 1, or exp(1 - reference/length) where the hypotheses are shorter  (Papineni et al. 2002).
 * As in sacrebleu, log 0 is -9999999999; effective_order: N is the longest n-gram in the texts. */
TFNORM_API double tfn_bleu_score(const tfn_bleu *b, tfn_smooth smooth, bool effective_order)
{
    const double log_0 = -9999999999.0;
    double half = 1;
    double sum = 0;
    double brevity = 1;
    double ratio;
    int orders = 0;
    if (!b) return (double)NAN;
    ratio = (double)b->reference_length / (double)tfn__larger_of(b->length, 1);
    if (ratio > 1) brevity = tfn__exp(1 - ratio);
    if (b->correct[0] + b->correct[1] + b->correct[2] + b->correct[3] == 0) return 0;

    for (; orders < 4; orders++) {
        const int more = smooth == TFN_SMOOTH_ADD_ONE && orders > 0;
        const double total = (double)(b->total[orders] + more);
        double correct = (double)(b->correct[orders] + more);
        if (total == 0) break;
        if (correct == 0) {
            half /= 2;
            correct = tfn__smoothed_zero(smooth, half);
        }
        if (correct == 0) sum += log_0;
        else sum += tfn__log(100 * correct / total);
    }
    if (!effective_order) {                     /* orders longer than all texts */
        sum += log_0 * (4 - orders);
        orders = 4;
    }
    return tfn__exp(sum / orders) * brevity;
}

/* Like the line that sacrebleu prints, in the same words and order. */
TFNORM_API const char *tfn_bleu_text(const tfn_bleu *b, tfn_smooth smooth, bool effective_order,
                                     char *buf, size_t size)
{
    static const char *const names[] = { "exp", "floor[0.10]", "add-k[1.00]", "none" };
    const char *effective = "no";
    tfn__text t = tfn__text_in(buf, size);
    if (!b) return tfn__end(&t);
    if (effective_order) effective = "yes";
    if (b->references < 0) tfn__put(&t, "nrefs:var");
    else tfn__put_int(&t, "nrefs:", b->references, NULL);
    tfn__put_texts(&t, "|case:mixed|eff:", effective, "|tok:13a|smooth:");
    tfn__put_texts(&t, names[(unsigned)smooth % 4], "|version:tfnorm-", TFNORM_VERSION);
    return tfn__end(&t);
}

/* -- ROUGE, error rates ---------------------------------------------------------------------- */

/* F1 = 2PR/(P + R), P = matches/hypothesis, R = matches/reference
 *    = 2 matches / (hypothesis + reference). */
static double tfn__f1(int64_t matches, int64_t hypothesis, int64_t reference)
{
    if (!matches) return 0;
    return 2 * (double)matches / (double)(hypothesis + reference);
}

/* Levenshtein's distance of w[0] and w[1]: the fewest insertions, deletions and substitutions of
 * tokens that turn one into the other. d[i][j] is the distance of the first i and first j tokens:
 *
 *     d[i][j] = min(d[i-1][j-1] + (equal ? 0 : substitution), d[i-1][j] + 1, d[i][j-1] + 1)
 *
 * Only one row of the table is kept, in w[1].order, which is free by then. A substitution costs 1.
 * If it costs 2, like a deletion plus an insertion, the distance is n + m - 2 c, where c is the
 * length of the longest common subsequence. */
static int32_t tfn__distance(const tfn__words *w, int32_t substitution)
{
    const int32_t m = w[1].count;
    int32_t *row = w[1].order;
    for (int32_t j = 0; j <= m; j++) row[j] = j;
    for (int32_t i = 0; i < w->count; i++) {
        int32_t corner = row[0];                        /* d[i-1][j-1] */
        row[0]++;
        for (int32_t j = 0; j < m; j++) {
            const int32_t above = row[j + 1];           /* d[i-1][j] */
            if (tfn__compare_token(w, i, w + 1, j)) corner += substitution;
            row[j + 1] = (int32_t)tfn__min(corner, tfn__min(above, row[j]) + 1);
            corner = above;
        }
    }
    return row[m];
}

/* ROUGE-1 and -2: F1 over n-grams. ROUGE-L: over the longest common subsequence (Lin 2004). */
TFNORM_API tfn_status tfn_rouge_add(tfn_rouge *r, const char *hypothesis, const char *reference,
                                    void *work, size_t size)
{
    int32_t common;
    tfn_status why;
    tfn__words *w;
    if (!r) return TFN_NULL;
    w = tfn__split_all(hypothesis, &reference, 1, tfn__split_rouge, work, size, &why);
    if (!w) return why;
    for (int i = 0; i < 2; i++) tfn__order(w[i].order, w[i].count, tfn__gram_before, w + i);
    for (int32_t n = 1; n <= 2; n++)
        r->f1[n - 1] += tfn__f1(tfn__match_grams(w, 1, n), tfn__total_grams(w, n),
                                tfn__total_grams(w + 1, n));
    common = (w[0].count + w[1].count - tfn__distance(w, 2)) / 2;
    r->f1[2] += tfn__f1(common, w[0].count, w[1].count);
    r->pairs++;
    return TFN_OK;
}

/* The mean over the pairs; i: 0 ROUGE-1, 1 ROUGE-2, 2 ROUGE-L. */
TFNORM_API double tfn_rouge_score(const tfn_rouge *r, int32_t i)
{
    if (!r || r->pairs <= 0 || i < 0 || i > 2) return (double)NAN;
    return r->f1[i] / (double)r->pairs;
}

/* Sum over a corpus: all edits and all tokens, not a mean over sentences. */
static tfn_status tfn__add_edits(tfn_edits *e, const char *hypothesis, const char *reference,
                                 tfn__splitter split, void *work, size_t size)
{
    tfn_status why;
    tfn__words *w;
    if (!e) return TFN_NULL;
    w = tfn__split_all(hypothesis, &reference, 1, split, work, size, &why);
    if (!w) return why;
    e->edits += tfn__distance(w, 1);
    e->length += w[1].count;
    return TFN_OK;
}

TFNORM_API tfn_status tfn_edits_add_words(tfn_edits *e, const char *hypothesis,
                                          const char *reference, void *work, size_t size)
{
    return tfn__add_edits(e, hypothesis, reference, tfn__split_words, work, size);
}
TFNORM_API tfn_status tfn_edits_add_characters(tfn_edits *e, const char *hypothesis,
                                               const char *reference, void *work, size_t size)
{
    return tfn__add_edits(e, hypothesis, reference, tfn__split_characters, work, size);
}

/* Edits per token of the references. A mean over no tokens is NaN. */
TFNORM_API double tfn_edits_score(const tfn_edits *e)
{
    if (!e || e->length <= 0) return (double)NAN;
    return (double)e->edits / (double)e->length;
}
TFN__SMALL_END
