#ifndef TFN__FAMILIES_H
#define TFN__FAMILIES_H
#include "../ground/ground.h"

#if !defined TFNORM_NO_FILES && !defined TFNORM_NO_IMPORT && !defined TFNORM_NO_STDIO

enum { TFN__IDLE_KEYS = 37 };
extern SHARED const char *const tfn__idle_keys[TFN__IDLE_KEYS];
#endif
#endif /* TFN__FAMILIES_H */
