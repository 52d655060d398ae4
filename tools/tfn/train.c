/* Refuses what contradicts itself or would overwrite something, then trains. */
#include "train.h"
#include "../../tfnorm.h"
#include "../common/output.h"
#include "../common/svg.h"
#include "models.h"
#include "trainer.h"
#include "use.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if two of the files that training reads and writes are the same. */
static void refuse_shared(const trainer *t)
{
    const settings *s = t->s;
    const struct { const char *name, *path; } files[] = {
        { "--out", t->out }, { "the best of --out", t->best }, { "--log", text_of(s, O_LOG) },
        { "--plot", text_of(s, O_PLOT) }, { "--adapter", text_of(s, O_ADAPTER) },
        { "the text", text_of(s, O_TEXT) }, { "--pairs", text_of(s, O_PAIRS) },
        { "--labels", text_of(s, O_LABELS) }, { "--valid", text_of(s, O_VALID) },
        { "--from", text_of(s, O_FROM) }
    };
    enum { ALL = sizeof files / sizeof *files, WRITTEN = 5 };
    for (int i = 0; i < WRITTEN; i++)
        for (int j = i + 1; j < ALL; j++) {
            if (!files[i].path || !files[j].path) continue;
            if (output_is_same(files[i].path, files[j].path))
                die("%s and %s are one file, %s", files[i].name, files[j].name, files[i].path);
        }
}

/* Ends the program if the model would store a name or text that is not UTF-8: saving would fail. */
static void refuse_bytes(const settings *s)
{
    for (int i = 0; i < O_COUNT; i++) {
        const char *text = s->text[i];
        if (!text || !(option_rows[i].commands & OPTION_KEPT)) continue;
        for (int n; *text; text += n) {
            n = svg_character((const unsigned char *)text);
            if (!n) die("%s is not UTF-8, so a model cannot store it: rename it", s->text[i]);
        }
    }
}

static bool is_input(const char *path)
{
    if (!path) return false;
    return !strcmp(path, "-") || !strcmp(path, "/dev/stdin") || !strcmp(path, "/dev/fd/0");
}

/* Ends the program if the standard input is used twice, or as a log. */
static void refuse_streams(const settings *s)
{
    const char *log = text_of(s, O_LOG);
    const char *plot = text_of(s, O_PLOT);
    const bool data = is_input(text_of(s, O_TEXT)) || is_input(text_of(s, O_PAIRS))
                   || is_input(text_of(s, O_LABELS));
    if (data && is_input(text_of(s, O_VALID)))
        die("the standard input cannot be both training and validation data");
    if (log && !strcmp(log, "-")) die("--log needs a file; --json prints progress for programs");
    if (plot && !strcmp(plot, "-")) die("--plot needs a file");
}

/* True if an option has its old value. */
static bool is_same(const option_row *r, const char *was, const char *is)
{
    if (!was) return false;
    if (r->kind == 'i' || r->kind == 'r') return strtod(was, NULL) == strtod(is, NULL);
    return !strcmp(was, is);
}

/* Ends the program if a resumed run is given other options of the model or the updates. */
static void refuse_changed(const settings *s, const bundle *b)
{
    for (int i = O_TOKENIZER; i <= O_SEED; i++) {
        const option_row *r = &option_rows[i];
        const char *was = text_of(&b->from, (option_id)i);
        const char *is = s->text[i];
        if (!is || !(r->commands & OPTION_KEPT) || i == O_BATCH || i == O_BATCH_TOKENS) continue;
        if (is_same(r, was, is)) continue;
        if (!was) was = "not given";
        die("--%s is %s in %s and stays so; --from begins anew with its weights", r->name, was,
            b->path);
    }
}

/* Ends the program if a file has only weights, such as the best: a run cannot go on from them. */
static void refuse_weights(const char *path)
{
    tfn_file f = file_at(path);
    tfn_model_desc unread;
    int64_t step = -1;
    tfn_model_peek(&f, &unread, &step);
    if (step < 0) die("%s has only weights: train --from begins anew with them", path);
}

/* Ends the program if another one trains into the same --out: both would replace its files. */
static void lock_out(const char *out)
{
    long process;
    char who[40] = "another program";
    if (output_lock(out, &process)) return;
    if (process) snprintf(who, sizeof who, "process %ld", process);
    die("%s is the --out of %s, which still trains; wait for it, or give another --out", out, who);
}

/* Reads the arguments: one source of data, or the run that --resume names. */
static bool train_source(trainer *t, cli *c)
{
    settings *s = t->s;
    const char *from = text_of(s, O_RESUME);
    int sources;
    if (s->files > 1) cli_fail(c, "one text, not \"%s\" too", s->file[1]);
    if (s->files) s->text[O_TEXT] = s->file[0];
    if (from && !strcmp(from, "auto")) {
        if (!given(s, O_OUT)) cli_fail(c, "--resume auto needs --out");
        from = text_of(s, O_OUT);
        if (!exists(from)) from = NULL;
    }
    if (from) {
        if (given(s, O_FROM)) cli_fail(c, "--resume goes on, --from begins anew: one of them");
        if (given(s, O_MINUTES))
            cli_fail(c, "--minutes is for a new run, --resume keeps its --steps");
        bundle_open(&t->b, from);
        if (given(&t->b.from, O_PLAYGROUND))
            die("%s was saved by the page, which goes on with it; train --from begins anew with "
                "its weights", from);
        refuse_weights(from);
        refuse_changed(s, &t->b);
        if (!given(s, O_OUT)) s->text[O_OUT] = from;        /* even if the file was renamed */
        for (int i = 0; i < O_COUNT; i++)
            if (!s->text[i]) s->text[i] = t->b.from.text[i];
    }
    sources = given(s, O_TEXT) + given(s, O_TASK) + given(s, O_PAIRS) + given(s, O_LABELS);
    if (sources != 1) cli_fail(c, "expected one of FILE, --task, --pairs, --labels");
    if (!given(s, O_OUT)) s->text[O_OUT] = "model.safetensors";
    if (given(s, O_MINUTES) && given(s, O_STEPS))
        cli_fail(c, "--minutes chooses --steps: one of them");
    if (given(s, O_WALL) && !given(s, O_MINUTES)) cli_fail(c, "--wall needs --minutes");
    refuse_bytes(s);
    refuse_streams(s);
    t->out = text_of(s, O_OUT);
    must_write(t->out, true);
    lock_out(t->out);
    remove_stale(t->out);
    kept_name(t->best, sizeof t->best, t->out, "best");
    must_write(t->best, true);
    refuse_shared(t);
    if (given(s, O_ADAPTER)) {
        if (!given(s, O_LORA)) cli_fail(c, "--adapter needs --lora");
        must_write(text_of(s, O_ADAPTER), true);
        refuse_existing(s, text_of(s, O_ADAPTER));
    }
    if (from && output_is_same(from, t->out)) return true;
    refuse_existing(s, t->out);
    if (!given(s, O_FORCE) && exists(t->best))
        die("%s, an earlier run's best, already exists; --force overwrites it", t->best);
    return from != NULL;
}

int train(settings *s, cli *c)
{
    static char kind[16];
    trainer t;
    bool resumed;
    const char *names = kind_names;
    memset(&t, 0, sizeof t);
    t.s = s;
    clocks_now(t.opened);
    t.opened[0] = t.opened[1] = 0;          /* processor time before main counts, too */
    catch_early_signals();                  /* before the lock, which must not stay */
    resumed = train_source(&t, c);
    if (!resumed && given(s, O_FROM)) take_arch(s);
    t.b.kind = kind_of(s);
    for (int i = 0; i < (int)t.b.kind; i++) names = strchr(names, '|') + 1;
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(names, "|"), names);
    s->text[O_KIND] = kind;
    prepare(&t, resumed);
    return run(&t);
}
