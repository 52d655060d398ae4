/* A model with any options of tfn_model_desc, by name, which a page trains on tokens that it gives.
 * Included by engine.c. */

static tfn_model_desc own_desc;
static tfn_model      own_model;
static int32_t       *own_tokens;       /* (batch, context), then as many targets */

/* An option from the text: its name, a zero, its value. */
EXPORT(void, own_set)(void)
{
    tfn_error error;
    const char *value = engine_buffer + strlen(engine_buffer) + 1;
    memset(&error, 0, sizeof error);
    if (tfn_desc_set(&own_desc, engine_buffer, value, &error) != TFN_OK) engine_fail(&error);
}

/* Makes a model with these options. Returns the address of its tokens. */
EXPORT(int32_t *, own_make)(void)
{
    if (tfn_model_new(&own_model, &own_desc, NULL) != TFN_OK) engine_fail(&own_model.error);
    const size_t n = (size_t)own_model.desc.batch * (size_t)own_model.desc.context;
    own_tokens = (int32_t *)malloc(2 * n * sizeof *own_tokens);
    if (!own_tokens) exit(1);
    return own_tokens;
}

static tfn_batch own_batch(int32_t rows, int32_t time)
{
    tfn_batch b;
    memset(&b, 0, sizeof b);
    b.tokens = own_tokens;
    b.targets = own_tokens + own_model.desc.batch * own_model.desc.context;
    b.batch = rows;
    b.time = time;
    return b;
}

EXPORT(const engine_report *, own_step)(int32_t rows, int32_t time)
{
    const tfn_batch b = own_batch(rows, time);
    tfn_report report;
    if (tfn_model_step(&own_model, &b, &report) != TFN_OK) engine_fail(&own_model.error);
    return engine_reported(&report);
}

/* (rows*time, vocab) */
EXPORT(const float *, own_logits)(int32_t rows, int32_t time)
{
    const tfn_batch b = own_batch(rows, time);
    const float *logits = tfn_model_logits(&own_model, &b);
    if (!logits) engine_fail(&own_model.error);
    return logits;
}

EXPORT(uint64_t, own_hash)(void) { return tfn_model_hash(&own_model); }
EXPORT(int32_t, own_context)(void) { return own_model.desc.context; }
EXPORT(int32_t, own_rows)(void) { return own_model.desc.batch; }
EXPORT(int32_t, own_vocab)(void) { return own_model.desc.vocab; }
