#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version as a text, and as numbers that a program can compare: "0.3.0" is 0, 3, 0. */
#define TFNORM_VERSION "0.3.0"
#define TFNORM_VERSION_MAJOR 0
#define TFNORM_VERSION_MINOR 3
#define TFNORM_VERSION_PATCH 0

/* The version of the library's arithmetic, which only changes on purpose, and the two hashes that
 * tfn_selfcheck must return: the first on every machine whose bits are canonical, the second on
 * every processor without a fused multiply-add ("differ: no FMA"), which all have the same second
 * set of bits. */
#define TFN_BITS_VERSION 2
#define TFN_BITS_HASH        UINT64_C(0x890a8ae3717f254d)
#define TFN_BITS_HASH_NO_FMA UINT64_C(0x0c56999348397224)

/* The set of one enumerator: see TFNORM_POSITIONS and the others in config. */
#define TFN_SET(x) (UINT32_C(1) << (x))

#ifndef TFNORM_API
#ifdef TFNORM_STATIC
#if defined __GNUC__ || defined __clang__
#define TFNORM_API static __attribute__((__unused__))
#else
#define TFNORM_API static
#endif
#else
#define TFNORM_API extern
#endif
#endif
