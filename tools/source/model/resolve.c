#include "resolve.h"
#include "../ground/basics.h"
#include "../kernels/optim.h"
#include "../tape/record.h"
#include "../tape/record_ops.h"
#include "options.h"

TFN__RARE

/* -- rows by pointer or by name --------------------------------------------------------------- */

/* A topology, norm or initialization is a row of data, and rows of users have the same rights as
 * rows of the library. Topologies are given by pointer. Norms and initializations are given by
 * name, or by a pointer next to the name (norm and norm_rule). The name is what is stored and
 * compared, so the two options of one desc must mean the same row. A pointer cannot enable what the
 * build leaves out. */

/* Returns the row of a stack's norm: the user's, or the library's with this name, or NULL. After
 * tfn_model_resolve it is never NULL. Everything else about the norm is in this row, except what
 * norm_eps, norm_factor and norm_warmup override. */
SHARED const tfn_norm_rule *tfn__norm_row(const tfn_model_desc *d, bool decoder)
{
    const tfn_norm_rule *own = d->norm_rule;
    const char *name = d->norm;
    if (decoder) {
        own = d->decoder_norm_rule;
        name = d->decoder_norm;
    }
    if (TFN__ALL && own) return own;
    return tfn_norm_find(name);
}
SHARED const tfn_init_rule *tfn__init_row(const tfn_model_desc *d)
{
    if (TFN__ALL && d->init_rule) return d->init_rule;
    return tfn_init_find(d->init);
}

/* True if the model starts as LSUV does, with outputs of variance 1 from each linear map. */
SHARED bool tfn__needs_unit_variance(const tfn_model_desc *d)
{
    return TFN__ALL && tfn__init_row(d)->unit_variance;
}

/* Ranges of the numbers in a user's row. The last flag is TFN_FLAG_PLAIN. */
enum { TFN__NORM_FLAGS = 2 * TFN_FLAG_PLAIN - 1 };
static const tfn__limit tfn__norm_limits[] = {
    TFN__RANGE_OF(tfn_norm_rule, kind, TFN__WHOLE, 0, TFN_NORM_POWER),
    TFN__RANGE_OF(tfn_norm_rule, flags, TFN__WHOLE, 0, TFN__NORM_FLAGS),
    TFN__RANGE_OF(tfn_norm_rule, eps, TFN__REAL_OR_0, TFN__TINY, TFN__HUGE),
    TFN__RANGE_OF(tfn_norm_rule, part, TFN__REAL, 0, 1),
    TFN__RANGE_OF(tfn_norm_rule, squash, TFN__WHOLE, 0, TFN_SQUASH_SOFTSIGN)
};
static const tfn__limit tfn__init_limits[] = {
    TFN__RANGE_OF(tfn_init_rule, base, TFN__WHOLE, 0, TFN_DISTRIBUTION_MIRRORED),
    TFN__RANGE_OF(tfn_init_rule, ffn_base, TFN__WHOLE, 0, TFN_DISTRIBUTION_MIRRORED),
    TFN__RANGE_OF(tfn_init_rule, std, TFN__REAL, 0, TFN__HUGE),
    TFN__RANGE_OF(tfn_init_rule, embedding_std, TFN__REAL, 0, TFN__HUGE)
};

/* Returns the flags that a kind of norm reads. Other flags would be ignored silently, for example a
 * gain stored as an offset from 1 to which nothing adds 1. */
static uint32_t tfn__flags_of(tfn_norm_kind kind)
{
    const uint32_t affine = TFN_FLAG_GAIN | TFN_FLAG_BIAS;
    const uint32_t detached = TFN_FLAG_DETACH_MEAN | TFN_FLAG_DETACH_STD;
    const uint32_t usual = affine | detached | TFN_FLAG_SCALAR | TFN_FLAG_OFFSET | TFN_FLAG_WHOLE;
    switch (kind) {
    case TFN_NORM_POINT:
        return affine | TFN_FLAG_SHIFT;
    case TFN_NORM_SEED:
        return TFN_FLAG_GAIN;
    case TFN_NORM_BATCH:
    case TFN_NORM_POWER:
        return affine;
    case TFN_NORM_ADA:
        return detached | TFN_FLAG_BY_HEAD | TFN_FLAG_PLAIN;
    case TFN_NORM_CRMS:                 /* C - 1 channels do not divide into heads */
        return usual;
    default:
        return usual | TFN_FLAG_BY_HEAD;
    }
}

/* Checks a user's norm, and rejects flags that its kind does not read. */
static void tfn__check_norm(const tfn_norm_rule *norm, const char *option, tfn_error *e)
{
    const uint32_t gain = TFN_FLAG_GAIN;
    const bool gains_offset = (norm->flags & (gain | TFN_FLAG_OFFSET)) == TFN_FLAG_OFFSET;
    tfn__check_ranges(e, option, norm, tfn__norm_limits,
                      sizeof tfn__norm_limits / sizeof *tfn__norm_limits);
    if (e->status != TFN_OK) return;
    if (norm->flags & ~tfn__flags_of(norm->kind))
        tfn__fail(e, TFN_BAD_OPTION, option, "flags is %d; kind %d does not read all of them",
                  norm->flags, norm->kind);
    else if (gains_offset || (norm->kind == TFN_NORM_SEED && !(norm->flags & gain)))
        tfn__fail(e, TFN_BAD_OPTION, option, "flags is %d; kind %d needs a gain", norm->flags,
                  norm->kind);
    else if (norm->part > 0 && norm->kind != TFN_NORM_RMS)
        tfn__fail(e, TFN_BAD_OPTION, option, "only kind %d can use a part of the channels",
                  TFN_NORM_RMS, 0);
}

/* Takes the name of a user's row into the option next to it. Checkpoints store the name, so the row
 * must have one, and no row of the library may have the same (`found`). The option may already hold
 * this name, as in a resolved desc, but no other. */
static void tfn__take_name(const char **name, const char *option, const char *own,
                           const void *row, const void *found, tfn_error *e)
{
    if (e->status != TFN_OK) return;
    if (!own || !own[0])
        tfn__fail(e, TFN_BAD_OPTION, option, "a row of your own needs a name", 0, 0);
    else if (found && found != row)
        tfn__fail_name(e, TFN_BAD_OPTION, option, "the library has a row called %s; yours "
                       "needs another name", own);
    else if (*name && !tfn__equal(*name, own))
        tfn__fail_name(e, TFN_BAD_OPTION, option, "it is another row than the one named beside it, "
                       "%s: one of the two must be NULL", *name);
    else *name = own;
}

/* Takes the names of user's rows before the recipe fills the rest. A decoder without a row and a
 * name follows the encoder in both. Builds with only the two usual norms reject other rows later,
 * in tfn__is_plain_model. */
static void tfn__take_own_rows(tfn_model_desc *d, tfn_error *e)
{
    const tfn_norm_rule *norm = d->norm_rule;
    const tfn_norm_rule *decoder = d->decoder_norm_rule;
    const tfn_init_rule *init = d->init_rule;
    if (!TFN__ALL) return;
    if (norm) {
        tfn__check_norm(norm, "norm_rule", e);
        tfn__take_name(&d->norm, "norm_rule", norm->name, norm, tfn_norm_find(norm->name), e);
    }
    if (decoder) {
        tfn__check_norm(decoder, "decoder_norm_rule", e);
        tfn__take_name(&d->decoder_norm, "decoder_norm_rule", decoder->name, decoder,
                       tfn_norm_find(decoder->name), e);
    }
    if (init) {
        tfn__check_ranges(e, "init_rule", init, tfn__init_limits,
                          sizeof tfn__init_limits / sizeof *tfn__init_limits);
        tfn__take_name(&d->init, "init_rule", init->name, init, tfn_init_find(init->name), e);
    }
}

/* Fills in the parts of the recipe that options do not override, then checks that each name has a
 * row. An error says which macro left rows out. */
#if TFN__ALL
#define TFN__CALLED " is called %s"
#elif defined TFNORM_PLAIN
#define TFN__CALLED " of TFNORM_PLAIN is called %s"
#else
#define TFN__CALLED " of TFNORM_NO_TRAINING is called %s"
#endif
static void tfn__resolve_recipe(tfn_model_desc *d, tfn_error *e)
{
    const tfn_recipe *recipe = tfn_recipe_find(d->recipe);
    const tfn_norm_rule *norm;
    const tfn_norm_rule *decoder_norm;
    if (!recipe) {
        tfn__no_name(e, "no recipe" TFN__CALLED, "recipe", d->recipe);
        return;
    }
    tfn__take_own_rows(d, e);
    if (!d->topology) d->topology = tfn_topology_find(recipe->topology);
    if (!d->decoder_topology) d->decoder_topology = d->topology;
    if (!d->norm) d->norm = recipe->norm;
    if (!d->decoder_norm) {
        d->decoder_norm = d->norm;
        if (TFN__ALL) d->decoder_norm_rule = d->norm_rule;
    }
    if (!d->init) d->init = recipe->init;
    norm = tfn__norm_row(d, false);
    decoder_norm = tfn__norm_row(d, true);
    if (!norm)
        tfn__no_name(e, "no norm" TFN__CALLED, "norm", d->norm);
    else if (!decoder_norm)
        tfn__no_name(e, "no norm" TFN__CALLED, "norm", d->decoder_norm);
    else if (TFN__ALL && (norm->kind == TFN_NORM_CRMS) != (decoder_norm->kind == TFN_NORM_CRMS))
        tfn__fail(e, TFN_BAD_OPTION, "model", "crmsnorm must be the norm of both stacks", 0, 0);
    if (!tfn__init_row(d))
        tfn__no_name(e, "no initialization" TFN__CALLED, "init", d->init);
}

/* Returns the channels of the residual stream. CRMSNorm stores all channels but one, because a
 * vector whose sum is 0 determines the last. Both stacks have that norm, or none. */
SHARED int32_t tfn__stream(const tfn_model_desc *d)
{
    const tfn_norm_rule *norm = NULL;
    if (TFN__ALL) norm = tfn__norm_row(d, false);
    if (norm && norm->kind == TFN_NORM_CRMS) return d->width - 1;
    return d->width;
}

/* Returns the channels of a head, D. */
SHARED int32_t tfn__head_size(const tfn_model_desc *d)
{
    return tfn__value_or(d->head_size, d->width / d->heads);
}

/* Returns the channels of a word's embedding, E. */
SHARED int32_t tfn__embedding_size(const tfn_model_desc *d)
{
    if (!TFN__ALL || !d->embedding_size) return tfn__stream(d);
    return d->embedding_size;
}
SHARED int32_t tfn__all_heads(const tfn_model_desc *d) { return tfn__head_size(d) * d->heads; }

/* Checks sizes that depend on each other. The width must divide into heads, unless head_size is
 * given. The same number of query heads share each key and value head (head h reads h G/H). Rotary
 * positions need an even head size. */
static void tfn__check_sizes(const tfn_model_desc *d, bool heads_given, tfn_error *e)
{
    tfn__in_range(e, "model", "kv_heads", d->kv_heads, 1, d->heads);
    if (e->status != TFN_OK) return;
    if (!d->head_size && TFN__ALL && !heads_given && d->width % d->heads)
        tfn__fail(e, TFN_BAD_OPTION, "model", "width is %d; it is not a multiple of width/32, %d: "
                  "set heads", d->width, d->heads);
    if (!d->head_size && d->width % d->heads)
        tfn__fail(e, TFN_BAD_OPTION, "model", "width is %d; it must be a multiple of heads, %d",
                  d->width, d->heads);
    tfn__in_range(e, "model", "heads * head_size", (int64_t)d->heads * d->head_size, 0,
                  TFN__MAX_SIDE);
    if (d->heads % d->kv_heads)
        tfn__fail(e, TFN_BAD_OPTION, "model", "kv_heads is %d; it must divide heads, %d",
                  d->kv_heads, d->heads);
    if (TFN__ALL && tfn__stream(d) < 1)
        tfn__fail(e, TFN_BAD_OPTION, "model", "width is %d; crmsnorm needs at least %d", d->width,
                  2);
    if (tfn__is_position(d, TFN_POSITION_ROTARY) && tfn__head_size(d) % 2)
        tfn__fail(e, TFN_BAD_OPTION, "model", "head size is %d; for rotary it must be "
                  "even", tfn__head_size(d), 0);
}

/* -- muP: rates and scales by width, see the table at tfn_model_desc ------------------------- */

/* Returns m, the width over the width that rates and scales are given for. */
SHARED float tfn__mup(const tfn_model_desc *d)
{
    if (!TFN__ALL || !d->mup_base_width) return 1;
    return (float)d->width / (float)d->mup_base_width;
}

/* Returns the factor of the queries in a layer, counted from 1. The kernels divide scores by
 * sqrt(D), while muP divides by D. Queries of length 1 have a temperature instead, which does not
 * depend on D. */
SHARED float tfn__query_scale(const tfn_model_desc *d, tfn_qk_norm form, int32_t layer)
{
    const float usual = 32;             /* D where both agree, as in heads by default */
    const float size = (float)tfn__head_size(d);
    float scale = 1;
    if (!TFN__ALL || form == TFN_QK_NORM_L2 || form == TFN_QK_NORM_COSINE) return 1;
    if (d->score_scale > 0) scale = d->score_scale * TFN__SQRT(size);
    if (d->mup_base_width) scale = TFN__SQRT(usual / size);
    if (d->scale_by_layer) scale /= (float)layer;
    return scale;
}

/* True for optimizers in the table of muP. */
static bool tfn__mup_optimizer(tfn_optimizer kind)
{
    switch (kind) {
    case TFN_OPTIMIZER_SGD:
    case TFN_OPTIMIZER_ADAM:
    case TFN_OPTIMIZER_ADAMW:
    case TFN_OPTIMIZER_RADAM:
    case TFN_OPTIMIZER_LION: return true;
    default: return false;
    }
}

static void tfn__check_mup(const tfn_model_desc *d, tfn_error *e)
{
    const uint32_t own = TFN_TOPOLOGY_UNIT_WEIGHTS | TFN_TOPOLOGY_SIGMA_REPARAM
                       | TFN_TOPOLOGY_FIXNORM | TFN_TOPOLOGY_LOGIT_SCALE
                       | TFN_TOPOLOGY_EMBEDDING_SCALE;
    const uint32_t flags = d->topology->flags | d->decoder_topology->flags;
    if (e->status != TFN_OK || !d->mup_base_width) return;
    if (!d->inference && !tfn__mup_optimizer(d->optimizer))
        tfn__fail(e, TFN_UNSUPPORTED, "model", "mup_base_width is set; its rates are those of "
                  "adam, adamw, radam, lion and sgd", 0, 0);
    else if ((flags & own) || d->qk_norm == TFN_QK_NORM_UNIT)
        tfn__fail(e, TFN_UNSUPPORTED, "model", "mup_base_width is set; the topology has scales of "
                  "its own by width", 0, 0);
    else if (d->scale_embedding || d->bands || d->cutoffs[0] || d->score_scale > 0)
        tfn__fail(e, TFN_UNSUPPORTED, "model", "mup_base_width goes with none of scale_embedding, "
                  "bands, cutoffs, score_scale", 0, 0);
}

/* More than one thread needs OpenMP or TFNORM_PARALLEL_FOR. Half precision rounds a copy of the
 * weights between operations and needs exactly one. */
static void tfn__check_threads(const tfn_model_desc *d, tfn_error *e)
{
#ifndef TFN__THREADS
    if (d->threads > 1)
        tfn__fail(e, TFN_UNSUPPORTED, "model", "threads is %d, this build has %d: it needs OpenMP "
                  "or TFNORM_PARALLEL_FOR", d->threads, 1);
#endif
    if (TFN__ALL && d->half && d->threads > 1)
        tfn__fail(e, TFN_BAD_OPTION, "model", "threads is %d, half needs %d", d->threads, 1);
}

/* There is one buffer for averages, and schedule-free AdamW uses it itself. */
static void tfn__check_averages(const tfn_model_desc *d, tfn_error *e)
{
    if (d->optimizer == TFN_OPTIMIZER_SCHEDULE_FREE && d->ema > 0)
        tfn__fail(e, TFN_BAD_OPTION, "model", "ema must be 0: the optimizer schedule-free makes "
                  "averages of its own", 0, 0);
}

/* Packed moments are unpacked piece by piece, so the optimizer must update each weight by itself.
 * Schedule-free is excluded because it keeps a point of its weights there, not a mean of gradients.
 */
static void tfn__check_moment_type(const tfn_model_desc *d, tfn_error *e)
{
    const bool flat = tfn__state_rule_of(d->optimizer).matrices == TFN__MATRICES_FLAT;
    if (!TFN__PACKS || d->moment_type == TFN_MOMENT_TYPE_FLOAT) return;
    if (!flat || d->optimizer == TFN_OPTIMIZER_SCHEDULE_FREE)
        tfn__fail_name(e, TFN_BAD_OPTION, "model", "moment_type must be float32: the optimizer %s "
                       "takes no moments of fewer bits",
                       tfn_choice_name("optimizer", (int32_t)d->optimizer));
}

/* Schedules that end or step need that time; there is no good default. */
static void tfn__check_schedule(const tfn_schedule *s, tfn_error *e)
{
    if (tfn__follows(s, TFN_SCHEDULE_LINEAR) || tfn__follows(s, TFN_SCHEDULE_POLYNOMIAL)
        || tfn__follows(s, TFN_SCHEDULE_COSINE)
        || tfn__follows(s, TFN_SCHEDULE_WARMUP_STABLE_DECAY))
        tfn__in_range(e, "model", "the end of the schedule, schedule.steps,", s->steps, 1,
                      INT64_MAX);
    if (tfn__follows(s, TFN_SCHEDULE_STEP))
        tfn__in_range(e, "model", "the step of the schedule, schedule.step_at,", s->step_at, 1,
                      INT64_MAX);
}

/* Returns the number of clusters of words, one more than there are cutoffs, or 0 without any.
 * Cluster k starts at word tfn__cluster_at(d, k) and ends where the next one starts, or with the
 * vocabulary. */
SHARED int32_t tfn__clusters(const tfn_model_desc *d)
{
    if (!TFN__ALL || !d->cutoffs[0]) return 0;
    if (!d->cutoffs[1]) return 2;
    return 3;
}

SHARED int32_t tfn__cluster_at(const tfn_model_desc *d, int32_t k)
{
    if (k == 0) return 0;
    if (k < tfn__clusters(d)) return d->cutoffs[k - 1];
    return d->vocab;
}

/* Checks clusters. Their logits are log p already, and words have no common table, so options that
 * change logits or rows of a table are errors. Each tail is a quarter as wide as the one before;
 * width 16 leaves one channel for the last. */
static void tfn__check_clusters(const tfn_model_desc *d, tfn_error *e)
{
    const uint32_t words = TFN_TOPOLOGY_FIXNORM | TFN_TOPOLOGY_LOGIT_SCALE;
    const bool plain_logits = !(d->smoothing > 0 || d->logit_cap > 0 || d->logit_divisor > 0
                                || d->half || d->loss);
    if (d->cutoffs[0])
        tfn__in_range(e, "model", "cutoffs[0]", d->cutoffs[0], 0, d->vocab - 1);
    if (d->cutoffs[0] && d->cutoffs[1])
        tfn__in_range(e, "model", "cutoffs[1]", d->cutoffs[1], d->cutoffs[0] + 1, d->vocab - 1);
    else
        tfn__in_range(e, "model", "cutoffs[1]", d->cutoffs[1], 0, 0);
    if (e->status != TFN_OK || !tfn__clusters(d)) return;
    if (tfn__is_decoder_only(d) && d->width >= 16 && plain_logits
        && !(d->decoder_topology->flags & words)) return;
    tfn__fail(e, TFN_BAD_OPTION, "model", "cutoffs need a decoder of width 16 or more, and "
              "neither smoothing nor a cap nor scale of logits nor half nor a loss of your own",
              0, 0);
}

/* Checks embeddings of their own size (Lan 2020, ALBERT, section 3.1; Zhang 2022, OPT-350M): V*E
 * numbers and two maps of E*C, instead of V*C. Options that treat embedding and stream as one are
 * errors: clusters have widths of their own, muP does not know whether E grows with C, and nGPT's
 * rows of length 1 lie on the sphere of the stream. FixNorm works, on rows of E channels. */
static void tfn__check_embedding_size(const tfn_model_desc *d, tfn_error *e)
{
    const uint32_t flags = d->topology->flags | d->decoder_topology->flags;
    if (!d->embedding_size) return;
    if (d->map_last && d->bands)
        tfn__fail(e, TFN_BAD_OPTION, "model", "map_last needs tokens, but bands is %d", d->bands,
                  0);
    if (d->cutoffs[0] || d->mup_base_width || (flags & TFN_TOPOLOGY_UNIT_WEIGHTS))
        tfn__fail(e, TFN_BAD_OPTION, "model", "embedding_size goes with neither cutoffs nor "
                  "mup_base_width nor weights of length 1", 0, 0);
}

/* Checks options of frames, which replace an encoder's tokens. A model that reads only frames has
 * no words, so options of words are errors. */
static void tfn__check_frame_options(const tfn_model_desc *d, tfn_error *e)
{
    if (!d->bands && d->frame_map)
        tfn__fail(e, TFN_BAD_OPTION, "model", "frame_map needs frames, but bands is 0", 0, 0);
    if (d->bands && tfn__is_decoder_only(d))
        tfn__fail(e, TFN_BAD_OPTION, "model", "bands is %d; frames need an encoder", d->bands, 0);
    if (!tfn__is_frames_only(d)) return;
    if (tfn__is_head(d, TFN_HEAD_TOKENS))
        tfn__fail(e, TFN_BAD_OPTION, "model", "bands is %d; an encoder of frames has no words, and "
                  "its head must be another than tokens", d->bands, 0);
    if (d->segments || d->embedding_size)
        tfn__fail(e, TFN_BAD_OPTION, "model", "bands is %d; segments and embedding_size need "
                  "tokens", d->bands, 0);
}

/* True if the head reads the first position, for the whole sentence: each sentence has one row of
 * logits and one target row. */
SHARED bool tfn__by_sentences(const tfn_model_desc *d)
{
    return tfn__is_head(d, TFN_HEAD_SEQUENCE) || tfn__is_head(d, TFN_HEAD_NUMBERS);
}

/* Returns the numbers in a row of logits. */
SHARED int32_t tfn__logit_cols(const tfn_model_desc *d)
{
    if (tfn__is_head(d, TFN_HEAD_TOKENS)) return d->vocab;
    if (tfn__is_head(d, TFN_HEAD_NUMBERS)) return d->numbers;
    return d->classes;
}

/* Heads except the one of tokens need an encoder and a size of their own. Numbers have no classes
 * to smooth over, and no whole targets, by which a user's loss is masked. */
static void tfn__check_head(const tfn_model_desc *d, tfn_error *e)
{
    const char *kind = "this kind";             /* a small build has no names of choices */
    if (d->head == TFN_HEAD_TOKENS) return;
    if (TFN__ALL) kind = tfn_choice_name("head", (int32_t)d->head);
    if (!tfn__is_encoder_only(d))
        tfn__fail_name(e, TFN_BAD_OPTION, "model", "a head of %s needs an encoder", kind);
    if (!tfn__is_head(d, TFN_HEAD_NUMBERS)) {
        tfn__in_range(e, "model", "classes", d->classes, 1, TFN__VOCAB);
        return;
    }
    tfn__in_range(e, "model", "numbers", d->numbers, 1, TFN__MAX_SIDE);
    if (TFN__TRAINS && (d->smoothing > 0 || d->loss))
        tfn__fail(e, TFN_BAD_OPTION, "model", "a head of numbers has neither smoothing nor a loss "
                  "of your own", 0, 0);
}

/* Checks options that only some architectures, machines or builds have. */
static void tfn__check_kinds(const tfn_model_desc *d, tfn_error *e)
{
    tfn__check_head(d, e);
    tfn__check_frame_options(d, e);
    if (TFN__ALL && d->output_bias && (d->cutoffs[0] || !tfn__is_head(d, TFN_HEAD_TOKENS)))
        tfn__fail(e, TFN_BAD_OPTION, "model", "output_bias needs a head of tokens without "
                  "cutoffs", 0, 0);
    if (TFN__ALL && d->head_transform && (d->cutoffs[0] || !tfn__is_head(d, TFN_HEAD_TOKENS)))
        tfn__fail(e, TFN_BAD_OPTION, "model", "head_transform needs a head of tokens without "
                  "cutoffs", 0, 0);
    if (TFN__ALL && d->pooler
        && (!tfn__by_sentences(d) || tfn__gate_of(d->pooler) != d->pooler))
        tfn__fail(e, TFN_BAD_OPTION, "model", "pooler needs a head of sequence or numbers, and "
                  "a function without a gate", 0, 0);
    if (d->segments && !tfn__is_encoder_only(d))
        tfn__fail(e, TFN_BAD_OPTION, "model", "segment embeddings need an encoder", 0, 0);
    if (!tfn_kernels_for(d->isa))
        tfn__fail(e, TFN_UNSUPPORTED, "model", "instruction set %d is not available here",
                  d->isa, 0);
    if (TFN__ALL && d->folded && !d->inference)
        tfn__fail(e, TFN_BAD_OPTION, "model", "a folded model is for inference", 0, 0);
    if (!TFN__TRAINS && !d->inference)
        tfn__fail(e, TFN_UNSUPPORTED, "model", "left out by TFNORM_NO_TRAINING: set inference", 0,
                  0);
}

/* Rejects a value that the set of macro `name` does not keep. */
static void tfn__check_set(tfn_error *e, const char *name, uint32_t kept, int value)
{
    if (e->status != TFN_OK || (kept >> value & 1)) return;
    tfn__fail_name(e, TFN_UNSUPPORTED, "model", "%s does not keep %d", name);
    e->found = value;
}
/* Compiles to nothing if the build keeps everything. */
#define TFN__CHECK_SET(e, set, value)                                                              \
    do {                                                                                           \
        if ((TFNORM_##set) != UINT32_MAX)                                                          \
            tfn__check_set(e, "TFNORM_" #set, TFNORM_##set, (int)(value));                         \
    } while (0)

/* Checks what the build keeps. Both stacks' norms count. */
static void tfn__check_kept(const tfn_model_desc *d, tfn_error *e)
{
    const tfn_norm_rule *norm = tfn__norm_row(d, false);
    const tfn_norm_rule *decoder_norm = tfn__norm_row(d, true);
    TFN__CHECK_SET(e, ARCHS, d->arch);
    TFN__CHECK_SET(e, NORMS, norm->kind);
    TFN__CHECK_SET(e, NORMS, decoder_norm->kind);
    TFN__CHECK_SET(e, POSITIONS, d->position);
    TFN__CHECK_SET(e, ACTIVATIONS, d->activation);
    if (d->inference) return;
    TFN__CHECK_SET(e, OPTIMIZERS, d->optimizer);
    TFN__CHECK_SET(e, SCHEDULES, tfn__value_or((int32_t)d->schedule.kind, TFN_SCHEDULE_CONSTANT));
    if (TFN__DROPS || !TFN__TRAINS) return;             /* without training, dropout is ignored */
    if (d->dropout > 0 || d->attention_dropout > 0 || d->activation_dropout > 0)
        tfn__fail(e, TFN_UNSUPPORTED, "model", tfn__no_dropout, 0, 0);
}

/* Rejects packed weights, moments and caches in builds without them. This comes before the ranges,
 * whose error would only say that the type is too large. */
static void tfn__check_packs(const tfn_model_desc *d, tfn_error *e)
{
    const int32_t types = (int32_t)d->weights | (int32_t)d->moment_type | (int32_t)d->cache_type;
    if (!TFN__PACKS && types && e->status == TFN_OK)
        tfn__fail(e, TFN_UNSUPPORTED, "model", "weights, moment_type and cache_type are left out "
                  "by TFNORM_NO_QUANT", 0, 0);
}

/* Encoders and training run on whole sentences, so they cannot be left to decoders. */
static void tfn__check_only_decoders(const tfn_model_desc *d, tfn_error *e)
{
    if (!TFN__SENTENCES && !d->only_decoders)
        tfn__fail(e, TFN_UNSUPPORTED, "model", "a whole forward is left out by "
                  "TFNORM_ONLY_DECODERS: set only_decoders", 0, 0);
    if (d->only_decoders && (!d->inference || !tfn__is_decoder_only(d)))
        tfn__fail(e, TFN_BAD_OPTION, "model", "only_decoders needs a decoder made for inference", 0,
                  0);
}

/* True if a stack normalizes queries and keys in this form anywhere. A rule may differ by layer and
 * kind, so every place is tested unless the model's option overrides all. */
static bool tfn__stack_has_qk(const tfn_model_desc *d, bool decoder, tfn_qk_norm form)
{
    const tfn_topology *row = d->topology;
    if (decoder) row = d->decoder_topology;
    if (d->qk_norm != TFN_QK_NORM_DEFAULT) return d->qk_norm == form;
    for (int32_t layer = 1; layer <= tfn__depth(d, decoder); layer++) {
        tfn_place self = tfn__place_at(d, decoder, TFN_SUBLAYER_SELF_ATTENTION, layer);
        tfn_place cross = tfn__place_at(d, decoder, TFN_SUBLAYER_CROSS_ATTENTION, layer);
        if (tfn_topology_join(row, &self).qk == form) return true;
        if (tfn_topology_join(row, &cross).qk == form) return true;
    }
    return false;
}

/* Only stacks that the model has are asked. */
static bool tfn__has_qk(const tfn_model_desc *d, tfn_qk_norm form)
{
    if (!tfn__is_decoder_only(d) && tfn__stack_has_qk(d, false, form)) return true;
    return !tfn__is_encoder_only(d) && tfn__stack_has_qk(d, true, form);
}

/* nGPT multiplies queries and keys by the same vector, so they need the same number of channels.
 * Queries of length 1 have a scale of their own. */
static void tfn__check_qk(const tfn_model_desc *d, tfn_error *e)
{
    const bool unit = tfn__has_qk(d, TFN_QK_NORM_UNIT);
    const bool cosine = tfn__has_qk(d, TFN_QK_NORM_L2) || tfn__has_qk(d, TFN_QK_NORM_COSINE);
    if (unit && d->kv_heads != d->heads)
        tfn__fail(e, TFN_BAD_OPTION, "model", "nGPT's queries and keys share their scales: "
                  "kv_heads is %d, but must equal heads, %d", d->kv_heads, d->heads);
    else if ((unit || cosine) && (d->score_scale > 0 || d->scale_by_layer))
        tfn__fail(e, TFN_BAD_OPTION, "model", "queries and keys of length 1 have a scale of their "
                  "own: neither score_scale nor scale_by_layer can be set", 0, 0);
}

/* -- groups of parameters -------------------------------------------------------------------- */

/* A group is a pattern for names of parameters with options for those that match: rate, decay,
 * frozen, LoRA. The builder finds the group of a parameter when it creates it (tfn__assign_group),
 * and gives trained parameters a place in a flat vector of their own. Then
 *   the tape     computes no gradient of a frozen parameter, nor gradients that only it needs
 *                (tfn__mark_learns)
 *   the model    has regions of gradients and moments as long as that vector
 *   the update   is a loop over runs of tensors with the same options (tfn__update_all)
 *   checkpoints  store groups as texts, and the moments of trained parameters
 * Without groups, that vector equals the vector of parameters, byte for byte. */

/* Returns the end of the set "[...]" that starts at p, after its bracket, or NULL. */
static const char *tfn__set_end(const char *p)
{
    for (; *p; p++)
        if (*p == ']') return p + 1;
    return NULL;
}

/* True if c is in the set "[abx-z]" at p. Ranges are of bytes. */
static bool tfn__in_set(const char *p, char c)
{
    const char *end = tfn__set_end(p) - 1;
    for (p++; p < end; p++) {
        if (p[1] == '-' && p + 2 < end) {
            if (c >= p[0] && c <= p[2]) return true;
            p += 2;
        } else if (*p == c) {
            return true;
        }
    }
    return false;
}

/* Returns the pattern after the part that matches the character c, or NULL. A bracket that is not
 * closed is an ordinary character. */
static const char *tfn__match_one(const char *p, char c)
{
    if (*p == '[' && tfn__set_end(p)) {
        if (tfn__in_set(p, c)) return tfn__set_end(p);
        return NULL;
    }
    if (*p && (*p == '?' || *p == c)) return p + 1;
    return NULL;
}

/* True if the pattern matches the whole name. On a mismatch, the last '*' takes one more character.
 * Earlier stars need not be tried again, so the time is at most the product of both lengths. */
SHARED bool tfn__name_matches(const char *p, const char *name)
{
    const char *star = NULL;            /* the pattern after the last star */
    const char *from = NULL;            /* the place in the name that it continues at */
    while (*name) {
        const char *next = tfn__match_one(p, *name);
        if (*p == '*') {
            star = ++p;
            from = name;
        } else if (next) {
            p = next;
            name++;
        } else {
            if (!star) return false;
            p = star;
            name = ++from;
        }
    }
    while (*p == '*') p++;
    return *p == 0;
}

/* Ranges of a group's numbers. decay may also be -1, for none. */
static const tfn__limit tfn__group_limits[] = {
    TFN__RANGE_OF(tfn_group, rate, TFN__REAL_OR_0, TFN__TINY, 1e6),
    TFN__RANGE_OF(tfn_group, decay, TFN__REAL, -1, 1e3),
    TFN__RANGE_OF(tfn_group, rank, TFN__WHOLE, 0, TFN__MAX_SIDE),
    TFN__RANGE_OF(tfn_group, alpha, TFN__REAL_OR_0, TFN__TINY, 1e6)
};

/* Checks a group; a rate of 0 becomes 1. The pattern must end within its array. */
static void tfn__resolve_group(tfn_group *g, tfn_error *e)
{
    const size_t most = sizeof g->pattern - 1;
    if (g->pattern[most])
        tfn__fail(e, TFN_BAD_OPTION, "group", "a pattern has at most %d characters",
                  (int64_t)most, 0);
    tfn__check_ranges(e, "group", g, tfn__group_limits,
                      sizeof tfn__group_limits / sizeof *tfn__group_limits);
    if (g->decay < 0 && g->decay > -1)
        tfn__fail(e, TFN_BAD_OPTION, "group", "decay is below 0; -1 means none", 0, 0);
    if (g->rate == 0) g->rate = 1;
    if (g->rank > 0 && g->alpha == 0) g->alpha = (float)g->rank;
}

/* Checks all groups. One with an empty pattern is unused, whatever else it holds. */
static void tfn__resolve_groups(tfn_model_desc *d, tfn_error *e)
{
    for (int i = 0; i < TFN_MOST_GROUPS; i++) {
        tfn_group *g = d->groups + i;
        if (!g->pattern[0])
            TFNORM_MEMSET(g, 0, sizeof *g);
        else if (TFN__GROUPS)
            tfn__resolve_group(g, e);
        else
            tfn__fail(e, TFN_UNSUPPORTED, "model", "groups are left out by TFNORM_NO_GROUPS", 0, 0);
    }
}

/* Returns the last group that matches a name, among those with a rank (lora) or those without, or
 * -1. */
SHARED int tfn__group_named(const tfn_model_desc *d, const char *name, bool lora)
{
    int found = -1;
    for (int i = 0; i < TFN_MOST_GROUPS; i++) {
        const tfn_group *g = d->groups + i;
        if (!g->pattern[0] || (g->rank > 0) != lora) continue;
        if (tfn__name_matches(g->pattern, name)) found = i;
    }
    return found;
}

/* Checks the channels that rotate, which are pairs, and the scaling of their rates. */
static void tfn__check_rotary(const tfn_model_desc *d, tfn_error *e)
{
    tfn__in_range(e, "model", "rotary_size", d->rotary_size, 0, tfn__head_size(d));
    if (d->rotary_size % 2)
        tfn__fail(e, TFN_BAD_OPTION, "model", "rotary_size is %d; it must be even", d->rotary_size,
                  0);
    if (d->rotary_scaling != TFN_ROTARY_SCALING_NONE && !(d->rotary_low < d->rotary_high))
        tfn__fail(e, TFN_BAD_OPTION, "model", "rotary_high must be above rotary_low", 0, 0);
}

/* Checks relative positions. An encoder uses half of the buckets for later keys; half of the
 * buckets of each direction hold one distance each. No gradient is computed through a cap of the
 * scores. */
static void tfn__check_relative(const tfn_model_desc *d, tfn_error *e)
{
    const int64_t most = tfn__max(d->context, d->source_context);
    if (d->position != TFN_POSITION_ALIBI && !tfn__is_relative(d)) return;
    tfn__in_range(e, "model", "heads times all distances, 2*context - 1,",
                  d->heads * (2*most - 1), 1, INT32_MAX / 2);
    if (!tfn__is_relative(d)) return;
    tfn__in_range(e, "model", "relative_buckets", d->relative_buckets, 4, TFN__MAX_SIDE);
    tfn__in_range(e, "model", "relative_distance", d->relative_distance,
                  (int64_t)d->relative_buckets / 2 + 1, TFN__MAX_SIDE);
    if (d->attention_cap > 0)
        tfn__fail(e, TFN_UNSUPPORTED, "model", "relative positions exclude attention_cap", 0, 0);
}

/* True if a text may be longer than the window. */
SHARED bool tfn__window_hides(const tfn_model_desc *d)
{
    if (tfn__is_encoder_only(d)) return d->window / 2 < d->context - 1;
    return d->window < d->context;
}

/* True if layer l, from 0, has a window. */
SHARED bool tfn__layer_has_window(const tfn_model_desc *d, int32_t l)
{
    if (l < d->window_from) return false;
    if (d->window_period > 0 && ((int64_t)l + 1 + d->window_shift) % d->window_period == 0)
        return false;
    return d->window > 0;
}

/* True if layers with a window have rotations of their own. Gemma 3 rotates them a hundred times
 * faster than in layers that attend to the whole, long text. */
SHARED bool tfn__has_window_rotations(const tfn_model_desc *d)
{
    if (!tfn__is_position(d, TFN_POSITION_ROTARY)) return false;
    return TFN__ALL && d->window > 0 && d->window_base > 0;
}

/* The number of distances between two positions of a sentence, from 1 - T to T - 1. */
SHARED int32_t tfn__distances(const tfn_model_desc *d)
{
    return 2 * (int32_t)tfn__max(d->context, d->source_context) - 1;
}

/* A window of an encoder has positions on both sides. */
static void tfn__check_window(const tfn_model_desc *d, tfn_error *e)
{
    if (d->window == 1 && tfn__is_encoder_only(d))
        tfn__fail(e, TFN_BAD_OPTION, "model", "window is %d; in an encoder it is at least %d",
                  d->window, 2);
}

/* True if a group has a rank. */
static bool tfn__names_lora(const tfn_model_desc *d)
{
    for (int i = 0; i < TFN_MOST_GROUPS; i++)
        if (d->groups[i].pattern[0] && d->groups[i].rank > 0) return true;
    return false;
}
SHARED bool tfn__has_lora(const tfn_model_desc *d) { return TFN__ALL && tfn__names_lora(d); }

/* True if a build without extra norms can compute this row: no aggregate, only norms at the ends.
 */
static bool tfn__is_plain_row(const tfn_topology *t)
{
    const uint32_t plain = TFN_TOPOLOGY_FINAL_NORM | TFN_TOPOLOGY_EMBEDDING_NORM;
    return t->aggregate == TFN_AGGREGATE_NONE && !(t->flags & ~plain);
}

/* True if all numbers that only TFNORM_ALL_NORMS uses are 0. */
static bool tfn__has_plain_numbers(const tfn_model_desc *d)
{
#define TFN__PLACE(field) (uint16_t)offsetof(tfn_model_desc, field)
    static const uint16_t places[] = {
        TFN__PLACE(mup_base_width), TFN__PLACE(cutoffs[0]), TFN__PLACE(cutoffs[1]),
        TFN__PLACE(rotary_size), TFN__PLACE(rotary_period), TFN__PLACE(window),
        TFN__PLACE(window_shift), TFN__PLACE(embedding_size), TFN__PLACE(attention_cap),
        TFN__PLACE(logit_cap), TFN__PLACE(score_scale), TFN__PLACE(embedding_factor),
        TFN__PLACE(branch_factor), TFN__PLACE(logit_divisor), TFN__PLACE(qkv_clip)
    };
#undef TFN__PLACE
    uint32_t all = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint32_t bits;
        TFNORM_MEMCPY(&bits, (const char *)d + places[i], sizeof bits);
        all |= bits;
    }
    return !all;
}

/* True if the model needs no operation of TFNORM_ALL_NORMS. See TFN__ALL. */
static bool tfn__is_plain_model(const tfn_model_desc *d)
{
    const bool convolutions = d->bands && d->frame_map == TFN_FRAME_MAP_CONVOLUTIONS;
    if ((int)d->cache_type >= TFN_CACHE_TYPE_COUNT) return false;
    if (!tfn__has_plain_numbers(d) || convolutions || d->folded || d->half) return false;
    if (d->norm_rule || d->decoder_norm_rule || d->init_rule) return false;
    if (d->scale_by_layer || d->attention_bias || d->pooler) return false;
    if (d->output_bias || d->head_transform || d->scale_output || d->rotary_scaling) return false;
    if (d->position > TFN_POSITION_NONE) return false;
    if (d->qk_norm > TFN_QK_NORM_NONE || tfn__names_lora(d)) return false;
    return tfn__is_plain_row(d->topology) && tfn__is_plain_row(d->decoder_topology);
}

/* Checks options that a plain model does not have. */
static void tfn__check_extras(tfn_model_desc *d, tfn_error *e)
{
    tfn__check_mup(d, e);
    tfn__check_clusters(d, e);
    tfn__check_rotary(d, e);
    tfn__check_window(d, e);
    tfn__check_relative(d, e);
    tfn__check_embedding_size(d, e);
    if (e->status == TFN_OK) tfn__check_qk(d, e);
}

/* Fills in defaults, then checks names, ranges, and what depends on other options. A check may rely
 * on the ones before it. */
TFNORM_API bool tfn_model_resolve(tfn_model_desc *out, const tfn_model_desc *desc, tfn_error *e)
{
    tfn_error none;
    bool heads_given;
    if (!e) e = &none;
    tfn__no_error(e);
    if (!tfn__given(e, "model", "desc", desc) || !tfn__given(e, "model", "out", out)) return false;
    heads_given = desc->heads != 0;         /* before *out changes: out may be desc */
    *out = *desc;
    tfn__fill_defaults(out);
    tfn__resolve_recipe(out, e);
    tfn__check_packs(out, e);
    if (e->status == TFN_OK && !TFN__ALL && !tfn__is_plain_model(out))
        tfn__fail(e, TFN_UNSUPPORTED, "model", tfn__plain_only, 0, 0);
    tfn__check_limits(e, out);
    if (e->status != TFN_OK) return false;
    if (!out->half) out->loss_scale = 1;
    if (TFN__ALL || TFN__TRAINS) tfn__resolve_groups(out, e);
    tfn__check_kept(out, e);
    tfn__check_sizes(out, heads_given, e);
    tfn__check_kinds(out, e);
    tfn__check_only_decoders(out, e);
    tfn__check_threads(out, e);
    if (TFN__TRAINS && !out->inference) tfn__check_schedule(&out->schedule, e);
    if (TFN__TRAINS && e->status == TFN_OK) tfn__check_averages(out, e);
    if (TFN__TRAINS && e->status == TFN_OK && !out->inference) tfn__check_moment_type(out, e);
    if (TFN__ALL) tfn__check_extras(out, e);
    return e->status == TFN_OK;
}
TFN__RARE_END
