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
static int check_lacking;               /* tests that were skipped */
static const char *check_skipped, *check_name;
static char check_case[300];

#define TEST(name) static void name(void)

/* Names the case of a table that is being checked, until the next CASE or the test's end. The name
 * is printed with failures. */
#define CASE(...) ((void)snprintf(check_case, sizeof check_case, __VA_ARGS__))

/* Prints the first failures of a test, counts all. */
static int check_fails(const char *file, int line)
{
    if (check_errors++ >= 5) return 0;
    printf("  %s:%d: ", file, line);
    if (check_case[0]) printf("[%s] ", check_case);
    return 1;
}
#define FAIL(...)                                                                              \
    do {                                                                                       \
        if (!check_fails(__FILE__, __LINE__)) break;                                           \
        printf(__VA_ARGS__);                                                                   \
        printf("\n");                                                                          \
    } while (0)
#define CHECK(x) do { if (!(x)) FAIL("%s", #x); } while (0)
#define CHECK_INT(a, b)                                                                        \
    do {                                                                                       \
        const long long a_ = (long long)(a);                                                   \
        const long long b_ = (long long)(b);                                                   \
        if (a_ != b_) FAIL("%s is %lld, not %lld", #a, a_, b_);                                \
    } while (0)
/* |a - b| <= tolerance * max(1, |b|); NaN fails */
#define CHECK_CLOSE(a, b, tolerance)                                                           \
    do {                                                                                       \
        const double a_ = (a);                                                                 \
        const double b_ = (b);                                                                 \
        const double scale_ = fabs(b_) > 1 ? fabs(b_) : 1;                                     \
        if (!(fabs(a_ - b_) <= (tolerance) * scale_))                                          \
            FAIL("%s is %.9g, not %.9g", #a, a_, b_);                                          \
    } while (0)

/* The larger of two errors. NaN counts as infinite: each comparison with NaN is false, so in
 * if (!(e <= most)) most = e; the next error would replace it. */
static inline double check_worse(double most, double error)
{
    if (error <= most) return most;
    return error > most ? error : HUGE_VAL;
}

/* Finds the first difference of two blocks: the byte, and the four bytes around it in
 * hexadecimal. */
static inline void check_bits(const void *a, const void *b, size_t bytes, const char *names,
                       const char *file, int line)
{
    const unsigned char *x = (const unsigned char *)a;
    const unsigned char *y = (const unsigned char *)b;
    size_t i = 0;
    if (!bytes || !memcmp(a, b, bytes) || !check_fails(file, line)) return;
    while (x[i] == y[i]) i++;
    printf("%s differ from byte %lu of %lu (float %lu):", names, (unsigned long)i,
           (unsigned long)bytes, (unsigned long)(i / 4));
    i -= i % 4;
    for (size_t j = i; j < bytes && j < i + 4; j++) printf(" %02x/%02x", x[j], y[j]);
    printf("\n");
}
#define CHECK_BITS(a, b, bytes) check_bits(a, b, bytes, #a " and " #b, __FILE__, __LINE__)
#define SKIP(reason) do { check_skipped = (reason); return; } while (0)

static void check_run(const char *name, void (*test)(void))
{
    const char *only = getenv("TEST_ONLY");         /* run tests with this part in their names */
    const char *without = getenv("TEST_WITHOUT");   /* names of tests to leave out */
    clock_t start = clock();
    if ((only && !strstr(name, only)) || (without && strstr(without, name))) return;
    check_errors = 0;
    check_skipped = NULL;
    check_name = name;
    check_case[0] = 0;
    test();
    if (check_skipped) {
        printf("skipped: %s: %s\n", name, check_skipped);
        check_lacking++;
    } else {
        printf("%s %-44s %6.2f s\n", check_errors ? "FAILED" : "ok    ", name,
               (double)(clock() - start) / CLOCKS_PER_SEC);
        if (check_errors) check_failed++;
        else check_passed++;
    }
    fflush(stdout);
}
#define RUN(name) check_run(#name, name)
/* Prints the last line; returns main's result. A run without tests is a failure, unless the machine
 * lacks what all of them need. */
static inline int check_tally(void)
{
#ifdef TFN_THREADS_H
    tfn_workers_stop();                     /* valgrind looks for leaks */
#endif
    if (!check_passed && !check_failed && !check_lacking) {
        printf("FAILED no test ran\n");
        check_failed = 1;
    }
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed ? 1 : 0;
}
#define CHECK_TALLY() check_tally()
#ifdef TESTS_ALL
#define DONE() 0                /* all.c prints the total */
#else
#define DONE() CHECK_TALLY()
#endif

/* Reports cases that a tier leaves out: LEFT_OUT("%d of %d rows", left, all). */
#define LEFT_OUT(...) (printf("left out: %s: ", check_name), printf(__VA_ARGS__), printf("\n"))

#ifdef TFNORM_VERSION
/* Same as tfn_error_text. Also checks that an error has no more numbers than its text has "%d". */
static inline const char *check_error_text(const tfn_error *e, char *buf, size_t size)
{
    int places = 0;
    if (e && e->text)
        for (const char *s = e->text; (s = strstr(s, "%d")) != NULL; s += 2) places++;
    if (e && ((places < 1 && e->found) || (places < 2 && e->wanted)))
        FAIL("an error has numbers that \"%s\" does not show: %lld, %lld", e->text ? e->text : "",
             (long long)e->found, (long long)e->wanted);
    return tfn_error_text(e, buf, size);
}
#define tfn_error_text check_error_text
#endif

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
