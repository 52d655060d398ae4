#include "tables.h"
#include "ground.h"
#include "math.h"

/* Sinusoidal positions (T, C): the first half of a row is sin(t * rate_k), the second half
 * cos(t * rate_k) (Vaswani 2017, section 3.5, interleaves them). Tensor2Tensor and Marian use the
 * rates 10000^(-2k/C) and start at position 0. fairseq uses 10000^(-k/(C/2 - 1)), and its first
 * token has position padding_idx + 1 = 2. If C is odd, the last column is 0. */
SHARED void tfn__sinusoid_table(float *table, ptrdiff_t time, ptrdiff_t cols, bool fairseq)
{
    const ptrdiff_t half = cols / 2;
    double span = (double)cols / 2;
    ptrdiff_t first = 0;
    if (fairseq) {
        span = (double)tfn__max(half - 1, 1);
        first = 2;
    }
    for (ptrdiff_t t = 0; t < time; t++, table += cols) {
        for (ptrdiff_t k = 0; k < half; k++) {
            double angle = (double)(first + t) * tfn__pow(10000, -(double)k / span);
            table[k] = (float)tfn__sin(angle);
            table[half + k] = (float)tfn__cos(angle);
        }
        if (cols % 2) table[cols - 1] = 0;
    }
}

/* ALiBi (heads, 2T - 1) (Press 2022, section 3): a row is -m |j - i|, beginning at j - i = 1 - T.
 * Head h of n has the slope m = 2^(-8(h + 1)/n). If n is not a power of two, do as the authors'
 * code: take all slopes for the power of two below n, then every other slope for the one above. */
SHARED void tfn__alibi_table(float *table, ptrdiff_t time, ptrdiff_t heads)
{
    const ptrdiff_t span = 2*time - 1;
    ptrdiff_t n = 1;
    while (2*n <= heads) n *= 2;
    for (ptrdiff_t h = 0; h < heads; h++, table += span) {
        double slope = tfn__pow(2, -8.0 * (double)(h + 1) / (double)n);
        if (h >= n) slope = tfn__pow(2, -4.0 * (double)(2*(h - n) + 1) / (double)n);
        for (ptrdiff_t d = 0; d < span; d++) {
            const ptrdiff_t distance = d - (time - 1);
            if (distance < 0) table[d] = (float)(slope * (double)distance);
            else table[d] = (float)(slope * (double)-distance);
        }
    }
}

/* Returns the bucket of the distance j - i from a query to a key (Raffel 2020, section 2.1, and
 * their code). In an encoder (`both`) keys after the query use the second half of the buckets. In a
 * decoder they are masked, and bucket 0 is as good as any. Within the n buckets of one side the
 * first n/2 hold one distance each, the others grow logarithmically, and all distances from `most`
 * on share the last. */
SHARED int32_t tfn__bucket(int32_t distance, int32_t n, int32_t most, bool both)
{
    int32_t first = 0;
    int32_t exact;
    double share;
    if (both) {
        n /= 2;
        if (distance > 0) first = n;
        else distance = -distance;
    } else {
        distance = (int32_t)tfn__max(-distance, 0);
    }
    exact = n / 2;
    if (distance < exact) return first + distance;
    share = tfn__log((double)distance / exact) / tfn__log((double)most / exact);
    /* 1e-6: at the end of a bucket rounding may put the share just below the integer */
    return first + (int32_t)tfn__min(exact + (ptrdiff_t)(share * (n - exact) + 1e-6), n - 1);
}

/* Returns the rate at which pair j rotates, f = theta^(-2j/r) (Su 2021, eq. 15). r is the head size
 * D, unless only r channels rotate; the others get the rate 0, so that kernels need not know.
 * Scaling (factor s) lets a model read longer texts than it was trained on. Linear (Chen 2023):
 * every pair uses f/s, so that a longer text has the angles seen in training. Llama 3.1: training
 * on L_0 positions covers n = L_0 f/(2 pi) periods of a pair. Pairs with many periods (n >= high)
 * distinguish neighbours and keep f. Pairs with few (n <= low) distinguish far from near and use
 * f/s. Pairs in between use
 *     f ((1 - a)/s + a),  a = (n - low)/(high - low). */
SHARED double tfn__rotary_rate(const tfn_model_desc *d, ptrdiff_t j, ptrdiff_t head_size)
{
    const double two_pi = 6.283185307179586477;
    ptrdiff_t size = head_size;
    double rate, slow, waves, part;
    if (TFN__ALL && d->rotary_size) size = d->rotary_size;
    if (j >= size / 2) return 0;
    rate = tfn__pow((double)d->rotary_base, -2.0 * (double)j / (double)size);
    if (!TFN__ALL || d->rotary_scaling == TFN_ROTARY_SCALING_NONE) return rate;
    slow = rate / (double)d->rotary_factor;
    if (d->rotary_scaling == TFN_ROTARY_SCALING_LINEAR) return slow;
    waves = (double)d->rotary_context * rate / two_pi;
    part = (waves - (double)d->rotary_low) / ((double)d->rotary_high - (double)d->rotary_low);
    if (part >= 1) return rate;
    if (part <= 0) return slow;
    return (1 - part) * slow + part * rate;
}

/* Rotary positions (T, D): row t has the cosines, then the sines, of the angles by which position t
 * rotates a head's pairs of features. */
SHARED void tfn__rotary_table(float *table, ptrdiff_t time, ptrdiff_t head_size,
                              const tfn_model_desc *d)
{
    ptrdiff_t half = head_size / 2;
    for (ptrdiff_t j = 0; j < half; j++) {
        const double rate = tfn__rotary_rate(d, j, head_size);
        for (ptrdiff_t t = 0; t < time; t++) {
            table[t*head_size + j] = (float)tfn__cos((double)t * rate);
            table[t*head_size + half + j] = (float)tfn__sin((double)t * rate);
        }
    }
}
