#include "families.h"
#include "../ground/ground.h"
#include "family_rows.h"
#include "decoders.h"
#include "encoders.h"

TFN__SMALL
/* To add a family: add its keys and tensors to decoders.c or encoders.c and its row to the list in
 * the part's header. If its forward needs something that no option has, add the option first. Then
 * write its forward once more, from the paper or the published code, in tests/golden/hub_models.py
 * or hub_encoders.py, and likely mistakes of a reader in hub_traps.py or hub_encoder_traps.py. A
 * tiny model of the family goes into tests/golden/hub, where tests/hub/test_import.c reads it. */
#define TFN__FAMILY_NAME(number, name, prefix, like, keys, tensors) " " name
#define TFN__FAMILY_NAMES TFN__DECODER_LIST(TFN__FAMILY_NAME) TFN__ENCODER_LIST(TFN__FAMILY_NAME)
SHARED const char *const tfn__no_type_text =
    "config.json has no model_type; set the family, one of" TFN__FAMILY_NAMES;
SHARED const char *const tfn__no_family_text =
    "no family is called %s; there are" TFN__FAMILY_NAMES;
#undef TFN__FAMILY_NAME
#undef TFN__FAMILY_NAMES
#undef TFN__DECODER_LIST
#undef TFN__ENCODER_LIST
#undef TFN__AS_IS
#undef TFN__TRANSPOSED
#undef TFN__HEAD
#undef TFN__OUTPUT
#undef TFN__CLASS
#undef TFN__NO_WEIGHT
#undef TFN__SCALING
#undef TFN__LAYER_TYPES

TFNORM_API const tfn_family *tfn_family_at(int32_t i)
{
    static const tfn_family *const tables[] = { tfn__decoder_families, tfn__encoder_families };
    if (i < 0) return NULL;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const tfn_family *f = tables[t]; f->name; f++)
            if (i-- == 0) return f;
    return NULL;
}

TFNORM_API const tfn_family *tfn_family_find(const char *name)
{
    if (!name) return NULL;
    for (int32_t i = 0; tfn_family_at(i); i++)
        if (tfn__equal(name, tfn_family_at(i)->name)) return tfn_family_at(i);
    return NULL;
}
TFN__SMALL_END
