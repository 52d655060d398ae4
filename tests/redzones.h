/* Builds with the address sanitizer include this file first. It forbids access to the bytes after
 * each piece of an arena. memset permits access again, because tests fill whole blocks. */
#ifndef REDZONES_H
#define REDZONES_H
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE         /* MAP_ANONYMOUS, before any header */
#endif
#include <sanitizer/asan_interface.h>
#include <string.h>
#define TFN__FORBID(p, bytes) __asan_poison_memory_region(p, bytes)
#define TFN__PERMIT(p, bytes) __asan_unpoison_memory_region(p, bytes)
#define TFNORM_MEMSET(p, value, bytes) (memset)(p, value, bytes)
static inline void *redzones_fill(void *p, int value, size_t bytes)
{
    __asan_unpoison_memory_region(p, bytes);
    return memset(p, value, bytes);
}
#define memset(p, value, bytes) redzones_fill(p, value, bytes)
#endif
