/* Loads the saved model again, so that the sample comes from the file that a user will use. */
#include "ending.h"
#include "../../tfnorm.h"
#include "../common/output.h"
#include "../common/svg.h"
#include "speaker.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bits per byte of the validation text for a loss in nats per token. */
static double bits_per_byte(const trainer *t, double loss)
{
    const double tokens = (double)t->valid.set.at[2 * t->valid.set.count];
    return loss * tokens / (double)t->valid.text.bytes[0] / log(2.0);
}

/* The prompt of the sample: the first words of the validation text, at most 32 bytes. In a text
 * without spaces it ends after a whole character. */
static size_t sample_prompt(const trainer *t, const char **prompt)
{
    enum { MOST = 32 };
    const char *s = t->valid.text.text[0];
    size_t all = t->valid.text.bytes[0];
    size_t words = 0;
    size_t characters = 0;
    for (; all > 1; s++, all--)
        if (!isspace((unsigned char)*s)) break;
    *prompt = s;
    for (size_t i = 1; i < all; i++) {
        if (i > MOST || s[i] == '\n') break;
        if (s[i] == ' ') words = i;
        if (((unsigned char)s[i] & 0xc0) != 0x80) characters = i;
    }
    if (words) return words;
    return characters ? characters : all;
}

/* A copy for a terminal: lines are indented, control characters become spaces, and bytes that are
 * not UTF-8 become U+FFFD. The caller frees it. */
static char *shown(const char *text, size_t n)
{
    char *to = (char *)reserve(5 * n + 5, 1);
    char *from = (char *)reserve(n + 5, 1);             /* ends with zeros */
    size_t used = 0;
    memcpy(from, text, n);
    for (size_t i = 0; i < n;) {
        const unsigned char c = (unsigned char)from[i];
        const int bytes = svg_character((const unsigned char *)from + i);
        const char *as = from + i;
        size_t count = bytes ? (size_t)bytes : 3;
        if (c == '\n') { as = "\n    "; count = 5; }
        else if (c < ' ' || c == 127) { as = " "; count = 1; }
        else if (!bytes) as = "\xef\xbf\xbd";
        memcpy(to + used, as, count);
        used += count;
        i += bytes ? (size_t)bytes : 1;
    }
    free(from);
    return to;
}

static void say_sample(const trainer *t)
{
    static bundle b;
    static settings s;
    speaker x;
    const char *prompt;
    const char *text;
    size_t bytes;
    const size_t n = sample_prompt(t, &prompt);
    s.text[O_TEMPERATURE] = "0.8";
    s.text[O_MAX_TOKENS] = "60";
    bundle_open(&b, t->out);
    bundle_load(&b, 1, 1);
    speaker_open(&x, &b, &s);
    speaker_add(&x, prompt, n, 0);
    speaker_run(&x);
    text = speaker_text(&x, 0, 0, &bytes);
    char *before = shown(prompt, n);
    char *after = shown(text, bytes);
    output_say(stderr, "it writes, after \"%s\":\n    %s\n", before, after);
    free(before);
    free(after);
    free(x.prompt[0]);
    speaker_free(&x);
    bundle_free(&b);
}

void say_learned(const trainer *t)
{
    if (given(t->s, O_QUIET) || t->valid.kind != DATA_TEXT || !t->valid.text.bytes[0]) return;
    output_say(stderr, "validation: %.3f nats a token, %.2f bits a byte; guessing by frequency has "
               "%.3f and %.2f\n", t->last_valid, bits_per_byte(t, t->last_valid), t->unigram,
               bits_per_byte(t, t->unigram));
    say_sample(t);
}
