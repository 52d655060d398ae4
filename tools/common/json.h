/* One object of JSON a line, for programs that read what the tools print.
 *
 *     json_line x = json_begin(stdout);
 *     json_text(&x, "name", "a \"b\"");
 *     json_whole(&x, "step", 300);
 *     json_real(&x, "loss", NAN);             // null
 *     json_end(&x);                           // {"name": "a \"b\"", "step": 300, "loss": null}
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdio.h>

typedef struct json_line {
    FILE *f;
    bool  any;                          /* a member is written */
} json_line;

json_line json_begin(FILE *f);
void json_text(json_line *x, const char *key, const char *text);       /* NULL: null */
void json_whole(json_line *x, const char *key, long long value);
void json_real(json_line *x, const char *key, double value);           /* not finite: null */
void json_wholes(json_line *x, const char *key, const long long *values, int count);

/* Ends the line and writes it, so that a reader gets each line at once. False: it was lost. */
bool json_end(json_line *x);

/* A string in quotes. Bytes that are not UTF-8 become the replacement character. */
void json_put_text(FILE *f, const char *text);
#endif
