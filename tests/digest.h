/* A digest of the results of many inputs: statuses, values, and the numbers in messages, but not
 * their words. A test compares it with the digest of a version whose other tests passed. So it
 * notices a change; it does not show that a result is right. After an intended change, copy the
 * digest that the test prints. */
#ifndef DIGEST_H
#define DIGEST_H
#include <stdint.h>
#include "check.h"

static inline void digest_int(uint32_t *h, int64_t x)
{
    for (int i = 0; i < 8; i++) *h = (*h ^ (uint32_t)((uint64_t)x >> 8*i & 255)) * 16777619u;
}

static inline void digest_text(uint32_t *h, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) *h = (*h ^ (unsigned char)s[i]) * 16777619u;
    digest_int(h, (int64_t)n);
}

static inline void digest_floats(uint32_t *h, const float *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        const float x = v[i];
        memcpy(&bits, &x, sizeof bits);
        digest_int(h, x != x ? -1 : (int64_t)bits);
    }
}

/* An option of 4 or 8 bytes. */
static inline void digest_option(uint32_t *h, const void *p, size_t size)
{
    uint32_t four = 0;
    uint64_t eight = 0;
    if (size == sizeof four) memcpy(&four, p, sizeof four);
    else memcpy(&eight, p, sizeof eight);
    digest_int(h, (int64_t)(eight | four));
}

/* The status, and each number of the message after a space. */
static inline void digest_error(uint32_t *h, const tfn_error *e)
{
    char text[400];
    digest_int(h, (int64_t)e->status);
    if (e->status == TFN_OK) return;
    tfn_error_text(e, text, sizeof text);
    for (const char *s = text; *s; s++) {
        const char *begin = s + 1;
        if (*s != ' ' || !*begin) continue;
        begin += *begin == '-';
        if (*begin >= '0' && *begin <= '9') digest_text(h, s, strspn(begin, "0123456789"));
    }
}

#define DIGEST_BEGIN 2166136261u
#define CHECK_DIGEST(h, wanted)                                                                \
    do {                                                                                       \
        if ((h) != (wanted))                                                                   \
            FAIL("what is read or refused differs: digest 0x%08lxu", (unsigned long)(h));      \
    } while (0)

#endif
