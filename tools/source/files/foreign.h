#ifndef TFN__FOREIGN_H
#define TFN__FOREIGN_H
#include "../ground/ground.h"
#include "fields.h"

#if !defined TFNORM_NO_FILES

SHARED const tfn__field *tfn__find_field(const char *name);
#endif
#endif /* TFN__FOREIGN_H */
