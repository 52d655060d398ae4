/* Pairs of lines, then their scores. */
#include "score.h"
#include "../../tfnorm.h"
#include "eval.h"
#include "models.h"
#include "prompt.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line of a file to score. Metrics read it up to its first zero byte. */
static bool scored_line(line_file *x)
{
    const bool there = next_line(x);
    if (there && strlen(x->line) < x->bytes)
        die("%s, line %lld: byte %lld is 0, expected a text", x->name, (long long)x->number,
            (long long)strlen(x->line) + 1);
    return there;
}

int score(settings *s, cli *c)
{
    line_file found, wanted;
    int64_t equal = 0;
    tfn_bleu bleu = { 0 };
    tfn_rouge rouge = { { 0 }, 0 };
    tfn_edits words = { 0 }, characters = { 0 };
    char text[200];
    if (s->files != 2) cli_fail(c, "expected FOUND and WANTED, files of as many lines");
    if (!strcmp(s->file[0], "-") && !strcmp(s->file[1], "-"))
        cli_fail(c, "the standard input is one file, expected two");
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
