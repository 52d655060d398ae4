#ifndef TFN__FAMILIES_H
#define TFN__FAMILIES_H
#include "../ground/ground.h"

/* Finds a family of the hub by its name or its number. Builds on decoders and encoders. */

/* Messages that list the families: config.json has no model_type, or an unknown one. */
extern SHARED const char *const tfn__no_type_text;
extern SHARED const char *const tfn__no_family_text;
#endif /* TFN__FAMILIES_H */
