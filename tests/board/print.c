/* Lines for tests/board.sh, without a C library's printf. */
#include "board.h"
#include <string.h>

static void line(const char *key, uint64_t value, unsigned base)
{
    char digits[32];
    char *at = digits + sizeof digits - 2;
    memcpy(at, "\n", 2);
    do {
        *--at = "0123456789ABCDEF"[value % base];
        value /= base;
    } while (value > 0);
    board_text(key);
    board_text(" ");
    board_text(at);
}

void board_number(const char *key, uint64_t value) { line(key, value, 10); }
void board_hash(const char *key, uint64_t hash) { line(key, hash, 16); }

void board_report(size_t room, size_t used)
{
    const board_bytes b = board_sizes();
    board_number("code", b.code);
    board_number("model", b.model);
    board_number("stack", b.stack);
    if (b.data >= room) board_number("ram", b.data - room + used + b.stack);
}

uint64_t board_fold(uint64_t hash, const float *x, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        for (int byte = 0; byte < 4; byte++) {
            hash ^= bits >> 8*byte & 255;
            hash *= UINT64_C(1099511628211);
        }
    }
    return hash;
}
