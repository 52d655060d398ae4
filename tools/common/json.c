/* Strings first, then members. */
#include "json.h"
#include <math.h>
#include <stddef.h>

/* Bytes of the character of UTF-8 at s; 0: there is none. */
static int json_utf8(const unsigned char *s)
{
    static const struct { unsigned char least, most, low, high; int bytes; } forms[] = {
        { 0x01, 0x7f, 0, 0, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
        { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 }
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (*s < forms[i].least || *s > forms[i].most) continue;
        if (forms[i].bytes == 1) return 1;
        if (s[1] < forms[i].low || s[1] > forms[i].high) return 0;
        for (int k = 2; k < forms[i].bytes; k++)
            if (s[k] < 0x80 || s[k] > 0xbf) return 0;
        return forms[i].bytes;
    }
    return 0;
}

void json_put_text(FILE *f, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    fputc('"', f);
    while (*s) {
        const int bytes = json_utf8(s);
        if (bytes == 0) fputs("\\ufffd", f);
        else if (*s == '"' || *s == '\\') fprintf(f, "\\%c", *s);
        else if (*s < ' ') fprintf(f, "\\u%04x", (unsigned)*s);
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
