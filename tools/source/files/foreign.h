#ifndef TFN__FOREIGN_H
#define TFN__FOREIGN_H
#include "../ground/ground.h"
#include "fields.h"

SHARED const tfn__field *tfn__find_field(const char *name);
#endif /* TFN__FOREIGN_H */
