/* Loads the saved model again, so that the sample comes from the file that a user will use. */
#include "ending.h"
#include "../../tfnorm.h"
#include "speaker.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Bits per byte of the validation text for a loss in nats per token. */
static double bits_per_byte(const trainer *t, double loss)
{
    const double tokens = (double)t->valid.set.at[2 * t->valid.set.count];
    return loss * tokens / (double)t->valid.text.bytes[0] / log(2.0);
}

/* The prompt of the sample: the first bytes of the validation text, up to the end of a word. */
static size_t sample_prompt(const trainer *t, const char **prompt)
{
    const char *s = t->valid.text.text[0];
    size_t all = t->valid.text.bytes[0];
    size_t n = 0;
    for (; all > 1; s++, all--)
        if (!isspace((unsigned char)*s)) break;
    *prompt = s;
    for (size_t i = 1; i < all; i++) {
        if (i > 32 || s[i] == '\n') break;
        if (s[i] == ' ') n = i;
    }
    return n ? n : 1;
}

/* Prints a sample. Control characters are shown as spaces. */
static void put_sample(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)s[i];
        if (c == '\n') fputs("\n    ", stderr);
        else fputc(c < ' ' || c == 127 ? ' ' : c, stderr);
    }
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
    fprintf(stderr, "it writes, after \"");
    put_sample(prompt, n);
    fprintf(stderr, "\":\n    ");
    put_sample(text, bytes);
    fprintf(stderr, "\n");
    free(x.prompt[0]);
    speaker_free(&x);
    bundle_free(&b);
}

void say_learned(const trainer *t)
{
    if (given(t->s, O_QUIET) || t->valid.kind != DATA_TEXT || !t->valid.text.bytes[0]) return;
    fprintf(stderr, "validation: %.3f nats a token, %.2f bits a byte; guessing by frequency has "
            "%.3f and %.2f\n", t->last_valid, bits_per_byte(t, t->last_valid), t->unigram,
            bits_per_byte(t, t->unigram));
    say_sample(t);
}
