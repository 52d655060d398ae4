/* A program that defines macros with common names: all single letters, and words of Arduino,
 * <windows.h> and <complex.h>. tfnorm.h must compile, and leave each macro as it was. */
#define A 1 +
#define B 1 +
#define C 1 +
#define D 1 +
#define E 1 +
#define F 1 +
#define G 1 +
#define H 1 +
#define I 1 +
#define J 1 +
#define K 1 +
#define L 1 +
#define M 1 +
#define N 1 +
#define O 1 +
#define P 1 +
#define Q 1 +
#define R 1 +
#define S 1 +
#define T 1 +
#define U 1 +
#define V 1 +
#define W 1 +
#define X 1 +
#define Y 1 +
#define Z 1 +
#define a 1 +
#define b 1 +
#define c 1 +
#define d 1 +
#define e 1 +
#define f 1 +
#define g 1 +
#define h 1 +
#define i 1 +
#define j 1 +
#define k 1 +
#define l 1 +
#define m 1 +
#define n 1 +
#define o 1 +
#define p 1 +
#define q 1 +
#define r 1 +
#define s 1 +
#define t 1 +
#define u 1 +
#define v 1 +
#define w 1 +
#define x 1 +
#define y 1 +
#define z 1 +
#define boolean 1 +
#define word 1 +
#define byte 1 +
#define PI 1 +
#define HALF_PI 1 +
#define TWO_PI 1 +
#define EULER 1 +
#define DEG_TO_RAD 1 +
#define RAD_TO_DEG 1 +
#define HIGH 1 +
#define LOW 1 +
#define INPUT 1 +
#define OUTPUT 1 +
#define INPUT_PULLUP 1 +
#define DEFAULT 1 +
#define INTERNAL 1 +
#define EXTERNAL 1 +
#define CHANGE 1 +
#define RISING 1 +
#define FALLING 1 +
#define SERIAL 1 +
#define DISPLAY 1 +
#define B0 1 +
#define B1 1 +
#define B00 1 +
#define B01 1 +
#define B10 1 +
#define B11 1 +
#define near 1 +
#define far 1 +
#define small 1 +
#define hyper 1 +
#define interface 1 +
#define IN 1 +
#define OUT 1 +
#define OPTIONAL 1 +
#define CONST 1 +
#define VOID 1 +
#define TRUE 1 +
#define FALSE 1 +
#define ERROR 1 +
#define DELETE 1 +
#define NONE 1 +
#define complex 1 +
#define imaginary 1 +
#define major 1 +
#define minor 1 +
#define abs(x) ((x) > 0 ? (x) : -(x))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define round(x) ((x) >= 0 ? (long)((x) + 0.5) : (long)((x) - 0.5))
#define bit(b) (1UL << (b))
#define sq(x) ((x) * (x))
#define radians(x) ((x) * 2)
#define degrees(x) ((x) / 2)
#define constrain(x, low, high) ((x) < (low) ? (low) : (x))
/* not put aside: words that the header has only as parts of names */
#define REAL double
#define NAME 1 +
#define GROUP 1 +
#define ROW 1 +
#define CHOICE 1 +
#define BOOL 1 +
#define WHOLE 1 +
#define ISA 1 +
#define TOPOLOGY 1 +
#define MOST 1 +
#define LAYER 1 +
#define RELU 1 +
#define BIAS 1 +
#define MEAN 1 +
#define ADD 1 +
#define noinline __attribute__((noinline))
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#include "../../tfnorm.h"
#if A 0 != 1 || z 0 != 1 || DEFAULT 0 != 1 || far 0 != 1
#error "a macro of the program is not what it was"
#endif
#ifndef max
#error "a macro of the program is gone"
#endif
