/* Models. A table of configurations crosses stacks, topologies, norms, activations, positions, tied
 * and untied output and grouped heads; every property is checked on each. test_model_double.c
 * compiles this file in double and compares all gradients with central differences. */
#include <stdint.h>
#include "../lib.h"
#include "../check.h"

enum { MODEL_B = 3, MODEL_T = 21, MODEL_TS = 19, MODEL_V = 23, MODEL_WIDTH = 16, MODEL_HEADS = 4,
       MODEL_MOST = 3 * 140, MODEL_BANDS = 5, MODEL_NUMBERS = 3 };

/* -- configurations ------------------------------------------------------------------------ */

/* In the second layer of each stack the sub-layer's norms are swapped: a hybrid. */
static void model_rule(const tfn_place *place, tfn_join *join)
{
    if (place->layer != 2) return;
    join->norm_in = !join->norm_in;
    join->norm_sum = !join->norm_sum;
}

/* A user's row with every kind of norm and scale. */
static const tfn_topology model_own = {
    .name = "own", .formula = "everything at once", .paper = "none", .year = 2026,
    .flags = TFN_TOPOLOGY_FINAL_NORM | TFN_TOPOLOGY_EMBEDDING_NORM, .rule = model_rule,
    .attention = { .norm_in = true, .norm_branch = true, .skip_from = TFN_SOURCE_NORMED,
                   .in = { TFN_SCALE_CONSTANT, (float)0.75 },
                   .out = { TFN_SCALE_LEARNED, (float)0.5 },
                   .skip = { TFN_SCALE_VECTOR, (float)1.25 } },
    .ffn = { .norm_sum = true, .in = { TFN_SCALE_VECTOR, (float)0.875 },
             .out = { TFN_SCALE_CONSTANT, 1, (float)-0.5, 0, (float)0.25 },
             .skip = { TFN_SCALE_CONSTANT, (float)0.9 },
             .extra = { TFN_SCALE_LEARNED, (float)0.25 } }
};

#ifdef MODEL_VARIANTS
/* Every recipe on every stack; when time is short, a sample with one stack each. */
static int model_count(void)
{
    int n = 0;
    while (tfn_recipe_at(n)) n++;
    return check_tier() >= 2 ? 3 * n : n;
}
/* Options for the recipes, in turn. */
static const tfn_model_desc model_turns[] = {
    { .position = TFN_POSITION_ROTARY, .activation = TFN_ACTIVATION_GELU, .window = 3,
      .window_period = 3, .window_base = 100 },
    { .position = TFN_POSITION_LEARNED, .activation = TFN_ACTIVATION_SWIGLU, .untied = true,
      .attention_cap = 5, .activation_dropout = 0.125f, .bands = MODEL_BANDS, .norm_warmup = 1 },
    { .position = TFN_POSITION_ROTARY, .activation = TFN_ACTIVATION_GELU, .logit_cap = 4,
      .dropout = 0.125f, .attention_dropout = 0.125f, .activation_dropout = 0.125f },
    { .position = TFN_POSITION_LEARNED, .activation = TFN_ACTIVATION_GELU, .bands = MODEL_BANDS,
      .frame_map = TFN_FRAME_MAP_LINEAR, .dropout = 0.125f, .attention_dropout = 0.125f,
      .norm_warmup = 1 },
    { .position = TFN_POSITION_ROTARY, .activation = TFN_ACTIVATION_SWIGLU,
      .activation_dropout = 0.125f, .head_size = 6, .rotary_size = 4,
      .rotary_scaling = TFN_ROTARY_SCALING_LINEAR, .no_bias = true,
      .attention_bias = TFN_ATTENTION_BIAS_ALL, .output_bias = true, .head_transform = true,
      .embedding_size = 10 },
    { .position = TFN_POSITION_LEARNED, .activation = TFN_ACTIVATION_GELU, .untied = true,
      .activation_dropout = 0.125f, .norm_warmup = 1 },
    { .position = TFN_POSITION_ROTARY, .activation = TFN_ACTIVATION_GELU, .logit_cap = 4,
      .dropout = 0.125f, .attention_dropout = 0.125f, .window = 2, .window_from = 1 },
    { .position = TFN_POSITION_RELATIVE, .activation = TFN_ACTIVATION_GELU, .relative_buckets = 8,
      .relative_distance = 12, .attention_dropout = 0.125f, .window = 9, .scale_output = true }
};
enum { MODEL_TURNS = sizeof model_turns / sizeof *model_turns };

static tfn_model_desc model_desc(int i)
{
    const bool all = check_tier() >= 2;
    const int recipe = all ? i / 3 : i;
    const int arch = all ? i % 3 : (i + i / 3) % 3;
    tfn_model_desc d = model_turns[i % MODEL_TURNS];
    d.recipe = tfn_recipe_at(recipe)->name;
    d.arch = (tfn_arch)arch;
    CASE("model %d: arch %d, %s", i, arch, d.recipe);
    d.vocab = MODEL_V;
    d.context = MODEL_T;
    d.layers = 3;
    if (d.arch == TFN_ARCH_ENCODER_DECODER) {
        d.layers = 2;
        d.source_context = MODEL_TS;
    }
    if (d.arch == TFN_ARCH_DECODER) d.bands = 0;
    if (d.arch == TFN_ARCH_ENCODER && d.bands) {        /* heads in turn */
        d.head = (tfn_head)(TFN_HEAD_SEQUENCE + i / MODEL_TURNS % 3);
        d.classes = 5;
        d.numbers = MODEL_NUMBERS;
        d.number_loss = (tfn_number_loss_kind)(i % 2);
    }
    d.decoder_layers = 3;
    d.width = MODEL_WIDTH;
    d.heads = MODEL_HEADS;
    d.ffn = 20;
    if (!strcmp(d.recipe, "ngpt")) d.activation = TFN_ACTIVATION_SWIGLU;
    if (!strcmp(d.recipe, "ngpt")) d.embedding_size = 0;
    if (!strcmp(d.recipe, "hanin-rolnick")) {       /* has no norm, so it would diverge */
        d.activation = TFN_ACTIVATION_GELU;
        d.bands = 0;
    }
    if (!d.bands) d.frame_map = TFN_FRAME_MAP_CONVOLUTIONS;
    if (!strcmp(d.recipe, "prmsnorm")) d.width = 64;                    /* four features, not one */
    d.batch = MODEL_B;
    d.seed = (uint64_t)i;
    d.threads = 1;
    return d;
}
#else
/* Stacks x topologies x norms; all other options are spread over them. */
static const tfn_model_desc model_table[] = {
    { .arch = TFN_ARCH_DECODER, .recipe = "post", .norm = "layernorm",
      .activation = TFN_ACTIVATION_RELU, .kv_heads = 4, .position = TFN_POSITION_LEARNED,
      .clip = 0.5f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "post", .norm = "layernorm",
      .activation = TFN_ACTIVATION_GELU, .kv_heads = 4, .position = TFN_POSITION_SINUSOIDAL,
      .smoothing = 0.125f, .smoothing_kind = TFN_SMOOTHING_FAIRSEQ, .dropout = 0.125f,
      .attention_dropout = 0.125f, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "post", .norm = "layernorm",
      .activation = TFN_ACTIVATION_GELU_TANH, .kv_heads = 2,
      .position = TFN_POSITION_SINUSOIDAL_FAIRSEQ, .untied = true, .activation_dropout = 0.125f,
      .mup_base_width = 4 },
    { .arch = TFN_ARCH_DECODER, .recipe = "pre", .norm = "layernorm",
      .activation = TFN_ACTIVATION_RELU2, .kv_heads = 2, .position = TFN_POSITION_ROTARY,
      .untied = true, .no_bias = true, .cutoffs = { 9, 15 }, .dropout = 0.125f,
      .attention_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .norm = "layernorm",
      .activation = TFN_ACTIVATION_TANH, .kv_heads = 1, .position = TFN_POSITION_NONE,
      .scale_embedding = true, .segments = 3, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "pre", .norm = "layernorm",
      .activation = TFN_ACTIVATION_GEGLU, .kv_heads = 1, .position = TFN_POSITION_LEARNED,
      .scale_embedding = true, .bands = MODEL_BANDS, .smoothing = 0.125f, .dropout = 0.125f,
      .attention_dropout = 0.125f, .activation_dropout = 0.125f, .clip = 0.5f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "post", .norm = "layernorm", .bands = MODEL_BANDS,
      .head = TFN_HEAD_SEQUENCE, .classes = 5, .position = TFN_POSITION_LEARNED,
      .dropout = 0.125f, .attention_dropout = 0.125f, .smoothing = 0.125f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .norm = "rmsnorm", .bands = MODEL_BANDS,
      .frame_map = TFN_FRAME_MAP_LINEAR, .head = TFN_HEAD_SEQUENCE, .classes = 5,
      .position = TFN_POSITION_ROTARY, .scale_embedding = true, .dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "pre", .norm = "layernorm",
      .bands = MODEL_BANDS, .frame_map = TFN_FRAME_MAP_LINEAR, .no_bias = true,
      .position = TFN_POSITION_SINUSOIDAL, .dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .norm = "layernorm", .bands = MODEL_BANDS,
      .head = TFN_HEAD_POSITIONS, .classes = 5, .smoothing = 0.125f, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "post", .norm = "layernorm", .segments = 3,
      .head = TFN_HEAD_POSITIONS, .classes = 7, .position = TFN_POSITION_SINUSOIDAL,
      .dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .norm = "rmsnorm", .bands = MODEL_BANDS,
      .frame_map = TFN_FRAME_MAP_LINEAR, .head = TFN_HEAD_NUMBERS, .numbers = MODEL_NUMBERS,
      .number_loss = TFN_NUMBER_LOSS_HUBER, .delta = 0.5f, .dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "post", .norm = "layernorm", .head = TFN_HEAD_NUMBERS,
      .numbers = 1, .position = TFN_POSITION_ROTARY, .clip = 0.5f },
    { .arch = TFN_ARCH_DECODER, .recipe = "pre", .topology = &model_own, .norm = "layernorm",
      .activation = TFN_ACTIVATION_GEGLU_TANH, .kv_heads = 4, .position = TFN_POSITION_SINUSOIDAL,
      .untied = true, .scale_embedding = true },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .topology = &model_own, .norm = "layernorm",
      .activation = TFN_ACTIVATION_RELU, .kv_heads = 4, .position = TFN_POSITION_SINUSOIDAL_FAIRSEQ,
      .untied = true, .scale_embedding = true, .head = TFN_HEAD_SEQUENCE, .classes = 5,
      .dropout = 0.125f, .attention_dropout = 0.125f, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "pre", .topology = &model_own,
      .norm = "layernorm", .activation = TFN_ACTIVATION_GELU, .kv_heads = 2,
      .position = TFN_POSITION_ROTARY, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_DECODER, .recipe = "post", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_GELU_TANH, .kv_heads = 2, .position = TFN_POSITION_NONE,
      .cutoffs = { 9 }, .dropout = 0.125f, .attention_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "post", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_SILU, .kv_heads = 1, .position = TFN_POSITION_LEARNED,
      .untied = true, .segments = 3, .head = TFN_HEAD_SEQUENCE, .classes = 5,
      .activation_dropout = 0.125f, .clip = 0.5f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "post", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_TANH, .kv_heads = 1, .position = TFN_POSITION_SINUSOIDAL,
      .untied = true, .separate_source = true, .bands = MODEL_BANDS, .dropout = 0.125f,
      .attention_dropout = 0.125f, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_DECODER, .recipe = "pre", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_GEGLU, .kv_heads = 4,
      .position = TFN_POSITION_SINUSOIDAL_FAIRSEQ, .scale_embedding = true },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_SWIGLU, .kv_heads = 4, .position = TFN_POSITION_ROTARY,
      .scale_embedding = true, .smoothing = 0.125f, .dropout = 0.125f, .attention_dropout = 0.125f,
      .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "pre", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_RELU, .kv_heads = 2, .position = TFN_POSITION_NONE,
      .untied = true, .no_bias = true, .scale_embedding = true, .separate_source = true,
      .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_DECODER, .recipe = "pre", .topology = &model_own, .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_GELU, .kv_heads = 2, .position = TFN_POSITION_LEARNED,
      .untied = true, .scale_embedding = true, .cutoffs = { 9, 15 }, .dropout = 0.125f,
      .attention_dropout = 0.125f, .clip = 0.5f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .topology = &model_own, .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_GELU_TANH, .kv_heads = 1, .position = TFN_POSITION_SINUSOIDAL,
      .segments = 3, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "pre", .topology = &model_own, .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_SILU, .kv_heads = 1, .position = TFN_POSITION_SINUSOIDAL_FAIRSEQ,
      .separate_source = true, .bands = MODEL_BANDS, .smoothing = 0.125f,
      .smoothing_kind = TFN_SMOOTHING_FAIRSEQ, .dropout = 0.125f, .attention_dropout = 0.125f,
      .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_DECODER, .recipe = "post", .norm = "layernorm",
      .activation = TFN_ACTIVATION_TANH, .kv_heads = 4, .position = TFN_POSITION_ROTARY,
      .untied = true },
    { .arch = TFN_ARCH_ENCODER, .recipe = "post", .norm = "layernorm",
      .activation = TFN_ACTIVATION_GEGLU, .kv_heads = 4, .position = TFN_POSITION_NONE,
      .untied = true, .head = TFN_HEAD_SEQUENCE, .classes = 5, .dropout = 0.125f,
      .attention_dropout = 0.125f, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "post", .norm = "layernorm",
      .activation = TFN_ACTIVATION_SWIGLU, .kv_heads = 2, .position = TFN_POSITION_LEARNED,
      .scale_embedding = true, .activation_dropout = 0.125f, .clip = 0.5f },
    { .arch = TFN_ARCH_DECODER, .recipe = "pre", .norm = "layernorm",
      .activation = TFN_ACTIVATION_RELU, .kv_heads = 2, .position = TFN_POSITION_SINUSOIDAL,
      .scale_embedding = true, .cutoffs = { 9 }, .dropout = 0.125f, .attention_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .norm = "layernorm",
      .activation = TFN_ACTIVATION_GELU, .kv_heads = 1, .position = TFN_POSITION_SINUSOIDAL_FAIRSEQ,
      .untied = true, .scale_embedding = true, .segments = 3, .head = TFN_HEAD_SEQUENCE,
      .classes = 5, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "pre", .norm = "layernorm",
      .activation = TFN_ACTIVATION_GELU_TANH, .kv_heads = 1, .position = TFN_POSITION_ROTARY,
      .untied = true, .scale_embedding = true, .bands = MODEL_BANDS, .dropout = 0.125f,
      .attention_dropout = 0.125f, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_DECODER, .recipe = "pre", .topology = &model_own, .norm = "layernorm",
      .activation = TFN_ACTIVATION_SILU, .kv_heads = 4, .position = TFN_POSITION_NONE },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .topology = &model_own, .norm = "layernorm",
      .activation = TFN_ACTIVATION_TANH, .kv_heads = 4, .position = TFN_POSITION_LEARNED,
      .no_bias = true, .smoothing = 0.125f, .smoothing_kind = TFN_SMOOTHING_FAIRSEQ,
      .dropout = 0.125f, .attention_dropout = 0.125f, .activation_dropout = 0.125f, .clip = 0.5f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "pre", .topology = &model_own,
      .norm = "layernorm", .activation = TFN_ACTIVATION_GEGLU, .kv_heads = 2,
      .position = TFN_POSITION_SINUSOIDAL, .untied = true, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_DECODER, .recipe = "post", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_SWIGLU, .kv_heads = 2,
      .position = TFN_POSITION_SINUSOIDAL_FAIRSEQ, .untied = true, .cutoffs = { 9, 15 },
      .dropout = 0.125f, .attention_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "post", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_RELU, .kv_heads = 1, .position = TFN_POSITION_ROTARY,
      .scale_embedding = true, .segments = 3, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "post", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_GELU, .kv_heads = 1, .position = TFN_POSITION_NONE,
      .scale_embedding = true, .separate_source = true, .bands = MODEL_BANDS, .smoothing = 0.125f,
      .dropout = 0.125f, .attention_dropout = 0.125f, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_DECODER, .recipe = "pre", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_GELU_TANH, .kv_heads = 4, .position = TFN_POSITION_LEARNED,
      .untied = true, .scale_embedding = true, .clip = 0.5f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_SILU, .kv_heads = 4, .position = TFN_POSITION_SINUSOIDAL,
      .untied = true, .scale_embedding = true, .head = TFN_HEAD_SEQUENCE, .classes = 5,
      .dropout = 0.125f, .attention_dropout = 0.125f, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "pre", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_TANH, .kv_heads = 2, .position = TFN_POSITION_SINUSOIDAL_FAIRSEQ,
      .separate_source = true, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_DECODER, .recipe = "pre", .topology = &model_own, .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_GEGLU, .kv_heads = 2, .position = TFN_POSITION_ROTARY,
      .cutoffs = { 9 }, .dropout = 0.125f, .attention_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .topology = &model_own, .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_SWIGLU, .kv_heads = 1, .position = TFN_POSITION_NONE,
      .untied = true, .segments = 3, .head = TFN_HEAD_SEQUENCE, .classes = 5,
      .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "pre", .topology = &model_own, .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_RELU, .kv_heads = 1, .position = TFN_POSITION_LEARNED,
      .untied = true, .separate_source = true, .bands = MODEL_BANDS, .dropout = 0.125f,
      .attention_dropout = 0.125f, .activation_dropout = 0.125f, .clip = 0.5f },
    { .arch = TFN_ARCH_DECODER, .recipe = "post", .norm = "layernorm",
      .activation = TFN_ACTIVATION_GELU, .kv_heads = 4, .position = TFN_POSITION_SINUSOIDAL,
      .no_bias = true, .scale_embedding = true },
    { .arch = TFN_ARCH_ENCODER, .recipe = "post", .norm = "layernorm",
      .activation = TFN_ACTIVATION_GELU_TANH, .kv_heads = 4,
      .position = TFN_POSITION_SINUSOIDAL_FAIRSEQ, .scale_embedding = true, .smoothing = 0.125f,
      .dropout = 0.125f, .attention_dropout = 0.125f, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "post", .norm = "layernorm",
      .activation = TFN_ACTIVATION_SILU, .kv_heads = 2, .position = TFN_POSITION_ROTARY,
      .untied = true, .scale_embedding = true, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_DECODER, .recipe = "pre", .norm = "layernorm",
      .activation = TFN_ACTIVATION_TANH, .kv_heads = 2, .position = TFN_POSITION_NONE,
      .untied = true, .scale_embedding = true, .cutoffs = { 9, 15 }, .dropout = 0.125f,
      .attention_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .norm = "layernorm",
      .activation = TFN_ACTIVATION_GEGLU, .kv_heads = 1, .position = TFN_POSITION_LEARNED,
      .segments = 3, .activation_dropout = 0.125f, .clip = 0.5f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "pre", .norm = "layernorm",
      .activation = TFN_ACTIVATION_SWIGLU, .kv_heads = 1, .position = TFN_POSITION_SINUSOIDAL,
      .bands = MODEL_BANDS, .smoothing = 0.125f, .smoothing_kind = TFN_SMOOTHING_FAIRSEQ,
      .dropout = 0.125f, .attention_dropout = 0.125f, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_DECODER, .recipe = "pre", .topology = &model_own, .norm = "layernorm",
      .activation = TFN_ACTIVATION_RELU, .kv_heads = 4, .position = TFN_POSITION_SINUSOIDAL_FAIRSEQ,
      .untied = true },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .topology = &model_own, .norm = "layernorm",
      .activation = TFN_ACTIVATION_GELU, .kv_heads = 4, .position = TFN_POSITION_ROTARY,
      .untied = true, .head = TFN_HEAD_SEQUENCE, .classes = 5, .dropout = 0.125f,
      .attention_dropout = 0.125f, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "pre", .topology = &model_own,
      .norm = "layernorm", .activation = TFN_ACTIVATION_GELU_TANH, .kv_heads = 2,
      .position = TFN_POSITION_NONE, .scale_embedding = true, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_DECODER, .recipe = "post", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_SILU, .kv_heads = 2, .position = TFN_POSITION_LEARNED,
      .scale_embedding = true, .cutoffs = { 9 }, .dropout = 0.125f, .attention_dropout = 0.125f,
      .clip = 0.5f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "post", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_TANH, .kv_heads = 1, .position = TFN_POSITION_SINUSOIDAL,
      .untied = true, .scale_embedding = true, .segments = 3, .head = TFN_HEAD_SEQUENCE,
      .classes = 5, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "post", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_GEGLU, .kv_heads = 1,
      .position = TFN_POSITION_SINUSOIDAL_FAIRSEQ, .untied = true, .no_bias = true,
      .scale_embedding = true, .separate_source = true, .bands = MODEL_BANDS, .dropout = 0.125f,
      .attention_dropout = 0.125f, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_DECODER, .recipe = "pre", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_SWIGLU, .kv_heads = 4, .position = TFN_POSITION_ROTARY },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_RELU, .kv_heads = 4, .position = TFN_POSITION_NONE,
      .smoothing = 0.125f, .smoothing_kind = TFN_SMOOTHING_FAIRSEQ, .dropout = 0.125f,
      .attention_dropout = 0.125f, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "pre", .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_GELU, .kv_heads = 2, .position = TFN_POSITION_LEARNED,
      .untied = true, .separate_source = true, .activation_dropout = 0.125f, .clip = 0.5f },
    { .arch = TFN_ARCH_DECODER, .recipe = "pre", .topology = &model_own, .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_GELU_TANH, .kv_heads = 2, .position = TFN_POSITION_SINUSOIDAL,
      .untied = true, .cutoffs = { 9, 15 }, .dropout = 0.125f, .attention_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER, .recipe = "pre", .topology = &model_own, .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_SILU, .kv_heads = 1, .position = TFN_POSITION_SINUSOIDAL_FAIRSEQ,
      .scale_embedding = true, .segments = 3, .activation_dropout = 0.125f },
    { .arch = TFN_ARCH_ENCODER_DECODER, .recipe = "pre", .topology = &model_own, .norm = "rmsnorm",
      .activation = TFN_ACTIVATION_TANH, .kv_heads = 1, .position = TFN_POSITION_ROTARY,
      .scale_embedding = true, .separate_source = true, .bands = MODEL_BANDS, .smoothing = 0.125f,
      .dropout = 0.125f, .attention_dropout = 0.125f, .activation_dropout = 0.125f },
};
static int model_count(void)
{
    return check_tier() ? (int)(sizeof model_table / sizeof *model_table) : 25;
}

static tfn_model_desc model_desc(int i)
{
    tfn_model_desc d = model_table[i];
    CASE("model %d: arch %d, %s%s, %s", i, (int)d.arch, d.recipe, d.topology ? " (own row)" : "",
         d.norm);
    d.vocab = MODEL_V;
    d.context = MODEL_T;
    if (d.arch == TFN_ARCH_ENCODER_DECODER) d.source_context = MODEL_TS;
    d.width = MODEL_WIDTH;
    d.layers = 2;
    d.decoder_layers = 2;
    d.heads = MODEL_HEADS;
    d.ffn = 20;
    d.init = "xavier-uniform";
    d.decay = (float)0.01;
    d.batch = MODEL_B;
    d.seed = (uint64_t)i;
    d.threads = 1;
    return d;
}
#endif

static const tfn_norm_rule *model_norm(const tfn_model_desc *d)
{
    return tfn_norm_find(d->norm ? d->norm : tfn_recipe_find(d->recipe)->norm);
}
#ifdef TFN__DOUBLE
/* True if the backward is no gradient by definition: parts of the forward count as constants. */
static bool model_detached(const tfn_model_desc *d)
{
    const tfn_norm_rule *norm = model_norm(d);
    return norm->kind == TFN_NORM_ADA || norm->kind == TFN_NORM_ABSMAX
        || norm->kind == TFN_NORM_POWER || strstr(d->recipe, "gpas")
        || (norm->flags & (TFN_FLAG_DETACH_MEAN | TFN_FLAG_DETACH_STD));
}
#else
/* True for norms over a whole tensor or batch: then sentences and positions depend on each
 * other. */
static bool model_mixes(const tfn_model_desc *d)
{
    return (model_norm(d)->flags & TFN_FLAG_WHOLE) || model_norm(d)->kind >= TFN_NORM_BATCH;
}
#endif

static const char *model_text(const tfn_model_desc *d)
{
    static char text[200];
    static const char *const arches[] = { "decoder", "encoder", "encoder-decoder" };
    snprintf(text, sizeof text, "%s %s %s activation %d position %d%s kv %d%s%s", arches[d->arch],
             d->topology ? d->topology->name : d->recipe, d->norm ? d->norm : "",
             (int)d->activation, (int)d->position, d->untied ? " untied" : "", (int)d->kv_heads,
             d->bands ? " of frames" : "", d->cutoffs[0] ? " in clusters" : "");
    return text;
}

/* True if there is a row of logits for each sentence, not for each position. */
static bool model_by_sentences(const tfn_model_desc *d)
{
    return d->head == TFN_HEAD_SEQUENCE || d->head == TFN_HEAD_NUMBERS;
}
static int32_t model_cols(const tfn_model_desc *d)
{
    if (d->head == TFN_HEAD_NUMBERS) return d->numbers;
    return d->head == TFN_HEAD_TOKENS ? d->vocab : d->classes;
}

/* -- a model with a batch ------------------------------------------------------------------ */

typedef struct model_case {
    tfn_model m;
    tfn_batch batch;
    int32_t tokens[MODEL_MOST], targets[MODEL_MOST], source[MODEL_MOST], segments[MODEL_MOST];
    int32_t lengths[MODEL_B], source_lengths[MODEL_B];
    int32_t time, source_time, frame_lengths[MODEL_B];  /* in positions, even with frames */
    float numbers[MODEL_B * MODEL_NUMBERS];
    float frames[(4 * MODEL_MOST + 3 * MODEL_B) * MODEL_BANDS];
} model_case;

static int32_t model_below(tfn_key key, uint64_t *at, int32_t n)
{
    return (int32_t)(tfn_random_bits(key, (*at)++) % (uint64_t)n);
}

/* The number of frames that give `positions` positions: see model_sound. */
static int32_t model_frames(const tfn_model_desc *d, int32_t positions)
{
    return d->frame_map == TFN_FRAME_MAP_LINEAR ? positions : 4*positions + 3;
}

/* Replaces an encoder's tokens by frames: one or four for each token, and three at a sentence's
 * end, all equal. */
static void model_sound(model_case *c, const tfn_model_desc *d)
{
    const bool alone = d->arch == TFN_ARCH_ENCODER, linear = d->frame_map == TFN_FRAME_MAP_LINEAR;
    const int32_t *tokens = alone ? c->tokens : c->source, each = linear ? 1 : 4;
    const int32_t *lengths = alone ? c->lengths : c->source_lengths, ends = linear ? 0 : 3;
    const int32_t positions = alone ? c->time : c->source_time, time = model_frames(d, positions);
    if (!d->bands) return;
    for (int32_t i = 0; i < c->batch.batch * time * MODEL_BANDS; i++) {
        int32_t b = i / MODEL_BANDS / time, frame = i / MODEL_BANDS % time, t = frame / each;
        int32_t past = frame - each * lengths[b];
        int32_t token = past < 0 ? tokens[b * positions + t] : past < ends ? MODEL_V
                      : t < positions ? tokens[b * positions + t] : MODEL_V;
        uint64_t draw = (uint64_t)((token * 4 + frame % each) * MODEL_BANDS + i % MODEL_BANDS);
        c->frames[i] = 2 * tfn_random_uniform(tfn_key_make(3), draw) - 1;
    }
    for (int32_t b = 0; b < c->batch.batch; b++) {      /* up to three more frames have no effect */
        int32_t n = model_frames(d, lengths[b]) + (linear ? 0 : (b + lengths[b]) % 4);
        c->frame_lengths[b] = n < time ? n : time;
    }
    c->batch.source = NULL;
    c->batch.frames = c->frames;
    if (alone) {
        c->batch.tokens = NULL;
        c->batch.lengths = c->frame_lengths;
        c->batch.time = time;
    } else {
        c->batch.source_lengths = c->frame_lengths;
        c->batch.source_time = time;
    }
}

/* Random sentences of different lengths, followed by padding. */
static void model_fill(model_case *c, const tfn_model_desc *d, int32_t batch, int32_t time,
                       int32_t source, uint64_t seed)
{
    tfn_key key = tfn_key_fold(tfn_key_make(77), seed);
    uint64_t at = 0;
    int32_t n = batch * time;
    memset(&c->batch, 0, sizeof c->batch);
    for (int32_t b = 0; b < batch; b++) {
        c->lengths[b] = b == 1 ? time : 1 + model_below(key, &at, time);
        c->source_lengths[b] = b == 1 || !source ? source : 1 + model_below(key, &at, source);
    }
    for (int32_t i = 0; i < n; i++) {
        bool pad = i % time >= c->lengths[i / time];
        c->tokens[i] = model_below(key, &at, d->vocab);
        c->segments[i] = d->segments ? model_below(key, &at, d->segments) : 0;
        c->targets[i] = pad || model_below(key, &at, 5) == 0 ? -1
                      : model_below(key, &at, model_cols(d));
    }
    c->targets[0] = 1;
    for (int32_t b = 0; b < batch && d->head == TFN_HEAD_SEQUENCE; b++)
        c->targets[b] = model_below(key, &at, d->classes);
    for (int32_t i = 0; i < batch * d->numbers; i++) {      /* some are unknown */
        const float x = (float)(model_below(key, &at, 4001) - 2000) / 1000;
        c->numbers[i] = i % 5 == 3 ? (float)NAN : x;
    }
    c->batch.numbers = d->head == TFN_HEAD_NUMBERS ? c->numbers : NULL;
    for (int32_t i = 0; i < batch * source; i++) c->source[i] = model_below(key, &at, d->vocab);
    c->batch.tokens = c->tokens;
    c->batch.targets = c->targets;
    c->batch.lengths = c->lengths;
    c->batch.segments = d->segments ? c->segments : NULL;
    c->batch.batch = batch;
    c->batch.time = c->time = time;
    if (d->arch == TFN_ARCH_ENCODER_DECODER) {
        c->batch.source = c->source;
        c->batch.source_lengths = c->source_lengths;
        c->batch.source_time = c->source_time = source;
    }
    model_sound(c, d);
}

static bool model_moved;    /* true: weights away from their start, where branches may be 0 */

static const tfn_param_info *model_named(const tfn_model *m, const char *name)
{
    static tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        if (!strcmp(p.name, name)) return &p;
    return NULL;
}

/* y = W^T x or W x, of length 1. */
static void model_apply(const tfn_param_info *w, bool transposed, const float *x, float *y)
{
    const int32_t n = transposed ? w->cols : w->rows, inner = transposed ? w->rows : w->cols;
    double squares = 0;
    for (int32_t i = 0; i < n; i++) {
        double sum = 0;
        for (int32_t j = 0; j < inner; j++)
            sum += (double)x[j] * (double)w->data[transposed ? j * w->cols + i : i * w->cols + j];
        y[i] = (float)sum;
        squares += sum * sum;
    }
    for (int32_t i = 0; i < n; i++) y[i] /= (float)sqrt(squares);
}

/* sigmaReparam divides W by u^T W v: after W has moved, u and v must follow, as they do in
 * training. Otherwise some maps become arbitrarily large, and one key takes all of a softmax. */
static void model_follow(const tfn_model *m)
{
    tfn_param_info u;
    for (int32_t i = 0; tfn_model_param(m, i, &u); i++) {
        const char *end = strstr(u.name, ".sigma_u");
        const int stem = end ? (int)(end - u.name) : 0;
        tfn_param_info w, v;
        char name[100];
        if (!end) continue;
        snprintf(name, sizeof name, "%.*s.weight", stem, u.name);
        w = *model_named(m, name);
        snprintf(name, sizeof name, "%.*s.sigma_v", stem, u.name);
        v = *model_named(m, name);
        for (int times = 0; times < 8; times++) {
            model_apply(&w, true, u.data, v.data);
            model_apply(&w, false, v.data, u.data);
        }
    }
}

static bool model_start(model_case *c, const tfn_model_desc *d)
{
    char text[200];
    tfn_param_info p;
    if (tfn_model_new(&c->m, d, NULL) != TFN_OK) {
        FAIL("%s: %s", model_text(d), tfn_error_text(&c->m.error, text, sizeof text));
        return false;
    }
    c->m.profiled = model_moved;
    c->m.step = model_moved ? 1000 : 0;
    for (int32_t i = 0; model_moved && tfn_model_param(&c->m, i, &p); i++)
        if (!strcmp(p.name, "schedule.updates")) *p.data = 1000;    /* branches are 0 at first */
    for (int64_t i = 0; model_moved && i < c->m.param_floats; i++)
        c->m.run.params[i] += (float)0.2 * tfn_random_uniform(tfn_key_make(5), (uint64_t)i)
                              - (float)0.1;
    if (model_moved) model_follow(&c->m);
    model_fill(c, d, d->batch, d->context, d->source_context, d->seed);
    return true;
}

static void *model_copy(const void *from, size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p) exit(2);
    if (from) memcpy(p, from, bytes);
    return p;
}

#ifdef TFN__DOUBLE

/* -- all gradients against central differences --------------------------------------------- */

static double model_loss(model_case *c)
{
    const tfn_model *m = &c->m;
    const double *loss;
    double sum = 0;
    ptrdiff_t rows = model_by_sentences(&m->desc) ? c->batch.batch
                                                  : (ptrdiff_t)c->batch.batch * c->time;
    tfn_tape_forward(&m->train, &m->run);
    loss = tfn_value(&m->train, &m->run, m->train_loss);
    for (ptrdiff_t i = 0; i < rows; i++) sum += loss[i];
    return sum;
}

static double model_difference(model_case *c, double *p, double h)
{
    const double x = *p;
    double d[2];
    for (int i = 0; i < 2; i++) {
        double step = h / (1 + i), up;
        *p = x + step;
        up = model_loss(c);
        *p = x - step;
        d[i] = (up - model_loss(c)) / (2 * step);
    }
    *p = x;
    return (4*d[1] - d[0]) / 3;
}

static void model_check_param(model_case *c, const tfn_model_desc *d, const tfn_param_info *p,
                              double most)
{
    int32_t n = p->rows * p->cols, step = n > 4 ? n / 4 : 1;
    bool kink;
    for (int32_t i = 0; i < n; i += step) {
        double g = p->grad[i], size = fabs(g) + 1e-3 * most;
        double found = 0;
        bool close = false;
        for (double h = 1e-3; h > 5e-6 && !close; h /= 10) {      /* for a curved loss */
            found = model_difference(c, p->data + i, h);
            close = fabs(found - g) <= 1e-6 * size;
        }
        if (close) continue;
        /* across a kink of ReLU or of a squashing function's derivative: a shorter step, a wider
         * tolerance */
        found = model_difference(c, p->data + i, 1e-6);
        kink = d->activation == TFN_ACTIVATION_RELU || d->bands
            || model_norm(d)->kind == TFN_NORM_POINT;
        if (kink && fabs(found - g) <= 1e-5 * size) continue;
        FAIL("%s: %s[%d] is %.10g, not %.10g", model_text(d), p->name, (int)i, g, found);
    }
}

TEST(model_gradients)
{
    static model_case c;
    int checked = 0;
    for (int i = 0; i < model_count(); i++) {
        tfn_model_desc d = model_desc(i);
        tfn_report report;
        tfn_param_info p;
        double *params, most = 0;
        size_t bytes;
        d.context = 6;
        d.source_context = d.source_context ? 5 : 0;
        d.batch = 2;
        d.recompute = i % 2 == 1;
        if (model_detached(&d) || !model_start(&c, &d)) continue;
        c.m.profiled = true;                            /* keeps the weights */
        bytes = (size_t)(c.m.param_floats + c.m.buffer_floats) * sizeof *params;
        /* away from the start: gains and biases are not 1 and 0 */
        for (int64_t j = 0; j < c.m.param_floats; j++)
            c.m.run.params[j] += 0.2 * tfn_random_uniform(tfn_key_make(5), (uint64_t)j) - 0.1;
        params = (double *)model_copy(c.m.run.params, bytes);
        CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK && report.updated);
        memcpy(c.m.run.params, params, bytes);          /* with the state, which updates change */
        CHECK(lib_bind(&c.m, &c.batch));
        CHECK_CLOSE(model_loss(&c), report.loss * (double)report.tokens, 1e-12);
        for (int64_t j = 0; j < c.m.param_floats; j++)
            most = fabs(c.m.run.grads[j]) > most ? fabs(c.m.run.grads[j]) : most;
        for (int32_t j = 0; tfn_model_param(&c.m, j, &p); j++, checked++)
            if (p.grad) model_check_param(&c, &d, &p, most);
        free(params);
        tfn_model_free(&c.m);
    }
    CHECK(checked > 25 * model_count());
}

#endif

/* -- folding: fewer weights, the same function ------------------------------------------------ */

/* Differs only by rounding: at most 1.1e-5 of the largest logit in float and 3.2e-14 in double. */
TEST(model_folding)
{
    static model_case c, folded;
    const double most = sizeof(float) > 4 ? 1e-12 : 2e-5;
    for (int i = 0; i < model_count(); i++) {
        tfn_model_desc d = model_desc(i);
        const float *found;
        tfn_param_info p;
        double wrong = 0, largest = 1;
        size_t n;
        float *wanted;
        if (!model_start(&c, &d)) continue;
        for (int64_t j = 0; j < c.m.param_floats; j++)
            c.m.run.params[j] += (float)0.2 * tfn_random_uniform(tfn_key_make(5), (uint64_t)j)
                                 - (float)0.1;
        for (int32_t k = 0; tfn_model_param(&c.m, k, &p); k++)
            for (int32_t j = 0; j < p.cols && strstr(p.name, "running"); j++)
                p.data[j] += (float)0.1 * tfn_random_uniform(tfn_key_make(6), (uint64_t)j);
        d.inference = d.folded = true;
        if (!model_start(&folded, &d)) continue;
        if (tfn_model_fold(&folded.m, &c.m) != TFN_OK) FAIL("%s: no fold", model_text(&d));
        folded.batch = c.batch;
        n = (size_t)model_cols(&d) * (size_t)(c.batch.batch * c.time);
        if (model_by_sentences(&d)) n = (size_t)(model_cols(&d) * c.batch.batch);
        found = tfn_model_logits(&c.m, &c.batch);
        wanted = (float *)model_copy(found, n * sizeof *wanted);
        found = tfn_model_logits(&folded.m, &folded.batch);
        for (size_t j = 0; j < n; j++) largest = fmax(largest, fabs((double)wanted[j]));
        for (size_t j = 0; j < n; j++) {
            double off = fabs((double)found[j] - (double)wanted[j]) / largest;
            wrong = check_worse(wrong, off);
        }
        if (!(wrong <= most)) FAIL("%s: folded is %g off", model_text(&d), wrong);
        if (getenv("MODEL_FOLDING"))
            printf("  %s: %d weights become %d, %g off\n", model_text(&d), (int)c.m.weight_count,
                   (int)folded.m.weight_count, wrong);
        free(wanted);
        tfn_model_free(&c.m);
        tfn_model_free(&folded.m);
    }
}

#ifndef TFN__DOUBLE

/* -- properties of every configuration ----------------------------------------------------- */

static uint64_t model_steps(const tfn_model_desc *d, int steps, double *loss)
{
    static model_case c;
    uint64_t hash = 0;
    if (!model_start(&c, d)) return 0;
    for (int i = 0; i < steps; i++) {
        tfn_report report;
        model_fill(&c, d, d->batch, d->context, d->source_context, (uint64_t)i);
        CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK);
        CHECK(report.updated && !report.skipped && report.step == i + 1);
        if (loss) *loss = report.loss;
    }
    hash = tfn_model_hash(&c.m);
    tfn_model_free(&c.m);
    return hash;
}

/* The same training for all threads, instruction sets, recomputation and addresses. */
TEST(model_training_bits)
{
    for (int i = 0; i < model_count(); i++) {
        tfn_model_desc d = model_desc(i);
        const tfn_kernels *best = tfn_kernels_for(TFN_ISA_BEST);
        double loss, other;
        uint64_t hash = model_steps(&d, 2, &loss);
        for (int threads = 2; threads <= 3; threads++) {
            d.threads = HOOK_THREADS(threads);
            if (model_steps(&d, 2, NULL) != hash) FAIL("%s: %d threads", model_text(&d), threads);
        }
        d.threads = 1;
        d.recompute = true;
        if (model_steps(&d, 2, NULL) != hash) FAIL("%s: recomputed", model_text(&d));
        d.recompute = false;
        for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
            const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
            if (!k || k == best) continue;
            d.isa = (tfn_isa)isa;
            if (k->fma && best->fma && model_steps(&d, 2, NULL) != hash)
                FAIL("%s: %s", model_text(&d), k->name);
            model_steps(&d, 2, &other);
            if (!(fabs(other - loss) <= (model_norm(&d)->part > 0 ? 0.2 : 1e-3)))  /* one feature */
                FAIL("%s: loss %g with %s, not %g", model_text(&d), other, k->name, loss);
        }
    }
}

/* Row t of the logits of sentence b. */
static const float *model_row(const float *logits, const model_case *c, int32_t b, int32_t t)
{
    return logits + ((ptrdiff_t)b * c->time + t) * model_cols(&c->m.desc);
}

static size_t model_logit_bytes(const model_case *c)
{
    const tfn_model_desc *d = &c->m.desc;
    return (size_t)c->batch.batch * (size_t)(model_by_sentences(d) ? 1 : c->time)
         * (size_t)model_cols(d) * sizeof(float);
}

static float *model_logits(model_case *c)
{
    const float *logits = tfn_model_logits(&c->m, &c->batch);
    if (!logits) FAIL("%s: no logits", model_text(&c->m.desc));
    return (float *)model_copy(logits, model_logit_bytes(c));
}

/* A later token changes no earlier logit, but its own; an encoder looks both ways. */
static void model_check_causal(model_case *c)
{
    const size_t row = (size_t)model_cols(&c->m.desc) * sizeof(float);
    bool causal = c->m.desc.arch != TFN_ARCH_ENCODER;
    int32_t b = 1, time = c->time, at = time / 2;
    float *before, *after;
    if (model_by_sentences(&c->m.desc)) return;
    before = model_logits(c);
    c->tokens[b*time + at] = (c->tokens[b*time + at] + 1) % MODEL_V;
    if (c->m.desc.arch == TFN_ARCH_ENCODER) model_sound(c, &c->m.desc);
    after = model_logits(c);
    c->tokens[b*time + at] = (c->tokens[b*time + at] + MODEL_V - 1) % MODEL_V;
    if (c->m.desc.arch == TFN_ARCH_ENCODER) model_sound(c, &c->m.desc);
    for (int32_t t = 0; t < time; t++) {
        bool same = !memcmp(model_row(before, c, b, t), model_row(after, c, b, t), row);
        if (same != (causal && t < at))
            FAIL("%s: token %d %s logits %d", model_text(&c->m.desc), (int)at,
                 same ? "leaves" : "changes", (int)t);
    }
    for (int32_t other = 0; other < c->batch.batch; other++)       /* no other sentences either */
        if (other != b && memcmp(model_row(before, c, other, 0), model_row(after, c, other, 0),
                                 row * (size_t)time))
            FAIL("%s: sentence %d sees sentence %d", model_text(&c->m.desc), (int)other, (int)b);
    free(before);
    free(after);
}

/* Sentence b by itself, padded as in the batch and without padding. */
static void model_check_alone(model_case *c)
{
    static model_case one;
    const tfn_model_desc *d = &c->m.desc;
    bool sequence = model_by_sentences(d), alone = d->bands && d->arch == TFN_ARCH_ENCODER;
    const int32_t cols = model_cols(d);
    float *all = model_logits(c);
    const tfn_batch whole = c->batch;
    for (int32_t b = 0; b < whole.batch; b++)
        for (int cut = 0; cut < 2; cut++) {
            const float *row = all + (ptrdiff_t)b * (sequence ? 1 : c->time) * cols;
            int32_t valid = c->lengths[b];
            size_t bytes = sizeof(float) * (size_t)((sequence ? 1 : valid) * cols);
            const float *found;
            memset(&one.batch, 0, sizeof one.batch);
            one.batch = whole;
            one.batch.batch = 1;
            if (whole.tokens) one.batch.tokens += b * whole.time;
            if (one.batch.segments) one.batch.segments += b * whole.time;
            one.batch.lengths = cut ? NULL : whole.lengths + b;
            one.batch.time = cut ? valid : whole.time;
            if (whole.source) {
                one.batch.source += b * whole.source_time;
                one.batch.source_lengths = cut ? NULL : whole.source_lengths + b;
                one.batch.source_time = cut ? c->source_lengths[b] : whole.source_time;
            }
            if (alone) {
                one.batch.frames += b * whole.time * MODEL_BANDS;
                if (cut) one.batch.time = model_frames(d, valid);
            } else if (whole.frames) {
                one.batch.frames += b * whole.source_time * MODEL_BANDS;
                one.batch.source_lengths = cut ? NULL : whole.source_lengths + b;
                one.batch.source_time = cut ? model_frames(d, c->source_lengths[b])
                                            : whole.source_time;
            }
            found = tfn_model_logits(&c->m, &one.batch);
            if (!found || memcmp(found, row, bytes))
                FAIL("%s: sentence %d alone%s", model_text(d), (int)b, cut ? " and cut" : "");
        }
    free(all);
}

static void model_other(int32_t *token) { *token = (*token + 1) % MODEL_V; }

/* Other tokens in the padding: the same logits before it, the same loss, the same update. */
static void model_check_padding(model_case *c, const tfn_model_desc *d)
{
    static model_case other;
    float *before, *after;
    tfn_report one, two;
    if (!model_start(&other, d)) return;
    for (int32_t b = 0; b < other.batch.batch; b++) {
        for (int32_t t = other.lengths[b]; t < other.time; t++)
            model_other(other.tokens + b * other.time + t);
        for (int32_t t = other.source_lengths[b]; t < other.source_time; t++)
            model_other(other.source + b * other.source_time + t);
    }
    model_sound(&other, d);
    before = model_logits(c);
    after = model_logits(&other);
    for (int32_t b = 0; b < c->batch.batch && !model_by_sentences(d); b++)
        if (memcmp(model_row(before, c, b, 0), model_row(after, c, b, 0),
                   (size_t)(c->lengths[b] * model_cols(d)) * sizeof(float)))
            FAIL("%s: padding changes logits of sentence %d", model_text(d), (int)b);
    if (model_by_sentences(d) && memcmp(before, after, model_logit_bytes(c)))
        FAIL("%s: padding changes the class", model_text(d));
    CHECK(tfn_model_step(&c->m, &c->batch, &one) == TFN_OK);
    CHECK(tfn_model_step(&other.m, &other.batch, &two) == TFN_OK);
    if (memcmp(&one, &two, sizeof one) || tfn_model_hash(&c->m) != tfn_model_hash(&other.m))
        FAIL("%s: padding changes the update", model_text(d));
    free(before);
    free(after);
    tfn_model_free(&other.m);
}

/* The same sentences with more padding: equal gradients, even with dropout. */
static void model_check_longer(const tfn_model_desc *d)
{
    static model_case one, two;
    const int32_t time = 13, source = d->source_context ? 11 : 0;
    tfn_report a, b;
    if (!model_start(&one, d) || !model_start(&two, d)) return;
    model_fill(&one, d, d->batch, time, source, 9);
    memcpy(two.lengths, one.lengths, sizeof one.lengths);
    memcpy(two.source_lengths, one.source_lengths, sizeof one.lengths);
    for (int32_t i = 0; i < d->batch * d->context; i++) {
        int32_t s = i / d->context, t = i % d->context, from = s * time + t;
        if (t < time) two.tokens[i] = one.tokens[from], two.segments[i] = one.segments[from];
        if (!model_by_sentences(d)) two.targets[i] = t < time ? one.targets[from] : -1;
        else if (i < d->batch) two.targets[i] = one.targets[i];
    }
    memcpy(two.numbers, one.numbers, sizeof one.numbers);
    for (int32_t i = 0; i < d->batch * d->source_context; i++)
        if (i % d->source_context < source)
            two.source[i] = one.source[i / d->source_context * source + i % d->source_context];
    model_sound(&two, d);
    CHECK(tfn_model_step(&one.m, &one.batch, &a) == TFN_OK);
    CHECK(tfn_model_step(&two.m, &two.batch, &b) == TFN_OK);
    CHECK(a.tokens == b.tokens && !(a.loss < b.loss) && !(a.loss > b.loss));
    if (memcmp(one.m.run.grads, two.m.run.grads, (size_t)one.m.param_floats * sizeof(float)))
        FAIL("%s: more padding, another gradient", model_text(d));
    tfn_model_free(&one.m);
    tfn_model_free(&two.m);
}

TEST(model_properties)
{
    static model_case c;
    model_moved = true;
    for (int i = 0; i < model_count(); i++) {
        tfn_model_desc d = model_desc(i);
        if (model_mixes(&d) || !model_start(&c, &d)) continue;
        model_check_causal(&c);
        model_check_alone(&c);
        model_check_padding(&c, &d);
        model_check_longer(&d);
        tfn_model_free(&c.m);
    }
    model_moved = false;
}

/* -- one plan, every smaller shape --------------------------------------------------------- */

/* Copies the parameters that both have, up to the smaller number of rows (positions). */
static void model_share(const tfn_model *to, const tfn_model *from)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(to, i, &p); i++) {
        const tfn_param_info *q = model_named(from, p.name);
        CHECK(q && q->cols == p.cols && q->rows >= p.rows);
        if (q) memcpy(p.data, q->data, (size_t)(p.rows * p.cols) * sizeof *p.data);
    }
}

static void model_check_shape(model_case *big, const tfn_model_desc *d, int32_t batch, int32_t time,
                              int32_t source)
{
    static model_case small;
    tfn_model_desc e = *d;
    tfn_report one, two;
    tfn_param_info p;
    float *before, *after;
    e.batch = batch;
    e.context = time;
    e.source_context = d->source_context ? source : 0;
    if (tfn_model_new(&small.m, &e, NULL) != TFN_OK) {
        FAIL("%s: no model of %d x %d", model_text(&e), (int)batch, (int)time);
        return;
    }
    model_share(&small.m, &big->m);
    small.m.step = big->m.step;                    /* the same dropout */
    model_fill(&small, &e, batch, time, e.source_context, 5);
    model_fill(big, d, batch, time, e.source_context, 5);
    before = model_logits(&small);
    after = model_logits(big);
    if (memcmp(before, after, model_logit_bytes(&small)))
        FAIL("%s: other logits for %d x %d, %d", model_text(d), (int)batch, (int)time, (int)source);
    CHECK(tfn_model_step(&small.m, &small.batch, &one) == TFN_OK);
    CHECK(tfn_model_step(&big->m, &big->batch, &two) == TFN_OK);
    if (one.loss != two.loss || one.nll != two.nll)
        FAIL("%s: other loss for %d x %d, %d", model_text(d), (int)batch, (int)time, (int)source);
    for (int32_t i = 0; tfn_model_param(&small.m, i, &p); i++) {
        const tfn_param_info *q = model_named(&big->m, p.name);
        if (p.grad && memcmp(p.grad, q->grad, (size_t)(p.rows * p.cols) * sizeof *p.grad))
            FAIL("%s: other gradient of %s for %d x %d, %d", model_text(d), p.name, (int)batch,
                 (int)time, (int)source);
    }
    free(before);
    free(after);
    tfn_model_free(&small.m);
}

TEST(model_shapes)
{
    static model_case c;
    for (int i = 0; i < model_count(); i++) {
        tfn_model_desc d = model_desc(i);
        d.recompute = i % 3 == 0;
        d.threads = HOOK_THREADS(1 + i % 2);
        if (!model_start(&c, &d)) continue;
        model_check_shape(&c, &d, 1, 1, 1);
        model_check_shape(&c, &d, 2, 17, 5);
        model_check_shape(&c, &d, 3, 4, 18);
        model_check_shape(&c, &d, 3, MODEL_T, MODEL_TS);
        tfn_model_free(&c.m);
    }
}

/* -- decoding: one token at a time gives the full forward ------------------------------------ */

typedef struct model_decode { tfn_decoder d; void *mem; } model_decode;

static bool model_decoder(model_decode *x, const tfn_model *m, int32_t batch, int32_t chunk)
{
    size_t scratch = tfn_model_scratch(&m->desc), size;
    void *aside = model_copy(NULL, scratch);
    size = tfn_decoder_size(m, batch, chunk, aside, scratch);
    free(aside);
    x->mem = model_copy(NULL, size);
    memset(x->mem, 0xff, size);                     /* NaN: nothing stale may be read */
    if (size && tfn_decoder_init(&x->d, m, batch, chunk, x->mem, size) == TFN_OK) return true;
    FAIL("%s: no decoder (%d bytes)", model_text(&m->desc), (int)size);
    free(x->mem);
    return false;
}

/* Feeds `time` tokens from `at` on; the logits must be those of the full forward's row. */
static void model_feed(model_decode *x, const model_case *c, const float *full, int32_t at,
                       int32_t time,
                       const int32_t *beam)
{
    int32_t tokens[MODEL_MOST], vocab = c->m.desc.vocab;
    const float *logits;
    for (int32_t b = 0; b < c->batch.batch; b++)
        for (int32_t t = 0; t < time; t++)
            tokens[b*time + t] = c->tokens[b * c->batch.time + at + t];
    logits = tfn_decoder_next(&x->d, tokens, time, beam);
    for (int32_t b = 0; b < c->batch.batch; b++)
        if (!logits || memcmp(logits + b*vocab, model_row(full, c, b, at + time - 1),
                              (size_t)vocab * sizeof *logits))
            FAIL("%s: decoding differs in sentence %d at %d + %d%s", model_text(&c->m.desc), (int)b,
                 (int)at, (int)time, beam ? " after reordering" : "");
}

static void model_check_decode(model_case *c)
{
    static const int32_t chunks[] = { 3, 1, 7, 2, 5 };
    const int32_t time = c->batch.time;
    model_decode x;
    float *full;
    c->batch.lengths = NULL;
    full = model_logits(c);
    if (model_decoder(&x, &c->m, c->batch.batch, 7)) {
        for (int round = 0; round < 2; round++) {            /* twice: start must reset it */
            CHECK(tfn_decoder_start(&x.d, &c->batch) == TFN_OK);
            for (int32_t t = 0; t < time; t++) model_feed(&x, c, full, t, 1, NULL);
        }
        CHECK(tfn_decoder_start(&x.d, &c->batch) == TFN_OK);
        for (int32_t t = 0, i = 0, n; t < time; t += n, i++) {
            n = chunks[i % 5] < time - t ? chunks[i % 5] : time - t;
            model_feed(&x, c, full, t, n, NULL);
        }
        free(x.mem);
    }
    free(full);
}

/* Beams of one source sentence, reordered on the way: each continues another's past. */
static void model_check_beam(model_case *c)
{
    static const int32_t beam[2][MODEL_B] = { { 1, 2, 1 }, { 2, 0, 2 } };
    const int32_t time = c->batch.time, half[2] = { time / 3, time / 2 };
    int32_t past[MODEL_MOST], order[MODEL_B] = { 0, 1, 2 };
    model_decode x;
    float *full;
    /* one source: its keys are not reordered */
    for (int32_t b = 1; b < MODEL_B; b++) {
        memcpy(c->source + b * c->source_time, c->source,
               (size_t)c->source_time * sizeof *c->source);
        c->source_lengths[b] = c->source_lengths[0];
    }
    model_sound(c, &c->m.desc);
    if (!model_decoder(&x, &c->m, MODEL_B, 1)) return;
    CHECK(tfn_decoder_start(&x.d, &c->batch) == TFN_OK);
    for (int32_t t = 0, r = 0; t < time; t++) {
        bool now = r < 2 && t == half[r];
        if (now) {
            memcpy(past, c->tokens, sizeof past);
            for (int32_t b = 0; b < MODEL_B; b++)
                memcpy(c->tokens + b*time, past + beam[r][b] * time, (size_t)t * sizeof *past);
            for (int32_t b = 0; b < MODEL_B; b++)            /* each continues differently */
                c->tokens[b*time + t] = (c->tokens[b*time + t] + order[b]) % MODEL_V;
        }
        full = model_logits(c);
        model_feed(&x, c, full, t, 1, now ? beam[r] : NULL);
        free(full);
        r += now;
    }
    free(x.mem);
}

TEST(model_decoding)
{
    static model_case c;
    for (int i = 0; i < model_count(); i++) {
        tfn_model_desc d = model_desc(i);
        d.threads = HOOK_THREADS(1 + i % 2);
        if (d.arch == TFN_ARCH_ENCODER || (model_norm(&d)->flags & TFN_FLAG_WHOLE)) continue;
        if (!model_start(&c, &d)) continue;
        model_check_decode(&c);
        model_check_beam(&c);
        tfn_model_free(&c.m);
    }
}

#ifndef MODEL_VARIANTS
/* Long sentences, with no size a multiple of 16: training, shapes and decoding once more. */
TEST(model_large)
{
    static model_case c;
    for (int i = 0; i < 3; i += 2) {
        tfn_model_desc d = model_desc(i);
        uint64_t hash;
        d.context = 139;
        d.source_context = d.source_context ? 131 : 0;
        d.width = 44;
        d.ffn = 100;
        d.position = i ? TFN_POSITION_LEARNED : TFN_POSITION_NONE;
        hash = model_steps(&d, 2, NULL);
        d.threads = HOOK_THREADS(2);
        if (model_steps(&d, 2, NULL) != hash) FAIL("%s: 2 threads", model_text(&d));
        for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
            const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
            d.isa = (tfn_isa)isa;
            if (k && k->fma && tfn_kernels_for(TFN_ISA_BEST)->fma
                && model_steps(&d, 2, NULL) != hash)
                FAIL("%s: %s", model_text(&d), k->name);
        }
        d.isa = TFN_ISA_BEST;
        if (!model_start(&c, &d)) continue;
        model_check_alone(&c);
        model_check_shape(&c, &d, 2, 101, 77);
        model_fill(&c, &d, MODEL_B, 139, d.source_context, 3);
        model_check_decode(&c);
        tfn_model_free(&c.m);
    }
}

/* -- training: determinism, micro-batches, clipping, skips --------------------------------- */

static tfn_model_desc model_plain(void)             /* small, without dropout */
{
    tfn_model_desc d = model_desc(0);
    d.dropout = d.attention_dropout = d.activation_dropout = 0;
    d.decay = 0;
    d.clip = 0;
    d.activation = TFN_ACTIVATION_SILU;
    return d;
}

/* -- adaptive input and softmax, in plain double ----------------------------------------------- */

typedef struct model_ends { double input[MODEL_MOST * MODEL_WIDTH],
                            output[MODEL_MOST * MODEL_WIDTH]; }
    model_ends;
static void model_see_ends(void *user, int32_t id, const float *data, ptrdiff_t rows,
                           ptrdiff_t cols, bool backward)
{
    model_ends *e = (model_ends *)user;
    tfn_watched point = tfn_probe_of(id).point;
    double *to = point == TFN_WATCH_EMBEDDING ? e->input
               : point == TFN_WATCH_STACK ? e->output : NULL;
    for (ptrdiff_t i = 0; i < rows * cols && to && !backward; i++) to[i] = (double)data[i];
}

typedef struct model_cluster { float *words, *map; int32_t width, count, first; } model_cluster;
static void model_clusters(model_cluster *x, const tfn_model *m, const char *stack)
{
    const int32_t at[] = { 0, 9, 15, MODEL_V };
    for (int k = 0; k < 3; k++) {
        char name[64];
        const tfn_param_info *p;
        snprintf(name, sizeof name, "%scluster_%d.weight", stack, k);
        p = model_named(m, name);
        CHECK(p && p->cols == MODEL_WIDTH >> 2*k);
        x[k].words = (float *)model_copy(p->data, (size_t)(p->rows * p->cols) * sizeof(float));
        x[k].width = p->cols, x[k].count = p->rows, x[k].first = at[k];
        CHECK_INT(p->rows, at[k + 1] - at[k] + (k ? 0 : 2));
        snprintf(name, sizeof name, "%sproject_%d.weight", stack, k);
        p = model_named(m, name);
        CHECK(p && p->rows == x[k].width && p->cols == MODEL_WIDTH);
        x[k].map = (float *)model_copy(p->data, (size_t)(p->rows * p->cols) * sizeof(float));
    }
}
/* log p of choice v of cluster x, from the stack's output: softmax(E P h). */
static double model_choice(const model_cluster *x, const double *h, int32_t v)
{
    double sum = 0, logit = 0;
    for (int32_t w = 0; w < x->count; w++) {
        double z = 0;
        for (int32_t j = 0; j < x->width; j++)
            for (int32_t c = 0; c < MODEL_WIDTH; c++)
                z += (double)x->words[w * x->width + j] * (double)x->map[j*MODEL_WIDTH + c] * h[c];
        sum += exp(z);
        if (w == v) logit = z;
    }
    return logit - log(sum);
}
static double model_word(const model_cluster *x, const double *h, int32_t v)
{
    int k = v < 9 ? 0 : v < 15 ? 1 : 2;
    return k ? model_choice(x, h, 8 + k) + model_choice(x + k, h, v - x[k].first)
             : model_choice(x, h, v);
}

TEST(model_adaptive)
{
    static model_case c;
    static model_ends ends;
    for (int untied = 0; untied < 2; untied++) {
        tfn_model_desc d = model_plain();
        model_cluster in[3], out[3];
        tfn_report report;
        float *logits;
        double nll = 0;
        d.cutoffs[0] = 9, d.cutoffs[1] = 15;
        d.untied = untied, d.probes = true, d.position = TFN_POSITION_NONE;
        if (!model_start(&c, &d)) return;
        model_clusters(in, &c.m, "");
        model_clusters(out, &c.m, untied ? "decoder." : "");
        CHECK(tfn_model_watch(&c.m, model_see_ends, &ends) == TFN_OK);
        logits = model_logits(&c);
        CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK);
        for (int32_t i = 0; i < c.batch.batch * c.batch.time; i++) {
            int32_t v = c.tokens[i], k = v < 9 ? 0 : v < 15 ? 1 : 2;
            const double *h = ends.output + i*MODEL_WIDTH;
            const int32_t *lengths = c.batch.lengths;
            if (lengths && i % c.batch.time >= lengths[i / c.batch.time]) continue;
            for (int32_t j = 0; j < MODEL_WIDTH; j++) {
                double x = 0;
                for (int32_t w = 0; w < in[k].width; w++)
                    x += (double)in[k].words[(v - in[k].first) * in[k].width + w]
                       * (double)in[k].map[w*MODEL_WIDTH + j];
                CHECK_CLOSE(ends.input[i*MODEL_WIDTH + j], x, 1e-5);
            }
            for (v = 0; v < MODEL_V; v++)
                CHECK_CLOSE((double)logits[i*MODEL_V + v], model_word(out, h, v), 1e-4);
            if (c.targets[i] >= 0) nll -= model_word(out, h, c.targets[i]);
        }
        CHECK_CLOSE(report.nll, nll / (double)report.tokens, 1e-5);
        CHECK(report.loss == report.nll);
        for (int k = 0; k < 3; k++) {
            free(in[k].words), free(in[k].map);
            free(out[k].words), free(out[k].map);
        }
        free(logits);
        tfn_model_free(&c.m);
    }
}

/* -- simulated half precision ------------------------------------------------------------------ */

static bool model_is_half(float x)
{
    double size = fabs((double)x), step = size < ldexp(1, -14) ? ldexp(1, -24) : 0;
    int e;
    if (size > 65504 && isfinite(size)) return false;
    if (!isfinite(size)) return true;
    if (!(step > 0)) {
        frexp(size, &e);
        step = ldexp(1, e - 11);
    }
    return fmod(size, step) <= 0;
}

/* Weights, logits and gradients that are computed with are halves; the parameters are not. */
TEST(model_half)
{
    static model_case c;
    tfn_model_desc d = model_plain();
    tfn_report report;
    const float *logits;
    int whole = 0;
    d.half = true;
    if (!model_start(&c, &d)) return;
    CHECK(c.m.memory.working == c.m.memory.parameters);
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK && report.updated);
    CHECK(report.loss_scale >= 128 && report.loss_scale <= 128);
    for (int64_t i = 0; i < c.m.param_floats; i++) {
        CHECK(model_is_half(c.m.run.params[i]) && model_is_half(c.m.run.grads[i]));
        whole += model_is_half(c.m.params[i]);
    }
    CHECK(whole < c.m.param_floats * 3 / 4);
    logits = tfn_model_logits(&c.m, &c.batch);
    for (size_t i = 0; i < model_logit_bytes(&c) / sizeof *logits; i++)
        CHECK(model_is_half(logits[i]));
    tfn_model_free(&c.m);
}

/* The scale halves where a gradient overflows, and nothing else changes. It doubles after 256
 * updates. At the minimum the step reports it. */
TEST(model_loss_scale)
{
    static model_case c;
    tfn_model_desc d = model_plain();
    tfn_report report;
    uint64_t before;
    float scale;
    d.half = true;
    d.loss_scale = (float)ldexp(1, 40);
    if (!model_start(&c, &d)) return;
    before = tfn_model_hash(&c.m);
    for (scale = d.loss_scale; scale > 64; scale /= 2) {
        CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK);
        CHECK(report.loss_scale >= scale && report.loss_scale <= scale);
        if (!report.skipped) break;
        CHECK(tfn_model_hash(&c.m) == before && !report.step);
    }
    CHECK(scale < d.loss_scale && scale > 64 && report.updated);
    c.m.finite_steps = 254;
    c.m.loss_scale = 64;
    for (int i = 0; i < 3; i++) {
        CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK && report.updated);
        CHECK_CLOSE((double)report.loss_scale, i < 2 ? 64 : 128, 0);
    }
    c.m.params[0] = (float)1e30;                    /* infinite in half */
    c.m.loss_scale = (float)0.0625;
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK && report.skipped);
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_NOT_FINITE && report.skipped);
    tfn_model_free(&c.m);
}

/* -- watching a step --------------------------------------------------------------------------- */

typedef struct model_watch {
    int calls[2][TFN_WATCH_STACK + 1];
    int32_t layers;
    float norm, branch[MODEL_MOST * MODEL_WIDTH], input[MODEL_MOST * MODEL_WIDTH];
    ptrdiff_t wrong;
} model_watch;

/* Post-LN without dropout: z = x + p at every sub-layer, to the bit, and rows of the output have
 * mean 0 and variance 1 as long as gains are 1. */
static void model_see(void *user, int32_t id, const float *data, ptrdiff_t rows, ptrdiff_t cols,
                      bool backward)
{
    model_watch *w = (model_watch *)user;
    tfn_probe_info p = tfn_probe_of(id);
    w->calls[backward][p.point]++;
    if (p.layer > w->layers) w->layers = p.layer;
    if (backward) return;
    if (p.point == TFN_WATCH_INPUT)
        memcpy(w->input, data, (size_t)(rows * cols) * sizeof *data);
    if (p.point == TFN_WATCH_BRANCH)
        memcpy(w->branch, data, (size_t)(rows * cols) * sizeof *data);
    for (ptrdiff_t i = 0; i < rows * cols && p.point == TFN_WATCH_SUM; i++) {
        float z = w->input[i] + w->branch[i];
        w->wrong += data[i] < z || data[i] > z;
    }
    for (ptrdiff_t r = 0; r < rows && p.point == TFN_WATCH_OUTPUT; r++) {
        double sum = 0, squares = 0;
        for (ptrdiff_t c = 0; c < cols; c++) sum += (double)data[r*cols + c];
        for (ptrdiff_t c = 0; c < cols; c++)
            squares += (double)data[r*cols + c] * (double)data[r*cols + c];
        if (squares <= 0) continue;                         /* padding */
        if (fabs(sum) > 1e-4 || fabs(squares / (double)cols - 1) > 1e-2) w->wrong++;
    }
}

TEST(model_watching)
{
    static model_case c;
    static model_watch w;
    tfn_model_desc d = model_plain();
    tfn_report report;
    uint64_t hash;
    d.recipe = "post";
    d.arch = TFN_ARCH_ENCODER_DECODER;
    d.source_context = MODEL_TS;
    d.layers = 2;
    d.decoder_layers = 3;
    d.width = MODEL_WIDTH;
    if (!model_start(&c, &d)) return;
    CHECK(tfn_model_watch(&c.m, model_see, &w) == TFN_NOT_READY);
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK);
    hash = tfn_model_hash(&c.m);
    tfn_model_free(&c.m);
    d.probes = true;
    if (!model_start(&c, &d)) return;
    CHECK(tfn_model_watch(&c.m, model_see, &w) == TFN_OK);
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK && tfn_model_hash(&c.m) == hash);
    for (int point = TFN_WATCH_INPUT; point <= TFN_WATCH_OUTPUT; point++) {
        CHECK_INT(w.calls[0][point], 2*2 + 3*3);
        CHECK_INT(w.calls[1][point], 2*2 + 3*3);
    }
    CHECK_INT(w.calls[0][TFN_WATCH_EMBEDDING], 2);
    CHECK_INT(w.calls[1][TFN_WATCH_STACK], 2);
    CHECK(!w.wrong && w.layers == 2 && !w.calls[0][TFN_WATCH_NONE]);
    CHECK(tfn_model_watch(&c.m, NULL, NULL) == TFN_OK);
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK);
    CHECK_INT(w.calls[0][TFN_WATCH_STACK], 2);
    CHECK(tfn_probe_of(0).point == TFN_WATCH_NONE && tfn_probe_of(-1).point == TFN_WATCH_NONE);
    CHECK(tfn_probe_of(TFN_WATCH_STACK + 1).point == TFN_WATCH_NONE);
    CHECK(tfn_model_step(&c.m, NULL, NULL) == TFN_BAD_BATCH);
    CHECK(tfn_model_watch(&c.m, NULL, NULL) == TFN_OK);     /* a bad batch was an error of the step */
    tfn_model_free(&c.m);
}

TEST(model_deterministic)
{
    tfn_model_desc d = model_desc(3);
    uint64_t hash = model_steps(&d, 4, NULL);
    CHECK(hash == model_steps(&d, 4, NULL));
    CHECK(hash != model_steps(&d, 3, NULL));
    d.seed++;
    CHECK(hash != model_steps(&d, 4, NULL));
}

/* Two micro-batches equal one batch of both, except for rounding; nothing moves before the
 * second. */
TEST(model_micro_batches)
{
    static model_case one, two;
    tfn_model_desc d = model_plain();
    tfn_report whole, first, second;
    tfn_param_info p, q;
    uint64_t hash;
    d.batch = 2;
    if (!model_start(&one, &d)) return;
    d.micro_batches = 2;
    if (!model_start(&two, &d)) return;
    model_share(&two.m, &one.m);
    CHECK(tfn_model_step(&one.m, &one.batch, &whole) == TFN_OK && whole.updated);
    hash = tfn_model_hash(&two.m);
    two.batch.batch = 1;
    CHECK(tfn_model_step(&two.m, &two.batch, &first) == TFN_OK && !first.updated && !first.skipped);
    CHECK(first.step == 0 && two.m.step == 0 && tfn_model_hash(&two.m) == hash);
    two.batch.tokens += d.context;
    two.batch.targets += d.context;
    two.batch.lengths += 1;
    CHECK(tfn_model_step(&two.m, &two.batch, &second) == TFN_OK && second.updated);
    CHECK(second.step == 1 && second.tokens == whole.tokens && first.tokens < whole.tokens);
    CHECK_CLOSE(second.loss, whole.loss, 1e-6);
    CHECK_CLOSE((double)second.grad_norm, (double)whole.grad_norm, 1e-5);
    for (int32_t i = 0; tfn_model_param(&one.m, i, &p) && tfn_model_param(&two.m, i, &q); i++)
        for (int32_t j = 0; j < p.rows * p.cols; j++)
            CHECK_CLOSE((double)q.grad[j], (double)p.grad[j], 1e-5);
    CHECK(tfn_model_hash(&two.m) != hash);
    CHECK(tfn_model_step(&two.m, &two.batch, &first) == TFN_OK && !first.updated);
    CHECK(tfn_model_step(&two.m, &two.batch, &second) == TFN_OK && second.step == 2);
    tfn_model_free(&one.m);
    tfn_model_free(&two.m);
}

/* With plain SGD the update shows the gradient: p -= lr * g/tokens * min(1, c/(norm + 1e-6)). */
TEST(model_clipping)
{
    for (int i = 0; i < 3; i++) {
        static model_case c;
        tfn_model_desc d = model_plain();
        tfn_report report;
        tfn_param_info p;
        double sum = 0, norm, factor, lr = 0.5, clip = i == 1 ? 0.01 : i == 2 ? 1e6 : 0;
        float *before;
        d.optimizer = TFN_OPTIMIZER_SGD;
        d.schedule.lr = (float)lr;
        d.clip = (float)clip;
        if (!model_start(&c, &d)) return;
        before = (float *)model_copy(c.m.run.params, (size_t)c.m.param_floats * sizeof *before);
        CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK && report.updated);
        for (int32_t j = 0; tfn_model_param(&c.m, j, &p); j++)
            for (int32_t k = 0; k < p.rows * p.cols; k++)
                sum += (double)p.grad[k] * (double)p.grad[k];
        norm = sqrt(sum) / (double)report.tokens;
        CHECK_CLOSE((double)report.grad_norm, norm, 1e-6);
        CHECK_CLOSE((double)report.lr, lr, 1e-9);
        factor = clip > 0 && clip < norm ? clip / (norm + 1e-6) : 1;
        if (i == 1) CHECK(factor < 0.5);
        for (int64_t k = 0; k < c.m.param_floats; k++) {
            double wanted = (double)before[k]
                          - lr * factor * (double)c.m.run.grads[k] / (double)report.tokens;
            CHECK_CLOSE((double)c.m.run.params[k], wanted, 1e-6);
        }
        free(before);
        tfn_model_free(&c.m);
    }
}

typedef struct model_state {
    uint64_t hash;
    float   *moments;
    int64_t  step;
    size_t   bytes;
} model_state;

static model_state model_save(const tfn_model *m)
{
    model_state s;
    s.hash = tfn_model_hash(m);
    s.step = m->step;
    s.bytes = (size_t)(2 * m->param_floats) * sizeof(float);
    s.moments = (float *)model_copy(m->moments, s.bytes);
    return s;
}
static bool model_unchanged(const tfn_model *m, model_state s)
{
    bool same = tfn_model_hash(m) == s.hash && m->step == s.step
             && !memcmp(m->moments, s.moments, s.bytes);
    free(s.moments);
    return same;
}

static int32_t model_index(const tfn_model *m, const char *name)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        if (!strcmp(p.name, name)) return i;
    return -1;
}

TEST(model_not_finite_loss)
{
    static model_case c;
    tfn_model_desc d = model_plain();
    for (int micro = 1; micro <= 2; micro++) {
        tfn_report report;
        tfn_param_info p;
        model_state s;
        float kept;
        d.micro_batches = micro;
        if (!model_start(&c, &d)) return;
        for (int i = 0; i < 2 * micro; i++)
            CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK);
        CHECK(report.updated && c.m.step == 2);
        CHECK(tfn_model_param(&c.m, model_index(&c.m, "decoder.0.ffn.w2.weight"), &p));
        kept = p.data[3];
        p.data[3] = (float)NAN;
        s = model_save(&c.m);
        /* the first micro-batch is bad, the second not */
        for (int i = 0; i < micro; i++) {
            CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK);
            if (micro == 2 && i == 0) p.data[3] = kept;
        }
        if (micro == 2) p.data[3] = (float)NAN;
        CHECK(report.skipped && !report.updated && report.culprit == -1 && report.step == 2);
        CHECK(report.loss != report.loss);
        CHECK(model_unchanged(&c.m, s));
        p.data[3] = kept;
        for (int i = 0; i < micro; i++) CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK);
        CHECK(report.updated && !report.skipped && report.step == 3);
        tfn_model_free(&c.m);
    }
}

/* A finite loss with an infinite gradient: huge values into a tiny output matrix. */
TEST(model_not_finite_gradient)
{
    static model_case c;
    tfn_model_desc d = model_plain();
    tfn_report report;
    tfn_param_info gain, out;
    model_state s;
    d.recipe = "pre";
    d.untied = true;
    d.position = TFN_POSITION_NONE;
    if (!model_start(&c, &d)) return;
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK && report.updated);
    CHECK(tfn_model_param(&c.m, model_index(&c.m, "decoder.final_norm.weight"), &gain));
    CHECK(tfn_model_param(&c.m, model_index(&c.m, "output.weight"), &out));
    for (int32_t i = 0; i < gain.cols; i++) gain.data[i] = (float)2e37;
    for (int32_t i = 0; i < out.rows * out.cols; i++) out.data[i] *= (float)1e-37;
    for (int32_t i = 0; i < MODEL_B * MODEL_T; i++) c.tokens[i] = 1, c.targets[i] = 2;
    s = model_save(&c.m);
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK);
    CHECK(report.loss - report.loss >= 0);
    CHECK(report.skipped && !report.updated && report.step == 1);
    CHECK_INT(report.culprit, model_index(&c.m, "output.weight"));
    CHECK(model_unchanged(&c.m, s));
    for (int32_t i = 0; i < gain.cols; i++) gain.data[i] = 1;
    for (int32_t i = 0; i < out.rows * out.cols; i++) out.data[i] *= (float)1e37;
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK && report.updated && report.step == 2);
    tfn_model_free(&c.m);
    strcpy(d.groups[0].pattern, "embedding.weight");        /* it has no gradient to look at */
    d.groups[0].frozen = true;
    if (!model_start(&c, &d)) return;
    CHECK(tfn_model_param(&c.m, model_index(&c.m, "decoder.final_norm.weight"), &gain));
    CHECK(tfn_model_param(&c.m, model_index(&c.m, "output.weight"), &out));
    for (int32_t i = 0; i < gain.cols; i++) gain.data[i] = (float)2e37;
    for (int32_t i = 0; i < out.rows * out.cols; i++) out.data[i] *= (float)1e-37;
    for (int32_t i = 0; i < MODEL_B * MODEL_T; i++) c.tokens[i] = 1, c.targets[i] = 2;
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK && report.skipped);
    CHECK_INT(report.culprit, model_index(&c.m, "output.weight"));
    tfn_model_free(&c.m);
}

/* All targets ignored: no update, and the loss is NaN. The manual's loop that keeps the best model
 * never takes it, because !(loss < best). */
TEST(model_nothing_to_learn)
{
    static model_case c;
    tfn_model_desc d = model_plain();
    tfn_report report;
    model_state s;
    if (!model_start(&c, &d)) return;
    for (int32_t i = 0; i < MODEL_B * MODEL_T; i++) c.targets[i] = -1;
    s = model_save(&c.m);
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK);
    CHECK(!report.updated && report.skipped && report.tokens == 0 && report.step == 0);
    CHECK(report.loss != report.loss && report.nll != report.nll);      /* the mean of no targets */
    CHECK(model_unchanged(&c.m, s));
    CHECK(tfn_model_eval(&c.m, &c.batch, &report) == TFN_OK && report.tokens == 0
          && report.loss != report.loss && report.nll != report.nll);
    tfn_model_free(&c.m);
}

/* Evaluation, logits and decoding change nothing, and the loss equals that of a step without
 * dropout. */
TEST(model_eval_changes_nothing)
{
    static model_case c, plain;
    for (int i = 0; i < 6; i++) {
        tfn_model_desc d = model_desc(i);
        tfn_report eval, step;
        model_state s;
        float *grads;
        size_t bytes;
        if (!model_start(&c, &d)) return;
        CHECK(tfn_model_step(&c.m, &c.batch, &step) == TFN_OK);
        bytes = (size_t)c.m.param_floats * sizeof *grads;
        s = model_save(&c.m);
        grads = (float *)model_copy(c.m.run.grads, bytes);
        CHECK(tfn_model_eval(&c.m, &c.batch, &eval) == TFN_OK);
        CHECK(tfn_model_logits(&c.m, &c.batch) != NULL);
        CHECK(model_unchanged(&c.m, s) && !memcmp(grads, c.m.run.grads, bytes));
        CHECK(!eval.updated && !eval.skipped && eval.step == 1 && eval.tokens == step.tokens);
        tfn_model_free(&c.m);
        free(grads);

        d.dropout = d.attention_dropout = d.activation_dropout = 0;
        if (!model_start(&plain, &d)) return;
        CHECK(tfn_model_eval(&plain.m, &plain.batch, &eval) == TFN_OK);
        CHECK(tfn_model_step(&plain.m, &plain.batch, &step) == TFN_OK);
        CHECK(eval.loss == step.loss && eval.nll == step.nll && eval.tokens == step.tokens);
        CHECK((d.smoothing > 0) == (step.loss != step.nll));
        tfn_model_free(&plain.m);
    }
}

/* Dropout depends on the step: a run resumed at step 3 continues like one without interruption. */
TEST(model_resumed)
{
    static model_case one, two;
    tfn_model_desc d = model_desc(1);
    tfn_report a, b;
    d.optimizer = TFN_OPTIMIZER_RADAM;
    d.schedule.warmup = 4;
    if (!model_start(&one, &d) || !model_start(&two, &d)) return;
    CHECK(d.dropout > 0);
    for (int i = 0; i < 6; i++) {
        CHECK(tfn_model_step(&one.m, &one.batch, &a) == TFN_OK);
        if (i > 2) {
            CHECK(tfn_model_step(&two.m, &two.batch, &b) == TFN_OK && !memcmp(&a, &b, sizeof a));
            continue;
        }
        memcpy(two.m.run.params, one.m.run.params, (size_t)one.m.param_floats * sizeof(float));
        memcpy(two.m.moments, one.m.moments, (size_t)(2 * one.m.param_floats) * sizeof(float));
        two.m.step = one.m.step;
    }
    CHECK(tfn_model_hash(&one.m) == tfn_model_hash(&two.m));
    memcpy(two.m.run.params, one.m.run.params, (size_t)one.m.param_floats * sizeof(float));
    two.m.step = one.m.step + 1;                    /* another step, another mask */
    CHECK(tfn_model_step(&one.m, &one.batch, &a) == TFN_OK);
    CHECK(tfn_model_step(&two.m, &two.batch, &b) == TFN_OK && a.loss != b.loss);
    tfn_model_free(&one.m);
    tfn_model_free(&two.m);
}

/* Each optimizer lowers the loss; decay acts only on matrices; the schedule's first rate is
 * lr/T. */
TEST(model_optimizers)
{
    static const tfn_optimizer kinds[] = { TFN_OPTIMIZER_SGD, TFN_OPTIMIZER_ADAM,
                                           TFN_OPTIMIZER_ADAMW, TFN_OPTIMIZER_RADAM,
                                           TFN_OPTIMIZER_LION, TFN_OPTIMIZER_MUON,
                                           TFN_OPTIMIZER_ADAFACTOR,
                                           TFN_OPTIMIZER_SCHEDULE_FREE };
    static model_case c, with;
    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++) {
        tfn_model_desc d = model_plain();
        tfn_report report;
        tfn_param_info p, q;
        double first = 0;
        d.optimizer = kinds[i];
        d.schedule.lr = i ? (float)3e-3 : (float)0.5;
        d.schedule.warmup = 4;
        d.schedule.kind = TFN_SCHEDULE_INVERSE_SQRT;
        d.beta1 = i ? 0 : (float)0.5;
        if (!model_start(&c, &d)) return;
        d.decay = (float)0.5;
        if (!model_start(&with, &d)) return;
        for (int step = 1; step <= 30; step++) {
            CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK && report.updated);
            if (step == 1) first = report.loss;
            CHECK_CLOSE((double)report.lr,
                        (double)d.schedule.lr * (step <= 4 ? step / 4.0 : 2 / sqrt(step)),
                        1e-6);
            if (step > 1) continue;
            CHECK(tfn_model_step(&with.m, &with.batch, &report) == TFN_OK && report.updated);
            for (int32_t j = 0; tfn_model_param(&c.m, j, &p)
                 && tfn_model_param(&with.m, j, &q); j++) {
                const char *dot = strrchr(p.name, '.');
                bool matrix = !strstr(p.name, "norm") && !strcmp(dot, ".weight");
                bool same = !memcmp(p.data, q.data, (size_t)(p.rows * p.cols) * sizeof *p.data);
                if (p.decay != matrix) FAIL("%s: group %d", p.name, (int)p.decay);
                if (same == matrix) FAIL("%s: decay %s", p.name, same ? "left out" : "applied");
            }
        }
        if (!(report.loss < 0.9 * first)) FAIL("optimizer %d: %g to %g", i, first, report.loss);
        tfn_model_free(&c.m);
        tfn_model_free(&with.m);
    }
}

/* Each optimizer has one result with all threads, recomputation, and instruction sets; in half
 * precision, too. */
TEST(model_optimizer_bits)
{
    for (int kind = TFN_OPTIMIZER_DEFAULT + 1; kind < TFN_OPTIMIZER_COUNT; kind++) {
        tfn_model_desc d = model_plain();
        uint64_t hash;
        d.optimizer = (tfn_optimizer)kind;
        d.width = 24;
        d.ffn = 40;
        d.beta1 = (float)(kind % 2 ? 0.5 : 0);
        d.relative_rate = kind % 2;
        d.schedule.lr = (float)1e-3;
        for (int half = 0; half < 2; half++) {
            d.half = half;
            hash = model_steps(&d, 4, NULL);
            d.recompute = true;
            d.threads = half ? 1 : HOOK_THREADS(3);
            if (model_steps(&d, 4, NULL) != hash) FAIL("optimizer %d, half %d", kind, half);
            d.recompute = false;
            d.threads = 1;
            for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
                const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
                if (!k || k->fma != tfn_kernels_for(TFN_ISA_BEST)->fma) continue;
                d.isa = (tfn_isa)isa;
                if (model_steps(&d, 4, NULL) != hash) FAIL("optimizer %d, %s", kind, k->name);
            }
            d.isa = TFN_ISA_BEST;
        }
    }
}

/* Memory of each optimizer for a parameter: floats of its moments, by the optimizer's row. */
TEST(model_optimizer_memory)
{
    static model_case c;
    for (int kind = TFN_OPTIMIZER_DEFAULT + 1; kind < TFN_OPTIMIZER_COUNT; kind++) {
        tfn_model_desc d = model_plain();
        tfn_param_info p;
        size_t wanted = 0;
        d.optimizer = (tfn_optimizer)kind;
        d.untied = true;
        if (!model_start(&c, &d)) return;
        for (int32_t i = 0; tfn_model_param(&c.m, i, &p); i++) {
            const char *dot = strrchr(p.name, '.');
            const bool matrix = !strstr(p.name, "norm") && !strcmp(dot, ".weight");
            const bool outer = strstr(p.name, "embedding") || strstr(p.name, "position")
                || strstr(p.name, "output");
            const size_t all = (size_t)(p.rows * p.cols + 15) / 16 * 16;
            const size_t sums = (size_t)(p.rows + p.cols + 15) / 16 * 16;
            if (!p.grad) continue;
            if (kind == TFN_OPTIMIZER_SGD) wanted += 0;
            else if (kind == TFN_OPTIMIZER_LION) wanted += all;
            else if (kind == TFN_OPTIMIZER_MUON) wanted += matrix && !outer ? all : 2 * all;
            else if (kind == TFN_OPTIMIZER_ADAFACTOR) wanted += matrix ? sums : all;
            else wanted += 2 * all;
        }
        CHECK_INT(c.m.memory.moments / sizeof(float), wanted);
        tfn_model_free(&c.m);
    }
}

/* -- the caller's memory regions, inference ------------------------------------------------ */

TEST(model_regions)
{
    static model_case c, own;
    tfn_model_desc d = model_desc(5), e;
    tfn_report a, b;
    float *regions[4], *logits;
    size_t floats;
    if (!model_start(&c, &d)) return;
    floats = (size_t)c.m.param_floats;
    for (int i = 0; i < 4; i++)
        regions[i] = (float *)model_copy(NULL, i == 3 ? c.m.memory.workspace
                                                      : 2 * floats * sizeof(float));
    e = d;
    e.parameters = regions[0];
    e.gradients = regions[1];
    e.moments = regions[2];
    e.workspace = regions[3];
    if (!model_start(&own, &e)) return;
    CHECK(own.m.run.params == regions[0] && own.m.run.grads == regions[1]);
    CHECK(own.m.moments == regions[2] && own.m.run.work == regions[3]);
    CHECK(own.m.memory.parameters == 0 && own.m.memory.gradients == 0 && own.m.memory.moments == 0
          && own.m.memory.workspace == 0 && own.m.memory.total < c.m.memory.total / 2);
    for (int i = 0; i < 3; i++) {
        CHECK(tfn_model_step(&c.m, &c.batch, &a) == TFN_OK);
        CHECK(tfn_model_step(&own.m, &own.batch, &b) == TFN_OK && !memcmp(&a, &b, sizeof a));
    }
    CHECK(tfn_model_hash(&c.m) == tfn_model_hash(&own.m));
    logits = model_logits(&c);
    tfn_model_free(&own.m);
    e.inference = true;                             /* parameters in place, maybe in flash */
    e.gradients = e.moments = e.workspace = NULL;
    if (!model_start(&own, &e)) return;
    CHECK(!own.m.run.grads && !own.m.moments && own.m.memory.workspace < c.m.memory.workspace);
    CHECK(tfn_model_hash(&c.m) == tfn_model_hash(&own.m));
    {
        float *again = model_logits(&own);
        CHECK_BITS(logits, again, model_logit_bytes(&c));
        free(again);
    }
    CHECK(tfn_model_step(&own.m, &own.batch, &b) == TFN_NOT_READY);
    for (int i = 0; i < 4; i++) free(regions[i]);
    free(logits);
    tfn_model_free(&c.m);
    tfn_model_free(&own.m);
}

/* -- errors -------------------------------------------------------------------------------- */

typedef struct model_wrong {
    const char *name;
    void (*change)(tfn_model_desc *d);
    tfn_status status;
    const char *words[2];
} model_wrong;

#define MODEL_OF_CLASSES \
    d->arch = TFN_ARCH_ENCODER, d->head = TFN_HEAD_SEQUENCE, d->classes = 2
#define MODEL_WRONG(X)                                                                            \
    X(vocab, d->vocab = 0, TFN_BAD_OPTION, "vocab is 0", "1")                                     \
    X(vocab_large, d->vocab = INT32_MAX, TFN_BAD_OPTION, "vocab is 2147483647", "16777216")       \
    X(context, d->context = 0, TFN_BAD_OPTION, "context is 0", "1")                               \
    X(context_negative, d->context = -5, TFN_BAD_OPTION, "context is -5", "1")                    \
    X(source, d->source_context = -1, TFN_BAD_OPTION, "source_context is -1", "1")                \
    X(cutoff, d->cutoffs[0] = MODEL_V, TFN_BAD_OPTION, "cutoffs[0] is 23", "22")                  \
    X(cutoffs, (d->cutoffs[0] = 9, d->cutoffs[1] = 9), TFN_BAD_OPTION, "cutoffs[1] is 9", "10")   \
    X(cutoffs_alone, d->cutoffs[1] = 9, TFN_BAD_OPTION, "cutoffs[1] is 9", "0")                   \
    X(cutoffs_smoothed, (d->cutoffs[0] = 9, d->smoothing = (float)0.1), TFN_BAD_OPTION,           \
      "cutoffs need a decoder", "smoothing")                                                      \
    X(bands, d->bands = -1, TFN_BAD_OPTION, "bands is -1", "0")                                   \
    X(bands_alone, d->bands = 5, TFN_BAD_OPTION, "bands is 5", "frames need an encoder")          \
    X(bands_words, (d->bands = 5, d->arch = TFN_ARCH_ENCODER), TFN_BAD_OPTION, "has no words",    \
      "another than tokens")                                                                      \
    X(bands_segments, (d->bands = 5, d->segments = 2, MODEL_OF_CLASSES), TFN_BAD_OPTION,          \
      "segments and embedding_size need tokens", "bands is 5")                                  \
    X(bands_embedding, (d->bands = 5, d->embedding_size = 8, MODEL_OF_CLASSES), TFN_BAD_OPTION,   \
      "segments and embedding_size need tokens", "bands is 5")                                  \
    X(positions, (MODEL_OF_CLASSES, d->head = TFN_HEAD_POSITIONS, d->classes = 0),                \
      TFN_BAD_OPTION, "classes is 0", "at least 1")                                               \
    X(positions_decoder, (d->head = TFN_HEAD_POSITIONS, d->classes = 2), TFN_BAD_OPTION,          \
      "a head of positions needs an encoder", "")                                                 \
    X(numbers, (MODEL_OF_CLASSES, d->head = TFN_HEAD_NUMBERS), TFN_BAD_OPTION, "numbers is 0",    \
      "at least 1")                                                                               \
    X(numbers_decoder, (d->head = TFN_HEAD_NUMBERS, d->numbers = 2), TFN_BAD_OPTION,              \
      "a head of numbers needs an encoder", "")                                                   \
    X(numbers_smoothed, (MODEL_OF_CLASSES, d->head = TFN_HEAD_NUMBERS, d->numbers = 2,            \
      d->smoothing = 0.5f), TFN_BAD_OPTION, "neither smoothing nor a loss of your own", "")       \
    X(number_loss, d->number_loss = TFN_NUMBER_LOSS_COUNT, TFN_BAD_OPTION, "number_loss is 2",    \
      "at most 1")                                                                                \
    X(delta, d->delta = -1, TFN_BAD_OPTION, "delta is -1", "0 or at least")                       \
    X(frame_map, d->frame_map = TFN_FRAME_MAP_LINEAR, TFN_BAD_OPTION, "frame_map needs frames",   \
      "bands is 0")                                                                               \
    X(frame_map_large, (d->bands = 5, d->frame_map = TFN_FRAME_MAP_COUNT, MODEL_OF_CLASSES),      \
      TFN_BAD_OPTION, "frame_map is 2", "at most 1")                                              \
    X(width, d->width = -8, TFN_BAD_OPTION, "width is -8", "1")                                   \
    X(layers, d->layers = -1, TFN_BAD_OPTION, "layers is -1", "1")                                \
    X(decoder_layers, d->decoder_layers = 5000, TFN_BAD_OPTION, "decoder_layers is 5000", "4096") \
    X(heads, d->heads = 5, TFN_BAD_OPTION, "width is 16", "heads, 5")                         \
    X(heads_negative, d->heads = -4, TFN_BAD_OPTION, "heads is -4", "1")                          \
    X(kv, d->kv_heads = 3, TFN_BAD_OPTION, "heads, 4", "kv_heads is 3")                       \
    X(kv_more, d->kv_heads = 8, TFN_BAD_OPTION, "kv_heads is 8", "4")                             \
    X(kv_unit, (d->kv_heads = 2, d->qk_norm = TFN_QK_NORM_UNIT), TFN_BAD_OPTION,                  \
      "share their scales",                                                                       \
      "kv_heads is 2")                                                                            \
    X(kv_ngpt, (d->kv_heads = 2, d->recipe = "ngpt"), TFN_BAD_OPTION, "share their scales", "4")  \
    X(rotary, (d->heads = d->kv_heads = 16, d->position = TFN_POSITION_ROTARY), TFN_BAD_OPTION,   \
      "rotary", "1")                                                                              \
    X(ffn, d->ffn = -1, TFN_BAD_OPTION, "ffn is -1", "1")                                         \
    X(segments, d->segments = 2, TFN_BAD_OPTION, "segment", "encoder")                            \
    X(head, d->head = TFN_HEAD_SEQUENCE, TFN_BAD_OPTION, "a head of sequence needs", "encoder")              \
    X(classes, (d->arch = TFN_ARCH_ENCODER, d->head = TFN_HEAD_SEQUENCE, d->classes = 0),         \
      TFN_BAD_OPTION, "classes is 0", "1")                                                        \
    X(arch, d->arch = (tfn_arch)3, TFN_BAD_OPTION, "arch is 3", "2")                              \
    X(activation, d->activation = (tfn_activation_kind)40, TFN_BAD_OPTION, "activation is 40", "") \
    X(position, d->position = (tfn_position_kind)9, TFN_BAD_OPTION, "position is 9", "")          \
    X(optimizer, d->optimizer = (tfn_optimizer)-1, TFN_BAD_OPTION, "optimizer is", "")            \
    X(schedule, d->schedule.kind = (tfn_schedule_kind)30, TFN_BAD_OPTION, "kind is 30", "")       \
    X(smoothing_kind, d->smoothing_kind = (tfn_smoothing)7, TFN_BAD_OPTION, "kind is 7", "")      \
    X(isa, d->isa = (tfn_isa)60, TFN_BAD_OPTION, "isa is 60", "at most")                          \
    X(dropout, d->dropout = 1, TFN_BAD_OPTION, "dropout", "below 1")                              \
    X(dropout_nan, d->dropout = (float)NAN, TFN_BAD_OPTION, "dropout", "not a number")            \
    X(attention_dropout, d->attention_dropout = -1, TFN_BAD_OPTION, "attention_dropout", "least") \
    X(activation_dropout, d->activation_dropout = 2, TFN_BAD_OPTION, "activation_drop", "below")  \
    X(norm_factor, d->norm_factor = -1, TFN_BAD_OPTION, "norm_factor", "0 or at least")       \
    X(norm_factor_nan, d->norm_factor = (float)NAN, TFN_BAD_OPTION, "norm_factor", "not a num") \
    X(smoothing, d->smoothing = 1, TFN_BAD_OPTION, "smoothing", "below 1")                        \
    X(beta1, d->beta1 = 1, TFN_BAD_OPTION, "beta1", "below 1")                                    \
    X(beta2, d->beta2 = 1, TFN_BAD_OPTION, "beta2", "below 1")                                    \
    X(batch, d->batch = -3, TFN_BAD_OPTION, "batch is -3", "1")                                   \
    X(threads, d->threads = 5000, TFN_BAD_OPTION, "threads is 5000", "1024")                      \
    X(micro, d->micro_batches = -1, TFN_BAD_OPTION, "micro_batches is -1", "1")                   \
    X(recipe, d->recipe = "sideways", TFN_NOT_FOUND, "recipe", "called sideways")             \
    X(norm, d->norm = "layrnorm", TFN_NOT_FOUND, "norm", "did you mean layernorm?")           \
    X(init, d->init = "zeros", TFN_NOT_FOUND, "initialization", "called zeros")

#define MODEL_CHANGE(name, change, status, a, b)                                                  \
    static void model_set_##name(tfn_model_desc *d) { (void)(change); }
#define MODEL_WRONG_ROW(name, change, status, a, b) { #name, model_set_##name, status, { a, b } },
MODEL_WRONG(MODEL_CHANGE)
static const model_wrong model_wrongs[] = { MODEL_WRONG(MODEL_WRONG_ROW) };

TEST(model_bad_options)
{
    static char scratch[1 << 20];
    for (size_t i = 0; i < sizeof model_wrongs / sizeof *model_wrongs; i++) {
        const model_wrong *wrong = model_wrongs + i;
        tfn_model_desc d = model_plain(), resolved;
        const tfn_batch none = { NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0 };
        tfn_report report;
        tfn_error e;
        tfn_model m;
        char text[200];
        wrong->change(&d);
        if (tfn_model_resolve(&resolved, &d, &e) || e.status != wrong->status) {
            FAIL("%s: status %d", wrong->name, (int)e.status);
            continue;
        }
        tfn_error_text(&e, text, sizeof text);
        for (int j = 0; j < 2; j++)
            if (!strstr(text, wrong->words[j]))
                FAIL("%s: \"%s\" lacks \"%s\"", wrong->name, text, wrong->words[j]);
        CHECK(tfn_model_scratch(&d) == 0);
        CHECK(tfn_model_size(&d, scratch, sizeof scratch) == 0);
        CHECK(tfn_model_new(&m, &d, NULL) == wrong->status && m.error.status == wrong->status);
        CHECK(!tfn_model_logits(&m, &none) && tfn_model_step(&m, &none, &report) == wrong->status);
        tfn_model_free(&m);
        CHECK(tfn_model_init(&m, &d, scratch, sizeof scratch) == wrong->status);
    }
    {
        /* the error is optional, zeros are legal */
        tfn_model_desc d = model_plain(), resolved;
        tfn_error e;
        CHECK(tfn_model_resolve(&resolved, &d, NULL));
        memset(&d, 0, sizeof d);
        d.vocab = d.context = 10;
        CHECK(tfn_model_resolve(&resolved, &d, &e) && e.status == TFN_OK);
        CHECK(resolved.width == 64 && resolved.layers == 2 && resolved.heads == 2
              && resolved.ffn == 256);
        CHECK(!strcmp(resolved.recipe, "pre") && resolved.topology == tfn_topology_find("pre"));
        d = resolved;                                       /* resolving again changes nothing */
        CHECK(tfn_model_resolve(&resolved, &d, &e) && !memcmp(&d, &resolved, sizeof d));
    }
}

typedef struct model_bad { const char *name, *words[2]; } model_bad;

/* Each batch is wrong in one way: it is refused with a message, changes nothing, and the next
 * works. */
TEST(model_bad_batches)
{
    static const model_bad bad[] = {
        { "sentences", { "4 sentences", "limit is 3" } }, { "none", { "0 sentences", "" } },
        { "tokens", { "no tokens", "" } }, { "targets", { "no targets", "" } },
        { "time", { "time is 22", "limit is 21" } }, { "no time", { "time is 0", "" } },
        { "length", { "length is 22", "21 positions" } },
        { "negative length", { "length is -1", "" } },
        { "token", { "token is 23", "has 23" } }, { "negative token", { "token is -1", "" } },
        { "target", { "target is 23", "23" } }, { "source", { "source tokens", "" } },
        { "source time", { "source time is 20", "19" } },
        { "source token", { "source token is 99", "23" } },
        { "source length", { "length is 20", "19" } } };
    static model_case c;
    tfn_model_desc d = model_desc(2);
    tfn_report report;
    model_state s;
    char text[200];
    if (!model_start(&c, &d)) return;
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK);
    s = model_save(&c.m);
    for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
        tfn_batch batch = c.batch;
        int32_t tokens[MODEL_MOST], targets[MODEL_MOST], source[MODEL_MOST];
        int32_t lengths[MODEL_B] = { 1, 1, 1 };
        memcpy(tokens, c.tokens, sizeof tokens);
        memcpy(targets, c.targets, sizeof targets);
        memcpy(source, c.source, sizeof source);
        batch.tokens = tokens;
        batch.targets = targets;
        batch.source = source;
        if (i == 0) batch.batch = 4;
        if (i == 1) batch.batch = 0;
        if (i == 2) batch.tokens = NULL;
        if (i == 3) batch.targets = NULL;
        if (i == 4) batch.time = 22;
        if (i == 5) batch.time = 0;
        if (i == 6) lengths[2] = 22;
        if (i == 7) lengths[2] = -1;
        if (i == 6 || i == 7) batch.lengths = lengths;
        if (i == 8) tokens[41] = 23;                    /* the end of the full sentence */
        if (i == 9) tokens[0] = -1;
        if (i == 10) targets[41] = 23;
        if (i == 11) batch.source = NULL;
        if (i == 12) batch.source_time = 20;
        if (i == 13) source[37] = 99;
        if (i == 14) lengths[0] = 20, batch.source_lengths = lengths;
        if (tfn_model_step(&c.m, &batch, &report) != TFN_BAD_BATCH) FAIL("%s: taken", bad[i].name);
        tfn_error_text(&c.m.error, text, sizeof text);
        for (int j = 0; j < 2; j++)
            if (!strstr(text, bad[i].words[j]))
                FAIL("%s: \"%s\" lacks \"%s\"", bad[i].name, text, bad[i].words[j]);
        if (i != 3) CHECK(!tfn_model_logits(&c.m, &batch) || i == 10);
        CHECK(tfn_model_eval(&c.m, &batch, &report) == TFN_BAD_BATCH);
        CHECK(tfn_model_eval(&c.m, &c.batch, &report) == TFN_OK && c.m.error.status == TFN_OK);
    }
    CHECK(model_unchanged(&c.m, s));
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK && report.updated);
    tfn_model_free(&c.m);
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_NOT_READY);    /* it was freed */
    CHECK(!tfn_model_logits(&c.m, &c.batch));
}

/* Frames for a source, or for an encoder without decoder. Too few for a position count as
 * silence. */
static void model_check_frames(const tfn_model_desc *d)
{
    static model_case c;
    const bool alone = d->arch == TFN_ARCH_ENCODER, linear = d->frame_map == TFN_FRAME_MAP_LINEAR;
    const int32_t most = model_frames(d, alone ? d->context : d->source_context);
    tfn_report report;
    char text[200], words[100];
    if (!model_start(&c, d)) return;
    for (int i = 0; i < 5; i++) {
        tfn_batch batch = c.batch;
        int32_t lengths[MODEL_B] = { 7, most, 3 };
        int32_t *time = alone ? &batch.time : &batch.source_time;
        CHECK_INT(*time, most);
        if (linear && i == 1) continue;
        if (i == 0) batch.frames = NULL;
        if (i == 1) *time = most - 3;
        if (i == 2) *time = most + 4;
        if (i > 2) lengths[1] = i == 3 ? most + 1 : -1;
        if (alone) batch.lengths = lengths;
        else batch.source_lengths = lengths;
        if (i == 0) snprintf(words, sizeof words, "there are no frames");
        if (i == 1) snprintf(words, sizeof words, "%d frames, but the number must be 4 n + 3", (int)*time);
        if (i == 2) snprintf(words, sizeof words, "%d frames, the limit is %d", (int)*time, (int)most);
        if (i > 2) snprintf(words, sizeof words, "a length is %d", (int)lengths[1]);
        if (tfn_model_step(&c.m, &batch, &report) != TFN_BAD_BATCH) FAIL("%s: taken", words);
        tfn_error_text(&c.m.error, text, sizeof text);
        if (!strstr(text, words)) FAIL("\"%s\" lacks \"%s\"", text, words);
        lengths[1] = most;
        batch.frames = c.frames, *time = most;
        CHECK(tfn_model_step(&c.m, &batch, &report) == TFN_OK && report.updated);
    }
    tfn_model_free(&c.m);
}

TEST(model_bad_frames)
{
    for (int i = 5; i < 9; i++) {
        const tfn_model_desc d = model_desc(i);
        CHECK(d.bands > 0);
        model_check_frames(&d);
    }
}

/* A head of numbers requires them, but none of its sentences needs to know all. The loss is the
 * mean over known ones; without any, the update is skipped. */
TEST(model_numbers)
{
    static model_case c;
    const tfn_model_desc d = model_desc(11);
    tfn_report report;
    char text[200];
    double sum = 0;
    int count = 0;
    if (!model_start(&c, &d)) return;
    c.batch.numbers = NULL;
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_BAD_BATCH);
    CHECK(strstr(tfn_error_text(&c.m.error, text, sizeof text), "no numbers to learn"));
    c.batch.numbers = c.numbers;
    for (int i = 0; i < MODEL_B * MODEL_NUMBERS; i++) {
        const float e = tfn_model_logits(&c.m, &c.batch)[i] - c.numbers[i];
        const double size = fabs((double)e);
        if (e != e) continue;
        sum += size <= 0.5 ? size * size / 2 : 0.5 * (size - 0.25);
        count++;
    }
    CHECK(tfn_model_eval(&c.m, &c.batch, &report) == TFN_OK);
    CHECK(count == 7 && report.tokens == count);
    CHECK_CLOSE(report.loss, sum / count, 1e-6);
    CHECK_CLOSE(report.nll, sum / count, 1e-6);
    for (int i = 0; i < MODEL_B * MODEL_NUMBERS; i++) c.numbers[i] = (float)NAN;
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK && report.skipped && !report.tokens);
    c.numbers[2] = (float)INFINITY;
    CHECK(tfn_model_step(&c.m, &c.batch, &report) == TFN_OK && report.skipped);
    tfn_model_free(&c.m);
}

/* An encoder of frames has no words: no vocabulary, no embedding. */
TEST(model_frames_alone)
{
    tfn_model m;
    tfn_model_desc d = model_desc(7);
    d.vocab = 0;
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
    CHECK(!model_named(&m, "embedding.weight"));
    CHECK(model_named(&m, "encoder.frames.weight") && model_named(&m, "encoder.frames.bias"));
    tfn_model_free(&m);
}

TEST(model_bad_segments)
{
    static model_case c;
    tfn_model_desc d = model_desc(4);
    tfn_report report;
    CHECK(d.arch == TFN_ARCH_ENCODER && d.segments == 3);
    if (!model_start(&c, &d)) return;
    c.segments[26] = 3;
    CHECK(tfn_model_eval(&c.m, &c.batch, &report) == TFN_BAD_BATCH);
    c.segments[26] = 2;
    CHECK(tfn_model_eval(&c.m, &c.batch, &report) == TFN_OK);
    c.batch.segments = NULL;                                /* none: segment 0 */
    CHECK(tfn_model_eval(&c.m, &c.batch, &report) == TFN_OK);
    tfn_model_free(&c.m);
}

/* A decoder refuses what does not fit, and continues unaffected. */
TEST(model_bad_decoding)
{
    static model_case c;
    tfn_model_desc d = model_desc(2);
    int32_t tokens[MODEL_MOST], beam[MODEL_B] = { 0, 1, 3 };
    tfn_batch wrong;
    model_decode x;
    float *full;
    char text[200];
    if (!model_start(&c, &d)) return;
    memcpy(tokens, c.tokens, sizeof tokens);
    c.batch.lengths = NULL;
    full = model_logits(&c);
    wrong = c.batch;
    wrong.source_time = 20;
    if (!model_decoder(&x, &c.m, MODEL_B, 2)) return;
    CHECK(!tfn_decoder_next(&x.d, tokens, 1, NULL) && x.d.error.status == TFN_BAD_BATCH);
    tfn_error_text(&x.d.error, text, sizeof text);
    CHECK(strstr(text, "tfn_decoder_start") != NULL);
    CHECK(tfn_decoder_start(&x.d, NULL) == TFN_BAD_BATCH);
    CHECK(tfn_decoder_start(&x.d, &wrong) == TFN_BAD_BATCH);
    wrong = c.batch;
    wrong.batch = MODEL_B + 1;
    CHECK(tfn_decoder_start(&x.d, &wrong) == TFN_BAD_BATCH);
    tfn_error_text(&x.d.error, text, sizeof text);
    CHECK(strstr(text, "4 source sentences, the limit is 3") != NULL);
    CHECK(tfn_decoder_start(&x.d, &c.batch) == TFN_OK);
    for (int32_t t = 0; t < MODEL_T; t++) {
        model_feed(&x, &c, full, t, 1, NULL);
        CHECK(!tfn_decoder_next(&x.d, tokens, 3, NULL));
        tfn_error_text(&x.d.error, text, sizeof text);
        CHECK(strstr(text, "3 tokens") && strstr(text, "limit is 2"));
        CHECK(!tfn_decoder_next(&x.d, tokens, 0, NULL));
        CHECK(!tfn_decoder_next(&x.d, tokens, 1, beam));
        tokens[1] = MODEL_V;
        CHECK(!tfn_decoder_next(&x.d, tokens, 1, NULL));
        tokens[1] = 0;
        CHECK(tfn_decoder_start(&x.d, &wrong) == TFN_BAD_BATCH);
    }
    CHECK(!tfn_decoder_next(&x.d, tokens, 1, NULL) && x.d.error.status == TFN_BAD_BATCH);
    tfn_error_text(&x.d.error, text, sizeof text);
    CHECK(strstr(text, "room for 0") != NULL);
    free(x.mem);
    free(full);
    tfn_model_free(&c.m);
    d = model_desc(1);                                      /* an encoder cannot decode */
    if (!model_start(&c, &d)) return;
    CHECK(tfn_decoder_size(&c.m, 1, 1, c.tokens, sizeof c.tokens) == 0);
    CHECK(tfn_decoder_init(&x.d, &c.m, 1, 1, tokens, sizeof tokens) == TFN_BAD_OPTION);
    tfn_model_free(&c.m);
}

/* Sizes are exact for a deep encoder with a shallow decoder, both the model's and its decoder's, in
 * which the first tape then needs more room than the second. */
TEST(model_almost_fits)
{
    static model_case c;
    tfn_model_desc d = model_desc(2);
    size_t scratch, size[2];
    unsigned char *block;
    d.layers = 40;
    d.decoder_layers = 1;
    if (!model_start(&c, &d)) return;
    scratch = tfn_model_scratch(&d);
    block = (unsigned char *)model_copy(NULL, scratch);
    size[0] = tfn_model_size(&d, block, scratch);
    size[1] = tfn_decoder_size(&c.m, MODEL_B, 2, block, scratch);
    free(block);
    for (int i = 0; i < 8; i++) {
        const size_t less = (size_t)(i / 2) * 21;
        char text[200], wanted[100];
        tfn_error e;
        tfn_model m;
        tfn_decoder x;
        CASE("%s, %d bytes less", i % 2 ? "decoder" : "model", (int)less);
        block = (unsigned char *)model_copy(NULL, size[i % 2] - less);
        if (i % 2) tfn_decoder_init(&x, &c.m, MODEL_B, 2, block, size[1] - less), e = x.error;
        else tfn_model_init(&m, &d, block, size[0] - less), e = m.error;
        free(block);
        CHECK_INT(e.status, less ? TFN_NO_MEMORY : TFN_OK);
        snprintf(wanted, sizeof wanted, "memory: the block has %llu bytes, but at least %llu",
                 (unsigned long long)(size[i % 2] - less - 63),
                 (unsigned long long)(size[i % 2] - 63));
        tfn_error_text(&e, text, sizeof text);
        if (less && !strstr(text, wanted)) FAIL("%s, not %s", text, wanted);
    }
    tfn_model_free(&c.m);
}

/* A model for inference refuses a profile, and one for decoders only refuses logits. */
TEST(model_not_for_this)
{
    static model_case c;
    tfn_model_desc d = model_plain();
    tfn_param_info p;
    tfn_model m;
    char text[200];
    if (!model_start(&c, &d)) return;
    CHECK(!tfn_model_param(&c.m, -1, &p) && !tfn_model_param(&c.m, c.m.weight_count, &p));
    d.inference = true;
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
    CHECK_INT(tfn_model_profile(&m, &c.batch), TFN_NOT_READY);
    CHECK(strstr(tfn_error_text(&m.error, text, sizeof text), "inference cannot profile") != NULL);
    tfn_model_free(&m);
    d.only_decoders = true;
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
    CHECK(!tfn_model_logits(&m, &c.batch) && m.error.status == TFN_BAD_BATCH);
    CHECK(strstr(tfn_error_text(&m.error, text, sizeof text), "only_decoders is set") != NULL);
    tfn_model_free(&m);
    tfn_model_free(&c.m);
}

/* -- initial values ------------------------------------------------------------------------ */

typedef struct model_spread { double std, bound; } model_spread;    /* bound 0: none */

/* The expected spread of a class of matrices under a rule: Glorot's variance 2/(in + out) =
 * bound^2/3, PyTorch's U(+-1/sqrt(in)), GPT-2's 0.02 with W_O and W_2 divided by sqrt(2L), BERT's
 * 0.02 cut at two deviations. */
static model_spread model_expected(const tfn_param_info *p, const char *init, int32_t layers)
{
    /* deviation of a normal between -2 and 2: 1 - 4 phi(2)/(2 Phi(2) - 1) */
    const double cut = 0.879626;
    bool table = strstr(p->name, "embedding.weight") || strstr(p->name, "position")
              || strstr(p->name, "segment");
    bool last = strstr(p->name, ".o.") || strstr(p->name, ".w2.");
    double fans = p->rows + p->cols;
    model_spread s = { 0, 0 };
    if (!strcmp(init, "gpt2")) s.std = last ? 0.02 / sqrt(2.0 * layers) : 0.02;
    else if (!strcmp(init, "truncated")) s.std = 0.02 * cut, s.bound = 0.04;
    else if (!strcmp(init, "framework")) {
        s.std = table ? 1 / sqrt((double)p->cols) : sqrt(1.0 / (3 * p->rows));
        s.bound = table ? 0 : sqrt(1.0 / p->rows);
    } else {
        s.std = table ? 1 / sqrt((double)p->cols) : sqrt(2 / fans);
        s.bound = !table && !strcmp(init, "xavier-uniform") ? sqrt(6 / fans) : 0;
    }
    return s;
}

static void model_check_spread(const tfn_param_info *p, const char *init, model_spread wanted)
{
    double n = (double)p->rows * p->cols, sum = 0, squares = 0, most = 0, mean, std;
    for (int32_t i = 0; i < p->rows * p->cols; i++) {
        double x = (double)p->data[i];
        sum += x;
        squares += x * x;
        most = fabs(x) > most ? fabs(x) : most;
    }
    mean = sum / n;
    std = sqrt(squares / n - mean * mean);
    if (!(fabs(mean) <= 5 * wanted.std / sqrt(n))) FAIL("%s %s: mean %g", init, p->name, mean);
    if (!(fabs(std / wanted.std - 1) <= 4 / sqrt(2 * n)))
        FAIL("%s %s: deviation %g, not %g", init, p->name, std, wanted.std);
    if (wanted.bound > 0 && !(most <= wanted.bound * 1.0001 && most >= wanted.bound * 0.97))
        FAIL("%s %s: up to %g, not %g", init, p->name, most, wanted.bound);
    if (wanted.bound <= 0 && !(most >= 3 * wanted.std)) FAIL("%s %s: no tail", init, p->name);
}

static void model_check_start(const tfn_model *m, const char *init)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        const char *dot = strrchr(p.name, '.');
        bool norm = strstr(p.name, "norm") != NULL, gain = norm && !strcmp(dot, ".weight");
        bool bias = !strcmp(dot, ".bias"), fan = !strcmp(init, "framework");
        if (!gain && !bias) model_check_spread(&p, init, model_expected(&p, init, m->desc.layers));
        for (int32_t j = 0; j < p.cols && (gain || bias); j++) {
            double x = (double)p.data[j], in = strstr(p.name, ".w2.") ? m->desc.ffn : m->desc.width;
            if (gain ? x < 1 || x > 1 : fan && !norm ? !(fabs(x) <= 1 / sqrt(in) && fabs(x) > 0)
                                                     : x < 0 || x > 0)
                FAIL("%s %s[%d]: %g", init, p.name, (int)j, x);
        }
    }
}

TEST(model_initial_values)
{
    static const char *const inits[] = { "xavier", "xavier-uniform", "gpt2", "framework",
                                         "truncated" };        /* all of them: test_inits.c */
    for (int i = 0; i < 5; i++)
        for (int arch = 0; arch < 2; arch++) {
            static model_case c;
            const char *init = inits[i];
            tfn_model_desc d;
            memset(&d, 0, sizeof d);
            d.arch = arch ? TFN_ARCH_ENCODER : TFN_ARCH_DECODER;
            d.vocab = 150;
            d.context = 100;
            d.width = 72;
            d.heads = 4;
            d.kv_heads = 2;
            d.ffn = 160;
            d.layers = 3;
            d.segments = arch ? 60 : 0;
            d.head = arch ? TFN_HEAD_SEQUENCE : TFN_HEAD_TOKENS;
            d.classes = arch ? 64 : 0;
            d.untied = true;
            d.activation = TFN_ACTIVATION_SWIGLU;
            d.init = init;
            d.seed = 3;
            d.inference = true;
            if (tfn_model_new(&c.m, &d, NULL) != TFN_OK) FAIL("%s: no model", init);
            else model_check_start(&c.m, init);
            tfn_model_free(&c.m);
        }
    CHECK(!tfn_init_at(-1) && !tfn_init_find("no such") && !tfn_topology_find("no such"));
    CHECK(!tfn_topology_at(-1) && !tfn_topology_find(NULL) && tfn_topology_at(0));
}
#endif
#endif

int main(void)
{
#ifdef MODEL_VARIANTS
    if (check_tier() < 2) printf("  left out: two of three stacks of each recipe\n");
#endif
    RUN(model_folding);
#ifdef TFN__DOUBLE
    RUN(model_gradients);
#else
    RUN(model_training_bits);
    RUN(model_properties);
    RUN(model_shapes);
    RUN(model_decoding);
#ifndef MODEL_VARIANTS
    RUN(model_large);
    RUN(model_adaptive);
    RUN(model_half);
    RUN(model_watching);
    RUN(model_loss_scale);
    RUN(model_deterministic);
    RUN(model_micro_batches);
    RUN(model_clipping);
    RUN(model_not_finite_loss);
    RUN(model_not_finite_gradient);
    RUN(model_nothing_to_learn);
    RUN(model_eval_changes_nothing);
    RUN(model_resumed);
    RUN(model_optimizers);
    RUN(model_optimizer_bits);
    RUN(model_optimizer_memory);
    RUN(model_regions);
    RUN(model_bad_options);
    RUN(model_bad_batches);
    RUN(model_bad_frames);
    RUN(model_frames_alone);
    RUN(model_numbers);
    RUN(model_bad_segments);
    RUN(model_bad_decoding);
    RUN(model_almost_fits);
    RUN(model_not_for_this);
    RUN(model_initial_values);
#endif
#endif
    return DONE();
}
