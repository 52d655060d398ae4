/* examples/11_gesture.c on a board. Flash contains an encoder that gesture_train.c has trained on
 * many people and quantized. A new person, whose gestures it hardly recognizes, makes 48 of them,
 * and the board trains a new head: the frozen encoder reads each gesture once, and the head learns
 * from its output. Prints accuracy before and after, with 8-bit weights and with floats. */
#define TFNORM_NO_TOKENIZERS
#include "gesture.h"
#include "gesture_model.h"
#include "board.h"

enum { TESTED = 2 * BATCH, HEAD_STEPS = 300 };
enum { HEAD = WIDTH * WIDTH + WIDTH + WIDTH * GESTURES + GESTURES };
enum { PADDED = HEAD + 4 * 15 };                /* each of its four parts begins at a cache line */
static unsigned char block[512 * 1024];         /* the board reports how much of it is needed */
static unsigned char nodes[8 * 1024];
static float features[BATCH * WIDTH], work[16 * 1024];
static float weights[PADDED], grads[PADDED], moments[2][PADDED];
static size_t largest;                          /* bytes of the block that were needed */

/* f(x W_p) W_c like a sequence head, and its loss, with the features as input. */
typedef struct head {
    tfn_tape tape;
    tfn_run  run;
    tfn_var  logits;
} head;

static tfn_status make_head(head *h)
{
    tfn_tape *t = &h->tape;
    tfn_var x;
    tfn_var pooler;
    tfn_var pooler_bias;
    tfn_var classifier;
    tfn_var classifier_bias;
    memset(h, 0, sizeof *h);
    tfn_tape_init(t, nodes, sizeof nodes, BATCH, 0, 0, true);
    x = tfn_input(t, 0, TFN_ROWS_BATCH, WIDTH);
    pooler = tfn_param(t, WIDTH, WIDTH);
    pooler_bias = tfn_param(t, 1, WIDTH);
    classifier = tfn_param(t, WIDTH, GESTURES);
    classifier_bias = tfn_param(t, 1, GESTURES);
    x = tfn_linear(t, x, pooler, pooler_bias, TFN_ACTIVATION_TANH);
    h->logits = tfn_linear(t, x, classifier, classifier_bias, TFN_ACTIVATION_IDENTITY);
    tfn_keep(t, h->logits);
    tfn_keep(t, tfn_cross_entropy(t, h->logits, TFN_INT_TARGETS, 0, 0));
    if (tfn_tape_plan(t, tfn_kernels_for(TFN_ISA_BEST), 1) != TFN_OK) return t->error.status;
    if (t->params > PADDED || t->work > (int64_t)(sizeof work / sizeof *work)) return TFN_NO_MEMORY;
    h->run.params = weights;
    h->run.grads = grads;
    h->run.work = work;
    h->run.ints[TFN_INT_TARGETS] = gesture;
    return TFN_OK;
}

/* The encoder's output for gesture b, at its first position. */
static const float *encode(tfn_model *m, int b)
{
    tfn_batch one = { 0 };
    one.frames = frames + b * T * AXES;
    one.lengths = lengths + b;
    one.batch = 1;
    one.time = T;
    return tfn_model_hidden(m, &one, TFN_STACK_LAST, TFN_LAYERS_ALL);
}

static tfn_status learn_head(head *h, tfn_model *m)
{
    tfn_update_args how = { 0 };
    for (int b = 0; b < BATCH; b++) {
        const float *f = encode(m, b);
        if (!f) return m->error.status;
        memcpy(features + b * WIDTH, f, WIDTH * sizeof *f);
    }
    for (int i = 0; i < PADDED; i++) {
        weights[i] = tfn_random_normal(tfn_key_make(3), (uint64_t)i) / 8;
        moments[0][i] = moments[1][i] = 0;
    }
    h->run.batch = BATCH;
    h->run.inputs[0] = features;
    how.optimizer = TFN_OPTIMIZER_ADAMW;
    how.lr = 3e-3f;
    how.beta1 = 0.9f;
    how.beta2 = 0.98f;
    how.eps = 1e-8f;
    how.grad_scale = 1.0f / BATCH;
    for (int step = 1; step <= HEAD_STEPS; step++) {
        tfn_tape_forward(&h->tape, &h->run);
        tfn_tape_backward(&h->tape, &h->run);
        tfn_update_at(&how, step);
        h->tape.kernels->update(weights, grads, moments[0], moments[1], PADDED, &how);
    }
    return TFN_OK;
}

/* The logits of gesture b, from its own head or from the model's. */
static const float *logits_of(tfn_model *m, head *own, int b)
{
    tfn_batch one = { 0 };
    if (own) {
        own->run.batch = 1;
        own->run.inputs[0] = encode(m, b);
        if (!own->run.inputs[0]) return NULL;
        tfn_tape_forward(&own->tape, &own->run);
        return tfn_value(&own->tape, &own->run, own->logits);
    }
    one.frames = frames + b * T * AXES;
    one.lengths = lengths + b;
    one.batch = 1;
    one.time = T;
    return tfn_model_logits(m, &one);
}

/* How many of TESTED gestures are recognized, of one person or (NULL) of many; below 0: an
 * error. */
static int32_t understood(tfn_model *m, head *own, const person *one, uint64_t *hash)
{
    int32_t right = 0;
    drawn = 1000000;
    for (int n = 0; n < TESTED; n++) {
        const float *logits;
        int best = 0;
        if (n % BATCH == 0) record_batch(one);
        logits = logits_of(m, own, n % BATCH);
        if (!logits) return -1;
        *hash = board_fold(*hash, logits, GESTURES);
        for (int k = 1; k < GESTURES; k++) if (logits[k] > logits[best]) best = k;
        right += best == gesture[n % BATCH];
    }
    return right;
}

static void say(const char *name, const char *what, uint64_t value)
{
    char key[40];
    strcpy(key, name);
    strcat(key, what);
    board_number(key, value);
}

static int adapt(const char *name, tfn_weights type, const uint32_t *words, uint64_t *hash)
{
    const person new_one = { .gain = 144, .tempo = 12, .turn = 64 };
    tfn_model_desc desc = gesture_desc();
    tfn_model m;
    head own;
    int32_t like;
    int32_t before;
    int32_t after;
    uint64_t begin;
    size_t size;
    desc.batch = 1;
    desc.inference = true;
    desc.weights = type;
    desc.parameters = (float *)(uintptr_t)words;
    desc.blank = true;                  /* the weights are only read */
    size = tfn_model_size(&desc, block, sizeof block);
    if (tfn_model_init(&m, &desc, block, size) != TFN_OK) return 1;
    if (size > largest) largest = size;
    if (make_head(&own) != TFN_OK) return 2;
    begin = board_count();
    like = understood(&m, NULL, NULL, hash);
    before = understood(&m, NULL, &new_one, hash);
    say(name, "_instructions", (board_count() - begin) / (2 * TESTED));
    drawn = 2000000;
    record_batch(&new_one);
    begin = board_count();
    if (learn_head(&own, &m) != TFN_OK) return 3;
    say(name, "_learning", board_count() - begin);
    *hash = board_fold(*hash, weights, PADDED);
    after = understood(&m, &own, &new_one, hash);
    if (like < 0 || before < 0 || after < 0) return 4;
    say(name, "_like", (uint64_t)like);
    say(name, "_before", (uint64_t)before);
    say(name, "_after", (uint64_t)after);
    return after <= before;
}

int board_main(void)
{
    uint64_t hash = BOARD_EMPTY;
    const int packed = adapt("q8", TFN_WEIGHTS_Q8, model_q8, &hash);
    const int floats = adapt("float32", TFN_WEIGHTS_FLOAT, model_float32, &hash);
    board_number("tested", TESTED);
    board_hash("hash", hash);
    board_report(sizeof block, largest);
    return packed * 10 + floats;
}
