#ifndef TFN__METHOD_TABLES_H
#define TFN__METHOD_TABLES_H
#include "../ground/ground.h"

extern SHARED const tfn_norm_rule tfn__norms[];
#endif /* TFN__METHOD_TABLES_H */
