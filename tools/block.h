/* The block of a topology, the steps of a norm and the gains of an init as drawings. */
#ifndef BLOCK_H
#define BLOCK_H
#include "drawing.h"
#include "features.h"
#include <math.h>

/* -- the block of a topology ------------------------------------------------------------------- */

enum { RAIL = 3, TRUNK = 22, BRANCH = 52, SIDE = 76 };      /* columns: x_0, x, F, second stream */

typedef struct block {          /* what is drawn: a layer of a topology */
    const tfn_topology *t;
    const char *norm;           /* its name; "" if open */
    shape       s;
    int         stack;          /* in which the layer is: DECODER, LONE_DECODER ... */
    int32_t     layer;
} block;

static void norm_box(drawing *d, const block *b, look how, int x, int y)
{
    static const char *const names[] = { "N_in", "N_branch", "N_sum", "N_inner", "N_final" };
    char text[WIDE];
    snprintf(text, sizeof text, "%s%s%s", names[how - LOOK_IN], b->norm[0] ? " " : "", b->norm);
    new_item(d, how, x, y, text);
}

/* value * N^n * M^m * l^layer, as the header says */
static double scale_value(const tfn_scale_rule *s, const tfn_place *p)
{
    return (double)s->value * pow(p->encoder_depth, (double)s->n)
         * pow(p->decoder_depth, (double)s->m) * pow(p->layer, (double)s->layer);
}
static const char *scale_name(const tfn_scale_rule *s, const tfn_place *p)
{
    static char text[4][32];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(text[turn], sizeof *text, "%.4g", scale_value(s, p));
    switch (s->kind) {
    case TFN_SCALE_NONE: return "";
    case TFN_SCALE_CONSTANT: return text[turn];
    case TFN_SCALE_LEARNED: return "a";
    case TFN_SCALE_VECTOR: return "v";
    case TFN_SCALE_SHARED: return "a_l";
    case TFN_SCALE_PROFILED: return "w";
    case TFN_SCALE_FOLDED: return "";
    case TFN_SCALE_SCHEDULED:
        snprintf(text[turn], sizeof *text, "min(1, t/%.4g)", scale_value(s, p));
        return text[turn];
    case TFN_SCALE_LERP: return "(1 - |v|)";
    }
    return "";
}
static bool is_scaled(const tfn_scale_rule *s)
{
    return s->kind != TFN_SCALE_NONE && s->kind != TFN_SCALE_FOLDED;
}
static void scale_box(drawing *d, const tfn_scale_rule *s, const tfn_place *p, int x, int *y)
{
    char text[WIDE];
    if (!is_scaled(s)) return;
    snprintf(text, sizeof text, "* %s", scale_name(s, p));
    if (s->kind == TFN_SCALE_LEARNED || s->kind == TFN_SCALE_VECTOR || s->kind == TFN_SCALE_SHARED)
        snprintf(text, sizeof text, "* %s, from %.4g", scale_name(s, p), scale_value(s, p));
    if (s->kind == TFN_SCALE_PROFILED) snprintf(text, sizeof text, "* w, profiled");
    new_item(d, LOOK_SCALE, x, (*y)++, text);
}

static const char *sublayer_name(tfn_sublayer kind)
{
    return kind == TFN_SUBLAYER_SELF_ATTENTION ? "self-attention"
        : kind == TFN_SUBLAYER_CROSS_ATTENTION
         ? "cross-attention" : kind == TFN_SUBLAYER_FFN ? "feed-forward" : "feed-forward 1";
}

static const char *const qk_boxes[] = {
    "", "", "q, k of length 1 a head, q * g", "q, k of length 1 a head, q * g_h",
    "norms of q, k, a head", "norms of q, k", "q, k of length 1 a head, * v",
    "norms of q, k, v, a head"
};

/* F itself: one box, or its parts where something stands between them. */
static void draw_attention(drawing *d, const block *b, const tfn_join *j, const tfn_place *p,
                           int *y)
{
    bool parts = j->qk > TFN_QK_NORM_NONE || j->head_scale != TFN_HEAD_SCALE_NONE || j->norm_inner;
    char text[WIDE];
    snprintf(text, sizeof text, "%s%s", sublayer_name(p->kind),
             p->kind == TFN_SUBLAYER_CROSS_ATTENTION ? ": q of x, k and v of m" : "");
    if (parts) new_item(d, LOOK_PLAIN, BRANCH, (*y)++, "W_Q, W_K, W_V");
    if (j->qk > TFN_QK_NORM_NONE) new_item(d, LOOK_INNER, BRANCH, (*y)++, qk_boxes[j->qk]);
    new_item(d, LOOK_PLAIN, BRANCH, (*y)++, text);
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
    bool above = j->skip_from == TFN_SOURCE_NORMED;           /* N_in stands before the fork */
    if (j->norm_in && !above) norm_box(d, b, LOOK_IN, BRANCH, (*y)++);
    scale_box(d, &j->in, p, BRANCH, y);
    if (j->shifts) new_item(d, LOOK_SCALE, BRANCH, (*y)++, "- s, a scalar");
    if (p->kind < TFN_SUBLAYER_FFN) draw_attention(d, b, j, p, y);
    else draw_ffn(d, b, j, p, y);
    if (j->norm_branch) norm_box(d, b, LOOK_BRANCH, BRANCH, (*y)++);
    scale_box(d, &j->out, p, BRANCH, y);
}

/* The layer's input joins the sum from the left. */
static void draw_extra(drawing *d, const tfn_join *j, const tfn_place *p, int y)
{
    char text[WIDE];
    line(d, RAIL, y, TRUNK, y);
    d->rail = y;
    snprintf(text, sizeof text, "* %s", scale_name(&j->extra, p));
    if (j->extra.kind != TFN_SCALE_CONSTANT || fabs(scale_value(&j->extra, p) - 1) > 1e-6)
        new_item(d, LOOK_SCALE, (RAIL + TRUNK) / 2, y, text);
}

static int draw_sublayer(drawing *d, const block *b, const tfn_place *p, int y)
{
    tfn_join j = tfn_topology_join(b->t, p);
    int top = y, fork, left, right;
    bool extra = j.extra.kind != TFN_SCALE_NONE, rail = j.skip_from == TFN_SOURCE_LAYER;
    if (j.norm_in && j.skip_from == TFN_SOURCE_NORMED) norm_box(d, b, LOOK_IN, TRUNK, ++y);
    fork = ++y;
    if (j.source == TFN_SOURCE_STREAM) line(d, TRUNK, fork, BRANCH, fork);
    else new_item(d, LOOK_WORD, BRANCH, fork, j.source == TFN_SOURCE_LAYER
                  ? "x_0, the layer's input" : "n, what the attention read");
    left = right = fork + 1;
    draw_branch(d, b, &j, p, &right);
    if (j.gate && j.norm_sum)
        new_item(d, LOOK_SCALE, TRUNK, left++, "x - SiLU(q) sg(x)");
    if (j.skip.kind == TFN_SCALE_FOLDED)
        new_item(d, LOOK_SCALE, TRUNK, left++, "w in the weights");
    scale_box(d, &j.skip, p, TRUNK, &left);
    y = left > right ? left : right;
    line(d, BRANCH, fork, BRANCH, y);
    line(d, TRUNK, y, BRANCH, y);
    if (b->t->flags & TFN_TOPOLOGY_SIDE_STREAM) {
        line(d, BRANCH, y, SIDE, y);
        new_item(d, LOOK_SUM, SIDE, y, "+");
    }
    if ((extra && !j.extra_last) || rail) draw_extra(d, &j, p, y);
    new_item(d, LOOK_SUM, TRUNK, y++, "+");
    if (j.gate && !j.norm_sum) new_item(d, LOOK_SCALE, TRUNK, y++, "x - SiLU(q) sg(x)");
    if (j.norm_sum) norm_box(d, b, LOOK_AFTER, TRUNK, y++);
    if (extra && j.extra_last) {
        draw_extra(d, &j, p, y);
        new_item(d, LOOK_SUM, TRUNK, y++, "+");
    }
    line(d, TRUNK, top, TRUNK, y);
    return y;
}

/* From the tokens to the first layer. */
static int draw_ends(drawing *d, const block *b, int y)
{
    uint32_t flags = b->t->flags;
    int top = y;
    new_item(d, LOOK_PLAIN, TRUNK, y++, flags & TFN_TOPOLOGY_FIXNORM ? "embedding, rows of length 1"
             : "embedding");
    if (flags & TFN_TOPOLOGY_EMBEDDING_SCALE)
        new_item(d, LOOK_SCALE, TRUNK, y++, "* a, from sqrt(C)");
    if (flags & TFN_TOPOLOGY_EMBEDDING_NORM) norm_box(d, b, LOOK_FINAL, TRUNK, y++);
    line(d, TRUNK, top, TRUNK, y);
    return y;
}

static const char *const aggregate_boxes[] = {
    "", "sum of w_k N(y_k)", "N(sum of w_k y_k)", "N(sum of y_k)", "sum of w_k y_k"
};

static int draw_layer(drawing *d, const block *b, int y)
{
    static const tfn_sublayer order[] = { TFN_SUBLAYER_FFN_BEFORE, TFN_SUBLAYER_SELF_ATTENTION,
                                          TFN_SUBLAYER_CROSS_ATTENTION,
                                          TFN_SUBLAYER_FFN };
    char text[WIDE];
    int top, first = y;
    snprintf(text, sizeof text, "layer %d of %d", (int)b->layer, (int)b->s.layers);
    if (b->t->aggregate) new_item(d, LOOK_FINAL, TRUNK, y++, aggregate_boxes[b->t->aggregate]);
    word(d, TRUNK + 3, y, text);
    top = y++;
    d->rail = 0;
    for (int k = 0; k < 4; k++) {
        tfn_place p = place_at(b->s, b->stack, order[k], b->layer);
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

static int draw_block(drawing *d, const block *b, int y)
{
    int top = y = draw_ends(d, b, y);
    if (b->t->flags & TFN_TOPOLOGY_SIDE_STREAM) line(d, TRUNK, y, TRUNK, y + 1), y++;
    if (b->layer > 1) new_item(d, LOOK_WORD, TRUNK, y++, ":");
    y = draw_layer(d, b, y);
    if (b->layer < b->s.layers) new_item(d, LOOK_WORD, TRUNK, y++, ":");
    if (b->t->flags & TFN_TOPOLOGY_SIDE_STREAM) {
        int end = y + (b->t->aggregate != 0) + 1;
        line(d, TRUNK, top, SIDE, top);
        line(d, SIDE, top, SIDE, end);
        word(d, SIDE + 2, top, "y");
    }
    return draw_output(d, b, y);
}

/* -- the steps of a norm ----------------------------------------------------------------------- */

/* By kind: what happens to a row x, a step a line. */
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

static int draw_norm(drawing *d, const tfn_norm_rule *n, int y)
{
    char steps[TEXT], *step;
    const int x = TRUNK + 10;
    int top = y;
    snprintf(steps, sizeof steps, "%s", n->kind == TFN_NORM_POINT ? squash_steps[n->squash]
             : norm_steps[n->kind]);
    if (n->flags & TFN_FLAG_PLAIN) *strrchr(steps, '\n') = 0;         /* n itself */
    new_item(d, LOOK_WORD, x, y++, n->flags & TFN_FLAG_BY_HEAD ? "x, each of H groups of channels"
             : n->part > 0 ? "x; sums over its first 1/16 only" : "x");
    for (step = steps; step; y++) {
        char *end = strchr(step, '\n');
        if (end) *end = 0;
        new_item(d, LOOK_IN, x, y, step);
        step = end ? end + 1 : NULL;
    }
    if (n->flags & TFN_FLAG_GAIN && n->kind != TFN_NORM_SEED)
        new_item(d, LOOK_SCALE, x, y++, n->flags & TFN_FLAG_OFFSET ? "* (1 + g), g from 0"
                 : "* g, from 1");
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

static int draw_gains(drawing *d, const tfn_init_rule *w, shape s, const tfn_place *place, int y)
{
    static const char *const matrices[] = { "Q", "K", "V", "O", "W_1", "W_2" };
    int from = place->kind == TFN_SUBLAYER_FFN ? 4 : 0,
        to = place->kind == TFN_SUBLAYER_FFN ? 6 : 4;
    tfn_place p = *place, q = *place;
    tfn_gains first, last;
    char text[WIDE];
    p.layer = 1;
    q.layer = s.layers;
    first = gains_at(w, &p);
    last = gains_at(w, &q);
    snprintf(text, sizeof text, "%s %s", stack_name(&p), short_names[p.kind]);
    word(d, 1, y, text);
    for (int i = from; i < to; i++) {
        const float a[] = { first.q, first.k, first.v, first.o, first.w1, first.w2 };
        const float b[] = { last.q, last.k, last.v, last.o, last.w1, last.w2 };
        bool equal = a[i] == b[i];
        snprintf(text, sizeof text, equal ? "%s %.3g" : "%s %.2g..%.2g", matrices[i],
                 (double)a[i], (double)b[i]);
        new_item(d, equal && a[i] == 1 ? LOOK_PLAIN : LOOK_SCALE,
                 23 + (from ? 20 : 16) * (i - from), y, text);
    }
    return y + 1;
}

static int draw_init(drawing *d, const tfn_init_rule *w, shape s, int y)
{
    char text[WIDE];
    tfn_place bottom = place_at(s, ENCODER, TFN_SUBLAYER_SELF_ATTENTION, 1);
    double embedding = (double)gains_at(w, &bottom).embedding;
    snprintf(text, sizeof text, "attention %s", distributions[w->base]);
    word(d, 1, y++, text);
    snprintf(text, sizeof text, "feed-forward %s", distributions[w->ffn_base]);
    word(d, 1, y++, text);
    if (w->std > 0) snprintf(text, sizeof text, "s = %.3g; embedding deviation %.3g",
                             (double)w->std, (double)w->embedding_std);
    else snprintf(text, sizeof text, w->embedding_std > 0 ? "embedding deviation %.3g"
                  : "embedding deviation 1/sqrt(C)", (double)w->embedding_std);
    word(d, 1, y++, text);
    snprintf(text, sizeof text, "embedding times %.3g", embedding);
    if (embedding != 1) word(d, 1, y++, text);
    if (w->qkv_bias) word(d, 1, y++, "biases of q, k, v: U(+-1/sqrt(in))");
    if (w->gain_bias) word(d, 1, y++, "gains act on biases too");
    if (w->table_output) word(d, 1, y++, "untied output: deviation 1/sqrt(C)");
    if (w->zero_output) word(d, 1, y++, "an untied output matrix is 0");
    if (w->zero_branch) word(d, 1, y++, "gains of the norm after a branch are 0");
    if (w->unit_variance) word(d, 1, y++, "each W over the deviation of its output on one batch");
    snprintf(text, sizeof text, "Gains, of the first and the last of %d layers if they differ:",
             (int)s.layers);
    word(d, 1, ++y, text);
    y++;
    for (int stack = 0; stack < STACKS; stack++)
        for (int kind = 0; kind <= TFN_SUBLAYER_FFN; kind++)
            if (kind != TFN_SUBLAYER_CROSS_ATTENTION || stack == DECODER) {
                tfn_place p = place_at(s, stack, (tfn_sublayer)kind, 1);
                y = draw_gains(d, w, s, &p, y);
            }
    return y;
}
#endif
