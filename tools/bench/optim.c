/* Times training steps with Muon or packed moments next to AdamW, and drawing initial weights. */
#include "optim.h"
#include "../../tfnorm.h"
#include "contest.h"
#include "option.h"
#include "train.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The optimizers to measure. The first is the baseline of the others. */
static const struct {
    const char     *name;
    tfn_optimizer   optimizer;
    tfn_moment_type moments;
} methods[] = {
    { "adamw", TFN_OPTIMIZER_ADAMW, TFN_MOMENT_TYPE_FLOAT },
    { "muon", TFN_OPTIMIZER_MUON, TFN_MOMENT_TYPE_FLOAT },
    { "fp8 moments", TFN_OPTIMIZER_ADAMW, TFN_MOMENT_TYPE_FP8 },
    { "bf16 moments", TFN_OPTIMIZER_ADAMW, TFN_MOMENT_TYPE_BF16 }
};
enum { METHODS = sizeof methods / sizeof *methods };

static void start(train_job *j, const shape *s, int method)
{
    tfn_model_desc d = desc_of(s, false, option.threads);
    d.optimizer = methods[method].optimizer;
    d.moment_type = methods[method].moments;
    memset(j, 0, sizeof *j);
    make_model(&j->m, &d, s->name);
    train_data(j, s);
}

/* Prints a row: milliseconds, and unless `ratio` is 0, the median ratio to AdamW. */
static void print(const train_job *j, const char *name, double seconds, double ratio)
{
    char text[200];
    char more[40] = "";
    if (ratio > 0) snprintf(more, sizeof more, "   %.2f times adamw", ratio);
    if (option.json) snprintf(more, sizeof more, "null");
    if (option.json && ratio > 0) snprintf(more, sizeof more, "%.3f", ratio);
    snprintf(text, sizeof text, "%s, %s", j->s.name, name);
    if (option.json)
        printf("{\"bench\":\"optim\",\"name\":\"%s\",\"isa\":\"%s\",\"threads\":%d,\"rounds\":%d,"
               "\"ms\":%.6g,\"ratio\":%s}\n", text, j->k->name, option.threads, option.rounds,
               seconds * 1e3, more);
    else printf("%-7s %-30s %11.3f ms%s\n", j->k->name, text, seconds * 1e3, more);
    fflush(stdout);
}

/* Times steps of AdamW and of the selected optimizers, in turn. */
static void steps(const shape *s)
{
    train_job jobs[METHODS];
    double time[METHODS][ROUNDS], ratio[METHODS][ROUNDS];
    bool use[METHODS] = { false };
    for (int i = 1; i < METHODS; i++) {
        use[i] = wanted(methods[i].name);
        use[0] = use[0] || use[i];
    }
    for (int i = 0; i < METHODS; i++) {
        if (!use[i]) continue;
        start(&jobs[i], s, i);
        our_steps(&jobs[i]);
    }
    for (int r = 0; r < option.rounds; r++)
        for (int i = 0; i < METHODS; i++) {
            if (!use[i]) continue;
            time[i][r] = our_steps(&jobs[i]);
            ratio[i][r] = time[i][r] / time[0][r];
        }
    for (int i = 0; i < METHODS; i++) {
        double of_adamw = 0;
        if (!use[i]) continue;
        if (i > 0) of_adamw = median(ratio[i], option.rounds);
        print(&jobs[i], methods[i].name, median(time[i], option.rounds), of_adamw);
        train_end(&jobs[i]);
    }
}

/* Times drawing initial weights. The model has no gradients or moments, because touching their
 * pages would count, too. */
static void initial_weights(const shape *s)
{
    train_job j;
    double time[ROUNDS];
    tfn_model_desc d = desc_of(s, true, option.threads);
    memset(&j, 0, sizeof j);
    j.s = *s;
    for (int r = 0; r < option.rounds; r++) {
        const double begun = now();
        make_model(&j.m, &d, s->name);
        time[r] = now() - begun;
        j.k = j.m.kernels;
        tfn_model_free(&j.m);
    }
    print(&j, "initial weights", median(time, option.rounds), 0);
}

void bench_optim(const shape *list, int n)
{
    for (int i = 0; i < n; i++) {
        steps(&list[i]);
        if (wanted("initial weights")) initial_weights(&list[i]);
    }
}
