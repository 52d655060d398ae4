/* make -C tools && tools/bin/tfn train --task translate --minutes 3 --out m.safetensors
 *
 * Trains Transformers and uses them, from the command line: `tfn --help`, `tfn train --help`.
 * Exit codes: 0; 1: something failed; 2: wrong arguments; 130: stopped by Ctrl-C, and saved. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "threads.h"
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <math.h>

enum { TRAIN = 1, GENERATE = 2, TRANSLATE = 4, CLASSIFY = 8, EVAL = 16, AVERAGE = 32, FOLD = 64,
       EXPORT = 128, BITS = 256, INSPECT = 512, SCORE = 1024, EMBED = 2048,
       IMPORT = 4096, LOGITS = 8192, ENCODE = 16384, FILL = 32768, CHAT = 65536,
       QUANTIZE = 131072 };
#define WRITE (GENERATE | TRANSLATE | EVAL)             /* commands that make text */
#define SENTENCE (INSPECT | FILL | CLASSIFY)            /* those that take --text or --ids */
#define OVERWRITES (AVERAGE | FOLD | EXPORT | EMBED | IMPORT | INSPECT | QUANTIZE)
#define DRAW  (WRITE | CHAT)
#define USE   (WRITE | CLASSIFY | EMBED)
#define KEPT  (TRAIN | OPTION_KEPT)

#define OPTIONS(X) \
    X(TASK, 's', "task", "NAME", NULL, 0, 0, KEPT, "generated data: translate, digits ...") \
    X(PAIRS, 's', "pairs", "FILE", NULL, 0, 0, KEPT, "lines SOURCE tab TARGET") \
    X(LABELS, 's', "labels", "FILE", NULL, 0, 0, KEPT, "lines LABEL tab A, or with tab B") \
    X(VALID, 's', "valid", "FILE", NULL, 0, 0, KEPT, "validation data; else a part is held out") \
    X(ITEMS, 'i', "items", "N", "50000", 1, 1e8, KEPT, "generated items to train on") \
    X(HELD, 'i', "held", "N", "500", 1, 1e7, KEPT, "generated items of validation and test") \
    X(MIN, 'i', "min", "N", "0", 0, 1000, KEPT, "smallest size of a task; 0: its own") \
    X(MAX, 'i', "max", "N", "0", 0, 1000, KEPT, "largest size of a task; 0: its own") \
    X(TOKENIZER, 'c', "tokenizer", "auto|bpe|bytes|chars|words", "auto", 0, 0, KEPT, "pieces") \
    X(VOCAB, 'i', "vocab", "N", "4096", 8, 1e6, KEPT, "most pieces of bpe and words") \
    X(ARCH, 'c', "arch", "auto|decoder|encoder|encdec", "auto", 0, 0, KEPT, "architecture") \
    X(LAYERS, 'i', "layers", "N", "4", 1, 1000, KEPT, "layers of each stack") \
    X(WIDTH, 'i', "width", "N", "64", 1, 65536, KEPT, "channels") \
    X(MUP, 'i', "mup", "N", "0", 0, 65536, KEPT, "rates and scales as of width N (muP); 0: not") \
    X(HEADS, 'i', "heads", "N", "0", 0, 1024, KEPT, "attention heads; 0: width/32") \
    X(FFN, 'i', "ffn", "N", "0", 0, 1e6, KEPT, "hidden width; 0: 4 width") \
    X(CONTEXT, 'i', "context", "N", "64", 4, 1e6, KEPT, "most tokens of a row") \
    X(CUTOFFS, 's', "cutoffs", "N[,M]", NULL, 0, 0, KEPT, "clusters of words begin at N, M") \
    X(POSITION, 'e', "position", "position", "rotary", 0, 0, KEPT, "positions") \
    X(RECIPE, 's', "recipe", "NAME", "pre", 0, 0, KEPT, "topology, norm, init (normlab list)") \
    X(TOPOLOGY, 's', "topology", "NAME", NULL, 0, 0, KEPT, "instead of the recipe's") \
    X(NORM, 's', "norm", "NAME", NULL, 0, 0, KEPT, "instead of the recipe's") \
    X(INIT, 's', "init", "NAME", NULL, 0, 0, KEPT, "instead of the recipe's") \
    X(DROPOUT, 'r', "dropout", "P", "0", 0, 0.99, KEPT, "of branches and embeddings") \
    X(SMOOTHING, 'r', "smoothing", "P", "0", 0, 0.99, KEPT, "of labels") \
    X(STEPS, 'i', "steps", "N", "2000", 1, 1e9, KEPT, "updates in all") \
    X(MINUTES, 'r', "minutes", "M", NULL, 0.001, 1e5, TRAIN, "tried, and made --steps: not both") \
    X(BATCH, 'i', "batch", "N", "64", 1, 65536, KEPT | USE, "most rows of a batch") \
    X(BATCH_TOKENS, 'i', "batch-tokens", "N", "1024", 0, 1e7, KEPT, "most tokens of one; 0: any") \
    X(OPTIMIZER, 'e', "optimizer", "optimizer", "adamw", 0, 0, KEPT, "update") \
    X(LR, 'r', "lr", "R", "0.002", 0, 1e6, KEPT, "peak, of lion 0.0002; 0: nothing moves") \
    X(WARMUP, 'i', "warmup", "N", NULL, 0, 1e9, KEPT, "steps; else 200, or a tenth of all") \
    X(SCHEDULE, 'e', "schedule", "schedule.kind", "cosine", 0, 0, KEPT, \
      "of the rate; step falls to a tenth half-way") \
    X(POWER, 'r', "power", "R", "1", 0.01, 100, KEPT, "of the schedule polynomial") \
    X(BETA1, 'r', "beta1", "R", "0.9", 0, 0.9999, KEPT, "decay of the first moment; adafactor: 0") \
    X(BETA2, 'r', "beta2", "R", "0", 0, 0.99999, KEPT, \
      "decay of the second moment; 0: 0.98, lion 0.99, adafactor growing") \
    X(DECAY, 'r', "decay", "R", "0", 0, 1e3, KEPT, "weight decay") \
    X(DECAY_OF, 'c', "decay-of", "matrices|all", "matrices", 0, 0, KEPT, "parameters") \
    X(FREEZE, 'l', "freeze", "NAMES,..", NULL, 0, 0, KEPT, \
      "parameters that do not train: * ? [ab] stand for characters (tfn inspect has the names)") \
    X(GROUP, 'l', "group", "GROUP,..", NULL, 0, 0, KEPT, \
      "rates of their own: 'NAMES rate=0.1 decay=0'; the last that matches counts") \
    X(LORA, 'l', "lora", "NAMES:N,..", NULL, 0, 0, KEPT, \
      "train A and B of rank N beside these maps, else nothing: 'decoder.*.self.[qv].weight:8'; " \
      "NAMES:N:ALPHA scales them by ALPHA/N; tfn fold merges them") \
    X(SET, 'l', "set", "NAME=VALUE,..", NULL, 0, 0, KEPT, \
      "other options of tfn_model_desc: 'qk_norm=head,muon_rate=10'") \
    X(CLIP, 'r', "clip", "R", "1", 0, 1e9, KEPT, "largest gradient norm; 0: any") \
    X(EMA, 'r', "ema", "R", "0", 0, 0.99999, KEPT, "use averages of the weights of this decay") \
    X(CLIP_VALUE, 'r', "clip-value", "R", "0", 0, 1e9, KEPT, "largest gradient number; 0: any") \
    X(SEED, 'i', "seed", "N", "1", 0, 9e15, KEPT | DRAW, "of weights, data, dropout, draws") \
    X(EVAL_EVERY, 'i', "eval-every", "N", "0", 0, 1e9, KEPT, \
      "steps; 0: 20 times, of --minutes fewer; the best goes to OUT.best") \
    X(SAVE_EVERY, 'i', "save-every", "N", "1000", 0, 1e9, KEPT, "steps; 0: at the end") \
    X(KEEP, 'i', "keep", "N", "0", 0, 1e4, KEPT, "also the last N saved, as OUT.STEP") \
    X(OUT, 's', "out", "FILE", NULL, 0, 0, KEPT | OVERWRITES, "what to write; -o") \
    X(FROM, 's', "from", "MODEL", NULL, 0, 0, KEPT, "begin with its tokenizer, shape, weights") \
    X(ADAPTER, 's', "adapter", "FILE", NULL, 0, 0, TRAIN | USE | FILL | CHAT, \
      "what --lora trains, alone: written at the end, and read beside its model") \
    X(RESUME, 's', "resume", "FILE", NULL, 0, 0, TRAIN, "go on; auto: with OUT if it exists") \
    X(LONGEST, 'i', "context", "N", NULL, 1, 1e6, IMPORT, \
      "most tokens of a text; else 1024, or what the model has if that is less") \
    X(WEIGHTS, 'e', "weights", "weights", "float32", 0, 0, IMPORT, "quantize what is imported") \
    X(TO, 'e', "to", "weights", NULL, 0, 0, QUANTIZE, "what matrices are made of") \
    X(ON, 's', "on", "FILE", NULL, 0, 0, QUANTIZE, "the loss on it, before and after") \
    X(LENIENT, 'f', "lenient", "", NULL, 0, 0, IMPORT, "leave aside unknown keys of config.json") \
    X(IDS, 's', "ids", "\"N N ..\"", NULL, 0, 0, SENTENCE | LOGITS | GENERATE | TRANSLATE, \
      "tokens of a sentence") \
    X(SAID, 's', "text", "TEXT", NULL, 0, 0, SENTENCE, "the sentence") \
    X(MASK, 'i', "mask", "ID", NULL, 0, 1e9, FILL, "of the mask; else the tokenizer's") \
    X(TOP, 'i', "top", "N", "5", 1, 1e6, FILL, "so many of the likeliest tokens") \
    X(TARGET, 's', "target", "TEXT", NULL, 0, 0, INSPECT, \
      "of an encoder-decoder, what it writes; else its own words") \
    X(FORCE, 'f', "force", "", NULL, 0, 0, TRAIN | OVERWRITES, "overwrite OUT") \
    X(LOG, 's', "log", "FILE", NULL, 0, 0, TRAIN, "every step: .csv, else JSON lines (PLOT.csv)") \
    X(PLOT, 's', "plot", "FILE.svg", NULL, 0, 0, TRAIN, "the log: loss, rate, layers' gradients") \
    X(QUIET, 'f', "quiet", "", NULL, 0, 0, TRAIN, "no progress") \
    X(BEAM, 'i', "beam", "N", "0", 0, 1000, WRITE, "beams; 0: greedy or drawn") \
    X(LENGTH_PENALTY, 'r', "length-penalty", "R", "1", 0, 100, WRITE, "score: sum / length^R") \
    X(TEMPERATURE, 'r', "temperature", "R", "0", 0, 1e6, DRAW, "> 0: draw tokens") \
    X(TOP_K, 'i', "top-k", "N", "0", 0, 1e6, DRAW, "draw from the N likeliest; 0: all") \
    X(TOP_P, 'r', "top-p", "P", "1", 0, 1, DRAW, "draw from those that hold P") \
    X(MAX_TOKENS, 'i', "max-tokens", "N", "200", 1, 1e6, DRAW, \
      "most tokens of a text; a full context goes on with its later half") \
    X(TEMPLATE, 'c', "template", "plain|chatml|llama2|llama3", "plain", 0, 0, CHAT, "turns") \
    X(SYSTEM, 's', "system", "TEXT", NULL, 0, 0, CHAT, "what stands before the first turn") \
    X(USER, 's', "user", "TEXT", NULL, 0, 0, CHAT, "mark before the user's text; \\n a newline") \
    X(ASSISTANT, 's', "assistant", "TEXT", NULL, 0, 0, CHAT, "mark between that and the answer") \
    X(END, 's', "end", "TEXT", NULL, 0, 0, CHAT, "mark behind the answer, which ends it") \
    X(STOP, 'l', "stop", "TEXT,..", NULL, 0, 0, CHAT, "other texts that end an answer") \
    X(COUNTS, 'f', "counts", "", NULL, 0, 0, CHAT, "tokens of each turn, and of the cache") \
    X(LINES, 'f', "lines", "", NULL, 0, 0, GENERATE, \
      "a text a line: newline as \\n, backslash as \\\\; --n-best does so too") \
    X(N_BEST, 'i', "n-best", "N", "0", 0, 1000, GENERATE | TRANSLATE | CLASSIFY, \
      "lines NUMBER tab SCORE tab TEXT") \
    X(SEEDS, 'i', "seeds", "N", "0", 2, 1000, CLASSIFY, "train again with N seeds: accuracies") \
    X(LAYER, 'i', "layer", "N", NULL, 0, 1000, EMBED, \
      "hidden states behind N layers, 0: the embedding; else the stack's output") \
    X(POOL, 'c', "pool", "mean|first|last", "mean", 0, 0, EMBED, "of a line's positions") \
    X(UNIT, 'f', "unit", "", NULL, 0, 0, EMBED, "vectors of length 1, whose products are cosines") \
    X(FORMAT, 'c', "format", "auto|npy|tsv", "auto", 0, 0, EMBED, "by the name of OUT, else tsv") \
    X(PREFIX, 's', "prefix", "NAME", "model", 0, 0, EXPORT, "of the names in the C file") \
    X(HF, 's', "hf", "DIR", NULL, 0, 0, EXPORT, \
      "instead of C a folder of the hub: config.json, model.safetensors, tokenizer.json") \
    X(FAMILY, 's', "family", "NAME", NULL, 0, 0, EXPORT | OPTION_KEPT, \
      "of --hf; else the imported one, or the first that has the model") \
    X(DTYPE, 'c', "dtype", "f32|f16|bf16", NULL, 0, 0, EXPORT | OPTION_KEPT, \
      "of --hf; else the imported one, or f32") \
    X(ROUND, 'f', "round", "", NULL, 0, 0, EXPORT, "to --dtype what it does not hold") \
    X(THREADS, 'i', "threads", "N", NULL, 1, 64, TRAIN | USE | FILL | CHAT, \
      "as is faster; bits are equal") \
    /* of the experiment, but no options; the ids are what tfn import keeps of config.json */ \
    X(START_TOKEN, 'i', "start-token", "ID", NULL, 0, 0, OPTION_KEPT, "") \
    X(END_TOKEN, 'i', "end-token", "ID", NULL, 0, 0, OPTION_KEPT, "") \
    X(PAD_TOKEN, 'i', "pad-token", "ID", NULL, 0, 0, OPTION_KEPT, "") \
    X(BAD_TOKENS, 's', "bad-tokens", "ID ID ..", NULL, 0, 0, OPTION_KEPT, "") \
    X(TEXT, 's', "text", "FILE", NULL, 0, 0, OPTION_KEPT, "") \
    X(KIND, 's', "kind", "NAME", NULL, 0, 0, OPTION_KEPT, "") \
    X(CLASSES, 's', "classes", "NAMES", NULL, 0, 0, OPTION_KEPT, "") \
    X(DATA, 's', "data", "HASH", NULL, 0, 0, OPTION_KEPT, "") \
    X(POSITION_SEEN, 'i', "batches-seen", "N", NULL, 0, 0, OPTION_KEPT, "") \
    X(BEST_VALID, 'r', "best-valid", "R", NULL, 0, 0, OPTION_KEPT, "") \
    X(BEST_STEP, 'i', "best-step", "N", NULL, 0, 0, OPTION_KEPT, "") \
    X(PLAYGROUND, 's', "playground", "SETTINGS", NULL, 0, 0, OPTION_KEPT, "")

#include "train.h"
#include "npy.h"
#include "chat.h"
#include "hub.h"
#include "fill.h"
#include "inspect.h"

/* -- train ------------------------------------------------------------------------------------- */

static void refuse_existing(const settings *s, const char *path)
{
    if (given(s, O_FORCE) || !exists(path) || !strcmp(path, "-")) return;
    if (strstr(path, ".safetensors"))
        die("%s is there already; --force overwrites it, train --resume goes on with it", path);
    die("%s is there already; --force overwrites it", path);
}

/* No two of the files that training reads and writes are one. */
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

/* Whether an option's value is what it was. */
static bool is_same(const option_row *r, const char *was, const char *is)
{
    if (!was) return false;
    if (r->kind == 'i' || r->kind == 'r') return strtod(was, NULL) == strtod(is, NULL);
    return !strcmp(was, is);
}

/* What makes the model and its updates stays as it was when a run goes on. */
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

/* Weights alone, such as the best, are nothing to go on from. */
static void refuse_weights(const char *path)
{
    tfn_file f = file_at(path);
    tfn_model_desc unread;
    int64_t step = -1;
    tfn_model_peek(&f, &unread, &step);
    if (step < 0) die("%s holds weights alone: train --from begins anew with them", path);
}

/* From the arguments: one source of data; what --resume names. */
static bool train_source(trainer *t, cli *c)
{
    settings *s = t->s;
    const char *from = text_of(s, O_RESUME);
    int sources;
    if (s->files > 1) cli_fail(c, "one text, not \"%s\" too", s->file[1]);
    if (s->files) s->text[O_TEXT] = s->file[0];
    if (from && !strcmp(from, "auto")) {
        if (!given(s, O_OUT)) cli_fail(c, "--resume auto wants --out");
        from = text_of(s, O_OUT);
        if (!exists(from)) from = NULL;
    }
    if (from) {
        if (given(s, O_FROM)) cli_fail(c, "--resume goes on, --from begins anew: one of them");
        if (given(s, O_MINUTES)) cli_fail(c, "--minutes is of a new run, --resume has its --steps");
        bundle_open(&t->b, from);
        if (given(&t->b.from, O_PLAYGROUND))
            die("%s was saved by the page, which goes on with it; train --from begins anew with "
                "its weights", from);
        refuse_weights(from);
        refuse_changed(s, &t->b);
        if (!given(s, O_OUT)) s->text[O_OUT] = from;        /* whatever its name was */
        for (int i = 0; i < O_COUNT; i++)
            if (!s->text[i]) s->text[i] = t->b.from.text[i];
    }
    sources = given(s, O_TEXT) + given(s, O_TASK) + given(s, O_PAIRS) + given(s, O_LABELS);
    if (sources != 1) cli_fail(c, "wanted one of FILE, --task, --pairs, --labels");
    if (!given(s, O_OUT)) s->text[O_OUT] = "model.safetensors";
    if (given(s, O_MINUTES) && given(s, O_STEPS))
        cli_fail(c, "--minutes chooses --steps: one of them");
    t->out = text_of(s, O_OUT);
    must_write(t->out, true);
    remove_stale(t->out);
    kept_name(t->best, sizeof t->best, t->out, "best");
    must_write(t->best, true);
    refuse_shared(t);
    if (given(s, O_ADAPTER)) {
        if (!given(s, O_LORA)) cli_fail(c, "--adapter wants --lora");
        must_write(text_of(s, O_ADAPTER), true);
        refuse_existing(s, text_of(s, O_ADAPTER));
    }
    if (from && output_is_same(from, t->out)) return true;
    refuse_existing(s, t->out);
    if (!given(s, O_FORCE) && exists(t->best))
        die("%s, an earlier run's best, is there already; --force overwrites it", t->best);
    return from != NULL;
}

static int train(settings *s, cli *c)
{
    static char kind[16];
    trainer t;
    bool resumed;
    const char *names = kind_names;
    memset(&t, 0, sizeof t);
    t.s = s;
    resumed = train_source(&t, c);
    if (!resumed && given(s, O_FROM)) take_arch(s);
    t.b.kind = kind_of(s);
    for (int i = 0; i < (int)t.b.kind; i++) names = strchr(names, '|') + 1;
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(names, "|"), names);
    s->text[O_KIND] = kind;
    prepare(&t, resumed);
    return run(&t);
}

/* -- generate, translate ----------------------------------------------------------------------- */

/* Texts to texts, a batch at a time. */
typedef struct speaker {
    bundle       *b;
    const settings *s;
    tfn_generator g;
    void         *mem;
    int32_t       rows, room, used;     /* room: tokens of a row */
    int32_t      *ids, *tokens, *lengths;
    int32_t      *starts;               /* the id that a decoder behind a source starts with */
    int64_t      *number;               /* of the input line */
    char        **prompt;               /* of texts that are continued, or NULL */
    size_t       *prompt_bytes;
    char         *text;                 /* the last one decoded */
    size_t        text_room;
    int32_t     **past;                 /* of texts that slide: the prompt, then what was written */
    int32_t      *prompt_ids, *written;
    int64_t       full;                 /* texts that ended because the context did */
} speaker;

/* Texts slide where tokens are written one after the other and the prompt is no source that must
 * stay in sight. */
static bool speaker_slides(const speaker *x)
{
    return x->b->kind == DATA_TEXT && !whole_of(x->s, O_BEAM) && !given(x->s, O_N_BEST);
}

/* One text a line is promised where lines were learned or asked for; else it stands as it is. */
static bool speaker_in_lines(const speaker *x)
{
    return x->b->kind != DATA_TEXT || given(&x->b->from, O_TASK) || given(x->s, O_LINES)
        || given(x->s, O_N_BEST);
}

/* Ids that no text has, for the caller to free: of a model trained here what is special but the
 * end; an import may write all that its files do not forbid, but no padding. */
static int32_t *speaker_forbids(const bundle *b, int32_t *count)
{
    const tfn_tokenizer *k = &b->tokenizer.tokenizer;
    const char *bad = text_of(&b->from, O_BAD_TOKENS);
    int32_t *ids;
    if (!bad) bad = "";
    ids = (int32_t *)reserve(strlen(bad) / 2 + 2 + TFN_SPECIAL_COUNT, sizeof *ids);
    *count = 0;
    if (given(&b->from, O_START_TOKEN)) {
        for (char *end; *bad; bad = end) ids[(*count)++] = (int32_t)strtol(bad, &end, 10);
        if (kept_id(b, O_PAD_TOKEN) >= 0) ids[(*count)++] = kept_id(b, O_PAD_TOKEN);
        return ids;
    }
    if (!b->tokenizer.mem) return ids;
    for (int i = 0; i < TFN_SPECIAL_COUNT; i++)
        if (k->special[i] >= 0 && k->special[i] != end_of(b)) ids[(*count)++] = k->special[i];
    return ids;
}

static void speaker_describe(const speaker *x, tfn_generate_desc *d)
{
    const settings *s = x->s;
    memset(d, 0, sizeof *d);
    d->sentences = x->rows;
    d->beam = (int32_t)whole_of(s, O_BEAM);
    d->max_tokens = (int32_t)whole_of(s, O_MAX_TOKENS);
    d->end = end_of(x->b);
    if (x->b->kind == DATA_TEXT && !given(&x->b->from, O_TASK)) d->end = -1;    /* has no end */
    d->length_penalty = (float)real_of(s, O_LENGTH_PENALTY);
    d->unnormalized = d->length_penalty == 0;
    d->temperature = (float)real_of(s, O_TEMPERATURE);
    d->top_k = (int32_t)whole_of(s, O_TOP_K);
    d->top_p = (float)real_of(s, O_TOP_P);
    d->key = tfn_key_make((uint64_t)whole_of(s, O_SEED));
}

static void speaker_open(speaker *x, bundle *b, const settings *s)
{
    tfn_generate_desc d;
    int32_t *forbidden;
    size_t size = tfn_model_scratch(&b->desc);
    void *scratch = reserve(size, 1);
    memset(x, 0, sizeof *x);
    x->b = b;
    x->s = s;
    x->rows = b->desc.batch;
    x->room = b->desc.context;
    if (b->kind == DATA_PAIRS) x->room = b->model.desc.source_context;
    speaker_describe(x, &d);
    d.forbidden = forbidden = speaker_forbids(b, &d.forbidden_count);
    size = tfn_generator_size(&b->model, &d, scratch, size);
    free(scratch);
    x->mem = reserve(size, 1);
    tfn_generator_init(&x->g, &b->model, &d, x->mem, size);
    must_be_ok(&x->g.error);
    free(forbidden);
    x->ids = (int32_t *)reserve((size_t)x->room * (size_t)x->rows, sizeof(int32_t));
    x->tokens = (int32_t *)reserve((size_t)x->room * (size_t)x->rows, sizeof(int32_t));
    x->lengths = (int32_t *)reserve((size_t)x->rows, sizeof(int32_t));
    x->starts = (int32_t *)reserve((size_t)x->rows, sizeof(int32_t));
    if (b->kind == DATA_PAIRS)
        for (int32_t r = 0; r < x->rows; r++) x->starts[r] = start_of(b);
    x->number = (int64_t *)reserve((size_t)x->rows, sizeof(int64_t));
    x->prompt = (char **)reserve((size_t)x->rows, sizeof *x->prompt);
    x->prompt_bytes = (size_t *)reserve((size_t)x->rows, sizeof(size_t));
    x->past = (int32_t **)reserve((size_t)x->rows, sizeof *x->past);
    x->prompt_ids = (int32_t *)reserve((size_t)x->rows, sizeof(int32_t));
    x->written = (int32_t *)reserve((size_t)x->rows, sizeof(int32_t));
}

static void speaker_free(speaker *x)
{
    free(x->past);
    free(x->prompt_ids);
    free(x->written);
    free(x->mem);
    free(x->ids);
    free(x->tokens);
    free(x->lengths);
    free(x->starts);
    free(x->number);
    free(x->prompt);
    free(x->prompt_bytes);
    free(x->text);
}

/* One more row: ids as they stand. */
static void speaker_add_ids(speaker *x, const int32_t *ids, int32_t count)
{
    int32_t *row = x->ids + (int64_t)x->used * x->room;
    if (count > x->room) die("--ids: %d ids, the limit is %d", (int)count, (int)x->room);
    memcpy(row, ids, (size_t)count * sizeof *row);
    x->lengths[x->used++] = count;
}

/* One more row: what the model reads of a text. */
static void speaker_add(speaker *x, const char *text, size_t bytes, int64_t number)
{
    const tfn_tokenizer *k = &x->b->tokenizer.tokenizer;
    const data_kind kind = x->b->kind;
    int32_t *row = x->ids + (int64_t)x->used * x->room;
    int32_t n = 0;
    int64_t most = x->room - 1 - (kind == DATA_JOINED);
    int64_t count, read, first = 0;
    int32_t *ids;
    x->prompt[x->used] = NULL;
    x->number[x->used] = number;
    if (kind == DATA_PAIRS) {
        x->lengths[x->used++] = prompt_row(x->b, text, bytes, false, x->room, number, row);
        return;
    }
    ids = encode_text(x->b, text, bytes, &count);
    if (kind == DATA_TEXT) most = x->room / 2;
    read = cut_ids(count, most, number);
    if (kind == DATA_TEXT) first = count - read;                /* its end is continued */
    if (reads_lines(x->b)) row[n++] = k->special[TFN_SPECIAL_EOS];
    for (int64_t i = 0; i < read; i++) row[n++] = ids[first + i];
    if (kind != DATA_TEXT) row[n++] = k->special[TFN_SPECIAL_EOS];
    if (kind == DATA_TEXT) {
        x->prompt[x->used] = (char *)reserve(bytes, 1);
        x->prompt_bytes[x->used] = bytes;
        memcpy(x->prompt[x->used], text, bytes);
    }
    x->lengths[x->used++] = n;
    free(ids);
}

static void speaker_run(speaker *x)
{
    tfn_batch b = { 0 };
    int32_t longest = 1;
    for (int32_t r = 0; r < x->used; r++)
        if (x->lengths[r] > longest) longest = x->lengths[r];
    for (int32_t r = 0; r < x->used; r++) {
        int32_t *to = x->tokens + (int64_t)r * longest;
        memset(to, 0, (size_t)longest * sizeof *to);
        memcpy(to, x->ids + (int64_t)r * x->room, (size_t)x->lengths[r] * sizeof *to);
    }
    b.batch = x->used;
    if (x->b->kind == DATA_PAIRS) {
        b.source = x->tokens;
        b.source_lengths = x->lengths;
        b.source_time = longest;
        b.tokens = x->starts;
        b.time = 1;
    } else {
        b.tokens = x->tokens;
        b.lengths = x->lengths;
        b.time = longest;
    }
    tfn_generator_run(&x->g, &b, x->number);
    must_be_ok(&x->g.error);
}

/* Tokens as text, without the space in front; some bytes of it may be zero. */
static const char *speaker_decode(speaker *x, const int32_t *ids, int32_t count, size_t *bytes)
{
    const tfn_tokenizer *t = &x->b->tokenizer.tokenizer;
    size_t n = tfn_tokenizer_decode(t, x->text, x->text_room, ids, count);
    if (n >= x->text_room) {
        free(x->text);
        x->text = (char *)reserve(x->text_room = 2*n + 64, 1);
        tfn_tokenizer_decode(t, x->text, x->text_room, ids, count);
    }
    x->text[n] = 0;
    const bool space = x->b->kind != DATA_TEXT && x->text[0] == ' ';
    *bytes = n - space;
    return x->text + space;
}

/* Hypothesis k of row r. */
static const char *speaker_text(speaker *x, int32_t r, int32_t k, size_t *bytes)
{
    int64_t place = (int64_t)r * x->g.width + k;
    return speaker_decode(x, x->g.tokens + place * x->g.most, x->g.lengths[place], bytes);
}

/* -- texts longer than the context */

/* The text of row r up to here, after a run that wrote row `at` of the generator: true, if more is
 * wanted than what the context had room for. */
static bool speaker_take(speaker *x, int32_t r, int32_t at)
{
    const int32_t most = (int32_t)whole_of(x->s, O_MAX_TOKENS);
    const int32_t n = x->g.lengths[at];
    const int32_t *ids = x->g.tokens + (int64_t)at * x->g.most;
    int32_t used = x->prompt_ids[r] + x->written[r];
    for (int32_t i = 0; i < n; i++) {
        if (x->written[r] == most) break;
        x->past[r][used++] = ids[i];
        x->written[r]++;
    }
    return x->written[r] < most && n > 0 && ids[n - 1] != x->g.desc.end;
}

/* One more run over rows list[0 .. n-1], which go on from the later half of a context. It has draws
 * of its own by `round`. */
static void speaker_go_on(speaker *x, const int32_t *list, int32_t n, int64_t round)
{
    const int32_t half = x->room > 1 ? x->room / 2 : 1;
    int32_t *lengths = (int32_t *)reserve((size_t)n, sizeof *lengths);
    int64_t *ids = (int64_t *)reserve((size_t)n, sizeof *ids);
    tfn_batch b = { 0 };
    for (int32_t i = 0; i < n; i++) {
        const int32_t r = list[i];
        const int32_t used = x->prompt_ids[r] + x->written[r];
        memcpy(x->tokens + (int64_t)i * half, x->past[r] + used - half,
               (size_t)half * sizeof *x->tokens);
        lengths[i] = half;
        ids[i] = x->number[r] + round * ((int64_t)1 << 40);
    }
    b.batch = n;
    b.time = half;
    b.tokens = x->tokens;
    b.lengths = lengths;
    tfn_generator_run(&x->g, &b, ids);
    must_be_ok(&x->g.error);
    free(lengths);
    free(ids);
}

/* Run, and go on until every text has all that it may have. */
static void speaker_slide(speaker *x)
{
    const size_t most = (size_t)whole_of(x->s, O_MAX_TOKENS);
    int32_t *list = (int32_t *)reserve((size_t)x->used, sizeof *list);
    int32_t n = 0;
    speaker_run(x);
    for (int32_t r = 0; r < x->used; r++) {
        x->prompt_ids[r] = x->lengths[r];
        x->written[r] = 0;
        x->past[r] = (int32_t *)reserve((size_t)x->room + most, sizeof **x->past);
        memcpy(x->past[r], x->ids + (int64_t)r * x->room, (size_t)x->lengths[r] * sizeof **x->past);
        if (speaker_take(x, r, r)) list[n++] = r;
    }
    for (int64_t round = 1; n > 0; round++) {
        int32_t left = 0;
        speaker_go_on(x, list, n, round);
        for (int32_t i = 0; i < n; i++)
            if (speaker_take(x, list[i], i)) list[left++] = list[i];
        n = left;
    }
    free(list);
}

/* Of texts that cannot slide: did row r end because the context did? */
static bool speaker_is_full(const speaker *x, int32_t r)
{
    const int32_t begin = x->b->kind == DATA_PAIRS ? 1 : x->lengths[r];
    int32_t n = x->g.lengths[r * x->g.width];
    return n > x->b->desc.context - begin && n < whole_of(x->s, O_MAX_TOKENS);
}

/* On one line, if so: a newline as "\n", a backslash as "\\". */
static void put_text(const char *s, size_t n, bool line)
{
    for (size_t i = 0; i < n; i++) {
        if (line && s[i] == '\n') fputs("\\n", stdout);
        else if (line && s[i] == '\\') fputs("\\\\", stdout);
        else putchar(s[i]);
    }
}

static void speaker_print(speaker *x)
{
    const int32_t best = (int32_t)whole_of(x->s, O_N_BEST);
    const int32_t texts = best ? best : 1;
    const bool slides = speaker_slides(x);
    const bool lines = speaker_in_lines(x);
    if (slides) speaker_slide(x);
    else speaker_run(x);
    for (int32_t r = 0; r < x->used; r++) {
        if (!slides) x->full += speaker_is_full(x, r);
        for (int32_t k = 0; k < texts; k++) {
            const char *text;
            size_t bytes;
            if (k && !x->g.lengths[r * x->g.width + k]) break;
            if (slides)
                text = speaker_decode(x, x->past[r] + x->prompt_ids[r], x->written[r], &bytes);
            else text = speaker_text(x, r, k, &bytes);
            if (best) printf("%lld\t%.9g\t", (long long)x->number[r] + 1,
                             (double)x->g.scores[r * x->g.width + k]);
            if (x->prompt[r]) put_text(x->prompt[r], x->prompt_bytes[r], lines);
            put_text(text, bytes, lines);
            putchar('\n');
        }
        free(x->prompt[r]);
        if (slides) free(x->past[r]);
    }
    if (!output_flush()) exit(1);
    x->used = 0;
}

/* The model and the input of a command that uses one. */
static const char *open_use(bundle *b, const settings *s, cli *c)
{
    if (s->files < 1 || s->files > 2) cli_fail(c, "wanted MODEL and a file, or - for the input");
    bundle_open(b, s->file[0]);
    b->adapter = text_of(s, O_ADAPTER);
    if (s->files > 1) return s->file[1];
    return "-";
}

/* The second file of a command whose first is a model, or NULL. */
static const char *second_file(const settings *s)
{
    if (s->files > 1) return s->file[1];
    return NULL;
}

/* A model that writes of what it reads. */
static void must_write_text(const bundle *b)
{
    if (b->desc.arch == TFN_ARCH_ENCODER) die("%s is an encoder, which writes no text", b->path);
    if (b->desc.bands) die("%s hears sound, which no line is; tfn eval has some", b->path);
}

static void say_full(const speaker *x)
{
    if (x->full)
        fprintf(stderr, "tfn: %lld text%s as long as the context of %d tokens allows: with --ids, "
                "--beam, --n-best or a source it does not move on\n", (long long)x->full,
                x->full > 1 ? "s are" : " is", (int)x->b->desc.context);
}

/* What follows --ids, or translates them: a line of ids, the end included; the best first. */
static void generate_ids(bundle *b, const settings *s)
{
    speaker x;
    int32_t count;
    int32_t *ids = prompt_numbers(text_of(s, O_IDS), &count);
    int32_t best = (int32_t)whole_of(s, O_N_BEST);
    bundle_load(b, 1, threads_of(s));
    speaker_open(&x, b, s);
    speaker_add_ids(&x, ids, count);
    speaker_run(&x);
    for (int32_t k = 0; k < (best ? best : 1); k++) {
        const int32_t *found = x.g.tokens + (int64_t)k * x.g.most;
        if (best && x.g.lengths[k]) printf("1\t%.9g\t", (double)x.g.scores[k]);
        for (int32_t i = 0; i < x.g.lengths[k]; i++)
            printf("%d%c", (int)found[i], i + 1 < x.g.lengths[k] ? ' ' : '\n');
    }
    x.full += speaker_is_full(&x, 0);
    say_full(&x);
    free(ids);
    speaker_free(&x);
    bundle_free(b);
}

/* Of any model, one without a tokenizer too. */
static int generate_sentence(settings *s, cli *c)
{
    static bundle b;
    if (s->files != 1) cli_fail(c, "wanted MODEL and a file, or MODEL and --ids");
    bundle_look(&b, s->file[0]);
    b.adapter = text_of(s, O_ADAPTER);
    must_write_text(&b);
    if (b.desc.arch == TFN_ARCH_ENCODER_DECODER) b.kind = DATA_PAIRS;
    generate_ids(&b, s);
    return 0;
}

/* A batch of lines at a time; what is typed, line by line. */
static int generate(settings *s, cli *c)
{
    static bundle b;
    speaker x;
    line_file input;
    const char *path;
    bool typed;
    int64_t beam = 1;
    if (given(s, O_BEAM)) beam = whole_of(s, O_BEAM);
    if (whole_of(s, O_N_BEST) > beam) cli_fail(c, "--n-best wants --beam of as many");
    if (given(s, O_IDS)) return generate_sentence(s, c);
    path = open_use(&b, s, c);
    must_write_text(&b);
    lines_open(&input, path);
    typed = is_terminal(input.f);
    const int32_t rows = typed ? 1 : (int32_t)whole_of(s, O_BATCH);
    bundle_load(&b, rows, threads_of(s));
    speaker_open(&x, &b, s);
    while (next_line(&input)) {
        speaker_add(&x, input.line, input.bytes, input.number - 1);
        if (x.used == x.rows) speaker_print(&x);
    }
    if (x.used) speaker_print(&x);
    say_full(&x);
    speaker_free(&x);
    lines_close(&input);
    bundle_free(&b);
    return 0;
}

/* -- classify ---------------------------------------------------------------------------------- */

typedef struct inputs { data_item *item; int64_t count; } inputs;
static bool get_input(data_item *item, void *user, int64_t i)
{
    *item = ((const inputs *)user)->item[i];
    return true;
}

static void put_classes(const bundle *b, const float *logits, int64_t number, int32_t best)
{
    const int32_t n = b->classes.count;
    int32_t lines = best ? best : 1;
    double p[DATA_CLASSES];
    double sum = 0;
    double most = (double)logits[0];
    if (lines > n) lines = n;
    for (int32_t i = 1; i < n; i++) most = fmax(most, (double)logits[i]);
    for (int32_t i = 0; i < n; i++) {
        p[i] = exp((double)logits[i] - most);
        sum += p[i];
    }
    for (int32_t k = 0; k < lines; k++) {
        int32_t top = 0;
        for (int32_t i = 1; i < n; i++)
            if (p[i] > p[top]) top = i;
        if (best) printf("%lld\t%.4f\t", (long long)number, log(p[top] / sum));
        printf("%s\n", b->classes.name[top]);
        p[top] = 0;
    }
}

/* Accuracy on the test split, or on all lines of a file, of the experiment with another seed. */
static double accuracy_of(const settings *experiment, const settings *s, int64_t seed)
{
    static trainer t;
    settings e = *experiment;
    char text[32], steps[32], rows[32];
    tfn_accuracy right = { 0 };
    corpus x;
    memset(&t, 0, sizeof t);
    snprintf(text, sizeof text, "%lld", (long long)seed);
    snprintf(steps, sizeof steps, "%lld", (long long)whole_of(&e, O_STEPS));
    e.text[O_SEED] = text;
    e.text[O_STEPS] = steps;
    e.text[O_THREADS] = text_of(s, O_THREADS);
    e.text[O_DATA] = NULL;
    e.text[O_QUIET] = "yes";
    t.s = &e;
    t.b.kind = DATA_LABELS;
    prepare(&t, false);
    while (t.position < t.steps) {
        tfn_report r;
        step(&t, &r);
    }
    corpus_open(&x, &e, DATA_LABELS, TASK_TEST, second_file(s), &t.b.classes);
    snprintf(rows, sizeof rows, "%d", (int)t.b.model.desc.batch);       /* as many as it holds */
    e.text[O_BATCH] = rows;
    corpus_cut(&x, &e, &t.b.tokenizer.tokenizer, true);
    for (int64_t k = 0; k < x.batches.count; k++) {
        const tfn_batch *batch = data_batch(&x.batches, k);
        const float *logits = tfn_model_logits(&t.b.model, batch);
        must_be_ok(&t.b.model.error);
        tfn_accuracy_add_logits(&right, logits, batch->targets, batch->batch, 1,
                                t.b.classes.count);
    }
    corpus_free(&x);
    corpus_free(&t.data);
    corpus_free(&t.valid);
    bundle_free(&t.b);
    return (double)right.right / (double)right.tokens;
}

/* The mean over seeds, the model's own and the next ones, and where it lies by Student's t. */
static int classify_seeds(const bundle *b, const settings *s)
{
    static const double t95[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262,
                                  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101,
                                  2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052,
                                  2.048, 2.045, 2.042 };        /* 1 to 30 degrees of freedom */
    int64_t n = whole_of(s, O_SEEDS);
    int64_t first = whole_of(&b->from, O_SEED);
    double mean = 0;
    double squares = 0;
    double half;
    for (int64_t i = 0; i < n; i++) {
        double a = accuracy_of(&b->from, s, first + i);
        double off = a - mean;
        printf("seed %lld  accuracy %.4f\n", (long long)(first + i), a);
        if (!output_flush()) exit(1);
        mean += off / (double)(i + 1);
        squares += off * (a - mean);
    }
    const double quantile = n > 31 ? 1.96 : t95[n - 2];
    half = quantile * sqrt(squares / (double)(n - 1) / (double)n);
    printf("mean %.4f, 95 %% interval %.4f to %.4f\n", mean, mean - half, mean + half);
    return 0;
}

/* A line "A" or "A tab B"; what is empty is read as a space. */
static void cut_input(data_item *item, const char *line, const char *end)
{
    const char *tab = (const char *)memchr(line, '\t', (size_t)(end - line));
    const char *first_end = end;
    memset(item, 0, sizeof *item);
    if (tab) {
        first_end = tab;
        item->text[1] = tab + 1;
        item->bytes[1] = (size_t)(end - tab - 1);
    }
    item->text[0] = line;
    item->bytes[0] = (size_t)(first_end - line);
    if (first_end > line) return;
    item->text[0] = " ";
    item->bytes[0] = 1;
}

/* The class of each line. */
static int classify(settings *s, cli *c)
{
    static bundle b;
    data_file input;
    inputs lines = { NULL, 0 };
    corpus x;
    const char *path, *line, *next, *end;
    if (given(s, O_SAID) || given(s, O_IDS)) {
        if (s->files != 1) cli_fail(c, "wanted MODEL and a file, or MODEL and --text or --ids");
        if (given(s, O_SEEDS)) cli_fail(c, "--seeds is of a file, not of --text or --ids");
        bundle_look(&b, s->file[0]);
        b.adapter = text_of(s, O_ADAPTER);
        if (b.desc.head != TFN_HEAD_SEQUENCE)
            die("%s has no head of classes: wanted a model trained on labels", b.path);
        return classify_sentence(&b, s, c);
    }
    path = open_use(&b, s, c);
    if (b.kind != DATA_LABELS) die("%s was not trained on labels", b.path);
    if (given(s, O_SEEDS) && !keeps_data(&b.from)) die("%s keeps no data to train with", b.path);
    if (given(s, O_SEEDS)) return classify_seeds(&b, s);
    must(data_read(&input, path), input.error);
    lines.item = (data_item *)reserve(input.size + 1, sizeof *lines.item);
    end = input.bytes + input.size;
    for (line = input.bytes; line < end; line = next) {
        const char *stop = (const char *)memchr(line, '\n', (size_t)(end - line));
        next = end;
        if (stop) next = stop + 1;
        else stop = end;
        if (stop > line && stop[-1] == '\r') stop--;
        cut_input(&lines.item[lines.count++], line, stop);
    }
    if (!lines.count) return 0;
    memset(&x, 0, sizeof x);
    x.kind = b.kind;
    x.get = get_input;
    x.user = &lines;
    x.count = lines.count;
    x.space = b.tokenizer.tokenizer.kind == TFN_TOKENIZER_WORDS
        || b.tokenizer.tokenizer.kind == TFN_TOKENIZER_BPE;
    b.from.text[O_BATCH] = text_of(s, O_BATCH);
    b.from.text[O_BATCH_TOKENS] = "0";                  /* else they would stand by length */
    corpus_cut(&x, &b.from, &b.tokenizer.tokenizer, true);
    bundle_load(&b, x.batches.most_rows, threads_of(s));
    for (int64_t k = 0; k < x.batches.count; k++) {
        const tfn_batch *batch = data_batch(&x.batches, k);
        const float *logits = tfn_model_logits(&b.model, batch);
        if (!logits) must_be_ok(&b.model.error);
        for (int32_t r = 0; r < batch->batch; r++)
            put_classes(&b, logits + r * b.classes.count, x.batches.items[r] + 1,
                        (int32_t)whole_of(s, O_N_BEST));
    }
    corpus_free(&x);
    free(lines.item);
    data_file_free(&input);
    bundle_free(&b);
    return 0;
}

/* -- eval -------------------------------------------------------------------------------------- */

/* Bytes that the targets stand for; an end counts as the newline it is. */
static int64_t target_bytes(const bundle *b, const tfn_batch *x)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < (int64_t)x->batch * x->time; i++) {
        size_t n = 0;
        if (x->targets[i] < 0) continue;
        if (data_is_special(&b->tokenizer.tokenizer, x->targets[i])) bytes++;
        else {
            tfn_tokenizer_token(&b->tokenizer.tokenizer, x->targets[i], &n);
            bytes += (int64_t)n;
        }
    }
    return bytes;
}

static void eval_loss(bundle *b, corpus *x)
{
    const bool labels = b->kind == DATA_LABELS;         /* a class of a row, not of a token */
    const int32_t cols = labels ? b->classes.count : b->desc.vocab;
    int64_t tokens = 0;
    int64_t bytes = 0;
    double nll = 0;
    tfn_accuracy right = { 0 };
    for (int64_t k = 0; k < x->batches.count; k++) {
        const tfn_batch *batch = data_batch(&x->batches, k);
        const float *logits;
        tfn_report r;
        tfn_model_eval(&b->model, batch, &r);
        logits = tfn_model_logits(&b->model, batch);
        must_be_ok(&b->model.error);
        nll += r.nll * (double)r.tokens;
        tokens += r.tokens;
        const int32_t time = labels ? 1 : batch->time;
        tfn_accuracy_add_logits(&right, logits, batch->targets, batch->batch, time, cols);
        if (b->kind < DATA_LABELS) bytes += target_bytes(b, batch);
    }
    printf("items       %lld\ntargets     %lld\nloss        %.4f\nperplexity  %.4f\n",
           (long long)x->set.count, (long long)tokens, nll / (double)tokens,
           tfn_perplexity(nll, tokens));
    if (bytes) printf("bits/byte   %.4f\n", tfn_bits_per_byte(nll, bytes));
    printf("accuracy    %.4f\n", (double)right.right / (double)right.tokens);
}

static void put_rouge(const tfn_rouge *r)
{
    printf("ROUGE       %.4f %.4f %.4f (1, 2, L)\n", tfn_rouge_score(r, 0), tfn_rouge_score(r, 1),
           tfn_rouge_score(r, 2));
}

static bool same_text(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    return a_bytes == b_bytes && !memcmp(a, b, a_bytes);
}

/* Write every item's target and compare: how many are equal, BLEU, ROUGE. */
static void eval_texts(bundle *b, corpus *x, const settings *s)
{
    enum { LONG = 1 << 16 };
    tfn_bleu bleu = { 0 };
    tfn_rouge rouge = { { 0 }, 0 };
    speaker v;
    int64_t equal = 0;
    int64_t done = 0;
    size_t size = tfn_metric_work(2 * LONG, 2);
    void *work = reserve(size, 1);
    char text[200], *wanted = (char *)reserve(LONG, 1);
    speaker_open(&v, b, s);
    for (int64_t i = 0; i < x->count; i += v.used) {
        data_item item;
        v.used = 0;
        while (v.used < v.rows) {
            if (i + v.used == x->count) break;
            x->get(&item, x->user, i + v.used);
            speaker_add(&v, item.text[0], item.bytes[0], i + v.used);
        }
        speaker_run(&v);
        for (int32_t r = 0; r < v.used; r++, done++) {
            size_t bytes;
            const char *found = speaker_text(&v, r, 0, &bytes);
            const char *reference = wanted;
            x->get(&item, x->user, i + r);
            snprintf(wanted, LONG, "%.*s", (int)item.bytes[1], item.text[1]);
            equal += same_text(found, bytes, item.text[1], item.bytes[1]);
            tfn_bleu_add(&bleu, found, &reference, 1, work, size);
            tfn_rouge_add(&rouge, found, reference, work, size);
        }
    }
    printf("equal       %.4f\nBLEU        %.2f  %s\n", (double)equal / (double)done,
           tfn_bleu_score(&bleu, TFN_SMOOTH_EXP, false),
           tfn_bleu_text(&bleu, TFN_SMOOTH_EXP, false, text, sizeof text));
    put_rouge(&rouge);
    speaker_free(&v);
    free(work);
    free(wanted);
}

/* Write down what every item says, and compare: word errors. */
static void eval_speech(bundle *b, corpus *x, const settings *s)
{
    enum { LONG = 1024 };
    const tfn_tokenizer *k = &b->tokenizer.tokenizer;
    char wanted[LONG];
    size_t size = tfn_metric_work(2 * LONG, 2);
    void *work = reserve(size, 1);
    tfn_edits words = { 0 };
    int64_t equal = 0;
    speaker v;
    speaker_open(&v, b, s);
    for (int64_t n = 0; n < x->batches.count; n++) {
        tfn_batch batch = *data_batch(&x->batches, n);
        batch.tokens = NULL;
        tfn_generator_run(&v.g, &batch, NULL);
        must_be_ok(&v.g.error);
        for (int32_t r = 0; r < batch.batch; r++) {
            const int64_t *at = x->set.at + 2 * (int64_t)x->batches.items[r] + 1;
            size_t said;
            const char *found = speaker_text(&v, r, 0, &said);
            size_t bytes = tfn_tokenizer_decode(k, wanted, LONG - 1, x->set.ids + at[0],
                                                (ptrdiff_t)(at[1] - at[0]));
            if (bytes >= LONG) bytes = LONG - 1;
            wanted[bytes] = 0;
            const bool space = wanted[0] == ' ';
            equal += same_text(found, said, wanted + space, bytes - space);
            tfn_edits_add_words(&words, found, wanted, work, size);
        }
    }
    printf("equal       %.4f\nWER         %.4f\n", (double)equal / (double)x->set.count,
           tfn_edits_score(&words));
    speaker_free(&v);
    free(work);
}

/* In batches of as many tokens as in training, or as the longest row has. */
static void eval_batch_tokens(bundle *b)
{
    static char tokens[32];
    int64_t n = whole_of(&b->from, O_BATCH_TOKENS);
    if (n && n < b->desc.context) n = b->desc.context;
    snprintf(tokens, sizeof tokens, "%lld", (long long)n);
    b->from.text[O_BATCH_TOKENS] = tokens;
    b->desc.batch_tokens = (int32_t)n;
}

/* A file's batches. Without one: the test split of a task or of lines; of a text, what was held
 * out. */
static void open_corpus(bundle *b, corpus *x, const settings *s, const char *path)
{
    if (!path && !keeps_data(&b->from)) die("%s keeps no data: wanted a file", b->path);
    corpus_open(x, &b->from, b->kind, TASK_TEST, path, &b->classes);
    if (given(s, O_BATCH)) b->from.text[O_BATCH] = text_of(s, O_BATCH);
    eval_batch_tokens(b);
    corpus_cut(x, &b->from, &b->tokenizer.tokenizer, true);
}

static int eval(settings *s, cli *c)
{
    static bundle b;
    corpus x;
    int32_t rows;
    open_use(&b, s, c);
    open_corpus(&b, &x, s, second_file(s));
    rows = x.batches.most_rows;
    if (rows < 32) rows = 32;
    bundle_load(&b, rows, threads_of(s));
    if (x.set.dropped)
        fprintf(stderr, "tfn: %lld items over %d tokens are left out\n", (long long)x.set.dropped,
                (int)x.set.options.most);
    eval_loss(&b, &x);
    if (b.desc.bands) eval_speech(&b, &x, s);
    else if (b.kind == DATA_PAIRS || b.kind == DATA_JOINED) eval_texts(&b, &x, s);
    corpus_free(&x);
    bundle_free(&b);
    return 0;
}

/* -- score ------------------------------------------------------------------------------------- */

/* A line of a file that is scored, which metrics read up to its first zero byte. */
static bool scored_line(line_file *x)
{
    const bool there = next_line(x);
    if (there && strlen(x->line) < x->bytes)
        die("%s, line %lld: byte %lld is 0, wanted a text", x->name, (long long)x->number,
            (long long)strlen(x->line) + 1);
    return there;
}

/* Lines that were written against lines that were wanted. */
static int score(settings *s, cli *c)
{
    line_file found, wanted;
    int64_t equal = 0;
    tfn_bleu bleu = { 0 };
    tfn_rouge rouge = { { 0 }, 0 };
    tfn_edits words = { 0 }, characters = { 0 };
    char text[200];
    if (s->files != 2) cli_fail(c, "wanted FOUND and WANTED, files of as many lines");
    if (!strcmp(s->file[0], "-") && !strcmp(s->file[1], "-"))
        cli_fail(c, "the standard input is one file, wanted two");
    lines_open(&found, s->file[0]);
    lines_open(&wanted, s->file[1]);
    while (scored_line(&wanted)) {
        if (!scored_line(&found)) break;
        const char *reference = wanted.line;
        size_t size = tfn_metric_work(found.bytes + wanted.bytes, 2);
        void *work = reserve(size, 1);
        equal += !strcmp(found.line, wanted.line);
        tfn_bleu_add(&bleu, found.line, &reference, 1, work, size);
        tfn_rouge_add(&rouge, found.line, wanted.line, work, size);
        tfn_edits_add_words(&words, found.line, wanted.line, work, size);
        tfn_edits_add_characters(&characters, found.line, wanted.line, work, size);
        free(work);
    }
    if (found.number < wanted.number) die("%s has fewer lines than %s", found.name, wanted.name);
    if (scored_line(&found)) die("%s has more lines than %s", found.name, wanted.name);
    if (!wanted.number) die("%s has no line", wanted.name);
    printf("lines       %lld\nequal       %.4f\nBLEU        %.2f  %s\n", (long long)wanted.number,
           (double)equal / (double)wanted.number, tfn_bleu_score(&bleu, TFN_SMOOTH_EXP, false),
           tfn_bleu_text(&bleu, TFN_SMOOTH_EXP, false, text, sizeof text));
    put_rouge(&rouge);
    printf("WER         %.4f\nCER         %.4f\n", tfn_edits_score(&words),
           tfn_edits_score(&characters));
    lines_close(&found);
    lines_close(&wanted);
    return 0;
}

static const char *out_of(const settings *s, cli *c, bool whole)
{
    if (!given(s, O_OUT)) cli_fail(c, "wanted --out FILE");
    must_write(text_of(s, O_OUT), whole);
    refuse_existing(s, text_of(s, O_OUT));
    return text_of(s, O_OUT);
}

/* -- embed ------------------------------------------------------------------------------------- */

/* A vector of each line, in their order. An encoder-decoder's are those of its encoder, whose
 * decoder is given one token, which nobody reads. */
typedef struct embedder {
    bundle   *b;
    tfn_stack stack;
    tfn_pool  pool;
    bool      unit;
    int32_t   layers, room, used;       /* room: tokens of a row; used: rows that wait */
    int32_t  *ids, *tokens, *lengths, *starts;
    float    *vectors;
    int64_t   count, most;
} embedder;

static void embedder_open(embedder *x, bundle *b, const settings *s)
{
    const size_t rows = (size_t)b->desc.batch;
    memset(x, 0, sizeof *x);
    x->b = b;
    x->room = b->desc.context;
    x->layers = TFN_LAYERS_ALL;
    if (given(s, O_LAYER)) x->layers = (int32_t)whole_of(s, O_LAYER);
    x->pool = (tfn_pool)choice_of(s, O_POOL);           /* the names stand in its order */
    x->unit = given(s, O_UNIT);
    if (b->desc.arch == TFN_ARCH_ENCODER_DECODER) {
        x->stack = TFN_STACK_ENCODER;
        x->room = b->model.desc.source_context;
    }
    x->ids = (int32_t *)reserve(rows * (size_t)x->room, sizeof *x->ids);
    x->tokens = (int32_t *)reserve(rows * (size_t)x->room, sizeof *x->tokens);
    x->lengths = (int32_t *)reserve(rows, sizeof *x->lengths);
    x->starts = (int32_t *)reserve(rows, sizeof *x->starts);
}

static void embedder_free(embedder *x)
{
    free(x->ids);
    free(x->tokens);
    free(x->lengths);
    free(x->starts);
    free(x->vectors);
}

/* One more row: the line with the special tokens that rows had in training. */
static void embedder_add(embedder *x, const char *text, size_t bytes, int64_t number)
{
    int32_t *row = x->ids + (int64_t)x->used * x->room;
    x->lengths[x->used++] = prompt_row(x->b, text, bytes, false, x->room, number,
                                        row);
}

/* Room for so many vectors more. */
static void embedder_grow(embedder *x, int32_t rows, int32_t cols)
{
    float *more;
    if (x->count + rows <= x->most) return;
    x->most = 2 * (x->count + rows);
    more = (float *)reserve((size_t)x->most, (size_t)cols * sizeof *more);
    if (x->count) memcpy(more, x->vectors, (size_t)x->count * (size_t)cols * sizeof *more);
    free(x->vectors);
    x->vectors = more;
}

/* The rows that wait, side by side: as long as the longest, and in no other batch otherwise. */
static void embedder_run(embedder *x)
{
    const int32_t cols = tfn_model_channels(&x->b->model);
    tfn_batch batch = { 0 };
    int32_t longest = 1;
    for (int32_t r = 0; r < x->used; r++)
        if (x->lengths[r] > longest) longest = x->lengths[r];
    memset(x->tokens, 0, (size_t)x->used * (size_t)longest * sizeof *x->tokens);
    for (int32_t r = 0; r < x->used; r++)
        memcpy(x->tokens + (int64_t)r * longest, x->ids + (int64_t)r * x->room,
               (size_t)x->lengths[r] * sizeof *x->tokens);
    batch.batch = x->used;
    batch.tokens = x->tokens;
    batch.time = longest;
    batch.lengths = x->lengths;
    if (x->stack == TFN_STACK_ENCODER) {
        batch.source = x->tokens;
        batch.source_time = longest;
        batch.source_lengths = x->lengths;
        batch.tokens = x->starts;
        batch.time = 1;
        batch.lengths = NULL;
    }
    embedder_grow(x, x->used, cols);
    tfn_model_pool(&x->b->model, &batch, x->stack, x->layers, x->pool, x->unit,
                   x->vectors + x->count * cols);
    must_be_ok(&x->b->model.error);
    x->count += x->used;
    x->used = 0;
}

/* A line for each vector, with digits enough to read the same floats again. */
static void put_vectors(FILE *f, const embedder *x, int32_t cols)
{
    for (int64_t i = 0; i < x->count; i++)
        for (int32_t c = 0; c < cols; c++)
            fprintf(f, "%.9g%c", (double)x->vectors[i * cols + c], c + 1 < cols ? '\t' : '\n');
}

static bool write_vectors(const embedder *x, const char *out, bool npy)
{
    const int32_t cols = tfn_model_channels(&x->b->model);
    tfn_tensor t = { 0 };
    output_file o;
    if (!out) {
        put_vectors(stdout, x, cols);
        return true;
    }
    if (npy) {
        tfn_file f = file_at(out);
        t.dtype = TFN_DTYPE_F32;
        t.rank = 2;
        t.shape[0] = x->count;
        t.shape[1] = cols;
        t.data = x->vectors;
        tfn_npy_write(&f, &t);
        must_be_ok(&f.error);
        return true;
    }
    FILE *f = output_open(&o, out);
    if (f) put_vectors(f, x, cols);
    return output_close(&o);
}

/* The form that is meant: by --format, else by the end of the name. */
static bool wants_npy(const settings *s, cli *c)
{
    enum { AUTO, NPY };                                 /* as --format lists them */
    const char *out = text_of(s, O_OUT);
    size_t n = 0;
    if (out) n = strlen(out);
    if (choice_of(s, O_FORMAT) == NPY && !out) cli_fail(c, "--format npy wants --out FILE");
    if (choice_of(s, O_FORMAT) != AUTO) return choice_of(s, O_FORMAT) == NPY;
    return n >= 4 && !strcmp(out + n - 4, ".npy");
}

static int embed(settings *s, cli *c)
{
    static bundle b;
    embedder x;
    line_file input;
    const bool npy = wants_npy(s, c);
    const char *out = NULL;
    const char *path;
    bool written;
    if (given(s, O_OUT)) out = out_of(s, c, npy);
    path = open_use(&b, s, c);
    if (b.desc.bands) die("%s hears sound, which no line is", b.path);
    lines_open(&input, path);
    b.desc.batch_tokens = 0;                            /* any */
    bundle_load(&b, (int32_t)whole_of(s, O_BATCH), threads_of(s));
    embedder_open(&x, &b, s);
    while (next_line(&input)) {
        embedder_add(&x, input.line, input.bytes, input.number - 1);
        if (x.used == b.desc.batch) embedder_run(&x);
    }
    if (x.used) embedder_run(&x);
    written = write_vectors(&x, out, npy);
    embedder_free(&x);
    lines_close(&input);
    bundle_free(&b);
    return written ? 0 : 1;
}

/* -- average, fold ----------------------------------------------------------------------------- */

static int average(settings *s, cli *c)
{
    static bundle b;
    tfn_file files[OPTION_FILES];
    const char *out = out_of(s, c, true);
    if (s->files < 1) cli_fail(c, "wanted models");
    for (int i = 0; i < s->files; i++) files[i] = file_at(s->file[i]);
    bundle_open(&b, s->file[0]);
    bundle_load(&b, 1, 1);
    tfn_model_load_weights(&b.model, files, s->files);
    for (int i = 0; i < s->files; i++) must_be_file(&files[i].error, s->file[i]);
    bundle_save(&b, &b.from, out, true);
    printf("hash %016llX\n", (unsigned long long)tfn_model_hash(&b.model));
    bundle_free(&b);
    return 0;
}

static int fold(settings *s, cli *c)
{
    static bundle b;
    tfn_model from;
    const char *out = out_of(s, c, true);
    if (s->files != 1) cli_fail(c, "wanted one model");
    bundle_open(&b, s->file[0]);
    bundle_load(&b, 1, 1);
    from = b.model;
    b.desc.folded = true;
    untie_lora(&b.desc, &from);
    tfn_model_new(&b.model, &b.desc, NULL);
    must_be_ok(&b.model.error);
    tfn_model_fold(&b.model, &from);
    must_be_ok(&b.model.error);
    bundle_save(&b, &b.from, out, true);
    printf("parameters %lld, were %lld\nhash %016llX\n", (long long)b.model.param_floats,
           (long long)from.param_floats, (unsigned long long)tfn_model_hash(&b.model));
    tfn_model_free(&from);
    bundle_free(&b);
    return 0;
}

/* -- quantize ---------------------------------------------------------------------------------- */

static void must_repack(const bundle *b, tfn_weights type)
{
    const char *is = weights_name(b->desc.weights);
    if (b->desc.weights == type) die("%s has weights of %s already", b->path, is);
    if (b->desc.weights && type)
        die("%s has weights of %s: quantize the model that it was made of, or --to float32 first",
            b->path, is);
}

/* MODEL.q8.safetensors of MODEL.safetensors, if nothing else is said. */
static const char *quantized_name(settings *s, cli *c)
{
    static char name[OUTPUT_PATH];
    if (!given(s, O_OUT)) {
        kept_name(name, sizeof name, s->file[0], text_of(s, O_TO));
        s->text[O_OUT] = name;
    }
    return out_of(s, c, true);
}

/* The loss of a file on the batches of --on, whose bundle is another one than that which is saved:
 * batches of a size for this are none of the model's. */
static double quantize_loss(bundle *on, corpus *x, const char *path, tfn_weights type)
{
    on->path = path;
    on->desc.weights = type;
    bundle_load(on, x->batches.most_rows, 1);
    const double loss = loss_of_batches(&on->model, x, INT64_MAX);
    tfn_model_free(&on->model);
    return loss;
}

static int quantize(settings *s, cli *c)
{
    static bundle b, on;
    tfn_model was;
    corpus x;
    const char *out;
    double loss = 0;
    if (s->files != 1) cli_fail(c, "wanted one model");
    if (!given(s, O_TO)) cli_fail(c, "wanted --to q8, q4, bf16, f16 or float32");
    const tfn_weights type = (tfn_weights)tfn_choice_find("weights", text_of(s, O_TO))->value;
    out = quantized_name(s, c);
    bundle_look(&b, s->file[0]);
    must_repack(&b, type);
    if (given(s, O_ON)) {
        bundle_open(&on, s->file[0]);
        open_corpus(&on, &x, s, text_of(s, O_ON));
        loss = quantize_loss(&on, &x, s->file[0], b.desc.weights);
    }
    bundle_load(&b, 1, 1);
    bundle_repack(&b, &was, type);
    quant_say(&was, &b.model);
    bundle_save(&b, &b.from, out, true);
    if (given(s, O_ON)) {
        const double now = quantize_loss(&on, &x, out, type);
        printf("loss        %.6f, was %.6f: %+.3f %%\n", now, loss, 100 * (now / loss - 1));
        corpus_free(&x);
        bundle_free(&on);
    }
    printf("hash %016llX\n", (unsigned long long)tfn_model_hash(&b.model));
    tfn_model_free(&was);
    bundle_free(&b);
    return 0;
}

/* -- import, logits, tokens -------------------------------------------------------------------- */

/* FOLDER/NAME, whole; false: there is none. */
static bool import_read(data_file *f, const char *folder, const char *name)
{
    char *path = hub_path(folder, name);
    const bool there = exists(path);
    if (there) must(data_read(f, path), f->error);
    free(path);
    return there;
}

/* Whether do_lower_case of tokenizer_config.json is false. It is a search of its text: white space
 * may stand around the colon. */
static bool import_is_cased(const char *folder)
{
    static const char key[] = "\"do_lower_case\"";
    data_file config = { 0 };
    bool cased = false;
    if (!import_read(&config, folder, "tokenizer_config.json")) return false;
    for (size_t at = 0; at + sizeof key < config.size; at++) {
        if (memcmp(config.bytes + at, key, sizeof key - 1)) continue;
        for (at += sizeof key - 1; at < config.size; at++)
            if (!strchr(" \t\r\n:", config.bytes[at])) break;
        cased = at < config.size && config.bytes[at] == 'f';
        break;
    }
    data_file_free(&config);
    return cased;
}

/* Marian's source.spm and vocab.json, which says what the pieces of target.spm are, too. Where that
 * has a vocabulary of its own, one tokenizer is not enough. */
static bool import_marian(data_file *model, data_file *vocab, const char *folder)
{
    data_file target = { 0 };
    if (import_read(&target, folder, "target_vocab.json")) {
        data_file_free(&target);
        return false;
    }
    return import_read(model, folder, "source.spm") && import_read(vocab, folder, "vocab.json");
}

/* The tokenizer of the folder, if it has one that is read; else the model takes ids alone. */
static void import_tokenizer(bundle *b, const char *folder)
{
    tfn_tokenizer_source source = { 0 };
    tfn_tokenizer *k = &b->tokenizer.tokenizer;
    data_file json = { 0 };
    data_file vocab = { 0 };
    data_file merges = { 0 };
    data_file model = { 0 };
    if (import_read(&json, folder, "tokenizer.json")) {
        source.json = json.bytes;
        source.json_size = json.size;
    } else if (import_marian(&model, &vocab, folder)) {
        source.model = model.bytes;
        source.model_size = model.size;
        source.vocab = vocab.bytes;
        source.vocab_size = vocab.size;
        source.end = true;
    } else if (import_read(&vocab, folder, "vocab.json")
               && import_read(&merges, folder, "merges.txt")) {
        source.vocab = vocab.bytes;
        source.vocab_size = vocab.size;
        source.merges = merges.bytes;
        source.merges_size = merges.size;
    } else if (import_read(&vocab, folder, "tokenizer.model")
               || import_read(&vocab, folder, "spiece.model")) {
        source.begin = b->desc.arch == TFN_ARCH_DECODER;    /* Llama's; texts of others end */
        source.end = !source.begin;
        source.model = vocab.bytes;
        source.model_size = vocab.size;
    } else if (import_read(&vocab, folder, "vocab.txt")) {
        source.kind = TFN_TOKENIZER_WORDPIECE;
        source.vocab = vocab.bytes;
        source.vocab_size = vocab.size;
        source.cased = import_is_cased(folder);
    }
    if (source.json || source.model || source.vocab) {
        const size_t size = tfn_tokenizer_size(&source);
        b->tokenizer.mem = reserve(size ? size : 1, 1);
        tfn_tokenizer_init(k, &source, b->tokenizer.mem, size);
        must_be_ok(&k->error);
        if (k->vocab > b->desc.vocab)
            die("%s: the tokenizer has %d tokens, the model %d", folder, (int)k->vocab,
                (int)b->desc.vocab);
    }
    data_file_free(&json);
    data_file_free(&vocab);
    data_file_free(&merges);
    data_file_free(&model);
}

/* What a training of it would have been started with, as far as its use asks for that. */
static void import_experiment(bundle *b)
{
    static char context[16];
    snprintf(context, sizeof context, "%d", (int)b->desc.context);
    b->from.text[O_KIND] = "text";
    if (b->desc.arch == TFN_ARCH_ENCODER) b->from.text[O_KIND] = "masked";
    if (b->desc.arch == TFN_ARCH_ENCODER_DECODER) b->from.text[O_KIND] = "pairs";
    b->from.text[O_TOKENIZER] = "bpe";
    b->from.text[O_CONTEXT] = context;
}

/* Bytes of packed weights, and of the floats that were never in memory. */
static void import_say_weights(const tfn_model *m)
{
    tfn_param_info p;
    size_t bytes = 0;
    if (!m->desc.weights) return;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) bytes += param_bytes(&p);
    printf("weights     %s: %zu bytes, of float32 %zu\n", weights_name(m->desc.weights), bytes,
           sizeof(float) * (size_t)param_count(m));
}

static int import(settings *s, cli *c)
{
    static bundle b;
    static tfn_import x;
    data_file generation = { 0 };
    const char *out = out_of(s, c, true);
    if (s->files != 1) cli_fail(c, "wanted one folder");
    x.folder = s->file[0];
    x.lenient = given(s, O_LENIENT);
    if (given(s, O_LONGEST)) b.desc.context = (int32_t)whole_of(s, O_LONGEST);
    tfn_import_peek(&x, &b.desc);
    must_be_ok(&x.error);
    if (!given(s, O_LONGEST) && b.desc.context > 1024) b.desc.context = 1024;
    import_tokenizer(&b, x.folder);
    b.desc.inference = b.desc.blank = true;
    b.desc.threads = 1;
    b.desc.weights = (tfn_weights)tfn_choice_find("weights", text_of(s, O_WEIGHTS))->value;
    tfn_model_new(&b.model, &b.desc, NULL);
    must_be_model(&b.model, &b.desc);
    tfn_import_weights(&x, &b.model);
    must_be_ok(&x.error);
    import_experiment(&b);
    hub_keep_classes(&b, &x);
    import_read(&generation, x.folder, "generation_config.json");
    hub_keep_ids(&b, &x, &generation);
    b.from.text[O_FAMILY] = x.family->name;
    b.from.text[O_DTYPE] = hub_dtype_name(x.dtype);
    bundle_save(&b, &b.from, out, true);
    printf("family      %s\nparameters  %lld\ncontext     %d\n", x.family->name,
           (long long)param_count(&b.model), (int)b.desc.context);
    import_say_weights(&b.model);
    if (b.tokenizer.mem) printf("tokens      %d\n", (int)b.tokenizer.tokenizer.vocab);
    else printf("tokens      none: no tokenizer.json, vocab.json with merges.txt or source.spm, "
                "tokenizer.model, spiece.model, vocab.txt\n");
    printf("hash %016llX\n", (unsigned long long)tfn_model_hash(&b.model));
    data_file_free(&generation);
    bundle_free(&b);
    return 0;
}

/* A line for each position, its logits with nine digits: for comparisons with other programs. */
static int logits(settings *s, cli *c)
{
    static tfn_model m;
    static tfn_model_desc d;
    tfn_batch batch = { 0 };
    int32_t *ids;
    const float *z;
    if (s->files != 1) cli_fail(c, "wanted one model");
    if (!given(s, O_IDS)) cli_fail(c, "wanted --ids \"ID ID ...\"");
    tfn_file f = file_at(s->file[0]);
    tfn_model_peek(&f, &d, NULL);
    must_be_file(&f.error, s->file[0]);
    if (d.arch == TFN_ARCH_ENCODER_DECODER) die("%s also reads a source", s->file[0]);
    if (d.bands) die("%s reads frames, not tokens", s->file[0]);
    d.inference = d.blank = true;
    d.batch = 1;
    tfn_model_new(&m, &d, NULL);
    must_be_model(&m, &d);
    tfn_model_load_weights(&m, &f, 1);
    must_be_ok(&f.error);
    batch.tokens = ids = prompt_numbers(text_of(s, O_IDS), &batch.time);
    batch.batch = 1;
    z = tfn_model_logits(&m, &batch);
    must_be_ok(&m.error);
    const bool one = tfn__by_sentences(&m.desc);
    const int32_t cols = tfn__logit_cols(&m.desc);
    for (int32_t t = 0; t < (one ? 1 : batch.time); t++)
        for (int32_t v = 0; v < cols; v++)
            printf("%.9g%c", (double)z[t * cols + v], v + 1 < cols ? ' ' : '\n');
    tfn_model_free(&m);
    free(ids);
    return 0;
}

/* The ids of each line, with those that a text of the model begins and ends with. */
static int tokens(settings *s, cli *c)
{
    static bundle b;
    line_file x;
    lines_open(&x, open_use(&b, s, c));
    const tfn_tokenizer *k = &b.tokenizer.tokenizer;
    while (next_line(&x)) {
        int64_t count = k->begins;
        int32_t *ids = x.bytes ? encode_as(&b, x.line, x.bytes, false, &count) : NULL;
        const int32_t *line = ids ? ids : k->frame;
        for (int64_t i = 0; i < count; i++) printf("%s%d", i ? " " : "", (int)line[i]);
        for (int32_t i = 0; i < k->ends; i++)
            printf("%s%d", count + i ? " " : "", (int)k->frame[k->begins + i]);
        printf("\n");
        free(ids);
    }
    lines_close(&x);
    bundle_free(&b);
    return 0;
}

/* -- bits, inspect ----------------------------------------------------------------------------- */

static int bits(settings *s, cli *c)
{
    size_t size = tfn_selfcheck_size();
    void *mem = reserve(size, 1);
    uint64_t hash = tfn_selfcheck(mem, size, TFN_ISA_BEST, 1);
    bool fma = tfn_kernels_for(TFN_ISA_BEST)->fma;
    uint64_t wanted = TFN_BITS_HASH;
    const char *of = "";
    if (!fma) {                         /* all such processors have one second set of bits */
        wanted = TFN_BITS_HASH_NO_FMA;
        of = ", that of processors without FMA";
    }
    bool good = hash == wanted;
    if (s->files) cli_fail(c, "nothing is wanted behind bits");
    printf("tfnorm %s, bits version %d, kernels %s\nbits %s\nself-check %016llX, %s %016llX%s\n",
           tfn_version(), TFN_BITS_VERSION, tfn_kernels_for(TFN_ISA_BEST)->name,
           tfn_bits(TFN_ISA_BEST), (unsigned long long)hash, good ? "which is" : "WANTED",
           (unsigned long long)wanted, of);
    free(mem);
    return !good;
}

static uint64_t hash_bytes(uint64_t hash, const void *from, size_t n)         /* FNV-1a */
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)from)[i]) * UINT64_C(1099511628211);
    return hash;
}

/* What a line of a tensor says. */
typedef struct tensor_line {
    const char *type;
    char        shape[160];
    int64_t     values;
    double      sum, most;              /* of squares, of magnitudes */
} tensor_line;

static void inspect_values(tensor_line *x, const float *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double value = (double)v[i];
        x->sum += value * value;
        if (fabs(value) > x->most || value != value) x->most = fabs(value);
    }
}

/* Bytes of a packed matrix are no numbers: what they stand for is, as the model has it. */
static bool inspect_packed(tensor_line *x, const tfn_model *m, const tfn_tensor *t)
{
    static const char *const types[TFN_WEIGHTS_COUNT] = { "", "Q8", "Q4", "", "" };
    tfn_param_info p;
    int32_t i = 0;
    if (t->dtype != TFN_DTYPE_U8) return false;
    while (tfn_model_param(m, i, &p) && strcmp(p.name, t->name)) i++;
    if (!tfn_model_param(m, i, &p) || p.bytes != t->bytes) return false;
    float *numbers = param_floats(m, i);
    x->type = types[p.weights];
    x->values = (int64_t)p.rows * p.cols;
    snprintf(x->shape, sizeof x->shape, "%d x %d", (int)p.rows, (int)p.cols);
    x->sum = x->most = 0;
    inspect_values(x, numbers, x->values);
    free(numbers);
    return true;
}

/* A line for a tensor; its values join the hash as floats. Returns how many it has. */
static int64_t inspect_tensor(tfn_file *f, const tfn_tensor *t, const tfn_model *m, uint64_t *hash)
{
    static const char *const names[TFN_DTYPE_COUNT] = {
        "", "U64", "I64", "F64", "C64", "F32", "U32", "I32", "BF16", "F16", "U16", "I16",
        "F8_E5M2FNUZ", "F8_E4M3FNUZ", "F8_E8M0", "F8_E4M3", "F8_E5M2", "I8", "U8", "F6_E3M2",
        "F6_E2M3", "F4", "BOOL"
    };
    float part[1024];
    tensor_line x = { names[t->dtype], "", t->count, 0, 0 };
    const char *form = "%lld";          /* 3 x 4 x 5 */
    for (int32_t i = 0; i < t->rank; i++) {
        snprintf(x.shape + strlen(x.shape), sizeof x.shape - strlen(x.shape), form,
                 (long long)t->shape[i]);
        form = " x %lld";
    }
    for (int64_t at = 0; at < t->count; at += 1024) {
        int64_t n = t->count - at;
        if (n > 1024) n = 1024;
        if (tfn_file_read(f, t, part, at, n) != TFN_OK) break;
        *hash = hash_bytes(*hash, part, (size_t)n * sizeof *part);
        inspect_values(&x, part, n);
    }
    if (f->error.status == TFN_UNSUPPORTED) {
        memset(&f->error, 0, sizeof f->error);
        x.sum = x.most = (double)NAN;
    }
    must_be_ok(&f->error);
    if (t->dtype == TFN_DTYPE_U8 && !strncmp(t->name, "training.", 9))
        x.sum = x.most = (double)NAN;   /* moments of 8 bits, with their scales */
    inspect_packed(&x, m, t);
    printf("%-40s %-5s %-14s norm %-11.6g max %-11.6g bytes %lld\n", t->name, x.type, x.shape,
           sqrt(x.sum), x.most, (long long)t->bytes);
    return x.values;
}

/* The model of a checkpoint; false: the file is of another program, or no such model is made. */
static bool inspect_load(tfn_model *m, const char *path, tfn_model_desc *d, int64_t *step)
{
    tfn_file f = file_at(path);
    memset(m, 0, sizeof *m);
    if (tfn_model_peek(&f, d, step) != TFN_OK) return false;
    d->inference = true;
    d->batch = d->threads = 1;
    f = file_at(path);
    return tfn_model_new(m, d, NULL) == TFN_OK && tfn_model_load_weights(m, &f, 1) == TFN_OK;
}

static void inspect_file(const char *path)
{
    tfn_file f = file_at(path);
    tfn_tensor t;
    uint64_t hash = UINT64_C(14695981039346656037);
    int64_t values = 0;
    int64_t step = -1;
    int32_t i;
    tfn_model_desc d;
    tfn_model m;
    tfn_file_open(&f);
    must_be_file(&f.error, path);
    const bool made = inspect_load(&m, path, &d, &step);
    for (i = 0; tfn_file_tensor(&f, i, &t); i++) values += inspect_tensor(&f, &t, &m, &hash);
    must_be_ok(&f.error);
    tfn_file_close(&f);
    printf("%s: %d tensors, %lld values, hash %016llX\n", path, (int)i, (long long)values,
           (unsigned long long)hash);
    if (made)
        printf("model: %s, %d layers, width %d, hidden width %d, vocabulary %d, %s, weights %s, "
               "step %lld, hash %016llX\n",
               tfn_choice_name("arch", (int32_t)d.arch), (int)d.layers, (int)d.width,
               (int)m.desc.ffn, (int)d.vocab, d.recipe, weights_name(d.weights), (long long)step,
               (unsigned long long)tfn_model_hash(&m));
    tfn_model_free(&m);
}

static int inspect(settings *s, cli *c)
{
    if (given(s, O_SAID) || given(s, O_IDS)) {
        const char *out = "-";
        if (given(s, O_OUT)) out = out_of(s, c, false);
        return inspect_sentence(s, c, out);
    }
    if (s->files < 1) cli_fail(c, "wanted FILE.safetensors");
    if (given(s, O_OUT) || given(s, O_TARGET))
        cli_fail(c, "--out and --target are of a sentence: wanted --text or --ids");
    for (int k = 0; k < s->files; k++) inspect_file(s->file[k]);
    return 0;
}

/* -- export ------------------------------------------------------------------------------------ */

/* An option as C: rows by name, enumerations by number, 0 not at all. */
static void export_option(FILE *f, const char *name, const char *value)
{
    static const char *const texts[] = { "recipe", "norm", "decoder_norm" };
    static const char *const zeros[] = { "0", "false", "default" };
    const tfn_choice *choice = tfn_choice_find(name, value);
    const bool row = !strcmp(name, "topology") || !strcmp(name, "decoder_topology");
    const bool real = value[0] < 'A' && strpbrk(value, ".e");
    for (int i = 0; i < 3; i++) {
        if (!strcmp(value, zeros[i])) return;
        if (strcmp(name, texts[i])) continue;
        fprintf(f, "    d.%s = \"%s\";\n", name, value);
        return;
    }
    if (row) fprintf(f, "    d.%s = tfn_topology_find(\"%s\");\n", name, value);
    else if (choice && choice->value) fprintf(f, "    d.%s = %d;\n", name, (int)choice->value);
    else if (!choice && real) fprintf(f, "    d.%s = %sf;\n", name, value);
    else if (!choice) fprintf(f, "    d.%s = %s;\n", name, value);
}

/* The options of a checkpoint that make its model, as C. */
static void export_options(FILE *f, tfn_file *from, const char *prefix, bool packed)
{
    char key[64], value[128];
    fprintf(f, "static inline tfn_model_desc %s_desc(void)\n{\n"
               "    tfn_model_desc d = { 0 };\n", prefix);
    for (size_t i = 0; i < sizeof shape_names / sizeof *shape_names; i++) {
        snprintf(key, sizeof key, "tfn.%s", shape_names[i]);
        if (tfn_file_text(from, key, value, sizeof value)) export_option(f, shape_names[i], value);
    }
    fprintf(f, "    d.inference = true;\n"
               "    d.parameters = (float *)(uintptr_t)%s_weights%s;      /* only read */\n"
               "    return d;\n}\n", prefix, packed ? ".whole" : "");
}

static void export_tokenizer(FILE *f, const bundle *b, const char *prefix)
{
    const tfn_tokenizer *k = &b->tokenizer.tokenizer;
    tfn_tokenizer_source source = { 0 };
    size_t bytes = tfn_tokenizer_write(k, NULL, 0);
    unsigned char *blob = (unsigned char *)reserve(bytes, 1);
    tfn_tokenizer_write(k, blob, bytes);
    source.blob = blob;
    source.blob_size = bytes;
    fprintf(f, "static const unsigned char %s_tokenizer[%lu] = {", prefix, (unsigned long)bytes);
    for (size_t i = 0; i < bytes; i++) {
        if (i) fprintf(f, ",");
        if (i % 20 == 0) fprintf(f, "\n    ");
        fprintf(f, "%d", blob[i]);
    }
    fprintf(f, "\n};\n");
    fprintf(f, "enum { %s_tokenizer_memory = %lu };\n\n", prefix,
            (unsigned long)tfn_tokenizer_size(&source));
    free(blob);
}

/* What stands between the values of an initializer. */
static void export_comma(FILE *f, int64_t i, int line)
{
    if (i) fprintf(f, ",");
    if (i % line == 0) fprintf(f, "\n    ");
}

static void export_floats(FILE *f, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        char text[32];
        snprintf(text, sizeof text, "%.9g", (double)x[i]);
        export_comma(f, i, 8);
        fprintf(f, "%s", text);
        if (!strpbrk(text, ".e")) fprintf(f, ".");      /* 1f is no number of C, 1.f is */
        fprintf(f, "f");
    }
}

/* Of Q8 and Q4 bytes, of the others numbers of 16 bits: so they are right on any machine. */
static void export_packed(FILE *f, const tfn_param_info *p)
{
    const unsigned char *bytes = (const unsigned char *)p->packed;
    const uint16_t *halves = (const uint16_t *)p->packed;
    if (p->weights <= TFN_WEIGHTS_Q4)
        for (size_t i = 0; i < p->bytes; i++) {
            export_comma(f, (int64_t)i, 20);
            fprintf(f, "%d", bytes[i]);
        }
    else
        for (size_t i = 0; i < p->bytes / 2; i++) {
            export_comma(f, (int64_t)i, 16);
            fprintf(f, "%d", halves[i]);
        }
}

/* A packed parameter as a member: its type, its name, how many it has. */
static void export_member(FILE *f, const tfn_param_info *p)
{
    char name[sizeof p->name];
    const bool bytes = p->weights <= TFN_WEIGHTS_Q4;
    memcpy(name, p->name, sizeof name);
    for (char *c = name; *c; c++)
        if (*c == '.') *c = '_';
    fprintf(f, "        %s %s[%zu];\n", bytes ? "unsigned char" : "uint16_t", name,
            bytes ? p->bytes : p->bytes / 2);
}

/* The flat vector piece by piece, each packed parameter and the floats between them: as members of
 * a struct, or as their values. */
static void export_pieces(FILE *f, const tfn_model *m, bool values)
{
    const int64_t all = m->param_floats + m->buffer_floats;
    int64_t at = 0;
    int count = 0;
    for (int32_t i = 0;; i++) {
        tfn_param_info p;
        const bool more = tfn_model_param(m, i, &p);
        int64_t to = all;
        if (more && !p.weights) continue;
        if (more) to = (const float *)p.packed - m->params;
        if (to > at && values) {
            fprintf(f, "    {");
            export_floats(f, m->params + at, to - at);
            fprintf(f, "\n    }%s\n", more ? "," : "");
        } else if (to > at)
            fprintf(f, "        float floats_%d[%lld];\n", count, (long long)(to - at));
        count += to > at;
        if (!more) return;
        if (values) {
            fprintf(f, "    {");
            export_packed(f, &p);
            fprintf(f, "\n    },\n");
        } else export_member(f, &p);
        at = to + (int64_t)(p.bytes / sizeof(float));
    }
}

/* Parameters in the order of the flat vector, which the model reads where they stand. */
static void export_weights(FILE *f, const bundle *b, const char *prefix)
{
    const tfn_model *m = &b->model;
    const int64_t n = m->param_floats + m->buffer_floats;
    if (!b->desc.weights) {
        fprintf(f, "static const float %s_weights[%lld] = {", prefix, (long long)n);
        export_floats(f, m->params, n);
        fprintf(f, "\n};\n\n");
        return;
    }
    fprintf(f, "static const union {\n    struct {\n");
    export_pieces(f, m, false);
    fprintf(f, "    } part;\n    float whole[%lld];\n} %s_weights = { {\n", (long long)n, prefix);
    export_pieces(f, m, true);
    fprintf(f, "} };\n\n");
}

/* -- and what it wants of a board */

/* As the C has it: of the file the options that make a model, else none. */
static void export_describe(tfn_model_desc *d, tfn_file *from, const tfn_model *m)
{
    char key[64], value[128];
    memset(d, 0, sizeof *d);
    for (size_t i = 0; i < sizeof shape_names / sizeof *shape_names; i++) {
        snprintf(key, sizeof key, "tfn.%s", shape_names[i]);
        if (tfn_file_text(from, key, value, sizeof value))
            tfn_desc_set(d, shape_names[i], value, NULL);
    }
    d->inference = true;
    d->parameters = m->params;
    d->threads = 1;
    d->isa = TFN_ISA_PLAIN;
}

/* Bytes of a model and of a decoder of one sentence, token by token; *one: of a block that has room
 * for both, one after the other. 0: there is no such decoder. */
static size_t export_sizes(const tfn_model_desc *d, size_t *decoder, size_t *one)
{
    const size_t room = tfn_model_scratch(d);
    void *scratch = reserve(room, 1);
    const size_t size = tfn_model_size(d, scratch, room);
    void *mem = reserve(size, 1);
    tfn_model m;
    tfn_model_init(&m, d, mem, size);
    must_be_ok(&m.error);
    *decoder = tfn_decoder_size(&m, 1, 1, scratch, room);
    *one = m.memory.kept + *decoder;
    if (size > *one) *one = size;
    free(mem);
    free(scratch);
    return size;
}

/* Sizes, so that a board finds none: with them no scratch is wanted there. */
static void export_memory(FILE *f, tfn_file *from, const tfn_model *m, const char *prefix)
{
    tfn_model_desc d;
    size_t decoder, one;
    export_describe(&d, from, m);
    const size_t size = export_sizes(&d, &decoder, &one);
    fprintf(f, "\n/* Bytes for tfn_model_init of %s_desc() and for tfn_decoder_init of one "
               "sentence, token by\n * token, with TFN_ISA_PLAIN, which is what boards have: "
               "nothing is sized there. They are of\n * processors of 64 bits; those of 32 want "
               "no more. */\n", prefix);
    fprintf(f, "enum { %s_memory = %zu };\n", prefix, size);
    if (d.arch == TFN_ARCH_ENCODER) return;
    fprintf(f, "enum { %s_decoder_memory = %zu };\n", prefix, decoder);
    if (d.arch != TFN_ARCH_DECODER) return;
    d.only_decoders = true;
    export_sizes(&d, &decoder, &one);
    fprintf(f, "/* One array for both, with desc.only_decoders: see tfn_memory. */\n"
               "enum { %s_board_memory = %zu };\n", prefix, one);
}

static bool is_c_name(const char *s)
{
    static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    return s[0] && !strchr("0123456789", s[0]) && !s[strspn(s, letters)];
}

static int export(settings *s, cli *c)
{
    static bundle b;
    const char *out;
    const char *prefix = text_of(s, O_PREFIX);
    tfn_file from;
    output_file o;
    FILE *f;
    if (given(s, O_HF)) return hub_export(s, c);
    if (given(s, O_FAMILY) || given(s, O_DTYPE) || given(s, O_ROUND))
        cli_fail(c, "--family, --dtype and --round are of --hf");
    out = out_of(s, c, false);
    if (s->files != 1) cli_fail(c, "wanted one model");
    if (!is_c_name(prefix)) cli_fail(c, "--prefix wants a name of C, not \"%s\"", prefix);
    bundle_look(&b, s->file[0]);
    bundle_load(&b, 1, 1);
    f = output_open(&o, out);
    if (!f) return 1;
    fprintf(f, "/* Written by tfn export. Include it behind tfnorm.h: %s_desc() has the options\n"
               " * of the model, whose weights stay where they are", prefix);
    if (b.tokenizer.mem)                    /* a model of frames has none */
        fprintf(f, "; a tokenizer is made of\n * %s_tokenizer in %s_tokenizer_memory bytes",
                prefix, prefix);
    fprintf(f, ". Hash %016llX. */\n", (unsigned long long)tfn_model_hash(&b.model));
    export_weights(f, &b, prefix);
    if (b.tokenizer.mem) export_tokenizer(f, &b, prefix);
    from = file_at(b.path);
    tfn_file_open(&from);
    export_options(f, &from, prefix, b.desc.weights != TFN_WEIGHTS_FLOAT);
    export_memory(f, &from, &b.model, prefix);
    must_be_ok(&from.error);
    tfn_file_close(&from);
    bundle_free(&b);
    return output_close(&o) ? 0 : 1;
}

/* -- the commands ------------------------------------------------------------------------------ */

static const struct command {
    const char *name, *arguments, *help;
    int         bit;
    int       (*run)(settings *s, cli *c);
} commands[] = {
    { "train", "FILE | --task NAME | --pairs FILE | --labels FILE", "train a model", TRAIN, train },
    { "generate", "MODEL [FILE | -]", "continue each line", GENERATE, generate },
    { "chat", "MODEL [FILE | -]", "answer each line; all that was said stays in view", CHAT,
      chat_run },
    { "translate", "MODEL [FILE | -]",
      "translate each line (T5's begin with the task: \"translate English to German: \")",
      TRANSLATE, generate },
    { "classify", "MODEL [FILE | -]", "the class of each line A, or A tab B", CLASSIFY, classify },
    { "fill", "MODEL --text \"The [MASK] sat\"", "the likeliest tokens for each mask", FILL, fill },
    { "eval", "MODEL [FILE | -]", "loss, perplexity, accuracy, BLEU, ROUGE, WER", EVAL, eval },
    { "embed", "MODEL [FILE | -] [--out FILE]", "a vector of each line, as .tsv or .npy", EMBED,
      embed },
    { "score", "FOUND WANTED", "BLEU, ROUGE, WER, CER of lines", SCORE, score },
    { "average", "MODEL ... --out FILE", "the mean of weights", AVERAGE, average },
    { "fold", "MODEL --out FILE", "scales and gains into the weights", FOLD, fold },
    { "quantize", "MODEL --to TYPE [--out FILE]",
      "matrices of 8, 4 or 16 bits, or of floats again; MODEL.TYPE.safetensors", QUANTIZE,
      quantize },
    { "export", "MODEL --out FILE.h | --hf DIR", "model and tokenizer as C, or for the hub", EXPORT,
      export },
    { "import", "FOLDER --out FILE", "a checkpoint of the hub, by its config.json", IMPORT,
      import },
    { "logits", "MODEL --ids \"N N ..\"", "of each position, nine digits", LOGITS, logits },
    { "tokens", "MODEL [FILE | -]", "the ids of each line", ENCODE, tokens },
    { "inspect", "FILE ... | MODEL --text TEXT --out PAGE.html",
      "tensors of a safetensors file; what a model does with a sentence, as a page", INSPECT,
      inspect },
    { "bits", "", "the self-check: are the bits canonical here?", BITS, bits },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static int usage(void)
{
    printf("tfn: train Transformers and use them\n\n");
    for (int i = 0; i < COMMANDS; i++)
        printf("  tfn %-10s %s\n  %14s %s\n", commands[i].name, commands[i].arguments, "",
               commands[i].help);
    printf("\n`tfn COMMAND --help` has the options with their defaults. For example:\n"
           "  tfn train --task translate --minutes 3 --out m.safetensors\n"
           "  echo \"der Hund schläft.\" | tfn translate m.safetensors --beam 4\n"
           "  tfn train book.txt --tokenizer bpe --layers 6 --out book.safetensors\n"
           "  tfn generate book.safetensors --temperature 0.8 prompts.txt\n"
           "Exit codes: 0; 1: something failed, output was lost, or training went wrong;\n"
           "2: wrong arguments; 130: stopped and saved.\n");
    return 0;
}

static int command_help(const struct command *k)
{
    bool any = false;
    for (int i = 0; i < O_COUNT; i++) any = any || (option_rows[i].commands & k->bit);
    printf("tfn %s %s\n%s\n", k->name, k->arguments, k->help);
    if (any) printf("Options and their defaults:\n");
    options_help(stdout, k->bit);
    if (k->bit != TRAIN) return 0;
    printf("Tasks, whose data is generated:\n");
    for (int i = 0; task_at(i); i++)
        printf("  %-12s %s: %s\n", task_at(i)->name, task_at(i)->text, task_at(i)->formula);
    return 0;
}

static int run_tool(int argc, char **argv)
{
    cli c = { "tfn", argv, argc, 0 };
    const char *name = cli_next(&c);
    const char *best = NULL;
    static settings s;
    if (!name) cli_fail(&c, "wanted a command");
    if (!strcmp(name, "--version")) {
        printf("tfn of tfnorm %s\n", tfn_version());
        return 0;
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) return usage();
    for (int i = 0; i < COMMANDS; i++) {
        const struct command *k = &commands[i];
        option_nearer(&best, name, k->name);
        if (strcmp(k->name, name)) continue;
        for (int j = 2; j < argc; j++)
            if (!strcmp(argv[j], "--help") || !strcmp(argv[j], "-h")) return command_help(k);
        options_read(&s, &c, k->bit);
        return k->run(&s, &c);
    }
    cli_fail(&c, "no command %s; the nearest is %s", name, best);
    return 2;
}

int main(int argc, char **argv)
{
    output_begin("tfn");
    return output_end(run_tool(argc, argv));
}
