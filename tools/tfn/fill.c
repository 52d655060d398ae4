/* Masks and classes of one sentence. */
#include "fill.h"
#include "../../tfnorm.h"
#include "heads.h"
#include "prompt.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILL_SHOWN = 256 };

/* -- masks ------------------------------------------------------------------------------------- */

/* The id of the mask: --mask, else the tokenizer's. */
static int32_t fill_mask(const bundle *b, const settings *s)
{
    const tfn_tokenizer *k = &b->tokenizer.tokenizer;
    int32_t id = -1;
    if (given(s, O_MASK)) {
        id = (int32_t)whole_of(s, O_MASK);
        if (id < b->desc.vocab) return id;
        die("--mask is %d, the vocabulary has %d", (int)id, (int)b->desc.vocab);
    }
    if (b->tokenizer.mem) id = k->special[TFN_SPECIAL_MASK];
    if (b->tokenizer.mem && id < 0) id = tfn_tokenizer_find(k, "[MASK]", 6);
    if (b->tokenizer.mem && id < 0) id = tfn_tokenizer_find(k, "<mask>", 6);
    if (id < 0) die("%s has no token that is a mask: give --mask ID", b->path);
    return id;
}

/* The sentence with "[MASK]" and "<mask>" replaced by the tokenizer's mask. Where words begin with
 * their space, a mask includes the space in front of it. The caller frees it. */
static char *fill_text(const bundle *b, const char *text, int32_t mask)
{
    const tfn_tokenizer *k = &b->tokenizer.tokenizer;
    const bool takes = k->kind == TFN_TOKENIZER_BPE || k->kind == TFN_TOKENIZER_WORDS;
    const char *name = NULL;
    size_t bytes = 0;
    char *to, *at;
    if (b->tokenizer.mem) name = tfn_tokenizer_token(k, mask, &bytes);
    to = at = (char *)reserve((strlen(text) + 1) * (bytes + 1), 1);
    while (*text) {
        if (!strncmp(text, "[MASK]", 6) || !strncmp(text, "<mask>", 6)) {
            while (takes && at > to && at[-1] == ' ') at--;
            if (name) memcpy(at, name, bytes);
            at += bytes;
            text += 6;
        } else *at++ = *text++;
    }
    return to;
}

/* Ends the program unless the model can fill masks, and names its kind. */
static void fill_check(const bundle *b)
{
    if (b->desc.arch != TFN_ARCH_ENCODER)
        die("%s is of the architecture %s, expected an encoder that knows masked words", b->path,
            tfn_choice_name("arch", (int32_t)b->desc.arch));
    if (b->desc.head != TFN_HEAD_TOKENS)
        die("%s predicts %d classes, expected an encoder that knows masked words; try tfn classify",
            b->path, (int)b->desc.classes);
    must_have_head(b);
}

/* Prints a line for each of the likeliest tokens at a mask: the mask's number, the probability, the
 * id, the token. */
static void fill_print(const bundle *b, const float *z, int32_t number, int32_t count)
{
    int32_t *id = (int32_t *)reserve((size_t)count, sizeof *id);
    double *p = (double *)reserve((size_t)count, sizeof *p);
    char text[FILL_SHOWN];
    likeliest(z, b->model.desc.vocab, id, p, count);
    for (int32_t k = 0; k < count; k++) {
        if (id[k] < 0) break;
        printf("%d\t%.4f\t%d", (int)number, p[k], (int)id[k]);
        if (b->tokenizer.mem) printf("\t%s", token_shown(b, id[k], text, sizeof text));
        printf("\n");
    }
    free(id);
    free(p);
}

int fill(settings *s, cli *c)
{
    static bundle b;
    tfn_batch batch = { 0 };
    int32_t found = 0;
    int32_t *ids;
    if (s->files != 1) cli_fail(c, "expected one model");
    bundle_look(&b, s->file[0]);
    b.adapter = text_of(s, O_ADAPTER);
    fill_check(&b);
    const int32_t mask = fill_mask(&b, s);
    if (given(s, O_SAID)) s->text[O_SAID] = fill_text(&b, text_of(s, O_SAID), mask);
    batch.tokens = ids = prompt_ids(&b, s, c, true, b.desc.context, &batch.time);
    batch.batch = 1;
    bundle_load(&b, 1, threads_of(s));
    const float *z = tfn_model_logits(&b.model, &batch);
    must_be_ok(&b.model.error);
    for (int32_t t = 0; t < batch.time; t++) {
        if (ids[t] != mask) continue;
        fill_print(&b, z + (ptrdiff_t)t * b.model.desc.vocab, ++found, (int32_t)whole_of(s, O_TOP));
    }
    if (!found) die("no token is the mask, %d", (int)mask);
    free(ids);
    bundle_free(&b);
    return 0;
}

/* -- classes ----------------------------------------------------------------------------------- */

int classify_sentence(bundle *b, const settings *s, cli *c)
{
    const int32_t classes = b->desc.classes;
    int32_t *id = (int32_t *)reserve((size_t)classes, sizeof *id);
    double *p = (double *)reserve((size_t)classes, sizeof *p);
    tfn_batch batch = { 0 };
    encoder_row x;
    char text[FILL_SHOWN];
    encoder_row_given(&x, b, s, c);
    batch.tokens = x.tokens;
    batch.segments = x.segments;
    batch.time = x.count;
    batch.batch = 1;
    bundle_load(b, 1, threads_of(s));
    const float *z = tfn_model_logits(&b->model, &batch);
    must_be_ok(&b->model.error);
    likeliest(z, classes, id, p, classes);
    for (int32_t k = 0; k < classes; k++)
        if (id[k] >= 0) printf("%.4f\t%s\n", p[k], class_shown(b, id[k], text, sizeof text));
    free(id);
    free(p);
    encoder_row_free(&x);
    bundle_free(b);
    return 0;
}
