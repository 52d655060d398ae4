/* Three commands that print numbers. */
#include "logits.h"
#include "../../tfnorm.h"
#include "../common/library.h"
#include "heads.h"
#include "models.h"
#include "prompt.h"
#include "use.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The ids, segments and source that the options give. They stay until the program ends. */
static void logits_batch(const bundle *b, const settings *s, tfn_batch *batch)
{
    const bool pair = b->desc.arch == TFN_ARCH_ENCODER_DECODER;
    batch->batch = 1;
    batch->tokens = prompt_numbers("--ids", text_of(s, O_IDS), &batch->time);
    batch->segments = segments_given(b, s, batch->time);
    if (pair && !given(s, O_SOURCE_IDS))
        die("%s also reads a source: --source-ids \"ID ID ...\"", b->path);
    if (!pair && given(s, O_SOURCE_IDS)) die("%s reads no source", b->path);
    if (!pair) return;
    batch->source = prompt_numbers("--source-ids", text_of(s, O_SOURCE_IDS), &batch->source_time);
}

int logits(settings *s, cli *c)
{
    static bundle b;
    tfn_batch batch = { 0 };
    const float *z;
    if (s->files != 1) cli_fail(c, "expected one model");
    if (!given(s, O_IDS)) cli_fail(c, "expected --ids \"ID ID ...\"");
    bundle_look(&b, s->file[0]);
    if (b.desc.bands) die("%s reads frames, not tokens", b.path);
    logits_batch(&b, s, &batch);
    if (!given(s, O_HIDDEN)) must_have_head(&b);
    bundle_load(&b, 1, 1);
    int32_t rows = batch.time;
    int32_t cols = tfn_model_channels(&b.model);
    if (given(s, O_HIDDEN)) {
        tfn_stack stack = TFN_STACK_DECODER;
        if (b.desc.arch == TFN_ARCH_ENCODER) stack = TFN_STACK_ENCODER;
        z = tfn_model_hidden(&b.model, &batch, stack, TFN_LAYERS_ALL);
    } else {
        if (library_by_sentences(&b.model.desc)) rows = 1;
        cols = library_logit_cols(&b.model.desc);
        z = tfn_model_logits(&b.model, &batch);
    }
    must_be_ok(&b.model.error);
    for (int32_t t = 0; t < rows; t++)
        for (int32_t v = 0; v < cols; v++)
            printf("%.9g%c", (double)z[t * cols + v], v + 1 < cols ? ' ' : '\n');
    bundle_free(&b);
    return 0;
}

int tokens(settings *s, cli *c)
{
    static bundle b;
    line_file x;
    lines_open(&x, open_use(&b, s, c));
    const tfn_tokenizer *k = &b.tokenizer.tokenizer;
    while (next_line(&x)) {
        int64_t count = k->begins;
        int32_t *ids = x.bytes ? encode_as(&b, x.line, x.bytes, false, &count) : NULL;
        const int32_t *line = ids ? ids : k->frame;
        for (int64_t i = 0; i < count; i++) printf("%s%d", i ? " " : "", (int)line[i]);
        for (int32_t i = 0; i < k->ends; i++)
            printf("%s%d", count + i ? " " : "", (int)k->frame[k->begins + i]);
        printf("\n");
        free(ids);
    }
    lines_close(&x);
    bundle_free(&b);
    return 0;
}

/* -- bits, inspect ----------------------------------------------------------------------------- */

int bits(settings *s, cli *c)
{
    size_t size = tfn_selfcheck_size();
    void *mem = reserve(size, 1);
    uint64_t hash = tfn_selfcheck(mem, size, TFN_ISA_BEST, 1);
    bool fma = tfn_kernels_for(TFN_ISA_BEST)->fma;
    uint64_t wanted = TFN_BITS_HASH;
    const char *of = "";
    if (!fma) {                         /* all such processors have one second set of bits */
        wanted = TFN_BITS_HASH_NO_FMA;
        of = ", that of processors without FMA";
    }
    bool good = hash == wanted;
    if (s->files) cli_fail(c, "nothing may follow bits");
    printf("tfnorm %s, bits version %d, kernels %s\nbits %s\nself-check %016llX, %s %016llX%s\n",
           tfn_version(), TFN_BITS_VERSION, tfn_kernels_for(TFN_ISA_BEST)->name,
           tfn_bits(TFN_ISA_BEST), (unsigned long long)hash, good ? "which is" : "WANTED",
           (unsigned long long)wanted, of);
    free(mem);
    return !good;
}
