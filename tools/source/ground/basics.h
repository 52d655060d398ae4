#ifndef TFN__BASICS_H
#define TFN__BASICS_H
#include "ground.h"

/* Texts, errors, arenas, sorting and random numbers, for all parts above. Builds on ground. Needs
 * no <stdio.h>, and does not depend on the locale. */

/* A text under construction in the caller's buffer. Bytes beyond `size` are dropped but counted in
 * `used`, so that a caller can ask for the size first, as with snprintf. */
typedef struct tfn__text {
    char  *buf;
    size_t size;
    size_t used;
} tfn__text;

SHARED tfn__text tfn__text_in(void *buf, size_t size);
SHARED void tfn__put_bytes(tfn__text *t, const void *from, size_t n);
SHARED void tfn__put(tfn__text *t, const char *s);
SHARED void tfn__put_texts(tfn__text *t, const char *a, const char *b, const char *c);
SHARED char *tfn__end(tfn__text *t);
SHARED void tfn__put_int(tfn__text *t, const char *before, int64_t value, const char *after);
SHARED double tfn__decimal(double v, int64_t power);
SHARED void tfn__put_float(tfn__text *t, float x);
SHARED TFN__NOINLINE tfn_status tfn__keep_error(tfn_error *e, tfn_status status, const char *op,
                                                const char *text, int64_t found, int64_t wanted);
SHARED void tfn__keep_error_name(tfn_error *e, tfn_status status, const char *op, const char *text,
                                 const char *name);

/* Use these macros, not the functions: with TFNORM_NO_MESSAGES they drop the text of the message,
 * so that the compiler keeps no string. */
#if TFN__MESSAGES
#define TFN__SAID(text) (text)
#else
#define TFN__SAID(text) ((void)(text), (const char *)NULL)
#endif
#define tfn__fail(e, status, op, text, found, wanted)                                              \
    tfn__keep_error(e, status, op, TFN__SAID(text), found, wanted)
#define tfn__fail_name(e, status, op, text, name)                                                  \
    tfn__keep_error_name(e, status, op, TFN__SAID(text), name)

SHARED bool tfn__given(tfn_error *e, const char *op, const char *name, const void *p);
SHARED void tfn__made(tfn_error *e, const char *op, const void *part);
SHARED void tfn__no_error(tfn_error *e);
SHARED void tfn__forgive(tfn_error *e);
SHARED size_t tfn__mul(size_t a, size_t b);
SHARED size_t tfn__sum(size_t a, size_t b);
SHARED size_t tfn__count(int64_t n);

/* The alignment of all arrays, in bytes: a cache line, and an AVX-512 vector. */
#define TFN__ALIGN 64

/* Forbid or permit access to memory. Tests with the address sanitizer define both. */
#ifndef TFN__FORBID
#define TFN__FORBID(p, bytes) ((void)(p), (void)(bytes))
#define TFN__PERMIT(p, bytes) ((void)(p), (void)(bytes))
#endif

/* An arena: a block of memory handed out from the front. Single pieces are never freed. Without a
 * block it only counts, and hands out an address that is not NULL and must not be read. So the code
 * that builds a model also computes its size, run once on a counting arena. Pass the arena by value
 * for temporary memory: when the callee returns, everything it took is free again. `peak` is the
 * most that was ever in use. */
typedef struct tfn__arena {
    unsigned char *base;      /* NULL: count only */
    size_t         size, used, peak;
} tfn__arena;
SHARED tfn__arena tfn__arena_in(void *mem, size_t size);
SHARED void tfn__only_count(tfn__arena *a);
SHARED unsigned char *tfn__take(tfn__arena *a, size_t count, size_t each, tfn_error *e);
SHARED int32_t *tfn__take_ids(tfn__arena *a, size_t n, tfn_error *e);

/* The comparison for sorting indices: true if element i of x comes before element j. */
typedef bool tfn__before_fn(const void *x, int32_t i, int32_t j);
SHARED void tfn__sink(int32_t *order, int32_t at, int32_t n, tfn__before_fn *before, const void *x);
SHARED void tfn__sort(int32_t *order, int32_t n, tfn__before_fn *before, const void *x);
SHARED void tfn__order(int32_t *order, int32_t n, tfn__before_fn *before, const void *x);
/* A counter-based generator without state: each number is a function of a key and an index. So any
 * thread can draw any number, masks need not be stored, and a resumed run draws the same numbers as
 * an uninterrupted one. The generator is splitmix64 (Steele, Lea & Flood 2014): each step adds
 * 2^64 / golden ratio to a counter, and a mixer scrambles the sum (Stafford's variant 13). */
#define TFN__GOLDEN UINT64_C(0x9e3779b97f4a7c15)
static TFN__INLINE uint64_t tfn__mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

#endif /* TFN__BASICS_H */
