#ifndef TFN__EXPORT_H
#define TFN__EXPORT_H
#include "../ground/ground.h"
#include "../files/safetensors.h"

#if !defined TFNORM_NO_FILES && !defined TFNORM_NO_IMPORT && !defined TFNORM_NO_STDIO

/* Converts values for a file. f NULL: only counts those that the dtype cannot hold. */
typedef struct tfn__packing {
    tfn_file *f;
    tfn_dtype dtype;
    int64_t   lost, beyond;                 /* values it cannot hold; of these, too large ones */
    size_t    used;
    uint8_t   bytes[8 * TFN__CHUNK];
} tfn__packing;

SHARED void tfn__pack(tfn__packing *p, const float *from, int64_t count, int64_t step);
#endif
#endif /* TFN__EXPORT_H */
