#ifndef TFN__FILES_H
#define TFN__FILES_H
#include "../ground/ground.h"
#include "../ground/basics.h"

SHARED bool tfn__fine(const tfn_file *f);
SHARED tfn_status tfn__file_fail(tfn_file *f, tfn_status status, const char *text,
                                 const char *what, int64_t found, int64_t wanted);
SHARED void tfn__bad(tfn_file *f, const char *text, const char *what, int64_t found,
                     int64_t wanted);
SHARED bool tfn__little(void);
SHARED bool tfn__begin(tfn_file *f, bool write);
SHARED bool tfn__file_get(tfn_file *f, uint64_t at, void *to, uint64_t bytes);
SHARED void tfn__file_put(tfn_file *f, const void *from, size_t bytes);
SHARED tfn_status tfn__finish_writing(tfn_file *f);
SHARED tfn__arena tfn__work_of(tfn_file *f, size_t bytes);
SHARED uint64_t tfn__from_bytes(const uint8_t *s, size_t bytes);
SHARED double tfn__ieee(uint64_t u, int exponent_bits, int fraction_bits);
SHARED uint64_t tfn__ieee_bits(double v, int exponent_bits, int fraction_bits);
#endif /* TFN__FILES_H */
