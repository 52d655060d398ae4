/* make -C tools && tools/bin/layout tfnorm.h [other sources]
 * Checks the form of the header: sections and their order, their sizes, calls only to earlier
 * sections, widths, lengths of functions, density. Checks other sources for widths and lengths, and
 * tools also for density.
 * tools/bin/layout names tfnorm.h FILES: checks that every name of the library in comments of
 * sources and in other texts is declared. A section begins with a marker as the only text of its
 * line, slash star >> name star slash. The manual lists the sections in order after a line
 * "CONTENTS", a line each, up to an empty one. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "../common/output.h"
#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sections that may have more than LARGE code lines, with the reasons for not splitting them. */
static const struct { const char *name, *why; } large[] = {
    { "tape", "recording, planning and running share the node and its table of operations" },
};
enum { LARGE = 1500, COLUMNS = 100, FUNCTION = 60, SECTIONS = 128, FUNCTIONS = 8192, NAME = 64 };

typedef struct section  { char name[NAME]; int line, code; } section;
typedef struct function { char name[NAME]; int section; } function;

/* A source: its text, and its code, where comments, strings and characters are blank. */
typedef struct source { const char *path; char *text, *code; } source;

static int errors;
static void complain(const source *s, int line, const char *what, const char *which)
{
    printf("  %s:%d: %s%s\n", s->path, line, what, which);
    errors++;
}

/* -- reading ----------------------------------------------------------------------------------- */

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t size = 0;
    if (!f) return NULL;
    for (size_t got = 1; got; size += got) {
        char *more = realloc(text, size + 65537);
        if (!more) break;
        text = more;
        got = fread(text + size, 1, 65536, f);
    }
    fclose(f);
    if (text) text[size] = 0;
    return text;
}

static void blank(char *s, const char *end)
{
    for (; s < end; s++)
        if (*s != '\n') *s = ' ';
}

/* The end of a comment or a quoted text that begins at s, or NULL if s begins neither. */
static char *end_of_blank(char *s)
{
    const char quote = *s;
    if (s[0] == '/' && s[1] == '*') {
        char *end = strstr(s + 2, "*/");
        if (end) return end + 2;
        return s + strlen(s);
    }
    if (s[0] == '/' && s[1] == '/') return s + strcspn(s, "\n");
    if (quote != '"' && quote != '\'') return NULL;
    for (s++; *s; s++) {
        if (*s == '\n') return s;
        if (*s == quote) return s + 1;
        if (*s == '\\' && s[1]) s++;
    }
    return s;
}

static char *code_of(const char *text)
{
    char *code = malloc(strlen(text) + 1);
    if (!code) return NULL;
    strcpy(code, text);
    for (char *s = code; *s;) {
        char *end = end_of_blank(s);
        if (!end) {
            s++;
            continue;
        }
        blank(s, end);
        s = end;
    }
    return code;
}

static bool read_source(source *s, const char *path)
{
    s->path = path;
    s->text = read_text(path);
    s->code = NULL;
    if (s->text) s->code = code_of(s->text);
    if (!s->code) printf("  no file %s\n", path);
    return s->code != NULL;
}

static const char *next_line(const char *s)
{
    s += strcspn(s, "\n");
    if (*s) s++;                        /* past the end of the line, but not of the text */
    return s;
}

static bool is_blank(const char *s) { return s[strspn(s, " \r")] == '\n' || !s[strspn(s, " \r")]; }

/* -- lines and functions ----------------------------------------------------------------------- */

static int columns(const char *s)       /* characters, not bytes, without the line's end */
{
    const size_t end = strcspn(s, "\r\n");
    int n = 0;
    for (size_t i = 0; i < end; i++) n += (s[i] & 0xc0) != 0x80;
    return n;
}

static void check_lines(const source *s)
{
    int n = 1;
    for (const char *line = s->text; *line; line = next_line(line), n++) {
        const size_t length = strcspn(line, "\n");
        if (columns(line) > COLUMNS) complain(s, n, "over 100 columns", "");
        if (memchr(line, '\t', length) || memchr(line, '\r', length))
            complain(s, n, "a tab or carriage return", "");
    }
}

/* A function's signature begins on the last line that is neither indented nor a directive before
 * the brace in the first column. */
static void check_lengths(const source *s)
{
    bool body = false;
    int begin = 0;
    int n = 1;
    for (const char *line = s->code; *line; line = next_line(line), n++) {
        if (*line == '}') {
            if (body && n - begin + 1 > FUNCTION) complain(s, begin, "over 60 lines", "");
            body = false;
        } else if (*line == '{') body = true;
        else if (*line > ' ' && *line != '#' && !body) begin = n;
    }
}

/* -- sections ---------------------------------------------------------------------------------- */

/* Reads the name of the section that a line begins; false: none. */
static bool marker(const char *line, char *name)
{
    return sscanf(line, "/* >> %31[a-z0-9_-]", name) == 1;
}

/* Finds the sections in the order of the file, with their code lines. Returns how many. */
static int find_sections(const source *s, section *sections)
{
    int count = 0;
    int n = 1;
    const char *code = s->code;
    for (const char *line = s->text; *line; line = next_line(line), code = next_line(code), n++) {
        char name[NAME];
        if (count < SECTIONS && marker(line, name)) {
            strcpy(sections[count].name, name);
            sections[count].line = n;
            sections[count++].code = 0;
        } else if (count && !is_blank(code)) sections[count - 1].code++;
    }
    return count;
}

static void check_contents(const source *s, const section *sections, int count)
{
    const char *line = strstr(s->text, "CONTENTS");
    char listed[NAME] = "";
    if (!line) line = "";
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < i; j++)
            if (!strcmp(sections[i].name, sections[j].name))
                complain(s, sections[i].line, "a second section ", sections[i].name);
        line = next_line(line);
        if (sscanf(line, " * %31[a-z0-9_-]", listed) != 1 || strcmp(sections[i].name, listed)) {
            complain(s, sections[i].line, "the contents list another section than ",
                     sections[i].name);
            return;
        }
    }
    line = next_line(line);
    if (sscanf(line, " * %31[a-z0-9_-]", listed) == 1)
        complain(s, 1, "the contents list what is not there: ", listed);
}

/* Prints the code lines of each section. One larger than LARGE must be listed above. */
static void check_sizes(const source *s, const section *sections, int count)
{
    int total = 0;
    for (int i = 0; i < count; i++) {
        const char *why = NULL;
        for (size_t j = 0; j < sizeof large / sizeof *large; j++)
            if (!strcmp(large[j].name, sections[i].name)) why = large[j].why;
        if (sections[i].code > LARGE && !why)
            complain(s, sections[i].line, "over 1500 code lines: ", sections[i].name);
        printf("  %-14s %5d code lines\n", sections[i].name, sections[i].code);
        total += sections[i].code;
    }
    printf("  %-14s %5d code lines\n", "all", total);
}

/* -- calls: a section uses only sections above it ---------------------------------------------- */

/* Copies the name that begins at s, and returns its end. */
static const char *take_name(const char *s, char *name)
{
    size_t n = 0;
    for (; isalnum((unsigned char)*s) || *s == '_'; s++)
        if (n < NAME - 1) name[n++] = *s;
    name[n] = 0;
    return s;
}

/* The name of the function that a definition in the first column defines: the one before the first
 * parenthesis, or inside TFN__N( ), which adds the suffix of an instruction set. */
static bool defined_name(const char *line, char *name)
{
    const size_t before = strcspn(line, "(;={\n");
    const char *s = line + before;
    if (*line <= ' ' || *line == '#' || *line == '}' || *s != '(') return false;
    for (; s > line; s--)
        if (!isalnum((unsigned char)s[-1]) && s[-1] != '_') break;
    s = take_name(s, name);
    if (!strcmp(name, "TFN__N")) take_name(s + 1, name);
    return name[0] != 0;
}

static int section_of(const section *sections, int count, int line)
{
    int at = -1;
    for (int i = 0; i < count; i++)
        if (sections[i].line <= line) at = i;
    return at;
}

/* Private functions with a body. One that is written for two builds counts once, at the first. */
static int find_functions(const source *s, const section *sections, int count, function *found)
{
    char name[NAME] = "", candidate[NAME];
    int n = 1;
    int functions = 0;
    for (const char *line = s->code; *line; line = next_line(line), n++) {
        if (defined_name(line, candidate)) strcpy(name, candidate);
        const bool begins = *line == '{' || (defined_name(line, candidate) && strchr(line, '{') &&
                                             strchr(line, '{') < line + strcspn(line, "\n"));
        if (!begins || strncmp(name, "tfn__", 5) || functions == FUNCTIONS) continue;
        bool known = false;
        for (int i = 0; i < functions; i++) known |= !strcmp(found[i].name, name);
        if (known) continue;
        strcpy(found[functions].name, name);
        found[functions++].section = section_of(sections, count, n);
    }
    return functions;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const function *)a)->name, ((const function *)b)->name);
}

/* The end of a directive, which may continue over several lines; counts them in n. */
static const char *end_of_directive(const char *s, int *n)
{
    for (; *s; s++) {
        if (*s == '\n') break;
        if (s[0] != '\\' || s[1] != '\n') continue;
        s++;
        ++*n;
    }
    return s;
}

static void check_calls(const source *s, const section *sections, int count)
{
    static function found[FUNCTIONS];
    const int functions = find_functions(s, sections, count, found);
    int n = 1;
    qsort(found, (size_t)functions, sizeof *found, by_name);
    for (const char *at = s->code; *at;) {
        function wanted;
        if (*at == '\n') n++;
        if (*at == '#' && (at == s->code || at[-1] == '\n')) {      /* a macro counts at its use */
            at = end_of_directive(at, &n);
            continue;
        }
        if (!isalpha((unsigned char)*at) && *at != '_') { at++; continue; }
        at = take_name(at, wanted.name);
        const function *f = bsearch(&wanted, found, (size_t)functions, sizeof *found, by_name);
        if (f && f->section > section_of(sections, count, n))
            complain(s, n, "uses a function of a later section: ", f->name);
    }
    printf("  %d private functions, none used before its section\n", functions);
}

/* -- density (of the implementation, per 1,000 code lines) ------------------------------------- */

typedef struct density { int code, lines, choices, hidden, doubles; } density;

/* True if a line declares two variables with initial values: int a = 1, b = 2. */
static bool is_double(const char *line)
{
    char text[256];
    int depth = 0;
    int values = 0;
    const size_t length = strcspn(line, "\n");
    if (length >= sizeof text || *line != ' ') return false;
    memcpy(text, line, length);
    text[length] = 0;
    const char *s = text + strspn(text, " ");
    if (!isalpha((unsigned char)*s) || strstr(text, "for (") || strchr(text, '{')) return false;
    char *equals = strstr(text, " = ");
    if (!equals) return false;
    for (const char *t = s; t < equals; t++)         /* declarations begin with two words */
        if (strchr("(.[-+/&|<>!?:,;", *t) && *t != '[') return false;
    if (!strchr(s, ' ') || strchr(s, ' ') >= equals) return false;
    for (const char *t = equals; *t; t++) {
        depth += (*t == '(' || *t == '[') - (*t == ')' || *t == ']');
        if (depth == 0 && *t == ',') values++;
        if (depth == 0 && values && !strncmp(t, " = ", 3)) return true;
    }
    return false;
}

/* True if a loop has && in its condition, over all its lines; s is after its keyword. */
static bool hides_if(const char *s, bool is_for)
{
    int depth = 0;
    int part = 0;
    s += strspn(s, " ");
    if (*s != '(') return false;
    for (; *s; s++) {
        depth += (*s == '(') - (*s == ')');
        if (depth == 0) return false;
        if (depth == 1 && *s == ';') part++;
        if (s[0] == '&' && s[1] == '&' && (!is_for || part == 1)) return true;
    }
    return false;
}

static void count_loops(density *d, const char *line)
{
    const char *end = line + strcspn(line, "\n");
    for (const char *s = line; s < end; s++) {
        const bool begins = s == line || !(isalnum((unsigned char)s[-1]) || s[-1] == '_');
        if (begins && !strncmp(s, "for (", 5)) d->hidden += hides_if(s + 3, true);
        if (begins && !strncmp(s, "while (", 7)) d->hidden += hides_if(s + 5, false);
    }
}

static density measure(const source *s, int from, int to)
{
    density d = { 0, 0, 0, 0, 0 };
    const char *code = s->code;
    int n = 1;
    for (const char *line = s->text; *line; line = next_line(line), code = next_line(code), n++) {
        if (n < from || n >= to) continue;
        d.lines += !is_blank(line);
        if (is_blank(code)) continue;
        d.code++;
        d.choices += memchr(code, '?', strcspn(code, "\n")) != NULL;
        d.doubles += is_double(code);
        count_loops(&d, code);
    }
    return d;
}

/* Prints a count and complains if it is over its limit. Other single-file libraries have 4 to 21
 * lines with ?:, up to 2.8 such conditions, 3 to 39 % of comments. */
static void judge(const source *s, const char *what, double found, double limit)
{
    printf("  %-24s %5.1f, at most %4.1f\n", what, found, limit);
    if (found > limit) complain(s, 1, "too dense: ", what);
}

static void judge_code(const source *s, const density *d)
{
    const double k = 1000.0 / d->code;
    judge(s, "lines with ?:", d->choices * k, 15);
    judge(s, "conditions in loops", d->hidden * k, 0.5);
    judge(s, "double initializers", d->doubles * k, 1);
}

static void check_density(const source *s, const section *sections, int count)
{
    int from = 0;
    int to = 0;
    for (int i = 0; i < count; i++) {
        if (!strcmp(sections[i].name, "ground")) from = sections[i].line;
        if (!strcmp(sections[i].name, "rules")) to = sections[i].line;
    }
    density d = measure(s, from, to);
    if (!d.code) d.code = d.lines = 1;                  /* no section: nothing was counted */
    judge_code(s, &d);
    const double comments = 100.0 * (d.lines - d.code) / d.lines;
    printf("  %-24s %5.1f %%, at least 15.0\n", "lines of comment", comments);
    if (comments < 15) complain(s, 1, "too few comments", "");
}

/* The sources of a tool are in one folder and count together: the lines with ?: per tool, all else
 * in the sum of all tools. One source has at most eight such lines beyond that share. Examples have
 * a limit for their lines instead, in tests/layout.sh. */
typedef struct tool { char folder[NAME]; density d; } tool;
static tool tools[SECTIONS];

static bool is_dense(const density *d, int beyond)
{
    return (d->choices - beyond) * 1000 > d->code * 15;
}

static void add_density(density *all, const density *d)
{
    all->code += d->code;
    all->choices += d->choices;
    all->hidden += d->hidden;
    all->doubles += d->doubles;
}

static void add_source(const source *s)
{
    const density d = measure(s, 1, INT_MAX);
    const char *slash = strrchr(s->path, '/');
    int i = 0;
    char folder[NAME];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - s->path) : 0, s->path);
    if (is_dense(&d, 8)) complain(s, 1, "too dense: ", "lines with ?:");
    for (; i < SECTIONS - 1; i++)
        if (!tools[i].folder[0] || !strcmp(tools[i].folder, folder)) break;
    strcpy(tools[i].folder, folder);
    add_density(&tools[i].d, &d);
}

static void check_tools(void)
{
    density all = { 0, 0, 0, 0, 0 };
    source s = { "tools", NULL, NULL };
    for (int i = 0; i < SECTIONS; i++) {
        s.path = tools[i].folder;
        if (is_dense(&tools[i].d, 0)) complain(&s, 1, "too dense: ", "lines with ?:");
        add_density(&all, &tools[i].d);
    }
    if (!all.code) return;
    s.path = "tools";
    printf("%s\n", s.path);
    judge_code(&s, &all);
}

/* -- names in comments must exist ------------------------------------------------------------- */

/* A name begins with tfn_, TFN_ or TFNORM_. It is declared if it occurs in code of the header or of
 * the same file. Four forms mean more than one name:
 *   TFN_NORM_*, TFN_NORM_..., TFN_NORM_    the beginning of a declared name
 *   TFNORM_X, TFN__X, tfn_KIND_at    X, and a word in capitals within small letters, is any word
 *   "tfn_format"                     in quotes: a key of a file
 *   TFN_UPDATE=1, ${TFNORM_TAG}      listed here: variables of the environment, of CMake, a macro
 *                                    of the tests of tools */
static const char *const variables[] = {
    "TFNORM_CACHE", "TFNORM_CFLAGS", "TFNORM_ISA", "TFNORM_LIBRARY", "TFNORM_TAG", "TFNORM_THREADS",
    "TFNORM_URL", "TFN_PYTHON", "TFN_TEST_CLOCK", "TFN_UPDATE"
};
enum { NAMES = 16384 };
typedef struct names { char name[NAMES][NAME]; int count; } names;

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The next name of the library in s, before end; NULL: none. */
static const char *next_name(const char *s, const char *end)
{
    for (; s < end; s++) {
        if (!in_name(*s)) continue;
        if (!strncmp(s, "tfn_", 4) || !strncmp(s, "TFN_", 4) || !strncmp(s, "TFNORM_", 7)) return s;
        for (; s + 1 < end; s++)
            if (!in_name(s[1])) break;
    }
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp((const char *)a, (const char *)b);
}

static void sort_names(names *all)
{
    int count = 0;
    qsort(all->name, (size_t)all->count, NAME, by_text);
    for (int i = 0; i < all->count; i++)
        if (!count || strcmp(all->name[count - 1], all->name[i]))
            memmove(all->name[count++], all->name[i], NAME);
    all->count = count;
}

static void find_names(names *all, const char *code)
{
    const char *end = code + strlen(code);
    all->count = 0;
    for (const char *s = next_name(code, end); s; s = next_name(s, end)) {
        if (all->count == NAMES) sort_names(all);       /* most names occur more than once */
        if (all->count == NAMES) return;
        s = take_name(s, all->name[all->count++]);
    }
    sort_names(all);
}

/* True if a name has a form: a word in capitals of `form`, or X, matches any word. */
static bool has_form(const char *name, const char *form)
{
    const bool small = islower((unsigned char)form[0]);
    while (*form && *name) {
        const size_t n = strcspn(form, "_");
        bool any = n == 1 && *form == 'X';
        if (small && n > 1) any = strspn(form, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == n;
        if (!any && (strncmp(form, name, n) || in_name(name[n]) != (name[n] == '_'))) return false;
        form += n;
        if (any && !*form) return true;
        name += any ? strcspn(name, "_") : n;
        if (*form == '_' && *name == '_') form++, name++;
    }
    return !*form && !*name;
}

static bool is_declared(const names *all, const char *name, bool begins)
{
    const size_t length = strlen(name);
    if (!begins && bsearch(name, all->name, (size_t)all->count, NAME, by_text)) return true;
    for (int i = 0; i < all->count; i++) {
        if (begins && !strncmp(all->name[i], name, length)) return true;
        if (!begins && has_form(all->name[i], name)) return true;
    }
    return false;
}

static bool is_variable(const char *name)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (!strcmp(variables[i], name)) return true;
    return false;
}

/* Checks the names in a text from s to end. */
static void check_names_in(const source *f, const char *s, const char *end, const names *header,
                           const names *own)
{
    while ((s = next_name(s, end)) != NULL) {
        char name[NAME];
        const char *from = s;
        int line = 1;
        s = take_name(s, name);
        const bool begins = s[-1] == '_' || (*s == '*' && !in_name(s[1])) || !strncmp(s, "...", 3);
        if (from > f->text && from[-1] == '"' && (*s == '"' || *s == '\\')) continue;
        if (is_declared(header, name, begins) || is_declared(own, name, begins)) continue;
        if (is_variable(name)) continue;
        for (const char *c = f->text; c < from; c++) line += *c == '\n';
        complain(f, line, "no declaration of ", name);
    }
}

/* Checks the comments of a source and its texts in quotes; of another file everything. */
static void check_names(const source *f, const names *header)
{
    static names own;
    const char *dot = strrchr(f->path, '.');
    const bool code = dot && (!strcmp(dot, ".c") || !strcmp(dot, ".h"));
    own.count = 0;
    if (!code) {
        check_names_in(f, f->text, f->text + strlen(f->text), header, &own);
        return;
    }
    find_names(&own, f->code);
    for (char *s = f->text; *s;) {
        char *end = end_of_blank(s);
        if (end) check_names_in(f, s, end, header, &own);
        s = end ? end : s + 1;
    }
}

static int run_names(int argc, char **argv)
{
    static names header;
    source s;
    if (argc < 3 || !read_source(&s, argv[2])) return 1;
    find_names(&header, s.code);
    printf("  %d names\n", header.count);
    for (int i = 3; i < argc; i++) {
        free(s.text);
        free(s.code);
        if (!read_source(&s, argv[i])) return 1;
        check_names(&s, &header);
    }
    return errors != 0;
}

static int run_layout(int argc, char **argv)
{
    static section sections[SECTIONS];
    source s;
    if (!read_source(&s, argc > 1 ? argv[1] : "tfnorm.h")) return 1;
    const int count = find_sections(&s, sections);
    check_lines(&s);
    check_lengths(&s);
    check_contents(&s, sections, count);
    check_sizes(&s, sections, count);
    check_calls(&s, sections, count);
    check_density(&s, sections, count);
    for (int i = 2; i < argc; i++) {
        free(s.text);
        free(s.code);
        if (!read_source(&s, argv[i])) return 1;
        check_lines(&s);
        check_lengths(&s);
        if (!strstr(argv[i], "examples/")) add_source(&s);
    }
    check_tools();
    return errors != 0;
}

int main(int argc, char **argv)
{
    output_begin("layout");
    if (argc > 1 && !strcmp(argv[1], "names")) return output_end(run_names(argc, argv));
    return output_end(run_layout(argc, argv));
}
