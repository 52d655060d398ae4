#ifndef TFN__ENCODERS_H
#define TFN__ENCODERS_H
#include "../ground/ground.h"
#include "family_rows.h"

/* Families of the hub that are an encoder, or an encoder and a decoder: their keys, their tensors,
 * and a table. Builds on family_rows. */

/* X(number, name, prefix, like, keys, tensors), as in TFN__DECODER_LIST. */
#define TFN__ENCODER_LIST(X) \
    X(BERT, "bert", "bert.", &tfn__encoder_family, tfn__bert_keys, tfn__bert_tensors) \
    X(DISTILBERT, "distilbert", "distilbert.", NULL, \
      tfn__distilbert_keys, tfn__distilbert_tensors) \
    X(ROBERTA, "roberta", "roberta.", &tfn__encoder_family, \
      tfn__roberta_keys, tfn__roberta_tensors) \
    X(XLM_ROBERTA, "xlm-roberta", "roberta.", TFN__LIKE(ROBERTA), tfn__xlm_roberta_keys, NULL) \
    X(CAMEMBERT, "camembert", "roberta.", TFN__LIKE(ROBERTA), tfn__camembert_keys, NULL) \
    X(MPNET, "mpnet", "mpnet.", TFN__LIKE(ROBERTA), tfn__mpnet_keys, tfn__mpnet_tensors) \
    X(MODERNBERT, "modernbert", "model.", &tfn__shape, \
      tfn__modernbert_keys, tfn__modernbert_tensors) \
    X(ELECTRA, "electra", "electra.", &tfn__encoder_family, \
      tfn__electra_keys, tfn__electra_tensors) \
    X(MARIAN, "marian", "model.", &tfn__pair_family, tfn__marian_keys, tfn__marian_tensors) \
    X(BART, "bart", "model.", &tfn__pair_family, tfn__bart_keys, tfn__bart_tensors) \
    X(MBART, "mbart", "model.", &tfn__pair_family, tfn__mbart_keys, tfn__bart_tensors) \
    X(M2M, "m2m_100", "model.", &tfn__pair_family, tfn__m2m_keys, tfn__m2m_tensors) \
    X(T5, "t5", NULL, NULL, tfn__t5_keys, tfn__t5_tensors) \
    X(MT5, "mt5", NULL, TFN__LIKE(T5), tfn__mt5_keys, NULL)

/* In this order. A row without a name is the end. */
extern SHARED const tfn_family tfn__encoder_families[];
#endif /* TFN__ENCODERS_H */
