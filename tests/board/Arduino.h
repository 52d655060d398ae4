/* The parts of Arduino's core that the library's example needs, for tests/packaging.sh: a sketch
 * runs as a program of ours, its loop four times. */
#ifndef ARDUINO_H
#define ARDUINO_H
extern "C" {
#include "board.h"
}

static struct serial {
    void begin(long) {}
    void print(const char *text) { board_text(text); }
    void println(const char *text)
    {
        board_text(text);
        board_text("\n");
    }
} Serial;
static void delay(unsigned long) {}
void setup();
void loop();

extern "C" int board_main(void)
{
    setup();
    for (int i = 0; i < 4; i++) loop();
    return 0;
}
#endif
