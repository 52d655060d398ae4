/* The same bits everywhere: every instruction set of this machine, with 1 and 2 threads. The result
 * of tfn_bits decides which hash tfn_selfcheck must give: "canonical" TFN_BITS_HASH, "differ: no
 * FMA" TFN_BITS_HASH_NO_FMA; no other result is allowed. builds.sh and platforms.sh build this test
 * in many ways. With BITS_EXCLUDED the build is one that the promise excludes, and tfn_bits must
 * give the reason for plain C. */
#include <fenv.h>
#include "../lib.h"
#include "../check.h"

static tfn_isa bits_isa;
static int32_t bits_threads;

static bool bits_claims(const char *text) { return !strcmp(tfn_bits(bits_isa), text); }

TEST(bits_selfcheck)
{
    size_t size = tfn_selfcheck_size();
    void *mem = malloc(size);
    uint64_t hash = mem ? tfn_selfcheck(mem, size, bits_isa, bits_threads) : 0;
    free(mem);
    printf("  %s, the hash is %08lx%08lx\n", tfn_bits(bits_isa), (unsigned long)(hash >> 32),
           (unsigned long)(hash & 0xffffffff));
    CHECK(hash != 0);
    if (bits_claims("canonical")) CHECK(hash == TFN_BITS_HASH);
    if (bits_claims("differ: no FMA")) CHECK(hash == TFN_BITS_HASH_NO_FMA);
#ifdef BITS_EXCLUDED
    if (bits_isa == TFN_ISA_PLAIN) CHECK(!bits_claims("canonical")
                                         && !bits_claims("differ: no FMA"));
#else
    CHECK(bits_claims("canonical") || bits_claims("differ: no FMA"));
#endif
}

/* In any rounding mode other than to nearest, tfn_bits reports that for every instruction set, and
 * is canonical again afterwards. The calls go through a volatile pointer, so that none moves across
 * fesetround. */
TEST(bits_rounding_modes)
{
    static const int modes[] = {
#ifdef FE_UPWARD
        FE_UPWARD,
#endif
#ifdef FE_DOWNWARD
        FE_DOWNWARD,
#endif
#ifdef FE_TOWARDZERO
        FE_TOWARDZERO,
#endif
        -1
    };
    const char *(*volatile ask)(tfn_isa isa) = tfn_bits;
    int found = 0;
    for (int isa = TFN_ISA_BEST; isa < TFN_ISA_COUNT; isa++) {
        const char *before = ask((tfn_isa)isa);
        if (!tfn_kernels_for((tfn_isa)isa) || sizeof(float) != 4) continue;
        for (int i = 0; modes[i] >= 0; i++) {
            const char *said;
            const int begin = fegetround();
            if (fesetround(modes[i])) continue;
            said = ask((tfn_isa)isa);
            fesetround(begin);
            found++;
            if (strcmp(said, "differ: the rounding mode is not to nearest"))
                FAIL("isa %d, mode %d: %s", isa, modes[i], said);
        }
        if (strcmp(before, ask((tfn_isa)isa))) FAIL("isa %d: %s afterwards", isa, ask((tfn_isa)isa));
    }
    if (!found) SKIP("this platform has no other rounding mode");
}

int main(void)
{
    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        if (!k) continue;
        for (bits_threads = 1; bits_threads <= 2; bits_threads++) {
            char name[64];
            bits_isa = (tfn_isa)isa;
            snprintf(name, sizeof name, "bits %s %d thread%s", k->name, (int)bits_threads,
                     bits_threads > 1 ? "s" : "");
            check_run(name, bits_selfcheck);
        }
    }
    RUN(bits_rounding_modes);
    return DONE();
}
