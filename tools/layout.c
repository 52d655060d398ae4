/* cc -O2 tools/layout.c -o layout && ./layout tfnorm.h [other sources]
 * Checks the form of the header: sections and their order, their sizes, widths, lengths; of other
 * sources widths and lengths.
 * A section begins with a marker alone on its line, slash star >> name star slash; the manual lists
 * them in order after a line "CONTENTS", a line each, up to an empty one. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Sections that may have more than LARGE code lines, each with the reason why it is not two. */
static const struct { const char *name, *why; } large[] = {
    { "tape", "recording, planning and running share the node and its table of operations" },
};
enum { LARGE = 1500, COLUMNS = 100, FUNCTION = 60, SECTIONS = 64, NAME = 32 };

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

/* Prints the code lines of each section; one that grows past LARGE must be listed above. */
static void check_sizes(const section *s, int count)
{
    int total = 0;
    for (int i = 0; i < count; i++) {
        const char *why = NULL;
        for (size_t j = 0; j < sizeof large / sizeof *large; j++)
            if (!strcmp(large[j].name, s[i].name)) why = large[j].why;
        if (s[i].code > LARGE && !why) complain(s[i].line, "over 1500 code lines: ", s[i].name);
        printf("  %-14s %5d code lines\n", s[i].name, s[i].code);
        total += s[i].code;
    }
    printf("  %-14s %5d code lines\n", "all", total);
}

int main(int argc, char **argv)
{
    static section s[SECTIONS];
    static char contents[SECTIONS][NAME];
    int count, listed;
    FILE *f = fopen(path = argc > 1 ? argv[1] : "tfnorm.h", "rb");
    if (!f) return printf("  no file %s\n", path), 1;
    count = read_header(f, s, contents, &listed);
    fclose(f);
    check_contents(s, count, contents, listed);
    check_sizes(s, count);
    for (int i = 2; i < argc; i++) {
        if (!(f = fopen(path = argv[i], "rb"))) return printf("  no file %s\n", path), 1;
        read_header(f, s, contents, &listed);
        fclose(f);
    }
    return errors != 0;
}
