/* The mean of weights, then folding scales and gains into the weights. */
#include "average.h"
#include "../../tfnorm.h"
#include "models.h"
#include "use.h"
#include <stdbool.h>
#include <stdio.h>

int average(settings *s, cli *c)
{
    static bundle b;
    tfn_file files[OPTION_FILES];
    const char *out = out_of(s, c, true);
    if (s->files < 1) cli_fail(c, "expected models");
    for (int i = 0; i < s->files; i++) files[i] = file_at(s->file[i]);
    bundle_open(&b, s->file[0]);
    bundle_load(&b, 1, 1);
    tfn_model_load_weights(&b.model, files, s->files);
    for (int i = 0; i < s->files; i++) must_be_file(&files[i].error, s->file[i]);
    bundle_save(&b, &b.from, out, true);
    printf("hash %016llX\n", (unsigned long long)tfn_model_hash(&b.model));
    bundle_free(&b);
    return 0;
}

int fold(settings *s, cli *c)
{
    static bundle b;
    tfn_model from;
    const char *out = out_of(s, c, true);
    if (s->files != 1) cli_fail(c, "expected one model");
    bundle_open(&b, s->file[0]);
    b.adapter = text_of(s, O_ADAPTER);
    bundle_load(&b, 1, 1);
    from = b.model;
    b.desc.folded = true;
    untie_lora(&b.desc, &from);
    tfn_model_new(&b.model, &b.desc, NULL);
    must_be_ok(&b.model.error);
    tfn_model_fold(&b.model, &from);
    must_be_ok(&b.model.error);
    bundle_save(&b, &b.from, out, true);
    printf("parameters %lld, were %lld\nhash %016llX\n", (long long)b.model.param_floats,
           (long long)from.param_floats, (unsigned long long)tfn_model_hash(&b.model));
    tfn_model_free(&from);
    bundle_free(&b);
    return 0;
}
