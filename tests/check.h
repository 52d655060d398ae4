/* The tests' own framework: TEST defines a case, RUN runs it and prints its line, DONE ends main.
 *
 * A file test_NAME.c is a program: TEST(name_case) { CHECK(...); } and
 *     int main(void) { RUN(name_case); return DONE(); }
 * all.c includes most of them as one program with each main renamed, so every name at file scope
 * (helper, type, macro, enum) begins with the NAME of the file. Step counts follow check_tier. */
#ifndef CHECK_H
#define CHECK_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int check_passed, check_failed, check_errors;
static const char *check_skipped, *check_name;

#define TEST(name) static void name(void)
#define FAIL(...)                                                                              \
    do {                                                                                       \
        if (check_errors++ < 5)                                                                \
            printf("  %s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n");        \
    } while (0)
#define CHECK(x) do { if (!(x)) FAIL("%s", #x); } while (0)
#define CHECK_INT(a, b)                                                                        \
    do {                                                                                       \
        long long a_ = (long long)(a), b_ = (long long)(b);                                    \
        if (a_ != b_) FAIL("%s is %lld, not %lld", #a, a_, b_);                                \
    } while (0)
/* |a - b| <= tolerance * max(1, |b|); NaN fails */
#define CHECK_CLOSE(a, b, tolerance)                                                           \
    do {                                                                                       \
        double a_ = (a), b_ = (b);                                                             \
        if (!(fabs(a_ - b_) <= (tolerance) * (fabs(b_) > 1 ? fabs(b_) : 1)))                   \
            FAIL("%s is %.9g, not %.9g", #a, a_, b_);                                          \
    } while (0)
#define CHECK_BITS(a, b, bytes)                                                                \
    do {                                                                                       \
        if (memcmp(a, b, bytes)) FAIL("%s and %s differ", #a, #b);                             \
    } while (0)
#define SKIP(reason) do { check_skipped = (reason); return; } while (0)

static void check_run(const char *name, void (*test)(void))
{
    const char *only = getenv("TEST_ONLY");         /* a part of the names of those to run */
    const char *without = getenv("TEST_WITHOUT");   /* names of those not to run */
    clock_t start = clock();
    if ((only && !strstr(name, only)) || (without && strstr(without, name))) return;
    check_errors = 0;
    check_skipped = NULL;
    check_name = name;
    test();
    if (check_skipped) printf("skipped: %s: %s\n", name, check_skipped);
    else {
        printf("%s %-44s %6.2f s\n", check_errors ? "FAILED" : "ok    ", name,
               (double)(clock() - start) / CLOCKS_PER_SEC);
        if (check_errors) check_failed++;
        else check_passed++;
    }
    fflush(stdout);
}
#define RUN(name) check_run(#name, name)
#define CHECK_TALLY() \
    (printf("%d passed, %d failed\n", check_passed, check_failed), check_failed ? 1 : 0)
#ifdef TESTS_ALL
#define DONE() 0                /* all.c prints the tally of all */
#else
#define DONE() CHECK_TALLY()
#endif

/* What a tier leaves out: LEFT_OUT("%d of %d rows", left, all). */
#define LEFT_OUT(...) (printf("left out: %s: ", check_name), printf(__VA_ARGS__), printf("\n"))

/* TEST_TIER, set by the Makefile: 0 quick, 1 default, 2 full (or extra), 3 night. */
static inline int check_tier(void)
{
    const char *tier = getenv("TEST_TIER");
    if (!tier) return 1;
    if (!strcmp(tier, "quick")) return 0;
    if (!strcmp(tier, "full") || !strcmp(tier, "extra")) return 2;
    return strcmp(tier, "night") ? 1 : 3;
}

#endif
