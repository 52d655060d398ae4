/* The same bits everywhere: tfn_selfcheck against TFN_BITS_HASH for every instruction set that this
 * machine has, with 1 and 2 threads. builds.sh and platforms.sh build it in many other ways. */
#include "lib.h"
#include "check.h"

static tfn_isa bits_isa;
static int32_t bits_threads;

TEST(bits_selfcheck)
{
    size_t size = tfn_selfcheck_size();
    void *mem = malloc(size);
    uint64_t hash = mem ? tfn_selfcheck(mem, size, bits_isa, bits_threads) : 0;
    free(mem);
    if (hash != TFN_BITS_HASH)
        FAIL("the hash is %08lx%08lx", (unsigned long)(hash >> 32), (unsigned long)(hash & 0xffffffff));
}

TEST(bits_differ)           /* and says so; the sum must not be canonical by accident of the test */
{
    size_t size = tfn_selfcheck_size();
    void *mem = malloc(size);
    CHECK(mem && tfn_selfcheck(mem, size, bits_isa, bits_threads) != TFN_BITS_HASH);
    CHECK(!strncmp(tfn_bits(bits_isa), "differ", 6));
    free(mem);
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
            check_run(name, k->fma ? bits_selfcheck : bits_differ);
        }
    }
    return DONE();
}
