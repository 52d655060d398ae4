/* cc -O2 tools/layout.c -o layout && ./layout tfnorm.h [other sources]
 * Checks the form of the header: sections and their order, budgets of code lines, widths, lengths;
 * of other sources widths and lengths.
 * A section begins with a marker alone on its line, slash star >> name star slash; the manual lists
 * them in order after a line "CONTENTS", a line each, up to an empty one. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Most code lines (neither blank nor comment) of each section: going over means changing the number
 * here and saying why in the same commit. */
static const struct { const char *name; int lines; } budget[] = {
    { "manual",      0 }, { "config",     20 }, { "api",        945 }, { "ground",      375 },
    { "math",      250 }, { "tables",     60 }, { "simd",       260 }, { "vmath",       190 },
    { "dense",     430 }, { "norms",     710 }, { "attention",  360 }, { "ffn",         220 },
    { "embed",     120 }, { "loss",      160 }, { "table",       90 }, { "instances",   130 },
    { "choice",    110 }, { "tape",     2100 }, { "topologies", 620 }, { "optim",       120 },
    { "options",     195 }, { "builder",   820 }, { "initial",    180 }, { "fold",        250 },
    { "model",     660 }, { "decoder",   260 }, { "generate",   480 }, { "json",        240 },
    { "tokenise", 1000 }, { "metrics",   440 }, { "files",     1040 }, { "diagnostics", 150 },
    { "end",       130 },
    { "rules",       0 }, { "history",     0 }, { "licence",      0 },
    { NULL, 0 }
};
enum { CORE = 12000, COLUMNS = 100, FUNCTION = 60, SECTIONS = 64, NAME = 32 };

typedef struct section { char name[NAME]; int line, code; } section;

static int errors;
static const char *path;
static void complain(int line, const char *what, const char *which)
{
    printf("  %s:%d: %s%s\n", path, line, what, which);
    errors++;
}

/* The name of the section that a line begins, or false. */
static bool marker(const char *line, char *name)
{
    return sscanf(line, "/* >> %31[a-z0-9_-]", name) == 1;
}

/* Whether a line holds code; *comment carries a block comment over to the next one. */
static bool has_code(const char *s, bool *comment)
{
    bool code = false;
    for (char quote = 0; *s; s++)
        if (*comment) { if (s[0] == '*' && s[1] == '/') *comment = false, s++; }
        else if (quote) { if (*s == '\\' && s[1]) s++; else if (*s == quote) quote = 0; }
        else if (s[0] == '/' && s[1] == '*') *comment = true, s++;
        else if (s[0] == '/' && s[1] == '/') break;
        else if (*s > ' ') {
            code = true;
            if (*s == '"' || *s == '\'') quote = *s;
        }
    return code;
}

static int columns(const char *s)       /* characters, not bytes, without the line's end */
{
    int n = 0;
    for (; *s && *s != '\n' && *s != '\r'; s++) n += (*s & 0xc0) != 0x80;
    return n;
}

/* Reads a source; sections in file order, names of the contents table in its order. */
static int read_header(FILE *f, section *s, char (*contents)[NAME], int *listed)
{
    char line[4096], name[NAME];
    bool comment = false, table = false, body = false;
    int count = 0, function = 0;         /* function: the line on which its signature begins */
    *listed = 0;
    for (int n = 1; fgets(line, sizeof line, f); n++) {
        if (columns(line) > COLUMNS) complain(n, "over 100 columns", "");
        if (strchr(line, '\t') || strchr(line, '\r')) complain(n, "a tab or carriage return", "");
        if (marker(line, name) && count < SECTIONS) {
            strcpy(s[count].name, name);
            s[count].line = n;
            s[count++].code = 0;
        }
        if (table && sscanf(line, " * %31[a-z0-9_-]", name) == 1 && *listed < SECTIONS)
            strcpy(contents[(*listed)++], name);
        else if (strstr(line, "CONTENTS")) table = true;
        else table = false;

        if (has_code(line, &comment) && count) s[count - 1].code++;
        if (line[0] == '}') {
            if (body && n - function + 1 > FUNCTION) complain(function, "over 60 lines", "");
            body = false;
        } else if (line[0] == '{') body = true;
        else if (line[0] > ' ' && line[0] != '/' && line[0] != '#' && !body) function = n;
    }
    return count;
}

static void check_contents(const section *s, int count, char (*contents)[NAME], int listed)
{
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < i; j++)
            if (!strcmp(s[i].name, s[j].name)) complain(s[i].line, "a second section ", s[i].name);
        if (i >= listed || strcmp(s[i].name, contents[i])) {
            complain(s[i].line, "the contents list another section than ", s[i].name);
            return;
        }
    }
    if (listed > count) complain(1, "the contents list what is not there: ", contents[count]);
}

static int check_budgets(const section *s, int count)
{
    int total = 0;
    for (int i = 0; i < count; i++) {
        int limit = -1;
        for (int j = 0; budget[j].name; j++)
            if (!strcmp(budget[j].name, s[i].name)) limit = budget[j].lines;
        if (limit < 0) complain(s[i].line, "no budget for section ", s[i].name);
        else if (s[i].code > limit) complain(s[i].line, "over its budget: ", s[i].name);
        printf("  %-14s %5d code lines of %5d\n", s[i].name, s[i].code, limit);
        total += s[i].code;
    }
    return total;
}

int main(int argc, char **argv)
{
    static section s[SECTIONS];
    static char contents[SECTIONS][NAME];
    int count, listed, total;
    FILE *f = fopen(path = argc > 1 ? argv[1] : "tfnorm.h", "rb");
    if (!f) return printf("  no file %s\n", path), 1;
    count = read_header(f, s, contents, &listed);
    fclose(f);
    check_contents(s, count, contents, listed);
    total = check_budgets(s, count);
    printf("  %-14s %5d code lines of %5d\n", "all", total, CORE);
    if (total > CORE) complain(1, "over the budget of all", "");
    for (int i = 2; i < argc; i++) {
        if (!(f = fopen(path = argv[i], "rb"))) return printf("  no file %s\n", path), 1;
        read_header(f, s, contents, &listed);
        fclose(f);
    }
    return errors != 0;
}
