/* The engine of the page: a module of WebAssembly that holds one model, trained as by `normlab
 * compare`, and looks inside. engine.js calls it. An error prints its text and ends the engine. The
 * page has an engine for each side, and a new run is a new engine.
 *
 * Texts pass in both directions through `engine_text`, each followed by a zero. engine.js reads
 * numbers directly from the engine's memory. */
#include "libc.h"
#include "../../tfnorm.h"
#include "../common/data.h"
#include "../common/svg.h"
#include "../normlab/block.h"
#include "../normlab/compare.h"
#include "../normlab/drawing.h"
#include "../normlab/features.h"
#include "../normlab/lab_data.h"
#include "../normlab/lab_look.h"
#include "../normlab/lab_score.h"
#include "../normlab/list.h"
#include "../normlab/rows.h"

#define EXPORT(type, name) __attribute__((export_name(#name))) type name

enum { ENGINE_TEXT = 1 << 17, ENGINE_ARGUMENTS = 64 };
enum { ENGINE_SUBLAYERS = COMPARE_LAYERS * 5 };         /* 2 of the encoder, 3 of the decoder */
static char engine_buffer[ENGINE_TEXT];

/* The measurements of a sub-layer in one step. */
typedef struct engine_seen {
    double stack, layer, kind;          /* 1: the decoder; from 0; tfn_sublayer */
    double gradient;                    /* |dL/dW| of all its weights, mean loss */
    double arriving;                    /* |dL/dx| of the stream that it gives, mean loss */
    double stream, branch;              /* root mean square of x after it, of p */
    double moved, weights;              /* |dW|, |W| */
    double input, read, sum;            /* root mean square of x before it, of what F reads, of z */
} engine_seen;

/* In the order in which engine.js reads them. */
typedef struct engine_report {
    double step, loss, nll, rate, gradient, tokens, skipped;
} engine_report;

static comparison    engine;            /* of one run */
static engine_seen   engine_sub[ENGINE_SUBLAYERS];
static int           engine_subs;
static engine_report engine_last;
static float        *engine_before;     /* the parameters before the step */
static tfn_generator engine_writer;
static lab_data      engine_sentence;   /* one of the test */
static float        *engine_weights;    /* of an attention's head */

EXPORT(char *, engine_text)(void) { return engine_buffer; }

/* Appends to the text. The caller has emptied it before. */
static void engine_add(const char *format, ...)
{
    const size_t n = strlen(engine_buffer);
    va_list args;
    va_start(args, format);
    vsnprintf(engine_buffer + n, ENGINE_TEXT - n, format, args);
    va_end(args);
}

static _Noreturn void engine_fail(const tfn_error *error)
{
    char text[320];
    fprintf(stderr, "%s", tfn_error_text(error, text, sizeof text));
    exit(1);
}

/* -- the rows of the library ------------------------------------------------------------------- */

/* Lists one name a line, then after tabs its formula and paper, and for recipes also the norm, the
 * init and the options that they need. */
static void engine_recipes(void)
{
    for (int32_t i = 0; tfn_recipe_at(i); i++) {
        const tfn_recipe *r = tfn_recipe_at(i);
        const tfn_topology *t = tfn_topology_find(r->topology);
        char paper[TEXT], needs[TEXT];
        needs_text(needs, t, tfn_norm_find(r->norm), tfn_init_find(r->init));
        engine_add("%s\t%s\t%s\t%s\t%s\t%s\n", r->name, t->formula, recipe_paper(paper, r), r->norm,
                   r->init, needs);
    }
}

static void engine_choices(const char *option)
{
    for (int32_t i = 0; tfn_choice_at(option, i); i++) {
        const tfn_choice *x = tfn_choice_at(option, i);
        engine_add("%s\t%s\t", x->name, x->formula);
        if (x->paper) engine_add("%s", x->paper);
        engine_add("\n");
    }
}

static void engine_norms(void)
{
    for (int32_t i = 0; tfn_norm_at(i); i++)
        engine_add("%s\t%s\t%s\n", tfn_norm_at(i)->name, tfn_norm_at(i)->formula,
                   tfn_norm_at(i)->paper);
}

static void engine_inits(void)
{
    for (int32_t i = 0; tfn_init_at(i); i++)
        engine_add("%s\t%s\t%s\n", tfn_init_at(i)->name, tfn_init_at(i)->formula,
                   tfn_init_at(i)->paper);
}

EXPORT(void, engine_rows)(int kind)
{
    engine_buffer[0] = 0;
    if (kind == 0) engine_recipes();
    if (kind == 1) engine_norms();
    if (kind == 2) engine_inits();
    if (kind == 3) engine_choices("optimizer");
    if (kind == 4) engine_choices("schedule.kind");
}

/* Draws the block of the recipe that the text names, or only its layer: one item of drawing.h a
 * line. */
EXPORT(void, engine_block)(int stack, int layers, int layer, int whole)
{
    static drawing d;
    const tfn_recipe *r = tfn_recipe_find(engine_buffer);
    block b;
    memset(&b, 0, sizeof b);
    memset(&d, 0, sizeof d);
    engine_buffer[0] = 0;
    if (!r) return;
    b.t = tfn_topology_find(r->topology);
    b.norm = r->norm;
    b.stack = stack;
    b.s.layers = layers;
    b.s.width = 32;
    b.layer = layer;
    if (whole) draw_block(&d, &b, 0);
    else draw_layer(&d, &b, 0);
    for (int i = 0; i < d.count; i++) {
        const item *x = &d.items[i];
        engine_add("%d\t%d\t%d\t%d\t%d\t%d\t%s\n", x->look, x->x, x->y, x->x2, x->y2, x->left,
                   x->text);
    }
}

EXPORT(const char *, engine_bits)(void) { return tfn_bits(TFN_ISA_BEST); }
EXPORT(uint64_t, engine_selfcheck)(void)
{
    void *block = malloc(tfn_selfcheck_size());
    if (!block) return 0;
    return tfn_selfcheck(block, tfn_selfcheck_size(), TFN_ISA_BEST, 1);
}

/* -- measurements of a step -------------------------------------------------------------------- */

static engine_seen *engine_find(int decoder, int32_t layer, int kind)
{
    for (int i = 0; i < engine_subs; i++) {
        engine_seen *s = &engine_sub[i];
        if ((int)s->stack == decoder && (int)s->layer == layer && (int)s->kind == kind) return s;
    }
    return NULL;
}

/* By tfn_sublayer. */
static const char *const engine_parts[] = { "self.", "cross.", "ffn.", "ffn1." };

/* The sub-layer of a parameter, by its name: "decoder.3.self.q.weight". */
static engine_seen *engine_owner(const tfn_param_info *p)
{
    const char *part = strchr(p->name, '.');
    if (p->layer < 0 || !part) return NULL;
    part = strchr(part + 1, '.');
    if (!part) return NULL;
    for (int kind = 0; kind < 4; kind++)
        if (!strncmp(part + 1, engine_parts[kind], strlen(engine_parts[kind])))
            return engine_find(p->name[0] == 'd', p->layer, kind);
    return NULL;
}

static double engine_squares(const float *x, ptrdiff_t n)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

static void engine_probe(void *user, int32_t id, const float *data, ptrdiff_t rows, ptrdiff_t cols,
                         bool backward)
{
    const tfn_probe_info info = tfn_probe_of(id);
    engine_seen *s = engine_find(info.decoder, info.layer, info.kind);
    (void)user;
    if (!s || (backward && info.point != TFN_WATCH_OUTPUT)) return;
    const double squares = engine_squares(data, rows * cols);
    const double size = sqrt(squares / (double)(rows * cols));
    if (backward) s->arriving = sqrt(squares);
    else if (info.point == TFN_WATCH_INPUT) s->input = size;
    else if (info.point == TFN_WATCH_READ) s->read = size;
    else if (info.point == TFN_WATCH_BRANCH) s->branch = size;
    else if (info.point == TFN_WATCH_SUM) s->sum = size;
    else if (info.point == TFN_WATCH_OUTPUT) s->stream = size;
}

static void engine_weigh(const tfn_model *m, double targets)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        engine_seen *s = engine_owner(&p);
        const ptrdiff_t n = (ptrdiff_t)p.rows * p.cols;
        const float *before = engine_before + (p.data - m->params);
        if (!s || !p.grad) continue;
        s->gradient += engine_squares(p.grad, n);
        s->weights += engine_squares(p.data, n);
        for (ptrdiff_t j = 0; j < n; j++) {
            const double d = (double)p.data[j] - (double)before[j];
            s->moved += d*d;
        }
    }
    for (int i = 0; i < engine_subs; i++) {
        engine_seen *s = &engine_sub[i];
        s->gradient = sqrt(s->gradient) / targets;
        s->arriving /= targets;
        s->moved = sqrt(s->moved);
        s->weights = sqrt(s->weights);
    }
}

/* -- a run ------------------------------------------------------------------------------------- */

static void engine_list_one(const tfn_model *m, int decoder, int32_t layer, int kind)
{
    char name[64];
    tfn_param_info p;
    snprintf(name, sizeof name, "%s.%d.%s", stack_names[decoder], (int)layer, engine_parts[kind]);
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        if (strncmp(p.name, name, strlen(name)) || engine_subs == ENGINE_SUBLAYERS) continue;
        engine_seen *s = &engine_sub[engine_subs++];
        s->stack = decoder;
        s->layer = layer;
        s->kind = kind;
        return;
    }
}

/* Lists the sub-layers that have parameters, in their order. */
static void engine_list(const tfn_model *m)
{
    static const int order[] = { TFN_SUBLAYER_FFN_BEFORE, TFN_SUBLAYER_SELF_ATTENTION,
                                 TFN_SUBLAYER_CROSS_ATTENTION, TFN_SUBLAYER_FFN };
    for (int decoder = 0; decoder < 2; decoder++)
        for (int32_t layer = 0; layer < COMPARE_LAYERS; layer++)
            for (int k = 0; k < 4; k++) engine_list_one(m, decoder, layer, order[k]);
}

/* The writer of samples: one sentence, greedily. */
static void engine_new_writer(tfn_model *m)
{
    static const int32_t forbidden[] = { LAB_PAD, LAB_BEGIN };
    const size_t scratch_size = tfn_model_scratch(&m->desc);
    void *scratch = malloc(scratch_size);
    tfn_generate_desc d;
    memset(&d, 0, sizeof d);
    d.max_tokens = LAB_TIME;
    d.end = -1;
    if (engine.run[0].spec.task != LAB_FILE) {      /* whose ids are bytes, all of them */
        d.end = LAB_END;
        d.forbidden = forbidden;
        d.forbidden_count = 2;
    }
    size_t size = 0;
    if (scratch) size = tfn_generator_size(m, &d, scratch, scratch_size);
    void *mem = malloc(size);
    if (!scratch || !mem || tfn_generator_init(&engine_writer, m, &d, mem, size) != TFN_OK)
        engine_fail(&engine_writer.error);
}

/* Takes the text that --task file learns. Call it before the run; the text is not copied. */
EXPORT(void, engine_take_text)(unsigned char *text, size_t bytes)
{
    struct lab_corpus *c = &lab_corpus;
    if (bytes < LAB_LEAST_TEXT) {
        fprintf(stderr, "the text has %ld bytes; at least %d are needed", (long)bytes,
                LAB_LEAST_TEXT);
        exit(1);
    }
    c->text = text;
    c->bytes = bytes;
    lab_number_bytes(c);
}
EXPORT(uint64_t, engine_text_hash)(void) { return lab_corpus.hash; }

/* Starts a run of one recipe from the arguments of normlab compare: `count` texts, separated by
 * zeros. */
EXPORT(void, engine_start)(int count)
{
    static char texts[4096];                    /* the run keeps pointers to names in it */
    char *argv[ENGINE_ARGUMENTS], *at = texts;
    memcpy(texts, engine_buffer, sizeof texts - 1);
    cli c = { "normlab", argv, 0, 0, NULL };
    compare_wishes w = { NULL, -1 };
    if (count > ENGINE_ARGUMENTS) count = ENGINE_ARGUMENTS;
    for (; c.argc < count; at += strlen(at) + 1) argv[c.argc++] = at;
    c.at = -1;
    compare_arguments(&c, &engine, &w);
    compared *run = &engine.run[0];
    run->probes = true;
    if (engine.count != 1) cli_fail(&c, "one recipe is needed, not %d", engine.count);
    if (!compare_start(&engine)) exit(1);
    tfn_model *m = &run->model;
    engine_before = (float *)malloc((size_t)m->param_floats * sizeof *engine_before);
    if (!engine_before) exit(1);
    engine_list(m);
    engine_new_writer(m);
}

static const engine_report *engine_reported(const tfn_report *r)
{
    engine_last.step = (double)r->step;
    engine_last.loss = r->loss;
    engine_last.nll = r->nll;
    engine_last.rate = (double)r->lr;
    engine_last.gradient = (double)r->grad_norm;
    engine_last.tokens = (double)r->tokens;
    engine_last.skipped = r->skipped;
    return &engine_last;
}

/* Prepares the measurement of a step. */
static void engine_look(tfn_model *m)
{
    for (int i = 0; i < engine_subs; i++) {
        engine_seen *s = &engine_sub[i];
        s->gradient = s->arriving = s->stream = s->branch = s->moved = s->weights = 0;
        s->input = s->read = s->sum = 0;
    }
    memcpy(engine_before, m->params, (size_t)m->param_floats * sizeof(float));
    tfn_model_watch(m, engine_probe, NULL);
}

/* Makes one update. If `measured`, engine_sublayers then has the measurements. */
EXPORT(const engine_report *, engine_step)(int measured)
{
    compared *run = &engine.run[0];
    tfn_model *m = &run->model;
    tfn_report report;
    lab_fill(&engine.data, &run->spec, run->spec.batch, run->spec.seed, (uint64_t)m->step);
    if (measured) engine_look(m);
    if (tfn_model_step(m, &engine.data.batch, &report) != TFN_OK) engine_fail(&m->error);
    tfn_model_watch(m, NULL, NULL);
    if (measured) engine_weigh(m, (double)report.tokens);
    return engine_reported(&report);
}

EXPORT(const engine_seen *, engine_sublayers)(void) { return engine_sub; }
EXPORT(int, engine_sublayer_count)(void) { return engine_subs; }
EXPORT(double, engine_held_out)(void) { return lab_nll(&engine.run[0].model, &engine.test); }
EXPORT(double, engine_guessing)(void) { return lab_unigram(&engine.test); }
EXPORT(uint64_t, engine_hash)(void) { return tfn_model_hash(&engine.run[0].model); }
EXPORT(double, engine_updates)(void) { return (double)engine.run[0].model.step; }
EXPORT(double, engine_memory)(void) { return (double)engine.run[0].model.memory.total; }
EXPORT(double, engine_parameters)(void) { return (double)engine.run[0].model.param_floats; }

/* The rate that update t of these settings has. */
EXPORT(double, engine_rate)(double t)
{
    const tfn_model_desc *d = &engine.run[0].model.desc;
    return (double)tfn_schedule_at(&d->schedule, (int64_t)t, d->width);
}

/* -- texts and attention ----------------------------------------------------------------------- */

/* Returns the text of a byte of the user's text. alone: not inside a text, where neighbours may
 * complete a character. */
static const char *engine_byte(int32_t id, bool alone)
{
    static char text[8];
    int byte = 0;
    for (; byte < 255; byte++)
        if (lab_corpus.number[byte] == id) break;
    if (byte == '\n') return "\xe2\x86\xb5";                   /* arrows */
    if (byte == '\t') return "\xe2\x87\xa5";
    if (byte < ' ' || (alone && byte > '~')) snprintf(text, sizeof text, "%x", byte);
    else snprintf(text, sizeof text, "%c", byte);
    return text;
}

static const char *engine_token(int32_t id)
{
    const lab_words *w = &lab_vocabularies[engine.run[0].spec.task];
    if (id == LAB_BEGIN) return "\xe2\x96\xb7";                /* a triangle */
    if (id == LAB_END) return "\xe2\x96\xa0";                  /* a square */
    if (id < LAB_FIRST || id >= LAB_FIRST + w->count) return "";
    return w->text[id - LAB_FIRST];
}

/* As text: letters side by side, words apart. */
static void engine_add_text(const int32_t *ids, int32_t n)
{
    const bool letters = lab_tasks[engine.run[0].spec.task].letters;
    const bool bytes = engine.run[0].spec.task == LAB_FILE;
    for (int32_t i = 0; i < n; i++) {
        if (i && !letters) engine_add(" ");
        engine_add("%s", bytes ? engine_byte(ids[i], false) : engine_token(ids[i]));
    }
}
static void engine_add_lines(const int32_t *ids, int32_t n)
{
    const bool bytes = engine.run[0].spec.task == LAB_FILE;
    for (int32_t i = 0; i < n; i++)
        engine_add("%s\n", bytes ? engine_byte(ids[i], true) : engine_token(ids[i]));
}

static int32_t engine_until_end(const int32_t *ids, int32_t n)
{
    if (engine.run[0].spec.task != LAB_FILE)
        for (int32_t i = 0; i < n; i++)
            if (ids[i] == LAB_END || ids[i] < 0) return i;
    return n;
}

/* Makes a batch of one test sentence, `row`, for a forward or as a prompt. */
static tfn_batch engine_alone(int row)
{
    lab_data *d = &engine_sentence;
    const tfn_batch *all = &engine.test.batch;
    tfn_batch b = *all;
    b.batch = 1;
    memcpy(d->tokens, all->tokens + row * all->time, (size_t)all->time * sizeof(int32_t));
    b.tokens = d->tokens;
    if (all->lengths) b.lengths = all->lengths + row;
    if (all->source) b.source = all->source + row * all->source_time;
    if (all->source) b.source_lengths = all->source_lengths + row;
    b.targets = NULL;
    return b;
}

/* Writes the source, the output and the target, separated by tabs. */
EXPORT(void, engine_sample)(int row)
{
    tfn_generator *g = &engine_writer;
    tfn_batch b = engine_alone(row);
    const int32_t *right = engine.test.targets + row * b.time;
    int32_t n = engine_until_end(right, b.time);
    engine_buffer[0] = 0;
    if (b.source) {
        engine_add_text(b.source, b.source_lengths[0] - 1);
        b.time = 1;
    } else {                                    /* the first quarter of a text is the prompt */
        b.time /= 4;
        engine_add_text(b.tokens, b.time);
        right += b.time - 1;
        n = engine.test.batch.time - b.time;
    }
    b.lengths = NULL;
    engine_add("\t");
    if (tfn_generator_run(g, &b, NULL) == TFN_OK) {
        int32_t wrote = engine_until_end(g->tokens, g->lengths[0]);
        if (!b.source && wrote > n) wrote = n;
        engine_add_text(g->tokens, wrote);
    }
    memset(&g->error, 0, sizeof g->error);      /* logits that are not finite: nothing is written */
    engine_add("\t");
    engine_add_text(right, n);
}

/* The weights of a head on sentence `row` of the test, (queries, keys), or NULL. The text says how
 * many there are, then the tokens of queries and of keys, a line each. */
EXPORT(const float *, engine_attention)(int row, int stack, int layer, int kind, int head)
{
    tfn_model *m = &engine.run[0].model;
    tfn_batch b = engine_alone(row);
    tfn_stack which = TFN_STACK_LAST;
    const int32_t *queries = b.tokens;
    const int32_t *keys = b.tokens;
    int32_t rows = b.time;
    int32_t cols = b.time;
    if (!engine_weights) engine_weights = (float *)malloc(LAB_TIME * LAB_TIME * sizeof(float));
    if (!engine_weights) return NULL;
    if (b.source) {                             /* not the padding */
        which = TFN_STACK_DECODER;
        rows = cols = b.time = b.lengths[0];
        b.source_time = b.source_lengths[0];
        if (stack == 0) {
            which = TFN_STACK_ENCODER;
            queries = b.source;
            rows = b.source_time;
        }
        if (stack == 0 || kind == TFN_SUBLAYER_CROSS_ATTENTION) {
            keys = b.source;
            cols = b.source_time;
        }
    }
    if (tfn_model_attention(m, &b, which, layer, (tfn_sublayer)kind, head, engine_weights)) {
        memset(&m->error, 0, sizeof m->error);
        return NULL;
    }
    engine_buffer[0] = 0;
    engine_add("%d\n%d\n", (int)rows, (int)cols);
    engine_add_lines(queries, rows);
    engine_add_lines(keys, cols);
    return engine_weights;
}

/* -- checkpoints ------------------------------------------------------------------------------- */

EXPORT(void *, engine_allocate)(size_t bytes) { return malloc(bytes); }
EXPORT(void, engine_release)(void *p) { free(p); }

/* Writes tokens as GPT-2's vocab.json does: bytes that are not printable in Latin-1 become letters
 * from 256 on. */
static char engine_vocab[1 << 16];
static int engine_letter(int byte)
{
    int others = 256;
    for (int b = 0; b < 256; b++) {
        const bool printed = (b > ' ' && b <= '~') || (b > 0xa0 && b != 0xad);
        if (b == byte && printed) return b;
        if (b == byte) break;
        if (!printed) others++;
    }
    return others;
}
static void engine_vocab_add(const char *format, int value)
{
    const size_t n = strlen(engine_vocab);
    snprintf(engine_vocab + n, sizeof engine_vocab - n, format, value);
}
static void engine_vocab_token(const char *bytes, size_t count, int32_t id)
{
    engine_vocab_add(engine_vocab[1] ? ", \"" : "\"", 0);
    for (size_t i = 0; i < count; i++)
        engine_vocab_add("\\u%04x", engine_letter((unsigned char)bytes[i]));
    engine_vocab_add("\": %d", (int)id);
}
static void engine_vocab_bytes(void)
{
    for (int byte = 0; byte < 256; byte++) {
        const char c = (char)byte;
        if (lab_corpus.number[byte] >= 0) engine_vocab_token(&c, 1, lab_corpus.number[byte]);
    }
}

/* Lists the tokens: letters, or words. A space precedes each word except full stops and commas. */
static void engine_vocab_words(const lab_words *w, bool letters)
{
    static const char *const specials[] = { "<pad>", "<s>", "</s>" };
    for (int32_t i = 0; i < LAB_FIRST; i++)
        engine_vocab_token(specials[i], strlen(specials[i]), i);
    for (int32_t i = 0; i < w->count; i++) {
        char text[LAB_WORD + 1];
        const bool apart = !letters && !strchr(".,", w->text[i][0]);
        snprintf(text, sizeof text, "%s%s", apart ? " " : "", w->text[i]);
        engine_vocab_token(text, strlen(text), LAB_FIRST + i);
    }
}

/* Makes the tokenizer that gives the task's ids. */
static const tfn_tokenizer *engine_tokenizer(void)
{
    static tfn_tokenizer k;
    const lab_task task = engine.run[0].spec.task;
    const bool letters = lab_tasks[task].letters;
    tfn_tokenizer_source source;
    if (k.vocab) return &k;
    memset(&source, 0, sizeof source);
    engine_vocab_add("{", 0);
    if (task == LAB_FILE) engine_vocab_bytes();
    else engine_vocab_words(&lab_vocabularies[task], letters);
    engine_vocab_add("}", 0);
    source.kind = TFN_TOKENIZER_WORDS;
    if (letters) source.kind = TFN_TOKENIZER_CHARACTERS;
    if (task == LAB_FILE) source.kind = TFN_TOKENIZER_BYTES;
    source.vocab = engine_vocab;
    source.vocab_size = strlen(engine_vocab);
    const size_t size = tfn_tokenizer_size(&source);
    if (tfn_tokenizer_init(&k, &source, malloc(size), size) != TFN_OK) engine_fail(&k.error);
    return &k;
}

/* Writes a checkpoint from which training can go on, with the text in it as "extra". Returns its
 * size; *at is its first byte. */
EXPORT(size_t, engine_save)(void **at)
{
    const tfn_model *m = &engine.run[0].model;
    tfn_checkpoint with = { engine_tokenizer(), engine_buffer, false };
    tfn_file f;
    memset(&f, 0, sizeof f);
    if (tfn_model_save(&f, m, &with) != TFN_OK) engine_fail(&f.error);
    f.to_size = (size_t)f.used;
    f.to = *at = malloc(f.to_size);
    if (!f.to) exit(1);
    if (tfn_model_save(&f, m, &with) != TFN_OK) engine_fail(&f.error);
    return f.to_size;
}

/* Gets the text "extra" of a checkpoint. Returns its bytes; 0: there is none. */
EXPORT(size_t, engine_peek)(const void *from, size_t bytes)
{
    tfn_file f;
    memset(&f, 0, sizeof f);
    f.from = from;
    f.from_size = bytes;
    engine_buffer[0] = 0;
    if (tfn_file_open(&f) != TFN_OK) engine_fail(&f.error);
    const size_t n = tfn_file_text(&f, "extra", engine_buffer, ENGINE_TEXT);
    tfn_file_close(&f);
    return n;
}

EXPORT(void, engine_load)(const void *from, size_t bytes)
{
    tfn_file f;
    memset(&f, 0, sizeof f);
    f.from = from;
    f.from_size = bytes;
    if (tfn_model_load(&engine.run[0].model, &f) != TFN_OK) engine_fail(&f.error);
}

#include "writer.c"
#include "own.c"
