#ifndef TFN__RESOLVE_H
#define TFN__RESOLVE_H
#include "../ground/ground.h"

/* Resolves a tfn_model_desc: fills in defaults, finds rows by name, and rejects illegal values and
 * combinations. Offers what follows from the options: sizes, clusters, muP, groups of parameters,
 * windows. Builds on options and the tables of methods. */

SHARED const tfn_norm_rule *tfn__norm_row(const tfn_model_desc *d, bool decoder);
SHARED const tfn_init_rule *tfn__init_row(const tfn_model_desc *d);
SHARED bool tfn__needs_unit_variance(const tfn_model_desc *d);
SHARED int32_t tfn__stream(const tfn_model_desc *d);
SHARED int32_t tfn__head_size(const tfn_model_desc *d);
SHARED int32_t tfn__embedding_size(const tfn_model_desc *d);

/* True if the map from the embedding's size to the width comes after positions and norm. */
static TFN__FOLD bool tfn__maps_last(const tfn_model_desc *d)
{
    return TFN__ALL && d->embedding_size && d->map_last;
}
/* Returns the channels to which positions are added. */
static TFN__FOLD int32_t tfn__embedded(const tfn_model_desc *d)
{
    if (tfn__maps_last(d)) return d->embedding_size;
    return tfn__stream(d);
}
SHARED int32_t tfn__all_heads(const tfn_model_desc *d);
SHARED float tfn__mup(const tfn_model_desc *d);
SHARED float tfn__query_scale(const tfn_model_desc *d, tfn_qk_norm form, int32_t layer);
SHARED int32_t tfn__clusters(const tfn_model_desc *d);
SHARED int32_t tfn__cluster_at(const tfn_model_desc *d, int32_t k);
SHARED bool tfn__by_sentences(const tfn_model_desc *d);
SHARED int32_t tfn__logit_cols(const tfn_model_desc *d);

/* True if only decoders run the model. Such a model has no tape of its own and no workspace. */
static TFN__FOLD bool tfn__only_decodes(const tfn_model_desc *d)
{
    return !TFN__SENTENCES || d->only_decoders;
}
SHARED bool tfn__name_matches(const char *p, const char *name);
SHARED int tfn__group_named(const tfn_model_desc *d, const char *name, bool lora);
SHARED bool tfn__window_hides(const tfn_model_desc *d);
SHARED bool tfn__layer_has_window(const tfn_model_desc *d, int32_t l);
SHARED bool tfn__has_window_rotations(const tfn_model_desc *d);
SHARED int32_t tfn__distances(const tfn_model_desc *d);
SHARED bool tfn__has_lora(const tfn_model_desc *d);
#endif /* TFN__RESOLVE_H */
