/* Start-up code of a RISC-V in machine mode, and its semihosting (RISC-V Semihosting 0.3): the
 * three instructions around ebreak are the request, operation in a0, argument in a1. */
#include "board.h"

enum { WRITE0 = 4, EXIT_EXTENDED = 0x20, APPLICATION_EXIT = 0x20026 };
enum { FAULT = 99 };                    /* status of a program that was stopped */

static void semihost(unsigned operation, const void *argument)
{
    register unsigned a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".option push\n .option norvc\n .balign 16\n"
                     "slli x0, x0, 0x1f\n ebreak\n srai x0, x0, 7\n .option pop"
                     : "+r"(a0) : "r"(a1) : "memory");
}

void board_text(const char *text) { semihost(WRITE0, text); }

void board_end(int status)
{
    const uint32_t block[2] = { APPLICATION_EXIT, (uint32_t)status };
    semihost(EXIT_EXTENDED, block);
    for (;;) {}
}

__asm__(".option arch, +zicsr");        /* control registers, which rv32imc does not include */

/* Reads the high half again if the low half wrapped. */
uint64_t board_count(void)
{
    uint32_t high;
    uint32_t low;
    uint32_t again;
    do {
        __asm__ volatile("csrr %0, minstreth" : "=r"(high));
        __asm__ volatile("csrr %0, minstret" : "=r"(low));
        __asm__ volatile("csrr %0, minstreth" : "=r"(again));
    } while (high != again);
    return (uint64_t)high << 32 | low;
}

__attribute__((interrupt, aligned(4), used)) static void on_trap(void)
{
    board_text("fault\n");
    board_end(FAULT);
}

__attribute__((naked, section(".start"), used)) void board_reset(void);
__attribute__((naked, section(".start"), used)) void board_reset(void)
{
    __asm__ volatile(".option push\n .option norelax\n"
                     "la gp, __global_pointer$\n .option pop\n"
                     "la sp, board_stack_end\n"
                     "la t0, on_trap\n csrw mtvec, t0\n"
#ifdef __riscv_flen
                     "li t0, 0x2000\n csrs mstatus, t0\n csrw fcsr, x0\n"       /* enable the FPU */
#endif
                     "j board_start");
}
