/* Lays out boxes and lines from the joins of a topology. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "block.h"
#include "rows.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* -- the block of a topology ------------------------------------------------------------------- */

static void norm_box(drawing *d, const block *b, look how, int x, int y)
{
    static const char *const names[] = { "N_in", "N_branch", "N_sum", "N_inner", "N_final" };
    char text[WIDE];
    snprintf(text, sizeof text, "%s", names[how - LOOK_IN]);
    if (b->norm[0]) snprintf(text, sizeof text, "%s %s", names[how - LOOK_IN], b->norm);
    new_item(d, how, x, y, text);
}

/* value * N^n * M^m * l^layer, as tfn_scale_rule defines it */
static double scale_value(const tfn_scale_rule *s, const tfn_place *p)
{
    return (double)s->value * pow(p->encoder_depth, (double)s->n)
         * pow(p->decoder_depth, (double)s->m) * pow(p->layer, (double)s->layer);
}
const char *scale_name(const tfn_scale_rule *s, const tfn_place *p)
{
    static char texts[4][32];
    static int turn;
    switch (s->kind) {
    case TFN_SCALE_NONE: return "";
    case TFN_SCALE_FOLDED: return "";
    case TFN_SCALE_LEARNED: return "a";
    case TFN_SCALE_VECTOR: return "v";
    case TFN_SCALE_SHARED: return "a_l";
    case TFN_SCALE_PROFILED: return "w";
    case TFN_SCALE_LERP: return "(1 - |v|)";
    case TFN_SCALE_CONSTANT: break;
    case TFN_SCALE_SCHEDULED: break;
    }
    char *text = texts[turn];
    turn = (turn + 1) % 4;
    if (s->kind == TFN_SCALE_CONSTANT) snprintf(text, sizeof *texts, "%.4g", scale_value(s, p));
    else snprintf(text, sizeof *texts, "min(1, t/%.4g)", scale_value(s, p));
    return text;
}

static void scale_box(drawing *d, const tfn_scale_rule *s, const tfn_place *p, int x, int *y)
{
    char text[WIDE];
    switch (s->kind) {
    case TFN_SCALE_NONE: return;
    case TFN_SCALE_FOLDED: return;
    case TFN_SCALE_PROFILED:
        snprintf(text, sizeof text, "* w, profiled");
        break;
    case TFN_SCALE_LEARNED:
    case TFN_SCALE_VECTOR:
    case TFN_SCALE_SHARED:
        snprintf(text, sizeof text, "* %s, from %.4g", scale_name(s, p), scale_value(s, p));
        break;
    default:
        snprintf(text, sizeof text, "* %s", scale_name(s, p));
    }
    new_item(d, LOOK_SCALE, x, (*y)++, text);
}

const char *sublayer_name(tfn_sublayer kind)
{
    switch (kind) {
    case TFN_SUBLAYER_SELF_ATTENTION: return "self-attention";
    case TFN_SUBLAYER_CROSS_ATTENTION: return "cross-attention";
    case TFN_SUBLAYER_FFN: return "feed-forward";
    default: return "feed-forward 1";
    }
}

static const char *const qk_boxes[] = {
    "", "", "q, k of length 1 a head, q * g", "q, k of length 1 a head, q * g_h",
    "norms of q, k, a head", "norms of q, k", "q, k of length 1 a head, * v",
    "norms of q, k, v, a head"
};

/* Draws F: one box, or its parts if there is something between them. */
static void draw_attention(drawing *d, const block *b, const tfn_join *j, const tfn_place *p,
                           int *y)
{
    bool parts = j->qk > TFN_QK_NORM_NONE || j->head_scale != TFN_HEAD_SCALE_NONE || j->norm_inner;
    const char *name = sublayer_name(p->kind);
    if (p->kind == TFN_SUBLAYER_CROSS_ATTENTION) name = "cross-attention: q of x, k and v of m";
    if (parts) new_item(d, LOOK_PLAIN, BRANCH, (*y)++, "W_Q, W_K, W_V");
    if (j->qk > TFN_QK_NORM_NONE) new_item(d, LOOK_INNER, BRANCH, (*y)++, qk_boxes[j->qk]);
    new_item(d, LOOK_PLAIN, BRANCH, (*y)++, name);
    if (j->head_scale == TFN_HEAD_SCALE_BEFORE)
        new_item(d, LOOK_SCALE, BRANCH, (*y)++, "* a_h, a scalar a head, from 1");
    if (j->norm_inner) norm_box(d, b, LOOK_INNER, BRANCH, (*y)++);
    if (parts) new_item(d, LOOK_PLAIN, BRANCH, (*y)++, "W_O");
    if (j->head_scale == TFN_HEAD_SCALE_AFTER)
        new_item(d, LOOK_SCALE, BRANCH, (*y)++, "* a_h, a scalar a block, from 1");
}

static void draw_ffn(drawing *d, const block *b, const tfn_join *j, const tfn_place *p, int *y)
{
    if (!j->norm_inner && !j->shifts && !j->scales) {
        new_item(d, LOOK_PLAIN, BRANCH, (*y)++, sublayer_name(p->kind));
        return;
    }
    new_item(d, LOOK_PLAIN, BRANCH, (*y)++, "feed-forward: W_1");
    if (j->scales) new_item(d, LOOK_SCALE, BRANCH, (*y)++, "* v sqrt(C), v from 1");
    if (j->shifts) new_item(d, LOOK_SCALE, BRANCH, (*y)++, "- s, a scalar");
    new_item(d, LOOK_PLAIN, BRANCH, (*y)++, "activation");
    if (j->norm_inner) norm_box(d, b, LOOK_INNER, BRANCH, (*y)++);
    if (j->shifts) new_item(d, LOOK_SCALE, BRANCH, (*y)++, "- s, a scalar");
    new_item(d, LOOK_PLAIN, BRANCH, (*y)++, "W_2");
}

/* p = out * N_branch(F(in * N_in(source))), downwards from the row after *y. */
static void draw_branch(drawing *d, const block *b, const tfn_join *j, const tfn_place *p, int *y)
{
    bool above = j->skip_from == TFN_SOURCE_NORMED;           /* N_in is above the fork */
    if (j->norm_in && !above) norm_box(d, b, LOOK_IN, BRANCH, (*y)++);
    scale_box(d, &j->in, p, BRANCH, y);
    if (j->shifts) new_item(d, LOOK_SCALE, BRANCH, (*y)++, "- s, a scalar");
    if (p->kind < TFN_SUBLAYER_FFN) draw_attention(d, b, j, p, y);
    else draw_ffn(d, b, j, p, y);
    if (j->norm_branch) norm_box(d, b, LOOK_BRANCH, BRANCH, (*y)++);
    scale_box(d, &j->out, p, BRANCH, y);
}

/* Draws the layer's input, which joins the sum from the left. */
static void draw_extra(drawing *d, const tfn_join *j, const tfn_place *p, int y)
{
    char text[WIDE];
    const bool is_one = fabs(scale_value(&j->extra, p) - 1) <= 1e-6;
    line(d, RAIL, y, TRUNK, y);
    d->rail = y;
    if (j->extra.kind == TFN_SCALE_CONSTANT && is_one) return;
    snprintf(text, sizeof text, "* %s", scale_name(&j->extra, p));
    new_item(d, LOOK_SCALE, (RAIL + TRUNK) / 2, y, text);
}

/* Draws the beginning of the branch: a line from the stream or from its other source. */
static void draw_fork(drawing *d, const tfn_join *j, int y)
{
    if (j->source == TFN_SOURCE_STREAM) line(d, TRUNK, y, BRANCH, y);
    else if (j->source == TFN_SOURCE_LAYER)
        new_item(d, LOOK_WORD, BRANCH, y, "x_0, the layer's input");
    else new_item(d, LOOK_WORD, BRANCH, y, "n, what the attention read");
}

/* Draws the skip: the changes to the stream next to the branch. */
static void draw_skip(drawing *d, const tfn_join *j, const tfn_place *p, int *y)
{
    if (j->gate && j->norm_sum) new_item(d, LOOK_SCALE, TRUNK, (*y)++, "x - SiLU(q) sg(x)");
    if (j->skip.kind == TFN_SCALE_FOLDED)
        new_item(d, LOOK_SCALE, TRUNK, (*y)++, "w in the weights");
    scale_box(d, &j->skip, p, TRUNK, y);
}

/* Draws the sum of branch and stream in row y, and all that follows it. */
static int draw_sum(drawing *d, const block *b, const tfn_join *j, const tfn_place *p, int y)
{
    const bool extra = j->extra.kind != TFN_SCALE_NONE;
    line(d, TRUNK, y, BRANCH, y);
    if (b->t->flags & TFN_TOPOLOGY_SIDE_STREAM) {
        line(d, BRANCH, y, SIDE, y);
        new_item(d, LOOK_SUM, SIDE, y, "+");
    }
    if ((extra && !j->extra_last) || j->skip_from == TFN_SOURCE_LAYER) draw_extra(d, j, p, y);
    new_item(d, LOOK_SUM, TRUNK, y++, "+");
    if (j->gate && !j->norm_sum) new_item(d, LOOK_SCALE, TRUNK, y++, "x - SiLU(q) sg(x)");
    if (j->norm_sum) norm_box(d, b, LOOK_AFTER, TRUNK, y++);
    if (extra && j->extra_last) {
        draw_extra(d, j, p, y);
        new_item(d, LOOK_SUM, TRUNK, y++, "+");
    }
    return y;
}

static int draw_sublayer(drawing *d, const block *b, const tfn_place *p, int y)
{
    const tfn_join j = tfn_topology_join(b->t, p);
    const int top = y++;
    if (j.norm_in && j.skip_from == TFN_SOURCE_NORMED) norm_box(d, b, LOOK_IN, TRUNK, y++);
    const int fork = y;
    draw_fork(d, &j, fork);
    int left = fork + 1;
    int right = fork + 1;
    draw_branch(d, b, &j, p, &right);
    draw_skip(d, &j, p, &left);
    y = left > right ? left : right;
    line(d, BRANCH, fork, BRANCH, y);
    y = draw_sum(d, b, &j, p, y);
    line(d, TRUNK, top, TRUNK, y);
    return y;
}

/* Draws the steps from the tokens to the first layer. */
static int draw_ends(drawing *d, const block *b, int y)
{
    const uint32_t flags = b->t->flags;
    const int top = y;
    const char *embedding = "embedding";
    if (flags & TFN_TOPOLOGY_FIXNORM) embedding = "embedding, rows of length 1";
    new_item(d, LOOK_PLAIN, TRUNK, y++, embedding);
    if (flags & TFN_TOPOLOGY_EMBEDDING_SCALE)
        new_item(d, LOOK_SCALE, TRUNK, y++, "* a, from sqrt(C)");
    if (flags & TFN_TOPOLOGY_EMBEDDING_NORM) norm_box(d, b, LOOK_FINAL, TRUNK, y++);
    line(d, TRUNK, top, TRUNK, y);
    return y;
}

static const char *const aggregate_boxes[] = {
    "", "sum of w_k N(y_k)", "N(sum of w_k y_k)", "N(sum of y_k)", "sum of w_k y_k"
};

int draw_layer(drawing *d, const block *b, int y)
{
    static const tfn_sublayer order[] = { TFN_SUBLAYER_FFN_BEFORE, TFN_SUBLAYER_SELF_ATTENTION,
                                          TFN_SUBLAYER_CROSS_ATTENTION,
                                          TFN_SUBLAYER_FFN };
    char text[WIDE];
    const int first = y;
    snprintf(text, sizeof text, "layer %d of %d", (int)b->layer, (int)b->s.layers);
    if (b->t->aggregate) new_item(d, LOOK_FINAL, TRUNK, y++, aggregate_boxes[b->t->aggregate]);
    word(d, TRUNK + 3, y, text);
    const int top = y++;
    d->rail = 0;
    for (int k = 0; k < 4; k++) {
        const tfn_place p = place_at(b->s, b->stack, order[k], b->layer);
        if (has_sublayer(b->t, &p)) y = draw_sublayer(d, b, &p, y);
    }
    if (d->rail) {
        line(d, RAIL, top, RAIL, d->rail);
        line(d, RAIL, top, TRUNK, top);
        word(d, RAIL + 4, top + 1, "x_0");
    }
    line(d, TRUNK, first, TRUNK, y);
    return y;
}

static int draw_output(drawing *d, const block *b, int y)
{
    int top = y;
    uint32_t flags = b->t->flags;
    if (b->t->aggregate) new_item(d, LOOK_FINAL, TRUNK, y++, aggregate_boxes[b->t->aggregate]);
    if (flags & TFN_TOPOLOGY_EDGE_SHIFTS)
        new_item(d, LOOK_SCALE, TRUNK, y++, "- s; encoder: a (x - s)");
    if (flags & TFN_TOPOLOGY_SIDE_STREAM) {
        norm_box(d, b, LOOK_FINAL, SIDE - 8, y++);
        line(d, TRUNK, y, SIDE, y);
        new_item(d, LOOK_SUM, TRUNK, y++, "+");
    } else if (flags & TFN_TOPOLOGY_FINAL_NORM) norm_box(d, b, LOOK_FINAL, TRUNK, y++);
    line(d, TRUNK, top, TRUNK, y);
    new_item(d, LOOK_WORD, TRUNK, y, "output");
    if (flags & TFN_TOPOLOGY_LOGIT_SCALE) word(d, TRUNK + 6, y, "; logits * a scalar per word");
    return y + 1;
}

int draw_block(drawing *d, const block *b, int y)
{
    const bool side = (b->t->flags & TFN_TOPOLOGY_SIDE_STREAM) != 0;
    y = draw_ends(d, b, y);
    const int top = y;
    if (side) {
        line(d, TRUNK, y, TRUNK, y + 1);
        y++;
    }
    if (b->layer > 1) new_item(d, LOOK_WORD, TRUNK, y++, ":");
    y = draw_layer(d, b, y);
    if (b->layer < b->s.layers) new_item(d, LOOK_WORD, TRUNK, y++, ":");
    if (side) {
        const int end = y + (b->t->aggregate != 0) + 1;
        line(d, TRUNK, top, SIDE, top);
        line(d, SIDE, top, SIDE, end);
        word(d, SIDE + 2, top, "y");
    }
    return draw_output(d, b, y);
}

/* -- the steps of a norm ----------------------------------------------------------------------- */

/* The steps of each kind of norm for a row x, one on each line. */
static const char *const norm_steps[] = {
    "- mean\n/ sqrt(var + e)", "/ sqrt(mean(x^2) + e)", "/ (sqrt(mean(x^2)) + e)", "/ max(|x|, e)",
    "/ sqrt((sum(x^2) + sum(x)^2)/C + e)", "- mean\n* C/(C-1)",
    "- mean\n/ (s + e), s over C - 1\n* c (1 - n/10), a constant in the backward",
    "/ (max|x| of the tensor / 8)\n- mean\n/ sqrt(var + e)", "",
    "/ sqrt(mean(x^2) + e)\n* (g + alpha tanh(x . direction))",
    "- mean over the batch\n/ sqrt(var over the batch + e)",
    "/ sqrt(mean(x^2) + e), by head\n/ psi, psi^2 the running mean of x^2"
};
static const char *const squash_steps[] = {
    "tanh(alpha x)", "erf(alpha x + shift)", "z/sqrt(z^2 + 1), z = alpha x + shift",
    "sign(z)(1 - exp(-|z|)), z = alpha x + shift", "2/pi atan(alpha x + shift)",
    "sin(alpha x + shift, clipped)", "z/(1 + |z|), z = alpha x + shift"
};

/* Draws a box for each line of the text, which is split in place. */
static int draw_steps(drawing *d, char *steps, int x, int y)
{
    while (steps) {
        char *next = strchr(steps, '\n');
        if (next) *next++ = 0;
        new_item(d, LOOK_IN, x, y++, steps);
        steps = next;
    }
    return y;
}

int draw_norm(drawing *d, const tfn_norm_rule *n, int y)
{
    char steps[TEXT];
    const char *input = "x";
    const int x = TRUNK + 10;
    const int top = y;
    if (n->part > 0) input = "x; sums over its first 1/16 only";
    if (n->flags & TFN_FLAG_BY_HEAD) input = "x, each of H groups of channels";
    new_item(d, LOOK_WORD, x, y++, input);

    if (n->kind == TFN_NORM_POINT) snprintf(steps, sizeof steps, "%s", squash_steps[n->squash]);
    else snprintf(steps, sizeof steps, "%s", norm_steps[n->kind]);
    if (n->flags & TFN_FLAG_PLAIN) *strrchr(steps, '\n') = 0;       /* n without the last step */
    y = draw_steps(d, steps, x, y);

    const bool gain = n->flags & TFN_FLAG_GAIN && n->kind != TFN_NORM_SEED;
    if (gain && n->flags & TFN_FLAG_OFFSET) new_item(d, LOOK_SCALE, x, y++, "* (1 + g), g from 0");
    else if (gain) new_item(d, LOOK_SCALE, x, y++, "* g, from 1");
    if (n->flags & TFN_FLAG_SCALAR) new_item(d, LOOK_SCALE, x, y++, "* G, from sqrt(C)");
    if (n->flags & TFN_FLAG_BIAS) new_item(d, LOOK_SCALE, x, y++, "+ b, from 0");
    line(d, x, top, x, y);
    new_item(d, LOOK_WORD, x, y++, "y");
    return y;
}

/* -- the gains of an init ---------------------------------------------------------------------- */

static tfn_gains gains_at(const tfn_init_rule *w, const tfn_place *p)
{
    tfn_gains g = { 1, 1, 1, 1, 1, 1, 1 };
    if (w->rule) w->rule(p, &g);
    return g;
}

static const char *const short_names[] = { "self", "cross", "ffn", "ffn" };

static const char *const distributions[] = {
    "N(0, 2/(in+out))", "U, variance 2/(in+out)", "N(0, s^2)", "N(0, s^2) within two s",
    "U(+-1/sqrt(in)), biases too", "N(0, 1/in)", "N(0, 2/in)", "orthonormal",
    "xavier uniform, W_1 = [A, -A], W_2 = [C; -C]"
};

enum { MATRIX_GAINS = 6 };              /* Q, K, V, O of attention, W_1, W_2 of the feed-forward */

/* The gains of the matrices in that order. */
static void matrix_gains(double *to, const tfn_init_rule *w, const tfn_place *p)
{
    const tfn_gains g = gains_at(w, p);
    const float all[MATRIX_GAINS] = { g.q, g.k, g.v, g.o, g.w1, g.w2 };
    for (int i = 0; i < MATRIX_GAINS; i++) to[i] = (double)all[i];
}

/* Draws a line with the gains of a sub-layer's matrices, in the first and the last layer. */
static int draw_gains(drawing *d, const tfn_init_rule *w, shape s, int stack, tfn_sublayer kind,
                      int y)
{
    static const char *const matrices[] = { "Q", "K", "V", "O", "W_1", "W_2" };
    const tfn_place bottom = place_at(s, stack, kind, 1);
    const tfn_place top = place_at(s, stack, kind, s.layers);
    const bool is_ffn = kind == TFN_SUBLAYER_FFN;
    const int from = is_ffn ? 4 : 0;
    const int to = is_ffn ? MATRIX_GAINS : 4;
    const int apart = is_ffn ? 20 : 16;         /* columns between the boxes' beginnings */
    double first[MATRIX_GAINS], last[MATRIX_GAINS];
    char text[WIDE];
    matrix_gains(first, w, &bottom);
    matrix_gains(last, w, &top);
    snprintf(text, sizeof text, "%s %s", stack_name(&bottom), short_names[kind]);
    word(d, 1, y, text);
    for (int i = from; i < to; i++) {
        look how = LOOK_SCALE;
        if (first[i] == 1 && last[i] == 1) how = LOOK_PLAIN;
        if (first[i] == last[i]) snprintf(text, sizeof text, "%s %.3g", matrices[i], first[i]);
        else snprintf(text, sizeof text, "%s %.2g..%.2g", matrices[i], first[i], last[i]);
        new_item(d, how, 23 + apart * (i - from), y, text);
    }
    return y + 1;
}

/* Draws the distribution of the weights before the gains. */
static int draw_distribution(drawing *d, const tfn_init_rule *w, double embedding, int y)
{
    char text[WIDE];
    snprintf(text, sizeof text, "attention %s", distributions[w->base]);
    word(d, 1, y++, text);
    snprintf(text, sizeof text, "feed-forward %s", distributions[w->ffn_base]);
    word(d, 1, y++, text);

    if (w->std > 0)
        snprintf(text, sizeof text, "s = %.3g; embedding deviation %.3g", (double)w->std,
                 (double)w->embedding_std);
    else if (w->embedding_std > 0)
        snprintf(text, sizeof text, "embedding deviation %.3g", (double)w->embedding_std);
    else snprintf(text, sizeof text, "embedding deviation 1/sqrt(C)");
    word(d, 1, y++, text);
    snprintf(text, sizeof text, "embedding times %.3g", embedding);
    if (embedding != 1) word(d, 1, y++, text);

    if (w->qkv_bias) word(d, 1, y++, "biases of q, k, v: U(+-1/sqrt(in))");
    if (w->gain_bias) word(d, 1, y++, "gains act on biases too");
    if (w->table_output) word(d, 1, y++, "untied output: deviation 1/sqrt(C)");
    if (w->zero_output) word(d, 1, y++, "an untied output matrix is 0");
    if (w->zero_branch) word(d, 1, y++, "gains of the norm after a branch are 0");
    if (w->unit_variance) word(d, 1, y++, "each W over the deviation of its output on one batch");
    return y;
}

void draw_init(drawing *d, const tfn_init_rule *w, shape s, int y)
{
    static const tfn_sublayer order[] = { TFN_SUBLAYER_SELF_ATTENTION,
                                          TFN_SUBLAYER_CROSS_ATTENTION, TFN_SUBLAYER_FFN };
    char text[WIDE];
    const tfn_place bottom = place_at(s, ENCODER, TFN_SUBLAYER_SELF_ATTENTION, 1);
    y = draw_distribution(d, w, (double)gains_at(w, &bottom).embedding, y) + 1;
    snprintf(text, sizeof text, "Gains, of the first and the last of %d layers if they differ:",
             (int)s.layers);
    word(d, 1, y++, text);
    for (int stack = 0; stack < STACKS; stack++)
        for (int k = 0; k < 3; k++) {
            if (order[k] == TFN_SUBLAYER_CROSS_ATTENTION && stack != DECODER) continue;
            y = draw_gains(d, w, s, stack, order[k], y);
        }
}
