/* Options in a build without threads and training. */
#define TFNORM_NO_TRAINING
#define TFNORM_NO_SIMD
#define TFNORM_NO_TOKENIZERS
#define TFNORM_NO_METRICS
#define TFNORM_NO_FILES
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#include "../check.h"

static tfn_status options_with(int32_t threads, bool inference, char *text, size_t size)
{
    tfn_model_desc d, out;
    tfn_error e;
    memset(&d, 0, sizeof d);
    d.vocab = d.context = 5;
    d.threads = threads;
    d.inference = inference;
    tfn_model_resolve(&out, &d, &e);
    tfn_error_text(&e, text, size);
    return e.status;
}

TEST(options_threads)
{
    char text[200];
    CHECK_INT(options_with(0, true, text, sizeof text), TFN_OK);
    CHECK_INT(options_with(1, true, text, sizeof text), TFN_OK);
    CHECK_INT(options_with(-1, true, text, sizeof text), TFN_BAD_OPTION);
    CHECK(!strcmp(text, "model: threads is -1; it must be at least 1"));
#ifndef _OPENMP
    CHECK_INT(options_with(2, true, text, sizeof text), TFN_UNSUPPORTED);
    CHECK(strstr(text, "model: threads is 2, this build has 1: it needs OpenMP or ") != NULL);
#endif
}

TEST(options_inference)
{
    char text[200];
    CHECK_INT(options_with(1, false, text, sizeof text), TFN_UNSUPPORTED);
    CHECK(strstr(text, "left out by TFNORM_NO_TRAINING: set inference") != NULL);
}

/* Other features that this build lacks: each error names the macro. */
TEST(options_left_out)
{
    static double block[1000];
    char text[200];
    for (int i = 0; i < 5; i++) {
        tfn_norm_args center;
        const tfn_var none = { 0 };
        tfn_tape t;
        tfn_var x;
        memset(&center, 0, sizeof center);
        center.kind = TFN_NORM_CENTER;
        tfn_tape_init(&t, block, sizeof block, 1, 4, 4, i == 4);
        x = tfn_input(&t, 0, TFN_ROWS_TARGET, 1);
        if (i == 0) tfn_cross_entropy(&t, x, 1, 0, 0);
        if (i == 1) tfn_mask_targets(&t, x, 1);
        if (i == 2) tfn_number_loss(&t, x, 1, TFN_NUMBER_LOSS_SQUARED, 0);
        if (i == 3) tfn_norm(&t, x, none, none, 1, &center);
        CHECK_INT(tfn_tape_plan(&t, tfn_kernels_for(TFN_ISA_BEST), 1), TFN_UNSUPPORTED);
        CHECK(strstr(tfn_error_text(&t.error, text, sizeof text), "left out by TFNORM_NO_TRAINING"));
    }
}

/* Rows of norms and initializations that this build lacks are refused, not ignored. */
TEST(options_own_rows)
{
    static const tfn_norm_rule norm = { "mine", "", "", 0, TFN_NORM_RMS, 0, 0, 0, TFN_SQUASH_TANH };
    tfn_init_rule init;
    memset(&init, 0, sizeof init);
    init.name = "mine";
    for (int i = 0; i < 5; i++) {
        tfn_model_desc d, out;
        tfn_error e;
        char text[200];
        memset(&d, 0, sizeof d);
        d.vocab = d.context = 5;
        d.inference = true;
        if (i == 1) d.norm_rule = &norm;
        if (i == 2) d.decoder_norm_rule = &norm;
        if (i == 3) d.init_rule = &init;
        if (i == 4) d.recipe = "rezero";
        CHECK(tfn_model_resolve(&out, &d, &e) == (i == 0));
        tfn_error_text(&e, text, sizeof text);
        if (i) CHECK(strstr(text, "TFNORM_NO_TRAINING"));
        if (i && i < 4) CHECK(strstr(text, "define TFNORM_ALL_NORMS"));
    }
}

int main(void)
{
    RUN(options_threads);
    RUN(options_inference);
    RUN(options_left_out);
    RUN(options_own_rows);
    return DONE();
}
