/* Rows that no paper has, and recipes under random options: what rows.h says of each. The fixed
 * ones were found at random and shrunk; they were wrong once. test_rows_double.c holds the folds to
 * nine digits. */
#include "hook.h"
#include <stdint.h>
#ifdef TFN__DOUBLE
#define float double
#endif
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include "check.h"
#include "rows.h"

/* One is wrong: say how, and how to repeat it. */
static rows_verdict rows_judge(const rows_case *c)
{
    const rows_result r = rows_check(c);
    static char text[8000];
    if (r.verdict != ROWS_WRONG) return r.verdict;
    rows_print(c, text, sizeof text);
    FAIL("%s: %s", r.text, text);
    return r.verdict;
}

/* The table that two stacks share has rows of length 1 in all forwards, if one stack says so. */
static const char *const rows_shared[] = {
    "seed=1 row.own=1 row.flags=4 decoder_row.own=1 desc.arch=2 desc.context=3 desc.vocab=11",
    "seed=2 row.own=1 decoder_row.own=1 decoder_row.flags=4 desc.arch=2 desc.context=3 "
    "desc.vocab=11",
    "seed=3 desc.recipe=post decoder_row.own=1 decoder_row.flags=5 decoder_row.attention.norm_in=1 "
    "decoder_row.ffn.norm_in=1 desc.arch=2 desc.context=5 desc.vocab=11 steps=3",
    "seed=4 desc.recipe=scalenorm decoder_row.own=1 decoder_row.attention.norm_sum=1 "
    "decoder_row.ffn.norm_sum=1 desc.arch=2 desc.context=5 desc.vocab=11 steps=3",
    "seed=5 desc.recipe=scalenorm decoder_row.own=1 desc.separate_source=1 desc.arch=2 "
    "desc.context=5 desc.vocab=11 steps=3",
    "seed=6 desc.recipe=scalenorm decoder_row.own=1 desc.arch=0 desc.context=5 desc.vocab=11 "
    "steps=3",
    "seed=7 desc.recipe=post decoder_row.own=1 decoder_row.flags=4 desc.arch=2 desc.context=5 "
    "desc.vocab=11 desc.bands=5 steps=3"
};

static void rows_fixed(const char *const *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rows_case c;
        if (!rows_read(&c, lines[i])) FAIL("no such case: %s", lines[i]);
        else if (rows_judge(&c) > ROWS_GOOD && !check_errors) FAIL("refused: %s", lines[i]);
    }
}

TEST(rows_shared_table)
{
    rows_fixed(rows_shared, sizeof rows_shared / sizeof *rows_shared);
}

int main(void)
{
    RUN(rows_shared_table);
    return DONE();
}
