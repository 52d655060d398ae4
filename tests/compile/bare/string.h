/* The part of <string.h> that the header uses, for builds without a C library. */
#ifndef BARE_STRING_H
#define BARE_STRING_H
#include <stddef.h>
void *memset(void *to, int byte, size_t bytes);
void *memcpy(void *to, const void *from, size_t bytes);
#endif
