#include "basics.h"

/* -- text ------------------------------------------------------------------------------------ */

/* Returns an empty text. With buf NULL it only counts. */
SHARED tfn__text tfn__text_in(void *buf, size_t size)
{
    tfn__text t = { (char *)buf, 0, 0 };
    if (buf) t.size = size;
    return t;
}

SHARED void tfn__put_bytes(tfn__text *t, const void *from, size_t n)
{
    const char *s = (const char *)from;
    for (size_t i = 0; i < n; i++, t->used++)
        if (t->used < t->size) t->buf[t->used] = s[i];
}

/* Append one string, or three. NULL appends nothing. */
SHARED void tfn__put(tfn__text *t, const char *s)
{
    if (s) tfn__put_bytes(t, s, tfn__length(s));
}
SHARED void tfn__put_texts(tfn__text *t, const char *a, const char *b, const char *c)
{
    tfn__put(t, a);
    tfn__put(t, b);
    tfn__put(t, c);
}

/* Terminates the text, overwriting its last byte if the buffer is full. Returns the buffer. */
SHARED char *tfn__end(tfn__text *t)
{
    if (t->size) t->buf[tfn__min((ptrdiff_t)t->used, (ptrdiff_t)t->size - 1)] = 0;
    return t->buf;
}

/* Divides *n by 10 and returns the remainder. It works in pieces of 16 bits, because a small
 * processor needs a function of 700 bytes for a 64-bit division. */
static uint32_t tfn__divide_by_10(uint64_t *n)
{
    uint64_t tenth = 0;
    uint32_t rest = 0;
    for (int shift = 48; shift >= 0; shift -= 16) {
        rest = rest << 16 | (uint32_t)(*n >> shift & 0xffff);
        tenth = tenth << 16 | rest / 10;
        rest %= 10;
    }
    *n = tenth;
    return rest;
}

/* Appends `before`, the value in decimal, and `after`. The magnitude is unsigned, because
 * -INT64_MIN does not fit an int64_t. */
SHARED void tfn__put_int(tfn__text *t, const char *before, int64_t value, const char *after)
{
    char digits[24];
    int i = 23;
    uint64_t left = (uint64_t)value;
    if (value < 0) left = 0 - left;
    digits[i] = 0;
    do {
        digits[--i] = (char)('0' + tfn__divide_by_10(&left));
    } while (left);
    if (value < 0) digits[--i] = '-';
    tfn__put_texts(t, before, digits + i, after);
}

/* Returns v * 10^power, multiplied power by power, which is exact if the result is. v must be 0 or
 * in 1 .. 1e18, so 345 powers always suffice to reach 0 or infinity. */
SHARED double tfn__decimal(double v, int64_t power)
{
    const int64_t most = 345;
    if (power > most) power = most;
    if (power < -most) power = -most;
    for (; power > 0; power--) v *= 10;
    for (; power < 0; power++) v /= 10;
    return v;
}

/* Appends digits * 10^power as a person writes it: 1.5, 0.001, 65504, 1e18, 2.5e-7. It is plain if
 * that adds at most six zeros before the point, or four after it. n is the number of digits. */
static void tfn__put_decimal(tfn__text *t, const char *digits, int32_t n, int32_t power)
{
    const int32_t first = n - 1 + power;                     /* the power of the first digit */
    int32_t before = 1;                                      /* digits before the point */
    if (first < 0 && first >= -4) {
        tfn__put_bytes(t, "0.000", (size_t)(1 - first));
        tfn__put_bytes(t, digits, (size_t)n);
        return;
    }
    if (first >= 0 && power <= 6) before = first + 1;
    for (int32_t i = 0; i < tfn__min(before, n); i++) tfn__put_bytes(t, digits + i, 1);
    for (int32_t i = n; i < before; i++) tfn__put(t, "0");
    if (n > before) tfn__put(t, ".");
    for (int32_t i = before; i < n; i++) tfn__put_bytes(t, digits + i, 1);
    if (before != first + 1) tfn__put_int(t, "e", first, NULL);
}

/* Appends the shortest decimal number that reads back as x, or 0 for infinity and NaN, which JSON
 * lacks. |x| = rest * 10^power with 1 <= rest < 10. The loop tries one digit more at a time,
 * rounded to nearest, until tfn__decimal of the digits is |x|. 17 digits always suffice. */
SHARED void tfn__put_float(tfn__text *t, float x)
{
    char digits[24];
    tfn__text s = tfn__text_in(digits, sizeof digits);
    int32_t power = 0;
    float size = x;                                          /* |x| */
    double rest;
    if (x < 0) size = -x;
    rest = (double)size;
    if (!(rest - rest >= 0) || rest <= 0) {
        tfn__put(t, "0");
        return;
    }
    if (x < 0) tfn__put(t, "-");
    for (; rest >= 10; power++) rest /= 10;
    for (; rest < 1; power--) rest *= 10;
    for (int32_t n = 0; n < 17; n++, rest *= 10) {
        const int64_t whole = (int64_t)(rest + 0.5);
        s.used = 0;
        tfn__put_int(&s, NULL, whole, NULL);
        if (n) power--;
        if ((float)tfn__decimal((double)whole, power) == size) break;
    }
    for (; digits[s.used - 1] == '0'; s.used--) power++;     /* 10, rounded up from 9.6 */
    tfn__put_decimal(t, digits, (int32_t)s.used, power);
}

/* -- status ---------------------------------------------------------------------------------- */

/* All texts are in one array, one after the other. A linker drops the array if the function is not
 * used, which it cannot do with strings that a table points to. */
#define TFN__STATUS_TEXT(name, text) text "\0"
TFNORM_API const char *tfn_status_text(tfn_status status)
{
    static const char texts[] = TFN__STATUS_LIST(TFN__STATUS_TEXT);
    const char *text = texts;
    if ((unsigned)status >= TFN_STATUS_COUNT) return "unknown status";
    for (int i = 0; i < (int)status; i++) text += tfn__length(text) + 1;
    return text;
}

TFNORM_API const char *tfn_version(void) { return TFNORM_VERSION; }

/* Stores an error unless the object already has one, and returns the status that it then has. In
 * `text` the first "%d" becomes `found`, the next `wanted`. Never inlined: at -Os compilers would
 * inline it if the text is NULL, which costs a microcontroller 300 bytes. */
SHARED TFN__NOINLINE tfn_status tfn__keep_error(tfn_error *e, tfn_status status, const char *op,
                                                const char *text, int64_t found, int64_t wanted)
{
    if (e->status == TFN_OK) {
        e->status = status;
        e->op = op;
        e->text = text;
        e->found = found;
        e->wanted = wanted;
        e->node = e->layer = -1;
        e->name[0] = 0;
    }
    return e->status;
}

/* The same with a name, for "%s" in the text. The name is copied, because its memory may be gone
 * when the message is read. */
SHARED void tfn__keep_error_name(tfn_error *e, tfn_status status, const char *op, const char *text,
                                 const char *name)
{
    size_t n = 0;
    if (e->status != TFN_OK) return;
    tfn__keep_error(e, status, op, text, 0, 0);
    if (name)
        for (; name[n]; n++) {
            if (n == sizeof e->name - 1) break;
            e->name[n] = name[n];
        }
    e->name[n] = 0;
}

/* Returns true if a required argument is not NULL; else stores an error. */
SHARED bool tfn__given(tfn_error *e, const char *op, const char *name, const void *p)
{
    if (!p) tfn__fail_name(e, TFN_NULL, op, "%s is NULL", name);
    return p != NULL;
}

/* Stores an error if an object was never initialized. It is then all zero, so `part`, a pointer in
 * it that every init sets, is NULL. */
SHARED void tfn__made(tfn_error *e, const char *op, const void *part)
{
    if (!part) tfn__fail(e, TFN_NOT_READY, op, "it was not initialized", 0, 0);
}

SHARED void tfn__no_error(tfn_error *e)
{
    TFNORM_MEMSET(e, 0, sizeof *e);
    e->node = e->layer = -1;
}

/* Clears the error of a bad batch, which does not stick: it concerns only the call that got the
 * batch, and the object is unharmed. */
SHARED void tfn__forgive(tfn_error *e)
{
    if (e->status == TFN_OK || e->status == TFN_BAD_BATCH) tfn__no_error(e);
}

/* Appends the message with its placeholders filled in: "%d" takes `found`, then `wanted`, and "%s"
 * takes the name. */
static void tfn__put_message(tfn__text *t, const tfn_error *e)
{
    int64_t value = e->found;
    for (const char *s = e->text; *s; s++)
        if (s[0] == '%' && s[1] == 'd') {
            tfn__put_int(t, NULL, value, NULL);
            value = e->wanted;
            s++;
        } else if (s[0] == '%' && s[1] == 's') {
            tfn__put(t, e->name);
            s++;
        } else tfn__put_bytes(t, s, 1);
}

/* For example "linear: input has 48 channels, weight needs 64 (node 17, layer 2)". */
TFNORM_API const char *tfn_error_text(const tfn_error *e, char *buf, size_t size)
{
    tfn__text t = tfn__text_in(buf, size);
    if (!e) {
        tfn__put(&t, "error is NULL");
        return tfn__end(&t);
    }
    if (e->path) tfn__put_texts(&t, e->path, ": ", NULL);
    else if (e->op) tfn__put_texts(&t, e->op, ": ", NULL);
    if (e->text) tfn__put_message(&t, e);
    else tfn__put(&t, tfn_status_text(e->status));
    if (e->node >= 0 && e->op) {
        tfn__put_int(&t, " (node ", e->node, NULL);
        if (e->layer >= 0) tfn__put_int(&t, ", layer ", e->layer, NULL);
        tfn__put(&t, ")");
    }
    return tfn__end(&t);
}

/* -- arena ----------------------------------------------------------------------------------- */

/* Checked product and sum; use them for all sizes. SIZE_MAX means "does not fit", and it
 * propagates (except into a product with 0), so one test at the end is enough. */
SHARED size_t tfn__mul(size_t a, size_t b)
{
    if (a != 0 && b > SIZE_MAX / a) return SIZE_MAX;
    return a * b;
}
SHARED size_t tfn__sum(size_t a, size_t b)
{
    if (b > SIZE_MAX - a) return SIZE_MAX;
    return a + b;
}

/* Returns a count of floats as size_t, or SIZE_MAX if that many do not fit into memory. */
SHARED size_t tfn__count(int64_t n)
{
    if (n < 0 || (uint64_t)n > SIZE_MAX / sizeof(float)) return SIZE_MAX;
    return (size_t)n;
}

/* Returns the first aligned address at or after mem. */
static unsigned char *tfn__aligned(void *mem)
{
    return (unsigned char *)mem + ((0 - (size_t)(uintptr_t)mem) & (TFN__ALIGN - 1));
}

/* Returns an arena over a block at any address, smaller than the block by the most that alignment
 * can cost. With mem NULL the arena counts up to `size`. */
SHARED tfn__arena tfn__arena_in(void *mem, size_t size)
{
    tfn__arena a = { NULL, 0, 0, 0 };
    if (mem) a.base = tfn__aligned(mem);
    if (size >= TFN__ALIGN) a.size = size - (TFN__ALIGN - 1);
    if (mem) TFN__PERMIT(mem, size);
    return a;
}

/* Makes the arena count from now on, limited only by size_t. */
SHARED void tfn__only_count(tfn__arena *a)
{
    a->base = NULL;
    a->size = SIZE_MAX - 2 * TFN__ALIGN;
}

/* Returns aligned memory for `count` elements of `each` bytes, or NULL with an error. Forbids
 * access to the bytes between the end of the piece and the next multiple of TFN__ALIGN. */
SHARED unsigned char *tfn__take(tfn__arena *a, size_t count, size_t each, tfn_error *e)
{
    size_t bytes = tfn__mul(count, each);
    size_t start = tfn__sum(a->used, (0 - a->used) & (TFN__ALIGN - 1));
    size_t end = tfn__sum(start, bytes);
    size_t gap = (0 - end) & (TFN__ALIGN - 1);
    if (end == SIZE_MAX) {
        tfn__fail(e, TFN_TOO_LARGE, "memory", NULL, 0, 0);
        return NULL;
    }
    if (end > a->size) {
        tfn__fail(e, TFN_NO_MEMORY, "memory", "the block has %d bytes, but at least %d are needed",
                  (int64_t)a->size, (int64_t)end);
        return NULL;
    }
    a->used = end;
    if (end > a->peak) a->peak = end;
    if (!a->base) return (unsigned char *)(uintptr_t)TFN__ALIGN;
    TFN__PERMIT(a->base + start, bytes);
    if (gap > a->size - end) gap = a->size - end;
    TFN__FORBID(a->base + end, gap);
    return a->base + start;
}

SHARED int32_t *tfn__take_ids(tfn__arena *a, size_t n, tfn_error *e)
{
    return (int32_t *)(void *)tfn__take(a, n, sizeof(int32_t), e);
}

/* -- order ----------------------------------------------------------------------------------- */

/* One step of heapsort. `order` is a heap with the last element at its top, except that the index
 * at `at` may be out of place: it sinks below all children that come after it. */
SHARED void tfn__sink(int32_t *order, int32_t at, int32_t n, tfn__before_fn *before, const void *x)
{
    int32_t moved = order[at];
    for (int32_t child; at < n / 2; at = child) {
        child = 2*at + 1;
        if (child + 1 < n && before(x, order[child], order[child + 1])) child++;
        if (!before(x, moved, order[child])) break;
        order[at] = order[child];
    }
    order[at] = moved;
}

/* Sorts n indices by their elements, using heapsort (Williams 1964), which needs no memory and
 * never n^2 comparisons. The sort is not stable, so `before` must break ties. */
SHARED void tfn__sort(int32_t *order, int32_t n, tfn__before_fn *before, const void *x)
{
    for (int32_t i = n / 2; i-- > 0;) tfn__sink(order, i, n, before, x);
    for (int32_t last = n - 1; last > 0; last--) {
        int32_t top = order[0];
        order[0] = order[last];
        order[last] = top;
        tfn__sink(order, 0, last, before, x);
    }
}

/* Fills `order` with the indices 0..n-1, sorted by their elements. */
SHARED void tfn__order(int32_t *order, int32_t n, tfn__before_fn *before, const void *x)
{
    for (int32_t i = 0; i < n; i++) order[i] = i;
    tfn__sort(order, n, before, x);
}

/* -- rng ------------------------------------------------------------------------------------- */

TFNORM_API tfn_key tfn_key_make(uint64_t seed)
{
    const tfn_key key = { tfn__mix(seed + TFN__GOLDEN) };
    return key;
}

/* Returns a key derived from `key`, for a step, a layer or a purpose (`data`). */
TFNORM_API tfn_key tfn_key_fold(tfn_key key, uint64_t data)
{
    key.bits = tfn__mix(key.bits ^ tfn__mix(data + TFN__GOLDEN));
    return key;
}

TFNORM_API uint64_t tfn_random_bits(tfn_key key, uint64_t index)
{
    return tfn__mix(key.bits + (index + 1) * TFN__GOLDEN);
}

/* Returns a number in [0, 1): 24 random bits divided by 2^24, which a float holds exactly. */
TFNORM_API float tfn_random_uniform(tfn_key key, uint64_t index)
{
    return (float)(tfn_random_bits(key, index) >> 40) * (float)(1.0 / 16777216);
}

/* Returns the image of i in a random permutation of 0..n-1, without a table. A Feistel network
 * permutes the numbers of 2*half bits, where `half` is as small as n - 1 allows, in four rounds
 * (Luby & Rackoff 1988), or in twelve up to n = 64, where four favor some images. Applying the
 * network until the result is below n gives a permutation of 0..n-1 (cycle walking, Black & Rogaway
 * 2002). At least a quarter of the numbers are below n, so this takes at most four tries on
 * average. */
TFNORM_API int64_t tfn_random_shuffle(tfn_key key, int64_t i, int64_t n)
{
    const int most = 31;              /* bits of a half: n up to 2^62 */
    const uint64_t rounds = n <= 64 ? 12 : 4;
    int half = 1;
    uint64_t x = (uint64_t)i;
    uint64_t mask;
    if (n <= 1) return 0;
    for (; half < most; half++)
        if (((uint64_t)n - 1) >> (2 * half) == 0) break;
    mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = x >> half;
        uint64_t right = x & mask;
        for (uint64_t round = 0; round < rounds; round++) {
            uint64_t t = right;
            right = left ^ (tfn_random_bits(tfn_key_fold(key, round), right) & mask);
            left = t;
        }
        x = left << half | right;
    } while (x >= (uint64_t)n);
    return (int64_t)x;
}
