/* cc -O2 examples/11_gesture.c -o gesture -lm && ./gesture
 * Classifies sensor data: six gestures of a hand that holds an accelerometer with three axes,
 * sampled 25 times per second. A linear map turns each sample into a position of an encoder, which
 * learns from many people. It misclassifies most gestures of a new person, whose device is turned
 * by 90 degrees and whose gestures are quick and gentle. Then a new head learns from 48 labelled
 * gestures of this person while the encoder is frozen. It has a few hundred weights, which fit into
 * a microcontroller. The gestures are generated with integers, to be the same on all machines.
 * Prints:
 *     ...
 *     people like those heard: 99.9 %
 *     the new one, before:     33.9 %
 *     after 48 gestures:       92.4 %, by 768 of 11792 numbers */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <stdio.h>
#include <string.h>

enum { T = 40, AXES = 3, GESTURES = 6, BATCH = 48, STEPS = 500, OWN_STEPS = 300, TESTS = 20 };
static float frames[BATCH * T * AXES];
static int32_t gesture[BATCH], lengths[BATCH];
static const tfn_batch batch = { .frames = frames, .targets = gesture, .lengths = lengths,
                                 .batch = BATCH, .time = T };

/* How a person moves: 256 is 1 g, and a full turn. */
typedef struct person { int gain, tempo, turn; } person;

static uint64_t drawn;
static int below(int n) { return (int)(tfn_random_bits(tfn_key_make(7), drawn++) % (uint64_t)n); }

/* Like a sine of period 256, between -4096 and 4096: two parabolas. */
static int wave(int t)
{
    const int arc = (t & 127) * (128 - (t & 127));
    return t & 128 ? -arc : arc;
}

/* The movement of the hand at time t of 256, along x (to the right), y (up) and z. */
static void move(int which, int t, int *a)
{
    const int x[GESTURES] = { wave(t + 64), wave(t + 64), wave(2*t), wave(t), 0, wave(3*t) };
    const int y[GESTURES] = { wave(t), -wave(t), 0, wave(2*t), wave(2*t), 0 };
    a[0] = x[which];                    /* circle, and back; wave; eight; nod; and a shake that */
    a[1] = y[which];                    /* looks similar */
    a[2] = which == 5 ? wave(t / 2) : 0;
}

/* One gesture: the movement, gravity, the device turned about z, and noise. */
static int32_t record(float *to, int which, const person *p)
{
    const int sine = wave(p->turn), cosine = wave(p->turn + 64), start = below(33) - 16;
    const int32_t frame_count = 256 / p->tempo < T ? 256 / p->tempo : T;
    for (int32_t i = 0; i < frame_count; i++, to += AXES) {
        int a[AXES];
        move(which, i * p->tempo + start, a);
        for (int k = 0; k < AXES; k++) a[k] = a[k] * p->gain / 4096 + (k == 1) * 256;
        to[0] = (float)((a[0] * cosine - a[1] * sine) / 4096) / 256;
        to[1] = (float)((a[0] * sine + a[1] * cosine) / 4096) / 256;
        to[2] = (float)a[2] / 256;
        for (int k = 0; k < AXES; k++) to[k] += (float)(below(129) + below(129) - 128) / 256;
    }
    return frame_count;
}

/* Record a batch of one person's gestures, or (NULL) of a different person's each. */
static void record_batch(const person *one)
{
    for (int b = 0; b < BATCH; b++) {
        person p = { .gain = 160 + below(193) };
        p.tempo = 7 + below(6);
        p.turn = below(65) - 32;
        gesture[b] = b % GESTURES;
        lengths[b] = record(frames + b * T * AXES, gesture[b], one ? one : &p);
    }
}

static double accuracy(tfn_model *m, const person *one)
{
    tfn_accuracy a = { 0 };
    for (drawn = 1000000; a.rows < TESTS * BATCH;) {
        record_batch(one);
        tfn_accuracy_add_logits(&a, tfn_model_logits(m, &batch), gesture, BATCH, 1, GESTURES);
    }
    return 100.0 * (double)a.right / (double)a.tokens;
}

int main(void)
{
    const person new_one = { .gain = 144, .tempo = 12, .turn = 64 };
    tfn_model_desc desc = { .arch = TFN_ARCH_ENCODER, .bands = AXES, .context = T, .batch = BATCH,
        .frame_map = TFN_FRAME_MAP_LINEAR, .head = TFN_HEAD_SEQUENCE, .classes = GESTURES,
        .width = 24, .heads = 2, .ffn = 48, .schedule = { .lr = 3e-3f } };
    tfn_model many, own;
    tfn_report r = { 0 };
    tfn_param_info p, q;
    if (tfn_model_new(&many, &desc, NULL) != TFN_OK) return 1;
    for (int step = 1; step <= STEPS; step++) {
        record_batch(NULL);
        tfn_model_step(&many, &batch, &r);
        if (step % 100 == 0) printf("step %d: loss %.4f\n", step, r.loss);
    }
    printf("people like those heard: %.1f %%\n", accuracy(&many, NULL));
    printf("the new one, before:     %.1f %%\n", accuracy(&many, &new_one));

    if (!tfn_group_add(&desc, "encoder.* frozen", NULL)) return 1;
    if (tfn_model_new(&own, &desc, NULL) != TFN_OK) return 1;
    for (int i = 0; tfn_model_param(&own, i, &p) && tfn_model_param(&many, i, &q); i++)
        if (p.frozen) memcpy(p.data, q.data, (size_t)(p.rows * p.cols) * sizeof *p.data);
    record_batch(&new_one);
    for (int step = 1; step <= OWN_STEPS; step++) tfn_model_step(&own, &batch, &r);
    printf("after %d gestures:       %.1f %%, by %d of %d numbers\n", BATCH,
           accuracy(&own, &new_one), (int)own.trained_floats, (int)own.param_floats);
    tfn_model_free(&many);
    tfn_model_free(&own);
    return 0;
}
