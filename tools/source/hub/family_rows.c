#include "family_rows.h"
#include "../ground/ground.h"

/* Most families use these keys for the shape. */
static const tfn_key_rule tfn__shape_keys[] = {
    { "vocab_size", "vocab", NULL, TFN_KEY_IS },
    { "max_position_embeddings", "context", NULL, TFN_KEY_IS },
    { "hidden_size", "width", NULL, TFN_KEY_IS },
    { "num_hidden_layers", "layers", NULL, TFN_KEY_IS },
    { "num_attention_heads", "heads", NULL, TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};

/* not a model's family, but others are like it */
SHARED const tfn_family tfn__shape = { "", NULL, NULL, tfn__shape_keys, NULL };

/* Rotary positions, whose rates may be scaled for longer texts. Files of transformers 4 have
 * rope_theta and rope_scaling next to it; those of transformers 5 have rope_parameters. A type is
 * refused unless it is "default" or an option's name. */
SHARED const tfn_key_rule tfn__rotary_keys[] = {
    { NULL, "position", "rotary", TFN_KEY_IS },
    { "intermediate_size", "ffn", NULL, TFN_KEY_IS },
    { "rope_theta", "rotary_base", "10000", TFN_KEY_IS },
    { "rope_parameters.rope_theta", "rotary_base", "", TFN_KEY_IS },
    TFN__SCALING("rope_scaling"),
    TFN__SCALING("rope_parameters"),
    { NULL, NULL, NULL, TFN_KEY_IS }
};
SHARED const tfn_family tfn__rotary_family = { "", NULL, &tfn__shape, tfn__rotary_keys, NULL };
