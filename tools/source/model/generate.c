#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../ground/math.h"
#include "../tape/tape.h"
#include "../tape/op_loss.h"
#include "options.h"
#include "step.h"
#include "decoder.h"

TFN__SMALL
/* Generates text from a model: greedy, sampled, or by beam search. Builds on decoder. In order:
 * options, memory, prompts, caches, candidates, draws, hypotheses, and the loop, tfn_generator_run.
 *
 * The sentences of a call advance side by side. At each position a sentence is fed the next token
 * of its prompt or, after the prompt, its last choice. So prompts of different lengths need no
 * padding. Step t of a sentence chooses its token t, counted from 0 after its prompt. Finished
 * sentences leave the decoder, and the remaining rows move up to close the gaps.
 *
 * Choices use log p(v) = x[v] - log sum exp x in double, so they are as reproducible as the logits
 * x. The sum of a beam is the sum of log p over its tokens. A hypothesis scores
 *
 *     score = sum(log p) / length^length_penalty,         the end token counted in the length
 *
 * as in fairseq (Ott et al. 2019). GNMT's ((5 + length)/6)^a (Wu et al. 2016) is a different
 * function.
 *
 * Sentence order[i] has `width` rows of the decoder from i*width on, one for each beam; width is 1
 * without beam search. The state of a run, for sentences s and rows r:
 *
 *     fed                 positions fed so far; sentence s is at step fed - begin[s], below 0 in
 *                         its prompt
 *     begin[s], last[s]   tokens of its prompt; its last possible step
 *     found[s], alive[s]  its hypotheses; its beams that continue, 0 when it is finished
 *     cut[s]              1: the context ends before max_tokens and max_ratio do
 *     order, live         the sentences that continue, and their number
 *     next[r], from[r]    the token to feed, and the row whose past this one continues
 *     sums                (sentences, width): sum of log p of each beam
 *     chosen, parent      (steps, sentences, width): the choice of a beam, and the beam that it
 *                         continues; hypotheses are traced back through them
 *     score, row, token   candidates of one step of one sentence, best first, `count` of at most
 *                         `room`: sum of log p, the beam it continues, the token it chooses */

/* -- options --------------------------------------------------------------------------------- */

/* The default number of a prompt's tokens that are fed at once. One product of matrices is cheaper
 * than as many products with vectors. Encoder-decoders feed one, because the prompt of a
 * translation usually has one token. */
enum { TFN__PROMPT_CHUNK = 16 };

/* Fills in defaults. If 0 is also a useful value of an option, a second option chooses it:
 * allow_empty for min_tokens, unnormalized for length_penalty. */
static void tfn__generate_defaults(tfn_generate_desc *d, const tfn_model_desc *m)
{
    d->sentences = tfn__value_or(d->sentences, 1);
    d->max_tokens = tfn__value_or(d->max_tokens, 200);
    if (!d->allow_empty) d->min_tokens = tfn__value_or(d->min_tokens, 1);
    if (d->length_penalty == 0) d->length_penalty = 1;
    if (d->unnormalized) d->length_penalty = 0;             /* length^0 is 1 */
    if (d->top_p == 0) d->top_p = 1;
    if (!d->chunk && !tfn__is_pair(m))
        d->chunk = (int32_t)tfn__min(TFN__PROMPT_CHUNK, m->context);
    d->chunk = tfn__value_or(d->chunk, 1);
}

/* The ranges of all numeric options except `end`, which has no lower limit. */
#define TFN__GENERATE(field, kind, least, most) \
    TFN__RANGE_OF(tfn_generate_desc, field, TFN__##kind, least, most)
static const tfn__limit tfn__generate_limits[] = {
    TFN__GENERATE(sentences, WHOLE, 1, TFN__MAX_SIDE),
    TFN__GENERATE(beam, WHOLE, 0, TFN__MAX_SIDE),
    TFN__GENERATE(max_tokens, WHOLE, 1, TFN__ANY),
    TFN__GENERATE(max_ratio, REAL, 0, 1e6),
    TFN__GENERATE(min_tokens, WHOLE, 0, TFN__ANY),
    TFN__GENERATE(forbidden_count, WHOLE, 0, TFN__VOCAB),
    TFN__GENERATE(length_penalty, REAL, 0, 100),
    TFN__GENERATE(temperature, REAL_OR_0, TFN__TINY, TFN__HUGE),
    TFN__GENERATE(top_k, WHOLE, 0, TFN__ANY),
    TFN__GENERATE(top_p, REAL, 0, 1),
    TFN__GENERATE(chunk, WHOLE, 1, TFN__MAX_SIDE),
    TFN__GENERATE(ends_count, WHOLE, 0, TFN__VOCAB)
};

/* Checks the options, as far as this is possible without a prompt. */
static void tfn__generate_check(tfn_error *e, const tfn_generate_desc *d, const tfn_model_desc *m)
{
    static const char op[] = "generator";
    tfn__check_ranges(e, op, d, tfn__generate_limits,
                      sizeof tfn__generate_limits / sizeof *tfn__generate_limits);
    tfn__in_range(e, op, "the number of all beams", (int64_t)d->sentences * d->beam, 0,
                  TFN__MAX_SIDE);
    tfn__in_range(e, op, "end", d->end, INT32_MIN, (int64_t)m->vocab - 1);
    if (d->beam && d->temperature > 0)
        tfn__fail(e, TFN_BAD_OPTION, op, "%d beams: a beam search does not draw", d->beam, 0);
    if (d->forbidden_count && !d->forbidden)
        tfn__fail(e, TFN_BAD_OPTION, op, "%d tokens are forbidden, but none are given",
                  d->forbidden_count, 0);
    if (d->ends_count && (!d->ends || d->end < 0))
        tfn__fail(e, TFN_BAD_OPTION, op, "%d further ends need `ends` and `end`", d->ends_count, 0);
    tfn__in_range(e, op, "ends_count", d->ends_count, 0, m->vocab);
    tfn__in_range(e, op, "forbidden_count", d->forbidden_count, 0, m->vocab);
    if (e->status != TFN_OK) return;
    for (int32_t i = 0; i < d->forbidden_count; i++)
        tfn__in_range(e, op, "a forbidden token", d->forbidden[i], 0, (int64_t)m->vocab - 1);
    for (int32_t i = 0; i < d->ends_count; i++)
        tfn__in_range(e, op, "a token of ends", d->ends[i], 0, (int64_t)m->vocab - 1);
}

/* True if a text of full length must still end with the end token, as in fairseq. Otherwise it
 * just stops. */
static bool tfn__forces_end(const tfn_generate_desc *d) { return d->beam && d->end >= 0; }

/* Returns the limit of a text's tokens, without the end, for a source of n tokens: fairseq's
 * a*n + b, but at most `room`. */
static int32_t tfn__max_tokens(const tfn_generate_desc *d, int32_t n, int32_t room)
{
    const double most = (double)d->max_ratio * n + d->max_tokens;
    if (most < room) return (int32_t)most;
    return room;
}

/* -- one block of memory --------------------------------------------------------------------- */

static int32_t *tfn__take_ints(tfn_generator *g, tfn__arena *a, int64_t n, int64_t each)
{
    return tfn__take_ids(a, tfn__mul((size_t)n, (size_t)each), &g->error);
}
static double *tfn__take_doubles(tfn_generator *g, tfn__arena *a, int64_t n)
{
    return (double *)(void *)tfn__take(a, (size_t)n, sizeof(double), &g->error);
}
static float *tfn__take_reals(tfn_generator *g, tfn__arena *a, int64_t n)
{
    return (float *)(void *)tfn__take(a, tfn__count(n), sizeof(float), &g->error);
}

/* Returns a copy of some ids. */
static int32_t *tfn__keep_ids(tfn_generator *g, tfn__arena *a, const int32_t *ids, int32_t count)
{
    int32_t *copy = tfn__take_ints(g, a, count, 1);
    if (a->base && copy && count) TFNORM_MEMCPY(copy, ids, (size_t)count * sizeof *copy);
    return copy;
}

/* Lays out the arrays of tfn_generator after the decoder. */
static void tfn__lay_search(tfn_generator *g, tfn__arena *a, int64_t vocab)
{
    const tfn_generate_desc *d = &g->desc;
    const int64_t n = d->sentences;
    const int64_t rows = n * g->width;
    g->desc.forbidden = tfn__keep_ids(g, a, d->forbidden, d->forbidden_count);
    g->desc.ends = tfn__keep_ids(g, a, d->ends, d->ends_count);

    g->order = tfn__take_ints(g, a, n, 1);              /* of sentences */
    g->begin = tfn__take_ints(g, a, n, 1);
    g->last = tfn__take_ints(g, a, n, 1);
    g->found = tfn__take_ints(g, a, n, 1);
    g->alive = tfn__take_ints(g, a, n, 1);
    g->cut = tfn__take_ints(g, a, n, 1);

    g->chosen = tfn__take_ints(g, a, rows, g->most);    /* of beams */
    g->parent = tfn__take_ints(g, a, rows, g->most);
    g->next = tfn__take_ints(g, a, rows, d->chunk);
    g->from = tfn__take_ints(g, a, rows, 1);
    g->sums = tfn__take_doubles(g, a, rows);

    g->score = tfn__take_doubles(g, a, g->room);        /* of candidates */
    g->row = tfn__take_ints(g, a, g->room, 1);
    g->token = tfn__take_ints(g, a, g->room, 1);
    if (d->temperature > 0) g->heap = tfn__take_ints(g, a, vocab, 1);
    g->weights = tfn__take_reals(g, a, vocab);

    g->tokens = tfn__take_ints(g, a, rows, g->most);    /* the result */
    g->lengths = tfn__take_ints(g, a, rows, 1);
    g->stops = tfn__take_ints(g, a, rows, 1);
    g->scores = tfn__take_reals(g, a, rows);
}

/* Checks the options, and lays out decoder and search. Returns the bytes of both, or 0 after an
 * error; *decoder gets the decoder's bytes. For `real` see tfn__lay_decoder. */
static size_t tfn__lay_generator(tfn_generator *g, const tfn_model *m,
                                 const tfn_generate_desc *desc, void *mem, size_t size,
                                 bool real, size_t *decoder)
{
    tfn__arena a = tfn__arena_in(mem, size);
    int32_t source = 0;
    TFNORM_MEMSET(g, 0, sizeof *g);
    tfn__take_model_error(&g->error, "generator", m);
    tfn__given(&g->error, "generator", "desc", desc);
    if (g->error.status != TFN_OK) return 0;
    g->desc = *desc;
    tfn__generate_defaults(&g->desc, &m->desc);
    tfn__generate_check(&g->error, &g->desc, &m->desc);
    if (g->error.status != TFN_OK) return 0;

    /* a beam has one end, so `beam` of 2*beam candidates continue; with desc.ends maybe fewer */
    g->width = (int32_t)tfn__max(g->desc.beam, 1);
    g->room = (int32_t)tfn__max(2 * g->desc.beam, 1);
    /* a prompt takes at least one position of the context; the end is one token more */
    if (tfn__is_pair(&m->desc)) source = m->desc.source_context;
    g->most = tfn__max_tokens(&g->desc, source, m->desc.context - 1) + 1;

    *decoder = tfn__lay_decoder(&g->decoder, m, g->desc.sentences * g->width, g->desc.chunk, mem,
                                size, real);
    g->error = g->decoder.error;
    if (!*decoder) return 0;
    a.used = *decoder - (TFN__ALIGN - 1);
    if (!real) tfn__only_count(&a);
    tfn__lay_search(g, &a, m->desc.vocab);
    if (g->error.status != TFN_OK) return 0;
    return a.used + TFN__ALIGN - 1;
}

TFNORM_API size_t tfn_generator_size(const tfn_model *m, const tfn_generate_desc *desc,
                                     void *scratch, size_t scratch_size)
{
    tfn_generator g;
    size_t decoder;
    return tfn__lay_generator(&g, m, desc, scratch, scratch_size, false, &decoder);
}

TFNORM_API tfn_status tfn_generator_init(tfn_generator *g, const tfn_model *m,
                                         const tfn_generate_desc *desc, void *mem, size_t size)
{
    size_t decoder;
    if (!g) return TFN_NULL;
    if (!tfn__lay_generator(g, m, desc, mem, size, true, &decoder)) return g->error.status;
    /* the layout has recorded the decoder, too, but only its init makes it ready to run */
    if (tfn_decoder_init(&g->decoder, m, g->desc.sentences * g->width, g->desc.chunk, mem,
                         decoder) != TFN_OK)
        g->error = g->decoder.error;
    return g->error.status;
}

/* -- prompts --------------------------------------------------------------------------------- */

/* Without prompts, each sentence starts with the end token, as in fairseq. */
static int32_t tfn__prompt_length(const tfn_batch *x, int32_t s)
{
    if (!x->tokens) return 1;
    if (x->lengths) return x->lengths[s];
    return x->time;
}
static int32_t tfn__prompt_token(const tfn_generator *g, const tfn_batch *x, int32_t s, int32_t t)
{
    if (!x->tokens) return g->desc.end;
    return x->tokens[(ptrdiff_t)s * x->time + t];
}

/* Returns the positions of a sentence's source, or 0 without one. */
static int32_t tfn__source_length(const tfn_model_desc *m, const tfn_batch *x, int32_t s)
{
    if (!tfn__is_pair(m)) return 0;
    if (x->source_lengths) return tfn__positions(m, x->source_lengths[s]);
    return tfn__positions(m, x->source_time);
}

/* Checks the whole batch before the last result is overwritten. */
static bool tfn__check_prompts(tfn_generator *g, const tfn_batch *x)
{
    const tfn_model_desc *m = &g->decoder.model->desc;
    tfn_error *e = &g->error;
    if (x->batch < 1 || x->batch > g->desc.sentences)
        tfn__fail(e, TFN_BAD_BATCH, "generator", "%d sentences, the limit is %d", x->batch,
                  g->desc.sentences);
    if (!x->tokens && g->desc.end < 0)
        tfn__fail(e, TFN_BAD_BATCH, "generator", "neither prompts nor an end token", 0, 0);
    if (x->tokens)
        tfn__check_time(e, "time is %d, the limit is %d", x->time, m->context, x->lengths,
                        x->batch);
    if (e->status == TFN_OK && tfn__is_pair(m)) tfn__check_source(e, m, x);
    if (!x->tokens) return e->status == TFN_OK;

    for (int32_t s = 0; s < x->batch; s++) {
        const int32_t n = tfn__prompt_length(x, s);
        if (e->status != TFN_OK) break;
        if (n < 1) tfn__fail(e, TFN_BAD_BATCH, "generator", "prompt %d is empty", s, 0);
        tfn__check_ids(e, "a token is %d, the vocabulary has %d", x->tokens + (ptrdiff_t)s*x->time,
                       1, n, NULL, m->vocab, false);
    }
    return e->status == TFN_OK;
}

/* Returns the index of the first beam of sentence s in arrays (sentences, width). */
static ptrdiff_t tfn__first_beam(const tfn_generator *g, int32_t s)
{
    return (ptrdiff_t)s * g->width;
}

/* Returns the index of its first beam at a step, in arrays (steps, sentences, width). */
static ptrdiff_t tfn__step_beams(const tfn_generator *g, int32_t step, int32_t s)
{
    return ((ptrdiff_t)step * g->desc.sentences + s) * g->width;
}

/* Returns the last step of a sentence with `begin` tokens in its prompt. Step t needs begin + t
 * positions of the context. A text with a forced end takes one step more than its limit of tokens,
 * for the end. */
static int32_t tfn__last_step(const tfn_generator *g, int32_t begin, int32_t source)
{
    const int32_t room = g->decoder.model->desc.context - begin;
    if (tfn__forces_end(&g->desc)) return tfn__max_tokens(&g->desc, source, room);
    return tfn__max_tokens(&g->desc, source, room + 1) - 1;
}

/* True if the context has too few positions for all tokens that max_tokens and max_ratio allow. */
static bool tfn__context_cuts(const tfn_generator *g, int32_t begin, int32_t source)
{
    int32_t room = g->decoder.model->desc.context - begin;
    if (!tfn__forces_end(&g->desc)) room++;
    return tfn__max_tokens(&g->desc, source, INT32_MAX) > room;
}

/* Resets all sentences: one beam that has chosen nothing, and no hypotheses. */
static void tfn__begin_sentences(tfn_generator *g, const tfn_batch *x)
{
    const tfn_model_desc *m = &g->decoder.model->desc;
    g->sentences = x->batch;
    g->live = x->batch;
    for (int32_t s = 0; s < x->batch; s++) {
        const ptrdiff_t first = tfn__first_beam(g, s);
        const int32_t source = tfn__source_length(m, x, s);
        g->order[s] = s;
        g->begin[s] = tfn__prompt_length(x, s);
        g->last[s] = tfn__last_step(g, g->begin[s], source);
        g->cut[s] = tfn__context_cuts(g, g->begin[s], source);
        g->found[s] = 0;
        g->alive[s] = 1;
        g->sums[first] = 0;
        for (int32_t k = 0; k < g->width; k++) {
            g->lengths[first + k] = 0;
            g->stops[first + k] = TFN_STOP_END;
            g->scores[first + k] = (float)-HUGE_VAL;
        }
    }
}

/* Feeds as many positions as the shortest prompt has, one row a sentence. Returns the last logits,
 * or NULL after an error. */
static const float *tfn__feed_prompts(tfn_generator *g, const tfn_batch *x)
{
    const float *logits = NULL;
    int32_t shortest = g->begin[0];
    for (int32_t s = 1; s < x->batch; s++) shortest = (int32_t)tfn__min(shortest, g->begin[s]);
    g->decoder.run.batch = x->batch;
    g->fed = 0;
    if (tfn_decoder_start(&g->decoder, x) != TFN_OK) return NULL;
    while (g->fed < shortest) {
        const int32_t n = (int32_t)tfn__min(shortest - g->fed, g->decoder.chunk);
        for (int32_t s = 0; s < x->batch; s++)
            for (int32_t t = 0; t < n; t++)
                g->next[(ptrdiff_t)s * n + t] = tfn__prompt_token(g, x, s, g->fed + t);
        logits = tfn_decoder_next(&g->decoder, g->next, n, NULL);
        if (!logits) return NULL;
        g->fed += n;
    }
    return logits;
}

/* -- caches ---------------------------------------------------------------------------------- */

/* Copies row `from` to row `to` in the memory's caches, and with `past` also in the caches of the
 * past. */
static void tfn__copy_row(tfn_decoder *d, int32_t to, int32_t from, bool past)
{
    if (to == from) return;
    for (int32_t i = 1; i < d->decode.count; i++) {
        const tfn_node *n = d->decode.nodes + i;
        if (n->op != TFN__OP_CACHE && !tfn__is_memory(n)) continue;
        if (!past && !tfn__is_memory(n)) continue;
        for (int part = 0; part < 2; part++) {
            size_t row;
            unsigned char *cache = tfn__cache_part(d, n, part, &row);
            TFNORM_MEMCPY(cache + (size_t)to*row, cache + (size_t)from*row, row);
        }
    }
    if (d->run.ints[TFN_INT_SOURCE_LENGTHS]) d->lengths[to] = d->lengths[from];
}

/* Expands one row a sentence to one row a beam. Starts at the last row, because each row is copied
 * from an earlier one. */
static void tfn__spread_beams(tfn_generator *g)
{
    const int32_t rows = g->live * g->width;
    for (int32_t r = rows; r-- > 0;) tfn__copy_row(&g->decoder, r, r / g->width, true);
    g->decoder.run.batch = rows;
}

/* Sets the token to feed for beam k of the i-th sentence, and the row whose past it continues.
 * Within a prompt all beams are equal. If fewer than `width` beams continue, the rows of the others
 * are fed token 0, and their logits are never read. */
static void tfn__next_row(tfn_generator *g, const tfn_batch *x, int32_t row, int32_t i, int32_t k)
{
    const int32_t s = g->order[i];
    const int32_t step = g->fed - g->begin[s];
    int32_t token = 0;
    int32_t beam = 0;
    if (step < 0) {
        token = tfn__prompt_token(g, x, s, g->fed);
        beam = k;
    } else if (k < g->alive[s]) {
        token = g->chosen[tfn__step_beams(g, step, s) + k];
        beam = g->parent[tfn__step_beams(g, step, s) + k];
    }
    g->next[row] = token;
    g->from[row] = i * g->width + beam;
}

/* Sets the rows of the sentences that continue, without gaps, and drops the finished sentences. */
static void tfn__next_rows(tfn_generator *g, const tfn_batch *x)
{
    int32_t live = 0;
    for (int32_t i = 0; i < g->live; i++) {
        const int32_t s = g->order[i];
        if (!g->alive[s]) continue;
        for (int32_t k = 0; k < g->width; k++) tfn__next_row(g, x, live * g->width + k, i, k);
        g->order[live] = s;
        live++;
    }
    g->live = live;
}

/* Moves row from[r] of the caches to row r. Rows of the past may move in any order. In the memory's
 * caches all beams of a sentence are equal, so rows move only to close the gap of a finished
 * sentence. Each then comes from a later row, so copying in place from the first row on is safe. */
static void tfn__move_rows(tfn_generator *g)
{
    tfn_decoder *d = &g->decoder;
    const int32_t rows = g->live * g->width;
    bool moved = false;
    for (int32_t r = 0; r < rows; r++) moved |= g->from[r] != r;
    for (int32_t r = rows; r < d->run.batch; r++) g->from[r] = r;
    if (moved) tfn__reorder(d, g->from);
    if (moved && d->started)
        for (int32_t r = 0; r < rows; r++)
            if (g->from[r] / g->width != r / g->width) tfn__copy_row(d, r, g->from[r], false);
    d->run.batch = rows;
}

/* -- candidates ------------------------------------------------------------------------------ */

/* A candidate is a beam and a token that may continue it. Over all beams of a sentence, the `room`
 * candidates with the largest sums of log p are kept. */

/* True if the token ends a text. */
static bool tfn__is_end(const tfn_generate_desc *d, int32_t token)
{
    if (token == d->end) return true;
    for (int32_t i = 0; i < d->ends_count; i++)
        if (d->ends[i] == token) return true;
    return false;
}

/* True if a step may not choose the token. An end is forbidden before step min_tokens and allowed
 * from then on, even if it is in the list of forbidden tokens. */
static bool tfn__forbidden(const tfn_generate_desc *d, int32_t token, int32_t step)
{
    if (tfn__is_end(d, token)) return step < d->min_tokens;
    for (int32_t i = 0; i < d->forbidden_count; i++)
        if (d->forbidden[i] == token) return true;
    return false;
}

/* Inserts a candidate. If there are `room` already, it replaces the worst, so the caller must have
 * checked that it is better. Among equals, the earlier one is first. */
static void tfn__offer(tfn_generator *g, double score, int32_t beam, int32_t token)
{
    int32_t i = g->room - 1;
    if (g->count < g->room) i = g->count++;
    for (; i > 0; i--) {
        if (!(score > g->score[i - 1])) break;
        g->score[i] = g->score[i - 1];
        g->row[i] = g->row[i - 1];
        g->token[i] = g->token[i - 1];
    }
    g->score[i] = score;
    g->row[i] = beam;
    g->token[i] = token;
}

/* Offers all continuations of a beam. `base` is its sum of log p minus log sum exp x. Most tokens
 * are worse than the worst candidate, so the loop tests that first. */
static void tfn__offer_all(tfn_generator *g, const float *x, double base, int32_t beam,
                           int32_t step)
{
    const int32_t vocab = g->decoder.model->desc.vocab;
    double least = -HUGE_VAL;
    if (g->count == g->room) least = g->score[g->room - 1];
    for (int32_t v = 0; v < vocab; v++) {
        const double score = base + (double)x[v];
        if (!(score > least) || tfn__forbidden(&g->desc, v, step)) continue;
        tfn__offer(g, score, beam, v);
        if (g->count == g->room) least = g->score[g->room - 1];
    }
}

/* Returns log sum exp x of a row of logits. */
static double tfn__log_sum_exp(tfn_generator *g, const float *x)
{
    const double y = tfn__log_sum(g->decoder.model->kernels, g->weights, x,
                                  g->decoder.model->desc.vocab);
    if (!(y - y >= 0))                          /* infinity or NaN */
        tfn__fail(&g->error, TFN_NOT_FINITE, "generator", "the logits are not finite", 0, 0);
    return y;
}

/* -- draws ----------------------------------------------------------------------------------- */

/* Tokens are drawn with the weights softmax(x / temperature). top_k (Fan et al. 2018) and top_p,
 * nucleus sampling (Holtzman et al. 2020), draw only from the tokens with the largest weights. A
 * heap yields these in order, so a nucleus of m tokens costs m pops instead of a sort of the
 * vocabulary. */

/* The order of the heap: the largest weight first, and among equals the smallest token. */
static bool tfn__lighter(const void *weights, int32_t a, int32_t b)
{
    const float *w = (const float *)weights;
    return w[a] < w[b] || (!(w[b] < w[a]) && a > b);
}

static void tfn__make_heap(int32_t *heap, const float *w, int32_t n)
{
    for (int32_t i = 0; i < n; i++) heap[i] = i;
    for (int32_t i = n / 2; i-- > 0;) tfn__sink(heap, i, n, tfn__lighter, w);
}

/* Pops the largest of the rest from a heap that had n entries, i of which are popped. Popped
 * entries follow the heap: entry i, from 0, is heap[n - 1 - i]. */
static int32_t tfn__pop(int32_t *heap, const float *w, int32_t i, int32_t n)
{
    const int32_t top = heap[0];
    heap[0] = heap[n - 1 - i];
    heap[n - 1 - i] = top;
    tfn__sink(heap, 0, n - 1 - i, tfn__lighter, w);
    return top;
}

static double tfn__sum_weights(const float *w, int32_t n)
{
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += (double)w[i];
    return sum;
}

/* Returns how many of n tokens top_k keeps. */
static int32_t tfn__top_k(const tfn_generate_desc *d, int32_t n)
{
    if (d->top_k > 0 && d->top_k < n) return d->top_k;
    return n;
}

/* Pops the tokens to draw from. Returns their number; *total is their weight. top_k applies first.
 * Then the nucleus is the smallest set with at least top_p of the weight that top_k kept. */
static int32_t tfn__truncate(const tfn_generate_desc *d, int32_t *heap, const float *w, int32_t n,
                             double *total)
{
    const int32_t keep = tfn__top_k(d, n);
    int32_t out = 0;                            /* popped so far */
    double mass = 0;
    tfn__make_heap(heap, w, n);
    *total = 0;
    if (keep < n)
        for (; out < keep; out++) *total += (double)w[tfn__pop(heap, w, out, n)];
    else *total = tfn__sum_weights(w, n);
    if (!(d->top_p < 1)) return keep;

    for (int32_t i = 0; i < keep; i++) {
        if (i == out) {
            tfn__pop(heap, w, out, n);
            out++;
        }
        mass += (double)w[heap[n - 1 - i]];
        if (mass >= (double)d->top_p * *total) {
            *total = mass;
            return i + 1;
        }
    }
    return keep;
}

/* Divides [0, 1) into intervals proportional to the weights, and returns the token whose interval
 * contains u. Returns -1 if all weights are 0. If rounding puts u beyond the last interval, returns
 * the last token with a weight. */
static int32_t tfn__draw_token(tfn_generator *g, int32_t n, double u)
{
    const tfn_generate_desc *d = &g->desc;
    const float *w = g->weights;
    const bool truncated = tfn__top_k(d, n) < n || d->top_p < 1;
    double total;
    double sum = 0;
    int32_t keep = n;
    int32_t found = -1;
    if (truncated) keep = tfn__truncate(d, g->heap, w, n, &total);
    else total = tfn__sum_weights(w, n);
    if (!(total > 0)) return -1;

    for (int32_t i = 0; i < keep; i++) {
        int32_t v = i;
        if (truncated) v = g->heap[n - 1 - i];
        if (w[v] > 0) found = v;
        sum += (double)w[v];
        if (sum > u * total) break;
    }
    return found;
}

/* Draws one candidate. The random number depends on (key, id, step), so a text depends neither on
 * other sentences of the call nor on its place among them. */
static void tfn__offer_drawn(tfn_generator *g, const float *x, double base, int32_t step,
                             uint64_t id)
{
    const tfn_generate_desc *d = &g->desc;
    const tfn_kernels *k = g->decoder.model->kernels;
    const int32_t n = g->decoder.model->desc.vocab;
    const uint64_t bits = tfn_random_bits(tfn_key_fold(d->key, id), (uint64_t)step);
    const double u = (double)(bits >> 11) * (1.0 / 9007199254740992.0);     /* 53 bits */
    int32_t v;

    /* softmax(x / temperature), with weight 0 for forbidden tokens */
    k->combine(g->weights, x, NULL, n, 1 / d->temperature, 0, false);
    for (int32_t i = 0; i < d->forbidden_count; i++)
        if (!tfn__is_end(d, d->forbidden[i])) g->weights[d->forbidden[i]] = (float)-HUGE_VAL;
    if (d->end >= 0 && step < d->min_tokens) g->weights[d->end] = (float)-HUGE_VAL;
    if (step < d->min_tokens)
        for (int32_t i = 0; i < d->ends_count; i++) g->weights[d->ends[i]] = (float)-HUGE_VAL;
    k->softmax_forward(g->weights, g->weights, 1, n);

    v = tfn__draw_token(g, n, u);
    if (v >= 0) tfn__offer(g, base + (double)x[v], 0, v);
}

/* -- hypotheses ------------------------------------------------------------------------------ */

/* A hypothesis is an index of the arrays of the result: tokens, length, score and stop. */
static void tfn__copy_hypothesis(tfn_generator *g, ptrdiff_t to, ptrdiff_t from)
{
    g->lengths[to] = g->lengths[from];
    g->scores[to] = g->scores[from];
    g->stops[to] = g->stops[from];
    TFNORM_MEMCPY(g->tokens + to * g->most, g->tokens + from * g->most,
                  (size_t)g->lengths[from] * sizeof *g->tokens);
}

/* Returns why a text stops with this token. An end that was forced at the last step does not count
 * as TFN_STOP_END. */
static int32_t tfn__stop_of(const tfn_generator *g, int32_t s, int32_t step, int32_t token)
{
    const bool forced = tfn__forces_end(&g->desc) && step == g->last[s];
    if (tfn__is_end(&g->desc, token) && !forced) return TFN_STOP_END;
    if (g->cut[s]) return TFN_STOP_CONTEXT;
    return TFN_STOP_LENGTH;
}

/* Ends candidate i of sentence s at this step: inserts it after the hypotheses that are at least as
 * good, and traces its tokens back from beam to beam. */
static void tfn__finish(tfn_generator *g, int32_t s, int32_t step, int32_t i)
{
    const ptrdiff_t first = tfn__first_beam(g, s);
    const int32_t length = step + 1;
    const float score = (float)(g->score[i] / tfn__pow(length, (double)g->desc.length_penalty));
    ptrdiff_t at = first + g->found[s];
    int32_t beam = g->row[i];
    int32_t *text;
    for (; at > first; at--) {
        if (!(score > g->scores[at - 1])) break;
        tfn__copy_hypothesis(g, at, at - 1);
    }
    g->found[s]++;
    g->scores[at] = score;
    g->lengths[at] = length;
    g->stops[at] = tfn__stop_of(g, s, step, g->token[i]);

    text = g->tokens + at * g->most;
    text[step] = g->token[i];
    for (int32_t t = step; t-- > 0;) {
        const ptrdiff_t cell = tfn__step_beams(g, t, s) + beam;
        text[t] = g->chosen[cell];
        beam = g->parent[cell];
    }
}

/* Ends or continues the beams of a sentence by fairseq's rule. Of the best `width` candidates,
 * those that end become hypotheses. The best `width` candidates that do not end continue as beams.
 * A sentence is finished when it has `width` hypotheses, or after its last step, where every
 * candidate ends. */
static void tfn__advance(tfn_generator *g, int32_t s, int32_t step)
{
    const ptrdiff_t beams = tfn__step_beams(g, step, s);
    const bool last = step == g->last[s];
    int32_t kept = 0;
    for (int32_t i = 0; i < g->count; i++) {
        if (kept == g->width) break;
        if (last || tfn__is_end(&g->desc, g->token[i])) {
            if (i < g->width && g->found[s] < g->width) tfn__finish(g, s, step, i);
            continue;
        }
        g->chosen[beams + kept] = g->token[i];
        g->parent[beams + kept] = g->row[i];
        g->sums[tfn__first_beam(g, s) + kept] = g->score[i];
        kept++;
    }
    g->alive[s] = kept;
    if (last || g->found[s] == g->width) g->alive[s] = 0;
    if (!g->alive[s] && !g->found[s])
        tfn__fail(&g->error, TFN_NOT_FINITE, "generator", "sentence %d has nothing to choose", s,
                  0);
}

/* -- steps ----------------------------------------------------------------------------------- */

/* Does one step of sentence s, whose first row of logits is x: collects candidates from all of its
 * beams, then ends or continues them. */
static void tfn__choose(tfn_generator *g, int32_t s, const float *x, uint64_t id)
{
    const tfn_generate_desc *d = &g->desc;
    const int32_t step = g->fed - g->begin[s];
    const int32_t vocab = g->decoder.model->desc.vocab;
    const bool forced = tfn__forces_end(d) && step == g->last[s];
    g->count = 0;
    for (int32_t k = 0; k < g->alive[s]; k++, x += vocab) {
        const double sum = g->sums[tfn__first_beam(g, s) + k];
        const double base = sum - tfn__log_sum_exp(g, x);
        if (g->error.status != TFN_OK) return;
        if (forced) tfn__offer(g, base + (double)x[d->end], k, d->end);
        else if (d->temperature > 0) tfn__offer_drawn(g, x, base, step, id);
        else tfn__offer_all(g, x, base, k, step);
    }
    tfn__advance(g, s, step);
}

/* Does one step of all sentences that are past their prompts. Each has `rows` rows of logits. */
static void tfn__choose_all(tfn_generator *g, const float *logits, const int64_t *ids, int32_t rows)
{
    const ptrdiff_t each = (ptrdiff_t)rows * g->decoder.model->desc.vocab;
    for (int32_t i = 0; i < g->live; i++) {
        const int32_t s = g->order[i];
        int64_t id = s;
        if (ids) id = ids[s];
        if (g->error.status != TFN_OK) return;
        if (g->fed >= g->begin[s]) tfn__choose(g, s, logits + i*each, (uint64_t)id);
    }
}

/* The prompts are fed, and the first tokens chosen, with one row a sentence, because all its beams
 * would be equal. Later steps have one row a beam. */
TFNORM_API tfn_status tfn_generator_run(tfn_generator *g, const tfn_batch *batch,
                                        const int64_t *ids)
{
    const float *logits;
    if (!g) return TFN_NULL;
    if (g->error.status == TFN_NOT_FINITE) g->error.status = TFN_OK;
    tfn__forgive(&g->error);
    tfn__made(&g->error, "generator", g->tokens);
    if (!batch) tfn__fail(&g->error, TFN_BAD_BATCH, "batch", "the batch is NULL", 0, 0);
    if (g->error.status != TFN_OK || !tfn__check_prompts(g, batch)) return g->error.status;

    tfn__begin_sentences(g, batch);
    logits = tfn__feed_prompts(g, batch);
    if (logits) {
        tfn__choose_all(g, logits, ids, 1);
        if (g->width > 1) tfn__spread_beams(g);
    }
    while (logits) {
        if (g->error.status != TFN_OK) return g->error.status;
        tfn__next_rows(g, batch);               /* the sentences that continue, and their tokens */
        if (!g->live) return TFN_OK;
        tfn__move_rows(g);
        logits = tfn_decoder_next(&g->decoder, g->next, 1, NULL);
        g->fed++;
        if (logits) tfn__choose_all(g, logits, ids, g->width);
    }
    g->error = g->decoder.error;                /* without logits, the decoder failed */
    return g->error.status;
}
TFN__SMALL_END
