/* Replaces words by signs, then formats indices and exponents. */
#include "formula.h"
#include "../common/svg.h"
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* The signs for words that no letter follows: Greek letters and others. */
static const struct { const char *word, *sign; } formula_words[] = {
    { "alpha", "&#945;" }, { "beta", "&#946;" }, { "gamma", "&#947;" }, { "lambda", "&#955;" },
    { "sigma", "&#963;" }, { "chi", "&#967;" }, { "omega", "&#969;" }, { "sqrt", "&#8730;" },
    { "<=", "&#8804;" }, { ">=", "&#8805;" }, { "+-", "&#177;" }
};

static int formula_letter(char c) { return isalpha((unsigned char)c); }
static int formula_digit(char c) { return isdigit((unsigned char)c); }

/* The length of an index or exponent: letters and digits with an optional sign and a point inside,
 * or a text in parentheses. */
static size_t formula_raised(const char *text)
{
    size_t n = 0;
    if (*text == '(') {
        const char *end = strchr(text, ')');
        if (end) return (size_t)(end + 1 - text);
    }
    if (*text == '-' || *text == '+') n++;
    if (!isalnum((unsigned char)text[n])) return 0;
    for (;;) {
        const bool point = text[n] == '.' && formula_digit(text[n + 1]);
        if (!point && !isalnum((unsigned char)text[n])) return n;
        n++;
    }
}

/* Prints the sign of a word in the table, if one begins here. Returns its length, else 0. */
static size_t formula_word(FILE *f, const char *text, char before)
{
    for (size_t i = 0; i < sizeof formula_words / sizeof *formula_words; i++) {
        const size_t n = strlen(formula_words[i].word);
        if (strncmp(text, formula_words[i].word, n)) continue;
        if (formula_letter(*text) && (formula_letter(before) || formula_letter(text[n]))) continue;
        fputs(formula_words[i].sign, f);
        return n;
    }
    return 0;
}

/* Prints an index after a letter, or an exponent after anything. */
static size_t formula_script(FILE *f, const char *text, char before)
{
    const char *tag = "sup";
    if (*text == '_') tag = "sub";
    else if (*text != '^') return 0;
    if (*text == '_' && !formula_letter(before)) return 0;
    const size_t n = formula_raised(text + 1);
    if (!n) return 0;
    fprintf(f, "<%s>", tag);
    for (size_t i = 1; i <= n; i++) {
        if (text[i] == '-') fputs("&#8722;", f);
        else svg_put(f, text + i);
    }
    fprintf(f, "</%s>", tag);
    return n + 1;
}

void formula_html(FILE *f, const char *text)
{
    char before = ' ';
    while (*text) {
        size_t n = formula_word(f, text, before);
        if (!n) n = formula_script(f, text, before);
        if (!n) n = svg_put(f, text);
        before = text[n - 1];
        text += n;
    }
}
