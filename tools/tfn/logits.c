/* Three commands that print numbers. */
#include "logits.h"
#include "../../tfnorm.h"
#include "../common/library.h"
#include "models.h"
#include "prompt.h"
#include "use.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int logits(settings *s, cli *c)
{
    static tfn_model m;
    static tfn_model_desc d;
    tfn_batch batch = { 0 };
    int32_t *ids;
    const float *z;
    if (s->files != 1) cli_fail(c, "wanted one model");
    if (!given(s, O_IDS)) cli_fail(c, "wanted --ids \"ID ID ...\"");
    tfn_file f = file_at(s->file[0]);
    tfn_model_peek(&f, &d, NULL);
    must_be_file(&f.error, s->file[0]);
    if (d.arch == TFN_ARCH_ENCODER_DECODER) die("%s also reads a source", s->file[0]);
    if (d.bands) die("%s reads frames, not tokens", s->file[0]);
    d.inference = d.blank = true;
    d.batch = 1;
    tfn_model_new(&m, &d, NULL);
    must_be_model(&m, &d);
    tfn_model_load_weights(&m, &f, 1);
    must_be_ok(&f.error);
    batch.tokens = ids = prompt_numbers(text_of(s, O_IDS), &batch.time);
    batch.batch = 1;
    z = tfn_model_logits(&m, &batch);
    must_be_ok(&m.error);
    const bool one = library_by_sentences(&m.desc);
    const int32_t cols = library_logit_cols(&m.desc);
    for (int32_t t = 0; t < (one ? 1 : batch.time); t++)
        for (int32_t v = 0; v < cols; v++)
            printf("%.9g%c", (double)z[t * cols + v], v + 1 < cols ? ' ' : '\n');
    tfn_model_free(&m);
    free(ids);
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
