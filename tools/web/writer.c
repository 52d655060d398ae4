/* A model from a file that writes a text, for generate.html: a decoder with its tokenizer, as saved
 * by `tfn train`. It reads one token after the other. Included by engine.c.
 *
 * The file is read in pieces, so that memory holds the weights once. */

/* The logit lens is a whole forward, which keeps the values of every layer for the longest text. If
 * they need more bytes than this, the model has no lens, and only its decoders run. */
enum { WRITER_WORKSPACE = 1 << 28 };

static tfn_model     writer_model;
static tfn_tokenizer writer_tokenizer;
static tfn_decoder   writer_decoder;
static int32_t      *writer_ids;        /* the tokens read so far, at most the context */
static int32_t       writer_count;
static float        *writer_weights;    /* (context): of one attention, the mean of its heads */
static float        *writer_heads;      /* (heads, context) */
static tfn_io        writer_io;
static bool          writer_spaced;     /* words begin with a space, as in the playground */

static _Noreturn void writer_fail(const char *why)
{
    fprintf(stderr, "%s", why);
    exit(1);
}

static void writer_take_tokenizer(tfn_file *f)
{
    tfn_tokenizer_source source;
    memset(&source, 0, sizeof source);
    source.blob_size = tfn_checkpoint_tokenizer(f, NULL, 0);
    if (!source.blob_size) writer_fail("it has no tokenizer: tfn train keeps one");
    void *blob = malloc(source.blob_size);
    if (!blob) exit(1);
    tfn_checkpoint_tokenizer(f, blob, source.blob_size);
    source.blob = blob;
    engine_buffer[0] = 0;
    if (tfn_file_open(f) != TFN_OK) engine_fail(&f->error);
    tfn_file_text(f, "extra", engine_buffer, ENGINE_TEXT);
    tfn_file_close(f);
    writer_spaced = !strncmp(engine_buffer, "playground ", 11);
    const size_t size = tfn_tokenizer_size(&source);
    if (tfn_tokenizer_init(&writer_tokenizer, &source, malloc(size), size) != TFN_OK)
        engine_fail(&writer_tokenizer.error);
    if (writer_tokenizer.kind != TFN_TOKENIZER_WORDS) writer_spaced = false;
}

static void writer_make_decoder(void)
{
    const tfn_model_desc *d = &writer_model.desc;
    const size_t scratch_size = tfn_model_scratch(d);
    void *scratch = malloc(scratch_size);
    const size_t context = (size_t)d->context;
    size_t size = 0;
    if (scratch) size = tfn_decoder_size(&writer_model, 1, 0, scratch, scratch_size);
    if (tfn_decoder_init(&writer_decoder, &writer_model, 1, 0, malloc(size), size) != TFN_OK)
        engine_fail(&writer_decoder.error);
    writer_ids = (int32_t *)malloc(context * sizeof *writer_ids);
    writer_weights = (float *)malloc(context * sizeof *writer_weights);
    writer_heads = (float *)malloc(context * (size_t)d->heads * sizeof *writer_heads);
    if (!writer_ids || !writer_weights || !writer_heads) exit(1);
}

static bool writer_read_file(void *user, uint64_t at, void *to, size_t bytes)
{
    (void)user;
    return web_read((double)at, to, bytes) != 0;
}

static int64_t writer_parameters(void)
{
    tfn_param_info p;
    int64_t n = 0;
    for (int32_t i = 0; tfn_model_param(&writer_model, i, &p); i++) n += (int64_t)p.rows * p.cols;
    return n;
}

static size_t writer_bytes(const tfn_model_desc *d)
{
    const size_t scratch_size = tfn_model_scratch(d);
    void *scratch = malloc(scratch_size);
    size_t bytes = SIZE_MAX;
    if (scratch) bytes = tfn_model_size(d, scratch, scratch_size);
    free(scratch);
    return bytes;
}

/* Makes the model of a checkpoint of `size` bytes. The text then describes it: names, each with a
 * value. */
EXPORT(void, writer_open)(double bytes)
{
    tfn_model_desc d;
    tfn_file f;
    int64_t step;
    memset(&f, 0, sizeof f);
    writer_io.read = writer_read_file;
    writer_io.size = (uint64_t)bytes;
    f.io = &writer_io;
    if (tfn_model_peek(&f, &d, &step) != TFN_OK) engine_fail(&f.error);
    if (d.arch != TFN_ARCH_DECODER) writer_fail("it is no decoder, and does not go on with a text");
    d.inference = true;
    d.batch = d.threads = 1;
    d.isa = TFN_ISA_BEST;
    const size_t whole = writer_bytes(&d);
    d.only_decoders = true;
    d.only_decoders = whole - writer_bytes(&d) > WRITER_WORKSPACE;
    if (tfn_model_new(&writer_model, &d, NULL) != TFN_OK) engine_fail(&writer_model.error);
    if (tfn_model_load(&writer_model, &f) != TFN_OK) engine_fail(&f.error);
    writer_take_tokenizer(&f);
    writer_make_decoder();
    snprintf(engine_buffer, ENGINE_TEXT,
             "recipe\t%s\nlayers\t%d\nwidth\t%d\nheads\t%d\nvocab\t%d\ncontext\t%d\n"
             "parameters\t%lld\nweights\t%s\nlens\t%d\n", writer_model.desc.recipe,
             (int)writer_model.desc.layers, (int)writer_model.desc.width,
             (int)writer_model.desc.heads, (int)writer_model.desc.vocab,
             (int)writer_model.desc.context, (long long)writer_parameters(),
             tfn_choice_name("weights", (int32_t)d.weights), !writer_model.desc.only_decoders);
}

static void writer_restart(void)
{
    writer_count = 0;
    if (tfn_decoder_start(&writer_decoder, NULL) != TFN_OK) engine_fail(&writer_decoder.error);
}

/* Reads one more token. Returns the scores of the next one. A full context continues with its later
 * half, as in tfn generate. */
EXPORT(const float *, writer_read)(int32_t id)
{
    if (writer_count == writer_model.desc.context) {
        const int32_t half = writer_count / 2;
        int32_t *later = writer_ids + writer_count - half;
        writer_restart();
        for (int32_t i = 0; i < half; i++) writer_read(later[i]);
    }
    const float *logits = tfn_decoder_next(&writer_decoder, &id, 1, NULL);
    if (!logits) engine_fail(&writer_decoder.error);
    writer_ids[writer_count++] = id;
    return logits;
}

/* Begins anew with the text, or with its last tokens, which may fill three quarters of the context.
 * Returns the scores of the next token. An empty text counts as a newline. */
EXPORT(const float *, writer_begin)(void)
{
    const tfn_tokenizer *k = &writer_tokenizer;
    if (!engine_buffer[0]) strcpy(engine_buffer, "\n");
    size_t bytes = strlen(engine_buffer);
    if (writer_spaced && bytes < ENGINE_TEXT - 1) {
        memmove(engine_buffer + 1, engine_buffer, ++bytes);
        engine_buffer[0] = ' ';
    }
    ptrdiff_t room = (ptrdiff_t)(3 * bytes + 2);
    ptrdiff_t count;
    int32_t *ids;
    for (;; room = count) {             /* some normalizers and rules need more */
        ids = (int32_t *)malloc((size_t)room * sizeof *ids);
        if (!ids) exit(1);
        count = tfn_tokenizer_encode(k, ids, room, engine_buffer, bytes);
        if (count <= room) break;
        free(ids);
    }
    ptrdiff_t from = 0;
    ptrdiff_t most = writer_model.desc.context * 3 / 4 - k->begins;
    const float *logits = NULL;
    if (most < 1) most = 1;
    if (count > most) from = count - most;
    writer_restart();
    for (int32_t i = 0; i < k->begins; i++) logits = writer_read(k->frame[i]);
    for (; from < count; from++) logits = writer_read(ids[from]);
    free(ids);
    if (!logits) logits = writer_read(0);
    return logits;
}

EXPORT(int32_t, writer_length)(void) { return writer_count; }
EXPORT(int32_t, writer_id)(int32_t i) { return writer_ids[i]; }
EXPORT(int32_t, writer_end)(void) { return writer_tokenizer.special[TFN_SPECIAL_EOS]; }

/* Gets the bytes that a token has in a text, and returns their number. Some tokenizers drop the
 * space before a text's first token, so this decodes the token twice and takes the second. */
EXPORT(size_t, writer_token)(int32_t id)
{
    const int32_t twice[2] = { id, id };
    const size_t first = tfn_tokenizer_decode(&writer_tokenizer, NULL, 0, &id, 1);
    size_t all = tfn_tokenizer_decode(&writer_tokenizer, engine_buffer, ENGINE_TEXT, twice, 2);
    if (all > ENGINE_TEXT) all = first;
    for (size_t i = first; i < all; i++) engine_buffer[i - first] = engine_buffer[i];
    return all - first;
}

/* Returns the attention weights of the token `id` on each token before it and on itself, in a
 * layer: (writer_length() + 1) numbers of a head, or the mean of all heads if `head` is below 0.
 * NULL: the context is full, so the token would be read in a new one. */
EXPORT(const float *, writer_attention)(int32_t id, int32_t layer, int32_t head)
{
    const int32_t heads = writer_model.desc.heads;
    const int32_t keys = writer_count + 1;
    if (writer_count == writer_model.desc.context) return NULL;
    if (tfn_decoder_attention(&writer_decoder, &id, 1, layer, TFN_SUBLAYER_SELF_ATTENTION, head,
                              writer_heads) != TFN_OK) engine_fail(&writer_decoder.error);
    if (head >= 0) return writer_heads;
    for (int32_t j = 0; j < keys; j++) {
        writer_weights[j] = 0;
        for (int32_t h = 0; h < heads; h++) writer_weights[j] += writer_heads[h*keys + j];
        writer_weights[j] /= (float)heads;
    }
    return writer_weights;
}

/* The logit lens: returns the scores of the next token if the model ended after `layers` layers.
 * NULL: this model has no lens, and the text says why. */
EXPORT(const float *, writer_lens)(int32_t layers)
{
    tfn_model *m = &writer_model;
    tfn_batch b;
    memset(&b, 0, sizeof b);
    b.tokens = writer_ids;
    b.batch = 1;
    b.time = writer_count;
    const float *logits = tfn_model_lens(m, &b, layers);
    if (logits) return logits + (ptrdiff_t)(writer_count - 1) * m->desc.vocab;
    tfn_error_text(&m->error, engine_buffer, ENGINE_TEXT);
    memset(&m->error, 0, sizeof m->error);
    return NULL;
}
