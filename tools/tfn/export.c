/* Options, tokenizer and weights as C. Part hub writes the other forms. */
#include "export.h"
#include "../../tfnorm.h"
#include "../common/output.h"
#include "hub.h"
#include "models.h"
#include "use.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- export ------------------------------------------------------------------------------------ */

/* Writes an option as C: rows by name, enumerations by number, and nothing for 0. */
static void export_option(FILE *f, const char *name, const char *value)
{
    static const char *const texts[] = { "recipe", "norm", "decoder_norm" };
    static const char *const zeros[] = { "0", "false", "default" };
    const tfn_choice *choice = tfn_choice_find(name, value);
    const bool row = !strcmp(name, "topology") || !strcmp(name, "decoder_topology");
    const bool real = value[0] < 'A' && strpbrk(value, ".e");
    for (int i = 0; i < 3; i++) {
        if (!strcmp(value, zeros[i])) return;
        if (strcmp(name, texts[i])) continue;
        fprintf(f, "    d.%s = \"%s\";\n", name, value);
        return;
    }
    if (row) fprintf(f, "    d.%s = tfn_topology_find(\"%s\");\n", name, value);
    else if (choice && choice->value) fprintf(f, "    d.%s = %d;\n", name, (int)choice->value);
    else if (!choice && real) fprintf(f, "    d.%s = %sf;\n", name, value);
    else if (!choice) fprintf(f, "    d.%s = %s;\n", name, value);
}

/* Writes the options of a checkpoint that define its model, as C. */
static void export_options(FILE *f, tfn_file *from, const char *prefix, bool packed)
{
    char key[64], value[128];
    fprintf(f, "static inline tfn_model_desc %s_desc(void)\n{\n"
               "    tfn_model_desc d = { 0 };\n", prefix);
    for (size_t i = 0; shape_names[i]; i++) {
        snprintf(key, sizeof key, "tfn.%s", shape_names[i]);
        if (tfn_file_text(from, key, value, sizeof value)) export_option(f, shape_names[i], value);
    }
    fprintf(f, "    d.inference = true;\n"
               "    d.parameters = (float *)(uintptr_t)%s_weights%s;      /* only read */\n"
               "    return d;\n}\n", prefix, packed ? ".whole" : "");
}

static void export_tokenizer(FILE *f, const bundle *b, const char *prefix)
{
    const tfn_tokenizer *k = &b->tokenizer.tokenizer;
    tfn_tokenizer_source source = { 0 };
    size_t bytes = tfn_tokenizer_write(k, NULL, 0);
    unsigned char *blob = (unsigned char *)reserve(bytes, 1);
    tfn_tokenizer_write(k, blob, bytes);
    source.blob = blob;
    source.blob_size = bytes;
    fprintf(f, "static const unsigned char %s_tokenizer[%lu] = {", prefix, (unsigned long)bytes);
    for (size_t i = 0; i < bytes; i++) {
        if (i) fprintf(f, ",");
        if (i % 20 == 0) fprintf(f, "\n    ");
        fprintf(f, "%d", blob[i]);
    }
    fprintf(f, "\n};\n");
    fprintf(f, "enum { %s_tokenizer_memory = %lu };\n\n", prefix,
            (unsigned long)tfn_tokenizer_size(&source));
    free(blob);
}

/* The separator between the values of an initializer. */
static void export_comma(FILE *f, int64_t i, int line)
{
    if (i) fprintf(f, ",");
    if (i % line == 0) fprintf(f, "\n    ");
}

static void export_floats(FILE *f, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        char text[32];
        snprintf(text, sizeof text, "%.9g", (double)x[i]);
        export_comma(f, i, 8);
        fprintf(f, "%s", text);
        if (!strpbrk(text, ".e")) fprintf(f, ".");      /* in C, 1f is not a number but 1.f is */
        fprintf(f, "f");
    }
}

/* Writes Q8 and Q4 as bytes and other types as 16-bit numbers, which are right at either byte
 * order. */
static void export_packed(FILE *f, const tfn_param_info *p)
{
    const unsigned char *bytes = (const unsigned char *)p->packed;
    const uint16_t *halves = (const uint16_t *)p->packed;
    if (p->weights <= TFN_WEIGHTS_Q4)
        for (size_t i = 0; i < p->bytes; i++) {
            export_comma(f, (int64_t)i, 20);
            fprintf(f, "%d", bytes[i]);
        }
    else
        for (size_t i = 0; i < p->bytes / 2; i++) {
            export_comma(f, (int64_t)i, 16);
            fprintf(f, "%d", halves[i]);
        }
}

/* Writes a packed parameter as a member: its type, name and count. */
static void export_member(FILE *f, const tfn_param_info *p)
{
    char name[sizeof p->name];
    const bool bytes = p->weights <= TFN_WEIGHTS_Q4;
    memcpy(name, p->name, sizeof name);
    for (char *c = name; *c; c++)
        if (*c == '.') *c = '_';
    fprintf(f, "        %s %s[%zu];\n", bytes ? "unsigned char" : "uint16_t", name,
            bytes ? p->bytes : p->bytes / 2);
}

/* Writes the flat vector in pieces, each packed parameter and the floats between them, as members
 * of a struct or as their values. */
static void export_pieces(FILE *f, const tfn_model *m, bool values)
{
    const int64_t all = m->param_floats + m->buffer_floats;
    int64_t at = 0;
    int count = 0;
    for (int32_t i = 0;; i++) {
        tfn_param_info p;
        const bool more = tfn_model_param(m, i, &p);
        int64_t to = all;
        if (more && !p.weights) continue;
        if (more) to = (const float *)p.packed - m->params;
        if (to > at && values) {
            fprintf(f, "    {");
            export_floats(f, m->params + at, to - at);
            fprintf(f, "\n    }%s\n", more ? "," : "");
        } else if (to > at)
            fprintf(f, "        float floats_%d[%lld];\n", count, (long long)(to - at));
        count += to > at;
        if (!more) return;
        if (values) {
            fprintf(f, "    {");
            export_packed(f, &p);
            fprintf(f, "\n    },\n");
        } else export_member(f, &p);
        at = to + (int64_t)(p.bytes / sizeof(float));
    }
}

/* Writes the parameters in the order of the flat vector. The model reads them in place. */
static void export_weights(FILE *f, const bundle *b, const char *prefix)
{
    const tfn_model *m = &b->model;
    const int64_t n = m->param_floats + m->buffer_floats;
    if (!b->desc.weights) {
        fprintf(f, "static const float %s_weights[%lld] = {", prefix, (long long)n);
        export_floats(f, m->params, n);
        fprintf(f, "\n};\n\n");
        return;
    }
    fprintf(f, "static const union {\n    struct {\n");
    export_pieces(f, m, false);
    fprintf(f, "    } part;\n    float whole[%lld];\n} %s_weights = { {\n", (long long)n, prefix);
    export_pieces(f, m, true);
    fprintf(f, "} };\n\n");
}

/* -- and what it wants of a board */

/* Takes only the options of the file that define a model, as the C file does. */
static void export_describe(tfn_model_desc *d, tfn_file *from, const tfn_model *m)
{
    char key[64], value[128];
    memset(d, 0, sizeof *d);
    for (size_t i = 0; shape_names[i]; i++) {
        snprintf(key, sizeof key, "tfn.%s", shape_names[i]);
        if (tfn_file_text(from, key, value, sizeof value))
            tfn_desc_set(d, shape_names[i], value, NULL);
    }
    d->inference = true;
    d->parameters = m->params;
    d->threads = 1;
    d->isa = TFN_ISA_PLAIN;
}

/* Computes the bytes of a model and of a decoder of one sentence, token by token; *one: of a block
 * with room for both. 0: there is no such decoder. */
static size_t export_sizes(const tfn_model_desc *d, size_t *decoder, size_t *one)
{
    const size_t room = tfn_model_scratch(d);
    void *scratch = reserve(room, 1);
    const size_t size = tfn_model_size(d, scratch, room);
    void *mem = reserve(size, 1);
    tfn_model m;
    tfn_model_init(&m, d, mem, size);
    must_be_ok(&m.error);
    *decoder = tfn_decoder_size(&m, 1, 1, scratch, room);
    *one = m.memory.kept + *decoder;
    if (size > *one) *one = size;
    free(mem);
    free(scratch);
    return size;
}

/* Writes the sizes of model and decoder, so that a board needs no scratch to find them. */
static void export_memory(FILE *f, tfn_file *from, const tfn_model *m, const char *prefix)
{
    tfn_model_desc d;
    size_t decoder, one;
    export_describe(&d, from, m);
    const size_t size = export_sizes(&d, &decoder, &one);
    fprintf(f, "\n/* Bytes for tfn_model_init of %s_desc() and for tfn_decoder_init of one "
               "sentence, token by\n * token, with TFN_ISA_PLAIN, which is what boards have: "
               "nothing is sized there. They are of\n * processors of 64 bits; those of 32 need "
               "no more. */\n", prefix);
    fprintf(f, "enum { %s_memory = %zu };\n", prefix, size);
    if (d.arch == TFN_ARCH_ENCODER) return;
    fprintf(f, "enum { %s_decoder_memory = %zu };\n", prefix, decoder);
    if (d.arch != TFN_ARCH_DECODER) return;
    d.only_decoders = true;
    export_sizes(&d, &decoder, &one);
    fprintf(f, "/* One array for both, with desc.only_decoders: see tfn_memory. */\n"
               "enum { %s_board_memory = %zu };\n", prefix, one);
}

static bool is_c_name(const char *s)
{
    static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    return s[0] && !strchr("0123456789", s[0]) && !s[strspn(s, letters)];
}

int export(settings *s, cli *c)
{
    static bundle b;
    const char *out;
    const char *prefix = text_of(s, O_PREFIX);
    tfn_file from;
    output_file o;
    FILE *f;
    if (given(s, O_HF) && given(s, O_PEFT)) cli_fail(c, "--hf or --peft, not both");
    if (given(s, O_HF)) return hub_export(s, c);
    if (given(s, O_PEFT)) return hub_export_peft(s, c);
    if (s->files == 2 || (given(s, O_OUT) && hub_is_gguf(text_of(s, O_OUT))))
        return hub_export_gguf(s, c);
    if (given(s, O_TYPE)) cli_fail(c, "--type is for a .gguf file");
    if (given(s, O_ADAPTER))
        cli_fail(c, "--adapter needs --hf, --peft or a .gguf file; tfn fold merges it for C");
    if (given(s, O_FAMILY) || given(s, O_DTYPE) || given(s, O_ROUND))
        cli_fail(c, "--family, --dtype and --round need --hf");
    out = out_of(s, c, false);
    if (s->files != 1) cli_fail(c, "expected one model");
    if (!is_c_name(prefix)) cli_fail(c, "--prefix needs a name of C, not \"%s\"", prefix);
    bundle_look(&b, s->file[0]);
    bundle_load(&b, 1, 1);
    f = output_open(&o, out);
    if (!f) return 1;
    fprintf(f, "/* Written by tfn export. Include it after tfnorm.h. %s_desc() returns the "
               "options\n * of the model and uses the weights in place.", prefix);
    if (b.tokenizer.mem)                    /* a model of frames has none */
        fprintf(f, " %s_tokenizer makes a tokenizer\n * in %s_tokenizer_memory bytes.",
                prefix, prefix);
    fprintf(f, " Hash %016llX. */\n", (unsigned long long)tfn_model_hash(&b.model));
    export_weights(f, &b, prefix);
    if (b.tokenizer.mem) export_tokenizer(f, &b, prefix);
    from = file_at(b.path);
    tfn_file_open(&from);
    export_options(f, &from, prefix, b.desc.weights != TFN_WEIGHTS_FLOAT);
    export_memory(f, &from, &b.model, prefix);
    must_be_ok(&from.error);
    tfn_file_close(&from);
    bundle_free(&b);
    return output_close(&o) ? 0 : 1;
}
