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
       EXPORT = 128, BITS = 256, INSPECT = 512 };
#define WRITE (GENERATE | TRANSLATE | EVAL)             /* commands that make text */
#define USE   (WRITE | CLASSIFY)
#define KEPT  (TRAIN | OPTION_KEPT)

#define OPTIONS(X) \
    X(TASK, 's', "task", "NAME", NULL, 0, 0, KEPT, "generated data: translate, reverse ...") \
    X(PAIRS, 's', "pairs", "FILE", NULL, 0, 0, KEPT, "lines SOURCE tab TARGET") \
    X(LABELS, 's', "labels", "FILE", NULL, 0, 0, KEPT, "lines LABEL tab A, or with tab B") \
    X(VALID, 's', "valid", "FILE", NULL, 0, 0, KEPT, "validation data; else a part is held out") \
    X(ITEMS, 'i', "items", "N", "50000", 1, 1e8, KEPT, "generated items to train on") \
    X(HELD, 'i', "held", "N", "500", 1, 1e7, KEPT, "generated items of validation and test") \
    X(MIN, 'i', "min", "N", "0", 0, 1000, KEPT, "smallest size of a task; 0: its own") \
    X(MAX, 'i', "max", "N", "0", 0, 1000, KEPT, "largest size of a task; 0: its own") \
    X(TOKENISER, 'c', "tokeniser", "auto|bpe|bytes|chars|words", "auto", 0, 0, KEPT, "pieces") \
    X(VOCAB, 'i', "vocab", "N", "4096", 8, 1e6, KEPT, "most pieces of bpe and words") \
    X(ARCH, 'c', "arch", "auto|decoder|encoder|encdec", "auto", 0, 0, KEPT, "architecture") \
    X(LAYERS, 'i', "layers", "N", "4", 1, 1000, KEPT, "layers of each stack") \
    X(WIDTH, 'i', "width", "N", "64", 1, 65536, KEPT, "channels") \
    X(HEADS, 'i', "heads", "N", "0", 0, 1024, KEPT, "attention heads; 0: width/32") \
    X(FFN, 'i', "ffn", "N", "0", 0, 1e6, KEPT, "hidden width; 0: 4 width") \
    X(CONTEXT, 'i', "context", "N", "64", 4, 1e6, KEPT, "most tokens of a row") \
    X(POSITION, 'c', "position", "learned|sinusoidal|fairseq|rotary|none", "rotary", 0, 0, KEPT, \
      "positions") \
    X(RECIPE, 's', "recipe", "NAME", "pre", 0, 0, KEPT, "topology, norm, init (normlab list)") \
    X(TOPOLOGY, 's', "topology", "NAME", NULL, 0, 0, KEPT, "instead of the recipe's") \
    X(NORM, 's', "norm", "NAME", NULL, 0, 0, KEPT, "instead of the recipe's") \
    X(INIT, 's', "init", "NAME", NULL, 0, 0, KEPT, "instead of the recipe's") \
    X(DROPOUT, 'r', "dropout", "P", "0", 0, 0.99, KEPT, "of branches and embeddings") \
    X(SMOOTHING, 'r', "smoothing", "P", "0", 0, 0.99, KEPT, "of labels") \
    X(STEPS, 'i', "steps", "N", "2000", 1, 1e9, KEPT, "updates in all") \
    X(MINUTES, 'r', "minutes", "M", NULL, 0.001, 1e5, TRAIN, "times 20 steps, sets --steps") \
    X(BATCH, 'i', "batch", "N", "32", 1, 65536, KEPT | USE, "most rows of a batch") \
    X(BATCH_TOKENS, 'i', "batch-tokens", "N", "0", 0, 1e7, KEPT, "most tokens of one; 0: any") \
    X(OPTIMIZER, 'c', "optimizer", "adamw|adam|sgd|radam", "adamw", 0, 0, KEPT, "update") \
    X(LR, 'r', "lr", "R", "0.002", 0, 1e6, KEPT, "peak learning rate") \
    X(WARMUP, 'i', "warmup", "N", "200", 0, 1e9, KEPT, "steps of warm-up") \
    X(SCHEDULE, 'c', "schedule", "cosine|constant|inverse-sqrt|noam|linear|stable-decay|t-fixup", \
      "cosine", 0, 0, KEPT, "of the rate") \
    X(BETA1, 'r', "beta1", "R", "0.9", 0, 0.9999, KEPT, "decay of the first moment") \
    X(BETA2, 'r', "beta2", "R", "0.98", 0, 0.99999, KEPT, "decay of the second moment") \
    X(DECAY, 'r', "decay", "R", "0", 0, 1e3, KEPT, "weight decay of matrices") \
    X(CLIP, 'r', "clip", "R", "1", 0, 1e9, KEPT, "largest gradient norm; 0: any") \
    X(SEED, 'i', "seed", "N", "1", 0, 9e15, KEPT | WRITE, "of weights, data, dropout, draws") \
    X(EVAL_EVERY, 'i', "eval-every", "N", "0", 0, 1e9, KEPT, "steps; 0: 20 times in all") \
    X(SAVE_EVERY, 'i', "save-every", "N", "1000", 0, 1e9, KEPT, "steps; 0: at the end") \
    X(KEEP, 'i', "keep", "N", "0", 0, 1e4, KEPT, "also the last N saved, as OUT.STEP") \
    X(OUT, 's', "out", "FILE", NULL, 0, 0, KEPT | AVERAGE | FOLD | EXPORT, "what to write; -o") \
    X(RESUME, 's', "resume", "FILE", NULL, 0, 0, TRAIN, "go on with it; auto: with OUT if it is there") \
    X(FORCE, 'f', "force", "", NULL, 0, 0, TRAIN | AVERAGE | FOLD | EXPORT, "overwrite OUT") \
    X(LOG, 's', "log", "FILE", NULL, 0, 0, TRAIN, "every step: .csv, else JSON lines") \
    X(PLOT, 's', "plot", "FILE.svg", NULL, 0, 0, TRAIN, "loss, rate, gradients by layer") \
    X(QUIET, 'f', "quiet", "", NULL, 0, 0, TRAIN, "no progress") \
    X(BEAM, 'i', "beam", "N", "0", 0, 1000, WRITE, "beams; 0: greedy or drawn") \
    X(LENGTH_PENALTY, 'r', "length-penalty", "R", "1", 0, 100, WRITE, "score: sum / length^R") \
    X(TEMPERATURE, 'r', "temperature", "R", "0", 0, 1e6, WRITE, "> 0: draw tokens") \
    X(TOP_K, 'i', "top-k", "N", "0", 0, 1e6, WRITE, "draw from the N likeliest; 0: all") \
    X(TOP_P, 'r', "top-p", "P", "1", 0, 1, WRITE, "draw from those that hold P") \
    X(MAX_TOKENS, 'i', "max-tokens", "N", "200", 1, 1e6, WRITE, "most tokens of a text") \
    X(N_BEST, 'i', "n-best", "N", "0", 0, 1000, GENERATE | TRANSLATE | CLASSIFY, \
      "lines NUMBER tab SCORE tab TEXT") \
    X(PREFIX, 's', "prefix", "NAME", "model", 0, 0, EXPORT, "of the names in the C file") \
    X(THREADS, 'i', "threads", "N", NULL, 1, 64, TRAIN | USE, "default: what is faster; bits are equal") \
    /* of the experiment, but no options */ \
    X(TEXT, 's', "text", "FILE", NULL, 0, 0, OPTION_KEPT, "") \
    X(KIND, 's', "kind", "NAME", NULL, 0, 0, OPTION_KEPT, "") \
    X(CLASSES, 's', "classes", "NAMES", NULL, 0, 0, OPTION_KEPT, "") \
    X(POSITION_SEEN, 'i', "batches-seen", "N", NULL, 0, 0, OPTION_KEPT, "")

#include "train.h"

/* -- train ------------------------------------------------------------------------------------- */

static const char *command_tail(const settings *s)
{
    static char text[1024];
    static const option_id ids[] = { O_LOG, O_PLOT, O_THREADS };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (given(s, ids[i]))
            snprintf(text + strlen(text), sizeof text - strlen(text), " --%s %s",
                     option_rows[ids[i]].name, text_of(s, ids[i]));
    return text;
}
static void refuse_existing(const settings *s, const char *path)
{
    if (!is_on(s, O_FORCE) && exists(path))
        die("%s is there already; --force overwrites it%s", path,
            strstr(path, ".safetensors") ? ", train --resume goes on with it" : "");
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
        from = exists(text_of(s, O_OUT)) ? text_of(s, O_OUT) : NULL;
    }
    if (from) {
        bundle_open(&t->b, from);
        for (int i = 0; i < O_COUNT; i++)
            if (!s->text[i]) s->text[i] = t->b.from.text[i];
        if (!given(s, O_OUT)) s->text[O_OUT] = from;
    }
    sources = given(s, O_TEXT) + given(s, O_TASK) + given(s, O_PAIRS) + given(s, O_LABELS);
    if (sources != 1) cli_fail(c, "wanted one of FILE, --task, --pairs, --labels");
    if (!given(s, O_OUT)) s->text[O_OUT] = "model.safetensors";
    t->out = text_of(s, O_OUT);
    if (!from || strcmp(from, t->out)) refuse_existing(s, t->out);
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
    t.command = command_tail(s);
    resumed = train_source(&t, c);
    t.b.kind = kind_of(s);
    for (int i = 0; i < (int)t.b.kind; i++) names = strchr(names, '|') + 1;
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(names, "|"), names);
    s->text[O_KIND] = kind;
    prepare(&t, resumed);
    return run(&t);
}

/* -- the commands ------------------------------------------------------------------------------ */

static const struct command {
    const char *name, *arguments, *help;
    int         bit;
    int       (*run)(settings *s, cli *c);
} commands[] = {
    { "train", "FILE | --task NAME | --pairs FILE | --labels FILE", "train a model", TRAIN, train },
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
           "  echo \"der hund schläft .\" | tfn translate m.safetensors --beam 4\n"
           "  tfn train book.txt --tokeniser bpe --layers 6 --out book.safetensors\n"
           "  tfn generate book.safetensors --temperature 0.8 prompts.txt\n"
           "Exit codes: 0; 1: something failed; 2: wrong arguments; 130: stopped and saved.\n");
    return 0;
}

int main(int argc, char **argv)
{
    cli c = { "tfn", argv, argc, 0 };
    const char *name = cli_next(&c), *best = NULL;
    static settings s;
    if (!name) cli_fail(&c, "wanted a command");
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) return usage();
    for (int i = 0; i < COMMANDS; i++) {
        const struct command *k = &commands[i];
        option_nearer(&best, name, k->name);
        if (strcmp(k->name, name)) continue;
        for (int j = 2; j < argc; j++)
            if (!strcmp(argv[j], "--help") || !strcmp(argv[j], "-h")) {
                printf("tfn %s %s\n%s. Options and their defaults:\n", name, k->arguments, k->help);
                options_help(stdout, k->bit);
                return 0;
            }
        options_read(&s, &c, k->bit);
        return k->run(&s, &c);
    }
    cli_fail(&c, "no command %s; the nearest is %s", name, best);
    return 2;
}
