#ifndef TFN__PICKLE_H
#define TFN__PICKLE_H
#include "../ground/ground.h"

/* Builds without pickle refuse pytorch_model.bin by name. */
SHARED tfn_status tfn__open_tensors(tfn_file *f, const char *name);
SHARED bool tfn__has_strides(tfn_file *f, const char *name);
#endif /* TFN__PICKLE_H */
