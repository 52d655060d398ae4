/* The arguments of a command line, one after the other. */
#include "cli.h"
#include "output.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_fail(const cli *c, const char *format, ...)
{
    char whole[1024], help[64];
    va_list args;
    va_start(args, format);
    snprintf(help, sizeof help, "%s --help", c->program);
    if (c->command) snprintf(help, sizeof help, "%s %s --help", c->program, c->command);
    snprintf(whole, sizeof whole, "%s: %s; %s says more\n", c->program, format, help);
    output_vsay(stderr, whole, args);
    va_end(args);
    exit(2);
}

const char *cli_next(cli *c)
{
    return ++c->at < c->argc ? c->argv[c->at] : NULL;
}
bool cli_is(const cli *c, const char *name) { return !strcmp(c->argv[c->at], name); }

bool cli_text(cli *c, const char *name, const char **value)
{
    if (!cli_is(c, name)) return false;
    *value = cli_next(c);
    if (!*value) cli_fail(c, "%s needs a value after it", name);
    return true;
}
bool cli_number(cli *c, const char *name, long least, long most, long *value)
{
    const char *text;
    char *end;
    if (!cli_text(c, name, &text)) return false;
    *value = strtol(text, &end, 10);
    if (end == text || *end || *value < least || *value > most)
        cli_fail(c, "%s needs a number from %ld to %ld, not \"%s\"", name, least, most, text);
    return true;
}
bool cli_real(cli *c, const char *name, double least, double most, double *value)
{
    const char *text;
    char *end;
    if (!cli_text(c, name, &text)) return false;
    *value = strtod(text, &end);
    if (end == text || *end || !(*value >= least && *value <= most))
        cli_fail(c, "%s needs a number from %g to %g, not \"%s\"", name, least, most, text);
    return true;
}

int cli_distance(const char *a, const char *b)
{
    int before[64] = { 0 }, last[64], row[64], n = (int)strlen(b);
    if (n > 63) return n;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        memcpy(last, row, sizeof last);
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
            row[j] = best;
        }
        memcpy(before, last, sizeof before);
    }
    return row[n];
}
