#include "stacks.h"
#include "../tape/tape.h"
#include "../tape/record.h"
#include "../tape/record_ops.h"
#include "options.h"
#include "resolve.h"
#include "joins.h"

TFN__RARE

/* -- embeddings: from ids or frames to x_0 ---------------------------------------------------- */

/* Returns the embedding (V, E) of this stack's tokens: the shared one, or the source's own. The
 * first stack that reads the shared one records it, and the output may be tied to it. */
static tfn_var tfn__embedding_of(tfn__builder *b, tfn__spot at)
{
    const tfn_model_desc *d = b->d;
    const bool own = d->separate_source && tfn__reads_source(d, at);
    const int32_t size = tfn__embedding_size(d);
    tfn_var e;
    if (!own && b->embedding.id) return b->embedding;
    if (!own) at = tfn__spot_of_model();
    e = tfn__matrix_at(b, at, TFN__PART_EMBEDDING, d->vocab, size, true);
    if (tfn__unit_table(d, own) && !d->folded) e = tfn__unit_rows(b, e, size);
    if (!own) b->embedding = e;
    return e;
}

/* Returns the words of cluster k, of width C/4^k, and its map (width, C), for adaptive softmax
 * (Grave 2017; Baevski & Auli 2019). Cluster 0 has rows for the other clusters after its words. If
 * the model is untied, the output has its own. */
static tfn_var tfn__cluster_of(tfn__builder *b, int32_t k, bool output, tfn_var *project)
{
    const tfn_model_desc *d = b->d;
    const int32_t width = d->width >> 2*k;
    tfn__spot at = tfn__spot_of_model();
    int32_t count = tfn__cluster_at(d, k + 1) - tfn__cluster_at(d, k);
    tfn_var words;
    if (k == 0) count += tfn__clusters(d) - 1;
    if (output && d->untied) at = tfn__spot_of_stack(TFN__IN_DECODER);
    words = tfn__matrix_at(b, at, TFN__PART_CLUSTER_0 + k, count, width, true);
    *project = tfn__weight_of(b, at, TFN__PART_PROJECT_0 + k, TFN__MATRIX, width, tfn__stream(d),
                              0);
    return words;
}

/* Looks each word up in the table of its cluster and projects it to the width. A word gives 0 in
 * the other clusters, so the result is the sum over all of them. */
static tfn_var tfn__embed_clusters(tfn__builder *b, tfn_rows rows, float scale)
{
    tfn_var sum = tfn__none;
    for (int32_t k = 0; k < tfn__clusters(b->d); k++) {
        tfn_var project;
        tfn_var x = tfn__cluster_of(b, k, false, &project);
        x = tfn_embedding(b->t, x, TFN_INT_CLUSTERS + k, rows, scale);
        x = tfn_linear(b->t, x, project, tfn__none, TFN_ACTIVATION_IDENTITY);
        if (k == 0) sum = x;
        else sum = tfn_add(b->t, sum, x, 1, 1);
    }
    return sum;
}

/* Turns frames into positions with two convolutions of kernel 3 and stride 2, each with a ReLU, as
 * in speech recognizers (ESPnet, Karita 2019; fairseq uses kernel 5 and GLU). */
static tfn_var tfn__subsample(tfn__builder *b, tfn__spot at, tfn_rows frames)
{
    static const int parts[] = { TFN__PART_CONV_1, TFN__PART_CONV_2 };
    const tfn_model_desc *d = b->d;
    const int32_t out = tfn__stream(d);
    int32_t in = d->bands;
    tfn_var x = tfn_input(b->t, TFN__FRAMES, frames, d->bands);
    for (int i = 0; i < 2; i++) {
        tfn_var w = tfn__weight_of(b, at, parts[i], TFN__MATRIX, 3 * in, out, 0);
        tfn_var bias = tfn__none;
        if (!d->no_bias) bias = tfn__weight_of(b, at, parts[i], TFN__BIAS, 1, out, 0);
        w = tfn__read_matrix(b, at, w, parts[i], 3 * in, out);
        x = tfn_convolution(b->t, x, w, bias);
        x = tfn_activation(b->t, x, TFN_ACTIVATION_RELU);
        in = out;
    }
    return x;
}

/* Returns the positions (rows, C) of a stack that reads frames: an encoder, with or without a
 * decoder. The linear map may have LoRA, like the maps of the layers. */
static tfn_var tfn__read_frames(tfn__builder *b, tfn__spot at, tfn_rows rows)
{
    const tfn_model_desc *d = b->d;
    tfn_rows frames = TFN_ROWS_FRAMES;
    tfn_var x;
    if (rows == TFN_ROWS_TARGET) frames = TFN_ROWS_TARGET_FRAMES;
    if (tfn__convolves(d)) return tfn__subsample(b, at, frames);
    x = tfn__frames(b->t, TFN__FRAMES, rows, d->bands);
    return tfn__apply_linear(b, at, x, TFN__PART_FRAMES, d->bands, tfn__stream(d),
                             TFN_ACTIVATION_IDENTITY);
}

/* Returns x W, from the channels of an embedding to those of the stream. */
static tfn_var tfn__map_embedding(tfn__builder *b, tfn__spot at, tfn_var x)
{
    return tfn__apply_linear(b, at, x, TFN__PART_PROJECT_IN, b->d->embedding_size,
                             tfn__stream(b->d), TFN_ACTIVATION_IDENTITY);
}

/* Returns s*E[token], from the embedding, the clusters or the frames. Embeddings narrower or wider
 * than the stream go through a map (E, C), here or after positions. */
static tfn_var tfn__embed_tokens(tfn__builder *b, tfn__spot at, float scale)
{
    const bool source = tfn__reads_source(b->d, at);
    tfn_rows rows = TFN_ROWS_TARGET;
    int32_t slot = TFN_INT_TOKENS;
    tfn_var x;
    if (source) {
        rows = TFN_ROWS_SOURCE;
        slot = TFN_INT_SOURCE;
    }
    if (b->d->bands && at.stack == TFN__IN_ENCODER)
        return tfn__multiple(b->t, tfn__read_frames(b, at, rows), scale);
    if (tfn__clusters(b->d)) return tfn__embed_clusters(b, rows, scale);
    x = tfn_embedding(b->t, tfn__embedding_of(b, at), slot, rows, scale);
    if (!TFN__ALL || !b->d->embedding_size || b->d->map_last) return x;
    return tfn__map_embedding(b, at, x);
}

/* Returns what positions add to the scores of a stack: ALiBi's table, nothing, or relative
 * positions from one table for all layers. */
static tfn_var tfn__relative_bias(tfn__builder *b, tfn__spot at)
{
    const tfn_model_desc *d = b->d;
    tfn_var numbers;
    if (!tfn__is_relative(d)) return b->bias;
    numbers = tfn__weight_of(b, at, TFN__PART_RELATIVE, TFN__MATRIX, d->relative_buckets, d->heads,
                             0);
    return tfn__relative_of(b->t, numbers, tfn__distances(d), d->relative_distance,
                            !tfn__in_decoder(at));
}

/* Returns x + P[position], where P is learned or sinusoidal. Other positions are applied in
 * attention. */
static tfn_var tfn__add_positions(tfn__builder *b, tfn__spot at, tfn_var x)
{
    const tfn_model_desc *d = b->d;
    int32_t positions = d->context;
    tfn_var table = b->table;
    if (d->position >= TFN_POSITION_ROTARY && !tfn__is_learned(d)) return x;
    if (tfn__reads_source(d, at)) positions = d->source_context;
    if (tfn__is_learned(d))
        table = tfn__weight_of(b, at, TFN__PART_POSITION, TFN__MATRIX, positions,
                               tfn__embedded(d), 0);
    return tfn_position(b->t, x, table);
}

/* Returns x + S[segment]. Only models that are an encoder without a decoder have segments. */
static tfn_var tfn__add_segments(tfn__builder *b, tfn__spot at, tfn_var x)
{
    const int32_t width = tfn__embedded(b->d);
    tfn_var s;
    if (!b->d->segments) return x;
    s = tfn__weight_of(b, at, TFN__PART_SEGMENT, TFN__MATRIX, b->d->segments, width, 0);
    s = tfn_embedding(b->t, s, TFN_INT_SEGMENTS, TFN_ROWS_TARGET, 1);
    return tfn_add(b->t, x, s, 1, 1);
}

/* Records x_0 = Drop(N(s*E[token] + P[position] + S[segment])). s is 1 or sqrt(C), times
 * desc.embedding_factor. Some rows multiply the sum by a learned scalar before N. With map_last, a
 * map to the stream's channels comes after it. */
static tfn_var tfn__embed_stack(tfn__builder *b, tfn__spot at)
{
    const tfn_model_desc *d = b->d;
    const float root = TFN__SQRT((float)d->width);
    float scale = 1;
    tfn_var x;
    if (d->scale_embedding || tfn__has(d, at, TFN_TOPOLOGY_FIXNORM)) scale = root;
    if (TFN__ALL) scale *= tfn__positive_or(d->embedding_factor, 1);
    x = tfn__embed_tokens(b, at, scale);
    x = tfn__add_positions(b, at, x);
    x = tfn__add_segments(b, at, x);
    if (tfn__has(d, at, TFN_TOPOLOGY_EMBEDDING_SCALE))
        x = tfn_scale(b->t, x, tfn__gain_at(b, at, TFN__PART_EMBEDDING_SCALE, 1, root));
    if (tfn__has_plain(d, at, TFN_TOPOLOGY_EMBEDDING_NORM))
        x = tfn__apply_norm(b, at, x, TFN__PART_EMBEDDING_NORM);
    x = tfn_dropout(b->t, x, d->dropout);
    if (!tfn__maps_last(d)) return x;
    return tfn__map_embedding(b, at, x);
}

/* -- stacks ----------------------------------------------------------------------------------- */

/* Marks y_l, the output of layer l or (l = 0) the embedding, as a term of later sums of layers.
 * NORMED normalizes the outputs of layers first. */
static tfn_var tfn__push_layer(tfn__builder *b, tfn__spot at, tfn_var y)
{
    const tfn_aggregate how = tfn__aggregate_of(b->d, at);
    if (how == TFN_AGGREGATE_NORMED && at.layer >= 0)
        y = tfn__apply_norm(b, at, y, TFN__PART_NORM_OUT);
    if (y.id) tfn__node_at(b->t, y.id)->flags |= TFN__LAYER;
    return y;
}

/* Returns the weights (groups, outputs) that mix `count` outputs. A softmax may have a window: then
 * the first *skipped outputs are outside it. */
static tfn_var tfn__mix_weights(tfn__builder *b, tfn__spot at, int32_t count, int32_t *skipped)
{
    const tfn_mix_rule *rule = &tfn__row(b->d, at)->mix;
    int32_t groups = (int32_t)tfn__max(rule->groups, 1);
    int32_t inside = count;
    float start = 1;
    tfn_var w;
    if (rule->channels) groups = tfn__stream(b->d);
    if (rule->window > 0 && rule->window < count) inside = rule->window;
    if (!rule->ones) start = 1 / (float)inside;
    *skipped = 0;
    if (rule->softmax) *skipped = count - inside;
    w = tfn__weight_of(b, at, TFN__PART_MIX, TFN__GAIN, groups, count - *skipped, start);
    if (!rule->softmax || b->d->folded) return w;
    return tfn_softmax(b->t, w);
}

/* Returns the sum of w_k y_k over `count` marked nodes from `first` on, except the first `skipped`.
 * Without w, each weight is 1. */
static tfn_var tfn__mix_layers(tfn__builder *b, tfn_var w, int32_t first, int32_t count,
                               int32_t skipped)
{
    tfn_var sum = tfn__none;
    tfn_var y;
    y.id = first - 1;
    for (int32_t k = -skipped; k < count - skipped; k++) {
        y = tfn__next_layer(b->t, y);
        if (k < 0) continue;
        if (w.id) sum = tfn_mix(b->t, sum, y, w, k);
        else if (k == 0) sum = y;
        else sum = tfn_add(b->t, sum, y, 1, 1);
    }
    return sum;
}

/* Returns the input of the layer, or of the end of the stack, that follows `at` (a layer, or the
 * embedding), mixed from the marked nodes from `first` on. The weights belong to `reader`, the
 * layer or stack that reads the mix; the norm belongs to the layer of `at`. */
static tfn_var tfn__aggregate(tfn__builder *b, tfn__spot at, tfn__spot reader, tfn_var x,
                              int32_t first)
{
    const tfn_aggregate how = tfn__aggregate_of(b->d, at);
    const int32_t count = at.layer + 2;                      /* and the embedding */
    int32_t skipped = 0;
    tfn_var w = tfn__none;
    if (how == TFN_AGGREGATE_NONE) return x;
    if (at.layer < 0 && how > TFN_AGGREGATE_NORM) return x;
    if (how != TFN_AGGREGATE_DENSE) w = tfn__mix_weights(b, reader, count, &skipped);
    x = tfn__mix_layers(b, w, first, count, skipped);
    if (at.layer < 0) return x;
    if (how == TFN_AGGREGATE_NORM || how == TFN_AGGREGATE_DENSE)
        x = tfn__apply_norm(b, at, x, TFN__PART_NORM_OUT);
    return x;
}

/* Records the sub-layers of a layer, one after another. */
static tfn_var tfn__apply_layer(tfn__builder *b, tfn__spot at, tfn__flow *flow)
{
    const tfn__subs subs = tfn__subs_of(b->d, at);
    flow->x0 = flow->x;
    flow->first = tfn__none;
    for (int i = 0; i < subs.count; i++)
        tfn__apply_sublayer(b, tfn__sublayer_at(at, subs.kind[i]), flow);
    return flow->x;
}

/* Records the end of a stack after its last layer: Fixup's shift (and scale), the second stream,
 * the final norm. The final norm of a transparent encoder is in tfn__memory_of instead. */
static tfn_var tfn__finish_stack(tfn__builder *b, tfn__spot at, const tfn__flow *flow)
{
    const tfn_model_desc *d = b->d;
    tfn_var x = flow->x;
    if (tfn__has(d, at, TFN_TOPOLOGY_EDGE_SHIFTS)) {
        x = tfn_shift(b->t, x, tfn__gain_at(b, at, TFN__PART_FINAL_SHIFT, 1, 0), -1);
        if (at.stack == TFN__IN_ENCODER)
            x = tfn_scale(b->t, x, tfn__gain_at(b, at, TFN__PART_FINAL_SCALE, 1, 1));
    }
    if (flow->side.id) {
        const tfn_var side = tfn__apply_norm(b, at, flow->side, TFN__PART_FINAL_NORM);
        return tfn_add(b->t, x, side, tfn__positive_or(tfn__row(d, at)->side_weight, 1), 1);
    }
    if (tfn__reads_source(d, at) && tfn__has(d, at, TFN_TOPOLOGY_TRANSPARENT)) return x;
    if (!tfn__has_plain(d, at, TFN_TOPOLOGY_FINAL_NORM)) return x;
    return tfn__apply_norm(b, at, x, TFN__PART_FINAL_NORM);
}

/* Records a stack, from its ids to its output (B*T, C). The tape gets the number of each layer for
 * its errors. With desc.recompute each layer is a segment, which the backward computes again. The
 * numbers of segments start at 1, and continue in the second stack. */
SHARED tfn_var tfn__build_stack(tfn__builder *b, int stack)
{
    const tfn_model_desc *d = b->d;
    const tfn__spot at = tfn__spot_of_stack(stack);
    const int32_t depth = tfn__depth(d, tfn__in_decoder(at));
    const int32_t first = b->t->count;
    int32_t segment = 1;
    tfn__spot before = at;
    tfn__flow flow;
    tfn_var x = tfn__point_at(b, at, TFN_WATCH_EMBEDDING, tfn__embed_stack(b, at));
    flow.x = tfn__push_layer(b, at, x);
    flow.side = tfn__none;
    if (TFN__ALL) b->bias = tfn__relative_bias(b, at);
    if (tfn__has(d, at, TFN_TOPOLOGY_SIDE_STREAM))
        flow.side = tfn__multiple(b->t, flow.x, tfn__positive_or(tfn__row(d, at)->side_scale, 1));
    if (tfn__in_decoder(at)) segment += d->layers;

    for (int32_t l = 0; l < depth; l++) {
        const tfn__spot layer = tfn__spot_of_layer(stack, l);
        flow.x = tfn__aggregate(b, before, layer, flow.x, first);
        b->t->layer = l;
        if (d->recompute) tfn_recompute(b->t, segment + l);
        flow.x = tfn__push_layer(b, layer, tfn__apply_layer(b, layer, &flow));
        before = layer;
    }
    tfn_recompute(b->t, 0);
    flow.x = tfn__aggregate(b, before, at, flow.x, first);
    b->t->layer = -1;
    if (stack == TFN__IN_ENCODER) b->encoder_first = first;
    x = tfn__finish_stack(b, at, &flow);
    if (TFN__ALL) b->outputs[tfn__in_decoder(at)] = x;
    return tfn__point_at(b, at, TFN_WATCH_STACK, x);
}

/* Records the model's tables of positions: sinusoids (T, C) or rotations (T, D), then rotations for
 * layers with a window if these differ. For ALiBi, records what is added to scores, (1,
 * H*(2T - 1)). */
SHARED void tfn__build_table(tfn__builder *b)
{
    const tfn_model_desc *d = b->d;
    int32_t cols = tfn__embedded(d);
    b->table = tfn__none;
    if (!TFN__POSITION_TABLES) return;
    if (tfn__is_learned(d) || tfn__is_relative(d) || d->position == TFN_POSITION_NONE) return;
    if (tfn__is_alibi(d)) {
        b->bias = tfn__table(b->t, 1, d->heads * tfn__distances(d));
        return;
    }
    if (tfn__is_position(d, TFN_POSITION_ROTARY)) cols = tfn__head_size(d);
    b->table = tfn__table(b->t, (int32_t)tfn__max(d->context, d->source_context), cols);
    b->window_table = b->table;
    if (tfn__has_window_rotations(d))
        b->window_table = tfn__table(b->t, (int32_t)tfn__max(d->context, d->source_context), cols);
}

/* -- the end: logits and the loss ------------------------------------------------------------- */

/* Returns logits of classes (B, classes) from the first position x of a sentence, f(x W_p) W_c, as
 * BERT does; or the numbers of a head of numbers in the same way. */
static tfn_var tfn__classify(tfn__builder *b, tfn_var x)
{
    const tfn_model_desc *d = b->d;
    const tfn__spot at = tfn__spot_of_model();
    tfn_activation_kind act = TFN_ACTIVATION_TANH;
    if (TFN__ALL && d->pooler) act = d->pooler;
    x = tfn_first_rows(b->t, x);
    x = tfn__apply_linear(b, at, x, TFN__PART_POOLER, tfn__stream(d), d->width, act);
    x = tfn__multiple(b->t, x, 1 / tfn__mup(d));
    return tfn__apply_linear(b, at, x, TFN__PART_CLASSIFIER, d->width, tfn__logit_cols(d),
                             TFN_ACTIVATION_IDENTITY);
}

/* Returns logits of classes of each position, x W_c, (B*T, classes). */
static tfn_var tfn__classify_positions(tfn__builder *b, tfn_var x)
{
    const tfn_model_desc *d = b->d;
    x = tfn__multiple(b->t, x, 1 / tfn__mup(d));
    return tfn__apply_linear(b, tfn__spot_of_model(), x, TFN__PART_CLASSIFIER, tfn__stream(d),
                             d->classes, TFN_ACTIVATION_IDENTITY);
}

/* Records the logits of the head (cluster 0) and of the tails, and keeps them in the builder for
 * the loss. A tape that trains needs no more. On others, one node combines them into logits of all
 * words. */
static tfn_var tfn__cluster_logits(tfn__builder *b, tfn_var x)
{
    const tfn_node *xn = tfn__need(b->t, "words", x);
    for (int32_t k = 0; k < 3; k++) {
        tfn_var project;
        tfn_var words;
        b->logits[k] = tfn__none;
        if (k >= tfn__clusters(b->d)) continue;
        words = tfn__cluster_of(b, k, true, &project);
        project = tfn_linear_transposed(b->t, x, project, tfn__none);
        b->logits[k] = tfn_linear_transposed(b->t, project, words, tfn__none);
    }
    if (b->t->training) return b->logits[0];
    return tfn__var_of(b->t, tfn__record(b->t, TFN__OP_WORDS, xn->rows, xn->count, b->d->vocab,
                                         b->logits[0], b->logits[1], b->logits[2]));
}

/* Returns x E^T with the embedding (Press & Wolf 2017), or x W with an untied matrix: (B*T, V). If
 * embeddings and stream differ in size, x goes through a map (C, E) first. LoRA changes only the
 * output, even if it is tied: words are still looked up in the original E. */
static tfn_var tfn__word_logits(tfn__builder *b, tfn_var x)
{
    const tfn_model_desc *d = b->d;
    const tfn__spot at = tfn__spot_of_model();
    const int32_t size = tfn__embedding_size(d);
    tfn_var bias = tfn__none;
    tfn_var w;
    tfn_var y;
    x = tfn__multiple(b->t, x, 1 / tfn__mup(d));
    if (TFN__ALL && d->scale_output)
        x = tfn__multiple(b->t, x, 1 / TFN__SQRT((float)d->width));
    if (tfn__maps_last(d) && !d->head_transform)
        x = tfn_linear_transposed(b->t, x, b->map, tfn__none);
    else if (TFN__ALL && d->embedding_size && !d->map_last)
        x = tfn__apply_linear(b, tfn__last_stack(d), x, TFN__PART_PROJECT_OUT, tfn__stream(d), size,
                              TFN_ACTIVATION_IDENTITY);
    if (TFN__ALL && d->output_bias)
        bias = tfn__weight_of(b, at, TFN__PART_OUTPUT, TFN__BIAS, 1, d->vocab, 0);
    if (d->untied) {
        w = tfn__matrix_at(b, at, TFN__PART_OUTPUT, size, d->vocab, false);
        w = tfn__read_matrix(b, at, w, TFN__PART_OUTPUT, size, d->vocab);
        y = tfn_linear(b->t, x, w, bias, TFN_ACTIVATION_IDENTITY);
    } else y = tfn_linear_transposed(b->t, x, b->embedding, bias);
    return tfn__add_lora(b, at, y, x, TFN__PART_OUTPUT, size, d->vocab);
}

/* Records the logits of the last stack's output x. BERT first transforms x to N(f(x W + b)), so
 * that the stream need not resemble the embedding. desc.logit_divisor divides the logits. nGPT
 * scales them by a learned vector times sqrt(C). Last, a cap c turns them into c tanh(logit/c). */
SHARED tfn_var tfn__build_logits(tfn__builder *b, tfn_var x)
{
    const tfn_model_desc *d = b->d;
    const tfn__spot at = tfn__spot_of_model();
    const float root = TFN__SQRT((float)d->width);
    if (tfn__is_head(d, TFN_HEAD_POSITIONS)) return tfn__classify_positions(b, x);
    if (!tfn__is_head(d, TFN_HEAD_TOKENS)) return tfn__classify(b, x);
    if (tfn__clusters(d)) return tfn__cluster_logits(b, x);
    if (TFN__ALL && d->head_transform) {
        x = tfn__apply_linear(b, at, x, TFN__PART_TRANSFORM, tfn__stream(d), tfn__embedded(d),
                              tfn__gate_of(d->activation));
        x = tfn__apply_norm(b, tfn__last_stack(d), x, TFN__PART_TRANSFORM_NORM);
    }
    x = tfn__word_logits(b, x);
    if (TFN__ALL) x = tfn__multiple(b->t, x, 1 / tfn__positive_or(d->logit_divisor, 1));
    if (tfn__has(d, tfn__last_stack(d), TFN_TOPOLOGY_LOGIT_SCALE)) {
        const tfn_var s = tfn__gain_at(b, at, TFN__PART_LOGIT_SCALE, d->vocab, 1 / root);
        x = tfn_scale(b->t, x, tfn__multiple(b->t, s, root));
    }
    if (tfn__caps_logits(d)) {
        x = tfn__multiple(b->t, x, 1 / d->logit_cap);
        x = tfn_activation(b->t, x, TFN_ACTIVATION_TANH);
        x = tfn__multiple(b->t, x, d->logit_cap);
    }
    return x;
}

enum { TFN__OWN_LOSS = 256 };       /* nodes that tfn_model_scratch leaves room for */

/* Records the user's loss. A tape that only counts leaves room for it instead. The loss must give
 * one number for each row of the logits. It must not have parameters, because all parameters are
 * already placed. */
static tfn_var tfn__own_loss(tfn__builder *b, tfn_var logits)
{
    tfn_tape *t = b->t;
    const int64_t params = t->params;
    tfn_var loss;
    const tfn_node *n;
    if (t->counts) {
        t->count += TFN__OWN_LOSS;
        t->placed += TFN__OWN_LOSS;
        return logits;
    }
    loss = b->d->loss(b->d->loss_user, t, logits);
    n = tfn__need(t, "loss", loss);
    if (t->error.status != TFN_OK) return tfn__none;
    if (t->params != params)
        return tfn__tape_error(t, TFN_BAD_OPTION, "loss", "a loss may not have parameters", 0, 0);
    if (n->rows != t->nodes[logits.id].rows)
        return tfn__bad_shape(t, "loss", "its rows are not those of the logits", 0, 0);
    return tfn_mask_targets(t, loss, TFN_INT_TARGETS);
}

/* Returns the loss of each row. With clusters, the head predicts a frequent word or the tail of any
 * other word, and the tail predicts that word. The sum of their losses is -log of the product of
 * the two probabilities. */
static tfn_var tfn__build_loss(tfn__builder *b, tfn_var logits)
{
    const tfn_model_desc *d = b->d;
    tfn_var loss = tfn__none;
    if (d->loss) return tfn__own_loss(b, logits);
    if (tfn__is_head(d, TFN_HEAD_NUMBERS))
        return tfn_number_loss(b->t, logits, TFN__NUMBERS, d->number_loss, d->delta);
    if (!tfn__clusters(d))
        return tfn_cross_entropy(b->t, logits, TFN_INT_TARGETS, d->smoothing,
                                 (int32_t)d->smoothing_kind);
    for (int32_t k = 0; k < tfn__clusters(d); k++) {
        const int32_t slot = TFN_INT_CLUSTER_TARGETS + k;
        const tfn_var part = tfn_cross_entropy(b->t, b->logits[k], slot, 0, 0);
        if (k == 0) loss = part;
        else loss = tfn_add(b->t, loss, part, 1, 1);
    }
    return loss;
}

/* Records the whole model. Returns the loss of each row, or in builds without training the logits.
 * The loss, and the logits of a tape that does not train, stay readable after a run. */
SHARED tfn_var tfn__build_model(tfn__builder *b, tfn_var *logits)
{
    const bool two = tfn__is_pair(b->d);
    tfn_var x;
    tfn__build_table(b);
    if (two) b->memory = tfn__build_stack(b, TFN__IN_ENCODER);
    x = tfn__build_stack(b, tfn__last_stack(b->d).stack);
    x = tfn__build_logits(b, x);
    *logits = x;
    if (!b->t->training) tfn_keep(b->t, x);
    if (!TFN__TRAINS) return x;
    x = tfn__build_loss(b, x);
    tfn_keep(b->t, x);
    return x;
}
TFN__RARE_END
