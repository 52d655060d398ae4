/* Every public function except kernels, with each of its pointers NULL and each object zeroed: the
 * result must be an error, or what its comment says. The list is compared with the declarations. */
#include "../folders.h"
#include "../header.h"

enum { NULLS_ROOM = 1 << 21, NULLS_V = 7 };

/* The arguments of the calls, made anew for each: a decoder's model and objects made from it, a
 * tape that is being recorded and one that is planned, a tokenizer, an open file. */
static struct {
    tfn_model_desc desc;
    tfn_model m, folded, packed;
    tfn_decoder d;
    tfn_generate_desc generate;
    tfn_generator g;
    tfn_tokenizer_desc words;
    tfn_trainer ran, t;
    tfn_tokenizer_source source;
    tfn_tokenizer k;
    tfn_file f, to;
    tfn_tensor tensor;
    tfn_tape tape, planned;
    tfn_run run;
    tfn_var x, w, one, column;
    tfn_batch batch;
    tfn_report report;
    tfn_sums sums;
    tfn_update_args update;
    tfn_error error;
    tfn_bleu bleu;
    tfn_rouge rouge;
    tfn_edits edits;
    tfn_accuracy accuracy;
    tfn_param_info info;
    tfn_custom_op custom;
    tfn_norm_args like;
    tfn_place place;
    tfn_schedule schedule;
    tfn_checkpoint with;
    tfn_import import;
    tfn_export outgoing;
    char folder[80];
    tfn_model_desc empty;
    int64_t step, ids[1];
    float values[64];
    char text[300];
    size_t bytes;
    tfn_flash flash;
} nulls;

static const int32_t nulls_tokens[] = { 1, 2, 3, 4 };
static const char *const nulls_references[] = { "a b" };
static unsigned char nulls_block[24][NULLS_ROOM / 4], nulls_saved[NULLS_ROOM / 4];
static float nulls_region[4096];

enum { NULLS_PAGE = 4096, NULLS_PAGES = 64 };
static unsigned char nulls_pages[2 * NULLS_PAGES][NULLS_PAGE];
static double nulls_work[NULLS_PAGE / sizeof(double)];

static bool nulls_read(void *user, int32_t page, void *to)
{
    (void)user;
    memcpy(to, nulls_pages[page], NULLS_PAGE);
    return true;
}

static bool nulls_write(void *user, int32_t page, const void *from)
{
    (void)user;
    memcpy(nulls_pages[page], from, NULLS_PAGE);
    return true;
}

static void nulls_make_flash(void)
{
    nulls.flash.page = NULLS_PAGE;
    nulls.flash.pages = NULLS_PAGES;
    nulls.flash.work = nulls_work;
    nulls.flash.read = nulls_read;
    nulls.flash.write = nulls_write;
}

static void nulls_custom_forward(const tfn_custom_args *a) { a->y[0] = a->x[0][0]; }

static void nulls_make_tapes(void)
{
    tfn_tape *t = &nulls.tape;
    for (int i = 0; i < 2; i++, t = &nulls.planned) {
        tfn_tape_init(t, nulls_block[10 + i], sizeof nulls_block[0], 1, 0, 1, true);
        nulls.custom.forward = nulls_custom_forward;
        nulls.custom.name = "custom";
        t->custom = &nulls.custom;
        t->customs = 1;
        nulls.w = tfn_param(t, 4, 4);
        nulls.one = tfn_param(t, 1, 4);
        nulls.x = tfn_embedding(t, nulls.w, 0, TFN_ROWS_TARGET, 1);
        nulls.column = tfn_embedding(t, tfn_param(t, 4, 1), 0, TFN_ROWS_TARGET, 1);
    }
    tfn_cross_entropy(&nulls.planned, nulls.x, TFN_INT_TARGETS, 0, 0);
    CHECK(tfn_tape_plan(&nulls.planned, tfn_kernels_for(TFN_ISA_BEST), 1) == TFN_OK);
    nulls.run.batch = nulls.run.target = 1;
    nulls.run.params = nulls_region;
    nulls.run.grads = nulls_region + 512;
    nulls.run.work = nulls_region + 1024;
    nulls.run.ints[TFN_INT_TARGETS] = nulls_tokens;
    CHECK(nulls.planned.work < 3000);
}

static void nulls_make_tokenizer(void)
{
    nulls.words.kind = TFN_TOKENIZER_WORDS;
    nulls.words.words = 100;
    tfn_trainer_init(&nulls.t, &nulls.words, nulls_block[5], sizeof nulls_block[5]);
    tfn_trainer_init(&nulls.ran, &nulls.words, nulls_block[6], sizeof nulls_block[6]);
    tfn_trainer_add(&nulls.ran, "a b c", 5);
    CHECK(tfn_trainer_run(&nulls.ran) == TFN_OK);
    nulls.source.trainer = &nulls.ran;
    CHECK(tfn_tokenizer_init(&nulls.k, &nulls.source, nulls_block[7], sizeof nulls_block[7])
          == TFN_OK);
}

static void nulls_make(void)
{
    tfn_model_desc folded;
    memset(&nulls, 0, sizeof nulls);
    nulls.edits.length = 1;             /* a score of no references is NaN */
    nulls.desc.vocab = NULLS_V;
    nulls.desc.context = 8;
    nulls.desc.width = 8;
    nulls.desc.layers = 1;
    nulls.desc.threads = 1;
    nulls.desc.probes = true;
    nulls.desc.ema = 0.5f;
    CHECK(tfn_model_init(&nulls.m, &nulls.desc, nulls_block[0], sizeof nulls_block[0]) == TFN_OK);
    folded = nulls.desc;
    folded.inference = folded.folded = true;
    CHECK(tfn_model_init(&nulls.folded, &folded, nulls_block[1], sizeof nulls_block[1]) == TFN_OK);
    folded.folded = false;
    folded.weights = TFN_WEIGHTS_Q8;
    CHECK(tfn_model_init(&nulls.packed, &folded, nulls_block[20], sizeof nulls_block[20])
          == TFN_OK);
    CHECK(tfn_decoder_init(&nulls.d, &nulls.m, 1, 4, nulls_block[2], sizeof nulls_block[2])
          == TFN_OK);
    CHECK(tfn_generator_init(&nulls.g, &nulls.m, &nulls.generate, nulls_block[3],
                             sizeof nulls_block[3]) == TFN_OK);
    nulls.batch.tokens = nulls.batch.targets = nulls_tokens;
    nulls.batch.batch = 1;
    nulls.batch.time = 4;
    nulls_make_tokenizer();
    snprintf(nulls.folder, sizeof nulls.folder, "%s", folders_path("hub", "llama", NULL));
    nulls.import.folder = nulls.folder;
    nulls.outgoing.config = &nulls.to;
    nulls.to.to = nulls_saved;
    nulls.to.to_size = sizeof nulls_saved;
    nulls.with.tokenizer = &nulls.k;
    CHECK(tfn_model_save(&nulls.to, &nulls.m, &nulls.with) == TFN_OK);
    nulls.f.from = nulls_saved;
    nulls.f.from_size = (size_t)nulls.to.used;
    CHECK(tfn_file_open(&nulls.f) == TFN_OK);
    CHECK(tfn_file_tensor(&nulls.f, 0, &nulls.tensor));
    nulls.tensor.count = 1;
    nulls_make_tapes();
    nulls_make_flash();
}

/* -- the calls --------------------------------------------------------------------------------- */

static int nulls_null, nulls_zero;      /* index of the pointer to set NULL, to zero; -1: none */
static long long nulls_zeroed[NULLS_ROOM / 64];

static void *nulls_pointer(int i, const void *p)
{
    if (i == nulls_null) return NULL;
    if (i == nulls_zero) return memset(nulls_zeroed, 0, sizeof nulls_zeroed);
    return (void *)(uintptr_t)p;
}

static void nulls_probe(void *user, int32_t id, const float *data, ptrdiff_t rows, ptrdiff_t cols,
                        bool backward)
{
    (void)user, (void)id, (void)data, (void)rows, (void)cols, (void)backward;
}

/* Short forms for the table; undefined after it. */
#define P nulls_pointer
#define none nulls_none

/* The result of a call as a status. For a call that returns no status, TFN_NULL means failure. */
static tfn_status nulls_found(bool well) { return well ? TFN_OK : TFN_NULL; }
static tfn_status nulls_voided(const tfn_error *e) { return e->status; }

/* The rows: the function; a letter for each pointer: e an error, o may be NULL, - no effect; a
 * letter for each zeroed object: z an error that says so, q an error, . legal or no object; the
 * call. */
#define NULLS(X)                                                                                   \
    X(tfn_error_text, "oo", "..", nulls_found(tfn_error_text(P(0, &nulls.error), P(1, nulls.text), \
      300) || nulls_null == 1))                                                                    \
    X(tfn_isa_find, "o", ".", nulls_found(tfn_isa_find(P(0, "best")) == TFN_ISA_BEST))             \
    X(tfn_tape_init, "-e", "..", (tfn_tape_init(P(0, &nulls.tape), P(1, nulls_block[12]), 4096, 1, \
      1, 1, false), nulls_voided(&nulls.tape.error)))                                              \
    X(tfn_param, "e", "z", nulls_found(tfn_param(P(0, &nulls.tape), 1, 1).id > 0))                 \
    X(tfn_input, "e", "z", nulls_found(tfn_input(P(0, &nulls.tape), 1, TFN_ROWS_TARGET, 1).id      \
      > 0))                                                                                        \
    X(tfn_linear, "e", "z", nulls_found(tfn_linear(P(0, &nulls.tape), nulls.x, nulls.w, none,      \
      TFN_ACTIVATION_IDENTITY).id > 0))                                                            \
    X(tfn_linear_transposed, "e", "z", nulls_found(tfn_linear_transposed(P(0, &nulls.tape),        \
      nulls.x, nulls.w, none).id > 0))                                                             \
    X(tfn_convolution, "e", "z",                                                                   \
      nulls_tape(tfn_convolution(P(0, &nulls.tape), nulls.x, nulls.w, none)))                      \
    X(tfn_layernorm, "e", "z", nulls_found(tfn_layernorm(P(0, &nulls.tape), nulls.x, none, none,   \
      1).id > 0))                                                                                  \
    X(tfn_rmsnorm, "e", "z", nulls_found(tfn_rmsnorm(P(0, &nulls.tape), nulls.x, none, 1).id > 0)) \
    X(tfn_norm, "ee", "z.", nulls_found(tfn_norm(P(0, &nulls.tape), nulls.x, none, none, \
      4, P(1, &nulls.like)).id > 0))                                                               \
    X(tfn_squash, "e", "z", nulls_found(tfn_squash(P(0, &nulls.tape), nulls.x, none, none,     \
      none, none, TFN_SQUASH_TANH).id > 0))                                                        \
    X(tfn_seednorm, "e", "z", nulls_found(tfn_seednorm(P(0, &nulls.tape), nulls.x, nulls.one,      \
      nulls.one, nulls.one, 1).id > 0))                                                            \
    X(tfn_softmax, "e", "z", nulls_found(tfn_softmax(P(0, &nulls.tape), nulls.x).id > 0))          \
    X(tfn_activation, "e", "z",                                                                    \
      nulls_found(tfn_activation(P(0, &nulls.tape), nulls.x, TFN_ACTIVATION_RELU).id               \
      > 0))                                                                                        \
    X(tfn_glu, "e", "z",                                                                           \
      nulls_tape(tfn_glu(P(0, &nulls.tape), nulls.x, nulls.x, TFN_ACTIVATION_SILU)))               \
    X(tfn_add, "e", "z", nulls_found(tfn_add(P(0, &nulls.tape), nulls.x, nulls.x, 1, 1).id > 0))   \
    X(tfn_scale, "e", "z", nulls_found(tfn_scale(P(0, &nulls.tape), nulls.x, nulls.one).id > 0))   \
    X(tfn_shift, "e", "z", nulls_found(tfn_shift(P(0, &nulls.tape), nulls.x, nulls.one, 1).id      \
      > 0))                                                                                        \
    X(tfn_mix, "e", "z", nulls_found(tfn_mix(P(0, &nulls.tape), none, nulls.x, nulls.one, 0).id    \
      > 0))                                                                                        \
    X(tfn_gate, "e", "z", nulls_tape(tfn_gate(P(0, &nulls.tape), nulls.x, nulls.one)))             \
    X(tfn_dropout, "e", "z", nulls_tape(tfn_dropout(P(0, &nulls.tape), nulls.x, (float)0.5)))      \
    X(tfn_embedding, "e", "z",                                                                     \
      nulls_found(tfn_embedding(P(0, &nulls.tape), nulls.w, 0, TFN_ROWS_TARGET,                    \
      1).id > 0))                                                                                  \
    X(tfn_position, "e", "z", nulls_tape(tfn_position(P(0, &nulls.tape), nulls.x, nulls.w)))       \
    X(tfn_rotary, "e", "z", nulls_tape(tfn_rotary(P(0, &nulls.tape), nulls.x, nulls.w, 4)))        \
    X(tfn_first_rows, "e", "z", nulls_tape(tfn_first_rows(P(0, &nulls.tape), nulls.x)))            \
    X(tfn_attention, "e", "z",                                                                     \
      nulls_tape(tfn_attention(P(0, &nulls.tape), nulls.x, nulls.x, nulls.x, 1,                    \
      1, true, -1, 0)))                                                                            \
    X(tfn_cross_entropy, "e", "z", nulls_tape(tfn_cross_entropy(P(0, &nulls.tape), nulls.x, 1, 0,  \
      0)))                                                                                         \
    X(tfn_number_loss, "e", "z", nulls_tape(tfn_number_loss(P(0, &nulls.tape), nulls.x, 1,         \
      TFN_NUMBER_LOSS_SQUARED, 0)))                                                                \
    X(tfn_mask_targets, "e", "z", nulls_tape(tfn_mask_targets(P(0, &nulls.tape), nulls.column,     \
      1)))                                                                                         \
    X(tfn_custom, "ee", "z.", nulls_tape(tfn_custom(P(0, &nulls.tape), 0, P(1, &nulls.x), 1,       \
      TFN_ROWS_TARGET, 1, 1)))                                                                     \
    X(tfn_probe, "-", ".", (tfn_probe(P(0, &nulls.tape), nulls.x, 1), TFN_OK))                     \
    X(tfn_keep, "-", ".", (tfn_keep(P(0, &nulls.tape), nulls.x), TFN_OK))                          \
    X(tfn_recompute, "-", ".", (tfn_recompute(P(0, &nulls.tape), 1), TFN_OK))                      \
    X(tfn_update_at, "-", ".", (tfn_update_at(P(0, &nulls.update), 1), TFN_OK))                    \
    X(tfn_tape_plan, "ee", "z.", tfn_tape_plan(P(0, &nulls.tape),                                  \
      P(1, tfn_kernels_for(TFN_ISA_BEST)), 1))                                                     \
    X(tfn_tape_forward, "ee", "qq", tfn_tape_forward(P(0, &nulls.planned), P(1, &nulls.run)))      \
    X(tfn_tape_backward, "ee", "qq", tfn_tape_backward(P(0, &nulls.planned), P(1, &nulls.run)))    \
    X(tfn_value, "ee", "qq", nulls_found(tfn_value(P(0, &nulls.planned), P(1, &nulls.run),         \
      nulls.w) != NULL))                                                        \
    X(tfn_gradient, "ee", "qq", nulls_found(tfn_gradient(P(0, &nulls.planned), P(1, &nulls.run),   \
      nulls.w) != NULL))                                                        \
    X(tfn_norm_find, "e", ".", nulls_found(tfn_norm_find(P(0, "layernorm")) || nulls_zero == 0))   \
    X(tfn_topology_find, "e", ".", nulls_found(tfn_topology_find(P(0, "pre")) || nulls_zero == 0)) \
    X(tfn_init_find, "e", ".", nulls_found(tfn_init_find(P(0, "xavier")) || nulls_null != 0))      \
    X(tfn_recipe_find, "e", ".", nulls_found(tfn_recipe_find(P(0, "pre")) || nulls_zero == 0))     \
    X(tfn_topology_join, "--", "..", (tfn_topology_join(P(0, tfn_topology_find("pre")),            \
      P(1, &nulls.place)), TFN_OK))                                                                \
    X(tfn_schedule_at, "e", ".", nulls_found(tfn_schedule_at(P(0, &nulls.schedule), 1, 8) == 0))   \
    X(tfn_choice_at, "e", ".", nulls_found(tfn_choice_at(P(0, "optimizer"), 0)                     \
      || nulls_zero == 0))                                                                         \
    X(tfn_choice_find, "ee", "..", nulls_found(tfn_choice_find(P(0, "optimizer"), P(1, "sgd"))     \
      || nulls_zero >= 0))                                                                         \
    X(tfn_choice_name, "e", ".", nulls_found(tfn_choice_name(P(0, "optimizer"), 1)                 \
      || nulls_zero == 0))                                                                         \
    X(tfn_model_resolve, "eeo", "...", nulls_found(tfn_model_resolve(P(0, &nulls.desc),            \
      P(1, &nulls.desc), P(2, &nulls.error)) || nulls_zero >= 0))                                  \
    X(tfn_model_scratch, "e", ".", nulls_found(tfn_model_scratch(P(0, &nulls.desc)) > 0            \
      || nulls_zero == 0))                                                                         \
    X(tfn_model_size, "ee", "..", nulls_found(tfn_model_size(P(0, &nulls.desc),                    \
      P(1, nulls_block[12]), 200000) > 0 || nulls_zero >= 0))                                      \
    X(tfn_model_init, "eee", "...", nulls_zero >= 0 ? TFN_OK : tfn_model_init(P(0, &nulls.m),      \
      P(1, &nulls.desc), P(2, nulls_block[0]), sizeof nulls_block[0]))                             \
    X(tfn_model_new, "eeo", "..z", nulls_new())                                                    \
    X(tfn_model_free, "-", ".", (tfn_model_free(P(0, &nulls.m)), TFN_OK))                          \
    X(tfn_model_step, "eeo", "zq.", tfn_model_step(P(0, &nulls.m), P(1, &nulls.batch),             \
      P(2, &nulls.report)))                                                                        \
    X(tfn_model_gradient, "eeo", "zq.", tfn_model_gradient(P(0, &nulls.m), P(1, &nulls.batch), 0,  \
      false, P(2, &nulls.sums)))                                                                   \
    X(tfn_model_gradients, "eo", "q.", nulls_found(tfn_model_gradients(P(0, &nulls.m),             \
      P(1, &nulls.step)) != NULL))                                                                 \
    X(tfn_model_rate, "e", ".", nulls_number(tfn_model_rate(P(0, &nulls.m))))                      \
    X(tfn_model_update, "eoo", "z..", tfn_model_update(P(0, &nulls.m), P(1, &nulls.sums), 0,       \
      P(2, &nulls.report)))                                                                        \
    X(tfn_model_swap_ema, "e", "z", tfn_model_swap_ema(P(0, &nulls.m)))                            \
    X(tfn_model_eval, "eeo", "zq.", tfn_model_eval(P(0, &nulls.m), P(1, &nulls.batch),             \
      P(2, &nulls.report)))                                                                        \
    X(tfn_model_logits, "ee", "zq", nulls_found(tfn_model_logits(P(0, &nulls.m),                   \
      P(1, &nulls.batch)) != NULL))                                                                \
    X(tfn_model_watch, "eoo", "z..", tfn_model_watch(P(0, &nulls.m),                               \
      nulls_null == 1 ? NULL : nulls_probe, P(2, nulls.text)))                                     \
    X(tfn_model_channels, "e", "q", nulls_found(tfn_model_channels(P(0, &nulls.m)) > 0))           \
    X(tfn_model_hidden, "ee", "zq", nulls_found(tfn_model_hidden(P(0, &nulls.m),                   \
      P(1, &nulls.batch), TFN_STACK_LAST, 1) != NULL))                                             \
    X(tfn_model_hidden_all, "eee", "zq.", tfn_model_hidden_all(P(0, &nulls.m), P(1, &nulls.batch), \
      TFN_STACK_LAST, P(2, nulls.values)))                                                         \
    X(tfn_model_lens, "ee", "zq", nulls_found(tfn_model_lens(P(0, &nulls.m),                       \
      P(1, &nulls.batch), 1) != NULL))                                                             \
    X(tfn_model_pool, "eee", "zq.", tfn_model_pool(P(0, &nulls.m), P(1, &nulls.batch),             \
      TFN_STACK_LAST, 1, TFN_POOL_MEAN, true, P(2, nulls.values)))                                 \
    X(tfn_model_attention, "eee", "zq.", tfn_model_attention(P(0, &nulls.m), P(1, &nulls.batch),   \
      TFN_STACK_LAST, 0, TFN_SUBLAYER_SELF_ATTENTION, -1, P(2, nulls.values)))                     \
    X(tfn_model_profile, "ee", "zq", tfn_model_profile(P(0, &nulls.m), P(1, &nulls.batch)))        \
    X(tfn_model_fold, "ee", "zz", tfn_model_fold(P(0, &nulls.folded), P(1, &nulls.m)))             \
    X(tfn_model_quantize, "ee", "zz", tfn_model_quantize(P(0, &nulls.packed), P(1, &nulls.m)))     \
    X(tfn_model_param, "ee", "q.", nulls_found(tfn_model_param(P(0, &nulls.m), 0,                  \
      P(1, &nulls.info))))                                                                         \
    X(tfn_model_hash, "e", "q", nulls_found(tfn_model_hash(P(0, &nulls.m)) != 0))                  \
    X(tfn_decoder_size, "ee", "q.", nulls_found(tfn_decoder_size(P(0, &nulls.m), 1, 1,             \
      P(1, nulls_block[12]), sizeof nulls_block[0]) > 0))                                          \
    X(tfn_flash_pages, "e", "q", nulls_found(tfn_flash_pages(P(0, &nulls.m), NULLS_PAGE) > 0))     \
    X(tfn_flash_save, "ee", "qq", tfn_flash_save(P(0, &nulls.flash), P(1, &nulls.m)))              \
    X(tfn_flash_load, "ee", "qq", nulls_flash_load())                                              \
    X(tfn_decoder_init, "eee", ".z.", tfn_decoder_init(P(0, &nulls.d), P(1, &nulls.m), 1, 1,       \
      P(2, nulls_block[2]), sizeof nulls_block[2]))                                                \
    X(tfn_decoder_start, "eo", "z.", tfn_decoder_start(P(0, &nulls.d), P(1, &nulls.batch)))        \
    X(tfn_decoder_next, "eeo", "z..", nulls_found(tfn_decoder_next(P(0, &nulls.d),                 \
      P(1, nulls_tokens), 1, P(2, nulls_zeroed)) != NULL))                                         \
    X(tfn_decoder_watch, "eoo", "z..", tfn_decoder_watch(P(0, &nulls.d),                           \
      nulls_null == 1 ? NULL : nulls_probe, P(2, nulls.text)))                                     \
    X(tfn_decoder_attention, "eee", "z..", tfn_decoder_attention(P(0, &nulls.d),                   \
      P(1, nulls_tokens), 1, 0, TFN_SUBLAYER_SELF_ATTENTION, -1, P(2, nulls.values)))              \
    X(tfn_selfcheck, "e", ".", nulls_found(tfn_selfcheck(P(0, NULL), 0, TFN_ISA_BEST, 1) != 0      \
      || nulls_null != 0))                                                                         \
    X(tfn_generator_size, "eee", "q..", nulls_found(tfn_generator_size(P(0, &nulls.m),             \
      P(1, &nulls.generate), P(2, nulls_block[12]), sizeof nulls_block[0]) > 0))                   \
    X(tfn_generator_init, "eeee", ".z..", tfn_generator_init(P(0, &nulls.g), P(1, &nulls.m),       \
      P(2, &nulls.generate), P(3, nulls_block[3]), sizeof nulls_block[3]))                         \
    X(tfn_generator_run, "eeo", "zq.", tfn_generator_run(P(0, &nulls.g), P(1, &nulls.batch),       \
      P(2, nulls.ids)))                                                                            \
    X(tfn_accuracy_add, "---", "...", (tfn_accuracy_add(P(0, &nulls.accuracy), P(1, nulls_tokens), \
      P(2, nulls_tokens), 1, 1), TFN_OK))                                                          \
    X(tfn_accuracy_add_logits, "---", "...", (tfn_accuracy_add_logits(P(0, &nulls.accuracy),       \
      P(1, nulls.values), P(2, nulls_tokens), 1, 1, 4), TFN_OK))                                   \
    X(tfn_bleu_add, "eeee", "....", nulls_zero == 2 ? TFN_OK : tfn_bleu_add(P(0, &nulls.bleu),     \
      P(1, "a b"), P(2, nulls_references), 1, P(3, nulls_block[12]), sizeof nulls_block[12]))      \
    X(tfn_bleu_score, "e", ".", nulls_number(tfn_bleu_score(P(0, &nulls.bleu), TFN_SMOOTH_EXP,     \
      false)))                                                                                     \
    X(tfn_bleu_text, "eo", "..", nulls_found((tfn_bleu_text(P(0, &nulls.bleu), TFN_SMOOTH_EXP,     \
      false, P(1, nulls.text), 300) && nulls.text[0]) || nulls_null == 1 || nulls_zero == 1))      \
    X(tfn_rouge_add, "eeee", "....", tfn_rouge_add(P(0, &nulls.rouge), P(1, "a"), P(2, "a"),       \
      P(3, nulls_block[12]), sizeof nulls_block[12]))                                              \
    X(tfn_rouge_score, "e", ".", nulls_number(nulls_null < 0 ? 0 : tfn_rouge_score(P(0,            \
      &nulls.rouge), 0)))                                                                          \
    X(tfn_edits_add_words, "eeee", "....", tfn_edits_add_words(P(0, &nulls.edits), P(1, "a"),      \
      P(2, "a"), P(3, nulls_block[12]), sizeof nulls_block[12]))                                   \
    X(tfn_edits_add_characters, "eeee", "....", tfn_edits_add_characters(P(0, &nulls.edits),       \
      P(1, "a"), P(2, "a"), P(3, nulls_block[12]), sizeof nulls_block[12]))                        \
    X(tfn_edits_score, "e", ".", nulls_number(tfn_edits_score(P(0, &nulls.edits))))                \
    X(tfn_trainer_size, "e", ".", nulls_found(tfn_trainer_size(P(0, &nulls.words)) > 0))           \
    X(tfn_trainer_init, "eee", "...", nulls_zero >= 0 ? TFN_OK : tfn_trainer_init(P(0, &nulls.t),  \
      P(1, &nulls.words), P(2, nulls_block[5]), sizeof nulls_block[5]))                            \
    X(tfn_trainer_add, "ee", "z.", tfn_trainer_add(P(0, &nulls.t), P(1, "a b"), 3))                \
    X(tfn_trainer_run, "e", "z", tfn_trainer_run(P(0, &nulls.t)))                                  \
    X(tfn_tokenizer_size, "e", "q", nulls_found(tfn_tokenizer_size(P(0, &nulls.source)) > 0))      \
    X(tfn_tokenizer_init, "eee", ".q.", tfn_tokenizer_init(P(0, &nulls.k), P(1, &nulls.source),    \
      P(2, nulls_block[7]), sizeof nulls_block[7]))                                                \
    X(tfn_tokenizer_encode, "eoe", "q..", nulls_found(tfn_tokenizer_encode(P(0, &nulls.k),         \
      P(1, nulls_zeroed), 3, P(2, "a b"), 3) > 0))                                                 \
    X(tfn_tokenizer_encode_specials, "eoe", "q..", nulls_found(tfn_tokenizer_encode_specials(P(0,  \
      &nulls.k), P(1, nulls_zeroed), 3, P(2, "a b"), 3) > 0))                                      \
    X(tfn_tokenizer_decode, "eoe", "q..", nulls_found(tfn_tokenizer_decode(P(0, &nulls.k),         \
      P(1, nulls.text), 9, P(2, nulls.k.special + TFN_SPECIAL_UNK), 1) > 0 || nulls_zero == 2))    \
    X(tfn_tokenizer_token, "eo", "q.", nulls_found(tfn_tokenizer_token(P(0, &nulls.k), 0,          \
      P(1, &nulls.bytes)) != NULL))                                                                \
    X(tfn_tokenizer_find, "ee", "q.", nulls_found(tfn_tokenizer_find(P(0, &nulls.k),               \
      P(1, "<pad>"), 5) >= 0 || nulls_zero == 1))                                                  \
    X(tfn_tokenizer_write, "eo", "q.", nulls_found(tfn_tokenizer_write(P(0, &nulls.k),             \
      P(1, nulls.text), 9) > 0))                                                                   \
    X(tfn_tokenizer_vocab_text, "eo", "q.", nulls_found(tfn_tokenizer_vocab_text(P(0, &nulls.k),   \
      P(1, nulls.text), 9) > 0))                                                                   \
    X(tfn_tokenizer_merges_text, "eo", "q.", nulls_found(tfn_tokenizer_merges_text(P(0, &nulls.k), \
      P(1, nulls.text), 9) > 0))                                                                   \
    X(tfn_tokenizer_json_text, "eo", "q.", nulls_found(tfn_tokenizer_json_text(P(0, &nulls.k),     \
      P(1, nulls.text), 300) > 0 || (nulls_null != 0 && nulls_zero < 0)))                          \
    X(tfn_file_work, "e", "q", nulls_found(tfn_file_work(P(0, &nulls.f)) > 0))                     \
    X(tfn_file_open, "e", "q", tfn_file_open(P(0, &nulls.f)))                                      \
    X(tfn_file_close, "-", ".", (tfn_file_close(P(0, &nulls.f)), TFN_OK))                          \
    X(tfn_file_tensor, "ee", "q.", nulls_found(tfn_file_tensor(P(0, &nulls.f), 0,                  \
      P(1, &nulls.tensor))))                                                                       \
    X(tfn_file_find, "eee", "q..", nulls_found(tfn_file_find(P(0, &nulls.f),                       \
      P(1, "training.state"), P(2, &nulls.tensor)) || nulls_zero == 1))                            \
    X(tfn_file_read, "eee", "q..", nulls_zero == 1 ? TFN_OK : tfn_file_read(P(0, &nulls.f),        \
      P(1, &nulls.tensor), P(2, nulls.values), 0, 1))                                              \
    X(tfn_file_text, "eeo", "q..", nulls_found(tfn_file_text(P(0, &nulls.f), P(1, "tfn_format"),   \
      P(2, nulls.text), 9) > 0 || nulls_zero == 1))                                                \
    X(tfn_file_write, "ee", "..", nulls_zero >= 0 ? TFN_OK : tfn_file_write(P(0, &nulls.to),       \
      P(1, nulls_tensor()), 1))                                                                    \
    X(tfn_index_open, "e", "q", nulls_index(P(0, &nulls.to)))                                      \
    X(tfn_pickle_open, "e", "q", nulls_pickle(P(0, &nulls.to)))                                    \
    X(tfn_gguf_open, "e", "q", nulls_gguf(P(0, &nulls.to)))                                        \
    X(tfn_gguf_tokenizer, "eeo", "q..", nulls_gguf_tokenizer(P(0, &nulls.to),           \
      P(1, &nulls.source), P(2, nulls.text)))                                                      \
    X(tfn_model_save_work, "eo", "q.", nulls_found(tfn_model_save_work(P(0, &nulls.m),             \
      P(1, &nulls.with)) > 0))                                                                     \
    X(tfn_model_save, "eeo", ".z.", tfn_model_save(P(0, &nulls.to), P(1, &nulls.m),                \
      P(2, &nulls.with)))                                                                          \
    X(tfn_model_load, "ee", "zq", tfn_model_load(P(0, &nulls.m), P(1, &nulls.f)))                  \
    X(tfn_model_load_weights, "ee", "zq", tfn_model_load_weights(P(0, &nulls.m), P(1, &nulls.f),   \
      1))                                                                                          \
    X(tfn_model_peek, "eeo", "q..", tfn_model_peek(P(0, &nulls.f), P(1, &nulls.desc),              \
      P(2, &nulls.step)))                                                                          \
    X(tfn_desc_set, "eeeo", "....", tfn_desc_set(P(0, &nulls.desc), nulls_zero == 1 ? "width"      \
      : (const char *)P(1, "width"), nulls_zero == 2 ? "8" : (const char *)P(2, "8"),              \
      P(3, &nulls.error)))                                                                         \
    X(tfn_desc_get, "eee", "...", nulls_found(tfn_desc_get(P(0, &nulls.desc), P(1, "width"),       \
      P(2, nulls.text), 300) || nulls_zero == 1))                                                  \
    X(tfn_layout, "eooo", "....", nulls_found(tfn_layout(P(0, "tfn_report"), P(1, "loss"),         \
      P(2, &nulls.bytes), P(3, &nulls.bytes)) || nulls_zero == 0))                                 \
    X(tfn_checkpoint_tokenizer, "eo", "q.", nulls_found(tfn_checkpoint_tokenizer(P(0, &nulls.f),   \
      P(1, nulls.text), 9) > 0))                                                                   \
    X(tfn_model_save_adapter, "eeo", ".z.", tfn_model_save_adapter(P(0, &nulls.to),                \
      P(1, &nulls.m), P(2, &nulls.with)))                                                          \
    X(tfn_group_add, "eeo", "...", nulls_found(tfn_group_add(P(0, &nulls.desc), P(1, "*"),         \
      P(2, &nulls.error)) || nulls_zero >= 0))                                                     \
    X(tfn_family_find, "e", ".", nulls_found(tfn_family_find(P(0, "gpt2")) || nulls_zero == 0))    \
    X(tfn_import_peek, "ee", "q.", tfn_import_peek(P(0, &nulls.import), P(1, &nulls.empty)))       \
    X(tfn_import_text, "eeo", "q..", nulls_found(tfn_import_text(P(0, &nulls.import),              \
      P(1, "model_type"), P(2, nulls.text), 9) > 0 || nulls_zero == 1))                            \
    X(tfn_import_weights, "ee", "qz", nulls_import())                                              \
    X(tfn_export_work, "e", "q", nulls_found(tfn_export_work(P(0, &nulls.m)) > 0))                 \
    X(tfn_export_gguf_work, "oe", ".q", nulls_found(tfn_export_gguf_work(P(0, &nulls.outgoing),    \
      P(1, &nulls.m)) > 0))                                                                        \
    X(tfn_export_gguf, "ee", "qz", nulls_export_gguf(P(0, &nulls.outgoing), P(1, &nulls.m)))       \
    X(tfn_export_write, "ee", "qz", tfn_export_write(P(0, &nulls.outgoing), P(1, &nulls.m)))       \
    X(tfn_peft_peek, "ee", "q.", nulls_peft_peek(P(0, &nulls.import), P(1, &nulls.empty)))         \
    X(tfn_peft_read, "ee", "qz", nulls_peft(false))                                                \
    X(tfn_peft_write, "ee", "qz", nulls_peft(true))                                                \
    X(tfn_import_new, "eeo", ".q.", nulls_import_new())

static const tfn_var nulls_none = { 0 };

/* An operation whose inputs may not fit: the tape's error must be about something else. */
static tfn_status nulls_tape(tfn_var made)
{
    const bool known = nulls_null < 0 && nulls_zero < 0;
    return nulls_found(made.id > 0 || (known && nulls.tape.error.status == TFN_BAD_SHAPE));
}
static tfn_status nulls_number(double x) { return nulls_found(x == x); }

/* Makes sure that there is something to load. */
static tfn_status nulls_flash_load(void)
{
    tfn_flash f = nulls.flash;
    CHECK(tfn_flash_save(&f, &nulls.m) == TFN_OK);
    return tfn_flash_load((tfn_model *)nulls_pointer(0, &nulls.m),
                          (tfn_flash *)nulls_pointer(1, &nulls.flash));
}

static tfn_status nulls_new(void)
{
    static const tfn_allocator empty = { NULL, NULL, NULL };
    tfn_model m;
    tfn_model *to = (tfn_model *)nulls_pointer(0, &m);
    tfn_status status;
    memset(&m, 0, sizeof m);
    if (nulls_zero >= 0 && nulls_zero < 2) return TFN_OK;
    status = tfn_model_new(to, nulls_pointer(1, &nulls.desc), nulls_zero == 2 ? &empty : NULL);
    if (nulls_zero == 2 && status == TFN_NULL)              /* the message: "allocator.allocate" */
        memcpy(nulls_zeroed, "not initialized", 16);
    if (to) tfn_model_free(to);
    return status;
}

/* Imports a model of the hub, or the weights that it already has. */
static tfn_status nulls_import_new(void)
{
    tfn_model m;
    tfn_model *to = (tfn_model *)nulls_pointer(0, &m);
    tfn_status status;
    if (nulls_zero == 2) return TFN_OK;                     /* all options may be zero */
    status = tfn_import_new(to, nulls_zero == 1 ? "" : nulls_pointer(1, nulls.import.folder),
                            nulls_pointer(2, &nulls.empty));
    if (to) tfn_model_free(to);
    return status;
}
static tfn_status nulls_import(void)
{
    tfn_model m;
    tfn_status status;
    CHECK(tfn_import_new(&m, nulls.import.folder, NULL) == TFN_OK);
    status = tfn_import_weights(nulls_pointer(0, &nulls.import), nulls_pointer(1, &m));
    tfn_model_free(&m);
    return status;
}

static tfn_status nulls_peft_peek(tfn_import *x, tfn_model_desc *d)
{
    if (x && nulls_zero) {
        x->folder = folders_path("peft", "llama", NULL);
        x->family = tfn_family_find("llama");
    }
    return tfn_peft_peek(x, d);
}

/* Reads an adapter into a model with LoRA, or writes one. */
static tfn_status nulls_peft(bool write)
{
    tfn_model_desc d = { 0 };
    tfn_model m;
    tfn_status status;
    d.inference = true;
    CHECK(tfn_group_add(&d, "decoder.*.self.[qv].weight rank=4", NULL));
    CHECK(tfn_group_add(&d, "decoder.*.ffn.w3.weight rank=4", NULL));
    CHECK(tfn_group_add(&d, "output.weight rank=4", NULL));
    CHECK(tfn_import_new(&m, nulls.import.folder, &d) == TFN_OK);
    nulls.import.folder = folders_path("peft", "llama", NULL);
    nulls.import.family = tfn_family_find("llama");
    if (write) status = tfn_peft_write(nulls_pointer(0, &nulls.outgoing), nulls_pointer(1, &m));
    else status = tfn_peft_read(nulls_pointer(0, &nulls.import), nulls_pointer(1, &m));
    tfn_model_free(&m);
    return status;
}

static const tfn_tensor *nulls_tensor(void)
{
    static tfn_tensor t;
    memset(&t, 0, sizeof t);
    strcpy(t.name, "t");
    t.rank = 1;
    t.shape[0] = 4;
    t.data = nulls.values;
    return &t;
}

static tfn_status nulls_pickle(tfn_file *f)
{
    tfn_status status;
    if (f && nulls_zero < 0) f->path = folders_path("hub", "llama-bin", "pytorch_model.bin");
    status = tfn_pickle_open(f);
    tfn_file_close(f);
    return status;
}
static tfn_status nulls_gguf(tfn_file *f)
{
    tfn_status status;
    if (f && nulls_zero < 0) f->path = folders_path("gguf", "llama.gguf", NULL);
    status = tfn_gguf_open(f);
    tfn_file_close(f);
    return status;
}
static tfn_status nulls_gguf_tokenizer(tfn_file *f, tfn_tokenizer_source *source, char *text)
{
    size_t bytes;
    if (f && nulls_zero) {
        f->path = folders_path("gguf", "llama.gguf", NULL);
        tfn_gguf_open(f);
    }
    bytes = tfn_gguf_tokenizer(f, source, text, 9);
    tfn_file_close(f);
    return nulls_found(bytes > 0);
}
static tfn_status nulls_export_gguf(tfn_export *x, const tfn_model *m)
{
    if (x && nulls_zero) x->weights = &nulls.to;
    return tfn_export_gguf(x, m);
}
static tfn_status nulls_index(tfn_file *f)
{
    static const char text[] = "{\"weight_map\":{\"a\":\"b\"}}";
    tfn_status status;
    if (f && nulls_zero < 0) {
        f->from = text;
        f->from_size = sizeof text - 1;
    }
    status = tfn_index_open(f);
    tfn_file_close(f);
    return status;
}

#define NULLS_CALL(name, pointers, zeroed, call) \
    static tfn_status nulls_##name(void) { return call; }
NULLS(NULLS_CALL)
#define NULLS_ROW(name, pointers, zeroed, call) { #name, pointers, zeroed, nulls_##name },
static const struct { const char *name, *pointers, *zeroed; tfn_status (*call)(void); }
    nulls_rows[] = { NULLS(NULLS_ROW) };
#undef P
#undef none
enum { NULLS_ROWS = sizeof nulls_rows / sizeof *nulls_rows };

static tfn_status nulls_run(int row, int null, int zero)
{
    tfn_status status;
    nulls_make();
    nulls_null = null;
    nulls_zero = zero;
    status = nulls_rows[row].call();
    return status;
}

static void nulls_end(void) { tfn_file_close(&nulls.f); }

/* -- tests ------------------------------------------------------------------------------------- */

/* Kernels cannot fail, so they are not tested here. */
static const char nulls_kernels[] =
    " tfn_point_forward tfn_seed_forward tfn_columns_forward tfn_point_backward "
    "tfn_point_params_backward tfn_seed_backward tfn_seed_params_backward tfn_columns_backward "
    "tfn_quant_pack tfn_quant_unpack tfn_quant_product tfn_quant_work ";

/* Every public function with a pointer has a row, with as many letters. */
TEST(nulls_all_functions)
{
    char name[80], word[90];
    int pointers, functions = 0;
    for (int i = 0; header_function(i, name, sizeof name, &pointers); i++) {
        int row = 0;
        functions++;
        snprintf(word, sizeof word, " %s ", name);
        if (!pointers || strstr(nulls_kernels, word)) continue;
        while (row < NULLS_ROWS && strcmp(nulls_rows[row].name, name)) row++;
        if (row == NULLS_ROWS) FAIL("%s is not in the table", name);
        else if ((int)strlen(nulls_rows[row].pointers) != pointers)
            FAIL("%s has %d pointers, the table has %s", name, pointers, nulls_rows[row].pointers);
    }
    CHECK(functions > 130);
    for (int row = 0; row < NULLS_ROWS; row++)
        CHECK_INT(strlen(nulls_rows[row].pointers), strlen(nulls_rows[row].zeroed));
}

TEST(nulls_pointers)
{
    int calls = 0;
    for (int row = 0; row < NULLS_ROWS; row++)
        for (int i = -1; i < (int)strlen(nulls_rows[row].pointers); i++) {
            const char wanted = i < 0 ? 'o' : nulls_rows[row].pointers[i];
            const tfn_status status = nulls_run(row, i, -1);
            calls++;
            if (wanted == 'o' && status != TFN_OK && strcmp(nulls_rows[row].name, "tfn_selfcheck"))
                FAIL("%s: status %d, pointer %d is NULL", nulls_rows[row].name, (int)status, i);
            if (wanted == 'e' && status == TFN_OK)
                FAIL("%s: no error, but pointer %d is NULL", nulls_rows[row].name, i);
            nulls_end();
        }
    printf("  %d calls of %d functions\n", calls, (int)NULLS_ROWS);
}

/* True if some object has the error that one was not initialized. */
static bool nulls_said(void)
{
    const tfn_error *errors[] = { (const tfn_error *)(const void *)nulls_zeroed, &nulls.m.error,
                                  &nulls.folded.error, &nulls.packed.error, &nulls.d.error,
                                  &nulls.g.error,
                                  &nulls.t.error, &nulls.tape.error, &nulls.f.error,
                                  &nulls.to.error, &nulls.outgoing.error };
    if (!memcmp(nulls_zeroed, "not initialized", 16)) return true;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        char text[300];
        if (strstr(tfn_error_text(errors[i], text, sizeof text), "not initialized")) return true;
    }
    return false;
}

TEST(nulls_zeroed_objects)
{
    for (int row = 0; row < NULLS_ROWS; row++)
        for (int i = 0; i < (int)strlen(nulls_rows[row].zeroed); i++) {
            const char wanted = nulls_rows[row].zeroed[i];
            const tfn_status status = nulls_run(row, -1, i);
            if (wanted != '.' && status == TFN_OK)
                FAIL("%s: no error, but object %d is zeroed", nulls_rows[row].name, i);
            if (wanted == 'z' && !nulls_said())
                FAIL("%s: no word of object %d, status %d", nulls_rows[row].name, i, (int)status);
            nulls_end();
        }
}

/* A file after it was closed, and after a failure. */
TEST(nulls_closed_file)
{
    char text[300];
    nulls_make();
    tfn_file_close(&nulls.f);
    CHECK(!tfn_file_tensor(&nulls.f, 0, &nulls.tensor));
    tfn_error_text(&nulls.f.error, text, sizeof text);
    CHECK(strstr(text, "the file is not open") != NULL);
    CHECK(tfn_file_read(&nulls.f, &nulls.tensor, nulls.values, 0, 1) == TFN_NOT_READY);
    CHECK(!tfn_file_find(&nulls.f, "a", &nulls.tensor));
    CHECK(!tfn_file_text(&nulls.f, "a", text, sizeof text) && !text[0]);
}

/* An allocator without one of its functions. */
static void *nulls_allocate(size_t size, void *user) { return user ? NULL : malloc(size); }
static void nulls_release(void *mem, size_t size, void *user) { if (size && !user) free(mem); }
TEST(nulls_allocators)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.vocab = d.context = 5;
    for (int i = 0; i < 3; i++) {
        static const char *const says[] = { "no error", "allocator.allocate", "allocator.release" };
        const tfn_allocator a = { i == 1 ? NULL : nulls_allocate, i == 2 ? NULL : nulls_release, NULL };
        tfn_model m;
        char text[300];
        CHECK_INT(tfn_model_new(&m, &d, &a), i ? TFN_NULL : TFN_OK);
        if (!strstr(tfn_error_text(&m.error, text, sizeof text), says[i])) FAIL("%s", text);
        tfn_model_free(&m);
    }
}

int main(void)
{
    RUN(nulls_all_functions);
    RUN(nulls_pointers);
    RUN(nulls_zeroed_objects);
    RUN(nulls_closed_file);
    RUN(nulls_allocators);
    return DONE();
}
