/* Rows of tokens, then classes of tokens, then answers. */
#include "heads.h"
#include "../common/output.h"
#include "prompt.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool is_headless(const bundle *b)
{
    if (b->adapter) return false;                       /* was trained with the embedding as head */
    return given(&b->from, O_FAMILY) && b->desc.arch == TFN_ARCH_ENCODER
        && b->desc.head == TFN_HEAD_TOKENS && !b->desc.head_transform;
}

void must_have_head(const bundle *b)
{
    if (is_headless(b))
        die("%s has no head, only the body of an encoder: tfn logits --hidden and tfn embed print "
            "its hidden states, tfn train --from gives it a head", b->path);
}

/* -- rows -------------------------------------------------------------------------------------- */

/* True if the parts of a pair have two ends between them: "<s> A </s></s> B </s>". RoBERTa's own
 * tokenizers do so, but not the WordPiece that some models have with RoBERTa's body. */
static bool doubles_ends(const bundle *b)
{
    const tfn_family *roberta = tfn_family_find("roberta");
    const tfn_family *family = tfn_family_find(b->from.text[O_FAMILY]);
    if (b->tokenizer.tokenizer.kind == TFN_TOKENIZER_WORDPIECE) return false;
    while (family && family != roberta) family = family->like;
    return family != NULL;
}

/* Appends the second part of a pair: its tokens, then the ids that texts end with. */
static void row_add(encoder_row *x, const bundle *b, const char *text, size_t bytes, int32_t room,
                    int64_t number)
{
    const tfn_tokenizer *k = &b->tokenizer.tokenizer;
    const bool framed = k->begins + k->ends > 0;
    const int32_t *end = &k->special[TFN_SPECIAL_EOS];
    int32_t ends = *end >= 0;
    int64_t count;
    int32_t *ids = encode_text(b, text, bytes, &count);
    if (framed) {
        ends = k->ends;
        end = k->frame + k->begins;
    }
    if (doubles_ends(b))
        for (int32_t i = 0; i < ends; i++)
            if (x->count < room) x->tokens[x->count++] = end[i];
    const int64_t read = cut_ids(count - k->begins, room - x->count - ends, number);
    const int32_t first = x->count;
    x->second = first;
    for (int64_t i = 0; i < read; i++) x->tokens[x->count++] = ids[k->begins + i];
    for (int32_t i = 0; i < ends; i++)
        if (x->count < room) x->tokens[x->count++] = end[i];
    if (x->segments)
        for (int32_t i = first; i < x->count; i++) x->segments[i] = 1;
    free(ids);
}

void encoder_row_text(encoder_row *x, const bundle *b, const char *text, size_t bytes,
                      int64_t number)
{
    const int32_t room = b->desc.context;
    const char *tab = (const char *)memchr(text, '\t', bytes);
    const size_t first = tab ? (size_t)(tab - text) : bytes;
    memset(x, 0, sizeof *x);
    x->tokens = (int32_t *)reserve((size_t)room, sizeof *x->tokens);
    if (b->desc.segments > 1) x->segments = (int32_t *)reserve((size_t)room, sizeof *x->segments);
    if (tab && !first) x->count = prompt_row(b, " ", 1, false, room, number, x->tokens);
    else x->count = prompt_row(b, text, first, false, room, number, x->tokens);
    if (tab) row_add(x, b, tab + 1, bytes - first - 1, room, number);
}

int32_t *segments_given(const bundle *b, const settings *s, int32_t count)
{
    const char *text = text_of(s, O_SEGMENTS);
    int32_t n;
    int32_t *segments;
    if (!text) return NULL;
    if (b->desc.segments < 1) die("%s has no segments, so --segments has no effect", b->path);
    segments = prompt_numbers("--segments", text, &n);
    if (n != count) die("--segments: %d numbers for %d tokens", (int)n, (int)count);
    for (int32_t i = 0; i < n; i++)
        if (segments[i] >= b->desc.segments)
            die("--segments: %d is too large, the model has %d", (int)segments[i],
                (int)b->desc.segments);
    return segments;
}

void encoder_row_given(encoder_row *x, const bundle *b, const settings *s, cli *c)
{
    int32_t *segments;
    if (given(s, O_IDS) || !given(s, O_SAID) || !b->tokenizer.mem) {
        memset(x, 0, sizeof *x);
        x->tokens = prompt_ids(b, s, c, false, b->desc.context, &x->count);
    } else {
        const char *text = text_of(s, O_SAID);
        encoder_row_text(x, b, text, strlen(text), 0);
        if (!x->count) die("--text: no token");
    }
    segments = segments_given(b, s, x->count);
    if (!segments) return;
    free(x->segments);
    x->segments = segments;
}

void encoder_row_free(encoder_row *x)
{
    free(x->tokens);
    free(x->segments);
}

/* -- classes of tokens ------------------------------------------------------------------------- */

/* A line for each token: the number of the text, the token, and its likeliest class or classes with
 * their probabilities. */
static void put_tokens(const bundle *b, const encoder_row *x, const float *z, int64_t number,
                       int32_t best)
{
    const int32_t classes = b->desc.classes;
    const int32_t shown = best && best < classes ? best : (best ? classes : 1);
    int32_t *id = (int32_t *)reserve((size_t)shown, sizeof *id);
    double *p = (double *)reserve((size_t)shown, sizeof *p);
    char token[256], name[64];
    for (int32_t t = 0; t < x->count; t++) {
        likeliest(z + (ptrdiff_t)t * classes, classes, id, p, shown);
        for (int32_t k = 0; k < shown; k++)
            printf("%lld\t%s\t%.4f\t%s\n", (long long)number,
                   token_shown(b, x->tokens[t], token, sizeof token), p[k],
                   class_shown(b, id[k], name, sizeof name));
    }
    free(id);
    free(p);
}

/* -- answers ----------------------------------------------------------------------------------- */

enum { ANSWER_MOST = 30 };              /* tokens, as the published programs have it */

typedef struct answer {
    int32_t first, last;
    double  p;
} answer;

/* True if the head is of question answering: its two classes are the start and the end. */
static bool tells_answers(const bundle *b)
{
    return b->classes.count == 2 && !strcmp(b->classes.name[0], "start")
        && !strcmp(b->classes.name[1], "end");
}

/* Probabilities over all positions: share[2 t] that an answer starts at t, share[2 t + 1] that it
 * ends there. */
static void answer_shares(const float *z, int32_t count, double *share)
{
    for (int side = 0; side < 2; side++) {
        double most = (double)z[side];
        double sum = 0;
        for (int32_t t = 0; t < count; t++) most = fmax(most, (double)z[2 * t + side]);
        for (int32_t t = 0; t < count; t++) {
            share[2 * t + side] = exp((double)z[2 * t + side] - most);
            sum += share[2 * t + side];
        }
        for (int32_t t = 0; t < count; t++) share[2 * t + side] /= sum;
    }
}

/* True if an answer may have the token at t: it is in the text, which is the second part of a pair,
 * and no special token. */
static bool may_answer(const bundle *b, const encoder_row *x, int32_t t)
{
    const int32_t last = x->count - 1;
    if (b->tokenizer.mem && data_is_special(&b->tokenizer.tokenizer, x->tokens[t])) return false;
    if (t < x->second) return false;
    return !x->segments || !x->segments[last] || x->segments[t];
}

/* The likeliest answers, at most `room`; returns how many. */
static int32_t find_answers(const bundle *b, const encoder_row *x, const double *share,
                            answer *found, int32_t room)
{
    int32_t n = 0;
    for (int32_t i = 0; i < x->count; i++)
        for (int32_t j = i; j < x->count; j++) {
            const double p = share[2 * i] * share[2 * j + 1];
            if (j - i >= ANSWER_MOST || !may_answer(b, x, i) || !may_answer(b, x, j)) break;
            if (n == room && p <= found[n - 1].p) continue;
            int32_t at = n < room ? n++ : n - 1;
            for (; at > 0; at--) {
                if (p <= found[at - 1].p) break;
                found[at] = found[at - 1];
            }
            found[at].first = i;
            found[at].last = j;
            found[at].p = p;
        }
    return n;
}

/* A line for each answer: the number of the text, the probability, the positions of its first and
 * last token from 0, and its tokens as text. */
static void put_answers(const bundle *b, const encoder_row *x, const float *z, int64_t number,
                        int32_t best)
{
    const int32_t room = best ? best : 1;
    double *share = (double *)reserve((size_t)x->count, 2 * sizeof *share);
    answer *found = (answer *)reserve((size_t)room + 1, sizeof *found);
    answer_shares(z, x->count, share);
    const int32_t n = find_answers(b, x, share, found, room);
    for (int32_t k = 0; k < n; k++) {
        const answer *a = &found[k];
        const int32_t *ids = x->tokens + a->first;
        const int32_t count = a->last - a->first + 1;
        printf("%lld\t%.4f\t%d\t%d\t", (long long)number, a->p, (int)a->first, (int)a->last);
        if (!b->tokenizer.mem)
            for (int32_t i = 0; i < count; i++) printf("%s%d", i ? " " : "", (int)ids[i]);
        else {
            const tfn_tokenizer *t = &b->tokenizer.tokenizer;
            const size_t bytes = tfn_tokenizer_decode(t, NULL, 0, ids, count);
            char *text = (char *)reserve(bytes + 1, 1);
            tfn_tokenizer_decode(t, text, bytes + 1, ids, count);
            printf("%s", text);
            free(text);
        }
        printf("\n");
    }
    free(share);
    free(found);
}

/* -- the command ------------------------------------------------------------------------------- */

static void classify_row(bundle *b, const encoder_row *x, const settings *s, int64_t number)
{
    const int32_t best = (int32_t)whole_of(s, O_N_BEST);
    tfn_batch batch = { 0 };
    batch.batch = 1;
    batch.time = x->count;
    batch.tokens = x->tokens;
    batch.segments = x->segments;
    const float *z = tfn_model_logits(&b->model, &batch);
    must_be_ok(&b->model.error);
    if (tells_answers(b)) put_answers(b, x, z, number, best);
    else put_tokens(b, x, z, number, best);
    if (!output_flush()) exit(output_code());
}

int classify_positions(bundle *b, const settings *s, cli *c, const char *path)
{
    encoder_row x;
    line_file input;
    if (!path) {
        encoder_row_given(&x, b, s, c);
        bundle_load(b, 1, threads_of(s));
        classify_row(b, &x, s, 1);
        encoder_row_free(&x);
        bundle_free(b);
        return 0;
    }
    if (!b->tokenizer.mem) die("%s has no tokenizer: it takes --ids", b->path);
    if (given(s, O_SEGMENTS))
        cli_fail(c, "--segments needs --ids or --text; in a line a tab separates them");
    bundle_load(b, 1, threads_of(s));
    lines_open(&input, path);
    while (next_line(&input)) {
        if (!input.bytes) encoder_row_text(&x, b, " ", 1, input.number - 1);
        else encoder_row_text(&x, b, input.line, input.bytes, input.number - 1);
        classify_row(b, &x, s, input.number);
        encoder_row_free(&x);
    }
    lines_close(&input);
    bundle_free(b);
    return 0;
}
