/* Vocabularies and batches of every task, then the options of models. */
#include "lab_data.h"
#include "../common/tasks.h"
#include "tongues.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

lab_words lab_vocabularies[LAB_LABEL + 1];       /* filled by lab_prepare, then constant */

static void lab_make(task_item *item, lab_task t, uint64_t seed, task_split split, uint64_t i)
{
    task_options o;
    memset(&o, 0, sizeof o);
    o.seed = seed;
    o.max = lab_tasks[t].most;
    task_make(item, task_find(lab_tasks[t].row), &o, split, i);
}

/* The next word of a text, where a full stop or comma is a word by itself; or the next letter. */
static bool lab_next(const char **text, char word[LAB_WORD], bool letters)
{
    size_t n = 0;
    if (!letters) *text += strspn(*text, " ");
    if (!**text) return false;
    if (!letters) n = strcspn(*text, " .,");
    if (!n) n = 1;
    snprintf(word, LAB_WORD, "%.*s", (int)n, *text);
    *text += n;
    return true;
}

static int lab_by_text(const void *a, const void *b)
{
    return strcmp((const char *)a, (const char *)b);
}

static void lab_learn(lab_words *w, const char *text, bool letters)
{
    char word[LAB_WORD];
    while (lab_next(&text, word, letters)) {
        if (bsearch(word, w->text, (size_t)w->count, LAB_WORD, lab_by_text)) continue;
        if (w->count == LAB_WORDS) return;
        memcpy(w->text[w->count++], word, LAB_WORD);
        qsort(w->text, (size_t)w->count, LAB_WORD, lab_by_text);
    }
}

void lab_number_bytes(struct lab_corpus *c)
{
    for (int i = 0; i < 256; i++) c->number[i] = -1;
    c->hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < c->bytes; i++) {
        c->hash = (c->hash ^ c->text[i]) * 1099511628211u;
        if (c->number[c->text[i]] < 0) c->number[c->text[i]] = c->kinds++;
    }
}

const char *lab_take_text(const char *path)
{
    struct lab_corpus *c = &lab_corpus;
    FILE *f = fopen(path, "rb");
    size_t got = 1;
    if (!f) return "it cannot be read";
    while (got) {
        unsigned char *more = (unsigned char *)realloc(c->text, c->bytes + 65536);
        if (!more) break;
        c->text = more;
        got = fread(c->text + c->bytes, 1, 65536, f);
        c->bytes += got;
    }
    const bool failed = got || ferror(f);
    fclose(f);
    if (failed) return "it cannot be read";
    if (c->bytes < LAB_LEAST_TEXT) return "it has less than 1000 bytes";
    lab_number_bytes(c);
    return NULL;
}

void lab_prepare(void)
{
    task_item item;
    for (int t = 0; t <= LAB_LABEL; t++)
        for (uint64_t i = 0; i < LAB_SAMPLES; i++) {
            if (!lab_tasks[t].row) break;
            lab_make(&item, (lab_task)t, 0, TASK_TRAIN, i);
            lab_learn(&lab_vocabularies[t], item.source, lab_tasks[t].letters);
            lab_learn(&lab_vocabularies[t], item.second, lab_tasks[t].letters);
            if (t < LAB_MASKED) lab_learn(&lab_vocabularies[t], item.target, lab_tasks[t].letters);
        }
}

static int32_t lab_encode(int32_t *ids, int32_t most, lab_task t, const char *text)
{
    const lab_words *w = &lab_vocabularies[t];
    char word[LAB_WORD];
    int32_t n = 0;
    while (n < most) {
        if (!lab_next(&text, word, lab_tasks[t].letters)) break;
        const char *found = (const char *)bsearch(word, w->text, (size_t)w->count, LAB_WORD,
                                                  lab_by_text);
        if (found) ids[n++] = LAB_FIRST + (int32_t)((found - w->text[0]) / LAB_WORD);
    }
    return n;
}

/* Speech: four frames, 40 ms, become the number of the nearest of 64 means of such groups, as in
 * models of discrete units. This replaces a convolution, whose weights would have to be trained. */
enum { LAB_CODES = 64, LAB_ROUNDS = 10, LAB_SPOKEN = 512 + LAB_TEST };  /* training first */
static struct lab_sound { int32_t n, code[LAB_TIME], words, word[8]; } lab_sounds[LAB_SPOKEN];

static int32_t lab_nearest(const float means[LAB_CODES][TASK_BANDS], const float *x)
{
    int32_t best = 0;
    double least = 1e30;
    for (int32_t k = 0; k < LAB_CODES; k++) {
        double sum = 0;
        for (int c = 0; c < TASK_BANDS; c++) {
            double d = (double)x[c] - (double)means[k][c];
            sum += d*d;
        }
        if (sum < least) {
            least = sum;
            best = k;
        }
    }
    return best;
}

/* Means of the training sounds' groups, starting from evenly spaced ones (Lloyd 1957). */
static void lab_means(float means[LAB_CODES][TASK_BANDS], const float *fours, int32_t n)
{
    for (int32_t k = 0; k < LAB_CODES; k++)
        memcpy(means[k], fours + (ptrdiff_t)(n / LAB_CODES * k) * TASK_BANDS, sizeof means[k]);
    for (int round = 0; round < LAB_ROUNDS; round++) {
        double sum[LAB_CODES][TASK_BANDS] = { { 0 } };
        int32_t count[LAB_CODES] = { 0 };
        for (int32_t i = 0; i < n; i++) {
            const float *x = fours + (ptrdiff_t)i * TASK_BANDS;
            int32_t k = lab_nearest((const float (*)[TASK_BANDS])means, x);
            count[k]++;
            for (int c = 0; c < TASK_BANDS; c++) sum[k][c] += (double)x[c];
        }
        for (int32_t k = 0; k < LAB_CODES; k++) {
            if (!count[k]) continue;
            for (int c = 0; c < TASK_BANDS; c++) means[k][c] = (float)(sum[k][c] / count[k]);
        }
    }
}

bool lab_speak(void)
{
    const ptrdiff_t most = LAB_TIME - 1;                /* END comes last */
    float *fours = (float *)calloc((size_t)(LAB_SPOKEN * most * TASK_BANDS), sizeof *fours);
    float frames[TASK_FRAMES * TASK_BANDS], means[LAB_CODES][TASK_BANDS], *to = fours;
    int32_t training = 0;
    task_item item;
    if (!fours || lab_sounds[0].n) {
        free(fours);
        return lab_sounds[0].n > 0;
    }
    for (int32_t i = 0; i < LAB_SPOKEN; i++) {
        struct lab_sound *x = &lab_sounds[i];
        bool test = i >= LAB_SPOKEN - LAB_TEST;
        const task_split split = test ? TASK_TEST : TASK_TRAIN;
        lab_make(&item, LAB_SPEECH, 0, split, (uint64_t)i);
        x->n = (int32_t)(task_features(frames, &item) / 4);
        if (x->n > most) x->n = (int32_t)most;
        x->words = lab_encode(x->word, 7, LAB_SPEECH, item.target);
        for (int32_t k = 0; k < x->n * TASK_BANDS; k++, to++)
            for (int f = 0; f < 4; f++)
                *to += frames[(k / TASK_BANDS * 4 + f) * TASK_BANDS + k % TASK_BANDS] / 4;
        if (!test) training += x->n;
    }
    lab_means(means, fours, training);
    to = fours;
    for (int32_t i = 0; i < LAB_SPOKEN; i++)
        for (int32_t k = 0; k < lab_sounds[i].n; k++, to += TASK_BANDS)
            lab_sounds[i].code[k] = lab_nearest((const float (*)[TASK_BANDS])means, to);
    free(fours);
    return true;
}

int32_t lab_time(lab_task t) { return lab_tasks[t].time; }
int32_t lab_answer(lab_task t)
{
    if (lab_tasks[t].answer) return lab_tasks[t].answer;
    return lab_tasks[t].time;
}

int32_t lab_vocab(const lab_spec *s)
{
    if (s->task == LAB_RANDOM) return 64;
    if (s->task == LAB_DISTINCT) return 16 * s->batch;
    const int32_t words = LAB_FIRST + lab_vocabularies[s->task].count;
    if (s->task == LAB_FILE) return lab_corpus.kinds;
    if (s->task == LAB_PAIRS) return LAB_FIRST + lab_pairs.vocab;
    if (s->task == LAB_TONGUES) return LAB_FIRST + TONGUES * (1 + TONGUE_WORDS);
    if (s->task == LAB_SPEECH) return words + LAB_CODES;
    return words;
}

/* Completes row `row`, whose source of n tokens is in place; its target of m begins at `target`. */
static void lab_fill_pair(lab_data *d, int32_t row, const lab_spec *s, int32_t n,
                          const int32_t *target, int32_t m)
{
    int32_t at = row * lab_time(s->task);
    d->source[row * lab_tasks[s->task].source_time + n] = LAB_END;
    d->tokens[at] = LAB_BEGIN;
    for (int32_t i = 0; i < m; i++) {
        d->targets[at + i] = target[i];
        d->tokens[at + i + 1] = target[i];
    }
    d->targets[at + m] = LAB_END;
    d->source_lengths[row] = n + 1;
    d->lengths[row] = m + 1;
}

static void lab_fill_sound(lab_data *d, int32_t row, const lab_spec *s, uint64_t i)
{
    const struct lab_sound *x = &lab_sounds[i];
    const int32_t first = LAB_FIRST + lab_vocabularies[LAB_SPEECH].count;
    for (int32_t k = 0; k < x->n; k++)
        d->source[row * lab_tasks[s->task].source_time + k] = first + x->code[k];
    lab_fill_pair(d, row, s, x->n, x->word, x->words);
}

const uint64_t LAB_UNSEEN = UINT64_MAX - 3;
const int32_t LAB_WORD_IDS = LAB_FIRST + TONGUES;      /* the first word's id */
static void lab_fill_tongues(lab_data *d, int32_t row, const lab_spec *s, uint64_t which,
                             tfn_key key)
{
    const bool unseen = which == LAB_UNSEEN;
    const tongue_meaning m = tongue_draw(tfn_random_bits(key, 0), unseen || which == UINT64_MAX);
    int32_t source[TONGUE_LONGEST], target[TONGUE_LONGEST];
    int pair[2];
    tongue_pair(tfn_random_bits(key, 1), unseen, pair);
    const int32_t n = tongue_say(source, &m, pair[0]);
    const int32_t answer = tongue_say(target, &m, pair[1]);
    int32_t *to = d->source + row * lab_tasks[s->task].source_time;
    to[0] = LAB_FIRST + pair[1];
    for (int32_t i = 0; i < n; i++) to[i + 1] = LAB_WORD_IDS + source[i];
    for (int32_t i = 0; i < answer; i++) target[i] += LAB_WORD_IDS;
    lab_fill_pair(d, row, s, n + 1, target, answer);
}

/* A given pair: of the training, of the validation set, which is the test of the loss, or of those
 * held out. */
const uint64_t LAB_HELD = UINT64_MAX - 16;
static const lab_pair *lab_pair_at(const lab_spec *s, int32_t row, uint64_t which, uint64_t draw)
{
    const struct lab_pairs *p = &lab_pairs;
    uint64_t at = draw % (uint64_t)p->count[LAB_TRAINING];
    int part = LAB_TRAINING;
    if (s->corpus && s->corpus < p->count[LAB_TRAINING]) at = draw % (uint64_t)s->corpus;
    if (which == UINT64_MAX) {
        part = LAB_VALID;
        at = (uint64_t)row * (uint64_t)p->count[part] / LAB_TEST;
    } else if (which <= LAB_HELD && which > LAB_HELD - LAB_HELD_BATCHES) {
        part = LAB_HELD_OUT;
        at = ((LAB_HELD - which) * LAB_TEST + (uint64_t)row) % (uint64_t)p->count[part];
    }
    return &p->rows[part][at];
}
static void lab_fill_given(lab_data *d, int32_t row, const lab_spec *s, uint64_t which,
                           uint64_t draw)
{
    const lab_pair *p = lab_pair_at(s, row, which, draw);
    int32_t target[LAB_SUBWORDS];
    for (int i = 0; i < p->n; i++)
        d->source[row * lab_tasks[s->task].source_time + i] = LAB_FIRST + p->source[i];
    for (int i = 0; i < p->m; i++) target[i] = LAB_FIRST + p->target[i];
    lab_fill_pair(d, row, s, p->n, target, p->m);
}

/* BEGIN, a fact, END, a fact, END. Either with their label, or with 15 of 100 words hidden and as
 * targets: 8 of 10 become PAD, 1 any word, 1 stays (Devlin 2018, section 3.1). */
static void lab_fill_two(lab_data *d, int32_t row, const lab_spec *s, const task_item *item,
                         tfn_key key)
{
    const int32_t time = lab_time(s->task);
    const int32_t words = lab_vocabularies[s->task].count;
    int32_t *to = d->tokens + row * time;
    int32_t n = 1;
    to[0] = LAB_BEGIN;
    n += lab_encode(to + n, time - 1 - n, s->task, item->source);
    to[n++] = LAB_END;
    n += lab_encode(to + n, time - 1 - n, s->task, item->second);
    to[n++] = LAB_END;
    d->lengths[row] = n;
    if (s->task == LAB_LABEL) d->targets[row] = item->label;
    if (s->task != LAB_MASKED) return;
    for (int32_t t = 0; t < n; t++) {
        uint64_t draw = tfn_random_bits(key, (uint64_t)t);
        uint64_t how = draw / 100 % 10;
        if (to[t] < LAB_FIRST || draw % 100 >= 15) continue;
        d->targets[row * time + t] = to[t];
        if (how < 8) to[t] = LAB_PAD;
        else if (how < 9) to[t] = LAB_FIRST + (int32_t)(draw / 1000 % (uint64_t)words);
    }
}

/* Letters of sentences i, i + 1 ...; or words of lines with an END after each. */
static void lab_fill_text(lab_data *d, int32_t row, int32_t time, const lab_spec *s, uint64_t seed,
                          task_split split, uint64_t i)
{
    int32_t ids[LAB_TIME + 1], n = 0;
    task_item item;
    while (n <= time) {
        lab_make(&item, s->task, seed, split, i++);
        n += lab_encode(ids + n, time + 1 - n, s->task, item.target);
        if (s->task == LAB_MARKOV && n <= time) ids[n++] = LAB_END;
    }
    for (int32_t t = 0; t < time; t++) {
        d->tokens[row * time + t] = ids[t];
        d->targets[row * time + t] = ids[t + 1];
    }
}

/* A window of the given text, anywhere in its part; windows of the test are evenly spaced. */
static void lab_fill_window(lab_data *d, int32_t row, int32_t time, uint64_t draw, bool test)
{
    const struct lab_corpus *c = &lab_corpus;
    const size_t first = c->bytes - c->bytes / 10;
    const size_t room = (test ? c->bytes - first : first) - (size_t)time - 1;
    size_t at = (size_t)(draw % room);
    if (test) at = first + room * (size_t)row / LAB_TEST;
    for (int32_t t = 0; t < time; t++) {
        d->tokens[row * time + t] = c->number[c->text[at + (size_t)t]];
        d->targets[row * time + t] = c->number[c->text[at + (size_t)t + 1]];
    }
}

/* Row `row` of batch `which`, a sentence of tasks.h. Sentences of a corpus are repeated. */
static void lab_fill_row(lab_data *d, int32_t row, const lab_spec *s, uint64_t seed, uint64_t which)
{
    const int32_t time = lab_time(s->task);
    const int32_t source_time = lab_tasks[s->task].source_time;
    const bool test = which == UINT64_MAX;
    const task_split split = test ? TASK_TEST : TASK_TRAIN;
    const tfn_key key = tfn_key_fold(tfn_key_fold(tfn_key_make(seed), which), (uint64_t)row);
    uint64_t i = which * 1024 + 4 * (uint64_t)row;
    int32_t target[LAB_TIME], n, m;
    task_item item;
    if (s->corpus && !test) i = tfn_random_bits(key, 0) % (uint64_t)s->corpus;
    if (s->task == LAB_SPEECH) {
        const uint64_t training = LAB_SPOKEN - LAB_TEST;
        if (test) lab_fill_sound(d, row, s, training + (uint64_t)row);
        else lab_fill_sound(d, row, s, tfn_random_bits(key, 0) % training);
        return;
    }
    if (s->task == LAB_TONGUES) {
        lab_fill_tongues(d, row, s, which, key);
        return;
    }
    if (s->task == LAB_PAIRS) {
        lab_fill_given(d, row, s, which, tfn_random_bits(key, 0));
        return;
    }
    if (s->task == LAB_FILE) {
        lab_fill_window(d, row, time, tfn_random_bits(key, 0), test);
        return;
    }
    if (lab_is_text(s->task)) {
        lab_fill_text(d, row, time, s, seed, split, i);
        return;
    }
    lab_make(&item, s->task, seed, split, i);
    if (!lab_is_pair(s->task)) {
        lab_fill_two(d, row, s, &item, key);
        return;
    }
    n = lab_encode(d->source + row * source_time, source_time - 1, s->task, item.source);
    m = lab_encode(target, time - 1, s->task, item.target);
    lab_fill_pair(d, row, s, n, target, m);
}

/* n tokens with arbitrary targets: random tokens, or all different. */
static void lab_fill_random(lab_data *d, const lab_spec *s, int32_t n, tfn_key key)
{
    const uint64_t vocab = (uint64_t)lab_vocab(s);
    for (int32_t i = 0; i < n; i++) {
        d->tokens[i] = (int32_t)(tfn_random_bits(key, 2*(uint64_t)i) % vocab);
        if (s->task == LAB_DISTINCT) d->tokens[i] = i;
        d->targets[i] = (int32_t)(tfn_random_bits(key, 2*(uint64_t)i + 1) % vocab);
    }
}

void lab_fill(lab_data *d, const lab_spec *s, int32_t rows, uint64_t seed, uint64_t which)
{
    const int32_t time = lab_time(s->task);
    const bool made = lab_tasks[s->task].row || s->task == LAB_FILE || s->task == LAB_TONGUES
                    || s->task == LAB_PAIRS;
    tfn_batch *b = &d->batch;
    memset(d, 0, sizeof *d);
    for (int32_t i = 0; i < rows * time; i++) d->targets[i] = -1;
    if (made)
        for (int32_t row = 0; row < rows; row++) lab_fill_row(d, row, s, seed, which);
    else lab_fill_random(d, s, rows * time, tfn_key_fold(tfn_key_make(seed), which));
    b->tokens = d->tokens;
    b->targets = d->targets;
    b->batch = rows;
    b->time = time;
    if (made && !lab_is_text(s->task)) b->lengths = d->lengths;
    if (!lab_is_pair(s->task)) return;
    b->source = d->source;
    b->source_lengths = d->source_lengths;
    b->source_time = lab_tasks[s->task].source_time;
}

double lab_unigram(const lab_data *test)
{
    int32_t count[LAB_IDS] = { 0 }, all = 0;
    double sum = 0;
    for (int32_t i = 0; i < test->batch.batch * test->batch.time; i++)
        if (test->targets[i] >= 0) {
            count[test->targets[i]]++;
            all++;
        }
    for (int32_t i = 0; i < LAB_IDS; i++)
        if (count[i]) sum -= (double)count[i] / all * log((double)count[i] / all);
    return sum;
}

/* Equations 7 and 8 of Takase 2022 with the paper's width, whatever the model's. The paper leaves
 * out the norms "in internal layers", so a stack keeps its last one. */
static void lab_rule_512(const tfn_place *place, tfn_join *join)
{
    tfn_place wide = *place;
    wide.width = 512;
    *join = tfn_topology_join(tfn_topology_find("b2t-no-norm"), &wide);
}
static const tfn_topology lab_b2t_512 = {
    .name = "b2t-no-norm-512", .formula = "x = x + F(x); at the feed-forward a x_0 + b (x + F(x))",
    .paper = "Takase et al., eq. 6 to 8 at width 512", .year = 2022,
    .flags = TFN_TOPOLOGY_FINAL_NORM, .rule = lab_rule_512
};

tfn_model_desc lab_desc(const lab_spec *s, bool probes)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.arch = TFN_ARCH_ENCODER;
    if (lab_is_pair(s->task)) d.arch = TFN_ARCH_ENCODER_DECODER;
    if (lab_is_text(s->task)) d.arch = TFN_ARCH_DECODER;
    d.vocab = lab_vocab(s);
    d.context = lab_answer(s->task);
    d.source_context = lab_tasks[s->task].source_time;
    if (s->task == LAB_LABEL) {
        d.head = TFN_HEAD_SEQUENCE;
        d.classes = 3;
    }
    d.layers = s->layers;
    d.decoder_layers = s->decoder_layers;
    d.width = s->width;
    d.heads = s->heads;
    d.ffn = s->ffn;
    d.activation = TFN_ACTIVATION_RELU;
    d.position = s->theory ? TFN_POSITION_NONE : TFN_POSITION_SINUSOIDAL;
    d.scale_embedding = !s->theory && !s->plain;
    d.mup_base_width = s->base;
    d.recipe = s->recipe;
    d.init = s->init;
    d.norm = s->norm;
    if (s->at_512) d.topology = &lab_b2t_512;
    if (s->decoder)
        d.decoder_topology = tfn_topology_find(tfn_recipe_find(s->decoder)->topology);
    d.smoothing = (float)s->smoothing;
    d.dropout = (float)s->dropout;
    d.attention_dropout = d.activation_dropout = (float)s->inner;
    d.optimizer = s->optimizer;
    d.beta1 = (float)s->beta1;
    d.beta2 = (float)s->beta2;
    d.schedule.kind = s->schedule;
    d.schedule.lr = 1e-3f;
    if (s->lr > 0) d.schedule.lr = (float)s->lr;
    d.schedule.warmup = s->warmup;
    d.schedule.anchor = s->anchor;
    d.schedule.steps = s->steps;
    if (s->steps == 0) d.schedule.kind = TFN_SCHEDULE_CONSTANT;  /* only the start is measured */
    d.batch = s->stop ? LAB_TEST : s->batch;
    d.threads = 1;
    d.isa = s->isa;
    d.seed = s->seed;
    d.half = s->half;
    d.probes = probes;
    return d;
}

void lab_theory(tfn_model *m, const lab_spec *s)
{
    tfn_param_info p;
    tfn_key key = tfn_key_fold(tfn_key_make(s->seed), 77);
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        const int32_t n = p.rows * p.cols;
        const bool scores = strstr(p.name, ".q.weight") || strstr(p.name, ".k.weight");
        const bool output = strstr(p.name, ".o.weight") != NULL;
        if (!strcmp(p.name, "embedding.weight"))
            for (int32_t j = 0; j < n; j++) p.data[j] = tfn_random_normal(key, (uint64_t)j);
        if (!scores && !output) continue;
        for (int32_t j = 0; j < n; j++)
            p.data[j] = (output || s->itself) && j / p.cols == j % p.cols;
    }
}
void lab_alpha(tfn_model *m, double alpha)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        if (strstr(p.name, ".alpha")) *p.data = (float)alpha;
}
