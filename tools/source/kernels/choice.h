#ifndef TFN__CHOICE_H
#define TFN__CHOICE_H
#include "../ground/ground.h"

extern SHARED const char tfn__isa_names[TFN_ISA_COUNT][8];
#endif /* TFN__CHOICE_H */
