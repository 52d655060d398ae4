/* Functions that a program for a board needs from its machine. arm.c and riscv.c are the start-up
 * code of two families under qemu-system; host.c is this computer, whose output must agree. A
 * program prints lines with a key and its values, which tests/board.sh reads. */
#ifndef BOARD_H
#define BOARD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int      board_main(void);              /* the program: 0 is success */

void     board_text(const char *text);
void     board_end(int status);         /* end the program */
uint64_t board_count(void);             /* instructions since the start; 0 if not counted */
/* Bytes of: code and constants except the model; the model in flash; static data; the deepest stack
 * since the start. All are 0 on a computer. */
typedef struct board_bytes {
    size_t code, model, data, stack;
} board_bytes;
board_bytes board_sizes(void);

/* -- in print.c -- */
void     board_number(const char *key, uint64_t value);
void     board_hash(const char *key, uint64_t hash);
/* Reports board_sizes. RAM is static data plus stack, but of `room` bytes in static arrays it
 * counts only the `used` bytes that the program needed. */
void     board_report(size_t room, size_t used);
uint64_t board_fold(uint64_t hash, const float *x, ptrdiff_t count);      /* FNV-1a of the bits */
#define  BOARD_EMPTY UINT64_C(14695981039346656037)

/* -- in memory.c, for arm.c and riscv.c -- */
void     board_start(void);
#endif
