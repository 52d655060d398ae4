/* Parts that all fuzzers share: arguments, random numbers, counts and the last line.
 *
 *     NAME [SEED [SECONDS [FIRST]]]
 *
 * Case i of a seed is the same on every machine. fuzz_case(i) is called for i = FIRST, FIRST + 1
 * ... until SECONDS of processor time are over (default 10; 0: only one case, to repeat a failure).
 * A case that finds a defect calls FUZZ_FAIL, which prints seed and number, so that `NAME SEED 0
 * NUMBER` repeats it. tests/fuzz.sh builds the fuzzers with the sanitizers.
 *
 * A fuzzer defines `static void fuzz_case(void)` before `int main` = fuzz_main("name", argc, argv).
 * */
#ifndef FUZZ_H
#define FUZZ_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static unsigned long long fuzz_seed, fuzz_number, fuzz_state;
static unsigned long long fuzz_executions;      /* inputs given to the library */
static unsigned long long fuzz_accepted;        /* inputs without an error */
static unsigned long long fuzz_models;          /* whole models that were made */
static int fuzz_failures;

#define FUZZ_FAIL(...)                                                                         \
    do {                                                                                       \
        fuzz_failures++;                                                                       \
        printf("  seed %llu case %llu: ", fuzz_seed, fuzz_number), printf(__VA_ARGS__);        \
        printf("\n");                                                                          \
        fflush(stdout);                 /* kept even if the run is killed */                   \
    } while (0)
#define FUZZ_CHECK(x) do { if (!(x)) FUZZ_FAIL("%s:%d: %s", __FILE__, __LINE__, #x); } while (0)

/* splitmix64 (Steele 2014): 64 random bits. */
static unsigned long long fuzz_bits(void)
{
    unsigned long long z = fuzz_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
/* An integer in 0 .. n-1. */
static int fuzz_below(int n) { return (int)(fuzz_bits() % (unsigned long long)n); }
/* True once in n times. */
static int fuzz_one_in(int n) { return fuzz_below(n) == 0; }

static void fuzz_case(void);

static int fuzz_main(const char *name, int argc, char **argv)
{
    const double seconds = argc > 2 ? atof(argv[2]) : 10;
    const clock_t start = clock();
    fuzz_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    fuzz_number = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    do {
        fuzz_state = fuzz_seed * 0x2545f4914f6cdd1du ^ fuzz_number * 0x9e3779b97f4a7c15u;
        fuzz_bits();
        fuzz_case();
        fuzz_number++;
    } while (fuzz_failures < 10 && (double)(clock() - start) / CLOCKS_PER_SEC < seconds);
    printf("%s: %llu executions, %llu accepted, %llu models, seed %llu, %.0f s\n", name,
           fuzz_executions, fuzz_accepted, fuzz_models, fuzz_seed,
           (double)(clock() - start) / CLOCKS_PER_SEC);
    if (seconds > 0 && fuzz_accepted * 10 < fuzz_executions)
        FUZZ_FAIL("less than a tenth of the inputs was accepted");
    return fuzz_failures ? 1 : 0;
}
#endif
