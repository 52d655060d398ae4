/* The public part of ../tfnorm.h as data: its functions and the members of its structs. Tests that
 * cover all functions or options compare their own tables with these, so that a new one cannot be
 * forgotten. */
#ifndef HEADER_H
#define HEADER_H
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text between ">> api" and ">> ground", without comments and preprocessor lines. */
static inline const char *header_text(void)
{
    enum { ROOM = 1 << 20 };
    static char text[ROOM];
    FILE *f;
    char *from, *to = text;
    if (text[0]) return text;
    f = fopen("../tfnorm.h", "rb");
    if (!f) f = fopen("tfnorm.h", "rb");
    if (!f) return text;
    text[fread(text, 1, ROOM - 1, f)] = 0;
    fclose(f);
    from = strstr(text, "/* >> api */");
    if (!from || !strstr(from, "/* >> ground */")) {
        text[0] = 0;
        return text;
    }
    *strstr(from, "/* >> ground */") = 0;
    for (bool begins = true; *from;) {                      /* begins: at the start of a line */
        if (begins && *from == '#') {
            while (*from && *from != '\n') from += *from == '\\' && from[1] == '\n' ? 2 : 1;
        } else if (from[0] == '/' && from[1] == '*') {
            from = strstr(from, "*/") + 2;
        } else {
            if (!isspace((unsigned char)*from) || *from == '\n') begins = *from == '\n';
            *to++ = *from++;
        }
    }
    *to = 0;
    return text;
}

/* The last name in a declaration of n bytes, as in "float *parameters" or "int32_t cutoffs[2]". */
static inline void header_last_name(const char *s, size_t n, char *name, size_t size)
{
    size_t end = 0, begin;
    while (end < n && s[end] != '[') end++;
    while (end > 0 && !isalnum((unsigned char)s[end - 1]) && s[end - 1] != '_') end--;
    begin = end;
    while (begin > 0 && (isalnum((unsigned char)s[begin - 1]) || s[begin - 1] == '_')) begin--;
    snprintf(name, size, "%.*s", (int)(end - begin), s + begin);
}

/* Member i of a struct, without functions and nested structs; false after the last. */
static inline bool header_member(const char *type, int i, char *name, size_t size)
{
    char head[80], tail[80];
    const char *s, *end;
    snprintf(head, sizeof head, "typedef struct %s {", type);
    snprintf(tail, sizeof tail, "} %s;", type);
    s = strstr(header_text(), head);
    end = s ? strstr(s, tail) : NULL;
    if (!end) return false;
    s += strlen(head);
    for (const char *from = s; s < end; s++) {
        if (*s != ',' && *s != ';') continue;
        if (i-- == 0) {
            header_last_name(from, (size_t)(s - from), name, size);
            return true;
        }
        from = s + 1;
    }
    return false;
}

/* Public function i in the order of the header: its name, and the number of its parameters that are
 * pointers, including functions; false after the last. */
static inline bool header_function(int i, char *name, size_t size, int *pointers)
{
    const char *s = header_text(), *open, *close;
    do {
        s = strstr(s, "TFNORM_API ");
        if (!s) return false;
        s += strlen("TFNORM_API ");
        open = strchr(s, '(');
        close = open ? strchr(open, ';') : NULL;
        if (!close) return false;
    } while (i-- > 0);
    header_last_name(s, (size_t)(open - s), name, size);
    *pointers = 0;
    for (const char *from = open + 1; open < close; open++) {
        bool pointer = false;
        if (*open != ',' && open + 1 != close) continue;
        for (; from < open; from++)
            if (*from == '*' || !strncmp(from, "tfn_probe_fn ", 13)) pointer = true;
        *pointers += pointer;
        from = open + 1;
    }
    return true;
}
#endif
