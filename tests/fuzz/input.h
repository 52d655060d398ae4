/* Inputs for the fuzzers of readers: texts built from a grammar, with small changes. The library
 * gets them flush against a page that cannot be read, so that reading a byte too many is found even
 * without a sanitizer. Include this first, before ../lib.h. */
#ifndef INPUT_H
#define INPUT_H
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE                 /* MAP_ANONYMOUS, even with -std=c99 */
#endif
#include "fuzz.h"
#include <math.h>
#if defined __unix__ || defined __APPLE__
#include <sys/mman.h>
#endif

/* -- rooms ----------------------------------------------------------------------------------- */

enum { INPUT_PAGE = 1 << 16 };          /* a multiple of every page size in use */

/* Room for `size` bytes that end at an inaccessible page. */
typedef struct input_room { unsigned char *end; size_t size; } input_room;

static input_room input_room_new(size_t size)
{
    input_room r;
    const size_t whole = (size + INPUT_PAGE - 1) / INPUT_PAGE * INPUT_PAGE;
#if defined __unix__ || defined __APPLE__
    unsigned char *p = (unsigned char *)mmap(NULL, whole + INPUT_PAGE, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == (unsigned char *)MAP_FAILED || mprotect(p + whole, INPUT_PAGE, PROT_NONE)) exit(2);
#else
    unsigned char *p = (unsigned char *)malloc(whole);
    if (!p) exit(2);
#endif
    r.end = p + whole;
    r.size = whole;
    return r;
}

/* The last n bytes of a room; NULL: the room is too small. */
static void *input_last(input_room r, size_t n) { return n <= r.size ? r.end - n : NULL; }

static void *input_place(input_room r, const void *from, size_t n)
{
    return n ? memcpy(input_last(r, n), from, n) : r.end;
}

/* -- texts ----------------------------------------------------------------------------------- */

enum { INPUT_MOST = 1 << 15 };
typedef struct input { size_t n; unsigned char s[INPUT_MOST]; } input;

static void input_bytes(input *in, const void *from, size_t n)
{
    if (n > INPUT_MOST - in->n) return;
    memcpy(in->s + in->n, from, n);
    in->n += n;
}
static void input_put(input *in, const char *text) { input_bytes(in, text, strlen(text)); }
static void input_byte(input *in, int byte)
{
    const unsigned char c = (unsigned char)byte;
    input_bytes(in, &c, 1);
}
static void input_number(input *in, long long v)
{
    char digits[24];
    unsigned long long left = v < 0 ? 0 - (unsigned long long)v : (unsigned long long)v;
    int at = sizeof digits;
    do digits[--at] = (char)('0' + left % 10); while (left /= 10);
    if (v < 0) digits[--at] = '-';
    input_bytes(in, digits + at, sizeof digits - (size_t)at);
}
/* One of several texts. */
#define INPUT_ONE_OF(list) ((list)[fuzz_below((int)(sizeof (list) / sizeof *(list)))])

/* -- changes --------------------------------------------------------------------------------- */

/* Replaces `gone` bytes at `at` by n bytes. */
static void input_splice(input *in, size_t at, size_t gone, const void *from, size_t n)
{
    unsigned char copy[64];
    if (n > sizeof copy) n = sizeof copy;
    if (n) memcpy(copy, from, n);       /* they may be part of the input */
    if (at > in->n) at = in->n;
    if (gone > in->n - at) gone = in->n - at;
    if (in->n - gone + n > INPUT_MOST) return;
    memmove(in->s + at + n, in->s + at + gone, in->n - at - gone);
    if (n) memcpy(in->s + at, copy, n);
    in->n = in->n - gone + n;
}

/* Makes one change at a random place from `from` on. */
static void input_change(input *in, size_t from)
{
    static const char *const words[] = {
        "\"", "{", "}", "[", "]", ",", ":", "\\", "\\u", "\\ud800", "\\u0000", "0", "-", "1", ".",
            "e",
        "9223372036854775807", "18446744073709551616", "281474976710655", "4294967296", "-1",
            "1e9999",
        "true", "false", "null", "{}", "[]", "\"\":", " ", "\n", "\xc3\xa9", "\xed\xa0\x80", "\xff"
    };
    const size_t length = in->n > from ? in->n - from : 0;
    const size_t at = length ? from + fuzz_bits() % length : from;
    const char *word = INPUT_ONE_OF(words);
    const size_t run = 1 + fuzz_bits() % 8;
    if (!length) return;
    switch (fuzz_below(8)) {
    case 0: in->s[at] ^= (unsigned char)(1 << fuzz_below(8)); break;
    case 1: in->s[at] = (unsigned char)fuzz_below(256); break;
    case 2: input_splice(in, at, 0, word, strlen(word)); break;
    case 3: input_splice(in, at, 1, word, strlen(word)); break;
    case 4: input_splice(in, at, run, NULL, 0); break;
    case 5: input_splice(in, at, 0, in->s + at, run < in->n - at ? run : in->n - at); break;
    case 6: in->n = at; break;
    default:
        for (size_t i = at; i < in->n; i++)     /* the next digit */
            if (in->s[i] >= '0' && in->s[i] <= '9') {
                in->s[i] = (unsigned char)('0' + fuzz_below(10));
                break;
            }
    }
}

/* Leaves two inputs in five unchanged; the others get one or more changes. */
static void input_mutate(input *in, size_t from)
{
    if (fuzz_below(5) < 2) return;
    do input_change(in, from); while (fuzz_one_in(3));
}
#endif
