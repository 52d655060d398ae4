/* Trains, then decodes, in a small build and in a full one: the hashes must be the same. Then tries
 * features that only the full build has, with the error of the small one. See small.sh. */
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#include <inttypes.h>
#include <stdio.h>

enum { VOCAB = 11, T = 8, STEPS = 6 };

static bool lean;                   /* without dropout and groups */

static tfn_model_desc options(void)
{
    tfn_model_desc d = { 0 };
    d.vocab = VOCAB;
    d.context = T;
    d.width = 16;
    d.heads = 2;
    d.micro_batches = 2;
    d.recompute = true;
    d.schedule.lr = 0.01f;
    if (lean) return d;
    d.dropout = 0.1f;
    strcpy(d.groups[0].pattern, "decoder.0.*");
    d.groups[0].frozen = true;
    return d;
}

static int train(tfn_model *m, const char *name)
{
    const tfn_model_desc desc = options();
    int32_t tokens[T + 1];
    tfn_batch batch = { 0 };
    tfn_report report;
    if (tfn_model_new(m, &desc, NULL) != TFN_OK) return 1;
    batch.tokens = tokens;
    batch.targets = tokens + 1;
    batch.batch = 1;
    batch.time = T;
    for (int i = 0; i < 2 * STEPS; i++) {
        for (int k = 0; k <= T; k++) tokens[k] = (i + k * k) % VOCAB;
        if (tfn_model_step(m, &batch, &report) != TFN_OK) return 2;
    }
    printf("%s %016" PRIX64 "\n", name, tfn_model_hash(m));
    return 0;
}

/* Hash of the logits of T tokens, from a decoder of a model with these weights. */
static uint64_t decode(float *weights, bool only_decoders)
{
    static unsigned char cache[32768];
    tfn_model_desc desc = options();
    uint64_t hash = 1;
    tfn_batch batch = { 0 };
    tfn_model m;
    tfn_decoder d;
    int32_t token = 3;
    desc.inference = true;
    desc.parameters = weights;
    desc.only_decoders = only_decoders;
    if (tfn_model_new(&m, &desc, NULL) != TFN_OK) return 0;
    batch.tokens = &token;
    batch.batch = batch.time = 1;
    if ((tfn_model_logits(&m, &batch) == NULL) != only_decoders) return 0;
    if ((m.error.status == TFN_BAD_BATCH) != only_decoders) return 0;
    if ((m.memory.kept < m.memory.total) != only_decoders) return 0;
    if (tfn_decoder_init(&d, &m, 1, 1, cache, sizeof cache) != TFN_OK) return 0;
    for (int i = 0; i < T; i++) {
        uint32_t bits[VOCAB];
        const float *logits = tfn_decoder_next(&d, &token, 1, NULL);
        if (!logits) return 0;
        memcpy(bits, logits, sizeof bits);
        for (int k = 0; k < VOCAB; k++) hash = tfn_random_bits(tfn_key_make(hash), bits[k]);
        token = (int32_t)(hash % VOCAB);
    }
    tfn_model_free(&m);
    return hash;
}

static void try(const char *name, const tfn_model_desc *desc)
{
    char text[200];
    tfn_model_desc resolved;
    tfn_error e;
    if (tfn_model_resolve(&resolved, desc, &e)) printf("%s: there\n", name);
    else printf("%s: %d, %s\n", name, (int)e.status, tfn_error_text(&e, text, sizeof text));
}

/* A user's row that multiplies the stream by a learned number. */
static void try_scales(void)
{
    char text[200];
    tfn_model_desc desc = options();
    tfn_topology mine = *tfn_topology_find("pre");
    tfn_model m;
    mine.name = "mine";
    mine.attention.skip.kind = TFN_SCALE_LEARNED;
    desc.topology = &mine;
    if (tfn_model_new(&m, &desc, NULL) == TFN_OK) printf("scales: there\n");
    else printf("scales: %d, %s\n", (int)m.error.status, tfn_error_text(&m.error, text, sizeof text));
    tfn_model_free(&m);
}

/* The same for operations, each on its own tape with x (T, 16). */
static tfn_tape tape;
static tfn_var x;

static bool begin(void)
{
    static double block[1000];
    tfn_tape_init(&tape, block, sizeof block, 1, T, T, lean);
    x = tfn_input(&tape, 0, TFN_ROWS_TARGET, 16);
    return x.id != 0;
}

static void end(const char *name, tfn_var made)
{
    char text[200];
    if (made.id) printf("%s: there\n", name);
    else printf("%s: %d, %s\n", name, (int)tape.error.status,
                tfn_error_text(&tape.error, text, sizeof text));
}

/* A call of an operation, in which `one` is a parameter (1, 1), and `y` and `z` are other
 * inputs. */
#define RECORD(call)                                                                               \
    do {                                                                                           \
        tfn_var one, y, z, made;                                                                   \
        if (!begin()) break;                                                                       \
        one = tfn_param(&tape, 1, 1);                                                              \
        y = tfn_input(&tape, 1, TFN_ROWS_TARGET, 16);                                              \
        z = tfn_input(&tape, 2, TFN_ROWS_TARGET, 16);                                              \
        (void)one;                                                                                 \
        (void)y;                                                                                   \
        (void)z;                                                                                   \
        made = call;                                                                               \
        end(#call, made);                                                                          \
    } while (0)

static void record(void)
{
    const tfn_var none = { 0 };
    tfn_norm_args rms = { 0 };
    rms.kind = TFN_NORM_RMS;
    rms.eps = 1;
    RECORD(tfn_norm(&tape, x, none, none, 16, &rms));
    RECORD(tfn_activation(&tape, x, TFN_ACTIVATION_RELU));
    RECORD(tfn_linear(&tape, x, tfn_param(&tape, 16, 2), none, TFN_ACTIVATION_TANH));
    RECORD(tfn_glu(&tape, x, y, TFN_ACTIVATION_GELU_TANH));
    RECORD(tfn_scale(&tape, x, one));
    RECORD(tfn_rotary(&tape, x, tfn__table(&tape, T, 16), 16));
    RECORD(tfn_first_rows(&tape, x));
    RECORD(tfn_number_loss(&tape, x, 0, TFN_NUMBER_LOSS_SQUARED, 1));
    RECORD(tfn_shift(&tape, x, one, 1));
    RECORD(tfn_linear(&tape, x, tfn_param(&tape, 16, 2), none, TFN_ACTIVATION_IDENTITY));
}

#define TRY(member, value) do { desc = options(); desc.member = value; try(#member, &desc); } while (0)

/* Features that a build without decoders, dropout and groups lacks. */
static void try_lean(void)
{
    static unsigned char cache[32768];
    char text[200];
    tfn_decoder d;
    tfn_model m;
    tfn_model_desc desc = options();
    if (tfn_model_new(&m, &desc, NULL) != TFN_OK) return;
    if (tfn_decoder_init(&d, &m, 1, 1, cache, sizeof cache) == TFN_OK) printf("decoder: there\n");
    else printf("decoder: %d, %s\n", (int)d.error.status, tfn_error_text(&d.error, text, sizeof text));
    tfn_model_free(&m);
    TRY(dropout, 0.1f);
    TRY(attention_dropout, 0.1f);
    TRY(activation_dropout, 0.1f);
    TRY(groups[0].pattern[0], '*');
    RECORD(tfn_dropout(&tape, x, 0.5f));
    RECORD(tfn_attention(&tape, x, y, z, 1, 1, true, -1, 0.5f));
}

int main(void)
{
    tfn_param_info first;
    tfn_model_desc desc;
    tfn_model m;
    int failed;
    lean = true;
    if (train(&m, "lean")) return 1;
    tfn_model_free(&m);
    try_lean();
#ifdef TFNORM_NO_DECODERS           /* it also lacks the groups and the dropout used below */
    return 0;
#endif
    lean = false;
    failed = train(&m, "trained");
    if (failed || !tfn_model_param(&m, 0, &first)) return failed + 1;
    printf("decoded %016" PRIX64 "\n", decode(first.data, false));
    printf("decoded %016" PRIX64 "\n", decode(first.data, true));
    TRY(arch, TFN_ARCH_ENCODER);
    TRY(norm, "rmsnorm");
    TRY(position, TFN_POSITION_ROTARY);
    TRY(activation, TFN_ACTIVATION_SWIGLU);
    TRY(optimizer, TFN_OPTIMIZER_SGD);
    TRY(schedule.kind, TFN_SCHEDULE_NOAM);
    TRY(recipe, "rezero");
    TRY(window, 2);
    TRY(weights, TFN_WEIGHTS_Q8);
    TRY(moment_type, TFN_MOMENT_TYPE_BF16);
    TRY(cache_type, TFN_CACHE_TYPE_BF16);
    TRY(init, "fixup");
    try_scales();
    record();
    TRY(activation, TFN_ACTIVATION_GELU_TANH);
    tfn_model_free(&m);
    return 0;
}
