/* Start-up code of a Cortex-M, and its semihosting: `bkpt 0xab` asks a debugger, here qemu, to do
 * something (Arm, Semihosting for AArch32 and AArch64; operation in r0, argument in r1). */
#include "board.h"

enum { WRITE0 = 4, EXIT_EXTENDED = 0x20, APPLICATION_EXIT = 0x20026 };
enum { FAULT = 99 };                    /* status of a program that was stopped */

static void semihost(unsigned operation, const void *argument)
{
    register unsigned r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void board_text(const char *text) { semihost(WRITE0, text); }

void board_end(int status)
{
    const uint32_t block[2] = { APPLICATION_EXIT, (uint32_t)status };
    semihost(EXIT_EXTENDED, block);
    for (;;) {}
}

/* -- SysTick: counts down from 2^24 at BOARD_HZ, with an interrupt at each wrap
 * ----------------- */

/* Under `qemu -icount shift=0` an instruction takes a nanosecond. */
#define SYSTICK ((volatile uint32_t *)0xE000E010)       /* control, reload, current */
enum { ENABLE_INTERRUPT_CORE = 7, LAST = 0xFFFFFF };
static volatile uint32_t turns;

static void on_tick(void) { turns++; }

static void start_ticks(void)
{
    SYSTICK[1] = LAST;
    SYSTICK[2] = 0;
    SYSTICK[0] = ENABLE_INTERRUPT_CORE;
}

/* Reads again if the counter wrapped in between. */
uint64_t board_count(void)
{
    uint32_t before;
    uint32_t now;
    do {
        before = turns;
        now = SYSTICK[2];
    } while (before != turns);
    return ((uint64_t)before * (LAST + 1) + (LAST - now)) * 1000 / (BOARD_HZ / 1000000);
}

/* -- vectors ----------------------------------------------------------------------------------- */

static void on_reset(void)
{
#ifdef __ARM_FP
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;     /* CPACR: enable the FPU */
    __asm__ volatile("dsb\n isb");
#endif
    start_ticks();
    board_start();
}

static void on_fault(void)
{
    board_text("fault\n");
    board_end(FAULT);
}

extern uint32_t board_stack_end[];
static const struct vectors {
    const void *stack;
    void (*handler[15])(void);
} vectors __attribute__((section(".start"), used)) = {
    board_stack_end,
    { on_reset, on_fault, on_fault, on_fault, on_fault, on_fault, on_fault, on_fault, on_fault,
      on_fault, on_fault, on_fault, on_fault, on_fault, on_tick }
};
