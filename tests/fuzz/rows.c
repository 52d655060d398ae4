/* Random models: rows of the descriptor that are in no paper, recipes with random options. Each
 * trains, decodes like its full forward to the bit, folds to the same function, and has the same
 * bits with two threads and with recomputed layers: see rows.h. A failing case is shrunk; its text
 * is a line for test_rows.c. */
#include "../lib.h"
#include "fuzz.h"
#include "../rows.h"

static int fuzz_found[ROWS_WRONG + 1];
static void fuzz_tally(void)
{
    printf("rows: %d hold, %d refused when made, %d by fold, %d not finite, %d wrong\n",
           fuzz_found[ROWS_GOOD], fuzz_found[ROWS_REFUSED], fuzz_found[ROWS_NO_FOLD],
           fuzz_found[ROWS_WILD], fuzz_found[ROWS_WRONG]);
}

static void fuzz_case(void)
{
    static char text[8000], again[8000];
    rows_case c, read;
    rows_result r;
    rows_draw(&c, fuzz_bits());
    rows_print(&c, text, sizeof text);
    FUZZ_CHECK(rows_read(&read, text));
    rows_print(&read, again, sizeof again);
    FUZZ_CHECK(!strcmp(text, again));
    r = rows_check(&c);
    fuzz_executions++;
    fuzz_accepted += r.verdict != ROWS_REFUSED;
    fuzz_models += (unsigned long long)r.models;
    fuzz_found[r.verdict]++;
    if (r.verdict == ROWS_REFUSED || r.verdict == ROWS_NO_FOLD) FUZZ_CHECK(r.text[0] != 0);
    if (r.verdict != ROWS_WRONG) return;
    rows_shrink(&c);
    rows_print(&c, text, sizeof text);
    FUZZ_FAIL("%s: %s", r.text, text);
}

int main(int argc, char **argv)
{
    atexit(fuzz_tally);
    return fuzz_main("rows", argc, argv);
}
