/* Sizes of models, and models of these sizes. */
#include "shapes.h"
#include "option.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const shape shapes[SHAPES] = {
    { "tiny",    2,  64,  4,  256,  32, 16,    64 }, { "small", 6, 128, 4,  512, 64, 16, 256 },
    { "medium",  6, 384,  6, 1536, 128,  8,   256 }, { "gpt2", 12, 768, 12, 3072, 64, 4, 50257 },
    { "encdec",  6, 512,  4, 1024,  16, 64,  8192 }
};
bool is_pair(const shape *s) { return !strcmp(s->name, "encdec"); }

bool parse_shape(shape *s, const char *text)
{
    for (int i = 0; i < SHAPES; i++)
        if (!strcmp(text, shapes[i].name)) {
            *s = shapes[i];
            return true;
        }
    *s = shapes[0];
    snprintf(s->name, sizeof s->name, "%s", text);
    while (*text) {
        static const char *const keys[] = { "L", "d", "h", "ff", "T", "B", "V" };
        int *const values[] = { &s->layers, &s->width, &s->heads, &s->ffn, &s->time, &s->batch,
                                &s->vocab };
        char key[8], end = 0;
        int i = 0;
        int length = 0;
        int value;
        if (sscanf(text, "%7[^=]=%d%n", key, &value, &length) != 2 || value < 1) return false;
        for (; i < 7; i++)
            if (!strcmp(keys[i], key)) break;
        if (i == 7) return false;
        *values[i] = value;
        text += length;
        end = *text;
        if (end && end != ',') return false;
        if (end) text++;
    }
    return true;
}

tfn_model_desc desc_of(const shape *s, bool inference, int threads)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    if (is_pair(s)) {
        d.arch = TFN_ARCH_ENCODER_DECODER;
        d.activation = TFN_ACTIVATION_RELU;
    }
    d.layers = s->layers;
    d.width = s->width;
    d.heads = s->heads;
    d.ffn = s->ffn;
    d.context = s->time;
    d.batch = s->batch;
    if (inference) d.batch = 1;
    d.vocab = s->vocab;
    d.isa = option.isa;
    d.threads = threads;
    d.inference = inference;
    d.schedule.lr = 1e-4f;
    d.decay = 0.1f;
    return d;
}
void make_model(tfn_model *m, const tfn_model_desc *d, const char *name)
{
    char text[200];
    if (tfn_model_new(m, d, NULL) == TFN_OK) return;
    fprintf(stderr, "bench: %s: %s\n", name, tfn_error_text(&m->error, text, sizeof text));
    exit(1);
}

double step_operations(const shape *s)
{
    const double n = (double)s->batch * s->time;
    const double d = s->width;
    const double linear = 2*n * (4*d*d + 2*d*s->ffn);
    const double attention = 4*n * s->time * d;
    double layer = linear + attention;
    if (is_pair(s)) layer = 2*linear + 2*n * 4*d*d + 3*attention;       /* of both stacks */
    return 3 * (s->layers * layer + 2*n * d * s->vocab);
}
