/* Text or ids from the command line, or lines of a file. */
#include "generate.h"
#include "../../tfnorm.h"
#include "../common/output.h"
#include "models.h"
#include "prompt.h"
#include "speaker.h"
#include "use.h"
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints the ids that follow --ids, or their translation, best first: a line of ids with the
 * end. */
static void generate_ids(bundle *b, const settings *s)
{
    speaker x;
    int32_t count;
    int32_t *ids = prompt_numbers("--ids", text_of(s, O_IDS), &count);
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
    speaker_count(&x, 0, 0, false);
    say_stops(&x);
    free(ids);
    speaker_free(&x);
    bundle_free(b);
}

/* Runs --ids with any model, even without a tokenizer. */
static int generate_sentence(settings *s, cli *c)
{
    static bundle b;
    if (s->files != 1) cli_fail(c, "expected MODEL and a file, or MODEL and --ids");
    bundle_look(&b, s->file[0]);
    b.adapter = text_of(s, O_ADAPTER);
    must_write_text(&b);
    if (b.desc.arch == TFN_ARCH_ENCODER_DECODER) b.kind = DATA_PAIRS;
    generate_ids(&b, s);
    return 0;
}

/* The words after MODEL, joined by spaces. NULL: there is none, or it names a file. A single word
 * with a dot or a slash is a name, too, so that a mistyped path is an error. */
static char *prompt_words(const settings *s)
{
    size_t room = 1;
    char *text;
    if (s->files < 2) return NULL;
    if (s->files == 2 && (exists(s->file[1]) || !strcmp(s->file[1], "-"))) return NULL;
    if (s->files == 2 && !strchr(s->file[1], ' ') && strpbrk(s->file[1], "./")) return NULL;
    for (int i = 1; i < s->files; i++) room += strlen(s->file[i]) + 1;
    text = (char *)reserve(room, 1);
    text[0] = 0;
    for (int i = 1; i < s->files; i++) {
        if (i > 1) strcat(text, " ");
        strcat(text, s->file[i]);
    }
    return text;
}

/* The prompt from --text, --prompt or words; NULL: prompts are lines of a file. */
static char *given_prompt(const settings *s, cli *c)
{
    const char *text = NULL;
    char *words = prompt_words(s);
    if (given(s, O_SAID)) text = text_of(s, O_SAID);
    if (given(s, O_PROMPT)) text = text_of(s, O_PROMPT);
    if (!text) return words;
    if (given(s, O_SAID) && given(s, O_PROMPT)) cli_fail(c, "give either --text or --prompt");
    if (s->files > 1) cli_fail(c, "give a prompt, or words or a file after MODEL, not both");
    words = (char *)reserve(strlen(text) + 1, 1);
    strcpy(words, text);
    return words;
}

static void generate_lines(speaker *x, const char *path, bool typed)
{
    line_file input;
    lines_open(&input, path);
    for (;;) {
        if (typed) fprintf(stderr, "text> ");
        if (!next_line(&input)) break;
        speaker_add(x, input.line, input.bytes, input.number - 1);
        if (x->used == x->rows) speaker_print(x);
    }
    if (typed) fprintf(stderr, "\n");
    lines_close(&input);
}

/* generate, or translate, which needs a model that was trained on pairs. */
static int write_texts(settings *s, cli *c, bool pairs)
{
    static bundle b;
    speaker x;
    int64_t beam = 1;
    if (given(s, O_BEAM)) beam = whole_of(s, O_BEAM);
    if (whole_of(s, O_N_BEST) > beam) cli_fail(c, "--n-best needs --beam of at least as many");
    if (given(s, O_IDS)) return generate_sentence(s, c);
    if (!s->files) cli_fail(c, "expected MODEL, then a prompt, a file, or - for the input");
    char *prompt = given_prompt(s, c);
    if (prompt) s->files = 1;
    else if (s->files == 2 && strcmp(s->file[1], "-") && !exists(s->file[1]))
        die("%s: cannot be opened: %s; a prompt that looks like a file's name needs --text",
            s->file[1], strerror(errno));
    const char *path = open_use(&b, s, c);
    must_write_text(&b);
    if (pairs && b.kind == DATA_TEXT && b.desc.arch == TFN_ARCH_DECODER)
        die("%s continues texts and was not trained on pairs: tfn generate", b.path);
    const bool typed = !prompt && !strcmp(path, "-") && output_is_terminal(stdin);
    const int32_t rows = typed || prompt ? 1 : (int32_t)whole_of(s, O_BATCH);
    bundle_load(&b, rows, threads_of(s));
    speaker_open(&x, &b, s);
    if (prompt) speaker_add(&x, prompt, strlen(prompt), 0);
    else generate_lines(&x, path, typed);
    if (x.used) speaker_print(&x);
    say_stops(&x);
    speaker_free(&x);
    bundle_free(&b);
    free(prompt);
    return 0;
}

int generate(settings *s, cli *c) { return write_texts(s, c, false); }
int translate(settings *s, cli *c) { return write_texts(s, c, true); }
