/* The same bits everywhere, for every instruction set that this machine has, with 1 and 2 threads.
 * What tfn_bits says decides which hash tfn_selfcheck must give: "canonical" TFN_BITS_HASH,
 * "differ: no FMA" TFN_BITS_HASH_NO_FMA; it says nothing else. builds.sh and platforms.sh build it
 * in many other ways; with BITS_EXCLUDED in one that the promise excludes, and there tfn_bits must
 * say of plain C why. */
#include "lib.h"
#include "check.h"

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
    return DONE();
}
