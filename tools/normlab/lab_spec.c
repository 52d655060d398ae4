/* The tasks, the keys of specs, the lists of records. */
#include "lab_spec.h"
#include "tongues.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const lab_task_row lab_tasks[LAB_TASKS] = {
    { "reverse", "reverse", 0, true, 9, 9, 0 }, { "grammar", "translate", 1, false, 16, 16, 0 },
    { "translate", "translate", 2, false, 26, 26, 0 },
    { "headline", "headline", 1, false, 12, 26, 26 }, { "speech", "digits", 0, false, 6, 32, 0 },
    { "tongues", NULL, 0, false, TONGUE_LONGEST + 1, TONGUE_LONGEST + 2, 0 },
    { "pairs", NULL, 0, false, LAB_SUBWORDS + 1, LAB_SUBWORDS + 1, 0 },
    { "text", "sentences", 2, true, 32, 0, 0 }, { "markov", "markov", 0, false, 32, 0, 0 },
    { "file", NULL, 0, true, 32, 0, 0 },
    { "masked", "entailment", 0, false, 28, 0, 0 }, { "label", "entailment", 0, false, 28, 0, 0 },
    { "random", NULL, 0, false, 12, 0, 0 }, { "distinct", NULL, 0, false, 16, 0, 0 }
};
struct lab_corpus lab_corpus;
struct lab_pairs lab_pairs;

double *lab_put(lab_record *r, int32_t n, const char *format, ...)
{
    va_list args;
    lab_list *l = &r->lists[r->count];
    if (r->count == LAB_LISTS || n < 1) return NULL;
    l->v = (double *)malloc((size_t)n * sizeof *l->v);
    if (!l->v) return NULL;
    va_start(args, format);
    vsnprintf(l->name, sizeof l->name, format, args);
    va_end(args);
    for (l->n = 0; l->n < n; l->n++) l->v[l->n] = (double)NAN;
    r->count++;
    return l->v;
}

const lab_list *lab_list_of(const lab_record *r, const char *name)
{
    if (!r) return NULL;
    for (int32_t i = 0; i < r->count; i++)
        if (!strcmp(r->lists[i].name, name)) return &r->lists[i];
    return NULL;
}

static const char *lab_optimizer_name(tfn_optimizer kind)
{
    const char *name = tfn_choice_name("optimizer", (int32_t)kind);
    if (!name) return "adamw";
    return name;
}

/* The name in a key of a schedule that claims use. */
static const char *lab_schedule_name(tfn_schedule_kind kind)
{
    if (kind == TFN_SCHEDULE_LINEAR) return "linear";
    if (kind == TFN_SCHEDULE_CONSTANT) return "constant";
    return "inverse-sqrt";
}

void lab_key_text(char *text, const lab_spec *s)
{
    const char *optimizer = lab_optimizer_name(s->optimizer);
    int at = snprintf(text, LAB_KEY, "%s %s L%d", lab_tasks[s->task].name, s->recipe, s->layers);
#define LAB_ADD(condition, ...)                                                                  \
    if ((condition) && at < LAB_KEY) at += snprintf(text + at, (size_t)(LAB_KEY - at), __VA_ARGS__)
    LAB_ADD(s->decoder_layers, "-%d", s->decoder_layers);
    LAB_ADD(true, " d%d h%d f%d B%d", s->width, s->heads, s->ffn, s->batch);
    LAB_ADD(s->decoder, " decoder=%s", s->decoder);
    LAB_ADD(s->init, " init=%s", s->init);
    LAB_ADD(s->norm, " norm=%s", s->norm);
    LAB_ADD(s->stop, " %s lr=%g b1=%g b2=%g %s warmup=%ld steps=%ld", optimizer,
            s->lr, s->beta1, s->beta2, lab_schedule_name(s->schedule), (long)s->warmup,
            (long)s->steps);
    LAB_ADD(s->anchor, " anchor=%ld", (long)s->anchor);
    LAB_ADD(s->stop != s->steps, " stop=%ld", (long)s->stop);
    LAB_ADD(s->dropout > 0, " dropout=%g", s->dropout);
    LAB_ADD(s->inner > 0, " inner=%g", s->inner);
    LAB_ADD(s->corpus, " corpus=%d", s->corpus);
    LAB_ADD(s->smoothing > 0, " smoothing=%g", s->smoothing);
    LAB_ADD(s->task == LAB_FILE, " text=%016llx", (unsigned long long)lab_corpus.hash);
    LAB_ADD(s->task == LAB_PAIRS, " of=%016llx", (unsigned long long)lab_pairs.hash);
    LAB_ADD(s->tune, " tune=%ld", (long)s->tune);
    LAB_ADD(s->settle, " settle");
    LAB_ADD(s->every, " every=%ld", (long)s->every);
    LAB_ADD(s->each, " each");
    LAB_ADD(s->at_512, " at512");
    LAB_ADD(s->fold, " fold");
    LAB_ADD(s->trace, " trace");
    LAB_ADD(s->without, " without");
    LAB_ADD(s->plain, " plain");
    LAB_ADD(s->base, " base=%d", s->base);
    LAB_ADD(s->half, " half");
    LAB_ADD(s->score, " score");
    LAB_ADD(s->look, " look");
    LAB_ADD(s->theory, " theory");
    LAB_ADD(s->itself, " itself");
    LAB_ADD(s->alpha > 0, " alpha=%g", s->alpha);
    LAB_ADD(s->noise > 0, " noise=%g", s->noise);
    LAB_ADD(s->step > 0, " step=%g", s->step);
    LAB_ADD(true, " seed=%lu", (unsigned long)s->seed);
#undef LAB_ADD
}

int64_t lab_every(const lab_spec *s)
{
    if (s->every) return s->every;
    if (s->stop > LAB_CHECKS) return s->stop / LAB_CHECKS;
    return 1;
}

lab_spec lab_longer(lab_spec s)
{
    s.every = lab_every(&s);
    s.steps *= LAB_LONGER;
    s.stop *= LAB_LONGER;
    return s;
}

bool lab_is_pair(lab_task t) { return t <= LAB_PAIRS; }
bool lab_is_text(lab_task t) { return t >= LAB_TEXT && t <= LAB_FILE; }
int32_t lab_depth(const lab_spec *s, bool decoder)
{
    if (!lab_is_pair(s->task) && decoder != lab_is_text(s->task)) return 0;
    if (decoder && s->decoder_layers) return s->decoder_layers;
    return s->layers;
}
