/* What a program for a board wants of its machine. arm.c and riscv.c are the start-up code of two
 * families under qemu-system, host.c is this computer, whose output must agree.
 * A program prints lines of a key and its values; tests/board.sh reads them. */
#ifndef BOARD_H
#define BOARD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int      board_main(void);              /* the program: 0 is success */

void     board_text(const char *text);
void     board_end(int status);         /* leave the machine */
uint64_t board_count(void);             /* instructions since the start; 0 where none are counted */
/* Bytes of: code and constants but the model's; the model in flash; static data; the deepest stack
 * since the start. All are 0 on a computer. */
typedef struct board_bytes {
    size_t code, model, data, stack;
} board_bytes;
board_bytes board_sizes(void);

/* -- in print.c -- */
void     board_number(const char *key, uint64_t value);
void     board_hash(const char *key, uint64_t hash);
/* What board_sizes says. RAM is static data and stack, but of `room` bytes in static arrays only
 * the `used` ones that the program found to be wanted. */
void     board_report(size_t room, size_t used);
uint64_t board_fold(uint64_t hash, const float *x, ptrdiff_t count);      /* FNV-1a of the bits */
#define  BOARD_EMPTY UINT64_C(14695981039346656037)

/* -- in memory.c, for arm.c and riscv.c -- */
void     board_start(void);
#endif
