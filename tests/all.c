/* cc -O2 tests/all.c -o all -lm && ./all [NAME ...]
 * The core tests as one program, or those of the files named: every test file with its main renamed
 * (the rule is in check.h). */
#define TESTS_ALL
#include "lib.h"
#include "check.h"

#define main math_main
#include "test_math.c"
#undef main
#define main dense_main
#include "test_dense.c"
#undef main
#define main kernels_main
#include "test_kernels.c"
#undef main
#define main guard_main
#include "test_guard.c"
#undef main
#define main quant_main
#include "test_quant.c"
#undef main
#define main reference_main
#include "test_reference.c"
#undef main
#define main norms_main
#include "test_norms.c"
#undef main
#define main attention_main
#include "test_attention.c"
#undef main
#define main embed_main
#include "test_embed.c"
#undef main
#define main schedules_main
#include "test_schedules.c"
#undef main
#define main tape_main
#include "test_tape.c"
#undef main
#define main model_main
#include "test_model.c"
#undef main
#define main step_main
#include "test_step.c"
#undef main
#define main ema_main
#include "test_ema.c"
#undef main
#define main mup_main
#include "test_mup.c"
#undef main
#define main identities_main
#include "test_identities.c"
#undef main
#define main inits_main
#include "test_inits.c"
#undef main
#define main generate_main
#include "test_generate.c"
#undef main
#define main metrics_main
#include "test_metrics.c"
#undef main
#define main golden_main
#include "test_golden.c"
#undef main
#define main tokenize_main
#include "test_tokenize.c"
#undef main
#define main hub_main
#include "test_hub.c"
#undef main
#define main import_main
#include "test_import.c"
#undef main
#define main export_main
#include "test_export.c"
#undef main
#define main papers_main
#include "test_papers.c"
#undef main
#define main files_main
#include "test_files.c"
#undef main
#define main own_main
#include "test_own.c"
#undef main
#define main options_main
#include "test_options.c"
#undef main
#define main foreign_main
#include "test_foreign.c"
#undef main
#define main groups_main
#include "test_groups.c"
#undef main
#define main nulls_main
#include "test_nulls.c"
#undef main
#define main reading_main
#include "test_reading.c"
#undef main
#define main bits_main
#include "test_bits.c"
#undef main

static bool wanted(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], name)) return true;
    return argc < 2;
}

#define FILE_TESTS(name) if (wanted(argc, argv, #name)) name##_main();
int main(int argc, char **argv)
{
    FILE_TESTS(math)
    FILE_TESTS(dense)
    FILE_TESTS(kernels)
    FILE_TESTS(guard)
    FILE_TESTS(reference)
    FILE_TESTS(norms)
    FILE_TESTS(attention)
    FILE_TESTS(embed)
    FILE_TESTS(schedules)
    FILE_TESTS(tape)
    FILE_TESTS(model)
    FILE_TESTS(step)
    FILE_TESTS(identities)
    FILE_TESTS(inits)
    FILE_TESTS(generate)
    FILE_TESTS(metrics)
    FILE_TESTS(golden)
    FILE_TESTS(tokenize)
    FILE_TESTS(hub)
    FILE_TESTS(import)
    FILE_TESTS(export)
    FILE_TESTS(papers)
    FILE_TESTS(files)
    FILE_TESTS(own)
    FILE_TESTS(options)
    FILE_TESTS(foreign)
    FILE_TESTS(groups)
    FILE_TESTS(nulls)
    FILE_TESTS(reading)
    FILE_TESTS(bits)
    return CHECK_TALLY();
}
