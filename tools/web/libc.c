/* The definitions of libc.h. */
#include "libc.h"

FILE web_files[2] = { { 0 }, { 1 } };

/* -- memory ------------------------------------------------------------------------------------ */

/* Memory is a stack. Before each piece there is the address of the previous one, and a mark if it
 * was freed. Freed pieces are removed when no later piece is in use. */
enum { ALIGN = 64, PAGE = 65536 };
typedef struct piece { uintptr_t before; bool free; } piece;
extern unsigned char __heap_base;               /* of the linker */
static uintptr_t heap_end, heap_last;           /* the next free byte, the last piece's header */

void *malloc(size_t bytes)
{
    if (!heap_end) heap_end = ((uintptr_t)&__heap_base + ALIGN - 1) / ALIGN * ALIGN;
    const size_t wanted = ALIGN + (bytes + ALIGN - 1) / ALIGN * ALIGN;
    const uintptr_t room = __builtin_wasm_memory_size(0) * (uintptr_t)PAGE;
    if (wanted < bytes || heap_end + wanted < heap_end) return NULL;
    if (heap_end + wanted > room) {
        const size_t pages = (heap_end + wanted - room + PAGE - 1) / PAGE;
        if (__builtin_wasm_memory_grow(0, pages) == SIZE_MAX) return NULL;
    }
    memset((void *)heap_end, 0, wanted);
    ((piece *)heap_end)->before = heap_last;
    heap_last = heap_end;
    heap_end += wanted;
    return (void *)(heap_last + ALIGN);
}

void free(void *p)
{
    if (!p) return;
    ((piece *)((uintptr_t)p - ALIGN))->free = true;
    while (heap_last) {
        if (!((piece *)heap_last)->free) break;
        heap_end = heap_last;
        heap_last = ((piece *)heap_last)->before;
    }
}

void *calloc(size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / bytes) return NULL;
    return malloc(count * bytes);
}

void *realloc(void *p, size_t bytes)
{
    size_t old = heap_end - (uintptr_t)p;               /* more than it has, but all memory */
    void *to = malloc(bytes);
    if (!p || !to) return to;
    if (old > bytes) old = bytes;
    return memcpy(to, p, old);
}

/* Instructions of bulk memory, where a call would call itself. */
void *memcpy(void *to, const void *from, size_t bytes)
{
    return __builtin_memcpy(to, from, bytes);
}
void *memmove(void *to, const void *from, size_t bytes)
{
    return __builtin_memmove(to, from, bytes);
}
void *memset(void *to, int byte, size_t bytes) { return __builtin_memset(to, byte, bytes); }

int memcmp(const void *a, const void *b, size_t bytes)
{
    const unsigned char *x = (const unsigned char *)a;
    const unsigned char *y = (const unsigned char *)b;
    for (size_t i = 0; i < bytes; i++)
        if (x[i] != y[i]) return x[i] - y[i];
    return 0;
}
void *memchr(const void *a, int byte, size_t bytes)
{
    const unsigned char *x = (const unsigned char *)a;
    for (size_t i = 0; i < bytes; i++)
        if (x[i] == byte) return (void *)(uintptr_t)&x[i];
    return NULL;
}

/* -- strings ----------------------------------------------------------------------------------- */

size_t strlen(const char *s)
{
    size_t n = 0;
    while (s[n]) n++;
    return n;
}
int strncmp(const char *a, const char *b, size_t most)
{
    for (size_t i = 0; i < most; i++) {
        if (a[i] != b[i]) return (unsigned char)a[i] - (unsigned char)b[i];
        if (!a[i]) break;
    }
    return 0;
}
int strcmp(const char *a, const char *b) { return strncmp(a, b, SIZE_MAX); }
char *strcpy(char *to, const char *from) { return (char *)memcpy(to, from, strlen(from) + 1); }
char *strcat(char *to, const char *from)
{
    strcpy(to + strlen(to), from);
    return to;
}
char *strchr(const char *s, int c)
{
    return (char *)memchr(s, c & 255, strlen(s) + 1);
}
char *strrchr(const char *s, int c)
{
    for (size_t n = strlen(s) + 1; n > 0; n--)
        if (s[n - 1] == (char)c) return (char *)(uintptr_t)&s[n - 1];
    return NULL;
}
char *strstr(const char *s, const char *part)
{
    for (const size_t n = strlen(part); ; s++) {
        if (!strncmp(s, part, n)) return (char *)(uintptr_t)s;
        if (!*s) return NULL;
    }
}
static bool one_of(const char *set, char c) { return c && strchr(set, c); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
size_t strspn(const char *s, const char *set)
{
    size_t n = 0;
    while (one_of(set, s[n])) n++;
    return n;
}
size_t strcspn(const char *s, const char *set)
{
    size_t n = 0;
    while (!strchr(set, s[n])) n++;         /* the zero is one of them */
    return n;
}

/* Sign, digits, a fraction, an exponent; exact enough for options such as 0.002. */
double strtod(const char *s, char **end)
{
    const char *at = s + strspn(s, " ");
    const char *point = NULL;
    double sign = 1;
    double x = 0;
    long power = 0;
    if (*at == '-') sign = -1;
    at += sign < 0;
    const char *digits = at;
    for (; is_digit(*at) || (*at == '.' && !point); at++) {
        if (*at == '.') point = at;
        else x = 10*x + (*at - '0');
    }
    if (point) power = (long)(point + 1 - at);
    if (at == digits) at = s;
    else if (*at == 'e' || *at == 'E') {
        char *behind;
        power += strtol(at + 1, &behind, 10);
        if (behind != at + 1) at = behind;
    }
    if (power < 0) x /= pow(10, (double)-power);
    if (power > 0) x *= pow(10, (double)power);
    if (end) *end = (char *)(uintptr_t)at;
    return sign * x;
}
long strtol(const char *s, char **end, int base)
{
    const char *at = s + strspn(s, " ");
    long sign = 1;
    long x = 0;
    (void)base;
    if (*at == '-') sign = -1;
    at += *at == '-' || *at == '+';
    const char *digits = at;
    for (; is_digit(*at); at++)
        if (x < LONG_MAX / 10 - 1) x = 10*x + (*at - '0');
    if (at == digits) at = s;
    if (end) *end = (char *)(uintptr_t)at;
    return sign * x;
}

/* Sorts by insertion, because only the last element of these arrays is out of place. */
void qsort(void *base, size_t count, size_t bytes, int (*order)(const void *, const void *))
{
    unsigned char *a = (unsigned char *)base;
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0; j--) {
            if (order(a + (j - 1)*bytes, a + j*bytes) <= 0) break;
            for (size_t k = 0; k < bytes; k++) {
                const unsigned char kept = a[j*bytes + k];
                a[j*bytes + k] = a[(j - 1)*bytes + k];
                a[(j - 1)*bytes + k] = kept;
            }
        }
}
void *bsearch(const void *key, const void *base, size_t count, size_t bytes,
              int (*order)(const void *, const void *))
{
    const unsigned char *a = (const unsigned char *)base;
    while (count) {
        const unsigned char *middle = a + count / 2 * bytes;
        const int where = order(key, middle);
        if (where == 0) return (void *)(uintptr_t)middle;
        if (where > 0) {
            a = middle + bytes;
            count--;
        }
        count /= 2;
    }
    return NULL;
}

double ldexp(double x, int power)
{
    for (; power > 0; power--) x *= 2;
    for (; power < 0; power++) x /= 2;
    return x;
}

/* -- text -------------------------------------------------------------------------------------- */

typedef struct text { char *to; size_t size, used; } text;
static void put_char(text *t, char c)
{
    if (t->used + 1 < t->size) t->to[t->used] = c;
    t->used++;
}

/* The part of a conversion between % and its letter. */
typedef struct form { bool left, zeros; int width, precision, longs; } form;
static const char *read_form(form *f, const char *at, va_list *args)
{
    int *number = &f->width;
    memset(f, 0, sizeof *f);
    f->precision = -1;
    for (; one_of("-0+# ", *at); at++) {
        f->left = f->left || *at == '-';
        f->zeros = f->zeros || *at == '0';
    }
    for (; one_of("0123456789.*lz", *at); at++) {
        if (*at == '.') {
            number = &f->precision;
            *number = 0;
        } else if (*at == '*') *number = va_arg(*args, int);
        else if (*at == 'l') f->longs++;
        else if (*at != 'z') *number = 10 * *number + *at - '0';
    }
    return at;
}

static void put_padded(text *t, const form *f, const char *s, size_t n)
{
    size_t missing = 0;
    char pad = ' ';
    if (f->width > (int)n) missing = (size_t)f->width - n;
    if (f->zeros) pad = '0';
    if (!f->left)
        for (; missing; missing--) put_char(t, pad);
    for (size_t i = 0; i < n; i++) put_char(t, s[i]);
    for (; missing; missing--) put_char(t, ' ');
}

static void put_whole(text *t, const form *f, uint64_t x, bool minus, unsigned base)
{
    char digits[24];
    size_t n = sizeof digits;
    do {
        digits[--n] = "0123456789abcdef"[x % base];
        x /= base;
    } while (x);
    if (minus) digits[--n] = '-';
    put_padded(t, f, digits + n, sizeof digits - n);
}

static void put_string(text *t, const form *f, const char *s)
{
    size_t n = strlen(s);
    if (f->precision >= 0 && n > (size_t)f->precision) n = (size_t)f->precision;
    put_padded(t, f, s, n);
}

static int64_t next_whole(const form *f, va_list *args)
{
    if (f->longs > 1) return va_arg(*args, long long);
    return va_arg(*args, int);
}
static void put_conversion(text *t, const form *f, char conversion, va_list *args)
{
    char buf[64];
    uint64_t x;
    int64_t n;
    switch (conversion) {
    case 'd':
    case 'i':
        n = next_whole(f, args);
        x = (uint64_t)n;
        if (n < 0) x = -x;
        put_whole(t, f, x, n < 0, 10);
        break;
    case 'u':
    case 'x':
        x = (uint64_t)next_whole(f, args);
        if (f->longs < 2) x &= UINT32_MAX;
        put_whole(t, f, x, false, 10 + 6u * (conversion == 'x'));
        break;
    case 'c': put_char(t, (char)va_arg(*args, int)); break;
    case 's': put_string(t, f, va_arg(*args, const char *)); break;
    case '%': put_char(t, '%'); break;
    default:                                    /* f, e, g */
        n = web_number(buf, va_arg(*args, double), f->precision, conversion);
        put_padded(t, f, buf, (size_t)n);
    }
}

int vsnprintf(char *to, size_t size, const char *format, va_list args)
{
    text t = { to, size, 0 };
    va_list rest;
    va_copy(rest, args);
    for (; *format; format++) {
        form f;
        if (*format != '%') {
            put_char(&t, *format);
            continue;
        }
        format = read_form(&f, format + 1, &rest);
        put_conversion(&t, &f, *format, &rest);
    }
    va_end(rest);
    if (size && t.used < size) to[t.used] = 0;
    else if (size) to[size - 1] = 0;
    return (int)t.used;
}
int vfprintf(FILE *f, const char *format, va_list args)
{
    static char line[4096];
    const int n = vsnprintf(line, sizeof line, format, args);
    web_print(line, strlen(line), f->is_error);
    return n;
}

/* The same with the arguments in the call. */
#define FORWARD(call)                   \
    va_list args;                       \
    va_start(args, format);             \
    const int n = call;                 \
    va_end(args);                       \
    return n
int printf(const char *format, ...) { FORWARD(vfprintf(stdout, format, args)); }
int fprintf(FILE *f, const char *format, ...) { FORWARD(vfprintf(f, format, args)); }
int sprintf(char *to, const char *format, ...) { FORWARD(vsnprintf(to, INT_MAX, format, args)); }
int snprintf(char *to, size_t size, const char *format, ...)
{
    FORWARD(vsnprintf(to, size, format, args));
}
int fputs(const char *s, FILE *f)
{
    web_print(s, strlen(s), f->is_error);
    return 0;
}
int puts(const char *s) { return printf("%s\n", s); }
