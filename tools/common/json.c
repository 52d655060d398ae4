/* Strings first, then members. */
#include "json.h"
#include "svg.h"
#include <math.h>
#include <stddef.h>

void json_put_text(FILE *f, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    fputc('"', f);
    while (*s) {
        const int bytes = svg_character(s);
        if (*s == '"' || *s == '\\') fprintf(f, "\\%c", *s);
        else if (*s < ' ') fprintf(f, "\\u%04x", (unsigned)*s);
        else if (bytes == 0) fputs("\\ufffd", f);
        else fwrite(s, 1, (size_t)bytes, f);
        s += bytes ? bytes : 1;
    }
    fputc('"', f);
}

json_line json_begin(FILE *f)
{
    json_line x = { NULL, false };
    x.f = f;
    return x;
}

static void json_key(json_line *x, const char *key)
{
    fputs(x->any ? ", " : "{", x->f);
    json_put_text(x->f, key);
    fputs(": ", x->f);
    x->any = true;
}

void json_text(json_line *x, const char *key, const char *text)
{
    json_key(x, key);
    if (text) json_put_text(x->f, text);
    else fputs("null", x->f);
}

void json_whole(json_line *x, const char *key, long long value)
{
    json_key(x, key);
    fprintf(x->f, "%lld", value);
}

void json_real(json_line *x, const char *key, double value)
{
    json_key(x, key);
    if (isfinite(value)) fprintf(x->f, "%.9g", value);
    else fputs("null", x->f);
}

void json_wholes(json_line *x, const char *key, const long long *values, int count)
{
    json_key(x, key);
    fputc('[', x->f);
    for (int i = 0; i < count; i++) fprintf(x->f, "%s%lld", i ? ", " : "", values[i]);
    fputc(']', x->f);
}

bool json_end(json_line *x)
{
    fputs(x->any ? "}\n" : "{}\n", x->f);
    return fflush(x->f) == 0;
}
