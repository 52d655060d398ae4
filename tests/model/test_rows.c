/* Rows that are in no paper, and recipes with random options, checked by rows.h. The fixed ones
 * were found at random and shrunk; they failed once. test_rows_double.c checks the folds to nine
 * digits. */
#include "../lib.h"
#include "../check.h"
#include "../rows.h"

/* For a wrong case: prints what is wrong, and how to repeat it. */
static rows_verdict rows_judge(const rows_case *c)
{
    const rows_result r = rows_check(c);
    static char text[8000];
    if (r.verdict != ROWS_WRONG) return r.verdict;
    rows_print(c, text, sizeof text);
    FAIL("%s: %s", r.text, text);
    return r.verdict;
}

#define ROWS_SMALL "desc.context=5 desc.vocab=11 steps=2 "
#define ROWS_POST  ROWS_SMALL "row.own=1 row.attention.norm_sum=1 row.ffn.norm_sum=1 "
#define ROWS_PRE   ROWS_SMALL "row.own=1 row.flags=1 row.attention.norm_in=1 row.ffn.norm_in=1 "
#define ROWS_ADMIN ROWS_POST "row.attention.skip.kind=5 row.attention.skip.value=1 " \
                             "row.ffn.skip.kind=5 row.ffn.skip.value=1 "
#define ROWS_BOTH  ROWS_SMALL "desc.arch=2 row.own=1 decoder_row.own=1 "

/* A table that two stacks share has rows of length 1 in all forwards if one stack requires it. */
static const char *const rows_shared[] = {
    ROWS_BOTH "row.flags=4",
    ROWS_BOTH "decoder_row.flags=4",
    ROWS_SMALL "desc.arch=2 desc.recipe=post decoder_row.own=1 decoder_row.flags=5 "
    "decoder_row.attention.norm_in=1 decoder_row.ffn.norm_in=1",
    ROWS_SMALL "desc.arch=2 desc.recipe=scalenorm decoder_row.own=1 "
    "decoder_row.attention.norm_sum=1 decoder_row.ffn.norm_sum=1",
    ROWS_SMALL "desc.arch=2 desc.recipe=scalenorm decoder_row.own=1 desc.separate_source=1",
    ROWS_SMALL "desc.arch=0 desc.recipe=scalenorm decoder_row.own=1",
    ROWS_SMALL "desc.arch=2 desc.recipe=post decoder_row.own=1 decoder_row.flags=4 desc.bands=5"
};

/* Admin's scale of a skip is folded only if just its sub-layer reads the stream there. */
static const char *const rows_profiled[] = {
    ROWS_ADMIN,
    ROWS_ADMIN "row.ffn.extra.kind=1 row.ffn.extra.value=0.5",
    ROWS_ADMIN "row.attention.extra.kind=1 row.attention.extra.value=1",
    ROWS_ADMIN "row.attention.extra.kind=1 row.attention.extra.value=1 row.attention.extra_last=1",
    ROWS_ADMIN "row.ffn.extra.kind=1 row.ffn.extra.value=1 row.ffn.extra_last=1",
    ROWS_ADMIN "row.ffn.norm_in=1",
    ROWS_ADMIN "row.aggregate=1",
    ROWS_ADMIN "row.aggregate=2",
    ROWS_ADMIN "row.aggregate=3",
    ROWS_ADMIN "row.aggregate=4",
    ROWS_ADMIN "row.flags=8",
    ROWS_ADMIN "row.flags=32 desc.arch=2",
    ROWS_ADMIN "row.flags=16",
    ROWS_ADMIN "row.ffn.source=2",
    ROWS_ADMIN "row.ffn.source=3",
    ROWS_ADMIN "row.ffn.skip_from=1",
    ROWS_ADMIN "row.ffn.skip_from=2",
    ROWS_ADMIN "row.attention.skip_from=2",
    ROWS_ADMIN "row.ffn.skip_from=1 row.ffn.shifts=1",
    ROWS_ADMIN "row.ffn.skip_from=1 row.ffn.in.kind=3 row.ffn.in.value=0.5",
    ROWS_ADMIN "row.ffn.shifts=1",
    ROWS_ADMIN "row.ffn.gate=1",
    ROWS_ADMIN "row.ruled=1 row.kind=2",                        /* one without a norm */
    ROWS_ADMIN "row.ruled=1 row.kind=0 row.other.norm_in=1",
    ROWS_ADMIN "row.attention.skip.unit=2 row.ffn.skip.unit=0.5",
    ROWS_ADMIN "desc.norm=seednorm", ROWS_ADMIN "desc.norm=l2norm", ROWS_ADMIN "desc.norm=dyt",
    ROWS_ADMIN "desc.norm=scalenorm", ROWS_ADMIN "desc.norm=rmsnorm-offset",
    ROWS_SMALL "row.own=1 row.attention.skip.kind=5 row.ffn.skip.kind=5 row.attention.skip.value=1 "
    "row.ffn.skip.value=1",
    ROWS_SMALL "row.own=1 row.attention.skip.kind=6 row.ffn.skip.kind=6 row.attention.skip.value=1 "
    "row.ffn.skip.value=1",
    ROWS_POST "row.attention.skip.kind=6 row.attention.skip.value=1 row.ffn.skip.kind=6",
    ROWS_POST "row.attention.skip.kind=6 row.attention.skip.value=1 row.attention.skip.unit=2 "
    "row.ffn.skip.kind=6 row.ffn.skip.value=1 row.ffn.skip.unit=0.5",
    ROWS_POST "row.attention.skip.kind=6 row.attention.skip.value=1 row.ffn.skip.kind=6 "
    "row.ffn.skip.value=1 row.ffn.extra.kind=1 row.ffn.extra.value=1",
    ROWS_POST "row.flags=2048 row.attention.skip.kind=6 row.attention.skip.value=1 "
    "row.ffn.skip.kind=6 row.ffn.skip.value=1",                 /* gamma W/sigma */
    ROWS_POST "row.attention.skip.kind=6 row.attention.skip.value=1 row.attention.skip.unit=0.5 "
    "row.ffn.skip.kind=6 row.ffn.skip.value=1 row.ffn.skip.unit=0.5",
    ROWS_ADMIN "desc.recipe=admin desc.arch=2 desc.norm=batchnorm"
};

/* N(a x + p) = N(x + p/a) for a > 0, if nothing else reads p. */
static const char *const rows_constant[] = {
    ROWS_POST "row.attention.skip.kind=1 row.attention.skip.value=2",
    ROWS_POST "row.attention.skip.kind=1 row.attention.skip.value=-0.5",
    ROWS_POST "row.attention.skip.kind=1 row.attention.skip.value=0",
    ROWS_POST "row.attention.skip.kind=1 row.attention.skip.value=1e-20",
    ROWS_POST "row.attention.skip.kind=1 row.attention.skip.value=1e10",
    ROWS_POST "row.attention.skip.kind=1 row.attention.skip.value=2 desc.norm=dyt",
    ROWS_POST "row.attention.skip.kind=1 row.attention.skip.value=2 row.flags=16",
    ROWS_POST "row.attention.skip.kind=1 row.attention.skip.value=2 row.attention.norm_branch=1 "
    "desc.norm=rmsnorm-offset",
    ROWS_POST "row.attention.skip.kind=1 row.attention.skip.value=2 row.attention.gate=1"
};

/* Before and after F: norms, scales, shifts, heads. */
static const char *const rows_branch[] = {
    ROWS_POST "row.attention.shifts=1",                          /* W_O keeps its bias */
    ROWS_POST "row.attention.shifts=1 desc.arch=2",              /* also in the memory's maps */
    ROWS_POST "row.attention.shifts=1 row.attention.norm_inner=1 desc.no_bias=1",
    ROWS_POST "row.ffn.shifts=1 desc.no_bias=1 desc.arch=1 desc.head=1 desc.classes=5",
    ROWS_POST "row.ffn.shifts=1 row.ffn.scales=1",
    ROWS_POST "row.ffn.shifts=1 row.ffn.in.kind=1 row.ffn.in.value=0.5",
    ROWS_POST "row.ffn.shifts=1 row.ffn.in.kind=2 row.ffn.in.value=0.5 desc.activation=7",
    ROWS_POST "row.ffn.in.kind=6 row.ffn.in.value=0.5",
    ROWS_POST "row.ffn.in.kind=7 row.ffn.in.value=10 row.ffn.in.unit=2",
    ROWS_POST "row.ffn.in.kind=8 row.ffn.in.unit=2",
    ROWS_POST "row.ffn.out.kind=7 row.ffn.out.value=10 row.attention.out.kind=6",
    ROWS_POST "row.attention.norm_inner=1 row.attention.head_scale=1",
    ROWS_POST "row.attention.norm_inner=1 row.attention.head_scale=1 desc.norm=batchnorm",
    ROWS_POST "row.ffn.head_scale=2 desc.norm=crmsnorm desc.heads=8 desc.width=8",
    ROWS_POST "row.ffn.norm_branch=1 row.ffn.out.kind=2 row.ffn.out.value=0.5 desc.norm=seednorm",
    ROWS_PRE "row.ruled=1 row.kind=1 row.other.source=3 desc.arch=2",
    ROWS_PRE "row.ruled=1 row.kind=0 row.other.source=3 row.flags=9",
    ROWS_PRE "row.ffn.source=3",                                 /* N_in of N_in */
    ROWS_PRE "row.ffn.source=3 desc.untied=1",
    ROWS_PRE "row.attention.out.kind=5 row.attention.out.value=0.5 desc.untied=1",
    ROWS_PRE "row.flags=65 desc.untied=1",                       /* shifted before the final norm */
    ROWS_PRE "row.ffn.skip_from=1 desc.untied=1",
    ROWS_PRE "row.ffn.out.kind=6 row.ffn.out.value=0.5 desc.untied=1",
    ROWS_PRE "desc.arch=2 desc.untied=1 decoder_row.own=1 decoder_row.attention.norm_sum=1 "
    "decoder_row.ffn.norm_sum=1",                                /* only the encoder is centred */
    ROWS_PRE "desc.norm=powernorm",
    ROWS_PRE "row.attention.skip_from=1 row.attention.in.kind=2 row.attention.in.value=0.5"
};

/* An encoder that nothing reads still has running statistics, recomputed or not. */
static const char *const rows_unread[] = {
    ROWS_SMALL "twins=1 decoder_row.own=1 decoder_row.ffn.source=2 decoder_row.ffn.skip_from=1 "
    "desc.recipe=batchnorm desc.arch=2"
};

static void rows_fixed(const char *const *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rows_case c;
        if (!rows_read(&c, lines[i])) {
            FAIL("no such case: %s", lines[i]);
            continue;
        }
        c.seed = i + 1;
        if (rows_judge(&c) != ROWS_GOOD && !check_errors) FAIL("nothing to compare: %s", lines[i]);
    }
}

TEST(rows_shared_table) { rows_fixed(rows_shared, sizeof rows_shared / sizeof *rows_shared); }
/* One stack is enough to require it: the length of a row does not matter. */
TEST(rows_unit_table)
{
    static rows_data data;
    for (int i = 0; i < 2; i++) {
        rows_case c;
        tfn_model_desc d;
        tfn_model m;
        tfn_param_info p;
        float *want, *found;
        CHECK(rows_read(&c, rows_shared[i]));
        data.row[0] = rows_topology(&c.row, false);
        data.row[1] = rows_topology(&c.decoder_row, true);
        d = rows_desc(&c, &data);
        CHECK_INT(tfn_model_new(&m, &d, NULL), TFN_OK);
        rows_fill(&data, &m.desc, 1);
        want = rows_logits(&m, &data);
        for (int32_t k = 0; tfn_model_param(&m, k, &p); k++)
            if (!strcmp(p.name, "embedding.weight"))
                for (int32_t j = 0; j < p.rows * p.cols; j++) p.data[j] *= 2;
        found = rows_logits(&m, &data);
        CHECK(rows_largest(want, data.logits) > 0);
        CHECK(rows_gap(found, want, data.logits) <= 1e-6 * rows_largest(want, data.logits));
        free(found);
        free(want);
        tfn_model_free(&m);
    }
}
TEST(rows_skips_profiled)
{
    rows_fixed(rows_profiled, sizeof rows_profiled / sizeof *rows_profiled);
}
TEST(rows_skips_constant)
{
    rows_fixed(rows_constant, sizeof rows_constant / sizeof *rows_constant);
}
TEST(rows_branches) { rows_fixed(rows_branch, sizeof rows_branch / sizeof *rows_branch); }
TEST(rows_unread_stack) { rows_fixed(rows_unread, sizeof rows_unread / sizeof *rows_unread); }

/* A model that cannot be folded is refused by name, and nothing changes. */
static void rows_refusal(tfn_model *to, const tfn_model *from, const char *want)
{
    const size_t floats = (size_t)to->param_floats;
    float *before = rows_copy(to->params, floats);
    char text[300];
    CHECK_INT(tfn_model_fold(to, from), TFN_BAD_OPTION);
    if (!strstr(tfn_error_text(&to->error, text, sizeof text), want)) FAIL("%s: %s", want, text);
    CHECK_BITS(to->params, before, floats * sizeof(float));
    free(before);
}
static void rows_set_to(tfn_model *m, const char *name, float value)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        if (!strcmp(p.name, name)) p.data[0] = value;
}
static const struct { const char *text, *name; float value; const char *want; } rows_values[] = {
    { ROWS_ADMIN, "decoder.1.ffn.skip.weight", 0, "decoder.1.ffn.skip.weight" },
    { ROWS_ADMIN, "decoder.0.ffn.skip.weight", HUGE_VALF, "decoder.0.ffn.skip.weight" },
    { ROWS_ADMIN, "decoder.0.ffn.skip.weight", -HUGE_VALF, "decoder.0.ffn.skip.weight" },
    { ROWS_SMALL "desc.recipe=admin-direct", "decoder.0.self.skip.weight", 2,
      "decoder.0.self.skip.weight is not 1" },
    { ROWS_SMALL "desc.recipe=admin-direct", "decoder.0.self.skip.weight", 0.5f,
      "decoder.0.self.skip.weight is not 1" }
};

TEST(rows_refusals)
{
#define ROWS_PLAIN   ROWS_SMALL "desc.recipe=post "
#define ROWS_PAIR    ROWS_PLAIN "desc.arch=2 desc.layers=1 desc.decoder_layers=2 "
#define ROWS_CLASSES ROWS_PLAIN "desc.arch=1 desc.head=1 "
    static const struct { const char *from, *to, *want; } others[] = {
        { ROWS_PLAIN, ROWS_SMALL "desc.recipe=pre", ": decoder_topology differs" },
        { ROWS_PLAIN, ROWS_SMALL "desc.recipe=post-rms", ": norm differs" },
        { ROWS_PLAIN, ROWS_PLAIN "desc.width=32", ": width differs" },
        { ROWS_PLAIN, ROWS_PLAIN "desc.no_bias=1", ": no_bias differs" },
        { ROWS_PLAIN, ROWS_PLAIN "desc.activation=1", ": activation differs" },
        { ROWS_PLAIN, ROWS_PLAIN "desc.layers=1", ": layers differs" },
        { ROWS_PLAIN, ROWS_PLAIN "desc.untied=1", ": untied differs" },
        { ROWS_PLAIN, ROWS_PLAIN "desc.norm_eps=0.001", ": norm_eps differs" },
        { ROWS_PLAIN, ROWS_PLAIN "desc.context=6", "position.weight has another shape" },
        { ROWS_PLAIN, ROWS_PLAIN "desc.arch=2", ": arch differs" },
        { ROWS_PAIR, ROWS_PAIR "desc.decoder_layers=1", ": decoder_layers differs" },
        { ROWS_PAIR, ROWS_PAIR "desc.decoder_norm=rmsnorm", ": decoder_norm differs" },
        { ROWS_PAIR "row.own=1 decoder_row.own=1",
          ROWS_PAIR "row.own=1 row.ffn.norm_in=1 decoder_row.own=1", ": topology differs" },
        { ROWS_PAIR "row.own=1 decoder_row.own=1",
          ROWS_PAIR "row.own=1 decoder_row.own=1 decoder_row.ffn.norm_in=1",
          ": decoder_topology differs" },
        { ROWS_CLASSES "desc.classes=3", ROWS_CLASSES "desc.classes=4", "has another shape" }
    };
    static rows_data data, changed;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        tfn_model from, to;
        rows_case c;
        tfn_model_desc d;
        CHECK(rows_read(&c, others[i].from));
        data.row[0] = rows_topology(&c.row, false);
        data.row[1] = rows_topology(&c.decoder_row, true);
        d = rows_desc(&c, &data);
        CHECK_INT(tfn_model_new(&from, &d, NULL), TFN_OK);
        CHECK(rows_read(&c, others[i].to));
        changed.row[0] = rows_topology(&c.row, false);
        changed.row[1] = rows_topology(&c.decoder_row, true);
        d = rows_desc(&c, &changed);
        d.inference = d.folded = true;
        CHECK_INT(tfn_model_new(&to, &d, NULL), TFN_OK);
        rows_refusal(&to, &from, others[i].want);
        tfn_model_free(&to);
        tfn_model_free(&from);
    }
    for (size_t i = 0; i < sizeof rows_values / sizeof *rows_values; i++) {
        tfn_model from, to;
        rows_case c;
        tfn_model_desc d;
        CHECK(rows_read(&c, rows_values[i].text));
        rows_now = &c;
        data.row[0] = rows_topology(&c.row, false);
        d = rows_desc(&c, &data);
        CHECK_INT(tfn_model_new(&from, &d, NULL), TFN_OK);
        d.inference = d.folded = true;
        CHECK_INT(tfn_model_new(&to, &d, NULL), TFN_OK);
        rows_set_to(&from, rows_values[i].name, rows_values[i].value);
        rows_refusal(&to, &from, rows_values[i].want);
        tfn_model_free(&to);
        tfn_model_free(&from);
    }
}

/* Random cases; a wrong one is shrunk. The default tier runs only 500 of 10,000; fuzz/rows.c runs
 * more. */
TEST(rows_random)
{
    const int counts[] = { 50, 500, 10000, 40000 };
    const int count = counts[check_tier() < 3 ? check_tier() : 3];
    int found[ROWS_WRONG + 1] = { 0 };
    double worst = 0;
    for (int i = 0; i < count; i++) {
        rows_case c;
        rows_result r;
        rows_draw(&c, UINT64_C(1000003) * (uint64_t)i);
        r = rows_check(&c);
        found[r.verdict]++;
        if (r.verdict == ROWS_GOOD && r.gap > worst) worst = r.gap;
        if (r.verdict != ROWS_WRONG) continue;
        rows_shrink(&c);
        rows_judge(&c);
    }
    printf("  %d models of seeds 0, 1000003, ...: %d hold, %.1f %% are refused when made, %.1f %% "
           "by fold, %d are not finite; folded %.2g off at most\n", count, found[ROWS_GOOD],
           100.0 * found[ROWS_REFUSED] / count, 100.0 * found[ROWS_NO_FOLD] / count,
           found[ROWS_WILD], worst);
    CHECK(found[ROWS_GOOD] > 0.8 * count);
    CHECK_INT(found[ROWS_NO_FOLD], 0);          /* random weights never prevent folding */
}

int main(void)
{
    RUN(rows_shared_table);
    RUN(rows_unit_table);
    RUN(rows_skips_profiled);
    RUN(rows_skips_constant);
    RUN(rows_branches);
    RUN(rows_unread_stack);
    RUN(rows_refusals);
    RUN(rows_random);
    return DONE();
}
