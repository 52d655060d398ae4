/* Joins the parts of tools/source into tfnorm.h, the one file that users get:
 *     cc -O2 join.c -o join && ./join FOLDER > tfnorm.h
 * FOLDER/parts.txt lists the parts in order. A part is name.h (its interface), then name.c.
 *
 * Lines that exist only so that a part compiles as a separate object are dropped: includes of other
 * parts, include guards, and prototypes marked SHARED. All other SHARED become static. Two lines
 * are replaced: @contents by the list of the parts, and @undefine by an #undef for each private
 * macro that is still defined there. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 512, PARTS = 160, MACROS = 2048, DEPTH = 32 };

typedef struct part { char path[80], about[160], when[240]; const char *name; } part;

static part parts[PARTS];
static int part_count;
static char macros[MACROS][64];
static bool undefined[MACROS];
static int macro_count;
static const char *folder;

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "join: %s %s\n", what, which);
    exit(1);
}

/* -- reading ------------------------------------------------------------------------------- */

static FILE *open_part(const char *path, const char *end)
{
    char name[1024];
    snprintf(name, sizeof name, "%s/%s%s", folder, path, end);
    return fopen(name, "rb");
}

static bool next_line(FILE *f, char *line)
{
    if (!fgets(line, LINE, f)) return false;
    if (!strchr(line, '\n')) fail("a line is too long, or the file does not end with one:", line);
    return true;
}

static bool starts(const char *line, const char *with)
{
    return !strncmp(line, with, strlen(with));
}

/* Reads parts.txt: "put LINE" is a line of the header itself, "when CONDITION" applies to the parts
 * after it, and "folder/name  about it" is a part. */
static void read_parts(void)
{
    char line[LINE];
    char when[240] = "";
    FILE *f = open_part("parts", ".txt");
    if (!f) fail("cannot read parts.txt in", folder);
    while (next_line(f, line)) {
        part *p = parts + part_count;
        line[strcspn(line, "\n")] = 0;
        if (!line[0] || line[0] == '#') continue;
        if (starts(line, "put")) {              /* a part without a path */
            snprintf(p->about, sizeof p->about, "%s\n", line + 3 + strspn(line + 3, " "));
            if (++part_count > PARTS) fail("too many lines in", "parts.txt");
            continue;
        }
        if (starts(line, "when")) {
            snprintf(when, sizeof when, "%s", line + 4 + strspn(line + 4, " "));
            continue;
        }
        if (++part_count > PARTS || sscanf(line, "%79s %159[^\n]", p->path, p->about) < 1)
            fail("bad line in parts.txt:", line);
        strcpy(p->when, when);
        p->name = strrchr(p->path, '/');
        if (!p->name++) fail("a part needs a folder:", line);
    }
    fclose(f);
}

/* -- private macros ------------------------------------------------------------------------ */

static int find_macro(const char *name)
{
    for (int i = 0; i < macro_count; i++)
        if (!strcmp(macros[i], name)) return i;
    if (macro_count == MACROS) fail("too many macros:", name);
    strcpy(macros[macro_count], name);
    undefined[macro_count] = false;
    return macro_count++;
}

static void note_macro(const char *line)
{
    char name[64];
    if (sscanf(line, "#define %63[A-Za-z0-9_]", name) == 1) undefined[find_macro(name)] = false;
    else if (sscanf(line, "#undef %63[A-Za-z0-9_]", name) == 1) undefined[find_macro(name)] = true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp((const char *)a, (const char *)b);
}

/* -- joining ------------------------------------------------------------------------------- */

/* Conditionals are held back until something inside them is printed, so that none stays empty. */
static char held[DEPTH * 8][LINE];
static bool opens[DEPTH * 8];
static int held_count;
static bool blank = true;               /* the last printed line is blank */

static void put(const char *line)
{
    const bool empty = line[0] == '\n';
    if (empty && (blank || held_count)) return;
    for (int i = 0; i < held_count; i++) fputs(held[i], stdout);
    held_count = 0;
    fputs(line, stdout);
    blank = empty;
}

static void put_word(const char *format, const char *word, const char *more)
{
    char line[LINE];
    snprintf(line, sizeof line, format, word, more);
    put(line);
}

static void put_directive(const char *line)
{
    const bool open = starts(line, "#if");
    const bool close = starts(line, "#endif");
    if (close && held_count) {
        while (!opens[held_count - 1]) held_count--;
        held_count--;
        return;
    }
    if (!open && !held_count) {
        put(line);
        return;
    }
    strcpy(held[held_count], line);
    opens[held_count++] = open;
}

static void print_undefs(void)
{
    static char left[MACROS][64];
    int count = 0;
    for (int i = 0; i < macro_count; i++)
        if (!undefined[i] && (starts(macros[i], "TFN__") || starts(macros[i], "tfn__")))
            strcpy(left[count++], macros[i]);
    qsort(left, (size_t)count, sizeof *left, by_text);
    for (int i = 0; i < count; i++) put_word("#undef %s\n", left[i], "");
}

/* True for a line of an include guard, TFN__ NAME _H: its #ifndef, its #define, or its #endif,
 * whose comment names it. */
static bool is_guard(const char *line)
{
    char name[64];
    if (sscanf(line, "#ifndef %63[A-Z0-9_]", name) != 1 &&
        sscanf(line, "#define %63[A-Z0-9_]", name) != 1 &&
        sscanf(line, "#endif /* %63[A-Z0-9_]", name) != 1) return false;
    const size_t n = strlen(name);
    return starts(name, "TFN__") && n > 2 && !strcmp(name + n - 2, "_H");
}

static bool is_own_include(const char *line)
{
    return starts(line, "#include \"") ||
           (starts(line, "#define TFNORM_FILE \"") && !strstr(line, "\"tfnorm.h\""));
}

/* True for a prototype or the declaration of a table: a semicolon comes before any brace or
 * value. */
static bool is_prototype(const char *text)
{
    return text[strcspn(text, ";{=")] == ';' && !strchr(text, '{');
}

/* The text of the current file. */
static char whole[1 << 18];

static void read_all(FILE *f)
{
    const size_t n = fread(whole, 1, sizeof whole - 1, f);
    whole[n] = 0;
    rewind(f);
}

/* True if the file calls the prototype's function after the prototype, in an inline function. */
static bool is_used_again(const char *prototype)
{
    char call[80];
    const char *end = strchr(prototype, '(');
    const char *name = end;
    if (!end) return false;
    while (isalnum((unsigned char)name[-1]) || name[-1] == '_') name--;
    snprintf(call, sizeof call, "%.*s(", (int)(end - name), name);
    const char *first = strstr(whole, call);
    return first && strstr(first + 1, call);
}

static void put_static(char *text)
{
    if (starts(text, "SHARED")) memcpy(text, "static", 6);
    for (char *line = text; *line;) {
        char copy[LINE];
        const size_t n = strcspn(line, "\n") + 1;
        memcpy(copy, line, n);
        copy[n] = 0;
        put(copy);
        line += n;
    }
}

/* Reads a statement marked SHARED up to its semicolon, brace or value; drops it or makes it
 * static. */
static void join_shared(FILE *f, const char *first)
{
    char text[8 * LINE];
    char line[LINE];
    strcpy(text, first);
    while (!strpbrk(text, ";{=")) {
        if (!next_line(f, line)) fail("a SHARED statement has no end:", first);
        strcat(text, line);
        if (strlen(text) > 7 * LINE) fail("a SHARED statement is too long:", first);
    }
    if (starts(text, "extern SHARED")) {        /* a table's type may have braces */
        while (!strstr(text, ";\n") || strrchr(text, '}') < strrchr(text, '{')) {
            if (!next_line(f, line)) fail("a SHARED table has no end:", first);
            strcat(text, line);
        }
        return;
    }
    if (!is_prototype(text) || is_used_again(text)) put_static(text);
}

static void join_file(FILE *f, bool is_public)
{
    char line[LINE];
    if (!f) return;
    read_all(f);
    while (next_line(f, line)) {
        if (!is_public && (is_guard(line) || is_own_include(line))) continue;
        if (starts(line, "@contents")) {
            for (const part *p = parts; p < parts + part_count; p++)
                if (p->path[0] && p->about[0]) put_word(" *   %-16s%s\n", p->name, p->about);
        } else if (starts(line, "@undefine")) print_undefs();
        else if (starts(line, "SHARED") || starts(line, "extern SHARED")) join_shared(f, line);
        else if (starts(line, "#if") || starts(line, "#el") || starts(line, "#endif")) {
            char text[LINE * 4];
            strcpy(text, line);
            while (strlen(text) > 1 && text[strlen(text) - 2] == '\\') {
                if (!next_line(f, line) || strlen(text) > 3 * LINE) fail("bad condition:", text);
                strcat(text, line);
            }
            if (strlen(text) >= LINE) fail("a condition is too long:", text);
            put_directive(text);
        } else {
            if (!is_public) note_macro(line);
            put(line);
        }
    }
    fclose(f);
}

static void join_part(const part *p)
{
    const bool is_public = starts(p->path, "api/");
    if (!p->path[0]) {
        put(p->about);
        return;
    }
    FILE *h = open_part(p->path, ".h");
    FILE *c = open_part(p->path, ".c");
    if (!h && !c) fail("no such part:", p->path);
    if (p->about[0]) printf("/* >> %s */\n", p->name);
    blank = true;
    if (p->when[0]) printf("#if %s\n", p->when);
    join_file(h, is_public);
    if (h && c) put("\n");
    join_file(c, is_public);
    if (p->when[0]) printf("#endif\n");
}

int main(int argc, char **argv)
{
    if (argc != 2) fail("usage: join FOLDER > tfnorm.h,", "with the folder of parts.txt");
    folder = argv[1];
    read_parts();
    for (int i = 0; i < part_count; i++) join_part(parts + i);
    return fflush(stdout) != 0;
}
