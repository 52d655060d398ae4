/* The log, evaluations, checkpoints, then the loop and its checks. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "trainer.h"
#include "../common/json.h"
#include "../common/library.h"
#include "../common/output.h"
#include "../common/processors.h"
#include "../common/svg.h"
#include "ending.h"
#include "quantize.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEP, LOSS, NLL, RATE, GRADIENT, TOKENS, SECONDS, VALID, FIELDS };   /* of the log */
static const char *const field_names[FIELDS] = { "step", "loss", "nll", "lr", "gradient", "tokens",
                                                 "seconds", "valid" };

static volatile sig_atomic_t interrupted;
static void interrupt(int sig)
{
    interrupted = 1;
    signal(sig, SIG_DFL);               /* a second one ends at once */
}

static void interrupt_early(int sig)
{
    output_end_by(sig, "\ntfn: stopped before the first step: nothing to save\n");
}

/* Handles Ctrl-C, SIGTERM (docker stop, a queue's limit) and SIGHUP (a closed terminal). nohup
 * ignores SIGHUP, and it stays ignored. */
static void catch_signals(void (*handler)(int))
{
    signal(SIGINT, handler);
    signal(SIGTERM, handler);
#ifdef SIGHUP
    if (signal(SIGHUP, handler) == SIG_IGN) signal(SIGHUP, SIG_IGN);
#endif
}

void catch_early_signals(void) { catch_signals(interrupt_early); }

static int processors(void)
{
    long n = 1;
#ifdef _SC_NPROCESSORS_ONLN
    n = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    n = processors_allowed(n);
    if (n < 1) return 1;
    return n < 64 ? (int)n : 64;
}

/* -- gradients, layer by layer ----------------------------------------------------------------- */

/* The group of a tensor, which is its layer. A new layer is added. GROUPS: there are too many. */
static int group_of(trainer *t, const tfn_param_info *p)
{
    char name[24];
    if (p->layer < 0) snprintf(name, sizeof name, "other");
    else snprintf(name, sizeof name, "%.7s.%d", p->name, (int)p->layer);
    for (int i = 0; i < t->groups; i++)
        if (!strcmp(t->group[i], name)) return i;
    if (t->groups == GROUPS) return GROUPS;
    memcpy(t->group[t->groups], name, sizeof name);
    return t->groups++;
}

/* Norms of the gradients of the mean loss of the last batch, layer by layer. */
static void layer_gradients(trainer *t, double *norm, int64_t tokens)
{
    tfn_param_info p;
    for (int i = 0; i < GROUPS; i++) norm[i] = 0;
    for (int32_t i = 0; tfn_model_param(&t->b.model, i, &p); i++) {
        const int g = group_of(t, &p);
        if (!p.grad || g == GROUPS) continue;
        for (int64_t j = 0; j < (int64_t)p.rows * p.cols; j++)
            norm[g] += (double)p.grad[j] * (double)p.grad[j];
    }
    if (!tokens) tokens = 1;
    for (int i = 0; i < t->groups; i++) norm[i] = sqrt(norm[i]) / (double)tokens;
}

/* Entropy of the targets in nats: the loss of guessing by frequency. */
static double unigram_entropy(corpus *c, int32_t vocab)
{
    double *count = (double *)reserve((size_t)vocab, sizeof *count);
    double all = 0;
    double h = 0;
    const int64_t batches = c->batches.count < 200 ? c->batches.count : 200;
    for (int64_t k = 0; k < batches; k++) {
        const tfn_batch *b = data_batch(&c->batches, k);
        int64_t n = (int64_t)b->batch * b->time;
        if (c->kind == DATA_LABELS) n = b->batch;
        for (int64_t i = 0; i < n; i++)
            if (b->targets[i] >= 0) {
                count[b->targets[i]]++;
                all++;
            }
    }
    for (int32_t i = 0; i < vocab; i++)
        if (count[i] > 0) h -= count[i] / all * log(count[i] / all);
    free(count);
    return h;
}

/* Prints the most frequent reason, by placement, rate and clipping. */
static void say_cause(const trainer *t)
{
    const tfn_model_desc *d = &t->b.model.desc;
    const char *name = "";
    const char *warmup = "no";
    char advice[128];
    if (d->topology) name = d->topology->name;
    if (d->schedule.warmup) warmup = "short";
    snprintf(advice, sizeof advice, "--lr %g: try more steps, another --lr, or --recipe pre",
             (double)d->schedule.lr);
    if (!strncmp(name, "post", 4) && d->layers > 3 && d->schedule.warmup < 200)
        snprintf(advice, sizeof advice, "%s warm-up: try --warmup 400 or --topology b2t", warmup);
    else if (d->schedule.lr > 2e-3f)
        snprintf(advice, sizeof advice, "--lr %g is high: try --lr 0.001 --warmup 400",
                 (double)d->schedule.lr);
    else if (d->clip == 0)
        snprintf(advice, sizeof advice, "gradients are not clipped: try --clip 1");
    else if (!strcmp(name, "pre"))
        snprintf(advice, sizeof advice,
                 "--lr %g: try more steps, more text, another --lr, or --dropout 0.1",
                 (double)d->schedule.lr);
    output_say(stderr, "  %s, %d layer%s, %s\n", name, (int)d->layers, d->layers > 1 ? "s" : "",
               advice);
}

/* Prints gradient norms. */
static void say_gradients(trainer *t, int64_t tokens)
{
    char text[GROUPS * 40] = "  gradient norms:";
    double norm[GROUPS];
    layer_gradients(t, norm, tokens);
    for (int i = 0; i < t->groups; i++) {
        const size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s %s %.2g", i ? "," : "", t->group[i], norm[i]);
    }
    output_say(stderr, "%s\n", text);
}

/* Warns once if, after the warm-up, a fifth of the steps passed without a validation clearly better
 * than guessing, and the last one is worse than guessing and hardly better than the one before. */
static void diagnose(trainer *t, int64_t tokens)
{
    const double before = t->before;
    t->before = t->last_valid;
    if (t->warned || t->last_valid < 0.98 * before) return;
    if (isfinite(t->last_valid) && t->last_valid < 0.95 * t->unigram) t->good = t->position;
    const int64_t since = t->position - t->good;
    if (isfinite(t->last_valid) && (since * 5 < t->steps || since < 20)) return;
    if (t->position * 10 < t->steps || t->last_valid < t->unigram) return;
    t->warned = true;
    if (t->terminal) fprintf(stderr, "\r\033[K");
    output_say(stderr, "warning: step %lld: the validation loss is %.3f, guessing by frequency has "
               "%.3f\n", (long long)t->position, t->last_valid, t->unigram);
    if (t->skipped)
        output_say(stderr, "  %lld updates were skipped, with a number that is not finite: a loss, "
                   "gradient, profile or running statistic\n", (long long)t->skipped);
    say_gradients(t, tokens);
    say_cause(t);
}

/* -- the log ----------------------------------------------------------------------------------- */

/* Cuts a log to this many lines, because a killed run may have written steps that are repeated. */
static void log_cut(const char *path, int64_t lines)
{
    data_file x;
    size_t n = 0;
    output_file o;
    if (!data_read(&x, path)) return;
    for (; n < x.size; n++) {
        if (lines <= 0) break;
        lines -= x.bytes[n] == '\n';
    }
    if (n < x.size) {
        FILE *f = output_open(&o, path);
        if (f) fwrite(x.bytes, 1, n, f);
        if (!output_close(&o)) exit(1);
    }
    data_file_free(&x);
}

/* Writes the first line: version, bits, kernels and all options of the experiment; in a CSV as a
 * comment. */
static void log_head(const trainer *t)
{
    if (t->csv) fprintf(t->log, "# ");
    fprintf(t->log, "{\"tfnorm\": \"%s\", \"bits\": \"%s\", \"kernels\": \"%s\"", tfn_version(),
            tfn_bits(t->b.desc.isa), t->b.model.kernels->name);
    for (int i = 0; i < O_COUNT; i++) {
        const option_row *r = &option_rows[i];
        const char *text = text_of(t->s, (option_id)i);
        if (!(r->commands & OPTION_KEPT) || !text) continue;
        fprintf(t->log, ", \"%s\": ", r->name);
        if (r->kind == 'i') fprintf(t->log, "%lld", strtoll(text, NULL, 10));
        else if (r->kind == 'r') fprintf(t->log, "%.15g", strtod(text, NULL));
        else json_put_text(t->log, text);
    }
    fprintf(t->log, ", \"vocabulary\": %d, \"parameters\": %lld}\n", (int)t->b.desc.vocab,
            (long long)t->b.model.param_floats);
}

/* The name of field i of a record: a field of the log, then the groups. */
static const char *log_name(const trainer *t, int i)
{
    return i < FIELDS ? field_names[i] : t->group[i - FIELDS];
}

static void log_columns(const trainer *t)
{
    for (int i = 0; i < FIELDS + t->groups; i++) {
        if (i) fprintf(t->log, ",");
        fprintf(t->log, "%s", log_name(t, i));
    }
    fprintf(t->log, "\n");
}

/* The first bytes of a file; "": it is empty, a device, or not there. */
static const char *file_head(const char *path)
{
    static char head[32];
    FILE *f = NULL;
    head[0] = 0;
    if (!output_is_device(path)) f = fopen(path, "rb");
    if (!f) return head;
    head[fread(head, 1, sizeof head - 1, f)] = 0;
    fclose(f);
    return head;
}
static bool is_log(const char *path)
{
    const char *head = file_head(path);
    return !strncmp(head, "{\"tfnorm\"", 9) || !strncmp(head, "# {\"tfnorm\"", 11);
}
static bool is_picture(const char *path) { return !strncmp(file_head(path), "<svg", 4); }

/* Refuses to overwrite a file of another kind without --force. */
static void refuse_kind(const trainer *t, const char *path, bool is, const char *kind)
{
    if (is || given(t->s, O_FORCE) || !*file_head(path)) return;
    die("%s already exists and is no %s; --force overwrites it", path, kind);
}

/* Opens the log: --log, or a file beside the picture. With --plot each record also has the gradient
 * norms of the layers. Existing files of another kind stay. */
static void log_open(trainer *t)
{
    const bool plotted = given(t->s, O_PLOT);
    const char *path = text_of(t->s, O_LOG);
    double norm[GROUPS];
    bool goes_on;
    if (!path && !plotted) return;
    if (plotted) {
        const char *plot = text_of(t->s, O_PLOT);
        must_write(plot, false);
        refuse_kind(t, plot, is_picture(plot), "picture");
    }
    if (path) snprintf(t->log_path, sizeof t->log_path, "%s", path);
    else snprintf(t->log_path, sizeof t->log_path, "%s.csv", text_of(t->s, O_PLOT));
    path = t->log_path;
    const size_t n = strlen(path);
    t->csv = n > 4 && !strcmp(path + n - 4, ".csv");
    if (plotted) layer_gradients(t, norm, 1);                   /* for the names */
    refuse_kind(t, path, is_log(path), "log");
    goes_on = t->position && is_log(path);
    if (goes_on) log_cut(path, t->position + 1 + t->csv);
    t->log = fopen(path, goes_on ? "ab" : "wb");
    if (!t->log) die("%s cannot be written: %s", path, strerror(errno));
    if (goes_on) return;
    log_head(t);
    if (t->csv) log_columns(t);
}

/* A full disk loses the log but not the training: the run goes on and fails at its end. */
static void log_lost(trainer *t)
{
    t->log_lost = output_lost(t->log_path);
    fprintf(stderr, "tfn: training goes on without a log\n");
    fclose(t->log);
    t->log = NULL;
}

static void log_number(const trainer *t, const char *name, double v, bool there)
{
    if (t->csv) {
        fprintf(t->log, ",");
        if (there) fprintf(t->log, "%.9g", v);
    } else if (there && isfinite(v)) fprintf(t->log, ", \"%s\": %.9g", name, v);
    else if (there) fprintf(t->log, ", \"%s\": null", name);
}

static void log_step(trainer *t, const tfn_report *r, bool validated)
{
    double norm[GROUPS], v[FIELDS] = { (double)t->position, r->loss, r->nll, (double)r->lr,
        (double)r->grad_norm, (double)r->tokens, seconds() - t->began, t->last_valid };
    if (!t->log) return;
    if (given(t->s, O_PLOT)) layer_gradients(t, norm, r->tokens);
    if (!t->csv) fprintf(t->log, "{\"step\": ");
    fprintf(t->log, "%.0f", v[STEP]);
    for (int i = LOSS; i < FIELDS; i++)
        log_number(t, field_names[i], v[i], i != VALID || validated);
    if (given(t->s, O_PLOT))
        for (int i = 0; i < t->groups; i++) log_number(t, t->group[i], norm[i], true);
    if (!t->csv) fprintf(t->log, "}");
    fprintf(t->log, "\n");
    errno = 0;
    if (ferror(t->log) || (validated && fflush(t->log))) log_lost(t);
}

static bool log_close(trainer *t)
{
    errno = 0;
    if (t->log && fclose(t->log)) t->log_lost = output_lost(t->log_path);
    t->log = NULL;
    return !t->log_lost;
}

/* -- the picture of a log ---------------------------------------------------------------------- */

/* The place of field i, called `name`, in a record; NULL: it is not there. */
static const char *log_find(const char *line, bool csv, int i, const char *name)
{
    char key[32];
    if (!csv) {
        snprintf(key, sizeof key, "\"%s\": ", name);
        line = strstr(line, key);
        return line ? line + strlen(key) : NULL;
    }
    for (; i > 0; i--) {
        line = strchr(line, ',');
        if (!line) return NULL;
        line++;
    }
    return line;
}

/* The value of a field; NaN: it has none. */
static double log_field(const char *line, bool csv, int i, const char *name)
{
    char *end;
    line = log_find(line, csv, i, name);
    if (!line) return (double)NAN;
    const double v = strtod(line, &end);
    return end == line ? (double)NAN : v;
}

/* Reads the log: means of each field over PARTS parts of the steps, and the validations. */
typedef struct plot_rows {
    int    points, valids;
    double row[FIELDS + GROUPS][PARTS + 1], valid_at[VALIDS], valid[VALIDS];
} plot_rows;
static void plot_read(plot_rows *p, const trainer *t)
{
    data_file x;
    int64_t every = (t->position + PARTS - 1) / PARTS;
    int64_t summed = 0;
    double sum[FIELDS + GROUPS] = { 0 };
    int fields = FIELDS + t->groups;
    must(data_read(&x, t->log_path), x.error);
    for (char *line = x.bytes, *next; *line; line = next) {
        double step;
        next = line + strcspn(line, "\n");
        if (*next) *next++ = 0;
        step = log_field(line, t->csv, STEP, field_names[STEP]);
        if (!(step > 0)) continue;                      /* the options, the head */
        for (int i = 0; i < fields; i++) {
            const double v = log_field(line, t->csv, i, log_name(t, i));
            if (i != VALID) sum[i] += v;
            else if (v == v && p->valids < VALIDS) {
                p->valid_at[p->valids] = step;
                p->valid[p->valids++] = v;
            }
        }
        if (++summed < every && (int64_t)step != t->position) continue;
        for (int i = 0; i < fields; i++) {
            p->row[i][p->points] = sum[i] / (double)summed;
            sum[i] = 0;
        }
        summed = 0;
        if (++p->points > PARTS) break;
    }
    data_file_free(&x);
}

/* Draws a picture of svg.h inside another one; `down`: its top. */
static void plot_panel(FILE *f, const svg_plot *plot, int down)
{
    FILE *part = tmpfile();
    char line[4096];
    bool first = true;
    if (!part) die("a temporary file cannot be created");
    svg_curves(part, plot);
    rewind(part);
    for (; fgets(line, sizeof line, part); first = false)
        if (first) fprintf(f, "<svg y=\"%d\" %s", down, line + strlen("<svg "));
        else fputs(line, f);
    if (ferror(part)) die("a temporary file cannot be read");
    fclose(part);
}

static bool plot_write(const trainer *t)
{
    static const char *const titles[] = { "Loss", "Learning rate", "Gradient norm" };
    const char *path = text_of(t->s, O_PLOT);
    plot_rows *p;
    int shown = t->groups < SVG_STYLES ? t->groups : SVG_STYLES;
    svg_curve loss[2] = { { 0 } }, rate = { 0 }, layers[SVG_STYLES] = { { 0 } };
    svg_plot plots[3] = { { 0 } };
    output_file o;
    FILE *f;
    if (!path) return true;
    p = (plot_rows *)reserve(1, sizeof *p);
    plot_read(p, t);
    if (!(f = output_open(&o, path))) return false;
    loss[0].name = "training";
    loss[0].y = p->row[LOSS];
    loss[1].name = "validation";
    loss[1].points = true;
    loss[1].x = p->valid_at;
    loss[1].y = p->valid;
    loss[1].count = p->valids;
    rate.y = p->row[RATE];
    for (int i = 0; i < shown; i++) {
        int g = 0;                              /* the first, the last, and others evenly between */
        if (shown > 1) g = i * (t->groups - 1) / (shown - 1);
        layers[i].name = t->group[g];
        layers[i].y = p->row[FIELDS + g];
        layers[i].x = p->row[STEP];
        layers[i].count = p->points;
    }
    loss[0].x = rate.x = p->row[STEP];
    loss[0].count = rate.count = p->points;
    plots[0].curves = loss;
    plots[0].count = 2;
    plots[0].y_label = "nats";
    plots[1].curves = &rate;
    plots[1].count = 1;
    plots[2].curves = layers;
    plots[2].count = shown;
    plots[2].log_y = true;
    svg_begin(f, SVG_WIDTH, 3 * SVG_HEIGHT, "Training");
    for (int i = 0; i < 3; i++) {
        plots[i].title = titles[i];
        plots[i].x_label = "step";
        plot_panel(f, &plots[i], i * SVG_HEIGHT);
    }
    svg_end(f);
    free(p);
    return output_close(&o);
}

/* -- what is said meanwhile -------------------------------------------------------------------- */

/* Validations during training use a sample of the held-out text: its first batches. */
enum { SAMPLE_BATCHES = 50, FINAL_BATCHES = 1000 };
static bool samples(const trainer *t) { return t->valid.batches.count > SAMPLE_BATCHES; }

/* A line of progress, with fields in order of importance. On a terminal, fields that do not fit are
 * left out, and a bar is drawn if there is room. */
enum { P_STEP, P_LOSS, P_LEFT, P_VALID, P_SPEED, P_RATE, P_GRADIENT, P_FIELDS, P_BAR = 20 };
typedef struct progress {
    char text[P_FIELDS][48];
    bool shown[P_FIELDS];
} progress;

/* The order on the line is not the order of importance. */
static const int progress_order[P_FIELDS] = { P_STEP, P_LOSS, P_VALID, P_RATE, P_GRADIENT, P_SPEED,
                                              P_LEFT };

/* Chooses what fits into `columns`; returns how many of them are used. */
static int fit_progress(progress *p, int columns)
{
    int used = -2;
    for (int i = 0; i < P_FIELDS; i++) {
        const int length = (int)strlen(p->text[i]) + 2;
        p->shown[i] = used + length <= columns;
        if (!p->shown[i]) break;
        used += length;
    }
    return used;
}

static void say_bar(const trainer *t)
{
    const int done = (int)(P_BAR * t->position / t->steps);
    if (t->colored) fprintf(stderr, "\033[36m");
    fprintf(stderr, "%.*s", done, "####################");
    if (t->colored) fprintf(stderr, "\033[0m");
    fprintf(stderr, "%.*s ", P_BAR - done, "....................");
}

static void put_progress(const trainer *t, progress *p)
{
    int columns = 1000;
    const char *between = "";
    if (t->terminal) columns = output_columns(stderr) - 1;      /* a full line would wrap */
    const int used = fit_progress(p, columns);
    if (t->terminal) fprintf(stderr, "\r\033[K");
    if (t->terminal && used + P_BAR + 1 <= columns) say_bar(t);
    for (int i = 0; i < P_FIELDS; i++) {
        if (!p->shown[progress_order[i]]) continue;
        fprintf(stderr, "%s%s", between, p->text[progress_order[i]]);
        between = "  ";
    }
    if (!t->terminal) fprintf(stderr, "\n");
    fflush(stderr);
}

/* Prints progress for programs, on the standard output. */
static void json_progress(trainer *t, const tfn_report *r, double elapsed)
{
    json_line x = json_begin(stdout);
    json_whole(&x, "step", t->position);
    json_whole(&x, "steps", t->steps);
    json_real(&x, "loss", t->loss_sum / (double)t->loss_count);
    if (t->validated) json_real(&x, samples(t) ? "valid_sample" : "valid", t->last_valid);
    json_real(&x, "lr", (double)r->lr);
    json_real(&x, "gradient", (double)r->grad_norm);
    json_whole(&x, "tokens", t->tokens);
    json_real(&x, "seconds", elapsed);
    json_end(&x);
    t->loss_sum = 0;
    t->loss_count = 0;
}

/* Prints progress: on a terminal one line that is replaced five times a second, else a line every 5
 * s. now: at once. */
static void say_progress(trainer *t, const tfn_report *r, bool now)
{
    const double at = seconds();
    double apart = 5;
    const int64_t done = t->position - t->first;
    progress p;
    if (t->terminal && !given(t->s, O_JSON)) apart = 0.2;
    t->loss_sum += r->loss;
    t->loss_count++;
    t->tokens += r->tokens;
    if (given(t->s, O_QUIET)) return;
    if (!now && at - t->shown < apart) return;
    t->shown = at;
    if (given(t->s, O_JSON)) {
        json_progress(t, r, at - t->began);
        return;
    }
    memset(&p, 0, sizeof p);
    const double each = (at - t->began) / (double)done;
    const double left = each * (double)(t->steps - t->position);
    const char *sample = samples(t) ? " (sample)" : "";
#define PROGRESS(field, ...) snprintf(p.text[field], sizeof p.text[field], __VA_ARGS__)
    PROGRESS(P_STEP, "step %lld/%lld", (long long)t->position, (long long)t->steps);
    PROGRESS(P_LOSS, "loss %.3f", t->loss_sum / (double)t->loss_count);
    PROGRESS(P_VALID, "valid -");
    if (t->validated) PROGRESS(P_VALID, "valid %.3f%s", t->last_valid, sample);
    PROGRESS(P_RATE, "lr %.2e", (double)r->lr);
    PROGRESS(P_GRADIENT, "gradient %.2f", (double)r->grad_norm);
    PROGRESS(P_SPEED, "%.0f tokens/s", (double)t->tokens / (at - t->began));
    PROGRESS(P_LEFT, "%d:%02d left", (int)left / 60, (int)left % 60);
#undef PROGRESS
    put_progress(t, &p);
    t->loss_sum = 0;
    t->loss_count = 0;
}

/* Exchanges the weights with their averages, if there are any; a second call changes them back. */
static void swap_averages(trainer *t)
{
    if (t->b.model.memory.averages) tfn_model_swap_ema(&t->b.model);
}

/* The loss of a token of the first held-out batches. */
static double loss_of_valid(trainer *t, int64_t batches)
{
    double loss;
    swap_averages(t);
    loss = loss_of_batches(&t->b.model, &t->valid, batches);
    swap_averages(t);
    return loss;
}

/* The loss of a validation during training. */
static double validate(trainer *t) { return loss_of_valid(t, SAMPLE_BATCHES); }

/* Batches of the evaluation at the end: all held-out batches; but if there are over 1,000, at most
 * a third of the steps, so that a large text adds about a tenth to the training. */
static int64_t final_batches(const trainer *t)
{
    int64_t most = t->steps / 3;
    if (most < FINAL_BATCHES) most = FINAL_BATCHES;
    return most < t->valid.batches.count ? most : t->valid.batches.count;
}

/* Evaluates all held-out text if validations used a sample, and says so. */
static void validate_all(trainer *t)
{
    const int64_t batches = final_batches(t);
    if (!samples(t)) return;
    t->last_valid = loss_of_valid(t, batches);
    if (given(t->s, O_QUIET)) return;
    if (batches == t->valid.batches.count)
        output_say(stderr, "valid at the end: all %lld held-out batches\n", (long long)batches);
    else
        output_say(stderr, "valid at the end: %lld of %lld held-out batches; tfn eval takes all\n",
                   (long long)batches, (long long)t->valid.batches.count);
}

/* -- saving ------------------------------------------------------------------------------------ */

void kept_name(char *to, size_t room, const char *out, const char *word)
{
    const char *dot = strrchr(out, '.');
    if (!dot || strchr(dot, '/')) dot = out + strlen(out);
    snprintf(to, room, "%.*s.%s%s", (int)(dot - out), out, word, dot);
}
static void step_name(char *to, size_t room, const char *out, int64_t step)
{
    char word[32];
    snprintf(word, sizeof word, "%lld", (long long)step);
    kept_name(to, room, out, word);
}

/* Removes the remains of killed runs: temporary files beside OUT, OUT.best and the kept steps, and
 * OUT.keep and OUT.tmp of earlier versions. */
void remove_stale(const char *out)
{
    char name[1024];
    static const char *const old[] = { ".keep", ".keep.tmp", ".tmp" };
    output_remove_stale(out);
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        snprintf(name, sizeof name, "%.1000s%s", out, old[i]);
        remove(name);
    }
}

/* Saves the weights, or with --ema their averages, after the best validation so far. The file has
 * no state of training. It belongs to OUT and is replaced with it. OUT stores the best loss, so
 * that a stopped run finds the same best. */
static void keep_best(trainer *t)
{
    static char valid[40];
    static char at[32];
    const char *position = text_of(t->s, O_POSITION_SEEN);
    if (!(t->last_valid < t->best_valid)) return;
    t->best_valid = t->last_valid;
    t->best_step = t->position;
    snprintf(valid, sizeof valid, "%.17g", t->best_valid);
    snprintf(at, sizeof at, "%lld", (long long)t->best_step);
    t->s->text[O_BEST_VALID] = valid;
    t->s->text[O_BEST_STEP] = at;
    t->s->text[O_POSITION_SEEN] = NULL;         /* no run goes on from this file */
    swap_averages(t);
    bundle_save(&t->b, t->s, t->best, true);
    swap_averages(t);
    t->s->text[O_POSITION_SEEN] = position;
}

static void save(trainer *t, bool keep)
{
    static char position[32];
    int64_t many = whole_of(t->s, O_KEEP);
    int64_t every = whole_of(t->s, O_SAVE_EVERY);
    char name[1024];
    snprintf(position, sizeof position, "%lld", (long long)t->position);
    t->s->text[O_POSITION_SEEN] = position;
    bundle_save(&t->b, t->s, t->out, false);
    if (!keep || !many) return;
    step_name(name, sizeof name, t->out, t->position);
    bundle_save(&t->b, t->s, name, false);
    step_name(name, sizeof name, t->out, t->position - many * every);
    if (t->position > many * every) remove(name);
}

/* Saves only the trained tensors as --adapter: kilobytes, to be used with the model that it was
 * trained from. */
static void save_adapter(trainer *t)
{
    const char *path = text_of(t->s, O_ADAPTER);
    tfn_checkpoint with = { 0 };
    tfn_file f = file_at(path);
    if (!path) return;
    with.weights_only = true;
    swap_averages(t);
    tfn_model_save_adapter(&f, &t->b.model, &with);
    swap_averages(t);
    must_be_ok(&f.error);
}

/* -- the run ----------------------------------------------------------------------------------- */

void step(trainer *t, tfn_report *r)
{
    const tfn_batch *batch = data_batch(&t->data.batches, t->position++);
    positions_trained += (double)batch->batch * (batch->time + batch->source_time);
    memset(r, 0, sizeof *r);
    tfn_model_step(&t->b.model, batch, r);
    must_be_ok(&t->b.model.error);
    t->skipped += r->skipped;
}

static void new_model(trainer *t)
{
    int32_t classes = 0;
    if (t->b.kind == DATA_LABELS) classes = t->b.classes.count;
    describe(&t->b.desc, t->s, &t->data, &t->b.tokenizer.tokenizer, classes);
    if (t->valid.batches.most_rows > t->b.desc.batch) t->b.desc.batch = t->valid.batches.most_rows;
    tfn_model_new(&t->b.model, &t->b.desc, NULL);
    must_be_model(&t->b.model, &t->b.desc);
}

/* Seconds a step, over `count` steps after two that do not count. Keeps no results. */
static double time_steps(trainer *t, int threads, int count)
{
    double began = 0;
    tfn_report r;
    char text[32];
    snprintf(text, sizeof text, "%d", threads);
    t->s->text[O_THREADS] = text;
    new_model(t);
    for (int i = 0; i < count + 2; i++) {
        if (i == 2) began = seconds();
        step(t, &r);
    }
    t->position = t->skipped = 0;
    t->s->text[O_THREADS] = NULL;
    tfn_model_free(&t->b.model);
    return (seconds() - began) / count;
}

/* True if this program was compiled with threads; else models refuse them. */
static bool has_threads(void)
{
    tfn_model_desc d, out;
    memset(&d, 0, sizeof d);
    d.vocab = d.context = 1;
    d.threads = 2;
    return tfn_model_resolve(&out, &d, NULL);
}

/* Chooses the threads if they are not given: one, or all processors if that is faster now. The bits
 * are the same. */
static void choose_threads(trainer *t)
{
    static char threads[32];
    int best = 1;
    if (given(t->s, O_THREADS)) return;
    if (processors() > 1 && has_threads()) {
        double one = time_steps(t, 1, 5);
        if (time_steps(t, processors(), 5) < one) best = processors();
    }
    snprintf(threads, sizeof threads, "%d", best);
    t->s->text[O_THREADS] = threads;
}

/* Seconds of processor time since at[] was set: the time of this thread, or the mean of all threads
 * if that is more. */
static double processor_since(const trainer *t, const double at[CLOCKS])
{
    double now[CLOCKS];
    double threads = (double)whole_of(t->s, O_THREADS);
    clocks_now(now);
#if defined CLOCK_THREAD_CPUTIME_ID && !defined _WIN32
    return fmax(now[0] - at[0], (now[1] - at[1]) / threads);
#else
    return (now[1] - at[1]) / threads;
#endif
}

static double wall_since(const double at[CLOCKS])
{
    double now[CLOCKS];
    clocks_now(now);
    return now[CLOCK_WALL] - at[CLOCK_WALL];
}

/* Seconds since at[] was set, by the clock that --minutes is measured with. */
static double spent_since(const trainer *t, const double at[CLOCKS])
{
    if (given(t->s, O_WALL)) return wall_since(at);
    return processor_since(t, at);
}

/* Results of a trial of the first steps, in seconds of the clock of --minutes. */
typedef struct trial {
    double each, valid;                 /* seconds of a step, of a validation */
    double wall;                        /* seconds of the wall clock for each of these */
} trial;

/* Trains for a twentieth of the minutes, at most 10 s and at least 20 steps. The batches are spread
 * over all of the data, because they take different times. Keeps no results. */
static void try_steps(trainer *t, trial *x)
{
    const double most = fmin(60 * real_of(t->s, O_MINUTES) / 20, 10);
    const double golden = 0.6180339887498949;
    double began[CLOCKS];
    double spent = 0;
    int tried = 0;
    tfn_report r;
    new_model(t);
    step(t, &r);
    clocks_now(began);
    validate(t);
    x->valid = spent_since(t, began);
    clocks_now(began);
    for (; tried < 100000; tried++) {
        const double place = golden * tried;
        if (tried >= 20 && spent >= most) break;
        t->position = (int64_t)((place - floor(place)) * (double)t->data.batches.count);
        step(t, &r);
        spent = spent_since(t, began);
    }
    x->each = spent / tried;
    x->wall = wall_since(began) / spent;
    t->position = t->skipped = 0;
    tfn_model_free(&t->b.model);
}

/* Warns if the wall clock will need more than --minutes, which counts processor time. */
static void say_wall(const trainer *t, const trial *x, double all)
{
    const double minutes = (wall_since(t->opened) + all * x->wall) / 60;
    if (given(t->s, O_WALL) || minutes < 1.2 * t->minutes) return;
    output_say(stderr, "tfn: --minutes %.3g counts processor time: about %.3g minutes on the "
               "clock, because other programs run; --wall counts the clock\n", t->minutes, minutes);
}

/* Turns --minutes into --steps, which repeats the run. Time counts from the start of the program,
 * and at least half of it is for training. There are at most 20 validations, in at most a twentieth
 * of the time, and one at the end. */
static void choose_steps(trainer *t)
{
    static char steps[32], eval[32];
    const double minutes = real_of(t->s, O_MINUTES);
    const double every = (double)whole_of(t->s, O_EVAL_EVERY);
    double all, count, last;
    trial x;
    if (!given(t->s, O_MINUTES) || given(t->s, O_STEPS)) return;
    t->s->text[O_STEPS] = "1000000";
    try_steps(t, &x);
    last = 0;
    if (samples(t)) last = x.valid * fmin((double)t->valid.batches.count, FINAL_BATCHES)
                         / SAMPLE_BATCHES;
    all = fmax(60 * minutes - last - spent_since(t, t->opened), 30 * minutes);
    if (every > 0) count = all / (x.each + x.valid / every);
    else {
        const double validations = fmax(fmin(floor(all / 20 / x.valid), 20), 1);
        count = fmax(all - validations * x.valid, all / 2) / x.each;
        snprintf(eval, sizeof eval, "%.0f", fmin(fmax(ceil(count / validations), 1), 1e9));
        budget_choose(t->s, O_EVAL_EVERY, eval);
    }
    t->minutes = minutes;
    snprintf(steps, sizeof steps, "%.0f", fmin(fmax(ceil(count), 1), 1e9));
    t->s->text[O_STEPS] = steps;
    fprintf(stderr, "%.1f ms a step:", 1e3 * x.each);
    budget_say(stderr, t->s);
    fprintf(stderr, " --steps %s\n", steps);
    say_wall(t, &x, all);
}

static void load_state(trainer *t)
{
    tfn_file f = file_at(t->b.path);
    tfn_model_load(&t->b.model, &f);
    must_be_ok(&f.error);
    t->position = t->first = whole_of(t->s, O_POSITION_SEEN);
    t->good = t->position;
    if (!given(t->s, O_BEST_VALID)) return;             /* by a tfn that did not keep the best */
    t->best_valid = real_of(t->s, O_BEST_VALID);
    t->best_step = whole_of(t->s, O_BEST_STEP);
}

void take_arch(settings *s)
{
    static bundle from;
    const bool labels = given(s, O_LABELS) || (task_of(s) && task_of(s)->kind == TASK_LABEL);
    if (choice_of(s, O_ARCH) || labels) return;
    bundle_look(&from, text_of(s, O_FROM));
    if (from.desc.arch == TFN_ARCH_DECODER && !is_speech(s)) s->text[O_ARCH] = "decoder";
    if (from.desc.arch == TFN_ARCH_ENCODER && given(s, O_TEXT)) s->text[O_ARCH] = "encoder";
    bundle_free(&from);
}

/* Model options that have an option of tfn. */
static const struct { option_id id; const char *name; } shape_options[] = {
    { O_LAYERS, "layers" }, { O_WIDTH, "width" }, { O_HEADS, "heads" }, { O_FFN, "ffn" },
    { O_CONTEXT, "context" }, { O_POSITION, "position" }, { O_RECIPE, "recipe" },
    { O_TOPOLOGY, "topology" }, { O_NORM, "norm" }, { O_INIT, "init" }
};
enum { SHAPE_OPTIONS = sizeof shape_options / sizeof *shape_options };

/* A copy that is never freed. */
static const char *shape_entry(const char *text)
{
    char *kept = (char *)reserve(strlen(text) + 1, 1);
    memcpy(kept, text, strlen(text));
    return kept;
}

/* The text of a model option, never freed; NULL: it has the default. */
static const char *shape_text(const tfn_model_desc *d, const char *name)
{
    char text[128];
    tfn_desc_get(d, name, text, sizeof text);
    return strcmp(text, "default") ? shape_entry(text) : NULL;
}

/* Extends --set so that a model with the options of shape_options equals `from`. An imported model
 * has options that tfn has no names for. Leaves out options of the data and of the head. */
static void take_fields(trainer *t, const tfn_model_desc *from)
{
    static const char *const passed[] = { "arch", "vocab", "head", "classes", "cutoffs[0]",
                                          "cutoffs[1]", "mup_base_width" };
    static const char *const left[] = { "folded", "bands", "source_context" };
    tfn_model_desc base, plain;
    tfn_error e;
    memset(&base, 0, sizeof base);
    for (int i = 0; i < SHAPE_OPTIONS; i++) {
        const char *text = shape_text(from, shape_options[i].name);
        if (text) tfn_desc_set(&base, shape_options[i].name, text, NULL);
    }
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
        const char *text = shape_text(from, passed[i]);
        if (text) tfn_desc_set(&base, passed[i], text, NULL);
    }
    if (base.arch == TFN_ARCH_ENCODER) base.segments = 2;
    if (!tfn_model_resolve(&plain, &base, &e)) must_be_ok(&e);
    for (size_t i = 0; shape_names[i]; i++) {
        const char *name = shape_names[i];
        char is[128], wanted[128], entry[256];
        bool leave = sets_field(t->s, name);
        for (size_t k = 0; k < sizeof left / sizeof *left; k++) leave |= !strcmp(left[k], name);
        tfn_desc_get(&plain, name, is, sizeof is);
        tfn_desc_get(from, name, wanted, sizeof wanted);
        if (leave || !strcmp(is, wanted)) continue;
        if (t->b.kind == DATA_LABELS && (!strcmp(name, "head_transform")
                                         || !strcmp(name, "output_bias"))) continue;
        snprintf(entry, sizeof entry, "%s=%s", name, wanted);
        t->s->text[O_SET] = option_longer(text_of(t->s, O_SET), shape_entry(entry));
    }
}

/* Takes the tokenizer of --from, and its shape where the arguments leave it open. */
static void take_tokenizer(trainer *t)
{
    static bundle from;
    char vocab[32];
    bundle_open(&from, text_of(t->s, O_FROM));
    const bool of_page = given(&from.from, O_PLAYGROUND);
    for (int i = 0; i < SHAPE_OPTIONS; i++) {
        const option_id id = shape_options[i].id;
        if (given(t->s, id)) continue;
        t->s->text[id] = from.from.text[id];
        if (of_page || given(&from.from, O_FAMILY))
            t->s->text[id] = shape_text(&from.desc, shape_options[i].name);
    }
    t->b.tokenizer = from.tokenizer;
    if (from.desc.arch != arch_of(t->b.kind)) return;
    if (!of_page)
        for (int i = O_START_TOKEN; i <= O_BAD_TOKENS; i++) t->s->text[i] = from.from.text[i];
    t->s->text[O_TEMPLATE] = from.from.text[O_TEMPLATE];
    take_fields(t, &from.desc);
    if (from.desc.vocab == from.tokenizer.tokenizer.vocab || sets_field(t->s, "vocab")) return;
    snprintf(vocab, sizeof vocab, "vocab=%d", (int)from.desc.vocab);
    t->s->text[O_SET] = option_longer(text_of(t->s, O_SET), shape_entry(vocab));
}

/* Reads a parameter from packed bytes of its own type. False: the file has another type. */
static bool take_packed(tfn_file *f, const tfn_tensor *x, const tfn_param_info *p)
{
    unsigned char *to = (unsigned char *)p->packed;
    float part[1024];
    if (x->dtype != TFN_DTYPE_U8 || x->bytes != p->bytes) return false;
    for (int64_t at = 0; at < x->count; at += 1024) {
        const int64_t n = x->count - at < 1024 ? x->count - at : 1024;
        if (tfn_file_read(f, x, part, at, n) != TFN_OK) break;
        for (int64_t i = 0; i < n; i++) to[at + i] = (unsigned char)part[i];
    }
    return true;
}

/* Reads parameter i from the file, rounded to its type. False: the file has no tensor of this
 * shape. */
static bool take_weight(tfn_file *f, const tfn_model *m, int32_t i)
{
    tfn_param_info p;
    tfn_tensor x;
    tfn_model_param(m, i, &p);
    if (!tfn_file_find(f, p.name, &x)) return false;
    if (p.weights && take_packed(f, &x, &p)) return true;
    if (x.dtype == TFN_DTYPE_U8)
        die("%s has weights of fewer bits, but floats are needed: tfn quantize --to float32 first",
            f->path);
    const int64_t cols = p.cols;
    const int64_t count = p.rows * cols;
    if (x.rank < 1 || x.shape[x.rank - 1] != cols || x.count != count) return false;
    float *numbers = (float *)reserve((size_t)count, sizeof *numbers);
    tfn_file_read(f, &x, numbers, 0, count);
    param_store(m, i, numbers);
    free(numbers);
    return true;
}

/* Reads all tensors of --from that have the name and shape of a parameter. */
static void take_weights(trainer *t)
{
    tfn_file f = file_at(text_of(t->s, O_FROM));
    tfn_param_info p;
    tfn_model_desc d = { 0 };
    int taken = 0;
    int all = 0;
    tfn_model_peek(&f, &d, NULL);
    if (library_has_lora(&d) && !given(t->s, O_LORA))
        die("%s has LoRA: tfn fold merges it, or --lora goes on with it", f.path);
    tfn_file_open(&f);
    for (; tfn_model_param(&t->b.model, all, &p); all++) taken += take_weight(&f, &t->b.model, all);
    must_be_ok(&f.error);
    tfn_file_close(&f);
    if (!taken) die("%s has no tensor of this model", f.path);
    if (!given(t->s, O_QUIET))
        fprintf(stderr, "%d of %d tensors come from %s\n", taken, all, f.path);
}

/* Stores the class names for the checkpoint. */
static void keep_classes(trainer *t)
{
    static char names[DATA_CLASSES * DATA_NAME];
    for (int32_t i = 0; i < t->b.classes.count; i++) {
        if (i) strcat(names, "\t");
        strcat(names, t->b.classes.name[i]);
    }
    if (names[0]) t->s->text[O_CLASSES] = names;
}

/* Ends the program if a resumed run has other data. */
static void check_data(trainer *t)
{
    static char text[20];
    const data_set *x = &t->data.set;
    tfn_key key = tfn_key_make(0);
    for (int64_t i = 0; i < x->at[2 * x->count]; i++)
        key = tfn_key_fold(key, (uint64_t)x->ids[i]);
    snprintf(text, sizeof text, "%016llX", (unsigned long long)key.bits);
    if (given(t->s, O_DATA) && strcmp(text_of(t->s, O_DATA), text))
        die("the training data is not the data of %s", t->b.path);
    t->s->text[O_DATA] = text;
}

void prepare(trainer *t, bool resumed)
{
    corpus_open(&t->data, t->s, t->b.kind, TASK_TRAIN, NULL, &t->b.classes);
    if (t->b.kind == DATA_LABELS && t->b.classes.count < 2)
        die("all labels are \"%s\": expected two classes or more", t->b.classes.name[0]);
    keep_classes(t);
    if (!resumed) budget_plan(t->s, &t->data);
    if (!resumed && given(t->s, O_FROM)) take_tokenizer(t);
    else if (!resumed) train_tokenizer(&t->b.tokenizer, t->s, &t->data);
    t->b.classes.fixed = true;
    corpus_open(&t->valid, t->s, t->b.kind, TASK_VALID, NULL, &t->b.classes);
    corpus_cut(&t->data, t->s, &t->b.tokenizer.tokenizer, false);
    corpus_cut(&t->valid, t->s, &t->b.tokenizer.tokenizer, true);
    check_data(t);
    choose_threads(t);
    choose_steps(t);
    new_model(t);
    t->best_valid = (double)INFINITY;
    if (resumed) load_state(t);
    else if (given(t->s, O_FROM)) take_weights(t);
    t->steps = whole_of(t->s, O_STEPS);
    int32_t targets = t->b.desc.vocab;
    if (t->b.kind == DATA_LABELS) targets = DATA_CLASSES;
    t->unigram = unigram_entropy(&t->data, targets);
    t->last_valid = (double)NAN;
    if (!resumed) t->good = t->b.model.desc.schedule.warmup;            /* counts from there */
    t->terminal = output_is_terminal(stderr);
    t->colored = t->terminal && !getenv("NO_COLOR");
}

static void say_beginning(const trainer *t)
{
    const data_set *x = &t->data.set;
    char cut[96] = "", sampled[96] = "", resumed[48] = "";
    if (given(t->s, O_QUIET)) return;
    if (x->dropped || x->cut)
        snprintf(cut, sizeof cut, "; %lld items over %d tokens are %s",
                 (long long)(x->dropped + x->cut), (int)x->options.most,
                 x->dropped ? "left out" : "cut");
    if (samples(t))
        snprintf(sampled, sizeof sampled,
                 "; valid during training: a sample of %d of %lld held-out batches", SAMPLE_BATCHES,
                 (long long)t->valid.batches.count);
    if (t->position)
        snprintf(resumed, sizeof resumed, "; resumed at step %lld", (long long)t->position);
    output_say(stderr, "%lld item%s, %lld tokens, vocabulary %d, %lld parameters, %lld steps"
               "%s%s%s\n",
               (long long)x->count, x->count == 1 ? "" : "s", (long long)x->at[2 * x->count],
               (int)t->b.desc.vocab, (long long)t->b.model.param_floats, (long long)t->steps, cut,
               sampled, resumed);
}

/* After a run with --minutes: reports if the time was far off. */
static void say_minutes(const trainer *t)
{
    const char *clock = "of the processor";
    const double spent = spent_since(t, t->opened) / 60;
    if (given(t->s, O_WALL)) clock = "on the clock";
    if (t->minutes <= 0 || t->position < t->steps) return;
    if (spent < 1.25 * t->minutes && spent > 0.75 * t->minutes) return;
    output_say(stderr, "tfn: the %lld steps took %.3g minutes %s, not the %.3g asked for\n",
               (long long)t->steps, spent, clock, t->minutes);
}

/* True if training made the model worse. It is saved all the same, so that the reason can be
 * found. */
static bool diverged(const trainer *t)
{
    const int32_t choices = t->b.kind == DATA_LABELS ? t->b.classes.count : t->b.desc.vocab;
    const double first = fmax(t->first_loss, log((double)choices));
    if (t->position < t->steps || t->last_valid < 1.2 * first) return false;
    output_say(stderr, "tfn: training diverged: the validation loss is %.4g, an untrained "
               "model has %.4g; the saved model is useless\n", t->last_valid, first);
    say_cause(t);
    return true;
}

/* Prints a word of a shell's command line, quoted if needed. */
static void put_word(FILE *f, const char *word)
{
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/";
    if (*word && !word[strspn(word, plain)]) {
        fputs(word, f);
        return;
    }
    fputc('\'', f);
    for (; *word; word++) {
        if (*word == '\'') fputs("'\\'", f);
        fputc(*word, f);
    }
    fputc('\'', f);
}

/* Prints the command that resumes the run, with the options that the file does not keep. */
static void say_resume(const trainer *t)
{
    static const option_id ids[] = { O_LOG, O_PLOT, O_ADAPTER, O_THREADS };
    fprintf(stderr, "stopped at step %lld of %lld, saved; go on with\n    tfn train --resume ",
            (long long)t->position, (long long)t->steps);
    put_word(stderr, t->out);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (!given(t->s, ids[i])) continue;
        fprintf(stderr, " --%s ", option_rows[ids[i]].name);
        put_word(stderr, text_of(t->s, ids[i]));
    }
    fputc('\n', stderr);
}

/* Prints the next command, ready to copy. It uses the best weights if training went on too long. */
static void say_next(const trainer *t)
{
    const char *path = t->best_valid < 0.95 * t->last_valid ? t->best : t->out;
    const char *verb = "generate";
    const char *after = " \"...\"";
    if (given(t->s, O_QUIET)) return;
    if (t->b.kind == DATA_PAIRS) verb = "translate";
    if (t->b.kind == DATA_LABELS) verb = "classify";
    if (t->b.kind == DATA_LABELS) after = " --text \"...\"";
    if (t->b.desc.bands || (t->b.desc.arch == TFN_ARCH_ENCODER && t->b.kind != DATA_LABELS)) {
        verb = "eval";
        after = "";
    }
    fprintf(stderr, "saved; try it with\n    tfn %s ", verb);
    put_word(stderr, path);
    fprintf(stderr, "%s\n", after);
}

static void put_result(const trainer *t)
{
    printf("step %lld  valid %.4f\n", (long long)t->position, t->last_valid);
    if (isfinite(t->best_valid)) {
        printf("best %lld  valid %.4f%s\n", (long long)t->best_step, t->best_valid,
               samples(t) ? " (sample)" : "");
        if (!given(t->s, O_QUIET)) output_say(stderr, "the best weights are in %s\n", t->best);
    }
    printf("hash %016llX\nbits %s\n", (unsigned long long)tfn_model_hash(&t->b.model),
           tfn_bits(t->b.desc.isa));
}

/* Prints the result as an object. It is the last one, and the only one with "hash". */
static void json_result(const trainer *t)
{
    char hash[20];
    json_line x = json_begin(stdout);
    snprintf(hash, sizeof hash, "%016llX", (unsigned long long)tfn_model_hash(&t->b.model));
    json_whole(&x, "step", t->position);
    json_whole(&x, "steps", t->steps);
    json_real(&x, "valid", t->last_valid);
    if (isfinite(t->best_valid)) {
        json_whole(&x, "best_step", t->best_step);
        json_real(&x, samples(t) ? "best_valid_sample" : "best_valid", t->best_valid);
        json_text(&x, "best", t->best);
    }
    json_text(&x, "hash", hash);
    json_text(&x, "bits", tfn_bits(t->b.desc.isa));
    json_text(&x, "out", t->out);
    json_end(&x);
}

int run(trainer *t)
{
    int64_t eval = whole_of(t->s, O_EVAL_EVERY);
    int64_t every = whole_of(t->s, O_SAVE_EVERY);
    bool drawn;
    if (!eval) eval = (t->steps + 19) / 20;
    catch_signals(interrupt);
    log_open(t);
    say_beginning(t);
    t->began = seconds();             /* shown = 0: the first step is printed at once */
    while (t->position < t->steps) {
        tfn_report r;
        bool last, validated;
        if (interrupted) break;
        step(t, &r);
        if (t->position == 1 && isfinite(r.loss)) t->first_loss = r.loss;
        last = t->position == t->steps;
        validated = last || t->position % eval == 0;
        if (validated) {
            t->last_valid = validate(t);
            t->validated = true;
            keep_best(t);
        }
        log_step(t, &r, validated);
        say_progress(t, &r, last || (validated && t->terminal));
        if (validated) diagnose(t, r.tokens);
        if (every && t->position % every == 0 && !last) save(t, true);
    }
    if (t->terminal && !given(t->s, O_QUIET) && !given(t->s, O_JSON)) fprintf(stderr, "\n");
    if (t->position == t->steps && !isfinite(t->last_valid)) t->last_valid = validate(t);
    save(t, false);
    if (t->position == t->steps) save_adapter(t);
    if (t->position == t->steps) validate_all(t);
    drawn = log_close(t) && plot_write(t);
    if (t->position < t->steps) {
        say_resume(t);
        return 130;
    }
    if (given(t->s, O_JSON)) json_result(t);
    else put_result(t);
    say_minutes(t);
    if (diverged(t)) return 1;
    say_learned(t);
    say_next(t);
    return drawn ? 0 : 1;
}
