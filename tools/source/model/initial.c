#include "initial.h"
#include "../ground/ground.h"
#include "../tape/run.h"
#include "options.h"
#include "resolve.h"
#include "builder.h"

TFN__SMALL
/* A first value is a draw of the base distribution in the init's row, times the gain that its rule
 * gives for the weight's place (see topologies). Each number has its own index in a random stream
 * of the seed and the weight, so it depends on no other weight. Builds without training draw
 * nothing, because their weights are loaded. */

/* Returns the numbers of a weight. Running statistics and other state are in the buffers. */
SHARED float *tfn__weight_data(const tfn_model *m, const tfn__weight *w)
{
    if (w->kind >= TFN__STATE) return m->run.buffers + w->at;
    return m->params + w->at;
}

/* True for tables with a row for each word, position or segment. Other matrices are maps (in, out).
 */
SHARED bool tfn__is_table(int part)
{
    return part >= TFN__PART_EMBEDDING && part <= TFN__PART_SEGMENT;
}

/* True if a matrix goes from the stream to logits or classes. */
static bool tfn__is_output(const tfn__weight *w)
{
    return w->part == TFN__PART_OUTPUT || w->part == TFN__PART_CLASSIFIER;
}

/* True for a hidden matrix, whose two sides grow with the width. */
SHARED bool tfn__is_hidden(const tfn__weight *w)
{
    return w->kind == TFN__MATRIX && !tfn__is_table(w->part) && !tfn__is_output(w);
}

/* Makes a vector of n numbers, `step` apart, v/|v|; 0 stays 0. */
SHARED void tfn__unit_vector(float *v, ptrdiff_t n, ptrdiff_t step)
{
    double sum = 0;
    float scale = 0;
    for (ptrdiff_t i = 0; i < n; i++) sum += (double)v[i*step] * (double)v[i*step];
    if (sum > 0) scale = 1 / TFN__SQRT((float)sum);
    for (ptrdiff_t i = 0; i < n; i++) v[i*step] *= scale;
}

/* Redraws the normal numbers beyond two standard deviations, about one in 22. */
static void tfn__draw_again(float *y, ptrdiff_t n, tfn_key key, uint64_t first)
{
    for (ptrdiff_t i = 0; i < n; i++)
        for (uint64_t draw = 1; y[i] * y[i] > 4; draw++)
            y[i] = tfn_random_normal(tfn_key_fold(key, draw), first + (uint64_t)i);
}

/* Returns the gain of a part. W_3, the factor next to a GLU's gate, has the gain of W_1. */
static float tfn__gain_of(const tfn_gains *g, int part)
{
    switch (part) {
    case TFN__PART_Q:  return g->q;
    case TFN__PART_K:  return g->k;
    case TFN__PART_V:  return g->v;
    case TFN__PART_O:  return g->o;
    case TFN__PART_W1:
    case TFN__PART_W3: return g->w1;
    case TFN__PART_W2: return g->w2;
    case TFN__PART_EMBEDDING: return g->embedding;
    default:           return 1;
    }
}

/* Returns the gain of a weight at its place. A weight of no stack, such as a shared embedding,
 * counts as the encoder's if there is one. A weight of no sub-layer counts as feed-forward of the
 * first layer. */
static float tfn__init_gain(const tfn_model_desc *d, const tfn_init_rule *rule,
                            const tfn__weight *w)
{
    tfn_gains g = { 1, 1, 1, 1, 1, 1, 1 };
    tfn_sublayer kind = TFN_SUBLAYER_FFN;
    bool decoder = w->stack == TFN__IN_DECODER;
    tfn_place place;
    if (!TFN__ALL || !rule->rule) return 1;
    if (w->stack == TFN__NO_STACK) decoder = tfn__is_decoder_only(d) || d->separate_source;
    if (w->sub < TFN__NO_SUB) kind = (tfn_sublayer)w->sub;
    place = tfn__place_at(d, decoder, kind, (int32_t)tfn__max(w->layer + 1, 1));
    rule->rule(&place, &g);
    return tfn__gain_of(&g, w->part);
}

/* Draws n numbers from the base distribution with standard deviation, or half-width, `size`. An
 * orthonormal matrix starts as a normal one. */
static void tfn__draw(const tfn_kernels *k, float *y, ptrdiff_t n, tfn_distribution base,
                      tfn_key key, uint64_t first, float size)
{
    const bool uniform = base == TFN_DISTRIBUTION_XAVIER_UNIFORM
                      || base == TFN_DISTRIBUTION_FAN_IN_UNIFORM
                      || base == TFN_DISTRIBUTION_MIRRORED;
    if (base != TFN_DISTRIBUTION_TRUNCATED_NORMAL) {
        k->random_values(y, n, key, first, size, !uniform);
        return;
    }
    k->random_values(y, n, tfn_key_fold(key, 0), first, 1, true);
    tfn__draw_again(y, n, key, first);
    for (ptrdiff_t i = 0; i < n; i++) y[i] *= size;
}

/* Returns the standard deviation, or half-width sqrt(3 v) for variance v, of a matrix (in, out). */
SHARED float tfn__spread(const tfn_init_rule *rule, tfn_distribution base, int32_t in, int32_t out)
{
    switch (base) {
    case TFN_DISTRIBUTION_XAVIER_NORMAL:  return TFN__SQRT(2 / (float)(in + out));
    case TFN_DISTRIBUTION_XAVIER_UNIFORM:
    case TFN_DISTRIBUTION_MIRRORED:       return TFN__SQRT(6 / (float)(in + out));
    case TFN_DISTRIBUTION_FAN_IN_UNIFORM:
    case TFN_DISTRIBUTION_FAN_IN_NORMAL:  return 1 / TFN__SQRT((float)in);
    case TFN_DISTRIBUTION_HE_NORMAL:      return TFN__SQRT(2 / (float)in);
    case TFN_DISTRIBUTION_ORTHOGONAL:     return 1;
    case TFN_DISTRIBUTION_NORMAL:
    case TFN_DISTRIBUTION_TRUNCATED_NORMAL: break;
    }
    return rule->std;
}

/* Makes the rows orthonormal, or the columns if they are fewer, then scales by the gain.
 * Gram-Schmidt: subtracts from v its projection (v . u) u on each earlier u. */
static void tfn__orthonormal(float *p, ptrdiff_t rows, ptrdiff_t cols, float gain)
{
    const ptrdiff_t count = tfn__min(rows, cols);
    const ptrdiff_t n = tfn__max(rows, cols);
    ptrdiff_t next = cols;        /* from vector to vector, and within one: rows */
    ptrdiff_t step = 1;
    if (rows > cols) {            /* columns */
        next = 1;
        step = cols;
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        float *v = p + i*next;
        for (ptrdiff_t j = 0; j < 2*i; j++) {       /* twice, because once leaves rounding errors */
            const float *u = p + j%i*next;
            double dot = 0;
            for (ptrdiff_t k = 0; k < n; k++) dot += (double)v[k*step] * (double)u[k*step];
            for (ptrdiff_t k = 0; k < n; k++) v[k*step] -= (float)dot * u[k*step];
        }
        tfn__unit_vector(v, n, step);
    }
    for (ptrdiff_t i = 0; i < rows*cols; i++) p[i] *= gain;
}

/* Mirrors the columns: W_1 = [A, -A]. An odd last column is 0. */
static void tfn__mirror_columns(float *p, ptrdiff_t rows, ptrdiff_t cols)
{
    const ptrdiff_t half = cols / 2;
    for (ptrdiff_t r = 0; r < rows; r++, p += cols) {
        for (ptrdiff_t c = 0; c < half; c++) p[half + c] = -p[c];
        if (cols > 2*half) p[2*half] = 0;
    }
}

/* Mirrors the rows: W_2 = [C; -C]. */
static void tfn__mirror_rows(float *p, ptrdiff_t rows, ptrdiff_t cols)
{
    const ptrdiff_t half = rows / 2 * cols;
    for (ptrdiff_t i = 0; i < half; i++) p[half + i] = -p[i];
    for (ptrdiff_t i = 2*half; i < rows*cols; i++) p[i] = 0;
}

/* True for W_1 to W_3. */
static bool tfn__is_ffn(int part) { return part >= TFN__PART_W1 && part <= TFN__PART_W3; }

/* Returns the row's distribution of a matrix; the feed-forward may have its own. */
static tfn_distribution tfn__rule_base(const tfn_init_rule *rule, const tfn__weight *w)
{
    if (tfn__is_ffn(w->part)) return rule->ffn_base;
    return rule->base;
}

/* Returns the distribution of a weight. Tables are normal, or truncated if the base is. An untied
 * output is normal if the row draws it as a table. Biases, if drawn, and LoRA's A are uniform. */
static tfn_distribution tfn__base_of(const tfn_init_rule *rule, const tfn__weight *w)
{
    const tfn_distribution base = tfn__rule_base(rule, w);
    const bool table = w->kind == TFN__MATRIX && tfn__is_table(w->part);
    if (w->kind == TFN__BIAS || w->kind == TFN__LORA_A) return TFN_DISTRIBUTION_FAN_IN_UNIFORM;
    if (w->part == TFN__PART_OUTPUT && rule->table_output) return TFN_DISTRIBUTION_NORMAL;
    if (table && base != TFN_DISTRIBUTION_TRUNCATED_NORMAL) return TFN_DISTRIBUTION_NORMAL;
    return base;
}

/* Returns 1/sqrt(in) of the matrix before a bias, if the row draws biases, or 0. */
static float tfn__bias_size(const tfn_model_desc *d, const tfn_init_rule *rule,
                            const tfn__weight *w)
{
    const tfn__weight *matrix = w - 1;
    bool drawn = tfn__rule_base(rule, w) == TFN_DISTRIBUTION_FAN_IN_UNIFORM;
    float size;
    if (matrix->kind != TFN__MATRIX) return 0;
    if (w->part <= TFN__PART_V && rule->qkv_bias) drawn = true;
    if (!drawn) return 0;
    size = TFN__SQRT(tfn__mup(d)) / TFN__SQRT((float)matrix->rows);
    if (rule->gain_bias) size *= tfn__init_gain(d, rule, w);
    return size;
}

/* Returns the half-width or deviation of a matrix that is not a table. With muP it does not depend
 * on the width for an output, and is ~ 1/sqrt(width) for a hidden matrix, even if the row has a
 * fixed number. */
static float tfn__matrix_size(const tfn_model_desc *d, const tfn_init_rule *rule,
                              const tfn__weight *w)
{
    const tfn_distribution base = tfn__rule_base(rule, w);
    const bool fixed = base == TFN_DISTRIBUTION_NORMAL
                    || base == TFN_DISTRIBUTION_TRUNCATED_NORMAL;
    const float m = tfn__mup(d);
    if (w->part == TFN__PART_OUTPUT && rule->table_output)
        return TFN__SQRT(m) / TFN__SQRT((float)w->rows);
    if (base == TFN_DISTRIBUTION_ORTHOGONAL && tfn__is_output(w)) return TFN__SQRT(m);
    if (d->mup_base_width && tfn__is_output(w))
        return tfn__spread(rule, base, d->mup_base_width, w->cols);
    if (fixed) return tfn__spread(rule, base, w->rows, w->cols) / TFN__SQRT(m);
    return tfn__spread(rule, base, w->rows, w->cols);
}

/* Returns the half-width or deviation of a weight's draw, or 0 if it starts at w->initial.
 * Embeddings are N(0, 1/C) unless the row has a deviation, and so is an untied output drawn as a
 * table. */
static float tfn__init_size(const tfn_model_desc *d, const tfn_init_rule *rule,
                            const tfn__weight *w)
{
    if (w->kind == TFN__BIAS) return tfn__bias_size(d, rule, w);
    if (w->kind == TFN__LORA_A) return TFN__SQRT(1 / (float)w->rows);
    if (w->kind != TFN__MATRIX) return 0;
    if (tfn__is_table(w->part)) {
        const float own = TFN__SQRT(tfn__mup(d)) / TFN__SQRT((float)w->cols);
        const float size = tfn__positive_or(rule->embedding_std, own);
        return size * tfn__init_gain(d, rule, w);
    }
    if (w->part == TFN__PART_OUTPUT && rule->zero_output) return 0;
    if (w->part == TFN__PART_OUTPUT && rule->table_output) return tfn__matrix_size(d, rule, w);
    return tfn__matrix_size(d, rule, w) * tfn__init_gain(d, rule, w);
}

/* Sets the weights of an aggregate without softmax to 0 outside its window: at first only the last
 * y_k count, but training learns the others, too. */
static void tfn__start_window(const tfn_model *m, const tfn__weight *w, float *p)
{
    const tfn_mix_rule *mix = &tfn__stack_row(&m->desc, w->stack)->mix;
    int32_t outside = w->cols - mix->window;
    if (w->part != TFN__PART_MIX || mix->window < 1 || mix->softmax || mix->ones) return;
    for (int32_t g = 0; g < w->rows; g++)
        for (int32_t k = 0; k < outside; k++) p[(int64_t)g*w->cols + k] = 0;
}

/* Returns the random stream of a weight for one purpose. It is numbered among the weights that are
 * LoRA, or among those that are not, so that LoRA does not change the draws of other weights. */
static tfn_key tfn__stream_of(const tfn_model *m, int32_t index, uint64_t purpose)
{
    const bool lora = tfn__is_lora(m->weights + index);
    uint64_t number = (uint64_t)index;
    if (lora) purpose = 5;
    if (tfn__has_lora(&m->desc))
        for (int32_t i = 0; i < index; i++)
            if (tfn__is_lora(m->weights + i) != lora) number--;
    return tfn_key_fold(tfn_key_fold(tfn_key_make(m->desc.seed), purpose), number);
}

/* What all threads need to draw a weight. */
typedef struct tfn__draws {
    const tfn_kernels *kernels;
    float  *p;
    int64_t n;
    tfn_distribution base;
    tfn_key key;
    float   size;
} tfn__draws;

static void tfn__draw_share(void *job, tfn__worker *self)
{
    const tfn__draws *d = (const tfn__draws *)job;
    tfn__range s;
    TFN__EACH_PART(self, s, (ptrdiff_t)d->n, TFN__PART_FLOATS)
        tfn__draw(d->kernels, d->p + s.first, s.count, d->base, d->key, (uint64_t)s.first,
                  d->size);
}

/* Draws the n numbers of a weight. Each depends only on its index, so threads share them. */
static void tfn__draw_all(const tfn_model *m, float *p, int64_t n, tfn_distribution base,
                          tfn_key key, float size)
{
    tfn__draws d;
    d.kernels = m->kernels;
    d.p = p;
    d.n = n;
    d.base = base;
    d.key = key;
    d.size = size;
    tfn__share(tfn__sharers(m->desc.threads, n), NULL, 0, tfn__draw_share, &d);
}

/* Draws weight `index`, or sets it to its constant, such as 1 for gains and 0 for biases. The key
 * folds in the purpose (1 for weights, 4 for sigmaReparam, 5 for LoRA), then the index. So another
 * weight at the end of a model changes no draws. */
static void tfn__draw_weight(const tfn_model *m, int32_t index, float *p)
{
    const tfn__weight *w = m->weights + index;
    const tfn_init_rule *rule = tfn__init_row(&m->desc);
    const tfn_key key = tfn__stream_of(m, index, 1);
    const tfn_distribution base = tfn__base_of(rule, w);
    const float size = tfn__init_size(&m->desc, rule, w);
    const int64_t n = (int64_t)w->rows * w->cols;
    const bool orthonormal = base == TFN_DISTRIBUTION_ORTHOGONAL;
    if (!(size > 0)) {
        for (int64_t i = 0; i < n; i++) p[i] = w->initial;
    } else if (TFN__ALL && orthonormal) {
        tfn__draw_all(m, p, n, base, key, 1);
        tfn__orthonormal(p, w->rows, w->cols, size);
    } else {
        tfn__draw_all(m, p, n, base, key, size);
    }

    if (!TFN__ALL) return;
    if (w->kind == TFN__MATRIX && base == TFN_DISTRIBUTION_MIRRORED) {
        if (w->part == TFN__PART_W2) tfn__mirror_rows(p, w->rows, w->cols);
        else tfn__mirror_columns(p, w->rows, w->cols);
    }
    tfn__start_window(m, w, p);
}

/* Initializes weight `index`: draws it, or sets it to its constant in a build without training. */
SHARED void tfn__init_weight(const tfn_model *m, int32_t index, float *p)
{
    const tfn__weight *w = m->weights + index;
    if (TFN__TRAINS) tfn__draw_weight(m, index, p);
    else for (int64_t i = 0; i < (int64_t)w->rows * w->cols; i++) p[i] = w->initial;
}

/* Returns the topology that a weight follows. A weight of no stack follows the last stack. */
static const tfn_topology *tfn__weight_row(const tfn_model *m, const tfn__weight *w)
{
    if (w->stack == TFN__IN_ENCODER || tfn__is_encoder_only(&m->desc)) return m->desc.topology;
    return m->desc.decoder_topology;
}

/* True if a rule keeps the vectors of a weight at length 1. */
static bool tfn__has_units(const tfn_model *m, const tfn__weight *w)
{
    if (!TFN__ALL || w->kind != TFN__MATRIX || tfn__type_of(w)) return false;
    if (w->part == TFN__PART_POSITION || w->part == TFN__PART_RELATIVE) return false;
    return (tfn__weight_row(m, w)->flags & TFN_TOPOLOGY_UNIT_WEIGHTS) != 0;
}

/* nGPT (Loshchilov et al. 2024) keeps all vectors along the channels at length 1: rows of tables
 * and of matrices that write to the stream (W_O, W_2), columns of matrices that read it. p holds
 * the values of the weight or their averages. */
static void tfn__unit_weight(tfn__worker *self, const tfn__weight *w, float *p)
{
    const bool by_row = tfn__is_table(w->part) || w->part == TFN__PART_O
                     || w->part == TFN__PART_W2;
    const ptrdiff_t rows = w->rows;
    const ptrdiff_t cols = w->cols;
    tfn__range s;
    if (by_row) {
        TFN__EACH_PART(self, s, rows, TFN__PART_FLOATS / cols + 1)
            for (ptrdiff_t r = s.first; r < s.first + s.count; r++)
                tfn__unit_vector(p + r*cols, cols, 1);
    } else {
        TFN__EACH_PART(self, s, cols, TFN__PART_FLOATS / rows + 16)
            for (ptrdiff_t c = s.first; c < s.first + s.count; c++)
                tfn__unit_vector(p + c, rows, cols);
    }
}

/* What all threads need for this. After an update (frozen is false), frozen weights keep their
 * bits. */
typedef struct tfn__unit_job {
    tfn_model *m;
    bool frozen, averages;
} tfn__unit_job;

static void tfn__unit_share(void *job, tfn__worker *self)
{
    const tfn__unit_job *j = (const tfn__unit_job *)job;
    tfn_model *m = j->m;
    const bool frozen = j->frozen;
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        float *p = m->params + w->at;
        if (!frozen && tfn__is_frozen(&m->desc, w)) continue;
        if (!tfn__has_units(m, w)) continue;
        if (j->averages && w->line < 0) continue;
        if (j->averages) p = m->averages + tfn__trained_at(w);
        tfn__unit_weight(self, w, p);
    }
}

/* True if the model has such weights. */
SHARED bool tfn__unit_rule(const tfn_model *m)
{
    const uint32_t any = m->desc.topology->flags | m->desc.decoder_topology->flags;
    return TFN__ALL && (any & TFN_TOPOLOGY_UNIT_WEIGHTS);
}

/* Normalizes all such weights, or their averages. */
SHARED void tfn__unit_weights(tfn_model *m, bool frozen, bool averages)
{
    const int32_t threads = tfn__sharers(m->desc.threads, m->param_floats);
    tfn__unit_job job;
    if (!tfn__unit_rule(m)) return;
    job.m = m;
    job.frozen = frozen;
    job.averages = averages;
    tfn__share(threads, NULL, 0, tfn__unit_share, &job);
}

/* -- sigmaReparam: u and v of each W follow its first singular vectors ----------------------- */

/* True if two weights belong to the same map, as matrix, bias, u, v or gamma. */
static bool tfn__same_place(const tfn__weight *a, const tfn__weight *b)
{
    return a->stack == b->stack && a->layer == b->layer && a->sub == b->sub && a->part == b->part;
}

/* Returns the weight of another kind for the same map, such as the u, v or gamma of a matrix. */
static const tfn__weight *tfn__beside(const tfn_model *m, const tfn__weight *w, int kind)
{
    for (int32_t i = 0; i < m->weight_count; i++)
        if (m->weights[i].kind == kind && tfn__same_place(m->weights + i, w)) return m->weights + i;
    return NULL;
}

/* Does one power iteration: v = W^T u / |W^T u|, then u = W v / |W v|. Returns |W v|, or 0 with u
 * unchanged if W^T u is 0. */
static float tfn__power_iteration(const tfn_model *m, const tfn__weight *place)
{
    const tfn__weight *matrix = tfn__beside(m, place, TFN__MATRIX);
    const float *w = tfn__weight_data(m, matrix);
    float *u = tfn__weight_data(m, tfn__beside(m, place, TFN__SIGMA_U));
    float *v = tfn__weight_data(m, tfn__beside(m, place, TFN__SIGMA_V));
    const ptrdiff_t rows = matrix->rows;
    const ptrdiff_t cols = matrix->cols;
    float square;
    for (ptrdiff_t c = 0; c < cols; c++) v[c] = 0;
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t c = 0; c < cols; c++) v[c] += u[r] * w[r*cols + c];
    tfn__unit_vector(v, cols, 1);
    if (!(m->kernels->dot(v, v, cols) > 0)) return 0;
    for (ptrdiff_t r = 0; r < rows; r++) u[r] = m->kernels->dot(w + r*cols, v, cols);
    square = m->kernels->dot(u, u, rows);
    tfn__unit_vector(u, rows, 1);
    return TFN__SQRT(square);
}

/* Iterates from any u until |W v| grows by less than a millionth, at most a hundred times. Returns
 * |W v|, which approximates sigma. */
static float tfn__find_sigma(const tfn_model *m, const tfn__weight *place)
{
    float sigma = 0;
    for (int k = 0; k < 100; k++) {
        const float last = sigma;
        sigma = tfn__power_iteration(m, place);
        if (!(sigma > last * (float)1.000001)) break;
    }
    return sigma;
}

/* Starts u and v near the first singular vectors. The authors' code computes these exactly. */
SHARED void tfn__start_sigma(tfn_model *m)
{
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        const tfn_key key = tfn__stream_of(m, i, 4);
        float *u = tfn__weight_data(m, w);
        float sigma;
        if (w->kind != TFN__SIGMA_U) continue;
        for (int32_t k = 0; k < w->cols; k++) u[k] = tfn_random_normal(key, (uint64_t)k);
        tfn__unit_vector(u, w->cols, 1);
        sigma = tfn__find_sigma(m, w);
        if ((tfn__weight_row(m, w)->flags & TFN_TOPOLOGY_SIGMA_OWN) && sigma > 0)
            *tfn__weight_data(m, tfn__beside(m, w, TFN__GAMMA)) = sigma;
    }
}

/* Does one iteration after an update, which has changed W a little, unless W is frozen. A map is a
 * part of the work. */
static void tfn__sigma_share(void *job, tfn__worker *self)
{
    const tfn_model *m = (const tfn_model *)job;
    tfn__range s;
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *u = m->weights + i;
        const bool stays = tfn__is_frozen(&m->desc, u);          /* like its matrix */
        if (u->kind != TFN__SIGMA_U || stays) continue;
        TFN__EACH_PART(self, s, 1, 1) tfn__power_iteration(m, u);
    }
}
SHARED void tfn__follow_sigma(tfn_model *m)
{
    bool any = false;
    if (!TFN__ALL) return;
    for (int32_t i = 0; i < m->weight_count; i++) any |= m->weights[i].kind == TFN__SIGMA_U;
    if (any)
        tfn__share(tfn__sharers(m->desc.threads, m->param_floats), NULL, 0, tfn__sigma_share, m);
}

TFN__SMALL_END
