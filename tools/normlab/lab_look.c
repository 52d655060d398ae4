/* Observes a training step with the library's probe, and weights before and after it. */
#include "lab_look.h"
#include "../common/data.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- observing a training step --------------------------------------------------------------- */

/* A stack's sub-layers in order, with the values at each of the points of tfn_watched. */
typedef struct lab_stack {
    int32_t  subs, per_layer, rows, cols;
    double  *energy[TFN_WATCH_STACK], *variance[TFN_WATCH_STACK], *gradient[TFN_WATCH_STACK];
    double  *beta;                 /* (subs, subs + 1): beta_ij of Liu 2020, section 4.1 */
    double  *jacobian;             /* of the norm that reads x: mean of 1/deviation */
    float   *parts;                /* (subs + 1, rows, cols): the summands of x */
    float   *x, *p, *z;            /* the sub-layer's input, branch and sum */
    float   *outputs;              /* (layers + 1, rows, cols): x_0 and the output of each layer */
} lab_stack;
typedef struct lab_look {
    lab_stack stack[2];
    double   *energies;            /* of each token at the last sum: |z|^2/d */
    float    *last;                /* (rows, cols) the output F of the last sub-layer */
    float    *read;                /* its input */
    float    *end;                 /* the last stack's output, after its final norm */
} lab_look;

static int32_t lab_sub(const lab_stack *s, const tfn_probe_info *i)
{
    const int32_t first = i->layer * s->per_layer;
    if (i->kind == TFN_SUBLAYER_SELF_ATTENTION) return first;
    if (i->kind == TFN_SUBLAYER_CROSS_ATTENTION) return first + 1;
    return first + s->per_layer - 1;
}

/* Splits z = skip*x + p and y = N(z) into parts. Each part of x is multiplied by the skip, found by
 * least squares for each channel; p is a new part; the norm multiplies all by gain/deviation. */
static void lab_parts_add(lab_stack *s, int32_t sub)
{
    const size_t n = (size_t)s->rows * (size_t)s->cols;
    for (int32_t c = 0; c < s->cols; c++) {
        double xz = 0;
        double xx = 0;
        for (size_t i = (size_t)c; i < n; i += (size_t)s->cols) {
            xz += (double)s->x[i] * ((double)s->z[i] - (double)s->p[i]);
            xx += (double)s->x[i] * (double)s->x[i];
        }
        const float skip = xx > 0 ? (float)(xz / xx) : 1;
        for (int32_t j = 0; j <= sub; j++)
            for (size_t i = (size_t)c; i < n; i += (size_t)s->cols)
                s->parts[(size_t)j*n + i] *= skip;
    }
    memcpy(s->parts + (size_t)(sub + 1)*n, s->p, n * sizeof *s->p);
}

static double lab_mean(const float *x, int32_t n)
{
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += (double)x[i];
    return sum / n;
}

static double lab_deviation(const float *x, int32_t n)
{
    double mean = lab_mean(x, n);
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += ((double)x[i] - mean) * ((double)x[i] - mean);
    return sqrt(sum / n);
}

/* The norm that made y from z, or none if y equals z. */
static void lab_parts_norm(lab_stack *s, int32_t sub, const float *y)
{
    const size_t n = (size_t)s->rows * (size_t)s->cols;
    float *gain = s->x;                               /* no longer needed */
    if (!memcmp(y, s->z, n * sizeof *y)) return;
    for (int32_t c = 0; c < s->cols; c++) {           /* least squares against the normed z */
        double sy = 0;
        double sh = 0;
        double hy = 0;
        double hh = 0;
        for (int32_t r = 0; r < s->rows; r++) {
            const float *z = s->z + (size_t)r * (size_t)s->cols;
            double h = ((double)z[c] - lab_mean(z, s->cols)) / (lab_deviation(z, s->cols) + 1e-12);
            double v = (double)y[r * s->cols + c];
            sy += v;
            sh += h;
            hy += h*v;
            hh += h*h;
        }
        gain[c] = (float)((hy - sh*sy/s->rows) / (hh - sh*sh/s->rows));
    }
    for (int32_t r = 0; r < s->rows; r++) {
        double deviation = lab_deviation(s->z + r * s->cols, s->cols) + 1e-12;
        for (int32_t j = 0; j <= sub + 1; j++) {
            float *part = s->parts + (size_t)j*n + (size_t)(r * s->cols);
            double mean = lab_mean(part, s->cols);
            for (int32_t c = 0; c < s->cols; c++)
                part[c] = (float)(((double)part[c] - mean) / deviation) * gain[c];
        }
    }
}

/* beta_ij: the deviations over features of x_i's parts, a mean over tokens, scaled to length 1. */
static void lab_parts_beta(lab_stack *s, int32_t sub)
{
    const size_t n = (size_t)s->rows * (size_t)s->cols;
    double *beta = s->beta + sub * (s->subs + 1);
    double sum = 0;
    for (int32_t j = 0; j <= s->subs; j++) {
        beta[j] = 0;
        if (j > sub + 1) continue;              /* after this sub-layer: adds 0 */
        for (int32_t r = 0; r < s->rows; r++)
            beta[j] += lab_deviation(s->parts + (size_t)j*n + (size_t)(r * s->cols), s->cols);
        sum += beta[j] * beta[j];
    }
    for (int32_t j = 0; j <= s->subs; j++) beta[j] /= sqrt(sum);
}

static void lab_see_value(lab_look *l, const tfn_probe_info *info, const float *x, int32_t rows)
{
    lab_stack *s = &l->stack[info->decoder];
    const int32_t sub = lab_sub(s, info);
    const int32_t cols = s->cols;
    const size_t bytes = (size_t)rows * (size_t)cols * sizeof *x;
    double energy = 0;
    double deviation = 0;
    double rate = 0;
    for (int32_t r = 0; r < rows; r++) {
        double e = 0;
        for (int32_t c = 0; c < cols; c++) e += (double)x[r*cols + c] * (double)x[r*cols + c];
        energy += e / cols / rows;
        rate += 1 / lab_deviation(x + r*cols, cols) / rows;
        if (info->point == TFN_WATCH_SUM) l->energies[r] = e / cols;
    }
    deviation = lab_deviation(x, rows * cols);
    s->energy[info->point][sub] = energy;
    s->variance[info->point][sub] = deviation * deviation;
    if (info->point == TFN_WATCH_INPUT) {
        s->jacobian[sub] = rate;
        if (sub == 0) {
            memcpy(s->parts, x, bytes);
            memcpy(s->outputs, x, bytes);
        }
        memcpy(s->x, x, bytes);
    }
    if (info->point == TFN_WATCH_READ) memcpy(l->read, x, bytes);
    if (info->point == TFN_WATCH_BRANCH) memcpy(s->p, x, bytes);
    if (info->point == TFN_WATCH_SUM) {
        memcpy(s->z, x, bytes);
        lab_parts_add(s, sub);
    }
    if (info->point != TFN_WATCH_OUTPUT) return;
    lab_parts_norm(s, sub, x);
    lab_parts_beta(s, sub);
    memcpy(l->last, x, bytes);
    if (sub % s->per_layer == s->per_layer - 1)
        memcpy(s->outputs + (size_t)(info->layer + 1) * (size_t)(rows * cols), x, bytes);
}

static void lab_probe(void *user, int32_t id, const float *data, ptrdiff_t rows, ptrdiff_t cols,
                      bool backward)
{
    lab_look *l = (lab_look *)user;
    tfn_probe_info info = tfn_probe_of(id);
    lab_stack *s = &l->stack[info.decoder];
    if (info.point == TFN_WATCH_STACK && !backward)
        memcpy(l->end, data, (size_t)(rows * cols) * sizeof *data);
    if (info.point == TFN_WATCH_NONE || info.point >= TFN_WATCH_EMBEDDING) return;
    s->rows = (int32_t)rows;
    s->cols = (int32_t)cols;
    if (backward) {
        double sum = 0;
        for (ptrdiff_t i = 0; i < rows * cols; i++) sum += (double)data[i] * (double)data[i];
        s->gradient[info.point][lab_sub(s, &info)] = sqrt(sum);
    } else lab_see_value(l, &info, data, (int32_t)rows);
}

float *lab_floats(size_t n) { return (float *)calloc(n, sizeof(float)); }

/* Creates the lists of a record by name: enc_sum_energy, dec_output_gradient ... */
static bool lab_look_start(lab_look *l, lab_record *r, int32_t rows)
{
    static const char *const points[] = { "", "input", "read", "branch", "sum", "output" };
    const lab_spec *s = &r->spec;
    const size_t n = (size_t)rows * (size_t)s->width;
    bool ok = (l->energies = lab_put(r, rows, "energies")) != NULL;
    l->last = lab_floats(n);
    l->read = lab_floats(n);
    l->end = lab_floats(n);
    for (int side = 0; side < 2; side++) {
        lab_stack *k = &l->stack[side];
        int32_t layers = lab_depth(s, side);
        const char *name = side ? "dec" : "enc";
        k->per_layer = side && lab_is_pair(s->task) ? 3 : 2;
        k->subs = layers * k->per_layer;
        if (!k->subs) continue;
        for (int p = TFN_WATCH_INPUT; p <= TFN_WATCH_OUTPUT; p++) {
            k->energy[p] = lab_put(r, k->subs, "%s_%s_energy", name, points[p]);
            k->variance[p] = lab_put(r, k->subs, "%s_%s_variance", name, points[p]);
            k->gradient[p] = lab_put(r, k->subs, "%s_%s_gradient", name, points[p]);
            ok = ok && k->energy[p] && k->variance[p] && k->gradient[p];
        }
        k->beta = lab_put(r, k->subs * (k->subs + 1), "%s_beta", name);
        k->jacobian = lab_put(r, k->subs, "%s_jacobian", name);
        k->parts = lab_floats(n * (size_t)(k->subs + 1));
        k->x = lab_floats(n);
        k->p = lab_floats(n);
        k->z = lab_floats(n);
        k->outputs = lab_floats(n * (size_t)(layers + 1));
        ok = ok && k->beta && k->jacobian && k->parts && k->x && k->p && k->z && k->outputs;
    }
    return ok && l->last && l->read && l->end;
}

static void lab_look_end(lab_look *l)
{
    for (int side = 0; side < 2; side++) {
        lab_stack *k = &l->stack[side];
        free(k->parts);
        free(k->x);
        free(k->p);
        free(k->z);
        free(k->outputs);
    }
    free(l->last);
    free(l->read);
    free(l->end);
}

/* Cosines of the outputs of layers i and j, a mean over tokens (Takase 2022, section 3.2). */
static void lab_cosines(lab_record *r, const lab_stack *s, const char *name)
{
    const int32_t layers = s->subs / s->per_layer;
    const size_t n = (size_t)s->rows * (size_t)s->cols;
    double *v = lab_put(r, layers * layers, "%s_cosine", name);
    if (!v) return;
    for (int32_t i = 0; i < layers * layers; i++)
        v[i] = data_cosine(s->outputs + (size_t)(i / layers + 1)*n,
                           s->outputs + (size_t)(i % layers + 1)*n, s->rows, s->cols);
}

/* -- weights and their gradients ------------------------------------------------------------- */

static const char *const lab_matrices[] = { "self.q", "self.k", "self.v", "self.o", "ffn.w1",
                                            "ffn.w2" };
enum { LAB_MATRICES = 6 };

int lab_matrix(const tfn_param_info *p, int *side)
{
    char name[64];
    *side = !strncmp(p->name, "dec", 3);
    const char *stack = *side ? "decoder" : "encoder";
    if (p->layer < 0) return -1;
    for (int k = 0; k < LAB_MATRICES; k++) {
        snprintf(name, sizeof name, "%s.%d.%s.weight", stack, (int)p->layer, lab_matrices[k]);
        if (!strcmp(p->name, name)) return k;
    }
    return -1;
}

void lab_norms(lab_record *r, const tfn_model *m, const double *flat, const char *what)
{
    double *lists[2][LAB_MATRICES] = { { NULL } };
    tfn_param_info p, first;
    int side;
    if (!tfn_model_param(m, 0, &first)) return;
    for (side = 0; side < 2; side++) {
        const char *stack = side ? "dec" : "enc";
        const int32_t layers = lab_depth(&r->spec, side);
        if (!layers) continue;
        for (int k = 0; k < LAB_MATRICES; k++)
            lists[side][k] = lab_put(r, layers, "%s_%s_%s", stack, strchr(lab_matrices[k], '.') + 1,
                                     what);
    }
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        const double *x = flat + (p.data - first.data);
        int k = lab_matrix(&p, &side);
        double sum = 0;
        if (k < 0 || !lists[side][k]) continue;
        for (int32_t j = 0; j < p.rows * p.cols; j++) sum += x[j] * x[j];
        lists[side][k][p.layer] = sqrt(sum);
    }
}

/* max_p ReLU(x W_1)_p^2 of each token in the last feed-forward (Xiong 2020, proof of theorem 1). */
static void lab_hidden(lab_record *r, const tfn_model *m, const float *x)
{
    const int32_t rows = r->spec.batch * lab_time(r->spec.task);
    const int32_t cols = r->spec.width;
    double *most = lab_put(r, rows, "hidden_max");
    tfn_param_info p;
    int side;
    if (!most) return;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        if (lab_matrix(&p, &side) != 4 || p.layer != r->spec.layers - 1) continue;
        for (int32_t t = 0; t < rows; t++) {
            most[t] = 0;
            for (int32_t h = 0; h < p.cols; h++) {
                double u = 0;
                for (int32_t c = 0; c < cols; c++)
                    u += (double)x[t*cols + c] * (double)p.data[c*p.cols + h];
                if (u > 0 && u*u > most[t]) most[t] = u*u;
            }
        }
    }
}

/* The gradient at the current weights, a mean over batches, and observations of the last batch. */
enum { LAB_LOOK_BATCHES = 8 };
bool lab_measure(lab_record *r, tfn_model *m, lab_data *data)
{
    const lab_spec *s = &r->spec;
    const size_t n = (size_t)m->param_floats;
    lab_look look;
    tfn_report report;
    tfn_param_info first;
    float *kept = lab_floats(n);
    double *mean = (double *)calloc(n, sizeof *mean);
    memset(&look, 0, sizeof look);
    tfn_model_param(m, 0, &first);
    bool ok = kept && mean && lab_look_start(&look, r, s->batch * lab_time(s->task));
    if (ok) memcpy(kept, first.data, n * sizeof *kept);
    for (int b = 0; b < LAB_LOOK_BATCHES; b++) {
        if (!ok) break;
        lab_fill(data, s, s->batch, s->seed, UINT64_MAX - 100 - (uint64_t)b);
        tfn_model_watch(m, b == LAB_LOOK_BATCHES - 1 ? lab_probe : NULL, &look);
        if (tfn_model_step(m, &data->batch, &report) != TFN_OK) ok = false;
        for (size_t i = 0; i < n; i++)      /* gradients are of the summed loss */
            mean[i] += (double)first.grad[i] / (double)report.tokens / LAB_LOOK_BATCHES;
        memcpy(first.data, kept, n * sizeof *kept);
    }
    if (ok) {
        lab_norms(r, m, mean, "gradient");
        if (s->theory) lab_hidden(r, m, look.read);
        for (int side = 0; side < 2; side++)
            if (look.stack[side].subs) lab_cosines(r, &look.stack[side], side ? "dec" : "enc");
    }
    tfn_model_watch(m, NULL, NULL);
    lab_look_end(&look);
    free(kept);
    free(mean);
    return ok;
}

/* How far the output F moves when weights do: |F(W) - F(W*)|^2 a token. F is the stack's output,
 * after the final norm if there is one (shift), or the last sub-layer's output (inner), which Liu
 * 2020's released code takes. */
typedef struct lab_move {
    tfn_model *m;
    lab_data  *data;
    lab_spec   spec;
    lab_record other;               /* for the moved weights; not kept */
    lab_look   before, after;
    float     *kept;
    double     shift, inner;        /* of the last move */
} lab_move;

/* The sign of a step: against the gradient, or random. */
static float lab_way(const lab_spec *s, const tfn_param_info *p, int32_t j, uint64_t at)
{
    const tfn_key key = tfn_key_fold(tfn_key_make(s->seed), 99);
    if (s->noise <= 0) return (float)-s->step * (float)((p->grad[j] > 0) - (p->grad[j] < 0));
    if (tfn_random_bits(key, at) & 1) return (float)s->noise;
    return -(float)s->noise;
}

/* Moves all weights except biases, norms and scales, as Liu 2020's code does: those of a layer,
 * from 0, of the embedding (-1), or all (LAB_ALL). */
enum { LAB_ALL = -2 };
static void lab_move_weights(lab_move *v, int32_t layer)
{
    tfn_param_info p;
    uint64_t at = 0;
    for (int32_t i = 0; tfn_model_param(v->m, i, &p); i++) {
        if (!p.decay) continue;
        for (int32_t j = 0; j < p.rows * p.cols; j++, at++)
            if (layer == LAB_ALL || layer == p.layer) p.data[j] += lab_way(&v->spec, &p, j, at);
    }
}

/* Does a pass and keeps its observations in `look`; undoes the update that comes with it. */
static bool lab_pass(lab_move *v, lab_look *look)
{
    tfn_report report;
    tfn_param_info p;
    tfn_model_watch(v->m, lab_probe, look);
    const bool ok = tfn_model_step(v->m, &v->data->batch, &report) == TFN_OK;
    tfn_model_param(v->m, 0, &p);
    memcpy(p.data, v->kept, (size_t)v->m->param_floats * sizeof *v->kept);
    return ok;
}

/* Moves the weights and measures how far the output moved. The gradients are from before the move;
 * a pass overwrites them. */
static bool lab_move_once(lab_move *v, int32_t layer)
{
    const int32_t rows = v->spec.batch * lab_time(v->spec.task);
    const size_t n = (size_t)rows * (size_t)v->spec.width;
    double sum[2] = { 0, 0 };
    bool ok = lab_pass(v, &v->before);
    lab_move_weights(v, layer);
    ok = lab_pass(v, &v->after) && ok;
    for (size_t i = 0; i < n; i++) {
        const double e = (double)v->before.end[i] - (double)v->after.end[i];
        const double d = (double)v->before.last[i] - (double)v->after.last[i];
        sum[0] += e*e;
        sum[1] += d*d;
    }
    v->shift = sum[0] / rows;
    v->inner = sum[1] / rows;
    return ok;
}

/* each: the sum of the shifts of single layers, which independent changes would give. */
static bool lab_move_each(lab_record *r, lab_move *v)
{
    double *sum = lab_put(r, 2, "each");
    if (!sum) return false;
    sum[0] = sum[1] = 0;
    for (int32_t layer = -1; layer < v->spec.layers; layer++) {
        if (!lab_move_once(v, layer)) return false;
        sum[0] += v->shift;
        sum[1] += v->inner;
    }
    return true;
}

bool lab_shift(lab_record *r, tfn_model *m, lab_data *data)
{
    const lab_spec *s = &r->spec;
    const int32_t rows = s->batch * lab_time(s->task);
    lab_move *v = (lab_move *)calloc(1, sizeof *v);
    double *shift = lab_put(r, 1, "shift");
    double *inner = lab_put(r, 1, "shift_inner");
    tfn_param_info p;
    if (!v) return false;
    v->m = m;
    v->data = data;
    v->spec = v->other.spec = *s;
    v->kept = lab_floats((size_t)m->param_floats);
    bool ok = lab_look_start(&v->before, r, rows);
    ok = lab_look_start(&v->after, &v->other, rows) && ok && v->kept && shift && inner;
    if (ok) {
        tfn_model_param(m, 0, &p);
        memcpy(v->kept, p.data, (size_t)m->param_floats * sizeof *v->kept);
        lab_fill(data, s, s->batch, s->seed, UINT64_MAX - 100);
        ok = lab_move_once(v, LAB_ALL);
        *shift = v->shift;
        *inner = v->inner;
    }
    if (ok && s->each) ok = lab_move_each(r, v);
    tfn_model_watch(m, NULL, NULL);
    lab_look_end(&v->before);
    lab_look_end(&v->after);
    for (int32_t i = 0; i < v->other.count; i++) free(v->other.lists[i].v);
    free(v->kept);
    free(v);
    return ok;
}
