/* Text or ids from the command line, or lines of a file. */
#include "generate.h"
#include "../../tfnorm.h"
#include "../common/output.h"
#include "models.h"
#include "prompt.h"
#include "speaker.h"
#include "use.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

int generate(settings *s, cli *c)
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
    typed = output_is_terminal(input.f);
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
