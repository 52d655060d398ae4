/* Defaults, checks, the nearest name of a misspelled option, help, and the kept lines. */
#include "options.h"
#include "../../tfnorm.h"
#include <stdlib.h>
#include <string.h>

#define OPTION_ROW(id, kind, name, value, normal, least, most, commands, help) \
    { name, value, normal, help, least, most, commands, kind },
const option_row option_rows[] = { OPTIONS(OPTION_ROW) };
#undef OPTION_ROW

bool given(const settings *s, option_id i) { return s->text[i] != NULL; }

const char *text_of(const settings *s, option_id i)
{
    if (given(s, i)) return s->text[i];
    return option_rows[i].normal;
}

double real_of(const settings *s, option_id i)
{
    const char *text = text_of(s, i);
    if (!text) return 0;
    return strtod(text, NULL);
}

int64_t whole_of(const settings *s, option_id i)
{
    const char *text = text_of(s, i);
    if (!text) return 0;
    return strtoll(text, NULL, 10);
}

int option_name(const char *names, const char *text)
{
    const size_t n = strlen(text);
    int i = 0;
    if (!n) return -1;
    while (names) {
        if (strcspn(names, "|") == n && !strncmp(names, text, n)) return i;
        names = strchr(names, '|');
        if (names) names++;
        i++;
    }
    return -1;
}

int choice_of(const settings *s, option_id i)
{
    return option_name(option_rows[i].value, text_of(s, i));
}

const char *option_values(const option_row *r)
{
    static char names[256];
    if (r->kind != 'e') return r->value;
    names[0] = 0;
    for (int32_t i = 0; tfn_choice_at(r->value, i); i++) {
        const char *name = tfn_choice_at(r->value, i)->name;
        if (i) strcat(names, "|");
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s", name);
    }
    return names;
}

/* Ends the program if the value is none of the option's names. */
static void option_check_name(const cli *c, const option_row *r, const char *text)
{
    if (option_name(option_values(r), text) < 0)
        cli_fail(c, "--%s needs %s, not \"%s\"", r->name, option_values(r), text);
}

static void option_check_number(const cli *c, const option_row *r, const char *text)
{
    const bool whole = r->kind == 'i';
    const char *number = whole ? "whole number" : "number";
    char *end;
    const double v = strtod(text, &end);
    bool good = end != text && !*end && v >= r->least && v <= r->most;
    if (whole && strspn(text, "-0123456789") != strlen(text)) good = false;
    if (!good)
        cli_fail(c, "--%s needs a %s from %.10g to %.10g, not \"%s\"", r->name, number, r->least,
                 r->most, text);
}

static void option_check(const cli *c, const option_row *r, const char *text)
{
    if (r->kind == 'c' || r->kind == 'e') option_check_name(c, r, text);
    if (r->kind == 'i' || r->kind == 'r') option_check_number(c, r, text);
}

/* The option of a command with this name of n characters; O_COUNT: there is none. */
static int option_find(int command, const char *name, size_t n)
{
    for (int i = 0; i < O_COUNT; i++) {
        const option_row *r = &option_rows[i];
        if (!(r->commands & command)) continue;
        if (strlen(r->name) == n && !strncmp(r->name, name, n)) return i;
    }
    return O_COUNT;
}

void option_nearer(const char **best, const char *text, const char *name)
{
    static int least;
    const bool begins = strncmp(text, name, strlen(text)) == 0;
    int distance = 2 * cli_distance(text, name) - begins;
    if (begins && strlen(text) > 2) distance = 1;       /* "temp" means temperature, not text */
    if (*best && distance >= least) return;
    *best = name;
    least = distance;
}

bool option_is_near(const char *text, const char *name)
{
    const int n = (int)strlen(text);
    if (n > 2 && !strncmp(text, name, strlen(text))) return true;
    return cli_distance(text, name) <= (n + 1) / 3;
}

/* Options that people know from other programs, and ours. A '_' in them is written '-'. If a word
 * has several rows, the first row with an option of the command is used. */
static const struct { const char *words, *here; } option_words[] = {
    { "epochs epoch num-epochs n-epochs num-train-epochs", "--steps N, the updates in all" },
    { "num-steps iterations iters max-iters max-steps n-steps updates", "--steps N" },
    { "learning-rate learningrate rate", "--lr R" },
    { "batch-size batchsize bs train-batch-size", "--batch N, rows, and --batch-tokens N" },
    { "gradient-accumulation-steps accumulate accumulation", "--batch-tokens N" },
    { "max-length max-len length num-tokens tokens", "--max-tokens N" },
    { "max-new-tokens n-predict", "--max-tokens N" },
    { "block-size seq-len seqlen seq-length max-seq-len max-seq-length max-length max-len "
      "context-length context-size ctx n-ctx", "--context N" },
    { "n-layer n-layers num-layers num-hidden-layers depth", "--layers N" },
    { "n-head n-heads num-heads nheads num-attention-heads", "--heads N" },
    { "n-embd d-model dim embed-dim embedding-dim hidden hidden-dim hidden-size", "--width N" },
    { "d-ff intermediate-size ffn-dim", "--ffn N" }, { "vocab-size", "--vocab N" },
    { "weight-decay wd", "--decay R" }, { "grad-clip max-grad-norm gradient-clipping", "--clip R" },
    { "warmup-steps warmup-iters warmup-ratio", "--warmup N" },
    { "lr-scheduler lr-scheduler-type lr-schedule", "--schedule NAME" },
    { "eval-interval eval-steps", "--eval-every N" },
    { "patience early-stopping", "--eval-every N; OUT.best keeps the best model" },
    { "save-interval save-steps", "--save-every N" },
    { "output output-dir out-dir save", "--out FILE" },
    { "log-file logfile logdir log-dir tensorboard wandb", "--log FILE" },
    { "silent", "--quiet" }, { "overwrite yes", "--force" },
    { "model model-path", "--from MODEL, or MODEL without an option" },
    { "init-from", "--from MODEL" }, { "checkpoint ckpt", "--resume FILE" },
    { "input data dataset file text train train-file train-data corpus",
      "FILE without an option" },
    { "val validation valid-file val-data", "--valid FILE" }, { "num-threads", "--threads N" },
    { "device gpu cuda fp16 bf16 amp", "--threads N: only the processor computes, in float32" },
    { "num-beams beam-size", "--beam N" }, { "num-return-sequences", "--n-best N" }
};

/* True if a text is one of the words between spaces. */
static bool option_is_word(const char *words, const char *text)
{
    const size_t n = strlen(text);
    for (; *words; words += strspn(words, " ")) {
        const size_t length = strcspn(words, " ");
        if (length == n && !strncmp(words, text, n)) return true;
        words += length;
    }
    return false;
}

static const char *option_nearest(int command, const char *text)
{
    const char *best = NULL;
    for (int i = 0; i < O_COUNT; i++)
        if (option_rows[i].commands & command) option_nearer(&best, text, option_rows[i].name);
    return best;
}

static void option_unknown(const cli *c, int command, const char *argument, const char *name)
{
    const char *best = option_nearest(command, name);
    const size_t n = strcspn(name, "=");
    char word[64];
    if (!best) cli_fail(c, "no option %s; there are none here", argument);
    snprintf(word, sizeof word, "%.*s", (int)n, name);
    for (char *s = word; *s; s++)
        if (*s == '_') *s = '-';
    if (option_find(command, word, strlen(word)) != O_COUNT)
        cli_fail(c, "no option %s; here it is --%s", argument, word);
    for (size_t i = 0; i < sizeof option_words / sizeof *option_words; i++) {
        const char *here = option_words[i].here;
        size_t end = strcspn(here + 2, " ");
        if (!option_is_word(option_words[i].words, word)) continue;
        if (here[0] == '-' && option_find(command, here + 2, end) == O_COUNT) continue;
        cli_fail(c, "no option %s; here it is %s", argument, here);
    }
    if (!option_is_near(word, best)) cli_fail(c, "no option %s", argument);
    cli_fail(c, "no option %s; the nearest is --%s", argument, best);
}

const char *option_longer(const char *list, const char *text)
{
    size_t room;
    char *longer;
    if (!list) return text;
    room = strlen(list) + strlen(text) + 2;
    longer = (char *)malloc(room);
    if (!longer) return text;
    snprintf(longer, room, "%s,%s", list, text);
    return longer;
}

/* Reads the option at `a` and its value, which is "yes" for a flag. */
static void option_take(settings *s, cli *c, int command, const char *a)
{
    const char *name = a + 2;
    const char *equals = strchr(a, '=');
    size_t n;
    if (!strcmp(a, "-o")) name = "out";
    n = strlen(name);
    if (equals) n = (size_t)(equals - name);
    const int i = option_find(command, name, n);
    if (i == O_COUNT) {
        option_unknown(c, command, a, name);
        return;
    }
    const option_row *r = &option_rows[i];
    const char *value = "yes";
    if (r->kind == 'f' && equals) cli_fail(c, "--%s has no value, not \"%s\"", r->name, equals + 1);
    if (r->kind != 'f' && equals) value = equals + 1;
    else if (r->kind != 'f') value = cli_next(c);
    if (!value) cli_fail(c, "%s needs %s after it", a, option_values(r));
    option_check(c, r, value);
    if (r->kind == 'l' && !*value) cli_fail(c, "--%s needs %s, not \"\"", r->name, r->value);
    if (r->kind == 'l') value = option_longer(s->text[i], value);
    s->text[i] = value;
}

void options_read(settings *s, cli *c, int command)
{
    bool any = true;                        /* false after "--" */
    memset(s, 0, sizeof *s);
    for (const char *a = cli_next(c); a; a = cli_next(c)) {
        if (any && !strcmp(a, "--")) {
            any = false;
            continue;
        }
        if (any && a[0] == '-' && a[1]) {
            option_take(s, c, command, a);
            continue;
        }
        if (s->files == OPTION_FILES) cli_fail(c, "over %d files", OPTION_FILES);
        s->file[s->files++] = a;
    }
}

/* Prints a line of help: the option, its value, and the help. A long list of names follows the
 * help. */
static void option_help(FILE *f, const option_row *r)
{
    const char *values = option_values(r);
    const bool named = r->kind == 'c' || r->kind == 'e';
    const bool listed = named && strlen(values) > 16;
    char head[320];
    const char *value = values;
    if (listed) value = "NAME";
    if (r->kind == 'f') snprintf(head, sizeof head, "--%s", r->name);
    else snprintf(head, sizeof head, "--%s %s", r->name, value);
    fprintf(f, "  %-24s %s", head, r->help);
    if (listed) fprintf(f, ": %s", values);
    if (r->normal) fprintf(f, " (%s)", r->normal);
    fprintf(f, "\n");
}

void options_help(FILE *f, int command)
{
    for (int i = 0; i < O_COUNT; i++)
        if (option_rows[i].commands & command) option_help(f, &option_rows[i]);
}

size_t options_write(char *to, size_t room, const settings *s)
{
    size_t n = 0;
    for (int i = 0; i < O_COUNT; i++) {
        const char *text = text_of(s, (option_id)i);
        char *at = NULL;
        size_t left = 0;
        if (!(option_rows[i].commands & OPTION_KEPT) || !text) continue;
        if (n < room) {
            at = to + n;
            left = room - n;
        }
        n += (size_t)snprintf(at, left, "%s %s\n", option_rows[i].name, text);
    }
    return n;
}

/* Reads a line "name value" by cutting it into pieces. Options that are given stay. */
static void option_line(settings *s, char *line)
{
    char *value = strchr(line, ' ');
    if (!value) return;
    *value++ = 0;
    for (int i = 0; i < O_COUNT; i++)
        if (!strcmp(option_rows[i].name, line) && !s->text[i]) s->text[i] = value;
}

void options_take(settings *s, char *lines)
{
    if (!lines) return;
    while (*lines) {
        char *next = strchr(lines, '\n');
        if (next) *next++ = 0;
        option_line(s, lines);
        if (!next) return;
        lines = next;
    }
}
