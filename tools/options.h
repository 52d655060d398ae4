/* Options of a command line as rows of a table: parsing, defaults, help, nearest names; as lines
 * of text, which a checkpoint keeps, too. The including file defines the rows before it:
 *
 *     #define OPTIONS(X) X(STEPS, 'i', "steps", "N", "2000", 1, 1e9, TRAIN, "updates in all") ...
 *
 * number, kind, name, what the value is called, default or NULL, least, most, commands, help. Kinds
 * are f flag, i whole number, r real, s text, c one of the names that stand between bars, e one of
 * the names that the header has for an option of models, whose name stands instead: tfn_choice.
 * Values are kept as texts; option_read has checked them. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "cli.h"

#define OPTION_ENUM(id, kind, name, value, normal, least, most, commands, help) O_##id,
typedef enum option_id { OPTIONS(OPTION_ENUM) O_COUNT } option_id;
#undef OPTION_ENUM

enum { OPTION_KEPT = 1 << 30, OPTION_FILES = 64 };  /* KEPT, a command: part of the experiment */
typedef struct option_row {
    const char *name, *value, *normal, *help;
    double      least, most;
    int         commands;
    char        kind;
} option_row;

#define OPTION_ROW(id, kind, name, value, normal, least, most, commands, help) \
    { name, value, normal, help, least, most, commands, kind },
static const option_row option_rows[] = { OPTIONS(OPTION_ROW) };
#undef OPTION_ROW

typedef struct settings {
    const char *text[O_COUNT];          /* as given; NULL: the default */
    const char *file[OPTION_FILES];     /* what is no option */
    int         files;
} settings;

static inline bool given(const settings *s, option_id i) { return s->text[i] != NULL; }
static inline const char *text_of(const settings *s, option_id i)
{
    return s->text[i] ? s->text[i] : option_rows[i].normal;
}
static inline double real_of(const settings *s, option_id i)
{
    const char *text = text_of(s, i);
    return text ? strtod(text, NULL) : 0;
}
static inline int64_t whole_of(const settings *s, option_id i)
{
    const char *text = text_of(s, i);
    return text ? strtoll(text, NULL, 10) : 0;
}
/* Which of the names between bars, from 0; -1: none of them. */
static inline int option_name(const char *names, const char *text)
{
    size_t n = strlen(text);
    for (int i = 0; names; i++, names = strchr(names, '|') ? strchr(names, '|') + 1 : NULL)
        if (n && strcspn(names, "|") == n && !strncmp(names, text, n)) return i;
    return -1;
}
static inline int choice_of(const settings *s, option_id i)
{
    return option_name(option_rows[i].value, text_of(s, i));
}
/* The enumerator of an option of kind e; 0, the default, of a name that there is not. */
static inline int32_t enumerator_of(const settings *s, option_id i)
{
    const tfn_choice *row = tfn_choice_find(option_rows[i].value, text_of(s, i));
    return row ? row->value : 0;
}
/* What the value of an option may be, in words. */
static inline const char *option_values(const option_row *r)
{
    static char names[256];
    if (r->kind != 'e') return r->value;
    names[0] = 0;
    for (int32_t i = 0; tfn_choice_at(r->value, i); i++) {
        const char *name = tfn_choice_at(r->value, i)->name;
        const size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", i ? "|" : "", name);
    }
    return names;
}

/* Keep in *best the name that is nearest to `text`; one that begins so is nearer. */
static inline void option_nearer(const char **best, const char *text, const char *name)
{
    static int least;
    int d = 2 * cli_distance(text, name) - (strncmp(text, name, strlen(text)) == 0);
    if (!*best || d < least) *best = name, least = d;
}

static inline void option_check(const cli *c, const option_row *r, const char *text)
{
    char *end;
    double v = strtod(text, &end);
    const bool named = r->kind == 'c' || r->kind == 'e';
    if (named && option_name(option_values(r), text) < 0)
        cli_fail(c, "--%s wants %s, not \"%s\"", r->name, option_values(r), text);
    if (r->kind != 'i' && r->kind != 'r') return;
    if (end == text || *end || !(v >= r->least && v <= r->most)
        || (r->kind == 'i' && strspn(text, "-0123456789") != strlen(text)))
        cli_fail(c, "--%s wants a %snumber from %.10g to %.10g, not \"%s\"", r->name,
                 r->kind == 'i' ? "whole " : "", r->least, r->most, text);
}

/* All arguments of a command: "--name value", "--name=value", files. -o is --out. */
static inline void options_read(settings *s, cli *c, int command)
{
    memset(s, 0, sizeof *s);
    for (const char *a = cli_next(c); a; a = cli_next(c)) {
        const char *name = !strcmp(a, "-o") ? "out" : a + 2, *value = strchr(a, '='), *best = NULL;
        size_t n = value && name == a + 2 ? (size_t)(value - name) : strlen(name);
        int i = 0;
        if (a[0] != '-' || !a[1]) {
            if (s->files == OPTION_FILES) cli_fail(c, "over %d files", OPTION_FILES);
            s->file[s->files++] = a;
            continue;
        }
        while (i < O_COUNT && !((option_rows[i].commands & command)
               && strlen(option_rows[i].name) == n && !strncmp(option_rows[i].name, name, n))) i++;
        for (int k = 0; i == O_COUNT && k < O_COUNT; k++)
            if (option_rows[k].commands & command) option_nearer(&best, name, option_rows[k].name);
        if (i == O_COUNT && !best) cli_fail(c, "no option %s; there are none here", a);
        if (i == O_COUNT) cli_fail(c, "no option %s; the nearest is --%s", a, best);
        if (option_rows[i].kind == 'f') value = "yes";
        else if (value && name == a + 2) value++;
        else if (!(value = cli_next(c))) cli_fail(c, "%s wants %s behind it", a,
                                                  option_values(&option_rows[i]));
        option_check(c, &option_rows[i], value);
        s->text[i] = value;
    }
}

static inline void options_help(FILE *f, int command)
{
    for (int i = 0; i < O_COUNT; i++) {
        const option_row *r = &option_rows[i];
        const char *values = option_values(r);
        bool listed = (r->kind == 'c' || r->kind == 'e') && strlen(values) > 16;
        char head[64];
        if (!(r->commands & command)) continue;
        snprintf(head, sizeof head, "--%s%s%s", r->name, r->kind == 'f' ? "" : " ",
                 r->kind == 'f' ? "" : listed ? "NAME" : values);
        fprintf(f, "  %-24s %s%s%s", head, r->help, listed ? ": " : "", listed ? values : "");
        if (r->normal) fprintf(f, " (%s)", r->normal);
        fprintf(f, "\n");
    }
}

/* The experiment as lines "name value"; returns the bytes without the final zero, as snprintf. */
static inline size_t options_write(char *to, size_t room, const settings *s)
{
    size_t n = 0;
    for (int i = 0; i < O_COUNT; i++)
        if ((option_rows[i].commands & OPTION_KEPT) && text_of(s, (option_id)i))
            n += (size_t)snprintf(n < room ? to + n : NULL, n < room ? room - n : 0, "%s %s\n",
                                  option_rows[i].name, text_of(s, (option_id)i));
    return n;
}
/* Take what is not given yet from such lines, which must stay and are cut apart. */
static inline void options_take(settings *s, char *lines)
{
    for (char *line = lines, *next; line && *line; line = next) {
        char *value = strchr(line, ' ');
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        if (value) *value++ = 0;
        for (int i = 0; value && i < O_COUNT; i++)
            if (!strcmp(option_rows[i].name, line) && !s->text[i]) s->text[i] = value;
    }
}
#endif
