/* Text from models. Compared with a slow search by fairseq's rules, which runs the full forward for
 * every prefix, and with all texts of a tiny vocabulary; draws with their distribution. No result
 * depends on batch, padding, threads or instruction set. test_generate_bare.c compiles this file
 * without training. */
#include "../lib.h"
#include "../check.h"
#include "../digest.h"

enum { GENERATE_V = 11, GENERATE_T = 14, GENERATE_TS = 9, GENERATE_N = 4, GENERATE_BEAM = 5,
       GENERATE_PAD = 1, GENERATE_END = 2, GENERATE_TEXTS = 64 };

/* -- models and prompts -------------------------------------------------------------------- */

static tfn_model_desc generate_desc(const char *recipe, tfn_arch arch)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.recipe = recipe;
    d.arch = arch;
    d.vocab = GENERATE_V;
    d.context = GENERATE_T;
    d.source_context = arch == TFN_ARCH_ENCODER_DECODER ? GENERATE_TS : 0;
    d.width = 16;
    d.heads = 2;
    d.layers = 2;
    d.batch = GENERATE_N;
    d.threads = 1;
#ifdef TFNORM_NO_TRAINING
    d.inference = true;
#endif
    return d;
}

/* Initial values give almost equal scores; larger random weights make the texts differ. */
static void generate_model(tfn_model *m, const tfn_model_desc *d, uint64_t seed)
{
    tfn_param_info p;
    char text[200];
    if (tfn_model_new(m, d, NULL) != TFN_OK)
        FAIL("%s: %s", d->recipe, tfn_error_text(&m->error, text, sizeof text));
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        tfn_key key = tfn_key_fold(tfn_key_make(seed), (uint64_t)i);
        for (int32_t j = 0; !strstr(p.name, "running") && j < p.rows * p.cols; j++)
            p.data[j] += (float)0.35 * tfn_random_normal(key, (uint64_t)j);
    }
}

typedef struct generate_case {
    tfn_model m;
    tfn_batch batch;
    int32_t tokens[GENERATE_N * GENERATE_T], source[GENERATE_N * GENERATE_TS];
    int32_t lengths[GENERATE_N], source_lengths[GENERATE_N];
} generate_case;

/* Sentences of different lengths, followed by garbage that must not be read. */
static void generate_fill(generate_case *c, uint64_t seed, bool prompts)
{
    tfn_key key = tfn_key_make(seed);
    memset(&c->batch, 0, sizeof c->batch);
    c->batch.batch = GENERATE_N;
    for (int32_t s = 0; s < GENERATE_N; s++) {
        c->lengths[s] = 1 + (int32_t)(tfn_random_bits(key, (uint64_t)s) % 5);
        c->source_lengths[s] = 1 + (int32_t)(tfn_random_bits(key, 50 + (uint64_t)s) % GENERATE_TS);
        for (int32_t t = 0; t < GENERATE_T; t++)
            c->tokens[s * GENERATE_T + t] = t < c->lengths[s]
                ? (int32_t)(tfn_random_bits(key, 1000 + (uint64_t)(s*100 + t)) % GENERATE_V) : -7;
        for (int32_t t = 0; t < GENERATE_TS; t++)
            c->source[s * GENERATE_TS + t] =
                (int32_t)(tfn_random_bits(key, 2000 + (uint64_t)(s*100 + t)) % GENERATE_V);
    }
    if (prompts) {
        c->batch.tokens = c->tokens;
        c->batch.lengths = c->lengths;
        c->batch.time = GENERATE_T;
    }
    if (c->m.desc.arch != TFN_ARCH_ENCODER_DECODER) return;
    c->batch.source = c->source;
    c->batch.source_lengths = c->source_lengths;
    c->batch.source_time = GENERATE_TS;
}

/* One sentence of a batch, without padding. */
static tfn_batch generate_one(const tfn_batch *all, int32_t s)
{
    tfn_batch x = *all;
    x.batch = 1;
    if (x.tokens) {
        x.tokens += s * x.time;
        x.time = x.lengths ? x.lengths[s] : x.time;
        x.lengths = NULL;
    }
    if (x.source) {
        x.source += s * x.source_time;
        x.source_time = x.source_lengths ? x.source_lengths[s] : x.source_time;
        x.source_lengths = NULL;
    }
    return x;
}

typedef struct generate_maker { tfn_generator g; void *mem; size_t size; } generate_maker;

static const int32_t generate_forbidden[] = { GENERATE_PAD };

static tfn_generate_desc generate_options(int32_t beam)
{
    tfn_generate_desc o;
    memset(&o, 0, sizeof o);
    o.sentences = GENERATE_N;
    o.beam = beam;
    o.max_tokens = 6;
    o.end = GENERATE_END;
    o.forbidden = generate_forbidden;
    o.forbidden_count = 1;
    return o;
}

static size_t generate_size(const tfn_model *m, const tfn_generate_desc *o)
{
    size_t scratch = tfn_model_scratch(&m->desc), size;
    void *aside = malloc(scratch);
    size = aside ? tfn_generator_size(m, o, aside, scratch) : 0;
    free(aside);
    return size;
}

static bool generate_start(generate_maker *x, const tfn_model *m, const tfn_generate_desc *o)
{
    char text[200];
    memset(x, 0, sizeof *x);
    x->size = generate_size(m, o);
    x->mem = malloc(x->size + 1);
    if (!x->mem || !x->size) FAIL("no size");
    else memset(x->mem, 0xff, x->size);             /* NaN: nothing stale may be read */
    if (x->size && tfn_generator_init(&x->g, m, o, x->mem, x->size) == TFN_OK) return true;
    FAIL("no generator: %s", tfn_error_text(&x->g.error, text, sizeof text));
    free(x->mem);
    return false;
}

static bool generate_run(tfn_generator *g, const tfn_batch *batch, const int64_t *ids)
{
    char text[200];
    if (tfn_generator_run(g, batch, ids) == TFN_OK) return true;
    FAIL("run: %s", tfn_error_text(&g->error, text, sizeof text));
    return false;
}

/* -- fairseq's search, slowly -------------------------------------------------------------- */

typedef struct generate_text { int32_t tokens[GENERATE_T + 1],
                               length; double score; } generate_text;
typedef struct generate_candidate { double score; int32_t beam, token; } generate_candidate;

static int generate_by_score(const void *a, const void *b)
{
    const generate_candidate *x = (const generate_candidate *)a, *y = (const generate_candidate *)b;
    if (x->score > y->score || x->score < y->score) return x->score > y->score ? -1 : 1;
    return x->beam != y->beam ? x->beam - y->beam : x->token - y->token;
}
static int generate_by_total(const void *a, const void *b)
{
    double x = ((const generate_text *)a)->score, y = ((const generate_text *)b)->score;
    return (x < y) - (x > y);
}

/* log p of the next token after a prompt and a text: the full forward, with libm. */
static void generate_log_p(double *lp, tfn_model *m, const tfn_batch *one, const generate_text *x)
{
    const int32_t end = GENERATE_END;
    int32_t tokens[2 * GENERATE_T], n = one->tokens ? one->time : 1;
    const float *logits;
    double sum = 0, most = -1e300;
    tfn_batch b = *one;
    memcpy(tokens, one->tokens ? one->tokens : &end, (size_t)n * sizeof *tokens);
    memcpy(tokens + n, x->tokens, (size_t)x->length * sizeof *tokens);
    b.tokens = tokens;
    b.time = n + x->length;
    logits = tfn_model_logits(m, &b);
    if (!logits) {
        FAIL("no logits");
        memset(lp, 0, sizeof *lp * (size_t)m->desc.vocab);
        return;
    }
    logits += (b.time - 1) * m->desc.vocab;
    for (int32_t v = 0; v < m->desc.vocab; v++) most = fmax(most, (double)logits[v]);
    for (int32_t v = 0; v < m->desc.vocab; v++) sum += exp((double)logits[v] - most);
    for (int32_t v = 0; v < m->desc.vocab; v++) lp[v] = (double)logits[v] - most - log(sum);
}

/* fairseq, sequence_generator.py and search.py, for one sentence. Returns hypotheses, best
 * first. */
static int generate_reference(generate_text *done, tfn_model *m, const tfn_batch *one,
                              const tfn_generate_desc *o, int32_t max_len, double lambda)
{
    static generate_text live[GENERATE_TEXTS], next[GENERATE_TEXTS];
    static generate_candidate all[GENERATE_TEXTS * GENERATE_V];
    int beam = o->beam, alive = 1, finished = 0, vocab = m->desc.vocab;
    memset(live, 0, sizeof live);
    for (int step = 0; step <= max_len; step++) {
        int n = 0, kept = 0;
        for (int k = 0; k < alive; k++) {
            double lp[GENERATE_V];
            generate_log_p(lp, m, one, live + k);
            lp[GENERATE_PAD] = -INFINITY;
            for (int v = 0; v < vocab; v++) {
                if (step >= max_len && v != o->end) lp[v] = -INFINITY;
                if (step < (o->min_tokens ? o->min_tokens : 1) && step < max_len && v == o->end)
                    lp[v] = -INFINITY;
                all[n].score = live[k].score + lp[v];
                all[n].beam = k;
                all[n++].token = v;
            }
        }
        qsort(all, (size_t)n, sizeof *all, generate_by_score);
        for (int i = 0; i < n && i < 2*beam; i++) {
            generate_text t = live[all[i].beam];
            if (!(all[i].score > -INFINITY)) break;
            t.tokens[t.length++] = all[i].token;
            t.score = all[i].score;
            if (all[i].token != o->end) {
                if (kept < beam) next[kept++] = t;
            } else if (i < beam && finished < beam) {
                t.score /= pow(t.length, lambda);
                done[finished++] = t;
            }
        }
        memcpy(live, next, sizeof live);
        alive = kept;
        if (finished == beam || !alive) break;
    }
    qsort(done, (size_t)finished, sizeof *done, generate_by_total);
    return finished;
}

static void generate_compare(const tfn_generator *g, int32_t s, const generate_text *done, int n,
                             const char *what)
{
    for (int k = 0; k < g->width; k++) {
        int32_t at = s * g->width + k;
        if (g->lengths[at] != (k < n ? done[k].length : 0)) {
            FAIL("%s: sentence %d, %d: %d tokens, not %d", what, (int)s, k, (int)g->lengths[at],
                 k < n ? (int)done[k].length : 0);
            return;
        }
        if (k >= n) continue;
        if (memcmp(g->tokens + at * g->most, done[k].tokens,
                   (size_t)done[k].length * sizeof *g->tokens))
            FAIL("%s: sentence %d, hypothesis %d differs", what, (int)s, k);
        CHECK_CLOSE((double)g->scores[at], done[k].score, 2e-5);
    }
}

static const char *const generate_recipes[] = { "pre", "post", "b2t", "dlcl", "resi-dual", "ngpt",
                                                "batchnorm", "transparent", "dense", "qk-head" };
enum { GENERATE_RECIPES = sizeof generate_recipes / sizeof *generate_recipes };

/* Every sentence of the batch equals the slow search, and itself in a batch of one, to the bit. */
static void generate_check_beam(generate_case *c, int32_t beam, float lambda, bool none)
{
    static generate_text done[GENERATE_TEXTS];
    tfn_generate_desc o = generate_options(beam);
    generate_maker all, one;
    char what[100];
    o.length_penalty = lambda;
    o.unnormalized = none;
    o.max_ratio = c->batch.source ? (float)0.5 : 0;
    o.min_tokens = beam % 2 ? 0 : 2;
    snprintf(what, sizeof what, "%s arch %d beam %d power %g", c->m.desc.recipe,
             (int)c->m.desc.arch, (int)beam, none ? 0 : (double)lambda);
    if (!generate_start(&all, &c->m, &o)) return;
    generate_run(&all.g, &c->batch, NULL);
    o.sentences = 1;
    if (!generate_start(&one, &c->m, &o)) return;
    for (int32_t s = 0; s < c->batch.batch; s++) {
        tfn_batch x = generate_one(&c->batch, s);
        int32_t most = 6 + (x.source ? x.source_time / 2 : 0), w = all.g.width;
        int32_t room = GENERATE_T - (x.tokens ? x.time : 1);
        int n = generate_reference(done, &c->m, &x, &o, most < room ? most : room,
                                   none ? 0 : (double)lambda);
        generate_compare(&all.g, s, done, n, what);
        generate_run(&one.g, &x, NULL);
        CHECK_BITS(one.g.lengths, all.g.lengths + s*w, (size_t)w * sizeof(int32_t));
        CHECK_BITS(one.g.scores, all.g.scores + s*w, (size_t)w * sizeof(float));
        for (int32_t k = 0; k < w; k++)
            CHECK_BITS(one.g.tokens + k * one.g.most, all.g.tokens + (s*w + k) * all.g.most,
                       (size_t)one.g.lengths[k] * sizeof(int32_t));
    }
    free(all.mem);
    free(one.mem);
}

TEST(generate_beams)
{
    static const float powers[] = { 1, (float)0.6, (float)1.2, 3 };
    static generate_case c;
    for (int i = 0; i < 2 * GENERATE_RECIPES; i++) {
        tfn_model_desc d = generate_desc(generate_recipes[i / 2],
                                         i % 2 ? TFN_ARCH_ENCODER_DECODER : TFN_ARCH_DECODER);
        d.threads = HOOK_THREADS(1 + i % 3);
        generate_model(&c.m, &d, (uint64_t)i);
        for (int round = 0; round < 4; round++) {
            generate_fill(&c, (uint64_t)(100*i + round), i % 2 == 0 || round % 2);
            generate_check_beam(&c, 1 + (i + round) % GENERATE_BEAM, powers[round], round == 3);
        }
        tfn_model_free(&c.m);
    }
}

/* -- all texts ----------------------------------------------------------------------------- */

static int generate_enumerate(generate_text *list, int n, tfn_model *m, const tfn_batch *one,
                              generate_text prefix, int32_t most)
{
    double lp[GENERATE_V];
    generate_text t = prefix;
    generate_log_p(lp, m, one, &prefix);
    t.length++;
    for (int32_t v = 0; v < m->desc.vocab; v++) {
        if (v == GENERATE_PAD || (v == GENERATE_END && !prefix.length)) continue;
        t.tokens[prefix.length] = v;
        t.score = prefix.score + lp[v];
        if (v == GENERATE_END) {
            list[n] = t;
            list[n++].score /= t.length;
        } else if (prefix.length < most) n = generate_enumerate(list, n, m, one, t, most);
    }
    return n;
}

/* With more beams than texts the search finds all, in order. */
TEST(generate_exhaustive)
{
    static generate_text list[GENERATE_TEXTS];
    static generate_case c;
    static const struct { const char *recipe; tfn_arch arch; int32_t vocab, tokens; int texts; }
    cases[] = {         /* most tokens of a text; vocabulary without padding and end; texts */
        { "pre",  TFN_ARCH_ENCODER_DECODER, 4, 4, 2 + 4 + 8 + 16 },
        { "post", TFN_ARCH_DECODER,         5, 3, 3 + 9 + 27 },
        { "pre",  TFN_ARCH_DECODER,         4, 4, 2 + 4 + 8 + 16 },
        { "post", TFN_ARCH_ENCODER_DECODER, 5, 3, 3 + 9 + 27 }
    };
    for (int i = 0; i < 4; i++) {
        tfn_model_desc d = generate_desc(cases[i].recipe, cases[i].arch);
        tfn_generate_desc o = generate_options(GENERATE_TEXTS - 1);
        generate_text none;
        generate_maker x;
        CASE("case %d: %s, arch %d", i, cases[i].recipe, (int)cases[i].arch);
        d.vocab = cases[i].vocab;
        generate_model(&c.m, &d, 70 + (uint64_t)i);
        generate_fill(&c, (uint64_t)i, true);
        for (int j = 0; j < GENERATE_N * GENERATE_T; j++)
            c.tokens[j] = c.tokens[j] < 0 ? -1 : c.tokens[j] % d.vocab;
        for (int j = 0; j < GENERATE_N * GENERATE_TS; j++) c.source[j] %= d.vocab;
        memset(&none, 0, sizeof none);
        o.max_tokens = cases[i].tokens;
        if (!generate_start(&x, &c.m, &o)) return;
        generate_run(&x.g, &c.batch, NULL);
        for (int32_t s = 0; s < GENERATE_N; s++) {
            tfn_batch one = generate_one(&c.batch, s);
            int n = generate_enumerate(list, 0, &c.m, &one, none, o.max_tokens);
            CHECK_INT(n, cases[i].texts);
            qsort(list, (size_t)n, sizeof *list, generate_by_total);
            generate_compare(&x.g, s, list, n, "all texts");
        }
        free(x.mem);
        tfn_model_free(&c.m);
    }
}

/* Greedy takes the most likely token at each step. One beam does the same, except for a forced end.
 * Without an end token texts are cut. */
TEST(generate_greedy)
{
    static generate_case c;
    for (int i = 0; i < 6; i++) {
        tfn_model_desc d = generate_desc(generate_recipes[i], i % 2 ? TFN_ARCH_ENCODER_DECODER
                                         : TFN_ARCH_DECODER);
        tfn_generate_desc o = generate_options(0);
        generate_maker greedy, beam;
        generate_model(&c.m, &d, 40 + (uint64_t)i);
        generate_fill(&c, 7 + (uint64_t)i, true);
        o.end = i < 4 ? GENERATE_END : -1;
        if (!generate_start(&greedy, &c.m, &o)) return;
        o.beam = 1;
        if (!generate_start(&beam, &c.m, &o)) return;
        generate_run(&greedy.g, &c.batch, NULL);
        generate_run(&beam.g, &c.batch, NULL);
        for (int32_t s = 0; s < GENERATE_N; s++) {
            tfn_batch one = generate_one(&c.batch, s);
            const int32_t n = greedy.g.lengths[s], *text = greedy.g.tokens + s * greedy.g.most;
            generate_text t;
            double score = 0;
            memset(&t, 0, sizeof t);
            CHECK(n >= 1 && n <= 6);
            for (int32_t j = 0; j < n; j++) {
                double lp[GENERATE_V];
                int32_t best = -1;
                generate_log_p(lp, &c.m, &one, &t);
                for (int32_t v = 0; v < GENERATE_V; v++)
                    if (v != GENERATE_PAD && (v != o.end || j) && (best < 0 || lp[v] > lp[best]))
                        best = v;
                CHECK_INT(text[j], best);
                score += lp[best];
                t.tokens[t.length++] = text[j];
            }
            CHECK(n == 6 || text[n - 1] == o.end);
            CHECK_CLOSE((double)greedy.g.scores[s], score / n, 2e-5);
            CHECK_INT(beam.g.lengths[s], n + (i < 4 && text[n - 1] != o.end));
            CHECK_BITS(beam.g.tokens + s * beam.g.most, text, (size_t)n * sizeof *text);
        }
        free(greedy.mem);
        free(beam.mem);
        tfn_model_free(&c.m);
    }
}

/* Further ends stop a text like the end, greedy or drawn: none is inside a text, even if they are
 * forbidden, or comes before min_tokens. */
TEST(generate_ends)
{
    static generate_case c;
    static const int32_t ends[] = { 2, 4 };
    tfn_model_desc d = generate_desc("pre", TFN_ARCH_DECODER);
    int shorter = 0;
    generate_model(&c.m, &d, 5);
    for (int i = 0; i < 8; i++) {
        tfn_generate_desc o = generate_options(0);
        generate_maker all, cut;
        generate_fill(&c, (uint64_t)i, true);
        o.temperature = i % 2 ? 1.0f : 0.0f;
        o.key = tfn_key_make((uint64_t)i);
        if (!generate_start(&all, &c.m, &o)) return;
        o.ends = ends;
        o.ends_count = 2;
        o.forbidden = ends;
        if (!generate_start(&cut, &c.m, &o)) return;
        generate_run(&all.g, &c.batch, NULL);
        generate_run(&cut.g, &c.batch, NULL);
        for (int32_t s = 0; s < GENERATE_N; s++) {
            const int32_t *text = cut.g.tokens + s * cut.g.most;
            const int32_t n = cut.g.lengths[s];
            const int32_t last = n ? text[n - 1] : -1;
            const bool ended = last == ends[0] || last == ends[1] || last == o.end;
            CHECK(n > 0);
            CHECK_INT(cut.g.stops[s] == TFN_STOP_END, ended);
            CHECK(ended || n == all.g.lengths[s] || n == 6);
            for (int32_t t = 0; t + 1 < n; t++)
                CHECK(text[t] != ends[0] && text[t] != ends[1] && text[t] != o.end);
            CHECK(n > 1 || !ended);
            shorter += n < all.g.lengths[s];
        }
        free(all.mem);
        free(cut.mem);
    }
    CHECK(shorter > 2);
    tfn_model_free(&c.m);
}

/* A full context: its rest limits the text, and the last position is used. */
TEST(generate_limits)
{
    static generate_case c;
    tfn_model_desc d = generate_desc("pre", TFN_ARCH_DECODER);
    generate_model(&c.m, &d, 5);
    for (int32_t beam = 0; beam < 3; beam++)
        for (int32_t n = 1; n <= GENERATE_T; n += n < GENERATE_T - 2 ? 5 : 1) {
            tfn_generate_desc o = generate_options(beam);
            generate_maker x;
            o.max_tokens = 0;
            o.end = beam == 2 ? -1 : GENERATE_END;
            o.min_tokens = 100;
            generate_fill(&c, 3, true);
            c.batch.lengths = NULL;
            for (int32_t i = 0; i < GENERATE_N * n; i++) c.tokens[i] = i % GENERATE_V;
            c.batch.time = n;
            if (!generate_start(&x, &c.m, &o)) return;
            generate_run(&x.g, &c.batch, NULL);
            for (int32_t s = 0; s < GENERATE_N * x.g.width; s++) {
                const int32_t *text = x.g.tokens + s * x.g.most;
                CHECK_INT(x.g.lengths[s], GENERATE_T - n + 1);
                for (int32_t t = 0; t < x.g.lengths[s]; t++)
                    CHECK((text[t] == GENERATE_END) == (beam == 1 && t == GENERATE_T - n)
                          || o.end < 0);
            }
            free(x.mem);
        }
    tfn_model_free(&c.m);
}

/* -- draws --------------------------------------------------------------------------------- */

/* Frequencies of the first token over many ids. */
static void generate_frequencies(int32_t *count, generate_case *c, const tfn_generate_desc *o,
                                 int draws)
{
    generate_maker x;
    int64_t ids[GENERATE_N];
    memset(count, 0, GENERATE_V * sizeof *count);
    if (!generate_start(&x, &c->m, o)) return;
    for (int i = 0; i < draws; i += GENERATE_N) {
        for (int s = 0; s < GENERATE_N; s++) ids[s] = i + s;
        if (!generate_run(&x.g, &c->batch, ids)) break;
        for (int s = 0; s < GENERATE_N; s++) count[x.g.tokens[s * x.g.most]]++;
    }
    free(x.mem);
}

/* The distribution after the options: temperature, forbidden, top_k, top_p in that order. */
static void generate_expected(double *p, const double *lp, const tfn_generate_desc *o)
{
    double all = 0, mass = 0;
    int order[GENERATE_V], n = GENERATE_V, keep;
    for (int v = 0; v < n; v++) {
        p[v] = v == GENERATE_PAD || v == GENERATE_END ? 0 : exp(lp[v] / (double)o->temperature);
        order[v] = v;
    }
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (p[order[j]] > p[order[i]]) {
                int t = order[i];
                order[i] = order[j];
                order[j] = t;
            }
    keep = o->top_k && o->top_k < n ? o->top_k : n;
    for (int i = keep; i < n; i++) p[order[i]] = 0;
    for (int i = 0; i < keep; i++) all += p[order[i]];
    for (int i = 0; i < keep; i++) {
        if (o->top_p > 0 && mass >= (double)o->top_p * all) p[order[i]] = 0;
        mass += p[order[i]];
    }
    for (int v = 0; v < n; v++) p[v] /= mass;
}

/* Each text reports why it ended: the model chose the end, it has max_tokens, or the context is
 * full. */
TEST(generate_stops)
{
    static generate_case c;
    int seen[TFN_STOP_COUNT] = { 0 };
    tfn_model_desc d = generate_desc("pre", TFN_ARCH_DECODER);
    generate_model(&c.m, &d, 5);
    for (int round = 0; round < 40; round++) {
        tfn_generate_desc g;
        tfn_generator gen;
        void *scratch = malloc(tfn_model_scratch(&d)), *mem;
        size_t size;
        memset(&g, 0, sizeof g);
        generate_fill(&c, (uint64_t)round, true);
        g.sentences = GENERATE_N;
        g.end = round % 4 == 3 ? -1 : GENERATE_END;
        g.max_tokens = 1 + round % 16;
        g.beam = round % 3 == 0 ? 3 : 0;
        size = tfn_generator_size(&c.m, &g, scratch, tfn_model_scratch(&d));
        mem = malloc(size);
        CHECK(tfn_generator_init(&gen, &c.m, &g, mem, size) == TFN_OK);
        CHECK(tfn_generator_run(&gen, &c.batch, NULL) == TFN_OK);
        for (int32_t i = 0; i < gen.sentences * gen.width; i++) {
            const int32_t n = gen.lengths[i], stop = gen.stops[i];
            const int32_t room = GENERATE_T - c.lengths[i / gen.width];
            const bool ends = n && gen.tokens[(ptrdiff_t)i * gen.most + n - 1] == g.end;
            const bool forces = g.beam && g.end >= 0;
            const int32_t full = g.max_tokens + forces;          /* with a forced end */
            int32_t wanted = TFN_STOP_LENGTH;
            if (!n) continue;
            if (room + 1 < full) wanted = TFN_STOP_CONTEXT;
            if (ends && !(forces && n == (room + 1 < full ? room + 1 : full)))
                wanted = TFN_STOP_END;
            CASE("round %d, text %d", round, i);
            CHECK_INT(stop, wanted);
            seen[stop]++;
        }
        free(mem);
        free(scratch);
    }
    CHECK(seen[TFN_STOP_END] > 5 && seen[TFN_STOP_LENGTH] > 5 && seen[TFN_STOP_CONTEXT] > 5);
    tfn_model_free(&c.m);
}

TEST(generate_draws)
{
    static const struct { float temperature; int32_t top_k; float top_p; } options[] = {
        { 1, 0, 0 }, { (float)0.6, 0, 0 }, { 2, 0, 0 }, { 1, 3, 0 }, { 1, 1, 0 },
        { 1, 0, (float)0.5 }, { 1, 0, (float)0.9 }, { (float)1.5, 5, (float)0.7 }, { 2, 100, 1 },
        { 1, 0, (float)1e-6 }
    };
    static generate_case c;
    const int draws = check_tier() ? 20000 : 4000;
    tfn_model_desc d = generate_desc("pre", TFN_ARCH_DECODER);
    double lp[GENERATE_V], p[GENERATE_V];
    generate_text none;
    tfn_batch one;
    generate_model(&c.m, &d, 3);
    generate_fill(&c, 5, true);
    for (int32_t s = 1; s < GENERATE_N; s++) {
        c.lengths[s] = c.lengths[0];
        memcpy(c.tokens + s * GENERATE_T, c.tokens, GENERATE_T * sizeof *c.tokens);
    }
    memset(&none, 0, sizeof none);
    one = generate_one(&c.batch, 0);
    generate_log_p(lp, &c.m, &one, &none);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        tfn_generate_desc o = generate_options(0);
        int32_t count[GENERATE_V], cells = 0;
        double chi = 0;
        o.max_tokens = 1;
        o.key = tfn_key_make(i);
        o.temperature = options[i].temperature;
        o.top_k = options[i].top_k;
        o.top_p = options[i].top_p;
        generate_frequencies(count, &c, &o, draws);
        generate_expected(p, lp, &o);
        for (int v = 0; v < GENERATE_V; v++) {
            double expected = p[v] * draws;
            if (p[v] <= 0) CHECK_INT(count[v], 0);
            else if (expected > 20) CHECK(count[v] > 0);
            if (expected < 5) continue;
            chi += (count[v] - expected) * (count[v] - expected) / expected;
            cells++;
        }
        if (chi > 30 + cells) FAIL("options %d: chi square %.1f of %d cells", (int)i, chi,
                                   (int)cells);
    }
    tfn_model_free(&c.m);
}

/* All scores are equal: then the first tokens are kept. */
TEST(generate_ties)
{
    static generate_case c;
    tfn_model_desc d = generate_desc("pre", TFN_ARCH_DECODER);
    tfn_generate_desc o = generate_options(0);
    tfn_param_info p;
    int32_t count[GENERATE_V];
    generate_model(&c.m, &d, 3);
    for (int32_t i = 0; tfn_model_param(&c.m, i, &p); i++)
        memset(p.data, 0, (size_t)(p.rows * p.cols) * sizeof *p.data);
    generate_fill(&c, 5, true);
    o.max_tokens = 1;
    o.temperature = 1;
    o.top_k = 4;
    generate_frequencies(count, &c, &o, 400);
    for (int v = 0; v < GENERATE_V; v++)
        CHECK((count[v] > 0) == (v == 0 || v == 3 || v == 4 || v == 5));
    o.top_k = 0;
    o.top_p = (float)0.5;
    generate_frequencies(count, &c, &o, 400);
    for (int v = 0; v < GENERATE_V; v++)
        CHECK((count[v] > 0) == (v == 0 || (v >= 3 && v <= 6)));
    tfn_model_free(&c.m);
}

/* The draws of a text depend only on its id, not on batch, threads or instruction set. */
TEST(generate_same_text)
{
    static generate_case c;
    for (int arch = 0; arch < 2; arch++) {
        tfn_model_desc d = generate_desc("pre", arch ? TFN_ARCH_ENCODER_DECODER : TFN_ARCH_DECODER);
        tfn_generate_desc o = generate_options(0);
        int32_t tokens[GENERATE_N * GENERATE_T], lengths[GENERATE_N], most = 0;
        float scores[GENERATE_N];
        o.temperature = 1;
        o.top_p = (float)0.95;
        o.max_tokens = 9;
        o.key = tfn_key_make(99);
        for (int isa = TFN_ISA_BEST; isa < TFN_ISA_COUNT; isa++)
            for (int threads = 1; threads <= 3; threads += 2) {
                generate_maker x;
                const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
                if (!k || !k->fma) continue;
                d.isa = (tfn_isa)isa;
                d.threads = HOOK_THREADS(threads);
                generate_model(&c.m, &d, 8);
                generate_fill(&c, 4, true);
                o.chunk = threads;
                if (!generate_start(&x, &c.m, &o)) return;
                generate_run(&x.g, &c.batch, NULL);
                if (!most) {
                    most = x.g.most;
                    memcpy(lengths, x.g.lengths, sizeof lengths);
                    memcpy(scores, x.g.scores, sizeof scores);
                    memcpy(tokens, x.g.tokens, (size_t)(GENERATE_N * most) * sizeof *tokens);
                }
                CHECK_BITS(lengths, x.g.lengths, sizeof lengths);
                CHECK_BITS(scores, x.g.scores, sizeof scores);
                for (int s = 0; s < GENERATE_N; s++)
                    CHECK_BITS(x.g.tokens + s*most, tokens + s*most,
                               (size_t)lengths[s] * sizeof *tokens);
                for (int32_t s = GENERATE_N - 1; s >= 0; s--) {
                    tfn_batch one = generate_one(&c.batch, s);
                    int64_t id = s;
                    generate_run(&x.g, &one, &id);
                    CHECK_INT(x.g.lengths[0], lengths[s]);
                    CHECK_BITS(x.g.tokens, tokens + s*most, (size_t)lengths[s] * sizeof *tokens);
                    CHECK_BITS(x.g.scores, scores + s, sizeof *scores);
                }
                free(x.mem);
                tfn_model_free(&c.m);
            }
    }
}

/* -- memory and errors --------------------------------------------------------------------- */

TEST(generate_memory)
{
    static generate_case c;
    enum { GENERATE_GUARD = 4096 };
    for (int i = 0; i < 12; i++) {
        tfn_model_desc d = generate_desc(generate_recipes[i % GENERATE_RECIPES],
                                         i % 2 ? TFN_ARCH_ENCODER_DECODER : TFN_ARCH_DECODER);
        tfn_generate_desc o = generate_options(i % 4);
        unsigned char *block;
        tfn_generator g;
        size_t size;
        o.temperature = o.beam ? 0 : 1;
        o.top_k = 3;
        o.chunk = i % 3;
        d.threads = HOOK_THREADS(1 + i % 2);
        generate_model(&c.m, &d, 1);
        generate_fill(&c, (uint64_t)i, true);
        size = generate_size(&c.m, &o);
        block = (unsigned char *)malloc(size + 64 + 2*GENERATE_GUARD);
        CHECK(size > 0 && block);
        for (size_t shift = 0; block && shift < 64; shift += 7) {
            unsigned char *mem = block + GENERATE_GUARD + shift;
            size_t tail = 0;
            memset(block, 0xa5, size + 64 + 2*GENERATE_GUARD);
            CHECK(tfn_generator_init(&g, &c.m, &o, mem, size) == TFN_OK);
            generate_run(&g, &c.batch, NULL);
            for (size_t j = 0; j < GENERATE_GUARD; j++)
                if (block[GENERATE_GUARD + shift - 1 - j] != 0xa5 || mem[size + j] != 0xa5) {
                    FAIL("configuration %d: written outside, at %d", i, (int)j);
                    break;
                }
            while (tail < size && mem[size - 1 - tail] == 0xa5) tail++;
            CHECK(tail < 64);
        }
        for (size_t less = 1; block && less <= size; less += less < 100 ? 1 : size / 40 + 1) {
            memset(block, 0xa5, GENERATE_GUARD);
            CHECK(tfn_generator_init(&g, &c.m, &o, block, size - less) == TFN_NO_MEMORY);
            CHECK(tfn_generator_run(&g, &c.batch, NULL) == TFN_NO_MEMORY);
        }
        CHECK(tfn_generator_init(&g, &c.m, &o, NULL, 0) == TFN_NO_MEMORY);
        free(block);
        tfn_model_free(&c.m);
    }
}

#define GENERATE_REFUSE(change)                                                                 \
    do {                                                                                        \
        tfn_generate_desc o = generate_options(2);                                              \
        tfn_generator g;                                                                        \
        change;                                                                                 \
        CHECK(generate_size(&c.m, &o) == 0);                                                    \
        if (tfn_generator_init(&g, &c.m, &o, NULL, 0) != TFN_BAD_OPTION) FAIL("%s", #change);   \
    } while (0)

TEST(generate_options_refused)
{
    static generate_case c;
    static const int32_t wrong[] = { 0, GENERATE_V };
    tfn_model_desc d = generate_desc("pre", TFN_ARCH_DECODER);
    generate_model(&c.m, &d, 1);
    GENERATE_REFUSE(o.sentences = -1);
    GENERATE_REFUSE(o.beam = -1);
    GENERATE_REFUSE(o.beam = INT32_MAX);
    GENERATE_REFUSE(o.beam = 1 << 11; o.sentences = 1 << 11);
    GENERATE_REFUSE(o.max_tokens = -1);
    GENERATE_REFUSE(o.min_tokens = -1);
    GENERATE_REFUSE(o.max_ratio = -1);
    GENERATE_REFUSE(o.max_ratio = NAN);
    GENERATE_REFUSE(o.end = GENERATE_V);
    GENERATE_REFUSE(o.forbidden = NULL);
    GENERATE_REFUSE(o.forbidden = wrong; o.forbidden_count = 2);
    GENERATE_REFUSE(o.forbidden_count = -1);
    GENERATE_REFUSE(o.ends_count = 1);
    GENERATE_REFUSE(o.ends = wrong; o.ends_count = 2);
    GENERATE_REFUSE(o.ends = wrong; o.ends_count = -1);
    GENERATE_REFUSE(o.ends = wrong; o.ends_count = 1; o.end = -1);
    GENERATE_REFUSE(o.length_penalty = -1);
    GENERATE_REFUSE(o.temperature = 1);
    GENERATE_REFUSE(o.beam = 0; o.temperature = -1);
    GENERATE_REFUSE(o.beam = 0; o.temperature = INFINITY);
    GENERATE_REFUSE(o.top_k = -1);
    GENERATE_REFUSE(o.top_p = (float)1.5);
    GENERATE_REFUSE(o.top_p = NAN);
    GENERATE_REFUSE(o.chunk = -1);
    GENERATE_REFUSE(o.chunk = GENERATE_T + 1);
    tfn_model_free(&c.m);
    d.arch = TFN_ARCH_ENCODER;
    d.source_context = 0;
    generate_model(&c.m, &d, 1);
    GENERATE_REFUSE(o.beam = 1);
    tfn_model_free(&c.m);           /* the generator reports this */
    {
        tfn_generate_desc o = generate_options(0);
        tfn_generator g;
        CHECK(tfn_generator_init(&g, &c.m, &o, NULL, 0) == TFN_NOT_READY);
    }
}

/* Random options: the digest holds the texts, their lengths, and why they stop. */
TEST(generate_any)
{
    static const int32_t forbidden[] = { 7, 0, 4 };
    const tfn_key key = tfn_key_make(41);
    uint32_t digest = DIGEST_BEGIN;
    for (int pair = 0; pair < 2; pair++) {
        static generate_case c;
        const tfn_model_desc d = generate_desc("pre", pair ? TFN_ARCH_ENCODER_DECODER : TFN_ARCH_DECODER);
        memset(&c, 0, sizeof c);
        generate_model(&c.m, &d, 7);
        for (uint64_t i = 0; i < 60; i++) {
            const uint64_t bits = tfn_random_bits(key, i);
            tfn_generate_desc o;
            generate_maker x;
            memset(&o, 0, sizeof o);
            o.sentences = GENERATE_N;
            o.beam = (int32_t)(bits & 7) > 4 ? 0 : (int32_t)(bits & 3);
            o.max_tokens = 1 + (int32_t)(bits >> 3 & 7);
            o.max_ratio = (bits >> 6 & 3) == 3 ? 0.5f : 0;
            o.min_tokens = (int32_t)(bits >> 8 & 3) % (o.max_tokens + 1);
            o.allow_empty = bits >> 10 & 1;
            o.end = (bits >> 11 & 7) == 7 ? -1 : (int32_t)(bits >> 11 & 3);
            o.forbidden = forbidden;
            o.forbidden_count = (int32_t)(bits >> 14 & 3);
            o.length_penalty = 0.5f * (float)(bits >> 16 & 3);
            o.unnormalized = bits >> 18 & 1;
            if (!o.beam) {
                o.temperature = 0.5f * (float)(bits >> 20 & 3);
                o.top_k = (int32_t)(bits >> 22 & 7);
                o.top_p = (bits >> 25 & 1) ? 0.25f * (float)(bits >> 26 & 3) : 0;
            }
            o.chunk = (int32_t)(bits >> 28 & 3);
            o.key = tfn_key_make(bits);
            generate_fill(&c, i, !pair || (bits >> 30 & 1));
            if (!generate_start(&x, &c.m, &o)) return;
            digest_int(&digest, tfn_generator_run(&x.g, &c.batch, NULL));
            digest_error(&digest, &x.g.error);
            for (int32_t k = 0; x.g.error.status == TFN_OK && k < GENERATE_N * x.g.width; k++) {
                digest_int(&digest, x.g.lengths[k]);
                if (x.g.lengths[k]) digest_int(&digest, x.g.stops[k]);
                for (int32_t t = 0; t < x.g.lengths[k]; t++)
                    digest_int(&digest, x.g.tokens[k * x.g.most + t]);
            }
            free(x.mem);
        }
        tfn_model_free(&c.m);
    }
    if (strcmp(tfn_bits(TFN_ISA_BEST), "canonical")) SKIP("no FMA");
    CHECK_DIGEST(digest, 0x19cc17cau);
}

/* The default chunk of a prompt is 16 tokens, at most the context, for a decoder, and one token for
 * an encoder-decoder. */
TEST(generate_defaults)
{
    static const int contexts[] = { 1, 14, 15, 16, 17, 40 };
    for (int i = 0; i < 12; i++) {
        const bool pair = i % 2;
        const int32_t context = contexts[i / 2];
        tfn_model_desc d = generate_desc("pre", pair ? TFN_ARCH_ENCODER_DECODER : TFN_ARCH_DECODER);
        tfn_generate_desc o;
        tfn_model m;
        tfn_generator g;
        void *mem;
        size_t size;
        memset(&o, 0, sizeof o);
        o.end = GENERATE_END;
        d.context = context;
        generate_model(&m, &d, 1);
        size = generate_size(&m, &o);
        mem = malloc(size);
        CASE("context %d, %s", (int)context, pair ? "pair" : "decoder");
        CHECK(tfn_generator_init(&g, &m, &o, mem, size) == TFN_OK);
        CHECK_INT(g.desc.chunk, pair ? 1 : context < 16 ? context : 16);
        CHECK(g.desc.sentences == 1 && g.desc.max_tokens == 200 && g.desc.min_tokens == 1);
        CHECK(g.desc.length_penalty == 1 && g.desc.top_p == 1);
        free(mem);
        tfn_model_free(&m);
    }
}

/* The message of each batch below, in its order. */
static const char *const generate_refusals[] = {
    "generator: 5 sentences, the limit is 4",
    "generator: 0 sentences, the limit is 4",
    "generator: prompt 1 is empty",
    "batch: a length is 15, the batch has 14 positions",
    "batch: a token is 11, the vocabulary has 11",
    "batch: an encoder-decoder needs source tokens",
    "batch: a source token is -1, the vocabulary has 11",
    "generator: neither prompts nor an end token",
    "generator: the logits are not finite",
    "batch: time is 0, the limit is 14",
    "batch: time is 15, the limit is 14",
    "batch: a length is -1, the batch has 14 positions",
    "batch: source time is 10, the limit is 9",
    "batch: source time is 0, the limit is 9",
    "batch: a length is 10, the batch has 9 positions",
    "batch: a source token is 11, the vocabulary has 11"
};
enum { GENERATE_REFUSALS = sizeof generate_refusals / sizeof *generate_refusals };

/* A bad batch is an error of that call only; so are logits that are not finite. */
TEST(generate_batches_refused)
{
    static generate_case c;
    for (int i = 0; i < GENERATE_REFUSALS; i++) {
        tfn_model_desc d = generate_desc("pre", TFN_ARCH_ENCODER_DECODER);
        tfn_generate_desc o = generate_options(i % 2 ? 2 : 0);
        tfn_status wanted = TFN_BAD_BATCH;
        generate_maker x;
        float *spoiled = NULL;
        tfn_param_info p;
        char text[200];
        tfn_batch good;
        if (i == 7) o.end = -1;
        generate_model(&c.m, &d, 1);
        generate_fill(&c, 2, true);
        good = c.batch;
        if (!generate_start(&x, &c.m, &o)) return;
        if (i == 0) c.batch.batch = GENERATE_N + 1;
        if (i == 1) c.batch.batch = 0;
        if (i == 2) c.lengths[1] = 0;
        if (i == 3) c.lengths[2] = GENERATE_T + 1;
        if (i == 4) c.tokens[0] = GENERATE_V;
        if (i == 5) c.batch.source = NULL;
        if (i == 6) c.source[3] = -1;
        if (i == 7) c.batch.tokens = NULL;
        if (i == 8) {
            CHECK(tfn_model_param(&c.m, 0, &p));
            spoiled = p.data;
            wanted = TFN_NOT_FINITE;
            for (int32_t j = 0; j < p.rows * p.cols; j++) spoiled[j] = NAN;
        }
        if (i == 9) c.batch.time = 0;
        if (i == 10) c.batch.time = GENERATE_T + 1;
        if (i == 11) c.lengths[2] = -1;
        if (i == 12) c.batch.source_time = GENERATE_TS + 1;
        if (i == 13) c.batch.source_time = 0;
        if (i == 14) c.source_lengths[3] = GENERATE_TS + 1;
        if (i == 15) c.source[3] = GENERATE_V;
        if (tfn_generator_run(&x.g, &c.batch, NULL) != wanted || x.g.error.status != wanted)
            FAIL("%d: %s", i, tfn_error_text(&x.g.error, text, sizeof text));
        if (strcmp(tfn_error_text(&x.g.error, text, sizeof text), generate_refusals[i]) != 0)
            FAIL("%d: \"%s\", not \"%s\"", i, text, generate_refusals[i]);
        if (spoiled) for (int32_t j = 0; j < p.rows * p.cols; j++) spoiled[j] = 1 / (float)(j + 3);
        generate_fill(&c, 2, true);
        c.batch = good;
        generate_run(&x.g, &c.batch, NULL);
        free(x.mem);
        tfn_model_free(&c.m);
    }
}

/* If every token is forbidden, a draw and a search have nothing to choose before min_tokens, and
 * then only the end. */
TEST(generate_nothing_to_choose)
{
    static generate_case c;
    int32_t all[GENERATE_V];
    tfn_model_desc d = generate_desc("pre", TFN_ARCH_DECODER);
    generate_model(&c.m, &d, 1);
    generate_fill(&c, 2, true);
    for (int i = 0; i < GENERATE_V; i++) all[i] = i;
    for (int32_t round = 0; round < 8; round++) {
        tfn_generate_desc o = generate_options(round % 2 ? 2 : 0);
        generate_maker x;
        char text[200];
        if (!o.beam) o.temperature = 1;
        if (round & 2) o.forbidden_count = GENERATE_V, o.forbidden = all;
        if (round & 4) o.min_tokens = 1;
        else o.allow_empty = true;
        CASE("round %d", round);
        if (!generate_start(&x, &c.m, &o)) return;
        if ((round & 6) == 6) {
            CHECK_INT(tfn_generator_run(&x.g, &c.batch, NULL), TFN_NOT_FINITE);
            CHECK(strstr(tfn_error_text(&x.g.error, text, sizeof text), "has nothing to choose"));
        } else generate_run(&x.g, &c.batch, NULL);
        if ((round & 6) == 2)
            for (int s = 0; s < GENERATE_N; s++) {
                CHECK_INT(x.g.lengths[s * x.g.width], 1);
                CHECK_INT(x.g.tokens[(ptrdiff_t)s * x.g.width * x.g.most], GENERATE_END);
            }
        free(x.mem);
    }
    tfn_model_free(&c.m);
}

/* A vocabulary of one token has one text, so most beams have no token to continue with. */
TEST(generate_one_token)
{
    tfn_model_desc d = generate_desc("pre", TFN_ARCH_DECODER);
    tfn_batch batch;
    tfn_model m;
    const int32_t prompt[2] = { 0, 0 };
    d.vocab = 1;
    generate_model(&m, &d, 1);
    memset(&batch, 0, sizeof batch);
    batch.tokens = prompt;
    batch.batch = batch.time = 1;
    for (int32_t beam = 0; beam < 4; beam++) {
        tfn_generate_desc o;
        generate_maker x;
        memset(&o, 0, sizeof o);
        o.sentences = 1;
        o.beam = beam;
        o.max_tokens = 3;
        o.end = -1;
        if (!beam) o.temperature = 1;
        CASE("beam %d", (int)beam);
        if (!generate_start(&x, &m, &o)) return;
        generate_run(&x.g, &batch, NULL);
        CHECK_INT(x.g.lengths[0], 3);
        for (int t = 0; t < 3; t++) CHECK_INT(x.g.tokens[t], 0);
        for (int32_t k = 1; k < x.g.width; k++) CHECK_INT(x.g.lengths[k], 0);
        free(x.mem);
    }
    tfn_model_free(&m);
}

#ifndef TFNORM_NO_TRAINING
/* Gives the decoder an error when it computes the first value of a stack. */
typedef struct generate_break { tfn_decoder *d; bool decoder; int calls; } generate_break;
static void generate_breaks(void *user, int32_t id, const float *data, ptrdiff_t rows,
                            ptrdiff_t cols, bool backward)
{
    generate_break *b = (generate_break *)user;
    (void)data, (void)rows, (void)cols, (void)backward;
    if (tfn_probe_of(id).decoder != b->decoder) return;
    b->calls++;
    b->d->error.status = TFN_BAD_FILE;
}

/* A decoder that fails before the source, after it, or after the first token ends the run with its
 * error. */
TEST(generate_decoder_fails)
{
    static generate_case c;
    tfn_model_desc d = generate_desc("pre", TFN_ARCH_ENCODER_DECODER);
    d.probes = true;
    generate_model(&c.m, &d, 1);
    for (int when = 0; when < 3; when++) {
        tfn_generate_desc o = generate_options(0);
        generate_break b;
        generate_maker x;
        generate_fill(&c, 2, false);
        if (!generate_start(&x, &c.m, &o)) return;
        b.d = &x.g.decoder;
        b.decoder = when == 2;
        b.calls = 0;
        CASE("when %d", when);
        if (when == 0) x.g.decoder.error.status = TFN_BAD_FILE;
        else CHECK_INT(tfn_decoder_watch(&x.g.decoder, generate_breaks, &b), TFN_OK);
        CHECK_INT(tfn_generator_run(&x.g, &c.batch, NULL), TFN_BAD_FILE);
        CHECK_INT(x.g.error.status, TFN_BAD_FILE);
        CHECK((b.calls > 0) == (when > 0));
        CHECK_INT(x.g.fed, when == 2 ? 2 : 0);
        free(x.mem);
    }
    tfn_model_free(&c.m);
}
#endif

int main(void)
{
#ifndef TFNORM_NO_TRAINING
    RUN(generate_decoder_fails);
#endif
    RUN(generate_nothing_to_choose);
    RUN(generate_one_token);
    RUN(generate_beams);
    RUN(generate_exhaustive);
    RUN(generate_greedy);
    RUN(generate_ends);
    RUN(generate_limits);
    RUN(generate_stops);
    RUN(generate_draws);
    RUN(generate_ties);
    RUN(generate_same_text);
    RUN(generate_memory);
    RUN(generate_options_refused);
    RUN(generate_any);
    RUN(generate_defaults);
    RUN(generate_batches_refused);
    return DONE();
}
