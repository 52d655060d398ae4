/* The sections of the page, in order. */
#include "inspect.h"
#include "../../tfnorm.h"
#include "../common/library.h"
#include "../common/output.h"
#include "../common/svg.h"
#include "heads.h"
#include "models.h"
#include "page.h"
#include "prompt.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INSPECT_TOKENS = 128, INSPECT_TOP = 5, INSPECT_LABEL = 64 };

/* A column of a table: a watched point of a stack and its norm at each position. */
typedef struct inspect_point {
    tfn_probe_info at;
    double        *norm;                /* (rows) */
    ptrdiff_t      rows;
} inspect_point;

typedef struct inspection {
    bundle         b;
    tfn_batch      batch;
    int32_t       *tokens, *source;     /* of the batch */
    inspect_point *point;
    int            points, room;
    FILE          *f;
} inspection;

static bool inspect_has_source(const inspection *x)
{
    return x->b.desc.arch == TFN_ARCH_ENCODER_DECODER;
}

/* The ids of a stack's positions, and their number. */
static const int32_t *inspect_ids(const inspection *x, bool decoder, int32_t *count)
{
    *count = x->batch.time;
    if (decoder || !inspect_has_source(x)) return x->batch.tokens;
    *count = x->batch.source_time;
    return x->batch.source;
}

/* -- the sentence ------------------------------------------------------------------------------ */

static int32_t inspect_most(int32_t context)
{
    return context < INSPECT_TOKENS ? context : INSPECT_TOKENS;
}

/* Generates what an encoder-decoder says for the source, greedily, after the token that it starts
 * with. */
static int32_t inspect_speak(inspection *x, int32_t *tokens, int32_t most)
{
    const tfn_model *m = &x->b.model;
    const int32_t end = end_of(&x->b);
    tfn_generate_desc d;
    tfn_generator g;
    tfn_batch batch = x->batch;
    size_t size = tfn_model_scratch(&m->desc);
    void *scratch = reserve(size, 1);
    void *mem;
    int32_t n = 1;
    if (end < 0) die("%s has no tokenizer, and so no end of a text", x->b.path);
    memset(&d, 0, sizeof d);
    d.end = end;
    tokens[0] = start_of(&x->b);
    batch.tokens = tokens;
    batch.time = 1;
    d.max_tokens = most - 1;
    size = tfn_generator_size(m, &d, scratch, size);
    mem = reserve(size, 1);
    tfn_generator_init(&g, m, &d, mem, size);
    must_be_ok(&g.error);
    tfn_generator_run(&g, &batch, NULL);
    must_be_ok(&g.error);
    for (int32_t i = 0; i < g.lengths[0]; i++) {
        if (g.tokens[i] == end || n == most) break;
        tokens[n++] = g.tokens[i];
    }
    free(mem);
    free(scratch);
    return n;
}

/* The ids of --target, after the token that the decoder starts with. */
static int32_t inspect_target(const inspection *x, const char *text, int32_t *tokens,
                              int32_t most)
{
    int64_t count;
    int32_t *ids = encode_text(&x->b, text, strlen(text), &count);
    tokens[0] = start_of(&x->b);
    count = cut_ids(count, most - 1, 0);
    for (int64_t i = 0; i < count; i++) tokens[i + 1] = ids[i];
    free(ids);
    return (int32_t)count + 1;
}

/* Makes the batch of the sentence in --text or --ids, and loads the model. */
static void inspect_read(inspection *x, const settings *s, cli *c)
{
    const int32_t most = inspect_most(x->b.desc.context);
    tfn_batch *batch = &x->batch;
    batch->batch = 1;
    if (!inspect_has_source(x)) {
        batch->tokens = x->tokens = prompt_ids(&x->b, s, c, false, most, &batch->time);
        bundle_load(&x->b, 1, 1);
        return;
    }
    batch->source = x->source = prompt_ids(&x->b, s, c, false,
                                           inspect_most(x->b.desc.source_context),
                                           &batch->source_time);
    bundle_load(&x->b, 1, 1);
    x->tokens = (int32_t *)reserve((size_t)most, sizeof *x->tokens);
    if (given(s, O_TARGET)) batch->time = inspect_target(x, text_of(s, O_TARGET), x->tokens, most);
    else batch->time = inspect_speak(x, x->tokens, most);
    batch->tokens = x->tokens;
}

/* -- what is watched --------------------------------------------------------------------------- */

static double inspect_length(const float *x, ptrdiff_t n)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* A tfn_probe_fn: keeps the norms of the vectors that the page shows. */
static void inspect_see(void *user, int32_t id, const float *data, ptrdiff_t rows,
                        ptrdiff_t cols, bool backward)
{
    inspection *x = (inspection *)user;
    const tfn_probe_info at = tfn_probe_of(id);
    inspect_point *p;
    if (backward || at.point == TFN_WATCH_NONE || at.point == TFN_WATCH_READ) return;
    if (at.point == TFN_WATCH_SUM || at.point == TFN_WATCH_INPUT) return;
    if (x->points == x->room) {
        inspect_point *more;
        x->room = 2 * x->room + 64;
        more = (inspect_point *)reserve((size_t)x->room, sizeof *more);
        if (x->points) memcpy(more, x->point, (size_t)x->points * sizeof *more);
        free(x->point);
        x->point = more;
    }
    p = &x->point[x->points++];
    p->at = at;
    p->rows = rows;
    p->norm = (double *)reserve((size_t)rows, sizeof *p->norm);
    for (ptrdiff_t r = 0; r < rows; r++) p->norm[r] = inspect_length(data + r * cols, cols);
}

static void inspect_watch(inspection *x)
{
    tfn_model_watch(&x->b.model, inspect_see, x);
    must_be_ok(&x->b.model.error);
    if (!tfn_model_logits(&x->b.model, &x->batch)) must_be_ok(&x->b.model.error);
    tfn_model_watch(&x->b.model, NULL, NULL);
}

/* -- text -------------------------------------------------------------------------------------- */

static void inspect_token(const inspection *x, int32_t id)
{
    char text[INSPECT_LABEL];
    svg_text(x->f, token_shown(&x->b, id, text, sizeof text));
}

/* Writes a string of JSON that neither ends the script nor contains markup. */
static void inspect_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c < ' ' || strchr("\"\\<>&", c)) fprintf(f, "\\u%04x", (unsigned)c);
        else fputc(c, f);
    }
    fputc('"', f);
}

static void inspect_labels(const inspection *x, const char *name, bool decoder)
{
    int32_t count;
    const int32_t *ids = inspect_ids(x, decoder, &count);
    fprintf(x->f, "\"%s\":[", name);
    for (int32_t i = 0; i < count; i++) {
        char text[INSPECT_LABEL];
        if (i) fputc(',', x->f);
        inspect_string(x->f, token_shown(&x->b, ids[i], text, sizeof text));
    }
    fprintf(x->f, "],\n");
}

static int32_t inspect_depth(const inspection *x, bool decoder)
{
    const tfn_model_desc *d = &x->b.model.desc;
    if (decoder && inspect_has_source(x)) return d->decoder_layers;
    return d->layers;
}

static void inspect_facts(const inspection *x)
{
    const tfn_model_desc *d = &x->b.model.desc;
    const tfn_topology *row = d->topology;
    int32_t count;
    const int32_t *ids = inspect_ids(x, true, &count);
    if (d->arch != TFN_ARCH_ENCODER) row = d->decoder_topology;
    fprintf(x->f, "<header><h1>");
    svg_text(x->f, x->b.path);
    fprintf(x->f, "</h1>\n<p class=\"facts\">%s, layers %d, width %d, heads %d",
            tfn_choice_name("arch", (int32_t)d->arch), (int)d->layers, (int)d->width,
            (int)d->heads);
    if (row) {
        fprintf(x->f, ", ");
        svg_text(x->f, row->name);
        fprintf(x->f, ": <code>");
        if (row->formula) svg_text(x->f, row->formula);
        fprintf(x->f, "</code>");
    }
    fprintf(x->f, ", %s</p>\n", d->norm);
    if (inspect_has_source(x)) {
        int32_t n;
        const int32_t *source = inspect_ids(x, false, &n);
        fprintf(x->f, "<p class=\"text\"><b>source</b>");
        for (int32_t i = 0; i < n; i++) {
            fprintf(x->f, " <span>");
            inspect_token(x, source[i]);
            fprintf(x->f, "</span>");
        }
        fprintf(x->f, "</p>\n");
    }
    fprintf(x->f, "<p class=\"text\"><b>%d tokens</b>", (int)count);
    for (int32_t i = 0; i < count; i++) {
        fprintf(x->f, " <span>");
        inspect_token(x, ids[i]);
        fprintf(x->f, "</span>");
    }
    fprintf(x->f, "</p></header>\n");
}

/* -- attention --------------------------------------------------------------------------------- */

/* The separator between elements. */
static void inspect_comma(FILE *f, int32_t i)
{
    if (i) fputs(",\n", f);
}

static void inspect_row(FILE *f, const float *w, int32_t n)
{
    int weight[INSPECT_TOKENS];
    for (int32_t i = 0; i < n; i++) weight[i] = (int)floor(1e4 * (double)w[i] + 0.5);
    for (; n > 1; n--)
        if (weight[n - 1]) break;
    fprintf(f, "[%d", weight[0]);
    for (int32_t i = 1; i < n; i++) fprintf(f, ",%d", weight[i]);
    fputc(']', f);
}

/* An element of the page's data: all maps of one kind of attention in a stack. */
static void inspect_maps(inspection *x, const char *name, bool decoder, tfn_sublayer kind)
{
    const bool crosses = kind == TFN_SUBLAYER_CROSS_ATTENTION;
    const int32_t heads = x->b.model.desc.heads;
    const int32_t depth = inspect_depth(x, decoder);
    tfn_stack stack = TFN_STACK_ENCODER;
    int32_t queries, keys;
    float *w;
    if (decoder) stack = TFN_STACK_DECODER;
    inspect_ids(x, decoder, &queries);
    inspect_ids(x, decoder && !crosses, &keys);
    w = (float *)reserve((size_t)heads * (size_t)queries, (size_t)keys * sizeof *w);
    fprintf(x->f, "{\"name\":\"%s\",\n", name);
    inspect_labels(x, "queries", decoder);
    inspect_labels(x, "keys", decoder && !crosses);
    fprintf(x->f, "\"maps\":[");
    for (int32_t l = 0; l < depth; l++) {
        tfn_model_attention(&x->b.model, &x->batch, stack, l, kind, -1, w);
        must_be_ok(&x->b.model.error);
        inspect_comma(x->f, l);
        fprintf(x->f, "[");
        for (int32_t h = 0; h < heads; h++) {
            inspect_comma(x->f, h);
            fprintf(x->f, "[\n");
            for (int32_t q = 0; q < queries; q++) {
                inspect_comma(x->f, q);
                inspect_row(x->f, w + ((ptrdiff_t)h * queries + q) * keys, keys);
            }
            fprintf(x->f, "]");
        }
        fprintf(x->f, "]");
    }
    fprintf(x->f, "]}");
    free(w);
}

static void inspect_attention(inspection *x)
{
    const tfn_arch arch = x->b.desc.arch;
    fprintf(x->f, "<section id=\"attention\"><h2>Attention</h2>\n"
            "<p>Each small square is a head: a row for each token that reads, a column for each "
            "token that it looks at. Choose one, then a row or a token. Shades are square roots of "
            "the weights, so that small ones are seen; the numbers are the weights.</p>\n");
    page_lines(x->f, page_attention);
    fprintf(x->f, "<script type=\"application/json\" id=\"data\">[");
    if (arch == TFN_ARCH_DECODER)
        inspect_maps(x, "self-attention", true, TFN_SUBLAYER_SELF_ATTENTION);
    else inspect_maps(x, "encoder", false, TFN_SUBLAYER_SELF_ATTENTION);
    if (arch == TFN_ARCH_ENCODER_DECODER) {
        fprintf(x->f, ",\n");
        inspect_maps(x, "decoder", true, TFN_SUBLAYER_SELF_ATTENTION);
        fprintf(x->f, ",\n");
        inspect_maps(x, "decoder to encoder", true, TFN_SUBLAYER_CROSS_ATTENTION);
    }
    fprintf(x->f, "]</script>\n<script>\n");
    page_lines(x->f, page_script);
    fprintf(x->f, "</script></section>\n");
}

/* -- norms ------------------------------------------------------------------------------------- */

/* True if a point is a column of the table of the stream, or of the table of the branches. */
static bool inspect_in(const inspect_point *p, bool branches, bool decoder)
{
    return p->at.decoder == decoder && (p->at.point == TFN_WATCH_BRANCH) == branches;
}

/* The layer, with the sub-layer below it. */
static void inspect_head(const inspection *x, const inspect_point *p)
{
    static const char *const kinds[] = { "att", "cross", "ffn", "ffn 1" };
    fprintf(x->f, "<th scope=\"col\">");
    if (p->at.point == TFN_WATCH_EMBEDDING) fprintf(x->f, "embedding");
    else if (p->at.point == TFN_WATCH_STACK) fprintf(x->f, "output");
    else fprintf(x->f, "%d<br/>%s", (int)p->at.layer + 1, kinds[p->at.kind]);
    fprintf(x->f, "</th>");
}

/* The smallest and the largest norm in a table. */
static void inspect_range(const inspection *x, bool branches, bool decoder, double *least,
                          double *most)
{
    *least = (double)INFINITY;
    *most = 0;
    for (int i = 0; i < x->points; i++) {
        const inspect_point *p = &x->point[i];
        if (!inspect_in(p, branches, decoder)) continue;
        for (ptrdiff_t r = 0; r < p->rows; r++) {
            *least = fmin(*least, p->norm[r]);
            *most = fmax(*most, p->norm[r]);
        }
    }
}

/* A cell with a shade from 0 to 1. */
static void inspect_cell(FILE *f, double share)
{
    if (!(share >= 0)) share = 0;
    fprintf(f, "<td style=\"--v:%.2f\"", fmin(share, 1));
}

/* A row for each token and a column for each point. Shades follow the logarithm. */
static void inspect_norms(const inspection *x, const char *name, bool branches, bool decoder)
{
    double least, most;
    int32_t count;
    const int32_t *ids = inspect_ids(x, decoder, &count);
    inspect_range(x, branches, decoder, &least, &most);
    least = fmax(least, 1e-30);
    const double wide = fmax(log(fmax(most, least) / least), 1e-9);
    fprintf(x->f, "<div class=\"wide\"><table class=\"%s\"><thead><tr><th></th>", name);
    for (int i = 0; i < x->points; i++)
        if (inspect_in(&x->point[i], branches, decoder)) inspect_head(x, &x->point[i]);
    fprintf(x->f, "</tr></thead><tbody>\n");
    for (int32_t r = 0; r < count; r++) {
        fprintf(x->f, "<tr><th scope=\"row\">");
        inspect_token(x, ids[r]);
        fprintf(x->f, "</th>");
        for (int i = 0; i < x->points; i++) {
            const inspect_point *p = &x->point[i];
            if (!inspect_in(p, branches, decoder)) continue;
            inspect_cell(x->f, log(fmax(p->norm[r], least) / least) / wide);
            fprintf(x->f, ">%.3g</td>", p->norm[r]);
        }
        fprintf(x->f, "</tr>\n");
    }
    fprintf(x->f, "</tbody></table></div>\n");
}

static double inspect_mean(const inspect_point *p)
{
    double sum = 0;
    for (ptrdiff_t r = 0; r < p->rows; r++) sum += p->norm[r];
    return sum / (double)p->rows;
}

/* Means over the tokens at each sub-layer: of the stream and of the branch added to it. */
static void inspect_curves(const inspection *x, bool decoder)
{
    svg_curve curves[2] = { { 0 } };
    svg_plot plot = { 0 };
    double *at = (double *)reserve(2 * (size_t)x->points, sizeof *at);
    double *mean = (double *)reserve(2 * (size_t)x->points, sizeof *mean);
    double least = (double)INFINITY;
    double most = 0;
    curves[0].name = "stream";
    curves[1].name = "branch";
    for (int k = 0; k < 2; k++) {
        curves[k].x = at + k * x->points;
        curves[k].y = mean + k * x->points;
    }
    for (int i = 0; i < x->points; i++) {
        const inspect_point *p = &x->point[i];
        const int k = p->at.point == TFN_WATCH_BRANCH;
        if (p->at.decoder != decoder || p->at.point == TFN_WATCH_STACK) continue;
        const int n = curves[k].count++;
        at[k * x->points + n] = n + k;
        mean[k * x->points + n] = inspect_mean(p);
        least = fmin(least, inspect_mean(p));
        most = fmax(most, inspect_mean(p));
    }
    plot.title = "Mean length of a token's vector";
    plot.x_label = "sub-layers";
    plot.y_label = "length";
    plot.log_y = least > 0 && most > 20 * least;
    plot.curves = curves;
    plot.count = 2;
    fprintf(x->f, "<figure>");
    svg_curves(x->f, &plot);
    fprintf(x->f, "</figure>\n");
    free(at);
    free(mean);
}

static void inspect_stream(const inspection *x, bool decoder)
{
    const char *of = "";
    if (inspect_has_source(x)) of = " of the encoder";
    if (inspect_has_source(x) && decoder) of = " of the decoder";
    fprintf(x->f, "<section><h2>The residual stream%s</h2>\n"
            "<p>The length (Euclidean norm) of each token's vector, behind the embedding and each "
            "sub-layer (attention, feed-forward), and of the branch that the sub-layer adds. "
            "Pre-LN leaves the sum as it is, so the stream grows and later branches weigh less; "
            "Post-LN brings each sum back to one size; Peri-LN norms the branches, so that none "
            "outgrows the others.</p>\n", of);
    inspect_curves(x, decoder);
    fprintf(x->f, "<h3>The stream</h3>\n");
    inspect_norms(x, "stream", false, decoder);
    fprintf(x->f, "<h3>The branches</h3>\n");
    inspect_norms(x, "branches", true, decoder);
    fprintf(x->f, "</section>\n");
}

/* -- words by layer ---------------------------------------------------------------------------- */

typedef struct inspect_guess { int32_t id[INSPECT_TOP]; double p[INSPECT_TOP]; } inspect_guess;

/* The name of a guess: a token or a class. */
static const char *inspect_named(const inspection *x, int32_t id, char *to, size_t room)
{
    if (x->b.model.desc.head == TFN_HEAD_TOKENS) return token_shown(&x->b, id, to, room);
    return class_shown(&x->b, id, to, room);
}

/* The likeliest word, with the next ones as its title. wanted: the actual id; -1: unknown. */
static void inspect_word(const inspection *x, const inspect_guess *g, int32_t wanted)
{
    char text[INSPECT_LABEL];
    inspect_cell(x->f, g->p[0]);
    if (g->id[0] == wanted) fprintf(x->f, " class=\"hit\"");
    fprintf(x->f, " title=\"");
    for (int k = 0; k < INSPECT_TOP; k++) {
        if (g->id[k] < 0) break;
        if (k) fprintf(x->f, ", ");
        svg_text(x->f, inspect_named(x, g->id[k], text, sizeof text));
        fprintf(x->f, " %.4f", g->p[k]);
    }
    fprintf(x->f, "\">");
    svg_text(x->f, inspect_named(x, g->id[0], text, sizeof text));
    fprintf(x->f, " <small>%.2f</small></td>", g->p[0]);
}

/* The id that the model should predict at position t; -1: the sentence does not tell. */
static int32_t inspect_wanted(const inspection *x, int32_t t)
{
    if (x->b.model.desc.head != TFN_HEAD_TOKENS) return -1;
    if (x->b.desc.arch == TFN_ARCH_ENCODER) return x->batch.tokens[t];
    if (t + 1 < x->batch.time) return x->batch.tokens[t + 1];
    return -1;
}

/* Returns guesses (depth + 1, rows). NULL if the model has no lens, and the page says so. */
static inspect_guess *inspect_guesses(inspection *x, int32_t depth, int32_t rows)
{
    const tfn_model_desc *d = &x->b.model.desc;
    int32_t cols = d->vocab;
    inspect_guess *g = (inspect_guess *)reserve((size_t)(depth + 1) * (size_t)rows, sizeof *g);
    if (d->head != TFN_HEAD_TOKENS) cols = library_logit_cols(d);
    for (int32_t l = 0; l <= depth; l++) {
        const float *z = tfn_model_lens(&x->b.model, &x->batch, l);
        char text[300];
        if (!z) {
            fprintf(x->f, "<p><b>None here:</b> ");
            svg_text(x->f, tfn_error_text(&x->b.model.error, text, sizeof text));
            fprintf(x->f, ".</p>\n");
            free(g);
            return NULL;
        }
        for (int32_t r = 0; r < rows; r++)
            likeliest(z + (ptrdiff_t)r * cols, cols, g[l * rows + r].id, g[l * rows + r].p,
                      INSPECT_TOP);
    }
    return g;
}

static void inspect_lens(inspection *x)
{
    const bool tokens = x->b.model.desc.head == TFN_HEAD_TOKENS;
    const int32_t depth = inspect_depth(x, x->b.desc.arch != TFN_ARCH_ENCODER);
    const char *what = "Classes";
    const char *where = "next";
    int32_t rows = 1;
    inspect_guess *g;
    if (is_headless(&x->b)) return;                     /* its logits mean nothing */
    if (tokens) what = "Words";
    if (!library_by_sentences(&x->b.model.desc)) rows = x->batch.time;
    if (x->b.desc.arch == TFN_ARCH_ENCODER) where = "there";
    fprintf(x->f, "<section><h2>%s by layer</h2>\n"
            "<p>What the model would say if it ended there: the vectors behind each layer through "
            "the stack's final norm, if it has one, and the output matrix (logit lens). The last "
            "column is the model's answer. The number is the probability; framed is what the "
            "sentence has %s. Point at a cell for the %d likeliest.</p>\n",
            what, where, INSPECT_TOP);
    g = inspect_guesses(x, depth, rows);
    if (g) {
        fprintf(x->f, "<div class=\"wide\"><table class=\"lens\"><thead><tr><th></th>"
                "<th scope=\"col\">embedding</th>");
        for (int32_t l = 1; l <= depth; l++) fprintf(x->f, "<th scope=\"col\">%d</th>", (int)l);
        fprintf(x->f, "</tr></thead><tbody>\n");
        for (int32_t r = 0; r < rows; r++) {
            fprintf(x->f, "<tr><th scope=\"row\">");
            if (rows > 1 || tokens) inspect_token(x, x->batch.tokens[r]);
            else fprintf(x->f, "sentence");
            fprintf(x->f, "</th>");
            for (int32_t l = 0; l <= depth; l++)
                inspect_word(x, &g[l * rows + r], inspect_wanted(x, r));
            fprintf(x->f, "</tr>\n");
        }
        fprintf(x->f, "</tbody></table></div>\n");
        free(g);
    }
    fprintf(x->f, "</section>\n");
}

/* -- the page ---------------------------------------------------------------------------------- */

static void inspect_page(inspection *x)
{
    page_begin(x->f, x->b.path);
    inspect_facts(x);
    inspect_attention(x);
    if (x->b.desc.arch != TFN_ARCH_DECODER) inspect_stream(x, false);
    if (x->b.desc.arch != TFN_ARCH_ENCODER) inspect_stream(x, true);
    inspect_lens(x);
    page_end(x->f);
}

int inspect_sentence(const settings *s, cli *c, const char *out)
{
    static inspection x;
    output_file o;
    if (s->files != 1) cli_fail(c, "expected one model");
    bundle_look(&x.b, s->file[0]);
    if (x.b.desc.bands) die("%s is a model of sound, not of lines", x.b.path);
    if (given(s, O_TARGET) && !inspect_has_source(&x))
        die("--target is for an encoder-decoder, %s is none", x.b.path);
    x.b.desc.probes = true;
    inspect_read(&x, s, c);
    inspect_watch(&x);
    x.f = output_open(&o, out);
    if (!x.f) return 1;
    inspect_page(&x);
    for (int i = 0; i < x.points; i++) free(x.point[i].norm);
    free(x.point);
    free(x.tokens);
    free(x.source);
    bundle_free(&x.b);
    return output_close(&o) ? 0 : 1;
}
