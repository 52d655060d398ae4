/* tfn chat: a user's turns, one a line, and a decoder's answers. The conversation stays in the
 * decoder's cache, so a turn costs only its own tokens and the answer.
 *
 * A conversation is one row of ids: the begin of the tokenizer's template, the system's text if
 * there is one, then for each turn
 *
 *     user TEXT assistant ANSWER end
 *
 * with the marks user, assistant and end from the model's training. Special tokens count in marks
 * and never in typed text. */
#include "chat.h"
#include "../../tfnorm.h"
#include "../common/output.h"
#include "models.h"
#include "prompt.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAT_CHUNK = 16, CHAT_STOPS = 8, CHAT_MARK = 256 };

typedef struct chat_template {
    const char *name, *system, *system_end, *user, *assistant, *end;
    bool        within;                 /* the system's text is within the first turn */
} chat_template;

/* In the order of --template. */
static const chat_template chat_templates[] = {
    { "plain", "", "\n", "", "\n", "\n", false },
    { "chatml", "<|im_start|>system\n", "<|im_end|>\n", "<|im_start|>user\n",
      "<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>\n", false },
    { "llama2", "<s>[INST] <<SYS>>\n", "\n<</SYS>>\n\n", "<s>[INST] ", " [/INST]", " </s>", true },
    { "llama3", "<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>",
      "<|start_header_id|>user<|end_header_id|>\n\n",
      "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>", false },
    { "gemma", "<start_of_turn>user\n", "\n\n", "<start_of_turn>user\n",
      "<end_of_turn>\n<start_of_turn>model\n", "<end_of_turn>\n", true },
    { "phi3", "<|system|>\n", "<|end|>\n", "<|user|>\n", "<|end|>\n<|assistant|>\n", "<|end|>\n",
      false },
    { "zephyr", "<|system|>\n", "</s>\n", "<|user|>\n", "</s>\n<|assistant|>\n", "</s>\n", false }
};

/* A published template is known by two words that no other has together. */
static const struct { const char *name, *word[2]; } chat_signs[] = {
    { "chatml", { "<|im_start|>", "<|im_end|>" } },
    { "llama2", { "[INST]", "<<SYS>>" } },
    { "llama3", { "<|start_header_id|>", "<|eot_id|>" } },
    { "gemma", { "<start_of_turn>", "<end_of_turn>" } },
    { "phi3", { "<|user|>", "<|end|>" } },
    { "zephyr", { "<|user|>", "eos_token" } },
    { "zephyr", { "<|user|>", "</s>" } }
};

/* Templates in Jinja, with $0 to $4 for the marks: the system's text comes before the first turn,
 * or within it. */
static const char *const chat_forms[2] = {
    "{% for m in messages %}{% if m['role'] == 'system' %}{{ '$0' + m['content'] + '$1' }}"
    "{% elif m['role'] == 'user' %}{{ '$2' + m['content'] + '$3' }}"
    "{% else %}{{ m['content'] + '$4' }}{% endif %}{% endfor %}",
    "{% set s = namespace(begun=false) %}{% for m in messages %}{% if m['role'] == 'system' %}"
    "{{ '$0' + m['content'] + '$1' }}{% set s.begun = true %}{% elif m['role'] == 'user' %}"
    "{% if not s.begun %}{{ '$2' }}{% endif %}{% set s.begun = false %}{{ m['content'] + '$3' }}"
    "{% else %}{{ m['content'] + '$4' }}{% endif %}{% endfor %}"
};

typedef struct chat_choice { float logit; int32_t id; } chat_choice;

typedef struct chat {
    bundle         b;
    const settings *s;
    tfn_decoder    decoder;
    void          *mem;
    chat_template  marks;
    int32_t       *ids, count, room;    /* the conversation, which may be longer than the context */
    int32_t        fed, prefix;         /* ids in the cache; ids before the first turn */
    int32_t       *turn, turns;         /* where each turn begins */
    char          *stop[CHAT_STOPS];    /* texts that end an answer */
    int            stops;
    int32_t        stop_id;             /* the special token that `end` begins with */
    bool           in_system;           /* the first turn already has its mark */
    chat_choice   *choice;
    char          *text;                /* of the answer */
    int64_t        answers, read, kept; /* kept: ids of turns that were in the cache */
} chat;

/* -- marks ------------------------------------------------------------------------------------- */

/* A mark from the command line: \n is a newline, \\ a backslash. */
static const char *chat_mark(const char *typed)
{
    char *to = (char *)reserve(strlen(typed) + 1, 1);
    char *at = to;
    for (; *typed; typed++) {
        *at = *typed;
        if (typed[0] == '\\' && (typed[1] == 'n' || typed[1] == '\\')) {
            typed++;
            if (*typed == 'n') *at = '\n';
        }
        at++;
    }
    return to;
}

const char *chat_template_of(const char *text)
{
    for (size_t i = 0; i < sizeof chat_signs / sizeof *chat_signs; i++)
        if (strstr(text, chat_signs[i].word[0]) && strstr(text, chat_signs[i].word[1]))
            return chat_signs[i].name;
    return NULL;
}

const char *chat_jinja(const char *name)
{
    static char text[2048];
    const int choice = option_name(option_rows[O_TEMPLATE].value, name);
    char *to = text;
    if (choice < 0) return NULL;
    const chat_template *t = &chat_templates[choice];
    const char *const marks[] = { t->system, t->system_end, t->user, t->assistant, t->end };
    for (const char *s = chat_forms[t->within]; *s; s++) {
        if (*s != '$') {
            *to++ = *s;
            continue;
        }
        for (const char *mark = marks[*++s - '0']; *mark; mark++) {
            if (*mark == '\n') *to++ = '\\';
            *to++ = *mark == '\n' ? 'n' : *mark;
        }
    }
    *to = 0;
    return text;
}

/* Takes the marks of --template, by default those that the model was imported with. */
static void chat_take_marks(chat *x)
{
    const settings *s = x->s;
    const settings *from = given(s, O_TEMPLATE) ? s : &x->b.from;
    int choice = 0;
    if (given(from, O_TEMPLATE)) choice = choice_of(from, O_TEMPLATE);
    if (choice < 0)
        die("the model's template is %s, which is not known", text_of(from, O_TEMPLATE));
    x->marks = chat_templates[choice];
    if (given(s, O_USER)) x->marks.user = chat_mark(text_of(s, O_USER));
    if (given(s, O_ASSISTANT)) x->marks.assistant = chat_mark(text_of(s, O_ASSISTANT));
    if (given(s, O_END)) x->marks.end = chat_mark(text_of(s, O_END));
}

/* Appends ids to the conversation. */
static void chat_append(chat *x, const int32_t *ids, int64_t n)
{
    if (x->count + n > x->room) {
        int32_t *more;
        if (x->count + n > INT32_MAX / 2) die("the conversation is too long");
        x->room = (int32_t)(2 * (x->count + n));
        more = (int32_t *)reserve((size_t)x->room, sizeof *more);
        if (x->count) memcpy(more, x->ids, (size_t)x->count * sizeof *more);
        free(x->ids);
        x->ids = more;
    }
    if (n) memcpy(x->ids + x->count, ids, (size_t)n * sizeof *ids);
    x->count += (int32_t)n;
}

/* Appends a text to the conversation. trusted: a mark, whose special tokens count. */
static void chat_say(chat *x, const char *text, size_t bytes, bool trusted)
{
    const tfn_tokenizer *k = &x->b.tokenizer.tokenizer;
    int64_t n;
    int32_t *ids = ids_of(k, 0, text, bytes, trusted, &n);
    chat_append(x, ids, n);
    free(ids);
}

/* Appends a mark and its text. Words begin with their space, so the last space of a mark belongs to
 * the text. */
static void chat_say_behind(chat *x, const char *mark, const char *text, size_t bytes)
{
    char *spaced = (char *)reserve(bytes + 2, 1);
    size_t n = strlen(mark);
    const bool space = n > 0 && mark[n - 1] == ' ';
    spaced[0] = ' ';
    memcpy(spaced + space, text, bytes);
    chat_say(x, mark, n - space, true);
    chat_say(x, spaced, bytes + space, false);
    free(spaced);
}

/* Sets the texts that end an answer: the end mark, without surrounding white space unless it has
 * nothing else, and --stop. An end mark that begins with a special token is found as that token,
 * because it has no text. */
static void chat_take_stops(chat *x)
{
    const tfn_tokenizer *k = &x->b.tokenizer.tokenizer;
    const char *list = text_of(x->s, O_STOP);
    const char *end = x->marks.end;
    const size_t spaces = strspn(end, " \n");
    size_t n = strlen(end);
    int32_t ids[CHAT_MARK];
    if (end[spaces]) {
        end += spaces;
        for (n -= spaces; end[n - 1] == ' ' || end[n - 1] == '\n';) n--;
    }
    x->stop_id = -1;
    if (n > CHAT_MARK / 3 - 2) die("--end is longer than %d bytes", CHAT_MARK / 3 - 2);
    if (tfn_tokenizer_encode_specials(k, ids, CHAT_MARK, end, n) > 0
        && !tfn_tokenizer_decode(k, NULL, 0, ids, 1)) x->stop_id = ids[0];
    else if (n) {
        x->stop[x->stops] = (char *)reserve(n + 1, 1);
        memcpy(x->stop[x->stops++], end, n);
    }
    while (list && *list) {
        char entry[CHAT_MARK];
        const size_t bytes = strcspn(list, ",");
        if (x->stops == CHAT_STOPS) die("--stop: more than %d texts", CHAT_STOPS - 1);
        if (!bytes || bytes >= sizeof entry) die("--stop: a text of %d bytes", (int)bytes);
        snprintf(entry, sizeof entry, "%.*s", (int)bytes, list);
        x->stop[x->stops++] = (char *)(uintptr_t)chat_mark(entry);
        list += bytes + (list[bytes] == ',');
    }
}

/* -- the context ------------------------------------------------------------------------------- */

/* Removes the oldest turn and restarts the cache. False: there is only one turn. */
static bool chat_forget(chat *x)
{
    int32_t gone;
    if (x->turns < 2) return false;
    gone = x->turn[1] - x->prefix;
    memmove(x->ids + x->prefix, x->ids + x->turn[1],
            (size_t)(x->count - x->turn[1]) * sizeof *x->ids);
    x->count -= gone;
    x->turns--;
    for (int32_t i = 0; i < x->turns; i++) x->turn[i] = x->turn[i + 1] - gone;
    x->fed = 0;
    tfn_decoder_start(&x->decoder, NULL);
    must_be_ok(&x->decoder.error);
    fprintf(stderr, "tfn: the context of %d tokens is full: the oldest turn is left out\n",
            (int)x->b.desc.context);
    return true;
}

/* Feeds the ids that are not in the cache yet. Returns the logits after the last one, or NULL if a
 * single turn exceeds the context. */
static const float *chat_feed(chat *x)
{
    const float *z = NULL;
    while (x->count > x->b.desc.context)
        if (!chat_forget(x)) return NULL;
    while (x->fed < x->count) {
        int32_t n = x->count - x->fed;
        if (n > x->decoder.chunk) n = x->decoder.chunk;
        z = tfn_decoder_next(&x->decoder, x->ids + x->fed, n, NULL);
        must_be_ok(&x->decoder.error);
        x->fed += n;
        x->read += n;
    }
    return z;
}

/* -- choosing a token -------------------------------------------------------------------------- */

/* False for ids that no answer contains: padding and the ids that texts begin with. */
static bool chat_forbids(const chat *x, int32_t id)
{
    const int32_t *special = x->b.tokenizer.tokenizer.special;
    for (int i = 0; i < TFN_SPECIAL_COUNT; i++)
        if (special[i] == id && i != TFN_SPECIAL_EOS && id != x->stop_id) return true;
    return id >= x->b.tokenizer.tokenizer.vocab;
}

/* Order: the likeliest first, and among equals the smaller id. */
static int chat_order(const void *a, const void *b)
{
    const chat_choice *p = (const chat_choice *)a;
    const chat_choice *q = (const chat_choice *)b;
    if (p->logit > q->logit) return -1;
    if (p->logit < q->logit) return 1;
    return (p->id > q->id) - (p->id < q->id);
}

static int32_t chat_likeliest(const chat *x, const float *z)
{
    int32_t best = -1;
    for (int32_t v = 0; v < x->b.desc.vocab; v++) {
        if (chat_forbids(x, v)) continue;
        if (best < 0 || z[v] > z[best]) best = v;
    }
    return best;
}

/* Draws an id by temperature, among the --top-k likeliest, and among those the ones that hold
 * --top-p; u in [0, 1). */
static int32_t chat_draw(chat *x, const float *z, double u)
{
    const double temperature = real_of(x->s, O_TEMPERATURE);
    const int64_t top = whole_of(x->s, O_TOP_K);
    int32_t n = 0;
    int32_t most = 0;
    double sum = 0;
    double held = 0;
    for (int32_t v = 0; v < x->b.desc.vocab; v++) {
        if (chat_forbids(x, v)) continue;
        x->choice[n].logit = z[v];
        x->choice[n++].id = v;
    }
    qsort(x->choice, (size_t)n, sizeof *x->choice, chat_order);
    if (top && top < n) n = (int32_t)top;
    const double first = (double)x->choice[0].logit;
    for (int32_t i = 0; i < n; i++) {
        x->choice[i].logit = (float)exp(((double)x->choice[i].logit - first) / temperature);
        sum += (double)x->choice[i].logit;
    }
    while (most < n) {
        held += (double)x->choice[most++].logit;
        if (held >= real_of(x->s, O_TOP_P) * sum) break;
    }
    u *= held;
    for (int32_t i = 0; i < most - 1; i++) {
        u -= (double)x->choice[i].logit;
        if (u < 0) return x->choice[i].id;
    }
    return x->choice[most - 1].id;
}

static int32_t chat_choose(chat *x, const float *z, int32_t step)
{
    const tfn_key key = tfn_key_make((uint64_t)whole_of(x->s, O_SEED));
    if (real_of(x->s, O_TEMPERATURE) == 0) return chat_likeliest(x, z);
    return chat_draw(x, z, (double)tfn_random_uniform(tfn_key_fold(key, (uint64_t)x->answers),
                                                      (uint64_t)step));
}

/* -- an answer --------------------------------------------------------------------------------- */

/* Decodes the answer from id `from` on into x->text, which grows as needed. Returns the bytes. */
static size_t chat_decode(chat *x, int32_t from)
{
    const tfn_tokenizer *k = &x->b.tokenizer.tokenizer;
    const size_t n = tfn_tokenizer_decode(k, NULL, 0, x->ids + from, x->count - from);
    free(x->text);
    x->text = (char *)reserve(n + 1, 1);
    tfn_tokenizer_decode(k, x->text, n, x->ids + from, x->count - from);
    return n;
}

/* The place in the answer where a text of x->stop begins; `n`, its length, if there is none. */
static size_t chat_stopped(const chat *x, size_t n, int *which)
{
    size_t at = n;
    for (int i = 0; i < x->stops; i++) {
        const char *found = strstr(x->text, x->stop[i]);
        if (!found || (size_t)(found - x->text) >= at) continue;
        at = (size_t)(found - x->text);
        *which = i;
    }
    return at;
}

/* Bytes at the end that may begin a stop. They are held until that is known. */
static size_t chat_waits(const chat *x, size_t n)
{
    size_t most = 0;
    for (int i = 0; i < x->stops; i++) {
        size_t k = strlen(x->stop[i]) - 1;
        if (k > n) k = n;
        for (; k > most; k--)
            if (!strncmp(x->text + n - k, x->stop[i], k)) break;
        if (k > most) most = k;
    }
    return most;
}

/* Answers the conversation and prints the answer as it is generated. Appends the end mark if the
 * model did not write it. */
static void chat_answer(chat *x)
{
    const int64_t most = whole_of(x->s, O_MAX_TOKENS);
    const int32_t end = x->b.tokenizer.tokenizer.special[TFN_SPECIAL_EOS];
    int32_t begin = x->count;
    size_t printed = 0;
    size_t n = 0;
    bool ended = false;
    int which = -1;
    for (int32_t step = 0; step < most; step++) {
        const int32_t before = x->count;
        const float *z = chat_feed(x);
        int32_t id;
        begin -= before - x->count;                     /* of turns that are left out */
        if (!z) {
            fprintf(stderr, "tfn: the turn fills the context of %d tokens\n",
                    (int)x->b.desc.context);
            break;
        }
        id = chat_choose(x, z, step);
        ended = id == end || id == x->stop_id;
        if (ended) break;
        chat_append(x, &id, 1);
        const size_t bytes = chat_decode(x, begin);
        n = chat_stopped(x, bytes, &which);
        size_t shown = n;
        if (which < 0) shown = bytes - chat_waits(x, bytes);
        if (shown > printed) fwrite(x->text + printed, 1, shown - printed, stdout);
        if (shown > printed) printed = shown;
        if (!output_flush()) exit(output_code());
        if (which >= 0) break;
    }
    if (n > printed) fwrite(x->text + printed, 1, n - printed, stdout);
    putchar('\n');
    if (!output_flush()) exit(output_code());
    if (which != 0 || x->stop_id >= 0) chat_say(x, x->marks.end, strlen(x->marks.end), true);
    x->answers++;
}

/* Runs a turn: the user's text and the answer. A turn that exceeds the context is not kept. */
static void chat_turn(chat *x, const char *text, size_t bytes, int64_t number)
{
    const int32_t begin = x->count;
    const char *user = x->marks.user;
    int32_t *turns = (int32_t *)reserve((size_t)x->turns + 1, sizeof *turns);
    if (x->turns) memcpy(turns, x->turn, (size_t)x->turns * sizeof *turns);
    free(x->turn);
    x->turn = turns;
    x->turn[x->turns++] = begin;
    if (x->in_system) user = "";
    x->in_system = false;
    chat_say_behind(x, user, text, bytes);
    chat_say(x, x->marks.assistant, strlen(x->marks.assistant), true);
    if (x->prefix + x->count - begin >= x->b.desc.context) {
        fprintf(stderr, "tfn: line %lld has %d tokens with its marks, the context has room for "
                "%d\n", (long long)number, (int)(x->count - begin),
                (int)(x->b.desc.context - x->prefix - 1));
        x->count = begin;
        x->turns--;
        return;
    }
    x->read = 0;
    x->kept = x->fed;
    chat_answer(x);
    if (given(x->s, O_COUNTS))
        fprintf(stderr, "tfn: %lld tokens were read, %lld were in the cache\n", (long long)x->read,
                (long long)x->kept);
}

/* -- the conversation -------------------------------------------------------------------------- */

static void chat_open(chat *x, const settings *s, const char *path)
{
    const tfn_tokenizer *k = &x->b.tokenizer.tokenizer;
    size_t size, bytes;
    void *scratch;
    int32_t chunk = CHAT_CHUNK;
    bundle_open(&x->b, path);
    x->b.adapter = text_of(s, O_ADAPTER);
    x->s = s;
    if (x->b.desc.arch != TFN_ARCH_DECODER)
        die("%s is of the architecture %s, expected a decoder", path,
            tfn_choice_name("arch", (int32_t)x->b.desc.arch));
    bundle_load(&x->b, 1, threads_of(s));
    if (chunk > x->b.desc.context) chunk = x->b.desc.context;
    size = tfn_model_scratch(&x->b.desc);
    scratch = reserve(size, 1);
    bytes = tfn_decoder_size(&x->b.model, 1, chunk, scratch, size);
    free(scratch);
    x->mem = reserve(bytes, 1);
    tfn_decoder_init(&x->decoder, &x->b.model, 1, chunk, x->mem, bytes);
    must_be_ok(&x->decoder.error);
    x->choice = (chat_choice *)reserve((size_t)x->b.desc.vocab, sizeof *x->choice);
    chat_take_marks(x);
    chat_take_stops(x);
    const char *first = x->marks.user;
    if (given(s, O_SYSTEM)) first = x->marks.system;
    if (strncmp(first, "<s>", 3)) chat_append(x, k->frame, k->begins);
    if (given(s, O_SYSTEM)) {
        chat_say_behind(x, x->marks.system, text_of(s, O_SYSTEM), strlen(text_of(s, O_SYSTEM)));
        chat_say(x, x->marks.system_end, strlen(x->marks.system_end), true);
        x->in_system = x->marks.within;
    }
    x->prefix = x->count;
    if (x->prefix + 1 >= x->b.desc.context)
        die("--system has %d tokens with its marks, the context of %d has no room for a turn",
            (int)x->prefix, (int)x->b.desc.context);
}

static void chat_free(chat *x)
{
    for (int i = 0; i < x->stops; i++) free(x->stop[i]);
    free(x->ids);
    free(x->turn);
    free(x->text);
    free(x->choice);
    free(x->mem);
    bundle_free(&x->b);
}

int chat_run(settings *s, cli *c)
{
    static chat x;
    line_file input;
    const char *turns = "-";
    if (s->files < 1 || s->files > 2) cli_fail(c, "expected MODEL and a file, or - for the input");
    if (s->files > 1) turns = s->file[1];
    chat_open(&x, s, s->file[0]);
    lines_open(&input, turns);
    const bool typed = output_is_terminal(input.f);
    for (;;) {
        if (typed) fputs("> ", stderr);
        if (!next_line(&input)) break;
        chat_turn(&x, input.line, input.bytes, input.number);
    }
    if (typed) fputc('\n', stderr);
    lines_close(&input);
    chat_free(&x);
    return 0;
}
