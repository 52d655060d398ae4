/* The self-check as a WebAssembly module without a C library: wasm.js calls hash(isa) and
 * bits(isa). */
#define TFNORM_NO_MALLOC
#define TFNORM_NO_STDIO
#define TFNORM_IMPLEMENTATION
#include "../../../tfnorm.h"

static unsigned char block[8 << 20];

/* The loops are volatile: clang would make calls of memset and memcpy of them. */
void *memset(void *to, int byte, size_t bytes)
{
    volatile unsigned char *p = (unsigned char *)to;
    while (bytes--) *p++ = (unsigned char)byte;
    return to;
}

void *memcpy(void *to, const void *from, size_t bytes)
{
    volatile unsigned char *p = (unsigned char *)to;
    const unsigned char *q = (const unsigned char *)from;
    while (bytes--) *p++ = *q++;
    return to;
}

double ldexp(double x, int power)       /* for files only, which are not read here */
{
    for (; power > 0; power--) x *= 2;
    for (; power < 0; power++) x /= 2;
    return x;
}

__attribute__((export_name("hash"))) uint64_t hash(int isa);
uint64_t hash(int isa) { return tfn_selfcheck(block, sizeof block, (tfn_isa)isa, 1); }

__attribute__((export_name("wanted"))) uint64_t wanted(int fma);
uint64_t wanted(int fma) { return fma ? TFN_BITS_HASH : TFN_BITS_HASH_NO_FMA; }

__attribute__((export_name("bits"))) const char *bits(int isa);
const char *bits(int isa) { return tfn_bits((tfn_isa)isa); }

__attribute__((export_name("find"))) int find(int wide);
int find(int wide) { return wide ? TFN_ISA_BEST : TFN_ISA_PLAIN; }

#ifdef TFNORM_EXACT                     /* see quantized.sh */
#include "../quantized.h"
__attribute__((export_name("quantized"))) uint64_t quantized(int type, int wide);
uint64_t quantized(int type, int wide) { return quantized_hash((tfn_weights)type, (tfn_isa)find(wide)); }
#endif
