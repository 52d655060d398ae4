/* Numbers of records over seeds, and least squares. */
#include "lab_samples.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void lab_sum_up(lab_sample *a)
{
    double sum = 0;
    double squares = 0;
    for (int32_t i = 0; i < a->n; i++) sum += a->v[i];
    a->mean = (double)NAN;
    if (a->n) a->mean = sum / a->n;
    for (int32_t i = 0; i < a->n; i++) squares += (a->v[i] - a->mean) * (a->v[i] - a->mean);
    a->sd = 0;
    if (a->n > 1) a->sd = sqrt(squares / (a->n - 1));
}

/* True if a training run went to infinity. The numbers may then be NaN; claims count them as
 * failures. */
static bool lab_diverged(const lab_record *r)
{
    const lab_list *curve = lab_list_of(r, "curve");
    const lab_list *skipped = lab_list_of(r, "skipped");
    if (skipped && skipped->n > 0 && !(skipped->v[0] <= 0)) return true;
    if (!curve) return false;
    for (int32_t i = 0; i < curve->n; i++)
        if (!(curve->v[i] - curve->v[i] >= 0)) return true;
    return false;
}

/* Counts a mistake and keeps the text of the first one. Returns NaN for the missing number. */
static double lab_mistake(lab *l, const char *format, const char *name, const char *key)
{
    if (!l->wrong) snprintf(l->wrong_text, sizeof l->wrong_text, format, name, key);
    l->wrong++;
    return (double)NAN;
}

/* The value of a diverged run that has no number: the loss of guessing, no word right. */
static double lab_lost(const lab_record *r, const char *name)
{
    const lab_list *unigram = lab_list_of(r, "unigram");
    if (!strcmp(name, "nll") && unigram && unigram->n > 0) return unigram->v[0];
    if (!strcmp(name, "wer")) return 100;
    if (!strcmp(name, "bleu") || !strcmp(name, "rouge") || !strcmp(name, "accuracy")) return 0;
    return (double)NAN;
}

/* Number `index` (-1: the last) of an existing record. An unknown list, an index past the end, and
 * NaN after a run that did not diverge are mistakes of the claim. */
static double lab_number(lab *l, const lab_record *r, const char *name, int32_t index)
{
    const lab_list *list = lab_list_of(r, name);
    const bool diverged = lab_diverged(r);
    if (!list && diverged) return lab_lost(r, name);
    if (!list) return lab_mistake(l, "no list is called \"%s\" in %s", name, r->key);
    if (index < 0) index += list->n;
    if (index < 0 || index >= list->n)
        return lab_mistake(l, "list \"%s\" is shorter in %s", name, r->key);
    const double x = list->v[index];
    if (x == x) return x;
    if (diverged) return lab_lost(r, name);
    return lab_mistake(l, "list \"%s\" holds NaN in %s", name, r->key);
}

lab_spec lab_seeded(const lab *l, lab_spec s, int32_t i)
{
    s.seed = (uint64_t)(l->first + i + 1);
    return s;
}

int32_t lab_seeds(const lab *l, const lab_spec *s)
{
    if (s->stop) return l->seeds;
    if (s->few && l->init_seeds < 12) return 3;
    if (s->few) return l->init_seeds / 4;
    return l->init_seeds;
}

const lab_record *lab_final(lab *l, lab_spec s)
{
    const lab_record *r = lab_get(l, &s);
    const lab_list *settled = lab_list_of(r, "settled");
    if (!settled || settled->v[0] > 0 || s.every || lab_diverged(r)) return r;
    const lab_spec longer = lab_longer(s);
    return lab_get(l, &longer);
}

lab_sample lab_over(lab *l, lab_spec s, const char *name, int32_t index)
{
    lab_sample a;
    a.n = lab_seeds(l, &s);
    for (int32_t i = 0; i < a.n; i++) {
        const lab_record *r = lab_final(l, lab_seeded(l, s, i));
        a.v[i] = (double)NAN;
        if (r) a.v[i] = lab_number(l, r, name, index);
    }
    lab_sum_up(&a);
    return a;
}
lab_fit lab_line_through(int32_t n, const double *x, const double *y)
{
    double sx = 0;
    double sy = 0;
    double xx = 0;
    double xy = 0;
    double yy = 0;
    lab_fit f;
    for (int32_t i = 0; i < n; i++) {
        sx += x[i] / n;
        sy += y[i] / n;
    }
    for (int32_t i = 0; i < n; i++) {
        xx += (x[i] - sx) * (x[i] - sx);
        yy += (y[i] - sy) * (y[i] - sy);
        xy += (x[i] - sx) * (y[i] - sy);
    }
    f.b = xy / xx;
    f.a = sy - f.b * sx;
    f.r2 = xy * xy / (xx * yy);
    return f;
}

double lab_power(int32_t n, const double *x, const double *y)
{
    double u[2 * LAB_DEEPEST], v[2 * LAB_DEEPEST];
    for (int32_t i = 0; i < n; i++) {
        u[i] = log(x[i]);
        v[i] = log(y[i]);
    }
    return lab_line_through(n, u, v).b;
}
