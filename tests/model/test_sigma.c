/* sigmaReparam, beyond golden values (test_variants_golden.c) and the ways of a model
 * (test_state.c): the initial sigma; its state moves exactly once an update; the same bits however
 * the work is divided; and matrices of zeros. */
#include "../lib.h"
#include "../check.h"

enum { SIGMA_V = 19, SIGMA_B = 4, SIGMA_T = 7 };

static const char *const sigma_recipes[] = { "sigma-reparam", "sigma-reparam-post",
                                             "sigma-reparam-vision" };

static tfn_model_desc sigma_desc(int recipe, tfn_arch arch)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.arch = arch;
    d.vocab = SIGMA_V;
    d.context = SIGMA_T;
    d.batch = SIGMA_B;
    d.width = 20;
    d.heads = 2;
    d.ffn = 36;
    d.untied = true;
    d.recipe = sigma_recipes[recipe];
    d.schedule.lr = (float)0.001;
    return d;
}
static bool sigma_new(tfn_model *m, const tfn_model_desc *d)
{
    char text[200];
    if (tfn_model_new(m, d, NULL) == TFN_OK) return true;
    FAIL("%s: %s", d->recipe, tfn_error_text(&m->error, text, sizeof text));
    return false;
}

typedef struct sigma_data {
    int32_t   tokens[SIGMA_B * SIGMA_T], targets[SIGMA_B * SIGMA_T];
    tfn_batch batch;
} sigma_data;

static void sigma_batch(sigma_data *s, tfn_arch arch, int n, bool targets)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < SIGMA_B * SIGMA_T; i++) {
        s->tokens[i] = (i*5 + i/4 + n) % SIGMA_V;
        s->targets[i] = targets ? (s->tokens[i] * 3 + 1) % SIGMA_V : -1;
    }
    s->batch.tokens = s->tokens;
    s->batch.targets = s->targets;
    s->batch.batch = SIGMA_B;
    s->batch.time = SIGMA_T;
    if (arch != TFN_ARCH_ENCODER_DECODER) return;
    s->batch.source = s->tokens;
    s->batch.source_time = SIGMA_T;
}
static tfn_report sigma_step(tfn_model *m, int n, bool targets)
{
    sigma_data s;
    tfn_report report;
    sigma_batch(&s, m->desc.arch, n, targets);
    memset(&report, 0, sizeof report);
    CHECK(tfn_model_step(m, &s.batch, &report) == TFN_OK);
    return report;
}

static bool sigma_find(const tfn_model *m, const char *place, const char *kind, tfn_param_info *p)
{
    char name[80];
    snprintf(name, sizeof name, "%s%s", place, kind);
    for (int32_t i = 0; tfn_model_param(m, i, p); i++)
        if (!strcmp(p->name, name)) return true;
    FAIL("there is no %s", name);
    return false;
}

/* u^T W v, and the largest singular value by 5,000 iterations in double. */
static double sigma_of(const tfn_param_info *w, const tfn_param_info *u, const tfn_param_info *v)
{
    double sum = 0;
    for (int r = 0; r < w->rows; r++)
        for (int c = 0; c < w->cols; c++)
            sum += (double)u->data[r] * (double)w->data[r*w->cols + c] * (double)v->data[c];
    return sum;
}
static double sigma_largest(const tfn_param_info *w)
{
    double u[64], v[64], size = 0;
    for (int r = 0; r < w->rows; r++) u[r] = 1 + 0.3 * r;
    for (int i = 0; i < 5000; i++) {
        for (int c = 0; c < w->cols; c++) {
            v[c] = 0;
            for (int r = 0; r < w->rows; r++) v[c] += u[r] * (double)w->data[r*w->cols + c];
        }
        size = 0;
        for (int r = 0; r < w->rows; r++) {
            u[r] = 0;
            for (int c = 0; c < w->cols; c++) u[r] += v[c] * (double)w->data[r*w->cols + c];
            size += u[r] * u[r];
        }
        for (int r = 0; r < w->rows; r++) u[r] /= sqrt(size);
    }
    return sqrt(sqrt(size));                        /* u has length 1, size is |W W^T u|^2 */
}

/* -- the start --------------------------------------------------------------------------------- */

TEST(sigma_start)
{
    for (int recipe = 0; recipe < 3; recipe++)
        for (int arch = 0; arch < 3; arch++) {
            tfn_model_desc d = sigma_desc(recipe, (tfn_arch)arch);
            tfn_model m;
            tfn_param_info p, w, u, v;
            int found = 0;
            if (!sigma_new(&m, &d)) return;
            for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
                char *end = strstr(p.name, ".gamma");
                double sigma, largest;
                if (!end) continue;
                *end = 0;
                found++;
                if (!sigma_find(&m, p.name, ".weight", &w) || !sigma_find(&m, p.name, ".sigma_u",
                    &u)
                    || !sigma_find(&m, p.name, ".sigma_v", &v)) return;
                sigma = sigma_of(&w, &u, &v);
                largest = sigma_largest(&w);
                if (!(sigma <= largest * 1.00001 && sigma > 0.98 * largest))
                    FAIL("%s %s: sigma is %g, the largest singular value %g", d.recipe, p.name,
                         sigma,
                         largest);
                CHECK_CLOSE((double)*p.data / (recipe == 2 ? sigma : 1), 1, 1e-5);
            }
            /* q, k, v, o, w1, w2 of a layer, four of a cross-attention, the output */
            CHECK_INT(found, arch == TFN_ARCH_ENCODER_DECODER ? 2*6 + 2*10 + 1 : 2*6 + 1);
            tfn_model_free(&m);
        }
}

static uint64_t sigma_state(const tfn_model *m)
{
    tfn_param_info p;
    uint64_t hash = 1;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        for (int32_t j = 0; strstr(p.name, ".sigma_") && j < p.rows * p.cols; j++) {
            uint64_t bits = 0;
            memcpy(&bits, p.data + j, sizeof *p.data);
            hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
        }
    return hash;
}

/* The iteration stops when it has converged. Where it stops determines these bits, which are the same
 * on every machine with a fused multiply-add. */
TEST(sigma_start_bits)
{
    const tfn_model_desc d = sigma_desc(0, TFN_ARCH_DECODER);
    tfn_model m;
    if (!sigma_new(&m, &d)) return;
    if (tfn_kernels_for(TFN_ISA_BEST)->fma) CHECK(sigma_state(&m) == UINT64_C(0x3e36d1d97d1926df));
    tfn_model_free(&m);
}

/* If gamma starts at sigma, the initial function is that of the plain matrices. */
TEST(sigma_plain_at_start)
{
    tfn_model_desc d = sigma_desc(2, TFN_ARCH_DECODER);
    tfn_model one, two;
    tfn_param_info p, q;
    sigma_data s;
    const float *a, *b;
    double gap = 0, most = 0;
    if (!sigma_new(&one, &d)) return;
    d.recipe = "t-fixup";                           /* x + F(x), without norms */
    if (!sigma_new(&two, &d)) return;
    for (int32_t i = 0; tfn_model_param(&two, i, &p); i++)
        for (int32_t j = 0; tfn_model_param(&one, j, &q); j++)
            if (!strcmp(p.name, q.name))
                memcpy(p.data, q.data, (size_t)(p.rows * p.cols) * sizeof *p.data);
    sigma_batch(&s, d.arch, 0, true);
    a = tfn_model_logits(&one, &s.batch);
    b = tfn_model_logits(&two, &s.batch);
    for (int i = 0; i < SIGMA_B * SIGMA_T * SIGMA_V; i++) {
        gap = check_worse(gap, fabs((double)a[i] - (double)b[i]));
        most = fmax(most, fabs((double)b[i]));
    }
    CHECK(most > 0 && gap < 1e-5 * most);
    tfn_model_free(&one);
    tfn_model_free(&two);
}

/* -- the state moves exactly once an update ---------------------------------------------------- */

TEST(sigma_once_an_update)
{
    for (int half = 0; half < 2; half++) {
        tfn_model_desc d = sigma_desc(0, TFN_ARCH_ENCODER_DECODER);
        tfn_model m;
        uint64_t before;
        tfn_report report;
        sigma_data s;
        d.micro_batches = 3;
        d.half = half != 0;
        if (!sigma_new(&m, &d)) return;
        for (int n = 0; n < 9; n++) {
            before = sigma_state(&m);
            report = sigma_step(&m, n, true);
            if (report.updated != (n % 3 == 2) || report.skipped)
                FAIL("half %d, batch %d: skipped for parameter %d, norm %g", half, n,
                     (int)report.culprit, (double)report.grad_norm);
            CHECK((sigma_state(&m) != before) == report.updated);
        }
        before = sigma_state(&m);
        for (int n = 0; n < 3; n++) report = sigma_step(&m, n, false);    /* no targets: skipped */
        CHECK(report.skipped && sigma_state(&m) == before);
        sigma_batch(&s, d.arch, 0, true);
        CHECK(tfn_model_eval(&m, &s.batch, &report) == TFN_OK);
        CHECK(tfn_model_logits(&m, &s.batch) && tfn_model_profile(&m, &s.batch) == TFN_OK);
        CHECK(sigma_state(&m) == before);
        tfn_model_free(&m);
    }
}

/* After an update v is W^T u and then u is W v, each with length 1, of the new W and the old u.
 * Nothing beside the three arrays has an influence. */
TEST(sigma_iteration)
{
    for (int arch = 0; arch < 6; arch++) {
        tfn_model_desc d = sigma_desc(arch % 3, (tfn_arch)(arch % 3));
        tfn_model m;
        tfn_param_info p, w, v;
        float before[80][64];
        int found = 0;
        if (arch >= 3) d.width = 32, d.ffn = 64;    /* the next array follows without padding */
        CASE("%s, width %d", d.recipe, (int)d.width);
        if (!sigma_new(&m, &d)) return;
        for (int32_t i = 0; tfn_model_param(&m, i, &p) && i < 1000; i++)
            if (strstr(p.name, ".sigma_u") && found < 80)
                memcpy(before[found++], p.data, (size_t)p.cols * sizeof *p.data);
        CHECK(sigma_step(&m, 0, true).updated);
        found = 0;
        for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
            double side[64], sum = 0, size = 0;
            char *end = strstr(p.name, ".sigma_u");
            if (!end) continue;
            *end = 0;
            if (!sigma_find(&m, p.name, ".weight", &w) || !sigma_find(&m, p.name, ".sigma_v", &v))
                return;
            CHECK(p.cols == w.rows && v.cols == w.cols);
            for (int c = 0; c < w.cols; c++) {
                side[c] = 0;
                for (int r = 0; r < w.rows; r++)
                    side[c] += (double)before[found][r] * (double)w.data[r*w.cols + c];
                size += side[c] * side[c];
            }
            for (int c = 0; c < w.cols; c++) CHECK_CLOSE((double)v.data[c], side[c]/sqrt(size), 2e-6);
            size = 0;
            for (int r = 0; r < w.rows; r++) {
                side[r] = 0;
                for (int c = 0; c < w.cols; c++)
                    side[r] += (double)v.data[c] * (double)w.data[r*w.cols + c];
                size += side[r] * side[r];
            }
            for (int r = 0; r < w.rows; r++) {
                sum += (double)p.data[r] * (double)p.data[r];
                CHECK_CLOSE((double)p.data[r], side[r]/sqrt(size), 2e-6);
            }
            CHECK_CLOSE(sum, 1, 1e-5);
            found++;
        }
        CHECK(found > 10);
        tfn_model_free(&m);
    }
}

/* After updates the estimate is still close: the rates are small compared with the gaps. */
TEST(sigma_follows)
{
    for (int recipe = 0; recipe < 3; recipe++) {
        tfn_model_desc d = sigma_desc(recipe, TFN_ARCH_DECODER);
        tfn_model m;
        tfn_param_info p, w, u, v;
        tfn_report first, last;
        d.schedule.lr = (float)0.01;
        if (!sigma_new(&m, &d)) return;
        first = sigma_step(&m, 0, true);
        last = first;
        for (int n = 1; n < 150; n++) last = sigma_step(&m, n % 3, true);
        if (!(last.loss < 0.5 * first.loss))
            FAIL("%s: loss %g, at first %g", d.recipe, last.loss, first.loss);
        for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
            char *end = strstr(p.name, ".gamma");
            double sigma, largest;
            if (!end) continue;
            *end = 0;
            if (!sigma_find(&m, p.name, ".weight", &w) || !sigma_find(&m, p.name, ".sigma_u", &u)
                || !sigma_find(&m, p.name, ".sigma_v", &v)) return;
            sigma = sigma_of(&w, &u, &v);
            largest = sigma_largest(&w);
            if (!(sigma <= largest * 1.00001 && sigma > 0.9 * largest))
                FAIL("%s %s: sigma is %g, the largest singular value %g", d.recipe, p.name, sigma,
                     largest);
        }
        tfn_model_free(&m);
    }
}

/* -- the same bits however the work is divided ------------------------------------------------- */

TEST(sigma_bits)
{
    for (int arch = 0; arch < 3; arch++) {
        uint64_t hash = 0;
        for (int form = 0; form < 4; form++) {
            tfn_model_desc d = sigma_desc(arch, (tfn_arch)arch);
            tfn_model m;
            d.dropout = (float)0.1;
            d.recompute = form % 2 == 1;
            d.batch += form;
            d.threads = HOOK_THREADS(form / 2 * 2 + 1);
            if (!sigma_new(&m, &d)) return;
            for (int n = 0; n < 5; n++) sigma_step(&m, n, true);
            if (!form) hash = tfn_model_hash(&m);
            if (tfn_model_hash(&m) != hash) FAIL("%s: form %d has other bits", d.recipe, form);
            tfn_model_free(&m);
        }
    }
}

/* Matrices of zeros: sigma counts as 1 until an update moves them; nothing is NaN. */
TEST(sigma_of_zeros)
{
    tfn_model_desc d = sigma_desc(0, TFN_ARCH_DECODER);
    tfn_model m;
    tfn_param_info p;
    double most = 0;
    d.init = "fixup";
    if (!sigma_new(&m, &d)) return;
    for (int n = 0; n < 20; n++) CHECK(sigma_step(&m, n, true).updated);
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++)
        for (int32_t j = 0; j < p.rows * p.cols; j++) {
            CHECK(p.data[j] - p.data[j] == 0);
            if (strstr(p.name, "w2.weight")) most = fmax(most, fabs((double)p.data[j]));
        }
    CHECK(most > 1e-3);                             /* no longer zeros */
    tfn_model_free(&m);
}

/* A matrix whose sign was turned has a negative sigma until the next update. The fold divides by it,
 * as the forward does, so the folded matrix keeps its sign. */
TEST(sigma_turned)
{
    enum { N = SIGMA_B * SIGMA_T * SIGMA_V };
    static float logits[N], before[36 * 20];
    tfn_model_desc d = sigma_desc(0, TFN_ARCH_DECODER);
    tfn_model m, folded;
    tfn_param_info p;
    sigma_data s;
    for (int turned = 0; turned < 2; turned++) {
        const float *x;
        CASE("turned %d", turned);
        d.inference = d.folded = false;
        if (!sigma_new(&m, &d)) return;
        for (int n = 0; n < 5; n++) CHECK(sigma_step(&m, n, true).updated);
        for (int32_t i = 0; turned && tfn_model_param(&m, i, &p); i++)
            for (int32_t j = 0; strstr(p.name, "ffn.w2.weight") && j < p.rows * p.cols; j++)
                p.data[j] = -p.data[j];
        sigma_batch(&s, d.arch, 3, false);
        x = tfn_model_logits(&m, &s.batch);
        if (x) memcpy(logits, x, sizeof logits);
        d.inference = d.folded = true;
        if (!x || !sigma_new(&folded, &d)) return;
        CHECK_INT(tfn_model_fold(&folded, &m), TFN_OK);
        x = tfn_model_logits(&folded, &s.batch);
        for (int i = 0; x && i < N; i++) CHECK_CLOSE((double)x[i], (double)logits[i], 1e-5);
        if (!x || !sigma_find(&folded, "decoder.0.ffn.w2", ".weight", &p)) return;
        for (int32_t j = 0; turned && j < p.rows * p.cols; j++)
            CHECK_CLOSE((double)p.data[j], (double)before[j], 1e-6);
        memcpy(before, p.data, sizeof before);
        tfn_model_free(&folded);
        tfn_model_free(&m);
    }
}

/* A matrix of zeros has no sigma: gamma starts at 1, and folding leaves zeros. */
TEST(sigma_of_nothing)
{
    for (int recipe = 0; recipe < 3; recipe++) {
        tfn_model_desc d = sigma_desc(recipe, TFN_ARCH_DECODER);
        tfn_model m, folded;
        tfn_param_info p;
        int seen = 0;
        d.init = "fixup";
        if (!sigma_new(&m, &d)) return;
        CASE("%s", d.recipe);
        for (int32_t i = 0; tfn_model_param(&m, i, &p); i++)
            if (strstr(p.name, "ffn.w2.gamma")) {
                CHECK(p.data[0] >= 1 && p.data[0] <= 1);
                seen++;
            }
        CHECK(seen > 0);
        d.inference = d.folded = true;
        if (!sigma_new(&folded, &d)) return;
        CHECK_INT(tfn_model_fold(&folded, &m), TFN_OK);
        for (int32_t i = 0; tfn_model_param(&folded, i, &p); i++)
            for (int32_t j = 0; strstr(p.name, "ffn.w2.weight") && j < p.rows * p.cols; j++)
                CHECK(p.data[j] >= 0 && p.data[j] <= 0);
        tfn_model_free(&folded);
        tfn_model_free(&m);
    }
}

int main(void)
{
    RUN(sigma_start);
    RUN(sigma_start_bits);
    RUN(sigma_plain_at_start);
    RUN(sigma_once_an_update);
    RUN(sigma_iteration);
    RUN(sigma_follows);
    RUN(sigma_bits);
    RUN(sigma_of_zeros);
    RUN(sigma_of_nothing);
    RUN(sigma_turned);
    return DONE();
}
