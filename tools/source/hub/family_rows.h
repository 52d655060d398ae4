#ifndef TFN__FAMILY_ROWS_H
#define TFN__FAMILY_ROWS_H
#include "../ground/ground.h"

/* Checkpoints of the hub. Rows of data describe a family, restated from its published configuration
 * and modelling files (transformers 4 and 5). Keys of config.json set options by their names and
 * texts, as in tfn_desc_set. Tensors are parameters under other names, perhaps transposed, side by
 * side or in another order. This part has what the rows of several families share. Builds on the
 * names of options (fields). The parts, in order:
 *
 *   family_rows      how to read the rows; keys that several families share
 *   decoders         families that are a decoder
 *   encoders         families that are an encoder, or an encoder and a decoder
 *   families         finding a family by its name
 *   keys             keys without a rule
 *   config_json      a value by its path; each rule; unknown keys
 *   import           names of tensors, which file has one, weights
 *
 * Files are hostile here, too: the reader of JSON parses every text, numbers are checked like
 * options, and tensors like those of safetensors. */

/* How to read the rows. A key of Llama:
 *
 *     { "hidden_act", "activation", "silu", TFN_KEY_GATED }
 *
 * "hidden_act": "gelu" sets the option activation to "geglu", the name of gelu as a gate. A file
 * without the key, or with null, has "silu", which gives "swiglu". A tensor of GPT-2:
 *
 *     { "h.#.attn.c_attn.*", "decoder.#.self.k.*", 0, 1, 3, 0 }
 *
 * decoder.5.self.k.weight is the second third of the columns of h.5.attn.c_attn.weight, which may
 * have "transformer." in front; the bias likewise. Options are set in the order of the rows, and
 * later rows override earlier ones. So a family with another default than the family that it is
 * like repeats the key.
 *
 * A row with neither option nor text sets nothing. A row of a class, "architectures=BertModel", is
 * for export: it gives the class of the file. If a row with a pattern holds, such as
 * "architectures=*ForMaskedLM", the class is that pattern with "Bert" for the star. A row with a
 * pattern and a text, but no option, refuses such a class; the text tells what is expected.
 *
 * Short forms of most rows of tensors, (theirs, ours):
 *     AS_IS            unchanged
 *     TRANSPOSED       a matrix of PyTorch
 *     HEAD             a matrix of the head
 *     OUTPUT           the output matrix, which files may hold even if the model uses the embedding
 *     NO_WEIGHT        a tensor that no model needs */
#define TFN__CLASS(name)              { "architectures=" name, NULL, NULL, TFN_KEY_NAMES },
#define TFN__AS_IS(theirs, ours)      { theirs, ours, 0, 0, 0, 0 },
#define TFN__TRANSPOSED(theirs, ours) { theirs, ours, TFN_FORM_TRANSPOSED, 0, 0, 0 },
#define TFN__HEAD(theirs, ours)       \
    { theirs, ours, TFN_FORM_TRANSPOSED | TFN_FORM_HEAD, 0, 0, 0 },
#define TFN__OUTPUT(theirs, ours)     \
    { theirs, ours, TFN_FORM_TRANSPOSED | TFN_FORM_HEAD | TFN_FORM_SPARE, 0, 0, 0 },
#define TFN__NO_WEIGHT(theirs)        { theirs, NULL, 0, 0, 0, 0 },

/* A list with a name for each layer: those with a window, and those without. */
#define TFN__LAYER_TYPES { "layer_types", "window", "sliding_attention full_attention", \
                           TFN_KEY_LAYERS }

/* The keys of a scaling of rotary positions, inside this object. */
#define TFN__SCALING(object) \
    { object ".rope_type", "rotary_scaling", "", TFN_KEY_IS }, \
    { object ".type", "rotary_scaling", "", TFN_KEY_IS }, \
    { object ".factor", "rotary_factor", "", TFN_KEY_IS }, \
    { object ".low_freq_factor", "rotary_low", "", TFN_KEY_IS }, \
    { object ".high_freq_factor", "rotary_high", "", TFN_KEY_IS }, \
    { object ".original_max_position_embeddings", "rotary_context", "", TFN_KEY_IS }

extern SHARED const tfn_key_rule tfn__rotary_keys[];
extern SHARED const tfn_family tfn__shape;
extern SHARED const tfn_family tfn__rotary_family;
#endif /* TFN__FAMILY_ROWS_H */
